/* The device (device_info.h). */
#include "backends/cuda/device_info.h"

#include "backends/cuda/staging.h"
#include "base/env.h"
#include "base/status.h"
#include "emit/ptx/ptx.h"
#include "ir/limits.h"
#include "ir/op_tables.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OLDEST = 60 };                           /* sm_60: what all our PTX needs */
enum { MAX_THREADS_PER_MULTIPROCESSOR = 2048 }; /* of a multiprocessor, of any kind so far */

/* X(attribute, field): numbers as they are. */
#define ATTRIBUTES(X)                                                                                                  \
    X(MAX_THREADS, threads)                                                                                            \
    X(WARP, warp)                                                                                                      \
    X(MULTIPROCESSORS, multiprocessors)                                                                                \
    X(SHARED_BYTES, shared_bytes)                                                                                      \
    X(L2_BYTES, l2_bytes)                                                                                              \
    X(COPY_ENGINES, copy_engines)

static uint32_t query_attribute(const vy_cuda_dynamic_symbols *api, int device, int attribute, int *result) {
    int value = 0, failed = api->device_attribute(&value, attribute, device);
    if (failed && !*result)
        *result = failed;
    return value > 0 ? (uint32_t)value : 0;
}

/* For who wants to see, or to do without. */
static int is_enabled(const char *variable) {
    return vy_env_flag(variable, 1);
}

/* One address for pinned memory on both sides, and that much of it for one dispatch. */
static uint32_t query_zero_copy(const vy_cuda_dynamic_symbols *api, int device) {
    int ignored = 0;
    return query_attribute(api, device, VY_CU_DEVICE_UNIFIED_ADDRESSING, &ignored) &&
                   query_attribute(api, device, VY_CU_DEVICE_MAPS_HOST_MEMORY, &ignored)
               ? VY_CUDA_ZERO_COPY_BYTES
               : 0;
}

static int query_all(const vy_cuda_dynamic_symbols *api, int device, vy_cuda_device_info *out) {
    int result = 0, ignored = 0;
#define X(attribute, field) out->field = query_attribute(api, device, VY_CU_DEVICE_##attribute, &result);
    ATTRIBUTES(X)
#undef X
    for (int d = 0; d < 3; d++) {
        out->block[d] = query_attribute(api, device, VY_CU_DEVICE_MAX_BLOCK_X + d, &result);
        out->grid[d] = query_attribute(api, device, VY_CU_DEVICE_MAX_GRID_X + d, &result);
    }
    out->architecture = 10 * query_attribute(api, device, VY_CU_DEVICE_MAJOR, &result) +
                        query_attribute(api, device, VY_CU_DEVICE_MINOR, &result);
    /* Newer drivers may not tell; then it is unknown. Two transfers a clock, eight bits a byte. */
    uint64_t clock = query_attribute(api, device, VY_CU_DEVICE_MEMORY_CLOCK_KHZ, &ignored);
    uint64_t bus = query_attribute(api, device, VY_CU_DEVICE_MEMORY_BUS_BITS, &ignored);
    out->bandwidth_gbps = (uint32_t)(2 * clock * (bus / 8) / 1000000);
    uint32_t threads = query_attribute(api, device, VY_CU_DEVICE_THREADS_PER_MULTIPROCESSOR, &ignored);
    out->threads_per_multiprocessor = threads ? threads : MAX_THREADS_PER_MULTIPROCESSOR;
    out->has_cooperative_launch = is_enabled("VYRE_CUDA_TOGETHER") && out->architecture >= VY_PTX_GRID_BARRIERS &&
                                  api->launch_cooperative && api->occupancy &&
                                  query_attribute(api, device, VY_CU_DEVICE_COOPERATIVE, &ignored) != 0;
    out->has_indirect = is_enabled("VYRE_CUDA_INDIRECT") && api->copy_on_device;
    out->has_dependent_launch =
        is_enabled("VYRE_CUDA_EARLY") && out->architecture >= VY_PTX_DEPENDENT_LAUNCH && api->graph_link;
    out->zero_copy_bytes = query_zero_copy(api, device);
    out->has_pools = api->pool_create && api->pool_destroy && api->pool_set && api->pool_get && api->pool_trim &&
                     api->pool_allocate && api->pool_free &&
                     query_attribute(api, device, VY_CU_DEVICE_MEMORY_POOLS, &ignored) != 0;
    return result;
}

static vyre_status check(const vy_cuda_dynamic_symbols *api, int device, const vy_cuda_device_info *device_info,
                         vyre_error *error) {
    int mode = 0;
    if (device_info->architecture < OLDEST)
        return vy_fail(error, VYRE_UNSUPPORTED, "use a device of the Pascal generation or later",
                       "%s is sm_%" PRIu32 ", older than the oldest that is served (sm_%d)", device_info->name,
                       device_info->architecture, OLDEST);
    api->device_attribute(&mode, VY_CU_DEVICE_COMPUTE_MODE, device);
    if (mode == VY_CU_COMPUTE_MODE_PROHIBITED)
        return vy_fail(error, VYRE_UNSUPPORTED, "allow it: `nvidia-smi -c DEFAULT`",
                       "%s is in the compute mode that prohibits all use", device_info->name);
    return VYRE_OK;
}

/* The driver serves the process that started it, and no child that this process forks afterwards: nothing of it is called there. */
static vyre_status start_driver(const vy_cuda_dynamic_symbols *api, vyre_error *error) {
    static _Atomic long starter; /* 0: it was not started */
    long process = (long)getpid(), before = atomic_load(&starter);
    if (before && before != process)
        return vy_fail(error, VYRE_UNSUPPORTED,
                       "fork before backends are selected or acquired, or let the child execute a program of its own",
                       "the NVIDIA driver was started by process %ld, and does not survive its fork", before);
    int result = api->init(0);
    if (result != VY_CU_OK)
        return vy_cuda_fail_result(api, result, "starting the NVIDIA driver", error);
    atomic_store(&starter, process);
    return VYRE_OK;
}

static vyre_status find(const vy_cuda_dynamic_symbols *api, uint32_t ordinal, int *device, vyre_error *error) {
    int count = 0;
    vyre_status status = start_driver(api, error);
    if (status != VYRE_OK)
        return status;
    int result = api->device_count(&count);
    if (result != VY_CU_OK)
        return vy_cuda_fail_result(api, result, "counting devices", error);
    if (count <= 0)
        return vy_cuda_fail_result(api, 100, "looking for a device", error);
    if (ordinal >= (uint32_t)count)
        return vy_fail(error, VYRE_NOT_FOUND, VY_FIX("use a number below %d, or plain `cuda`", count),
                       "there is no device %" PRIu32 " of `cuda` (there are %d, from 0 on)", ordinal, count);
    result = api->device_get(device, (int)ordinal);
    return result == VY_CU_OK ? (vyre_status)VYRE_OK : vy_cuda_fail_result(api, result, "looking for a device", error);
}

vyre_status vy_cuda_device_info_query(const vy_cuda_dynamic_symbols *api, uint32_t ordinal, int *device,
                                      vy_cuda_device_info *out, vyre_error *error) {
    size_t bytes = 0;
    memset(out, 0, sizeof *out);
    vyre_status status = find(api, ordinal, device, error);
    if (status != VYRE_OK)
        return status;
    int result = query_all(api, *device, out);
    if (result == VY_CU_OK)
        result = api->device_name(out->name, (int)sizeof out->name, *device);
    if (result == VY_CU_OK)
        result = api->device_memory(&bytes, *device);
    if (result == VY_CU_OK)
        result = api->driver_version(&out->driver_version);
    if (result != VY_CU_OK)
        return vy_cuda_fail_result(api, result, "asking about a device", error);
    out->memory_bytes = bytes;
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d", out->driver_version / 1000,
             out->driver_version % 1000 / 10);
    return check(api, *device, out, error);
}

vyre_status vy_cuda_device_info_any(const vy_cuda_dynamic_symbols *api, uint32_t *count, vyre_error *error) {
    vy_cuda_device_info device_info;
    vyre_error others;
    int device, all = 0;
    *count = 0;
    vyre_status status = start_driver(api, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_device_info_query(api, 0, &device, &device_info, error);
    if (api->device_count(&all) != VY_CU_OK)
        return status;
    int is_served = status == VYRE_OK;
    for (int i = 1; i < all && !is_served; i++)
        is_served = vy_cuda_device_info_query(api, (uint32_t)i, &device, &device_info, &others) == VYRE_OK;
    *count = is_served ? (uint32_t)all : 0;
    return is_served ? (vyre_status)VYRE_OK : status;
}

vyre_status vy_cuda_device_info_apply_env(vy_cuda_device_info *device_info, vyre_error *error) {
    uint32_t direct;
    vyre_status status =
        vy_env_number("VYRE_CUDA_DIRECT", 0, VY_CUDA_SMALL, device_info->zero_copy_bytes, &direct, error);
    if (status == VYRE_OK && device_info->zero_copy_bytes) /* 0: the device has none of it */
        device_info->zero_copy_bytes = direct;
    return status;
}

/* ---- ops ---- */

enum { ORDERED_ATOMICS = 70 }; /* sm_70: atomic loads and stores (docs/ptx.md) */

/* Before sm_70 at index 0, from sm_70 on at index 1. */
static const char *ops[2][VY_OP_SET_COUNT];
static size_t op_counts[2];

static void list_ops(void) {
    for (unsigned i = 0; i < VY_OP_SET_COUNT; i++) {
        const char *name = vy_op_set_name(i);
        if (!name || i == VY_OP_SET_GRID_BARRIER)
            continue;
        ops[1][op_counts[1]++] = name;
        if (i != VY_OP_SET_ATOMIC + VYRE_ATOMIC_LOAD && i != VY_OP_SET_ATOMIC + VYRE_ATOMIC_STORE)
            ops[0][op_counts[0]++] = name;
    }
}

const char *const *vy_cuda_device_info_ops(const vy_cuda_device_info *device_info, size_t *count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, list_ops);
    int has_ordered = device_info->architecture >= ORDERED_ATOMICS;
    *count = op_counts[has_ordered];
    return ops[has_ordered];
}

/* ---- capabilities ---- */

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Grid barriers run inside a launch only where the grid is small enough (cooperative_launch.h), and are cut by the boundary elsewhere: no promise. Grids that are larger in y and z than the device takes are cut here (launch.h). */
uint64_t vy_cuda_device_info_capability(const vy_cuda_device_info *device_info, vyre_capability capability) {
    switch (capability) {
    case VYRE_CAPABILITY_SUBGROUP_OPS:
    case VYRE_CAPABILITY_F16:
    case VYRE_CAPABILITY_CANCEL:
        return 1;
    case VYRE_CAPABILITY_INDIRECT_DISPATCH:
        return device_info->has_indirect;
    case VYRE_CAPABILITY_BF16:
        return device_info->architecture >= 80;
    case VYRE_CAPABILITY_ASYNC_COMPUTE:
        return device_info->copy_engines > 0;
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z: /* what is over the device's limit in z lies in x (emit/ptx/ptx.h) */
    case VYRE_CAPABILITY_MAX_INVOCATIONS:
        return min_u64(device_info->threads, VY_LIMIT_WORKGROUP);
    case VYRE_CAPABILITY_MAX_WORKGROUPS:
        return device_info->grid[0];
    case VYRE_CAPABILITY_SUBGROUP_SIZE:
        return device_info->warp;
    case VYRE_CAPABILITY_MAX_STORAGE_BYTES:
        return min_u64(device_info->memory_bytes, (uint64_t)UINT32_MAX * 8); /* elements of the largest type */
    default:
        return 0;
    }
}

/* What the emitter uses and what the driver reports. The size of L1, registers of a thread, banks and the like are in NVIDIA's documents, but no driver
 * reports them: 0. */
void vy_cuda_device_info_profile(const vy_cuda_device_info *device_info, vyre_device_profile *profile) {
    profile->device = device_info->name;
    profile->driver = device_info->driver;
    profile->supports_f64 = profile->supports_int64_atomics = profile->supports_trap_propagation = 1;
    profile->has_mul_high = profile->has_shared_memory = profile->has_subgroup_shuffle = 1;
    profile->max_native_int_width = 64;
    profile->max_shared_memory_bytes = (uint32_t)min_u64(device_info->shared_bytes, VY_LIMIT_WORKGROUP_BYTES);
    profile->compute_units = device_info->multiprocessors;
    profile->l2_cache_bytes = device_info->l2_bytes;
    profile->mem_bw_gbps = device_info->bandwidth_gbps;
}
