/* Spans on many threads, while traces start, stop and processes fork. Meant for the thread sanitizer. */
#include "driver/registry/child.h"
#include "driver/trace_file.h"

#include "base/thread.h"
#include "driver/dispatch.h"
#include "driver/telemetry.h"
#include "vyre/telemetry.h"

enum { THREADS = 4, SPANS = 150, TRACES = 12 };

static char path[64];
static _Atomic int running;

static int set_up(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/vyre-trace-XXXXXX");
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int tear_down(void **state) {
    (void)state;
    vyre_trace_stop(NULL);
    return unlink(path);
}

static void one_dispatch(void) {
    vy_span outer = vy_span_begin();
    vy_span inner = vy_span_begin();
    vy_span_end(inner, launch, .backend = "fake");
    vy_span_end(outer, dispatch, .label = "on a thread");
}

static void do_spans(void *unused, unsigned worker) {
    (void)unused, (void)worker;
    for (int i = 0; i < SPANS; i++)
        one_dispatch();
}

/* Every thread of the file is named once, and spans nest on each. */
static size_t check_file(size_t *threads) {
    trace_event *events;
    size_t count;
    const char *wrong = trace_read(path, &events, &count);
    if (wrong)
        fail_msg("%s", wrong);
    assert_true(trace_nests(events, count));
    *threads = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(events[i].name, "thread_name") != 0)
            continue;
        ++*threads;
        for (size_t j = 0; j < i; j++)
            assert_false(strcmp(events[j].name, "thread_name") == 0 && events[j].thread == events[i].thread);
    }
    for (size_t i = 0; i < count; i++) {
        int is_named = events[i].kind == 'M';
        for (size_t j = 0; j < i && !is_named; j++)
            is_named = strcmp(events[j].name, "thread_name") == 0 && events[j].thread == events[i].thread;
        assert_true(is_named);
    }
    size_t dispatches = trace_count(events, count, "dispatch");
    free(events);
    return dispatches;
}

static void no_span_of_any_thread_is_lost(void **state) {
    (void)state;
    size_t threads;
    assert_int_equal(vyre_trace_start(path, NULL), VYRE_OK);
    vy_parallel(THREADS, do_spans, NULL);
    assert_int_equal(check_file(&threads), THREADS * SPANS); /* before the stop */
    assert_int_equal(threads, THREADS);
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    assert_int_equal(check_file(&threads), THREADS * SPANS);
}

/* On a busy machine a thread may run for long: its output meanwhile is bounded by the reader. */
enum { ENOUGH = TRACE_EVENTS / 4 };
static _Atomic int left;

static void one_dispatch_if_any_is_left(void) {
    if (left > 0) {
        left--;
        one_dispatch();
    } else {
        usleep(50);
    }
}

static void start_and_stop_or_spans(void *unused, unsigned worker) {
    (void)unused;
    size_t threads;
    if (worker > 0) {
        while (running)
            one_dispatch_if_any_is_left();
        return;
    }
    for (int i = 0; i < TRACES; i++) {
        left = ENOUGH;
        if (vyre_trace_start(path, NULL) != VYRE_OK)
            fail_msg("a trace does not start");
        usleep(300);
        if (vyre_trace_stop(NULL) != VYRE_OK)
            fail_msg("a trace does not stop");
        check_file(&threads);
    }
    running = 0;
}

static void traces_start_and_stop_while_threads_have_spans(void **state) {
    (void)state;
    running = 1;
    vy_parallel(THREADS, start_and_stop_or_spans, NULL);
}

static void child_spans(size_t unused) {
    (void)unused;
    CHILD_CLAIM(vy_span_begin().start == 0);
    do_spans(NULL, 0);
}

static void fork_or_spans(void *unused, unsigned worker) {
    (void)unused;
    if (worker > 0) {
        while (running) {
            one_dispatch_if_any_is_left();
            usleep(20);
        }
        return;
    }
    for (int i = 0; i < TRACES; i++)
        run_in_child(child_spans, 0);
    running = 0;
}

static void a_fork_while_threads_have_spans_leaves_no_lock_behind(void **state) {
    (void)state;
    if (VY_SANITIZED)
        VY_SKIP("a sanitizer's own threads and locks do not survive a fork from many threads");
    trace_event *events;
    size_t count;
    running = 1;
    left = ENOUGH;
    assert_int_equal(vyre_trace_start(path, NULL), VYRE_OK);
    vy_parallel(2, fork_or_spans, NULL);
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    const char *wrong = trace_read(path, &events, &count);
    if (wrong)
        fail_msg("%s", wrong);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(events[i].process, getpid());
    free(events);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_span_of_any_thread_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(traces_start_and_stop_while_threads_have_spans, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fork_while_threads_have_spans_leaves_no_lock_behind, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
