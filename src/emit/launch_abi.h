/* The kernel-argument layout and the control block: what emitted code for devices and the backend that launches it must
 * agree on, for all emitters whose code runs on a device (PTX, OpenCL C).
 *
 * The arguments of an entry are, in this order:
 *   - the address of each buffer;
 *   - by value: the number of elements of each buffer (u32), then the bits of each scalar param, 64 for 64-bit types,
 *     else 32 whose upper bits do not matter (a bool is 0 or not 0). Params that a transform added (coarsening) are
 *     params of the emitted program like the others;
 *   - the address of a vy_launch_control.
 * The header of an emitter states how its entries take them: PTX as one argument each, OpenCL C the values in one
 * struct (vy_launch_values). A change of the order, of the struct or of the control block changes VY_LAUNCH_ABI, which
 * emitted text names. */
#ifndef VY_EMIT_LAUNCH_ABI_H
#define VY_EMIT_LAUNCH_ABI_H

#include "ir/model.h"

enum { VY_LAUNCH_ABI = 1 };

/* The control block: data exchanged between the code and the host. The host fills it before the launch and reads it
 * when the launch is done; only `cancel` may change in between. Each launch in flight has one. */
typedef struct vy_launch_control {
    /* UINT64_MAX before; then the smallest invocation that trapped: group * size + local, of this launch */
    uint64_t trap_invocation;
    uint64_t deadline;  /* of the device's clock in ns (PTX: %globaltimer); UINT64_MAX: none. OpenCL C has no clock */
    uint32_t trap_code; /* of that invocation */
    uint32_t lock;      /* 0 before and after; used by the code only */
    uint32_t cancel;    /* not 0: the dispatch must end */
    uint32_t stopped;   /* 0 before; 1: a poll stopped the dispatch, and the contents of the buffers are unspecified */
    /* the number of workgroups at a grid barrier: 0 before, and after a launch that neither trapped nor was stopped */
    uint32_t arrived;
    /* the number of grid barriers that all launches with this block have passed; its initial value does not matter */
    uint32_t barriers;
    /* Of entries for indirect grids: 0 before; then the ticket of the first launch whose grid exceeds the limits of
     * the language. It ran nothing, and later launches with indirect grids run nothing either. */
    uint32_t refused;
    uint32_t refused_grid[3]; /* the grid of that launch */
    uint32_t grid[3];         /* room for a host that keeps the words of a grid here; the code does not read it */
    /* the number of polls after which an invocation ends and sets `cancel` for all others, for devices that do not see
     * the host's writes to `cancel` while a kernel runs. 0: no bound. PTX ignores it */
    uint32_t poll_budget;
} vy_launch_control;

/* A poll reads the control block at the first call and then once per so many calls. */
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
