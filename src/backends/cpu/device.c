/* The device of the `cpu` backend: machine properties, constructor, identity, capabilities and resident buffers
 * (cpu.h). Invariant: a probe starts no thread and no compiler. */
#include "backends/cpu/cpu.h"

#include "backends/cpu/code_object.h"
#include "backends/cpu/compile.h"
#include "backends/cpu/dispatch.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"
#include "ir/model.h"
#include "vyre/cache.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- properties of the machine ---- */

static int read_text(const char *path, char *text, size_t room) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? -1 : read(file, text, room - 1);
    if (file >= 0)
        close(file);
    text[count > 0 ? count : 0] = 0;
    return count > 0;
}

/* The value after "key :" in a line of the text, and its length; NULL if no line has the key. */
static const char *find_value(const char *text, const char *key, int *length) {
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *value = line + strcspn(line, ":\n");
        if (*value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t");
        *length = (int)strcspn(value, "\n");
        return value;
    }
    return NULL;
}

/* The manufacturer of an AArch64 processor: the field Implementer of MIDR_EL1. */
static const char *maker_name(unsigned long code) {
    static const struct {
        unsigned long code;
        const char *name;
    } makers[] = {{0x41, "Arm"},       {0x42, "Broadcom"},  {0x43, "Cavium"},   {0x46, "Fujitsu"},
                  {0x48, "HiSilicon"}, {0x4e, "NVIDIA"},    {0x51, "Qualcomm"}, {0x53, "Samsung"},
                  {0x61, "Apple"},     {0x6d, "Microsoft"}, {0xc0, "Ampere"}};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (makers[i].code == code)
            return makers[i].name;
    return NULL;
}

/* On AArch64 the kernel reports numbers instead of a model name. */
static void name_part(const char *text, char *name, size_t room) {
    int length;
    const char *maker = find_value(text, "CPU implementer", &length), *part = find_value(text, "CPU part", &length);
    if (!maker || !part)
        return;
    const char *known = maker_name(strtoul(maker, NULL, 16));
    snprintf(name, room, "%s%.*s, part %.*s", known ? known : "maker ", known ? 0 : (int)strcspn(maker, "\n"), maker,
             length, part);
}

void vy_cpu_model_name(const char *text, char *name, size_t room) {
    int length;
    const char *value = find_value(text, "model name", &length);
    *name = 0;
    if (value)
        snprintf(name, room, "%.*s", length, value);
    else
        name_part(text, name, room);
}

uint32_t vy_cpu_cache_size(const char *text) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    uint64_t unit = *end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : *end == '\n' || *end == 0 ? 1 : 0;
    return text != end && unit && value <= UINT32_MAX / unit ? (uint32_t)(value * unit) : 0;
}

static void read_caches(vy_cpu *cpu) {
    char path[96], text[64];
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!read_text(path, text, sizeof text))
            return;
        int level = atoi(text);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!read_text(path, text, sizeof text) || strncmp(text, "Instruction", 11) == 0)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!read_text(path, text, sizeof text))
            continue;
        if (level == 1)
            cpu->l1_bytes = vy_cpu_cache_size(text);
        else if (level == 2)
            cpu->l2_bytes = vy_cpu_cache_size(text);
        else if (level == 3)
            cpu->l3_bytes = vy_cpu_cache_size(text);
    }
}

/* "8 lanes sse3 … avx2" */
static void describe_features(vy_cpu *cpu) {
    size_t used = (size_t)snprintf(cpu->driver, sizeof cpu->driver, "%" PRIu32 " lanes", cpu->lanes);
    for (unsigned bit = 0; bit < 64; bit++) {
        const char *name = cpu->features >> bit & 1 ? vy_cpu_feature_name(bit) : NULL;
        if (!name || !*name || used + strlen(name) + 3 > sizeof cpu->driver)
            continue;
        used += (size_t)snprintf(cpu->driver + used, sizeof cpu->driver - used, " %s", name);
    }
}

/* Fills device, driver and the cache sizes, as far as the system reports them. */
static void query_machine(vy_cpu *cpu) {
    char text[4096];
    read_text("/proc/cpuinfo", text, sizeof text);
    vy_cpu_model_name(text, cpu->device, sizeof cpu->device);
    read_caches(cpu);
    describe_features(cpu);
}

/* ---- the backend table ---- */

/* SPIN_US: how long an idle thread spins, unless the environment sets it. Waking a thread costs ten to a hundred
 * microseconds, so spinning for that long at most doubles the cost. */
enum { THREADS_MAX = 4096, SPIN_US = 200, SPIN_MAX = 1000000 };

/* The size of the last-level cache in KiB if the system does not report it, and its upper limit: virtual machines
 * report the whole of a cache that they share. Half of it is assumed for the working set of a dispatch: above that,
 * written data would be evicted before the next access. */
enum { CACHE_KIB = 32 * 1024, CACHE_MOST_KIB = 256 * 1024 };

static const char *id(void *self) {
    (void)self;
    return "cpu";
}

static const char *version(void *self) {
    (void)self;
    return vyre_version();
}

/* The driver layer splits programs at grid barriers; subgroup collectives are shuffles of vector lanes. A grid of
 * any size is one launch. f16 and bf16 are computed in f32. */
static uint64_t capability(void *self, vyre_capability capability) {
    const uint64_t values[VYRE_CAPABILITY_COUNT] = {
        [VYRE_CAPABILITY_SUBGROUP_OPS] = 1,
        [VYRE_CAPABILITY_SUBGROUP_SIZE] = ((const vy_cpu *)self)->lanes,
        [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_WORKGROUPS] = UINT32_MAX,
        [VYRE_CAPABILITY_MAX_INVOCATIONS] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_STORAGE_BYTES] = (uint64_t)VY_CPU_ELEMENTS_MAX * 8, /* with elements of the largest type */
        [VYRE_CAPABILITY_CANCEL] = 1,
    };
    return (unsigned)capability < VYRE_CAPABILITY_COUNT ? values[capability] : 0;
}

static void device_profile(void *self, vyre_device_profile *profile) {
    const vy_cpu *cpu = self;
    profile->device = cpu->device;
    profile->driver = cpu->driver;
    vy_target_profile(&cpu->target, profile);
    profile->max_shared_memory_bytes = VY_LIMIT_WORKGROUP_BYTES;
    profile->compute_units = cpu->threads;
    profile->l1_cache_bytes = cpu->l1_bytes;
    profile->l2_cache_bytes = cpu->l2_bytes;
    profile->ideal_vector_pack_bits = cpu->lanes * 32;
    profile->has_subgroup_shuffle = 1; /* of vector lanes; the legaliser leaves subgroup ops to the emitter */
}

/* Code for debuggers is not cached: it has line information, and programs that differ only in lines have equal keys. */
static vyre_status cache_identity(void *self, vyre_bytes *out, vyre_error *error) {
    const vy_cpu *cpu = self;
    char text[128];
    if (vy_jit_debug_is_enabled())
        return vy_fail(error, VYRE_UNSUPPORTED, "unset VYRE_GDB", "code for debuggers is not cached");
    int length = snprintf(text, sizeof text, "cpu format %d width %" PRIu32 " features %016" PRIx64, VY_CPU_FORMAT,
                          cpu->width, cpu->features);
    vyre_status status = vyre_bytes_resize(out, (size_t)length, error);
    if (status == VYRE_OK)
        memcpy(out->data, text, (size_t)length);
    return status;
}

/* The driver layer counts hits and misses, because it owns the cache (vyre/backend.h). */
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
    .emit = vy_cpu_emit,
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

/* ---- constructor ---- */

static vyre_status configure(vy_cpu *cpu, vyre_error *error) {
    vyre_status status = vy_cpu_isa_restrict(vy_env_get("VYRE_CPU_ISA"), vy_cpu_features(), &cpu->features, error);
    if (status != VYRE_OK)
        return status;
    if (!cpu->features)
        return vy_fail(error, VYRE_UNSUPPORTED, "use `--backend reference`",
                       "backend `cpu` has no code for this architecture");
    cpu->target = vy_cpu_target(cpu->features, 0);
    unsigned cores = vy_cpu_count();
    status = vy_env_number("VYRE_CPU_THREADS", 1, THREADS_MAX, cores, &cpu->threads, error);
    if (status == VYRE_OK) /* with more threads than cores, spinning threads would delay working ones */
        status = vy_env_number("VYRE_CPU_SPIN", 0, SPIN_MAX, cpu->threads > cores ? 0 : SPIN_US, &cpu->spin_us, error);
    if (status == VYRE_OK)
        status = vy_env_number("VYRE_CPU_WIDTH", 0, VY_CPU_WIDTH_MAX, 0, &cpu->width, error);
    if (status == VYRE_OK && cpu->width && (cpu->width < VY_CPU_WIDTH_MIN || (cpu->width & (cpu->width - 1))))
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, "set VYRE_CPU_WIDTH to one of these numbers, or unset it",
                         "VYRE_CPU_WIDTH is not 4, 8, 16, 32 or 64 (%" PRIu32 ")", cpu->width);
    cpu->lanes = cpu->width ? cpu->width : vy_cpu_width(cpu->features);
    if (status == VYRE_OK)
        status = vy_cpu_compiler_limits(cpu, error);
    if (status != VYRE_OK)
        return status;
    query_machine(cpu);
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

/* Whether the disk cache has an entry for this backend. Entries of other processors and builds count too: whether an
 * entry loads is determined when a program is compiled. */
static int has_cached_code(void) {
    vyre_error ignored;
    int found = 0;
    return vyre_cache_walk(VYRE_CACHE_READ_HEADERS, visit, &found, &ignored) == VYRE_OK && found;
}

/* Without a compiler the backend still runs programs from the cache. */
void vy_cpu_probe(const vyre_host *host, vyre_probe *out) {
    vyre_error error;
    (void)host;
    out->device_class = VYRE_DEVICE_CPU;
    out->device_count = 1;
    out->answer = VYRE_PROBE_YES;
    if (!vy_cpu_features()) {
        out->answer = VYRE_PROBE_NEVER;
        out->device_count = 0;
        snprintf(out->reason, sizeof out->reason, "this architecture is not supported");
        snprintf(out->fix, sizeof out->fix, "use `--backend reference`");
    } else if (vy_cpu_compiler_check(&error) != VYRE_OK) {
        int is_cached = has_cached_code();
        out->answer = is_cached ? VYRE_PROBE_FOR_NOW : VYRE_PROBE_NOT_NOW;
        snprintf(out->reason, sizeof out->reason, "%s%.200s",
                 is_cached ? "only what the cache has runs: " : "the cache has no program, and ", error.message);
        snprintf(out->fix, sizeof out->fix, "%s", error.fix);
    }
}

/* Resident buffers of the `cpu` backend (cpu.h). The driver layer has checked handles and ranges. */
typedef struct block {
    size_t size; /* of the whole allocation; 0 for wrapped memory */
    uint8_t *bytes;
} block;

/* Walking the page tables of large buffers costs as much as accessing the buffers. Some systems provide large pages
 * on request only. The advice affects performance only. */
void vy_cpu_memory_advise(void *memory, size_t size) {
    enum { LARGE = 4 << 20, PAGE = 2 << 20 };
    uintptr_t first = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE, end = ((uintptr_t)memory + size) / PAGE * PAGE;
    if (size >= LARGE && first < end)
        madvise((void *)first, end - first, MADV_HUGEPAGE);
}

static block *block_of(uint64_t native) {
    return (block *)(uintptr_t)native;
}

uint8_t *vy_cpu_resident_bytes(uint64_t native) {
    return block_of(native)->bytes;
}

/* Cleared by the threads that will use it, each its share: on NUMA systems a page is placed on the node that first
 * touches it. */
vyre_status vy_cpu_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    size_t whole = size < PTRDIFF_MAX / 2 ? sizeof(block) + VY_CPU_ALIGNMENT + (size_t)size : 0;
    block *made = vy_allocate(whole);
    if (!made)
        return vy_fail_memory(error, "allocating a resident buffer");
    vy_cpu_memory_advise(made, whole);
    uintptr_t start = (uintptr_t)(made + 1) + VY_CPU_ALIGNMENT - 1;
    *made = (block){whole, (uint8_t *)(start / VY_CPU_ALIGNMENT * VY_CPU_ALIGNMENT)};
    vy_cpu_pool_copy_or_clear(((vy_cpu *)self)->pool, made->bytes, NULL, (size_t)size);
    *native = (uintptr_t)made;
    return VYRE_OK;
}

vyre_status vy_cpu_resident_free(void *self, uint64_t native, vyre_error *error) {
    (void)self;
    (void)error;
    vy_release(block_of(native), block_of(native)->size);
    return VYRE_OK;
}

vyre_status vy_cpu_resident_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                 vyre_error *error) {
    (void)self;
    (void)size;
    vyre_status status = vy_host_location_check(place, "cpu", error);
    if (status != VYRE_OK)
        return status;
    block *made = vy_allocate(sizeof *made);
    if (!made)
        return vy_fail_memory(error, "wrapping foreign memory");
    *made = (block){sizeof *made, (uint8_t *)(uintptr_t)place->address};
    *native = (uintptr_t)made;
    return VYRE_OK;
}

vyre_status vy_cpu_resident_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error) {
    (void)self;
    (void)error;
    *place = (vyre_memory_location){VYRE_LOCATION_HOST, 0, (uintptr_t)vy_cpu_resident_bytes(native)};
    return VYRE_OK;
}

vyre_status vy_cpu_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *error) {
    (void)error;
    vy_cpu_pool_copy_or_clear(((vy_cpu *)self)->pool, vy_cpu_resident_bytes(native) + offset, data, (size_t)size);
    return VYRE_OK;
}

vyre_status vy_cpu_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                     vyre_error *error) {
    (void)error;
    vy_cpu_pool_copy_or_clear(((vy_cpu *)self)->pool, data, vy_cpu_resident_bytes(native) + offset, (size_t)size);
    return VYRE_OK;
}
