/* Last numeric phase, type expansion for targets without 64-bit integers: an i64 or u64 becomes a pair of u32.
 *
 * In the legalizer a pair is one tree of a separate kind (VY_LEGALIZER_PAIR), which this file splits. It also writes
 * the statements on pairs, one per half. Invariant: the high half of a value is computed before the low half of its
 * destination changes. */
#include "base/status.h"
#include "ir/op_tables.h"
#include "lower/legalizer.h"

#include <stdio.h>

/* A variable becomes two, the second directly after the first; so does a param. An element of a memory becomes two,
 * [2i] and [2i + 1], so its bytes do not change. */

static inline int is_int64(vyre_type type) {
    return type == VYRE_TYPE_I64 || type == VYRE_TYPE_U64;
}

/* ---- declarations, and the sizes that depend on them ----
 *
 * The length of a buffer of u64 is half the length of its words, and its count doubles. */

static uint32_t size_literal(vy_irb *draft, uint64_t value) {
    return vy_irb_size(draft, VY_SIZE_LITERAL, VY_NONE, VY_NONE, value);
}

/* `size` multiplied or divided by a constant. */
static uint32_t scaled(vy_irb *draft, vy_size_kind kind, uint32_t size, uint64_t by) {
    return vy_irb_size(draft, kind, size, size_literal(draft, by), 0);
}

/* low + 2^32 * high. A negative number is not a valid size, and the result is invalid, too: 0x7fffffff - high is below
 * zero. */
static uint32_t param_size(vy_irb *draft, uint32_t low, vyre_type type) {
    uint32_t sum = vy_irb_size(draft, VY_SIZE_PARAM, low, VY_NONE, 0), high;
    if (type == VYRE_TYPE_U64) {
        high = vy_irb_size(draft, VY_SIZE_PARAM, low + 1, VY_NONE, 0);
    } else {
        uint32_t most = size_literal(draft, INT32_MAX), least = size_literal(draft, INT32_MAX);
        uint32_t param = vy_irb_size(draft, VY_SIZE_PARAM, low + 1, VY_NONE, 0);
        high = vy_irb_size(draft, VY_SIZE_SUB, most, vy_irb_size(draft, VY_SIZE_SUB, least, param, 0), 0);
    }
    return vy_irb_size(draft, VY_SIZE_ADD, sum, scaled(draft, VY_SIZE_MUL, high, UINT64_C(1) << 32), 0);
}

static uint32_t length(vy_legalizer *rw, uint32_t memory) {
    uint32_t size = vy_irb_size(&rw->copy.draft, VY_SIZE_LEN, memory - rw->copy.entry->first_memory, VY_NONE, 0);
    return is_int64((vyre_type)vy_memory_at(rw->from, memory)->type) ? scaled(&rw->copy.draft, VY_SIZE_DIV, size, 2)
                                                                     : size;
}

/* Recursion is bounded by the validator's limit for sizes. Buffers keep their indices; params were declared before,
 * with new indices. */
static uint32_t copy_size(vy_legalizer *rw, uint32_t root) {
    vy_irb *draft = &rw->copy.draft;
    if (root == VY_NONE)
        return VY_NONE;
    vy_size size = rw->from->sizes.items[root];
    if (size.kind == VY_SIZE_LITERAL)
        return size_literal(draft, size.value);
    if (size.kind == VY_SIZE_LEN)
        return length(rw, size.a);
    if (size.kind == VY_SIZE_PARAM) {
        vyre_type type = (vyre_type)vy_variable_at(rw->from, size.a)->type;
        uint32_t param = rw->copy.variables[size.a];
        return is_int64(type) ? param_size(draft, param, type) : vy_irb_size(draft, VY_SIZE_PARAM, param, VY_NONE, 0);
    }
    uint32_t a = copy_size(rw, size.a), b = copy_size(rw, size.b);
    return vy_irb_size(draft, (vy_size_kind)size.kind, a, b, size.value);
}

/* Names of the halves of a variable of the program. */
static void split_int64_names(vy_legalizer *rw, uint32_t variable, vy_symbol names[2]) {
    static const char *const halves[2] = {"low", "high"};
    const char *text = vy_symbol_name(rw->from, vy_variable_at(rw->from, variable)->name);
    for (int k = 0; k < 2; k++) {
        char name[VY_LIMIT_NAME + 1];
        snprintf(name, sizeof name, "%.*s_%s", VY_LIMIT_NAME - 16, text, halves[k]);
        names[k] = vy_cloner_new_name(&rw->copy, name);
    }
}

static void params(vy_legalizer *rw) {
    vy_irb *draft = &rw->copy.draft;
    uint32_t first = rw->copy.entry->first_variable, count = rw->from->param_count, made = count;
    for (uint32_t i = first; i < first + count; i++)
        made += (uint32_t)is_int64((vyre_type)vy_variable_at(rw->from, i)->type);
    if (made > VY_LIMIT_PARAMS) {
        rw->status =
            vy_fail(rw->error, VYRE_LIMIT, "choose a device with 64-bit integers, or pass some of them in a buffer",
                    "the program has %u params where 64-bit ones are two (%d are allowed)", made, VY_LIMIT_PARAMS);
        return;
    }
    for (uint32_t i = first; i < first + count; i++) {
        const vy_variable *v = vy_variable_at(rw->from, i);
        draft->position = v->position;
        if (is_int64((vyre_type)v->type)) {
            vy_symbol names[2];
            split_int64_names(rw, i, names);
            rw->copy.variables[i] = vy_irb_scalar_param(draft, names[0], VYRE_TYPE_U32);
            vy_irb_scalar_param(draft, names[1], VYRE_TYPE_U32);
        } else {
            vy_symbol name = vy_cloner_name(&rw->copy, vy_symbol_name(rw->from, v->name));
            rw->copy.variables[i] = vy_irb_scalar_param(draft, name, (vyre_type)v->type);
        }
    }
}

static void memory(vy_legalizer *rw, uint32_t index) {
    const vy_memory *m = vy_memory_at(rw->from, index);
    vy_irb *draft = &rw->copy.draft;
    int is_pair = is_int64((vyre_type)m->type);
    vyre_type type = is_pair ? VYRE_TYPE_U32 : (vyre_type)m->type;
    vy_symbol name = vy_cloner_name(&rw->copy, vy_symbol_name(rw->from, m->name));
    draft->position = m->position;
    if (m->space == VY_SPACE_BUFFER) {
        uint32_t size = copy_size(rw, m->size);
        if (is_pair && m->size != VY_NONE)
            size = scaled(draft, VY_SIZE_MUL, size, 2);
        rw->copy.memories[index] =
            vy_irb_memory_param(draft, name, VY_SPACE_BUFFER, type, (vyre_access)m->access, size);
    } else if (m->space == VY_SPACE_CONSTANT) { /* the low half of an element comes first, as in the pair */
        uint32_t table = vy_irb_table(draft, type, m->elements << is_pair, vy_constant_bytes(rw->from, m));
        rw->copy.memories[index] = vy_irb_constant(draft, name, type, m->elements << is_pair, table);
    } else {
        rw->copy.memories[index] = vy_irb_array(draft, name, (vy_space)m->space, type, m->elements << is_pair);
    }
}

static void grid(vy_legalizer *rw) {
    vy_grid grid = rw->from->grid;
    if (grid.kind == VYRE_GRID_OVER && is_int64((vyre_type)vy_memory_at(rw->from, grid.memory)->type)) {
        grid.kind = VYRE_GRID_ELEMENTS;
        grid.sizes[0] = length(rw, grid.memory);
        grid.memory = VY_NONE;
    } else {
        if (grid.memory != VY_NONE)
            grid.memory -= rw->copy.entry->first_memory;
        for (int i = 0; i < 3; i++)
            grid.sizes[i] = copy_size(rw, grid.sizes[i]);
    }
    rw->copy.draft.program->grid = grid;
}

/* Params, buffers, arrays and the grid. */
static void split_int64_declare(vy_legalizer *rw) {
    params(rw);
    if (rw->status != VYRE_OK)
        return;
    for (uint32_t i = 0; i < rw->copy.entry->memory_count; i++)
        memory(rw, rw->copy.entry->first_memory + i);
    grid(rw);
}

/* ---- expressions and statements ---- */

#define U32 VYRE_TYPE_U32
#define BOOL VYRE_TYPE_BOOL

typedef struct halves {
    uint32_t low, high; /* trees */
} halves;

static int is_pair_tree(const vy_legalizer *rw, uint32_t tree) {
    return tree != VY_NONE && rw->trees.items[tree].kind == VY_LEGALIZER_PAIR;
}

static halves apart(const vy_legalizer *rw, uint32_t tree) {
    return is_pair_tree(rw, tree) ? (halves){rw->trees.items[tree].a, rw->trees.items[tree].b}
                                  : (halves){VY_NONE, VY_NONE};
}

static uint32_t join(vy_legalizer *rw, vyre_type type, uint32_t low, uint32_t high) {
    if (low == VY_NONE || high == VY_NONE)
        return VY_NONE;
    return vy_legalizer_node(
        rw, (vy_expr){.kind = VY_LEGALIZER_PAIR, .type = (uint8_t)type, .a = low, .b = high, .c = VY_NONE});
}

static uint32_t number(vy_legalizer *rw, uint32_t value) {
    return vy_legalizer_literal(rw, U32, value);
}

static uint32_t u32_op(vy_legalizer *rw, vyre_op op, uint32_t a, uint32_t b) {
    return vy_legalizer_op(rw, op, U32, a, b, VY_NONE);
}

static vyre_type variable_type(const vy_legalizer *rw, uint32_t variable) {
    return (vyre_type)vy_variable_at(rw->from, variable)->type;
}

static vyre_type memory_type(const vy_legalizer *rw, uint32_t memory) {
    return (vyre_type)vy_memory_at(rw->from, memory)->type;
}

static uint32_t refuse(vy_legalizer *rw, const char *what, vyre_type type) {
    if (rw->status == VYRE_OK)
        rw->status =
            vy_fail(rw->error, VYRE_UNSUPPORTED, "choose a device with 64-bit integers, or use 32-bit types",
                    "the program uses %s of %s, and the device has no 64-bit integers", what, vyre_type_name(type));
    return VY_NONE;
}

/* ---- indices ---- */

/* An index as u32, and `most` for every index that is larger or negative. No memory has 2^32 - 1 elements of 32 bits
 * or 2^31 - 1 pairs, so `most` is out of bounds like them. */
static uint32_t index_up_to(vy_legalizer *rw, uint32_t tree, uint32_t most) {
    uint32_t low = tree;
    if (is_pair_tree(rw, tree)) {
        halves index = apart(rw, tree);
        uint32_t beyond = vy_legalizer_op(rw, VYRE_OP_NE, BOOL, index.high, number(rw, 0), VY_NONE);
        low = vy_legalizer_op(rw, VYRE_OP_SELECT, U32, beyond, number(rw, UINT32_MAX), index.low);
    }
    low = vy_legalizer_cast(rw, U32, low);
    return most == UINT32_MAX ? low : u32_op(rw, VYRE_OP_MIN, low, number(rw, most));
}

static uint32_t plain_index(vy_legalizer *rw, uint32_t tree) {
    return is_pair_tree(rw, tree) ? index_up_to(rw, tree, UINT32_MAX) : tree;
}

/* The index of the low half of an element, as a leaf. An unguarded index is in bounds, so doubling it does not
 * wrap. */
static uint32_t low_index(vy_legalizer *rw, uint32_t expr, uint8_t guard) {
    uint32_t index = vy_legalizer_lower(rw, expr);
    if (index == VY_NONE)
        return VY_NONE;
    if (guard == VY_BOUNDS_CHECKED)
        index = index_up_to(rw, index, INT32_MAX);
    return vy_legalizer_materialize(rw, u32_op(rw, VYRE_OP_SHL, index, number(rw, 1)), "at");
}

static uint32_t high_index(vy_legalizer *rw, uint32_t low) {
    return u32_op(rw, VYRE_OP_ADD, vy_legalizer_reuse(rw, low), number(rw, 1));
}

/* ---- expressions ---- */

static uint32_t load(vy_legalizer *rw, const vy_expr *e) {
    uint32_t at = low_index(rw, e->b, e->op);
    uint32_t inside = vy_legalizer_materialize(rw, vy_legalizer_lower(rw, e->c), "inside");
    vy_expr low = *e;
    if (at == VY_NONE || (e->c != VY_NONE && inside == VY_NONE))
        return VY_NONE;
    low.type = U32;
    low.a = rw->copy.memories[e->a];
    low.b = at;
    low.c = inside;
    vy_expr high = low;
    high.b = high_index(rw, at);
    high.c = vy_legalizer_reuse(rw, inside);
    uint32_t loaded = vy_legalizer_node(rw, low);
    return join(rw, (vyre_type)e->type, loaded, high.b == VY_NONE ? VY_NONE : vy_legalizer_node(rw, high));
}

/* A number of elements of a memory of pairs, from the number of their halves. */
static uint32_t half_of(vy_legalizer *rw, vy_expr e) {
    e.a = rw->copy.memories[e.a];
    return u32_op(rw, VYRE_OP_SHR, vy_legalizer_node(rw, e), number(rw, 1));
}

static uint32_t variable(vy_legalizer *rw, vyre_type type, uint32_t first) {
    if (first == VY_NONE)
        return VY_NONE;
    uint32_t low = vy_legalizer_variable(rw, first);
    return join(rw, type, low, vy_legalizer_variable(rw, first + 1));
}

static uint32_t literal(vy_legalizer *rw, vyre_type type, uint64_t bits) {
    uint32_t low = number(rw, (uint32_t)bits);
    return join(rw, type, low, number(rw, (uint32_t)(bits >> 32)));
}

static int leaf(vy_legalizer *rw, const vy_expr *e, uint32_t *tree) {
    vyre_type type = (vyre_type)e->type;
    int counts = e->kind == VY_EXPR_LEN || e->kind == VY_EXPR_ALIGN_OFFSET;
    if (!is_int64(counts ? memory_type(rw, e->a) : type))
        return 0;
    if (counts)
        *tree = half_of(rw, *e);
    else if (e->kind == VY_EXPR_LITERAL)
        *tree = literal(rw, type, e->bits);
    else if (e->kind == VY_EXPR_VARIABLE)
        *tree = variable(rw, type, rw->copy.variables[e->a]);
    else if (e->kind == VY_EXPR_LOAD)
        *tree = load(rw, e);
    else
        return 0;
    return 1;
}

/* Calls a function of the softlib on trees; a pair is passed as two arguments. */
static void call(vy_legalizer *rw, const vy_softlib_function *function, const uint32_t *trees, uint32_t count,
                 uint32_t *results) {
    uint32_t args[VY_LIMIT_RESULTS], given = 0;
    for (uint32_t i = 0; i < count; i++) {
        halves value = apart(rw, trees[i]);
        args[given++] = value.low == VY_NONE ? trees[i] : value.low;
        if (value.high != VY_NONE)
            args[given++] = value.high;
    }
    vy_legalizer_call_all(rw, function, args, given, results);
}

/* The same by name; results has room for VY_LIMIT_RESULTS. */
static void call_named(vy_legalizer *rw, const char *name, const uint32_t *trees, uint32_t count, uint32_t *results) {
    call(rw, vy_softlib_find(rw->library, name), trees, count, results);
}

/* The phase `numerics` has replaced conversions from and to floats. */
static uint32_t to_pair(vy_legalizer *rw, vyre_type to, vyre_type from, uint32_t tree) {
    if (vyre_type_class(from) == VYRE_CLASS_FLOAT)
        return refuse(rw, "conversions", from);
    if (vyre_type_class(from) != VYRE_CLASS_SIGNED)
        return join(rw, to, vy_legalizer_cast(rw, U32, tree), number(rw, 0));
    uint32_t value = vy_legalizer_materialize(rw, vy_legalizer_cast(rw, VYRE_TYPE_I32, tree), "value");
    uint32_t sign = vy_legalizer_op(rw, VYRE_OP_SHR, VYRE_TYPE_I32, vy_legalizer_reuse(rw, value),
                                    vy_legalizer_literal(rw, VYRE_TYPE_I32, 31), VY_NONE);
    return join(rw, to, vy_legalizer_cast(rw, U32, value), vy_legalizer_cast(rw, U32, sign));
}

static uint32_t from_pair(vy_legalizer *rw, vyre_type to, halves value) {
    if (vyre_type_class(to) == VYRE_CLASS_FLOAT)
        return refuse(rw, "conversions", to);
    if (to == BOOL)
        return vy_legalizer_op(rw, VYRE_OP_NE, BOOL, u32_op(rw, VYRE_OP_OR, value.low, value.high), number(rw, 0),
                               VY_NONE);
    return vy_legalizer_cast(rw, to, value.low);
}

static uint32_t lower_op(vy_legalizer *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees) {
    vyre_op op = (vyre_op)e->op;
    vyre_type type = (vyre_type)e->type;
    if (!is_int64(operand) && !is_int64(type))
        return vy_legalizer_op(rw, op, type, trees[0], trees[1], trees[2]);
    if (op == VYRE_OP_CAST || op == VYRE_OP_BITCAST) {
        halves value = apart(rw, trees[0]);
        if (!is_int64(operand))
            return to_pair(rw, type, operand, trees[0]);
        return is_int64(type) ? join(rw, type, value.low, value.high) : from_pair(rw, type, value);
    }
    /* Most ops do not depend on the sign: lib/softlib/pair.vyre has them for u64. */
    uint32_t results[VY_LIMIT_RESULTS];
    const vy_softlib_function *function = vy_softlib_replacement(rw->library, op, type, operand);
    if (!function && operand == VYRE_TYPE_I64)
        function = vy_softlib_replacement(rw->library, op, type, VYRE_TYPE_U64);
    if (!function)
        return refuse(rw, vyre_op_get(op)->name, operand);
    call(rw, function, trees, vyre_op_get(op)->arity, results);
    return is_int64(type) ? join(rw, type, results[0], results[1]) : results[0];
}

static int keeps(const vy_legalizer *rw, const vy_expr *e, vyre_type operand) {
    (void)rw;
    return !is_int64((vyre_type)e->type) && !is_int64(operand);
}

/* ---- statements ---- */

static int has_failed(const vy_legalizer *rw) {
    return rw->copy.draft.failed || rw->status != VYRE_OK;
}

/* Declares the halves and returns the first. No other variable may be declared between them. */
static uint32_t declare_as(vy_legalizer *rw, uint8_t kind, const vy_symbol names[2], halves value) {
    vy_irb *draft = &rw->copy.draft;
    uint32_t trees[2] = {value.low, value.high}, made[2];
    for (int k = 0; k < 2; k++) {
        uint32_t put = vy_legalizer_append(rw, trees[k]);
        made[k] = kind == VY_STMT_VAR ? vy_irb_var(draft, names[k], U32, put) : vy_irb_let(draft, names[k], U32, put);
    }
    return made[0];
}

static void declare(vy_legalizer *rw, const vy_stmt *s) {
    vy_symbol names[2];
    halves value = apart(rw, vy_legalizer_lower(rw, s->a));
    split_int64_names(rw, s->variable, names);
    if (!has_failed(rw))
        rw->copy.variables[s->variable] = declare_as(rw, s->kind, names, value);
}

static void assign(vy_legalizer *rw, uint32_t first, halves value) {
    uint64_t bits;
    uint32_t high = vy_legalizer_is_literal(rw, value.high, &bits)
                        ? value.high
                        : vy_legalizer_bind(rw, VY_STMT_LET, "high", value.high);
    vy_irb_assign(&rw->copy.draft, first, vy_legalizer_append(rw, value.low));
    vy_irb_assign(&rw->copy.draft, first + 1, vy_legalizer_append(rw, high));
}

static void store(vy_legalizer *rw, const vy_stmt *s) {
    uint32_t at = low_index(rw, s->a, s->bounds_check);
    halves value = apart(rw, vy_legalizer_lower(rw, s->b));
    uint32_t high = vy_legalizer_materialize(rw, value.high, "high");
    const uint32_t indices[2] = {at, high_index(rw, at)}, values[2] = {value.low, high};
    vy_stmt stmt = *s;
    stmt.name = 0;
    stmt.memory = rw->copy.memories[s->memory];
    for (int k = 0; k < 2 && !has_failed(rw); k++) {
        stmt.a = vy_legalizer_append(rw, indices[k]);
        stmt.b = vy_legalizer_append(rw, values[k]);
        vy_irb_stmt(&rw->copy.draft, &stmt, NULL, 0, NULL, NULL);
    }
}

/* ---- collectives ---- */

/* The same collective on u32. */
static uint32_t emit_u32_collective(vy_legalizer *rw, const vy_stmt *s, vy_symbol name, uint32_t a, uint32_t b) {
    const vyre_type type = U32;
    vy_stmt stmt = *s;
    stmt.a = vy_legalizer_append(rw, a);
    stmt.b = vy_legalizer_append(rw, b);
    stmt.name = 0;
    if (has_failed(rw))
        return VY_NONE;
    uint32_t made = vy_irb_stmt(&rw->copy.draft, &stmt, NULL, 0, &name, &type);
    return made == VY_NONE ? VY_NONE : vy_stmt_at(rw->copy.draft.program, made)->variable;
}

/* Both halves are exchanged separately. Collectives that combine were lowered before (collectives.h). */
static void collective(vy_legalizer *rw, const vy_stmt *s) {
    vy_symbol names[2];
    halves value = apart(rw, vy_legalizer_lower(rw, s->a));
    uint32_t high = vy_legalizer_materialize(rw, value.high, "high");
    uint32_t lane = vy_legalizer_materialize(rw, vy_legalizer_lower(rw, s->b), "lane");
    split_int64_names(rw, s->variable, names);
    rw->copy.variables[s->variable] = emit_u32_collective(rw, s, names[0], value.low, lane);
    emit_u32_collective(rw, s, names[1], high, vy_legalizer_reuse(rw, lane));
}

/* Each lane computes its bit, and the bits of a half are combined by `or`. A subgroup of 32 lanes has no high half. */
static void ballot(vy_legalizer *rw, const vy_stmt *s) {
    uint32_t value = vy_legalizer_materialize(rw, vy_legalizer_lower(rw, s->a), "value");
    uint32_t index = vy_legalizer_local_index(rw);
    uint32_t lane = vy_legalizer_materialize(rw, u32_op(rw, VYRE_OP_AND, index, number(rw, s->width - 1u)), "lane");
    const uint32_t low[2] = {value, lane}, high[2] = {vy_legalizer_reuse(rw, value), vy_legalizer_reuse(rw, lane)};
    uint32_t bits[2] = {VY_NONE, number(rw, 0)}, results[VY_LIMIT_RESULTS];
    vy_symbol names[2];
    vy_stmt any = *s;
    any.op = VYRE_COLLECTIVE_REDUCE;
    any.combine = VYRE_OP_OR;
    call_named(rw, "ballot_low", low, 2, results);
    bits[0] = results[0];
    if (s->width > 32) {
        call_named(rw, "ballot_high", high, 2, results);
        bits[1] = vy_legalizer_materialize(rw, results[0], "high");
    }
    split_int64_names(rw, s->variable, names);
    rw->copy.variables[s->variable] = emit_u32_collective(rw, &any, names[0], bits[0], VY_NONE);
    if (s->width > 32)
        emit_u32_collective(rw, &any, names[1], bits[1], VY_NONE);
    else
        vy_irb_let(&rw->copy.draft, names[1], U32, vy_legalizer_append(rw, bits[1]));
}

/* ---- loops ---- */

typedef struct counter {
    vyre_type type;
    uint32_t next, left; /* variables of the draft, low halves: the next value, and the distance to the end */
    halves step, stride; /* leaves that do not change; stride is the magnitude of step */
} counter;

/* Literals, or `let`s, because the body may assign to the variables that a value depends on. */
static halves freeze(vy_legalizer *rw, const char *name, halves value) {
    uint32_t trees[2] = {value.low, value.high};
    uint64_t bits;
    for (int k = 0; k < 2; k++)
        if (!vy_legalizer_is_literal(rw, trees[k], &bits))
            trees[k] = vy_legalizer_bind(rw, VY_STMT_LET, name, trees[k]);
    return (halves){trees[0], trees[1]};
}

/* Declares two variables, the second directly after the first; returns the first. */
static uint32_t new_pair(vy_legalizer *rw, const char *name, halves value) {
    uint32_t low = vy_legalizer_bind(rw, VY_STMT_VAR, name, value.low);
    vy_legalizer_bind(rw, VY_STMT_VAR, name, value.high);
    return low == VY_NONE ? VY_NONE : rw->trees.items[low].a;
}

static uint32_t again(vy_legalizer *rw, vyre_type type, halves leaves) {
    uint32_t low = vy_legalizer_reuse(rw, leaves.low);
    return join(rw, type, low, vy_legalizer_reuse(rw, leaves.high));
}

static void start(vy_legalizer *rw, const vy_stmt *s, counter *c) {
    uint32_t from = vy_legalizer_lower(rw, s->a), to = vy_legalizer_lower(rw, s->b), results[VY_LIMIT_RESULTS];
    uint32_t step = s->c == VY_NONE ? literal(rw, c->type, 1) : vy_legalizer_lower(rw, s->c);
    halves first = freeze(rw, "first", apart(rw, from));
    c->step = freeze(rw, "step", apart(rw, step));
    const uint32_t args[3] = {again(rw, c->type, first), to, again(rw, c->type, c->step)};
    if (has_failed(rw))
        return;
    call_named(rw, c->type == VYRE_TYPE_I64 ? "trips_i64" : "trips_u64", args, 3, results);
    c->stride = freeze(rw, "stride", (halves){results[2], results[3]});
    c->next = new_pair(rw, "next", first);
    c->left = new_pair(rw, "left", (halves){results[0], results[1]});
}

static void update(vy_legalizer *rw, const counter *c, const char *name, uint32_t first, halves by) {
    const uint32_t args[2] = {variable(rw, c->type, first), again(rw, c->type, by)};
    uint32_t results[VY_LIMIT_RESULTS];
    call_named(rw, name, args, 2, results);
    assign(rw, first, (halves){results[0], results[1]});
}

/* The variables are updated at the start of an iteration, because `continue` skips the rest. */
static void loop(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    counter c = {.type = variable_type(rw, s->variable)};
    vy_symbol names[2];
    start(rw, s, &c);
    if (has_failed(rw))
        return;
    uint32_t goes_on = from_pair(rw, BOOL, apart(rw, variable(rw, c.type, c.left)));
    uint32_t mark = vy_cloner_open(&rw->copy);
    vy_irb_while(&rw->copy.draft, vy_legalizer_append(rw, goes_on));
    split_int64_names(rw, s->variable, names);
    rw->copy.variables[s->variable] = declare_as(rw, VY_STMT_LET, names, apart(rw, variable(rw, c.type, c.next)));
    update(rw, &c, "add_u64", c.next, c.step);
    update(rw, &c, "shorten", c.left, c.stride);
    vy_legalizer_body(rw, index + 1, s->end, mark);
    vy_irb_end_block(&rw->copy.draft);
}

static int statement(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    int is_access = s->kind == VY_STMT_STORE || s->kind == VY_STMT_ATOMIC;
    uint32_t named = is_access ? s->memory : s->variable;
    if (named == VY_NONE || !is_int64(is_access ? memory_type(rw, named) : variable_type(rw, named)))
        return 0;
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
        declare(rw, s);
        return 1;
    case VY_STMT_ASSIGN:
        assign(rw, rw->copy.variables[s->variable], apart(rw, vy_legalizer_lower(rw, s->a)));
        return 1;
    case VY_STMT_STORE:
        store(rw, s);
        return 1;
    case VY_STMT_ATOMIC:
        refuse(rw, vy_atomics[s->op].name, memory_type(rw, s->memory));
        return 1;
    case VY_STMT_COLLECTIVE:
        if (s->op == VYRE_COLLECTIVE_BALLOT)
            ballot(rw, s);
        else
            collective(rw, s);
        return 1;
    case VY_STMT_FOR:
        loop(rw, index);
        return 1;
    default:
        return 0;
    }
}

/* ---- the phase ---- */

/* The legalizer requires only that the carrier of a pair differs from its type. */
static vyre_type carrier(const vy_legalizer *rw, vyre_type type) {
    (void)rw;
    return is_int64(type) ? U32 : type;
}

const vy_legalizer_phase vy_legalize_split_int64 = {.carrier = carrier,
                                                    .op = lower_op,
                                                    .keeps = keeps,
                                                    .declare = split_int64_declare,
                                                    .leaf = leaf,
                                                    .index = plain_index,
                                                    .statement = statement};
