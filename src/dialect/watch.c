/* Watching folders of manifests.
 *
 * A look reads every manifest of the folders, and installs what changed as one snapshot. What must stay true:
 *  - One look at a time (`looking`), whichever thread it is on.
 *  - What was read while somebody wrote is not installed but read again, as long as that does not go on for ever: half a manifest may be a manifest.
 *  - Watches are set before folders are read, and folders are read again if a watch is new: nothing falls in between. */
#include "base/clock.h"
#include "base/status.h"
#include "base/thread.h"
#include "dialect/notify.h"
#include "vyre/manifest.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    QUIET_MS = 50,      /* without a change before a look */
    PATIENCE_MS = 1000, /* at most, from the first change to a look */
    WRITER_MS = 10000,  /* at most, for somebody who writes in place */
    FALLBACK_MS = 500,  /* between two looks where nobody tells of changes */
    COVER_TRIES = 8     /* to read folders without a new watch; a folder changes faster only by malice */
};

struct vyre_dialects_watcher {
    vyre_dialects_watch_options options;
    vy_folders folders;
    vy_notify notify;
    pthread_mutex_t looking;
    pthread_t thread;
    int stop; /* an eventfd; -1 without a thread */
    int has_thread;
    pid_t
        process; /* that made it; a child after fork has no thread, and perhaps half of what the thread was changing */
    /* Of the thread alone: */
    int is_pending;              /* something changed and was not looked at */
    int64_t first, last, looked; /* when: the first and the latest change, the latest look */
};

static int64_t now_ms(void) {
    return (int64_t)(vy_clock_now() / 1000000);
}

/* ---- looking ---- */

/* What one look does, and what it says afterwards. */
typedef struct look {
    vyre_dialects_watcher *watcher;
    vyre_diagnostics *findings;
    vyre_error error; /* the first thing wrong; code VYRE_OK if nothing is */
    size_t read;      /* manifests that are not as they were */
    uint32_t changed, removed;
} look;

/* Reads the folders, with every folder that matters being watched before it is read. */
static vyre_status read_folders(look *look) {
    vyre_dialects_watcher *watcher = look->watcher;
    vyre_status status = VYRE_OK;
    int added = 1;
    for (int tries = 0; added && tries < COVER_TRIES && status == VYRE_OK; tries++) {
        vy_folders_forget_fresh(&watcher->folders);
        vyre_diagnostics_clear(look->findings);
        vy_notify_cover(&watcher->notify, &watcher->folders, &added);
        status = vy_folders_scan(&watcher->folders, look->findings, &look->read, &look->error);
        if (status == VYRE_OK && watcher->notify.file >= 0)
            vy_notify_cover(&watcher->notify, &watcher->folders, &added);
        else
            added = 0;
    }
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

/* Whether what was read may be half of something. */
static int is_in_the_making(vyre_dialects_watcher *watcher, int64_t since) {
    vy_notify_news news = vy_notify_take(&watcher->notify);
    int64_t waited = now_ms() - since;
    if (news.is_written || vy_notify_is_writing(&watcher->notify))
        return waited < WRITER_MS;
    return news.is_something && waited < PATIENCE_MS;
}

/* Looks, reads, installs, tells. With `since`, when the first change was, 0 is given back instead if somebody is still writing. */
static int look_once(vyre_dialects_watcher *watcher, const int64_t *since, vyre_status *status, vyre_error *error) {
    look look = {.watcher = watcher, .findings = vyre_diagnostics_new(), .error = VYRE_ERROR_INIT};
    (void)pthread_mutex_lock(&watcher->looking);
    *status = read_folders(&look);
    int is_done = *status != VYRE_OK || !since || !is_in_the_making(watcher, *since);
    /* What was refused before is tried again when something changed, or when somebody asks. */
    if (*status == VYRE_OK && is_done && (look.read || !since))
        *status = install(&look);
    if (!is_done || *status != VYRE_OK)
        vy_folders_forget_fresh(&watcher->folders);
    if (*status != VYRE_OK)
        look.error.code = *status;
    if (is_done)
        tell(&look);
    (void)pthread_mutex_unlock(&watcher->looking);
    vyre_diagnostics_free(look.findings);
    *status = look.error.code;
    if (error && *status != VYRE_OK)
        *error = look.error;
    return is_done;
}

vyre_status vyre_dialects_rescan(vyre_dialects_watcher *watcher, vyre_error *error) {
    vyre_status status;
    if (!watcher)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, NULL, "the watcher is NULL");
    if (watcher->process != getpid())
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "make a watcher in the child itself",
                       "the watcher is that of the process before fork (%ld)", (long)watcher->process);
    (void)look_once(watcher, NULL, &status, error);
    return status;
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
    if (watcher->is_pending) {
        int64_t most = watcher->first + (vy_notify_is_writing(&watcher->notify) ? WRITER_MS : PATIENCE_MS);
        int64_t quiet =
            vy_notify_is_writing(&watcher->notify) ? most : watcher->last + watcher->options.quiet_milliseconds;
        at = quiet < most ? quiet : most;
    }
    return at;
}

static void look_due(vyre_dialects_watcher *watcher) {
    vyre_status status;
    int64_t since = watcher->is_pending ? watcher->first : now_ms();
    int is_done = look_once(watcher, &since, &status, NULL);
    watcher->looked = now_ms();
    watcher->is_pending = 0;
    if (!is_done || status == VYRE_NO_MEMORY) { /* again, after a pause */
        watcher->is_pending = 1;
        watcher->first = is_done ? watcher->looked : since;
        watcher->last = watcher->looked;
    } else if (watcher->looked - since >= WRITER_MS) {
        vy_notify_forget_writers(&watcher->notify);
    }
}

/* Events and times belong to this thread; what is watched, to whoever looks. */
static int64_t take_news(vyre_dialects_watcher *watcher) {
    (void)pthread_mutex_lock(&watcher->looking);
    if (vy_notify_take(&watcher->notify).is_something)
        note_change(watcher, now_ms());
    int64_t at = next_look(watcher);
    (void)pthread_mutex_unlock(&watcher->looking);
    return at;
}

static void *serve(void *user) {
    vyre_dialects_watcher *watcher = user;
    struct pollfd files[2] = {{.fd = watcher->stop, .events = POLLIN}, {.fd = watcher->notify.file, .events = POLLIN}};
    for (;;) {
        int64_t at = take_news(watcher), now = now_ms();
        if (at >= 0 && at <= now) {
            look_due(watcher);
            continue;
        }
        (void)poll(files, 2, at < 0 ? -1 : (int)(at - now));
        if (files[0].revents)
            return NULL;
    }
}

static vyre_status start(vyre_dialects_watcher *watcher, vyre_error *error) {
    watcher->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watcher->stop < 0)
        return vy_fail(error, VYRE_LIMIT, "close files, or raise the limit of open files",
                       "the watcher cannot have a file to be stopped by (%s)", strerrordesc_np(errno));
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
    *out = NULL;
    if (options && options->struct_size < offsetof(vyre_dialects_watch_options, quiet_milliseconds) + sizeof(uint32_t))
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("start from VYRE_DIALECTS_WATCH_OPTIONS_INIT"),
                       "the options are too short (%u bytes)", options->struct_size);
    vyre_dialects_watcher *watcher = vy_allocate_zero(sizeof *watcher);
    if (!watcher)
        return vy_fail_memory(error, "a watcher");
    watcher->notify.file = watcher->stop = -1;
    watcher->process = getpid();
    (void)pthread_mutex_init(&watcher->looking, NULL);
    vyre_error why = VYRE_ERROR_INIT;
    vyre_status status = set_up(watcher, options, &why), looked = VYRE_OK;
    if (status == VYRE_OK)
        (void)look_once(watcher, NULL, &looked, &why); /* a mistake in a manifest is told, and no reason not to watch */
    if (looked == VYRE_NO_MEMORY)
        status = looked;
    watcher->looked = now_ms();
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
    if (!watcher)
        return;
    if (watcher->process != getpid()) /* what the thread and the lock were doing nobody knows: it all stays */
        return;
    if (watcher->has_thread) {
        (void)eventfd_write(watcher->stop, 1);
        (void)pthread_join(watcher->thread, NULL);
    }
    if (watcher->stop >= 0)
        (void)close(watcher->stop);
    vy_notify_close(&watcher->notify);
    vy_folders_free(&watcher->folders);
    (void)pthread_mutex_destroy(&watcher->looking);
    vy_release(watcher, sizeof *watcher);
}
