/* From a program to its code (pipeline_code.h): memory, disk, compiler, in this order.
 *
 * Equal compiles at the same time are one: the first flies, the others wait for it. One that fails gives the others nothing, not even its
 * error: the next of them tries. Whatever is wrong with a cache is a miss. */
#include "driver/pipeline.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "driver/cache_disk.h"
#include "driver/pipeline_store.h"
#include "driver/registry.h"
#include "driver/trace.h"

#include <errno.h>
#include <stdio.h>

typedef struct compile {
    vyre_backend *backend;
    vyre_program *program;
    vyre_compile_options options;
    vy_code_form form;
    int is_keyed; /* the backend says who it is: there can be keys */
    int is_found; /* no part had to be compiled */
} compile;

/* ---- keys ---- */

static vyre_status ask_identity(vyre_backend *backend, vyre_bytes *out, vyre_error *error) {
    if (backend->calls.cache_identity) {
        vy_error_clear(error);
        return vy_backend_judge_bytes(backend, backend->calls.cache_identity(backend->self, out, error), out, error);
    }
    const char *version = vyre_backend_version(backend);
    size_t id = strlen(backend->id) + 1, size = id + strlen(version);
    vyre_status status = vyre_bytes_resize(out, size, error);
    if (status == VYRE_OK) {
        memcpy(out->data, backend->id, id); /* with its NUL, which parts the two */
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
    vy_cache_module_build((const void *)(uintptr_t)backend->calls.id, &build);
    return append(identity, &build, sizeof build, error);
}

/* Asks the backend once a device. One that does not answer has no keys, and so no caches. */
static int has_identity(vyre_backend *backend) {
    vy_codes *codes = &backend->codes;
    vyre_bytes given = VYRE_BYTES_INIT;
    vyre_error error;
    pthread_mutex_lock(&codes->lock);
    int is_known = codes->identity.size != 0;
    pthread_mutex_unlock(&codes->lock);
    if (is_known)
        return 1;
    if (ask_identity(backend, &given, &error) != VYRE_OK || !given.size) {
        vy_log(1, backend->id, "the backend does not say what its binaries depend on: nothing is cached");
        vyre_bytes_free(&given);
        return 0;
    }
    if (complete_identity(backend, &given, &error) != VYRE_OK) {
        vyre_bytes_free(&given);
        return 0;
    }
    pthread_mutex_lock(&codes->lock);
    vyre_bytes old = codes->identity;
    codes->identity = given;
    pthread_mutex_unlock(&codes->lock);
    vyre_bytes_free(&old);
    return 1;
}

static void make_key(compile *c, const vyre_digest *program, vy_cache_key *out) {
    vy_codes *codes = &c->backend->codes;
    vy_cache_parts parts = {.program = *program, .backend = c->backend->id, .options = &c->options};
    pthread_mutex_lock(&codes->lock);
    parts.identity = (vyre_span){codes->identity.data, codes->identity.size};
    vy_cache_key_make(&parts, out);
    pthread_mutex_unlock(&codes->lock);
}

static void program_key(compile *c, vyre_program *program, vy_cache_key *out) {
    vyre_digest fingerprint;
    vyre_program_fingerprint(program, &fingerprint);
    make_key(c, &fingerprint, out);
}

/* The key in memory stands for all parts. In another form they are others. */
static void memory_key(compile *c, vy_cache_key *out) {
    static const char names[][8] = {[VY_CODE_PLAIN] = "", [VY_CODE_BASED] = "based", [VY_CODE_WHOLE] = "whole"};
    struct {
        vyre_digest fingerprint;
        char what[8];
    } named;
    vyre_digest digest;
    vyre_program_fingerprint(c->program, &named.fingerprint);
    memcpy(named.what, names[c->form], sizeof named.what);
    vy_digest(&named, sizeof named, &digest);
    make_key(c, c->form == VY_CODE_PLAIN ? &named.fingerprint : &digest, out);
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
static vyre_status load_part(compile *c, vy_code *code, uint32_t index, vyre_program *program, const vy_cache_key *key,
                             vyre_error *error) {
    vyre_backend *backend = c->backend;
    vyre_native_pipeline native = {NULL, NULL};
    vyre_bytes binary = VYRE_BYTES_INIT;
    vy_span looking = vy_span_begin();
    vyre_status status = vy_disk_load(key, &binary);
    vy_span_end(looking, cache, .backend = backend->id, .bytes = binary.size, .status = status);
    if (status == VYRE_OK) {
        vy_span loading = vy_span_begin();
        vy_error_clear(error);
        status = vy_backend_judge(backend,
                                  backend->calls.load(backend->self, program, &c->options,
                                                      (vyre_span){binary.data, binary.size}, &native, error),
                                  error);
        if (status == VYRE_OK)
            status = native.vtable ? vy_code_take(code, index, &native, error) : VYRE_NOT_FOUND;
        vy_span_end(loading, load, .backend = backend->id, .program = vyre_program_name(program), .bytes = binary.size,
                    .status = status);
        if (status != VYRE_OK)
            vy_cache_count(VY_CACHE_rejected, 1);
    }
    vyre_bytes_free(&binary);
    return status == VYRE_OK || status == VYRE_DEVICE_LOST ? status : VYRE_NOT_FOUND;
}

static vyre_status compile_part(compile *c, vy_code *code, uint32_t index, vyre_program *program, vyre_error *error) {
    vyre_backend *backend = c->backend;
    vyre_native_pipeline native = {NULL, NULL};
    if (is_late(c->options.deadline_ns))
        return vy_fail(error, VYRE_TIMEOUT, NULL,
                       "`%s` was not compiled at its deadline: no compiler had begun with it",
                       vyre_program_name(program));
    vy_span span = vy_span_begin();
    vy_error_clear(error);
    vy_stores_begin_compile(&backend->stores);
    vyre_status status = backend->calls.compile(backend->self, program, &c->options, &native, error);
    vy_stores_end_compile(&backend->stores);
    status = vy_backend_judge(backend, status, error);
    if (status == VYRE_OK && native.vtable) {
        status = vy_code_take(code, index, &native, error);
        vy_count(VY_COUNTER_compiles, 1);
        vy_cache_count(VY_CACHE_compiles, 1);
    } else if (status == VYRE_OK && !backend->calls.dispatch) {
        status = vy_backend_violation(backend, error, "it has no `dispatch`, and did not compile `%s`",
                                      vyre_program_name(program));
    }
    vy_span_end(span, compile, .backend = backend->id, .program = vyre_program_name(program), .status = status);
    return status;
}

static vyre_status build_part(compile *c, vy_code *code, uint32_t index, vyre_program *program, vyre_error *error) {
    vyre_backend *backend = c->backend;
    vy_cache_key key;
    if (c->is_keyed) {
        program_key(c, program, &key);
        vyre_status status =
            backend->calls.load ? load_part(c, code, index, program, &key, error) : (vyre_status)VYRE_NOT_FOUND;
        if (status != VYRE_NOT_FOUND)
            return status;
    }
    c->is_found = 0;
    if (!backend->calls.compile)
        return VYRE_OK; /* the backend itself runs it */
    if (vy_compile_forbidden())
        return refuse_compile(c, error);
    vyre_status status = compile_part(c, code, index, program, error);
    if (status == VYRE_OK && c->is_keyed && code->parts[index].calls.dispatch)
        vy_store_part(code, index, program, &key);
    return status;
}

/* A program that one launch cannot do here has a part for each stage. */
static vyre_status build(compile *c, vy_code **out, vyre_error *error) {
    int has_barriers = (c->program->facts & VY_PROGRAM_HAS_GRID_BARRIER) &&
                       !vyre_backend_capability(c->backend, VYRE_CAPABILITY_GRID_SYNC) && c->form != VY_CODE_WHOLE,
        with_base = c->form == VY_CODE_BASED;
    vy_stages *stages = NULL;
    vyre_status status = VYRE_OK;
    if (with_base || has_barriers)
        status = vy_stages_get(c->backend, c->program, with_base, &stages, error);
    if (status != VYRE_OK)
        return status;
    vy_code *code = vy_code_new(c->backend, stages);
    if (!code) {
        vy_stages_release(stages);
        return vy_fail_memory(error, "compiling a pipeline");
    }
    c->is_found = 1;
    for (uint32_t i = 0; i < code->count && status == VYRE_OK; i++)
        status = build_part(c, code, i, stages ? vy_stages_program(stages, i) : c->program, error);
    if (status != VYRE_OK) {
        vy_code_release(code);
        return status;
    }
    *out = code;
    return VYRE_OK;
}

/* ---- flights ---- */

/* figure: memory_hits, disk_hits or misses. */
static void count_found(vy_codes *codes, vy_cache_figure figure) {
    int is_hit = figure != VY_CACHE_misses;
    vy_cache_count(figure, 1);
    vy_count(is_hit ? VY_COUNTER_cache_hits : VY_COUNTER_cache_misses, 1);
    atomic_fetch_add_explicit(is_hit ? &codes->hits : &codes->misses, 1, memory_order_relaxed);
}

static vy_flight *find_flight(vy_codes *codes, const vy_cache_key *key) {
    vy_flight *flight = codes->flights;
    while (flight && memcmp(&flight->key, key, sizeof *key) != 0)
        flight = flight->next;
    return flight;
}

/* Waits for an equal compile, with the lock held; NULL if it failed, or is not done at the deadline (0: none). The last to leave one that
 * is done frees it. */
static vy_code *wait_for(vy_codes *codes, vy_flight *flight, uint64_t deadline_ns, vy_flight **done) {
    const struct timespec until = vy_clock_timespec(deadline_ns);
    int result = 0;
    flight->waiters++;
    while (!flight->is_done && result != ETIMEDOUT)
        result = deadline_ns ? pthread_cond_timedwait(&codes->changed, &codes->lock, &until)
                             : pthread_cond_wait(&codes->changed, &codes->lock);
    vy_code *code = flight->is_done && flight->code ? vy_code_retain(flight->code) : NULL;
    int is_last = --flight->waiters == 0 && flight->is_done;
    *done = is_last ? flight : NULL;
    return code;
}

static void free_flight(vy_flight *flight) {
    if (!flight)
        return;
    vy_code_release(flight->code);
    vy_release(flight, sizeof *flight);
}

/* The code from memory or from somebody who is compiling it; NULL if the caller has to, under the flight it gave, or if it is late: then the flight is not
 * in the list. */
static vy_code *find(vy_codes *codes, vy_flight *own, uint64_t deadline_ns, int *was_late) {
    vy_code *code = NULL;
    vy_flight *other, *done;
    vy_span looking = vy_span_begin();
    *was_late = 0;
    pthread_mutex_lock(&codes->lock);
    while (!code && !*was_late) {
        code = vy_cache_memory_limit() ? vy_recent_find(&codes->memory, &own->key) : NULL;
        if (code)
            vy_code_retain(code);
        else if ((other = find_flight(codes, &own->key))) {
            code = wait_for(codes, other, deadline_ns, &done);
            *was_late = !code && is_late(deadline_ns);
            if (!done)
                continue;
            pthread_mutex_unlock(&codes->lock);
            free_flight(done);
            pthread_mutex_lock(&codes->lock);
        } else {
            own->next = codes->flights;
            codes->flights = own;
            break;
        }
    }
    pthread_mutex_unlock(&codes->lock);
    vy_span_end(looking, cache, .status = code ? VYRE_OK : VYRE_NOT_FOUND);
    return code;
}

/* Codes over the limit leave memory; linked by `also`. With the lock held. */
static vy_code *evict(vy_codes *codes) {
    vy_code *evicted = NULL, *code;
    while ((code = vy_recent_evict(&codes->memory, vy_cache_memory_limit()))) {
        code->also = evicted, evicted = code;
        vy_cache_count(VY_CACHE_entries, (uint64_t)-1);
        vy_cache_count(VY_CACHE_evictions, 1);
    }
    return evicted;
}

/* Ends a flight; code NULL if it failed. */
static void land(vy_codes *codes, vy_flight *own, vy_code *code) {
    pthread_mutex_lock(&codes->lock);
    vy_flight **link = &codes->flights;
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
    own->is_done = 1;
    own->code = code ? vy_code_retain(code) : NULL;
    if (code && vy_cache_memory_limit() && vy_recent_add(&codes->memory, &own->key, code)) {
        vy_code_retain(code);
        vy_cache_count(VY_CACHE_entries, 1);
    }
    vy_code *evicted = evict(codes), *next;
    int is_alone = own->waiters == 0;
    pthread_cond_broadcast(&codes->changed);
    pthread_mutex_unlock(&codes->lock);
    for (; evicted; evicted = next) {
        next = evicted->also;
        vy_code_release(evicted);
    }
    if (is_alone)
        free_flight(own);
}

static vyre_status find_or_build(compile *c, vy_code **out, vyre_error *error) {
    vy_codes *codes = &c->backend->codes;
    vy_flight *own = vy_allocate_zero(sizeof *own);
    int was_late;
    if (!own)
        return vy_fail_memory(error, "compiling a pipeline");
    memory_key(c, &own->key);
    *out = find(codes, own, c->options.deadline_ns, &was_late);
    if (was_late) {
        vy_release(own, sizeof *own);
        return vy_fail(error, VYRE_TIMEOUT, NULL,
                       "`%s` was not compiled at its deadline: another thread was compiling it",
                       vyre_program_name(c->program));
    }
    if (*out) {
        vy_release(own, sizeof *own);
        count_found(codes, VY_CACHE_memory_hits);
        return VYRE_OK;
    }
    vyre_status status = build(c, out, error);
    count_found(codes, status == VYRE_OK && c->is_found ? VY_CACHE_disk_hits : VY_CACHE_misses);
    land(codes, own, *out);
    return status;
}

vyre_status vy_code_get(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                        vy_code_form form, vy_code **out, vyre_error *error) {
    compile c = {.backend = backend, .program = program, .options = *options, .form = form};
    *out = NULL;
    /* Where nothing is compiled there is nothing to keep. */
    if (!backend->calls.compile && !backend->calls.load)
        return build(&c, out, error);
    c.is_keyed = has_identity(backend);
    return c.is_keyed ? find_or_build(&c, out, error) : build(&c, out, error);
}
