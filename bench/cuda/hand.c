/* Launches of hand.cu. Buffers are arrays of the work in the order of the program. */
#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static unsigned pieces(size_t count, size_t size) {
    return (unsigned)((count + size - 1) / size);
}

/* A launch of so many threads in blocks of 256. */
static int over(cuda_job *j, void *function, size_t threads, void **params) {
    return cuda_launch(j->cu, function, pieces(threads ? threads : 1, 256), 1, 256, 1, params);
}

static uint32_t *word(const cuda_job *j, unsigned index) {
    return &j->work->steps[0].words[index];
}

static int launch_saxpy(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], word(j, 0), &j->n};
    return over(j, j->functions[0], pieces(j->n, 4), params);
}

static int launch_xor(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], word(j, 0), &j->n};
    return *word(j, 0) % 16 ? 1 : over(j, j->functions[0], pieces(j->n, 16), params);
}

/* Variants: 1, 2 and 4 vectors a thread, and the same with hints. */
static int launch_xor_streams(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], &j->arrays[2], &j->n};
    return over(j, j->functions[j->variant], pieces(pieces(j->n, 4), (size_t)1 << j->variant % 3), params);
}

static int launch_stencil(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], word(j, 0), word(j, 1), word(j, 2)};
    return j->n % 4 ? 1 : cuda_launch(j->cu, j->functions[0], pieces(j->n, 128), pieces(j->n, 8), 32, 8, params);
}

/* Variants: shapes of a block. Neighbours leave the loop at about the same time. */
static int launch_mandelbrot(cuda_job *j) {
    static const unsigned shapes[][2] = {{16, 8}, {32, 4}, {8, 8}, {8, 16}};
    unsigned x = shapes[j->variant][0], y = shapes[j->variant][1];
    void *params[] = {&j->arrays[0], word(j, 0), word(j, 1)};
    return cuda_launch(j->cu, j->functions[0], pieces(j->n, x), pieces(*word(j, 1), y), x, y, params);
}

static int launch_matmul(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], &j->arrays[2], &j->n};
    return cuda_launch(j->cu, j->functions[0], pieces(j->n, 64), pieces(j->n, 64), 256, 1, params);
}

static int launch_nbody(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], &j->arrays[2], &j->arrays[3], word(j, 0), word(j, 1), &j->n};
    return cuda_launch(j->cu, j->functions[0], pieces(j->n, 128), 1, 128, 1, params);
}

static int launch_reduce(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], &j->n};
    return over(j, j->functions[0], (size_t)pieces(j->n, 256) * 32, params);
}

enum { SCAN_BLOCK = 4096 };

static size_t scan_scratch(const cuda_job *j) {
    return (size_t)pieces(j->n, SCAN_BLOCK) * 4;
}

static int launch_scan(cuda_job *j) {
    void *sums[] = {&j->arrays[0], &j->scratch, &j->n}, *before[] = {&j->scratch, &j->count};
    void *all[] = {&j->arrays[0], &j->scratch, &j->arrays[1], &j->n};
    j->count = pieces(j->n, SCAN_BLOCK);
    int error = cuda_launch(j->cu, j->functions[0], j->count, 1, 256, 1, sums);
    if (!error)
        error = cuda_launch(j->cu, j->functions[1], 1, 1, 1024, 1, before);
    return error ? error : cuda_launch(j->cu, j->functions[2], j->count, 1, 256, 1, all);
}

/* As many blocks as the device executes concurrently, or fewer if there is less work. */
static int launch_histogram(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], &j->n};
    unsigned most = (unsigned)j->cu->multiprocessors * 8, wanted = pieces(j->n, 256 * 16);
    return cuda_launch(j->cu, j->functions[0], wanted < most ? wanted : most, 1, 256, 1, params);
}

/* Strides below 2048 stay in shared memory; larger ones (`far`) have a launch each. */
static int launch_bitonic(cuda_job *j) {
    enum { RUN = 2048 };
    uint32_t size, stride;
    void *all[] = {&j->arrays[0]}, *far[] = {&j->arrays[0], &size, &stride}, *near[] = {&j->arrays[0], &size};
    int error = j->n % RUN ? 1 : cuda_launch(j->cu, j->functions[0], j->n / RUN, 1, RUN / 2, 1, all);
    for (size = 2 * RUN; size <= j->n && size && !error; size *= 2) {
        for (stride = size / 2; stride >= RUN && !error; stride /= 2)
            error = over(j, j->functions[1], j->n / 2, far);
        if (!error)
            error = cuda_launch(j->cu, j->functions[2], j->n / RUN, 1, RUN / 2, 1, near);
    }
    return error;
}

/* One message per thread; blocks of 128, so that few threads wait for the longest message. */
static int launch_hash(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], &j->arrays[2], &j->n};
    return cuda_launch(j->cu, j->functions[0], pieces(j->n, 128), 1, 128, 1, params);
}

static int launch_xxh32(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], &j->arrays[2], word(j, 0), &j->n};
    return cuda_launch(j->cu, j->functions[0], pieces(j->n, 128), 1, 128, 1, params);
}

/* Variants: the table in shared memory, and persistent blocks; or the table in the cache, and a record per thread. */
static int launch_dfa(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], &j->arrays[2], &j->arrays[3], &j->arrays[4], &j->arrays[5], &j->n};
    unsigned most = (unsigned)j->cu->multiprocessors * 6, wanted = pieces(j->n, 256);
    if (j->variant)
        return cuda_launch(j->cu, j->functions[1], pieces(j->n, 64), 1, 64, 1, params);
    return cuda_launch(j->cu, j->functions[0], wanted < most ? wanted : most, 1, 256, 1, params);
}

static int launch_search(cuda_job *j) {
    void *params[] = {&j->arrays[0], &j->arrays[1], &j->arrays[2], word(j, 0), word(j, 1)};
    return cuda_launch(j->cu, j->functions[0], pieces(*word(j, 1), 256), 1, 256, 1, params);
}

/* The sum of all elements is CUB's. The build makes cub.so next to the program if nvcc is available. */
typedef int cub_sum(void *scratch, size_t *scratch_size, const void *x, void *out, size_t n, void *stream);

static cub_sum *find_cub(void) {
    static cub_sum *found;
    static int asked;
    if (!asked) {
        void *library = dlopen(suite_built_path("cub.so"), RTLD_NOW | RTLD_LOCAL);
        void *entry = library ? dlsym(library, "suite_cub_sum") : NULL;
        if (!entry)
            printf("SKIP CUB: %s\n", library ? "cub.so has no suite_cub_sum" : dlerror());
        memcpy(&found, &entry, sizeof entry);
        asked = 1;
    }
    return found;
}

static size_t sum_scratch(const cuda_job *j) {
    size_t size = 0;
    cub_sum *sum = find_cub();
    return sum && sum(NULL, &size, (void *)(uintptr_t)j->arrays[0], (void *)(uintptr_t)j->arrays[2], j->n,
                      j->cu->stream) == 0
               ? size
               : 0;
}

static int launch_sum(cuda_job *j) {
    cub_sum *sum = find_cub();
    return !sum || !j->scratch ? 1
                               : sum((void *)(uintptr_t)j->scratch, &j->scratch_size, (void *)(uintptr_t)j->arrays[0],
                                     (void *)(uintptr_t)j->arrays[2], j->n, j->cu->stream);
}

static const hand_kernel kernels[] = {
    {"saxpy", {"saxpy"}, NULL, launch_saxpy, 1},
    {"xor", {"xor_key"}, NULL, launch_xor, 1},
    {"xor_streams",
     {"xor_streams_1", "xor_streams_2", "xor_streams_4", "xor_streams_1_once", "xor_streams_2_once",
      "xor_streams_4_once"},
     NULL,
     launch_xor_streams,
     6},
    {"stencil", {"stencil"}, NULL, launch_stencil, 1},
    {"mandelbrot", {"mandelbrot"}, NULL, launch_mandelbrot, 4},
    {"matmul", {"matmul"}, NULL, launch_matmul, 1},
    {"nbody", {"nbody"}, NULL, launch_nbody, 1},
    {"reduce", {"reduce"}, NULL, launch_reduce, 1},
    {"sum", {NULL}, sum_scratch, launch_sum, 1},
    {"scan", {"scan_sums", "scan_before", "scan_all"}, scan_scratch, launch_scan, 1},
    {"histogram", {"histogram"}, NULL, launch_histogram, 1},
    {"bitonic", {"bitonic_sort", "bitonic_far", "bitonic_near"}, NULL, launch_bitonic, 1},
    {"fnv1a", {"fnv1a"}, NULL, launch_hash, 1},
    {"xxh32", {"xxh32"}, NULL, launch_xxh32, 1},
    {"sha256", {"sha256"}, NULL, launch_hash, 1},
    {"dfa", {"dfa", "dfa_cached"}, NULL, launch_dfa, 2},
    {"search", {"search"}, NULL, launch_search, 1},
};

const hand_kernel *hand_find(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}
