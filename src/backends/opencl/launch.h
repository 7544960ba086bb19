/* Slots: queues, arguments, and the control block, through which a kernel reports traps and receives stop requests. */
#ifndef VY_BACKENDS_OPENCL_LAUNCH_H
#define VY_BACKENDS_OPENCL_LAUNCH_H

#include "backends/opencl/executable.h"
#include "backends/opencl/memory.h"

typedef struct vy_ocl_slot {
    vy_gpu_slot base;
    vy_cl_queue queue;        /* the queue in use: `plain` or `timed` */
    vy_cl_queue plain, timed; /* NULL: not created yet */
    vy_ocl_area arena;        /* grows */
    vy_ocl_area control;
    vy_cl_memory staging_memory; /* in host memory; NULL: not created, or the device shares memory */
    uint8_t *staging;            /* VY_GPU_SMALL bytes */
    vy_launch_control given, mirror;
    vy_cl_event first, last; /* of timed launches */
    vy_cl_event marker;      /* of the work that is queried, or NULL */
    uint32_t direct_count;
    vy_ocl_area direct[VY_LIMIT_BUFFERS]; /* memory objects for host bytes of the dispatch */
} vy_ocl_slot;

static inline vy_cl_queue vy_ocl_queue(const vy_gpu_slot *slot) {
    return ((const vy_ocl_slot *)slot)->queue;
}

/* Maximum size of the values of a launch, in bytes (emit/launch_abi.h). */
enum { VY_OCL_VALUE_BYTES = 12 * VY_LIMIT_BUFFERS + 8 * VY_LIMIT_PARAMS + 8 };

/* Ensures that the arena has at least this size. */
vyre_status vy_ocl_slot_reserve(vy_ocl *ocl, vy_ocl_slot *slot, uint64_t size, vyre_error *error);
/* Creates and maps the staging memory, unless the device shares memory. */
vyre_status vy_ocl_slot_stage(vy_ocl *ocl, vy_ocl_slot *slot, vyre_error *error);
/* Frees all idle slots. */
void vy_ocl_slots_free(vy_ocl *ocl);

/* Calls of src/backends/gpu. is_timed: the queue records the times of kernels. */
vyre_status vy_ocl_slot_acquire(vy_gpu *gpu, int is_timed, vy_gpu_slot **out, vyre_error *error);
void vy_ocl_slot_release(vy_gpu_slot *slot, int is_broken);
vyre_status vy_ocl_finish(vy_gpu_slot *slot, vyre_error *error);
vyre_status vy_ocl_query(vy_gpu_slot *slot, int *is_done, vyre_error *error);
vyre_status vy_ocl_signal_stop(vy_gpu_slot *slot, vyre_error *error);
void vy_ocl_signal_wait(vy_gpu_slot *slot);
int vy_ocl_needs_slices(const vy_gpu_executable *code, const vyre_launch *launch, uint32_t step[3]);
vyre_status vy_ocl_choose_kernel(vy_gpu_executable *code, const vyre_launch *launch, int is_sliced, vy_gpu_kernel **out,
                                 vyre_error *error);
vyre_status vy_ocl_control_prepare(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, const vyre_launch *launch,
                                   vyre_error *error);
vyre_status vy_ocl_launch(vy_gpu_slot *slot, vy_gpu_executable *code, vy_gpu_kernel *kernel, const vyre_launch *launch,
                          const vy_grid_tiles *tile, const vy_gpu_buffers *buffers, uint32_t ticket, vyre_error *error);
vyre_status vy_ocl_control_fetch(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, vyre_error *error);
vyre_status vy_ocl_time_read(vy_gpu_slot *slot, uint64_t *nanoseconds, vyre_error *error);

#endif
