/* Threads that check laws, the same ones and others, while what they remember is forgotten again and again. */
#include "dialect/law_check.h"
#include "support/test.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 3 };

static void *check_some(void *user) {
    size_t *wrong = user;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < vyre_dialects_count(guard); i++) {
            const vyre_op_definition *op = vyre_dialects_at(guard, i);
            for (uint32_t k = 0; k < op->law_count; k++) {
                const int is_quick = op->laws[k].kind == VYRE_LAW_INVOLUTION ||
                                     op->laws[k].kind == VYRE_LAW_IDEMPOTENT || op->laws[k].kind == VYRE_LAW_INVERSE_OF;
                vyre_error error;
                if (is_quick)
                    *wrong += vy_law_check(guard, op, k, NULL, &error) != VYRE_OK;
            }
            if (i % 64 == 63)
                vy_law_cache_clear();
        }
    vyre_dialects_release(&guard);
    return NULL;
}

static void threads_check_laws_at_once(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    size_t wrong[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, check_some, &wrong[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_check_laws_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
