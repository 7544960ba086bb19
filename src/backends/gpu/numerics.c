/* Results of device probes, kept in the process and on disk; the probe of the numerics (gpu.h). */
#include "backends/gpu/gpu.h"
#include "driver/cache_disk.h"
#include "driver/numerics_probe.h"

#include <stdio.h>

/* ---- kept results ---- */

enum { KEPT = 32, KEPT_BYTES = 16 };

static struct {
    pthread_mutex_t lock;
    struct {
        vy_cache_key key;
        uint8_t bytes[KEPT_BYTES];
    } items[KEPT];
    unsigned count;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

void vy_gpu_probe_forget(void) {
    pthread_mutex_lock(&kept.lock);
    kept.count = 0;
    pthread_mutex_unlock(&kept.lock);
}

static void make_key(const vy_gpu *gpu, const char *what, vy_cache_key *out) {
    char text[640];
    int length = snprintf(text, sizeof text, "%s of %s", what, gpu->identity);
    const vy_cache_parts parts = {.backend = gpu->id, .identity = {text, (size_t)length}};
    vy_cache_key_make(&parts, out);
}

static void keep_in_process(const vy_cache_key *key, const void *value, size_t size) {
    pthread_mutex_lock(&kept.lock);
    if (kept.count < KEPT) {
        kept.items[kept.count].key = *key;
        memcpy(kept.items[kept.count++].bytes, value, size);
    }
    pthread_mutex_unlock(&kept.lock);
}

static int find_in_process(const vy_cache_key *key, void *value, size_t size) {
    int is_there = 0;
    pthread_mutex_lock(&kept.lock);
    for (unsigned i = 0; i < kept.count && !is_there; i++)
        if (memcmp(&kept.items[i].key, key, sizeof *key) == 0) {
            memcpy(value, kept.items[i].bytes, size);
            is_there = 1;
        }
    pthread_mutex_unlock(&kept.lock);
    return is_there;
}

int vy_gpu_probe_load(const vy_gpu *gpu, const char *what, void *value, size_t size) {
    vyre_bytes stored = VYRE_BYTES_INIT;
    vy_cache_key key;
    make_key(gpu, what, &key);
    if (find_in_process(&key, value, size))
        return 1;
    int is_there = vy_disk_cache_load(&key, &stored) == VYRE_OK && stored.size == size;
    if (is_there) {
        memcpy(value, stored.data, size);
        keep_in_process(&key, value, size);
    }
    vyre_bytes_free(&stored);
    return is_there;
}

void vy_gpu_probe_store(const vy_gpu *gpu, const char *what, const char *label, const void *value, size_t size) {
    vy_cache_key key;
    make_key(gpu, what, &key);
    keep_in_process(&key, value, size);
    vy_disk_cache_store(&key, label, (vyre_span){value, size});
}

/* ---- numerics ---- */

static void describe(const vy_gpu *gpu, char what[64]) {
    snprintf(what, 64, "numerics %d %llx", VY_NUMERICS_PROBE_OPERANDS, (unsigned long long)gpu->promised);
}

static vyre_status run_program(void *user, const vyre_launch *launch, const vyre_span *inputs, vyre_outputs *outputs,
                               vyre_error *error) {
    vy_gpu *gpu = user;
    vy_gpu_executable *code;
    vyre_status status = gpu->calls->compile(gpu, launch->program, 0, &code, error);
    if (status != VYRE_OK)
        return status;
    status = vy_gpu_submission_run(code, launch, inputs, NULL, outputs, NULL, error);
    vy_gpu_executable_release(code);
    return status;
}

/* The caller holds gpu->probing. */
static int load(vy_gpu *gpu) {
    char what[64];
    uint64_t exact;
    describe(gpu, what);
    if (!vy_gpu_probe_load(gpu, what, &exact, sizeof exact))
        return 0;
    atomic_store(&gpu->exact, exact & gpu->promised);
    atomic_store_explicit(&gpu->is_probed, 1, memory_order_release);
    return 1;
}

/* Legalises the test programs as if every promised operation were exact, so that an inexact one yields a wrong
 * result. */
static vyre_status run_all(vy_gpu *gpu, vyre_error *error) {
    char what[64], label[32];
    uint64_t wrong, assumed = atomic_load(&gpu->exact);
    int was_pushed;
    vyre_status status = gpu->calls->enter(gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    atomic_store(&gpu->exact, gpu->promised);
    status = vy_numerics_probe_run(gpu->promised, run_program, gpu, &wrong, error);
    gpu->calls->leave(gpu, was_pushed);
    if (status != VYRE_OK) {
        atomic_store(&gpu->exact, assumed);
        return status;
    }
    const uint64_t exact = gpu->promised & ~wrong;
    atomic_store(&gpu->exact, exact);
    describe(gpu, what);
    snprintf(label, sizeof label, "%s:numerics", gpu->id);
    vy_gpu_probe_store(gpu, what, label, &exact, sizeof exact);
    atomic_store_explicit(&gpu->is_probed, 1, memory_order_release);
    return VYRE_OK;
}

vyre_status vy_gpu_numerics_confirm(vy_gpu *gpu, vyre_error *error) {
    if (atomic_load_explicit(&gpu->is_probed, memory_order_acquire) || !gpu->has_probe)
        return VYRE_OK;
    pthread_mutex_lock(&gpu->probing);
    vyre_status status = atomic_load(&gpu->is_probed) || load(gpu) ? (vyre_status)VYRE_OK : run_all(gpu, error);
    pthread_mutex_unlock(&gpu->probing);
    return status;
}

void vy_gpu_numerics(void *self, vyre_numerics_profile *profile) {
    vy_gpu *gpu = self;
    pthread_mutex_lock(&gpu->probing);
    if (!atomic_load(&gpu->is_probed) && gpu->has_probe)
        load(gpu);
    profile->exact = atomic_load(&gpu->exact);
    profile->cases = atomic_load(&gpu->is_probed) ? VY_NUMERICS_PROBE_OPERANDS : 0;
    pthread_mutex_unlock(&gpu->probing);
}
