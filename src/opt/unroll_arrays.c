/* Full unrolling of loops over private arrays (unroll_arrays.h), as planned by unroll_arrays_plan.c.
 *
 * Invariant: a declaration in an unrolled iteration or in a region gets a new name, since it moves to the enclosing
 * block. If the iterations of a loop become one sequence of statements, its variables are deferred ("held"): an
 * assignment only records the name of the new value, and the variable itself is assigned once, after the last
 * iteration. */
#include "opt/unroll_arrays.h"

#include "base/status.h"
#include "ir/build/builder_internal.h"
#include "ir/eval.h"
#include "ir/irbuilder.h"
#include "ir/walk.h"
#include "opt/constant_fold.h"
#include "opt/pass_manager.h"

/* ---- expressions ---- Operands precede their op, and trees are in the order of their statements. So the trees of a
 * statement are written in sequence; if one folds to a literal, its operands, which were written last, are removed
 * again. */

/* A tree in the form in which it is written. */
typedef struct tree_template {
    uint32_t first, count; /* in unroll_writer.patterns; count 0: no template */
    uint32_t is_made;
} tree_template;

typedef struct unroll_writer {
    const vyre_program *p;
    vy_unroll_arrays_plan plan;
    vy_irb draft;
    /* By variable: its variable of the draft, or its literal, or an inlined tree (plan.there). */
    uint32_t *variables;
    uint64_t *bits;
    uint8_t *is_replaced; /* by a literal or a tree */
    /* By variable that is held: its current value has another name, and the assignment is deferred. */
    uint32_t *real; /* the variable of the draft; VY_NONE: it has none */
    uint8_t *is_held;
    uint32_t *held; /* list of the held variables */
    uint32_t held_count;
    uint32_t *memories; /* by memory: its memory of the draft */
    uint32_t *at;       /* by expression: its index in the draft */
    uint32_t *loaded;   /* by expression: 1 + the variable of the draft that holds the loaded value; 0: none */
    VY_VECTOR(vy_expr) patterns;
    tree_template *pattern_of; /* by statement with one tree, in a loop whose variables are held */
    vy_arena arena;
    uint32_t made;     /* number of new names */
    uint32_t moved;    /* nesting of blocks that were moved out of their original block */
    uint32_t holds;    /* number of enclosing loops whose variables are held */
    uint8_t has_ended; /* the last statement of the block was a jump */
} unroll_writer;

/* Ensures capacity for `count` more expressions; 0 on failure. Called for every statement; usually the capacity
 * suffices. */
static int make_room(unroll_writer *w, uint32_t count) {
    vyre_program *made = w->draft.program;
    if (w->draft.failed || vy_irb_is_full(&w->draft, made->exprs.count + count, VY_LIMIT_EXPRESSIONS))
        return 0;
    w->draft.failed = !VY_RESERVE(&made->exprs, count);
    return !w->draft.failed;
}

static inline int unroll_writer_reserve(unroll_writer *w, uint32_t count) {
    const vyre_program *made = w->draft.program;
    uint32_t end = made->exprs.count + count;
    return (!w->draft.failed && end < VY_LIMIT_EXPRESSIONS && end <= made->exprs.capacity) || make_room(w, count);
}

static inline vy_expr *unroll_writer_expr(const unroll_writer *w, uint32_t expr) {
    return &w->draft.program->exprs.items[expr];
}

static inline int unroll_writer_is_literal(const unroll_writer *w, uint32_t expr) {
    return unroll_writer_expr(w, expr)->kind == VY_EXPR_LITERAL;
}

/* Requires capacity: the caller has reserved one expression per source expression. */
static uint32_t push_leaf(unroll_writer *w, uint8_t kind, uint8_t type, uint32_t a, uint64_t bits) {
    vyre_program *made = w->draft.program;
    made->exprs.items[made->exprs.count] =
        (vy_expr){.kind = kind, .type = type, .a = a, .b = VY_NONE, .c = VY_NONE, .bits = bits};
    return made->exprs.count++;
}

/* Removes all expressions from `count` on. */
static void unroll_writer_truncate(unroll_writer *w, uint32_t count) {
    w->draft.program->exprs.count = count;
    if (w->draft.written_exprs > count)
        w->draft.written_exprs = count;
}

/* Requires capacity. */
static uint32_t unroll_writer_literal(unroll_writer *w, uint8_t type, uint64_t bits) {
    return push_leaf(w, VY_EXPR_LITERAL, type, VY_NONE, bits);
}

/* The first expression of the tree of `expr`, which was written last. */
static uint32_t unroll_writer_start(const unroll_writer *w, uint32_t expr) {
    return vy_expr_first(w->draft.program, w->at[expr]);
}

/* Moves the tree [start, expr] of the draft, which is the last one, to `to`. Returns its root. */
static uint32_t move_back(unroll_writer *w, uint32_t start, uint32_t expr, uint32_t to) {
    vy_fold_slide(w->draft.program, start, expr + 1, to);
    unroll_writer_truncate(w, to + (expr + 1 - start));
    return w->draft.program->exprs.count - 1;
}

/* The value of a tree of the original that is a literal here. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, and
 * by the depth to which values are inlined. */
static uint64_t unroll_writer_value(const unroll_writer *w, uint32_t expr) {
    const vy_expr *e = vy_expr_at(w->p, expr);
    if (e->kind == VY_EXPR_LITERAL)
        return e->bits;
    if (e->kind == VY_EXPR_VARIABLE) {
        uint32_t there = w->plan.there[e->a];
        return there == VY_NONE ? w->bits[e->a] : unroll_writer_value(w, vy_stmt_at(w->p, there)->a);
    }
    uint64_t values[3] = {unroll_writer_value(w, e->a), e->b == VY_NONE ? 0 : unroll_writer_value(w, e->b),
                          e->c == VY_NONE ? 0 : unroll_writer_value(w, e->c)};
    return vy_op_value(w->p, e, values);
}

/* The element, at an index that is a literal here, of an array that became variables or literals; VY_NONE: out of
 * bounds. */
static uint32_t unroll_writer_element(const unroll_writer *w, uint32_t memory, uint32_t index) {
    uint64_t at = unroll_writer_value(w, index);
    return at < vy_memory_at(w->p, memory)->elements ? w->plan.first_element[memory] + (uint32_t)at : VY_NONE;
}

/* A load from an array that became variables or literals. The plan guarantees that its index and condition are
 * literals, for which nothing is written. An out-of-bounds load is unreachable. */
static void put_element(unroll_writer *w, uint32_t load) {
    const vy_expr *e = vy_expr_at(w->p, load);
    uint32_t at = e->c == VY_NONE || unroll_writer_value(w, e->c) ? unroll_writer_element(w, e->a, e->b) : VY_NONE;
    uint64_t element = at == VY_NONE ? 0 : w->plan.elements[at];
    if (at == VY_NONE || w->plan.array[e->a] == VY_ARRAY_LITERALS)
        w->at[load] = unroll_writer_literal(w, e->type, element);
    else
        w->at[load] = push_leaf(w, VY_EXPR_VARIABLE, e->type, (uint32_t)element, 0);
}

static void unroll_writer_range(unroll_writer *w, uint32_t first, uint32_t end);

/* Recursion is bounded by the plan's limit on the size of a tree after inlining (unroll_arrays_plan.c). */
static uint32_t put_replaced(unroll_writer *w, const vy_expr *e) {
    uint32_t there = w->plan.there[e->a];
    if (there == VY_NONE)
        return unroll_writer_literal(w, e->type, w->bits[e->a]);
    unroll_writer_range(w, w->plan.first_expr[there], w->plan.first_expr[there + 1]);
    return w->at[vy_stmt_at(w->p, there)->a];
}

/* A load from an array that remains. */
static uint32_t put_load(unroll_writer *w, const vy_expr *e) {
    vyre_program *program = w->draft.program;
    uint32_t loaded = w->loaded[e - w->p->exprs.items];
    if (loaded) {
        unroll_writer_truncate(w, unroll_writer_start(w, e->b));
        return push_leaf(w, VY_EXPR_VARIABLE, e->type, loaded - 1, 0);
    }
    vy_expr made = *e;
    made.a = w->memories[e->a];
    made.b = w->at[e->b];
    made.c = e->c == VY_NONE ? VY_NONE : w->at[e->c];
    if (made.c != VY_NONE && unroll_writer_is_literal(w, made.c)) {
        int is_loaded = unroll_writer_expr(w, made.c)->bits != 0;
        unroll_writer_truncate(w, is_loaded ? made.c : unroll_writer_start(w, e->b));
        if (!is_loaded)
            return unroll_writer_literal(w, e->type, 0);
        made.c = VY_NONE;
    }
    const vy_expr *index = unroll_writer_expr(w, made.b);
    uint64_t bits;
    if (unroll_writer_is_literal(w, made.b) &&
        vy_fold_constant_element(program, &made, index->type, index->bits, &bits)) {
        unroll_writer_truncate(w, made.b);
        return unroll_writer_literal(w, e->type, bits);
    }
    program->exprs.items[program->exprs.count] = made;
    return program->exprs.count++;
}

/* Simplifies `and` and `or` with a literal operand; VY_NONE if neither operand is one. */
static uint32_t put_logic(unroll_writer *w, const vy_expr *e) {
    int ends = e->op == VYRE_OP_LOR; /* the value of an operand that decides the result */
    uint32_t literal = unroll_writer_is_literal(w, e->a) ? e->a : e->b;
    if (!unroll_writer_is_literal(w, literal))
        return VY_NONE;
    if ((unroll_writer_expr(w, literal)->bits != 0) == ends) {
        unroll_writer_truncate(w, vy_expr_first(w->draft.program, e->a));
        return unroll_writer_literal(w, e->type, (uint64_t)ends);
    }
    if (literal == e->a)
        return move_back(w, e->a + 1, e->b, e->a);
    unroll_writer_truncate(w, e->b);
    return e->a;
}

/* Folds an op whose operands are in the draft and which is not written yet. VY_NONE: it must be written. */
static uint32_t put_known(unroll_writer *w, const vy_expr *e) {
    uint64_t bits;
    if (e->op == VYRE_OP_SELECT) {
        unroll_writer_truncate(w, vy_fold_select(w->draft.program, e));
        return w->draft.program->exprs.count - 1;
    }
    if (vy_fold_op(w->draft.program, e, &bits)) {
        unroll_writer_truncate(w, e->a);
        return unroll_writer_literal(w, e->type, bits);
    }
    return e->op == VYRE_OP_LAND || e->op == VYRE_OP_LOR ? put_logic(w, e) : VY_NONE;
}

/* Writes the expression at `expr` that is not copied unchanged. Returns the last source expression that it covers.
 * For an op, writes everything, but the caller counts it. Not inlined because it is rare, which keeps the main loop
 * small. */
static __attribute__((noinline)) uint32_t put(unroll_writer *w, uint32_t expr) {
    const vy_expr *e = vy_expr_at(w->p, expr);
    vyre_program *made = w->draft.program;
    vy_expr *to = &made->exprs.items[made->exprs.count];
    uint32_t root = w->plan.known_from[expr];
    if (root != VY_NONE) {
        if (vy_expr_at(w->p, root)->kind == VY_EXPR_LOAD)
            put_element(w, root);
        else
            w->at[root] = unroll_writer_literal(w, vy_expr_at(w->p, root)->type, unroll_writer_value(w, root));
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

/* Writes the expressions [first, end), whole trees. Requires capacity. The last operand of an op is the expression
 * written last. Most expressions are ops of non-literals, variables and literals, which are copied unchanged. */
static void unroll_writer_range(unroll_writer *w, uint32_t first, uint32_t end) {
    vyre_program *program = w->draft.program;
    const vy_expr *from = w->p->exprs.items;
    vy_expr *made = program->exprs.items; /* the capacity is reserved, so the array is not reallocated */
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

/* A name that does not occur in the original. */
static vy_symbol unroll_writer_name(unroll_writer *w) {
    vy_symbol name = 0;
    do {
        name = vy_irb_intern_numbered(&w->draft, 'v', ++w->made);
    } while (!w->draft.failed && name < w->p->names.size); /* the name occurs in the original */
    return name;
}

/* Writes the loads of a statement from arrays that remain as `let`s before it. Load fusion then only removes a
 * `let`, and the statement stays unchanged. */
static void unroll_writer_loads(unroll_writer *w, uint32_t stmt) {
    const vyre_program *p = w->p;
    const vy_stmt *s = vy_stmt_at(p, stmt);
    uint32_t end =
        w->plan.first_expr[stmt + 1] - (s->kind == VY_STMT_LET); /* a `let` whose value is just a load already has
                                                                  * that form */
    for (uint32_t i = w->plan.first_expr[stmt]; i < end; i++) {
        const vy_expr *e = vy_expr_at(p, i);
        if (e->kind != VY_EXPR_LOAD || w->plan.array[e->a] != VY_ARRAY_STAYS || e->c != VY_NONE)
            continue;
        /* If other invocations may write the memory, a load in an arm must not be speculated: it could race. */
        int is_for_some = vy_memory_is_shared(p, e->a) && vy_expr_is_in_arm(p, i, w->plan.first_expr[stmt + 1]);
        if (is_for_some || !unroll_writer_reserve(w, w->plan.exprs[stmt]))
            continue;
        w->loaded[i] = 0;
        unroll_writer_range(w, vy_expr_first(p, i), i + 1);
        w->loaded[i] = 1 + vy_irb_let(&w->draft, unroll_writer_name(w), (vyre_type)e->type, w->at[i]);
    }
}

/* ---- templates: trees that are written in every iteration, assembled once ---- A tree is the same in every
 * iteration except for the variables that it reads: inlined values are already substituted, elements and loaded
 * values are leaves, and operands are relative to its start. So it is copied and relocated. Where a variable became
 * a literal, so that folding would produce another tree, the tree is written expression by expression instead. */

/* ---- building ---- */

static vy_expr *entry(const unroll_writer *w, const tree_template *pattern, uint32_t at) {
    return &w->patterns.items[pattern->first + at];
}

/* Appends a leaf or an op; w->at of the original receives its index relative to the start of the template. */
static int add(unroll_writer *w, tree_template *pattern, uint32_t expr, vy_expr made) {
    vy_expr *slot = VY_PUSH(&w->patterns);
    if (!slot) {
        w->draft.failed = 1;
        return 0;
    }
    *slot = made;
    w->at[expr] = pattern->count++;
    return 1;
}

/* A value that was loaded before the statement: the tree of its index is removed. */
static int add_loaded(unroll_writer *w, tree_template *pattern, uint32_t load) {
    vy_expr made = w->p->exprs.items[load];
    uint32_t start = w->at[made.b];
    if (!w->loaded[load] || made.c != VY_NONE)
        return 0;
    while (entry(w, pattern, start)->kind == VY_EXPR_OP)
        start = entry(w, pattern, start)->a;
    w->patterns.count = pattern->first + start;
    pattern->count = start;
    made.bits = load;
    return add(w, pattern, load, made);
}

/* Whether an op with this operand may fold. */
static int is_literal(const unroll_writer *w, const vy_expr *e) {
    return e->kind == VY_EXPR_LITERAL || (e->kind == VY_EXPR_LOAD && w->plan.array[e->a] == VY_ARRAY_LITERALS);
}

static int add_op(unroll_writer *w, tree_template *pattern, uint32_t expr) {
    vy_expr made = w->p->exprs.items[expr];
    made.a = w->at[made.a];
    made.b = made.b == VY_NONE ? VY_NONE : w->at[made.b];
    made.c = made.c == VY_NONE ? VY_NONE : w->at[made.c];
    if (made.op == VYRE_OP_LAND || made.op == VYRE_OP_LOR || is_literal(w, entry(w, pattern, made.a)))
        return 0;
    return add(w, pattern, expr, made);
}

/* Adds the expressions [first, end). Recursion is bounded by the plan's limit on the size of a tree after inlining
 * (unroll_arrays_plan.c). */
static int add_range(unroll_writer *w, tree_template *pattern, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        vy_expr made = w->p->exprs.items[i];
        uint32_t known = w->plan.known_from[i], there = made.kind == VY_EXPR_VARIABLE ? w->plan.there[made.a] : VY_NONE;
        int is_added;
        if (known != VY_NONE) {
            made = w->p->exprs.items[known];
            made.bits = i = known;
            is_added = made.kind == VY_EXPR_LOAD && add(w, pattern, known, made);
        } else if (there != VY_NONE) {
            is_added = add_range(w, pattern, w->plan.first_expr[there], w->plan.first_expr[there + 1]);
            w->at[i] = pattern->count - 1;
        } else if (made.kind == VY_EXPR_LOAD) {
            is_added = add_loaded(w, pattern, i);
        } else if (made.kind == VY_EXPR_OP) {
            is_added = add_op(w, pattern, i);
        } else {
            made.a = made.kind == VY_EXPR_LEN || made.kind == VY_EXPR_ALIGN_OFFSET ? w->memories[made.a] : made.a;
            is_added = add(w, pattern, i, made);
        }
        if (!is_added)
            return 0;
    }
    return 1;
}

static void make(unroll_writer *w, tree_template *pattern, uint32_t first, uint32_t end) {
    *pattern = (tree_template){.first = w->patterns.count, .is_made = 1};
    if (!add_range(w, pattern, first, end)) {
        w->patterns.count = pattern->first;
        pattern->count = 0;
    }
}

/* ---- writing ---- */

/* The replacement of a load; 0 if the template has no form for it. */
static int write_load(const unroll_writer *w, const vy_expr *e, vy_expr *to) {
    uint32_t load = (uint32_t)e->bits;
    uint64_t value = 0;
    if (w->plan.array[e->a] != VY_ARRAY_STAYS) {
        uint32_t element = e->c == VY_NONE ? unroll_writer_element(w, e->a, e->b) : VY_NONE;
        if (element == VY_NONE)
            return 0;
        value = w->plan.elements[element];
    }
    if (w->plan.array[e->a] == VY_ARRAY_LITERALS) {
        *to = (vy_expr){.type = e->type, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .bits = value};
        return 1;
    }
    *to = vy_variable_expr((vyre_type)e->type,
                           w->plan.array[e->a] == VY_ARRAY_STAYS ? w->loaded[load] - 1 : (uint32_t)value);
    return 1;
}

/* Writes the tree [first, end) of a statement from its template. Returns 0, having written nothing, if no template
 * applies. Requires capacity. */
static int unroll_writer_pattern(unroll_writer *w, uint32_t stmt, uint32_t first, uint32_t end) {
    tree_template *pattern = &w->pattern_of[stmt];
    vyre_program *program = w->draft.program;
    uint32_t base = program->exprs.count;
    vy_expr *to = program->exprs.items + base;
    if (!pattern->is_made)
        make(w, pattern, first, end);
    if (!pattern->count)
        return 0;
    for (const vy_expr *e = w->patterns.items + pattern->first, *last = e + pattern->count; e < last; e++, to++) {
        *to = *e;
        if (e->kind == VY_EXPR_OP) {
            to->a = e->a + base;
            if (e->b != VY_NONE)
                to->b = e->b + base;
            if (e->c != VY_NONE)
                to->c = e->c + base;
        } else if (e->kind == VY_EXPR_VARIABLE) {
            if (w->is_replaced[e->a])
                return 0;
            to->a = w->variables[e->a];
        } else if (e->kind == VY_EXPR_LOAD && !write_load(w, e, to)) {
            return 0;
        }
    }
    program->exprs.count = base + pattern->count;
    w->at[end - 1] = program->exprs.count - 1;
    return 1;
}

/* ---- statements ---- */

/* Estimates for the name table: nodes of the plan per name, and length of a name. */
enum { NODES_A_NAME = 16, NAME_LENGTH = 4 };

static uint32_t tree(const unroll_writer *w, uint32_t expr) {
    return expr == VY_NONE ? VY_NONE : w->at[expr];
}

/* ---- names ---- */

static vy_symbol name_of(unroll_writer *w, uint32_t variable) {
    return w->moved ? unroll_writer_name(w) : vy_variable_at(w->p, variable)->name;
}

/* ---- statements ---- */

static void write_block(unroll_writer *w, uint32_t first, uint32_t end);

static void write_moved(unroll_writer *w, uint32_t first, uint32_t end) {
    w->moved++;
    write_block(w, first, end);
    w->moved--;
}

/* Writes a statement whose trees are written. A structured statement is left open. */
static uint32_t write_head(unroll_writer *w, const vy_stmt *s, vy_stmt_kind kind) {
    vy_stmt made = *s;
    vy_arg args[VY_LIMIT_PARAMS];
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    made.kind = (uint8_t)kind;
    made.a = tree(w, s->a);
    made.b = tree(w, s->b);
    made.c = tree(w, s->c);
    made.memory = s->memory == VY_NONE ? VY_NONE : w->memories[s->memory];
    made.variable = s->variable == VY_NONE ? VY_NONE : w->variables[s->variable];
    made.result_count = kind == VY_STMT_LET ? 1 : s->result_count;
    for (uint32_t i = 0; i < made.result_count; i++) {
        names[i] = name_of(w, s->variable + i);
        types[i] = (vyre_type)vy_variable_at(w->p, s->variable + i)->type;
        w->is_replaced[s->variable + i] = 0;
    }
    for (uint32_t i = 0; i < s->arg_count; i++)
        args[i] = (vy_arg){0, tree(w, w->p->args.items[s->args + i].index)};
    if (w->draft.failed)
        return VY_NONE;
    uint32_t index = vy_irb_stmt(&w->draft, &made, args, s->arg_count, names, types);
    for (uint32_t i = 0; i < made.result_count && index != VY_NONE; i++)
        w->variables[s->variable + i] = vy_stmt_at(w->draft.program, index)->variable + i;
    return index;
}

/* The first assignment of a variable becomes a `let`. If the value is a literal or an immutable variable, no
 * statement is needed. */
static void write_let(unroll_writer *w, const vy_stmt *s) {
    const vy_expr *value = unroll_writer_expr(w, w->at[s->a]);
    int is_name = value->kind == VY_EXPR_VARIABLE && !vy_variable_at(w->draft.program, value->a)->is_mutable;
    if (value->kind != VY_EXPR_LITERAL && !is_name) {
        vyre_type type = (vyre_type)vy_variable_at(w->p, s->variable)->type;
        w->variables[s->variable] = vy_irb_let(&w->draft, name_of(w, s->variable), type, w->at[s->a]);
        w->is_replaced[s->variable] = 0;
        return;
    }
    w->is_replaced[s->variable] = !is_name;
    w->bits[s->variable] = value->bits;
    w->variables[s->variable] = value->a;
    unroll_writer_truncate(w, w->at[s->a]);
}

/* Starts to hold the variable. `real` is VY_NONE for a variable declared in the unrolled body, which needs no
 * assignment. */
static void hold(unroll_writer *w, uint32_t variable, uint32_t real) {
    if (w->is_held[variable])
        return;
    w->is_held[variable] = 1;
    w->real[variable] = real;
    w->held[w->held_count++] = variable;
}

/* After the last iteration: assigns all held variables. Their values are immutable names, so the order is
 * irrelevant. */
static void flush_deferred(unroll_writer *w) {
    while (w->held_count && !w->draft.failed) {
        uint32_t variable = w->held[--w->held_count], real = w->real[variable];
        uint8_t type = vy_variable_at(w->p, variable)->type;
        w->is_held[variable] = 0;
        if (real == VY_NONE || !unroll_writer_reserve(w, 1))
            continue;
        uint32_t value = w->is_replaced[variable] ? unroll_writer_literal(w, type, w->bits[variable])
                                                  : vy_irb_variable(&w->draft, w->variables[variable]);
        vy_irb_assign(&w->draft, real, value);
        w->variables[variable] = real;
        w->is_replaced[variable] = 0;
    }
}

/* Assigns a variable: for the only time, or again. */
static void write_value(unroll_writer *w, const vy_stmt *s, int is_last) {
    if (!is_last && !w->holds) {
        write_head(w, s, (vy_stmt_kind)s->kind);
        return;
    }
    if (!is_last)
        hold(w, s->variable, s->kind == VY_STMT_VAR ? VY_NONE : w->variables[s->variable]);
    write_let(w, s);
}

static void write_alias(unroll_writer *w, const vy_stmt *s) {
    uint32_t of = vy_expr_at(w->p, s->a)->a;
    w->variables[s->variable] = w->variables[of];
    w->is_replaced[s->variable] = w->is_replaced[of];
    w->bits[s->variable] = w->bits[of];
}

/* Writes the tree [first, end) of a statement with a single tree. */
static void write_tree(unroll_writer *w, uint32_t stmt, uint32_t first, uint32_t end) {
    if (!w->holds || !unroll_writer_pattern(w, stmt, first, end))
        unroll_writer_range(w, first, end);
}

/* A store to an array that became variables. */
static void write_element(unroll_writer *w, uint32_t stmt) {
    const vy_stmt *s = vy_stmt_at(w->p, stmt);
    uint32_t element = unroll_writer_element(w, s->memory, s->a);
    if (element == VY_NONE)
        return;
    write_tree(w, stmt, s->a + 1, s->b + 1);
    vy_irb_assign(&w->draft, (uint32_t)w->plan.elements[element], w->at[s->b]);
}

static void write_if(unroll_writer *w, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(w->p, index);
    vyre_program *made = w->draft.program;
    uint32_t condition = w->at[s->a], start = unroll_writer_start(w, s->a);
    if (unroll_writer_is_literal(w, condition)) {
        int holds = unroll_writer_expr(w, condition)->bits != 0;
        unroll_writer_truncate(w, start);
        write_moved(w, holds ? index + 1 : s->middle, holds ? s->middle : s->end);
        return;
    }
    uint32_t head = write_head(w, s, VY_STMT_IF);
    write_block(w, index + 1, s->middle);
    if (s->middle != s->end) {
        vy_irb_else(&w->draft);
        write_block(w, s->middle, s->end);
    }
    vy_irb_end_block(&w->draft);
    w->has_ended = 0;
    if (w->draft.failed || made->stmts.count != head + 1)
        return;
    made->stmts.count--;
    made->stmt_positions.count -= made->stmt_positions.count != 0;
    unroll_writer_truncate(w, start);
}

/* Writes all iterations. Statements after a jump at the end of an iteration are unreachable. */
static void write_trips(unroll_writer *w, uint32_t index, unsigned trips, const uint64_t *values) {
    const vy_stmt *s = vy_stmt_at(w->p, index);
    vy_position position = w->draft.position;
    int holds = w->plan.holds[index];
    unroll_writer_truncate(w, unroll_writer_start(w, s->a));
    w->holds += (uint32_t)holds;
    for (unsigned i = 0; i < trips && !w->has_ended && !w->draft.failed; i++) {
        w->is_replaced[s->variable] = 1;
        w->bits[s->variable] = values[i];
        write_moved(w, index + 1, s->end);
    }
    w->holds -= (uint32_t)holds;
    w->draft.position = position;
    if (!w->holds)
        flush_deferred(w);
}

/* Whether a loop is unrolled; its bounds are already written. */
static int is_counted(unroll_writer *w, uint32_t index, unsigned *trips, uint64_t values[VY_TRIPS]) {
    const vy_stmt *s = vy_stmt_at(w->p, index);
    int is_planned = w->plan.becomes[index] == VY_UNROLL_ITERATIONS;
    if (!is_planned && !w->plan.may_be_counted[index])
        return 0;
    *trips = vy_count_trips(&vy_opt_default, unroll_writer_expr(w, w->at[s->a]), unroll_writer_expr(w, w->at[s->b]),
                            s->c == VY_NONE ? NULL : unroll_writer_expr(w, w->at[s->c]), values);
    if (is_planned)
        return 1;
    uint32_t more = *trips > 1 && *trips <= VY_TRIPS ? *trips * w->plan.size[index] : 0;
    if (*trips > VY_TRIPS || !vy_unroll_arrays_pays(0, *trips, w->plan.size[index]) || more > w->plan.room)
        return 0;
    w->plan.room -= more;
    return 1;
}

static void write_loop(unroll_writer *w, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(w->p, index);
    uint64_t values[VY_TRIPS];
    unsigned trips;
    if (is_counted(w, index, &trips, values)) {
        write_trips(w, index, trips, values);
        return;
    }
    write_head(w, s, (vy_stmt_kind)s->kind);
    write_block(w, index + 1, s->end);
    vy_irb_end_block(&w->draft);
    w->has_ended = 0;
}

static void write_stmt(unroll_writer *w, uint32_t index, const vy_stmt *s) {
    w->draft.position = vy_stmt_position(w->p, index);
    if (w->holds && w->plan.loads[index])
        unroll_writer_loads(w, index);
    if (!unroll_writer_reserve(w, w->plan.exprs[index]))
        return;
    uint32_t first = w->plan.first_expr[index], end = w->plan.first_expr[index + 1];
    if (s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN) {
        write_tree(w, index, first, end);
        write_value(w, s, s->kind == VY_STMT_LET || w->plan.becomes[index] == VY_UNROLL_LET);
        return;
    }
    if (s->kind == VY_STMT_STORE && w->plan.array[s->memory] != VY_ARRAY_STAYS) {
        write_element(w, index);
        return;
    }
    if (s->kind == VY_STMT_IF && w->plan.is_known[s->a]) {
        int holds = unroll_writer_value(w, s->a) != 0;
        write_moved(w, holds ? index + 1 : s->middle, holds ? s->middle : s->end);
        return;
    }
    unroll_writer_range(w, first, end);
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_IF:
        write_if(w, index);
        return;
    case VY_STMT_FOR:
    case VY_STMT_WHILE:
        write_loop(w, index);
        return;
    case VY_STMT_REGION:
        write_moved(w, index + 1, s->end);
        return;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
    case VY_STMT_RETURN:
        w->has_ended = 1;
        break;
    default:
        break;
    }
    write_head(w, s, (vy_stmt_kind)s->kind);
}

/* Recursion is bounded by VY_LIMIT_NESTING. In a block that was moved, a region is replaced by its statements. */
static void write_block(unroll_writer *w, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = w->p->stmts.items;
    const uint8_t *becomes = w->plan.becomes;
    w->has_ended = 0;
    for (uint32_t i = first, next; i < end && !w->has_ended && !w->draft.failed; i = next) {
        const vy_stmt *s = &stmts[i];
        next = s->end;
        if (becomes[i] == VY_UNROLL_NOTHING || becomes[i] == VY_UNROLL_INLINE)
            continue;
        if (becomes[i] == VY_UNROLL_ALIAS)
            write_alias(w, s);
        else if (w->moved && s->kind == VY_STMT_REGION)
            next = i + 1;
        else
            write_stmt(w, i, s);
    }
}

/* ---- declarations ---- */

static void declare(unroll_writer *w) {
    const vyre_program *p = w->p;
    const vy_function *entry = vy_program_entry(p);
    vy_irb *d = &w->draft;
    d->position = entry->position;
    vy_irb_clone_entry(d, p);
    for (uint32_t i = 0; i < p->param_count; i++) {
        const vy_variable *v = vy_variable_at(p, i);
        d->position = v->position;
        w->variables[i] = vy_irb_scalar_param(d, v->name, (vyre_type)v->type);
    }
    for (uint32_t i = 0; i < p->memories.count; i++) {
        const vy_memory *m = vy_memory_at(p, i);
        d->position = m->position;
        if (i < p->buffer_count)
            w->memories[i] = vy_irb_memory_param(d, m->name, (vy_space)m->space, (vyre_type)m->type,
                                                 (vyre_access)m->access, m->size);
        else if (w->plan.array[i] == VY_ARRAY_STAYS)
            w->memories[i] = vy_irb_clone_array(d, p, i, m->name);
    }
}

/* The variables of elements start at zero, as arrays do. */
static void declare_elements(unroll_writer *w) {
    const vyre_program *p = w->p;
    vy_irb *d = &w->draft;
    d->position = vy_program_entry(p)->position;
    for (uint32_t i = 0; i < p->memories.count; i++) {
        vyre_type type = (vyre_type)vy_memory_at(p, i)->type;
        if (w->plan.array[i] != VY_ARRAY_VARIABLES)
            continue;
        for (uint32_t k = 0; k < vy_memory_at(p, i)->elements && !d->failed; k++) {
            if (unroll_writer_reserve(w, 1))
                w->plan.elements[w->plan.first_element[i] + k] =
                    vy_irb_var(d, unroll_writer_name(w), type, unroll_writer_literal(w, (uint8_t)type, 0));
        }
    }
}

/* ---- the transform ---- */

static int prepare(unroll_writer *w) {
    const vyre_program *p = w->p;
    w->variables = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->variables));
    w->bits = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->bits));
    w->is_replaced = vy_arena_allocate(&w->arena, p->variables.count + 1u);
    w->real = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->real));
    w->held = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->held));
    w->is_held = vy_arena_allocate(&w->arena, p->variables.count + 1u);
    w->memories = vy_arena_allocate(&w->arena, vy_array_size(p->memories.count + 1u, sizeof *w->memories));
    w->at = vy_arena_allocate(&w->arena, vy_array_size(p->exprs.count + 1u, sizeof *w->at));
    w->loaded = vy_arena_allocate(&w->arena, vy_array_size(p->exprs.count + 1u, sizeof *w->loaded));
    w->pattern_of = vy_arena_allocate(&w->arena, vy_array_size(p->stmts.count + 1u, sizeof *w->pattern_of));
    if (!w->pattern_of || !w->loaded || !w->variables || !w->bits || !w->is_replaced || !w->real || !w->held ||
        !w->is_held || !w->memories || !w->at)
        return 0;
    for (uint32_t i = 0; i < p->variables.count; i++)
        w->is_replaced[i] = w->plan.there[i] != VY_NONE;
    return 1;
}

static vyre_status start(unroll_writer *w, vyre_error *error) {
    const vyre_program *p = w->p;
    vyre_status status = vy_irb_start(&w->draft, vy_symbol_name(p, p->name), error);
    if (status != VYRE_OK)
        return status;
    vyre_program *made = w->draft.program;
    made->keepalive = vy_keepalive_retain(p->keepalive);
    made->kind = p->kind;
    made->level = p->level;
    made->numerics = p->numerics;
    w->draft.keep_positions = p->stmt_positions.count != 0;
    w->draft.drop_expr_positions = 1; /* a legal program needs none */
    w->draft.fail_at_limit = 1;
    w->draft.skip_verify = 1;
    vy_irb_clone_symbols(&w->draft, p);
    uint32_t stmts = w->plan.nodes / 4, names = w->plan.nodes / NODES_A_NAME;
    w->draft.failed |= !VY_RESERVE(&made->exprs, w->plan.nodes) || !VY_RESERVE(&made->stmts, stmts) ||
                       (w->draft.keep_positions && !VY_RESERVE(&made->stmt_positions, stmts)) ||
                       !VY_RESERVE(&made->variables, p->variables.count + names) ||
                       !vy_intern_pool_reserve_more(&made->names, names, NAME_LENGTH);
    return VYRE_OK;
}

static vyre_status write_program(unroll_writer *w, vyre_program **out, vyre_error *error) {
    const vy_function *entry = vy_program_entry(w->p);
    vyre_status status = start(w, error);
    if (status != VYRE_OK)
        return status;
    declare(w);
    declare_elements(w);
    write_block(w, entry->first_stmt, entry->end_stmt);
    vy_irb_end_function(&w->draft);
    status = vy_irb_finish(&w->draft, w->p->source, NULL, out, error);
    vy_irb_discard(&w->draft);
    if (status == VYRE_OK)
        (*out)->is_unique = 1;
    return status;
}

vyre_status vy_unroll_arrays(const vyre_program *program, vyre_program **out, vyre_error *error) {
    unroll_writer w = {.p = program};
    *out = NULL;
    if (program->level != VYRE_LEVEL_LEGAL || !vy_unroll_arrays_takes(program)) {
        return vy_program_unchanged(program, out);
    }
    vyre_status status = vy_unroll_arrays_plan_make(&w.plan, program, error);
    if (status == VYRE_OK && !prepare(&w))
        status = vy_fail_memory(error, "loop unrolling");
    if (status == VYRE_OK)
        status = write_program(&w, out, error);
    if (status == VYRE_INVALID_PROGRAM || status == VYRE_LIMIT) { /* a limit of the language: the program stays
                                                                   * unchanged */
        status = vy_program_unchanged(program, out);
    }
    vy_unroll_arrays_plan_free(&w.plan);
    VY_VECTOR_FREE(&w.patterns);
    vy_arena_free(&w.arena);
    return status;
}
