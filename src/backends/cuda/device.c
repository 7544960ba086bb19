/* The CUDA device: its properties, its context and the loss of it, and the backend's function table (cuda.h). */
#include "backends/cuda/cuda.h"

#include "backends/cuda/executable.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/stream_slot.h"
#include "backends/cuda/transfer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "emit/ptx/ptx.h"
#include "ir/model.h"
#include "ir/op_tables.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- device properties ---- */

enum { OLDEST = 60 };                           /* sm_60, the minimum for the emitted PTX */
enum { MAX_THREADS_PER_MULTIPROCESSOR = 2048 }; /* per multiprocessor, the maximum of all architectures so far */

/* X(attribute, field): attributes that are stored unchanged. */
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

/* Environment variables that disable a feature, for measurements or as a workaround. */
static int is_enabled(const char *variable) {
    return vy_env_flag(variable, 1);
}

/* Requires that pinned memory has the same address on host and device. Returns the limit in bytes per dispatch. */
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
    /* Newer drivers may not report these; then the bandwidth is 0 (unknown). Two transfers per clock, eight bits per
     * byte. */
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

static vyre_status start_driver(const vy_cuda_dynamic_symbols *api, vyre_error *error) {
    static _Atomic long starter; /* the process that initialised the driver; 0: none yet */
    vyre_status status = vy_gpu_check_process(&starter, "the NVIDIA driver", error);
    if (status != VYRE_OK)
        return status;
    int result = api->init(0);
    if (result != VY_CU_OK)
        return vy_cuda_fail_result(api, result, "starting the NVIDIA driver", error);
    atomic_store(&starter, (long)getpid());
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
    status = vy_gpu_check_ordinal("cuda", ordinal, (uint32_t)count, error);
    if (status != VYRE_OK)
        return status;
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
    if (status == VYRE_OK && device_info->zero_copy_bytes) /* 0: the device does not support it */
        device_info->zero_copy_bytes = direct;
    return status;
}

/* ---- ops ---- */

enum { ORDERED_ATOMICS = 70 }; /* sm_70: atomic loads and stores (docs/internals/ptx.md) */

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

/* Grid barriers run inside a launch only if the grid is small enough (launch.h); otherwise the boundary splits the
 * dispatch. So the capability is not reported. Grids that exceed the device's limits in y and z are tiled here
 * (launch.h). */
uint64_t vy_cuda_device_info_capability(const vy_cuda_device_info *device_info, vyre_capability capability) {
    switch (capability) {
    case VYRE_CAPABILITY_SUBGROUP_OPS:
    case VYRE_CAPABILITY_F16:
    case VYRE_CAPABILITY_CANCEL:
        return 1;
    case VYRE_CAPABILITY_INDIRECT_DISPATCH:
        return device_info->has_indirect;
    case VYRE_CAPABILITY_BF16:
        return vy_ptx_target(device_info->architecture, 0).exact >> VYRE_NUMERIC_BF16_FMA & 1;
    case VYRE_CAPABILITY_ASYNC_COMPUTE:
        return device_info->copy_engines > 0;
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z: /* the excess over the device's limit is in x (emit/ptx/ptx.h) */
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

/* Values that the emitter uses and the driver reports. The size of L1, registers per thread, banks and the like are
 * documented by NVIDIA but not reported by any driver: 0. */
void vy_cuda_device_info_profile(const vy_cuda_device_info *device_info, vyre_device_profile *profile) {
    profile->device = device_info->name;
    profile->driver = device_info->driver;
    const vy_target_desc target = vy_ptx_target(device_info->architecture, 0);
    vy_target_profile(&target, profile);
    profile->max_shared_memory_bytes = (uint32_t)min_u64(device_info->shared_bytes, VY_LIMIT_WORKGROUP_BYTES);
    profile->compute_units = device_info->multiprocessors;
    profile->l2_cache_bytes = device_info->l2_bytes;
    profile->mem_bw_gbps = device_info->bandwidth_gbps;
}

/* ---- context and device loss ----
 *
 * A loss is sticky: the driver returns the same result from every later call, and the backend makes no further calls.
 * After a real loss the driver refuses this process a new context; recovery detects that by trying. */

/* ---- loss ---- */

vyre_status vy_cuda_failed(vy_cuda *cuda, int result, const char *doing, vyre_error *error) {
    int none = 0;
    if (vy_cuda_is_loss(result))
        atomic_compare_exchange_strong(&cuda->base.loss, &none, result);
    return vy_cuda_fail_result(&cuda->api, result, doing, error);
}

vyre_status vy_cuda_fail_lost(vy_cuda *cuda, vyre_error *error) {
    return vy_cuda_fail_result(&cuda->api, atomic_load(&cuda->base.loss), "the device was lost before", error);
}

/* ---- entering ---- */

static int switch_context(vy_cuda *cuda, int result, vy_cu_context current, int *was_pushed) {
    *was_pushed = 0;
    if (result != VY_CU_OK || current == cuda->context)
        return result;
    if (!current)
        return cuda->api.context_set(cuda->context);
    result = cuda->api.context_push(cuda->context);
    *was_pushed = result == VY_CU_OK;
    return result;
}

vyre_status vy_cuda_switch_context(vy_cuda *cuda, int result, vy_cu_context current, int *was_pushed,
                                   vyre_error *error) {
    return vy_cuda_check(cuda, switch_context(cuda, result, current, was_pushed), "entering the device's context",
                         error);
}

void vy_cuda_enter_for_release(vy_cuda *cuda, int *was_pushed) {
    vy_cu_context current = NULL;
    int result = cuda->api.context_current(&current);
    switch_context(cuda, result, current, was_pushed);
}

/* ---- the device ---- */

/* The driver waits most quickly for the first stream of a context (on an H200, by 0.1 to 0.25 us of the 10 us for a
 * launch and its wait). So that stream belongs to the stream_slot that most dispatches use. */
static vyre_status start_inside(vy_cuda *cuda, vyre_error *error) {
    vy_cuda_stream_slot *first;
    vyre_status status = vy_cuda_pool_start(cuda, error);
    if (status == VYRE_OK)
        status = vy_cuda_stream_slot_acquire(cuda, &first, error);
    if (status != VYRE_OK)
        return status;
    vy_cuda_stream_slot_release(cuda, first);
    return vy_cuda_check(cuda, cuda->api.stream_create(&cuda->signal, VY_CU_STREAM_NON_BLOCKING), "making a stream",
                         error);
}

/* Releases everything on the device, but keeps the list entries of its blocks. */
static void release_device(vy_cuda *cuda) {
    vy_cu_context current = NULL;
    int was_pushed;
    if (!cuda->context)
        return;
    vy_cuda_enter_for_release(cuda, &was_pushed);
    vy_cuda_clock_end(cuda);
    vy_cuda_graphs_drop(cuda, NULL);
    vy_cuda_stream_slots_end(cuda);
    vy_cuda_external_stream_end(cuda);
    vy_cuda_blocks_invalidate(cuda);
    if (cuda->signal)
        cuda->api.stream_destroy(cuda->signal);
    cuda->signal = NULL;
    vy_cuda_pool_end(cuda);
    vy_cuda_leave(cuda, was_pushed);
    /* If this thread kept the context current, it would later refer to a destroyed context. */
    if (cuda->api.context_current(&current) == VY_CU_OK && current == cuda->context)
        cuda->api.context_set(NULL);
    cuda->api.context_release(cuda->device);
    cuda->context = NULL;
    atomic_store(&cuda->clock_taken_ns, 0);
}

/* Retains the primary context and creates the state that all dispatches share. On failure everything is released. */
static vyre_status device_start(vy_cuda *cuda, vyre_error *error) {
    int was_pushed;
    vyre_status status = vy_cuda_check(cuda, cuda->api.context_retain(&cuda->context, cuda->device),
                                       "making the device's context", error);
    if (status != VYRE_OK) {
        cuda->context = NULL;
        return status;
    }
    status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status == VYRE_OK) {
        status = start_inside(cuda, error);
        vy_cuda_leave(cuda, was_pushed);
    }
    if (status != VYRE_OK)
        release_device(cuda);
    return status;
}

/* Frees everything on the device, whether it is lost or not. No dispatch may be in flight. */
static void device_end(vy_cuda *cuda) {
    release_device(cuda);
    vy_cuda_blocks_free(cuda);
}

/* ---- recovery ---- */

/* Tests whether memory can be allocated, written and waited for. */
static vyre_status smoke_test(vy_cuda *cuda, vyre_error *error) {
    int was_pushed;
    vy_cuda_stream_slot *stream_slot;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_stream_slot_acquire(cuda, &stream_slot, error);
    if (status == VYRE_OK) {
        status =
            vy_cuda_check(cuda, cuda->api.fill(stream_slot->control, 0, sizeof(vy_launch_control), stream_slot->stream),
                          "trying the device", error);
        if (status == VYRE_OK)
            status = vy_cuda_stream_slot_wait(cuda, stream_slot, "trying the device", error);
        stream_slot->base.is_control_clean = 0;
        vy_cuda_stream_slot_release(cuda, stream_slot);
    }
    vy_cuda_leave(cuda, was_pushed);
    return status;
}

static vyre_status try_recover(void *self, vyre_error *error) {
    vy_cuda *cuda = self;
    int loss = atomic_load(&cuda->base.loss);
    vyre_error why;
    release_device(cuda);
    atomic_store(&cuda->base.loss, 0);
    vyre_status status = device_start(cuda, &why);
    if (status == VYRE_OK)
        status = smoke_test(cuda, &why);
    if (status == VYRE_OK) {
        vy_cuda_blocks_free(cuda);
        return VYRE_OK;
    }
    atomic_store(&cuda->base.loss, loss);
    return vy_gpu_fail_recovery(status, &why, error);
}

/* ---- the backend's table ---- */

static const char *const *supported_ops(void *self, size_t *count) {
    return vy_cuda_device_info_ops(&((vy_cuda *)self)->device_info, count);
}

static uint64_t capability(void *self, vyre_capability capability) {
    return vy_cuda_device_info_capability(&((vy_cuda *)self)->device_info, capability);
}

static void device_profile(void *self, vyre_device_profile *profile) {
    vy_cuda_device_info_profile(&((vy_cuda *)self)->device_info, profile);
}

/* Everything a cubin depends on: the device's kind, the driver's compiler, the target of legalisation, and the kernel
 * prologue. */
static vyre_status cache_identity(void *self, vyre_bytes *out, vyre_error *error) {
    vy_cuda *cuda = self;
    char text[384];
    vyre_status status = vy_gpu_numerics_confirm(self, error);
    if (status != VYRE_OK)
        return status;
    int length = snprintf(text, sizeof text, "cuda format %d %s exact %016" PRIx64 " early %d", VY_CUDA_FORMAT,
                          cuda->identity, atomic_load(&cuda->base.exact), cuda->device_info.has_dependent_launch);
    status = vyre_bytes_resize(out, (size_t)length, error);
    if (status == VYRE_OK)
        memcpy(out->data, text, (size_t)length);
    return status;
}

static vyre_status shutdown(void *self, vyre_error *error) {
    (void)error;
    vy_cuda_kernel_cache_store(self);
    device_end(self);
    return VYRE_OK;
}

static void destroy(void *self) {
    vy_cuda *cuda = self;
    vy_gpu_watch_end(&cuda->base);
    device_end(cuda);
    vy_cuda_kernel_cache_drop(cuda);
    vy_buffer_recycler_destroy(&cuda->hoard);
    vy_cuda_external_stream_destroy(&cuda->join);
    vy_gpu_end(&cuda->base);
    vy_release(cuda, sizeof *cuda);
}

static const char *code_target(void *self) {
    (void)self;
    return "ptx";
}

static const vyre_backend_vtable table = {
    .struct_size = sizeof(vyre_backend_vtable),
    .abi = VYRE_BACKEND_ABI,
    .id = vy_gpu_id,
    .version = vy_gpu_version,
    .supported_ops = supported_ops,
    .code_target = code_target,
    .resident_allocate = vy_cuda_resident_allocate,
    .resident_free = vy_cuda_resident_free,
    .resident_wrap = vy_cuda_resident_wrap,
    .resident_location = vy_cuda_resident_location,
    .stream_join = vy_cuda_stream_join,
    .resident_upload = vy_gpu_resident_upload,
    .resident_download = vy_gpu_resident_download,
    .resident_upload_batch = vy_gpu_resident_upload_batch,
    .resident_download_batch = vy_gpu_resident_download_batch,
    .compile = vy_gpu_pipeline_compile,
    .emit = vy_cuda_emit,
    .load = vy_gpu_pipeline_load,
    .cache_identity = cache_identity,
    .cache_snapshot = vy_gpu_cache_snapshot,
    .sequence = vy_gpu_sequence_run,
    .capability = capability,
    .device_profile = device_profile,
    .shutdown = shutdown,
    .device_lost = vy_gpu_device_lost,
    .try_recover = try_recover,
    .destroy = destroy,
    .numerics = vy_gpu_numerics,
    .grid_sync_limit = vy_cuda_grid_sync_limit,
};

/* ---- making ---- */

vyre_status vy_cuda_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)host;
    vy_cuda *cuda = vy_allocate_zero(sizeof *cuda);
    if (!cuda)
        return vy_fail_memory(error, "making the cuda backend");
    cuda->ordinal = ordinal;
    vy_gpu_start(&cuda->base, "cuda", &vy_cuda_calls);
    cuda->base.can_signal = cuda->base.has_deadline = 1;
    cuda->base.has_probe = (uint8_t)vy_env_flag("VYRE_CUDA_PROBE", 1);
    cuda->base.identity = cuda->identity;
    vy_cuda_external_stream_start(&cuda->join);
    vy_buffer_recycler_init(&cuda->hoard);
    vyre_status status = vy_cuda_dynamic_symbols_open(vy_cuda_dynamic_symbols_file(), &cuda->api, error);
    if (status == VYRE_OK)
        status = vy_cuda_device_info_query(&cuda->api, ordinal, &cuda->device, &cuda->device_info, error);
    if (status == VYRE_OK)
        status = vy_cuda_device_info_apply_env(&cuda->device_info, error);
    if (status == VYRE_OK) {
        cuda->base.promised = vy_ptx_target(cuda->device_info.architecture, 0).exact;
        atomic_store(&cuda->base.exact, cuda->base.promised);
        snprintf(cuda->identity, sizeof cuda->identity, "device %s sm_%" PRIu32 " driver %d", cuda->device_info.name,
                 cuda->device_info.architecture, cuda->device_info.driver_version);
        status = device_start(cuda, error);
    }
    if (status != VYRE_OK) {
        destroy(cuda);
        return status;
    }
    vy_cuda_nvtx_open(&cuda->nvtx);
    *out = (vyre_backend_instance){&table, cuda};
    return VYRE_OK;
}

/* Queries the driver without starting a device, since there may be many. One supported device suffices, because it can
 * be selected by number. */
void vy_cuda_probe(const vyre_host *host, vyre_probe *out) {
    vy_cuda_dynamic_symbols api;
    vy_cuda_device_info variables = {.name = ""};
    vyre_error error;
    (void)host;
    vyre_status status = vy_cuda_device_info_apply_env(&variables, &error);
    if (status == VYRE_OK)
        status = vy_cuda_dynamic_symbols_open(vy_cuda_dynamic_symbols_file(), &api, &error);
    if (status == VYRE_OK)
        status = vy_cuda_device_info_any(&api, &out->device_count, &error);
    out->device_class = VYRE_DEVICE_GPU;
    out->answer = VYRE_PROBE_YES;
    if (status != VYRE_OK)
        vy_gpu_probe_never(out, &error);
}
