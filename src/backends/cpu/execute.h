/* Execution of one dispatch on the thread pool.
 *
 * Workgroups are handed out in ranges, and every thread that takes part has a frame. Traps of all threads are merged;
 * deadlines and cancellation are watched. */
#ifndef VY_BACKENDS_CPU_EXECUTE_H
#define VY_BACKENDS_CPU_EXECUTE_H

#include "backends/cpu/cpu.h"

/* Why a dispatch is to end; 0 while it is not. */
enum { VY_CPU_STOP_DEADLINE = 1, VY_CPU_STOP_CANCEL = 2 };

typedef struct vy_cpu_execution {
    vy_cpu_job job;
    vy_cpu *cpu;
    vy_cpu_executable *code;
    const vyre_program *program; /* of the launch: equal to the one that was compiled, but its source may be another */
    const vy_cpu_buffer *buffers;
    const uint64_t *params;
    uint32_t groups[3];
    uint64_t group_count;
    const uint32_t *cancel; /* the caller's */
    uint64_t deadline_ns;   /* 0 = none */
    /* 0 or VY_CPU_STOP_…: set by the alarm, or by who cancels. Start it before vy_cpu_execution, with 0 or with why
     * it need not begin. */
    _Atomic uint32_t *stop;
    unsigned max_helpers;        /* threads beside the caller's */
    uint32_t streams;            /* as in the frame */
    int is_parted;               /* the job counts parts of workgroups; … */
    int is_narrow;               /* … those of the code with fewer lanes */
    int replans;                 /* at the clock after the first range, and asks for help if it took long */
    uint64_t start_ns, expected; /* how long it takes on one thread, in picoseconds */
    /* Results, of all threads. How long each was busy is noted in its share of the job. */
    vyre_trap trap; /* invocation UINT64_MAX: none; guarded by the backend's trap_lock while it runs, as is the next */
    uint32_t trap_site; /* as in the frame */
    _Atomic int was_stopped, is_out_of_memory;
    uint64_t nanoseconds; /* of the whole */
} vy_cpu_execution;

/* Fills in what a launch says. Neither buffers, params nor stop. */
void vy_cpu_execution_init(vy_cpu_execution *run, vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch);
/* Runs it and returns when it has ended everywhere.
 *
 * VYRE_TRAPPED    *trap (if not NULL) has the smallest invocation
 * VYRE_TIMEOUT, VYRE_CANCELLED, VYRE_NO_MEMORY   what was written is not to be used */
vyre_status vy_cpu_execution_run(vy_cpu_execution *run, vyre_trap *trap, vyre_error *error);

#endif
