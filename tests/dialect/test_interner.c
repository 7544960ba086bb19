/* The interner: a text has one number for the life of the process, known ones are found without a lock or memory. */
#include "dialect/interner.h"
#include "support/fault.h"
#include "support/test.h"
#include "vyre/dialect.h"

#include <pthread.h>

static vyre_op_id intern(const char *text) {
    vyre_op_id id = 0;
    assert_int_equal(vyre_op_intern(text, strlen(text), &id, NULL), VYRE_OK);
    return id;
}

static void a_text_has_one_number_and_a_number_one_text(void **state) {
    (void)state;
    vyre_op_id exp = intern("math.exp"), log = intern("math.log");
    assert_true(exp != 0 && log != 0 && exp != log);
    assert_int_equal(intern("math.exp"), exp);
    assert_int_equal(vyre_op_find_id("math.exp", 8), exp);
    assert_string_equal(vyre_op_text(exp), "math.exp");
    assert_ptr_equal(vyre_op_text(exp), vyre_op_text(exp));
    /* A length may end inside a longer text. */
    vyre_op_id part;
    assert_int_equal(vyre_op_intern("math.exponent", 8, &part, NULL), VYRE_OK);
    assert_int_equal(part, exp);
}

static void what_nobody_asked_for_is_unknown(void **state) {
    (void)state;
    assert_int_equal(vyre_op_find_id("nobody.asked", 12), 0);
    assert_int_equal(vyre_op_find_id(NULL, 3), 0);
    assert_int_equal(vyre_op_find_id("x", 1000000), 0);
    assert_null(vyre_op_text(0));
    assert_null(vyre_op_text(UINT32_MAX));
    assert_null(vyre_op_text(intern("test.last") + 1));
}

static void what_is_no_op_id_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"",         "exp",      ".exp",      "math.",           "math..exp",
                                        "math exp", "math.-ep", "1math.exp", "math.\xc3\xa9xp", "math:exp",
                                        "if.exp",   "math-exp", "math:::exp"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        vyre_op_id id = 7;
        assert_int_equal(vyre_op_intern(wrong[i], strlen(wrong[i]), &id, &error), VYRE_INVALID_ARGUMENT);
        assert_int_equal(id, 0);
        assert_non_null(strstr(error.fix, "dialect.name"));
    }
    char longest[130];
    memset(longest, 'a', sizeof longest);
    longest[1] = '.';
    vyre_op_id id;
    assert_int_equal(vyre_op_intern(longest, 128, &id, NULL), VYRE_OK);
    assert_int_equal(vyre_op_intern(longest, 129, &id, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_op_intern(NULL, 4, &id, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_op_intern("a.b\0c", 5, &id, NULL), VYRE_INVALID_ARGUMENT);
}

/* The ids in the tests of the five documents. */
static void the_ids_of_the_contract_are_op_ids(void **state) {
    (void)state;
    static const char *const ids[] = {"vyre-libs-driver-registry-test::dummy",
                                      "io.dma_from_nvme",
                                      "test.old",
                                      "test.new",
                                      "test.before",
                                      "test.after"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_string_equal(vyre_op_text(intern(ids[i])), ids[i]);
}

static void many_names_stay_what_they_are(void **state) {
    (void)state;
    enum { NAMES = 5000 };
    static vyre_op_id ids[NAMES];
    char name[32];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "many.name%d", i);
        ids[i] = intern(name);
    }
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "many.name%d", i);
        assert_int_equal(vyre_op_find_id(name, strlen(name)), ids[i]);
        assert_string_equal(vyre_op_text(ids[i]), name);
    }
}

static void a_known_name_needs_no_memory(void **state) {
    (void)state;
    vyre_op_id id = intern("known.name"), again;
    vy_fault_start_all(1);
    vyre_status status = vyre_op_intern("known.name", 10, &again, NULL);
    vyre_op_id found = vyre_op_find_id("known.name", 10);
    int met = vy_fault_stop();
    assert_int_equal(status, VYRE_OK);
    assert_int_equal(again, id);
    assert_int_equal(found, id);
    assert_int_equal(met, 0);
}

/* Past the sizes at which table and segments grow. */
static void any_allocation_may_fail_and_then_nothing_was_added(void **state) {
    (void)state;
    unsigned refused = 0;
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof name, "fault.name%d", i);
        for (size_t k = 1;; k++) {
            vyre_op_id id, last = intern("fault.marker");
            vy_fault_start(k);
            vyre_status status = vyre_op_intern(name, strlen(name), &id, NULL);
            int met = vy_fault_stop();
            assert_int_equal(status, met ? VYRE_NO_MEMORY : VYRE_OK);
            assert_int_equal(intern("fault.marker"), last);
            if (!met)
                break;
            refused++;
            assert_int_equal(id, 0);
            assert_int_equal(vyre_op_find_id(name, strlen(name)), 0);
        }
    }
    assert_true(refused >= 3000);
    assert_int_equal(vy_fault_mismatches(), 0);
}

/* ---- threads ---- */

enum { THREADS = 8, SHARED_NAMES = 400 };
static vyre_op_id seen[THREADS][SHARED_NAMES];

static void *intern_all(void *argument) {
    unsigned self = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i < SHARED_NAMES; i++) {
        unsigned which = (i * 7 + self * 31) % SHARED_NAMES;
        char name[32];
        snprintf(name, sizeof name, "threads.name%u", which);
        if (vyre_op_intern(name, strlen(name), &seen[self][which], NULL) != VYRE_OK)
            seen[self][which] = 0;
        const char *text = vyre_op_text(seen[self][which]);
        if (!text || strcmp(text, name) != 0)
            seen[self][which] = 0;
    }
    return NULL;
}

static void threads_agree_on_numbers(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, (void *)(uintptr_t)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned j = 0; j < SHARED_NAMES; j++) {
            assert_int_not_equal(seen[i][j], 0);
            assert_int_equal(seen[i][j], seen[0][j]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_one_number_and_a_number_one_text),
        cmocka_unit_test(what_nobody_asked_for_is_unknown),
        cmocka_unit_test(what_is_no_op_id_is_refused),
        cmocka_unit_test(the_ids_of_the_contract_are_op_ids),
        cmocka_unit_test(many_names_stay_what_they_are),
        cmocka_unit_test(a_known_name_needs_no_memory),
        cmocka_unit_test(any_allocation_may_fail_and_then_nothing_was_added),
        cmocka_unit_test(threads_agree_on_numbers),
    };
    vy_fault_install(); /* for good: names are never given back */
    return cmocka_run_group_tests_name("interner", tests, NULL, NULL);
}
