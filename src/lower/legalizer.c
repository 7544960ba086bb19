/* Legalizer (legalizer.h): walks the entry of a program, lowers every expression by the hooks of a phase, and writes a
 * new program. */
#include "lower/legalizer.h"

#include "base/status.h"
#include "ir/eval.h"
#include "ir/walk.h"

/* ---- trees ----
 *
 * The depth of every tree is in rw->depths. A tree that has reached VY_LEGALIZER_MAX_DEPTH is bound to a variable
 * before another node is added above it. After a failure no node is added; with an operand VY_NONE the result is
 * VY_NONE. */

uint32_t vy_legalizer_add(vy_legalizer *rw, const vy_expr *e, unsigned depth) {
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

uint32_t vy_legalizer_local_index(vy_legalizer *rw) {
    return vy_legalizer_add(rw,
                            &(vy_expr){.kind = VY_EXPR_BUILTIN,
                                       .type = VYRE_TYPE_U32,
                                       .op = VYRE_BUILTIN_LOCAL_INDEX,
                                       .a = VY_NONE,
                                       .b = VY_NONE,
                                       .c = VY_NONE},
                            0);
}

vyre_type vy_legalizer_type(const vy_legalizer *rw, uint32_t tree) {
    return tree == VY_NONE ? VYRE_TYPE_U32 : (vyre_type)rw->trees.items[tree].type;
}

uint32_t vy_legalizer_literal(vy_legalizer *rw, vyre_type type, uint64_t bits) {
    return vy_legalizer_add(
        rw,
        &(vy_expr){
            .kind = VY_EXPR_LITERAL, .type = (uint8_t)type, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .bits = bits},
        0);
}

int vy_legalizer_is_literal(const vy_legalizer *rw, uint32_t tree, uint64_t *bits) {
    if (tree == VY_NONE || rw->trees.items[tree].kind != VY_EXPR_LITERAL)
        return 0;
    *bits = rw->trees.items[tree].bits;
    return 1;
}

uint32_t vy_legalizer_variable(vy_legalizer *rw, uint32_t variable) {
    if (variable == VY_NONE || variable >= rw->copy.draft.program->variables.count)
        return VY_NONE;
    const vy_expr expr = vy_variable_expr((vyre_type)vy_variable_at(rw->copy.draft.program, variable)->type, variable);
    return vy_legalizer_add(rw, &expr, 0);
}

uint32_t vy_legalizer_reuse(vy_legalizer *rw, uint32_t leaf) {
    if (leaf == VY_NONE)
        return VY_NONE;
    vy_expr e = rw->trees.items[leaf];
    return vy_legalizer_add(rw, &e, 0);
}

/* Recursion is bounded by VY_LEGALIZER_MAX_DEPTH and the depth of the library's expressions. */
uint32_t vy_legalizer_append(vy_legalizer *rw, uint32_t tree) {
    if (tree == VY_NONE)
        return VY_NONE;
    vy_expr e = rw->trees.items[tree];
    if (e.kind == VY_EXPR_OP) {
        e.a = vy_legalizer_append(rw, e.a);
        e.b = vy_legalizer_append(rw, e.b);
        e.c = vy_legalizer_append(rw, e.c);
    } else if (e.kind == VY_EXPR_LOAD) {
        e.b = vy_legalizer_append(rw, e.b);
        e.c = vy_legalizer_append(rw, e.c);
    }
    return vy_irb_expr(&rw->copy.draft, &e);
}

vy_symbol vy_legalizer_name(vy_legalizer *rw, const char *text) {
    enum { KEPT = 100 }; /* of the text */
    char name[VY_LIMIT_NAME + 1];
    size_t length;
    do
        length = vy_name_suffixed(name, text, KEPT, ++rw->fresh);
    while (vy_intern_pool_find(&rw->from->names, name, length) != VY_SYMBOL_INVALID);
    return vy_irb_intern(&rw->copy.draft, name, length);
}

uint32_t vy_legalizer_bind(vy_legalizer *rw, uint8_t kind, const char *name, uint32_t tree) {
    vyre_type type = vy_legalizer_type(rw, tree);
    if (tree == VY_NONE)
        return VY_NONE;
    uint32_t value = vy_legalizer_append(rw, tree);
    vy_symbol named = vy_legalizer_name(rw, name);
    uint32_t variable = kind == VY_STMT_VAR ? vy_irb_var(&rw->copy.draft, named, type, value)
                                            : vy_irb_let(&rw->copy.draft, named, type, value);
    return vy_legalizer_variable(rw, variable);
}

uint32_t vy_legalizer_materialize(vy_legalizer *rw, uint32_t tree, const char *name) {
    return tree == VY_NONE || vy_legalizer_is_leaf(rw, tree) ? tree : vy_legalizer_bind(rw, VY_STMT_LET, name, tree);
}

static unsigned depth_of(const vy_legalizer *rw, uint32_t tree) {
    return tree == VY_NONE ? 0 : rw->depths.items[tree];
}

/* A node over the operands of e, which are trees. */
uint32_t vy_legalizer_node(vy_legalizer *rw, vy_expr e) {
    uint32_t *operands[3] = {e.kind == VY_EXPR_OP ? &e.a : &e.b, &e.b, &e.c};
    unsigned depth = 0;
    for (int i = 0; i < 3; i++) {
        if (depth_of(rw, *operands[i]) >= VY_LEGALIZER_MAX_DEPTH)
            *operands[i] = vy_legalizer_materialize(rw, *operands[i], "deep");
        if (depth_of(rw, *operands[i]) > depth)
            depth = depth_of(rw, *operands[i]);
    }
    return vy_legalizer_add(rw, &e, depth + 1);
}

static uint32_t legalizer_fold(vy_legalizer *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);

uint32_t vy_legalizer_op(vy_legalizer *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    unsigned arity = vyre_op_get(op)->arity;
    if (a == VY_NONE || (arity > 1 && b == VY_NONE) || (arity > 2 && c == VY_NONE))
        return VY_NONE;
    uint32_t folded = legalizer_fold(rw, op, type, a, b, c);
    if (folded != VY_NONE)
        return folded;
    return vy_legalizer_node(
        rw, (vy_expr){.kind = VY_EXPR_OP, .type = (uint8_t)type, .op = (uint8_t)op, .a = a, .b = b, .c = c});
}

uint32_t vy_legalizer_cast(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    return vy_legalizer_type(rw, tree) == type ? tree : vy_legalizer_op1(rw, VYRE_OP_CAST, type, tree);
}

/* ---- folding ----
 *
 * The operands of softlib code are often known where it is inlined: the amount of a shift, or the high half of a value
 * that was 32 bits wide. Only bools and 32-bit integers are folded, because every target computes them alike. */

/* An identity: a literal operand of an op, and whether the result is the other operand or the literal. */
typedef struct identity {
    uint8_t op, type;
    uint8_t is_second; /* the literal must be the right operand */
    uint8_t gives_other;
    uint32_t bits;
} identity;

static const identity identities[] = {
    {VYRE_OP_ADD, VYRE_TYPE_U32, 0, 1, 0},   {VYRE_OP_SUB, VYRE_TYPE_U32, 1, 1, 0},
    {VYRE_OP_OR, VYRE_TYPE_U32, 0, 1, 0},    {VYRE_OP_XOR, VYRE_TYPE_U32, 0, 1, 0},
    {VYRE_OP_SHL, VYRE_TYPE_U32, 1, 1, 0},   {VYRE_OP_SHR, VYRE_TYPE_U32, 1, 1, 0},
    {VYRE_OP_MUL, VYRE_TYPE_U32, 0, 0, 0},   {VYRE_OP_MUL_HIGH, VYRE_TYPE_U32, 0, 0, 0},
    {VYRE_OP_AND, VYRE_TYPE_U32, 0, 0, 0},   {VYRE_OP_AND, VYRE_TYPE_U32, 0, 1, UINT32_MAX},
    {VYRE_OP_LAND, VYRE_TYPE_BOOL, 0, 1, 1}, {VYRE_OP_LAND, VYRE_TYPE_BOOL, 0, 0, 0},
    {VYRE_OP_LOR, VYRE_TYPE_BOOL, 0, 1, 0},  {VYRE_OP_LOR, VYRE_TYPE_BOOL, 0, 0, 1},
};

static int is_foldable(vyre_type type) {
    return type == VYRE_TYPE_BOOL || type == VYRE_TYPE_I32 || type == VYRE_TYPE_U32;
}

static vy_legal_folded by_identity(vyre_op op, vyre_type type, const uint64_t *a, const uint64_t *b) {
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++) {
        const identity *row = &identities[i];
        if (row->op != op || row->type != type)
            continue;
        if (b && *b == row->bits)
            return row->gives_other ? VY_FOLDED_A : VY_FOLDED_B;
        if (!row->is_second && a && *a == row->bits)
            return row->gives_other ? VY_FOLDED_B : VY_FOLDED_A;
    }
    return VY_FOLDED_NOT;
}

static vy_legal_folded legal_fold(vyre_op op, vyre_type type, vyre_type operand, const uint64_t *a, const uint64_t *b,
                                  uint64_t *bits) {
    unsigned arity = vyre_op_get(op)->arity;
    if (op == VYRE_OP_SELECT)
        return !a ? VY_FOLDED_NOT : *a ? VY_FOLDED_B : VY_FOLDED_C;
    if (!is_foldable(type) || !is_foldable(operand) || arity > 2)
        return VY_FOLDED_NOT;
    if (a && (arity == 1 || b)) {
        *bits = vyre_op_evaluate(op, type, operand, *a, arity == 1 ? 0 : *b, 0);
        return VY_FOLDED_LITERAL;
    }
    const uint64_t *least = op == VYRE_OP_LT ? b : op == VYRE_OP_GT ? a : NULL; /* no u32 is less than 0 */
    if (operand == VYRE_TYPE_U32 && least && *least == 0) {
        *bits = 0;
        return VY_FOLDED_LITERAL;
    }
    return arity == 2 ? by_identity(op, type, a, b) : VY_FOLDED_NOT;
}

/* The tree that an op with a literal operand folds to; VY_NONE if it does not fold. */
static uint32_t legalizer_fold(vy_legalizer *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    uint64_t x, y, bits;
    int knows_a = vy_legalizer_is_literal(rw, a, &x), knows_b = vy_legalizer_is_literal(rw, b, &y);
    if (!knows_a && !knows_b)
        return VY_NONE;
    switch (legal_fold(op, type, vy_legalizer_type(rw, a), knows_a ? &x : NULL, knows_b ? &y : NULL, &bits)) {
    case VY_FOLDED_LITERAL:
        return vy_legalizer_literal(rw, type, bits);
    case VY_FOLDED_A:
        return a;
    case VY_FOLDED_B:
        return b;
    case VY_FOLDED_C:
        return c;
    case VY_FOLDED_NOT:
        break;
    }
    return VY_NONE;
}

/* ---- expressions of the program ----
 *
 * A tree has the type that carries values of the expression's type (rw->phase->carrier). So an element read from
 * memory, or a param, is widened immediately, and a literal is converted. Nothing is lowered after a failure or a
 * refusal. */

static int is_param(const vy_legalizer *rw, uint32_t variable) {
    return variable - rw->copy.entry->first_variable < rw->from->param_count;
}

/* The index of an access. */
static uint32_t lower_index(vy_legalizer *rw, uint32_t root) {
    uint32_t tree = vy_legalizer_lower(rw, root);
    return rw->phase->index ? rw->phase->index(rw, tree) : tree;
}

static uint32_t widen(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    return rw->phase->widen ? rw->phase->widen(rw, type, tree) : tree;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
uint32_t vy_legalizer_lower(vy_legalizer *rw, uint32_t root) {
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
            return vy_legalizer_literal(rw, carrier, vyre_op_evaluate(VYRE_OP_CAST, carrier, type, e.bits, 0, 0));
        return vy_legalizer_add(rw, &e, 0);
    case VY_EXPR_VARIABLE: {
        uint32_t tree = vy_legalizer_variable(rw, rw->copy.variables[e.a]);
        return is_param(rw, e.a) ? widen(rw, type, tree) : tree;
    }
    case VY_EXPR_LOAD:
        e.a = rw->copy.memories[e.a];
        e.b = lower_index(rw, e.b);
        e.c = vy_legalizer_lower(rw, e.c);
        return e.b == VY_NONE ? VY_NONE : widen(rw, type, vy_legalizer_node(rw, e));
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        e.a = rw->copy.memories[e.a];
        return vy_legalizer_add(rw, &e, 0);
    case VY_EXPR_OP: {
        uint32_t trees[3] = {vy_legalizer_lower(rw, e.a), vy_legalizer_lower(rw, e.b), vy_legalizer_lower(rw, e.c)};
        if (rw->copy.draft.failed || rw->status != VYRE_OK)
            return VY_NONE;
        return rw->phase->op(rw, vy_expr_at(rw->from, root), vy_operand_type(rw->from, &e), trees);
    }
    default:
        return vy_legalizer_add(rw, &e, 0);
    }
}

/* Whether an expression at this depth of its tree is lowered without additional statements. */
static int is_kept(const vy_legalizer *rw, uint32_t root, unsigned depth) {
    if (root == VY_NONE)
        return 1;
    const vy_expr *e = vy_expr_at(rw->from, root);
    vyre_type type = (vyre_type)e->type;
    int is_same = rw->phase->carrier(rw, type) == type && depth < VY_LEGALIZER_MAX_DEPTH;
    if (e->kind == VY_EXPR_LOAD)
        return is_same && is_kept(rw, e->b, depth + 1) && is_kept(rw, e->c, depth + 1);
    if (e->kind != VY_EXPR_OP)
        return is_same;
    return is_same && rw->phase->keeps(rw, e, vy_operand_type(rw->from, e)) && is_kept(rw, e->a, depth + 1) &&
           is_kept(rw, e->b, depth + 1) && is_kept(rw, e->c, depth + 1);
}

/* ---- unchanged statements ----
 *
 * Most statements of a program are written unchanged. They are found first, and copied in runs. A statement is plain
 * only if lowering it would write the same statement. The test is conservative: any other statement is lowered. */

/* Whether legalizer_fold leaves the op unchanged, as it does without a literal operand. */
static int is_unfolded(const vyre_program *p, const vy_expr *e) {
    const vy_expr *a = vy_literal_at(p, e->a), *b = vy_literal_at(p, e->b);
    uint64_t bits;
    return (!a && !b) || legal_fold((vyre_op)e->op, (vyre_type)e->type, (vyre_type)vy_expr_at(p, e->a)->type,
                                    a ? &a->bits : NULL, b ? &b->bits : NULL, &bits) == VY_FOLDED_NOT;
}

/* The types whose values keep their type. Narrow types are converted or have several lowerings, except in phases that
 * keep them. */
static uint32_t plain_types(const vy_legalizer *rw) {
    uint32_t plain = 0;
    for (uint32_t i = 0; i < VYRE_TYPE_COUNT; i++)
        if ((i == VYRE_TYPE_BOOL || vy_type_layouts[i].bits >= 32 || rw->phase->keeps_narrow) &&
            rw->phase->carrier(rw, (vyre_type)i) == i)
            plain |= 1u << i;
    return plain;
}

static inline int is_plain_type(const vy_legalizer *rw, uint8_t type) {
    return rw->plain >> type & 1;
}

/* Whether a node is lowered to itself if its operands are. */
static int is_plain(const vy_legalizer *rw, const vy_expr *e) {
    if (!is_plain_type(rw, e->type))
        return 0;
    return e->kind != VY_EXPR_OP || (is_unfolded(rw->from, e) && rw->phase->keeps(rw, e, vy_operand_type(rw->from, e)));
}

static int are_plain(const vy_legalizer *rw, uint32_t first, uint32_t end) {
    if (end - first > VY_LEGALIZER_MAX_DEPTH)
        return 0;
    for (uint32_t i = first; i < end; i++)
        if (!is_plain(rw, vy_expr_at(rw->from, i)))
            return 0;
    return 1;
}

/* Whether lowering a statement, without its body, would write the same statement. */
static int is_plain_stmt(const vy_legalizer *rw, const vy_stmt *s, uint32_t first, uint32_t end) {
    const vyre_program *p = rw->from;
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
    case VY_STMT_FOR:
        if (!is_plain_type(rw, vy_variable_at(p, s->variable)->type))
            return 0;
        break;
    case VY_STMT_STORE:
        if (!is_plain_type(rw, vy_memory_at(p, s->memory)->type) ||
            !(vy_type_layouts[vy_memory_at(p, s->memory)->type].classes & VYRE_CLASS_INTEGER))
            return 0;
        break;
    case VY_STMT_ASSIGN:
    case VY_STMT_IF:
    case VY_STMT_WHILE:
    case VY_STMT_REGION:
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
    case VY_STMT_BARRIER:
        break;
    default:
        return 0;
    }
    return are_plain(rw, first, end);
}

/* For phases that declare everything unchanged: records the statements of the entry that are not plain. Returns 0 if
 * out of memory. */
static int find_others(vy_legalizer *rw) {
    uint32_t end = 0; /* of the expressions of the previous statement; the program consists of its entry only */
    rw->plain = plain_types(rw);
    for (uint32_t i = rw->copy.entry->first_stmt; i < rw->copy.entry->end_stmt; i++) {
        const vy_stmt *s = vy_stmt_at(rw->from, i);
        uint32_t first = end;
        end = vy_stmt_exprs_end(rw->from, s, first);
        if (is_plain_stmt(rw, s, first, end))
            continue;
        uint32_t *slot = VY_PUSH(&rw->others);
        if (!slot)
            return 0;
        *slot = i;
    }
    return 1;
}

/* Copies the statements from `first` up to the next one that is not plain. Returns the position where it stopped, at
 * most `end`. Lowered expressions have the position of their statement; bounds_checks.c gave it to the copied ones. */
static uint32_t copy_run(vy_legalizer *rw, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = rw->from->stmts.items;
    while (rw->next_other < rw->others.count && rw->others.items[rw->next_other] < first)
        rw->next_other++;
    uint32_t stop = rw->next_other < rw->others.count ? rw->others.items[rw->next_other] : end, next = first;
    while (next < end && stmts[next].end <= stop)
        next = stmts[next].end;
    if (next == first)
        return first;
    vy_irb_clone_stmts(&rw->copy.draft, rw->from, first, next, rw->copy.variables, rw->copy.memories, NULL);
    return next;
}

/* ---- statements ----
 *
 * All operands of a statement are lowered before the first one is written: lowering may write statements, and the
 * operands must directly precede their own statement. Trees are discarded with their statement. */

static vy_symbol variable_name(vy_legalizer *rw, uint32_t variable) {
    return vy_cloner_name(&rw->copy, vy_symbol_name(rw->from, vy_variable_at(rw->from, variable)->name));
}

static void declare(vy_legalizer *rw, const vy_stmt *s) {
    vyre_type type = rw->phase->carrier(rw, (vyre_type)vy_variable_at(rw->from, s->variable)->type);
    uint32_t value = vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a));
    vy_symbol name = variable_name(rw, s->variable);
    rw->copy.variables[s->variable] = s->kind == VY_STMT_VAR ? vy_irb_var(&rw->copy.draft, name, type, value)
                                                             : vy_irb_let(&rw->copy.draft, name, type, value);
}

static void store(vy_legalizer *rw, const vy_stmt *s) {
    const vy_memory *memory = vy_memory_at(rw->from, s->memory);
    uint32_t index = lower_index(rw, s->a);
    uint32_t value = vy_legalizer_lower(rw, s->b);
    if (value != VY_NONE && rw->phase->narrow)
        value = rw->phase->narrow(rw, (vyre_type)memory->type, s->b, value, (vy_space)memory->space);
    index = vy_legalizer_append(rw, index);
    value = vy_legalizer_append(rw, value);
    vy_stmt stmt = *s;
    stmt.a = index;
    stmt.b = value;
    stmt.memory = rw->copy.memories[s->memory];
    vy_irb_stmt(&rw->copy.draft, &stmt, NULL, 0, NULL, NULL);
}

/* An atomic or a collective. Its result, if any, is a variable of type `carrier`. */
static uint32_t with_operands(vy_legalizer *rw, const vy_stmt *s, vy_symbol name, vyre_type carrier) {
    vy_stmt stmt = *s;
    uint32_t a = s->memory == VY_NONE ? vy_legalizer_lower(rw, s->a) : lower_index(rw, s->a);
    uint32_t b = vy_legalizer_lower(rw, s->b), c = vy_legalizer_lower(rw, s->c);
    stmt.a = vy_legalizer_append(rw, a);
    stmt.b = vy_legalizer_append(rw, b);
    stmt.c = vy_legalizer_append(rw, c);
    stmt.memory = s->memory == VY_NONE ? VY_NONE : rw->copy.memories[s->memory];
    stmt.name = 0;
    if (rw->copy.draft.failed || rw->status != VYRE_OK)
        return VY_NONE;
    uint32_t made = vy_irb_stmt(&rw->copy.draft, &stmt, NULL, 0, &name, &carrier);
    return made == VY_NONE || !s->result_count ? VY_NONE : vy_stmt_at(rw->copy.draft.program, made)->variable;
}

static void atomic(vy_legalizer *rw, const vy_stmt *s) {
    vyre_type type = VYRE_TYPE_U32;
    vy_symbol name = 0;
    if (s->result_count) {
        type = (vyre_type)vy_variable_at(rw->from, s->variable)->type;
        name = variable_name(rw, s->variable);
    }
    uint32_t variable = with_operands(rw, s, name, type);
    if (s->result_count)
        rw->copy.variables[s->variable] = variable;
}

/* A call of an op whose code the target has. Its operands are of types that every such target has (lowering_code.h), so
 * they remain unchanged. */
static void call(vy_legalizer *rw, const vy_stmt *s) {
    vy_irb *draft = &rw->copy.draft;
    vy_stmt stmt = *s;
    vy_arg args[VY_LIMIT_PARAMS];
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    for (uint32_t i = 0; i < s->arg_count; i++)
        args[i] = (vy_arg){0, vy_legalizer_lower(rw, rw->from->args.items[s->args + i].index)};
    for (uint32_t i = 0; i < s->arg_count; i++)
        args[i].index = vy_legalizer_append(rw, args[i].index);
    for (uint32_t i = 0; i < s->result_count; i++) {
        names[i] = variable_name(rw, s->variable + i);
        types[i] = (vyre_type)vy_variable_at(rw->from, s->variable + i)->type;
        if (rw->phase->carrier(rw, types[i]) != types[i])
            vy_legalizer_refuse(rw, "the code of an op", types[i]);
    }
    const char *name = vy_symbol_name(rw->from, s->name);
    stmt.name = vy_irb_intern(draft, name, strlen(name));
    if (draft->failed || rw->status != VYRE_OK)
        return;
    uint32_t made = vy_irb_stmt(draft, &stmt, args, s->arg_count, names, types);
    for (uint32_t i = 0; i < s->result_count && made != VY_NONE; i++)
        rw->copy.variables[s->variable + i] = vy_stmt_at(draft->program, made)->variable + i;
}

/* The remaining collectives are exact in the carrier; all others were lowered before (collectives.h). */
static void collective(vy_legalizer *rw, const vy_stmt *s) {
    vyre_type carrier = rw->phase->carrier(rw, (vyre_type)vy_variable_at(rw->from, s->variable)->type);
    vy_symbol name = variable_name(rw, s->variable);
    rw->copy.variables[s->variable] = with_operands(rw, s, name, carrier);
}

static void legalizer_block(vy_legalizer *rw, uint32_t first, uint32_t end);

void vy_legalizer_body(vy_legalizer *rw, uint32_t first, uint32_t end, uint32_t mark) {
    legalizer_block(rw, first, end);
    vy_cloner_close(&rw->copy, mark);
}

static void conditional(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    uint32_t mark = vy_cloner_open(&rw->copy);
    vy_irb_if(&rw->copy.draft, vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a)));
    vy_legalizer_body(rw, index + 1, s->middle, mark);
    if (s->middle != s->end) {
        vy_irb_else(&rw->copy.draft);
        vy_legalizer_body(rw, s->middle, s->end, mark);
    }
    vy_irb_end_block(&rw->copy.draft);
}

/* A condition that needs statements is computed at the start of each iteration. */
static void loop_while(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    vy_irb *draft = &rw->copy.draft;
    uint32_t mark = vy_cloner_open(&rw->copy);
    if (is_kept(rw, s->a, 0)) {
        vy_irb_while(draft, vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a)));
    } else {
        vy_irb_while(draft, vy_irb_literal(draft, VYRE_TYPE_BOOL, 1));
        uint32_t leaves = vy_legalizer_op1(rw, VYRE_OP_LNOT, VYRE_TYPE_BOOL, vy_legalizer_lower(rw, s->a));
        vy_irb_if(draft, vy_legalizer_append(rw, leaves));
        vy_irb_simple(draft, VY_STMT_BREAK);
        vy_irb_end_block(draft);
    }
    vy_legalizer_body(rw, index + 1, s->end, mark);
    vy_irb_end_block(draft);
}

static void loop_for(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    vyre_type type = rw->phase->carrier(rw, (vyre_type)vy_variable_at(rw->from, s->variable)->type);
    uint32_t mark = vy_cloner_open(&rw->copy);
    uint32_t from = vy_legalizer_lower(rw, s->a), to = vy_legalizer_lower(rw, s->b),
             step = vy_legalizer_lower(rw, s->c);
    from = vy_legalizer_append(rw, from);
    to = vy_legalizer_append(rw, to);
    step = vy_legalizer_append(rw, step);
    vy_symbol name = variable_name(rw, s->variable);
    rw->copy.variables[s->variable] = vy_irb_for(&rw->copy.draft, name, type, from, to, step);
    vy_legalizer_body(rw, index + 1, s->end, mark);
    vy_irb_end_block(&rw->copy.draft);
}

static void region(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    const char *name = vy_symbol_name(rw->from, s->name);
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_REGION);
    uint32_t mark = vy_cloner_open(&rw->copy);
    stmt.name = vy_irb_intern(&rw->copy.draft, name, strlen(name));
    vy_irb_stmt(&rw->copy.draft, &stmt, NULL, 0, NULL, NULL);
    vy_legalizer_body(rw, index + 1, s->end, mark);
    vy_irb_end_block(&rw->copy.draft);
}

static void statement(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    vy_irb *draft = &rw->copy.draft;
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
        vy_irb_assign(draft, rw->copy.variables[s->variable], vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a)));
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
    case VY_STMT_CALL:
        call(rw, s);
        break;
    case VY_STMT_PRINT: /* for the reference interpreter only */
        break;
    default: /* trap, barrier, break, continue, return */
        plain.a = vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a));
        plain.name = 0;
        vy_irb_stmt(draft, &plain, NULL, 0, NULL, NULL);
    }
}

/* Writes the statements [first, end). Plain statements are copied in runs if the phase declares everything
 * unchanged. */
static void legalizer_block(vy_legalizer *rw, uint32_t first, uint32_t end) {
    for (uint32_t i = first, next; i < end && !rw->copy.draft.failed && rw->status == VYRE_OK; i = next) {
        next = rw->phase->declare ? i : copy_run(rw, i, end);
        if (next > i)
            continue;
        next = vy_stmt_at(rw->from, i)->end;
        statement(rw, i);
    }
}

/* ---- the program ---- */

uint32_t vy_legalizer_refuse(vy_legalizer *rw, const char *what, vyre_type type) {
    if (rw->status == VYRE_OK)
        rw->status = vy_fail(rw->error, VYRE_UNSUPPORTED,
                             "choose another backend: `vyre backends` lists them, and `reference` computes everything",
                             "the program uses %s (%s), which the device does not compute exactly and which is not "
                             "made from other operations",
                             what, vyre_type_name(type));
    return VY_NONE;
}

static vyre_status write_program(vy_legalizer *rw, vyre_program **out) {
    rw->copy.keeps_names = !rw->phase->declare;
    vyre_status status = vy_cloner_start(&rw->copy, rw->from, vy_symbol_name(rw->from, rw->from->name), rw->error);
    if (status != VYRE_OK)
        return status;
    rw->copy.draft.skip_verify = 1;
    if (rw->phase->declare) {
        rw->phase->declare(rw);
    } else {
        vy_cloner_params(&rw->copy);
        vy_cloner_buffers(&rw->copy, 0);
        vy_cloner_arrays(&rw->copy);
        vy_cloner_grid(&rw->copy);
    }
    legalizer_block(rw, rw->copy.entry->first_stmt, rw->copy.entry->end_stmt);
    if (rw->status != VYRE_OK)
        return rw->status;
    return vy_cloner_finish(&rw->copy, out, rw->error);
}

/* Returns the program itself if every statement is plain. */
static vyre_status rewrite(vy_legalizer *rw, vyre_program **out) {
    rw->copy.entry = vy_program_entry(rw->from);
    if (!rw->phase->declare && !find_others(rw))
        return vy_fail_memory(rw->error, "a legal program");
    if (rw->phase->declare || rw->others.count)
        return write_program(rw, out);
    return vy_program_unchanged(rw->from, out);
}

vyre_status vy_legalizer_run(const vyre_program *program, const vy_legalizer_phase *phase, vy_softlib *library,
                             uint64_t exact, vyre_program **out, vyre_error *error) {
    vy_legalizer rw = {.from = program, .phase = phase, .library = library, .exact = exact, .error = error};
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
    vyre_status status = rw.status == VYRE_OK ? rewrite(&rw, out) : rw.status;
    vy_cloner_discard(&rw.copy);
    vy_ranges_free(rw.ranges);
    vy_release(rw.is_canonical, rw.is_canonical ? variables + 1 : 0);
    VY_VECTOR_FREE(&rw.trees);
    VY_VECTOR_FREE(&rw.depths);
    VY_VECTOR_FREE(&rw.others);
    vy_release(maps, size);
    return status;
}

/* ---- inlining of softlib functions ----
 *
 * Invariant: a variable of the softlib is bound (rw->called.bound) before it is read, to a leaf or to a tree that is
 * read once. A `let` or a condition that is a literal at the call does not become a statement. A statement that is not
 * handled here is refused. */
static uint32_t library_tree(vy_legalizer *rw, uint32_t root) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_expr e = rw->called.program->exprs.items[root];
    if (e.kind == VY_EXPR_VARIABLE) {
        uint32_t tree = rw->called.bound[e.a];
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
    uint32_t uses = 0;
    VY_EACH_EXPR (library, i, root)
        uses += vy_expr_at(library, i)->kind == VY_EXPR_VARIABLE && vy_expr_at(library, i)->a == variable;
    return uses;
}

/* Parameters become leaves; in a function that is one expression, a parameter used once becomes its argument. */
static void bind_parameters(vy_legalizer *rw, const vy_function *f, const uint32_t *trees, uint32_t count) {
    const vyre_program *library = rw->called.program;
    const vy_stmt *first = vy_stmt_at(library, f->first_stmt);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t variable = f->first_variable + i;
        uint32_t uses = 0;
        for (uint32_t k = 0; first->kind == VY_STMT_RETURN && k < first->arg_count; k++)
            uses += count_uses(library, library->args.items[first->args + k].index, variable);
        int once = first->kind == VY_STMT_RETURN && uses <= 1;
        rw->called.bound[variable] =
            once ? trees[i]
                 : vy_legalizer_materialize(rw, trees[i],
                                            vy_symbol_name(library, vy_variable_at(library, variable)->name));
    }
}

static void library_call(vy_legalizer *rw, const vy_stmt *s) {
    const vyre_program *library = rw->called.program;
    const vy_softlib_function *callee = vy_softlib_callee(rw->library, vy_symbol_name(library, s->name));
    uint32_t trees[VY_LIMIT_RESULTS], results[VY_LIMIT_RESULTS];
    for (uint32_t i = 0; i < s->arg_count; i++)
        trees[i] = library_tree(rw, library->args.items[s->args + i].index);
    if (!callee) {
        vy_legalizer_refuse(rw, vy_symbol_name(library, s->name), VYRE_TYPE_BOOL);
        return;
    }
    vy_legalizer_call_all(rw, callee, trees, s->arg_count, results);
    for (uint32_t i = 0; i < s->result_count; i++)
        rw->called.bound[s->variable + i] = vy_legalizer_materialize(
            rw, results[i], vy_symbol_name(library, vy_variable_at(library, s->variable + i)->name));
}

static void library_block(vy_legalizer *rw, uint32_t first, uint32_t end, uint32_t *results);

/* If the condition is known, only one branch is written. */
static void library_if(vy_legalizer *rw, uint32_t index, uint32_t *results) {
    const vy_stmt *s = vy_stmt_at(rw->called.program, index);
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

/* Writes the statements of a function; its `return` sets the results. Recursion is bounded by the nesting of the
 * softlib. */
static void library_block(vy_legalizer *rw, uint32_t first, uint32_t end, uint32_t *results) {
    const vyre_program *library = rw->called.program;
    vy_irb *draft = &rw->copy.draft;
    for (uint32_t i = first; i < end && !draft->failed && rw->status == VYRE_OK; i = vy_stmt_at(library, i)->end) {
        const vy_stmt *s = vy_stmt_at(library, i);
        const char *name = s->result_count ? vy_symbol_name(library, vy_variable_at(library, s->variable)->name) : "";
        switch ((vy_stmt_kind)s->kind) {
        case VY_STMT_LET:
        case VY_STMT_VAR: {
            uint32_t tree = library_tree(rw, s->a);
            uint64_t bits;
            int is_known = s->kind == VY_STMT_LET && vy_legalizer_is_literal(rw, tree, &bits);
            rw->called.bound[s->variable] = is_known ? tree : vy_legalizer_bind(rw, s->kind, name, tree);
            break;
        }
        case VY_STMT_ASSIGN: {
            uint32_t value = vy_legalizer_append(rw, library_tree(rw, s->a));
            if (rw->called.bound[s->variable] != VY_NONE)
                vy_irb_assign(draft, rw->trees.items[rw->called.bound[s->variable]].a, value);
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

/* Saves the state of the caller: functions of the softlib call each other, but not recursively. */
void vy_legalizer_call_all(vy_legalizer *rw, const vy_softlib_function *function, const uint32_t *trees, uint32_t count,
                           uint32_t *results) {
    const vy_softlib_unit caller = rw->called;
    memset(results, 0xff, VY_LIMIT_RESULTS * sizeof *results); /* VY_NONE */
    if (rw->status == VYRE_OK)
        rw->status = vy_softlib_decode(rw->library, function, &rw->called, rw->error);
    if (rw->status == VYRE_OK) {
        const vy_function *f = &rw->called.program->functions.items[0];
        bind_parameters(rw, f, trees, count);
        library_block(rw, f->first_stmt, f->end_stmt, results);
    }
    rw->called = caller;
}

uint32_t vy_legalizer_call(vy_legalizer *rw, const vy_softlib_function *function, const uint32_t *trees,
                           uint32_t count) {
    uint32_t results[VY_LIMIT_RESULTS];
    vy_legalizer_call_all(rw, function, trees, count, results);
    return results[0];
}

uint32_t vy_legalizer_named(vy_legalizer *rw, const char *name, uint32_t tree) {
    const vy_softlib_function *function = vy_softlib_find(rw->library, name);
    return !function ? vy_legalizer_refuse(rw, name, vy_legalizer_type(rw, tree))
                     : vy_legalizer_call(rw, function, &tree, 1);
}
