/* Random calls of ops of the dialect `math`. The ops of a program are drawn from the newest snapshot of the dialects,
 * so that new ops are included. They are called by id; vyre_generate resolves the calls. */
#include "generate/generator.h"
#include "ir/eval.h"
#include "ir/op_tables.h"

enum { MOST_TIMES = 8 /* executions of a call */ };

/* ---- which ops ---- */

static int has_values(const vy_gen *g, const vyre_op_operand *operands, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (operands[i].kind != VYRE_OPERAND_VALUE || !(g->allowed >> operands[i].type & 1))
            return 0;
    return 1;
}

/* Whether all inputs and results of the op are values of allowed types. */
static int is_usable(const vy_gen *g, const vyre_op_definition *op) {
    for (uint32_t i = 0; i < op->attribute_count; i++)
        if (!op->attributes[i].has_default)
            return 0;
    return strcmp(op->dialect, "math") == 0 && op->body && op->input_count <= VY_GEN_FUNCTION_PARAMS &&
           op->output_count > 0 && op->output_count <= VY_GEN_RESULTS && has_values(g, op->inputs, op->input_count) &&
           has_values(g, op->outputs, op->output_count);
}

/* The usable op with this number. If there are fewer, NULL, and *count is the number of usable ops. */
static const vyre_op_definition *find_usable(const vy_gen *g, uint32_t number, uint32_t *count) {
    *count = 0;
    for (size_t i = 0; i < vyre_dialects_count(g->dialects); i++) {
        const vyre_op_definition *op = vyre_dialects_at(g->dialects, i);
        if (is_usable(g, op) && (*count)++ == number)
            return op;
    }
    return NULL;
}

static void add_type(vy_gen *g, vyre_type type) {
    if (memchr(g->types, type, g->type_count) == NULL)
        g->types[g->type_count++] = (uint8_t)type;
    if (type != VYRE_TYPE_BOOL && memchr(g->data_types, type, g->data_type_count) == NULL)
        g->data_types[g->data_type_count++] = (uint8_t)type;
}

void vy_gen_plan_ops(vy_gen *g) {
    uint32_t most = g->statements / VY_GEN_OP_STATEMENTS, count;
    find_usable(g, UINT32_MAX, &count);
    g->op_calls = 1 + vy_gen_below(g, most < VY_GEN_OPS ? most : VY_GEN_OPS);
    while (count && g->op_count < g->op_calls) {
        uint32_t counted;
        const vyre_op_definition *op = find_usable(g, vy_gen_below(g, count), &counted);
        g->ops[g->op_count++] = op;
        for (uint32_t i = 0; i < op->input_count; i++)
            add_type(g, op->inputs[i].type);
        for (uint32_t i = 0; i < op->output_count; i++)
            add_type(g, op->outputs[i].type);
    }
}

/* ---- arguments ---- */

/* A number of the type, of up to ten significant bits and between -1000 and 1000. */
static uint64_t draw_number(vy_gen *g, vyre_type type) {
    double number = (double)vy_gen_below(g, 2001) - 1000;
    uint32_t exponent = vy_gen_below(g, 16);
    number /= (double)(UINT32_C(1) << exponent);
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_F64, bits, 0, 0);
}

/* Floats: id * a + b. Integers: id - a. It differs between lanes. */
static uint32_t ordinary(vy_gen *g, vyre_type type) {
    uint32_t value = vy_gen_lane_index(g);
    if (type != VYRE_TYPE_U32)
        value = vy_irb_op(&g->draft, VYRE_OP_CAST, type, value, VY_NONE, VY_NONE);
    if (!(vy_type_layouts[type].classes & VYRE_CLASS_FLOAT))
        return vy_gen_with_literal(g, VYRE_OP_SUB, type, value, vy_gen_below(g, 64));
    value = vy_gen_with_literal(g, VYRE_OP_MUL, type, value, draw_number(g, type));
    return vy_gen_with_literal(g, VYRE_OP_ADD, type, value, draw_number(g, type));
}

/* Literals and elements of inputs include special values. */
static uint32_t argument(vy_gen *g, vyre_type type) {
    uint32_t draw = vy_gen_below(g, 8);
    uint32_t load = draw < 3 ? vy_gen_load(g, type, 1) : VY_NONE;
    if (load != VY_NONE)
        return load;
    if (draw == 3)
        return vy_gen_literal(g, type);
    return draw == 4 || type == VYRE_TYPE_BOOL ? vy_gen_expr(g, type, 2) : ordinary(g, type);
}

/* ---- calls ---- */

int vy_gen_op_call(vy_gen *g) {
    vy_arg args[VY_GEN_FUNCTION_PARAMS];
    vy_symbol names[VY_GEN_RESULTS];
    vyre_type types[VY_GEN_RESULTS];
    if (g->op_count == 0 || g->op_calls == 0 || g->function || g->place.times > MOST_TIMES)
        return 0;
    const vyre_op_definition *op = g->ops[vy_gen_below(g, g->op_count)];
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_CALL);
    for (uint32_t i = 0; i < op->input_count; i++)
        args[i] = (vy_arg){0, argument(g, op->inputs[i].type)};
    for (uint32_t i = 0; i < op->output_count; i++) {
        names[i] = vy_gen_name(g, 'y');
        types[i] = op->outputs[i].type;
    }
    stmt.name = vy_irb_intern(&g->draft, op->id, strlen(op->id));
    stmt.result_count = (uint8_t)op->output_count;
    uint32_t index = vy_irb_stmt(&g->draft, &stmt, args, op->input_count, names, types);
    if (index == VY_NONE)
        return 1;
    for (uint32_t i = 0; i < op->output_count; i++)
        vy_gen_declare(g, g->draft.program->stmts.items[index].variable + i, types[i], 0, 0);
    g->op_calls--;
    return 1;
}
