/* vyre emit with the compiler: the function is there, and nothing from outside. */
#include "support/test.h"

#include <unistd.h>

/* What a command prints on either stream; the exit code in *code. */
static char *output_of(const char *words, int *code) {
    static char text[1 << 20], command[2048];
    snprintf(command, sizeof command, "%s emit %s 2>&1", vy_test_command(), words);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = fread(text, 1, sizeof text - 1, pipe);
    text[size] = 0;
    *code = pclose(pipe);
    return text;
}

static char *emitted(const char *file, const char *options) {
    char words[1024];
    int code;
    snprintf(words, sizeof words, "%s %s", vy_test_path(file), options);
    char *text = output_of(words, &code);
    if (code != 0)
        fail_msg("%s: %.400s", words, text);
    return text;
}

static char *emitted_of(const char *source, const char *options) {
    char path[] = "emit_XXXXXX", words[256];
    int code, file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, source, strlen(source)), strlen(source));
    close(file);
    snprintf(words, sizeof words, "%s %s", path, options);
    char *text = output_of(words, &code);
    unlink(path);
    if (code != 0)
        fail_msg("%s: %.400s", words, text);
    return text;
}

static void ir_has_the_function(void **state) {
    (void)state;
    char *text = emitted("examples/saxpy.vyre", "--target llvm-ir --cpu x86-64-v3 --width 8");
    assert_non_null(strstr(text, "define void @saxpy(ptr"));
    assert_non_null(strstr(text, "<8 x float>"));
    assert_non_null(strstr(text, "@llvm.fma.v8f32"));
}

static void lanes_can_be_chosen(void **state) {
    (void)state;
    assert_non_null(strstr(emitted("examples/saxpy.vyre", "--cpu x86-64-v3 --width 16"), "<16 x float>"));
    assert_non_null(strstr(emitted("examples/saxpy.vyre", "--cpu x86-64-v4 --width 64"), "<64 x float>"));
    assert_non_null(strstr(emitted("examples/saxpy.vyre", "--cpu x86-64 --width 4"), "<4 x i32>"));
}

/* Few values: several registers each. Many: one each. */
static void lanes_fit_the_program(void **state) {
    (void)state;
    assert_non_null(strstr(emitted("examples/matmul.vyre", "--cpu x86-64-v4"), "<64 x float>"));
    assert_non_null(strstr(emitted("examples/sha256.vyre", "--cpu x86-64-v4"), "<16 x i32>"));
    assert_null(strstr(emitted("examples/sha256.vyre", "--cpu x86-64-v4"), "<32 x i32>"));
    assert_non_null(strstr(emitted("examples/sha256.vyre", "--cpu x86-64-v3"), "<8 x i32>"));
    assert_null(strstr(emitted("examples/sha256.vyre", "--cpu x86-64-v3"), "<16 x i32>"));
}

/* A polynomial waits for each result: more lanes, although not all values fit the registers. */
static void a_chain_of_float_operations_has_several_registers_for_a_value(void **state) {
    static const char text[] = "program p {\nbuffer x : f32 read\nbuffer y : f32 write count len(x)\nworkgroup 256\n"
                               "grid over x\nlet i = global_id.x\ny[i] = exp(x[i])\n}\n";
    (void)state;
    assert_non_null(strstr(emitted_of(text, "--cpu x86-64-v4"), "<64 x float>"));
    assert_non_null(strstr(emitted_of(text, "--cpu x86-64-v3"), "<16 x float>"));
}

static void assembly_has_the_function_and_calls_nobody_outside(void **state) {
    static const char *const files[] = {"examples/saxpy.vyre", "examples/matmul.vyre", "examples/mandelbrot.vyre",
                                        "examples/sha256.vyre"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *text = emitted(files[i], "--target asm --cpu x86-64-v3");
        assert_non_null(strstr(text, "@function"));
        assert_non_null(strstr(text, "ret"));
        assert_null(strstr(text, "@PLT"));
        assert_null(strstr(text, "GOTPCREL"));
    }
}

static void the_name_of_the_registry_is_taken(void **state) {
    (void)state;
    assert_non_null(strstr(emitted("examples/saxpy.vyre", "-t llvm"), "define void @saxpy"));
}

static void programs_of_level_legal_are_taken_as_they_are(void **state) {
    (void)state;
    assert_non_null(strstr(emitted("tests/compilers/legal.vyre", ""), "define void @copy"));
}

/* As backend `cpu` runs it: each stage is a program without grid barriers, with polls or without. */
static void a_program_with_grid_barriers_is_shown_in_its_stages(void **state) {
    static const char *const options[] = {"--target llvm-ir", "--target llvm-ir --cancellable"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char *text = emitted("tests/emit/ptx/golden/grid_traps.vyre", options[i]);
        assert_memory_equal(text, "; stage 1 of 2, a launch between grid barriers: grid_traps_0\n", 61);
        assert_non_null(strstr(text, "\n; stage 2 of 2, a launch between grid barriers: grid_traps_1\n"));
        assert_non_null(strstr(text, "define void @grid_traps_0(ptr"));
        assert_non_null(strstr(text, "define void @grid_traps_1(ptr"));
    }
    char *text = emitted("tests/emit/ptx/golden/grid_traps.vyre", "--target asm");
    assert_non_null(strstr(text, "\n# stage 2 of 2, a launch between grid barriers: grid_traps_1\n"));
}

static void nobody_takes_a_grid_barrier_for_one_of_the_workgroup(void **state) {
    char words[1024];
    int code;
    (void)state;
    snprintf(words, sizeof words, "%s", vy_test_path("tests/emit/ptx/golden/grid_barriers.vyre"));
    char *text = output_of(words, &code);
    assert_non_null(strstr(text, "the program `grid_barriers` has grid barriers"));
    assert_non_null(strstr(text, "Fix: split it at its grid barriers"));
    assert_int_not_equal(code, 0);
}

/* A plain store overtakes those past the caches, also one that is to release them. */
static void who_releases_by_a_store_stores_nothing_past_the_caches(void **state) {
    static const char text[] = "program copy {\nbuffer x : u32 read\nbuffer y : u32 write count len(x)\nbuffer f : "
                               "u32 read_write\nworkgroup 64\ngrid over x\nlet i = global_id.x\ny[i] = x[i]\n"
                               "atomic_store<%s>(f[0], 1)\n}\n";
    static const char *const orders[] = {"relaxed", "release"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char source[512];
        snprintf(source, sizeof source, text, orders[i]);
        assert_int_equal(strstr(emitted_of(source, "--width 16"), "!nontemporal") != NULL, i == 0);
    }
}

/* 64 loads in pieces, in four trips of four chunks: thirty times the code, were it written out. */
static void what_is_long_is_not_written_chunk_by_chunk_and_trip_by_trip(void **state) {
    char text[8192];
    (void)state;
    strcpy(text, "program long {\nlevel legal\nparam n : u32\nbuffer x : u32 read\nbuffer y : u32 read_write\n"
                 "workgroup 64\narray s : u32 [64] workgroup\nvar v = 1u32\n"
                 "for c in local_index .. 256u32 step 64u32 { v = v");
    for (int i = 0; i < 64; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " + x![c %% 18u32 * n + c / 18u32 + %du32]", 7 * i);
    strcat(text, " }\ns![local_index] = v\nbarrier\ny![global_id.x] = s![local_index ^ 1u32]\n}\n");
    assert_in_range(strlen(emitted_of(text, "--width 16 --target asm")), 1, 200000);
}

static void a_width_nobody_makes_is_refused(void **state) {
    char words[1024];
    int code;
    (void)state;
    snprintf(words, sizeof words, "%s --width 5", vy_test_path("examples/saxpy.vyre"));
    assert_non_null(strstr(output_of(words, &code), "the number of lanes is 5, not a power of two"));
    assert_int_not_equal(code, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ir_has_the_function),
        cmocka_unit_test(lanes_can_be_chosen),
        cmocka_unit_test(lanes_fit_the_program),
        cmocka_unit_test(a_chain_of_float_operations_has_several_registers_for_a_value),
        cmocka_unit_test(assembly_has_the_function_and_calls_nobody_outside),
        cmocka_unit_test(the_name_of_the_registry_is_taken),
        cmocka_unit_test(programs_of_level_legal_are_taken_as_they_are),
        cmocka_unit_test(a_program_with_grid_barriers_is_shown_in_its_stages),
        cmocka_unit_test(nobody_takes_a_grid_barrier_for_one_of_the_workgroup),
        cmocka_unit_test(who_releases_by_a_store_stores_nothing_past_the_caches),
        cmocka_unit_test(what_is_long_is_not_written_chunk_by_chunk_and_trip_by_trip),
        cmocka_unit_test(a_width_nobody_makes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
