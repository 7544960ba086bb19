/* 64-bit integers on devices that have none: ops at their edges, loops, indices, sizes, params, collectives, and
 * accesses of level legal give the bytes they give where there are 64 bits. */
#include "lower/runner.h"

#include "compile/pipeline.h"
#include "lower/legalizer.h"
#include "support/fault.h"

/* What a library of pairs might lean on by mistake is missing, too. */
static const profile poor = {"without int64", ALL_BITS & ~(BIT(INT64) | BIT(INT_DIV) | BIT(SHIFT))};

/* ---- ops ---- */

enum { EDGES = 3 * 64 + 6, RANDOM = 40000 };

/* 2^k - 1, 2^k, 2^k + 1 for all k, and some around 2^32. */
static void fill_edges(uint64_t edges[EDGES]) {
    static const uint64_t more[6] = {
        0, 0xffffffff00000000, 0xfffffffeffffffff, 0x8000000080000000, 0x7fffffff80000000, 0x00000001ffffffff};
    for (unsigned k = 0; k < 64; k++)
        for (unsigned d = 0; d < 3; d++)
            edges[3 * k + d] = (UINT64_C(1) << k) + d - 1;
    memcpy(edges + 3 * 64, more, sizeof more);
}

static void try_all(vyre_op op, vyre_type result, vyre_type type, size_t n, const uint64_t *a, const uint64_t *b) {
    const uint64_t *const operands[3] = {a, b, NULL};
    op_run run;
    if (!op_run_start(&run, op, result, type))
        return;
    assert_int_equal(op_run_check(&run, &poor, n, operands, NULL), n);
    op_run_end(&run);
}

static void every_op_is_right_at_its_edges(void **state) {
    (void)state;
    static uint64_t edges[EDGES], a[EDGES * EDGES], b[EDGES * EDGES];
    fill_edges(edges);
    for (size_t i = 0; i < EDGES * EDGES; i++) {
        a[i] = edges[i / EDGES];
        b[i] = edges[i % EDGES];
    }
    for (int op = 0; op < VYRE_OP_COUNT; op++)
        for (vyre_type type = VYRE_TYPE_I64; type <= VYRE_TYPE_U64; type++)
            for (int result = 0; result < VYRE_TYPE_COUNT; result++)
                if (result != VYRE_TYPE_F64 && !(op == VYRE_OP_SELECT && result != (int)type)) {
                    int is_binary = vyre_op_get((vyre_op)op)->arity > 1;
                    try_all((vyre_op)op, (vyre_type)result, type, is_binary ? EDGES * EDGES : EDGES,
                            is_binary ? a : edges, b);
                }
}

static uint64_t of_any_length(vy_random *random) {
    return vy_random_next(random) >> vy_random_below(random, 64);
}

/* Dividends just below, at and above a multiple of the divisor: where a digit of the quotient is guessed wrong. */
static void quotients_are_right_near_multiples(void **state) {
    (void)state;
    static uint64_t a[RANDOM], b[RANDOM];
    vy_random random = vy_random_start(0xd1);
    for (unsigned round = 0; round < vy_test_effort(); round++) {
        for (size_t i = 0; i < RANDOM; i++) {
            b[i] = of_any_length(&random);
            a[i] = of_any_length(&random) * b[i] + vy_random_below(&random, 3) - 1;
            if (i % 4 == 0) /* divisors of many ones, quotients too */
                b[i] |= UINT64_MAX << vy_random_below(&random, 64);
            if (i % 5 == 0)
                a[i] = of_any_length(&random);
        }
        for (vyre_type type = VYRE_TYPE_I64; type <= VYRE_TYPE_U64; type++) {
            try_all(VYRE_OP_DIV, type, type, RANDOM, a, b);
            try_all(VYRE_OP_REM, type, type, RANDOM, a, b);
            try_all(VYRE_OP_MUL_HIGH, type, type, RANDOM, a, b);
        }
    }
}

/* ---- programs ---- */

enum { OUTPUTS = 4 };

typedef struct outcome {
    vyre_status status;
    vyre_bytes outputs[OUTPUTS];
    vyre_error error;
} outcome;

static void run(vyre_oracle *oracle, const vyre_arguments *arguments, outcome *out) {
    vyre_oracle_options options = {.threads = 1, .budget = 100000000, .checks = VYRE_CHECK_RACES};
    out->status = vyre_oracle_run(oracle, arguments, &options, out->outputs, NULL, NULL, &out->error);
}

/* `made` is what became of `program`; takes it over. */
static void compare(vyre_program *program, vyre_program *made, uint64_t exact, const vyre_arguments *arguments) {
    static legal_arguments adapted;
    outcome want = {0}, got = {0};
    vyre_oracle *oracle = NULL;
    assert_int_equal(vyre_oracle_new(program, &oracle, NULL), VYRE_OK);
    run(oracle, arguments, &want);
    vyre_oracle_free(oracle);
    vyre_status status = vy_oracle_new_on(made, exact, &oracle, &got.error);
    if (status != VYRE_OK) {
        print_program(made);
        fail_msg("%s", got.error.message);
    }
    run(oracle, arguments_for(program, exact, arguments, &adapted), &got);
    vyre_oracle_free(oracle);
    int differs = want.status != got.status;
    for (int i = 0; i < OUTPUTS && want.status == VYRE_OK && !differs; i++)
        differs = want.outputs[i].size != got.outputs[i].size ||
                  (got.outputs[i].size && memcmp(want.outputs[i].data, got.outputs[i].data, got.outputs[i].size) != 0);
    if (differs) {
        print_program(program);
        print_program(made);
        fail_msg("status %d (%s), must be %d (%s), or bytes differ", (int)got.status, got.error.message,
                 (int)want.status, want.error.message);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        vyre_bytes_free(&want.outputs[i]);
        vyre_bytes_free(&got.outputs[i]);
    }
    vyre_program_release(made);
}

static void check_on(const char *text, const vyre_arguments *arguments, const vy_target_desc *target) {
    vyre_program *program = vy_test_parse(text), *legal = NULL;
    vyre_error error = {0};
    if (vy_legalize(program, target, &legal, &error) != VYRE_OK)
        fail_msg("%s\nin\n%s", error.message, text);
    compare(program, legal, target->exact, arguments);
    vyre_program_release(program);
}

static void check(const char *text, const vyre_arguments *arguments) {
    check_on(text, arguments, &(vy_target_desc){.exact = poor.exact});
    check_on(text, arguments, &(vy_target_desc){.exact = 0});
}

#define SPAN(array) ((vyre_span){array, sizeof array})

/* ---- loops ---- */

/* from, to, step: ends of the range, steps that pass the end, steps backwards, none. */
static const uint64_t ranges[][3] = {
    {0, 5, 1},
    {5, 0, 1},
    {0, 5, 0},
    {0, 100, 7},
    {0xfffffffe, 0x100000003, 1},
    {0xffffffff, 0x300000000, 0x100000000},
    {UINT64_MAX - 3, UINT64_MAX, 1},
    {UINT64_MAX - 3, UINT64_MAX, 2},
    {0, UINT64_MAX, UINT64_MAX},
    {0, UINT64_MAX, UINT64_MAX - 1},
    {1, UINT64_MAX, UINT64_C(1) << 63},
    {5, 0, UINT64_MAX},                                              /* signed: down to 1 */
    {5, (uint64_t)-5, (uint64_t)-3},                                 /* signed: down past 0 */
    {UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1, UINT64_C(1) << 62}, /* signed: all of the range */
    {(UINT64_C(1) << 63) - 1, UINT64_C(1) << 63, UINT64_C(3) << 62},
    {(UINT64_C(1) << 63) - 2, (UINT64_C(1) << 63) - 1, 1},
    {(UINT64_C(1) << 63) + 2, UINT64_C(1) << 63, UINT64_MAX},
    {0, (UINT64_C(1) << 63) - 1, UINT64_C(1) << 63}, /* signed: the step is MIN */
    {(UINT64_C(1) << 63) - 1, (uint64_t)-2, UINT64_C(1) << 63},
};
enum { RANGES = sizeof ranges / sizeof *ranges };

static void loops_make_the_same_trips(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "if trips == 40 { break }\n    trips = trips + 1\n    if (k & 1) == 1 { continue }\n    sum = sum * 3 + k",
        "step = 1\n    to = 0\n    if trips == 40 { break }\n    trips = trips + 1\n    sum = sum + k",
    };
    vyre_span input = SPAN(ranges);
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    for (int signed_ = 0; signed_ < 2; signed_++)
        for (int body = 0; body < 2; body++) {
            char text[1024];
            const char *t = signed_ ? "i64" : "u64";
            snprintf(text, sizeof text,
                     "program p {\n  buffer r : %s read\n  buffer out : %s write count len(r)\n  workgroup 1\n"
                     "  grid %d\n\n  let i = global_id.x * 3\n  var to = r[i + 1]\n  var step = r[i + 2]\n"
                     "  var sum = 1%s\n  var trips = 0u32\n  for k in r[i] .. to step step {\n    %s\n  }\n"
                     "  out[i] = sum\n  out[i + 1] = %s(trips)\n}\n",
                     t, t, (int)RANGES, t, bodies[body], t);
            check(text, &arguments);
        }
}

static void loops_with_literals_nest(void **state) {
    (void)state;
    check("program p {\n  buffer out : i64 write count 64\n  workgroup 8\n  grid 1\n\n  var at = 0u64\n"
          "  for a in 3 .. -3i64 step -2 {\n    for b in 0u64 .. u64(local_index) {\n"
          "      out[at * 8 + u64(local_index)] = a * 1000 + i64(b)\n    }\n    at = at + 1\n  }\n}\n",
          &(vyre_arguments){0});
}

/* The validator knows that all invocations make the same trips. */
static void barriers_may_stand_in_loops(void **state) {
    (void)state;
    static const vyre_scalar params[] = {{VYRE_TYPE_U64, 5}};
    check("program p {\n  param n : u64\n  buffer out : u64 write count 32\n  workgroup 16\n  grid 2\n"
          "  array t : u64 [16] workgroup\n\n  var sum = 0u64\n  for k in 0u64 .. n step 2 {\n"
          "    t[local_index] = k << 33 | u64(local_index)\n    barrier\n    sum = sum + t[15 - local_index]\n    "
          "barrier\n"
          "  }\n  var left = n\n  while left > 2 {\n    left = left - 1\n    barrier\n  }\n"
          "  out[global_id.x] = sum + left\n}\n",
          &(vyre_arguments){.params = params, .param_count = 1});
}

/* ---- memory ---- */

static void indices_out_of_bounds_stay_so(void **state) {
    (void)state;
    static const uint64_t indices[] = {0,
                                       1,
                                       7,
                                       8,
                                       9,
                                       0x7fffffff,
                                       0x80000000,
                                       0x80000001,
                                       0xfffffffe,
                                       0xffffffff,
                                       0x100000000,
                                       0x100000001,
                                       0x180000000,
                                       UINT64_MAX,
                                       UINT64_C(1) << 63,
                                       0xffffffff00000003};
    static uint64_t x[8];
    static uint32_t y[8];
    for (uint32_t i = 0; i < 8; i++) {
        x[i] = i * UINT64_C(0x123456789) + 77;
        y[i] = i + 100;
    }
    static const char *const types[] = {"u64", "i64", "u32", "i32", "i16", "u8"};
    const vyre_span inputs[4] = {SPAN(indices), SPAN(x), SPAN(y), SPAN(x)};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "program p {\n  buffer at : u64 read\n  buffer x : u64 read\n  buffer y : u32 read\n"
                 "  buffer z : u64 read_write count 8\n  buffer out : u64 write count 2 * len(at)\n  workgroup 1\n"
                 "  grid 1\n  array t : i64 [5] private\n\n  t[%s(3)] = -7\n  for i in 0 .. len(at) {\n"
                 "    let k = %s(at[i])\n    z[k] = u64(i) | 0xff00000000\n    t[k] = t[k] + i64(i)\n"
                 "    out[2 * i] = x[k] + u64(y[k])\n    out[2 * i + 1] = u64(t[k])\n  }\n}\n",
                 types[k], types[k]);
        check(text, &(vyre_arguments){.inputs = inputs, .input_count = 4});
    }
}

/* A store changes the low half before the high half is read. */
static void halves_are_read_before_they_are_written(void **state) {
    (void)state;
    static const uint64_t x[] = {0x123456789abcdef0, 0xfedcba9876543210, 3, UINT64_MAX};
    vyre_span input = SPAN(x);
    check("program p {\n  buffer x : u64 read_write\n  workgroup 1\n  grid over x\n  array t : u64 [2] private\n\n"
          "  let i = global_id.x\n  x[i] = reverse_bytes(x[i])\n  x[i] = rotl(x[i], 32)\n  x[i] = x[i] + (x[i] >> "
          "32)\n  var v = x[i]\n"
          "  v = rotr(v, 32)\n  v = v * v\n  t[v & 1] = v\n  t[v & 1] = rotl(t[v & 1], 33)\n  x[i] = t[v & 1] ^ t[1 - "
          "(v & 1)]\n}\n",
          &(vyre_arguments){.inputs = &input, .input_count = 1});
}

static void names_stay_distinct(void **state) {
    (void)state;
    static const vyre_scalar params[] = {{VYRE_TYPE_U64, 5}, {VYRE_TYPE_U32, 6}, {VYRE_TYPE_I64, UINT64_MAX}};
    check("program p {\n  param n : u64\n  param n_low : u32\n  param n_high : i64\n  buffer out : u64 write count 4\n"
          "  workgroup 1\n  grid 1\n\n  let al_1 = n + u64(n_low)\n  let al_1_low = al_1 * 2\n  var high_2 = n_high\n"
          "  if n > 2 {\n    let at_1 = u64(high_2) - al_1\n    out[0] = at_1\n    high_2 = high_2 - 1\n  }\n"
          "  out[1] = u64(high_2) * al_1_low\n}\n",
          &(vyre_arguments){.params = params, .param_count = 3});
}

/* ---- sizes ---- */

static void counts_and_grids_stay_right(void **state) {
    (void)state;
    static const uint64_t x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, counts[2] = {6, 7};
    const vyre_span inputs[1] = {SPAN(x)};
    static const uint64_t ns[][2] = {{3, 2}, {0, 0}, {UINT64_C(1) << 40, 1}, {5, UINT64_MAX}, {4, UINT64_C(1) << 63}};
    static const char *const grids[] = {"grid over x", "grid elements n, len(x) / 5", "grid 1 + min(n, 4), 2",
                                        "grid over b"};
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
        for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
            const vyre_scalar params[] = {{VYRE_TYPE_U64, ns[i][0]}, {VYRE_TYPE_U32, 2}, {VYRE_TYPE_I64, ns[i][1]}};
            char text[1024];
            snprintf(text, sizeof text,
                     "program p {\n  param n : u64\n  param k : u32\n  param m : i64\n  buffer x : i64 read count 10\n"
                     "  buffer a : u64 write\n  buffer b : u32 write\n"
                     "  buffer c : u64 write count len(x) + len(a) * k + min(n, 100) + min(m, 50)\n"
                     "  buffer d : u8 write count len(c) + len(b)\n  workgroup 1\n  %s\n\n"
                     "  if global_id.x + global_id.y == 0 {\n    a[0] = u64(len(x))\n    a[1] = u64(len(a))\n    a[2] "
                     "= u64(len(b))\n"
                     "    a[3] = u64(len(c))\n    a[4] = u64(group_count.x)\n    a[5] = u64(group_count.y)\n    b[0] = "
                     "len(c)\n"
                     "    c[0] = n + u64(m)\n    d[0] = 5\n  }\n}\n",
                     grids[g]);
            check(text, &(vyre_arguments){.params = params,
                                          .param_count = 3,
                                          .inputs = inputs,
                                          .input_count = 1,
                                          .counts = counts,
                                          .count_count = 2});
        }
}

static void params_that_become_too_many_are_over_a_limit(void **state) {
    (void)state;
    vy_string text = {0};
    vyre_error error = {0};
    vyre_program *legal;
    vy_string_add(&text, "program p {\n");
    for (int i = 0; i < 128; i++)
        vy_string_format(&text, "  param p%d : u64\n", i);
    vy_string_add(&text, "  buffer x : u64 write count 1\n  workgroup 1\n  grid 1\n\n  x[0] = p127\n}\n");
    vyre_program *program = vy_test_parse(text.text);
    assert_int_equal(vy_legalize(program, &(vy_target_desc){.exact = poor.exact}, &legal, &error), VYRE_LIMIT);
    assert_non_null(strstr(error.message, "256 params"));
    vyre_program_release(program);
    vy_string_free(&text);
}

/* ---- collectives ---- */

/* With native collectives those that only move bits are left to this phase. */
static void values_meet_half_by_half(void **state) {
    (void)state;
    static uint64_t x[96];
    vy_random random = vy_random_start(4);
    for (int i = 0; i < 96; i++)
        x[i] = vy_random_next(&random);
    static const char *const calls[] = {
        "workgroup_broadcast(x[i], 5)",
        "workgroup_reduce_xor(x[i])",
        "workgroup_scan_exclusive_and(x[i])",
        "workgroup_reduce_add(x[i])",
        "workgroup_scan_inclusive_max(i64(x[i]))",
        "subgroup_ballot<%u>((x[i] & 1) == 1)",
        "subgroup_shuffle<%u>(x[i], i + 1 & 7)",
        "subgroup_shuffle_xor<%u>(i64(x[i]), 1)",
        "subgroup_shuffle_up<%u>(x[i], 3)",
        "subgroup_shuffle_down<%u>(x[i], 1)",
        "subgroup_scan_inclusive_or<%u>(x[i])",
        "subgroup_reduce_min<%u>(x[i])",
    };
    vyre_span input = SPAN(x);
    for (int native = 0; native < 2; native++)
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
            for (unsigned width = 2; width <= 64; width *= 2) {
                char text[1024], call[128];
                snprintf(call, sizeof call, calls[k], width);
                snprintf(text, sizeof text,
                         "program p {\n  buffer x : u64 read\n  buffer y : u64 write count len(x)\n  workgroup 48\n"
                         "  grid over x\n\n  let i = global_id.x\n  let v = %s\n  y[i] = u64(v)\n}\n",
                         call);
                check_on(text, &(vyre_arguments){.inputs = &input, .input_count = 1},
                         &(vy_target_desc){.exact = poor.exact, .native_collectives = (uint8_t)native});
            }
}

/* ---- level legal ---- */

static void check_legal(const char *text, const vyre_arguments *arguments) {
    vyre_program *program = vy_test_parse(text), *made = NULL;
    vy_softlib library;
    vyre_error error = {0};
    vy_softlib_open(&library, vy_softlib_int64, poor.exact);
    vyre_status status = vy_legalizer_run(program, &vy_legalize_split_int64, &library, poor.exact, &made, &error);
    vy_softlib_close(&library);
    if (status != VYRE_OK)
        fail_msg("%s\nin\n%s", error.message, text);
    compare(program, made, poor.exact, arguments);
    vyre_program_release(program);
}

static void accesses_without_guards_stay_without(void **state) {
    (void)state;
    static const uint64_t x[6] = {1, UINT64_MAX, UINT64_C(1) << 40, 5, 6, 7};
    vyre_span input = SPAN(x);
    check_legal(
        "program p {\n  level legal\n  buffer x : u64 read\n  buffer y : i64 write count 8\n  workgroup 8\n  grid 1\n"
        "  array t : u64 [8] workgroup\n\n  let i = local_index\n  t![i] = x![i if i < len(x)] + 1\n  barrier\n"
        "  if t![7 - i] > 1 {\n    y![i] = i64(t![7 - i]) - i64(x![i if x![0] < t![i] && i < 3])\n  }\n}\n",
        &(vyre_arguments){.inputs = &input, .input_count = 1});
}

static void the_statements_of_level_legal_are_kept(void **state) {
    (void)state;
    check_legal("program p {\n  level legal\n  buffer y : u64 write count 8\n  workgroup 8\n  grid 1\n\n"
                "  let i = local_index\n  let stop = poll()\n  if stop { return }\n  var n = u64(i)\n"
                "  if n > 1 << 33 { report 3 }\n  y![i] = n * n\n}\n",
                &(vyre_arguments){0});
}

/* ---- memory of the host ---- */

static vyre_status legalise_a_tour(void *user) {
    static const char text[] = "program tour {\n"
                               "  param n : i64\n"
                               "  buffer x : u64 read_write\n"
                               "  buffer y : f32 write count n * 2\n"
                               "  workgroup 8\n"
                               "  grid over x\n"
                               "  array t : i64 [4] private\n\n"
                               "  let i = global_id.x\n"
                               "  var v = x[i]\n"
                               "  while v > 1 << 40 { v = v / 3 }\n"
                               "  for j in n .. 3 { t[j] = t[j] + i64(v) }\n"
                               "  let b = subgroup_ballot<64>(v > 5)\n"
                               "  let s = workgroup_broadcast(v, 3)\n"
                               "  x[v & 7] = n > 3 ? b : min(s, v)\n"
                               "  y[i] = f32(t[2]) + f32(len(x))\n"
                               "}\n";
    vyre_module *module = NULL;
    vyre_program *legal = NULL;
    vyre_digest *expected = user, digest = {0};
    vyre_status status = vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, NULL);
    if (status == VYRE_OK)
        status = vy_legalize(vyre_module_program(module, 0), &(vy_target_desc){.native_collectives = 1}, &legal, NULL);
    if (status == VYRE_OK) {
        vyre_program_fingerprint(legal, &digest);
        if (memcmp(expected, &(vyre_digest){0}, sizeof *expected) == 0)
            *expected = digest;
        else if (memcmp(expected, &digest, sizeof digest) != 0)
            status = VYRE_CORRUPT;
    }
    vyre_program_release(legal);
    vyre_module_free(module);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    vyre_digest digest = {0};
    assert_int_equal(legalise_a_tour(&digest), VYRE_OK);
    vy_fault_install();
    VY_FAULT_LOOP_LENIENT(legalise_a_tour, &digest);
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_right_at_its_edges),
        cmocka_unit_test(quotients_are_right_near_multiples),
        cmocka_unit_test(loops_make_the_same_trips),
        cmocka_unit_test(loops_with_literals_nest),
        cmocka_unit_test(barriers_may_stand_in_loops),
        cmocka_unit_test(indices_out_of_bounds_stay_so),
        cmocka_unit_test(halves_are_read_before_they_are_written),
        cmocka_unit_test(names_stay_distinct),
        cmocka_unit_test(counts_and_grids_stay_right),
        cmocka_unit_test(params_that_become_too_many_are_over_a_limit),
        cmocka_unit_test(values_meet_half_by_half),
        cmocka_unit_test(accesses_without_guards_stay_without),
        cmocka_unit_test(the_statements_of_level_legal_are_kept),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
