/* Element-wise kernels. */
#include "peer.h"

#include <math.h>
#include <string.h>

void peer_saxpy(size_t n, float a, const float *restrict x, float *restrict y) {
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++)
        y[i] = fmaf(a, x[i], y[i]);
}

/* Key by key, which avoids a remainder per byte. */
void peer_xor(size_t n, size_t key_size, const uint8_t *restrict key, uint8_t *restrict data) {
#pragma omp parallel for schedule(static)
    for (size_t block = 0; block < n; block += key_size) {
        size_t rest = n - block < key_size ? n - block : key_size;
        for (size_t j = 0; j < rest; j++)
            data[block + j] ^= key[j];
    }
}

void peer_xor_streams(size_t n, const uint32_t *restrict a, const uint32_t *restrict b, uint32_t *restrict out) {
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] ^ b[i];
}

void peer_stencil(size_t width, size_t height, float rate, const float *restrict now, float *restrict next) {
#pragma omp parallel for schedule(static)
    for (size_t y = 0; y < height; y++) {
        const float *row = now + y * width;
        float *out = next + y * width;
        if (y == 0 || y == height - 1 || width < 3) {
            for (size_t x = 0; x < width; x++) {
                float left = x > 0 ? row[x - 1] : 0, right = x + 1 < width ? row[x + 1] : 0;
                float up = y > 0 ? row[x - width] : 0, down = y + 1 < height ? row[x + width] : 0;
                out[x] = fmaf(rate, fmaf(-4, row[x], (left + right) + (up + down)), row[x]);
            }
            continue;
        }
        const float *above = row - width, *below = row + width;
        out[0] = fmaf(rate, fmaf(-4, row[0], (0 + row[1]) + (above[0] + below[0])), row[0]);
#pragma omp simd
        for (size_t x = 1; x < width - 1; x++)
            out[x] = fmaf(rate, fmaf(-4, row[x], (row[x - 1] + row[x + 1]) + (above[x] + below[x])), row[x]);
        size_t x = width - 1;
        out[x] = fmaf(rate, fmaf(-4, row[x], (row[x - 1] + 0) + (above[x] + below[x])), row[x]);
    }
}

static float log2_about(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (float)bits * 0x1p-23f - 127;
}

static uint8_t sample(float v) {
    v = v > 0 ? v : 0;
    return (uint8_t)((v < 1 ? v : 1) * 255);
}

/* Rows have different costs, so they are distributed a few at a time. */
void peer_mandelbrot(size_t width, size_t height, uint8_t *restrict image) {
    const uint32_t limit = 400;
    const float pixel = 0.012f / (float)width;
#pragma omp parallel for schedule(dynamic, 4)
    for (size_t py = 0; py < height; py++)
        for (size_t px = 0; px < width; px++) {
            float cx = -0.743f + ((float)px - (float)width * 0.5f) * pixel;
            float cy = 0.131f - ((float)py - (float)height * 0.5f) * pixel;
            float x = 0, y = 0, distance = 0;
            uint32_t n = 0;
            while (n < limit && distance < 256) {
                float next = fmaf(x, x, cx) - y * y;
                y = fmaf(2 * x, y, cy);
                x = next;
                distance = x * x + y * y;
                n++;
            }
            float t = 0;
            if (distance >= 256) {
                t = ((float)n + 3 - log2_about(log2_about(distance))) / (float)limit;
                t = sqrtf(t > 0 ? t : 0);
            }
            float u = 1 - t;
            uint8_t *out = image + (py * width + px) * 3;
            out[0] = sample(9.0f * u * t * t * t);
            out[1] = sample(15.0f * u * u * t * t);
            out[2] = sample(8.5f * u * u * u * t);
        }
}
