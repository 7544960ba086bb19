/* Constructors, identity and capabilities of the reference backend (reference.h). */
#include "backends/reference/reference.h"

#include "base/status.h"
#include "ir/limits.h"

#include <inttypes.h>

static const char *id(void *self) {
    return ((vy_reference_backend *)self)->id;
}

static const char *version(void *self) {
    (void)self;
    return vyre_version();
}

/* The limits are those of the language. Grid barriers run in one launch, and a subgroup of any width of the language is one; f16 and bf16 are computed in
 * software. */
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
    vy_reference_executables_clear(self);
    return VYRE_OK;
}

static void destroy(void *self) {
    vy_reference_backend *reference = self;
    vy_reference_executables_clear(reference);
    vy_reference_free_all(reference);
    pthread_mutex_destroy(&reference->lock);
    vy_release(reference, sizeof *reference);
}

static const vyre_backend_vtable table = {
    .struct_size = sizeof(vyre_backend_vtable),
    .abi = VYRE_BACKEND_ABI,
    .id = id,
    .dispatch = vy_reference_dispatch,
    .version = version,
    .dispatch_borrowed = vy_reference_dispatch_borrowed,
    /* The oracle writes into whatever storage it is given and keeps its capacity. */
    .dispatch_borrowed_into = vy_reference_dispatch_borrowed,
    .resident_allocate = vy_reference_allocate,
    .resident_free = vy_reference_free,
    .resident_wrap = vy_reference_wrap,
    .resident_location = vy_reference_location,
    .resident_upload = vy_reference_upload,
    .resident_download = vy_reference_download,
    .dispatch_resident = vy_reference_dispatch_resident,
    .capability = capability,
    .device_profile = device_profile,
    .prepare = vy_reference_prepare,
    .shutdown = shutdown,
    .destroy = destroy,
};

static vyre_status create(const char *name, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    if (ordinal != 0)
        return vy_fail(error, VYRE_NOT_FOUND, VY_FIX("use `%s`", name),
                       "there is one device of `%s`, not a number %" PRIu32, name, ordinal);
    vy_reference_backend *reference = vy_allocate_zero(sizeof *reference);
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
