/* Tasks: in line until some thread has time for them (pool.h). */
#include "backends/cpu/pool_internal.h"

/* With the lock held, which is open meanwhile. */
static void run_task(vy_cpu_pool *pool, vy_cpu_task *task) {
    atomic_fetch_sub(&pool->waiting, 1);
    pool->running++;
    if (pool->first)
        vy_cpu_pool_wake_one(pool); /* who was called for this one is busy now: somebody else for the next */
    pthread_mutex_unlock(&pool->lock);
    task->run(task);
    pthread_mutex_lock(&pool->lock);
    if (--pool->running == 0 && !pool->first)
        pthread_cond_broadcast(&pool->quiet);
}

int vy_cpu_task_next(vy_cpu_pool *pool) {
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
    vy_cpu_pool_grow(pool, 1);
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
        vy_cpu_pool_wake_one(pool);
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
