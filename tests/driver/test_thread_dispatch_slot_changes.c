/* The memo of a dispatch slot (driver/dispatch_slot.c) while everything it depends on changes: pipelines are released
 * and created, buffers are freed, exported and reclaimed, and the device is lost and recovered. More threads dispatch
 * than there are dispatch slots. */
#include "driver/live.h"
#include "driver/pipeline_forms.h"

#include "base/thread.h"
#include "driver/resource_dispatch.h"
#include "vyre/text.h"

enum { BYTES = 64, THREADS = VY_DISPATCH_SLOTS + 4, BUFFERS = 5, PIPELINES = 2, TIMES = VY_SANITIZED ? 100 : 300 };

static vyre_backend *backend;
static vyre_module *module;

/* What all use, under a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vyre_pipeline *pipelines[PIPELINES];
static vyre_resident buffers[BUFFERS];

/* ---- the device ---- */

static _Atomic uint64_t next_native = 1; /* none is given twice */
static _Atomic unsigned wrong, good, seated;

/* The request of the calling thread. */
static _Thread_local struct {
    vyre_program *program;
    uint64_t param;
    uint32_t groups;
} asked;

static vyre_status allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    (void)self, (void)size, (void)error;
    *native = atomic_fetch_add(&next_native, 1);
    atomic_fetch_add(&wrong, !live_set(0, *native));
    return VYRE_OK;
}

static vyre_status release(void *self, uint64_t native, vyre_error *error) {
    (void)self, (void)error;
    atomic_fetch_add(&wrong, !live_set(native, 0));
    return VYRE_OK;
}

static vyre_status upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                          vyre_error *error) {
    (void)self, (void)offset, (void)data, (void)size, (void)error;
    atomic_fetch_add(&wrong, !live_set(native, native));
    return VYRE_OK;
}

static vyre_status recover(void *self, vyre_error *error) {
    (void)self, (void)error;
    live_forget();
    return VYRE_OK;
}

/* It receives the request, on buffers that exist as long as it runs. */
static vyre_status run(void *self, const vyre_launch *launch, const vyre_resource *bindings, size_t count,
                       vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    (void)self, (void)timing, (void)error;
    int is_right = launch->program == asked.program && launch->param_count == 1 &&
                   launch->params[0].bits == asked.param && launch->groups[0] == asked.groups &&
                   launch->buffer_count == count;
    atomic_fetch_add(&seated, !vy_dispatch_slots_are_idle(&backend->dispatch_slots));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++)
            is_right &= live_set(bindings[i].resident.id, bindings[i].resident.id);
        sched_yield();
    }
    atomic_fetch_add(&wrong, !is_right);
    outputs->count = 1;
    return VYRE_OK;
}

/* ---- changes ---- */

static vyre_resident take_buffer(unsigned i, const vyre_resident *fresh) {
    pthread_mutex_lock(&lock);
    vyre_resident handle = buffers[i];
    if (fresh)
        buffers[i] = *fresh;
    pthread_mutex_unlock(&lock);
    return handle;
}

/* Frees a buffer that others use, as soon as possible; half of them are restored with the device. */
static void replace_buffer(unsigned i) {
    static const uint32_t source[BYTES / 4] = {1, 2, 3};
    vyre_resident fresh;
    if (vyre_resident_allocate(backend, BYTES, i % 2 ? source : NULL, &fresh, NULL) != VYRE_OK)
        return; /* the device is lost just now */
    vyre_resident old = take_buffer(i, &fresh);
    while (vyre_resident_free(backend, old, NULL) == VYRE_CONFLICT)
        sched_yield();
}

static vyre_pipeline *take_pipeline(unsigned i) {
    pthread_mutex_lock(&lock);
    vyre_pipeline *pipeline = vyre_pipeline_retain(pipelines[i]);
    pthread_mutex_unlock(&lock);
    return pipeline;
}

/* The old one ends with its last user, and its memory may be reused for the new one. */
static void replace_pipeline(unsigned i) {
    vyre_pipeline *fresh;
    if (vyre_compile(backend, vyre_module_program(module, i), NULL, &fresh, NULL) != VYRE_OK)
        return;
    pthread_mutex_lock(&lock);
    vyre_pipeline *old = pipelines[i];
    pipelines[i] = fresh;
    pthread_mutex_unlock(&lock);
    vyre_pipeline_release(old);
}

static void lend_buffer(unsigned i) {
    vyre_resident handle = take_buffer(i, NULL);
    vy_resident_use use;
    vyre_error error;
    if (vy_backend_enter(backend, &error) != VYRE_OK)
        return;
    if (vy_resident_pin(backend, handle, 0, 0, 1, 0, &use, &error) == VYRE_OK) {
        vy_resident_add_export(backend, &use, 0x1000 * (i + 1));
        vy_resident_unpin(backend, &use, 1);
        vy_resident_remove_export(backend, handle, &error);
    }
    vy_backend_leave(backend);
}

static void lose_device(void) {
    vy_backend_mark_lost(backend);
    sched_yield();
    atomic_fetch_add(&wrong, vyre_backend_try_recover(backend, NULL) != VYRE_OK);
    for (unsigned i = 0; i < BUFFERS; i++)
        replace_buffer(i);
}

static void change(unsigned worker, int time, unsigned drawn) {
    if (worker == 0 && time % 20 == 7)
        lose_device();
    if (worker == 1 && time % 3 == 0)
        replace_buffer(drawn % BUFFERS);
    if (worker == 2 && time % 4 == 0)
        replace_pipeline(drawn % PIPELINES);
    if (worker == 3 && time % 5 == 0)
        lend_buffer(drawn % BUFFERS);
}

/* ---- dispatches ---- */

static vyre_status dispatch(vyre_pipeline *pipeline, const vyre_resource *bindings, size_t count,
                            const vyre_scalar *param) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_arguments arguments = {.params = param, .param_count = 1};
    vyre_error error;
    vyre_status status = vy_outputs_reserve(&outputs, 4, &error);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_persistent(pipeline, bindings, count, &arguments, NULL, &outputs, NULL, NULL,
                                                   &error);
    vyre_outputs_free(&outputs);
    return status;
}

/* The same several times, so that it is what ran last. */
static void dispatch_drawn(vy_random *random) {
    unsigned which = (unsigned)vy_random_below(random, PIPELINES);
    unsigned a = (unsigned)vy_random_below(random, BUFFERS),
             b = (a + 1 + (unsigned)vy_random_below(random, BUFFERS - 1)) % BUFFERS;
    vyre_pipeline *pipeline = take_pipeline(which);
    vyre_resource bindings[2] = {
        {.kind = VYRE_RESOURCE_RESIDENT, .resident = take_buffer(a, NULL), .size = vy_random_below(random, 2) * 32},
        {.kind = VYRE_RESOURCE_RESIDENT, .resident = take_buffer(b, NULL)}};
    vyre_scalar param = {VYRE_TYPE_U32, vy_random_below(random, 3)};
    asked.program = vyre_module_program(module, which), asked.param = param.bits;
    asked.groups = bindings[0].size ? 2 : 4;
    for (int i = 0; i < 4; i++) {
        vyre_status status = dispatch(pipeline, bindings, which + 1, &param);
        atomic_fetch_add(&good, status == VYRE_OK);
        /* The buffer or the device went before. */
        if (status != VYRE_OK && status != VYRE_INVALID_ARGUMENT && status != VYRE_DEVICE_LOST)
            atomic_fetch_add(&wrong, 1);
        if (status == VYRE_DEVICE_LOST)
            sched_yield();
    }
    vyre_pipeline_release(pipeline);
}

static void work(void *user, unsigned worker) {
    (void)user;
    vy_random random = vy_random_start(worker);
    for (int i = 0; i < TIMES; i++) {
        change(worker, i, (unsigned)vy_random_below(&random, 1000));
        dispatch_drawn(&random);
    }
}

static void a_seat_runs_what_was_asked_for_whatever_changes(void **state) {
    (void)state;
    static const char text[] =
        "program one {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n"
        " x[global_id.x] = x[global_id.x] + k\n}\n"
        "program two {\n param k : u32\n buffer x : u32 read\n buffer o : u32 read_write\n workgroup 4\n grid over x\n"
        " o[global_id.x] = x[global_id.x] + k\n}\n";
    vyre_error error = VYRE_ERROR_INIT;
    fake *f = fake_new();
    f->is_shared = 1;
    f->table.resident_allocate = allocate, f->table.resident_free = release, f->table.resident_upload = upload;
    f->table.try_recover = recover;
    f->pipeline_table.dispatch_persistent_into = run;
    backend = fake_open(f);
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), VYRE_OK);
    for (unsigned i = 0; i < PIPELINES; i++)
        assert_int_equal(vyre_compile(backend, vyre_module_program(module, i), NULL, &pipelines[i], &error), VYRE_OK);
    for (int i = 0; i < BUFFERS; i++)
        assert_int_equal(vyre_resident_allocate(backend, BYTES, NULL, &buffers[i], &error), VYRE_OK);
    vy_parallel(THREADS, work, NULL);
    assert_int_equal(wrong, 0);
    assert_true(good > 0 && seated > 0);
    assert_true(vy_dispatch_slots_are_idle(&backend->dispatch_slots));
    for (int i = 0; i < PIPELINES; i++)
        vyre_pipeline_release(pipelines[i]);
    assert_int_equal(vyre_backend_shutdown(backend, &error), VYRE_OK);
    vyre_module_free(module);
    vyre_backend_release(backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seat_runs_what_was_asked_for_whatever_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
