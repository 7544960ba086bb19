/* Writing expressions (write_out_trees.h). */
#include "transform/write_out_trees.h"

#include "ir/validate/check.h"
#include "transform/optimize_fold.h"

/* There is room: each expression becomes one at most. `a` is what it refers to. */
static uint32_t push(vy_writer *w, const vy_expr *e, uint32_t a) {
    vyre_program *made = w->draft.program;
    vy_expr *to = &made->exprs.items[made->exprs.count];
    *to = *e;
    to->a = a;
    return made->exprs.count++;
}

static uint32_t push_leaf(vy_writer *w, uint8_t kind, uint8_t type, uint32_t a, uint64_t bits) {
    vyre_program *made = w->draft.program;
    made->exprs.items[made->exprs.count] =
        (vy_expr){.kind = kind, .type = type, .a = a, .b = VY_NONE, .c = VY_NONE, .bits = bits};
    return made->exprs.count++;
}

void vy_writer_take_back(vy_writer *w, uint32_t count) {
    w->draft.program->exprs.count = count;
    if (w->draft.written_exprs > count)
        w->draft.written_exprs = count;
}

uint32_t vy_writer_literal(vy_writer *w, uint8_t type, uint64_t bits) {
    return push_leaf(w, VY_EXPR_LITERAL, type, VY_NONE, bits);
}

uint32_t vy_writer_start(const vy_writer *w, uint32_t expr) {
    return vy_expr_first(w->draft.program, w->at[expr]);
}

uint32_t vy_writer_move_back(vy_writer *w, uint32_t start, uint32_t expr, uint32_t to) {
    vy_fold_slide(w->draft.program, start, expr + 1, to);
    vy_writer_take_back(w, to + (expr + 1 - start));
    return w->draft.program->exprs.count - 1;
}

/* Recursion is bounded by what a tree may become by it (write_out_plan.c). */
static uint32_t put_variable(vy_writer *w, const vy_expr *e) {
    uint32_t there = w->plan.there[e->a];
    if (there != VY_NONE) {
        vy_writer_range(w, w->plan.first_expr[there], w->plan.first_expr[there + 1]);
        return w->at[w->p->stmts.items[there].a];
    }
    if (w->is_literal[e->a])
        return vy_writer_literal(w, e->type, w->bits[e->a]);
    return push(w, e, w->variables[e->a]);
}

/* An element of what became variables or literals. By the plan its index and its condition are literals. What is outside is nowhere reached. */
static uint32_t put_element(vy_writer *w, const vy_expr *e) {
    const vy_memory *m = &w->p->memories.items[e->a];
    uint64_t index = vy_writer_expr(w, w->at[e->b])->bits;
    int is_loaded = (e->c == VY_NONE || vy_writer_expr(w, w->at[e->c])->bits) && index < m->elements;
    uint64_t element = is_loaded ? w->plan.elements[w->plan.first_element[e->a] + index] : 0;
    vy_writer_take_back(w, w->at[e->b]);
    if (!is_loaded || w->plan.array[e->a] == VY_ARRAY_LITERALS)
        return vy_writer_literal(w, e->type, element);
    return push_leaf(w, VY_EXPR_VARIABLE, e->type, (uint32_t)element, 0);
}

static uint32_t put_load(vy_writer *w, const vy_expr *e) {
    vy_expr made = *e;
    uint32_t loaded = w->loaded[e - w->p->exprs.items];
    if (w->plan.array[e->a] != VY_ARRAY_STAYS)
        return put_element(w, e);
    if (loaded) {
        vy_writer_take_back(w, vy_writer_start(w, e->b));
        return push_leaf(w, VY_EXPR_VARIABLE, e->type, loaded - 1, 0);
    }
    made.b = w->at[e->b];
    made.c = e->c == VY_NONE ? VY_NONE : w->at[e->c];
    if (made.c != VY_NONE && vy_writer_is_literal(w, made.c)) {
        int is_loaded = vy_writer_expr(w, made.c)->bits != 0;
        vy_writer_take_back(w, is_loaded ? made.c : vy_writer_start(w, e->b));
        if (!is_loaded)
            return vy_writer_literal(w, e->type, 0);
        made.c = VY_NONE;
    }
    return push(w, &made, w->memories[e->a]);
}

/* `and` and `or` where one side is a literal; VY_NONE if none is. */
static uint32_t put_logic(vy_writer *w, const vy_expr *e) {
    int ends = e->op == VYRE_OP_LOR; /* the value of one side that decides */
    uint32_t literal = vy_writer_is_literal(w, e->a) ? e->a : e->b;
    if (!vy_writer_is_literal(w, literal))
        return VY_NONE;
    if ((vy_writer_expr(w, literal)->bits != 0) == ends) {
        vy_writer_take_back(w, vy_expr_first(w->draft.program, e->a));
        return vy_writer_literal(w, e->type, (uint64_t)ends);
    }
    if (literal == e->a)
        return vy_writer_move_back(w, e->a + 1, e->b, e->a);
    vy_writer_take_back(w, e->b);
    return e->a;
}

/* An op that is not written yet, with operands of the draft that may be known. VY_NONE: it is to be written. */
static uint32_t put_known(vy_writer *w, const vy_expr *e) {
    uint64_t bits;
    if (e->op == VYRE_OP_SELECT) {
        vy_writer_take_back(w, vy_fold_select(w->draft.program, e));
        return w->draft.program->exprs.count - 1;
    }
    if (vy_fold_op(w->draft.program, e, &bits)) {
        vy_writer_take_back(w, e->a);
        return vy_writer_literal(w, e->type, bits);
    }
    return e->op == VYRE_OP_LAND || e->op == VYRE_OP_LOR ? put_logic(w, e) : VY_NONE;
}

static uint32_t put_op(vy_writer *w, const vy_expr *e) {
    vyre_program *made = w->draft.program;
    vy_expr *to = &made->exprs.items[made->exprs.count];
    *to = *e;
    to->a = w->at[e->a];
    to->b = e->b == VY_NONE ? VY_NONE : w->at[e->b];
    to->c = e->c == VY_NONE ? VY_NONE : w->at[e->c];
    if (vy_writer_is_literal(w, to->a) || e->op == VYRE_OP_LAND || e->op == VYRE_OP_LOR) {
        uint32_t known = put_known(w, to);
        if (known != VY_NONE)
            return known;
    }
    return made->exprs.count++;
}

/* What is asked for first is what most are. */
static uint32_t put(vy_writer *w, const vy_expr *e) {
    if (e->kind == VY_EXPR_OP)
        return put_op(w, e);
    if (e->kind == VY_EXPR_VARIABLE)
        return put_variable(w, e);
    if (e->kind == VY_EXPR_LOAD)
        return put_load(w, e);
    int is_of_memory = e->kind == VY_EXPR_LEN || e->kind == VY_EXPR_MISALIGNMENT;
    return push(w, e, is_of_memory ? w->memories[e->a] : e->a);
}

int vy_writer_make_room(vy_writer *w, uint32_t count) {
    vyre_program *made = w->draft.program;
    if (w->draft.failed || vy_draft_is_full(&w->draft, made->exprs.count + count, VY_LIMIT_EXPRESSIONS))
        return 0;
    w->draft.failed = !VY_RESERVE(&made->exprs, count);
    return !w->draft.failed;
}

void vy_writer_range(vy_writer *w, uint32_t first, uint32_t end) {
    const vy_expr *exprs = w->p->exprs.items;
    uint32_t *at = w->at;
    for (uint32_t i = first; i < end; i++)
        at[i] = put(w, &exprs[i]);
}

vy_name vy_writer_name(vy_writer *w) {
    vy_name name = 0;
    do {
        name = vy_draft_numbered(&w->draft, 'v', ++w->made);
    } while (!w->draft.failed && name < w->p->names.size); /* the original has it */
    return name;
}

/* The first expression of a tree of the original. */
static uint32_t first_of(const vyre_program *p, uint32_t expr) {
    for (;;) {
        const vy_expr *e = &p->exprs.items[expr];
        if (e->kind != VY_EXPR_OP && e->kind != VY_EXPR_LOAD)
            return expr;
        expr = e->kind == VY_EXPR_OP ? e->a : e->b;
    }
}

void vy_writer_loads(vy_writer *w, uint32_t stmt) {
    const vyre_program *p = w->p;
    const vy_stmt *s = &p->stmts.items[stmt];
    uint32_t end =
        w->plan.first_expr[stmt + 1] - (s->kind == VY_STMT_LET); /* one of nothing but a load is such a `let` */
    for (uint32_t i = w->plan.first_expr[stmt]; i < end; i++) {
        const vy_expr *e = &p->exprs.items[i];
        if (e->kind != VY_EXPR_LOAD || w->plan.array[e->a] != VY_ARRAY_STAYS || e->c != VY_NONE ||
            !vy_writer_reserve(w, w->plan.exprs[stmt]))
            continue;
        w->loaded[i] = 0;
        vy_writer_range(w, first_of(p, i), i + 1);
        w->loaded[i] = 1 + vy_draft_let(&w->draft, vy_writer_name(w), (vyre_type)e->type, w->at[i]);
    }
}
