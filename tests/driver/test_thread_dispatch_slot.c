/* Dispatches from a dispatch slot (driver/dispatch_slot.h): which threads get one, which objects outlive a
 * dispatch, and threads that end objects that others use. */
#include "driver/live.h"
#include "driver/pipeline_forms.h"

#include "base/thread.h"
#include "driver/resource_dispatch.h"
#include "vyre/text.h"

enum { BYTES = 64, THREADS = 4, BUFFERS = 3 };

typedef struct scene {
    fake *f;
    vyre_backend *backend;
    vyre_module *module;
    vyre_pipeline *pipeline;
} scene;

/* The action during a dispatch of the backend, and its result. One scene at a time. */
static void (*meanwhile)(scene *s);
static scene *on_stage;
static _Atomic int calls, has_ended;
static vyre_resident first; /* the buffers of the dispatch */
static vyre_status result;
static vyre_error said;

static vyre_status run(void *self, const vyre_launch *launch, const vyre_resource *bindings, size_t count,
                       vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    atomic_fetch_add(&calls, 1);
    if (meanwhile)
        meanwhile(on_stage);
    return fake_pipeline_dispatch_persistent_into(self, launch, bindings, count, outputs, timing, error);
}

static void open_scene(scene *s, const char *text) {
    vyre_error error = VYRE_ERROR_INIT;
    s->f = fake_new();
    s->f->pipeline_table.dispatch_persistent_into = run;
    s->backend = fake_open(s->f);
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &s->module, &error) != VYRE_OK ||
        vyre_compile(s->backend, vyre_module_program(s->module, 0), NULL, &s->pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    meanwhile = NULL, on_stage = s;
    atomic_store(&has_ended, 0);
}

static void close_scene(scene *s) {
    vyre_pipeline_release(s->pipeline);
    vyre_module_free(s->module);
    vyre_backend_release(s->backend);
}

static const char adds[] =
    "program adds {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n x[global_id.x] = x[global_id.x] + 1\n}";
static const char reads[] = "program reads {\n buffer x : u32 read\n buffer o : u32 write count len(x)\n workgroup 4\n "
                            "grid over x\n o[global_id.x] = x[global_id.x]\n}";

static vyre_resident make(scene *s) {
    vyre_resident handle;
    assert_int_equal(vyre_resident_allocate(s->backend, BYTES, NULL, &handle, NULL), VYRE_OK);
    return handle;
}

static vyre_status dispatch(scene *s, const vyre_resident *handles, size_t count, vyre_error *error) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_resource bindings[16];
    vyre_error own;
    for (size_t i = 0; i < count; i++)
        bindings[i] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = handles[i]};
    vyre_status status = vy_outputs_reserve(&outputs, 16, &own);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_persistent(s->pipeline, bindings, count, NULL, NULL, &outputs, NULL, NULL,
                                                   error ? error : &own);
    vyre_outputs_free(&outputs);
    return status;
}

/* Until all is prepared and known. */
static void warm_up(scene *s, const vyre_resident *handles, size_t count) {
    for (int i = 0; i < 3; i++)
        assert_int_equal(dispatch(s, handles, count, NULL), VYRE_OK);
}

static void look_at_seats(scene *s) {
    has_ended = vy_dispatch_slots_are_idle(&s->backend->dispatch_slots) ? 1 : 2;
}

/* Runs it: whether it did so from a dispatch_slot. */
static int ran_in_slot(scene *s, const vyre_resident *handles, size_t count) {
    meanwhile = look_at_seats;
    assert_int_equal(dispatch(s, handles, count, NULL), VYRE_OK);
    meanwhile = NULL;
    assert_true(vy_dispatch_slots_are_idle(&s->backend->dispatch_slots));
    return has_ended == 2;
}

/* ---- one thread ---- */

static void what_is_used_again_is_used_from_a_seat(void **state) {
    (void)state;
    scene s;
    open_scene(&s, adds);
    vyre_resident handles[] = {make(&s), make(&s)};
    assert_false(ran_in_slot(&s, handles, 1)); /* not prepared */
    assert_false(ran_in_slot(&s, handles, 1)); /* not known */
    assert_true(ran_in_slot(&s, handles, 1));
    assert_false(ran_in_slot(&s, handles + 1, 1));
    assert_true(ran_in_slot(&s, handles + 1, 1));
    assert_true(ran_in_slot(&s, handles, 1));
    close_scene(&s);
}

static void free_first(scene *s) {
    result = vyre_resident_free(s->backend, first, &said);
}

static void a_buffer_in_use_is_not_freed(void **state) {
    (void)state;
    scene s;
    open_scene(&s, adds);
    first = make(&s);
    warm_up(&s, &first, 1);
    meanwhile = free_first;
    assert_int_equal(dispatch(&s, &first, 1, NULL), VYRE_OK);
    assert_int_equal(result, VYRE_CONFLICT);
    assert_string_equal(said.message, "the resident buffer of backend `fake` is in use by 1 calls");
    meanwhile = NULL;
    assert_int_equal(dispatch(&s, &first, 1, NULL), VYRE_OK); /* it was made unknown: another way */
    assert_true(ran_in_slot(&s, &first, 1));
    assert_int_equal(vyre_resident_free(s.backend, first, NULL), VYRE_OK);
    int before = calls;
    vyre_resident other = make(&s); /* in the same slot, and its native value may be the same */
    assert_int_equal(dispatch(&s, &first, 1, &said), VYRE_INVALID_ARGUMENT);
    assert_int_equal(calls, before);
    assert_int_equal(dispatch(&s, &other, 1, NULL), VYRE_OK);
    close_scene(&s);
}

static void dispatch_first(scene *s) {
    meanwhile = look_at_seats;
    result = dispatch(s, &first, 1, &said);
}

static void a_backend_may_dispatch_while_it_does(void **state) {
    (void)state;
    scene s;
    open_scene(&s, adds);
    first = make(&s);
    warm_up(&s, &first, 1);
    int before = calls;
    meanwhile = dispatch_first;
    assert_int_equal(dispatch(&s, &first, 1, NULL), VYRE_OK);
    assert_int_equal(result, VYRE_OK);
    assert_int_equal(calls, before + 2);
    meanwhile = NULL;
    assert_true(vy_dispatch_slots_are_idle(&s.backend->dispatch_slots));
    assert_int_equal(vyre_resident_free(s.backend, first, NULL), VYRE_OK);
    close_scene(&s);
}

/* Contents that come from a source are restored as long as nothing has written them. */
static void reading_from_a_seat_writes_nothing(void **state) {
    (void)state;
    static const uint32_t source[BYTES / 4] = {1, 2, 3};
    uint32_t got[BYTES / 4];
    scene s;
    open_scene(&s, reads);
    vyre_resident handles[2] = {{0, 0}, make(&s)};
    assert_int_equal(vyre_resident_allocate(s.backend, BYTES, source, &handles[0], NULL), VYRE_OK);
    warm_up(&s, handles, 2);
    assert_true(ran_in_slot(&s, handles, 2));
    vyre_resident turned[2] = {handles[1], handles[0]}; /* it is to be written: it was known for reading only */
    vy_backend_mark_lost(s.backend);
    assert_int_equal(vyre_backend_try_recover(s.backend, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_download_at(s.backend, handles[0], 0, got, BYTES, NULL), VYRE_OK);
    assert_memory_equal(got, source, BYTES);
    assert_int_equal(dispatch(&s, handles, 2, NULL), VYRE_INVALID_ARGUMENT); /* the other one is stale */
    handles[1] = turned[0] = make(&s);
    warm_up(&s, handles, 2);
    assert_true(ran_in_slot(&s, handles, 2));
    assert_false(ran_in_slot(&s, turned, 2));
    assert_true(ran_in_slot(&s, turned, 2));
    vy_backend_mark_lost(s.backend);
    assert_int_equal(vyre_backend_try_recover(s.backend, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_download_at(s.backend, handles[0], 0, got, BYTES, NULL), VYRE_INVALID_ARGUMENT);
    close_scene(&s);
}

/* It may be aliased by another handle: the overlap is checked under the lock. */
static void memory_that_others_know_is_not_used_from_a_seat(void **state) {
    (void)state;
    vy_resident_use use;
    scene s;
    open_scene(&s, adds);
    first = make(&s);
    warm_up(&s, &first, 1);
    assert_true(ran_in_slot(&s, &first, 1));
    assert_int_equal(vy_resident_pin(s.backend, first, 0, 0, 1, 0, &use, &said), VYRE_OK);
    vy_resident_add_export(s.backend, &use, 0x1000);
    vy_resident_unpin(s.backend, &use, 1);
    assert_false(ran_in_slot(&s, &first, 1));
    assert_false(ran_in_slot(&s, &first, 1));
    assert_int_equal(vy_resident_remove_export(s.backend, first, &said), VYRE_OK);
    assert_int_equal(vyre_resident_free(s.backend, first, NULL), VYRE_OK);
    close_scene(&s);
}

static void buffers_that_share_a_place_take_turns(void **state) {
    (void)state;
    enum { MANY = VY_PUBLISHED_HANDLES + 2 };
    uint32_t got;
    scene s;
    open_scene(&s, adds);
    vyre_resident handles[MANY];
    for (int i = 0; i < MANY; i++)
        handles[i] = make(&s);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < MANY; i++)
            assert_int_equal(dispatch(&s, &handles[i], 1, NULL), VYRE_OK);
    assert_true(ran_in_slot(&s, &handles[MANY / 2], 1)); /* alone in its bucket */
    assert_false(ran_in_slot(&s, &handles[0], 1));
    assert_true(ran_in_slot(&s, &handles[0], 1));
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(vyre_resident_download_at(s.backend, handles[i], 0, &got, 4, NULL), VYRE_OK);
        assert_int_equal(got, 3 + (i == MANY / 2) + 2 * (i == 0));
        assert_int_equal(vyre_resident_free(s.backend, handles[i], NULL), VYRE_OK);
    }
    close_scene(&s);
}

/* A dispatch with more buffers or params than a dispatch slot can hold runs as well. */
static void large_programs_do_without(void **state) {
    (void)state;
    char text[2000] = "program large {\n";
    vyre_resident handles[VY_DISPATCH_SLOT_BUFFERS + 1];
    scene s;
    for (int i = 0; i <= VY_DISPATCH_SLOT_BUFFERS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " buffer b%d : u32 read_write\n", i);
    strcat(text, " workgroup 4\n grid over b0\n b8[global_id.x] = b0[global_id.x] + 1\n}");
    open_scene(&s, text);
    for (int i = 0; i <= VY_DISPATCH_SLOT_BUFFERS; i++)
        handles[i] = make(&s);
    warm_up(&s, handles, VY_DISPATCH_SLOT_BUFFERS + 1);
    assert_false(ran_in_slot(&s, handles, VY_DISPATCH_SLOT_BUFFERS + 1));
    close_scene(&s);
}

/* ---- ending ---- */

/* Until another thread ends the backend, which has to wait for this. */
static void wait_for_the_end(scene *s) {
    atomic_store(&calls, -1);
    while (!atomic_load(&s->backend->is_closing))
        usleep(10);
    atomic_store(&has_ended, 1);
}

static void *dispatch_once(void *user) {
    static vyre_status status;
    warm_up(user, &first, 1);
    meanwhile = wait_for_the_end;
    status = dispatch(user, &first, 1, NULL);
    return &status;
}

static void shutdown_waits_for_seats(void **state) {
    (void)state;
    scene s;
    pthread_t thread;
    void *status;
    open_scene(&s, adds);
    first = make(&s);
    atomic_store(&calls, 0);
    assert_true(vy_thread_start(&thread, dispatch_once, &s));
    while (atomic_load(&calls) >= 0)
        usleep(10);
    assert_int_equal(vyre_backend_shutdown(s.backend, NULL), VYRE_OK);
    assert_int_equal(atomic_load(&has_ended), 1);
    pthread_join(thread, &status);
    assert_int_equal(*(vyre_status *)status, VYRE_OK);
    meanwhile = NULL;
    assert_int_equal(dispatch(&s, &first, 1, NULL), VYRE_DEVICE_LOST);
    close_scene(&s);
}

static void lose_and_wait(scene *s) {
    vy_backend_mark_lost(s->backend);
    atomic_store(&calls, -1);
    for (int is_waited_for = 0; !is_waited_for;) {
        usleep(10);
        pthread_mutex_lock(&s->backend->lock);
        is_waited_for = s->backend->is_recovering;
        pthread_mutex_unlock(&s->backend->lock);
    }
    atomic_store(&has_ended, 1);
}

static void *lose_once(void *user) {
    warm_up(user, &first, 1);
    meanwhile = lose_and_wait;
    dispatch(user, &first, 1, NULL);
    return NULL;
}

static void recovery_waits_for_seats(void **state) {
    (void)state;
    scene s;
    pthread_t thread;
    open_scene(&s, adds);
    first = make(&s);
    atomic_store(&calls, 0);
    assert_true(vy_thread_start(&thread, lose_once, &s));
    while (atomic_load(&calls) >= 0)
        usleep(10);
    assert_int_equal(vyre_backend_try_recover(s.backend, NULL), VYRE_OK);
    assert_int_equal(atomic_load(&has_ended), 1);
    pthread_join(thread, NULL);
    meanwhile = NULL;
    assert_int_equal(dispatch(&s, &first, 1, NULL), VYRE_INVALID_ARGUMENT); /* it went with the device */
    close_scene(&s);
}

/* ---- many threads ---- */

static _Atomic unsigned wrong, good;

static vyre_status allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    vyre_status status = fake_resident_allocate(self, size, native, error);
    if (status == VYRE_OK && !live_set(0, *native))
        atomic_fetch_add(&wrong, 1);
    return status;
}

static vyre_status release(void *self, uint64_t native, vyre_error *error) {
    if (!live_set(native, 0))
        atomic_fetch_add(&wrong, 1);
    return fake_resident_free(self, native, error);
}

/* Nothing that it uses may go before it returns. */
static vyre_status run_on_live(void *self, const vyre_launch *launch, const vyre_resource *bindings, size_t count,
                               vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    (void)self, (void)launch, (void)timing, (void)error;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++)
            if (!live_set(bindings[i].resident.id, bindings[i].resident.id))
                atomic_fetch_add(&wrong, 1);
        sched_yield();
    }
    outputs->count = 1;
    return VYRE_OK;
}

static vyre_resident shared[BUFFERS];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

static vyre_resident take(unsigned i, const vyre_resident *fresh) {
    pthread_mutex_lock(&shared_lock);
    vyre_resident handle = shared[i];
    if (fresh)
        shared[i] = *fresh;
    pthread_mutex_unlock(&shared_lock);
    return handle;
}

/* Frees a buffer that others dispatch on, as soon as possible, and replaces it. */
static int replace(scene *s, unsigned i) {
    vyre_resident fresh;
    if (vyre_resident_allocate(s->backend, BYTES, NULL, &fresh, NULL) != VYRE_OK)
        return 0;
    vyre_resident old = take(i, &fresh);
    vyre_status status;
    while ((status = vyre_resident_free(s->backend, old, NULL)) == VYRE_CONFLICT)
        sched_yield();
    return status == VYRE_OK;
}

static void work(void *user, unsigned worker) {
    scene *s = user;
    for (int i = 0; i < 300; i++) {
        vyre_resident handle = take((unsigned)i % BUFFERS, NULL);
        if (worker == 0 && i % 4 == 0 && !replace(s, (unsigned)i % BUFFERS))
            atomic_fetch_add(&wrong, 1);
        vyre_status status = dispatch(s, &handle, 1, NULL);
        atomic_fetch_add(&good, status == VYRE_OK);
        if (status != VYRE_OK && status != VYRE_INVALID_ARGUMENT) /* it went before it began */
            atomic_fetch_add(&wrong, 1);
    }
}

static void nobody_frees_what_others_use(void **state) {
    (void)state;
    scene s = {.f = fake_new()};
    vyre_error error = VYRE_ERROR_INIT;
    s.f->is_shared = 1;
    s.f->table.resident_allocate = allocate, s.f->table.resident_free = release;
    s.f->pipeline_table.dispatch_persistent_into = run_on_live;
    s.backend = fake_open(s.f);
    assert_int_equal(vyre_text_parse(adds, strlen(adds), NULL, NULL, &s.module, &error), VYRE_OK);
    assert_int_equal(vyre_compile(s.backend, vyre_module_program(s.module, 0), NULL, &s.pipeline, &error), VYRE_OK);
    for (int i = 0; i < BUFFERS; i++)
        shared[i] = make(&s);
    vy_parallel(THREADS, work, &s);
    assert_int_equal(wrong, 0);
    assert_true(good > 0);
    assert_true(vy_dispatch_slots_are_idle(&s.backend->dispatch_slots));
    for (int i = 0; i < BUFFERS; i++)
        assert_int_equal(vyre_resident_free(s.backend, shared[i], NULL), VYRE_OK);
    close_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_again_is_used_from_a_seat),
        cmocka_unit_test(a_buffer_in_use_is_not_freed),
        cmocka_unit_test(a_backend_may_dispatch_while_it_does),
        cmocka_unit_test(reading_from_a_seat_writes_nothing),
        cmocka_unit_test(memory_that_others_know_is_not_used_from_a_seat),
        cmocka_unit_test(buffers_that_share_a_place_take_turns),
        cmocka_unit_test(large_programs_do_without),
        cmocka_unit_test(shutdown_waits_for_seats),
        cmocka_unit_test(recovery_waits_for_seats),
        cmocka_unit_test(nobody_frees_what_others_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
