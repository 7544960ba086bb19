/* Ranges: what is claimed of values and indices holds. Small programs for each source of knowledge; then random
 * programs with every claim put into them as a check that traps. */
#include "opt/campaign.h"
#include "support/fault.h"

#include "analysis/range_checks.h"

/* Whether the last store of a program is always inside. */
static int last_store_in(const char *text) {
    vyre_program *program = vy_test_parse(text);
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

static int last_store_is_inside(const char *body) {
    char text[2048];
    snprintf(text, sizeof text,
             "program p {\n param k : u32\n param n : i32\n param m : u32\n buffer x : u32 read_write\n buffer z : u32 "
             "write count len(x)\n"
             " buffer w : u32 write count m\n buffer r : u32 read\n workgroup 8, 2\n grid 1\n array a : u32 [16] "
             "private\n%s\n}\n",
             body);
    return last_store_in(text);
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
    INSIDE("let l = local_id.x\n a[(l << 1) - (l & 1) + 2] = k"); /* a zero between the bits of l */
    INSIDE("let l = local_id.x\n let d = l << 1\n a[d - (l & 7) + 8] = k");
    UNKNOWN("let l = local_id.x\n a[(l << 1) - (l & 1) + 3] = k");
    UNKNOWN("let l = local_id.x\n a[(l << 1) - (l & 2)] = k");
    UNKNOWN("let l = local_id.x\n a[(l << 1) - (k & 1)] = k");
    UNKNOWN("a[(k << 1) - (k & 1)] = k");
    UNKNOWN("var l = local_id.x\n let d = l << 1\n l = 7\n a[d - (l & 1)] = k");
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

/* Whether the last store is inside, in a program whose counts hang together. */
static int is_inside_related(const char *body) {
    char text[2048];
    snprintf(
        text, sizeof text,
        "program p {\n param k : u32\n param w : u32\n param h : u32\n buffer x : u32 read_write\n"
        " buffer less : u32 write count len(x) - 1\n buffer more : u32 write count 2 + len(x)\n"
        " buffer also : u32 write count len(x) - 1\n buffer three : u32 write count len(x) * 3\n"
        " buffer four : u32 write count 4 * (len(x) - 1)\n buffer plate : u32 write count w * h\n"
        " buffer known : u32 write count 4 * 5 - 2\n workgroup 8, 2\n grid 1\n array a : u32 [16] private\n%s\n}\n",
        body);
    return last_store_in(text);
}

#define RELATED(body) assert_int_equal(is_inside_related(body), 1)
#define UNRELATED(body) assert_int_equal(is_inside_related(body), 0)

static void what_is_less_than_something_below_a_length(void **state) {
    (void)state;
    INSIDE("for i in k .. min(m, len(x)) { x[i] = k }");
    INSIDE("let end = min(len(x), m)\n for i in k .. end { z[i] = k }");
    INSIDE("for i in k .. min(m, len(x)) { w[i] = k }");
    INSIDE("if k < min(m / 4, min(len(r), len(x))) { x[k] = k }");
    INSIDE("if k < len(x) && m < k { x[m] = k }");
    INSIDE("if k < len(x) && m < k { x[m + 1] = k }");
    INSIDE("if k < len(x) && m <= k { x[m] = k }");
    INSIDE("if len(x) >= 5 { x[min(k, len(x) - 5) + 4] = k }");
    INSIDE("if len(x) < 5 { return }\n let last = len(x) - 5\n let i = min(k / 4, last)\n x[i + 4] = k");
    INSIDE("if len(x) > 0 { x[len(x) - 1] = k }");
    INSIDE("if len(x) > 0 { if k <= len(x) - 1 { x[k] = k } }");

    UNKNOWN("for i in k .. max(m, len(x)) { x[i] = k }");
    UNKNOWN("for i in k .. min(m, len(r)) { x[i] = k }");
    UNKNOWN("for i in k .. min(m, len(x)) { x[i + 1] = k }");
    UNKNOWN("if k <= min(m, len(x)) { x[k] = k }");
    UNKNOWN("if k < len(x) && m <= k { x[m + 1] = k }");
    UNKNOWN("if len(x) >= 4 { x[min(k, len(x) - 5) + 4] = k }"); /* wraps */
    UNKNOWN("if len(x) >= 5 { x[min(k, len(x) - 5) + 5] = k }");
    UNKNOWN("x[len(x) - 1] = k");
    UNKNOWN("var v = k\n if k < len(x) && v < k { v = v + 2\n x[v] = k }");
    INSIDE("var v = k\n if k < len(x) && v < k { v = v + 1\n x[v] = k }");
    UNKNOWN("var v = m\n while k < v { v = v + 1\n x[k] = k }");
}

static void counts_that_hang_together(void **state) {
    (void)state;
    RELATED("known[k % 18] = 1");
    UNRELATED("known[k % 19] = 1");
    RELATED("if k < len(less) { x[k + 1] = 1 }");
    UNRELATED("if k < len(less) { x[k + 2] = 1 }");
    RELATED("if k < len(less) { also[k] = 1 }");
    UNRELATED("if k < len(x) { less[k] = 1 }");
    RELATED("if k < len(x) { more[k + 2] = 1 }");
    UNRELATED("if k < len(x) { more[k + 3] = 1 }");
    UNRELATED("if k < len(more) { x[k] = 1 }");
    RELATED("if k < len(x) { three[3 * k + 2] = 1 }");
    RELATED("if k < len(x) { three[k * 3] = 1 }");
    RELATED("if k < len(x) { three[(k << 1) + 2] = 1 }");
    UNRELATED("if k < len(x) { three[3 * k + 3] = 1 }");
    UNRELATED("if k < len(x) { three[4 * k] = 1 }");
    UNRELATED("if k < len(three) { three[3 * k] = 1 }");
    RELATED("if k < len(less) { three[3 * k + 5] = 1 }");
    RELATED("if k < len(less) { four[(k << 2) + 3] = 1 }");
    UNRELATED("if k < len(x) { four[4 * k] = 1 }");
    UNRELATED("if k < len(less) { four[(k << 2) + 4] = 1 }");
    RELATED("let y = k / 7\n let v = k % 7\n if v < w && y < h { plate[y * w + v] = 1 }");
    RELATED("let y = k / 7\n let v = k % 7\n if v < w && y < h { plate[v + w * y] = 1 }");
    RELATED("let y = k / 7\n let v = k % 7\n if v < w && y < h { plate[v * h + y] = 1 }");
    UNRELATED("let y = k / 7\n let v = k % 7\n if v < w && y < h { plate[v * w + y] = 1 }");
    UNRELATED("let y = k / 7\n let v = k % 7\n if v < w && y < h { plate[y * w + v + 1] = 1 }");
    UNRELATED("let y = k / 7\n let v = k % 7\n if v < h && y < h { plate[y * w + v] = 1 }");
    UNRELATED("let y = k / 7\n let v = k % 7\n if v < w && y < w { plate[y * w + v] = 1 }");
    UNRELATED("let y = k / 7\n let v = k % 7\n if v < w && y <= h { plate[y * w + v] = 1 }");
    UNRELATED("let y = k / 7\n if y < h { plate[y * w] = 1 }"); /* of no columns */
}

static void builtins_sums_and_lets(void **state) {
    (void)state;
    INSIDE("if global_id.x < len(x) { x[global_id.x] = k }");
    UNKNOWN("if global_id.y < len(x) { x[global_id.x] = k }");
    INSIDE("if global_id.x >= len(x) { return }\n z[global_id.x] = k");
    INSIDE("if global_id.x + 1 < len(x) { x[global_id.x] = k }"); /* no invocation is number 2^32 - 1 */
    INSIDE("if global_id.x + 1 < len(x) { x[global_id.x + 1] = k }");
    UNKNOWN("if global_id.x + 1 < len(x) { x[global_id.x + 2] = k }");
    INSIDE("if 1 + global_id.x <= len(x) { x[global_id.x] = k }");
    UNKNOWN("if global_id.x + 1 <= len(x) { x[global_id.x + 1] = k }");
    UNKNOWN("if k + 1 < len(x) { x[k] = k }");                     /* k + 1 may be 0 */
    UNKNOWN("if global_id.x + 9 < len(x) { x[global_id.x] = k }"); /* wraps, at the end of the largest grid */
    INSIDE("if k < 9 && k + m % 4 < len(x) { x[k] = k }");
    UNKNOWN("if k < 9 && k + m % 4 < len(x) { x[k + 1] = k }");
    INSIDE("let i = global_id.x\n if i > 0 && i + 1 < len(x) { x[i - 1] = x[i + 1]\n x[i] = 1 }");
    INSIDE("let here = k < len(x)\n if here { x[k] = k }");
    INSIDE("let here = k < len(x)\n if !here { return }\n x[k] = k");
    INSIDE("let here = k < len(x) && m > 3\n let there = here && k < 16\n if there { x[k] = a[k]\n a[k] = 1 }");
    UNKNOWN("let here = k < len(x) || m > 3\n if here { x[k] = k }");
    UNKNOWN("var i = k\n let here = i < len(x)\n i = m\n if here { x[i] = k }");
    UNKNOWN("let i = r[k]\n let here = r[k] < len(x)\n if here { x[r[k]] = k }");
    INSIDE("let half = k / 2\n if k < len(x) { x[half] = k }");
    UNKNOWN("let twice = k * 2\n if k < len(x) { x[twice] = k }");
    INSIDE("let next = k & 0xff\n let after = next + 1\n if after < len(x) { x[next] = k }");
    UNKNOWN("let after = k + 1\n if after < len(x) { x[k] = k }");
}

static void lengths_that_are_not_zero(void **state) {
    (void)state;
    UNKNOWN("x[k % len(x)] = k"); /* of none */
    INSIDE("if len(x) > 0 { x[k % len(x)] = k }");
    INSIDE("if len(x) == 0 { return }\n z[k % len(z)] = k"); /* as long as x */
    UNKNOWN("if len(r) > 0 { x[k % len(x)] = k }");
    UNKNOWN("if len(x) >= 0 { x[k % len(x)] = k }");
    UNKNOWN("if len(x) == 1 { return }\n x[k % len(x)] = k");
    INSIDE("let i = k & 15\n if i != 15 { a[i + 1] = k }");
    INSIDE("let i = k & 15\n if i != 0 { a[i - 1] = k }");
    UNKNOWN("let i = k & 15\n if i != 1 { a[i - 1] = k }");
    UNKNOWN("let i = k & 15\n if i != m % 2 { a[i - 1] = k }");
    INSIDE("let l = len(x)\n if l == 0 { return }\n x[k % l] = k");
    INSIDE("if k < len(x) { x[(k + 1) % len(x)] = k }");
    INSIDE("if m > 3 { w[k % m] = k }");
    UNKNOWN("if m > 3 { x[k % m] = k }");
    INSIDE("if len(x) > 7 { x[local_id.x & 7] = k }");
    UNKNOWN("if len(x) > 6 { x[local_id.x & 7] = k }");
    UNKNOWN("if len(r) > 7 { x[local_id.x & 7] = k }");
    INSIDE("if 8 <= len(w) { w[k % 8] = k }");
    UNKNOWN("if 8 <= len(w) { w[k % 9] = k }");
}

static void variables_that_only_shrink(void **state) {
    (void)state;
    INSIDE("var s = 8u32\n while s > 0 { if local_id.x < s { a[local_id.x + s] = k }\n s = s / 2 }");
    INSIDE("var s = 8u32\n while s > 0 { if local_id.x < s { a[local_id.x + s] = k }\n s = s >> 1 }");
    INSIDE("var s = 15u32\n while s > m { s = s & k\n a[s] = 1 }");
    INSIDE("var s = 15i32\n for i in 0u32 .. k { s = s / 3 }\n a[s] = 1");
    UNKNOWN("var s = 16u32\n while s > 0 { a[s] = 1\n s = s / 2 }");
    UNKNOWN("var s = -9i32\n for i in 0u32 .. k { s = s / 3\n a[s] = 1 }");
    UNKNOWN("var s = -9i32\n for i in 0u32 .. k { s = s & 15 }\n a[s] = 1");
    UNKNOWN("var s = 8u32\n while s > 0 { a[s] = 1\n s = s / 2\n if k > 3 { s = k } }");
    UNKNOWN("var s = 8u32\n while s > 0 { a[s] = 1\n s = s - 1 }\n a[s] = 1\n s = s + k\n a[s] = 1");
    UNKNOWN("var s = 8u32\n while s != 1 { a[s] = 1\n s = s / m }"); /* by 0 */
    UNKNOWN("var s = 8i32\n while s != 1 { a[s] = 1\n s = s / -2 }");
    UNKNOWN("var s = 8u32\n while s != 1 { a[s] = 1\n s = k / 2 }");
    UNKNOWN("var s = k\n while s != 1 { a[s] = 1\n s = s / 2 }");
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
    printf("%llu claims about accesses, %llu about values, %llu about floats\n", (unsigned long long)c.accesses,
           (unsigned long long)c.values, (unsigned long long)c.floats);
    assert_true(c.accesses > count && c.values > count && c.floats > count / 10);
}

/* ---- floats ---- */

/* Whether the f32 or f64 that is stored last is no NaN for certain. */
static int is_number(const char *value) {
    char text[1024];
    snprintf(text, sizeof text,
             "program p {\n param a : f32\n param d : f64\n param k : u32\n param n : u64\n buffer x : f32 read\n"
             " buffer z : f64 write count 1\n workgroup 1\n grid 1\n"
             " const T : f32 [2] = [1.0, -2.0]\n const U : f32 [2] = [f32.nan, 1.0]\n"
             " let c = a < 100.0 ? a : 100.0\n let b = c > -8.0 ? c : -8.0\n z[0] = f64(%s)\n}\n",
             value);
    vyre_program *program = vy_test_parse(text);
    vy_ranges *ranges;
    vyre_error error;
    int known = -1;
    assert_int_equal(vy_ranges_make(program, &ranges, &error), VYRE_OK);
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_STORE)
            known = vy_float_is_known(vy_range_of(ranges, program->stmts.items[i].b));
    vy_ranges_free(ranges);
    vyre_program_release(program);
    return known;
}

#define NUMBER(value) assert_int_equal(is_number(value), 1)
#define MAY_BE_NAN(value) assert_int_equal(is_number(value), 0)

static void numbers(void **state) {
    (void)state;
    NUMBER("1.5f32");
    MAY_BE_NAN("f32.nan");
    NUMBER("f32.inf");
    MAY_BE_NAN("a");
    MAY_BE_NAN("x[0]");
    NUMBER("c"); /* minus infinity, perhaps */
    NUMBER("b");
    MAY_BE_NAN("c - c");
    NUMBER("b - b");
    MAY_BE_NAN("c * 0.0");
    NUMBER("fma(b, b, c > 0.0 ? c : 0.0f32)");
    MAY_BE_NAN("fma(b, b, c)"); /* of finite operands only */
    MAY_BE_NAN("a > 100.0 ? 100.0f32 : a");
    NUMBER("100.0 > a ? a : 100.0f32");
    MAY_BE_NAN("a != 3.0 ? a : 3.0f32");
    NUMBER("a == 3.0 ? a : 3.0f32");
    NUMBER("b / (b + 9.0)");
    MAY_BE_NAN("b / (b + 8.0)"); /* 0 / 0 */
    NUMBER("abs(-b)");
    NUMBER("f32(k)");
    NUMBER("f64(n) * f64(n)");
    MAY_BE_NAN("f32(f64(k) * 0x1p120) - f32(f64(k) * 0x1p120)"); /* infinity of f32 */
    NUMBER("f64(k) * 0x1p120 - f64(k) * 0x1p120");
    MAY_BE_NAN("bitcast<f32>(k)");
    NUMBER("bitcast<f32>(k >> 2)");
    MAY_BE_NAN("bitcast<f32>(k >> 1)");
    NUMBER("bitcast<f32>((k & 0x7fffff) + 0x3f2aaaab) - 1.0");
    NUMBER("bitcast<f64>((n & 0x3ff) << 52)");
    MAY_BE_NAN("bitcast<f64>((n & 0x7ff) << 52) * 0.0");
    MAY_BE_NAN("sqrt(b)");
    NUMBER("fma(b, T[k & 1], T[k])");
    MAY_BE_NAN("1.0 / T[k]"); /* 0 outside */
    MAY_BE_NAN("U[k]");
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
    vyre_program *program = vy_test_parse(
        "program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n var v = 3u32\n for i in 0u32 .. len(x) "
        "{ if i < 5 { v = v + x[i] } else { x[i] = v } } }\n");
    assert_true(VY_FAULT_LOOP(make_and_free, program) >= 3);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(indices_into_arrays),
        cmocka_unit_test(bounds_of_loops_and_conditions),
        cmocka_unit_test(lengths_only_the_dispatch_knows),
        cmocka_unit_test(distances_to_lengths),
        cmocka_unit_test(what_is_less_than_something_below_a_length),
        cmocka_unit_test(counts_that_hang_together),
        cmocka_unit_test(builtins_sums_and_lets),
        cmocka_unit_test(lengths_that_are_not_zero),
        cmocka_unit_test(variables_that_only_shrink),
        cmocka_unit_test(claims_about_random_programs_hold),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
