/* The cost of a pipeline: finding one in memory and on disk (compared with a plain read of the entry's file), and a
 * dispatch through one compared with a dispatch on the backend. The backend does nothing: its compile, load and
 * dispatch are free.
 *
 * usage: pipeline [--json]. Every number is the median of several runs; files are in the page cache. */
#include "driver/backend.h"
#include "vyre/cache.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 15, DISPATCHES = 100000, FINDS = 5000, LOADS = 500, BINARY = 65536 };

static unsigned char binary[BINARY];

static const char *id(void *self) {
    (void)self;
    return "nothing";
}

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

static vyre_status serialize(void *self, vyre_bytes *out, vyre_error *error) {
    (void)self;
    vyre_status status = vyre_bytes_resize(out, sizeof binary, error);
    if (status == VYRE_OK)
        memcpy(out->data, binary, sizeof binary);
    return status;
}

static void destroy(void *self) {
    (void)self;
}

static const vyre_pipeline_vtable pipeline_table = {.struct_size = sizeof pipeline_table,
                                                    .dispatch = dispatch,
                                                    .dispatch_borrowed_into = into,
                                                    .serialize = serialize,
                                                    .destroy = destroy};

static vyre_status compile(void *self, vyre_program *program, const vyre_compile_options *options,
                           vyre_native_pipeline *out, vyre_error *error) {
    (void)self, (void)program, (void)options, (void)error;
    *out = (vyre_native_pipeline){&pipeline_table, NULL};
    return VYRE_OK;
}

static vyre_status load(void *self, vyre_program *program, const vyre_compile_options *options, vyre_span given,
                        vyre_native_pipeline *out, vyre_error *error) {
    return given.size == sizeof binary ? compile(self, program, options, out, error) : VYRE_CORRUPT;
}

static uint64_t capability(void *self, vyre_capability capability) {
    (void)self, (void)capability;
    return 1024;
}

static const vyre_backend_vtable table = {.struct_size = sizeof table,
                                          .abi = VYRE_BACKEND_ABI,
                                          .id = id,
                                          .dispatch = dispatch,
                                          .dispatch_borrowed_into = into,
                                          .compile = compile,
                                          .load = load,
                                          .capability = capability};

/* Processor time of this thread: other processes are not counted. */
static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void must(vyre_status status, const vyre_error *error) {
    if (status == VYRE_OK)
        return;
    fprintf(stderr, "%s: %s\n", vyre_status_name(status), error->message);
    exit(1);
}

/* ---- the measured operations ---- */

typedef struct bench {
    vyre_backend *backend;
    vyre_program *program;
    vyre_pipeline *pipeline;
    vyre_arguments arguments;
    vyre_outputs outputs;
    char file[4096];
} bench;

static void find(bench *b) {
    vyre_pipeline *pipeline;
    vyre_error error;
    must(vyre_compile(b->backend, b->program, NULL, &pipeline, &error), &error);
    vyre_pipeline_release(pipeline);
}

static void read_plainly(bench *b) {
    static unsigned char bytes[BINARY + 1024];
    int file = open(b->file, O_RDONLY | O_CLOEXEC);
    if (read(file, bytes, sizeof bytes) < BINARY)
        exit(1);
    close(file);
}

static void through_pipeline(bench *b) {
    vyre_error error;
    must(vyre_pipeline_dispatch_into(b->pipeline, &b->arguments, NULL, &b->outputs, NULL, &error), &error);
}

static void through_backend(bench *b) {
    vyre_error error;
    must(vyre_backend_dispatch_into(b->backend, b->program, &b->arguments, NULL, &b->outputs, NULL, &error), &error);
}

static int compare(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

typedef struct row {
    void (*what)(bench *);
    double ns;
} row;

/* Rows alternate, so that other load affects all of them. */
static void measure(bench *b, row *rows, int count, int calls) {
    double runs[4][RUNS];
    for (int i = 0; i < count; i++)
        rows[i].what(b);
    for (int run = 0; run < RUNS; run++)
        for (int i = 0; i < count; i++) {
            double start = now_ns();
            for (int k = 0; k < calls; k++)
                rows[i].what(b);
            runs[i][run] = (now_ns() - start) / calls;
        }
    for (int i = 0; i < count; i++) {
        qsort(runs[i], RUNS, sizeof **runs, compare);
        rows[i].ns = runs[i][RUNS / 2];
    }
}

/* The path of the one entry. */
static int note_file(void *user, const vyre_cache_entry *entry) {
    bench *b = user;
    char folder[2048];
    vyre_cache_folder(folder, sizeof folder);
    snprintf(b->file, sizeof b->file, "%s/%s.vyrepipe", folder, entry->key);
    return 0;
}

int main(int argc, char **argv) {
    static const char text[] =
        "program p {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n x[global_id.x] = 1 }";
    static uint32_t x[16];
    char folder[] = "/tmp/vyre-bench-XXXXXX";
    int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    vyre_span input = {x, sizeof x};
    vyre_backend_instance instance = {&table, NULL};
    vyre_module *module;
    vyre_error error;
    bench b = {.arguments = {.inputs = &input, .input_count = 1}, .outputs = VYRE_OUTPUTS_INIT};
    if (!mkdtemp(folder))
        return 1;
    must(vyre_cache_set_folder(folder, &error), &error);
    must(vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, &error), &error);
    must(vy_backend_wrap(&instance, &b.backend, &error), &error);
    b.program = vyre_module_program(module, 0);
    must(vyre_compile(b.backend, b.program, NULL, &b.pipeline, &error), &error);
    must(vyre_cache_walk(VYRE_CACHE_READ_HEADERS, note_file, &b, &error), &error);
    row dispatches[2] = {{through_pipeline, 0}, {through_backend, 0}}, memory[1] = {{find, 0}};
    row disk[2] = {{find, 0}, {read_plainly, 0}};
    measure(&b, dispatches, 2, DISPATCHES);
    measure(&b, memory, 1, FINDS);
    vyre_cache_forbid_compile(1); /* a miss fails */
    vyre_cache_set_memory_limit(0);
    measure(&b, disk, 2, LOADS);
    if (json)
        printf(
            "{\"bench\":\"pipeline\",\"dispatch_pipeline_ns\":%.1f,\"dispatch_backend_ns\":%.1f,\"memory_hit_ns\":%.0f,"
            "\"disk_hit_ns\":%.0f,\"plain_read_ns\":%.0f,\"binary_bytes\":%d}\n",
            dispatches[0].ns, dispatches[1].ns, memory[0].ns, disk[0].ns, disk[1].ns, BINARY);
    else
        printf("dispatch through a pipeline   %9.1f ns\ndispatch on the backend       %9.1f ns\n"
               "compile, found in memory      %9.0f ns\ncompile, found on disk        %9.0f ns (64 KiB)\n"
               "plain read of that file       %9.0f ns\n",
               dispatches[0].ns, dispatches[1].ns, memory[0].ns, disk[0].ns, disk[1].ns);
    vyre_pipeline_release(b.pipeline);
    vyre_backend_release(b.backend);
    vyre_outputs_free(&b.outputs);
    vyre_module_free(module);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(folder);
    return 0;
}
