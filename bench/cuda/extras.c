#include "extras.h"

#include <stdio.h>
#include <stdlib.h>

vyre_pipeline *bench_compile(device_bench *b, const char *program) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_pipeline *pipeline = NULL;
    if (vyre_compile(b->backend, vyre_module_find(b->module, program), NULL, &pipeline, &error) != VYRE_OK)
        printf("SKIP %s: %s\n", program, error.message);
    return pipeline;
}

void bench_sample(device_bench *b, const char *group, const char *name, int samples, int count, bench_call *call,
                  void *user) {
    double times[SAMPLES];
    int taken = 0;
    samples = samples > SAMPLES ? SAMPLES : samples;
    if (b->cu)
        b->cu->context_set(b->cu->context);
    for (int i = -1; i < samples; i++) {
        double start = suite_now();
        for (int k = 0; k < count; k++)
            if (!call(user)) {
                printf("SKIP %s, %s: it failed\n", group, name);
                return;
            }
        if (i >= 0)
            times[taken++] = (suite_now() - start) / count;
    }
    suite_extra(b->report, group, name, "s", times, taken);
}

void suite_device_extras(report *r, const int *available, int quick) {
    vyre_error error = VYRE_ERROR_INIT;
    char reason[REASON] = "";
    device_bench b = {.report = r, .cu = cu_open(reason, sizeof reason), .quick = quick};
    if (b.cu && (b.hand = cu_load_built(b.cu, "hand.cubin", reason, sizeof reason)))
        b.cu->module_function(&b.tiny, b.hand, "tiny");
    if (!b.tiny) {
        printf("SKIP the bare driver: %s\n", reason);
        b.cu = NULL;
    }
    if (available[VERSION_OURS] && (b.module = suite_ours_parse("bench/suite/tiny.vyre", NULL, &error)))
        b.backend = suite_ours_backend();
    if (!b.backend)
        printf("SKIP ours beside the driver: %s\n", error.message[0] ? error.message : r->missing[VERSION_OURS]);
    bench_launches(&b);
    bench_compiles(&b);
    bench_transfers(&b);
    vyre_module_free(b.module);
    if (b.hand)
        b.cu->module_unload(b.hand);
}
