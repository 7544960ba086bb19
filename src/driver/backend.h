/* The handle behind vyre_backend: one constructed backend, its table completed, its state.
 *
 * Whoever calls into the backend enters first and leaves afterwards; shutdown and recovery wait until nobody is inside. No lock is held
 * during a call. */
#ifndef VY_DRIVER_BACKEND_H
#define VY_DRIVER_BACKEND_H

#include "driver/async.h"
#include "driver/atfork.h"
#include "driver/cache_writeback.h"
#include "driver/dispatch_slot.h"
#include "driver/executable.h"
#include "driver/multi_launch.h"
#include "driver/resident.h"
#include "driver/telemetry.h"

#include <stdatomic.h>

enum { VY_BACKEND_ID = 64 }; /* bytes of an id, with its NUL */

/* Which programs a backend was prepared for: `prepare` is called once before the first dispatch of a new program, and nobody dispatches it
 * before that is done.
 *
 * The table is of fixed size, so that a service that runs strangers' programs does not grow. A program that was pushed out is prepared again,
 * which a backend must bear anyway. Asking about a program that is prepared takes no lock. */
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

/* An LRU table from programs to what was made of them: the pipelines of programs that are dispatched without one (pipeline.h). Values are reference
 * counted, so an evicted one lives until its dispatches have ended. Any thread; the functions block on the lock only. */
enum { VY_IMPLICIT_PIPELINES_MAX = 32 };

typedef struct vy_implicit_pipelines_slot {
    vyre_program *program; /* retained; NULL = empty */
    void *value;           /* one reference */
    uint64_t last_use;
} vy_implicit_pipelines_slot;

typedef struct vy_implicit_pipelines {
    pthread_mutex_t *lock; /* of the owner */
    void *(*retain)(void *value);
    void (*release)(void *value); /* called without the lock */
    uint64_t clock;
    vy_implicit_pipelines_slot slots[VY_IMPLICIT_PIPELINES_MAX];
} vy_implicit_pipelines;

struct vyre_backend {
    _Atomic uint32_t references;
    vyre_backend_vtable calls; /* copied: entries beyond a short table are NULL */
    void *self;
    vy_dispatch_table dispatch_table; /* the table's dispatch entries */
    char id[VY_BACKEND_ID];
    uint64_t owner;                                       /* unique in the process: names this instance in handles */
    _Atomic uint64_t capabilities[VYRE_CAPABILITY_COUNT]; /* recovery may change them */
    _Atomic uint64_t numerics, numerics_cases;            /* likewise */
    _Atomic uint64_t ops[VY_OP_SET_WORDS];                /* likewise: the set of `supported_ops` */

    vy_process_bound bound;     /* to the process that made it */
    _Atomic uint64_t pipelines; /* made so far: their numbers */
    _Atomic uint64_t generation;
    _Atomic int is_lost;
    _Atomic int is_closing;     /* no new work */
    _Atomic uint32_t in_flight; /* calls inside the backend, but for abandoned ones and those from a dispatch_slot */
    _Atomic uint32_t abandoned; /* calls that passed their deadline and have not come back */
    pthread_mutex_t lock;       /* guards is_closed, is_recovering and the wait for idle */
    pthread_cond_t idle;
    int is_closed, is_recovering;
    int is_built_in;         /* it is the library's own, and what it says about itself is tested here */
    _Atomic int is_stopping; /* a shutdown has lost patience: what is in flight and can be cancelled is */
    int is_device_closed;    /* written by the one shutdown, read by the last release */

    vy_prepared prepared;
    vy_implicit_pipelines implicit_pipelines; /* of implicit pipelines (pipeline.h) */
    pthread_mutex_t implicit_pipelines_lock;
    vy_residents residents;
    vy_dispatch_slots dispatch_slots;
    vy_executable_cache executables;
    vy_writeback_queue writebacks;
    vy_async async;
    vy_multi_launch_cache stages;
    vy_grid_sync grid_sync;
};

/* A capability of the list, for those who ask at every dispatch. */
static inline uint64_t vy_backend_limit(const vyre_backend *backend, vyre_capability capability) {
    return atomic_load_explicit(&backend->capabilities[capability], memory_order_relaxed);
}

/* The first op of the program that the backend does not run; NULL if it runs all. Grid barriers are not counted: where a launch cannot have them, the
 * program runs as several launches. */
const char *vy_backend_missing_op(const vyre_backend *backend, const vyre_program *program);

/* Whether a dispatch needs stages here (multi_launch.h), unless vy_call_try_cooperative finds that it fits, and whether its programs need a base (the grid is over the limit). */
static inline int vy_multi_launch_needed(const vyre_backend *backend, const vyre_program *program,
                                         const vy_resolved_dispatch *launch, int *is_tiled) {
    uint64_t most = vy_backend_limit(backend, VYRE_CAPABILITY_MAX_WORKGROUPS);
    *is_tiled = launch->groups[0] > most || launch->groups[1] > most || launch->groups[2] > most;
    return *is_tiled ||
           ((program->facts & VY_PROGRAM_HAS_GRID_BARRIER) && !vy_backend_limit(backend, VYRE_CAPABILITY_GRID_SYNC));
}

/* Makes a handle of what a registration constructs. */
vyre_status vy_backend_construct(const vyre_backend_registration *registration, uint32_t ordinal, vyre_backend **out,
                                 vyre_error *error);
/* Makes a handle of an instance, which it takes over: on failure the instance is destroyed. */
vyre_status vy_backend_wrap(const vyre_backend_instance *instance, vyre_backend **out, vyre_error *error);

/* Those who wait until nobody is inside look again. */
void vy_backend_wake(vyre_backend *backend);
static inline void vy_backend_slot_leave(vyre_backend *backend, vy_dispatch_slot *dispatch_slot) {
    vy_dispatch_slot_leave(dispatch_slot);
    if (atomic_load(&backend->is_closing) || atomic_load(&backend->is_lost))
        vy_backend_wake(backend);
}

/* Whether it was inherited by fork (atfork.h): nothing of it may be used, its locks included. It is closing and lost then, so that who enters sees it. */
static inline int vy_backend_is_inherited(const vyre_backend *backend) {
    return vy_process_is_other(&backend->bound);
}
/* VYRE_DEVICE_LOST if it was; for calls that take a lock of it before they enter, or do not enter. */
vyre_status vy_backend_check_process(const vyre_backend *backend, vyre_error *error);

/* VYRE_DEVICE_LOST if the device is lost, the backend is shut down or was inherited by fork; otherwise leave follows. */
vyre_status vy_backend_enter(vyre_backend *backend, vyre_error *error);
void vy_backend_leave(vyre_backend *backend);
/* The same from a dispatch_slot (dispatch_slot.h). 0: it is shut down or lost; nobody has sat down then. */
static inline int vy_backend_slot_enter(vyre_backend *backend, vy_dispatch_slot *dispatch_slot,
                                        const vyre_resource *bindings, size_t count) {
    vy_dispatch_slot_enter(dispatch_slot, bindings, count);
    if (!atomic_load(&backend->is_closing) && !atomic_load(&backend->is_lost))
        return 1;
    vy_backend_slot_leave(backend, dispatch_slot);
    return 0;
}
/* Whether no call is inside, but for abandoned ones. */
int vy_backend_is_idle(const vyre_backend *backend);
/* Frees resident buffers and shuts the device down: by shutdown or, if calls were abandoned then, by the last release. */
vyre_status vy_backend_close_device(vyre_backend *backend, vyre_error *error);
/* Asks the backend for its capabilities: when it is made and after recovery, while nobody is inside. */
void vy_backend_query_capabilities(vyre_backend *backend);
/* Loss is sticky; counted once. What an abandoned call says is not believed: it may speak of the device that was there before recovery. */
void vy_backend_mark_lost(vyre_backend *backend);
/* Whether the backend ends a call at its deadline by itself. What a plug-in claims is not relied on: it may be wrong, and hang. */
static inline int vy_backend_keeps_deadlines(const vyre_backend *backend) {
    return backend->is_built_in && vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL);
}
/* Whether this thread runs a call whose caller has given it up (watchdog.c). */
int vy_call_is_abandoned(void);

/* What every failing call of a backend passes: completes an error the backend left unfinished, contains a status outside the list, and
 * notices a lost device. error is never NULL and was cleared with vy_error_clear before the call. */
vyre_status vy_backend_check_result(vyre_backend *backend, vyre_status status, vyre_error *error);
/* The same for a call that runs a program: only those trap. */
vyre_status vy_backend_check_result_run(vyre_backend *backend, vyre_status status, vyre_error *error);
/* The same for a call that was to give bytes: whatever they are, they can be read and freed afterwards. */
vyre_status vy_backend_check_result_bytes(vyre_backend *backend, vyre_status status, vyre_bytes *bytes,
                                          vyre_error *error);
static inline void vy_error_clear(vyre_error *error) {
    error->code = VYRE_OK;
    error->message[0] = error->fix[0] = error->where[0] = error->subject[0] = error->first[0] = error->second[0] = '\0';
}
/* The backend broke its contract: counts and logs it, and fails with VYRE_CORRUPT. */
vyre_status vy_backend_violation(vyre_backend *backend, vyre_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* VYRE_UNSUPPORTED, naming feature and backend. */
vyre_status vy_backend_unsupported(const vyre_backend *backend, const char *feature, vyre_error *error);

/* ---- preparing a program once: backend_call.c ---- */

void vy_prepared_start(vy_prepared *prepared);
void vy_prepared_end(vy_prepared *prepared);
/* Forgets all: after recovery. */
void vy_prepared_clear(vy_prepared *prepared);
/* Calls the backend's `prepare` unless that was done. error is never NULL. */
vyre_status vy_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error);
/* Whether it would not. */
int vy_is_prepared(vyre_backend *backend, const vyre_program *program);

#endif
