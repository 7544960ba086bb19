/* Code of programs that are dispatched without a pipeline: a few places, the one used longest ago makes room. Code is counted by those who use it, so that one that makes
 * room lives on until its dispatches have ended. Any thread; nothing blocks but the lock. */
#ifndef VY_BACKENDS_PROGRAMS_H
#define VY_BACKENDS_PROGRAMS_H

#include "vyre/program.h"

#include <pthread.h>

enum { VY_PROGRAMS = 32 };

typedef struct vy_programs_place {
    vyre_program *program; /* retained; NULL = empty */
    int cancellable;
    void *code; /* one reference */
    uint64_t last_use;
} vy_programs_place;

typedef struct vy_programs {
    pthread_mutex_t *lock; /* of who has them */
    void *(*retain)(void *code);
    void (*release)(void *code); /* without the lock */
    uint64_t clock;
    vy_programs_place places[VY_PROGRAMS];
} vy_programs;

/* The code of an equal program, with a reference for the caller; NULL. */
void *vy_programs_find(vy_programs *programs, const vyre_program *program, int cancellable);
/* Takes the reference to code that was just made over and gives one to use: to that, or to what another thread has kept of an equal program meanwhile. */
void *vy_programs_keep(vy_programs *programs, vyre_program *program, int cancellable, void *code);
void vy_programs_forget(vy_programs *programs);

#endif
