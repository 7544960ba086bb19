/* Programs on backend `opencl` under control (conform_control.h). */
#include "backends/conform_control.h"

static void a_kernel_without_end_is_ended_by_its_deadline(void **state) {
    (void)state;
    conform_deadline("opencl");
}

static void work_in_flight_is_cancelled_from_another_thread(void **state) {
    (void)state;
    conform_cancelled("opencl");
}

static void the_smallest_invocation_that_traps_is_told(void **state) {
    (void)state;
    conform_traps("opencl");
}

static void eight_threads_run_different_programs_at_once(void **state) {
    (void)state;
    conform_callers("opencl");
}

static void the_backend_ends_with_work_in_flight(void **state) {
    (void)state;
    conform_ending("opencl");
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
