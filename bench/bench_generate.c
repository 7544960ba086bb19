/* The cost of a random case: microseconds to generate one (including validation and fingerprint), by size, and to
 * shrink one.
 *
 * usage: generate [--json]. Every number is the best of several runs, in processor time, so that other load has little
 * effect. */
#include "generate/generate.h"
#include "ir/model.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RUNS = 7, PROGRAMS = 200 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

typedef struct bench_row {
    const char *name;
    vyre_generate_options options;
} bench_row;

static const bench_row rows[] = {
    {"10 statements", {.statements = 10}},
    {"30 statements", {.statements = 30}},
    {"300 statements", {.statements = 300}},
    {"30 statements, 16 invocations", {.statements = 30, .invocations = 16}},
    {"30 statements, depth 8", {.statements = 30, .depth = 8}},
    {"30 statements, functions", {.statements = 30, .stress = VYRE_STRESS_FUNCTIONS}},
    {"30 statements, collectives", {.statements = 30, .stress = VYRE_STRESS_COLLECTIVES}},
};

static double generate(const bench_row *row, double *statements) {
    vyre_generate_options options = row->options;
    vyre_program_stats stats;
    double start = now();
    *statements = 0;
    for (options.seed = 0; options.seed < PROGRAMS; options.seed++) {
        vyre_case *made;
        if (vyre_generate(&options, &made, NULL) != VYRE_OK)
            continue;
        vyre_program_get_stats(vyre_case_program(made), &stats);
        *statements += stats.statements;
        vyre_case_free(made);
    }
    *statements /= PROGRAMS;
    return (now() - start) / PROGRAMS;
}

static int has_loop(void *user, const vyre_case *candidate) {
    const vyre_program *program = vyre_case_program(candidate);
    ++*(unsigned *)user;
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_FOR)
            return 1;
    return 0;
}

/* From sixty statements to one loop, with a cheap callback, so that the time is the shrinker's. */
static double shrink(double *asked) {
    double total = 0;
    unsigned cases = 0, questions = 0, ignored = 0;
    for (vyre_generate_options options = {.statements = 60}; options.seed < 40; options.seed++) {
        vyre_case *made, *small;
        if (vyre_generate(&options, &made, NULL) != VYRE_OK)
            continue;
        if (has_loop(&ignored, made)) {
            double start = now();
            if (vyre_shrink(made, has_loop, &questions, 0, &small, NULL) == VYRE_OK)
                vyre_case_free(small);
            total += now() - start;
            cases++;
        }
        vyre_case_free(made);
    }
    *asked = cases ? (double)questions / cases : 0;
    return cases ? total / cases : 0;
}

static void print_row(int json, const char *name, double time, double size, const char *unit, int last) {
    if (json)
        printf("  {\"what\": \"%s\", \"us\": %.1f, \"%s\": %.1f}%s\n", name, time, unit, size, last ? "" : ",");
    else
        printf("%-32s %10.1f us  (%.1f %s)\n", name, time, size, unit);
}

int main(int argc, char **argv) {
    const int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    double size = 0, least = 0;
    if (json)
        printf("{\"unit\": \"us of processor time per case\", \"rows\": [\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int run = 0; run < RUNS; run++) {
            double time = generate(&rows[i], &size);
            least = run == 0 || time < least ? time : least;
        }
        print_row(json, rows[i].name, least, size, "statements", 0);
    }
    for (int run = 0; run < RUNS; run++) {
        double time = shrink(&size);
        least = run == 0 || time < least ? time : least;
    }
    print_row(json, "shrink 60 statements to a loop", least, size, "questions", 1);
    if (json)
        printf("]}\n");
    return 0;
}
