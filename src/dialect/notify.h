/* Being told of changes in folders of manifests: inotify, and what its events mean here. One thread at a time. */
#ifndef VY_DIALECT_NOTIFY_H
#define VY_DIALECT_NOTIFY_H

#include "dialect/folder.h"

typedef struct vy_notify_watch {
    int number;
    int is_wanted;
    char *path;
    char *only; /* the one name in it that matters; NULL: every name */
} vy_notify_watch;

/* A file that was written to and not closed since. */
typedef struct vy_notify_writer {
    int number; /* of the watch */
    uint64_t name;
} vy_notify_writer;

typedef struct vy_notify {
    int file;     /* to wait for; -1: nobody tells */
    int is_blind; /* not everything could be watched: look from time to time, too */
    VY_VECTOR(vy_notify_watch) watches;
    VY_VECTOR(vy_notify_writer) writers;
} vy_notify;

/* What happened since the last call. */
typedef struct vy_notify_news {
    int is_something; /* anything that may matter */
    int is_written;   /* a manifest or a body was written to in place, or made */
} vy_notify_news;

/* Without inotify `file` is -1. */
void vy_notify_open(vy_notify *notify);
void vy_notify_close(vy_notify *notify);
/* Watches the folders, the folders of every file they lead to, and what is nearest above a folder that is not there. *added says whether any is new: what happened in it
 * before was not told. */
void vy_notify_cover(vy_notify *notify, const vy_folders *folders, int *added);
/* Takes all events there are; does not wait. */
vy_notify_news vy_notify_take(vy_notify *notify);
/* Whether a manifest or a body is open and half written, as far as was told. */
static inline int vy_notify_is_writing(const vy_notify *notify) {
    return notify->writers.count > 0;
}
/* Whoever has a file open for too long is not waited for. */
static inline void vy_notify_forget_writers(vy_notify *notify) {
    notify->writers.count = 0;
}

#endif
