#include "base/memory.h"
#include "support/fault.h"
#include "support/test.h"

static void nothing_is_allocated_for_size_zero_or_for_an_overflow(void **state) {
    (void)state;
    vy_fault_install();
    assert_null(vy_allocate(0));
    assert_null(vy_allocate(vy_array_size(SIZE_MAX / 2, 3)));
    assert_null(vy_allocate((size_t)PTRDIFF_MAX + 1));
    assert_int_equal(vy_fault_allocations(), 0);
    vy_fault_remove();
}

static void array_sizes_saturate(void **state) {
    (void)state;
    assert_int_equal(vy_array_size(6, 7), 42);
    assert_int_equal(vy_array_size(0, SIZE_MAX), 0);
    assert_true(vy_array_size(SIZE_MAX, 2) == SIZE_MAX);
    assert_true(vy_array_size((size_t)1 << 32, (size_t)1 << 32) == SIZE_MAX);
}

static void resizing_null_allocates_and_to_zero_releases(void **state) {
    (void)state;
    vy_fault_install();
    char *memory = vy_resize(NULL, 0, 10);
    assert_non_null(memory);
    memcpy(memory, "123456789", 10);
    memory = vy_resize(memory, 10, 1000);
    assert_string_equal(memory, "123456789");
    assert_int_equal(vy_fault_live_bytes(), 1000);
    assert_null(vy_resize(memory, 1000, 0));
    assert_int_equal(vy_fault_live_blocks(), 0);
    assert_int_equal(vy_fault_mismatches(), 0);
    vy_fault_remove();
}

static void a_refused_resize_keeps_the_block(void **state) {
    (void)state;
    vy_fault_install();
    char *memory = vy_allocate_zero(8);
    assert_null(vy_resize(memory, 8, SIZE_MAX));
    vy_fault_start(1);
    assert_null(vy_resize(memory, 8, 16));
    assert_true(vy_fault_stop());
    for (int i = 0; i < 8; i++)
        assert_int_equal(memory[i], 0);
    vy_release(memory, 8);
    vy_release(NULL, 8);
    assert_int_equal(vy_fault_live_blocks(), 0);
    vy_fault_remove();
}

static int own_allocations;

static void *own_allocate(void *user, size_t size) {
    assert_ptr_equal(user, &own_allocations);
    own_allocations++;
    return malloc(size);
}

static void own_release(void *user, void *memory, size_t size) {
    (void)user;
    (void)size;
    free(memory);
}

static void an_incomplete_allocator_is_not_installed(void **state) {
    (void)state;
    vyre_allocator_set(&(vyre_allocator){&own_allocations, own_allocate, NULL, own_release});
    void *memory = vy_allocate(5);
    assert_non_null(memory);
    assert_int_equal(own_allocations, 0);
    vy_release(memory, 5);
}

static void vectors_grow_and_keep_their_items(void **state) {
    (void)state;
    vy_fault_install();
    VY_VECTOR(uint64_t) numbers = {0};
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t *slot = VY_PUSH(&numbers);
        assert_non_null(slot);
        assert_int_equal(*slot, 0);
        *slot = i * i;
    }
    for (uint64_t i = 0; i < numbers.count; i++)
        assert_int_equal(numbers.items[i], i * i);
    assert_true(vy_fault_allocations() < 20);
    VY_VECTOR_FREE(&numbers);
    assert_null(numbers.items);
    assert_int_equal(vy_fault_live_blocks(), 0);
    assert_int_equal(vy_fault_mismatches(), 0);
    vy_fault_remove();
}

static void a_vector_that_cannot_grow_stays_as_it_was(void **state) {
    (void)state;
    vy_fault_install();
    VY_VECTOR(char) bytes = {0};
    assert_non_null(VY_PUSH(&bytes));
    char *before = bytes.items;
    assert_false(VY_RESERVE(&bytes, UINT32_MAX)); /* the count would not fit */
    vy_fault_start(1);
    assert_false(VY_RESERVE(&bytes, bytes.capacity));
    vy_fault_stop();
    assert_ptr_equal(bytes.items, before);
    assert_int_equal(bytes.count, 1);
    VY_VECTOR_FREE(&bytes);
    assert_int_equal(vy_fault_live_blocks(), 0);
    vy_fault_remove();
}

static void arena_memory_is_zero_aligned_and_disjoint(void **state) {
    (void)state;
    vy_fault_install();
    vy_arena arena = {0};
    vy_random random = vy_random_start(1);
    unsigned char *last = NULL;
    size_t last_size = 0;
    for (int i = 0; i < 5000; i++) {
        size_t size = (size_t)vy_random_below(&random, i % 100 == 0 ? 50000 : 100);
        unsigned char *memory = vy_arena_allocate(&arena, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < size; j++)
            assert_int_equal(memory[j], 0);
        memset(memory, 0xff, size);
        if (last)
            assert_true(memory >= last + last_size || memory + size <= last);
        last = memory;
        last_size = size;
    }
    assert_null(vy_arena_allocate(&arena, SIZE_MAX));
    assert_null(vy_arena_allocate(&arena, SIZE_MAX - 20));
    vy_arena_free(&arena);
    vy_arena_free(&arena);
    assert_int_equal(vy_fault_live_blocks(), 0);
    assert_int_equal(vy_fault_mismatches(), 0);
    vy_fault_remove();
}

static void arena_copies_are_terminated(void **state) {
    (void)state;
    vy_arena arena = {0};
    assert_string_equal(vy_arena_copy(&arena, "abcdef", 3), "abc");
    assert_string_equal(vy_arena_copy(&arena, NULL, 0), "");
    assert_null(vy_arena_copy(&arena, "", SIZE_MAX));
    vy_arena_free(&arena);
}

static void bytes_keep_contents_and_zero_what_is_new(void **state) {
    (void)state;
    vy_fault_install();
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    assert_int_equal(vyre_bytes_resize(&bytes, 4, &error), VYRE_OK);
    memcpy(bytes.data, "abcd", 4);
    assert_int_equal(vyre_bytes_resize(&bytes, 2, &error), VYRE_OK);
    assert_int_equal(vyre_bytes_resize(&bytes, 6, &error), VYRE_OK);
    assert_memory_equal(bytes.data, "ab\0\0\0\0", 6);
    vy_fault_start(1);
    assert_int_equal(vyre_bytes_resize(&bytes, 100, &error), VYRE_NO_MEMORY);
    vy_fault_stop();
    assert_int_equal(bytes.size, 6);
    assert_non_null(strstr(error.message, "100"));
    assert_int_equal(vyre_bytes_resize(NULL, 1, &error), VYRE_INVALID_ARGUMENT);
    vyre_bytes_free(&bytes);
    vyre_bytes_free(NULL);
    assert_int_equal(vy_fault_live_blocks(), 0);
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_for_size_zero_or_for_an_overflow),
        cmocka_unit_test(array_sizes_saturate),
        cmocka_unit_test(resizing_null_allocates_and_to_zero_releases),
        cmocka_unit_test(a_refused_resize_keeps_the_block),
        cmocka_unit_test(an_incomplete_allocator_is_not_installed),
        cmocka_unit_test(vectors_grow_and_keep_their_items),
        cmocka_unit_test(a_vector_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(arena_memory_is_zero_aligned_and_disjoint),
        cmocka_unit_test(arena_copies_are_terminated),
        cmocka_unit_test(bytes_keep_contents_and_zero_what_is_new),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
