/* Launches, waits and small transfers: the bare driver and libvyre, alternating, with the same kernel. */
#include "extras.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 2000, SMALL = 4096 };

static const char amortised[] = "launches, one wait for all, each";
static const char waited[] = "launch and wait";
static const char round_trip[] = "4 KiB to the device, dispatch, and back";

typedef struct rig {
    device_bench *bench;
    cu_driver *cu;
    /* The bare driver. */
    tiny_params params;
    void *pinned;
    /* libvyre. */
    vyre_pipeline *pipeline;
    vyre_resident memory;
    vyre_resource one;
    vyre_step *steps;
    vyre_outputs outputs;
    vyre_arguments arguments;
    vyre_span input;
} rig;

/* ---- the bare driver ---- */

static int bare_many(void *user) {
    rig *r = user;
    for (int i = 0; i < LAUNCHES; i++)
        if (bench_launch_tiny(r->bench, &r->params))
            return 0;
    return r->cu->stream_synchronize(r->cu->stream) == 0;
}

static int bare_wait(void *user) {
    rig *r = user;
    return bench_launch_tiny(r->bench, &r->params) == 0 && r->cu->stream_synchronize(r->cu->stream) == 0;
}

static int bare_round_trip(void *user) {
    rig *r = user;
    return r->cu->copy_to_device(r->params.memory, r->pinned, SMALL, r->cu->stream) == 0 &&
           bench_launch_tiny(r->bench, &r->params) == 0 &&
           r->cu->copy_to_host(r->pinned, r->params.memory, SMALL, r->cu->stream) == 0 &&
           r->cu->stream_synchronize(r->cu->stream) == 0;
}

/* From ordinary memory of the caller, as a library receives it. */
static int bare_round_trip_copied(void *user) {
    static uint8_t given[SMALL], got[SMALL];
    rig *r = user;
    memcpy(r->pinned, given, SMALL);
    int good = bare_round_trip(r);
    memcpy(got, r->pinned, SMALL);
    return good;
}

/* ---- libvyre ---- */

static int ours_wait(void *user) {
    rig *r = user;
    vyre_error error = VYRE_ERROR_INIT;
    return bench_said(vyre_pipeline_dispatch_persistent(r->pipeline, &r->one, 1, &r->arguments, NULL, &r->outputs, NULL,
                                                        NULL, &error),
                      &error);
}

static int ours_many(void *user) {
    rig *r = user;
    vyre_error error = VYRE_ERROR_INIT;
    return bench_said(vyre_sequence_run(r->bench->backend, r->steps, LAUNCHES, NULL, 0, NULL, NULL, NULL, NULL, &error),
                      &error);
}

static int ours_round_trip(void *user) {
    rig *r = user;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_arguments arguments = {.inputs = &r->input, .input_count = 1};
    return bench_said(vyre_pipeline_dispatch_into(r->pipeline, &arguments, NULL, &r->outputs, NULL, &error), &error);
}

/* ---- both ---- */

static int prepare(rig *r) {
    device_bench *b = r->bench;
    vyre_error error = VYRE_ERROR_INIT;
    r->cu->context_set(r->cu->context);
    if (r->cu->memory_allocate(&r->params.memory, SMALL) || r->cu->host_allocate(&r->pinned, SMALL, 0)) {
        printf("SKIP launches: no memory\n");
        return 0;
    }
    r->cu->fill(r->params.memory, 0, SMALL, r->cu->stream);
    memset(r->pinned, 0, SMALL);
    r->params.count = SMALL / 4;
    if (!(r->pipeline = bench_compile(b, "tiny")) ||
        !bench_said(vyre_resident_allocate(b->backend, SMALL, NULL, &r->memory, &error), &error))
        return 0;
    r->one = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = r->memory, .size = SMALL};
    r->steps = calloc(LAUNCHES, sizeof *r->steps);
    r->input = (vyre_span){calloc(1, SMALL), SMALL};
    for (int i = 0; r->steps && i < LAUNCHES; i++)
        r->steps[i] = (vyre_step){.pipeline = r->pipeline, .bindings = &r->one, .binding_count = 1};
    return r->steps && r->input.data;
}

static void discard(rig *r) {
    free(r->steps);
    free((void *)(uintptr_t)r->input.data);
    vyre_outputs_free(&r->outputs);
    vyre_pipeline_release(r->pipeline);
    if (r->memory.owner)
        vyre_resident_free(r->bench->backend, r->memory, NULL);
    if (r->pinned)
        r->cu->host_free(r->pinned);
    if (r->params.memory)
        r->cu->memory_free(r->params.memory);
}

void bench_launches(device_bench *b) {
    if (!b->cu || !b->backend)
        return;
    rig r = {.bench = b, .cu = b->cu, .outputs = VYRE_OUTPUTS_INIT};
    const bench_way many[] = {
        {.name = "bare: cuLaunchKernel", .call = bare_many, .user = &r, .count = 1, .units = LAUNCHES},
        {.name = "ours: a sequence of dispatches on resident buffers",
         .call = ours_many,
         .user = &r,
         .count = 1,
         .units = LAUNCHES,
         .is_compared = 1}};
    const bench_way waits[] = {
        {.name = "bare: cuLaunchKernel, cuStreamSynchronize", .call = bare_wait, .user = &r, .count = 40},
        {.name = "ours: dispatch on a resident buffer", .call = ours_wait, .user = &r, .count = 40, .is_compared = 1}};
    const bench_way trips[] = {
        {.name = "bare: pinned memory", .call = bare_round_trip, .user = &r, .count = 20},
        {.name = "bare: copied to and from pinned memory", .call = bare_round_trip_copied, .user = &r, .count = 20},
        {.name = "ours: dispatch on host bytes", .call = ours_round_trip, .user = &r, .count = 20, .is_compared = 1}};
    if (prepare(&r)) {
        bench_contest(b, amortised, many, 2, b->quick ? 11 : 31);
        bench_contest(b, waited, waits, 2, b->quick ? 101 : TURNS);
        bench_contest(b, round_trip, trips, 3, b->quick ? 51 : 201);
    }
    discard(&r);
}
