/* Functions by which the kernels describe their work. */
#ifndef SUITE_WORK_H
#define SUITE_WORK_H

#include "suite.h"

/* Adds an array. Returns its initial contents, to be filled in; NULL for one that starts as zeros, or when out of
 * memory. */
void *work_array(work *w, role role, size_t size);
/* Adds a step with all of `arrays` bound (ended by -1), and a linear grid of groups of `local` invocations that covers
 * `elements`. */
step *work_step(work *w, const char *program, const char *peer, const int *arrays, size_t elements, uint32_t local);
void work_word(step *s, uint32_t word);
void work_float(step *s, float value);
/* 1 if no allocation failed. */
int work_done(const work *w);

/* Contents, the same on every machine. */
uint32_t work_random(uint64_t *state);
void work_random_floats(void *to, size_t count, uint64_t seed); /* in [0, 1) */
void work_random_bytes(void *to, size_t size, uint64_t seed);

/* The kernels, by file. */
int make_saxpy(work *w), make_xor(work *w), make_stencil(work *w), make_mandelbrot(work *w), make_triad(work *w);
int make_matmul(work *w), make_nbody(work *w), make_reduce(work *w), make_scan(work *w), make_histogram(work *w);
int make_bitonic(work *w), make_fnv1a(work *w), make_xxh32(work *w), make_sha256(work *w), make_dfa(work *w);
int make_search(work *w), make_xor_streams(work *w), make_sum(work *w);
typedef void plain_kernel(const work *w, void *const *arrays);
plain_kernel plain_saxpy, plain_xor, plain_stencil, plain_mandelbrot, plain_triad, plain_matmul, plain_nbody,
    plain_reduce, plain_scan, plain_histogram, plain_bitonic, plain_fnv1a, plain_xxh32, plain_sha256, plain_dfa,
    plain_search, plain_xor_streams, plain_sum;

#endif
