/* The table of programs (programs.h). */
#include "driver/programs.h"

/* With the lock held, as the next two. */
static vy_programs_place *find(vy_programs *programs, const vyre_program *program) {
    for (int i = 0; i < VY_PROGRAMS; i++) {
        vy_programs_place *place = &programs->places[i];
        if (place->program && vyre_program_equal(place->program, program))
            return place;
    }
    return NULL;
}

static vy_programs_place *oldest(vy_programs *programs) {
    vy_programs_place *best = &programs->places[0];
    for (int i = 1; i < VY_PROGRAMS; i++)
        if (best->program && (!programs->places[i].program || programs->places[i].last_use < best->last_use))
            best = &programs->places[i];
    return best;
}

static void *use(vy_programs *programs, vy_programs_place *place) {
    place->last_use = ++programs->clock;
    return programs->retain(place->value);
}

static void give_up(vy_programs *programs, vy_programs_place old) {
    if (old.value)
        programs->release(old.value);
    vyre_program_release(old.program);
}

void *vy_programs_find(vy_programs *programs, const vyre_program *program) {
    pthread_mutex_lock(programs->lock);
    vy_programs_place *place = find(programs, program);
    void *value = place ? use(programs, place) : NULL;
    pthread_mutex_unlock(programs->lock);
    return value;
}

void *vy_programs_keep(vy_programs *programs, vyre_program *program, void *value) {
    vy_programs_place spare = {.value = value};
    pthread_mutex_lock(programs->lock);
    vy_programs_place *place = find(programs, program);
    if (!place) {
        place = oldest(programs);
        spare = *place;
        *place = (vy_programs_place){vyre_program_retain(program), value, 0};
    }
    void *used = use(programs, place);
    pthread_mutex_unlock(programs->lock);
    give_up(programs, spare);
    return used;
}

void vy_programs_forget(vy_programs *programs) {
    for (int i = 0; i < VY_PROGRAMS; i++) {
        pthread_mutex_lock(programs->lock);
        vy_programs_place old = programs->places[i];
        programs->places[i] = (vy_programs_place){.program = NULL};
        pthread_mutex_unlock(programs->lock);
        give_up(programs, old);
    }
}
