/* The arguments of a dispatch and the report of a trap. They are the same for the reference interpreter and for every
 * backend. The dispatch functions are in vyre/driver.h, vyre/pipeline.h, vyre/async.h and vyre/oracle.h.
 *
 *     const vyre_scalar params[] = {vyre_scalar_f32(2.0f)};
 *     const vyre_span inputs[] = {{x, sizeof x}, {y, sizeof y}};
 *     vyre_arguments arguments = {.params = params, .param_count = 1, .inputs = inputs, .input_count = 2}; */
#ifndef VYRE_DISPATCH_H
#define VYRE_DISPATCH_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The grid of a dispatch. Zero-initialised: the grid that the program specifies. */
typedef enum vyre_geometry_kind {
    VYRE_GEOMETRY_PROGRAM,
    VYRE_GEOMETRY_GROUPS,  /* workgroups per dimension */
    VYRE_GEOMETRY_ELEMENTS /* invocations per dimension, rounded up to whole groups */
} vyre_geometry_kind;
typedef struct vyre_geometry {
    vyre_geometry_kind kind;
    uint32_t size[3]; /* a zero makes an empty grid, which is valid: nothing runs */
} vyre_geometry;

/* Arguments of a dispatch. Everything is borrowed for the call. Functions accept NULL for a zero-initialised struct.
 *
 * params  One per param of the program, in declaration order.
 * inputs  The bytes of the read, uniform and read_write buffers, in declaration order; each a whole number of
 *         elements, and exactly the count that the program fixes, if any.
 * counts  Optional: element counts of the `write` buffers whose count the program does not fix, in declaration
 *         order. */
typedef struct vyre_arguments {
    const vyre_scalar *params;
    size_t param_count;
    const vyre_span *inputs;
    size_t input_count;
    const uint64_t *counts;
    size_t count_count;
    vyre_geometry geometry;
} vyre_arguments;

/* The number of inputs (read, uniform, read_write) and outputs (write, read_write) of a dispatch of this program. */
VYRE_API size_t vyre_program_input_count(const vyre_program *program);
VYRE_API size_t vyre_program_output_count(const vyre_program *program);

/* The first invocation that trapped (smallest linear id: group · size + local), and its trap code. */
typedef struct vyre_trap {
    uint64_t invocation;
    uint32_t code;
} vyre_trap;

#ifdef __cplusplus
}
#endif
#endif
