/* Execution of one dispatch on the thread pool.
 *
 * Workgroups are divided into ranges, and every participating thread has a frame. Traps of all threads are merged;
 * deadlines and cancellation are checked. Invariant: the reported trap is that of the smallest invocation. */
#ifndef VY_BACKENDS_CPU_EXECUTE_H
#define VY_BACKENDS_CPU_EXECUTE_H

#include "backends/cpu/cpu.h"

/* The reason why a dispatch must end; 0: it continues. */
enum { VY_CPU_STOP_DEADLINE = 1, VY_CPU_STOP_CANCEL = 2 };

typedef struct vy_cpu_execution {
    vy_cpu_job job;
    vy_cpu *cpu;
    vy_cpu_executable *code;
    const vyre_program *program; /* of the launch: equal to the compiled one, except that its source may differ */
    const vy_cpu_buffer *buffers;
    const uint64_t *params;
    uint32_t groups[3];
    uint64_t group_count;
    const uint32_t *cancel; /* the caller's */
    uint64_t deadline_ns;   /* 0 = none */
    /* 0 or VY_CPU_STOP_…: set by the deadline timer, or by a cancellation. Initialise it before vy_cpu_execution_run
     * with 0, or with the reason why the dispatch must not start. */
    _Atomic uint32_t *stop;
    unsigned max_helpers;        /* most threads in addition to the caller's */
    uint32_t streams;            /* see vy_cpu_frame */
    int is_parted;               /* the units of the job are parts of workgroups … */
    int is_narrow;               /* … of the code with fewer lanes */
    int replans;                 /* checks the clock after the first range, and recruits helpers if that took long */
    uint64_t start_ns, expected; /* expected: time on one thread, in picoseconds */
    /* Results of all threads. Each share of the job records how long its thread was busy. */
    vyre_trap trap;     /* invocation UINT64_MAX: none; guarded by the backend's trap_lock during the run, as is
                     * trap_site */
    uint32_t trap_site; /* see vy_cpu_frame */
    _Atomic int was_stopped, is_out_of_memory;
    uint64_t nanoseconds; /* wall-clock time of the dispatch */
} vy_cpu_execution;

/* Sets the fields that follow from a launch: all except buffers, params and stop. */
void vy_cpu_execution_init(vy_cpu_execution *run, vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch);
/* Runs the dispatch, and returns when it has ended on all threads.
 *
 * VYRE_TRAPPED                                  *trap (if not NULL) has the smallest invocation
 * VYRE_TIMEOUT, VYRE_CANCELLED, VYRE_NO_MEMORY  the outputs are invalid */
vyre_status vy_cpu_execution_run(vy_cpu_execution *run, vyre_trap *trap, vyre_error *error);

#endif
