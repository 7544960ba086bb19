/* Stands between backend `opencl` and the loader: counts calls, fails one of them, and knows what is alive.
 *
 *   shim_install();                 before the backend is made
 *   shim_start(k, result);          the k-th call from now on gives that result, and is not made; calls that give
 *                                   something back or wait are made all the same, as a driver does when it tells of an
 *                                   error that came before
 *   shim_start_losing(k, result);   the same from the k-th call on, as after a loss
 *   shim_stop();                    whether one was struck */
#ifndef VY_TESTS_OPENCL_SHIM_H
#define VY_TESTS_OPENCL_SHIM_H

#include "backends/opencl/dynamic_symbols.h"
#include "support/test.h"

#include <dlfcn.h>
#include <pthread.h>

/* X(what is made, makes it, ends it): starts of names. */
#define SHIM_THINGS(X)                                                                                                 \
    X(CONTEXT, "context_create", "context_release")                                                                    \
    X(QUEUE, "queue_create", "queue_release")                                                                          \
    X(MEMORY, "memory_create", "memory_release")                                                                       \
    X(PROGRAM, "program_from", "program_release")                                                                      \
    X(KERNEL, "kernel_create", "kernel_release")                                                                       \
    X(EVENT, "event_create", "event_release")                                                                          \
    X(MAPPED, "enqueue_map", "enqueue_unmap")
typedef enum shim_thing {
#define X(ID, make, end) SHIM_##ID,
    SHIM_THINGS(X)
#undef X
        SHIM_THING_COUNT
} shim_thing;
static const char *const shim_makes[] = {
#define X(ID, make, end) make,
    SHIM_THINGS(X)
#undef X
};
static const char *const shim_ends[] = {
#define X(ID, make, end) end,
    SHIM_THINGS(X)
#undef X
};

static struct {
    pthread_mutex_t lock;
    vy_ocl_dynamic_symbols real;
    uint64_t calls, strike;
    int32_t result;
    int for_ever;
    const char *struck; /* NULL: none yet */
    int64_t alive[SHIM_THING_COUNT];
} shim = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline int shim_find(const char *const *names, const char *name) {
    for (int i = 0; i < SHIM_THING_COUNT; i++)
        if (strncmp(names[i], name, strlen(names[i])) == 0)
            return i;
    return -1;
}

/* Whether a call is made whatever it gives. */
static inline int shim_is_made(const char *name) {
    return shim_find(shim_ends, name) >= 0 || strcmp(name, "finish") == 0;
}

static inline int shim_strikes(const char *name) {
    pthread_mutex_lock(&shim.lock);
    uint64_t call = ++shim.calls;
    int strikes = call == shim.strike || (shim.for_ever && shim.strike && call > shim.strike);
    if (strikes && !shim.struck)
        shim.struck = name;
    pthread_mutex_unlock(&shim.lock);
    return strikes;
}

static inline void shim_count(const char *name, int32_t result) {
    int made = shim_find(shim_makes, name), ended = shim_find(shim_ends, name);
    pthread_mutex_lock(&shim.lock);
    if (made >= 0 && result == 0)
        shim.alive[made]++;
    if (ended >= 0)
        shim.alive[ended]--;
    pthread_mutex_unlock(&shim.lock);
}

#define X(name, symbol, parameters, arguments)                                                                         \
    static int32_t shim_##name parameters {                                                                            \
        int strikes = shim_strikes(#name);                                                                             \
        if (strikes && !shim_is_made(#name))                                                                           \
            return shim.result;                                                                                        \
        int32_t answer = shim.real.name arguments;                                                                     \
        shim_count(#name, answer);                                                                                     \
        return strikes ? shim.result : answer;                                                                         \
    }
VY_OCL_CALL_LIST(X)
#undef X

#define X(type, name, symbol, parameters, arguments)                                                                   \
    static type shim_##name parameters {                                                                               \
        if (shim_strikes(#name)) {                                                                                     \
            *result = shim.result;                                                                                     \
            return NULL;                                                                                               \
        }                                                                                                              \
        type made = shim.real.name arguments;                                                                          \
        shim_count(#name, *result);                                                                                    \
        return made;                                                                                                   \
    }
VY_OCL_MAKER_LIST(X)
#undef X

/* The two calls that events come out of. */
static int32_t shim_kernel_with_event(vy_cl_queue queue, vy_cl_kernel kernel, uint32_t dimensions, const size_t *offset,
                                      const size_t *global, const size_t *local, uint32_t wait_count,
                                      const vy_cl_event *wait, vy_cl_event *event) {
    int32_t result = shim_enqueue_kernel(queue, kernel, dimensions, offset, global, local, wait_count, wait, event);
    if (event)
        shim_count("event_create", result);
    return result;
}

static int32_t shim_marker_with_event(vy_cl_queue queue, uint32_t wait_count, const vy_cl_event *wait,
                                      vy_cl_event *event) {
    int32_t result = shim_enqueue_marker(queue, wait_count, wait, event);
    if (event)
        shim_count("event_create", result);
    return result;
}

static inline void shim_wrap(vy_ocl_dynamic_symbols *api) {
    shim.real = *api;
#define X(name, symbol, parameters, arguments) api->name = shim_##name;
    VY_OCL_CALL_LIST(X)
#undef X
#define X(type, name, symbol, parameters, arguments) api->name = shim_##name;
    VY_OCL_MAKER_LIST(X)
#undef X
    api->enqueue_kernel = shim_kernel_with_event;
    api->enqueue_marker = shim_marker_with_event;
}

static inline void shim_install(void) {
    vy_ocl_dynamic_symbols_wrap(shim_wrap);
}

/* ---- a fast compiler ----
 *
 * shim_keep_programs() after shim_install(): one context serves all backends, and a text is built once. What backends
 * make and end is counted as before. */
enum { SHIM_KEPT = 64 };
static struct {
    vy_ocl_dynamic_symbols real;
    int32_t (*retain_context)(vy_cl_context context);
    int32_t (*retain_program)(vy_cl_program program);
    vy_cl_context context;
    struct {
        uint64_t hash;
        vy_cl_program program;
        int is_built;
    } items[SHIM_KEPT];
    int count;
} shim_kept;

static vy_cl_context shim_kept_context(const intptr_t *properties, uint32_t count, const vy_cl_device *devices,
                                       void (*tell)(const char *text, const void *detail, size_t size, void *user),
                                       void *user, int32_t *result) {
    if (!shim_kept.context)
        shim_kept.context = shim_kept.real.context_create(properties, count, devices, tell, user, result);
    *result = shim_kept.context ? shim_kept.retain_context(shim_kept.context) : *result;
    return shim_kept.context;
}

static vy_cl_program shim_kept_program(vy_cl_context context, uint32_t count, const char **texts, const size_t *sizes,
                                       int32_t *result) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizes[0]; i++)
        hash = (hash ^ (unsigned char)texts[0][i]) * UINT64_C(0x100000001b3);
    for (int i = 0; i < shim_kept.count; i++)
        if (shim_kept.items[i].hash == hash) {
            *result = shim_kept.retain_program(shim_kept.items[i].program);
            return shim_kept.items[i].program;
        }
    vy_cl_program made = shim_kept.real.program_from_text(context, count, texts, sizes, result);
    if (made && shim_kept.count < SHIM_KEPT && shim_kept.retain_program(made) == 0) {
        shim_kept.items[shim_kept.count].hash = hash;
        shim_kept.items[shim_kept.count++].program = made;
    }
    return made;
}

static int32_t shim_kept_build(vy_cl_program program, uint32_t count, const vy_cl_device *devices, const char *options,
                               void (*done)(vy_cl_program program, void *user), void *user) {
    int i = 0;
    while (i < shim_kept.count && shim_kept.items[i].program != program)
        i++;
    if (i < shim_kept.count && shim_kept.items[i].is_built)
        return 0;
    int32_t result = shim_kept.real.program_build(program, count, devices, options, done, user);
    if (i < shim_kept.count)
        shim_kept.items[i].is_built = result == 0;
    return result;
}

static inline void shim_wrap_keeping(vy_ocl_dynamic_symbols *api) {
    shim_wrap(api);
    shim_kept.real = shim.real;
    shim.real.context_create = shim_kept_context;
    shim.real.program_from_text = shim_kept_program;
    shim.real.program_build = shim_kept_build;
}

static inline void shim_keep_programs(void) {
    void *library = dlopen(vy_ocl_dynamic_symbols_file(), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *symbols[] = {dlsym(library, "clRetainContext"), dlsym(library, "clRetainProgram")};
    memcpy(&shim_kept.retain_context, &symbols[0], sizeof symbols[0]);
    memcpy(&shim_kept.retain_program, &symbols[1], sizeof symbols[1]);
    vy_ocl_dynamic_symbols_wrap(shim_wrap_keeping);
}

static inline void shim_end_keeping(void) {
    for (int i = 0; i < shim_kept.count; i++)
        shim_kept.real.program_release(shim_kept.items[i].program);
    if (shim_kept.context)
        shim_kept.real.context_release(shim_kept.context);
    memset(&shim_kept, 0, sizeof shim_kept);
    vy_ocl_dynamic_symbols_wrap(NULL);
}

static inline void shim_start(uint64_t k, int32_t result) {
    pthread_mutex_lock(&shim.lock);
    shim.calls = 0;
    shim.strike = k;
    shim.result = result;
    shim.for_ever = 0;
    shim.struck = NULL;
    pthread_mutex_unlock(&shim.lock);
}

static inline void shim_start_losing(uint64_t k, int32_t result) {
    shim_start(k, result);
    pthread_mutex_lock(&shim.lock);
    shim.for_ever = 1;
    pthread_mutex_unlock(&shim.lock);
}

static inline const char *shim_stop(void) {
    pthread_mutex_lock(&shim.lock);
    const char *struck = shim.struck;
    shim.strike = 0;
    pthread_mutex_unlock(&shim.lock);
    return struck;
}

/* What is alive, as a sentence; NULL if nothing is. */
static inline const char *shim_leaks(void) {
    static char text[512];
    size_t length = 0;
    text[0] = 0;
    for (int i = 0; i < SHIM_THING_COUNT; i++)
        if (shim.alive[i])
            length += (size_t)snprintf(text + length, sizeof text - length, " %lld of %s", (long long)shim.alive[i],
                                       shim_makes[i]);
    return length ? text : NULL;
}

#endif
