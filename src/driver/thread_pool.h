/* Threads that run jobs: made when there is more work than idle threads, up to a bound; what is more waits in line.
 *
 * A pool belongs to one backend. It may be closed by one of its own threads, when a job drops the last reference to the backend. */
#ifndef VY_DRIVER_THREAD_POOL_H
#define VY_DRIVER_THREAD_POOL_H

enum { VY_THREAD_POOL_MAX = 64 }; /* at most */

/* Embedded in what the job is about; one place in line at a time. */
typedef struct vy_thread_pool_job {
    struct vy_thread_pool_job *next;
    void (*run)(struct vy_thread_pool_job *job);
} vy_thread_pool_job;

typedef struct vy_thread_pool vy_thread_pool;

vy_thread_pool *vy_thread_pool_new(void); /* NULL when memory is out */
/* Returns 0 if there is no thread and none can be started: the caller runs the job itself. */
int vy_thread_pool_submit(vy_thread_pool *pool, vy_thread_pool_job *job);
/* From a thread of the pool, which is about to wait for the job: if it is in line, maybe for this very thread, it is taken out, and 1 returned. The
 * caller runs it itself then. */
int vy_thread_pool_remove(vy_thread_pool *pool, vy_thread_pool_job *job);
/* Waits for jobs that run and ends the threads; none may be in line. NULL is ignored. */
void vy_thread_pool_close(vy_thread_pool *pool);

#endif
