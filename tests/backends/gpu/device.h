/* A device without a driver, for tests of src/backends/gpu: its work ends when the test says so. */
#ifndef VY_TESTS_GPU_DEVICE_H
#define VY_TESTS_GPU_DEVICE_H

#include "backends/gpu/gpu.h"
#include "support/test.h"

#include <unistd.h>

typedef struct device {
    vy_gpu base;
    vy_gpu_executable code;
    vy_gpu_kernel kernel;
    vy_gpu_slot slot;
    vy_launch_control taken;
    _Atomic int is_done, signals, waits, releases, is_entered;
    int has_driver;
    pthread_t driver; /* calls vy_gpu_pending_done */
    unsigned launches;
    void (*on_launch)(struct device *d, const vyre_launch *launch, const vy_grid_tiles *tile,
                      const vy_gpu_buffers *buffers, uint32_t ticket);
    uint8_t arena[1 << 16], staging[1 << 16];
    uint64_t copied_in, copied_out, cleared; /* bytes */
} device;

static inline vyre_status enter(vy_gpu *gpu, int *was_pushed, vyre_error *error) {
    (void)error;
    *was_pushed = 0;
    ((device *)gpu)->is_entered++;
    return VYRE_OK;
}
static inline void enter_for_release(vy_gpu *gpu, int *was_pushed) {
    (void)enter(gpu, was_pushed, NULL);
}
static inline void leave(vy_gpu *gpu, int was_pushed) {
    (void)was_pushed;
    ((device *)gpu)->is_entered--;
}
static inline vyre_status slot_acquire(vy_gpu *gpu, int is_timed, vy_gpu_slot **out, vyre_error *error) {
    (void)is_timed, (void)error;
    *out = &((device *)gpu)->slot;
    return VYRE_OK;
}
static inline void slot_release(vy_gpu_slot *slot, int is_broken) {
    (void)is_broken;
    ((device *)slot->gpu)->releases++;
}
/* The work of an endless kernel ends with a signal. */
static inline vyre_status query(vy_gpu_slot *slot, int *is_done, vyre_error *error) {
    (void)error;
    *is_done = ((device *)slot->gpu)->is_done;
    return VYRE_OK;
}
static inline vyre_status finish(vy_gpu_slot *slot, vyre_error *error) {
    (void)error;
    while (!((device *)slot->gpu)->is_done)
        usleep(100);
    return VYRE_OK;
}
static inline vyre_status signal_stop(vy_gpu_slot *slot, vyre_error *error) {
    device *d = (device *)slot->gpu;
    (void)error;
    d->taken.stopped = 1;
    d->signals++;
    d->is_done = 1;
    return VYRE_OK;
}
static inline void signal_wait(vy_gpu_slot *slot) {
    ((device *)slot->gpu)->waits++;
}
/* Grids of more than 4 x 3 x 2 workgroups. */
static inline int needs_slices(const vy_gpu_executable *code, const vyre_launch *launch, uint32_t step[3]) {
    (void)code;
    if (step)
        step[0] = 4, step[1] = 3, step[2] = 2;
    return launch->groups[0] > 4 || launch->groups[1] > 3 || launch->groups[2] > 2;
}
static inline void resident_locate(const vyre_resource *resource, uint64_t *address, void **memory) {
    *address = resource->resident.id + resource->offset;
    *memory = NULL;
}
static inline vyre_status allocate(vy_gpu_submission *f, vyre_error *error) {
    device *d = (device *)f->gpu;
    (void)error;
    assert_true(f->arena_bytes <= sizeof d->arena);
    memset(d->arena, 0xee, sizeof d->arena);
    memset(d->staging, 0xdd, sizeof d->staging);
    f->staging = d->staging;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (f->offsets[i] != VY_GPU_ELSEWHERE)
            f->buffers.addresses[i] = f->offsets[i];
    return VYRE_OK;
}
static inline vyre_status staging_in(vy_gpu_submission *f, uint64_t size, vyre_error *error) {
    device *d = (device *)f->gpu;
    (void)error;
    memcpy(d->arena, f->staging, (size_t)size);
    d->copied_in += size;
    return VYRE_OK;
}
static inline vyre_status staging_out(vy_gpu_submission *f, uint64_t from, uint64_t size, vyre_error *error) {
    device *d = (device *)f->gpu;
    (void)error;
    memcpy(f->staging + from, d->arena + from, (size_t)size);
    d->copied_out += size;
    return VYRE_OK;
}
static inline vyre_status clear(vy_gpu_submission *f, uint64_t from, uint64_t size, vyre_error *error) {
    device *d = (device *)f->gpu;
    (void)error;
    memset(d->arena + from, 0, (size_t)size);
    d->cleared += size;
    return VYRE_OK;
}
static inline vyre_status choose_kernel(vy_gpu_executable *code, const vyre_launch *launch, int is_sliced,
                                        vy_gpu_kernel **out, vyre_error *error) {
    (void)launch, (void)is_sliced, (void)error;
    *out = &((device *)code->gpu)->kernel;
    return VYRE_OK;
}
static inline vyre_status control_prepare(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, const vyre_launch *launch,
                                          vyre_error *error) {
    (void)kernel, (void)launch, (void)error;
    *slot->taken = vy_gpu_control_clean;
    return VYRE_OK;
}
static inline vyre_status launch_kernel(vy_gpu_slot *slot, vy_gpu_executable *code, vy_gpu_kernel *kernel,
                                        const vyre_launch *launch, const vy_grid_tiles *tile,
                                        const vy_gpu_buffers *buffers, uint32_t ticket, vyre_error *error) {
    device *d = (device *)slot->gpu;
    (void)code, (void)kernel, (void)error;
    d->launches++;
    if (d->on_launch)
        d->on_launch(d, launch, tile, buffers, ticket);
    return VYRE_OK;
}
static inline vyre_status control_fetch(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, vyre_error *error) {
    (void)slot, (void)kernel, (void)error;
    return VYRE_OK;
}
static inline vyre_status watch(vy_gpu_pending *p, vyre_error *error) {
    (void)p, (void)error;
    return VYRE_OK;
}
static inline void *call_when_done(void *user) {
    vy_gpu_pending *p = user;
    while (!((device *)p->gpu)->is_done)
        usleep(100);
    vy_gpu_pending_done(p);
    return NULL;
}
static inline vyre_status observe(vy_gpu_pending *p, vyre_error *error) {
    device *d = (device *)p->gpu;
    (void)error;
    d->has_driver = pthread_create(&d->driver, NULL, call_when_done, p) == 0;
    assert_true(d->has_driver);
    return VYRE_OK;
}
static inline void unwatch(vy_gpu_pending *p) {
    (void)p;
}
static inline int is_done(vy_gpu_slot *slot) {
    return ((device *)slot->gpu)->is_done;
}
static inline void destroy_nothing(vy_gpu_executable *code) {
    (void)code;
}

#define CALLS                                                                                                          \
    .enter = enter, .enter_for_release = enter_for_release, .leave = leave, .slot_acquire = slot_acquire,              \
    .slot_release = slot_release, .finish = finish, .query = query, .signal_stop = signal_stop,                        \
    .signal_wait = signal_wait, .needs_slices = needs_slices, .choose_kernel = choose_kernel,                          \
    .control_prepare = control_prepare, .launch = launch_kernel, .control_fetch = control_fetch, .unwatch = unwatch,   \
    .executable_destroy = destroy_nothing, .resident_locate = resident_locate, .allocate = allocate,                   \
    .staging_in = staging_in, .staging_out = staging_out, .clear = clear, .run = vy_gpu_submission_run

static const vy_gpu_calls polled = {CALLS, .watch = watch, .is_done = is_done}, told = {CALLS, .watch = observe};

static inline void device_start(device *d, int is_polled) {
    memset(d, 0, sizeof *d);
    vy_gpu_start(&d->base, "test", is_polled ? &polled : &told);
    d->base.can_signal = 1;
    d->kernel = (vy_gpu_kernel){.polls = 1, .writes_control = 1};
    d->slot = (vy_gpu_slot){.gpu = &d->base, .taken = &d->taken};
    atomic_init(&d->code.references, 1);
    d->code.gpu = &d->base;
    strcpy(d->code.name, "k");
}

static inline void device_end(device *d) {
    if (d->has_driver)
        pthread_join(d->driver, NULL);
    vy_gpu_watch_end(&d->base);
    vy_gpu_end(&d->base);
    assert_int_equal(d->is_entered, 0);
    assert_int_equal(d->releases, 1);
    assert_int_equal(d->code.references, 1);
}

#endif
