/* The table of programs (implicit_pipelines.h). */
#include "driver/implicit_pipelines.h"

/* With the lock held, as the next two. */
static vy_implicit_pipelines_slot *find(vy_implicit_pipelines *programs, const vyre_program *program) {
    for (int i = 0; i < VY_IMPLICIT_PIPELINES_MAX; i++) {
        vy_implicit_pipelines_slot *slot = &programs->slots[i];
        if (slot->program && vyre_program_equal(slot->program, program))
            return slot;
    }
    return NULL;
}

static vy_implicit_pipelines_slot *find_oldest(vy_implicit_pipelines *programs) {
    vy_implicit_pipelines_slot *best = &programs->slots[0];
    for (int i = 1; i < VY_IMPLICIT_PIPELINES_MAX; i++)
        if (best->program && (!programs->slots[i].program || programs->slots[i].last_use < best->last_use))
            best = &programs->slots[i];
    return best;
}

static void *touch(vy_implicit_pipelines *programs, vy_implicit_pipelines_slot *slot) {
    slot->last_use = ++programs->clock;
    return programs->retain(slot->value);
}

static void release_slot(vy_implicit_pipelines *programs, vy_implicit_pipelines_slot old) {
    if (old.value)
        programs->release(old.value);
    vyre_program_release(old.program);
}

void *vy_implicit_pipelines_find(vy_implicit_pipelines *programs, const vyre_program *program) {
    pthread_mutex_lock(programs->lock);
    vy_implicit_pipelines_slot *slot = find(programs, program);
    void *value = slot ? touch(programs, slot) : NULL;
    pthread_mutex_unlock(programs->lock);
    return value;
}

void *vy_implicit_pipelines_insert(vy_implicit_pipelines *programs, vyre_program *program, void *value) {
    vy_implicit_pipelines_slot evicted = {.value = value};
    pthread_mutex_lock(programs->lock);
    vy_implicit_pipelines_slot *slot = find(programs, program);
    if (!slot) {
        slot = find_oldest(programs);
        evicted = *slot;
        *slot = (vy_implicit_pipelines_slot){vyre_program_retain(program), value, 0};
    }
    void *used = touch(programs, slot);
    pthread_mutex_unlock(programs->lock);
    release_slot(programs, evicted);
    return used;
}

void vy_implicit_pipelines_clear(vy_implicit_pipelines *programs) {
    for (int i = 0; i < VY_IMPLICIT_PIPELINES_MAX; i++) {
        pthread_mutex_lock(programs->lock);
        vy_implicit_pipelines_slot old = programs->slots[i];
        programs->slots[i] = (vy_implicit_pipelines_slot){.program = NULL};
        pthread_mutex_unlock(programs->lock);
        release_slot(programs, old);
    }
}
