/* Thread pool of the `cpu` backend: jobs, which are divided into ranges that threads steal from each other, and tasks.
 *
 * A job is one dispatch in ranges. The thread that runs it takes part, and idle threads help until its ranges are
 * taken. So a job needs no thread but the caller's own, and nested and concurrent jobs cannot wait for each other. A
 * task runs whole on one thread: asynchronous dispatches are tasks, which run jobs. Threads are started when there is
 * work for them, and end when the pool is closed.
 *
 * A thread without work spins before it sleeps, as long as jobs follow each other closely: recruiting a spinning
 * thread costs a store, waking a sleeping thread some microseconds. */
#ifndef VY_BACKENDS_CPU_POOL_H
#define VY_BACKENDS_CPU_POOL_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vy_cpu_pool vy_cpu_pool;

enum { VY_CPU_SHARES = 64, VY_CPU_CACHE_LINE = 64 };

/* Part of a job's ranges, in a line of its own: where one thread begins, and where others help out when they have done
 * theirs. Not with the last few: caches of who has begun may hold what they are about. */
typedef struct vy_cpu_share {
    alignas(VY_CPU_CACHE_LINE) _Atomic uint64_t next;
    uint64_t first, end;
    _Atomic uint64_t note; /* for bodies; 0 at first */
} vy_cpu_share;

/* Which ranges a thread takes next. The same thread begins with the same share of every job that as many take part in:
 * its caches have it. */
typedef struct vy_cpu_share_cursor {
    unsigned home, at, tried;
    int stays; /* it has taken a range of the share it is at */
} vy_cpu_share_cursor;

/* Work in ranges of [0, end), taken `chunk` at a time. The caller fills in the first group and keeps it until
 * vy_cpu_pool_run returns. Large: not to be cleared. */
typedef struct vy_cpu_job {
    void (*body)(
        struct vy_cpu_job *job,
        vy_cpu_share_cursor *part); /* once on every thread that takes part; takes ranges until there are none */
    uint64_t end, chunk;            /* end + chunk * threads does not overflow */
    uint64_t keep;                  /* so little of a share is left to those who have begun it */
    unsigned helpers;               /* threads beside the caller's, at most; … */
    unsigned sleepers;              /* … those that sleep are woken only if so many take part */
    /* The pool's. */
    unsigned share_count;
    int is_listed;            /* who has time later may still help */
    unsigned joinable;        /* that may still join while it is listed */
    struct vy_cpu_job *other; /* in the list */
    _Atomic uint32_t reach;   /* threads beyond it have not been asked */
    _Atomic uint32_t woken;   /* threads before it that slept have been woken, or are about to be */
    vy_cpu_share shares[VY_CPU_SHARES];
} vy_cpu_job;

typedef struct vy_cpu_task {
    void (*run)(struct vy_cpu_task *task); /* may free the task */
    struct vy_cpu_task *next;
} vy_cpu_task;

/* Starts no thread. `helpers`: threads beside a caller, at most; 0 is allowed, tasks get one all the same. spin_ns:
 * how long a thread without work looks for some before it sleeps, at most; 0 for never. NULL when memory is out. */
vy_cpu_pool *vy_cpu_pool_new(unsigned helpers, uint64_t spin_ns);
/* Waits for tasks, ends the threads, frees. Not on a thread of the pool. NULL is ignored. */
void vy_cpu_pool_close(vy_cpu_pool *pool);

/* Runs the job on the calling thread and at most `helpers` others, and returns when its body has returned everywhere.
 * Any thread, also one of the pool's. */
void vy_cpu_pool_run(vy_cpu_pool *pool, vy_cpu_job *job);
/* Asks for help with what is left of a job that its owner began alone, and has taken up to `first`: helpers, sleepers,
 * chunk and end say what for. For the body, on the owner's thread. */
void vy_cpu_pool_request_helpers(vy_cpu_pool *pool, vy_cpu_job *job, uint64_t first);
/* The next range; 0 if all are taken. For bodies. */
int vy_cpu_job_next_range(vy_cpu_job *job, vy_cpu_share_cursor *part, uint64_t *first, uint64_t *end);
/* Whether all ranges were taken. */
int vy_cpu_job_is_exhausted(const vy_cpu_job *job);

/* How many threads a job is worth that takes one thread so long (picoseconds): fills in helpers, which is not above
 * `most`, and sleepers. now_ns: the clock. */
void vy_cpu_pool_plan_helpers(vy_cpu_pool *pool, vy_cpu_job *job, uint64_t picoseconds, unsigned most, uint64_t now_ns);

/* memcpy, or memset with 0 if from is NULL: on several threads if it is much. */
void vy_cpu_pool_copy_or_clear(vy_cpu_pool *pool, void *to, const void *from, size_t size);

/* Puts a task in line. Returns 0, and nothing happens, if there is no thread and none can be started. */
int vy_cpu_pool_submit(vy_cpu_pool *pool, vy_cpu_task *task);
/* Runs a task on the calling thread, if it is still in line; returns 0 if it is not, because some thread has it or had
 * it. */
int vy_cpu_pool_run_queued(vy_cpu_pool *pool, vy_cpu_task *task);
/* Returns when no task is left. Not on a thread of the pool. */
void vy_cpu_pool_wait(vy_cpu_pool *pool);

/* Threads started so far, and those of them that do not sleep. */
unsigned vy_cpu_pool_threads(vy_cpu_pool *pool);
unsigned vy_cpu_pool_awake(vy_cpu_pool *pool);

/* ---- x ---- */

#endif
