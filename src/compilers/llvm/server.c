/* The compile server: runs LLVM in a separate process, so that a program that makes LLVM crash, loop or run out of
 * memory harms this process and not the host (backends/cpu/compile_protocol.h, docs/internals/cpu.md).
 *
 * Two threads. The worker reads requests, compiles and replies; it has a large stack, since LLVM recurses over
 * programs. The main thread waits for the client to close the socket and then ends the process immediately, in
 * whatever state the worker is.
 *
 * Invariant: the process reports its end where it can (out of memory, CPU time limit, crash). The client cannot rely
 * on the exit status, because a host that waits for any child may reap it. Such a report is one send() of a fixed
 * struct, without allocation. */
#include "backends/cpu/compile_protocol.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/string.h"
#include "compilers/llvm/compile.h"
#include "compilers/llvm/llvm_session.h"
#include "driver/cache_entry.h"

#include <llvm/Config/llvm-config.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 64 << 20,
    CRASH_STACK_BYTES = 64 << 10,
    FIRST_MS = 60000, /* timeout for the first request */
    /* A server that has used more than this fraction of its limit exits after its reply: memory that the allocator
     * retains would count against the next program. */
    MEMORY_PART = 4
};

/* State of the current request, read by signal handlers. */
static struct {
    volatile sig_atomic_t step, width;
    volatile sig_atomic_t is_replying; /* a report would be inserted into the reply */
    volatile sig_atomic_t limit_mib;
} now;

static uint8_t own_build[VY_COMPILE_BUILD];

/* ---- messages ---- */

static vy_compile_reply reply_of(vy_compile_message message) {
    vy_compile_reply reply = {
        .magic = VY_COMPILE_MAGIC, .message = message, .step = (uint32_t)now.step, .width = (uint32_t)now.width};
    memcpy(reply.build, own_build, sizeof own_build);
    return reply;
}

/* Async-signal-safe. */
static _Noreturn void report_and_end(vy_compile_message message, uint32_t detail) {
    vy_compile_reply reply = reply_of(message);
    reply.detail = detail;
    reply.is_last = 1;
    if (!now.is_replying)
        (void)!send(VY_COMPILE_SOCKET, &reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT);
    _exit(1);
}

/* If the client has closed the socket or violates the protocol, no message can reach it. */
static void send_all(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t n = send(VY_COMPILE_SOCKET, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            _exit(0);
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

static void receive_all(void *data, size_t size) {
    char *at = data;
    while (size) {
        ssize_t n = recv(VY_COMPILE_SOCKET, at, size, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            _exit(0);
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

/* ---- failures ---- */

static _Noreturn void end_without_memory(void) {
    report_and_end(VY_COMPILE_MEMORY, (uint32_t)now.limit_mib);
}

/* LLVM's C interface does not expose the two handlers for failed allocations: that of C++'s `new`, and that of
 * LLVM's own malloc(). */
void set_new_handler(void (*handler)(void)) __asm__("_ZSt15set_new_handlerPFvvE");
void install_bad_alloc_handler(void (*handler)(void *user, const char *reason, _Bool diagnose),
                               void *user) __asm__("_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");

static void end_on_bad_alloc(void *user, const char *reason, _Bool diagnose) {
    (void)user, (void)reason, (void)diagnose;
    end_without_memory();
}

static void end_on_signal(int number) {
    if (number == SIGPROF && now.is_replying)
        return;
    report_and_end(number == SIGPROF ? VY_COMPILE_TIME : VY_COMPILE_SIGNAL, (uint32_t)number);
}

static void catch_signals(void) {
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    struct sigaction action = {.sa_handler = end_on_signal, .sa_flags = SA_ONSTACK};
    sigfillset(&action.sa_mask);
    (void)sigaction(SIGPROF, &action, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes && !VY_COMPILE_SANITIZED; i++)
        (void)sigaction(crashes[i], &action, NULL);
}

/* ---- limits ---- */

static void lower_limit(int resource, rlim_t most) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    (void)setrlimit(resource, &limit);
}

static void note_memory(void) {
    struct rlimit memory = {0, 0};
    (void)getrlimit(RLIMIT_AS, &memory);
    now.limit_mib = (sig_atomic_t)(memory.rlim_cur >> 20 > INT32_MAX ? INT32_MAX : memory.rlim_cur >> 20);
}

/* Only the soft limit, because the next request may have another limit. */
static void limit_memory(uint32_t mib) {
    if (!VY_COMPILE_SANITIZED)
        lower_limit(RLIMIT_AS, (rlim_t)mib << 20);
    note_memory();
}

/* CPU time limit of the whole process; 0 removes it. The signal repeats every second, in case it arrives while a
 * reply is sent. */
static void limit_time(uint32_t milliseconds) {
    const struct itimerval timer = {.it_interval = {.tv_sec = 1},
                                    .it_value = {milliseconds / 1000, (suseconds_t)(milliseconds % 1000) * 1000}};
    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

static int has_used_much(const vy_compile_request *request) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return !VY_COMPILE_SANITIZED && (uint64_t)used.ru_maxrss / 1024 > request->memory_mib / MEMORY_PART;
}

/* ---- one request ---- */

static void send_step(void *user, vy_jit_step step, uint32_t width) {
    (void)user;
    now.step = (sig_atomic_t)step;
    now.width = (sig_atomic_t)width;
    vy_compile_reply reply = reply_of(VY_COMPILE_STEP);
    send_all(&reply, sizeof reply);
}

static void reply_with(vy_compile_reply *reply, const void *data, size_t size) {
    now.is_replying = 1;
    reply->size = size;
    send_all(reply, sizeof *reply);
    send_all(data, size);
    now.is_replying = 0;
    if (reply->is_last)
        _exit(0);
}

static int is_sound(const vy_compile_request *request) {
    return request->magic == VY_COMPILE_MAGIC && memcmp(request->build, own_build, sizeof own_build) == 0 &&
           request->product <= VY_JIT_TEXT_COUNT && request->name_size <= VY_COMPILE_NAME_LIMIT &&
           request->wire_size <= VY_COMPILE_WIRE_LIMIT;
}

static void answer(const vy_compile_request *given, const char *name, const void *wire) {
    uint64_t times[VY_JIT_STEP_COUNT] = {0};
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    const vy_jit_request request = {.struct_size = sizeof request,
                                    .width = given->width,
                                    .features = given->features,
                                    .wire = {wire, (size_t)given->wire_size},
                                    .name = name,
                                    .lines = given->lines,
                                    .times = times,
                                    .begin = send_step};
    vyre_status status = given->product ? vy_llvm_emit_text(&request, (vy_jit_text)(given->product - 1), &out, &error)
                                        : vy_llvm_compile(&request, &out, &error);
    if (status == VYRE_NO_MEMORY)
        end_without_memory();
    vy_llvm_failure failure = status == VYRE_OK ? VY_LLVM_FINE : vy_llvm_latest_failure();
    vy_compile_reply reply = reply_of(status == VYRE_OK ? VY_COMPILE_RESULT
                                      : failure         ? VY_COMPILE_WIDTH
                                                        : VY_COMPILE_ERROR);
    memcpy(reply.times, times, sizeof times);
    reply.is_last = failure == VY_LLVM_FAILED || has_used_much(given);
    if (status == VYRE_OK)
        reply_with(&reply, out.data, out.size);
    else
        reply_with(&reply, &error, sizeof error);
    vyre_bytes_free(&out);
}

/* A client of another build gets a reply too, which contains the build. */
static void serve_one(vy_compile_request *request) {
    receive_all(request, sizeof *request);
    if (!is_sound(request)) {
        vy_compile_reply reply = reply_of(VY_COMPILE_ERROR);
        reply.is_last = 1;
        reply_with(&reply, NULL, 0);
    }
    limit_memory(request->memory_mib);
    limit_time(request->cpu_ms);
    size_t name_size = request->name_size, wire_size = (size_t)request->wire_size;
    char *text = vy_allocate(name_size + 1 + wire_size);
    if (!text)
        end_without_memory();
    receive_all(text, name_size);
    text[name_size] = 0;
    receive_all(text + name_size + 1, wire_size);
    answer(request, text, text + name_size + 1);
    limit_time(0);
    vy_release(text, name_size + 1 + wire_size);
}

static void *work(void *user) {
    static char crash_stack[CRASH_STACK_BYTES];
    const stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof crash_stack};
    vy_compile_request request = {.idle_ms = FIRST_MS};
    (void)user;
    if (!VY_COMPILE_SANITIZED)
        (void)sigaltstack(&stack, NULL);
    set_new_handler(end_without_memory);
    install_bad_alloc_handler(end_on_bad_alloc, NULL);
    vy_llvm_initialise();
    for (;;) {
        struct pollfd socket = {.fd = VY_COMPILE_SOCKET, .events = POLLIN};
        int ready = poll(&socket, 1, request.idle_ms > INT32_MAX ? -1 : (int)request.idle_ms);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            _exit(0);
        if (ready > 0)
            serve_one(&request);
    }
    return NULL;
}

/* ---- the process ---- */

/* Closes inherited descriptors: a pipe of the host would not reach its end while this process held it open. */
static void close_inherited(void) {
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; null >= 0 && i < (VY_COMPILE_SANITIZED ? STDERR_FILENO : VY_COMPILE_SOCKET); i++)
        if (null != i)
            (void)dup2(null, i);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, VY_COMPILE_SOCKET + 1, ~0u, 0) == 0)
        return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int i = VY_COMPILE_SOCKET + 1; i < most; i++)
        close(i);
}

/* If the machine runs out of memory, the kernel kills this process before the host. */
static void offer_to_oom_killer(void) {
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, "900", 3);
        close(file);
    }
}

static int start_worker(void) {
    pthread_attr_t attributes;
    pthread_t worker;
    return pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
           pthread_create(&worker, &attributes, work, NULL) == 0;
}

static _Noreturn void wait_for_hang_up(void) {
    struct pollfd socket = {.fd = VY_COMPILE_SOCKET, .events = POLLRDHUP};
    for (;;)
        if (poll(&socket, 1, -1) > 0 && socket.revents)
            _exit(0);
}

int main(int count, char **arguments) {
    struct stat facts;
    if (count == 2 && strcmp(arguments[1], "--version") == 0)
        return printf("vyre-compiler-llvm %s, LLVM %s\n", vyre_version(), LLVM_VERSION_STRING) < 0;
    if (count != 1 || fstat(VY_COMPILE_SOCKET, &facts) != 0 || !S_ISSOCK(facts.st_mode)) {
        fprintf(stderr, "vyre-compiler-llvm: libvyre starts this program when it compiles for backend `cpu`\n"
                        "Fix: run `vyre`\n");
        return 2;
    }
    vy_checksum(vy_cache_build(), strlen(vy_cache_build()), own_build);
    close_inherited();
    (void)!chdir("/");
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    lower_limit(RLIMIT_CORE, 0);
    offer_to_oom_killer();
    (void)mallopt(M_ARENA_MAX, 1);
    catch_signals();
    note_memory();
    if (!start_worker())
        end_without_memory();
    wait_for_hang_up();
}
