/* Mirror backend: it computes nothing, records its arguments and returns prepared results. There is one instance,
 * together with the caller's side of a test. */
#ifndef VY_TESTS_DRIVER_MIRROR_H
#define VY_TESTS_DRIVER_MIRROR_H

#include "driver/backend.h"
#include "driver/fault_plugin.h"
#include "driver/plugin.h"
#include "driver/registry.h"
#include "support/test.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

#include <unistd.h>

static const char text[] = "program f {\n param k : u32\n param j : u32\n buffer a : u32 read\n buffer b : u32 read\n"
                           "buffer x : u32 read_write\n buffer out : u32 write\n workgroup 2\n grid 1\n"
                           "out[0] = x[0] * k + j + a[0] + b[0]; x[0] = 1 }";
enum { BUFFERS = 4, ITEMS = 2 };
static const uint64_t counts[BUFFERS] = {3, 4, 5, 6};
static const vyre_timing told_timing = {11, VYRE_TIMED_DEVICE | VYRE_TIMED_ENQUEUE | VYRE_TIMED_WAIT, 22, 33, 44};
static const vyre_trap told_trap = {5, 9};
enum { FILL = 0x5a };

/* A launch and what came with it. */
typedef struct kept {
    vyre_launch launch;
    vyre_scalar params[2];
    uint64_t elements[BUFFERS];
    char label[16];
    vyre_span inputs[BUFFERS];
    vyre_resource bindings[BUFFERS];
    size_t count; /* of inputs or bindings */
} kept;

static struct mirror {
    unsigned char is_missing[FAULT_ENTRY_COUNT];
    atomic_uint calls[FAULT_ENTRY_COUNT]; /* threads of the library count too */
    int traps, is_lost;
    vyre_backend_vtable table;
    vyre_pipeline_vtable pipeline_table;
    vyre_pending_vtable pending_table;
    kept items[ITEMS];
    size_t item_count, failed;
    uint64_t native, offset, size, natives;
    const void *data;
    vyre_transfer transfers[2];
    vyre_readback readback;
    int cancellable;
    unsigned char binary[8];
    uint64_t deadline_ns; /* of a wait */
    vyre_program *prepared;
    const vyre_program *asked;
    int has_stages; /* of the program other programs are made, too */

    /* the caller's side */
    vyre_module *module;
    vyre_program *program;
    vyre_backend *backend;
    vyre_pipeline *pipeline;
    vyre_scalar params[2];
    uint32_t words[4][8];
    vyre_span inputs[3];
    vyre_bytes owned[3];
    vyre_arguments arguments;
    vyre_dispatch_config config;
    vyre_resident handles[BUFFERS];
    uint64_t handle_natives[BUFFERS];
    vyre_resource bindings[BUFFERS], mixed[BUFFERS];
    vyre_outputs outputs[ITEMS];
    vyre_bytes bytes;
    vyre_timing timing;
    vyre_trap trap;
    vyre_error error;
    vyre_memory_location location;
    void *stream;
    uint32_t got[8];
} m;

/* ---- the mirror ---- */

static void keep(const vyre_launch *launch, const vyre_span *inputs, const vyre_resource *bindings, size_t count) {
    kept *k = &m.items[m.item_count++ % ITEMS];
    assert_int_equal(launch->struct_size, sizeof *launch);
    k->launch = *launch;
    memcpy(k->params, launch->params, sizeof k->params);
    memcpy(k->elements, launch->elements, sizeof k->elements);
    snprintf(k->label, sizeof k->label, "%s", launch->label);
    k->count = count;
    if (inputs)
        memcpy(k->inputs, inputs, count * sizeof *inputs);
    if (bindings)
        memcpy(k->bindings, bindings, count * sizeof *bindings);
}

static vyre_status answer(const vyre_launch *launch, const vyre_resource *bindings, vyre_outputs *outputs,
                          vyre_error *error) {
    if (m.traps) {
        *launch->trap = told_trap;
        return (vy_host_services.fail)(error, VYRE_TRAPPED, NULL, "as told");
    }
    for (size_t i = 0; outputs && i < outputs->count; i++) {
        if (bindings && bindings[2 + i].kind == VYRE_RESOURCE_RESIDENT)
            continue;
        assert_int_equal(vy_host_services.bytes_resize(&outputs->items[i], launch->elements[2 + i] * 4, error),
                         VYRE_OK);
        memset(outputs->items[i].data, FILL, outputs->items[i].size);
    }
    return VYRE_OK;
}

static vyre_status run(fault_entry entry, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                       vyre_outputs *outputs, vyre_error *error) {
    m.calls[entry]++;
    keep(launch, inputs, NULL, count);
    return answer(launch, NULL, outputs, error);
}

static vyre_status run_owned(fault_entry entry, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                             vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[BUFFERS];
    for (size_t i = 0; i < count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return run(entry, launch, spans, count, outputs, error);
}

static vyre_status run_bound(fault_entry entry, const vyre_launch *launch, const vyre_resource *bindings, size_t count,
                             vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    m.calls[entry]++;
    keep(launch, NULL, bindings, count);
    if (timing)
        *timing = told_timing;
    return answer(launch, bindings, outputs, error);
}

/* Entries of a table, by signature; each records its own index. */
#define OWNED(TABLE, table, name)                                                                                      \
    static vyre_status table##_##name(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,   \
                                      vyre_outputs *outputs, vyre_error *error) {                                      \
        assert_ptr_equal(self, &m);                                                                                    \
        return run_owned(FAULT_##TABLE##_##name, launch, inputs, count, outputs, error);                               \
    }
#define SPANS(TABLE, table, name)                                                                                      \
    static vyre_status table##_##name(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,    \
                                      vyre_outputs *outputs, vyre_error *error) {                                      \
        assert_ptr_equal(self, &m);                                                                                    \
        return run(FAULT_##TABLE##_##name, launch, inputs, count, outputs, error);                                     \
    }
#define TIMED(TABLE, table, name)                                                                                      \
    static vyre_status table##_##name(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,    \
                                      vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {                 \
        assert_ptr_equal(self, &m);                                                                                    \
        *timing = told_timing;                                                                                         \
        return run(FAULT_##TABLE##_##name, launch, inputs, count, outputs, error);                                     \
    }
#define ASYNC(TABLE, table, name, type)                                                                                \
    static vyre_status table##_##name(void *self, const vyre_launch *launch, const type *inputs, size_t count,         \
                                      vyre_native_pending *out, vyre_error *error) {                                   \
        vyre_span spans[BUFFERS];                                                                                      \
        (void)error;                                                                                                   \
        assert_ptr_equal(self, &m);                                                                                    \
        m.calls[FAULT_##TABLE##_##name]++;                                                                             \
        for (size_t i = 0; i < count; i++)                                                                             \
            spans[i] = (vyre_span){inputs[i].data, inputs[i].size};                                                    \
        keep(launch, spans, NULL, count);                                                                              \
        *out = (vyre_native_pending){&m.pending_table, &m};                                                            \
        return VYRE_OK;                                                                                                \
    }
OWNED(BACKEND, backend, dispatch)
OWNED(PIPELINE, pipeline, dispatch)
SPANS(BACKEND, backend, dispatch_borrowed)
SPANS(BACKEND, backend, dispatch_borrowed_into)
SPANS(PIPELINE, pipeline, dispatch_borrowed)
SPANS(PIPELINE, pipeline, dispatch_borrowed_into)
TIMED(BACKEND, backend, dispatch_borrowed_timed)
TIMED(PIPELINE, pipeline, dispatch_borrowed_timed)
ASYNC(BACKEND, backend, dispatch_async, vyre_bytes)
ASYNC(BACKEND, backend, dispatch_borrowed_async, vyre_span)
ASYNC(PIPELINE, pipeline, dispatch_async, vyre_span)

static vyre_status pipeline_dispatch_batched_into(void *self, const vyre_launch *launches,
                                                  const vyre_span *const *inputs, size_t input_count, size_t count,
                                                  vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vyre_status status = VYRE_OK;
    assert_ptr_equal(self, &m);
    m.calls[FAULT_PIPELINE_dispatch_batched_into]++;
    m.failed = *failed;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        keep(&launches[i], inputs[i], NULL, input_count);
        *failed = i;
        status = answer(&launches[i], NULL, &outputs[i], error);
    }
    return status;
}

static vyre_status pipeline_dispatch_persistent_into(void *self, const vyre_launch *launch,
                                                     const vyre_resource *bindings, size_t count, vyre_outputs *outputs,
                                                     vyre_timing *timing, vyre_error *error) {
    assert_ptr_equal(self, &m);
    return run_bound(FAULT_PIPELINE_dispatch_persistent_into, launch, bindings, count, outputs, timing, error);
}

static vyre_status many(fault_entry entry, const vyre_launch *launches, const vyre_resource *const *bindings,
                        const vyre_resource (*rows)[4], size_t binding_count, size_t count, vyre_outputs *outputs,
                        size_t *failed, vyre_error *error) {
    vyre_status status = VYRE_OK;
    m.calls[entry]++;
    m.failed = *failed;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        const vyre_resource *bound = bindings ? bindings[i] : rows[i];
        keep(&launches[i], NULL, bound, binding_count);
        *failed = i;
        status = answer(&launches[i], bound, &outputs[i], error);
    }
    return status;
}

static vyre_status pipeline_dispatch_persistent_batched_into(void *self, const vyre_launch *launches,
                                                             const vyre_resource *const *bindings, size_t binding_count,
                                                             size_t count, vyre_outputs *outputs, size_t *failed,
                                                             vyre_error *error) {
    assert_ptr_equal(self, &m);
    return many(FAULT_PIPELINE_dispatch_persistent_batched_into, launches, bindings, NULL, binding_count, count,
                outputs, failed, error);
}

static vyre_status pipeline_dispatch_persistent_rows_into(void *self, const vyre_launch *launches,
                                                          const vyre_resource (*rows)[4], size_t count,
                                                          vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    assert_ptr_equal(self, &m);
    return many(FAULT_PIPELINE_dispatch_persistent_rows_into, launches, NULL, rows, 4, count, outputs, failed, error);
}

static vyre_status backend_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                             size_t count, vyre_timing *timing, vyre_error *error) {
    assert_ptr_equal(self, &m);
    return run_bound(FAULT_BACKEND_dispatch_resident, launch, bindings, count, NULL, timing, error);
}

static vyre_status backend_sequence(void *self, const vyre_native_step *steps, size_t count,
                                    const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                                    size_t *failed, vyre_error *error) {
    vyre_status status = VYRE_OK;
    assert_ptr_equal(self, &m);
    m.calls[FAULT_BACKEND_sequence]++;
    m.failed = *failed;
    if (timing)
        *timing = told_timing;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        assert_ptr_equal(steps[i].pipeline, &m);
        keep(&steps[i].launch, NULL, steps[i].bindings, steps[i].binding_count);
        *failed = i;
        status = answer(&steps[i].launch, steps[i].bindings, NULL, error);
    }
    assert_int_equal(readback_count, 1);
    m.readback = readbacks[0];
    return status;
}

static vyre_status backend_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_resident_allocate]++;
    m.size = size;
    *native = m.native = 700 + ++m.natives;
    return VYRE_OK;
}

static vyre_status backend_resident_free(void *self, uint64_t native, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_resident_free]++;
    m.native = native;
    return VYRE_OK;
}

static vyre_status backend_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data,
                                           uint64_t size, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_resident_upload]++;
    m.native = native, m.offset = offset, m.data = data, m.size = size;
    return VYRE_OK;
}

static vyre_status backend_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                             vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_resident_download]++;
    m.native = native, m.offset = offset, m.data = data, m.size = size;
    memset(data, FILL, size);
    return VYRE_OK;
}

static vyre_status backend_resident_upload_batch(void *self, const vyre_transfer *transfers, size_t count,
                                                 vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_resident_upload_batch]++;
    assert_int_equal(count, 2);
    memcpy(m.transfers, transfers, sizeof m.transfers);
    return VYRE_OK;
}

static vyre_status backend_resident_download_batch(void *self, const vyre_transfer *transfers, size_t count,
                                                   vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_resident_download_batch]++;
    assert_int_equal(count, 2);
    memcpy(m.transfers, transfers, sizeof m.transfers);
    return VYRE_OK;
}

static vyre_status backend_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                   vyre_native_pipeline *out, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_compile]++;
    assert_true(program == m.program || m.has_stages);
    assert_int_equal(options->struct_size, sizeof *options);
    m.cancellable = options->cancellable;
    *out = (vyre_native_pipeline){&m.pipeline_table, &m};
    return VYRE_OK;
}

static vyre_status backend_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                vyre_span binary, vyre_native_pipeline *out, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_load]++;
    assert_true(program == m.program || m.has_stages);
    assert_int_equal(binary.size, sizeof m.binary);
    memcpy(m.binary, binary.data, sizeof m.binary);
    m.cancellable = options->cancellable;
    *out = (vyre_native_pipeline){&m.pipeline_table, &m};
    return VYRE_OK;
}

static vyre_status give(vyre_bytes *out, const char *what, vyre_error *error) {
    assert_int_equal(out->size, 0);
    assert_int_equal(vy_host_services.bytes_resize(out, strlen(what), error), VYRE_OK);
    memcpy(out->data, what, strlen(what));
    return VYRE_OK;
}

static vyre_status backend_cache_identity(void *self, vyre_bytes *out, vyre_error *error) {
    (void)self;
    m.calls[FAULT_BACKEND_cache_identity]++;
    return give(out, "this mirror", error);
}

static vyre_status backend_emit(void *self, vyre_program *program, const vyre_compile_options *options, vyre_bytes *out,
                                vyre_error *error) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_BACKEND_emit]++;
    assert_ptr_equal(program, m.program);
    assert_int_equal(options->struct_size, sizeof *options);
    m.cancellable = options->cancellable;
    return give(out, "its code", error);
}

static vyre_status pipeline_serialize(void *self, vyre_bytes *out, vyre_error *error) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_PIPELINE_serialize]++;
    return give(out, "a binary", error);
}

static vyre_status pipeline_serialize_later(void *self, vyre_bytes *out, vyre_error *error) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_PIPELINE_serialize_later]++;
    return give(out, "a binary", error);
}

static void pipeline_destroy(void *self) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_PIPELINE_destroy]++;
}

static int backend_cache_snapshot(void *self, vyre_cache_snapshot *out) {
    (void)self;
    m.calls[FAULT_BACKEND_cache_snapshot]++;
    *out = (vyre_cache_snapshot){1, 2, 3, 4};
    return 1;
}

static const char *backend_id(void *self) {
    (void)self;
    m.calls[FAULT_BACKEND_id]++;
    return "mirror";
}

static const char *backend_version(void *self) {
    (void)self;
    m.calls[FAULT_BACKEND_version]++;
    return "4.5";
}

static const char *backend_code_target(void *self) {
    (void)self;
    m.calls[FAULT_BACKEND_code_target]++;
    return "my-target";
}

static const char *const *backend_supported_ops(void *self, size_t *count) {
    (void)self;
    m.calls[FAULT_BACKEND_supported_ops]++;
    return vy_all_ops(count);
}

/* It keeps deadlines, so that they reach it. */
static uint64_t backend_capability(void *self, vyre_capability capability) {
    (void)self;
    m.calls[FAULT_BACKEND_capability]++;
    if (capability == VYRE_CAPABILITY_GRID_SYNC)
        return 0;
    return capability == VYRE_CAPABILITY_CANCEL ? 1 : 1000 + (uint64_t)capability;
}

static uint64_t backend_grid_sync_limit(void *self, const vyre_program *program, void *pipeline) {
    assert_ptr_equal(self, &m);
    /* Without a pipeline by the compile and at the start of the dispatch. */
    assert_ptr_equal(pipeline, ++m.calls[FAULT_BACKEND_grid_sync_limit] > 2 ? &m : NULL);
    m.asked = program;
    return 1000;
}

static void backend_device_profile(void *self, vyre_device_profile *profile) {
    (void)self;
    m.calls[FAULT_BACKEND_device_profile]++;
    assert_int_equal(profile->subgroup_size,
                     1000 + VYRE_CAPABILITY_SUBGROUP_SIZE); /* prefilled from the capabilities */
    profile->device = "glass";
    profile->compute_units = 3;
}

static void backend_numerics(void *self, vyre_numerics_profile *profile) {
    (void)self;
    m.calls[FAULT_BACKEND_numerics]++;
    assert_int_equal(profile->exact, 0);
    profile->exact = 1;
    profile->cases = 1;
}

static vyre_status backend_resident_wrap(void *self, const vyre_memory_location *location, uint64_t size,
                                         uint64_t *native, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_resident_wrap]++;
    m.location = *location;
    m.size = size;
    *native = m.native = 700 + ++m.natives;
    return VYRE_OK;
}

static vyre_status backend_resident_location(void *self, uint64_t native, vyre_memory_location *location,
                                             vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_resident_location]++;
    assert_int_equal(location->device | location->ordinal | (int)location->address, 0);
    m.native = native;
    *location = (vyre_memory_location){77, 3, 4096};
    return VYRE_OK;
}

static vyre_status backend_stream_join(void *self, void *stream, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_stream_join]++;
    m.stream = stream;
    return VYRE_OK;
}

static vyre_status backend_prepare(void *self, vyre_program *program, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_prepare]++;
    m.prepared = program;
    return VYRE_OK;
}

static vyre_status backend_flush(void *self, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_flush]++;
    return VYRE_OK;
}

static vyre_status backend_shutdown(void *self, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_shutdown]++;
    return VYRE_OK;
}

static int backend_device_lost(void *self) {
    (void)self;
    m.calls[FAULT_BACKEND_device_lost]++;
    return m.is_lost;
}

static vyre_status backend_try_recover(void *self, vyre_error *error) {
    (void)self, (void)error;
    m.calls[FAULT_BACKEND_try_recover]++;
    m.is_lost = 0;
    return VYRE_OK;
}

static void backend_destroy(void *self) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_BACKEND_destroy]++;
}

static int pending_is_ready(void *self) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_PENDING_is_ready]++;
    return 1;
}

static vyre_status pending_wait(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_PENDING_wait]++;
    m.deadline_ns = deadline_ns;
    vyre_launch launch = m.items[0].launch; /* its trap is valid until the end; params and elements were the call's */
    launch.elements = m.items[0].elements;
    return answer(&launch, NULL, outputs, error);
}

static void pending_cancel(void *self) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_PENDING_cancel]++;
}

static void pending_destroy(void *self) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_PENDING_destroy]++;
}

static void pending_notify(void *self, void (*done)(void *user), void *user) {
    assert_ptr_equal(self, &m);
    m.calls[FAULT_PENDING_notify]++;
    done(user);
}

static inline vyre_backend_instance mirror_build(void) {
    m.table = (vyre_backend_vtable){.struct_size = sizeof m.table, .abi = VYRE_BACKEND_ABI};
    m.pipeline_table = (vyre_pipeline_vtable){.struct_size = sizeof m.pipeline_table};
    m.pending_table = (vyre_pending_vtable){.struct_size = sizeof m.pending_table};
#define BACKEND(name, gives) m.table.name = m.is_missing[FAULT_BACKEND_##name] ? NULL : backend_##name;
#define PIPELINE(name, gives) m.pipeline_table.name = m.is_missing[FAULT_PIPELINE_##name] ? NULL : pipeline_##name;
#define PENDING(name, gives) m.pending_table.name = m.is_missing[FAULT_PENDING_##name] ? NULL : pending_##name;
    FAULT_ENTRIES(BACKEND, PIPELINE, PENDING)
#undef BACKEND
#undef PIPELINE
#undef PENDING
    return (vyre_backend_instance){&m.table, &m};
}

#endif
