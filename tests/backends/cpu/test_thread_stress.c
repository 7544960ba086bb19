/* The pool under load that changes all the time: many owners, jobs of all sizes, threads that sleep, look and are
 * busy. Every element of every job is done once, no job ends early, nobody hangs. Longer with VYRE_EFFORT. */
#include "support/test.h"

#include "backends/cpu/pool.h"
#include "base/thread.h"
#include "driver/dispatch.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { OWNERS = 5, JOBS = VY_SANITIZED ? 1000 : 3000, ELEMENTS = 300 };

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void pause_for(uint32_t microseconds) {
    struct timespec time = {.tv_nsec = (long)microseconds * 1000};
    nanosleep(&time, NULL);
}

/* ---- jobs ---- */

typedef struct summing {
    vy_cpu_job job;
    vy_cpu_pool *pool;
    uint32_t seed;
    unsigned depth;
    uint8_t seen[ELEMENTS]; /* plain: who does an element is alone with it, and the owner sees it afterwards */
    _Atomic unsigned bodies;
    _Atomic unsigned wrong;
} summing;

static unsigned run_one(vy_cpu_pool *pool, uint32_t seed, unsigned depth);

static void sum(vy_cpu_job *job, vy_cpu_share_cursor *part) {
    summing *s = (summing *)job;
    uint64_t first, end;
    atomic_fetch_add(&s->bodies, 1);
    while (vy_cpu_job_next_range(job, part, &first, &end)) {
        for (uint64_t i = first; i < end; i++)
            s->seen[i]++;
        uint32_t random = s->seed + (uint32_t)first * 2654435761u;
        random |= 1;
        if (next_random(&random) % 64 == 0)
            pause_for(random % 64);
        if (s->depth && next_random(&random) % 16 == 0)
            atomic_fetch_add(&s->wrong, run_one(s->pool, random, s->depth - 1));
    }
}

/* Returns how much was wrong. */
static unsigned run_one(vy_cpu_pool *pool, uint32_t seed, unsigned depth) {
    uint32_t random = seed | 1;
    summing s = {.pool = pool, .seed = seed, .depth = depth};
    s.job.body = sum;
    s.job.end = next_random(&random) % (ELEMENTS + 1);
    s.job.chunk = 1 + next_random(&random) % 40;
    s.job.keep = next_random(&random) % 80;
    s.job.helpers = next_random(&random) % 6;
    s.job.sleepers = next_random(&random) % 6;
    vy_cpu_pool_run(pool, &s.job);
    unsigned wrong = atomic_load(&s.wrong) + (atomic_load(&s.bodies) > s.job.helpers + 1);
    for (uint64_t i = 0; i < ELEMENTS; i++)
        wrong += s.seen[i] != (i < s.job.end);
    return wrong;
}

/* ---- tasks ---- */

typedef struct counting {
    vy_cpu_task task;
    vy_cpu_pool *pool;
    uint32_t seed;
    _Atomic unsigned *wrong;
    _Atomic unsigned *done;
} counting;

static void run_task(vy_cpu_task *task) {
    counting *c = (counting *)task;
    atomic_fetch_add(c->wrong, run_one(c->pool, c->seed, 1));
    atomic_fetch_add(c->done, 1);
}

/* ---- owners ---- */

typedef struct shared {
    vy_cpu_pool *pool;
    _Atomic unsigned wrong;
    unsigned rounds;
} shared;

static void start_tasks(shared *s, uint32_t *random) {
    enum { TASKS = 4 };
    counting tasks[TASKS];
    _Atomic unsigned done = 0;
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (counting){{.run = run_task}, s->pool, next_random(random), &s->wrong, &done};
        if (!vy_cpu_pool_submit(s->pool, &tasks[i].task))
            atomic_fetch_add(&s->wrong, 1);
    }
    for (int i = 0; i < TASKS; i++)
        vy_cpu_pool_run_queued(s->pool, &tasks[i].task);
    while (atomic_load(&done) < TASKS)
        pause_for(5);
}

static void own(void *user, unsigned worker) {
    shared *s = user;
    uint32_t random = 77777 * (worker + 1);
    for (unsigned i = 0; i < s->rounds; i++) {
        uint32_t what = next_random(&random) % 64;
        if (what == 0)
            pause_for(next_random(&random) % 500);
        else if (what == 1)
            start_tasks(s, &random);
        else
            atomic_fetch_add(&s->wrong, run_one(s->pool, next_random(&random), what % 8 == 0 ? 2 : 0));
    }
}

/* Somebody who was called in his sleep may still wake up afterwards, and sleep again: all asleep at once is what is
 * asked for. */
static void wait_for_sleep(vy_cpu_pool *pool) {
    uint64_t start = vy_clock_now();
    uint32_t awake;
    while ((awake = vy_cpu_pool_awake(pool)) && vy_clock_now() - start < UINT64_C(10000000000))
        pause_for(100);
    assert_int_equal(awake, 0);
}

static void stress(unsigned owners, unsigned helpers, uint64_t spin_ns, unsigned rounds) {
    shared s = {.pool = vy_cpu_pool_new(helpers, spin_ns), .rounds = rounds};
    assert_non_null(s.pool);
    vy_parallel(owners, own, &s);
    vy_cpu_pool_wait(s.pool);
    wait_for_sleep(s.pool); /* nobody is left behind, looking for ever */
    vy_cpu_pool_close(s.pool);
    assert_int_equal(s.wrong, 0);
}

static void jobs_are_done_once_by_threads_that_sleep_at_once(void **state) {
    (void)state;
    stress(OWNERS, 3, 0, JOBS * vy_test_effort() / 5);
    stress(1, 5, 0, JOBS * vy_test_effort() / 2);
}

static void jobs_are_done_once_by_threads_that_look_for_them(void **state) {
    (void)state;
    stress(OWNERS, 3, 20000, JOBS * vy_test_effort() / 5);
    stress(1, 1, 1000000, JOBS * vy_test_effort());
    stress(2, 2, 100000, JOBS * vy_test_effort() / 2);
}

static void pools_come_and_go(void **state) {
    (void)state;
    for (unsigned i = 0; i < 60 * vy_test_effort(); i++)
        stress(1 + i % 3, i % 5, i % 2 * 30000, i % 7);
}

/* ---- sleep ---- */

static void threads_without_work_sleep(void **state) {
    (void)state;
    for (uint64_t spin_ns = 0; spin_ns < 1000000; spin_ns += 400000) {
        vy_cpu_pool *pool = vy_cpu_pool_new(3, spin_ns);
        for (uint32_t i = 0; i < 20; i++) {
            assert_int_equal(run_one(pool, i * 31, 0), 0);
            if (i % 5 == 0)
                wait_for_sleep(pool);
        }
        wait_for_sleep(pool);
        vy_cpu_pool_close(pool);
    }
}

static void do_little(vy_cpu_job *job, vy_cpu_share_cursor *part) {
    uint64_t first, end;
    while (vy_cpu_job_next_range(job, part, &first, &end))
        for (uint64_t i = 0; i < 20 * end; i++)
            __asm__ volatile("");
}

/* Jobs end about when those who were asked in their sleep wake up, or a little earlier or later. */
static void threads_that_wake_too_late_sleep_again(void **state) {
    (void)state;
    vy_cpu_job job;
    for (uint64_t spin_ns = 0; spin_ns < 20000; spin_ns += 10000) {
        vy_cpu_pool *pool = vy_cpu_pool_new(3, spin_ns);
        for (unsigned i = 0; i < 500 * vy_test_effort(); i++) {
            job.body = do_little;
            job.end = 4 + i % 700;
            job.chunk = 1;
            job.keep = i % 5;
            job.helpers = job.sleepers = 3;
            vy_cpu_pool_run(pool, &job);
            if (i % 4 == 0)
                pause_for(i % 100);
        }
        wait_for_sleep(pool);
        vy_cpu_pool_close(pool);
    }
}

typedef struct ticking {
    vy_cpu_task task;
    _Atomic unsigned *ticks;
} ticking;

static void tick(vy_cpu_task *task) {
    atomic_fetch_add(((ticking *)task)->ticks, 1);
}

/* Rounds of two: one asks the thread that sleeps for help it is too late for, while the other starts a task for it. */
typedef struct rounds {
    vy_cpu_pool *pool;
    _Atomic unsigned arrived, ticks;
} rounds;

static void meet(rounds *r, unsigned round) {
    atomic_fetch_add(&r->arrived, 1);
    while (atomic_load(&r->arrived) < 2 * round)
        sched_yield();
}

static void start_or_ask(void *user, unsigned worker) {
    rounds *r = user;
    vy_cpu_job job;
    for (unsigned i = 0; i < 150 * vy_test_effort(); i++) {
        ticking t = {{.run = tick}, &r->ticks};
        job.body = do_little;
        job.end = 2 + i % 37;
        job.chunk = 1;
        job.keep = 0;
        job.helpers = job.sleepers = 1;
        meet(r, 2 * i + 1);
        if (worker)
            vy_cpu_pool_run(r->pool, &job);
        else {
            for (unsigned k = 0; k < i * 7 % 300; k++)
                __asm__ volatile("");
            assert_true(vy_cpu_pool_submit(r->pool, &t.task));
            vy_cpu_pool_wait(r->pool);
            assert_int_equal(r->ticks, i + 1);
        }
        meet(r, 2 * i + 2);
        if (worker)
            wait_for_sleep(r->pool);
    }
}

static void tasks_are_not_forgotten_for_jobs_that_are_over(void **state) {
    (void)state;
    rounds r = {.pool = vy_cpu_pool_new(1, 0)};
    vy_parallel(2, start_or_ask, &r);
    vy_cpu_pool_close(r.pool);
}

static void close_jobs_do_not_wake_who_sleeps_before_it_is_worth_it(void **state) {
    (void)state;
    vy_cpu_job job;
    vy_cpu_pool *pool = vy_cpu_pool_new(4, 100000);
    const uint64_t us = 1000000;
    uint64_t now = vy_clock_now();
    vy_cpu_pool_plan_helpers(pool, &job, 2 * us, 4, now);
    assert_int_equal(job.helpers, 0);
    vy_cpu_pool_plan_helpers(pool, &job, 25 * us, 4, now);
    assert_int_equal(job.sleepers, 2);
    vy_cpu_pool_plan_helpers(pool, &job, 1000 * us, 3, now);
    assert_int_equal(job.helpers, 3);
    assert_int_equal(job.sleepers, 3);
    unsigned short_ones = 0; /* none of them is worth it, but several are */
    do {
        vy_cpu_pool_plan_helpers(pool, &job, 15 * us, 4, now += 16000);
        short_ones++;
    } while (!job.sleepers && short_ones < 100);
    assert_in_range(short_ones, 5, 10);
    for (int i = 0; i < 100; i++) { /* far between they are not */
        vy_cpu_pool_plan_helpers(pool, &job, 15 * us, 4, now += 2000000);
        assert_int_equal(job.helpers, 0);
    }
    vy_cpu_pool_close(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_done_once_by_threads_that_sleep_at_once),
        cmocka_unit_test(jobs_are_done_once_by_threads_that_look_for_them),
        cmocka_unit_test(pools_come_and_go),
        cmocka_unit_test(threads_without_work_sleep),
        cmocka_unit_test(threads_that_wake_too_late_sleep_again),
        cmocka_unit_test(tasks_are_not_forgotten_for_jobs_that_are_over),
        cmocka_unit_test(close_jobs_do_not_wake_who_sleeps_before_it_is_worth_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
