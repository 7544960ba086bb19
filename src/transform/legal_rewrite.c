/* Rewriting the entry of a program (legal_rewrite.h): trees, calls of the library, statements. */
#include "transform/legal_rewrite.h"

#include "base/status.h"
#include "transform/name.h"

/* ---- trees ---- */

/* One depth for each tree. Nothing is added after a failure. */
static uint32_t add_tree(vy_legaliser *rw, const vy_expr *e, unsigned depth) {
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

uint32_t vy_legaliser_local_index(vy_legaliser *rw) {
    return add_tree(rw,
                    &(vy_expr){.kind = VY_EXPR_BUILTIN,
                               .type = VYRE_TYPE_U32,
                               .op = VYRE_BUILTIN_LOCAL_INDEX,
                               .a = VY_NONE,
                               .b = VY_NONE,
                               .c = VY_NONE},
                    0);
}

vyre_type vy_legaliser_type(const vy_legaliser *rw, uint32_t tree) {
    return tree == VY_NONE ? VYRE_TYPE_U32 : (vyre_type)rw->trees.items[tree].type;
}

uint32_t vy_legaliser_literal(vy_legaliser *rw, vyre_type type, uint64_t bits) {
    return add_tree(
        rw,
        &(vy_expr){
            .kind = VY_EXPR_LITERAL, .type = (uint8_t)type, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .bits = bits},
        0);
}

int vy_legaliser_is_literal(const vy_legaliser *rw, uint32_t tree, uint64_t *bits) {
    if (tree == VY_NONE || rw->trees.items[tree].kind != VY_EXPR_LITERAL)
        return 0;
    *bits = rw->trees.items[tree].bits;
    return 1;
}

uint32_t vy_legaliser_variable(vy_legaliser *rw, uint32_t variable) {
    if (variable == VY_NONE || variable >= rw->copy.draft.program->variables.count)
        return VY_NONE;
    return add_tree(rw,
                    &(vy_expr){.kind = VY_EXPR_VARIABLE,
                               .type = rw->copy.draft.program->variables.items[variable].type,
                               .a = variable,
                               .b = VY_NONE,
                               .c = VY_NONE},
                    0);
}

static int is_leaf(const vy_legaliser *rw, uint32_t tree) {
    return tree != VY_NONE &&
           (rw->trees.items[tree].kind == VY_EXPR_LITERAL || rw->trees.items[tree].kind == VY_EXPR_VARIABLE);
}

uint32_t vy_legaliser_again(vy_legaliser *rw, uint32_t leaf) {
    if (leaf == VY_NONE)
        return VY_NONE;
    vy_expr e = rw->trees.items[leaf];
    return add_tree(rw, &e, 0);
}

/* Recursion is bounded by VY_LEGALISER_DEEPEST and the depth of the library's expressions. */
uint32_t vy_legaliser_put(vy_legaliser *rw, uint32_t tree) {
    if (tree == VY_NONE)
        return VY_NONE;
    vy_expr e = rw->trees.items[tree];
    if (e.kind == VY_EXPR_OP) {
        e.a = vy_legaliser_put(rw, e.a);
        e.b = vy_legaliser_put(rw, e.b);
        e.c = vy_legaliser_put(rw, e.c);
    } else if (e.kind == VY_EXPR_LOAD) {
        e.b = vy_legaliser_put(rw, e.b);
        e.c = vy_legaliser_put(rw, e.c);
    }
    return vy_draft_expr(&rw->copy.draft, &e);
}

vy_name vy_legaliser_name(vy_legaliser *rw, const char *text) {
    enum { KEPT = 100 }; /* of the text */
    char name[VY_LIMIT_NAME + 1];
    size_t length;
    do
        length = vy_name_suffixed(name, text, KEPT, ++rw->fresh);
    while (vy_names_find(&rw->from->names, name, length) != VY_NAME_FAILED);
    return vy_draft_name(&rw->copy.draft, name, length);
}

uint32_t vy_legaliser_bind(vy_legaliser *rw, uint8_t kind, const char *name, uint32_t tree) {
    vyre_type type = vy_legaliser_type(rw, tree);
    if (tree == VY_NONE)
        return VY_NONE;
    uint32_t value = vy_legaliser_put(rw, tree);
    vy_name named = vy_legaliser_name(rw, name);
    uint32_t variable = kind == VY_STMT_VAR ? vy_draft_var(&rw->copy.draft, named, type, value)
                                            : vy_draft_let(&rw->copy.draft, named, type, value);
    return vy_legaliser_variable(rw, variable);
}

uint32_t vy_legaliser_leaf(vy_legaliser *rw, uint32_t tree, const char *name) {
    return tree == VY_NONE || is_leaf(rw, tree) ? tree : vy_legaliser_bind(rw, VY_STMT_LET, name, tree);
}

static unsigned depth_of(const vy_legaliser *rw, uint32_t tree) {
    return tree == VY_NONE ? 0 : rw->depths.items[tree];
}

/* A node over the operands of e, which are trees. */
uint32_t vy_legaliser_node(vy_legaliser *rw, vy_expr e) {
    uint32_t *operands[3] = {e.kind == VY_EXPR_OP ? &e.a : &e.b, &e.b, &e.c};
    unsigned depth = 0;
    for (int i = 0; i < 3; i++) {
        if (depth_of(rw, *operands[i]) >= VY_LEGALISER_DEEPEST)
            *operands[i] = vy_legaliser_leaf(rw, *operands[i], "deep");
        if (depth_of(rw, *operands[i]) > depth)
            depth = depth_of(rw, *operands[i]);
    }
    return add_tree(rw, &e, depth + 1);
}

uint32_t vy_legaliser_op(vy_legaliser *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    unsigned arity = vyre_op_get(op)->arity;
    if (a == VY_NONE || (arity > 1 && b == VY_NONE) || (arity > 2 && c == VY_NONE))
        return VY_NONE;
    uint32_t folded = vy_legaliser_fold(rw, op, type, a, b, c);
    if (folded != VY_NONE)
        return folded;
    return vy_legaliser_node(
        rw, (vy_expr){.kind = VY_EXPR_OP, .type = (uint8_t)type, .op = (uint8_t)op, .a = a, .b = b, .c = c});
}

uint32_t vy_legaliser_cast(vy_legaliser *rw, vyre_type type, uint32_t tree) {
    return vy_legaliser_type(rw, tree) == type ? tree : vy_legaliser_op1(rw, VYRE_OP_CAST, type, tree);
}

uint32_t vy_legaliser_refuse(vy_legaliser *rw, const char *what, vyre_type type) {
    if (rw->status == VYRE_OK)
        rw->status = vy_fail(rw->error, VYRE_UNSUPPORTED,
                             "choose another backend: `vyre backends` lists them, and `reference` computes everything",
                             "the program uses %s (%s), which the device does not compute exactly and which is not "
                             "made from other operations",
                             what, vyre_type_name(type));
    return VY_NONE;
}

/* ---- calls of the library ---- */

static uint32_t library_tree(vy_legaliser *rw, uint32_t root) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_expr e = rw->called->program->exprs.items[root];
    if (e.kind == VY_EXPR_VARIABLE) {
        uint32_t tree = rw->called->bound[e.a];
        return is_leaf(rw, tree) ? vy_legaliser_again(rw, tree) : tree;
    }
    if (e.kind == VY_EXPR_OP) {
        e.a = library_tree(rw, e.a);
        e.b = library_tree(rw, e.b);
        e.c = library_tree(rw, e.c);
        return vy_legaliser_op(rw, (vyre_op)e.op, (vyre_type)e.type, e.a, e.b, e.c);
    }
    return add_tree(rw, &e, 0);
}

static uint32_t count_uses(const vyre_program *library, uint32_t root, uint32_t variable) {
    if (root == VY_NONE)
        return 0;
    const vy_expr *e = &library->exprs.items[root];
    if (e->kind == VY_EXPR_VARIABLE)
        return e->a == variable;
    return e->kind != VY_EXPR_OP ? 0
                                 : count_uses(library, e->a, variable) + count_uses(library, e->b, variable) +
                                       count_uses(library, e->c, variable);
}

/* Parameters become leaves; in a function that is one expression, a parameter used once becomes its argument. */
static void bind_parameters(vy_legaliser *rw, const vy_function *f, const uint32_t *trees, uint32_t count) {
    const vyre_program *library = rw->called->program;
    const vy_stmt *first = &library->stmts.items[f->first_stmt];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t variable = f->first_variable + i;
        uint32_t uses = 0;
        for (uint32_t k = 0; first->kind == VY_STMT_RETURN && k < first->arg_count; k++)
            uses += count_uses(library, library->args.items[first->args + k].index, variable);
        int once = first->kind == VY_STMT_RETURN && uses <= 1;
        rw->called->bound[variable] =
            once ? trees[i]
                 : vy_legaliser_leaf(rw, trees[i], vy_name_text(library, library->variables.items[variable].name));
    }
}

static void put_function(vy_legaliser *rw, const vy_function *f, const uint32_t *trees, uint32_t count,
                         uint32_t *results);

static void library_call(vy_legaliser *rw, const vy_stmt *s) {
    const vyre_program *library = rw->called->program;
    uint32_t trees[VY_LIMIT_RESULTS], results[VY_LIMIT_RESULTS];
    for (uint32_t i = 0; i < s->arg_count; i++)
        trees[i] = library_tree(rw, library->args.items[s->args + i].index);
    put_function(rw, &library->functions.items[s->callee], trees, s->arg_count, results);
    for (uint32_t i = 0; i < s->result_count; i++)
        rw->called->bound[s->variable + i] =
            vy_legaliser_leaf(rw, results[i], vy_name_text(library, library->variables.items[s->variable + i].name));
}

static void library_block(vy_legaliser *rw, uint32_t first, uint32_t end, uint32_t *results);

/* Of a condition that is known one branch is left. */
static void library_if(vy_legaliser *rw, uint32_t index, uint32_t *results) {
    const vy_stmt *s = &rw->called->program->stmts.items[index];
    vy_draft *draft = &rw->copy.draft;
    uint32_t condition = library_tree(rw, s->a);
    uint64_t holds;
    if (vy_legaliser_is_literal(rw, condition, &holds)) {
        library_block(rw, holds ? index + 1 : s->middle, holds ? s->middle : s->end, results);
        return;
    }
    vy_draft_if(draft, vy_legaliser_put(rw, condition));
    library_block(rw, index + 1, s->middle, results);
    if (s->middle != s->end) {
        vy_draft_else(draft);
        library_block(rw, s->middle, s->end, results);
    }
    vy_draft_end(draft);
}

/* The statements of a function; the values of its return. Recursion is bounded by the nesting of the library. */
static void library_block(vy_legaliser *rw, uint32_t first, uint32_t end, uint32_t *results) {
    const vyre_program *library = rw->called->program;
    vy_draft *draft = &rw->copy.draft;
    for (uint32_t i = first; i < end && !draft->failed && rw->status == VYRE_OK; i = library->stmts.items[i].end) {
        const vy_stmt *s = &library->stmts.items[i];
        const char *name = s->result_count ? vy_name_text(library, library->variables.items[s->variable].name) : "";
        switch ((vy_stmt_kind)s->kind) {
        case VY_STMT_LET:
        case VY_STMT_VAR: {
            uint32_t tree = library_tree(rw, s->a);
            uint64_t bits;
            int is_known = s->kind == VY_STMT_LET && vy_legaliser_is_literal(rw, tree, &bits);
            rw->called->bound[s->variable] = is_known ? tree : vy_legaliser_bind(rw, s->kind, name, tree);
            break;
        }
        case VY_STMT_ASSIGN: {
            uint32_t value = vy_legaliser_put(rw, library_tree(rw, s->a));
            if (rw->called->bound[s->variable] != VY_NONE)
                vy_draft_assign(draft, rw->trees.items[rw->called->bound[s->variable]].a, value);
            break;
        }
        case VY_STMT_CALL:
            library_call(rw, s);
            break;
        case VY_STMT_RETURN:
            for (uint32_t k = 0; k < s->arg_count; k++)
                results[k] = library_tree(rw, library->args.items[s->args + k].index);
            break;
        case VY_STMT_BREAK:
            vy_draft_simple(draft, VY_STMT_BREAK);
            break;
        case VY_STMT_IF:
            library_if(rw, i, results);
            break;
        case VY_STMT_WHILE:
            vy_draft_while(draft, vy_legaliser_put(rw, library_tree(rw, s->a)));
            library_block(rw, i + 1, s->end, results);
            vy_draft_end(draft);
            break;
        default:
            vy_legaliser_refuse(rw, "a statement the library may not have", VYRE_TYPE_BOOL);
        }
    }
}

static void put_function(vy_legaliser *rw, const vy_function *f, const uint32_t *trees, uint32_t count,
                         uint32_t *results) {
    for (uint32_t i = 0; i < f->result_count; i++)
        results[i] = VY_NONE;
    bind_parameters(rw, f, trees, count);
    library_block(rw, f->first_stmt, f->end_stmt, results);
}

void vy_legaliser_call_all(vy_legaliser *rw, uint32_t function, const uint32_t *trees, uint32_t count,
                           uint32_t *results) {
    const vy_function *f;
    if (rw->status == VYRE_OK)
        rw->status = vy_legal_library_read(rw->library, function, &rw->called, &f, rw->error);
    if (rw->status == VYRE_OK)
        put_function(rw, f, trees, count, results);
    else
        memset(results, 0xff, VY_LIMIT_RESULTS * sizeof *results); /* VY_NONE */
}

uint32_t vy_legaliser_call(vy_legaliser *rw, uint32_t function, const uint32_t *trees, uint32_t count) {
    uint32_t results[VY_LIMIT_RESULTS];
    vy_legaliser_call_all(rw, function, trees, count, results);
    return results[0];
}

uint32_t vy_legaliser_named(vy_legaliser *rw, const char *name, uint32_t tree) {
    uint32_t function = vy_legal_find(rw->library, name);
    return function == VY_NONE ? vy_legaliser_refuse(rw, name, vy_legaliser_type(rw, tree))
                               : vy_legaliser_call(rw, function, &tree, 1);
}

/* ---- expressions of the program ---- */

static int is_param(const vy_legaliser *rw, uint32_t variable) {
    return variable - rw->copy.entry->first_variable < rw->from->param_count;
}

static uint32_t lower_index(vy_legaliser *rw, uint32_t root) {
    uint32_t tree = vy_legaliser_lower(rw, root);
    return rw->phase->index ? rw->phase->index(rw, tree) : tree;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
uint32_t vy_legaliser_lower(vy_legaliser *rw, uint32_t root) {
    if (root == VY_NONE || rw->copy.draft.failed || rw->status != VYRE_OK)
        return VY_NONE;
    vy_expr e = rw->from->exprs.items[root];
    vyre_type type = (vyre_type)e.type, carrier;
    uint32_t leaf;
    if (rw->phase->leaf && rw->phase->leaf(rw, &e, &leaf))
        return leaf;
    switch ((vy_expr_kind)e.kind) {
    case VY_EXPR_LITERAL:
        carrier = rw->phase->carrier(rw, type);
        if (carrier != type)
            return vy_legaliser_literal(rw, carrier, vyre_op_evaluate(VYRE_OP_CAST, carrier, type, e.bits, 0, 0));
        return add_tree(rw, &e, 0);
    case VY_EXPR_VARIABLE: {
        uint32_t tree = vy_legaliser_variable(rw, rw->copy.variables[e.a]);
        return is_param(rw, e.a) ? rw->phase->widen(rw, type, tree) : tree;
    }
    case VY_EXPR_LOAD:
        e.a = rw->copy.memories[e.a];
        e.b = lower_index(rw, e.b);
        e.c = vy_legaliser_lower(rw, e.c);
        return e.b == VY_NONE ? VY_NONE : rw->phase->widen(rw, type, vy_legaliser_node(rw, e));
    case VY_EXPR_LEN:
    case VY_EXPR_MISALIGNMENT:
        e.a = rw->copy.memories[e.a];
        return add_tree(rw, &e, 0);
    case VY_EXPR_OP: {
        uint32_t trees[3] = {vy_legaliser_lower(rw, e.a), vy_legaliser_lower(rw, e.b), vy_legaliser_lower(rw, e.c)};
        if (rw->copy.draft.failed || rw->status != VYRE_OK)
            return VY_NONE;
        return rw->phase->op(rw, &rw->from->exprs.items[root], vy_legaliser_operand_type(rw->from, &e), trees);
    }
    default:
        return add_tree(rw, &e, 0);
    }
}

/* Whether lowering the expression needs no statement. */
static int is_kept(const vy_legaliser *rw, uint32_t root, unsigned depth) {
    if (root == VY_NONE)
        return 1;
    const vy_expr *e = &rw->from->exprs.items[root];
    vyre_type type = (vyre_type)e->type;
    int is_same = rw->phase->carrier(rw, type) == type && depth < VY_LEGALISER_DEEPEST;
    if (e->kind == VY_EXPR_LOAD)
        return is_same && is_kept(rw, e->b, depth + 1) && is_kept(rw, e->c, depth + 1);
    if (e->kind != VY_EXPR_OP)
        return is_same;
    return is_same && rw->phase->keeps(rw, e, vy_legaliser_operand_type(rw->from, e)) && is_kept(rw, e->a, depth + 1) &&
           is_kept(rw, e->b, depth + 1) && is_kept(rw, e->c, depth + 1);
}

/* ---- statements of the program ---- */

static void block(vy_legaliser *rw, uint32_t first, uint32_t end);

static vy_name variable_name(vy_legaliser *rw, uint32_t variable) {
    return vy_copy_name(&rw->copy, vy_name_text(rw->from, rw->from->variables.items[variable].name));
}

static void declare(vy_legaliser *rw, const vy_stmt *s) {
    vyre_type type = rw->phase->carrier(rw, (vyre_type)rw->from->variables.items[s->variable].type);
    uint32_t value = vy_legaliser_put(rw, vy_legaliser_lower(rw, s->a));
    vy_name name = variable_name(rw, s->variable);
    rw->copy.variables[s->variable] = s->kind == VY_STMT_VAR ? vy_draft_var(&rw->copy.draft, name, type, value)
                                                             : vy_draft_let(&rw->copy.draft, name, type, value);
}

static void store(vy_legaliser *rw, const vy_stmt *s) {
    const vy_memory *memory = &rw->from->memories.items[s->memory];
    uint32_t index = lower_index(rw, s->a);
    uint32_t value = vy_legaliser_lower(rw, s->b);
    if (value != VY_NONE)
        value = rw->phase->narrow(rw, (vyre_type)memory->type, value, (vy_space)memory->space);
    index = vy_legaliser_put(rw, index);
    value = vy_legaliser_put(rw, value);
    vy_stmt stmt = *s;
    stmt.a = index;
    stmt.b = value;
    stmt.memory = rw->copy.memories[s->memory];
    vy_draft_stmt(&rw->copy.draft, &stmt, NULL, 0, NULL, NULL);
}

/* An atomic or a collective; its result, if it has one, is a variable of type `carrier`. */
static uint32_t with_operands(vy_legaliser *rw, const vy_stmt *s, vy_name name, vyre_type carrier) {
    vy_stmt stmt = *s;
    uint32_t a = s->memory == VY_NONE ? vy_legaliser_lower(rw, s->a) : lower_index(rw, s->a);
    uint32_t b = vy_legaliser_lower(rw, s->b), c = vy_legaliser_lower(rw, s->c);
    stmt.a = vy_legaliser_put(rw, a);
    stmt.b = vy_legaliser_put(rw, b);
    stmt.c = vy_legaliser_put(rw, c);
    stmt.memory = s->memory == VY_NONE ? VY_NONE : rw->copy.memories[s->memory];
    stmt.name = 0;
    if (rw->copy.draft.failed || rw->status != VYRE_OK)
        return VY_NONE;
    uint32_t made = vy_draft_stmt(&rw->copy.draft, &stmt, NULL, 0, &name, &carrier);
    return made == VY_NONE || !s->result_count ? VY_NONE : rw->copy.draft.program->stmts.items[made].variable;
}

static void atomic(vy_legaliser *rw, const vy_stmt *s) {
    vyre_type type = VYRE_TYPE_U32;
    vy_name name = 0;
    if (s->result_count) {
        type = (vyre_type)rw->from->variables.items[s->variable].type;
        name = variable_name(rw, s->variable);
    }
    uint32_t variable = with_operands(rw, s, name, type);
    if (s->result_count)
        rw->copy.variables[s->variable] = variable;
}

/* What is left to the target is exact in the carrier: the others have been written out (legal_meet.h). */
static void collective(vy_legaliser *rw, const vy_stmt *s) {
    vyre_type carrier = rw->phase->carrier(rw, (vyre_type)rw->from->variables.items[s->variable].type);
    vy_name name = variable_name(rw, s->variable);
    rw->copy.variables[s->variable] = with_operands(rw, s, name, carrier);
}

void vy_legaliser_body(vy_legaliser *rw, uint32_t first, uint32_t end, uint32_t mark) {
    block(rw, first, end);
    vy_copy_close(&rw->copy, mark);
}

static void conditional(vy_legaliser *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    uint32_t mark = vy_copy_open(&rw->copy);
    vy_draft_if(&rw->copy.draft, vy_legaliser_put(rw, vy_legaliser_lower(rw, s->a)));
    vy_legaliser_body(rw, index + 1, s->middle, mark);
    if (s->middle != s->end) {
        vy_draft_else(&rw->copy.draft);
        vy_legaliser_body(rw, s->middle, s->end, mark);
    }
    vy_draft_end(&rw->copy.draft);
}

/* A condition that needs statements is computed at the start of each trip. */
static void loop_while(vy_legaliser *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    vy_draft *draft = &rw->copy.draft;
    uint32_t mark = vy_copy_open(&rw->copy);
    if (is_kept(rw, s->a, 0)) {
        vy_draft_while(draft, vy_legaliser_put(rw, vy_legaliser_lower(rw, s->a)));
    } else {
        vy_draft_while(draft, vy_draft_literal(draft, VYRE_TYPE_BOOL, 1));
        uint32_t leaves = vy_legaliser_op1(rw, VYRE_OP_LNOT, VYRE_TYPE_BOOL, vy_legaliser_lower(rw, s->a));
        vy_draft_if(draft, vy_legaliser_put(rw, leaves));
        vy_draft_simple(draft, VY_STMT_BREAK);
        vy_draft_end(draft);
    }
    vy_legaliser_body(rw, index + 1, s->end, mark);
    vy_draft_end(draft);
}

static void loop_for(vy_legaliser *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    vyre_type type = rw->phase->carrier(rw, (vyre_type)rw->from->variables.items[s->variable].type);
    uint32_t mark = vy_copy_open(&rw->copy);
    uint32_t from = vy_legaliser_lower(rw, s->a), to = vy_legaliser_lower(rw, s->b),
             step = vy_legaliser_lower(rw, s->c);
    from = vy_legaliser_put(rw, from);
    to = vy_legaliser_put(rw, to);
    step = vy_legaliser_put(rw, step);
    vy_name name = variable_name(rw, s->variable);
    rw->copy.variables[s->variable] = vy_draft_for(&rw->copy.draft, name, type, from, to, step);
    vy_legaliser_body(rw, index + 1, s->end, mark);
    vy_draft_end(&rw->copy.draft);
}

static void region(vy_legaliser *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    const char *name = vy_name_text(rw->from, s->name);
    vy_stmt stmt = vy_draft_blank(VY_STMT_REGION);
    uint32_t mark = vy_copy_open(&rw->copy);
    stmt.name = vy_draft_name(&rw->copy.draft, name, strlen(name));
    vy_draft_stmt(&rw->copy.draft, &stmt, NULL, 0, NULL, NULL);
    vy_legaliser_body(rw, index + 1, s->end, mark);
    vy_draft_end(&rw->copy.draft);
}

static void statement(vy_legaliser *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    vy_draft *draft = &rw->copy.draft;
    vy_stmt plain = *s;
    rw->trees.count = rw->depths.count = 0;
    draft->position = vy_stmt_position(rw->from, index);
    if (rw->phase->statement && rw->phase->statement(rw, index))
        return;
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
        declare(rw, s);
        break;
    case VY_STMT_ASSIGN:
        vy_draft_assign(draft, rw->copy.variables[s->variable], vy_legaliser_put(rw, vy_legaliser_lower(rw, s->a)));
        break;
    case VY_STMT_STORE:
        store(rw, s);
        break;
    case VY_STMT_ATOMIC:
        atomic(rw, s);
        break;
    case VY_STMT_COLLECTIVE:
        collective(rw, s);
        break;
    case VY_STMT_IF:
        conditional(rw, index);
        break;
    case VY_STMT_WHILE:
        loop_while(rw, index);
        break;
    case VY_STMT_FOR:
        loop_for(rw, index);
        break;
    case VY_STMT_REGION:
        region(rw, index);
        break;
    case VY_STMT_POLL:
        rw->copy.variables[s->variable] = with_operands(rw, s, variable_name(rw, s->variable), VYRE_TYPE_BOOL);
        break;
    case VY_STMT_PRINT: /* of the oracle alone */
        break;
    default: /* trap, barrier, break, continue, return */
        plain.a = vy_legaliser_put(rw, vy_legaliser_lower(rw, s->a));
        plain.name = 0;
        vy_draft_stmt(draft, &plain, NULL, 0, NULL, NULL);
    }
}

static void block(vy_legaliser *rw, uint32_t first, uint32_t end) {
    for (uint32_t i = first, next; i < end && !rw->copy.draft.failed && rw->status == VYRE_OK; i = next) {
        next = rw->phase->declare ? i : vy_legaliser_copy_run(rw, i, end);
        if (next > i)
            continue;
        next = rw->from->stmts.items[i].end;
        statement(rw, i);
    }
}

/* ---- the phase ---- */

static vyre_status write_program(vy_legaliser *rw, vyre_program **out) {
    rw->copy.keeps_names = !rw->phase->declare;
    vyre_status status = vy_copy_start(&rw->copy, rw->from, vy_name_text(rw->from, rw->from->name), rw->error);
    if (status != VYRE_OK)
        return status;
    rw->copy.draft.is_step = 1;
    if (rw->phase->declare) {
        rw->phase->declare(rw);
    } else {
        vy_copy_params(&rw->copy);
        vy_copy_buffers(&rw->copy, 0);
        vy_copy_arrays(&rw->copy);
        vy_copy_grid(&rw->copy);
    }
    block(rw, rw->copy.entry->first_stmt, rw->copy.entry->end_stmt);
    if (rw->status != VYRE_OK)
        return rw->status;
    return vy_copy_finish(&rw->copy, out, rw->error);
}

/* A program of which every statement is written as it is stays itself. */
static vyre_status rewrite(vy_legaliser *rw, vyre_program **out) {
    rw->copy.entry = vy_program_entry(rw->from);
    if (!rw->phase->declare && !vy_legaliser_find_others(rw))
        return vy_fail_memory(rw->error, "a legal program");
    if (rw->phase->declare || rw->others.count)
        return write_program(rw, out);
    *out = vyre_program_retain((vyre_program *)rw->from);
    return VYRE_OK;
}

vyre_status vy_legaliser_run(const vyre_program *program, const vy_legaliser_phase *phase, vy_legal_library *library,
                             uint64_t exact, vyre_program **out, vyre_error *error) {
    vy_legaliser rw = {.from = program, .phase = phase, .library = library, .exact = exact, .error = error};
    uint32_t variables = program->variables.count, memories = program->memories.count;
    size_t size = vy_array_size((size_t)variables + memories + 1, sizeof(uint32_t));
    uint32_t *maps = vy_allocate(size);
    *out = NULL;
    if (!maps)
        return vy_fail_memory(error, "a legal program");
    memset(maps, 0xff, size);
    rw.copy.variables = maps;
    rw.copy.memories = maps + variables;
    if (phase->start)
        phase->start(&rw);
    vyre_status status = rewrite(&rw, out);
    vy_copy_discard(&rw.copy);
    VY_VECTOR_FREE(&rw.trees);
    VY_VECTOR_FREE(&rw.depths);
    VY_VECTOR_FREE(&rw.others);
    vy_release(maps, size);
    return status;
}
