/* What the files of the stages share. */
#ifndef VY_DRIVER_MULTI_LAUNCH_INTERNAL_H
#define VY_DRIVER_MULTI_LAUNCH_INTERNAL_H

#include "driver/dispatch.h"
#include "split/grid_split.h"
#include "split/grid_tile.h"

struct vy_multi_launch {
    _Atomic uint32_t references;
    vyre_digest fingerprint; /* of the program they were made of */
    int is_tiled;            /* the programs have the params of grid_base.h, behind all others */
    vy_split *split;         /* NULL: the program has no grid barrier, and there is one stage */
    uint32_t count;
    vyre_program **programs;
};

typedef struct vy_multi_launch_state vy_multi_launch_state;

/* A storage to share memory between launches. */
typedef struct vy_multi_launch_storage {
    /* Binds all buffers of the run: those of the call, and the hidden ones as zeros. What it made is freed by `end`, also if it fails. */
    vyre_status (*start)(vy_multi_launch_state *run, vyre_error *error);
    /* Runs a call that is complete but for form, inputs, outputs and bindings. */
    vyre_status (*launch)(vy_multi_launch_state *run, vy_call *call, vyre_error *error);
    /* The first element, u32, of a hidden buffer as the launches so far left it. */
    vyre_status (*read)(vy_multi_launch_state *run, uint32_t buffer, uint32_t *out, vyre_error *error);
    /* The outputs of the call. */
    vyre_status (*deliver)(vy_multi_launch_state *run, vyre_error *error);
    void (*end)(vy_multi_launch_state *run);
} vy_multi_launch_storage;
/* In buffers of the device: uploaded once, read back once. */
extern const vy_multi_launch_storage vy_multi_launch_resident;
/* Through the host, to and fro with every launch: for backends without resident memory. */
extern const vy_multi_launch_storage vy_multi_launch_host;

/* One staged call. Buffers: those of the program, then the hidden ones. All stages declare the same ones. */
struct vy_multi_launch_state {
    const vy_call *call;
    const vy_multi_launch_storage *storage;
    uint32_t declared, count; /* buffers of the program; with the hidden ones */
    uint64_t elements[VY_LIMIT_BUFFERS], bytes[VY_LIMIT_BUFFERS];
    vyre_scalar params[VY_LIMIT_PARAMS];
    vyre_timing timing;                              /* sums of the launches; present: what every one had */
    vyre_trap trap;                                  /* of the launches of a stage, in the whole grid */
    char trapped_at[sizeof((vyre_error *)0)->where]; /* where that trap is; "" if the backend does not report it */
    int is_trapped;
    /* resident */
    vyre_resource bindings[VY_LIMIT_BUFFERS];
    vy_resident_use made[VY_LIMIT_BUFFERS]; /* temporaries */
    uint8_t is_temporary[VY_LIMIT_BUFFERS];
    /* host */
    vyre_span inputs[VY_LIMIT_BUFFERS];
    vyre_bytes contents[VY_LIMIT_BUFFERS]; /* of buffers the stages write, once one did */
    vy_output_slots slots;                 /* for those of the next launch; memory goes round between the two */
    vy_resolved_dispatch check;            /* what the outputs of a launch must be */
};

/* The bytes a host call gives for a buffer of the program; empty for a `write` one. */
vyre_span vy_multi_launch_input(const vy_multi_launch_state *run, uint32_t buffer);

#endif
