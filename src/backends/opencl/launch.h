/* Launches: slots, arguments, waiting, grids in slices, and the control block, through which a kernel reports traps and
 * receives stop requests. */
#ifndef VY_BACKENDS_OPENCL_LAUNCH_H
#define VY_BACKENDS_OPENCL_LAUNCH_H

#include "backends/opencl/executable.h"
#include "backends/opencl/memory.h"

/* ---- slots ----
 *
 * A slot has the resources of one dispatch in flight: an in-order queue, an arena for host bytes, and a control block.
 * Released slots are kept for later dispatches, up to a maximum number of idle slots. */

/* Dispatches with at most this many bytes in the arena are transferred through staging memory. */
enum { VY_OCL_SMALL = 1 << 20 };

struct vy_ocl_slot {
    vy_ocl_slot *next;
    vy_cl_queue queue;        /* the queue in use: `plain` or `timed` */
    vy_cl_queue plain, timed; /* NULL: not created yet */
    vy_ocl_area arena;        /* grows */
    vy_ocl_area control;
    vy_cl_memory staging_memory; /* in host memory; NULL: not created, or the device shares memory */
    uint8_t *staging;            /* VY_OCL_SMALL bytes */
    vy_launch_control given, taken;
    vy_cl_event first, last; /* of timed launches */
};

/* Acquires a slot for one dispatch. is_timed: record kernel times. */
vyre_status vy_ocl_slot_acquire(vy_ocl *ocl, int is_timed, vy_ocl_slot **out, vyre_error *error);
/* is_broken: a call on the slot failed, so it is freed after its queue finishes. Otherwise no work may be pending on
 * it. */
void vy_ocl_slot_release(vy_ocl *ocl, vy_ocl_slot *slot, int is_broken);
/* Frees all idle slots. */
void vy_ocl_slots_free(vy_ocl *ocl);
/* Ensures that the arena has at least this size. */
vyre_status vy_ocl_slot_reserve(vy_ocl *ocl, vy_ocl_slot *slot, uint64_t size, vyre_error *error);
/* Creates and maps the staging memory, unless the device shares memory. */
vyre_status vy_ocl_slot_stage(vy_ocl *ocl, vy_ocl_slot *slot, vyre_error *error);

/* ---- launches ---- */

/* Maximum size of the values of a launch, in bytes (emit/launch_abi.h). */
enum { VY_OCL_VALUE_BYTES = 12 * VY_LIMIT_BUFFERS + 8 * VY_LIMIT_PARAMS + 8 };

/* The start of a buffer. */
typedef struct vy_ocl_place {
    vy_cl_memory memory; /* NULL: the buffer is empty */
    uint64_t offset;     /* bytes */
} vy_ocl_place;

static inline int vy_ocl_needs_control(const vy_ocl_kernel *kernel) {
    return kernel->header.reports || kernel->header.polls;
}

/* Whether a launch runs in slices: its grid exceeds the driver's limits, or it can be stopped and the device has no way
 * to signal a running kernel. */
int vy_ocl_needs_slices(const vy_ocl_executable *code, const vyre_launch *launch);

/* Initialises the slot's control block, if the kernel uses it. */
vyre_status vy_ocl_control_prepare(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_kernel *kernel, uint64_t deadline_ns,
                                   vyre_error *error);
/* Sets the arguments and enqueues the kernel on the slot's queue. places: one per buffer. */
vyre_status vy_ocl_launch(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_executable *code, vy_ocl_kernel *kernel,
                          const vyre_launch *launch, const vy_ocl_place *places, vyre_error *error);
/* Enqueues a copy of the control block to `taken`, unless the block is in host memory. */
vyre_status vy_ocl_control_fetch(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_kernel *kernel, vyre_error *error);
/* Requests the running kernel of the slot to stop. The upload of the control block overwrites an earlier request, so
 * callers repeat the request every VY_OCL_SIGNAL_RETRY_NS until the kernel has ended. */
#define VY_OCL_SIGNAL_RETRY_NS UINT64_C(1000000)
vyre_status vy_ocl_signal_stop(vy_ocl *ocl, vy_ocl_slot *slot, vyre_error *error);
/* Waits for the slot's queue. Requests the kernel to stop if *cancel becomes nonzero or the deadline passes. */
vyre_status vy_ocl_wait(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_kernel *kernel, uint64_t deadline_ns,
                        const uint32_t *cancel, vyre_error *error);
/* Runs a launch in slices and waits for each. `taken` receives the combined result, *kernel the kernel that ran. */
vyre_status vy_ocl_launch_slices(vy_ocl_slot *slot, vy_ocl_executable *code, const vyre_launch *launch,
                                 const vy_ocl_place *places, vy_ocl_kernel **kernel, vyre_error *error);
/* Discards the pending work of the slot: requests the kernel (unless NULL) to stop, if it polls, and waits. */
void vy_ocl_abort(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_kernel *kernel);

/* Decodes the control block of a completed launch.
 *
 * VYRE_TRAPPED                  *trap (if not NULL) has the smallest invocation that trapped
 * VYRE_TIMEOUT, VYRE_CANCELLED  the outputs are incomplete and must not be used */
vyre_status vy_ocl_decode_result(const vy_ocl_slot *slot, const vy_ocl_kernel *kernel, const char *name,
                                 int was_cancelled, vyre_trap *trap, vyre_error *error);
/* The total time of the kernels on a timed slot, from the start of the first to the end of the last. */
vyre_status vy_ocl_read_time(vy_ocl *ocl, vy_ocl_slot *slot, uint64_t *nanoseconds, vyre_error *error);

#endif
