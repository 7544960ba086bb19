/* Threads and their deadlines, the CPU count (affinity mask and cgroup quota) and the floating-point environment. */
#include "base/thread.h"

#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Thread_local uint64_t vy_thread_number_cached;

uint64_t vy_thread_number_assign(void) {
    static _Atomic uint64_t next; /* 64 bits do not wrap around */
    vy_thread_number_cached = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) + 1;
    return vy_thread_number_cached - 1;
}

typedef struct work {
    void (*body)(void *user, unsigned worker);
    void *user;
} work;

typedef struct worker {
    const work *work;
    unsigned index;
    pthread_t thread;
} worker;

int vy_thread_start(pthread_t *thread, void *(*body)(void *user), void *user) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(thread, NULL, body, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = result ? result : errno;
    return result == 0;
}

void vy_cond_init_monotonic(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void *run_worker(void *argument) {
    worker *self = argument;
    (void)vy_cancellation_disable();
    self->work->body(self->work->user, self->index);
    return NULL;
}

void vy_parallel(unsigned workers, void (*body)(void *user, unsigned worker), void *user) {
    work shared = {body, user};
    unsigned others = workers > 1 ? workers - 1 : 0, started = 0;
    size_t size = vy_array_size(others, sizeof(worker));
    worker *threads = vy_allocate(size);
    for (; threads && started < others; started++) {
        threads[started] = (worker){.work = &shared, .index = started + 1};
        if (!vy_thread_start(&threads[started].thread, run_worker, &threads[started]))
            break;
    }
    body(user, 0);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i].thread, NULL);
    vy_release(threads, size);
}

/* ---- CPU count ----
 *
 * The smaller of the affinity mask and the CPU quota of the process's control groups (cgroups v1 and v2) and all their
 * ancestors. Nothing is allocated. */

#define PATH_CAPACITY 4096

/* Reads the start of a small file as text; returns 0 if it cannot be read or is empty. */
static int read_text(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t count = read(file, text, size - 1);
    close(file);
    if (count <= 0)
        return 0;
    text[count] = 0;
    return 1;
}

/* CPUs that a quota of `quota` time units per `period` allows, rounded up; UINT32_MAX for no limit. */
static unsigned cpus_of_quota(long long quota, long long period) {
    if (quota <= 0 || period <= 0)
        return UINT32_MAX;
    long long cores = quota / period + (quota % period != 0);
    return cores > UINT32_MAX ? UINT32_MAX : (unsigned)cores;
}

/* The quota of one group folder of cgroup version 1 or 2. */
static unsigned read_quota(const char *folder, int version) {
    char path[PATH_CAPACITY + 32], text[128];
    long long quota = 0, period = 0;
    if (version == 2) {
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        char *rest;
        if (!read_text(path, text, sizeof text))
            return UINT32_MAX;
        quota = strtoll(text, &rest, 10); /* "max" is 0: no limit */
        period = strtoll(rest, NULL, 10);
        return cpus_of_quota(quota, period);
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (read_text(path, text, sizeof text))
        quota = strtoll(text, NULL, 10); /* -1: no limit */
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (read_text(path, text, sizeof text))
        period = strtoll(text, NULL, 10);
    return cpus_of_quota(quota, period);
}

/* The smallest quota of mount/group and its ancestors up to the mount. */
static unsigned min_quota(const char *mount, const char *group, int version) {
    char folder[PATH_CAPACITY];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return UINT32_MAX;
    unsigned least = UINT32_MAX;
    size_t root = strlen(mount);
    for (;;) {
        unsigned quota = read_quota(folder, version);
        if (quota < least)
            least = quota;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < root || folder[root] == 0)
            return least;
        *slash = 0;
    }
}

/* Whether "cpu" is one of the comma-separated controllers. */
static int has_cpu_controller(const char *controllers) {
    for (const char *at = controllers; at; at = strchr(at, ',')) {
        at += *at == ',';
        size_t length = strcspn(at, ",");
        if (length == 3 && memcmp(at, "cpu", 3) == 0)
            return 1;
    }
    return 0;
}

unsigned vy_cgroup_cpu_count(const char *membership, const char *mount) {
    char text[PATH_CAPACITY], folder[PATH_CAPACITY];
    unsigned least = UINT32_MAX;
    if (!read_text(membership, text, sizeof text))
        return least;
    /* Lines "0::/group" (version 2) and "4:cpu,cpuacct:/group" (version 1). */
    char *state = NULL;
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = 0;
        *group++ = 0;
        unsigned quota = UINT32_MAX;
        if (*controllers == 0) {
            quota = min_quota(mount, group, 2);
        } else if (has_cpu_controller(controllers)) {
            int length = snprintf(folder, sizeof folder, "%s/%s", mount, controllers);
            if (length > 0 && (size_t)length < sizeof folder)
                quota = min_quota(folder, group, 1);
        }
        if (quota < least)
            least = quota;
    }
    return least;
}

unsigned vy_cpu_count(void) {
    cpu_set_t sets[8]; /* 8192 CPUs; with more, the call fails, and 1 is the safe result */
    unsigned cores = 1;
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        cores = (unsigned)CPU_COUNT_S(sizeof sets, sets);
    unsigned quota = vy_cgroup_cpu_count("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota < cores)
        cores = quota;
    return cores ? cores : 1;
}

/* ---- floating-point environment ----
 *
 * vy_fenv_enter replaces all of the control state and vy_fenv_leave restores it with the exception flags, so a caller
 * that traps, flushes or rounds differently sees no change. */

#if defined(__x86_64__)

/* MXCSR: all exceptions masked, nearest-even, neither flush-to-zero nor denormals-are-zero, flags clear. The x87 word:
 * masked, nearest, 64-bit significand: the ABI's initial value. */
#define OUR_MXCSR 0x1f80u
#define OUR_X87 0x037fu

void vy_fenv_enter(vy_fenv *saved) {
    unsigned mxcsr, ours = OUR_MXCSR;
    unsigned short x87, our_x87 = OUR_X87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87) : : "memory");
    saved->words[0] = mxcsr;
    saved->words[1] = x87;
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(ours), "m"(our_x87) : "memory");
}

void vy_fenv_leave(const vy_fenv *saved) {
    unsigned mxcsr = (unsigned)saved->words[0];
    unsigned short x87 = (unsigned short)saved->words[1];
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87) : "memory");
}

#elif defined(__aarch64__)

/* FPCR 0: nearest-even, no flush-to-zero (FZ, FZ16), no default-NaN, no traps. FPSR holds the exception flags. */
void vy_fenv_enter(vy_fenv *saved) {
    unsigned long control, status;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status) : : "memory");
    saved->words[0] = control;
    saved->words[1] = status;
    __asm__ volatile("msr fpcr, %0" : : "r"(0ul) : "memory");
}

void vy_fenv_leave(const vy_fenv *saved) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(saved->words[0]), "r"(saved->words[1]) : "memory");
}

#else

#include <fenv.h>

_Static_assert(sizeof(fenv_t) <= sizeof(vy_fenv), "the environment of this platform fits");

void vy_fenv_enter(vy_fenv *saved) {
    fenv_t environment;
    fegetenv(&environment);
    memcpy(saved->words, &environment, sizeof environment);
    fesetenv(FE_DFL_ENV);
}

void vy_fenv_leave(const vy_fenv *saved) {
    fenv_t environment;
    memcpy(&environment, saved->words, sizeof environment);
    fesetenv(&environment);
}

#endif

/* Deadlines of threads (thread.h). */
static _Thread_local vy_deadline_scope own; /* zeros: no deadline */

vy_deadline_scope vy_deadline_begin(uint64_t deadline_ns) {
    vy_deadline_scope before = own;
    if (deadline_ns && (!before.deadline_ns || deadline_ns < before.deadline_ns))
        own = (vy_deadline_scope){deadline_ns, before.deadline_ns ? before.begun_ns : vy_clock_now()};
    return before;
}

void vy_deadline_end(vy_deadline_scope before) {
    own = before;
}

uint64_t vy_deadline(void) {
    return own.deadline_ns;
}

vyre_status vy_deadline_check(const char *program, const char *step, vyre_error *error) {
    if (!own.deadline_ns)
        return VYRE_OK;
    uint64_t now = vy_clock_now();
    if (now < own.deadline_ns)
        return VYRE_OK;
    return vy_fail(error, VYRE_TIMEOUT,
                   "raise the timeout, or compile the program before with a longer one (vyre_compile)",
                   "`%s` was not compiled at its deadline: it was before step `%s`, %.3f s after the compile had begun",
                   program, step, (double)(now - own.begun_ns) / 1e9);
}
