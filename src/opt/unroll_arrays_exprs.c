/* Writing expressions (unroll_arrays_exprs.h). */
#include "opt/unroll_arrays_exprs.h"

#include "ir/eval.h"
#include "ir/walk.h"
#include "opt/constant_fold.h"
#include "opt/pass_manager.h"

/* There is room: each expression becomes one at most. */
static uint32_t push_leaf(vy_unroll_writer *w, uint8_t kind, uint8_t type, uint32_t a, uint64_t bits) {
    vyre_program *made = w->draft.program;
    made->exprs.items[made->exprs.count] =
        (vy_expr){.kind = kind, .type = type, .a = a, .b = VY_NONE, .c = VY_NONE, .bits = bits};
    return made->exprs.count++;
}

void vy_unroll_writer_truncate(vy_unroll_writer *w, uint32_t count) {
    w->draft.program->exprs.count = count;
    if (w->draft.written_exprs > count)
        w->draft.written_exprs = count;
}

uint32_t vy_unroll_writer_literal(vy_unroll_writer *w, uint8_t type, uint64_t bits) {
    return push_leaf(w, VY_EXPR_LITERAL, type, VY_NONE, bits);
}

uint32_t vy_unroll_writer_start(const vy_unroll_writer *w, uint32_t expr) {
    return vy_expr_first(w->draft.program, w->at[expr]);
}

uint32_t vy_unroll_writer_move_back(vy_unroll_writer *w, uint32_t start, uint32_t expr, uint32_t to) {
    vy_fold_slide(w->draft.program, start, expr + 1, to);
    vy_unroll_writer_truncate(w, to + (expr + 1 - start));
    return w->draft.program->exprs.count - 1;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, and by how far values stand where they are used. */
uint64_t vy_unroll_writer_value(const vy_unroll_writer *w, uint32_t expr) {
    const vy_expr *e = &w->p->exprs.items[expr];
    if (e->kind == VY_EXPR_LITERAL)
        return e->bits;
    if (e->kind == VY_EXPR_VARIABLE) {
        uint32_t there = w->plan.there[e->a];
        return there == VY_NONE ? w->bits[e->a] : vy_unroll_writer_value(w, w->p->stmts.items[there].a);
    }
    uint64_t values[3] = {vy_unroll_writer_value(w, e->a), e->b == VY_NONE ? 0 : vy_unroll_writer_value(w, e->b),
                          e->c == VY_NONE ? 0 : vy_unroll_writer_value(w, e->c)};
    return vy_eval_canonical((vyre_op)e->op, (vyre_type)e->type, (vyre_type)w->p->exprs.items[e->a].type, values);
}

uint32_t vy_unroll_writer_element(const vy_unroll_writer *w, uint32_t memory, uint32_t index) {
    uint64_t at = vy_unroll_writer_value(w, index);
    return at < w->p->memories.items[memory].elements ? w->plan.first_element[memory] + (uint32_t)at : VY_NONE;
}

/* A load from what became variables or literals. By the plan its index and its condition are literals, of which nothing is written. What is outside is nowhere reached. */
static void put_element(vy_unroll_writer *w, uint32_t load) {
    const vy_expr *e = &w->p->exprs.items[load];
    uint32_t at =
        e->c == VY_NONE || vy_unroll_writer_value(w, e->c) ? vy_unroll_writer_element(w, e->a, e->b) : VY_NONE;
    uint64_t element = at == VY_NONE ? 0 : w->plan.elements[at];
    if (at == VY_NONE || w->plan.array[e->a] == VY_ARRAY_LITERALS)
        w->at[load] = vy_unroll_writer_literal(w, e->type, element);
    else
        w->at[load] = push_leaf(w, VY_EXPR_VARIABLE, e->type, (uint32_t)element, 0);
}

/* Recursion is bounded by what a tree may become by it (unroll_arrays_plan.c). */
static uint32_t put_replaced(vy_unroll_writer *w, const vy_expr *e) {
    uint32_t there = w->plan.there[e->a];
    if (there == VY_NONE)
        return vy_unroll_writer_literal(w, e->type, w->bits[e->a]);
    vy_unroll_writer_range(w, w->plan.first_expr[there], w->plan.first_expr[there + 1]);
    return w->at[w->p->stmts.items[there].a];
}

/* From what stays an array. */
static uint32_t put_load(vy_unroll_writer *w, const vy_expr *e) {
    vyre_program *program = w->draft.program;
    uint32_t loaded = w->loaded[e - w->p->exprs.items];
    if (loaded) {
        vy_unroll_writer_truncate(w, vy_unroll_writer_start(w, e->b));
        return push_leaf(w, VY_EXPR_VARIABLE, e->type, loaded - 1, 0);
    }
    vy_expr made = *e;
    made.a = w->memories[e->a];
    made.b = w->at[e->b];
    made.c = e->c == VY_NONE ? VY_NONE : w->at[e->c];
    if (made.c != VY_NONE && vy_unroll_writer_is_literal(w, made.c)) {
        int is_loaded = vy_unroll_writer_expr(w, made.c)->bits != 0;
        vy_unroll_writer_truncate(w, is_loaded ? made.c : vy_unroll_writer_start(w, e->b));
        if (!is_loaded)
            return vy_unroll_writer_literal(w, e->type, 0);
        made.c = VY_NONE;
    }
    program->exprs.items[program->exprs.count] = made;
    return program->exprs.count++;
}

/* `and` and `or` where one side is a literal; VY_NONE if none is. */
static uint32_t put_logic(vy_unroll_writer *w, const vy_expr *e) {
    int ends = e->op == VYRE_OP_LOR; /* the value of one side that decides */
    uint32_t literal = vy_unroll_writer_is_literal(w, e->a) ? e->a : e->b;
    if (!vy_unroll_writer_is_literal(w, literal))
        return VY_NONE;
    if ((vy_unroll_writer_expr(w, literal)->bits != 0) == ends) {
        vy_unroll_writer_truncate(w, vy_expr_first(w->draft.program, e->a));
        return vy_unroll_writer_literal(w, e->type, (uint64_t)ends);
    }
    if (literal == e->a)
        return vy_unroll_writer_move_back(w, e->a + 1, e->b, e->a);
    vy_unroll_writer_truncate(w, e->b);
    return e->a;
}

/* An op that is not written yet, with operands of the draft that may be known. VY_NONE: it is to be written. */
static uint32_t put_known(vy_unroll_writer *w, const vy_expr *e) {
    uint64_t bits;
    if (e->op == VYRE_OP_SELECT) {
        vy_unroll_writer_truncate(w, vy_fold_select(w->draft.program, e));
        return w->draft.program->exprs.count - 1;
    }
    if (vy_fold_op(w->draft.program, e, &bits)) {
        vy_unroll_writer_truncate(w, e->a);
        return vy_unroll_writer_literal(w, e->type, bits);
    }
    return e->op == VYRE_OP_LAND || e->op == VYRE_OP_LOR ? put_logic(w, e) : VY_NONE;
}

/* What does not stay what it is, from `expr` on. Returns the last that is written by that. Of an op, everything is written but that it is counted. Seldom enough to stand apart, so that
 * what stays is written without it. */
static __attribute__((noinline)) uint32_t put(vy_unroll_writer *w, uint32_t expr) {
    const vy_expr *e = &w->p->exprs.items[expr];
    vyre_program *made = w->draft.program;
    vy_expr *to = &made->exprs.items[made->exprs.count];
    uint32_t root = w->plan.known_from[expr];
    if (root != VY_NONE) {
        if (w->p->exprs.items[root].kind == VY_EXPR_LOAD)
            put_element(w, root);
        else
            w->at[root] = vy_unroll_writer_literal(w, w->p->exprs.items[root].type, vy_unroll_writer_value(w, root));
        return root;
    }
    uint32_t known = VY_NONE;
    if (e->kind == VY_EXPR_VARIABLE)
        known = put_replaced(w, e);
    else if (e->kind == VY_EXPR_LOAD)
        known = put_load(w, e);
    else if (e->kind == VY_EXPR_OP)
        known = put_known(w, to);
    else
        *to = *e;
    if (e->kind == VY_EXPR_LEN || e->kind == VY_EXPR_ALIGN_OFFSET)
        to->a = w->memories[e->a];
    w->at[expr] = known == VY_NONE ? made->exprs.count++ : known;
    return expr;
}

int vy_unroll_writer_make_room(vy_unroll_writer *w, uint32_t count) {
    vyre_program *made = w->draft.program;
    if (w->draft.failed || vy_irb_is_full(&w->draft, made->exprs.count + count, VY_LIMIT_EXPRESSIONS))
        return 0;
    w->draft.failed = !VY_RESERVE(&made->exprs, count);
    return !w->draft.failed;
}

/* The last operand of an op is what was written last. Most are ops of what is not known, variables and literals, which stay what they are. */
void vy_unroll_writer_range(vy_unroll_writer *w, uint32_t first, uint32_t end) {
    vyre_program *program = w->draft.program;
    const vy_expr *from = w->p->exprs.items;
    vy_expr *made = program->exprs.items; /* there is room: they stay where they are */
    uint32_t *at = w->at, count = program->exprs.count;
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = &from[i];
        vy_expr *to = &made[count];
        if (e->kind == VY_EXPR_OP) {
            uint32_t a = at[e->a];
            *to = *e;
            to->a = a;
            if (e->c != VY_NONE) {
                to->b = at[e->b];
                to->c = count - 1;
            } else if (e->b != VY_NONE) {
                to->b = count - 1;
            }
            if (made[a].kind != VY_EXPR_LITERAL && e->op != VYRE_OP_LAND && e->op != VYRE_OP_LOR) {
                at[i] = count++;
                continue;
            }
        } else if (e->kind == VY_EXPR_VARIABLE && !w->is_replaced[e->a]) {
            *to = *e;
            to->a = w->variables[e->a];
            at[i] = count++;
            continue;
        } else if (e->kind == VY_EXPR_LITERAL && w->plan.known_from[i] == VY_NONE) {
            *to = *e;
            at[i] = count++;
            continue;
        }
        program->exprs.count = count;
        i = put(w, i);
        count = program->exprs.count;
    }
    program->exprs.count = count;
}

vy_symbol vy_unroll_writer_name(vy_unroll_writer *w) {
    vy_symbol name = 0;
    do {
        name = vy_irb_intern_numbered(&w->draft, 'v', ++w->made);
    } while (!w->draft.failed && name < w->p->names.size); /* the original has it */
    return name;
}

void vy_unroll_writer_loads(vy_unroll_writer *w, uint32_t stmt) {
    const vyre_program *p = w->p;
    const vy_stmt *s = &p->stmts.items[stmt];
    uint32_t end =
        w->plan.first_expr[stmt + 1] - (s->kind == VY_STMT_LET); /* one of nothing but a load is such a `let` */
    for (uint32_t i = w->plan.first_expr[stmt]; i < end; i++) {
        const vy_expr *e = &p->exprs.items[i];
        if (e->kind != VY_EXPR_LOAD || w->plan.array[e->a] != VY_ARRAY_STAYS || e->c != VY_NONE)
            continue;
        /* Where others write, a load in an arm is made for those that take it only: another could race. */
        int is_for_some = vy_memory_is_shared(p, e->a) && vy_expr_is_in_arm(p, i, w->plan.first_expr[stmt + 1]);
        if (is_for_some || !vy_unroll_writer_reserve(w, w->plan.exprs[stmt]))
            continue;
        w->loaded[i] = 0;
        vy_unroll_writer_range(w, vy_expr_first(p, i), i + 1);
        w->loaded[i] = 1 + vy_irb_let(&w->draft, vy_unroll_writer_name(w), (vyre_type)e->type, w->at[i]);
    }
}
