/* What leaves the build: programs that need glibc alone, a library that exports only its own names, an installation
 * others can use. */
#include "build/shell.h"
#include "vyre/base.h"

#include <sys/stat.h>

static void the_bundle_needs_glibc_alone(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake pkg-config cc");
    run("cd '%s' && tools/device-bundle '%s' '%s/bundle'", vy_test_source_dir(), build_folder(), shell_folder);
    const char *glibc = "libc|libm|libmvec|libpthread|libdl|librt|ld-linux-x86-64|ld-linux-aarch64";
    /* cmocka has no static form in Debian, so the tests find it in the bundle itself; nothing else has that excuse. */
    const char *strict =
        run("cd %s/bundle && for f in bin/* bench/* examples/* libexec/*; do [ -x \"$f\" ] || continue; readelf -d "
            "\"$f\" | "
            "sed -n 's/.*NEEDED.*\\[\\(.*\\)\\].*/\\1/p' | grep -Ev '^(%s)\\.so' | sed \"s|^|$f |\"; done; true",
            shell_folder, glibc);
    assert_string_equal(strict, "");
    const char *loose =
        run("cd %s/bundle && for f in tests/* fuzz/* lib/*; do [ -f \"$f\" ] || continue; readelf -d \"$f\" | "
            "sed -n 's/.*NEEDED.*\\[\\(.*\\)\\].*/\\1/p' | grep -Ev '^(%s)\\.so' | "
            "while read -r n; do [ -f \"lib/$n\" ] || echo \"$f $n\"; done; done; true",
            shell_folder, glibc);
    assert_string_equal(loose, "");
    run("cd / && env -i '%s/bundle/tests/base.hash' 2>&1", shell_folder);
}

static void the_shared_library_exports_only_its_own_names(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake pkg-config cc");
    const char *others = run(
        "nm -D --defined-only '%s/libvyre.so' | awk '{print $3}' | grep -Ev '^(vyre_|VYRE_0$)'; true", build_folder());
    assert_string_equal(others, "");
    const char *version =
        run("nm -D --defined-only '%s/libvyre.so' | grep -c ' vyre_version@@VYRE_0$'", build_folder());
    assert_string_equal(version, "1\n");
    const char *name = run("readelf -d '%s/libvyre.so' | grep SONAME", build_folder());
    assert_non_null(strstr(name, "libvyre.so."));
}

/* A function that is exported is in a public header, and so among those that driver.null calls. */
static void every_exported_function_is_called_with_null(void **state) {
    (void)state;
    need_a_plain_build("nm awk grep");
    const char *others = run(
        "nm -D --defined-only '%s/libvyre.so' | awk '$2 == \"T\" {sub(/@.*/, \"\", $3); print $3}' | "
        "while read -r name; do grep -qF \"{\\\"$name\\\", \" '%s/generated/null_calls.inc' || echo \"$name\"; done",
        build_folder(), build_folder());
    assert_string_equal(others, "");
}

static void write_file(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", shell_folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char program[] =
    "#include <vyre/base.h>\n#include <stdio.h>\nint main(void) { puts(vyre_version()); return 0; }\n";

static void an_installed_library_is_found_and_linked(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake pkg-config cc");
    char expected[32];
    snprintf(expected, sizeof expected, "%s\n", vyre_version());
    const char *install = "cmake --install '%s' --prefix '%s/usr' 2>&1";
    run(install, build_folder(), shell_folder);
    write_file("use.c", program);
    const char *output = run("cd '%s' && export PKG_CONFIG_PATH=$(dirname $(find $PWD/usr -name vyre.pc)); "
                             "export LD_LIBRARY_PATH=$(dirname $(find $PWD/usr -name libvyre.a)); "
                             "cc use.c -o shared $(pkg-config --cflags --libs vyre) && ./shared && "
                             "rm usr/lib*/libvyre.so* usr/lib/*/libvyre.so* 2>/dev/null; "
                             "cc use.c -o static $(pkg-config --static --cflags --libs vyre) && ./static",
                             shell_folder);
    assert_true(strlen(output) == 2 * strlen(expected) && strncmp(output, expected, strlen(expected)) == 0);
    run(install, build_folder(), shell_folder);
    write_file("CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(use C)\nfind_package(vyre REQUIRED)\n"
                                 "add_executable(a use.c)\ntarget_link_libraries(a vyre::vyre)\n"
                                 "add_executable(b use.c)\ntarget_link_libraries(b vyre::static)\n");
    output = run("cd '%s' && cmake -S . -B out -DCMAKE_PREFIX_PATH=$PWD/usr >log 2>&1 && cmake --build out >>log 2>&1 "
                 "|| { cat log; exit 1; }; "
                 "out/a && out/b",
                 shell_folder);
    assert_true(strlen(output) == 2 * strlen(expected) && strncmp(output, expected, strlen(expected)) == 0);
}

/* A stranger's compiler: it leaves a file when it is run. */
static const char stranger[] = "#!/bin/sh\n: >\"$0.ran\"\n";
static const char compile_user[] =
    "#include <vyre/driver.h>\n#include <vyre/pipeline.h>\n#include <vyre/text.h>\n"
    "#include <stdio.h>\n#include <string.h>\n"
    "int main(void) {\n"
    "  static const char text[] = \"program p {\\n buffer y : u32 read_write\\n workgroup 1\\n grid over y\\n\"\n"
    "                             \" y[global_id.x] = 7\\n}\";\n"
    "  vyre_module *module;\n  vyre_backend *backend;\n  vyre_pipeline *pipeline;\n  vyre_error e;\n"
    "  if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &e) == VYRE_OK &&\n"
    "      vyre_acquire(\"cpu\", &backend, &e) == VYRE_OK &&\n"
    "      vyre_compile(backend, vyre_module_program(module, 0), NULL, &pipeline, &e) == VYRE_OK)\n"
    "    puts(\"compiled\");\n  else\n    puts(e.message);\n  return 0;\n}\n";

/* Wherever a build tree would have a folder `libexec`, seen from the shared library, a program and the command. */
static void installed_programs_load_no_code_from_folders_beside_them(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake pkg-config cc");
    run("cmake --install '%s' --prefix '%s/usr' 2>&1", build_folder(), shell_folder);
    write_file("stranger", stranger);
    write_file("use.c", compile_user);
    run("cd '%s' && libraries=$(dirname $(find $PWD/usr -name libvyre.a)) && mkdir -p usr/other/bin && "
        "export PKG_CONFIG_PATH=$libraries/pkgconfig && exec 2>&1 && "
        "cc use.c -o usr/other/bin/shared $(pkg-config --cflags --libs vyre) -Wl,-rpath,$libraries && "
        "cc use.c -o usr/other/bin/static $(pkg-config --cflags vyre) $libraries/libvyre.a "
        "$(pkg-config --libs --static libsodium) -pthread -ldl -lm && "
        "chmod 755 stranger && "
        "for d in usr/bin usr $libraries $(dirname $libraries) usr/other/bin usr/other; do mkdir -p $d/libexec && "
        "cp stranger $d/libexec/vyre-compiler-llvm || exit 1; done",
        shell_folder);
    /* An installed compiler may be there: then it is the one that is used. */
    const char *output = run("cd '%s' && export VYRE_CACHE_DIR=; for p in shared static; do usr/other/bin/$p; done; "
                             "usr/bin/vyre emit '%s' >text 2>&1 && echo compiled || cat text",
                             shell_folder, vy_test_path("examples/saxpy.vyre"));
    unsigned lines = 0;
    for (const char *at = output; (at = strchr(at, '\n')); at++)
        lines++;
    if (lines < 3 || (!strstr(output, "compiled\n") && !strstr(output, "is not installed")))
        fail_msg("%s", output);
    assert_string_equal(run("find '%s' -name '*.ran'", shell_folder), "");
}

/* A program of the build tree that was copied to a folder which every user can write to. */
static void a_shared_folder_is_not_searched_for_the_compiler(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake pkg-config cc");
    write_file("stranger", stranger);
    const char *output =
        run("cd '%s' && mkdir -p shared/libexec && cp '%s/vyre' shared/ && "
            "cp stranger shared/libexec/vyre-compiler-llvm && chmod 755 shared/libexec/vyre-compiler-llvm && "
            "chmod 777 shared && export VYRE_CACHE_DIR= && shared/vyre emit '%s' 2>&1; true",
            shell_folder, build_folder(), vy_test_path("examples/saxpy.vyre"));
    assert_non_null(strstr(output, "/shared` (mode 777"));
    assert_string_equal(run("find '%s' -name '*.ran'", shell_folder), "");
}

static const char plugin_user[] =
    "#include <vyre/registry.h>\n#include <stdio.h>\n"
    "int main(void) {\n  vyre_plugins_load_all(NULL, NULL);\n  const char *owner = vyre_backend_owner(\"fake-good\");\n"
    "  puts(owner ? owner : \"none\");\n  return 0;\n}\n";

/* Installs under the prefix, puts a plug-in there, and lets a program linked either way say where it found it. */
static void expect_plugins_of(const char *prefix) {
    run("make -C '%s' --no-print-directory install BUILD='%s/build' PREFIX='%s/%s' 2>&1", vy_test_source_dir(),
        shell_folder, shell_folder, prefix);
    write_file("use.c", plugin_user);
    const char *found =
        run("cd '%s' && libraries=$(dirname $(find $PWD/%s -name libvyre.a)) && mkdir -p $libraries/vyre && "
            "cp '%s/plugins/good.so' $libraries/vyre/ && export PKG_CONFIG_PATH=$libraries/pkgconfig && "
            "cc use.c -o shared $(pkg-config --cflags --libs vyre) -Wl,-rpath,$libraries && "
            "mkdir -p archive && cp $libraries/libvyre.a archive/ && "
            "cc use.c -o static $(pkg-config --cflags vyre) archive/libvyre.a "
            "$(pkg-config --libs --static libsodium) -pthread -ldl -lm && "
            "for p in shared static; do ./$p | sed \"s|$libraries/|own |\"; done",
            shell_folder, prefix, build_folder());
    assert_string_equal(found, "own vyre/good.so\nown vyre/good.so\n");
}

/* The compiler of this build, put where the installed library looks for it. */
static void expect_compiler_of(const char *prefix) {
    const char *emit = "cd '%s' && %s/bin/vyre emit '%s' 2>&1";
    if (shell("test -x '%s/libexec/vyre-compiler-llvm'", build_folder()) != 0)
        return;
    assert_int_not_equal(shell(emit, shell_folder, prefix, vy_test_path("examples/saxpy.vyre")), 0);
    assert_non_null(strstr(shell_output, "libexec/vyre/vyre-compiler-llvm)"));
    run("cd '%s' && mkdir -p %s/libexec/vyre && cp '%s/libexec/vyre-compiler-llvm' %s/libexec/vyre/", shell_folder,
        prefix, build_folder(), prefix);
    assert_non_null(strstr(run(emit, shell_folder, prefix, vy_test_path("examples/saxpy.vyre")), "define"));
}

static void every_installation_has_its_own_folder_of_plugins(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake pkg-config cc");
    char path[512];
    snprintf(path, sizeof path, "%s/plugins/good.so", build_folder());
    if (access(path, R_OK) != 0)
        VY_SKIP("the plug-ins for tests are not here (%s)", path);
    if (system("command -v make ninja >/dev/null") != 0)
        VY_SKIP("make or ninja is missing");
    run("cmake -G Ninja -S '%s' -B '%s/build' -DVYRE_TESTS=OFF -DVYRE_COMPILER=OFF %s 2>&1", vy_test_source_dir(),
        shell_folder, objects_but("/src/(driver/plugin|backends/cpu/compile).c$"));
    expect_plugins_of("one");
    expect_compiler_of("one");
    expect_plugins_of("two");
    run("make -C '%s' --no-print-directory install BUILD='%s/build' PREFIX=/opt/nowhere DESTDIR='%s/stage' 2>&1",
        vy_test_source_dir(), shell_folder, shell_folder);
    const char *staged = run("cd '%s/stage/opt/nowhere' && for f in lib*/libvyre.a lib*/libvyre.so bin/vyre; do "
                             "grep -q /opt/nowhere/lib[^/]*/vyre/ $f && grep -q /opt/nowhere/libexec/vyre $f && ! grep "
                             "-q '%s/stage' $f && echo $f; done | wc -l",
                             shell_folder, shell_folder);
    assert_string_equal(staged, "3\n");
}

static void public_headers_compile_alone_in_c_and_cpp(void **state) {
    (void)state;
    need_a_plain_build("readelf cmake pkg-config cc");
    int cpp = system("command -v c++ >/dev/null") == 0;
    run("cd '%s/include' && for h in vyre/*.h; do echo \"#include <$h>\" | cc -std=c11 -Wall -Wextra -Wpedantic "
        "-Werror -I. -fsyntax-only -x c - "
        "2>&1 || exit 1; %s done",
        vy_test_source_dir(),
        cpp ? "echo \"#include <$h>\" | c++ -std=c++11 -Wall -Wextra -Werror -I. -fsyntax-only -x c++ - 2>&1 || exit 1;"
            : "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(the_bundle_needs_glibc_alone),
        IN_FOLDER(the_shared_library_exports_only_its_own_names),
        IN_FOLDER(every_exported_function_is_called_with_null),
        IN_FOLDER(an_installed_library_is_found_and_linked),
        IN_FOLDER(installed_programs_load_no_code_from_folders_beside_them),
        IN_FOLDER(a_shared_folder_is_not_searched_for_the_compiler),
        IN_FOLDER(every_installation_has_its_own_folder_of_plugins),
        IN_FOLDER(public_headers_compile_alone_in_c_and_cpp),
    };
    return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
