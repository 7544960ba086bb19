/* CUDA C as two versions of the suite: the OpenCL kernels compiled by nvcc, step by step, and hand-tuned kernels with
 * their own launches. */
#include "cuda.h"

#include "../suite/ours.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cu_driver *cu;
static void *same_module, *hand_module;

int cuda_launch(cu_driver *driver, void *function, unsigned gx, unsigned gy, unsigned bx, unsigned by, void **params) {
    return driver->launch(function, gx, gy, 1, bx, by, 1, 0, driver->stream, params, NULL);
}

/* ---- opening ---- */

static int open_module(const char *file, const char *what, void **module, char *about, char *reason) {
    if (!(cu = cu_open(reason, REASON)) || !(*module = cu_load_built(cu, file, reason, REASON)))
        return 0;
    snprintf(about, REASON, "%s; %s", what, cu->about);
    return 1;
}

#define FLAGS "nvcc -O3 -arch=sm_90 -fmad=false -prec-div=true -prec-sqrt=true -ftz=false"

static int open_same(const char *option, char *about, char *reason) {
    (void)option;
    return open_module("same.cubin", "the OpenCL kernels, " FLAGS, &same_module, about, reason);
}

static int open_hand(const char *option, char *about, char *reason) {
    (void)option;
    return open_module("hand.cubin", "kernels by hand, " FLAGS, &hand_module, about, reason);
}

static void close_version(void) {
    /* libvyre uses the same context; it is freed with the process. */
}

/* ---- jobs ---- */

static void end_line(cuda_job *j) {
    if (j->executable)
        cu->graph_executable_free(j->executable);
    if (j->graph)
        cu->graph_free(j->graph);
    j->executable = j->graph = NULL;
}

static void discard(void *self) {
    cuda_job *j = self;
    cu->context_set(cu->context);
    end_line(j);
    for (size_t i = 0; i < ARRAYS; i++) {
        if (j->arrays[i])
            cu->memory_free(j->arrays[i]);
        free(j->host[i]);
    }
    if (j->scratch)
        cu->memory_free(j->scratch);
    free(j);
}

static int fill(cuda_job *j, size_t i) {
    const array *a = &j->work->arrays[i];
    return a->first ? cu->copy_to_device(j->arrays[i], a->first, a->size, cu->stream)
                    : cu->fill(j->arrays[i], 0, a->size, cu->stream);
}

static cuda_job *make_job(const work *w, char *reason) {
    cuda_job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    cu->context_set(cu->context);
    *j = (cuda_job){.work = w, .cu = cu};
    for (size_t i = 0; i < w->array_count; i++) {
        size_t size = (w->arrays[i].size + 255) / 256 * 256 + 256; /* words at the end may be read completely */
        if (cu->memory_allocate(&j->arrays[i], size) || fill(j, i)) {
            snprintf(reason, REASON, "no memory on the device for %zu bytes", w->arrays[i].size);
            discard(j);
            return NULL;
        }
    }
    cu->stream_synchronize(cu->stream);
    return j;
}

static void reset(void *self) {
    cuda_job *j = self;
    cu->context_set(cu->context);
    for (size_t i = 0; i < j->work->array_count; i++)
        if (j->work->arrays[i].role == ROLE_BOTH)
            fill(j, i);
    cu->stream_synchronize(cu->stream);
}

static const void *array_of(void *self, size_t index) {
    cuda_job *j = self;
    size_t size = j->work->arrays[index].size;
    cu->context_set(cu->context);
    if (!j->host[index])
        j->host[index] = malloc(size);
    if (!j->host[index] || cu->copy_to_host(j->host[index], j->arrays[index], size, cu->stream) ||
        cu->stream_synchronize(cu->stream))
        return NULL;
    return j->host[index];
}

typedef int launcher(cuda_job *job);

static int run(cuda_job *j, launcher *launch) {
    return launch(j) == 0 && cu->stream_synchronize(cu->stream) == 0;
}

static double run_on_clock(cuda_job *j, launcher *launch) {
    float milliseconds = -1;
    if (cu->event_record(cu->start, cu->stream) || launch(j) || cu->event_record(cu->end, cu->stream) ||
        cu->event_synchronize(cu->end) || cu->event_elapsed(&milliseconds, cu->start, cu->end))
        return -1;
    return milliseconds * 1e-3;
}

/* A chain, like a stream, and one run of it. */
static int make_line(cuda_job *j, launcher *launch, int repeats) {
    enum { RELAXED = 2 };
    int error = 0;
    end_line(j);
    j->line_repeats = repeats;
    if (cu->capture_begin(cu->stream, RELAXED))
        return 0;
    for (int i = 0; i < repeats && !error; i++)
        error = launch(j);
    if (cu->capture_end(cu->stream, &j->graph) || error)
        return 0;
    return cu->graph_instantiate(&j->executable, j->graph, 0) == 0 &&
           cu->graph_launch(j->executable, cu->stream) == 0 && cu->stream_synchronize(cu->stream) == 0;
}

static double run_in_line(cuda_job *j, launcher *launch, int repeats) {
    enum { TRIES = 8 };
    cu->context_set(cu->context);
    if (j->line_repeats != repeats && !make_line(j, launch, repeats))
        return -1;
    for (int i = 0; i < TRIES && j->executable && suite_hold(NULL, j->work->step_count * (size_t)repeats); i++) {
        float milliseconds = -1;
        if (cu->event_record(cu->start, cu->stream) || cu->graph_launch(j->executable, cu->stream) ||
            cu->event_record(cu->end, cu->stream))
            return -1;
        double handed_over = suite_now();
        if (cu->event_synchronize(cu->end) || cu->event_elapsed(&milliseconds, cu->start, cu->end))
            return -1;
        if (suite_was_held(handed_over))
            return milliseconds * 1e-3 / repeats;
    }
    return -1;
}

/* ---- in the shape of libvyre's programs ---- */

enum { STEPS = 512 };
static void *same_functions[STEPS]; /* of the job's steps: one job at a time */

static void *prepare_same(const work *w, char *reason) {
    cuda_job *j;
    if (w->step_count > STEPS) {
        snprintf(reason, REASON, "%zu steps are too many", w->step_count);
        return NULL;
    }
    cu->context_set(cu->context);
    for (size_t i = 0; i < w->step_count; i++)
        if (cu->module_function(&same_functions[i], same_module, w->steps[i].peer)) {
            snprintf(reason, REASON, "same.cubin has no %s", w->steps[i].peer);
            return NULL;
        }
    j = make_job(w, reason);
    return j;
}

static int launch_same(cuda_job *j) {
    int error = 0;
    for (size_t i = 0; i < j->work->step_count && !error; i++) {
        step *s = &j->work->steps[i];
        void *params[BINDINGS + WORDS];
        unsigned n = 0;
        for (uint32_t k = 0; k < s->binding_count; k++)
            params[n++] = &j->arrays[s->bindings[k].array];
        for (uint32_t k = 0; k < s->word_count; k++)
            params[n++] = &s->words[k];
        error = cu->launch(same_functions[i], s->groups[0], s->groups[1], s->groups[2], s->local[0], s->local[1],
                           s->local[2], 0, cu->stream, params, NULL);
    }
    return error;
}

static int run_same(void *job) {
    return run(job, launch_same);
}

static double clock_same(void *job) {
    return run_on_clock(job, launch_same);
}

static double line_same(void *job, int repeats) {
    return run_in_line(job, launch_same, repeats);
}

/* ---- hand-tuned ---- */

static const hand_kernel *hand; /* of the job */

static int launch_hand(cuda_job *j) {
    return hand->launch(j);
}

static void choose_variant(cuda_job *j) {
    enum { TRIES = 5 };
    double best = -1;
    unsigned chosen = 0;
    for (unsigned v = 0; v < hand->variants && hand->variants > 1; v++) {
        j->variant = v;
        for (int i = 0; i < TRIES; i++) {
            double seconds = run_on_clock(j, launch_hand);
            if (seconds > 0 && (best < 0 || seconds < best)) {
                best = seconds;
                chosen = v;
            }
        }
    }
    j->variant = chosen;
}

static void *prepare_hand(const work *w, char *reason) {
    hand = hand_find(w->kernel->name);
    if (!hand) {
        snprintf(reason, REASON, "nobody wrote it");
        return NULL;
    }
    cuda_job *j = make_job(w, reason);
    if (!j)
        return NULL;
    for (size_t i = 0; hand->functions[i]; i++)
        if (cu->module_function(&j->functions[i], hand_module, hand->functions[i])) {
            snprintf(reason, REASON, "hand.cubin has no %s", hand->functions[i]);
            discard(j);
            return NULL;
        }
    j->n = (uint32_t)w->n;
    j->scratch_size = hand->scratch ? hand->scratch(j) : 0;
    if (j->scratch_size && cu->memory_allocate(&j->scratch, j->scratch_size)) {
        snprintf(reason, REASON, "no memory on the device for %zu bytes", j->scratch_size);
        discard(j);
        return NULL;
    }
    choose_variant(j);
    return j;
}

static int run_hand(void *job) {
    return run(job, launch_hand);
}

static double clock_hand(void *job) {
    return run_on_clock(job, launch_hand);
}

static double line_hand(void *job, int repeats) {
    return run_in_line(job, launch_hand, repeats);
}

const runner suite_cuda_same = {"cuda-same", "CUDA C, same shape", open_same,  prepare_same, reset, run_same, array_of,
                                discard,     close_version,        clock_same, line_same};
const runner suite_cuda = {"cuda",   "CUDA C", open_hand,     prepare_hand, reset,    run_hand,
                           array_of, discard,  close_version, clock_hand,   line_hand};
