/* Plug-ins: what loads is registered under its path, and each way of being broken has its diagnosis. The fakes are
 * tests/driver/registry/plugin_*.c. */
#include "driver/plugin.h"
#include "driver/registry/child.h"
#include "support/fault.h"
#include "vyre/dialect.h"
#include "vyre/registry.h"

#include <elf.h>
#include <sys/stat.h>

static const char *plugin_path(const char *name) {
    static char path[1024];
    const char *folder = getenv("VYRE_BINARY_DIR");
    snprintf(path, sizeof path, "%s/plugins/%s.so", folder ? folder : VYRE_BINARY_DIR, name);
    return path;
}

static void need_plugins(void) {
    if (access(plugin_path("good"), R_OK) != 0)
        VY_SKIP("the plug-ins for tests are not here (%s)", plugin_path("good"));
}

static char folder[64];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-plugins-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The good plug-in's bytes, changed. */
static char *read_good(size_t *size) {
    FILE *file = fopen(plugin_path("good"), "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static const char *write_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fchmod(fileno(file), 0644), 0); /* whatever the umask */
    fclose(file);
    return in_folder(name);
}

static void assert_refused(const char *path, vyre_status expected, const char *word) {
    vyre_error error = VYRE_ERROR_INIT;
    const void *list = vyre_backends(NULL);
    vyre_status status = vyre_plugin_load(path, &error);
    if (status != expected || error.code != expected || !strstr(error.message, word))
        fail_msg("%s: %s: %s", path ? path : "NULL", vyre_status_name(status), error.message);
    assert_true(strlen(error.fix) > 0);
    assert_ptr_equal(vyre_backends(NULL), list);
    assert_int_equal(vyre_plugin_load(path, NULL), expected);
}

static void a_good_plugin_is_registered_under_its_path(void **state) {
    (void)state;
    need_plugins();
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_plugin_load(plugin_path("good"), &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_non_null(vyre_backend_find("fake-good"));
    assert_int_equal(vyre_backend_precedence("fake-good"), 70);
    assert_int_equal(vyre_backend_dispatches("fake-good"), 1);
    assert_string_equal(vyre_backend_owner("fake-good"), plugin_path("good"));
}

static void loading_again_is_fine(void **state) {
    (void)state;
    need_plugins();
    assert_int_equal(vyre_plugin_load(plugin_path("good"), NULL), VYRE_OK);
    const void *list = vyre_backends(NULL);
    assert_int_equal(symlink(plugin_path("good"), in_folder("link.so")), 0);
    assert_int_equal(vyre_plugin_load(plugin_path("good"), NULL), VYRE_OK);
    assert_int_equal(vyre_plugin_load(in_folder("link.so"), NULL), VYRE_OK);
    assert_ptr_equal(vyre_backends(NULL), list);
}

static void plugins_of_earlier_and_later_headers_work(void **state) {
    (void)state;
    need_plugins();
    assert_int_equal(vyre_plugin_load(plugin_path("early"), NULL), VYRE_OK);
    assert_int_equal(vyre_plugin_load(plugin_path("grown"), NULL), VYRE_OK);
    assert_non_null(vyre_backend_find("fake-early"));
    assert_non_null(vyre_backend_find("fake-grown"));
}

static void each_broken_plugin_has_its_diagnosis(void **state) {
    (void)state;
    need_plugins();
    assert_int_equal(vyre_plugin_load(plugin_path("good"), NULL), VYRE_OK);
    static const struct {
        const char *name;
        vyre_status status;
        const char *word;
    } rows[] = {
        {"no_symbol", VYRE_NOT_FOUND, "does not export `vyre_module_entry`"},
        {"short_descriptor", VYRE_ABI_MISMATCH, "too short (16 bytes"},
        {"too_old", VYRE_ABI_MISMATCH, "too old"},
        {"too_new", VYRE_ABI_MISMATCH, "too new: it is made for version 999"},
        {"new_record", VYRE_ABI_MISMATCH, "backend `fake-new-record`"},
        {"short_record", VYRE_ABI_MISMATCH, "a backend record"},
        {"no_id", VYRE_INVALID_ARGUMENT, "no id"},
        {"no_create", VYRE_INVALID_ARGUMENT, "no constructor"},
        {"no_name", VYRE_INVALID_ARGUMENT, "no name"},
        {"duplicate", VYRE_DUPLICATE, "/good.so"},
        {"duplicate", VYRE_DUPLICATE, "/duplicate.so"},
        {"init_fails", VYRE_UNSUPPORTED, "the fake hardware is not there"},
        {"undefined", VYRE_IO, "fake_function_nobody_has"},
        {"there-is-no-such-file", VYRE_NOT_FOUND, "cannot be opened"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(plugin_path(rows[i].name), rows[i].status, rows[i].word);
    assert_null(vyre_backend_find("fake-before"));
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_plugin_load(plugin_path("init_fails"), &error), VYRE_UNSUPPORTED);
    assert_string_equal(error.fix, "buy the hardware");
    assert_string_equal(error.where, plugin_path("init_fails"));
}

static void a_path_that_is_not_absolute_is_refused(void **state) {
    (void)state;
    assert_refused("plugins/good.so", VYRE_INVALID_ARGUMENT, "not absolute (`plugins/good.so`)");
    assert_refused("good.so", VYRE_INVALID_ARGUMENT, "not absolute");
    assert_refused("", VYRE_INVALID_ARGUMENT, "not absolute");
    assert_refused(NULL, VYRE_INVALID_ARGUMENT, "NULL");
}

static void files_that_are_no_shared_objects_are_diagnosed(void **state) {
    (void)state;
    assert_refused(write_file("empty.so", "", 0), VYRE_CORRUPT, "not an ELF file");
    assert_refused(write_file("script.so", "#!/bin/sh\nexit 0\n", 17), VYRE_CORRUPT, "not an ELF file");
    assert_refused(folder, VYRE_CORRUPT, "not a regular file");
    assert_refused("/dev/null", VYRE_CORRUPT, "not a regular file");
    assert_int_equal(mkfifo(in_folder("pipe.so"), 0600), 0);
    assert_refused(in_folder("pipe.so"), VYRE_CORRUPT, "not a regular file");
    assert_refused("/dev/null/plugin.so", VYRE_NOT_FOUND, "cannot be opened");
}

/* Owners and links: tests/base/test_trusted_path.c. */
static void a_plugin_that_other_users_can_change_is_refused(void **state) {
    (void)state;
    need_plugins();
    size_t size;
    char *bytes = read_good(&size), command[256];
    assert_int_equal(mkdir(in_folder("sub"), 0755), 0);
    write_file("sub/copy.so", bytes, size);
    free(bytes);
    assert_int_equal(chmod(in_folder("sub/copy.so"), 0666), 0);
    assert_refused(in_folder("sub/copy.so"), VYRE_IO, "others may write to it (mode 666");
    assert_int_equal(chmod(in_folder("sub/copy.so"), 0644), 0);
    assert_int_equal(chmod(in_folder("sub"), 0777), 0);
    assert_refused(in_folder("sub/copy.so"), VYRE_IO, "/sub` (mode 777");
    assert_int_equal(chmod(in_folder("sub"), 0755), 0);
    assert_int_equal(chmod(folder, 0770), 0);
    assert_refused(in_folder("sub/copy.so"), VYRE_IO, "` (mode 770");
    snprintf(command, sizeof command, "chmod go-w '%s'", folder);
    assert_int_equal(system(command), 0);
    assert_refused(in_folder("sub/copy.so"), VYRE_DUPLICATE, "fake-good"); /* it was loaded */
}

static void other_architectures_are_named(void **state) {
    (void)state;
    need_plugins();
    size_t size;
    char *bytes = read_good(&size);
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)bytes;
    header->e_machine = EM_S390;
    assert_refused(write_file("s390.so", bytes, size), VYRE_ABI_MISMATCH, "wrong architecture (ELF machine 22");
    free(bytes);
    bytes = read_good(&size);
    bytes[EI_CLASS] = ELFCLASS32;
    assert_refused(write_file("narrow.so", bytes, size), VYRE_ABI_MISMATCH, "wrong architecture");
    free(bytes);
    bytes = read_good(&size);
    ((Elf64_Ehdr *)(void *)bytes)->e_type = ET_REL;
    assert_refused(write_file("object.so", bytes, size), VYRE_CORRUPT, "not a shared object");
    free(bytes);
}

/* Truncated anywhere: refused, and the process survives. Past the last segment only debug information and symbols are
 * missing, and the loader accepts the file. */
static void a_plugin_cut_short_is_refused(void **state) {
    (void)state;
    need_plugins();
    size_t size, end = 0;
    char *bytes = read_good(&size);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(const void *)(bytes + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_offset + segments[i].p_filesz > end)
            end = segments[i].p_offset + segments[i].p_filesz;
    assert_refused(write_file("cut.so", bytes, 10), VYRE_CORRUPT, "not an ELF file");
    assert_refused(write_file("cut.so", bytes, 100), VYRE_CORRUPT, "truncated (within its program headers)");
    for (size_t cut = 1024; cut < end; cut += 512)
        assert_refused(write_file("cut.so", bytes, cut), VYRE_CORRUPT, "truncated");
    assert_refused(write_file("cut.so", bytes, end - 1), VYRE_CORRUPT, "truncated (a segment");
    free(bytes);
}

static void an_executable_is_refused_by_the_loader(void **state) {
    (void)state;
    char self[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = 0;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vyre_plugin_load(self, &error);
    assert_true(status == VYRE_IO || status == VYRE_CORRUPT);
    assert_true(strlen(error.fix) > 0);
}

/* ---- all of them ---- */

typedef struct reports {
    unsigned good, bad;
    char last_path[256], last_message[512];
} reports;

static void take_report(void *user, const char *path, vyre_status status, const vyre_error *error) {
    reports *reports = user;
    if (status == VYRE_OK)
        reports->good++;
    else {
        reports->bad++;
        snprintf(reports->last_path, sizeof reports->last_path, "%s", path);
        snprintf(reports->last_message, sizeof reports->last_message, "%s", error->message);
    }
}

static void the_environment_names_plugins(void **state) {
    (void)state;
    need_plugins();
    char list[4096];
    int length = snprintf(list, sizeof list, ":%s", plugin_path("good"));
    length += snprintf(list + length, sizeof list - (size_t)length, "::%s", plugin_path("second"));
    snprintf(list + length, sizeof list - (size_t)length, ":relative/path.so:");
    setenv("VYRE_PLUGINS", list, 1);
    reports reports = {0};
    size_t loaded = vyre_plugins_load_all(take_report, &reports);
    assert_int_equal(loaded, reports.good);
    assert_true(reports.good >= 2);
    assert_int_equal(reports.bad, 1);
    assert_string_equal(reports.last_path, "relative/path.so");
    assert_non_null(strstr(reports.last_message, "not absolute"));
    assert_non_null(vyre_backend_find("fake-one"));
    assert_non_null(vyre_backend_find("fake-two"));
    assert_true(vyre_backend_precedence("fake-two") == UINT32_MAX);
    assert_int_equal(vyre_plugins_load_all(NULL, NULL), loaded);
    unsetenv("VYRE_PLUGINS");
}

static void without_a_list_only_the_installed_ones_are_loaded(void **state) {
    (void)state;
    unsetenv("VYRE_PLUGINS");
    reports reports = {0};
    size_t loaded = vyre_plugins_load_all(take_report, &reports);
    assert_int_equal(loaded, reports.good);
    setenv("VYRE_PLUGINS", "", 1);
    assert_int_equal(vyre_plugins_load_all(NULL, NULL), loaded);
    unsetenv("VYRE_PLUGINS");
}

static void link_plugin(const char *name, const char *as) {
    assert_int_equal(symlink(plugin_path(name), in_folder(as)), 0);
}

static void a_folder_is_loaded_in_order_of_name(void **state) {
    (void)state;
    need_plugins();
    char slashed[80];
    snprintf(slashed, sizeof slashed, "%s/", folder);
    link_plugin("second", "b.so");
    link_plugin("good", "a.so");
    link_plugin("too_new", "c.so");
    link_plugin("early", ".hidden.so");
    link_plugin("grown", "grown.so.bak");
    link_plugin("grown", "vyre-compiler-mine.so");
    write_file("README", "not a plug-in", 13);
    reports reports = {0};
    assert_int_equal(vy_plugins_load_from(slashed, NULL, take_report, &reports), 2);
    assert_int_equal(reports.good, 2);
    assert_int_equal(reports.bad, 1);
    assert_string_equal(reports.last_path, in_folder("c.so"));
    assert_non_null(vyre_backend_find("fake-good"));
    assert_non_null(vyre_backend_find("fake-one"));
}

static void a_folder_that_is_not_there_has_no_plugins(void **state) {
    (void)state;
    reports reports = {0};
    assert_int_equal(vy_plugins_load_from("/there/is/no/such/folder/", NULL, take_report, &reports), 0);
    assert_int_equal(vy_plugins_load_from("/dev/null/", "", take_report, &reports), 0);
    assert_int_equal(reports.good + reports.bad, 0);
}

/* ---- memory ---- */

static void load_without_the_kth(size_t k) {
    vyre_error error = VYRE_ERROR_INIT;
    setenv("VYRE_PLUGINS", plugin_path("second"), 1);
    vy_fault_install();
    vy_fault_start(k);
    reports reports = {0};
    size_t loaded = vyre_plugins_load_all(take_report, &reports);
    int met = vy_fault_stop();
    CHILD_CLAIM(loaded == !met);
    CHILD_CLAIM(reports.bad == (unsigned)met);
    CHILD_CLAIM(vyre_plugin_load(plugin_path("second"), &error) == VYRE_OK);
    CHILD_CLAIM(vyre_backend_find("fake-one") != NULL);
    CHILD_CLAIM(vy_fault_mismatches() == 0);
    CHILD_CLAIM(vy_fault_live_blocks() == 2);
    CHILD_CLAIM(met == (k <= 3)); /* the path, libvyre's list, the list with the plug-in */
}

static void any_allocation_may_fail_while_plugins_load(void **state) {
    (void)state;
    need_plugins();
    unsetenv("VYRE_PLUGINS");
    for (size_t k = 1; k <= 4; k++)
        run_in_child(load_without_the_kth, k);
}

/* ---- another language ---- */

static void a_plugin_in_cpp11_is_loaded(void **state) {
    (void)state;
    char command[4096], include[1024];
    if (system("c++ --version >/dev/null 2>&1") != 0)
        VY_SKIP("a_plugin_in_cpp11_is_loaded: no c++ here");
    snprintf(include, sizeof include, "%s", vy_test_path("include"));
    snprintf(command, sizeof command,
             "c++ -std=c++11 -Wall -Wextra -Werror -pedantic-errors -fPIC -shared -I'%s' '%s' -o '%s'", include,
             vy_test_path("tests/driver/registry/cpp11.cc"), in_folder("cpp11.so"));
    assert_int_equal(system(command), 0);
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_plugin_load(in_folder("cpp11.so"), &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_non_null(vyre_backend_find("cpp11"));
    assert_int_equal(vyre_backend_precedence("cpp11"), 77);
    assert_true(vyre_backend_dispatches("cpp11"));
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_non_null(vyre_dialects_find(guard, "cpp11.twice", 11)->body);
    assert_string_equal(vyre_dialects_find(guard, "cpp11-extern::sum", 17)->version, "0.4.1");
    vyre_dialects_release(&guard);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        /* First: its children need an unused registry. */
        cmocka_unit_test(any_allocation_may_fail_while_plugins_load),
        cmocka_unit_test(a_good_plugin_is_registered_under_its_path),
        IN_FOLDER(loading_again_is_fine),
        cmocka_unit_test(plugins_of_earlier_and_later_headers_work),
        cmocka_unit_test(each_broken_plugin_has_its_diagnosis),
        cmocka_unit_test(a_path_that_is_not_absolute_is_refused),
        IN_FOLDER(files_that_are_no_shared_objects_are_diagnosed),
        IN_FOLDER(a_plugin_that_other_users_can_change_is_refused),
        IN_FOLDER(other_architectures_are_named),
        IN_FOLDER(a_plugin_cut_short_is_refused),
        cmocka_unit_test(an_executable_is_refused_by_the_loader),
        cmocka_unit_test(the_environment_names_plugins),
        IN_FOLDER(a_folder_is_loaded_in_order_of_name),
        cmocka_unit_test(a_folder_that_is_not_there_has_no_plugins),
        cmocka_unit_test(without_a_list_only_the_installed_ones_are_loaded),
        IN_FOLDER(a_plugin_in_cpp11_is_loaded),
    };
    return cmocka_run_group_tests_name("plug-ins", tests, NULL, NULL);
}
