/* Expressions to bytecode. */
#include "oracle/adversarial_device.h"
#include "oracle/compile.h"

int vy_value_is_temporary(const vy_expr *expr, uint32_t r) {
    return expr->kind == VY_EXPR_OP || expr->kind == VY_EXPR_LOAD ||
           (expr->kind == VY_EXPR_LITERAL && !(r & VY_SHARED));
}

void vy_value_free(vy_oracle_compiler *c, uint32_t e, uint32_t r) {
    const vy_expr *expr = &c->program->exprs.items[e];
    if (vy_value_is_temporary(expr, r))
        vy_register_free(c, expr->type, r);
}

uint32_t vy_emit_value(vy_oracle_compiler *c, uint32_t e) {
    return vy_emit_expr(c, e, VY_NONE, 0);
}

void vy_oracle_compiler_refuse(vy_oracle_compiler *c, const char *what, vyre_type type) {
    c->refused = what;
    c->refused_type = type;
}

/* A device takes what it finds, also a NaN that is not the canonical one. */
uint8_t vy_loaded_type(vy_oracle_compiler *c, vyre_type type) {
    static const uint8_t raw[VYRE_TYPE_COUNT] = {[VYRE_TYPE_F16] = VYRE_TYPE_U16,
                                                 [VYRE_TYPE_BF16] = VYRE_TYPE_U16,
                                                 [VYRE_TYPE_F32] = VYRE_TYPE_U32,
                                                 [VYRE_TYPE_F64] = VYRE_TYPE_U64};
    if (!c->oracle->is_device)
        return (uint8_t)type;
    if (!vy_device_has(c->oracle->exact, type))
        vy_oracle_compiler_refuse(c, "a load", type);
    return raw[type] ? raw[type] : (uint8_t)type;
}

static vy_kernel *kernel_of(vy_oracle_compiler *c, vyre_op op, vyre_type result, vyre_type operand) {
    if (!c->oracle->is_device)
        return vy_op_is_approximate(op) ? vy_approximate_kernel(op, operand) : vy_eval_kernel(op, result, operand);
    vy_kernel *kernel = vy_device_kernel(c->oracle->exact, op, result, operand);
    if (!kernel)
        vy_oracle_compiler_refuse(c, vyre_op_get(op)->name, vyre_type_bits(result) == 64 ? result : operand);
    return kernel;
}

vy_instruction *vy_emit_inside(vy_oracle_compiler *c, uint32_t memory, uint32_t index, uint32_t elements) {
    vy_instruction *inside = vy_emit(c, VY_OPCODE_INSIDE);
    inside->a = index;
    inside->b = memory - c->entry->first_memory;
    inside->r = elements;
    return inside;
}

static void emit_load_at(vy_oracle_compiler *c, uint32_t e, uint32_t index, uint32_t r) {
    const vy_expr *expr = &c->program->exprs.items[e];
    if (expr->op == VY_BOUNDS_UNCHECKED) {
        vy_instruction *inside = vy_emit_inside(c, expr->a, index, 1);
        inside->site = e;
        inside->site_is_expression = 1;
    }
    vy_instruction *load = vy_emit(c, VY_OPCODE_LOAD);
    load->type = vy_loaded_type(c, (vyre_type)expr->type);
    load->index_type = c->program->exprs.items[expr->b].type;
    load->site = e;
    load->site_is_expression = 1;
    load->r = r;
    load->a = index;
    load->b = expr->a - c->entry->first_memory;
    c->oracle->memories.items[load->b].accesses |= 1u << VY_ACCESS_READ;
}

/* A load with a condition runs under a mask: it gives zero to the lanes that are not active. Where no lane is, it is jumped over. */
static uint32_t emit_predicated_load(vy_oracle_compiler *c, uint32_t e, uint32_t into) {
    const vy_expr *expr = &c->program->exprs.items[e];
    uint32_t index = vy_emit_value(c, expr->b), condition = vy_emit_value(c, expr->c);
    /* Taken before the operands are given back: it is filled while they are still needed. */
    uint32_t r = into != VY_NONE ? into : vy_register_new(c, expr->type), slot = vy_output_slots_new(c, 1),
             chain = VY_NONE;
    vy_instruction *fill = vy_emit(c, VY_OPCODE_FILL);
    fill->r = r;
    fill->value = 0;
    vy_emit_jump(c, VY_OPCODE_IF, slot, &chain)->a = condition;
    emit_load_at(c, e, index, r);
    vy_emit_patch(c, chain);
    chain = VY_NONE;
    vy_emit_jump(c, VY_OPCODE_ENDIF, slot, &chain);
    vy_emit_patch(c, chain);
    c->slots--;
    vy_value_free(c, expr->b, index);
    vy_value_free(c, expr->c, condition);
    return r;
}

static uint32_t emit_load(vy_oracle_compiler *c, uint32_t e, uint32_t into) {
    const vy_expr *expr = &c->program->exprs.items[e];
    if (expr->c != VY_NONE)
        return emit_predicated_load(c, e, into);
    uint32_t index = vy_emit_value(c, expr->b);
    vy_value_free(c, expr->b, index);
    uint32_t r = into != VY_NONE ? into : vy_register_new(c, expr->type);
    emit_load_at(c, e, index, r);
    return r;
}

/* Both arms are pure, so they are computed for every lane; but a load in an arm that the lane does not take is not meant by the program, and the
 * checkers must not see it (`i < len(x) ? x[i] : 0`). So arms with loads run under a mask. */
static uint32_t emit_arm(vy_oracle_compiler *c, uint32_t e, uint32_t condition, int when) {
    if (!c->has_load[e - c->first_expr])
        return vy_emit_value(c, e);
    uint32_t slot = vy_output_slots_new(c, 1), chain = VY_NONE;
    vy_emit_jump(c, VY_OPCODE_IF, slot, &chain)->a = condition;
    if (!when) {
        vy_emit_patch(c, chain);
        chain = VY_NONE;
        vy_emit_jump(c, VY_OPCODE_ELSE, slot, &chain);
    }
    uint32_t r = vy_emit_value(c, e);
    vy_emit_patch(c, chain);
    chain = VY_NONE;
    vy_emit_jump(c, VY_OPCODE_ENDIF, slot, &chain);
    vy_emit_patch(c, chain);
    c->slots--;
    return r;
}

static uint32_t emit_op(vy_oracle_compiler *c, uint32_t e, uint32_t into, int masked) {
    const vy_expr *expr = &c->program->exprs.items[e];
    const uint32_t operands[3] = {expr->a, expr->b, expr->c};
    unsigned arity = vyre_op_get((vyre_op)expr->op)->arity;
    uint32_t r[3] = {0, 0, 0};
    for (unsigned i = 0; i < arity && i < 3; i++) {
        if (i > 0 && vy_op_has_arms(expr->op))
            r[i] = emit_arm(c, operands[i], r[0], expr->op == VYRE_OP_SELECT ? i == 1 : expr->op == VYRE_OP_LAND);
        else
            r[i] = vy_emit_value(c, operands[i]);
    }
    for (unsigned i = 0; i < arity && i < 3; i++)
        vy_value_free(c, operands[i], r[i]);
    uint32_t result = into != VY_NONE ? into : vy_register_new(c, expr->type);
    if (vy_op_is_approximate((vyre_op)expr->op))
        r[2] = vy_register_garbage(c);
    vy_instruction *op = vy_emit(c, masked ? VY_OPCODE_OP_MASKED : VY_OPCODE_OP);
    op->r = result;
    op->a = r[0];
    op->b = r[1];
    op->c = r[2];
    /* For select the operand type is that of the arms. */
    uint32_t typed = expr->op == VYRE_OP_SELECT ? expr->b : expr->a;
    op->kernel = kernel_of(c, (vyre_op)expr->op, (vyre_type)expr->type, (vyre_type)c->program->exprs.items[typed].type);
    c->failed |= !op->kernel && !c->refused;
    return result;
}

uint32_t vy_emit_expr(vy_oracle_compiler *c, uint32_t e, uint32_t into, int masked) {
    const vy_expr *expr = &c->program->exprs.items[e];
    uint32_t r = VY_NONE;
    switch ((vy_expr_kind)expr->kind) {
    case VY_EXPR_LITERAL:
        r = vy_register_literal(c, expr->bits);
        break;
    case VY_EXPR_VARIABLE:
        r = vy_register_variable(c, expr->a);
        break;
    case VY_EXPR_LEN:
        r = vy_register_len(c, expr->a);
        break;
    case VY_EXPR_ALIGN_OFFSET:
        r = vy_register_misalignment(c, expr->a);
        break;
    case VY_EXPR_BUILTIN:
        r = vy_register_builtin(c, expr->op, expr->axis);
        break;
    case VY_EXPR_LOAD:
        if (!masked)
            return emit_load(c, e, into);
        r = emit_load(c, e, VY_NONE);
        break;
    default:
        return emit_op(c, e, into, masked);
    }
    if (r == VY_NONE) {
        r = masked || into == VY_NONE ? vy_register_new(c, expr->type) : into;
        vy_instruction *fill = vy_emit(c, VY_OPCODE_FILL);
        fill->r = r;
        fill->value = expr->kind == VY_EXPR_LITERAL ? expr->bits
                      : expr->kind == VY_EXPR_ALIGN_OFFSET
                          ? 0
                          : c->oracle->memories.items[expr->a - c->entry->first_memory].elements;
    }
    if (into == VY_NONE || r == into)
        return r;
    vy_instruction *move = vy_emit(c, masked ? VY_OPCODE_MOVE_MASKED : VY_OPCODE_MOVE);
    move->r = into;
    move->a = r;
    vy_value_free(c, e, r);
    return into;
}
