/* Random programs on backend `cpu`, on chunks of four to sixty-four lanes and in every form of dispatch, give what the oracle gives. */
#include "backends/conform_campaign.h"

static void random_programs_have_the_oracles_bits(void **state) {
    (void)state;
    static const conform_variant variants[] = {{"VYRE_CPU_WIDTH=4 VYRE_CPU_THREADS=3 VYRE_CPU_STREAM=0"},
                                               {"VYRE_CPU_WIDTH=8 VYRE_CPU_THREADS=1 VYRE_CPU_STREAM=4000000"},
                                               {"VYRE_CPU_WIDTH=16 VYRE_CPU_THREADS=2 VYRE_CPU_STREAM=0"},
                                               {"VYRE_CPU_WIDTH=32 VYRE_CPU_THREADS=2 VYRE_CPU_STREAM=4000000"},
                                               {"VYRE_CPU_WIDTH=64 VYRE_CPU_THREADS=2 VYRE_CPU_STREAM=0"},
                                               {"VYRE_CPU_THREADS=2 VYRE_CPU_STREAM=4000000"}};
    assert_int_equal(conform_campaign_run("cpu", variants, sizeof variants / sizeof *variants),
                     0); /* none is refused */
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_have_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
