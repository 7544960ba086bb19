/* Manifests are edited, half written, replaced, linked, broken and removed as fast as it goes while others read: every
 * reader sees one whole version. */
#include "dialect/manifests.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { READERS = 4, SECONDS = 2, MOST_SECONDS = 60, VERSIONS = 10 };

static atomic_int is_over;
static atomic_uint reads, versions, absences;

/* One version: two ops that name it, and a body that returns it. */
static int make_text(char *text, size_t size, unsigned version) {
    return snprintf(text, size,
                    "dialect = \"a\"\nversion = \"%u.0.0\"\ndoc = \"%u\"\n"
                    "[[op]]\nid = \"f\"\ndoc = \"%u\"\nsignature = \"fn f() -> u32\"\n"
                    "body = \"fn f() -> u32 { return %u }\"\n"
                    "[[op]]\nid = \"g\"\ndoc = \"%u\"\nsignature = \"fn g() -> u32\"\n"
                    "body = \"fn g() -> u32 { return %u }\"\n",
                    version, version, version, version, version, version);
}

static void *read_all(void *user) {
    unsigned *failures = user, seen = 0;
    while (!atomic_load(&is_over)) {
        vyre_dialects_guard guard = vyre_dialects_acquire();
        const vyre_dialect *dialect = vyre_dialects_dialect(guard, "a", 1);
        const vyre_op_definition *f = vyre_dialects_find(guard, "a.f", 3), *g = vyre_dialects_find(guard, "a.g", 3);
        *failures += vyre_dialects_verify(guard, NULL) != VYRE_OK;
        *failures +=
            dialect ? !f || !g || strcmp(f->doc, dialect->doc) != 0 || strcmp(g->doc, dialect->doc) != 0 : f || g;
        unsigned version = dialect ? (unsigned)strtoul(dialect->doc, NULL, 10) : 0;
        if (version != seen)
            atomic_fetch_add(version ? &versions : &absences, 1);
        seen = version;
        atomic_fetch_add(&reads, 1);
        vyre_dialects_release(&guard);
    }
    return NULL;
}

/* In three parts, the first of which is a manifest. */
static void write_slowly(const char *path, const char *text) {
    const char *second = strstr(text, "[[op]]\nid = \"g\"");
    size_t parts[] = {(size_t)(second - text), 20, strlen(second) - 20};
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (unsigned i = 0; file >= 0 && i < 3; text += parts[i++]) {
        assert_int_equal(write(file, text, parts[i]), (ssize_t)parts[i]);
        nanosleep(&(struct timespec){0, 3000000}, NULL);
    }
    close(file);
}

static void change(const char *folder, unsigned version) {
    char text[1024], path[600], target[600];
    make_text(text, sizeof text, version);
    snprintf(path, sizeof path, "%s/a.toml", folder);
    snprintf(target, sizeof target, "%s/real", folder);
    switch (version % 6) {
    case 0:
        (void)unlink(path);
        break;
    case 1:
        manifests_write(folder, "real", text);
        (void)unlink(path);
        (void)symlink(target, path);
        break;
    case 2:
        (void)unlink(path);
        write_slowly(path, text);
        break;
    case 3:
        text[strlen(text) - 3] = '$';
        manifests_swap(folder, "a.toml", text);
        break;
    default:
        manifests_swap(folder, "a.toml", text);
        break;
    }
}

static void edit_for_a_while(void **state, unsigned pause_ms) {
    const char *folder = *state;
    pthread_t threads[READERS];
    unsigned failures[READERS] = {0}, version = 1;
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher;
    options.folders = &folder;
    options.folder_count = 1;
    options.quiet_milliseconds = 2;
    atomic_store(&is_over, 0);
    assert_int_equal(vyre_dialects_watch(&options, &watcher, NULL), VYRE_OK);
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &failures[i]), 0);
    /* On a machine that is busy otherwise, until something was seen. */
    time_t begin = time(NULL);
    for (time_t now = begin; now < begin + SECONDS || (now < begin + MOST_SECONDS && atomic_load(&versions) < VERSIONS);
         now = time(NULL), version++) {
        change(folder, version);
        if (pause_ms)
            nanosleep(&(struct timespec){0, (long)(version % pause_ms) * 1000000}, NULL);
    }
    /* What is there last is what is loaded in the end. */
    char text[1024], last[32];
    make_text(text, sizeof text, 1000000);
    manifests_swap(folder, "a.toml", text);
    snprintf(last, sizeof last, "1000000.0.0");
    const char *now = NULL;
    for (unsigned i = 0; i < 4000 && !((now = manifests_version("a")) && strcmp(now, last) == 0); i++)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    assert_non_null(now);
    assert_string_equal(now, last);
    atomic_store(&is_over, 1);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failures[i], 0);
    }
    vyre_dialects_watcher_stop(watcher);
    print_message("%u edits; %u reads, %u changes of version and %u absences seen\n", version, atomic_load(&reads),
                  atomic_load(&versions), atomic_load(&absences));
    assert_int_equal(manifests_reset(), VYRE_OK);
}

static void edits_with_pauses_are_whole(void **state) {
    edit_for_a_while(state, 40);
    assert_true(atomic_load(&versions) >= VERSIONS);
}

static void edits_without_pauses_are_whole(void **state) {
    edit_for_a_while(state, 0);
}

/* Two watchers of one folder, a third thread that rescans, and one that installs something else. */
static void *rescan_often(void *user) {
    while (!atomic_load(&is_over))
        (void)vyre_dialects_rescan(user, NULL);
    return NULL;
}

static void *load_often(void *user) {
    const char text[] = "dialect = \"other\"\nversion = \"1.0.0\"\n";
    (void)user;
    while (!atomic_load(&is_over)) {
        (void)vyre_dialects_load_text("other", text, strlen(text), NULL, NULL);
        (void)vyre_dialects_unload("other", NULL);
    }
    return NULL;
}

static void rescans_and_loads_from_other_threads_get_along(void **state) {
    const char *folder = *state;
    pthread_t threads[3];
    unsigned failures = 0;
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher;
    char text[1024];
    options.folders = &folder;
    options.folder_count = 1;
    options.quiet_milliseconds = 1;
    atomic_store(&is_over, 0);
    assert_int_equal(vyre_dialects_watch(&options, &watcher, NULL), VYRE_OK);
    assert_int_equal(pthread_create(&threads[0], NULL, read_all, &failures), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, rescan_often, watcher), 0);
    assert_int_equal(pthread_create(&threads[2], NULL, load_often, NULL), 0);
    for (unsigned version = 1; version <= 50; version++) {
        make_text(text, sizeof text, version);
        manifests_swap(folder, "a.toml", text);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    for (unsigned i = 0; i < 4000 && !(manifests_version("a") && strcmp(manifests_version("a"), "50.0.0") == 0); i++)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    atomic_store(&is_over, 1);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    assert_string_equal(manifests_version("a"), "50.0.0");
    vyre_dialects_watcher_stop(watcher);
    assert_int_equal(manifests_reset(), VYRE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MANIFESTS_TEST(edits_with_pauses_are_whole),
        MANIFESTS_TEST(edits_without_pauses_are_whole),
        MANIFESTS_TEST(rescans_and_loads_from_other_threads_get_along),
    };
    if (manifests_reset() != VYRE_OK) /* snapshots of two ops are verified fast */
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
