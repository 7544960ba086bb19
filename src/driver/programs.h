/* An LRU table from programs to what was made of them: the pipelines of programs that are dispatched without one (pipeline.h). Values are reference
 * counted, so an evicted one lives until its dispatches have ended. Any thread; the functions block on the lock only. */
#ifndef VY_DRIVER_PROGRAMS_H
#define VY_DRIVER_PROGRAMS_H

#include "vyre/program.h"

#include <pthread.h>

enum { VY_PROGRAMS = 32 };

typedef struct vy_programs_place {
    vyre_program *program; /* retained; NULL = empty */
    void *value;           /* one reference */
    uint64_t last_use;
} vy_programs_place;

typedef struct vy_programs {
    pthread_mutex_t *lock; /* of the owner */
    void *(*retain)(void *value);
    void (*release)(void *value); /* called without the lock */
    uint64_t clock;
    vy_programs_place places[VY_PROGRAMS];
} vy_programs;

/* The value of an equal program, with a reference for the caller; NULL if there is none. */
void *vy_programs_find(vy_programs *programs, const vyre_program *program);
/* Takes over the reference to a new value and returns a reference: to that value, or to the one that another thread has kept for an equal program
 * meanwhile. */
void *vy_programs_keep(vy_programs *programs, vyre_program *program, void *value);
void vy_programs_forget(vy_programs *programs);

#endif
