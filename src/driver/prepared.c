/* Preparing once (prepared.h). */
#include "driver/prepared.h"

#include "driver/backend.h"
#include "driver/trace.h"
#include "ir/model.h"

enum { WORDS = sizeof(vyre_digest) / 8 };

typedef struct name {
    uint64_t words[WORDS];
} name;

void vy_prepared_start(vy_prepared *prepared) {
    pthread_mutex_init(&prepared->lock, NULL);
    pthread_cond_init(&prepared->done, NULL);
    vy_prepared_clear(prepared);
}

void vy_prepared_end(vy_prepared *prepared) {
    pthread_mutex_destroy(&prepared->lock);
    pthread_cond_destroy(&prepared->done);
}

/* ---- places: asked without the lock, changed with it ---- */

static int is_named(vy_prepared_place *place, const name *program) {
    uint64_t difference = 0;
    for (int i = 0; i < WORDS; i++)
        difference |= atomic_load_explicit(&place->program[i], memory_order_relaxed) ^ program->words[i];
    return difference == 0;
}

static int is_prepared(vy_prepared_place *place, const name *program) {
    uint32_t version = atomic_load_explicit(&place->version, memory_order_acquire);
    if (version % 2 != 0 || !is_named(place, program))
        return 0;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&place->version, memory_order_relaxed) == version;
}

/* From now on nobody trusts what it says. */
static void open_place(vy_prepared_place *place) {
    uint32_t version = atomic_load_explicit(&place->version, memory_order_relaxed);
    atomic_store_explicit(&place->version, version | 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void close_place(vy_prepared_place *place) {
    uint32_t version = atomic_load_explicit(&place->version, memory_order_relaxed);
    atomic_store_explicit(&place->version, version + 1, memory_order_release);
}

static void give_place(vy_prepared_place *place, const name *program) {
    open_place(place);
    place->is_running = 1;
    for (int i = 0; i < WORDS; i++)
        atomic_store_explicit(&place->program[i], program->words[i], memory_order_relaxed);
}

void vy_prepared_clear(vy_prepared *prepared) {
    pthread_mutex_lock(&prepared->lock);
    for (int i = 0; i < VY_PREPARED_PLACES; i++)
        open_place(&prepared->places[i]);
    pthread_mutex_unlock(&prepared->lock);
}

/* ---- preparing ---- */

/* Returns 1 if the caller has to prepare: *owns says whether the place is its own to mark. Waits while another thread prepares the same
 * program. */
static int claim(vy_prepared *prepared, vy_prepared_place *place, const name *program, int *owns) {
    pthread_mutex_lock(&prepared->lock);
    while (place->is_running && is_named(place, program))
        pthread_cond_wait(&prepared->done, &prepared->lock);
    int must = !is_prepared(place, program);
    *owns = must && !place->is_running; /* another program is being prepared here: do without the place */
    if (*owns)
        give_place(place, program);
    pthread_mutex_unlock(&prepared->lock);
    return must;
}

static void finish(vy_prepared *prepared, vy_prepared_place *place, int is_done) {
    pthread_mutex_lock(&prepared->lock);
    place->is_running = 0;
    if (is_done)
        close_place(place);
    pthread_cond_broadcast(&prepared->done);
    pthread_mutex_unlock(&prepared->lock);
}

static vy_prepared_place *place_of(vy_prepared *prepared, const vyre_program *program, name *wanted) {
    memcpy(wanted, &program->fingerprint, sizeof *wanted);
    return &prepared->places[wanted->words[0] % VY_PREPARED_PLACES];
}

int vy_is_prepared(vyre_backend *backend, const vyre_program *program) {
    name wanted;
    return !backend->calls.prepare || is_prepared(place_of(&backend->prepared, program, &wanted), &wanted);
}

vyre_status vy_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error) {
    vy_prepared *prepared = &backend->prepared;
    name wanted;
    int owns = 0;
    if (!backend->calls.prepare)
        return VYRE_OK;
    vy_prepared_place *place = place_of(prepared, program, &wanted);
    if (is_prepared(place, &wanted) || !claim(prepared, place, &wanted, &owns))
        return VYRE_OK;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    vyre_status status = backend->calls.prepare(backend->self, program, error);
    vy_span_end(span, prepare, .program = vyre_program_name(program), .backend = backend->id, .status = status);
    if (status != VYRE_OK)
        status = vy_backend_judge(backend, status, error);
    if (owns)
        finish(prepared, place, status == VYRE_OK);
    return status;
}
