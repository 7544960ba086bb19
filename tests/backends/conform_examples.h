/* Every program in examples/, at several sizes, on a backend and on the oracle. */
#ifndef VY_TESTS_CONFORM_EXAMPLES_H
#define VY_TESTS_CONFORM_EXAMPLES_H

#include "backends/conform.h"

#include "base/file.h"

/* How an input is filled, and how many elements it has for a size of n. */
typedef enum conform_filling {
    FILL_END,
    FILL_ANY,     /* n of any bits */
    FILL_UNIT,    /* n floats of -1 … 1 */
    FILL_SQUARE,  /* n * n floats */
    FILL_DOUBLE,  /* 2 * n floats */
    FILL_TRIPLE,  /* 3 * n floats */
    FILL_OFFSETS, /* n + 1, growing by 0 … 96 */
    FILL_BYTES,   /* as many as the offsets say at most */
    FILL_SORTED,  /* n, growing */
    FILL_256,     /* 256 zeros */
    FILL_TABLE,   /* 256 states of 8 */
    FILL_RULES    /* 8 */
} conform_filling;

typedef struct conform_example {
    const char *file, *program;
    vyre_define defines[3];
    const char *params; /* by letter: n the size, f 0.25, u 5, p a power of two, h its half */
    conform_filling fillings[6];
} conform_example;

static const conform_example conform_examples[] = {
    {"saxpy", "saxpy", {{0}}, "f", {FILL_ANY, FILL_ANY}},
    {"xor", "xor", {{0}}, "", {FILL_ANY, FILL_ANY}},
    {"black_scholes", "black_scholes", {{0}}, "f", {FILL_UNIT, FILL_UNIT, FILL_UNIT, FILL_UNIT}},
    {"bitonic", "blocks", {{0}}, "", {FILL_ANY}},
    {"bitonic", "merge", {{0}}, "ph", {FILL_ANY}},
    {"dfa", "dfa", {{0}}, "", {FILL_BYTES, FILL_OFFSETS, FILL_TABLE, FILL_RULES}},
    {"fft", "fft", {{0}}, "", {FILL_BYTES}},
    {"gelu", "gelu", {{0}}, "", {FILL_ANY}},
    {"gelu", "gelu_tanh", {{0}}, "", {FILL_ANY}},
    {"gravity", "gravity", {{0}}, "ff", {FILL_UNIT, FILL_DOUBLE, FILL_DOUBLE}},
    {"hash", "fnv1a", {{0}}, "", {FILL_BYTES, FILL_OFFSETS}},
    {"hash", "xxh32", {{0}}, "u", {FILL_BYTES, FILL_OFFSETS}},
    {"hash", "xxh64", {{0}}, "u", {FILL_BYTES, FILL_OFFSETS}},
    {"histogram", "histogram", {{0}}, "", {FILL_ANY, FILL_256}},
    {"layer_norm", "layer_norm", {{0}}, "f", {FILL_ANY, FILL_RULES, FILL_RULES}},
    {"mandelbrot", "mandelbrot", {{"WIDTH", "61"}, {"HEIGHT", "37"}, {"LIMIT", "50"}}, "", {FILL_END}},
    {"matmul", "matmul", {{0}}, "n", {FILL_SQUARE, FILL_SQUARE}},
    {"nbody", "nbody", {{0}}, "ff", {FILL_UNIT, FILL_TRIPLE, FILL_TRIPLE}},
    {"raytrace", "raytrace", {{"WIDTH", "61"}, {"HEIGHT", "37"}}, "", {FILL_END}},
    {"reduce", "by_hand", {{0}}, "", {FILL_ANY}},
    {"reduce", "by_shuffle", {{0}}, "", {FILL_UNIT}},
    {"reduce", "by_collective", {{0}}, "", {FILL_ANY}},
    {"scan", "blocks", {{0}}, "", {FILL_ANY}},
    {"scan", "totals", {{0}}, "", {FILL_ANY}},
    {"scan", "finish", {{0}}, "", {FILL_ANY, FILL_ANY}},
    {"search", "search", {{0}}, "", {FILL_SORTED, FILL_ANY}},
    {"sha256", "sha256", {{0}}, "", {FILL_BYTES, FILL_OFFSETS}},
    {"softmax", "softmax", {{0}}, "u", {FILL_ANY}},
    {"stencil", "stencil", {{0}}, "nnf", {FILL_SQUARE}},
};

static inline vyre_scalar conform_param(char letter, vyre_type type, uint32_t n) {
    uint32_t power = 2;
    while (power < n && power < 1024)
        power *= 2;
    if (letter == 'f')
        return vyre_scalar_f32(0.25f);
    return vyre_scalar_bits(type, letter == 'n' ? n : letter == 'p' ? power : letter == 'h' ? power / 2 : 5);
}

static inline size_t conform_filled_count(conform_filling filling, size_t n) {
    switch (filling) {
    case FILL_SQUARE:
        return n * n;
    case FILL_DOUBLE:
        return 2 * n;
    case FILL_TRIPLE:
        return 3 * n;
    case FILL_OFFSETS:
        return n + 1;
    case FILL_BYTES:
        return 97 * n;
    case FILL_256:
        return 256;
    case FILL_TABLE:
        return 2048;
    case FILL_RULES:
        return 8;
    default:
        return n;
    }
}

static inline void conform_fill_with(conform_filling filling, vyre_type type, vy_random *random, void *bytes,
                                     size_t count) {
    size_t size = vyre_type_size(type);
    uint64_t sum = 0;
    if (filling == FILL_ANY || filling == FILL_BYTES) {
        conform_fill(type, random, bytes, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t value = vy_random_next(random) >> 20;
        vyre_scalar scalar = vyre_scalar_bits(type, filling == FILL_TABLE   ? value % 8
                                                    : filling == FILL_RULES ? value % 3 * (i > 4)
                                                    : filling == FILL_256   ? 0
                                                                            : sum);
        if (type == VYRE_TYPE_F32)
            scalar = vyre_scalar_f32((float)(value % 2001) / 1000.0f - 1.0f);
        memcpy((uint8_t *)bytes + i * size, &scalar.bits, size);
        sum += value % 97;
    }
}

/* Arguments for a size of n; their memory is freed by conform_example_release. */
typedef struct conform_example_arguments {
    vyre_scalar params[4];
    vyre_span inputs[6];
    vyre_arguments arguments;
} conform_example_arguments;

static inline void conform_example_fill(const conform_example *row, vyre_program *program, uint32_t n,
                                        conform_example_arguments *out) {
    vyre_buffer_info buffer;
    vyre_param_info param;
    vy_random random = vy_random_start(n);
    *out = (conform_example_arguments){
        .arguments = {.params = out->params, .param_count = strlen(row->params), .inputs = out->inputs}};
    for (size_t i = 0; vyre_program_param(program, i, &param); i++)
        out->params[i] = conform_param(row->params[i], param.type, n);
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        if (buffer.access == VYRE_ACCESS_WRITE)
            continue;
        size_t k = out->arguments.input_count++, count = conform_filled_count(row->fillings[k], n);
        void *memory = malloc(count * 8 + 1);
        assert_non_null(memory);
        conform_fill_with(row->fillings[k], buffer.type, &random, memory, count);
        out->inputs[k] = (vyre_span){memory, count * vyre_type_size(buffer.type)};
    }
}

static inline void conform_example_release(conform_example_arguments *a) {
    for (size_t i = 0; i < a->arguments.input_count; i++)
        free((void *)(uintptr_t)a->inputs[i].data);
}

static inline void conform_example_at(conform *c, const conform_example *row, vyre_program *program, uint32_t n,
                                      conform_form form) {
    conform_example_arguments a;
    char name[64];
    conform_example_fill(row, program, n, &a);
    snprintf(name, sizeof name, "%s %s at %u", row->file, row->program, n);
    uint64_t judged = c->judged;
    conform_check(c, name, program, &a.arguments, form);
    if (c->judged == judged)
        fail_msg("%s: the oracle ends with %s", name, vyre_status_name(c->expected.status));
    conform_example_release(&a);
}

/* The program of a row, linked; a reference. */
static inline vyre_program *conform_example_load(const conform_example *row) {
    char path[64];
    size_t defines = 0;
    vyre_bytes text = VYRE_BYTES_INIT;
    while (defines < 3 && row->defines[defines].name)
        defines++;
    snprintf(path, sizeof path, "examples/%s.vyre", row->file);
    assert_int_equal(vy_file_read(vy_test_path(path), SIZE_MAX, &text, NULL), VYRE_OK);
    assert_int_equal(vyre_bytes_resize(&text, text.size + 1, NULL), VYRE_OK);
    ((char *)text.data)[text.size - 1] = 0;
    vyre_program *program = conform_parse(text.data, row->defines, defines, row->program);
    vyre_bytes_free(&text);
    return program;
}

/* Every step-th from the first on. */
static inline void conform_examples_run(conform *c, size_t first, size_t step) {
    static const uint32_t sizes[] = {0, 1, 7, 33, 64, 200, 1025};
    for (size_t i = first; i < sizeof conform_examples / sizeof *conform_examples; i += step) {
        const conform_example *row = &conform_examples[i];
        vyre_program *program = conform_example_load(row);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            if ((row->fillings[0] != FILL_SQUARE && row->fillings[1] != FILL_DOUBLE) || sizes[k] <= 64)
                conform_example_at(c, row, program, sizes[k], (conform_form)((i + k) % CONFORM_FORM_COUNT));
        vyre_program_release(program);
    }
}

#endif
