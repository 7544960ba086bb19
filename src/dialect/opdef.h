/* Op definitions in the registry: validated, immutable, reference-counted copies. Snapshots share the ops that did not
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
    vy_arena arena;                /* owns every array and text below */
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

/* Makes a validated copy with one reference. `dialect` (may be NULL) provides the version, and the name of the dialect
 * if the definition has none. `owner` overrides that of the definition. */
vyre_status vy_op_make(const vyre_op_definition *given, const vyre_dialect *dialect, const char *owner, vy_op **out,
                       vyre_error *error);
vy_op *vy_op_retain(vy_op *op);
void vy_op_release(vy_op *op);
/* Whether a call may set the attribute to this value of its type. */
int vy_attribute_allows(const vyre_attribute *attribute, uint64_t bits);
/* Checksum of the definition without its checksum field. */
uint64_t vy_op_checksum(const vy_op *op);
/* Returns NULL if the op has no code for the target. */
const vyre_lowering *vy_op_lowering(const vy_op *op, vyre_target target);
/* The op that contains a definition. */
static inline const vy_op *vy_op_of(const vyre_op_definition *definition) {
    return (const vy_op *)(const void *)((const char *)definition - offsetof(vy_op, definition));
}

vyre_status vy_dialect_make(const vyre_dialect *given, vy_dialect **out, vyre_error *error);
vy_dialect *vy_dialect_retain(vy_dialect *dialect);
void vy_dialect_release(vy_dialect *dialect);
uint64_t vy_dialect_checksum(const vy_dialect *dialect);

/* Adds bytes to a running checksum. */
uint64_t vy_checksum_mix(uint64_t sum, const void *data, size_t size);

/* ---- validation ---- */

/* Validates a definition of full size (that of this header), except its body; see vy_op_check_body. */
vyre_status vy_op_check(const vyre_op_definition *op, const char *owner, vyre_error *error);
/* Checks that the body contains the function, and that the function has the signature of the op. */
vyre_status vy_op_check_body(const vyre_op_definition *op, vyre_error *error);
/* Whether any code reads the lowering of an op for this target: true for c and ptx, whose emitters do, and for
 * extensions, whose plug-ins call vyre_dialects_lowering; false for the other built-in targets, whose emitters compile
 * the body, and for extensions with the name of a built-in target. */
int vy_target_has_consumer(vyre_target target);
/* Whether the text is the id, the alias or the `vyre emit` name of a built-in target, in upper or lower case
 * (registry.c). */
int vy_target_resembles_builtin(const char *text);
/* One or more components of an op id. */
int vy_is_dialect_name(const char *text, size_t length);

#endif
