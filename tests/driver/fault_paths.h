/* Every path of a program to a backend, run sequentially on the fault backend (fault_plugin.h). Each path allocates its
 * resources, checks the results and frees everything, whatever fails: the bytes are correct, or an error reports the
 * failure. */
#ifndef VY_TESTS_DRIVER_FAULT_ROADS_H
#define VY_TESTS_DRIVER_FAULT_ROADS_H

#include "base/memory.h"
#include "driver/fault_plugin.h"
#include "support/test.h"
#include "vyre/emit.h"
#include "vyre/interop.h"
#include "vyre/pipeline.h"
#include "vyre/telemetry.h"
#include "vyre/text.h"

#include <dlfcn.h>
#include <unistd.h>

enum { FAULT_PATH_N = 6 };

/* Four buffers, so that rows of four fit; the second program has a grid barrier, which the fault backend lacks. */
static const char fault_paths_text[] =
    "program p {\n param k : u32\n buffer a : u32 read\n buffer b : u32 read\n buffer x : u32 read_write\n"
    "buffer out : u32 write count len(x)\n workgroup 4\n grid over x\n let i = global_id.x\n"
    "if i < len(x) { if k == 99 { trap 7 }\n out[i] = x[i] * k + a[i] + b[i]; x[i] = x[i] + 1 } }";
static const char fault_paths_staged_text[] =
    "program s {\n param k : u32\n buffer a : u32 read\n buffer b : u32 read\n buffer x : u32 read_write\n"
    "buffer out : u32 write count len(x)\n workgroup 4\n grid over x\n let i = global_id.x\n grid_barrier\n"
    "if i < len(x) { out[i] = x[i] * k + a[i] + b[i]; x[i] = x[i] + 1 } }";

typedef struct roads {
    vyre_module *modules[2];
    vyre_program *programs[2]; /* plain, staged */
    vyre_backend *backend;
    vyre_scalar k;
    uint32_t a[FAULT_PATH_N], b[FAULT_PATH_N], x[FAULT_PATH_N];
    vyre_span inputs[3];
    vyre_arguments arguments;
    vyre_dispatch_config config;
    int is_honest;   /* nothing may fail */
    vyre_trap trap;  /* what dispatches fill */
    unsigned failed; /* roads that ended with an error */
    vyre_status last;
    _Atomic int released; /* memory that was wrapped, and given back */
} roads;

/* ---- the plug-in ---- */

static inline const char *fault_paths_plugin(void) {
    static char path[1024];
    const char *folder = getenv("VYRE_BINARY_DIR");
    snprintf(path, sizeof path, "%s/plugins/fault.so", folder ? folder : VYRE_BINARY_DIR);
    return path;
}

/* Loads the plug-in as a user would; NULL if it is not here. */
static inline fault_control *fault_paths_load(void) {
    vyre_error error = VYRE_ERROR_INIT;
    if (access(fault_paths_plugin(), R_OK) != 0)
        return NULL;
    if (vyre_plugin_load(fault_paths_plugin(), &error) != VYRE_OK)
        fail_msg("%s", error.message);
    void *handle = dlopen(fault_paths_plugin(), RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(handle);
    fault_control *control = dlsym(handle, FAULT_CONTROL_SYMBOL);
    assert_non_null(control);
    return control;
}

/* ---- claims ---- */

#define FAULT_PATH_CLAIM(claim)                                                                                        \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim);                                                \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline int fault_path_is_listed(vyre_status status) {
    switch (status) {
#define X(ID, code, fix, doc) case VYRE_##ID:
        VYRE_STATUS_LIST(X)
#undef X
        return 1;
    }
    return 0;
}

/* Notes how a call ended; an error is complete. */
static inline int fault_path_ended(roads *r, vyre_status status, const vyre_error *error) {
    r->last = status;
    if (status == VYRE_OK)
        return 1;
    if (r->is_honest)
        fprintf(stderr, "%s: %s\n", vyre_status_name(status), error->message);
    FAULT_PATH_CLAIM(!r->is_honest);
    FAULT_PATH_CLAIM(fault_path_is_listed(status));
    FAULT_PATH_CLAIM(error->code == status);
    FAULT_PATH_CLAIM(memchr(error->message, 0, sizeof error->message) && error->message[0]);
    FAULT_PATH_CLAIM(memchr(error->fix, 0, sizeof error->fix) && error->fix[0]);
    FAULT_PATH_CLAIM(memchr(error->where, 0, sizeof error->where));
    FAULT_PATH_CLAIM(status != VYRE_TRAPPED || r->trap.invocation < 2 * 4); /* filled, and inside the grid */
    r->trap.invocation = UINT64_MAX;
    r->failed++;
    return 0;
}

static inline void fault_path_check_bytes(const roads *r, const vyre_bytes *x, const vyre_bytes *out) {
    if (x) {
        FAULT_PATH_CLAIM(x->size == sizeof r->x);
        for (uint32_t i = 0; i < FAULT_PATH_N; i++)
            FAULT_PATH_CLAIM(((const uint32_t *)x->data)[i] == r->x[i] + 1);
    }
    FAULT_PATH_CLAIM(out->size == sizeof r->x);
    for (uint32_t i = 0; i < FAULT_PATH_N; i++)
        FAULT_PATH_CLAIM(((const uint32_t *)out->data)[i] == r->x[i] * 5 + r->a[i] + r->b[i]);
}

/* Outputs with something in them from before: one slot of four bytes. */
static inline int fault_path_old(vyre_outputs *outputs) {
    vyre_error error;
    vyre_bytes *items = vy_allocate_zero(2 * sizeof *items);
    *outputs = (vyre_outputs){items, items != NULL, items ? 2 : 0};
    if (!items || vyre_bytes_resize(&items[0], 4, &error) != VYRE_OK)
        return 0;
    memset(items[0].data, 0xee, 4);
    return 1;
}

/* Correct bytes, or unchanged outputs (`in_place` may leave the list empty). */
static inline void fault_path_check(roads *r, vyre_status status, const vyre_error *error, vyre_outputs *outputs,
                                    int in_place) {
    static const unsigned char old[4] = {0xee, 0xee, 0xee, 0xee};
    if (fault_path_ended(r, status, error)) {
        FAULT_PATH_CLAIM(outputs->count == 2);
        fault_path_check_bytes(r, &outputs->items[0], &outputs->items[1]);
    } else if (!in_place || outputs->count) {
        FAULT_PATH_CLAIM(outputs->count == 1);
        FAULT_PATH_CLAIM(outputs->items[0].size == 4 && memcmp(outputs->items[0].data, old, 4) == 0);
    }
    vyre_outputs_free(outputs);
}

/* ---- dispatch ---- */

static inline vyre_bytes *fault_path_owned(const roads *r, vyre_bytes owned[3]) {
    for (int i = 0; i < 3; i++)
        owned[i] = (vyre_bytes){(void *)r->inputs[i].data, r->inputs[i].size, r->inputs[i].size};
    return owned;
}

static inline void fault_path_dispatch_program(roads *r, vyre_program *program) {
    vyre_outputs outputs;
    vyre_error error;
    vyre_timing timing;
    vyre_bytes owned[3];
    if (fault_path_old(&outputs))
        fault_path_check(
            r, vyre_backend_dispatch(r->backend, program, &r->arguments, &r->config, &outputs, &r->trap, &error),
            &error, &outputs, 0);
    if (fault_path_old(&outputs))
        fault_path_check(r,
                         vyre_backend_dispatch_timed(r->backend, program, &r->arguments, &r->config, &outputs, &timing,
                                                     &r->trap, &error),
                         &error, &outputs, 0);
    if (fault_path_old(&outputs))
        fault_path_check(
            r, vyre_backend_dispatch_into(r->backend, program, &r->arguments, &r->config, &outputs, &r->trap, &error),
            &error, &outputs, 1);
    if (fault_path_old(&outputs))
        fault_path_check(r,
                         vyre_backend_dispatch_owned(r->backend, program, fault_path_owned(r, owned), 3, &r->arguments,
                                                     &r->config, &outputs, &r->trap, &error),
                         &error, &outputs, 0);
}

static inline void fault_path_dispatch(roads *r) {
    fault_path_dispatch_program(r, r->programs[0]);
}

static inline void fault_path_multi_launch(roads *r) {
    fault_path_dispatch_program(r, r->programs[1]);
}

/* A trap of the program itself: where it was, or another error. */
static inline void fault_path_trap(roads *r) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_trap trap = {12345, 0};
    vyre_error error;
    vyre_scalar k = {VYRE_TYPE_U32, 99};
    vyre_arguments arguments = r->arguments;
    arguments.params = &k;
    vyre_status status =
        vyre_backend_dispatch(r->backend, r->programs[0], &arguments, &r->config, &outputs, &trap, &error);
    FAULT_PATH_CLAIM(status != VYRE_OK);
    FAULT_PATH_CLAIM(outputs.count == 0);
    if (status == VYRE_TRAPPED)
        FAULT_PATH_CLAIM(trap.invocation == 0 && trap.code == 7);
    else
        fault_path_ended(r, status, &error);
    vyre_outputs_free(&outputs);
}

/* ---- resident ---- */

/* a, b, x with their bytes and out with zeros; null handles if the allocation failed. */
typedef struct fault_path_set {
    vyre_resident handles[4];
    vyre_resource bindings[4];
} fault_path_set;

static inline int fault_path_set_open(roads *r, fault_path_set *set) {
    const void *sources[4] = {r->a, r->b, r->x, NULL};
    vyre_error error;
    int is_whole = 1;
    memset(set, 0, sizeof *set);
    for (int i = 0; i < 4; i++) {
        is_whole &= fault_path_ended(
            r, vyre_resident_allocate(r->backend, sizeof r->x, sources[i], &set->handles[i], &error), &error);
        set->bindings[i] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = set->handles[i]};
    }
    /* A failed allocation leaves the others unchanged. */
    for (int i = 0; i < 3 && !is_whole; i++) {
        uint32_t got[FAULT_PATH_N];
        if (set->handles[i].id &&
            vyre_resident_download_at(r->backend, set->handles[i], 0, got, sizeof got, &error) == VYRE_OK)
            FAULT_PATH_CLAIM(memcmp(got, sources[i], sizeof got) == 0);
    }
    return is_whole;
}

static inline void fault_path_set_close(roads *r, fault_path_set *set) {
    vyre_error error;
    for (int i = 0; i < 4; i++)
        if (set->handles[i].id)
            fault_path_ended(r, vyre_resident_free(r->backend, set->handles[i], &error), &error);
}

/* Whether the device contents are correct, if they can be read. */
static inline void fault_path_set_check(roads *r, const fault_path_set *set) {
    vyre_bytes x = VYRE_BYTES_INIT, out = VYRE_BYTES_INIT;
    vyre_error error;
    if (fault_path_ended(r, vyre_resident_download(r->backend, set->handles[2], &x, &error), &error) &&
        fault_path_ended(r, vyre_resident_download(r->backend, set->handles[3], &out, &error), &error))
        fault_path_check_bytes(r, &x, &out);
    vyre_bytes_free(&x);
    vyre_bytes_free(&out);
}

static inline void fault_path_resident_program(roads *r, vyre_program *program) {
    fault_path_set set;
    vyre_timing timing;
    vyre_error error;
    if (fault_path_set_open(r, &set) &&
        fault_path_ended(r,
                         vyre_backend_dispatch_resident(r->backend, program, set.bindings, 4, &r->arguments, &r->config,
                                                        &timing, &r->trap, &error),
                         &error))
        fault_path_set_check(r, &set);
    fault_path_set_close(r, &set);
}

static inline void fault_path_resident(roads *r) {
    fault_path_resident_program(r, r->programs[0]);
    fault_path_resident_program(r, r->programs[1]);
}

static inline void fault_path_transfers(roads *r) {
    fault_path_set set;
    vyre_error error;
    uint32_t words[2] = {7, 8}, got[2] = {0, 0};
    if (fault_path_set_open(r, &set)) {
        vyre_transfer up[2] = {{set.handles[3], 0, 4, &words[0]}, {set.handles[3], 8, 4, &words[1]}};
        vyre_transfer down[2] = {{set.handles[3], 0, 4, &got[0]}, {set.handles[3], 8, 4, &got[1]}};
        if (fault_path_ended(r, vyre_resident_upload_batch(r->backend, up, 2, &error), &error) &&
            fault_path_ended(r, vyre_resident_download_batch(r->backend, down, 2, &error), &error))
            FAULT_PATH_CLAIM(got[0] == 7 && got[1] == 8);
        if (fault_path_ended(r, vyre_resident_upload_at(r->backend, set.handles[3], 4, words, 8, &error), &error) &&
            fault_path_ended(r, vyre_resident_download_at(r->backend, set.handles[3], 4, got, 8, &error), &error))
            FAULT_PATH_CLAIM(got[0] == 7 && got[1] == 8);
        if (fault_path_ended(r, vyre_resident_upload(r->backend, set.handles[0], r->x, sizeof r->x, &error), &error)) {
            vyre_bytes bytes = VYRE_BYTES_INIT;
            if (fault_path_ended(r, vyre_resident_download(r->backend, set.handles[0], &bytes, &error), &error))
                FAULT_PATH_CLAIM(bytes.size == sizeof r->x && memcmp(bytes.data, r->x, sizeof r->x) == 0);
            vyre_bytes_free(&bytes);
        }
        /* Foreign bytes were not modified. */
        if (fault_path_ended(r, vyre_resident_download_at(r->backend, set.handles[1], 0, got, 8, &error), &error))
            FAULT_PATH_CLAIM(memcmp(got, r->b, 8) == 0);
    }
    fault_path_set_close(r, &set);
}

/* ---- memory of others ---- */

static inline void fault_path_release(void *user) {
    atomic_fetch_add((_Atomic int *)user, 1); /* another thread may recover the backend */
}

/* Wrapped, exported, read, and given back: once, now or when the backend ends. */
static inline void fault_path_foreign(roads *r) {
    vyre_error error;
    vyre_resident handle;
    vyre_memory_location location;
    uint32_t got[FAULT_PATH_N];
    int before = r->released;
    vyre_foreign foreign = {.struct_size = sizeof foreign,
                            .is_read_only = 1,
                            .location = {VYRE_LOCATION_HOST, 0, (uintptr_t)r->a},
                            .size = sizeof r->a,
                            .release = fault_path_release,
                            .user = &r->released};
    fault_path_ended(r, vyre_stream_join(r->backend, NULL, &error), &error);
    if (!fault_path_ended(r, vyre_resident_wrap(r->backend, &foreign, &handle, &error), &error)) {
        FAULT_PATH_CLAIM(r->released == before);
        return;
    }
    if (fault_path_ended(r, vyre_resident_export(r->backend, handle, &location, &error), &error)) {
        FAULT_PATH_CLAIM(vyre_resident_free(r->backend, handle, NULL) != VYRE_OK);
        fault_path_ended(r, vyre_resident_unexport(r->backend, handle, &error), &error); /* others may have recovered */
    }
    if (fault_path_ended(r, vyre_resident_download_at(r->backend, handle, 0, got, sizeof got, &error), &error))
        FAULT_PATH_CLAIM(memcmp(got, r->a, sizeof got) == 0);
    int is_free = fault_path_ended(r, vyre_resident_free(r->backend, handle, &error), &error);
    FAULT_PATH_CLAIM(r->released - before <= 1 && (!is_free || r->released - before == 1));
}

/* ---- asynchronous ---- */

enum { FAULT_PATH_SECONDS = 1000000000 };

static inline void fault_path_take(roads *r, vyre_pending *pending) {
    vyre_outputs outputs;
    vyre_error error;
    if (fault_path_old(&outputs))
        fault_path_check(r, vyre_pending_wait(pending, 20ull * FAULT_PATH_SECONDS, &outputs, &r->trap, &error), &error,
                         &outputs, 0);
    vyre_pending_free(pending);
}

static inline void fault_path_async(roads *r) {
    vyre_pending *pending;
    vyre_bytes owned[3];
    vyre_error error;
    for (int staged = 0; staged < 2; staged++)
        if (fault_path_ended(r,
                             vyre_backend_dispatch_async(r->backend, r->programs[staged], &r->arguments, &r->config,
                                                         &pending, &error),
                             &error)) {
            vyre_pending_is_ready(pending);
            fault_path_take(r, pending);
        }
    if (fault_path_ended(r,
                         vyre_backend_dispatch_owned_async(r->backend, r->programs[0], fault_path_owned(r, owned), 3,
                                                           &r->arguments, &r->config, &pending, &error),
                         &error))
        fault_path_take(r, pending);
    /* One is cancelled, one is freed immediately. */
    for (int freed = 0; freed < 2; freed++)
        if (fault_path_ended(
                r, vyre_backend_dispatch_async(r->backend, r->programs[0], &r->arguments, &r->config, &pending, &error),
                &error)) {
            vyre_outputs outputs = VYRE_OUTPUTS_INIT;
            if (!freed) {
                vyre_pending_cancel(pending);
                if (vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, &error) == VYRE_OK) /* it was done before */
                    fault_path_check_bytes(r, &outputs.items[0], &outputs.items[1]);
                else
                    FAULT_PATH_CLAIM(outputs.count == 0);
                vyre_outputs_free(&outputs);
            }
            vyre_pending_free(pending);
        }
}

static inline void fault_path_completions(roads *r) {
    vyre_completions *queue;
    vyre_pending *pending;
    vyre_error error;
    uint64_t tag;
    if (!fault_path_ended(r, vyre_completions_new(&queue, &error), &error))
        return;
    for (uint64_t i = 0; i < 3; i++)
        if (fault_path_ended(
                r, vyre_backend_dispatch_async(r->backend, r->programs[0], &r->arguments, &r->config, &pending, &error),
                &error))
            FAULT_PATH_CLAIM(vyre_completions_attach(queue, pending, i, &error) == VYRE_OK);
    while (vyre_completions_next(queue, 20ull * FAULT_PATH_SECONDS, &pending, &tag, &error) == VYRE_OK)
        fault_path_take(r, pending);
    FAULT_PATH_CLAIM(error.code == VYRE_NOT_FOUND);
    vyre_completions_free(queue);
}

/* ---- pipelines ---- */

static inline void fault_path_pipeline_host(roads *r, vyre_pipeline *pipeline) {
    vyre_outputs outputs, many[2];
    vyre_error error;
    vyre_timing timing;
    vyre_bytes owned[3];
    vyre_pending *pending;
    size_t failed = 77;
    vyre_arguments twice[2] = {r->arguments, r->arguments};
    if (fault_path_old(&outputs))
        fault_path_check(r, vyre_pipeline_dispatch(pipeline, &r->arguments, &r->config, &outputs, &r->trap, &error),
                         &error, &outputs, 0);
    if (fault_path_old(&outputs))
        fault_path_check(
            r, vyre_pipeline_dispatch_timed(pipeline, &r->arguments, &r->config, &outputs, &timing, &r->trap, &error),
            &error, &outputs, 0);
    if (fault_path_old(&outputs))
        fault_path_check(r,
                         vyre_pipeline_dispatch_into(pipeline, &r->arguments, &r->config, &outputs, &r->trap, &error),
                         &error, &outputs, 1);
    if (fault_path_old(&outputs))
        fault_path_check(r,
                         vyre_pipeline_dispatch_owned(pipeline, fault_path_owned(r, owned), 3, &r->arguments,
                                                      &r->config, &outputs, &r->trap, &error),
                         &error, &outputs, 0);
    if (fault_path_ended(r, vyre_pipeline_dispatch_async(pipeline, &r->arguments, &r->config, &pending, &error),
                         &error))
        fault_path_take(r, pending);
    memset(many, 0, sizeof many);
    if (fault_path_ended(
            r, vyre_pipeline_dispatch_batch(pipeline, twice, 2, &r->config, many, &failed, &r->trap, &error), &error))
        for (int i = 0; i < 2; i++)
            fault_path_check_bytes(r, &many[i].items[0], &many[i].items[1]);
    else
        FAULT_PATH_CLAIM(failed <= 2);
    for (int i = 0; i < 2; i++)
        vyre_outputs_free(&many[i]);
}

static inline void fault_path_pipeline_bound(roads *r, vyre_pipeline *pipeline) {
    fault_path_set set;
    vyre_error error;
    vyre_timing timing;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT, many[2];
    vyre_resource mixed[4], stay[2], rows[2][4];
    size_t failed = 77;
    const vyre_resource *items[2] = {mixed, mixed};
    int is_whole = fault_path_set_open(r, &set);
    memset(many, 0, sizeof many);
    memcpy(mixed, set.bindings, sizeof mixed);
    mixed[2] = (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = r->inputs[2]};
    mixed[3] = (vyre_resource){.kind = VYRE_RESOURCE_HOST};
    memcpy(rows[0], mixed, sizeof mixed);
    memcpy(rows[1], mixed, sizeof mixed);
    if (is_whole) {
        if (fault_path_ended(r,
                             vyre_pipeline_dispatch_persistent(pipeline, mixed, 4, &r->arguments, &r->config, &outputs,
                                                               &timing, &r->trap, &error),
                             &error))
            fault_path_check_bytes(r, &outputs.items[0], &outputs.items[1]);
        else
            FAULT_PATH_CLAIM(outputs.count == 0);
        for (int way = 0; way < 2; way++) {
            if (fault_path_ended(
                    r,
                    way ? vyre_pipeline_dispatch_rows(pipeline, (const vyre_resource(*)[4])rows, 2, &r->arguments,
                                                      &r->config, many, &failed, &r->trap, &error)
                        : vyre_pipeline_dispatch_persistent_batch(pipeline, items, 4, 2, &r->arguments, &r->config,
                                                                  many, &failed, &r->trap, &error),
                    &error))
                for (int i = 0; i < 2; i++)
                    fault_path_check_bytes(r, &many[i].items[0], &many[i].items[1]);
            else
                FAULT_PATH_CLAIM(failed <= 2);
        }
        if (fault_path_ended(r,
                             vyre_pipeline_dispatch_resident_outputs(pipeline, set.bindings, 4, &r->arguments,
                                                                     &r->config, stay, 2, &r->trap, &error),
                             &error))
            fault_path_set_check(r, &set);
    }
    for (int i = 0; i < 2; i++)
        vyre_outputs_free(&many[i]);
    vyre_outputs_free(&outputs);
    fault_path_set_close(r, &set);
}

static inline void fault_path_sequence(roads *r, vyre_pipeline *pipeline) {
    fault_path_set set;
    vyre_error error;
    vyre_timing timing;
    uint32_t got[FAULT_PATH_N];
    size_t failed = 77;
    if (fault_path_set_open(r, &set)) {
        vyre_step steps[2] = {{pipeline, set.bindings, 4, &r->arguments}, {pipeline, set.bindings, 4, &r->arguments}};
        vyre_readback readback = {set.handles[3], 0, sizeof got, got};
        if (fault_path_ended(
                r,
                vyre_sequence_run(r->backend, steps, 2, &readback, 1, &r->config, &timing, &failed, &r->trap, &error),
                &error))
            for (uint32_t i = 0; i < FAULT_PATH_N; i++)
                FAULT_PATH_CLAIM(got[i] == (r->x[i] + 1) * 5 + r->a[i] + r->b[i]);
        else
            FAULT_PATH_CLAIM(failed <= 2);
    }
    fault_path_set_close(r, &set);
}

/* Compiled twice: the second time it is in the cache, if there is one. */
static inline void fault_path_pipelines(roads *r) {
    vyre_pipeline *pipeline;
    vyre_error error;
    for (int staged = 0; staged < 2; staged++)
        for (int again = 0; again < 2; again++) {
            vyre_status status = vyre_compile(r->backend, r->programs[staged], NULL, &pipeline, &error);
            FAULT_PATH_CLAIM((status == VYRE_OK) == (pipeline != NULL));
            if (!fault_path_ended(r, status, &error))
                continue;
            FAULT_PATH_CLAIM(strncmp(vyre_pipeline_id(pipeline), FAULT_BACKEND_ID ":", 6) == 0);
            if (again) {
                fault_path_pipeline_host(r, pipeline);
                fault_path_pipeline_bound(r, pipeline);
                fault_path_sequence(r, pipeline);
            }
            vyre_pipeline_release(pipeline);
        }
}

/* ---- the rest ---- */

static inline void fault_path_questions(roads *r) {
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_cache_snapshot snapshot;
    size_t count = 0;
    FAULT_PATH_CLAIM(strcmp(vyre_backend_id(r->backend), FAULT_BACKEND_ID) == 0);
    FAULT_PATH_CLAIM(vyre_backend_version(r->backend));
    const char *const *ops = vyre_backend_supported_ops(r->backend, &count);
    FAULT_PATH_CLAIM(ops);
    FAULT_PATH_CLAIM(count == 0 || ops[0]);
    vyre_backend_profile(r->backend, &profile);
    FAULT_PATH_CLAIM(profile.struct_size == sizeof profile);
    FAULT_PATH_CLAIM(strcmp(profile.backend, FAULT_BACKEND_ID) == 0 && profile.device && profile.driver);
    vyre_backend_cache_snapshot(r->backend, &snapshot);
    vyre_numerics_profile numerics = {.struct_size = sizeof numerics};
    vyre_backend_numerics(r->backend, &numerics);
    FAULT_PATH_CLAIM(numerics.struct_size == sizeof numerics && numerics.exact >> VYRE_NUMERIC_COUNT == 0);
}

static inline void fault_path_lifecycle(roads *r) {
    vyre_error error;
    for (int i = 0; i < 2; i++)
        fault_path_ended(r, vyre_backend_prepare(r->backend, r->programs[i], &error), &error);
    fault_path_ended(r, vyre_backend_flush(r->backend, &error), &error);
    vyre_backend_device_lost(r->backend);
}

/* The library cannot judge the code; its bytes can be read. */
static inline void fault_path_emit(roads *r) {
    const vyre_emit_options options = {.struct_size = sizeof options, .backend = r->backend};
    vyre_bytes code = VYRE_BYTES_INIT;
    vyre_error error;
    if (fault_path_ended(r, vyre_emit(r->programs[0], NULL, &options, &code, &error), &error))
        for (size_t i = 0; i < code.size; i++)
            (void)((const volatile char *)code.data)[i];
    else
        FAULT_PATH_CLAIM(code.size == 0);
    vyre_bytes_free(&code);
}

static void (*const fault_path_list[])(roads *) = {fault_path_questions,   fault_path_lifecycle,    fault_path_dispatch,
                                                   fault_path_trap,        fault_path_multi_launch, fault_path_resident,
                                                   fault_path_transfers,   fault_path_foreign,      fault_path_async,
                                                   fault_path_completions, fault_path_pipelines,    fault_path_emit};
enum { FAULT_PATH_COUNT = sizeof fault_path_list / sizeof *fault_path_list };

static inline void fault_paths_drive(roads *r) {
    for (int i = 0; i < FAULT_PATH_COUNT; i++)
        fault_path_list[i](r);
}

static inline void fault_paths_parse(roads *r, int index, const char *text) {
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &r->modules[index], &error) != VYRE_OK)
        fail_msg("%s\n%s", error.message, text);
    r->programs[index] = vyre_module_program(r->modules[index], 0);
}

static inline void fault_paths_open(roads *r) {
    memset(r, 0, sizeof *r);
    r->trap.invocation = UINT64_MAX;
    fault_paths_parse(r, 0, fault_paths_text);
    fault_paths_parse(r, 1, fault_paths_staged_text);
    for (uint32_t i = 0; i < FAULT_PATH_N; i++)
        r->a[i] = 100 + i, r->b[i] = 1000 * i, r->x[i] = 3 * i;
    r->k = (vyre_scalar){VYRE_TYPE_U32, 5};
    r->inputs[0] = (vyre_span){r->a, sizeof r->a};
    r->inputs[1] = (vyre_span){r->b, sizeof r->b};
    r->inputs[2] = (vyre_span){r->x, sizeof r->x};
    r->arguments = (vyre_arguments){.params = &r->k, .param_count = 1, .inputs = r->inputs, .input_count = 3};
}

static inline void fault_paths_close(roads *r) {
    vyre_module_free(r->modules[0]);
    vyre_module_free(r->modules[1]);
}

#endif
