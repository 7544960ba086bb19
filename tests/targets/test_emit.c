/* vyre_emit: every target, every option, and what is refused. NVIDIA's programs are scripts in a folder that CUDA_HOME
 * names. */
#include "support/fault.h"
#include "support/test.h"

#include "backends/cpu/compile.h"
#include "vyre/emit.h"
#include "vyre/text.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static const char saxpy[] = "program saxpy {\n param a : f32\n buffer x : f32 read\n buffer y : f32 read_write\n"
                            " workgroup 64\n grid over y\n let i = global_id.x\n"
                            " if i < len(y) { y[i] = fma(a, x[i], y[i]) }\n}\n";
static const char barrier[] = "program two {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                              " y[global_id.x] = 1\n grid_barrier\n y[global_id.x] += y[0]\n}\n";

static const char loop[] = "program p {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                           " var i = y[global_id.x]\n while i != 1 { i = i % 2 == 0 ? i / 2 : 3 * i + 1 }\n"
                           " y[global_id.x] = i\n}\n";

/* The code as text; the test frees it. */
static char *emit(const char *source, const char *target, const vyre_emit_options *options) {
    vyre_program *program = vy_test_parse(source);
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error;
    if (vyre_emit(program, target, options, &out, &error) != VYRE_OK)
        fail_msg("%s: %s: %s", target, vyre_status_name(error.code), error.message);
    char *text = malloc(out.size + 1);
    assert_non_null(text);
    memcpy(text, out.data, out.size);
    text[out.size] = '\0';
    vyre_bytes_free(&out);
    vyre_program_release(program);
    return text;
}

/* 1 if the code contains the words. */
static int has(const char *source, const char *target, const vyre_emit_options *options, const char *words) {
    char *text = emit(source, target, options);
    int found = strstr(text, words) != NULL;
    free(text);
    return found;
}

/* The call fails, with a message and a fix that contain these, and the bytes stay what they were. */
static void refused(const char *source, const char *target, const vyre_emit_options *options, vyre_status status,
                    const char *message, const char *fix) {
    vyre_program *program = vy_test_parse(source);
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error;
    assert_int_equal(vyre_bytes_resize(&out, 3, NULL), VYRE_OK);
    memcpy(out.data, "old", 3);
    assert_int_equal(vyre_emit(program, target, options, &out, &error), status);
    if (!strstr(error.message, message) || !strstr(error.fix, fix))
        fail_msg("%s: %s\nFix: %s", target, error.message, error.fix);
    assert_int_equal(out.size, 3);
    assert_memory_equal(out.data, "old", 3);
    assert_int_equal(vyre_emit(program, target, options, &out, NULL), status);
    vyre_bytes_free(&out);
    vyre_program_release(program);
}

#define OPTIONS(...) (&(vyre_emit_options){.struct_size = sizeof(vyre_emit_options), __VA_ARGS__})

static int has_compiler(void) {
    if (vy_cpu_compiler_check(NULL) == VYRE_OK)
        return 1;
    printf("note: no compiler: llvm-ir and asm are not tried\n");
    return 0;
}

/* ---- scripts in the place of the CUDA toolkit ---- */

static char toolkit[] = "/tmp/vyre-test-XXXXXX";

static void put_script(const char *name, const char *lines) {
    char path[128];
    snprintf(path, sizeof path, "%s/bin/%s", toolkit, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", lines);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}

static void drop_script(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/bin/%s", toolkit, name);
    unlink(path);
}

static int make_toolkit(void **state) {
    char path[128];
    (void)state;
    if (!mkdtemp(toolkit))
        return -1;
    snprintf(path, sizeof path, "%s/bin", toolkit);
    return mkdir(path, 0700) || setenv("CUDA_HOME", toolkit, 1);
}

static int drop_toolkit(void **state) {
    char path[128];
    (void)state;
    drop_script("ptxas"), drop_script("nvdisasm"), drop_script("cuobjdump");
    snprintf(path, sizeof path, "%s/bin", toolkit);
    return rmdir(path) || rmdir(toolkit);
}

/* ---- claims ---- */

static void targets_are_listed_and_all_of_them_are_made(void **state) {
    (void)state;
    static const char *const expected[] = {"llvm-ir", "asm", "ptx", "cubin", "sass", "c", "opencl", "legal"};
    size_t count;
    const vyre_emit_target *const *targets = vyre_emit_targets(&count);
    assert_int_equal(count, sizeof expected / sizeof *expected);
    assert_ptr_equal(vyre_emit_targets(NULL), targets);
    put_script("ptxas", "while [ $# -gt 1 ]; do [ \"$1\" = -o ] && echo words > \"$2\"; shift; done");
    put_script("nvdisasm", "echo words");
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(targets[i]->name, expected[i]);
        assert_true(*targets[i]->doc && *targets[i]->extension);
        assert_int_equal(targets[i]->is_text, strcmp(targets[i]->name, "cubin") != 0);
        if (i < 2 && !has_compiler())
            continue;
        free(emit(saxpy, targets[i]->name, NULL));
    }
}

static void an_unknown_target_is_refused_with_a_fix(void **state) {
    (void)state;
    refused(saxpy, "am", NULL, VYRE_INVALID_ARGUMENT, "unknown target `am` (expected llvm-ir, asm,", "`asm`");
    refused(saxpy, "spirv", NULL, VYRE_INVALID_ARGUMENT,
            "unknown target `spirv` (expected llvm-ir, asm, ptx, cubin, sass, c, opencl or legal)", "one of these");
    refused(saxpy, "", NULL, VYRE_INVALID_ARGUMENT, "unknown target `` (expected llvm-ir", "one of these");
}

static void an_option_that_the_target_does_not_use_is_refused(void **state) {
    (void)state;
    refused(saxpy, "ptx", OPTIONS(.width = 8), VYRE_INVALID_ARGUMENT, "option `width`", "target llvm-ir or asm");
    refused(saxpy, "legal", OPTIONS(.cpu = "host"), VYRE_INVALID_ARGUMENT, "option `cpu`", "llvm-ir or asm");
    refused(saxpy, "asm", OPTIONS(.arch = "sm_90"), VYRE_INVALID_ARGUMENT, "option `arch`", "ptx, cubin or sass");
    refused(saxpy, "legal", OPTIONS(.uncoarsened = 1), VYRE_INVALID_ARGUMENT, "option `uncoarsened`", "ptx, cubin or");
    refused(saxpy, "legal", OPTIONS(.indirect = 1), VYRE_INVALID_ARGUMENT, "option `indirect`", "ptx, cubin or");
    refused(saxpy, "ptx", OPTIONS(.exact = "all"), VYRE_INVALID_ARGUMENT, "option `exact`", "target opencl or legal");
    refused(saxpy, "sass", OPTIONS(.subgroup = 32), VYRE_INVALID_ARGUMENT, "option `subgroup`",
            "target opencl or legal");
    refused(saxpy, "cubin", OPTIONS(.access = 16), VYRE_INVALID_ARGUMENT, "option `access`", "target opencl or legal");
}

static void values_out_of_range_are_refused(void **state) {
    (void)state;
    static const vyre_emit_options small = {.struct_size = 8};
    refused(saxpy, "ptx", &small, VYRE_INVALID_ARGUMENT, "8 bytes", "struct_size");
    refused(saxpy, "ptx", OPTIONS(.arch = "sm_2x"), VYRE_INVALID_ARGUMENT, "`sm_2x`", "sm_90");
    refused(saxpy, "ptx", OPTIONS(.arch = "sm_50"), VYRE_INVALID_ARGUMENT, "`sm_50`", "sm_60");
    refused(saxpy, "legal", OPTIONS(.exact = "int46"), VYRE_INVALID_ARGUMENT, "`int46`", "`int16`");
    refused(saxpy, "legal", OPTIONS(.exact = "qqqqqqqqqqqq"), VYRE_INVALID_ARGUMENT, "qqq", "int64");
    refused(saxpy, "legal", OPTIONS(.subgroup = 3), VYRE_INVALID_ARGUMENT, "is 3", "32");
    refused(saxpy, "legal", OPTIONS(.subgroup = 128), VYRE_INVALID_ARGUMENT, "is 128", "32");
    refused(saxpy, "legal", OPTIONS(.access = 3), VYRE_INVALID_ARGUMENT, "is 3 bytes", "16");
    refused(saxpy, "asm", OPTIONS(.cpu = "z80"), VYRE_INVALID_ARGUMENT, "`z80`", "x86-64-v3");
    refused(saxpy, "asm", OPTIONS(.width = 3), VYRE_INVALID_ARGUMENT, "is 3", "32");
    refused(saxpy, "asm", OPTIONS(.width = 128), VYRE_INVALID_ARGUMENT, "is 128", "64");
    refused(saxpy, "legal", OPTIONS(.stage = 2), VYRE_INVALID_ARGUMENT, "no stage 2 (1)", "leave `stage` out");
    refused(barrier, "legal", OPTIONS(.stage = 3), VYRE_INVALID_ARGUMENT, "no stage 3 (2)", "1 to 2");
}

static void options_change_the_code_of_llvm(void **state) {
    (void)state;
    if (!has_compiler())
        return;
    assert_true(has(saxpy, "llvm-ir", OPTIONS(.cpu = "x86-64-v3", .width = 16), "<16 x float>"));
    assert_true(has(saxpy, "llvm", OPTIONS(.cpu = "x86-64-v3", .width = 8), "<8 x float>"));
    assert_true(has(saxpy, "asm", OPTIONS(.cpu = "x86-64-v3"), "vfmadd"));
    assert_true(has(barrier, "asm", NULL, "# stage 2 of 2"));
    assert_false(has(barrier, "asm", OPTIONS(.stage = 2), "# stage"));
    assert_true(has(barrier, "llvm-ir", OPTIONS(.stage = 2), "two_1"));
    char *plain = emit(loop, "llvm-ir", OPTIONS(.cpu = "x86-64-v3"));
    char *polls = emit(loop, "llvm-ir", OPTIONS(.cpu = "x86-64-v3", .cancellable = 1));
    assert_true(strcmp(plain, polls) != 0);
    free(plain), free(polls);
}

static void options_change_the_code_of_ptx(void **state) {
    (void)state;
    assert_true(has(saxpy, "ptx", NULL, "groups_x"));
    assert_false(has(saxpy, "ptx", OPTIONS(.uncoarsened = 1), "groups_x"));
    assert_true(has(saxpy, "ptx", OPTIONS(.indirect = 1), "ticket"));
    assert_false(has(saxpy, "ptx", NULL, "ticket"));
    assert_true(has(loop, "ptx", OPTIONS(.cancellable = 1), "globaltimer"));
    assert_false(has(loop, "ptx", NULL, "globaltimer"));
    assert_true(has(barrier, "ptx", OPTIONS(.arch = "sm_60", .stage = 2), "vyre_two_1"));
    refused(barrier, "ptx", OPTIONS(.arch = "sm_60"), VYRE_UNSUPPORTED, "needs sm_70 (sm_60)", "`stage`");
    refused(barrier, "ptx", OPTIONS(.indirect = 1), VYRE_UNSUPPORTED, "grid barriers", "leave `indirect` out");
}

static void options_change_the_legal_program(void **state) {
    (void)state;
    static const char shuffle[] = "program p {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                                  " y[global_id.x] = subgroup_shuffle_xor<32>(y[global_id.x], 1)\n}\n";
    assert_true(has(saxpy, "legal", NULL, "fma("));
    assert_false(has(saxpy, "legal", OPTIONS(.exact = "-f32.fma"), "fma("));
    assert_true(has(saxpy, "legal", OPTIONS(.exact = "none,f32.fma,f32.subnormal"), "level legal"));
    assert_true(has(shuffle, "legal", OPTIONS(.subgroup = 32), "native_shuffle"));
    assert_false(has(shuffle, "legal", NULL, "native_shuffle"));
    refused(barrier, "legal", OPTIONS(.cancellable = 1), VYRE_UNSUPPORTED, "before a grid barrier", "`stage`");
    assert_true(has(barrier, "legal", OPTIONS(.cancellable = 1, .stage = 1), "two_0"));
}

static void a_program_of_level_legal_is_emitted_unchanged(void **state) {
    (void)state;
    static const char copy[] =
        "program copy {\n  level legal\n  buffer y : u32 read_write\n  workgroup 4\n  grid 1\n\n  y![0] = 1\n}\n";
    char *text = emit(copy, "legal", NULL);
    assert_string_equal(text, copy);
    free(text);
    assert_true(has(copy, "ptx", NULL, "vyre_copy"));
    refused(copy, "ptx", OPTIONS(.stage = 1), VYRE_INVALID_ARGUMENT, "level legal", "level source");
}

static void calls_of_ops_are_resolved(void **state) {
    (void)state;
    assert_true(has("program p {\n buffer y : u32 read_write\n grid 1\n y[0] = bits.parity_u32(y[0])\n}\n", "legal",
                    NULL, "bits.parity_u32"));
    refused("program p {\n buffer y : u32 read_write\n grid 1\n let a : u32 = no.such(y[0])\n y[0] = a\n}\n", "ptx",
            NULL, VYRE_NOT_FOUND, "`no.such`", "no.such");
}

static void a_library_has_nothing_to_emit(void **state) {
    (void)state;
    static const char text[] = "fn f(a: u32) -> u32 { return a }\n";
    vyre_module *module;
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error;
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), VYRE_OK);
    assert_int_equal(vyre_emit(vyre_module_library(module), "ptx", NULL, &out, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(out.size, 0);
    vyre_module_free(module);
}

static void a_backend_emits_its_own_code(void **state) {
    (void)state;
    vyre_backend *cpu, *reference;
    vyre_error error;
    assert_int_equal(vyre_acquire("reference", &reference, &error), VYRE_OK);
    refused(saxpy, NULL, OPTIONS(.backend = reference), VYRE_UNSUPPORTED, "`reference`", "");
    refused(saxpy, "asm", OPTIONS(.backend = reference), VYRE_INVALID_ARGUMENT, "`asm` cannot be combined", "leave");
    refused(saxpy, NULL, OPTIONS(.backend = reference, .width = 8), VYRE_INVALID_ARGUMENT,
            "the code of a backend does not use option `width`", "leave `width` out");
    refused(saxpy, NULL, NULL, VYRE_INVALID_ARGUMENT, "target", "");
    vyre_backend_release(reference);
    if (vyre_acquire("cpu", &cpu, &error) != VYRE_OK || !has_compiler()) {
        printf("note: %s\n", error.message);
        return;
    }
    char *own = emit(saxpy, NULL, OPTIONS(.backend = cpu)), *text = emit(saxpy, "asm", NULL);
    assert_string_equal(own, text);
    free(own), free(text);
    own = emit(loop, NULL, OPTIONS(.backend = cpu, .cancellable = 1)), text = emit(loop, NULL, OPTIONS(.backend = cpu));
    assert_true(strcmp(own, text) != 0);
    free(own), free(text);
    refused(barrier, NULL, OPTIONS(.backend = cpu), VYRE_UNSUPPORTED, "as several launches", "`stage`");
    assert_true(has(barrier, NULL, OPTIONS(.backend = cpu, .stage = 2), "two_1"));
    vyre_backend_release(cpu);
}

static void nvidias_programs_are_run_and_their_failures_are_named(void **state) {
    (void)state;
    char *text;
    drop_script("ptxas"), drop_script("nvdisasm");
    refused(saxpy, "cubin", NULL, VYRE_UNSUPPORTED, "`ptxas`", "CUDA_HOME");
    refused(saxpy, "sass", NULL, VYRE_UNSUPPORTED, "`ptxas`", "CUDA_HOME");
    /* The words are those of ptxas: the text is the last, and the output follows -o. */
    put_script("ptxas", "[ \"$3\" = -arch=sm_80 ] && head -c 8 \"$6\" > \"$5\"");
    text = emit(saxpy, "cubin", OPTIONS(.arch = "sm_80"));
    assert_string_equal(text, ".version");
    free(text);
    refused(saxpy, "sass", OPTIONS(.arch = "sm_80"), VYRE_UNSUPPORTED, "`nvdisasm`", "CUDA_HOME");
    put_script("cuobjdump", "echo plain $1; head -c 8 \"$2\"");
    text = emit(saxpy, "sass", OPTIONS(.arch = "sm_80"));
    assert_string_equal(text, "plain -sass\n.version");
    free(text);
    put_script("nvdisasm", "echo lines $2");
    text = emit(saxpy, "sass", OPTIONS(.arch = "sm_80"));
    assert_string_equal(text, "lines --print-line-info\n");
    free(text);
    put_script("nvdisasm", "echo broken; exit 3");
    refused(saxpy, "sass", OPTIONS(.arch = "sm_80"), VYRE_UNSUPPORTED, "exit code 3): broken", "CUDA toolkit");
    put_script("ptxas", "echo no such arch; exit 255");
    refused(saxpy, "cubin", NULL, VYRE_UNSUPPORTED, "exit code 255): no such arch", "`arch`");
    put_script("ptxas", "exit 0"); /* and writes nothing */
    refused(saxpy, "cubin", NULL, VYRE_NOT_FOUND, "program.cubin", "");
}

static void a_missing_compiler_is_named(void **state) {
    (void)state;
    const char *before = getenv("VYRE_COMPILER");
    char kept[1024];
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    setenv("VYRE_COMPILER", "/there/is/none", 1);
    refused(saxpy, "llvm-ir", NULL, VYRE_NOT_FOUND, "/there/is/none", "");
    refused(saxpy, "asm", NULL, VYRE_NOT_FOUND, "/there/is/none", "");
    if (before)
        setenv("VYRE_COMPILER", kept, 1);
    else
        unsetenv("VYRE_COMPILER");
}

static unsigned count_entries(const char *folder) {
    unsigned count = 0;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    while (readdir(opened))
        count++;
    closedir(opened);
    return count;
}

static void temporary_files_are_removed(void **state) {
    (void)state;
    char folder[128];
    snprintf(folder, sizeof folder, "%s/bin", toolkit); /* which is ours, and holds the scripts */
    setenv("TMPDIR", folder, 1);
    put_script("ptxas", "exit 1");
    unsigned before = count_entries(folder);
    refused(saxpy, "cubin", NULL, VYRE_UNSUPPORTED, "exit code 1", "");
    put_script("ptxas", "[ -f \"$6\" ] && echo words > \"$5\"");
    free(emit(saxpy, "cubin", NULL));
    assert_int_equal(count_entries(folder), before);
    setenv("TMPDIR", "/there/is/none", 1);
    refused(saxpy, "cubin", NULL, VYRE_IO, "temporary folder", "TMPDIR");
    unsetenv("TMPDIR");
}

static vyre_status emit_once(void *user) {
    static const char text[] = "program p {\n buffer y : u32 read_write\n grid 1\n y[0] = bits.parity_u32(y[0])\n}\n";
    vyre_module *module;
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_status status = vyre_text_parse(text, strlen(text), NULL, NULL, &module, NULL);
    if (status == VYRE_OK)
        status = vyre_emit(vyre_module_program(module, 0), user, NULL, &out, NULL);
    vyre_bytes_free(&out);
    vyre_module_free(module);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    static char targets[][8] = {"ptx", "legal", "cubin", "sass"};
    put_script("ptxas", "[ -f \"$6\" ] && echo words > \"$5\"");
    put_script("nvdisasm", "echo words");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        assert_int_equal(emit_once(targets[i]), VYRE_OK); /* the dialects of the process are made */
        VY_FAULT_LOOP_LENIENT(emit_once, targets[i]);     /* optimising may do without */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_listed_and_all_of_them_are_made),
        cmocka_unit_test(an_unknown_target_is_refused_with_a_fix),
        cmocka_unit_test(an_option_that_the_target_does_not_use_is_refused),
        cmocka_unit_test(values_out_of_range_are_refused),
        cmocka_unit_test(options_change_the_code_of_llvm),
        cmocka_unit_test(options_change_the_code_of_ptx),
        cmocka_unit_test(options_change_the_legal_program),
        cmocka_unit_test(a_program_of_level_legal_is_emitted_unchanged),
        cmocka_unit_test(calls_of_ops_are_resolved),
        cmocka_unit_test(a_library_has_nothing_to_emit),
        cmocka_unit_test(a_backend_emits_its_own_code),
        cmocka_unit_test(nvidias_programs_are_run_and_their_failures_are_named),
        cmocka_unit_test(a_missing_compiler_is_named),
        cmocka_unit_test(temporary_files_are_removed),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_toolkit, drop_toolkit);
}
