/* By the digest of their text (kernel_cache.h). */
#include "backends/cuda/kernel_cache.h"

#include "backends/cuda/compile.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "driver/cache_disk.h"

#include <inttypes.h>
#include <stdio.h>

struct vy_cuda_pending_store {
    vy_cuda_pending_store *next;
    vy_cache_key key;
    vyre_bytes object;
};

/* The object says all of the kernel; the device's name and the driver's version, what becomes of it. */
static void make_key(const vy_cuda *cuda, vyre_span object, vy_cache_key *out) {
    char device[256];
    int length = snprintf(device, sizeof device, "kernel for device %s sm_%" PRIu32 " driver %d",
                          cuda->device_info.name, cuda->device_info.architecture, cuda->device_info.driver_version);
    vy_cache_parts key = {.backend = "cuda", .identity = {device, (size_t)length}};
    vy_digest(object.data, object.size, &key.program);
    vy_cache_key_make(&key, out);
}

/* Whatever is wrong with what is stored, it is compiled again. */
static int find(vy_cuda *cuda, const vy_cache_key *key, const vy_cuda_header *wanted, vy_cu_module *out) {
    vyre_bytes stored = VYRE_BYTES_INIT;
    vy_cuda_header header;
    vyre_error ignored;
    vyre_status status = vy_disk_cache_load(key, &stored);
    const vyre_span object = {stored.data, stored.size};
    if (status == VYRE_OK)
        status = vy_cuda_object_check(cuda, object, wanted->indirect, &header, &ignored);
    if (status == VYRE_OK)
        status = vy_cuda_image_load(cuda, &header, (const char *)object.data + sizeof header, out, &ignored);
    vyre_bytes_free(&stored);
    return status == VYRE_OK;
}

/* With the lock held. */
static vy_cuda_pending_store *find_pending_store(const vy_cuda *cuda, const vy_cache_key *key) {
    vy_cuda_pending_store *text = cuda->pending_stores;
    while (text && memcmp(&text->key, key, sizeof *key) != 0)
        text = text->next;
    return text;
}

static void free_pending_store(vy_cuda_pending_store *text) {
    vyre_bytes_free(&text->object);
    vy_release(text, sizeof *text);
}

/* As far as there is memory. */
static void add_pending_store(vy_cuda *cuda, const vy_cache_key *key, vyre_span object) {
    vy_cuda_pending_store *text = vy_allocate_zero(sizeof *text);
    if (!text)
        return;
    text->key = *key;
    int is_kept = 0;
    if (vyre_bytes_resize(&text->object, object.size, NULL) == VYRE_OK) {
        memcpy(text->object.data, object.data, object.size);
        pthread_mutex_lock(&cuda->lock);
        is_kept = cuda->pending_store_count < VY_CUDA_PENDING_STORES && !find_pending_store(cuda, key);
        if (is_kept) {
            text->next = cuda->pending_stores;
            cuda->pending_stores = text;
            cuda->pending_store_count++;
        }
        pthread_mutex_unlock(&cuda->lock);
    }
    if (!is_kept)
        free_pending_store(text);
}

vyre_status vy_cuda_kernel_cache_load(vy_cuda *cuda, vyre_span object, int must, vy_cu_module *out, vyre_error *error) {
    vy_cuda_header header;
    vy_cache_key key;
    int has_disk = vy_disk_cache_is_enabled();
    memcpy(&header, object.data, sizeof header);
    if (has_disk) {
        make_key(cuda, object, &key);
        if (find(cuda, &key, &header, out))
            return VYRE_OK;
    }
    if (atomic_load(&cuda->loss))
        return vy_cuda_fail_lost(cuda, error);
    if (!must && vy_compile_forbidden())
        return vy_fail(error, VYRE_UNSUPPORTED, "run it once with compiling allowed, or allow it",
                       "compiling is forbidden, and kernel `%s` was not compiled before", header.entry);
    vyre_status status = vy_cuda_image_load(cuda, &header, (const char *)object.data + sizeof header, out, error);
    if (status == VYRE_OK && has_disk)
        add_pending_store(cuda, &key, object);
    return status;
}

static vy_cuda_pending_store *detach_pending_stores(vy_cuda *cuda) {
    pthread_mutex_lock(&cuda->lock);
    vy_cuda_pending_store *pending_stores = cuda->pending_stores;
    cuda->pending_stores = NULL;
    cuda->pending_store_count = 0;
    pthread_mutex_unlock(&cuda->lock);
    return pending_stores;
}

void vy_cuda_kernel_cache_store(vy_cuda *cuda) {
    vy_cuda_pending_store *text, *next;
    vyre_error ignored;
    int was_pushed;
    if (!cuda->context || !cuda->pending_stores || vy_cuda_enter(cuda, &was_pushed, &ignored) != VYRE_OK)
        return;
    for (text = detach_pending_stores(cuda); text; text = next) {
        vyre_bytes linked = VYRE_BYTES_INIT;
        next = text->next;
        if (vy_disk_cache_is_enabled() && vy_cuda_compile_link(cuda, &text->object, &linked, &ignored) == VYRE_OK)
            vy_disk_cache_store(&text->key, "cuda:kernel", (vyre_span){linked.data, linked.size});
        vyre_bytes_free(&linked);
        free_pending_store(text);
    }
    vy_cuda_leave(cuda, was_pushed);
}

void vy_cuda_kernel_cache_drop(vy_cuda *cuda) {
    vy_cuda_pending_store *text, *next;
    for (text = detach_pending_stores(cuda); text; text = next) {
        next = text->next;
        free_pending_store(text);
    }
}
