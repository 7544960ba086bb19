/* Tests that build things: a folder of their own, commands whose output is shown when they fail, and objects of the
 * build that is there already. */
#ifndef VY_TEST_SHELL_H
#define VY_TEST_SHELL_H

#include "support/test.h"

#include <sys/wait.h>
#include <unistd.h>

static char shell_folder[64];

static inline int make_folder(void **state) {
    (void)state;
    snprintf(shell_folder, sizeof shell_folder, "/tmp/vyre-build-XXXXXX");
    return mkdtemp(shell_folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", shell_folder);
    return system(command);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

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

static char shell_output[1 << 20], shell_command[4096];

static inline int shell_with(const char *format, va_list arguments) {
    int length = vsnprintf(shell_command, sizeof shell_command, format, arguments);
    assert_true(length > 0 && (size_t)length < sizeof shell_command);
    FILE *pipe = popen(shell_command, "r");
    assert_non_null(pipe);
    size_t size = fread(shell_output, 1, sizeof shell_output - 1, pipe);
    shell_output[size] = 0;
    while (fgetc(pipe) != EOF) /* what does not fit is not worth a broken pipe */
        continue;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs a command, keeps what it prints in shell_output and returns its exit status. */
__attribute__((format(printf, 1, 2))) static inline int shell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int status = shell_with(format, arguments);
    va_end(arguments);
    return status;
}

/* What a command prints; fails the test if the command does. */
__attribute__((format(printf, 1, 2))) static inline const char *run(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int status = shell_with(format, arguments);
    va_end(arguments);
    if (status != 0)
        fail_msg("status %d of: %s\n%s", status, shell_command, shell_output);
    return shell_output;
}

/* Options of cmake for another build of the library: objects are taken from this one, but for those that depend on a
 * file whose path matches (a pattern of awk). Empty where it is not known what objects depend on, or with VYRE_EFFORT:
 * then all of them are compiled. */
static inline const char *objects_but(const char *pattern) {
    static char options[2048];
    options[0] = 0;
    if (vy_test_effort() < 2 &&
        shell("ninja -C '%s' -t deps 2>&1 >'%s/deps' && awk '/^[^ ]/ {sub(/:$/, \"\", $1); object = $1} /^ / && $1 ~ "
              "\"%s\" {print object}' "
              "'%s/deps' | sort -u >'%s/compiled' && test -s '%s/compiled'",
              build_folder(), shell_folder, pattern, shell_folder, shell_folder, shell_folder) == 0)
        snprintf(options, sizeof options, "'-DCMAKE_C_COMPILER_LAUNCHER=sh;%s;%s;%s/compiled'",
                 vy_test_path("tests/build/reuse"), build_folder(), shell_folder);
    return options;
}

#endif
