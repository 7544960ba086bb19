/* Preparing once (prepare_once.h). */
#include "driver/prepare_once.h"

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

/* ---- slots: asked without the lock, changed with it ---- */

static int is_named(vy_prepared_slot *slot, const name *program) {
    uint64_t difference = 0;
    for (int i = 0; i < WORDS; i++)
        difference |= atomic_load_explicit(&slot->program[i], memory_order_relaxed) ^ program->words[i];
    return difference == 0;
}

static int is_prepared(vy_prepared_slot *slot, const name *program) {
    uint32_t version = atomic_load_explicit(&slot->version, memory_order_acquire);
    if (version % 2 != 0 || !is_named(slot, program))
        return 0;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&slot->version, memory_order_relaxed) == version;
}

/* From now on nobody trusts what it says. */
static void begin_slot_update(vy_prepared_slot *slot) {
    uint32_t version = atomic_load_explicit(&slot->version, memory_order_relaxed);
    atomic_store_explicit(&slot->version, version | 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void end_slot_update(vy_prepared_slot *slot) {
    uint32_t version = atomic_load_explicit(&slot->version, memory_order_relaxed);
    atomic_store_explicit(&slot->version, version + 1, memory_order_release);
}

static void assign_slot(vy_prepared_slot *slot, const name *program) {
    begin_slot_update(slot);
    slot->is_running = 1;
    for (int i = 0; i < WORDS; i++)
        atomic_store_explicit(&slot->program[i], program->words[i], memory_order_relaxed);
}

void vy_prepared_clear(vy_prepared *prepared) {
    pthread_mutex_lock(&prepared->lock);
    for (int i = 0; i < VY_PREPARED_SLOTS; i++)
        begin_slot_update(&prepared->slots[i]);
    pthread_mutex_unlock(&prepared->lock);
}

/* ---- preparing ---- */

/* Returns 1 if the caller has to prepare: *owns says whether the slot is its own to mark. Waits while another thread prepares the same
 * program. */
static int claim(vy_prepared *prepared, vy_prepared_slot *slot, const name *program, int *owns) {
    pthread_mutex_lock(&prepared->lock);
    while (slot->is_running && is_named(slot, program))
        pthread_cond_wait(&prepared->done, &prepared->lock);
    int must = !is_prepared(slot, program);
    *owns = must && !slot->is_running; /* another program is being prepared here: do without the slot */
    if (*owns)
        assign_slot(slot, program);
    pthread_mutex_unlock(&prepared->lock);
    return must;
}

static void finish(vy_prepared *prepared, vy_prepared_slot *slot, int is_done) {
    pthread_mutex_lock(&prepared->lock);
    slot->is_running = 0;
    if (is_done)
        end_slot_update(slot);
    pthread_cond_broadcast(&prepared->done);
    pthread_mutex_unlock(&prepared->lock);
}

static vy_prepared_slot *slot_of(vy_prepared *prepared, const vyre_program *program, name *wanted) {
    memcpy(wanted, &program->fingerprint, sizeof *wanted);
    return &prepared->slots[wanted->words[0] % VY_PREPARED_SLOTS];
}

int vy_is_prepared(vyre_backend *backend, const vyre_program *program) {
    name wanted;
    return !backend->calls.prepare || is_prepared(slot_of(&backend->prepared, program, &wanted), &wanted);
}

vyre_status vy_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error) {
    vy_prepared *prepared = &backend->prepared;
    name wanted;
    int owns = 0;
    if (!backend->calls.prepare)
        return VYRE_OK;
    vy_prepared_slot *slot = slot_of(prepared, program, &wanted);
    if (is_prepared(slot, &wanted) || !claim(prepared, slot, &wanted, &owns))
        return VYRE_OK;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    vyre_status status = backend->calls.prepare(backend->self, program, error);
    vy_span_end(span, prepare, .program = vyre_program_name(program), .backend = backend->id, .status = status);
    if (status != VYRE_OK)
        status = vy_backend_check_result(backend, status, error);
    if (owns)
        finish(prepared, slot, status == VYRE_OK);
    return status;
}
