/* Workgroup-level ops against their models: a program that gives each workgroup a tile of two buffers in workgroup
 * arrays, calls the op, and writes the arrays back.
 *
 * One table row an op. The model does to the tile in plain C, element by element from the definition, what the op does.
 * */
#ifndef VY_TESTS_TILE_H
#define VY_TESTS_TILE_H

#include "lib/library.h"

enum { TILE_CAPACITY = 2048, TILE_ODD = 77 };

/* A tile: `n` elements of each array; the model changes them, and gives the result's bytes (8, zero if there is none).
 * `stored` is how many elements the op leaves in order, n unless the model says less. */
typedef struct tile {
    void *t, *m;
    size_t n, stored;
    uint64_t result, result2;
} tile;

typedef void tile_model(tile *tile);

typedef struct tile_function {
    const char *dialect, *name;
    const char *type, *more; /* elements of t and of m */
    const char *call; /* of t, m, scratch arrays s and s2 (of the same type), n; declares result, result2 and stored */
    const char *result; /* type, NULL if there is none */
    tile_model *model;
    unsigned distinct; /* not 0: values of t and m are drawn below this, so that equal ones meet */
} tile_function;

static inline size_t tile_size(const char *type) {
    return (size_t)atoi(type + 1) / 8;
}

/* Elements are loaded and stored by invocations other than those that the op gives them to, and overwritten at the end:
 * without its barriers, or if it touched what lies behind n (the guards), the op would race or differ. */
static inline void tile_open_arrays(library *l, const tile_function *f, const char *workgroup, unsigned length,
                                    unsigned more_length, const char *n) {
    char text[4096];

    snprintf(text, sizeof text,
             "\nprogram tiles {\n"
             "  param size : u32\n"
             "  buffer data : %s read_write\n"
             "  buffer more : %s read_write\n"
             "  buffer results : %s write count max(1, div_ceil(len(data), size))\n"
             "  buffer results2 : u32 write count max(1, div_ceil(len(data), size))\n"
             "  buffer guards : u32 write count max(1, div_ceil(len(data), size))\n"
             "  workgroup %s\n"
             "  grid max(1, div_ceil(len(data), size))\n"
             "  array t : %s [%d] workgroup\n"
             "  array m : %s [%d] workgroup\n"
             "  array s : %s [%d] workgroup\n"
             "  array s2 : %s [%d] workgroup\n"
             "  let lanes = workgroup_size.x * workgroup_size.y * workgroup_size.z\n"
             "  let first = group_id.x * size\n"
             "  let used = min(size, len(data) - first)\n"
             "  let n = %s\n"
             "  for i in local_index .. used step lanes {\n"
             "    t[used - 1 - i] = data[first + used - 1 - i]\n"
             "    m[used - 1 - i] = more[first + used - 1 - i]\n"
             "  }\n"
             "  if local_index == 0 {\n"
             "    if used < len(t) { t[used] = 77 }\n"
             "    m[used] = 77\n"
             "  }\n"
             "  %s\n"
             "  %s\n"
             "  for i in local_index .. used step lanes {\n"
             "    let at = used - 1 - i\n"
             "    if at < stored {\n"
             "      data[first + at] = t[at]\n"
             "      more[first + at] = m[at]\n"
             "    }\n"
             "  }\n"
             "  if local_index == lanes - 1 {\n"
             "    %s\n"
             "    guards[group_id.x] = u32((used == len(t) || t[used] == 77) && m[used] == 77)\n"
             "  }\n"
             "  for i in local_index .. used step lanes {\n"
             "    t[used - 1 - i] = 0\n"
             "    m[used - 1 - i] = 0\n"
             "  }\n"
             "}\n",
             f->type, f->more, f->result ? f->result : "u32", workgroup, f->type, length, f->more, more_length, f->type,
             length, f->more, length, n, f->call, strstr(f->call, "let stored") ? "" : "let stored = used",
             !f->result                   ? ""
             : strstr(f->call, "result2") ? "results[group_id.x] = result; results2[group_id.x] = result2"
                                          : "results[group_id.x] = result");
    library_open(l, f->dialect, text);
}

static inline void tile_open(library *l, const tile_function *f, const char *workgroup) {
    tile_open_arrays(l, f, workgroup, TILE_CAPACITY, TILE_CAPACITY, "used");
}

static inline uint64_t tile_draw(const char *type, unsigned distinct, vy_random *random) {
    uint64_t bits = vy_random_next(random);

    if (distinct)
        bits = bits % distinct;
    if (strcmp(type, "f32") ==
        0) { /* sums that round, with zeros of both signs, and for distinct ones NaN and infinities */
        static const uint32_t special[] = {0, 0x80000000, 0x7fc00000, 0x7f800000, 0xff800000, 0x3f800000, 0xbf800000};
        if (distinct)
            return special[bits % 7];
        return (bits & 0x80ffffff) | (0x3d + (bits >> 32) % 5) << 24;
    }
    if (strcmp(type, "f64") == 0)
        return (bits & 0x801fffffffffffff) | UINT64_C(0x3fc0000000000000);
    return bits;
}

/* Runs the op over `count` elements in tiles of `size`, and compares every byte with what the model makes of each tile.
 * */
static inline void tile_run(const tile_function *f, library *l, size_t count, size_t size) {
    size_t width = tile_size(f->type), more_width = tile_size(f->more), tiles = count ? (count + size - 1) / size : 1;
    size_t result_width = f->result ? tile_size(f->result) : 4;
    char *t = calloc(count + 1, width), *m = calloc(count + 1, more_width);
    char *results = calloc(tiles, result_width), *results2 = calloc(tiles, 4), *model_t = malloc((count + 1) * width);
    char *model_m = malloc((count + 1) * more_width), *work_t = malloc((size + 1) * width);
    char *work_m = malloc((size + 1) * more_width);
    vy_random random = vy_random_start(count * 31 + size);
    vyre_scalar param = vyre_scalar_u32((uint32_t)size);

    assert_true(t && m && results && results2 && model_t && model_m && work_t && work_m && size < TILE_CAPACITY);
    for (size_t i = 0; i < count; i++) {
        uint64_t a = tile_draw(f->type, f->distinct, &random), b = tile_draw(f->more, f->distinct, &random);
        memcpy(t + i * width, &a, width);
        memcpy(m + i * more_width, &b, more_width);
    }
    memcpy(model_t, t, count * width);
    memcpy(model_m, m, count * more_width);
    for (size_t k = 0; k < tiles; k++) {
        size_t n = count - k * size < size ? count - k * size : size;
        tile tile = {.t = work_t, .m = work_m, .n = n, .stored = n};
        memcpy(work_t, t + k * size * width, n * width);
        memcpy(work_m, m + k * size * more_width, n * more_width);
        f->model(&tile);
        memcpy(model_t + k * size * width, work_t, tile.stored * width);
        memcpy(model_m + k * size * more_width, work_m, tile.stored * more_width);
        memcpy(results + k * result_width, &tile.result, result_width);
        memcpy(results2 + 4 * k, &tile.result2, 4);
    }
    library_run(l, &param, 1, (vyre_span[]){{t, count * width}, {m, count * more_width}}, 2);
    library_expect(l, 0, model_t, count * width);
    library_expect(l, 1, model_m, count * more_width);
    library_expect(l, 2, results, tiles * result_width);
    library_expect(l, 3, results2, tiles * 4);
    for (size_t k = 0; k < tiles; k++)
        if (((const uint32_t *)l->outputs[4].data)[k] != 1)
            fail_msg("%s of %zu elements changed what lies behind them", f->name, count);
    free(t), free(m), free(results), free(results2), free(model_t), free(model_m), free(work_t), free(work_m);
}

/* Every size in one workgroup of every width, then many tiles. */
static inline void tile_check(const tile_function *functions, size_t count) {
    static const char *const workgroups[] = {"1", "31", "33", "256", "1000", "8, 2, 2"};

    for (size_t k = 0; k < count; k++)
        for (size_t w = 0; w < sizeof workgroups / sizeof *workgroups; w++) {
            library l;
            tile_open(&l, &functions[k], workgroups[w]);
            for (size_t i = 0; i < LIBRARY_SIZES; i++) {
                l.seeds = library_sizes[i] < 300;
                tile_run(&functions[k], &l, library_sizes[i], TILE_CAPACITY - 1);
            }
            tile_run(&functions[k], &l, 2500, 300);
            library_close(&l);
            /* An n beyond the array means all of it; the scratch arrays are no longer than that. */
            tile_open_arrays(&l, &functions[k], workgroups[w], TILE_ODD, TILE_ODD + 5, "0xffffffffu32");
            tile_run(&functions[k], &l, TILE_ODD, TILE_ODD);
            library_close(&l);
        }
}

/* What test_tiles_slow.c does; the tiles are not larger because some models take quadratic time. */
static inline void tile_check_million(const tile_function *functions, size_t count) {
    for (size_t k = 0; k < count; k++) {
        library l;
        tile_open(&l, &functions[k], "256");
        l.checks = l.seeds = 0;
        tile_run(&functions[k], &l, LIBRARY_MILLION, 640);
        library_close(&l);
    }
}

#define TILE_COUNT(table) (sizeof(table) / sizeof *(table))

#endif
