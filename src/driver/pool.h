/* Threads that run jobs: made when there is more work than idle threads, up to a bound; what is more waits in line.
 *
 * A pool belongs to one backend. It may be closed by one of its own threads, when a job drops the last reference to the backend. */
#ifndef VY_DRIVER_POOL_H
#define VY_DRIVER_POOL_H

enum { VY_POOL_THREADS = 64 }; /* at most */

/* Embedded in what the job is about; one place in line at a time. */
typedef struct vy_job {
    struct vy_job *next;
    void (*run)(struct vy_job *job);
} vy_job;

typedef struct vy_pool vy_pool;

vy_pool *vy_pool_new(void); /* NULL when memory is out */
/* Returns 0 if there is no thread and none can be started: the caller runs the job itself. */
int vy_pool_submit(vy_pool *pool, vy_job *job);
/* From a thread of the pool, which is about to wait for the job: if it is in line, maybe for this very thread, it is taken out, and 1 returned. The
 * caller runs it itself then. */
int vy_pool_take_back(vy_pool *pool, vy_job *job);
/* Waits for jobs that run and ends the threads; none may be in line. NULL is ignored. */
void vy_pool_close(vy_pool *pool);

#endif
