/* The speed of the reference interpreter: evaluated expression nodes per second and core for a few kernels, the
 * speed-up with threads, and the fixed cost of a tiny case.
 *
 * usage: oracle [--json]. Every number is the median of several runs. */
#include "base/thread.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 7, TINY_RUNS = 2001 };

typedef struct kernel {
    const char *name;
    size_t elements; /* of each input, u32 or f32 */
    size_t inputs;
    const char *text;
} kernel;

static const kernel kernels[] = {
    {"saxpy", 1 << 20, 2,
     "program p {\n buffer x : f32 read\n buffer y : f32 read_write\n workgroup 256\n grid over y\n let i = "
     "global_id.x\n"
     "if i < len(y) { y[i] = fma(2.5f32, x[i], y[i]) } }"},
    {"mandelbrot", 1 << 16, 1,
     "program p {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n let i = global_id.x\n"
     "let cx = f32(i % 256) * 0.01 - 2.0\n let cy = f32(i / 256) * 0.01 - 1.0\n var zx = 0.0f32\n var zy = 0.0f32\n "
     "var n = 0u32\n"
     "while n < 100 && zx * zx + zy * zy < 4.0 {\n let t = zx * zx - zy * zy + cx\n zy = 2.0 * zx * zy + cy\n zx = t\n "
     "n = n + 1 }\n y[i] = n }"},
    {"integer hash", 1 << 18, 1,
     "program p {\n buffer y : u32 read_write\n workgroup 128\n grid over y\n let i = global_id.x\n var h = y[i] ^ i\n"
     "for k in 0u32 .. 16u32 {\n h = (h ^ h >> 16) * 2246822507u32\n h = rotl(h, k) + 2654435769u32\n }\n y[i] = h }"},
    {"matmul 128", 128 * 128, 2,
     "program p {\n buffer a : f32 read\n buffer c : f32 read_write\n workgroup 16, 16\n grid 8, 8\n array ta : f32 "
     "[256] workgroup\n"
     "array tb : f32 [256] workgroup\n let row = global_id.y\n let col = global_id.x\n let at = local_id.y * 16 + "
     "local_id.x\n var sum = 0.0f32\n"
     "for k in 0u32 .. 128u32 step 16 {\n ta[at] = a[row * 128 + k + local_id.x]\n tb[at] = a[(k + local_id.y) * 128 + "
     "col]\n barrier\n"
     "for j in 0u32 .. 16u32 { sum = fma(ta[local_id.y * 16 + j], tb[j * 16 + local_id.x], sum) }\n barrier\n }\n "
     "c[row * 128 + col] = sum }"},
    {"scan", 1 << 18, 1,
     "program p {\n buffer y : f32 read_write\n workgroup 256\n grid over y\n let i = global_id.x\n"
     "let s = workgroup_scan_inclusive_add(y[i])\n let m = subgroup_reduce_max<32>(s)\n y[i] = s + m }"},
    {"one per group", 1 << 18, 1,
     "program p {\n buffer y : u32 read_write\n grid over y\n let i = global_id.x\n y[i] = (y[i] * 5 + i) ^ i >> 3 }"},
    {"histogram", 1 << 18, 2,
     "program p {\n buffer x : u32 read\n buffer h : u32 read_write\n workgroup 256\n grid over x\n "
     "atomic_add(h[x[global_id.x] % 1024], 1) }"},
};

/* About 30 statements over 64 invocations, as in a campaign of random programs. */
static const char *const tiny =
    "program p {\n buffer x : u32 read_write\n buffer z : f32 write count 64\n workgroup 32\n grid 2\n array w : u32 "
    "[32] workgroup\n let i = global_id.x\n let l = local_id.x\n"
    "var a = x[i]\n var b = f32(i) * 0.5\n let c = a * 3 + 1\n let d = a ^ c >> 3\n if d % 2 == 0 { a = a + d } else { "
    "a = a - c; b = b * 2.0 }\n"
    "w[l] = a\n barrier\n let e = w[31 - l]\n let s = workgroup_reduce_add(e)\n for k in 0u32 .. 4u32 {\n a = a * 5 + "
    "k\n if a % 3 == 0 { b = b + 1.0 }\n }\n"
    "let f = min(a, s)\n let g = max(a, s)\n let h = select_(f, g)\n a = h + f\n b = fma(b, 0.25f32, 1.0)\n let m = "
    "clz(a) + popcount(g)\n"
    "var n = m\n while n > 3 { n = n / 2 }\n x[i] = a + n\n z[i] = sqrt(abs(b)) }\n"
    "fn select_(p: u32, q: u32) -> u32 { return p % 2 == 0 ? p : q }\n";

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static double median(double *times, size_t count) {
    qsort(times, count, sizeof *times, compare);
    return times[count / 2];
}

static void must(vyre_status status, const vyre_error *error) {
    if (status == VYRE_OK)
        return;
    fprintf(stderr, "%s: %s\n", vyre_status_name(status), error->message);
    exit(1);
}

static vyre_module *parse(const char *text) {
    vyre_module *module;
    vyre_error error;
    must(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), &error);
    return module;
}

typedef struct result {
    double seconds;
    vyre_oracle_report report;
} result;

static result run_kernel(const kernel *k, const vyre_oracle *oracle, const vyre_arguments *arguments,
                         const vyre_oracle_options *options) {
    double times[RUNS];
    vyre_bytes output = VYRE_BYTES_INIT;
    result r = {0};
    vyre_error error;
    (void)k;
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        must(vyre_oracle_run(oracle, arguments, options, &output, &r.report, NULL, &error), &error);
        times[i] = now() - start;
    }
    r.seconds = median(times, RUNS);
    vyre_bytes_free(&output);
    return r;
}

static void bench_kernel(const kernel *k, int json) {
    unsigned cores = vy_cpu_count();
    vyre_module *module = parse(k->text);
    vyre_oracle *oracle;
    vyre_error error;
    must(vyre_oracle_new(vyre_module_program(module, 0), &oracle, &error), &error);
    uint32_t *data = malloc(k->elements * sizeof *data);
    if (!data)
        exit(1);
    /* Small floats when read as f32, spread-out numbers when read as u32. */
    for (size_t i = 0; i < k->elements; i++)
        data[i] = 0x3f000000u + (uint32_t)(i * 2654435761u >> 9);
    vyre_span inputs[2] = {{data, k->elements * 4}, {data, k->elements * 4}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = k->inputs};
    vyre_oracle_options one = {.threads = 1}, all = {.threads = cores}, checked = {.checks = VYRE_CHECK_RACES};
    result alone = run_kernel(k, oracle, &arguments, &one), together = run_kernel(k, oracle, &arguments, &all);
    result slow = run_kernel(k, oracle, &arguments, &checked);
    double rate = (double)alone.report.evaluations / alone.seconds * 1e-6, speedup = alone.seconds / together.seconds;
    printf(json ? "{\"kernel\": \"%s\", \"invocations\": %llu, \"milliseconds\": %.3f, "
                  "\"million_evaluations_per_second\": %.1f, \"threads\": %u, "
                  "\"speedup\": %.2f, \"race_check_slowdown\": %.1f}"
                : "%-14s %11llu %11.3f %13.1f %8u %9.2f %12.1f\n",
           k->name, (unsigned long long)alone.report.invocations, alone.seconds * 1e3, rate, cores, speedup,
           slow.seconds / alone.seconds);
    free(data);
    vyre_oracle_free(oracle);
    vyre_module_free(module);
}

static void bench_tiny(int json) {
    static double compile[TINY_RUNS], run[TINY_RUNS];
    vyre_module *module = parse(tiny);
    vyre_program *program = vyre_module_program(module, 0);
    uint32_t x[64];
    for (uint32_t i = 0; i < 64; i++)
        x[i] = i * 2654435761u;
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_bytes outputs[2] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT};
    vyre_oracle_report report;
    vyre_error error;
    for (int i = 0; i < TINY_RUNS; i++) {
        vyre_oracle *oracle;
        double start = now();
        must(vyre_oracle_new(program, &oracle, &error), &error);
        double middle = now();
        must(vyre_oracle_run(oracle, &arguments, NULL, outputs, &report, NULL, &error), &error);
        run[i] = now() - middle;
        compile[i] = middle - start;
        vyre_oracle_free(oracle);
    }
    double compiled = median(compile, TINY_RUNS) * 1e6, ran = median(run, TINY_RUNS) * 1e6;
    printf(json ? "{\"case\": \"tiny\", \"compile_microseconds\": %.2f, \"run_microseconds\": %.2f, \"steps\": %llu}"
                : "\ntiny case (64 invocations): compile %.2f us, run %.2f us, %llu statements executed\n",
           compiled, ran, (unsigned long long)report.steps);
    vyre_bytes_free(&outputs[0]);
    vyre_bytes_free(&outputs[1]);
    vyre_module_free(module);
}

int main(int argc, char **argv) {
    const int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (json)
        printf("{\"kernels\": [\n");
    else
        printf("%-14s %11s %11s %13s %8s %9s %12s\n", "kernel", "invocations", "ms", "Meval/s core", "threads",
               "speed-up", "checked");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (json && i)
            printf(",\n");
        bench_kernel(&kernels[i], json);
    }
    if (json)
        printf("\n], \"tiny\": ");
    bench_tiny(json);
    if (json)
        printf("}\n");
    return 0;
}
