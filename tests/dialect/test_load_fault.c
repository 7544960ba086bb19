/* Loading and reloading without memory: nothing is published, nothing leaks, and the next try does what the failed one
 * did not. */
#include "dialect/manifests.h"
#include "support/fault.h"

typedef struct scene {
    const char *folder;
    vyre_dialects_watcher *watcher;
    uint32_t poll_milliseconds;
    size_t stride; /* 0: every allocation */
} scene;

/* Fails the k-th allocation of `act`, for every k, alone and with all later ones. `prepare` and `clean` run without
 * faults. */
static size_t fail_each(scene *scene, void (*prepare)(struct scene *), vyre_status (*act)(struct scene *, vyre_error *),
                        void (*clean)(struct scene *)) {
    size_t count = 0;
    for (int keep = 0; keep < 2; keep++) {
        int faulted = 1;
        for (size_t k = 1; faulted; k += scene->stride ? scene->stride : 1) {
            vyre_error error = VYRE_ERROR_INIT;
            prepare(scene);
            uint64_t before = manifests_generation();
            size_t blocks = vy_fault_live_blocks();
            keep ? vy_fault_start_all(k) : vy_fault_start(k);
            vyre_status status = act(scene, &error);
            faulted = vy_fault_stop();
            count += faulted && !keep;
            /* What only shortens findings may fail unseen. */
            if (status != VYRE_OK && (status != VYRE_NO_MEMORY || manifests_generation() != before || !*error.fix))
                fail_msg("allocation %zu: %s, generation %llu -> %llu", k, vyre_status_name(status),
                         (unsigned long long)before, (unsigned long long)manifests_generation());
            if (!faulted && status != VYRE_OK)
                fail_msg("without a fault: %s", error.message);
            if (status != VYRE_OK && !scene->watcher && vy_fault_live_blocks() != blocks)
                fail_msg("allocation %zu: %zd blocks leaked", k, (ssize_t)(vy_fault_live_blocks() - blocks));
            if (status != VYRE_OK && act(scene, &error) != VYRE_OK) /* again, with memory */
                fail_msg("allocation %zu: the second try fails: %s", k, error.message);
            clean(scene);
        }
    }
    return count;
}

static void write_files(scene *scene) {
    manifests_write(scene->folder, "a.toml",
                    "dialect = \"a\"\nversion = \"1.0.0\"\nfile = \"a.vyre\"\n[requires]\nb = \"2.0.0\"\n[[op]]\n"
                    "id = \"f\"\nsignature = \"fn f(x: u32) -> u32\"\n");
    manifests_write(scene->folder, "a.vyre", "fn f(x: u32) -> u32 {\nlet y : u32 = b.g(x)\nreturn y }\n");
    manifests_write(scene->folder, "b.toml",
                    "dialect = \"b\"\nversion = \"2.0.0\"\n[[op]]\nid = \"g\"\nsignature = \"fn g(x: u32) -> u32\"\n"
                    "body = \"fn g(x: u32) -> u32 { return x }\"\n");
}

static void empty_registry(scene *scene) {
    (void)scene;
    assert_int_equal(manifests_reset(), VYRE_OK);
}

static vyre_status load(scene *scene, vyre_error *error) {
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_status status = vyre_dialects_load_folder(scene->folder, list, error);
    vyre_diagnostics_free(list);
    return status;
}

static void loading_a_folder(void **state) {
    scene scene = {.folder = *state};
    write_files(&scene);
    assert_int_equal(load(&scene, NULL), VYRE_OK); /* names are interned for ever */
    empty_registry(&scene);
    size_t blocks = vy_fault_live_blocks();
    assert_true(fail_each(&scene, empty_registry, load, empty_registry) > 50);
    assert_int_equal(vy_fault_live_blocks(), blocks);
}

static vyre_status load_text(scene *scene, vyre_error *error) {
    const char text[] = "dialect = \"t\"\nversion = \"1.0.0\"\n[[op]]\nid = \"f\"\nsignature = \"fn f() -> u32\"\n"
                        "body = \"fn f() -> u32 { return 1 }\"\n";
    (void)scene;
    return vyre_dialects_load_text("text", text, strlen(text), NULL, error);
}

static vyre_status unload_text(scene *scene, vyre_error *error) {
    (void)scene;
    return vyre_dialects_unload("text", error);
}

static void prepare_text(scene *scene) {
    assert_int_equal(load_text(scene, NULL), VYRE_OK);
}

static void loading_and_unloading_a_text(void **state) {
    scene scene = {.folder = *state};
    prepare_text(&scene);
    empty_registry(&scene);
    size_t blocks = vy_fault_live_blocks();
    fail_each(&scene, empty_registry, load_text, empty_registry);
    fail_each(&scene, prepare_text, unload_text, empty_registry);
    assert_int_equal(vy_fault_live_blocks(), blocks);
}

/* One changed, one removed, one new. */
static void start_over(scene *scene) {
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    write_files(scene);
    manifests_write(scene->folder, "c.toml", "dialect = \"c\"\nversion = \"1.0.0\"\n");
    options.folders = &scene->folder;
    options.folder_count = 1;
    options.is_manual = 1;
    assert_int_equal(vyre_dialects_watch(&options, &scene->watcher, NULL), VYRE_OK);
    manifests_write(scene->folder, "a.vyre", "fn f(x: u32) -> u32 {\nlet y : u32 = b.g(x)\nreturn y + 1 }\n");
    manifests_unlink(scene->folder, "c.toml");
    manifests_write(scene->folder, "d.toml", "dialect = \"d\"\nversion = \"1.0.0\"\n");
}

static vyre_status rescan(scene *scene, vyre_error *error) {
    return vyre_dialects_rescan(scene->watcher, error);
}

static void stop(scene *scene) {
    assert_true(manifests_has("a.f"));
    assert_null(manifests_version("c"));
    assert_non_null(manifests_version("d"));
    vyre_dialects_watcher_stop(scene->watcher);
    scene->watcher = NULL;
    manifests_unlink(scene->folder, "d.toml");
    empty_registry(scene);
}

static void reloading_a_folder(void **state) {
    scene scene = {.folder = *state};
    start_over(&scene);
    assert_int_equal(rescan(&scene, NULL), VYRE_OK);
    stop(&scene);
    size_t blocks = vy_fault_live_blocks();
    assert_true(fail_each(&scene, start_over, rescan, stop) > 50);
    assert_int_equal(vy_fault_live_blocks(), blocks);
}

static vyre_status watch(scene *scene, vyre_error *error) {
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher;
    options.folders = &scene->folder;
    options.folder_count = 1;
    options.poll_milliseconds = scene->poll_milliseconds;
    vyre_status status = vyre_dialects_watch(&options, &watcher, error);
    vyre_dialects_watcher_stop(watcher);
    return status;
}

static void starting_to_watch(void **state) {
    scene scene = {.folder = *state, .poll_milliseconds = 60000};
    write_files(&scene);
    size_t blocks = vy_fault_live_blocks();
    fail_each(&scene, empty_registry, watch, empty_registry);
    scene.poll_milliseconds = 0; /* giving inotify back takes the system tens of milliseconds */
    scene.stride = 29;
    fail_each(&scene, empty_registry, watch, empty_registry);
    assert_int_equal(vy_fault_live_blocks(), blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MANIFESTS_TEST(loading_a_folder),
        MANIFESTS_TEST(loading_and_unloading_a_text),
        MANIFESTS_TEST(reloading_a_folder),
        MANIFESTS_TEST(starting_to_watch),
    };
    vy_fault_install(); /* to the end: the registry lives as long as the process */
    assert_int_equal(manifests_reset(), VYRE_OK);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
