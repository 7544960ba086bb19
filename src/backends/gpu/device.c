/* The device: its start and end, entries of the backend's table, and errors that all GPU backends report (gpu.h). */
#include "backends/gpu/gpu.h"
#include "base/status.h"
#include "base/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

void vy_gpu_start(vy_gpu *gpu, const char *id, const vy_gpu_calls *calls) {
    gpu->id = id;
    gpu->calls = calls;
    pthread_mutex_init(&gpu->lock, NULL);
    pthread_mutex_init(&gpu->probing, NULL);
    pthread_mutex_init(&gpu->watch.lock, NULL);
    vy_cond_init_monotonic(&gpu->watch.changed);
}

void vy_gpu_end(vy_gpu *gpu) {
    pthread_cond_destroy(&gpu->watch.changed);
    pthread_mutex_destroy(&gpu->watch.lock);
    pthread_mutex_destroy(&gpu->probing);
    pthread_mutex_destroy(&gpu->lock);
}

/* ---- entries of the backend's table ---- */

const char *vy_gpu_id(void *self) {
    return ((vy_gpu *)self)->id;
}

const char *vy_gpu_version(void *self) {
    (void)self;
    return vyre_version();
}

int vy_gpu_device_lost(void *self) {
    return atomic_load(&((vy_gpu *)self)->loss) != 0;
}

/* The library owns the cache and counts its hits and misses (vyre/backend.h). */
int vy_gpu_cache_snapshot(void *self, vyre_cache_snapshot *out) {
    vy_gpu *gpu = self;
    out->entries = atomic_load_explicit(&gpu->pipelines, memory_order_relaxed);
    out->bytes = atomic_load_explicit(&gpu->code_bytes, memory_order_relaxed);
    return 1;
}

/* ---- finding a device ---- */

vyre_status vy_gpu_check_process(const _Atomic long *starter, const char *driver, vyre_error *error) {
    long before = atomic_load(starter);
    if (!before || before == (long)getpid())
        return VYRE_OK;
    return vy_fail(error, VYRE_UNSUPPORTED,
                   "fork before backends are selected or acquired, or let the child execute a program of its own",
                   "%s was started by process %ld, and does not survive its fork", driver, before);
}

vyre_status vy_gpu_check_ordinal(const char *id, uint32_t ordinal, uint32_t count, vyre_error *error) {
    return ordinal < count
               ? (vyre_status)VYRE_OK
               : vy_fail(error, VYRE_NOT_FOUND, VY_FIX("use a number below %" PRIu32 ", or plain `%s`", count, id),
                         "there is no device %" PRIu32 " of `%s` (there are %" PRIu32 ", from 0 on)", ordinal, id,
                         count);
}

void vy_gpu_probe_never(vyre_probe *out, const vyre_error *error) {
    out->device_class = VYRE_DEVICE_GPU;
    out->device_count = 0;
    out->answer = VYRE_PROBE_NEVER;
    snprintf(out->reason, sizeof out->reason, "%.*s", (int)sizeof out->reason - 1, error->message);
    snprintf(out->fix, sizeof out->fix, "%.*s", (int)sizeof out->fix - 1, error->fix);
}

vyre_status vy_gpu_fail_recovery(vyre_status status, const vyre_error *why, vyre_error *error) {
    if (status == VYRE_NO_MEMORY || status == VYRE_NO_DEVICE_MEMORY) { /* a later attempt may succeed */
        *error = *why;
        return status;
    }
    return vy_fail(error, VYRE_UNSUPPORTED, "restart the process: the driver gives it no new context",
                   "the device was lost and could not be started again (%.300s)", why->message);
}

/* ---- compiled code ---- */

vyre_status vy_gpu_check_local(const vyre_program *program, uint64_t bytes, uint64_t limit, vyre_error *error) {
    return bytes <= limit ? (vyre_status)VYRE_OK
                          : vy_fail(error, VYRE_LIMIT, "use smaller `workgroup` arrays, or choose another backend",
                                    "the workgroup arrays of `%s` take %" PRIu64
                                    " bytes, over the limit of the device (%" PRIu64 ")",
                                    vyre_program_name(program), bytes, limit);
}

vyre_status vy_gpu_object_check(vyre_span object, size_t header_bytes, const char magic[8], uint32_t format,
                                vyre_error *error) {
    uint32_t found;
    if (object.size < header_bytes)
        return vy_fail(error, VYRE_CORRUPT, "compile the program again: `vyre cache clear` drops what is stored",
                       "compiled code is damaged: it is shorter than its header (%zu, %zu is expected)", object.size,
                       header_bytes);
    if (memcmp(object.data, magic, 8) != 0)
        return vy_fail(error, VYRE_CORRUPT, NULL, "the bytes are not compiled code: they do not start with \"%.8s\"",
                       magic);
    memcpy(&found, (const char *)object.data + 8, sizeof found);
    return found == format
               ? (vyre_status)VYRE_OK
               : vy_fail(error, VYRE_UNSUPPORTED, "compile the program again with the library that is to run it",
                         "compiled code is of format %" PRIu32 ", this library loads %" PRIu32, found, format);
}
