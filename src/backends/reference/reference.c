/* The reference backend: dispatches, resident buffers, a cache of compiled programs, and the function table
 * (reference.h). */
#include "backends/reference/reference.h"

#include "base/memory.h"
#include "base/status.h"
#include "driver/dispatch.h"
#include "driver/plugin.h"
#include "ir/model.h"
#include "vyre/backend.h"
#include "vyre/oracle.h"

#include <inttypes.h>
#include <pthread.h>

enum { EXECUTABLES = 32 };

typedef struct executable {
    vyre_program *program; /* retained: so its address names it; NULL = empty place */
    vyre_oracle *oracle;
    uint32_t users;
    uint64_t last_use;
} executable;

typedef struct backend {
    const char *id;
    pthread_mutex_t lock; /* guards all that follows */
    executable programs[EXECUTABLES];
    uint64_t clock;
    struct vy_reference_block *blocks; /* of resident buffers */
} backend;

static vyre_status reference_free(void *self, uint64_t native, vyre_error *error);

/* ---- cache of compiled programs ---- */

/* With the lock held. */
static executable *find(backend *reference, const vyre_program *program) {
    for (int i = 0; i < EXECUTABLES; i++)
        if (reference->programs[i].program && vyre_program_equal(reference->programs[i].program, program))
            return &reference->programs[i];
    return NULL;
}

/* An empty place, or the one used longest ago that nobody uses; NULL if all are in use. With the lock held. */
static executable *find_least_recent(backend *reference) {
    executable *best = NULL;
    for (int i = 0; i < EXECUTABLES; i++) {
        executable *place = &reference->programs[i];
        if (!place->users && (!best || !place->program || (best->program && place->last_use < best->last_use)))
            best = place;
    }
    return best;
}

static void use_slot(backend *reference, executable *place, const vyre_oracle **oracle, uint32_t *index) {
    place->users++;
    place->last_use = ++reference->clock;
    *oracle = place->oracle;
    *index = (uint32_t)(place - reference->programs);
}

/* A compiled oracle, compiled now or found. `place` goes back to executable_release;
 * EXECUTABLES if the oracle is not kept, because all places are in use. */
static vyre_status executable_acquire(backend *reference, vyre_program *program, const vyre_oracle **oracle,
                                      uint32_t *place, vyre_error *error) {
    vyre_oracle *made, *spare = NULL;
    vyre_program *old = NULL;
    pthread_mutex_lock(&reference->lock);
    executable *found = find(reference, program);
    if (found)
        use_slot(reference, found, oracle, place);
    pthread_mutex_unlock(&reference->lock);
    if (found)
        return VYRE_OK;
    vyre_status status = vyre_oracle_new(program, &made, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&reference->lock);
    found = find(reference, program); /* another thread may have been faster */
    if (found) {
        spare = made;
    } else if ((found = find_least_recent(reference))) {
        spare = found->oracle;
        old = found->program;
        *found = (executable){.program = vyre_program_retain(program), .oracle = made};
    }
    if (found)
        use_slot(reference, found, oracle, place);
    pthread_mutex_unlock(&reference->lock);
    vyre_oracle_free(spare);
    vyre_program_release(old);
    if (!found) {
        *oracle = made;
        *place = EXECUTABLES;
    }
    return VYRE_OK;
}

static void executable_release(backend *reference, const vyre_oracle *oracle, uint32_t place) {
    if (place == EXECUTABLES) {
        vyre_oracle_free((vyre_oracle *)oracle);
        return;
    }
    pthread_mutex_lock(&reference->lock);
    reference->programs[place].users--;
    pthread_mutex_unlock(&reference->lock);
}

static void executables_clear(backend *reference) {
    for (int i = 0; i < EXECUTABLES; i++) {
        vyre_oracle_free(reference->programs[i].oracle);
        vyre_program_release(reference->programs[i].program);
        reference->programs[i] = (executable){0};
    }
}

/* Entries of the table. */
static vyre_status reference_prepare(void *self, vyre_program *program, vyre_error *error) {
    const vyre_oracle *oracle;
    uint32_t place;
    vyre_status status = executable_acquire(self, program, &oracle, &place, error);
    if (status == VYRE_OK)
        executable_release(self, oracle, place);
    return status;
}

/* ---- resident buffers ----
 *
 * Plain memory. A native value is the address of a block that holds its size. The driver layer has checked handles and
 * ranges. */

typedef struct vy_reference_block {
    struct vy_reference_block *before, *after; /* of the backend's */
    size_t size;                               /* of all of it that is ours */
    unsigned char *bytes;                      /* those that follow, or somebody else's */
    alignas(max_align_t) unsigned char own[];
} block;

/* The backend knows its blocks: a call that was abandoned does not free what it allocated. */
static void enter(backend *reference, block *made) {
    pthread_mutex_lock(&reference->lock);
    made->before = NULL;
    made->after = reference->blocks;
    if (made->after)
        made->after->before = made;
    reference->blocks = made;
    pthread_mutex_unlock(&reference->lock);
}

static void leave(backend *reference, block *made) {
    pthread_mutex_lock(&reference->lock);
    if (made->before)
        made->before->after = made->after;
    else
        reference->blocks = made->after;
    if (made->after)
        made->after->before = made->before;
    pthread_mutex_unlock(&reference->lock);
}

/* What is left of resident buffers when the backend ends. */
static void free_all(backend *reference) {
    while (reference->blocks)
        reference_free(reference, (uintptr_t)reference->blocks, NULL);
}

static block *block_of(uint64_t native) {
    return (block *)(uintptr_t)native;
}

/* The bytes of a resident buffer, from an offset. */
static unsigned char *reference_bytes(uint64_t native, uint64_t offset) {
    return block_of(native)->bytes + offset;
}

static vyre_status allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    block *made = size < SIZE_MAX / 2 ? vy_allocate_zero(sizeof *made + (size_t)size) : NULL;
    if (!made)
        return vy_fail_memory(error, "allocating a resident buffer");
    made->size = sizeof *made + (size_t)size;
    made->bytes = made->own;
    enter(self, made);
    *native = (uintptr_t)made;
    return VYRE_OK;
}

static vyre_status reference_free(void *self, uint64_t native, vyre_error *error) {
    (void)error;
    leave(self, block_of(native));
    vy_release(block_of(native), block_of(native)->size);
    return VYRE_OK;
}

static vyre_status wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                        vyre_error *error) {
    (void)size;
    vyre_status status = vy_host_location_check(place, ((backend *)self)->id, error);
    if (status != VYRE_OK)
        return status;
    block *made = vy_allocate(sizeof *made);
    if (!made)
        return vy_fail_memory(error, "wrapping foreign memory");
    made->size = sizeof *made;
    made->bytes = (unsigned char *)(uintptr_t)place->address;
    enter(self, made);
    *native = (uintptr_t)made;
    return VYRE_OK;
}

static vyre_status location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error) {
    (void)self;
    (void)error;
    *place = (vyre_memory_location){VYRE_LOCATION_HOST, 0, (uintptr_t)reference_bytes(native, 0)};
    return VYRE_OK;
}

static vyre_status upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                          vyre_error *error) {
    (void)self;
    (void)error;
    memcpy(reference_bytes(native, offset), data, (size_t)size);
    return VYRE_OK;
}

static vyre_status download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                            vyre_error *error) {
    (void)self;
    (void)error;
    memcpy(data, reference_bytes(native, offset), (size_t)size);
    return VYRE_OK;
}

/* ---- dispatches ---- */

static vyre_status run(backend *reference, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                       const void *const *before, vyre_bytes *outputs, vyre_error *error) {
    const vyre_oracle *oracle;
    uint32_t place;
    vyre_status status = executable_acquire(reference, launch->program, &oracle, &place, error);
    if (status != VYRE_OK)
        return status;
    status = vy_host_run_oracle(oracle, launch, inputs, input_count, before, outputs, error);
    executable_release(reference, oracle, place);
    return status;
}

static vyre_status reference_dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                               size_t input_count, vyre_outputs *outputs, vyre_error *error) {
    return run(self, launch, inputs, input_count, NULL, outputs->items, error);
}

static vyre_status reference_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs,
                                      size_t input_count, vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[VY_LIMIT_BUFFERS];
    for (size_t i = 0; i < input_count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return run(self, launch, spans, input_count, NULL, outputs->items, error);
}

/* The oracle reads inputs where they lie and works on copies of what is written, so results are copied back at the
 * end. */
static vyre_status reference_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                               size_t binding_count, vyre_timing *timing, vyre_error *error) {
    const void *before[VY_LIMIT_BUFFERS] = {NULL};
    vyre_span inputs[VY_LIMIT_BUFFERS] = {{NULL, 0}};
    unsigned char *targets[VY_LIMIT_BUFFERS];
    size_t input_count = 0, output_count = 0;
    vyre_buffer_info buffer;
    vy_output_slots slots;
    uint64_t start = vy_clock_now();
    for (size_t i = 0; i < binding_count && vyre_program_buffer(launch->program, i, &buffer); i++) {
        unsigned char *bytes = reference_bytes(bindings[i].resident.id, bindings[i].offset);
        before[i] = bytes;
        if (buffer.access != VYRE_ACCESS_WRITE)
            inputs[input_count++] = (vyre_span){bytes, (size_t)bindings[i].size};
        if (buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE)
            targets[output_count++] = bytes;
    }
    vy_output_slots_start(&slots, output_count);
    vyre_status status = run(self, launch, inputs, input_count, before, slots.items, error);
    for (size_t i = 0; status == VYRE_OK && i < output_count; i++)
        if (slots.items[i].size)
            memcpy(targets[i], slots.items[i].data, slots.items[i].size);
    vy_output_slots_end(&slots);
    if (timing)
        timing->wall_ns = vy_clock_now() - start;
    return status;
}

/* ---- the backend's table ---- */

static const char *id(void *self) {
    return ((backend *)self)->id;
}

static const char *version(void *self) {
    (void)self;
    return vyre_version();
}

/* The limits are those of the language. Grid barriers run in one launch, and a subgroup of any width of the language
 * is one; f16 and bf16 are computed in software. */
static uint64_t capability(void *self, vyre_capability capability) {
    static const uint64_t values[VYRE_CAPABILITY_COUNT] = {
        [VYRE_CAPABILITY_SUBGROUP_OPS] = 1,
        [VYRE_CAPABILITY_GRID_SYNC] = 1,
        [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_MAX_WORKGROUPS] = UINT32_MAX,
        [VYRE_CAPABILITY_MAX_INVOCATIONS] = VY_LIMIT_WORKGROUP,
        [VYRE_CAPABILITY_SUBGROUP_SIZE] = 64,
        [VYRE_CAPABILITY_CANCEL] = 1,
    };
    (void)self;
    return (unsigned)capability < VYRE_CAPABILITY_COUNT ? values[capability] : 0;
}

static void device_profile(void *self, vyre_device_profile *profile) {
    (void)self;
    profile->device = "oracle";
    profile->supports_f64 = profile->supports_int64_atomics = 1;
    profile->supports_trap_propagation = 1;
    profile->has_mul_high = profile->has_shared_memory = 1;
    profile->max_shared_memory_bytes = VY_LIMIT_WORKGROUP_BYTES;
    profile->max_native_int_width = 64;
}

static vyre_status shutdown(void *self, vyre_error *error) {
    (void)error;
    executables_clear(self);
    return VYRE_OK;
}

static void destroy(void *self) {
    backend *reference = self;
    executables_clear(reference);
    free_all(reference);
    pthread_mutex_destroy(&reference->lock);
    vy_release(reference, sizeof *reference);
}

static const vyre_backend_vtable table = {
    .struct_size = sizeof(vyre_backend_vtable),
    .abi = VYRE_BACKEND_ABI,
    .id = id,
    .dispatch = reference_dispatch,
    .version = version,
    .dispatch_borrowed = reference_dispatch_borrowed,
    /* The oracle writes into whatever storage it is given and keeps its capacity. */
    .dispatch_borrowed_into = reference_dispatch_borrowed,
    .resident_allocate = allocate,
    .resident_free = reference_free,
    .resident_wrap = wrap,
    .resident_location = location,
    .resident_upload = upload,
    .resident_download = download,
    .dispatch_resident = reference_dispatch_resident,
    .capability = capability,
    .device_profile = device_profile,
    .prepare = reference_prepare,
    .shutdown = shutdown,
    .destroy = destroy,
};

static vyre_status create(const char *name, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    if (ordinal != 0)
        return vy_fail(error, VYRE_NOT_FOUND, VY_FIX("use `%s`", name),
                       "there is one device of `%s`, not a number %" PRIu32, name, ordinal);
    backend *reference = vy_allocate_zero(sizeof *reference);
    if (!reference)
        return vy_fail_memory(error, "making the reference backend");
    reference->id = name;
    pthread_mutex_init(&reference->lock, NULL);
    *out = (vyre_backend_instance){&table, reference};
    return VYRE_OK;
}

vyre_status vy_reference_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                vyre_error *error) {
    (void)host;
    return create("reference", ordinal, out, error);
}

vyre_status vy_reference_create_cpu_ref(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                        vyre_error *error) {
    (void)host;
    return create("cpu-ref", ordinal, out, error);
}

void vy_reference_probe(const vyre_host *host, vyre_probe *out) {
    (void)host;
    out->answer = VYRE_PROBE_YES;
    out->device_class = VYRE_DEVICE_REFERENCE;
    out->device_count = 1;
}
