/* What a header made by `vyre bind` costs: saxpy over 16 Mi elements through examples/saxpy.h, next to what `vyre run
 * --repeat 10 --time` prints on the same backend, to the call that it times (vyre_pipeline_dispatch_into with kept
 * outputs), and to hand-written C on one thread and on all.
 *
 * usage: bind [--json] [BACKEND]. Forms alternate within one run, the command three times; every number is a
 * median. VYRE_COMMAND and VYRE_SOURCE_DIR replace the command and the repository of the build. Goal: bind at most 1.05
 * of vyre run. */
#include "../examples/saxpy.h"

#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ELEMENTS = 1 << 24, REPETITIONS = 15, FORMS = 4, COMMANDS = 3 };

typedef struct bench {
    float *x, *y;
    saxpy_kernel kernel;
    vyre_outputs outputs;
} bench;

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static vyre_status bound(bench *b, vyre_error *error) {
    saxpy_arguments arguments = {.a = 2.0f, .x = b->x, .x_count = ELEMENTS, .y = b->y, .y_count = ELEMENTS};
    return saxpy_run(&b->kernel, &arguments, NULL, NULL, error);
}

static vyre_status as_vyre_run(bench *b, vyre_error *error) {
    vyre_scalar a = vyre_scalar_f32(2.0f);
    vyre_span inputs[2] = {{b->x, ELEMENTS * sizeof(float)}, {b->y, ELEMENTS * sizeof(float)}};
    vyre_arguments arguments = {.params = &a, .param_count = 1, .inputs = inputs, .input_count = 2};
    return vyre_pipeline_dispatch_into(vyre_kernel_pipeline(b->kernel.kernel), &arguments, NULL, &b->outputs, NULL,
                                       error);
}

/* Without threads, vectorised for the processor that runs it. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((noinline, optimize("O3"), target_clones("avx512f", "fma", "default")))
#endif
static void
saxpy_range(float a, const float *restrict x, float *restrict y, size_t count) {
    for (size_t i = 0; i < count; i++)
        y[i] = __builtin_fmaf(a, x[i], y[i]);
}

static vyre_status by_hand(bench *b, vyre_error *error) {
    (void)error;
    saxpy_range(2.0f, b->x, b->y, ELEMENTS);
    return VYRE_OK;
}

static void share(void *user, unsigned worker) {
    bench *b = user;
    size_t part = ELEMENTS / vy_cpu_count(), first = worker * part;
    saxpy_range(2.0f, b->x + first, b->y + first, worker + 1 == vy_cpu_count() ? ELEMENTS - first : part);
}

static vyre_status by_hand_on_all(bench *b, vyre_error *error) {
    (void)error;
    vy_parallel(vy_cpu_count(), share, b);
    return VYRE_OK;
}

static const struct {
    const char *name;
    vyre_status (*run)(bench *b, vyre_error *error);
} forms[FORMS] = {
    {"bind", bound}, {"dispatch_into", as_vyre_run}, {"C, one thread", by_hand}, {"C, all threads", by_hand_on_all}};

/* The median that the command prints, in ms; 0 if it cannot be run. */
static double run_command(const char *backend) {
    const char *command = getenv("VYRE_COMMAND"), *source = getenv("VYRE_SOURCE_DIR");
    char line[4096], unit[8] = "";
    double median = 0;
    snprintf(line, sizeof line,
             "'%s' run '%s/examples/saxpy.vyre' a=2.0 x=iota:%d y=ones:%d --backend %s --repeat 10 --time -q --limit 1",
             command ? command : VYRE_COMMAND, source ? source : VYRE_SOURCE_DIR, ELEMENTS, ELEMENTS, backend);
    FILE *pipe = popen(line, "r");
    while (pipe && fgets(line, sizeof line, pipe))
        (void)sscanf(line, "time: shortest %*f %*s median %lf %7s", &median, unit);
    if (!pipe || pclose(pipe) != 0)
        return 0;
    return strcmp(unit, "us") == 0 ? median * 1e-3 : strcmp(unit, "s") == 0 ? median * 1e3 : median;
}

/* of: the time that this one is compared with; 0: unknown */
static void print_row(const char *name, double ms, double of, int json, int is_first) {
    if (json)
        printf("%s{\"name\":\"%s\",\"ms\":%.3f,\"of_vyre_run\":%.3f}", is_first ? "" : ",", name, ms,
               of > 0 ? ms / of : 0);
    else if (ms > 0)
        printf("%-28s %8.3f  %5.2f of vyre run\n", name, ms, of > 0 ? ms / of : 0);
}

int main(int argc, char **argv) {
    bench b = {.outputs = VYRE_OUTPUTS_INIT};
    double times[FORMS][REPETITIONS], commands[COMMANDS] = {0};
    vyre_error error;
    char text[1200];
    int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    policy.only = argc > 1 + json ? argv[1 + json] : NULL;

    vyre_status status = saxpy_open(&b.kernel, &policy, &error);
    b.x = malloc(ELEMENTS * sizeof *b.x);
    b.y = malloc(ELEMENTS * sizeof *b.y);
    for (size_t i = 0; b.x && b.y && i < ELEMENTS; i++)
        b.x[i] = (float)(i % 1000), b.y[i] = 1.0f;
    for (int r = -2; r < REPETITIONS && status == VYRE_OK; r++) { /* two warm-up runs */
        if (r >= 0 && r % (REPETITIONS / COMMANDS) == 0)
            commands[r / (REPETITIONS / COMMANDS)] = run_command(saxpy_backend_id(&b.kernel));
        for (int f = 0; f < FORMS && status == VYRE_OK; f++) {
            double start = now_ms();
            status = forms[f].run(&b, &error);
            if (r >= 0)
                times[f][r] = now_ms() - start;
        }
    }
    if (status != VYRE_OK) {
        vyre_error_format(&error, text, sizeof text);
        fputs(text, stderr);
        return 1;
    }
    for (int f = 0; f < FORMS; f++)
        qsort(times[f], REPETITIONS, sizeof times[f][0], by_value);
    qsort(commands, COMMANDS, sizeof commands[0], by_value);
    double run = commands[COMMANDS / 2];
    if (!json)
        printf("saxpy, %d elements, backend %s, ms per dispatch\n", ELEMENTS, saxpy_backend_id(&b.kernel));
    else
        printf("{\"backend\":\"%s\",\"elements\":%d,\"rows\":[", saxpy_backend_id(&b.kernel), ELEMENTS);
    print_row("vyre run --repeat 10 --time", run, run, json, 1);
    for (int f = 0; f < FORMS; f++)
        print_row(forms[f].name, times[f][REPETITIONS / 2], run, json, 0);
    if (json)
        puts("]}");
    vyre_outputs_free(&b.outputs);
    saxpy_close(&b.kernel);
    free(b.x);
    free(b.y);
    return 0;
}
