/* Executables: made, shared, retired, freed (executable.h).
 *
 * Who destroys the native pipelines of an executable claims that under the lock, so that it happens once, and counts itself in `destroying`, so
 * that whoever is about to end the device can wait for it. */
#include "driver/executable.h"

#include "base/thread.h"
#include "driver/backend.h"
#include "driver/cache_disk.h"

vy_executable *vy_executable_new(vyre_backend *backend, vy_multi_launch *stages) {
    uint32_t count = stages ? vy_multi_launch_count(stages) : 1;
    size_t head = sizeof(vy_executable) + count * sizeof(vy_dispatch_table);
    vy_executable *executable = vy_allocate_zero(head + count * sizeof(vy_executable_entry));
    if (!executable)
        return NULL;
    atomic_init(&executable->references, 1);
    executable->backend = backend;
    executable->stages = stages;
    executable->count = count;
    executable->entries = (vy_executable_entry *)((char *)executable + head);
    for (uint32_t i = 0; i < count; i++)
        executable->dispatch_tables[i] = backend->dispatch_table;
    vy_executable_cache *executables = &backend->executables;
    pthread_mutex_lock(&executables->lock);
    executable->next = executables->live;
    if (executables->live)
        executables->live->previous = executable;
    executables->live = executable;
    pthread_mutex_unlock(&executables->lock);
    return executable;
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

/* What every dispatch would ask of all entries. */
static void update_capabilities(vy_executable *executable) {
    int has_native = 0, is_resident = 1, is_persistent = 1;
    for (uint32_t i = 0; i < executable->count; i++) {
        has_native |= executable->entries[i].calls.dispatch != NULL;
        is_resident &= vy_dispatch_table_is_resident(&executable->dispatch_tables[i]);
        is_persistent &= executable->dispatch_tables[i].dispatch_persistent != NULL;
    }
    executable->has_native = (uint8_t)has_native;
    executable->is_resident = (uint8_t)(has_native && is_resident);
    executable->is_persistent = (uint8_t)(has_native && is_persistent);
}

vyre_status vy_executable_set_entry(vy_executable *executable, uint32_t index, const vyre_native_pipeline *native,
                                    vyre_error *error) {
    const vyre_pipeline_vtable *table = native->vtable;
    vyre_status status = check_table(executable->backend, table, error);
    if (status != VYRE_OK) {
        if (table->struct_size >= offsetof(vyre_pipeline_vtable, destroy) + sizeof table->destroy && table->destroy)
            table->destroy(native->self);
        return status;
    }
    vy_executable_entry *entry = &executable->entries[index];
    /* Entries of a longer table are of a later contract, and those a shorter one lacks are NULL. */
    memcpy(&entry->calls, table, table->struct_size < sizeof entry->calls ? table->struct_size : sizeof entry->calls);
    entry->self = native->self;
    executable->dispatch_tables[index] = (vy_dispatch_table){.self = native->self,
                                                             .dispatch = table->dispatch,
                                                             .dispatch_borrowed = table->dispatch_borrowed,
                                                             .dispatch_borrowed_timed = table->dispatch_borrowed_timed,
                                                             .dispatch_borrowed_into = table->dispatch_borrowed_into,
                                                             .dispatch_borrowed_async = table->dispatch_async,
                                                             .dispatch_persistent = table->dispatch_persistent_into};
    update_capabilities(executable);
    return VYRE_OK;
}

int vy_executable_is_native(const vy_executable *executable) {
    for (uint32_t i = 0; i < executable->count; i++)
        if (!executable->entries[i].calls.dispatch)
            return 0;
    return 1;
}

vyre_status vy_executable_prepare(vy_executable *executable, vyre_program *program, vyre_error *error) {
    if (atomic_load_explicit(&executable->is_prepared, memory_order_acquire))
        return VYRE_OK;
    vyre_status status = vy_prepare(executable->backend, program, error);
    if (status == VYRE_OK)
        atomic_store_explicit(&executable->is_prepared, 1, memory_order_release);
    return status;
}

/* ---- ends ---- */

/* With the lock held. Returns 1 if the caller has to destroy, and to call `destroyed` afterwards. */
static int claim(vy_executable_cache *executables, vy_executable *executable) {
    if (executable->is_destroyed)
        return 0;
    executable->is_destroyed = 1;
    executables->destroying++;
    return 1;
}

static void destroy_entries(vy_executable_cache *executables, vy_executable *executable) {
    for (uint32_t i = 0; i < executable->count; i++)
        if (executable->entries[i].calls.destroy)
            executable->entries[i].calls.destroy(executable->entries[i].self);
    pthread_mutex_lock(&executables->lock);
    executables->destroying--;
    pthread_cond_broadcast(&executables->changed);
    pthread_mutex_unlock(&executables->lock);
}

vy_executable *vy_executable_retain(vy_executable *executable) {
    atomic_fetch_add_explicit(&executable->references, 1, memory_order_relaxed);
    return executable;
}

/* All but the last reference go without the lock. */
static int release_shared(vy_executable *executable) {
    uint32_t references = atomic_load_explicit(&executable->references, memory_order_relaxed);
    while (references > 1)
        if (atomic_compare_exchange_weak_explicit(&executable->references, &references, references - 1,
                                                  memory_order_acq_rel, memory_order_relaxed))
            return 1;
    return 0;
}

/* The last reference goes under the lock: whoever is about to end the device sees the executable in the list, or in `destroying`. */
void vy_executable_release(vy_executable *executable) {
    if (!executable || release_shared(executable))
        return;
    vy_executable_cache *executables = &executable->backend->executables;
    pthread_mutex_lock(&executables->lock);
    if (atomic_fetch_sub_explicit(&executable->references, 1, memory_order_acq_rel) != 1) {
        pthread_mutex_unlock(&executables->lock);
        return;
    }
    *(executable->previous ? &executable->previous->next : &executables->live) = executable->next;
    if (executable->next)
        executable->next->previous = executable->previous;
    int must = claim(executables, executable);
    pthread_mutex_unlock(&executables->lock);
    if (must)
        destroy_entries(executables, executable);
    vy_multi_launch_release(executable->stages);
    vy_release(executable,
               sizeof *executable + executable->count * (sizeof(vy_dispatch_table) + sizeof(vy_executable_entry)));
}

void vy_executable_pin(vy_executable *executable) {
    if (executable)
        atomic_fetch_add(&vy_executable_retain(executable)->users, 1);
}

void vy_executable_unpin(vy_executable *executable) {
    if (!executable)
        return;
    vy_executable_cache *executables = &executable->backend->executables;
    int must = 0;
    if (atomic_fetch_sub(&executable->users, 1) == 1 && atomic_load(&executable->is_retired)) {
        pthread_mutex_lock(&executables->lock);
        must = claim(executables, executable);
        pthread_mutex_unlock(&executables->lock);
    }
    if (must)
        destroy_entries(executables, executable);
    vy_executable_release(executable);
}

/* ---- those of a backend ---- */

void vy_executable_cache_start(vy_executable_cache *executables) {
    pthread_mutex_init(&executables->lock, NULL);
    vy_cond_init_monotonic(&executables->changed);
}

void vy_executable_cache_end(vy_executable_cache *executables) {
    vy_lru_free(&executables->memory);
    vyre_bytes_free(&executables->identity);
    pthread_cond_destroy(&executables->changed);
    pthread_mutex_destroy(&executables->lock);
}

/* Takes all executables out of the table; they are linked by `also`, each a reference. */
static vy_executable *evict_all(vy_executable_cache *executables) {
    vy_executable *taken = NULL, *executable;
    pthread_mutex_lock(&executables->lock);
    while ((executable = vy_lru_evict(&executables->memory, 0))) {
        executable->also = taken, taken = executable;
        vy_cache_count(VY_CACHE_entries, (uint64_t)-1);
    }
    pthread_mutex_unlock(&executables->lock);
    return taken;
}

/* Retires all; those whose native pipelines the caller has to destroy are linked by `also`, each a reference. */
static vy_executable *retire_live(vy_executable_cache *executables) {
    vy_executable *taken = NULL;
    pthread_mutex_lock(&executables->lock);
    for (vy_executable *executable = executables->live; executable; executable = executable->next) {
        atomic_store(&executable->is_retired, 1);
        if (atomic_load(&executable->users) || !claim(executables, executable))
            continue;
        executable->also = taken, taken = vy_executable_retain(executable);
    }
    vyre_bytes_free(&executables->identity); /* another device may come back */
    pthread_mutex_unlock(&executables->lock);
    return taken;
}

void vy_executable_cache_retire(vyre_backend *backend) {
    vy_executable_cache *executables = &backend->executables;
    vy_executable *executable, *next;
    for (executable = evict_all(executables); executable; executable = next) {
        next = executable->also;
        vy_executable_release(executable);
    }
    for (executable = retire_live(executables); executable; executable = next) {
        next = executable->also;
        destroy_entries(executables, executable);
        vy_executable_release(executable);
    }
    pthread_mutex_lock(&executables->lock);
    while (executables->destroying)
        pthread_cond_wait(&executables->changed, &executables->lock);
    pthread_mutex_unlock(&executables->lock);
}
