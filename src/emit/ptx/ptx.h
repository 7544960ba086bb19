/* The PTX emitter: from a legal program to PTX, the text that NVIDIA's driver compiles.
 *
 * Legalisation did the complex work; each node becomes one or two lines of PTX. docs/internals/ptx.md shows the
 * result.
 *
 * The module has one entry. Its arguments are those of emit/launch_abi.h, each a kernel param: addresses are u64,
 * those of buffers multiples of the element's size; the control block is in memory that the device can write.
 *
 * A batched entry instead has one argument, the address of a table, a multiple of 16: one row per block in z, with all
 * of the above at the offsets that they have among params, and vy_ptx_code.row_bytes from one row to the next. Each
 * row is a dispatch whose grid has one group in z.
 *
 * An entry for an indirect grid has two more arguments after the control block: the address of three words in device
 * memory, the workgroups in x, y and z (u64), and a ticket, not 0 (u32). It is launched with any number of blocks, all
 * in x, each of which runs every n-th workgroup; control is never 0.
 *
 * A tiled entry can be launched over a part of a grid. After the scalars it has two u32 per axis of
 * vy_ptx_code.tiled_axes: the first workgroup of the part, and the workgroups of the whole grid. Ids, counts and
 * reported traps are then those of the whole grid. An axis on which the program does not depend needs neither.
 *
 * An entry is launched with blocks of vy_ptx_code.block threads, vy_ptx_code.dynamic_bytes of dynamic shared memory,
 * and a grid of the dispatch's groups. */
#ifndef VY_EMIT_PTX_PTX_H
#define VY_EMIT_PTX_PTX_H

#include "compile/target/target.h"
#include "emit/launch_abi.h"
#include "ir/model.h"
#include "vyre/base.h"
#include "vyre/program.h"

/* Static shared memory that every device supports. A program with more uses dynamic memory only. */
enum { VY_PTX_STATIC_BYTES = 48 << 10 };

typedef struct vy_ptx_options {
    uint32_t architecture; /* of the device; 0: any. A program that requires a higher one is refused */
    /* what the program was compiled for, of which the emitter reads predication and errata; NULL: vy_ptx_target */
    const vy_target_desc *target;
    uint8_t batched;    /* the entry reads its arguments from a table */
    uint8_t indirect;   /* the entry reads its grid from memory; not with batched */
    uint8_t tiled_axes; /* bits 1 << axis: the axes in which a grid can be divided into tiles */
    /* the entry may begin before the launches that it depends on have ended, and first waits for them
     * (VY_PTX_DEPENDENT_LAUNCH) */
    uint8_t dependent_launch;
    uint32_t reserved; /* zero bytes before the text, for a header of the caller */
} vy_ptx_options;

typedef struct vy_ptx_code {
    vyre_bytes text;                /* after the reserved bytes; followed by a NUL */
    char entry[VY_LIMIT_NAME + 8];  /* its name */
    uint32_t version, architecture; /* the lowest required: 60 is PTX 6.0, 70 is sm_70 */
    uint32_t block[3];              /* threads: the workgroup, or all of them in x if it has more than 64 in z */
    uint32_t param_count;           /* 2 * buffers + scalars + 2 * tiled axes + 1; batched: 1; indirect: two more */
    uint32_t row_bytes;             /* batched: a multiple of 16 */
    uint32_t static_bytes, dynamic_bytes, local_bytes; /* shared memory; arrays of each thread */
    uint8_t indirect;                                  /* its grid is in device memory */
    uint8_t tiled_axes; /* of the options, those on which the program depends; none if indirect or with grid barriers */
    uint8_t dependent_launch; /* as requested, if it is supported */
    /* it has grid barriers: all blocks must run at the same time, by a cooperative launch, and control is never 0 */
    uint8_t needs_cooperative;
} vy_ptx_code;

/* The lowest architecture on which an entry can wait for the launches before it (griddepcontrol). Batched entries and
 * those for indirect grids or with grid barriers do not. */
enum { VY_PTX_DEPENDENT_LAUNCH = 90 };

/* Emits the entry of a program at level legal, which has no calls, guarded accesses, traps, prints, and no collectives
 * but native_shuffle<32>. The text depends only on the program and its positions, which become line information. May
 * be called from any thread.
 *
 * VYRE_UNSUPPORTED       the emitter or the architecture does not support a construct, which the message names
 * VYRE_INVALID_ARGUMENT  a library
 * VYRE_NO_MEMORY         out of memory */
vyre_status vy_ptx_emit(const vyre_program *program, const vy_ptx_options *options, vy_ptx_code *out,
                        vyre_error *error);
void vy_ptx_free(vy_ptx_code *code);

#endif
