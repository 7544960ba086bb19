/* The binary interface: what is stored in abi/ still holds, and the comparison finds what would break a program built before. */
#include "support/test.h"

#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-abi-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static char output[1 << 16];

/* Runs a shell command, keeps what it prints in `output` and returns its exit status. */
static int shell(const char *format, ...) {
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = fread(output, 1, sizeof output - 1, pipe);
    output[size] = 0;
    while (fgetc(pipe) != EOF) /* what does not fit is not worth a broken pipe */
        continue;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(int wanted, int status) {
    if (status != wanted)
        fail_msg("status %d instead of %d:\n%s", status, wanted, output);
}

static const char *binary_dir(void) {
    const char *value = getenv("VYRE_BINARY_DIR");
    return value ? value : VYRE_BINARY_DIR;
}

static void need_the_tools(void) {
    if (VY_SANITIZED)
        VY_SKIP("this is a build with a sanitizer");
    if (access(vy_test_path("CMakeLists.txt"), R_OK) != 0)
        VY_SKIP("there is no source tree here");
    if (shell("command -v abidw abidiff bash cmake ninja") != 0)
        VY_SKIP("abidw and abidiff (abigail-tools), bash, cmake or ninja is missing");
    if (shell("test \"$(uname -m)\" = x86_64") != 0)
        VY_SKIP("the stored interface is that of x86_64");
}

static void the_interface_is_compatible_with_the_stored_one(void **state) {
    (void)state;
    need_the_tools();
    if (shell("readelf -S '%s/libvyre.so' | grep -q debug_info", binary_dir()) != 0)
        VY_SKIP("the library has no debug information to read");
    expect(0, shell("bash '%s' check '%s/libvyre.so' 2>&1", vy_test_path("tools/abi"), binary_dir()));
}

/* Builds the copy of the sources in the folder, or what changed in it. */
static void build_copy(void) {
    expect(0,
           shell("cd '%s' && cmake -G Ninja -S . -B build -DVYRE_TESTS=OFF -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-g "
                 "2>&1 && nice ninja -C build vyre-shared 2>&1",
                 folder));
}

/* Compares the copy with the library that was copied. */
static int compare_copy(void) {
    return shell("cd '%s' && bash tools/abi check build/libvyre.so include before.abi 2>&1", folder);
}

static void edit(const char *file, const char *expression) {
    expect(0, shell("cd '%s' && cp '%s' before && sed -i '%s' '%s' && ! cmp -s before '%s'", folder, file, expression,
                    file, file));
}

static void growth_is_compatible_and_what_moves_or_goes_is_not(void **state) {
    (void)state;
    need_the_tools();
    expect(0, shell("cd '%s' && tar --exclude=./.git --exclude=./build --exclude=./tests -cf - . | tar -C '%s' -xf -",
                    vy_test_source_dir(), folder));
    build_copy();
    expect(0,
           shell("cd '%s' && bash tools/abi update build/libvyre.so 2>&1 && cp abi/libvyre-*.abi before.abi", folder));
    expect(0, compare_copy());

    edit("include/vyre/backend.h", "s/^} vyre_device_profile;/    uint32_t grown;\\n&/");
    edit("include/vyre/base.h", "s/^VYRE_API const char \\*vyre_version(void);/&\\nVYRE_API int vyre_added(void);/");
    edit("src/base/status.c", "$ s/$/\\nint vyre_added(void) {\\n    return 1;\\n}/");
    build_copy();
    expect(0, compare_copy());

    edit("include/vyre/oracle.h", "s/^    uint64_t budget;/    uint32_t inserted;\\n&/");
    build_copy();
    expect(1, compare_copy());
    assert_non_null(strstr(output, "'uint32_t inserted'"));
    assert_non_null(strstr(output, "Fix: "));
    edit("include/vyre/oracle.h", "/^    uint32_t inserted;/ d");

    edit("cmake/libvyre.map", "s/local:/local: vyre_version;/");
    build_copy();
    expect(1, compare_copy());
    assert_non_null(strstr(output, "vyre_version"));
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interface_is_compatible_with_the_stored_one),
        IN_FOLDER(growth_is_compatible_and_what_moves_or_goes_is_not),
    };
    return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
