/* Random programs on backend `cuda`, in every form of dispatch, give what the oracle gives. */
#define CONFORM_APART 1
#include "backends/conform_campaign.h"

static void random_programs_have_the_oracles_bits(void **state) {
    (void)state;
    static const conform_variant variants[] = {{.settings = ""}};
    assert_true(conform_campaign_run("cuda", variants, 1) <= 10);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_have_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
