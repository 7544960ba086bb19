/* The library of legalisation: what replaces an operation, written in the language and kept as text (legal_text.h).
 *
 * A function replaces the op it is named after: `add_f32`, `clz_i8`, `cast_f32_i64` (to f32 from i64), `bitcast_u32_f32`. It ends in one `return`, has
 * no other, and touches no memory. Which texts are read depends on the target: a text is there for what the target lacks. */
#ifndef VY_TRANSFORM_LEGAL_LIBRARY_H
#define VY_TRANSFORM_LEGAL_LIBRARY_H

#include "ir/model.h"
#include "vyre/text.h"

/* What a program does: bits 1 << vyre_type of its values and memories, and 1 << vyre_op. */
typedef struct vy_legal_uses {
    uint32_t types;
    uint64_t ops;
} vy_legal_uses;
_Static_assert(VYRE_OP_COUNT <= 64, "ops are bits");

/* A text, and when it is read: if the program has a value of any of `types` and any of `ops` (0: always), and the target lacks any of `lacks` (0: always), has
 * all of `has` and none of `without`. */
typedef struct vy_legal_text {
    const char *text;
    uint32_t types;
    uint64_t ops;
    uint64_t lacks, has, without;
} vy_legal_text;

typedef struct vy_legal_library {
    vyre_module *module;
    const vyre_program *program;
    /* Functions by what they replace; UNKNOWN until asked for, VY_NONE if there is none. */
    uint32_t ops[VYRE_OP_COUNT][VYRE_TYPE_COUNT];
    uint32_t casts[2][VYRE_TYPE_COUNT][VYRE_TYPE_COUNT];
} vy_legal_library;

vy_legal_uses vy_legal_uses_of(const vyre_program *program);
/* Reads the texts (ended by one with text NULL) that such a program needs on a target. Free it also after a failure. */
vyre_status vy_legal_library_read(vy_legal_library *library, const vy_legal_text *texts, vy_legal_uses uses,
                                  uint64_t exact, vyre_error *error);
void vy_legal_library_free(vy_legal_library *library);

/* The function of that name, or VY_NONE. */
uint32_t vy_legal_find(const vy_legal_library *library, const char *name);
/* The function that replaces an op, or VY_NONE. */
uint32_t vy_legal_replacement(vy_legal_library *library, vyre_op op, vyre_type result, vyre_type operand);

#endif
