/* The command in a child process (child.h). The command has one thread here, so the child may do what it likes before it becomes another
 * program. */
#include "tool/subprocess.h"

#include "driver/dispatch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FIRST_FREE = 16,  /* descriptors from here on are not ones the child uses */
    MAX_WORDS = 8,    /* of a child's command line */
    NOT_STARTED = 125 /* exit code before the child is another program */
};
#define MIN_MEMORY ((rlim_t)4 << 30) /* drivers may take as much; half of the machine is too much in any case */
#define KILL_NS UINT64_C(2000000000) /* how long a killed process may take to end */
#define TICK_MS 20

/* A sanitizer reserves more memory than any limit worth having. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMITS_MEMORY 0
#endif
#endif
#ifndef LIMITS_MEMORY
#define LIMITS_MEMORY 1
#endif

const char *tool_signal_name(int number, char text[80]) {
    const char *name = sigabbrev_np(number), *what = sigdescr_np(number);
    if (name && what)
        snprintf(text, 80, "SIG%s (%s)", name, what);
    else
        snprintf(text, 80, "signal %d", number);
    return text;
}

/* ---- the child ---- */

/* Lowers a limit, never raises it. */
static void lower_limit(int resource, rlim_t value) {
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 ||
        (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= value))
        return;
    limit.rlim_cur = value;
    setrlimit((__rlimit_resource_t)resource, &limit);
}

static rlim_t half_of_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    rlim_t half = pages > 0 && size > 0 ? (rlim_t)pages / 2 * (rlim_t)size : 0;
    return half > MIN_MEMORY ? half : MIN_MEMORY;
}

static void exec_child(const char *const *words, const char *plugins, uint64_t timeout_ns, int output, int answer) {
    char *argv[MAX_WORDS + 2] = {"vyre"};
    int nothing = open("/dev/null", O_RDONLY);
    for (int i = 0; i < MAX_WORDS && words[i]; i++)
        argv[i + 1] = (char *)words[i];
    setpgid(0, 0); /* so that what it starts ends with it */
    lower_limit(RLIMIT_CORE, 0);
    lower_limit(RLIMIT_CPU, (rlim_t)(timeout_ns / 1000000000u) + 2);
    if (LIMITS_MEMORY)
        lower_limit(RLIMIT_DATA, half_of_memory());
    unsetenv("VYRE_TRACE");
    if (plugins)
        setenv("VYRE_PLUGINS", plugins, 1);
    else
        unsetenv("VYRE_PLUGINS");
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    dup2(answer, TOOL_SUBPROCESS_RESULT_FD);
    execv("/proc/self/exe", argv);
    _exit(NOT_STARTED);
}

/* ---- the parent ---- */

/* Reads what is there; 0 at the end. What is over the limit is dropped. */
static int take(int from, vy_string *to, size_t limit) {
    char bytes[4096];
    ssize_t count = read(from, bytes, sizeof bytes);
    if (count < 0)
        return errno == EAGAIN || errno == EINTR;
    size_t capacity = limit - to->length;
    vy_string_append(to, bytes, (size_t)count < capacity ? (size_t)count : capacity);
    return count > 0;
}

/* The child has ended, but something it started may hold the pipes: what is in them now is all that counts. */
static void drain_pipe(int from, vy_string *to, size_t limit) {
    struct pollfd ready = {.fd = from, .events = POLLIN};
    for (int i = 0; i < 1024 && from >= 0 && poll(&ready, 1, 0) > 0; i++)
        if (!take(from, to, limit))
            return;
}

static int has_ended(pid_t child, int *status) {
    return waitpid(child, status, WNOHANG) != 0;
}

static int kill_and_wait(pid_t child, int *status) {
    uint64_t until = vy_clock_now() + KILL_NS;
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    while (!has_ended(child, status)) {
        if (vy_clock_now() > until)
            return 0;
        usleep(1000);
    }
    return 1;
}

static void wait_with_timeout(pid_t child, int output, int answer, uint64_t timeout_ns, tool_subprocess *out) {
    struct pollfd pipes[2] = {{.fd = output, .events = POLLIN}, {.fd = answer, .events = POLLIN}};
    uint64_t until = vy_clock_now() + timeout_ns;
    int status = 0, timed_out = 0, ended = 0;
    while (!ended && !timed_out) {
        poll(pipes, 2, pipes[0].fd < 0 && pipes[1].fd < 0 ? 1 : TICK_MS);
        if (pipes[0].revents && !take(output, &out->output, TOOL_SUBPROCESS_OUTPUT_LIMIT))
            pipes[0].fd = -1;
        if (pipes[1].revents && !take(answer, &out->answer, TOOL_SUBPROCESS_RESULT_LIMIT))
            pipes[1].fd = -1;
        ended = has_ended(child, &status);
        timed_out = !ended && vy_clock_now() > until;
    }
    int stuck = timed_out && !kill_and_wait(child, &status);
    drain_pipe(pipes[0].fd, &out->output, TOOL_SUBPROCESS_OUTPUT_LIMIT);
    drain_pipe(pipes[1].fd, &out->answer, TOOL_SUBPROCESS_RESULT_LIMIT);
    kill(-child, SIGKILL); /* what it left running */
    if (timed_out || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        out->end = stuck ? TOOL_SUBPROCESS_STUCK : TOOL_SUBPROCESS_TIMED_OUT;
    else
        out->end = WIFSIGNALED(status) ? TOOL_SUBPROCESS_SIGNALLED : TOOL_SUBPROCESS_EXITED;
    out->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (out->end == TOOL_SUBPROCESS_EXITED && out->code == NOT_STARTED && out->answer.length == 0)
        out->end = TOOL_SUBPROCESS_NOT_STARTED, out->code = ENOEXEC;
}

/* A pipe whose ends are out of the way of the child's descriptors. */
static int make_pipe(int ends[2]) {
    int low[2];
    if (pipe2(low, O_CLOEXEC | O_NONBLOCK) != 0)
        return 0;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, FIRST_FREE);
        close(low[i]);
    }
    if (ends[0] < 0 || ends[1] < 0)
        errno = EMFILE; /* EINVAL, if no number that high is allowed */
    if (ends[1] >= 0)   /* the child's end: printing does not fail because the reader is slow */
        fcntl(ends[1], F_SETFL, 0);
    return ends[0] >= 0 && ends[1] >= 0;
}

static void close_pipe(const int ends[2]) {
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

void tool_subprocess_run(const char *const *words, const char *plugins, uint64_t timeout_ns, tool_subprocess *out) {
    int output[2] = {-1, -1}, answer[2] = {-1, -1};
    *out = (tool_subprocess){.end = TOOL_SUBPROCESS_NOT_STARTED};
    fflush(NULL);
    pid_t child = make_pipe(output) && make_pipe(answer) ? fork() : -1;
    if (child == 0)
        exec_child(words, plugins, timeout_ns, output[1], answer[1]);
    out->code = errno;
    if (child > 0) {
        setpgid(child, child); /* here too: whichever comes first */
        close(output[1]);
        close(answer[1]);
        output[1] = answer[1] = -1;
        wait_with_timeout(child, output[0], answer[0], timeout_ns, out);
    }
    close_pipe(output);
    close_pipe(answer);
}

void tool_subprocess_free(tool_subprocess *child) {
    vy_string_free(&child->answer);
    vy_string_free(&child->output);
}
