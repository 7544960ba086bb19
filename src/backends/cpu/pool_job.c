/* Jobs: whom to ask for help, who takes which ranges, and when all of it has ended (pool.h, pool_internal.h). */
#include "backends/cpu/pool_internal.h"

#include "driver/dispatch.h"

#include <string.h>

/* What it takes to be worth it, in picoseconds. A thread that looks for work begins within a microsecond of being asked, one that sleeps within ten or many
 * more. Work that did without the latter adds up to what it costs to wake them, when it comes closely enough. */
#define WORTH_AWAKE (UINT64_C(2500) * 1000)
#define WORTH_ASLEEP (UINT64_C(10) * 1000000)
#define ALONE_ASLEEP (UINT64_C(20) * 1000000)
#define BACKLOG_PS (UINT64_C(100) * 1000000)
#define BACKLOG_WINDOW_NS (UINT64_C(1000) * 1000)

/* How often an owner looks again at a thread that helps before it looks at the clock; how many threads one that was woken wakes in turn. */
enum { SPINS = 32, WAKES = 2 };

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

/* Whether a thread is to take of a share, of which [next, end) is left. Who has begun one stays until nothing is left, so that nothing is that everybody leaves to
 * the others. */
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
        vy_cpu_worker *worker = &pool->workers[at];
        if (atomic_load_explicit(&worker->word, memory_order_relaxed) == ((uintptr_t)job | WORD_SLEPT)) {
            vy_cpu_futex_wake(&worker->word);
            left--;
        }
    }
}

void vy_cpu_worker_help(vy_cpu_worker *self, vy_cpu_job *job) {
    run_part(job, self->index + 1);
    uintptr_t word = atomic_exchange(&self->word, WORD_IDLE); /* from here on there may be no job */
    if (word & WORD_WAITED)
        vy_cpu_futex_wake(&self->word);
}

void vy_cpu_worker_accept(vy_cpu_worker *self, uintptr_t word) {
    vy_cpu_job *job = (vy_cpu_job *)(word & ~WORD_FLAGS);
    if (!job || !atomic_compare_exchange_strong(&self->word, &word, (uintptr_t)job | WORD_TAKEN))
        return;
    if (word & WORD_SLEPT)
        wake_more(self->pool, job);
    vy_cpu_worker_help(self, job);
}

vy_cpu_job *vy_cpu_worker_join(vy_cpu_worker *self) {
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

/* Lines are fetched all at once, to be written: one after the other they would take as long as the threads look away. */
static void fetch_words(vy_cpu_pool *pool, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
#if defined(__x86_64__)
        __asm__ volatile("prefetchw %0" : : "m"(pool->workers[i].word));
#else
        __builtin_prefetch(&pool->workers[i].word, 1);
#endif
    }
}

/* Asks at most so many of the threads that are in the state `from`. Returns how many it asked; *reach is beyond all of them. */
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
        vy_cpu_pool_grow(pool, sleepers);
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
static void retract_request(vy_cpu_pool *pool, vy_cpu_worker *worker, const vy_cpu_job *job) {
    uintptr_t word = atomic_load(&worker->word);
    while (word_names_job(word, job) && !(word & WORD_TAKEN)) {
        if (!atomic_compare_exchange_strong(&worker->word, &word, word & WORD_SLEPT))
            continue;
        if ((word & WORD_SLEPT) && (atomic_load(&pool->waiting) || atomic_load(&pool->listed_jobs)))
            vy_cpu_worker_wake(worker);
        return;
    }
}

/* Waits for a thread that helps: it ends about now, and looking again is shorter than sleeping. */
static void wait_for_worker(vy_cpu_pool *pool, vy_cpu_worker *worker, const vy_cpu_job *job) {
    uint64_t start = 0, now = 0;
    uintptr_t word = atomic_load(&worker->word);
    while (pool->spin_ns && word_names_job(word, job) && (!start || now - start < pool->spin_ns)) {
        for (int i = 0; i < SPINS && word_names_job(word, job); i++) {
            vy_cpu_pause();
            word = atomic_load(&worker->word);
        }
        now = vy_clock_now();
        start = start ? start : now;
    }
    while (word_names_job(word, job)) {
        if ((word & WORD_WAITED) || atomic_compare_exchange_strong(&worker->word, &word, word | WORD_WAITED)) {
            vy_cpu_futex_wait(&worker->word, word | WORD_WAITED);
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
