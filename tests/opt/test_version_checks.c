/* Check versioning: loops and last statements are written under one test of their bounds where that is correct, and
 * nothing else changes. */
#include "lower/traps_runner.h"

#include "lower/legalize.h"
#include "opt/version_checks.h"
#include "support/fault.h"

enum { BYTES = 40, GROUP = 4 };

static const vy_target_desc of_all = {.exact = UINT64_MAX, .version_checks = VY_VERSIONS_OF_ALL},
                            of_loops = {.exact = UINT64_MAX, .version_checks = VY_VERSIONS_OF_LOOPS};

/* x has any length; `at`, `end` and `n` are params. */
static const char *x_type = "u8";
static vyre_program *program_of(const char *body) {
    static char text[4096];
    int length = snprintf(text, sizeof text,
                          "program p {\n  param at : u32\n  param end : u32\n  param n : u32\n  buffer x : %s read\n"
                          "  buffer y : u32 read_write\n  workgroup %d\n  grid 3\n%s}\n",
                          x_type, GROUP, body);
    assert_true(length > 0 && (size_t)length < sizeof text);
    return vy_test_parse(text);
}

static vyre_program *legal(const vy_target_desc *target, const char *body) {
    vyre_program *program = program_of(body), *made = NULL;
    vyre_error error = {0};
    if (vy_legalize(program, target, &made, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_program_release(program);
    return made;
}

/* The loads of x, with a condition or without. */
static unsigned loads(const vyre_program *p, int have_condition) {
    unsigned count = 0;
    for (uint32_t i = 0; i < p->exprs.count; i++)
        count += p->exprs.items[i].kind == VY_EXPR_LOAD && (p->exprs.items[i].c != VY_NONE) == have_condition;
    return count;
}

static void run(vyre_program *program, const uint32_t values[3], size_t bytes, size_t words, outcome *out) {
    static const vy_lowered_env none = {0};
    static uint8_t x[4 * BYTES];
    static uint32_t y[BYTES];
    vyre_scalar params[3];
    for (unsigned i = 0; i < BYTES; i++) {
        x[strcmp(x_type, "u8") == 0 ? i : 4 * i] = (uint8_t)(i * 37 + 11);
        y[i] = i * 2654435761u;
    }
    for (unsigned i = 0; i < 3; i++)
        params[i] = (vyre_scalar){VYRE_TYPE_U32, values[i]};
    const vyre_span spans[] = {{x, strcmp(x_type, "u8") == 0 ? bytes : 4 * bytes}, {y, words * sizeof *y}};
    const vyre_arguments arguments = {.params = params, .param_count = 3, .inputs = spans, .input_count = 2};
    outcome_of(program, &arguments, (vyre_oracle_options){.budget = STEPS}, &none, out);
}

/* Compares for all starts, ends and lengths around each other and around 2^32; loads of x remain as stated: in the
 * version under the test, and with conditions in the original. */
static void versioned_for(const vy_target_desc *target, const char *body, unsigned tested, unsigned original) {
    static const uint32_t values[] = {0, 1, 2, 4, 5, 8, 11, 12, 13, 0xfffffff0u, 0xfffffffcu, 0xffffffffu};
    enum { VALUES = sizeof values / sizeof *values };
    static outcome want, got;
    vyre_program *program = program_of(body), *made = legal(target, body);
    assert_int_equal(loads(made, 0), tested);
    assert_int_equal(loads(made, 1), original);
    for (unsigned i = 0; i < VALUES * VALUES * 8; i++) {
        const uint32_t given[] = {values[i % VALUES], values[i / VALUES % VALUES], values[i / 3 % VALUES]};
        const size_t bytes = values[i / VALUES / VALUES], words = values[i / 5 % 9];
        if (given[1] > 64 && given[0] <= 64)
            continue; /* too long */
        run(program, given, bytes, words, &want);
        run(made, given, bytes, words, &got);
        const char *difference = outcome_differs(&want, &got);
        if (difference) {
            print_program(made);
            fail_msg("at %u, end %u, n %u, %zu bytes, %zu words: %s", given[0], given[1], given[2], bytes, words,
                     difference);
        }
        outcome_free(&want);
        outcome_free(&got);
    }
    vyre_program_release(program);
    vyre_program_release(made);
}

static void versioned(const char *body, unsigned tested, unsigned original) {
    versioned_for(&of_all, body, tested, original);
}

#define SUMS(loop) "  var h = 0u32\n" loop "  if global_id.x < len(y) { y[global_id.x] = h }\n"

static void a_for_tests_its_bound(void **state) {
    (void)state;
    versioned(SUMS("  for i in at .. end { h = h * 31 + u32(x[i]) }\n"), 1, 1);
    versioned(SUMS("  for i in at .. end step 3 { h = h * 31 + u32(x[i]) + u32(x[i + 2]) }\n"), 2, 2);
    versioned(SUMS("  for i in at .. u32(x[0]) % 16 { h = h * 31 + u32(x[i]) }\n"), 1, 2); /* the bound has a load */
}

static void a_while_tests_its_bound(void **state) {
    (void)state;
    versioned(SUMS("  var i = at\n  while i < end && h != 5 {\n    h = h * 31 + u32(x[i])\n    i = i + 1\n  }\n"), 1,
              1);
    versioned(SUMS("  var i = at\n  while i < end {\n    h = h * 31 + u32(x[i])\n    i = i + h % 3 + 1\n  }\n"), 1, 1);
}

static void a_while_over_pieces_tests_its_bound(void **state) {
    (void)state;
    versioned(SUMS("  var i = at\n  while end - i >= 4 {\n    h = h * 31 + u32(x[i]) + u32(x[i + 3])\n"
                   "    i = i + 4\n    if i > 64 { break }\n  }\n"),
              2, 2);
    versioned(SUMS("  var i = at\n  while end - i >= 2 {\n    h = h * 31 + u32(x[i]) + u32(x[i + 3])\n" /* beyond */
                   "    if h % 2 == 0 { i = i + 2 } else if h % 3 == 0 { break } else { h = h + 1 }\n"
                   "    if i > 64 { break }\n  }\n"),
              2, 2);
}

static void other_loops_do_not_change(void **state) {
    (void)state;
    /* steps beyond the piece; two assignments; a check after the assignment; its own condition */
    versioned(SUMS("  var i = at\n  while end - i >= 2 {\n    h = h * 31 + u32(x[i])\n    i = i + 3\n"
                   "    if i > 64 { break }\n  }\n"),
              0, 1);
    versioned(SUMS("  var i = at\n  while end - i >= 2 {\n    h = h * 31 + u32(x[i])\n    i = i + 1\n    i = i + 2\n"
                   "    if i > 64 { break }\n  }\n"),
              0, 1);
    versioned(SUMS("  var i = at\n  while i < end {\n    i = i + 1\n    h = h * 31 + u32(x[i])\n  }\n"), 0, 1);
    versioned(SUMS("  var i = at\n  while i < len(x) {\n    h = h * 31 + i\n    i = i + 1\n  }\n"), 0, 0);
    /* a bound that changes */
    versioned(SUMS("  var i = at\n  var e = end % 16\n  while i < e {\n    h = h * 31 + u32(x[i])\n    i = i + 1\n"
                   "    if h % 7 == 0 { e = 8 }\n  }\n"),
              0, 1);
}

static void the_last_statements_test_the_ids_of_a_workgroup(void **state) {
    (void)state;
    versioned("  let i = global_id.x\n  if i < len(y) { y[i] = u32(x[i]) * 3 }\n", 1, 1);
    versioned("  let i = global_id.x + 1\n  if i >= len(y) { return }\n  y[i] = u32(x[i + 1])\n", 1, 1);
    versioned("  if global_id.x < n {\n    if global_id.x < len(y) { y[global_id.x] = u32(x[global_id.x]) }\n  }\n", 1,
              1);
    versioned("  if global_id.x - 1 < n && global_id.x < len(y) { y[global_id.x] = u32(x[at]) }\n", 0, 2);
}

/* In the tested version, a load whose index depends on data has a clamped index and no condition. */
static void loops_clamp_other_indices_for_gpus(void **state) {
    (void)state;
    x_type = "u32";
    versioned_for(&of_loops, SUMS("  for i in at .. end { h = h * 31 + x[i] + x[h % 16] }\n"), 2, 2);
    versioned_for(&of_loops,
                  SUMS("  var q = at\n  for i in at .. end {\n    q = x[q] % 45\n"
                       "    h = h * 31 + x[i] + x[q]\n    q = q + 1\n    h = h + x[q]\n  }\n"),
                  4, 4);
    versioned_for(&of_loops,
                  SUMS("  var i = at\n  while i < end && x[h % 64] != 5 {\n"
                       "    h = h * 31 + x[i] + x[h % 55]\n    i = i + 1\n  }\n"),
                  0, 3);
    /* a load without a condition, because its index is always in bounds */
    versioned_for(&of_loops,
                  "  array t : u32 [256] private\n" SUMS("  for i in at .. end { h = h * 31 + x[i] + t[h & 255] "
                                                         "}\n"),
                  3, 1);
    versioned_for(&of_loops, "  let i = global_id.x\n  if i < len(y) { y[i] = x[i] * 3 }\n", 0, 1);
    x_type = "u8"; /* legal programs have no select of bytes */
    versioned_for(&of_loops, SUMS("  for i in at .. end { h = h * 31 + u32(x[i]) + u32(x[h % 16]) }\n"), 1, 3);
}

static vyre_status version(void *user) {
    vyre_program *made = NULL;
    vyre_status status = vy_version_checks(user, &of_loops, &made, NULL);
    vyre_program_release(made);
    return status;
}

static void every_allocation_may_fail(void **state) {
    const vy_target_desc plain = {.exact = UINT64_MAX};
    vyre_program *made = NULL,
                 *program = program_of("  var h = 0u32\n  for i in at .. u32(x[0]) { h = h + u32(x[i]) }\n"
                                       "  if global_id.x < len(y) { y[global_id.x] = h }\n");
    (void)state;
    assert_int_equal(vy_legalize(program, &plain, &made, NULL), VYRE_OK);
    VY_FAULT_LOOP(version, made);
    vyre_program_release(made);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_for_tests_its_bound),
        cmocka_unit_test(a_while_tests_its_bound),
        cmocka_unit_test(a_while_over_pieces_tests_its_bound),
        cmocka_unit_test(other_loops_do_not_change),
        cmocka_unit_test(the_last_statements_test_the_ids_of_a_workgroup),
        cmocka_unit_test(loops_clamp_other_indices_for_gpus),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
