/* Guards: no access of a legalised program is outside, and every program gives what it gave. Wrong guards are found. */
#include "lower/bounds_checks_campaign.h"
#include "support/fault.h"

/* ---- single accesses ---- */

/* The body after the phase, as text without its frame. */
static void check_body(const char *body, const char *expected) {
    char text[2048], want[4096];
    const char *head =
        "  param k : u32\n  param n : i32\n  param w : i64\n  buffer x : u32 read_write\n  buffer z : u32 "
        "read_write count len(x)\n  workgroup 4\n  grid 1\n";
    vyre_program *legal, *program;
    vyre_error error;
    vyre_bytes made = {0};
    snprintf(text, sizeof text, "program p {\n%s  array a : u32 [16] private\n\n%s}\n", head, body);
    snprintf(want, sizeof want, "program p {\n  level legal\n%s  array a : u32 [16] private\n\n%s}\n", head, expected);
    program = vy_test_parse(text);
    if (vy_legalize_bounds_checks(program, &vy_bounds_check_default, NULL, &legal, &error) != VYRE_OK)
        fail_msg("%s\n%s", error.message, text);
    assert_int_equal(vyre_text_print(legal, &made, &error), VYRE_OK);
    if (made.size != strlen(want) || memcmp(made.data, want, made.size) != 0)
        fail_msg("got\n%.*s\nmust be\n%s", (int)made.size, (const char *)made.data, want);
    vyre_bytes_free(&made);
    vyre_program_release(legal);
    vyre_program_release(program);
}

static void what_is_inside_has_no_test(void **state) {
    (void)state;
    check_body("  a[k & 15] = a[3]\n", "  a![k & 15] = a![3]\n");
    check_body("  if k < len(x) {\n    x[k] = z[k]\n  }\n", "  if k < len(x) {\n    x![k] = z![k]\n  }\n");
    check_body("  a[n & 7] = 1\n", "  let t1 = u32(n & 7)\n  a![t1] = 1\n");
}

static void what_is_outside_goes(void **state) {
    (void)state;
    check_body("  a[16] = k\n  x[0] = a[-1i32] + 1\n", "  let t1 = 0 < len(x)\n  if t1 {\n    x![0] = 0 + 1\n  }\n");
    check_body("  let (old) = atomic_add(x[-1i32], 1)\n  if k < len(x) {\n    x[k] = old\n  }\n",
               "  let old = 0u32\n  if k < len(x) {\n    x![k] = old\n  }\n");
    check_body("  if k < len(x) {\n    x[k] = z[4294967295u32]\n  }\n", "  if k < len(x) {\n    x![k] = 0\n  }\n");
}

static void all_else_is_tested_as_an_integer(void **state) {
    (void)state;
    check_body("  x[k] = 1\n", "  let t1 = k < len(x)\n  if t1 {\n    x![k] = 1\n  }\n");
    check_body("  x[n] = 1\n", "  let t1 = u32(n)\n  let t2 = n >= 0 && t1 < len(x)\n  if t2 {\n    x![t1] = 1\n  }\n");
    check_body("  a[n] = 1\n", "  let t1 = u32(n)\n  let t2 = t1 < 16\n  if t2 {\n    a![t1] = 1\n  }\n");
    check_body("  x[w] = 1\n", "  let t1 = u32(w)\n  let t2 = u64(w) < u64(len(x))\n  if t2 {\n    x![t1] = 1\n  }\n");
    check_body("  x[w & 255] = 1\n",
               "  let t1 = w & 255\n  let t2 = u32(t1)\n  let t3 = t2 < len(x)\n  if t3 {\n    x![t2] = 1\n  }\n");
}

static void accesses_of_one_index_share_a_test(void **state) {
    (void)state;
    check_body("  x[k] = z[k] + x[k]\n",
               "  let t1 = k < len(z)\n  if t1 {\n    x![k] = z![k if t1] + x![k if t1]\n  }\n");
    /* Not where the first test is not visible, nor for what may change. */
    check_body("  if n > 3 {\n    x[k] = 1\n  }\n  z[k] = 2\n",
               "  if n > 3 {\n    let t1 = k < len(x)\n    if t1 {\n      x![k] = 1\n    }\n  }\n"
               "  let t2 = k < len(z)\n  if t2 {\n    z![k] = 2\n  }\n");
    check_body("  var v = k\n  x[v] = 1\n  v = v * 3\n  x[v] = 2\n",
               "  var v = k\n  let t1 = v < len(x)\n  if t1 {\n    x![v] = 1\n  }\n  v = v * 3\n"
               "  let t2 = v < len(x)\n  if t2 {\n    x![v] = 2\n  }\n");
}

static void an_index_is_evaluated_once_and_in_its_place(void **state) {
    (void)state;
    check_body("  if x[x[x[k] + 1]] > 0 {\n    a[0] = 1\n  }\n",
               "  let t1 = k < len(x)\n  let t2 = x![k if t1] + 1\n  let t3 = t2 < len(x)\n"
               "  let t4 = x![t2 if t3]\n  let t5 = t4 < len(x)\n  if x![t4 if t5] > 0 {\n    a![0] = 1\n  }\n");
    check_body(
        "  var v = k\n  while x[v] > 3 {\n    v = v + 1\n  }\n",
        "  var v = k\n  while true {\n    let t1 = v < len(x)\n    let t2 = x![v if t1] > 3\n    if !t2 {\n      "
        "break\n    }\n    v = v + 1\n  }\n");
    check_body("  var v = 0u32\n  while a[v & 3] > 3 {\n    v = v + 1\n  }\n",
               "  var v = 0u32\n  while a![v & 3] > 3 {\n    v = v + 1\n  }\n");
    check_body("  let (old) = atomic_add(x[k], 1)\n  a[0] = old\n",
               "  let t1 = k < len(x)\n  var old = 0u32\n  if t1 {\n    let t2 = atomic_add(x![k], 1)\n    old = t2\n  "
               "}\n  a![0] = old\n");
}

static void what_is_left_is_counted_and_explained(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(
                     "program p {\n param n : i32\n buffer x : u32 read_write\n buffer y : u32 read "
                     "count 9\n workgroup 4\n grid 1\n x[n] = y[local_index] + y[20] + y[max(n, 3)]\n}\n"),
                 *legal;
    vy_bounds_check_report guards = {0};
    vyre_error error;
    char text[128];
    assert_int_equal(vy_legalize_bounds_checks(program, &vy_bounds_check_default, &guards, &legal, &error), VYRE_OK);
    assert_int_equal(guards.accesses, 4);
    assert_int_equal(guards.proven, 1);
    assert_int_equal(guards.outside, 1);
    assert_int_equal(guards.guarded, 2);
    assert_int_equal(guards.left.count, 2);
    vy_residual_check_text(program, &guards.left.items[0], text, sizeof text);
    assert_string_equal(text, "index i32 -2147483648 … 2147483647, length of x known at dispatch");
    vy_residual_check_text(program, &guards.left.items[1], text, sizeof text);
    assert_string_equal(text, "index i32 3 … 2147483647, length of y 9");
    assert_int_equal(guards.left.items[1].position.line, 7);
    vy_bounds_check_report_free(&guards);
    vyre_program_release(legal);
    vyre_program_release(program);
}

/* ---- campaigns ---- */

static void programs_that_go_out_of_bounds_give_the_same_bits(void **state) {
    (void)state;
    static const unsigned stresses[] = {0, VYRE_STRESS_MEMORY, VYRE_STRESS_MEMORY | VYRE_STRESS_CONTROL,
                                        VYRE_STRESS_ATOMICS};
    uint64_t count = (VY_SANITIZED ? 300 : 3000) * (uint64_t)vy_test_effort();
    const char *first = getenv("VYRE_SEED");
    uint64_t start = first ? strtoull(first, NULL, 0) : 0;
    guard_campaign c = {.rules = &vy_bounds_check_default,
                        .generate = {.statements = 14, .depth = 3, .invocations = 32},
                        .shows = 1,
                        .compared = {.rules = &vy_opt_default}};
    for (uint64_t seed = start; seed < start + count; seed++) {
        c.generate.stress = stresses[seed % 4];
        if (guard_try(&c, seed))
            fail_msg("seed %llu: %s", (unsigned long long)seed, c.compared.message);
    }
    printf("%llu programs, %llu filled; %u accesses, %u proven, %u outside, %u guarded\n",
           (unsigned long long)c.programs, (unsigned long long)c.filled, c.counted.accesses, c.counted.proven,
           c.counted.outside, c.counted.guarded);
    assert_true(c.counted.guarded > count && c.counted.proven > count && c.programs > count / 2);
    guard_campaign_free(&c);
}

/* The same through all phases, for targets with and without subgroups and wide accesses. */
static void so_they_do_on_targets_of_any_kind(void **state) {
    (void)state;
    uint64_t count = (VY_SANITIZED ? 100 : 1000) * (uint64_t)vy_test_effort();
    const char *first = getenv("VYRE_SEED");
    uint64_t start = first ? strtoull(first, NULL, 0) : 0;
    guard_campaign c = {.generate = {.statements = 14, .depth = 3, .invocations = 32},
                        .shows = 1,
                        .compared = {.rules = &vy_opt_default}};
    for (uint64_t seed = start; seed < start + count; seed++) {
        const vy_target_desc target = {.exact = (UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1,
                                       .subgroup_width = seed % 3 ? 32 : 0,
                                       .access_bytes = seed % 2 ? 16 : 0,
                                       .cancellable = seed % 5 == 0};
        c.target = &target;
        c.generate.stress = seed % 2 ? VYRE_STRESS_MEMORY : 0;
        if (guard_try(&c, seed))
            fail_msg("seed %llu: %s", (unsigned long long)seed, c.compared.message);
    }
    printf("%llu programs\n", (unsigned long long)c.programs);
    assert_true(c.programs > count / 2);
    guard_campaign_free(&c);
}

/* Each is the rules with one thing wrong. */
static void wrong_guards_are_found(void **state) {
    (void)state;
    static const struct {
        const char *what;
        vy_bounds_check_policy rules;
    } mutants[] = {
        {"an index that is the length is inside", {VYRE_OP_LE, 1, 1, 1}},
        {"negative indices are inside", {VYRE_OP_LT, 0, 1, 1}},
        {"64 bits are cut before they are compared", {VYRE_OP_LT, 1, 0, 1}},
        {"a range up to the length is inside", {VYRE_OP_LT, 1, 1, 2}},
    };
    unsigned alive = 0;
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        guard_campaign c = {.rules = &mutants[i].rules,
                            .generate = {.statements = 14, .depth = 3, .invocations = 32, .stress = VYRE_STRESS_MEMORY},
                            .compared = {.rules = &vy_opt_default}};
        unsigned tried = 0, found = 0;
        while (!found && tried < 5000)
            found = guard_try(&c, tried++) ? tried : 0;
        printf("%s: %s %u programs\n", mutants[i].what, found ? "found after" : "NOT FOUND in", found ? found : tried);
        alive += !found;
        guard_campaign_free(&c);
    }
    assert_int_equal(alive, 0);
}

/* ---- the examples ---- */

typedef struct example {
    const char *file, *program;
    uint32_t accesses, proven, guarded;
    const char *filled; /* arrays that are zeroed */
} example;

/* Optimised, as compiled. */
static const example examples[] = {
    {"bitonic", "blocks", 12, 4, 8, ""},
    {"bitonic", "merge", 4, 2, 2, ""},
    {"dfa", "dfa", 7, 4, 3, ""},
    {"hash", "fnv1a", 4, 3, 1, ""},
    {"hash", "xxh32", 24, 3, 21, ""},
    {"hash", "xxh64", 48, 3, 45, ""},
    {"histogram", "histogram", 5, 5, 0, ""},
    {"mandelbrot", "mandelbrot", 3, 3, 0, ""},
    {"matmul", "matmul", 7, 5, 2, ""},
    {"nbody", "nbody", 25, 25, 0, "tx ty tz"},
    {"reduce", "by_hand", 7, 4, 3, ""},
    {"reduce", "by_shuffle", 11, 9, 2, ""},
    {"reduce", "by_collective", 2, 0, 2, ""},
    {"saxpy", "saxpy", 3, 2, 1, ""},
    {"scan", "blocks", 9, 6, 3, ""},
    {"scan", "totals", 2, 1, 1, ""},
    {"scan", "finish", 3, 2, 1, ""},
    {"search", "search", 3, 2, 1, ""},
    {"sha256", "sha256", 23, 22, 1, ""},
    {"stencil", "stencil", 8, 8, 0, ""},
    {"xor", "xor", 3, 2, 1, ""},
};

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static example measure(const example *row, const vyre_program *program, char *filled_arrays, size_t size) {
    vy_bounds_check_report guards = {0};
    vyre_program *filled, *legal;
    vyre_error error;
    uint8_t needs[VY_LIMIT_BUFFERS + VY_LIMIT_ARRAYS];
    assert_int_equal(vy_zero_init_needs(program, needs, &error), VYRE_OK);
    filled_arrays[0] = 0;
    for (uint32_t i = program->buffer_count; i < program->memories.count; i++)
        if (needs[i])
            snprintf(filled_arrays + strlen(filled_arrays), size - strlen(filled_arrays), "%s%s",
                     filled_arrays[0] ? " " : "", vy_symbol_name(program, program->memories.items[i].name));
    assert_int_equal(vy_legalize_zero_init(program, &filled, &error), VYRE_OK);
    vyre_program_release(filled);
    assert_int_equal(vy_legalize_bounds_checks(program, &vy_bounds_check_default, &guards, &legal, &error), VYRE_OK);
    example seen = {row->file, row->program, guards.accesses, guards.proven, guards.guarded, filled_arrays};
    assert_int_equal(guards.outside, 0);
    vy_bounds_check_report_free(&guards);
    vyre_program_release(legal);
    return seen;
}

static void the_table_of_examples_is_right(void **state) {
    (void)state;
    char *docs = read_text(vy_test_path("docs/internals/lower.md")), path[256], line[256], arrays[128];
    int wrong = 0;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const example *row = &examples[i];
        vyre_module *module;
        vyre_program *optimized;
        vyre_error error;
        snprintf(path, sizeof path, "examples/%s.vyre", row->file);
        char *text = read_text(vy_test_path(path));
        assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), VYRE_OK);
        for (size_t k = 0; k < vyre_module_program_count(module); k++) {
            vyre_program *program = vyre_module_program(module, k);
            if (strcmp(vy_symbol_name(program, program->name), row->program) != 0)
                continue;
            assert_int_equal(
                vyre_program_optimize(program, &(vyre_optimize_options){.level = 2}, &optimized, NULL, &error),
                VYRE_OK);
            example seen = measure(row, optimized, arrays, sizeof arrays);
            snprintf(line, sizeof line, "| %s, `%s` | %u | %u | %u |", row->file, row->program, seen.accesses,
                     seen.proven, seen.guarded);
            if (seen.accesses != row->accesses || seen.proven != row->proven || seen.guarded != row->guarded ||
                strcmp(seen.filled, row->filled) != 0 || !strstr(docs, line)) {
                printf("%s filled: %s\n", line, seen.filled);
                wrong++;
            }
            vyre_program_release(optimized);
        }
        vyre_module_free(module);
        free(text);
    }
    free(docs);
    assert_int_equal(wrong, 0);
}

/* ---- memory ---- */

static vyre_status fill_and_guard(void *user) {
    vyre_program *filled = NULL, *legal = NULL;
    vy_bounds_check_report guards = {0};
    vyre_error error;
    vyre_status status = vy_legalize_zero_init(user, &filled, &error);
    if (status == VYRE_OK)
        status = vy_legalize_bounds_checks(filled, &vy_bounds_check_default, &guards, &legal, &error);
    vyre_program_release(filled);
    vyre_program_release(legal);
    vy_bounds_check_report_free(&guards);
    return status;
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
    (void)state;
    vyre_program *program =
        vy_test_parse("program p {\n param k : u32\n buffer x : u32 read_write\n workgroup 8\n grid 1\n array t : u32 "
                      "[20] workgroup\n array a : f32 [3] private\n array b : i64 [30] private\n"
                      " for i in 0u32 .. 30 { b[i] = i64(k) }\n let (old) = atomic_add(x[t[k]], 1)\n"
                      " var v = 3u32\n while x[v] != 0 { v = v + u32(a[k]) }\n if v > 3 { x[k] = old } else "
                      "{ x[b[k]] = 1 }\n t[local_index] = 4\n barrier\n x[t[1]] = 4\n}\n");
    assert_true(VY_FAULT_LOOP(fill_and_guard, program) >= 20);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_inside_has_no_test),
        cmocka_unit_test(what_is_outside_goes),
        cmocka_unit_test(all_else_is_tested_as_an_integer),
        cmocka_unit_test(accesses_of_one_index_share_a_test),
        cmocka_unit_test(an_index_is_evaluated_once_and_in_its_place),
        cmocka_unit_test(what_is_left_is_counted_and_explained),
        cmocka_unit_test(programs_that_go_out_of_bounds_give_the_same_bits),
        cmocka_unit_test(so_they_do_on_targets_of_any_kind),
        cmocka_unit_test(wrong_guards_are_found),
        cmocka_unit_test(the_table_of_examples_is_right),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
