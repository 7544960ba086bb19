/* Backend handle (vyre_backend): a constructed backend, its completed function table, its state.
 *
 * Every thread enters the backend before it calls an entry and leaves it afterwards. Shutdown and recovery wait until
 * no thread is inside. No lock is held during a call. */
#ifndef VY_DRIVER_BACKEND_H
#define VY_DRIVER_BACKEND_H

#include "driver/async.h"
#include "driver/atfork.h"
#include "driver/cache_disk.h"
#include "driver/dispatch_slot.h"
#include "driver/executable.h"
#include "driver/multi_launch.h"
#include "driver/op_code.h"
#include "driver/resident.h"
#include "driver/telemetry.h"

#include <stdatomic.h>

enum { VY_BACKEND_ID = 64 }; /* bytes of an id, with its NUL */

/* Programs for which the backend was prepared. `prepare` is called once before the first dispatch of a program, and no
 * dispatch of it starts before `prepare` has returned.
 *
 * The table has a fixed size, so that a service that runs programs of many users does not grow. A program whose slot
 * was reused is prepared again, which a backend must accept. Looking up a prepared program acquires no lock. */
enum { VY_PREPARED_SLOTS = 256 }; /* a power of two */

/* A slot belongs to one program at a time. It is a seqlock: written with the lock held, read without it. A read is
 * valid if the version is even and equal before and after. */
typedef struct vy_prepared_slot {
    _Atomic uint32_t version; /* even: prepared, and `program` is stable */
    int is_running;           /* under the lock */
    _Atomic uint64_t program[sizeof(vyre_digest) / 8];
} vy_prepared_slot;

typedef struct vy_prepared {
    pthread_mutex_t lock;
    pthread_cond_t done;
    vy_prepared_slot slots[VY_PREPARED_SLOTS];
} vy_prepared;

/* LRU table of implicit pipelines: those of programs that are dispatched without a pipeline (pipeline.h). Values are
 * reference counted, so an evicted value lives until its dispatches have ended. Any thread; the functions block on the
 * lock only. */
enum { VY_IMPLICIT_PIPELINES_MAX = 32 };

typedef struct vy_implicit_pipelines_slot {
    vyre_program *program; /* retained; NULL: empty */
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
    vyre_target code_target;                              /* VYRE_TARGET_COUNT: none (op_code.h) */
    _Atomic uint64_t capabilities[VYRE_CAPABILITY_COUNT]; /* recovery may change them */
    _Atomic uint64_t numerics, numerics_cases;            /* likewise */
    _Atomic uint64_t ops[VY_OP_SET_WORDS];                /* likewise: the set of `supported_ops` */

    vy_process_bound bound;     /* to the creating process */
    _Atomic uint64_t pipelines; /* number of pipelines created */
    _Atomic uint64_t generation;
    _Atomic int is_lost;
    _Atomic int is_closing;     /* no new calls */
    _Atomic uint32_t in_flight; /* calls inside the backend, except abandoned ones and those from a dispatch slot */
    _Atomic uint32_t abandoned; /* calls that passed their deadline and have not returned */
    pthread_mutex_t lock;       /* guards is_closed, is_recovering and the wait for idle */
    pthread_cond_t idle;
    int is_closed, is_recovering;
    int is_built_in;         /* one of the library's own backends, whose claims are tested here */
    _Atomic int is_stopping; /* shutdown cancels calls in flight */
    int is_device_closed;    /* written by the only shutdown, read by the last release */

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

/* A capability without a range check, for use at every dispatch. */
static inline uint64_t vy_backend_limit(const vyre_backend *backend, vyre_capability capability) {
    return atomic_load_explicit(&backend->capabilities[capability], memory_order_relaxed);
}

/* The first op of the program that the backend does not support, or NULL. Grid barriers are always supported: if one
 * launch cannot have them, the program runs as several launches. */
const char *vy_backend_missing_op(const vyre_backend *backend, const vyre_program *program);

/* Whether a dispatch needs several launches here (multi_launch.h), unless vy_call_try_cooperative finds that one
 * suffices. *is_tiled: the grid exceeds the limit, so the programs need a base. */
static inline int vy_multi_launch_needed(const vyre_backend *backend, const vyre_program *program,
                                         const vy_resolved_dispatch *launch, int *is_tiled) {
    uint64_t most = vy_backend_limit(backend, VYRE_CAPABILITY_MAX_WORKGROUPS);
    *is_tiled = launch->groups[0] > most || launch->groups[1] > most || launch->groups[2] > most;
    return *is_tiled ||
           ((program->facts & VY_PROGRAM_HAS_GRID_BARRIER) && !vy_backend_limit(backend, VYRE_CAPABILITY_GRID_SYNC));
}

/* Constructs a backend from a registration. */
vyre_status vy_backend_construct(const vyre_backend_registration *registration, uint32_t ordinal, vyre_backend **out,
                                 vyre_error *error);
/* Creates a handle for an instance and owns the instance; on failure the instance is destroyed. */
vyre_status vy_backend_wrap(const vyre_backend_instance *instance, vyre_backend **out, vyre_error *error);

/* Wakes the threads that wait until the backend is idle. */
void vy_backend_wake(vyre_backend *backend);
static inline void vy_backend_slot_leave(vyre_backend *backend, vy_dispatch_slot *dispatch_slot) {
    vy_dispatch_slot_leave(dispatch_slot);
    if (atomic_load(&backend->is_closing) || atomic_load(&backend->is_lost))
        vy_backend_wake(backend);
}

/* Whether the backend was inherited by fork (atfork.h). Nothing of it may be used then, including its locks. It is also
 * closing and lost, so that enter fails. */
static inline int vy_backend_is_inherited(const vyre_backend *backend) {
    return vy_process_is_other(&backend->bound);
}
/* VYRE_DEVICE_LOST if it was inherited. For calls that acquire a lock of the backend before they enter, or that do not
 * enter. */
vyre_status vy_backend_check_process(const vyre_backend *backend, vyre_error *error);

/* VYRE_DEVICE_LOST if the device is lost, or the backend was shut down or inherited by fork. On success
 * vy_backend_leave must follow. */
vyre_status vy_backend_enter(vyre_backend *backend, vyre_error *error);
void vy_backend_leave(vyre_backend *backend);
/* Enters from a dispatch slot (dispatch_slot.h). Returns 0 if the backend is shut down or lost; the slot is free again
 * then. */
static inline int vy_backend_slot_enter(vyre_backend *backend, vy_dispatch_slot *dispatch_slot,
                                        const vyre_resource *bindings, size_t count) {
    vy_dispatch_slot_enter(dispatch_slot, bindings, count);
    if (!atomic_load(&backend->is_closing) && !atomic_load(&backend->is_lost))
        return 1;
    vy_backend_slot_leave(backend, dispatch_slot);
    return 0;
}
/* Whether no call is inside, except abandoned ones. */
int vy_backend_is_idle(const vyre_backend *backend);
/* Frees resident buffers and shuts the device down. Called by shutdown or, if calls were abandoned then, by the last
 * release. */
vyre_status vy_backend_close_device(vyre_backend *backend, vyre_error *error);
/* Queries the capabilities of the backend: at construction and after recovery, while no thread is inside. */
void vy_backend_query_capabilities(vyre_backend *backend);
/* Loss is sticky and counted once. Reports from abandoned calls are ignored: they may concern the device before
 * recovery. */
void vy_backend_mark_lost(vyre_backend *backend);
/* Whether the backend itself ends a call at its deadline. The claim of a plug-in is not trusted: it may be wrong and
 * hang. */
static inline int vy_backend_keeps_deadlines(const vyre_backend *backend) {
    return backend->is_built_in && vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL);
}
/* Whether this thread runs a call that its caller has abandoned (backend_call.c). */
int vy_call_is_abandoned(void);

/* Checks the result of a call of a backend: completes an unfinished error, replaces a status outside the list, and
 * detects a lost device. error is never NULL and was cleared with vy_error_clear before the call. */
vyre_status vy_backend_check_result(vyre_backend *backend, vyre_status status, vyre_error *error);
/* The same for a call that runs a program: only these may trap. */
vyre_status vy_backend_check_result_run(vyre_backend *backend, vyre_status status, vyre_error *error);
/* The same for a call that produces bytes: afterwards they can be read and freed, whatever the backend did. */
vyre_status vy_backend_check_result_bytes(vyre_backend *backend, vyre_status status, vyre_bytes *bytes,
                                          vyre_error *error);
static inline void vy_error_clear(vyre_error *error) {
    error->code = VYRE_OK;
    error->message[0] = error->fix[0] = error->where[0] = error->subject[0] = error->first[0] = error->second[0] = '\0';
}
/* Reports a violation of the backend contract: counts it, logs it, and fails with VYRE_CORRUPT. */
vyre_status vy_backend_violation(vyre_backend *backend, vyre_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* VYRE_UNSUPPORTED, naming feature and backend. */
vyre_status vy_backend_unsupported(const vyre_backend *backend, const char *feature, vyre_error *error);

/* ---- preparing a program once: backend_call.c ---- */

void vy_prepared_start(vy_prepared *prepared);
void vy_prepared_end(vy_prepared *prepared);
/* Clears the table: after recovery. */
void vy_prepared_clear(vy_prepared *prepared);
/* Calls the backend's `prepare` unless that was done. error is never NULL. */
vyre_status vy_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error);
/* Whether vy_prepare would not call it. */
int vy_is_prepared(vyre_backend *backend, const vyre_program *program);

#endif
