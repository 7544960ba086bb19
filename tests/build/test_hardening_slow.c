/* Hardening of what is built and installed: every ELF file of an installation, the programs of the build tree, and the
 * objects of the static library. */
#include "build/shell.h"

/* 1 if the build found that the compiler knows an option. */
static int has(const char *variable) {
    return shell("grep -q '^%s:INTERNAL=1$' '%s/CMakeCache.txt'", variable, build_folder()) == 0;
}

static void need_an_optimised_build(void) {
    need_a_plain_build("readelf cmake cc");
    if (shell("grep -Eq '^CMAKE_BUILD_TYPE:[A-Z]*=(RelWithDebInfo|Release)$' '%s/CMakeCache.txt'", build_folder()) != 0)
        VY_SKIP("this is not a release build");
}

/* Writes the paths of the ELF files to check to `files`: all of an installation, and their counterparts of the build
 * tree. */
static void list_files(void) {
    run("cmake --install '%s' --prefix '%s/usr' 2>&1", build_folder(), shell_folder);
    run("cd '%s' && { find \"$PWD/usr\" -type f; ls '%s/vyre' '%s/libvyre.so'; } | while read -r f; do "
        "[ \"$(head -c 4 \"$f\" | tail -c 3)\" = ELF ] && echo \"$f\"; done >files; cat files",
        shell_folder, build_folder(), build_folder());
    assert_non_null(strstr(shell_output, "/bin/vyre\n"));
    assert_non_null(strstr(shell_output, "/libvyre.so."));
}

/* Each file whose description (a command that reads "$f") does not have the pattern, or has it if `is_absent`. */
static void expect_each(const char *describe, const char *pattern, int is_absent) {
    const char *failing = run("cd '%s' && while read -r f; do %s | grep -Eq '%s' %s echo \"$f\"; done <files; true",
                              shell_folder, describe, pattern, is_absent ? "&&" : "||");
    if (failing[0])
        fail_msg("`%s` is %s of:\n%s", pattern, is_absent ? "part" : "no part", failing);
}

static void relocations_are_read_only_from_the_start(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake cc");
    list_files();
    expect_each("readelf -lW \"$f\"", "GNU_RELRO", 0);
    expect_each("readelf -dW \"$f\"", "FLAGS_1.*NOW", 0);
    expect_each("readelf -dW \"$f\"", "TEXTREL", 1);
}

static void no_memory_of_a_file_is_writable_and_executable(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake cc");
    list_files();
    expect_each("readelf -lW \"$f\"", "GNU_STACK.* RW +0x", 0);
    expect_each("readelf -lW \"$f\"", " RWE ", 1);
}

static void executables_are_position_independent(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake cc");
    list_files();
    expect_each("readelf -hW \"$f\"", "Type: +DYN", 0);
    run("cd '%s' && while read -r f; do readelf -lW \"$f\" | grep -q INTERP && echo \"$f\"; done <files >programs; "
        "mv programs files; test -s files",
        shell_folder);
    expect_each("readelf -dW \"$f\"", "FLAGS_1.*PIE", 0);
}

static void what_is_installed_finds_libraries_in_the_folders_of_the_system(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake cc");
    list_files();
    run("cd '%s' && grep usr/ files >installed && mv installed files", shell_folder);
    expect_each("readelf -dW \"$f\"", "RPATH|RUNPATH", 1);
}

static void stacks_and_copies_are_checked(void **state) {
    (void)state;
    need_an_optimised_build();
    list_files();
    if (has("VYRE_HAS_fstack_protector_strong"))
        expect_each("readelf -W --dyn-syms \"$f\"", "__stack_chk_fail", 0);
    expect_each("readelf -W --dyn-syms \"$f\"", "__[a-z]+_chk(@|$)", 0); /* by us, by CFLAGS or by the compiler */
}

/* The linker keeps the note only if every object has it, those of the C library and of libsodium too. */
static void indirect_branches_are_marked(void **state) {
    (void)state;
    need_an_optimised_build();
    if (!has("VYRE_HAS_fcf_protection_full"))
        VY_SKIP("the compiler has no -fcf-protection");
    const char *without =
        run("cd '%s' && ar t libvyre.a | wc -l && readelf -n libvyre.a | grep -c 'IBT, SHSTK'", build_folder());
    unsigned objects = 0, marked = 0;
    assert_int_equal(sscanf(without, "%u %u", &objects, &marked), 2);
    assert_true(objects > 100);
    assert_int_equal(marked, objects);
    if (shell("readelf -n $(cc -print-file-name=crti.o) | grep -q 'IBT, SHSTK' && "
              "readelf -n $(cc -print-file-name=libsodium.a) | grep -q 'IBT, SHSTK'") != 0)
        return;
    run("ls '%s/libvyre.so' '%s/vyre' >'%s/files'", build_folder(), build_folder(), shell_folder);
    expect_each("readelf -n \"$f\"", "IBT, SHSTK", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(relocations_are_read_only_from_the_start),
        IN_FOLDER(no_memory_of_a_file_is_writable_and_executable),
        IN_FOLDER(executables_are_position_independent),
        IN_FOLDER(what_is_installed_finds_libraries_in_the_folders_of_the_system),
        IN_FOLDER(stacks_and_copies_are_checked),
        IN_FOLDER(indirect_branches_are_marked),
    };
    return cmocka_run_group_tests_name("hardening", tests, NULL, NULL);
}
