/* Device probes: they measure properties that the driver does not report, or may report wrongly (opencl.h). The results
 * are cached in the process and on disk, by device, driver and library version. */
#include "backends/opencl/executable.h"
#include "backends/opencl/opencl.h"
#include "base/file.h"
#include "base/status.h"
#include "base/thread.h"

#include <time.h>

/* ---- memory and signals ----
 *
 * The invocations poll like emitted code, at most `limit` times. They report that they have begun, and the largest poll
 * count. The stop test occupies all compute units, because a driver may need a compute unit to perform a write. */
_Static_assert(VY_LAUNCH_POLL_PERIOD == 64, "the text below looks as often");

static const char polling[] = "__kernel void vyre_polling(volatile __global uint *words, uint limit) {\n"
                              "    uint polls = 0;\n"
                              "    words[1] = 1;\n"
                              "    while (polls < limit && (polls % 64u != 0u || words[0] == 0u))\n"
                              "        polls++;\n"
                              "    atomic_max(&words[2], polls);\n"
                              "}\n";

/* STEADY_NS: minimum run time of the polling kernel in the measurement. LONG_FACTOR: the stop test allows this many
 * times as many polls. BEGIN_NS: longest wait for the kernel to begin. */
enum { STEADY_NS = 10000000, LONG_FACTOR = 5, GROUPS_PER_UNIT = 4, WORDS = 3, ALIGNMENT = 16, PAGE = 4096 };
#define BEGIN_NS UINT64_C(1000000000)
enum { POLL_PS = 250 }; /* assumed if not measured: a 4 GHz clock */

typedef struct probe {
    vy_ocl *ocl;
    vy_cl_program program;
    vy_cl_kernel kernel;
    vy_cl_queue queue, other;
    vy_cl_memory memory;
    volatile uint32_t *words; /* in host memory; NULL: in device memory */
    uint32_t limit;           /* polls that last at least STEADY_NS */
    vyre_error *error;
} probe;

static vyre_status check(const probe *p, int32_t result) {
    return vy_ocl_check(p->ocl, result, "probing the device", p->error);
}

static vyre_status start(const probe *p, uint32_t word, uint32_t limit, uint32_t groups) {
    const vy_ocl_dynamic_symbols *api = &p->ocl->api;
    const uint32_t words[WORDS] = {word, 0, 0};
    const size_t one = 1, all = groups;
    int32_t result = VY_CL_OK;
    for (int i = 0; p->words && i < WORDS; i++)
        p->words[i] = words[i];
    if (!p->words)
        result = api->enqueue_write(p->queue, p->memory, 1, 0, sizeof words, words, 0, NULL, NULL);
    if (result == VY_CL_OK)
        result = api->set_argument(p->kernel, 0, sizeof p->memory, &p->memory);
    if (result == VY_CL_OK)
        result = api->set_argument(p->kernel, 1, sizeof limit, &limit);
    if (result == VY_CL_OK)
        result = api->enqueue_kernel(p->queue, p->kernel, 1, NULL, &all, &one, 0, NULL, NULL);
    if (result == VY_CL_OK)
        result = api->flush(p->queue);
    return check(p, result);
}

static vyre_status end(const probe *p, uint32_t words[WORDS]) {
    const size_t size = WORDS * sizeof *words;
    vyre_status status = check(p, p->ocl->api.finish(p->queue));
    for (int i = 0; p->words && i < WORDS; i++)
        words[i] = p->words[i];
    if (status == VYRE_OK && !p->words)
        status = check(p, p->ocl->api.enqueue_read(p->queue, p->memory, 1, 0, size, words, 0, NULL, NULL));
    return status;
}

static vyre_status run(const probe *p, uint32_t word, uint32_t limit, uint32_t words[WORDS]) {
    vyre_status status = start(p, word, limit, 1);
    return status == VYRE_OK ? end(p, words) : status;
}

/* Whether host and kernel observe each other's stores without transfer commands. Runs twice, because a stale copy might
 * be correct once. */
static vyre_status try_sharing(const probe *p, uint32_t *is_shared) {
    uint32_t seen[WORDS], unseen[WORDS];
    vyre_status status = run(p, 1, 5, seen);
    if (status == VYRE_OK)
        status = run(p, 0, 5, unseen);
    *is_shared = status == VYRE_OK && seen[1] == 1 && seen[2] == 0 && unseen[1] == 1 && unseen[2] == 5;
    return status;
}

static vyre_status measure(probe *p, uint32_t *poll_ps) {
    uint32_t words[WORDS];
    uint64_t taken = 0;
    vyre_status status = VYRE_OK;
    for (p->limit = 1 << 12; status == VYRE_OK; p->limit *= 2) {
        uint64_t before = vy_clock_now();
        status = run(p, 0, p->limit, words);
        taken = vy_clock_now() - before;
        if (taken >= STEADY_NS || p->limit >= UINT32_MAX / 2 / LONG_FACTOR)
            break;
    }
    uint64_t each = taken * 1000 / p->limit / 2; /* half, because no program may poll faster than this */
    *poll_ps = each > UINT32_MAX ? UINT32_MAX : each ? (uint32_t)each : 1;
    return status;
}

/* Waits until the kernel reports that it has begun, if the host can observe this. */
static void wait_for_begin(const probe *p) {
    const struct timespec pause = {.tv_nsec = STEADY_NS / 10};
    uint64_t until = vy_clock_now() + BEGIN_NS;
    nanosleep(&pause, NULL);
    while (p->words && !p->words[1] && vy_clock_now() < until)
        nanosleep(&pause, NULL);
}

/* Whether a write to the word stops the kernel while it runs. */
static vyre_status try_signal(const probe *p, int *is_seen) {
    static const uint32_t stop = 1;
    const uint32_t limit = p->limit * LONG_FACTOR;
    uint32_t words[WORDS];
    vyre_status status = start(p, 0, limit, GROUPS_PER_UNIT * p->ocl->info.compute_units), ended;
    *is_seen = 0;
    if (status != VYRE_OK)
        return status;
    wait_for_begin(p);
    if (p->words) {
        p->words[0] = 1;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } else {
        int32_t result = p->ocl->api.enqueue_write(p->other, p->memory, 0, 0, sizeof stop, &stop, 0, NULL, NULL);
        if (result == VY_CL_OK)
            result = p->ocl->api.flush(p->other);
        status = check(p, result);
    }
    ended = end(p, words);
    if (!p->words)
        p->ocl->api.finish(p->other);
    *is_seen = ended == VYRE_OK && words[1] == 1 && words[2] < limit;
    return status == VYRE_OK ? ended : status;
}

static vyre_status make_memory(probe *p, void *host) {
    int32_t result;
    p->words = host;
    p->memory = p->ocl->api.memory_create(p->ocl->context,
                                          VY_CL_MEMORY_READ_WRITE | (host ? (uint64_t)VY_CL_MEMORY_USE_HOST : 0),
                                          PAGE - ALIGNMENT, host, &result);
    if (result != VY_CL_OK)
        p->memory = NULL;
    return check(p, result);
}

static void drop_memory(probe *p) {
    if (p->memory)
        p->ocl->api.memory_release(p->memory);
    p->memory = NULL;
    p->words = NULL;
}

static vyre_status make_probe(probe *p, const char *text, const char *name) {
    vy_ocl *ocl = p->ocl;
    int32_t result;
    vyre_status status = vy_ocl_build_text(ocl, text, strlen(text), "-cl-std=CL1.2", name, &p->program, p->error);
    if (status != VYRE_OK)
        return status;
    p->kernel = ocl->api.kernel_create(p->program, name, &result);
    if (result != VY_CL_OK)
        return p->kernel = NULL, check(p, result);
    for (int i = 0; i < 2; i++) {
        vy_cl_queue queue = ocl->api.queue_create(ocl->context, ocl->info.device, 0, &result);
        if (result != VY_CL_OK)
            return check(p, result);
        *(i ? &p->other : &p->queue) = queue;
    }
    return VYRE_OK;
}

static void drop_probe(probe *p) {
    drop_memory(p);
    if (p->queue)
        p->ocl->api.queue_release(p->queue);
    if (p->other)
        p->ocl->api.queue_release(p->other);
    if (p->kernel)
        p->ocl->api.kernel_release(p->kernel);
    if (p->program)
        p->ocl->api.program_release(p->program);
}

/* Probes with host memory; a property that is not found leaves `out` unchanged. */
static vyre_status probe_host_memory(probe *p, vy_ocl_findings *out) {
    int is_seen = 0;
    void *raw = vy_allocate(2 * PAGE);
    if (!raw)
        return vy_fail_memory(p->error, "probing the device");
    uint8_t *page = (uint8_t *)(((uintptr_t)raw + PAGE - 1) / PAGE * PAGE);
    vyre_status status = make_memory(p, page + ALIGNMENT);
    if (status == VYRE_OK)
        status = try_sharing(p, &out->shares_memory);
    if (status == VYRE_OK && out->shares_memory)
        status = measure(p, &out->poll_ps);
    if (status == VYRE_OK && out->shares_memory)
        status = try_signal(p, &is_seen);
    if (is_seen)
        out->signal = VY_OCL_SIGNAL_MEMORY;
    drop_memory(p);
    vy_release(raw, 2 * PAGE);
    return status;
}

/* A driver of processors executes kernels and writes on the same threads: a write may wait for the kernel that it is to
 * end, even if it did not in the probe. */
static vyre_status probe_device_memory(probe *p, vy_ocl_findings *out) {
    int is_seen = 0;
    vyre_status status = make_memory(p, NULL);
    if (status == VYRE_OK)
        status = measure(p, &out->poll_ps);
    if (status == VYRE_OK && p->ocl->info.device_class != VYRE_DEVICE_SOFTWARE)
        status = try_signal(p, &is_seen);
    if (is_seen)
        out->signal = VY_OCL_SIGNAL_QUEUE;
    drop_memory(p);
    return status;
}

/* ---- constant arrays ----
 *
 * Each invocation looks up entries that depend on the one before, as in most tables of programs: invocations read
 * different entries at the same time. The constant caches of some GPUs then serve one invocation after the other. */

static const char lookups[] =
    "#define R1(x) ((x) * 167u + 13u) & 255u\n"
    "#define R4(x) R1(x), R1((x) + 1u), R1((x) + 2u), R1((x) + 3u)\n"
    "#define R16(x) R4(x), R4((x) + 4u), R4((x) + 8u), R4((x) + 12u)\n"
    "#define R64(x) R16(x), R16((x) + 16u), R16((x) + 32u), R16((x) + 48u)\n"
    "__constant uint fixed[256] = {R64(0u), R64(64u), R64(128u), R64(192u)};\n"
    "__kernel void vyre_lookups(__global uint *out, uint how, __global const uint *restrict table) {\n"
    "    uint at = (uint)get_global_id(0);\n"
    "    if (how == 0u)\n"
    "        for (uint i = 0; i < 2048u; i++) at = table[(at + i) & 255u];\n"
    "    else if (how == 1u)\n"
    "        for (uint i = 0; i < 2048u; i++) at = fixed[(at + i) & 255u];\n"
    "    if (how == 2u)\n"
    "        out[at & 255u] = fixed[at & 255u];\n"
    "    else if (at > 255u)\n" /* never, but the compiler does not know it */
    "        out[0] = at;\n"
    "}\n";

enum { IN_GLOBAL, IN_CONSTANT, FILL };

static vyre_status look_up(const probe *p, uint32_t how, uint64_t *taken_ns) {
    const vy_ocl_dynamic_symbols *api = &p->ocl->api;
    const size_t all = (size_t)256 * (p->ocl->info.compute_units + 1);
    uint64_t before = vy_clock_now();
    int32_t result = api->set_argument(p->kernel, 0, sizeof p->memory, &p->memory);
    if (result == VY_CL_OK)
        result = api->set_argument(p->kernel, 1, sizeof how, &how);
    if (result == VY_CL_OK)
        result = api->set_argument(p->kernel, 2, sizeof p->memory, &p->memory);
    if (result == VY_CL_OK)
        result = api->enqueue_kernel(p->queue, p->kernel, 1, NULL, &all, NULL, 0, NULL, NULL);
    if (result == VY_CL_OK)
        result = api->finish(p->queue);
    *taken_ns = vy_clock_now() - before;
    return check(p, result);
}

/* The placement that is usual for the class of the device is kept unless the other one is faster by a tenth, so that
 * noise does not change the code of programs. */
static vyre_status probe_constants(vy_ocl *ocl, uint32_t *is_constant, vyre_error *error) {
    enum { ROUNDS = 3 };
    probe p = {.ocl = ocl, .error = error};
    uint64_t best[FILL] = {UINT64_MAX, UINT64_MAX}, taken;
    vyre_status status = make_probe(&p, lookups, "vyre_lookups");
    if (status == VYRE_OK)
        status = make_memory(&p, NULL);
    if (status == VYRE_OK)
        status = look_up(&p, FILL, &taken);
    for (uint32_t i = 0; i < 2 * ROUNDS && status == VYRE_OK; i++) {
        status = look_up(&p, i % 2, &taken);
        best[i % 2] = taken < best[i % 2] ? taken : best[i % 2];
    }
    drop_probe(&p);
    if (status == VYRE_OK && best[!*is_constant] < best[*is_constant] - best[*is_constant] / 10)
        *is_constant = !*is_constant;
    return status;
}

/* ---- all ---- */

vyre_status vy_ocl_findings_get(vy_ocl *ocl, vyre_error *error) {
    int may_share = ocl->info.is_unified && vy_env_flag("VYRE_OPENCL_SHARED", 1);
    vy_ocl_findings found = {.signal = VY_OCL_SIGNAL_SLICES,
                             .poll_ps = POLL_PS,
                             .has_fast_constants = ocl->info.device_class == VYRE_DEVICE_SOFTWARE};
    probe p = {.ocl = ocl, .error = error};
    const char *what = may_share ? "findings 4 shared" : "findings 4";
    ocl->findings = found;
    if (!ocl->base.has_probe || vy_gpu_probe_load(&ocl->base, what, &ocl->findings, sizeof found))
        return VYRE_OK;
    vyre_status status = make_probe(&p, polling, "vyre_polling");
    if (status == VYRE_OK && may_share)
        status = probe_host_memory(&p, &found);
    if (status == VYRE_OK && found.signal == VY_OCL_SIGNAL_SLICES)
        status = probe_device_memory(&p, &found);
    drop_probe(&p);
    if (status == VYRE_OK)
        status = probe_constants(ocl, &found.has_fast_constants, error);
    if (status != VYRE_OK)
        return status;
    ocl->findings = found;
    vy_gpu_probe_store(&ocl->base, what, "opencl:findings", &found, sizeof found);
    return VYRE_OK;
}
