/* Copying into a draft (irbuilder.h): names, expressions, statements of another program. What stays as it is is copied in a row: its indices move by the same. */
#include "ir/irbuilder.h"
#include "ir/walk.h"

/* ---- names ---- */

void vy_irb_clone_symbols(vy_irb *draft, const vyre_program *from) {
    vy_intern_pool_free(&draft->program->names);
    draft->failed |= !vy_intern_pool_copy(&draft->program->names, &from->names);
    draft->program->name = from->name;
}

/* ---- expressions ---- */

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH: `from` is a valid program. */
uint32_t vy_irb_clone_expr(vy_irb *draft, const vyre_program *from, uint32_t root, const uint32_t *map_variable,
                           const uint32_t *map_memory) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_expr expr = from->exprs.items[root];
    switch (expr.kind) {
    case VY_EXPR_VARIABLE:
        if (map_variable)
            expr.a = map_variable[expr.a];
        break;
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        if (map_memory)
            expr.a = map_memory[expr.a];
        break;
    case VY_EXPR_LOAD:
        if (map_memory)
            expr.a = map_memory[expr.a];
        expr.b = vy_irb_clone_expr(draft, from, expr.b, map_variable, map_memory);
        expr.c = vy_irb_clone_expr(draft, from, expr.c, map_variable, map_memory);
        break;
    case VY_EXPR_OP:
        expr.a = vy_irb_clone_expr(draft, from, expr.a, map_variable, map_memory);
        expr.b = vy_irb_clone_expr(draft, from, expr.b, map_variable, map_memory);
        expr.c = vy_irb_clone_expr(draft, from, expr.c, map_variable, map_memory);
        break;
    default:
        break;
    }
    vy_position at = vy_expr_position(from, root);
    if (at.line)
        draft->position = at;
    return vy_irb_expr(draft, &expr);
}

/* `by` further on; VY_NONE stays. */
static uint32_t relocate_index(uint32_t index, uint32_t by) {
    return index == VY_NONE ? VY_NONE : index + by;
}

/* Copies expressions, which refer to what is in the draft then; operands are `by` further on. Asked in the order of how many there are. */
static void relocate_exprs(vy_expr *to, const vy_expr *from, uint32_t count, uint32_t by, const uint32_t *map_variable,
                           const uint32_t *map_memory) {
    for (const vy_expr *end = from + count; from < end; from++, to++) {
        *to = *from; /* which may be further down in the same array: from here on only `to` is looked at */
        if (to->kind == VY_EXPR_VARIABLE) {
            to->a = map_variable[to->a];
        } else if (to->kind == VY_EXPR_OP || to->kind == VY_EXPR_LOAD) {
            to->a = to->kind == VY_EXPR_OP ? to->a + by : map_memory[to->a];
            if (to->b != VY_NONE)
                to->b += by;
            if (to->c != VY_NONE)
                to->c += by;
        } else if (to->kind == VY_EXPR_LEN || to->kind == VY_EXPR_ALIGN_OFFSET) {
            to->a = map_memory[to->a];
        }
    }
}

/* There is room for `added` more. A program has all positions or none. */
static void append_positions(vy_position *to, uint32_t *count, const vy_position *from, uint32_t added) {
    if (from)
        memmove(to + *count, from, added * sizeof *to);
    else
        memset(to + *count, 0, added * sizeof *to);
    *count += added;
}

uint32_t vy_irb_clone_exprs(vy_irb *draft, const vyre_program *from, uint32_t first, uint32_t end,
                            const uint32_t *map_variable, const uint32_t *map_memory) {
    vyre_program *program = draft->program;
    uint32_t at = program->exprs.count, count = end - first;
    if (count == 0)
        return at;
    if (vy_irb_is_full(draft, at + count - 1, VY_LIMIT_EXPRESSIONS))
        return VY_NONE;
    if (!VY_RESERVE(&program->exprs, count) ||
        (vy_irb_keeps_expr_positions(draft) && !VY_RESERVE(&program->expr_positions, count))) {
        draft->failed = 1;
        return VY_NONE;
    }
    relocate_exprs(program->exprs.items + at, from->exprs.items + first, count, at - first, map_variable, map_memory);
    program->exprs.count += count;
    if (vy_irb_keeps_expr_positions(draft))
        append_positions(program->expr_positions.items, &program->expr_positions.count,
                         from->expr_positions.count ? from->expr_positions.items + first : NULL, count);
    return at;
}

/* ---- statements ---- */

/* The expressions of the statements [first, end). */
static void find_exprs(const vyre_program *p, uint32_t first, uint32_t end, uint32_t *first_expr, uint32_t *end_expr) {
    *first_expr = *end_expr = 0;
    while (end > first && (*end_expr = vy_stmt_exprs_end(p, &p->stmts.items[end - 1], 0)) == 0)
        end--;
    while (first < end && vy_stmt_exprs_end(p, &p->stmts.items[first], 0) == 0)
        first++;
    if (first < end)
        *first_expr = vy_stmt_exprs_first(p, &p->stmts.items[first]);
}

/* Where a copy begins, in the source and in the draft. */
typedef struct origin {
    uint32_t stmt, expr;
} origin;

static void relocate_stmt(vy_stmt *to, const vy_stmt *from, const origin *source, const origin *here,
                          const uint32_t *map_memory, const vy_symbol *map_name) {
    uint32_t by = here->expr - source->expr;
    *to = *from;
    to->end += here->stmt - source->stmt;
    to->middle += here->stmt - source->stmt;
    to->a = relocate_index(to->a, by);
    to->b = relocate_index(to->b, by);
    to->c = relocate_index(to->c, by);
    if (to->memory != VY_NONE)
        to->memory = map_memory[to->memory];
    if (map_name)
        to->name = map_name[to->name];
}

/* The arguments of a statement; 0 when memory is out. One without any may say anything of where they are. */
static int copy_args(vyre_program *program, const vyre_program *from, const vy_stmt *s, uint32_t by,
                     const uint32_t *map_memory) {
    if (!VY_RESERVE(&program->args, s->arg_count))
        return 0;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = from->args.items[s->args + i];
        arg.index = arg.is_memory ? map_memory[arg.index] : arg.index + by;
        program->args.items[program->args.count++] = arg;
    }
    return 1;
}

/* The variables that a statement declares; 0 when memory is out. */
static int copy_results(vyre_program *program, const vyre_program *from, const vy_stmt *s, vy_position position,
                        uint32_t *map_variable, const vy_symbol *map_name) {
    uint32_t declared = s->variable, end = declared + s->result_count, to = program->variables.count;
    if (!VY_RESERVE(&program->variables, s->result_count))
        return 0;
    program->variables.count += s->result_count;
    for (; declared < end; declared++, to++) {
        vy_variable *made = &program->variables.items[to];
        *made = from->variables.items[declared];
        made->position = position;
        if (map_name)
            made->name = map_name[made->name];
        map_variable[declared] = to;
    }
    return 1;
}

/* The blocks that are open in what is copied. */
typedef struct nesting {
    uint32_t end[VY_LIMIT_NESTING], depth;
} nesting;

/* The statements may nest deeper here than they did. */
static void track_nesting(vy_irb *draft, nesting *open, uint32_t index, uint32_t end) {
    while (open->depth && open->end[open->depth - 1] <= index)
        open->depth--;
    if (open->depth < VY_LIMIT_NESTING)
        open->end[open->depth++] = end;
    draft->needs_verify |= draft->depth + open->depth > VY_LIMIT_NESTING;
}

void vy_irb_clone_stmts(vy_irb *draft, const vyre_program *from, uint32_t first, uint32_t end, uint32_t *map_variable,
                        const uint32_t *map_memory, const vy_symbol *map_name) {
    vyre_program *program = draft->program;
    const vy_stmt *stmts = from->stmts.items;
    uint32_t end_expr;
    origin source = {first, 0}, here = {program->stmts.count, program->exprs.count};
    if (vy_irb_is_full(draft, here.stmt + (end - first) - 1, VY_LIMIT_STATEMENTS))
        return;
    find_exprs(from, first, end, &source.expr, &end_expr);
    if (!VY_RESERVE(&program->stmts, end - first) ||
        (draft->keep_positions && !VY_RESERVE(&program->stmt_positions, end - first))) {
        draft->failed = 1;
        return;
    }
    vy_stmt *to = program->stmts.items + here.stmt;
    vy_position last = vy_stmt_position(from, end - 1);
    nesting open;
    open.depth = 0;
    /* What is written may cover what was read: a statement is written when all of it has been. */
    for (uint32_t i = first; i < end && !draft->failed; i++, to++) {
        const vy_stmt *s = &stmts[i];
        uint32_t args = program->args.count, variable = s->variable;
        if (s->arg_count)
            draft->failed |= !copy_args(program, from, s, here.expr - source.expr, map_memory);
        if (s->result_count) {
            variable = program->variables.count;
            draft->failed |= !copy_results(program, from, s, vy_stmt_position(from, i), map_variable, map_name);
        } else if (variable != VY_NONE) {
            variable = map_variable[variable];
        }
        if (vy_stmt_is_structured(s->kind))
            track_nesting(draft, &open, i, s->end);
        relocate_stmt(to, s, &source, &here, map_memory, map_name);
        to->args = args;
        to->variable = variable;
    }
    if (draft->failed)
        return;
    draft->position = last;
    program->stmts.count += end - first;
    if (draft->keep_positions)
        append_positions(program->stmt_positions.items, &program->stmt_positions.count,
                         from->stmt_positions.count ? from->stmt_positions.items + first : NULL, end - first);
    vy_irb_clone_exprs(draft, from, source.expr, end_expr, map_variable, map_memory);
    draft->written_exprs = program->exprs.count;
}
