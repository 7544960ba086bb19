/* Watching folders of manifests.
 *
 * A scan reads every manifest of the folders, and installs what changed as one snapshot. What must stay true:
 *  - One scan at a time (`scanning`), whichever thread it is on.
 *  - What may be half written is not installed but held (dialect/write_quiesce.h); the others are. What is held is looked at again when something changes, and in time.
 *  - Whoever looks takes the events, and leaves word for the thread of those that came after the reading.
 *  - Watches are set before folders are read, and folders are read again if a watch is new: nothing falls in between. */
#include "base/clock.h"
#include "base/status.h"
#include "base/thread.h"
#include "dialect/write_quiesce.h"
#include "vyre/manifest.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    DEBOUNCE_MS = 50,       /* without a change before a scan */
    MAX_DEBOUNCE_MS = 1000, /* at most, from the first change to a scan */
    STABLE_MS = 1000,       /* a file stays as it is, where changes are told but that of the file was not */
    FIRST_SCAN_LIMIT_MS =
        2000,          /* at most, for folders to be quiet and files to quiesce before the first scan is over */
    FALLBACK_MS = 500, /* between two looks where nobody tells of changes */
    READ_TRIES = 8     /* to read folders without a new watch or writer; they change faster only by malice */
};

struct vyre_dialects_watcher {
    vyre_dialects_watch_options options;
    vy_manifest_dirs folders;
    vy_inotify notify;
    pthread_t thread;
    int wake; /* an eventfd; -1 without a thread */
    int has_thread;
    pid_t
        process; /* that made it; a child after fork has no thread, and perhaps half of what the thread was changing */
    pthread_mutex_t scanning; /* for all above that changes, and: */
    int is_stopping;
    int is_pending;              /* something changed and was not looked at */
    int64_t first, last, looked; /* when: the first and the latest change, the latest scan */
    int64_t due;                 /* when to scan again at what is held; -1 if nothing is */
};

static int64_t now_ms(void) {
    return (int64_t)(vy_clock_now() / 1000000);
}

/* ---- scanning ---- */

typedef enum reason { FIRST, DUE, ASKED } reason;

/* What one scan does, and what it says afterwards. */
typedef struct scan {
    vyre_dialects_watcher *watcher;
    reason reason;
    int64_t since; /* when the first change was */
    vyre_diagnostics *findings;
    vyre_error error; /* the first thing wrong; code VYRE_OK if nothing is */
    size_t read;      /* manifests that are not as they were */
    int has_changed;  /* something changed while they were read */
    uint32_t changed, removed;
} scan;

/* Holds back what may be half of something; without a thread, whoever asks for a scan says that it is time. */
static size_t hold(scan *scan) {
    vyre_dialects_watcher *watcher = scan->watcher;
    const vyre_dialects_watch_options *options = &watcher->options;
    int has_inotify = watcher->notify.file >= 0, is_first = scan->reason == FIRST;
    /* Folders are polled because they are of other machines. At first nothing else is known of files. */
    const vy_quiesce_options terms = {.notify = &watcher->notify,
                                      .now = now_ms(),
                                      .quiesce = has_inotify && !is_first ? STABLE_MS : options->quiet_milliseconds,
                                      .trusts_mtime = has_inotify || is_first};
    return options->is_manual ? 0 : vy_quiesce_defer_unstable(&watcher->folders, &terms, scan->findings);
}

/* Reads the folders once. *is_over: with every folder that matters being watched before it was read, and with nothing in the findings that is held. */
static vyre_status read_once(scan *scan, int *is_over) {
    vyre_dialects_watcher *watcher = scan->watcher;
    int added;
    vy_manifest_dirs_discard_uncommitted(&watcher->folders);
    vyre_diagnostics_clear(scan->findings);
    vy_inotify_begin_scan(&watcher->notify);
    vy_inotify_add_watches(&watcher->notify, &watcher->folders, &added);
    vyre_status status = vy_manifest_dirs_scan(&watcher->folders, scan->findings, &scan->read, &scan->error);
    if (status != VYRE_OK)
        return status;
    vy_inotify_add_watches(&watcher->notify, &watcher->folders, &added);
    scan->has_changed |= vy_inotify_drain(&watcher->notify); /* of what is held, an earlier try was told the last */
    *is_over = hold(scan) == 0 && !added;
    return VYRE_OK;
}

static vyre_status read_folders(scan *scan) {
    vyre_status status = VYRE_OK;
    int is_over = 0;
    scan->has_changed = 0;
    vy_quiesce_begin(&scan->watcher->folders);
    for (int tries = 0; !is_over && tries < READ_TRIES && status == VYRE_OK; tries++)
        status = read_once(scan, &is_over);
    return status;
}

static vyre_status install(scan *scan) {
    vy_manifest_dirs *folders = &scan->watcher->folders;
    vyre_error first = folders->first, why;
    size_t count = folders->entries.count, made = 0;
    vy_load_item *items = vy_manifest_dirs_batch(folders);
    if (!items && count)
        return vy_fail_memory(&scan->error, "loading manifests");
    vyre_status status = vy_load_lenient(items, count, scan->findings, &made, &why);
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        scan->changed += items[i].change == VY_LOAD_REPLACE && !items[i].is_refused;
        scan->removed += items[i].change == VY_LOAD_REMOVE && !items[i].is_refused;
    }
    vy_manifest_dirs_commit(folders, items, status == VYRE_OK);
    scan->error = status != VYRE_OK || first.code == VYRE_OK ? why : first;
    return status;
}

static void report_event(const scan *scan) {
    const vyre_dialects_watch_options *options = &scan->watcher->options;
    if (!options->report || (scan->error.code == VYRE_OK && !scan->changed && !scan->removed))
        return;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_dialects_event event = {.struct_size = sizeof event,
                                       .changed = scan->changed,
                                       .removed = scan->removed,
                                       .generation = vyre_dialects_generation(guard),
                                       .findings = scan->findings,
                                       .error = scan->error.code != VYRE_OK ? &scan->error : NULL};
    vyre_dialects_release(&guard);
    options->report(options->user, &event);
}

/* Whether to read again before anything is installed. How long reading took is nobody's fault. */
static int is_too_early(const scan *scan, int64_t begun) {
    if (scan->reason == FIRST)
        return (scan->has_changed || scan->watcher->due >= 0) && begun - scan->since < FIRST_SCAN_LIMIT_MS;
    return scan->reason == DUE && scan->has_changed && begun - scan->since < MAX_DEBOUNCE_MS;
}

/* A scan has ended. When is the next? */
static void note_scan(const scan *scan, int is_done) {
    vyre_dialects_watcher *watcher = scan->watcher;
    watcher->looked = watcher->last = now_ms();
    watcher->first = is_done ? watcher->looked : scan->since;
    watcher->is_pending = !is_done || scan->has_changed || scan->error.code == VYRE_NO_MEMORY;
    if (is_done && watcher->due < 0)
        vy_inotify_prune_watches(&watcher->notify);
}

/* Looks, reads, installs, tells, with the lock held. 0: nothing was installed or told, since it is too early for that. */
static int scan_once(scan *scan) {
    vyre_dialects_watcher *watcher = scan->watcher;
    int64_t begun = now_ms();
    scan->findings = vyre_diagnostics_new();
    vyre_status status = read_folders(scan);
    watcher->due = vy_quiesce_next_deadline(&watcher->folders);
    int is_done = status != VYRE_OK || !is_too_early(scan, begun);
    /* What was refused before is tried again when something changed, or when somebody asks. */
    if (status == VYRE_OK && is_done && (scan->read || scan->reason != DUE))
        status = install(scan);
    if (!is_done || status != VYRE_OK)
        vy_manifest_dirs_discard_uncommitted(&watcher->folders);
    else
        vy_quiesce_end(&watcher->folders);
    if (status != VYRE_OK)
        scan->error.code = status;
    if (is_done)
        report_event(scan);
    note_scan(scan, is_done);
    vyre_diagnostics_free(scan->findings);
    return is_done;
}

/* There is no thread yet, and no other scan. */
static vyre_status scan_first(vyre_dialects_watcher *watcher, vyre_error *error) {
    scan scan = {.watcher = watcher, .reason = FIRST, .since = now_ms(), .error = VYRE_ERROR_INIT};
    while (!scan_once(&scan))
        (void)poll(NULL, 0, (int)watcher->options.quiet_milliseconds);
    *error = scan.error;
    return scan.error.code;
}

vyre_status vyre_dialects_rescan(vyre_dialects_watcher *watcher, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, watcher);
    if (watcher->process != getpid())
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "make a watcher in the child itself",
                       "the watcher is that of the process before fork (%ld)", (long)watcher->process);
    scan scan = {.watcher = watcher, .reason = ASKED, .error = VYRE_ERROR_INIT};
    (void)pthread_mutex_lock(&watcher->scanning);
    (void)scan_once(&scan);
    (void)pthread_mutex_unlock(&watcher->scanning);
    if (watcher->has_thread) /* what it would have been told of, this scan was told of */
        (void)eventfd_write(watcher->wake, 1);
    if (error && scan.error.code != VYRE_OK)
        *error = scan.error;
    return scan.error.code;
}

/* ---- the thread ---- */

static void note_change(vyre_dialects_watcher *watcher, int64_t now) {
    if (!watcher->is_pending)
        watcher->first = now;
    watcher->is_pending = 1;
    watcher->last = now;
}

/* When to scan next; -1: when told. */
static int64_t next_scan_time(const vyre_dialects_watcher *watcher) {
    int64_t at = -1;
    uint32_t every = watcher->options.poll_milliseconds;
    if (every == 0 && (watcher->notify.file < 0 || watcher->notify.is_incomplete))
        every = FALLBACK_MS;
    if (every)
        at = watcher->looked + every;
    if (watcher->due >= 0 && (at < 0 || watcher->due < at))
        at = watcher->due;
    if (watcher->is_pending) {
        int64_t most = watcher->first + MAX_DEBOUNCE_MS, quiet = watcher->last + watcher->options.quiet_milliseconds;
        at = quiet < most ? quiet : most;
    }
    return at;
}

/* Looks if it is time to. When to come again; -1: when told. 0: to end. */
static int64_t process_events(vyre_dialects_watcher *watcher) {
    (void)pthread_mutex_lock(&watcher->scanning);
    if (vy_inotify_drain(&watcher->notify))
        note_change(watcher, now_ms());
    int64_t at = next_scan_time(watcher), now = now_ms();
    if (at >= 0 && at <= now && !watcher->is_stopping) {
        scan scan = {.watcher = watcher, .reason = DUE, .error = VYRE_ERROR_INIT};
        scan.since = watcher->is_pending ? watcher->first : now;
        (void)scan_once(&scan);
        at = next_scan_time(watcher);
    }
    at = watcher->is_stopping ? 0 : at;
    (void)pthread_mutex_unlock(&watcher->scanning);
    return at;
}

static void *watcher_thread(void *user) {
    vyre_dialects_watcher *watcher = user;
    struct pollfd files[2] = {{.fd = watcher->wake, .events = POLLIN}, {.fd = watcher->notify.file, .events = POLLIN}};
    (void)vy_cancellation_disable();
    for (int64_t at; (at = process_events(watcher)) != 0;) {
        int64_t now = now_ms();
        eventfd_t ignored;
        (void)poll(files, 2, at < 0 ? -1 : at > now ? (int)(at - now) : 0);
        (void)eventfd_read(watcher->wake, &ignored);
    }
    return NULL;
}

static vyre_status start(vyre_dialects_watcher *watcher, vyre_error *error) {
    watcher->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watcher->wake < 0)
        return vy_fail(error, VYRE_LIMIT, "close files, or raise the limit of open files",
                       "the watcher cannot have a file to be woken by (%s)", strerrordesc_np(errno));
    watcher->has_thread = vy_thread_start(&watcher->thread, watcher_thread, watcher);
    if (!watcher->has_thread)
        return vy_fail(error, VYRE_LIMIT, "end threads or raise their limit, or watch without one (`is_manual`)",
                       "the thread of the watcher cannot be started (%s)", strerrordesc_np(errno));
    return VYRE_OK;
}

/* ---- making and stopping ---- */

static vyre_status set_up(vyre_dialects_watcher *watcher, const vyre_dialects_watch_options *given, vyre_error *error) {
    vyre_dialects_watch_options *options = &watcher->options;
    vyre_status status = VYRE_OK;
    if (given)
        memcpy(options, given, given->struct_size < sizeof *options ? given->struct_size : sizeof *options);
    if (options->quiet_milliseconds == 0)
        options->quiet_milliseconds = DEBOUNCE_MS;
    if (options->quiet_milliseconds > MAX_DEBOUNCE_MS)
        options->quiet_milliseconds = MAX_DEBOUNCE_MS;
    for (uint32_t i = 0; options->folders && i < options->folder_count && status == VYRE_OK; i++)
        status = vy_manifest_dirs_add(&watcher->folders, options->folders[i], error);
    if (status == VYRE_OK && !options->folders)
        status = vy_manifest_dirs_add_path(&watcher->folders, error);
    options->folders = NULL; /* the caller's */
    if (status == VYRE_OK && watcher->folders.roots.count == 0)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, "give folders, or set VYRE_DIALECT_PATH",
                         "there is no folder to watch");
    if (status == VYRE_OK && !options->is_manual && options->poll_milliseconds == 0)
        vy_inotify_open(&watcher->notify);
    return status;
}

vyre_status vyre_dialects_watch(const vyre_dialects_watch_options *options, vyre_dialects_watcher **out,
                                vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = NULL;
    if (options && options->struct_size < offsetof(vyre_dialects_watch_options, quiet_milliseconds) + sizeof(uint32_t))
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("start from VYRE_DIALECTS_WATCH_OPTIONS_INIT"),
                       "the options are too short (%u bytes)", options->struct_size);
    vyre_dialects_watcher *watcher = vy_allocate_zero(sizeof *watcher);
    if (!watcher)
        return vy_fail_memory(error, "a watcher");
    watcher->notify.file = watcher->wake = -1;
    watcher->due = -1;
    watcher->process = getpid();
    (void)pthread_mutex_init(&watcher->scanning, NULL);
    vyre_error why = VYRE_ERROR_INIT;
    vyre_status status = set_up(watcher, options, &why), looked = VYRE_OK;
    if (status == VYRE_OK)
        looked = scan_first(watcher, &why); /* a mistake in a manifest is told, and no reason not to watch */
    if (looked == VYRE_NO_MEMORY)
        status = looked;
    if (status == VYRE_OK && !watcher->options.is_manual)
        status = start(watcher, &why);
    if (status != VYRE_OK) {
        vyre_dialects_watcher_stop(watcher);
        if (error)
            *error = why;
        return status;
    }
    *out = watcher;
    return VYRE_OK;
}

void vyre_dialects_watcher_stop(vyre_dialects_watcher *watcher) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!watcher)
        return;
    if (watcher->process != getpid()) /* what the thread and the lock were doing nobody knows: it all stays */
        return;
    if (watcher->has_thread) {
        (void)pthread_mutex_lock(&watcher->scanning);
        watcher->is_stopping = 1;
        (void)pthread_mutex_unlock(&watcher->scanning);
        (void)eventfd_write(watcher->wake, 1);
        (void)pthread_join(watcher->thread, NULL);
    }
    if (watcher->wake >= 0)
        (void)close(watcher->wake);
    vy_inotify_close(&watcher->notify);
    vy_manifest_dirs_free(&watcher->folders);
    (void)pthread_mutex_destroy(&watcher->scanning);
    vy_release(watcher, sizeof *watcher);
}
