/* Random runs of adjacent accesses, generated programs and widened ones give their bytes when accesses are fused,
 * wherever buffers start; and what widening is for comes out of it: nothing but wide accesses in the fast path of the
 * examples. */
#include "compile/pipeline.h"
#include "ir/walk.h"
#include "lower/vectorize_mem_runner.h"
#include "opt/coarsen_runner.h"

#include <stdarg.h>

/* ---- random runs ---- */

enum { INVOCATIONS = 6, REGION = 16, TEXT = 1 << 15 };

/* A text that grows. Every invocation accesses 16 elements of its own, by several names for their start. */
typedef struct writer {
    vy_random *random;
    char text[TEXT];
    size_t used;
    unsigned names; /* of values so far: v0, v1, … */
    unsigned depth;
    const char *type;
} writer;

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writer *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    w->used += (size_t)vsnprintf(w->text + w->used, sizeof w->text - w->used, format, list);
    va_end(list);
    assert_true(w->used < sizeof w->text);
}

static unsigned below(writer *w, unsigned bound) {
    return (unsigned)vy_random_below(w->random, bound);
}

/* One of 16 elements: from the start, from its middle, from a start that nothing is known of, or by a variable, which
 * is in the first half. */
static void put_index(writer *w, unsigned at) {
    switch (below(w, 8)) {
    case 0:
        put(w, "q + %u", at);
        break;
    case 1:
        put(w, "%u + b", at);
        break;
    case 2:
        put(w, at < 5 ? "c - %u" : "c + %u", at < 5 ? 5 - at : at - 5);
        break;
    case 3:
        put(w, "m + %u", at % 8);
        break;
    case 4:
        put(w, at < 8 ? "d - %u" : "d + %u", at < 8 ? 8 - at : at - 8);
        break;
    default:
        put(w, "b + %u", at);
    }
}

static const char *memory(writer *w) {
    static const char *const names[] = {"y", "y", "s", "x"};
    return names[below(w, 4)];
}

static void put_value(writer *w) {
    if (w->names && below(w, 4))
        put(w, "v%u", w->names - 1 - below(w, w->names < 6 ? w->names : 6));
    else if (below(w, 2))
        put(w, "u");
    else
        put(w, "%u", below(w, 100));
}

static void put_load(writer *w, unsigned at) {
    put(w, "let v%u = %s![", w->names, memory(w));
    put_index(w, at);
    put(w, "]\n");
    w->names++;
}

static void put_store(writer *w, unsigned at) {
    put(w, "%s![", below(w, 3) ? "y" : "s");
    put_index(w, at);
    put(w, "] = ");
    put_value(w);
    put(w, " + ");
    put_value(w);
    put(w, "\n");
}

/* Consecutive elements of one memory, shuffled, with something between now and then. */
static void put_run(writer *w) {
    unsigned count = 2 + below(w, 6), first = below(w, REGION - count + 1) & (below(w, 3) ? ~3u : ~0u);
    unsigned stores = below(w, 2), odd = below(w, 3) ? 0 : 1 + below(w, 4), step = 1 + 2 * below(w, 2);
    const char *name = stores ? below(w, 2) ? "y" : "s" : memory(w);
    const char *base = below(w, 3) ? "b" : first + count <= 8 && below(w, 2) ? "m" : "q";
    for (unsigned k = 0; k < count; k++) {
        unsigned at = first + (step == 3 && count % 3 ? k * 3 % count : k);
        if (base[0] == 'm' && !below(w, 4))
            put(w, "m = b + %u\n", below(w, REGION / 2));
        if (odd && !below(w, odd))
            below(w, 2) ? put_load(w, below(w, REGION)) : put_store(w, below(w, REGION));
        if (stores) {
            put(w, "%s![%s + %u] = ", name, base, at);
            put_value(w);
            put(w, below(w, 2) ? "\n" : " * 3\n");
            if (!below(w, 4))
                put(w, "u = u + 5\n");
        } else {
            put(w, "let v%u = %s![%s + %u]\n", w->names++, name, base, at);
        }
    }
}

static void put_block(writer *w, unsigned statements);

static void put_inside(writer *w, const char *head) {
    unsigned names = w->names;
    put(w, "%s {\n", head);
    w->depth++;
    put_block(w, 3);
    w->depth--;
    w->names = names;
    put(w, "}\n");
}

static void put_block(writer *w, unsigned statements) {
    for (unsigned i = 0; i < statements; i++)
        switch (below(w, 14)) {
        case 0:
            put_load(w, below(w, REGION));
            break;
        case 1:
            put_store(w, below(w, REGION));
            break;
        case 2:
            put(w, "m = b + %u\n", below(w, REGION / 2));
            put(w, "u = u * 3 + 1\n");
            break;
        case 3:
            put(w, "atomic_add(s![b + %u], 1)\n", below(w, REGION));
            break;
        case 4:
            if (w->depth < 2)
                put_inside(w, below(w, 2) ? "if l < 3" : w->depth ? "for i in 0u32 .. 3" : "for k in 0u32 .. 3");
            break;
        case 5:
            if (!w->depth)
                put(w, "barrier\n");
            break;
        default:
            put_run(w);
        }
}

static vyre_program *random_runs(writer *w) {
    static const char *const types[] = {"u32", "i32", "u32", "i64", "u64"};
    w->type = types[below(w, 5)];
    w->used = 0;
    w->names = 0;
    put(w,
        "program p {\n  level legal\n  param n : u32\n  buffer x : %s read\n  buffer y : %s read_write\n  workgroup "
        "%u\n"
        "  grid 1\n  array s : %s [%u] workgroup\n  let l = local_index\n  let b = l * 16\n  let c = b + 5\n  let d = "
        "3 + c\n"
        "  let q = l * (n * 2)\n  var m = b\n  var u = %s(7u32)\n  for k in 0u32 .. 16 { s![b + k] = 1 }\n",
        w->type, w->type, INVOCATIONS, w->type, INVOCATIONS * REGION, w->type);
    put_block(w, 10);
    put(w, "for k in 0u32 .. 16 { y![b + k] = y![b + k] ^ s![b + k] * 5 }\n}\n");
    return vy_test_parse(w->text);
}

static void runs_of_accesses_keep_their_bytes(void **state) {
    (void)state;
    static writer w;
    static uint64_t bytes[2][INVOCATIONS * REGION];
    unsigned total = (VY_SANITIZED ? 40 : 400) * vy_test_effort(), wide = 0;
    for (unsigned seed = 1; seed <= total; seed++) {
        vy_random random = vy_random_start(seed);
        w.random = &random;
        vyre_program *program = random_runs(&w);
        size_t size = sizeof bytes[0] / (w.type[1] == '6' ? 1 : 2);
        for (int i = 0; i < INVOCATIONS * REGION; i++) {
            bytes[0][i] = vy_random_next(&random);
            bytes[1][i] = vy_random_next(&random);
        }
        vyre_span inputs[2] = {{bytes[0], size}, {bytes[1], size}};
        vyre_scalar n = {VYRE_TYPE_U32, 8};
        vyre_arguments arguments = {.params = &n, .param_count = 1, .inputs = inputs, .input_count = 2};
        char what[32];
        snprintf(what, sizeof what, "seed %u", seed);
        wide += check_fusing(program, &arguments, what);
        vyre_program_release(program);
    }
    printf("%u programs, %u wide accesses\n", total, wide);
    assert_true(wide > 10 * total);
}

/* ---- generated programs ---- */

static void generated_programs_keep_their_bytes(void **state) {
    (void)state;
    static question q;
    unsigned total = (VY_SANITIZED ? 40 : 400) * vy_test_effort(), wide = 0;
    for (unsigned seed = 1; seed <= total; seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 16, .invocations = 48};
        options.stress = VYRE_STRESS_MEMORY | VYRE_STRESS_CONTROL | VYRE_STRESS_INTEGERS |
                         (seed % 2 ? VYRE_STRESS_COLLECTIVES : VYRE_STRESS_FLOATS);
        vyre_case *made = NULL;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        vyre_program *program = NULL;
        vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
        assert_int_equal(vyre_program_optimize(vyre_case_program(made), &level, &program, NULL, NULL), VYRE_OK);
        q.target = (vy_target_desc){.exact = ALL_BITS & ~(seed % 3 ? 0 : BIT(INT64)),
                                    .access_bytes = 4u << seed % 3,
                                    .cancellable = seed % 7 == 0,
                                    .aligned_buffers = seed % 4 == 0};
        q.options =
            (vyre_oracle_options){.checks = VYRE_CHECK_RACES, .budget = (uint64_t)STEPS * MORE, .seed = seed % 5};
        q.conditions = (vy_lowered_env){.garbage = seed, .misalignment = q.target.aligned_buffers ? 0 : seed};
        static legal_arguments given;
        static outcome checked;
        vyre_program *legal = NULL;
        /* A load may be computed for nothing, and is then ordered with nobody's store: of such a program the bytes
         * count. */
        outcome_of(program, vyre_case_arguments(made), q.options, &(vy_lowered_env){0}, &checked);
        if (checked.status == VYRE_CHECK_FAILED)
            q.options.checks = 0;
        outcome_free(&checked);
        if (want_outcome(&q, program, vyre_case_arguments(made)) &&
            vy_legalize(program, &q.target, &legal, NULL) == VYRE_OK) {
            static outcome got;
            access_counts counts = counts_of(legal);
            wide += counts.wide_loads + counts.wide_stores;
            outcome_of(legal, arguments_for(program, q.target.exact, vyre_case_arguments(made), &given), q.options,
                       &q.conditions, &got);
            const char *difference = outcome_differs(&q.want, &got);
            if (difference) {
                print_program(program);
                print_program(legal);
                fail_msg("seed %u: %s", seed, difference);
            }
            outcome_free(&got);
        }
        vyre_program_release(legal);
        vyre_program_release(program);
        vyre_case_free(made);
    }
    outcome_free(&q.want);
    printf("%u programs, %u wide accesses\n", total, wide);
    assert_true(wide > total / 20);
}

/* ---- widened programs ---- */

/* The widened program, optimised and legalised, beside the original. Returns how many wide accesses it has. */
static unsigned check_widened(vyre_program *program, const vy_coarsened *widened, const vyre_arguments *arguments,
                              const vy_target_desc *target, uint64_t seed) {
    static runner_result direct, wide;
    vyre_program *optimized = NULL, *legal = NULL;
    vyre_error error = {0};
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    assert_int_equal(vyre_program_optimize(widened->program, &level, &optimized, NULL, NULL), VYRE_OK);
    if (vy_legalize(optimized, target, &legal, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    access_counts counts = counts_of(legal);
    vyre_oracle_options options = {.checks = VYRE_CHECK_RACES, .budget = STEPS};
    runner_direct(program, arguments, options, &direct);
    options.budget = (uint64_t)STEPS * MORE;
    options.seed = target->aligned_buffers ? 0 : seed; /* chooses where buffers start */
    widen_run(program, widened, legal, arguments, options, &wide);
    const char *difference = direct.status == VYRE_BUDGET ? NULL : runner_compare(program, &direct, &wide);
    if (difference) {
        widen_show(program, optimized);
        print_program(legal);
        fail_msg("seed %" PRIu64 ": %s", seed, difference);
    }
    runner_free(&direct);
    runner_free(&wide);
    vyre_program_release(optimized);
    vyre_program_release(legal);
    return counts.wide_loads + counts.wide_stores;
}

static void widened_programs_keep_their_bytes(void **state) {
    (void)state;
    unsigned total = (VY_SANITIZED ? 100 : 1500) * vy_test_effort(), wide = 0, widened_count = 0;
    for (unsigned seed = 1; seed <= total; seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 8, .depth = 2, .invocations = 90};
        options.stress = VYRE_STRESS_INTEGERS | VYRE_STRESS_FLOATS | (seed % 3 ? 0 : VYRE_STRESS_CONTROL);
        vyre_case *made = NULL;
        vy_coarsened widened;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        vy_target_desc target = {.exact = ALL_BITS, .access_bytes = 4u << seed % 3, .aligned_buffers = seed % 4 == 0};
        vy_target_desc how = {.access_bytes = target.access_bytes, .coarsen = VY_COARSEN_IF_POSSIBLE};
        assert_int_equal(vy_coarsen(vyre_case_program(made), &how, &widened, NULL), VYRE_OK);
        if (widened.factor > 1) {
            widened_count++;
            wide += check_widened(vyre_case_program(made), &widened, vyre_case_arguments(made), &target, seed);
        }
        vyre_program_release(widened.program);
        vyre_case_free(made);
    }
    printf("%u of %u programs widened, %u wide accesses\n", widened_count, total, wide);
    assert_true(widened_count > total / 20 && wide > widened_count / 2);
}

/* ---- what it is for ---- */

/* Accesses of the statements [first, end). */
static access_counts counts_in(const vyre_program *program, uint32_t first, uint32_t end) {
    access_counts counts = {0};
    uint32_t expr = 0;
    for (uint32_t i = 0; i < end; i++) {
        uint32_t next = vy_stmt_exprs_end(program, &program->stmts.items[i], expr);
        uint8_t kind = program->stmts.items[i].kind;
        for (; expr < next; expr++)
            counts.loads += i >= first && program->exprs.items[expr].kind == VY_EXPR_LOAD;
        if (i < first)
            continue;
        counts.stores += kind == VY_STMT_STORE;
        counts.wide_loads += kind == VY_STMT_LOAD_WIDE;
        counts.wide_stores += kind == VY_STMT_STORE_WIDE;
    }
    return counts;
}

static vyre_program *example(const char *name) {
    static char text[1 << 16];
    char path[256];
    snprintf(path, sizeof path, "examples/%s.vyre", name);
    FILE *file = fopen(vy_test_path(path), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return vy_test_parse(text);
}

static void check_fast_path(vyre_program *program, unsigned wide_loads, unsigned wide_stores, unsigned scattered) {
    vy_coarsened widened;
    vyre_program *optimized = NULL, *legal = NULL;
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vy_target_desc target = {.exact = ALL_BITS, .access_bytes = 16, .aligned_buffers = 1};
    assert_int_equal(vy_coarsen(program, &(vy_target_desc){.access_bytes = 16}, &widened, NULL), VYRE_OK);
    assert_true(widened.factor > 1);
    assert_int_equal(vyre_program_optimize(widened.program, &level, &optimized, NULL, NULL), VYRE_OK);
    assert_int_equal(vy_legalize(optimized, &target, &legal, NULL), VYRE_OK);
    uint32_t at = vy_program_entry(legal)->first_stmt;
    while (legal->stmts.items[at].kind != VY_STMT_IF)
        at++;
    access_counts fast = counts_in(legal, at + 1, legal->stmts.items[at].middle);
    if (fast.loads != scattered || fast.stores || fast.wide_loads != wide_loads || fast.wide_stores != wide_stores) {
        print_program(legal);
        fail_msg("%u loads, %u stores, %u wide loads, %u wide stores", fast.loads, fast.stores, fast.wide_loads,
                 fast.wide_stores);
    }
    vyre_program_release(legal);
    vyre_program_release(optimized);
    vyre_program_release(widened.program);
    vyre_program_release(program);
}

static void fast_paths_have_wide_accesses_only(void **state) {
    (void)state;
    check_fast_path(example("saxpy"), 2, 1, 0);
    check_fast_path(example("xor"), 3, 2,
                    16); /* two ways: the key stands in a row, or it begins again in between and is read one by one */
    static const char *const types[] = {"u8", "i16", "f16", "u32", "f32", "i64", "f64"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "program copy {\n  buffer x : %s read\n  buffer y : %s write count len(x)\n  workgroup 64\n  grid over x\n"
            "  let i = global_id.x\n  if i < len(x) { y[i] = x[i] }\n}\n",
            types[i], types[i]);
        check_fast_path(vy_test_parse(text), 1, 1, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_accesses_keep_their_bytes),
        cmocka_unit_test(generated_programs_keep_their_bytes),
        cmocka_unit_test(widened_programs_keep_their_bytes),
        cmocka_unit_test(fast_paths_have_wide_accesses_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
