
#include "dialect/watch.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
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

/* What happens to a file that has lost its name does not happen to the one that has it now. */
#define EVENTS                                                                                                         \
    (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF |   \
     IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)

/* How long it is remembered that a file is whole. Its own time tells the same then. */
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

/* ---- what is watched ---- */

static char *copy(const char *text, size_t length) {
    char *made = vy_allocate(length + 1);
    if (made) {
        memcpy(made, text, length);
        made[length] = 0;
    }
    return made;
}

/* Adds a watch, or widens the one there is: the system has one for each folder. 0 if the folder is not there. */
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
        if (!is_same) { /* wanted for two reasons */
            vy_path_free(at->only);
            at->only = NULL;
            *added = 1;
        }
        at->is_wanted = 1;
        return 1;
    }
    if (at) { /* wanted for another reason than before */
        vy_path_free(at->only);
        at->only = NULL;
    } else if ((at = VY_PUSH(&notify->watches))) {
        at->number = number;
        at->path = copy(path, strlen(path));
    } else {
        notify->is_incomplete = 1;
        return 1;
    }
    at->only = only ? copy(only, only_length) : NULL; /* without memory: every name */
    at->is_wanted = 1;
    *added = 1;
    return 1;
}

/* The nearest folder above a path that is there, for the name that leads down. */
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

/* The folder a file is in, and its name there; NULL if the path is too long. */
static const char *split_path(const char *path, char folder[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    if (!slash || length >= PATH_MAX)
        return NULL;
    memcpy(folder, path, length);
    folder[length] = 0;
    return slash + 1;
}

/* The folder a file is in; if that is not there, the nearest one above. */
static void watch_file(vy_inotify *notify, const char *path, int *added) {
    char folder[PATH_MAX];
    if (split_path(path, folder) && !watch(notify, folder, NULL, 0, added))
        watch_nearest_ancestor(notify, folder, added);
}

/* Where the name is, and where links from it lead. */
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

/* Gives up the watches that the latest vy_inotify_add_watches had no use for, and what was told there. */
static void prune_watches(vy_inotify *notify) {
    for (uint32_t i = notify->watches.count; i-- > 0;)
        if (!notify->watches.items[i].is_wanted) {
            (void)inotify_rm_watch(notify->file, notify->watches.items[i].number);
            remove_watch(notify, i);
        }
}

/* ---- files ---- */

static vy_inotify_trace *find_trace(const vy_inotify *notify, int number, uint64_t name) {
    for (uint32_t i = 0; i < notify->traces.count; i++)
        if (notify->traces.items[i].number == number && notify->traces.items[i].name == name)
            return &notify->traces.items[i];
    return NULL;
}

/* What was told of the file that has this absolute path, whose folder is watched; NULL if nothing was. */
static const vy_inotify_trace *find_trace_of_path(const vy_inotify *notify, const char *path) {
    char folder[PATH_MAX];
    const char *name = notify->traces.count ? split_path(path, folder) : NULL;
    /* By any of its names a folder that is watched has one number. One that is not will be, and is known as new by vy_inotify_add_watches. */
    int number = name ? inotify_add_watch(notify->file, folder, EVENTS) : -1;
    return number < 0 ? NULL : find_trace(notify, number, vy_hash(name, strlen(name)));
}

/* Whether the file under the name of an event is open for writing now. It keeps that when it is moved. */
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
        trace->is_modified |= !trace->whole; /* what became of it, it was not whole when it was read */
    else if ((trace = VY_PUSH(&notify->traces)))
        *trace = (vy_inotify_trace){.number = event->wd, .name = name};
    else
        return; /* what nothing is known of is not trusted at once */
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

/* Nobody knows what was lost: an open file may be closed, which is waited for, but not for ever; one that is whole may be so no more. */
static void handle_overflow(vy_inotify *notify) {
    for (uint32_t i = 0; i < notify->traces.count; i++) {
        notify->traces.items[i].whole = 0;
        notify->traces.items[i].is_modified = 1;
    }
}

/* Whether it may matter. */
static int handle_event(vy_inotify *notify, const struct inotify_event *event) {
    uint32_t i = 0;
    if (event->mask & IN_Q_OVERFLOW) {
        handle_overflow(notify);
        return 1;
    }
    while (i < notify->watches.count && notify->watches.items[i].number != event->wd)
        i++;
    if (i == notify->watches.count)
        return 0; /* of a watch that was given up */
    const vy_inotify_watch *watch = &notify->watches.items[i];
    if (event->mask & IN_IGNORED) {
        remove_watch(notify, i);
        return 1;
    }
    if (event->len == 0) /* the folder itself */
        return 1;
    if (watch->only)
        return strcmp(watch->only, event->name) == 0;
    if (!(event->mask & (IN_ATTRIB | IN_ISDIR))) /* other rights or times make nothing whole */
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

/* Whether a file is whole.
 *
 * That somebody has a file open for writing is known only by being told that it was written to, and not that it was closed. Bytes can be read
 * before anybody is told of them, for as long as their writer does not get to run: milliseconds, on a busy machine. So silence is no word for a
 * file, unless it lasts. What must stay true:
 *  - Against a file speaks that it is open, and that it was written to while it was read. Nothing outweighs that.
 *  - For a file speaks that it was told to be whole, and was not changed since (its time). If nobody told anything (it was there before it was
 *    watched; nobody tells; events were lost; it was linked there), it has to be as it is for a while, by its own time or from look to look: times
 *    of files may lie.
 *  - A manifest is as good as the worst of its files.
 *  - No manifest is held for ever. */

/* There are file systems whose times count in steps of two seconds. */
#define MTIME_GRANULARITY_NS ((int64_t)2000000000)

typedef enum stability { STABLE, UNCERTAIN, BEING_WRITTEN } stability;

static int is_being_written(const vy_inotify_trace *trace) {
    return trace && (trace->is_open || trace->is_modified);
}

/* *content_hash changes whenever the file does. */
static stability classify_file(const vy_quiesce_options *terms, const vy_manifest_entry *entry, const char *path,
                               const vy_file_state *state, uint64_t *content_hash) {
    char real[PATH_MAX];
    struct stat about;
    const vy_inotify_trace *trace = find_trace_of_path(terms->notify, path);
    if (is_being_written(trace))
        return BEING_WRITTEN;
    if (state->status == VYRE_NOT_FOUND || !vy_manifest_entry_resolve(entry, path, real) || stat(real, &about) != 0)
        return STABLE; /* nothing is not half of anything */
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
            "`%.200s` is being written for too long (more than %d seconds), and is read as it is", entry->shown,
            VY_QUIESCE_LIMIT_MS / 1000);
    vy_manifest_dirs_report(folders, entry->shown, VY_D124, &why, list);
}

/* Whether the entry is to be held, from now or still. */
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

/* Watching folders of manifests.
 *
 * A scan reads every manifest of the folders, and installs what changed as one snapshot. What must stay true:
 *  - One scan at a time (`scanning`), whichever thread it is on.
 *  - What may be half written is not installed but held (dialect/write_quiesce.h); the others are. What is held is looked at again when something changes, and in time.
 *  - Whoever looks takes the events, and leaves word for the thread of those that came after the reading.
 *  - Watches are set before folders are read, and folders are read again if a watch is new: nothing falls in between. */

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
        prune_watches(&watcher->notify);
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
