/* The dialect `histogram`: loops over the data. */
#ifndef VY_TESTS_MODEL_HISTOGRAM_H
#define VY_TESTS_MODEL_HISTOGRAM_H

#include "lib/map.h"

#include <math.h>

static float histogram_float(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}

static void histogram_bin(const uint64_t *in, uint64_t *out) {
    float x = histogram_float(in[0]), low = histogram_float(in[1]), high = histogram_float(in[2]);
    uint32_t bins = (uint32_t)in[3];
    float scaled = (x - low) / (high - low) * (float)bins;

    out[0] = bins;
    if (bins > 0 && x >= low && x <= high) {
        out[0] = isnan(scaled) ? 0 : scaled < (float)UINT32_MAX ? (uint32_t)scaled : UINT32_MAX;
        if (x == high || out[0] >= bins)
            out[0] = bins - 1;
    }
}

static const map_function histogram_scalars[] = {
    {"bin_f32", "f32 f32 f32 u32 -> u32", histogram_bin},
};

/* Every workgroup takes `part` bytes, counts them near, and adds its counts to what is there. */
static inline void histogram_bytes(const char *workgroup, size_t size, uint32_t part, int checked) {
    char text[1024];
    uint8_t *data = malloc(size + 1);
    uint32_t totals[300], expected[300];
    vyre_scalar param = vyre_scalar_u32(part);
    vy_random random = vy_random_start(size);
    library l;

    assert_non_null(data);
    for (uint32_t i = 0; i < 300; i++)
        expected[i] = totals[i] = i;
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)(vy_random_next(&random) & vy_random_next(&random));
        expected[data[i] + 10]++;
    }
    snprintf(text, sizeof text,
             "program p {\n  param part : u32\n  buffer data : u8 read\n  buffer totals : u32 read_write\n"
             "  workgroup %s\n  grid max(1, div_ceil(len(data), part))\n  array counts : u32 [256] workgroup\n"
             "  let first = group_id.x * part\n  clear(counts, 256)\n"
             "  bytes(data, first, min(part, len(data) - first), counts)\n  flush(counts, 256, totals, 10)\n}\n",
             workgroup);
    library_open(&l, "histogram", text);
    if (!checked)
        l.checks = l.seeds = 0;
    assert_false(vyre_program_schedule_dependent(l.program));
    library_run(&l, &param, 1, (vyre_span[]){{data, size}, LIBRARY_SPAN(totals)}, 2);
    library_expect(&l, 0, expected, sizeof expected);
    library_close(&l);
    free(data);
}

#endif
