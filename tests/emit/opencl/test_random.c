/* Random programs as OpenCL C on a device, many in a text: status, trap and bytes are the oracle's.
 *
 *   VYRE_CAMPAIGN_COUNT    programs (40 times VYRE_EFFORT)
 *   VYRE_CAMPAIGN_SEED     first seed (VYRE_SEED, else 1)
 *   VYRE_CAMPAIGN_SECONDS  after so many no more programs are started (no bound)
 *   VYRE_CAMPAIGN_LENGTH   statements asked for, at most (no bound)
 *   VYRE_CAMPAIGN_FOLDER   where failing cases go (campaign-failures in the working directory)
 *   VYRE_CAMPAIGN_JSON     a file for the figures
 *   VYRE_OPENCL_DEVICE     the device's number among those of all platforms, GPUs first (0)
 *
 * Without VYRE_CAMPAIGN_COUNT programs are short, which is quick to build. A campaign goes on after a difference.
 * Several processes with seeds of their own may run at the same time. Each text is for one of several descriptions of
 * the device, which promise less than it has; programs are optimised in every other text. */
#include "backends/conform_campaign.h"
#include "emit/opencl/launched.h"

enum { TEXT_PROGRAMS = 50 };

#define EXACT(ID) (UINT64_C(1) << VYRE_NUMERIC_##ID)
#define EXACT_F64 ((EXACT(F64_CONVERT) << 1) - EXACT(F64_ADD))

/* What is not promised; whether programs poll. */
static const struct {
    uint64_t removed;
    int cancellable;
} variants[] = {{0, 0},
                {EXACT(F32_SUBNORMAL) | EXACT(F64_SUBNORMAL), 0},
                {0, 1},
                {EXACT(F32_DIV) | EXACT(F32_SQRT) | EXACT(F32_FMA) | EXACT(F32_MIN_MAX), 0},
                {EXACT_F64 | EXACT(SHIFT) | EXACT(INT_DIV), 0}};
enum { VARIANTS = sizeof variants / sizeof *variants };

static void run(launched *l, uint64_t first, uint64_t count, unsigned length, uint64_t stop_ns) {
    const uint64_t exact = l->joined.target.exact;
    const unsigned programs = count / VARIANTS < TEXT_PROGRAMS ? (unsigned)(count / VARIANTS) + 1 : TEXT_PROGRAMS;
    char name[64];
    for (uint64_t i = 0; i < count && (!stop_ns || vy_clock_now() < stop_ns); i++) {
        if (i % programs == 0) {
            launched_run(l);
            l->joined.target.exact = exact & ~variants[i / programs % VARIANTS].removed;
            l->joined.cancellable = variants[i / programs % VARIANTS].cancellable;
            l->joined.target.shuffle = l->has_intel_subgroups && i / programs % 3 ? VY_OPENCL_SHUFFLE_INTEL : 0;
            l->joined.target.subgroup_width = l->joined.target.shuffle ? 4u << i / programs % 5 : 0;
            l->joined.is_plain = i / programs % 2 == 1;
            l->joined.target.access_bytes = i / programs % 4 < 2 ? 16 : 0; /* without: check versioning */
        }
        const uint64_t seed = first + i;
        vyre_case *made = conform_generate(seed, length);
        snprintf(name, sizeof name, "seed %" PRIu64, seed);
        l->oracle.checks = seed % 4 == 3; /* traps may part who meets */
        launched_add(l, name, vyre_case_program(made), vyre_case_arguments(made));
        vyre_case_free(made);
        if (seed % 1000 == 0)
            printf("seed %" PRIu64 "\n", seed), fflush(stdout);
    }
    launched_run(l);
}

static void write_figures(const launched *l, uint64_t first) {
    const char *path = getenv("VYRE_CAMPAIGN_JSON");
    FILE *file = path && *path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file,
            "{\"emitter\": \"opencl\", \"first_seed\": %" PRIu64 ", \"judged\": %" PRIu64 ", \"trapped\": %" PRIu64
            ", \"refused\": %u, \"failures\": %u}\n",
            first, l->judged, l->trapped, l->refused, l->failures);
    fclose(file);
}

static void random_programs_have_the_oracles_bits(void **state) {
    (void)state;
    const int is_campaign = getenv("VYRE_CAMPAIGN_COUNT") != NULL;
    static launched l;
    const uint64_t count = conform_setting("VYRE_CAMPAIGN_COUNT", 40 * (uint64_t)vy_test_effort());
    const uint64_t seed = conform_setting("VYRE_CAMPAIGN_SEED", conform_setting("VYRE_SEED", 1));
    const uint64_t seconds = conform_setting("VYRE_CAMPAIGN_SECONDS", 0);
    l = (launched){.keeps_going = is_campaign, .constant_bytes = 256, .access_bytes = 16};
    launched_open(&l);
    const unsigned length = (unsigned)conform_setting("VYRE_CAMPAIGN_LENGTH", is_campaign ? 0 : 10);
    run(&l, seed, count, length, seconds ? vy_clock_now() + seconds * 1000000000 : 0);
    printf("random programs as OpenCL C from seed %" PRIu64 ": %" PRIu64 " judged, %" PRIu64
           " trapped, %u refused, %u failures\n",
           seed, l.judged, l.trapped, l.refused, l.failures);
    write_figures(&l, seed);
    assert_int_equal(l.failures, 0);
    /* Only atomics with an order, which a sixth of the programs has. */
    assert_true(l.refused * (l.joined.target.has_ordered_atomics ? 20 : 4) <= l.judged);
    launched_close(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_have_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
