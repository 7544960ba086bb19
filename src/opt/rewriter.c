/* Rewriter (rewriter.h): copies a program through the hooks of a pass, statement by statement.
 *
 * Invariant: a program in which the hooks change nothing is returned itself. If the hooks support a dry run, this is
 * determined before anything is written. */
#include "opt/rewriter.h"

#include "base/status.h"
#include "ir/build/builder_internal.h"
#include "opt/clone.h"

/* ---- names ---- A declaration has a name that no other visible declaration has. If names of the source cannot
 * collide, none are tracked; else the visible ones are recorded when declared and removed at the end of their block.
 * A name of the draft is valid only if rw->draft.failed is not set. */

/* Enters a name of the source into the draft. */
static vy_symbol enter_name(vy_rewrite *rw, vy_symbol name) {
    const char *text = vy_symbol_name(rw->from, name);
    return rw->names[name] = vy_irb_intern(&rw->draft, text, strlen(text));
}

/* The name of the draft for a name of the source; each is interned once. */
static inline vy_symbol copy_name(vy_rewrite *rw, vy_symbol name) {
    if (rw->hooks->keeps_names)
        return name;
    return name && !rw->names[name] ? enter_name(rw, name) : rw->names[name];
}

/* Whether names of the source cannot collide. Names of new `let`s are always unique. */
static inline int keeps_scopes(const vy_rewrite *rw) {
    return rw->hooks->keeps_names || rw->hooks->keeps_blocks;
}

static vy_symbol suffix_name(vy_rewrite *rw, vy_symbol wanted);

/* The name for a copied declaration. */
static inline vy_symbol free_name(vy_rewrite *rw, vy_symbol wanted) {
    return keeps_scopes(rw) ? copy_name(rw, wanted) : suffix_name(rw, wanted);
}

static void show_name(vy_rewrite *rw, vy_symbol name);

/* Shows a name of the source. If none can collide, visible names are not recorded. */
static inline void show_copied(vy_rewrite *rw, vy_symbol name) {
    if (!keeps_scopes(rw))
        show_name(rw, name);
}

/* Grows the table of visible names for a name of the draft, and for further ones, because most names are new. */
static int grow_places(vy_rewrite *rw, vy_symbol name) {
    uint32_t visible = rw->visible.count;
    if (rw->draft.failed || (name >= visible && !VY_RESERVE(&rw->visible, name + 1 - visible))) {
        rw->draft.failed = 1;
        return 0;
    }
    rw->visible.count = rw->visible.capacity;
    memset(rw->visible.items + visible, 0, rw->visible.count - visible);
    return 1;
}

static inline int has_place(vy_rewrite *rw, vy_symbol name) {
    return (!rw->draft.failed && name < rw->visible.count) || grow_places(rw, name);
}

/* Marks a name of the draft as visible until the end of the block. */
static void show_name(vy_rewrite *rw, vy_symbol name) {
    vy_symbol *slot = has_place(rw, name) ? VY_PUSH(&rw->declared) : NULL;
    if (!slot) {
        rw->draft.failed = 1;
        return;
    }
    rw->visible.items[name] = 1;
    *slot = name;
}

/* The name itself if it is free, else with a suffix: passes move blocks and write them several times. The last suffix
 * is stored, so that a thousand copies do not try all suffixes of each other. */
static vy_symbol suffix_name(vy_rewrite *rw, vy_symbol wanted) {
    const char *text = vy_symbol_name(rw->from, wanted);
    vy_symbol name = copy_name(rw, wanted);
    while (has_place(rw, name) && rw->visible.items[name]) {
        char candidate[VY_LIMIT_NAME + 1];
        size_t length = vy_name_suffixed(candidate, text, VY_LIMIT_NAME, ++rw->suffixes[wanted] + 1);
        name = vy_irb_intern(&rw->draft, candidate, length);
    }
    return name;
}

/* Whether the source has the name t with that number. A draft that has all names of the source is searched when the
 * name is entered. */
static int is_of_source(const vy_rewrite *rw, uint32_t number) {
    char candidate[12] = "t"; /* at most ten digits */
    if (rw->hooks->keeps_names)
        return 0;
    size_t length = (size_t)(vy_write_decimal(candidate + 1, number) - candidate);
    return vy_intern_pool_find(&rw->from->names, candidate, length) != VY_SYMBOL_INVALID;
}

vy_symbol vy_rewrite_new_name(vy_rewrite *rw) {
    while (!rw->draft.failed) {
        uint32_t size = rw->draft.program->names.size;
        if (is_of_source(rw, ++rw->made))
            continue;
        vy_symbol name = vy_irb_intern_numbered(&rw->draft, 't', rw->made);
        if (name >= size || (name && !rw->hooks->keeps_names))
            return name;
    }
    return 0;
}

vy_symbol vy_rewrite_declare(vy_rewrite *rw, uint32_t variable) {
    vy_symbol name = free_name(rw, vy_variable_at(rw->from, variable)->name);
    show_copied(rw, name);
    return name;
}

uint32_t vy_rewrite_open(const vy_rewrite *rw) {
    return rw->declared.count;
}

void vy_rewrite_close(vy_rewrite *rw, uint32_t mark) {
    while (rw->declared.count > mark)
        rw->visible.items[rw->declared.items[--rw->declared.count]] = 0;
}

/* ---- the expression pool: the expressions of one statement, read through the hooks and then written ----
 *
 * Operands precede their users in the pool and have their depth. Nothing of the pool outlives its statement. In a dry
 * run no node is made: creating one counts a change and returns VY_NONE. */

static uint32_t depth_of(const vy_rewrite *rw, uint32_t node) {
    return node == VY_NONE ? 0 : rw->pool.items[node].depth + 1;
}

static uint8_t loads_in(const vy_rewrite *rw, uint32_t node) {
    return node != VY_NONE && rw->pool.items[node].loads;
}

/* Making a node is a change. */
static uint32_t note_change(vy_rewrite *rw) {
    rw->changes++;
    return VY_NONE;
}

static uint32_t add_node(vy_rewrite *rw, const vy_expr *expr, vy_position position) {
    uint32_t depth = 0;
    uint8_t loads = expr->kind == VY_EXPR_LOAD;
    if (rw->is_dry_run)
        return note_change(rw);
    if (expr->kind == VY_EXPR_LOAD || expr->kind == VY_EXPR_OP) {
        uint32_t first = expr->kind == VY_EXPR_OP ? expr->a : VY_NONE;
        uint32_t a = depth_of(rw, first), b = depth_of(rw, expr->b), c = depth_of(rw, expr->c);
        depth = a > b ? a : b;
        depth = depth > c ? depth : c;
        loads |= loads_in(rw, first) | loads_in(rw, expr->b) | loads_in(rw, expr->c);
    }
    if (!VY_RESERVE(&rw->pool, 1)) {
        rw->draft.failed = 1;
        return VY_NONE;
    }
    vy_rewrite_node *node = &rw->pool.items[rw->pool.count];
    node->expr = *expr;
    node->position = position;
    node->depth = depth;
    node->loads = loads;
    return rw->pool.count++;
}

uint32_t vy_rewrite_make_literal(vy_rewrite *rw, vyre_type type, uint64_t bits) {
    vy_expr expr = {
        .kind = VY_EXPR_LITERAL, .type = (uint8_t)type, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .bits = bits};
    return add_node(rw, &expr, rw->draft.position);
}

uint32_t vy_rewrite_make_expr(vy_rewrite *rw, const vy_expr *expr) {
    return add_node(rw, expr, rw->draft.position);
}

uint32_t vy_rewrite_make_variable(vy_rewrite *rw, uint32_t variable) {
    if (variable == VY_NONE)
        return VY_NONE;
    if (rw->is_dry_run)
        return note_change(rw);
    const vy_expr expr = vy_variable_expr((vyre_type)vy_variable_at(rw->draft.program, variable)->type, variable);
    return add_node(rw, &expr, rw->draft.position);
}

uint32_t vy_rewrite_make_op(vy_rewrite *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    uint8_t arity = vyre_op_get(op)->arity;
    if (rw->is_dry_run)
        return note_change(rw);
    if (a == VY_NONE || (arity > 1 && b == VY_NONE) || (arity > 2 && c == VY_NONE))
        return VY_NONE;
    vy_expr expr = {.kind = VY_EXPR_OP, .type = (uint8_t)type, .op = (uint8_t)op, .a = a, .b = b, .c = c};
    return add_node(rw, &expr, rw->pool.items[a].position);
}

uint32_t vy_rewrite_make_leaf(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE)
        return VY_NONE;
    uint8_t kind = vy_rewrite_node_at(rw, node)->kind;
    if (kind != VY_EXPR_OP && kind != VY_EXPR_LOAD)
        return node;
    return rw->may_bind ? vy_rewrite_make_variable(rw, vy_rewrite_let(rw, node)) : VY_NONE;
}

/* ---- reading; recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH ---- */

/* Whether the tree hook may replace an expression of this kind. */
static int asks_tree(const vy_rewriter *hooks, const vy_expr *e) {
    return hooks->tree && (!hooks->tree_kinds || hooks->tree_kinds >> e->kind & 1);
}

static int asks_node(const vy_rewriter *hooks, const vy_expr *e) {
    return hooks->node && (!hooks->node_kinds || hooks->node_kinds >> e->kind & 1) &&
           (!hooks->node_ops || e->kind != VY_EXPR_OP || hooks->node_ops[e->op]);
}

uint32_t vy_rewrite_read_below(vy_rewrite *rw, uint32_t root) {
    if (rw->is_dry_run)
        return root;
    vy_expr expr = rw->from->exprs.items[root];
    uint8_t in_arm = rw->in_arm;
    switch (expr.kind) {
    case VY_EXPR_VARIABLE:
        expr.a = rw->variables[expr.a];
        break;
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        expr.a = rw->memories[expr.a];
        break;
    case VY_EXPR_LOAD:
        expr.a = rw->memories[expr.a];
        expr.b = vy_rewrite_read(rw, expr.b);
        expr.c = vy_rewrite_read(rw, expr.c);
        break;
    case VY_EXPR_OP:
        expr.a = vy_rewrite_read(rw, expr.a);
        rw->in_arm |= vy_op_has_arms(expr.op);
        expr.b = vy_rewrite_read(rw, expr.b);
        expr.c = vy_rewrite_read(rw, expr.c);
        rw->in_arm = in_arm;
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
    if (rw->is_dry_run)
        return root;
    rw->draft.position = vy_expr_position(rw->from, root);
    uint32_t node = asks_tree(rw->hooks, vy_expr_at(rw->from, root)) ? rw->hooks->tree(rw, root) : VY_NONE;
    return node != VY_NONE ? node : vy_rewrite_read_below(rw, root);
}

/* ---- writing ---- */

/* Recursion is bounded by the depth of the node, which was checked. */
uint32_t vy_rewrite_write(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE || rw->draft.failed)
        return VY_NONE;
    vy_rewrite_node at = rw->pool.items[node];
    if (at.expr.kind == VY_EXPR_LOAD) {
        at.expr.b = vy_rewrite_write(rw, at.expr.b);
        at.expr.c = vy_rewrite_write(rw, at.expr.c);
    } else if (at.expr.kind == VY_EXPR_OP) {
        at.expr.a = vy_rewrite_write(rw, at.expr.a);
        at.expr.b = vy_rewrite_write(rw, at.expr.b);
        at.expr.c = vy_rewrite_write(rw, at.expr.c);
    }
    rw->draft.position = at.position;
    return at.expr.kind == VY_EXPR_LITERAL ? vy_irb_literal(&rw->draft, (vyre_type)at.expr.type, at.expr.bits)
                                           : vy_irb_expr(&rw->draft, &at.expr);
}

/* Appends a tree of the source that was read as `node` to the draft; the original tree, if the new one is deeper than
 * the language allows. */
static uint32_t write_tree(vy_rewrite *rw, uint32_t root, uint32_t node) {
    if (node != VY_NONE && rw->pool.items[node].depth > VY_LIMIT_EXPRESSION_DEPTH)
        return vy_irb_clone_expr(&rw->draft, rw->from, root, rw->variables, rw->memories);
    return vy_rewrite_write(rw, node);
}

uint32_t vy_rewrite_let(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE || rw->draft.failed)
        return VY_NONE;
    if (rw->is_dry_run)
        return note_change(rw);
    vy_symbol name = vy_rewrite_new_name(rw);
    vyre_type type = (vyre_type)rw->pool.items[node].expr.type;
    vy_position position = rw->pool.items[node].position;
    uint32_t value = vy_rewrite_write(rw, node);
    rw->draft.position = position;
    show_name(rw, name);
    return rw->draft.failed ? VY_NONE : vy_irb_let(&rw->draft, name, type, value);
}

/* ---- statements ----
 *
 * Unchanged statements are copied, in runs where possible; the others are written with their new operands. The trees
 * of a statement are written directly before it, in the order of its operands, after every `let` that reading them
 * created. Nothing is written after a statement that ends its block. */

/* ---- trees ---- */

/* Copies the trees unchanged. */
static void copy_trees(vy_rewrite *rw, const vy_stmt *s, uint32_t first, uint32_t end, vy_stmt *copy) {
    const vy_arg *args = s->arg_count ? rw->from->args.items + s->args : NULL;
    uint32_t at = vy_irb_clone_exprs(&rw->draft, rw->from, first, end, rw->variables, rw->memories), by = at - first;
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

uint32_t vy_rewrite_start_exprs(vy_rewrite *rw, uint32_t count) {
    vyre_program *made = rw->draft.program;
    rw->row.count = 0;
    if (made == rw->from) { /* the program is edited in place */
        rw->draft.failed = !VY_RESERVE(&rw->row, count);
        return rw->draft.failed ? VY_NONE : 0;
    }
    if (rw->draft.failed || vy_irb_is_full(&rw->draft, made->exprs.count + count - 1, VY_LIMIT_EXPRESSIONS))
        return VY_NONE;
    rw->draft.failed = !VY_RESERVE(&rw->row, count) || !VY_RESERVE(&made->exprs, count) ||
                       (vy_irb_keeps_expr_positions(&rw->draft) && !VY_RESERVE(&made->expr_positions, count));
    return rw->draft.failed ? VY_NONE : made->exprs.count;
}

uint32_t vy_rewrite_copy_exprs(vy_rewrite *rw, uint32_t first, uint32_t end) {
    if (vy_rewrite_start_exprs(rw, end - first) == VY_NONE)
        return VY_NONE;
    uint32_t at = vy_irb_clone_exprs(&rw->draft, rw->from, first, end, rw->variables, rw->memories);
    for (uint32_t i = 0; i < end - first; i++)
        rw->row.items[i] = at + i;
    return at;
}

static uint32_t root_in_row(const vy_rewrite *rw, uint32_t first, uint32_t root) {
    return root == VY_NONE ? VY_NONE : rw->row.items[root - first];
}

/* Has the pass write the trees [first, end). */
static void write_row(vy_rewrite *rw, const vy_stmt *s, uint32_t first, uint32_t end, vy_stmt *copy) {
    rw->args.count = 0;
    if (end > first)
        rw->hooks->rewrite_exprs(rw, first, end);
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

/* Reads all trees, then writes them: statements that reading inserted precede all of them. */
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

void vy_rewrite_trees(vy_rewrite *rw, const vy_stmt *s, uint32_t first, uint32_t end, vy_stmt *copy) {
    if (rw->hooks->rewrite_exprs)
        write_row(rw, s, first, end, copy);
    else
        copy_operands(rw, s, copy);
}

/* ---- statements ---- */

/* A statement without its body: structured ones stay open. The output may overwrite it in the source. */
static void copy_head(vy_rewrite *rw, uint32_t index) {
    const vyre_program *p = rw->from;
    const vy_stmt *s = vy_stmt_at(p, index);
    vy_stmt copy = *s;
    uint32_t variable = s->variable, result_count = s->result_count;
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    uint32_t first, end;
    rw->may_bind = s->kind != VY_STMT_WHILE;
    if (vy_rewrite_keeps_trees(rw, index, &first, &end))
        copy_trees(rw, s, first, end, &copy);
    else
        vy_rewrite_trees(rw, s, first, end, &copy);
    copy.memory = s->memory == VY_NONE ? VY_NONE : rw->memories[s->memory];
    copy.variable = s->kind == VY_STMT_ASSIGN ? rw->variables[s->variable] : VY_NONE;
    copy.name = copy_name(rw, s->name);
    for (uint32_t i = 0; i < s->result_count; i++) {
        names[i] = free_name(rw, vy_variable_at(p, s->variable + i)->name);
        types[i] = (vyre_type)vy_variable_at(p, s->variable + i)->type;
        if (s->kind != VY_STMT_FOR)
            show_copied(rw, names[i]); /* a loop variable belongs to the body */
    }
    rw->draft.position = vy_stmt_position(p, index);
    if (rw->draft.failed)
        return;
    uint32_t made = vy_irb_stmt(&rw->draft, &copy, rw->args.items, rw->args.count, names, types);
    for (uint32_t i = 0; i < result_count && made != VY_NONE; i++)
        rw->variables[variable + i] = vy_stmt_at(rw->draft.program, made)->variable + i;
}

static void copy_structured(vy_rewrite *rw, uint32_t index) {
    const vy_stmt s = rw->from->stmts.items[index];
    copy_head(rw, index);
    uint32_t mark = vy_rewrite_open(rw);
    if (s.kind == VY_STMT_FOR && !rw->draft.failed)
        show_copied(rw, vy_variable_at(rw->draft.program, rw->variables[s.variable])->name);
    vy_rewrite_block(rw, index + 1, s.middle);
    vy_rewrite_close(rw, mark);
    if (s.middle != s.end) {
        vy_irb_else(&rw->draft);
        vy_rewrite_block(rw, s.middle, s.end);
        vy_rewrite_close(rw, mark);
    }
    vy_irb_end_block(&rw->draft);
    rw->ended = 0;
}

/* With keeps_blocks: copies the statements from `first` up to the next one that the hooks change. Returns the position
 * where it stopped. */
static uint32_t copy_run(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vyre_program *p = rw->from;
    const vy_stmt *stmts = p->stmts.items;
    const vy_touched *touched = vy_rewrite_next_touched(rw, first);
    uint32_t stop = touched ? touched->stmt : end, next = first, last = first;
    while (next < end && stmts[next].end <= stop) {
        last = next;
        next = stmts[next].end;
    }
    if (next == first)
        return first;
    rw->ended |= vy_rewrite_ends_block(rw, stmts[last].kind);
    for (uint32_t i = first; i < next && !rw->hooks->keeps_names; i++) {
        copy_name(rw, stmts[i].name);
        for (uint32_t k = 0; k < stmts[i].result_count; k++)
            copy_name(rw, vy_variable_at(p, stmts[i].variable + k)->name);
    }
    if (!rw->draft.failed)
        vy_irb_clone_stmts(&rw->draft, p, first, next, rw->variables, rw->memories, rw->names);
    return next;
}

void vy_rewrite_block(vy_rewrite *rw, uint32_t first, uint32_t end) {
    if (rw->is_dry_run) { /* a pass that writes blocks itself changes the program */
        rw->changes++;
        return;
    }
    rw->ended = 0;
    for (uint32_t i = first, next; i < end && !rw->draft.failed; i = next) {
        uint8_t kind = vy_stmt_at(rw->from, i)->kind;
        if (rw->ended) { /* caused by the pass only */
            rw->changes++;
            return;
        }
        next = rw->hooks->keeps_blocks ? copy_run(rw, i, end) : i;
        if (next > i)
            continue;
        next = vy_stmt_at(rw->from, i)->end;
        rw->pool.count = 0;
        rw->may_bind = kind != VY_STMT_WHILE;
        if (rw->hooks->stmt && rw->hooks->stmt(rw, i))
            continue;
        if (vy_stmt_is_structured(kind))
            copy_structured(rw, i);
        else
            copy_head(rw, i);
        rw->ended |= vy_rewrite_ends_block(rw, kind);
    }
}

/* ---- declarations ---- */

static void copy_scalar_param(vy_rewrite *rw, uint32_t variable) {
    const vy_variable *v = vy_variable_at(rw->from, variable);
    vy_symbol name = copy_name(rw, v->name);
    rw->draft.position = v->position;
    rw->variables[variable] = vy_irb_scalar_param(&rw->draft, name, (vyre_type)v->type);
    show_copied(rw, name);
}

static void copy_memory_param(vy_rewrite *rw, uint32_t memory) {
    const vy_memory *m = vy_memory_at(rw->from, memory);
    vy_symbol name = copy_name(rw, m->name);
    rw->draft.position = m->position;
    rw->memories[memory] =
        vy_irb_memory_param(&rw->draft, name, (vy_space)m->space, (vyre_type)m->type, (vyre_access)m->access, m->size);
    show_copied(rw, name);
}

static void copy_arrays(vy_rewrite *rw, uint32_t first) {
    for (uint32_t i = first; i < rw->function->memory_count; i++) {
        uint32_t memory = rw->function->first_memory + i;
        const vy_memory *m = vy_memory_at(rw->from, memory);
        if (rw->drop_memories && rw->drop_memories[memory]) {
            rw->changes++;
            continue;
        }
        vy_symbol name = copy_name(rw, m->name);
        rw->draft.position = m->position;
        rw->memories[memory] = vy_irb_clone_array(&rw->draft, rw->from, memory, name);
        show_copied(rw, name);
    }
}

/* Functions before the entry are dropped (there are no calls), so the operands of counts and grids shift by their
 * declarations. */
static void copy_entry(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    const vy_function *entry = rw->function;
    rw->draft.position = entry->position;
    vy_irb_clone_entry(&rw->draft, p);
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
    vy_irb_begin_function(&rw->draft, copy_name(rw, f->name));
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
        vy_irb_result(&rw->draft, copy_name(rw, result->name), (vyre_type)result->type);
    }
    copy_arrays(rw, memories);
}

/* ---- entry point ---- */

static void copy_functions(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    for (uint32_t i = 0; i < p->functions.count && !rw->draft.failed; i++) {
        rw->function = &p->functions.items[i];
        if (vy_is_entry(p, rw->function))
            copy_entry(rw);
        else
            copy_signature(rw);
        vy_rewrite_block(rw, rw->function->first_stmt, rw->function->end_stmt);
        vy_irb_end_function(&rw->draft);
        vy_rewrite_close(rw, 0);
    }
}

static vyre_status start_draft(vy_rewrite *rw, vyre_error *error) {
    const vyre_program *p = rw->from;
    vyre_status status = vy_irb_start(&rw->draft, vy_symbol_name(p, p->name), error);
    if (status != VYRE_OK)
        return status;
    vyre_program *made = rw->draft.program;
    made->keepalive = vy_keepalive_retain(p->keepalive);
    made->kind = p->kind;
    made->level = rw->hooks->makes_legal ? VYRE_LEVEL_LEGAL : p->level;
    rw->changes = made->level != p->level;
    made->numerics = p->numerics;
    made->uncounted_nodes = p->uncounted_nodes;
    rw->draft.keep_positions = p->stmt_positions.count != 0;
    rw->draft.drop_expr_positions = p->expr_positions.count == 0;
    rw->draft.fail_at_limit = 1;
    rw->draft.skip_verify = 1;
    return VYRE_OK;
}

/* The size of the tables by name of the source. */
static size_t tables_size(const vy_rewrite *rw) {
    return vy_array_size(2 * (rw->from->names.size + (size_t)1), sizeof *rw->names);
}

/* Reserves memory for the output of a pass that bounds its growth. */
static void reserve_ahead(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    vyre_program *made = rw->draft.program;
    vy_growth_bound by = {0};
    rw->hooks->growth_bound(rw, &by);
    rw->draft.failed |= !VY_RESERVE(&made->stmts, p->stmts.count + by.stmts) ||
                        !VY_RESERVE(&made->exprs, p->exprs.count + by.exprs) ||
                        !VY_RESERVE(&made->variables, p->variables.count + by.variables) ||
                        !VY_RESERVE(&made->args, p->args.count + by.args) ||
                        (p->stmt_positions.count && !VY_RESERVE(&made->stmt_positions, p->stmts.count + by.stmts)) ||
                        (p->expr_positions.count && !VY_RESERVE(&made->expr_positions, p->exprs.count + by.exprs));
}

/* The output of a pass is about as large as its input. */
static void reserve(vy_rewrite *rw) {
    uint32_t names = rw->from->names.size;
    if (rw->hooks->growth_bound)
        reserve_ahead(rw);
    else
        vy_irb_reserve(&rw->draft, rw->from);
    if (rw->hooks->keeps_names) {
        vy_irb_clone_symbols(&rw->draft, rw->from);
        return;
    }
    rw->names = vy_allocate_zero(tables_size(rw));
    rw->suffixes = rw->names ? rw->names + names + 1u : NULL;
    rw->draft.failed |= !rw->names || !vy_intern_pool_reserve(&rw->draft.program->names, &rw->from->names) ||
                        !VY_RESERVE(&rw->visible, names);
}

static vyre_status edit_program(vy_rewrite *rw, vyre_program **out, vyre_error *error) {
    vy_rewrite_edit(rw);
    if (rw->draft.failed)
        return vy_fail_memory(error, "a pass");
    return vy_program_unchanged(rw->from, out);
}

static vyre_status write_program(vy_rewrite *rw, vyre_program **out, vyre_error *error) {
    vyre_status status = start_draft(rw, error);
    if (status != VYRE_OK)
        return status;
    reserve(rw);
    copy_functions(rw);
    if (rw->hooks->finish && !rw->draft.failed)
        rw->hooks->finish(rw);
    if (rw->draft.failed || rw->changes)
        return vy_irb_finish(&rw->draft, rw->from->source, NULL, out, error);
    return vy_program_unchanged(rw->from, out);
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
    /* if the statements that the hooks change are known, nothing else changes */
    rw.changes = hooks->makes_legal || hooks->finish || !(hooks->supports_dry_run || vy_rewrite_knows_touched(hooks));
    if (hooks->supports_dry_run || hooks->keeps_blocks)
        vy_rewrite_dry_run(&rw);
    if (rw.draft.failed) {
        status = vy_fail_memory(error, "a pass");
    } else if (!rw.changes) {
        vy_program_unchanged(from, out);
    } else {
        status = vy_rewrite_may_edit(&rw)           ? edit_program(&rw, out, error)
                 : vy_rewrite_may_stay(from, hooks) ? vy_rewrite_in_place(&rw, out, error)
                                                    : write_program(&rw, out, error);
        *changes = rw.changes;
    }
    vy_irb_discard(&rw.draft);
    vy_release(rw.variables, map_size);
    vy_release(rw.names, tables_size(&rw));
    VY_VECTOR_FREE(&rw.pool);
    VY_VECTOR_FREE(&rw.args);
    VY_VECTOR_FREE(&rw.row);
    VY_VECTOR_FREE(&rw.touched);
    VY_VECTOR_FREE(&rw.visible);
    VY_VECTOR_FREE(&rw.declared);
    return status;
}
