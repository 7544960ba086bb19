/* The PTX emitter: from a legal program to PTX, the text that NVIDIA's driver compiles.
 *
 * Everything hard was done by legalisation; what is left is a line or two of PTX for each node. docs/internals/ptx.md
 * shows the result.
 *
 * One entry is made. cuLaunchKernel gives it, in this order:
 *   - for each buffer its address (u64), a multiple of the element's size;
 *   - for each buffer its number of elements (u32);
 *   - for each scalar param its bits: a u64 for 64-bit types, else a u32 whose upper bits do not matter (a bool is 0
 *     or not 0);
 *   - the address of a vy_ptx_control in memory that the device can write (u64).
 *
 * An entry by rows is given the address of a table instead, a multiple of 16: one row for each block in z, with all of
 * the above at the offsets they have among params, and vy_ptx_code.row_bytes from one row to the next. Each row is a
 * dispatch whose grid is one group in z.
 *
 * An entry for an indirect grid is given two more after the control block's: the address of three words in device
 * memory, the workgroups in x, y and z (u64), and a ticket, not 0 (u32). It is launched with any number of blocks, all
 * in x, each of which runs every n-th workgroup; control is never 0.
 *
 * An entry is launched with blocks of vy_ptx_code.block threads, vy_ptx_code.dynamic_bytes of dynamic shared memory,
 * and a grid of the dispatch's groups. */
#ifndef VY_EMIT_PTX_PTX_H
#define VY_EMIT_PTX_PTX_H

#include "ir/model.h"
#include "lower/legalize.h"
#include "vyre/base.h"
#include "vyre/program.h"

/* What the code and the host tell each other. The host fills it before the launch and reads it when the launch is
 * done; only `cancel` may change meanwhile. One for each launch in flight. */
typedef struct vy_ptx_control {
    /* UINT64_MAX before; then the smallest that reported: group * size + local, of this launch */
    uint64_t trap_invocation;
    uint64_t deadline;  /* of the device's %globaltimer, in ns; UINT64_MAX: none */
    uint32_t trap_code; /* of that invocation */
    uint32_t lock;      /* 0 before and after: the code's own */
    uint32_t cancel;    /* not 0: the dispatch is to end */
    uint32_t stopped;   /* 0 before; 1: a poll said so, and what is in the buffers means nothing */
    /* workgroups at a grid barrier: 0 before, and after a launch that neither trapped nor was stopped */
    uint32_t arrived;
    /* grid barriers that were passed, of all launches since anybody looked: what it starts from does not matter */
    uint32_t barriers;
    /* Of entries for indirect grids. 0 before; then the ticket of the first whose grid is over the limits of the
     * language. It ran nothing, and the launches after it with indirect grids run nothing either. */
    uint32_t refused;
    uint32_t refused_grid[3]; /* what it had */
    uint32_t grid[3];         /* room for the words, for who keeps them here; the code does not know of it */
    uint32_t reserved;
} vy_ptx_control;

/* Polls look at the control block every so many times, from the first on. */
enum { VY_PTX_POLL_PERIOD = 64 };

/* Shared memory that every device gives without being asked. A program with more takes all of it as dynamic memory. */
enum { VY_PTX_STATIC_BYTES = 48 << 10 };

/* What the ISA promises by our rules on a device of that architecture (70 stands for sm_70), to be confirmed by a
 * probe there. 8- and 16-bit integers are not worth their instructions; division edges and amounts beyond the width
 * are not ours; f16 has no native ÷ and √; bf16 comes with sm_80. */
uint64_t vy_ptx_exact(uint32_t architecture);

/* What programs are legalised for. Collectives are written out with shuffles of 32 consecutive invocations: that a
 * warp is that is what CUDA promises of the linear order of threads. */
vy_target_desc vy_ptx_target(uint32_t architecture, int cancellable);

typedef struct vy_ptx_options {
    uint32_t architecture; /* of the device; 0: any. What needs more is refused */
    uint8_t batched;       /* the entry takes its params from a table */
    uint8_t indirect;      /* the entry takes its grid from memory; not both */
    /* the entry may begin before what it depends on has ended, and waits for that first; see VY_PTX_DEPENDENT_LAUNCH */
    uint8_t dependent_launch;
    uint32_t reserved; /* bytes before the text, zeros, for who puts something there: it need not be moved then */
} vy_ptx_options;

typedef struct vy_ptx_code {
    vyre_bytes text;                /* behind what is reserved; a NUL follows */
    char entry[VY_LIMIT_NAME + 8];  /* its name */
    uint32_t version, architecture; /* the lowest that will do: 60 is PTX 6.0, 70 is sm_70 */
    uint32_t block[3];              /* threads: the workgroup, or all of them in x if it has more than 64 in z */
    uint32_t param_count;           /* 2 * buffers + scalars + 1; by rows: 1; indirect: two more */
    uint32_t row_bytes;             /* by rows: a multiple of 16 */
    uint32_t static_bytes, dynamic_bytes, local_bytes; /* shared memory; each thread's arrays */
    uint8_t indirect;                                  /* its grid lies in memory */
    uint8_t dependent_launch;                          /* as asked for, where it could be written */
    /* it has grid barriers: all blocks of its grid must run at the same time, by a cooperative launch, and control
     * is never 0 */
    uint8_t needs_cooperative;
} vy_ptx_code;

/* From which architecture on grid barriers are written: memory is ordered there by loads and stores that acquire and
 * release. */
enum { VY_PTX_GRID_BARRIERS = 70 };

/* From which architecture on an entry can wait for the launches before it (griddepcontrol). Entries by rows, for
 * indirect grids and with grid barriers do not. */
enum { VY_PTX_DEPENDENT_LAUNCH = 90 };

/* Writes the entry of a program at level legal, inlined, without guarded accesses, traps, prints and collectives but
 * native_shuffle<32>. The text depends on the program (and its positions, which become line information) and on
 * nothing else. Any thread.
 *
 * VYRE_UNSUPPORTED       something in it is not for this emitter, or for that architecture; the error names it
 * VYRE_INVALID_ARGUMENT  a library
 * VYRE_NO_MEMORY */
vyre_status vy_ptx_emit(const vyre_program *program, const vy_ptx_options *options, vy_ptx_code *out,
                        vyre_error *error);
void vy_ptx_free(vy_ptx_code *code);

/* The pass pipeline before PTX: coarsened where that pays, optimised, legalised.
 *
 * A coarsened program has one more param, a u32 after the others: the groups in x of the dispatch as it was requested.
 * It is launched over fewer groups: vy_ptx_launch_groups. Everything else about a dispatch (buffers, counts, params,
 * groups in y and z, the size of a workgroup) is unchanged. */
typedef struct vy_ptx_prepare_options {
    uint32_t architecture; /* of the device: 90 for sm_90 */
    uint64_t inexact;      /* bits 1 << VYRE_NUMERIC_…: what a probe on the device did not confirm of vy_ptx_exact */
    uint8_t cancellable;   /* with polls */
    /* nothing is widened: the grid is known only on the device (vy_ptx_options.indirect), or somebody asked for it
     * as it is */
    uint8_t keeps_grid;
    uint8_t aligned; /* every buffer starts at a multiple of 16 bytes in every dispatch: nothing asks for it then */
} vy_ptx_prepare_options;

typedef struct vy_ptx_prepared {
    vyre_program *program; /* legal, without a fingerprint; one reference */
    /* invocations of the original that one handles; 1: it is not widened, and there is no other param */
    uint32_t factor;
    const char *reason; /* why the factor is 1, a static sentence; NULL if it is more */
} vy_ptx_prepared;

/* Prepares a program; one of level legal is taken as it is. Any thread.
 *
 * As optimising and legalising fail (vyre/transform.h, lower/legalize.h); out->program is NULL then */
vyre_status vy_ptx_prepare(vyre_program *program, const vy_ptx_prepare_options *options, vy_ptx_prepared *out,
                           vyre_error *error);

/* The groups in x to launch for `groups_x` of the dispatch, which is also the value of the other param. */
static inline uint32_t vy_ptx_launch_groups(uint32_t factor, uint32_t groups_x) {
    return groups_x / factor + (groups_x % factor != 0);
}

#endif
