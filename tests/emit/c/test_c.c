/* Emitted C as its callers see it: names, lengths, grids, traps, stopping, what is refused; and random programs under
 * the sanitizers of gcc and clang. Each program is compiled with a `main` of its own. */
#include "emit/c/compiled.h"

#include "backends/conform_campaign.h"
#include "base/file.h"

#include <time.h>

#define SANITIZE " -g -fsanitize=undefined,address -fno-sanitize-recover=all -Wall -Wextra -Werror "
static const char *const compilers[] = {"gcc -std=c17 -O1" SANITIZE, "clang -std=c17 -O1" SANITIZE, NULL};

static void command_succeeds(const char *command, const char *text) {
    if (system(command) != 0)
        fail_msg("`%s` fails for\n%s", command, text);
}

/* Compiles the file, whose `main` gives 0, and runs it. */
static void runs(const char *text, size_t size) {
    char folder[] = "/tmp/vyre-test-XXXXXX", path[64], command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/main.c", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
    for (int i = 0; compilers[i]; i++) {
        if (!compiled_has(compilers[i]))
            continue;
        snprintf(command, sizeof command, "cd %s && %s -o main main.c -lm && ./main", folder, compilers[i]);
        command_succeeds(command, text);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    command_succeeds(command, "");
}

/* The program's file, and a `main` of these statements behind it. */
static void gives_0(const char *source, int cancellable, const char *statements) {
    compiled c = {.cancellable = cancellable};
    vyre_program *program = vy_test_parse(source);
    char *emitted = compiled_emit(&c, program);
    vy_string text = {0};
    assert_non_null(emitted);
    vy_string_format(&text, "%s\nint main(void) {\n%s\nreturn 0;\n}\n", emitted, statements);
    assert_false(text.failed);
    runs(text.text, text.length);
    vy_string_free(&text);
    free(emitted);
    vyre_program_release(program);
}

static void lengths_params_and_grids_are_checked(void **state) {
    (void)state;
    gives_0("program p {\n param n : i32\n buffer x : u32 read_write\n buffer y : u32 write count len(x) * 2 - n\n"
            " workgroup 4\n grid n\n y[global_id.x] = x[global_id.x] + 1\n}\n",
            0,
            "uint32_t x[4] = {1, 2, 3, 4}, y[8] = {9, 9, 9, 9, 9, 9, 9, 9};\n"
            "struct p_arguments a = {.n = 1, .x = x, .x_length = 4, .y = y, .y_length = 7};\n"
            "if (p_run(&a) != 0 || y[0] != 2 || y[3] != 5 || y[6] != 0 || y[7] != 9) return 1;\n"
            "a.y_length = 8;\nif (p_run(&a) != 2) return 2;\n"           /* another count than is stated */
            "a.n = -1, a.y_length = 9;\nif (p_run(&a) != 2) return 3;\n" /* a negative param in a size */
            "a.n = 9, a.y_length = 0;\nif (p_run(&a) != 2) return 4;\n"  /* a count below zero */
            "a = (struct p_arguments){.n = 0, .x = NULL, .y = NULL};\nif (p_run(&a) != 0) return 5;\n"
            "a.groups[0] = 0x40000000u, a.groups[1] = 1, a.groups[2] = 1;\n"
            "if (p_run(&a) != 2) return 6;"); /* ids beyond 32 bits */
}

static void a_grid_comes_from_the_caller_or_the_program(void **state) {
    (void)state;
    gives_0("program p {\n buffer g : u32 read\n buffer x : u32 read_write\n workgroup 2\n grid indirect g[1]\n"
            " atomic_add(x[group_id.x], 1)\n}\n",
            0,
            "uint32_t g[4] = {9, 3, 1, 1}, x[4] = {0};\n"
            "struct p_arguments a = {.g = g, .g_length = 4, .x = x, .x_length = 4};\n"
            "if (p_run(&a) != 0 || x[0] != 2 || x[2] != 2 || x[3] != 0) return 1;\n"
            "a.groups[0] = a.groups[1] = a.groups[2] = 2;\n"
            "if (p_run(&a) != 0 || x[0] != 10 || x[1] != 10 || x[2] != 2) return 2;\n"
            "a.groups[2] = 0;\nif (p_run(&a) != 0 || x[0] != 10) return 3;\n"
            "a.groups[0] = a.groups[1] = 0, a.g_length = 3;\nif (p_run(&a) != 2) return 4;");
}

static void the_smallest_invocation_that_trapped_is_told(void **state) {
    (void)state;
    gives_0("program p {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
            " if x[i] > 4 { trap x[i] }\n barrier\n x[i] = 9\n}\n",
            0,
            "uint32_t x[12] = {1, 2, 3, 4, 4, 6, 5, 4, 8, 8, 8, 8};\n"
            "struct p_arguments a = {.x = x, .x_length = 12};\n"
            "if (p_run(&a) != 1 || a.trap_invocation != 5 || a.trap_code != 6) return 1;\n"
            "a.x_length = 4;\nif (p_run(&a) != 1 || a.trap_invocation != 0 || x[0] != 9) return 2;\n"
            "for (int i = 0; i < 4; i++) x[i] = 1;\nif (p_run(&a) != 0 || x[3] != 9) return 3;");
}

static void a_run_can_be_stopped(void **state) {
    (void)state;
    gives_0("program p {\n buffer x : u32 read_write\n workgroup 1\n grid over x\n"
            " while x[0] != 1 { x[0] = x[0] + 2 }\n}\n",
            1,
            "uint32_t x[1] = {0};\nint stop = 1;\nstruct p_arguments a = {.x = x, .x_length = 1, .stop = &stop};\n"
            "if (p_run(&a) != 4) return 1;\nx[0] = 1, a.stop = NULL;\nif (p_run(&a) != 0) return 2;\n");
}

static void all_invocations_meet_at_a_grid_barrier(void **state) {
    (void)state;
    gives_0("program p {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n var s = 0u32\n"
            " for k in 0u32 .. 3 {\n  s = x[(i + 5) % len(x)]\n  grid_barrier\n  x[i] = s\n  grid_barrier\n }\n}\n",
            0,
            "uint32_t x[16];\nfor (uint32_t i = 0; i < 16; i++) x[i] = i;\n"
            "struct p_arguments a = {.x = x, .x_length = 16};\nif (p_run(&a) != 0) return 1;\n"
            "for (uint32_t i = 0; i < 16; i++) if (x[i] != (i + 15) % 16) return 2;\n"
            "a.x_length = 0;\nif (p_run(&a) != 0) return 3;\n"
            "a.groups[0] = a.groups[1] = a.groups[2] = 0x3fffffff;\nif (p_run(&a) == 0) return 4;");
}

static void loops_end_where_their_type_ends(void **state) {
    (void)state;
    gives_0(
        "program p {\n param a : i8\n param z : i8\n param s : i8\n buffer x : i32 read_write\n workgroup 1\n grid 1\n"
        " for k in a .. z step s { x[0] = x[0] + 1; x[1] = i32(k) }\n"
        " for k in 250u8 .. 255 step 4 { x[2] = x[2] * 3 + i32(k) }\n"
        " for k in 9i64 .. -9223372036854775807i64 step -9223372036854775807i64 { x[3] = x[3] + 1 }\n"
        " for k in 0i32 .. 9 step 0 { x[3] = 100 }\n}\n",
        0,
        "int32_t x[4] = {0};\nstruct p_arguments a = {.a = -128, .z = 127, .s = 100, .x = x, .x_length = 4};\n"
        "if (p_run(&a) != 0 || x[0] != 3 || x[1] != 72 || x[2] != 1004 || x[3] != 2) return 1;\n"
        "x[0] = 0, a.a = 127, a.z = -128, a.s = -128;\nif (p_run(&a) != 0 || x[0] != 2 || x[1] != -1) return 2;\n"
        "x[0] = 0, a.s = 0;\nif (p_run(&a) != 0 || x[0] != 0) return 3;");
}

/* gcc 12 makes -b of 0.0f - b if it sees that b is not -0. */
static void zero_minus_zero_is_positive(void **state) {
    (void)state;
    gives_0("program p {\n buffer x : f32 read\n buffer n : i32 read\n buffer y : f64 write count 4\n workgroup 1\n "
            "grid 1\n"
            " y[0] = f64(0.0 - abs(x[0]))\n y[1] = 0.0 - f64(n[0])\n y[2] = f64(0.0 - (n[0] > 5 ? 1.0 : 0.0f32))\n"
            " let zero = 0.0f32\n y[3] = f64(zero - abs(abs(x[0])))\n}\n",
            0,
            "float x[1] = {-0.0f};\nint32_t n[1] = {0};\ndouble y[4] = {1, 1, 1, 1};\n"
            "struct p_arguments a = {.x = x, .x_length = 1, .n = n, .n_length = 1, .y = y, .y_length = 4};\n"
            "if (p_run(&a) != 0) return 1;\n"
            "for (int i = 0; i < 4; i++) if (y[i] != 0 || signbit(y[i])) return 2 + i;");
}

/* clang 14 returns the wrong zero if the function has several callers and one operand can only be a zero. */
static void extremes_of_zeros_have_the_right_sign(void **state) {
    (void)state;
    gives_0("program p {\n param v : i64\n buffer x : f64 read\n buffer y : u64 write count 4\n workgroup 1\n grid 1\n"
            " let zero = bitcast<f64>(v & (-9223372036854775807i64 - 1))\n"
            " y[0] = bitcast<u64>(max(zero, -0.0))\n y[1] = bitcast<u64>(min(zero, 0.0))\n"
            " y[2] = bitcast<u64>(max(x[0], x[1]))\n y[3] = bitcast<u64>(min(x[0], x[1]))\n}\n",
            0,
            "double x[2] = {-0.0, 0.0};\nuint64_t y[4] = {1, 1, 1, 1};\nconst uint64_t minus = 1ull << 63;\n"
            "struct p_arguments a = {.v = 5, .x = x, .x_length = 2, .y = y, .y_length = 4};\n"
            "if (p_run(&a) != 0 || y[0] != 0 || y[1] != 0 || y[2] != 0 || y[3] != minus) return 1;\n"
            "a.v = -5;\nif (p_run(&a) != 0 || y[0] != minus || y[1] != minus) return 2;");
}

/* clang 14 takes abs of a choice between -1 and 0 for 1, if the condition is on a load that is conditional. */
static void abs_of_a_choice_is_not_constant(void **state) {
    (void)state;
    gives_0("program p {\n buffer x : i32 read\n buffer y : i32 write\n workgroup 1\n grid over y\n"
            " let v = x[global_id.x + 1]\n y[global_id.x] = abs(0 / v) + reverse_bytes(1048576 << v)\n}\n",
            0,
            "int32_t x[3] = {7, 52, 0}, y[3] = {9, 9, 9};\n"
            "struct p_arguments a = {.x = x, .x_length = 3, .y = y, .y_length = 3};\n"
            "if (p_run(&a) != 0 || y[0] != 0 || y[1] != 0x1001 || y[2] != 0x1001) return 1;");
}

/* Compilers warn of x = x, also if a conversion to the type of x is not written. */
static void a_variable_is_not_assigned_to_itself(void **state) {
    (void)state;
    gives_0("program p {\n buffer x : i16 read_write\n workgroup 1\n grid over x\n var v = x[0]\n v = v\n"
            " if v > 3 { v = bitcast<i16>(v) } else { v = i16(bitcast<i16>(v)) }\n x[0] = v\n}\n",
            0,
            "int16_t x[1] = {5};\nstruct p_arguments a = {.x = x, .x_length = 1};\n"
            "if (p_run(&a) != 0 || x[0] != 5) return 1;");
}

static void names_that_c_has_are_changed(void **state) {
    (void)state;
    gives_0(
        "program main_ {\n param double : u32\n param EOF : u32\n param linux : u32\n param min_i32 : i32\n"
        " param _x : u32\n buffer self : u32 read_write\n buffer self_length : u32 read_write\n workgroup 1\n grid 1\n"
        " let int = double + EOF + linux + _x\n let memcpy = f32(int)\n let uint32_t = i32(memcpy)\n"
        " let global_id_x = min(uint32_t, min_i32)\n let sqrtf = sqrt(memcpy)\n"
        " self[0] = u32(global_id_x) + bitcast<u32>(sqrtf)\n self_length[0] = len(self)\n}\n",
        0,
        "uint32_t x[2] = {0}, y[1] = {0};\n"
        "struct main__arguments a = {1, 2, 3, 100, 3, x, 2, y, 1, {0}};\n"
        "if (main__run(&a) != 0 || x[0] != 0x40400000 + 9 || y[0] != 2) return 1;");
}

/* Names of the emitter's own functions, of functions of the C library, of macros with small letters. */
static void names_that_the_file_has_are_changed(void **state) {
    (void)state;
    gives_0("program p {\n const ids : u32[2] = [1, 2]\n const run : u32[2] = [3, 4]\n param min_i32 : i32\n"
            " param min_i32_ : i32\n param min_i32_2 : i32\n param math_errhandling : u32\n"
            " buffer x : u32 read_write\n workgroup 1\n grid 1\n let p_report = ids[x[0] & 1] + run[x[0] & 1]\n"
            " let p_poll = u32(min(min_i32, min_i32_) + min_i32_2)\n let M_PIl = math_errhandling\n"
            " if x[1] > 9 {\n  trap(7)\n }\n while x[1] > 1 {\n  x[1] = x[1] - 1\n }\n"
            " x[0] = p_report + p_poll * 16 + M_PIl * 256\n}\n",
            1,
            "uint32_t x[2] = {1, 3};\nstruct p_arguments a = {5, 2, 1, 3, x, 2, {0}, 0, 0, NULL, 0};\n"
            "if (p_run(&a) != 0 || x[0] != 6 + 3 * 16 + 3 * 256 || x[1] != 1) return 1;");
    gives_0("program at {\n const quick_exit : u32[2] = [1, 2]\n buffer x : u32 write\n workgroup 1\n grid len(x)\n"
            " x[global_id.x] = quick_exit[global_id.x & 1]\n}\n",
            0,
            "uint32_t x[2] = {0};\nstruct at_arguments a = {x, 2, {0}};\n"
            "if (at_run(&a) != 0 || x[1] != 2) return 1;");
}

static void names_may_have_the_largest_length(void **state) {
    char name[129], source[1024];
    (void)state;
    memset(name, 'a', 128);
    name[128] = 0;
    snprintf(source, sizeof source,
             "program %s {\n const %s : u32[2] = [1, 2]\n buffer x : u32 read_write\n workgroup 2\n grid 2\n"
             " for %.127s in 1 .. len(x) step len(x) {\n  x[global_id.x] = x[global_id.x] + %s[local_id.x]\n  barrier\n"
             " }\n}\n",
             name, name, name, name);
    gives_0(source, 0, "(void)0;");
}

/* gcc takes `^ 65535` of 16 bits for a complement, and warns of a comparison of it. */
static void complements_of_16_bits_are_compared(void **state) {
    (void)state;
    gives_0(
        "program p {\n buffer x : i16 read_write\n workgroup 1\n grid 1\n let a = x[0]\n"
        " if (u16(a) ^ 65535) == mul_high(u16(x[1]), 16383) {\n  x[2] = 7\n }\n}\n",
        0,
        "int16_t x[3] = {-1, 3, 0};\nstruct p_arguments a = {x, 3, {0}};\nif (p_run(&a) != 0 || x[2] != 7) return 1;");
}

/* 30000 variables of one name, as inlined ops have them, each get another: not in time that grows with the square. */
static void many_variables_may_have_one_name(void **state) {
    enum { COUNT = 30000, SECONDS = 10 };
    vy_string source = {0};
    compiled c = {0};
    (void)state;
    vy_string_add(&source, "program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n");
    for (unsigned i = 0; i < COUNT; i++)
        vy_string_add(&source, " if x[0] > 3 {\n  let a = x[1]\n  x[0] = a\n }\n");
    vy_string_add(&source, "}\n");
    vyre_program *program = vy_test_parse(source.text);
    const clock_t start = clock();
    char *emitted = compiled_emit(&c, program);
    assert_true(clock() - start < SECONDS * CLOCKS_PER_SEC);
    assert_non_null(strstr(emitted, " a_30000 ="));
    free(emitted);
    vyre_program_release(program);
    vy_string_free(&source);
}

/* The first comment names the source, which can be a file of any name. */
static void a_source_name_does_not_end_the_comment(void **state) {
    (void)state;
    const char *text = "program p {\n buffer x : u32 write\n workgroup 1\n grid 1\n x[0] = 3\n}\n";
    const vyre_parse_options options = {.file = "a*/*/b/*.vyre"};
    vyre_module *module = NULL;
    compiled c = {0};
    assert_int_equal(vyre_text_parse(text, strlen(text), &options, NULL, &module, NULL), VYRE_OK);
    char *emitted = compiled_emit(&c, vyre_module_program(module, 0));
    assert_non_null(emitted);
    vy_string file = {0};
    vy_string_format(&file, "%s\nint main(void) { return 0; }\n", emitted);
    runs(file.text, file.length);
    vy_string_free(&file);
    free(emitted);
    vyre_module_free(module);
}

static void another_file_can_declare_the_function(void **state) {
    (void)state;
    compiled c = {0};
    vyre_program *program =
        vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n x[0] = 7\n}\n");
    char *emitted = compiled_emit(&c, program);
    vy_string text = {0};
    vy_string_format(&text,
                     "#define VYRE_DECLARATIONS\n%s\n#undef VYRE_DECLARATIONS\n"
                     "int p_run(struct p_arguments *given) { return given->x_length == 3 ? 0 : 1; }\n"
                     "int main(void) { struct p_arguments a = {.x_length = 3}; return p_run(&a); }\n",
                     emitted);
    runs(text.text, text.length);
    vy_string_free(&text);
    free(emitted);
    vyre_program_release(program);
}

static void products_are_not_contracted(void **state) {
    (void)state;
    compiled c = {0};
    vyre_program *program = vy_test_parse("program p {\n buffer x : f32 read_write\n workgroup 8\n grid over x\n"
                                          " let i = global_id.x\n x[i] = x[i] * x[i] + x[i]\n}\n");
    char *emitted = compiled_emit(&c, program), folder[] = "/tmp/vyre-test-XXXXXX", path[64], command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/p.c", folder);
    assert_int_equal(vy_file_write(path, emitted, strlen(emitted), NULL), VYRE_OK);
#if defined __x86_64__
    const int is_x86 = 1;
#else
    const int is_x86 = 0;
#endif
    static const char *const fused[] = {"gcc -std=gnu17", "clang -std=gnu17", NULL};
    for (int i = 0; fused[i]; i++) {
        snprintf(
            command, sizeof command,
            "cd %s && %s -O3 -march=x86-64-v3 -S -o p.s p.c 2>/dev/null && grep -q vmulss p.s && ! grep -q vfmadd p.s",
            folder, fused[i]);
        if (compiled_has(fused[i]) && is_x86)
            command_succeeds(command, fused[i]);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    command_succeeds(command, "");
    free(emitted);
    vyre_program_release(program);
}

static void refused(const char *source, const char *message) {
    vyre_program *program = vy_test_parse(source);
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_emit(program, "c", NULL, &out, &error), VYRE_UNSUPPORTED);
    if (!strstr(error.message, message) || !strstr(error.fix, "level source"))
        fail_msg("%s\nFix: %s", error.message, error.fix);
    vyre_program_release(program);
}

static void what_was_legalised_for_others_is_refused(void **state) {
    (void)state;
    refused("program p {\n level legal\n buffer x : u32 read_write count 64\n workgroup 4\n grid 1\n"
            " let (a, b) = load_wide(x, 0)\n x![0] = a + b\n}\n",
            "wide accesses");
    refused("program p {\n level legal\n buffer x : u32 read_write count 64\n workgroup 4\n grid 1\n"
            " x![0] = subgroup_native_shuffle<4>(7, 0)\n}\n",
            "a collective");
    refused("program p {\n level legal\n buffer x : u32 read_write count 64\n workgroup 4\n grid 1\n x[0] = 1\n}\n",
            "bounds check");
    refused("program p {\n level legal\n buffer x : f16 read_write count 64\n workgroup 4\n grid 1\n"
            " x![0] = x![1] + x![2]\n}\n",
            "add");
}

/* ---- sanitizers ---- */

static void put_bytes(vy_string *out, const char *name, size_t i, const void *data, size_t size) {
    vy_string_format(out, "static const unsigned char %s%zu[] = {", name, i);
    for (size_t k = 0; k < size; k++)
        vy_string_format(out, "%u,", ((const uint8_t *)data)[k]);
    vy_string_add(out, size ? "};\n" : "0};\n");
}

/* A block that calls the program of a case on memory of its own. */
static void put_case(vy_string *main, const compiled_case *given) {
    static vy_resolved_dispatch launch;
    vyre_program *program = vyre_case_program(given->given);
    assert_int_equal(vy_resolve_dispatch(program, vyre_case_arguments(given->given), &launch, NULL), VYRE_OK);
    size_t buffers = vyre_program_buffer_count(program), params = vyre_program_param_count(program);
    vy_string_add(main, "{\n");
    for (size_t i = 0; i < buffers; i++)
        put_bytes(main, "d", i, launch.buffers[i].data, launch.buffers[i].data ? launch.buffers[i].bytes : 0);
    vy_string_format(main, "void *b[%zu] = {0}; uint64_t n[%zu] = {0}, p[%zu] = {0}, t[2];\n", buffers + 1, buffers + 1,
                     params + 1);
    for (size_t i = 0; i < params; i++)
        vy_string_format(main, "p[%zu] = %lluull;\n", i, (unsigned long long)launch.params[i]);
    for (size_t i = 0; i < buffers; i++) {
        const vy_resolved_buffer *buffer = &launch.buffers[i];
        vy_string_format(main, "b[%zu] = malloc(%llu), n[%zu] = %llu; (void)d%zu;\n", i,
                         (unsigned long long)buffer->bytes, i, (unsigned long long)buffer->count, i);
        if (buffer->data && buffer->bytes)
            vy_string_format(main, "memcpy(b[%zu], d%zu, %llu);\n", i, i, (unsigned long long)buffer->bytes);
    }
    vy_string_format(main, "const uint32_t g[3] = {%u, %u, %u};\nif (p%u_call(b, n, p, g, t) != %d) return 1;\n",
                     launch.groups[0], launch.groups[1], launch.groups[2], given->program,
                     given->expected.status == VYRE_TRAPPED);
    vy_string_format(main, "for (int i = 0; i < %zu; i++) free(b[i]);\n}\n", buffers);
}

static void random_programs_are_clean_under_sanitizers(void **state) {
    (void)state;
    compiled c = {.compilers = compilers};
    const unsigned count = (VY_SANITIZED ? 8 : 24) * vy_test_effort();
    vy_string text = {0};
    for (uint64_t seed = 1; seed <= count; seed++) {
        vyre_case *made = conform_generate(seed + 5000, 10);
        c.oracle.checks = 1;
        compiled_add(&c, "sanitized", vyre_case_program(made), vyre_case_arguments(made));
        vyre_case_free(made);
    }
    assert_true(c.cases.count * 2 > count);
    vy_string_append(&text, c.functions.text, c.functions.length);
    vy_string_append(&text, c.text.text, c.text.length);
    vy_string_add(&text, "int main(void) {\n");
    for (size_t i = 0; i < c.cases.count; i++)
        put_case(&text, &c.cases.items[i]);
    vy_string_add(&text, "return 0;\n}\n");
    assert_false(text.failed);
    runs(text.text, text.length);
    vy_string_free(&text);
    compiled_clear(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_params_and_grids_are_checked),
        cmocka_unit_test(a_grid_comes_from_the_caller_or_the_program),
        cmocka_unit_test(the_smallest_invocation_that_trapped_is_told),
        cmocka_unit_test(a_run_can_be_stopped),
        cmocka_unit_test(all_invocations_meet_at_a_grid_barrier),
        cmocka_unit_test(loops_end_where_their_type_ends),
        cmocka_unit_test(zero_minus_zero_is_positive),
        cmocka_unit_test(extremes_of_zeros_have_the_right_sign),
        cmocka_unit_test(abs_of_a_choice_is_not_constant),
        cmocka_unit_test(a_variable_is_not_assigned_to_itself),
        cmocka_unit_test(names_that_c_has_are_changed),
        cmocka_unit_test(names_that_the_file_has_are_changed),
        cmocka_unit_test(names_may_have_the_largest_length),
        cmocka_unit_test(complements_of_16_bits_are_compared),
        cmocka_unit_test(many_variables_may_have_one_name),
        cmocka_unit_test(a_source_name_does_not_end_the_comment),
        cmocka_unit_test(another_file_can_declare_the_function),
        cmocka_unit_test(products_are_not_contracted),
        cmocka_unit_test(what_was_legalised_for_others_is_refused),
        cmocka_unit_test(random_programs_are_clean_under_sanitizers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
