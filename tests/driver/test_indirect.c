/* Grids in resident buffers: a backend with the capability receives their location and nothing is read back; any other
 * receives a grid that the library has read. */
#include "driver/pipeline_forms.h"

enum { ITEMS = 3 };

static const char text[] = "program g {\n buffer out : u32 read_write\n buffer dims : u32 read\n workgroup 2\n"
                           "grid indirect dims[1]\n atomic_add(out[0], 1)\n if global_id.x == 9 { trap 4 } }";
static const char barrier_text[] =
    "program b {\n buffer out : u32 read_write\n buffer dims : u32 read\n workgroup 2\n"
    "grid indirect dims[1]\n atomic_add(out[0], 1)\n grid_barrier\n atomic_add(out[1], 1) }";
static const char dims_text[] =
    "program d {\n buffer dims : u32 read_write\n grid 1\n dims[1] = 3\n dims[2] = 1\n dims[3] = 1 }";

typedef struct place {
    rig r;
    vyre_module *module;
    vyre_program *program;
    vyre_pipeline *pipeline;
    vyre_resident out, dims;
    vyre_resource bindings[2]; /* the second: a range from the second element on */
    vyre_error error;
} place;

static void place_open(place *p, const char *source, int reads_grids) {
    fake *f = fake_new();
    uint32_t zeros[2] = {0, 0}, dims[5] = {99, 98, 2, 1, 1};
    f->reads_grids = (uint64_t)reads_grids;
    rig_open_with(&p->r, f);
    p->program = fake_parse(source, &p->module);
    assert_int_equal(vyre_compile(p->r.backend, p->program, NULL, &p->pipeline, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(p->r.backend, sizeof zeros, zeros, &p->out, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(p->r.backend, sizeof dims, dims, &p->dims, NULL), VYRE_OK);
    p->bindings[0] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = p->out};
    p->bindings[1] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = p->dims, .offset = 4};
}

static void place_close(place *p) {
    assert_int_equal(vyre_resident_free(p->r.backend, p->out, NULL), VYRE_OK); /* no pin is left */
    assert_int_equal(vyre_resident_free(p->r.backend, p->dims, NULL), VYRE_OK);
    vyre_pipeline_release(p->pipeline);
    vyre_module_free(p->module);
    rig_close(&p->r);
}

static void set_dims(place *p, uint32_t x, uint32_t y, uint32_t z) {
    const uint32_t dims[5] = {99, 98, x, y, z};
    assert_int_equal(vyre_resident_upload(p->r.backend, p->dims, dims, sizeof dims, NULL), VYRE_OK);
}

static uint32_t counted(place *p, uint64_t at) {
    uint32_t value;
    assert_int_equal(vyre_resident_download_at(p->r.backend, p->out, at, &value, 4, NULL), VYRE_OK);
    return value;
}

static unsigned downloads(const place *p) {
    return atomic_load(&p->r.f->calls[FAKE_resident_download]);
}

/* What the backend was given. */
static void is_left(const place *p, int to_the_device, uint32_t groups) {
    const fake_seen *s = &p->r.f->seen;
    assert_int_equal(s->grid_buffer, to_the_device ? 2 : 0);
    assert_int_equal(s->grid_offset, to_the_device);
    assert_int_equal(s->groups[0], to_the_device ? 0 : groups);
    assert_int_equal(s->groups[2], !to_the_device);
}

static vyre_status dispatch(place *p, int form, vyre_trap *trap) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status;
    if (form == 0)
        return vyre_backend_dispatch_resident(p->r.backend, p->program, p->bindings, 2, NULL, NULL, NULL, trap,
                                              &p->error);
    status =
        vyre_pipeline_dispatch_persistent(p->pipeline, p->bindings, 2, NULL, NULL, &outputs, NULL, trap, &p->error);
    vyre_outputs_free(&outputs);
    return status;
}

static void a_backend_that_reads_grids_is_told_where_they_are(void **state) {
    (void)state;
    for (int reads = 0; reads < 2; reads++)
        for (int form = 0; form < 2; form++) {
            place p;
            place_open(&p, text, reads);
            assert_int_equal(dispatch(&p, form, NULL), VYRE_OK);
            assert_int_equal(downloads(&p), !reads);
            is_left(&p, reads, 2);
            assert_int_equal(counted(&p, 0), 4);
            place_close(&p);
        }
}

static void host_bytes_and_given_grids_are_the_librarys(void **state) {
    const uint32_t dims[4] = {98, 3, 1, 1};
    (void)state;
    place p;
    place_open(&p, text, 1);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    p.bindings[1] = (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = {dims, sizeof dims}};
    assert_int_equal(
        vyre_pipeline_dispatch_persistent(p.pipeline, p.bindings, 2, NULL, NULL, &outputs, NULL, NULL, &p.error),
        VYRE_OK);
    is_left(&p, 0, 3);
    assert_int_equal(counted(&p, 0), 6);
    vyre_arguments given = {.geometry = {VYRE_GEOMETRY_GROUPS, {4, 1, 1}}};
    p.bindings[1] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = p.dims, .offset = 4};
    assert_int_equal(
        vyre_pipeline_dispatch_persistent(p.pipeline, p.bindings, 2, &given, NULL, &outputs, NULL, NULL, &p.error),
        VYRE_OK);
    is_left(&p, 0, 4);
    assert_int_equal(counted(&p, 0), 14);
    vyre_outputs_free(&outputs);
    place_close(&p);
}

static void a_range_that_is_too_short_is_refused_as_ever(void **state) {
    vyre_error errors[2];
    (void)state;
    for (int reads = 0; reads < 2; reads++) {
        place p;
        place_open(&p, text, reads);
        p.bindings[1].size = 12;
        assert_int_equal(dispatch(&p, 0, NULL), VYRE_INVALID_ARGUMENT);
        assert_int_equal(atomic_load(&p.r.f->calls[FAKE_dispatch_resident]), 0);
        errors[reads] = p.error;
        place_close(&p);
    }
    assert_string_equal(errors[0].message, errors[1].message);
    assert_string_equal(errors[0].fix, errors[1].fix);
}

static void empty_grids_and_those_over_the_limits_end_alike(void **state) {
    vyre_error errors[2];
    (void)state;
    for (int reads = 0; reads < 2; reads++) {
        place p;
        place_open(&p, text, reads);
        set_dims(&p, 5, 0, 1);
        assert_int_equal(dispatch(&p, 0, NULL), VYRE_OK);
        assert_int_equal(counted(&p, 0), 0);
        set_dims(&p, UINT32_MAX, 0, 1);
        assert_int_equal(dispatch(&p, 0, NULL), VYRE_LIMIT);
        errors[reads] = p.error;
        assert_int_equal(counted(&p, 0), 0);
        place_close(&p);
    }
    assert_string_equal(errors[0].message, errors[1].message);
    assert_string_equal(errors[0].fix, errors[1].fix);
}

static void a_trap_of_a_grid_nobody_knows_is_believed(void **state) {
    (void)state;
    for (int reads = 0; reads < 2; reads++) {
        place p;
        vyre_trap trap = {0, 0};
        place_open(&p, text, reads);
        set_dims(&p, 70, 1, 1);
        assert_int_equal(dispatch(&p, 1, &trap), VYRE_TRAPPED);
        assert_int_equal(trap.invocation, 9);
        assert_int_equal(trap.code, 4);
        place_close(&p);
    }
}

/* They may have to be tiled, which requires the grid. */
static void grids_of_programs_with_grid_barriers_are_read(void **state) {
    (void)state;
    place p;
    place_open(&p, barrier_text, 1);
    for (uint32_t form = 0; form < 2; form++) {
        assert_int_equal(dispatch(&p, (int)form, NULL), VYRE_OK);
        assert_int_equal(downloads(&p), form + 1);
        is_left(&p, 0, 2);
    }
    assert_int_equal(counted(&p, 4), 8);
    place_close(&p);
}

static void items_of_a_batch_are_told_where_their_grids_are(void **state) {
    (void)state;
    for (int reads = 0; reads < 2; reads++) {
        place p;
        place_open(&p, text, reads);
        const vyre_resource *items[ITEMS] = {p.bindings, p.bindings, p.bindings};
        vyre_outputs outputs[ITEMS];
        memset(outputs, 0, sizeof outputs);
        assert_int_equal(vyre_pipeline_dispatch_persistent_batch(p.pipeline, items, 2, ITEMS, NULL, NULL, outputs, NULL,
                                                                 NULL, &p.error),
                         VYRE_OK);
        assert_int_equal(atomic_load(&p.r.f->calls[FAKE_PIPELINE_dispatch_persistent_batched_into]), 1);
        assert_int_equal(downloads(&p), reads ? 0 : ITEMS);
        is_left(&p, reads, 2);
        assert_int_equal(counted(&p, 0), 4 * ITEMS);
        for (int i = 0; i < ITEMS; i++)
            vyre_outputs_free(&outputs[i]);
        place_close(&p);
    }
}

/* A step makes the grid of the next: one native call where the device reads it, and step by step elsewhere. */
static void a_sequence_with_such_a_step_is_one_native_call(void **state) {
    (void)state;
    for (int reads = 0; reads < 2; reads++) {
        place p;
        vyre_module *module;
        vyre_pipeline *makes;
        uint32_t count = 0;
        size_t failed = 99;
        place_open(&p, text, reads);
        assert_int_equal(vyre_compile(p.r.backend, fake_parse(dims_text, &module), NULL, &makes, NULL), VYRE_OK);
        vyre_step steps[3] = {
            {makes, &p.bindings[1], 1, NULL}, {p.pipeline, p.bindings, 2, NULL}, {p.pipeline, p.bindings, 2, NULL}};
        vyre_readback readback = {p.out, 0, 4, &count};
        set_dims(&p, UINT32_MAX, UINT32_MAX, 7); /* previous contents are irrelevant */
        if (vyre_sequence_run(p.r.backend, steps, 3, &readback, 1, NULL, NULL, &failed, NULL, &p.error) != VYRE_OK)
            fail_msg("step %zu: %s", failed, p.error.message);
        assert_int_equal(count, 12);
        assert_int_equal(atomic_load(&p.r.f->calls[FAKE_sequence]), reads);
        is_left(&p, reads, 3);
        set_dims(&p, 9, 1, 1);
        assert_int_equal(vyre_sequence_run(p.r.backend, &steps[1], 2, NULL, 0, NULL, NULL, &failed, NULL, &p.error),
                         VYRE_TRAPPED);
        assert_int_equal(failed, 0);
        set_dims(&p, UINT32_MAX, 1, 1);
        assert_int_equal(vyre_sequence_run(p.r.backend, &steps[1], 2, NULL, 0, NULL, NULL, &failed, NULL, &p.error),
                         VYRE_LIMIT);
        assert_int_equal(failed, 0);
        vyre_pipeline_release(makes);
        vyre_module_free(module);
        place_close(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backend_that_reads_grids_is_told_where_they_are),
        cmocka_unit_test(host_bytes_and_given_grids_are_the_librarys),
        cmocka_unit_test(a_range_that_is_too_short_is_refused_as_ever),
        cmocka_unit_test(empty_grids_and_those_over_the_limits_end_alike),
        cmocka_unit_test(a_trap_of_a_grid_nobody_knows_is_believed),
        cmocka_unit_test(grids_of_programs_with_grid_barriers_are_read),
        cmocka_unit_test(items_of_a_batch_are_told_where_their_grids_are),
        cmocka_unit_test(a_sequence_with_such_a_step_is_one_native_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
