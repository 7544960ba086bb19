/* Compiled code: what a backend made of a program, and what is shared behind pipelines.
 *
 * A code has one part for each program that is launched: one, or one for each stage (stages.h). Codes are shared by pipelines, by the backend's
 * table in memory and by calls that may outlive their caller. They do not keep the backend alive, their owners do; so the table, which
 * is the backend's, makes no circle.
 *
 * The native pipelines of a code are gone before their device is: shutdown and recovery retire all codes first, while nobody is inside the
 * backend. A pipeline that finds its code retired gets another. Only a call that was abandoned keeps its code's native pipelines
 * until it comes back. No lock is held while driver code runs. */
#ifndef VY_DRIVER_PIPELINE_CODE_H
#define VY_DRIVER_PIPELINE_CODE_H

#include "vyre/driver.h"

#include "driver/cache_memory.h"
#include "driver/stages.h"
#include "driver/target.h"

#include <pthread.h>
#include <stdatomic.h>

/* A native pipeline. Without one, `calls.dispatch` is NULL, and the target is the backend's own. */
typedef struct vy_part {
    vyre_pipeline_vtable calls; /* copied; complete */
    void *self;
} vy_part;

typedef struct vy_code {
    _Atomic uint32_t references;
    _Atomic uint32_t users;          /* calls that may be abandoned: they keep the native pipelines */
    _Atomic int is_retired;          /* its device is gone or going */
    vyre_backend *backend;           /* borrowed */
    struct vy_code *previous, *next; /* the backend's live codes, under its lock */
    struct vy_code *also;            /* a list of somebody who took it out under the lock */
    int is_destroyed;                /* its native pipelines; under the lock */
    vy_stages *stages;               /* NULL: one launch of the program itself */
    _Atomic int is_prepared;         /* the backend, for this program */
    uint8_t has_native;              /* any part */
    uint8_t is_resident;             /* a native one whose parts all run on resident buffers */
    uint8_t is_persistent;           /* likewise on those mixed with host bytes */
    uint32_t count;
    vy_part *parts;
    vy_target targets[]; /* one a part */
} vy_code;

/* A compile under way; equal ones wait for it. */
typedef struct vy_flight {
    vy_cache_key key;
    struct vy_flight *next;
    vy_code *code; /* of one that succeeded; a reference */
    uint32_t waiters;
    int is_done;
} vy_flight;

/* The codes of a backend. */
typedef struct vy_codes {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a flight is done, or native pipelines are destroyed */
    vy_code *live;
    uint32_t destroying; /* codes whose native pipelines are being destroyed now */
    vy_recent memory;    /* of vy_code, each a reference */
    vy_flight *flights;
    _Atomic uint64_t hits, misses; /* in memory and on disk */
    vyre_bytes identity;           /* what cache_identity said; empty: not asked yet */
} vy_codes;

void vy_codes_start(vy_codes *codes);
/* After vy_codes_retire, when no pipeline is left. */
void vy_codes_end(vy_codes *codes);
/* Empties the table and destroys the native pipelines of all codes, but for those of abandoned calls. Before the device ends; nobody is
 * inside the backend. */
void vy_codes_retire(vyre_backend *backend);

/* What becomes of a program: as few launches as every grid takes; the same for a grid over the device's limit; one launch, grid barriers and all (grid_sync.h). */
typedef enum vy_code_form { VY_CODE_PLAIN, VY_CODE_BASED, VY_CODE_WHOLE } vy_code_form;

/* What a launch of the program on this backend runs through: found in memory or on disk, or compiled now; vy_code_release follows. Inside
 * the backend. error is never NULL. */
vyre_status vy_code_get(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                        vy_code_form form, vy_code **out, vyre_error *error);
vy_code *vy_code_retain(vy_code *code);
void vy_code_release(vy_code *code);
/* For a call that may be abandoned: a reference that also keeps the native pipelines. NULL is ignored. */
void vy_code_hold(vy_code *code);
void vy_code_unhold(vy_code *code);

/* A code whose parts run on the backend itself, until vy_code_take gives them native pipelines. Takes the stages over. NULL when memory
 * is out. */
vy_code *vy_code_new(vyre_backend *backend, vy_stages *stages);
/* A native pipeline becomes part `index`. VYRE_CORRUPT if its table is not complete; it is destroyed then, if it can be. */
vyre_status vy_code_take(vy_code *code, uint32_t index, const vyre_native_pipeline *native, vyre_error *error);
int vy_code_is_native(const vy_code *code); /* all parts */
/* As vy_prepare (prepared.h), asked once of a code. Codes are retired when the backend forgets what it is prepared for. */
vyre_status vy_code_prepare(vy_code *code, vyre_program *program, vyre_error *error);

#endif
