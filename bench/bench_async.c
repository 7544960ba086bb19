/* 64 concurrent dispatches.
 *
 * Two measurements. First, the cost of starting and collecting for the caller, on a backend whose handles are complete
 * immediately (the part of the library only), with waits and with a completion queue. Second, the gain of concurrency
 * on a backend without an asynchronous entry whose dispatch sleeps for a millisecond: 64 in flight against 64 in
 * sequence.
 *
 * usage: async [--json]. Every number is the median of several runs. */
#include "driver/backend.h"
#include "vyre/async.h"
#include "vyre/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { IN_FLIGHT = 64, RUNS = 15, ROUNDS = 200 };

static const char *id(void *self) {
    (void)self;
    return "nothing";
}

static vyre_status fill(const vyre_launch *launch, vyre_outputs *outputs, vyre_error *error) {
    return vyre_bytes_resize(&outputs->items[0], (size_t)launch->elements[0] * 4, error);
}

static vyre_status slow(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                        vyre_outputs *outputs, vyre_error *error) {
    (void)self, (void)inputs, (void)count;
    usleep(1000);
    return fill(launch, outputs, error);
}

static int is_ready(void *self) {
    (void)self;
    return 1;
}

static vyre_status finish(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error) {
    (void)self, (void)deadline_ns;
    return vyre_bytes_resize(&outputs->items[0], 64, error);
}

static void destroy(void *self) {
    (void)self;
}

static void notify(void *self, void (*done)(void *user), void *user) {
    (void)self;
    done(user);
}

static const vyre_pending_vtable ready = {
    .struct_size = sizeof ready, .is_ready = is_ready, .wait = finish, .destroy = destroy, .notify = notify};

static vyre_status start(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                         vyre_native_pending *out, vyre_error *error) {
    (void)launch, (void)inputs, (void)count, (void)error;
    *out = (vyre_native_pending){&ready, self};
    return VYRE_OK;
}

static uint64_t capability(void *self, vyre_capability capability) {
    (void)self;
    return capability == VYRE_CAPABILITY_MAX_STORAGE_BYTES ? 1 << 20 : 1024;
}

static const vyre_backend_vtable native = {.struct_size = sizeof native,
                                           .abi = VYRE_BACKEND_ABI,
                                           .id = id,
                                           .dispatch = slow,
                                           .dispatch_borrowed_async = start,
                                           .capability = capability};
static const vyre_backend_vtable threads = {
    .struct_size = sizeof threads, .abi = VYRE_BACKEND_ABI, .id = id, .dispatch = slow, .capability = capability};

static clockid_t now_clock = CLOCK_THREAD_CPUTIME_ID; /* processor time, unless waits are measured */

static double now_ns(void) {
    struct timespec time;
    clock_gettime(now_clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static void must(vyre_status status) {
    if (status == VYRE_OK)
        return;
    fprintf(stderr, "%s\n", vyre_status_name(status));
    exit(1);
}

static vyre_program *program;
static vyre_arguments arguments;
static vyre_outputs outputs;

static void in_flight(vyre_backend *backend, vyre_completions *queue) {
    vyre_pending *pending[IN_FLIGHT];
    for (int i = 0; i < IN_FLIGHT; i++) {
        must(vyre_backend_dispatch_async(backend, program, &arguments, NULL, &pending[i], NULL));
        if (queue)
            must(vyre_completions_attach(queue, pending[i], (uint64_t)i, NULL));
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        vyre_pending *next = pending[i];
        if (queue)
            must(vyre_completions_next(queue, UINT64_MAX, &next, NULL, NULL));
        must(vyre_pending_wait(next, UINT64_MAX, &outputs, NULL, NULL));
        vyre_pending_free(next);
    }
}

static void one_by_one(vyre_backend *backend) {
    for (int i = 0; i < IN_FLIGHT; i++)
        must(vyre_backend_dispatch(backend, program, &arguments, NULL, &outputs, NULL, NULL));
}

/* kind: 0 waits, 1 queue, 2 in sequence. Nanoseconds per dispatch. */
static double measure(vyre_backend *backend, vyre_completions *queue, int kind, int rounds) {
    double times[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double begin = now_ns();
        for (int i = 0; i < rounds; i++) {
            if (kind == 2)
                one_by_one(backend);
            else
                in_flight(backend, kind ? queue : NULL);
        }
        times[run] = (now_ns() - begin) / (rounds * IN_FLIGHT);
    }
    qsort(times, RUNS, sizeof *times, compare);
    return times[RUNS / 2];
}

int main(int argc, char **argv) {
    static const char text[] =
        "program p {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n x[global_id.x] = 1 }";
    static uint32_t x[16];
    int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    vyre_span input = {x, sizeof x};
    vyre_backend_instance with = {&native, NULL}, without = {&threads, NULL};
    vyre_backend *a, *b;
    vyre_module *module;
    vyre_completions *queue;
    arguments = (vyre_arguments){.inputs = &input, .input_count = 1};
    must(vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, NULL));
    must(vy_backend_wrap(&with, &a, NULL));
    must(vy_backend_wrap(&without, &b, NULL));
    must(vyre_completions_new(&queue, NULL));
    program = vyre_module_program(module, 0);
    double waiting = measure(a, queue, 0, ROUNDS), drained = measure(a, queue, 1, ROUNDS);
    now_clock = CLOCK_MONOTONIC;
    double together = measure(b, queue, 1, 1), apart = measure(b, queue, 2, 1);
    if (json)
        printf("{\"bench\":\"async\",\"in_flight\":%d,\"start_and_wait_ns\":%.1f,\"start_and_drain_ns\":%.1f,"
               "\"slow_in_flight_ns\":%.1f,\"slow_one_by_one_ns\":%.1f,\"ratio\":%.2f}\n",
               IN_FLIGHT, waiting, drained, together, apart, apart / together);
    else
        printf("%d in flight, handles ready at once: start and wait  %9.1f ns a dispatch\n"
               "%*s start, attach and drain  %9.1f ns a dispatch\n"
               "dispatches of 1 ms, %d in flight on threads: %9.1f ns a dispatch\n"
               "%*s one after the other: %9.1f ns a dispatch, %.1f times as long\n",
               IN_FLIGHT, waiting, 33, "", drained, IN_FLIGHT, together, 24, "", apart, apart / together);
    vyre_outputs_free(&outputs);
    vyre_completions_free(queue);
    vyre_backend_release(a);
    vyre_backend_release(b);
    vyre_module_free(module);
    return 0;
}
