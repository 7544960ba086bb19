/* Op tables (op_tables.h): types, ops, collectives, atomics, builtins and accesses as arrays, and op sets. */
#include "ir/op_tables.h"

#include "ir/eval.h"
#include "ir/model.h"
#include "vyre/op.h"
#include "vyre/type.h"

/* ---- types ---- */

/* +infinity has all exponent bits set and no others. The canonical NaN has the top fraction bit set, too, which is one
 * position below the lowest exponent bit: nan & (nan << 1), truncated to the width, keeps only the exponent. */
#define INFINITY_OF(cls, nan) ((cls) == VYRE_CLASS_FLOAT ? (uint64_t)(nan) & (uint64_t)(nan) << 1 : UINT64_MAX)

const vy_type_layout vy_type_layouts[VYRE_TYPE_COUNT] = {
#define X(ID, name, bits, cls, nan) {UINT64_MAX >> (64 - (bits)), INFINITY_OF(cls, nan), nan, bits, (bits) / 8, cls},
    VYRE_TYPE_LIST(X)
#undef X
};

static const char *const type_names[VYRE_TYPE_COUNT] = {
#define X(ID, name, bits, cls, nan) name,
    VYRE_TYPE_LIST(X)
#undef X
};

enum {
    LONGEST = 0
#define X(ID, name, bits, cls, nan) | (sizeof name - 1)
    VYRE_TYPE_LIST(X)
#undef X
}; /* no name is longer */

static int is_valid_type(vyre_type type) {
    return (unsigned)type < VYRE_TYPE_COUNT;
}

const char *vyre_type_name(vyre_type type) {
    return is_valid_type(type) ? type_names[type] : "?";
}

unsigned vyre_type_bits(vyre_type type) {
    return is_valid_type(type) ? vy_type_layouts[type].bits : 0;
}

unsigned vyre_type_size(vyre_type type) {
    return is_valid_type(type) ? vy_type_layouts[type].size : 0;
}

unsigned vyre_type_class(vyre_type type) {
    return is_valid_type(type) ? vy_type_layouts[type].classes : 0;
}

vyre_type vyre_type_find(const char *name, size_t length) {
    unsigned type = 0;

    if (!name || length == 0 || length > LONGEST)
        return VYRE_TYPE_COUNT;
    while (type < VYRE_TYPE_COUNT && (type_names[type][0] != name[0] || strlen(type_names[type]) != length ||
                                      memcmp(type_names[type], name, length) != 0))
        type++;
    return (vyre_type)type;
}

vyre_scalar vyre_scalar_bits(vyre_type type, uint64_t bits) {
    return (vyre_scalar){type, is_valid_type(type) ? vy_value_canonicalize(type, bits) : 0};
}

vyre_scalar vyre_scalar_bool(int value) {
    return (vyre_scalar){VYRE_TYPE_BOOL, value != 0};
}

vyre_scalar vyre_scalar_i32(int32_t value) {
    return (vyre_scalar){VYRE_TYPE_I32, (uint32_t)value};
}

vyre_scalar vyre_scalar_u32(uint32_t value) {
    return (vyre_scalar){VYRE_TYPE_U32, value};
}

vyre_scalar vyre_scalar_i64(int64_t value) {
    return (vyre_scalar){VYRE_TYPE_I64, (uint64_t)value};
}

vyre_scalar vyre_scalar_u64(uint64_t value) {
    return (vyre_scalar){VYRE_TYPE_U64, value};
}

vyre_scalar vyre_scalar_f32(float value) {
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return vyre_scalar_bits(VYRE_TYPE_F32, bits);
}

vyre_scalar vyre_scalar_f64(double value) {
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return vyre_scalar_bits(VYRE_TYPE_F64, bits);
}

/* ---- ops ---- */

static const vyre_op_info ops[VYRE_OP_COUNT] = {
#define X(ID, tag, name, symbol, precedence, arity, cls, rule, level, edge, doc)                                       \
    {name, symbol, VYRE_PRECEDENCE_##precedence, arity, VYRE_CLASS_##cls, VYRE_RULE_##rule, VYRE_LEVEL_##level,        \
     edge, doc},
    VYRE_OP_LIST(X)
#undef X
};

/* Separate from the rows, so that a search compares bytes and rarely strings. */
static const uint8_t op_name_lengths[VYRE_OP_COUNT] = {
#define X(ID, tag, name, ...) sizeof name - 1,
    VYRE_OP_LIST(X)
#undef X
};

#define SOURCE_OP_SOURCE(ID) VYRE_OP_##ID,
#define SOURCE_OP_LEGAL(ID)
const uint8_t vy_source_ops[VY_SOURCE_OPS] = {
#define X(ID, tag, name, symbol, precedence, arity, cls, rule, level, edge, doc) SOURCE_OP_##level(ID)
    VYRE_OP_LIST(X)
#undef X
};

const uint8_t vy_op_tags[VYRE_OP_COUNT] = {
#define X(ID, tag, ...) tag,
    VYRE_OP_LIST(X)
#undef X
};

/* One more than the op. A tag of two ops, or one that is too large, does not compile. */
static const uint8_t ops_of_tags[VY_OP_TAGS] = {
#define X(ID, tag, ...) [tag] = VYRE_OP_##ID + 1,
    VYRE_OP_LIST(X)
#undef X
};

vyre_op vy_op_of_tag(unsigned tag) {
    unsigned op = tag < VY_OP_TAGS ? ops_of_tags[tag] : 0;
    return op ? (vyre_op)(op - 1) : VYRE_OP_COUNT;
}

const vyre_op_info *vyre_op_get(vyre_op op) {
    return (unsigned)op < VYRE_OP_COUNT ? &ops[op] : NULL;
}

vyre_op vyre_op_find(const char *name, size_t length) {
    unsigned op = name ? 0 : VYRE_OP_COUNT;

    while (op < VYRE_OP_COUNT &&
           (op_name_lengths[op] != length || ops[op].name[0] != name[0] || memcmp(ops[op].name, name, length) != 0))
        op++;
    return (vyre_op)op;
}

int vyre_op_accepts(vyre_op op, vyre_type operand, vyre_type result) {
    const unsigned from = vyre_type_class(operand), to = vyre_type_class(result);

    if ((unsigned)op >= VYRE_OP_COUNT || !(ops[op].classes & from) || !to)
        return 0;
    switch ((vyre_op_rule)ops[op].rule) {
    case VYRE_RULE_SAME:
    case VYRE_RULE_SELECT:
        return result == operand;
    case VYRE_RULE_COMPARE:
    case VYRE_RULE_TEST:
        return result == VYRE_TYPE_BOOL;
    case VYRE_RULE_CAST:
        return to != VYRE_CLASS_BOOL;
    case VYRE_RULE_BITCAST:
        return to != VYRE_CLASS_BOOL && vyre_type_bits(operand) == vyre_type_bits(result);
    }
    return 0;
}

/* The value every other is less than or equal to. */
static uint64_t largest(const vy_type_layout *layout) {
    switch (layout->classes) {
    case VYRE_CLASS_FLOAT:
        return layout->infinity;
    case VYRE_CLASS_SIGNED:
        return layout->mask >> 1;
    default:
        return layout->mask;
    }
}

/* The value every other is greater than or equal to. */
static uint64_t smallest(const vy_type_layout *layout) {
    const uint64_t sign = layout->mask ^ layout->mask >> 1;

    switch (layout->classes) {
    case VYRE_CLASS_FLOAT:
        return sign | layout->infinity;
    case VYRE_CLASS_SIGNED:
        return sign;
    default:
        return 0;
    }
}

uint64_t vyre_combine_identity(vyre_op op, vyre_type type) {
    if (!vyre_op_accepts(op, type, type))
        return 0;
    switch (op) {
    case VYRE_OP_MUL:
        return vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_BOOL, 1, 0, 0);
    case VYRE_OP_MIN:
        return largest(&vy_type_layouts[type]);
    case VYRE_OP_MAX:
        return smallest(&vy_type_layouts[type]);
    case VYRE_OP_AND:
        return vy_type_layouts[type].mask;
    default:
        return 0; /* add, or, xor; and rows that do not combine */
    }
}

/* ---- collectives, atomics, builtins, accesses ---- */

const vy_collective_row vy_collectives[VYRE_COLLECTIVE_COUNT] = {
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc)                                               \
    {name, operands, combines, {workgroup, subgroup}, VYRE_LEVEL_##level, doc},
    VYRE_COLLECTIVE_LIST(X)
#undef X
};

const uint8_t vy_combine_ops[VY_COMBINE_COUNT] = {
#define X(ID) VYRE_OP_##ID,
    VYRE_COMBINE_LIST(X)
#undef X
};

const vy_atomic_row vy_atomics[VYRE_ATOMIC_COUNT] = {
#define X(ID, name, operands, value, doc) {name, operands, value, doc},
    VYRE_ATOMIC_LIST(X)
#undef X
};

const vy_builtin_row vy_builtins[VYRE_BUILTIN_COUNT] = {
#define X(ID, name, axes, uniform, doc) {name, axes, uniform, doc},
    VYRE_BUILTIN_LIST(X)
#undef X
};

const vy_access_row vy_accesses[VYRE_ACCESS_COUNT] = {
#define X(ID, name, load, store, input, output) {name, load, store, input, output},
    VYRE_ACCESS_LIST(X)
#undef X
};

const char *vyre_builtin_name(vyre_builtin builtin) {
    return (unsigned)builtin < VYRE_BUILTIN_COUNT ? vy_builtins[builtin].name : "?";
}

const char *vyre_atomic_name(vyre_atomic atomic) {
    return (unsigned)atomic < VYRE_ATOMIC_COUNT ? vy_atomics[atomic].name : "?";
}

const char *vyre_order_name(vyre_order order) {
#define X(ID, name) name,
    static const char *const names[VYRE_ORDER_COUNT] = {VYRE_ORDER_LIST(X)};
#undef X
    return (unsigned)order < VYRE_ORDER_COUNT ? names[order] : "?";
}

const char *vyre_collective_name(vyre_collective collective) {
    return (unsigned)collective < VYRE_COLLECTIVE_COUNT ? vy_collectives[collective].name : "?";
}

/* ---- op sets ---- */

#define SOURCE_NAME(name) name
#define LEGAL_NAME(name) NULL
#define WORKGROUP_1(name) "workgroup_" name
#define WORKGROUP_0(name) NULL
#define SUBGROUP_SOURCE(name) "subgroup_" name
#define SUBGROUP_LEGAL(name) NULL

static const char *const member_names[VY_OP_SET_COUNT] = {
#define X(ID, tag, name, symbol, precedence, arity, cls, rule, level, edge, doc) [VYRE_OP_##ID] = level##_NAME(name),
    VYRE_OP_LIST(X)
#undef X
#define X(ID, name, axes, uniform, doc) [VY_OP_SET_BUILTIN + VYRE_BUILTIN_##ID] = name,
        VYRE_BUILTIN_LIST(X)
#undef X
#define X(ID, name, operands, value, doc) [VY_OP_SET_ATOMIC + VYRE_ATOMIC_##ID] = name,
            VYRE_ATOMIC_LIST(X)
#undef X
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc)                                               \
    [VY_OP_SET_WORKGROUP + VYRE_COLLECTIVE_##ID] = WORKGROUP_##workgroup(name),                                        \
                           [VY_OP_SET_SUBGROUP + VYRE_COLLECTIVE_##ID] = SUBGROUP_##level(name),
                VYRE_COLLECTIVE_LIST(X)
#undef X
                    [VY_OP_SET_LOAD] = "load",
    [VY_OP_SET_STORE] = "store",
    [VY_OP_SET_BARRIER] = "barrier",
    [VY_OP_SET_GRID_BARRIER] = "grid_barrier",
};

const char *vy_op_set_name(unsigned member) {
    return member_names[member];
}

vy_op_set vy_op_set_of_names(const char *const *list, size_t count) {
    vy_op_set set = {{0}};
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; list[i] && k < VY_OP_SET_COUNT; k++)
            if (member_names[k] && strcmp(member_names[k], list[i]) == 0)
                vy_op_set_add(&set, k);
    return set;
}

static void add_stmt(vy_op_set *set, const vy_stmt *stmt) {
    switch (stmt->kind) {
    case VY_STMT_STORE:
    case VY_STMT_STORE_WIDE:
        vy_op_set_add(set, VY_OP_SET_STORE);
        break;
    case VY_STMT_LOAD_WIDE:
        vy_op_set_add(set, VY_OP_SET_LOAD);
        break;
    case VY_STMT_ATOMIC:
        vy_op_set_add(set, VY_OP_SET_ATOMIC + stmt->op);
        break;
    case VY_STMT_COLLECTIVE:
        vy_op_set_add(set, (stmt->width ? VY_OP_SET_SUBGROUP : VY_OP_SET_WORKGROUP) + stmt->op);
        break;
    case VY_STMT_BARRIER:
        vy_op_set_add(set, stmt->scope == VYRE_SCOPE_DEVICE ? VY_OP_SET_GRID_BARRIER : VY_OP_SET_BARRIER);
        break;
    default:
        break;
    }
}

vy_op_set vy_op_set_of_program(const vyre_program *program) {
    vy_op_set set = {{0}};
    for (uint32_t i = 0; i < program->stmts.count; i++)
        add_stmt(&set, &program->stmts.items[i]);
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *expr = &program->exprs.items[i];
        if (expr->kind == VY_EXPR_OP)
            vy_op_set_add(&set, expr->op);
        else if (expr->kind == VY_EXPR_BUILTIN)
            vy_op_set_add(&set, VY_OP_SET_BUILTIN + expr->op);
        else if (expr->kind == VY_EXPR_LOAD)
            vy_op_set_add(&set, VY_OP_SET_LOAD);
    }
    return set;
}

vy_op_set vy_program_ops(vyre_program *program) {
    vy_op_set set;
    if (atomic_load_explicit(&program->has_ops, memory_order_acquire)) {
        for (unsigned w = 0; w < VY_OP_SET_WORDS; w++)
            set.words[w] = atomic_load_explicit(&program->ops[w], memory_order_relaxed);
        return set;
    }
    set = vy_op_set_of_program(program); /* several threads may store the same words */
    for (unsigned w = 0; w < VY_OP_SET_WORDS; w++)
        atomic_store_explicit(&program->ops[w], set.words[w], memory_order_relaxed);
    atomic_store_explicit(&program->has_ops, 1, memory_order_release);
    return set;
}

const char *vy_op_set_missing(const vy_op_set *needed, const vy_op_set *offered) {
    for (unsigned w = 0; w < VY_OP_SET_WORDS; w++) {
        uint64_t lacking = needed->words[w] & ~offered->words[w];
        if (lacking)
            return member_names[64 * w + (unsigned)__builtin_ctzll(lacking)];
    }
    return NULL;
}
