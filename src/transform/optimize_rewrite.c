/* Rewriting (optimize_rewrite.h). What must stay true: the trees of a statement are written directly before it, in the order of its
 * operands, and only after every `let` that its reading caused. */
#include "transform/optimize_rewrite.h"

#include "base/status.h"
#include "ir/validate/check.h"
#include "transform/name.h"

/* ---- names ---- */

/* A name of the source in the draft; each is looked up once. */
static vy_name copy_name(vy_rewrite *rw, vy_name name) {
    if (rw->hooks->keeps_names)
        return name;
    if (name && !rw->names[name]) {
        const char *text = vy_name_text(rw->from, name);
        rw->names[name] = vy_draft_name(&rw->draft, text, strlen(text));
    }
    return rw->names[name];
}

/* Makes room for a name of the draft in the tables by name. */
static int has_place(vy_rewrite *rw, vy_name name) {
    if (rw->draft.failed)
        return 0;
    for (int i = 0; i < 2; i++) {
        uint32_t have = i ? rw->suffixes.count : rw->visible.count, missing = name < have ? 0 : name + 1 - have;
        int room = !missing || (i ? VY_RESERVE(&rw->suffixes, missing) : VY_RESERVE(&rw->visible, missing));
        if (!room) {
            rw->draft.failed = 1;
            return 0;
        }
        if (i && missing) {
            memset(rw->suffixes.items + have, 0, missing * sizeof *rw->suffixes.items);
            rw->suffixes.count = name + 1;
        } else if (missing) {
            memset(rw->visible.items + have, 0, missing);
            rw->visible.count = name + 1;
        }
    }
    return 1;
}

static void declare(vy_rewrite *rw, vy_name name) {
    vy_name *slot = has_place(rw, name) ? VY_PUSH(&rw->declared) : NULL;
    if (!slot) {
        rw->draft.failed = 1;
        return;
    }
    rw->visible.items[name] = 1;
    *slot = name;
}

/* Whether names of the source cannot meet; those of new `let`s are like no other. */
static int keeps_scopes(const vy_rewrite *rw) {
    return rw->hooks->keeps_names || rw->hooks->keeps_blocks;
}

/* A name of the source: where no two can meet, nobody asks who is visible. */
static void declare_copied(vy_rewrite *rw, vy_name name) {
    if (!keeps_scopes(rw))
        declare(rw, name);
}

/* The name itself where it is free, else with a suffix: passes put blocks where they did not stand, and write them twice. The suffix
 * last tried is remembered, so that a thousand copies do not try each other's. */
static vy_name free_name(vy_rewrite *rw, vy_name wanted) {
    if (keeps_scopes(rw))
        return copy_name(rw, wanted);
    const char *text = vy_name_text(rw->from, wanted);
    vy_name base = copy_name(rw, wanted), name = base;
    while (has_place(rw, base) && has_place(rw, name) && rw->visible.items[name]) {
        char candidate[VY_LIMIT_NAME + 1];
        size_t length = vy_name_suffixed(candidate, text, VY_LIMIT_NAME, ++rw->suffixes.items[base] + 1);
        name = vy_draft_name(&rw->draft, candidate, length);
    }
    return name;
}

vy_name vy_rewrite_new_name(vy_rewrite *rw) {
    while (!rw->draft.failed) {
        char candidate[12] = "t"; /* ten digits at most */
        size_t length = (size_t)(vy_put_decimal(candidate + 1, ++rw->made) - candidate);
        if (vy_names_find(&rw->from->names, candidate, length) == VY_NAME_FAILED)
            return vy_draft_name(&rw->draft, candidate, length);
    }
    return 0;
}

vy_name vy_rewrite_declare(vy_rewrite *rw, uint32_t variable) {
    vy_name name = free_name(rw, rw->from->variables.items[variable].name);
    declare_copied(rw, name);
    return name;
}

uint32_t vy_rewrite_open(const vy_rewrite *rw) {
    return rw->declared.count;
}

void vy_rewrite_close(vy_rewrite *rw, uint32_t mark) {
    while (rw->declared.count > mark)
        rw->visible.items[rw->declared.items[--rw->declared.count]] = 0;
}

/* ---- the pool ---- */

static uint32_t depth_of(const vy_rewrite *rw, uint32_t node) {
    return node == VY_NONE ? 0 : rw->pool.items[node].depth + 1;
}

/* Whoever makes a node changes something. */
static uint32_t note_change(vy_rewrite *rw) {
    rw->changes++;
    return VY_NONE;
}

static uint32_t add_node(vy_rewrite *rw, const vy_expr *expr, vy_position position) {
    uint32_t depth = 0;
    if (rw->is_looking)
        return note_change(rw);
    if (expr->kind == VY_EXPR_LOAD || expr->kind == VY_EXPR_OP) {
        uint32_t a = expr->kind == VY_EXPR_OP ? depth_of(rw, expr->a) : 0, b = depth_of(rw, expr->b),
                 c = depth_of(rw, expr->c);
        depth = a > b ? a : b;
        depth = depth > c ? depth : c;
    }
    if (!VY_RESERVE(&rw->pool, 1)) {
        rw->draft.failed = 1;
        return VY_NONE;
    }
    rw->pool.items[rw->pool.count] = (vy_pool_node){*expr, position, depth};
    return rw->pool.count++;
}

uint32_t vy_pool_literal(vy_rewrite *rw, vyre_type type, uint64_t bits) {
    vy_expr expr = {
        .kind = VY_EXPR_LITERAL, .type = (uint8_t)type, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .bits = bits};
    return add_node(rw, &expr, rw->draft.position);
}

uint32_t vy_pool_expr(vy_rewrite *rw, const vy_expr *expr) {
    return add_node(rw, expr, rw->draft.position);
}

uint32_t vy_pool_variable(vy_rewrite *rw, uint32_t variable) {
    if (variable == VY_NONE)
        return VY_NONE;
    if (rw->is_looking)
        return note_change(rw);
    vy_expr expr = {.kind = VY_EXPR_VARIABLE,
                    .type = rw->draft.program->variables.items[variable].type,
                    .a = variable,
                    .b = VY_NONE,
                    .c = VY_NONE};
    return add_node(rw, &expr, rw->draft.position);
}

uint32_t vy_pool_op(vy_rewrite *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    uint8_t arity = vyre_op_get(op)->arity;
    if (rw->is_looking)
        return note_change(rw);
    if (a == VY_NONE || (arity > 1 && b == VY_NONE) || (arity > 2 && c == VY_NONE))
        return VY_NONE;
    vy_expr expr = {.kind = VY_EXPR_OP, .type = (uint8_t)type, .op = (uint8_t)op, .a = a, .b = b, .c = c};
    return add_node(rw, &expr, rw->pool.items[a].position);
}

uint32_t vy_pool_leaf(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE)
        return VY_NONE;
    uint8_t kind = vy_pool_get(rw, node)->kind;
    if (kind != VY_EXPR_OP && kind != VY_EXPR_LOAD)
        return node;
    return rw->may_bind ? vy_pool_variable(rw, vy_rewrite_let(rw, node)) : VY_NONE;
}

/* ---- reading; recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH ---- */

/* Whether a hook may replace such an expression. */
static int asks_tree(const vy_rewriter *hooks, const vy_expr *e) {
    return hooks->tree && (!hooks->tree_kinds || hooks->tree_kinds >> e->kind & 1);
}

static int asks_node(const vy_rewriter *hooks, const vy_expr *e) {
    return hooks->node && (!hooks->node_kinds || hooks->node_kinds >> e->kind & 1) &&
           (!hooks->node_ops || e->kind != VY_EXPR_OP || hooks->node_ops >> e->op & 1);
}

uint32_t vy_rewrite_read_below(vy_rewrite *rw, uint32_t root) {
    if (rw->is_looking)
        return root;
    vy_expr expr = rw->from->exprs.items[root];
    switch (expr.kind) {
    case VY_EXPR_VARIABLE:
        expr.a = rw->variables[expr.a];
        break;
    case VY_EXPR_LEN:
    case VY_EXPR_MISALIGNMENT:
        expr.a = rw->memories[expr.a];
        break;
    case VY_EXPR_LOAD:
        expr.a = rw->memories[expr.a];
        expr.b = vy_rewrite_read(rw, expr.b);
        expr.c = vy_rewrite_read(rw, expr.c);
        break;
    case VY_EXPR_OP:
        expr.a = vy_rewrite_read(rw, expr.a);
        expr.b = vy_rewrite_read(rw, expr.b);
        expr.c = vy_rewrite_read(rw, expr.c);
        break;
    default:
        break;
    }
    if (rw->draft.failed)
        return VY_NONE;
    rw->draft.position = vy_expr_position(rw->from, root);
    uint32_t node = add_node(rw, &expr, rw->draft.position);
    return asks_node(rw->hooks, &expr) && node != VY_NONE ? rw->hooks->node(rw, node) : node;
}

uint32_t vy_rewrite_read(vy_rewrite *rw, uint32_t root) {
    if (root == VY_NONE || rw->draft.failed)
        return VY_NONE;
    if (rw->is_looking)
        return root;
    rw->draft.position = vy_expr_position(rw->from, root);
    uint32_t node = asks_tree(rw->hooks, &rw->from->exprs.items[root]) ? rw->hooks->tree(rw, root) : VY_NONE;
    return node != VY_NONE ? node : vy_rewrite_read_below(rw, root);
}

/* ---- writing ---- */

/* Recursion is bounded by the depth of the node, which is checked before. */
uint32_t vy_rewrite_write(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE || rw->draft.failed)
        return VY_NONE;
    vy_pool_node at = rw->pool.items[node];
    if (at.expr.kind == VY_EXPR_LOAD) {
        at.expr.b = vy_rewrite_write(rw, at.expr.b);
        at.expr.c = vy_rewrite_write(rw, at.expr.c);
    } else if (at.expr.kind == VY_EXPR_OP) {
        at.expr.a = vy_rewrite_write(rw, at.expr.a);
        at.expr.b = vy_rewrite_write(rw, at.expr.b);
        at.expr.c = vy_rewrite_write(rw, at.expr.c);
    }
    rw->draft.position = at.position;
    return at.expr.kind == VY_EXPR_LITERAL ? vy_draft_literal(&rw->draft, (vyre_type)at.expr.type, at.expr.bits)
                                           : vy_draft_expr(&rw->draft, &at.expr);
}

/* A tree of the source that was read as `node`. */
static uint32_t write_tree(vy_rewrite *rw, uint32_t root, uint32_t node) {
    if (node != VY_NONE && rw->pool.items[node].depth > VY_LIMIT_EXPRESSION_DEPTH)
        return vy_draft_copy_expr(&rw->draft, rw->from, root, rw->variables, rw->memories);
    return vy_rewrite_write(rw, node);
}

uint32_t vy_rewrite_let(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE || rw->draft.failed)
        return VY_NONE;
    if (rw->is_looking)
        return note_change(rw);
    vy_name name = vy_rewrite_new_name(rw);
    vyre_type type = (vyre_type)rw->pool.items[node].expr.type;
    vy_position position = rw->pool.items[node].position;
    uint32_t value = vy_rewrite_write(rw, node);
    rw->draft.position = position;
    declare(rw, name);
    return rw->draft.failed ? VY_NONE : vy_draft_let(&rw->draft, name, type, value);
}

/* ---- looking: whether a pass would change anything, without writing ---- */

/* Begins to look; while we do, the source stands for the draft. Gives what end_looking needs. */
static vyre_program *start_looking(vy_rewrite *rw) {
    vyre_program *draft = rw->draft.program;
    rw->draft.program = (vyre_program *)rw->from;
    rw->is_looking = 1;
    return draft;
}

static void end_looking(vy_rewrite *rw, vyre_program *draft) {
    rw->draft.program = draft;
    rw->is_looking = 0;
}

/* Whether the hooks change nothing in the expressions [first, end), the trees of a statement. Nodes come after their operands, so the first that is not to stay is
 * seen as it is in the source. We are looking. */
static int keeps_exprs(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_rewriter *hooks = rw->hooks;
    const vy_expr *exprs = rw->from->exprs.items;
    unsigned asked = !hooks->tree ? 0 : hooks->tree_kinds ? hooks->tree_kinds : UINT8_MAX;
    unsigned asked_nodes = !hooks->node ? 0 : hooks->node_kinds ? hooks->node_kinds : UINT8_MAX;
    int may_look = hooks->may_look;
    uint64_t before = rw->changes, ops = hooks->node_ops ? hooks->node_ops : UINT64_MAX;
    for (uint32_t i = first; i < end; i++) {
        if (asked >> exprs[i].kind & 1 && (!may_look || hooks->tree(rw, i) != VY_NONE))
            return 0;
        if (asked_nodes >> exprs[i].kind & 1 && (exprs[i].kind != VY_EXPR_OP || ops >> exprs[i].op & 1) &&
            (!may_look || hooks->node(rw, i) != i))
            return 0;
    }
    return rw->changes == before;
}

/* With keeps_blocks: the first statement from `stmt` on of which the hooks say something; NULL: none. */
static const vy_touched *next_touched(vy_rewrite *rw, uint32_t stmt) {
    while (rw->next_touched < rw->touched.count && rw->touched.items[rw->next_touched].stmt < stmt)
        rw->next_touched++;
    return rw->next_touched < rw->touched.count ? &rw->touched.items[rw->next_touched] : NULL;
}

/* Whether the trees of a statement, [*first, *end), stay as they are. */
static int keeps_trees(vy_rewrite *rw, uint32_t stmt, uint32_t *first, uint32_t *end) {
    const vy_stmt *s = &rw->from->stmts.items[stmt];
    *first = vy_stmt_exprs_first(rw->from, s);
    *end = vy_stmt_exprs_end(rw->from, s, *first);
    if (!rw->hooks->tree && !rw->hooks->node)
        return !rw->hooks->row;
    const vy_touched *touched = rw->hooks->keeps_blocks ? next_touched(rw, stmt) : NULL;
    if (rw->hooks->keeps_blocks && (!touched || touched->stmt != stmt || touched->by_trees))
        return !touched || touched->stmt != stmt;
    uint64_t before = rw->changes;
    vyre_program *draft = start_looking(rw);
    int keeps = keeps_exprs(rw, *first, *end);
    end_looking(rw, draft);
    rw->changes = before;
    return keeps;
}

/* ---- statements ---- */

/* The trees as they are. */
static void copy_trees(vy_rewrite *rw, const vy_stmt *s, uint32_t first, uint32_t end, vy_stmt *copy) {
    const vy_arg *args = s->arg_count ? rw->from->args.items + s->args : NULL;
    uint32_t at = vy_draft_copy_exprs(&rw->draft, rw->from, first, end, rw->variables, rw->memories), by = at - first;
    if (rw->draft.failed)
        return;
    copy->a = s->a == VY_NONE ? VY_NONE : s->a + by;
    copy->b = s->b == VY_NONE ? VY_NONE : s->b + by;
    copy->c = s->c == VY_NONE ? VY_NONE : s->c + by;
    rw->args.count = 0;
    if (!VY_RESERVE(&rw->args, s->arg_count)) {
        rw->draft.failed = 1;
        return;
    }
    for (uint32_t i = 0; i < s->arg_count; i++)
        rw->args.items[rw->args.count++] =
            args[i].is_memory ? (vy_arg){1, rw->memories[args[i].index]} : (vy_arg){0, args[i].index + by};
}

int vy_rewrite_start_row(vy_rewrite *rw, uint32_t count) {
    vyre_program *made = rw->draft.program;
    rw->row.count = 0;
    if (rw->draft.failed || vy_draft_is_full(&rw->draft, made->exprs.count + count - 1, VY_LIMIT_EXPRESSIONS))
        return 0;
    rw->draft.failed = !VY_RESERVE(&rw->row, count) || !VY_RESERVE(&made->exprs, count) ||
                       (vy_draft_places_exprs(&rw->draft) && !VY_RESERVE(&made->expr_positions, count));
    return !rw->draft.failed;
}

uint32_t vy_rewrite_copy_row(vy_rewrite *rw, uint32_t first, uint32_t end) {
    if (!vy_rewrite_start_row(rw, end - first))
        return VY_NONE;
    uint32_t at = vy_draft_copy_exprs(&rw->draft, rw->from, first, end, rw->variables, rw->memories);
    for (uint32_t i = 0; i < end - first; i++)
        rw->row.items[i] = at + i;
    return at;
}

static uint32_t root_in_row(const vy_rewrite *rw, uint32_t first, uint32_t root) {
    return root == VY_NONE ? VY_NONE : rw->row.items[root - first];
}

/* The trees [first, end), written by the pass. */
static void write_row(vy_rewrite *rw, const vy_stmt *s, uint32_t first, uint32_t end, vy_stmt *copy) {
    rw->args.count = 0;
    if (end > first)
        rw->hooks->row(rw, first, end);
    if (rw->draft.failed || !VY_RESERVE(&rw->args, s->arg_count)) {
        rw->draft.failed = 1;
        return;
    }
    copy->a = root_in_row(rw, first, s->a);
    copy->b = root_in_row(rw, first, s->b);
    copy->c = root_in_row(rw, first, s->c);
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = rw->from->args.items[s->args + i];
        arg.index = arg.is_memory ? rw->memories[arg.index] : root_in_row(rw, first, arg.index);
        rw->args.items[rw->args.count++] = arg;
    }
}

/* Reads all trees, then writes them: what reading put before the statement stands before all of them. */
static void copy_operands(vy_rewrite *rw, const vy_stmt *s, vy_stmt *copy) {
    const vyre_program *p = rw->from;
    uint32_t a = vy_rewrite_read(rw, s->a), b = vy_rewrite_read(rw, s->b), c = vy_rewrite_read(rw, s->c);
    rw->args.count = 0;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = p->args.items[s->args + i], *slot = VY_PUSH(&rw->args);
        arg.index = arg.is_memory ? rw->memories[arg.index] : vy_rewrite_read(rw, arg.index);
        if (slot)
            *slot = arg;
        else
            rw->draft.failed = 1;
    }
    copy->a = write_tree(rw, s->a, a);
    copy->b = write_tree(rw, s->b, b);
    copy->c = write_tree(rw, s->c, c);
    for (uint32_t i = 0; i < s->arg_count && !rw->draft.failed; i++)
        if (!rw->args.items[i].is_memory)
            rw->args.items[i].index = write_tree(rw, p->args.items[s->args + i].index, rw->args.items[i].index);
}

/* A statement without its body: structured ones are left open. */
static void copy_head(vy_rewrite *rw, uint32_t index) {
    const vyre_program *p = rw->from;
    const vy_stmt *s = &p->stmts.items[index];
    vy_stmt copy = *s;
    vy_name names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    uint32_t first, end;
    rw->may_bind = s->kind != VY_STMT_WHILE;
    if (keeps_trees(rw, index, &first, &end))
        copy_trees(rw, s, first, end, &copy);
    else if (rw->hooks->row)
        write_row(rw, s, first, end, &copy);
    else
        copy_operands(rw, s, &copy);
    copy.memory = s->memory == VY_NONE ? VY_NONE : rw->memories[s->memory];
    copy.variable = s->kind == VY_STMT_ASSIGN ? rw->variables[s->variable] : VY_NONE;
    copy.name = copy_name(rw, s->name);
    for (uint32_t i = 0; i < s->result_count; i++) {
        names[i] = free_name(rw, p->variables.items[s->variable + i].name);
        types[i] = (vyre_type)p->variables.items[s->variable + i].type;
        if (s->kind != VY_STMT_FOR)
            declare_copied(rw, names[i]); /* a loop variable belongs to the body */
    }
    rw->draft.position = vy_stmt_position(p, index);
    if (rw->draft.failed)
        return;
    uint32_t made = vy_draft_stmt(&rw->draft, &copy, rw->args.items, rw->args.count, names, types);
    for (uint32_t i = 0; i < s->result_count && made != VY_NONE; i++)
        rw->variables[s->variable + i] = rw->draft.program->stmts.items[made].variable + i;
}

static void copy_structured(vy_rewrite *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    copy_head(rw, index);
    uint32_t mark = vy_rewrite_open(rw);
    if (s->kind == VY_STMT_FOR && !rw->draft.failed)
        declare_copied(rw, rw->draft.program->variables.items[rw->variables[s->variable]].name);
    vy_rewrite_block(rw, index + 1, s->middle);
    vy_rewrite_close(rw, mark);
    if (s->middle != s->end) {
        vy_draft_else(&rw->draft);
        vy_rewrite_block(rw, s->middle, s->end);
        vy_rewrite_close(rw, mark);
    }
    vy_draft_end(&rw->draft);
    rw->ended = 0;
}

static int ends_block(const vy_rewrite *rw, uint8_t kind) {
    return kind == VY_STMT_BREAK || kind == VY_STMT_CONTINUE || kind == VY_STMT_RETURN ||
           (kind == VY_STMT_TRAP && rw->hooks->trap_ends);
}

/* With keeps_blocks: copies the statements from `first` on of which the hooks say nothing. Returns where it stopped. */
static uint32_t copy_run(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vyre_program *p = rw->from;
    const vy_stmt *stmts = p->stmts.items;
    const vy_touched *touched = next_touched(rw, first);
    uint32_t stop = touched ? touched->stmt : end, next = first, last = first;
    while (next < end && stmts[next].end <= stop) {
        last = next;
        next = stmts[next].end;
    }
    if (next == first)
        return first;
    for (uint32_t i = first; i < next && !rw->hooks->keeps_names; i++) {
        copy_name(rw, stmts[i].name);
        for (uint32_t k = 0; k < stmts[i].result_count; k++)
            copy_name(rw, p->variables.items[stmts[i].variable + k].name);
    }
    if (!rw->draft.failed)
        vy_draft_copy_stmts(&rw->draft, p, first, next, rw->variables, rw->memories, rw->names);
    rw->ended |= ends_block(rw, stmts[last].kind);
    return next;
}

void vy_rewrite_block(vy_rewrite *rw, uint32_t first, uint32_t end) {
    if (rw->is_looking) { /* a pass that writes blocks itself changes something */
        rw->changes++;
        return;
    }
    rw->ended = 0;
    for (uint32_t i = first, next; i < end && !rw->draft.failed; i = next) {
        uint8_t kind = rw->from->stmts.items[i].kind;
        if (rw->ended) { /* only a pass brings this about */
            rw->changes++;
            return;
        }
        next = rw->hooks->keeps_blocks ? copy_run(rw, i, end) : i;
        if (next > i)
            continue;
        next = rw->from->stmts.items[i].end;
        rw->pool.count = 0;
        rw->may_bind = kind != VY_STMT_WHILE;
        if (rw->hooks->stmt && rw->hooks->stmt(rw, i))
            continue;
        if (vy_stmt_is_structured(kind))
            copy_structured(rw, i);
        else
            copy_head(rw, i);
        rw->ended |= ends_block(rw, kind);
    }
}

/* ---- looking at all of it ---- */

/* As vy_rewrite_block goes, up to the first change. Recursion is bounded by VY_LIMIT_NESTING. */
static void look_at_block(vy_rewrite *rw, uint32_t first, uint32_t end) {
    int ended = 0;
    for (uint32_t i = first; i < end && !rw->draft.failed && !rw->changes; i = rw->from->stmts.items[i].end) {
        const vy_stmt *s = &rw->from->stmts.items[i];
        rw->changes += (uint64_t)ended;
        rw->pool.count = 0;
        rw->may_bind = s->kind != VY_STMT_WHILE;
        if (rw->changes || (rw->hooks->stmt && rw->hooks->stmt(rw, i)))
            continue;
        if (rw->hooks->tree || rw->hooks->node) {
            uint32_t first = vy_stmt_exprs_first(rw->from, s), end = vy_stmt_exprs_end(rw->from, s, first);
            rw->changes += !keeps_exprs(rw, first, end);
        }
        if (vy_stmt_is_structured(s->kind)) {
            look_at_block(rw, i + 1, s->middle);
            look_at_block(rw, s->middle, s->end);
        }
        ended = ends_block(rw, s->kind);
    }
}

/* Whether the hooks say something of a statement itself. *next: the statement to look at after it, if not that behind its head. */
static int touches_stmt(vy_rewrite *rw, uint32_t index, uint32_t *next) {
    const vy_rewriter *hooks = rw->hooks;
    if (!hooks->stmt)
        return 0;
    if (!hooks->may_look)
        return !hooks->touches || hooks->touches(rw, index);
    uint64_t before = rw->changes;
    if (hooks->stmt(rw, index)) {
        *next = rw->from->stmts.items[index].end;
        return 1;
    }
    return rw->changes != before;
}

/* With keeps_blocks: notes all statements of a function of which the hooks say something. */
static void find_touched(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    uint32_t end = 0; /* of the expressions of the statement before */
    for (uint32_t i = rw->function->first_stmt, next = i; i < rw->function->end_stmt && !rw->draft.failed; i = next) {
        const vy_stmt *s = &p->stmts.items[i];
        uint32_t first = end ? end : vy_stmt_exprs_first(p, s);
        end = vy_stmt_exprs_end(p, s, first);
        rw->may_bind = s->kind != VY_STMT_WHILE;
        next = i + 1;
        int is_touched = touches_stmt(rw, i, &next);
        int by_trees = !is_touched && !rw->hooks->touches_trees && !keeps_exprs(rw, first, end);
        end = next == i + 1 ? end : 0;
        if (!is_touched && !by_trees)
            continue;
        vy_touched *slot = VY_PUSH(&rw->touched);
        rw->draft.failed |= !slot;
        if (slot)
            *slot = (vy_touched){i, (uint32_t)by_trees};
        rw->changes++;
    }
}

/* Most runs of a pass change nothing, and writing a program to see that costs most of them. */
static void look_at_all(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    vyre_program *draft = start_looking(rw);
    for (uint32_t i = 0; i < p->functions.count && (rw->hooks->keeps_blocks || !rw->changes); i++) {
        rw->function = &p->functions.items[i];
        for (uint32_t k = 0; rw->drop_memories && k < rw->function->memory_count; k++)
            rw->changes += p->memories.items[rw->function->first_memory + k].space != VY_SPACE_BUFFER &&
                           rw->drop_memories[rw->function->first_memory + k];
        if (rw->hooks->keeps_blocks)
            find_touched(rw);
        else
            look_at_block(rw, rw->function->first_stmt, rw->function->end_stmt);
    }
    end_looking(rw, draft);
}

/* ---- declarations ---- */

static void copy_scalar_param(vy_rewrite *rw, uint32_t variable) {
    const vy_variable *v = &rw->from->variables.items[variable];
    vy_name name = copy_name(rw, v->name);
    rw->draft.position = v->position;
    rw->variables[variable] = vy_draft_scalar_param(&rw->draft, name, (vyre_type)v->type);
    declare_copied(rw, name);
}

static void copy_memory_param(vy_rewrite *rw, uint32_t memory) {
    const vy_memory *m = &rw->from->memories.items[memory];
    vy_name name = copy_name(rw, m->name);
    rw->draft.position = m->position;
    rw->memories[memory] = vy_draft_memory_param(&rw->draft, name, (vy_space)m->space, (vyre_type)m->type,
                                                 (vyre_access)m->access, m->size);
    declare_copied(rw, name);
}

static void copy_arrays(vy_rewrite *rw, uint32_t first) {
    for (uint32_t i = first; i < rw->function->memory_count; i++) {
        uint32_t memory = rw->function->first_memory + i;
        const vy_memory *m = &rw->from->memories.items[memory];
        if (rw->drop_memories && rw->drop_memories[memory]) {
            rw->changes++;
            continue;
        }
        vy_name name = copy_name(rw, m->name);
        rw->draft.position = m->position;
        rw->memories[memory] = vy_draft_array(&rw->draft, name, (vy_space)m->space, (vyre_type)m->type, m->elements);
        declare_copied(rw, name);
    }
}

/* Functions before the entry do not exist (no calls), so what counts and grids refer to moves by what it stood behind. */
static void copy_entry(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    const vy_function *entry = rw->function;
    rw->draft.position = entry->position;
    vy_draft_copy_entry(&rw->draft, p);
    for (uint32_t i = 0; i < p->param_count; i++)
        copy_scalar_param(rw, entry->first_variable + i);
    for (uint32_t i = 0; i < p->buffer_count; i++)
        copy_memory_param(rw, entry->first_memory + i);
    copy_arrays(rw, p->buffer_count);
}

static void copy_signature(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    const vy_function *f = rw->function;
    uint32_t memories = 0;
    rw->draft.position = f->position;
    vy_draft_begin_function(&rw->draft, copy_name(rw, f->name));
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        if (param->is_memory)
            copy_memory_param(rw, param->index);
        else
            copy_scalar_param(rw, param->index);
        memories += param->is_memory;
    }
    for (uint32_t i = 0; i < f->result_count; i++) {
        const vy_result *result = &p->results.items[f->first_result + i];
        vy_draft_result(&rw->draft, copy_name(rw, result->name), (vyre_type)result->type);
    }
    copy_arrays(rw, memories);
}

/* ---- all of it ---- */

static void copy_functions(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    for (uint32_t i = 0; i < p->functions.count && !rw->draft.failed; i++) {
        rw->function = &p->functions.items[i];
        if (vy_is_entry(p, rw->function))
            copy_entry(rw);
        else
            copy_signature(rw);
        vy_rewrite_block(rw, rw->function->first_stmt, rw->function->end_stmt);
        vy_draft_end_function(&rw->draft);
        vy_rewrite_close(rw, 0);
    }
}

static vyre_status start_draft(vy_rewrite *rw, vyre_error *error) {
    const vyre_program *p = rw->from;
    vyre_status status = vy_draft_start(&rw->draft, vy_name_text(p, p->name), error);
    if (status != VYRE_OK)
        return status;
    vyre_program *made = rw->draft.program;
    made->pin = vy_pin_retain(p->pin);
    made->kind = p->kind;
    made->level = rw->hooks->makes_legal ? VYRE_LEVEL_LEGAL : p->level;
    rw->changes = made->level != p->level;
    made->numerics = p->numerics;
    rw->draft.keep_positions = p->stmt_positions.count != 0;
    rw->draft.forgets_exprs = p->expr_positions.count == 0;
    rw->draft.stops_at_limit = 1;
    rw->draft.is_step = 1;
    return VYRE_OK;
}

/* What a pass makes is about as large as what it was given. */
static void reserve(vy_rewrite *rw) {
    uint32_t names = rw->from->names.size;
    vy_draft_reserve(&rw->draft, rw->from);
    if (rw->hooks->keeps_names) {
        vy_draft_copy_names(&rw->draft, rw->from);
        return;
    }
    rw->names = vy_allocate_zero(vy_array_size(names + 1u, sizeof *rw->names));
    rw->draft.failed |= !rw->names || !vy_names_reserve(&rw->draft.program->names, &rw->from->names) ||
                        !VY_RESERVE(&rw->visible, names) || !VY_RESERVE(&rw->suffixes, names);
}

static vyre_status write_program(vy_rewrite *rw, vyre_program **out, vyre_error *error) {
    vyre_status status = start_draft(rw, error);
    if (status != VYRE_OK)
        return status;
    reserve(rw);
    copy_functions(rw);
    if (rw->draft.failed || rw->changes)
        return vy_draft_finish(&rw->draft, rw->from->source, NULL, out, error);
    *out = vyre_program_retain((vyre_program *)rw->from);
    return VYRE_OK;
}

vyre_status vy_rewrite_run(const vyre_program *from, const vy_rewriter *hooks, void *user, const uint8_t *drop_memories,
                           vyre_program **out, uint64_t *changes, vyre_error *error) {
    vy_rewrite rw = {.from = from, .hooks = hooks, .user = user, .drop_memories = drop_memories};
    size_t map_size = vy_array_size((size_t)from->variables.count + from->memories.count + 2u, sizeof *rw.variables);
    vyre_status status = VYRE_OK;
    *out = NULL;
    *changes = 0;
    rw.variables = vy_allocate_zero(map_size);
    if (!rw.variables)
        return vy_fail_memory(error, "a pass");
    rw.memories = rw.variables + from->variables.count + 1u;
    rw.changes = !hooks->may_look;
    if (hooks->may_look || hooks->keeps_blocks)
        look_at_all(&rw);
    if (rw.draft.failed) {
        status = vy_fail_memory(error, "a pass");
    } else if (!rw.changes) {
        *out = vyre_program_retain((vyre_program *)from);
    } else {
        status = write_program(&rw, out, error);
        *changes = rw.changes;
    }
    vy_draft_discard(&rw.draft);
    vy_release(rw.variables, map_size);
    vy_release(rw.names, vy_array_size(from->names.size + 1u, sizeof *rw.names));
    VY_VECTOR_FREE(&rw.pool);
    VY_VECTOR_FREE(&rw.args);
    VY_VECTOR_FREE(&rw.row);
    VY_VECTOR_FREE(&rw.touched);
    VY_VECTOR_FREE(&rw.visible);
    VY_VECTOR_FREE(&rw.suffixes);
    VY_VECTOR_FREE(&rw.declared);
    return status;
}
