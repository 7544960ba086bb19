/* Manifests: what is read can be installed; files stay in their folder; any input, any failing allocation.
 * test_manifest_golden.c has what is said about mistakes. */
#include "dialect/manifest.h"

#include "base/file.h"
#include "base/string.h"
#include "dialect/opdef.h"
#include "support/fault.h"
#include "support/test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static const char rich[] =
    "dialect = \"demo\"\n"
    "version = \"1.2.3\"\n"
    "requires = { bits = \"1.0.0\" }\n"
    "[[op]]\n"
    "id = \"join\"\n"
    "category = \"intrinsic\"\n"
    "doc = \"Joins.\"\n"
    "signature = \"fn join(a: u32, b: u32) -> u32\"\n"
    "laws = [\"commutative\", { law = \"identity\", value = 0 }, { law = \"absorption\", op = \"meet\" }]\n"
    "lowering = { mine = \"or\" }\n"
    "body = '''\n"
    "fn join(a: u32, b: u32) -> u32 {\n"
    "  return a | b\n"
    "}\n"
    "'''\n"
    "[[op]]\n"
    "id = \"meet\"\n"
    "file = \"ops.vyre\"\n"
    "signature = \"fn meet(a: u32, b: u32) -> u32\"\n"
    "[[op]]\n"
    "id = \"shift\"\n"
    "file = \"ops.vyre\"\n"
    "signature = \"fn shift(x: u32) -> u32\"\n"
    "attributes = [{ name = \"by\", type = \"u32\", default = 1, range = [0, 31] },\n"
    "  { name = \"left\", type = \"bool\", values = [true, false] }]\n"
    "[[op]]\n"
    "id = \"add_T\"\n"
    "types = [\"u8\", \"u32\"]\n"
    "signature = \"fn add_T(a: T, b: T) -> T\"\n"
    "laws = [{ law = \"identity\", value = 0 }]\n"
    "body = \"fn add_T(a: T, b: T) -> T { return a + b }\"\n";

static const char ops[] = "fn meet(a: u32, b: u32) -> u32 { return a & b }\n"
                          "fn shift(x: u32, by: u32, left: bool) -> u32 { return left ? x << by : x >> by }\n";

/* A folder of one file. */
static vyre_status give_ops(void *user, const char *name, vyre_bytes *out, vyre_error *error) {
    unsigned *count = user;
    if (count)
        ++*count;
    assert_string_equal(name, "ops.vyre");
    vyre_status status = vyre_bytes_resize(out, strlen(ops), error);
    if (status == VYRE_OK)
        memcpy(out->data, ops, strlen(ops));
    return status;
}

static vyre_status parse(const char *text, size_t size, vyre_diagnostics *found, vy_manifest **out, vyre_error *error) {
    vyre_status status = vy_manifest_parse("demo.toml", text, size, give_ops, NULL, found, out, error);
    assert_true((status == VYRE_OK) == (*out != NULL));
    return status;
}

static void what_is_read_can_be_installed_and_found(void **state) {
    const vyre_op_definition *definitions[8];
    vyre_dialect_builder *builder;
    unsigned reads = 0;
    vyre_error error;
    vy_manifest *manifest;
    (void)state;
    if (vy_manifest_parse("demo.toml", rich, strlen(rich), give_ops, &reads, NULL, &manifest, &error) != VYRE_OK)
        fail_msg("refused: %s (%s)", error.message, error.where);
    assert_int_equal(reads, 1); /* one file, however many ops name it */
    assert_int_equal(manifest->op_count, 5);
    for (uint32_t i = 0; i < manifest->op_count; i++)
        definitions[i] = &manifest->ops[i].definition;
    assert_int_equal(vyre_dialect_builder_new(&builder, &error), VYRE_OK);
    if (vyre_dialect_builder_replace(builder, &manifest->dialect, definitions, manifest->op_count, &error) != VYRE_OK)
        fail_msg("not added: %s", error.message);
    assert_int_equal(vyre_dialects_install(builder, &error), VYRE_OK);
    vyre_dialect_builder_free(builder);
    vy_manifest_free(manifest); /* the registry keeps copies */
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_op_definition *op = vyre_dialects_find(guard, "demo.shift", strlen("demo.shift"));
    assert_non_null(op);
    assert_string_equal(op->owner, "demo.toml");
    assert_string_equal(op->version, "1.2.3");
    assert_int_equal(op->attribute_count, 2);
    assert_non_null(op->body);
    vyre_dialects_release(&guard);
}

static void an_attribute_allows_what_its_manifest_says(void **state) {
    vyre_error error;
    vy_manifest *manifest;
    (void)state;
    assert_int_equal(parse(rich, strlen(rich), NULL, &manifest, &error), VYRE_OK);
    const vy_manifest_op *op = &manifest->ops[2];
    const vyre_attribute *by = &op->definition.attributes[0], *left = &op->definition.attributes[1];
    assert_true(vy_attribute_allows(by, 0) && vy_attribute_allows(by, 31));
    assert_false(vy_attribute_allows(by, 32));
    assert_true(vy_attribute_allows(left, 0) && vy_attribute_allows(left, 1));
    assert_false(vy_attribute_allows(left, 2));
    vyre_attribute anything = {.type = VYRE_TYPE_U32};
    assert_true(vy_attribute_allows(&anything, UINT32_MAX));
    vy_manifest_free(manifest);
}

static void an_error_names_the_first_finding_and_counts_the_rest(void **state) {
    static const char text[] = "dialect = 1\nversion = \"1\"\n[[op]]\n";
    vyre_error error;
    vy_manifest *manifest;
    (void)state;
    assert_int_equal(parse(text, strlen(text), NULL, &manifest, &error), VYRE_INVALID_PROGRAM);
    assert_string_equal(error.where, "demo.toml:1:11");
    assert_non_null(strstr(error.message, "D103"));
    assert_non_null(strstr(error.message, "more errors"));
}

static void every_manifest_of_the_page_is_right(void **state) {
    vyre_bytes page = VYRE_BYTES_INIT;
    vyre_error error;
    unsigned count = 0;
    (void)state;
    assert_int_equal(vy_file_read(vy_test_path("docs/dialects.md"), SIZE_MAX, &page, NULL), VYRE_OK);
    assert_int_equal(vyre_bytes_resize(&page, page.size + 1, NULL), VYRE_OK);
    for (char *at = page.data; (at = strstr(at, "\n```toml\n")); count++) {
        vy_manifest *manifest;
        at += strlen("\n```toml\n");
        char *end = strstr(at, "\n```");
        assert_non_null(end);
        if (parse(at, (size_t)(end - at), NULL, &manifest, &error) != VYRE_OK)
            fail_msg("%s (%s)\n%.*s", error.message, error.where, (int)(end - at), at);
        vy_manifest_free(manifest);
    }
    assert_true(count > 0);
    vyre_bytes_free(&page);
}

static void every_manifest_of_the_standard_library_is_right(void **state) {
    char path[1024];
    unsigned count = 0;
    const struct dirent *entry;
    vyre_error error;
    DIR *directory = opendir(vy_test_path("lib"));
    (void)state;
    assert_non_null(directory);
    while ((entry = readdir(directory))) {
        const char *ending = strrchr(entry->d_name, '.');
        vy_manifest *manifest;
        if (!ending || strcmp(ending, ".toml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", vy_test_path("lib"), entry->d_name);
        if (vy_manifest_load(path, NULL, &manifest, &error) != VYRE_OK)
            fail_msg("%s: %s (%s)", entry->d_name, error.message, error.where);
        assert_true(manifest->op_count > 0);
        vy_manifest_free(manifest);
        count++;
    }
    closedir(directory);
    assert_true(count > 0);
}

/* ---- files ---- */

static char folder[] = "/tmp/vyre-manifest-XXXXXX";

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text) {
    assert_int_equal(vy_file_write(path_of(name), text, strlen(text), NULL), VYRE_OK);
}

/* Loads a manifest with one op whose body is in the file of that name. */
static vyre_status load_with(const char *file, vyre_error *error) {
    char text[512];
    vy_manifest *manifest;
    snprintf(text, sizeof text,
             "dialect = \"demo\"\nversion = \"1.0.0\"\n[[op]]\nid = \"f\"\nsignature = \"fn f()\"\nfile = \"%s\"\n",
             file);
    write_text("in/demo.toml", text);
    vyre_status status = vy_manifest_load(path_of("in/demo.toml"), NULL, &manifest, error);
    vy_manifest_free(manifest);
    return status;
}

static int make_folders(void **state) {
    (void)state;
    if (!mkdtemp(folder) || mkdir(path_of("in"), 0700) != 0 || mkdir(path_of("in/below"), 0700) != 0)
        return -1;
    write_text("outside.vyre", "fn f() {}\n");
    write_text("in/plain.vyre", "fn f() {}\n");
    write_text("in/below/deep.vyre", "fn f() {}\n");
    return symlink("../outside.vyre", path_of("in/out.vyre")) || symlink("plain.vyre", path_of("in/link.vyre")) ||
           symlink("..", path_of("in/up")) || symlink("below", path_of("in/folder")) ||
           symlink("loop.vyre", path_of("in/loop.vyre")) || mkfifo(path_of("in/pipe.vyre"), 0600);
}

static int remove_folders(void **state) {
    static const char *const names[] = {"outside.vyre", "in/plain.vyre", "in/below/deep.vyre", "in/out.vyre",
                                        "in/link.vyre", "in/up",         "in/folder",          "in/loop.vyre",
                                        "in/pipe.vyre", "in/demo.toml"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(path_of(names[i]));
    rmdir(path_of("in/below"));
    rmdir(path_of("in"));
    return rmdir(folder);
}

static void a_body_comes_from_inside_the_folder_only(void **state) {
    static const char *const inside[] = {"plain.vyre", "below/deep.vyre", "link.vyre", "folder/deep.vyre"};
    static const char *const refused[] = {"out.vyre",
                                          "up/outside.vyre",
                                          "../outside.vyre",
                                          "below/../plain.vyre",
                                          "below//x.vyre",
                                          "loop.vyre",
                                          "pipe.vyre",
                                          "below",
                                          "",
                                          "absent.vyre",
                                          "plain.vyre/"};
    vyre_error error;
    (void)state;
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (load_with(inside[i], &error) != VYRE_OK)
            fail_msg("%s is refused: %s", inside[i], error.message);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (load_with(refused[i], &error) != VYRE_INVALID_PROGRAM)
            fail_msg("`%s` is not refused", refused[i]);
        assert_non_null(strstr(error.message, "D110"));
    }
    assert_int_equal(load_with(path_of("in/plain.vyre"), &error), VYRE_INVALID_PROGRAM);
}

static void a_manifest_that_is_not_there_is_not_found(void **state) {
    vyre_error error;
    vy_manifest *manifest;
    (void)state;
    assert_int_equal(vy_manifest_load(path_of("in/none.toml"), NULL, &manifest, &error), VYRE_NOT_FOUND);
    assert_null(manifest);
}

/* ---- any input ---- */

static void every_beginning_of_a_manifest_is_read_or_refused(void **state) {
    (void)state;
    for (size_t size = 0; size < sizeof rich; size += 3) {
        vyre_diagnostics *found = vyre_diagnostics_new();
        vy_manifest *manifest;
        vyre_status status = parse(rich, size, found, &manifest, NULL);
        assert_true((status == VYRE_OK) == (vyre_diagnostics_errors(found) == 0));
        vy_manifest_free(manifest);
        vyre_diagnostics_free(found);
    }
}

/* Minutes if anything were quadratic. */
static void many_ops_take_time_in_proportion(void **state) {
    vy_string text = {0};
    vyre_error error;
    vy_manifest *manifest;
    (void)state;
    vy_string_add(&text, "dialect = \"demo\"\nversion = \"1.0.0\"\nfile = \"ops.vyre\"\n");
    for (int i = 0; i < 20000; i++)
        vy_string_format(
            &text, "[[op]]\nid = \"op%d\"\nfunction = \"meet\"\nsignature = \"fn meet(a: u32, b: u32) -> u32\"\n", i);
    if (parse(text.text, text.length, NULL, &manifest, &error) != VYRE_OK)
        fail_msg("refused: %s", error.message);
    assert_int_equal(manifest->op_count, 20000);
    vy_manifest_free(manifest);
    vy_string_free(&text);
}

static vyre_status read_once(void *user) {
    const char *text = user;
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_error error;
    vy_manifest *manifest;
    vyre_status status = parse(text, strlen(text), found, &manifest, &error);
    assert_true(status == VYRE_OK || (*error.message && *error.fix));
    vy_manifest_free(manifest);
    vyre_diagnostics_free(found);
    return status;
}

static vyre_status read_wrong(void *user) {
    vyre_status status = read_once(user);
    assert_int_not_equal(status, VYRE_OK);
    return status == VYRE_INVALID_PROGRAM ? VYRE_OK : status;
}

static void any_allocation_may_fail(void **state) {
    static const char wrong[] =
        "dialect = \"demo\"\nversion = \"1\"\n[[op]]\nid = \"a\"\nsignature = \"fn a(x: u33)\"\n"
        "laws = [\"comutative\"]\nbody = '''\nfn a(x: u32) { let y = z }\n'''\n"
        "[[op]]\nid = \"a\"\nsignature = \"fn b()\"\nfile = \"ops.vyre\"\n"
        "[[op]]\nid = \"meet\"\nfile = \"ops.vyre\"\nsignature = \"fn meet(a: u8) -> u32\"\n"
        "attributes = [{name = \"k\", type = \"u8\", default = 300}]\n";
    vyre_target target;
    (void)state;
    /* The id of an extension stays for ever once it is known: not a leak. */
    assert_int_equal(vyre_target_parse("mine", strlen("mine"), &target, NULL), VYRE_OK);
    assert_true(VY_FAULT_LOOP_LENIENT(read_once, (void *)rich) > 50);
    VY_FAULT_LOOP_LENIENT(read_wrong, (void *)wrong);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail), /* first: nothing of the registry is alive yet */
        cmocka_unit_test(what_is_read_can_be_installed_and_found),
        cmocka_unit_test(an_attribute_allows_what_its_manifest_says),
        cmocka_unit_test(an_error_names_the_first_finding_and_counts_the_rest),
        cmocka_unit_test(every_manifest_of_the_page_is_right),
        cmocka_unit_test(every_manifest_of_the_standard_library_is_right),
        cmocka_unit_test_setup_teardown(a_body_comes_from_inside_the_folder_only, make_folders, remove_folders),
        cmocka_unit_test(a_manifest_that_is_not_there_is_not_found),
        cmocka_unit_test(every_beginning_of_a_manifest_is_read_or_refused),
        cmocka_unit_test(many_ops_take_time_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
