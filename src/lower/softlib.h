/* Softlib: functions that replace operations of the target, written in the language and kept as text
 * (softlib_format.inc, softlib_*.c).
 *
 * A function replaces the op it is named after: `add_f32`, `clz_i8`, `cast_f32_i64` (to f32 from i64),
 * `bitcast_u32_f32`. It has one `return`, at its end, and accesses no memory. The texts in use depend on the target:
 * there is a text for what the target lacks. A program uses little of a text, and parsing takes longer than generating
 * code from it. So functions are located by the lines that begin with `fn`, and parsed when one is called, together
 * with the functions it calls. */
#ifndef VY_LOWER_SOFTLIB_H
#define VY_LOWER_SOFTLIB_H

#include "ir/model.h"
#include "vyre/text.h"

/* What a program does: bits 1 << vyre_type of its values and memories, and 1 << vyre_op. */
typedef struct vy_legal_uses {
    uint32_t types;
    uint64_t ops;
} vy_legal_uses;
_Static_assert(VYRE_OP_COUNT <= 64, "ops are bits");

/* A text, and when it is there: if the program has a value of any of `types` and any of `ops` (0: always), and the
 * target lacks any of `lacks` (0: always), has all of `has` and none of `without`. */
typedef struct vy_softlib_text {
    const char *text;
    uint32_t types;
    uint64_t ops;
    uint64_t lacks, has, without;
} vy_softlib_text;

/* A function in its text. */
typedef struct vy_softlib_function {
    const char *text; /* from its name on */
    uint32_t name_length, length;
    uint32_t unit, index; /* what it was read with, and which function it is there; unit VY_NONE: not read yet */
    uint8_t is_wanted;    /* somebody has asked for it: it is read with the next */
    uint8_t taken;        /* while a unit is read: 1 it is part of that, 2 and so is what it calls */
} vy_softlib_function;

/* Functions that were read together. */
typedef struct vy_softlib_unit {
    vyre_module *module;
    const vyre_program *program;
    uint32_t *bound; /* by variable: for who puts a function somewhere (legalizer.h) */
} vy_softlib_unit;

/* One thread at a time. */
typedef struct vy_softlib {
    VY_VECTOR(vy_softlib_function) functions;
    VY_VECTOR(vy_softlib_unit) units;
    vy_legal_uses uses; /* of the program it was opened for */
    /* Functions by what they replace; UNKNOWN until asked for, VY_NONE if there is none. */
    uint32_t ops[VYRE_OP_COUNT][VYRE_TYPE_COUNT];
    uint32_t casts[2][VYRE_TYPE_COUNT][VYRE_TYPE_COUNT];
} vy_softlib;

vy_legal_uses vy_legal_uses_of(const vyre_program *program);
/* Finds the functions in the texts (ended by one with text NULL) that such a program needs on a target. Free it also
 * after a failure. */
vyre_status vy_softlib_open(vy_softlib *library, const vy_softlib_text *texts, vy_legal_uses uses, uint64_t exact,
                            vyre_error *error);
void vy_softlib_free(vy_softlib *library);

/* The function of that name, or VY_NONE. */
uint32_t vy_softlib_find(vy_softlib *library, const char *name);
/* The function that replaces an op, or VY_NONE. */
uint32_t vy_softlib_replacement(vy_softlib *library, vyre_op op, vyre_type result, vyre_type operand);
/* Reads a function, unless it was. *unit: where it is, until the next is read. */
vyre_status vy_softlib_read(vy_softlib *library, uint32_t function, const vy_softlib_unit **unit,
                            const vy_function **out, vyre_error *error);

#endif
