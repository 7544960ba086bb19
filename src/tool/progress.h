/* A line on standard error that says how long something has been going on. It appears only after a second and only on a terminal. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>

typedef struct tool_progress {
    const char *what;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    atomic_ullong done; /* shown beside the time if total is not 0 */
    unsigned long long total;
    int running, stop;
} tool_progress;

/* Starts the clock; `what` is borrowed until stop. Does nothing where nobody would see it. */
void tool_progress_start(tool_progress *progress, const char *what, unsigned long long total);
void tool_progress_step(tool_progress *progress, unsigned long long done);
/* Stops and wipes the line. */
void tool_progress_stop(tool_progress *progress);

#endif
