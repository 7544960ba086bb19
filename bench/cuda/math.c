/* The speed of functions of one f32 on a device: libvyre's, CUDA's, and CUDA's in f64, rounded; alternating.
 *
 * Three kinds of kernels, which math.cu has for the peers:
 *   chain   in registers: x = f(x) * factor + addend
 *   bits    in registers: the exclusive or of the results for pseudo-random bits
 *   stream  y[i] = f(x[i]), compared with a copy
 *
 * Streams are measured for operands in [low, low + 1), with the low of math_functions.h, and for uniform random bits.
 * Times are the device's (the host's for a backend without such a clock). A line is printed and stored after each
 * kernel, so an interrupted run keeps its results. */
#include "cuda.h"
#include "math_functions.h"

#include "../suite/ours.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9, WAYS = 4, BLOCK = 256 };

typedef enum input { INPUT_ZERO, INPUT_ONE, INPUT_BITS, INPUT_COUNT } input;
static const char *const input_names[INPUT_COUNT] = {"[0, 1)", "[1, 2)", "all bits"};

typedef enum kind { KIND_CHAIN, KIND_BITS, KIND_STREAM } kind;
static const char *const kind_names[] = {"chain", "bits", "stream"};
static const unsigned results_per_element[] = {MATH_CHAIN_TRIPS, MATH_BITS_TRIPS, 1};

typedef struct bench {
    vyre_backend *backend;
    cu_driver *cu; /* NULL: libvyre alone */
    void *module;  /* math.cubin */
    uint32_t n;    /* elements */
    vyre_resident ours[INPUT_COUNT], ours_y;
    cu_address theirs[INPUT_COUNT], theirs_y;
    FILE *json;
    size_t lines;
} bench;

typedef struct math_row {
    const char *name, *ours;
    int low, has_peers;
    double factor, addend;
} math_row;

/* ---- variants ---- */

typedef struct way {
    const char *name;
    vyre_pipeline *pipeline; /* of libvyre */
    void *function;          /* or a kernel of math.cubin */
    double times[ROUNDS];
} way;

static double run_ours(const bench *b, const way *w, input in) {
    const vyre_resource bindings[] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = b->ours[in]},
                                      {.kind = VYRE_RESOURCE_RESIDENT, .resident = b->ours_y}};
    const vyre_arguments arguments = {.inputs = NULL};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_timing timing = {0};
    vyre_error error;
    double start = suite_now();
    vyre_status status =
        vyre_pipeline_dispatch_persistent(w->pipeline, bindings, 2, &arguments, NULL, &outputs, &timing, NULL, &error);
    double end = suite_now();
    vyre_outputs_free(&outputs);
    if (status != VYRE_OK) {
        printf("%s: %s\n", w->name, error.message);
        return -1;
    }
    return timing.present & VYRE_TIMED_DEVICE ? (double)timing.device_ns * 1e-9 : end - start;
}

static double run_theirs(const bench *b, const way *w, input in) {
    cu_driver *cu = b->cu;
    cu_address x = b->theirs[in], y = b->theirs_y;
    uint32_t vectors = b->n / 4;
    void *params[] = {&x, &y, &vectors, NULL};
    float milliseconds = -1;
    cu->context_set(cu->context);
    if (cu->event_record(cu->start, cu->stream) ||
        cuda_launch(cu, w->function, (vectors + BLOCK - 1) / BLOCK, 1, BLOCK, 1, params) ||
        cu->event_record(cu->end, cu->stream) || cu->event_synchronize(cu->end) ||
        cu->event_elapsed(&milliseconds, cu->start, cu->end)) {
        printf("%s: the driver reports an error\n", w->name);
        return -1;
    }
    return milliseconds * 1e-3;
}

/* Alternates forwards and backwards; the first round is a warm-up. */
static int take_turns(const bench *b, way *ways, int count, input in) {
    for (int round = -1; round < ROUNDS; round++)
        for (int turn = 0; turn < count; turn++) {
            way *w = &ways[round & 1 ? count - 1 - turn : turn];
            double seconds = w->pipeline ? run_ours(b, w, in) : run_theirs(b, w, in);
            if (seconds <= 0)
                return 0;
            if (round >= 0)
                w->times[round] = seconds;
        }
    return 1;
}

/* ---- programs ---- */

/* Four elements per invocation where results stay in registers, as for the peers. `%s` of the row is the operand. */
static void write_chain(const math_row *r, char *text, size_t room) {
    char calls[4][96];
    for (int i = 0; i < 4; i++) {
        char operand[2] = {(char)('a' + i), 0};
        snprintf(calls[i], sizeof calls[i], r->ours, operand);
    }
    snprintf(text, room,
             "program math_chain {\n  buffer x : f32 read\n  buffer y : f32 write count len(x)\n  workgroup %d\n"
             "  grid elements len(x) / 4\n  let i = global_id.x * 4\n  if i < len(x) {\n"
             "    var a = x[i]\n    var b = x[i + 1]\n    var c = x[i + 2]\n    var d = x[i + 3]\n"
             "    for k in 0u32 .. %du32 {\n"
             "      a = fma(%s, %.9g, %.9g)\n      b = fma(%s, %.9g, %.9g)\n"
             "      c = fma(%s, %.9g, %.9g)\n      d = fma(%s, %.9g, %.9g)\n    }\n"
             "    y[i] = a\n    y[i + 1] = b\n    y[i + 2] = c\n    y[i + 3] = d\n  }\n}\n",
             BLOCK, MATH_CHAIN_TRIPS, calls[0], r->factor, r->addend, calls[1], r->factor, r->addend, calls[2],
             r->factor, r->addend, calls[3], r->factor, r->addend);
}

static void write_bits(const math_row *r, char *text, size_t room) {
    char calls[4][96];
    for (int i = 0; i < 4; i++) {
        char operand[32];
        snprintf(operand, sizeof operand, "bitcast<f32>(%c)", 'a' + i);
        snprintf(calls[i], sizeof calls[i], r->ours, operand);
    }
    snprintf(text, room,
             "program math_bits {\n  buffer x : u32 read\n  buffer y : u32 write count len(x)\n  workgroup %d\n"
             "  grid elements len(x) / 4\n  let i = global_id.x * 4\n  if i < len(x) {\n"
             "    var a = x[i]\n    var b = x[i + 1]\n    var c = x[i + 2]\n    var d = x[i + 3]\n"
             "    var sum_a = 0u32\n    var sum_b = 0u32\n    var sum_c = 0u32\n    var sum_d = 0u32\n"
             "    for k in 0u32 .. %du32 {\n"
             "      a = a * 1664525 + 1013904223\n      b = b * 1664525 + 1013904223\n"
             "      c = c * 1664525 + 1013904223\n      d = d * 1664525 + 1013904223\n"
             "      sum_a = sum_a ^ bitcast<u32>(%s)\n      sum_b = sum_b ^ bitcast<u32>(%s)\n"
             "      sum_c = sum_c ^ bitcast<u32>(%s)\n      sum_d = sum_d ^ bitcast<u32>(%s)\n    }\n"
             "    y[i] = sum_a\n    y[i + 1] = sum_b\n    y[i + 2] = sum_c\n    y[i + 3] = sum_d\n  }\n}\n",
             BLOCK, MATH_BITS_TRIPS, calls[0], calls[1], calls[2], calls[3]);
}

/* As usually written. */
static void write_stream(const math_row *r, char *text, size_t room) {
    char call[96];
    snprintf(call, sizeof call, r->ours, "x[i]");
    snprintf(text, room,
             "program math_stream {\n  buffer x : f32 read\n  buffer y : f32 write count len(x)\n  workgroup %d\n"
             "  grid over x\n  let i = global_id.x\n  if i < len(x) { y[i] = %s }\n}\n",
             BLOCK, call);
}

static vyre_pipeline *compile(const bench *b, const math_row *r, kind k) {
    static void (*const writers[])(const math_row *, char *, size_t) = {write_chain, write_bits, write_stream};
    char text[4096];
    vyre_module *module = NULL;
    vyre_pipeline *pipeline = NULL;
    vyre_error error;
    writers[k](r, text, sizeof text);
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK ||
        vyre_compile(b->backend, vyre_module_program(module, 0), NULL, &pipeline, &error) != VYRE_OK)
        printf("SKIP %s %s: %s\n", r->name, kind_names[k], error.message);
    vyre_module_free(module);
    return pipeline;
}

/* ---- figures ---- */

static void write_ratio(const bench *b, const way *ours, const way *other) {
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = other->times[i] / ours->times[i];
    quartiles q = suite_quartiles(ratios, ROUNDS);
    printf(" x%.3f (%.3f to %.3f)", q.median, q.low, q.high);
    fprintf(b->json, ", \"ours_over_%s\": {\"median\": %.4f, \"low\": %.4f, \"high\": %.4f}", other->name, q.median,
            q.low, q.high);
}

/* 10^9 results/s, or TB/s of a stream. */
static void report_ways(bench *b, const math_row *r, kind k, input in, const way *ways, int count) {
    double amount = k == KIND_STREAM ? 8e-12 * b->n : 1e-9 * b->n * results_per_element[k];
    printf("%-8s %-6s %-8s %s:", r->name, kind_names[k], input_names[in], k == KIND_STREAM ? "TB/s" : "10^9/s");
    fprintf(b->json, "%s\n  {\"function\": \"%s\", \"kind\": \"%s\", \"input\": \"%s\", \"unit\": \"%s\"",
            b->lines++ ? "," : "", r->name, kind_names[k], input_names[in],
            k == KIND_STREAM ? "TB/s" : "10^9 results/s");
    for (int i = 0; i < count; i++) {
        double times[ROUNDS];
        memcpy(times, ways[i].times, sizeof times);
        double speed = amount / suite_statistic(times, ROUNDS).median;
        printf("%s %s %.*f", i ? "," : "", ways[i].name, k == KIND_STREAM ? 3 : 0, speed);
        fprintf(b->json, ", \"%s\": %.4g", ways[i].name, speed);
        if (i)
            write_ratio(b, &ways[0], &ways[i]);
    }
    printf("\n");
    fprintf(b->json, "}");
    fflush(stdout);
    fflush(b->json);
}

/* A peer in math.cubin; ways[*count] receives it. */
static void add_peer(const bench *b, way *ways, int *count, const char *name, const char *prefix, const char *function,
                     kind k) {
    char symbol[64];
    void *found = NULL;
    snprintf(symbol, sizeof symbol, "%s%s_%s", prefix, function, kind_names[k]);
    if (b->module && b->cu->module_function(&found, b->module, symbol) == 0)
        ways[(*count)++] = (way){.name = name, .function = found};
    else if (b->module)
        printf("SKIP math.cubin has no %s\n", symbol);
}

static int measure(bench *b, const math_row *r, kind k, vyre_pipeline *pipeline, input in) {
    way ways[WAYS] = {{.name = "ours", .pipeline = pipeline}};
    int count = 1;
    if (r->has_peers) {
        add_peer(b, ways, &count, "cuda", "single_", r->name, k);
        add_peer(b, ways, &count, "f64", "wide_", r->name, k);
    }
    if (k == KIND_STREAM)
        add_peer(b, ways, &count, "copy", "", "copy", k);
    if (!take_turns(b, ways, count, in))
        return 0;
    report_ways(b, r, k, in, ways, count);
    return 1;
}

static int measure_kind(bench *b, const math_row *r, kind k) {
    vyre_pipeline *pipeline = compile(b, r, k);
    int good = pipeline != NULL;
    if (good && k != KIND_BITS)
        good = measure(b, r, k, pipeline, r->low ? INPUT_ONE : INPUT_ZERO);
    if (good && k != KIND_CHAIN)
        good = measure(b, r, k, pipeline, INPUT_BITS);
    vyre_pipeline_release(pipeline);
    return good;
}

/* ---- buffers ---- */

static void fill(uint32_t *words, uint32_t n, input in) {
    uint32_t random = 1;
    for (uint32_t i = 0; i < n; i++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        float value = (float)(random >> 8) * 0x1p-24f;
        if (in == INPUT_ONE)
            value = 1 + (float)(random >> 9) * 0x1p-23f;
        memcpy(&words[i], in == INPUT_BITS ? (void *)&random : (void *)&value, sizeof *words);
    }
}

static int make_buffers(bench *b) {
    size_t size = (size_t)b->n * sizeof(uint32_t);
    uint32_t *words = malloc(size);
    vyre_error error = VYRE_ERROR_INIT;
    int good = words && vyre_resident_allocate(b->backend, size, NULL, &b->ours_y, &error) == VYRE_OK;
    if (good && b->cu)
        good = b->cu->context_set(b->cu->context) == 0 && b->cu->memory_allocate(&b->theirs_y, size) == 0;
    for (int in = 0; in < INPUT_COUNT && good; in++) {
        fill(words, b->n, (input)in);
        good = vyre_resident_allocate(b->backend, size, NULL, &b->ours[in], &error) == VYRE_OK &&
               vyre_resident_upload(b->backend, b->ours[in], words, size, &error) == VYRE_OK;
        if (good && b->cu)
            good = b->cu->context_set(b->cu->context) == 0 && b->cu->memory_allocate(&b->theirs[in], size) == 0 &&
                   b->cu->copy_to_device(b->theirs[in], words, size, b->cu->stream) == 0 &&
                   b->cu->stream_synchronize(b->cu->stream) == 0;
    }
    free(words);
    if (!good)
        printf("SKIP math: %s\n", error.message[0] ? error.message : "no memory");
    return good;
}

/* ---- the benchmark ---- */

static int is_asked_for(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ','))
            return 1;
    return list == NULL;
}

static int measure_rows(bench *b, const char *only) {
    static const math_row rows[] = {
#define ROW(name, ours, single, wide, low, factor, addend) {#name, ours, low, 1, (double)factor, (double)addend},
#define ROW_OF_OURS(name, ours, low) {#name, ours, low, 0, 0, 0},
        MATH_FUNCTIONS(ROW) MATH_FUNCTIONS_OF_OURS(ROW_OF_OURS)};
    int measured = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = rows[i].has_peers ? KIND_CHAIN : KIND_STREAM; k <= KIND_STREAM; k++)
            if (is_asked_for(only, rows[i].name))
                measured += measure_kind(b, &rows[i], (kind)k);
    return measured;
}

int suite_math(const char *only, const char *folder, int quick) {
    char path[4096], reason[REASON] = "";
    bench b = {.backend = suite_ours_backend(), .cu = cu_open(reason, sizeof reason)};
    int measured = 0;
    b.n = UINT32_C(1) << (quick ? 20 : 28);
    if (b.cu)
        b.module = cu_load_built(b.cu, "math.cubin", reason, sizeof reason);
    if (!b.module) {
        printf("SKIP CUDA's functions: %s\n", reason);
        b.cu = NULL;
    }
    snprintf(path, sizeof path, "%s/math.json", folder);
    if (!(b.json = fopen(path, "w"))) {
        printf("%s cannot be written\n", path);
        return 0;
    }
    fprintf(b.json, "{\"device\": \"%s\", \"elements\": %" PRIu32 ", \"rows\": [", b.cu ? b.cu->about : "", b.n);
    if (make_buffers(&b))
        measured = measure_rows(&b, only);
    fprintf(b.json, "\n]}\n");
    fclose(b.json);
    /* Buffers are freed with the process and the backend. */
    return measured;
}
