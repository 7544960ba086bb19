/* The compiler survives what we write: it runs in the process that loads the text, so a program that ends it ends
 * everything. Random programs, with and without traps, are compiled as the driver does, in batches; one that is ended
 * by a signal is compiled again, entry by entry.
 *
 * VYRE_SEED is the first seed, VYRE_EFFORT how many times twenty there are. Skipped, and said so, where there is no
 * ptxas. */
#include "emit/ptx/code.h"

#include "generate/generate.h"
#include "lower/put_traps.h"
#include "opt/coarsen.h"

#include <inttypes.h>
#include <sys/wait.h>

enum { BATCH = 20, EACH = 20, OPTIMISED = 1, WIDENED = 2, CANCELLABLE = 4, MANNERS = 8 };

/* ---- texts that are compiled together ---- */

typedef struct texts {
    vy_string entries[BATCH];
    uint64_t seeds[BATCH];
    unsigned count, compiled;
    const char *what;
} texts;

/* How ptxas ends with some of them. */
static int compile(const texts *t, unsigned first, unsigned end, unsigned architecture) {
    char path[64], command[400];
    snprintf(path, sizeof path, "/tmp/vyre-survive-%ld.ptx", (long)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, ".version 8.6\n.target sm_%u\n.address_size 64\n.file 1 \"<text>\"\n", architecture);
    for (unsigned i = first; i < end; i++)
        fprintf(file, "\n.visible .entry entry_%u%s", i, t->entries[i].text);
    fclose(file);
    snprintf(command, sizeof command, "exec '%s' -O3 -arch=sm_%u -o /dev/null %s", ptxas_path(), architecture, path);
    int status = system(command);
    remove(path);
    return status;
}

static void flush(texts *t, unsigned architecture) {
    if (compile(t, 0, t->count, architecture) != 0) {
        for (unsigned i = 0; i < t->count; i++) {
            int status = compile(t, i, i + 1, architecture);
            if (status != 0)
                printf("%s, seed %" PRIu64 ", sm_%u: ptxas ends with %s %d\n", t->what, t->seeds[i], architecture,
                       WIFSIGNALED(status) ? "signal" : "status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        fail_msg("ptxas does not survive");
    }
    t->compiled += t->count;
    for (unsigned i = 0; i < t->count; i++)
        vy_string_free(&t->entries[i]);
    t->count = 0;
}

static void add(texts *t, uint64_t seed, const vy_ptx_code *code) {
    const char *entry = strstr(code->text.data, ".visible .entry ");
    assert_non_null(entry);
    t->entries[t->count] = (vy_string){0};
    vy_string_add(&t->entries[t->count], strchr(entry, '('));
    t->seeds[t->count] = seed;
    if (++t->count == BATCH)
        flush(t, seed / BATCH % 2 ? 100 : 90);
}

/* ---- programs ---- */

static void try_program(texts *t, uint64_t seed, vyre_program *program) {
    const vy_target_desc widen = {.access_bytes = seed & WIDENED ? 16 : 0, .coarsen = VY_COARSEN_IF_POSSIBLE};
    const vyre_optimize_options optimise = {.level = 2};
    vyre_program *made = NULL, *legal = NULL;
    vy_coarsened widened = {0};
    vy_ptx_code code;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_coarsen(program, &widen, &widened, NULL), VYRE_OK);
    if (seed & OPTIMISED)
        assert_int_equal(vyre_program_optimize(widened.program, &optimise, &made, NULL, NULL), VYRE_OK);
    if (ptx_make(made ? made : widened.program, (seed & CANCELLABLE) != 0, &legal, &code, &error) != VYRE_OK)
        fail_msg("%s, seed %" PRIu64 ": %s", t->what, seed, error.message);
    add(t, seed, &code);
    vy_ptx_free(&code);
    vyre_program_release(legal);
    vyre_program_release(made);
    vyre_program_release(widened.program);
}

static void try_seed(texts *t, uint64_t seed, int has_traps) {
    vyre_generate_options options = {.seed = seed, .statements = 8 + (unsigned)(seed % 20)};
    vy_random random = {seed};
    vyre_case *made = NULL;
    vyre_program *flat = NULL, *program = NULL;
    assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
    assert_int_equal(vyre_program_inline(vyre_case_program(made), &flat, NULL), VYRE_OK);
    program = has_traps ? with_traps(flat, &random, 5) : vyre_program_retain(flat);
    if (program && !(program->facts & VY_PROGRAM_HAS_GRID_BARRIER))
        try_program(t, seed, program);
    vyre_program_release(program);
    vyre_program_release(flat);
    vyre_case_free(made);
}

static void try_seeds(const char *what, int has_traps) {
    const char *given = getenv("VYRE_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1;
    texts t = {.what = what};
    for (uint64_t seed = first; seed < first + EACH * vy_test_effort(); seed++)
        try_seed(&t, seed, has_traps);
    if (t.count)
        flush(&t, 90);
    printf("%u programs\n", t.compiled);
}

static void ptxas_survives_random_programs(void **state) {
    (void)state;
    if (!ptxas_path())
        VY_SKIP("ptxas_survives_random_programs: there is no ptxas here (PTXAS, /usr/local/cuda/bin)");
    try_seeds("random", 0);
}

static void ptxas_survives_random_traps(void **state) {
    (void)state;
    if (!ptxas_path())
        VY_SKIP("ptxas_survives_random_traps: there is no ptxas here (PTXAS, /usr/local/cuda/bin)");
    try_seeds("traps", 1);
}

/* These ended it when a `while` began with its question: loops that are left from the middle, and that nobody enters
 * because of what stands before. */
static void ptxas_survives_loops_that_nobody_enters(void **state) {
    static const uint64_t seeds[] = {52, 364, 1052, 1148, 1452};
    texts t = {.what = "traps"};
    (void)state;
    if (!ptxas_path())
        VY_SKIP("ptxas_survives_loops_that_nobody_enters: there is no ptxas here (PTXAS, /usr/local/cuda/bin)");
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        try_seed(&t, seeds[i], 1);
    try_seed(&t, 1608, 0); /* the question is the first statement */
    flush(&t, 90);
}

/* A complement by lop3, compared with zero in a loop. */
static void ptxas_survives_complements(void **state) {
    texts t = {.what = "random"};
    (void)state;
    if (!ptxas_path())
        VY_SKIP("ptxas_survives_complements: there is no ptxas here (PTXAS, /usr/local/cuda/bin)");
    try_seed(&t, 4315, 0);
    flush(&t, 90);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptxas_survives_loops_that_nobody_enters), cmocka_unit_test(ptxas_survives_complements),
        cmocka_unit_test(ptxas_survives_random_programs), cmocka_unit_test(ptxas_survives_random_traps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
