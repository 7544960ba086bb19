#include "dialect/notify.h"

#include "base/hash.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS                                                                                                         \
    (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF |   \
     IN_MOVE_SELF | IN_ONLYDIR)

void vy_notify_open(vy_notify *notify) {
    *notify = (vy_notify){.file = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
}

static void drop(vy_notify *notify, uint32_t index) {
    vy_notify_watch *watch = &notify->watches.items[index];
    for (uint32_t i = notify->writers.count; i-- > 0;)
        if (notify->writers.items[i].number == watch->number)
            notify->writers.items[i] = notify->writers.items[--notify->writers.count];
    vy_path_free(watch->path);
    vy_path_free(watch->only);
    *watch = notify->watches.items[--notify->watches.count];
}

void vy_notify_close(vy_notify *notify) {
    if (notify->file >= 0)
        (void)close(notify->file);
    notify->file = -1;
    while (notify->watches.count)
        drop(notify, notify->watches.count - 1);
    VY_VECTOR_FREE(&notify->watches);
    VY_VECTOR_FREE(&notify->writers);
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
static int watch(vy_notify *notify, const char *path, const char *only, size_t only_length, int *added) {
    int number = inotify_add_watch(notify->file, path, EVENTS);
    if (number < 0) {
        int is_absent = errno == ENOENT || errno == ENOTDIR;
        notify->is_blind |= !is_absent;
        return !is_absent;
    }
    vy_notify_watch *at = NULL;
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
        notify->is_blind = 1;
        return 1;
    }
    at->only = only ? copy(only, only_length) : NULL; /* without memory: every name */
    at->is_wanted = 1;
    *added = 1;
    return 1;
}

/* The nearest folder above a path that is there, for the name that leads down. */
static void watch_above(vy_notify *notify, const char *path, int *added) {
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

/* The folder a file is in; if that is not there, the nearest one above. */
static void watch_file(vy_notify *notify, const char *path, int *added) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    if (!slash || length >= sizeof folder)
        return;
    memcpy(folder, path, length);
    folder[length] = 0;
    if (!watch(notify, folder, NULL, 0, added))
        watch_above(notify, folder, added);
}

/* Where the name is, and where links from it lead. */
static void watch_both(vy_notify *notify, const char *path, int *added) {
    char real[PATH_MAX];
    watch_file(notify, path, added);
    if (realpath(path, real) && strcmp(real, path) != 0)
        watch_file(notify, real, added);
}

static void watch_entry(vy_notify *notify, const vy_entry *entry, int *added) {
    char path[PATH_MAX];
    const char *slash = strrchr(entry->path, '/');
    watch_both(notify, entry->path, added);
    for (uint32_t i = 0; slash && i < entry->inputs.count; i++)
        if (snprintf(path, sizeof path, "%.*s/%s", (int)(slash - entry->path), entry->path,
                     entry->inputs.items[i].name) < PATH_MAX)
            watch_both(notify, path, added);
}

void vy_notify_cover(vy_notify *notify, const vy_folders *folders, int *added) {
    *added = 0;
    if (notify->file < 0)
        return;
    notify->is_blind = 0;
    for (uint32_t i = 0; i < notify->watches.count; i++)
        notify->watches.items[i].is_wanted = 0;
    for (uint32_t i = 0; i < folders->roots.count; i++) {
        watch(notify, folders->roots.items[i].path, NULL, 0, added);
        watch_above(notify, folders->roots.items[i].path, added);
    }
    for (uint32_t i = 0; i < folders->entries.count; i++)
        watch_entry(notify, &folders->entries.items[i], added);
    for (uint32_t i = notify->watches.count; i-- > 0;)
        if (!notify->watches.items[i].is_wanted) {
            (void)inotify_rm_watch(notify->file, notify->watches.items[i].number);
            drop(notify, i);
        }
}

/* ---- events ---- */

static int is_text(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && name[0] != '.' && (strcmp(dot, ".toml") == 0 || strcmp(dot, ".vyre") == 0);
}

static void note_writer(vy_notify *notify, const struct inotify_event *event, int is_open) {
    uint64_t name = vy_hash(event->name, strlen(event->name));
    uint32_t i = 0;
    while (i < notify->writers.count &&
           (notify->writers.items[i].number != event->wd || notify->writers.items[i].name != name))
        i++;
    if (is_open && i == notify->writers.count) {
        vy_notify_writer *writer = VY_PUSH(&notify->writers); /* without memory: not waited for */
        if (writer)
            *writer = (vy_notify_writer){event->wd, name};
    } else if (!is_open && i < notify->writers.count) {
        notify->writers.items[i] = notify->writers.items[--notify->writers.count];
    }
}

static void take_one(vy_notify *notify, const struct inotify_event *event, vy_notify_news *news) {
    uint32_t i = 0;
    if (event->mask & IN_Q_OVERFLOW) { /* nobody knows what was lost */
        vy_notify_forget_writers(notify);
        news->is_something = 1;
        return;
    }
    while (i < notify->watches.count && notify->watches.items[i].number != event->wd)
        i++;
    if (i == notify->watches.count)
        return; /* of a watch that was given up */
    const vy_notify_watch *watch = &notify->watches.items[i];
    if (event->mask & IN_IGNORED) {
        drop(notify, i);
        news->is_something = 1;
    } else if (event->len == 0) {
        news->is_something = 1; /* the folder itself */
    } else if (!watch->only || strcmp(watch->only, event->name) == 0) {
        news->is_something = 1;
        if (watch->only || !is_text(event->name))
            return;
        /* What was made is mostly written next, and the first bytes are there before anybody is told of them. */
        news->is_written |= (event->mask & (IN_MODIFY | IN_CREATE)) != 0;
        note_writer(notify, event, (event->mask & IN_MODIFY) != 0);
    }
}

vy_notify_news vy_notify_take(vy_notify *notify) {
    vy_notify_news news = {0};
    _Alignas(struct inotify_event) char buffer[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
    for (ssize_t size; notify->file >= 0 && (size = read(notify->file, buffer, sizeof buffer)) > 0;)
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)(buffer + at);
            take_one(notify, event, &news);
            at += (ssize_t)(sizeof *event + event->len);
        }
    return news;
}
