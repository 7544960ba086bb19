/* Many processes, killed processes, full and read-only disks: every load returns the correct bytes or misses. */
#include "driver/cache.h"
#include "driver/cache_entry.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { PROCESSES = 8, KEYS = 6, ROUNDS = 60, KILLS = 60 };

/* Spread from below a page to larger than a pipe or a page-cache write. */
static size_t size_of(unsigned number) {
    static const size_t sizes[KEYS] = {0, 10, 5000, 70000, 300000, 1000000};
    return sizes[number % KEYS];
}

/* The child's answer is its exit code. */
static pid_t start(int (*body)(void *user), void *user) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(body(user));
    assert_true(child > 0);
    return child;
}

static int finish(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- many processes ---- */

static int store_and_load_at_random(void *user) {
    vy_random random = vy_random_start((uint64_t)(uintptr_t)user);
    unsigned hits = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned number = (unsigned)vy_random_below(&random, KEYS);
        if (vy_random_below(&random, 3) == 0)
            cache_store(number, size_of(number));
        int verdict = cache_load(number, size_of(number));
        if (verdict < 0)
            return 1;
        hits += verdict == 1;
        if (vy_random_below(&random, 40) == 0 && vyre_cache_clear(NULL, NULL, NULL, NULL) != VYRE_OK)
            return 2;
    }
    if (cache_stats().rejected)
        return 3; /* readers see a whole entry or none */
    return hits ? 0 : 4;
}

static void processes_at_once_see_right_bytes_or_none(void **state) {
    (void)state;
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++)
        children[i] = start(store_and_load_at_random, (void *)(uintptr_t)(i + 1));
    for (unsigned i = 0; i < PROCESSES; i++)
        assert_int_equal(finish(children[i]), 0);
    assert_int_equal(cache_count_names(VY_CACHE_TEMPORARY_PREFIX), 0);
    for (unsigned i = 0; i < KEYS; i++)
        assert_true(cache_load(i, size_of(i)) >= 0);
    assert_int_equal(cache_stats().rejected, 0);
}

/* The bound is so small that they evict what the others store. */
static void processes_may_evict_from_one_another(void **state) {
    (void)state;
    pid_t children[PROCESSES];
    vyre_cache_set_disk_limit(1200000);
    for (unsigned i = 0; i < PROCESSES; i++)
        children[i] = start(store_and_load_at_random, (void *)(uintptr_t)(i + 100));
    for (unsigned i = 0; i < PROCESSES; i++)
        assert_int_equal(finish(children[i]), 0);
}

/* ---- killed in the middle ---- */

/* Images made before, so that nearly all the time goes into writing and renaming. */
static int store_for_ever(void *user) {
    (void)user;
    uint8_t *images[KEYS];
    size_t sizes[KEYS];
    int folder = open(cache_folder, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < KEYS; i++) {
        vy_cache_key key = cache_key(i);
        uint8_t *payload = malloc(size_of(i) + 1);
        cache_fill(i, payload, size_of(i));
        sizes[i] = vy_cache_entry_size("test:label", size_of(i));
        images[i] = malloc(sizes[i]);
        vy_cache_entry_encode(&key, "test:label", 1, (vyre_span){payload, size_of(i)}, images[i]);
        free(payload);
    }
    for (unsigned i = 0;; i = (i + 1) % KEYS) {
        vy_cache_key key = cache_key(i);
        if (vy_cache_entry_write(folder, &key, images[i], sizes[i]) != 0)
            return 1;
    }
}

/* At any moment, or when a file is being written: until then, but not for ever. */
static void wait_for_the_moment(vy_random *random, unsigned left_behind) {
    if (vy_random_below(random, 2) == 0) {
        usleep((useconds_t)vy_random_below(random, 20000));
        return;
    }
    for (unsigned i = 0; i < 20000 && cache_count_names(VY_CACHE_TEMPORARY_PREFIX) <= left_behind; i++)
        sched_yield();
}

static void kill_in_the_middle_leaves_right_bytes_or_none(void **state) {
    (void)state;
    vy_random random = vy_random_start(7);
    unsigned left_behind = 0;
    for (unsigned kills = 0; kills < KILLS; kills++) {
        pid_t child = start(store_for_ever, NULL);
        wait_for_the_moment(&random, left_behind);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(finish(child), -SIGKILL);
        left_behind = cache_count_names(VY_CACHE_TEMPORARY_PREFIX);
        for (unsigned i = 0; i < KEYS; i++)
            assert_true(cache_load(i, size_of(i)) >= 0);
    }
    print_message("%u kills left %u temporary files\n", KILLS, left_behind);
    assert_true(left_behind > 0); /* else no kill met a write, and nothing was shown */
    /* No entry was damaged: an interrupted write never had the name of an entry. */
    assert_int_equal(cache_stats().rejected, 0);

    DIR *names = opendir(cache_folder);
    for (struct dirent *entry; (entry = readdir(names));)
        if (strncmp(entry->d_name, VY_CACHE_TEMPORARY_PREFIX, strlen(VY_CACHE_TEMPORARY_PREFIX)) == 0) {
            char path[600];
            snprintf(path, sizeof path, "%s/%s", cache_folder, entry->d_name);
            cache_set_age(path, VY_CACHE_TEMPORARY_AGE + 1);
        }
    closedir(names);
    vyre_cache_set_disk_limit(8 << 20); /* a store of an eighth of it looks in any case */
    cache_store(5, size_of(5));
    assert_int_equal(cache_count_names(VY_CACHE_TEMPORARY_PREFIX), 0);
    for (unsigned i = 0; i < KEYS; i++) {
        cache_store(i, size_of(i));
        assert_int_equal(cache_load(i, size_of(i)), 1);
    }
}

/* ---- disks ---- */

enum { CHILD_SKIPPED = 77 };

static int write_text(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    int written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return written;
}

/* What a user without rights needs to mount: a namespace in which it has its own ids, and rights. */
static int enter_user_namespace(void) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "%lu %lu 1", (unsigned long)geteuid(), (unsigned long)geteuid());
    snprintf(groups, sizeof groups, "%lu %lu 1", (unsigned long)getegid(), (unsigned long)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
}

/* Mounts a file system over the folder, seen by this process alone. */
static int mount_small(const char *options) {
    if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0)
        (void)mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    else if (!enter_user_namespace())
        return 0;
    return mount("tmpfs", cache_folder, "tmpfs", 0, options) == 0;
}

/* Until nothing more goes in, then on. */
static int fill_the_disk(void *user) {
    (void)user;
    if (!mount_small("size=128k,mode=700"))
        return CHILD_SKIPPED;
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 40; i++) {
            cache_store(i, 9000);
            if (cache_load(i, 9000) < 0)
                return 1;
        }
    unsigned hits = 0;
    for (unsigned i = 0; i < 40; i++)
        hits += cache_load(i, 9000) == 1;
    if (hits < 5 || hits > 14)
        return 2;
    if (cache_count_names(VY_CACHE_TEMPORARY_PREFIX) != 0)
        return 3;
    if (cache_stats().rejected != 0)
        return 4;
    /* Room again, and it goes on. */
    if (vyre_cache_clear(NULL, NULL, NULL, NULL) != VYRE_OK)
        return 5;
    cache_store(1, 9000);
    return cache_load(1, 9000) == 1 ? 0 : 6;
}

static int use_a_read_only_disk(void *user) {
    (void)user;
    vyre_cache_stats before;
    if (!mount_small("size=1m,mode=700"))
        return CHILD_SKIPPED;
    cache_store(1, 9000);
    cache_store(2, 9000);
    const struct timespec old[2] = {{1000, 0}, {1000, 0}}; /* a hit would touch it */
    if (utimensat(AT_FDCWD, cache_path(1), old, 0) != 0)
        return 5;
    int file = open(cache_path(2), O_WRONLY);
    if (pwrite(file, "x", 1, 200) != 1 || close(file) != 0)
        return 1;
    if (mount("tmpfs", cache_folder, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m") != 0)
        return CHILD_SKIPPED;
    before = cache_stats();
    cache_store(3, 9000);
    if (cache_stats().stores != before.stores || cache_load(3, 9000) != 0)
        return 2;
    if (cache_load(1, 9000) != 1 || cache_load(2, 9000) != 0 || cache_load(2, 9000) != 0)
        return 3; /* the damaged one cannot be removed: it stays a miss */
    vyre_error error;
    uint64_t removed;
    if (vyre_cache_clear(NULL, &removed, NULL, &error) != VYRE_IO || removed != 0)
        return 4;
    return 0;
}

static void expect_child(int (*body)(void *user), const char *what) {
    int code = finish(start(body, NULL));
    if (code == CHILD_SKIPPED)
        VY_SKIP("%s: a file system cannot be mounted here", what);
    assert_int_equal(code, 0);
}

static void full_disk_is_a_miss(void **state) {
    (void)state;
    expect_child(fill_the_disk, "full disk");
}

static void read_only_disk_still_hits(void **state) {
    (void)state;
    expect_child(use_a_read_only_disk, "read-only disk");
}

int main(void) {
#define TEST(claim) cmocka_unit_test_setup_teardown(claim, cache_setup, cache_teardown)
    const struct CMUnitTest tests[] = {
        TEST(processes_at_once_see_right_bytes_or_none),
        TEST(processes_may_evict_from_one_another),
        TEST(kill_in_the_middle_leaves_right_bytes_or_none),
        TEST(full_disk_is_a_miss),
        TEST(read_only_disk_still_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
