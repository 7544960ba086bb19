/* What is prepared for PTX computes the same bits: random programs, widened, unrolled far, legalised, with arrays as
 * variables; and what each of these is to do is done. */
#include "emit/ptx/code.h"

#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "ir/build/builder_internal.h"
#include "ir/dispatch_resolve.h"
#include "ir/irbuilder.h"
#include "lower/traps_runner.h"
#include "opt/campaign.h"
#include "opt/coarsen.h"
#include "opt/policies.h"
#include "support/fault.h"

static vyre_program *prepared(const char *text, uint32_t factor) {
    vyre_program *program = vy_test_parse(text);
    const vy_target_desc target = vy_ptx_target(PTX_ARCHITECTURE, 0);
    vy_compiled made;
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_compile_pipeline(program, &target, NULL, &made, &error) != VYRE_OK ||
        vy_program_verify(made.program, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(made.factor, factor);
    assert_true((made.reason == NULL) == (factor > 1));
    vyre_program_release(program);
    return made.program;
}

static unsigned count_kind(const vyre_program *program, vy_stmt_kind kind) {
    unsigned count = 0;
    for (uint32_t i = 0; i < program->stmts.count; i++)
        count += program->stmts.items[i].kind == kind;
    return count;
}

/* ---- what is done ---- */

static void streams_are_widened_to_sixteen_bytes(void **state) {
    static const struct {
        const char *type;
        uint32_t factor;
    } cases[] = {{"u8", 16}, {"i16", 8}, {"u32", 4}, {"f32", 4}, {"u64", 2}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "program p {\n buffer a : %s read\n buffer b : %s read\n buffer c : %s write count len(a)\n"
                 " workgroup 256\n grid over a\n let i = global_id.x\n if i < len(c) { c[i] = %s }\n}\n",
                 cases[i].type, cases[i].type, cases[i].type, cases[i].type[0] == 'f' ? "a[i] + b[i]" : "a[i] ^ b[i]");
        vyre_program *made = prepared(text, cases[i].factor);
        assert_int_equal(made->param_count, 1);
        assert_true(count_kind(made, VY_STMT_LOAD_WIDE) >= 2 && count_kind(made, VY_STMT_STORE_WIDE) >= 1);
        vyre_program_release(made);
    }
    assert_int_equal(vy_coarsened_groups(4, 9), 3);
    assert_int_equal(vy_coarsened_groups(4, 0), 0);
    assert_int_equal(vy_coarsened_groups(1, UINT32_MAX), UINT32_MAX);
}

static void a_grid_that_must_stay_is_kept(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse("program p {\n buffer a : u32 read_write\n workgroup 256\n grid over a\n"
                                          " if global_id.x < len(a) { a[global_id.x] = 1 }\n}\n");
    vy_target_desc kept = vy_ptx_target(PTX_ARCHITECTURE, 0);
    vy_compiled made;
    kept.coarsen = VY_COARSEN_NEVER;
    assert_int_equal(vy_compile_pipeline(program, &kept, NULL, &made, NULL), VYRE_OK);
    assert_int_equal(made.factor, 1);
    assert_int_equal(made.program->param_count, 0);
    vyre_program_release(made.program);
    vyre_program_release(program);
}

static void a_while_that_counts_is_written_out(void **state) {
    (void)state;
    vyre_program *made =
        prepared("program p {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n array t : u32 [64] workgroup\n"
                 " let l = local_id.x\n t[l] = x[global_id.x]\n barrier\n var size = 2u32\n while size <= 64 {\n"
                 "  var stride = size / 2\n  while stride > 0 {\n   let v = t[l ^ stride]\n   barrier\n"
                 "   t[l] = t[l] + v * size\n   barrier\n   stride = stride / 2\n  }\n  size = 2 * size\n }\n"
                 " x[global_id.x] = t[l]\n}\n",
                 1);
    assert_int_equal(count_kind(made, VY_STMT_WHILE), 0);
    assert_int_equal(count_kind(made, VY_STMT_BARRIER), 1 + 2 * 21);
    vyre_program_release(made);
}

/* `let next = s * 2` is found to be what s becomes. */
static void a_while_that_counts_by_a_name_is_written_out(void **state) {
    (void)state;
    vyre_program *made =
        prepared("program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n let i = global_id.x\n"
                 " var s = 1u32\n while s < 64 {\n let next = s * 2\n x[i] = x[i] + x[next] * next\n"
                 " s = next\n }\n}\n",
                 1);
    assert_int_equal(count_kind(made, VY_STMT_WHILE), 0);
    vyre_program_release(made);
}

static void a_while_that_only_seems_to_count_stays(void **state) {
    static const char *const bodies[] = {
        "var s = 1u32\n if x[0] == 0 { s = 2 }\n while s < 64 { x[i] = s\n s = s * 2 }\n",  /* not known before */
        "var s = 1u32\n while s < 64 { s = s * 2\n x[i] = s }\n",                           /* not at the end */
        "var s = 1u32\n while s < 64 { if x[i] == s { break }\n s = s * 2 }\n x[i] = s\n",  /* a jump */
        "var s = 1u32\n while s != 0 { x[i] = s\n s = s | 1 }\n",                           /* for ever */
        "var s = 1u32\n while s < x[1] { x[i] = s\n s = s * 2 }\n",                         /* data */
        "var s = 1u32\n for k in 0u32 .. x[2] { while s < 9 { x[i] = s\n s = s * 2 } }\n",  /* again */
        "var s = 1u32\n while s < 64 { if x[i] == 3 { s = 50 }\n x[i] = s\n s = s * 2 }\n", /* two ways */
        "var s = 1u32\n while s < 64 && i < 7 { x[i] = s\n s = s * 2 }\n",                  /* the invocation */
        "var f = 1.0f32\n var s = 1u32\n while f < 9.0 { x[i] = s\n f = f * 2.0 }\n",       /* floats */
        "var s = 1u32\n while s < 64 { let n = s + x[3]\n x[i] = s\n s = n }\n",            /* data by a name */
        "var s = 1u32\n while s < 100000 { x[i] = s\n s = s + 1 }\n"};                      /* many trips */
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char text[500];
        snprintf(text, sizeof text,
                 "program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n let i = global_id.x\n%s}\n",
                 bodies[i]);
        vyre_program *made = prepared(text, 1);
        if (count_kind(made, VY_STMT_WHILE) == 0)
            fail_msg("%s", text);
        vyre_program_release(made);
    }
}

static unsigned private_arrays(const vyre_program *program) {
    unsigned count = 0;
    for (uint32_t i = 0; i < program->memories.count; i++)
        count += program->memories.items[i].space == VY_SPACE_PRIVATE;
    return count;
}

/* Three loops over a private array with a short loop in each: those of the first are written out, and then there is no
 * room. */
static vyre_program *loops_without_room(void) {
    static const unsigned stores[] = {12, 2, 2};
    char text[4096];
    int at =
        snprintf(text, sizeof text,
                 "program p {\n buffer out : u32 write count 64\n workgroup 64\n grid 1\n array a : u32 [64] private\n"
                 " let id = global_id.x\n var s = id\n");
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at, " for i in 0u32 .. 64 {\n  let j = i\n");
        for (unsigned k = 0; k < stores[i]; k++)
            at += snprintf(text + at, sizeof text - (size_t)at, "  a[(j + %u) %% 64] = s + i\n", k);
        at += snprintf(text + at, sizeof text - (size_t)at, "  for k in 0u32 .. 8 { s = s * 5 + k }\n }\n");
    }
    snprintf(text + at, sizeof text - (size_t)at, " out[id] = s + a[id %% 64]\n}\n");
    return vy_test_parse(text);
}

static vyre_program *unrolled(const vyre_program *program, vy_unroll_folds folds) {
    vy_opt_policy rules = *opt_policy_of(POLICY_LATE);
    vyre_program *made;
    uint64_t changes;
    rules.unroll.folds = folds;
    assert_int_equal(vy_pass_run_unverified(VYRE_PASS_UNROLL, program, &rules, &made, &changes, NULL), VYRE_OK);
    return made;
}

static void a_loop_that_stays_for_want_of_room_keeps_its_variable(void **state) {
    (void)state;
    vyre_program *program = loops_without_room(), *made = unrolled(program, VY_FOLDS_NOTHING);
    unsigned loops = 0, uses = 0;
    for (uint32_t i = 0; i < made->stmts.count; i++) {
        const vy_stmt *s = &made->stmts.items[i];
        loops += s->kind == VY_STMT_FOR;
        for (uint32_t k = 0; s->kind == VY_STMT_FOR && k < made->exprs.count; k++)
            uses += made->exprs.items[k].kind == VY_EXPR_VARIABLE && made->exprs.items[k].a == s->variable;
    }
    assert_true(loops > 1);
    assert_int_equal(uses, loops);
    vyre_program_release(made);
    vyre_program_release(program);
}

static vyre_program *after(vyre_pass pass, uint64_t least, vyre_program *program) {
    vyre_program *made;
    uint64_t changes;
    assert_int_equal(vy_pass_run_unverified(pass, program, opt_policy_of(POLICY_LATE), &made, &changes, NULL), VYRE_OK);
    assert_true(changes > least);
    vyre_program_release(program);
    return made;
}

static void unrolling_that_folds_is_unrolling_and_folding(void **state) {
    (void)state;
    vyre_program *program = loops_without_room(), *at_once = unrolled(program, VY_FOLDS_UNROLLED);
    vyre_program *both = after(VYRE_PASS_CONST_FOLD, 100, unrolled(program, VY_FOLDS_NOTHING));
    vyre_bytes one = VYRE_BYTES_INIT, other = VYRE_BYTES_INIT;
    /* But for what is left out, which is counted. */
    assert_true(at_once->uncounted_nodes > 0);
    assert_int_equal(at_once->stmts.count + at_once->uncounted_nodes / 2, both->stmts.count);
    assert_int_equal(at_once->exprs.count + at_once->uncounted_nodes / 2, both->exprs.count);
    both = after(VYRE_PASS_DCE, 10, both);
    at_once = after(VYRE_PASS_DCE, 0, at_once);
    assert_int_equal(vyre_text_print(both, &one, NULL), VYRE_OK);
    assert_int_equal(vyre_text_print(at_once, &other, NULL), VYRE_OK);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data, other.data, one.size);
    vyre_bytes_free(&one);
    vyre_bytes_free(&other);
    vyre_program_release(at_once);
    vyre_program_release(both);
    vyre_program_release(program);
}

/* Where the counter is read behind the loop, its last value is there; in a loop that stays nothing is left out. */
static void what_a_counter_was_before_its_last_value_is_left_out(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n"
                                          " var s = 1u32\n while s < 64 { x[s] = s\n s = s * 2 }\n"
                                          " while x[0] == 0 { let c = 7u32\n x[0] = c + s }\n}\n");
    vyre_program *made = unrolled(program, VY_FOLDS_UNROLLED);
    assert_int_equal(count_kind(made, VY_STMT_ASSIGN), 1);
    assert_int_equal(count_kind(made, VY_STMT_LET), 1);
    assert_int_equal(made->uncounted_nodes, 2 * 5);
    vyre_program_release(made);
    vyre_program_release(program);
}

static void private_arrays_become_variables(void **state) {
    (void)state;
    vyre_program *made =
        prepared("program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n array w : u32 [40] private\n"
                 " let i = global_id.x\n for b in 0u32 .. len(x) / 64 {\n for t in 0u32 .. 16 { w[t] = x[i + b + t] }\n"
                 "  for t in 16u32 .. 40 { w[t] = w[t - 16] + rotl(w[t - 3], 5) }\n }\n x[i] = w[39]\n}\n",
                 1);
    assert_int_equal(private_arrays(made), 0);
    vyre_program_release(made);
    made = prepared("program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n array w : u32 [8] private\n"
                    " let i = global_id.x\n w[x[i] & 7] = i\n x[i] = w[3]\n}\n",
                    1);
    assert_int_equal(private_arrays(made), 1);
    vyre_program_release(made);
}

/* ---- the bits ---- */

static const char *prepared_differs(vyre_program *program, const vyre_arguments *arguments, int cancellable) {
    static outcome want, got;
    static vy_resolved_dispatch launch;
    static vyre_scalar params[VY_LIMIT_PARAMS + 1];
    static char why[1200];
    const vyre_oracle_options options = {.budget = STEPS};
    const vy_lowered_env conditions = {0};
    const vy_target_desc target = vy_ptx_target(PTX_ARCHITECTURE, cancellable);
    vy_compiled made = {0};
    vyre_arguments given = *arguments;
    vyre_error error = VYRE_ERROR_INIT;
    const char *what = NULL;
    outcome_of(program, arguments, options, &conditions, &want);
    if (want.status != VYRE_OK && want.status != VYRE_TRAPPED) {
        outcome_free(&want);
        return NULL;
    }
    if (vy_resolve_dispatch(program, arguments, &launch, &error) != VYRE_OK ||
        vy_compile_pipeline(program, &target, NULL, &made, &error) != VYRE_OK) {
        snprintf(why, sizeof why, "%s", error.message);
        outcome_free(&want);
        return why;
    }
    if (made.factor > 1) {
        if (program->param_count)
            memcpy(params, arguments->params, program->param_count * sizeof *params);
        params[program->param_count] = (vyre_scalar){VYRE_TYPE_U32, launch.groups[0]};
        given.params = params;
        given.param_count = program->param_count + 1;
        given.geometry =
            (vyre_geometry){VYRE_GEOMETRY_GROUPS,
                            {vy_coarsened_groups(made.factor, launch.groups[0]), launch.groups[1], launch.groups[2]}};
    }
    outcome_of(made.program, &given, (vyre_oracle_options){.budget = MORE * STEPS}, &conditions, &got);
    what = outcome_differs(&want, &got);
    if (what)
        print_program(made.program);
    vyre_program_release(made.program);
    outcome_free(&want);
    outcome_free(&got);
    return what;
}

/* The rounds of a hash, whose passes would see 64 of them. The constants are literals, the schedule is variables. */
static void what_becomes_large_is_written_out(void **state) {
    static const char *const text =
        "fn mix(a: u32, b: u32) -> u32 { return rotr(a, 7) ^ (b >> 3) + a * b }\n"
        "program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n array w : u32 [64] private\n"
        " array k : u32 [4] private\n let i = global_id.x\n k[0] = 17\n k[1] = 19\n k[3] = 23\n"
        " var a = x[i]\n var b = 5u32\n var c = 7u32\n for t in 0u32 .. 16 { w[t] = x[(i + t) % len(x)] }\n"
        " for t in 16u32 .. 64 { w[t] = mix(w[t - 2], w[t - 7]) + mix(w[t - 15], w[t - 16]) }\n"
        " for t in 0u32 .. 64 {\n  let d = mix(a, w[t]) + mix(b, k[t % 4])\n"
        "  let e = mix(a ^ d, b) + mix(c & d, w[63 - t])\n"
        "  c = b\n  b = a\n  a = d + e\n  if t == 40 { a = a ^ w[t] }\n }\n if i < len(x) { x[i] = a + b + c }\n}\n";
    static uint32_t values[96];
    (void)state;
    vyre_program *made = prepared(text, 1), *program = vy_test_parse(text);
    assert_int_equal(private_arrays(made), 0);
    assert_int_equal(count_kind(made, VY_STMT_FOR), 0);
    vyre_program_release(made);
    for (uint32_t i = 0; i < 96; i++)
        values[i] = i * 2654435761u;
    const vyre_span span = {values, sizeof values};
    const vyre_arguments arguments = {.inputs = &span, .input_count = 1};
    const char *what = prepared_differs(program, &arguments, 0);
    if (what)
        fail_msg("%s", what);
    vyre_program_release(program);
}

static void random_programs_keep_their_bits(void **state) {
    const char *given = getenv("VYRE_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1;
    (void)state;
    for (uint64_t seed = first; seed < first + (VY_SANITIZED ? 60 : 400) * (uint64_t)vy_test_effort(); seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 10 + (unsigned)(seed % 30)};
        vyre_case *made = NULL;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        vyre_program *program = vyre_case_program(made);
        const char *what = program->facts & VY_PROGRAM_HAS_GRID_BARRIER
                               ? NULL
                               : prepared_differs(program, vyre_case_arguments(made), (int)(seed & 1));
        if (what) {
            print_program(program);
            fail_msg("seed %" PRIu64 ": %s", seed, what);
        }
        vyre_case_free(made);
    }
}

static void passes_by_the_far_rules_keep_the_bits(void **state) {
    opt_campaign c = {.rules = opt_policy_of(POLICY_LATE),
                      .generate = {.statements = 20, .depth = 4, .invocations = 16},
                      .sequences = 4,
                      .one_in = 12,
                      .only = VYRE_PASS_COUNT};
    (void)state;
    for (uint64_t seed = 1; c.pairs < (VY_SANITIZED ? 200 : 2000) * (uint64_t)vy_test_effort(); seed++)
        if (opt_try(&c, seed, 1)) {
            opt_campaign_free(&c);
            fail_msg("seed %" PRIu64 ": %s", seed, c.message);
        }
    opt_campaign_free(&c);
}

static vyre_status prepares(void *program) {
    const vy_target_desc target = vy_ptx_target(PTX_ARCHITECTURE, 0);
    vy_compiled made;
    vyre_status status = vy_compile_pipeline(program, &target, NULL, &made, NULL);
    vyre_program_release(made.program);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    vyre_program *program =
        vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n"
                      " array w : u32 [4] private\n let i = global_id.x\n for t in 0u32 .. 4 { w[t] = x[i] + t }\n"
                      " var s = 1u32\n while s < 4 { w[s] = w[s] + 1\n s = s * 2 }\n x[i] = w[1] + w[2]\n}\n");
    assert_true(VY_FAULT_LOOP_LENIENT(prepares, program) > 5); /* some of it can be done without */
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_widened_to_sixteen_bytes),
        cmocka_unit_test(a_grid_that_must_stay_is_kept),
        cmocka_unit_test(a_while_that_counts_is_written_out),
        cmocka_unit_test(a_while_that_counts_by_a_name_is_written_out),
        cmocka_unit_test(a_while_that_only_seems_to_count_stays),
        cmocka_unit_test(a_loop_that_stays_for_want_of_room_keeps_its_variable),
        cmocka_unit_test(unrolling_that_folds_is_unrolling_and_folding),
        cmocka_unit_test(what_a_counter_was_before_its_last_value_is_left_out),
        cmocka_unit_test(private_arrays_become_variables),
        cmocka_unit_test(what_becomes_large_is_written_out),
        cmocka_unit_test(random_programs_keep_their_bits),
        cmocka_unit_test(passes_by_the_far_rules_keep_the_bits),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
