#include "base/file.h"
#include "support/fault.h"
#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-file-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *path_of(const char *name) {
    static char paths[4][128];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void expect_contents(const char *path, const char *text) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    if (vy_file_read(path, 1 << 20, &bytes, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(bytes.size, strlen(text));
    assert_memory_equal(bytes.data, text, bytes.size);
    vyre_bytes_free(&bytes);
}

static size_t files_in_folder(void) {
    size_t count = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing));)
        count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

static void what_is_written_is_read_back(void **state) {
    (void)state;
    size_t size = 300000;
    char *data = malloc(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 31 + i / 256);
    assert_int_equal(vy_file_write(path_of("a"), data, size, NULL), VYRE_OK);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    assert_int_equal(vy_file_read(path_of("a"), size, &bytes, NULL), VYRE_OK);
    assert_int_equal(bytes.size, size);
    assert_memory_equal(bytes.data, data, size);
    assert_int_equal(vy_file_write(path_of("a"), "", 0, NULL), VYRE_OK);
    assert_int_equal(vy_file_read(path_of("a"), size, &bytes, NULL), VYRE_OK);
    assert_int_equal(bytes.size, 0);
    assert_int_equal(files_in_folder(), 1); /* no temporary file stays */
    vyre_bytes_free(&bytes);
    free(data);
}

static void a_file_over_the_limit_is_refused(void **state) {
    (void)state;
    vy_file_write(path_of("a"), "12345", 5, NULL);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    assert_int_equal(vy_file_read(path_of("a"), 4, &bytes, &error), VYRE_LIMIT);
    assert_non_null(strstr(error.message, "(4 bytes)"));
    assert_string_equal(error.where, path_of("a"));
    assert_int_equal(bytes.size, 0);
    assert_int_equal(vy_file_read(path_of("a"), 5, &bytes, &error), VYRE_OK);
    assert_int_equal(vy_file_read("/dev/zero", 100000, &bytes, &error),
                     VYRE_LIMIT); /* a size nobody knows beforehand */
    assert_int_equal(bytes.size, 0);
    assert_int_equal(vy_file_read("/dev/null", 0, &bytes, &error), VYRE_OK);
    vyre_bytes_free(&bytes);
}

static void refusals_of_the_system_say_what_and_where(void **state) {
    (void)state;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    assert_int_equal(vy_file_read(path_of("none"), 10, &bytes, &error), VYRE_NOT_FOUND);
    assert_non_null(strstr(error.message, "none"));
    assert_true(*error.fix);
    assert_int_equal(vy_file_read(folder, 10, &bytes, &error), VYRE_IO);
    assert_int_equal(vy_file_write(folder, "x", 1, &error), VYRE_IO);
    assert_int_equal(vy_file_write(path_of("no/such"), "x", 1, &error), VYRE_NOT_FOUND);
    assert_int_equal(vy_file_write("/dev/full", "x", 1, &error), VYRE_IO);
    assert_non_null(strstr(error.message, "No space left"));
    assert_null(bytes.data);
}

static void what_is_no_plain_file_is_refused_at_once(void **state) {
    (void)state;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    alarm(20); /* nobody writes to the pipe */
    assert_int_equal(vy_file_read_plain(path_of("pipe"), 10, &bytes, &error), VYRE_IO);
    alarm(0);
    assert_non_null(strstr(error.message, "not a plain file"));
    assert_int_equal(vy_file_read_plain("/dev/zero", 10, &bytes, &error), VYRE_IO);
    assert_int_equal(vy_file_read_plain(folder, 10, &bytes, &error), VYRE_IO);
    assert_int_equal(vy_file_read_plain(path_of("none"), 10, &bytes, &error), VYRE_NOT_FOUND);
    assert_int_equal(vy_file_write(path_of("file"), "text", 4, &error), VYRE_OK);
    assert_int_equal(vy_file_read_plain(path_of("file"), 10, &bytes, &error), VYRE_OK);
    assert_memory_equal(bytes.data, "text", 4);
    vyre_bytes_free(&bytes);
}

/* ---- below a folder ---- */

/* in/plain, in/below/deep and links; secret is outside. */
static void make_tree(void) {
    assert_int_equal(mkdir(path_of("in"), 0700), 0);
    assert_int_equal(mkdir(path_of("in/below"), 0700), 0);
    assert_int_equal(mkdir(path_of("inside"), 0700), 0); /* begins as the folder does */
    assert_int_equal(vy_file_write(path_of("secret"), "secret", 6, NULL), VYRE_OK);
    assert_int_equal(vy_file_write(path_of("inside/file"), "secret", 6, NULL), VYRE_OK);
    assert_int_equal(vy_file_write(path_of("in/plain"), "plain", 5, NULL), VYRE_OK);
    assert_int_equal(vy_file_write(path_of("in/below/deep"), "deep", 4, NULL), VYRE_OK);
}

static vyre_status read_beneath(const char *name, vyre_bytes *bytes, vyre_error *error) {
    return vy_file_read_beneath(path_of("in"), name, name, 100, bytes, error);
}

static void links_inside_a_folder_are_followed(void **state) {
    (void)state;
    static const struct {
        const char *name, *target, *text;
    } rows[] = {{"plain", NULL, "plain"},           {"below/deep", NULL, "deep"},
                {"near", "plain", "plain"},         {"far", "below/../below/./deep", "deep"},
                {"chain", "near", "plain"},         {"below/up", "../plain", "plain"},
                {"around", "../in/plain", "plain"}, {"folder", "below", NULL},
                {"folder/deep", NULL, "deep"},      {"folder/up", NULL, "plain"}};
    make_tree();
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    char path[300];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(path, sizeof path, "%s/in/%s", folder, rows[i].name);
        if (rows[i].target)
            assert_int_equal(symlink(rows[i].target, path), 0);
        if (!rows[i].text)
            continue;
        if (read_beneath(rows[i].name, &bytes, &error) != VYRE_OK)
            fail_msg("%s: %s", rows[i].name, error.message);
        assert_int_equal(bytes.size, strlen(rows[i].text));
        assert_memory_equal(bytes.data, rows[i].text, bytes.size);
    }
    snprintf(path, sizeof path, "%s/in/plain", folder);
    assert_int_equal(symlink(path, path_of("in/absolute")), 0);
    assert_int_equal(read_beneath("absolute", &bytes, NULL), VYRE_OK);
    vyre_bytes_free(&bytes);
}

/* The same answer whether or not a file is there: what is outside is not looked for. */
static void links_that_leave_the_folder_are_refused(void **state) {
    (void)state;
    static const char *const targets[] = {"../secret", "../absent",   "below/../../secret", "..",  "../inside/file",
                                          "/",         "/etc/passwd", "/absent/file",       ".",   "../in",
                                          "/dev/null", "/dev/zero",   "/proc/self/environ", "up/x"};
    make_tree();
    assert_int_equal(symlink("..", path_of("in/up")), 0);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        vyre_error error;
        (void)unlink(path_of("in/link"));
        assert_int_equal(symlink(targets[i], path_of("in/link")), 0);
        if (read_beneath("link", &bytes, &error) != VYRE_INVALID_ARGUMENT)
            fail_msg("%s: %s", targets[i], error.message);
        assert_string_equal(error.message, "`link` is a symbolic link that leads out of its folder");
        assert_int_equal(bytes.size, 0);
    }
    assert_int_equal(read_beneath("up/secret", &bytes, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(read_beneath("../secret", &bytes, NULL), VYRE_INVALID_ARGUMENT);
    vyre_bytes_free(&bytes);
}

static void what_is_no_file_below_a_folder_is_refused(void **state) {
    (void)state;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    make_tree();
    assert_int_equal(symlink("loop", path_of("in/loop")), 0);
    assert_int_equal(symlink("absent", path_of("in/dangling")), 0);
    assert_int_equal(mkfifo(path_of("in/pipe"), 0600), 0);
    assert_int_equal(read_beneath("absent", &bytes, NULL), VYRE_NOT_FOUND);
    assert_int_equal(read_beneath("dangling", &bytes, NULL), VYRE_NOT_FOUND);
    assert_int_equal(read_beneath("loop", &bytes, NULL), VYRE_IO);
    assert_int_equal(read_beneath("plain/x", &bytes, NULL), VYRE_IO);
    assert_int_equal(read_beneath("below", &bytes, &error), VYRE_IO);
    assert_string_equal(error.message, "`below` is not a plain file");
    assert_int_equal(read_beneath("pipe", &bytes, &error), VYRE_IO);
    assert_string_equal(error.message, "`pipe` is not a plain file");
    assert_int_equal(vy_file_read_beneath(path_of("none"), "plain", "plain", 100, &bytes, NULL), VYRE_NOT_FOUND);
    assert_int_equal(vy_file_read_beneath(path_of("in"), "plain", "plain", 4, &bytes, NULL), VYRE_LIMIT);
    vyre_bytes_free(&bytes);
}

static atomic_int is_over;

/* Puts links to the inside and to the outside, and folders and links, in each other's place. */
static void *flip(void *user) {
    const char *base = user;
    char paths[6][128];
    static const char *const names[] = {"in/link", "in/to-plain", "in/to-secret", "in/sub", "in/away", "in/out"};
    for (int i = 0; i < 6; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", base, names[i]);
    while (!atomic_load(&is_over)) {
        (void)symlink("plain", paths[1]);
        (void)rename(paths[1], paths[0]);
        (void)symlink("../secret", paths[2]);
        (void)rename(paths[2], paths[0]);
        (void)rename(paths[3], paths[4]);
        (void)rename(paths[5], paths[3]);
        (void)rename(paths[3], paths[5]);
        (void)rename(paths[4], paths[3]);
    }
    return NULL;
}

static void nothing_outside_is_read_while_links_change(void **state) {
    (void)state;
    pthread_t thread;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    make_tree();
    assert_int_equal(symlink("plain", path_of("in/link")), 0);
    assert_int_equal(mkdir(path_of("in/sub"), 0700), 0);
    assert_int_equal(vy_file_write(path_of("in/sub/file"), "plain", 5, NULL), VYRE_OK);
    assert_int_equal(symlink("../inside", path_of("in/out")), 0);
    atomic_store(&is_over, 0);
    assert_int_equal(pthread_create(&thread, NULL, flip, folder), 0);
    unsigned read[2] = {0, 0}, refused[2] = {0, 0}, wrong = 0;
    static const char *const names[] = {"link", "sub/file"};
    for (unsigned i = 0; i < 200000 && (i < 2000 || !read[0] || !read[1] || !refused[0] || !refused[1]); i++) {
        vyre_status status = read_beneath(names[i % 2], &bytes, NULL);
        read[i % 2] += status == VYRE_OK;
        refused[i % 2] += status == VYRE_INVALID_ARGUMENT;
        wrong += status == VYRE_OK && (bytes.size != 5 || memcmp(bytes.data, "plain", 5) != 0);
    }
    atomic_store(&is_over, 1);
    (void)pthread_join(thread, NULL);
    vyre_bytes_free(&bytes);
    assert_int_equal(wrong, 0);
    assert_true(read[0] && read[1] && refused[0] && refused[1]);
}

/* ---- writing ---- */

static void a_write_keeps_the_mode_and_follows_a_link(void **state) {
    (void)state;
    vy_file_write(path_of("target"), "old", 3, NULL);
    assert_int_equal(chmod(path_of("target"), 0640), 0);
    assert_int_equal(symlink("target", path_of("link")), 0);
    assert_int_equal(vy_file_write(path_of("link"), "new", 3, NULL), VYRE_OK);
    expect_contents(path_of("target"), "new");
    struct stat about;
    assert_int_equal(lstat(path_of("link"), &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat(path_of("target"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
}

static void a_device_is_written_to_and_not_replaced(void **state) {
    (void)state;
    assert_int_equal(vy_file_write("/dev/null", "x", 1, NULL), VYRE_OK);
    struct stat about;
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

static void a_check_of_a_write_changes_nothing(void **state) {
    (void)state;
    vyre_error error;
    vy_file_write(path_of("kept"), "old", 3, NULL);
    assert_int_equal(vy_file_check_write(path_of("kept"), &error), VYRE_OK);
    assert_int_equal(vy_file_check_write(path_of("new"), &error), VYRE_OK);
    assert_int_equal(vy_file_check_write("/dev/null", &error), VYRE_OK);
    assert_int_equal(vy_file_check_write("-", &error), VYRE_OK);
    expect_contents(path_of("kept"), "old");
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(vy_file_check_write(path_of("none/new"), &error), VYRE_NOT_FOUND);
    assert_int_equal(vy_file_check_write(path_of("kept/new"), &error), VYRE_IO);
    assert_int_equal(vy_file_check_write(folder, &error), VYRE_IO);
    assert_string_equal(error.where, folder);
}

static void a_dash_is_standard_input_and_output(void **state) {
    (void)state;
    int pipe_ends[2], old_in = dup(0), old_out = dup(1);
    fflush(stdout);
    assert_int_equal(pipe(pipe_ends), 0);
    dup2(pipe_ends[0], 0);
    dup2(pipe_ends[1], 1);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    vyre_status written = vy_file_write("-", "through", 7, NULL);
    dup2(old_out, 1); /* closes the last writing end */
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_status read = vy_file_read("-", 100, &bytes, NULL);
    dup2(old_in, 0);
    close(old_in);
    close(old_out);
    assert_int_equal(written, VYRE_OK);
    assert_int_equal(read, VYRE_OK);
    assert_int_equal(bytes.size, 7);
    assert_memory_equal(bytes.data, "through", 7);
    vyre_bytes_free(&bytes);
}

static vyre_status write_and_read(void *user) {
    (void)user;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    vyre_status status = vy_file_write(path_of("f"), "contents", 8, &error);
    if (status == VYRE_OK)
        status = vy_file_read(path_of("f"), 100, &bytes, &error);
    if (status == VYRE_OK)
        assert_memory_equal(bytes.data, "contents", 8);
    vyre_bytes_free(&bytes);
    return status;
}

static void without_memory_nothing_is_left_behind(void **state) {
    (void)state;
    assert_true(VY_FAULT_LOOP(write_and_read, NULL) >= 2);
    assert_int_equal(files_in_folder(), 1);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_is_written_is_read_back),
        IN_FOLDER(a_file_over_the_limit_is_refused),
        IN_FOLDER(refusals_of_the_system_say_what_and_where),
        IN_FOLDER(what_is_no_plain_file_is_refused_at_once),
        IN_FOLDER(links_inside_a_folder_are_followed),
        IN_FOLDER(links_that_leave_the_folder_are_refused),
        IN_FOLDER(what_is_no_file_below_a_folder_is_refused),
        IN_FOLDER(nothing_outside_is_read_while_links_change),
        IN_FOLDER(a_write_keeps_the_mode_and_follows_a_link),
        IN_FOLDER(a_device_is_written_to_and_not_replaced),
        IN_FOLDER(a_check_of_a_write_changes_nothing),
        IN_FOLDER(a_dash_is_standard_input_and_output),
        IN_FOLDER(without_memory_nothing_is_left_behind),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
