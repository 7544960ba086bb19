/* Model of `vyre doctor`: the examined parts of the machine, and the findings.
 *
 * Code that may crash runs in child processes, one after another (doctor_probe.c). cmd_doctor.c examines the rest of
 * the machine and prints the report. */
#ifndef TOOL_DOCTOR_H
#define TOOL_DOCTOR_H

#include "base/memory.h"
#include "base/string.h"

/* X(ID, name, doc): the states of a plug-in. */
#define DOCTOR_STATE_LIST(X)                                                                                           \
    X(OK, "ok", "it loads")                                                                                            \
    X(REFUSED, "refused", "it is not a valid plug-in for this library")                                                \
    X(CRASHED, "crashed", "it ends the process with a signal")                                                         \
    X(EXITED, "exited", "it ends the process with an exit code")                                                       \
    X(HUNG, "hung", "it does not return in time")                                                                      \
    X(NOISY, "noisy", "it prints to standard output or standard error")                                                \
    X(UNKNOWN, "unknown", "the child process could not be started")
typedef enum doctor_state {
#define X(ID, name, doc) DOCTOR_##ID,
    DOCTOR_STATE_LIST(X)
#undef X
        DOCTOR_STATE_COUNT
} doctor_state;

/* Texts are in the report's arena; "" if empty. */
typedef struct doctor_plugin {
    const char *path;
    int is_installed; /* otherwise it is named by VYRE_PLUGINS */
    doctor_state state;
    int signal, exit_code; /* -1: none */
    const char *status;    /* of vyre_plugin_load, if it refuses the plug-in */
    const char *stage;     /* the stage of the child process when it ended prematurely */
    const char *message, *fix, *output;
} doctor_plugin;

typedef struct doctor_backend {
    const char *id, *owner, *device_class, *probe;
    const char *verdict; /* of the selection; "not_loaded"; or "unknown" if none was made */
    const char *reason, *fix;
    uint32_t rank, devices;
} doctor_backend;

typedef struct doctor_library {
    const char *name, *what;
    const char *path; /* "" if it does not exist or does not load */
    const char *message, *fix;
    int is_broken; /* it exists and does not load */
} doctor_library;

typedef struct doctor_device {
    const char *path;
    int is_usable;
    const char *fix;
} doctor_device;

typedef struct doctor_limit {
    const char *name, *title, *unit;
    uint64_t value; /* UINT64_MAX: unlimited */
} doctor_limit;

typedef struct doctor_variable {
    const char *name, *value;
} doctor_variable;

/* A finding: a problem makes the verdict "broken", a warning does not. */
typedef struct doctor_finding {
    int is_problem;
    const char *message, *fix;
} doctor_finding;

typedef struct doctor {
    vy_arena texts;
    uint64_t timeout_ns; /* of a child process */
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

/* Copies a text to the arena. If memory is exhausted, returns "" and sets is_out_of_memory. */
const char *doctor_copy_text(doctor *d, const char *text, size_t length);
const char *doctor_format(doctor *d, const char *format, ...) VY_PRINTF(2, 3);
void doctor_problem(doctor *d, const char *message, const char *fix);
void doctor_warning(doctor *d, const char *message, const char *fix);

/* ---- doctor_probe.c ---- */
void doctor_probe_plugins(doctor *d);
void doctor_probe_backends(doctor *d); /* after the plug-ins */
void doctor_probe_libraries(doctor *d);

/* ---- worker: the child process ----
 *
 * The child writes records to DOCTOR_RESULT_FD: one line of fields separated by tabs. The first field is the kind of
 * the record.
 *
 *   stage     WHAT                the next step, in words that follow "while"
 *   refused   PATH STATUS MESSAGE FIX
 *   backend   ID OWNER RANK PROBE CLASS DEVICES REASON FIX   (PROBE is empty if it has none, or dispatches nothing)
 *   candidate ID OWNER RANK VERDICT CLASS DEVICES REASON FIX
 *   chosen    ID
 *   nothing   MESSAGE FIX
 *   library   PATH MESSAGE
 *   done                          the last record */

/* X(name, argument, doc): the tasks of a child process, `vyre doctor child NAME [ARGUMENT]`; this form is not
 * documented. */
#define DOCTOR_TASK_LIST(X)                                                                                            \
    X(plugin, 1, "load this plug-in and call the probes of its backends")                                              \
    X(builtin, 0, "call the probes of the built-in backends")                                                          \
    X(choose, 0, "load all plug-ins and select a backend with VYRE_POLICY_DEFAULT")                                    \
    X(library, 1, "open this shared library")
#define DOCTOR_WORKER "child"
enum { DOCTOR_RESULT_FD = 3 };
/* Returns 0 if the words are not a task. */
int doctor_worker_run(const char *task, const char *argument);

#endif
