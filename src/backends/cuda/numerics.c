/* The numerics of a CUDA device: what the probe found (driver/numerics_probe.h), kept on disk by the device's name and
 * the driver's version. */
#include "backends/cuda/cuda.h"

#include "backends/cuda/executable.h"
#include "backends/cuda/submission.h"
#include "base/file.h"
#include "driver/cache_disk.h"
#include "driver/numerics_probe.h"
#include "emit/ptx/ptx.h"

#include <inttypes.h>
#include <stdio.h>

static void make_key(const vy_cuda *cuda, vy_cache_key *out) {
    char text[256];
    int length =
        snprintf(text, sizeof text, "numerics %d device %s sm_%" PRIu32 " driver %d", VY_NUMERICS_PROBE_OPERANDS,
                 cuda->device_info.name, cuda->device_info.architecture, cuda->device_info.driver_version);
    vy_cache_parts key = {.backend = "cuda", .identity = {text, (size_t)length}};
    vy_cache_key_make(&key, out);
}

static int load(vy_cuda *cuda) {
    vy_cache_key key;
    vyre_bytes stored = VYRE_BYTES_INIT;
    uint64_t exact = 0;
    make_key(cuda, &key);
    int is_there = vy_disk_cache_load(&key, &stored) == VYRE_OK && stored.size == sizeof exact;
    if (is_there) {
        memcpy(&exact, stored.data, sizeof exact);
        atomic_store(&cuda->exact, exact & vy_ptx_target(cuda->device_info.architecture, 0).exact);
        atomic_store(&cuda->is_probed, 1);
    }
    vyre_bytes_free(&stored);
    return is_there;
}

static void store(vy_cuda *cuda) {
    vy_cache_key key;
    uint64_t exact = atomic_load(&cuda->exact);
    make_key(cuda, &key);
    vy_disk_cache_store(&key, "cuda:numerics", (vyre_span){&exact, sizeof exact});
}

static vyre_status run_program(void *user, const vyre_launch *launch, const vyre_span *inputs, vyre_outputs *outputs,
                               vyre_error *error) {
    vy_cuda_executable *code;
    vyre_status status = vy_cuda_compile(user, launch->program, 0, &code, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_submission_run(code, launch, inputs, NULL, outputs, NULL, error);
    vy_cuda_executable_release(code);
    return status;
}

static vyre_status run_all(vy_cuda *cuda, vyre_error *error) {
    uint64_t wrong, promised = atomic_load(&cuda->exact);
    int was_pushed;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_numerics_probe_run(promised, run_program, cuda, &wrong, error);
    vy_cuda_leave(cuda, was_pushed);
    if (status != VYRE_OK)
        return status;
    atomic_store(&cuda->exact, promised & ~wrong);
    atomic_store(&cuda->is_probed, 1);
    store(cuda);
    return VYRE_OK;
}

static int is_trusted(void) {
    return !vy_env_flag("VYRE_CUDA_PROBE", 1);
}

vyre_status vy_cuda_numerics_confirm(vy_cuda *cuda, vyre_error *error) {
    if (atomic_load_explicit(&cuda->is_probed, memory_order_acquire) || is_trusted())
        return VYRE_OK;
    pthread_mutex_lock(&cuda->probing);
    vyre_status status = atomic_load(&cuda->is_probed) || load(cuda) ? (vyre_status)VYRE_OK : run_all(cuda, error);
    pthread_mutex_unlock(&cuda->probing);
    return status;
}

/* Called when the backend is acquired: reads the stored result of a probe and runs nothing. */
void vy_cuda_numerics(void *self, vyre_numerics_profile *profile) {
    vy_cuda *cuda = self;
    if (!atomic_load(&cuda->is_probed))
        load(cuda);
    profile->exact = atomic_load(&cuda->exact);
    profile->cases = atomic_load(&cuda->is_probed) ? VY_NUMERICS_PROBE_OPERANDS : 0;
}
