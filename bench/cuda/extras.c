#include "extras.h"

#include <stdio.h>
#include <stdlib.h>

vyre_pipeline *bench_compile(device_bench *b, const char *program) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_pipeline *pipeline = NULL;
    if (vyre_compile(b->backend, vyre_module_find(b->module, program), NULL, &pipeline, &error) != VYRE_OK)
        printf("SKIP %s: %s\n", program, error.message);
    vyre_backend_flush_cache(b->backend); /* not concurrent with a measurement */
    return pipeline;
}

int bench_said(vyre_status status, const vyre_error *error) {
    if (status != VYRE_OK)
        printf("%s: %s\n", vyre_status_name(status), error->message);
    return status == VYRE_OK;
}

int bench_launch_tiny(const device_bench *b, const tiny_params *params) {
    size_t size = sizeof *params;
    void *extra[] = {CU_PARAMS_BYTES, (void *)(uintptr_t)params, CU_PARAMS_SIZE, &size, CU_PARAMS_END};
    return b->cu->launch(b->tiny, 1, 1, 1, 32, 1, 1, 0, b->cu->stream, NULL, extra);
}

void suite_device_open(void) {
    char reason[REASON];
    cu_open(reason, sizeof reason); /* its users report that it is missing */
}

void suite_device_extras(report *r, const int *available, int quick) {
    vyre_error error = VYRE_ERROR_INIT;
    char reason[REASON] = "";
    device_bench b = {.report = r, .cu = cu_open(reason, sizeof reason), .quick = quick};
    b.module = suite_ours_parse("bench/suite/tiny.vyre", NULL, &error);
    if (b.cu && b.module)
        bench_load_tiny(&b);
    if (!b.tiny) {
        printf("SKIP the bare driver: %s\n", reason[0] ? reason : error.message);
        b.cu = NULL;
    }
    if (b.cu && !(b.hand = cu_load_built(b.cu, "hand.cubin", reason, sizeof reason)))
        printf("SKIP bare transfers: %s\n", reason);
    if (available[VERSION_OURS] && b.module)
        b.backend = suite_ours_backend();
    if (!b.backend)
        printf("SKIP ours beside the driver: %s\n", error.message[0] ? error.message : r->missing[VERSION_OURS]);
    bench_launches(&b);
    bench_handover(&b);
    bench_batches(&b);
    bench_compiles(&b);
    bench_transfers(&b);
    vyre_module_free(b.module);
    if (b.hand)
        b.cu->module_unload(b.hand);
    if (b.tiny_module)
        b.cu->module_unload(b.tiny_module);
}
