/* The worked examples of CONTRIBUTING.md: each patch of tests/contributing applies to the tree, and a copy of the tree
 * with all of them builds and shows the effect of each. */
#include "build/shell.h"

static const char *const patches[] = {"op", "pass", "backend", "diagnostic"};
enum { PATCH_COUNT = sizeof patches / sizeof *patches };

static void patches_apply_separately(void **state) {
    (void)state;
    need_a_plain_build("patch");
    for (size_t i = 0; i < PATCH_COUNT; i++)
        run("patch -s -p1 --dry-run -d '%s' <'%s/tests/contributing/%s.patch' 2>&1", vy_test_source_dir(),
            vy_test_source_dir(), patches[i]);
}

static void guide_names_every_file_of_the_patches(void **state) {
    (void)state;
    need_a_plain_build("sed grep");
    for (size_t i = 0; i < PATCH_COUNT; i++)
        run("cd '%s' && sed -n 's|^+++ b/||p' tests/contributing/%s.patch | while read -r f; do grep -qF \"$f\" "
            "CONTRIBUTING.md || { echo \"CONTRIBUTING.md does not name $f\"; exit 1; }; done",
            vy_test_source_dir(), patches[i]);
}

static void write_program(const char *name, const char *body) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", shell_folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "program p {\n  buffer x : u32 read\n  buffer y : u32 write count len(x)\n  workgroup 64\n"
            "  grid over y\n  let i = global_id.x\n  %s\n}\n",
            body);
    fclose(file);
}

static void expect(const char *command, const char *text) {
    const char *printed = run("cd '%s' && build/vyre %s 2>&1", shell_folder, command);
    if (!strstr(printed, text))
        fail_msg("`vyre %s` does not print `%s`, but:\n%s", command, text, printed);
}

/* A file of the patched tree does not compile after an edit by sed, and does without. */
static void needs(const char *file, const char *edit) {
    static const char *const compile = "cc -std=c17 -D_GNU_SOURCE -Wextra -Werror -fsyntax-only -Iinclude -Isrc -x c -";
    run("cd '%s/tree' && %s <%s 2>&1", shell_folder, compile, file);
    run("cd '%s/tree' && ! sed '%s' %s | %s 2>/dev/null", shell_folder, edit, file, compile);
}

static void build_the_patched_copy(void) {
    run("mkdir '%s/tree' '%s/tree/tests' && cd '%s' && cp -r CMakeLists.txt cmake include lib src tools '%s/tree' && "
        "cp -r tests/eval tests/tool '%s/tree/tests'",
        shell_folder, shell_folder, vy_test_source_dir(), shell_folder, shell_folder);
    for (size_t i = 0; i < PATCH_COUNT; i++)
        run("patch -s -p1 -d '%s/tree' <'%s/tests/contributing/%s.patch' 2>&1", shell_folder, vy_test_source_dir(),
            patches[i]);
    /* objects that no patch changes come from the build that is there */
    run("cd '%s' && cmake -G Ninja -S tree -B build -DVYRE_TESTS=OFF -DVYRE_WERROR=ON -DCMAKE_BUILD_TYPE=None "
        "-DCMAKE_C_FLAGS=-O0 %s 2>&1",
        shell_folder,
        objects_but("vyre/(op|builder|transform)[.]h$|codes_validate[.]def$|eval_integer[.]inc$|/(statements|builtin|"
                    "softlib|pass_manager)[.]c$"));
    /* of the compiler, which takes long, only the file that a patch changes */
    run("cd '%s' && ninja -C build vyre $(ninja -C build -t targets all | sed -n 's|: .*||p' | "
        "grep 'emit/llvm/op[.]c[.]o$') 2>&1",
        shell_folder);
}

static void patched_tree_builds_and_shows_the_effects(void **state) {
    (void)state;
    need_a_plain_build("patch cmake ninja cc python3");
    build_the_patched_copy();
    write_program("op.vyre", "y[i] = and_not(x[i], 5)");
    expect("run op.vyre x=1,7,12 --backend reference", "0  2  8");
    expect("emit op.vyre --target ptx", "and.b32");
    expect("ops and_not", "a & ~b");
    /* a row in the middle of the table changes no encoded program */
    run("cd '%s' && for f in saxpy sha256 nbody; do build/vyre encode '%s'/examples/$f.vyre -o patched && '%s' encode "
        "'%s'/examples/$f.vyre -o plain && cmp patched plain || exit 1; done 2>&1",
        shell_folder, vy_test_source_dir(), vy_test_command(), vy_test_source_dir());
    needs("src/emit/ptx/op.c", "/define ROW_AND_NOT/d");
    needs("src/ir/op_tables.c", "s/\\[tag\\] =/[(tag) % 2] =/");
    expect("encode op.vyre -o op.wire", "");
    expect("decode op.wire", "and_not(x[i], 5)");
    write_program("pass.vyre", "if popcount(x[i]) == 0 { y[i] = 1 }");
    expect("opt pass.vyre --pass popcount-test", "if x[i] == 0 {");
    expect("run op.vyre x=1,7,12 --backend echo", "p ran on echo");
    run("python3 '%s/tree/tools/modules' 2>&1", shell_folder);
    write_program("diagnostic.vyre", "if x[i] > 3 { }");
    expect("check diagnostic.vyre", "warning V108");
    expect("explain V108", "remove it, or add the missing statements");
    run("echo '#include \"eval/integer_model.h\"' | cc -std=gnu17 -fsyntax-only -I'%s/tree/include' -I'%s/tree/src' "
        "-I'%s/tree/tests' -I'%s' -x c - 2>&1",
        shell_folder, shell_folder, shell_folder, vy_test_path("tests"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patches_apply_separately),
        cmocka_unit_test(guide_names_every_file_of_the_patches),
        IN_FOLDER(patched_tree_builds_and_shows_the_effects),
    };
    return cmocka_run_group_tests_name("contributing", tests, NULL, NULL);
}
