/* Hand-tuned programs of libvyre: in the shapes of hand.cu (bench/cuda/tuned/), on the arrays of the work and libvyre's
 * backend. */
#include "../suite/ours.h"
#include "../suite/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the work of each ----
 *
 * The arrays exist, and `example` is the first step of the example's; scratch may be added. Grids are the programs'
 * own. 0 if the shape does not fit. */

static step *add_step(work *w, const char *program, const int *arrays) {
    return work_step(w, program, NULL, arrays, 0, 1);
}

/* Data and key by words, 16 bytes at a time. */
static int make_xor_by_words(work *w, const step *example) {
    uint32_t key = example->words[0];
    if (w->n % 4 || key % 16)
        return 0;
    work_word(add_step(w, "xor", (int[]){0, 1, -1}), key / 16);
    return 1;
}

static int make_stencil_of_four(work *w, const step *example) {
    if (w->n % 4)
        return 0;
    step *s = add_step(w, "stencil", (int[]){0, 1, -1});
    work_word(s, (uint32_t)w->n / 4);
    work_word(s, (uint32_t)w->n);
    work_word(s, example->words[2]);
    return 1;
}

static int make_matmul_of_64(work *w, const step *example) {
    (void)example;
    work_word(add_step(w, "matmul", (int[]){0, 1, 2, -1}), (uint32_t)w->n);
    return 1;
}

static int make_reduce_of_eight(work *w, const step *example) {
    (void)example;
    add_step(w, "reduce", (int[]){0, 1, -1});
    return 1;
}

static int make_scan_of_4096(work *w, const step *example) {
    enum { BLOCK = 4096 };
    int totals = (int)w->array_count;
    (void)example;
    work_array(w, ROLE_SCRATCH, (w->n + BLOCK - 1) / BLOCK * 4);
    add_step(w, "sums", (int[]){0, totals, -1});
    add_step(w, "before", (int[]){totals, -1});
    add_step(w, "all", (int[]){0, totals, 1, -1});
    return 1;
}

/* As many workgroups as the device executes concurrently, or fewer if there is less work. */
static int make_histogram_of_warps(work *w, const step *example) {
    size_t quads = w->n / 16, wanted = (quads + 255) / 256, most = (size_t)suite_ours_units() * 8;
    (void)example;
    if (!quads)
        return 0;
    step *s = add_step(w, "histogram", (int[]){0, 0, 1, -1});
    s->bindings[0].size = quads * 16;
    work_word(s, (uint32_t)(wanted < most ? wanted : most));
    work_word(s, (uint32_t)quads);
    return 1;
}

static int make_bitonic_of_2048(work *w, const step *example) {
    enum { RUN = 2048 };
    (void)example;
    if (w->n % RUN)
        return 0;
    add_step(w, "sort", (int[]){0, -1});
    for (size_t size = 2 * RUN; size <= w->n; size *= 2) {
        for (size_t stride = size / 2; stride >= RUN; stride /= 2) {
            step *s = add_step(w, "far", (int[]){0, -1});
            work_word(s, (uint32_t)size);
            work_word(s, (uint32_t)stride);
        }
        work_word(add_step(w, "near", (int[]){0, -1}), (uint32_t)size);
    }
    return 1;
}

static int make_nbody_of_128(work *w, const step *example) {
    step *s = add_step(w, "nbody", (int[]){0, 1, 2, 3, -1});
    work_word(s, example->words[0]);
    work_word(s, example->words[1]);
    return 1;
}

/* Messages by words. */
static int make_hash_by_words(work *w, const step *example) {
    add_step(w, example->program, (int[]){0, 1, 2, -1});
    return 1;
}

static int make_xxh32_by_words(work *w, const step *example) {
    work_word(add_step(w, "xxh32", (int[]){0, 1, 2, -1}), example->words[0]);
    return 1;
}

typedef struct tuned {
    const char *name, *file;
    int (*make)(work *w, const step *example);
} tuned;

#define FOLDER "bench/cuda/tuned/"
static const tuned kernels[] = {
    {"xor", FOLDER "xor.vyre", make_xor_by_words},
    {"stencil", FOLDER "stencil.vyre", make_stencil_of_four},
    {"matmul", FOLDER "matmul.vyre", make_matmul_of_64},
    {"nbody", FOLDER "nbody.vyre", make_nbody_of_128},
    {"reduce", FOLDER "reduce.vyre", make_reduce_of_eight},
    {"scan", FOLDER "scan.vyre", make_scan_of_4096},
    {"histogram", FOLDER "histogram.vyre", make_histogram_of_warps},
    {"bitonic", FOLDER "bitonic.vyre", make_bitonic_of_2048},
    {"fnv1a", FOLDER "hash.vyre", make_hash_by_words},
    {"xxh32", FOLDER "hash.vyre", make_xxh32_by_words},
    {"sha256", FOLDER "sha256.vyre", make_hash_by_words},
};

static const tuned *find(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}

/* ---- the version: libvyre's, with other steps ---- */

typedef struct tuned_job {
    kernel kernel;
    work work;
    void *ours;
} tuned_job;

static int open_tuned(const char *option, char *about, char *reason) {
    (void)option;
    if (!suite_ours_backend()) {
        snprintf(reason, REASON, "ours is not there");
        return 0;
    }
    snprintf(about, REASON, "bench/cuda/tuned, as ours");
    return 1;
}

static void close_tuned(void) {
    /* Uses the backend of version `ours`. */
}

static void discard(void *self) {
    tuned_job *j = self;
    if (j->ours)
        suite_ours.discard(j->ours);
    free(j->work.steps);
    free(j);
}

/* Without a tuned program nothing is printed. */
static void *prepare(const work *w, char *reason) {
    const tuned *t = find(w->kernel->name);
    tuned_job *j = t ? calloc(1, sizeof *j) : NULL;
    if (!j)
        return NULL;
    j->kernel = *w->kernel;
    j->kernel.file = t->file;
    j->work = *w;
    j->work.kernel = &j->kernel;
    j->work.steps = NULL;
    j->work.step_count = j->work.define_count = 0;
    if (t->make(&j->work, w->steps) && work_done(&j->work))
        j->ours = suite_ours.prepare(&j->work, reason);
    if (j->ours)
        return j;
    discard(j);
    return NULL;
}

static void reset(void *self) {
    suite_ours.reset(((tuned_job *)self)->ours);
}

static int run(void *self) {
    return suite_ours.run(((tuned_job *)self)->ours);
}

static double run_on_clock(void *self) {
    return suite_ours.run_on_clock(((tuned_job *)self)->ours);
}

static double run_in_line(void *self, int repeats) {
    return suite_ours.run_in_line(((tuned_job *)self)->ours, repeats);
}

static const void *array_of(void *self, size_t index) {
    return suite_ours.array(((tuned_job *)self)->ours, index);
}

const runner suite_ours_hand = {"ours-hand", "ours, by hand", open_tuned,  prepare,      reset,      run,
                                array_of,    discard,         close_tuned, run_on_clock, run_in_line};
