/* Plain C, as usually written for gcc -O3 -march=native -fno-math-errno with OpenMP: the first peer of libvyre.
 *
 * Nothing here is handwritten for an instruction set. Floats are fused where the examples have fma and nowhere else
 * (-ffp-contract=off), and added in the order of the examples, so that results are equal bit for bit; peer_reduce is
 * the exception, as its comment states. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

void peer_saxpy(size_t n, float a, const float *restrict x, float *restrict y);
void peer_xor(size_t n, size_t key_size, const uint8_t *restrict key, uint8_t *restrict data);
void peer_xor_streams(size_t n, const uint32_t *restrict a, const uint32_t *restrict b, uint32_t *restrict out);
void peer_stencil(size_t width, size_t height, float rate, const float *restrict now, float *restrict next);
void peer_mandelbrot(size_t width, size_t height, uint8_t *restrict image);
void peer_matmul(size_t n, const float *restrict a, const float *restrict b, float *restrict c);
void peer_nbody(size_t n, float dt, float softening, const float *restrict mass, const float *restrict position,
                float *restrict velocity, float *restrict moved);
void peer_reduce(size_t n, const float *restrict x, float *restrict sums);
uint32_t peer_sum(size_t n, const uint32_t *restrict x);
void peer_scan(size_t n, const uint32_t *restrict x, uint32_t *restrict sums);
void peer_histogram(size_t n, const uint8_t *restrict data, uint32_t *restrict counts);
void peer_bitonic(size_t n, uint32_t *restrict keys);
void peer_fnv1a(size_t count, const uint8_t *restrict data, const uint32_t *restrict offsets,
                uint64_t *restrict hashes);
void peer_xxh32(size_t count, uint32_t seed, const uint8_t *restrict data, const uint32_t *restrict offsets,
                uint32_t *restrict hashes);
void peer_sha256(size_t count, const uint8_t *restrict data, const uint32_t *restrict offsets,
                 uint8_t *restrict digests);
void peer_dfa(size_t count, const uint8_t *restrict data, const uint32_t *restrict offsets,
              const uint16_t *restrict table, const uint32_t *restrict rules, uint32_t *restrict matched,
              uint32_t *restrict first_match);
void peer_search(size_t key_count, size_t query_count, const int64_t *restrict keys, const int64_t *restrict queries,
                 uint32_t *restrict places);

/* An empty parallel region, and streams over doubles on all threads: c = a + s * b with plain and with non-temporal
 * stores. */
void peer_empty(void);
void peer_triad(size_t n, double s, const double *restrict a, const double *restrict b, double *restrict c);
void peer_triad_streaming(size_t n, double s, const double *restrict a, const double *restrict b, double *restrict c);

/* The compiler and flags of these files, threads at run time (1 without OpenMP), and 0 if this processor lacks an
 * instruction set that they need. */
const char *peer_compiler(void);
int peer_threads(void);
int peer_fits_processor(void);

#endif
