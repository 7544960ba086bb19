/* Folders that are watched: what happens to files happens to dialects, each manifest for itself, all in one snapshot.
 * */
#include "dialect/watching.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/wait.h>

/* ---- one look after another ---- */

static void a_look_loads_changes_and_removes(void **state) {
    const char *folder = *state;
    told told;
    manifests_write(folder, "a.toml", A("1.0.0"));
    vyre_dialects_watcher *watcher = watch(folder, &told, 1, 0);
    assert_string_equal(manifests_version("a"), "1.0.0");
    assert_int_equal(told.changed, 1);
    manifests_write(folder, "a.toml", A("1.1.0"));
    manifests_write(folder, "b.toml", B("2.0.0"));
    uint64_t before = manifests_generation();
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_int_equal(manifests_generation(), before + 1);
    assert_string_equal(manifests_version("a"), "1.1.0");
    assert_string_equal(manifests_version("b"), "2.0.0");
    manifests_unlink(folder, "a.toml");
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_null(manifests_version("a"));
    assert_non_null(manifests_version("b"));
    assert_int_equal(told.removed, 1);
    end(watcher);
}

static void a_look_at_nothing_new_installs_nothing_and_tells_nothing(void **state) {
    const char *folder = *state;
    told told;
    manifests_write(folder, "a.toml", A("1.0.0"));
    vyre_dialects_watcher *watcher = watch(folder, &told, 1, 0);
    uint64_t before = manifests_generation();
    manifests_write(folder, "a.toml", A("1.0.0")); /* the same bytes again */
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_int_equal(manifests_generation(), before);
    assert_int_equal(told.calls, 1);
    end(watcher);
}

static void a_bad_manifest_stays_as_it_was_and_the_others_change(void **state) {
    const char *folder = *state;
    told told;
    manifests_write(folder, "a.toml", A("1.0.0"));
    manifests_write(folder, "b.toml", B("1.0.0"));
    vyre_dialects_watcher *watcher = watch(folder, &told, 1, 0);
    manifests_write(folder, "a.toml", "dialect = \"a\"\nvers");
    manifests_write(folder, "b.toml", B("2.0.0"));
    vyre_error error;
    assert_int_equal(vyre_dialects_rescan(watcher, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.where, "a.toml:2:"));
    assert_string_equal(manifests_version("a"), "1.0.0");
    assert_string_equal(manifests_version("b"), "2.0.0");
    assert_int_equal(told.errors, 1);
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK); /* nothing new is wrong */
    manifests_write(folder, "a.toml", A("3.0.0"));
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_string_equal(manifests_version("a"), "3.0.0");
    end(watcher);
}

static void a_body_file_that_changes_reloads_its_manifest(void **state) {
    const char *folder = *state;
    told told;
    manifests_write(folder, "a.toml",
                    A("1.0.0") "file = \"a.vyre\"\n[[op]]\nid = \"f\"\nsignature = \"fn f(x: u32) -> u32\"\n");
    vyre_dialects_watcher *watcher = watch(folder, &told, 1, 0);
    assert_false(manifests_has("a.f"));
    assert_string_equal(told.code, "D110");
    manifests_write(folder, "a.vyre", "fn f(x: u32) -> u32 { return x }\n");
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_true(manifests_has("a.f"));
    uint64_t before = manifests_generation();
    manifests_write(folder, "a.vyre", "fn f(x: u32) -> u32 { return x + 1 }\n");
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_int_equal(manifests_generation(), before + 1);
    manifests_write(folder, "a.vyre", "fn f(x: u32) -> u32 { retu");
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_INVALID_PROGRAM);
    manifests_unlink(folder, "a.vyre");
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_INVALID_PROGRAM);
    assert_int_equal(manifests_generation(), before + 1);
    assert_true(manifests_has("a.f"));
    end(watcher);
}

static void what_others_require_stays_until_they_go(void **state) {
    const char *folder = *state;
    told told;
    manifests_write(folder, "a.toml", A("2.0.0"));
    manifests_write(folder, "b.toml", B("1.0.0") "[requires]\na = \"1.5.0\"\n");
    vyre_dialects_watcher *watcher = watch(folder, &told, 1, 0);
    assert_non_null(manifests_version("b"));
    manifests_unlink(folder, "a.toml");
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_NOT_FOUND);
    assert_string_equal(told.code, "D119");
    assert_non_null(manifests_version("a"));
    manifests_write(folder, "a.toml", A("1.0.0")); /* too old now */
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_CONFLICT);
    assert_string_equal(manifests_version("a"), "2.0.0");
    manifests_unlink(folder, "b.toml");
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_null(manifests_version("b"));
    assert_string_equal(manifests_version("a"), "1.0.0");
    end(watcher);
}

static void a_second_provider_waits_until_the_first_is_gone(void **state) {
    const char *folder = *state;
    told told;
    manifests_write(folder, "a.toml", A("1.0.0"));
    vyre_dialects_watcher *watcher = watch(folder, &told, 1, 0);
    manifests_write(folder, "z.toml", A("9.0.0"));
    manifests_write(folder, "b.toml", B("1.0.0"));
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_CONFLICT);
    assert_string_equal(told.code, "D120");
    assert_string_equal(manifests_version("a"), "1.0.0");
    assert_non_null(manifests_version("b"));
    manifests_unlink(folder, "a.toml");
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_string_equal(manifests_version("a"), "9.0.0");
    end(watcher);
}

/* Calls and laws reach over manifests: what is not edited must stay true. */
static void a_change_that_breaks_another_manifest_is_refused(void **state) {
    const char *folder = *state;
    const char g[] = A("%s") "[[op]]\nid = \"g\"\nsignature = \"fn g(x: u32%s) -> u32\"\n"
                             "body = \"fn g(x: u32%s) -> u32 { return x %s }\"\n";
    char text[512];
    told told;
    manifests_write(folder, "b.toml",
                    B("1.0.0") "[[op]]\nid = \"f\"\nsignature = \"fn f(x: u32) -> u32\"\n"
                               "laws = [{ law = \"inverse_of\", op = \"a.g\" }]\n"
                               "body = \"fn f(x: u32) -> u32 { return x - 1 }\"\n"
                               "[[op]]\nid = \"h\"\nsignature = \"fn h(x: u32) -> u32\"\n"
                               "body = \"fn h(x: u32) -> u32 { let y : u32 = a.g(x)\\n return y }\"\n");
    snprintf(text, sizeof text, g, "1.0.0", "", "", "+ 1");
    manifests_write(folder, "a.toml", text);
    vyre_dialects_watcher *watcher = watch(folder, &told, 1, 0);
    assert_true(manifests_has("b.h"));
    snprintf(text, sizeof text, g, "2.0.0", "", "", "+ 2"); /* f is no inverse of that */
    manifests_write(folder, "a.toml", text);
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_INVALID_PROGRAM);
    assert_string_equal(told.code, "D123");
    assert_string_equal(manifests_version("a"), "1.0.0");
    snprintf(text, sizeof text, g, "3.0.0", ", y: u32", ", y: u32", "+ y"); /* h gives it one argument */
    manifests_write(folder, "a.toml", text);
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_INVALID_PROGRAM);
    assert_string_equal(manifests_version("a"), "1.0.0");
    manifests_unlink(folder, "a.toml"); /* both need it */
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_NOT_FOUND);
    assert_string_equal(manifests_version("a"), "1.0.0");
    snprintf(text, sizeof text, g, "4.0.0", "", "", "- 0xffffffff"); /* the same by other means */
    manifests_write(folder, "a.toml", text);
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    assert_string_equal(manifests_version("a"), "4.0.0");
    end(watcher);
}

static void folders_must_be_named(void **state) {
    (void)state;
    vyre_dialects_watcher *watcher;
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    unsetenv("VYRE_DIALECT_PATH");
    assert_int_equal(vyre_dialects_watch(NULL, &watcher, NULL), VYRE_INVALID_ARGUMENT);
    assert_null(watcher);
    options.struct_size = 8;
    assert_int_equal(vyre_dialects_watch(&options, &watcher, NULL), VYRE_ABI_MISMATCH);
    assert_int_equal(vyre_dialects_rescan(NULL, NULL), VYRE_INVALID_ARGUMENT);
    vyre_dialects_watcher_stop(NULL);
}

/* ---- being told ---- */

static void every_way_to_change_a_file_is_seen(void **state) {
    const char *folder = *state;
    char path[600], target[600];
    told told;
    manifests_write(folder, "a.toml", A("1.0.0"));
    manifests_folder(folder, "elsewhere");
    vyre_dialects_watcher *watcher = watch(folder, &told, 0, 0);
    snprintf(path, sizeof path, "%s/a.toml", folder);
    expect_soon("a", "1.0.0");
    manifests_write(folder, "a.toml", A("2.0.0")); /* in place */
    expect_soon("a", "2.0.0");
    manifests_swap(folder, "a.toml", A("3.0.0")); /* another file under its name */
    expect_soon("a", "3.0.0");
    manifests_unlink(folder, "a.toml");
    expect_soon("a", NULL);
    manifests_write(folder, "a.toml", A("4.0.0")); /* a new one */
    expect_soon("a", "4.0.0");
    manifests_write(folder, "elsewhere/real", A("5.0.0")); /* replaced by a link */
    snprintf(target, sizeof target, "%s/elsewhere/real", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(target, path), 0);
    expect_soon("a", "5.0.0");
    manifests_write(folder, "elsewhere/real", A("6.0.0")); /* where the link leads */
    expect_soon("a", "6.0.0");
    assert_int_equal(unlink(target), 0); /* to nowhere: the old one stays */
    nap(100);
    assert_string_equal(manifests_version("a"), "6.0.0");
    manifests_swap(folder, "elsewhere/real", A("7.0.0"));
    expect_soon("a", "7.0.0");
    end(watcher);
}

static void a_link_out_of_the_folder_is_not_read(void **state) {
    const char *folder = *state;
    char path[600], in[300];
    told told;
    manifests_folder(folder, "in");
    manifests_write(folder, "outside", A("9.0.0"));
    snprintf(in, sizeof in, "%s/in", folder);
    snprintf(path, sizeof path, "%s/in/a.toml", folder);
    manifests_write(folder, "in/a.toml", A("1.0.0"));
    vyre_dialects_watcher *watcher = watch(in, &told, 1, 0);
    assert_string_equal(manifests_version("a"), "1.0.0");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("../outside", path), 0);
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_INVALID_ARGUMENT);
    assert_string_equal(told.code, "D121");
    assert_string_equal(manifests_version("a"), "1.0.0"); /* as after any mistake */
    vyre_dialects_watcher_stop(watcher);
    watcher = watch(in, &told, 0, 0); /* with its thread */
    manifests_swap(in, "a.toml", A("2.0.0"));
    expect_soon("a", "2.0.0");
    end(watcher);
}

static void a_folder_may_go_and_come_back(void **state) {
    const char *folder = *state;
    char path[600], away[600];
    told told;
    snprintf(path, sizeof path, "%s/deep/er", folder);
    snprintf(away, sizeof away, "%s/away", folder);
    vyre_dialects_watcher *watcher = watch(path, &told, 0, 0); /* not there yet */
    manifests_folder(folder, "deep");
    manifests_folder(folder, "deep/er");
    manifests_write(folder, "deep/er/a.toml", A("1.0.0"));
    expect_soon("a", "1.0.0");
    assert_int_equal(rename(path, away), 0);
    expect_soon("a", NULL);
    assert_int_equal(rename(away, path), 0);
    expect_soon("a", "1.0.0");
    manifests_unlink(folder, "deep/er/a.toml");
    assert_int_equal(rmdir(path), 0);
    expect_soon("a", NULL);
    manifests_folder(folder, "deep/er");
    manifests_write(folder, "deep/er/a.toml", A("2.0.0"));
    expect_soon("a", "2.0.0");
    end(watcher);
}

static void bodies_below_the_folder_are_watched_too(void **state) {
    const char *folder = *state;
    told told;
    manifests_folder(folder, "sub");
    manifests_write(folder, "sub/a.vyre", "fn f(x: u32) -> u32 { return x }\n");
    manifests_write(folder, "a.toml",
                    A("1.0.0") "file = \"sub/a.vyre\"\n[[op]]\nid = \"f\"\nsignature = \"fn f(x: u32) -> u32\"\n");
    vyre_dialects_watcher *watcher = watch(folder, &told, 0, 0);
    uint64_t before = manifests_generation();
    manifests_write(folder, "sub/a.vyre", "fn f(x: u32) -> u32 { return x + 1 }\n");
    for (unsigned i = 0; i < 2000 && manifests_generation() == before; i++)
        nap(5);
    assert_int_equal(manifests_generation(), before + 1);
    end(watcher);
}

static void polling_sees_the_same(void **state) {
    const char *folder = *state;
    told told;
    vyre_dialects_watcher *watcher = watch(folder, &told, 0, 20);
    manifests_write(folder, "a.toml", A("1.0.0"));
    expect_soon("a", "1.0.0");
    manifests_swap(folder, "a.toml", A("2.0.0"));
    expect_soon("a", "2.0.0");
    manifests_unlink(folder, "a.toml");
    expect_soon("a", NULL);
    end(watcher);
}

static void without_inotify_folders_are_polled(void **state) {
    const char *folder = *state;
    int files[1024], count = 0;
    told told;
    while (count < 1000 && (files[count] = inotify_init1(IN_CLOEXEC)) >= 0)
        count++;
    int is_out = count < 1000;
    if (is_out) {
        vyre_dialects_watcher *watcher = watch(folder, &told, 0, 0);
        manifests_write(folder, "a.toml", A("1.0.0"));
        expect_soon("a", "1.0.0");
        end(watcher);
    }
    while (count > 0)
        close(files[--count]);
    if (!is_out)
        VY_SKIP("this system has more than 1000 inotify instances for a user");
}

/* The thread is busy in the report while more happens than the system remembers. */
static atomic_int is_blocking;
static void block(void *user, const vyre_dialects_event *event) {
    note(user, event);
    while (atomic_load(&is_blocking))
        nap(1);
}

static void lost_events_lead_to_a_look_at_everything(void **state) {
    const char *folder = *state;
    unsigned limit = 0;
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    if (!file || fscanf(file, "%u", &limit) != 1 || limit > 100000)
        limit = 0;
    if (file)
        fclose(file);
    if (!limit)
        VY_SKIP("the length of the system's queue of events is unknown, or too large to fill");
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher = NULL;
    told told = {0};
    options.folders = &folder;
    options.folder_count = 1;
    options.report = block;
    options.user = &told;
    options.quiet_milliseconds = 10;
    assert_int_equal(vyre_dialects_watch(&options, &watcher, NULL), VYRE_OK);
    atomic_store(&is_blocking, 1);
    manifests_write(folder, "a.toml", A("1.0.0"));
    for (unsigned i = 0; i < 4000 && atomic_load(&told.calls) == 0; i++)
        nap(5);
    assert_int_equal(atomic_load(&told.calls), 1);
    char one[600], other[600];
    snprintf(one, sizeof one, "%s/one", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    manifests_write(folder, "one", "");
    for (unsigned i = 0; i <= limit / 2; i++) { /* two events each */
        assert_int_equal(rename(one, other), 0);
        assert_int_equal(rename(other, one), 0);
    }
    manifests_swap(folder, "a.toml", A("2.0.0")); /* nobody is told of this */
    manifests_write(folder, "b.toml", B("2.0.0"));
    atomic_store(&is_blocking, 0);
    expect_soon("a", "2.0.0");
    expect_soon("b", "2.0.0");
    end(watcher);
}

/* ---- a thread that cannot be started ---- */

#if !VY_SANITIZED /* sanitizers have their own pthread_create */
static int refuse_threads;
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *user) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (refuse_threads)
        return EAGAIN;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, body, user);
}

/* Whose thread is not there: nobody waits for it. */
static void a_child_can_stop_the_watcher_of_its_parent(void **state) {
    vyre_dialects_watcher *watcher;
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    const char *folder = *state;
    vyre_error error;
    int how = 0;
    options.folders = &folder, options.folder_count = 1;
    assert_int_equal(vyre_dialects_watch(&options, &watcher, &error), VYRE_OK);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        int is_refused = vyre_dialects_rescan(watcher, &error) == VYRE_INVALID_ARGUMENT;
        vyre_dialects_watcher_stop(watcher);
        _exit(is_refused ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(vyre_dialects_rescan(watcher, &error), VYRE_OK);
    vyre_dialects_watcher_stop(watcher);
}

static void a_thread_that_does_not_start_is_an_error(void **state) {
    const char *folder = *state;
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher;
    vyre_error error = VYRE_ERROR_INIT;
    options.folders = &folder;
    options.folder_count = 1;
    refuse_threads = 1;
    assert_int_equal(vyre_dialects_watch(&options, &watcher, &error), VYRE_LIMIT);
    refuse_threads = 0;
    assert_null(watcher);
    assert_non_null(strstr(error.message, "thread"));
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        MANIFESTS_TEST(a_look_loads_changes_and_removes),
        MANIFESTS_TEST(a_look_at_nothing_new_installs_nothing_and_tells_nothing),
        MANIFESTS_TEST(a_bad_manifest_stays_as_it_was_and_the_others_change),
        MANIFESTS_TEST(a_body_file_that_changes_reloads_its_manifest),
        MANIFESTS_TEST(what_others_require_stays_until_they_go),
        MANIFESTS_TEST(a_second_provider_waits_until_the_first_is_gone),
        MANIFESTS_TEST(a_change_that_breaks_another_manifest_is_refused),
        cmocka_unit_test(folders_must_be_named),
        MANIFESTS_TEST(every_way_to_change_a_file_is_seen),
        MANIFESTS_TEST(a_link_out_of_the_folder_is_not_read),
        MANIFESTS_TEST(a_folder_may_go_and_come_back),
        MANIFESTS_TEST(bodies_below_the_folder_are_watched_too),
        MANIFESTS_TEST(polling_sees_the_same),
        MANIFESTS_TEST(without_inotify_folders_are_polled),
        MANIFESTS_TEST(lost_events_lead_to_a_look_at_everything),
#if !VY_SANITIZED
        MANIFESTS_TEST(a_child_can_stop_the_watcher_of_its_parent),
        MANIFESTS_TEST(a_thread_that_does_not_start_is_an_error),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
