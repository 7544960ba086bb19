/* Stands between backend `cuda` and the driver: counts calls, fails one of them, and knows what is alive.
 *
 *   shim_install();                 before the backend is made
 *   shim_start(k, result);          the k-th call from now on gives that result, and is not made; calls that give
 *                                   something back are made all the same, as the driver does when it tells of an error
 *                                   that came before
 *   shim_start_losing(k, result);   the same from the k-th call on, as after a loss
 *   shim_stop();                    whether one was struck */
#ifndef VY_TESTS_CUDA_SHIM_H
#define VY_TESTS_CUDA_SHIM_H

#include "backends/cuda/dynamic_symbols.h"
#include "support/test.h"

#include <pthread.h>

/* X(what is made, makes it, ends it) */
#define SHIM_THINGS(X)                                                                                                 \
    X(CONTEXT, "context_retain", "context_release")                                                                    \
    X(STREAM, "stream_create", "stream_destroy")                                                                       \
    X(EVENT, "event_create", "event_destroy")                                                                          \
    X(MODULE, "module_load", "module_unload")                                                                          \
    X(LINK, "link_create", "link_destroy")                                                                             \
    X(GRAPH, "graph_create", "graph_destroy")                                                                          \
    X(EXECUTABLE, "graph_instantiate", "graph_end")                                                                    \
    X(POOL, "pool_create", "pool_destroy")                                                                             \
    X(PINNED, "host_allocate", "host_free")                                                                            \
    X(MEMORY, "memory_allocate", "memory_free")                                                                        \
    X(POOLED, "pool_allocate", "pool_free")
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
    vy_cuda_dynamic_symbols real;
    uint64_t calls, strike;
    int result, for_ever;
    const char *struck; /* NULL: none yet */
    int64_t alive[SHIM_THING_COUNT];
} shim = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline int shim_find(const char *const *names, const char *name) {
    for (int i = 0; i < SHIM_THING_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* Names of results are not calls of anybody's. */
static inline int shim_strikes(const char *name) {
    if (strncmp(name, "error_", 6) == 0)
        return 0;
    pthread_mutex_lock(&shim.lock);
    uint64_t call = ++shim.calls;
    int strikes = call == shim.strike || (shim.for_ever && shim.strike && call > shim.strike);
    if (strikes && !shim.struck)
        shim.struck = name;
    pthread_mutex_unlock(&shim.lock);
    return strikes;
}

static inline void shim_count(const char *name, int result) {
    int made = shim_find(shim_makes, name), ended = shim_find(shim_ends, name);
    pthread_mutex_lock(&shim.lock);
    if (made >= 0 && result == 0)
        shim.alive[made]++;
    if (ended >= 0)
        shim.alive[ended]--;
    pthread_mutex_unlock(&shim.lock);
}

#define X(NEED, name, symbol, parameters, arguments)                                                                   \
    static int shim_##name parameters {                                                                                \
        int strikes = shim_strikes(#name);                                                                             \
        if (strikes && shim_find(shim_ends, #name) < 0)                                                                \
            return shim.result;                                                                                        \
        int answer = shim.real.name arguments;                                                                         \
        shim_count(#name, answer);                                                                                     \
        return strikes ? shim.result : answer;                                                                         \
    }
VY_CUDA_SYMBOL_LIST(X)
#undef X

static inline void shim_wrap(vy_cuda_dynamic_symbols *api) {
    shim.real = *api;
#define X(NEED, name, symbol, parameters, arguments)                                                                   \
    if (api->name)                                                                                                     \
        api->name = shim_##name;
    VY_CUDA_SYMBOL_LIST(X)
#undef X
}

static inline void shim_install(void) {
    vy_cuda_dynamic_symbols_wrap(shim_wrap);
}

static inline void shim_start(uint64_t k, int result) {
    pthread_mutex_lock(&shim.lock);
    shim.calls = 0;
    shim.strike = k;
    shim.result = result;
    shim.for_ever = 0;
    shim.struck = NULL;
    pthread_mutex_unlock(&shim.lock);
}

static inline void shim_start_losing(uint64_t k, int result) {
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
