/* Fake backend for tests: the reference interpreter wrapped in a table that counts and records every call, fails the
 * k-th call of any entry on demand, and breaks its contract in one chosen way. Entries can be left out. */
#ifndef VY_TESTS_DRIVER_FAKE_H
#define VY_TESTS_DRIVER_FAKE_H

#include "support/test.h"

#include "backends/reference/reference.h"
#include "driver/backend.h"
#include "driver/plugin.h"
#include "driver/registry.h"
#include "vyre/text.h"

#include <stdatomic.h>
#include <unistd.h>

/* X(entry of the table): all but the asynchronous ones. */
#define FAKE_ENTRIES(X)                                                                                                \
    X(id)                                                                                                              \
    X(dispatch)                                                                                                        \
    X(version)                                                                                                         \
    X(supported_ops)                                                                                                   \
    X(dispatch_borrowed)                                                                                               \
    X(dispatch_borrowed_timed)                                                                                         \
    X(dispatch_borrowed_into)                                                                                          \
    X(resident_allocate)                                                                                               \
    X(resident_free)                                                                                                   \
    X(resident_upload)                                                                                                 \
    X(resident_download)                                                                                               \
    X(resident_upload_batch)                                                                                           \
    X(resident_download_batch)                                                                                         \
    X(dispatch_resident)                                                                                               \
    X(compile)                                                                                                         \
    X(load)                                                                                                            \
    X(cache_identity)                                                                                                  \
    X(cache_snapshot)                                                                                                  \
    X(sequence)                                                                                                        \
    X(capability)                                                                                                      \
    X(device_profile)                                                                                                  \
    X(prepare)                                                                                                         \
    X(flush)                                                                                                           \
    X(shutdown)                                                                                                        \
    X(device_lost)                                                                                                     \
    X(try_recover)                                                                                                     \
    X(destroy)                                                                                                         \
    X(grid_sync_limit)
/* X(entry of the table of its pipelines) */
#define FAKE_PIPELINE_ENTRIES(X)                                                                                       \
    X(dispatch)                                                                                                        \
    X(dispatch_borrowed)                                                                                               \
    X(dispatch_borrowed_timed)                                                                                         \
    X(dispatch_borrowed_into)                                                                                          \
    X(dispatch_batched_into)                                                                                           \
    X(dispatch_persistent_into)                                                                                        \
    X(dispatch_persistent_batched_into)                                                                                \
    X(dispatch_persistent_rows_into)                                                                                   \
    X(serialize)                                                                                                       \
    X(serialize_later)                                                                                                 \
    X(destroy)
typedef enum fake_entry {
#define X(name) FAKE_##name,
    FAKE_ENTRIES(X)
#undef X
#define X(name) FAKE_PIPELINE_##name,
        FAKE_PIPELINE_ENTRIES(X)
#undef X
            FAKE_COUNT
} fake_entry;

typedef enum fake_sin {
    FAKE_HONEST,
    FAKE_FEWER_OUTPUTS,
    FAKE_MORE_OUTPUTS,
    FAKE_SHORT_OUTPUT,
    FAKE_LONG_OUTPUT,
    FAKE_NO_MEMORY_BEHIND_BYTES,
    FAKE_OTHER_LIST,
    FAKE_UNKNOWN_STATUS,
    FAKE_TRAP_OUTSIDE,
    FAKE_SAME_HANDLE,
    FAKE_SIN_COUNT
} fake_sin;

/* What the last dispatch entry was given. */
typedef struct fake_seen {
    vyre_program *program;
    vyre_scalar params[4];
    size_t param_count;
    uint64_t elements[8];
    size_t buffer_count, input_count;
    uint32_t groups[3], grid_buffer, grid_offset;
    uint64_t deadline_ns;
    char label[32];
    const void *first_input;
    size_t first_input_size;
    uint64_t first_native, first_offset, first_size;
    size_t launches; /* of a batch or sequence */
} fake_seen;

typedef struct fake {
    vyre_backend_vtable table;
    vyre_pipeline_vtable pipeline_table; /* of every pipeline it compiles */
    vyre_backend_instance real;
    _Atomic unsigned calls[FAKE_COUNT];
    fake_entry fail_entry;
    unsigned fail_at; /* 1 = the first; 0 = never */
    vyre_status fail_with;
    int fail_silently; /* without filling the error */
    fake_sin sin;
    _Atomic int is_lost;
    _Atomic unsigned hang_ms;
    int hangs_after;
    uint64_t can_cancel;
    uint64_t no_grid_sync;
    uint64_t reads_grids;                    /* in resident buffers: the capability */
    _Atomic uint64_t grid_limit, grid_bound; /* of a pipeline; before there is one (0: the same) */
    uint64_t most_groups;                    /* 0 = as many as the reference */
    uint64_t last_native;
    uint64_t natives[64]; /* handed out; those still there are freed at the end, as a device would with its context */
    fake_seen seen;
    int is_shared;              /* by several threads: nothing is recorded but counts */
    int gives_no_pipelines;     /* compile succeeds and leaves the table NULL */
    int refuses_binaries;       /* load fails */
    const char *identity;       /* NULL: "fake device" */
    int cancellable;            /* of the last compile or load */
    uint64_t compile_deadline;  /* likewise */
    _Atomic unsigned pipelines; /* there now */
    unsigned compile_ms;
    int is_silent_about_items; /* does not report which item of a batch failed */
    struct fake_pipeline *last_pipeline;
    _Atomic int *destroyed;
} fake;

/* Counts the call; returns the status it has to fail with, or VYRE_OK. */
static inline vyre_status fake_enter(fake *f, fake_entry entry, vyre_error *error) {
    unsigned call = atomic_fetch_add(&f->calls[entry], 1) + 1;
    if (!f->fail_at || f->fail_entry != entry || call != f->fail_at)
        return VYRE_OK;
    if (error && !f->fail_silently)
        (vy_host_services.fail)(error, f->fail_with, "do not ask for a failure", "the fake fails as asked");
    return f->fail_with;
}

static inline void fake_see(fake *f, const vyre_launch *launch) {
    fake_seen *s = &f->seen;
    if (f->is_shared)
        return;
    memset(s, 0, sizeof *s);
    s->program = launch->program;
    s->param_count = launch->param_count;
    s->buffer_count = launch->buffer_count;
    for (size_t i = 0; i < launch->param_count && i < 4; i++)
        s->params[i] = launch->params[i];
    for (size_t i = 0; i < launch->buffer_count && i < 8; i++)
        s->elements[i] = launch->elements[i];
    memcpy(s->groups, launch->groups, sizeof s->groups);
    s->grid_buffer = launch->grid_buffer, s->grid_offset = launch->grid_offset;
    s->deadline_ns = launch->deadline_ns;
    snprintf(s->label, sizeof s->label, "%s", launch->label);
}

static inline vyre_status fake_sinning(fake *f, const vyre_launch *launch, vyre_outputs *outputs, vyre_status status,
                                       vyre_error *error) {
    static vyre_bytes other[300];
    if (f->sin == FAKE_FEWER_OUTPUTS)
        outputs->count--;
    if (f->sin == FAKE_MORE_OUTPUTS)
        outputs->count++;
    if (f->sin == FAKE_SHORT_OUTPUT)
        vy_host_services.bytes_resize(&outputs->items[0], outputs->items[0].size - 1, error);
    if (f->sin == FAKE_LONG_OUTPUT)
        vy_host_services.bytes_resize(&outputs->items[0], outputs->items[0].size + 4096, error);
    if (f->sin == FAKE_NO_MEMORY_BEHIND_BYTES) {
        vyre_bytes_free(&outputs->items[0]);
        outputs->items[0].size = 4 * launch->elements[0];
    }
    if (f->sin == FAKE_OTHER_LIST)
        outputs->items = other;
    if (f->sin == FAKE_UNKNOWN_STATUS)
        return (vyre_status)12345;
    if (f->sin == FAKE_TRAP_OUTSIDE) {
        launch->trap->invocation = UINT64_MAX;
        return (vy_host_services.fail)(error, VYRE_TRAPPED, NULL, "a trap nowhere");
    }
    return status;
}

/* Before the work, or after it. */
static inline void fake_hang(fake *f, int is_after) {
    if (f->hang_ms && f->hangs_after == is_after)
        usleep(f->hang_ms * 1000);
}

static const char *fake_id(void *self) {
    fake_enter(self, FAKE_id, NULL);
    return "fake";
}

static vyre_status fake_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                                 vyre_outputs *outputs, vyre_error *error) {
    fake *f = self;
    fake_see(f, launch);
    if (!f->is_shared) {
        f->seen.input_count = count;
        f->seen.first_input = count ? inputs[0].data : NULL;
        f->seen.first_input_size = count ? inputs[0].size : 0;
    }
    vyre_status status = fake_enter(f, FAKE_dispatch, error);
    fake_hang(f, 0);
    if (status == VYRE_OK)
        status = f->real.vtable->dispatch(f->real.self, launch, inputs, count, outputs, error);
    fake_hang(f, 1);
    return status == VYRE_OK ? fake_sinning(f, launch, outputs, status, error) : status;
}

static inline vyre_status fake_spans(fake *f, fake_entry entry, const vyre_launch *launch, const vyre_span *inputs,
                                     size_t count, vyre_outputs *outputs, vyre_error *error) {
    fake_see(f, launch);
    if (!f->is_shared) {
        f->seen.input_count = count;
        f->seen.first_input = count ? inputs[0].data : NULL;
        f->seen.first_input_size = count ? inputs[0].size : 0;
    }
    vyre_status status = fake_enter(f, entry, error);
    fake_hang(f, 0);
    if (status == VYRE_OK)
        status = f->real.vtable->dispatch_borrowed(f->real.self, launch, inputs, count, outputs, error);
    fake_hang(f, 1);
    return status == VYRE_OK ? fake_sinning(f, launch, outputs, status, error) : status;
}

static vyre_status fake_dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                                          vyre_outputs *outputs, vyre_error *error) {
    return fake_spans(self, FAKE_dispatch_borrowed, launch, inputs, count, outputs, error);
}

static vyre_status fake_dispatch_borrowed_timed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                                size_t count, vyre_outputs *outputs, vyre_timing *timing,
                                                vyre_error *error) {
    *timing = (vyre_timing){.wall_ns = 7, .present = VYRE_TIMED_DEVICE, .device_ns = 5};
    return fake_spans(self, FAKE_dispatch_borrowed_timed, launch, inputs, count, outputs, error);
}

static vyre_status fake_dispatch_borrowed_into(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                               size_t count, vyre_outputs *outputs, vyre_error *error) {
    return fake_spans(self, FAKE_dispatch_borrowed_into, launch, inputs, count, outputs, error);
}

static const char *fake_version(void *self) {
    fake_enter(self, FAKE_version, NULL);
    return "7.8";
}

static const char *const *fake_supported_ops(void *self, size_t *count) {
    fake_enter(self, FAKE_supported_ops, NULL);
    return vy_all_ops(count);
}

static vyre_status fake_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    fake *f = self;
    vyre_status status = fake_enter(f, FAKE_resident_allocate, error);
    if (status == VYRE_OK && f->sin == FAKE_SAME_HANDLE && f->last_native) {
        *native = f->last_native;
        return VYRE_OK;
    }
    if (status == VYRE_OK)
        status = f->real.vtable->resident_allocate(f->real.self, size, native, error);
    if (f->is_shared)
        return status;
    f->last_native = *native;
    for (int i = 0; status == VYRE_OK && i < 64; i++)
        if (!f->natives[i]) {
            f->natives[i] = *native;
            break;
        }
    return status;
}

static vyre_status fake_resident_free(void *self, uint64_t native, vyre_error *error) {
    fake *f = self;
    vyre_status status = fake_enter(f, FAKE_resident_free, error);
    for (int i = 0; !f->is_shared && i < 64; i++)
        if (f->natives[i] == native)
            f->natives[i] = 0;
    vyre_status real = f->real.vtable->resident_free(f->real.self, native, error);
    return status == VYRE_OK ? real : status;
}

static vyre_status fake_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                        vyre_error *error) {
    fake *f = self;
    if (!f->is_shared)
        f->seen.first_native = native, f->seen.first_offset = offset, f->seen.first_size = size,
        f->seen.first_input = data;
    vyre_status status = fake_enter(f, FAKE_resident_upload, error);
    return status == VYRE_OK ? f->real.vtable->resident_upload(f->real.self, native, offset, data, size, error)
                             : status;
}

static vyre_status fake_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                          vyre_error *error) {
    fake *f = self;
    if (!f->is_shared)
        f->seen.first_native = native, f->seen.first_offset = offset, f->seen.first_size = size,
        f->seen.first_input = data;
    vyre_status status = fake_enter(f, FAKE_resident_download, error);
    return status == VYRE_OK ? f->real.vtable->resident_download(f->real.self, native, offset, data, size, error)
                             : status;
}

static vyre_status fake_resident_upload_batch(void *self, const vyre_transfer *transfers, size_t count,
                                              vyre_error *error) {
    fake *f = self;
    vyre_status status = fake_enter(f, FAKE_resident_upload_batch, error);
    for (size_t i = 0; i < count && status == VYRE_OK; i++)
        status = f->real.vtable->resident_upload(f->real.self, transfers[i].resident.id, transfers[i].offset,
                                                 transfers[i].host, transfers[i].size, error);
    return status;
}

static vyre_status fake_resident_download_batch(void *self, const vyre_transfer *transfers, size_t count,
                                                vyre_error *error) {
    fake *f = self;
    vyre_status status = fake_enter(f, FAKE_resident_download_batch, error);
    for (size_t i = 0; i < count && status == VYRE_OK; i++)
        status = f->real.vtable->resident_download(f->real.self, transfers[i].resident.id, transfers[i].offset,
                                                   transfers[i].host, transfers[i].size, error);
    return status;
}

static vyre_status fake_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                          size_t count, vyre_timing *timing, vyre_error *error) {
    fake *f = self;
    fake_see(f, launch);
    if (!f->is_shared) {
        f->seen.input_count = count;
        f->seen.first_native = count ? bindings[0].resident.id : 0;
        f->seen.first_offset = count ? bindings[0].offset : 0;
        f->seen.first_size = count ? bindings[0].size : 0;
    }
    vyre_status status = fake_enter(f, FAKE_dispatch_resident, error);
    fake_hang(f, 0);
    if (status == VYRE_OK)
        status = f->real.vtable->dispatch_resident(f->real.self, launch, bindings, count, timing, error);
    fake_hang(f, 1);
    return status;
}

static uint64_t fake_capability(void *self, vyre_capability capability) {
    fake *f = self;
    fake_enter(f, FAKE_capability, NULL);
    if (capability == VYRE_CAPABILITY_CANCEL)
        return f->can_cancel;
    if (capability == VYRE_CAPABILITY_GRID_SYNC && f->no_grid_sync)
        return 0;
    if (capability == VYRE_CAPABILITY_INDIRECT_DISPATCH)
        return f->reads_grids;
    if (capability == VYRE_CAPABILITY_MAX_WORKGROUPS && f->most_groups)
        return f->most_groups;
    return f->real.vtable->capability(f->real.self, capability);
}

static uint64_t fake_grid_sync_limit(void *self, const vyre_program *program, void *pipeline) {
    fake *f = self;
    uint64_t limit = atomic_load(&f->grid_limit), bound = atomic_load(&f->grid_bound);
    (void)program;
    fake_enter(f, FAKE_grid_sync_limit, NULL);
    return pipeline || !bound ? limit : bound;
}

static void fake_device_profile(void *self, vyre_device_profile *profile) {
    fake_enter(self, FAKE_device_profile, NULL);
    profile->device = "made up";
    profile->compute_units = 3;
}

static vyre_status fake_prepare(void *self, vyre_program *program, vyre_error *error) {
    (void)program;
    return fake_enter(self, FAKE_prepare, error);
}

static vyre_status fake_flush(void *self, vyre_error *error) {
    return fake_enter(self, FAKE_flush, error);
}

static vyre_status fake_shutdown(void *self, vyre_error *error) {
    if (atomic_load(&((fake *)self)->pipelines))
        fail_msg("the backend is shut down before its pipelines are destroyed");
    return fake_enter(self, FAKE_shutdown, error);
}

static int fake_device_lost(void *self) {
    fake *f = self;
    fake_enter(f, FAKE_device_lost, NULL);
    return atomic_load(&f->is_lost);
}

static vyre_status fake_try_recover(void *self, vyre_error *error) {
    fake *f = self;
    vyre_status status = fake_enter(f, FAKE_try_recover, error);
    if (status == VYRE_OK)
        atomic_store(&f->is_lost, 0);
    return status;
}

static void fake_destroy(void *self) {
    fake *f = self;
    fake_enter(f, FAKE_destroy, NULL);
    _Atomic int *destroyed = f->destroyed;
    for (int i = 0; i < 64; i++)
        if (f->natives[i])
            f->real.vtable->resident_free(f->real.self, f->natives[i], NULL);
    f->real.vtable->destroy(f->real.self);
    free(f);
    if (destroyed)
        atomic_fetch_add(destroyed, 1);
}

#include "driver/fake_pipeline.h"

/* A fake with every entry; remove some from f->table, then fake_open. Its memory is the C library's, the reference's is
 * not: NULL when that is out. */
static inline fake *fake_new_or_null(void) {
    vyre_error error;
    fake *f = calloc(1, sizeof *f);
    assert_non_null(f);
    if (vy_reference_create(&vy_host_services, 0, &f->real, &error) != VYRE_OK) {
        free(f);
        return NULL;
    }
    f->table.struct_size = sizeof f->table;
    f->table.abi = VYRE_BACKEND_ABI;
#define X(name) f->table.name = fake_##name;
    FAKE_ENTRIES(X)
#undef X
    f->pipeline_table.struct_size = sizeof f->pipeline_table;
#define X(name) f->pipeline_table.name = fake_pipeline_##name;
    FAKE_PIPELINE_ENTRIES(X)
#undef X
    f->fail_with = VYRE_NO_DEVICE_MEMORY;
    return f;
}

static inline fake *fake_new(void) {
    fake *f = fake_new_or_null();
    assert_non_null(f);
    return f;
}

/* The backend owns the fake. */
static inline vyre_backend *fake_open(fake *f) {
    vyre_backend_instance instance = {&f->table, f};
    vyre_backend *backend = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_backend_wrap(&instance, &backend, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return backend;
}

/* ---- a program and its arguments ---- */

/* out[i] = x[i] * k + 1; x keeps counting up: both forms of output. */
static const char *const fake_text =
    "program p {\n param k : u32\n buffer x : u32 read_write\n buffer out : u32 write count len(x)\n"
    "workgroup 4\n grid over x\n let i = global_id.x\n if i < len(x) { out[i] = x[i] * k + 1; x[i] = x[i] + 1 } }";
enum { FAKE_N = 10 };

typedef struct fake_case {
    vyre_module *module;
    vyre_program *program;
    uint32_t x[FAKE_N];
    vyre_scalar params[1];
    vyre_span inputs[1];
    vyre_arguments arguments;
} fake_case;

static inline vyre_program *fake_parse(const char *text, vyre_module **module) {
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, module, &error) != VYRE_OK)
        fail_msg("%s\n%s", error.message, text);
    return vyre_module_program(*module, 0);
}

static inline void fake_case_open(fake_case *c) {
    c->program = fake_parse(fake_text, &c->module);
    for (uint32_t i = 0; i < FAKE_N; i++)
        c->x[i] = i * 3;
    c->params[0] = (vyre_scalar){VYRE_TYPE_U32, 5};
    c->inputs[0] = (vyre_span){c->x, sizeof c->x};
    c->arguments = (vyre_arguments){.params = c->params, .param_count = 1, .inputs = c->inputs, .input_count = 1};
}

static inline void fake_case_close(fake_case *c) {
    vyre_module_free(c->module);
}

static inline void fake_case_check(const fake_case *c, const vyre_outputs *outputs) {
    assert_int_equal(outputs->count, 2);
    assert_int_equal(outputs->items[0].size, sizeof c->x);
    assert_int_equal(outputs->items[1].size, sizeof c->x);
    for (uint32_t i = 0; i < FAKE_N; i++) {
        assert_int_equal(((uint32_t *)outputs->items[0].data)[i], c->x[i] + 1);
        assert_int_equal(((uint32_t *)outputs->items[1].data)[i], c->x[i] * 5 + 1);
    }
}

/* The four forms from host bytes, by number. */
enum { FAKE_FORMS = 4 };
static inline vyre_status fake_run(int form, vyre_backend *backend, vyre_program *program,
                                   const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                   vyre_outputs *outputs, vyre_trap *trap, vyre_error *error) {
    vyre_bytes owned[64];
    vyre_timing timing;
    if (form == 0)
        return vyre_backend_dispatch(backend, program, arguments, config, outputs, trap, error);
    if (form == 1)
        return vyre_backend_dispatch_timed(backend, program, arguments, config, outputs, &timing, trap, error);
    if (form == 2)
        return vyre_backend_dispatch_into(backend, program, arguments, config, outputs, trap, error);
    for (size_t i = 0; i < arguments->input_count && i < 64; i++)
        owned[i] =
            (vyre_bytes){(void *)arguments->inputs[i].data, arguments->inputs[i].size, arguments->inputs[i].size};
    return vyre_backend_dispatch_owned(backend, program, owned, arguments->input_count, arguments, config, outputs,
                                       trap, error);
}

#endif
