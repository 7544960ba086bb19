/* Thread pool (thread_pool.h). Each thread holds a reference to the pool, because one of them may close it. */
#include "driver/thread_pool.h"

#include "base/memory.h"
#include "base/thread.h"

#include <pthread.h>

struct vy_thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    vy_thread_pool_job *first, *last;
    unsigned waiting, idle; /* queued jobs, idle threads */
    unsigned threads, references;
    int is_closed;
    pthread_t ids[VY_THREAD_POOL_MAX];
};

vy_thread_pool *vy_thread_pool_new(void) {
    vy_thread_pool *pool = vy_allocate_zero(sizeof *pool);
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->references = 1;
    return pool;
}

/* Releases the lock, which the caller holds, too. */
static void unreference(vy_thread_pool *pool) {
    unsigned left = --pool->references;
    pthread_mutex_unlock(&pool->lock);
    if (left)
        return;
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    vy_release(pool, sizeof *pool);
}

static void *run_worker(void *user) {
    vy_thread_pool *pool = user;
    (void)vy_cancellation_disable();
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->first && !pool->is_closed) {
            pool->idle++;
            pthread_cond_wait(&pool->work, &pool->lock);
            pool->idle--;
        }
        vy_thread_pool_job *job = pool->first;
        if (!job)
            break;
        pool->first = job->next;
        if (!pool->first)
            pool->last = NULL;
        pool->waiting--;
        pthread_mutex_unlock(&pool->lock);
        job->run(job);
        pthread_mutex_lock(&pool->lock);
    }
    unreference(pool);
    return NULL;
}

int vy_thread_pool_submit(vy_thread_pool *pool, vy_thread_pool_job *job) {
    pthread_mutex_lock(&pool->lock);
    if (pool->waiting >= pool->idle && pool->threads < VY_THREAD_POOL_MAX &&
        vy_thread_start(&pool->ids[pool->threads], run_worker, pool)) {
        pool->threads++;
        pool->references++;
    }
    int served = pool->threads != 0;
    if (served) {
        job->next = NULL;
        if (pool->last)
            pool->last->next = job;
        else
            pool->first = job;
        pool->last = job;
        pool->waiting++;
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    return served;
}

/* With the lock held. */
static int is_own_thread(const vy_thread_pool *pool) {
    for (unsigned i = 0; i < pool->threads; i++)
        if (pthread_equal(pool->ids[i], pthread_self()))
            return 1;
    return 0;
}

int vy_thread_pool_remove(vy_thread_pool *pool, vy_thread_pool_job *job) {
    vy_thread_pool_job **link = &pool->first, *before = NULL;
    pthread_mutex_lock(&pool->lock);
    int is_own = is_own_thread(pool);
    while (is_own && *link && *link != job) {
        before = *link;
        link = &before->next;
    }
    int is_taken = is_own && *link;
    if (is_taken) {
        *link = job->next;
        pool->last = *link ? pool->last : before;
        pool->waiting--;
    }
    pthread_mutex_unlock(&pool->lock);
    return is_taken;
}

void vy_thread_pool_close(vy_thread_pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->is_closed = 1;
    pthread_cond_broadcast(&pool->work);
    unsigned threads = pool->threads;
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_equal(pool->ids[i], pthread_self()))
            pthread_detach(pool->ids[i]);
        else
            pthread_join(pool->ids[i], NULL);
    }
    pthread_mutex_lock(&pool->lock);
    unreference(pool);
}
