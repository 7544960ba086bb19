/* Probes of `vyre doctor` that may crash: plug-ins, backends and driver libraries, each examined in a child process.
 *
 * The file contains both sides: the parent starts `vyre doctor child TASK` with limits and interprets its records and
 * its end; the worker performs the task. */
#include "tool/doctor.h"

#include "base/string.h"
#include "base/trusted_path.h"
#include "driver/dispatch.h"
#include "driver/plugin.h"
#include "driver/registry.h"
#include "vyre/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- subprocess ----
 *
 * The command runs itself as a child process that may crash, hang, exit or print. The child has its own process group,
 * captured standard output and error, no input, no core file, and limits on memory and processor time. It writes its
 * records to DOCTOR_RESULT_FD. */

enum {
    RESULT_LIMIT = 1 << 20 /* bytes of records */,
    OUTPUT_LIMIT = 256 /* bytes of captured output; the rest is read and dropped */
};

typedef enum subprocess_end {
    SUBPROCESS_EXITED,     /* code: the exit code */
    SUBPROCESS_SIGNALLED,  /* code: the signal */
    SUBPROCESS_TIMED_OUT,  /* killed after the timeout */
    SUBPROCESS_STUCK,      /* killed, but blocked in the kernel */
    SUBPROCESS_NOT_STARTED /* code: errno */
} subprocess_end;

typedef struct subprocess {
    subprocess_end end;
    int code;
    vy_string answer, output; /* `failed` if memory was exhausted */
} subprocess;

enum {
    FIRST_FREE = 16,  /* lowest descriptor that the child does not use */
    MAX_WORDS = 8,    /* of the child's command line */
    NOT_STARTED = 125 /* exit code if exec fails */
};
#define MIN_MEMORY ((rlim_t)4 << 30) /* drivers may need this much; half of the physical memory is always excessive */
#define KILL_NS UINT64_C(2000000000) /* maximum time until a killed process ends */
#define TICK_MS 20

/* Sanitizers reserve more memory than any useful limit. */
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

/* Writes a name such as "SIGSEGV (Segmentation fault)". */
static const char *signal_name(int number, char text[80]) {
    const char *name = sigabbrev_np(number), *what = sigdescr_np(number);
    if (name && what)
        snprintf(text, 80, "SIG%s (%s)", name, what);
    else
        snprintf(text, 80, "signal %d", number);
    return text;
}

/* ---- subprocess: the child ---- */

/* Lowers a limit; never raises it. */
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
    setpgid(0, 0); /* so that processes it starts can be killed with it */
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
    dup2(answer, DOCTOR_RESULT_FD);
    execv("/proc/self/exe", argv);
    _exit(NOT_STARTED);
}

/* ---- subprocess: the parent ---- */

/* Reads available bytes; returns 0 at the end. Bytes beyond the limit are dropped. */
static int read_pipe(int from, vy_string *to, size_t limit) {
    char bytes[4096];
    ssize_t count = read(from, bytes, sizeof bytes);
    if (count < 0)
        return errno == EAGAIN || errno == EINTR;
    size_t capacity = limit - to->length;
    vy_string_append(to, bytes, (size_t)count < capacity ? (size_t)count : capacity);
    return count > 0;
}

/* The child has ended, but a process that it started may hold the pipe open: reads only the bytes that are available
 * now. */
static void drain_pipe(int from, vy_string *to, size_t limit) {
    struct pollfd ready = {.fd = from, .events = POLLIN};
    for (int i = 0; i < 1024 && from >= 0 && poll(&ready, 1, 0) > 0; i++)
        if (!read_pipe(from, to, limit))
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

static void wait_with_timeout(pid_t child, int output, int answer, uint64_t timeout_ns, subprocess *out) {
    struct pollfd pipes[2] = {{.fd = output, .events = POLLIN}, {.fd = answer, .events = POLLIN}};
    uint64_t until = vy_clock_now() + timeout_ns;
    int status = 0, timed_out = 0, ended = 0;
    while (!ended && !timed_out) {
        poll(pipes, 2, pipes[0].fd < 0 && pipes[1].fd < 0 ? 1 : TICK_MS);
        if (pipes[0].revents && !read_pipe(output, &out->output, OUTPUT_LIMIT))
            pipes[0].fd = -1;
        if (pipes[1].revents && !read_pipe(answer, &out->answer, RESULT_LIMIT))
            pipes[1].fd = -1;
        ended = has_ended(child, &status);
        timed_out = !ended && vy_clock_now() > until;
    }
    int stuck = timed_out && !kill_and_wait(child, &status);
    drain_pipe(pipes[0].fd, &out->output, OUTPUT_LIMIT);
    drain_pipe(pipes[1].fd, &out->answer, RESULT_LIMIT);
    kill(-child, SIGKILL); /* processes that it left running */
    if (timed_out || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        out->end = stuck ? SUBPROCESS_STUCK : SUBPROCESS_TIMED_OUT;
    else
        out->end = WIFSIGNALED(status) ? SUBPROCESS_SIGNALLED : SUBPROCESS_EXITED;
    out->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (out->end == SUBPROCESS_EXITED && out->code == NOT_STARTED && out->answer.length == 0)
        out->end = SUBPROCESS_NOT_STARTED, out->code = ENOEXEC;
}

/* Creates a pipe whose descriptors do not collide with those of the child. */
static int make_pipe(int ends[2]) {
    int low[2];
    if (pipe2(low, O_CLOEXEC | O_NONBLOCK) != 0)
        return 0;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, FIRST_FREE);
        close(low[i]);
    }
    if (ends[0] < 0 || ends[1] < 0)
        errno = EMFILE; /* fcntl sets EINVAL if the limit on descriptors is lower */
    if (ends[1] >= 0)   /* the child's end blocks, so that printing does not fail if the reader is slow */
        fcntl(ends[1], F_SETFL, 0);
    return ends[0] >= 0 && ends[1] >= 0;
}

static void close_pipe(const int ends[2]) {
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

/* Runs the child and waits at most timeout_ns. words starts with the subcommand and ends with NULL. `plugins` becomes
 * VYRE_PLUGINS of the child (NULL: unset); VYRE_TRACE is unset. Release with subprocess_free. */
static void subprocess_run(const char *const *words, const char *plugins, uint64_t timeout_ns, subprocess *out) {
    int output[2] = {-1, -1}, answer[2] = {-1, -1};
    *out = (subprocess){.end = SUBPROCESS_NOT_STARTED};
    fflush(NULL);
    pid_t child = make_pipe(output) && make_pipe(answer) ? fork() : -1;
    if (child == 0)
        exec_child(words, plugins, timeout_ns, output[1], answer[1]);
    out->code = errno;
    if (child > 0) {
        setpgid(child, child); /* in both processes, whichever runs first */
        close(output[1]);
        close(answer[1]);
        output[1] = answer[1] = -1;
        wait_with_timeout(child, output[0], answer[0], timeout_ns, out);
    }
    close_pipe(output);
    close_pipe(answer);
}

static void subprocess_free(subprocess *child) {
    vy_string_free(&child->answer);
    vy_string_free(&child->output);
}

/* ---- worker: records ----
 *
 * The worker announces each step before it starts it, so that the parent can report where the process ended. */

/* Writes one record immediately, so that it is not lost if the next step ends the process. Control characters in fields
 * become spaces. */
static void write_record(size_t count, const char *const *fields) {
    vy_string line = {0};
    for (size_t i = 0; i < count; i++) {
        if (i)
            vy_string_char(&line, '\t');
        for (const char *at = fields[i]; *at; at++)
            vy_string_char(&line, (unsigned char)*at < 0x20 || *at == 0x7f ? ' ' : *at);
    }
    vy_string_char(&line, '\n');
    for (size_t done = 0; !line.failed && done < line.length;) {
        ssize_t n = write(DOCTOR_RESULT_FD, line.text + done, line.length - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    vy_string_free(&line);
}
#define WRITE_RECORD(...)                                                                                              \
    write_record(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *), (const char *[]){__VA_ARGS__})

static const char *number_text(uint32_t value, char text[16]) {
    snprintf(text, 16, "%u", value);
    return text;
}

/* ---- worker: probes ---- */

static const char *answer_name(vyre_probe_answer answer) {
    static const char *const names[] = {[VYRE_PROBE_YES] = "yes",
                                        [VYRE_PROBE_FOR_NOW] = "for_now",
                                        [VYRE_PROBE_NOT_NOW] = "not_now",
                                        [VYRE_PROBE_NEVER] = "never"};
    return (unsigned)answer < sizeof names / sizeof *names ? names[answer] : "unknown";
}

static void run_probe(const vyre_backend_registration *backend, const char *owner) {
    vyre_probe probe = {.struct_size = sizeof probe};
    void (*call_probe)(const vyre_host *, vyre_probe *) = VY_STRUCT_GET(backend, vyre_backend_registration, probe);
    char rank[16], devices[16], stage[128];
    if (call_probe) {
        snprintf(stage, sizeof stage, "the probe of backend `%s` is called", backend->id);
        WRITE_RECORD("stage", stage);
        call_probe(&vy_host_services, &probe);
        probe.reason[sizeof probe.reason - 1] = probe.fix[sizeof probe.fix - 1] = 0;
    }
    WRITE_RECORD("backend", backend->id, owner, number_text(vyre_backend_precedence(backend->id), rank),
                 call_probe && vyre_backend_dispatches(backend->id) ? answer_name(probe.answer) : "",
                 vyre_device_class_name(probe.device_class), number_text(probe.device_count, devices), probe.reason,
                 probe.fix);
}

static void run_probes_of(const char *owner) {
    size_t count;
    const vyre_backend_registration *const *list = vyre_backends_by_precedence(&count);
    for (size_t i = 0; i < count; i++) {
        const char *by = vyre_backend_owner(list[i]->id);
        if (by && strcmp(by, owner) == 0)
            run_probe(list[i], owner);
    }
}

/* ---- worker: tasks ---- */

static void task_plugin(const char *path) {
    vyre_error error = VYRE_ERROR_INIT;
    WRITE_RECORD("stage", "it is loaded");
    vyre_status status = vyre_plugin_load(path, &error);
    if (status == VYRE_OK)
        run_probes_of(path);
    else
        WRITE_RECORD("refused", path, vyre_status_name(status), error.message, error.fix);
}

static void task_builtin(const char *unused) {
    (void)unused;
    run_probes_of("libvyre");
}

static void report_refused(void *unused, const char *path, vyre_status status, const vyre_error *error) {
    (void)unused;
    if (error)
        WRITE_RECORD("refused", path, vyre_status_name(status), error->message, error->fix);
}

static void task_choose(const char *unused) {
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    policy.probe_all = 1; /* like `vyre backends` */
    vyre_selection *report = NULL;
    vyre_backend *chosen = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_candidate c;
    char rank[16], devices[16];
    (void)unused;
    WRITE_RECORD("stage", "all plug-ins are loaded together");
    vyre_plugins_load_all(report_refused, NULL);
    WRITE_RECORD("stage", "a backend is selected and started");
    vyre_status status = vyre_select(&policy, &chosen, &report, &error);
    for (size_t i = 0; report && vyre_selection_get(report, i, &c); i++)
        WRITE_RECORD("candidate", c.id, c.owner, number_text(c.rank, rank), vyre_verdict_name(c.verdict),
                     vyre_device_class_name(c.device_class), number_text(c.device_count, devices), c.reason, c.fix);
    if (status == VYRE_OK)
        WRITE_RECORD("chosen", vyre_backend_id(chosen));
    else
        WRITE_RECORD("nothing", error.message, error.fix);
    WRITE_RECORD("stage", "the selected backend is released");
    vyre_selection_free(report);
    vyre_backend_release(chosen);
}

static void task_library(const char *name) {
    vyre_error error;
    WRITE_RECORD("stage", "it is opened");
    if (vy_trusted_library_check(name, "library", &error) != VYRE_OK) {
        WRITE_RECORD("library", "", error.message);
        return;
    }
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map = NULL;
    if (!handle)
        WRITE_RECORD("library", "", dlerror());
    else if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
        WRITE_RECORD("library", map->l_name, "");
    else
        WRITE_RECORD("library", name, "");
}

int doctor_worker_run(const char *task, const char *argument) {
    static const struct {
        const char *name;
        int has_argument;
        void (*run)(const char *);
    } tasks[] = {
#define X(name, argument, doc) {#name, argument, task_##name},
        DOCTOR_TASK_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        if (strcmp(tasks[i].name, task) != 0 || tasks[i].has_argument != (argument != NULL))
            continue;
        tasks[i].run(argument);
        WRITE_RECORD("stage", "the process ends");
        WRITE_RECORD("done");
        return 1;
    }
    return 0;
}

/* ---- parent: records ---- */

enum { MAX_FIELDS = 10 };

typedef struct answer {
    subprocess child;
    const char *stage; /* the last announced step */
    int is_done;
} answer;

/* Splits the line at *at into fields, copied to the arena; missing fields are "". Returns 0 at the end. An incomplete
 * last line is ignored. */
static int next_line(doctor *d, const char **at, const char *fields[MAX_FIELDS]) {
    const char *end = *at ? strchr(*at, '\n') : NULL;
    if (!end)
        return 0;
    for (int i = 0; i < MAX_FIELDS; i++) {
        size_t length = strcspn(*at, "\t\n");
        fields[i] = doctor_copy_text(d, *at, length);
        *at += length + ((*at)[length] == '\t');
    }
    *at = end + 1;
    return 1;
}

static void run_worker(doctor *d, const char *task, const char *argument, const char *plugins, answer *out) {
    const char *words[] = {"doctor", DOCTOR_WORKER, task, argument, NULL};
    const char *fields[MAX_FIELDS], *at;
    *out = (answer){.stage = "it is started"};
    subprocess_run(words, plugins, d->timeout_ns, &out->child);
    if (out->child.end == SUBPROCESS_NOT_STARTED && !d->cannot_start) {
        const char *reason = strerrordesc_np(out->child.code);
        d->cannot_start = 1;
        doctor_problem(d,
                       doctor_format(d, "child processes cannot be started (%s), so nothing was examined",
                                     reason ? reason : "unknown"),
                       "raise the limits on processes, memory and open files, and mount /proc");
    }
    if (out->child.answer.failed || out->child.output.failed)
        d->is_out_of_memory = 1;
    for (at = out->child.answer.text; next_line(d, &at, fields);) {
        out->is_done = strcmp(fields[0], "done") == 0;
        if (strcmp(fields[0], "stage") == 0)
            out->stage = fields[1];
    }
}

static uint32_t to_number(const char *text) {
    unsigned long value = strtoul(text, NULL, 10);
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Describes how the child ended, in words that follow its name; NULL if it ended normally. Fills state, signal and exit
 * code of `plugin`. */
static const char *describe_end(doctor *d, const answer *a, doctor_plugin *plugin) {
    char text[80];
    if (!a->is_done || a->child.end != SUBPROCESS_EXITED || a->child.code != 0)
        plugin->stage = a->stage;
    switch (a->child.end) {
    case SUBPROCESS_SIGNALLED:
        plugin->state = DOCTOR_CRASHED;
        plugin->signal = a->child.code;
        return doctor_format(d, "ends the process with %s while %s", signal_name(a->child.code, text), a->stage);
    case SUBPROCESS_TIMED_OUT:
        plugin->state = DOCTOR_HUNG;
        return doctor_format(d, "does not return within %g s while %s", (double)d->timeout_ns * 1e-9, a->stage);
    case SUBPROCESS_STUCK:
        plugin->state = DOCTOR_HUNG;
        return doctor_format(
            d, "does not return within %g s while %s, and cannot be killed because it is blocked in the kernel",
            (double)d->timeout_ns * 1e-9, a->stage);
    case SUBPROCESS_NOT_STARTED:
        plugin->state = DOCTOR_UNKNOWN;
        return "was not examined: the child process cannot be started";
    case SUBPROCESS_EXITED:
        break;
    }
    if (a->is_done && a->child.code == 0)
        return NULL;
    plugin->state = DOCTOR_EXITED;
    plugin->exit_code = a->child.code;
    return doctor_format(d, "ends the process with exit code %d while %s", a->child.code, a->stage);
}

/* If no child can be started, run_worker has reported it once. */
static void report_end(doctor *d, const answer *a, const char *message, const char *fix) {
    if (a->child.end != SUBPROCESS_NOT_STARTED)
        doctor_problem(d, message, fix);
}

/* ---- backends ---- */

static doctor_backend *find_backend(doctor *d, const char *id) {
    for (uint32_t i = 0; i < d->backends.count; i++)
        if (strcmp(d->backends.items[i].id, id) == 0)
            return &d->backends.items[i];
    doctor_backend *backend = VY_PUSH(&d->backends);
    if (backend)
        *backend = (doctor_backend){id, "", "unknown", "", "unknown", "", "", UINT32_MAX, 0};
    else
        d->is_out_of_memory = 1;
    return backend;
}

/* Merges a `backend` or `candidate` record; they differ in the fourth field. The verdict is recorded last and has
 * priority; where it has no reason, that of the probe is kept. */
static void note_backend(doctor *d, const char *fields[MAX_FIELDS]) {
    int is_verdict = strcmp(fields[0], "candidate") == 0;
    if (!is_verdict && strcmp(fields[0], "backend") != 0)
        return;
    doctor_backend *b = find_backend(d, fields[1]);
    if (!b || (*b->owner && strcmp(b->owner, fields[2]) != 0)) /* a duplicate id belongs to the first owner */
        return;
    b->owner = fields[2];
    b->rank = to_number(fields[3]);
    if (is_verdict)
        b->verdict = fields[4];
    else
        b->probe = fields[4];
    if (strcmp(fields[5], "unknown") != 0)
        b->device_class = fields[5];
    if (to_number(fields[6]))
        b->devices = to_number(fields[6]);
    if (*fields[7])
        b->reason = fields[7];
    if (*fields[7] || *fields[8])
        b->fix = fields[8];
}

/* The order of rank, as in the library. */
static int compare_backends(const void *a, const void *b) {
    const doctor_backend *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return strcmp(left->id, right->id);
}

/* ---- plug-ins ---- */

static const char *remedy(doctor *d, const doctor_plugin *plugin, const char *repair) {
    if (plugin->is_installed)
        return doctor_format(d, "%s; until then remove it from %s", repair, d->folder);
    return doctor_format(d, "%s; until then remove it from VYRE_PLUGINS", repair);
}

static void note_refused(doctor *d, const char *fields[MAX_FIELDS], doctor_plugin *plugin) {
    plugin->state = DOCTOR_REFUSED;
    plugin->status = fields[2];
    plugin->message = fields[3];
    plugin->fix = fields[4];
    doctor_problem(d, doctor_format(d, "plug-in %s is refused: %s", plugin->path, plugin->message), plugin->fix);
}

static void probe_plugin(doctor *d, doctor_plugin *plugin) {
    answer a;
    const char *fields[MAX_FIELDS], *at;
    run_worker(d, "plugin", plugin->path, NULL, &a);
    plugin->output = doctor_copy_text(d, a.child.output.length ? a.child.output.text : "", a.child.output.length);
    const char *end = describe_end(d, &a, plugin);
    for (at = a.child.answer.text; next_line(d, &at, fields);) {
        if (!end && strcmp(fields[0], "refused") == 0)
            note_refused(d, fields, plugin);
        else
            note_backend(d, fields);
    }
    if (end) {
        plugin->message = end;
        plugin->fix = remedy(d, plugin,
                             plugin->state == DOCTOR_HUNG ? "repair it, or raise --timeout if it is only slow"
                                                          : "repair or rebuild it");
        if (plugin->state == DOCTOR_UNKNOWN)
            plugin->fix = "first enable child processes";
        report_end(d, &a, doctor_format(d, "plug-in %s %s", plugin->path, end), plugin->fix);
    } else if (plugin->state == DOCTOR_OK && a.child.output.length) {
        plugin->state = DOCTOR_NOISY;
        plugin->message = "prints to standard output or error, which mixes with the output of programs";
        plugin->fix = remedy(d, plugin, "change it to use the log function of vyre_host");
        doctor_problem(d, doctor_format(d, "plug-in %s %s", plugin->path, plugin->message), plugin->fix);
    }
    subprocess_free(&a.child);
}

typedef struct finder {
    doctor *d;
    int is_installed;
} finder;

/* Adds a plug-in; a repeated path is one plug-in. */
static void note_path(void *user, const char *path, vyre_status status, const vyre_error *error) {
    finder *f = user;
    doctor *d = f->d;
    if (status != VYRE_OK) {
        doctor_problem(d, doctor_copy_text(d, error->message, strlen(error->message)),
                       doctor_copy_text(d, error->fix, strlen(error->fix)));
        return;
    }
    for (uint32_t i = 0; i < d->plugins.count; i++)
        if (strcmp(d->plugins.items[i].path, path) == 0)
            return;
    doctor_plugin *plugin = VY_PUSH(&d->plugins);
    if (!plugin)
        d->is_out_of_memory = 1;
    else
        *plugin = (doctor_plugin){.path = doctor_copy_text(d, path, strlen(path)),
                                  .is_installed = f->is_installed,
                                  .signal = -1,
                                  .exit_code = -1,
                                  .status = "",
                                  .stage = "",
                                  .message = "",
                                  .fix = "",
                                  .output = ""};
}

void doctor_probe_plugins(doctor *d) {
    finder installed = {d, 1}, named = {d, 0};
    d->folder = vy_plugin_folder();
    d->has_folder = access(d->folder, F_OK) == 0;
    vy_plugins_find(d->folder, NULL, note_path, &installed);
    vy_plugins_find(NULL, secure_getenv("VYRE_PLUGINS"), note_path, &named);
    for (uint32_t i = 0; i < d->plugins.count; i++)
        probe_plugin(d, &d->plugins.items[i]);
}

/* ---- selection ---- */

/* VYRE_PLUGINS without plug-ins that would end the child; NULL if none is left. */
static char *healthy_list(const doctor *d, vy_string *list) {
    for (uint32_t i = 0; i < d->plugins.count; i++) {
        const doctor_plugin *plugin = &d->plugins.items[i];
        if (plugin->is_installed || (plugin->state != DOCTOR_OK && plugin->state != DOCTOR_NOISY))
            continue;
        if (list->length)
            vy_string_char(list, ':');
        vy_string_add(list, plugin->path);
    }
    return list->text;
}

/* A plug-in that loads alone may be refused together with others: a duplicate id. */
static void note_refused_together(doctor *d, const char *fields[MAX_FIELDS]) {
    for (uint32_t i = 0; i < d->plugins.count; i++)
        if (strcmp(d->plugins.items[i].path, fields[1]) == 0 && d->plugins.items[i].state == DOCTOR_OK)
            note_refused(d, fields, &d->plugins.items[i]);
}

static void read_choice(doctor *d, const answer *a) {
    const char *fields[MAX_FIELDS], *at;
    const char *named = secure_getenv("VYRE_BACKEND");
    for (at = a->child.answer.text; next_line(d, &at, fields);) {
        note_backend(d, fields);
        if (strcmp(fields[0], "refused") == 0)
            note_refused_together(d, fields);
        if (strcmp(fields[0], "chosen") == 0)
            d->chosen = fields[1];
        if (strcmp(fields[0], "nothing") == 0 && named && *named)
            doctor_problem(d, doctor_format(d, "VYRE_BACKEND is `%.80s`: %s", named, fields[1]), fields[2]);
        else if (strcmp(fields[0], "nothing") == 0)
            doctor_warning(d, "no backend is usable unless it is named",
                           doctor_format(d,
                                         "%s; or name the reference interpreter, which is slow: VYRE_BACKEND=reference",
                                         fields[2]));
    }
    for (uint32_t i = 0; i < d->backends.count; i++) {
        const doctor_backend *b = &d->backends.items[i];
        if (strcmp(b->verdict, "failed") == 0)
            doctor_problem(d, doctor_format(d, "backend %s does not start: %s", b->id, b->reason), b->fix);
        else if (strcmp(b->verdict, "chosen") == 0 && *b->reason)
            doctor_warning(d, doctor_format(d, "backend %s is selected, but %s", b->id, b->reason), b->fix);
    }
}

void doctor_probe_backends(doctor *d) {
    answer a;
    const char *fields[MAX_FIELDS], *at;
    doctor_plugin end = {0};
    vy_string list = {0};
    run_worker(d, "builtin", NULL, NULL, &a);
    const char *words = describe_end(d, &a, &end);
    for (at = a.child.answer.text; next_line(d, &at, fields);)
        note_backend(d, fields);
    if (words)
        report_end(d, &a, doctor_format(d, "a built-in backend %s", words), "update the driver of that backend");
    subprocess_free(&a.child);

    d->chosen = "";
    run_worker(d, "choose", NULL, healthy_list(d, &list), &a);
    d->is_out_of_memory |= list.failed;
    words = describe_end(d, &a, &end);
    read_choice(d, &a);
    if (words)
        report_end(d, &a, doctor_format(d, "selecting a backend %s", words),
                   "first apply the fixes for plug-ins and drivers");
    for (uint32_t i = 0; !words && i < d->backends.count; i++)
        if (strcmp(d->backends.items[i].verdict, "unknown") == 0)
            d->backends.items[i].verdict = "not_loaded"; /* its plug-in was not loaded */
    subprocess_free(&a.child);
    vy_string_free(&list);
    if (d->backends.count)
        qsort(d->backends.items, d->backends.count, sizeof *d->backends.items, compare_backends);
}

/* ---- driver libraries ---- */

/* X(file, purpose, fix): the libraries that the built-in backends load. */
#define LIBRARY_LIST(X)                                                                                                \
    X("libcuda.so.1", "CUDA", "for an NVIDIA GPU, install its driver (nvidia-driver, or libcuda1 in a container)")     \
    X("libOpenCL.so.1", "OpenCL", "for devices of other vendors, install the loader (ocl-icd-libopencl1) and a driver")

/* A library that is not installed is not a problem. One that exists but does not load is a problem. */
static void probe_library(doctor *d, const char *name, const char *what, const char *fix) {
    answer a;
    const char *fields[MAX_FIELDS], *at;
    doctor_plugin end = {0};
    doctor_library *library = VY_PUSH(&d->libraries);
    if (!library) {
        d->is_out_of_memory = 1;
        return;
    }
    *library = (doctor_library){name, what, "", "", "", 0};
    run_worker(d, "library", name, NULL, &a);
    for (at = a.child.answer.text; next_line(d, &at, fields);)
        if (strcmp(fields[0], "library") == 0) {
            library->path = fields[1];
            library->message = fields[2];
        }
    const char *words = describe_end(d, &a, &end);
    if (words) {
        library->message = words;
        library->path = "";
        library->is_broken = a.child.end != SUBPROCESS_NOT_STARTED;
    } else if (!*library->path) {
        library->is_broken = strstr(library->message, "No such file") == NULL;
    }
    if (!*library->path && a.child.end != SUBPROCESS_NOT_STARTED)
        library->fix = library->is_broken ? "reinstall the driver" : fix;
    if (library->is_broken)
        doctor_problem(d, doctor_format(d, "%s does not load: %s", name, library->message), library->fix);
    subprocess_free(&a.child);
}

void doctor_probe_libraries(doctor *d) {
#define X(file, what, fix) probe_library(d, file, what, fix);
    LIBRARY_LIST(X)
#undef X
}
