/* Codes: made, shared, retired, freed (pipeline_code.h).
 *
 * Who destroys the native pipelines of a code claims that under the lock, so that it happens once, and counts itself in `destroying`, so
 * that whoever is about to end the device can wait for it. */
#include "driver/pipeline_code.h"

#include "base/thread.h"
#include "driver/backend.h"
#include "driver/cache_disk.h"

vy_code *vy_code_new(vyre_backend *backend, vy_stages *stages) {
    uint32_t count = stages ? vy_stages_count(stages) : 1;
    size_t head = sizeof(vy_code) + count * sizeof(vy_target);
    vy_code *code = vy_allocate_zero(head + count * sizeof(vy_part));
    if (!code)
        return NULL;
    atomic_init(&code->references, 1);
    code->backend = backend;
    code->stages = stages;
    code->count = count;
    code->parts = (vy_part *)((char *)code + head);
    for (uint32_t i = 0; i < count; i++)
        code->targets[i] = backend->target;
    vy_codes *codes = &backend->codes;
    pthread_mutex_lock(&codes->lock);
    code->next = codes->live;
    if (codes->live)
        codes->live->previous = code;
    codes->live = code;
    pthread_mutex_unlock(&codes->lock);
    return code;
}

static vyre_status check_table(vyre_backend *backend, const vyre_pipeline_vtable *table, vyre_error *error) {
    const size_t least = offsetof(vyre_pipeline_vtable, destroy) + sizeof table->destroy;
    if (table->struct_size < least)
        return vy_backend_violation(backend, error,
                                    "the table of a pipeline has %u bytes, less than its required entries take (%zu)",
                                    table->struct_size, least);
    if (!table->dispatch || !table->destroy)
        return vy_backend_violation(backend, error, "the table of a pipeline lacks `%s`",
                                    table->dispatch ? "destroy" : "dispatch");
    return VYRE_OK;
}

/* What every dispatch would ask of all parts. */
static void note_abilities(vy_code *code) {
    int has_native = 0, is_resident = 1, is_persistent = 1;
    for (uint32_t i = 0; i < code->count; i++) {
        has_native |= code->parts[i].calls.dispatch != NULL;
        is_resident &= vy_target_is_resident(&code->targets[i]);
        is_persistent &= code->targets[i].dispatch_persistent != NULL;
    }
    code->has_native = (uint8_t)has_native;
    code->is_resident = (uint8_t)(has_native && is_resident);
    code->is_persistent = (uint8_t)(has_native && is_persistent);
}

vyre_status vy_code_take(vy_code *code, uint32_t index, const vyre_native_pipeline *native, vyre_error *error) {
    const vyre_pipeline_vtable *table = native->vtable;
    vyre_status status = check_table(code->backend, table, error);
    if (status != VYRE_OK) {
        if (table->struct_size >= offsetof(vyre_pipeline_vtable, destroy) + sizeof table->destroy && table->destroy)
            table->destroy(native->self);
        return status;
    }
    vy_part *part = &code->parts[index];
    /* Entries of a longer table are of a later contract, and those a shorter one lacks are NULL. */
    memcpy(&part->calls, table, table->struct_size < sizeof part->calls ? table->struct_size : sizeof part->calls);
    part->self = native->self;
    code->targets[index] = (vy_target){.self = native->self,
                                       .dispatch = table->dispatch,
                                       .dispatch_borrowed = table->dispatch_borrowed,
                                       .dispatch_borrowed_timed = table->dispatch_borrowed_timed,
                                       .dispatch_borrowed_into = table->dispatch_borrowed_into,
                                       .dispatch_borrowed_async = table->dispatch_async,
                                       .dispatch_persistent = table->dispatch_persistent_into};
    note_abilities(code);
    return VYRE_OK;
}

int vy_code_is_native(const vy_code *code) {
    for (uint32_t i = 0; i < code->count; i++)
        if (!code->parts[i].calls.dispatch)
            return 0;
    return 1;
}

vyre_status vy_code_prepare(vy_code *code, vyre_program *program, vyre_error *error) {
    if (atomic_load_explicit(&code->is_prepared, memory_order_acquire))
        return VYRE_OK;
    vyre_status status = vy_prepare(code->backend, program, error);
    if (status == VYRE_OK)
        atomic_store_explicit(&code->is_prepared, 1, memory_order_release);
    return status;
}

/* ---- ends ---- */

/* With the lock held. Returns 1 if the caller has to destroy, and to call `destroyed` afterwards. */
static int claim(vy_codes *codes, vy_code *code) {
    if (code->is_destroyed)
        return 0;
    code->is_destroyed = 1;
    codes->destroying++;
    return 1;
}

static void destroy_parts(vy_codes *codes, vy_code *code) {
    for (uint32_t i = 0; i < code->count; i++)
        if (code->parts[i].calls.destroy)
            code->parts[i].calls.destroy(code->parts[i].self);
    pthread_mutex_lock(&codes->lock);
    codes->destroying--;
    pthread_cond_broadcast(&codes->changed);
    pthread_mutex_unlock(&codes->lock);
}

vy_code *vy_code_retain(vy_code *code) {
    atomic_fetch_add_explicit(&code->references, 1, memory_order_relaxed);
    return code;
}

/* All but the last reference go without the lock. */
static int release_quickly(vy_code *code) {
    uint32_t references = atomic_load_explicit(&code->references, memory_order_relaxed);
    while (references > 1)
        if (atomic_compare_exchange_weak_explicit(&code->references, &references, references - 1, memory_order_acq_rel,
                                                  memory_order_relaxed))
            return 1;
    return 0;
}

/* The last reference goes under the lock: whoever is about to end the device sees the code in the list, or in `destroying`. */
void vy_code_release(vy_code *code) {
    if (!code || release_quickly(code))
        return;
    vy_codes *codes = &code->backend->codes;
    pthread_mutex_lock(&codes->lock);
    if (atomic_fetch_sub_explicit(&code->references, 1, memory_order_acq_rel) != 1) {
        pthread_mutex_unlock(&codes->lock);
        return;
    }
    *(code->previous ? &code->previous->next : &codes->live) = code->next;
    if (code->next)
        code->next->previous = code->previous;
    int must = claim(codes, code);
    pthread_mutex_unlock(&codes->lock);
    if (must)
        destroy_parts(codes, code);
    vy_stages_release(code->stages);
    vy_release(code, sizeof *code + code->count * (sizeof(vy_target) + sizeof(vy_part)));
}

void vy_code_hold(vy_code *code) {
    if (code)
        atomic_fetch_add(&vy_code_retain(code)->users, 1);
}

void vy_code_unhold(vy_code *code) {
    if (!code)
        return;
    vy_codes *codes = &code->backend->codes;
    int must = 0;
    if (atomic_fetch_sub(&code->users, 1) == 1 && atomic_load(&code->is_retired)) {
        pthread_mutex_lock(&codes->lock);
        must = claim(codes, code);
        pthread_mutex_unlock(&codes->lock);
    }
    if (must)
        destroy_parts(codes, code);
    vy_code_release(code);
}

/* ---- those of a backend ---- */

void vy_codes_start(vy_codes *codes) {
    pthread_mutex_init(&codes->lock, NULL);
    vy_cond_init_monotonic(&codes->changed);
}

void vy_codes_end(vy_codes *codes) {
    vy_recent_free(&codes->memory);
    vyre_bytes_free(&codes->identity);
    pthread_cond_destroy(&codes->changed);
    pthread_mutex_destroy(&codes->lock);
}

/* Takes all codes out of the table; they are linked by `also`, each a reference. */
static vy_code *take_memory(vy_codes *codes) {
    vy_code *taken = NULL, *code;
    pthread_mutex_lock(&codes->lock);
    while ((code = vy_recent_evict(&codes->memory, 0))) {
        code->also = taken, taken = code;
        vy_cache_count(VY_CACHE_entries, (uint64_t)-1);
    }
    pthread_mutex_unlock(&codes->lock);
    return taken;
}

/* Retires all; those whose native pipelines the caller has to destroy are linked by `also`, each a reference. */
static vy_code *take_live(vy_codes *codes) {
    vy_code *taken = NULL;
    pthread_mutex_lock(&codes->lock);
    for (vy_code *code = codes->live; code; code = code->next) {
        atomic_store(&code->is_retired, 1);
        if (atomic_load(&code->users) || !claim(codes, code))
            continue;
        code->also = taken, taken = vy_code_retain(code);
    }
    vyre_bytes_free(&codes->identity); /* another device may come back */
    pthread_mutex_unlock(&codes->lock);
    return taken;
}

void vy_codes_retire(vyre_backend *backend) {
    vy_codes *codes = &backend->codes;
    vy_code *code, *next;
    for (code = take_memory(codes); code; code = next) {
        next = code->also;
        vy_code_release(code);
    }
    for (code = take_live(codes); code; code = next) {
        next = code->also;
        destroy_parts(codes, code);
        vy_code_release(code);
    }
    pthread_mutex_lock(&codes->lock);
    while (codes->destroying)
        pthread_cond_wait(&codes->changed, &codes->lock);
    pthread_mutex_unlock(&codes->lock);
}
