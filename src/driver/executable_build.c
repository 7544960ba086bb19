/* From a program to its executable (executable.h): memory, disk, compiler, in this order.
 *
 * Equal compiles at the same time are one: the first flies, the others wait for it. One that fails gives the others nothing, not even its
 * error: the next of them tries. Whatever is wrong with a cache is a miss. */
#include "driver/pipeline.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status.h"
#include "driver/cache_disk.h"
#include "driver/cache_writeback.h"
#include "driver/registry.h"
#include "driver/trace.h"

#include <errno.h>
#include <stdio.h>

typedef struct compile {
    vyre_backend *backend;
    vyre_program *program;
    vyre_compile_options options;
    vy_executable_form form;
    int is_keyed; /* the backend says who it is: there can be keys */
    int is_found; /* no part had to be compiled */
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
        memcpy(out->data, backend->id, id); /* with its NUL, which separates the two */
        memcpy((char *)out->data + id, version, size - id);
    }
    return status;
}

static vyre_status append(vyre_bytes *identity, const void *data, size_t size, vyre_error *error) {
    size_t before = identity->size;
    vyre_status status = vyre_bytes_resize(identity, before + size, error);
    if (status == VYRE_OK)
        memcpy((char *)identity->data + before, data, size);
    return status;
}

/* What decides a binary beside what the backend says: what the device computes exactly, and the build of a backend of another module, which is
 * built apart from the library, whose build is in every key. */
static vyre_status complete_identity(const vyre_backend *backend, vyre_bytes *identity, vyre_error *error) {
    vyre_digest build;
    uint64_t exact = atomic_load_explicit(&backend->numerics, memory_order_relaxed);
    vyre_status status = append(identity, &exact, sizeof exact, error);
    if (status != VYRE_OK || backend->is_built_in)
        return status;
    vy_module_build_id((const void *)(uintptr_t)backend->calls.id, &build);
    return append(identity, &build, sizeof build, error);
}

/* Asks the backend once a device. One that does not answer has no keys, and so no caches. */
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
        vy_log(1, backend->id, "the backend does not say what its binaries depend on: nothing is cached");
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

/* The key in memory stands for all entries. In another form they are others. */
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

/* ---- one part ---- */

static int is_late(uint64_t deadline_ns) {
    return deadline_ns && vy_clock_now() >= deadline_ns;
}

static vyre_status refuse_compile(const compile *c, vyre_error *error) {
    vy_fail(error, VYRE_UNSUPPORTED,
            "compile it once with compiling allowed, or allow it: vyre_cache_forbid_compile(0), "
            "and no VYRE_FORBID_COMPILE in the environment",
            "compiling is forbidden, and `%s` for backend `%s` is in no cache", vyre_program_name(c->program),
            c->backend->id);
    (void)vy_fail_parts(error, "compiling", c->backend->id, vyre_program_name(c->program));
    return VYRE_UNSUPPORTED;
}

/* VYRE_NOT_FOUND is a miss, and VYRE_DEVICE_LOST no reason to go on. */
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
            status = native.vtable ? vy_executable_set_entry(executable, index, &native, error) : VYRE_NOT_FOUND;
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
        return vy_fail(error, VYRE_TIMEOUT, NULL,
                       "`%s` was not compiled at its deadline: no compiler had begun with it",
                       vyre_program_name(program));
    vy_span span = vy_span_begin();
    vy_error_clear(error);
    vy_writeback_queue_begin_compile(&backend->writebacks);
    vyre_status status = backend->calls.compile(backend->self, program, &c->options, &native, error);
    vy_writeback_queue_end_compile(&backend->writebacks);
    status = vy_backend_check_result(backend, status, error);
    if (status == VYRE_OK && native.vtable) {
        status = vy_executable_set_entry(executable, index, &native, error);
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

/* A program that one launch cannot do here has a part for each stage. */
static vyre_status build(compile *c, vy_executable **out, vyre_error *error) {
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
    vy_executable *executable = vy_executable_new(c->backend, stages);
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

/* ---- inflight_compiles ---- */

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

/* Waits for an equal compile, with the lock held; NULL if it failed, or is not done at the deadline (0: none). The last to leave one that
 * is done frees it. */
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

/* The executable from memory or from somebody who is compiling it; NULL if the caller has to, under the inflight it gave, or if it is late: then the inflight is not
 * in the list. */
static vy_executable *find(vy_executable_cache *executables, vy_inflight_compile *own, uint64_t deadline_ns,
                           int *was_late) {
    vy_executable *executable = NULL;
    vy_inflight_compile *other, *done;
    vy_span looking = vy_span_begin();
    *was_late = 0;
    pthread_mutex_lock(&executables->lock);
    while (!executable && !*was_late) {
        executable = vy_cache_memory_limit() ? vy_lru_find(&executables->memory, &own->key) : NULL;
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

/* Codes over the limit leave memory; linked by `also`. With the lock held. */
static vy_executable *evict(vy_executable_cache *executables) {
    vy_executable *evicted = NULL, *executable;
    while ((executable = vy_lru_evict(&executables->memory, vy_cache_memory_limit()))) {
        executable->also = evicted, evicted = executable;
        vy_cache_count(VY_CACHE_entries, (uint64_t)-1);
        vy_cache_count(VY_CACHE_evictions, 1);
    }
    return evicted;
}

/* Ends an inflight; executable NULL if it failed. */
static void finish_inflight(vy_executable_cache *executables, vy_inflight_compile *own, vy_executable *executable) {
    pthread_mutex_lock(&executables->lock);
    vy_inflight_compile **link = &executables->inflight_compiles;
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
    own->is_done = 1;
    own->executable = executable ? vy_executable_retain(executable) : NULL;
    if (executable && vy_cache_memory_limit() && vy_lru_add(&executables->memory, &own->key, executable)) {
        vy_executable_retain(executable);
        vy_cache_count(VY_CACHE_entries, 1);
    }
    vy_executable *evicted = evict(executables), *next;
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
    *out = find(executables, own, c->options.deadline_ns, &was_late);
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
    vyre_status status = build(c, out, error);
    count_lookup(executables, status == VYRE_OK && c->is_found ? VY_CACHE_disk_hits : VY_CACHE_misses);
    finish_inflight(executables, own, *out);
    return status;
}

vyre_status vy_executable_get(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                              vy_executable_form form, vy_executable **out, vyre_error *error) {
    compile c = {.backend = backend, .program = program, .options = *options, .form = form};
    *out = NULL;
    /* Where nothing is compiled there is nothing to keep. */
    if (!backend->calls.compile && !backend->calls.load)
        return build(&c, out, error);
    c.is_keyed = has_identity(backend);
    return c.is_keyed ? find_or_build(&c, out, error) : build(&c, out, error);
}
