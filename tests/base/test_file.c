#include "base/file.h"
#include "support/fault.h"
#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
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
        IN_FOLDER(a_write_keeps_the_mode_and_follows_a_link),
        IN_FOLDER(a_device_is_written_to_and_not_replaced),
        IN_FOLDER(a_dash_is_standard_input_and_output),
        IN_FOLDER(without_memory_nothing_is_left_behind),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
