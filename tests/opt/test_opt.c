/* The optimiser, pass by pass: small programs as text, and what becomes of them. */
#include "support/fault.h"
#include "support/test.h"

#include "opt/pass_manager.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

/* ---- programs as text ---- */

static const char head[] = "program p {\n param k : u32\n param f : f32\n buffer x : u32 read_write count 64\n"
                           " buffer y : f32 read_write count 64\n buffer r : u32 read count 64\n workgroup 4\n grid 1\n"
                           " array a : u32 [8] private\n array t : u32 [8] workgroup\n";

static vyre_program *program_of(const char *body) {
    char text[8192];
    snprintf(text, sizeof text, "%s%s\n}\n", head, body);
    return vy_test_parse(text);
}

/* The program after the passes, given by name. */
static vyre_program *optimized(vyre_program *program, const char *names) {
    vyre_pass passes[16];
    size_t count = 0;
    for (const char *at = names; *at; at += strcspn(at, " "), at += strspn(at, " "))
        passes[count++] = vyre_pass_find(at, strcspn(at, " "));
    vyre_optimize_options options = {.passes = passes, .pass_count = count};
    vyre_program *out;
    vyre_optimize_report report;
    vyre_error error;
    if (vyre_program_optimize(program, &options, &out, &report, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return out;
}

/* The body becomes the other one. Declarations are the same in both. */
static void expect(const char *body, const char *names, const char *wanted) {
    vyre_program *program = program_of(body), *goal = program_of(wanted), *made = optimized(program, names);
    vyre_bytes text = {0};
    vyre_error error;
    assert_int_equal(vyre_text_print(made, &text, &error), VYRE_OK);
    if (!vyre_program_equal(made, goal))
        fail_msg("%s: `%s` becomes\n%.*s", names, body, (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
    vyre_program_release(program);
    vyre_program_release(goal);
    vyre_program_release(made);
}

static void expect_same(const char *body, const char *names) {
    vyre_program *program = program_of(body), *made = optimized(program, names);
    assert_ptr_equal(program, made);
    vyre_program_release(program);
    vyre_program_release(made);
}

#define KEEP " x[local_index] = a[k] + t[k]\n" /* so that declarations stay */

/* ---- const-fold ---- */

static void literals_are_computed(void **state) {
    (void)state;
    expect("x[0 + k] = (3u32 + 4) * 5", "const-fold", "x[0 + k] = 35u32");
    expect("let n = 6u32\n x[k] = n / 0", "const-fold", "let n = 6u32\n x[k] = 4294967295u32");
    expect("x[k] = true ? k : 7u32", "const-fold", "x[k] = k");
    expect("y[k] = 0.0 / 0.0", "const-fold", "y[k] = f32.nan");
}

static void known_lengths_and_sizes_are_literals(void **state) {
    (void)state;
    expect("x[k] = len(x) + len(a) + workgroup_size.x + workgroup_size.y + local_id.y", "const-fold", "x[k] = 77u32");
}

static void a_load_beyond_the_end_is_zero(void **state) {
    (void)state;
    expect("x[k] = a[8] + x[-1i32]", "const-fold", "x[k] = 0u32");
    expect_same("x[k] = a[7] + k", "const-fold");
}

/* ---- instcombine ---- */

static void identities_go(void **state) {
    (void)state;
    expect("x[k] = (k + 0) * 1", "instcombine", "x[k] = k");
    expect("x[k] = 0 + k", "instcombine", "x[k] = k");
    expect("x[k] = k ^ k", "instcombine", "x[k] = 0u32");
    expect("x[k] = r[k] - r[k]", "instcombine", "x[k] = 0u32");
    expect("x[k] = (k << 3) << 4", "instcombine", "x[k] = k << 7");
    expect("x[k] = ~(~k)", "instcombine", "x[k] = k");
    expect("if !(k < 3) { x[k] = 1u32 }", "instcombine", "if k >= 3 { x[k] = 1u32 }");
    expect("x[k] = bitcast<u32>(bitcast<i32>(k))", "instcombine", "x[k] = k");
    expect("y[k] = fma(f, 1.0, y[k])", "instcombine", "y[k] = f + y[k]");
}

/* What the original's optimiser got wrong. */
static void two_shifts_beyond_the_width_leave_nothing(void **state) {
    (void)state;
    expect("x[k] = (k << 20) << 20", "instcombine", "x[k] = 0u32");
    expect("x[k] = (k >> 20) >> 20", "instcombine", "x[k] = 0u32");
    expect("x[k] = bitcast<u32>((bitcast<i32>(k) >> 20) >> 20)", "instcombine",
           "x[k] = bitcast<u32>(bitcast<i32>(k) >> 31)");
}

static void a_value_over_itself_is_not_one(void **state) {
    (void)state;
    expect_same("x[k] = k / k", "instcombine"); /* 0 / 0 is all ones */
    expect_same("y[k] = f / f", "instcombine");
    expect_same("y[k] = f - f", "instcombine");
    expect("x[k] = k % k", "instcombine", "x[k] = 0u32"); /* 0 % 0 is 0 */
}

static void differences_keep_the_type_of_their_operands(void **state) {
    (void)state;
    expect("x[k] = u32(i8(k) - i8(k))", "instcombine", "x[k] = u32(0i8)");
    expect("x[k] = u32(i64(k) ^ i64(k))", "instcombine", "x[k] = u32(0i64)");
}

static void nan_does_not_equal_itself(void **state) {
    (void)state;
    expect_same("if f == f { x[k] = 1u32 }", "instcombine");
    expect_same("if f != f { x[k] = 1u32 }", "instcombine");
    expect_same("if f <= f { x[k] = 1u32 }", "instcombine");
    expect_same("if !(f < 1.0) { x[k] = 1u32 }", "instcombine");
}

static void rounding_and_zeros_of_floats_are_kept(void **state) {
    (void)state;
    expect_same("y[k] = f * f + f", "instcombine"); /* no contraction */
    expect_same("y[k] = 1.0 / sqrt(f)", "instcombine");
    expect_same("y[k] = f + 0.0", "instcombine"); /* -0 + 0 is 0 */
    expect_same("y[k] = f * 0.0", "instcombine");
    expect("y[k] = f - 0.0", "instcombine", "y[k] = f");
    expect("y[k] = f + -0.0", "instcombine", "y[k] = f");
}

static void minus_one_times_is_a_negation_of_any_integer(void **state) {
    (void)state;
    expect("x[k] = u32(i32(k) * -1)", "instcombine", "x[k] = u32(-i32(k))");
}

/* ---- simplify-cfg ---- */

static void known_branches_are_taken(void **state) {
    (void)state;
    expect("if true { x[k] = 1u32 } else { x[k] = 2u32 }", "simplify-cfg", "x[k] = 1u32");
    expect("if false { x[k] = 1u32 } else { x[k] = 2u32 }", "simplify-cfg", "x[k] = 2u32");
    expect("if false { x[k] = 1u32 }\n x[0 + k] = k", "simplify-cfg", "x[0 + k] = k");
    expect("while false { x[k] = 1u32 }", "simplify-cfg", "");
    expect("for i in 3u32 .. 3 { x[i] = 1u32 }", "simplify-cfg", "");
    expect("for i in 3i32 .. 5 step 0 { x[i] = 1u32 }", "simplify-cfg", "");
    expect("for i in 3i32 .. 5 step -1 { x[i] = 1u32 }", "simplify-cfg", "");
    expect_same("for i in 5i32 .. 3 step -1 { x[i] = 1u32 }", "simplify-cfg");
    expect("if k < 3 { }\n x[k] = k", "simplify-cfg", "x[k] = k");
}

static void names_of_spliced_branches_do_not_collide(void **state) {
    (void)state;
    expect("if true { let v = k + 1\n x[v] = v }\n if true { let v = k + 2\n x[v] = v }\n let v = k + 3\n x[v] = v",
           "simplify-cfg",
           "let v = k + 1\n x[v] = v\n let v_2 = k + 2\n x[v_2] = v_2\n let v_3 = k + 3\n x[v_3] = v_3");
}

static void what_follows_a_jump_goes(void **state) {
    (void)state;
    expect("if true { x[k] = 1u32\n return }\n x[k] = 2u32", "simplify-cfg", "x[k] = 1u32\n return");
    expect("while k < 3 { if true { break }\n x[k] = 2u32 }", "simplify-cfg", "while k < 3 { break }");
    expect("if k == 1 { trap 3\n x[k] = 2u32 }", "simplify-cfg", "if k == 1 { trap 3 }");
}

static void an_endless_loop_stays(void **state) {
    (void)state;
    expect_same(KEEP "while true { }", "simplify-cfg dce");
}

/* ---- dce ---- */

static void what_nobody_uses_goes(void **state) {
    (void)state;
    expect("let v = k + 1\n var w = v\n w = w + 1\n" KEEP, "dce", KEEP);
    expect("for i in 0u32 .. k { var w = i\n w = w + 1\n if w == 3 { break } }\n" KEEP, "dce", KEEP);
    expect("if k == 2 { let v = k }\n" KEEP, "dce", KEEP);
}

static void stores_to_arrays_that_nobody_reads_go(void **state) {
    (void)state;
    vyre_program *program = program_of("a[k] = 3u32\n t[local_index] = 4u32\n x[k] = k");
    vyre_program *made = optimized(program, "dce");
    assert_int_equal(made->stmts.count, 1);
    assert_int_equal(made->memories.count, 3);
    vyre_program_release(program);
    vyre_program_release(made);
}

static void effects_stay(void **state) {
    (void)state;
    expect_same("if k == 3 { trap 4 }\n barrier\n print \"{}\", k\n while k < 3 { }\n atomic_add(x[k], 1)\n" KEEP,
                "dce");
    expect_same("trap 9\n let s = workgroup_reduce_add(k)\n" KEEP, "dce"); /* the workgroup ends there */
    expect("let s = workgroup_reduce_add(k)\n" KEEP, "dce", KEEP);
    expect_same("var i = 0u32\n while i < k { if i == 4 { break }\n i = i + 1 }\n" KEEP, "dce");
    expect_same("for i in 0u32 .. k { if i == 4 { return } }\n" KEEP, "dce");
}

static void jumps_of_loops_that_stay_stay(void **state) {
    (void)state;
    expect_same("for i in 0u32 .. k { if i == 4 { break }\n if i == 2 { continue }\n x[i] = 3u32 }\n" KEEP, "dce");
}

#define GOES(body, rest) expect(body "\n" KEEP, "dce", rest "\n" KEEP)
#define STAYS(body) expect_same(body "\n" KEEP, "dce")

static void what_is_overwritten_goes(void **state) {
    (void)state;
    GOES("var v = k\n v = k + 1\n v = k + 2\n x[v] = v\n v = 3", "var v = 0u32\n v = k + 2\n x[v] = v");
    GOES("var v = k\n if k == 1 { v = 3 } else { v = 4 }\n x[v] = v",
         "var v = 0u32\n if k == 1 { v = 3 } else { v = 4 }\n x[v] = v");
    GOES("for i in 0u32 .. k { var v = 1u32\n v = i * 2\n x[v] = i\n v = 7 }",
         "for i in 0u32 .. k { var v = 1u32\n v = i * 2\n x[v] = i }");
    GOES("x[k + 1] = 7\n y[k] = f\n x[k + 1] = 8", "y[k] = f\n x[k + 1] = 8");
    GOES("a[k] = 7\n barrier\n a[k] = 8\n x[k] = a[3]", "barrier\n a[k] = 8\n x[k] = a[3]");
    GOES("t[k] = 7\n if k == 4 { t[k] = 8 }\n t[k] = 9\n barrier", "t[k] = 9\n barrier");
    expect(KEEP " a[2] = 9\n t[k] = 5", "dce", KEEP); /* nobody reads them any more */
    expect_same(KEEP " t[k] = 5\n barrier\n", "dce");
}

static void what_may_be_read_is_not_overwritten(void **state) {
    (void)state;
    STAYS("var v = k\n if k == 1 { v = 3 }\n x[v] = v");
    STAYS("var v = k\n for i in 0u32 .. k { x[i] = v\n v = i }");
    STAYS("var v = k\n for i in 0u32 .. k { v = i }\n x[v] = k");
    STAYS("var v = k\n for i in 0u32 .. k { v = i\n if r[i] == 3 { break }\n v = 5 }\n x[v] = k");
    STAYS("var v = 0u32\n while v < k { v = v + 1 }");
    STAYS("x[k] = 7\n x[k + 1] = 8");
    STAYS("x[k] = 7\n y[k] = f32(x[k + 3])\n x[k] = 8");
    STAYS("x[k] = 7\n x[k] = x[k] + 1");
    STAYS("x[k] = 7\n barrier\n x[k] = 8");
    STAYS("x[k] = 7\n if k == 3 { return }\n x[k] = 8");
    STAYS("x[k] = 7\n if k == 3 { trap 1 }\n x[k] = 8");
    STAYS("x[k] = 7\n atomic_add(x[k + 3], 1)\n x[k] = 8");
    STAYS("x[k] = 7\n let q = atomic_add<acq_rel>(t[3], 1)\n x[k] = q");
    STAYS("x[k] = 7\n let q = workgroup_reduce_add(k)\n x[k] = q");
    STAYS("x[r[k]] = 7\n x[r[k]] = 8"); /* `gvn` makes one index of it */
    STAYS("var v = 0u32\n while v < k { x[v] = 7\n v = v + 1\n x[v] = 8 }");
    STAYS("x[k] = 7\n for i in 0u32 .. k { x[k] = i }");
    STAYS("a[2] = 7\n for i in 0u32 .. k { x[i] = a[i]\n a[2] = i }");
    STAYS("for i in 0u32 .. k { if r[i] == 3 { return }\n x[k] = i }\n x[k] = 8"); /* the next trip may be the end */
    STAYS("for i in 0u32 .. k { if r[i] == 3 { trap 1 }\n x[k] = i }\n x[k] = 8");
}

/* ---- gvn ---- */

static void common_subexpressions_are_computed_once(void **state) {
    (void)state;
    expect("x[k] = (k + 3) * (3 + k)\n" KEEP, "gvn", "let t1 = k + 3\n x[k] = t1 * t1\n" KEEP);
    expect("let v = k * 5\n x[v] = k * 5 + 1\n" KEEP, "gvn", "let v = k * 5\n x[v] = v + 1\n" KEEP);
    expect_same("if k == 1 { x[k] = k * 5 } else { x[k] = k * 5 }\n" KEEP, "gvn"); /* neither comes first */
    expect("if k * 5 == 1 { x[k] = k * 5 }\n" KEEP, "gvn", "let t1 = k * 5\n if t1 == 1 { x[k] = t1 }\n" KEEP);
}

static void copies_and_literals_travel_through_variables(void **state) {
    (void)state;
    expect("var v = k\n v = v + 1\n x[v] = v\n v = 3\n x[k] = v + 1", "gvn",
           "var v = k\n v = k + 1\n x[v] = v\n v = 3\n x[k] = 4u32");
    expect("var v = 3u32\n if k == 1 { v = 4 }\n x[k] = v", "gvn", "var v = 3u32\n if k == 1 { v = 4 }\n x[k] = v");
    expect("var v = k * 5\n x[v] = k * 5", "gvn", "var v = k * 5\n x[v] = v"); /* never assigned */
    expect_same("var v = 3u32\n while v < k { v = v * 2 }\n x[k] = v", "gvn");
    expect_same("var v = 3u32\n for i in 0u32 .. k { x[i] = v\n v = i }", "gvn");
}

static void a_load_gives_what_was_stored(void **state) {
    (void)state;
    expect("a[3] = k * 5\n x[k] = a[3]\n" KEEP, "gvn", "let t1 = k * 5\n a[3] = t1\n x[k] = t1\n" KEEP);
    expect("a[3] = 7\n x[k] = a[3]\n" KEEP, "gvn", "a[3] = 7\n x[k] = 7u32\n" KEEP);
    expect("t[local_index] = k * 5\n y[k] = f32(t[local_index])", "gvn",
           "let t1 = k * 5\n t[local_index] = t1\n y[k] = f32(t1)");
    expect("if k < len(x) { x[k] = 7\n y[k] = f32(x[k]) }", "gvn", "if k < len(x) { x[k] = 7\n y[k] = 7.0 }");
    expect_same("t[local_index] = k\n barrier\n y[k] = f32(t[local_index])", "gvn"); /* others may have written */
    expect_same("a[8] = 7\n x[k] = a[8]\n" KEEP, "gvn");                             /* dropped, and zero */
    expect_same("a[k] = 7\n x[k] = a[k] + t[k]", "gvn");                             /* may be outside */
    expect_same("a[3] = 7\n a[k] = 8\n x[k] = a[3]\n" KEEP, "gvn");
    expect_same("a[3] = 7\n if k == 2 { a[3] = 8 }\n x[k] = a[3]\n" KEEP, "gvn");
}

static void loads_are_merged_only_while_nobody_can_write(void **state) {
    (void)state;
    expect("x[k] = r[k]\n barrier\n x[k + 1] = r[k]\n" KEEP, "gvn",
           "let t1 = r[k]\n x[k] = t1\n barrier\n x[k + 1] = t1\n" KEEP);
    expect_same("let v = x[k]\n x[k + 1] = v\n let w = x[k]\n x[v] = w", "gvn");
    expect_same("let v = t[k]\n barrier\n let w = t[k]\n x[v] = w", "gvn");
    expect_same("let v = t[k]\n let s = workgroup_reduce_add(k)\n let w = t[k]\n x[v] = w + s", "gvn");
    expect_same("let v = x[k]\n atomic_add(x[3], 1)\n let w = x[k]\n x[v] = w", "gvn");
    expect_same("let v = x[k]\n let q = atomic_load<acquire>(t[3])\n let w = x[k]\n x[v] = w + q\n" KEEP, "gvn");
    expect("let v = x[k]\n let q = atomic_load<relaxed>(t[3])\n let w = x[k]\n x[v] = w + q\n" KEEP, "gvn dce",
           "let v = x[k]\n let q = atomic_load<relaxed>(t[3])\n x[v] = v + q\n" KEEP);
}

/* ---- range ---- */

static void what_ranges_decide_is_decided(void **state) {
    (void)state;
    expect("for i in 0u32 .. 16 { if i < 16 { a[i & 15] = i % 20 } }\n" KEEP, "range",
           "for i in 0u32 .. 16 { if true { a[i] = i } }\n" KEEP);
    expect("for i in 0u32 .. k { if i < k { x[i] = min(k & 7, 9) } }", "range",
           "for i in 0u32 .. k { if true { x[i] = k & 7 } }");
    expect("if k == 3 { x[k] = k + 1 }", "range", "if k == 3 { x[3u32] = 4u32 }");
    expect_same("for i in 0u32 .. k { if i < 16 { x[i] = i % 15 } }", "range");
    expect_same("for i in -3i32 .. 5 { if i < 4 { x[i] = u32(i & 7) } }",
                "range"); /* a mask changes a negative number */
}

/* ---- strength-reduce ---- */

static void divisions_become_multiplications_and_shifts(void **state) {
    (void)state;
    expect("x[k] = k * 8 + k / 4 + k % 16", "strength-reduce", "x[k] = (k << 3) + (k >> 2) + (k & 15)");
    expect("x[k] = k / 10", "strength-reduce", "x[k] = mul_high(k, 3435973837) >> 3");
    expect("x[k] = r[k] % 10", "strength-reduce", "let t1 = r[k]\n x[k] = t1 - (mul_high(t1, 3435973837) >> 3) * 10");
    expect("y[k] = f / 4.0", "strength-reduce", "y[k] = f * 0.25");
    expect_same("y[k] = f / 3.0", "strength-reduce");
    expect_same("x[k] = k / x[3 + k]", "strength-reduce");
    expect_same("while x[k] % 10 != 3 { }", "strength-reduce"); /* no `let` can stand there */
    expect("while x[k] / 8 != 3 { }", "strength-reduce", "while x[k] >> 3 != 3 { }");
}

/* ---- licm ---- */

static void what_a_loop_does_not_change_leaves_it(void **state) {
    (void)state;
    expect("for i in 0u32 .. k { x[i] = k * 5 + i }", "licm", "let t1 = k * 5\n for i in 0u32 .. k { x[i] = t1 + i }");
    expect("for i in 0u32 .. k { for j in i .. k { x[j] = (k * 5 + i) * j } }", "licm",
           "let t1 = k * 5\n for i in 0u32 .. k { let t2 = t1 + i\n for j in i .. k { x[j] = t2 * j } }");
    expect("for i in 0u32 .. 9u32 { x[i] = r[k] + r[i] }", "licm",
           "let t1 = r[k]\n for i in 0u32 .. 9u32 { x[i] = t1 + r[i] }");
    expect("var v = k\n while v < k * 3 { v = v + 1 }", "licm",
           "var v = k\n let t1 = k * 3\n while v < t1 { v = v + 1 }");
}

/* Otherwise an optimised program could race, or be out of bounds, where the program is not. */
static void a_load_leaves_a_loop_only_where_the_program_makes_it(void **state) {
    (void)state;
    expect("for i in 0u32 .. k { x[i] = r[k] + r[i] }", "licm",
           "let t1 = 0u32 < k ? r[k] : 0\n for i in 0u32 .. k { x[i] = t1 + r[i] }");
    expect("for i in k .. 3u32 step 2 { x[i] = r[k] * 2 }", "licm",
           "let t1 = k < 3u32 ? r[k] * 2 : 0\n for i in k .. 3u32 step 2 { x[i] = t1 }");
    expect("for i in i32(k) .. 3 step -2 { x[i] = r[k] }", "licm",
           "let t1 = i32(k) > 3 ? r[k] : 0\n for i in i32(k) .. 3 step -2 { x[i] = t1 }");
    expect("for i in 0u32 .. 9u32 step k { x[i] = r[k] + k * 5 }", "licm",
           "let t1 = k * 5\n for i in 0u32 .. 9u32 step k { x[i] = r[k] + t1 }"); /* k may be 0 */
    expect("for i in 0u32 .. k { for j in k .. 9u32 { x[j] = r[k] } }", "licm",
           "let t1 = 0u32 < k && k < 9u32 ? r[k] : 0\n for i in 0u32 .. k { for j in k .. 9u32 { x[j] = t1 } }");
    expect("for i in 0u32 .. k { for j in i .. 9u32 { x[j] = r[k] } }", "licm",
           "for i in 0u32 .. k { let t1 = i < 9u32 ? r[k] : 0\n for j in i .. 9u32 { x[j] = t1 } }");
    expect("var v = k\n while v < r[3] { v = v + r[k] }", "licm",
           "var v = k\n let t1 = r[3]\n let t2 = v < t1 ? r[k] : 0\n while v < t1 { v = v + t2 }");
    expect_same("for i in 0u32 .. 9u32 { x[i] = i > 2 ? r[k] : 1 }", "licm");
    expect_same("for i in 0u32 .. 9u32 { if i > 2 && r[k] == 7 { x[i] = 1 } }", "licm");
    expect("for i in 0u32 .. 9u32 { x[i] = k > 2 ? r[k] : 1 }", "licm",
           "let t1 = k > 2 ? r[k] : 1\n for i in 0u32 .. 9u32 { x[i] = t1 }");
    expect_same("for i in 0u32 .. 9u32 { if i > k { break }\n x[i] = r[k] }", "licm");
    expect_same("for i in 0u32 .. 9u32 { if i > k { continue }\n x[i] = r[k] }", "licm");
    expect_same("for i in 0u32 .. 9u32 { for j in 0u32 .. k { if j > 3 { return } }\n x[i] = r[k] }", "licm");
    expect("for i in 0u32 .. 9u32 { for j in 0u32 .. k { if j > 3 { break } }\n x[i] = r[k] }", "licm",
           "let t1 = r[k]\n for i in 0u32 .. 9u32 { for j in 0u32 .. k { if j > 3 { break } }\n x[i] = t1 }");
    expect("for i in 0u32 .. k { x[i] = a[3] }\n" KEEP, "licm",
           "let t1 = a[3]\n for i in 0u32 .. k { x[i] = t1 }\n" KEEP); /* private, and inside */
}

static void a_load_in_an_arm_is_not_made_for_those_that_do_not_take_it(void **state) {
    (void)state;
    expect_same("x[k] = (k > 2 ? r[k] : 1) + (k > 3 ? r[k] : 1)\n" KEEP, "gvn");
    expect_same("x[k] = k > 2 && r[k] == 7 ? 1u32 : k > 5 || r[k] == 7 ? 2u32 : 3u32\n" KEEP, "gvn");
    expect("x[k] = (k > 2 ? r[k] : 1) + r[k] + r[k]\n" KEEP, "gvn",
           "let t1 = r[k]\n x[k] = (k > 2 ? r[k] : 1) + t1 + t1\n" KEEP);
    expect("x[k] = (k > 2 ? r[k] : 1) + (k > 2 ? r[k] : 1)\n" KEEP, "gvn",
           "let t1 = k > 2 ? r[k] : 1\n x[k] = t1 + t1\n" KEEP);
}

static void what_a_loop_changes_stays(void **state) {
    (void)state;
    expect_same("var v = k\n for i in 0u32 .. k { x[i] = v * 5\n v = v + i }", "licm");
    expect_same("for i in 0u32 .. k { y[i] = y[k] }", "licm");
    expect_same("for i in 0u32 .. k { let s = x[k]\n barrier\n y[i] = f32(s) }", "licm");
    expect_same("for i in 0u32 .. k { if i == 3 { y[i] = f32(r[k]) } }", "licm"); /* a load for nothing */
    expect_same("for i in 0u32 .. k { atomic_add(t[3], 1)\n y[i] = f32(t[k]) }", "licm");
}

/* ---- unroll ---- */

static void short_loops_are_written_out(void **state) {
    (void)state;
    expect("for i in 0i32 .. 5 step 2 { let v = x[i]\n a[i] = v + 1 }", "unroll",
           "let v = x[0i32]\n a[0i32] = v + 1\n let v_2 = x[2i32]\n a[2i32] = v_2 + 1\n"
           "let v_3 = x[4i32]\n a[4i32] = v_3 + 1");
    expect("for i in 254u8 .. 255 { a[i] = k }", "unroll", "a[254u8] = k");
    expect("for i in 3i32 .. 1 step -1 { a[i] = k }", "unroll", "a[3i32] = k\n a[2i32] = k");
    expect("for i in 0u32 .. 3 { if i == k { return }\n a[i + k] = k }", "unroll",
           "if 0u32 == k { return }\n a[0u32 + k] = k\n if 1u32 == k { return }\n a[1u32 + k] = k\n"
           "if 2u32 == k { return }\n a[2u32 + k] = k");
    expect("for i in 0u32 .. 3 { a[i + k] = k\n return }\n a[k] = k", "unroll", "a[0u32 + k] = k\n return");
}

static void long_and_broken_loops_stay(void **state) {
    (void)state;
    expect_same("for i in 0u32 .. 17 { a[i] = k }", "unroll");
    expect_same("for i in 0u32 .. k { a[i] = k }", "unroll");
    expect_same("for i in 0u32 .. 3 { if i == k { break }\n a[i] = k }", "unroll");
    expect_same("for i in 0u32 .. 3 { if i == k { continue }\n a[i] = k }", "unroll");
}

/* ---- what the original's optimiser and backends lost ---- */

static void one_atomic_in_the_text_is_not_one_writer(void **state) {
    (void)state;
    expect_same("atomic_add(x[0], 1)", "const-fold instcombine simplify-cfg gvn strength-reduce licm unroll");
    expect_same("for i in 0u32 .. k { atomic_add(x[3], 1) }",
                "const-fold instcombine simplify-cfg gvn strength-reduce licm unroll");
}

static void early_returns_are_kept(void **state) {
    (void)state;
    expect_same("if k == 3 { return }\n x[k] = 1u32",
                "const-fold instcombine simplify-cfg gvn strength-reduce licm unroll");
    expect_same("for i in 0u32 .. k { if x[i] == 3 { return }\n x[i] = 1u32 }\n x[k] = 2u32",
                "const-fold instcombine simplify-cfg gvn strength-reduce licm unroll");
}

static void the_first_trip_is_a_whole_one(void **state) {
    (void)state;
    expect("for i in 0u32 .. 2 { if i == 0 { a[i] = k }\n a[i + 1] = k }\n x[k] = a[k]",
           "unroll const-fold simplify-cfg", "a[0] = k\n a[1] = k\n a[2] = k\n x[k] = a[k]");
}

static void a_store_beyond_the_end_changes_nothing(void **state) {
    (void)state;
    expect_same("a[0] = 7\n a[8] = 9\n x[k] = a[k]",
                "const-fold instcombine simplify-cfg gvn strength-reduce licm unroll");
}

/* ---- the driver of the passes ---- */

static void levels_and_passes_outside_the_list_are_refused(void **state) {
    (void)state;
    vyre_program *program = program_of("x[k] = k"), *out;
    vyre_error error;
    vyre_optimize_options options = {.level = VYRE_OPTIMIZE_LEVEL_MAX + 1};
    assert_int_equal(vyre_program_optimize(program, &options, &out, NULL, &error), VYRE_INVALID_ARGUMENT);
    assert_null(out);
    assert_string_not_equal(error.fix, "");
    options = (vyre_optimize_options){.passes = (vyre_pass[]){VYRE_PASS_COUNT}, .pass_count = 1};
    assert_int_equal(vyre_program_optimize(program, &options, &out, NULL, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_program_optimize(NULL, NULL, &out, NULL, &error), VYRE_INVALID_ARGUMENT);
    vyre_program_release(program);
}

static void names_of_passes_go_both_ways(void **state) {
    (void)state;
    for (unsigned i = 0; i < VYRE_PASS_COUNT; i++) {
        const char *name = vyre_pass_name((vyre_pass)i);
        assert_int_equal(vyre_pass_find(name, strlen(name)), i);
        assert_true(strlen(vyre_pass_doc((vyre_pass)i)) > 10);
    }
    assert_int_equal(vyre_pass_find("fol", 3), VYRE_PASS_COUNT);
    assert_null(vyre_pass_name(VYRE_PASS_COUNT));
    assert_null(vyre_pass_doc(VYRE_PASS_COUNT));
}

/* The index of every store turns out to be one element: an error of the program that was hidden. The pass does not make
 * it worse. */
static void a_race_that_comes_to_light_leaves_the_program_as_it_is(void **state) {
    (void)state;
    vyre_program *program = program_of("t[local_index & 0] = local_index\n" KEEP), *out;
    vyre_optimize_report report;
    vyre_error error;
    vyre_optimize_options options = {.passes = (vyre_pass[]){VYRE_PASS_INSTCOMBINE}, .pass_count = 1};
    assert_int_equal(vyre_program_optimize(program, &options, &out, &report, &error), VYRE_OK);
    assert_ptr_equal(out, program);
    assert_int_equal(report.passes[VYRE_PASS_INSTCOMBINE].refused, 1);
    vyre_program_release(out);
    vyre_program_release(program);
}

static void functions_of_a_library_are_optimised(void **state) {
    (void)state;
    vyre_module *module;
    vyre_error error;
    const char *text =
        "fn g(t: buffer [u32] read_write, v: u32) -> u32 {\n let z = v * 0\n if true { t[v + z] = 3u32 + 4\n }\n "
        "return v + 0 }\n";
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_program *made;
    vyre_optimize_report report;
    assert_int_equal(vyre_program_optimize(vyre_module_library(module), NULL, &made, &report, &error), VYRE_OK);
    assert_int_equal(made->stmts.count, 2); /* the store is an effect, the rest is gone */
    assert_true(report.rounds >= 2 && report.expressions_after < report.expressions_before);
    vyre_program_release(made);
    vyre_module_free(module);
}

/* A buffer that a function may only read is one that others may write. */
static void functions_do_not_know_who_writes_what_they_read(void **state) {
    (void)state;
    vyre_module *module;
    vyre_error error;
    const char *text = "fn g(t: buffer [u32] read) -> u32 {\n let a = t[0]\n barrier\n let b = t[0]\n return a + b }\n";
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_program *made;
    assert_int_equal(vyre_program_optimize(vyre_module_library(module), NULL, &made, NULL, &error), VYRE_OK);
    assert_ptr_equal(made, vyre_module_library(module));
    vyre_program_release(made);
    vyre_module_free(module);
}

static void a_tree_that_would_become_too_deep_stays(void **state) {
    (void)state;
    char body[4096] = "x[k] = k";
    for (unsigned i = 0; i < 500; i++)
        strcat(body, " / 10");
    vyre_program *program = program_of(body), *made;
    vyre_optimize_report report;
    vyre_error error;
    vyre_optimize_options options = {.passes = (vyre_pass[]){VYRE_PASS_STRENGTH_REDUCE}, .pass_count = 1};
    assert_int_equal(vyre_program_optimize(program, &options, &made, &report, &error), VYRE_OK);
    assert_int_equal(report.passes[VYRE_PASS_STRENGTH_REDUCE].refused, 0);
    assert_true(vyre_program_equal(program, made));
    vyre_program_release(made);
    vyre_program_release(program);
}

/* ---- memory ---- */

static const char everything[] = "fn step(u: buffer [u32] read_write, i: u32) -> u32 {\n array s : u32 [2] private\n "
                                 "s[1] = i\n if i == 0 { return 7 }\n"
                                 " return u[i] + s[1] }\n"
                                 "program p {\n param k : u32\n buffer x : u32 read_write count 64\n workgroup 4\n "
                                 "grid 1\n array a : u32 [8] private\n"
                                 " let two = 1u32 + 1\n let i = global_id.x * 1 + 0\n var s = step(x, i)\n a[two] = s "
                                 "* 3\n if two == 2 { let v = a[2] + a[two]\n s = v / 7 }\n"
                                 " for j in 0u32 .. 4 { s = s + k * 3 + r2(j)\n }\n if two == 3 { trap 3 }\n x[i] = s "
                                 "+ s % 8 + (s + 9) * (s + 9) }\n"
                                 "fn r2(v: u32) -> u32 { return v << 2 }\n";

static vyre_status optimize_all(void *user) {
    vyre_program *out;
    vyre_error error;
    vyre_optimize_options options = {.level = 2};
    vyre_status status = vyre_program_optimize(user, &options, &out, NULL, &error);
    vyre_program_release(out);
    return status;
}

static vyre_status run_each_pass(void *user) {
    vyre_status status = VYRE_OK;
    for (unsigned i = 0; i < VYRE_PASS_COUNT && status == VYRE_OK; i++) {
        vyre_program *out;
        vyre_error error;
        uint64_t changes;
        int refused;
        status = vy_pass_run((vyre_pass)i, user, &vy_opt_default, &out, &changes, &refused, &error);
        assert_int_equal(refused, 0);
        if (status == VYRE_OK)
            vyre_program_release(out);
    }
    return status;
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(everything), *flat;
    vyre_error error;
    vyre_digest before = program->fingerprint;
    assert_int_equal(vyre_program_inline(program, &flat, &error), VYRE_OK);
    assert_true(VY_FAULT_LOOP(optimize_all, program) > 100);
    assert_true(VY_FAULT_LOOP(run_each_pass, flat) > 100);
    assert_memory_equal(&before, &program->fingerprint, sizeof before);
    vyre_program_release(flat);
    vyre_program_release(program);
}

/* ---- size ---- */

static void time_is_linear(void **state) {
    (void)state;
    enum { STATEMENTS = 100000 };
    size_t size = 64 + STATEMENTS * 64, used = 0;
    char *text = malloc(size);
    used += (size_t)snprintf(text, size,
                             "program p {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n var s = 0u32\n");
    for (unsigned i = 0; i < STATEMENTS / 2; i++)
        used += (size_t)snprintf(text + used, size - used, "let v%u = x[s + %u] * 8 + 0\ns = v%u / 10 + s\n", i,
                                 i % 1000, i);
    used += (size_t)snprintf(text + used, size - used, "x[global_id.x] = s\n}\n");
    vyre_program *program = vy_test_parse(text), *out;
    vyre_optimize_report report;
    vyre_error error;
    vyre_optimize_options options = {.level = 2};
    assert_int_equal(vyre_program_optimize(program, &options, &out, &report, &error), VYRE_OK);
    for (unsigned i = 0; i < VYRE_PASS_COUNT; i++) {
        double each = report.passes[i].runs ? (double)report.passes[i].nanoseconds / report.passes[i].runs * 1e-9 : 0;
        printf("%s: %u runs, %.3f s each\n", vyre_pass_name((vyre_pass)i), report.passes[i].runs, each);
        assert_true(each < (VY_SANITIZED ? 20 : 5)); /* seconds on a busy machine; quadratic would be minutes */
    }
    vyre_program_release(out);
    vyre_program_release(program);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_are_computed),
        cmocka_unit_test(known_lengths_and_sizes_are_literals),
        cmocka_unit_test(a_load_beyond_the_end_is_zero),
        cmocka_unit_test(identities_go),
        cmocka_unit_test(two_shifts_beyond_the_width_leave_nothing),
        cmocka_unit_test(a_value_over_itself_is_not_one),
        cmocka_unit_test(differences_keep_the_type_of_their_operands),
        cmocka_unit_test(nan_does_not_equal_itself),
        cmocka_unit_test(rounding_and_zeros_of_floats_are_kept),
        cmocka_unit_test(minus_one_times_is_a_negation_of_any_integer),
        cmocka_unit_test(known_branches_are_taken),
        cmocka_unit_test(names_of_spliced_branches_do_not_collide),
        cmocka_unit_test(what_follows_a_jump_goes),
        cmocka_unit_test(an_endless_loop_stays),
        cmocka_unit_test(what_nobody_uses_goes),
        cmocka_unit_test(stores_to_arrays_that_nobody_reads_go),
        cmocka_unit_test(effects_stay),
        cmocka_unit_test(jumps_of_loops_that_stay_stay),
        cmocka_unit_test(what_is_overwritten_goes),
        cmocka_unit_test(what_may_be_read_is_not_overwritten),
        cmocka_unit_test(common_subexpressions_are_computed_once),
        cmocka_unit_test(copies_and_literals_travel_through_variables),
        cmocka_unit_test(a_load_gives_what_was_stored),
        cmocka_unit_test(loads_are_merged_only_while_nobody_can_write),
        cmocka_unit_test(what_ranges_decide_is_decided),
        cmocka_unit_test(divisions_become_multiplications_and_shifts),
        cmocka_unit_test(what_a_loop_does_not_change_leaves_it),
        cmocka_unit_test(a_load_leaves_a_loop_only_where_the_program_makes_it),
        cmocka_unit_test(a_load_in_an_arm_is_not_made_for_those_that_do_not_take_it),
        cmocka_unit_test(what_a_loop_changes_stays),
        cmocka_unit_test(short_loops_are_written_out),
        cmocka_unit_test(long_and_broken_loops_stay),
        cmocka_unit_test(one_atomic_in_the_text_is_not_one_writer),
        cmocka_unit_test(early_returns_are_kept),
        cmocka_unit_test(the_first_trip_is_a_whole_one),
        cmocka_unit_test(a_store_beyond_the_end_changes_nothing),
        cmocka_unit_test(levels_and_passes_outside_the_list_are_refused),
        cmocka_unit_test(names_of_passes_go_both_ways),
        cmocka_unit_test(a_race_that_comes_to_light_leaves_the_program_as_it_is),
        cmocka_unit_test(functions_of_a_library_are_optimised),
        cmocka_unit_test(a_tree_that_would_become_too_deep_stays),
        cmocka_unit_test(functions_do_not_know_who_writes_what_they_read),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
        cmocka_unit_test(time_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
