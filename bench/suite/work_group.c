/* Work of kernels that share work between elements. */
#include "peer_c/peer.h"
#include "work.h"

enum { BLOCK = 256 };

int make_matmul(work *w) {
    size_t cells = w->n * w->n;
    work_random_floats(work_array(w, ROLE_INPUT, cells * 4), cells, 10);
    work_random_floats(work_array(w, ROLE_INPUT, cells * 4), cells, 11);
    work_array(w, ROLE_OUTPUT, cells * 4);
    step *s = work_step(w, "matmul", "matmul", (int[]){0, 1, 2, -1}, w->n, 16);
    s->local[1] = 16;
    s->groups[1] = s->groups[0];
    work_word(s, (uint32_t)w->n);
    w->bytes = 12 * (double)cells;
    return work_done(w);
}

void plain_matmul(const work *w, void *const *arrays) {
    peer_matmul(w->n, arrays[0], arrays[1], arrays[2]);
}

int make_nbody(work *w) {
    size_t n = w->n;
    work_random_floats(work_array(w, ROLE_INPUT, n * 4), n, 12);
    work_random_floats(work_array(w, ROLE_INPUT, n * 12), n * 3, 13);
    work_random_floats(work_array(w, ROLE_BOTH, n * 12), n * 3, 14);
    work_array(w, ROLE_OUTPUT, n * 12);
    step *s = work_step(w, "nbody", "nbody", (int[]){0, 1, 2, 3, -1}, n, 64);
    work_float(s, 1e-5f);
    work_float(s, 0.01f);
    work_word(s, (uint32_t)n);
    w->bytes = 52 * (double)n;
    return work_done(w);
}

void plain_nbody(const work *w, void *const *arrays) {
    peer_nbody(w->n, 1e-5f, 0.01f, arrays[0], arrays[1], arrays[2], arrays[3]);
}

int make_reduce(work *w) {
    size_t blocks = (w->n + BLOCK - 1) / BLOCK;
    work_random_floats(work_array(w, ROLE_INPUT, w->n * 4), w->n, 15);
    work_array(w, ROLE_OUTPUT, blocks * 4);
    step *s = work_step(w, "by_collective", "reduce", (int[]){0, 1, -1}, w->n, BLOCK);
    work_word(s, (uint32_t)w->n);
    w->bytes = 4 * (double)(w->n + blocks);
    return work_done(w);
}

void plain_reduce(const work *w, void *const *arrays) {
    peer_reduce(w->n, arrays[0], arrays[1]);
}

int make_sum(work *w) {
    enum { PIECE = 16384, LAST = 1024 };
    size_t pieces = (w->n + PIECE - 1) / PIECE;
    work_random_bytes(work_array(w, ROLE_INPUT, w->n * 4), w->n * 4, 19);
    work_array(w, ROLE_SCRATCH, pieces * 4);
    work_array(w, ROLE_OUTPUT, 4);
    step *s = work_step(w, "pieces", "sum_pieces", (int[]){0, 1, -1}, pieces * BLOCK, BLOCK);
    work_word(s, (uint32_t)w->n);
    s = work_step(w, "total", "sum_total", (int[]){1, 2, -1}, LAST, LAST);
    work_word(s, (uint32_t)pieces);
    w->bytes = 4 * (double)w->n;
    return work_done(w);
}

void plain_sum(const work *w, void *const *arrays) {
    *(uint32_t *)arrays[2] = peer_sum(w->n, arrays[0]);
}

/* Arrays: x, sums, then for every level the totals of its blocks and the sums before them. The sum before a block is an
 * inclusive scan of the totals, shifted by one: it is written from the second element on, and read from the first,
 * which stays zero. */
int make_scan(work *w) {
    enum { LEVELS = 2 };
    size_t n = w->n, counts[LEVELS] = {(n + BLOCK - 1) / BLOCK};
    size_t levels = counts[0] > BLOCK ? 2 : 1;
    uint32_t *x = work_array(w, ROLE_INPUT, n * 4);
    uint64_t seed = 16;
    for (size_t i = 0; x && i < n; i++)
        x[i] = work_random(&seed);
    counts[1] = (counts[0] + BLOCK - 1) / BLOCK;
    work_array(w, ROLE_OUTPUT, n * 4);
    work_array(w, ROLE_SCRATCH, counts[0] * 4);       /* 2: totals */
    work_array(w, ROLE_SCRATCH, (counts[0] + 1) * 4); /* 3: before */
    if (levels == 2) {
        work_array(w, ROLE_SCRATCH, counts[1] * 4); /* 4, 5: the same of the totals */
        work_array(w, ROLE_SCRATCH, counts[1] * 4);
    }
    step *s = work_step(w, "blocks", "scan_blocks", (int[]){0, 1, 2, -1}, n, BLOCK);
    work_word(s, (uint32_t)n);
    work_word(s, 0);
    if (levels == 1) {
        s = work_step(w, "totals", "scan_totals", (int[]){2, 3, -1}, BLOCK, BLOCK);
        s->bindings[1].size = counts[0] * 4;
        work_word(s, (uint32_t)counts[0]);
    } else {
        s = work_step(w, "blocks", "scan_blocks", (int[]){2, 3, 4, -1}, counts[0], BLOCK);
        s->bindings[1].offset = 4;
        work_word(s, (uint32_t)counts[0]);
        work_word(s, 1);
        s = work_step(w, "totals", "scan_totals", (int[]){4, 5, -1}, BLOCK, BLOCK);
        work_word(s, (uint32_t)counts[1]);
        s = work_step(w, "finish", "scan_finish", (int[]){5, 3, -1}, counts[0], BLOCK);
        s->bindings[1].offset = 4;
        work_word(s, (uint32_t)counts[0]);
        work_word(s, 1);
    }
    s = work_step(w, "finish", "scan_finish", (int[]){3, 1, -1}, n, BLOCK);
    s->bindings[0].size = counts[0] * 4;
    work_word(s, (uint32_t)n);
    work_word(s, 0);
    w->bytes = 8 * (double)n;
    return work_done(w);
}

void plain_scan(const work *w, void *const *arrays) {
    peer_scan(w->n, arrays[0], arrays[1]);
}

int make_histogram(work *w) {
    work_random_bytes(work_array(w, ROLE_INPUT, w->n), w->n, 17);
    work_array(w, ROLE_BOTH, 256 * 4);
    step *s = work_step(w, "histogram", "histogram", (int[]){0, 1, -1}, w->n, 256);
    work_word(s, (uint32_t)w->n);
    w->bytes = (double)w->n;
    return work_done(w);
}

void plain_histogram(const work *w, void *const *arrays) {
    peer_histogram(w->n, arrays[0], arrays[1]);
}

int make_bitonic(work *w) {
    enum { RUN = 512 };
    work_random_bytes(work_array(w, ROLE_BOTH, w->n * 4), w->n * 4, 18);
    work_step(w, "blocks", "bitonic_blocks", (int[]){0, -1}, w->n / 2, RUN / 2);
    for (size_t size = 2 * RUN; size <= w->n; size *= 2)
        for (size_t stride = size / 2; stride > 0; stride /= 2) {
            step *s = work_step(w, "merge", "bitonic_merge", (int[]){0, -1}, w->n / 2, 256);
            work_word(s, (uint32_t)size);
            work_word(s, (uint32_t)stride);
        }
    w->bytes = 8 * (double)w->n;
    return work_done(w);
}

void plain_bitonic(const work *w, void *const *arrays) {
    peer_bitonic(w->n, arrays[0]);
}
