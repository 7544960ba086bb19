/* The deadline of the work that the calling thread does.
 *
 * Whoever compiles a program with a deadline opens a scope; passes over programs check it between two of them, and in loops that may
 * take long. They need no parameter for it, which nearly every function of the optimiser would have to hand on. A thread that is
 * started meanwhile has no deadline. */
#ifndef VY_BASE_DEADLINE_H
#define VY_BASE_DEADLINE_H

#include "vyre/base.h"

typedef struct vy_deadline_scope {
    uint64_t deadline_ns, begun_ns;
} vy_deadline_scope;

/* Opens a scope: from now on the deadline of this thread is deadline_ns (CLOCK_MONOTONIC, 0 = none), or the one it has if that is
 * earlier. Returns what the end of the scope is given. */
vy_deadline_scope vy_deadline_begin(uint64_t deadline_ns);
void vy_deadline_end(vy_deadline_scope before);

/* 0: there is none. */
uint64_t vy_deadline(void);

/* VYRE_TIMEOUT if the deadline has passed: the error names the program, the step that was about to begin and the time since the
 * scope was opened. Takes 30 ns if there is a deadline. */
vyre_status vy_deadline_check(const char *program, const char *step, vyre_error *error);

#endif
