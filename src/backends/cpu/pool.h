/* Thread pool of the `cpu` backend: jobs, which are divided into ranges that threads steal from each other, and
 * tasks.
 *
 * A job is one dispatch in ranges. The calling thread participates, and idle threads help until its ranges are
 * exhausted. Invariant: a job needs no thread except the caller's, so nested and concurrent jobs cannot wait for
 * each other. A task runs on one thread: asynchronous dispatches are tasks, which run jobs. Threads are started on
 * demand, and end when the pool is closed.
 *
 * An idle thread spins before it sleeps, as long as jobs follow each other closely: recruiting a spinning thread
 * costs a store, waking a sleeping thread some microseconds. */
#ifndef VY_BACKENDS_CPU_POOL_H
#define VY_BACKENDS_CPU_POOL_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vy_cpu_pool vy_cpu_pool;

enum { VY_CPU_SHARES = 64, VY_CPU_CACHE_LINE = 64 };

/* A share of a job's ranges, in a separate cache line: one thread starts with it, and others steal from it after
 * their own. The last ranges are not stolen, because the caches of the thread that began the share may hold their
 * data. */
typedef struct vy_cpu_share {
    alignas(VY_CPU_CACHE_LINE) _Atomic uint64_t next;
    uint64_t first, end;
    _Atomic uint64_t note; /* for the body; initially 0 */
} vy_cpu_share;

/* A thread's position in the shares. The same thread starts with the same share of every job with as many shares:
 * its caches may hold the data. */
typedef struct vy_cpu_share_cursor {
    unsigned home, at, tried;
    int stays; /* it has taken a range of the current share */
} vy_cpu_share_cursor;

/* Work on [0, end), in ranges of `chunk`. The caller sets the first group of fields; the job must stay valid until
 * vy_cpu_pool_run returns. It is large, so it is not cleared. */
typedef struct vy_cpu_job {
    void (*body)(
        struct vy_cpu_job *job,
        vy_cpu_share_cursor *part); /* called once on every participating thread; consumes ranges until none is left */
    uint64_t end, chunk;            /* end + chunk * threads does not overflow */
    uint64_t keep;                  /* this much of a share is left to the thread that has begun it */
    unsigned helpers;               /* most threads in addition to the caller's … */
    unsigned sleepers;              /* … sleeping threads are woken only for this many helpers */
    /* Set by the pool. */
    unsigned share_count;
    int is_listed;            /* threads that become idle later may still help */
    unsigned joinable;        /* threads that may still join while it is listed */
    struct vy_cpu_job *other; /* next in the list */
    _Atomic uint32_t reach;   /* no thread from this index on was requested */
    _Atomic uint32_t woken;   /* sleeping threads below this index were woken, or are being woken */
    vy_cpu_share shares[VY_CPU_SHARES];
} vy_cpu_job;

typedef struct vy_cpu_task {
    void (*run)(struct vy_cpu_task *task); /* may free the task */
    struct vy_cpu_task *next;
} vy_cpu_task;

/* Creates a pool; starts no thread. `helpers`: most threads in addition to a caller; with 0, one thread is started
 * for tasks only. spin_ns: how long an idle thread spins at most; 0: never. NULL if memory runs out. */
vy_cpu_pool *vy_cpu_pool_new(unsigned helpers, uint64_t spin_ns);
/* Waits for tasks, ends the threads, and frees the pool. Not on a thread of the pool. NULL is ignored. */
void vy_cpu_pool_close(vy_cpu_pool *pool);

/* Runs the job on the calling thread and at most `helpers` others, and returns when its body has returned on all of
 * them. Any thread, also one of the pool. */
void vy_cpu_pool_run(vy_cpu_pool *pool, vy_cpu_job *job);
/* Recruits helpers for the rest of a job that its owner began alone and has processed up to `first`; helpers,
 * sleepers, chunk and end are set for the rest. Called by the body on the owner's thread. */
void vy_cpu_pool_request_helpers(vy_cpu_pool *pool, vy_cpu_job *job, uint64_t first);
/* The next range; 0 if all are taken. Called by bodies. */
int vy_cpu_job_next_range(vy_cpu_job *job, vy_cpu_share_cursor *part, uint64_t *first, uint64_t *end);
/* Whether all ranges were taken. */
int vy_cpu_job_is_exhausted(const vy_cpu_job *job);

/* Selects the number of threads for a job that needs this long on one thread (picoseconds): sets helpers, at most
 * `most`, and sleepers. now_ns: the current time. */
void vy_cpu_pool_plan_helpers(vy_cpu_pool *pool, vy_cpu_job *job, uint64_t picoseconds, unsigned most, uint64_t now_ns);

/* memcpy, or memset with 0 if from is NULL; on several threads if the size is large. */
void vy_cpu_pool_copy_or_clear(vy_cpu_pool *pool, void *to, const void *from, size_t size);

/* Queues a task. Returns 0 without effect if the pool has no thread and cannot start one. */
int vy_cpu_pool_submit(vy_cpu_pool *pool, vy_cpu_task *task);
/* Runs a task on the calling thread if it is still queued; returns 0 if another thread has started or finished it. */
int vy_cpu_pool_run_queued(vy_cpu_pool *pool, vy_cpu_task *task);
/* Returns when no task is queued or running. Not on a thread of the pool. */
void vy_cpu_pool_wait(vy_cpu_pool *pool);

/* The number of started threads, and of started threads that do not sleep. */
unsigned vy_cpu_pool_threads(vy_cpu_pool *pool);
unsigned vy_cpu_pool_awake(vy_cpu_pool *pool);

#endif
