/* Checks of code for c and ptx with tools of the host: the tools are scripts in a folder that PATH and CUDA_HOME name,
 * so each answer of a tool can be had. And the code in emitted PTX. */
#include "support/fault.h"
#include "support/test.h"

#include "dialect/law_check.h"
#include "targets/lowering_check.h"
#include "vyre/dialect.h"
#include "vyre/emit.h"
#include "vyre/manifest.h"
#include "vyre/text.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/vyre-test-XXXXXX", *old_path;

static void put_script(const char *name, const char *lines) {
    char path[128], text[1024];
    snprintf(path, sizeof path, "%s/bin/%s", folder, name);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", lines);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static void drop_script(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/bin/%s", folder, name);
    unlink(path);
}

static int make_folder(void **state) {
    (void)state;
    char path[128];
    old_path = strdup(getenv("PATH") ? getenv("PATH") : "");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/bin", folder);
    return mkdir(path, 0700) || setenv("CUDA_HOME", folder, 1);
}

static int remove_folder(void **state) {
    (void)state;
    char path[128];
    drop_script("cc"), drop_script("ptxas");
    snprintf(path, sizeof path, "%s/bin", folder);
    rmdir(path);
    free(old_path);
    return rmdir(folder);
}

/* While scripts are found first, those that they run are found, too. */
static void use_scripts(void) {
    char path[4096];
    vy_law_cache_clear();
    snprintf(path, sizeof path, "%s/bin:/bin:/usr/bin", folder);
    assert_int_equal(setenv("PATH", path, 1), 0);
}

static void use_host(void) {
    assert_int_equal(setenv("PATH", old_path, 1), 0);
}

/* An op of one bool has a trial of two rows. */
static const char flips[] = "dialect = 'flips'\nversion = '1.0.0'\n"
                            "[[op]]\nid = 'flip'\ncategory = 'intrinsic'\nsignature = 'fn flip(p: bool) -> bool'\n"
                            "body = 'fn flip(p: bool) -> bool { return !p }'\n"
                            "[op.lowering]\nc = '!{p}'\nptx = 'not.pred {result}, {p};'\n";
static const char flipped[] = "program flipped {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                              " let i = global_id.x\n if i < len(y) { y[i] = flips.flip(y[i] == 0) ? 1 : 2 }\n}\n";

static int load_flips(void **state) {
    (void)state;
    return vyre_dialects_load_text("flips", flips, strlen(flips), NULL, NULL) != VYRE_OK;
}

static vyre_status check(const char *target, vy_lowering_verdict *verdict, vyre_error *error) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_op_definition *op = vyre_dialects_find(guard, "flips.flip", 10);
    vyre_target wanted;
    assert_non_null(op);
    assert_int_equal(vyre_target_parse(target, strlen(target), &wanted, NULL), VYRE_OK);
    const vyre_lowering *lowering = vyre_dialects_lowering(guard, op->number, wanted);
    assert_non_null(lowering);
    vyre_status status = vy_lowering_check(guard, op, lowering, verdict, error);
    vyre_dialects_release(&guard);
    return status;
}

static void expect(const char *target, vyre_status status, vy_lowering_verdict verdict, const char *part) {
    vyre_error error = VYRE_ERROR_INIT;
    vy_lowering_verdict found;
    vy_law_cache_clear();
    if (check(target, &found, &error) != status || (status == VYRE_OK && found != verdict) ||
        !strstr(error.message, part))
        fail_msg("%s: %s (%d): no `%s`", target, error.message, (int)found, part);
}

/* A compiler whose program is a script: the words of the command end with -o PROGRAM SOURCE -lm. */
#define COMPILES(lines)                                                                                                \
    "while [ \"$1\" != -o ]; do shift; done\ncat > \"$2\" <<'END'\n#!/bin/sh\n" lines "\nEND\nchmod 700 \"$2\""

static void each_answer_of_the_c_compiler_has_its_verdict(void **state) {
    (void)state;
    use_scripts();
    put_script("cc", COMPILES("printf '\\001\\000' > \"$2\""));
    expect("c", VYRE_OK, VY_LOWERING_TRIED, "");
    put_script("cc", COMPILES("printf '\\000\\000' > \"$2\""));
    expect("c", VYRE_INVALID_PROGRAM, 0,
           "the code of `flips.flip` for `c` returns false and the body true at p = false");
    put_script("cc", COMPILES("printf '\\001' > \"$2\""));
    expect("c", VYRE_CORRUPT, 0, "1 bytes of results (2 expected)");
    put_script("cc", COMPILES("echo 1; exit 3"));
    expect("c", VYRE_INVALID_PROGRAM, 0, "has undefined behaviour in C at p = true");
    put_script("cc", COMPILES("exit 9"));
    expect("c", VYRE_IO, 0, "(exit code 9)");
    put_script("cc", "echo some text; echo 't.c:1: error: no such word'; exit 1");
    expect("c", VYRE_INVALID_PROGRAM, 0,
           "the C compiler rejects the code of `flips.flip` for `c`: error: no such word");
    drop_script("cc");
    assert_int_equal(setenv("PATH", folder, 1), 0);
    expect("c", VYRE_OK, VY_LOWERING_UNCHECKED, "");
    use_host();
}

static void each_answer_of_ptxas_has_its_verdict(void **state) {
    (void)state;
    use_scripts();
    put_script("ptxas", "[ -f \"$6\" ] && echo words > \"$5\"");
    expect("ptx", VYRE_OK, VY_LOWERING_ASSEMBLED, "");
    put_script("ptxas", "echo 'program.ptx, line 9; error : no such instruction'; exit 255");
    expect("ptx", VYRE_INVALID_PROGRAM, 0,
           "ptxas rejects the code of `flips.flip` for `ptx`: error : no such instruction");
    drop_script("ptxas");
    expect("ptx", VYRE_OK, VY_LOWERING_UNCHECKED, "");
    use_host();
}

/* What passed is not tried again, whatever the tool would answer now. */
static void an_answer_is_remembered(void **state) {
    (void)state;
    vy_lowering_verdict verdict;
    use_scripts();
    put_script("cc", COMPILES("printf '\\001\\000' > \"$2\""));
    assert_int_equal(check("c", &verdict, NULL), VYRE_OK);
    put_script("cc", "exit 1");
    assert_int_equal(check("c", &verdict, NULL), VYRE_OK);
    assert_int_equal(verdict, VY_LOWERING_TRIED);
    vy_law_cache_clear();
    assert_int_equal(check("c", &verdict, NULL), VYRE_INVALID_PROGRAM);
    use_host();
}

static void a_folder_that_cannot_be_made_is_an_error(void **state) {
    (void)state;
    use_scripts();
    put_script("cc", COMPILES("printf '\\001\\000' > \"$2\""));
    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    expect("c", VYRE_IO, 0, "temporary folder");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    use_host();
}

static void all_code_of_an_op_is_checked_by_its_id(void **state) {
    (void)state;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_op_id flip = vyre_dialects_find(guard, "flips.flip", 10)->number;
    vyre_error error = VYRE_ERROR_INIT;
    use_scripts();
    put_script("cc", COMPILES("printf '\\001\\000' > \"$2\""));
    put_script("ptxas", "[ -f \"$6\" ] && echo words > \"$5\"");
    assert_int_equal(vyre_dialects_check_lowerings(guard, flip, NULL), VYRE_OK);
    put_script("ptxas", "exit 1");
    vy_law_cache_clear();
    assert_int_equal(vyre_dialects_check_lowerings(guard, flip, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "ptxas rejects"));
    assert_int_equal(vyre_dialects_check_lowerings(guard, 0, &error), VYRE_NOT_FOUND);
    use_host();
    vyre_dialects_release(&guard);
}

static vyre_status check_once(void *target) {
    vy_lowering_verdict verdict;
    vy_law_cache_clear();
    return check(target, &verdict, NULL);
}

static vyre_status emit_once(void *target) {
    vyre_program *program;
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_module *module = NULL;
    vy_law_cache_clear();
    vyre_status status = vyre_text_parse(flipped, strlen(flipped), NULL, NULL, &module, NULL);
    if (status == VYRE_OK) {
        program = vyre_module_program(module, 0);
        status = vyre_emit(program, target, NULL, &out, NULL);
    }
    vyre_module_free(module);
    vyre_bytes_free(&out);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    use_scripts();
    put_script("cc", COMPILES("printf '\\001\\000' > \"$2\""));
    put_script("ptxas", "[ -f \"$6\" ] && echo words > \"$5\"");
    assert_true(VY_FAULT_LOOP_LENIENT(check_once, "c") > 100);   /* the parser may do without */
    assert_true(VY_FAULT_LOOP_LENIENT(check_once, "ptx") > 100); /* optimising may do without */
    drop_script("cc"), drop_script("ptxas");
    assert_true(VY_FAULT_LOOP_LENIENT(emit_once, "ptx") > 100);
    use_host();
}

/* ---- emitted PTX ---- */

static char *emit(const char *source, vyre_error *error) {
    vyre_program *program = vy_test_parse(source);
    vyre_bytes out = VYRE_BYTES_INIT;
    char *text = NULL;
    if (vyre_emit(program, "ptx", NULL, &out, error) == VYRE_OK)
        text = strndup(out.data, out.size);
    vyre_bytes_free(&out);
    vyre_program_release(program);
    return text;
}

static const char words[] = "dialect = 'words'\nversion = '1.0.0'\n"
                            "[[op]]\nid = 'divide'\ncategory = 'intrinsic'\n"
                            "signature = 'fn divide(x: u32, n: u32) -> (q: u32, r: u32)'\n"
                            "body = 'fn divide(x: u32, n: u32) -> (q: u32, r: u32) { return x / n, x % n }'\n"
                            "lowering = { ptx = '''.reg .u32 t;\ndiv.u32 {q}, {x}, {n};\nmul.lo.u32 t, {q}, {n};\n"
                            "sub.u32 {r}, {x}, t;\n''' }\n"
                            "[[op]]\nid = 'approximate'\ncategory = 'intrinsic'\nsignature = 'fn approximate(x: f32) "
                            "-> f32'\nbody = 'fn approximate(x: f32) -> f32 { return 1.0 / x }'\n"
                            "lowering = { ptx = { code = 'tanh.approx.f32 {result}, {x};', ulp = 2 } }\n";

static void ptx_has_the_code_once_for_each_call(void **state) {
    (void)state;
    static const char source[] =
        "program parts {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n let i = global_id.x\n"
        " let (unused, alone) = words.divide(i, 3u32)\n"
        " let (_dead, _gone) = words.divide(i, 5u32)\n if i < len(y) {\n"
        "  let (q, r) = words.divide(y[i] + alone, i)\n  y[i] = q ^ r\n }\n}\n";
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_dialects_load_text("words", words, strlen(words), NULL, NULL), VYRE_OK);
    char *text = emit(source, &error), *at = text;
    if (!text)
        fail_msg("%s", error.message);
    for (int i = 0; i < 2; i++) {
        at = strstr(at, "\t// words.divide\n\t{\n\t.reg .u32 t;\ndiv.u32 %r");
        assert_non_null(at);
        at += 20;
    }
    assert_null(strstr(at, "// words.divide")); /* the call whose results nothing uses is left out */
    assert_null(strstr(text, "{x}"));
    free(text);
}

static void code_with_a_bound_is_for_relaxed_programs(void **state) {
    (void)state;
    static const char source[] = "program p {\n%s buffer y : f32 read_write\n workgroup 64\n grid over y\n"
                                 " let i = global_id.x\n if i < len(y) { y[i] = words.approximate(y[i]) }\n}\n";
    char text[512];
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_dialects_load_text("words", words, strlen(words), NULL, NULL), VYRE_OK);
    snprintf(text, sizeof text, source, "");
    char *strict = emit(text, &error);
    snprintf(text, sizeof text, source, " numerics relaxed\n");
    char *relaxed = emit(text, &error);
    if (!strict || !relaxed)
        fail_msg("%s", error.message);
    assert_null(strstr(strict, "tanh"));
    assert_non_null(strstr(relaxed, "tanh.approx.f32 %r"));
    /* The instruction needs more than the lowest version. */
    assert_non_null(strstr(strict, ".version 6.0\n.target sm_60\n"));
    assert_non_null(strstr(relaxed, ".version 7.0\n.target sm_75\n"));
    free(strict);
    free(relaxed);
}

/* With NVIDIA's assembler, where the host has it. */
static void real_ptxas_checks_the_code(void **state) {
    (void)state;
    static const char wrong[] = "dialect = 'words'\nversion = '1.0.0'\n"
                                "[[op]]\nid = 'add'\ncategory = 'intrinsic'\nsignature = 'fn add(x: u32) -> u32'\n"
                                "body = 'fn add(x: u32) -> u32 { return x + x }'\n"
                                "lowering = { ptx = 'add.u64 {result}, {x}, {x};' }\n";
    static const char source[] = "program p {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                                 " y[global_id.x] = words.add(3u32)\n}\n";
    static const char both[] = "program p {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                               " let (q, r) = words.divide(y[global_id.x], 3u32)\n y[global_id.x] = q + r\n}\n";
    vyre_error error = VYRE_ERROR_INIT;
    vy_law_cache_clear();
    assert_int_equal(unsetenv("CUDA_HOME"), 0);
    if (system("command -v ptxas > /dev/null || test -x /usr/local/cuda/bin/ptxas") != 0)
        VY_SKIP("no ptxas");
    assert_int_equal(vyre_dialects_load_text("words", words, strlen(words), NULL, NULL), VYRE_OK);
    char *text = emit(both, &error);
    if (!text)
        fail_msg("%s", error.message);
    free(text);
    assert_int_equal(vyre_dialects_load_text("words", wrong, strlen(wrong), NULL, NULL), VYRE_OK);
    assert_null(emit(source, &error));
    assert_int_equal(error.code, VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "ptxas rejects the code of `words.add` for `ptx`: "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_answer_of_the_c_compiler_has_its_verdict, load_flips),
        cmocka_unit_test_setup(each_answer_of_ptxas_has_its_verdict, load_flips),
        cmocka_unit_test_setup(an_answer_is_remembered, load_flips),
        cmocka_unit_test_setup(a_folder_that_cannot_be_made_is_an_error, load_flips),
        cmocka_unit_test_setup(all_code_of_an_op_is_checked_by_its_id, load_flips),
        cmocka_unit_test_setup(every_allocation_may_fail, load_flips),
        cmocka_unit_test(ptx_has_the_code_once_for_each_call),
        cmocka_unit_test(code_with_a_bound_is_for_relaxed_programs),
        cmocka_unit_test(real_ptxas_checks_the_code),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
