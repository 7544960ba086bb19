/* The rule for files that the process runs as code: only the user and root can change what the path leads to. */
#include "base/trusted_path.h"
#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { STRANGER = 65534 };

static char folder[64];

static const char *path_of(const char *name) {
    static char paths[8][256];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void make_file(const char *name) {
    int file = open(path_of(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    assert_int_equal(write(file, name, strlen(name)), strlen(name));
    assert_int_equal(fchmod(file, 0644), 0);
    close(file);
}

/* a/b/c/file, all of it trusted. */
static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-trusted-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    assert_int_equal(mkdir(path_of("a"), 0755), 0);
    assert_int_equal(mkdir(path_of("a/b"), 0755), 0);
    assert_int_equal(mkdir(path_of("a/b/c"), 0755), 0);
    make_file("a/b/c/file");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void expect_trusted(const char *path) {
    vyre_error error = VYRE_ERROR_INIT;
    int file;
    if (vy_trusted_path_check(path, "plug-in", &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(vy_trusted_file_open(path, "plug-in", &file, NULL), VYRE_OK);
    assert_true(file >= 0);
    close(file);
}

static vyre_error expect_refused(const char *path, vyre_status expected, const char *words) {
    vyre_error error = VYRE_ERROR_INIT;
    int file = 0;
    vyre_status status = vy_trusted_path_check(path, "plug-in", &error);
    if (status != expected || error.code != expected || !strstr(error.message, words) || !error.fix[0])
        fail_msg("%s: %s: `%s` is not in: %s", path ? path : "NULL", vyre_status_name(status), words, error.message);
    assert_int_equal(vy_trusted_file_open(path, "plug-in", &file, NULL), expected);
    assert_int_equal(file, -1);
    return error;
}

static void expect_named(const vyre_error *error, const char *path) {
    char quoted[300];
    snprintf(quoted, sizeof quoted, "`%s`", path);
    if (!strstr(error->message, quoted))
        fail_msg("%s is not in: %s", quoted, error->message);
}

/* Runs the command that the fix names between back quotes. */
static void run_fix(const vyre_error *error) {
    char command[256];
    const char *start = strchr(error->fix, '`');
    assert_non_null(start);
    snprintf(command, sizeof command, "%s", start + 1);
    char *end = strchr(command, '`');
    assert_non_null(end);
    *end = 0;
    assert_int_equal(system(command), 0);
}

static void need_root(void) {
    if (geteuid() != 0)
        VY_SKIP("files of other users: only root can make them");
}

/* ---- owners and modes ---- */

static void files_of_the_user_are_trusted(void **state) {
    (void)state;
    expect_trusted(path_of("a/b/c/file"));
    expect_trusted(path_of("a//b/./c/../c/file"));
    assert_int_equal(chmod(path_of("a"), 0700), 0);
    assert_int_equal(chmod(path_of("a/b/c/file"), 0400), 0);
    expect_trusted(path_of("a/b/c/file"));
}

static void what_others_may_write_to_is_refused_until_its_fix_is_run(void **state) {
    (void)state;
    static const char *const names[] = {"a/b/c/file", "a/b/c", "a/b", "a", ""};
    static const mode_t modes[] = {0775, 0757, 0777};
    char path[256];
    snprintf(path, sizeof path, "%s", path_of("a/b/c/file"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            char named[300], *at = named + snprintf(named, sizeof named, "%s", path_of(names[i])) - 1;
            if (*at == '/')
                *at = 0;
            char words[400];
            snprintf(words, sizeof words,
                     i == 0 ? "others may write to it (mode %03o, owner %u)"
                            : "others may write to the folder `%3$s` (mode %1$03o, owner %2$u)",
                     (unsigned)modes[m], (unsigned)geteuid(), named);
            assert_int_equal(chmod(named, modes[m]), 0);
            vyre_error error = expect_refused(path, VYRE_IO, words);
            run_fix(&error);
            expect_trusted(path);
        }
}

static void sticky_folders_are_allowed_above_a_file(void **state) {
    (void)state;
    assert_int_equal(chmod(path_of("a/b"), 01777), 0);
    expect_trusted(path_of("a/b/c/file"));
    assert_int_equal(chmod(path_of("a/b/c"), 01777), 0);
    expect_trusted(path_of("a/b/c/file"));
    assert_int_equal(chmod(path_of("a/b/c/file"), 01666), 0);
    expect_refused(path_of("a/b/c/file"), VYRE_IO, "others may write to it");
}

static void what_belongs_to_another_user_is_refused(void **state) {
    (void)state;
    need_root();
    static const char *const names[] = {"a/b/c/file", "a/b/c", "a/b", "a"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int sticky = 0; sticky < 2; sticky++) {
            assert_int_equal(chmod(folder, sticky ? 01777 : 0700), 0);
            assert_int_equal(chown(path_of(names[i]), STRANGER, 0), 0);
            vyre_error error =
                expect_refused(path_of("a/b/c/file"), VYRE_IO, "belongs to user 65534 (this process is user 0)");
            expect_named(&error, path_of(names[i]));
            assert_int_equal(chown(path_of(names[i]), 0, 0), 0);
        }
    assert_int_equal(symlink("a/b/c/file", path_of("link")), 0);
    expect_trusted(path_of("link"));
    assert_int_equal(lchown(path_of("link"), STRANGER, 0), 0);
    expect_refused(path_of("link"), VYRE_IO, "it belongs to user 65534");
}

/* The verdict of a process whose effective user is another one. */
static vyre_status check_as(uid_t user, const char *path) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(seteuid(user) == 0 ? (int)vy_trusted_path_check(path, "plug-in", NULL) : 255);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return (vyre_status)WEXITSTATUS(status);
}

static void every_user_trusts_root_and_himself_only(void **state) {
    (void)state;
    need_root();
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(check_as(STRANGER, path_of("a/b/c/file")), VYRE_OK);
    assert_int_equal(chown(path_of("a/b/c/file"), STRANGER, STRANGER), 0);
    assert_int_equal(check_as(STRANGER, path_of("a/b/c/file")), VYRE_OK);
    assert_int_equal(check_as(1000, path_of("a/b/c/file")), VYRE_IO);
    assert_int_equal(check_as(0, path_of("a/b/c/file")), VYRE_IO);
}

/* ACL_USER_OBJ rw, ACL_USER 65534 rw, ACL_GROUP_OBJ r, ACL_MASK rw, ACL_OTHER r (linux/posix_acl_xattr.h). */
static void access_control_lists_count(void **state) {
    (void)state;
    static const uint8_t list[] = {2, 0,    0,    0,    1,    0,    6,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,    6,
                                   0, 0xfe, 0xff, 0,    0,    4,    0,    4, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
                                   6, 0,    0xff, 0xff, 0xff, 0xff, 0x20, 0, 4,    0,    0xff, 0xff, 0xff, 0xff};
    if (setxattr(path_of("a/b/c/file"), "system.posix_acl_access", list, sizeof list, 0) != 0)
        VY_SKIP("/tmp has no access control lists (%s)", strerror(errno));
    expect_refused(path_of("a/b/c/file"), VYRE_IO, "others may write to it");
}

/* ---- links ---- */

static void links_are_followed_and_every_folder_on_the_way_counts(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("far"), 0755), 0);
    assert_int_equal(mkdir(path_of("far/off"), 0755), 0);
    make_file("far/off/file");
    assert_int_equal(symlink("../../../far/off", path_of("a/b/c/relative")), 0);
    assert_int_equal(symlink(path_of("a/b/c/relative/file"), path_of("absolute")), 0);
    expect_trusted(path_of("absolute"));
    static const char *const names[] = {"far", "far/off", "a/b", "a/b/c", "far/off/file"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(chmod(path_of(names[i]), 0775), 0);
        vyre_error error = expect_refused(path_of("absolute"), VYRE_IO, "others may write to");
        expect_named(&error, path_of(names[i]));
        run_fix(&error);
        expect_trusted(path_of("absolute"));
    }
}

static void links_that_lead_nowhere_are_refused(void **state) {
    (void)state;
    assert_int_equal(symlink("loop", path_of("loop")), 0);
    assert_int_equal(symlink("nothing", path_of("dangling")), 0);
    expect_refused(path_of("loop"), VYRE_IO, "Too many levels of symbolic links");
    expect_refused(path_of("dangling"), VYRE_NOT_FOUND, "No such file or directory");
    expect_refused(path_of("dangling/file"), VYRE_NOT_FOUND, "No such file or directory");
}

static void as_many_links_as_the_kernel_follows(void **state) {
    (void)state;
    char name[16], before[16] = "a/b/c/file";
    for (int i = 1; i <= 41; i++) {
        snprintf(name, sizeof name, "link%d", i);
        assert_int_equal(symlink(before, path_of(name)), 0);
        memcpy(before, name, sizeof name);
    }
    expect_trusted(path_of("link40"));
    expect_refused(path_of("link41"), VYRE_IO, "Too many levels of symbolic links");
}

/* ---- what is no file ---- */

static void what_is_no_regular_file_is_refused(void **state) {
    (void)state;
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    expect_refused(path_of("pipe"), VYRE_CORRUPT, "is not a regular file");
    expect_refused(path_of("a"), VYRE_CORRUPT, "is not a regular file");
    expect_refused(path_of("a/b/c/."), VYRE_CORRUPT, "is not a regular file");
    expect_refused("/", VYRE_CORRUPT, "is not a regular file");
    expect_refused("/dev/null", VYRE_CORRUPT, "is not a regular file");
    expect_refused(path_of("a/b/c/file/"), VYRE_NOT_FOUND, "Not a directory");
    expect_refused(path_of("a/b/c/file/below"), VYRE_NOT_FOUND, "Not a directory");
    expect_refused(path_of("nothing/file"), VYRE_NOT_FOUND, "No such file or directory");
}

static void paths_that_are_none_are_refused(void **state) {
    (void)state;
    static char path[2 * PATH_MAX];
    expect_refused(NULL, VYRE_INVALID_ARGUMENT, "is not absolute (`NULL`)");
    expect_refused("", VYRE_INVALID_ARGUMENT, "is not absolute");
    expect_refused("a/b", VYRE_INVALID_ARGUMENT, "is not absolute (`a/b`)");
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    expect_refused(path, VYRE_IO, "File name too long");
    path[NAME_MAX + 2] = 0;
    expect_refused(path, VYRE_IO, "File name too long");
    path[NAME_MAX + 2] = 'a';
    for (size_t i = 0; i < sizeof path - 1; i += 2) /* within the limit as given, over it by a link */
        path[i] = '/';
    path[PATH_MAX - 40] = 0;
    assert_int_equal(symlink(path, path_of("long")), 0);
    char over[PATH_MAX];
    snprintf(over, sizeof over, "%s/%.60s", path_of("long"), path + 1);
    expect_refused(over, VYRE_IO, "File name too long");
}

/* ---- changes meanwhile ---- */

static atomic_int is_over;

static void *flip(void *user) {
    (void)user;
    while (!atomic_load(&is_over)) {
        (void)rename(path_of("to-bad"), path_of("link"));
        (void)symlink("bad/file", path_of("to-bad"));
        (void)rename(path_of("to-good"), path_of("link"));
        (void)symlink("a/b/c/file", path_of("to-good"));
    }
    return NULL;
}

static void what_is_opened_is_what_was_checked(void **state) {
    (void)state;
    pthread_t thread;
    struct stat good, now;
    unsigned trusted = 0, refused = 0;
    assert_int_equal(mkdir(path_of("bad"), 0755), 0);
    make_file("bad/file");
    assert_int_equal(chmod(path_of("bad"), 0777), 0);
    assert_int_equal(symlink("bad/file", path_of("link")), 0);
    assert_int_equal(stat(path_of("a/b/c/file"), &good), 0);
    char link[256];
    snprintf(link, sizeof link, "%s", path_of("link"));
    assert_int_equal(pthread_create(&thread, NULL, flip, NULL), 0);
    while (trusted < 200 || refused < 200) {
        int file;
        if (vy_trusted_file_open(link, "plug-in", &file, NULL) != VYRE_OK) {
            refused++;
            continue;
        }
        trusted++;
        int looked = fstat(file, &now);
        close(file);
        if (looked != 0 || now.st_ino != good.st_ino)
            trusted = refused = UINT32_MAX;
    }
    atomic_store(&is_over, 1);
    (void)pthread_join(thread, NULL);
    assert_int_not_equal(trusted, UINT32_MAX);
}

/* ---- folders ---- */

static vyre_status open_folder(const char *path, int create, vyre_error *error) {
    int opened;
    vyre_status status = vy_trusted_folder_open(path, "cache folder", "set VYRE_CACHE_DIR", create, &opened, error);
    assert_int_equal(status == VYRE_OK, opened >= 0);
    if (opened >= 0)
        close(opened);
    return status;
}

static void folders_are_made_for_the_user_alone(void **state) {
    (void)state;
    struct stat facts;
    assert_int_equal(open_folder(path_of("new/cache"), 0, NULL), VYRE_NOT_FOUND);
    assert_int_not_equal(access(path_of("new"), F_OK), 0);
    assert_int_equal(open_folder(path_of("new/cache"), 1, NULL), VYRE_OK);
    assert_int_equal(open_folder(path_of("new/cache"), 0, NULL), VYRE_OK);
    assert_int_equal(stat(path_of("new/cache"), &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    assert_int_equal(stat(path_of("new"), &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
}

static void nothing_is_made_below_a_folder_of_another_user(void **state) {
    (void)state;
    need_root();
    vyre_error error;
    assert_int_equal(chown(path_of("a"), STRANGER, STRANGER), 0);
    assert_int_equal(open_folder(path_of("a/new/cache"), 1, &error), VYRE_IO);
    assert_non_null(strstr(error.message, "/a` belongs to user 65534 (this process is user 0)"));
    assert_string_equal(error.fix, "set VYRE_CACHE_DIR");
    assert_int_not_equal(access(path_of("a/new"), F_OK), 0);
}

/* Of two folders of root, the user may make an entry in the sticky one. */
static void a_user_makes_folders_in_sticky_folders_of_root(void **state) {
    (void)state;
    need_root();
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(path_of("a/b"), 01777), 0);
    pid_t child = fork();
    if (child == 0) {
        vyre_error error;
        int is_right = seteuid(STRANGER) == 0 && open_folder(path_of("a/b/new"), 1, NULL) == VYRE_OK &&
                       open_folder(path_of("a/new"), 1, &error) == VYRE_IO &&
                       strstr(error.message, "it does not exist, and the folder `") &&
                       strstr(error.message, "/a` belongs to user 0 (this process is user 65534)");
        _exit(is_right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void folders_others_may_write_to_are_refused_also_if_sticky(void **state) {
    (void)state;
    vyre_error error;
    assert_int_equal(chmod(path_of("a"), 01777), 0);
    assert_int_equal(open_folder(path_of("a"), 0, &error), VYRE_IO);
    assert_non_null(strstr(error.message, "others may write to it (mode 1777"));
    assert_int_equal(open_folder(path_of("a/b"), 0, NULL), VYRE_OK);
}

static void links_and_files_are_no_folders(void **state) {
    (void)state;
    vyre_error error;
    assert_int_equal(symlink("a", path_of("link")), 0);
    assert_int_equal(open_folder(path_of("link/b"), 0, NULL), VYRE_OK);
    static const char *const names[] = {"link", "link/", "a/b/c/file", "a/b/c/file/below"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(open_folder(path_of(names[i]), 1, &error), VYRE_IO);
        assert_non_null(strstr(error.message, "it is not a folder"));
    }
}

/* ---- descriptors ---- */

static unsigned count_descriptors(void) {
    unsigned count = 0;
    DIR *names = opendir("/proc/self/fd");
    assert_non_null(names);
    while (readdir(names))
        count++;
    closedir(names);
    return count;
}

static void no_descriptor_is_left_open(void **state) {
    (void)state;
    unsigned before = count_descriptors();
    static const char *const names[] = {"a/b/c/file", "a/b/c", "nothing", "loop", "link", "a/b/c/file/x", "absolute"};
    assert_int_equal(symlink("loop", path_of("loop")), 0);
    assert_int_equal(symlink("a/b/../b/c/file", path_of("link")), 0);
    assert_int_equal(symlink("/", path_of("absolute")), 0);
    for (int shared = 0; shared < 2; shared++) {
        assert_int_equal(chmod(path_of("a/b"), shared ? 0777 : 0755), 0);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            int file;
            (void)vy_trusted_path_check(path_of(names[i]), "plug-in", NULL);
            if (vy_trusted_file_open(path_of(names[i]), "plug-in", &file, NULL) == VYRE_OK)
                close(file);
            (void)open_folder(path_of(names[i]), 0, NULL);
        }
    }
    assert_int_equal(count_descriptors(), before);
}

int main(void) {
#define TEST(claim) cmocka_unit_test_setup_teardown(claim, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_of_the_user_are_trusted),
        TEST(what_others_may_write_to_is_refused_until_its_fix_is_run),
        TEST(sticky_folders_are_allowed_above_a_file),
        TEST(what_belongs_to_another_user_is_refused),
        TEST(every_user_trusts_root_and_himself_only),
        TEST(access_control_lists_count),
        TEST(links_are_followed_and_every_folder_on_the_way_counts),
        TEST(links_that_lead_nowhere_are_refused),
        TEST(as_many_links_as_the_kernel_follows),
        TEST(what_is_no_regular_file_is_refused),
        TEST(paths_that_are_none_are_refused),
        TEST(what_is_opened_is_what_was_checked),
        TEST(folders_are_made_for_the_user_alone),
        TEST(nothing_is_made_below_a_folder_of_another_user),
        TEST(a_user_makes_folders_in_sticky_folders_of_root),
        TEST(folders_others_may_write_to_are_refused_also_if_sticky),
        TEST(links_and_files_are_no_folders),
        TEST(no_descriptor_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
