/* Layout of code: expressions are postfix trees directly before the statement that takes them, blocks lie inside blocks, variables and
 * arguments are numbered in order. See layout.c. */
#include "ir/op_tables.h"
#include "ir/validate/layout.h"

typedef struct layout {
    vy_verifier *verifier;
    const vyre_program *program;
    const vy_function *function; /* whose statements are being checked */
    int is_entry;
    uint32_t next_expr, next_arg, next_variable; /* what the next statement must use first */
    uint32_t *tree_start;                        /* of each expression: the first one below it */
    uint16_t *tree_depth;
    struct {
        uint32_t stmt, end;
    } open[VY_LIMIT_NESTING];
    uint32_t depth;
} layout;

/* ---- expressions ---- */

static int has_variable(const layout *l, uint32_t variable) {
    return variable >= l->function->first_variable &&
           variable - l->function->first_variable < l->function->variable_count;
}

static int has_memory(const layout *l, uint32_t memory) {
    return memory >= l->function->first_memory && memory - l->function->first_memory < l->function->memory_count;
}

/* What checking a node finds out about the tree below it. */
typedef struct tree {
    uint32_t start;
    uint16_t depth;
} tree;

/* In postfix order the last operand directly precedes its operator, and each other operand directly precedes the tree of the next: so
 * operands are taken from the last to the first. */
static int consume_operand(layout *l, tree *t, uint32_t index, uint32_t operand) {
    if (t->start <= l->next_expr || operand != t->start - 1)
        return VY_LAYOUT_ERROR(l->verifier, V005, "an operand of expression %u is not the tree before it", index);
    t->start = l->tree_start[operand];
    if (l->tree_depth[operand] >= t->depth)
        t->depth = (uint16_t)(l->tree_depth[operand] + 1);
    return 1;
}

static int check_absent(layout *l, uint32_t a, uint32_t b, uint32_t c) {
    return (a & b & c) == VY_NONE
               ? 1
               : VY_LAYOUT_ERROR(l->verifier, V009, "an expression has more operands than its kind takes");
}

static int check_op(layout *l, tree *t, uint32_t index, const vy_expr *e) {
    const vyre_op_info *info = vyre_op_get((vyre_op)e->op);
    if (!info)
        return VY_LAYOUT_ERROR(l->verifier, V001, "op %u is unknown", e->op);
    return (info->arity < 3 || consume_operand(l, t, index, e->c)) &&
           (info->arity < 2 || consume_operand(l, t, index, e->b)) && consume_operand(l, t, index, e->a) &&
           check_absent(l, VY_NONE, info->arity < 2 ? e->b : VY_NONE, info->arity < 3 ? e->c : VY_NONE);
}

/* An unguarded load may have a condition. */
static int check_load(layout *l, tree *t, uint32_t index, const vy_expr *e) {
    if (e->op >= VY_BOUNDS_CHECK_COUNT)
        return VY_LAYOUT_ERROR(l->verifier, V001, "guard %u is unknown", e->op);
    return (e->op == VY_BOUNDS_CHECKED ? check_absent(l, VY_NONE, VY_NONE, e->c)
                                       : e->c == VY_NONE || consume_operand(l, t, index, e->c)) &&
           consume_operand(l, t, index, e->b);
}

static int check_node(layout *l, tree *t, uint32_t index, const vy_expr *e) {
    switch (e->kind) {
    case VY_EXPR_LITERAL:
        return check_absent(l, e->a, e->b, e->c);
    case VY_EXPR_BUILTIN:
        if (e->op >= VYRE_BUILTIN_COUNT)
            return VY_LAYOUT_ERROR(l->verifier, V001, "builtin %u is unknown", e->op);
        return check_absent(l, e->a, e->b, e->c);
    case VY_EXPR_VARIABLE:
        if (!has_variable(l, e->a))
            return VY_LAYOUT_ERROR(l->verifier, V002, "an expression refers to a variable (%u) of another function",
                                   e->a);
        return check_absent(l, VY_NONE, e->b, e->c);
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
    case VY_EXPR_LOAD:
        if (!has_memory(l, e->a))
            return VY_LAYOUT_ERROR(l->verifier, V002, "an expression refers to a memory (%u) of another function",
                                   e->a);
        if (e->kind != VY_EXPR_LOAD)
            return check_absent(l, VY_NONE, e->b, e->c);
        return check_load(l, t, index, e);
    case VY_EXPR_OP:
        return check_op(l, t, index, e);
    default:
        return VY_LAYOUT_ERROR(l->verifier, V001, "the kind (%u) of an expression is unknown", e->kind);
    }
}

static int check_expr(layout *l, uint32_t index) {
    const vy_expr *e = &l->program->exprs.items[index];
    tree t = {index, 0};
    if (e->type >= VYRE_TYPE_COUNT)
        return VY_LAYOUT_ERROR(l->verifier, V001, "the type (%u) of an expression is unknown", e->type);
    if (!check_node(l, &t, index, e))
        return 0;
    if (t.depth > VY_LIMIT_EXPRESSION_DEPTH) {
        vy_verifier_error(l->verifier, VY_V032, vy_expr_position(l->program, index), NULL,
                          "an expression is deeper than the limit (%d operators)", VY_LIMIT_EXPRESSION_DEPTH);
        return 0;
    }
    l->tree_start[index] = t.start;
    l->tree_depth[index] = t.depth;
    return 1;
}

/* The tree of a statement's next operand: exactly the expressions from next_expr to its root. */
static int check_tree(layout *l, uint32_t root) {
    if (root < l->next_expr || root >= l->program->exprs.count)
        return VY_LAYOUT_ERROR(l->verifier, V005,
                               "an operand (expression %u) does not follow the one before (expression %u)", root,
                               l->next_expr);
    for (uint32_t i = l->next_expr; i <= root; i++)
        if (!check_expr(l, i))
            return 0;
    if (l->tree_start[root] != l->next_expr)
        return VY_LAYOUT_ERROR(l->verifier, V005, "expression %u belongs to no statement", l->next_expr);
    l->next_expr = root + 1;
    return 1;
}

/* ---- statements ---- */

/* What each kind of statement has. Operand counts of atomics and collectives come from their own tables. */
typedef struct shape {
    uint8_t fewest_operands, most_operands;
    uint8_t fewest_results, most_results;
    uint8_t has_memory, has_args;
} shape;

static const shape shapes[VY_STMT_KIND_COUNT] = {
    [VY_STMT_LET] = {1, 1, 1, 1, 0, 0},
    [VY_STMT_VAR] = {1, 1, 1, 1, 0, 0},
    [VY_STMT_ASSIGN] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_STORE] = {2, 2, 0, 0, 1, 0},
    [VY_STMT_ATOMIC] = {1, 3, 0, 1, 1, 0},
    [VY_STMT_COLLECTIVE] = {1, 2, 1, 1, 0, 0},
    [VY_STMT_CALL] = {0, 0, 0, VY_LIMIT_RESULTS, 0, 1},
    [VY_STMT_BARRIER] = {0, 0, 0, 0, 0, 0},
    [VY_STMT_TRAP] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_PRINT] = {0, 0, 0, 0, 0, 1},
    [VY_STMT_IF] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_FOR] = {2, 3, 1, 1, 0, 0},
    [VY_STMT_WHILE] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_BREAK] = {0, 0, 0, 0, 0, 0},
    [VY_STMT_CONTINUE] = {0, 0, 0, 0, 0, 0},
    [VY_STMT_RETURN] = {0, 0, 0, 0, 0, 1},
    [VY_STMT_REGION] = {0, 0, 0, 0, 0, 0},
    [VY_STMT_LOAD_WIDE] = {1, 1, 2, VY_LIMIT_WIDE, 1, 0},
    [VY_STMT_STORE_WIDE] = {1, 1, 0, 0, 1, 1},
    [VY_STMT_RECORD_TRAP] = {1, 1, 0, 0, 0, 0},
    [VY_STMT_POLL] = {0, 0, 1, 1, 0, 0},
};

static int check_tags(layout *l, uint32_t index, const vy_stmt *s) {
    if (s->kind >= VY_STMT_KIND_COUNT)
        return VY_LAYOUT_ERROR(l->verifier, V001, "the kind (%u) of statement %u is unknown", s->kind, index);
    if (s->kind == VY_STMT_ATOMIC && (s->op >= VYRE_ATOMIC_COUNT || s->order >= VYRE_ORDER_COUNT))
        return VY_LAYOUT_ERROR(l->verifier, V001, "atomic %u or order %u is unknown", s->op, s->order);
    if ((s->kind == VY_STMT_ATOMIC || s->kind == VY_STMT_BARRIER) && s->scope >= VYRE_SCOPE_COUNT)
        return VY_LAYOUT_ERROR(l->verifier, V001, "scope %u is unknown", s->scope);
    if (s->bounds_check &&
        (s->bounds_check >= VY_BOUNDS_CHECK_COUNT || (s->kind != VY_STMT_STORE && s->kind != VY_STMT_ATOMIC)))
        return VY_LAYOUT_ERROR(l->verifier, V001, "guard %u of statement %u is unknown", s->bounds_check, index);
    if (s->kind == VY_STMT_COLLECTIVE && s->op >= VYRE_COLLECTIVE_COUNT)
        return VY_LAYOUT_ERROR(l->verifier, V001, "collective %u is unknown", s->op);
    return 1;
}

static int check_operands(layout *l, uint32_t index, const vy_stmt *s) {
    shape row = shapes[s->kind];
    if (s->kind == VY_STMT_ATOMIC)
        row.fewest_operands = row.most_operands = (uint8_t)(1 + vy_atomics[s->op].operands);
    else if (s->kind == VY_STMT_COLLECTIVE)
        row.fewest_operands = row.most_operands = vy_collectives[s->op].operands;
    const uint32_t operands[3] = {s->a, s->b, s->c};
    for (int i = 0; i < 3; i++) {
        if (operands[i] == VY_NONE ? i < row.fewest_operands : i >= row.most_operands)
            return VY_LAYOUT_ERROR(l->verifier, V009, "operand %d of statement %u is missing or too much", i, index);
        if (operands[i] != VY_NONE && !check_tree(l, operands[i]))
            return 0;
    }
    return 1;
}

static int check_args(layout *l, uint32_t index, const vy_stmt *s) {
    const vyre_program *p = l->program;
    if (s->arg_count == 0)
        return 1;
    if (!shapes[s->kind].has_args)
        return VY_LAYOUT_ERROR(l->verifier, V009, "statement %u has arguments, which its kind does not take", index);
    if (s->args != l->next_arg || s->arg_count > p->args.count - l->next_arg)
        return VY_LAYOUT_ERROR(l->verifier, V007, "the arguments of statement %u do not follow those of the one before",
                               index);
    l->next_arg += s->arg_count;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        const vy_arg *arg = &p->args.items[s->args + i];
        if (arg->is_memory > (s->kind == VY_STMT_CALL))
            return VY_LAYOUT_ERROR(l->verifier, V007, "argument %u of statement %u is of no kind that fits here", i,
                                   index);
        if (arg->is_memory && !has_memory(l, arg->index))
            return VY_LAYOUT_ERROR(l->verifier, V002,
                                   "argument %u of statement %u is a memory (%u) of another function", i, index,
                                   arg->index);
        if (!arg->is_memory && !check_tree(l, arg->index))
            return 0;
    }
    return 1;
}

static int check_results(layout *l, uint32_t index, const vy_stmt *s) {
    const shape *row = &shapes[s->kind];
    if (s->result_count < row->fewest_results || s->result_count > row->most_results)
        return VY_LAYOUT_ERROR(l->verifier, V009,
                               "statement %u declares more or fewer variables (%u) than its kind does", index,
                               s->result_count);
    if (s->kind == VY_STMT_ASSIGN)
        return has_variable(l, s->variable)
                   ? 1
                   : VY_LAYOUT_ERROR(l->verifier, V002, "statement %u assigns to a variable (%u) of another function",
                                     index, s->variable);
    if (s->result_count == 0)
        return s->variable == VY_NONE
                   ? 1
                   : VY_LAYOUT_ERROR(l->verifier, V009, "statement %u carries a variable it does not declare", index);
    uint32_t end = l->function->first_variable + l->function->variable_count;
    if (s->variable != l->next_variable || s->result_count > end - l->next_variable)
        return VY_LAYOUT_ERROR(l->verifier, V006, "statement %u does not declare the next variable (%u)", index,
                               l->next_variable);
    for (uint32_t i = 0; i < s->result_count; i++)
        if (l->program->variables.items[s->variable + i].is_mutable != (s->kind == VY_STMT_VAR))
            return VY_LAYOUT_ERROR(l->verifier, V006, "variable %u is not as mutable as its declaration says",
                                   s->variable + i);
    l->next_variable += s->result_count;
    return 1;
}

static int check_references(layout *l, uint32_t index, const vy_stmt *s) {
    if (shapes[s->kind].has_memory ? !has_memory(l, s->memory) : s->memory != VY_NONE)
        return VY_LAYOUT_ERROR(l->verifier, V002, "statement %u refers to a memory (%u) that it cannot have", index,
                               s->memory);
    if (s->callee == VY_NONE)
        return 1;
    if (s->kind != VY_STMT_CALL)
        return VY_LAYOUT_ERROR(l->verifier, V009, "statement %u carries a callee, but is no call", index);
    if (s->callee >= vyre_program_function_count(l->program))
        return VY_LAYOUT_ERROR(l->verifier, V002, "statement %u calls a function (%u) that the program does not have",
                               index, s->callee);
    return 1;
}

/* Closes blocks that end before this statement, and checks where this one ends. */
static int check_block(layout *l, uint32_t index, const vy_stmt *s) {
    while (l->depth && l->open[l->depth - 1].end == index)
        l->depth--;
    uint32_t end = vy_block_end(l->program, l->function, l->depth ? l->open[l->depth - 1].stmt : VY_NONE, index);
    if (!vy_stmt_is_structured(s->kind))
        return s->end == index + 1 && s->middle == s->end
                   ? 1
                   : VY_LAYOUT_ERROR(l->verifier, V004,
                                     "statement %u has no body, but does not end where the next one begins", index);
    if (s->end <= index || s->end > end || s->middle <= index || s->middle > s->end ||
        (s->kind != VY_STMT_IF && s->middle != s->end))
        return VY_LAYOUT_ERROR(l->verifier, V004, "the block of statement %u reaches outside the block it stands in",
                               index);
    if (l->depth == VY_LIMIT_NESTING) {
        vy_verifier_error(l->verifier, VY_V033, vy_stmt_position(l->program, index), NULL,
                          "blocks nest deeper than the limit (%d)", VY_LIMIT_NESTING);
        return 0;
    }
    l->open[l->depth].stmt = index;
    l->open[l->depth++].end = s->end;
    return 1;
}

static uint32_t scalar_params(const layout *l) {
    if (l->is_entry)
        return l->program->param_count;
    return l->function->param_count - vy_memory_param_count(l->program, l->function);
}

static int check_function(layout *l, const vy_function *f) {
    l->function = f;
    l->is_entry = vy_is_entry(l->program, f);
    l->depth = 0;
    uint32_t params = scalar_params(l);
    l->next_variable = f->first_variable + params;
    for (uint32_t i = 0; i < params; i++)
        if (l->program->variables.items[f->first_variable + i].is_mutable)
            return VY_LAYOUT_ERROR(l->verifier, V006, "a parameter is mutable");
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = &l->program->stmts.items[i];
        if (!check_tags(l, i, s) || !check_block(l, i, s) || !check_operands(l, i, s) || !check_args(l, i, s) ||
            !check_results(l, i, s) || !check_references(l, i, s))
            return 0;
    }
    if (l->next_variable != f->first_variable + f->variable_count)
        return VY_LAYOUT_ERROR(l->verifier, V006, "variable %u is not declared by any statement", l->next_variable);
    return 1;
}

/* What no statement has taken. */
static int check_rest(layout *l) {
    if (l->next_expr != l->program->exprs.count)
        return VY_LAYOUT_ERROR(l->verifier, V005, "expression %u belongs to no statement", l->next_expr);
    if (l->next_arg != l->program->args.count)
        return VY_LAYOUT_ERROR(l->verifier, V007, "argument %u belongs to no statement", l->next_arg);
    return 1;
}

void vy_verify_layout_code(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    layout l = {.verifier = verifier, .program = p};
    l.tree_start = vy_verifier_scratch(verifier, p->exprs.count, sizeof *l.tree_start);
    l.tree_depth = vy_verifier_scratch(verifier, p->exprs.count, sizeof *l.tree_depth);
    if (!l.tree_start || !l.tree_depth)
        return;
    for (uint32_t i = 0; i < p->functions.count; i++)
        if (!check_function(&l, &p->functions.items[i]))
            return;
    check_rest(&l);
}
