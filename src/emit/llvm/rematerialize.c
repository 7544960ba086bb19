/* Rematerialisation: a cheap `let` is recomputed in each barrier region that uses it, instead of being spilled.
 *
 * A `let` is cheap if it takes fewer than CHEAP integer ops, without divisions, over ids, lengths, params, literals
 * and other rematerialisable lets. Sound because its operands do not change while it is in scope: they are immutable,
 * and it loads nothing. */
#include "emit/llvm/emitter.h"

enum { CHEAP = 6 }; /* operations */

static int is_cheap(vyre_op op, vyre_type type) {
    return vyre_type_class(type) != VYRE_CLASS_FLOAT && op != VYRE_OP_DIV && op != VYRE_OP_REM;
}

/* Operations it takes, or more than CHEAP. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static uint32_t cost_of(const vy_emitter *e, uint32_t expr) {
    const vy_expr *x = expr == VY_NONE ? NULL : &e->program->exprs.items[expr];
    uint64_t stride;
    if (!x)
        return 0;
    switch ((vy_expr_kind)x->kind) {
    case VY_EXPR_LITERAL:
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
    case VY_EXPR_BUILTIN:
        return 0;
    case VY_EXPR_VARIABLE:
        if (x->a - e->body->first_variable < e->program->param_count)
            return 0;
        if (e->slots[x->a].storage == VY_STORAGE_SCALAR)
            return vy_variable_stride(e->uniform, x->a, &stride) ? 0 : CHEAP + 1;
        return e->slots[x->a].cost;
    case VY_EXPR_OP:
        if (!is_cheap((vyre_op)x->op, (vyre_type)x->type))
            return CHEAP + 1;
        return 1 + cost_of(e, x->a) + cost_of(e, x->b) + cost_of(e, x->c);
    default:
        return CHEAP + 1;
    }
}

void vy_llvm_find_rematerializable(vy_emitter *e) {
    for (uint32_t i = 0; i < e->program->variables.count; i++) {
        e->slots[i].cost = CHEAP + 1;
        e->slots[i].made_of = VY_NONE;
    }
    for (uint32_t i = e->body->first_stmt; i < e->body->end_stmt; i++) {
        const vy_stmt *s = &e->program->stmts.items[i];
        if (s->kind != VY_STMT_LET || e->slots[s->variable].storage == VY_STORAGE_SCALAR)
            continue;
        uint32_t cost = cost_of(e, s->a);
        e->slots[s->variable].cost = (uint8_t)(cost < CHEAP ? cost : CHEAP + 1);
        e->slots[s->variable].made_of = s->a;
    }
}

/* What it is made of is made again, too. Recursion is bounded by CHEAP and VY_LIMIT_EXPRESSION_DEPTH. */
static void make_again(vy_emitter *e, uint32_t expr) {
    const vy_expr *x = expr == VY_NONE ? NULL : &e->program->exprs.items[expr];
    if (x && x->kind == VY_EXPR_VARIABLE)
        (void)vy_llvm_rematerialize(e, x->a);
    if (!x || x->kind != VY_EXPR_OP)
        return;
    make_again(e, x->a);
    make_again(e, x->b);
    make_again(e, x->c);
}

int vy_llvm_rematerialize(vy_emitter *e, uint32_t variable) {
    vy_value_slot *slot = &e->slots[variable];
    if (slot->cost > CHEAP || slot->storage == VY_STORAGE_SCALAR)
        return 0;
    if (slot->storage != VY_STORAGE_REMAT) {
        slot->storage = VY_STORAGE_REMAT;
        make_again(e, slot->made_of);
    }
    return 1;
}
