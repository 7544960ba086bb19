/* The contract, entry by entry: an existing entry is called with the caller's arguments; a missing one behaves as
 * documented in the header. */
#include "driver/fake.h"
#include "vyre/cache.h"
#include "vyre/pipeline.h"

/* The second time the folder has it: `load`. */
static void use_pipelines(vyre_backend *backend, const fake_case *c, const vyre_resource *bindings) {
    char folder[] = "/tmp/vyre-contract-XXXXXX";
    vyre_cache_snapshot snapshot;
    vyre_pipeline *pipeline;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(vyre_cache_set_folder(folder, NULL), VYRE_OK);
    vyre_cache_set_memory_limit(0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vyre_compile(backend, c->program, NULL, &pipeline, NULL), VYRE_OK);
        vyre_step step = {pipeline, bindings, 2, &c->arguments};
        assert_int_equal(vyre_sequence_run(backend, &step, 1, NULL, 0, NULL, NULL, NULL, NULL, NULL), VYRE_OK);
        vyre_pipeline_release(pipeline);
    }
    assert_true(vyre_backend_cache_snapshot(backend, &snapshot));
    assert_int_equal(vyre_cache_clear(NULL, NULL, NULL, NULL), VYRE_OK);
    rmdir(folder);
}

static void every_entry_a_backend_has_is_called(void **state) {
    (void)state;
    _Atomic int destroyed = 0;
    fake *f = fake_new();
    f->destroyed = &destroyed;
    vyre_backend *backend = fake_open(f);
    fake_case c;
    fake_case_open(&c);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_resident x, out;
    uint32_t word = 0;
    size_t count;
    for (int form = 0; form < FAKE_FORMS; form++)
        assert_int_equal(fake_run(form, backend, c.program, &c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    vyre_backend_version(backend);
    vyre_backend_supported_ops(backend, &count);
    vyre_backend_profile(backend, &profile);
    assert_int_equal(vyre_resident_allocate(backend, sizeof c.x, c.x, &x, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(backend, sizeof c.x, NULL, &out, NULL), VYRE_OK);
    vyre_transfer transfer = {x, 0, 4, &word};
    assert_int_equal(vyre_resident_upload_batch(backend, &transfer, 1, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_download_batch(backend, &transfer, 1, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_download(backend, x, &bytes, NULL), VYRE_OK);
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = x},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = out}};
    assert_int_equal(
        vyre_backend_dispatch_resident(backend, c.program, bindings, 2, &c.arguments, NULL, NULL, NULL, NULL), VYRE_OK);
    use_pipelines(backend, &c, bindings);
    assert_int_equal(vyre_resident_free(backend, x, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_flush(backend, NULL), VYRE_OK);
    assert_false(vyre_backend_device_lost(backend));
    atomic_store(&f->is_lost, 1);
    assert_true(vyre_backend_device_lost(backend));
    assert_int_equal(vyre_backend_try_recover(backend, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_shutdown(backend, NULL), VYRE_OK);
    static const char *const names[] = {
#define X(name) #name,
        FAKE_ENTRIES(X)
#undef X
    };
    for (int i = 0; i < FAKE_destroy; i++)
        if (!atomic_load(&f->calls[i]))
            fail_msg("`%s` was not called", names[i]);
    vyre_backend_release(backend);
    assert_int_equal(atomic_load(&destroyed), 1);
    vyre_bytes_free(&bytes);
    vyre_outputs_free(&outputs);
    fake_case_close(&c);
}

static void dispatch_is_forwarded_as_given(void **state) {
    (void)state;
    static const fake_entry entries[FAKE_FORMS] = {FAKE_dispatch_borrowed, FAKE_dispatch_borrowed_timed,
                                                   FAKE_dispatch_borrowed_into, FAKE_dispatch};
    for (int form = 0; form < FAKE_FORMS; form++) {
        fake *f = fake_new();
        vyre_backend *backend = fake_open(f);
        fake_case c;
        fake_case_open(&c);
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_dispatch_config config = {.label = "a label"};
        c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {3, 2, 1}};
        vyre_status status = fake_run(form, backend, c.program, &c.arguments, &config, &outputs, NULL, NULL);
        assert_int_equal(status, VYRE_OK);
        for (int i = 0; i < FAKE_FORMS; i++)
            assert_int_equal(atomic_load(&f->calls[entries[i]]), i == form);
        assert_ptr_equal(f->seen.program, c.program);
        assert_int_equal(f->seen.param_count, 1);
        assert_int_equal(f->seen.params[0].bits, 5);
        assert_int_equal(f->seen.params[0].type, VYRE_TYPE_U32);
        assert_int_equal(f->seen.buffer_count, 2);
        assert_int_equal(f->seen.elements[0], FAKE_N);
        assert_int_equal(f->seen.elements[1], FAKE_N);
        assert_int_equal(f->seen.groups[0], 3);
        assert_int_equal(f->seen.groups[1], 2);
        assert_int_equal(f->seen.groups[2], 1);
        assert_int_equal(f->seen.input_count, 1);
        assert_ptr_equal(f->seen.first_input, c.x); /* no copy on the way */
        assert_int_equal(f->seen.first_input_size, sizeof c.x);
        assert_int_equal(f->seen.deadline_ns, 0);
        assert_string_equal(f->seen.label, "a label");
        vyre_outputs_free(&outputs);
        fake_case_close(&c);
        vyre_backend_release(backend);
    }
}

static void timing_of_a_backend_is_passed_on(void **state) {
    (void)state;
    fake *f = fake_new();
    vyre_backend *backend = fake_open(f);
    fake_case c;
    fake_case_open(&c);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_timing timing;
    assert_int_equal(vyre_backend_dispatch_timed(backend, c.program, &c.arguments, NULL, &outputs, &timing, NULL, NULL),
                     VYRE_OK);
    assert_int_equal(timing.wall_ns, 7);
    assert_int_equal(timing.present, VYRE_TIMED_DEVICE);
    assert_int_equal(timing.device_ns, 5);
    vyre_outputs_free(&outputs);
    fake_case_close(&c);
    vyre_backend_release(backend);
}

static void resident_ranges_are_forwarded_as_given(void **state) {
    (void)state;
    fake *f = fake_new();
    vyre_backend *backend = fake_open(f);
    fake_case c;
    fake_case_open(&c);
    vyre_resident x, out;
    uint32_t words[3] = {1, 2, 3};
    assert_int_equal(vyre_resident_allocate(backend, 64, NULL, &x, NULL), VYRE_OK);
    uint64_t native = f->last_native;
    assert_int_equal(vyre_resident_allocate(backend, 12, NULL, &out, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_upload_at(backend, x, 8, words, sizeof words, NULL), VYRE_OK);
    assert_int_equal(f->seen.first_native, native);
    assert_int_equal(f->seen.first_offset, 8);
    assert_int_equal(f->seen.first_size, 12);
    assert_ptr_equal(f->seen.first_input, words);
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = x, .offset = 8, .size = 12},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = out}};
    vyre_timing timing;
    assert_int_equal(
        vyre_backend_dispatch_resident(backend, c.program, bindings, 2, &c.arguments, NULL, &timing, NULL, NULL),
        VYRE_OK);
    assert_int_equal(f->seen.first_native, native);
    assert_int_equal(f->seen.first_offset, 8);
    assert_int_equal(f->seen.first_size, 12);
    assert_int_equal(f->seen.elements[0], 3);
    assert_int_equal(f->seen.elements[1], 3);
    assert_int_equal(vyre_resident_download_at(backend, out, 4, words, 4, NULL), VYRE_OK);
    assert_int_equal(words[0], 2 * 5 + 1);
    fake_case_close(&c);
    vyre_backend_release(backend);
}

/* ---- a backend with `id` and `dispatch` alone ---- */

static const char *const small_text = "program small {\n buffer x : u32 read_write\n grid 1\n x[0] = x[0] + 1 }";

typedef struct minimal {
    fake *f;
    vyre_backend *backend;
    vyre_module *module;
    vyre_program *program;
    uint32_t x[2];
    vyre_span input;
    vyre_arguments arguments;
} minimal;

static void minimal_open(minimal *m) {
    m->f = fake_new();
    m->f->table = (vyre_backend_vtable){.struct_size = offsetof(vyre_backend_vtable, version),
                                        .abi = VYRE_BACKEND_ABI,
                                        .id = fake_id,
                                        .dispatch = fake_dispatch};
    m->backend = fake_open(m->f);
    m->program = fake_parse(small_text, &m->module);
    m->x[0] = 41, m->x[1] = 7;
    m->input = (vyre_span){m->x, sizeof m->x};
    m->arguments = (vyre_arguments){.inputs = &m->input, .input_count = 1};
}

static void minimal_close(minimal *m) {
    vyre_module_free(m->module);
    vyre_backend_release(m->backend); /* without `destroy` nothing is freed */
    fake_destroy(m->f);
}

static void a_minimal_backend_runs_every_form(void **state) {
    (void)state;
    minimal m;
    minimal_open(&m);
    for (int form = 0; form < FAKE_FORMS; form++) {
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        assert_int_equal(fake_run(form, m.backend, m.program, &m.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
        assert_int_equal(atomic_load(&m.f->calls[FAKE_dispatch]), form + 1);
        assert_int_equal(outputs.count, 1);
        assert_int_equal(((uint32_t *)outputs.items[0].data)[0], 42);
        assert_int_equal(((uint32_t *)outputs.items[0].data)[1], 7);
        if (form == 3)
            assert_ptr_equal(m.f->seen.first_input, m.x); /* owned inputs are not copied */
        else
            assert_ptr_not_equal(m.f->seen.first_input, m.x); /* borrowed ones are */
        vyre_outputs_free(&outputs);
    }
    vyre_timing timing;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(
        vyre_backend_dispatch_timed(m.backend, m.program, &m.arguments, NULL, &outputs, &timing, NULL, NULL), VYRE_OK);
    assert_true(timing.wall_ns > 0);
    assert_int_equal(timing.present, 0); /* absent, not 0 */
    vyre_outputs_free(&outputs);
    minimal_close(&m);
}

static void a_minimal_backend_has_conservative_defaults(void **state) {
    (void)state;
    minimal m;
    minimal_open(&m);
    static const uint64_t defaults[VYRE_CAPABILITY_COUNT] = {
#define X(ID, name, fallback, doc) fallback,
        VYRE_CAPABILITY_LIST(X)
#undef X
    };
    size_t count, core;
    vyre_error error;
    assert_string_equal(vyre_backend_id(m.backend), "fake");
    assert_string_equal(vyre_backend_version(m.backend), "unspecified");
    assert_ptr_equal(vyre_backend_supported_ops(m.backend, &count), vyre_core_supported_ops(&core));
    assert_int_equal(count, core);
    for (int i = 0; i < VYRE_CAPABILITY_COUNT; i++)
        assert_int_equal(vyre_backend_capability(m.backend, (vyre_capability)i),
                         i == VYRE_CAPABILITY_MAX_INVOCATIONS ? 1 : defaults[i]);
    assert_int_equal(vyre_backend_capability(m.backend, VYRE_CAPABILITY_COUNT), 0);
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_backend_profile(m.backend, &profile);
    assert_string_equal(profile.backend, "fake");
    assert_string_equal(profile.device, "");
    assert_int_equal(profile.max_native_int_width, 32);
    assert_int_equal(profile.max_workgroup_size[0], 1);
    assert_int_equal(profile.max_invocations_per_workgroup, 1);
    assert_int_equal(profile.compute_units, 0);
    assert_int_equal(profile.has_subgroup_shuffle, 0);
    const uint8_t flags[] = {profile.supports_subgroup_ops,
                             profile.supports_indirect_dispatch,
                             profile.supports_specialization_constants,
                             profile.supports_f16,
                             profile.supports_bf16,
                             profile.supports_trap_propagation,
                             profile.supports_tensor_cores,
                             profile.has_mul_high,
                             profile.has_dual_issue_fp32_int32,
                             profile.has_shared_memory};
    for (size_t i = 0; i < sizeof flags; i++)
        assert_int_equal(flags[i], 0);
    const uint64_t unknown[] = {profile.max_shared_memory_bytes,
                                profile.max_storage_buffer_binding_size,
                                profile.subgroup_size,
                                profile.regs_per_thread_max,
                                profile.l1_cache_bytes,
                                profile.l2_cache_bytes,
                                profile.mem_bw_gbps,
                                profile.ideal_unroll_depth,
                                profile.ideal_vector_pack_bits,
                                profile.ideal_workgroup_tile[0],
                                profile.ideal_workgroup_tile[1],
                                profile.ideal_workgroup_tile[2],
                                profile.shared_memory_bank_count,
                                profile.shared_memory_bank_width_bytes};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(unknown[i], 0);
    assert_int_equal(vyre_backend_prepare(m.backend, m.program, &error), VYRE_OK);
    assert_int_equal(vyre_backend_flush(m.backend, &error), VYRE_OK);
    assert_false(vyre_backend_device_lost(m.backend));
    assert_int_equal(vyre_backend_shutdown(m.backend, &error), VYRE_OK);
    minimal_close(&m);
}

static void expect_unsupported(vyre_status status, const vyre_error *error, const char *feature) {
    assert_int_equal(status, VYRE_UNSUPPORTED);
    assert_non_null(strstr(error->message, feature));
    assert_non_null(strstr(error->message, "`fake`"));
    assert_true(error->fix[0]);
}

static void a_minimal_backend_names_what_it_lacks(void **state) {
    (void)state;
    minimal m;
    minimal_open(&m);
    vyre_error error;
    vyre_resident handle = {1, 1};
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_resource binding = {.kind = VYRE_RESOURCE_RESIDENT, .resident = handle};
    vyre_transfer transfer = {handle, 0, 4, m.x};
    expect_unsupported(vyre_resident_allocate(m.backend, 4, NULL, &handle, &error), &error,
                       "resident buffer allocation");
    expect_unsupported(vyre_resident_upload(m.backend, handle, m.x, 4, &error), &error, "resident buffer upload");
    expect_unsupported(vyre_resident_upload_at(m.backend, handle, 0, m.x, 4, &error), &error, "resident buffer upload");
    expect_unsupported(vyre_resident_download(m.backend, handle, &bytes, &error), &error, "resident buffer download");
    expect_unsupported(vyre_resident_upload_batch(m.backend, &transfer, 1, &error), &error, "resident buffer upload");
    expect_unsupported(vyre_resident_download_batch(m.backend, &transfer, 1, &error), &error,
                       "resident buffer download");
    expect_unsupported(vyre_resident_free(m.backend, handle, &error), &error, "resident buffer free");
    expect_unsupported(
        vyre_backend_dispatch_resident(m.backend, m.program, &binding, 1, &m.arguments, NULL, NULL, NULL, &error),
        &error, "resident timed dispatch");
    expect_unsupported(vyre_backend_try_recover(m.backend, &error), &error, "device recovery");
    minimal_close(&m);
}

/* Each entry is removed separately: everything else still works, and so does its documented fallback. */
static void any_entry_may_be_missing(void **state) {
    (void)state;
#define X(name) offsetof(vyre_backend_vtable, name),
    static const size_t offsets[] = {FAKE_ENTRIES(X)};
#undef X
    for (int i = FAKE_version; i < FAKE_destroy; i++) {
        fake *f = fake_new();
        memset((char *)&f->table + offsets[i], 0, sizeof(void (*)(void)));
        vyre_backend *backend = fake_open(f);
        fake_case c;
        fake_case_open(&c);
        for (int form = 0; form < FAKE_FORMS && i != FAKE_capability; form++) {
            vyre_outputs outputs = VYRE_OUTPUTS_INIT;
            assert_int_equal(fake_run(form, backend, c.program, &c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
            fake_case_check(&c, &outputs);
            vyre_outputs_free(&outputs);
        }
        assert_int_equal(vyre_backend_flush(backend, NULL), VYRE_OK);
        fake_case_close(&c);
        vyre_backend_release(backend);
    }
}

static void short_tables_and_wrong_versions_are_refused(void **state) {
    (void)state;
    static const struct {
        uint32_t size, abi;
        int id, dispatch; /* or `compile` */
    } rows[] = {{0, 1, 1, 1},
                {8, 1, 1, 1},
                {16, 1, 1, 1},
                {sizeof(vyre_backend_vtable), 0, 1, 1},
                {sizeof(vyre_backend_vtable), VYRE_BACKEND_ABI + 1, 1, 1},
                {sizeof(vyre_backend_vtable), 1, 0, 1},
                {sizeof(vyre_backend_vtable), 1, 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fake *f = fake_new();
        f->table.struct_size = rows[i].size;
        f->table.abi = rows[i].abi;
        f->table.id = rows[i].id ? fake_id : NULL;
        f->table.dispatch = rows[i].dispatch ? fake_dispatch : NULL;
        f->table.compile = rows[i].dispatch ? fake_compile : NULL;
        f->table.destroy = NULL;
        vyre_backend_instance instance = {&f->table, f};
        vyre_backend *backend;
        vyre_error error;
        assert_int_equal(vy_backend_wrap(&instance, &backend, &error), VYRE_ABI_MISMATCH);
        assert_null(backend);
        fake_destroy(f);
    }
    vyre_backend_instance none = {NULL, NULL};
    vyre_backend *backend;
    assert_int_equal(vy_backend_wrap(&none, &backend, NULL), VYRE_ABI_MISMATCH);
}

static void prepare_is_called_once_for_each_program(void **state) {
    (void)state;
    fake *f = fake_new();
    vyre_backend *backend = fake_open(f);
    fake_case c, again;
    fake_case_open(&c);
    fake_case_open(&again); /* another object, an equal program */
    vyre_module *module;
    vyre_program *other = fake_parse(small_text, &module);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    uint32_t x = 1;
    vyre_span input = {&x, 4};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vyre_backend_dispatch(backend, c.program, &c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
        assert_int_equal(vyre_backend_dispatch(backend, again.program, &c.arguments, NULL, &outputs, NULL, NULL),
                         VYRE_OK);
    }
    assert_int_equal(atomic_load(&f->calls[FAKE_prepare]), 1);
    assert_int_equal(vyre_backend_prepare(backend, other, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_dispatch(backend, other, &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    assert_int_equal(atomic_load(&f->calls[FAKE_prepare]), 2);
    vyre_outputs_free(&outputs);
    vyre_module_free(module);
    fake_case_close(&c);
    fake_case_close(&again);
    vyre_backend_release(backend);
}

static void a_profile_of_an_older_caller_is_filled_as_far_as_it_goes(void **state) {
    (void)state;
    vyre_backend *backend = fake_open(fake_new());
    vyre_device_profile profile;
    memset(&profile, 0xa5, sizeof profile);
    profile.struct_size = offsetof(vyre_device_profile, max_native_int_width);
    vyre_backend_profile(backend, &profile);
    assert_string_equal(profile.device, "made up");
    assert_int_equal(profile.struct_size, offsetof(vyre_device_profile, max_native_int_width));
    assert_int_equal(profile.max_native_int_width, 0xa5a5a5a5);
    vyre_backend_release(backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_a_backend_has_is_called),
        cmocka_unit_test(dispatch_is_forwarded_as_given),
        cmocka_unit_test(timing_of_a_backend_is_passed_on),
        cmocka_unit_test(resident_ranges_are_forwarded_as_given),
        cmocka_unit_test(a_minimal_backend_runs_every_form),
        cmocka_unit_test(a_minimal_backend_has_conservative_defaults),
        cmocka_unit_test(a_minimal_backend_names_what_it_lacks),
        cmocka_unit_test(any_entry_may_be_missing),
        cmocka_unit_test(short_tables_and_wrong_versions_are_refused),
        cmocka_unit_test(prepare_is_called_once_for_each_program),
        cmocka_unit_test(a_profile_of_an_older_caller_is_filled_as_far_as_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
