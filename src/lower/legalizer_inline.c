/* Inlining of softlib functions during legalisation (legalizer.h).
 *
 * What must stay true: a variable of the library is bound (rw->called->bound) before it is read, to a leaf or to a tree
 * that is read once. A `let` or a condition that is a literal at the call becomes no statement. A statement that is not
 * handled here is refused. */
#include "lower/legalizer.h"

static uint32_t library_tree(vy_legalizer *rw, uint32_t root) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_expr e = rw->called->program->exprs.items[root];
    if (e.kind == VY_EXPR_VARIABLE) {
        uint32_t tree = rw->called->bound[e.a];
        return vy_legalizer_is_leaf(rw, tree) ? vy_legalizer_reuse(rw, tree) : tree;
    }
    if (e.kind == VY_EXPR_OP) {
        e.a = library_tree(rw, e.a);
        e.b = library_tree(rw, e.b);
        e.c = library_tree(rw, e.c);
        return vy_legalizer_op(rw, (vyre_op)e.op, (vyre_type)e.type, e.a, e.b, e.c);
    }
    return vy_legalizer_add(rw, &e, 0);
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
static void bind_parameters(vy_legalizer *rw, const vy_function *f, const uint32_t *trees, uint32_t count) {
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
                 : vy_legalizer_materialize(rw, trees[i],
                                            vy_symbol_name(library, library->variables.items[variable].name));
    }
}

static void put_function(vy_legalizer *rw, const vy_function *f, const uint32_t *trees, uint32_t count,
                         uint32_t *results);

static void library_call(vy_legalizer *rw, const vy_stmt *s) {
    const vyre_program *library = rw->called->program;
    uint32_t trees[VY_LIMIT_RESULTS], results[VY_LIMIT_RESULTS];
    for (uint32_t i = 0; i < s->arg_count; i++)
        trees[i] = library_tree(rw, library->args.items[s->args + i].index);
    put_function(rw, &library->functions.items[s->callee], trees, s->arg_count, results);
    for (uint32_t i = 0; i < s->result_count; i++)
        rw->called->bound[s->variable + i] = vy_legalizer_materialize(
            rw, results[i], vy_symbol_name(library, library->variables.items[s->variable + i].name));
}

static void library_block(vy_legalizer *rw, uint32_t first, uint32_t end, uint32_t *results);

/* Of a condition that is known one branch is left. */
static void library_if(vy_legalizer *rw, uint32_t index, uint32_t *results) {
    const vy_stmt *s = &rw->called->program->stmts.items[index];
    vy_irb *draft = &rw->copy.draft;
    uint32_t condition = library_tree(rw, s->a);
    uint64_t holds;
    if (vy_legalizer_is_literal(rw, condition, &holds)) {
        library_block(rw, holds ? index + 1 : s->middle, holds ? s->middle : s->end, results);
        return;
    }
    vy_irb_if(draft, vy_legalizer_append(rw, condition));
    library_block(rw, index + 1, s->middle, results);
    if (s->middle != s->end) {
        vy_irb_else(draft);
        library_block(rw, s->middle, s->end, results);
    }
    vy_irb_end_block(draft);
}

/* The statements of a function; the values of its return. Recursion is bounded by the nesting of the library. */
static void library_block(vy_legalizer *rw, uint32_t first, uint32_t end, uint32_t *results) {
    const vyre_program *library = rw->called->program;
    vy_irb *draft = &rw->copy.draft;
    for (uint32_t i = first; i < end && !draft->failed && rw->status == VYRE_OK; i = library->stmts.items[i].end) {
        const vy_stmt *s = &library->stmts.items[i];
        const char *name = s->result_count ? vy_symbol_name(library, library->variables.items[s->variable].name) : "";
        switch ((vy_stmt_kind)s->kind) {
        case VY_STMT_LET:
        case VY_STMT_VAR: {
            uint32_t tree = library_tree(rw, s->a);
            uint64_t bits;
            int is_known = s->kind == VY_STMT_LET && vy_legalizer_is_literal(rw, tree, &bits);
            rw->called->bound[s->variable] = is_known ? tree : vy_legalizer_bind(rw, s->kind, name, tree);
            break;
        }
        case VY_STMT_ASSIGN: {
            uint32_t value = vy_legalizer_append(rw, library_tree(rw, s->a));
            if (rw->called->bound[s->variable] != VY_NONE)
                vy_irb_assign(draft, rw->trees.items[rw->called->bound[s->variable]].a, value);
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
            vy_irb_simple(draft, VY_STMT_BREAK);
            break;
        case VY_STMT_IF:
            library_if(rw, i, results);
            break;
        case VY_STMT_WHILE:
            vy_irb_while(draft, vy_legalizer_append(rw, library_tree(rw, s->a)));
            library_block(rw, i + 1, s->end, results);
            vy_irb_end_block(draft);
            break;
        default:
            vy_legalizer_refuse(rw, "a statement the library may not have", VYRE_TYPE_BOOL);
        }
    }
}

static void put_function(vy_legalizer *rw, const vy_function *f, const uint32_t *trees, uint32_t count,
                         uint32_t *results) {
    for (uint32_t i = 0; i < f->result_count; i++)
        results[i] = VY_NONE;
    bind_parameters(rw, f, trees, count);
    library_block(rw, f->first_stmt, f->end_stmt, results);
}

void vy_legalizer_call_all(vy_legalizer *rw, uint32_t function, const uint32_t *trees, uint32_t count,
                           uint32_t *results) {
    const vy_function *f;
    if (rw->status == VYRE_OK)
        rw->status = vy_softlib_read(rw->library, function, &rw->called, &f, rw->error);
    if (rw->status == VYRE_OK)
        put_function(rw, f, trees, count, results);
    else
        memset(results, 0xff, VY_LIMIT_RESULTS * sizeof *results); /* VY_NONE */
}

uint32_t vy_legalizer_call(vy_legalizer *rw, uint32_t function, const uint32_t *trees, uint32_t count) {
    uint32_t results[VY_LIMIT_RESULTS];
    vy_legalizer_call_all(rw, function, trees, count, results);
    return results[0];
}

uint32_t vy_legalizer_named(vy_legalizer *rw, const char *name, uint32_t tree) {
    uint32_t function = vy_softlib_find(rw->library, name);
    return function == VY_NONE ? vy_legalizer_refuse(rw, name, vy_legalizer_type(rw, tree))
                               : vy_legalizer_call(rw, function, &tree, 1);
}
