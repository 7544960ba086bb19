/* Ranges: what is claimed of values and indices holds. Small programs for each source of knowledge; then random programs with every claim
 * put into them as a check that traps. */
#include "support/fault.h"
#include "transform/opt_campaign.h"

#include "transform/range_checks.h"

static vyre_program *parse(const char *text) {
    vyre_module *module;
    vyre_error error;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s (%s)\n%s", error.message, error.where, text);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    return program;
}

/* Whether the last store of the body is always inside. */
static int last_store_is_inside(const char *body) {
    char text[2048];
    snprintf(text, sizeof text,
             "program p {\n param k : u32\n param n : i32\n param m : u32\n buffer x : u32 read_write\n buffer z : u32 "
             "write count len(x)\n"
             " buffer w : u32 write count m\n buffer r : u32 read\n workgroup 8, 2\n grid 1\n array a : u32 [16] "
             "private\n%s\n}\n",
             body);
    vyre_program *program = parse(text);
    vy_ranges *ranges;
    vyre_error error;
    int inside = -1;
    assert_int_equal(vy_ranges_make(program, &ranges, &error), VYRE_OK);
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_STORE)
            inside = vy_stmt_is_inside(ranges, i);
    vy_ranges_free(ranges);
    vyre_program_release(program);
    return inside;
}

#define INSIDE(body) assert_int_equal(last_store_is_inside(body), 1)
#define UNKNOWN(body) assert_int_equal(last_store_is_inside(body), 0)

static void indices_into_arrays(void **state) {
    (void)state;
    INSIDE("a[15] = k");
    UNKNOWN("a[16] = k");
    UNKNOWN("a[-1i32] = k");
    UNKNOWN("a[k] = k");
    INSIDE("a[k & 15] = k");
    INSIDE("a[k % 16] = k");
    UNKNOWN("a[k % m] = k"); /* k % 0 is k */
    UNKNOWN("a[n % 16] = k");
    INSIDE("a[n & 15] = k");
    INSIDE("a[min(k, 15)] = k");
    INSIDE("a[k >> 28] = k");
    INSIDE("a[k >> 60] = k"); /* by 28 */
    INSIDE("a[local_id.x + 8 * local_id.y] = k");
    INSIDE("a[local_index] = k");
    UNKNOWN("a[local_id.x + 9 * local_id.y] = k");
    INSIDE("a[(k & 7) + 8] = k");
    UNKNOWN("a[(k & 7) - 1] = k"); /* wraps */
    INSIDE("a[(k & 7) * 2 + (k & 1)] = k");
    INSIDE("a[u8(k) >> 4] = k");
    INSIDE("a[popcount(u8(k))] = k");
    INSIDE("a[k > 3 ? 2u32 : 15u32] = k");
}

static void bounds_of_loops_and_conditions(void **state) {
    (void)state;
    INSIDE("for i in 0u32 .. 16 { a[i] = k }");
    INSIDE("for i in 15i32 .. -1 step -1 { a[i] = k }");
    UNKNOWN("for i in 0u32 .. 17 { a[i] = k }");
    UNKNOWN("for i in -1i32 .. 4 { a[i] = k }");
    INSIDE("for i in 0u32 .. k { if i < 16 { a[i] = k } }");
    INSIDE("if k < 16 { a[k] = k }");
    INSIDE("if k >= 16 { return }\n a[k] = k");
    INSIDE("if 15 < k || m > 3 { trap 1 }\n a[k] = k");
    UNKNOWN("if k < 16 || m > 3 { a[k] = k }");
    INSIDE("if !(k >= 16) && m > 3 { a[k] = k }");
    INSIDE("if n >= 0 && n < 16 { a[n] = k }");
    UNKNOWN("if n < 16 { a[n] = k }");
    UNKNOWN("if k >= 16 { x[k] = 1 }\n a[k] = k");
    INSIDE("if k != 3 { return }\n a[k] = k");
    INSIDE("var v = 0u32\n while v < 16 { a[v] = k\n v = v + 1 }");
    UNKNOWN("var v = 0u32\n while v < 16 { v = v + 1\n a[v] = k }"); /* up to 16 */
    UNKNOWN("var v = 3u32\n for i in 0u32 .. k { a[v] = k\n v = v + i }");
    UNKNOWN("var v = 3u32\n if k == 1 { v = m }\n a[v] = k");
    UNKNOWN("var v = k\n if v < 16 { v = m\n a[v] = k }");
}

static void lengths_only_the_dispatch_knows(void **state) {
    (void)state;
    INSIDE("if k < len(x) { x[k] = k }");
    INSIDE("if k < len(x) { z[k] = k }"); /* as long as x */
    INSIDE("if k < len(z) { x[k] = k }");
    INSIDE("if k < m { w[k] = k }");
    INSIDE("if k < len(w) { w[k] = k }");
    UNKNOWN("if k < len(r) { x[k] = k }");
    UNKNOWN("if k <= len(x) { x[k] = k }");
    UNKNOWN("if k < len(x) { x[k + 1] = k }");
    INSIDE("if k > 2 && k < len(x) { x[k - 1] = k }");
    UNKNOWN("if k < len(x) { x[k - 1] = k }");
    INSIDE("let l = len(x)\n if k >= l { return }\n x[k / 2] = k");
    INSIDE("for i in 3u32 .. len(x) step 4 { x[i & ~3u32] = k }");
    UNKNOWN("for i in 3u32 .. k step 4 { x[i] = k }");
    INSIDE("let i = global_id.x\n if i < len(x) { let j = i\n x[j] = k }");
    UNKNOWN("var i = global_id.x\n if i < len(x) { i = i + 1\n x[i] = k }");
}

static void distances_to_lengths(void **state) {
    (void)state;
    INSIDE("if k < len(x) && len(x) - k >= 4 { x[k + 3] = k }");
    INSIDE("if k < len(x) && len(x) - k >= 4 { z[k] = k }");
    INSIDE("if k < len(x) && len(x) - k > 3 { x[3 + k] = k }");
    INSIDE("if k < len(x) && 4 <= len(x) - k { let i = k + 1\n let j = i + 1\n z[j + 1] = k }");
    INSIDE("if k < len(x) && len(x) - k >= 4 { x[k + (m & 3)] = k }");
    INSIDE("if k < len(x) && len(x) - k >= 4 { x[k + 2 + (m & 1)] = k }");
    INSIDE("if k >= 2 && k < len(x) && len(x) - k >= 4 { x[k - 2 + 5] = k }");
    INSIDE("if k >= len(x) { return }\n if len(x) - k < 4 { return }\n x[k + 3] = k");
    INSIDE("if k < len(x) && k < m && len(x) - k >= 4 && m - k >= 2 { x[k + 3] = k\n w[k + 1] = k }");
    INSIDE("if k < 16 && 16 - k >= 4 { a[k + 3] = k }");
    UNKNOWN("if k < 16 && 16 - k >= 4 { a[k + 4] = k }");
    UNKNOWN("if k < len(x) && len(x) - k >= 4 { x[k + 4] = k }");
    UNKNOWN("if k < len(x) && len(x) - k >= 4 { x[k + 1 + 3] = k }");
    UNKNOWN("if k < len(x) && len(x) - k >= 4 { x[k + (m & 7)] = k }");
    UNKNOWN("if k < len(x) && len(x) - k > 4 { w[k + 3] = k }");
    UNKNOWN("if len(x) - k >= 4 { x[k + 3] = k }"); /* wraps */
    UNKNOWN("if k < len(r) && len(x) - k >= 4 { x[k + 3] = k }");
    UNKNOWN("if k < len(x) && len(x) - k >= m { x[k + 3] = k }");
    UNKNOWN("if k < len(x) && len(x) - k <= 4 { x[k + 3] = k }");
    UNKNOWN("if k < len(x) || len(x) - k >= 4 { x[k + 3] = k }");
    UNKNOWN("if k < len(x) && k - len(x) >= 4 { x[k + 3] = k }");
    UNKNOWN("if k < len(x) && len(x) - k >= 4 { x[i8(k & 127) + 3] = k }"); /* -126 */
    UNKNOWN("var v = k\n if v < len(x) && len(x) - v >= 4 { v = v + 1\n x[v + 3] = k }");
    INSIDE("var v = k\n if v < len(x) && len(x) - v >= 4 { v = v + 1\n x[v + 2] = k }");
}

/* ---- every claim as a check ---- */

static void claims_about_random_programs_hold(void **state) {
    (void)state;
    uint64_t count = (VY_SANITIZED ? 300 : 3000) * (uint64_t)vy_test_effort();
    checking c = {0};
    static opt_result result;
    const char *first = getenv("VYRE_SEED");
    uint64_t start = first ? strtoull(first, NULL, 0) : 0;
    for (uint64_t seed = start; seed < start + count; seed++) {
        static const unsigned stresses[] = {0, VYRE_STRESS_CONTROL, VYRE_STRESS_MEMORY, VYRE_STRESS_INTEGERS};
        vyre_generate_options options = {
            .seed = seed, .statements = 16, .depth = 3, .invocations = 16, .stress = stresses[seed % 4]};
        vyre_case *made;
        vyre_program *flat, *program;
        vyre_error error;
        assert_int_equal(vyre_generate(&options, &made, &error), VYRE_OK);
        assert_int_equal(vyre_program_inline(vyre_case_program(made), &flat, &error), VYRE_OK);
        program = opt_seasoned(flat, seed, seed % 2 ? 12 : 0);
        vyre_program *checked = with_checks(program, &c);
        opt_run(checked, vyre_case_arguments(made), &result);
        if (result.status == VYRE_TRAPPED && result.report.trap.code == FALSE_CLAIM) {
            vyre_bytes text = {0};
            if (vyre_text_print(checked, &text, &error) == VYRE_OK)
                printf("%.*s", (int)text.size, (const char *)text.data);
            fail_msg("seed %llu: a claim is false", (unsigned long long)seed);
        }
        vyre_program_release(checked);
        vyre_program_release(program);
        vyre_program_release(flat);
        vyre_case_free(made);
    }
    for (unsigned i = 0; i < OPT_OUTPUTS; i++)
        vyre_bytes_free(&result.outputs[i]);
    printf("%llu claims about accesses, %llu about values\n", (unsigned long long)c.accesses,
           (unsigned long long)c.values);
    assert_true(c.accesses > count && c.values > count);
}

/* ---- memory ---- */

static vyre_status make_and_free(void *user) {
    vy_ranges *ranges;
    vyre_error error;
    vyre_status status = vy_ranges_make(user, &ranges, &error);
    vy_ranges_free(ranges);
    return status;
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
    (void)state;
    vyre_program *program =
        parse("program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n var v = 3u32\n for i in 0u32 .. len(x) "
              "{ if i < 5 { v = v + x[i] } else { x[i] = v } } }\n");
    assert_true(VY_FAULT_LOOP(make_and_free, program) >= 3);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_into_arrays),
        cmocka_unit_test(bounds_of_loops_and_conditions),
        cmocka_unit_test(lengths_only_the_dispatch_knows),
        cmocka_unit_test(distances_to_lengths),
        cmocka_unit_test(claims_about_random_programs_hold),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
