/* What only level legal has, as far as it is written like a call: approximate ops, `misalignment`, wide accesses, `report`, `poll`.
 *
 * The words are plain names, so the parser sees calls; whether one means the construct is known when all functions of the file are.
 * At which level it stands is the validator's to judge. */
#include "ir/text/lower.h"

static void wrong_count(vy_lowering *l, const vy_ast_node *node, const char *taken) {
    vy_lower_error(l, VY_T037, node->at, VY_DIAG_SINK_FIX(l->report, "pass %s", taken), "%s takes %s (%u given)",
                   vy_lower_text(l, node->name), taken, node->count);
}

static int check_count(vy_lowering *l, vy_ast_node *node, uint32_t min_count, uint32_t max_count, const char *taken) {
    if (node->count >= min_count && node->count <= max_count)
        return 1;
    wrong_count(l, node, taken);
    node->kind = VY_AST_BAD;
    return 0;
}

/* Spreads the arguments over the operands of an op. */
static void resolve_op(vy_lowering *l, vy_ast_node *node, vyre_op op) {
    static const char *const taken[] = {"no arguments", "1 argument", "2 arguments", "3 arguments"};
    unsigned arity = vyre_op_get(op)->arity;
    if (!check_count(l, node, arity, arity, taken[arity]))
        return;
    vy_ast_node *operands[3] = {NULL, NULL, NULL}, *next = node->a;
    for (unsigned i = 0; i < arity && next; i++) {
        operands[i] = next;
        next = next->next;
        operands[i]->next = NULL;
    }
    node->kind = VY_AST_OP;
    node->op = (uint8_t)op;
    node->a = operands[0];
    node->b = operands[1];
    node->c = operands[2];
}

/* The first argument is the name of a memory. */
static void check_named(vy_lowering *l, vy_ast_node *node) {
    if (node->kind == VY_AST_BAD || !node->a || node->a->kind == VY_AST_NAME)
        return;
    if (node->a->kind != VY_AST_BAD)
        vy_lower_error(l, VY_T038, node->a->at, "pass the name of a buffer or array",
                       "the first argument of %s is a buffer or array", vy_lower_text(l, node->name));
    node->kind = VY_AST_BAD;
}

void vy_lower_intrinsic_resolve(vy_lowering *l, vy_ast_node *node) {
    static const struct {
        uint8_t kind, min_count, max_count, is_named;
        const char *taken;
    } rows[VY_INTRINSIC_COUNT] = {
        [VY_INTRINSIC_ALIGN_OFFSET] = {VY_AST_ALIGN_OFFSET, 1, 1, 1, "1 argument"},
        [VY_INTRINSIC_LOAD_WIDE] = {VY_AST_LOAD_WIDE, 2, 2, 1, "2 arguments: the memory and an index"},
        [VY_INTRINSIC_STORE_WIDE] = {VY_AST_STORE_WIDE, 4, 2 + VY_LIMIT_WIDE, 1,
                                     "the memory, an index and 2 to 16 values"},
        [VY_INTRINSIC_RECORD_TRAP] = {VY_AST_RECORD_TRAP, 1, 1, 0, "1 argument"},
        [VY_INTRINSIC_POLL] = {VY_AST_POLL, 0, 0, 0, "no arguments"},
    };
    const char *name = vy_lower_text(l, node->name);
    vyre_op op = VYRE_OP_COUNT;
    vy_intrinsic word = vy_intrinsic_find(name, strlen(name), &op);
    if (word == VY_INTRINSIC_NONE || l->effect_ban == VY_EFFECT_BAN_CONST) /* a const belongs to no level */
        return;
    if (word == VY_INTRINSIC_OP) {
        resolve_op(l, node, op);
        return;
    }
    if (!check_count(l, node, rows[word].min_count, rows[word].max_count, rows[word].taken))
        return;
    node->kind = rows[word].kind;
    if (rows[word].is_named)
        check_named(l, node);
}

int vy_lower_unconditional(vy_lowering *l, const vy_ast_node *index) {
    if (index->kind != VY_AST_INDEX || !index->b)
        return 1;
    vy_lower_error(l, VY_T021, index->b->at, "put the statement into an `if`", "only a load has a condition");
    return 0;
}

/* ---- effects ---- */

/* The memory and the index of a wide access. Gives the type of its elements, or VY_TYPE_BAD. */
static uint8_t check_location(vy_lowering *l, vy_ast_node *node) {
    const vy_binding *memory = vy_lower_memory(l, node->a->name, node->a->at);
    int is_good = vy_lower_expect(l, node->a->next, VYRE_TYPE_U32, "the index of", vy_lower_text(l, node->name));
    node->variable = memory ? memory->index : VY_NONE;
    return memory && is_good ? memory->type : VY_TYPE_BAD;
}

static int check_values(vy_lowering *l, const vy_ast_node *node, uint8_t type) {
    int is_good = type != VY_TYPE_BAD;
    for (vy_ast_node *value = node->a->next->next; value; value = value->next)
        is_good &= vy_lower_expect(l, value, type, "an element of", vy_lower_text(l, node->a->name));
    return is_good;
}

int vy_lower_intrinsic_check(vy_lowering *l, vy_ast_node *node, vy_effect_signature *out) {
    out->is_known = 1;
    switch (node->kind) {
    case VY_AST_LOAD_WIDE:
        out->count = VY_RESULTS_BOUND;
        out->types[0] = check_location(l, node);
        return out->types[0] != VY_TYPE_BAD;
    case VY_AST_STORE_WIDE:
        return check_values(l, node, check_location(l, node));
    case VY_AST_RECORD_TRAP:
        return vy_lower_expect(l, node->a, VYRE_TYPE_U32, "the code of a report", NULL);
    case VY_AST_POLL:
        out->count = 1;
        out->types[0] = VYRE_TYPE_BOOL;
        return 1;
    default: /* reported already */
        l->live = 0;
        return 0;
    }
}

vy_stmt vy_lower_intrinsic_stmt(vy_lowering *l, const vy_ast_node *node) {
    vy_stmt stmt = vy_irb_blank_stmt(node->kind == VY_AST_LOAD_WIDE     ? VY_STMT_LOAD_WIDE
                                     : node->kind == VY_AST_STORE_WIDE  ? VY_STMT_STORE_WIDE
                                     : node->kind == VY_AST_RECORD_TRAP ? VY_STMT_RECORD_TRAP
                                                                        : VY_STMT_POLL);
    if (node->kind == VY_AST_RECORD_TRAP)
        stmt.a = vy_lower_append(l, node->a);
    if (node->kind != VY_AST_LOAD_WIDE && node->kind != VY_AST_STORE_WIDE)
        return stmt;
    stmt.memory = node->variable;
    stmt.a = vy_lower_append(l, node->a->next);
    vy_lower_arguments(l, node->a->next->next);
    return stmt;
}
