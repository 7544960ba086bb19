#include "work.h"

#include <stdlib.h>
#include <string.h>

/* An alignment that suffices for every interface; OpenCL uses host memory in place only if it is aligned. */
enum { ALIGNMENT = 4096 };

int suite_work_make(const kernel *kernel, size_t n, work *w) {
    *w = (work){.kernel = kernel, .n = n};
    if (kernel->make(w))
        return 1;
    suite_work_free(w);
    return 0;
}

void suite_work_free(work *w) {
    for (size_t i = 0; i < w->array_count; i++)
        free(w->arrays[i].first);
    free(w->steps);
    w->array_count = w->step_count = 0;
    w->steps = NULL;
}

void *work_array(work *w, role role, size_t size) {
    array *a = &w->arrays[w->array_count++];
    *a = (array){.role = role, .size = size};
    if (role == ROLE_INPUT || role == ROLE_BOTH)
        a->first = aligned_alloc(ALIGNMENT, (size + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
    if (a->first)
        memset(a->first, 0, size);
    return a->first;
}

int work_done(const work *w) {
    for (size_t i = 0; i < w->array_count; i++)
        if (!w->arrays[i].first && (w->arrays[i].role == ROLE_INPUT || w->arrays[i].role == ROLE_BOTH))
            return 0;
    return !w->failed;
}

step *work_step(work *w, const char *program, const char *peer, const int *arrays, size_t elements, uint32_t local) {
    static step nowhere; /* target of writes when out of memory; work_done returns the failure */
    step *steps = realloc(w->steps, (w->step_count + 1) * sizeof *steps);
    if (!steps) {
        w->failed = 1;
        nowhere = (step){0};
        return &nowhere;
    }
    w->steps = steps;
    step *s = &steps[w->step_count++];
    *s = (step){.program = program, .peer = peer, .local = {local, 1, 1}};
    s->groups[0] = (uint32_t)((elements + local - 1) / local);
    s->groups[1] = s->groups[2] = 1;
    for (; arrays[s->binding_count] >= 0; s->binding_count++)
        s->bindings[s->binding_count] = (binding){.array = (uint32_t)arrays[s->binding_count]};
    return s;
}

void work_word(step *s, uint32_t word) {
    s->words[s->word_count++] = word;
}

void work_float(step *s, float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    work_word(s, word);
}

uint32_t work_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

void work_random_floats(void *to, size_t count, uint64_t seed) {
    float *floats = to;
    for (size_t i = 0; floats && i < count; i++)
        floats[i] = (float)(work_random(&seed) >> 8) * 0x1p-24f;
}

void work_random_bytes(void *to, size_t size, uint64_t seed) {
    uint8_t *bytes = to;
    for (size_t i = 0; bytes && i < size; i += 4) {
        uint32_t word = work_random(&seed);
        memcpy(bytes + i, &word, size - i < 4 ? size - i : 4);
    }
}

/* X(name, file, sizes (tiny, small, medium, large), the same on a device, comparison, bounds of libvyre, C, OpenCL,
 * Vulkan and both versions of CUDA C, whether each run restores the contents)
 *
 * Bounds: plain C adds sums of 256 in another order. Lavapipe has no fused multiply-add, which changes the last bits of
 * a result and, where those determine the trip count of a loop, whole pixels. */
#define LIST(...)                                                                                                      \
    { __VA_ARGS__ }
#define KERNELS(X)                                                                                                     \
    X(saxpy, "examples/saxpy.vyre", LIST(1000, 16384, 524288, 16777216), LIST(1000, 65536, 4194304, 134217728), F32,   \
      LIST(0, 0, 0, 1e-6, 0, 0), 0)                                                                                    \
    X(xor, "examples/xor.vyre", LIST(1000, 32768, 4194304, 67108864), LIST(1000, 65536, 16777216, 536870912), BITS,    \
      LIST(0, 0, 0, 0, 0, 0), 0)                                                                                       \
    X(xor_streams, "bench/suite/xor_streams.vyre", LIST(1000, 0, 0, 0), LIST(1000, 65536, 4194304, 268435456), BITS,   \
      LIST(0, 0, 0, 0, 0, 0), 0)                                                                                       \
    X(stencil, "examples/stencil.vyre", LIST(20, 128, 512, 2048), LIST(20, 512, 2048, 8192), F32,                      \
      LIST(0, 0, 0, 1e-6, 0, 0), 0)                                                                                    \
    X(mandelbrot, "examples/mandelbrot.vyre", LIST(16, 160, 640, 0), LIST(16, 640, 2560, 7680), PIXELS,                \
      LIST(0, 0, 0, 0.2, 0, 0), 0)                                                                                     \
    X(matmul, "examples/matmul.vyre", LIST(20, 128, 512, 0), LIST(20, 512, 2048, 4096), F32,                           \
      LIST(0, 0, 0, 1e-4, 0, 0), 0)                                                                                    \
    X(nbody, "examples/nbody.vyre", LIST(70, 512, 4096, 0), LIST(70, 4096, 32768, 131072), F32,                        \
      LIST(0, 0, 0, 1e-4, 0, 0), 0)                                                                                    \
    X(reduce, "examples/reduce.vyre", LIST(1000, 16384, 1048576, 16777216), LIST(1000, 65536, 4194304, 134217728),     \
      F32, LIST(1e-5, 0, 1e-5, 1e-5, 1e-5, 1e-5), 0)                                                                   \
    X(sum, "bench/suite/sum.vyre", LIST(1000, 0, 0, 0), LIST(1000, 65536, 4194304, 268435456), BITS,                   \
      LIST(0, 0, 0, 0, 0, 0), 0)                                                                                       \
    X(scan, "examples/scan.vyre", LIST(1000, 16384, 1048576, 16777216), LIST(1000, 65536, 1048576, 16777216), BITS,    \
      LIST(0, 0, 0, 0, 0, 0), 0)                                                                                       \
    X(histogram, "examples/histogram.vyre", LIST(1000, 32768, 4194304, 67108864),                                      \
      LIST(1000, 65536, 16777216, 536870912), BITS, LIST(0, 0, 0, 0, 0, 0), 0)                                         \
    X(bitonic, "examples/bitonic.vyre", LIST(4096, 16384, 262144, 0), LIST(4096, 16384, 1048576, 16777216), BITS,      \
      LIST(0, 0, 0, 0, 0, 0), 1)                                                                                       \
    X(fnv1a, "examples/hash.vyre", LIST(20, 256, 16384, 262144), LIST(20, 4096, 65536, 1048576), BITS,                 \
      LIST(0, 0, 0, 0, 0, 0), 0)                                                                                       \
    X(xxh32, "examples/hash.vyre", LIST(20, 256, 16384, 262144), LIST(20, 4096, 65536, 1048576), BITS,                 \
      LIST(0, 0, 0, 0, 0, 0), 0)                                                                                       \
    X(sha256, "examples/sha256.vyre", LIST(10, 256, 8192, 0), LIST(10, 4096, 65536, 1048576), BITS,                    \
      LIST(0, 0, 0, 0, 0, 0), 0)                                                                                       \
    X(dfa, "examples/dfa.vyre", LIST(20, 512, 16384, 262144), LIST(20, 4096, 65536, 1048576), BITS,                    \
      LIST(0, 0, 0, 0, 0, 0), 0)                                                                                       \
    X(search, "examples/search.vyre", LIST(100, 2048, 131072, 4194304), LIST(100, 65536, 1048576, 16777216), BITS,     \
      LIST(0, 0, 0, 0, 0, 0), 0)

#define ROW(name, file, sizes, device_sizes, compare, bounds, restores)                                                \
    {#name, file, sizes, device_sizes, make_##name, plain_##name, COMPARE_##compare, bounds, restores},
const kernel suite_kernels[] = {KERNELS(ROW)};
const size_t suite_kernel_count = sizeof suite_kernels / sizeof *suite_kernels;
const kernel suite_triad = {
    "triad", "bench/suite/triad.vyre", {1000, 0, 0, 16777216}, {0}, make_triad, plain_triad, COMPARE_BITS, {0}, 0};
