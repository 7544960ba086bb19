/* Compiled oracles of the programs in use (reference.h): a few places, the one used longest ago makes room. */
#include "backends/reference/reference.h"

/* With the lock held. */
static vy_reference_executable *find(vy_reference_backend *reference, const vyre_program *program) {
    for (int i = 0; i < VY_REFERENCE_EXECUTABLES; i++)
        if (reference->programs[i].program && vyre_program_equal(reference->programs[i].program, program))
            return &reference->programs[i];
    return NULL;
}

/* An empty place, or the one used longest ago that nobody uses; NULL if all are in use. With the lock held. */
static vy_reference_executable *find_least_recent(vy_reference_backend *reference) {
    vy_reference_executable *best = NULL;
    for (int i = 0; i < VY_REFERENCE_EXECUTABLES; i++) {
        vy_reference_executable *place = &reference->programs[i];
        if (!place->users && (!best || !place->program || (best->program && place->last_use < best->last_use)))
            best = place;
    }
    return best;
}

static void use_slot(vy_reference_backend *reference, vy_reference_executable *place, const vyre_oracle **oracle,
                     uint32_t *index) {
    place->users++;
    place->last_use = ++reference->clock;
    *oracle = place->oracle;
    *index = (uint32_t)(place - reference->programs);
}

vyre_status vy_reference_executable_acquire(vy_reference_backend *reference, vyre_program *program,
                                            const vyre_oracle **oracle, uint32_t *place, vyre_error *error) {
    vyre_oracle *made, *spare = NULL;
    vyre_program *old = NULL;
    pthread_mutex_lock(&reference->lock);
    vy_reference_executable *found = find(reference, program);
    if (found)
        use_slot(reference, found, oracle, place);
    pthread_mutex_unlock(&reference->lock);
    if (found)
        return VYRE_OK;
    vyre_status status = vyre_oracle_new(program, &made, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&reference->lock);
    found = find(reference, program); /* another thread may have been faster */
    if (found) {
        spare = made;
    } else if ((found = find_least_recent(reference))) {
        spare = found->oracle;
        old = found->program;
        *found = (vy_reference_executable){.program = vyre_program_retain(program), .oracle = made};
    }
    if (found)
        use_slot(reference, found, oracle, place);
    pthread_mutex_unlock(&reference->lock);
    vyre_oracle_free(spare);
    vyre_program_release(old);
    if (!found) {
        *oracle = made;
        *place = VY_REFERENCE_EXECUTABLES;
    }
    return VYRE_OK;
}

void vy_reference_executable_release(vy_reference_backend *reference, const vyre_oracle *oracle, uint32_t place) {
    if (place == VY_REFERENCE_EXECUTABLES) {
        vyre_oracle_free((vyre_oracle *)oracle);
        return;
    }
    pthread_mutex_lock(&reference->lock);
    reference->programs[place].users--;
    pthread_mutex_unlock(&reference->lock);
}

void vy_reference_executables_clear(vy_reference_backend *reference) {
    for (int i = 0; i < VY_REFERENCE_EXECUTABLES; i++) {
        vyre_oracle_free(reference->programs[i].oracle);
        vyre_program_release(reference->programs[i].program);
        reference->programs[i] = (vy_reference_executable){0};
    }
}

vyre_status vy_reference_prepare(void *self, vyre_program *program, vyre_error *error) {
    const vyre_oracle *oracle;
    uint32_t place;
    vyre_status status = vy_reference_executable_acquire(self, program, &oracle, &place, error);
    if (status == VYRE_OK)
        vy_reference_executable_release(self, oracle, place);
    return status;
}
