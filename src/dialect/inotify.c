#include "dialect/inotify.h"

#include "base/clock.h"
#include "base/hash.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

void vy_inotify_prune_watches(vy_inotify *notify) {
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

const vy_inotify_trace *vy_inotify_find_trace(const vy_inotify *notify, const char *path) {
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
