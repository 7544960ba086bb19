/* What pool.c (threads), pool_job.c and pool_task.c share.
 *
 * Every thread has a word in a line of its own, and whoever wants its help writes there. All that matters about a thread and a job is in this word, so that
 * nobody needs a lock to ask, to accept, to take a question back or to say that it is done:
 *
 *   IDLE            looks for work                       a job's owner may make it `job`
 *   ASLEEP          waits in the kernel, on the word     … or `job | SLEPT`, and then wakes it; IDLE to make it look round
 *   BUSY            has other things to do               only the thread itself changes it
 *   job [| SLEPT]   is asked to help                     the thread makes it `job | TAKEN`; the owner IDLE or ASLEEP again
 *   job | TAKEN     helps                                the thread makes it IDLE; the owner adds WAITED, and waits in the kernel
 *
 * A job is there as long as some word names it: its owner returns only when none does. Jobs that found too few threads, and tasks, are in lists under the lock;
 * `posts` changes when something was added, and a thread looks at the lists when it has seen it change. Who goes to sleep writes ASLEEP before it reads
 * posts, and who adds changes posts before it reads words: one of them sees the other. An owner that makes a thread ASLEEP again, which somebody who added
 * something may have taken for one that helps, looks at the lists for it. */
#ifndef VY_BACKENDS_CPU_POOL_INTERNAL_H
#define VY_BACKENDS_CPU_POOL_INTERNAL_H

#include "backends/cpu/pool.h"

#define WORD_IDLE ((uintptr_t)0)
#define WORD_ASLEEP ((uintptr_t)1)
#define WORD_BUSY ((uintptr_t)2)
#define WORD_SLEPT ((uintptr_t)1)
#define WORD_TAKEN ((uintptr_t)2)
#define WORD_WAITED ((uintptr_t)4)
#define WORD_FLAGS ((uintptr_t)(VY_CPU_CACHE_LINE - 1))

/* Two lines apart: processors fetch them in pairs. */
typedef struct vy_cpu_worker {
    alignas(2 * VY_CPU_CACHE_LINE) _Atomic uintptr_t word;
    struct vy_cpu_pool *pool;
    unsigned index;
    pthread_t id;
    uint64_t
        backoff_until_ns; /* the thread's own: it does not look for work until then, somebody else needs the processor */
    long switches;        /* how often it had to give it away, as far as it knows */
} vy_cpu_worker;

struct vy_cpu_pool {
    /* Read by all, hardly ever written. */
    vy_cpu_worker *workers;
    unsigned most;    /* threads */
    unsigned helpers; /* as asked for: most, or 0 */
    uint64_t spin_ns;
    size_t size; /* of the memory, which starts at … */
    void *memory;
    _Atomic uint32_t started;     /* threads */
    _Atomic uint32_t posts;       /* see above */
    _Atomic uint32_t waiting;     /* tasks in line; changed under the lock */
    _Atomic uint32_t listed_jobs; /* jobs in the list; the same */
    _Atomic uint32_t is_closed;
    /* Written when threads go to sleep and wake. */
    alignas(2 * VY_CPU_CACHE_LINE) _Atomic uint32_t awake;
    _Atomic uint64_t spin_budget_ns;   /* how long the next thread without work looks for some */
    _Atomic uint64_t backoff_until_ns; /* nobody is woken for short jobs until then */
    /* Written by owners of jobs. */
    alignas(2 * VY_CPU_CACHE_LINE) _Atomic uint64_t ended_ns; /* the last job for several threads */
    _Atomic uint64_t backlog_ns, backlog_ps; /* when and how much work had to do without threads that slept */
    alignas(2 * VY_CPU_CACHE_LINE) pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t quiet;
    vy_cpu_job *jobs;
    vy_cpu_task *first, *last;
    unsigned running; /* tasks */
};

/* ---- pool.c ---- */

void vy_cpu_pause(void);
void vy_cpu_futex_wait(_Atomic uintptr_t *word, uintptr_t expected);
void vy_cpu_futex_wake(_Atomic uintptr_t *word);
/* Starts threads until there are so many, or as many as can be. With the lock held. */
void vy_cpu_pool_grow(vy_cpu_pool *pool, unsigned threads);
/* Makes a thread that sleeps look at the lists; returns 0 if it does not sleep. */
int vy_cpu_worker_wake(vy_cpu_worker *worker);
/* Sees to it that some thread looks at the lists, if one has time; after posts was changed. With the lock held. */
void vy_cpu_pool_wake_one(vy_cpu_pool *pool);

/* ---- pool_job.c ---- */

/* Accepts what the thread's word asks for, if it still does when it is taken. */
void vy_cpu_worker_accept(vy_cpu_worker *self, uintptr_t word);
/* Finds a job that wants help and names it in the word, which is BUSY; with the lock held. Then vy_cpu_worker_help, without it. */
vy_cpu_job *vy_cpu_worker_join(vy_cpu_worker *self);
void vy_cpu_worker_help(vy_cpu_worker *self, vy_cpu_job *job);

/* ---- pool_task.c ---- */

/* Runs the first task in line and returns 1, or 0 if there is none. With the lock held, which is open meanwhile. */
int vy_cpu_task_next(vy_cpu_pool *pool);

#endif
