/* Calls of ops whose code for ptx replaces their body (dialect/lowering_code.h): the code is written as a PTX block, so
 * that registers which it declares are local to it.
 *
 * Inputs are passed in registers and outputs get new ones. The code cannot write to its inputs, jump or access memory,
 * so the block is like one instruction to the code around it. Nothing is known of its results: they are marked as
 * values that ptxas may mistake (ptxas_errata.c), and vy_ptx_scan_errata enables every workaround for such a
 * program. */
#include "emit/ptx/emitter.h"

#include "dialect/lowering_code.h"

/* Appends a text of any length, with its line breaks. */
static char *put(vy_ptx *e, char *at, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        *at++ = text[i];
        if (at - e->at >= VY_PTX_LINE) {
            e->at = at;
            at = vy_ptx_room(e);
        }
    }
    return at;
}

static char *put_value(vy_ptx *e, char *at, vy_ptx_value value) {
    char name[VY_PTX_NAME] = "";
    char *end = vy_ptx_put(name, value);
    return put(e, at, name, (size_t)(end - name));
}

static void write_block(vy_ptx *e, const vy_lowered_op *lowered, const vy_ptx_value *operands) {
    const char *text = lowered->lowering->data;
    vy_lowering_part part;
    e->at = vy_write_text(vy_ptx_room(e), "\t// ");
    char *at = put(e, vy_ptx_room(e), lowered->op->id, strlen(lowered->op->id));
    at = put(e, at, "\n\t{\n\t", 5);
    for (size_t i = 0; vy_lowering_next(lowered->op, lowered->lowering, &i, &part);)
        at = part.operand == UINT32_MAX ? put(e, at, part.text, part.length) : put_value(e, at, operands[part.operand]);
    int ends_line = lowered->lowering->size && text[lowered->lowering->size - 1] == '\n';
    e->at = put(e, at, ends_line ? "\t}\n" : "\n\t}\n", ends_line ? 3 : 4);
}

void vy_ptx_lowered_op(vy_ptx *e, const vy_stmt *s) {
    const vy_lowered_op *lowered = vy_lowered_op_of(e->program, s);
    vy_ptx_value operands[VY_LOWERING_LIMIT_OPERANDS];
    uint32_t version, architecture;
    if (!lowered) {
        vy_ptx_refuse(e, "a call");
        return;
    }
    if (!s->result_count)
        return; /* code has no other effect */
    vy_lowering_ptx_needs(lowered->lowering, &version, &architecture);
    vy_ptx_need(e, version, architecture);
    for (uint32_t i = 0; i < s->arg_count; i++)
        operands[i] = vy_ptx_in_register(e, vy_ptx_expr(e, e->program->args.items[s->args + i].index));
    for (uint32_t i = 0; i < s->result_count; i++) {
        const vyre_type type = lowered->op->outputs[i].type;
        vy_ptx_value d = vy_ptx_new(e, type);
        d.maybe_negated = 1;
        d.maybe_bool = !vy_ptx_is_float(type) && type != VYRE_TYPE_BOOL;
        operands[s->arg_count + i] = d;
    }
    write_block(e, lowered, operands);
    for (uint32_t i = 0; i < s->result_count; i++)
        vy_ptx_declare(e, s->variable + i, operands[s->arg_count + i]);
}
