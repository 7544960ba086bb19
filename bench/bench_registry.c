/* The cost of a query of the registry: listing and finding, on one and on two threads, among 16 backends.
 *
 * usage: registry [--json]. Nanoseconds of one call as each thread sees it, the best of several runs. */
#include "vyre/registry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BACKENDS = 16, CALLS = 2000000, ROUNDS = 5 };

static vyre_status create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)ordinal, (void)out;
    return host->fail(error, VYRE_UNSUPPORTED, NULL, "a backend of a benchmark does not start");
}

static char ids[BACKENDS][16];
static vyre_backend_registration backends[BACKENDS];
static vyre_precedence_registration ranks[BACKENDS];
static const vyre_backend_registration *backend_list[BACKENDS];
static const vyre_precedence_registration *rank_list[BACKENDS];

static int register_backends(void) {
    for (unsigned i = 0; i < BACKENDS; i++) {
        snprintf(ids[i], sizeof ids[i], "bench-%u", i);
        backends[i] = (vyre_backend_registration){
            .struct_size = sizeof backends[i], .abi = VYRE_BACKEND_ABI, .id = ids[i], .create = create};
        ranks[i] = (vyre_precedence_registration){sizeof ranks[i], ids[i], i * 5 % 7};
        backend_list[i] = &backends[i];
        rank_list[i] = &ranks[i];
    }
    static vyre_module_descriptor module;
    module = (vyre_module_descriptor){.struct_size = sizeof module,
                                      .abi = VYRE_BACKEND_ABI,
                                      .name = "bench",
                                      .backends = backend_list,
                                      .backends_end = backend_list + BACKENDS,
                                      .precedences = rank_list,
                                      .precedences_end = rank_list + BACKENDS};
    vyre_error error;
    if (vyre_module_register(&module, &error) == VYRE_OK)
        return 1;
    fprintf(stderr, "%s\n", error.message);
    return 0;
}

/* Each adds up its results, so that no call can be optimised away. */
static uintptr_t call_list(unsigned i) {
    size_t count;
    return (uintptr_t)vyre_backends(&count) + count + i;
}
static uintptr_t call_sorted(unsigned i) {
    size_t count;
    return (uintptr_t)vyre_backends_by_precedence(&count) + count + i;
}
static uintptr_t call_find(unsigned i) {
    return (uintptr_t)vyre_backend_find(ids[i % BACKENDS]);
}
static uintptr_t call_find_missing(unsigned i) {
    return (uintptr_t)vyre_backend_find("missing") + i;
}
static uintptr_t call_precedence(unsigned i) {
    return vyre_backend_precedence(ids[i % BACKENDS]);
}

/* A cache line each, against false sharing. */
typedef struct worker {
    _Alignas(64) uintptr_t (*call)(unsigned i);
    double seconds;
    uintptr_t sum;
} worker;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *work(void *argument) {
    worker *worker = argument;
    uintptr_t (*call)(unsigned i) = worker->call;
    uintptr_t sum = 0;
    double start = now();
    for (unsigned i = 0; i < CALLS; i++)
        sum += call(i);
    worker->seconds = now() - start;
    worker->sum = sum;
    return NULL;
}

/* Seconds of one call, of the slowest thread, in the best round. */
static double measure(uintptr_t (*call)(unsigned i), unsigned threads) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        worker workers[2] = {{call, 0, 0}, {call, 0, 0}};
        pthread_t other;
        int started = threads == 2 && pthread_create(&other, NULL, work, &workers[1]) == 0;
        work(&workers[0]);
        if (started)
            pthread_join(other, NULL);
        double slowest = workers[0].seconds > workers[1].seconds ? workers[0].seconds : workers[1].seconds;
        best = slowest < best ? slowest : best;
    }
    return best / CALLS;
}

int main(int count, char **arguments) {
    const int json = count > 1 && strcmp(arguments[1], "--json") == 0;
    static const struct {
        const char *name;
        uintptr_t (*call)(unsigned i);
    } rows[] = {{"list", call_list},
                {"list by precedence", call_sorted},
                {"find", call_find},
                {"find missing", call_find_missing},
                {"precedence", call_precedence}};
    enum { ROWS = sizeof rows / sizeof *rows };
    if (!register_backends())
        return 1;
    printf(json ? "{\"unit\": \"nanoseconds per call\", \"backends\": %d, \"rows\": [\n"
                : "%d backends and libvyre's own; ns per call\n",
           (int)BACKENDS);
    for (int i = 0; i < ROWS; i++)
        for (unsigned threads = 1; threads <= 2; threads++)
            printf(json ? "  {\"what\": \"%s\", \"threads\": %u, \"ns\": %.2f}%s\n" : "%-20s %u thread(s) %8.2f%s\n",
                   rows[i].name, threads, measure(rows[i].call, threads) * 1e9,
                   json && (i + 1 < ROWS || threads == 1) ? "," : "");
    if (json)
        printf("]}\n");
    return 0;
}
