/* Manifests become dialects of the registry: all of one or nothing. */
#include "dialect/load.h"
#include "dialect/manifests.h"

static const char twice[] = "dialect = \"demo\"\nversion = \"1.0.0\"\n[[op]]\nid = \"f\"\n"
                            "signature = \"fn f(x: u32) -> u32\"\nbody = \"fn f(x: u32) -> u32 { return x + x }\"\n";
static const char thrice[] =
    "dialect = \"demo\"\nversion = \"1.1.0\"\n[[op]]\nid = \"f\"\n"
    "signature = \"fn f(x: u32) -> u32\"\nbody = \"fn f(x: u32) -> u32 { return x * 3 }\"\n"
    "[[op]]\nid = \"g\"\nsignature = \"fn g() -> u32\"\nbody = \"fn g() -> u32 { return 7 }\"\n";
static const char broken[] = "dialect = \"demo\"\nversion = \"1\"\n[[op]]\nid = \"f\"\n"
                             "signature = \"fn f(x: u32) -> u32\"\nbody = \"fn f(x: u32) -> u32 { return y }\"\n";

/* ---- the standard library ---- */

static void the_first_snapshot_has_the_standard_library(void **state) {
    (void)state;
    vyre_dialects_guard guard;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_dialects_global(&guard, &error) != VYRE_OK)
        fail_msg("%s (%s)", error.message, error.where);
    const vyre_op_definition *op = vyre_dialects_find(guard, "bits.extract_u32", 16);
    assert_non_null(op);
    assert_non_null(op->body);
    assert_string_equal(op->owner, "libvyre");
    const char *name;
    vyre_span bytes;
    size_t manifests = 0;
    for (size_t i = 0; vy_standard_library_file(i, &name, &bytes); i++)
        manifests += strstr(name, ".toml") != NULL;
    assert_int_equal(vyre_dialects_dialect_count(guard), manifests);
    assert_int_equal(vyre_dialects_verify(guard, NULL), VYRE_OK);
    vyre_dialects_release(&guard);
}

static void every_file_of_lib_is_embedded_as_it_is(void **state) {
    (void)state;
    const char *name;
    vyre_span bytes;
    size_t i = 0;
    for (; vy_standard_library_file(i, &name, &bytes); i++) {
        char path[128];
        vyre_bytes file = VYRE_BYTES_INIT;
        snprintf(path, sizeof path, "lib/%s", name);
        assert_int_equal(vy_file_read(vy_test_path(path), SIZE_MAX, &file, NULL), VYRE_OK);
        assert_int_equal(file.size, bytes.size);
        assert_memory_equal(file.data, bytes.data, bytes.size);
        vyre_bytes_free(&file);
    }
    assert_true(i >= 24);
}

/* ---- texts ---- */

static void a_text_is_loaded_replaced_and_taken_out(void **state) {
    (void)state;
    assert_int_equal(vyre_dialects_load_text("mine", twice, strlen(twice), NULL, NULL), VYRE_OK);
    assert_string_equal(manifests_version("demo"), "1.0.0");
    assert_false(manifests_has("demo.g"));
    assert_int_equal(vyre_dialects_load_text("mine", thrice, strlen(thrice), NULL, NULL), VYRE_OK);
    assert_string_equal(manifests_version("demo"), "1.1.0");
    assert_true(manifests_has("demo.g"));
    assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK);
    assert_null(manifests_version("demo"));
    assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_NOT_FOUND);
}

static void a_bad_text_changes_nothing_and_says_everything(void **state) {
    (void)state;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_dialects_load_text("mine", twice, strlen(twice), NULL, NULL), VYRE_OK);
    uint64_t before = manifests_generation();
    assert_int_equal(vyre_dialects_load_text("mine", broken, strlen(broken), list, &error), VYRE_INVALID_PROGRAM);
    assert_int_equal(manifests_generation(), before);
    assert_int_equal(vyre_diagnostics_errors(list), 2); /* the version, and y in the body */
    assert_string_equal(vyre_diagnostics_get(list, 0)->file, "mine");
    assert_int_equal(vyre_diagnostics_get(list, 1)->line, 6);
    assert_true(*error.fix != 0);
    assert_string_equal(manifests_version("demo"), "1.0.0");
    assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK);
    vyre_diagnostics_free(list);
}

static void a_text_names_no_files(void **state) {
    (void)state;
    const char text[] = "dialect = \"demo\"\nversion = \"1.0.0\"\nfile = \"a.vyre\"\n[[op]]\nid = \"f\"\n"
                        "signature = \"fn f(x: u32) -> u32\"\n";
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_dialects_load_text("mine", text, strlen(text), NULL, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "a.vyre"));
    assert_int_equal(vyre_dialects_load_text("", text, strlen(text), NULL, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_dialects_load_text("mine", NULL, 1, NULL, NULL), VYRE_INVALID_ARGUMENT);
}

static void another_provider_is_refused_at_the_name_of_the_dialect(void **state) {
    (void)state;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_dialects_load_text("mine", twice, strlen(twice), NULL, NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_load_text("yours", thrice, strlen(thrice), list, &error), VYRE_CONFLICT);
    assert_non_null(strstr(error.message, "mine"));
    assert_non_null(strstr(error.message, "yours"));
    assert_string_equal(vyre_diagnostics_get(list, 0)->code, "D120");
    assert_int_equal(vyre_diagnostics_get(list, 0)->line, 1);
    assert_string_equal(manifests_version("demo"), "1.0.0");
    assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK);
    vyre_diagnostics_free(list);
}

static void a_requirement_is_met_by_version_or_refused(void **state) {
    (void)state;
    const char wants[] = "dialect = \"user\"\nversion = \"1.0.0\"\n[requires]\n%s = \"%s\"\n";
    static const struct {
        const char *dialect, *version;
        vyre_status status;
    } rows[] = {{"bits", "1.0.0", VYRE_OK},
                {"bits", "0.9.99", VYRE_OK},
                {"bits", "900.0.0", VYRE_CONFLICT},
                {"nothing", "1.0.0", VYRE_NOT_FOUND}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        vyre_diagnostics *list = vyre_diagnostics_new();
        int size = snprintf(text, sizeof text, wants, rows[i].dialect, rows[i].version);
        assert_int_equal(vyre_dialects_load_text("mine", text, (size_t)size, list, NULL), rows[i].status);
        assert_int_equal(manifests_version("user") != NULL, rows[i].status == VYRE_OK);
        if (rows[i].status != VYRE_OK) {
            assert_string_equal(vyre_diagnostics_get(list, 0)->code, "D119");
            assert_int_equal(vyre_diagnostics_get(list, 0)->line, 4);
        } else {
            assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK);
        }
        vyre_diagnostics_free(list);
    }
}

/* ---- bodies that call ops ---- */

static void what_bodies_call_is_there_and_fits(void **state) {
    (void)state;
    static const struct {
        const char *body, *says; /* NULL: fine */
    } rows[] = {{"let y : u32 = bits.parity_u32(x)\nreturn y", NULL},
                {"return bits.parity_u32(x) + bits.parity_u32(x << 1)", NULL},
                {"let y : u32 = calls.other(x)\nreturn y", NULL},
                {"let y : u32 = bits.partiy_u32(x)\nreturn y", "bits.partiy_u32"},
                {"let y : u32 = bits.parity_u32(x, x)\nreturn y", "requires 1 argument"},
                {"let y : f32 = bits.parity_u32(x)\nreturn u32(y)", "declared as f32"},
                {"let y : u32 = calls.one(x)\nreturn y", "one"},
                {"let y : u32 = calls.back(x)\nreturn y", "back"}};
    const char format[] =
        "dialect = \"calls\"\nversion = \"1.0.0\"\n[[op]]\nid = \"one\"\nsignature = \"fn one(x: u32) -> u32\"\n"
        "body = '''\nfn one(x: u32) -> u32 {\n%s\n}'''\n"
        "[[op]]\nid = \"other\"\nsignature = \"fn other(x: u32) -> u32\"\n"
        "body = \"fn other(x: u32) -> u32 { return x }\"\n"
        "[[op]]\nid = \"back\"\nsignature = \"fn back(x: u32) -> u32\"\n"
        "body = \"fn back(x: u32) -> u32 { let y : u32 = calls.one(x)\\n return y }\"\n";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        vyre_error error = VYRE_ERROR_INIT;
        vyre_diagnostics *list = vyre_diagnostics_new();
        int size = snprintf(text, sizeof text, format, rows[i].body);
        vyre_status status = vyre_dialects_load_text("mine", text, (size_t)size, list, &error);
        if ((status == VYRE_OK) != !rows[i].says || (rows[i].says && !strstr(error.message, rows[i].says)))
            fail_msg("%s: %s, %s", rows[i].body, vyre_status_name(status), error.message);
        assert_int_equal(manifests_has("calls.one"), !rows[i].says);
        if (rows[i].says) {
            /* At the call where the op is known while reading, else at the op that calls. */
            const vyre_diagnostic *first = vyre_diagnostics_get(list, 0);
            int is_known = strcmp(first->code, "D122") != 0;
            assert_int_equal(is_known, strstr(rows[i].body, "bits.parity_u32") != NULL);
            assert_int_equal(first->line, is_known ? 8 : 3);
        } else {
            assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK);
        }
        vyre_diagnostics_free(list);
    }
}

/* ---- laws ---- */

static void a_false_law_refuses_the_manifest_with_a_counterexample(void **state) {
    (void)state;
    const char format[] = "dialect = \"laws\"\nversion = \"1.0.0\"\n[[op]]\nid = \"f\"\n"
                          "signature = \"fn f(x: u32) -> u32\"\nlaws = [\n\"monotone\",\n\"%s\" ]\n"
                          "body = \"fn f(x: u32) -> u32 { return x / 2 }\"\n";
    static const char *const last[] = {"monotone", "involution"};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        vyre_error error = VYRE_ERROR_INIT;
        vyre_diagnostics *list = vyre_diagnostics_new();
        int size = snprintf(text, sizeof text, format, last[i]);
        uint64_t before = manifests_generation();
        vyre_status status = vyre_dialects_load_text("mine", text, (size_t)size, list, &error);
        if (i == 0) {
            assert_int_equal(status, VYRE_OK);
            assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK);
        } else {
            assert_int_equal(status, VYRE_INVALID_PROGRAM);
            assert_int_equal(manifests_generation(), before);
            assert_int_equal(vyre_diagnostics_errors(list), 1);
            assert_string_equal(vyre_diagnostics_get(list, 0)->code, "D123");
            assert_int_equal(vyre_diagnostics_get(list, 0)->line, 8);
            assert_non_null(strstr(error.message, " at a = "));
        }
        vyre_diagnostics_free(list);
    }
}

/* ---- files ---- */

static void a_file_with_bodies_beside_it_is_loaded(void **state) {
    const char *folder = *state;
    char path[600];
    manifests_write(folder, "demo.toml",
                    "dialect = \"demo\"\nversion = \"1.0.0\"\nfile = \"sub/demo.vyre\"\n[[op]]\nid = \"f\"\n"
                    "signature = \"fn f(x: u32) -> u32\"\n");
    manifests_folder(folder, "sub");
    manifests_write(folder, "sub/demo.vyre", "fn f(x: u32) -> u32 { return x }\n");
    snprintf(path, sizeof path, "%s/demo.toml", folder);
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_dialects_load_file(path, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_true(manifests_has("demo.f"));
    /* By its path, however that is written. */
    snprintf(path, sizeof path, "%s/./sub/../demo.toml", folder);
    assert_int_equal(vyre_dialects_unload(path, NULL), VYRE_OK);
    assert_false(manifests_has("demo.f"));
}

static void a_file_that_is_none_is_an_error_with_a_finding(void **state) {
    const char *folder = *state;
    char path[600];
    vyre_diagnostics *list = vyre_diagnostics_new();
    snprintf(path, sizeof path, "%s/absent.toml", folder);
    assert_int_equal(vyre_dialects_load_file(path, list, NULL), VYRE_NOT_FOUND);
    assert_string_equal(vyre_diagnostics_get(list, 0)->code, "D121");
    assert_int_equal(vyre_dialects_load_file(folder, list, NULL), VYRE_IO);
    assert_int_equal(vyre_dialects_load_file("", list, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_dialects_load_file(NULL, list, NULL), VYRE_INVALID_ARGUMENT);
    vyre_diagnostics_free(list);
}

/* The file outside has a line that no finding may show. */
static void a_manifest_that_is_a_link_out_of_its_folder_is_refused(void **state) {
    const char *folder = *state;
    char path[600], target[600];
    manifests_write(folder, "outside", "secret = line of another file\n");
    manifests_folder(folder, "in");
    snprintf(path, sizeof path, "%s/in/a.toml", folder);
    const char *const targets[] = {"../outside", target, "../absent"};
    snprintf(target, sizeof target, "%s/outside", folder);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        assert_int_equal(symlink(targets[i], path), 0);
        for (int whole = 0; whole < 2; whole++) {
            vyre_error error;
            vyre_bytes json = VYRE_BYTES_INIT;
            vyre_diagnostics *list = vyre_diagnostics_new();
            char in[600];
            snprintf(in, sizeof in, "%s/in", folder);
            vyre_status status =
                whole ? vyre_dialects_load_folder(in, list, &error) : vyre_dialects_load_file(path, list, &error);
            assert_int_equal(status, VYRE_INVALID_ARGUMENT);
            assert_non_null(strstr(error.message, "is a symbolic link that leads out of its folder"));
            assert_int_equal(vyre_diagnostics_count(list), 1);
            assert_string_equal(vyre_diagnostics_get(list, 0)->code, "D121");
            assert_int_equal(vyre_diagnostics_render_json(list, &json, NULL), VYRE_OK);
            if (memmem(json.data, json.size, "secret", 6))
                fail_msg("%.*s", (int)json.size, (const char *)json.data);
            vyre_bytes_free(&json);
            vyre_diagnostics_free(list);
        }
        assert_int_equal(unlink(path), 0);
    }
}

static void a_pipe_does_not_block(void **state) {
    const char *folder = *state;
    char path[600];
    snprintf(path, sizeof path, "%s/pipe.toml", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(vyre_dialects_load_file(path, NULL, NULL), VYRE_IO);
    assert_int_equal(vyre_dialects_load_folder(folder, NULL, NULL), VYRE_IO);
}

/* ---- folders ---- */

/* From C the environment variable of the command has no effect: the fix for an unknown op names a function, and calling
 * it works. The op is looked up by the parser, and by the linker if its result type is written. */
static void the_fix_for_an_unknown_op_is_a_call_that_works(void **state) {
    static const char *const texts[] = {
        "program p { buffer y : u32 read_write; workgroup 1; let a = far.away(1u32); y[0] = a }",
        "program p { buffer y : u32 read_write; workgroup 1; let a : u32 = far.away(1u32); y[0] = a }"};
    const char *folder = *state;
    for (size_t i = 0; i < 2; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        vyre_module *module = NULL;
        vyre_program *resolved = NULL;
        vyre_dialects_guard guard;
        vyre_status status = vyre_text_parse(texts[i], strlen(texts[i]), NULL, NULL, &module, &error);
        if (status == VYRE_OK) {
            assert_int_equal(vyre_dialects_global(&guard, NULL), VYRE_OK);
            status = vyre_program_resolve(vyre_module_program(module, 0), guard, NULL, &resolved, &error);
            vyre_dialects_release(&guard);
        }
        assert_int_not_equal(status, VYRE_OK);
        vyre_module_free(module);
        assert_non_null(strstr(error.fix, "(vyre_dialects_load_folder)"));
        assert_null(strstr(error.fix, "VYRE_DIALECT_PATH"));
    }
    manifests_write(folder, "far.toml",
                    "dialect = \"far\"\nversion = \"1.0.0\"\n[[op]]\nid = \"away\"\n"
                    "signature = \"fn away(x: u32) -> u32\"\nbody = \"fn away(x: u32) -> u32 { return x + 1 }\"\n");
    assert_int_equal(vyre_dialects_load_folder(folder, NULL, NULL), VYRE_OK);
    for (size_t i = 0; i < 2; i++) {
        vyre_program *program = vy_test_parse(texts[i]), *resolved = NULL;
        vyre_dialects_guard guard;
        assert_int_equal(vyre_dialects_global(&guard, NULL), VYRE_OK);
        assert_int_equal(vyre_program_resolve(program, guard, NULL, &resolved, NULL), VYRE_OK);
        vyre_dialects_release(&guard);
        vyre_program_release(resolved);
        vyre_program_release(program);
    }
}

static void a_folder_is_one_snapshot(void **state) {
    const char *folder = *state;
    /* They require each other, and one is not a manifest by its name. */
    manifests_write(folder, "a.toml", "dialect = \"a\"\nversion = \"1.0.0\"\n[requires]\nb = \"2.0.0\"\n");
    manifests_write(folder, "b.toml", "dialect = \"b\"\nversion = \"2.0.0\"\n[requires]\na = \"1.0.0\"\n");
    manifests_write(folder, ".hidden.toml", "no manifest");
    manifests_write(folder, "readme.txt", "no manifest");
    uint64_t before = manifests_generation();
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_dialects_load_folder(folder, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(manifests_generation(), before + 1);
    assert_non_null(manifests_version("a"));
    assert_non_null(manifests_version("b"));
    manifests_unload(folder, "a.toml");
    manifests_unload(folder, "b.toml");
}

static void one_bad_manifest_keeps_the_whole_folder_out(void **state) {
    const char *folder = *state;
    vyre_diagnostics *list = vyre_diagnostics_new();
    manifests_write(folder, "a.toml", "dialect = \"a\"\nversion = \"1.0.0\"\n");
    manifests_write(folder, "b.toml", broken);
    manifests_write(folder, "c.toml", "= 3\n");
    uint64_t before = manifests_generation();
    assert_int_equal(vyre_dialects_load_folder(folder, list, NULL), VYRE_INVALID_PROGRAM);
    assert_int_equal(manifests_generation(), before);
    assert_int_equal(vyre_diagnostics_errors(list), 3);
    vyre_diagnostics_free(list);
}

static void files_of_a_folder_may_exchange_their_dialects(void **state) {
    const char *folder = *state;
    manifests_write(folder, "a.toml", "dialect = \"a\"\nversion = \"1.0.0\"\n");
    manifests_write(folder, "b.toml", "dialect = \"b\"\nversion = \"2.0.0\"\n");
    assert_int_equal(vyre_dialects_load_folder(folder, NULL, NULL), VYRE_OK);
    manifests_write(folder, "a.toml", "dialect = \"b\"\nversion = \"1.0.0\"\n");
    manifests_write(folder, "b.toml", "dialect = \"a\"\nversion = \"2.0.0\"\n");
    assert_int_equal(vyre_dialects_load_folder(folder, NULL, NULL), VYRE_OK);
    assert_string_equal(manifests_version("a"), "2.0.0");
    assert_string_equal(manifests_version("b"), "1.0.0");
    manifests_unload(folder, "a.toml");
    manifests_unload(folder, "b.toml");
}

static void folders_that_are_none_are_errors(void **state) {
    const char *folder = *state;
    char path[600];
    snprintf(path, sizeof path, "%s/absent", folder);
    assert_int_equal(vyre_dialects_load_folder(path, NULL, NULL), VYRE_NOT_FOUND);
    assert_int_equal(vyre_dialects_load_folder("", NULL, NULL), VYRE_INVALID_ARGUMENT);
    snprintf(path, sizeof path, "%s/file", folder);
    manifests_write(folder, "file", "");
    assert_int_equal(vyre_dialects_load_folder(path, NULL, NULL), VYRE_IO);
}

static void the_path_variable_names_folders(void **state) {
    const char *folder = *state;
    char value[1300];
    manifests_folder(folder, "x");
    manifests_folder(folder, "y");
    manifests_write(folder, "x/a.toml", "dialect = \"a\"\nversion = \"1.0.0\"\n");
    manifests_write(folder, "y/b.toml", "dialect = \"b\"\nversion = \"2.0.0\"\n");
    snprintf(value, sizeof value, ":%s/x::%s/absent:%s/y/", folder, folder, folder);
    setenv("VYRE_DIALECT_PATH", value, 1);
    vyre_diagnostics *list = vyre_diagnostics_new();
    assert_int_equal(vyre_dialects_load_path(list, NULL), VYRE_OK);
    assert_int_equal(vyre_diagnostics_count(list), 1);
    const vyre_diagnostic *missing = vyre_diagnostics_get(list, 0);
    assert_int_equal(missing->severity, VYRE_SEVERITY_WARNING);
    assert_string_equal(missing->code, "D126");
    assert_non_null(strstr(missing->message, "/absent` does not exist"));
    vyre_diagnostics_free(list);
    assert_int_equal(vyre_dialects_load_path(NULL, NULL), VYRE_OK);
    assert_non_null(manifests_version("a"));
    assert_non_null(manifests_version("b"));
    manifests_unload(folder, "x/a.toml");
    manifests_unload(folder, "y/b.toml");
    unsetenv("VYRE_DIALECT_PATH");
    assert_int_equal(vyre_dialects_load_path(NULL, NULL), VYRE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_snapshot_has_the_standard_library),
        cmocka_unit_test(every_file_of_lib_is_embedded_as_it_is),
        cmocka_unit_test(a_text_is_loaded_replaced_and_taken_out),
        cmocka_unit_test(a_bad_text_changes_nothing_and_says_everything),
        cmocka_unit_test(a_text_names_no_files),
        cmocka_unit_test(another_provider_is_refused_at_the_name_of_the_dialect),
        cmocka_unit_test(a_requirement_is_met_by_version_or_refused),
        cmocka_unit_test(what_bodies_call_is_there_and_fits),
        cmocka_unit_test(a_false_law_refuses_the_manifest_with_a_counterexample),
        MANIFESTS_TEST(a_file_with_bodies_beside_it_is_loaded),
        MANIFESTS_TEST(a_file_that_is_none_is_an_error_with_a_finding),
        MANIFESTS_TEST(a_manifest_that_is_a_link_out_of_its_folder_is_refused),
        MANIFESTS_TEST(a_pipe_does_not_block),
        MANIFESTS_TEST(the_fix_for_an_unknown_op_is_a_call_that_works),
        MANIFESTS_TEST(a_folder_is_one_snapshot),
        MANIFESTS_TEST(one_bad_manifest_keeps_the_whole_folder_out),
        MANIFESTS_TEST(files_of_a_folder_may_exchange_their_dialects),
        MANIFESTS_TEST(folders_that_are_none_are_errors),
        MANIFESTS_TEST(the_path_variable_names_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
