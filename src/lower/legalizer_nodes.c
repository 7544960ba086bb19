/* Trees (legalizer_nodes.h). */
#include "lower/legalizer_nodes.h"


uint32_t vy_legalizer_add(vy_legalizer *rw, const vy_expr *e, unsigned depth) {
    if (rw->copy.draft.failed)
        return VY_NONE;
    if (!VY_RESERVE(&rw->trees, 1) || !VY_RESERVE(&rw->depths, 1)) {
        rw->copy.draft.failed = 1;
        return VY_NONE;
    }
    rw->trees.items[rw->trees.count] = *e;
    rw->depths.items[rw->depths.count++] = (uint8_t)depth;
    return rw->trees.count++;
}

uint32_t vy_legalizer_local_index(vy_legalizer *rw) {
    return vy_legalizer_add(rw,
                            &(vy_expr){.kind = VY_EXPR_BUILTIN,
                                       .type = VYRE_TYPE_U32,
                                       .op = VYRE_BUILTIN_LOCAL_INDEX,
                                       .a = VY_NONE,
                                       .b = VY_NONE,
                                       .c = VY_NONE},
                            0);
}

vyre_type vy_legalizer_type(const vy_legalizer *rw, uint32_t tree) {
    return tree == VY_NONE ? VYRE_TYPE_U32 : (vyre_type)rw->trees.items[tree].type;
}

uint32_t vy_legalizer_literal(vy_legalizer *rw, vyre_type type, uint64_t bits) {
    return vy_legalizer_add(
        rw,
        &(vy_expr){
            .kind = VY_EXPR_LITERAL, .type = (uint8_t)type, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .bits = bits},
        0);
}

int vy_legalizer_is_literal(const vy_legalizer *rw, uint32_t tree, uint64_t *bits) {
    if (tree == VY_NONE || rw->trees.items[tree].kind != VY_EXPR_LITERAL)
        return 0;
    *bits = rw->trees.items[tree].bits;
    return 1;
}

uint32_t vy_legalizer_variable(vy_legalizer *rw, uint32_t variable) {
    if (variable == VY_NONE || variable >= rw->copy.draft.program->variables.count)
        return VY_NONE;
    return vy_legalizer_add(rw,
                            &(vy_expr){.kind = VY_EXPR_VARIABLE,
                                       .type = rw->copy.draft.program->variables.items[variable].type,
                                       .a = variable,
                                       .b = VY_NONE,
                                       .c = VY_NONE},
                            0);
}

uint32_t vy_legalizer_reuse(vy_legalizer *rw, uint32_t leaf) {
    if (leaf == VY_NONE)
        return VY_NONE;
    vy_expr e = rw->trees.items[leaf];
    return vy_legalizer_add(rw, &e, 0);
}

/* Recursion is bounded by VY_LEGALIZER_MAX_DEPTH and the depth of the library's expressions. */
uint32_t vy_legalizer_append(vy_legalizer *rw, uint32_t tree) {
    if (tree == VY_NONE)
        return VY_NONE;
    vy_expr e = rw->trees.items[tree];
    if (e.kind == VY_EXPR_OP) {
        e.a = vy_legalizer_append(rw, e.a);
        e.b = vy_legalizer_append(rw, e.b);
        e.c = vy_legalizer_append(rw, e.c);
    } else if (e.kind == VY_EXPR_LOAD) {
        e.b = vy_legalizer_append(rw, e.b);
        e.c = vy_legalizer_append(rw, e.c);
    }
    return vy_irb_expr(&rw->copy.draft, &e);
}

vy_symbol vy_legalizer_name(vy_legalizer *rw, const char *text) {
    enum { KEPT = 100 }; /* of the text */
    char name[VY_LIMIT_NAME + 1];
    size_t length;
    do
        length = vy_name_suffixed(name, text, KEPT, ++rw->fresh);
    while (vy_intern_pool_find(&rw->from->names, name, length) != VY_SYMBOL_INVALID);
    return vy_irb_intern(&rw->copy.draft, name, length);
}

uint32_t vy_legalizer_bind(vy_legalizer *rw, uint8_t kind, const char *name, uint32_t tree) {
    vyre_type type = vy_legalizer_type(rw, tree);
    if (tree == VY_NONE)
        return VY_NONE;
    uint32_t value = vy_legalizer_append(rw, tree);
    vy_symbol named = vy_legalizer_name(rw, name);
    uint32_t variable = kind == VY_STMT_VAR ? vy_irb_var(&rw->copy.draft, named, type, value)
                                            : vy_irb_let(&rw->copy.draft, named, type, value);
    return vy_legalizer_variable(rw, variable);
}

uint32_t vy_legalizer_materialize(vy_legalizer *rw, uint32_t tree, const char *name) {
    return tree == VY_NONE || vy_legalizer_is_leaf(rw, tree) ? tree : vy_legalizer_bind(rw, VY_STMT_LET, name, tree);
}

static unsigned depth_of(const vy_legalizer *rw, uint32_t tree) {
    return tree == VY_NONE ? 0 : rw->depths.items[tree];
}

/* A node over the operands of e, which are trees. */
uint32_t vy_legalizer_node(vy_legalizer *rw, vy_expr e) {
    uint32_t *operands[3] = {e.kind == VY_EXPR_OP ? &e.a : &e.b, &e.b, &e.c};
    unsigned depth = 0;
    for (int i = 0; i < 3; i++) {
        if (depth_of(rw, *operands[i]) >= VY_LEGALIZER_MAX_DEPTH)
            *operands[i] = vy_legalizer_materialize(rw, *operands[i], "deep");
        if (depth_of(rw, *operands[i]) > depth)
            depth = depth_of(rw, *operands[i]);
    }
    return vy_legalizer_add(rw, &e, depth + 1);
}

uint32_t vy_legalizer_op(vy_legalizer *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    unsigned arity = vyre_op_get(op)->arity;
    if (a == VY_NONE || (arity > 1 && b == VY_NONE) || (arity > 2 && c == VY_NONE))
        return VY_NONE;
    uint32_t folded = vy_legalizer_fold(rw, op, type, a, b, c);
    if (folded != VY_NONE)
        return folded;
    return vy_legalizer_node(
        rw, (vy_expr){.kind = VY_EXPR_OP, .type = (uint8_t)type, .op = (uint8_t)op, .a = a, .b = b, .c = c});
}

uint32_t vy_legalizer_cast(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    return vy_legalizer_type(rw, tree) == type ? tree : vy_legalizer_op1(rw, VYRE_OP_CAST, type, tree);
}
