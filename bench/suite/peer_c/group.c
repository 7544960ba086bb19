/* Kernels that share work between elements: products, sums, sorting. */
#include "peer.h"

#include <math.h>
#include <string.h>

enum { ROWS = 4, COLUMNS = 64, BODIES = 64, BLOCK = 256, RUN = 512 };

/* Rows and columns in small blocks whose sums stay in registers; each sum still runs over k from 0 up. */
static void block_of_rows(size_t n, size_t row, size_t column, const float *restrict a, const float *restrict b,
                          float *restrict c) {
    float sums[ROWS][COLUMNS] = {{0}};
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < ROWS; i++) {
            float factor = a[(row + i) * n + k];
#pragma omp simd
            for (size_t j = 0; j < COLUMNS; j++)
                sums[i][j] = fmaf(factor, b[k * n + column + j], sums[i][j]);
        }
    for (size_t i = 0; i < ROWS; i++)
        memcpy(c + (row + i) * n + column, sums[i], sizeof sums[i]);
}

static void edge(size_t n, size_t row, size_t rows, size_t column, size_t columns, const float *restrict a,
                 const float *restrict b, float *restrict c) {
    for (size_t i = row; i < row + rows; i++) {
        float sums[COLUMNS] = {0};
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < columns; j++)
                sums[j] = fmaf(a[i * n + k], b[k * n + column + j], sums[j]);
        memcpy(c + i * n + column, sums, columns * sizeof *sums);
    }
}

void peer_matmul(size_t n, const float *restrict a, const float *restrict b, float *restrict c) {
#pragma omp parallel for collapse(2) schedule(static)
    for (size_t column = 0; column < n; column += COLUMNS)
        for (size_t row = 0; row < n; row += ROWS) {
            size_t rows = n - row < ROWS ? n - row : ROWS, columns = n - column < COLUMNS ? n - column : COLUMNS;
            if (rows == ROWS && columns == COLUMNS)
                block_of_rows(n, row, column, a, b, c);
            else
                edge(n, row, rows, column, columns, a, b, c);
        }
}

/* A block of bodies, in vector lanes, accumulates the force of one other body after the other. */
void peer_nbody(size_t n, float dt, float softening, const float *restrict mass, const float *restrict position,
                float *restrict velocity, float *restrict moved) {
#pragma omp parallel for schedule(static)
    for (size_t first = 0; first < n; first += BODIES) {
        float x[BODIES] = {0}, y[BODIES] = {0}, z[BODIES] = {0}, ax[BODIES] = {0}, ay[BODIES] = {0}, az[BODIES] = {0};
        size_t count = n - first < BODIES ? n - first : BODIES;
        for (size_t i = 0; i < count; i++) {
            x[i] = position[3 * (first + i)];
            y[i] = position[3 * (first + i) + 1];
            z[i] = position[3 * (first + i) + 2];
        }
        for (size_t j = 0; j < n; j++) {
            float px = position[3 * j], py = position[3 * j + 1], pz = position[3 * j + 2], m = mass[j];
#pragma omp simd
            for (size_t i = 0; i < BODIES; i++) {
                float dx = px - x[i], dy = py - y[i], dz = pz - z[i];
                float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening)));
                float pull = m / (r2 * sqrtf(r2));
                ax[i] = fmaf(dx, pull, ax[i]);
                ay[i] = fmaf(dy, pull, ay[i]);
                az[i] = fmaf(dz, pull, az[i]);
            }
        }
        for (size_t i = 0; i < count; i++) {
            float *v = velocity + 3 * (first + i), *to = moved + 3 * (first + i);
            v[0] = fmaf(dt, ax[i], v[0]);
            v[1] = fmaf(dt, ay[i], v[1]);
            v[2] = fmaf(dt, az[i], v[2]);
            to[0] = fmaf(dt, v[0], x[i]);
            to[1] = fmaf(dt, v[1], y[i]);
            to[2] = fmaf(dt, v[2], z[i]);
        }
    }
}

/* The compiler may add in any order here: a tree would not be written by hand. */
void peer_reduce(size_t n, const float *restrict x, float *restrict sums) {
#pragma omp parallel for schedule(static)
    for (size_t block = 0; block < (n + BLOCK - 1) / BLOCK; block++) {
        size_t end = (block + 1) * BLOCK < n ? (block + 1) * BLOCK : n;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = block * BLOCK; i < end; i++)
            sum += x[i];
        sums[block] = sum;
    }
}

uint32_t peer_sum(size_t n, const uint32_t *restrict x) {
    uint32_t sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* Every thread adds up its piece, then receives the sum before it, then writes. */
void peer_scan(size_t n, const uint32_t *restrict x, uint32_t *restrict sums) {
    enum { PIECES = 256 };
    uint32_t before[PIECES];
    size_t pieces = (size_t)peer_threads() < PIECES ? (size_t)peer_threads() : PIECES;
    size_t length = (n + pieces - 1) / pieces;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < pieces; p++) {
        size_t end = (p + 1) * length < n ? (p + 1) * length : n;
        uint32_t sum = 0;
        for (size_t i = p * length; i < end; i++)
            sum += x[i];
        before[p] = sum;
    }
    uint32_t total = 0;
    for (size_t p = 0; p < pieces; p++) {
        uint32_t piece = before[p];
        before[p] = total;
        total += piece;
    }
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < pieces; p++) {
        size_t end = (p + 1) * length < n ? (p + 1) * length : n;
        uint32_t sum = before[p];
        for (size_t i = p * length; i < end; i++) {
            sum += x[i];
            sums[i] = sum;
        }
    }
}

/* Four tables per thread: consecutive equal bytes do not wait for each other. */
void peer_histogram(size_t n, const uint8_t *restrict data, uint32_t *restrict counts) {
#pragma omp parallel
    {
        uint32_t mine[4][256] = {{0}};
#pragma omp for schedule(static) nowait
        for (size_t quad = 0; quad < n / 4; quad++)
            for (size_t j = 0; j < 4; j++)
                mine[j][data[4 * quad + j]]++;
#pragma omp single nowait
        for (size_t i = n / 4 * 4; i < n; i++)
            mine[0][data[i]]++;
#pragma omp critical
        for (size_t value = 0; value < 256; value++)
            counts[value] += mine[0][value] + mine[1][value] + mine[2][value] + mine[3][value];
    }
}

/* One stage of the network over `half` pairs from `first`: runs of `stride` pairs are contiguous. */
static void stage(uint32_t *restrict keys, size_t low, size_t size, size_t stride) {
    uint32_t *restrict lower = keys + low, *restrict upper = keys + low + stride;
    if (low & size) {
#pragma omp simd
        for (size_t i = 0; i < stride; i++) {
            uint32_t a = lower[i], b = upper[i];
            lower[i] = a > b ? a : b;
            upper[i] = a > b ? b : a;
        }
    } else {
#pragma omp simd
        for (size_t i = 0; i < stride; i++) {
            uint32_t a = lower[i], b = upper[i];
            lower[i] = a < b ? a : b;
            upper[i] = a < b ? b : a;
        }
    }
}

/* The same network as the example, in runs of 512 as long as they suffice. */
void peer_bitonic(size_t n, uint32_t *restrict keys) {
#pragma omp parallel for schedule(static)
    for (size_t run = 0; run < n; run += RUN)
        for (size_t size = 2; size <= RUN; size *= 2)
            for (size_t stride = size / 2; stride > 0; stride /= 2)
                for (size_t low = run; low < run + RUN; low += 2 * stride)
                    stage(keys, low, size, stride);
    for (size_t size = 2 * RUN; size <= n; size *= 2) {
        for (size_t stride = size / 2; stride >= RUN; stride /= 2) {
#pragma omp parallel for schedule(static)
            for (size_t piece = 0; piece < n / 2; piece += RUN) {
                /* A piece of the lower halves, with a zero bit inserted at the stride. */
                size_t low = 2 * piece - (piece & (stride - 1));
                uint32_t *restrict lower = keys + low, *restrict upper = keys + low + stride;
                int down = (low & size) != 0;
#pragma omp simd
                for (size_t i = 0; i < RUN; i++) {
                    uint32_t a = lower[i], b = upper[i], least = a < b ? a : b, most = a < b ? b : a;
                    lower[i] = down ? most : least;
                    upper[i] = down ? least : most;
                }
            }
        }
#pragma omp parallel for schedule(static)
        for (size_t run = 0; run < n; run += RUN)
            for (size_t stride = RUN / 2; stride > 0; stride /= 2)
                for (size_t low = run; low < run + RUN; low += 2 * stride)
                    stage(keys, low, size, stride);
    }
}
