/* Pipelines of the fake backend (included by fake.h): the reference interpreter wrapped in a table whose entries count,
 * record and fail on demand. */
#ifndef VY_TESTS_DRIVER_FAKE_PIPELINE_H
#define VY_TESTS_DRIVER_FAKE_PIPELINE_H

typedef struct fake_pipeline {
    fake *f;
    vyre_program *program;
} fake_pipeline;

static inline void fake_see_spans(fake *f, const vyre_launch *launch, const vyre_span *inputs, size_t count) {
    fake_see(f, launch);
    if (f->is_shared)
        return;
    f->seen.input_count = count;
    f->seen.first_input = count ? inputs[0].data : NULL;
    f->seen.first_input_size = count ? inputs[0].size : 0;
}

/* A pipeline runs the program it was compiled from and no other. */
static inline vyre_status fake_pipeline_run(fake_pipeline *p, fake_entry entry, const vyre_launch *launch,
                                            const vyre_span *inputs, size_t count, vyre_outputs *outputs,
                                            vyre_error *error) {
    fake *f = p->f;
    assert_true(vyre_program_equal(launch->program, p->program));
    fake_see_spans(f, launch, inputs, count);
    vyre_status status = fake_enter(f, entry, error);
    fake_hang(f, 0);
    if (status == VYRE_OK)
        status = f->real.vtable->dispatch_borrowed(f->real.self, launch, inputs, count, outputs, error);
    return status == VYRE_OK ? fake_sinning(f, launch, outputs, status, error) : status;
}

static vyre_status fake_pipeline_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                                          vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[64];
    for (size_t i = 0; i < count && i < 64; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return fake_pipeline_run(self, FAKE_PIPELINE_dispatch, launch, spans, count, outputs, error);
}

static vyre_status fake_pipeline_dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                                   size_t count, vyre_outputs *outputs, vyre_error *error) {
    return fake_pipeline_run(self, FAKE_PIPELINE_dispatch_borrowed, launch, inputs, count, outputs, error);
}

static vyre_status fake_pipeline_dispatch_borrowed_timed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                                         size_t count, vyre_outputs *outputs, vyre_timing *timing,
                                                         vyre_error *error) {
    *timing = (vyre_timing){.wall_ns = 70, .present = VYRE_TIMED_DEVICE, .device_ns = 50};
    return fake_pipeline_run(self, FAKE_PIPELINE_dispatch_borrowed_timed, launch, inputs, count, outputs, error);
}

static vyre_status fake_pipeline_dispatch_borrowed_into(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                                        size_t count, vyre_outputs *outputs, vyre_error *error) {
    return fake_pipeline_run(self, FAKE_PIPELINE_dispatch_borrowed_into, launch, inputs, count, outputs, error);
}

/* Records the last item, runs all; one that fails is named. */
static vyre_status fake_pipeline_dispatch_batched_into(void *self, const vyre_launch *launches,
                                                       const vyre_span *const *inputs, size_t input_count, size_t count,
                                                       vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    fake_pipeline *p = self;
    fake *f = p->f;
    vyre_status status = fake_enter(f, FAKE_PIPELINE_dispatch_batched_into, error);
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        assert_true(vyre_program_equal(launches[i].program, p->program));
        fake_see_spans(f, &launches[i], inputs[i], input_count);
        status =
            f->real.vtable->dispatch_borrowed(f->real.self, &launches[i], inputs[i], input_count, &outputs[i], error);
        if (status == VYRE_OK && i + 1 == count)
            status = fake_sinning(f, &launches[i], &outputs[i], status, error);
        if (status != VYRE_OK && !f->is_silent_about_items)
            *failed = i;
    }
    if (!f->is_shared)
        f->seen.launches = count;
    return status;
}

static inline void fake_see_bindings(fake *f, const vyre_launch *launch, const vyre_resource *bindings, size_t count) {
    fake_see(f, launch);
    if (f->is_shared)
        return;
    f->seen.input_count = count;
    for (size_t i = count; i-- > 0;)
        if (bindings[i].kind == VYRE_RESOURCE_RESIDENT) {
            f->seen.first_native = bindings[i].resident.id;
            f->seen.first_offset = bindings[i].offset;
            f->seen.first_size = bindings[i].size;
        } else {
            f->seen.first_input = bindings[i].host.data;
            f->seen.first_input_size = bindings[i].host.size;
        }
}

/* Host bindings get separate buffers for the call; the outputs among them are read back. */
static inline vyre_status fake_pipeline_mixed(fake *f, const vyre_launch *launch, const vyre_resource *bindings,
                                              size_t count, vyre_outputs *outputs, vyre_error *error) {
    const vyre_backend_vtable *real = f->real.vtable;
    vyre_resource all[64];
    vyre_buffer_info buffer;
    vyre_status status = VYRE_OK;
    size_t made = 0, output = 0;
    for (; made < count && vyre_program_buffer(launch->program, made, &buffer); made++) {
        uint64_t size = launch->elements[made] * vyre_type_size(buffer.type);
        all[made] = bindings[made];
        if (bindings[made].kind == VYRE_RESOURCE_RESIDENT)
            continue;
        all[made] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .size = size};
        status = real->resident_allocate(f->real.self, size ? size : 1, &all[made].resident.id, error);
        if (status != VYRE_OK)
            break;
        if (buffer.access != VYRE_ACCESS_WRITE && size)
            real->resident_upload(f->real.self, all[made].resident.id, 0, bindings[made].host.data, size, error);
    }
    if (status == VYRE_OK)
        status = real->dispatch_resident(f->real.self, launch, all, count, NULL, error);
    for (size_t i = 0; i < made && vyre_program_buffer(launch->program, i, &buffer); i++) {
        int is_output = buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE;
        if (bindings[i].kind == VYRE_RESOURCE_HOST) {
            if (is_output && status == VYRE_OK)
                status = vy_host_services.bytes_resize(&outputs->items[output], (size_t)all[i].size, error);
            if (is_output && status == VYRE_OK && all[i].size)
                real->resident_download(f->real.self, all[i].resident.id, 0, outputs->items[output].data, all[i].size,
                                        error);
            real->resident_free(f->real.self, all[i].resident.id, NULL);
        }
        output += is_output;
    }
    return status;
}

static vyre_status fake_pipeline_dispatch_persistent_into(void *self, const vyre_launch *launch,
                                                          const vyre_resource *bindings, size_t count,
                                                          vyre_outputs *outputs, vyre_timing *timing,
                                                          vyre_error *error) {
    fake_pipeline *p = self;
    fake *f = p->f;
    assert_true(vyre_program_equal(launch->program, p->program));
    fake_see_bindings(f, launch, bindings, count);
    if (timing)
        *timing = (vyre_timing){.wall_ns = 71, .present = VYRE_TIMED_DEVICE, .device_ns = 51};
    vyre_status status = fake_enter(f, FAKE_PIPELINE_dispatch_persistent_into, error);
    fake_hang(f, 0);
    if (status == VYRE_OK)
        status = fake_pipeline_mixed(f, launch, bindings, count, outputs, error);
    return status == VYRE_OK ? fake_sinning(f, launch, outputs, status, error) : status;
}

static inline vyre_status fake_pipeline_many(fake_pipeline *p, fake_entry entry, const vyre_launch *launches,
                                             const vyre_resource *const *bindings, size_t binding_count, size_t count,
                                             vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    fake *f = p->f;
    vyre_status status = fake_enter(f, entry, error);
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        assert_true(vyre_program_equal(launches[i].program, p->program));
        fake_see_bindings(f, &launches[i], bindings[i], binding_count);
        status = fake_pipeline_mixed(f, &launches[i], bindings[i], binding_count, &outputs[i], error);
        if (status == VYRE_OK && i + 1 == count)
            status = fake_sinning(f, &launches[i], &outputs[i], status, error);
        if (status != VYRE_OK && !f->is_silent_about_items)
            *failed = i;
    }
    if (!f->is_shared)
        f->seen.launches = count;
    return status;
}

static vyre_status fake_pipeline_dispatch_persistent_batched_into(void *self, const vyre_launch *launches,
                                                                  const vyre_resource *const *bindings,
                                                                  size_t binding_count, size_t count,
                                                                  vyre_outputs *outputs, size_t *failed,
                                                                  vyre_error *error) {
    return fake_pipeline_many(self, FAKE_PIPELINE_dispatch_persistent_batched_into, launches, bindings, binding_count,
                              count, outputs, failed, error);
}

static vyre_status fake_pipeline_dispatch_persistent_rows_into(void *self, const vyre_launch *launches,
                                                               const vyre_resource (*rows)[4], size_t count,
                                                               vyre_outputs *outputs, size_t *failed,
                                                               vyre_error *error) {
    const vyre_resource *bindings[64];
    assert_true(count <= 64);
    for (size_t i = 0; i < count; i++)
        bindings[i] = rows[i];
    return fake_pipeline_many(self, FAKE_PIPELINE_dispatch_persistent_rows_into, launches, bindings, 4, count, outputs,
                              failed, error);
}

/* A binary: a mark, and the fingerprint of the program. */
static const char fake_mark[8] = "FAKEBIN";

static vyre_status fake_pipeline_binary(fake_pipeline *p, fake_entry entry, vyre_bytes *out, vyre_error *error) {
    vyre_digest fingerprint;
    vyre_status status = fake_enter(p->f, entry, error);
    if (status == VYRE_OK)
        status = vy_host_services.bytes_resize(out, sizeof fake_mark + sizeof fingerprint, error);
    if (status != VYRE_OK)
        return status;
    vyre_program_fingerprint(p->program, &fingerprint);
    memcpy(out->data, fake_mark, sizeof fake_mark);
    memcpy((char *)out->data + sizeof fake_mark, &fingerprint, sizeof fingerprint);
    return VYRE_OK;
}

static vyre_status fake_pipeline_serialize(void *self, vyre_bytes *out, vyre_error *error) {
    return fake_pipeline_binary(self, FAKE_PIPELINE_serialize, out, error);
}

/* Only where the other is taken out. */
static vyre_status fake_pipeline_serialize_later(void *self, vyre_bytes *out, vyre_error *error) {
    return fake_pipeline_binary(self, FAKE_PIPELINE_serialize_later, out, error);
}

static void fake_pipeline_destroy(void *self) {
    fake_pipeline *p = self;
    fake_enter(p->f, FAKE_PIPELINE_destroy, NULL);
    atomic_fetch_sub(&p->f->pipelines, 1);
    vyre_program_release(p->program);
    free(p);
}

static inline void fake_make_pipeline(fake *f, vyre_program *program, const vyre_compile_options *options,
                                      vyre_native_pipeline *out) {
    if (f->gives_no_pipelines)
        return;
    fake_pipeline *p = calloc(1, sizeof *p);
    assert_non_null(p);
    *p = (fake_pipeline){f, vyre_program_retain(program)};
    *out = (vyre_native_pipeline){&f->pipeline_table, p};
    atomic_fetch_add(&f->pipelines, 1);
    if (!f->is_shared)
        f->cancellable = options->cancellable, f->compile_deadline = options->deadline_ns, f->last_pipeline = p;
}

static vyre_status fake_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                vyre_native_pipeline *out, vyre_error *error) {
    fake *f = self;
    vyre_status status = fake_enter(f, FAKE_compile, error);
    if (f->compile_ms)
        usleep(f->compile_ms * 1000);
    if (status == VYRE_OK)
        fake_make_pipeline(f, program, options, out);
    return status;
}

static vyre_status fake_load(void *self, vyre_program *program, const vyre_compile_options *options, vyre_span binary,
                             vyre_native_pipeline *out, vyre_error *error) {
    fake *f = self;
    vyre_digest fingerprint;
    vyre_status status = fake_enter(f, FAKE_load, error);
    if (status != VYRE_OK)
        return status;
    vyre_program_fingerprint(program, &fingerprint);
    if (f->refuses_binaries || binary.size != sizeof fake_mark + sizeof fingerprint ||
        memcmp(binary.data, fake_mark, sizeof fake_mark) != 0 ||
        memcmp((const char *)binary.data + sizeof fake_mark, &fingerprint, sizeof fingerprint) != 0)
        return (vy_host_services.fail)(error, VYRE_CORRUPT, NULL, "not a binary of the fake for this program");
    fake_make_pipeline(f, program, options, out);
    return VYRE_OK;
}

static vyre_status fake_cache_identity(void *self, vyre_bytes *out, vyre_error *error) {
    fake *f = self;
    const char *identity = f->identity ? f->identity : "fake device";
    vyre_status status = fake_enter(f, FAKE_cache_identity, error);
    if (status == VYRE_OK)
        status = vy_host_services.bytes_resize(out, strlen(identity), error);
    if (status == VYRE_OK)
        memcpy(out->data, identity, strlen(identity));
    return status;
}

static int fake_cache_snapshot(void *self, vyre_cache_snapshot *out) {
    fake_enter(self, FAKE_cache_snapshot, NULL);
    *out = (vyre_cache_snapshot){.hits = 3, .misses = 4, .entries = 5, .bytes = 6};
    return 1;
}

/* Records the last step, runs all, then reads back. */
static vyre_status fake_sequence(void *self, const vyre_native_step *steps, size_t count,
                                 const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                                 size_t *failed, vyre_error *error) {
    fake *f = self;
    const vyre_backend_vtable *real = f->real.vtable;
    vyre_status status = fake_enter(f, FAKE_sequence, error);
    if (timing)
        *timing = (vyre_timing){.wall_ns = 72, .present = VYRE_TIMED_DEVICE, .device_ns = 52};
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        fake_pipeline *p = steps[i].pipeline;
        assert_ptr_equal(p->f, f);
        assert_true(vyre_program_equal(steps[i].launch.program, p->program));
        fake_see_bindings(f, &steps[i].launch, steps[i].bindings, steps[i].binding_count);
        status = real->dispatch_resident(f->real.self, &steps[i].launch, steps[i].bindings, steps[i].binding_count,
                                         NULL, error);
        if (status != VYRE_OK && !f->is_silent_about_items)
            *failed = i;
    }
    for (size_t i = 0; i < readback_count && status == VYRE_OK; i++)
        status = real->resident_download(f->real.self, readbacks[i].resident.id, readbacks[i].offset, readbacks[i].host,
                                         readbacks[i].size, error);
    if (f->sin == FAKE_UNKNOWN_STATUS)
        status = (vyre_status)12345;
    if (f->sin == FAKE_TRAP_OUTSIDE) {
        steps[0].launch.trap->invocation = UINT64_MAX;
        status = (vy_host_services.fail)(error, VYRE_TRAPPED, NULL, "a trap nowhere");
    }
    if (!f->is_shared)
        f->seen.launches = count;
    return status;
}

#endif
