/* Memory of large outputs that is kept for those that come next. */
#include "base/memory.h"
#include "support/fault.h"
#include "support/test.h"

enum { MIB = 1 << 20 };

static vyre_bytes bytes_of(size_t size) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    assert_int_equal(vyre_bytes_resize(&bytes, size, &error), VYRE_OK);
    return bytes;
}

static void what_was_given_is_taken_again(void **state) {
    (void)state;
    vy_buffer_recycler recycler;
    vy_fault_install();
    vy_buffer_recycler_init(&recycler);
    vyre_bytes given = bytes_of(3 * MIB), taken = VYRE_BYTES_INIT, none = VYRE_BYTES_INIT;
    void *data = given.data;
    vy_buffer_recycler_release(&recycler, &given);
    assert_null(given.data);
    assert_int_equal(given.capacity, 0);
    vy_buffer_recycler_acquire(&recycler, 2 * MIB, &taken);
    assert_ptr_equal(taken.data, data);
    assert_int_equal(taken.size, 0);
    assert_true(taken.capacity >= 3 * MIB);
    vy_buffer_recycler_acquire(&recycler, 2 * MIB, &none);
    assert_null(none.data);
    vy_buffer_recycler_destroy(&recycler);
    vyre_bytes_free(&taken);
    assert_int_equal(vy_fault_live_blocks(), 0);
    vy_fault_remove();
}

/* Not too small, not much too large, and of those that are left the smallest. */
static void what_fits_best_is_taken(void **state) {
    (void)state;
    vy_buffer_recycler recycler;
    vy_buffer_recycler_init(&recycler);
    const size_t sizes[] = {9 * MIB, 4 * MIB, 6 * MIB};
    for (int i = 0; i < 3; i++) {
        vyre_bytes given = bytes_of(sizes[i]);
        vy_buffer_recycler_release(&recycler, &given);
        assert_null(given.data);
    }
    vyre_bytes taken = VYRE_BYTES_INIT;
    vy_buffer_recycler_acquire(&recycler, 10 * MIB, &taken);
    assert_null(taken.data);
    vy_buffer_recycler_acquire(&recycler, MIB, &taken);
    assert_null(taken.data);
    vy_buffer_recycler_acquire(&recycler, 5 * MIB, &taken);
    assert_true(taken.capacity >= 6 * MIB && taken.capacity < 9 * MIB);
    const void *data = taken.data;
    vy_buffer_recycler_acquire(&recycler, 4 * MIB, &taken); /* a slot that has memory keeps it */
    assert_ptr_equal(taken.data, data);
    vyre_bytes_free(&taken);
    vy_buffer_recycler_destroy(&recycler);
}

static void what_is_small_or_too_much_stays_with_who_gave_it(void **state) {
    (void)state;
    vy_buffer_recycler recycler;
    vy_buffer_recycler_init(&recycler);
    vyre_bytes small = bytes_of(MIB / 2);
    vy_buffer_recycler_release(&recycler, &small);
    assert_non_null(small.data);
    vyre_bytes_free(&small);
    for (int i = 0; i <= VY_BUFFER_RECYCLER_SLOTS; i++) {
        vyre_bytes given = bytes_of(MIB);
        vy_buffer_recycler_release(&recycler, &given);
        assert_true((given.data != NULL) == (i == VY_BUFFER_RECYCLER_SLOTS));
        vyre_bytes_free(&given);
    }
    vy_buffer_recycler_destroy(&recycler);
    vy_buffer_recycler_init(&recycler);
    recycler.max_bytes = 5 * MIB;
    for (int i = 0; i < 2; i++) {
        vyre_bytes given = bytes_of(3 * MIB);
        vy_buffer_recycler_release(&recycler, &given);
        assert_true((given.data != NULL) == (i == 1));
        vyre_bytes_free(&given);
    }
    vy_buffer_recycler_destroy(&recycler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_is_taken_again),
        cmocka_unit_test(what_fits_best_is_taken),
        cmocka_unit_test(what_is_small_or_too_much_stays_with_who_gave_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
