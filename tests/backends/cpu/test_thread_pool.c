/* The pool: every range is taken once, whoever helps; jobs inside jobs and beside each other end; tasks run and are
 * waited for. */
#include "support/test.h"

#include "backends/cpu/deadline_timer.h"
#include "backends/cpu/pool.h"
#include "base/thread.h"
#include "driver/dispatch.h"

#include <sched.h>
#include <unistd.h>

enum { MOST = 20000, SPIN = 50000 };

typedef struct counting {
    vy_cpu_job job;
    vy_cpu_pool *pool;
    _Atomic uint8_t *seen;
    _Atomic unsigned bodies;
    int depth;
} counting;

static void count(vy_cpu_job *job, vy_cpu_share_cursor *part);

static void run_inside(counting *outer) {
    _Atomic uint8_t seen[64] = {0};
    counting inner = {.job = {.body = count, .end = 64, .chunk = 3, .helpers = 3, .sleepers = 3},
                      .pool = outer->pool,
                      .seen = seen,
                      .depth = outer->depth - 1};
    vy_cpu_pool_run(outer->pool, &inner.job);
    for (int i = 0; i < 64; i++)
        if (seen[i] != 1)
            outer->seen[0] = 99;
}

static void count(vy_cpu_job *job, vy_cpu_share_cursor *part) {
    counting *c = (counting *)job;
    uint64_t first, end;
    atomic_fetch_add(&c->bodies, 1);
    while (vy_cpu_job_next_range(job, part, &first, &end)) {
        for (uint64_t i = first; i < end; i++)
            atomic_fetch_add(&c->seen[i], 1);
        if (c->depth && first % 7 == 0)
            run_inside(c);
    }
}

static void check_once(vy_cpu_pool *pool, uint64_t end, uint64_t chunk, unsigned helpers, int depth) {
    static _Thread_local _Atomic uint8_t seen[MOST + 1];
    memset((void *)seen, 0, sizeof seen);
    counting c = {.job = {.body = count,
                          .end = end,
                          .chunk = chunk,
                          .keep = (end + chunk) % 3 * chunk * 10,
                          .helpers = helpers,
                          .sleepers = helpers},
                  .pool = pool,
                  .seen = seen,
                  .depth = depth};
    vy_cpu_pool_run(pool, &c.job);
    assert_true(vy_cpu_job_is_exhausted(&c.job));
    for (uint64_t i = 0; i < end; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(seen[end], 0);
    assert_true(c.bodies >= 1 && c.bodies <= helpers + 1);
}

static void every_range_is_taken_once(void **state) {
    (void)state;
    vy_cpu_pool *pool = vy_cpu_pool_new(3, SPIN);
    for (unsigned helpers = 0; helpers < 6; helpers++)
        for (uint64_t chunk = 1; chunk < 3000; chunk = chunk * 5 + 1) {
            check_once(pool, MOST, chunk, helpers, 0);
            check_once(pool, 1, chunk, helpers, 0);
            check_once(pool, 0, chunk, helpers, 0);
        }
    assert_true(vy_cpu_pool_threads(pool) <= 3);
    vy_cpu_pool_close(pool);
}

static void takes(vy_cpu_job *job, vy_cpu_share_cursor *part, uint64_t wanted) {
    uint64_t first = 0, end = 0;
    assert_true(vy_cpu_job_next_range(job, part, &first, &end));
    assert_int_equal(first, wanted);
    assert_int_equal(end, wanted + 2);
}

static void takes_nothing(vy_cpu_job *job, vy_cpu_share_cursor *part) {
    uint64_t first, end;
    assert_false(vy_cpu_job_next_range(job, part, &first, &end));
}

static void little_of_a_share_is_left_to_those_who_have_begun_it(void **state) {
    (void)state;
    vy_cpu_job job = {.end = 30, .chunk = 2, .keep = 4, .share_count = 3};
    vy_cpu_share_cursor a = {.home = 0, .at = 0}, b = {.home = 1, .at = 1}, late = {.home = 0, .at = 0};
    for (unsigned i = 0; i < 3; i++) {
        atomic_init(&job.shares[i].next, 10 * i);
        job.shares[i].first = 10 * i;
        job.shares[i].end = 10 * i + 10;
    }
    takes(&job, &b, 10);
    for (uint64_t i = 0; i < 10; i += 2)
        takes(&job, &a, i);
    takes(&job, &a, 12);    /* there is more than that left */
    takes(&job, &a, 14);    /* and it stays */
    takes(&job, &late, 20); /* 4 of the second are left; the third nobody has begun */
    takes(&job, &b, 16);
    takes(&job, &a, 18);
    takes(&job, &a, 22);
    takes(&job, &b, 24);
    for (uint64_t i = 26; i < 30; i += 2)
        takes(&job, &late, i);
    assert_true(vy_cpu_job_is_exhausted(&job));
    takes_nothing(&job, &a);
    takes_nothing(&job, &b);
    takes_nothing(&job, &late);
}

static void no_thread_is_started_without_need(void **state) {
    (void)state;
    vy_cpu_pool *pool = vy_cpu_pool_new(4, SPIN);
    check_once(pool, 100, 1, 0, 0);
    check_once(pool, 100, 100, 4, 0);
    assert_int_equal(vy_cpu_pool_threads(pool), 0);
    vy_cpu_pool_close(pool);
}

static void jobs_inside_jobs_end(void **state) {
    (void)state;
    vy_cpu_pool *pool = vy_cpu_pool_new(2, SPIN);
    for (int i = 0; i < 20; i++)
        check_once(pool, 200, 2, 2, 2);
    vy_cpu_pool_close(pool);
}

static void run_many(void *user, unsigned worker) {
    for (unsigned i = 0; i < 50; i++)
        check_once(user, 500 + worker, 1 + i % 9, 3, i % 2);
}

static void jobs_beside_each_other_end(void **state) {
    (void)state;
    vy_cpu_pool *pool = vy_cpu_pool_new(3, SPIN);
    vy_parallel(4, run_many, pool);
    vy_cpu_pool_close(pool);
}

static void many_bytes_are_copied_and_cleared(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 1000, (5 << 20) + 17};
    vy_cpu_pool *pool = vy_cpu_pool_new(3, SPIN);
    char *from = malloc(sizes[3]), *to = malloc(sizes[3] + 1);
    for (size_t i = 0; i < sizes[3]; i++)
        from[i] = (char)(i * 31 + i / 255);
    for (size_t k = 0; k < 4; k++) {
        memset(to, 99, sizes[3] + 1);
        vy_cpu_pool_copy_or_clear(pool, to, from, sizes[k]);
        assert_memory_equal(to, from, sizes[k]);
        assert_int_equal(to[sizes[k]], 99);
        vy_cpu_pool_copy_or_clear(pool, to, NULL, sizes[k]);
        for (size_t i = 0; i < sizes[k]; i++)
            assert_int_equal(to[i], 0);
        assert_int_equal(to[sizes[k]], 99);
    }
    free(from);
    free(to);
    vy_cpu_pool_close(pool);
}

/* ---- tasks ---- */

typedef struct ticking {
    vy_cpu_task task;
    vy_cpu_pool *pool;
    _Atomic unsigned *ticks;
} ticking;

static void tick(vy_cpu_task *task) {
    ticking *t = (ticking *)task;
    check_once(t->pool, 300, 10, 2, 1);
    atomic_fetch_add(t->ticks, 1);
}

static void tasks_run_and_are_waited_for(void **state) {
    (void)state;
    enum { TASKS = 40 };
    for (unsigned helpers = 0; helpers < 3; helpers++) {
        vy_cpu_pool *pool = vy_cpu_pool_new(helpers, SPIN);
        _Atomic unsigned ticks = 0;
        ticking tasks[TASKS];
        for (int i = 0; i < TASKS; i++) {
            tasks[i] = (ticking){.task = {.run = tick}, .pool = pool, .ticks = &ticks};
            assert_true(vy_cpu_pool_submit(pool, &tasks[i].task));
        }
        vy_cpu_pool_wait(pool);
        assert_int_equal(ticks, TASKS);
        vy_cpu_pool_close(pool);
    }
}

static void tasks_in_line_can_be_pulled(void **state) {
    (void)state;
    enum { TASKS = 40 };
    vy_cpu_pool *pool = vy_cpu_pool_new(1, SPIN);
    _Atomic unsigned ticks = 0;
    ticking tasks[TASKS];
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (ticking){.task = {.run = tick}, .pool = pool, .ticks = &ticks};
        assert_true(vy_cpu_pool_submit(pool, &tasks[i].task));
    }
    for (int i = TASKS - 1; i >= 0; i -= 2) {
        vy_cpu_pool_run_queued(pool, &tasks[i].task);
        assert_int_equal(vy_cpu_pool_run_queued(pool, &tasks[i].task), 0);
    }
    vy_cpu_pool_wait(pool);
    assert_int_equal(ticks, TASKS);
    vy_cpu_pool_close(pool);
}

static void closing_ends_what_is_in_line(void **state) {
    (void)state;
    vy_cpu_pool *pool = vy_cpu_pool_new(1, SPIN);
    _Atomic unsigned ticks = 0;
    ticking tasks[10];
    for (int i = 0; i < 10; i++) {
        tasks[i] = (ticking){.task = {.run = tick}, .pool = pool, .ticks = &ticks};
        assert_true(vy_cpu_pool_submit(pool, &tasks[i].task));
    }
    vy_cpu_pool_close(pool);
    assert_int_equal(ticks, 10);
}

/* ---- alarms ---- */

static void alarms_ring_in_time(void **state) {
    (void)state;
    vy_cpu_deadline_timer alarms = {.first = NULL};
    _Atomic uint32_t words[3] = {0, 0, 7};
    uint64_t now = vy_clock_now();
    vy_cpu_deadline set[3] = {{.when_ns = now + 3600000000000u, .word = &words[0], .value = 1},
                              {.when_ns = now + 20000000, .word = &words[1], .value = 1},
                              {.when_ns = now + 10000000, .word = &words[2], .value = 1}};
    vy_cpu_deadline_timer_start(&alarms);
    for (int i = 0; i < 3; i++)
        assert_int_equal(vy_cpu_deadline_arm(&alarms, &set[i], NULL), VYRE_OK);
    while (!atomic_load(&words[1]))
        sched_yield();
    assert_true(vy_clock_now() - now >= 20000000);
    assert_int_equal(words[0], 0);
    assert_int_equal(words[2], 7);
    for (int i = 0; i < 3; i++)
        vy_cpu_deadline_disarm(&alarms, &set[i]);
    vy_cpu_deadline_timer_end(&alarms);
}

static void set_and_clear(void *user, unsigned worker) {
    for (int i = 0; i < 200; i++) {
        _Atomic uint32_t word = 0;
        vy_cpu_deadline alarm = {
            .when_ns = vy_clock_now() + (uint64_t)(i % 3) * 50000, .word = &word, .value = worker + 1};
        assert_int_equal(vy_cpu_deadline_arm(user, &alarm, NULL), VYRE_OK);
        if (i % 3 == 0)
            while (!atomic_load(&word))
                sched_yield();
        vy_cpu_deadline_disarm(user, &alarm);
    }
}

static void alarms_of_many_threads_are_kept_apart(void **state) {
    (void)state;
    vy_cpu_deadline_timer alarms = {.first = NULL};
    vy_cpu_deadline_timer_start(&alarms);
    vy_parallel(4, set_and_clear, &alarms);
    vy_cpu_deadline_timer_end(&alarms);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_range_is_taken_once),
        cmocka_unit_test(little_of_a_share_is_left_to_those_who_have_begun_it),
        cmocka_unit_test(no_thread_is_started_without_need),
        cmocka_unit_test(jobs_inside_jobs_end),
        cmocka_unit_test(jobs_beside_each_other_end),
        cmocka_unit_test(many_bytes_are_copied_and_cleared),
        cmocka_unit_test(tasks_run_and_are_waited_for),
        cmocka_unit_test(tasks_in_line_can_be_pulled),
        cmocka_unit_test(closing_ends_what_is_in_line),
        cmocka_unit_test(alarms_ring_in_time),
        cmocka_unit_test(alarms_of_many_threads_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
