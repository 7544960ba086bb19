/* Executables and their in-memory LRU cache: lookup in memory and on disk, single-flight compilation, retirement
 * (executable.h).
 *
 * Lookup order: memory, disk, compiler. Equal concurrent compiles are one: the first thread compiles, the others wait
 * for it. If it fails, the next waiting thread tries; its error is not shared. Any problem with a cache is a miss.
 *
 * Destroying the native pipelines of an executable is claimed under the lock, so that it happens once. It is counted in
 * `destroying`, so that a thread that is about to end the device can wait for it.
 *
 * The LRU table keeps its entries in one array, chained by bucket and linked in the order of use. */
#include "driver/executable.h"

#include "base/diagnostics.h"
#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "driver/backend.h"
#include "driver/cache_disk.h"
#include "driver/pipeline.h"
#include "driver/registry.h"
#include "driver/telemetry.h"

#include <errno.h>
#include <stdio.h>

/* ---- the LRU table ---- */

static vy_lru_entry *entry_at(vy_lru *lru, uint32_t slot) {
    return &lru->entries.items[slot - 1];
}

/* A key is a digest, so any of its bytes serve as a hash. */
static uint32_t *bucket_of(vy_lru *lru, const vy_cache_key *key) {
    uint32_t hash;
    memcpy(&hash, key->digest.bytes, sizeof hash);
    return &lru->buckets[hash & (lru->bucket_count - 1)];
}

static void unlink_use(vy_lru *lru, uint32_t slot) {
    vy_lru_entry *entry = entry_at(lru, slot);
    *(entry->newer ? &entry_at(lru, entry->newer)->older : &lru->newest) = entry->older;
    *(entry->older ? &entry_at(lru, entry->older)->newer : &lru->oldest) = entry->newer;
}

static void link_newest(vy_lru *lru, uint32_t slot) {
    vy_lru_entry *entry = entry_at(lru, slot);
    entry->newer = 0;
    entry->older = lru->newest;
    *(lru->newest ? &entry_at(lru, lru->newest)->newer : &lru->oldest) = slot;
    lru->newest = slot;
}

static void *lru_find(vy_lru *lru, const vy_cache_key *key) {
    uint32_t slot = lru->bucket_count ? *bucket_of(lru, key) : 0;
    while (slot && memcmp(&entry_at(lru, slot)->key, key, sizeof *key) != 0)
        slot = entry_at(lru, slot)->next_in_bucket;
    if (!slot)
        return NULL;
    unlink_use(lru, slot);
    link_newest(lru, slot);
    return entry_at(lru, slot)->value;
}

/* Keeps as many buckets as entries. Without memory for more, chains grow longer. */
static void grow_buckets(vy_lru *lru) {
    uint32_t count = lru->bucket_count ? 2 * lru->bucket_count : 16;
    uint32_t *buckets = count ? vy_allocate_zero(count * sizeof *buckets) : NULL;
    if (!buckets)
        return;
    vy_release(lru->buckets, lru->bucket_count * sizeof *buckets);
    lru->buckets = buckets;
    lru->bucket_count = count;
    for (uint32_t slot = lru->newest; slot; slot = entry_at(lru, slot)->older) {
        uint32_t *bucket = bucket_of(lru, &entry_at(lru, slot)->key);
        entry_at(lru, slot)->next_in_bucket = *bucket;
        *bucket = slot;
    }
}

static int lru_add(vy_lru *lru, const vy_cache_key *key, void *value) {
    uint32_t slot = lru->free;
    if (lru->count >= lru->bucket_count)
        grow_buckets(lru);
    if (!lru->bucket_count)
        return 0;
    if (slot)
        lru->free = entry_at(lru, slot)->next_in_bucket;
    else if (VY_PUSH(&lru->entries))
        slot = lru->entries.count;
    else
        return 0;
    uint32_t *bucket = bucket_of(lru, key);
    *entry_at(lru, slot) = (vy_lru_entry){.key = *key, .value = value, .next_in_bucket = *bucket};
    *bucket = slot;
    link_newest(lru, slot);
    lru->count++;
    return 1;
}

static void *lru_evict(vy_lru *lru, uint32_t limit) {
    uint32_t slot = lru->oldest;
    if (lru->count <= limit)
        return NULL;
    vy_lru_entry *entry = entry_at(lru, slot);
    uint32_t *link = bucket_of(lru, &entry->key);
    while (*link != slot)
        link = &entry_at(lru, *link)->next_in_bucket;
    *link = entry->next_in_bucket;
    unlink_use(lru, slot);
    entry->next_in_bucket = lru->free;
    lru->free = slot;
    lru->count--;
    return entry->value;
}

static void lru_free(vy_lru *lru) {
    vy_release(lru->buckets, lru->bucket_count * sizeof *lru->buckets);
    VY_VECTOR_FREE(&lru->entries);
    *lru = (vy_lru){.count = 0};
}

/* ---- executables ---- */

static vy_executable *executable_new(vyre_backend *backend, vy_multi_launch *stages) {
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
                                    "the function table of a pipeline is too short (%u bytes, at least %zu expected)",
                                    table->struct_size, least);
    if (!table->dispatch || !table->destroy)
        return vy_backend_violation(backend, error, "the function table of a pipeline lacks `%s`",
                                    table->dispatch ? "destroy" : "dispatch");
    return VYRE_OK;
}

/* Caches the answers that every dispatch would compute from all entries. */
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

static vyre_status set_entry(vy_executable *executable, uint32_t index, const vyre_native_pipeline *native,
                             vyre_error *error) {
    const vyre_pipeline_vtable *table = native->vtable;
    vyre_status status = check_table(executable->backend, table, error);
    if (status != VYRE_OK) {
        if (table->struct_size >= offsetof(vyre_pipeline_vtable, destroy) + sizeof table->destroy && table->destroy)
            table->destroy(native->self);
        return status;
    }
    vy_executable_entry *entry = &executable->entries[index];
    /* Entries of a longer table belong to a later contract; those missing from a shorter one are NULL. */
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

/* ---- references and destruction ---- */

/* Claims the destruction, with the lock held. Returns 1 if the caller must call destroy_entries. */
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

/* All references except the last are dropped without the lock. */
static int release_shared(vy_executable *executable) {
    uint32_t references = atomic_load_explicit(&executable->references, memory_order_relaxed);
    while (references > 1)
        if (atomic_compare_exchange_weak_explicit(&executable->references, &references, references - 1,
                                                  memory_order_acq_rel, memory_order_relaxed))
            return 1;
    return 0;
}

/* The last reference is dropped under the lock, so that a thread that is about to end the device finds the executable
 * in the list or counted in `destroying`. */
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

/* ---- the cache of a backend ---- */

void vy_executable_cache_start(vy_executable_cache *executables) {
    pthread_mutex_init(&executables->lock, NULL);
    vy_cond_init_monotonic(&executables->changed);
}

void vy_executable_cache_end(vy_executable_cache *executables) {
    lru_free(&executables->memory);
    vyre_bytes_free(&executables->identity);
    pthread_cond_destroy(&executables->changed);
    pthread_mutex_destroy(&executables->lock);
}

/* Removes all executables from the table. The result is linked by `also` and holds a reference to each. */
static vy_executable *evict_all(vy_executable_cache *executables) {
    vy_executable *taken = NULL, *executable;
    pthread_mutex_lock(&executables->lock);
    while ((executable = lru_evict(&executables->memory, 0))) {
        executable->also = taken, taken = executable;
        vy_cache_count(VY_CACHE_entries, (uint64_t)-1);
    }
    pthread_mutex_unlock(&executables->lock);
    return taken;
}

/* Retires all executables. Those whose native pipelines the caller must destroy are linked by `also`, with a reference
 * to each. */
static vy_executable *retire_live(vy_executable_cache *executables) {
    vy_executable *taken = NULL;
    pthread_mutex_lock(&executables->lock);
    for (vy_executable *executable = executables->live; executable; executable = executable->next) {
        atomic_store(&executable->is_retired, 1);
        if (atomic_load(&executable->users) || !claim(executables, executable))
            continue;
        executable->also = taken, taken = vy_executable_retain(executable);
    }
    vyre_bytes_free(&executables->identity); /* the next device may be a different one */
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

typedef struct compile {
    vyre_backend *backend;
    vyre_program *program;
    vyre_compile_options options;
    vy_executable_form form;
    int is_keyed; /* the backend has an identity, so keys exist */
    int is_found; /* nothing had to be compiled */
} compile;

/* ---- keys ---- */

static vyre_status query_identity(vyre_backend *backend, vyre_bytes *out, vyre_error *error) {
    if (backend->calls.cache_identity) {
        vy_error_clear(error);
        return vy_backend_check_result_bytes(backend, backend->calls.cache_identity(backend->self, out, error), out,
                                             error);
    }
    const char *version = vyre_backend_version(backend);
    size_t id = strlen(backend->id) + 1, size = id + strlen(version);
    vyre_status status = vyre_bytes_resize(out, size, error);
    if (status == VYRE_OK) {
        memcpy(out->data, backend->id, id); /* its NUL separates the two */
        memcpy((char *)out->data + id, version, size - id);
    }
    return status;
}

static vyre_status append_identity(vyre_bytes *identity, const void *data, size_t size, vyre_error *error) {
    size_t before = identity->size;
    vyre_status status = vyre_bytes_resize(identity, before + size, error);
    if (status == VYRE_OK)
        memcpy((char *)identity->data + before, data, size);
    return status;
}

/* Adds the parts of the identity that the backend does not report: the operations that the device computes exactly, and
 * the build id of a backend in another module, which is built separately. The library's build is part of every key. */
static vyre_status complete_identity(const vyre_backend *backend, vyre_bytes *identity, vyre_error *error) {
    vyre_digest build;
    uint64_t exact = atomic_load_explicit(&backend->numerics, memory_order_relaxed);
    vyre_status status = append_identity(identity, &exact, sizeof exact, error);
    if (status != VYRE_OK || backend->is_built_in)
        return status;
    vy_module_build_id((const void *)(uintptr_t)backend->calls.id, &build);
    return append_identity(identity, &build, sizeof build, error);
}

/* Queries the identity once per device. A backend without one has no keys and is not cached. */
static int has_identity(vyre_backend *backend) {
    vy_executable_cache *executables = &backend->executables;
    vyre_bytes given = VYRE_BYTES_INIT;
    vyre_error error;
    pthread_mutex_lock(&executables->lock);
    int is_known = executables->identity.size != 0;
    pthread_mutex_unlock(&executables->lock);
    if (is_known)
        return 1;
    if (query_identity(backend, &given, &error) != VYRE_OK || !given.size) {
        vy_log(1, backend->id, "the backend reports no cache identity: its pipelines are not cached");
        vyre_bytes_free(&given);
        return 0;
    }
    if (complete_identity(backend, &given, &error) != VYRE_OK) {
        vyre_bytes_free(&given);
        return 0;
    }
    pthread_mutex_lock(&executables->lock);
    vyre_bytes old = executables->identity;
    executables->identity = given;
    pthread_mutex_unlock(&executables->lock);
    vyre_bytes_free(&old);
    return 1;
}

static void make_key(compile *c, const vyre_digest *program, vy_cache_key *out) {
    vy_executable_cache *executables = &c->backend->executables;
    vy_cache_parts parts = {.program = *program, .backend = c->backend->id, .options = &c->options};
    pthread_mutex_lock(&executables->lock);
    parts.identity = (vyre_span){executables->identity.data, executables->identity.size};
    vy_cache_key_make(&parts, out);
    pthread_mutex_unlock(&executables->lock);
}

static void program_key(compile *c, vyre_program *program, vy_cache_key *out) {
    vyre_digest fingerprint;
    vyre_program_fingerprint(program, &fingerprint);
    make_key(c, &fingerprint, out);
}

/* The key in memory covers all entries of an executable. It includes the form, since the entries depend on it. */
static void memory_key(compile *c, vy_cache_key *out) {
    static const char names[][8] = {
        [VY_EXECUTABLE_PLAIN] = "", [VY_EXECUTABLE_TILED] = "based", [VY_EXECUTABLE_COOPERATIVE] = "whole"};
    struct {
        vyre_digest fingerprint;
        char what[8];
    } named;
    vyre_digest digest;
    vyre_program_fingerprint(c->program, &named.fingerprint);
    memcpy(named.what, names[c->form], sizeof named.what);
    vy_digest(&named, sizeof named, &digest);
    make_key(c, c->form == VY_EXECUTABLE_PLAIN ? &named.fingerprint : &digest, out);
}

/* ---- one entry ---- */

static int is_late(uint64_t deadline_ns) {
    return deadline_ns && vy_clock_now() >= deadline_ns;
}

static vyre_status refuse_compile(const compile *c, vyre_error *error) {
    vy_fail(error, VYRE_UNSUPPORTED,
            "compile it once while compiling is allowed, or allow it: vyre_cache_forbid_compile(0), "
            "and no VYRE_FORBID_COMPILE in the environment",
            "compiling is forbidden, and `%s` for backend `%s` is in no cache", vyre_program_name(c->program),
            c->backend->id);
    (void)vy_fail_parts(error, "compiling", c->backend->id, vyre_program_name(c->program));
    return VYRE_UNSUPPORTED;
}

/* VYRE_NOT_FOUND is a miss. VYRE_DEVICE_LOST ends the build. */
static vyre_status load_entry(compile *c, vy_executable *executable, uint32_t index, vyre_program *program,
                              const vy_cache_key *key, vyre_error *error) {
    vyre_backend *backend = c->backend;
    vyre_native_pipeline native = {NULL, NULL};
    vyre_bytes binary = VYRE_BYTES_INIT;
    vy_span looking = vy_span_begin();
    vyre_status status = vy_disk_cache_load(key, &binary);
    vy_span_end(looking, cache, .backend = backend->id, .bytes = binary.size, .status = status);
    if (status == VYRE_OK) {
        vy_span loading = vy_span_begin();
        vy_error_clear(error);
        status = vy_backend_check_result(backend,
                                         backend->calls.load(backend->self, program, &c->options,
                                                             (vyre_span){binary.data, binary.size}, &native, error),
                                         error);
        if (status == VYRE_OK)
            status = native.vtable ? set_entry(executable, index, &native, error) : VYRE_NOT_FOUND;
        vy_span_end(loading, load, .backend = backend->id, .program = vyre_program_name(program), .bytes = binary.size,
                    .status = status);
        if (status != VYRE_OK)
            vy_cache_count(VY_CACHE_rejected, 1);
    }
    vyre_bytes_free(&binary);
    return status == VYRE_OK || status == VYRE_DEVICE_LOST ? status : VYRE_NOT_FOUND;
}

static vyre_status compile_entry(compile *c, vy_executable *executable, uint32_t index, vyre_program *program,
                                 vyre_error *error) {
    vyre_backend *backend = c->backend;
    vyre_native_pipeline native = {NULL, NULL};
    if (is_late(c->options.deadline_ns))
        return vy_fail(error, VYRE_TIMEOUT, NULL, "`%s` was not compiled at its deadline: the compiler had not started",
                       vyre_program_name(program));
    vy_span span = vy_span_begin();
    vy_error_clear(error);
    vy_writeback_queue_begin_compile(&backend->writebacks);
    vyre_status status = backend->calls.compile(backend->self, program, &c->options, &native, error);
    vy_writeback_queue_end_compile(&backend->writebacks);
    status = vy_backend_check_result(backend, status, error);
    if (status == VYRE_OK && native.vtable) {
        status = set_entry(executable, index, &native, error);
        vy_count(VY_COUNTER_compiles, 1);
        vy_cache_count(VY_CACHE_compiles, 1);
    } else if (status == VYRE_OK && !backend->calls.dispatch) {
        status = vy_backend_violation(backend, error, "it has no `dispatch`, and did not compile `%s`",
                                      vyre_program_name(program));
    }
    vy_span_end(span, compile, .backend = backend->id, .program = vyre_program_name(program), .status = status);
    return status;
}

static vyre_status build_entry(compile *c, vy_executable *executable, uint32_t index, vyre_program *program,
                               vyre_error *error) {
    vyre_backend *backend = c->backend;
    vy_cache_key key;
    if (c->is_keyed) {
        program_key(c, program, &key);
        vyre_status status =
            backend->calls.load ? load_entry(c, executable, index, program, &key, error) : (vyre_status)VYRE_NOT_FOUND;
        if (status != VYRE_NOT_FOUND)
            return status;
    }
    c->is_found = 0;
    if (!backend->calls.compile)
        return VYRE_OK; /* the backend itself runs it */
    if (vy_compile_forbidden())
        return refuse_compile(c, error);
    vyre_status status = compile_entry(c, executable, index, program, error);
    if (status == VYRE_OK && c->is_keyed && executable->entries[index].calls.dispatch)
        vy_writeback_store(executable, index, program, &key);
    return status;
}

/* A program that needs several launches has one entry per stage. */
static vyre_status build_executable(compile *c, vy_executable **out, vyre_error *error) {
    int has_barriers = (c->program->facts & VY_PROGRAM_HAS_GRID_BARRIER) &&
                       !vyre_backend_capability(c->backend, VYRE_CAPABILITY_GRID_SYNC) &&
                       c->form != VY_EXECUTABLE_COOPERATIVE,
        is_tiled = c->form == VY_EXECUTABLE_TILED;
    vy_multi_launch *stages = NULL;
    vyre_status status = VYRE_OK;
    if (is_tiled || has_barriers)
        status = vy_multi_launch_get(c->backend, c->program, is_tiled, &stages, error);
    if (status != VYRE_OK)
        return status;
    vy_executable *executable = executable_new(c->backend, stages);
    if (!executable) {
        vy_multi_launch_release(stages);
        return vy_fail_memory(error, "compiling a pipeline");
    }
    c->is_found = 1;
    for (uint32_t i = 0; i < executable->count && status == VYRE_OK; i++)
        status = build_entry(c, executable, i, stages ? vy_multi_launch_program(stages, i) : c->program, error);
    if (status != VYRE_OK) {
        vy_executable_release(executable);
        return status;
    }
    *out = executable;
    return VYRE_OK;
}

/* ---- concurrent compiles ---- */

/* figure: memory_hits, disk_hits or misses. */
static void count_lookup(vy_executable_cache *executables, vy_cache_stat figure) {
    int is_hit = figure != VY_CACHE_misses;
    vy_cache_count(figure, 1);
    vy_count(is_hit ? VY_COUNTER_cache_hits : VY_COUNTER_cache_misses, 1);
    atomic_fetch_add_explicit(is_hit ? &executables->hits : &executables->misses, 1, memory_order_relaxed);
}

static vy_inflight_compile *find_inflight(vy_executable_cache *executables, const vy_cache_key *key) {
    vy_inflight_compile *inflight = executables->inflight_compiles;
    while (inflight && memcmp(&inflight->key, key, sizeof *key) != 0)
        inflight = inflight->next;
    return inflight;
}

/* Waits for an equal compile, with the lock held. NULL: it failed, or has not finished at the deadline (0: none).
 * *done: a finished compile that the caller frees, because it was the last waiter. */
static vy_executable *wait_inflight(vy_executable_cache *executables, vy_inflight_compile *inflight,
                                    uint64_t deadline_ns, vy_inflight_compile **done) {
    const struct timespec until = vy_clock_timespec(deadline_ns);
    int result = 0;
    inflight->waiters++;
    while (!inflight->is_done && result != ETIMEDOUT)
        result = deadline_ns ? pthread_cond_timedwait(&executables->changed, &executables->lock, &until)
                             : pthread_cond_wait(&executables->changed, &executables->lock);
    vy_executable *executable =
        inflight->is_done && inflight->executable ? vy_executable_retain(inflight->executable) : NULL;
    int is_last = --inflight->waiters == 0 && inflight->is_done;
    *done = is_last ? inflight : NULL;
    return executable;
}

static void free_inflight(vy_inflight_compile *inflight) {
    if (!inflight)
        return;
    vy_executable_release(inflight->executable);
    vy_release(inflight, sizeof *inflight);
}

/* Returns the executable from memory or from a thread that compiles it. NULL: the caller has to compile it, and `own`
 * is in the list; or *was_late, and `own` is not in the list. */
static vy_executable *find_or_wait(vy_executable_cache *executables, vy_inflight_compile *own, uint64_t deadline_ns,
                                   int *was_late) {
    vy_executable *executable = NULL;
    vy_inflight_compile *other, *done;
    vy_span looking = vy_span_begin();
    *was_late = 0;
    pthread_mutex_lock(&executables->lock);
    while (!executable && !*was_late) {
        executable = vy_cache_memory_limit() ? lru_find(&executables->memory, &own->key) : NULL;
        if (executable)
            vy_executable_retain(executable);
        else if ((other = find_inflight(executables, &own->key))) {
            executable = wait_inflight(executables, other, deadline_ns, &done);
            *was_late = !executable && is_late(deadline_ns);
            if (!done)
                continue;
            pthread_mutex_unlock(&executables->lock);
            free_inflight(done);
            pthread_mutex_lock(&executables->lock);
        } else {
            own->next = executables->inflight_compiles;
            executables->inflight_compiles = own;
            break;
        }
    }
    pthread_mutex_unlock(&executables->lock);
    vy_span_end(looking, cache, .status = executable ? VYRE_OK : VYRE_NOT_FOUND);
    return executable;
}

/* Removes executables over the limit from memory; linked by `also`. With the lock held. */
static vy_executable *evict_over_limit(vy_executable_cache *executables) {
    vy_executable *evicted = NULL, *executable;
    while ((executable = lru_evict(&executables->memory, vy_cache_memory_limit()))) {
        executable->also = evicted, evicted = executable;
        vy_cache_count(VY_CACHE_entries, (uint64_t)-1);
        vy_cache_count(VY_CACHE_evictions, 1);
    }
    return evicted;
}

/* Ends a compile; executable is NULL if it failed. */
static void finish_inflight(vy_executable_cache *executables, vy_inflight_compile *own, vy_executable *executable) {
    pthread_mutex_lock(&executables->lock);
    vy_inflight_compile **link = &executables->inflight_compiles;
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
    own->is_done = 1;
    own->executable = executable ? vy_executable_retain(executable) : NULL;
    if (executable && vy_cache_memory_limit() && lru_add(&executables->memory, &own->key, executable)) {
        vy_executable_retain(executable);
        vy_cache_count(VY_CACHE_entries, 1);
    }
    vy_executable *evicted = evict_over_limit(executables), *next;
    int is_alone = own->waiters == 0;
    pthread_cond_broadcast(&executables->changed);
    pthread_mutex_unlock(&executables->lock);
    for (; evicted; evicted = next) {
        next = evicted->also;
        vy_executable_release(evicted);
    }
    if (is_alone)
        free_inflight(own);
}

static vyre_status find_or_build(compile *c, vy_executable **out, vyre_error *error) {
    vy_executable_cache *executables = &c->backend->executables;
    vy_inflight_compile *own = vy_allocate_zero(sizeof *own);
    int was_late;
    if (!own)
        return vy_fail_memory(error, "compiling a pipeline");
    memory_key(c, &own->key);
    *out = find_or_wait(executables, own, c->options.deadline_ns, &was_late);
    if (was_late) {
        vy_release(own, sizeof *own);
        return vy_fail(error, VYRE_TIMEOUT, NULL,
                       "`%s` was not compiled at its deadline: another thread was compiling it",
                       vyre_program_name(c->program));
    }
    if (*out) {
        vy_release(own, sizeof *own);
        count_lookup(executables, VY_CACHE_memory_hits);
        return VYRE_OK;
    }
    vyre_status status = build_executable(c, out, error);
    count_lookup(executables, status == VYRE_OK && c->is_found ? VY_CACHE_disk_hits : VY_CACHE_misses);
    finish_inflight(executables, own, *out);
    return status;
}

vyre_status vy_executable_get(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                              vy_executable_form form, vy_executable **out, vyre_error *error) {
    compile c = {.backend = backend, .program = program, .options = *options, .form = form};
    *out = NULL;
    /* A backend that neither compiles nor loads needs no cache. */
    if (!backend->calls.compile && !backend->calls.load)
        return build_executable(&c, out, error);
    c.is_keyed = has_identity(backend);
    return c.is_keyed ? find_or_build(&c, out, error) : build_executable(&c, out, error);
}
