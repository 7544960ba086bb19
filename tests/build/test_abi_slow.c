/* The binary interface: what is stored in abi/ still holds, and the comparison finds what would break a program built
 * before. */
#include "build/shell.h"

static void expect(int wanted, int status) {
    if (status != wanted)
        fail_msg("status %d instead of %d:\n%s", status, wanted, shell_output);
}

static void need_the_tools(void) {
    need_a_plain_build("abidw abidiff bash cmake ninja readelf");
    if (shell("test \"$(uname -m)\" = x86_64") != 0)
        VY_SKIP("the stored interface is that of x86_64");
    if (shell("readelf -S '%s/libvyre.so' | grep -q debug_info", build_folder()) != 0)
        VY_SKIP("the library has no debug information to read");
}

static void the_interface_is_compatible_with_the_stored_one(void **state) {
    (void)state;
    need_the_tools();
    expect(0, shell("bash '%s' check '%s/libvyre.so' 2>&1", vy_test_path("tools/abi"), build_folder()));
}

/* Builds the copy of the sources in the folder, or what changed in it. */
static void build_copy(void) {
    expect(0, shell("cd '%s' && nice ninja -C build vyre-shared 2>&1", shell_folder));
}

/* Compares the copy with the library that is built from what was copied. */
static int compare_copy(void) {
    return shell("cd '%s' && bash tools/abi check build/libvyre.so include before.abi 2>&1", shell_folder);
}

static void edit(const char *file, const char *expression) {
    expect(0, shell("cd '%s' && cp '%s' before && sed -i '%s' '%s' && ! cmp -s before '%s'", shell_folder, file,
                    expression, file, file));
}

static void growth_is_compatible_and_what_moves_or_goes_is_not(void **state) {
    (void)state;
    need_the_tools();
    expect(0, shell("cd '%s' && tar --exclude=./.git --exclude=./build --exclude=./tests -cf - . | tar -C '%s' -xf -",
                    vy_test_source_dir(), shell_folder));
    expect(0, shell("cd '%s' && bash tools/abi update '%s/libvyre.so' 2>&1 && cp abi/libvyre-*.abi before.abi",
                    shell_folder, build_folder()));

    edit("include/vyre/manifest.h", "s/^} vyre_dialects_watch_options;/    uint32_t grown;\\n&/");
    edit("include/vyre/manifest.h",
         "s/^VYRE_API vyre_status vyre_dialects_unload(.*);/&\\nVYRE_API int vyre_added(void);/");
    edit("src/dialect/load.c", "$ s/$/\\nint vyre_added(void) {\\n    return 1;\\n}/");
    expect(0, shell("cd '%s' && cmake -G Ninja -S . -B build -DVYRE_TESTS=OFF -DVYRE_COMPILER=OFF %s 2>&1",
                    shell_folder, objects_but("include/vyre/(manifest|interop).h$")));
    build_copy();
    expect(0, compare_copy());
    expect(0, shell("nm -D '%s/build/libvyre.so' | grep -w vyre_added",
                    shell_folder)); /* it is the copy that was compared */

    edit("include/vyre/interop.h", "s/^    uint64_t size;/    uint32_t inserted;\\n&/");
    build_copy();
    expect(1, compare_copy());
    assert_non_null(strstr(shell_output, "'uint32_t inserted'"));
    assert_non_null(strstr(shell_output, "Fix: "));
    edit("include/vyre/interop.h", "/^    uint32_t inserted;/ d");

    edit("cmake/libvyre.map", "s/local:/local: vyre_version;/");
    build_copy();
    expect(1, compare_copy());
    assert_non_null(strstr(shell_output, "vyre_version"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interface_is_compatible_with_the_stored_one),
        IN_FOLDER(growth_is_compatible_and_what_moves_or_goes_is_not),
    };
    return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
