/* The constructor, identity and capabilities of the `cpu` backend, and what the machine is (cpu.h). */
#include "backends/cpu/cpu.h"

#include "backends/cpu/compile.h"
#include "backends/cpu/cpu_info.h"
#include "backends/cpu/jit_debug.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/pipeline.h"
#include "base/env.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "ir/limits.h"
#include "vyre/cache.h"

#include <inttypes.h>
#include <stdio.h>

/* SPIN_US: how long threads without work look for some, unless the environment says otherwise. To wake a thread takes ten to a hundred microseconds, so that
 * to look for that long costs at most as much again. */
enum { THREADS_MAX = 4096, SPIN_US = 200, SPIN_MAX = 1000000 };

/* What the last cache is taken for if the system does not tell, and at most, in KiB: guests are told of all of a cache they share with others. Half of it is for
 * what a dispatch works on: with more, what it writes finds no place any more, and who reads it next does not find it there. */
enum { CACHE_KIB = 32 * 1024, CACHE_MOST_KIB = 256 * 1024 };

static const char *id(void *self) {
    (void)self;
    return "cpu";
}

static const char *version(void *self) {
    (void)self;
    return vyre_version();
}

/* Grid barriers are cut by the boundary; subgroup collectives are shuffles of vector lanes. A grid of any size is one launch. f16 and bf16 are computed in
 * f32. */
static uint64_t capability(void *self, vyre_capability capability) {
    const uint64_t values[VYRE_CAPABILITY_COUNT] = {
        [VYRE_CAPABILITY_SUBGROUP_OPS] = 1,
        [VYRE_CAPABILITY_SUBGROUP_SIZE] = ((const vy_cpu *)self)->lanes,
        [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_WORKGROUPS] = UINT32_MAX,
        [VYRE_CAPABILITY_MAX_INVOCATIONS] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_STORAGE_BYTES] = (uint64_t)VY_CPU_ELEMENTS_MAX * 8, /* of the largest type */
        [VYRE_CAPABILITY_CANCEL] = 1,
    };
    return (unsigned)capability < VYRE_CAPABILITY_COUNT ? values[capability] : 0;
}

static void device_profile(void *self, vyre_device_profile *profile) {
    const vy_cpu *cpu = self;
    profile->device = cpu->device;
    profile->driver = cpu->driver;
    profile->supports_f64 = profile->supports_int64_atomics = 1;
    profile->supports_trap_propagation = 1;
    profile->has_mul_high = 1;
    profile->has_shared_memory = 1;
    profile->max_shared_memory_bytes = VY_LIMIT_WORKGROUP_BYTES;
    profile->max_native_int_width = 64;
    profile->compute_units = cpu->threads;
    profile->l1_cache_bytes = cpu->l1_bytes;
    profile->l2_cache_bytes = cpu->l2_bytes;
    profile->ideal_vector_pack_bits = cpu->lanes * 32;
}

/* Code for debuggers is nowhere kept: it has lines, and two programs that differ in lines alone have one key. */
static vyre_status cache_identity(void *self, vyre_bytes *out, vyre_error *error) {
    const vy_cpu *cpu = self;
    char text[128];
    if (vy_jit_debug_is_enabled())
        return vy_fail(error, VYRE_UNSUPPORTED, "leave VYRE_GDB out", "code for debuggers is not cached");
    int length = snprintf(text, sizeof text, "cpu format %d width %" PRIu32 " features %016" PRIx64, VY_CPU_FORMAT,
                          cpu->width, cpu->features);
    vyre_status status = vyre_bytes_resize(out, (size_t)length, error);
    if (status == VYRE_OK)
        memcpy(out->data, text, (size_t)length);
    return status;
}

/* Hits and misses are the library's to count: it has the cache (vyre/backend.h). */
static int cache_snapshot(void *self, vyre_cache_snapshot *out) {
    vy_cpu *cpu = self;
    out->entries = atomic_load_explicit(&cpu->pipelines, memory_order_relaxed);
    out->bytes = atomic_load_explicit(&cpu->code_bytes, memory_order_relaxed);
    return 1;
}

static vyre_status flush(void *self, vyre_error *error) {
    (void)error;
    vy_cpu_pool_wait(((vy_cpu *)self)->pool);
    return VYRE_OK;
}

static vyre_status shutdown(void *self, vyre_error *error) {
    vy_cpu *cpu = self;
    (void)error;
    vy_cpu_pool_wait(cpu->pool);
    vy_cpu_frame_pool_trim(&cpu->frame_pool);
    return VYRE_OK;
}

static void destroy(void *self) {
    vy_cpu *cpu = self;
    vy_cpu_pool_close(cpu->pool);
    vy_cpu_deadline_timer_end(&cpu->timer);
    vy_cpu_frame_pool_trim(&cpu->frame_pool);
    vy_cpu_compiler_close(cpu->compiler);
    pthread_mutex_destroy(&cpu->trap_lock);
    pthread_mutex_destroy(&cpu->lock);
    vy_release(cpu, sizeof *cpu);
}

static const vyre_backend_vtable table = {
    .struct_size = sizeof(vyre_backend_vtable),
    .abi = VYRE_BACKEND_ABI,
    .id = id,
    .version = version,
    .resident_allocate = vy_cpu_resident_allocate,
    .resident_free = vy_cpu_resident_free,
    .resident_wrap = vy_cpu_resident_wrap,
    .resident_location = vy_cpu_resident_location,
    .resident_upload = vy_cpu_resident_upload,
    .resident_download = vy_cpu_resident_download,
    .compile = vy_cpu_pipeline_compile,
    .load = vy_cpu_pipeline_load,
    .cache_identity = cache_identity,
    .cache_snapshot = cache_snapshot,
    .sequence = vy_cpu_pipeline_sequence,
    .capability = capability,
    .device_profile = device_profile,
    .flush = flush,
    .shutdown = shutdown,
    .destroy = destroy,
};

/* ---- making ---- */

static vyre_status configure(vy_cpu *cpu, vyre_error *error) {
    vyre_status status = vy_cpu_isa_restrict(vy_env_get("VYRE_CPU_ISA"), vy_cpu_features(), &cpu->features, error);
    if (status != VYRE_OK)
        return status;
    if (!cpu->features)
        return vy_fail(error, VYRE_UNSUPPORTED, "use `--backend reference`",
                       "backend `cpu` has no code for this architecture");
    cpu->exact = vy_cpu_numerics(cpu->features);
    unsigned cores = vy_cpu_count();
    status = vy_env_number("VYRE_CPU_THREADS", 1, THREADS_MAX, cores, &cpu->threads, error);
    if (status ==
        VYRE_OK) /* threads that look for work take processors from those that have some, if there are too few */
        status = vy_env_number("VYRE_CPU_SPIN", 0, SPIN_MAX, cpu->threads > cores ? 0 : SPIN_US, &cpu->spin_us, error);
    if (status == VYRE_OK)
        status = vy_env_number("VYRE_CPU_WIDTH", 0, VY_CPU_WIDTH_MAX, 0, &cpu->width, error);
    if (status == VYRE_OK && cpu->width && (cpu->width < VY_CPU_WIDTH_MIN || (cpu->width & (cpu->width - 1))))
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, "give VYRE_CPU_WIDTH one of these numbers, or leave it out",
                         "VYRE_CPU_WIDTH is not 4, 8, 16, 32 or 64 (%" PRIu32 ")", cpu->width);
    cpu->lanes = cpu->width ? cpu->width : vy_cpu_width(cpu->features);
    if (status == VYRE_OK)
        status = vy_cpu_compiler_limits(cpu, error);
    if (status != VYRE_OK)
        return status;
    vy_cpu_info_query(cpu);
    unsigned kib = cpu->l3_bytes ? cpu->l3_bytes / 1024 : CACHE_KIB;
    if (kib > CACHE_MOST_KIB)
        kib = CACHE_MOST_KIB;
    status = vy_env_number("VYRE_CPU_STREAM", 0, UINT32_MAX, kib / 2, &kib, error);
    cpu->stream_bytes = (uint64_t)kib * 1024;
    return status;
}

static vyre_status start(vy_cpu *cpu, vyre_error *error) {
    vyre_status status = configure(cpu, error);
    if (status != VYRE_OK)
        return status;
    cpu->pool = vy_cpu_pool_new(cpu->threads - 1, cpu->spin_us * UINT64_C(1000));
    if (!cpu->pool)
        return vy_fail_memory(error, "making the cpu backend");
    vy_cpu_deadline_timer_start(&cpu->timer);
    pthread_mutex_init(&cpu->trap_lock, NULL);
    pthread_mutex_init(&cpu->lock, NULL);
    return VYRE_OK;
}

vyre_status vy_cpu_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)host;
    if (ordinal != 0)
        return vy_fail(error, VYRE_NOT_FOUND, "use `cpu`: it is all cores the process may use",
                       "there is one device of `cpu`, not a number %" PRIu32, ordinal);
    vy_cpu *cpu = vy_allocate_zero(sizeof *cpu);
    if (!cpu)
        return vy_fail_memory(error, "making the cpu backend");
    vyre_status status = start(cpu, error);
    if (status != VYRE_OK) {
        vy_release(cpu, sizeof *cpu);
        return status;
    }
    *out = (vyre_backend_instance){&table, cpu};
    return VYRE_OK;
}

static int visit(void *user, const vyre_cache_entry *entry) {
    int *found = user;
    *found = entry->valid && strncmp(entry->pipeline, "cpu:", 4) == 0;
    return *found;
}

/* Whether the cache on disk has an entry for this backend. Entries of other processors and builds count too: which of them load is seen when
 * a program is compiled. */
static int has_cached_code(void) {
    vyre_error ignored;
    int found = 0;
    return vyre_cache_walk(VYRE_CACHE_READ_HEADERS, visit, &found, &ignored) == VYRE_OK && found;
}

/* Without its compiler it still runs what the cache has. */
void vy_cpu_probe(const vyre_host *host, vyre_probe *out) {
    vyre_error error;
    (void)host;
    out->device_class = VYRE_DEVICE_CPU;
    out->device_count = 1;
    out->answer = VYRE_PROBE_YES;
    if (!vy_cpu_features()) {
        out->answer = VYRE_PROBE_NEVER;
        out->device_count = 0;
        snprintf(out->reason, sizeof out->reason, "there is no code for this architecture");
        snprintf(out->fix, sizeof out->fix, "use `--backend reference`");
    } else if (vy_cpu_compiler_check(&error) != VYRE_OK) {
        int is_cached = has_cached_code();
        out->answer = is_cached ? VYRE_PROBE_FOR_NOW : VYRE_PROBE_NOT_NOW;
        snprintf(out->reason, sizeof out->reason, "%s%.200s",
                 is_cached ? "only what the cache has runs: " : "the cache has no program, and ", error.message);
        snprintf(out->fix, sizeof out->fix, "%s", error.fix);
    }
}
