/* Many threads compile at once on few servers, some of which fail, while other threads fork and open and close the
 * pool. */
#include "compile_server.h"

#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS = 6, ROUNDS = VY_SANITIZED ? 4 : 8 };

static vyre_bytes wire;
static _Atomic int is_over;

/* ---- compiling ---- */

static void *compile_some(void *user) {
    /* Each with lanes of its own: they have the same wire form, and what worked for one is remembered. */
    static const struct {
        const char *name;
        uint32_t width, lanes;
    } cases[] = {{"p", 4, 4}, {"crash_16", 16, 8}, {"q", 32, 32}, {"memory_8", 8, 4}, {"garbage_4", 64, 0}};
    enum { CASES = sizeof cases / sizeof *cases };
    unsigned index = *(unsigned *)user;
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t k = (index + i) % CASES;
        vyre_error error;
        const vy_jit_plugin *compiler;
        if (vy_cpu_compiler_open(server_path("hostile"), &compiler, &error) != VYRE_OK)
            return "it does not open";
        vy_jit_request request = server_request(&wire, cases[k].name, cases[k].width);
        uint32_t lanes = server_lanes(compiler, &request, &error);
        /* A server that became the real one compiles what it is asked for. */
        vy_cpu_compiler_close(compiler);
        if (lanes != cases[k].lanes && lanes != cases[k].width)
            return (void *)(uintptr_t)cases[k].name;
    }
    return NULL;
}

static void *fork_often(void *user) {
    (void)user;
    while (!atomic_load(&is_over)) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return "fork";
        usleep(2000);
    }
    return NULL;
}

static void expect_ended(pthread_t thread) {
    void *what = NULL;
    assert_int_equal(pthread_join(thread, &what), 0);
    if (what)
        fail_msg("%s", (const char *)what);
}

static void threads_share_servers(void **state) {
    pthread_t threads[THREADS], forker;
    unsigned indices[THREADS];
    (void)state;
    NEEDS_SERVER();
    unsigned descriptors = count_descriptors();
    atomic_store(&is_over, 0);
    const vy_jit_plugin *kept = server_open("hostile"); /* half of the time there is a pool to come back to */
    assert_int_equal(pthread_create(&forker, NULL, fork_often, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        indices[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, compile_some, &indices[i]), 0);
        if (i == THREADS / 2)
            vy_cpu_compiler_close(kept);
    }
    for (unsigned i = 0; i < THREADS; i++)
        expect_ended(threads[i]);
    atomic_store(&is_over, 1);
    expect_ended(forker);
    assert_int_equal(count_children(NULL), 0);
    assert_int_equal(count_descriptors(), descriptors);
}

/* ---- waiting ---- */

static void *hold_server(void *user) {
    vyre_error error;
    vy_jit_request request = server_request(&wire, "sleep_4", 8);
    request.keeps_width = 1;
    request.deadline_ns = vy_clock_now() + 2 * SECOND_NS;
    return server_lanes(user, &request, &error) || error.code != VYRE_TIMEOUT ? "no timeout" : NULL;
}

static void a_request_waits_for_a_server_until_its_deadline(void **state) {
    unsigned servers = vy_cpu_count() < 64 ? vy_cpu_count() : 64;
    pthread_t threads[64];
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    const vy_jit_plugin *compiler = server_open("hostile");
    for (unsigned i = 0; i < servers; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_server, (void *)(uintptr_t)compiler), 0);
    while (count_children(NULL) < servers)
        usleep(1000);
    vy_jit_request hasty = server_request(&wire, "p", 8), patient = hasty;
    hasty.deadline_ns = vy_clock_now() + SECOND_NS / 20;
    assert_int_equal(server_lanes(compiler, &hasty, &error), 0);
    assert_int_equal(error.code, VYRE_TIMEOUT);
    assert_non_null(strstr(error.message, "no compiler had begun with it"));
    assert_int_equal(server_lanes(compiler, &patient, &error), 8); /* when one of the others is over */
    for (unsigned i = 0; i < servers; i++)
        expect_ended(threads[i]);
    vy_cpu_compiler_close(compiler);
    assert_int_equal(count_children(NULL), 0);
}

static int make_wire(void **state) {
    (void)state;
    wire = server_wire(0);
    return 0;
}

static int free_wire(void **state) {
    (void)state;
    vyre_bytes_free(&wire);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_servers),
        cmocka_unit_test(a_request_waits_for_a_server_until_its_deadline),
    };
    return cmocka_run_group_tests(tests, make_wire, free_wire);
}
