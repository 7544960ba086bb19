/* A thread that looks at events and tells who wants to know that they are done. Started when somebody first asks, ended with the device. */
#ifndef VY_BACKENDS_CUDA_EVENT_WATCHER_H
#define VY_BACKENDS_CUDA_EVENT_WATCHER_H

#include "backends/cuda/dynamic_symbols.h"

#include <pthread.h>

struct vy_cuda;

/* Part of what is watched. */
typedef struct vy_cuda_watched_event {
    struct vy_cuda_watched_event *next;
    vy_cu_event event; /* NULL: it is done */
    void (*done)(void *user);
    void *user;
} vy_cuda_watched_event;

typedef struct vy_cuda_event_watcher {
    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t changed;
    vy_cuda_watched_event *first;
    vy_cuda_watched_event *notified; /* whose `done` is being called; only compared */
    pthread_t thread;
    int is_running, is_ending;
} vy_cuda_event_watcher;

void vy_cuda_event_watcher_start(vy_cuda_event_watcher *watch);
/* Ends the thread; nothing is watched. */
void vy_cuda_event_watcher_end(vy_cuda_event_watcher *watch);

/* Calls done(user) once, when the event is done or the device is lost. 0: there is no thread, and nobody will be called. */
int vy_cuda_event_watcher_add(struct vy_cuda *cuda, vy_cuda_watched_event *watched);
/* Somebody saw that it is done, and the event will be another's: who is not told yet is told without looking. */
void vy_cuda_event_watcher_done(struct vy_cuda *cuda, vy_cuda_watched_event *watched);
/* `done` is not called any more when it returns. From `done` itself, too. */
void vy_cuda_event_watcher_remove(struct vy_cuda *cuda, vy_cuda_watched_event *watched);

#endif
