/* Random programs deliver the same when they are widened, optimised or not; and so do the examples. */
#include "opt/coarsen_runner.h"

#include "analysis/range_checks.h"
#include "compile/pipeline.h"
#include "generate/generate.h"

enum { REASONS = 64 };

/* How many programs stayed as they are, by reason. */
typedef struct tally {
    const char *reasons[REASONS];
    uint64_t claims, wide; /* about accesses; accesses of legal programs */
    unsigned counts[REASONS], widened, fast, by_factor[VY_COARSEN_MAX + 1];
} tally;

static void count(tally *t, const vy_coarsened *made) {
    t->widened += made->factor > 1;
    t->by_factor[made->factor]++;
    for (int i = 0; made->reason && i < REASONS; i++) {
        if (!t->reasons[i])
            t->reasons[i] = made->reason;
        if (strcmp(t->reasons[i], made->reason) == 0) {
            t->counts[i]++;
            return;
        }
    }
}

static void show(const tally *t) {
    printf("widened: %u (by 2: %u, 4: %u, 8: %u, 16: %u), %u took the fast path, %llu accesses claimed, %llu wide\n",
           t->widened, t->by_factor[2], t->by_factor[4], t->by_factor[8], t->by_factor[16], t->fast,
           (unsigned long long)t->claims, (unsigned long long)t->wide);
    for (int i = 0; i < REASONS && t->reasons[i]; i++)
        printf("  %5u  %s\n", t->counts[i], t->reasons[i]);
}

/* ---- the fast path, seen ---- */

/* A trap where the fast path starts: in the first `if`. */
static int mark_stmt(vy_rewrite *rw, uint32_t stmt) {
    uint32_t *fast = rw->user;
    if (stmt && *fast == VY_NONE && rw->from->stmts.items[stmt - 1].kind == VY_STMT_IF) {
        vy_stmt trap = vy_irb_blank_stmt(VY_STMT_TRAP);
        *fast = stmt;
        vy_irb_if(&rw->draft, vy_irb_literal(&rw->draft, VYRE_TYPE_BOOL, 1));
        trap.a = vy_irb_literal(&rw->draft, VYRE_TYPE_U32, 1);
        vy_irb_stmt(&rw->draft, &trap, NULL, 0, NULL, NULL);
        vy_irb_end_block(&rw->draft);
        rw->changes++;
    }
    return 0;
}

static int takes_fast_path(const vyre_program *program, const vy_coarsened *made, const vyre_arguments *arguments) {
    static const vy_rewriter hooks = {.stmt = mark_stmt};
    static runner_result result;
    uint32_t fast = VY_NONE;
    uint64_t changes;
    vyre_program *marked;
    vyre_error error;
    assert_int_equal(vy_rewrite_run(made->program, &hooks, &fast, NULL, &marked, &changes, &error), VYRE_OK);
    widen_run(program, made, marked, arguments, (vyre_oracle_options){0}, &result);
    runner_free(&result);
    vyre_program_release(marked);
    return result.status == VYRE_TRAPPED;
}

/* ---- what ranges claim of it, checked ---- */

static void check_claims(const vyre_program *program, const vy_coarsened *made, const vyre_arguments *arguments,
                         const char *what, tally *t) {
    static runner_result result;
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_program *optimized;
    vyre_error error;
    checking c = {0};
    assert_int_equal(vyre_program_optimize(made->program, &level, &optimized, NULL, &error), VYRE_OK);
    vyre_program *const programs[2] = {made->program, optimized};
    for (int i = 0; i < 2; i++) {
        vyre_program *checked = with_checks(programs[i], &c);
        widen_run(program, made, checked, arguments, (vyre_oracle_options){0}, &result);
        if (result.status == VYRE_TRAPPED) {
            widen_show(program, checked);
            fail_msg("%s: a claim is false", what);
        }
        runner_free(&result);
        vyre_program_release(checked);
    }
    t->claims += c.accesses;
    vyre_program_release(optimized);
}

/* ---- down to wide accesses ---- */

static void check_legal(vyre_program *program, const vy_coarsened *made, const vyre_arguments *arguments,
                        const char *what, tally *t) {
    static runner_result direct, wide;
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vy_target_desc target = {.exact = (UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1, .access_bytes = 16};
    vyre_program *optimized, *legal;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_program_optimize(made->program, &level, &optimized, NULL, &error), VYRE_OK);
    if (vy_legalize(optimized, &target, &legal, &error) != VYRE_OK)
        fail_msg("%s: %s", what, error.message);
    for (uint32_t i = 0; i < legal->stmts.count; i++)
        t->wide += legal->stmts.items[i].kind == VY_STMT_LOAD_WIDE || legal->stmts.items[i].kind == VY_STMT_STORE_WIDE;
    runner_direct(program, arguments, (vyre_oracle_options){0}, &direct);
    widen_run(program, made, legal, arguments, (vyre_oracle_options){0}, &wide);
    const char *text = runner_compare(program, &direct, &wide);
    if (text) {
        widen_show(program, legal);
        fail_msg("%s, legal: %s", what, text);
    }
    runner_free(&direct);
    runner_free(&wide);
    vyre_program_release(legal);
    vyre_program_release(optimized);
}

/* ---- random programs ---- */

/* Widened whether it pays or not, and if it pays: that is the same program unless the factor differs. */
static void try_both(vyre_program *program, const vyre_arguments *arguments, uint32_t access_bytes, const char *what,
                     tally *any, tally *paying) {
    vyre_error error = VYRE_ERROR_INIT;
    for (uint8_t even_if_slow = 0; even_if_slow < 2; even_if_slow++) {
        vy_target_desc options = {.access_bytes = access_bytes,
                                  .coarsen = even_if_slow ? VY_COARSEN_IF_POSSIBLE : VY_COARSEN_IF_FASTER};
        tally *t = even_if_slow ? any : paying;
        vy_coarsened made;
        if (vy_coarsen(program, &options, &made, &error) != VYRE_OK)
            fail_msg("%s: %s", what, error.message);
        count(t, &made);
        if (made.factor == 1)
            assert_ptr_equal(made.program, program);
        else if (even_if_slow)
            widen_compare(program, &made, arguments, (vyre_oracle_options){0}, what);
        if (made.factor > 1 && t->widened % 3 == 0)
            check_claims(program, &made, arguments, what, t);
        if (made.factor > 1 && !even_if_slow && t->widened % 2)
            check_legal(program, &made, arguments, what, t);
        if (made.factor > 1)
            t->fast += (unsigned)takes_fast_path(program, &made, arguments);
        vyre_program_release(made.program);
    }
}

static void random_programs_deliver_the_same(void **state) {
    (void)state;
    uint64_t programs = (VY_SANITIZED ? 150 : 1500) * (uint64_t)vy_test_effort();
    const char *first = getenv("VYRE_SEED");
    uint64_t start = first ? strtoull(first, NULL, 0) : 0;
    tally t = {0}, paying = {0};
    for (uint64_t seed = start; seed < start + programs; seed++) {
        static const unsigned stresses[] = {VYRE_STRESS_INTEGERS,
                                            VYRE_STRESS_CONTROL,
                                            VYRE_STRESS_INTEGERS | VYRE_STRESS_CONTROL | VYRE_STRESS_GEOMETRY,
                                            VYRE_STRESS_FLOATS | VYRE_STRESS_GEOMETRY,
                                            VYRE_STRESS_FUNCTIONS | VYRE_STRESS_CONTROL,
                                            VYRE_STRESS_ATOMICS | VYRE_STRESS_GEOMETRY,
                                            0};
        vyre_generate_options options = {
            .seed = seed, .stress = stresses[seed % 7], .statements = 4 + (unsigned)(seed % 30), .invocations = 96};
        vyre_case *made;
        vyre_error error;
        char what[64];
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        assert_int_equal(vyre_generate(&options, &made, &error), VYRE_OK);
        vyre_program *program = vyre_case_program(made);
        const vyre_arguments *arguments = vyre_case_arguments(made);
        try_both(program, arguments, seed % 5 ? 16 : 8, what, &t, &paying);
        vyre_case_free(made);
    }
    show(&t);
    show(&paying);
    assert_true(t.widened > programs / 5);
}

/* ---- streams: programs that go through buffers, as people write them ---- */

enum { TEXT = 1 << 14, STREAM_BUFFERS = 4 };

typedef struct stream {
    vy_random random;
    char text[TEXT];
    size_t used;
    unsigned names, budget;
    const char *types[STREAM_BUFFERS];
    int is_2d, may_return;
} stream;

static unsigned below(stream *s, unsigned bound) {
    return (unsigned)vy_random_below(&s->random, bound);
}

__attribute__((format(printf, 2, 3))) static void put(stream *s, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    s->used += (size_t)vsnprintf(s->text + s->used, TEXT - s->used, format, arguments);
    va_end(arguments);
    assert_true(s->used < TEXT - 64);
}

/* Of buffers that are only read: anything goes. */
static void put_index(stream *s) {
    static const char *const forms[] = {"i",
                                        "i",
                                        "i + 1",
                                        "i - 1",
                                        "i + k",
                                        "k + i - 2",
                                        "w * 3 + i",
                                        "i + 77",
                                        "i + 2",
                                        "i * 2",
                                        "i % 5",
                                        "i % len(b0)",
                                        "(i + 2) % len(b1)",
                                        "i % (k + 9)",
                                        "j % len(b1)",
                                        "len(b1) - i",
                                        "w - 1",
                                        "i - k - w + 3",
                                        "group_id.x * 3 + i",
                                        "group_id.x",
                                        "global_id.y * w + i",
                                        "j",
                                        "j + 2",
                                        "(i ^ 1) + k"};
    put(s, "%s", forms[below(s, sizeof forms / sizeof *forms)]);
}

/* Of those that are written, every invocation has its own element: b2 at j + 1, b3 at j. */
static void put_load(stream *s) {
    unsigned buffer = below(s, STREAM_BUFFERS);
    put(s, "u32(b%u[", buffer);
    if (buffer < 2)
        put_index(s);
    else
        put(s, buffer == 2 ? "j + 1" : "j");
    put(s, "])");
}

static void put_value(stream *s, unsigned depth) {
    static const char *const leaves[] = {"k",           "w",          "i",       "j",          "3u32",
                                         "global_id.y", "local_id.x", "len(b0)", "group_id.x", "v"};
    static const char *const ops[] = {"+", "-", "*", "^", "&", "%"};
    switch (below(s, depth ? 6 : 3)) {
    case 0:
        put(s, "%s", leaves[below(s, sizeof leaves / sizeof *leaves)]);
        break;
    case 1:
    case 2:
        put_load(s);
        break;
    case 3:
        put(s, "(i %% 3 == 1 ? ");
        put_value(s, depth - 1);
        put(s, " : ");
        put_value(s, depth - 1);
        put(s, ")");
        break;
    default:
        put(s, "(");
        put_value(s, depth - 1);
        put(s, " %s ", ops[below(s, 6)]);
        put_value(s, depth - 1);
        put(s, ")");
    }
}

static void put_condition(stream *s, unsigned depth) {
    static const char *const tests[] = {"i < len(b3)", "i < len(b1)",     "i + 1 < len(b0)", "len(b2) > j + 1",
                                        "i <= k + w",  "j < len(b3) - 1", "i > 0",           "i != 2",
                                        "w > 4",       "k == 3",          "i < w * 3",       "global_id.y < 2",
                                        "here",        "i >= 1",          "w <= i",          "5 < i"};
    if (depth == 0 || below(s, 3) == 0) {
        if (below(s, 5)) {
            put(s, "%s", tests[below(s, sizeof tests / sizeof *tests)]);
        } else {
            put_value(s, 1);
            put(s, " %% 3 == 0");
        }
        return;
    }
    put(s, below(s, 4) ? "(" : "!(");
    put_condition(s, depth - 1);
    put(s, below(s, 3) ? " && " : " || ");
    put_condition(s, depth - 1);
    put(s, ")");
}

static void put_block(stream *s, unsigned depth, int in_loop);

static void put_stmt(stream *s, unsigned depth, int in_loop) {
    unsigned name = s->names++, kind = below(s, depth ? 12 : 6);
    switch (kind) {
    case 0:
        put(s, "let n%u = ", name);
        put_value(s, 2);
        put(s, "\n v = v + n%u\n", name);
        break;
    case 1:
        put(s, "v = ");
        put_value(s, 2);
        put(s, "\n");
        break;
    case 2:
    case 3:
    case 4:
        put(s, "b%u[%s] = %s(", kind % 2 ? 3 : 2, kind % 2 ? "j" : "j + 1", s->types[kind % 2 ? 3 : 2]);
        put_value(s, 2);
        put(s, ")\n");
        break;
    case 5:
        if (in_loop && below(s, 2)) {
            put(s, "if ");
            put_condition(s, 0);
            put(s, " { %s }\n", below(s, 2) ? "break" : "continue");
        }
        break;
    case 6:
    case 7:
        put(s, below(s, 2) ? "for r%u in 0u32 .. 3 {\n v = v + r%u\n" : "for r%u in 0u32 .. k {\n v = v + r%u * 2\n",
            name, name);
        put_block(s, depth - 1, 1);
        put(s, "}\n");
        break;
    default:
        put(s, "if ");
        put_condition(s, 2);
        put(s, " {\n");
        put_block(s, depth - 1, in_loop);
        if (below(s, 2)) {
            put(s, "} else {\n");
            put_block(s, depth - 1, in_loop);
        }
        put(s, "}\n");
    }
}

static void put_block(stream *s, unsigned depth, int in_loop) {
    for (unsigned count = 1 + below(s, 3); count && s->budget; count--, s->budget--)
        put_stmt(s, depth, in_loop);
}

static void put_guard(stream *s) {
    put(s, "if ");
    put_condition(s, 1);
    put(s, below(s, 2) ? " { return }\n" : " { b3[j] = %s(9)\n return }\n", s->types[3]);
}

static void write_stream(stream *s, uint64_t seed) {
    static const char *const types[] = {"u8", "u16", "u32", "u64", "i32", "f16", "f32", "f64", "i8"};
    *s = (stream){.random = vy_random_start(seed), .budget = 14};
    int is_same = (int)below(s, 2);
    s->is_2d = below(s, 4) == 0;
    for (int i = 0; i < STREAM_BUFFERS; i++)
        s->types[i] = is_same && i ? s->types[0] : types[below(s, sizeof types / sizeof *types)];
    put(s, "program p {\n param k : u32\n param w : u32\n buffer b0 : %s read\n buffer b1 : %s read\n", s->types[0],
        s->types[1]);
    put(s, "buffer b2 : %s read_write\n buffer b3 : %s read_write\n workgroup %u%s\n", s->types[2], s->types[3],
        below(s, 4) ? 1 + below(s, 9) : 16, s->is_2d ? ", 2" : "");
    put(s, below(s, 3) ? "let i = global_id.x\n" : "let i = group_id.x * workgroup_size.x + local_id.x\n");
    put(s, s->is_2d ? "let j = global_id.y * global_size.x + i\n" : "let j = i\n");
    put(s, "let here = j < len(b3)\n var v = 1u32\n");
    for (unsigned guards = below(s, 3); guards; guards--)
        put_guard(s);
    if (below(s, 3)) {
        put(s, "if j < len(b3) {\n");
        put_block(s, 2, 0);
        put(s, "}\n");
    } else {
        put_block(s, 2, 0);
        put_block(s, 2, 0);
    }
    put(s, "b3[j] = %s(v)\n}\n", s->types[3]);
}

static void run_stream(stream *s, vyre_program *program, const char *what, tally *t, tally *paying) {
    static uint64_t bytes[STREAM_BUFFERS][100];
    vyre_span inputs[STREAM_BUFFERS];
    vyre_scalar params[2] = {vyre_scalar_u32(below(s, 7)), vyre_scalar_u32(below(s, 12))};
    vyre_arguments arguments = {.params = params, .param_count = 2, .inputs = inputs, .input_count = STREAM_BUFFERS};
    uint64_t length = below(s, 100);
    for (int i = 0; i < STREAM_BUFFERS; i++) {
        for (int j = 0; j < 100; j++)
            bytes[i][j] = vy_random_next(&s->random);
        uint64_t elements = below(s, 3) ? length : below(s, 100);
        inputs[i] = (vyre_span){bytes[i], elements * vyre_type_size((vyre_type)program->memories.items[i].type)};
    }
    arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {below(s, 40), 1 + (uint32_t)s->is_2d, 1}};
    try_both(program, &arguments, 16, what, t, paying);
}

static void random_streams_deliver_the_same(void **state) {
    (void)state;
    uint64_t programs = (VY_SANITIZED ? 80 : 800) * (uint64_t)vy_test_effort();
    const char *first = getenv("VYRE_SEED");
    uint64_t start = first ? strtoull(first, NULL, 0) : 0;
    static stream s;
    tally t = {0}, paying = {0};
    for (uint64_t seed = start; seed < start + programs; seed++) {
        vyre_module *module;
        vyre_error error = VYRE_ERROR_INIT;
        char what[64];
        write_stream(&s, seed);
        if (vyre_text_parse(s.text, s.used, NULL, NULL, &module, &error) != VYRE_OK)
            fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, error.message, s.text);
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        run_stream(&s, vyre_module_program(module, 0), what, &t, &paying);
        vyre_module_free(module);
    }
    show(&t);
    show(&paying);
    assert_true(t.widened > programs / 2 && paying.widened > programs / 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_deliver_the_same),
        cmocka_unit_test(random_streams_deliver_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
