/* vyre doctor: examines plug-ins, backends, drivers, device nodes, limits, the environment and the cache, and suggests
 * fixes. */
#include "base/string.h"
#include "base/thread.h"
#include "dialect/manifest_dir.h"
#include "tool/args.h"
#include "tool/doctor.h"
#include "tool/tool.h"
#include "vyre/backend.h"
#include "vyre/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

typedef struct doctor_options {
    uint64_t timeout;
    int json;
} doctor_options;

static const doctor_options defaults = {.timeout = 10 * TOOL_SECOND_NS};

static const tool_option options_table[] = {
    {"timeout", 0, "SECONDS", TOOL_SECONDS, offsetof(doctor_options, timeout),
     "time limit for each plug-in and driver (10)"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(doctor_options, json), "print one JSON object"},
    TOOL_OPTION_END,
};

/* ---- findings ---- */

const char *doctor_copy_text(doctor *d, const char *text, size_t length) {
    const char *kept = length ? vy_arena_copy(&d->texts, text, length) : "";
    if (!kept)
        d->is_out_of_memory = 1;
    return kept ? kept : "";
}

const char *doctor_format(doctor *d, const char *format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return doctor_copy_text(d, text, strlen(text));
}

static void add_finding(doctor *d, int is_problem, const char *message, const char *fix) {
    doctor_finding *finding = VY_PUSH(&d->findings);
    if (finding)
        *finding = (doctor_finding){is_problem, message, fix};
    else
        d->is_out_of_memory = 1;
}

void doctor_problem(doctor *d, const char *message, const char *fix) {
    add_finding(d, 1, message, fix);
}

void doctor_warning(doctor *d, const char *message, const char *fix) {
    add_finding(d, 0, message, fix);
}

static size_t problem_count(const doctor *d) {
    size_t count = 0;
    for (uint32_t i = 0; i < d->findings.count; i++)
        count += d->findings.items[i].is_problem != 0;
    return count;
}

static void doctor_free(doctor *d) {
    VY_VECTOR_FREE(&d->plugins);
    VY_VECTOR_FREE(&d->backends);
    VY_VECTOR_FREE(&d->libraries);
    VY_VECTOR_FREE(&d->devices);
    VY_VECTOR_FREE(&d->limits);
    VY_VECTOR_FREE(&d->variables);
    VY_VECTOR_FREE(&d->findings);
    vy_arena_free(&d->texts);
}

/* ---- device nodes ---- */

static void note_device(doctor *d, const char *path, const char *group) {
    doctor_device *device = VY_PUSH(&d->devices);
    if (!device) {
        d->is_out_of_memory = 1;
        return;
    }
    int usable = access(path, R_OK | W_OK) == 0;
    *device = (doctor_device){doctor_copy_text(d, path, strlen(path)), usable, ""};
    if (usable)
        return;
    device->fix = group
                      ? doctor_format(d,
                                      "join the group `%s` (sudo usermod -aG %s $USER, then log in again), or pass the "
                                      "device to the container",
                                      group, group)
                      : "pass the device to the container, or contact the administrator";
    doctor_warning(d, doctor_format(d, "the device %s exists, but access is denied", device->path), device->fix);
}

static void check_devices(doctor *d) {
    static const struct {
        const char *pattern, *group;
    } rows[] = {{"/dev/nvidiactl", NULL},
                {"/dev/nvidia-uvm", NULL},
                {"/dev/nvidia[0-9]*", NULL},
                {"/dev/dri/renderD*", "render"},
                {"/dev/kfd", "render"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        glob_t found;
        if (glob(rows[i].pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t j = 0; j < found.gl_pathc; j++)
            note_device(d, found.gl_pathv[j], rows[i].group);
        globfree(&found);
    }
}

/* ---- limits ---- */

static void note_limit(doctor *d, const char *name, const char *title, const char *unit, uint64_t value, uint64_t least,
                       const char *fix) {
    doctor_limit *limit = VY_PUSH(&d->limits);
    if (!limit) {
        d->is_out_of_memory = 1;
        return;
    }
    *limit = (doctor_limit){name, title, unit, value};
    if (value < least)
        doctor_warning(d,
                       doctor_format(d, "the limit `%s` is low (%" PRIu64 "%s; %" PRIu64 " or more is recommended)",
                                     title, value, unit, least),
                       fix);
}

/* X(resource, name, title, unit, minimum without a warning, fix) */
#define LIMIT_LIST(X)                                                                                                  \
    X(RLIMIT_AS, "address_space", "address space", " bytes", (uint64_t)64 << 30,                                       \
      "`ulimit -v unlimited`: GPU drivers reserve more than they use")                                                 \
    X(RLIMIT_DATA, "data", "data", " bytes", (uint64_t)1 << 30, "`ulimit -d unlimited`")                               \
    X(RLIMIT_NPROC, "processes", "processes", " with threads, of this user", 64, "raise it with `ulimit -u`")          \
    X(RLIMIT_NOFILE, "open_files", "open files", "", 64, "raise it with `ulimit -n`")                                  \
    X(RLIMIT_STACK, "stack", "stack", " bytes", (uint64_t)1 << 20, "raise it with `ulimit -s`")

static void check_limits(doctor *d) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned cores = vy_cpu_count();
    note_limit(d, "cores", "cores", doctor_format(d, " of the machine's %ld", online), cores, 0, "");
#define X(resource, name, title, unit, least, fix)                                                                     \
    {                                                                                                                  \
        struct rlimit limit;                                                                                           \
        if (getrlimit(resource, &limit) == 0)                                                                          \
            note_limit(d, name, title, unit, limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur, least,     \
                       fix);                                                                                           \
    }
    LIMIT_LIST(X)
#undef X
}

/* ---- environment ---- */

/* X(name): the variables that the library and the command read. */
#define VARIABLE_LIST(X)                                                                                               \
    X("VYRE_BACKEND")                                                                                                  \
    X("VYRE_PLUGINS")                                                                                                  \
    X("VYRE_TRACE")                                                                                                    \
    X("VYRE_CACHE_DIR")                                                                                                \
    X("VYRE_DIALECT_PATH")                                                                                             \
    X("VYRE_FORBID_COMPILE")                                                                                           \
    X("VYRE_COMPILER")                                                                                                 \
    X("VYRE_COMPILER_FALLBACK")                                                                                        \
    X("VYRE_COMPILER_MEMORY")                                                                                          \
    X("VYRE_COMPILER_SECONDS")                                                                                         \
    X("VYRE_CPU_ISA")                                                                                                  \
    X("VYRE_CPU_SPIN")                                                                                                 \
    X("VYRE_CPU_STREAM")                                                                                               \
    X("VYRE_CPU_THREADS")                                                                                              \
    X("VYRE_CPU_WIDTH")                                                                                                \
    X("VYRE_CUDA_DIRECT")                                                                                              \
    X("VYRE_CUDA_EARLY")                                                                                               \
    X("VYRE_CUDA_INDIRECT")                                                                                            \
    X("VYRE_CUDA_LIBRARY")                                                                                             \
    X("VYRE_CUDA_PROBE")                                                                                               \
    X("VYRE_CUDA_TOGETHER")                                                                                            \
    X("VYRE_OPENCL_DIRECT")                                                                                            \
    X("VYRE_OPENCL_LIBRARY")                                                                                           \
    X("VYRE_OPENCL_PROBE")                                                                                             \
    X("VYRE_OPENCL_SHARED")                                                                                            \
    X("VYRE_NVTX_LIBRARY")                                                                                             \
    X("VYRE_PERF_MAP")                                                                                                 \
    X("VYRE_GDB")

static const char *const known_variables[] = {
#define X(name) name,
    VARIABLE_LIST(X)
#undef X
};

static void check_name(doctor *d, const char *name) {
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, name, strlen(name));
    for (size_t i = 0; i < sizeof known_variables / sizeof *known_variables; i++) {
        if (strcmp(known_variables[i], name) == 0)
            return;
        vy_suggestion_offer(&suggestion, known_variables[i]);
    }
    const char *near = vy_suggestion_get(&suggestion);
    doctor_warning(d, doctor_format(d, "unknown variable %.60s", name),
                   near ? doctor_format(d, "did you mean %s?", near) : "correct its name, or unset it");
}

static void check_dialect_path(doctor *d) {
    vyre_diagnostics *list = vyre_diagnostics_new();
    vy_manifest_dirs folders = {0};
    const vyre_diagnostic *finding;

    if (vy_manifest_dirs_add_path(&folders, NULL) != VYRE_OK)
        d->is_out_of_memory = 1;
    vy_manifest_dirs_warn_missing(&folders, list);
    for (size_t i = 0; (finding = vyre_diagnostics_get(list, i)); i++)
        doctor_warning(d, doctor_format(d, "VYRE_DIALECT_PATH: %s", finding->message),
                       doctor_copy_text(d, finding->fix, strlen(finding->fix)));
    vy_manifest_dirs_free(&folders);
    vyre_diagnostics_free(list);
}

static int compare_variables(const void *a, const void *b) {
    return strcmp(((const doctor_variable *)a)->name, ((const doctor_variable *)b)->name);
}

static void check_environment(doctor *d) {
    for (char **at = environ; at && *at; at++) {
        const char *equals = strchr(*at, '=');
        if (strncmp(*at, "VYRE_", 5) != 0 || !equals)
            continue;
        doctor_variable *variable = VY_PUSH(&d->variables);
        if (!variable) {
            d->is_out_of_memory = 1;
            return;
        }
        variable->name = doctor_copy_text(d, *at, (size_t)(equals - *at));
        variable->value = doctor_copy_text(d, equals + 1, strlen(equals + 1));
        check_name(d, variable->name);
    }
    check_dialect_path(d);
    if (d->variables.count)
        qsort(d->variables.items, d->variables.count, sizeof *d->variables.items, compare_variables);
}

/* ---- the cache ---- */

static int count_entry(void *user, const vyre_cache_entry *entry) {
    doctor *d = user;
    d->cache_entries++;
    d->cache_bytes += entry->size;
    return 0;
}

/* Whether the folder, or its nearest existing ancestor, is writable. */
static int may_write(const char *path) {
    char above[4096];
    if (strlen(path) >= sizeof above)
        return 0;
    strcpy(above, path);
    while (access(above, F_OK) != 0 && errno == ENOENT) {
        char *slash = strrchr(above, '/');
        if (!slash || slash == above)
            return access("/", W_OK | X_OK) == 0;
        *slash = 0;
    }
    return access(above, W_OK | X_OK) == 0;
}

static void check_cache(doctor *d) {
    char folder[4096];
    vyre_error error = VYRE_ERROR_INIT;
    size_t length = vyre_cache_folder(folder, sizeof folder);
    d->cache_folder = length < sizeof folder ? doctor_copy_text(d, folder, length) : "";
    d->cache_state = "off";
    if (!*d->cache_folder)
        return;
    vyre_status status = vyre_cache_walk(VYRE_CACHE_READ_HEADERS, count_entry, d, &error);
    if (status != VYRE_OK) {
        d->cache_state = "not usable";
        doctor_warning(d, doctor_format(d, "the disk cache is not usable: %s", error.message),
                       doctor_copy_text(d, error.fix, strlen(error.fix)));
    } else if (!may_write(d->cache_folder)) {
        d->cache_state = "read only";
        doctor_warning(d, doctor_format(d, "the disk cache is not usable: %s is not writable", d->cache_folder),
                       "make it writable, or set VYRE_CACHE_DIR to another folder");
    } else {
        d->cache_state = access(d->cache_folder, F_OK) == 0 ? "usable" : "usable, created when needed";
    }
}

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif
#if defined(__OPTIMIZE__)
#define OPTIMISED "optimised"
#else
#define OPTIMISED "not optimised"
#endif

static const char *state_name(doctor_state state) {
    static const char *const names[DOCTOR_STATE_COUNT] = {
#define X(ID, name, doc) name,
        DOCTOR_STATE_LIST(X)
#undef X
    };
    return names[state];
}

static void machine_text(char text[200]) {
    struct utsname machine;
    if (uname(&machine) == 0)
        snprintf(text, 200, "%.60s %.60s %.60s", machine.sysname, machine.release, machine.machine);
    else
        snprintf(text, 200, "unknown");
}

/* ---- the report as text ---- */

/* A row of a name and a text; further lines are indented to the text. */
#define ROW "  %-14s %s\n"
#define UNDER "  %-14s "

static void add_fix(vy_string *out, const char *fix) {
    if (*fix)
        vy_string_format(out, UNDER "Fix: %s\n", "", fix);
}

static void text_library(vy_string *out) {
    char machine[200];
    machine_text(machine);
    vy_string_add(out, "library\n");
    vy_string_format(out, "  %-14s %s, backend contract %u\n", "version", vyre_version(), (unsigned)VYRE_BACKEND_ABI);
    vy_string_format(out, "  %-14s %s, %s\n", "build", COMPILER, OPTIMISED);
    vy_string_format(out, ROW, "machine", machine);
}

static void text_plugins(const doctor *d, vy_string *out) {
    vy_string_add(out, "plug-ins\n");
    vy_string_format(out, "  %-14s %s%s\n", "folder", d->folder, d->has_folder ? "" : " (does not exist)");
    for (uint32_t i = 0; i < d->plugins.count; i++) {
        const doctor_plugin *p = &d->plugins.items[i];
        vy_string_format(out, "  %-14s %s", state_name(p->state), p->path);
        vy_string_add(out, p->is_installed ? "\n" : " (VYRE_PLUGINS)\n");
        if (*p->output) {
            vy_string_format(out, UNDER "it printed ", "");
            vy_string_json(out, p->output);
            vy_string_char(out, '\n');
        }
    }
    if (!d->plugins.count)
        vy_string_add(out, "  none\n");
}

static void text_backends(const doctor *d, vy_string *out) {
    vy_string_add(out, "backends, in order of rank\n");
    for (uint32_t i = 0; i < d->backends.count; i++) {
        const doctor_backend *b = &d->backends.items[i];
        vy_string_format(out, "  %-14s %s, %s", b->id, b->verdict, b->device_class);
        if (b->devices)
            vy_string_format(out, ", %" PRIu32 " device%s", b->devices, b->devices == 1 ? "" : "s");
        if (*b->probe)
            vy_string_format(out, ", probe %s", b->probe);
        if (b->rank != UINT32_MAX)
            vy_string_format(out, ", rank %" PRIu32, b->rank);
        if (strcmp(b->owner, "libvyre") != 0)
            vy_string_format(out, ", from %s", b->owner);
        vy_string_char(out, '\n');
        if (*b->reason)
            vy_string_format(out, UNDER "%s\n", "", b->reason);
        add_fix(out, b->fix);
    }
    vy_string_format(out, ROW, "chosen:", *d->chosen ? d->chosen : "none");
}

static void text_drivers(const doctor *d, vy_string *out) {
    vy_string_add(out, "drivers\n");
    for (uint32_t i = 0; i < d->libraries.count; i++) {
        const doctor_library *l = &d->libraries.items[i];
        vy_string_format(out, "  %-14s %s", l->name,
                         *l->path                   ? l->path
                         : l->is_broken || !*l->fix ? l->message
                                                    : "not found");
        vy_string_format(out, " (%s)\n", l->what);
        add_fix(out, l->fix);
    }
    for (uint32_t i = 0; i < d->devices.count; i++)
        vy_string_format(out, ROW, d->devices.items[i].is_usable ? "device" : "no access", d->devices.items[i].path);
}

static void text_machine(const doctor *d, vy_string *out) {
    vy_string_add(out, "cache\n");
    vy_string_format(out, "  %-14s %s (%s)\n", "folder", *d->cache_folder ? d->cache_folder : "none", d->cache_state);
    vy_string_format(out, "  %-14s %" PRIu64 " (%" PRIu64 " bytes)\n", "entries", d->cache_entries, d->cache_bytes);
    vy_string_add(out, "limits\n");
    for (uint32_t i = 0; i < d->limits.count; i++) {
        const doctor_limit *l = &d->limits.items[i];
        if (l->value == UINT64_MAX)
            vy_string_format(out, ROW, l->title, "unlimited");
        else
            vy_string_format(out, "  %-14s %" PRIu64 "%s\n", l->title, l->value, l->unit);
    }
    vy_string_add(out, "environment\n");
    for (uint32_t i = 0; i < d->variables.count; i++) {
        vy_string_format(out, "  %s=", d->variables.items[i].name);
        vy_string_json(out, d->variables.items[i].value);
        vy_string_char(out, '\n');
    }
    if (!d->variables.count)
        vy_string_format(out, ROW, "none", "no VYRE_ variable is set");
}

static void text_findings(const doctor *d, int is_problem, vy_string *out) {
    for (uint32_t i = 0; i < d->findings.count; i++) {
        const doctor_finding *f = &d->findings.items[i];
        if (f->is_problem != is_problem)
            continue;
        vy_string_format(out, "%s: %s\n", is_problem ? "problem" : "warning", f->message);
        if (*f->fix)
            vy_string_format(out, "  Fix: %s\n", f->fix);
    }
}

static void report_text(const doctor *d, vy_string *out) {
    size_t problems = problem_count(d), warnings = d->findings.count - problems;
    text_library(out);
    text_plugins(d, out);
    text_backends(d, out);
    text_drivers(d, out);
    text_machine(d, out);
    vy_string_char(out, '\n');
    text_findings(d, 0, out);
    text_findings(d, 1, out);
    if (problems)
        vy_string_format(out, "verdict: broken (%zu problem%s, %zu warning%s)\n", problems, problems == 1 ? "" : "s",
                         warnings, warnings == 1 ? "" : "s");
    else
        vy_string_format(out, "verdict: fine (%zu warning%s)\n", warnings, warnings == 1 ? "" : "s");
}

/* ---- the report as JSON ---- */

static void json_plugins(const doctor *d, vy_string *out) {
    tool_json_open(out, "plugins", '[');
    for (uint32_t i = 0; i < d->plugins.count; i++) {
        const doctor_plugin *p = &d->plugins.items[i];
        tool_json_open(out, "", '{');
        tool_json_text(out, "path", p->path);
        tool_json_text(out, "from", p->is_installed ? "folder" : "VYRE_PLUGINS");
        tool_json_text(out, "state", state_name(p->state));
        tool_json_code(out, "signal", p->signal);
        tool_json_code(out, "exit", p->exit_code);
        tool_json_optional(out, "status", p->status);
        tool_json_optional(out, "stage", p->stage);
        tool_json_text(out, "message", p->message);
        tool_json_text(out, "fix", p->fix);
        tool_json_text(out, "output", p->output);
        vy_string_char(out, '}');
    }
    vy_string_char(out, ']');
}

static void json_backends(const doctor *d, vy_string *out) {
    tool_json_open(out, "backends", '[');
    for (uint32_t i = 0; i < d->backends.count; i++) {
        const doctor_backend *b = &d->backends.items[i];
        tool_json_open(out, "", '{');
        tool_json_text(out, "id", b->id);
        tool_json_text(out, "owner", b->owner);
        tool_json_text(out, "verdict", b->verdict);
        tool_json_optional(out, "probe", b->probe);
        tool_json_text(out, "class", b->device_class);
        tool_json_number(out, "rank", b->rank);
        tool_json_number(out, "devices", b->devices);
        tool_json_text(out, "reason", b->reason);
        tool_json_text(out, "fix", b->fix);
        vy_string_char(out, '}');
    }
    vy_string_char(out, ']');
    tool_json_optional(out, "chosen", d->chosen);
}

static void json_drivers(const doctor *d, vy_string *out) {
    tool_json_open(out, "libraries", '[');
    for (uint32_t i = 0; i < d->libraries.count; i++) {
        const doctor_library *l = &d->libraries.items[i];
        tool_json_open(out, "", '{');
        tool_json_text(out, "name", l->name);
        tool_json_text(out, "for", l->what);
        tool_json_optional(out, "path", l->path);
        tool_json_flag(out, "broken", l->is_broken);
        tool_json_text(out, "message", l->message);
        tool_json_text(out, "fix", l->fix);
        vy_string_char(out, '}');
    }
    vy_string_char(out, ']');
    tool_json_open(out, "devices", '[');
    for (uint32_t i = 0; i < d->devices.count; i++) {
        tool_json_open(out, "", '{');
        tool_json_text(out, "path", d->devices.items[i].path);
        tool_json_flag(out, "usable", d->devices.items[i].is_usable);
        tool_json_text(out, "fix", d->devices.items[i].fix);
        vy_string_char(out, '}');
    }
    vy_string_char(out, ']');
}

static void json_machine(const doctor *d, vy_string *out) {
    tool_json_open(out, "cache", '{');
    tool_json_optional(out, "folder", d->cache_folder);
    tool_json_text(out, "state", d->cache_state);
    tool_json_number(out, "entries", d->cache_entries);
    tool_json_number(out, "bytes", d->cache_bytes);
    vy_string_char(out, '}');
    tool_json_open(out, "limits", '{');
    for (uint32_t i = 0; i < d->limits.count; i++) {
        if (d->limits.items[i].value == UINT64_MAX)
            tool_json_optional(out, d->limits.items[i].name, "");
        else
            tool_json_number(out, d->limits.items[i].name, d->limits.items[i].value);
    }
    vy_string_char(out, '}');
    tool_json_open(out, "environment", '{');
    for (uint32_t i = 0; i < d->variables.count; i++) {
        tool_json_text(out, "", d->variables.items[i].name);
        vy_string_char(out, ':');
        vy_string_json(out, d->variables.items[i].value);
    }
    vy_string_char(out, '}');
}

static void report_json(const doctor *d, vy_string *out) {
    char machine[200];
    machine_text(machine);
    vy_string_char(out, '{');
    tool_json_text(out, "verdict", problem_count(d) ? "broken" : "fine");
    tool_json_text(out, "version", vyre_version());
    tool_json_number(out, "contract", VYRE_BACKEND_ABI);
    tool_json_text(out, "build", COMPILER ", " OPTIMISED);
    tool_json_text(out, "machine", machine);
    tool_json_text(out, "plugin_folder", d->folder);
    json_plugins(d, out);
    json_backends(d, out);
    json_drivers(d, out);
    json_machine(d, out);
    tool_json_open(out, "findings", '[');
    for (uint32_t i = 0; i < d->findings.count; i++) {
        tool_json_open(out, "", '{');
        tool_json_text(out, "level", d->findings.items[i].is_problem ? "problem" : "warning");
        tool_json_text(out, "message", d->findings.items[i].message);
        tool_json_text(out, "fix", d->findings.items[i].fix);
        vy_string_char(out, '}');
    }
    vy_string_add(out, "]}\n");
}

/* ---- the command ---- */

static int examine(const doctor_options *options) {
    doctor d = {.timeout_ns = options->timeout};
    vy_string out = {0};
    int code;

    doctor_probe_plugins(&d);
    doctor_probe_backends(&d);
    doctor_probe_libraries(&d);
    check_devices(&d);
    check_limits(&d);
    check_environment(&d);
    check_cache(&d);
    if (d.is_out_of_memory) {
        vyre_error error;
        vy_fail_memory(&error, "examining this machine");
        code = tool_error(&error);
    } else {
        (options->json ? report_json : report_text)(&d, &out);
        code = options->json ? tool_print(&out) : tool_print_lines(&out);
        if (code == TOOL_OK && problem_count(&d))
            code = TOOL_FAILED;
    }
    doctor_free(&d);
    return code;
}

/* Whether this process is a worker (doctor.h), which requires the descriptor of its parent. Runs the task. */
static int is_worker(const tool_args *args) {
    return args->words.count >= 2 && strcmp(args->words.items[0], DOCTOR_WORKER) == 0 &&
           fcntl(DOCTOR_RESULT_FD, F_GETFD) >= 0 &&
           doctor_worker_run(args->words.items[1], args->words.count > 2 ? args->words.items[2] : NULL);
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    if (is_worker(args))
        return TOOL_OK;
    if (args->words.count)
        return tool_usage(self, "run `vyre doctor` without arguments", "unexpected argument `%.100s`",
                          args->words.items[0]);
    return examine(given);
}

const tool_command tool_cmd_doctor = {
    .name = "doctor",
    .summary = "examine plug-ins, backends, drivers, the cache and limits, and suggest fixes",
    .usage = "[OPTIONS]",
    .details =
        "Loads plug-ins, probes and driver libraries in child processes with a time limit, so that a crash, a hang or\n"
        "an exit is contained and reported. Exits with 1 if there is a problem; warnings do not change the exit "
        "code.\n",
    .examples = "  vyre doctor\n"
                "  VYRE_PLUGINS=$PWD/mine.so vyre doctor --timeout 30\n"
                "  vyre doctor --json\n",
    .options = options_table,
    .options_size = sizeof(doctor_options),
    .defaults = &defaults,
    .run = run_command,
};
