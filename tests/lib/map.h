/* Functions of scalars against their models: one table row a function, the values made here.
 *
 * Values are bit patterns in uint64_t, zero above the type's width. A model reads the operands and writes the results
 * so; it is written from the definition of the function, not from its body in lib/. */
#ifndef VY_TESTS_MAP_H
#define VY_TESTS_MAP_H

#include "lib/library.h"

enum { MAP_VALUES = 12, MAP_NAME = 8 };

typedef void map_model(const uint64_t *in, uint64_t *out);

typedef struct map_function {
    const char *name;
    const char *types; /* "u32 u32 -> u32 bool" */
    map_model *model;
} map_function;

/* Operands and results of a function, in order. */
typedef struct map_shape {
    char types[2 * MAP_VALUES][MAP_NAME];
    size_t in, out;
} map_shape;

static inline map_shape map_parse(const char *types) {
    map_shape shape = {.in = 0};
    size_t count = 0;
    int arrow = 0, used;
    char word[MAP_NAME];

    for (; sscanf(types, "%7s%n", word, &used) == 1; types += used)
        if (strcmp(word, "->") == 0) {
            arrow = 1;
        } else {
            strcpy(shape.types[count++], word);
            *(arrow ? &shape.out : &shape.in) += 1;
        }
    assert_true(shape.in <= MAP_VALUES && shape.out <= MAP_VALUES);
    return shape;
}

static inline unsigned map_width(const char *type) {
    return strcmp(type, "bool") == 0 ? 1 : (unsigned)atoi(type + (type[0] == 'b' ? 2 : 1));
}

static inline uint64_t map_mask(const char *type) {
    unsigned width = map_width(type);
    return width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

/* A bool is one byte in a buffer. */
static inline size_t map_size(const char *type) {
    return (map_width(type) + 7) / 8;
}

static inline void map_program(const char *function, const map_shape *shape, char *text, size_t size) {
    size_t at = 0;
#define MAP_PUT(...) at += (size_t)snprintf(text + at, size - at, __VA_ARGS__)
    MAP_PUT("\nprogram map {\n");
    for (size_t i = 0; i < shape->in + shape->out; i++) {
        const char *type = strcmp(shape->types[i], "bool") == 0 ? "u8" : shape->types[i];
        if (i < shape->in)
            MAP_PUT("  buffer a%zu : %s read\n", i, type);
        else
            MAP_PUT("  buffer r%zu : %s write count len(a0)\n", i - shape->in, type);
    }
    MAP_PUT("  workgroup 128\n  grid over a0\n\n  let i = global_id.x\n  if i < len(a0) {\n    let ");
    for (size_t i = 0; i < shape->out; i++)
        MAP_PUT("%sv%zu%s",
                i > 0            ? ", "
                : shape->out > 1 ? "("
                                 : "",
                i,
                i + 1 < shape->out ? ""
                : shape->out > 1   ? ")"
                                   : "");
    MAP_PUT(" = %s(", function);
    for (size_t i = 0; i < shape->in; i++)
        MAP_PUT("%sa%zu[i]%s", i ? ", " : "", i, strcmp(shape->types[i], "bool") == 0 ? " != 0" : "");
    MAP_PUT(")\n");
    for (size_t i = 0; i < shape->out; i++)
        if (strcmp(shape->types[shape->in + i], "bool") == 0)
            MAP_PUT("    r%zu[i] = u8(v%zu)\n", i, i);
        else
            MAP_PUT("    r%zu[i] = v%zu\n", i, i);
    MAP_PUT("  }\n}\n");
#undef MAP_PUT
    assert_true(at < size);
}

/* Values at which functions of bits tend to go wrong, as bits of any type: cut to its width. Floats find their zeros,
 * ones, limits, infinities, NaN and subnormals among those of their width. */
static const uint64_t map_integers[] = {0,
                                        1,
                                        2,
                                        3,
                                        5,
                                        7,
                                        8,
                                        31,
                                        32,
                                        33,
                                        63,
                                        64,
                                        65,
                                        127,
                                        128,
                                        255,
                                        256,
                                        0x5555555555555555,
                                        0xaaaaaaaaaaaaaaaa,
                                        0x0123456789abcdef,
                                        0x8000000000000000,
                                        0x7fffffffffffffff,
                                        0xffffffffffffffff,
                                        0xfffffffffffffffe,
                                        0x80000000,
                                        0x7fffffff,
                                        0xffffffff,
                                        0x80000001,
                                        0x100000000,
                                        0xffff,
                                        0x10000,
                                        1000000007};
static const uint64_t map_f32[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x007fffff,
                                   0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                   0x3f000000, 0xbf000000, 0x3f7fffff, 0x3f800001, 0x40490fdb, 0x477fe000,
                                   0x477ff000, 0x33800000, 0x33000000, 0x4b800000, 0xc3480000, 0x3b008081};
static const uint64_t map_f64[] = {0,
                                   0x8000000000000000,
                                   0x3ff0000000000000,
                                   0xbff0000000000000,
                                   1,
                                   0x000fffffffffffff,
                                   0x7fefffffffffffff,
                                   0x7ff0000000000000,
                                   0xfff0000000000000,
                                   0x7ff8000000000000,
                                   0x3fe0000000000000,
                                   0x400921fb54442d18};

static const uint64_t map_f16[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x8001, 0x03ff, 0x0400,
                                   0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3800, 0xb800, 0x3bff,
                                   0x3c01, 0x4000, 0xc000, 0x4200, 0x4248, 0x6400, 0x5bff, 0x1400};
static const uint64_t map_bf16[] = {0x0000, 0x8000, 0x3f80, 0xbf80, 0x0001, 0x8001, 0x007f, 0x0080,
                                    0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x3f00, 0xbf00, 0x3f7f,
                                    0x3f81, 0x4000, 0xc000, 0x4040, 0x4049, 0x4300, 0x42fe, 0x3b80};

/* Types of three or four letters, asked a million times. */
static inline int map_is(const char *type, const char *name) {
    return memcmp(type, name, 4) == 0;
}

static inline size_t map_specials(const char *type, const uint64_t **values) {
    if (map_is(type, "f32")) {
        *values = map_f32;
        return sizeof map_f32 / sizeof *map_f32;
    }
    if (map_is(type, "f64")) {
        *values = map_f64;
        return sizeof map_f64 / sizeof *map_f64;
    }
    if (map_is(type, "f16")) {
        *values = map_f16;
        return sizeof map_f16 / sizeof *map_f16;
    }
    if (map_is(type, "bf16")) {
        *values = map_bf16;
        return sizeof map_bf16 / sizeof *map_bf16;
    }
    *values = map_integers;
    return sizeof map_integers / sizeof *map_integers;
}

/* A float NaN has one pattern: what a load would make of it. */
static inline uint64_t map_canonical(const char *type, uint64_t bits) {
    if (map_is(type, "f32") && (bits & 0x7fffffff) > 0x7f800000)
        return 0x7fc00000;
    if (map_is(type, "f64") && (bits & 0x7fffffffffffffff) > 0x7ff0000000000000)
        return 0x7ff8000000000000;
    if (map_is(type, "f16") && (bits & 0x7fff) > 0x7c00)
        return 0x7e00;
    if (map_is(type, "bf16") && (bits & 0x7fff) > 0x7f80)
        return 0x7fc0;
    return bits;
}

/* A third special, a third of few bits, a third of any. */
static inline uint64_t map_draw(const char *type, uint64_t mask, vy_random *random) {
    const uint64_t *specials;
    size_t count = map_specials(type, &specials);
    uint64_t bits = vy_random_next(random), kind = vy_random_below(random, 3);

    if (kind == 0)
        bits = specials[vy_random_below(random, count)];
    else if (kind == 1 && map_is(type, "f16"))
        bits = 0x3000 + bits % 0x1800 + (bits >> 63 << 15);
    else if (kind == 1 && map_is(type, "bf16"))
        bits = 0x3e00 + bits % 0x0300 + (bits >> 63 << 15);
    else if (kind == 1 && type[0] == 'f') /* near one, where packing and sampling happen */
        bits = type[1] == '3' ? 0x3b000000 + bits % 0x05000000 + (bits >> 63 << 31) : 0x3fe0000000000000 + (bits >> 12);
    else if (kind == 1)
        bits >>= vy_random_below(random, 64);
    return map_canonical(type, bits & mask);
}

static inline void map_compare(const map_function *f, const map_shape *shape, const library *l, uint64_t **in,
                               size_t count) {
    uint64_t masks[MAP_VALUES];
    size_t sizes[MAP_VALUES];

    for (size_t k = 0; k < shape->out; k++) {
        masks[k] = map_mask(shape->types[shape->in + k]);
        sizes[k] = map_size(shape->types[shape->in + k]);
        assert_int_equal(l->outputs[k].size, count * sizes[k]);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t operands[MAP_VALUES] = {0}, want[MAP_VALUES] = {0};
        for (size_t k = 0; k < shape->in; k++)
            operands[k] = in[k][i];
        f->model(operands, want);
        for (size_t k = 0; k < shape->out; k++) {
            uint64_t got = 0;
            memcpy(&got, (const char *)l->outputs[k].data + i * sizes[k], sizes[k]);
            if (got != (want[k] & masks[k]))
                fail_msg("%s(%llx, %llx, %llx, %llx, …): result %zu is %llx, the model says %llx", f->name,
                         (unsigned long long)operands[0], (unsigned long long)operands[1],
                         (unsigned long long)operands[2], (unsigned long long)operands[3], k, (unsigned long long)got,
                         (unsigned long long)(want[k] & masks[k]));
        }
    }
}

/* Runs the function on `count` rows of operands and compares each result with the model. */
static inline void map_rows(const map_function *f, const map_shape *shape, library *l, uint64_t **in, size_t count) {
    vyre_span inputs[MAP_VALUES];

    for (size_t k = 0; k < shape->in; k++) {
        size_t size = map_size(shape->types[k]);
        char *bytes = malloc(count * size + 1);
        assert_non_null(bytes);
        for (size_t i = 0; i < count; i++)
            memcpy(bytes + i * size, &in[k][i], size);
        inputs[k] = (vyre_span){bytes, count * size};
    }
    library_run(l, NULL, 0, inputs, shape->in);
    for (size_t k = 0; k < shape->in; k++)
        free((void *)inputs[k].data);
    map_compare(f, shape, l, in, count);
}

/* `extra` holds functions of the test's own that combine those of the dialect. */
static inline void map_open(library *l, const char *dialect, const char *extra, const map_function *f,
                            map_shape *shape) {
    char text[8192];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", extra);

    *shape = map_parse(f->types);
    map_program(f->name, shape, text + used, sizeof text - used);
    library_open(l, dialect, text);
    l->seeds = 0; /* invocations share nothing */
}

static inline void map_random(const char *dialect, const char *extra, const map_function *f, const size_t *sizes,
                              size_t size_count) {
    size_t most = 1;
    uint64_t *in[MAP_VALUES], masks[MAP_VALUES];
    vy_random random = vy_random_start(strlen(f->name) + (unsigned char)f->name[0]);
    map_shape shape;
    library l;

    map_open(&l, dialect, extra, f, &shape);
    for (size_t i = 0; i < size_count; i++)
        most = sizes[i] > most ? sizes[i] : most;
    if (most > 100000)
        l.checks = 0;
    for (size_t k = 0; k < shape.in; k++) {
        masks[k] = map_mask(shape.types[k]);
        assert_non_null(in[k] = calloc(most, sizeof *in[k]));
    }
    for (size_t i = 0; i < size_count; i++) {
        for (size_t row = 0; row < sizes[i]; row++)
            for (size_t k = 0; k < shape.in; k++)
                in[k][row] = map_draw(shape.types[k], masks[k], &random);
        map_rows(f, &shape, &l, in, sizes[i]);
    }
    for (size_t k = 0; k < shape.in; k++)
        free(in[k]);
    library_close(&l);
}

/* Every combination of special values; of up to three operands, the rest is drawn. Every value of a lone 8-bit operand,
 * and every pair of two. */
static inline void map_special(const char *dialect, const char *extra, const map_function *f) {
    const uint64_t *values[3];
    uint64_t bytes[256], *in[MAP_VALUES], masks[MAP_VALUES];
    size_t counts[3] = {1, 1, 1}, total;
    vy_random random = vy_random_start(7);
    map_shape shape;
    library l;

    map_open(&l, dialect, extra, f, &shape);
    for (size_t i = 0; i < 256; i++)
        bytes[i] = i;
    for (size_t k = 0; k < shape.in && k < 3; k++) {
        counts[k] = map_specials(shape.types[k], &values[k]);
        if (map_width(shape.types[k]) <= 8 && shape.in <= 2) {
            values[k] = bytes;
            counts[k] = map_width(shape.types[k]) == 8 ? 256 : 2;
        }
    }
    total = counts[0] * counts[1] * counts[2];
    for (size_t k = 0; k < shape.in; k++) {
        masks[k] = map_mask(shape.types[k]);
        assert_non_null(in[k] = calloc(total, sizeof *in[k]));
    }
    for (size_t row = 0; row < total; row++) {
        size_t rest = row;
        for (size_t k = 0; k < shape.in; k++)
            if (k < 3) {
                in[k][row] = values[k][rest % counts[k]] & masks[k];
                rest /= counts[k];
            } else {
                in[k][row] = map_draw(shape.types[k], masks[k], &random);
            }
    }
    map_rows(f, &shape, &l, in, total);
    for (size_t k = 0; k < shape.in; k++)
        free(in[k]);
    library_close(&l);
}

/* What test_NAME.c does with each row of its table. */
static inline void map_check_with(const char *dialect, const char *extra, const map_function *functions, size_t count) {
    for (size_t i = 0; i < count; i++) {
        map_special(dialect, extra, &functions[i]);
        map_random(dialect, extra, &functions[i], library_sizes, LIBRARY_SIZES);
    }
}

static inline void map_check(const char *dialect, const map_function *functions, size_t count) {
    map_check_with(dialect, "", functions, count);
}

/* What test_scalars_slow.c does with it. */
static inline void map_check_million(const char *dialect, const char *extra, const map_function *functions,
                                     size_t count) {
    const size_t million = LIBRARY_MILLION;

    for (size_t i = 0; i < count; i++)
        map_random(dialect, extra, &functions[i], &million, 1);
}

#define MAP_COUNT(table) (sizeof(table) / sizeof *(table))

#endif
