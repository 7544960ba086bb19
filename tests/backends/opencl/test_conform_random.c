/* Random programs on backend `opencl`, in every form of dispatch, give what the oracle gives. A device without ordered
 * atomics refuses a sixth of them. */
#define CONFORM_APART 1
#include "backends/conform_campaign.h"

static int refuses_ordered_atomics(void) {
    static const char text[] = "program p { buffer b : u32 read_write\n workgroup 1\n grid 1\n"
                               "let old = atomic_add<acq_rel, device>(b[0], 1) }";
    vyre_error error = VYRE_ERROR_INIT;
    vyre_backend *backend;
    vyre_pipeline *pipeline = NULL;
    assert_int_equal(vyre_acquire("opencl", &backend, &error), VYRE_OK);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    vyre_status status = vyre_compile(backend, program, NULL, &pipeline, &error);
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    vyre_backend_release(backend);
    return status == VYRE_UNSUPPORTED;
}

static void random_programs_have_the_oracles_bits(void **state) {
    (void)state;
    static const conform_variant variants[] = {{.settings = ""}};
    const uint64_t refused = conform_campaign_run("opencl", variants, 1);
    assert_true(refused <= (refuses_ordered_atomics() ? 250 : 10));
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_have_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
