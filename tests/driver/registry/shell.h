/* Tests that build things: a folder of their own, and commands whose output is shown when they fail. */
#ifndef VY_TEST_SHELL_H
#define VY_TEST_SHELL_H

#include "support/test.h"

#include <unistd.h>

static char shell_folder[64];

static inline int make_folder(void **state) {
    (void)state;
    snprintf(shell_folder, sizeof shell_folder, "/tmp/vyre-registry-XXXXXX");
    return mkdtemp(shell_folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", shell_folder);
    return system(command);
}

static inline const char *build_folder(void) {
    const char *value = getenv("VYRE_BINARY_DIR");
    return value ? value : VYRE_BINARY_DIR;
}

/* The sanitizers would have to be linked too, and a bundle has no build to look at. */
static inline void need_a_plain_build(const char *tools) {
    char command[256], library[1024];
    snprintf(library, sizeof library, "%s/libvyre.a", build_folder());
    snprintf(command, sizeof command, "for t in %s; do command -v $t >/dev/null || exit 1; done", tools);
    if (VY_SANITIZED)
        VY_SKIP("this is a build with a sanitizer");
    if (access(vy_test_path("CMakeLists.txt"), R_OK) != 0 || access(library, R_OK) != 0)
        VY_SKIP("there is no source tree with its build here");
    if (system(command) != 0)
        VY_SKIP("one of these is missing: %s", tools);
}

/* What a command prints, on both outputs, in a static buffer; fails the test if the command does. */
static inline const char *run(const char *format, ...) {
    static char output[1 << 16];
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_true(length > 0 && (size_t)length < sizeof command);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = fread(output, 1, sizeof output - 1, pipe);
    output[size] = 0;
    int status = pclose(pipe);
    if (status != 0)
        fail_msg("status %d of: %s\n%s", status, command, output);
    return output;
}

#endif
