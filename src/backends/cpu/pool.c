/* Jobs, tasks and the threads that run them (pool.h).
 *
 * One lock guards the lists and counts; ranges are taken from an atomic counter without it. A thread that helps a job is counted in it under the lock, and the
 * job's owner takes the job off the list before it waits for them, so that nobody looks at a job that is gone. */
#include "backends/cpu/pool.h"

#include "base/memory.h"

#include <sched.h>
#include <signal.h>

/* How often an idle thread looks again before it sleeps, and an owner before it waits: some tens of microseconds. */
enum { SPINS_AWAKE = 4000, SPINS_OWNER = 1000 };

struct vy_cpu_pool {
    pthread_mutex_t lock;
    pthread_cond_t work, quiet;
    vy_cpu_job *jobs;
    vy_cpu_task *first, *last;
    unsigned waiting; /* tasks in line */
    unsigned running; /* tasks */
    unsigned idle;
    unsigned threads, most;
    unsigned helpers; /* as asked for: most, or 0 */
    int is_closed;
    _Atomic unsigned awake;
    _Atomic uint32_t posts; /* changes whenever there is new work: what a thread that looks again looks at */
    pthread_t ids[];
};

static void pause_a_little(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

vy_cpu_pool *vy_cpu_pool_new(unsigned helpers) {
    unsigned most = helpers ? helpers : 1;
    vy_cpu_pool *pool = vy_allocate_zero(sizeof *pool + most * sizeof *pool->ids);
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->quiet, NULL);
    pool->most = most;
    pool->helpers = helpers;
    return pool;
}

/* ---- threads ---- */

/* With the lock held. Jobs before tasks: what was started is finished first. */
static vy_cpu_job *find_job(vy_cpu_pool *pool) {
    for (vy_cpu_job *job = pool->jobs; job; job = job->other)
        if (job->helpers < job->wanted && atomic_load_explicit(&job->next, memory_order_relaxed) < job->end)
            return job;
    return NULL;
}

/* The next three: with the lock held, which is open meanwhile. */
static void help(vy_cpu_pool *pool, vy_cpu_job *job) {
    job->helpers++;
    pthread_mutex_unlock(&pool->lock);
    job->body(job);
    pthread_mutex_lock(&pool->lock);
    if (--job->helpers == 0)
        pthread_cond_signal(&job->left);
}

static void run_task(vy_cpu_pool *pool, vy_cpu_task *task) {
    pool->waiting--;
    pool->running++;
    pthread_mutex_unlock(&pool->lock);
    task->run(task);
    pthread_mutex_lock(&pool->lock);
    if (--pool->running == 0 && !pool->first)
        pthread_cond_broadcast(&pool->quiet);
}

static void run_first_task(vy_cpu_pool *pool) {
    vy_cpu_task *task = pool->first;
    pool->first = task->next;
    if (!pool->first)
        pool->last = NULL;
    run_task(pool, task);
}

/* Looks for a while whether something was posted after `seen`; the lock is open meanwhile. */
static void look_again(vy_cpu_pool *pool, uint32_t seen) {
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < SPINS_AWAKE && atomic_load_explicit(&pool->awake, memory_order_relaxed); i++) {
        if (atomic_load_explicit(&pool->posts, memory_order_relaxed) != seen)
            break;
        pause_a_little();
    }
    pthread_mutex_lock(&pool->lock);
}

static void rest(vy_cpu_pool *pool) {
    uint32_t seen = atomic_load_explicit(&pool->posts, memory_order_relaxed);
    if (atomic_load_explicit(&pool->awake, memory_order_relaxed)) {
        look_again(pool, seen);
        if (atomic_load_explicit(&pool->posts, memory_order_relaxed) != seen)
            return;
    }
    if (pool->is_closed)
        return;
    pool->idle++;
    pthread_cond_wait(&pool->work, &pool->lock);
    pool->idle--;
}

static void *serve(void *user) {
    vy_cpu_pool *pool = user;
    vy_cpu_job *job;
    pthread_setname_np(pthread_self(), "vyre-cpu");
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        if ((job = find_job(pool)))
            help(pool, job);
        else if (pool->first)
            run_first_task(pool);
        else if (pool->is_closed)
            break;
        else
            rest(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* With the lock held: threads for `needed` pieces of work that wait. The application's signal handlers run on the application's threads. */
static void staff(vy_cpu_pool *pool, unsigned needed) {
    sigset_t all, before;
    if (pool->idle >= needed || pool->threads == pool->most || pool->is_closed)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned missing = needed - pool->idle; missing && pool->threads < pool->most; missing--) {
        if (pthread_create(&pool->ids[pool->threads], NULL, serve, pool) != 0)
            break;
        pool->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void announce(vy_cpu_pool *pool, unsigned pieces) {
    atomic_fetch_add_explicit(&pool->posts, 1, memory_order_relaxed);
    unsigned sleepers = pieces < pool->idle ? pieces : pool->idle;
    for (unsigned i = 0; i < sleepers; i++)
        pthread_cond_signal(&pool->work);
}

/* ---- jobs ---- */

int vy_cpu_job_take(vy_cpu_job *job, uint64_t *first, uint64_t *end) {
    if (atomic_load_explicit(&job->next, memory_order_relaxed) >= job->end)
        return 0;
    *first = atomic_fetch_add_explicit(&job->next, job->chunk, memory_order_relaxed);
    *end = job->end - *first < job->chunk ? job->end : *first + job->chunk;
    return *first < job->end;
}

static void unlist(vy_cpu_pool *pool, vy_cpu_job *job) {
    vy_cpu_job **link = &pool->jobs;
    while (*link != job)
        link = &(*link)->other;
    *link = job->other;
}

void vy_cpu_pool_run(vy_cpu_pool *pool, vy_cpu_job *job, unsigned helpers) {
    atomic_init(&job->next, 0);
    if (!helpers || job->end <= job->chunk) {
        job->body(job);
        return;
    }
    job->wanted = helpers < pool->most ? helpers : pool->most;
    job->helpers = 0;
    pthread_cond_init(&job->left, NULL);
    pthread_mutex_lock(&pool->lock);
    job->other = pool->jobs;
    pool->jobs = job;
    staff(pool, job->wanted);
    announce(pool, job->wanted);
    pthread_mutex_unlock(&pool->lock);
    job->body(job);
    pthread_mutex_lock(&pool->lock);
    unlist(pool, job);
    /* The others end about now: looking again is shorter than sleeping. */
    for (int i = 0; i < SPINS_OWNER && job->helpers; i++) {
        pthread_mutex_unlock(&pool->lock);
        pause_a_little();
        pthread_mutex_lock(&pool->lock);
    }
    while (job->helpers)
        pthread_cond_wait(&job->left, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&job->left);
}

/* ---- bytes ---- */

/* One thread does not use all of the memory's bandwidth; below some megabytes it has done it before others are awake. */
enum { FILL_ALONE = 4 << 20, FILL_CHUNK = 1 << 20 };

typedef struct filling {
    vy_cpu_job job;
    char *to;
    const char *from;
} filling;

static void fill(vy_cpu_job *job) {
    const filling *f = (const filling *)job;
    uint64_t first, end;
    while (vy_cpu_job_take(job, &first, &end)) {
        if (f->from)
            memcpy(f->to + first, f->from + first, (size_t)(end - first));
        else
            memset(f->to + first, 0, (size_t)(end - first));
    }
}

void vy_cpu_pool_fill(vy_cpu_pool *pool, void *to, const void *from, size_t size) {
    filling f = {.job = {.body = fill, .end = size, .chunk = FILL_CHUNK}, .to = to, .from = from};
    vy_cpu_pool_run(pool, &f.job, size < FILL_ALONE ? 0 : pool->helpers);
}

/* ---- tasks ---- */

int vy_cpu_pool_start(vy_cpu_pool *pool, vy_cpu_task *task) {
    pthread_mutex_lock(&pool->lock);
    staff(pool, pool->waiting + 1);
    int served = pool->threads != 0 && !pool->is_closed;
    if (served) {
        task->next = NULL;
        if (pool->last)
            pool->last->next = task;
        else
            pool->first = task;
        pool->last = task;
        pool->waiting++;
        announce(pool, 1);
    }
    pthread_mutex_unlock(&pool->lock);
    return served;
}

/* With the lock held. */
static int leave_line(vy_cpu_pool *pool, vy_cpu_task *task) {
    vy_cpu_task *before = NULL, *at = pool->first;
    while (at && at != task)
        before = at, at = at->next;
    if (!at)
        return 0;
    *(before ? &before->next : &pool->first) = task->next;
    if (pool->last == task)
        pool->last = before;
    return 1;
}

int vy_cpu_pool_pull(vy_cpu_pool *pool, vy_cpu_task *task) {
    pthread_mutex_lock(&pool->lock);
    int was_in_line = leave_line(pool, task);
    if (was_in_line)
        run_task(pool, task);
    pthread_mutex_unlock(&pool->lock);
    return was_in_line;
}

void vy_cpu_pool_wait(vy_cpu_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    while (pool->first || pool->running)
        pthread_cond_wait(&pool->quiet, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- the pool ---- */

void vy_cpu_pool_wake(vy_cpu_pool *pool) {
    atomic_fetch_add_explicit(&pool->awake, 1, memory_order_relaxed);
}

void vy_cpu_pool_relax(vy_cpu_pool *pool) {
    atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_relaxed);
}

unsigned vy_cpu_pool_threads(vy_cpu_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    unsigned threads = pool->threads;
    pthread_mutex_unlock(&pool->lock);
    return threads;
}

void vy_cpu_pool_close(vy_cpu_pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->is_closed = 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->threads; i++)
        pthread_join(pool->ids[i], NULL);
    pthread_cond_destroy(&pool->quiet);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    vy_release(pool, sizeof *pool + pool->most * sizeof *pool->ids);
}
