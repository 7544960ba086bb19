/* Progress: a thread that wakes up four times a second, because the work itself has no time for it. */
#include "tool/progress.h"

#include "base/clock.h"
#include "base/thread.h"
#include "tool/terminal.h"

#include <stdio.h>

static void *body(void *user) {
    tool_progress *progress = user;
    uint64_t start = vy_clock_now(), wake = start + 1000000000u;
    int shown = 0;

    pthread_mutex_lock(&progress->mutex);
    while (!progress->stop) {
        struct timespec until = vy_clock_timespec(wake);
        if (pthread_cond_timedwait(&progress->changed, &progress->mutex, &until) == 0)
            continue;
        wake += 250000000;
        unsigned long long seconds = (wake - start) / 1000000000u;
        shown = 1;
        if (progress->total)
            fprintf(stderr, "\r%s: %llu of %llu, %llu s ", progress->what, atomic_load(&progress->done),
                    progress->total, seconds);
        else
            fprintf(stderr, "\r%s: %llu s ", progress->what, seconds);
        fflush(stderr);
    }
    pthread_mutex_unlock(&progress->mutex);
    if (shown)
        fprintf(stderr, "\r\033[K");
    return NULL;
}

void tool_progress_start(tool_progress *progress, const char *what, unsigned long long total) {
    progress->what = what;
    progress->total = total;
    progress->running = progress->stop = 0;
    atomic_init(&progress->done, 0);
    if (!tool_can_erase(stderr))
        return;
    pthread_mutex_init(&progress->mutex, NULL);
    vy_cond_init_monotonic(&progress->changed);
    progress->running = vy_thread_start(&progress->thread, body, progress);
}

void tool_progress_step(tool_progress *progress, unsigned long long done) {
    atomic_store(&progress->done, done);
}

void tool_progress_stop(tool_progress *progress) {
    if (!progress->running)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->stop = 1;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->mutex);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->mutex);
    progress->running = 0;
}
