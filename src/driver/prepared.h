/* Which programs a backend was prepared for: `prepare` is called once before the first dispatch of a new program, and nobody dispatches it
 * before that is done.
 *
 * The table is of fixed size, so that a service that runs strangers' programs does not grow. A program that was pushed out is prepared again,
 * which a backend must bear anyway. */
#ifndef VY_DRIVER_PREPARED_H
#define VY_DRIVER_PREPARED_H

#include "vyre/driver.h"

#include <pthread.h>

enum { VY_PREPARED_PLACES = 256 }; /* a power of two */

typedef struct vy_prepared {
    pthread_mutex_t lock;
    pthread_cond_t done;
    vyre_digest programs[VY_PREPARED_PLACES];
    uint8_t states[VY_PREPARED_PLACES];
} vy_prepared;

void vy_prepared_start(vy_prepared *prepared);
void vy_prepared_end(vy_prepared *prepared);
/* Forgets all: after recovery. */
void vy_prepared_clear(vy_prepared *prepared);
/* Calls the backend's `prepare` unless that was done. error is never NULL. */
vyre_status vy_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error);

#endif
