/* The state of inlining, and bodies: what inline.c needs of inline_body.c, and of nobody else.
 *
 * What must stay true: a name is visible (`visible`, `declared`) from its declaration to the end of its block, and no declaration takes a visible one. A name of the draft counts only as long as draft.failed
 * is not set. */
#ifndef VY_IR_BUILD_INLINE_BODY_H
#define VY_IR_BUILD_INLINE_BODY_H

#include "ir/irbuilder.h"

typedef struct vy_inliner {
    const vyre_program *from;
    vy_irb draft;
    uint32_t *map_variable,
        *map_memory;            /* from indices of `from` to those of the draft; a function's change with each call */
    uint8_t *needed;            /* functions that the current root calls, directly or not */
    VY_VECTOR(vy_arg) args;     /* of the statement being copied */
    VY_VECTOR(uint8_t) visible; /* by name of the draft */
    VY_VECTOR(vy_symbol) declared; /* visible names of the current function, innermost last */
    int over_limit;
    int skip_verify; /* of the draft */
} vy_inliner;

/* How the body being copied came here. */
typedef struct vy_inline_frame {
    const vy_function *function;
    int is_call;      /* else it is the root: returns stay */
    int in_loop;      /* returns must leave `while true` */
    uint32_t results; /* first variable that takes the results; VY_NONE if nobody wants them */
    uint32_t flag;    /* of the innermost loop of the body around the current statement, if returns leave it */
    uint32_t loops;   /* loops of the body around the current statement */
    vy_position call; /* where glue comes from */
} vy_inline_frame;

/* A name of the source, in the draft. */
vy_symbol vy_inline_intern(vy_inliner *in, vy_symbol name);
/* The text, or the text with the first suffix that makes a free name. avoid (optional) lists more names that are not free. */
vy_symbol vy_inline_unique_name(vy_inliner *in, const char *text, const vy_intern_pool *avoid);
void vy_inline_declare(vy_inliner *in, vy_symbol name);
/* What was declared since so many were is visible no longer. */
void vy_inline_end_scope(vy_inliner *in, uint32_t mark);

/* How many memories of a function are parameters: its first. */
uint32_t vy_inline_memory_params(const vyre_program *p, const vy_function *f);
/* Whether the draft has grown past what a program may have, or has failed. */
int vy_inline_is_over_limit(vy_inliner *in);

/* The statements [first, end) of the source, with their calls replaced. Recursion is bounded by VY_LIMIT_NESTING and VY_LIMIT_CALL_DEPTH. */
void vy_inline_block(vy_inliner *in, vy_inline_frame *frame, uint32_t first, uint32_t end);

#endif
