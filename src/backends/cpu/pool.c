/* Thread pool (pool.h): starting, spinning, sleeping and ending of threads; jobs and work stealing; the queue of
 * tasks.
 *
 * Every thread has a word in a separate cache line, in which other threads request its help. The word has all of the
 * state between a thread and a job, so recruiting, accepting, retracting a request and reporting completion need no
 * lock:
 *
 *   IDLE            the thread spins                   the owner of a job may set `job`
 *   ASLEEP          it waits on the word (futex)       … or `job | SLEPT`, and wakes it; IDLE: to read the lists
 *   BUSY            it does other work                 only the thread itself changes it
 *   job [| SLEPT]   its help is requested              the thread sets `job | TAKEN`; the owner IDLE or ASLEEP
 *   job | TAKEN     it helps                           the thread sets IDLE; the owner adds WAITED, and waits
 *
 * Invariant: a job exists as long as some word contains it, because its owner returns only when none does.
 *
 * Jobs that found too few threads, and tasks, are in lists under the lock. `posts` changes when an item was added,
 * and a thread reads the lists after posts has changed. A thread that goes to sleep writes ASLEEP before it reads
 * posts, and a thread that adds an item changes posts before it reads words: so one of them sees the other. If an
 * owner sets a thread back to ASLEEP, a thread that added an item may have counted on that thread; so the owner
 * reads the lists instead. */
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

/* Two cache lines apart, because processors prefetch pairs of lines. */
typedef struct pool_worker {
    alignas(2 * VY_CPU_CACHE_LINE) _Atomic uintptr_t word;
    struct vy_cpu_pool *pool;
    unsigned index;
    pthread_t id;
    /* private to the thread: no spinning until then, because the processor is needed by another thread */
    uint64_t backoff_until_ns;
    long switches; /* involuntary context switches seen so far */
} pool_worker;

struct vy_cpu_pool {
    /* Read by all threads, rarely written. */
    pool_worker *workers;
    unsigned most;    /* number of threads */
    unsigned helpers; /* as configured: most, or 0 */
    uint64_t spin_ns;
    size_t size; /* of the allocation at … */
    void *memory;
    _Atomic uint32_t started;     /* number of threads */
    _Atomic uint32_t posts;       /* see the head of this file */
    _Atomic uint32_t waiting;     /* queued tasks; changed with the lock held */
    _Atomic uint32_t listed_jobs; /* jobs in the list; changed with the lock held */
    _Atomic uint32_t is_closed;
    /* Written when threads go to sleep and wake. */
    alignas(2 * VY_CPU_CACHE_LINE) _Atomic uint32_t awake;
    _Atomic uint64_t spin_budget_ns;   /* how long the next idle thread spins */
    _Atomic uint64_t backoff_until_ns; /* no thread is woken for short jobs until then */
    /* Written by owners of jobs. */
    alignas(2 * VY_CPU_CACHE_LINE) _Atomic uint64_t ended_ns; /* end of the last job with several threads */
    _Atomic uint64_t backlog_ns, backlog_ps; /* time and amount of the work that ran without sleeping threads */
    alignas(2 * VY_CPU_CACHE_LINE) pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t quiet;
    vy_cpu_job *jobs;
    vy_cpu_task *first, *last;
    unsigned running; /* running tasks */
};

static void worker_accept(pool_worker *self, uintptr_t word);
static vy_cpu_job *worker_join(pool_worker *self);
static void worker_help(pool_worker *self, vy_cpu_job *job);
static int task_next(vy_cpu_pool *pool);

/* ---- threads ---- */

/* SPINS: polls between two reads of the clock, some microseconds. If a read shows that the thread was preempted for
 * INTERRUPTED_NS, it sleeps and does not spin again for BACKOFF_NS. A spin without result halves the spin time, down
 * to SPIN_BUDGET_MIN_NS. */
enum { SPINS = 32, INTERRUPTED_NS = 100 * 1000, BACKOFF_NS = 20 * 1000 * 1000, SPIN_BUDGET_MIN_NS = 5 * 1000 };

static void spin_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The kernel compares the low half of the word, which comes first on the supported architectures. That suffices: if
 * two jobs differ in the high half only, a missed wake costs a helper, not the correctness of the job. */
static void futex_wait(_Atomic uintptr_t *word, uintptr_t expected) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, (uint32_t)expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uintptr_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- idle threads ---- */

static int is_called(const pool_worker *self, uint32_t seen) {
    return atomic_load_explicit(&self->word, memory_order_relaxed) != WORD_IDLE ||
           atomic_load_explicit(&self->pool->posts, memory_order_relaxed) != seen;
}

/* Whether this thread was preempted by the scheduler since the last call. Interrupts and hypervisors do not count:
 * sleeping would not help then. */
static int was_switched(pool_worker *self) {
    struct rusage usage;
    long before = self->switches;
    if (getrusage(RUSAGE_THREAD, &usage) == 0)
        self->switches = usage.ru_nivcsw;
    return self->switches != before;
}

/* Spins for work within the spin budget; returns 0 if there was none. */
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
    /* Only the first thread that spun in vain halves the budget. */
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
    /* Also after a retracted request: the next one may follow soon. */
    word = WORD_ASLEEP;
    atomic_compare_exchange_strong(&self->word, &word, WORD_IDLE);
}

/* ---- queued work ---- */

/* Runs a queued job or task. Returns 0 if the thread must end; *seen receives the value of posts for which the lists
 * were empty. */
static int take_queued_work(pool_worker *self, uint32_t posts, uint32_t *seen) {
    vy_cpu_pool *pool = self->pool;
    uintptr_t idle = WORD_IDLE;
    int is_closed = (int)atomic_load(&pool->is_closed);
    if (!is_closed && !atomic_load(&pool->waiting) && !atomic_load(&pool->listed_jobs)) {
        *seen = posts;
        return 1;
    }
    if (!atomic_compare_exchange_strong(&self->word, &idle, WORD_BUSY))
        return 1; /* its help was requested meanwhile; the lists are read later */
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
    uint32_t seen = atomic_load(&self->pool->posts) - 1; /* work may already be queued */
    int is_serving = 1;
    (void)vy_cancellation_disable();
    pthread_setname_np(pthread_self(), "vyre-cpu");
    while (is_serving) {
        uintptr_t word = atomic_load(&self->word);
        uint32_t posts = atomic_load(&self->pool->posts);
        if (word == WORD_ASLEEP) /* it was woken for a job that has ended */
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

/* Starts threads up to this number, or as many as possible. Requires the lock. */
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

/* Wakes a sleeping thread to read the lists; returns 0 if it does not sleep. */
static int worker_wake(pool_worker *worker) {
    uintptr_t word = WORD_ASLEEP;
    if (!atomic_compare_exchange_strong(&worker->word, &word, WORD_IDLE))
        return 0;
    futex_wake(&worker->word);
    return 1;
}

/* After a change of posts: makes sure that some thread reads the lists, if one is available. Requires the lock. */
static void pool_wake_one(vy_cpu_pool *pool) {
    uint32_t started = atomic_load(&pool->started);
    for (uint32_t i = 0; i < started; i++)
        if (atomic_load(&pool->workers[i].word) == WORD_IDLE)
            return; /* a spinning thread reads posts */
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

/* The least work that pays, in picoseconds. A spinning thread starts within a microsecond of a request, a sleeping
 * one within ten or many more. Work that ran without sleeping threads accumulates, if jobs follow closely, until it
 * justifies waking them. */
#define WORTH_AWAKE (UINT64_C(2500) * 1000)
#define WORTH_ASLEEP (UINT64_C(10) * 1000000)
#define ALONE_ASLEEP (UINT64_C(20) * 1000000)
#define BACKLOG_PS (UINT64_C(100) * 1000000)
#define BACKLOG_WINDOW_NS (UINT64_C(1000) * 1000)

/* Polls of a helping thread between two reads of the clock; the number of threads that each woken thread wakes. */
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

/* Whether a thread may take a range from a share of which [next, end) remains. A thread that has begun a share stays
 * until it is empty, so that no range is left over. */
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

/* ---- helping threads ---- */

/* Wakes some of the sleeping threads whose help was requested. Only while the caller participates in the job. */
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
    uintptr_t word = atomic_exchange(&self->word, WORD_IDLE); /* the job may be gone after this exchange */
    if (word & WORD_WAITED)
        futex_wake(&self->word);
}

/* Accepts the request in the thread's word, unless it was retracted. */
static void worker_accept(pool_worker *self, uintptr_t word) {
    vy_cpu_job *job = (vy_cpu_job *)(word & ~WORD_FLAGS);
    if (!job || !atomic_compare_exchange_strong(&self->word, &word, (uintptr_t)job | WORD_TAKEN))
        return;
    if (word & WORD_SLEPT)
        wake_more(self->pool, job);
    worker_help(self, job);
}

/* Finds a listed job that needs helpers and stores it in the word, which is BUSY. Requires the lock; worker_help
 * follows without it. */
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

/* Prefetches all words for writing: sequential cache misses would delay the requests. */
static void fetch_words(vy_cpu_pool *pool, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
#if defined(__x86_64__)
        __asm__ volatile("prefetchw %0" : : "m"(pool->workers[i].word));
#else
        __builtin_prefetch(&pool->workers[i].word, 1);
#endif
    }
}

/* Requests help from at most `most` threads in the state `from`. Returns the number of requests; *reach is beyond
 * all of these threads. */
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

/* Retracts a request that the thread has not accepted. */
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

/* Waits for a helping thread. It finishes soon, so this spins before it sleeps. */
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

/* Restores the full spin budget if jobs follow each other closely. */
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
        return; /* no help was requested */
    if (job->is_listed)
        unlist(pool, job);
    join_helpers(pool, job);
    if (pool->spin_ns)
        atomic_store_explicit(&pool->ended_ns, vy_clock_now(), memory_order_relaxed);
}

/* ---- thread count ---- */

/* Whether accumulated short jobs justify waking threads. */
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

/* ---- copying and clearing ---- */

/* One thread cannot saturate the memory bandwidth. A byte costs about 100 picoseconds. */
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

/* Requires the lock, which is released meanwhile. */
static void run_task(vy_cpu_pool *pool, vy_cpu_task *task) {
    atomic_fetch_sub(&pool->waiting, 1);
    pool->running++;
    if (pool->first)
        pool_wake_one(pool); /* the thread woken for this task is now busy, so another one is woken for the next task */
    pthread_mutex_unlock(&pool->lock);
    task->run(task);
    pthread_mutex_lock(&pool->lock);
    if (--pool->running == 0 && !pool->first)
        pthread_cond_broadcast(&pool->quiet);
}

/* Runs the first queued task and returns 1, or 0 if there is none. Requires the lock, which is released meanwhile. */
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

/* Requires the lock. */
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
