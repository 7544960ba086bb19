/* Deadlines of threads: scopes nest, the earlier one counts, and other threads have none. */
#include "support/test.h"

#include "base/thread.h"

#include <pthread.h>

static const uint64_t FAR = UINT64_MAX;

static void the_earlier_deadline_of_nested_scopes_counts(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_deadline(), 0);
    assert_int_equal(vy_deadline_check("p", "const-fold", &error), VYRE_OK);
    vy_deadline_scope outer = vy_deadline_begin(FAR);
    assert_int_equal(vy_deadline(), FAR);
    assert_int_equal(vy_deadline_check("p", "const-fold", &error), VYRE_OK);
    vy_deadline_scope none = vy_deadline_begin(0);
    assert_int_equal(vy_deadline(), FAR);
    vy_deadline_scope inner = vy_deadline_begin(1);
    assert_int_equal(vy_deadline(), 1);
    vy_deadline_scope later = vy_deadline_begin(FAR);
    assert_int_equal(vy_deadline(), 1);
    assert_int_equal(vy_deadline_check("p", "const-fold", &error), VYRE_TIMEOUT);
    assert_non_null(strstr(error.message, "`p` was not compiled at its deadline: it was before step `const-fold`"));
    assert_true(error.fix[0] != 0);
    vy_deadline_end(later);
    vy_deadline_end(inner);
    assert_int_equal(vy_deadline(), FAR);
    vy_deadline_end(none);
    vy_deadline_end(outer);
    assert_int_equal(vy_deadline(), 0);
}

static void *look(void *user) {
    *(uint64_t *)user = vy_deadline();
    return NULL;
}

static void other_threads_have_no_deadline(void **state) {
    (void)state;
    pthread_t thread;
    uint64_t seen = 5;
    vy_deadline_scope before = vy_deadline_begin(1);
    assert_int_equal(pthread_create(&thread, NULL, look, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    vy_deadline_end(before);
    assert_int_equal(seen, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earlier_deadline_of_nested_scopes_counts),
        cmocka_unit_test(other_threads_have_no_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
