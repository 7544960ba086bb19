/* What is held back of a folder in which somebody writes, look by look, at times that are made up. */
#include "dialect/manifests.h"
#include "dialect/watch.h"
#include "support/fault.h"

#include <time.h>

#define A(version) "dialect = \"a\"\nversion = \"" version "\"\n"

enum { SETTLE_MS = 1000, BEGIN_MS = 500000 };

typedef struct scene {
    const char *folder;
    vy_manifest_dirs folders;
    vy_inotify notify;
    vyre_diagnostics *list;
    int trusts_mtime;
} scene;

static scene set_up(const char *folder, int has_inotify) {
    scene scene = {.folder = folder, .notify = {.file = -1}, .list = vyre_diagnostics_new(), .trusts_mtime = 1};
    int added;
    if (has_inotify)
        vy_inotify_open(&scene.notify);
    assert_int_equal(vy_manifest_dirs_add(&scene.folders, folder, NULL), VYRE_OK);
    vy_inotify_add_watches(&scene.notify, &scene.folders, &added);
    return scene;
}

static void clean_up(scene *scene) {
    vy_inotify_close(&scene->notify);
    vy_manifest_dirs_free(&scene->folders);
    vyre_diagnostics_free(scene->list);
}

/* The times of files are not made up: none is so old that it would be trusted for that. */
static size_t scan_at(scene *scene, int64_t after_ms) {
    const vy_quiesce_options terms = {&scene->notify, BEGIN_MS + after_ms, SETTLE_MS, scene->trusts_mtime};
    size_t changed;
    vyre_diagnostics_clear(scene->list);
    vy_manifest_dirs_discard_uncommitted(&scene->folders);
    vy_quiesce_begin(&scene->folders);
    vy_inotify_begin_scan(&scene->notify);
    assert_int_equal(vy_manifest_dirs_scan(&scene->folders, scene->list, &changed, NULL), VYRE_OK);
    (void)vy_inotify_drain(&scene->notify);
    size_t held = vy_quiesce_defer_unstable(&scene->folders, &terms, scene->list);
    vy_quiesce_end(&scene->folders);
    return held;
}

static void set_time(const char *folder, const char *name, time_t from_now) {
    char path[600];
    const struct timespec times[2] = {{.tv_sec = time(NULL) + from_now}, {.tv_sec = time(NULL) + from_now}};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_is_old_is_whole(void **state) {
    scene scene = set_up(*state, 0);
    manifests_write(*state, "a.toml", A("1.0.0"));
    set_time(*state, "a.toml", -10);
    assert_int_equal(scan_at(&scene, 0), 0);
    assert_int_equal(vy_quiesce_next_deadline(&scene.folders), -1);
    clean_up(&scene);
}

static void times_of_other_machines_are_not_believed(void **state) {
    scene scene = set_up(*state, 0);
    scene.trusts_mtime = 0;
    manifests_write(*state, "a.toml", A("1.0.0"));
    set_time(*state, "a.toml", -10);
    assert_int_equal(scan_at(&scene, 0), 1);
    assert_int_equal(scan_at(&scene, SETTLE_MS), 0);
    clean_up(&scene);
}

static void what_nobody_tells_of_is_whole_when_it_stays_as_it_is(void **state) {
    scene scene = set_up(*state, 0);
    manifests_write(*state, "a.toml", A("1.0.0"));
    set_time(*state, "a.toml", 1000);
    assert_int_equal(scan_at(&scene, 0), 1);
    assert_int_equal(vy_quiesce_next_deadline(&scene.folders), BEGIN_MS + SETTLE_MS);
    assert_int_equal(scan_at(&scene, SETTLE_MS - 1), 1);
    manifests_write(*state, "a.toml", A("2.0.0"));
    set_time(*state, "a.toml", 1000);
    assert_int_equal(scan_at(&scene, SETTLE_MS), 1); /* another one */
    set_time(*state, "a.toml", 2000);
    assert_int_equal(scan_at(&scene, SETTLE_MS + 1), 1); /* it was written again, the same */
    assert_int_equal(scan_at(&scene, 2 * SETTLE_MS), 1);
    assert_int_equal(scan_at(&scene, 2 * SETTLE_MS + 1), 0);
    assert_int_equal(vyre_diagnostics_count(scene.list), 0);
    clean_up(&scene);
}

static void what_changes_for_ever_is_read_at_last_and_that_is_told(void **state) {
    scene scene = set_up(*state, 0);
    for (int i = 0; i < VY_QUIESCE_LIMIT_MS / 100; i++) {
        manifests_write(*state, "a.toml", A("1.0.0"));
        set_time(*state, "a.toml", 1000 + i);
        assert_int_equal(scan_at(&scene, 100 * i), 1);
        assert_true(vy_quiesce_next_deadline(&scene.folders) <= BEGIN_MS + VY_QUIESCE_LIMIT_MS);
        assert_int_equal(vyre_diagnostics_count(scene.list), 0);
    }
    set_time(*state, "a.toml", 5000);
    assert_int_equal(scan_at(&scene, VY_QUIESCE_LIMIT_MS), 0);
    assert_int_equal(scene.folders.first.code, VYRE_LIMIT);
    assert_string_equal(vyre_diagnostics_get(scene.list, 0)->code, "D124");
    clean_up(&scene);
}

static void what_was_closed_is_whole_at_once(void **state) {
    scene scene = set_up(*state, 1);
    if (scene.notify.file < 0) {
        clean_up(&scene);
        VY_SKIP("this system has no inotify instance left");
    }
    manifests_write(*state, "a.toml", A("1.0.0"));
    assert_int_equal(scan_at(&scene, 0), 0);
    manifests_swap(*state, "b.toml", "dialect = \"b\"\nversion = \"1.0.0\"\n");
    assert_int_equal(scan_at(&scene, 1), 0);
    clean_up(&scene);
}

/* What is told needs memory; without, it is as if it had not been. */
static void what_is_told_without_memory_is_not_trusted_at_once(void **state) {
    scene scene = set_up(*state, 1);
    if (scene.notify.file < 0) {
        clean_up(&scene);
        VY_SKIP("this system has no inotify instance left");
    }
    manifests_write(*state, "a.toml", A("1.0.0"));
    set_time(*state, "a.toml", 1000);
    vy_fault_start_all(1);
    assert_true(vy_inotify_drain(&scene.notify));
    assert_true(vy_fault_stop());
    assert_int_equal(scan_at(&scene, 0), 1);
    assert_int_equal(scan_at(&scene, SETTLE_MS), 0);
    clean_up(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MANIFESTS_TEST(what_is_old_is_whole),
        MANIFESTS_TEST(times_of_other_machines_are_not_believed),
        MANIFESTS_TEST(what_nobody_tells_of_is_whole_when_it_stays_as_it_is),
        MANIFESTS_TEST(what_changes_for_ever_is_read_at_last_and_that_is_told),
        MANIFESTS_TEST(what_was_closed_is_whole_at_once),
        MANIFESTS_TEST(what_is_told_without_memory_is_not_trusted_at_once),
    };
    vy_fault_install();
    assert_int_equal(manifests_reset(), VYRE_OK);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
