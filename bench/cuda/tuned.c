/* Ours, written for the machine: programs in the shapes of hand.cu (bench/cuda/tuned/), on the arrays of the work and the backend of ours. */
#include "../suite/ours.h"
#include "../suite/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the work of each: the arrays are there, scratch may be added; 0 if the shape does not fit. Grids are the programs' own ---- */

static int do_stencil(work *w) {
    if (w->n % 4)
        return 0;
    step *s = work_step(w, "stencil", NULL, (int[]){0, 1, -1}, 0, 1);
    work_word(s, (uint32_t)w->n / 4);
    work_word(s, (uint32_t)w->n);
    work_float(s, 0.2f);
    return 1;
}

static int do_matmul(work *w) {
    step *s = work_step(w, "matmul", NULL, (int[]){0, 1, 2, -1}, 0, 1);
    work_word(s, (uint32_t)w->n);
    return 1;
}

static int do_reduce(work *w) {
    work_step(w, "reduce", NULL, (int[]){0, 1, -1}, 0, 1);
    return 1;
}

typedef struct tuned {
    const char *name, *file;
    int (*make)(work *w);
} tuned;

static const tuned kernels[] = {
    {"stencil", "bench/cuda/tuned/stencil.vyre", do_stencil},
    {"matmul", "bench/cuda/tuned/matmul.vyre", do_matmul},
    {"reduce", "bench/cuda/tuned/reduce.vyre", do_reduce},
};

static const tuned *find(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}

/* ---- the version: ours, with other steps ---- */

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
    /* The backend is that of ours. */
}

static void discard(void *self) {
    tuned_job *j = self;
    if (j->ours)
        suite_ours.discard(j->ours);
    free(j->work.steps);
    free(j);
}

/* Where nobody wrote a program there is nothing to say. */
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
    if (t->make(&j->work) && work_done(&j->work))
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

static const void *array_of(void *self, size_t index) {
    return suite_ours.array(((tuned_job *)self)->ours, index);
}

const runner suite_ours_hand = {"ours-hand", "ours, by hand", open_tuned, prepare,     reset,
                                run,         array_of,        discard,    close_tuned, run_on_clock};
