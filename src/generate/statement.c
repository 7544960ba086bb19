/* Blocks of random statements: which kind comes next, and the simple kinds. */
#include "generate/generator.h"
#include "ir/eval.h"
#include "ir/op_tables.h"

/* ---- let, var, assign ---- */

/* The value of a declaration, uniform in a third of the places where that can be seen; says which it is. */
static uint32_t value(vy_gen *g, vyre_type type, int *is_uniform) {
    *is_uniform = g->place.uniform && vy_gen_chance(g, 1, 3);
    return *is_uniform ? vy_gen_uniform_expr(g, type, g->depth) : vy_gen_expr(g, type, g->depth);
}

static int write_declaration(vy_gen *g, int is_mutable) {
    vyre_type type = VYRE_TYPE_COUNT;
    int is_uniform = 0;
    uint32_t a = vy_gen_draws_idiom(g, VY_GEN_EDGES) ? vy_gen_guarded_load(g, &type) : VY_NONE;
    if (a == VY_NONE) {
        type = vy_gen_type(g);
        a = value(g, type, &is_uniform);
    }
    vy_symbol name = vy_gen_name(g, 'v');
    uint32_t variable = is_mutable ? vy_irb_var(&g->draft, name, type, a) : vy_irb_let(&g->draft, name, type, a);
    vy_gen_declare(g, variable, type, is_mutable, is_uniform);
    return 1;
}

static int write_let(vy_gen *g) {
    return write_declaration(g, 0);
}

static int write_var(vy_gen *g) {
    return write_declaration(g, 1);
}

static int write_assign(vy_gen *g) {
    for (int i = 0; i < 4; i++) {
        const vy_gen_variable *found = vy_gen_find_variable(g, vy_gen_type(g), 1);
        /* A uniform variable stays so: assigned only where all go, and something uniform. */
        if (!found || (found->is_uniform && !g->place.uniform))
            continue;
        uint32_t variable = found->variable;
        vyre_type type = (vyre_type)found->type;
        uint32_t a = found->is_uniform ? vy_gen_uniform_expr(g, type, g->depth) : vy_gen_expr(g, type, g->depth);
        vy_irb_assign(&g->draft, variable, a);
        return 1;
    }
    return 0;
}

/* ---- collectives ---- */

static vyre_op draw_combine(vy_gen *g, vyre_type type) {
    for (;;) {
        vyre_op op = (vyre_op)vy_combine_ops[vy_gen_below(g, VY_COMBINE_COUNT)];
        if (vyre_op_get(op)->classes & vy_type_layouts[type].classes)
            return op;
    }
}

static int write_collective(vy_gen *g) {
    if (!g->place.uniform || !g->place.sync)
        return 0;
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_COLLECTIVE);
    /* Those that combine have many variants: half of the draws. */
    int combines = vy_gen_chance(g, 1, 2);
    vyre_collective op = (vyre_collective)vy_gen_below(g, combines ? VYRE_COLLECTIVE_ANY : VY_SOURCE_COLLECTIVES);
    const vy_collective_row *row = &vy_collectives[op];
    stmt.op = (uint8_t)op;
    stmt.width = !row->over[0] || (row->over[1] && vy_gen_chance(g, 1, 2)) ? (uint8_t)(2u << vy_gen_below(g, 6)) : 0;
    int votes = op == VYRE_COLLECTIVE_ANY || op == VYRE_COLLECTIVE_ALL || op == VYRE_COLLECTIVE_BALLOT;
    vyre_type type = votes ? VYRE_TYPE_BOOL : row->combines ? vy_gen_data_type(g) : vy_gen_type(g);
    if (row->combines)
        stmt.combine = (uint8_t)draw_combine(g, type);
    stmt.a = vy_gen_expr(g, type, g->depth);
    if (row->operands > 1) {
        int uniform = op == VYRE_COLLECTIVE_BROADCAST;
        if (vy_gen_chance(g, 3, 4)) /* a lane that may exist */
            stmt.b = vy_gen_with_literal(g, VYRE_OP_REM, VYRE_TYPE_U32,
                                         uniform ? vy_gen_uniform_expr(g, VYRE_TYPE_U32, 1)
                                                 : vy_gen_expr(g, VYRE_TYPE_U32, 1),
                                         stmt.width ? stmt.width : g->size);
        else
            stmt.b = uniform ? vy_gen_uniform_expr(g, VYRE_TYPE_U32, 2) : vy_gen_expr(g, VYRE_TYPE_U32, 2);
    }
    vyre_type result = op == VYRE_COLLECTIVE_BALLOT ? VYRE_TYPE_U64 : type;
    stmt.result_count = 1;
    vy_symbol name = vy_gen_name(g, 'c');
    uint32_t index = vy_irb_stmt(&g->draft, &stmt, NULL, 0, &name, &result);
    if (index == VY_NONE)
        return 1;
    int scan = op == VYRE_COLLECTIVE_SCAN_INCLUSIVE || op == VYRE_COLLECTIVE_SCAN_EXCLUSIVE;
    vy_gen_declare(g, g->draft.program->stmts.items[index].variable, result, 0, stmt.width == 0 && !scan);
    return 1;
}

/* ---- which kind comes next ---- */

static int write_break(vy_gen *g) {
    return vy_gen_leave_loop(g, VY_STMT_BREAK);
}

static int write_continue(vy_gen *g) {
    return vy_gen_leave_loop(g, VY_STMT_CONTINUE);
}

/* One row per kind: its writer (0 = not possible here), its weight, the features it needs, and the stress that multiplies it. print is
 * never written: it is the oracle's alone. */
typedef struct kind_row {
    int (*write)(vy_gen *g);
    uint16_t weight;
    uint16_t needs, stress;
} kind_row;

static const kind_row kinds[VY_STMT_KIND_COUNT] = {
    [VY_STMT_LET] = {write_let, 14, 0, VYRE_STRESS_INTEGERS | VYRE_STRESS_FLOATS},
    [VY_STMT_VAR] = {write_var, 8, 0, 0},
    [VY_STMT_ASSIGN] = {write_assign, 14, 0, VYRE_STRESS_CONTROL},
    [VY_STMT_STORE] = {vy_gen_store, 14, 0, VYRE_STRESS_MEMORY},
    [VY_STMT_ATOMIC] = {vy_gen_atomic, 10, VY_GEN_ATOMICS, VYRE_STRESS_ATOMICS},
    [VY_STMT_COLLECTIVE] = {write_collective, 11, VY_GEN_SYNC, VYRE_STRESS_COLLECTIVES},
    [VY_STMT_CALL] = {vy_gen_call, 10, VY_GEN_CALLS, VYRE_STRESS_FUNCTIONS},
    [VY_STMT_BARRIER] = {vy_gen_barrier, 6, VY_GEN_SYNC, VYRE_STRESS_MEMORY},
    [VY_STMT_TRAP] = {vy_gen_trap, 3, VY_GEN_TRAP, 0},
    [VY_STMT_IF] = {vy_gen_if, 9, 0, VYRE_STRESS_CONTROL},
    [VY_STMT_FOR] = {vy_gen_for, 6, VY_GEN_CONTROL, VYRE_STRESS_CONTROL},
    [VY_STMT_WHILE] = {vy_gen_while, 4, VY_GEN_CONTROL, VYRE_STRESS_CONTROL},
    [VY_STMT_BREAK] = {write_break, 6, VY_GEN_CONTROL, VYRE_STRESS_CONTROL},
    [VY_STMT_CONTINUE] = {write_continue, 6, VY_GEN_CONTROL, VYRE_STRESS_CONTROL},
    [VY_STMT_RETURN] = {vy_gen_return, 2, 0, VYRE_STRESS_CONTROL | VYRE_STRESS_FUNCTIONS},
    [VY_STMT_REGION] = {vy_gen_region, 2, 0, 0},
};

void vy_gen_set_weights(vy_gen *g) {
    g->weight_sum = 0;
    for (int kind = 0; kind < VY_STMT_KIND_COUNT; kind++) {
        const kind_row *row = &kinds[kind];
        uint32_t weight = (g->features & row->needs) == row->needs ? row->weight : 0;
        g->weights[kind] = weight * (g->stress & row->stress ? 3 : 1);
        g->weight_sum += g->weights[kind];
    }
}

static void write_statement(vy_gen *g) {
    g->left--;
    g->work += g->place.times;
    vy_gen_start_statement(g);
    for (int i = 0; i < 6; i++) {
        uint32_t draw = vy_gen_below(g, g->weight_sum);
        int kind = 0;
        while (draw >= g->weights[kind])
            draw -= g->weights[kind++];
        if (kinds[kind].write(g))
            return;
    }
    write_let(g);
}

void vy_gen_statements(vy_gen *g, unsigned count) {
    unsigned stop = g->left > count ? g->left - count : 0;
    while (g->left > stop && !g->draft.failed)
        write_statement(g);
}

void vy_gen_block(vy_gen *g, unsigned count) {
    uint32_t scope = g->variables.count;
    unsigned names = g->name_count;
    vy_gen_statements(g, count);
    g->variables.count = scope;
    if (vy_gen_chance(g, 1, 2))
        g->name_count = names; /* a name may return once its block has ended */
}
