/* The threads of the `cpu` backend.
 *
 * Two kinds of work. A job is one dispatch in ranges: whoever runs it takes part, and idle threads help until its ranges are taken; so it needs no
 * thread but the caller's own, and jobs inside jobs and beside each other cannot wait for each other. A task runs whole on some thread: asynchronous
 * dispatches are tasks, which run jobs in turn. Threads are started when there is work for them, and end when the pool is closed. */
#ifndef VY_BACKENDS_CPU_POOL_H
#define VY_BACKENDS_CPU_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vy_cpu_pool vy_cpu_pool;

/* Work in ranges of [0, end), taken `chunk` at a time. The caller fills in the first group and keeps it until vy_cpu_pool_run returns. */
typedef struct vy_cpu_job {
    void (*body)(struct vy_cpu_job *job); /* once on every thread that takes part; takes ranges until there are none */
    uint64_t end, chunk;                  /* end + chunk * threads does not overflow */
    /* The pool's. */
    _Atomic uint64_t next;
    struct vy_cpu_job *other;
    unsigned wanted, helpers;
    pthread_cond_t left;
} vy_cpu_job;

typedef struct vy_cpu_task {
    void (*run)(struct vy_cpu_task *task); /* may free the task */
    struct vy_cpu_task *next;
} vy_cpu_task;

/* Starts no thread. `helpers`: threads beside a caller, at most; 0 is allowed, tasks get one all the same. NULL when memory is out. */
vy_cpu_pool *vy_cpu_pool_new(unsigned helpers);
/* Waits for tasks, ends the threads, frees. Not on a thread of the pool. NULL is ignored. */
void vy_cpu_pool_close(vy_cpu_pool *pool);

/* Runs the job on the calling thread and at most `helpers` others, and returns when its body has returned everywhere. Any thread, also one of the pool's. */
void vy_cpu_pool_run(vy_cpu_pool *pool, vy_cpu_job *job, unsigned helpers);
/* The next range; 0 if all are taken. For bodies. */
int vy_cpu_job_take(vy_cpu_job *job, uint64_t *first, uint64_t *end);

/* memcpy, or memset with 0 if from is NULL: on several threads if it is much. */
void vy_cpu_pool_fill(vy_cpu_pool *pool, void *to, const void *from, size_t size);

/* Puts a task in line. Returns 0, and nothing happens, if there is no thread and none can be started. */
int vy_cpu_pool_start(vy_cpu_pool *pool, vy_cpu_task *task);
/* Runs a task on the calling thread, if it is still in line; returns 0 if it is not, because some thread has it or had it. */
int vy_cpu_pool_pull(vy_cpu_pool *pool, vy_cpu_task *task);
/* Returns when no task is left. Not on a thread of the pool. */
void vy_cpu_pool_wait(vy_cpu_pool *pool);

/* While somebody keeps the threads awake, those without work look for some a little longer before they sleep: for jobs that follow each other at once. */
void vy_cpu_pool_wake(vy_cpu_pool *pool);
void vy_cpu_pool_relax(vy_cpu_pool *pool);

/* Threads started so far. */
unsigned vy_cpu_pool_threads(vy_cpu_pool *pool);

#endif
