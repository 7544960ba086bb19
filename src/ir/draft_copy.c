/* Copying into a draft (draft.h): names, expressions, statements of another program. What stays as it is is copied in a row: its indices move by the same. */
#include "ir/draft.h"
#include "ir/validate/check.h"

/* ---- names ---- */

void vy_draft_copy_names(vy_draft *draft, const vyre_program *from) {
    vy_names_free(&draft->program->names);
    draft->failed |= !vy_names_copy(&draft->program->names, &from->names);
    draft->program->name = from->name;
}

/* ---- expressions ---- */

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH: `from` is a valid program. */
uint32_t vy_draft_copy_expr(vy_draft *draft, const vyre_program *from, uint32_t root, const uint32_t *map_variable,
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
    case VY_EXPR_MISALIGNMENT:
        if (map_memory)
            expr.a = map_memory[expr.a];
        break;
    case VY_EXPR_LOAD:
        if (map_memory)
            expr.a = map_memory[expr.a];
        expr.b = vy_draft_copy_expr(draft, from, expr.b, map_variable, map_memory);
        expr.c = vy_draft_copy_expr(draft, from, expr.c, map_variable, map_memory);
        break;
    case VY_EXPR_OP:
        expr.a = vy_draft_copy_expr(draft, from, expr.a, map_variable, map_memory);
        expr.b = vy_draft_copy_expr(draft, from, expr.b, map_variable, map_memory);
        expr.c = vy_draft_copy_expr(draft, from, expr.c, map_variable, map_memory);
        break;
    default:
        break;
    }
    vy_position at = vy_expr_position(from, root);
    if (at.line)
        draft->position = at;
    return vy_draft_expr(draft, &expr);
}

/* What the expression refers to, in the draft; operands are `by` further on. VY_NONE stays. */
static void move_expr(vy_expr *expr, uint32_t by, const uint32_t *map_variable, const uint32_t *map_memory) {
    switch (expr->kind) {
    case VY_EXPR_VARIABLE:
        expr->a = map_variable[expr->a];
        break;
    case VY_EXPR_LEN:
    case VY_EXPR_MISALIGNMENT:
        expr->a = map_memory[expr->a];
        break;
    case VY_EXPR_LOAD:
        expr->a = map_memory[expr->a];
        expr->b += by;
        expr->c += expr->c == VY_NONE ? 0 : by;
        break;
    case VY_EXPR_OP:
        expr->a += by;
        expr->b += expr->b == VY_NONE ? 0 : by;
        expr->c += expr->c == VY_NONE ? 0 : by;
        break;
    default:
        break;
    }
}

/* There is room for `added` more. A program has all positions or none. */
static void append_positions(vy_position *to, uint32_t *count, const vy_position *from, uint32_t added) {
    if (from)
        memcpy(to + *count, from, added * sizeof *to);
    else
        memset(to + *count, 0, added * sizeof *to);
    *count += added;
}

uint32_t vy_draft_copy_exprs(vy_draft *draft, const vyre_program *from, uint32_t first, uint32_t end,
                             const uint32_t *map_variable, const uint32_t *map_memory) {
    vyre_program *program = draft->program;
    uint32_t at = program->exprs.count, count = end - first;
    if (count == 0)
        return at;
    if (vy_draft_is_full(draft, at + count - 1, VY_LIMIT_EXPRESSIONS))
        return VY_NONE;
    if (!VY_RESERVE(&program->exprs, count) ||
        (vy_draft_places_exprs(draft) && !VY_RESERVE(&program->expr_positions, count))) {
        draft->failed = 1;
        return VY_NONE;
    }
    memcpy(program->exprs.items + at, from->exprs.items + first, count * sizeof *program->exprs.items);
    for (uint32_t i = 0; i < count; i++)
        move_expr(&program->exprs.items[at + i], at - first, map_variable, map_memory);
    program->exprs.count += count;
    if (vy_draft_places_exprs(draft))
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

static int copy_args(vy_draft *draft, const vyre_program *from, uint32_t first, uint32_t end, uint32_t by,
                     const uint32_t *map_memory) {
    vyre_program *program = draft->program;
    if (!VY_RESERVE(&program->args, end - first))
        return 0;
    for (uint32_t i = first; i < end; i++) {
        vy_arg arg = from->args.items[i];
        arg.index = arg.is_memory ? map_memory[arg.index] : arg.index + by;
        program->args.items[program->args.count++] = arg;
    }
    return 1;
}

/* Where a copy begins, in the source and in the draft. */
typedef struct origin {
    uint32_t stmt, expr, arg;
} origin;

static void move_stmt(vy_stmt *stmt, const origin *from, const origin *to, const uint32_t *map_memory,
                      const vy_name *map_name) {
    uint32_t by = to->expr - from->expr;
    stmt->end += to->stmt - from->stmt;
    stmt->middle += to->stmt - from->stmt;
    stmt->args += to->arg - from->arg;
    stmt->a += stmt->a == VY_NONE ? 0 : by;
    stmt->b += stmt->b == VY_NONE ? 0 : by;
    stmt->c += stmt->c == VY_NONE ? 0 : by;
    if (stmt->memory != VY_NONE)
        stmt->memory = map_memory[stmt->memory];
    if (map_name)
        stmt->name = map_name[stmt->name];
}

static void copy_results(vy_draft *draft, const vyre_program *from, const vy_stmt *s, uint32_t *map_variable,
                         const vy_name *map_name) {
    vyre_program *program = draft->program;
    if (!VY_RESERVE(&program->variables, s->result_count)) {
        draft->failed = 1;
        return;
    }
    for (uint32_t i = 0; i < s->result_count; i++) {
        const vy_variable *v = &from->variables.items[s->variable + i];
        vy_variable *made = &program->variables.items[program->variables.count];
        *made = *v;
        made->name = map_name ? map_name[v->name] : v->name;
        made->position = draft->position;
        map_variable[s->variable + i] = program->variables.count++;
    }
}

/* The statements may nest deeper here than they did. */
static void note_nesting(vy_draft *draft, const vyre_program *from, uint32_t first, uint32_t end) {
    uint32_t open[VY_LIMIT_NESTING], depth = 0;
    for (uint32_t i = first; i < end; i++) {
        const vy_stmt *s = &from->stmts.items[i];
        if (!vy_stmt_is_structured(s->kind))
            continue;
        while (depth && open[depth - 1] <= i)
            depth--;
        if (depth < VY_LIMIT_NESTING)
            open[depth++] = s->end;
        draft->is_doubtful |= draft->depth + depth > VY_LIMIT_NESTING;
    }
}

void vy_draft_copy_stmts(vy_draft *draft, const vyre_program *from, uint32_t first, uint32_t end,
                         uint32_t *map_variable, const uint32_t *map_memory, const vy_name *map_name) {
    vyre_program *program = draft->program;
    const vy_stmt *stmts = from->stmts.items, *last = &stmts[end - 1];
    uint32_t end_expr;
    origin source = {first, 0, stmts[first].args},
           here = {program->stmts.count, program->exprs.count, program->args.count};
    if (vy_draft_is_full(draft, here.stmt + (end - first) - 1, VY_LIMIT_STATEMENTS))
        return;
    find_exprs(from, first, end, &source.expr, &end_expr);
    if (!VY_RESERVE(&program->stmts, end - first) ||
        (draft->keep_positions && !VY_RESERVE(&program->stmt_positions, end - first)) ||
        !copy_args(draft, from, source.arg, last->args + last->arg_count, here.expr - source.expr, map_memory)) {
        draft->failed = 1;
        return;
    }
    memcpy(program->stmts.items + here.stmt, stmts + first, (end - first) * sizeof *stmts);
    for (uint32_t i = first; i < end && !draft->failed; i++) {
        vy_stmt *copy = &program->stmts.items[here.stmt + (i - first)];
        move_stmt(copy, &source, &here, map_memory, map_name);
        if (stmts[i].result_count) {
            draft->position = vy_stmt_position(from, i);
            copy->variable = program->variables.count;
            copy_results(draft, from, &stmts[i], map_variable, map_name);
        } else if (stmts[i].variable != VY_NONE) {
            copy->variable = map_variable[stmts[i].variable];
        }
    }
    draft->position = vy_stmt_position(from, end - 1);
    program->stmts.count += end - first;
    if (draft->keep_positions)
        append_positions(program->stmt_positions.items, &program->stmt_positions.count,
                         from->stmt_positions.count ? from->stmt_positions.items + first : NULL, end - first);
    note_nesting(draft, from, first, end);
    vy_draft_copy_exprs(draft, from, source.expr, end_expr, map_variable, map_memory);
    draft->written_exprs = program->exprs.count;
}
