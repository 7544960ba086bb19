/* The cost that the boundary adds to a dispatch: a backend that does nothing, called through vyre_backend_dispatch_into
 * (with counters, as always) and through its own table with the same launch; and the cost on resident buffers, on the
 * backend and through a pipeline.
 *
 * usage: boundary [--json]. Every number is the median of several runs. Goal: under 150 ns added. */
#include "driver/backend.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 15, CALLS = 200000 };

static const char *id(void *self) {
    (void)self;
    return "nothing";
}

/* The minimum that the contract allows: the slots keep their memory, only their sizes are set. */
static vyre_status into(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                        vyre_outputs *outputs, vyre_error *error) {
    (void)self, (void)inputs, (void)input_count;
    return vyre_bytes_resize(&outputs->items[0], (size_t)launch->elements[0] * 4, error);
}

static vyre_status dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error) {
    (void)inputs;
    return into(self, launch, NULL, input_count, outputs, error);
}

static vyre_status resident(void *self, const vyre_launch *launch, const vyre_resource *bindings, size_t binding_count,
                            vyre_timing *timing, vyre_error *error) {
    (void)self, (void)launch, (void)bindings, (void)binding_count, (void)timing, (void)error;
    return VYRE_OK;
}

static vyre_status persistent(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                              size_t binding_count, vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    (void)outputs;
    return resident(self, launch, bindings, binding_count, timing, error);
}

static vyre_status allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    (void)self, (void)size, (void)error;
    *native = 1;
    return VYRE_OK;
}

static vyre_status discard(void *self, uint64_t native, vyre_error *error) {
    (void)self, (void)native, (void)error;
    return VYRE_OK;
}

static void destroy(void *self) {
    (void)self;
}

static const vyre_pipeline_vtable pipeline_table = {.struct_size = sizeof pipeline_table,
                                                    .dispatch = dispatch,
                                                    .dispatch_persistent_into = persistent,
                                                    .destroy = destroy};

static vyre_status compile(void *self, vyre_program *program, const vyre_compile_options *options,
                           vyre_native_pipeline *out, vyre_error *error) {
    (void)self, (void)program, (void)options, (void)error;
    *out = (vyre_native_pipeline){&pipeline_table, NULL};
    return VYRE_OK;
}

static vyre_status prepare(void *self, vyre_program *program, vyre_error *error) {
    (void)self, (void)program, (void)error;
    return VYRE_OK;
}

static uint64_t capability(void *self, vyre_capability capability) {
    (void)self;
    return capability == VYRE_CAPABILITY_MAX_STORAGE_BYTES ? 1 << 20 : 1024;
}

static const vyre_backend_vtable table = {.struct_size = sizeof table,
                                          .abi = VYRE_BACKEND_ABI,
                                          .id = id,
                                          .dispatch = dispatch,
                                          .dispatch_borrowed_into = into,
                                          .prepare = prepare,
                                          .compile = compile,
                                          .resident_allocate = allocate,
                                          .resident_free = discard,
                                          .dispatch_resident = resident,
                                          .capability = capability};

/* Processor time of this thread: other processes are not counted. */
static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static void must(vyre_status status, const vyre_error *error) {
    if (status == VYRE_OK)
        return;
    fprintf(stderr, "%s: %s\n", vyre_status_name(status), error->message);
    exit(1);
}

int main(int argc, char **argv) {
    static const char text[] =
        "program p {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n x[global_id.x] = 1 }";
    int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    static uint32_t x[16];
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_backend_instance instance = {&table, NULL};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    double through[RUNS], direct[RUNS], on_backend[RUNS], on_pipeline[RUNS];
    vyre_backend *backend;
    vyre_pipeline *pipeline;
    vyre_module *module;
    vyre_error error;
    must(vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, &error), &error);
    must(vy_backend_wrap(&instance, &backend, &error), &error);
    vyre_program *program = vyre_module_program(module, 0);
    must(vyre_compile(backend, program, NULL, &pipeline, &error), &error);
    vyre_resource there = {.kind = VYRE_RESOURCE_RESIDENT};
    must(vyre_resident_allocate(backend, sizeof x, NULL, &there.resident, &error), &error);
    uint64_t elements[1] = {16};
    vyre_launch launch = {.struct_size = sizeof launch,
                          .program = program,
                          .elements = elements,
                          .buffer_count = 1,
                          .groups = {1, 1, 1},
                          .label = ""};
    vyre_status (*volatile entry)(void *, const vyre_launch *, const vyre_span *, size_t, vyre_outputs *,
                                  vyre_error *) = into;
    for (int run = 0; run < RUNS; run++) {
        double start = now_ns();
        for (int i = 0; i < CALLS; i++)
            must(vyre_backend_dispatch_into(backend, program, &arguments, NULL, &outputs, NULL, &error), &error);
        through[run] = (now_ns() - start) / CALLS;
        start = now_ns();
        for (int i = 0; i < CALLS; i++)
            must(entry(NULL, &launch, &input, 1, &outputs, &error), &error);
        direct[run] = (now_ns() - start) / CALLS;
        start = now_ns();
        for (int i = 0; i < CALLS; i++)
            must(vyre_backend_dispatch_resident(backend, program, &there, 1, NULL, NULL, NULL, NULL, &error), &error);
        on_backend[run] = (now_ns() - start) / CALLS;
        start = now_ns();
        for (int i = 0; i < CALLS; i++)
            must(vyre_pipeline_dispatch_persistent(pipeline, &there, 1, NULL, NULL, &outputs, NULL, NULL, &error),
                 &error);
        on_pipeline[run] = (now_ns() - start) / CALLS;
    }
    qsort(through, RUNS, sizeof *through, compare);
    qsort(direct, RUNS, sizeof *direct, compare);
    qsort(on_backend, RUNS, sizeof *on_backend, compare);
    qsort(on_pipeline, RUNS, sizeof *on_pipeline, compare);
    double a = through[RUNS / 2], b = direct[RUNS / 2], c = on_backend[RUNS / 2], d = on_pipeline[RUNS / 2];
    if (json)
        printf("{\"bench\":\"boundary\",\"through_ns\":%.1f,\"direct_ns\":%.1f,\"added_ns\":%.1f,\"goal_ns\":150,"
               "\"resident_ns\":%.1f,\"persistent_ns\":%.1f}\n",
               a, b, a - b, c, d);
    else
        printf("through the boundary  %7.1f ns\ncalling the table     %7.1f ns\nadded                 %7.1f ns (goal: "
               "under 150)\non a resident buffer  %7.1f ns\n  through a pipeline  %7.1f ns\n",
               a, b, a - b, c, d);
    vyre_pipeline_release(pipeline);
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
    vyre_module_free(module);
    return 0;
}
