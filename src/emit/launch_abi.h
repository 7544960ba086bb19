/* The kernel-argument layout and the control block: what emitted code for devices and the backend that launches it must
 * agree on, for all emitters whose code runs on a device (PTX, OpenCL C).
 *
 * The arguments of an entry are, in this order:
 *   - the address of each buffer;
 *   - by value: the number of elements of each buffer (u32), then the bits of each scalar param, 64 for 64-bit types,
 *     else 32 whose upper bits do not matter (a bool is 0 or not 0). Params that a transform added (coarsening) are
 *     params of the emitted program like the others;
 *   - the address of a vy_launch_control.
 * The header of an emitter states their form: one argument each in PTX, one struct for the values in OpenCL C
 * (vy_launch_values). A change of the order, of the struct or of the control block changes VY_LAUNCH_ABI, which
 * emitted text names. */
#ifndef VY_EMIT_LAUNCH_ABI_H
#define VY_EMIT_LAUNCH_ABI_H

#include "ir/model.h"

enum { VY_LAUNCH_ABI = 1 };

/* The control block: traps, polls and grid barriers of one launch. The host fills it before the launch and reads it
 * when the launch has ended; it may set `cancel` in between. One for each launch in flight. */
typedef struct vy_launch_control {
    /* UINT64_MAX before; then the smallest invocation that trapped: group * size + local, of this launch */
    uint64_t trap_invocation;
    uint64_t deadline;  /* of the device's clock in ns (PTX: %globaltimer); UINT64_MAX: none. OpenCL C has no clock */
    uint32_t trap_code; /* of that invocation */
    uint32_t lock;      /* used by the code only: 0 before and after */
    uint32_t cancel;    /* not 0: invocations end at their next poll */
    uint32_t stopped;   /* 0 before; 1: an invocation ended at a poll, so the buffers have unspecified contents */
    /* workgroups at a grid barrier: 0 before, and after a launch that neither trapped nor was stopped */
    uint32_t arrived;
    uint32_t barriers; /* grid barriers passed, counted from any value over several launches */
    /* Entries for indirect grids: 0 before; then the ticket of the first launch whose grid exceeds the limits of the
     * language. That launch and later ones with indirect grids execute nothing. */
    uint32_t refused;
    uint32_t refused_grid[3]; /* its grid */
    uint32_t grid[3];         /* for the host: an indirect grid may be stored here. The code does not access it */
    /* For devices that do not see writes to `cancel` while a kernel runs: the polls after which an invocation ends and
     * sets `cancel` for all others. 0: no limit. PTX ignores it */
    uint32_t poll_budget;
} vy_launch_control;

/* An invocation reads the control block at its first poll, and once in this many polls after it. */
enum { VY_LAUNCH_POLL_PERIOD = 64 };

/* The values of a launch as one struct, in memory order: for each buffer the elements before it in its memory object
 * (u64); the 64-bit params; for each buffer its number of elements (u32); the other params (u32). Its size is a
 * multiple of 8. */
typedef struct vy_launch_values {
    uint32_t buffers, params;
    uint32_t bytes;  /* 0: there are none, and no argument */
    uint32_t counts; /* offset of the first count; buffer i is at 8 * i, its count at counts + 4 * i */
    uint16_t param_at[VY_LIMIT_PARAMS]; /* offset of each param */
    uint8_t is_wide[VY_LIMIT_PARAMS];   /* whether it has 64 bits */
} vy_launch_values;

static inline vy_launch_values vy_launch_values_of(const vyre_program *program) {
    vy_launch_values made = {.buffers = program->buffer_count, .params = program->param_count};
    const uint32_t first = vy_program_entry(program)->first_variable;
    uint32_t at = 8 * made.buffers;
    for (int is_wide = 1; is_wide >= 0; is_wide--) {
        for (uint32_t i = 0; i < made.params; i++)
            if ((vyre_type_bits((vyre_type)program->variables.items[first + i].type) == 64) == is_wide) {
                made.param_at[i] = (uint16_t)at;
                made.is_wide[i] = (uint8_t)is_wide;
                at += is_wide ? 8 : 4;
            }
        made.counts = is_wide ? at : made.counts;
        at += is_wide ? 4 * made.buffers : 0;
    }
    made.bytes = (at + 7) / 8 * 8;
    return made;
}

#endif
