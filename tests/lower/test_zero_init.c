/* Fill: an array that is read before it is written is zeroed, one that is written in time is not, and either way the
 * bytes are those of arrays that start as zero. Each body is judged and run: at level legal arrays start with garbage.
 * */
#include "compile/pipeline.h"
#include "lower/bounds_checks_campaign.h"
#include "lower/legalize.h"

static vyre_program *parse(const char *body) {
    char text[4096];
    vyre_module *module;
    vyre_error error;
    snprintf(
        text, sizeof text,
        "fn sum(a: u32) -> u32 { array s : u32 [4] private\n s[a] = a\n return s[0] + s[1] + s[a] }\n"
        "program p {\n param k : u32\n buffer x : u32 read\n buffer out : u32 write count 64\n workgroup 4, 2\n grid "
        "2\n array t : u32 [8] workgroup\n array w : u32 [20] workgroup\n array a : u32 [5] private\n array b : u32 "
        "[40] private\n let l = local_index\n let o = group_id.x * 8 + l\n%s\n}\n",
        body);
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s (%s)\n%s", error.message, error.where, text);
    vyre_program *program;
    assert_int_equal(vyre_program_inline(vyre_module_program(module, 0), &program, &error), VYRE_OK);
    vyre_module_free(module);
    return program;
}

/* Which arrays need it, as letters. */
static void check(const char *body, const char *expected) {
    static guard_campaign c = {.rules = &vy_bounds_check_default, .shows = 1, .compared = {.rules = &vy_opt_default}};
    static const uint32_t values[8] = {3, 0, 5, 7, 2, 9, 1, 4};
    vyre_program *program = parse(body);
    uint8_t needs[16];
    char found[16] = "";
    vyre_error error;
    assert_int_equal(vy_zero_init_needs(program, needs, &error), VYRE_OK);
    for (uint32_t i = program->buffer_count, n = 0; i < program->memories.count; i++)
        if (needs[i])
            found[n++] = vy_symbol_name(program, program->memories.items[i].name)[0];
    if (strcmp(found, expected) != 0)
        fail_msg("needs `%s`, must be `%s`:\n%s", found, expected, body);
    vyre_span input = {values, sizeof values};
    for (uint64_t k = 0; k < 4; k++) {
        vyre_scalar param = {VYRE_TYPE_U32, k};
        vyre_arguments arguments = {.params = &param, .param_count = 1, .inputs = &input, .input_count = 1};
        assert_true(opt_run(program, &arguments, &c.compared.expected));
        if (guard_spoils(&c, program, &arguments))
            fail_msg("%s\n%s", c.compared.message, body);
    }
    vyre_program_release(program);
    guard_campaign_free(&c);
}

static void private_arrays(void **state) {
    (void)state;
    check("out[o] = a[k]", "a");
    check("a[0] = 1\n a[2] = 3\n out[o] = a[0] + a[2] + a[7]", "");
    check("a[0] = 1\n a[2] = 3\n out[o] = a[0] + a[1]", "a");
    check("a[k] = 1\n out[o] = a[k]", "a"); /* an index that is not known */
    check("for i in 0u32 .. 5 { a[i] = i }\n out[o] = a[k]", "");
    check("for i in 1u32 .. 5 { a[i] = i }\n out[o] = a[k]", "a");
    check("for i in 1u32 .. 5 { a[i] = i }\n out[o] = a[1 + k % 4]", "");
    check("for i in 4i32 .. -1 step -1 { a[i] = 3 }\n out[o] = a[k]", "");
    check("for i in 0u32 .. k { a[i] = i }\n out[o] = a[k]", "a");
    check("for i in 0u32 .. 5 { if i == k { break }\n a[i] = i }\n out[o] = a[k]", "a");
    check("for i in 0u32 .. 5 { if i == k { continue }\n a[i] = i }\n out[o] = a[k]", "a");
    check("for i in 0u32 .. 5 { if i == k { return }\n a[i] = i }\n out[o] = a[k]", "");
    check("for i in 0u32 .. 5 { if i != k { a[i] = i } }\n out[o] = a[k]", "a");
    check("if k < 3 { for i in 0u32 .. 5 { a[i] = i } }\n out[o] = a[1]", "a");
    check("if k < 3 { return } else { a[1] = 2 }\n out[o] = a[1]", "");
    check("if k < 3 { a[1] = 2\n out[o] = a[1] }", "");
    check("if k < 3 { a[1] = 2 } else { out[o] = a[1] }", "a");
    check("for i in 0u32 .. 3 { b[i] = i }\n for i in 3u32 .. 40 { b[i] = b[i - 1] + b[i - 3] }\n out[o] = b[k]", "");
    check("for i in 0u32 .. 3 { b[i] = i }\n for i in 3u32 .. 40 { b[i] = b[i - 1] + b[i + 1] }\n out[o] = b[k]", "b");
    check("for i in l .. 40 { b[i] = i }\n out[o] = b[39] + b[7] + b[6]", "b");
    check("for i in 0u32 .. k { a[0] = 1\n a[1] = a[0] }\n out[o] = 1", "");
    check("var i = 0u32\n while i < 5 { a[i] = 3\n i = i + 1 }\n out[o] = a[2]", "a"); /* not counted */
    check("out[o] = sum(k & 3) + sum(1)", "");                                         /* each call clears its own */
    check("a[l] = 3\n out[o] = a[0]", "a");
}

static void workgroup_arrays(void **state) {
    (void)state;
    check("out[o] = t[l]", "t");
    check("t[l] = k\n barrier\n out[o] = t[k]", "");
    check("t[local_id.x + 4 * local_id.y] = k\n barrier\n out[o] = t[k]", "");
    check("t[local_id.x * 2 + local_id.y] = k\n barrier\n out[o] = t[k]", "");
    check("t[7 - l] = k\n barrier\n out[o] = t[k]", "");
    check("w[l] = k\n barrier\n out[o] = w[k & 7]", "");
    check("w[l] = k\n barrier\n out[o] = w[8]", "w");
    check("w[l] = k\n w[l + 8] = 1\n w[min(l + 16, 19)] = 2\n", "");
    check("for i in l .. 20 step 8 { w[i] = i }\n barrier\n out[o] = w[k]", "");
    check("for i in l .. 20 step 9 { w[i] = i }\n barrier\n out[o] = w[k + 8]", "w");
    check("for i in l .. k step 8 { w[i] = i }\n barrier\n out[o] = w[k]", "w");
    check("if l == 3 { w[4] = 1\n w[5] = 2 }\n barrier\n out[o] = w[4] + w[5]", "");
    check("if l == 8 { w[4] = 1 }\n barrier\n out[o] = w[4]", "w"); /* nobody */
    check("if l == k { w[4] = 1 }\n barrier\n out[o] = w[4]", "w");
    check("if l == 3 { if k == 2 { w[4] = 1 } }\n barrier\n out[o] = w[4]", "w");
    check("if l < 4 { t[l] = 1 } else { t[l] = 2 }\n barrier\n out[o] = t[k]", "");
    check("if l < 4 { t[l] = 1 }\n barrier\n out[o] = t[k + 1]", "t");
    check("if l % 4 == 0 { t[l / 4] = 1 }\n barrier\n out[o] = t[k & 1]", "");
    check("if l % 4 == 0 { t[l / 4] = 1 }\n barrier\n out[o] = t[k & 3]", "t");
    check("for i in 0u32 .. k { t[l] = i\n barrier\n out[o] = t[i & 7]\n barrier }", "");
    check("for i in 0u32 .. k { t[l] = i\n barrier }\n out[o] = t[k]", "t");
    check("if k > 1 { t[l] = 3\n barrier\n out[o] = t[k] }", "");
    check("if k > 1 { t[l] = 3\n barrier }\n out[o] = t[k]", "t");
    check("if k > 1 { t[l] = 3 }\n barrier\n out[o] = t[k]", "t");
    check("if k > 1 { t[l] = 3\n barrier } else { out[o] = t[k] }", "t");
    check("while true { if l == 3 { break }\n t[l] = 3\n break }\n barrier\n out[o] = t[k]", "t");
    check("t[l] = 3\n out[o] = t[l]", "t"); /* no meeting yet: an own element is not told from others */
    check("let old = atomic_add(t[l], 1)\n out[o] = old", "t");
    check("atomic_add(t[l], 1)\n barrier\n out[o] = t[k]", "t");
    check("t[l] = 0\n barrier\n atomic_add(t[k], 1)\n barrier\n out[o] = t[k]", "");
    check("for r in 0u32 .. 3 { t[l] = r }\n barrier\n out[o] = t[k]", "");
    check("for r in 0u32 .. 0 { t[l] = r }\n barrier\n out[o] = t[k]", "t");
    check("t[x[l]] = 3\n barrier\n out[o] = t[k]", "t");
    check("out[o] = t[k] + w[k + 17] + a[1] + b[k]", "twab");
}

/* Where nothing is left to find out, the rest of a block is not walked: what holds in it does not hold behind it. */
static void what_a_block_settles_is_settled_in_it(void **state) {
    (void)state;
    const char *others = "out[o] = w[k] + a[k] + b[k]\n";
    static const char *const bodies[][2] = {
        {"t[l] = 1\n barrier\n out[o] = t[k]", "wab"},
        {"if k > 1 { t[l] = 1\n barrier\n out[o] = t[k] }", "wab"},
        {"if k > 1 { t[l] = 1\n barrier\n out[o] = t[k] }\n out[o] = t[k]", "twab"},
        {"if k > 1 { t[l] = 1\n barrier\n out[o] = t[k] } else { out[o] = t[k] }", "twab"},
        {"for i in 0u32 .. k { t[l] = 1\n barrier\n out[o] = t[k]\n barrier }\n out[o] = t[k]", "twab"},
        {"if l < 4 { t[l] = 1 }\n barrier\n out[o] = t[3]\n barrier\n t[l] = 1\n barrier\n out[o] = t[7]", "wab"},
        {"if l < 3 { t[l] = 1 }\n barrier\n out[o] = t[3]\n barrier\n t[l] = 1\n barrier\n out[o] = t[7]", "twab"},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char body[512];
        snprintf(body, sizeof body, "%s%s", others, bodies[i][0]);
        check(body, bodies[i][1]);
    }
}

/* A loop of many trips is not walked trip by trip, but what each of them stores is. */
static void loops_of_many_trips(void **state) {
    (void)state;
    check("if k > 8 { for i in 0u32 .. 900 { for j in 0u32 .. 900 { for m in 0u32 .. 900 { b[0] = 1 } } }\n out[o] = "
          "b[0] }",
          "b");
    check("for i in 0u32 .. 1000 { for j in 0u32 .. 5 { a[j] = i }\n out[o] = a[k] }", "");
    check("if k > 8 { for i in 0u32 .. 4000000000 { b[i] = 1 } }\n a[1] = 1\n out[o] = a[1]", "");
    check("for i in 0u32 .. 90000 { b[i % 40] = 1 }\n out[o] = b[k]", "");
}

static void values_that_double_their_cost_end(void **state) {
    (void)state;
    char body[4096] = "let v0 = l";
    for (int i = 1; i < 60; i++)
        snprintf(body + strlen(body), sizeof body - strlen(body), "\n let v%d = v%d + v%d", i, i - 1, i - 1);
    snprintf(body + strlen(body), sizeof body - strlen(body), "\n t[v59] = 1\n barrier\n out[o] = t[k]");
    check(body, "twab");
}

static void a_target_that_zeroes_arrays_is_left_alone(void **state) {
    (void)state;
    vyre_program *program = parse("out[o] = t[k]"), *legal[2];
    vyre_error error;
    for (uint8_t i = 0; i < 2; i++) {
        const vy_target_desc target = {.exact = (UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1, .zeroes_arrays = i};
        assert_int_equal(vy_legalize(program, &target, &legal[i], &error), VYRE_OK);
    }
    assert_true((legal[0]->facts & VY_PROGRAM_HAS_BARRIER) && !(legal[1]->facts & VY_PROGRAM_HAS_BARRIER));
    vyre_program_release(legal[0]);
    vyre_program_release(legal[1]);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_arrays),
        cmocka_unit_test(workgroup_arrays),
        cmocka_unit_test(what_a_block_settles_is_settled_in_it),
        cmocka_unit_test(loops_of_many_trips),
        cmocka_unit_test(values_that_double_their_cost_end),
        cmocka_unit_test(a_target_that_zeroes_arrays_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
