/* The compile pipeline: which passes run for a target, what a limit of the language does to them, and that emitted code
 * follows the target description. */
#include "support/test.h"

#include "base/cpu_features.h"
#include "compile/pipeline.h"
#include "emit/opencl/opencl.h"
#include "emit/ptx/ptx.h"
#include "ir/model.h"
#include "support/fault.h"
#include "vyre/dialect.h"
#include "vyre/text.h"

/* ---- what is run ---- */

enum { KINDS = 64 };

typedef struct steps {
    const char *names[KINDS]; /* in the order of the first run */
    unsigned runs[KINDS], kinds;
    uint32_t statements, expressions; /* after the last */
} steps;

static void record(void *user, const vy_compile_step *step, const vyre_program *after) {
    steps *s = user;
    unsigned i = 0;
    assert_int_equal(step->statements_after, after->stmts.count);
    assert_int_equal(step->expressions_after, after->exprs.count);
    while (i < s->kinds && strcmp(s->names[i], step->pass) != 0)
        i++;
    assert_true(i < KINDS);
    s->names[i] = step->pass;
    s->kinds += i == s->kinds;
    s->runs[i]++;
    s->statements = step->statements_after;
    s->expressions = step->expressions_after;
}

static unsigned runs_of(const steps *s, const char *pass) {
    for (unsigned i = 0; i < s->kinds; i++)
        if (strcmp(s->names[i], pass) == 0)
            return s->runs[i];
    return 0;
}

static vyre_program *compiled(vyre_program *program, const vy_target_desc *target, steps *seen,
                              vy_compile_report *report, vy_compiled *out) {
    vyre_error error = VYRE_ERROR_INIT;
    memset(seen, 0, sizeof *seen);
    *report = (vy_compile_report){.observe = record, .user = seen};
    if (vy_compile_pipeline(program, target, report, out, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(vyre_program_level(out->program), VYRE_LEVEL_LEGAL);
    assert_int_equal(seen->statements, out->program->stmts.count);
    assert_int_equal(seen->expressions, out->program->exprs.count);
    return out->program;
}

static vyre_program *stream(void) {
    return vy_test_parse("program p {\n buffer a : u32 read\n buffer b : u32 write count len(a)\n workgroup 256\n"
                         " grid over a\n let i = global_id.x\n if i < len(a) { b[i] = a[i] + 1 }\n}\n");
}

static void a_target_has_the_passes_of_its_description(void **state) {
    static const char *const always[] = {"inline",         "traps",    "collectives", "bounds-checks",
                                         "promote-narrow", "numerics", "verify"};
    static const struct {
        const char *pass;
        uint8_t runs[3]; /* cpu, ptx, c */
    } some[] = {{"coarsen", {0, 1, 0}},        {"const-fold", {1, 1, 0}},    {"unroll-late", {0, 1, 0}},
                {"unroll-arrays", {0, 1, 0}},  {"vectorize-mem", {0, 1, 0}}, {"zero-init", {1, 1, 1}},
                {"version-checks", {0, 0, 0}}, {"split-int64", {0, 0, 0}}};
    const vy_target_desc targets[] = {vy_cpu_target(vy_cpu_features(), 0), vy_ptx_target(90, 0), vy_c_target(0)};
    vyre_program *program = stream();
    (void)state;
    for (unsigned t = 0; t < 3; t++) {
        steps seen;
        vy_compile_report report;
        vy_compiled made;
        vyre_program_release(compiled(program, &targets[t], &seen, &report, &made));
        for (size_t i = 0; i < sizeof always / sizeof *always; i++)
            assert_int_equal(runs_of(&seen, always[i]), 1);
        for (size_t i = 0; i < sizeof some / sizeof *some; i++)
            if ((runs_of(&seen, some[i].pass) > 0) != some[i].runs[t])
                fail_msg("%s runs %u times for target %u", some[i].pass, runs_of(&seen, some[i].pass), t);
        assert_int_equal(report.resumed, 0);
        assert_null(report.off[0]);
        assert_int_equal(made.factor, t == 1 ? 4 : 1);
        assert_true((made.reason == NULL) == (made.factor > 1));
    }
    vyre_program_release(program);
}

static void every_pass_has_a_name_and_a_description(void **state) {
    unsigned count = 0;
    (void)state;
    for (; vy_compile_pass_name(count); count++)
        assert_true(strlen(vy_compile_pass_doc(count)) > 10);
    assert_true(count > 10);
    assert_null(vy_compile_pass_doc(count));
}

static void a_legal_program_is_kept(void **state) {
    const vy_target_desc target = vy_ptx_target(90, 0);
    vyre_program *program = stream(), *legal;
    vy_compiled made;
    (void)state;
    assert_int_equal(vy_legalize(program, &target, &legal, NULL), VYRE_OK);
    assert_int_equal(vy_compile_pipeline(legal, &target, NULL, &made, NULL), VYRE_OK);
    assert_ptr_equal(made.program, legal);
    assert_int_equal(made.factor, 1);
    vyre_program_release(made.program);
    vyre_program_release(legal);
    vyre_program_release(program);
}

/* ---- limits ---- */

/* A stream within `depth` blocks. */
static vyre_program *nested(unsigned depth) {
    static char text[1 << 14];
    size_t at =
        (size_t)snprintf(text, sizeof text,
                         "program p {\n param n : u32\n buffer a : u32 read\n buffer b : u32 write count len(a)\n"
                         " workgroup 256\n grid over a\n let i = global_id.x\n");
    for (unsigned k = 0; k < depth; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "if n > %u {\n", k);
    at += (size_t)snprintf(text + at, sizeof text - at, "b[i] = a[i] + 1\n");
    for (unsigned k = 0; k <= depth; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "}\n");
    return vy_test_parse(text);
}

static char *text_of(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    assert_int_equal(vyre_text_print(program, &text, NULL), VYRE_OK);
    char *copy = calloc(text.size + 1, 1);
    assert_non_null(copy);
    memcpy(copy, text.data, text.size);
    vyre_bytes_free(&text);
    return copy;
}

/* Coarsened, the program nests as deeply as the language allows, and a bounds check is one block too many. The passes
 * before coarsening do not run again, and the result is that of a target without coarsening. */
static void a_limit_switches_one_pass_off(void **state) {
    vy_target_desc target = vy_ptx_target(90, 0);
    steps seen, plain;
    vy_compile_report report;
    vy_compiled made, without;
    (void)state;
    target.coarsen = VY_COARSEN_IF_POSSIBLE;
    vyre_program *program = nested(VY_LIMIT_NESTING - 4);
    vyre_program_release(compiled(program, &target, &seen, &report, &made));
    assert_int_equal(made.factor, 4);
    assert_int_equal(report.resumed, 0);
    vyre_program_release(program);

    program = nested(VY_LIMIT_NESTING - 3);
    char *text = text_of(compiled(program, &target, &seen, &report, &made));
    assert_int_equal(made.factor, 1);
    assert_non_null(strstr(made.reason, "limit"));
    assert_int_equal(report.resumed, 1);
    assert_string_equal(report.off[0], "coarsen");
    assert_null(report.off[1]);
    assert_int_equal(runs_of(&seen, "inline"), 1);
    assert_int_equal(runs_of(&seen, "coarsen"), 1);
    target.coarsen = VY_COARSEN_NEVER;
    char *expected = text_of(compiled(program, &target, &plain, &report, &without));
    assert_string_equal(text, expected);
    assert_true(runs_of(&seen, "bounds-checks") == 1 && runs_of(&plain, "bounds-checks") == 1);
    free(text);
    free(expected);
    vyre_program_release(made.program);
    vyre_program_release(without.program);
    vyre_program_release(program);
}

static void a_limit_without_an_optional_pass_is_an_error(void **state) {
    const vy_target_desc target = vy_ptx_target(90, 0);
    vyre_program *program = nested(VY_LIMIT_NESTING);
    vyre_error error = VYRE_ERROR_INIT;
    vy_compile_report report = {0};
    vy_compiled made;
    (void)state;
    assert_int_equal(vy_compile_pipeline(program, &target, &report, &made, &error), VYRE_LIMIT);
    assert_null(made.program);
    assert_int_equal(report.resumed, 0);
    assert_non_null(strstr(error.message, "nested too deeply"));
    vyre_program_release(program);
}

static vyre_status resumes(void *program) {
    vy_target_desc target = vy_ptx_target(90, 0);
    vy_compiled made;
    target.coarsen = VY_COARSEN_IF_POSSIBLE;
    vyre_status status = vy_compile_pipeline(program, &target, NULL, &made, NULL);
    vyre_program_release(made.program);
    return status;
}

static void every_allocation_may_fail_after_a_limit_too(void **state) {
    vyre_program *program = nested(VY_LIMIT_NESTING - 3);
    (void)state;
    assert_true(VY_FAULT_LOOP_LENIENT(resumes, program) > 20);
    vyre_program_release(program);
}

/* ---- code and description ---- */

static char *ptx_of(vyre_program *program, const vy_target_desc *target) {
    vy_compiled made;
    vy_ptx_code code;
    assert_int_equal(vy_compile_pipeline(program, target, NULL, &made, NULL), VYRE_OK);
    const vy_ptx_options options = {.architecture = 90, .target = target};
    assert_int_equal(vy_ptx_emit(made.program, &options, &code, NULL), VYRE_OK);
    char *text = calloc(code.text.size + 1, 1);
    assert_non_null(text);
    memcpy(text, code.text.data, code.text.size);
    vy_ptx_free(&code);
    vyre_program_release(made.program);
    return text;
}

static void code_and_profile_follow_the_widest_access(void **state) {
    static const struct {
        uint32_t bytes;
        const char *load;
        int is_there;
    } rows[] = {{16, "v4.b32", 1}, {8, "v4.b32", 0}, {8, "v2.b32", 1}, {4, "v2.b32", 0}, {0, "v2.b32", 0}};
    vyre_program *program = stream();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vy_target_desc target = vy_ptx_target(90, 0);
        vyre_device_profile profile = {0};
        target.access_bytes = rows[i].bytes;
        vy_target_profile(&target, &profile);
        assert_int_equal(profile.ideal_vector_pack_bits, 8 * rows[i].bytes);
        char *text = ptx_of(program, &target);
        if ((strstr(text, rows[i].load) != NULL) != rows[i].is_there)
            fail_msg("%u bytes, %s:\n%s", rows[i].bytes, rows[i].load, text);
        free(text);
    }
    vyre_program_release(program);
}

static void the_profile_follows_the_numerics(void **state) {
    vy_target_desc target = vy_ptx_target(90, 0);
    vyre_device_profile profile = {0};
    (void)state;
    vy_target_profile(&target, &profile);
    assert_true(profile.supports_f64 && profile.has_subgroup_shuffle && profile.max_native_int_width == 64);
    target.exact = 0;
    target.subgroup_width = 0;
    vy_target_profile(&target, &profile);
    assert_true(!profile.supports_f64 && !profile.has_subgroup_shuffle && profile.max_native_int_width == 32);
}

static void the_code_follows_the_limits_of_unrolling(void **state) {
    vyre_program *program = vy_test_parse(
        "program p {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n var s = 1u32\n"
        " while s < 64 { x[i] = x[i] * s + x[(i + s) % len(x)]\n s = s * 2 }\n}\n");
    vy_target_desc target = vy_ptx_target(90, 0);
    (void)state;
    char *far = ptx_of(program, &target);
    target.unroll_late.trips = 0;
    char *near = ptx_of(program, &target);
    assert_true(strlen(far) > 2 * strlen(near));
    free(far);
    free(near);
    vyre_program_release(program);
}

static unsigned branches_in(const char *text) {
    unsigned count = 0;
    while ((text = strstr(text, "bra")) != NULL)
        count++, text += 3;
    return count;
}

static void the_code_follows_the_predication(void **state) {
    vyre_program *program =
        vy_test_parse("program p {\n buffer a : u32 read\n buffer b : u32 read_write\n workgroup 256\n grid over a\n"
                      " let i = global_id.x\n if i < len(a) && a[i] > 5 { b[i] = a[i] + b[i] }\n}\n");
    vy_target_desc target = vy_ptx_target(90, 0);
    (void)state;
    char *predicated = ptx_of(program, &target);
    target.predication = (vy_predication){0};
    char *branching = ptx_of(program, &target);
    assert_true(branches_in(predicated) < branches_in(branching));
    free(predicated);
    free(branching);
    vyre_program_release(program);
}

/* For each erratum a program whose code differs if it is avoided. */
static void the_code_follows_each_erratum_of_ptxas(void **state) {
    static const struct {
        uint32_t erratum;
        const char *body;
    } rows[] = {{VY_PTX_ERRATUM_NEGATED_EXTREMES, "let w = u[i]\n u[i] = min(min(w, -u[i + 1]), -u[i + 2])"},
                {VY_PTX_ERRATUM_NEGATIVE_ZERO, "x[i] = min(max(x[i], -0.0), 1.0)"},
                {VY_PTX_ERRATUM_BOUNDS, "x[i] = min(max(x[i], x[i + 1]), abs(x[i + 2]))"},
                {VY_PTX_ERRATUM_ABS, "u[i] = u32(abs(x[i]) < x[i + 1])"},
                {VY_PTX_ERRATUM_SUMS, "var s = 0.5f32\n if u[i] > 7 { s = -0.25 }\n x[i] = s + 1.5"},
                {VY_PTX_ERRATUM_HIGH_PRODUCTS, "v[i] = u64(mul_high(u[i], 5)) - v[i + 1]"},
                {VY_PTX_ERRATUM_FLAGS, "x[i] = bitcast<f32>(u32(x[i] < x[i + 1]))"},
                {VY_PTX_ERRATUM_TRIP_COUNTS, "var n = u[i]\n while n < u[i + 3] { x[n] = x[n] * 3.0\n n = n + 7 }"}};
    uint32_t all = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        vy_target_desc target = vy_ptx_target(90, 0);
        all |= rows[i].erratum;
        snprintf(text, sizeof text,
                 "program p {\n buffer x : f32 read_write\n buffer u : u32 read_write\n buffer v : u64 read_write\n"
                 " workgroup 64\n grid over x\n let i = global_id.x\n %s\n}\n",
                 rows[i].body);
        vyre_program *program = vy_test_parse(text);
        char *avoided = ptx_of(program, &target);
        target.errata &= ~rows[i].erratum;
        char *plain = ptx_of(program, &target);
        if (strcmp(avoided, plain) == 0)
            fail_msg("without erratum %#x the code is the same:\n%s", rows[i].erratum, plain);
        free(avoided);
        free(plain);
        vyre_program_release(program);
    }
    assert_int_equal(all, VY_PTX_ERRATA);
}

static vyre_program *resolved(const char *text) {
    vyre_program *program = vy_test_parse(text), *linked;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_int_equal(vyre_program_resolve(program, guard, NULL, &linked, NULL), VYRE_OK);
    vyre_dialects_release(&guard);
    vyre_program_release(program);
    return linked;
}

static void the_code_follows_the_variant_of_math(void **state) {
    vyre_program *program = resolved("program p {\n buffer x : f32 read_write\n workgroup 64\n grid over x\n"
                                     " x[global_id.x] = exp(x[global_id.x])\n}\n");
    vy_target_desc target = vy_ptx_target(90, 0);
    (void)state;
    char *with = ptx_of(program, &target);
    target.math = VY_MATH_WITHOUT_F64;
    char *without = ptx_of(program, &target);
    assert_true(strstr(with, ".f64") != NULL && strstr(without, ".f64") == NULL);
    free(with);
    free(without);
    vyre_program_release(program);
}

static vyre_status compiles_without_f64(void *program) {
    vy_target_desc target = vy_ptx_target(90, 0);
    vy_compiled made;
    target.math = VY_MATH_WITHOUT_F64;
    vyre_status status = vy_compile_pipeline(program, &target, NULL, &made, NULL);
    vyre_program_release(made.program);
    return status;
}

static void every_allocation_may_fail_while_a_variant_is_linked(void **state) {
    vyre_program *program = resolved("program p {\n buffer x : f32 read_write\n workgroup 64\n grid over x\n"
                                     " x[global_id.x] = exp(x[global_id.x])\n}\n");
    (void)state;
    assert_true(VY_FAULT_LOOP_LENIENT(compiles_without_f64, program) > 20);
    vyre_program_release(program);
}

static void architectures_with_slow_f64_avoid_it(void **state) {
    static const uint32_t fast[] = {0, 60, 70, 72, 80, 90, 100}, slow[] = {61, 62, 75, 86, 87, 89, 120};
    (void)state;
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
        assert_int_equal(vy_ptx_target(fast[i], 0).math, VY_MATH_WITH_TABLES);
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        assert_int_equal(vy_ptx_target(slow[i], 0).math, VY_MATH_WITHOUT_F64);
}

static void an_opencl_device_describes_its_f64_and_errata(void **state) {
    const vy_opencl_device without = {.exact = vy_opencl_assumed(0), .errata = VY_OPENCL_ERRATUM_POCL},
                           with = {.exact = vy_opencl_assumed(1)};
    (void)state;
    assert_int_equal(vy_opencl_target(&without, NULL, 0).math, VY_MATH_WITHOUT_F64);
    assert_int_equal(vy_opencl_target(&with, NULL, 0).math, VY_MATH_WITH_F64);
    assert_int_equal(vy_opencl_target(&without, NULL, 0).errata, VY_OPENCL_ERRATUM_POCL);
    assert_int_equal(vy_opencl_target(&with, NULL, 0).errata, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_has_the_passes_of_its_description),
        cmocka_unit_test(every_pass_has_a_name_and_a_description),
        cmocka_unit_test(a_legal_program_is_kept),
        cmocka_unit_test(a_limit_switches_one_pass_off),
        cmocka_unit_test(a_limit_without_an_optional_pass_is_an_error),
        cmocka_unit_test(every_allocation_may_fail_after_a_limit_too),
        cmocka_unit_test(code_and_profile_follow_the_widest_access),
        cmocka_unit_test(the_profile_follows_the_numerics),
        cmocka_unit_test(the_code_follows_the_limits_of_unrolling),
        cmocka_unit_test(the_code_follows_the_predication),
        cmocka_unit_test(the_code_follows_each_erratum_of_ptxas),
        cmocka_unit_test(the_code_follows_the_variant_of_math),
        cmocka_unit_test(every_allocation_may_fail_while_a_variant_is_linked),
        cmocka_unit_test(architectures_with_slow_f64_avoid_it),
        cmocka_unit_test(an_opencl_device_describes_its_f64_and_errata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
