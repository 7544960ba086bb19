/* The cost of a span: without a trace, within another span while a trace is written, and as an outermost one, which
 * writes.
 *
 * usage: trace [--json]. Every number is the median of several runs. Goal without a trace: under 2 ns. */
#include "driver/telemetry.h"
#include "vyre/telemetry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 15, OFF_SPANS = 20000000, ON_SPANS = 50000 };

/* Processor time of this thread: other processes are not counted. */
static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static double measure(int spans, int within) {
    double runs[RUNS];
    for (int run = 0; run < RUNS; run++) {
        vy_span outer = {0, 0};
        if (within)
            outer = vy_span_begin();
        double start = now_ns();
        for (int i = 0; i < spans; i++) {
            vy_span span = vy_span_begin();
            vy_span_end(span, launch, .label = "a label of some length", .backend = "reference", .bytes = (uint64_t)i);
        }
        runs[run] = (now_ns() - start) / spans;
        vy_span_end(outer, dispatch);
    }
    qsort(runs, RUNS, sizeof *runs, compare);
    return runs[RUNS / 2];
}

/* An empty loop with the same compiler barrier, whose time is subtracted from that of a span without a trace. */
static double measure_loop(void) {
    double runs[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double start = now_ns();
        for (int i = 0; i < OFF_SPANS; i++)
            __asm__ volatile("" ::: "memory");
        runs[run] = (now_ns() - start) / OFF_SPANS;
    }
    qsort(runs, RUNS, sizeof *runs, compare);
    return runs[RUNS / 2];
}

int main(int argc, char **argv) {
    int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    char path[] = "/tmp/vyre-bench-trace-XXXXXX";
    vyre_error error;
    unsetenv("VYRE_TRACE");
    double off = measure(OFF_SPANS, 0) - measure_loop();
    int file = mkstemp(path);
    if (file < 0 || vyre_trace_start(path, &error) != VYRE_OK) {
        fprintf(stderr, "%s cannot be written\n", path);
        return 1;
    }
    close(file);
    double nested = measure(ON_SPANS, 1), outermost = measure(ON_SPANS, 0);
    vyre_status status = vyre_trace_stop(&error);
    unlink(path);
    if (status != VYRE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    if (json)
        printf("{\"bench\":\"trace\",\"off_ns\":%.2f,\"nested_ns\":%.0f,\"outermost_ns\":%.0f,\"goal_off_ns\":2}\n",
               off, nested, outermost);
    else
        printf("a span while nothing is traced  %7.2f ns (goal: under 2)\n"
               "within another, traced          %7.0f ns\nan outermost one, traced        %7.0f ns\n",
               off, nested, outermost);
    return 0;
}
