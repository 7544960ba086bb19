/* Code of an op for the targets c and ptx: the two languages, which are restricted so that code has no effect but its
 * results.
 *
 * Code names the inputs and outputs of its op in braces: `{x}`; an output without a name is `{result}`.
 *
 *   c    one expression in C17 over the inputs: numbers, operators, casts between arithmetic types, and calls of pure
 *        functions of <math.h> and of builtins that gcc and clang share
 *   ptx  instructions that compute registers from registers; `.reg` declares more of them
 *
 * Neither can address memory, read special registers, jump, or call anything else. A manifest is not trusted, and its
 * code is compiled and run (targets/lowering_check.h), so this check is a security boundary. It does not replace the
 * compilers: code that passes may still be rejected by them, or return other bits than the body. */
#ifndef VY_DIALECT_LOWERING_CODE_H
#define VY_DIALECT_LOWERING_CODE_H

#include "vyre/dialect.h"

enum {
    VY_LOWERING_LIMIT_CODE = 64 << 10, /* bytes of code for c or ptx */
    VY_LOWERING_LIMIT_OPERANDS = 16,   /* inputs and outputs of an op with such code */
    VY_LOWERING_LIMIT_ULP = 1 << 20
};

/* Whether code for the target is in one of the languages. */
int vy_lowering_has_language(vyre_target target);
/* The target of a lowering of a registered op, or of one whose target was checked. */
vyre_target vy_lowering_target(const vyre_lowering *lowering);

/* Checks code for such a target against the op's inputs, outputs and attributes. The body is not needed.
 *
 * VYRE_INVALID_ARGUMENT  the code is not in the language; or the op has operands that such code cannot have
 * VYRE_LIMIT             too much code, too many operands */
vyre_status vy_lowering_check_code(const vyre_op_definition *op, vyre_target target, const vyre_lowering *lowering,
                                   vyre_error *error);

/* A part of checked code: text, or an operand of the op (inputs first, then outputs). */
typedef struct vy_lowering_part {
    const char *text;
    size_t length;
    uint32_t operand; /* UINT32_MAX: text */
} vy_lowering_part;
/* Reads the part at *at and advances it; 0 at the end. */
int vy_lowering_next(const vyre_op_definition *op, const vyre_lowering *lowering, size_t *at, vy_lowering_part *out);

/* The lowest PTX version and architecture that code for ptx needs, as in vy_ptx_code: 60 is PTX 6.0, 70 is sm_70. */
void vy_lowering_ptx_needs(const vyre_lowering *lowering, uint32_t *version, uint32_t *architecture);

#endif
