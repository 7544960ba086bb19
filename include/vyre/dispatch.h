/* What a dispatch is given and what it gives back: the same for the oracle and for every backend. */
#ifndef VYRE_DISPATCH_H
#define VYRE_DISPATCH_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The grid of a dispatch. Zero-initialised means: as the program says. */
typedef enum vyre_geometry_kind {
    VYRE_GEOMETRY_PROGRAM,
    VYRE_GEOMETRY_GROUPS,  /* workgroups per dimension */
    VYRE_GEOMETRY_ELEMENTS /* invocations per dimension, rounded up to whole groups */
} vyre_geometry_kind;
typedef struct vyre_geometry {
    vyre_geometry_kind kind;
    uint32_t size[3]; /* a zero makes an empty grid, which is legal: nothing runs */
} vyre_geometry;

/* Arguments of a dispatch; everything is borrowed for the call. Where a function takes them, NULL means zeros.
 *
 * inputs   host bytes of the read, uniform and read_write buffers, in declaration order; a whole number of elements each; where the
 *          program fixes the count, exactly that many
 * counts   optional: element counts of the `write` buffers whose count the program leaves open, in declaration order among these */
typedef struct vyre_arguments {
    const vyre_scalar *params;
    size_t param_count;
    const vyre_span *inputs;
    size_t input_count;
    const uint64_t *counts;
    size_t count_count;
    vyre_geometry geometry;
} vyre_arguments;

/* Number of inputs (read, uniform, read_write) and outputs (write, read_write) a dispatch of this program takes. */
VYRE_API size_t vyre_program_input_count(const vyre_program *program);
VYRE_API size_t vyre_program_output_count(const vyre_program *program);

/* Which invocation trapped first (smallest linear id: group · size + local) and with which code. */
typedef struct vyre_trap {
    uint64_t invocation;
    uint32_t code;
} vyre_trap;

#ifdef __cplusplus
}
#endif
#endif
