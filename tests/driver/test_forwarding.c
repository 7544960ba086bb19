/* Forwarding: every entry of the three tables is called with the caller's arguments, returns its results to the caller,
 * and has its documented fallback when it is left out. There is one row per entry: an entry without a row fails here,
 * and one missing from the lists (entries.h) does not compile. */
#include "driver/mirror.h"
#include "vyre/cache.h"
#include "vyre/emit.h"
#include "vyre/interop.h"

#include <time.h>

/* ---- the caller ---- */

static void clear(void) {
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++)
        atomic_store(&m.calls[i], 0);
    m.item_count = 0;
    m.failed = 77;
}

static void prepare_arguments(void) {
    for (int i = 0; i < 3; i++) {
        m.inputs[i] = (vyre_span){m.words[i], counts[i] * 4};
        m.owned[i] = (vyre_bytes){m.words[i], counts[i] * 4, counts[i] * 4};
    }
    m.params[0] = (vyre_scalar){VYRE_TYPE_U32, 41};
    m.params[1] = (vyre_scalar){VYRE_TYPE_U32, 42};
    m.arguments = (vyre_arguments){.params = m.params,
                                   .param_count = 2,
                                   .inputs = m.inputs,
                                   .input_count = 3,
                                   .counts = &counts[3],
                                   .count_count = 1,
                                   .geometry = {VYRE_GEOMETRY_GROUPS, {3, 2, 1}}};
    m.config = (vyre_dispatch_config){.timeout_ns = 60000000000u, .label = "a label"};
}

/* The first buffer is a range of a larger one. */
static void make_handles(void) {
    for (int i = 0; i < BUFFERS; i++) {
        uint64_t size = counts[i] * 4 + (i ? 0 : 20), offset = i ? 0 : 8;
        vyre_resident_allocate(m.backend, size, NULL, &m.handles[i], NULL);
        m.handle_natives[i] = m.native;
        m.bindings[i] = (vyre_resource){
            .kind = VYRE_RESOURCE_RESIDENT, .resident = m.handles[i], .offset = offset, .size = i ? 0 : counts[i] * 4};
        m.mixed[i] = i < 3 ? (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = m.inputs[i]}
                           : (vyre_resource){.kind = VYRE_RESOURCE_HOST};
    }
    m.mixed[0] = m.bindings[0];
}

static void open_mirror(int missing) {
    memset(&m, 0, sizeof m);
    if (missing >= 0)
        m.is_missing[missing] = 1;
    assert_int_equal(vyre_text_parse(text, sizeof text - 1, NULL, NULL, &m.module, NULL), VYRE_OK);
    m.program = vyre_module_program(m.module, 0);
    vyre_backend_instance instance = mirror_build();
    assert_int_equal(vy_backend_wrap(&instance, &m.backend, &m.error), VYRE_OK);
    m.backend->is_built_in = 1; /* a plug-in gets copies where there is a deadline */
    prepare_arguments();
    make_handles();
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    vyre_compile_options options = {.struct_size = sizeof options, .cancellable = 1};
    if (missing != FAULT_BACKEND_capability) /* workgroups of one are too small for the program */
        assert_int_equal(vyre_compile(m.backend, m.program, &options, &m.pipeline, &m.error), VYRE_OK);
    clear();
}

static void close_mirror(void) {
    for (int i = 0; i < ITEMS; i++)
        vyre_outputs_free(&m.outputs[i]);
    vyre_bytes_free(&m.bytes);
    vyre_pipeline_release(m.pipeline);
    vyre_backend_release(m.backend);
    vyre_module_free(m.module);
    /* A thread of the library may hold the last reference for a moment. */
    for (int i = 0; i < 5000 && !m.is_missing[FAULT_BACKEND_destroy] && !m.calls[FAULT_BACKEND_destroy]; i++)
        usleep(1000);
}

/* ---- calls, and the arguments that must arrive ---- */

static void check_launch(size_t index) {
    const kept *k = &m.items[index];
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    assert_ptr_equal(k->launch.program, m.program);
    assert_int_equal(k->launch.param_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(k->params[i].type, m.params[i].type);
        assert_int_equal(k->params[i].bits, m.params[i].bits);
    }
    assert_int_equal(k->launch.buffer_count, BUFFERS);
    assert_memory_equal(k->elements, counts, sizeof counts);
    assert_int_equal(k->launch.groups[0], 3);
    assert_int_equal(k->launch.groups[1], 2);
    assert_int_equal(k->launch.groups[2], 1);
    assert_true(k->launch.deadline_ns > now && k->launch.deadline_ns <= now + m.config.timeout_ns);
    assert_string_equal(k->label, m.config.label);
    assert_non_null(k->launch.trap);
}

static void check_outputs(const vyre_outputs *outputs) {
    static const unsigned char filled[24] = {FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL,
                                             FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL};
    assert_int_equal(outputs->count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(outputs->items[i].size, counts[2 + i] * 4);
        assert_memory_equal(outputs->items[i].data, filled, counts[2 + i] * 4);
    }
}

/* The borrowed spans themselves, not copies. */
static void check_spans_of(size_t index) {
    check_launch(index);
    assert_int_equal(m.items[index].count, 3);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(m.items[index].inputs[i].data, m.words[i]);
        assert_int_equal(m.items[index].inputs[i].size, counts[i] * 4);
    }
}

static void check_host(void) {
    check_spans_of(0);
    assert_null(m.items[0].launch.cancel);
    check_outputs(&m.outputs[0]);
}

static void check_async(void) {
    check_spans_of(0);
    assert_non_null(m.items[0].launch.cancel);
    assert_int_equal(m.calls[FAULT_PENDING_wait], 1);
    assert_true(m.deadline_ns != 0); /* of the wait */
    assert_int_equal(m.calls[FAULT_PENDING_destroy], 1);
    check_outputs(&m.outputs[0]);
}

static void check_batch(void) {
    assert_int_equal(m.item_count, ITEMS);
    assert_int_equal(m.failed, ITEMS); /* as it arrives */
    for (int i = 0; i < ITEMS; i++) {
        check_spans_of((size_t)i);
        check_outputs(&m.outputs[i]);
    }
}

static void check_range(const vyre_resource *seen, int buffer) {
    assert_int_equal(seen->kind, VYRE_RESOURCE_RESIDENT);
    assert_int_equal(seen->resident.id, m.handle_natives[buffer]);
    assert_int_equal(seen->offset, m.bindings[buffer].offset);
    assert_int_equal(seen->size, counts[buffer] * 4); /* 0 was replaced by its meaning */
}

static void check_resident(void) {
    check_launch(0);
    assert_int_equal(m.items[0].count, BUFFERS);
    for (int i = 0; i < BUFFERS; i++)
        check_range(&m.items[0].bindings[i], i);
}

static void check_mixed_of(size_t index) {
    const vyre_resource *seen = m.items[index].bindings;
    check_launch(index);
    assert_int_equal(m.items[index].count, BUFFERS);
    check_range(&seen[0], 0);
    for (int i = 1; i < BUFFERS; i++)
        assert_int_equal(seen[i].kind, VYRE_RESOURCE_HOST);
    for (int i = 1; i < 3; i++) {
        assert_ptr_equal(seen[i].host.data, m.words[i]);
        assert_int_equal(seen[i].host.size, counts[i] * 4);
    }
    check_outputs(&m.outputs[index]);
}

static void check_mixed(void) {
    check_mixed_of(0);
}

static void check_mixed_batch(void) {
    assert_int_equal(m.item_count, ITEMS);
    assert_int_equal(m.failed, ITEMS);
    for (size_t i = 0; i < ITEMS; i++)
        check_mixed_of(i);
}

static void check_sequence(void) {
    assert_int_equal(m.item_count, 2);
    assert_int_equal(m.failed, 2);
    for (size_t k = 0; k < 2; k++) {
        check_launch(k);
        for (int i = 0; i < BUFFERS; i++)
            check_range(&m.items[k].bindings[i], i);
    }
    assert_int_equal(m.readback.resident.id, m.handle_natives[3]);
    assert_int_equal(m.readback.offset, 4);
    assert_int_equal(m.readback.size, 8);
    assert_ptr_equal(m.readback.host, m.got);
}

#define ASK(name, call)                                                                                                \
    static vyre_status ask_##name(void) {                                                                              \
        return call;                                                                                                   \
    }
ASK(owned, vyre_backend_dispatch_owned(m.backend, m.program, m.owned, 3, &m.arguments, &m.config, m.outputs, &m.trap,
                                       &m.error))
ASK(borrowed, vyre_backend_dispatch(m.backend, m.program, &m.arguments, &m.config, m.outputs, &m.trap, &m.error))
ASK(timed,
    vyre_backend_dispatch_timed(m.backend, m.program, &m.arguments, &m.config, m.outputs, &m.timing, &m.trap, &m.error))
ASK(into, vyre_backend_dispatch_into(m.backend, m.program, &m.arguments, &m.config, m.outputs, &m.trap, &m.error))
ASK(resident, vyre_backend_dispatch_resident(m.backend, m.program, m.bindings, BUFFERS, &m.arguments, &m.config,
                                             &m.timing, &m.trap, &m.error))
ASK(pipeline_owned,
    vyre_pipeline_dispatch_owned(m.pipeline, m.owned, 3, &m.arguments, &m.config, m.outputs, &m.trap, &m.error))
ASK(pipeline_borrowed, vyre_pipeline_dispatch(m.pipeline, &m.arguments, &m.config, m.outputs, &m.trap, &m.error))
ASK(pipeline_timed,
    vyre_pipeline_dispatch_timed(m.pipeline, &m.arguments, &m.config, m.outputs, &m.timing, &m.trap, &m.error))
ASK(pipeline_into, vyre_pipeline_dispatch_into(m.pipeline, &m.arguments, &m.config, m.outputs, &m.trap, &m.error))
ASK(persistent, vyre_pipeline_dispatch_persistent(m.pipeline, m.mixed, BUFFERS, &m.arguments, &m.config, m.outputs,
                                                  &m.timing, &m.trap, &m.error))
ASK(prepare, vyre_backend_prepare(m.backend, m.program, &m.error))
ASK(flush, vyre_backend_flush(m.backend, &m.error))
ASK(shutdown, vyre_backend_shutdown(m.backend, &m.error))
ASK(free, vyre_resident_free(m.backend, m.handles[1], &m.error))
ASK(upload, vyre_resident_upload_at(m.backend, m.handles[1], 4, m.words[1], 8, &m.error))
ASK(download, vyre_resident_download_at(m.backend, m.handles[1], 4, m.got, 8, &m.error))

static vyre_status ask_allocate(void) {
    vyre_resident handle;
    return vyre_resident_allocate(m.backend, 48, NULL, &handle, &m.error);
}

static vyre_status ask_wrap(void) {
    vyre_resident handle;
    vyre_foreign foreign = {.struct_size = sizeof foreign, .location = {77, 3, 4096}, .size = 48};
    return vyre_resident_wrap(m.backend, &foreign, &handle, &m.error);
}

static vyre_status ask_place(void) {
    return vyre_resident_export(m.backend, m.handles[1], &m.location, &m.error);
}

static vyre_status ask_join(void) {
    return vyre_stream_join(m.backend, &m, &m.error);
}

/* The program with a grid barrier, over which nothing lives. */
static vyre_status ask_meet(void) {
    static const char meeting[] =
        "program f {\n param k : u32\n param j : u32\n buffer a : u32 read\n buffer b : u32 read\n"
        "buffer x : u32 read_write\n buffer out : u32 write\n workgroup 2\n grid 1\n"
        "out[0] = x[0] * k + j + a[0] + b[0]\n grid_barrier\n x[0] = 1 }";
    vyre_module_free(m.module);
    assert_int_equal(vyre_text_parse(meeting, sizeof meeting - 1, NULL, NULL, &m.module, NULL), VYRE_OK);
    m.program = vyre_module_program(m.module, 0);
    m.has_stages = 1;
    vyre_pipeline_release(m.pipeline);
    m.pipeline = NULL;
    vyre_status status = vyre_compile(m.backend, m.program, NULL, &m.pipeline, &m.error);
    return status == VYRE_OK ? vyre_pipeline_dispatch(m.pipeline, &m.arguments, &m.config, m.outputs, &m.trap, &m.error)
                             : status;
}

static vyre_status ask_batch(void) {
    vyre_arguments twice[ITEMS] = {m.arguments, m.arguments};
    return vyre_pipeline_dispatch_batch(m.pipeline, twice, ITEMS, &m.config, m.outputs, NULL, &m.trap, &m.error);
}

static vyre_status ask_mixed_batch(void) {
    const vyre_resource *items[ITEMS] = {m.mixed, m.mixed};
    return vyre_pipeline_dispatch_persistent_batch(m.pipeline, items, BUFFERS, ITEMS, &m.arguments, &m.config,
                                                   m.outputs, NULL, &m.trap, &m.error);
}

static vyre_status ask_rows(void) {
    vyre_resource rows[ITEMS][4];
    memcpy(rows[0], m.mixed, sizeof m.mixed);
    memcpy(rows[1], m.mixed, sizeof m.mixed);
    return vyre_pipeline_dispatch_rows(m.pipeline, (const vyre_resource(*)[4])rows, ITEMS, &m.arguments, &m.config,
                                       m.outputs, NULL, &m.trap, &m.error);
}

static vyre_status ask_sequence(void) {
    vyre_step steps[2] = {{m.pipeline, m.bindings, BUFFERS, &m.arguments},
                          {m.pipeline, m.bindings, BUFFERS, &m.arguments}};
    vyre_readback readback = {m.handles[3], 4, 8, m.got};
    return vyre_sequence_run(m.backend, steps, 2, &readback, 1, &m.config, &m.timing, NULL, &m.trap, &m.error);
}

static vyre_transfer *transfers(void) {
    static vyre_transfer list[2];
    list[0] = (vyre_transfer){m.handles[1], 4, 8, m.got};
    list[1] = (vyre_transfer){m.handles[2], 0, 20, m.words[2]};
    return list;
}
ASK(upload_batch, vyre_resident_upload_batch(m.backend, transfers(), 2, &m.error))
ASK(download_batch, vyre_resident_download_batch(m.backend, transfers(), 2, &m.error))

static vyre_status finish(vyre_status status, vyre_pending *pending) {
    if (status != VYRE_OK)
        return status;
    status = vyre_pending_wait(pending, 60000000000u, m.outputs, &m.trap, &m.error);
    vyre_pending_free(pending);
    return status;
}

static vyre_status ask_owned_async(void) {
    vyre_pending *p = NULL;
    vyre_status status =
        vyre_backend_dispatch_owned_async(m.backend, m.program, m.owned, 3, &m.arguments, &m.config, &p, &m.error);
    return finish(status, p);
}

static vyre_status start(vyre_pending **p) {
    return vyre_backend_dispatch_async(m.backend, m.program, &m.arguments, &m.config, p, &m.error);
}

static vyre_status ask_async(void) {
    vyre_pending *p = NULL;
    vyre_status status = start(&p); /* p is an argument of the next call */
    return finish(status, p);
}

static vyre_status ask_pipeline_async(void) {
    vyre_pending *p = NULL;
    vyre_status status = vyre_pipeline_dispatch_async(m.pipeline, &m.arguments, &m.config, &p, &m.error);
    return finish(status, p);
}

static vyre_status ask_is_ready(void) {
    vyre_pending *p = NULL;
    vyre_status status = start(&p);
    assert_int_equal(status, VYRE_OK);
    assert_true(vyre_pending_is_ready(p));
    assert_int_equal(m.calls[FAULT_PENDING_is_ready], 1);
    return finish(status, p);
}

static vyre_status ask_cancel(void) {
    vyre_pending *p = NULL;
    assert_int_equal(start(&p), VYRE_OK);
    assert_int_equal(*m.items[0].launch.cancel, 0);
    vyre_pending_cancel(p);
    assert_int_equal(*m.items[0].launch.cancel, 1); /* the word is set, entry or not */
    assert_int_equal(m.calls[FAULT_PENDING_cancel], !m.is_missing[FAULT_PENDING_cancel]);
    assert_int_equal(vyre_pending_wait(p, UINT64_MAX, m.outputs, NULL, &m.error), VYRE_CANCELLED);
    vyre_pending_free(p);
    return VYRE_OK;
}

static vyre_status ask_notify(void) {
    vyre_completions *queue;
    vyre_pending *p = NULL, *same;
    uint64_t tag;
    assert_int_equal(vyre_completions_new(&queue, &m.error), VYRE_OK);
    assert_int_equal(start(&p), VYRE_OK);
    assert_int_equal(vyre_completions_attach(queue, p, 8, &m.error), VYRE_OK);
    assert_int_equal(vyre_completions_next(queue, UINT64_MAX, &same, &tag, &m.error), VYRE_OK);
    assert_ptr_equal(same, p);
    assert_int_equal(tag, 8);
    vyre_completions_free(queue);
    return finish(VYRE_OK, p);
}

/* Twice: the second time the folder may have it. */
static vyre_status ask_compile(void) {
    vyre_compile_options options = {.struct_size = sizeof options, .cancellable = 1};
    vyre_status status = VYRE_OK;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    for (int i = 0; i < 2 && status == VYRE_OK; i++) {
        vyre_pipeline *pipeline = NULL;
        status = vyre_compile(m.backend, m.program, &options, &pipeline, &m.error);
        vyre_pipeline_release(pipeline);
        vyre_backend_flush_cache(m.backend);
    }
    return status;
}

static vyre_status ask_compile_later(void) {
    m.is_missing[FAULT_PIPELINE_serialize] = 1;
    mirror_build();
    return ask_compile();
}

static void check_compile(void) {
    assert_int_equal(m.calls[FAULT_BACKEND_compile], 1);
    assert_int_equal(m.calls[FAULT_BACKEND_load], 1);
    assert_int_equal(m.calls[FAULT_PIPELINE_serialize], !m.is_missing[FAULT_PIPELINE_serialize]);
    assert_int_equal(m.calls[FAULT_PIPELINE_serialize_later], m.is_missing[FAULT_PIPELINE_serialize]);
    assert_true(m.calls[FAULT_PIPELINE_destroy] >= 2); /* recovery destroys one more */
    assert_int_equal(m.cancellable, 1);
    assert_memory_equal(m.binary, "a binary", 8);
}

static vyre_status ask_emit(void) {
    const vyre_emit_options options = {.struct_size = sizeof options, .cancellable = 1, .backend = m.backend};
    return vyre_emit(m.program, NULL, &options, &m.bytes, &m.error);
}

static void check_emit(void) {
    assert_int_equal(m.cancellable, 1);
    assert_int_equal(m.bytes.size, strlen("its code"));
    assert_memory_equal(m.bytes.data, "its code", m.bytes.size);
}

/* The identity was queried when the mirror was opened; a new device is queried again. */
static vyre_status ask_identity(void) {
    m.is_lost = 1;
    assert_true(vyre_backend_device_lost(m.backend));
    assert_int_equal(vyre_backend_try_recover(m.backend, &m.error), VYRE_OK);
    return ask_compile();
}

static vyre_status ask_recover(void) {
    m.is_lost = 1;
    if (!m.is_missing[FAULT_BACKEND_device_lost])
        assert_true(vyre_backend_device_lost(m.backend));
    vyre_status status = vyre_backend_try_recover(m.backend, &m.error);
    if (status == VYRE_OK)
        assert_int_equal(vyre_backend_generation(m.backend), 2);
    return status;
}

static vyre_status ask_lost(void) {
    m.is_lost = 1;
    assert_int_equal(vyre_backend_device_lost(m.backend), !m.is_missing[FAULT_BACKEND_device_lost]);
    m.is_lost = 0;
    assert_int_equal(vyre_backend_device_lost(m.backend), !m.is_missing[FAULT_BACKEND_device_lost]); /* sticky */
    return VYRE_OK;
}

static vyre_status ask_questions(void) {
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_numerics_profile numerics = {.struct_size = sizeof numerics};
    vyre_cache_snapshot snapshot;
    size_t count = 0, core;
    const unsigned char *missing = m.is_missing;
    assert_string_equal(vyre_backend_id(m.backend), "mirror");
    assert_string_equal(vyre_backend_version(m.backend), missing[FAULT_BACKEND_version] ? "unspecified" : "4.5");
    const char *const *ops = vyre_backend_supported_ops(m.backend, &count);
    if (missing[FAULT_BACKEND_supported_ops])
        assert_ptr_equal(ops, vyre_core_supported_ops(&core));
    else
        assert_ptr_equal(ops, vy_all_ops(&core));
    assert_int_equal(vyre_backend_cache_snapshot(m.backend, &snapshot), !missing[FAULT_BACKEND_cache_snapshot]);
    assert_int_equal(snapshot.bytes, missing[FAULT_BACKEND_cache_snapshot] ? 0 : 4);
    vyre_backend_numerics(m.backend, &numerics);
    assert_int_equal(numerics.exact, !missing[FAULT_BACKEND_numerics]);
    assert_int_equal(vyre_backend_capability(m.backend, VYRE_CAPABILITY_SUBGROUP_SIZE),
                     missing[FAULT_BACKEND_capability] ? 0 : 1000 + VYRE_CAPABILITY_SUBGROUP_SIZE);
    if (!missing[FAULT_BACKEND_capability]) {
        vyre_backend_profile(m.backend, &profile);
        assert_string_equal(profile.device, missing[FAULT_BACKEND_device_profile] ? "" : "glass");
        assert_int_equal(profile.compute_units, missing[FAULT_BACKEND_device_profile] ? 0 : 3);
        assert_int_equal(profile.subgroup_size, 1000 + VYRE_CAPABILITY_SUBGROUP_SIZE);
    }
    return VYRE_OK;
}

static void check_transfer(void) {
    assert_int_equal(m.native, m.handle_natives[1]);
    assert_int_equal(m.offset, 4);
    assert_int_equal(m.size, 8);
}

static void check_upload(void) {
    check_transfer();
    assert_ptr_equal(m.data, m.words[1]);
}

static void check_download(void) {
    check_transfer();
    assert_ptr_equal(m.data, m.got);
}

static void check_transfers(void) {
    for (int i = 0; i < 2; i++) {
        assert_int_equal(m.transfers[i].resident.id, m.handle_natives[1 + i]);
        assert_int_equal(m.transfers[i].offset, transfers()[i].offset);
        assert_int_equal(m.transfers[i].size, transfers()[i].size);
        assert_ptr_equal(m.transfers[i].host, transfers()[i].host);
    }
}

static void check_allocate(void) {
    assert_int_equal(m.size, 48);
}

static void check_wrap(void) {
    assert_int_equal(m.size, 48);
    assert_int_equal(m.location.device, 77);
    assert_int_equal(m.location.ordinal, 3);
    assert_int_equal(m.location.address, 4096);
}

static void check_place(void) {
    assert_int_equal(m.native, m.handle_natives[1]);
    assert_int_equal(m.location.device, 77);
    assert_int_equal(m.location.ordinal, 3);
    assert_int_equal(m.location.address, 4096);
}

static void check_join(void) {
    assert_ptr_equal(m.stream, &m);
}

/* The whole program in one launch of the pipeline that was compiled for it. */
static void check_meet(void) {
    assert_ptr_equal(m.asked, m.program);
    assert_int_equal(m.calls[FAULT_BACKEND_grid_sync_limit], 3);
    assert_int_equal(m.calls[FAULT_PIPELINE_dispatch_borrowed], 1);
    check_spans_of(0);
    check_outputs(&m.outputs[0]);
}

static void check_free(void) {
    assert_int_equal(m.native, m.handle_natives[1]);
}

static void check_prepare(void) {
    assert_ptr_equal(m.prepared, m.program);
}

/* ---- the rows ---- */

enum {
    TRAPS = 1,
    TELLS_TIME = 2,
    REQUIRED = 4,
    EARLIER = 8,    /* called when the mirror is opened */
    BEFORE_RUN = 16 /* an entry that runs something is called next */
};
static const struct row {
    vyre_status (*ask)(void); /* a road that leads to the entry */
    void (*check)(void);      /* the arguments that must arrive and the results; NULL: only that it is called */
    unsigned flags;
    fault_entry instead; /* the entry called when it is left out; `id`: none */
    const char *feature; /* not NULL: UNSUPPORTED then, and this is named */
} rows[FAULT_ENTRY_COUNT] = {
#define B(name) [FAULT_BACKEND_##name]
#define P(name) [FAULT_PIPELINE_##name]
#define W(name) [FAULT_PENDING_##name]
    B(id) = {ask_questions, NULL, REQUIRED | EARLIER, FAULT_BACKEND_id, NULL},
    B(dispatch) = {ask_owned, check_host, TRAPS | REQUIRED, FAULT_BACKEND_id, NULL},
    B(version) = {ask_questions, NULL, 0, FAULT_BACKEND_id, NULL},
    B(supported_ops) = {ask_questions, NULL, 0, FAULT_BACKEND_id, NULL},
    B(dispatch_borrowed) = {ask_borrowed, check_host, TRAPS, FAULT_BACKEND_dispatch, NULL},
    B(dispatch_borrowed_timed) = {ask_timed, check_host, TRAPS | TELLS_TIME, FAULT_BACKEND_dispatch_borrowed, NULL},
    B(dispatch_borrowed_into) = {ask_into, check_host, TRAPS, FAULT_BACKEND_dispatch_borrowed, NULL},
    B(dispatch_async) = {ask_owned_async, check_async, TRAPS, FAULT_BACKEND_dispatch_borrowed_async, NULL},
    B(dispatch_borrowed_async) = {ask_async, check_async, TRAPS, FAULT_BACKEND_dispatch_async, NULL},
    B(resident_allocate) = {ask_allocate, check_allocate, 0, FAULT_BACKEND_id, "resident buffer allocation"},
    B(resident_free) = {ask_free, check_free, 0, FAULT_BACKEND_id, "resident buffer free"},
    B(resident_upload) = {ask_upload, check_upload, 0, FAULT_BACKEND_id, "resident buffer upload"},
    B(resident_download) = {ask_download, check_download, 0, FAULT_BACKEND_id, "resident buffer download"},
    B(resident_upload_batch) = {ask_upload_batch, check_transfers, 0, FAULT_BACKEND_resident_upload, NULL},
    B(resident_download_batch) = {ask_download_batch, check_transfers, 0, FAULT_BACKEND_resident_download, NULL},
    B(dispatch_resident) = {ask_resident, check_resident, TRAPS | TELLS_TIME, FAULT_BACKEND_id,
                            "resident timed dispatch"},
    B(compile) = {ask_compile, check_compile, 0, FAULT_BACKEND_id, NULL},
    B(load) = {ask_compile, check_compile, 0, FAULT_BACKEND_compile, NULL},
    B(cache_identity) = {ask_identity, check_compile, 0, FAULT_BACKEND_version, NULL},
    B(cache_snapshot) = {ask_questions, NULL, 0, FAULT_BACKEND_id, NULL},
    B(sequence) = {ask_sequence, check_sequence, TRAPS | TELLS_TIME, FAULT_PIPELINE_dispatch_persistent_into, NULL},
    B(capability) = {ask_questions, NULL, EARLIER, FAULT_BACKEND_id, NULL},
    B(device_profile) = {ask_questions, NULL, 0, FAULT_BACKEND_id, NULL},
    B(prepare) = {ask_prepare, check_prepare, 0, FAULT_BACKEND_id, NULL},
    B(flush) = {ask_flush, NULL, 0, FAULT_BACKEND_id, NULL},
    B(shutdown) = {ask_shutdown, NULL, 0, FAULT_BACKEND_id, NULL},
    B(device_lost) = {ask_lost, NULL, 0, FAULT_BACKEND_id, NULL},
    B(try_recover) = {ask_recover, NULL, 0, FAULT_BACKEND_id, "device recovery"},
    B(destroy) = {ask_questions, NULL, EARLIER, FAULT_BACKEND_id, NULL}, /* when it is closed: checked there */
    B(numerics) = {ask_questions, NULL, EARLIER, FAULT_BACKEND_id, NULL},
    B(resident_wrap) = {ask_wrap, check_wrap, 0, FAULT_BACKEND_id, "wrapping of foreign memory"},
    B(resident_location) = {ask_place, check_place, 0, FAULT_BACKEND_id, "export of resident buffers"},
    B(stream_join) = {ask_join, check_join, 0, FAULT_BACKEND_id, "ordering with a foreign stream"},
    B(code_target) = {ask_questions, NULL, EARLIER, FAULT_BACKEND_id, NULL},
    B(emit) = {ask_emit, check_emit, 0, FAULT_BACKEND_id, "emission of code"},
    B(grid_sync_limit) = {ask_meet, check_meet, TRAPS | BEFORE_RUN, FAULT_PIPELINE_dispatch_persistent_into, NULL},
    P(dispatch) = {ask_pipeline_owned, check_host, TRAPS | REQUIRED, FAULT_BACKEND_id, NULL},
    P(dispatch_borrowed) = {ask_pipeline_borrowed, check_host, TRAPS, FAULT_PIPELINE_dispatch, NULL},
    P(dispatch_borrowed_timed) = {ask_pipeline_timed, check_host, TRAPS | TELLS_TIME, FAULT_PIPELINE_dispatch_borrowed,
                                  NULL},
    P(dispatch_borrowed_into) = {ask_pipeline_into, check_host, TRAPS, FAULT_PIPELINE_dispatch_borrowed, NULL},
    P(dispatch_batched_into) = {ask_batch, check_batch, TRAPS, FAULT_PIPELINE_dispatch_borrowed_into, NULL},
    P(dispatch_persistent_into) = {ask_persistent, check_mixed, TRAPS | TELLS_TIME, FAULT_BACKEND_dispatch_resident,
                                   NULL},
    P(dispatch_persistent_batched_into) = {ask_mixed_batch, check_mixed_batch, TRAPS,
                                           FAULT_PIPELINE_dispatch_persistent_into, NULL},
    P(dispatch_persistent_rows_into) = {ask_rows, check_mixed_batch, TRAPS,
                                        FAULT_PIPELINE_dispatch_persistent_batched_into, NULL},
    P(dispatch_async) = {ask_pipeline_async, check_async, TRAPS, FAULT_PIPELINE_dispatch_borrowed, NULL},
    P(serialize) = {ask_compile, check_compile, 0, FAULT_PIPELINE_serialize_later, NULL},
    P(serialize_later) = {ask_compile_later, check_compile, 0, FAULT_BACKEND_compile, NULL},
    P(destroy) = {ask_compile, check_compile, REQUIRED, FAULT_BACKEND_id, NULL},
    W(is_ready) = {ask_is_ready, check_async, REQUIRED, FAULT_BACKEND_id, NULL},
    W(wait) = {ask_async, check_async, TRAPS | REQUIRED, FAULT_BACKEND_id, NULL},
    W(cancel) = {ask_cancel, NULL, 0, FAULT_BACKEND_id, NULL},
    W(destroy) = {ask_async, check_async, REQUIRED, FAULT_BACKEND_id, NULL},
    W(notify) = {ask_notify, NULL, 0, FAULT_PENDING_wait, NULL},
#undef B
#undef P
#undef W
};

static const struct {
    const char *name;
    unsigned gives;
} entries[FAULT_ENTRY_COUNT] = {
#define BACKEND(name, gives) [FAULT_BACKEND_##name] = {"backend." #name, FAULT_GIVES_##gives},
#define PIPELINE(name, gives) [FAULT_PIPELINE_##name] = {"pipeline." #name, FAULT_GIVES_##gives},
#define PENDING(name, gives) [FAULT_PENDING_##name] = {"pending." #name, FAULT_GIVES_##gives},
    FAULT_ENTRIES(BACKEND, PIPELINE, PENDING)
#undef BACKEND
#undef PIPELINE
#undef PENDING
};

/* ---- claims ---- */

static void every_entry_has_a_row(void **state) {
    (void)state;
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++)
        if (!rows[i].ask)
            fail_msg("nothing shows how `%s` is called", entries[i].name);
}

/* Of the entries that run something, only the requested one is called. */
static void check_alone(int entry) {
    const unsigned runs = FAULT_GIVES_OUTPUTS | FAULT_GIVES_LAUNCH;
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++)
        if (i != entry && i != FAULT_PENDING_wait && (entries[i].gives & runs) && m.calls[i])
            fail_msg("`%s` was called for `%s`", entries[i].name, entries[entry].name);
}

static void every_entry_is_called_with_what_the_caller_gave(void **state) {
    (void)state;
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++) {
        open_mirror(-1);
        vyre_status status = rows[i].ask();
        if (status != VYRE_OK || (!m.calls[i] && !(rows[i].flags & EARLIER)))
            fail_msg("`%s`: %u calls, %s: %s", entries[i].name, m.calls[i], vyre_status_name(status), m.error.message);
        if (!(rows[i].flags & BEFORE_RUN))
            check_alone(i);
        if (rows[i].check)
            rows[i].check();
        if (rows[i].flags & TELLS_TIME) {
            assert_int_equal(m.timing.wall_ns, told_timing.wall_ns);
            assert_int_equal(m.timing.present, told_timing.present);
            assert_int_equal(m.timing.device_ns, told_timing.device_ns);
            assert_int_equal(m.timing.enqueue_ns, told_timing.enqueue_ns);
            assert_int_equal(m.timing.wait_ns, told_timing.wait_ns);
        }
        close_mirror();
        assert_int_equal(m.calls[FAULT_BACKEND_destroy], 1);
        assert_int_equal(m.calls[FAULT_BACKEND_shutdown], 1);
    }
}

static void every_trap_comes_back_as_it_was_told(void **state) {
    (void)state;
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++) {
        if (!(rows[i].flags & TRAPS))
            continue;
        open_mirror(-1);
        m.traps = 1;
        vyre_status status = rows[i].ask();
        if (status != VYRE_TRAPPED)
            fail_msg("`%s`: %s: %s", entries[i].name, vyre_status_name(status), m.error.message);
        assert_int_equal(m.trap.invocation, told_trap.invocation);
        assert_int_equal(m.trap.code, told_trap.code);
        assert_string_equal(m.error.message, "as told");
        close_mirror();
    }
}

static void every_entry_that_is_left_out_has_its_default(void **state) {
    (void)state;
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++) {
        if (rows[i].flags & REQUIRED)
            continue;
        open_mirror(i);
        vyre_status status = rows[i].ask();
        if (rows[i].feature) {
            if (status != VYRE_UNSUPPORTED || !strstr(m.error.message, rows[i].feature) ||
                !strstr(m.error.message, "`mirror`") || !m.error.fix[0])
                fail_msg("without `%s`: %s: %s", entries[i].name, vyre_status_name(status), m.error.message);
        } else if (status != VYRE_OK) {
            fail_msg("without `%s`: %s: %s", entries[i].name, vyre_status_name(status), m.error.message);
        } else if (rows[i].instead != FAULT_BACKEND_id && !m.calls[rows[i].instead]) {
            fail_msg("without `%s` nobody calls `%s`", entries[i].name, entries[rows[i].instead].name);
        }
        if (rows[i].check == check_host) { /* the same launch, and the same outputs */
            check_launch(0);
            check_outputs(&m.outputs[0]);
            if (rows[i].flags & TELLS_TIME)
                assert_true(m.timing.wall_ns > 0 && m.timing.present == 0);
        }
        if (i == FAULT_BACKEND_compile)
            assert_false(vyre_pipeline_is_native(m.pipeline));
        if (i == FAULT_BACKEND_load || i == FAULT_PIPELINE_serialize_later)
            assert_int_equal(m.calls[FAULT_BACKEND_compile], 2);
        close_mirror();
    }
}

static void what_is_required_is_asked_for(void **state) {
    (void)state;
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++) {
        if (!(rows[i].flags & REQUIRED))
            continue;
        vyre_status status;
        vyre_pending *p = NULL;
        if (i < FAULT_PIPELINE_dispatch) {
            memset(&m, 0, sizeof m);
            m.is_missing[i] = 1;
            if (i == FAULT_BACKEND_dispatch) /* `compile` may replace it (driver.implicit) */
                m.is_missing[FAULT_BACKEND_compile] = 1;
            vyre_backend_instance instance = mirror_build();
            assert_int_equal(vy_backend_wrap(&instance, &m.backend, &m.error), VYRE_ABI_MISMATCH);
            assert_int_equal(m.calls[FAULT_BACKEND_destroy], 1);
            continue;
        }
        open_mirror(-1);
        m.is_missing[i] = 1;
        mirror_build();
        vyre_cache_clear(NULL, NULL, NULL, NULL);
        status = i < FAULT_PENDING_is_ready ? ask_compile() : start(&p);
        if (status != VYRE_CORRUPT || !m.error.fix[0])
            fail_msg("without `%s`: %s: %s", entries[i].name, vyre_status_name(status), m.error.message);
        close_mirror();
    }
}

static char folder[64];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-forward-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    vyre_cache_set_memory_limit(0);
    return vyre_cache_set_folder(folder, NULL) == VYRE_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_has_a_row),
        cmocka_unit_test(every_entry_is_called_with_what_the_caller_gave),
        cmocka_unit_test(every_trap_comes_back_as_it_was_told),
        cmocka_unit_test(every_entry_that_is_left_out_has_its_default),
        cmocka_unit_test(what_is_required_is_asked_for),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
