/* The fast path of dispatches on resident buffers refuses, reports, forwards and counts like the general path. A limit
 * on the output bytes that is never reached forces the general path. */
#include "driver/pipeline_forms.h"

#include "driver/resource_dispatch.h"
#include "vyre/telemetry.h"
#include "vyre/text.h"

static const vyre_dispatch_config the_long_road = {.max_output_bytes = UINT64_MAX};

enum { HANDLES = 8, BYTES = 64 };

typedef struct place {
    fake *f;
    vyre_backend *backend, *other;
    vyre_module *module;
    vyre_program *program;
    vyre_pipeline *pipeline;
    vyre_resident handles[HANDLES]; /* the last three: freed, of another backend, none */
} place;

static vyre_resident make(vyre_backend *backend) {
    vyre_resident handle;
    assert_int_equal(vyre_resident_allocate(backend, BYTES, NULL, &handle, NULL), VYRE_OK);
    return handle;
}

static void place_open(place *p, const char *text) {
    vyre_error error = VYRE_ERROR_INIT;
    p->f = fake_new();
    p->backend = fake_open(p->f);
    p->other = fake_open(fake_new());
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &p->module, &error) != VYRE_OK)
        fail_msg("%s\n%s", error.message, text);
    p->program = vyre_module_program(p->module, 0);
    if (vyre_compile(p->backend, p->program, NULL, &p->pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    for (int i = 0; i < HANDLES - 3; i++)
        p->handles[i] = make(p->backend);
    p->handles[HANDLES - 3] = make(p->backend);
    assert_int_equal(vyre_resident_free(p->backend, p->handles[HANDLES - 3], NULL), VYRE_OK);
    p->handles[HANDLES - 2] = make(p->other);
    p->handles[HANDLES - 1] = (vyre_resident){0, 0};
}

static void place_close(place *p) {
    vyre_pipeline_release(p->pipeline);
    vyre_module_free(p->module);
    vyre_backend_release(p->backend);
    vyre_backend_release(p->other);
}

/* ---- one dispatch, both ways ---- */

typedef struct asked {
    vyre_resource bindings[5];
    size_t count;
    vyre_scalar param;
    vyre_arguments arguments;
    size_t slots;   /* the caller has */
    int on_backend; /* without a pipeline */
} asked;

typedef struct answer {
    vyre_status status;
    vyre_error error;
    fake_seen seen;
    vyre_counters counted;
    size_t outputs;
    vyre_trap trap;
} answer;

static void ask(place *p, const asked *a, const vyre_dispatch_config *config, answer *got) {
    vyre_counters before;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    memset(got, 0, sizeof *got);
    if (a->slots) {
        outputs.items = vy_host_services.allocate(a->slots * sizeof *outputs.items);
        assert_non_null(outputs.items);
        memset(outputs.items, 0, a->slots * sizeof *outputs.items);
        outputs.capacity = outputs.count = a->slots;
    }
    memset(&p->f->seen, 0, sizeof p->f->seen);
    vyre_counters_get(&before);
    got->status = a->on_backend ? vyre_backend_dispatch_resident(p->backend, p->program, a->bindings, a->count,
                                                                 &a->arguments, config, NULL, &got->trap, &got->error)
                                : vyre_pipeline_dispatch_persistent(p->pipeline, a->bindings, a->count, &a->arguments,
                                                                    config, &outputs, NULL, &got->trap, &got->error);
    vyre_counters_get(&got->counted);
    for (size_t i = 0; i < sizeof before / sizeof(uint64_t); i++)
        ((uint64_t *)&got->counted)[i] -= ((const uint64_t *)&before)[i];
    got->seen = p->f->seen;
    got->seen.first_input = NULL; /* the location an indirect grid was downloaded to */
    got->outputs = outputs.count;
    vyre_outputs_free(&outputs);
}

static void assert_same(place *p, const asked *a) {
    answer straight, lengthy;
    ask(p, a, NULL, &straight);
    ask(p, a, &the_long_road, &lengthy);
    assert_int_equal(straight.status, lengthy.status);
    if (straight.status != VYRE_OK) {
        assert_string_equal(straight.error.message, lengthy.error.message);
        assert_string_equal(straight.error.fix, lengthy.error.fix);
        assert_string_equal(straight.error.where, lengthy.error.where);
    }
    assert_int_equal(straight.outputs, lengthy.outputs);
    for (size_t i = 0; i < straight.seen.param_count && i < 4; i++) {
        assert_int_equal(straight.seen.params[i].type, lengthy.seen.params[i].type);
        assert_int_equal(straight.seen.params[i].bits, lengthy.seen.params[i].bits);
    }
    const size_t rest = offsetof(fake_seen, param_count); /* there are gaps in params */
    assert_memory_equal(&straight.seen.param_count, &lengthy.seen.param_count, sizeof(fake_seen) - rest);
    assert_memory_equal(&straight.counted, &lengthy.counted, sizeof straight.counted);
    assert_int_equal(straight.trap.invocation, lengthy.trap.invocation);
}

/* ---- requests ---- */

static uint32_t below(uint64_t *state, uint32_t bound) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % bound;
}

static void choose(const place *p, uint64_t *state, asked *a) {
    static const uint64_t sizes[] = {0, 8, 16, 16, 32, 64, 7, 65}, offsets[] = {0, 8, 16, 3, 64, 65};
    memset(a, 0, sizeof *a);
    a->count = p->program->buffer_count;
    for (size_t i = 0; i < a->count; i++) {
        uint32_t handle = below(state, 40) ? (uint32_t)i : below(state, HANDLES);
        a->bindings[i] = (vyre_resource){.kind = below(state, 60) ? VYRE_RESOURCE_RESIDENT : VYRE_RESOURCE_HOST,
                                         .resident = p->handles[handle],
                                         .offset = offsets[below(state, 3) ? 0 : below(state, 6)],
                                         .size = sizes[below(state, below(state, 8) ? 4 : 8)]};
    }
    if (!below(state, 50))
        a->count += below(state, 2) ? 1 : UINT64_MAX;
    a->param =
        (vyre_scalar){below(state, 30) ? VYRE_TYPE_I32 : VYRE_TYPE_U32, below(state, 10) ? below(state, 5) : ~0u};
    a->arguments.params = below(state, 60) ? &a->param : NULL;
    a->arguments.param_count = p->program->param_count + !below(state, 60);
    a->slots = below(state, 4);
    a->on_backend = below(state, 3) == 0;
    if (!below(state, 6))
        a->arguments.geometry =
            (vyre_geometry){(vyre_geometry_kind)below(state, 4),
                            {below(state, 10) ? below(state, 20) : UINT32_MAX, below(state, 3), below(state, 3)}};
}

static const char *const programs[] = {
    "program one {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n x[global_id.x] = 1\n}",
    "program counts {\n param n : i32\n buffer x : u32 read\n buffer o : u16 write count len(x) + n\n buffer y : u8 "
    "read "
    "count len(x) * 4\n workgroup 6\n grid over o\n}",
    "program later {\n buffer o : u32 write count len(p)\n buffer p : u32 write count 4\n workgroup 2\n grid 2, 3\n}",
    "program open {\n param n : i32\n buffer o : f64 write\n buffer p : f16 read_write\n buffer q : u32 uniform\n "
    "workgroup "
    "2, 2\n}",
    "program indirect {\n buffer g : u32 read\n buffer o : u32 write\n workgroup 2\n grid indirect g\n}",
    "program traps {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n if global_id.x == 3 {\n trap 7\n }\n}",
};

static void every_dispatch_ends_as_it_does_the_long_road(void **state) {
    (void)state;
    uint64_t random = 1;
    unsigned good = 0;
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
        place p;
        asked a;
        answer unseen;
        place_open(&p, programs[k]);
        for (int i = 0; i < 1500; i++) {
            choose(&p, &random, &a);
            assert_same(&p, &a);
            assert_same(&p, &a); /* what a dispatch_slot ran last it may run again */
            ask(&p, &a, NULL, &unseen);
            good += unseen.status == VYRE_OK;
        }
        place_close(&p);
    }
    assert_true(good > 500);
}

/* Two buffers, and a first dispatch done. */
static void place_ready(place *p, asked *a) {
    answer got;
    place_open(
        p, "program two {\n buffer x : u32 read_write\n buffer o : u32 write count len(x)\n workgroup 4\n grid over "
           "x\n o[global_id.x] = x[global_id.x]\n}");
    *a = (asked){.bindings = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = p->handles[0]},
                              {.kind = VYRE_RESOURCE_RESIDENT, .resident = p->handles[1]}},
                 .count = 2,
                 .slots = 2};
    ask(p, a, NULL, &got);
    assert_int_equal(got.status, VYRE_OK);
}

/* The last launch is reused if and only if the request is equal. */
static void nearly_the_same_is_not_the_same(void **state) {
    (void)state;
    place p;
    place_open(
        &p, "program fills {\n param n : i32\n buffer x : u32 read_write\n workgroup 4\n if global_id.x < len(x) {\n "
            "x[global_id.x] = 1\n }\n}");
    const asked usual = {.bindings = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = p.handles[0], .size = 32}},
                         .count = 1,
                         .slots = 1,
                         .param = {VYRE_TYPE_I32, 5},
                         .arguments = {.param_count = 1, .geometry = {VYRE_GEOMETRY_ELEMENTS, {8, 1, 1}}}};
    for (int round = 0; round < 40; round++) {
        asked a = usual;
        a.arguments.params = &a.param;
        a.param.bits += round % 10 == 1;
        a.param.type = round % 10 == 2 ? VYRE_TYPE_U32 : VYRE_TYPE_I32;
        a.arguments.geometry.size[round % 3] += round % 10 == 3;
        a.arguments.geometry.kind = round % 10 == 4 ? VYRE_GEOMETRY_GROUPS : VYRE_GEOMETRY_ELEMENTS;
        a.arguments.param_count += round % 10 == 5;
        a.bindings[0].size -= round % 10 == 6 ? 4 : 0;
        a.bindings[0].offset += round % 10 == 7 ? 4 : 0;
        a.bindings[0].resident = round % 10 == 8 ? p.handles[1] : p.handles[round % 10 == 9 ? HANDLES - 2 : 0];
        assert_same(&p, &a);
        a = usual;
        a.arguments.params = &a.param;
        assert_same(&p, &a);
        assert_same(&p, &a);
    }
    place_close(&p);
}

static void again(place *p, const asked *a, size_t times) {
    answer got;
    for (; times; times--) {
        ask(p, a, NULL, &got);
        assert_int_equal(got.status, VYRE_OK);
    }
}

static void what_a_backend_does_wrong_is_seen_on_both_roads(void **state) {
    (void)state;
    static const vyre_status failures[] = {VYRE_NO_MEMORY, VYRE_TRAPPED, VYRE_CORRUPT, (vyre_status)777};
    static const fake_sin sins[] = {FAKE_FEWER_OUTPUTS, FAKE_MORE_OUTPUTS, FAKE_LONG_OUTPUT,
                                    FAKE_OTHER_LIST,    FAKE_TRAP_OUTSIDE, FAKE_UNKNOWN_STATUS};
    /* Pinned, from a dispatch_slot, and from a dispatch_slot again. */
    for (size_t i = 0; i < 3 * sizeof sins / sizeof *sins; i++) {
        place p;
        asked a;
        place_ready(&p, &a);
        again(&p, &a, i % 3);
        p.f->sin = sins[i / 3];
        assert_same(&p, &a);
        place_close(&p);
    }
    for (size_t i = 0; i < 6 * sizeof failures / sizeof *failures; i++) {
        place p;
        asked a;
        answer got[2];
        for (int road = 0; road < 2; road++) {
            place_ready(&p, &a);
            again(&p, &a, i / 2 % 3);
            p.f->fail_entry = FAKE_PIPELINE_dispatch_persistent_into;
            p.f->fail_at = 2 + (unsigned)(i / 2 % 3), p.f->fail_with = failures[i / 6],
            p.f->fail_silently = (int)(i % 2);
            ask(&p, &a, road ? &the_long_road : NULL, &got[road]);
            place_close(&p);
        }
        assert_int_not_equal(got[0].status, VYRE_OK);
        assert_int_equal(got[0].status, got[1].status);
        assert_string_equal(got[0].error.message, got[1].error.message);
        assert_memory_equal(&got[0].counted, &got[1].counted, sizeof got->counted);
    }
}

static int goes_straight(place *p, const asked *a, const vyre_dispatch_config *config) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status;
    vyre_error error;
    vy_resource_dispatch *b = vy_host_services.allocate(sizeof *b);
    assert_non_null(b);
    assert_int_equal(vy_outputs_reserve(&outputs, 2, &error), VYRE_OK);
    vy_resource_dispatch_describe(b, p->backend, p->program, &a->arguments, config);
    if (!a->on_backend)
        b->pipeline = p->pipeline, b->form = VY_FORM_PERSISTENT, b->outputs = &outputs;
    assert_int_equal(vy_backend_enter(p->backend, &error), VYRE_OK);
    int is_straight = vy_resource_dispatch_run_pinned(b, a->bindings, a->count, &status, &error);
    vy_backend_leave(p->backend);
    if (is_straight)
        assert_int_equal(status, VYRE_OK);
    vyre_outputs_free(&outputs);
    vy_host_services.release(b, sizeof *b);
    return is_straight;
}

static void what_is_made_again_goes_straight(void **state) {
    (void)state;
    vyre_dispatch_config late = {.timeout_ns = 1000000000}, named = {.label = "named"};
    place p;
    asked a;
    place_ready(&p, &a);
    assert_true(goes_straight(&p, &a, NULL));
    assert_true(goes_straight(&p, &a, &named));
    assert_false(goes_straight(&p, &a, &late));
    assert_false(goes_straight(&p, &a, &the_long_road));
    answer got;
    a.on_backend = 1;
    ask(&p, &a, NULL, &got);
    assert_int_equal(got.status, VYRE_OK);
    assert_true(goes_straight(&p, &a, NULL));
    place_close(&p);
}

/* A lost device ends its pipelines: the first dispatch after recovery compiles and prepares, like the very first
 * one. */
static void recovery_prepares_again(void **state) {
    (void)state;
    place p;
    asked a;
    answer got;
    place_ready(&p, &a);
    unsigned prepared = atomic_load(&p.f->calls[FAKE_prepare]);
    ask(&p, &a, NULL, &got);
    assert_int_equal(atomic_load(&p.f->calls[FAKE_prepare]), prepared);
    vy_backend_mark_lost(p.backend);
    ask(&p, &a, NULL, &got);
    assert_int_equal(got.status, VYRE_DEVICE_LOST);
    assert_int_equal(vyre_backend_try_recover(p.backend, NULL), VYRE_OK);
    a.bindings[0].resident = make(p.backend);
    a.bindings[1].resident = make(p.backend);
    assert_false(goes_straight(&p, &a, NULL));
    ask(&p, &a, NULL, &got);
    assert_int_equal(got.status, VYRE_OK);
    assert_int_equal(atomic_load(&p.f->calls[FAKE_prepare]), prepared + 1);
    assert_true(goes_straight(&p, &a, NULL));
    place_close(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dispatch_ends_as_it_does_the_long_road),
        cmocka_unit_test(nearly_the_same_is_not_the_same),
        cmocka_unit_test(what_a_backend_does_wrong_is_seen_on_both_roads),
        cmocka_unit_test(what_is_made_again_goes_straight),
        cmocka_unit_test(recovery_prepares_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
