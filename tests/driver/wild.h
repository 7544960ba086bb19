/* A backend for random calls: it works, it is slow, fails, hangs and loses its device by chance, and it watches the
 * library: whatever the contract (vyre/backend.h) forbids the library to do is noted in `wild.complaint`. Registered as
 * "wild", through public headers only. */
#ifndef VY_TESTS_DRIVER_WILD_H
#define VY_TESTS_DRIVER_WILD_H

#include "support/test.h"

#include "vyre/vyre.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { WILD_BUFFERS = 512 };

/* What all instances share. */
static struct wild_control {
    const vyre_host *host;
    _Atomic(const char *) complaint; /* the first one */
    _Atomic uint64_t draws;
    _Atomic int instances, pipelines, pendings;
    _Atomic unsigned hang_us; /* of one dispatch in 64 */
    _Atomic int is_calm;      /* nothing fails, hangs or is lost */
    uint64_t seed;
} wild;

static inline void wild_complain(const char *what) {
    const char *none = NULL;
    atomic_compare_exchange_strong(&wild.complaint, &none, what);
}

static inline uint64_t wild_draw(uint64_t bound) {
    vy_random random = {wild.seed + atomic_fetch_add(&wild.draws, 1) * 0x9e3779b97f4a7c15u};
    return vy_random_below(&random, bound);
}

static inline uint64_t wild_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

typedef struct wild_buffer {
    unsigned char *data;
    uint64_t size;
} wild_buffer;

typedef struct wild_device {
    pthread_mutex_t lock; /* guards the memory */
    wild_buffer buffers[WILD_BUFFERS];
    uint64_t era; /* of the memory: a native value consists of slot and era */
    _Atomic int is_lost, is_shut, is_recovering;
} wild_device;

static inline int wild_chance(uint64_t one_in) {
    return !atomic_load(&wild.is_calm) && wild_draw(one_in) == 0;
}

/* At the start of every entry that uses the device. */
static inline vyre_status wild_enter(wild_device *d, vyre_error *error) {
    if (atomic_load(&d->is_shut))
        wild_complain("an entry is called after shutdown");
    if (wild_chance(400))
        atomic_store(&d->is_lost, 1);
    if (atomic_load(&d->is_lost))
        return (wild.host->fail)(error, VYRE_DEVICE_LOST, NULL, "the wild device is lost");
    if (wild_chance(200))
        return (wild.host->fail)(error, VYRE_NO_DEVICE_MEMORY, NULL, "the wild device has no memory now");
    return VYRE_OK;
}

static inline void wild_work(void) {
    unsigned hang = atomic_load(&wild.hang_us);
    if (hang && wild_chance(64))
        usleep(hang);
    else if (wild_chance(8))
        usleep((useconds_t)wild_draw(200));
}

/* ---- memory ---- */

/* NULL, with a complaint, for a value that was not returned in this era. With the lock held. */
static inline wild_buffer *wild_find(wild_device *d, uint64_t native) {
    uint64_t place = native & 0xffff;
    if (native >> 16 != d->era || place >= WILD_BUFFERS || !d->buffers[place].data) {
        wild_complain("a resident buffer is named that is not there");
        return NULL;
    }
    return &d->buffers[place];
}

static vyre_status wild_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    wild_device *d = self;
    vyre_status status = wild_enter(d, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&d->lock);
    uint64_t place = 0;
    while (place < WILD_BUFFERS && d->buffers[place].data)
        place++;
    unsigned char *data = place < WILD_BUFFERS ? calloc(1, size) : NULL;
    if (data)
        d->buffers[place] = (wild_buffer){data, size};
    *native = d->era << 16 | place;
    pthread_mutex_unlock(&d->lock);
    return data ? VYRE_OK : (wild.host->fail)(error, VYRE_NO_DEVICE_MEMORY, NULL, "the wild device is full");
}

static vyre_status wild_free(void *self, uint64_t native, vyre_error *error) {
    wild_device *d = self;
    (void)error;
    if (atomic_load(&d->is_shut))
        wild_complain("a buffer is freed after shutdown");
    pthread_mutex_lock(&d->lock);
    wild_buffer *buffer = wild_find(d, native);
    if (buffer) {
        free(buffer->data);
        buffer->data = NULL;
    }
    pthread_mutex_unlock(&d->lock);
    return VYRE_OK;
}

/* era: of a call that began earlier, whose memory may be gone; 0 = now. */
static inline vyre_status wild_move(wild_device *d, uint64_t era, uint64_t native, uint64_t offset, void *out,
                                    const void *in, uint64_t size, vyre_error *error) {
    vyre_status status = wild_enter(d, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&d->lock);
    if (era && era != d->era) {
        pthread_mutex_unlock(&d->lock);
        return (wild.host->fail)(error, VYRE_DEVICE_LOST, NULL, "the memory of the call is gone");
    }
    wild_buffer *buffer = wild_find(d, native);
    if (buffer && (offset > buffer->size || size > buffer->size - offset))
        wild_complain("a transfer ends past its buffer");
    else if (buffer && in)
        memcpy(buffer->data + offset, in, size);
    else if (buffer && out)
        memcpy(out, buffer->data + offset, size);
    pthread_mutex_unlock(&d->lock);
    return VYRE_OK;
}

static vyre_status wild_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                               vyre_error *error) {
    return wild_move(self, 0, native, offset, NULL, data, size, error);
}

static vyre_status wild_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                 vyre_error *error) {
    return wild_move(self, 0, native, offset, data, NULL, size, error);
}

/* ---- running ---- */

static inline vyre_status wild_run(wild_device *d, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                                   vyre_outputs *outputs, vyre_error *error) {
    vyre_status status = wild_enter(d, error);
    wild_work();
    return status == VYRE_OK ? wild.host->reference_dispatch(launch, inputs, count, outputs, error) : status;
}

static vyre_status wild_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                                 vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[16];
    for (size_t i = 0; i < count && i < 16; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return wild_run(self, launch, spans, count, outputs, error);
}

static vyre_status wild_dispatch_into(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                                      vyre_outputs *outputs, vyre_error *error) {
    return wild_run(self, launch, inputs, count, outputs, error);
}

static inline int wild_is_output(const vyre_buffer_info *buffer) {
    return buffer->access == VYRE_ACCESS_WRITE || buffer->access == VYRE_ACCESS_READ_WRITE;
}

/* Bindings become host bytes for the call; outputs bound to resident buffers are copied back. */
static vyre_status wild_run_bound(wild_device *d, const vyre_launch *launch, const vyre_resource *bindings,
                                  vyre_outputs *outputs, vyre_error *error) {
    vyre_bytes held[16] = {{0}}, made[16] = {{0}};
    vyre_outputs own = {made, 0, 16};
    vyre_span inputs[16];
    vyre_buffer_info buffer;
    size_t count = 0;
    pthread_mutex_lock(&d->lock);
    uint64_t era = d->era;
    pthread_mutex_unlock(&d->lock);
    vyre_status status = wild_enter(d, error);
    for (size_t i = 0; status == VYRE_OK && wild.host->program_buffer(launch->program, i, &buffer); i++) {
        own.count += (size_t)wild_is_output(&buffer);
        if (buffer.access == VYRE_ACCESS_WRITE)
            continue;
        inputs[count] = bindings[i].host;
        if (bindings[i].kind == VYRE_RESOURCE_RESIDENT) {
            status = wild.host->bytes_resize(&held[count], bindings[i].size, error);
            if (status == VYRE_OK)
                status = wild_move(d, era, bindings[i].resident.id, bindings[i].offset, held[count].data, NULL,
                                   bindings[i].size, error);
            inputs[count] = (vyre_span){held[count].data, held[count].size};
        }
        count++;
    }
    if (status == VYRE_OK)
        status = wild_run(d, launch, inputs, count, &own, error);
    for (size_t i = 0, o = 0; status == VYRE_OK && wild.host->program_buffer(launch->program, i, &buffer); i++) {
        if (!wild_is_output(&buffer))
            continue;
        vyre_bytes *from = &made[o];
        if (bindings[i].kind == VYRE_RESOURCE_RESIDENT) {
            status =
                wild_move(d, era, bindings[i].resident.id, bindings[i].offset, NULL, from->data, from->size, error);
        } else {
            status = wild.host->bytes_resize(&outputs->items[o], from->size, error);
            if (status == VYRE_OK)
                memcpy(outputs->items[o].data, from->data, from->size);
        }
        o++;
    }
    for (int i = 0; i < 16; i++) {
        wild.host->release(held[i].data, held[i].capacity);
        wild.host->release(made[i].data, made[i].capacity);
    }
    return status;
}

static vyre_status wild_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                          size_t count, vyre_timing *timing, vyre_error *error) {
    (void)count, (void)timing;
    return wild_run_bound(self, launch, bindings, NULL, error);
}

/* ---- pipelines ---- */

typedef struct wild_pipeline {
    wild_device *device;
    vyre_program *program;
} wild_pipeline;

static vyre_status wild_pipeline_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                                          vyre_outputs *outputs, vyre_error *error) {
    return wild_dispatch(((wild_pipeline *)self)->device, launch, inputs, count, outputs, error);
}

static vyre_status wild_pipeline_persistent(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                            size_t count, vyre_outputs *outputs, vyre_timing *timing,
                                            vyre_error *error) {
    (void)count, (void)timing;
    return wild_run_bound(((wild_pipeline *)self)->device, launch, bindings, outputs, error);
}

static vyre_status wild_pipeline_batched(void *self, const vyre_launch *launches, const vyre_span *const *inputs,
                                         size_t input_count, size_t count, vyre_outputs *outputs, size_t *failed,
                                         vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        status = wild_run(((wild_pipeline *)self)->device, &launches[i], inputs[i], input_count, &outputs[i], error);
        if (status != VYRE_OK)
            *failed = i;
    }
    return status;
}

static void wild_pipeline_destroy(void *self) {
    wild_pipeline *p = self;
    /* Only after a call that was abandoned, which none is while nothing hangs. */
    if (atomic_load(&p->device->is_shut) && !atomic_load(&wild.hang_us))
        wild_complain("a pipeline is destroyed after shutdown");
    if (atomic_load(&p->device->is_recovering) && !atomic_load(&wild.hang_us))
        wild_complain("a pipeline is destroyed while the device is recovered");
    wild.host->program_release(p->program);
    free(p);
    atomic_fetch_sub(&wild.pipelines, 1);
}

static const vyre_pipeline_vtable wild_pipeline_table = {.struct_size = sizeof(vyre_pipeline_vtable),
                                                         .dispatch = wild_pipeline_dispatch,
                                                         .dispatch_persistent_into = wild_pipeline_persistent,
                                                         .dispatch_batched_into = wild_pipeline_batched,
                                                         .destroy = wild_pipeline_destroy};

static vyre_status wild_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                vyre_native_pipeline *out, vyre_error *error) {
    (void)options;
    vyre_status status = wild_enter(self, error);
    wild_pipeline *p = status == VYRE_OK ? malloc(sizeof *p) : NULL;
    if (!p)
        return status;
    *p = (wild_pipeline){self, wild.host->program_retain(program)};
    *out = (vyre_native_pipeline){&wild_pipeline_table, p};
    atomic_fetch_add(&wild.pipelines, 1);
    return VYRE_OK;
}

/* ---- in flight ---- */

typedef struct wild_pending {
    wild_device *device;
    vyre_launch launch;
    vyre_scalar params[8];
    uint64_t elements[16];
    vyre_bytes inputs[16];
    size_t input_count;
    uint64_t ready_at;
    _Atomic int is_cancelled, is_inside;
    void (*done)(void *user);
    void *user;
    pthread_t watcher;
    int is_watched;
} wild_pending;

static int wild_pending_is_ready(void *self) {
    wild_pending *p = self;
    return atomic_load(&p->is_cancelled) || wild_now() >= p->ready_at;
}

static vyre_status wild_pending_wait(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error) {
    wild_pending *p = self;
    if (atomic_exchange(&p->is_inside, 1))
        wild_complain("two threads are inside one handle");
    vyre_status status = VYRE_OK;
    while (status == VYRE_OK && !wild_pending_is_ready(p)) {
        if (deadline_ns && wild_now() >= deadline_ns)
            status = (wild.host->fail)(error, VYRE_NOT_READY, NULL, "not yet");
        else
            usleep(20);
    }
    if (status == VYRE_OK && atomic_load(&p->is_cancelled))
        status = (wild.host->fail)(error, VYRE_CANCELLED, NULL, "cancelled");
    if (status == VYRE_OK)
        status = wild_dispatch(p->device, &p->launch, p->inputs, p->input_count, outputs, error);
    atomic_store(&p->is_inside, 0);
    return status;
}

static void wild_pending_cancel(void *self) {
    atomic_store(&((wild_pending *)self)->is_cancelled, 1);
}

static void wild_pending_destroy(void *self) {
    wild_pending *p = self;
    if (atomic_load(&p->is_inside))
        wild_complain("a handle is destroyed while somebody waits in it");
    if (p->is_watched)
        pthread_join(p->watcher, NULL);
    for (size_t i = 0; i < p->input_count; i++)
        free(p->inputs[i].data);
    wild.host->program_release(p->launch.program);
    free(p);
    atomic_fetch_sub(&wild.pendings, 1);
}

static void *wild_pending_watch(void *self) {
    wild_pending *p = self;
    while (!wild_pending_is_ready(p))
        usleep(20);
    p->done(p->user);
    return NULL;
}

static void wild_pending_notify(void *self, void (*done)(void *user), void *user) {
    wild_pending *p = self;
    p->done = done, p->user = user;
    p->is_watched = pthread_create(&p->watcher, NULL, wild_pending_watch, p) == 0;
    if (!p->is_watched)
        wild_pending_watch(p);
}

static const vyre_pending_vtable wild_pending_table = {.struct_size = sizeof(vyre_pending_vtable),
                                                       .is_ready = wild_pending_is_ready,
                                                       .wait = wild_pending_wait,
                                                       .cancel = wild_pending_cancel,
                                                       .destroy = wild_pending_destroy,
                                                       .notify = wild_pending_notify};

static vyre_status wild_dispatch_async(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                                       vyre_native_pending *out, vyre_error *error) {
    vyre_status status = wild_enter(self, error);
    wild_pending *p = status == VYRE_OK ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return status;
    p->device = self;
    p->launch = *launch;
    memcpy(p->params, launch->params, launch->param_count * sizeof *p->params);
    memcpy(p->elements, launch->elements, launch->buffer_count * sizeof *p->elements);
    p->launch.params = p->params, p->launch.elements = p->elements, p->launch.label = "";
    wild.host->program_retain(launch->program);
    for (p->input_count = 0; p->input_count < count; p->input_count++) {
        const vyre_span *from = &inputs[p->input_count];
        p->inputs[p->input_count] = (vyre_bytes){malloc(from->size + 1), from->size, from->size + 1};
        if (from->size)
            memcpy(p->inputs[p->input_count].data, from->data, from->size);
    }
    p->ready_at = wild_now() + wild_draw(300000);
    atomic_fetch_add(&wild.pendings, 1);
    *out = (vyre_native_pending){&wild_pending_table, p};
    return VYRE_OK;
}

/* ---- life ---- */

static const char *wild_id(void *self) {
    (void)self;
    return "wild";
}

/* Kernels do not stop, so deadlines are kept by the library. */
static uint64_t wild_capability(void *self, vyre_capability capability) {
    (void)self;
    switch (capability) {
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X:
    case VYRE_CAPABILITY_MAX_WORKGROUPS:
        return 64;
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z:
        return 1;
    default:
        return 0;
    }
}

static void wild_profile(void *self, vyre_device_profile *profile) {
    wild_device *d = self;
    if (atomic_load(&d->is_shut))
        wild_complain("the profile is asked for after shutdown");
    profile->device = "wild";
}

static vyre_status wild_flush(void *self, vyre_error *error) {
    return wild_enter(self, error);
}

static vyre_status wild_prepare(void *self, vyre_program *program, vyre_error *error) {
    (void)program;
    return wild_enter(self, error);
}

static int wild_device_lost(void *self) {
    wild_device *d = self;
    if (atomic_load(&d->is_shut) && !atomic_load(&wild.hang_us))
        wild_complain("a device that is shut down is asked whether it is lost");
    return atomic_load(&d->is_lost);
}

static void wild_forget_memory(wild_device *d) {
    pthread_mutex_lock(&d->lock);
    for (int i = 0; i < WILD_BUFFERS; i++) {
        free(d->buffers[i].data);
        d->buffers[i].data = NULL;
    }
    d->era++;
    pthread_mutex_unlock(&d->lock);
}

static vyre_status wild_try_recover(void *self, vyre_error *error) {
    wild_device *d = self;
    atomic_store(&d->is_recovering, 1);
    usleep((useconds_t)wild_draw(200));
    int fails = wild_chance(4);
    if (!fails) {
        wild_forget_memory(d);
        atomic_store(&d->is_lost, 0);
    }
    atomic_store(&d->is_recovering, 0);
    return fails ? (wild.host->fail)(error, VYRE_UNSUPPORTED, NULL, "not this time") : VYRE_OK;
}

static vyre_status wild_shutdown(void *self, vyre_error *error) {
    wild_device *d = self;
    (void)error;
    if (atomic_exchange(&d->is_shut, 1))
        wild_complain("shutdown is called twice");
    return VYRE_OK;
}

static void wild_destroy(void *self) {
    wild_device *d = self;
    if (!atomic_load(&d->is_shut))
        wild_complain("the device is destroyed before it is shut down");
    wild_forget_memory(d);
    pthread_mutex_destroy(&d->lock);
    free(d);
    atomic_fetch_sub(&wild.instances, 1);
}

static const vyre_backend_vtable wild_table = {.struct_size = sizeof(vyre_backend_vtable),
                                               .abi = VYRE_BACKEND_ABI,
                                               .id = wild_id,
                                               .dispatch = wild_dispatch,
                                               .dispatch_borrowed_into = wild_dispatch_into,
                                               .dispatch_borrowed_async = wild_dispatch_async,
                                               .resident_allocate = wild_allocate,
                                               .resident_free = wild_free,
                                               .resident_upload = wild_upload,
                                               .resident_download = wild_download,
                                               .dispatch_resident = wild_dispatch_resident,
                                               .compile = wild_compile,
                                               .capability = wild_capability,
                                               .device_profile = wild_profile,
                                               .prepare = wild_prepare,
                                               .flush = wild_flush,
                                               .shutdown = wild_shutdown,
                                               .device_lost = wild_device_lost,
                                               .try_recover = wild_try_recover,
                                               .destroy = wild_destroy};

static vyre_status wild_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    wild_device *d = calloc(1, sizeof *d);
    (void)ordinal;
    if (!wild.host) /* the first is made before there are threads */
        wild.host = host;
    if (!d)
        return (host->fail)(error, VYRE_NO_MEMORY, NULL, "no wild device");
    pthread_mutex_init(&d->lock, NULL);
    d->era = 1;
    atomic_fetch_add(&wild.instances, 1);
    *out = (vyre_backend_instance){&wild_table, d};
    return VYRE_OK;
}

VYRE_REGISTER_BACKEND(wild, .id = "wild", .create = wild_create);
VYRE_REGISTER_CAPABILITY(wild, .id = "wild", .dispatches = 1);
VYRE_MODULE("wild");

#endif
