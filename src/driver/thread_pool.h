/* Thread pool for jobs of one backend. Threads are started when there are more jobs than idle threads, up to a limit;
 * further jobs are queued.
 *
 * The pool may be closed by one of its threads, when a job drops the last reference to the backend. */
#ifndef VY_DRIVER_THREAD_POOL_H
#define VY_DRIVER_THREAD_POOL_H

enum { VY_THREAD_POOL_MAX = 64 }; /* at most */

/* Embedded in the object of the job; queued at most once at a time. */
typedef struct vy_thread_pool_job {
    struct vy_thread_pool_job *next;
    void (*run)(struct vy_thread_pool_job *job);
} vy_thread_pool_job;

typedef struct vy_thread_pool vy_thread_pool;

vy_thread_pool *vy_thread_pool_new(void); /* NULL: out of memory */

/* Returns 0 if the pool has no thread and none can be started: the caller runs the job. */
int vy_thread_pool_submit(vy_thread_pool *pool, vy_thread_pool_job *job);
/* For a pool thread that is about to wait for the job: if the job is queued, possibly for this very thread, removes it
 * and returns 1. The caller then runs it. */
int vy_thread_pool_remove(vy_thread_pool *pool, vy_thread_pool_job *job);
/* Waits for running jobs and ends the threads. The queue must be empty. NULL is ignored. */
void vy_thread_pool_close(vy_thread_pool *pool);

#endif
