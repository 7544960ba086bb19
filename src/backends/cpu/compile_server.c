/* Compile servers: the pool of child processes that run LLVM (compile_server.h). Invariant: every descriptor is
 * created and closed with the lock held, and no thread blocks while holding it. */
#include "backends/cpu/compile_server.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "driver/cache_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERVERS_MAX = 64, REMEMBERED = 16 };

typedef enum server_state { SERVER_NONE, SERVER_IDLE, SERVER_BUSY } server_state;

/* Written with the lock held. The thread that owns a busy server reads it without the lock. */
typedef struct server {
    server_state state;
    int socket;    /* this process's end; -1: none, as for the next two */
    int theirs;    /* the server's end, until it has started */
    int pidfd;     /* also -1 if the system has none: then the process ends when its socket is closed */
    pid_t pid;     /* 0: no process to reap */
    uint64_t used; /* time when it became idle, by the pool's clock */
    int is_used;   /* it has answered before, so it may have ended since */
    int has_told;  /* it has sent a message for the request */
    int has_ended; /* the process has ended */
} server;

typedef struct remembered {
    vyre_digest key;
    uint32_t width;
} remembered;

struct vy_compile_pool {
    vy_compile_pool *next;
    unsigned references;
    unsigned most; /* number of servers */
    uint64_t clock;
    pthread_cond_t changed; /* a server became idle or ended */
    server servers[SERVERS_MAX];
    unsigned remembered_count; /* total; the oldest entry is replaced */
    remembered remembered[REMEMBERED];
    size_t size;
    char path[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all pools and the list; never held while blocking */
static vy_compile_pool *pools;

/* ---- descriptors ---- */

static void close_end(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Requires the lock. */
static void forget(server *s) {
    close_end(&s->socket);
    close_end(&s->theirs);
    close_end(&s->pidfd);
    s->pid = 0;
    s->state = SERVER_NONE;
}

/* Moves a descriptor above the standard streams. Returns 0 if no descriptor is available. */
static int move_up(int *fd) {
    if (*fd > STDERR_FILENO)
        return 1;
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int reason = errno;
    close(*fd);
    *fd = moved;
    errno = reason;
    return moved >= 0;
}

/* Requires the lock. */
static int make_ends(server *s) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return 0;
    s->socket = ends[0], s->theirs = ends[1];
    return move_up(&s->socket) && move_up(&s->theirs);
}

static int open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

static void kill_pidfd(int pidfd) {
#ifdef SYS_pidfd_send_signal
    (void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
#else
    (void)pidfd;
#endif
}

/* ---- fork ---- */

static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&lock);
}

/* The servers are children of the parent, and the threads that used them do not exist in the child. */
static void after_fork_in_child(void) {
    for (vy_compile_pool *pool = pools; pool; pool = pool->next) {
        for (unsigned i = 0; i < SERVERS_MAX; i++)
            forget(&pool->servers[i]);
        vy_cond_init_monotonic(&pool->changed);
    }
    pthread_mutex_unlock(&lock);
}

static int fork_result;

static void register_atfork(void) {
    fork_result = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- processes ---- */

static vyre_status fail_start(const vy_compile_pool *pool, int reason, vyre_error *error) {
    char text[128];
    const char *words = strerror_r(reason, text, sizeof text);
    if (reason == ENOMEM)
        return vy_fail_memory(error, "starting the compiler");
    if (reason == EMFILE || reason == ENFILE)
        return vy_fail(error, VYRE_IO, "close files, or raise the limit (`ulimit -n`)",
                       "the compiler `%s` cannot be started: no file descriptor is left (%s)", pool->path, words);
    if (reason == EAGAIN)
        return vy_fail(error, VYRE_IO, "end processes, or raise the limit (`ulimit -u`)",
                       "the compiler `%s` cannot be started: no process is left (%s)", pool->path, words);
    return vy_fail(error, VYRE_UNSUPPORTED,
                   "name the executable `vyre-compiler-llvm` in VYRE_COMPILER, or install it again",
                   "the compiler `%s` cannot be started (%s)", pool->path, words);
}

/* Redirects the standard streams to /dev/null. */
static int add_streams(posix_spawn_file_actions_t *actions) {
    int result = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    if (!result)
        result = posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDOUT_FILENO);
    if (!result && !VY_COMPILE_SANITIZED)
        result = posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDERR_FILENO);
    return result;
}

/* Runs in a separate process group, so that signals of a terminal to the host (Ctrl-C) do not reach it. The
 * environment is empty: no variable is needed, and reading them would race with setenv() in another thread. */
static int spawn_with(const char *path, int socket, int has_null, pid_t *pid) {
    char *const arguments[] = {(char *)"vyre-compiler-llvm", NULL};
    char *const variables[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int result = posix_spawn_file_actions_init(&actions);
    if (result)
        return result;
    result = posix_spawnattr_init(&attributes);
    if (!result) {
        (void)posix_spawnattr_setflags(&attributes,
                                       POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
        (void)posix_spawnattr_setsigdefault(&attributes, &all);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setpgroup(&attributes, 0);
        result = posix_spawn_file_actions_adddup2(&actions, socket, VY_COMPILE_SOCKET);
        if (!result && has_null)
            result = add_streams(&actions);
        if (!result)
            result = posix_spawn(pid, path, &actions, &attributes, arguments, variables);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

/* Without /dev/null the server inherits the host's streams. */
static int spawn(const char *path, int socket, pid_t *pid) {
    int result = spawn_with(path, socket, 1, pid);
    return result && result != ENOMEM && result != EAGAIN ? spawn_with(path, socket, 0, pid) : result;
}

/* Starts the process of a server that this thread owns; on failure it is SERVER_NONE again. */
static vyre_status start(vy_compile_pool *pool, server *s, vyre_error *error) {
    pid_t pid = 0;
    pthread_mutex_lock(&lock);
    int result = make_ends(s) ? 0 : errno;
    pthread_mutex_unlock(&lock);
    if (!result)
        result = spawn(pool->path, s->theirs, &pid);
    pthread_mutex_lock(&lock);
    close_end(&s->theirs);
    if (!result) {
        s->pid = pid;
        s->pidfd = open_pidfd(pid);
        if (s->pidfd >= 0)
            (void)move_up(&s->pidfd);
        s->is_used = 0;
        s->has_ended = 0;
    } else {
        forget(s);
        pthread_cond_signal(&pool->changed);
    }
    pthread_mutex_unlock(&lock);
    return result ? fail_start(pool, result, error) : VYRE_OK;
}

/* Without a pidfd the process is not signalled, because its number may have been reused: it ends because its socket
 * is closed. If the host reaps all children, the status is unknown. */
static void reap(const server *s, siginfo_t *reason) {
    enum { BY_PIDFD = 3 }; /* P_PIDFD, which older headers lack */
    if (s->pidfd >= 0)
        kill_pidfd(s->pidfd);
    idtype_t by = s->pidfd >= 0 ? (idtype_t)BY_PIDFD : P_PID;
    while (waitid(by, s->pidfd >= 0 ? (id_t)s->pidfd : (id_t)s->pid, reason, WEXITED) != 0 && errno == EINTR)
        ;
}

/* Ends a server that this thread owns. The reason has si_pid 0 if it is unknown. */
static siginfo_t retire(vy_compile_pool *pool, server *s) {
    siginfo_t reason = {.si_signo = 0};
    pthread_mutex_lock(&lock);
    close_end(&s->socket);
    pthread_mutex_unlock(&lock);
    if (s->pid)
        reap(s, &reason);
    pthread_mutex_lock(&lock);
    forget(s);
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&lock);
    return reason;
}

/* ---- the pool ---- */

/* The most recently used one, so that surplus servers become idle and end. Requires the lock, as do the next three. */
static server *find_idle(vy_compile_pool *pool) {
    server *best = NULL;
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        server *s = &pool->servers[i];
        if (s->state == SERVER_IDLE && (!best || s->used > best->used))
            best = s;
    }
    return best;
}

static server *find_none(vy_compile_pool *pool) {
    server *none = NULL;
    unsigned count = 0;
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        count += pool->servers[i].state != SERVER_NONE;
        if (pool->servers[i].state == SERVER_NONE && !none)
            none = &pool->servers[i];
    }
    return count < pool->most ? none : NULL;
}

static server *claim(vy_compile_pool *pool) {
    server *s = find_idle(pool);
    if (!s)
        s = find_none(pool);
    if (s)
        s->state = SERVER_BUSY;
    return s;
}

/* An idle server that has ended, for this thread to retire. */
static server *claim_ended(vy_compile_pool *pool) {
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        server *s = &pool->servers[i];
        struct pollfd process = {.fd = s->pidfd, .events = POLLIN};
        if (s->state == SERVER_IDLE && s->pidfd >= 0 && poll(&process, 1, 0) > 0) {
            s->state = SERVER_BUSY;
            return s;
        }
    }
    return NULL;
}

/* NULL: the time expired. */
static server *acquire(vy_compile_pool *pool, uint64_t until_ns) {
    const struct timespec until = vy_clock_timespec(until_ns);
    int result = 0;
    pthread_mutex_lock(&lock);
    server *s = claim(pool);
    while (!s && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&pool->changed, &lock, &until);
        s = claim(pool);
    }
    pthread_mutex_unlock(&lock);
    return s;
}

/* Reaps servers that have ended meanwhile, so that no zombies remain while programs are compiled. */
static void release(vy_compile_pool *pool, server *s) {
    pthread_mutex_lock(&lock);
    s->state = SERVER_IDLE;
    s->is_used = 1;
    s->used = ++pool->clock;
    pthread_cond_signal(&pool->changed);
    for (;;) {
        server *ended = claim_ended(pool);
        pthread_mutex_unlock(&lock);
        if (!ended)
            return;
        (void)retire(pool, ended);
        pthread_mutex_lock(&lock);
    }
}

vyre_status vy_compile_pool_open(const char *path, vy_compile_pool **out, vyre_error *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_atfork);
    size_t size = sizeof(vy_compile_pool) + strlen(path) + 1;
    vy_compile_pool *fresh = fork_result == 0 ? vy_allocate_zero(size) : NULL;
    *out = NULL;
    if (!fresh)
        return vy_fail_memory(error, "opening the compiler");
    unsigned cores = vy_cpu_count();
    fresh->references = 1;
    fresh->most = cores < SERVERS_MAX ? cores : SERVERS_MAX;
    fresh->size = size;
    memcpy(fresh->path, path, strlen(path) + 1);
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        fresh->servers[i].socket = fresh->servers[i].theirs = fresh->servers[i].pidfd = -1;
    vy_cond_init_monotonic(&fresh->changed);
    pthread_mutex_lock(&lock);
    vy_compile_pool *pool = pools;
    while (pool && strcmp(pool->path, path) != 0)
        pool = pool->next;
    if (pool) {
        pool->references++;
    } else {
        fresh->next = pools;
        pools = pool = fresh;
    }
    pthread_mutex_unlock(&lock);
    if (pool != fresh) {
        pthread_cond_destroy(&fresh->changed);
        vy_release(fresh, size);
    }
    *out = pool;
    return VYRE_OK;
}

void vy_compile_pool_close(vy_compile_pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&lock);
    int is_last = --pool->references == 0;
    vy_compile_pool **link = &pools;
    while (is_last && *link != pool)
        link = &(*link)->next;
    if (is_last)
        *link = pool->next;
    pthread_mutex_unlock(&lock);
    if (!is_last)
        return;
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        if (pool->servers[i].state != SERVER_NONE)
            (void)retire(pool, &pool->servers[i]);
    pthread_cond_destroy(&pool->changed);
    vy_release(pool, pool->size);
}

/* ---- messages ---- */

typedef enum moved { MOVED, ENDED, LATE } moved;

/* Waits until the socket may be ready. A third process may hold a copy of the server's end, so the end of the server
 * is also detected by the pidfd; messages that it sent before are still read. */
static moved wait_for(server *s, short events, uint64_t until_ns) {
    struct pollfd both[2] = {{.fd = s->socket, .events = events}, {.fd = s->pidfd, .events = POLLIN}};
    for (;;) {
        uint64_t now = vy_clock_now();
        if (now >= until_ns)
            return LATE;
        struct timespec left = vy_clock_timespec(until_ns - now);
        int count = ppoll(both, 2, &left, NULL);
        if (count < 0 && errno != EINTR)
            return ENDED;
        if (count > 0 && both[0].revents)
            return MOVED;
        if (count > 0 && s->has_ended)
            return ENDED;
        if (count > 0) {
            s->has_ended = 1;
            return MOVED;
        }
    }
}

static int is_full_or_interrupted(void) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static moved send_all(server *s, const void *data, size_t size, uint64_t until_ns) {
    const char *at = data;
    while (size) {
        ssize_t n = send(s->socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (!is_full_or_interrupted() || s->has_ended))
            return ENDED;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
        moved moved = n < 0 && errno != EINTR ? wait_for(s, POLLOUT, until_ns) : MOVED;
        if (moved != MOVED)
            return moved;
    }
    return MOVED;
}

static moved receive_all(server *s, void *data, size_t size, uint64_t until_ns) {
    char *at = data;
    while (size) {
        ssize_t n = recv(s->socket, at, size, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && (!is_full_or_interrupted() || (s->has_ended && errno != EINTR))))
            return ENDED;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
        moved moved = n < 0 && errno != EINTR ? wait_for(s, POLLIN, until_ns) : MOVED;
        if (moved != MOVED)
            return moved;
    }
    return MOVED;
}

/* ---- one request ---- */

static vyre_status fail_build(const vy_compile_pool *pool, const vy_compile_reply *reply, vyre_error *error) {
    if (reply->magic != VY_COMPILE_MAGIC)
        return vy_fail(error, VYRE_CORRUPT,
                       "name the executable `vyre-compiler-llvm` in VYRE_COMPILER, or install it again",
                       "the compiler `%s` sends something that is not a reply", pool->path);
    return vy_fail(error, VYRE_ABI_MISMATCH,
                   "install the compiler that was built with this library, or build `vyre-compiler-llvm`",
                   "the compiler `%s` is from another build than this library", pool->path);
}

static vyre_status check_reply(const vy_compile_pool *pool, const vy_compile_request *request,
                               const vy_compile_reply *reply, vyre_error *error) {
    if (reply->magic != VY_COMPILE_MAGIC || memcmp(reply->build, request->build, sizeof reply->build) != 0)
        return fail_build(pool, reply, error);
    int is_error = reply->message == VY_COMPILE_ERROR || reply->message == VY_COMPILE_WIDTH;
    uint64_t most = reply->message == VY_COMPILE_RESULT ? VY_COMPILE_RESULT_LIMIT : is_error ? sizeof *error : 0;
    if (reply->message < VY_COMPILE_MESSAGE_COUNT && reply->step < VY_JIT_STEP_COUNT &&
        reply->width <= VY_CPU_WIDTH_MAX && reply->size <= most && (!is_error || reply->size == most))
        return VYRE_OK;
    return vy_fail(error, VYRE_CORRUPT, "install the compiler again, or report this with the program",
                   "the compiler `%s` sends a malformed reply (message %u of %u bytes)", pool->path,
                   (unsigned)reply->message, (unsigned)reply->size);
}

/* Checks and stores the server's error; *is_sound is 0 if it is invalid. */
static vyre_status receive_error(const vy_compile_pool *pool, vyre_error *told, int *is_sound, vyre_error *error) {
    told->message[sizeof told->message - 1] = told->fix[sizeof told->fix - 1] = told->where[sizeof told->where - 1] = 0;
    told->subject[sizeof told->subject - 1] = told->first[sizeof told->first - 1] = 0;
    told->second[sizeof told->second - 1] = 0;
    *is_sound = told->code != VYRE_OK && strcmp(vyre_status_name(told->code), "UNKNOWN") != 0 && told->message[0];
    if (!*is_sound)
        return vy_fail(error, VYRE_CORRUPT, "install the compiler again, or report this with the program",
                       "the compiler `%s` fails without an error (status %d)", pool->path, (int)told->code);
    *error = *told;
    return told->code;
}

static moved send_request(server *s, const vy_compile_request *request, const char *name, vyre_span wire,
                          uint64_t until_ns) {
    moved moved = send_all(s, request, sizeof *request, until_ns);
    if (moved == MOVED)
        moved = send_all(s, name, request->name_size, until_ns);
    return moved == MOVED ? send_all(s, wire.data, wire.size, until_ns) : moved;
}

/* One exchange and its results. */
typedef struct exchange {
    const vy_compile_request *request;
    vyre_bytes *out;
    uint64_t *times;
    uint64_t until_ns;
    vy_compile_outcome *outcome;
    int keeps_server;
} exchange;

/* Reads the data that follows the last message of a request. */
static moved receive_contents(const vy_compile_pool *pool, server *s, const vy_compile_reply *reply, exchange *e,
                              vyre_status *status, vyre_error *error) {
    vyre_error told;
    if (reply->message != VY_COMPILE_RESULT) {
        moved moved = receive_all(s, &told, sizeof told, e->until_ns);
        if (moved == MOVED)
            *status = receive_error(pool, &told, &e->keeps_server, error);
        return moved;
    }
    *status = vyre_bytes_resize(e->out, (size_t)reply->size, error);
    if (*status != VYRE_OK)
        return MOVED;
    if (e->times)
        memcpy(e->times, reply->times, sizeof reply->times);
    moved moved = receive_all(s, e->out->data, e->out->size, e->until_ns);
    e->keeps_server = moved == MOVED;
    return moved;
}

/* Reads messages until one ends the request. */
static moved receive_reply(const vy_compile_pool *pool, server *s, exchange *e, vyre_status *status,
                           vyre_error *error) {
    static const vy_compile_end ends[VY_COMPILE_MESSAGE_COUNT] = {
        [VY_COMPILE_RESULT] = VY_COMPILE_END_DONE, [VY_COMPILE_ERROR] = VY_COMPILE_END_DONE,
        [VY_COMPILE_WIDTH] = VY_COMPILE_END_WIDTH, [VY_COMPILE_MEMORY] = VY_COMPILE_END_MEMORY,
        [VY_COMPILE_TIME] = VY_COMPILE_END_TIME,   [VY_COMPILE_SIGNAL] = VY_COMPILE_END_CRASHED};
    vy_compile_reply reply;
    do {
        moved moved = receive_all(s, &reply, sizeof reply, e->until_ns);
        if (moved != MOVED)
            return moved;
        s->has_told = 1;
        *status = check_reply(pool, e->request, &reply, error);
        if (*status != VYRE_OK)
            return MOVED;
        e->outcome->step = reply.step;
        e->outcome->width = reply.width;
        e->outcome->has_begun = 1;
    } while (reply.message == VY_COMPILE_STEP);
    e->outcome->end = ends[reply.message];
    e->outcome->detail = reply.detail;
    if (reply.message > VY_COMPILE_WIDTH)
        return MOVED;
    moved moved = receive_contents(pool, s, &reply, e, status, error);
    e->keeps_server = e->keeps_server && !reply.is_last;
    return moved;
}

/* The server ended without a message. A limit of the host's address space applies to the server too, which needs
 * some of it to start. */
static vyre_status fail_silent(const vy_compile_pool *pool, const siginfo_t *reason, vyre_error *error) {
    struct rlimit space;
    const char *fix =
        getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY
            ? "raise the limit of the process on address space (`ulimit -v`): the compiler needs 512 MiB"
            : "name the executable `vyre-compiler-llvm` in VYRE_COMPILER, and install what it needs (`ldd` lists it)";
    const char *how = !reason->si_pid                 ? "its exit status is not known"
                      : reason->si_code == CLD_EXITED ? VY_FIX("exit status %d", reason->si_status)
                                                      : VY_FIX("signal %d", reason->si_status);
    return vy_fail(error, VYRE_UNSUPPORTED, fix, "the compiler `%s` ends before it reads a request (%s)", pool->path,
                   how);
}

/* Runs a request on a server; sets *again if an idle server turned out to have ended. */
static vyre_status run_on(vy_compile_pool *pool, server *s, const char *name, vyre_span wire, exchange *e, int *again,
                          vyre_error *error) {
    vyre_status status = VYRE_OK;
    s->has_told = 0;
    e->keeps_server = 0;
    moved moved = send_request(s, e->request, name, wire, e->until_ns);
    if (moved != LATE) /* a server that ended while the request was sent may have reported why */
        moved = receive_reply(pool, s, e, &status, error);
    if (e->keeps_server) {
        release(pool, s);
        return status;
    }
    int was_used = s->is_used, has_told = s->has_told;
    siginfo_t reason = retire(pool, s);
    if (moved == MOVED)
        return status;
    e->outcome->end = moved == LATE ? VY_COMPILE_END_LATE : VY_COMPILE_END_CRASHED;
    e->outcome->detail = reason.si_pid && reason.si_code != CLD_EXITED ? (uint32_t)reason.si_status : 0;
    *again = moved == ENDED && was_used && !has_told;
    if (moved == LATE || *again || has_told)
        return VYRE_OK;
    e->outcome->end = VY_COMPILE_END_DONE; /* another attempt would not help */
    return fail_silent(pool, &reason, error);
}

vyre_status vy_compile_pool_request(vy_compile_pool *pool, vy_compile_request *request, const char *name,
                                    vyre_span wire, uint64_t until_ns, vyre_bytes *out, uint64_t *times,
                                    vy_compile_outcome *outcome, vyre_error *error) {
    exchange e = {.request = request, .out = out, .times = times, .until_ns = until_ns, .outcome = outcome};
    vyre_status status = VYRE_OK;
    int again;
    request->magic = VY_COMPILE_MAGIC;
    vy_checksum(vy_cache_build(), strlen(vy_cache_build()), request->build);
    request->name_size = (uint32_t)strnlen(name, VY_COMPILE_NAME_LIMIT);
    request->wire_size = wire.size;
    if (wire.size > VY_COMPILE_WIRE_LIMIT)
        return vy_fail(error, VYRE_LIMIT, "split the program into several",
                       "the program has %zu bytes in its wire form, over the limit of the compiler (%d)", wire.size,
                       VY_COMPILE_WIRE_LIMIT);
    do {
        again = 0;
        *outcome = (vy_compile_outcome){.end = VY_COMPILE_END_DONE};
        server *s = acquire(pool, until_ns);
        if (!s) {
            outcome->end = VY_COMPILE_END_LATE;
            return VYRE_OK;
        }
        if (!s->pid)
            status = start(pool, s, error);
        if (status == VYRE_OK)
            status = run_on(pool, s, name, wire, &e, &again, error);
    } while (again);
    return status;
}

/* ---- widths ---- */

static void make_key(const vy_compile_request *request, vyre_span wire, vyre_digest *out) {
    struct {
        vyre_digest wire;
        uint64_t features, width;
    } parts = {.features = request->features, .width = request->width};
    vy_digest(wire.data, wire.size, &parts.wire);
    vy_digest(&parts, sizeof parts, out);
}

uint32_t vy_compile_pool_lookup_width(vy_compile_pool *pool, const vy_compile_request *request, vyre_span wire) {
    vyre_digest key;
    uint32_t width = 0;
    pthread_mutex_lock(&lock);
    unsigned count = pool->remembered_count;
    pthread_mutex_unlock(&lock);
    if (!count)
        return 0;
    make_key(request, wire, &key);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < REMEMBERED; i++)
        if (memcmp(&pool->remembered[i].key, &key, sizeof key) == 0)
            width = pool->remembered[i].width;
    pthread_mutex_unlock(&lock);
    return width;
}

void vy_compile_pool_record_width(vy_compile_pool *pool, const vy_compile_request *request, vyre_span wire,
                                  uint32_t width) {
    remembered entry = {.width = width};
    make_key(request, wire, &entry.key);
    pthread_mutex_lock(&lock);
    pool->remembered[pool->remembered_count++ % REMEMBERED] = entry;
    pthread_mutex_unlock(&lock);
}
