/* How invocations end at level legal, case by case: the cases that lower/traps.c lists. */
#include "lower/traps_runner.h"

#include "lower/legalize.h"
#include "support/fault.h"

#include <time.h>

enum { ELEMENTS = 96 };

static uint32_t input[ELEMENTS];

/* x counts from 0; `n` is 3; grids are of 3 groups of 32 unless the program says otherwise. */
static const vyre_arguments *usual(void) {
    static const uint32_t zeros[4];
    static vyre_span spans[2] = {{input, sizeof input}, {zeros, sizeof zeros}};
    static vyre_scalar params[1] = {{VYRE_TYPE_U32, 3}};
    static vyre_arguments arguments;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        input[i] = i;
    arguments = (vyre_arguments){.params = params, .param_count = 1, .inputs = spans, .input_count = 2};
    return &arguments;
}

static vyre_program *program_of(const char *declarations, const char *body, unsigned group) {
    char text[4096];
    snprintf(text, sizeof text,
             "program p {\n  param n : u32\n  buffer x : u32 read\n  buffer out : u32 write count len(x)\n"
             "  buffer sum : u32 read_write\n%s\n  workgroup %u\n  grid over x\n\n  let i = global_id.x\n"
             "  let l = local_index\n%s\n}\n",
             declarations, group, body);
    return vy_test_parse(text);
}

/* Runs it as it is and legalised, with the given polls, under several schedules and on emitters that do and do not have
 * collectives. */
static void check_on(vyre_program *program, int cancellable, uint64_t poll, uint32_t spread) {
    static question q;
    if (!want_outcome(&q, program, usual()))
        q.want.status = VYRE_TIMEOUT; /* it must be stopped */
    for (uint64_t k = 0; k < 8; k++) {
        q.target =
            (vy_target_desc){.exact = ALL_BITS, .native_collectives = k & 1, .cancellable = (uint8_t)cancellable};
        q.options = (vyre_oracle_options){.checks = VYRE_CHECK_RACES, .budget = 4000000, .seed = k / 2};
        q.conditions = (vy_lowered_env){.garbage = k + 1, .poll = poll, .poll_spread = spread};
        if (misbehaves(&q, program, usual())) {
            show_both(&q, program);
            fail_msg("poll %d, seed %d: %s", (int)poll, (int)k, q.why);
        }
        if (poll == 1 && !spread)
            assert_int_equal(q.seen, VYRE_TIMEOUT);
    }
    outcome_free(&q.want);
}

/* Traps, or none: as at level source. Cancellable: the same if no poll is true, and stopped if one is. */
static void check(const char *declarations, const char *body) {
    static const unsigned groups[] = {32, 1, 7};
    for (int g = 0; g < 3; g++) {
        vyre_program *program = program_of(declarations, body, groups[g]);
        check_on(program, 0, 0, 0);
        check_on(program, 1, 0, 0);
        for (uint64_t poll = 1; poll < 7; poll++)
            check_on(program, 1, poll, (uint32_t)(poll * 3 % 5));
        check_on(program, 1, 1, 0);
        vyre_program_release(program);
    }
}

static const char shared[] = "  array s : u32 [32] workgroup";

static const char *array_text(void) {
    return shared;
}

static void expect_trap(const char *declarations, const char *body, uint64_t invocation, uint32_t code) {
    static question q;
    vyre_program *program = program_of(declarations, body, 32);
    assert_true(want_outcome(&q, program, usual()));
    assert_int_equal(q.want.status, VYRE_TRAPPED);
    assert_int_equal(q.want.trap.invocation, invocation);
    assert_int_equal(q.want.trap.code, code);
    outcome_free(&q.want);
    vyre_program_release(program);
    check(declarations, body);
}

/* ---- traps ---- */

static void a_trap_that_no_meeting_follows_is_a_report_and_a_return(void **state) {
    (void)state;
    expect_trap("", "  if i == 40 { trap 7 }\n  out[i] = i\n", 40, 7);
    expect_trap(array_text(), "  s[l] = i\n  barrier\n  if s[31 - l] == 40 { trap 7 }\n  out[i] = i\n", 55, 7);
}

static void the_smallest_until_the_next_meeting_counts(void **state) {
    (void)state;
    expect_trap(array_text(), "  if l == 5 { trap 1 }\n  if l == 3 { trap 2 }\n  barrier\n  out[i] = i\n", 3, 2);
    expect_trap(array_text(), "  if i == 37 { trap 1 }\n  barrier\n  if i == 35 { trap 2 }\n  out[i] = i\n", 37, 1);
    /* Another workgroup goes on. */
    expect_trap(array_text(), "  if i == 37 { trap 1 }\n  barrier\n  if i == 3 { trap 2 }\n  out[i] = i\n", 3, 2);
    /* A uniform loop that may be polled lies between: nobody leaves there because somebody trapped. */
    expect_trap(array_text(),
                "  if l == 5 { trap 1 }\n  for k in 0u32 .. n { s[l] = k }\n  if l == 3 { trap 2 }\n  barrier\n"
                "  out[i] = s[31 - l]\n",
                3, 2);
    expect_trap(array_text(),
                "  if l == 5 { trap 1 }\n  var k = 0u32\n  while k < n { k = k + 1 }\n  if l == 3 { trap 2 }\n"
                "  barrier\n  out[i] = k\n",
                3, 2);
    expect_trap(
        array_text(),
        "  if l == 5 { trap 1 }\n  var k = 0u32\n  while k < n {\n    k = k + 1\n    if k > 5 { barrier }\n  }\n"
        "  if l == 3 { trap 2 }\n  barrier\n  out[i] = k\n",
        3, 2);
}

static void the_first_trap_of_an_invocation_counts(void **state) {
    (void)state;
    expect_trap(array_text(), "  if l == 5 { trap 1 }\n  if l == 5 { trap 2 }\n  barrier\n  out[i] = i\n", 5, 1);
    expect_trap(array_text(), "  for k in 0u32 .. 4 {\n    if l == 5 { trap k + 1 }\n  }\n  barrier\n  out[i] = i\n", 5,
                1);
    expect_trap(array_text(),
                "  for k in 0u32 .. 4 {\n    if l == 5 { trap k + 1 }\n    if k < 2 { continue }\n    barrier\n  }\n"
                "  out[i] = i\n",
                5, 1);
    expect_trap(array_text(), "  if l == 5 { trap 1 }\n  if n == 3 { trap 2 }\n  barrier\n  out[i] = i\n", 0, 2);
}

static void who_trapped_has_no_effect_any_more(void **state) {
    (void)state;
    /* The others would see what was stored: by an atomic of another order, or in the array. */
    expect_trap(array_text(),
                "  if l == 5 { trap 1 }\n  s[0 + l] = i\n  let old = atomic_add(sum[0], 1)\n"
                "  var t = 0u32\n  while t < old { t = t + 1 }\n  barrier\n  out[i] = s[l]\n",
                5, 1);
    expect_trap(
        array_text(),
        "  if l == 5 { trap 1 }\n  if l == 5 { s[6] = 1 }\n  if l == 6 { s[6] = 2 }\n  barrier\n  out[i] = s[6]\n", 5,
        1);
    /* … also where a jump leads past the meeting to the next trip. */
    expect_trap(array_text(),
                "  for k in 0u32 .. 4 {\n    if l == 5 && k > 0 { s[6] = 1 }\n    if l == 6 { s[6] = 2 }\n"
                "    if l == 5 { trap k + 1 }\n    if k < 2 { continue }\n    barrier\n  }\n  out[i] = s[6]\n",
                5, 1);
}

/* The first report is the one that counts, so a second is not made. */
static void an_invocation_reports_once(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "  if l == 5 { trap 1 }\n  if l == 5 { trap 2 }\n  barrier\n",
        "  for k in 0u32 .. 4 {\n    if l == 5 { trap 2 }\n    if k < 2 { continue }\n    barrier\n  }\n",
    };
    for (int i = 0; i < 2; i++) {
        vyre_program *program = program_of("", bodies[i], 32), *made = NULL;
        vyre_bytes text = {0};
        vy_target_desc target = {.exact = ALL_BITS};
        static const char want[] = "if !ended {\n", then[] = "report 2\n";
        assert_int_equal(vy_legalize_traps(program, &target, &made, NULL), VYRE_OK);
        assert_int_equal(vyre_text_print(made, &text, NULL), VYRE_OK);
        const char *at = memmem(text.data, text.size, want, sizeof want - 1);
        assert_non_null(at);
        assert_memory_equal(strchr(at, 'r'), then, sizeof then - 1);
        vyre_bytes_free(&text);
        vyre_program_release(made);
        vyre_program_release(program);
    }
}

static void traps_in_loops_with_meetings(void **state) {
    (void)state;
    expect_trap(array_text(),
                "  for k in 0u32 .. 8 {\n    s[l] = k + l\n    barrier\n    let v = s[31 - l]\n"
                "    if v == 20 && l == 16 { trap k }\n    barrier\n    out[i] = v\n  }\n",
                16, 5);
    expect_trap(array_text(),
                "  var k = 0u32\n  while k < 9 {\n    k = k + 1\n    if l == 4 && k == 3 { trap k }\n"
                "    let all = workgroup_reduce_add(k)\n    out[i] = all\n  }\n",
                4, 3);
    /* In a loop around a loop. */
    expect_trap(array_text(),
                "  for a in 0u32 .. 3 {\n    for b in 0u32 .. 3 {\n      if a == 1 && b == 2 && l == 9 { trap a * 10 + "
                "b }\n    }\n"
                "    s[l] = a\n    barrier\n    out[i] = s[(l + 1) % 32]\n    barrier\n  }\n",
                9, 12);
}

static void meetings_that_uniform_control_skips(void **state) {
    (void)state;
    expect_trap(array_text(), "  if l == 5 { trap 1 }\n  if n == 4 { barrier }\n  if l == 3 { trap 2 }\n  out[i] = i\n",
                3, 2);
    expect_trap(array_text(), "  if l == 5 { trap 1 }\n  if n == 3 { barrier }\n  if l == 3 { trap 2 }\n  out[i] = i\n",
                5, 1);
    expect_trap(array_text(), "  if l == 5 { trap 1 }\n  if n == 3 { return }\n  barrier\n  out[i] = i\n", 5, 1);
    expect_trap(array_text(), "  if l == 5 { trap 1 }\n  if n == 4 { return }\n  barrier\n  out[i] = i\n", 5, 1);
}

/* What a trap has checked is relied upon behind it: those that trapped must not run for ever there. */
static void what_a_trap_has_checked_may_be_relied_upon(void **state) {
    (void)state;
    expect_trap(
        array_text(),
        "  if n != 4 { trap 1 }\n  var k = n\n  while k != 1 { k = k / 2 | (k & 1) << 1 }\n  barrier\n  out[i] = k\n",
        0, 1);
    expect_trap(array_text(),
                "  let v = x[l] / 64\n  if v + n != 4 { trap 1 }\n  var k = n\n  while k != 4 { k = k ^ 1 }\n"
                "  barrier\n  out[i] = k\n",
                0, 1);
    expect_trap(array_text(),
                "  var k = 0u32\n  while true {\n    if l + 3 == k { trap k }\n    k = k + 1\n  }\n  barrier\n", 0, 3);
    expect_trap(array_text(),
                "  var k = l\n  while true {\n    if k == 40 { trap k }\n    if l == 77 { break }\n    k = k + 1\n  }\n"
                "  barrier\n",
                0, 40);
}

static const char one_of_two[] = "fn pick(v : u32) -> u32 {\n  if v == 4 { return 9 }\n  if v > 20 { trap v }\n  if v "
                                 "== 9 { return 1 }\n  return 2\n}\n";
static const char falls_out[] = "fn pick(v : u32) -> u32 {\n  if v < 20 { return 9 }\n  trap v\n  return 3\n}\n";

/* Functions with several returns become loops of one trip. */
static void traps_in_functions_with_several_returns(void **state) {
    (void)state;
    const char *functions[] = {one_of_two, falls_out};
    for (int f = 0; f < 2; f++) {
        char text[2048];
        snprintf(
            text, sizeof text,
            "%s\nprogram p {\n  param n : u32\n  buffer x : u32 read\n  buffer out : u32 write count len(x)\n  buffer "
            "sum : u32 read_write\n"
            "  array s : u32 [32] workgroup\n  workgroup 32\n  grid over x\n\n  let i = global_id.x\n"
            "  let l = local_index\n  let r = pick(l)\n  s[l] = r\n  barrier\n  out[i] = s[31 - l]\n  let q = pick(n)\n"
            "  barrier\n  out[i] = q + pick(3)\n}\n",
            functions[f]);
        vyre_program *program = vy_test_parse(text);
        static question q;
        assert_true(want_outcome(&q, program, usual()));
        assert_int_equal(q.want.status, VYRE_TRAPPED);
        assert_int_equal(q.want.trap.invocation, 21 - (uint32_t)f);
        outcome_free(&q.want);
        check_on(program, 0, 0, 0);
        for (uint64_t poll = 0; poll < 4; poll++)
            check_on(program, 1, poll, 2);
        vyre_program_release(program);
    }
}

static void private_arrays_go_on(void **state) {
    (void)state;
    expect_trap("  array a : u32 [4] private\n  array s : u32 [32] workgroup",
                "  if l == 5 { trap 1 }\n  for k in 0u32 .. 4 { a[k] = k + n }\n  var t = 0u32\n"
                "  while t < a[3] { t = t + 1 }\n  s[l] = t\n  barrier\n  out[i] = s[31 - l]\n",
                5, 1);
}

static void programs_without_traps_stay_what_they_are(void **state) {
    (void)state;
    vyre_program *program = program_of(array_text(),
                                       "  s[l] = i\n  barrier\n  for k in 0u32 .. 9 { out[i] = s[31 - l] + k }\n", 32),
                 *made = NULL;
    vy_target_desc target = {.exact = ALL_BITS};
    assert_int_equal(vy_legalize_traps(program, &target, &made, NULL), VYRE_OK);
    assert_int_equal(made->stmts.count, program->stmts.count);
    vyre_program_release(made);
    vyre_program_release(program);
}

static void beside_grid_barriers_it_is_refused(void **state) {
    (void)state;
    vyre_program *program = program_of("", "  if i == 4 { trap 1 }\n  grid_barrier\n  out[i] = 1\n", 32), *made = NULL;
    vyre_error error = {0};
    vy_target_desc target = {.exact = ALL_BITS};
    assert_int_equal(vy_legalize_traps(program, &target, &made, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "grid barrier"));
    vyre_program_release(program);
}

/* ---- polls ---- */

/* Whoever left a loop early does not know what the others know. */
static void what_polled_loops_compute_decides_about_meetings(void **state) {
    (void)state;
    check(array_text(),
          "  var k = 0u32\n  while k < n { k = k + 1 }\n  if k == n {\n    s[l] = k\n    barrier\n  }\n  barrier\n"
          "  out[i] = s[(l + 1) % 7]\n");
    check(array_text(),
          "  var t = 0u32\n  for k in 0u32 .. n { t = t + k }\n  while t > 0 {\n    t = t - 1\n    barrier\n  }\n"
          "  out[i] = t\n");
    check(array_text(),
          "  var k = 0u32\n  while true {\n    k = k + 1\n    if k == 4 { return }\n    out[i] = k\n  }\n  barrier\n");
    check(array_text(),
          "  var k = 0u32\n  while k < n {\n    var j = 0u32\n    while j < n { j = j + 1 }\n    k = k + j / 2\n  }\n"
          "  if k > 2 { barrier }\n  out[i] = k\n");
}

static void endless_loops_are_stopped(void **state) {
    (void)state;
    static const char *bodies[] = {
        /* Uniform: alone, before a meeting, with one in each trip, in some trips, nested. */
        "  while true { out[i] = 1 }\n",
        "  while n > 0 { }\n",
        "  while n > 0 { }\n  barrier\n",
        "  while true { s[l] = i }\n  barrier\n  out[i] = s[0]\n",
        "  var k = 0u32\n  while true {\n    k = k + 1\n    barrier\n    s[l] = k\n  }\n",
        "  var k = 0u32\n  while true {\n    k = k + 1\n    if k % 4 == 0 { barrier }\n  }\n",
        "  var k = 0u32\n  while true {\n    k = k + 1\n    if k % 4 == 0 { continue }\n    barrier\n  }\n",
        "  var k = 0u32\n  while true {\n    while k < 5 { k = k + 1 }\n    k = 0\n  }\n  barrier\n",
        "  var k = 0u32\n  while true {\n    while k < n { k = k + 1 }\n    k = 0\n    let any = workgroup_any(l == "
        "k)\n  "
        "}\n",
        "  while true {\n    if n == 4 { return }\n    if n == 5 { trap 1 }\n  }\n  barrier\n",
        "  for a in 0u32 .. 1000000000 { for b in 0u32 .. 1000000000 { out[i] = 1 } }\n  barrier\n",
        "  for a in 0u32 .. 70000 { for b in 0u32 .. 70000 { for c in 0u32 .. 70000 { barrier } } }\n",
        /* Not uniform. */
        "  while x[l] < 1000 { out[i] = 1 }\n",
        "  while x[l] < 1000 { }\n  barrier\n  out[i] = 1\n",
        "  if l < 3 { while n > 0 { } }\n  barrier\n  out[i] = 1\n",
        "  if l < 3 { for a in 0u32 .. 4000000000 { } }\n  barrier\n  out[i] = 1\n",
        "  while x[l] < 1000 { while x[l] < 900 { } }\n  barrier\n  if x[l] < 1000 { trap 1 }\n",
        "  var k = 0u32\n  while true {\n    while x[l] < 1000 { k = k + l }\n    barrier\n    s[k % 32] = 1\n  }\n",
        "  var k = 0u32\n  while x[l] < 1000 { k = k + 1 }\n  s[k % 32] = l\n  barrier\n  out[i] = 1\n",
        "  while x[l] < 1000 { }\n  if x[l] < 1000 { trap 1 }\n  barrier\n",
        "  while x[l] < 1000 { if l == 77 { trap 1 } }\n  while n > 0 { }\n  barrier\n",
    };
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++)
        for (unsigned group = 32; group; group = group == 32 ? 1 : 0) {
            vyre_program *program = program_of(array_text(), bodies[b], group);
            for (uint64_t poll = 1; poll < 5; poll++)
                check_on(program, 1, poll, (uint32_t)(poll * 5 % 7));
            check_on(program, 1, 3, 0);
            vyre_program_release(program);
        }
}

static void a_trap_before_an_endless_loop_may_be_reported(void **state) {
    (void)state;
    vyre_program *program =
        program_of(array_text(), "  if l == 3 { trap 1 }\n  while n > 0 { }\n  barrier\n  out[i] = 1\n", 32);
    static question q = {.may_trap = 1};
    q.want.status = VYRE_TIMEOUT;
    for (uint64_t k = 1; k < 8; k++) {
        q.target = (vy_target_desc){.exact = ALL_BITS, .native_collectives = k & 1, .cancellable = 1};
        q.options = (vyre_oracle_options){.checks = VYRE_CHECK_RACES, .budget = 4000000, .seed = k / 2};
        q.conditions = (vy_lowered_env){.garbage = k, .poll = k, .poll_spread = 3};
        if (misbehaves(&q, program, usual()))
            fail_msg("poll %d: %s", (int)k, q.why);
    }
    vyre_program_release(program);
}

static void short_loops_do_not_ask(void **state) {
    (void)state;
    static const struct {
        const char *body;
        unsigned polls; /* beside the one at the start */
    } cases[] = {
        {"  for k in 0u32 .. 100 { out[i] = k }\n", 0},
        {"  for k in 0u32 .. 100 { for j in 0u32 .. 100 { out[i] = k } }\n", 0},
        {"  for k in 0u32 .. 1000 { for j in 0u32 .. 1000 { out[i] = k } }\n", 1},
        {"  for k in 0u32 .. 100000 { for j in 0u32 .. 100000 { out[i] = k } }\n", 2},
        {"  for k in 0u32 .. n { out[i] = k }\n", 1},
        {"  var k = 9u32\n  while k > 0 { k = k - 1 }\n", 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        vyre_program *program = program_of("", cases[c].body, 32), *made = NULL;
        vy_target_desc target = {.exact = ALL_BITS, .cancellable = 1};
        unsigned polls = 0;
        assert_int_equal(vy_legalize_traps(program, &target, &made, NULL), VYRE_OK);
        for (uint32_t i = 0; i < made->stmts.count; i++)
            polls += made->stmts.items[i].kind == VY_STMT_POLL;
        if (polls != cases[c].polls + 1)
            fail_msg("%s has %u polls", cases[c].body, polls);
        vyre_program_release(made);
        vyre_program_release(program);
    }
}

/* ---- resources ---- */

static vyre_status end_once(void *user) {
    vyre_program *made = NULL;
    vy_target_desc target = {.exact = ALL_BITS, .cancellable = 1};
    vyre_status status = vy_legalize_traps(user, &target, &made, NULL);
    vyre_program_release(made);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    vyre_program *program =
        program_of(array_text(),
                   "  var k = 0u32\n  while k < n {\n    if l == 5 { trap 1 }\n    k = k + 1\n    let old = "
                   "atomic_add(sum[0], 1)\n  }\n"
                   "  barrier\n  while x[l] < k { k = k - 1 }\n  let r = workgroup_reduce_add(l)\n  out[i] = r\n",
                   32);
    VY_FAULT_LOOP(end_once, program);
    vyre_program_release(program);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check_time(const char *open, const char *close) {
    enum { COUNT = 30000 };
    static char text[COUNT * 96 + 8192];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "program p {\n  buffer out : u32 write count 4\n  workgroup 32\n  grid 1\n  let l = local_index\n%s", open);
    for (int i = 0; i < COUNT; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "if l == %d { trap %d }\nif l == 0 { out[%d] = 1 }\n%s",
                             i, i, i % 4, i % 100 ? "" : "barrier\n");
    snprintf(text + used, sizeof text - used, "%s\n  barrier\n}\n", close);
    vyre_program *program = vy_test_parse(text), *made = NULL;
    vy_target_desc target = {.exact = ALL_BITS, .cancellable = 1};
    double start = seconds();
    assert_int_equal(vy_legalize_traps(program, &target, &made, NULL), VYRE_OK);
    double took = seconds() - start;
    printf("%u statements in %.2f s\n", program->stmts.count, took);
    assert_true(took < (VY_SANITIZED ? 20 : 2));
    vyre_program_release(made);
    vyre_program_release(program);
}

static void time_is_linear(void **state) {
    (void)state;
    enum { DEEP = 24 };
    char open[4096] = "", close[256] = "";
    check_time("", "");
    for (int i = 0; i < DEEP; i++) {
        snprintf(open + strlen(open), sizeof open - strlen(open), "for k%d in 0u32 .. 2 {\nif k%d == 7 { break }\n", i,
                 i);
        strcat(close, "}");
    }
    check_time(open, close);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trap_that_no_meeting_follows_is_a_report_and_a_return),
        cmocka_unit_test(the_smallest_until_the_next_meeting_counts),
        cmocka_unit_test(the_first_trap_of_an_invocation_counts),
        cmocka_unit_test(who_trapped_has_no_effect_any_more),
        cmocka_unit_test(an_invocation_reports_once),
        cmocka_unit_test(traps_in_loops_with_meetings),
        cmocka_unit_test(meetings_that_uniform_control_skips),
        cmocka_unit_test(what_a_trap_has_checked_may_be_relied_upon),
        cmocka_unit_test(traps_in_functions_with_several_returns),
        cmocka_unit_test(private_arrays_go_on),
        cmocka_unit_test(programs_without_traps_stay_what_they_are),
        cmocka_unit_test(beside_grid_barriers_it_is_refused),
        cmocka_unit_test(what_polled_loops_compute_decides_about_meetings),
        cmocka_unit_test(endless_loops_are_stopped),
        cmocka_unit_test(a_trap_before_an_endless_loop_may_be_reported),
        cmocka_unit_test(short_loops_do_not_ask),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(time_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
