/* Plain C: the arrays are memory, the kernel is a function. */
#include "peer_c/peer.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct job {
    const work *work;
    void *arrays[ARRAYS];
} job;

static int open_plain(const char *option, char *about, char *reason) {
    (void)option;
    if (!peer_fits_processor()) {
        snprintf(reason, REASON,
                 "the plain C was built with -march=native on a machine with more instruction sets. Fix: "
                 "build it on this machine");
        return 0;
    }
    snprintf(about, REASON, "%s, %d threads", peer_compiler(), peer_threads());
    return 1;
}

static void discard(void *self) {
    job *j = self;
    for (size_t i = 0; i < ARRAYS; i++)
        free(j->arrays[i]);
    free(j);
}

/* On large pages if libvyre uses them: the comparison is of code. */
static void *memory(size_t size) {
    enum { LARGE = 4 << 20, PAGE = 2 << 20 };
    if (size < LARGE)
        return aligned_alloc(4096, (size + 4096) / 4096 * 4096);
    size_t whole = (size + PAGE) / PAGE * PAGE;
    void *made = aligned_alloc(PAGE, whole);
    if (made)
        madvise(made, whole, MADV_HUGEPAGE);
    return made;
}

static void *prepare(const work *w, char *reason) {
    job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->work = w;
    for (size_t i = 0; i < w->array_count; i++) {
        j->arrays[i] = memory(w->arrays[i].size);
        if (!j->arrays[i]) {
            snprintf(reason, REASON, "no memory for %zu bytes", w->arrays[i].size);
            discard(j);
            return NULL;
        }
        if (w->arrays[i].first)
            memcpy(j->arrays[i], w->arrays[i].first, w->arrays[i].size);
        else
            memset(j->arrays[i], 0, w->arrays[i].size);
    }
    return j;
}

static void reset(void *self) {
    job *j = self;
    for (size_t i = 0; i < j->work->array_count; i++)
        if (j->work->arrays[i].role == ROLE_BOTH)
            memcpy(j->arrays[i], j->work->arrays[i].first, j->work->arrays[i].size);
}

static int run(void *self) {
    job *j = self;
    j->work->kernel->plain(j->work, j->arrays);
    return 1;
}

static const void *array_of(void *self, size_t index) {
    return ((job *)self)->arrays[index];
}

static void close_plain(void) {}

const runner suite_plain = {"c",      "plain C", open_plain,  prepare, reset, run,
                            array_of, discard,   close_plain, NULL,    NULL};
