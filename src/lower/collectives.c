/* Lowering of collectives (collectives.h): selects the collectives to lower, allocates the arrays for the exchange, and
 * copies the rest of the program. */
#include "lower/collectives.h"

#include "base/status.h"
#include "ir/op_tables.h"
#include "lower/legalizer.h"

/* ---- trees ---- */

/* A tree as an operand: a leaf is copied, because it may have been used before. */
static uint32_t take(vy_collective_lowering *m, uint32_t tree) {
    if (tree == VY_NONE)
        return VY_NONE;
    uint8_t kind = m->rw.trees.items[tree].kind;
    return kind == VY_EXPR_LITERAL || kind == VY_EXPR_VARIABLE ? vy_legalizer_reuse(&m->rw, tree) : tree;
}

uint32_t vy_collective_op(vy_collective_lowering *m, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t x = take(m, a), y = take(m, b), z = take(m, c);
    return vy_legalizer_op(&m->rw, op, type, x, y, z);
}

uint32_t vy_collective_number(vy_collective_lowering *m, uint32_t value) {
    return vy_legalizer_literal(&m->rw, VYRE_TYPE_U32, value);
}

uint32_t vy_collective_u32(vy_collective_lowering *m, vyre_op op, uint32_t a, uint32_t b) {
    return vy_collective_op(m, op, VYRE_TYPE_U32, a, b, VY_NONE);
}

uint32_t vy_collective_test(vy_collective_lowering *m, vyre_op compare, uint32_t a, uint32_t b) {
    return vy_collective_op(m, compare, VYRE_TYPE_BOOL, a, b, VY_NONE);
}

uint32_t vy_collective_has(vy_collective_lowering *m, uint32_t number, uint32_t bit) {
    return vy_collective_test(m, VYRE_OP_NE, vy_collective_u32(m, VYRE_OP_AND, number, vy_collective_number(m, bit)),
                              vy_collective_number(m, 0));
}

uint32_t vy_collective_let(vy_collective_lowering *m, const char *name, uint32_t tree) {
    return vy_legalizer_materialize(&m->rw, tree, name);
}

uint32_t vy_collective_var(vy_collective_lowering *m, const char *name, uint32_t tree) {
    return vy_legalizer_bind(&m->rw, VY_STMT_VAR, name, take(m, tree));
}

uint32_t vy_collective_load(vy_collective_lowering *m, uint32_t array, vyre_type type, uint32_t index) {
    vyre_type element = type == VYRE_TYPE_BOOL ? VYRE_TYPE_U32 : type;
    uint32_t at = take(m, index);
    if (at == VY_NONE)
        return VY_NONE;
    return vy_legalizer_node(&m->rw, (vy_expr){.kind = VY_EXPR_LOAD,
                                               .type = (uint8_t)element,
                                               .op = VY_BOUNDS_UNCHECKED,
                                               .a = m->arrays[array],
                                               .b = at,
                                               .c = VY_NONE});
}

uint32_t vy_collective_pack(vy_collective_lowering *m, uint32_t value) {
    return vy_legalizer_type(&m->rw, value) == VYRE_TYPE_BOOL
               ? vy_collective_op(m, VYRE_OP_CAST, VYRE_TYPE_U32, value, VY_NONE, VY_NONE)
               : value;
}

uint32_t vy_collective_unpack(vy_collective_lowering *m, vyre_type type, uint32_t element) {
    return type == VYRE_TYPE_BOOL ? vy_collective_test(m, VYRE_OP_NE, element, vy_collective_number(m, 0)) : element;
}

/* ---- statements ---- */

void vy_collective_assign(vy_collective_lowering *m, uint32_t variable, uint32_t tree) {
    uint32_t value = vy_legalizer_append(&m->rw, take(m, tree));
    if (variable != VY_NONE)
        vy_irb_assign(&m->rw.copy.draft, m->rw.trees.items[variable].a, value);
}

void vy_collective_if(vy_collective_lowering *m, uint32_t condition) {
    vy_irb_if(&m->rw.copy.draft, vy_legalizer_append(&m->rw, take(m, condition)));
}

void vy_collective_end(vy_collective_lowering *m) {
    vy_irb_end_block(&m->rw.copy.draft);
}

void vy_collective_store(vy_collective_lowering *m, uint32_t array, uint32_t index, uint32_t value) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_STORE);
    stmt.bounds_check = VY_BOUNDS_UNCHECKED;
    stmt.memory = m->arrays[array];
    stmt.a = vy_legalizer_append(&m->rw, take(m, index));
    stmt.b = vy_legalizer_append(&m->rw, take(m, value));
    vy_irb_stmt(&m->rw.copy.draft, &stmt, NULL, 0, NULL, NULL);
}

void vy_collective_barrier(vy_collective_lowering *m) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_BARRIER);
    stmt.scope = VYRE_SCOPE_WORKGROUP;
    vy_irb_stmt(&m->rw.copy.draft, &stmt, NULL, 0, NULL, NULL);
    m->unfree = 0;
}

uint32_t vy_collective_open(vy_collective_lowering *m, uint32_t array) {
    if (m->unfree >> array & 1) {
        uint32_t twin = array + VY_COLLECTIVE_LOWER_TWIN;
        if (m->arrays[twin] != VY_NONE && !(m->unfree >> twin & 1))
            return twin;
        vy_collective_barrier(m);
    }
    return array;
}

void vy_collective_close(vy_collective_lowering *m, uint32_t array) {
    m->unfree |= 1u << array;
}

/* ---- selection ---- */

/* The bits of a profile that exact reductions and scans require. Narrow floats are held as f32: their order is that of
 * f32, but sums and products are rounded at each step. */
static int combines_exactly(uint64_t exact, vyre_op op, vyre_type type) {
    uint64_t needs = 0;
    int is_order = op == VYRE_OP_MIN || op == VYRE_OP_MAX;
    switch (type) {
    case VYRE_TYPE_I8:
    case VYRE_TYPE_U8:
        needs = VY_NUMERIC(INT8);
        break;
    case VYRE_TYPE_I16:
    case VYRE_TYPE_U16:
        needs = VY_NUMERIC(INT16);
        break;
    case VYRE_TYPE_I64:
    case VYRE_TYPE_U64:
        needs = VY_NUMERIC(INT64);
        break;
    case VYRE_TYPE_F16:
    case VYRE_TYPE_BF16:
        if (!is_order)
            return 0; /* fall through */
    case VYRE_TYPE_F32:
        needs = VY_NUMERIC(F32_SUBNORMAL) | (is_order            ? VY_NUMERIC(F32_MIN_MAX)
                                             : op == VYRE_OP_MUL ? VY_NUMERIC(F32_MUL)
                                                                 : VY_NUMERIC(F32_ADD));
        break;
    case VYRE_TYPE_F64:
        needs = VY_NUMERIC(F64_SUBNORMAL) | (is_order            ? VY_NUMERIC(F64_MIN_MAX)
                                             : op == VYRE_OP_MUL ? VY_NUMERIC(F64_MUL)
                                                                 : VY_NUMERIC(F64_ADD));
        break;
    default:
        break;
    }
    return !(needs & ~exact);
}

static vyre_type value_type(const vy_collective_lowering *m, const vy_stmt *s) {
    return (vyre_type)vy_expr_at(m->rw.from, s->a)->type;
}

static int is_written_out(const vy_collective_lowering *m, const vy_stmt *s) {
    if (s->kind != VY_STMT_COLLECTIVE || vy_collectives[s->op].level == VYRE_LEVEL_LEGAL)
        return 0;
    return !m->target->native_collectives ||
           (vy_collectives[s->op].combines &&
            !combines_exactly(m->target->exact, (vyre_op)s->combine, value_type(m, s)));
}

/* ---- arrays ---- */

static uint32_t width_of(const vy_collective_lowering *m, const vy_stmt *s) {
    return s->width && s->width < m->count ? s->width : m->count;
}

static vy_collective_storage collective_storage_of(const vy_collective_lowering *m, const vy_stmt *s, vyre_type type) {
    uint32_t element = type == VYRE_TYPE_BOOL ? VYRE_TYPE_U32 : type;
    if (vy_collective_in_block(m, width_of(m, s)))
        return (vy_collective_storage){VY_NONE, 0};
    uint32_t blocks = (m->count + m->block - 1) / m->block;
    switch ((vyre_collective)s->op) {
    case VYRE_COLLECTIVE_REDUCE:
    case VYRE_COLLECTIVE_SCAN_INCLUSIVE:
    case VYRE_COLLECTIVE_SCAN_EXCLUSIVE:
        return (vy_collective_storage){element, blocks};
    case VYRE_COLLECTIVE_ANY:
    case VYRE_COLLECTIVE_ALL:
        if (vy_collective_fits_lanes(m, width_of(m, s)))           /* a reduction */
            return (vy_collective_storage){VYRE_TYPE_U32, blocks}; /* fall through */
    case VYRE_COLLECTIVE_BALLOT:
        return (vy_collective_storage){VY_COLLECTIVE_LOWER_VOTES,
                                       vy_collective_vote_words(m, (vyre_collective)s->op, width_of(m, s))};
    case VYRE_COLLECTIVE_BROADCAST:
        return (vy_collective_storage){element, width_of(m, s) < m->count ? m->count : 1};
    default:
        return (vy_collective_storage){element, m->count};
    }
}

/* One array per type, as long as the longest that is needed. */
static void add_arrays(vy_collective_lowering *m) {
    uint32_t elements[VY_COLLECTIVE_LOWER_ARRAYS] = {0}, uses[VY_COLLECTIVE_LOWER_ARRAYS] = {0};
    for (uint32_t i = m->rw.copy.entry->first_stmt; i < m->rw.copy.entry->end_stmt; i++) {
        const vy_stmt *s = vy_stmt_at(m->rw.from, i);
        if (!is_written_out(m, s))
            continue;
        vy_collective_storage place = collective_storage_of(m, s, value_type(m, s));
        if (place.array == VY_NONE)
            continue;
        uses[place.array]++;
        if (place.elements > elements[place.array])
            elements[place.array] = place.elements;
    }
    for (uint32_t i = 0; i < 2 * VY_COLLECTIVE_LOWER_ARRAYS; i++) {
        uint32_t array = i % VY_COLLECTIVE_LOWER_ARRAYS, least = i < VY_COLLECTIVE_LOWER_TWIN ? 1 : 2;
        vyre_type type = array == VY_COLLECTIVE_LOWER_VOTES ? VYRE_TYPE_U32 : (vyre_type)array;
        const char *name = array == VY_COLLECTIVE_LOWER_VOTES ? "votes" : "exchange";
        m->arrays[i] = VY_NONE;
        if (uses[array] >= least && (least == 1 || elements[array] <= VY_COLLECTIVE_LOWER_SHORT))
            m->arrays[i] = vy_irb_array(&m->rw.copy.draft, vy_cloner_new_name(&m->rw.copy, name), VY_SPACE_WORKGROUP,
                                        type, elements[array]);
    }
}

/* ---- the walk ---- */

/* The arrays that collectives of [first, end) read. */
static uint32_t arrays_of(const vy_collective_lowering *m, uint32_t first, uint32_t end) {
    uint32_t arrays = 0;
    for (uint32_t i = first; i < end; i++) {
        const vy_stmt *s = vy_stmt_at(m->rw.from, i);
        if (!is_written_out(m, s))
            continue;
        vy_collective_storage place = collective_storage_of(m, s, value_type(m, s));
        if (place.array != VY_NONE)
            arrays |= 1u << place.array | 1u << (place.array + VY_COLLECTIVE_LOWER_TWIN);
    }
    return arrays;
}

/* An operand, evaluated at the collective. */
static uint32_t operand(vy_collective_lowering *m, const char *name, uint32_t root) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_cloner *copy = &m->rw.copy;
    const vy_expr *e = vy_expr_at(m->rw.from, root);
    if (e->kind == VY_EXPR_LITERAL)
        return vy_legalizer_literal(&m->rw, (vyre_type)e->type, e->bits);
    if (e->kind == VY_EXPR_VARIABLE && !vy_variable_at(m->rw.from, e->a)->is_mutable)
        return vy_legalizer_variable(&m->rw, copy->variables[e->a]);
    uint32_t value = vy_cloner_expr(copy, root);
    vy_symbol named = vy_legalizer_name(&m->rw, name);
    return vy_legalizer_variable(&m->rw, vy_irb_let(&copy->draft, named, (vyre_type)e->type, value));
}

/* A workgroup-uniform result that was exchanged through memory is not provably uniform. A native broadcast makes it
 * so. */
static int shows_sameness(const vy_collective_lowering *m, const vy_stmt *s) {
    return m->target->native_collectives && s->width == 0 && s->op == VYRE_COLLECTIVE_REDUCE;
}

static uint32_t bind_broadcast(vy_collective_lowering *m, vy_symbol name, vyre_type type, uint32_t value) {
    vy_irb *draft = &m->rw.copy.draft;
    vy_stmt all = vy_irb_blank_stmt(VY_STMT_COLLECTIVE);
    all.op = VYRE_COLLECTIVE_BROADCAST;
    all.a = value;
    all.b = vy_irb_literal(draft, VYRE_TYPE_U32, 0);
    all.result_count = 1;
    uint32_t made = vy_irb_stmt(draft, &all, NULL, 0, &name, &type);
    return made == VY_NONE ? 0 : vy_stmt_at(draft->program, made)->variable;
}

static void write_out(vy_collective_lowering *m, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(m->rw.from, index);
    const vy_variable *result = vy_variable_at(m->rw.from, s->variable);
    vy_irb *draft = &m->rw.copy.draft;
    uint32_t tree;
    m->rw.trees.count = m->rw.depths.count = 0;
    draft->position = vy_stmt_position(m->rw.from, index);
    vy_collective_site meeting = {.m = m,
                                  .kind = (vyre_collective)s->op,
                                  .combine = (vyre_op)s->combine,
                                  .type = value_type(m, s),
                                  .width = width_of(m, s)};
    meeting.value = operand(m, "value", s->a);
    meeting.operand = operand(m, "asked", s->b);
    meeting.index = vy_collective_let(m, "index", vy_legalizer_local_index(&m->rw));
    if (vy_collectives[s->op].combines)
        tree = vy_collective_combine(&meeting);
    else if (s->op == VYRE_COLLECTIVE_ANY || s->op == VYRE_COLLECTIVE_ALL || s->op == VYRE_COLLECTIVE_BALLOT)
        tree = vy_collective_vote(&meeting);
    else
        tree = vy_collective_move(&meeting);
    vy_symbol name = vy_cloner_name(&m->rw.copy, vy_symbol_name(m->rw.from, result->name));
    uint32_t value = vy_legalizer_append(&m->rw, take(m, tree));
    m->rw.copy.variables[s->variable] = shows_sameness(m, s) ? bind_broadcast(m, name, (vyre_type)result->type, value)
                                                             : vy_irb_let(draft, name, (vyre_type)result->type, value);
}

static void walk(vy_collective_lowering *m, uint32_t first, uint32_t end);

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void walk_structured(vy_collective_lowering *m, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(m->rw.from, index);
    vy_cloner *copy = &m->rw.copy;
    uint32_t mark = vy_cloner_open(copy);
    /* The end of a loop is followed by its start. */
    uint32_t inside = vy_stmt_is_loop(s->kind) ? arrays_of(m, index + 1, s->end) : 0, before = m->unfree | inside;
    if (s->kind == VY_STMT_FOR) {
        uint32_t a = vy_cloner_expr(copy, s->a), b = vy_cloner_expr(copy, s->b), c = vy_cloner_expr(copy, s->c);
        vy_cloner_for(copy, index, a, b, c);
    } else {
        vy_cloner_stmt(copy, index);
    }
    m->unfree = before;
    walk(m, index + 1, s->middle);
    vy_cloner_close(copy, mark);
    if (s->middle != s->end) {
        uint32_t after = m->unfree;
        vy_irb_else(&copy->draft);
        m->unfree = before;
        walk(m, s->middle, s->end);
        vy_cloner_close(copy, mark);
        m->unfree |= after;
    } else if (s->kind != VY_STMT_REGION) {
        m->unfree |= before;
    }
    vy_irb_end_block(&copy->draft);
}

static void walk(vy_collective_lowering *m, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !m->rw.copy.draft.failed; i = vy_stmt_at(m->rw.from, i)->end) {
        const vy_stmt *s = vy_stmt_at(m->rw.from, i);
        if (vy_stmt_is_structured(s->kind))
            walk_structured(m, i);
        else if (is_written_out(m, s))
            write_out(m, i);
        else if (s->kind != VY_STMT_PRINT) /* for the reference interpreter only */
            vy_cloner_stmt(&m->rw.copy, i);
        if (s->kind == VY_STMT_BARRIER)
            m->unfree = 0;
    }
}

static vyre_status write_program(vy_collective_lowering *m, vyre_program **out, vyre_error *error) {
    vy_cloner *copy = &m->rw.copy;
    vyre_status status = vy_cloner_start(copy, m->rw.from, vy_symbol_name(m->rw.from, m->rw.from->name), error);
    if (status != VYRE_OK)
        return status;
    copy->draft.program->level = VYRE_LEVEL_LEGAL;
    copy->draft.skip_verify = 1;
    vy_cloner_params(copy);
    vy_cloner_buffers(copy, 0);
    vy_cloner_arrays(copy);
    add_arrays(m);
    vy_cloner_grid(copy);
    walk(m, copy->entry->first_stmt, copy->entry->end_stmt);
    return vy_cloner_finish(copy, out, error);
}

/* Subgroups of a width for which the language has no shuffle are not used. */
static uint32_t block_of(const vy_target_desc *target) {
    uint32_t width = target->subgroup_width;
    return width >= 2 && width <= 64 && (width & (width - 1)) == 0 ? width : 1;
}

vyre_status vy_legalize_collectives(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                    vyre_error *error) {
    uint32_t variables = program->variables.count, memories = program->memories.count;
    vy_collective_lowering m = {.rw = {.from = program, .error = error},
                                .target = target,
                                .count = vy_workgroup_invocations(program),
                                .block = block_of(target)};
    size_t bytes = vy_array_size((size_t)variables + memories + 1, sizeof(uint32_t));
    uint32_t *maps = vy_allocate(bytes);
    *out = NULL;
    if (!maps)
        return vy_fail_memory(error, "a legal program");
    memset(maps, 0xff, bytes);
    m.rw.copy.variables = maps;
    m.rw.copy.memories = maps + variables;
    vyre_status status = write_program(&m, out, error);
    vy_cloner_discard(&m.rw.copy);
    VY_VECTOR_FREE(&m.rw.trees);
    VY_VECTOR_FREE(&m.rw.depths);
    vy_release(maps, bytes);
    return status;
}
