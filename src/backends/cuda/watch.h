/* A thread that looks at events and tells who wants to know that they are done. Started when somebody first asks, ended with the device. */
#ifndef VY_BACKENDS_CUDA_WATCH_H
#define VY_BACKENDS_CUDA_WATCH_H

#include "backends/cuda/api.h"

#include <pthread.h>

struct vy_cuda;

/* Part of what is watched. */
typedef struct vy_cuda_watched {
    struct vy_cuda_watched *next;
    vy_cu_event event; /* NULL: it is done */
    void (*done)(void *user);
    void *user;
} vy_cuda_watched;

typedef struct vy_cuda_watch {
    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t changed;
    vy_cuda_watched *first;
    vy_cuda_watched *notified; /* whose `done` is being called; only compared */
    pthread_t thread;
    int is_running, is_ending;
} vy_cuda_watch;

void vy_cuda_watch_start(vy_cuda_watch *watch);
/* Ends the thread; nothing is watched. */
void vy_cuda_watch_end(vy_cuda_watch *watch);

/* Calls done(user) once, when the event is done or the device is lost. 0: there is no thread, and nobody will be called. */
int vy_cuda_watch_add(struct vy_cuda *cuda, vy_cuda_watched *watched);
/* Somebody saw that it is done, and the event will be another's: who is not told yet is told without looking. */
void vy_cuda_watch_done(struct vy_cuda *cuda, vy_cuda_watched *watched);
/* `done` is not called any more when it returns. From `done` itself, too. */
void vy_cuda_watch_remove(struct vy_cuda *cuda, vy_cuda_watched *watched);

#endif
