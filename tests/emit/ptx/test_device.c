/* The text on a device: every op on operands that bring mistakes to light, random programs in every manner, traps,
 * deadlines, give the oracle's bits. Skipped, and said so, where there is no device.
 *
 * VYRE_SEED is the first seed of random programs, VYRE_EFFORT how many hundreds there are: several processes with
 * ranges of their own compile faster than one. A mismatch shrinks itself; an error of the device cannot, for it ends
 * what the process can do.
 *
 * The driver is used in child processes: its compiler may end one (docs/internals/ptx.md). A few of those are counted;
 * the rest of the seeds goes on in another. */
#include "emit/ptx/device.h"
#include "emit/ptx/manner.h"

#include "generate/generate.h"
#include "ir/eval.h"
#include "lower/operands.h"
#include "lower/put_traps.h"
#include "lower/runner.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static device gpu; /* of a child */

/* What children tell. */
static struct {
    uint64_t seed; /* the one that is tried */
    unsigned run;
    char why[200]; /* there is no device */
    char name[160];
} * told;

typedef void body(uint64_t first, uint64_t end);

/* Runs the body in a process of its own, with a device; gives how it ended. */
static int in_child(body *body, uint64_t first, uint64_t end) {
    static const int ends[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE,
                               SIGABRT}; /* cmocka's handlers would go on with the next test */
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const char *why;
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            signal(ends[i], SIG_DFL);
        if (!device_open(&gpu, &why)) {
            snprintf(told->why, sizeof told->why, "%s", why);
            _exit(2);
        }
        snprintf(told->name, sizeof told->name, "%s, sm_%" PRIu32, gpu.name, gpu.architecture);
        body(first, end);
        fflush(stdout);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void nothing(uint64_t first, uint64_t end) {
    (void)first, (void)end;
}

static int has_device(void) {
    static int asked;
    if (!asked)
        in_child(nothing, 0, 0);
    asked = 1;
    return !told->why[0];
}

#define NEEDS_DEVICE(test)                                                                                             \
    do {                                                                                                               \
        if (!has_device())                                                                                             \
            VY_SKIP(test ": %s", told->why);                                                                           \
    } while (0)

/* Ends a child: what it found stands above. */
static void give_up(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    _exit(1);
}

static void succeeds(body *body) {
    if (in_child(body, 0, 0) != 0)
        fail_msg("the child says why");
}

/* All seeds, in as many children as it takes. */
static void try_seeds(body *body, uint64_t first, uint64_t end) {
    unsigned ended = 0;
    told->run = 0;
    for (uint64_t next = first; next < end; next = told->seed + 1) {
        int status = in_child(body, next, end);
        if (status == 0)
            break;
        if (!WIFSIGNALED(status))
            fail_msg("the child says why");
        printf("the driver ended the process at seed %" PRIu64 " (signal %d)\n", told->seed, WTERMSIG(status));
        ended++;
    }
    printf("%u programs, %u of them ended the driver\n", told->run, ended);
    assert_true(ended * 100 <= told->run + 200);
}

/* ---- one program in some manner ---- */

typedef struct question {
    unsigned manner;
    uint32_t misalignment;
    unsigned checks; /* of the oracle: what the shrinker proposes may race */
    char why[640];
    vyre_program *legal; /* the last one */
} question;

/* Whether the device delivers something else than the oracle. */
static int differs(question *q, vyre_program *program, const vyre_arguments *arguments) {
    static outcome want, got;
    static vyre_scalar params[VY_LIMIT_PARAMS + 1];
    vyre_error error = VYRE_ERROR_INIT;
    vyre_arguments given;
    const char *what = NULL;
    if (gpu.is_lost)
        return 0;
    outcome_of_oracle(program, arguments, q->checks, &want);
    if (want.status == VYRE_OK || want.status == VYRE_TRAPPED) {
        vyre_program_release(q->legal);
        q->legal = NULL;
        if (prepare_in_manner(program, arguments, gpu.architecture, q->manner, &given, params, &q->legal, &error) !=
            VYRE_OK) {
            what = error.message;
        } else {
            outcome_of_device(&gpu, q->legal, &given, q->misalignment, fresh_control(), &got);
            what = outcome_differs(&want, &got);
            outcome_free(&got);
        }
    }
    outcome_free(&want);
    if (what)
        snprintf(q->why, sizeof q->why, "%s", what);
    return what != NULL;
}

static int still_differs(void *user, const vyre_case *candidate) {
    return differs(user, vyre_case_program(candidate), vyre_case_arguments(candidate));
}

static void show(const question *q, const vyre_program *program) {
    vy_ptx_code code;
    ptx_show(program);
    if (q->legal && vy_ptx_emit(q->legal, NULL, &code, NULL) == VYRE_OK) {
        ptx_show(q->legal);
        printf("%s\n", (const char *)code.text.data);
        vy_ptx_free(&code);
    }
    printf("%s\n", gpu.log);
}

static void fail_small(question *q, vyre_program *program, const vyre_arguments *arguments, const char *what) {
    vyre_case *start = NULL, *small = NULL;
    char why[640];
    snprintf(why, sizeof why, "%s", q->why);
    q->checks = VYRE_CHECK_RACES;
    if (!gpu.is_lost && vyre_case_new(program, arguments, &start, NULL) == VYRE_OK &&
        vyre_shrink(start, still_differs, q, 0, &small, NULL) == VYRE_OK &&
        differs(q, vyre_case_program(small), vyre_case_arguments(small)))
        program = vyre_case_program(small);
    show(q, program);
    give_up("%s, manner %u: %s (at first: %s)", what, q->manner, q->why, why);
}

/* ---- random programs ---- */

static uint64_t first_seed(void) {
    const char *given = getenv("VYRE_SEED");
    return given ? strtoull(given, NULL, 0) : 1;
}

static void try_random(uint64_t first, uint64_t end) {
    for (uint64_t seed = first; seed < end; seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 10 + (unsigned)(seed % 30)};
        question q = {.manner = (unsigned)(seed % MANNERS), .misalignment = (uint32_t)(seed / MANNERS)};
        vyre_case *made = NULL;
        char what[40];
        told->seed = seed;
        if (vyre_generate(&options, &made, NULL) != VYRE_OK)
            give_up("seed %" PRIu64 " has no program", seed);
        if (!(vyre_case_program(made)->facts & VY_PROGRAM_HAS_GRID_BARRIER)) {
            snprintf(what, sizeof what, "seed %" PRIu64, seed);
            told->run++;
            if (differs(&q, vyre_case_program(made), vyre_case_arguments(made)))
                fail_small(&q, vyre_case_program(made), vyre_case_arguments(made), what);
        }
        vyre_program_release(q.legal);
        vyre_case_free(made);
    }
}

static void random_programs_give_the_same_bits(void **state) {
    (void)state;
    NEEDS_DEVICE("random_programs_give_the_same_bits");
    try_seeds(try_random, first_seed(), first_seed() + 100 * vy_test_effort());
}

static void try_traps(uint64_t first, uint64_t end) {
    for (uint64_t seed = first; seed < end; seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 8 + (unsigned)(seed % 20)};
        question q = {.manner = (unsigned)(seed % MANNERS) & ~(unsigned)WIDENED};
        vy_random random = {seed};
        vyre_case *made = NULL;
        vyre_program *flat = NULL;
        char what[40];
        told->seed = seed;
        if (vyre_generate(&options, &made, NULL) != VYRE_OK ||
            vyre_program_inline(vyre_case_program(made), &flat, NULL) != VYRE_OK)
            give_up("seed %" PRIu64 " has no program", seed);
        vyre_program *program = with_traps(flat, &random, 5);
        if (program && !(program->facts & VY_PROGRAM_HAS_GRID_BARRIER)) {
            snprintf(what, sizeof what, "traps, seed %" PRIu64, seed);
            told->run++;
            if (differs(&q, program, vyre_case_arguments(made)))
                fail_small(&q, program, vyre_case_arguments(made), what);
        }
        vyre_program_release(q.legal);
        vyre_program_release(program);
        vyre_program_release(flat);
        vyre_case_free(made);
    }
}

static void random_programs_with_traps_end_alike(void **state) {
    (void)state;
    NEEDS_DEVICE("random_programs_with_traps_end_alike");
    try_seeds(try_traps, first_seed(), first_seed() + 50 * vy_test_effort());
}

/* ---- ops ---- */

enum { CASES = 1 << 14 };

static void try_row(const op_run *run, uint64_t *values[3]) {
    vyre_type element = element_type(run->operand);
    unsigned size = vyre_type_size(element);
    static uint8_t bytes[4][CASES * 8];
    vyre_span spans[4];
    question q = {.manner = OPTIMISED};
    char what[64];
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < CASES; i++)
            vy_value_store(k == 3 ? VYRE_TYPE_U32 : element, bytes[k] + i * (k == 3 ? 4 : size),
                           k == 3 ? values[0][i] & 1 : values[k][i]);
        spans[k] = (vyre_span){bytes[k], CASES * (k == 3 ? 4 : size)};
    }
    vyre_arguments arguments = {.inputs = spans, .input_count = 4};
    snprintf(what, sizeof what, "%s %s of %s", vyre_type_name(run->result), vyre_op_get(run->op)->name,
             vyre_type_name(run->operand));
    if (differs(&q, run->program, &arguments)) {
        show(&q, run->program);
        give_up("%s: %s", what, q.why);
    }
    vyre_program_release(q.legal);
}

static void try_ops(uint64_t first, uint64_t end) {
    (void)first, (void)end;
    static uint64_t storage[3][CASES];
    uint64_t *values[3] = {storage[0], storage[1], storage[2]};
    unsigned rows = 0;
    for (int operand = 0; operand < VYRE_TYPE_COUNT; operand++) {
        vy_random random = vy_random_start((uint64_t)operand);
        fill(&random, (vyre_type)operand, values, CASES);
        for (int op = 0; op < VYRE_OP_COUNT; op++)
            for (int result = 0; result < VYRE_TYPE_COUNT; result++) {
                op_run run;
                if (!op_run_start(&run, (vyre_op)op, (vyre_type)result, (vyre_type)operand))
                    continue;
                try_row(&run, values);
                op_run_end(&run);
                rows++;
            }
    }
    printf("%u ops, %d operands each\n", rows, CASES);
}

static void every_op_on_every_type_gives_the_same_bits(void **state) {
    (void)state;
    NEEDS_DEVICE("every_op_on_every_type_gives_the_same_bits");
    succeeds(try_ops);
}

/* ---- ends ---- */

#define FOREVER                                                                                                        \
    "program forever {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n var n = x[global_id.x]\n"            \
    " while n != 0 { n = n | 1 }\n x[global_id.x] = n\n}\n"

static void stops(const vy_launch_control *control, int is_to_stop) {
    static uint32_t values[1000];
    const vyre_span input = {values, sizeof values};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    const vy_target_desc target = vy_ptx_target(gpu.architecture, 1);
    vyre_program *program = vy_test_parse(FOREVER), *legal = NULL;
    outcome got;
    memset(values, is_to_stop ? 1 : 0, sizeof values);
    assert_int_equal(vy_legalize(program, &target, &legal, NULL), VYRE_OK);
    outcome_of_device(&gpu, legal, &arguments, 0, control, &got);
    if (got.status != VYRE_OK || got.stopped != is_to_stop)
        give_up("stopped is %d, must be %d: %s", got.stopped, is_to_stop, got.message);
    outcome_free(&got);
    vyre_program_release(legal);
    vyre_program_release(program);
}

static void try_stops(uint64_t first, uint64_t end) {
    (void)first, (void)end;
    stops(fresh_control(), 0);
    stops(&(vy_launch_control){.trap_invocation = UINT64_MAX, .deadline = 1}, 1);
    stops(&(vy_launch_control){.trap_invocation = UINT64_MAX, .deadline = UINT64_MAX, .cancel = 1}, 1);
}

static void a_dispatch_stops_at_its_deadline_and_when_it_is_cancelled(void **state) {
    (void)state;
    NEEDS_DEVICE("a_dispatch_stops_at_its_deadline_and_when_it_is_cancelled");
    succeeds(try_stops);
}

/* All invocations of many groups report at once; the smallest is kept. */
static void try_many_traps(uint64_t first, uint64_t end) {
    (void)first, (void)end;
    enum { COUNT = 1 << 20, FIRST = 777 };
    vyre_program *program = vy_test_parse("program all {\n buffer x : u32 read\n workgroup 256\n grid over x\n"
                                          " if x[global_id.x] != 0 { trap x[global_id.x] }\n}\n");
    uint32_t *values = calloc(COUNT, sizeof *values);
    const vyre_span input = {values, COUNT * sizeof *values};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    const vy_target_desc target = vy_ptx_target(gpu.architecture, 0);
    vyre_program *legal = NULL;
    outcome got;
    assert_non_null(values);
    for (uint32_t i = FIRST; i < COUNT; i++)
        values[i] = i * 3 + 1;
    assert_int_equal(vy_legalize(program, &target, &legal, NULL), VYRE_OK);
    outcome_of_device(&gpu, legal, &arguments, 0, fresh_control(), &got);
    if (got.status != VYRE_TRAPPED || got.trap.invocation != FIRST || got.trap.code != FIRST * 3 + 1)
        give_up("trap %" PRIu32 " of %" PRIu64 ": %s", got.trap.code, got.trap.invocation, got.message);
    outcome_free(&got);
    free(values);
    vyre_program_release(legal);
    vyre_program_release(program);
}

static void the_smallest_of_many_traps_is_kept(void **state) {
    (void)state;
    NEEDS_DEVICE("the_smallest_of_many_traps_is_kept");
    succeeds(try_many_traps);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_on_every_type_gives_the_same_bits),
        cmocka_unit_test(the_smallest_of_many_traps_is_kept),
        cmocka_unit_test(a_dispatch_stops_at_its_deadline_and_when_it_is_cancelled),
        cmocka_unit_test(random_programs_give_the_same_bits),
        cmocka_unit_test(random_programs_with_traps_end_alike),
    };
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED)
        return 1;
    if (has_device())
        printf("%s\n", told->name);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
