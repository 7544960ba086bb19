/* An LRU table from programs to what was made of them: the pipelines of programs that are dispatched without one (pipeline.h). Values are reference
 * counted, so an evicted one lives until its dispatches have ended. Any thread; the functions block on the lock only. */
#ifndef VY_DRIVER_IMPLICIT_PIPELINES_H
#define VY_DRIVER_IMPLICIT_PIPELINES_H

#include "vyre/program.h"

#include <pthread.h>

enum { VY_IMPLICIT_PIPELINES_MAX = 32 };

typedef struct vy_implicit_pipelines_slot {
    vyre_program *program; /* retained; NULL = empty */
    void *value;           /* one reference */
    uint64_t last_use;
} vy_implicit_pipelines_slot;

typedef struct vy_implicit_pipelines {
    pthread_mutex_t *lock; /* of the owner */
    void *(*retain)(void *value);
    void (*release)(void *value); /* called without the lock */
    uint64_t clock;
    vy_implicit_pipelines_slot slots[VY_IMPLICIT_PIPELINES_MAX];
} vy_implicit_pipelines;

/* The value of an equal program, with a reference for the caller; NULL if there is none. */
void *vy_implicit_pipelines_find(vy_implicit_pipelines *programs, const vyre_program *program);
/* Takes over the reference to a new value and returns a reference: to that value, or to the one that another thread has kept for an equal program
 * meanwhile. */
void *vy_implicit_pipelines_insert(vy_implicit_pipelines *programs, vyre_program *program, void *value);
void vy_implicit_pipelines_clear(vy_implicit_pipelines *programs);

#endif
