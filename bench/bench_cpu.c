/* The cost that backend `cpu` adds to the work.
 *
 * Measured are the time from the wire form to executable code (the first in a process, which opens the compiler; later
 * ones; from the disk cache), and the time of an almost empty dispatch: alone, in a batch, in a sequence, in flight.
 * Then saxpy at sizes where threads become worthwhile, in consecutive and in single dispatches, and the bandwidth of a
 * large one.
 *
 * usage: cpu [--json]. Medians, except for the first compile. */
#include "vyre/async.h"
#include "vyre/cache.h"
#include "vyre/driver.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 15, MANY = 64, LARGE = 1 << 24 };

static int is_json, is_first = 1;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, double value, const char *unit) {
    if (is_json)
        printf("%s\"%s\":{\"value\":%.3f,\"unit\":\"%s\"}", is_first ? "{" : ",", name, value, unit);
    else
        printf("%-28s %12.3f %s\n", name, value, unit);
    is_first = 0;
}

static void check(vyre_status status, const vyre_error *error) {
    if (status == VYRE_OK)
        return;
    fprintf(stderr, "%s\nFix: %s\n", error->message, error->fix);
    exit(1);
}

static vyre_program *saxpy(unsigned number, vyre_module **module) {
    char text[400];
    vyre_error error;
    snprintf(text, sizeof text,
             "program saxpy%u {\n param a : f32\n buffer x : f32 read\n buffer y : f32 read_write\n workgroup 256\n"
             " grid over y\n let i = global_id.x\n if i < len(y) { y[i] = fma(a, x[i], y[i]) }\n}",
             number);
    check(vyre_text_parse(text, strlen(text), NULL, NULL, module, &error), &error);
    return vyre_module_program(*module, 0);
}

/* Nanoseconds of one compile. */
static double compile(vyre_backend *backend, unsigned number, vyre_pipeline **out) {
    vyre_module *module;
    vyre_error error;
    vyre_program *program = saxpy(number, &module);
    double start = now();
    check(vyre_compile(backend, program, NULL, out, &error), &error);
    double took = now() - start;
    vyre_module_free(module);
    return took;
}

static double compile_many(vyre_backend *backend, unsigned first) {
    double took[RUNS];
    vyre_pipeline *pipeline;
    for (unsigned i = 0; i < RUNS; i++) {
        took[i] = compile(backend, first + i, &pipeline);
        vyre_pipeline_release(pipeline);
    }
    qsort(took, RUNS, sizeof *took, compare);
    return took[RUNS / 2];
}

static vyre_backend *acquire(void) {
    vyre_backend *backend;
    vyre_error error;
    check(vyre_acquire("cpu", &backend, &error), &error);
    return backend;
}

static void compiles(void) {
    char folder[] = "/tmp/vyre-bench-XXXXXX", line[64];
    vyre_error error;
    vyre_pipeline *pipeline;
    vyre_backend *backend = acquire();
    check(vyre_cache_set_folder("", &error), &error);
    report("compile, first", compile(backend, 0, &pipeline) / 1e6, "ms");
    vyre_pipeline_release(pipeline);
    report("compile, later", compile_many(backend, 1) / 1e6, "ms");
    if (mkdtemp(folder)) {
        check(vyre_cache_set_folder(folder, &error), &error);
        compile_many(backend, 100);
        vyre_backend_release(backend);
        backend = acquire();
        report("load from the disk cache", compile_many(backend, 100) / 1e6, "ms");
        check(vyre_cache_set_folder("", &error), &error);
        snprintf(line, sizeof line, "rm -rf '%s'", folder);
        if (system(line) != 0)
            fprintf(stderr, "%s stays\n", folder);
    }
    vyre_backend_release(backend);
}

/* ---- dispatches ---- */

typedef struct bound {
    vyre_backend *backend;
    vyre_pipeline *pipeline;
    vyre_resource bindings[2];
    vyre_scalar a;
    vyre_arguments arguments;
    vyre_outputs outputs;
} bound;

static void bind(bound *b, uint64_t count) {
    vyre_error error;
    b->a = vyre_scalar_f32(2);
    b->arguments = (vyre_arguments){.params = &b->a, .param_count = 1};
    b->outputs = (vyre_outputs)VYRE_OUTPUTS_INIT;
    for (int i = 0; i < 2; i++) {
        b->bindings[i] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT};
        check(vyre_resident_allocate(b->backend, count * 4, NULL, &b->bindings[i].resident, &error), &error);
    }
}

static void unbind(bound *b) {
    vyre_outputs_free(&b->outputs);
    for (int i = 0; i < 2; i++)
        vyre_resident_free(b->backend, b->bindings[i].resident, NULL);
}

static void run_one(bound *b) {
    vyre_error error;
    check(vyre_pipeline_dispatch_persistent(b->pipeline, b->bindings, 2, &b->arguments, NULL, &b->outputs, NULL, NULL,
                                            &error),
          &error);
}

static void run_many(bound *b) {
    for (int i = 0; i < MANY; i++)
        run_one(b);
}

static void run_sequence(bound *b) {
    vyre_step steps[MANY];
    vyre_error error;
    for (int i = 0; i < MANY; i++)
        steps[i] = (vyre_step){
            .pipeline = b->pipeline, .bindings = b->bindings, .binding_count = 2, .arguments = &b->arguments};
    check(vyre_sequence_run(b->backend, steps, MANY, NULL, 0, NULL, NULL, NULL, NULL, &error), &error);
}

static void run_in_flight(bound *b) {
    float x[2] = {1, 2};
    vyre_span inputs[2] = {{x, sizeof x}, {x, sizeof x}};
    vyre_arguments arguments = b->arguments;
    vyre_pending *pending[MANY];
    vyre_error error;
    arguments.inputs = inputs;
    arguments.input_count = 2;
    for (int i = 0; i < MANY; i++)
        check(vyre_pipeline_dispatch_async(b->pipeline, &arguments, NULL, &pending[i], &error), &error);
    for (int i = 0; i < MANY; i++) {
        check(vyre_pending_wait(pending[i], UINT64_MAX, &b->outputs, NULL, &error), &error);
        vyre_pending_free(pending[i]);
    }
}

static double median(void (*run)(bound *b), bound *b) {
    double took[RUNS];
    run(b);
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        run(b);
        took[i] = now() - start;
    }
    qsort(took, RUNS, sizeof *took, compare);
    return took[RUNS / 2];
}

/* The cost of threads: consecutive dispatches, which find them awake, and one after a pause, which has to wake them or
 * run without. */
static double after_a_pause(bound *b) {
    double took[RUNS];
    for (int i = 0; i < RUNS; i++) {
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
        double start = now();
        run_one(b);
        took[i] = now() - start;
    }
    qsort(took, RUNS, sizeof *took, compare);
    return took[RUNS / 2];
}

static void threads(bound *b) {
    static const struct {
        unsigned log;
        const char *closely, *apart;
    } rows[] = {{14, "saxpy of 2^14, closely", "saxpy of 2^14, after 5 ms"},
                {16, "saxpy of 2^16, closely", "saxpy of 2^16, after 5 ms"},
                {19, "saxpy of 2^19, closely", "saxpy of 2^19, after 5 ms"},
                {22, "saxpy of 2^22, closely", "saxpy of 2^22, after 5 ms"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bind(b, UINT64_C(1) << rows[i].log);
        report(rows[i].closely, median(run_many, b) / MANY / 1e3, "us");
        report(rows[i].apart, after_a_pause(b) / 1e3, "us");
        unbind(b);
    }
}

static void dispatches(void) {
    bound b = {.backend = acquire()};
    compile(b.backend, 0, &b.pipeline);
    bind(&b, 2);
    report("dispatch of 2 elements", median(run_many, &b) / MANY / 1e3, "us");
    report("step of a sequence", median(run_sequence, &b) / MANY / 1e3, "us");
    report("in flight, each of 64", median(run_in_flight, &b) / MANY / 1e3, "us");
    unbind(&b);
    threads(&b);
    bind(&b, LARGE);
    report("saxpy of 2^24 elements", 12.0 * LARGE / median(run_one, &b), "GB/s");
    unbind(&b);
    vyre_pipeline_release(b.pipeline);
    vyre_backend_release(b.backend);
}

int main(int count, char **words) {
    is_json = count > 1 && strcmp(words[1], "--json") == 0;
    compiles();
    dispatches();
    if (is_json)
        printf("}\n");
    return 0;
}
