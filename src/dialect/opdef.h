/* Op definitions inside the registry: a checked copy of what was given, immutable and reference counted, so that snapshots share the ops that did not
 * change between them. */
#ifndef VY_DIALECT_OPDEF_H
#define VY_DIALECT_OPDEF_H

#include "base/memory.h"
#include "vyre/dialect.h"

#include <stdatomic.h>

enum {
    VY_OP_LIMIT_ATTRIBUTES = 64,
    VY_OP_LIMIT_LAWS = 256,
    VY_OP_LIMIT_LOWERINGS = 64,
    VY_OP_LIMIT_TEXT = 1 << 16,    /* bytes of a doc */
    VY_OP_LIMIT_VERSION = 64,      /* bytes */
    VY_OP_LIMIT_CODE = 64 << 20,   /* bytes of one lowering */
    VY_DIALECT_LIMIT_OPS = 1 << 16 /* in a snapshot */
};

typedef struct vy_op {
    atomic_uint references;
    vy_arena arena;                /* every array and text below */
    vyre_op_definition definition; /* owns one reference to its body */
    vyre_target *targets;          /* of definition.lowerings, in order */
    vyre_lowering reference;
    const void *origin; /* the link-time record; NULL for others */
} vy_op;

typedef struct vy_dialect {
    atomic_uint references;
    vy_arena arena;
    vyre_dialect dialect;
    uint64_t checksum;
    const void *origin; /* the module's descriptor; NULL for others */
} vy_dialect;

/* A checked copy with one reference. `dialect` provides version and, where the definition names none, the dialect's name; NULL is allowed. `owner` wins
 * over what the definition says. */
vyre_status vy_op_make(const vyre_op_definition *given, const vyre_dialect *dialect, const char *owner, vy_op **out,
                       vyre_error *error);
vy_op *vy_op_retain(vy_op *op);
void vy_op_release(vy_op *op);
/* Whether a call may give the attribute this value of its type. */
int vy_attribute_allows(const vyre_attribute *attribute, uint64_t bits);
/* Over all the definition holds but the checksum itself. */
uint64_t vy_op_checksum(const vy_op *op);
/* NULL if the op has no code for the target. */
const vyre_lowering *vy_op_lowering(const vy_op *op, vyre_target target);
/* The op around a definition that is part of one. */
static inline const vy_op *vy_op_of(const vyre_op_definition *definition) {
    return (const vy_op *)(const void *)((const char *)definition - offsetof(vy_op, definition));
}

vyre_status vy_dialect_make(const vyre_dialect *given, vy_dialect **out, vyre_error *error);
vy_dialect *vy_dialect_retain(vy_dialect *dialect);
void vy_dialect_release(vy_dialect *dialect);
uint64_t vy_dialect_checksum(const vy_dialect *dialect);

/* A running checksum of several things. */
uint64_t vy_checksum_mix(uint64_t sum, const void *data, size_t size);

/* ---- opdef_check.c ---- */

/* Whether a definition (whole: as long as this header's) is one, whatever it came from. Bodies are looked at by vy_op_check_body. */
vyre_status vy_op_check(const vyre_op_definition *op, const char *owner, vyre_error *error);
/* Whether the body has the function, and the function the op's signature. */
vyre_status vy_op_check_body(const vyre_op_definition *op, vyre_error *error);
/* Whether anything reads the code of an op for this target: true for extensions, whose plug-ins call vyre_dialects_lowering, and false for the
 * built-in targets, whose emitters compile the op's body. */
int vy_target_has_consumer(vyre_target target);
/* The parts of an op id, one or more. */
int vy_is_dialect_name(const char *text, size_t length);

#endif
