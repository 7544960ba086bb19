/* A widened program delivers what the program delivers, with fewer invocations; what cannot be widened says why. */
#include "opt/coarsen_runner.h"
#include "support/fault.h"

#include "analysis/range.h"
#include "compile/pipeline.h"
#include "ir/walk.h"
#include "split/grid_tile.h"

enum { ELEMENTS = 200, BUFFERS = 8 };

static vyre_program *parse(const char *text) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_module *module;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s\n%s", error.message, text);
    vyre_program *first =
        vyre_module_program_count(module) ? vyre_module_program(module, 0) : vyre_module_library(module);
    vyre_program *program = vyre_program_retain(first);
    vyre_module_free(module);
    return program;
}

static vy_coarsened widened_by(vyre_program *program, vy_target_desc options) {
    vyre_error error = VYRE_ERROR_INIT;
    vy_coarsened made;
    if (vy_coarsen(program, &options, &made, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_non_null(made.program);
    assert_int_equal(made.factor == 1, made.reason != NULL);
    return made;
}

static vy_coarsened widened(vyre_program *program) {
    return widened_by(program, (vy_target_desc){.access_bytes = 16});
}

/* ---- running ---- */

/* Random bytes. */
static void fill(vy_random *random, uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)vy_random_next(random);
}

/* Buffers are as long as `counts` says, one for each that has no size of its own, and the grid has `groups` (0: the
 * program's own). */
static void run_both(vyre_program *program, const vy_coarsened *made, const uint64_t *counts, const uint32_t *params,
                     const uint32_t groups[3], const char *what) {
    static uint8_t bytes[BUFFERS][8 * ELEMENTS * 8];
    vyre_span inputs[BUFFERS];
    uint64_t open[BUFFERS];
    vyre_scalar scalars[BUFFERS];
    vyre_arguments arguments = {.params = scalars, .inputs = inputs, .counts = open};
    vy_random random = vy_random_start(counts[0] * 7 + counts[1]);
    for (uint32_t i = 0; i < program->param_count; i++) {
        scalars[i] = (vyre_scalar){(vyre_type)program->variables.items[i].type, params[i]};
        arguments.param_count++;
    }
    for (uint32_t i = 0, next = 0; i < program->buffer_count; i++) {
        const vy_memory *m = &program->memories.items[i];
        uint64_t count = m->size == VY_NONE ? counts[next++] : 0;
        assert_true(count * 8 <= sizeof bytes[i]);
        fill(&random, bytes[i], sizeof bytes[i]);
        if (m->access != VYRE_ACCESS_WRITE)
            inputs[arguments.input_count++] = (vyre_span){bytes[i], count * vyre_type_size((vyre_type)m->type)};
        else if (m->size == VY_NONE)
            open[arguments.count_count++] = count;
    }
    if (groups)
        arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {groups[0], groups[1], groups[2]}};
    widen_compare(program, made, &arguments, (vyre_oracle_options){.checks = VYRE_CHECK_RACES}, what);
}

/* All lengths from 0 to 70 of the first buffer, others of the same, a shorter and a longer length; the program's own
 * grid, and larger and smaller ones. */
static void run_lengths(vyre_program *program, const vy_coarsened *made, const char *what) {
    static const int differences[][4] = {{0, 0, 0, 0}, {0, -3, 5, 1}, {0, 9, -9, 17}};
    static const uint32_t params[BUFFERS] = {3, 11, 40, 5, 6, 7, 8, 9};
    for (uint64_t length = 0; length <= 70; length++)
        for (size_t d = 0; d < sizeof differences / sizeof *differences; d++) {
            uint64_t counts[BUFFERS] = {0};
            for (int i = 0; i < 4; i++)
                counts[i] = differences[d][i] < 0 && length < (uint64_t)-differences[d][i]
                                ? 0
                                : length + (uint64_t)(int64_t)differences[d][i];
            if (length % 16 > 2 && d != length % 3)
                continue; /* each remainder with each difference would take long */
            run_both(program, made, counts, params, NULL, what);
            for (uint32_t groups = 1; groups < 40 && length % 7 == 0; groups += 2 + groups)
                run_both(program, made, counts, params, (uint32_t[3]){groups, 1 + (uint32_t)(length % 2), 1}, what);
        }
}

static void holds_widened(const char *text, uint32_t factor) {
    vyre_program *program = parse(text);
    vy_coarsened made = widened(program);
    if (made.factor != factor)
        fail_msg("the factor is %u instead of %u (%s)\n%s", made.factor, factor, made.reason ? made.reason : "", text);
    run_lengths(program, &made, text);
    vyre_program_release(made.program);
    vyre_program_release(program);
}

#define STREAM(type, body)                                                                                             \
    "program p {\n param k : u32\n buffer y : " type " read_write\n buffer x : " type " read\n"                        \
    "workgroup 3\n grid over y\n let i = global_id.x\n" body "\n}"

/* ---- claims ---- */

static void streams_are_widened_to_sixteen_bytes(void **state) {
    (void)state;
    holds_widened(STREAM("f32", "if i < len(y) { y[i] = fma(2.5, x[i], y[i]) }"), 4);
    holds_widened(STREAM("u32", "if i < len(y) { y[i] = y[i] ^ x[i] }"), 4);
    holds_widened(STREAM("u8", "if i < len(y) { y[i] = y[i] ^ x[i] }"), 16);
    holds_widened(STREAM("f16", "if i < len(y) { y[i] = y[i] + x[i] }"), 8);
    holds_widened(STREAM("u64", "if i < len(y) { y[i] = y[i] ^ x[i] }"), 2);
    holds_widened(STREAM("u32", "y[i] = x[i]"), 4); /* no guard but the language's */
    holds_widened(STREAM("u32", "if i >= len(y) { return }\n let v = x[i]\n y[i] = v * v"), 4);
    holds_widened("program p {\n buffer x : u8 read\n buffer y : u32 write count len(x)\n workgroup 4\n grid over x\n"
                  "y[global_id.x] = u32(x[global_id.x]) }",
                  4);
}

static void offsets_and_neighbours(void **state) {
    (void)state;
    holds_widened(STREAM("u32", "if i < len(y) { y[i] = x[i + 1] }"), 4);
    holds_widened(STREAM("u32", "if i < len(y) { y[i] = x[i + k] }"), 4);
    holds_widened(STREAM("u32", "if i < len(y) { y[i] = x[k + i - 2] }"), 4);
    holds_widened(STREAM("u32", "if i < len(y) { y[i] = x[i - 1] + x[i] + x[i + 1] }"), 4);
    holds_widened(STREAM("u32", "if i == 0 || i + 1 >= len(y) { return }\n y[i] = x[i - 1] + x[i] + x[i + 1]"), 4);
    holds_widened(STREAM("u32", "if i > 0 && i < len(y) - 1 { y[i] = x[i - 1] + x[i + 1] } else { y[i] = 7 }"), 4);
    holds_widened(STREAM("u16", "if i < len(y) { y[i] = x[i + 4000000000] + x[i + 5000] }"), 8);
    holds_widened(STREAM("u32", "let j = group_id.x * workgroup_size.x + local_id.x\n if j < len(y) { y[j] = x[j] }"),
                  4);
}

/* By 0, 1, few, as many as there are lanes, a length; from below the first element, and from where the number wraps. */
static void remainders_follow_each_other(void **state) {
    (void)state;
    holds_widened(STREAM("u8", "if i < len(y) { y[i] = y[i] ^ x[i % len(x)] }"), 16);
    holds_widened(STREAM("u32", "if i < len(y) { y[i] = x[i] + (i + 5) % (k - 3) + (i - 7) % k }"), 4);
    holds_widened(STREAM("u8", "if i < len(y) { y[i] = x[i] + u8(i % (k - 2)) * 2 + u8((i + 1) % k) }"), 16);
    holds_widened(STREAM("u8", "if i < len(y) { y[i] = x[i] ^ u8(i % (k + 13)) ^ u8((i + 2) % (k + 12)) }"), 16);
    holds_widened(STREAM("u32", "if i < len(y) { y[i] = x[i - 6] + (i - 6) % k + (i + 4294967293) % (k + 2) }"), 4);
    holds_widened(STREAM("u32", "if i < len(y) { y[i] = x[i + 2] + (i + 2) % (0u32 - k) + (i + 3) % k }"), 4);
    holds_widened(STREAM("u32", "let j = i % k\n if x[i] > 9 { y[i] = x[i] + j } else { y[i] = (i + k) % (k + 1) }"),
                  4);
}

static void ids_and_sizes_are_the_original_ones(void **state) {
    (void)state;
    holds_widened(STREAM("u32", "y[i] = x[i] + local_id.x * 100 + group_id.x * 10000 + group_count.x * 7 + "
                                "global_size.x * 3 + local_index + workgroup_size.x"),
                  4);
    holds_widened("program p {\n buffer y : u32 read_write\n buffer x : u32 read\n workgroup 16\n grid over y\n"
                  "let i = global_id.x\n if i < len(y) { y[i] = y[i] + x[group_id.x] + x[group_id.x * 2 + i] } }",
                  4);
    holds_widened(
        "program p {\n param width : u32\n param height : u32\n param rows : u32\n buffer y : u32 read_write\n"
        "buffer x : u32 read\n workgroup 5, 3\n grid elements height, width\n"
        "let at = global_id.y * height + global_id.x\n"
        "if global_id.x < height && global_id.y < width { y[at] = x[at] + local_index } }",
        4);
}

static void control_of_every_kind(void **state) {
    (void)state;
    holds_widened(STREAM("u32", "if i < len(y) { if x[i] % 3 == 0 { y[i] = x[i] } else { y[i] = y[i] + 1 } }"), 4);
    holds_widened(STREAM("u32", "if x[i] % 3 == 0 { return }\n let v = x[i]\n if v % 5 == 1 { y[i] = 5\n return }\n"
                                "y[i] = v"),
                  4);
    holds_widened(STREAM("u32", "var v = y[i]\n for r in 0u32 .. 3 { v = v * 5 + x[i] + r }\n y[i] = v"), 4);
    holds_widened(STREAM("u32", "var v = y[i]\n for r in 0u32 .. 3 { if v % 7 == r { break }\n v = v * 5 + x[i] }\n"
                                "y[i] = v"),
                  4);
    holds_widened(STREAM("u32", "let here = i < len(y)\n if here && k > 2 { y[i] = x[i] } else { y[i] = 3 }"), 4);
    holds_widened(STREAM("u32", "if k > 5 { if i < len(y) { y[i] = 1 } }\n else { if k == 3 { y[i] = x[i] } }"), 4);
    holds_widened("fn f(v: u32) -> u32 { if v % 2 == 0 { return v / 2 }\n return 3 * v + 1 }\n" STREAM(
                      "u32", "if i < len(y) { y[i] = f(x[i]) }"),
                  4);
    holds_widened("program p {\n buffer x : u8 read\n buffer counts : u32 read_write\n workgroup 4\n grid over x\n"
                  "let i = global_id.x\n if i < len(x) { atomic_add(counts[x[i] % 4], 1) } }",
                  16);
}

static void what_is_not_consecutive_stays(void **state) {
    (void)state;
    holds_widened(STREAM("u32", "y[2 * i] = x[2 * i]"), 1);
    holds_widened(STREAM("u32", "y[len(y) - i] = 1"), 1);
    holds_widened(STREAM("u32", "let v = x[i]\n y[i] = x[v % 8] + x[v / 3] + x[v / 5]"), 1);
}

/* The same programs, widened although it does not pay. */
static void what_does_not_pay_is_right_all_the_same(void **state) {
    (void)state;
    static const char *const texts[] = {
        STREAM("u32", "y[2 * i] = x[2 * i]"),
        STREAM("u32", "y[len(y) - i] = 1"),
        STREAM("u32", "let v = x[i]\n y[i] = x[v % 8] + x[v / 3] + x[v / 5]"),
        STREAM("u32", "var v = x[i] % 50\n var n = 0u32\n while v > 1 { if v % 2 == 0 { v = v / 2\n continue }\n"
                      "v = 3 * v + 1\n n = n + 1\n if n > 20 { break } }\n y[i] = n"),
        STREAM("u32", "var sum = 0u32\n for r in 0u32 .. k { sum = sum + x[r * 16 + i] }\n y[i] = sum"),
        STREAM("u32", "for j in i .. i + 1 { y[j] = x[j] }"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (uint32_t bytes = 8; bytes <= 16; bytes *= 2) {
            vyre_program *program = parse(texts[i]);
            vy_coarsened made =
                widened_by(program, (vy_target_desc){.access_bytes = bytes, .coarsen = VY_COARSEN_IF_POSSIBLE});
            assert_int_equal(made.factor, bytes / 4);
            run_lengths(program, &made, texts[i]);
            vyre_program_release(made.program);
            vyre_program_release(program);
        }
}

static void refused(const char *text, const char *reason) {
    vyre_program *program = parse(text);
    vy_coarsened made = widened_by(program, (vy_target_desc){.access_bytes = 16, .coarsen = VY_COARSEN_IF_POSSIBLE});
    assert_int_equal(made.factor, 1);
    assert_ptr_equal(made.program, program);
    if (!strstr(made.reason, reason))
        fail_msg("`%s` does not say `%s`\n%s", made.reason, reason, text);
    vyre_program_release(made.program);
    vyre_program_release(program);
}

static void what_cannot_be_widened_says_why(void **state) {
    (void)state;
    refused(STREAM("u32", "if i > 5 { trap 1 }\n y[i] = 1"), "trap");
    refused(STREAM("u32", "print \"{}\", i\n y[i] = 1"), "print");
    refused(STREAM("u32", "barrier\n y[i] = 1"), "barriers");
    refused(STREAM("u32", "let s = workgroup_reduce_add(i)\n y[i] = s"), "collectives");
    refused(STREAM("u32", "grid_barrier\n y[i] = 1"), "grid barriers");
    refused(STREAM("u32", "let old = atomic_add(y[0], 1)\n y[i + 1] = old"), "schedule");
    refused(STREAM("u32", "atomic_add<release, device>(y[0], 1)"), "order memory");
    refused(STREAM("u32", "for r in 0u32 .. k { if x[r] == 0 { return }\n y[i] = r }"), "loop");
    refused(STREAM("u32", "if k > 3 { if x[i] == 0 { return }\n y[i] = 2 }\n y[i] = y[i] + 1"), "middle");
    refused("program p {\n numerics relaxed\n buffer y : f32 read_write\n grid over y\n y[global_id.x] = 1.0 }",
            "relaxed");
    refused("program p {\n buffer y : u32 read_write\n grid over y\n array t : u32 [4] private\n"
            "t[0] = 1\n y[global_id.x] = t[0] }",
            "private arrays");
    refused("program p {\n buffer y : u32 read_write\n grid over y\n workgroup 2\n array t : u32 [4] workgroup\n"
            "t[local_index] = 1\n y[global_id.x] = t[local_index] }",
            "share arrays");
    refused("fn f(a: u32) -> u32 { return a }", "no entry");
    refused(STREAM("u32", "let r : u32 = nobody.op(i)\n y[i] = r"), "not resolved");

    char text[16384] = "program many {\n";
    for (int i = 0; i < 255; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "param p%d : u32\n", i);
    strcat(text, "buffer y : u32 write count 4\n grid 4\n y[global_id.x] = p0 }");
    refused(text, "another param");

    vyre_program *program = parse(STREAM("u32", "y[i] = x[i]"));
    for (uint32_t bytes = 0; bytes <= 16; bytes += bytes ? bytes : 4) {
        vy_coarsened made = widened_by(program, (vy_target_desc){.access_bytes = bytes});
        assert_int_equal(made.factor, bytes > 4 ? bytes / 4 : 1);
        vyre_program_release(made.program);
    }
    vyre_program_release(program);
}

/* ---- what is proven ---- */

typedef struct proofs {
    unsigned inside, open, ifs;
} proofs;

/* Accesses of the fast path of an optimised program: that of the first `if`. */
static proofs proofs_of(const char *text) {
    vyre_program *program = parse(text), *optimized;
    vy_coarsened made = widened(program);
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_error error;
    vy_ranges *ranges;
    proofs seen = {0};
    assert_true(made.factor > 1);
    assert_int_equal(vyre_program_optimize(made.program, &level, &optimized, NULL, &error), VYRE_OK);
    assert_int_equal(vy_ranges_make(optimized, &ranges, &error), VYRE_OK);
    const vy_stmt *stmts = optimized->stmts.items;
    uint32_t expr = 0, end_of_fast = 0;
    for (uint32_t i = 0; i < optimized->stmts.count; i++) {
        uint32_t end = vy_stmt_exprs_end(optimized, &stmts[i], expr);
        if (stmts[i].kind == VY_STMT_IF && !end_of_fast) {
            end_of_fast = stmts[i].middle;
            expr = end;
            continue;
        }
        for (; expr < end; expr++)
            if (i < end_of_fast && optimized->exprs.items[expr].kind == VY_EXPR_LOAD)
                *(vy_load_is_inside(ranges, expr) ? &seen.inside : &seen.open) += 1;
        if (i < end_of_fast && stmts[i].kind == VY_STMT_STORE)
            *(vy_stmt_is_inside(ranges, i) ? &seen.inside : &seen.open) += 1;
        seen.ifs += i < end_of_fast && stmts[i].kind == VY_STMT_IF;
    }
    if (getenv("VYRE_SHOW"))
        runner_show("optimised", optimized);
    vy_ranges_free(ranges);
    vyre_program_release(optimized);
    vyre_program_release(made.program);
    vyre_program_release(program);
    return seen;
}

static void proven(const char *text, unsigned inside, unsigned open, unsigned ifs) {
    proofs seen = proofs_of(text);
    if (seen.inside != inside || seen.open != open || seen.ifs != ifs)
        fail_msg("%u inside, %u open, %u ifs instead of %u, %u, %u\n%s", seen.inside, seen.open, seen.ifs, inside, open,
                 ifs, text);
}

static void the_fast_path_has_no_guard_left(void **state) {
    (void)state;
    proven(STREAM("f32", "if i < len(y) { y[i] = fma(2.5, x[i], y[i]) }"), 12, 0, 0);
    proven(STREAM("u8", "if i < len(y) { y[i] = x[i] }"), 32, 0, 0);
    proven(STREAM("u8", "if i < len(y) { y[i] = y[i] ^ x[i % len(x)] }"), 80, 16, 1); /* in a row, or not */
    proven(STREAM("u32", "if i >= len(y) { return }\n y[i] = x[i]"), 8, 0, 0);
    proven(STREAM("u32", "y[i] = x[i - 1] + x[i] + x[i + 1]"), 10, 0, 0); /* neighbours are loaded once */
    proven(STREAM("u32", "if i < len(y) { y[i] = x[i + k] }"), 8, 0, 0);
    proven(STREAM("u32", "if i == 0 || i + 1 >= len(y) { return }\n y[i] = x[i - 1] + x[i] + x[i + 1]"), 10, 0, 0);
    proven("program p {\n buffer b : u32 read\n buffer y : u32 read_write\n workgroup 256\n grid over y\n"
           "let i = global_id.x\n if i < len(y) { y[i] = y[i] + b[group_id.x] } }",
           8, 1, 0);
    proven("program p {\n param n : u32\n buffer y : u32 write count n\n buffer x : u32 read count n\n workgroup 64\n"
           "grid elements n\n let i = global_id.x\n if i < n { y[i] = x[i] } }",
           8, 0, 0);
    proven("program p {\n buffer y : u32 write count 1000\n buffer x : u32 read count 1000\n workgroup 64\n"
           "grid elements 1000\n let i = global_id.x\n if i < 1000 { y[i] = x[i] } }",
           8, 0, 0);
    proven("program p {\n param w : u32\n param h : u32\n buffer y : u32 write count w * h\n buffer x : u32 read count "
           "w * h\n"
           "workgroup 8, 8\n grid elements w, h\n let at = global_id.y * w + global_id.x\n"
           "if global_id.x < w && global_id.y < h { y[at] = x[at] } }",
           8, 0, 1);
}

/* Wide accesses in the program that a target with everything and 16-byte accesses gets. */
static unsigned wide_accesses(const char *text) {
    vyre_program *program = parse(text), *optimized, *legal;
    vy_coarsened made = widened(program);
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vy_target_desc target = {
        .exact = (UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1, .access_bytes = 16, .aligned_buffers = 1};
    vyre_error error = VYRE_ERROR_INIT;
    unsigned wide = 0;
    assert_int_equal(vyre_program_optimize(made.program, &level, &optimized, NULL, &error), VYRE_OK);
    if (vy_legalize(optimized, &target, &legal, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    for (uint32_t i = 0; i < legal->stmts.count; i++)
        wide += legal->stmts.items[i].kind == VY_STMT_LOAD_WIDE || legal->stmts.items[i].kind == VY_STMT_STORE_WIDE;
    if (getenv("VYRE_SHOW"))
        runner_show("legal", legal);
    vyre_program_release(legal);
    vyre_program_release(optimized);
    vyre_program_release(made.program);
    vyre_program_release(program);
    return wide;
}

static void the_fast_path_is_fused(void **state) {
    (void)state;
    assert_int_equal(wide_accesses(STREAM("f32", "if i < len(y) { y[i] = fma(2.5, x[i], y[i]) }")), 3);
    assert_int_equal(wide_accesses(STREAM("u8", "if i < len(y) { y[i] = y[i] ^ x[i] }")), 3);
    assert_int_equal(wide_accesses(STREAM("f16", "if i >= len(y) { return }\n y[i] = x[i] + y[i]")), 3);
    assert_int_equal(wide_accesses(STREAM("u64", "y[i] = x[i]")), 2);
    /* Each lane has its own branch, but what decides is loaded at once. */
    assert_int_equal(wide_accesses(STREAM("u32", "if x[i] > 5 { y[i] = 2 }")), 1);
}

/* The number of `if` statements whose condition is a disjunction. */
static uint32_t disjunctions(const char *text) {
    vyre_program *program = parse(text);
    vy_coarsened made = widened(program);
    uint32_t found = 0;
    for (uint32_t i = 0; i < made.program->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(made.program, i);
        found += s->kind == VY_STMT_IF && vy_expr_at(made.program, s->a)->op == VYRE_OP_LOR;
    }
    vyre_program_release(made.program);
    vyre_program_release(program);
    return found;
}

#define ROUND "v = (v ^ (v >> 7)) * 5 + (v << 3)\n"
#define RARE(condition, body) STREAM("u32", "if i < len(y) { var v = x[i]\n if " condition " { " body " }\n y[i] = v }")

static void one_branch_skips_a_long_body_of_all_lanes(void **state) {
    (void)state;
    const char *lengthy = RARE("v < 0x10000000", ROUND ROUND ROUND ROUND ROUND ROUND);
    holds_widened(lengthy, 4);
    assert_int_equal(disjunctions(lengthy), 1);
    assert_int_equal(disjunctions(RARE("v < 0x10000000", ROUND)), 0);
    /* The condition is uniform over the lanes. */
    assert_int_equal(disjunctions(RARE("k < 5", ROUND ROUND ROUND ROUND ROUND ROUND)), 0);
}

/* ---- the edge of the grid ---- */

enum { SEEN = 64 };

/* Which of the last SEEN ids below `end` a widened program handles in one workgroup of 3, where lane 0 of its first
 * invocation is `first` * 4, for a grid of `groups` workgroups. It is launched as a piece of a large grid, and may not
 * be launched whole: that takes days. */
static uint64_t ids_handled(uint32_t groups, uint32_t first, uint32_t end) {
    static uint32_t seen[SEEN];
    vyre_program *program = parse("program p {\n param end : u32\n buffer y : u32 read_write count 64\n workgroup 3\n"
                                  "let at = global_id.x + 64 - end\n if at < 64 { y[at] = y[at] + 1 } }"),
                 *based;
    vy_coarsened made = widened(program);
    vyre_error error;
    vyre_oracle *oracle;
    vyre_bytes output = VYRE_BYTES_INIT;
    uint64_t handled = 0;
    assert_int_equal(made.factor, 4);
    assert_int_equal(vy_grid_tile(made.program, &based, &error), VYRE_OK);
    vyre_scalar params[8] = {vyre_scalar_u32(end), vyre_scalar_u32(groups), vyre_scalar_u32(first / 3)};
    for (int i = 3; i < 8; i++)
        params[i] = vyre_scalar_u32(i < 5 ? 0 : 1);
    vyre_span input = {seen, sizeof seen};
    vyre_arguments arguments = {.params = params,
                                .param_count = 8,
                                .inputs = &input,
                                .input_count = 1,
                                .geometry = {VYRE_GEOMETRY_GROUPS, {1, 1, 1}}};
    assert_int_equal(vyre_oracle_new(based, &oracle, &error), VYRE_OK);
    assert_int_equal(vyre_oracle_run(oracle, &arguments, NULL, &output, NULL, NULL, &error), VYRE_OK);
    for (int i = 0; i < SEEN; i++)
        handled |= (uint64_t)(((uint32_t *)output.data)[i] != 0) << i;
    vyre_oracle_free(oracle);
    vyre_bytes_free(&output);
    vyre_program_release(based);
    vyre_program_release(made.program);
    vyre_program_release(program);
    return handled;
}

static void nobody_beyond_the_grid_has_an_effect(void **state) {
    (void)state;
    /* 12 invocations of the original: three of the result, and none of the next group. */
    assert_int_equal(ids_handled(4, 0, 64), 0xfff);
    assert_int_equal(ids_handled(4, 3, 64), 0);
    assert_int_equal(ids_handled(3, 0, 64), 0x1ff);
    /* Where global_id.x * 4 wraps to small numbers. */
    for (uint32_t first = 0x3ffffffc; first <= 0x40000005; first += 3)
        assert_int_equal(ids_handled(4, first, 64), 0);
    /* The largest grid: 2^32 - 1 invocations, the last three of which are a tail. */
    assert_int_equal(ids_handled(UINT32_MAX / 3, 0x3ffffffc, UINT32_MAX), UINT64_C(0xfff) << 49);
    assert_int_equal(ids_handled(UINT32_MAX / 3, 0x3fffffff, UINT32_MAX), UINT64_C(7) << 61);
    assert_int_equal(ids_handled(UINT32_MAX / 3, 0x3fffffff, 64), 0);
    assert_int_equal(ids_handled(UINT32_MAX / 3, 0x40000002, UINT32_MAX), 0);
    assert_int_equal(ids_handled(UINT32_MAX / 3, 0x40000002, 64), 0);
}

/* A grid in pieces is widened piece by piece: the hidden param is the size of the piece. */
static void pieces_of_a_grid_are_widened(void **state) {
    (void)state;
    vyre_program *program = parse(STREAM("u32", "if i < len(y) { y[i] = y[i] + x[i + 1] + group_count.x }")), *based;
    vyre_error error;
    assert_int_equal(vy_grid_tile(program, &based, &error), VYRE_OK);
    vy_coarsened made = widened(based);
    assert_int_equal(made.factor, 4);
    for (uint64_t length = 0; length < 40; length++)
        for (uint32_t first = 0; first < 5; first++) {
            uint32_t params[1 + VY_GRID_TILE_PARAMS] = {3, first, 0, 0, 9, 1, 1};
            run_both(based, &made, (uint64_t[2]){length, 40 - length}, params, (uint32_t[3]){5, 1, 1}, "a piece");
        }
    vyre_program_release(made.program);
    vyre_program_release(based);
    vyre_program_release(program);
}

/* ---- examples ---- */

static char *read_text(const char *path) {
    static char text[1 << 16];
    FILE *file = fopen(vy_test_path(path), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static void examples_that_stream_are_widened(void **state) {
    (void)state;
    static const struct {
        const char *file, *program;
        uint32_t factor;
        const char *reason;
    } rows[] = {
        {"saxpy", "saxpy", 4, NULL},
        {"xor", "xor", 16, NULL},
        {"dfa", "dfa", 1, "loops"},
        {"hash", "fnv1a", 1, "loops"},
        {"hash", "xxh32", 1, "loops"},
        {"hash", "xxh64", 1, "loops"},
        {"search", "search", 1, "loops"},
        {"mandelbrot", "mandelbrot", 1, "no buffer"},
        {"scan", "finish", 4, NULL},
        {"bitonic", "merge", 1, "no buffer"},
        {"bitonic", "blocks", 1, "barriers"},
        {"reduce", "by_hand", 1, "barriers"},
        {"reduce", "by_shuffle", 1, "barriers"},
        {"reduce", "by_collective", 1, "barriers"},
        {"scan", "blocks", 1, "barriers"},
        {"scan", "totals", 1, "barriers"},
        {"histogram", "histogram", 1, "barriers"},
        {"matmul", "matmul", 1, "barriers"},
        {"nbody", "nbody", 1, "barriers"},
        {"sha256", "sha256", 1, "private arrays"},
        {"stencil", "stencil", 1, "barriers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[64];
        vyre_error error = VYRE_ERROR_INIT;
        vyre_module *module;
        snprintf(path, sizeof path, "examples/%s.vyre", rows[i].file);
        char *text = read_text(path);
        assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), VYRE_OK);
        vyre_program *program = vyre_module_find(module, rows[i].program);
        assert_non_null(program);
        vy_coarsened made = widened(program);
        if (made.factor != rows[i].factor || (rows[i].reason && !strstr(made.reason, rows[i].reason)))
            fail_msg("%s: factor %u, %s", rows[i].program, made.factor, made.reason ? made.reason : "");
        vyre_program_release(made.program);
        vyre_module_free(module);
    }
}

/* Those without workgroup arrays are right widened, too. Offsets are small, so that loops over the data end. */
static void examples_deliver_the_same(void **state) {
    (void)state;
    static const char *const files[] = {"saxpy", "xor", "dfa", "hash", "search"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[64];
        vyre_error error = VYRE_ERROR_INIT;
        vyre_module *module;
        snprintf(path, sizeof path, "examples/%s.vyre", files[f]);
        char *text = read_text(path);
        assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), VYRE_OK);
        for (size_t p = 0; p < vyre_module_program_count(module); p++) {
            vyre_program *program = vyre_module_program(module, p);
            vy_coarsened made =
                widened_by(program, (vy_target_desc){.access_bytes = 16, .coarsen = VY_COARSEN_IF_POSSIBLE});
            assert_true(made.factor > 1);
            static uint64_t bytes[BUFFERS][ELEMENTS];
            vyre_span inputs[BUFFERS];
            vyre_scalar scalars[2] = {{(vyre_type)program->variables.items[0].type, 3}};
            vyre_arguments arguments = {.params = scalars, .param_count = program->param_count, .inputs = inputs};
            vy_random random = vy_random_start(f);
            for (uint32_t i = 0; i < program->buffer_count; i++) {
                const vy_memory *m = &program->memories.items[i];
                size_t size = vyre_type_size((vyre_type)m->type);
                memset(bytes[i], 0, sizeof bytes[i]);
                for (size_t j = 0; j < ELEMENTS; j++)
                    ((uint8_t *)bytes[i])[j * size] = (uint8_t)vy_random_below(&random, 90);
                if (m->access != VYRE_ACCESS_WRITE)
                    inputs[arguments.input_count++] = (vyre_span){bytes[i], (ELEMENTS - 3 * i) * size};
            }
            widen_compare(program, &made, &arguments, (vyre_oracle_options){0}, vyre_program_name(program));
            vyre_program_release(made.program);
        }
        vyre_module_free(module);
    }
}

static vyre_status widen_one(void *user) {
    vyre_error error = VYRE_ERROR_INIT;
    vy_coarsened made;
    vy_target_desc options = {.access_bytes = 16, .coarsen = VY_COARSEN_IF_POSSIBLE};
    vyre_status status = vy_coarsen(user, &options, &made, &error);
    vyre_program_release(made.program);
    if (status != VYRE_OK) {
        assert_null(made.program);
        assert_true(error.fix[0]);
    }
    return status;
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
    (void)state;
    vyre_program *program = parse("fn f(v: u32) -> u32 { if v % 2 == 0 { return v / 2 }\n return 3 * v + 1 }\n" STREAM(
        "u32", "if i >= len(y) { return }\n for r in 0u32 .. k { if y[i] == r { break }\n y[i] = f(x[i + k]) }"));
    VY_FAULT_LOOP(widen_one, program);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_widened_to_sixteen_bytes),
        cmocka_unit_test(offsets_and_neighbours),
        cmocka_unit_test(remainders_follow_each_other),
        cmocka_unit_test(ids_and_sizes_are_the_original_ones),
        cmocka_unit_test(control_of_every_kind),
        cmocka_unit_test(what_is_not_consecutive_stays),
        cmocka_unit_test(what_does_not_pay_is_right_all_the_same),
        cmocka_unit_test(what_cannot_be_widened_says_why),
        cmocka_unit_test(the_fast_path_has_no_guard_left),
        cmocka_unit_test(the_fast_path_is_fused),
        cmocka_unit_test(one_branch_skips_a_long_body_of_all_lanes),
        cmocka_unit_test(nobody_beyond_the_grid_has_an_effect),
        cmocka_unit_test(pieces_of_a_grid_are_widened),
        cmocka_unit_test(examples_that_stream_are_widened),
        cmocka_unit_test(examples_deliver_the_same),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
