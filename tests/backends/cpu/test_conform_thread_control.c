/* Compiled programs on backend `cpu` under control (conform_control.h), on four threads where that matters. */
#include "backends/conform_control.h"
#include "backends/cpu/matrix.h"

/* For what depends on the code that is made. */
static void at_every_level(void (*what)(const char *id)) {
    const char *names[MATRIX_LEVELS], *before = getenv("VYRE_CPU_ISA");
    char kept[32];
    size_t count = matrix_levels(names);
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    for (size_t i = 0; i < count; i++) {
        setenv("VYRE_CPU_ISA", names[i], 1);
        what("cpu");
    }
    setenv("VYRE_CPU_ISA", kept, 1);
}

static void a_kernel_without_end_is_ended_by_its_deadline(void **state) {
    (void)state;
    at_every_level(conform_deadline);
}

static void work_in_flight_is_cancelled_from_another_thread(void **state) {
    (void)state;
    at_every_level(conform_cancelled);
}

static void the_smallest_invocation_that_traps_is_told(void **state) {
    (void)state;
    setenv("VYRE_CPU_THREADS", "4", 1);
    at_every_level(conform_traps);
    unsetenv("VYRE_CPU_THREADS");
}

static void eight_threads_run_different_programs_at_once(void **state) {
    (void)state;
    conform_callers("cpu");
}

static void the_backend_ends_with_work_in_flight(void **state) {
    (void)state;
    conform_ending("cpu");
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_without_end_is_ended_by_its_deadline),
        cmocka_unit_test(work_in_flight_is_cancelled_from_another_thread),
        cmocka_unit_test(the_smallest_invocation_that_traps_is_told),
        cmocka_unit_test(eight_threads_run_different_programs_at_once),
        cmocka_unit_test(the_backend_ends_with_work_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
