/* The trace file: the events of spans, however the process ends, whatever the labels contain, and when the disk is
 * full. */
#include "driver/fake.h"
#include "driver/registry/child.h"
#include "driver/trace_file.h"
#include "support/fault.h"

#include "driver/dispatch.h"
#include "driver/telemetry.h"
#include "vyre/telemetry.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char folder[64], path[96];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-trace-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/trace.json", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    vyre_trace_stop(NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void start(void) {
    vyre_error error;
    if (vyre_trace_start(path, &error) != VYRE_OK)
        fail_msg("%s", error.message);
}

static trace_event *read_back(size_t *count) {
    trace_event *events;
    const char *wrong = trace_read(path, &events, count);
    if (wrong)
        fail_msg("%s: %s", path, wrong);
    return events;
}

static void one_dispatch(const char *label) {
    vy_span outer = vy_span_begin();
    vy_span first = vy_span_begin();
    vy_span_end(first, resolve);
    vy_span second = vy_span_begin();
    vy_span_end(second, launch, .backend = "fake", .bytes = 12, .count = 3);
    vy_span_end(outer, dispatch, .label = label, .program = "p", .status = VYRE_TRAPPED);
}

/* ---- contents of the file ---- */

static void spans_are_events_that_nest(void **state) {
    (void)state;
    size_t count;
    start();
    one_dispatch("hello");
    one_dispatch(NULL);
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    trace_event *events = read_back(&count);
    assert_int_equal(count, 2 + 6); /* the process's name, the thread's name */
    assert_true(trace_nests(events, count));
    assert_string_equal(events[0].name, "process_name");
    assert_string_equal(events[1].name, "thread_name");
    assert_string_equal(events[2].name, "resolve");
    assert_string_equal(events[2].args, "{}");
    assert_string_equal(events[3].args, "{\"backend\":\"fake\",\"bytes\":12,\"count\":3}");
    assert_string_equal(events[4].name, "dispatch");
    assert_string_equal(events[4].args, "{\"label\":\"hello\",\"program\":\"p\",\"status\":\"TRAPPED\"}");
    assert_string_equal(events[7].args, "{\"program\":\"p\",\"status\":\"TRAPPED\"}");
    assert_true(events[2].start >= events[4].start);
    assert_true(events[4].start + events[4].took <= events[7].start);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(events[i].process, getpid());
        assert_int_equal(events[i].thread, gettid());
    }
    free(events);
}

static void times_are_of_the_monotonic_clock_in_microseconds(void **state) {
    (void)state;
    size_t count;
    uint64_t before = vy_clock_now();
    start();
    vy_span span = vy_span_begin();
    usleep(2000);
    vy_span_end(span, wait);
    vyre_trace_stop(NULL);
    double after = (double)vy_clock_now() / 1e3;
    trace_event *events = read_back(&count);
    assert_true(events[2].start >= (double)before / 1e3 && events[2].start + events[2].took <= after);
    assert_true(events[2].took >= 2000);
    free(events);
}

static void labels_are_escaped_and_cut(void **state) {
    (void)state;
    char every[256], longest[1000];
    size_t count;
    for (int i = 0; i < 255; i++)
        every[i] = (char)(i + 1);
    every[255] = 0;
    memset(longest, 1, sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    start();
    for (int i = 0; i < 255; i += 50)
        one_dispatch(every + i);
    for (int i = 0; i < 40; i++) { /* the longest there can be, until the buffer is full */
        vy_span span = vy_span_begin(), inner = vy_span_begin();
        vy_span_end(inner, cache, .label = longest, .program = longest, .backend = longest, .bytes = UINT64_MAX,
                    .count = UINT64_MAX, .status = VYRE_NO_DEVICE_MEMORY);
        vy_span_end(span, dispatch);
    }
    memset(longest, 'a', 119);
    memcpy(longest + 119, "\xc3\xa4", 3); /* the cut is in the middle of it */
    one_dispatch(longest);
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    trace_event *events = read_back(&count);
    assert_int_equal(trace_count(events, count, "dispatch"), 6 + 40 + 1);
    assert_non_null(strstr(events[4].args, "\\u0001\\u0002"));
    assert_non_null(strstr(events[4].args, "\\n"));
    assert_null(strstr(events[count - 1].args, "\xef\xbf\xbd"));
    free(events);
}

static void python_reads_it_too(void **state) {
    (void)state;
    char command[300];
    if (system("python3 -c 'import json' 2>/dev/null") != 0)
        VY_SKIP("python3 is not here");
    start();
    one_dispatch("\"\\\t\x7f\xff ä");
    one_dispatch("b");
    snprintf(command, sizeof command,
             "python3 -c 'import json, sys; l = json.load(open(sys.argv[1])); sys.exit(len(l) != 8 or "
             "l[4][\"args\"][\"label\"] != \"\\\"\\\\\\t\\x7f\\ufffd \\xe4\")' '%s'",
             path);
    assert_int_equal(system(command), 0);
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    assert_int_equal(system(command), 0);
}

static void transfers_of_resident_buffers_are_spans(void **state) {
    (void)state;
    static const char data[64] = {1};
    static char back[64];
    vyre_resident resident;
    size_t count;
    vyre_backend *backend;
    assert_int_equal(vyre_acquire("reference", &backend, NULL), VYRE_OK);
    start();
    assert_int_equal(vyre_resident_allocate(backend, 64, data, &resident, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_upload_at(backend, resident, 8, data, 16, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_download_at(backend, resident, 0, back, 32, NULL), VYRE_OK);
    vyre_transfer both[2] = {{resident, 0, 8, back}, {resident, 8, 8, back + 8}};
    assert_int_equal(vyre_resident_download_batch(backend, both, 2, NULL), VYRE_OK);
    vyre_trace_stop(NULL);
    trace_event *events = read_back(&count);
    assert_int_equal(trace_count(events, count, "upload"), 2);
    assert_true(trace_count(events, count, "download") >= 2);
    assert_string_equal(events[2].args, "{\"backend\":\"reference\",\"bytes\":64}");
    assert_string_equal(events[3].args, "{\"backend\":\"reference\",\"bytes\":16}");
    assert_string_equal(events[4].args, "{\"backend\":\"reference\",\"bytes\":32}");
    free(events);
    vyre_resident_free(backend, resident, NULL);
    vyre_backend_release(backend);
}

/* ---- on and off ---- */

static int evaluated;
static uint64_t evaluate(void) {
    evaluated++;
    return 1;
}

static void off_costs_nothing_visible(void **state) {
    (void)state;
    vyre_trace_stop(NULL);
    evaluated = 0;
    vy_span span = vy_span_begin();
    vy_span_end(span, dispatch, .bytes = evaluate());
    assert_int_equal(span.start, 0);
    assert_int_equal(evaluated, 0);
    start();
    span = vy_span_begin();
    vy_span_end(span, dispatch, .bytes = evaluate());
    assert_int_equal(evaluated, 1);
    vyre_trace_stop(NULL);
    assert_int_equal(access(path, R_OK), 0);
}

static void spans_across_a_start_or_stop_are_left_out(void **state) {
    (void)state;
    size_t count;
    vyre_trace_stop(NULL);
    vy_span early = vy_span_begin();
    start();
    vy_span_end(early, dispatch);
    one_dispatch("in it");
    vy_span late = vy_span_begin();
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    vy_span_end(late, wait);
    trace_event *events = read_back(&count);
    assert_int_equal(trace_count(events, count, "dispatch"), 1);
    assert_int_equal(trace_count(events, count, "wait"), 0);
    free(events);
}

static void a_span_that_was_not_ended_does_not_hold_back_the_others(void **state) {
    (void)state;
    size_t count;
    start();
    vy_span outer = vy_span_begin();
    (void)vy_span_begin();
    vy_span_end(outer, dispatch);
    one_dispatch("");
    trace_event *events = read_back(&count); /* without a stop */
    assert_int_equal(trace_count(events, count, "dispatch"), 2);
    free(events);
    vyre_trace_stop(NULL);
}

static void one_trace_at_a_time(void **state) {
    (void)state;
    vyre_error error;
    size_t count;
    start();
    one_dispatch("before");
    assert_int_equal(vyre_trace_start("/nonexistent/other", &error), VYRE_CONFLICT);
    assert_non_null(strstr(error.message, path));
    one_dispatch("after");
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    trace_event *events = read_back(&count);
    assert_int_equal(trace_count(events, count, "dispatch"), 2);
    free(events);
    assert_int_equal(vyre_trace_stop(&error), VYRE_OK); /* none is there */
    start();                                            /* replaces the file */
    vyre_trace_stop(NULL);
    events = read_back(&count);
    assert_int_equal(count, 1);
    free(events);
}

static void a_path_that_cannot_be_written_is_an_error(void **state) {
    (void)state;
    vyre_error error;
    vyre_trace_stop(NULL);
    assert_int_equal(vyre_trace_start(NULL, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_trace_start("", &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_trace_start("/nonexistent/folder/file", &error), VYRE_NOT_FOUND);
    assert_string_equal(error.where, "/nonexistent/folder/file");
    assert_int_equal(vyre_trace_start(folder, &error), VYRE_IO);
    assert_true(strlen(error.fix) > 0);
    assert_int_equal(vyre_trace_start("/dev/full", &error), VYRE_IO);
    assert_non_null(strstr(error.message, "No space left"));
    assert_int_equal(vy_span_begin().start, 0);
    assert_int_equal(vyre_trace_start("/dev/null", &error), VYRE_OK);
    one_dispatch("");
    assert_int_equal(vyre_trace_stop(&error), VYRE_OK);
}

/* ---- the environment ---- */

static _Atomic int lines;
static char line[600];
static void count_lines(void *user, int level, const char *source, const char *message) {
    (void)user, (void)level;
    lines++;
    snprintf(line, sizeof line, "%s: %s", source, message);
}

static void forget(void) {
    vyre_trace_stop(NULL);
    atomic_store(&vy_trace_state, VY_TRACE_UNKNOWN);
}

static void the_environment_starts_it_at_the_first_span(void **state) {
    (void)state;
    size_t count;
    forget();
    setenv("VYRE_TRACE", path, 1);
    one_dispatch("found");
    trace_event *events = read_back(&count);
    assert_int_equal(trace_count(events, count, "dispatch"), 1);
    free(events);
    unsetenv("VYRE_TRACE");
    vyre_trace_stop(NULL);
}

static void without_the_variable_nothing_is_written(void **state) {
    (void)state;
    forget();
    unsetenv("VYRE_TRACE");
    one_dispatch("");
    assert_int_equal(atomic_load(&vy_trace_state), VY_TRACE_OFF);
    setenv("VYRE_TRACE", "", 1);
    forget();
    one_dispatch("");
    assert_int_equal(atomic_load(&vy_trace_state), VY_TRACE_OFF);
    unsetenv("VYRE_TRACE");
}

static void a_variable_that_names_no_place_is_one_line_of_the_log(void **state) {
    (void)state;
    forget();
    lines = 0;
    vyre_log_set_sink(count_lines, NULL);
    setenv("VYRE_TRACE", "/nonexistent/folder/trace", 1);
    one_dispatch("");
    one_dispatch("");
    vyre_log_set_sink(NULL, NULL);
    unsetenv("VYRE_TRACE");
    assert_int_equal(lines, 1);
    assert_non_null(strstr(line, "trace: the trace file `/nonexistent/folder/trace`"));
}

static void an_explicit_start_wins_over_the_variable(void **state) {
    (void)state;
    size_t count;
    forget();
    setenv("VYRE_TRACE", "/nonexistent/folder/trace", 1);
    start();
    one_dispatch("");
    vyre_trace_stop(NULL);
    one_dispatch("not traced");
    unsetenv("VYRE_TRACE");
    trace_event *events = read_back(&count);
    assert_int_equal(trace_count(events, count, "dispatch"), 1);
    free(events);
}

/* ---- how processes end ---- */

static void ends_without_stop(size_t how) {
    CHILD_CLAIM(vyre_trace_start(path, NULL) == VYRE_OK);
    for (int i = 0; i < 500; i++)
        one_dispatch("work");
    vy_span unfinished = vy_span_begin();
    (void)unfinished;
    if (how)
        kill(getpid(), SIGKILL);
}

static void a_process_that_just_ends_leaves_a_whole_file(void **state) {
    (void)state;
    size_t count;
    vyre_trace_stop(NULL);
    run_in_child(ends_without_stop, 0);
    trace_event *events = read_back(&count);
    assert_int_equal(trace_count(events, count, "dispatch"), 500);
    free(events);
}

static void a_killed_process_leaves_a_whole_file(void **state) {
    (void)state;
    size_t count;
    int status;
    vyre_trace_stop(NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        ends_without_stop(1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    trace_event *events = read_back(&count);
    assert_int_equal(trace_count(events, count, "dispatch"), 500);
    free(events);
}

static void fork_and_trace(size_t unused) {
    (void)unused;
    one_dispatch("not the parent's");
    CHILD_CLAIM(vy_span_begin().start == 0);
    char other[128];
    snprintf(other, sizeof other, "%s/child.json", folder);
    CHILD_CLAIM(vyre_trace_start(other, NULL) == VYRE_OK);
    one_dispatch("its own");
    CHILD_CLAIM(vyre_trace_stop(NULL) == VYRE_OK);
}

static void a_forked_child_does_not_write_to_its_parents_file(void **state) {
    (void)state;
    size_t count;
    char other[128];
    trace_event *events;
    start();
    one_dispatch("before");
    vy_span open = vy_span_begin(), inner = vy_span_begin();
    vy_span_end(inner, resolve); /* in the buffer while it is copied */
    run_in_child(fork_and_trace, 0);
    vy_span_end(open, dispatch);
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    events = read_back(&count);
    assert_int_equal(trace_count(events, count, "dispatch"), 2);
    assert_int_equal(trace_count(events, count, "resolve"), 2);
    free(events);
    snprintf(other, sizeof other, "%s/child.json", folder);
    assert_null(trace_read(other, &events, &count));
    assert_int_equal(trace_count(events, count, "dispatch"), 1);
    assert_int_not_equal(events[0].process, getpid());
    free(events);
}

static void take_the_same_file(size_t unused) {
    (void)unused;
    vyre_error error;
    CHILD_CLAIM(vyre_trace_start(path, &error) == VYRE_CONFLICT);
    CHILD_CLAIM(strstr(error.message, "another process"));
}

static void two_processes_do_not_write_one_file(void **state) {
    (void)state;
    size_t count;
    start();
    one_dispatch("");
    run_in_child(take_the_same_file, 0);
    vyre_trace_stop(NULL);
    free(read_back(&count));
    assert_int_equal(count, 5);
}

/* ---- no room ---- */

static void fill_disk(size_t limit) {
    struct rlimit most = {limit, limit};
    vyre_error error;
    vyre_log_set_sink(count_lines, NULL);
    lines = 0;
    CHILD_CLAIM(vyre_trace_start(path, NULL) == VYRE_OK);
    CHILD_CLAIM(setrlimit(RLIMIT_FSIZE, &most) == 0);
    for (int i = 0; i < 400; i++)
        one_dispatch("a label to fill the disk with");
    CHILD_CLAIM(lines == 1);
    CHILD_CLAIM(strstr(line, "trace: the trace file `") && strstr(line, "File too large"));
    CHILD_CLAIM(vy_span_begin().start == 0);
    sigset_t pending;
    CHILD_CLAIM(sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ));
    CHILD_CLAIM(vyre_trace_stop(&error) == VYRE_IO && strstr(error.message, "written to its end"));
    CHILD_CLAIM(vyre_trace_stop(&error) == VYRE_OK);
}

static void a_full_disk_ends_the_trace_with_one_line(void **state) {
    (void)state;
    size_t count;
    vyre_trace_stop(NULL);
    for (size_t limit = 1000; limit < 1400; limit += 37) { /* events are cut anywhere */
        run_in_child(fill_disk, limit);
        trace_event *events = read_back(&count);
        assert_true(count >= 5);
        free(events);
        struct stat about;
        assert_int_equal(stat(path, &about), 0);
        assert_true((size_t)about.st_size <= limit);
    }
}

/* ---- pipes ---- */

static void a_pipe_gets_its_bracket_at_the_end(void **state) {
    (void)state;
    static char text[65536];
    char copy[128];
    size_t count;
    trace_event *events;
    assert_int_equal(mkfifo(path, 0600), 0);
    vyre_error error;
    assert_int_equal(vyre_trace_start(path, &error), VYRE_IO); /* without a reader: not a reason to hang */
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    start();
    one_dispatch("");
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    ssize_t size = read(reader, text, sizeof text);
    close(reader);
    assert_true(size > 0);
    snprintf(copy, sizeof copy, "%s/copy.json", folder);
    assert_int_equal(vy_file_write(copy, text, (size_t)size, NULL), VYRE_OK);
    assert_null(trace_read(copy, &events, &count));
    assert_int_equal(count, 5);
    free(events);
    unlink(path);
}

static void a_reader_that_leaves_ends_the_trace_and_not_the_process(void **state) {
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    start();
    close(reader);
    one_dispatch("");
    one_dispatch("");
    assert_int_equal(vy_span_begin().start, 0);
    assert_int_equal(vyre_trace_stop(NULL), VYRE_IO);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    start();
    close(reader);
    one_dispatch("");
    unlink(path);
    start(); /* one that ended by itself is not in the way of another */
    one_dispatch("");
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    size_t count;
    free(read_back(&count));
    assert_int_equal(count, 5);
}

/* ---- memory ---- */

static vyre_status trace_once(void *unused) {
    (void)unused;
    vyre_error error;
    vyre_status status = vyre_trace_start(path, &error);
    for (int i = 0; i < 300; i++)
        one_dispatch("label");
    vyre_status stopped = vyre_trace_stop(NULL);
    return status == VYRE_OK ? stopped : status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    vyre_trace_stop(NULL);
    vy_fault_install();
    assert_int_equal(VY_FAULT_LOOP(trace_once, NULL), 1); /* the buffer; spans allocate nothing */
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(spans_are_events_that_nest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(times_are_of_the_monotonic_clock_in_microseconds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(labels_are_escaped_and_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(python_reads_it_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(transfers_of_resident_buffers_are_spans, set_up, tear_down),
        cmocka_unit_test_setup_teardown(off_costs_nothing_visible, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spans_across_a_start_or_stop_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_span_that_was_not_ended_does_not_hold_back_the_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_trace_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_that_cannot_be_written_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_environment_starts_it_at_the_first_span, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_the_variable_nothing_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_variable_that_names_no_place_is_one_line_of_the_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_explicit_start_wins_over_the_variable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_process_that_just_ends_leaves_a_whole_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_killed_process_leaves_a_whole_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_forked_child_does_not_write_to_its_parents_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_processes_do_not_write_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_ends_the_trace_with_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pipe_gets_its_bracket_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reader_that_leaves_ends_the_trace_and_not_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
