/* The probe, the constructor and the table of the `cuda` backend (cuda.h). */
#include "backends/cuda/device.h"

#include "backends/cuda/cooperative_launch.h"
#include "backends/cuda/device_info.h"
#include "backends/cuda/interop.h"
#include "backends/cuda/kernel_cache.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/numerics.h"
#include "backends/cuda/pipeline.h"
#include "backends/cuda/sequence.h"
#include "base/memory.h"
#include "base/status.h"
#include "emit/ptx/ptx.h"

#include <inttypes.h>
#include <stdio.h>

static const char *id(void *self) {
    (void)self;
    return "cuda";
}

static const char *version(void *self) {
    (void)self;
    return vyre_version();
}

static const char *const *supported_ops(void *self, size_t *count) {
    return vy_cuda_device_info_ops(&((vy_cuda *)self)->device_info, count);
}

static uint64_t capability(void *self, vyre_capability capability) {
    return vy_cuda_device_info_capability(&((vy_cuda *)self)->device_info, capability);
}

static void device_profile(void *self, vyre_device_profile *profile) {
    vy_cuda_device_info_profile(&((vy_cuda *)self)->device_info, profile);
}

/* What decides a cubin: the device's kind, the driver's compiler, what programs are legalised for, and how kernels begin. */
static vyre_status cache_identity(void *self, vyre_bytes *out, vyre_error *error) {
    vy_cuda *cuda = self;
    char text[384];
    vyre_status status = vy_cuda_numerics_confirm(cuda, error);
    if (status != VYRE_OK)
        return status;
    int length =
        snprintf(text, sizeof text, "cuda format %d device %s sm_%" PRIu32 " driver %d exact %016" PRIx64 " early %d",
                 VY_CUDA_FORMAT, cuda->device_info.name, cuda->device_info.architecture,
                 cuda->device_info.driver_version, atomic_load(&cuda->exact), cuda->device_info.has_dependent_launch);
    status = vyre_bytes_resize(out, (size_t)length, error);
    if (status == VYRE_OK)
        memcpy(out->data, text, (size_t)length);
    return status;
}

static vyre_status shutdown(void *self, vyre_error *error) {
    (void)error;
    vy_cuda_kernel_cache_store(self);
    vy_cuda_device_end(self);
    return VYRE_OK;
}

static void destroy(void *self) {
    vy_cuda *cuda = self;
    vy_cuda_event_watcher_end(&cuda->watch);
    vy_cuda_device_end(cuda);
    vy_cuda_kernel_cache_drop(cuda);
    vy_buffer_recycler_destroy(&cuda->hoard);
    pthread_mutex_destroy(&cuda->probing);
    vy_cuda_external_stream_destroy(&cuda->join);
    pthread_mutex_destroy(&cuda->lock);
    vy_release(cuda, sizeof *cuda);
}

/* Hits and misses are the library's to count: it has the cache (vyre/backend.h). */
static int cache_snapshot(void *self, vyre_cache_snapshot *out) {
    vy_cuda *cuda = self;
    out->entries = atomic_load_explicit(&cuda->pipelines, memory_order_relaxed);
    out->bytes = atomic_load_explicit(&cuda->code_bytes, memory_order_relaxed);
    return 1;
}

static const vyre_backend_vtable table = {
    .struct_size = sizeof(vyre_backend_vtable),
    .abi = VYRE_BACKEND_ABI,
    .id = id,
    .version = version,
    .supported_ops = supported_ops,
    .resident_allocate = vy_cuda_resident_allocate,
    .resident_free = vy_cuda_resident_free,
    .resident_wrap = vy_cuda_resident_wrap,
    .resident_location = vy_cuda_resident_location,
    .stream_join = vy_cuda_stream_join,
    .resident_upload = vy_cuda_resident_upload,
    .resident_download = vy_cuda_resident_download,
    .resident_upload_batch = vy_cuda_resident_upload_batch,
    .resident_download_batch = vy_cuda_resident_download_batch,
    .compile = vy_cuda_pipeline_compile,
    .load = vy_cuda_pipeline_load,
    .cache_identity = cache_identity,
    .cache_snapshot = cache_snapshot,
    .sequence = vy_cuda_sequence,
    .capability = capability,
    .device_profile = device_profile,
    .shutdown = shutdown,
    .device_lost = vy_cuda_device_lost,
    .try_recover = vy_cuda_try_recover,
    .destroy = destroy,
    .numerics = vy_cuda_numerics,
    .grid_sync_limit = vy_cuda_grid_sync_limit,
};

/* ---- making ---- */

vyre_status vy_cuda_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)host;
    vy_cuda *cuda = vy_allocate_zero(sizeof *cuda);
    if (!cuda)
        return vy_fail_memory(error, "making the cuda backend");
    cuda->ordinal = ordinal;
    pthread_mutex_init(&cuda->lock, NULL);
    pthread_mutex_init(&cuda->probing, NULL);
    vy_cuda_event_watcher_start(&cuda->watch);
    vy_cuda_external_stream_start(&cuda->join);
    vy_buffer_recycler_init(&cuda->hoard);
    vyre_status status = vy_cuda_dynamic_symbols_open(vy_cuda_dynamic_symbols_file(), &cuda->api, error);
    if (status == VYRE_OK)
        status = vy_cuda_device_info_query(&cuda->api, ordinal, &cuda->device, &cuda->device_info, error);
    if (status == VYRE_OK)
        status = vy_cuda_device_info_apply_env(&cuda->device_info, error);
    if (status == VYRE_OK) {
        atomic_store(&cuda->exact, vy_ptx_exact(cuda->device_info.architecture));
        status = vy_cuda_device_start(cuda, error);
    }
    if (status != VYRE_OK) {
        destroy(cuda);
        return status;
    }
    vy_cuda_nvtx_open(&cuda->nvtx);
    *out = (vyre_backend_instance){&table, cuda};
    return VYRE_OK;
}

/* Asks the driver, and starts no device: there may be many of them. One that is served is enough, for it can be named. */
void vy_cuda_probe(const vyre_host *host, vyre_probe *out) {
    vy_cuda_dynamic_symbols api;
    vyre_error error;
    (void)host;
    out->device_class = VYRE_DEVICE_GPU;
    out->device_count = 0;
    out->answer = VYRE_PROBE_NEVER;
    vyre_status status = vy_cuda_dynamic_symbols_open(vy_cuda_dynamic_symbols_file(), &api, &error);
    if (status == VYRE_OK)
        status = vy_cuda_device_info_any(&api, &out->device_count, &error);
    if (status != VYRE_OK) {
        snprintf(out->reason, sizeof out->reason, "%.*s", (int)sizeof out->reason - 1, error.message);
        snprintf(out->fix, sizeof out->fix, "%.*s", (int)sizeof out->fix - 1, error.fix);
        return;
    }
    out->answer = VYRE_PROBE_YES;
}
