/* The functions of `math` for one type of 16 bits: every input of those of one operand, pairs of the others. */
#ifndef VY_TESTS_MATH_HALF_H
#define VY_TESTS_MATH_HALF_H

#include "lib/model_math.h"

enum { MATH_HALF_INPUTS = 1 << 16, MATH_HALF_ROWS = 1 << 13 };

static inline void math_half_check_all_inputs(const map_function *functions, size_t count) {
    static uint64_t in[MATH_HALF_INPUTS];
    uint64_t *operands = in;

    for (size_t i = 0; i < MATH_HALF_INPUTS; i++)
        in[i] = i;
    for (size_t i = 0; i < count; i++) {
        map_shape shape = map_parse(functions[i].types);
        library l;
        if (shape.in != 1 || shape.out != 1)
            continue;
        map_open(&l, "math", "", &functions[i], &shape);
        l.checks = 0;
        map_rows(&functions[i], &shape, &l, &operands, MATH_HALF_INPUTS);
        library_close(&l);
    }
}

/* Special values in all combinations, and random rows: 2^20 of each function if VYRE_EFFORT is 128. */
static inline void math_half_check_samples(const map_function *functions, size_t count) {
    const size_t rows = (size_t)MATH_HALF_ROWS * vy_test_effort();

    for (size_t i = 0; i < count; i++) {
        map_shape shape = map_parse(functions[i].types);
        map_special("math", "", &functions[i]);
        if (shape.in != 1)
            map_random("math", "", &functions[i], &rows, 1);
    }
}

/* What the function returns for an input, and what its sibling of f32 returns, rounded again. */
static inline void math_half_check_second_rounding(const char *function, const char *type, uint16_t in, uint16_t once,
                                                   uint16_t twice) {
    const vyre_span input = {&in, sizeof in};
    const uint16_t expected[] = {once, twice};
    char text[512];
    library l;

    snprintf(text, sizeof text,
             "program both {\n  buffer x : %s read\n  buffer y : %s write count 2\n  workgroup 1\n  grid 1\n\n"
             "  y[0] = %s_%s(x[0])\n  y[1] = %s(%s_f32(f32(x[0])))\n}\n",
             type, type, function, type, type, function);
    library_open(&l, "math", text);
    library_run(&l, NULL, 0, &input, 1);
    library_expect(&l, 0, expected, sizeof expected);
    library_close(&l);
}

#endif
