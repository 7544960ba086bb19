/* The speed of encoding, fingerprinting, decoding and building programs, over sizes from a small kernel to a million
 * statements.
 *
 * usage: wire [--json]. Every number is the best of several runs. MB/s count bytes of the wire form; decoding includes
 * validation and the fingerprint of the result, as does building. */
#include "ir/wire/format.h"
#include "vyre/builder.h"
#include "vyre/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const unsigned bench_sizes[] = {10, 100, 1000, 10000, 100000, 1000000};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* `statements` of arithmetic, loads, stores, branches and loops, about four expression nodes each. */
static vyre_program *build(unsigned statements) {
    vyre_builder *b = vyre_builder_new("work");
    vyre_memory x = vyre_buffer(b, "x", VYRE_TYPE_F32, VYRE_ACCESS_READ);
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_F32, VYRE_ACCESS_READ_WRITE);
    vyre_builder_workgroup(b, 256, 1, 1);
    vyre_builder_grid_over(b, y);
    vyre_value i = vyre_let(b, "i", vyre_global_id(b, 0));
    vyre_value sum = vyre_var(b, "sum", vyre_f32(b, 0));
    char name[32];
    for (unsigned n = 2; n < statements; n += 4) {
        snprintf(name, sizeof name, "v_%u", n);
        vyre_value v =
            vyre_let(b, name, vyre_fma(b, vyre_load(b, x, vyre_add(b, i, vyre_u32(b, n))), sum, vyre_f32(b, 0.5f)));
        vyre_builder_begin_if(b, vyre_lt(b, v, vyre_f32(b, (float)n)));
        vyre_builder_assign(b, sum, vyre_add(b, sum, v));
        vyre_builder_end(b);
        vyre_builder_store(b, y, i, vyre_mul(b, v, sum));
    }
    vyre_program *program;
    vyre_error error;
    if (vyre_builder_finish(b, NULL, &program, &error) != VYRE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    return program;
}

/* The measured calls, on a program and its wire form. */
typedef struct subject {
    unsigned statements;
    vyre_program *program;
    vyre_bytes bytes, again;
} subject;

static void run_encode(subject *s) {
    vyre_wire_encode(s->program, 0, &s->again, NULL);
}

static void run_fingerprint(subject *s) {
    vy_fingerprint(s->program, NULL);
}

static void run_decode(subject *s) {
    vyre_program *program;
    if (vyre_wire_decode(s->bytes.data, s->bytes.size, NULL, &program, NULL) != VYRE_OK)
        exit(1);
    vyre_program_release(program);
}

static void run_build(subject *s) {
    vyre_program_release(build(s->statements));
}

/* Seconds of one call: the best of five runs of about 20 ms each. */
static double best(void (*run)(subject *), subject *s) {
    double least = 1e9, start = now();
    run(s);
    unsigned calls = 1 + (unsigned)(0.02 / (now() - start + 1e-9));
    for (int round = 0; round < 5; round++) {
        start = now();
        for (unsigned i = 0; i < calls; i++)
            run(s);
        double time = (now() - start) / calls;
        least = time < least ? time : least;
    }
    return least;
}

int main(int count, char **arguments) {
    const int json = count > 1 && strcmp(arguments[1], "--json") == 0;
    static const struct {
        const char *name;
        void (*run)(subject *);
    } rows[] = {{"encode", run_encode}, {"fingerprint", run_fingerprint}, {"decode", run_decode}, {"build", run_build}};
    enum { ROWS = sizeof rows / sizeof *rows, SIZES = sizeof bench_sizes / sizeof *bench_sizes };
    if (json)
        printf("{\"unit\": \"MB/s of wire form, microseconds per program\", \"rows\": [\n");
    else
        printf("%10s %10s  %-12s %10s %12s\n", "statements", "bytes", "what", "MB/s", "us");
    for (int i = 0; i < SIZES; i++) {
        subject s = {.statements = bench_sizes[i], .program = build(bench_sizes[i])};
        if (vyre_wire_encode(s.program, 0, &s.bytes, NULL) != VYRE_OK)
            return 1;
        for (int j = 0; j < ROWS; j++) {
            double time = best(rows[j].run, &s);
            printf(
                json ? "  {\"statements\": %u, \"bytes\": %zu, \"what\": \"%s\", \"mb_per_s\": %.1f, \"us\": %.2f}%s\n"
                     : "%10u %10zu  %-12s %10.1f %12.2f%s\n",
                s.statements, s.bytes.size, rows[j].name, (double)s.bytes.size / time * 1e-6, time * 1e6,
                json && (i + 1 < SIZES || j + 1 < ROWS) ? "," : "");
        }
        vyre_bytes_free(&s.bytes);
        vyre_bytes_free(&s.again);
        vyre_program_release(s.program);
    }
    if (json)
        printf("]}\n");
    return 0;
}
