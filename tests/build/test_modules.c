/* The layering of src/: tools/modules finds no upward include, no upward call and no cycle, and docs/architecture.svg
 * is current. */
#include "build/shell.h"

static void need_the_tree(void) {
    if (access(vy_test_path("tools/modules"), R_OK) != 0 || access(vy_test_path("src/base"), R_OK) != 0)
        VY_SKIP("there is no source tree here");
    if (system("python3 -c 'import json' 2>/dev/null") != 0)
        VY_SKIP("python3 is not installed");
}

/* Runs tools/modules with these options, in the folder of the repository. */
static int modules(const char *options) {
    return shell("cd '%s' && python3 tools/modules %s 2>&1", vy_test_source_dir(), options);
}

static void modules_include_and_call_only_lower_layers(void **state) {
    (void)state;
    need_the_tree();
    if (modules("") != 0)
        fail_msg("%s", shell_output);
}

static void the_diagram_shows_the_layers(void **state) {
    (void)state;
    need_the_tree();
    run("cd '%s' && python3 tools/modules --svg '%s/architecture.svg' 2>&1", vy_test_source_dir(), shell_folder);
    if (shell("cmp '%s' '%s/architecture.svg' 2>&1", vy_test_path("docs/architecture.svg"), shell_folder) != 0)
        fail_msg("%sFix: tools/modules --svg docs/architecture.svg", shell_output);
}

static void write_source(const char *path, const char *text) {
    char full[256];
    run("mkdir -p \"$(dirname '%s/%s')\"", shell_folder, path);
    snprintf(full, sizeof full, "%s/%s", shell_folder, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_finding(const char *finding) {
    if (!strstr(shell_output, finding))
        fail_msg("`%s` is not in:\n%s", finding, shell_output);
}

/* In a tree of a few files: the paths and lines of what is wrong, and nothing about what is right. */
static void upward_includes_calls_and_cycles_are_found(void **state) {
    (void)state;
    need_the_tree();
    write_source("include/vyre/base.h", "int vyre_up(void);\n");
    write_source("src/base/a.h", "int vy_a(void);\n");
    write_source("src/base/a.c", "#include \"base/a.h\"\n/* #include \"tool/t.h\" */\n#include \"driver/d.h\"\n"
                                 "int vy_a(void) {\n    return 0;\n}\n");
    write_source("src/driver/d.h", "#include \"base/a.h\"\n");
    write_source("src/driver/d.c", "#include \"vyre/base.h\"\n#include \"driver/d.h\"\n"
                                   "int vyre_up(void) {\n    return vy_a();\n}\n");
    write_source("src/oracle/o.c", "#include \"vyre/base.h\"\nstatic int call(void) {\n    return vyre_up();\n}\n");
    write_source("src/elsewhere/e.c", "\n");
    assert_int_equal(shell("python3 '%s' --root '%s' 2>&1", vy_test_path("tools/modules"), shell_folder), 1);
    expect_finding("src/base/a.c:3: upward include: base includes \"driver/d.h\" of driver\n");
    expect_finding("src/oracle/o.c:3: upward call: oracle uses vyre_up of driver (src/driver/d.c)\n");
    expect_finding("cycle of includes: {base, driver}: ");
    expect_finding("src/elsewhere/e.c: the folder src/elsewhere is not in LAYERS");
    assert_null(strstr(shell_output, "src/driver/d.h:"));
    assert_null(strstr(shell_output, "src/driver/d.c:"));
    assert_null(strstr(shell_output, "tool/t.h"));
}

static void a_stale_diagram_is_found(void **state) {
    (void)state;
    need_the_tree();
    run("cd '%s' && python3 tools/modules --svg '%s/a.svg' 2>&1", vy_test_source_dir(), shell_folder);
    shell("python3 '%s' --root '%s' --check-svg '%s/a.svg' 2>&1", vy_test_path("tools/modules"), shell_folder,
          shell_folder);
    assert_null(strstr(shell_output, "a.svg"));
    run("echo >>'%s/a.svg'", shell_folder);
    assert_int_equal(shell("python3 '%s' --root '%s' --check-svg '%s/a.svg' 2>&1", vy_test_path("tools/modules"),
                           shell_folder, shell_folder),
                     1);
    expect_finding("a.svg: not what LAYERS of tools/modules says");
}

static void json_has_every_module(void **state) {
    (void)state;
    need_the_tree();
    run("cd '%s' && { python3 tools/modules --json || test $? = 1; } | python3 -c 'import json, sys; d = "
        "json.load(sys.stdin); "
        "n = [m for l in d[\"layers\"] for m in l[\"modules\"]]; m = {x[\"name\"]: x for x in d[\"modules\"]}; "
        "sys.exit(any(x not in m for x in n) or m[\"base\"][\"tokens\"] < 10000 or m[\"base\"][\"lines\"] < 1000)'",
        vy_test_source_dir());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_include_and_call_only_lower_layers),
        IN_FOLDER(the_diagram_shows_the_layers),
        IN_FOLDER(upward_includes_calls_and_cycles_are_found),
        IN_FOLDER(a_stale_diagram_is_found),
        cmocka_unit_test(json_has_every_module),
    };
    return cmocka_run_group_tests_name("modules", tests, NULL, NULL);
}
