/* Watching folders of manifests.
 *
 * A look reads every manifest of the folders, and installs what changed as one snapshot. What must stay true:
 *  - One look at a time (`looking`), whichever thread it is on.
 *  - What may be half written is not installed but held (dialect/hold.h); the others are. What is held is looked at again when something changes, and in time.
 *  - Whoever looks takes the events, and leaves word for the thread of those that came after the reading.
 *  - Watches are set before folders are read, and folders are read again if a watch is new: nothing falls in between. */
#include "base/clock.h"
#include "base/status.h"
#include "base/thread.h"
#include "dialect/hold.h"
#include "vyre/manifest.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    QUIET_MS = 50,      /* without a change before a look */
    PATIENCE_MS = 1000, /* at most, from the first change to a look */
    SETTLE_MS = 1000,   /* a file stays as it is, where changes are told but that of the file was not */
    FIRST_MS = 2000,    /* at most, for folders to be quiet and files to settle before the first look is over */
    FALLBACK_MS = 500,  /* between two looks where nobody tells of changes */
    READ_TRIES = 8      /* to read folders without a new watch or writer; they change faster only by malice */
};

struct vyre_dialects_watcher {
    vyre_dialects_watch_options options;
    vy_folders folders;
    vy_notify notify;
    pthread_t thread;
    int wake; /* an eventfd; -1 without a thread */
    int has_thread;
    pid_t
        process; /* that made it; a child after fork has no thread, and perhaps half of what the thread was changing */
    pthread_mutex_t looking; /* for all above that changes, and: */
    int is_stopping;
    int is_pending;              /* something changed and was not looked at */
    int64_t first, last, looked; /* when: the first and the latest change, the latest look */
    int64_t due;                 /* when to look again at what is held; -1 if nothing is */
};

static int64_t now_ms(void) {
    return (int64_t)(vy_clock_now() / 1000000);
}

/* ---- looking ---- */

typedef enum reason { FIRST, DUE, ASKED } reason;

/* What one look does, and what it says afterwards. */
typedef struct look {
    vyre_dialects_watcher *watcher;
    reason reason;
    int64_t since; /* when the first change was */
    vyre_diagnostics *findings;
    vyre_error error; /* the first thing wrong; code VYRE_OK if nothing is */
    size_t read;      /* manifests that are not as they were */
    int is_news;      /* something changed while they were read */
    uint32_t changed, removed;
} look;

/* Holds back what may be half of something; without a thread, whoever asks for a look says that it is time. */
static size_t hold(look *look) {
    vyre_dialects_watcher *watcher = look->watcher;
    const vyre_dialects_watch_options *options = &watcher->options;
    int is_told = watcher->notify.file >= 0, is_first = look->reason == FIRST;
    /* Folders are polled because they are of other machines. At first nothing else is known of files. */
    const vy_hold_terms terms = {.notify = &watcher->notify,
                                 .now = now_ms(),
                                 .settle = is_told && !is_first ? SETTLE_MS : options->quiet_milliseconds,
                                 .is_timed = is_told || is_first};
    return options->is_manual ? 0 : vy_hold_scanned(&watcher->folders, &terms, look->findings);
}

/* Reads the folders once. *is_over: with every folder that matters being watched before it was read, and with nothing in the findings that is held. */
static vyre_status read_once(look *look, int *is_over) {
    vyre_dialects_watcher *watcher = look->watcher;
    int added;
    vy_folders_forget_fresh(&watcher->folders);
    vyre_diagnostics_clear(look->findings);
    vy_notify_begin(&watcher->notify);
    vy_notify_cover(&watcher->notify, &watcher->folders, &added);
    vyre_status status = vy_folders_scan(&watcher->folders, look->findings, &look->read, &look->error);
    if (status != VYRE_OK)
        return status;
    vy_notify_cover(&watcher->notify, &watcher->folders, &added);
    look->is_news |= vy_notify_take(&watcher->notify); /* of what is held, an earlier try was told the last */
    *is_over = hold(look) == 0 && !added;
    return VYRE_OK;
}

static vyre_status read_folders(look *look) {
    vyre_status status = VYRE_OK;
    int is_over = 0;
    look->is_news = 0;
    vy_hold_begin(&look->watcher->folders);
    for (int tries = 0; !is_over && tries < READ_TRIES && status == VYRE_OK; tries++)
        status = read_once(look, &is_over);
    return status;
}

static vyre_status install(look *look) {
    vy_folders *folders = &look->watcher->folders;
    vyre_error first = folders->first, why;
    size_t count = folders->entries.count, made = 0;
    vy_load_item *items = vy_folders_batch(folders);
    if (!items && count)
        return vy_fail_memory(&look->error, "loading manifests");
    vyre_status status = vy_load_lenient(items, count, look->findings, &made, &why);
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        look->changed += items[i].change == VY_LOAD_PUT && !items[i].is_refused;
        look->removed += items[i].change == VY_LOAD_REMOVE && !items[i].is_refused;
    }
    vy_folders_settle(folders, items, status == VYRE_OK);
    look->error = status != VYRE_OK || first.code == VYRE_OK ? why : first;
    return status;
}

static void tell(const look *look) {
    const vyre_dialects_watch_options *options = &look->watcher->options;
    if (!options->report || (look->error.code == VYRE_OK && !look->changed && !look->removed))
        return;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_dialects_event event = {.struct_size = sizeof event,
                                       .changed = look->changed,
                                       .removed = look->removed,
                                       .generation = vyre_dialects_generation(guard),
                                       .findings = look->findings,
                                       .error = look->error.code != VYRE_OK ? &look->error : NULL};
    vyre_dialects_release(&guard);
    options->report(options->user, &event);
}

/* Whether to read again before anything is installed. How long reading took is nobody's fault. */
static int is_too_early(const look *look, int64_t begun) {
    if (look->reason == FIRST)
        return (look->is_news || look->watcher->due >= 0) && begun - look->since < FIRST_MS;
    return look->reason == DUE && look->is_news && begun - look->since < PATIENCE_MS;
}

/* A look has ended. When is the next? */
static void note_look(const look *look, int is_done) {
    vyre_dialects_watcher *watcher = look->watcher;
    watcher->looked = watcher->last = now_ms();
    watcher->first = is_done ? watcher->looked : look->since;
    watcher->is_pending = !is_done || look->is_news || look->error.code == VYRE_NO_MEMORY;
    if (is_done && watcher->due < 0)
        vy_notify_trim(&watcher->notify);
}

/* Looks, reads, installs, tells, with the lock held. 0: nothing was installed or told, since it is too early for that. */
static int look_once(look *look) {
    vyre_dialects_watcher *watcher = look->watcher;
    int64_t begun = now_ms();
    look->findings = vyre_diagnostics_new();
    vyre_status status = read_folders(look);
    watcher->due = vy_hold_next(&watcher->folders);
    int is_done = status != VYRE_OK || !is_too_early(look, begun);
    /* What was refused before is tried again when something changed, or when somebody asks. */
    if (status == VYRE_OK && is_done && (look->read || look->reason != DUE))
        status = install(look);
    if (!is_done || status != VYRE_OK)
        vy_folders_forget_fresh(&watcher->folders);
    else
        vy_hold_end(&watcher->folders);
    if (status != VYRE_OK)
        look->error.code = status;
    if (is_done)
        tell(look);
    note_look(look, is_done);
    vyre_diagnostics_free(look->findings);
    return is_done;
}

/* There is no thread yet, and no other look. */
static vyre_status look_first(vyre_dialects_watcher *watcher, vyre_error *error) {
    look look = {.watcher = watcher, .reason = FIRST, .since = now_ms(), .error = VYRE_ERROR_INIT};
    while (!look_once(&look))
        (void)poll(NULL, 0, (int)watcher->options.quiet_milliseconds);
    *error = look.error;
    return look.error.code;
}

vyre_status vyre_dialects_rescan(vyre_dialects_watcher *watcher, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, watcher);
    if (watcher->process != getpid())
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "make a watcher in the child itself",
                       "the watcher is that of the process before fork (%ld)", (long)watcher->process);
    look look = {.watcher = watcher, .reason = ASKED, .error = VYRE_ERROR_INIT};
    (void)pthread_mutex_lock(&watcher->looking);
    (void)look_once(&look);
    (void)pthread_mutex_unlock(&watcher->looking);
    if (watcher->has_thread) /* what it would have been told of, this look was told of */
        (void)eventfd_write(watcher->wake, 1);
    if (error && look.error.code != VYRE_OK)
        *error = look.error;
    return look.error.code;
}

/* ---- the thread ---- */

static void note_change(vyre_dialects_watcher *watcher, int64_t now) {
    if (!watcher->is_pending)
        watcher->first = now;
    watcher->is_pending = 1;
    watcher->last = now;
}

/* When to look next; -1: when told. */
static int64_t next_look(const vyre_dialects_watcher *watcher) {
    int64_t at = -1;
    uint32_t every = watcher->options.poll_milliseconds;
    if (every == 0 && (watcher->notify.file < 0 || watcher->notify.is_blind))
        every = FALLBACK_MS;
    if (every)
        at = watcher->looked + every;
    if (watcher->due >= 0 && (at < 0 || watcher->due < at))
        at = watcher->due;
    if (watcher->is_pending) {
        int64_t most = watcher->first + PATIENCE_MS, quiet = watcher->last + watcher->options.quiet_milliseconds;
        at = quiet < most ? quiet : most;
    }
    return at;
}

/* Looks if it is time to. When to come again; -1: when told. 0: to end. */
static int64_t attend(vyre_dialects_watcher *watcher) {
    (void)pthread_mutex_lock(&watcher->looking);
    if (vy_notify_take(&watcher->notify))
        note_change(watcher, now_ms());
    int64_t at = next_look(watcher), now = now_ms();
    if (at >= 0 && at <= now && !watcher->is_stopping) {
        look look = {.watcher = watcher, .reason = DUE, .error = VYRE_ERROR_INIT};
        look.since = watcher->is_pending ? watcher->first : now;
        (void)look_once(&look);
        at = next_look(watcher);
    }
    at = watcher->is_stopping ? 0 : at;
    (void)pthread_mutex_unlock(&watcher->looking);
    return at;
}

static void *serve(void *user) {
    vyre_dialects_watcher *watcher = user;
    struct pollfd files[2] = {{.fd = watcher->wake, .events = POLLIN}, {.fd = watcher->notify.file, .events = POLLIN}};
    (void)vy_cancellation_disable();
    for (int64_t at; (at = attend(watcher)) != 0;) {
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
    watcher->has_thread = vy_thread_start(&watcher->thread, serve, watcher);
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
        options->quiet_milliseconds = QUIET_MS;
    if (options->quiet_milliseconds > PATIENCE_MS)
        options->quiet_milliseconds = PATIENCE_MS;
    for (uint32_t i = 0; options->folders && i < options->folder_count && status == VYRE_OK; i++)
        status = vy_folders_add(&watcher->folders, options->folders[i], error);
    if (status == VYRE_OK && !options->folders)
        status = vy_folders_add_path(&watcher->folders, error);
    options->folders = NULL; /* the caller's */
    if (status == VYRE_OK && watcher->folders.roots.count == 0)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, "give folders, or set VYRE_DIALECT_PATH",
                         "there is no folder to watch");
    if (status == VYRE_OK && !options->is_manual && options->poll_milliseconds == 0)
        vy_notify_open(&watcher->notify);
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
    (void)pthread_mutex_init(&watcher->looking, NULL);
    vyre_error why = VYRE_ERROR_INIT;
    vyre_status status = set_up(watcher, options, &why), looked = VYRE_OK;
    if (status == VYRE_OK)
        looked = look_first(watcher, &why); /* a mistake in a manifest is told, and no reason not to watch */
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
        (void)pthread_mutex_lock(&watcher->looking);
        watcher->is_stopping = 1;
        (void)pthread_mutex_unlock(&watcher->looking);
        (void)eventfd_write(watcher->wake, 1);
        (void)pthread_join(watcher->thread, NULL);
    }
    if (watcher->wake >= 0)
        (void)close(watcher->wake);
    vy_notify_close(&watcher->notify);
    vy_folders_free(&watcher->folders);
    (void)pthread_mutex_destroy(&watcher->looking);
    vy_release(watcher, sizeof *watcher);
}
