/* Folders that are watched while somebody writes there: half a manifest may be a manifest, and nobody sees it. That a
 * look has been is known by another manifest that changed. */
#include "dialect/watching.h"
#include "support/fixes.h"

#include <pthread.h>

#define OP(name)                                                                                                       \
    "[[op]]\nid = \"" name "\"\nsignature = \"fn " name "() -> u32\"\nbody = \"fn " name "() -> u32 { return 1 }\"\n"

/* Either of them alone would do for a manifest; `rest` is not written yet. */
static const char half[] = A("2.0.0") OP("f");
static const char rest[] = OP("g");

/* A watcher of a folder with one manifest. */
static vyre_dialects_watcher *watch_one(const char *folder, told *told) {
    manifests_write(folder, "a.toml", A("1.0.0"));
    return watch(folder, told, 0, 0);
}

/* ---- a slow writer ---- */

static void add(int file, const char *text) {
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
}

/* Half of it is there, and the file is open. */
static int begin(const char *folder, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    add(file, half);
    return file;
}

static void finish(int file) {
    add(file, rest);
    close(file);
}

static void expect_whole(void) {
    expect_soon("a", "2.0.0");
    assert_true(manifests_has("a.f") && manifests_has("a.g"));
}

/* A look at everything, for a reason of its own. */
static void look_at(const char *folder, const char *version) {
    char text[64];
    snprintf(text, sizeof text, B("%s"), version);
    manifests_swap(folder, "b.toml", text);
    expect_soon("b", version);
}

static void stays_while_others_change(const char *folder, int file) {
    look_at(folder, "2.0.0");
    assert_string_equal(manifests_version("a"), "1.0.0");
    nap(200); /* many times the quiet that is waited for */
    look_at(folder, "3.0.0");
    assert_string_equal(manifests_version("a"), "1.0.0");
    finish(file);
    expect_whole();
}

/* ---- being told ---- */

static void a_manifest_that_is_being_written_is_waited_for(void **state) {
    const char *folder = *state;
    told told;
    vyre_dialects_watcher *watcher = watch_one(folder, &told);
    int file = begin(folder, "a.toml");
    nap(300);
    assert_string_equal(manifests_version("a"), "1.0.0");
    finish(file);
    expect_whole();
    end(watcher);
    assert_int_equal(told.changed, 2); /* it is told behind the change: all of it when the thread has ended */
    assert_int_equal(told.errors, 0);
}

static void it_stays_as_it_was_while_others_change(void **state) {
    const char *folder = *state;
    told told;
    vyre_dialects_watcher *watcher = watch_one(folder, &told);
    stays_while_others_change(folder, begin(folder, "a.toml"));
    end(watcher);
    assert_int_equal(told.errors, 0);
}

static void a_new_one_does_not_take_the_place_of_the_old_until_it_is_whole(void **state) {
    const char *folder = *state;
    told told;
    vyre_dialects_watcher *watcher = watch_one(folder, &told);
    manifests_unlink(folder, "a.toml");
    int file = begin(folder, "a.toml");
    look_at(folder, "2.0.0");
    assert_false(manifests_has("a.f")); /* the old one may be gone: it was, for a moment */
    finish(file);
    expect_whole();
    end(watcher);
    assert_int_equal(told.errors, 0);
}

static void other_rights_do_not_make_it_whole(void **state) {
    const char *folder = *state;
    told told;
    vyre_dialects_watcher *watcher = watch_one(folder, &told);
    int file = begin(folder, "a.toml");
    assert_int_equal(fchmod(file, 0644), 0);
    stays_while_others_change(folder, file);
    end(watcher);
}

static void somebody_who_writes_to_what_is_deleted_does_not_make_it_whole(void **state) {
    const char *folder = *state;
    told told;
    vyre_dialects_watcher *watcher = watch_one(folder, &told);
    int before = begin(folder, "a.toml");
    manifests_unlink(folder, "a.toml");
    int file = begin(folder, "a.toml");
    finish(before);
    look_at(folder, "2.0.0");
    assert_false(manifests_has("a.f"));
    finish(file);
    expect_whole();
    end(watcher);
}

/* Renamed into place before the rest is flushed. */
static void moving_it_does_not_make_it_whole(void **state) {
    const char *folder = *state;
    char path[600], beside[600];
    told told;
    snprintf(path, sizeof path, "%s/a.toml", folder);
    snprintf(beside, sizeof beside, "%s/.beside", folder);
    vyre_dialects_watcher *watcher = watch_one(folder, &told);
    int file = begin(folder, ".beside");
    assert_int_equal(rename(beside, path), 0);
    stays_while_others_change(folder, file);
    end(watcher);
}

static void what_a_link_leads_to_is_waited_for(void **state) {
    const char *folder = *state;
    char path[600], target[600];
    told told;
    manifests_folder(folder, "elsewhere");
    snprintf(path, sizeof path, "%s/a.toml", folder);
    snprintf(target, sizeof target, "%s/elsewhere/real", folder);
    manifests_write(folder, "elsewhere/real", A("1.0.0"));
    assert_int_equal(symlink(target, path), 0);
    vyre_dialects_watcher *watcher = watch(folder, &told, 0, 0);
    stays_while_others_change(folder, begin(folder, "elsewhere/real"));
    end(watcher);
}

static void a_body_is_waited_for(void **state) {
    const char *folder = *state;
    char path[600];
    const char one[] = "fn f(x: u32) -> u32 { return x }\n", other[] = "fn g(x: u32) -> u32 { return x }\n";
    told told;
    manifests_folder(folder, "sub");
    snprintf(path, sizeof path, "%s/sub/a.vyre", folder);
    manifests_write(folder, "sub/a.vyre", one);
    manifests_write(folder, "a.toml",
                    A("1.0.0") "file = \"sub/a.vyre\"\n[[op]]\nid = \"f\"\nsignature = \"fn f(x: u32) -> u32\"\n");
    vyre_dialects_watcher *watcher = watch(folder, &told, 0, 0);
    int file = open(path, O_WRONLY | O_TRUNC);
    add(file, one);
    manifests_swap(folder, "a.toml",
                   A("2.0.0") "file = \"sub/a.vyre\"\n[[op]]\nid = \"f\"\nsignature = \"fn f(x: u32) -> u32\"\n"
                              "[[op]]\nid = \"g\"\nsignature = \"fn g(x: u32) -> u32\"\n");
    look_at(folder, "2.0.0");
    assert_string_equal(manifests_version("a"), "1.0.0");
    add(file, other);
    close(file);
    expect_whole();
    end(watcher);
    assert_int_equal(told.errors, 0); /* a body without g would have been one */
}

static void asking_does_not_make_it_whole(void **state) {
    const char *folder = *state;
    told told;
    vyre_dialects_watcher *watcher = watch_one(folder, &told);
    int file = begin(folder, "a.toml");
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_string_equal(manifests_version("a"), "1.0.0");
    finish(file);
    for (unsigned i = 0; i < 100; i++) /* what the thread would be told of is told to us */
        assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    expect_whole();
    end(watcher);
}

/* Bytes are there before the system tells that they were written: for as long as the writer does not get to run. A file
 * that is linked there looks the same. Tried again if this thread did not get to run for so long that it counts as
 * whole. */
static void bytes_that_nobody_told_of_are_not_trusted_at_once(void **state) {
    const char *folder = *state;
    char path[600], beside[600];
    told told;
    snprintf(path, sizeof path, "%s/a.toml", folder);
    snprintf(beside, sizeof beside, "%s/.beside", folder);
    vyre_dialects_watcher *watcher = watch(folder, &told, 0, 0);
    int was_half = 1, was_slow = 1;
    for (unsigned tries = 0; tries < 20 && was_slow; tries++) {
        struct timespec from, to;
        manifests_swap(folder, "b.toml", B("1.0.0"));
        expect_soon("b", "1.0.0");
        clock_gettime(CLOCK_MONOTONIC, &from);
        close(begin(folder, ".beside"));
        assert_int_equal(link(beside, path), 0);
        look_at(folder, "2.0.0");
        was_half = manifests_version("a") != NULL;
        clock_gettime(CLOCK_MONOTONIC, &to);
        was_slow = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 > 900;
        if (was_slow)
            assert_int_equal(unlink(path), 0);
        assert_int_equal(unlink(beside), 0);
    }
    assert_true(was_slow || !was_half);
    expect_soon("a", "2.0.0"); /* it is all there is */
    end(watcher);
}

/* ---- writers who do not end ---- */

static void one_who_never_ends_is_not_waited_for_for_ever(void **state) {
    const char *folder = *state;
    told told;
    vyre_dialects_watcher *watcher = watch_one(folder, &told);
    int file = begin(folder, "a.toml");
    look_at(folder, "2.0.0");
    assert_string_equal(manifests_version("a"), "1.0.0");
    expect_soon("a", "2.0.0");
    assert_true(manifests_has("a.f") && !manifests_has("a.g"));
    look_at(folder, "3.0.0");
    finish(file); /* if it ends after all */
    for (unsigned i = 0; i < 4000 && !manifests_has("a.g"); i++)
        nap(5);
    assert_true(manifests_has("a.g"));
    end(watcher);
    assert_int_equal(told.errors, 1);
    assert_string_equal(told.code, "D124");
    fixes_expect("dialect", "D124", told.error.fix);
    assert_non_null(strstr(told.error.message, "a.toml"));
}

static void a_watcher_can_be_stopped_while_somebody_writes(void **state) {
    const char *folder = *state;
    told told;
    vyre_dialects_watcher *watcher = watch_one(folder, &told);
    int file = begin(folder, "a.toml");
    look_at(folder, "2.0.0");
    end(watcher);
    close(file);
}

/* ---- writers nobody tells of ---- */

/* In steps that are much shorter than the quiet that is asked for. */
static void *write_in_steps(void *user) {
    int file = *(int *)user;
    for (const char *at = rest; *at; at++) {
        assert_int_equal(write(file, at, 1), 1);
        nap(3);
    }
    close(file);
    return NULL;
}

static void one_who_writes_when_watching_begins_is_waited_for(void **state) {
    const char *folder = *state;
    pthread_t thread;
    told told;
    for (uint32_t poll = 0; poll <= 5; poll += 5) {
        int file = begin(folder, "a.toml");
        assert_int_equal(pthread_create(&thread, NULL, write_in_steps, &file), 0);
        vyre_dialects_watcher *watcher = watch_quiet(folder, &told, 0, poll, 1000);
        expect_whole();
        pthread_join(thread, NULL);
        end(watcher);
        assert_int_equal(told.changed, 1);
        assert_int_equal(told.errors, 0);
    }
}

static void polling_waits_until_a_file_stays_as_it_is(void **state) {
    const char *folder = *state;
    pthread_t thread;
    told told;
    manifests_write(folder, "a.toml", A("1.0.0"));
    vyre_dialects_watcher *watcher = watch_quiet(folder, &told, 0, 5, 1000);
    assert_string_equal(manifests_version("a"), "1.0.0");
    int file = begin(folder, "a.toml");
    assert_int_equal(pthread_create(&thread, NULL, write_in_steps, &file), 0);
    expect_whole();
    pthread_join(thread, NULL);
    end(watcher);
    assert_int_equal(told.changed, 2);
    assert_int_equal(told.errors, 0);
}

static void a_file_from_the_future_is_loaded_when_it_stays_as_it_is(void **state) {
    const char *folder = *state;
    char path[600];
    told told;
    const struct timespec times[2] = {{.tv_sec = time(NULL) + 100000}, {.tv_sec = time(NULL) + 100000}};
    snprintf(path, sizeof path, "%s/a.toml", folder);
    for (uint32_t poll = 0; poll <= 5; poll += 5) {
        manifests_write(folder, "a.toml", A("1.0.0"));
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        vyre_dialects_watcher *watcher = watch(folder, &told, 0, poll);
        assert_string_equal(manifests_version("a"), "1.0.0");
        manifests_swap(folder, "a.toml", A("2.0.0")); /* polling would see an empty file if this thread had to pause */
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        expect_soon("a", "2.0.0");
        end(watcher);
        assert_int_equal(told.errors, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MANIFESTS_TEST(a_manifest_that_is_being_written_is_waited_for),
        MANIFESTS_TEST(it_stays_as_it_was_while_others_change),
        MANIFESTS_TEST(a_new_one_does_not_take_the_place_of_the_old_until_it_is_whole),
        MANIFESTS_TEST(other_rights_do_not_make_it_whole),
        MANIFESTS_TEST(somebody_who_writes_to_what_is_deleted_does_not_make_it_whole),
        MANIFESTS_TEST(moving_it_does_not_make_it_whole),
        MANIFESTS_TEST(what_a_link_leads_to_is_waited_for),
        MANIFESTS_TEST(a_body_is_waited_for),
        MANIFESTS_TEST(asking_does_not_make_it_whole),
        MANIFESTS_TEST(bytes_that_nobody_told_of_are_not_trusted_at_once),
        MANIFESTS_TEST(one_who_never_ends_is_not_waited_for_for_ever),
        MANIFESTS_TEST(a_watcher_can_be_stopped_while_somebody_writes),
        MANIFESTS_TEST(one_who_writes_when_watching_begins_is_waited_for),
        MANIFESTS_TEST(polling_waits_until_a_file_stays_as_it_is),
        MANIFESTS_TEST(a_file_from_the_future_is_loaded_when_it_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
