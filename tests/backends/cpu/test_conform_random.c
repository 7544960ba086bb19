/* Random programs on backend `cpu` give what the oracle gives: at every ISA level that the host can execute, on four to
 * sixty-four lanes, in every form of dispatch. */
#include "backends/conform_campaign.h"
#include "backends/cpu/matrix.h"

/* The more registers a vector has, the longer its programs take to compile: they are shorter, and there are fewer. */
static conform_variant variant_of(const matrix_cell *cell, const char *settings) {
    static const unsigned weights[] = {[1] = 4, [2] = 3, [4] = 2};
    return (conform_variant){.settings = settings,
                             .length = cell->split == 1 ? 0 : 32 / cell->split,
                             .weight = cell->split <= 4 ? weights[cell->split] : 1};
}

static void random_programs_have_the_oracles_bits(void **state) {
    (void)state;
    static matrix m;
    static conform_variant variants[MATRIX_CELLS];
    static char settings[MATRIX_CELLS][192];
    matrix_start(&m);
    for (size_t i = 0; i < m.count; i++) {
        snprintf(settings[i], sizeof settings[i], "%s VYRE_CPU_THREADS=%zu VYRE_CPU_STREAM=%s", m.cells[i].settings,
                 1 + i % 3, i % 2 ? "4000000" : "0");
        variants[i] = variant_of(&m.cells[i], settings[i]);
    }
    assert_int_equal(conform_campaign_run("cpu", variants, m.count), 0); /* none is refused */
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_have_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
