/* The cost of one evaluation: nanoseconds per value through vyre_op_evaluate, and per lane of a kernel over 256 lanes
 * (a workgroup).
 *
 * usage: eval [--json]. Every number is the best of several runs, so that other load has little effect. Operands are
 * random patterns, including subnormals and special values. */
#include "base/thread.h"
#include "ir/eval.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LANES = 256, RUNS = 15, REPEATS = 200 };

static const struct bench_row {
    vyre_op op;
    vyre_type result, operand;
} bench_rows[] = {
#define SAME(op, type) VYRE_OP_##op, VYRE_TYPE_##type, VYRE_TYPE_##type
#define TO(op, result, operand) VYRE_OP_##op, VYRE_TYPE_##result, VYRE_TYPE_##operand
    {SAME(ADD, U32)},      {SAME(ADD, I8)},           {SAME(MUL, U64)},        {SAME(MUL_HIGH, U64)},
    {SAME(DIV, I32)},      {SAME(DIV, I64)},          {SAME(SHR, I16)},        {SAME(ROTL, U32)},
    {SAME(CLZ, U32)},      {SAME(REVERSE_BITS, U32)}, {SAME(MIN, I32)},        {TO(LT, BOOL, I32)},
    {SAME(SELECT, U32)},   {SAME(ADD, F32)},          {SAME(MUL, F64)},        {SAME(DIV, F32)},
    {SAME(SQRT, F64)},     {SAME(FMA, F32)},          {SAME(FMA, F64)},        {SAME(MIN, F32)},
    {SAME(ROUND, F32)},    {SAME(REMAINDER, F32)},    {TO(LT, BOOL, F32)},     {SAME(ADD, F16)},
    {SAME(FMA, F16)},      {SAME(SQRT, F16)},         {SAME(ADD, BF16)},       {SAME(FMA, BF16)},
    {TO(CAST, F16, F32)},  {TO(CAST, F32, F16)},      {TO(CAST, I32, F32)},    {TO(CAST, F32, U64)},
    {TO(CAST, BF16, I64)}, {TO(CAST, U8, I32)},       {TO(BITCAST, F32, U32)},
};

static uint64_t operands[3][LANES], results[LANES];

static double now(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void fill(const struct bench_row *row) {
    uint64_t state = 1;

    for (int operand = 0; operand < 3; operand++)
        for (int lane = 0; lane < LANES; lane++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            operands[operand][lane] = vy_value_canonicalize(row->operand, state >> 32 | state << 32);
        }
    if (row->op == VYRE_OP_SELECT)
        for (int lane = 0; lane < LANES; lane++)
            operands[0][lane] &= 1;
}

static double one_lane_at_a_time(const struct bench_row *row) {
    const double start = now();

    for (int repeat = 0; repeat < REPEATS / 10; repeat++)
        for (int lane = 0; lane < LANES; lane++)
            results[lane] = vyre_op_evaluate(row->op, row->result, row->operand, operands[0][lane], operands[1][lane],
                                             operands[2][lane]);
    return (now() - start) / (REPEATS / 10.0 * LANES);
}

static double all_lanes(const struct bench_row *row) {
    vy_kernel *kernel = vy_eval_kernel(row->op, row->result, row->operand);
    vy_fenv saved;
    double start, end;

    vy_fenv_enter(&saved);
    start = now();
    for (int repeat = 0; repeat < REPEATS; repeat++)
        kernel(results, operands[0], operands[1], operands[2], LANES);
    end = now();
    vy_fenv_leave(&saved);
    return (end - start) / (REPEATS * LANES);
}

static double best(double (*measure)(const struct bench_row *), const struct bench_row *row) {
    double least = measure(row);

    for (int run = 1; run < RUNS; run++) {
        const double time = measure(row);
        least = time < least ? time : least;
    }
    return least;
}

int main(int argc, char **argv) {
    const int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    const size_t count = sizeof bench_rows / sizeof *bench_rows;

    printf(json ? "{\"unit\": \"ns per value\", \"rows\": [\n" : "%-14s %-5s %-5s %10s %10s\n", "op", "T", "gives",
           "scalar ns", "lane ns");
    for (size_t i = 0; i < count; i++) {
        const struct bench_row *row = &bench_rows[i];
        double scalar, lane;

        fill(row);
        scalar = best(one_lane_at_a_time, row);
        lane = best(all_lanes, row);
        printf(json ? "  {\"op\": \"%s\", \"operand\": \"%s\", \"result\": \"%s\", \"scalar\": %.2f, \"lane\": %.3f}"
                    : "%-14s %-5s %-5s %10.2f %10.3f",
               vyre_op_get(row->op)->name, vyre_type_name(row->operand), vyre_type_name(row->result), scalar, lane);
        printf(json && i + 1 < count ? ",\n" : "\n");
    }
    if (json)
        printf("]}\n");
    return 0;
}
