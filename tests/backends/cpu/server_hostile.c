/* A compile server that misbehaves on demand, for tests of its client.
 *
 * The name of the program says how, and from how many lanes on: `crash_16` crashes on requests for 16 lanes and more,
 * or for any (width 0). Any other request is left unread to the real server, which this process then becomes. So a
 * server misbehaves in its first request or never. */
#include "backends/cpu/compile_protocol.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static vy_compile_request request;
static char name[VY_COMPILE_NAME_LIMIT + 1];

/* Looks at the first bytes of the request and leaves them there. */
static void peek(void) {
    static char bytes[sizeof request + VY_COMPILE_NAME_LIMIT];
    size_t needed = sizeof request;
    for (ssize_t n = 0; (size_t)n < needed; usleep(100)) {
        n = recv(VY_COMPILE_SOCKET, bytes, needed, MSG_PEEK);
        if (n <= 0)
            _exit(0);
        memcpy(&request, bytes, sizeof request);
        if ((size_t)n >= sizeof request)
            needed = sizeof request + request.name_size;
    }
    memcpy(name, bytes + sizeof request, request.name_size);
}

static void become_real(void) {
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        strcpy(slash + 1, "vyre-compiler-llvm");
    execl(path, "vyre-compiler-llvm", (char *)NULL);
    _exit(126);
}

/* ---- misbehaviour ---- */

static void send_bytes(const void *data, size_t size) {
    if (send(VY_COMPILE_SOCKET, data, size, MSG_NOSIGNAL) != (ssize_t)size)
        _exit(0);
}

static vy_compile_reply reply_of(vy_compile_message message) {
    vy_compile_reply reply = {.magic = VY_COMPILE_MAGIC,
                              .message = message,
                              .step = VY_JIT_STEP_GENERATE,
                              .width = request.width ? request.width : 16};
    memcpy(reply.build, request.build, sizeof reply.build);
    return reply;
}

static void tell(vy_compile_message message, uint32_t detail, uint64_t size) {
    vy_compile_reply reply = reply_of(message);
    reply.detail = detail;
    reply.size = size;
    send_bytes(&reply, sizeof reply);
}

static void do_crash(void) {
    abort();
}

static void do_spin(void) {
    for (volatile int i = 0;; i = 1 - i)
        ;
}

static void do_sleep(void) {
    pause();
}

/* It has chosen the fewest lanes, and goes no further. */
static void do_low(void) {
    vy_compile_reply reply = reply_of(VY_COMPILE_STEP);
    reply.width = 4;
    send_bytes(&reply, sizeof reply);
    pause();
}

static void do_exit(void) {
    _exit(3);
}

static void do_memory(void) {
    tell(VY_COMPILE_MEMORY, 600, 0);
}

static void do_time(void) {
    tell(VY_COMPILE_TIME, 0, 0);
}

static void do_llvm(void) {
    vyre_error error = {.code = VYRE_UNSUPPORTED, .message = "LLVM failed: as a test requested", .fix = "none"};
    tell(VY_COMPILE_WIDTH, 0, sizeof error);
    send_bytes(&error, sizeof error);
}

static void do_garbage(void) {
    char bytes[4096];
    memset(bytes, 0x5a, sizeof bytes);
    send_bytes(bytes, sizeof bytes);
}

static void do_build(void) {
    vy_compile_reply reply = reply_of(VY_COMPILE_ERROR);
    reply.build[15] ^= 1;
    send_bytes(&reply, sizeof reply);
}

static void do_unknown(void) {
    tell((vy_compile_message)77, 0, 0);
}

static void do_huge(void) {
    tell(VY_COMPILE_RESULT, 0, UINT64_C(1) << 60);
}

static void do_cut(void) {
    tell(VY_COMPILE_RESULT, 0, 1000);
    send_bytes("ten bytes.", 10);
}

static void do_object(void) {
    char bytes[1000] = "no object";
    tell(VY_COMPILE_RESULT, 0, sizeof bytes);
    send_bytes(bytes, sizeof bytes);
    pause();
}

/* An error whose texts do not end, with a status that does not exist. */
static void do_error(void) {
    vyre_error error;
    memset(&error, 'x', sizeof error);
    tell(VY_COMPILE_ERROR, 0, sizeof error);
    send_bytes(&error, sizeof error);
    pause();
}

static void do_success(void) {
    vyre_error error = VYRE_ERROR_INIT;
    tell(VY_COMPILE_ERROR, 0, sizeof error);
    send_bytes(&error, sizeof error);
    pause();
}

/* The server ends while another process still has its end of the socket. */
static void do_hold(void) {
    if (fork() == 0) {
        char byte;
        while (recv(VY_COMPILE_SOCKET, &byte, 1, 0) > 0)
            ;
        _exit(0);
    }
    _exit(0);
}

/* tells: it first says that it has begun. */
static const struct {
    const char *name;
    int tells;
    void (*run)(void);
} behaviours[] = {
    {"crash", 1, do_crash},   {"spin", 1, do_spin},       {"sleep", 1, do_sleep}, {"exit", 1, do_exit},
    {"memory", 1, do_memory}, {"time", 1, do_time},       {"llvm", 1, do_llvm},   {"garbage", 0, do_garbage},
    {"build", 0, do_build},   {"unknown", 1, do_unknown}, {"huge", 1, do_huge},   {"cut", 1, do_cut},
    {"low", 0, do_low},       {"object", 1, do_object},   {"error", 1, do_error}, {"success", 1, do_success},
    {"hold", 1, do_hold},
};

int main(void) {
    peek();
    for (size_t i = 0; i < sizeof behaviours / sizeof *behaviours; i++) {
        size_t length = strlen(behaviours[i].name);
        if (strncmp(name, behaviours[i].name, length) != 0 || name[length] != '_')
            continue;
        if (request.width && request.width < (uint32_t)atoi(name + length + 1))
            break;
        if (behaviours[i].tells)
            tell(VY_COMPILE_STEP, 0, 0);
        alarm(60); /* the test may be gone: nothing else would end this process then */
        behaviours[i].run();
        return 0;
    }
    if (strcmp(name, "silent") == 0)
        return 5;
    become_real();
}
