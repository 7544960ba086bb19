/* The state of the public builder, shared by builder.c (life cycle, declarations, header) and builder_body.c
 * (expressions, statements).
 *
 * Declarations are buffered until the first statement, so that they may come in any order, and are then written to the
 * draft in the order of model.h. Expressions are buffered in a pool until a statement uses them, since the draft
 * requires them directly before it. After the first error no more is written to the draft, since it is never finished;
 * types are tracked here, so checking continues. */
#ifndef VY_IR_BUILD_BUILDER_INTERNAL_H
#define VY_IR_BUILD_BUILDER_INTERNAL_H

#include "ir/diagnostic_codes.h"
#include "ir/irbuilder.h"
#include "vyre/builder.h"
#include "vyre/program.h"

#define VY_POISON VY_NONE /* index of a handle that resulted from an error; accepted silently */

typedef struct vy_builder_node {
    uint8_t kind; /* vy_expr_kind; a of a variable or memory is an index into the builder's tables */
    uint8_t type;
    uint8_t op, axis;
    uint8_t is_used;
    uint16_t depth; /* operators on the longest path */
    uint32_t scope; /* function where it may be used; VY_NONE = anywhere (literals, ids) */
    uint32_t a, b, c;
    uint64_t bits;
} vy_builder_node;

typedef struct vy_built_variable {
    vy_symbol name;
    uint8_t type, is_mutable, is_param;
    uint32_t scope;
    uint32_t index; /* in the draft; VY_NONE until its declaration is written */
} vy_built_variable;

typedef struct vy_built_memory {
    vy_symbol name;
    uint8_t space, type, access, is_param, is_constant;
    uint32_t scope;
    uint32_t elements;
    uint32_t table; /* constant arrays: in the draft */
    uint32_t size;  /* in the builder's sizes */
    uint32_t index;
} vy_built_memory;

typedef struct vy_built_size {
    uint8_t kind; /* vy_size_kind; a of a param or len is an index into the builder's tables */
    uint8_t is_used;
    uint16_t depth;
    uint32_t a, b;
    uint64_t value;
} vy_built_size;

/* A parameter of a function, in order. */
typedef struct vy_built_param {
    uint32_t is_memory, index; /* into the builder's tables */
} vy_built_param;

/* Functions are scopes 0, 1, …; the program itself is VY_SCOPE_ENTRY. Ranges of the builder's tables are contiguous:
 * only one function is open at a time, and the entry's params are not in `params`. */
#define VY_SCOPE_ENTRY (VY_NONE - 1)
typedef struct vy_built_function {
    vy_symbol name;
    uint32_t first_param, param_count;
    uint32_t first_result, result_count;
} vy_built_function;

typedef struct vy_open_block {
    uint8_t kind; /* vy_stmt_kind */
    uint8_t has_else;
    uint32_t stmt; /* the number of the opening statement, for messages */
} vy_open_block;

struct vyre_builder {
    vy_irb draft;
    vyre_diagnostics *findings; /* created with the first error */
    size_t errors;
    int no_memory;
    uint32_t scope;           /* the open function, or VY_SCOPE_ENTRY */
    int declarations_flushed; /* the declarations of the scope are written */
    uint32_t stmt_count;      /* for messages */
    uint32_t first_memory;    /* of the open function, in memories */
    struct {
        uint8_t kind;
        uint32_t memory, offset, sizes[3];
    } grid;
    VY_VECTOR(vy_builder_node) nodes;
    VY_VECTOR(vy_built_variable) variables;
    VY_VECTOR(vy_built_memory) memories;
    VY_VECTOR(vy_built_size) sizes;
    VY_VECTOR(vy_built_param) params;
    VY_VECTOR(vy_result) results;
    VY_VECTOR(vy_built_function) functions;
    VY_VECTOR(vy_open_block) blocks;
};

/* Reports an error. */
void vy_builder_error(vyre_builder *b, vy_diag_code code, const char *fix, const char *format, ...) VY_PRINTF(4, 5);
/* Records that memory has run out. */
void vy_builder_no_memory(vyre_builder *b);
/* Whether the draft can still become a program. */
static inline int vy_builder_is_valid(const vyre_builder *b) {
    return b->errors == 0 && !b->no_memory;
}
/* Whether a handle resulted from a reported error and is therefore accepted silently. Before the first error such a
 * handle cannot exist: the caller has invented it. */
static inline int vy_builder_is_poisoned(const vyre_builder *b, const vyre_builder *owner, uint32_t index) {
    return owner == b && index == VY_POISON && !vy_builder_is_valid(b);
}
/* The problem with a handle that is not valid in this builder, for messages. */
static inline const char *vy_builder_handle_problem(const vyre_builder *b, const vyre_builder *owner) {
    return owner == b ? "was not created by this builder" : owner ? "belongs to another builder" : "is missing";
}
/* Interns a name in the draft; reports an error if it is NULL unless may_be_empty. `what` describes the named
 * entity. */
vy_symbol vy_builder_intern(vyre_builder *b, const char *name, const char *what, int may_be_empty);
static inline const char *vy_builder_symbol_name(const vyre_builder *b, vy_symbol name) {
    return vy_symbol_name(b->draft.program, name);
}
/* Whether a value is in its enum; reports an error if not. */
int vy_builder_check_enum(vyre_builder *b, unsigned value, unsigned count, const char *what);
/* Whether an op of this level may be used in a program of level source; reports an error if not. */
int vy_builder_check_level(vyre_builder *b, unsigned level, const char *name);

/* The table index of a handle, or VY_POISON: silently if it resulted from an error, else with a report. `user` names
 * its use. */
uint32_t vy_builder_use_memory(vyre_builder *b, vyre_memory memory, const char *user);
/* The same for a value; a computed value is marked as used. */
uint32_t vy_builder_use_value(vyre_builder *b, vyre_value value, const char *user, const char *role);
/* "`i` (u32)" or "value 12 (add, f32)", in the caller's buffer. */
const char *vy_builder_describe(const vyre_builder *b, uint32_t node, char buffer[96]);

/* Adds a variable and returns a leaf that reads it. */
vyre_value vy_builder_add_variable(vyre_builder *b, vy_symbol name, vyre_type type, int is_mutable, int is_param,
                                   uint32_t index);

/* Writes the declarations of the scope to the draft, once: before its first statement or at its end. */
void vy_builder_flush_declarations(vyre_builder *b);

/* Finishing: validates a program under construction and computes its fingerprint. */
/* Validates (src/ir/validate), derives the feature flags, computes the fingerprint and returns the program with one
 * reference. On failure the draft is freed, the diagnostics are in `diagnostics` (optional), and error summarises them.
 * source (optional) is retained. */
vyre_status vy_irb_finish(vy_irb *draft, vy_source *source, vyre_diagnostics *diagnostics, vyre_program **out,
                          vyre_error *error);

/* As vyre_wire_decode, for bytes that this library has encoded from a valid program: computes no digest and does not
 * verify, and the program has no fingerprint (skip_verify). */
vyre_status vy_wire_decode_unverified(const void *data, size_t size, vyre_program **out, vyre_error *error);

/* Validates a finished program that was not validated (skip_verify), after the last of several steps. Fails as
 * vy_validate does; the program stays. */
vyre_status vy_program_verify(vyre_program *program, vyre_error *error);

/* The same for a program of level legal that is only compiled: checks the declarations, which lowering adds until they
 * exceed a limit, and relies on the steps for the rest. Size and depth were checked when each program was finished.
 * Before other uses, the program must be verified in full. */
vyre_status vy_program_verify_for_codegen(vyre_program *program, vyre_error *error);

/* As vy_program_verify, and computes the fingerprint if it is missing. Required before the program leaves the
 * transform. Fails as vy_validate and vy_fingerprint do. */
vyre_status vy_program_finalize(vyre_program *program, vyre_error *error);

/* vyre_wire_decode for bytes that a process of this library has made of a valid program: the program is not validated
 * and has no fingerprint (skip_verify). The structure of the bytes and their digest are checked. */
vyre_status vy_wire_decode_trusted(const void *data, size_t size, vyre_program **out, vyre_error *error);

/* The inliner for compiler passes; vyre_program_inline is its public form. */
/* As vyre_program_inline, without verification: for an intermediate step of a transform (skip_verify). */
vyre_status vy_program_inline_unverified(const vyre_program *program, vyre_program **out, vyre_error *error);

#endif
