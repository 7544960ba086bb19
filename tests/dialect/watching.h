/* Tests of watched folders: a watcher that notes what it tells, and waiting for what it does. */
#ifndef VY_TEST_DIALECT_WATCHING_H
#define VY_TEST_DIALECT_WATCHING_H

#include "dialect/manifests.h"

#include <stdatomic.h>
#include <time.h>

#define A(version) "dialect = \"a\"\nversion = \"" version "\"\n"
#define B(version) "dialect = \"b\"\nversion = \"" version "\"\n"

/* What a watcher told. */
typedef struct told {
    atomic_uint calls, changed, removed, errors;
    vyre_error error; /* the latest; read it only when no thread looks */
    char code[8];
} told;

static inline void note(void *user, const vyre_dialects_event *event) {
    told *told = user;
    atomic_fetch_add(&told->changed, event->changed);
    atomic_fetch_add(&told->removed, event->removed);
    if (event->error) {
        told->error = *event->error;
        const vyre_diagnostic *first = vyre_diagnostics_get(event->findings, 0);
        snprintf(told->code, sizeof told->code, "%s", first ? first->code : "");
        atomic_fetch_add(&told->errors, 1);
    }
    atomic_fetch_add(&told->calls, 1);
}

static inline vyre_dialects_watcher *watch_quiet(const char *folder, told *told, int is_manual, uint32_t poll,
                                                 uint32_t quiet) {
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    memset(told, 0, sizeof *told);
    options.folders = &folder;
    options.folder_count = 1;
    options.report = note;
    options.user = told;
    options.is_manual = is_manual;
    options.poll_milliseconds = poll;
    options.quiet_milliseconds = quiet;
    if (vyre_dialects_watch(&options, &watcher, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return watcher;
}

static inline vyre_dialects_watcher *watch(const char *folder, told *told, int is_manual, uint32_t poll) {
    return watch_quiet(folder, told, is_manual, poll, 10);
}

static inline void nap(unsigned milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, (long)(milliseconds % 1000) * 1000000}, NULL);
}

/* Waits until a dialect has a version, or is away (NULL). */
static inline void expect_soon(const char *dialect, const char *version) {
    for (unsigned waited = 0; waited < 20000; waited += 5, nap(5)) {
        const char *now = manifests_version(dialect);
        if (now && version ? strcmp(now, version) == 0 : now == version)
            return;
    }
    const char *now = manifests_version(dialect);
    fail_msg("%s is %s, not %s, after a long time", dialect, now ? now : "away", version ? version : "away");
}

static inline void end(vyre_dialects_watcher *watcher) {
    vyre_dialects_watcher_stop(watcher);
    assert_int_equal(manifests_reset(), VYRE_OK);
}

#endif
