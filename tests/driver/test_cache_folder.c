/* Which folder, which folders not, and the rest of the settings. Whatever is wrong is a miss and one line in the
 * log. */
#include "driver/cache.h"

#include <limits.h>
#include <sys/resource.h>

static unsigned lines;
static char last_line[1024];

static void count_line(void *user, int level, const char *source, const char *message) {
    (void)user;
    assert_int_equal(level, 1);
    assert_string_equal(source, "cache");
    snprintf(last_line, sizeof last_line, "%s", message);
    lines++;
}

static void listen(void) {
    lines = 0;
    last_line[0] = 0;
    vyre_log_set_sink(count_line, NULL);
}

/* Stores and loads miss, and the log has one line that contains these words. */
static void expect_unusable(const char *folder, const char *words) {
    assert_int_equal(vyre_cache_set_folder(folder, NULL), VYRE_OK);
    listen();
    uint64_t stores = cache_stats().stores;
    for (int i = 0; i < 3; i++) {
        cache_store(1, 8);
        assert_int_equal(cache_load(1, 8), 0);
    }
    assert_int_equal(cache_stats().stores, stores);
    assert_int_equal(lines, 1);
    if (!strstr(last_line, words))
        fail_msg("`%s` is not in: %s", words, last_line);
}

static const char *folder_now(void) {
    static char path[PATH_MAX];
    size_t length = vyre_cache_folder(path, sizeof path);
    assert_int_equal(length, strlen(path));
    return path;
}

static void set_environment(const char *own, const char *shared, const char *home) {
    static const char *const names[] = {"VYRE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    const char *const values[] = {own, shared, home};
    for (int i = 0; i < 3; i++)
        assert_int_equal(values[i] ? setenv(names[i], values[i], 1) : unsetenv(names[i]), 0);
    assert_int_equal(vyre_cache_set_folder(NULL, NULL), VYRE_OK);
}

/* ---- which ---- */

static void environment_names_the_folder(void **state) {
    (void)state;
    set_environment("/own", "/shared", "/home/me");
    assert_string_equal(folder_now(), "/own");
    set_environment("/own//", NULL, NULL);
    assert_string_equal(folder_now(), "/own");
    set_environment(NULL, "/shared", "/home/me");
    assert_string_equal(folder_now(), "/shared/vyre");
    set_environment(NULL, "shared", "/home/me");
    assert_string_equal(folder_now(), "/home/me/.cache/vyre");
    set_environment(NULL, "", "/home/me");
    assert_string_equal(folder_now(), "/home/me/.cache/vyre");
    set_environment("", "/shared", "/home/me");
    assert_string_equal(folder_now(), "");
}

static void environment_is_asked_once_until_the_folder_is_set(void **state) {
    (void)state;
    set_environment("/one", NULL, NULL);
    assert_string_equal(folder_now(), "/one");
    assert_int_equal(setenv("VYRE_CACHE_DIR", "/two", 1), 0);
    assert_string_equal(folder_now(), "/one");
    assert_int_equal(vyre_cache_set_folder(NULL, NULL), VYRE_OK);
    assert_string_equal(folder_now(), "/two");
}

static void nothing_named_is_off_and_said_once(void **state) {
    (void)state;
    set_environment(NULL, NULL, NULL);
    expect_unusable(NULL, "HOME");
    assert_string_equal(folder_now(), "");
    set_environment("not/absolute", "/shared", "/home");
    expect_unusable(NULL, "VYRE_CACHE_DIR is not an absolute path");
    char too_long[PATH_MAX + 100]; /* what fits of it is another folder */
    memset(too_long, '/', sizeof too_long);
    for (size_t i = 1; i < sizeof too_long; i += 2)
        too_long[i] = 'a';
    too_long[sizeof too_long - 1] = 0;
    set_environment(too_long, "/shared", "/home");
    expect_unusable(NULL, "VYRE_CACHE_DIR is longer than the system allows");
}

static void off_by_choice_is_silent(void **state) {
    (void)state;
    listen();
    assert_int_equal(vyre_cache_set_folder("", NULL), VYRE_OK);
    cache_store(1, 8);
    assert_int_equal(cache_load(1, 8), 0);
    set_environment("", NULL, NULL);
    cache_store(1, 8);
    assert_int_equal(cache_load(1, 8), 0);
    assert_int_equal(lines, 0);
}

static void relative_path_counts_from_here(void **state) {
    (void)state;
    char here[PATH_MAX], wanted[PATH_MAX + 8];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(cache_folder), 0);
    assert_int_equal(vyre_cache_set_folder("sub", NULL), VYRE_OK);
    assert_int_equal(chdir(here), 0);
    snprintf(wanted, sizeof wanted, "%s/sub", cache_folder);
    assert_string_equal(folder_now(), wanted);
    cache_store(1, 8);
    assert_int_equal(access(wanted, F_OK), 0);
}

static void too_long_a_path_changes_nothing(void **state) {
    (void)state;
    static char path[PATH_MAX + 10];
    vyre_error error;
    memset(path, '/', 1);
    memset(path + 1, 'a', PATH_MAX);
    assert_int_equal(vyre_cache_set_folder(path, &error), VYRE_LIMIT);
    assert_string_equal(folder_now(), cache_folder);
}

static void answer_is_cut_to_the_buffer(void **state) {
    (void)state;
    char small[5];
    size_t length = strlen(cache_folder);
    assert_int_equal(vyre_cache_folder(NULL, 0), length);
    assert_int_equal(vyre_cache_folder(small, sizeof small), length);
    assert_string_equal(small, "/tmp");
}

static void asking_makes_no_folder(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/not-yet", cache_folder);
    assert_int_equal(vyre_cache_set_folder(path, NULL), VYRE_OK);
    assert_int_equal(cache_load(1, 8), 0);
    assert_int_equal(vyre_cache_clear(NULL, NULL, NULL, NULL), VYRE_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    cache_store(1, 8);
    assert_int_equal(access(path, F_OK), 0);
}

/* ---- which not ---- */

static void folder_others_may_write_to_is_not_used(void **state) {
    (void)state;
    static const mode_t modes[] = {0777, 0770, 0702, 01777};
    cache_store(1, 8);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        vyre_error error;
        assert_int_equal(chmod(cache_folder, modes[i]), 0);
        expect_unusable(cache_folder, "others may write to it");
        assert_int_equal(vyre_cache_clear(NULL, NULL, NULL, &error), VYRE_IO);
        assert_non_null(strstr(error.fix, "chmod go-w"));
    }
    assert_int_equal(chmod(cache_folder, 0755), 0);
    assert_int_equal(cache_load(1, 8), 1);
}

static void need_root(void) {
    if (geteuid() != 0)
        VY_SKIP("folders of other users: only root can make them");
}

static void folder_of_another_user_is_not_used(void **state) {
    (void)state;
    need_root();
    assert_int_equal(chown(cache_folder, 65534, 65534), 0);
    expect_unusable(cache_folder, "it belongs to user 65534 (this process is user 0)");
}

/* The owner of a folder above the cache, and every user with write access to it, can replace the cache. */
static void folder_below_one_that_another_user_can_change_is_not_used(void **state) {
    (void)state;
    char above[300], cache[400];
    snprintf(above, sizeof above, "%s/above", cache_folder);
    snprintf(cache, sizeof cache, "%s/between/cache", above);
    assert_int_equal(vyre_cache_set_folder(cache, NULL), VYRE_OK);
    cache_store(1, 8);
    assert_int_equal(cache_load(1, 8), 1);
    assert_int_equal(chmod(above, 0775), 0);
    expect_unusable(cache, "/above` (mode 775, owner ");
    assert_int_equal(chmod(above, 01777), 0);
    assert_int_equal(vyre_cache_set_folder(cache, NULL), VYRE_OK);
    assert_int_equal(cache_load(1, 8), 1);
    need_root();
    assert_int_equal(chown(above, 65534, 65534), 0);
    expect_unusable(cache, "/above` belongs to user 65534 (this process is user 0)");
}

/* As `sudo` does that keeps HOME. */
static void root_makes_nothing_in_the_home_of_a_user(void **state) {
    (void)state;
    need_root();
    char home[300], made[400];
    snprintf(home, sizeof home, "%s/home", cache_folder);
    snprintf(made, sizeof made, "%s/.cache", home);
    assert_int_equal(mkdir(home, 0755), 0);
    assert_int_equal(chown(home, 65534, 65534), 0);
    set_environment(NULL, NULL, home);
    expect_unusable(
        NULL,
        "/home` belongs to user 65534 (this process is user 0). Fix: set VYRE_CACHE_DIR to a folder that you own");
    assert_int_not_equal(access(made, F_OK), 0);
    snprintf(made, sizeof made, "%s/xdg/new", home);
    set_environment(NULL, made, home);
    expect_unusable(NULL, "/home` belongs to user 65534");
    assert_int_not_equal(access(made, F_OK), 0);
    assert_int_equal(chown(home, 0, 0), 0);
    set_environment(NULL, NULL, home);
    cache_store(1, 8);
    assert_int_equal(cache_load(1, 8), 1);
}

static void symbolic_link_is_not_used(void **state) {
    (void)state;
    char link[512];
    snprintf(link, sizeof link, "%s/link", cache_folder);
    assert_int_equal(symlink(cache_folder, link), 0);
    expect_unusable(link, "it is not a folder");
    strcat(link, "///");
    expect_unusable(link, "it is not a folder");
}

static void file_in_the_place_of_the_folder_is_not_used(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/file", cache_folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    expect_unusable(path, "it is not a folder");
    strcat(path, "/below");
    expect_unusable(path, "it is not a folder");
}

static void folder_that_cannot_be_made_is_a_miss(void **state) {
    (void)state;
    expect_unusable("/proc/vyre/cache", geteuid() == 0 ? "No such file or directory" /* nor can root */
                                                       : "the folder `/proc` belongs to user 0");
}

static void folder_that_went_away_is_made_again(void **state) {
    (void)state;
    cache_store(1, 8);
    assert_int_equal(unlink(cache_path(1)), 0);
    assert_int_equal(rmdir(cache_folder), 0);
    assert_int_equal(cache_load(1, 8), 0);
    cache_store(1, 8);
    assert_int_equal(cache_load(1, 8), 1);
}

/* ---- no room ---- */

static void limit_on_the_size_of_files_is_a_miss(void **state) {
    (void)state;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1000;
    listen();
    /* SIGXFSZ keeps its default, which ends the process. */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    cache_store(1, 4096);
    cache_store(2, 100);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(cache_load(1, 4096), 0);
    assert_int_equal(cache_load(2, 100), 1);
    assert_int_equal(lines, 1);
    assert_non_null(strstr(last_line, "File too large"));
    assert_int_equal(cache_count_names(""), 1);
}

static void no_descriptors_left_is_a_miss(void **state) {
    (void)state;
    struct rlimit before, none;
    cache_store(1, 8);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    for (unsigned free_ones = 0; free_ones < 3; free_ones++) {
        int next = dup(0);
        close(next);
        none.rlim_cur = (rlim_t)next + free_ones;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int loaded = cache_load(1, 8);
        cache_store(2, 8);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(loaded, free_ones == 2);
        assert_int_equal(cache_load(1, 8), 1); /* an entry that could not be read is not thrown away */
        assert_int_equal(cache_count_names(VY_CACHE_TEMPORARY_PREFIX), 0);
    }
}

/* ---- other settings ---- */

static void compiling_is_forbidden_by_call_or_environment(void **state) {
    (void)state;
    static const struct {
        const char *value;
        int forbids;
    } rows[] = {{NULL, 0}, {"", 0}, {"0", 0}, {"1", 1}, {"yes", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(
            rows[i].value ? setenv("VYRE_FORBID_COMPILE", rows[i].value, 1) : unsetenv("VYRE_FORBID_COMPILE"), 0);
        vyre_cache_forbid_compile(-1);
        assert_int_equal(vy_compile_forbidden(), rows[i].forbids);
        vyre_cache_forbid_compile(1);
        assert_int_equal(vy_compile_forbidden(), 1);
        vyre_cache_forbid_compile(0);
        assert_int_equal(vy_compile_forbidden(), 0);
    }
    assert_int_equal(unsetenv("VYRE_FORBID_COMPILE"), 0);
    vyre_cache_forbid_compile(-1);
}

static void figures_count_what_is_told(void **state) {
    (void)state;
    vyre_cache_stats before = cache_stats(), after;
#define X(name, doc) vy_cache_count(VY_CACHE_##name, VY_CACHE_##name + 1);
    VYRE_CACHE_STATS_LIST(X)
#undef X
    after = cache_stats();
#define X(name, doc) assert_int_equal(after.name - before.name, VY_CACHE_##name + 1);
    VYRE_CACHE_STATS_LIST(X)
#undef X
    vy_cache_count(VY_CACHE_entries, -(uint64_t)(VY_CACHE_entries + 1));
    assert_int_equal(cache_stats().entries, before.entries);
}

static void memory_limit_is_what_was_set(void **state) {
    (void)state;
    assert_int_equal(vy_cache_memory_limit(), 256);
    vyre_cache_set_memory_limit(3);
    assert_int_equal(vy_cache_memory_limit(), 3);
    vyre_cache_set_memory_limit(256);
}

int main(void) {
#define TEST(claim) cmocka_unit_test_setup_teardown(claim, cache_setup, cache_teardown)
    const struct CMUnitTest tests[] = {
        TEST(environment_names_the_folder),
        TEST(environment_is_asked_once_until_the_folder_is_set),
        TEST(nothing_named_is_off_and_said_once),
        TEST(off_by_choice_is_silent),
        TEST(relative_path_counts_from_here),
        TEST(too_long_a_path_changes_nothing),
        TEST(answer_is_cut_to_the_buffer),
        TEST(asking_makes_no_folder),
        TEST(folder_others_may_write_to_is_not_used),
        TEST(folder_of_another_user_is_not_used),
        TEST(folder_below_one_that_another_user_can_change_is_not_used),
        TEST(root_makes_nothing_in_the_home_of_a_user),
        TEST(symbolic_link_is_not_used),
        TEST(file_in_the_place_of_the_folder_is_not_used),
        TEST(folder_that_cannot_be_made_is_a_miss),
        TEST(folder_that_went_away_is_made_again),
        TEST(limit_on_the_size_of_files_is_a_miss),
        TEST(no_descriptors_left_is_a_miss),
        TEST(compiling_is_forbidden_by_call_or_environment),
        TEST(figures_count_what_is_told),
        TEST(memory_limit_is_what_was_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
