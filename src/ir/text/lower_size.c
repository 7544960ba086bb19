/* Sizes: counts, grids, array lengths, workgroup sizes. Mathematical integers, so no types: any integer literal or
 * const will do. */
#include "ir/eval.h"
#include "ir/text/lower.h"

#include <inttypes.h>

/* One walk serves both: a size that the host computes at dispatch becomes nodes of the draft, a constant one becomes a
 * value. */
typedef struct size_walk {
    vy_lowering *l;
    int is_constant;
    const char *what;
} size_walk;

static int refuse(size_walk *w, const vy_ast_node *node, const char *why) {
    if (node->kind != VY_AST_BAD)
        vy_lower_error(w->l, VY_T051, node->at, NULL, "%s %s", w->what, why);
    w->l->live = 0;
    return 0;
}

static int out_of_range(size_walk *w, const vy_ast_node *node, const char *why) {
    vy_lower_error(w->l, VY_T052, node->at, NULL, "%s %s", w->what, why);
    return 0;
}

static const struct {
    uint8_t op, kind;
} size_ops[] = {
    {VYRE_OP_ADD, VY_SIZE_ADD}, {VYRE_OP_SUB, VY_SIZE_SUB}, {VYRE_OP_MUL, VY_SIZE_MUL}, {VYRE_OP_DIV, VY_SIZE_DIV},
    {VYRE_OP_REM, VY_SIZE_REM}, {VYRE_OP_MIN, VY_SIZE_MIN}, {VYRE_OP_MAX, VY_SIZE_MAX},
};

/* The kind of an inner node and its operands; VY_SIZE_KIND_COUNT if it is none. */
static vy_size_kind inner_kind(const size_walk *w, const vy_ast_node *node, const vy_ast_node *operands[2]) {
    operands[0] = node->a;
    operands[1] = node->b;
    for (unsigned i = 0; node->kind == VY_AST_OP && i < sizeof size_ops / sizeof *size_ops; i++)
        if (size_ops[i].op == node->op)
            return size_ops[i].kind;
    if (node->kind != VY_AST_CALL || node->count != 2 || strcmp(vy_lower_text(w->l, node->name), "div_ceil") != 0)
        return VY_SIZE_KIND_COUNT;
    operands[1] = node->a->next;
    return VY_SIZE_DIV_CEIL;
}

static int combine(size_walk *w, const vy_ast_node *node, vy_size_kind kind, uint64_t a, uint64_t b, uint64_t *value) {
    switch (kind) {
    case VY_SIZE_ADD:
        return !__builtin_add_overflow(a, b, value) || out_of_range(w, node, "is above 2^64-1");
    case VY_SIZE_SUB:
        return !__builtin_sub_overflow(a, b, value) || out_of_range(w, node, "is below zero");
    case VY_SIZE_MUL:
        return !__builtin_mul_overflow(a, b, value) || out_of_range(w, node, "is above 2^64-1");
    case VY_SIZE_MIN:
        *value = a < b ? a : b;
        return 1;
    case VY_SIZE_MAX:
        *value = a > b ? a : b;
        return 1;
    default:
        break;
    }
    if (b == 0)
        return out_of_range(w, node, "is divided by zero");
    *value = kind == VY_SIZE_REM ? a % b : a / b + (kind == VY_SIZE_DIV_CEIL && a % b != 0);
    return 1;
}

static int number_value(size_walk *w, const vy_ast_node *node, uint64_t *value) {
    const vy_number *number = node->number;
    int is_integer = number->type == VYRE_TYPE_COUNT || (vyre_type_class(number->type) & VYRE_CLASS_INTEGER);
    if (number->is_float || !is_integer)
        return refuse(w, node, "is made of integers");
    if (node->negative && number->value)
        return out_of_range(w, node, "is below zero");
    if (number->too_large)
        return out_of_range(w, node, "is above 2^64-1");
    *value = number->value;
    uint64_t bits;
    if (number->type == VYRE_TYPE_COUNT)
        return 1;
    if (vy_number_bits(w->l->report, number, node->negative, number->type, node->at, &bits))
        return 1;
    w->l->live = 0;
    return 0;
}

static int const_value(size_walk *w, const vy_ast_node *node, const vy_ast_const *constant, uint64_t *value) {
    unsigned cls = constant->is_known ? vyre_type_class(constant->type) : 0;
    if (cls == 0) { /* a const with errors of its own */
        w->l->live = 0;
        return 0;
    }
    if (!(cls & VYRE_CLASS_INTEGER))
        return refuse(w, node, "is made of integers");
    uint64_t mask = vy_type_layouts[constant->type].mask;
    if (cls == VYRE_CLASS_SIGNED && (constant->bits & (mask ^ mask >> 1)))
        return out_of_range(w, node, "is below zero");
    *value = constant->bits;
    return 1;
}

/* Literals and consts give *value and return VY_SIZE_LITERAL; params and lengths give their index; VY_SIZE_KIND_COUNT
 * after an error. */
static vy_size_kind leaf(size_walk *w, const vy_ast_node *node, uint64_t *value, uint32_t *index) {
    const vy_binding *binding = NULL;
    const vy_global *global = NULL;
    switch (node->kind) {
    case VY_AST_NUMBER:
        return number_value(w, node, value) ? VY_SIZE_LITERAL : VY_SIZE_KIND_COUNT;
    case VY_AST_NAME:
        global = vy_lower_global(w->l, node->name);
        binding = vy_lower_find(w->l, node->name);
        if (global && global->constant)
            return const_value(w, node, global->constant, value) ? VY_SIZE_LITERAL : VY_SIZE_KIND_COUNT;
        if (!binding)
            vy_lower_unknown(w->l, node->name, node->at);
        else if (binding->kind == VY_BINDING_BROKEN)
            w->l->live = 0;
        else if (binding->kind == VY_BINDING_MEMORY)
            refuse(w, node, "is made of values; the length of a buffer is `len(…)`");
        else if (w->is_constant)
            refuse(w, node, "must be constant, but a param is known only at dispatch");
        else {
            *index = binding->index;
            return VY_SIZE_PARAM;
        }
        return VY_SIZE_KIND_COUNT;
    case VY_AST_LEN:
        binding = vy_lower_memory(w->l, node->name, node->at);
        if (!binding)
            return VY_SIZE_KIND_COUNT;
        *index = binding->index;
        if (w->is_constant)
            refuse(w, node, "must be constant, but a length is known only at dispatch");
        else if (binding->space != VY_SPACE_BUFFER)
            refuse(w, node, "uses lengths of buffers only");
        else
            return VY_SIZE_LEN;
        return VY_SIZE_KIND_COUNT;
    default:
        refuse(w, node, "cannot be made of this");
        return VY_SIZE_KIND_COUNT;
    }
}

/* Returns 0 after an error; else *value (constant walks) or *index (a node of the draft). Recursion is bounded by the
 * parser. */
static int walk(size_walk *w, const vy_ast_node *node, uint64_t *value, uint32_t *index) {
    const vy_ast_node *operands[2];
    *value = 0;
    *index = VY_NONE;
    if (!node) {
        w->l->live = 0;
        return 0;
    }
    vy_size_kind kind = inner_kind(w, node, operands);
    if (kind == VY_SIZE_KIND_COUNT) {
        uint32_t of = 0;
        kind = leaf(w, node, value, &of);
        if (kind == VY_SIZE_KIND_COUNT)
            return 0;
        if (!w->is_constant && w->l->live)
            *index = vy_irb_size(&w->l->draft, kind, of, 0, *value);
        return 1;
    }
    uint64_t a, b;
    uint32_t x, y;
    int is_good = walk(w, operands[0], &a, &x);
    is_good &= walk(w, operands[1], &b, &y);
    if (!is_good)
        return 0;
    if (w->is_constant)
        return combine(w, node, kind, a, b, value);
    if (w->l->live)
        *index = vy_irb_size(&w->l->draft, kind, x, y, 0);
    return 1;
}

uint32_t vy_lower_size(vy_lowering *l, const vy_ast_node *node) {
    size_walk w = {l, 0, "a size"};
    uint64_t value;
    uint32_t index;
    return walk(&w, node, &value, &index) ? index : VY_NONE;
}

int vy_lower_constant(vy_lowering *l, const vy_ast_node *node, uint64_t limit, const char *what, uint64_t *value) {
    size_walk w = {l, 1, what};
    uint32_t index;
    if (!walk(&w, node, value, &index))
        return 0;
    if (*value <= limit)
        return 1;
    vy_lower_error(l, VY_T052, node->at, VY_FIX("choose at most %" PRIu64, limit),
                   "%s (%" PRIu64 ") is over the limit (%" PRIu64 ")", what, *value, limit);
    return 0;
}
