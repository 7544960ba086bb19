/* Preparing once (prepared.h). A place in the table belongs to one program at a time, chosen by its fingerprint. */
#include "driver/prepared.h"

#include "driver/backend.h"

enum { EMPTY, RUNNING, DONE };

void vy_prepared_start(vy_prepared *prepared) {
    pthread_mutex_init(&prepared->lock, NULL);
    pthread_cond_init(&prepared->done, NULL);
    vy_prepared_clear(prepared);
}

void vy_prepared_end(vy_prepared *prepared) {
    pthread_mutex_destroy(&prepared->lock);
    pthread_cond_destroy(&prepared->done);
}

void vy_prepared_clear(vy_prepared *prepared) {
    pthread_mutex_lock(&prepared->lock);
    memset(prepared->states, EMPTY, sizeof prepared->states);
    pthread_mutex_unlock(&prepared->lock);
}

/* Returns 1 if the caller has to prepare: *owns says whether the place is its own to mark. Waits while another thread prepares the same
 * program. */
static int claim(vy_prepared *prepared, uint32_t place, const vyre_digest *program, int *owns) {
    int must = 1;
    pthread_mutex_lock(&prepared->lock);
    for (;;) {
        int same = memcmp(&prepared->programs[place], program, sizeof *program) == 0;
        if (prepared->states[place] == RUNNING && same) {
            pthread_cond_wait(&prepared->done, &prepared->lock);
            continue;
        }
        must = prepared->states[place] != DONE || !same;
        *owns = must &&
                prepared->states[place] != RUNNING; /* another program is being prepared here: do without the place */
        break;
    }
    if (*owns) {
        prepared->states[place] = RUNNING;
        prepared->programs[place] = *program;
    }
    pthread_mutex_unlock(&prepared->lock);
    return must;
}

vyre_status vy_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error) {
    vy_prepared *prepared = &backend->prepared;
    vyre_digest fingerprint;
    uint32_t place;
    int owns = 0;
    if (!backend->calls.prepare)
        return VYRE_OK;
    vyre_program_fingerprint(program, &fingerprint);
    memcpy(&place, fingerprint.bytes, sizeof place);
    place %= VY_PREPARED_PLACES;
    if (!claim(prepared, place, &fingerprint, &owns))
        return VYRE_OK;
    vy_error_clear(error);
    vyre_status status = backend->calls.prepare(backend->self, program, error);
    if (status != VYRE_OK)
        status = vy_backend_judge(backend, status, error);
    if (owns) {
        pthread_mutex_lock(&prepared->lock);
        prepared->states[place] = status == VYRE_OK ? DONE : EMPTY;
        pthread_cond_broadcast(&prepared->done);
        pthread_mutex_unlock(&prepared->lock);
    }
    return status;
}
