/* File watcher: reloads changed manifests, with inotify where it is available, else by polling.
 *
 * Its parts: inotify watches and events; write quiescence, which defers half-written files; scans and the watcher
 * thread. */

#include "dialect/watch.h"

#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "vyre/manifest.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* IN_EXCL_UNLINK: events of an unlinked file do not concern the file that has its name now. */
#define EVENTS                                                                                                         \
    (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF |   \
     IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)

/* How long a trace of a complete file is kept. Later its modification time is sufficient. */
#define TRACE_LIFETIME_NS ((int64_t)5000000000)

void vy_inotify_open(vy_inotify *notify) {
    *notify = (vy_inotify){.file = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
}

static void remove_watch(vy_inotify *notify, uint32_t index) {
    vy_inotify_watch *watch = &notify->watches.items[index];
    for (uint32_t i = notify->traces.count; i-- > 0;)
        if (notify->traces.items[i].number == watch->number)
            notify->traces.items[i] = notify->traces.items[--notify->traces.count];
    vy_path_free(watch->path);
    vy_path_free(watch->only);
    *watch = notify->watches.items[--notify->watches.count];
}

void vy_inotify_close(vy_inotify *notify) {
    if (notify->file >= 0)
        (void)close(notify->file);
    notify->file = -1;
    while (notify->watches.count)
        remove_watch(notify, notify->watches.count - 1);
    VY_VECTOR_FREE(&notify->watches);
    VY_VECTOR_FREE(&notify->traces);
}

/* ---- watches ---- */

static char *copy(const char *text, size_t length) {
    char *made = vy_allocate(length + 1);
    if (made) {
        memcpy(made, text, length);
        made[length] = 0;
    }
    return made;
}

/* Adds a watch, or widens the existing one: inotify has one watch per folder. Returns 0 if the folder does not
 * exist. */
static int watch(vy_inotify *notify, const char *path, const char *only, size_t only_length, int *added) {
    int number = inotify_add_watch(notify->file, path, EVENTS);
    if (number < 0) {
        int is_absent = errno == ENOENT || errno == ENOTDIR;
        notify->is_incomplete |= !is_absent;
        return !is_absent;
    }
    vy_inotify_watch *at = NULL;
    for (uint32_t i = 0; i < notify->watches.count && !at; i++)
        if (notify->watches.items[i].number == number)
            at = &notify->watches.items[i];
    int is_same =
        at && (!at->only || (only && strlen(at->only) == only_length && memcmp(at->only, only, only_length) == 0));
    if (at && (is_same || at->is_wanted)) {
        if (!is_same) { /* needed for two purposes: watch all names */
            vy_path_free(at->only);
            at->only = NULL;
            *added = 1;
        }
        at->is_wanted = 1;
        return 1;
    }
    if (at) { /* needed for another purpose than before */
        vy_path_free(at->only);
        at->only = NULL;
    } else if ((at = VY_PUSH(&notify->watches))) {
        at->number = number;
        at->path = copy(path, strlen(path));
    } else {
        notify->is_incomplete = 1;
        return 1;
    }
    at->only = only ? copy(only, only_length) : NULL; /* NULL watches every name, also if memory is exhausted */
    at->is_wanted = 1;
    *added = 1;
    return 1;
}

/* Watches the nearest existing ancestor of a path, for the name of the next component. */
static void watch_nearest_ancestor(vy_inotify *notify, const char *path, int *added) {
    char above[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof above)
        return;
    memcpy(above, path, length + 1);
    for (char *slash; (slash = strrchr(above, '/'));) {
        const char *name = path + (slash + 1 - above);
        size_t name_length = strcspn(name, "/");
        slash[slash == above] = 0;
        if (name_length == 0 || watch(notify, above, name, name_length, added) || slash == above)
            return;
    }
}

/* Splits a path into its folder and its name; NULL if the path is too long. */
static const char *split_path(const char *path, char folder[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    if (!slash || length >= PATH_MAX)
        return NULL;
    memcpy(folder, path, length);
    folder[length] = 0;
    return slash + 1;
}

/* Watches the folder of a file, or its nearest existing ancestor. */
static void watch_file(vy_inotify *notify, const char *path, int *added) {
    char folder[PATH_MAX];
    if (split_path(path, folder) && !watch(notify, folder, NULL, 0, added))
        watch_nearest_ancestor(notify, folder, added);
}

/* Watches a path and the target of its symbolic links. */
static void watch_with_link_target(vy_inotify *notify, const vy_manifest_entry *entry, const char *path, int *added) {
    char real[PATH_MAX];
    watch_file(notify, path, added);
    if (vy_manifest_entry_resolve(entry, path, real) && strcmp(real, path) != 0)
        watch_file(notify, real, added);
}

static void watch_entry(vy_inotify *notify, const vy_manifest_entry *entry, int *added) {
    char path[PATH_MAX];
    watch_with_link_target(notify, entry, entry->path, added);
    for (uint32_t i = 0; i < entry->inputs.count; i++)
        if (vy_manifest_entry_input_path(entry, i, path))
            watch_with_link_target(notify, entry, path, added);
}

void vy_inotify_add_watches(vy_inotify *notify, const vy_manifest_dirs *folders, int *added) {
    *added = 0;
    if (notify->file < 0)
        return;
    notify->is_incomplete = 0;
    for (uint32_t i = 0; i < notify->watches.count; i++)
        notify->watches.items[i].is_wanted = 0;
    for (uint32_t i = 0; i < folders->roots.count; i++) {
        watch(notify, folders->roots.items[i].path, NULL, 0, added);
        watch_nearest_ancestor(notify, folders->roots.items[i].path, added);
    }
    for (uint32_t i = 0; i < folders->entries.count; i++)
        watch_entry(notify, &folders->entries.items[i], added);
}

/* Removes the watches that the latest vy_inotify_add_watches did not need, with their traces. */
static void prune_watches(vy_inotify *notify) {
    for (uint32_t i = notify->watches.count; i-- > 0;)
        if (!notify->watches.items[i].is_wanted) {
            (void)inotify_rm_watch(notify->file, notify->watches.items[i].number);
            remove_watch(notify, i);
        }
}

/* ---- traces of files ---- */

static vy_inotify_trace *find_trace(const vy_inotify *notify, int number, uint64_t name) {
    for (uint32_t i = 0; i < notify->traces.count; i++)
        if (notify->traces.items[i].number == number && notify->traces.items[i].name == name)
            return &notify->traces.items[i];
    return NULL;
}

/* Returns the trace of the file with this absolute path, whose folder is watched; NULL if there is none. */
static const vy_inotify_trace *find_trace_of_path(const vy_inotify *notify, const char *path) {
    char folder[PATH_MAX];
    const char *name = notify->traces.count ? split_path(path, folder) : NULL;
    /* inotify_add_watch returns the same number for all names of a watched folder. If the folder is not watched, this
     * adds a watch, and vy_inotify_add_watches reports it as new. */
    int number = name ? inotify_add_watch(notify->file, folder, EVENTS) : -1;
    return number < 0 ? NULL : find_trace(notify, number, vy_hash(name, strlen(name)));
}

/* Whether the file with the name of the event is open for writing now. A file that is moved stays open. */
static int is_open_after(vy_inotify *notify, const vy_inotify_trace *before, const struct inotify_event *event) {
    if (event->mask & IN_MOVED_FROM)
        notify->moved = before->is_open ? event->cookie : 0;
    return (event->mask & IN_MODIFY) ||
           ((event->mask & IN_MOVED_TO) && event->cookie && event->cookie == notify->moved);
}

static void trace(vy_inotify *notify, const struct inotify_event *event) {
    uint64_t name = vy_hash(event->name, strlen(event->name));
    vy_inotify_trace *trace = find_trace(notify, event->wd, name);
    if (trace)
        trace->is_modified |= !trace->whole; /* the file was incomplete when it was read */
    else if ((trace = VY_PUSH(&notify->traces)))
        *trace = (vy_inotify_trace){.number = event->wd, .name = name};
    else
        return; /* a file without a trace is not trusted immediately */
    trace->at = vy_clock_wall();
    trace->is_modified |= (event->mask & (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE)) != 0;
    trace->is_open = is_open_after(notify, trace, event);
    trace->whole = trace->is_open || (event->mask & IN_CREATE) ? 0 : trace->at;
}

void vy_inotify_begin_scan(vy_inotify *notify) {
    (void)vy_inotify_drain(notify);
    int64_t now = vy_clock_wall();
    for (uint32_t i = notify->traces.count; i-- > 0;) {
        vy_inotify_trace *trace = &notify->traces.items[i];
        trace->is_modified = 0;
        if (!trace->is_open && (trace->at > now || now - trace->at > TRACE_LIFETIME_NS))
            *trace = notify->traces.items[--notify->traces.count];
    }
}

/* ---- events ---- */

/* The queue overflowed, so events are lost. An open file may have been closed: the scan waits for it, up to a limit. A
 * complete file may have been written to. */
static void handle_overflow(vy_inotify *notify) {
    for (uint32_t i = 0; i < notify->traces.count; i++) {
        notify->traces.items[i].whole = 0;
        notify->traces.items[i].is_modified = 1;
    }
}

/* Processes one event. Returns whether it may matter. */
static int handle_event(vy_inotify *notify, const struct inotify_event *event) {
    uint32_t i = 0;
    if (event->mask & IN_Q_OVERFLOW) {
        handle_overflow(notify);
        return 1;
    }
    while (i < notify->watches.count && notify->watches.items[i].number != event->wd)
        i++;
    if (i == notify->watches.count)
        return 0; /* its watch was removed */
    const vy_inotify_watch *watch = &notify->watches.items[i];
    if (event->mask & IN_IGNORED) {
        remove_watch(notify, i);
        return 1;
    }
    if (event->len == 0) /* the folder itself */
        return 1;
    if (watch->only)
        return strcmp(watch->only, event->name) == 0;
    if (!(event->mask & (IN_ATTRIB | IN_ISDIR))) /* changed permissions or times do not make a file complete */
        trace(notify, event);
    return 1;
}

int vy_inotify_drain(vy_inotify *notify) {
    int has_relevant_event = 0;
    _Alignas(struct inotify_event) char buffer[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
    for (ssize_t size; notify->file >= 0 && (size = read(notify->file, buffer, sizeof buffer)) > 0;)
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)(buffer + at);
            has_relevant_event |= handle_event(notify, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
    return has_relevant_event;
}

/* Write quiescence: classifies files as complete or possibly half-written.
 *
 * A file is known to be open for writing only if inotify reported a write and no close. Bytes can be read before their
 * event is delivered, as long as the writer is preempted: milliseconds on a busy machine. So a file without events is
 * complete only after a quiet period. Invariants:
 *  - A file that is open for writing, or was written to while it was read, is deferred. No other evidence overrides
 *    this.
 *  - A file is complete if inotify reported it as complete (closed or moved here) and its modification time is not
 *    later. Without such an event (the file existed before the watch, inotify is unavailable, events were lost, the
 *    file is a hard link) it must be unchanged for a period, by its modification time or from scan to scan.
 *    Modification times can be wrong.
 *  - A manifest is only as stable as the least stable of its files.
 *  - No manifest is deferred for longer than VY_QUIESCE_LIMIT_MS. */

/* Some file systems store times with a granularity of two seconds. */
#define MTIME_GRANULARITY_NS ((int64_t)2000000000)

typedef enum stability { STABLE, UNCERTAIN, BEING_WRITTEN } stability;

static int is_being_written(const vy_inotify_trace *trace) {
    return trace && (trace->is_open || trace->is_modified);
}

/* Adds the state of the file to *content_hash. */
static stability classify_file(const vy_quiesce_options *terms, const vy_manifest_entry *entry, const char *path,
                               const vy_file_state *state, uint64_t *content_hash) {
    char real[PATH_MAX];
    struct stat about;
    const vy_inotify_trace *trace = find_trace_of_path(terms->notify, path);
    if (is_being_written(trace))
        return BEING_WRITTEN;
    if (state->status == VYRE_NOT_FOUND || !vy_manifest_entry_resolve(entry, path, real) || stat(real, &about) != 0)
        return STABLE; /* an absent file cannot be half-written */
    if (strcmp(real, path) != 0)
        trace = find_trace_of_path(terms->notify, real);
    if (is_being_written(trace))
        return BEING_WRITTEN;
    int64_t time = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
    const uint64_t found[] = {*content_hash, state->hash, state->size, (uint64_t)time};
    *content_hash = vy_hash(found, sizeof found);
    if (trace && trace->whole && time <= trace->whole)
        return STABLE;
    int is_old = terms->trusts_mtime && vy_clock_wall() - time >= terms->quiesce * 1000000 + MTIME_GRANULARITY_NS;
    return is_old ? STABLE : UNCERTAIN;
}

static stability classify_entry(const vy_quiesce_options *terms, const vy_manifest_entry *entry,
                                uint64_t *content_hash) {
    char path[PATH_MAX];
    stability worst = classify_file(terms, entry, entry->path, &entry->state, content_hash);
    for (uint32_t i = 0; i < entry->inputs.count && worst != BEING_WRITTEN; i++)
        if (vy_manifest_entry_input_path(entry, i, path)) {
            stability next = classify_file(terms, entry, path, &entry->inputs.items[i].state, content_hash);
            worst = next > worst ? next : worst;
        }
    return worst;
}

static void report_write_timeout(vy_manifest_dirs *folders, const vy_manifest_entry *entry, vyre_diagnostics *list) {
    vyre_error why;
    vy_fail(&why, VYRE_LIMIT, "close the file, or write another one and rename it over this one",
            "`%.200s` was open for writing for too long (more than %d seconds), and is read in its present state",
            entry->shown, VY_QUIESCE_LIMIT_MS / 1000);
    vy_manifest_dirs_report(folders, entry->shown, VY_D124, &why, list);
}

/* Whether the entry must be deferred, newly or still. */
static int must_defer(vy_manifest_dirs *folders, vy_manifest_entry *entry, const vy_quiesce_options *terms,
                      vyre_diagnostics *list) {
    vy_quiesce_state *write_quiesce = &entry->write_quiesce;
    uint64_t content_hash = 0;
    stability stability = classify_entry(terms, entry, &content_hash);
    if (stability == STABLE)
        return 0;
    if (!write_quiesce->since)
        write_quiesce->since = terms->now;
    if (!write_quiesce->same || write_quiesce->content_hash != content_hash)
        write_quiesce->same = terms->now;
    write_quiesce->content_hash = content_hash;
    if (stability == UNCERTAIN && terms->now - write_quiesce->same >= terms->quiesce)
        return 0;
    if (terms->now - write_quiesce->since >= VY_QUIESCE_LIMIT_MS) {
        report_write_timeout(folders, entry, list);
        return 0;
    }
    write_quiesce->until = write_quiesce->since + VY_QUIESCE_LIMIT_MS;
    if (stability == UNCERTAIN && write_quiesce->same + terms->quiesce < write_quiesce->until)
        write_quiesce->until = write_quiesce->same + terms->quiesce;
    return 1;
}

void vy_quiesce_begin(vy_manifest_dirs *folders) {
    for (uint32_t i = 0; i < folders->entries.count; i++)
        folders->entries.items[i].write_quiesce.is_deferred = 0;
}

size_t vy_quiesce_defer_unstable(vy_manifest_dirs *folders, const vy_quiesce_options *terms, vyre_diagnostics *list) {
    size_t held = 0;
    for (uint32_t i = 0; i < folders->entries.count; i++) {
        vy_manifest_entry *entry = &folders->entries.items[i];
        if (entry->is_uncommitted && entry->is_present && must_defer(folders, entry, terms, list)) {
            vy_manifest_entry_discard(entry);
            entry->write_quiesce.is_deferred = 1;
            held++;
        }
    }
    return held;
}

int64_t vy_quiesce_next_deadline(const vy_manifest_dirs *folders) {
    int64_t until = -1;
    for (uint32_t i = 0; i < folders->entries.count; i++) {
        const vy_quiesce_state *write_quiesce = &folders->entries.items[i].write_quiesce;
        if (write_quiesce->is_deferred && (until < 0 || write_quiesce->until < until))
            until = write_quiesce->until;
    }
    return until;
}

void vy_quiesce_end(vy_manifest_dirs *folders) {
    for (uint32_t i = 0; i < folders->entries.count; i++)
        if (!folders->entries.items[i].write_quiesce.is_deferred)
            folders->entries.items[i].write_quiesce = (vy_quiesce_state){0};
}

/* Scans.
 *
 * A scan reads every manifest of the folders and installs the changes as one snapshot. Invariants:
 *  - Scans are serialised by `scanning`, on whichever thread they run.
 *  - Manifests that may be half-written are deferred; the others are installed. A deferred manifest is checked again
 *    after the next change, and at its deadline.
 *  - A scan consumes the inotify events. If any arrived after the files were read, it sets `is_pending` for the watcher
 *    thread.
 *  - Watches are added before folders are read, and folders are read again if a watch was new. So no change is
 * missed. */

enum {
    DEBOUNCE_MS = 50,           /* quiet period before a scan */
    MAX_DEBOUNCE_MS = 1000,     /* maximum delay from the first change to a scan */
    STABLE_MS = 1000,           /* quiet period for a file without events, if inotify is available */
    FIRST_SCAN_LIMIT_MS = 2000, /* maximum time of the first scan to wait for quiet folders and complete files */
    FALLBACK_MS = 500,          /* polling interval if inotify is not available */
    READ_TRIES = 8              /* reads of the folders until no watch is new and no file is being written */
};

struct vyre_dialects_watcher {
    vyre_dialects_watch_options options;
    vy_manifest_dirs folders;
    vy_inotify notify;
    pthread_t thread;
    int wake; /* an eventfd; -1 without a thread */
    int has_thread;
    pid_t process;            /* that created it; after fork a child has no thread, and the state may be half-updated */
    pthread_mutex_t scanning; /* protects the state above and below */
    int is_stopping;
    int is_pending;              /* a change was not scanned yet */
    int64_t first, last, looked; /* times of the first and the latest change, and of the latest scan */
    int64_t due;                 /* when to scan again because of deferred manifests; -1 if there are none */
};

static int64_t now_ms(void) {
    return (int64_t)(vy_clock_now() / 1000000);
}

/* ---- scanning ---- */

typedef enum reason { FIRST, DUE, ASKED } reason;

/* The state and results of one scan. */
typedef struct scan {
    vyre_dialects_watcher *watcher;
    reason reason;
    int64_t since; /* time of the first change */
    vyre_diagnostics *findings;
    vyre_error error; /* the first error; code VYRE_OK if there is none */
    size_t read;      /* manifests that changed */
    int has_changed;  /* a file changed while the folders were read */
    uint32_t changed, removed;
} scan;

/* Defers manifests that may be half-written. In manual mode nothing is deferred: the caller chooses the time. */
static size_t hold(scan *scan) {
    vyre_dialects_watcher *watcher = scan->watcher;
    const vyre_dialects_watch_options *options = &watcher->options;
    int has_inotify = watcher->notify.file >= 0, is_first = scan->reason == FIRST;
    /* Polled folders are usually on other machines, so mtimes are not comparable. Before the first scan no events were
     * received. */
    const vy_quiesce_options terms = {.notify = &watcher->notify,
                                      .now = now_ms(),
                                      .quiesce = has_inotify && !is_first ? STABLE_MS : options->quiet_milliseconds,
                                      .trusts_mtime = has_inotify || is_first};
    return options->is_manual ? 0 : vy_quiesce_defer_unstable(&watcher->folders, &terms, scan->findings);
}

/* Reads the folders once. *is_over is set if every relevant folder was watched before it was read and no manifest was
 * newly deferred. */
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
    scan->has_changed |= vy_inotify_drain(
        &watcher->notify); /* manifests deferred by an earlier try are skipped, so their events arrived before */
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

/* Whether to scan again before anything is installed. The time limit applies to the start of the scan, so slow reading
 * is not counted. */
static int is_too_early(const scan *scan, int64_t begun) {
    if (scan->reason == FIRST)
        return (scan->has_changed || scan->watcher->due >= 0) && begun - scan->since < FIRST_SCAN_LIMIT_MS;
    return scan->reason == DUE && scan->has_changed && begun - scan->since < MAX_DEBOUNCE_MS;
}

/* Records the end of a scan and schedules the next one. */
static void note_scan(const scan *scan, int is_done) {
    vyre_dialects_watcher *watcher = scan->watcher;
    watcher->looked = watcher->last = now_ms();
    watcher->first = is_done ? watcher->looked : scan->since;
    watcher->is_pending = !is_done || scan->has_changed || scan->error.code == VYRE_NO_MEMORY;
    if (is_done && watcher->due < 0)
        prune_watches(&watcher->notify);
}

/* Reads, installs and reports, with the lock held. Returns 0 if nothing was installed or reported because it is too
 * early. */
static int scan_once(scan *scan) {
    vyre_dialects_watcher *watcher = scan->watcher;
    int64_t begun = now_ms();
    scan->findings = vyre_diagnostics_new();
    vyre_status status = read_folders(scan);
    watcher->due = vy_quiesce_next_deadline(&watcher->folders);
    int is_done = status != VYRE_OK || !is_too_early(scan, begun);
    /* Changes that were refused before are tried again if a manifest changed, or on request. */
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

/* The thread is not running yet, so scans cannot be concurrent. */
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
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "create a watcher in the child process",
                       "the watcher was created by the parent process (%ld)", (long)watcher->process);
    scan scan = {.watcher = watcher, .reason = ASKED, .error = VYRE_ERROR_INIT};
    (void)pthread_mutex_lock(&watcher->scanning);
    (void)scan_once(&scan);
    (void)pthread_mutex_unlock(&watcher->scanning);
    if (watcher->has_thread) /* the scan consumed events that would have woken the thread */
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

/* Time of the next scan; -1: only after an event. */
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

/* Scans if it is time. Returns the time of the next scan; -1: only after an event; 0: stop. */
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
                       "the eventfd of the watcher cannot be created (%s)", strerrordesc_np(errno));
    watcher->has_thread = vy_thread_start(&watcher->thread, watcher_thread, watcher);
    if (!watcher->has_thread)
        return vy_fail(error, VYRE_LIMIT, "end threads or raise their limit, or watch without one (`is_manual`)",
                       "the thread of the watcher cannot be started (%s)", strerrordesc_np(errno));
    return VYRE_OK;
}

/* ---- creating and stopping ---- */

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
    options->folders = NULL; /* owned by the caller */
    if (status == VYRE_OK && watcher->folders.roots.count == 0)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, "pass folders, or set VYRE_DIALECT_PATH", "no folder to watch");
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
        looked =
            scan_first(watcher, &why); /* an error in a manifest is reported, and the watcher starts nevertheless */
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
    if (watcher->process !=
        getpid()) /* the state of the thread and of the lock is unknown in the child, so everything is leaked */
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
