/* The library itself built with LTO and a section for every object, by two compilers: none of its records, or of an
 * application's, is lost. Files that neither hold nor read records are built this way only at a higher effort level. */
#include "build/shell.h"

static void build_and_link(const char *compiler, const char *archiver, const char *linker) {
    char tools[64];
    snprintf(tools, sizeof tools, "%s %s bash cmake ninja", compiler, archiver);
    need_a_plain_build(tools);
    run("cmake -G Ninja -S '%s' -B '%s/%s' -DCMAKE_C_COMPILER=%s -DCMAKE_AR=$(command -v %s) -DVYRE_TESTS=OFF "
        "-DVYRE_COMPILER=OFF -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG= "
        "" /* no file is optimised more than others */
        "-DCMAKE_C_FLAGS='-O1 -flto -ffunction-sections -fdata-sections' "
        "-DCMAKE_SHARED_LINKER_FLAGS='%s -Wl,--gc-sections' %s 2>&1",
        vy_test_source_dir(), shell_folder, compiler, compiler, archiver, linker,
        objects_but("/src/(driver|dialect)/"));
    run("nice ninja -C '%s/%s' vyre-static vyre-shared 2>&1", shell_folder, compiler);
    const char *output =
        run("bash '%s' '%s' '%s/%s' '%s/links' lto %s 2>&1", vy_test_path("tests/driver/registry/links"),
            vy_test_source_dir(), shell_folder, compiler, shell_folder, compiler);
    print_message("%s", output);
    assert_non_null(strstr(output, " 0 failed"));
}

static void gcc_keeps_the_records_of_a_library_with_lto(void **state) {
    (void)state;
    build_and_link("gcc", "gcc-ar", "");
}

/* A second build of everything doubles the time. */
static void clang_keeps_the_records_of_a_library_with_lto(void **state) {
    (void)state;
    if (vy_test_effort() < 2)
        VY_SKIP("a second build with LTO: set VYRE_EFFORT=2");
    build_and_link("clang", "llvm-ar", "-fuse-ld=lld");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(gcc_keeps_the_records_of_a_library_with_lto),
        IN_FOLDER(clang_keeps_the_records_of_a_library_with_lto),
    };
    return cmocka_run_group_tests_name("registry library", tests, NULL, NULL);
}
