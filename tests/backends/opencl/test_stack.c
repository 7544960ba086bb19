/* PoCL runs a workgroup with barriers on the stack of a thread: private arrays of all its invocations, and variables
 * that are live across a barrier. A program that needs more is refused or compiled without barriers; it never crashes.
 * Threads have small stacks here: the default of a process is set before PoCL starts its threads. */
#include "backends/conform.h"

#include <pthread.h>

enum { STACK = 512 << 10, INVOCATIONS = 1024 };

/* %u: elements of a private array, of which each invocation writes all. */
static const char used_after_a_barrier[] =
    "barrier\n for k in 0u32 .. %u { own[k] = k * 3 + i }\n y[i] = own[(i * 7) %% %u]";
static const char live_across_a_barrier[] =
    "for k in 0u32 .. %u { own[k] = k * 3 + i }\n barrier\n y[i] = own[(i * 7) %% %u]";
static const char live_across_a_choice[] =
    "for k in 0u32 .. %u { own[k] = k * 3 + i }\n if group_count.x == 1 { barrier }\n y[i] = own[(i * 7) %% %u]";

static vyre_status run(const conform *c, const char *body, unsigned elements, vyre_error *error) {
    static uint32_t y[INVOCATIONS];
    static const vyre_span input = {y, sizeof y};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    char statements[256], text[512];
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    snprintf(statements, sizeof statements, body, elements, elements);
    snprintf(text, sizeof text,
             "program p {\n buffer y : u32 read_write\n workgroup %d\n grid 1\n array own : u32 [%u] private\n"
             " let i = local_index\n %s\n}\n",
             INVOCATIONS, elements, statements);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    vyre_status status = vyre_backend_dispatch(c->backend, program, &arguments, NULL, &outputs, NULL, error);
    for (uint32_t i = 0; status == VYRE_OK && i < INVOCATIONS; i++)
        assert_int_equal(((const uint32_t *)outputs.items[0].data)[i], i * 7 % elements * 3 + i);
    vyre_outputs_free(&outputs);
    vyre_program_release(program);
    return status;
}

static void workgroups_stay_within_the_stack(void **state) {
    (void)state;
    static conform c;
    static const char *const bodies[] = {used_after_a_barrier, live_across_a_barrier, live_across_a_choice};
    pthread_attr_t before, small;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_getattr_default_np(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, STACK), 0);
    assert_int_equal(pthread_setattr_default_np(&small), 0);
    conform_open(&c, "opencl");
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_backend_profile(c.backend, &profile);
    if (!strstr(profile.driver, "Portable Computing Language")) {
        conform_close(&c);
        VY_SKIP("the device is not PoCL%s", "");
    }
    for (unsigned elements = 16; elements <= 4096; elements *= 4) /* 64 KiB to 16 MiB for a workgroup */
        for (int i = 0; i < 3; i++) {
            vyre_status status = run(&c, bodies[i], elements, &error);
            /* local memory has 1 MiB for what is live */
            if (i == 0 || elements <= 64)
                assert_int_equal(status, VYRE_OK);
            else if (elements >= 1024)
                assert_int_equal(status, VYRE_LIMIT);
            if (status != VYRE_OK && !strstr(error.message, "across barriers"))
                fail_msg("%s", error.message);
        }
    conform_close(&c);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_destroy(&before) + pthread_attr_destroy(&small), 0);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(workgroups_stay_within_the_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
