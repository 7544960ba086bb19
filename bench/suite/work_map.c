/* Work of element-wise kernels. */
#include "peer_c/peer.h"
#include "work.h"

#include <stdio.h>
#include <string.h>

int make_saxpy(work *w) {
    size_t n = w->n;
    work_random_floats(work_array(w, ROLE_INPUT, n * 4), n, 1);
    work_random_floats(work_array(w, ROLE_BOTH, n * 4), n, 2);
    step *s = work_step(w, "saxpy", "saxpy", (int[]){0, 1, -1}, n, 256);
    work_float(s, 0.25f);
    work_word(s, (uint32_t)n);
    w->bytes = 12 * (double)n;
    return work_done(w);
}

void plain_saxpy(const work *w, void *const *arrays) {
    peer_saxpy(w->n, 0.25f, arrays[0], arrays[1]);
}

enum { KEY = 64 };

int make_xor(work *w) {
    work_random_bytes(work_array(w, ROLE_INPUT, KEY), KEY, 3);
    work_random_bytes(work_array(w, ROLE_BOTH, w->n), w->n, 4);
    step *s = work_step(w, "xor", "xor_key", (int[]){0, 1, -1}, w->n, 256);
    work_word(s, KEY);
    work_word(s, (uint32_t)w->n);
    w->bytes = 2 * (double)w->n;
    return work_done(w);
}

void plain_xor(const work *w, void *const *arrays) {
    peer_xor(w->n, KEY, arrays[0], arrays[1]);
}

int make_xor_streams(work *w) {
    work_random_bytes(work_array(w, ROLE_INPUT, w->n * 4), w->n * 4, 7);
    work_random_bytes(work_array(w, ROLE_INPUT, w->n * 4), w->n * 4, 8);
    work_array(w, ROLE_OUTPUT, w->n * 4);
    step *s = work_step(w, "xor_streams", "xor_streams", (int[]){0, 1, 2, -1}, w->n, 256);
    work_word(s, (uint32_t)w->n);
    w->bytes = 12 * (double)w->n;
    return work_done(w);
}

void plain_xor_streams(const work *w, void *const *arrays) {
    peer_xor_streams(w->n, arrays[0], arrays[1], arrays[2]);
}

static void plane(step *s, size_t width, size_t height, uint32_t x, uint32_t y) {
    s->local[0] = x;
    s->local[1] = y;
    s->groups[0] = (uint32_t)((width + x - 1) / x);
    s->groups[1] = (uint32_t)((height + y - 1) / y);
}

int make_stencil(work *w) {
    size_t cells = w->n * w->n;
    work_random_floats(work_array(w, ROLE_INPUT, cells * 4), cells, 5);
    work_array(w, ROLE_OUTPUT, cells * 4);
    step *s = work_step(w, "stencil", "stencil", (int[]){0, 1, -1}, cells, 256);
    plane(s, w->n, w->n, 16, 16);
    work_word(s, (uint32_t)w->n);
    work_word(s, (uint32_t)w->n);
    work_float(s, 0.2f);
    w->bytes = 8 * (double)cells;
    return work_done(w);
}

void plain_stencil(const work *w, void *const *arrays) {
    peer_stencil(w->n, w->n, 0.2f, arrays[0], arrays[1]);
}

/* n is the width; the picture is 4 by 3. */
int make_mandelbrot(work *w) {
    size_t height = w->n * 3 / 4;
    work_array(w, ROLE_OUTPUT, w->n * height * 3);
    step *s = work_step(w, "mandelbrot", "mandelbrot", (int[]){0, -1}, w->n, 16);
    plane(s, w->n, height, 16, 8);
    work_word(s, (uint32_t)w->n);
    work_word(s, (uint32_t)height);
    snprintf(w->defines[0][0], sizeof *w->defines[0], "WIDTH");
    snprintf(w->defines[0][1], sizeof *w->defines[0], "%zu", w->n);
    snprintf(w->defines[1][0], sizeof *w->defines[1], "HEIGHT");
    snprintf(w->defines[1][1], sizeof *w->defines[1], "%zu", height);
    w->define_count = 2;
    w->bytes = (double)w->arrays[0].size;
    return work_done(w);
}

void plain_mandelbrot(const work *w, void *const *arrays) {
    peer_mandelbrot(w->n, w->n * 3 / 4, arrays[0]);
}

int make_triad(work *w) {
    double *a = work_array(w, ROLE_INPUT, w->n * 8), *b = work_array(w, ROLE_INPUT, w->n * 8), factor = 0.5;
    uint64_t seed = 6, bits;
    work_array(w, ROLE_OUTPUT, w->n * 8);
    for (size_t i = 0; a && b && i < w->n; i++) {
        a[i] = work_random(&seed) * 0x1p-32;
        b[i] = work_random(&seed) * 0x1p-32;
    }
    step *s = work_step(w, "triad", "triad", (int[]){0, 1, 2, -1}, w->n, 256);
    memcpy(&bits, &factor, sizeof bits);
    work_word(s, (uint32_t)bits);
    work_word(s, (uint32_t)(bits >> 32));
    w->bytes = 24 * (double)w->n;
    return work_done(w);
}

void plain_triad(const work *w, void *const *arrays) {
    peer_triad(w->n, 0.5, arrays[0], arrays[1], arrays[2]);
}
