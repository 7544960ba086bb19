/* Device of the fault backend (plugin_fault.c): when and how a call is made to fail, its memory, and its results, which
 * are those of the reference interpreter. */
#ifndef VY_TESTS_DRIVER_FAULT_DEVICE_H
#define VY_TESTS_DRIVER_FAULT_DEVICE_H

#include "fault_plugin.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

extern __attribute__((visibility("default"))) fault_control vyre_fault_control;
fault_control vyre_fault_control;
#define control vyre_fault_control

enum { BUFFERS = 64 }; /* of one program */

typedef struct buffer {
    struct buffer *next;
    uint64_t native, size;
    unsigned char *foreign; /* foreign bytes, or NULL: they follow */
} buffer;

typedef struct device {
    const vyre_host *host;
    vyre_backend_vtable table;
    vyre_pipeline_vtable pipeline_table;
    vyre_pending_vtable pending_table;
    pthread_mutex_t lock;
    buffer *buffers;
    uint64_t last;
    atomic_int is_lost, is_gone;
    atomic_uint recoveries;
} device;

typedef struct pipeline {
    device *d;
    vyre_program *program;
} pipeline;

/* A dispatch in flight is computed when it starts, and handed out when its time has come. */
typedef struct work {
    device *d;
    vyre_status status;
    uint64_t ready_at;
    atomic_int is_cancelled;
    size_t count;
    vyre_bytes slots[BUFFERS];
    void (*done)(void *user);
    void *user;
    pthread_t watcher;
    int is_watched;
} work;

/* ---- striking ---- */

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nap(uint64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}

/* Counts the call and returns the fault to inject. */
static fault_kind strike(device *d, fault_entry entry) {
    unsigned call = atomic_fetch_add(&control.calls[entry], 1) + 1;
    if (control.kind == FAULT_NONE || control.entry != entry || call < control.at ||
        (control.every ? (call - control.at) % control.every : call != control.at))
        return FAULT_NONE;
    atomic_fetch_add(&control.struck, 1);
    if (control.kind == FAULT_HANG) {
        atomic_fetch_add(&control.inside, 1);
        nap(control.hang_ms * 1000000ull);
        atomic_fetch_sub(&control.inside, 1);
        return FAULT_HANG;
    }
    if (control.kind == FAULT_LOSE || control.kind == FAULT_LOSE_QUIETLY || control.kind == FAULT_LOSE_FOR_EVER)
        atomic_store(&d->is_lost, 1);
    if (control.kind == FAULT_LOSE_FOR_EVER)
        atomic_store(&d->is_gone, 1);
    return control.kind;
}

static vyre_status speak(device *d, vyre_status status, vyre_error *error) {
    return d->host->fail(error, status, "do not ask for faults", "the fault backend fails as asked");
}

/* The status that an entry returns for this fault; else VYRE_OK, and the kind selects another fault. */
static fault_kind enter(device *d, fault_entry entry, vyre_status *status, vyre_error *error) {
    unsigned recoveries = atomic_load(&d->recoveries);
    fault_kind kind = strike(d, entry);
    *status = VYRE_OK;
    switch (kind) {
    case FAULT_FAIL:
    case FAULT_WRONG_ITEM:
        *status = control.status;
        speak(d, control.status, error);
        break;
    case FAULT_FAIL_SILENTLY:
        *status = control.status;
        break;
    case FAULT_FAIL_WITHOUT_END:
        *status = control.status;
        memset(error, 'x', sizeof *error);
        break;
    case FAULT_LOSE:
    case FAULT_LOSE_FOR_EVER:
        *status = VYRE_DEVICE_LOST;
        break;
    case FAULT_LOSE_QUIETLY:
        *status = speak(d, VYRE_IO, error);
        break;
    default:
        /* A late call finds another device. */
        if (atomic_load(&d->recoveries) != recoveries)
            *status = VYRE_DEVICE_LOST;
        break;
    }
    return kind;
}

/* Honest outputs, spoilt. */
static vyre_status spoil(device *d, fault_kind kind, const vyre_launch *launch, vyre_outputs *outputs,
                         vyre_error *error) {
    static vyre_bytes other[BUFFERS];
    vyre_bytes *slot = outputs->count ? &outputs->items[outputs->count - 1] : NULL;
    if (kind == FAULT_TRAP_OUTSIDE) {
        launch->trap->invocation = UINT64_MAX - 1;
        return speak(d, VYRE_TRAPPED, error);
    }
    if (kind == FAULT_FEWER_OUTPUTS)
        outputs->count--;
    if (kind == FAULT_MORE_OUTPUTS)
        outputs->count++;
    if (kind == FAULT_COUNTLESS_OUTPUTS)
        outputs->count = outputs->capacity = SIZE_MAX;
    if (kind == FAULT_OTHER_LIST)
        outputs->items = other;
    if (kind == FAULT_NO_LIST)
        outputs->items = NULL;
    if (!slot)
        return VYRE_OK;
    if (kind == FAULT_SHORT_OUTPUT && slot->size)
        slot->size--;
    if (kind == FAULT_LONG_OUTPUT)
        return d->host->bytes_resize(slot, slot->size + 4096, error);
    if (kind == FAULT_EMPTY_OUTPUT)
        slot->size = 0;
    if (kind == FAULT_NO_MEMORY_BEHIND || kind == FAULT_SIZE_OVER_CAPACITY) {
        d->host->release(slot->data, slot->capacity); /* it could not be freed afterwards */
        slot->data = kind == FAULT_NO_MEMORY_BEHIND ? NULL : other;
        slot->capacity = kind == FAULT_NO_MEMORY_BEHIND ? slot->capacity : 1;
        slot->size = slot->size > 1 ? slot->size : 2;
    }
    return VYRE_OK;
}

/* ---- computing ---- */

static vyre_status run(device *d, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                       vyre_outputs *outputs, vyre_error *error) {
    return d->host->reference_dispatch(launch, inputs, count, outputs, error);
}

static vyre_status run_spans(device *d, fault_entry entry, const vyre_launch *launch, const vyre_span *inputs,
                             size_t count, vyre_outputs *outputs, vyre_error *error) {
    vyre_status status;
    fault_kind kind = enter(d, entry, &status, error);
    if (status == VYRE_OK)
        status = run(d, launch, inputs, count, outputs, error);
    return status == VYRE_OK ? spoil(d, kind, launch, outputs, error) : status;
}

static vyre_status run_owned(device *d, fault_entry entry, const vyre_launch *launch, const vyre_bytes *inputs,
                             size_t count, vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[BUFFERS];
    for (size_t i = 0; i < count && i < BUFFERS; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return run_spans(d, entry, launch, spans, count, outputs, error);
}

/* ---- resident buffers ---- */

static unsigned char *bytes_of(buffer *b) {
    return b->foreign ? b->foreign : (unsigned char *)(b + 1);
}

/* NULL, and counted, if the handle is none of ours. */
static buffer *find(device *d, uint64_t native) {
    pthread_mutex_lock(&d->lock);
    buffer *b = d->buffers;
    while (b && b->native != native)
        b = b->next;
    pthread_mutex_unlock(&d->lock);
    if (!b)
        atomic_fetch_add(&control.strays, 1);
    return b;
}

static unsigned char *range(device *d, uint64_t native, uint64_t offset, uint64_t size) {
    buffer *b = find(d, native);
    return b && offset <= b->size && size <= b->size - offset ? bytes_of(b) + offset : NULL;
}

static vyre_status unknown(device *d, vyre_error *error) {
    return d->host->fail(error, VYRE_INVALID_ARGUMENT, NULL, "the device has no such buffer");
}

static uint64_t whole_size(const buffer *b) {
    return sizeof *b + (b->foreign ? 0 : b->size);
}

static buffer *make(device *d, uint64_t size, unsigned char *foreign) {
    buffer *b = d->host->allocate(sizeof *b + (foreign ? 0 : size));
    if (!b)
        return NULL;
    b->foreign = foreign;
    b->size = size;
    if (!foreign)
        memset(bytes_of(b), 0, size);
    pthread_mutex_lock(&d->lock);
    b->native = 1000 + ++d->last;
    b->next = d->buffers;
    d->buffers = b;
    pthread_mutex_unlock(&d->lock);
    atomic_fetch_add(&control.buffers, 1);
    return b;
}

static int drop(device *d, uint64_t native) {
    pthread_mutex_lock(&d->lock);
    buffer **link = &d->buffers;
    while (*link && (*link)->native != native)
        link = &(*link)->next;
    buffer *b = *link;
    if (b)
        *link = b->next;
    pthread_mutex_unlock(&d->lock);
    if (!b)
        return 0;
    d->host->release(b, whole_size(b));
    atomic_fetch_sub(&control.buffers, 1);
    return 1;
}

static void drop_all(device *d) {
    while (d->buffers)
        drop(d, d->buffers->native);
}

static vyre_status hand_out(device *d, fault_entry entry, uint64_t size, unsigned char *foreign, uint64_t *native,
                            vyre_error *error) {
    vyre_status status;
    fault_kind kind = enter(d, entry, &status, error);
    if (status != VYRE_OK)
        return status;
    if (kind == FAULT_HANDLE_ZERO || kind == FAULT_HANDLE_GARBAGE) {
        *native = kind == FAULT_HANDLE_ZERO ? 0 : UINT64_MAX;
        return VYRE_OK;
    }
    if (kind == FAULT_HANDLE_TWICE && d->buffers) {
        *native = d->buffers->native;
        return VYRE_OK;
    }
    buffer *b = make(d, size, foreign);
    if (!b)
        return d->host->fail(error, VYRE_NO_DEVICE_MEMORY, NULL, "no memory on the device");
    *native = b->native;
    return VYRE_OK;
}

static vyre_status backend_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    return hand_out(self, FAULT_BACKEND_resident_allocate, size, NULL, native, error);
}

static vyre_status backend_resident_wrap(void *self, const vyre_memory_location *location, uint64_t size,
                                         uint64_t *native, vyre_error *error) {
    return hand_out(self, FAULT_BACKEND_resident_wrap, size, (unsigned char *)(uintptr_t)location->address, native,
                    error);
}

static vyre_status backend_resident_location(void *self, uint64_t native, vyre_memory_location *location,
                                             vyre_error *error) {
    vyre_status status;
    enter(self, FAULT_BACKEND_resident_location, &status, error);
    if (status != VYRE_OK)
        return status;
    buffer *b = find(self, native);
    if (!b)
        return unknown(self, error);
    *location = (vyre_memory_location){VYRE_LOCATION_HOST, 0, (uintptr_t)bytes_of(b)};
    return VYRE_OK;
}

static vyre_status backend_stream_join(void *self, void *stream, vyre_error *error) {
    vyre_status status;
    (void)stream;
    enter(self, FAULT_BACKEND_stream_join, &status, error);
    return status;
}

static vyre_status backend_resident_free(void *self, uint64_t native, vyre_error *error) {
    device *d = self;
    vyre_status status;
    enter(d, FAULT_BACKEND_resident_free, &status, error);
    int was_there = drop(d, native);
    if (status != VYRE_OK || was_there)
        return status;
    atomic_fetch_add(&control.strays, 1);
    return unknown(d, error);
}

static vyre_status copy(device *d, uint64_t native, uint64_t offset, void *host, uint64_t size, int upload,
                        vyre_error *error) {
    unsigned char *bytes = range(d, native, offset, size);
    if (!bytes)
        return unknown(d, error);
    memcpy(upload ? bytes : host, upload ? host : bytes, size);
    return VYRE_OK;
}

static vyre_status backend_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data,
                                           uint64_t size, vyre_error *error) {
    vyre_status status;
    enter(self, FAULT_BACKEND_resident_upload, &status, error);
    return status == VYRE_OK ? copy(self, native, offset, (void *)data, size, 1, error) : status;
}

static vyre_status backend_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                             vyre_error *error) {
    vyre_status status;
    enter(self, FAULT_BACKEND_resident_download, &status, error);
    return status == VYRE_OK ? copy(self, native, offset, data, size, 0, error) : status;
}

static vyre_status copy_all(device *d, fault_entry entry, const vyre_transfer *transfers, size_t count, int upload,
                            vyre_error *error) {
    vyre_status status;
    enter(d, entry, &status, error);
    for (size_t i = 0; i < count && status == VYRE_OK; i++)
        status =
            copy(d, transfers[i].resident.id, transfers[i].offset, transfers[i].host, transfers[i].size, upload, error);
    return status;
}

static vyre_status backend_resident_upload_batch(void *self, const vyre_transfer *transfers, size_t count,
                                                 vyre_error *error) {
    return copy_all(self, FAULT_BACKEND_resident_upload_batch, transfers, count, 1, error);
}

static vyre_status backend_resident_download_batch(void *self, const vyre_transfer *transfers, size_t count,
                                                   vyre_error *error) {
    return copy_all(self, FAULT_BACKEND_resident_download_batch, transfers, count, 0, error);
}

/* ---- bindings ---- */

/* Passes the bindings to the reference interpreter as inputs; its outputs are copied back to the bindings. */
typedef struct bound {
    vyre_span inputs[BUFFERS];
    size_t input_count;
    unsigned char *homes[BUFFERS]; /* of outputs; NULL: the host's */
    vyre_bytes slots[BUFFERS];
    size_t output_count;
} bound;

static vyre_status gather(device *d, const vyre_launch *launch, const vyre_resource *bindings, size_t count, bound *b,
                          vyre_error *error) {
    vyre_buffer_info info;
    memset(b, 0, sizeof *b);
    for (size_t i = 0; i < count && i < BUFFERS && d->host->program_buffer(launch->program, i, &info); i++) {
        const vyre_resource *r = &bindings[i];
        int is_resident = r->kind == VYRE_RESOURCE_RESIDENT;
        unsigned char *bytes = is_resident ? range(d, r->resident.id, r->offset, r->size) : NULL;
        if (is_resident && !bytes)
            return unknown(d, error);
        if (info.access != VYRE_ACCESS_WRITE)
            b->inputs[b->input_count++] = is_resident ? (vyre_span){bytes, r->size} : r->host;
        if (info.access == VYRE_ACCESS_WRITE || info.access == VYRE_ACCESS_READ_WRITE)
            b->homes[b->output_count++] = bytes;
    }
    return VYRE_OK;
}

static vyre_status run_bound(device *d, const vyre_launch *launch, const vyre_resource *bindings, size_t count,
                             vyre_outputs *outputs, vyre_error *error) {
    bound b;
    vyre_status status = gather(d, launch, bindings, count, &b, error);
    vyre_outputs all = {b.slots, b.output_count, b.output_count};
    if (status == VYRE_OK)
        status = run(d, launch, b.inputs, b.input_count, &all, error);
    for (size_t i = 0; i < b.output_count && status == VYRE_OK; i++) {
        if (b.homes[i]) {
            memcpy(b.homes[i], b.slots[i].data, b.slots[i].size);
        } else {
            status = d->host->bytes_resize(&outputs->items[i], b.slots[i].size, error);
            if (status == VYRE_OK)
                memcpy(outputs->items[i].data, b.slots[i].data, b.slots[i].size);
        }
    }
    for (size_t i = 0; i < b.output_count; i++)
        d->host->release(b.slots[i].data, b.slots[i].capacity);
    return status;
}

static vyre_status backend_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                             size_t count, vyre_timing *timing, vyre_error *error) {
    device *d = self;
    vyre_outputs none = {NULL, 0, 0};
    vyre_status status;
    fault_kind kind = enter(d, FAULT_BACKEND_dispatch_resident, &status, error);
    if (timing)
        *timing = (vyre_timing){.wall_ns = 1};
    if (status == VYRE_OK)
        status = run_bound(d, launch, bindings, count, NULL, error);
    return status == VYRE_OK ? spoil(d, kind, launch, &none, error) : status;
}

#endif
