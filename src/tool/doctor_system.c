/* What can be looked at without risk: device nodes, limits of the process, the environment, the cache. */
#include "tool/doctor.h"

#include "base/thread.h"
#include "dialect/manifest_dir.h"
#include "vyre/cache.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

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
                                      "join the group `%s` (sudo usermod -aG %s $USER, then log in again), or hand the "
                                      "device to the container",
                                      group, group)
                      : "hand the device to the container, or ask who runs the machine";
    doctor_warning(d, doctor_format(d, "the device %s is there and may not be used", device->path), device->fix);
}

void doctor_check_devices(doctor *d) {
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
        doctor_warning(
            d, doctor_format(d, "the limit `%s` is low (%" PRIu64 "%s, below %" PRIu64 ")", title, value, unit, least),
            fix);
}

/* X(resource, name, title, unit, least that does not bite, fix) */
#define LIMIT_LIST(X)                                                                                                  \
    X(RLIMIT_AS, "address_space", "address space", " bytes", (uint64_t)64 << 30,                                       \
      "`ulimit -v unlimited`: GPU drivers reserve more than they use")                                                 \
    X(RLIMIT_DATA, "data", "data", " bytes", (uint64_t)1 << 30, "`ulimit -d unlimited`")                               \
    X(RLIMIT_NPROC, "processes", "processes", " with threads, of this user", 64, "raise it with `ulimit -u`")          \
    X(RLIMIT_NOFILE, "open_files", "open files", "", 64, "raise it with `ulimit -n`")                                  \
    X(RLIMIT_STACK, "stack", "stack", " bytes", (uint64_t)1 << 20, "raise it with `ulimit -s`")

void doctor_check_limits(doctor *d) {
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

/* X(name): what the library and the command read. */
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
    if (near)
        doctor_warning(d, doctor_format(d, "nothing reads the variable %.60s", name),
                       doctor_format(d, "did you mean %s?", near));
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

void doctor_check_environment(doctor *d) {
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

/* Whether the folder, or the nearest one above it that is there, can be written to. */
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

void doctor_check_cache(doctor *d) {
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
        doctor_warning(d, doctor_format(d, "compiled programs are not kept: %s", error.message),
                       doctor_copy_text(d, error.fix, strlen(error.fix)));
    } else if (!may_write(d->cache_folder)) {
        d->cache_state = "read only";
        doctor_warning(d, doctor_format(d, "compiled programs are not kept: %s cannot be written to", d->cache_folder),
                       "make it writable, or name another folder in VYRE_CACHE_DIR");
    } else {
        d->cache_state = access(d->cache_folder, F_OK) == 0 ? "usable" : "usable, made when first needed";
    }
}
