/* Thread pool (pool.h): starting, spinning, sleeping and ending of threads; jobs and work stealing; the queue of
 * tasks.
 *
 * Every thread has a word in a cache line of its own. A thread that wants its help writes there. All of the state
 * between a thread and a job is in this word, so that no lock is needed to ask, to accept, to retract a request or to
 * report the end:
 *
 *   IDLE            looks for work                     a job's owner may make it `job`
 *   ASLEEP          waits in the kernel, on the word   … or `job | SLEPT`, and then wakes it; IDLE: to read the lists
 *   BUSY            has other things to do             only the thread itself changes it
 *   job [| SLEPT]   is asked to help                   the thread makes it `job | TAKEN`; the owner IDLE or ASLEEP
 *   job | TAKEN     helps                              the thread makes it IDLE; the owner adds WAITED, and waits
 *
 * A job exists as long as some word names it: its owner returns only when none does. Jobs that found too few threads,
 * and tasks, are in lists under the lock. `posts` changes when something was added, and a thread reads the lists when
 * it has seen it change. A thread that goes to sleep writes ASLEEP before it reads posts, and a thread that adds
 * changes posts before it reads words: one of them sees the other. If an owner makes a thread ASLEEP again, a thread
 * that added something may have taken that thread for a helper; so the owner reads the lists in its place. */
#include "backends/cpu/pool.h"

#include "base/memory.h"
#include "base/thread.h"
#include "driver/dispatch.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORD_IDLE ((uintptr_t)0)
#define WORD_ASLEEP ((uintptr_t)1)
#define WORD_BUSY ((uintptr_t)2)
#define WORD_SLEPT ((uintptr_t)1)
#define WORD_TAKEN ((uintptr_t)2)
#define WORD_WAITED ((uintptr_t)4)
#define WORD_FLAGS ((uintptr_t)(VY_CPU_CACHE_LINE - 1))

/* Two lines apart: processors fetch them in pairs. */
typedef struct pool_worker {
    alignas(2 * VY_CPU_CACHE_LINE) _Atomic uintptr_t word;
    struct vy_cpu_pool *pool;
    unsigned index;
    pthread_t id;
    /* the thread's own: it does not look for work until then, somebody else needs the processor */
    uint64_t backoff_until_ns;
    long switches; /* how often it had to give it away, as far as it knows */
} pool_worker;

struct vy_cpu_pool {
    /* Read by all, hardly ever written. */
    pool_worker *workers;
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

static void worker_accept(pool_worker *self, uintptr_t word);
static vy_cpu_job *worker_join(pool_worker *self);
static void worker_help(pool_worker *self, vy_cpu_job *job);
static int task_next(vy_cpu_pool *pool);

/* ---- threads ---- */

/* Looks between two looks at the clock, some microseconds; a look that took much longer because the system gave the
 * processor to somebody who needs it is the last for a while: the thread sleeps at once. Threads that looked for
 * nothing look half as long the next time, but not below the least. */
enum { SPINS = 32, INTERRUPTED_NS = 100 * 1000, BACKOFF_NS = 20 * 1000 * 1000, SPIN_BUDGET_MIN_NS = 5 * 1000 };

static void spin_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The kernel compares the low half of the word, which is the first on the architectures there is code for. That is
 * enough: a wake that is missed because two jobs differ in the high half only costs a helper, not the job. */
static void futex_wait(_Atomic uintptr_t *word, uintptr_t expected) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, (uint32_t)expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uintptr_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- without work ---- */

static int is_called(const pool_worker *self, uint32_t seen) {
    return atomic_load_explicit(&self->word, memory_order_relaxed) != WORD_IDLE ||
           atomic_load_explicit(&self->pool->posts, memory_order_relaxed) != seen;
}

/* Whether the system took the processor away from this thread since it was asked last. Not what an interrupt or a
 * hypervisor took: nobody gains if one sleeps then. */
static int was_switched(pool_worker *self) {
    struct rusage usage;
    long before = self->switches;
    if (getrusage(RUSAGE_THREAD, &usage) == 0)
        self->switches = usage.ru_nivcsw;
    return self->switches != before;
}

/* Looks for work as long as it is worth it; returns 0 if there was none. */
static int spin_for_work(pool_worker *self, uint32_t seen) {
    vy_cpu_pool *pool = self->pool;
    uint64_t spin_budget = atomic_load_explicit(&pool->spin_budget_ns, memory_order_relaxed);
    uint64_t start = spin_budget ? vy_clock_now() : 0, now = start;
    if (!spin_budget || start < self->backoff_until_ns)
        return is_called(self, seen);
    while (now - start < spin_budget) {
        for (int i = 0; i < SPINS; i++) {
            if (is_called(self, seen))
                return 1;
            spin_pause();
        }
        uint64_t before = now;
        now = vy_clock_now();
        if (now - before > INTERRUPTED_NS && was_switched(self)) {
            self->backoff_until_ns = now + BACKOFF_NS;
            atomic_store_explicit(&pool->backoff_until_ns, self->backoff_until_ns, memory_order_relaxed);
            return is_called(self, seen);
        }
    }
    /* The first of those who looked in vain, and only the first, lowers it. */
    if (spin_budget / 2 >= SPIN_BUDGET_MIN_NS)
        atomic_compare_exchange_strong_explicit(&pool->spin_budget_ns, &spin_budget, spin_budget / 2,
                                                memory_order_relaxed, memory_order_relaxed);
    return 0;
}

static void sleep_until_called(pool_worker *self, uint32_t seen) {
    vy_cpu_pool *pool = self->pool;
    uintptr_t word = WORD_IDLE;
    if (!atomic_compare_exchange_strong(&self->word, &word, WORD_ASLEEP))
        return;
    atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_relaxed);
    if (atomic_load(&pool->posts) == seen)
        futex_wait(&self->word, WORD_ASLEEP);
    atomic_fetch_add_explicit(&pool->awake, 1, memory_order_relaxed);
    /* Also if it was called and then was not needed any more: the next one may come soon. */
    word = WORD_ASLEEP;
    atomic_compare_exchange_strong(&self->word, &word, WORD_IDLE);
}

/* ---- with work ---- */

/* Takes something from the lists. Returns 0 if the thread is to end; *seen is what it has seen of posts if there was
 * nothing. */
static int take_queued_work(pool_worker *self, uint32_t posts, uint32_t *seen) {
    vy_cpu_pool *pool = self->pool;
    uintptr_t idle = WORD_IDLE;
    int is_closed = (int)atomic_load(&pool->is_closed);
    if (!is_closed && !atomic_load(&pool->waiting) && !atomic_load(&pool->listed_jobs)) {
        *seen = posts;
        return 1;
    }
    if (!atomic_compare_exchange_strong(&self->word, &idle, WORD_BUSY))
        return 1; /* it was asked meanwhile: later */
    pthread_mutex_lock(&pool->lock);
    vy_cpu_job *job = worker_join(self);
    int did_something = job || task_next(pool);
    pthread_mutex_unlock(&pool->lock);
    if (job)
        worker_help(self, job);
    else
        atomic_store(&self->word, WORD_IDLE);
    if (!did_something)
        *seen = posts;
    return did_something || !is_closed;
}

static void *worker_thread(void *user) {
    pool_worker *self = user;
    uint32_t seen = atomic_load(&self->pool->posts) - 1; /* something may be there already */
    int is_serving = 1;
    (void)vy_cancellation_disable();
    pthread_setname_np(pthread_self(), "vyre-cpu");
    while (is_serving) {
        uintptr_t word = atomic_load(&self->word);
        uint32_t posts = atomic_load(&self->pool->posts);
        if (word == WORD_ASLEEP) /* it woke up for a job that is over */
            atomic_compare_exchange_strong(&self->word, &word, WORD_IDLE);
        else if (word != WORD_IDLE)
            worker_accept(self, word);
        else if (posts != seen)
            is_serving = take_queued_work(self, posts, &seen);
        else if (!spin_for_work(self, seen))
            sleep_until_called(self, seen);
    }
    return NULL;
}

/* Starts threads until there are so many, or as many as can be. With the lock held. */
static void pool_grow(vy_cpu_pool *pool, unsigned threads) {
    uint32_t started = atomic_load(&pool->started);
    if (atomic_load(&pool->is_closed))
        return;
    for (; started < threads; started++) {
        pool_worker *worker = &pool->workers[started];
        atomic_fetch_add_explicit(&pool->awake, 1, memory_order_relaxed);
        if (!vy_thread_start(&worker->id, worker_thread, worker)) {
            atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_relaxed);
            break;
        }
        atomic_store(&pool->started, started + 1);
    }
}

/* Makes a thread that sleeps look at the lists; returns 0 if it does not sleep. */
static int worker_wake(pool_worker *worker) {
    uintptr_t word = WORD_ASLEEP;
    if (!atomic_compare_exchange_strong(&worker->word, &word, WORD_IDLE))
        return 0;
    futex_wake(&worker->word);
    return 1;
}

/* Sees to it that some thread looks at the lists, if one has time; after posts was changed. With the lock held. */
static void pool_wake_one(vy_cpu_pool *pool) {
    uint32_t started = atomic_load(&pool->started);
    for (uint32_t i = 0; i < started; i++)
        if (atomic_load(&pool->workers[i].word) == WORD_IDLE)
            return; /* it looks by itself */
    for (uint32_t i = 0; i < started; i++)
        if (worker_wake(&pool->workers[i]))
            return;
    if (started < pool->most)
        pool_grow(pool, started + 1);
}

/* ---- the pool ---- */

static void *align_up(void *memory) {
    uintptr_t line = alignof(vy_cpu_pool);
    return (void *)(((uintptr_t)memory + line - 1) / line * line);
}

vy_cpu_pool *vy_cpu_pool_new(unsigned helpers, uint64_t spin_ns) {
    unsigned most = helpers ? helpers : 1;
    size_t size = alignof(vy_cpu_pool) + sizeof(vy_cpu_pool) + most * sizeof(pool_worker);
    void *memory = vy_allocate_zero(size);
    if (!memory)
        return NULL;
    vy_cpu_pool *pool = align_up(memory);
    pool->memory = memory;
    pool->size = size;
    pool->workers = (pool_worker *)(pool + 1);
    pool->most = most;
    pool->helpers = helpers;
    pool->spin_ns = spin_ns;
    atomic_init(&pool->spin_budget_ns, spin_ns);
    for (unsigned i = 0; i < most; i++) {
        pool->workers[i].pool = pool;
        pool->workers[i].index = i;
        atomic_init(&pool->workers[i].word, WORD_IDLE);
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->quiet, NULL);
    return pool;
}

unsigned vy_cpu_pool_threads(vy_cpu_pool *pool) {
    return atomic_load(&pool->started);
}

unsigned vy_cpu_pool_awake(vy_cpu_pool *pool) {
    return atomic_load_explicit(&pool->awake, memory_order_relaxed);
}

void vy_cpu_pool_close(vy_cpu_pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->is_closed, 1);
    atomic_fetch_add(&pool->posts, 1);
    uint32_t started = atomic_load(&pool->started);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < started; i++)
        worker_wake(&pool->workers[i]);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(pool->workers[i].id, NULL);
    pthread_cond_destroy(&pool->quiet);
    pthread_mutex_destroy(&pool->lock);
    vy_release(pool->memory, pool->size);
}

/* ---- jobs ---- */

/* What it takes to be worth it, in picoseconds. A thread that looks for work begins within a microsecond of being
 * asked, one that sleeps within ten or many more. Work that did without the latter adds up to what it costs to wake
 * them, when it comes closely enough. */
#define WORTH_AWAKE (UINT64_C(2500) * 1000)
#define WORTH_ASLEEP (UINT64_C(10) * 1000000)
#define ALONE_ASLEEP (UINT64_C(20) * 1000000)
#define BACKLOG_PS (UINT64_C(100) * 1000000)
#define BACKLOG_WINDOW_NS (UINT64_C(1000) * 1000)

/* How often an owner looks again at a thread that helps before it looks at the clock; how many threads one that was
 * woken wakes in turn. */
enum { JOB_SPINS = 32, WAKES = 2 };

/* ---- ranges ---- */

static void partition_shares(vy_cpu_job *job, uint64_t at, unsigned parts) {
    uint64_t least = (job->end - at) / parts, more = (job->end - at) % parts;
    job->share_count = parts;
    for (unsigned i = 0; i < parts; i++) {
        atomic_init(&job->shares[i].next, at);
        atomic_init(&job->shares[i].note, 0);
        job->shares[i].first = at;
        at += least + (i < more);
        job->shares[i].end = at;
    }
}

/* Whether a thread is to take of a share, of which [next, end) is left. Who has begun one stays until nothing is left,
 * so that nothing is that everybody leaves to the others. */
static int may_take_from(const vy_cpu_job *job, const vy_cpu_share_cursor *part, const vy_cpu_share *share,
                         uint64_t next) {
    return next < share->end &&
           (part->stays || part->at == part->home || next == share->first || share->end - next > job->keep);
}

int vy_cpu_job_next_range(vy_cpu_job *job, vy_cpu_share_cursor *part, uint64_t *first, uint64_t *end) {
    for (; part->tried < job->share_count; part->tried++) {
        vy_cpu_share *share = &job->shares[part->at];
        if (may_take_from(job, part, share, atomic_load_explicit(&share->next, memory_order_relaxed))) {
            *first = atomic_fetch_add_explicit(&share->next, job->chunk, memory_order_relaxed);
            if (*first < share->end) {
                *end = share->end - *first < job->chunk ? share->end : *first + job->chunk;
                part->stays = 1;
                return 1;
            }
        }
        part->at = part->at + 1 == job->share_count ? 0 : part->at + 1;
        part->stays = 0;
    }
    return 0;
}

int vy_cpu_job_is_exhausted(const vy_cpu_job *job) {
    for (unsigned i = 0; i < job->share_count; i++)
        if (atomic_load_explicit(&job->shares[i].next, memory_order_relaxed) < job->shares[i].end)
            return 0;
    return 1;
}

static void run_part(vy_cpu_job *job, unsigned number) {
    unsigned home = number % job->share_count;
    vy_cpu_share_cursor part = {.home = home, .at = home};
    job->body(job, &part);
}

/* ---- a thread that helps ---- */

/* Wakes some of those who were asked in their sleep. Only while the caller takes part. */
static void wake_more(vy_cpu_pool *pool, vy_cpu_job *job) {
    for (int left = WAKES; left;) {
        uint32_t at = atomic_load_explicit(&job->woken, memory_order_relaxed);
        if (at >= atomic_load_explicit(&job->reach, memory_order_relaxed))
            return;
        at = atomic_fetch_add_explicit(&job->woken, 1, memory_order_relaxed);
        if (at >= atomic_load_explicit(&job->reach, memory_order_relaxed))
            return;
        pool_worker *worker = &pool->workers[at];
        if (atomic_load_explicit(&worker->word, memory_order_relaxed) == ((uintptr_t)job | WORD_SLEPT)) {
            futex_wake(&worker->word);
            left--;
        }
    }
}

static void worker_help(pool_worker *self, vy_cpu_job *job) {
    run_part(job, self->index + 1);
    uintptr_t word = atomic_exchange(&self->word, WORD_IDLE); /* from here on there may be no job */
    if (word & WORD_WAITED)
        futex_wake(&self->word);
}

/* Accepts what the thread's word asks for, if it still does when it is taken. */
static void worker_accept(pool_worker *self, uintptr_t word) {
    vy_cpu_job *job = (vy_cpu_job *)(word & ~WORD_FLAGS);
    if (!job || !atomic_compare_exchange_strong(&self->word, &word, (uintptr_t)job | WORD_TAKEN))
        return;
    if (word & WORD_SLEPT)
        wake_more(self->pool, job);
    worker_help(self, job);
}

/* Finds a job that wants help and names it in the word, which is BUSY; with the lock held. Then worker_help,
 * without it. */
static vy_cpu_job *worker_join(pool_worker *self) {
    vy_cpu_job *job = self->pool->jobs;
    while (job && (!job->joinable || vy_cpu_job_is_exhausted(job)))
        job = job->other;
    if (!job)
        return NULL;
    job->joinable--;
    if (atomic_load_explicit(&job->reach, memory_order_relaxed) <= self->index)
        atomic_store_explicit(&job->reach, self->index + 1, memory_order_relaxed);
    atomic_store(&self->word, (uintptr_t)job | WORD_TAKEN);
    return job;
}

/* ---- the owner ---- */

/* Lines are fetched all at once, to be written: one after the other they would take as long as the threads look
 * away. */
static void fetch_words(vy_cpu_pool *pool, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
#if defined(__x86_64__)
        __asm__ volatile("prefetchw %0" : : "m"(pool->workers[i].word));
#else
        __builtin_prefetch(&pool->workers[i].word, 1);
#endif
    }
}

/* Asks at most so many of the threads that are in the state `from`. Returns how many it asked; *reach is beyond all of
 * them. */
static unsigned request_workers(vy_cpu_pool *pool, vy_cpu_job *job, unsigned most, uintptr_t from, uint32_t *reach) {
    uint32_t started = atomic_load(&pool->started);
    unsigned asked = 0;
    for (uint32_t i = 0; i < started && asked < most; i++) {
        uintptr_t word = from;
        if (atomic_compare_exchange_strong(&pool->workers[i].word, &word,
                                           (uintptr_t)job | (from == WORD_ASLEEP ? WORD_SLEPT : 0))) {
            asked++;
            if (*reach <= i)
                *reach = i + 1;
        }
    }
    return asked;
}

static void post(vy_cpu_pool *pool, vy_cpu_job *job, unsigned helpers, unsigned sleepers) {
    uint32_t started = atomic_load(&pool->started);
    if (started < sleepers && started < pool->most) {
        pthread_mutex_lock(&pool->lock);
        pool_grow(pool, sleepers);
        started = atomic_load(&pool->started);
        pthread_mutex_unlock(&pool->lock);
    }
    uint32_t reach = 0;
    fetch_words(pool, started < helpers ? started : helpers);
    unsigned asked = request_workers(pool, job, helpers, WORD_IDLE, &reach), slept = 0;
    if (asked < sleepers)
        slept = request_workers(pool, job, sleepers - asked, WORD_ASLEEP, &reach);
    atomic_store_explicit(&job->reach, reach, memory_order_relaxed);
    if (slept)
        wake_more(pool, job);
    if (asked + slept >= sleepers)
        return;
    job->is_listed = 1;
    job->joinable = sleepers - asked - slept;
    pthread_mutex_lock(&pool->lock);
    job->other = pool->jobs;
    pool->jobs = job;
    atomic_fetch_add(&pool->listed_jobs, 1);
    atomic_fetch_add(&pool->posts, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void unlist(vy_cpu_pool *pool, vy_cpu_job *job) {
    pthread_mutex_lock(&pool->lock);
    vy_cpu_job **link = &pool->jobs;
    while (*link != job)
        link = &(*link)->other;
    *link = job->other;
    atomic_fetch_sub(&pool->listed_jobs, 1);
    pthread_mutex_unlock(&pool->lock);
}

static int word_names_job(uintptr_t word, const vy_cpu_job *job) {
    return (word & ~WORD_FLAGS) == (uintptr_t)job;
}

/* Who has not begun need not. */
static void retract_request(vy_cpu_pool *pool, pool_worker *worker, const vy_cpu_job *job) {
    uintptr_t word = atomic_load(&worker->word);
    while (word_names_job(word, job) && !(word & WORD_TAKEN)) {
        if (!atomic_compare_exchange_strong(&worker->word, &word, word & WORD_SLEPT))
            continue;
        if ((word & WORD_SLEPT) && (atomic_load(&pool->waiting) || atomic_load(&pool->listed_jobs)))
            worker_wake(worker);
        return;
    }
}

/* Waits for a thread that helps: it ends about now, and looking again is shorter than sleeping. */
static void wait_for_worker(vy_cpu_pool *pool, pool_worker *worker, const vy_cpu_job *job) {
    uint64_t start = 0, now = 0;
    uintptr_t word = atomic_load(&worker->word);
    while (pool->spin_ns && word_names_job(word, job) && (!start || now - start < pool->spin_ns)) {
        for (int i = 0; i < JOB_SPINS && word_names_job(word, job); i++) {
            spin_pause();
            word = atomic_load(&worker->word);
        }
        now = vy_clock_now();
        start = start ? start : now;
    }
    while (word_names_job(word, job)) {
        if ((word & WORD_WAITED) || atomic_compare_exchange_strong(&worker->word, &word, word | WORD_WAITED)) {
            futex_wait(&worker->word, word | WORD_WAITED);
            word = atomic_load(&worker->word);
        }
    }
}

static void join_helpers(vy_cpu_pool *pool, vy_cpu_job *job) {
    uint32_t reach = atomic_load_explicit(&job->reach, memory_order_relaxed);
    for (uint32_t i = 0; i < reach; i++)
        retract_request(pool, &pool->workers[i], job);
    for (uint32_t i = 0; i < reach; i++)
        wait_for_worker(pool, &pool->workers[i], job);
}

/* Jobs that follow each other closely are worth looking for. */
static void extend_spinning(vy_cpu_pool *pool) {
    uint64_t ended = atomic_load_explicit(&pool->ended_ns, memory_order_relaxed);
    if (pool->spin_ns && vy_clock_now() - ended < pool->spin_ns &&
        atomic_load_explicit(&pool->spin_budget_ns, memory_order_relaxed) != pool->spin_ns)
        atomic_store_explicit(&pool->spin_budget_ns, pool->spin_ns, memory_order_relaxed);
}

void vy_cpu_pool_request_helpers(vy_cpu_pool *pool, vy_cpu_job *job, uint64_t first) {
    unsigned helpers = job->helpers < pool->most ? job->helpers : pool->most;
    unsigned sleepers = job->sleepers < helpers ? job->sleepers : helpers;
    if (job->end - first <= job->chunk)
        helpers = 0;
    partition_shares(job, first, helpers < VY_CPU_SHARES ? helpers + 1 : VY_CPU_SHARES);
    if (!helpers)
        return;
    extend_spinning(pool);
    post(pool, job, helpers, sleepers);
}

void vy_cpu_pool_run(vy_cpu_pool *pool, vy_cpu_job *job) {
    atomic_init(&job->reach, 0);
    atomic_init(&job->woken, 0);
    job->is_listed = 0;
    vy_cpu_pool_request_helpers(pool, job, 0);
    run_part(job, 0);
    if (job->share_count == 1)
        return; /* nobody was asked */
    if (job->is_listed)
        unlist(pool, job);
    join_helpers(pool, job);
    if (pool->spin_ns)
        atomic_store_explicit(&pool->ended_ns, vy_clock_now(), memory_order_relaxed);
}

/* ---- how many ---- */

/* Whether it is time to wake threads for jobs that are too short for it each by itself. */
static int has_backlog(vy_cpu_pool *pool, uint64_t picoseconds, uint64_t now_ns) {
    uint64_t last = atomic_exchange_explicit(&pool->backlog_ns, now_ns, memory_order_relaxed);
    uint64_t sum = atomic_load_explicit(&pool->backlog_ps, memory_order_relaxed);
    if (!pool->spin_ns || now_ns < atomic_load_explicit(&pool->backoff_until_ns, memory_order_relaxed))
        return 0;
    sum = now_ns - last < BACKLOG_WINDOW_NS ? sum + picoseconds : picoseconds;
    atomic_store_explicit(&pool->backlog_ps, sum < BACKLOG_PS ? sum : 0, memory_order_relaxed);
    return sum >= BACKLOG_PS;
}

void vy_cpu_pool_plan_helpers(vy_cpu_pool *pool, vy_cpu_job *job, uint64_t picoseconds, unsigned most,
                              uint64_t now_ns) {
    unsigned awake = vy_cpu_pool_awake(pool);
    uint64_t warm = picoseconds / WORTH_AWAKE, cold = picoseconds < ALONE_ASLEEP ? 0 : picoseconds / WORTH_ASLEEP;
    if (warm > most)
        warm = most;
    if (cold > most)
        cold = most;
    if (warm > awake && warm > cold && has_backlog(pool, picoseconds, now_ns))
        cold = warm;
    if (warm > awake)
        warm = awake;
    job->helpers = (unsigned)(warm > cold ? warm : cold);
    job->sleepers = (unsigned)cold;
}

/* ---- bytes ---- */

/* One thread does not use all of the memory's bandwidth. About 100 picoseconds for a byte. */
enum { FILL_BYTE_PICOSECONDS = 100, FILL_CHUNK = 128 << 10 };

typedef struct filling {
    vy_cpu_job job;
    char *to;
    const char *from;
} filling;

static void copy_or_clear(char *to, const char *from, size_t size) {
    if (from)
        memcpy(to, from, size);
    else
        memset(to, 0, size);
}

static void fill(vy_cpu_job *job, vy_cpu_share_cursor *part) {
    const filling *f = (const filling *)job;
    uint64_t first, end;
    while (vy_cpu_job_next_range(job, part, &first, &end))
        copy_or_clear(f->to + first, f->from ? f->from + first : NULL, (size_t)(end - first));
}

void vy_cpu_pool_copy_or_clear(vy_cpu_pool *pool, void *to, const void *from, size_t size) {
    filling f;
    if (size <= FILL_CHUNK || !pool->helpers) {
        if (size)
            copy_or_clear(to, from, size);
        return;
    }
    f.job.body = fill;
    f.job.end = size;
    f.job.chunk = FILL_CHUNK;
    f.job.keep = 0;
    f.to = to;
    f.from = from;
    vy_cpu_pool_plan_helpers(pool, &f.job, (uint64_t)size * FILL_BYTE_PICOSECONDS, pool->helpers, vy_clock_now());
    vy_cpu_pool_run(pool, &f.job);
}

/* ---- tasks ---- */

/* With the lock held, which is open meanwhile. */
static void run_task(vy_cpu_pool *pool, vy_cpu_task *task) {
    atomic_fetch_sub(&pool->waiting, 1);
    pool->running++;
    if (pool->first)
        pool_wake_one(pool); /* who was called for this one is busy now: somebody else for the next */
    pthread_mutex_unlock(&pool->lock);
    task->run(task);
    pthread_mutex_lock(&pool->lock);
    if (--pool->running == 0 && !pool->first)
        pthread_cond_broadcast(&pool->quiet);
}

/* Runs the first task in line and returns 1, or 0 if there is none. With the lock held, which is open meanwhile. */
static int task_next(vy_cpu_pool *pool) {
    vy_cpu_task *task = pool->first;
    if (!task)
        return 0;
    pool->first = task->next;
    if (!pool->first)
        pool->last = NULL;
    run_task(pool, task);
    return 1;
}

int vy_cpu_pool_submit(vy_cpu_pool *pool, vy_cpu_task *task) {
    pthread_mutex_lock(&pool->lock);
    pool_grow(pool, 1);
    int is_served = atomic_load(&pool->started) != 0 && !atomic_load(&pool->is_closed);
    if (is_served) {
        task->next = NULL;
        if (pool->last)
            pool->last->next = task;
        else
            pool->first = task;
        pool->last = task;
        atomic_fetch_add(&pool->waiting, 1);
        atomic_fetch_add(&pool->posts, 1);
        pool_wake_one(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    return is_served;
}

/* With the lock held. */
static int remove_queued(vy_cpu_pool *pool, vy_cpu_task *task) {
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

int vy_cpu_pool_run_queued(vy_cpu_pool *pool, vy_cpu_task *task) {
    pthread_mutex_lock(&pool->lock);
    int was_in_line = remove_queued(pool, task);
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
