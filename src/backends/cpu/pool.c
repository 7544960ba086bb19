/* The threads: how they are started, look for work, sleep and end (pool.h, pool_internal.h). */
#include "backends/cpu/pool_internal.h"

#include "base/memory.h"
#include "base/thread.h"
#include "driver/dispatch.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Looks between two looks at the clock, some microseconds; a look that took much longer because the system gave the processor to somebody who needs it is
 * the last for a while: the thread sleeps at once. Threads that looked for nothing look half as long the next time, but not below the least. */
enum { SPINS = 32, INTERRUPTED_NS = 100 * 1000, BACKOFF_NS = 20 * 1000 * 1000, SPIN_BUDGET_MIN_NS = 5 * 1000 };

void vy_cpu_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The kernel compares the low half of the word, which is the first on the architectures there is code for. That is enough: a wake that is missed because two
 * jobs differ in the high half only costs a helper, not the job. */
void vy_cpu_futex_wait(_Atomic uintptr_t *word, uintptr_t expected) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, (uint32_t)expected, NULL, NULL, 0);
}

void vy_cpu_futex_wake(_Atomic uintptr_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- without work ---- */

static int is_called(const vy_cpu_worker *self, uint32_t seen) {
    return atomic_load_explicit(&self->word, memory_order_relaxed) != WORD_IDLE ||
           atomic_load_explicit(&self->pool->posts, memory_order_relaxed) != seen;
}

/* Whether the system took the processor away from this thread since it was asked last. Not what an interrupt or a hypervisor took: nobody gains if one sleeps then. */
static int was_switched(vy_cpu_worker *self) {
    struct rusage usage;
    long before = self->switches;
    if (getrusage(RUSAGE_THREAD, &usage) == 0)
        self->switches = usage.ru_nivcsw;
    return self->switches != before;
}

/* Looks for work as long as it is worth it; returns 0 if there was none. */
static int spin_for_work(vy_cpu_worker *self, uint32_t seen) {
    vy_cpu_pool *pool = self->pool;
    uint64_t spin_budget = atomic_load_explicit(&pool->spin_budget_ns, memory_order_relaxed);
    uint64_t start = spin_budget ? vy_clock_now() : 0, now = start;
    if (!spin_budget || start < self->backoff_until_ns)
        return is_called(self, seen);
    while (now - start < spin_budget) {
        for (int i = 0; i < SPINS; i++) {
            if (is_called(self, seen))
                return 1;
            vy_cpu_pause();
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

static void sleep_until_called(vy_cpu_worker *self, uint32_t seen) {
    vy_cpu_pool *pool = self->pool;
    uintptr_t word = WORD_IDLE;
    if (!atomic_compare_exchange_strong(&self->word, &word, WORD_ASLEEP))
        return;
    atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_relaxed);
    if (atomic_load(&pool->posts) == seen)
        vy_cpu_futex_wait(&self->word, WORD_ASLEEP);
    atomic_fetch_add_explicit(&pool->awake, 1, memory_order_relaxed);
    /* Also if it was called and then was not needed any more: the next one may come soon. */
    word = WORD_ASLEEP;
    atomic_compare_exchange_strong(&self->word, &word, WORD_IDLE);
}

/* ---- with work ---- */

/* Takes something from the lists. Returns 0 if the thread is to end; *seen is what it has seen of posts if there was nothing. */
static int take_queued_work(vy_cpu_worker *self, uint32_t posts, uint32_t *seen) {
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
    vy_cpu_job *job = vy_cpu_worker_join(self);
    int did_something = job || vy_cpu_task_next(pool);
    pthread_mutex_unlock(&pool->lock);
    if (job)
        vy_cpu_worker_help(self, job);
    else
        atomic_store(&self->word, WORD_IDLE);
    if (!did_something)
        *seen = posts;
    return did_something || !is_closed;
}

static void *worker_thread(void *user) {
    vy_cpu_worker *self = user;
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
            vy_cpu_worker_accept(self, word);
        else if (posts != seen)
            is_serving = take_queued_work(self, posts, &seen);
        else if (!spin_for_work(self, seen))
            sleep_until_called(self, seen);
    }
    return NULL;
}

void vy_cpu_pool_grow(vy_cpu_pool *pool, unsigned threads) {
    uint32_t started = atomic_load(&pool->started);
    if (atomic_load(&pool->is_closed))
        return;
    for (; started < threads; started++) {
        vy_cpu_worker *worker = &pool->workers[started];
        atomic_fetch_add_explicit(&pool->awake, 1, memory_order_relaxed);
        if (!vy_thread_start(&worker->id, worker_thread, worker)) {
            atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_relaxed);
            break;
        }
        atomic_store(&pool->started, started + 1);
    }
}

int vy_cpu_worker_wake(vy_cpu_worker *worker) {
    uintptr_t word = WORD_ASLEEP;
    if (!atomic_compare_exchange_strong(&worker->word, &word, WORD_IDLE))
        return 0;
    vy_cpu_futex_wake(&worker->word);
    return 1;
}

void vy_cpu_pool_wake_one(vy_cpu_pool *pool) {
    uint32_t started = atomic_load(&pool->started);
    for (uint32_t i = 0; i < started; i++)
        if (atomic_load(&pool->workers[i].word) == WORD_IDLE)
            return; /* it looks by itself */
    for (uint32_t i = 0; i < started; i++)
        if (vy_cpu_worker_wake(&pool->workers[i]))
            return;
    if (started < pool->most)
        vy_cpu_pool_grow(pool, started + 1);
}

/* ---- the pool ---- */

static void *align_up(void *memory) {
    uintptr_t line = alignof(vy_cpu_pool);
    return (void *)(((uintptr_t)memory + line - 1) / line * line);
}

vy_cpu_pool *vy_cpu_pool_new(unsigned helpers, uint64_t spin_ns) {
    unsigned most = helpers ? helpers : 1;
    size_t size = alignof(vy_cpu_pool) + sizeof(vy_cpu_pool) + most * sizeof(vy_cpu_worker);
    void *memory = vy_allocate_zero(size);
    if (!memory)
        return NULL;
    vy_cpu_pool *pool = align_up(memory);
    pool->memory = memory;
    pool->size = size;
    pool->workers = (vy_cpu_worker *)(pool + 1);
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
        vy_cpu_worker_wake(&pool->workers[i]);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(pool->workers[i].id, NULL);
    pthread_cond_destroy(&pool->quiet);
    pthread_mutex_destroy(&pool->lock);
    vy_release(pool->memory, pool->size);
}
