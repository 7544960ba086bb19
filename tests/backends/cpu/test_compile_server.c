/* Compile servers that crash, hang, lie or end, and hosts that do what they like with children, descriptors and fork:
 * a compile ends with an object or with an error that names the program, and nothing is left behind. */
#include "backends/cpu/compile_server.h" /* of the library */
#include "compile_server.h"

#include "base/string.h"
#include "driver/cache_entry.h"
#include "vyre/cache.h"
#include "vyre/pipeline.h"
#include "vyre/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static vyre_bytes wire;

/* What a request for a program of this name gives on a fresh pool of servers: lanes, or 0 and an error. */
static uint32_t ask(const char *name, uint32_t width, uint32_t keeps_width, uint64_t deadline_ns, vyre_error *error) {
    const vy_jit_plugin *compiler = server_open("hostile");
    vy_jit_request request = server_request(&wire, name, width);
    request.keeps_width = keeps_width;
    request.deadline_ns = deadline_ns;
    uint32_t lanes = server_lanes(compiler, &request, error);
    vy_cpu_compiler_close(compiler);
    return lanes;
}

static void expect_text(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("`%s` is not in `%s`", part, text);
}

/* ---- failures of the compiler ---- */

static void a_failing_width_falls_back_to_fewer_lanes(void **state) {
    static const char *const names[] = {"crash_16", "exit_16", "memory_16", "time_16", "llvm_16", "hold_16"};
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(ask(names[i], 64, 0, 0, &error), 8);
        assert_int_equal(ask(names[i], 0, 0, 0, &error), 8); /* the server says that it had chosen 16 */
        assert_int_equal(ask(names[i], 8, 0, 0, &error), 8);
    }
}

static void an_endless_compile_falls_back_within_its_deadline(void **state) {
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    assert_int_equal(ask("spin_8", 8, 0, vy_clock_now() + 4 * SECOND_NS, &error), 4);
}

static void a_failing_width_that_has_to_be_kept_is_an_error(void **state) {
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    assert_int_equal(ask("crash_16", 64, 1, 0, &error), 0);
    assert_int_equal(error.code, VYRE_UNSUPPORTED);
    expect_text(error.message, "`crash_16` with 64 lanes, at step `generate` (signal 6)");
}

static void a_compile_that_fails_with_all_lanes_names_program_width_and_cause(void **state) {
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    assert_int_equal(ask("crash_4", 16, 0, 0, &error), 0);
    assert_int_equal(error.code, VYRE_UNSUPPORTED);
    expect_text(error.message, "`crash_4` with 4 lanes, at step `generate` (signal 6)");
    assert_int_equal(ask("memory_4", 16, 0, 0, &error), 0);
    assert_int_equal(error.code, VYRE_LIMIT);
    expect_text(error.message, "out of memory for `memory_4` with 4 lanes, at step `generate` (the limit is 600 MiB)");
    expect_text(error.fix, "ulimit -v"); /* less than what was asked for */
    assert_int_equal(ask("time_4", 16, 0, 0, &error), 0);
    assert_int_equal(error.code, VYRE_LIMIT);
    expect_text(error.message, "`time_4` with 4 lanes, at step `generate` (the limit is 20 s");
    expect_text(error.fix, "VYRE_COMPILER_SECONDS");
    assert_int_equal(ask("llvm_4", 16, 0, 0, &error), 0);
    expect_text(error.message, "LLVM failed: as a test requested");
}

static void a_width_that_worked_is_tried_first_the_next_time(void **state) {
    const vy_jit_plugin *compiler;
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    compiler = server_open("hostile");
    vy_jit_request request = server_request(&wire, "crash_16", 32), other = server_request(&wire, "other", 16);
    assert_int_equal(server_lanes(compiler, &request, &error), 8);
    /* The server that answered would now compile for 32 lanes. */
    assert_int_equal(server_lanes(compiler, &request, &error), 8);
    assert_int_equal(server_lanes(compiler, &other, &error), 16);
    vy_cpu_compiler_close(compiler);
}

static void count_narrowed(void *user, int level, const char *source, const char *message) {
    *(unsigned *)user +=
        level == 1 && strcmp(source, "cpu") == 0 && strstr(message, "is compiled with 8 lanes instead");
}

/* Through the backend: the result is right, the log says why it has fewer lanes, and what the cache has is the
 * narrower object. */
static void code_with_fewer_lanes_runs_and_is_cached(void **state) {
    char folder[] = "/tmp/vyre-server-XXXXXX";
    uint32_t y[100] = {5};
    vyre_span input = {y, sizeof y};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    unsigned narrowed = 0;
    (void)state;
    NEEDS_SERVER();
    assert_non_null(mkdtemp(folder));
    vyre_program *program =
        vy_test_parse("program crash_16 {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                      " if global_id.x < len(y) { y[global_id.x] = y[global_id.x] + 2 }\n}\n");
    setenv("VYRE_CACHE_DIR", folder, 1);
    setenv("VYRE_COMPILER", server_path("hostile"), 1);
    setenv("VYRE_CPU_WIDTH", "16", 1);
    vyre_log_set_sink(count_narrowed, &narrowed);
    for (int i = 0; i < 2; i++) {
        vyre_backend *backend;
        vyre_pipeline *pipeline;
        vyre_error error = VYRE_ERROR_INIT;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_cache_forbid_compile(i);
        assert_int_equal(vyre_acquire("cpu", &backend, &error), VYRE_OK);
        if (vyre_compile(backend, program, NULL, &pipeline, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        assert_int_equal(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, &error), VYRE_OK);
        assert_int_equal(((uint32_t *)outputs.items[0].data)[0], 7);
        assert_int_equal(((uint32_t *)outputs.items[0].data)[99], 2);
        assert_int_equal(narrowed, 1);
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(pipeline);
        vyre_backend_release(backend);
    }
    vyre_log_set_sink(NULL, NULL);
    vyre_cache_forbid_compile(0);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    unsetenv("VYRE_CPU_WIDTH");
    unsetenv("VYRE_COMPILER");
    setenv("VYRE_CACHE_DIR", "", 1);
    assert_int_equal(rmdir(folder), 0);
    vyre_program_release(program);
}

static void a_deadline_ends_the_compile_and_the_server(void **state) {
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    assert_int_equal(ask("sleep_4", 16, 1, vy_clock_now() + 2 * SECOND_NS, &error), 0);
    assert_int_equal(error.code, VYRE_TIMEOUT);
    expect_text(error.message, "`sleep_4` was not compiled at its deadline: LLVM was at step `generate` with 16 lanes");
    assert_int_equal(ask("spin_4", 16, 0, vy_clock_now() + SECOND_NS / 10, &error), 0);
    assert_int_equal(error.code, VYRE_TIMEOUT);
    assert_int_equal(ask("low_4", 0, 0, vy_clock_now() + SECOND_NS / 2, &error), 0); /* with half of the time first */
    assert_int_equal(error.code, VYRE_TIMEOUT);
    assert_int_equal(ask("sleep_4", 16, 0, vy_clock_now() - 1, &error), 0); /* it starts nothing */
    assert_int_equal(error.code, VYRE_TIMEOUT);
    assert_int_equal(count_children(NULL), 0);
}

static void malformed_replies_are_errors(void **state) {
    static const struct {
        const char *name;
        vyre_status status;
    } cases[] = {{"garbage_4", VYRE_CORRUPT}, {"build_4", VYRE_ABI_MISMATCH}, {"unknown_4", VYRE_CORRUPT},
                 {"huge_4", VYRE_CORRUPT},    {"error_4", VYRE_CORRUPT},      {"success_4", VYRE_CORRUPT},
                 {"cut_4", VYRE_UNSUPPORTED}, {"silent", VYRE_UNSUPPORTED}};
    static const char *const wrong[] = {"garbage_8", "build_8", "unknown_8", "huge_8", "error_8", "success_8"};
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ask(cases[i].name, 4, 0, 0, &error), 0);
        if (error.code != cases[i].status)
            fail_msg("%s: %s (%d)", cases[i].name, error.message, (int)error.code);
    }
    /* Nothing that a server does wrong is a reason for fewer lanes: with 4 these would work. */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(ask(wrong[i], 64, 0, 0, &error), 0);
        assert_true(error.code == VYRE_CORRUPT || error.code == VYRE_ABI_MISMATCH);
    }
    assert_int_equal(ask("silent", 4, 0, 0, &error), 0);
    expect_text(error.message, "ends before it reads a request (exit status 5)");
    expect_text(error.fix, "vyre-compiler-llvm");
}

/* Through the backend, where the object is checked. */
static void an_object_that_is_none_is_refused(void **state) {
    vyre_backend *backend;
    vyre_pipeline *pipeline;
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    vyre_program *program =
        vy_test_parse("program object_4 {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                      " y[global_id.x] = 1\n}\n");
    setenv("VYRE_COMPILER", server_path("hostile"), 1);
    assert_int_equal(vyre_acquire("cpu", &backend, &error), VYRE_OK);
    assert_int_equal(vyre_compile(backend, program, NULL, &pipeline, &error), VYRE_CORRUPT);
    unsetenv("VYRE_COMPILER");
    vyre_backend_release(backend);
    vyre_program_release(program);
    assert_int_equal(count_children(NULL), 0);
}

/* Through the public interface: a compile, and a dispatch that compiles first. */
static void deadlines_of_compiles_and_dispatches_cover_llvm(void **state) {
    vyre_backend *backend;
    vyre_pipeline *pipeline;
    vyre_error error;
    uint32_t y[64] = {0};
    vyre_span input = {y, sizeof y};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_dispatch_config config = {.timeout_ns = SECOND_NS};
    (void)state;
    NEEDS_SERVER();
    vyre_program *program = vy_test_parse("program sleep_4 {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                                          " y[global_id.x] = 1\n}\n");
    setenv("VYRE_COMPILER", server_path("hostile"), 1);
    setenv("VYRE_COMPILER_FALLBACK", "0", 1);
    assert_int_equal(vyre_acquire("cpu", &backend, &error), VYRE_OK);
    setenv("VYRE_COMPILER_FALLBACK", "1", 1);
    vyre_compile_options options = {.struct_size = sizeof options, .deadline_ns = vy_clock_now() + SECOND_NS};
    assert_int_equal(vyre_compile(backend, program, &options, &pipeline, &error), VYRE_TIMEOUT);
    expect_text(error.message, "`sleep_4` was not compiled at its deadline: LLVM was at step `generate`");
    assert_true(vy_clock_now() >= options.deadline_ns);
    assert_int_equal(vyre_backend_dispatch(backend, program, &arguments, &config, &outputs, NULL, &error),
                     VYRE_TIMEOUT);
    expect_text(error.message, "`sleep_4` was not compiled at its deadline: LLVM was at step `generate`");
    assert_int_equal(vyre_backend_device_lost(backend), 0);
    unsetenv("VYRE_COMPILER");
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
    vyre_program_release(program);
    assert_int_equal(count_children(NULL), 0);
}

static void the_next_request_after_a_failure_works(void **state) {
    static const char *const names[] = {"crash_4", "garbage_4", "cut_4", "error_4", "silent"};
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    const vy_jit_plugin *compiler = server_open("hostile");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        vy_jit_request bad = server_request(&wire, names[i], 4), good = server_request(&wire, "p", 8);
        assert_int_equal(server_lanes(compiler, &bad, &error), 0);
        assert_int_equal(server_lanes(compiler, &good, &error), 8);
        vy_cpu_compiler_close(compiler); /* one that became the real server does not misbehave any more */
        compiler = server_open("hostile");
    }
    vy_cpu_compiler_close(compiler);
}

/* ---- limits of the real server ---- */

static void a_server_without_memory_says_so(void **state) {
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    if (VY_SANITIZED)
        VY_SKIP("a sanitizer needs the address space");
    const vy_jit_plugin *compiler = server_open("vyre-compiler-llvm");
    vy_jit_request request = server_request(&wire, "p", 16);
    request.memory_mib = 1;
    assert_int_equal(server_lanes(compiler, &request, &error), 0);
    assert_int_equal(error.code, VYRE_LIMIT);
    expect_text(error.message, "out of memory for `p` with 4 lanes");
    expect_text(error.message, "(the limit is 1 MiB)");
    expect_text(error.fix, "VYRE_COMPILER_MEMORY");
    request.memory_mib = 0;
    assert_int_equal(server_lanes(compiler, &request, &error), 16);
    vy_cpu_compiler_close(compiler);
}

/* ---- the real server by itself ---- */

/* Starts it with one end of a socket pair; the other end is returned. */
static int start_server(pid_t *pid) {
    int ends[2];
    posix_spawn_file_actions_t actions;
    char *const arguments[] = {(char *)"vyre-compiler-llvm", NULL};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], VY_COMPILE_SOCKET), 0);
    assert_int_equal(posix_spawn(pid, server_path("vyre-compiler-llvm"), &actions, NULL, arguments, arguments + 1), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    return ends[0];
}

static vy_compile_request raw_request(const vyre_bytes *program) {
    vy_compile_request request = {.magic = VY_COMPILE_MAGIC,
                                  .features = vy_cpu_features(),
                                  .wire_size = program->size,
                                  .name_size = 1,
                                  .width = 16,
                                  .memory_mib = VY_JIT_MEMORY_MIB,
                                  .idle_ms = VY_COMPILE_IDLE_MS};
    vy_checksum(vy_cache_build(), strlen(vy_cache_build()), request.build);
    return request;
}

static void send_raw(int socket, const vy_compile_request *request, const vyre_bytes *program) {
    assert_int_equal(send(socket, request, sizeof *request, 0), sizeof *request);
    assert_int_equal(send(socket, "p", 1, 0), 1);
    for (size_t at = 0; at < program->size;) {
        ssize_t n = send(socket, (const char *)program->data + at, program->size - at, MSG_NOSIGNAL);
        assert_true(n > 0);
        at += (size_t)n;
    }
}

/* Reads messages until one that is no step; what follows it is left. */
static vy_compile_reply receive_raw(int socket) {
    vy_compile_reply reply;
    do
        assert_int_equal(recv(socket, &reply, sizeof reply, MSG_WAITALL), sizeof reply);
    while (reply.message == VY_COMPILE_STEP);
    return reply;
}

/* Ends by itself, with status 0; the processor time that it used, in seconds. */
static double expect_end(pid_t pid) {
    struct rusage used;
    int status;
    assert_int_equal(wait4(pid, &status, 0, &used), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void a_server_without_processor_time_says_so(void **state) {
    pid_t pid;
    int status;
    (void)state;
    NEEDS_SERVER();
    vyre_bytes loops = server_wire(300);
    vy_compile_request request = raw_request(&loops);
    request.cpu_ms = 30;
    int socket = start_server(&pid);
    send_raw(socket, &request, &loops);
    vy_compile_reply reply = receive_raw(socket);
    assert_int_equal(reply.message, VY_COMPILE_TIME);
    assert_int_equal(reply.is_last, 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(socket);
    vyre_bytes_free(&loops);
}

static void a_server_without_work_ends(void **state) {
    pid_t pid;
    (void)state;
    NEEDS_SERVER();
    int socket = start_server(&pid);
    vy_compile_request request = raw_request(&wire);
    request.idle_ms = 20;
    send_raw(socket, &request, &wire);
    assert_int_equal(receive_raw(socket).message, VY_COMPILE_RESULT);
    (void)expect_end(pid);
    close(socket);
}

static void a_server_whose_client_is_gone_ends(void **state) {
    pid_t pid;
    (void)state;
    NEEDS_SERVER();
    int socket = start_server(&pid);
    close(socket);
    (void)expect_end(pid);
}

static void a_server_whose_client_leaves_during_a_compile_ends_at_once(void **state) {
    vy_compile_reply reply;
    pid_t pid;
    (void)state;
    NEEDS_SERVER();
    vyre_bytes loops = server_wire(VY_SANITIZED ? 100 : 300);
    vy_compile_request request = raw_request(&loops);
    int socket = start_server(&pid);
    send_raw(socket, &request, &loops);
    assert_int_equal(receive_raw(socket).message, VY_COMPILE_RESULT);
    close(socket);
    double all = expect_end(pid);
    socket = start_server(&pid);
    send_raw(socket, &request, &loops);
    do
        assert_int_equal(recv(socket, &reply, sizeof reply, MSG_WAITALL), sizeof reply);
    while (reply.step < VY_JIT_STEP_OPTIMISE);
    close(socket);
    double part = expect_end(pid);
    if (part > all / 2)
        fail_msg("%.2f s of %.2f s were used after the client had left", part, all);
    vyre_bytes_free(&loops);
}

static void requests_that_make_no_sense_end_the_server(void **state) {
    (void)state;
    NEEDS_SERVER();
    for (int i = 0; i < 5; i++) {
        pid_t pid;
        vy_compile_request request = raw_request(&wire);
        request.magic += i == 0;
        request.build[3] ^= i == 1;
        request.product = i == 2 ? 1 + VY_JIT_TEXT_COUNT : 0;
        request.name_size = i == 3 ? UINT32_MAX : 1;
        request.wire_size = i == 4 ? UINT64_MAX : wire.size;
        int socket = start_server(&pid);
        assert_int_equal(send(socket, &request, sizeof request, 0), sizeof request);
        vy_compile_reply reply = receive_raw(socket);
        assert_int_equal(reply.message, VY_COMPILE_ERROR);
        assert_int_equal(reply.size, 0);
        (void)expect_end(pid);
        close(socket);
    }
}

static void any_program_bytes_are_answered(void **state) {
    vy_random random = vy_random_start(190);
    pid_t pid;
    (void)state;
    NEEDS_SERVER();
    int socket = start_server(&pid);
    for (int i = 0; i < 200; i++) {
        vyre_bytes broken = VYRE_BYTES_INIT;
        vyre_error error;
        assert_int_equal(vyre_bytes_resize(&broken, wire.size, NULL), VYRE_OK);
        memcpy(broken.data, wire.data, wire.size);
        ((uint8_t *)broken.data)[vy_random_below(&random, wire.size)] ^= (uint8_t)(1 + vy_random_below(&random, 255));
        vy_compile_request request = raw_request(&broken);
        send_raw(socket, &request, &broken);
        vy_compile_reply reply = receive_raw(socket);
        assert_int_equal(reply.message, VY_COMPILE_ERROR); /* the wire form has a digest */
        assert_int_equal(recv(socket, &error, sizeof error, MSG_WAITALL), sizeof error);
        vyre_bytes_free(&broken);
    }
    close(socket);
    (void)expect_end(pid);
}

/* ---- hosts ---- */

static void warm_servers_are_reused_and_nothing_is_left(void **state) {
    vyre_error error;
    pid_t first = 0, second = 0;
    (void)state;
    NEEDS_SERVER();
    unsigned descriptors = count_descriptors();
    const vy_jit_plugin *compiler = server_open("vyre-compiler-llvm"), *another = server_open("vyre-compiler-llvm");
    vy_jit_request request = server_request(&wire, "p", 8);
    assert_int_equal(count_children(NULL), 0);
    assert_int_equal(server_lanes(compiler, &request, &error), 8);
    assert_int_equal(count_children(&first), 1);
    assert_int_equal(server_lanes(another, &request, &error), 8);
    assert_int_equal(count_children(&second), 1);
    assert_int_equal(first, second);
    request.wire = (vyre_span){"no program", 10}; /* a refusal is an answer, too */
    assert_int_equal(server_lanes(compiler, &request, &error), 0);
    assert_int_equal(error.code, VYRE_CORRUPT);
    assert_int_equal(count_children(&second), 1);
    assert_int_equal(first, second);
    vy_cpu_compiler_close(compiler);
    assert_int_equal(count_children(NULL), 1);
    vy_cpu_compiler_close(another);
    assert_int_equal(count_children(NULL), 0);
    assert_int_equal(count_descriptors(), descriptors);
}

static void an_idle_server_that_ended_is_replaced(void **state) {
    siginfo_t info;
    vyre_error error;
    pid_t first = 0, second = 0;
    (void)state;
    NEEDS_SERVER();
    const vy_jit_plugin *compiler = server_open("vyre-compiler-llvm");
    vy_jit_request request = server_request(&wire, "p", 8);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(server_lanes(compiler, &request, &error), 8);
        assert_int_equal(count_children(&first), 1);
        assert_int_equal(kill(first, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), 0);
    }
    assert_int_equal(server_lanes(compiler, &request, &error), 8);
    assert_int_equal(count_children(&second), 1); /* the others were reaped */
    assert_int_not_equal(first, second);
    vy_cpu_compiler_close(compiler);
}

static void reap_all(int number) {
    int before = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    errno = before;
}

static void hosts_may_reap_or_ignore_their_children(void **state) {
    struct sigaction before, reaps = {.sa_handler = reap_all}, ignores = {.sa_handler = SIG_IGN};
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sigaction(SIGCHLD, i ? &ignores : &reaps, &before), 0);
        assert_int_equal(ask("crash_16", 64, 0, 0, &error), 8);
        assert_int_equal(ask("hold_16", 32, 0, 0, &error), 8);
        assert_int_equal(ask("crash_4", 8, 0, 0, &error), 0);
        expect_text(error.message, "`crash_4` with 4 lanes");
        assert_int_equal(ask("sleep_4", 8, 0, vy_clock_now() + SECOND_NS / 10, &error), 0);
        assert_int_equal(error.code, VYRE_TIMEOUT);
        assert_int_equal(count_children(NULL), 0);
        assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
    }
}

/* Runs body in a child of its own, which is expected to return 0. */
static void in_a_child(int (*body)(void)) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        _exit(body());
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with %s %d", WIFEXITED(status) ? "status" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* No cmocka in children. */
static uint32_t compile_on(const vy_jit_plugin *compiler, const char *name, uint32_t width, vyre_error *error) {
    const vy_jit_request request = server_request(&wire, name, width);
    return server_lanes(compiler, &request, error);
}

static int compile_without_streams(void) {
    const vy_jit_plugin *compiler;
    vyre_error error;
    struct stat facts;
    for (int i = 0; i < 3; i++)
        close(i);
    if (vy_cpu_compiler_open(server_path("hostile"), &compiler, &error) != VYRE_OK)
        return 1;
    for (int i = 0; i < 2; i++)
        if (compile_on(compiler, "crash_16", 32, &error) != 8)
            return 2;
    for (int i = 0; i < 3; i++)
        if (fstat(i, &facts) == 0)
            return 3; /* a descriptor of ours lies where the host expects a stream */
    vy_cpu_compiler_close(compiler);
    return 0;
}

static void standard_streams_may_be_closed(void **state) {
    (void)state;
    NEEDS_SERVER();
    in_a_child(compile_without_streams);
}

/* In a child of fork: its parent's descriptors are closed, and it starts servers of its own. */
static const vy_jit_plugin *inherited;

static int compile_after_fork(void) {
    vyre_error error;
    pid_t server = 0;
    if (count_children(NULL) != 0)
        return 1;
    if (compile_on(inherited, "crash_16", 32, &error) != 8 || compile_on(inherited, "p", 16, &error) != 16)
        return 2;
    if (count_children(&server) != 1)
        return 3;
    vy_cpu_compiler_close(inherited);
    return count_children(NULL) == 0 ? 0 : 4;
}

static int leave_after_fork(void) {
    return 0;
}

static void children_of_fork_have_servers_of_their_own(void **state) {
    vyre_error error;
    pid_t before = 0, after = 0;
    (void)state;
    NEEDS_SERVER();
    inherited = server_open("hostile");
    assert_int_equal(compile_on(inherited, "p", 8, &error), 8);
    assert_int_equal(count_children(&before), 1);
    for (int i = 0; i < 2; i++) {
        in_a_child(compile_after_fork);
        in_a_child(leave_after_fork);
        assert_int_equal(compile_on(inherited, "p", 8, &error), 8);
        assert_int_equal(count_children(&after), 1);
        assert_int_equal(before, after);
    }
    vy_cpu_compiler_close(inherited);
}

/* A host that ends while a child of it lives: the child holds no copy of the socket, so the server ends. */
static int fork_and_end(void) {
    vyre_error error;
    pid_t server = 0;
    if (compile_on(inherited, "p", 8, &error) != 8 || count_children(&server) != 1)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        /* The server is no child of this process: look for it until it is gone. */
        while (kill(server, 0) == 0)
            usleep(1000);
        _exit(0);
    }
    return child > 0 ? 0 : 2;
}

static void a_child_of_fork_does_not_keep_a_server_alive(void **state) {
    (void)state;
    NEEDS_SERVER();
    inherited = server_open("vyre-compiler-llvm");
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    in_a_child(fork_and_end);
    while (waitpid(-1, NULL, 0) > 0) /* the server and the child, which ends when the server does */
        ;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    vy_cpu_compiler_close(inherited);
}

static int compile_without_descriptors(void) {
    vyre_error error;
    struct rlimit all, few;
    getrlimit(RLIMIT_NOFILE, &all);
    for (int i = 3; i < 1024; i++) /* no gaps: the limit is one of numbers, not of how many there are */
        close(i);
    for (rlim_t room = 0; room < 8; room++) {
        const vy_jit_plugin *compiler = NULL;
        unsigned used = count_descriptors();
        few = (struct rlimit){used + room, all.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &few) != 0)
            return 1;
        uint32_t lanes = 0;
        vyre_status status = vy_cpu_compiler_open(server_path("vyre-compiler-llvm"), &compiler, &error);
        if (status == VYRE_OK)
            lanes = compile_on(compiler, "p", 8, &error);
        if (lanes != 8 && !error.fix[0])
            return 2;
        if (room == 0 && (status != VYRE_IO || !strstr(error.message, "open files")))
            return 3;
        if (room == 7 && lanes != 8)
            return 4;
        setrlimit(RLIMIT_NOFILE, &all);
        if (compiler && compile_on(compiler, "p", 8, &error) != 8)
            return 5;
        vy_cpu_compiler_close(compiler);
        if (count_descriptors() != used || count_children(NULL) != 0)
            return 6;
    }
    return 0;
}

static void no_descriptors_left_is_an_error(void **state) {
    (void)state;
    NEEDS_SERVER();
    in_a_child(compile_without_descriptors);
}

/* The limit is inherited: the server may not even start. */
static int compile_with_little_memory(void) {
    enum { STEP = 16 << 20, STEPS = 64 };
    struct rlimit all;
    vyre_error error = VYRE_ERROR_INIT;
    long pages = 0;
    uint32_t lanes = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        return 1;
    fclose(file);
    getrlimit(RLIMIT_AS, &all);
    for (rlim_t i = 0; i <= STEPS && lanes != 8; i++) {
        const vy_jit_plugin *compiler = NULL;
        struct rlimit few = {(rlim_t)pages * 4096 + i * STEP, all.rlim_max};
        if (setrlimit(RLIMIT_AS, &few) != 0)
            return 2;
        if (vy_cpu_compiler_open(server_path("vyre-compiler-llvm"), &compiler, &error) == VYRE_OK)
            lanes = compile_on(compiler, "p", 8, &error);
        if (lanes != 8 && error.code != VYRE_NO_MEMORY && !strstr(error.fix, "ulimit -v"))
            return 3;
        setrlimit(RLIMIT_AS, &all);
        vy_cpu_compiler_close(compiler);
        if (count_children(NULL) != 0)
            return 4;
    }
    return lanes == 8 ? 0 : 5; /* 1 GiB is enough */
}

static void little_address_space_is_an_error(void **state) {
    (void)state;
    NEEDS_SERVER();
    if (VY_SANITIZED)
        VY_SKIP("a sanitizer needs the address space");
    in_a_child(compile_with_little_memory);
}

/* As on a kernel before 5.3. */
static int compile_without_pidfd(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    const vy_jit_plugin *compiler;
    vyre_error error;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 77;
    if (vy_cpu_compiler_open(server_path("hostile"), &compiler, &error) != VYRE_OK)
        return 1;
    if (compile_on(compiler, "crash_16", 32, &error) != 8 || compile_on(compiler, "p", 16, &error) != 16)
        return 2;
    vy_cpu_compiler_close(compiler);
    return count_children(NULL) == 0 ? 0 : 3;
}

static void systems_without_pidfd_work(void **state) {
    (void)state;
    NEEDS_SERVER();
    in_a_child(compile_without_pidfd);
}

/* A pipe of the host that is not closed on exec ends when the host closes it: the server has no copy. */
static void servers_hold_nothing_of_the_host(void **state) {
    int ends[2];
    char byte;
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    assert_int_equal(pipe(ends), 0);
    const vy_jit_plugin *compiler = server_open("vyre-compiler-llvm");
    assert_int_equal(compile_on(compiler, "p", 8, &error), 8);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    pid_t server = 0;
    char path[64];
    assert_int_equal(count_children(&server), 1);
    snprintf(path, sizeof path, "/proc/%d/environ", (int)server);
    int variables = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(variables >= 0);
    assert_int_equal(read(variables, &byte, 1), 0);
    close(variables);
    vy_cpu_compiler_close(compiler);
}

/* ---- executables that are none ---- */

static void what_cannot_be_started_is_named_with_a_fix(void **state) {
    char folder[] = "/tmp/vyre-server-XXXXXX", path[64];
    const vy_jit_plugin *compiler;
    vyre_error error;
    (void)state;
    NEEDS_SERVER();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/compiler", folder);
    assert_int_equal(vy_cpu_compiler_open(path, &compiler, &error), VYRE_NOT_FOUND);
    expect_text(error.message, path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0 && write(file, "words\n", 6) == 6);
    close(file);
    assert_int_equal(vy_cpu_compiler_open(path, &compiler, &error), VYRE_CORRUPT);
    expect_text(error.message, "is not an executable file");
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(vy_cpu_compiler_open(path, &compiler, &error), VYRE_OK); /* until it is run */
    assert_int_equal(compile_on(compiler, "p", 8, &error), 0);
    assert_int_equal(error.code, VYRE_UNSUPPORTED);
    expect_text(error.message, "cannot be started (Exec format error)");
    expect_text(error.fix, "VYRE_COMPILER");
    vy_cpu_compiler_close(compiler);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(vy_cpu_compiler_open(path, &compiler, &error), VYRE_IO); /* others may write to it */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
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
    setenv("VYRE_CACHE_DIR", "", 1);
    setenv("VYRE_COMPILER_FALLBACK", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_width_falls_back_to_fewer_lanes),
        cmocka_unit_test(an_endless_compile_falls_back_within_its_deadline),
        cmocka_unit_test(a_failing_width_that_has_to_be_kept_is_an_error),
        cmocka_unit_test(a_compile_that_fails_with_all_lanes_names_program_width_and_cause),
        cmocka_unit_test(a_width_that_worked_is_tried_first_the_next_time),
        cmocka_unit_test(code_with_fewer_lanes_runs_and_is_cached),
        cmocka_unit_test(a_deadline_ends_the_compile_and_the_server),
        cmocka_unit_test(malformed_replies_are_errors),
        cmocka_unit_test(an_object_that_is_none_is_refused),
        cmocka_unit_test(deadlines_of_compiles_and_dispatches_cover_llvm),
        cmocka_unit_test(the_next_request_after_a_failure_works),
        cmocka_unit_test(a_server_without_memory_says_so),
        cmocka_unit_test(a_server_without_processor_time_says_so),
        cmocka_unit_test(a_server_without_work_ends),
        cmocka_unit_test(a_server_whose_client_is_gone_ends),
        cmocka_unit_test(a_server_whose_client_leaves_during_a_compile_ends_at_once),
        cmocka_unit_test(requests_that_make_no_sense_end_the_server),
        cmocka_unit_test(any_program_bytes_are_answered),
        cmocka_unit_test(warm_servers_are_reused_and_nothing_is_left),
        cmocka_unit_test(an_idle_server_that_ended_is_replaced),
        cmocka_unit_test(hosts_may_reap_or_ignore_their_children),
        cmocka_unit_test(standard_streams_may_be_closed),
        cmocka_unit_test(children_of_fork_have_servers_of_their_own),
        cmocka_unit_test(a_child_of_fork_does_not_keep_a_server_alive),
        cmocka_unit_test(no_descriptors_left_is_an_error),
        cmocka_unit_test(little_address_space_is_an_error),
        cmocka_unit_test(systems_without_pidfd_work),
        cmocka_unit_test(servers_hold_nothing_of_the_host),
        cmocka_unit_test(what_cannot_be_started_is_named_with_a_fix),
    };
    return cmocka_run_group_tests(tests, make_wire, free_wire);
}
