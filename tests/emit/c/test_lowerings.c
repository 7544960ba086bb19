/* Ops with code for c: it is used where it returns the bits of the body, compiled by gcc and clang; otherwise the
 * program is refused, with the inputs. */
#include "emit/c/compiled.h"

#include "vyre/dialect.h"
#include "vyre/manifest.h"

static const char *const both[] = {"gcc -std=c17 -O2", "clang -std=c17 -O1", NULL};

/* Each op of the dialect has a body and, in place of %s, code for c. */
static const char words[] = "dialect = 'words'\nversion = '1.0.0'\n"
                            "[[op]]\nid = 'rotate'\ncategory = 'intrinsic'\n"
                            "signature = 'fn rotate(x: u32, n: u32) -> u32'\n"
                            "body = 'fn rotate(x: u32, n: u32) -> u32 { return rotl(x, n) }'\n"
                            "lowering = { c = '%s' }\n";
static const char good[] = "({x} << ({n} & 31u)) | ({x} >> (-{n} & 31u))";

static const char rotates[] = "program turned {\n buffer x : u32 read\n buffer y : u32 read_write\n workgroup 64\n"
                              " grid over y\n let i = global_id.x\n let same = words.rotate(len(x), 7u32)\n"
                              " if words.rotate(group_id.x, 1u32) == 0 { barrier }\n"
                              " for k in 0u32 .. 3 { if i < len(y) {\n"
                              "  y[i] = words.rotate(y[i] + same, words.rotate(x[i], k)) } }\n}\n";

static void load(const char *format, const char *code) {
    vyre_error error = VYRE_ERROR_INIT;
    char text[2048];
    snprintf(text, sizeof text, format, code);
    if (vyre_dialects_load_text("test", text, strlen(text), NULL, &error) != VYRE_OK)
        fail_msg("%s: %s", code, error.message);
}

static vyre_program *resolve(const char *text) {
    vyre_program *program = vy_test_parse(text), *resolved = NULL;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_program_resolve(program, guard, NULL, &resolved, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_dialects_release(&guard);
    vyre_program_release(program);
    return resolved;
}

/* The C of a program, as a text; NULL if it is refused. */
static char *emit(const char *source, vyre_error *error) {
    vyre_program *program = resolve(source);
    vyre_bytes out = VYRE_BYTES_INIT;
    char *text = NULL;
    if (vyre_emit(program, "c", NULL, &out, error) == VYRE_OK) {
        text = strndup(out.data, out.size);
        assert_non_null(text);
    }
    vyre_bytes_free(&out);
    vyre_program_release(program);
    return text;
}

static int has_compiler(void) {
    return compiled_has("cc") || compiled_has("gcc") || compiled_has("clang");
}

static void check(const char *source, size_t elements) {
    compiled c = {.compilers = both};
    uint32_t *x = malloc(elements * sizeof *x), *y = malloc(elements * sizeof *y);
    assert_true(x && y);
    for (size_t i = 0; i < elements; i++) {
        x[i] = (uint32_t)(i * 2654435761u);
        y[i] = (uint32_t)(i ^ 0x9e3779b9u);
    }
    const vyre_span inputs[] = {{x, elements * sizeof *x}, {y, elements * sizeof *y}};
    const vyre_arguments arguments = {.inputs = inputs, .input_count = 2};
    vyre_program *program = resolve(source);
    assert_true(compiled_add(&c, "code", program, &arguments));
    assert_int_equal(c.refused, 0);
    compiled_run(&c);
    vyre_program_release(program);
    free(x);
    free(y);
}

/* In a loop, in arguments, uniform around a barrier, and with a result that nothing uses. */
static void code_is_used_and_returns_the_bits_of_the_body(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    load(words, good);
    char *text = emit(rotates, &error);
    assert_non_null(text);
    if (has_compiler()) {
        assert_non_null(
            strstr(text, "/* words.rotate */\n    return (uint32_t)((a0 << (a1 & 31u)) | (a0 >> (-a1 & 31u)));"));
        assert_non_null(strstr(text, "op1_words_rotate_u32("));
    }
    assert_null(strstr(text, "rotl")); /* of the body */
    free(text);
    check(rotates, 1000);
}

/* Code is called where the body would be: also from the body of another op. */
static void code_is_used_in_bodies_of_other_ops(void **state) {
    (void)state;
    static const char more[] =
        "dialect = 'words'\nversion = '1.0.0'\n"
        "[[op]]\nid = 'rotate'\ncategory = 'intrinsic'\nsignature = 'fn rotate(x: u32, n: u32) -> u32'\n"
        "body = 'fn rotate(x: u32, n: u32) -> u32 { return rotl(x, n) }'\nlowering = { c = '%s' }\n"
        "[[op]]\nid = 'mix'\nsignature = 'fn mix(x: u32) -> u32'\n"
        "body = 'fn mix(x: u32) -> u32 { let r : u32 = words.rotate(x, 9u32)\n  return r * 5 }'\n";
    static const char mixes[] = "program mixed {\n buffer x : u32 read\n buffer y : u32 read_write\n workgroup 64\n"
                                " grid over y\n let i = global_id.x\n if i < len(y) { y[i] = words.mix(x[i]) }\n}\n";
    vyre_error error = VYRE_ERROR_INIT;
    char one_line[2048];
    snprintf(one_line, sizeof one_line, "%s", more);
    for (char *at = one_line; (at = strchr(at, '\n')); at++)
        if (at[1] == ' ')
            *at = ';';
    load(one_line, good);
    char *text = emit(mixes, &error);
    assert_non_null(text);
    assert_true(!has_compiler() || strstr(text, "/* words.rotate */"));
    free(text);
    check(mixes, 333);
}

static void floats_bools_and_wide_integers_are_passed(void **state) {
    (void)state;
    static const char kinds[] =
        "dialect = 'kinds'\nversion = '1.0.0'\n"
        "[[op]]\nid = 'choose'\ncategory = 'intrinsic'\n"
        "signature = 'fn choose(p: bool, a: f64, b: i64, c: f32) -> f64'\n"
        "body = 'fn choose(p: bool, a: f64, b: i64, c: f32) -> f64 { return p ? a : f64(b) + f64(c) }'\n"
        "lowering = { c = '%s' }\n"
        "[[op]]\nid = 'sign'\ncategory = 'intrinsic'\nsignature = 'fn sign(a: f32) -> bool'\n"
        "body = 'fn sign(a: f32) -> bool { return a < 0.0 }'\nlowering = { c = '{a} < 0.0f' }\n"
        "[[op]]\nid = 'root'\ncategory = 'intrinsic'\nsignature = 'fn root(a: f32) -> f32'\n"
        "body = 'fn root(a: f32) -> f32 { return sqrt(a) }'\nlowering = { c = 'sqrtf({a})' }\n"
        "[[op]]\nid = 'one'\ncategory = 'intrinsic'\nsignature = 'fn one() -> i64'\n"
        "body = 'fn one() -> i64 { return -1 }'\nlowering = { c = '-1' }\n";
    static const char uses[] = "program uses {\n buffer x : u32 read\n buffer y : u32 read_write\n workgroup 64\n"
                               " grid over y\n let i = global_id.x\n if i < len(y) {\n"
                               "  let f = bitcast<f32>(x[i])\n"
                               "  let d : f64 = kinds.choose(kinds.sign(f), f64(f), i64(y[i]) + kinds.one(), "
                               "kinds.root(f))\n  let bits = bitcast<u64>(d)\n"
                               "  y[i] = u32(bits >> 32) ^ u32(bits)\n }\n}\n";
    vyre_error error = VYRE_ERROR_INIT;
    load(kinds, "{p} ? {a} : (double){b} + (double){c}");
    char *text = emit(uses, &error);
    if (!text)
        fail_msg("%s", error.message);
    assert_true(!has_compiler() || (strstr(text, "/* kinds.choose */") && strstr(text, "/* kinds.one */")));
    free(text);
    check(uses, 5000);
    assert_int_equal(vyre_dialects_unload("test", NULL), VYRE_OK);
}

static void refuse(const char *code, const char *part) {
    vyre_error error = VYRE_ERROR_INIT;
    load(words, code);
    if (!has_compiler())
        VY_SKIP("no C compiler: `%s` is not compiled", code);
    assert_null(emit(rotates, &error));
    assert_int_equal(error.code, VYRE_INVALID_PROGRAM);
    if (!strstr(error.message, part) || !error.fix[0])
        fail_msg("%s: %s: no `%s`", code, error.message, part);
}

static void other_bits_are_refused_with_the_inputs(void **state) {
    (void)state;
    refuse("{x} << ({n} & 31u)", "returns ");
    refuse("{x} + {n}", "the code of `words.rotate` for `c` returns 1u32 and the body 0u32 at x = 0u32, n = 1u32");
    /* Wrong for one amount alone. */
    refuse("({n} & 31u) == 17u ? 0u : ({x} << ({n} & 31u)) | ({x} >> (-{n} & 31u))", "returns 0u32 and the body");
}

static void undefined_behaviour_is_refused_with_the_inputs(void **state) {
    (void)state;
    refuse("({x} << {n}) | ({x} >> (32u - {n}))", "has undefined behaviour in C at x = ");
    refuse("({x} << ({n} & 31u)) | ({x} >> (-{n} & 31u)) + 0u * (1u / ({n} - 5u))", "at x = ");
}

static void what_is_no_c_is_refused_with_the_words_of_the_compiler(void **state) {
    (void)state;
    refuse("{x} ? {n}", "the C compiler rejects the code of `words.rotate` for `c`: error: ");
}

static const char approximate[] = "dialect = 'words'\nversion = '1.0.0'\n"
                                  "[[op]]\nid = 'third'\ncategory = 'intrinsic'\n"
                                  "signature = 'fn third(x: f32) -> f32'\n"
                                  "body = 'fn third(x: f32) -> f32 { return x / 3.0 }'\n"
                                  "[op.lowering]\nc = { code = '{x} * 0x1.555556p-2f', ulp = %s }\n";
static const char thirds[] = "program thirds {\n%s buffer x : f32 read\n buffer y : f32 write count len(x)\n"
                             " workgroup 64\n grid over x\n let i = global_id.x\n"
                             " if i < len(x) { y[i] = words.third(x[i]) }\n}\n";

/* Code with a bound is for programs with relaxed numerics; the bound is checked. */
static void a_bound_is_for_relaxed_programs(void **state) {
    (void)state;
    char strict[512], relaxed[512];
    vyre_error error = VYRE_ERROR_INIT;
    snprintf(strict, sizeof strict, thirds, "");
    snprintf(relaxed, sizeof relaxed, thirds, " numerics relaxed\n");
    load(approximate, "1");
    char *text = emit(strict, &error);
    assert_non_null(text);
    assert_null(strstr(text, "0x1.555556p-2f"));
    free(text);
    text = emit(relaxed, &error);
    if (!text)
        fail_msg("%s", error.message);
    assert_true(!has_compiler() || strstr(text, "0x1.555556p-2f"));
    free(text);
    if (!has_compiler())
        VY_SKIP("no C compiler");
    load(approximate, "0");
    assert_null(emit(strict, &error));
    assert_non_null(strstr(error.message, "the code of `words.third` for `c` returns "));
}

/* A change of the code is another program, with another fingerprint; and the new code is tried. */
static void changed_code_is_tried_and_used(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    load(words, good);
    char *before = emit(rotates, &error);
    load(words, "({x} >> (-{n} & 31u)) | ({x} << ({n} & 31u))");
    char *after = emit(rotates, &error);
    assert_true(before && after);
    assert_int_equal(strcmp(before, after) != 0, has_compiler());
    free(before);
    free(after);
    refuse("{x}", "returns ");
}

/* Without a compiler nothing shows that the code has the bits of the body. */
static void without_a_compiler_the_body_is_compiled(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
    load(words, "{x} | {n} | 12345u");
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    char *text = emit(rotates, &error);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    if (!text)
        fail_msg("%s", error.message);
    assert_null(strstr(text, "12345u"));
    assert_non_null(strstr(text, "rotl"));
    free(text);
}

/* A body that is no function of its inputs cannot have code. */
static void a_body_with_effects_has_no_code(void **state) {
    (void)state;
    static const char effects[] = "dialect = 'words'\nversion = '1.0.0'\n"
                                  "[[op]]\nid = 'rotate'\ncategory = 'intrinsic'\n"
                                  "signature = 'fn rotate(x: u32, n: u32) -> u32'\n"
                                  "body = 'fn rotate(x: u32, n: u32) -> u32 { %s }'\nlowering = { c = '{x}' }\n";
    static const char plain[] = "program turned {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                                " let i = global_id.x\n if i < len(y) { y[i] = words.rotate(y[i], i) }\n}\n";
    static const char *const bodies[][2] = {{"if n == 12345 { trap 1 }; return x", "can trap"},
                                            {"return x + global_id.x * 0", "reads ids"}};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        load(effects, bodies[i][0]);
        assert_null(emit(plain, &error));
        assert_non_null(strstr(error.message, "cannot replace the body"));
        if (!strstr(error.message, bodies[i][1]))
            fail_msg("%s", error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_used_and_returns_the_bits_of_the_body),
        cmocka_unit_test(code_is_used_in_bodies_of_other_ops),
        cmocka_unit_test(floats_bools_and_wide_integers_are_passed),
        cmocka_unit_test(other_bits_are_refused_with_the_inputs),
        cmocka_unit_test(undefined_behaviour_is_refused_with_the_inputs),
        cmocka_unit_test(what_is_no_c_is_refused_with_the_words_of_the_compiler),
        cmocka_unit_test(a_bound_is_for_relaxed_programs),
        cmocka_unit_test(changed_code_is_tried_and_used),
        cmocka_unit_test(without_a_compiler_the_body_is_compiled),
        cmocka_unit_test(a_body_with_effects_has_no_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
