/* Softlib: the functions that replace operations of the target, written in the language in lib/softlib/.
 *
 * A function replaces the op it is named after: `add_f32`, `clz_i8`, `cast_f32_i64` (to f32 from i64),
 * `bitcast_u32_f32`. It has one `return`, at its end, and accesses no memory. Several functions may have one name; the
 * first whose condition holds for the target is used. lib/softlib/f32.vyre states the rules.
 *
 * The build encodes every function in wire form (src/development/embed_softlib.c). A function is decoded when it is
 * first called, without validation, because the build has validated it. */
#ifndef VY_LOWER_SOFTLIB_H
#define VY_LOWER_SOFTLIB_H

#include "ir/model.h"

/* A function of a file. */
typedef struct vy_softlib_function {
    const char *name; /* without the variant */
    const uint8_t *wire;
    uint32_t wire_size;
    uint64_t lacks, has; /* used if the target lacks any of `lacks` (0: always) and has all of `has` */
} vy_softlib_function;

typedef struct vy_softlib_file {
    const char *name;
    const vy_softlib_function *functions; /* in the order of their names */
    size_t count;
} vy_softlib_file;

/* The files of lib/softlib/ that replace the ops of a phase. */
typedef struct vy_softlib_files {
    const uint8_t *files;
    uint32_t count;
} vy_softlib_files;
extern const vy_softlib_files vy_softlib_narrow, vy_softlib_numerics, vy_softlib_int64, vy_softlib_none;

/* A function that was decoded: a library of one function, whose callees are names. */
typedef struct vy_softlib_unit {
    const vy_softlib_function *function;
    vyre_program *program;
    uint32_t *bound; /* by variable: the tree that it has in the call being inlined (legalizer.h) */
} vy_softlib_unit;

/* The softlib for a phase and a target. One thread at a time. */
typedef struct vy_softlib {
    vy_softlib_files files;
    uint64_t exact; /* what the target computes exactly: bits 1 << VYRE_NUMERIC_… */
    VY_VECTOR(vy_softlib_unit) units;
    /* The functions that replace ops, by type of the operand: NULL until the first query. */
    const vy_softlib_function *ops[VYRE_OP_COUNT][VYRE_TYPE_COUNT];
    const vy_softlib_function *casts[2][VYRE_TYPE_COUNT][VYRE_TYPE_COUNT];
} vy_softlib;

void vy_softlib_open(vy_softlib *library, vy_softlib_files files, uint64_t exact);
void vy_softlib_close(vy_softlib *library);

/* The function of that name; NULL if the phase has none for the target. */
const vy_softlib_function *vy_softlib_find(const vy_softlib *library, const char *name);
/* The function that replaces an op; NULL if there is none. */
const vy_softlib_function *vy_softlib_replacement(vy_softlib *library, vyre_op op, vyre_type result, vyre_type operand);
/* The function that a function calls by this name, which is `softlib.FILE.NAME`; NULL if there is none. */
const vy_softlib_function *vy_softlib_callee(const vy_softlib *library, const char *name);
/* Decodes a function, unless it was decoded before. *unit is valid until vy_softlib_close. */
vyre_status vy_softlib_decode(vy_softlib *library, const vy_softlib_function *function, vy_softlib_unit *unit,
                              vyre_error *error);

#endif
