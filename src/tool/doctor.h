/* vyre doctor: what was found, and what is wrong with it.
 *
 * Everything that could crash happens in child processes (doctor_worker.c), which are asked one after the other (doctor_probe.c). What is known
 * of the machine without that is in doctor_system.c; doctor_report.c shows it all. */
#ifndef TOOL_DOCTOR_H
#define TOOL_DOCTOR_H

#include "base/memory.h"
#include "base/string.h"
#include "base/suggest.h"

/* X(ID, name, doc): how a plug-in is. */
#define DOCTOR_STATE_LIST(X)                                                                                           \
    X(OK, "ok", "it loads")                                                                                            \
    X(REFUSED, "refused", "it is not a plug-in this library takes")                                                    \
    X(CRASHED, "crashed", "it ends the process with a signal")                                                         \
    X(EXITED, "exited", "it ends the process with an exit code")                                                       \
    X(HUNG, "hung", "it does not come back")                                                                           \
    X(NOISY, "noisy", "it prints")                                                                                     \
    X(UNKNOWN, "unknown", "the child process could not be started, or cannot be understood")
typedef enum doctor_state {
#define X(ID, name, doc) DOCTOR_##ID,
    DOCTOR_STATE_LIST(X)
#undef X
        DOCTOR_STATE_COUNT
} doctor_state;

/* Texts are in the report's arena, "" if there is nothing to say. */
typedef struct doctor_plugin {
    const char *path;
    int is_installed; /* else it is named by VYRE_PLUGINS */
    doctor_state state;
    int signal, exit_code; /* -1: none */
    const char *status;    /* of the library, if it refuses the plug-in */
    const char *stage;     /* what the child was doing when it ended before its time */
    const char *message, *fix, *output;
} doctor_plugin;

typedef struct doctor_backend {
    const char *id, *owner, *device_class, *probe;
    const char *verdict; /* of the choice, or "not_loaded", or "unknown" if there was none */
    const char *reason, *fix;
    uint32_t rank, devices;
} doctor_backend;

typedef struct doctor_library {
    const char *name, *what;
    const char *path; /* "" if it is not there or does not load */
    const char *message, *fix;
    int is_broken; /* it is there and does not load */
} doctor_library;

typedef struct doctor_device {
    const char *path;
    int is_usable;
    const char *fix;
} doctor_device;

typedef struct doctor_limit {
    const char *name, *title, *unit;
    uint64_t value; /* UINT64_MAX: none */
} doctor_limit;

typedef struct doctor_variable {
    const char *name, *value;
} doctor_variable;

/* Something to tell: a problem makes the verdict "broken", a warning does not. */
typedef struct doctor_finding {
    int is_problem;
    const char *message, *fix;
} doctor_finding;

typedef struct doctor {
    vy_arena texts;
    uint64_t timeout_ns; /* of a child */
    int is_out_of_memory, cannot_start;
    const char *folder; /* of installed plug-ins */
    int has_folder;
    VY_VECTOR(doctor_plugin) plugins;
    VY_VECTOR(doctor_backend) backends;
    const char *chosen; /* "" if none */
    VY_VECTOR(doctor_library) libraries;
    VY_VECTOR(doctor_device) devices;
    VY_VECTOR(doctor_limit) limits;
    VY_VECTOR(doctor_variable) variables;
    const char *cache_folder; /* "": off */
    const char *cache_state;  /* "usable", "not there yet", … */
    uint64_t cache_entries, cache_bytes;
    VY_VECTOR(doctor_finding) findings;
} doctor;

/* A copy in the arena; "" when memory is out, which is noted. */
const char *doctor_copy_text(doctor *d, const char *text, size_t length);
const char *doctor_format(doctor *d, const char *format, ...) VY_PRINTF(2, 3);
void doctor_problem(doctor *d, const char *message, const char *fix);
void doctor_warning(doctor *d, const char *message, const char *fix);

/* ---- doctor_probe.c ---- */
void doctor_probe_plugins(doctor *d);
void doctor_probe_backends(doctor *d); /* after the plug-ins */
void doctor_probe_libraries(doctor *d);

/* ---- doctor_worker.c: the other side. Lines of fields with tabs between them, written to DOCTOR_RESULT_FD; the first field says what a line is.
 *
 *   stage    WHAT                 what comes next, in words that follow "while"
 *   refused  PATH STATUS MESSAGE FIX
 *   backend  ID OWNER RANK PROBE CLASS DEVICES REASON FIX   (PROBE empty: it has none, or runs nothing)
 *   candidate ID OWNER RANK VERDICT CLASS DEVICES REASON FIX
 *   chosen   ID
 *   nothing  MESSAGE FIX
 *   library  PATH MESSAGE
 *   done                          the last one
 */

/* X(name, argument, doc): what a child can be asked, as words of the hidden form `vyre doctor child NAME [ARGUMENT]`. */
#define DOCTOR_TASK_LIST(X)                                                                                            \
    X(plugin, 1, "load this plug-in and ask the probes of its backends")                                               \
    X(builtin, 0, "ask the probes of the library's own backends")                                                      \
    X(choose, 0, "load all plug-ins and choose a backend under the command's policy")                                  \
    X(library, 1, "open this shared library")
#define DOCTOR_WORKER "child"
enum { DOCTOR_RESULT_FD = 3 };
/* Returns 0 if the words are none of it. */
int doctor_worker_run(const char *task, const char *argument);

#endif
