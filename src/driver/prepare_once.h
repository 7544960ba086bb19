/* Which programs a backend was prepared for: `prepare` is called once before the first dispatch of a new program, and nobody dispatches it
 * before that is done.
 *
 * The table is of fixed size, so that a service that runs strangers' programs does not grow. A program that was pushed out is prepared again,
 * which a backend must bear anyway. Asking about a program that is prepared takes no lock. */
#ifndef VY_DRIVER_PREPARE_ONCE_H
#define VY_DRIVER_PREPARE_ONCE_H

#include "vyre/driver.h"

#include <pthread.h>
#include <stdatomic.h>

enum { VY_PREPARED_SLOTS = 256 }; /* a power of two */

/* A slot belongs to one program at a time. Written with the lock held; read without it where the version is even, and the same before
 * and after. */
typedef struct vy_prepared_slot {
    _Atomic uint32_t version; /* even: prepared, and the program stands still */
    int is_running;           /* under the lock */
    _Atomic uint64_t program[sizeof(vyre_digest) / 8];
} vy_prepared_slot;

typedef struct vy_prepared {
    pthread_mutex_t lock;
    pthread_cond_t done;
    vy_prepared_slot slots[VY_PREPARED_SLOTS];
} vy_prepared;

void vy_prepared_start(vy_prepared *prepared);
void vy_prepared_end(vy_prepared *prepared);
/* Forgets all: after recovery. */
void vy_prepared_clear(vy_prepared *prepared);
/* Calls the backend's `prepare` unless that was done. error is never NULL. */
vyre_status vy_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error);
/* Whether it would not. */
int vy_is_prepared(vyre_backend *backend, const vyre_program *program);

#endif
