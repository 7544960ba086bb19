/* The `opencl` backend compiles programs to OpenCL C and runs them on the devices of any vendor, with the results of
 * the reference interpreter (docs/opencl.md).
 *
 *   dynamic_symbols.c  opens the OpenCL loader at run time; maps result codes to statuses
 *   device.c           enumeration, probe, constructor, identity, capabilities; device loss and recovery
 *   probe.c            tests for properties that drivers do not report, or report wrongly: memory shared by host and
 *                      kernels, how to stop a running kernel, where constant arrays are fast
 *   memory.c           device memory, resident buffers and their transfers
 *   executable.c       compiling, objects for the disk cache, executables and their kernels
 *   launch.c           slots: queues, control blocks, arguments, stopping
 *   submission.c       the copies and the end of a dispatch; the calls that src/backends/gpu makes
 *
 * All else of a dispatch is in src/backends/gpu.
 *
 * The OpenCL driver's functions are thread-safe, with one exception: only one thread at a time may set the arguments of
 * a kernel object. Each launch therefore uses a separate kernel object. No lock is held during a call of the driver,
 * except where a comment states it. */
#ifndef VY_BACKENDS_OPENCL_OPENCL_H
#define VY_BACKENDS_OPENCL_OPENCL_H

#include "backends/gpu/gpu.h"
#include "backends/opencl/dynamic_symbols.h"
#include "base/memory.h"
#include "emit/opencl/opencl.h"
#include "vyre/backend.h"

/* How the host stops a running kernel (probe.c). */
typedef enum vy_ocl_signal {
    VY_OCL_SIGNAL_UNKNOWN,
    VY_OCL_SIGNAL_MEMORY, /* the control block is host memory, and running kernels observe writes to it */
    VY_OCL_SIGNAL_QUEUE,  /* a write through another queue reaches a running kernel; not on processors */
    VY_OCL_SIGNAL_SLICES  /* neither: cancellable grids run in slices, with a limit on the polls of an invocation */
} vy_ocl_signal;

/* Results of the device probe, stored in the disk cache. No padding. */
typedef struct vy_ocl_findings {
    uint32_t signal;             /* vy_ocl_signal */
    uint32_t shares_memory;      /* kernels access 16-byte-aligned host memory in place, without commands */
    uint32_t poll_ps;            /* minimum time between two polls of an invocation, in picoseconds */
    uint32_t has_fast_constants; /* lookups in __constant memory are at least as fast as in global memory */
} vy_ocl_findings;

/* Device properties that the driver reports. */
typedef struct vy_ocl_device_info {
    vy_cl_platform platform;
    vy_cl_device device;
    vyre_device_class device_class;
    char name[128], driver[256], platform_name[96];
    char identity[512];                  /* of device and driver, for cache keys; excludes the device number */
    uint32_t vendor, version, c_version; /* 30 is OpenCL 3.0, 300 OpenCL C 3.0 */
    uint32_t groups[3], invocations, compute_units, address_bits;
    uint64_t memory_bytes, max_allocation, local_bytes, constant_bytes, cache_bytes;
    uint64_t single_config;
    uint8_t has_fp64, has_int64_atomics, has_ordered_atomics, is_unified;
    uint8_t has_pci, has_uuid;
    char refusal[128]; /* why the device is not supported, or "" */
    uint32_t pci[4];   /* domain, bus, device, function */
    uint8_t uuid[16];
} vy_ocl_device_info;

typedef struct vy_ocl {
    vy_gpu base;
    vy_ocl_dynamic_symbols api;
    vy_cl_context context;
    vy_cl_queue signal_queue; /* for VY_OCL_SIGNAL_QUEUE */
    vy_ocl_device_info info;
    vy_ocl_findings findings;
    vy_opencl_device target; /* the emitter's description of the device; `exact` is in the base */
    uint32_t ordinal, direct_bytes;
    struct vy_ocl_slab *slabs;       /* guarded by the base's lock */
    _Atomic uint64_t memory_objects; /* the number created so far, which is the last id */
} vy_ocl;

/* For builtin.c. */
vyre_status vy_ocl_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error);
void vy_ocl_probe(const vyre_host *host, vyre_probe *out);

/* ---- device.c ---- */

/* Lists the devices of all platforms: supported devices first, and GPUs and accelerators before CPUs. Creates no
 * context. *out has *count items; the caller frees it with vy_release. note: the problems of other drivers and
 * platforms, or "".
 *
 * VYRE_NOT_FOUND    no platform exists, or none has a device
 * VYRE_UNSUPPORTED  a driver does not start */
vyre_status vy_ocl_devices_list(const vy_ocl_dynamic_symbols *api, vy_ocl_device_info **out, uint32_t *count,
                                char note[256], vyre_error *error);

/* Sets the error of a failed call; records a device loss. vy_ocl_check does so only if the call failed. */
vyre_status vy_ocl_failed(vy_ocl *ocl, int32_t result, const char *doing, vyre_error *error);
static inline vyre_status vy_ocl_check(vy_ocl *ocl, int32_t result, const char *doing, vyre_error *error) {
    return result == VY_CL_OK ? (vyre_status)VYRE_OK : vy_ocl_failed(ocl, result, doing, error);
}
/* Sets the error of a call on a device that was lost earlier. */
vyre_status vy_ocl_fail_lost(vy_ocl *ocl, vyre_error *error);
static inline vyre_status vy_ocl_enter(vy_ocl *ocl, vyre_error *error) {
    return atomic_load_explicit(&ocl->base.loss, memory_order_relaxed) ? vy_ocl_fail_lost(ocl, error)
                                                                       : (vyre_status)VYRE_OK;
}

/* ---- probe.c ---- */

/* Fills `findings` from the caches of this process or of the disk, or by a probe that runs for about 0.1 s. With
 * VYRE_OPENCL_PROBE=0 no probe runs, and the minimum is assumed. */
vyre_status vy_ocl_findings_get(vy_ocl *ocl, vyre_error *error);

/* ---- submission.c ---- */

extern const vy_gpu_calls vy_ocl_calls;

#endif
