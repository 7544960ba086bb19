/* Calls of ops whose code for C replaces their body (dialect/lowering_code.h): the code, one expression, becomes the
 * result of a function of the file. */
#include "emit/c/emitter.h"

#include "dialect/lowering_code.h"

#include <inttypes.h>
#include <stdio.h>

/* The parameters and the body of the function. Parameters that the code does not use are mentioned, since compilers
 * warn of them. */
static void put_code(vy_c *c, const vy_lowered_op *lowered, vy_string *params, vy_string *text) {
    const vyre_op_definition *op = lowered->op;
    vy_lowering_part part;
    uint32_t used = 0;
    for (size_t at = 0; vy_lowering_next(op, lowered->lowering, &at, &part);)
        used |= part.operand < op->input_count ? 1u << part.operand : 0;
    vy_string_format(text, "/* %s */\n", op->id);
    for (uint32_t k = 0; k < op->input_count; k++) {
        vy_string_format(params, "%s%s a%" PRIu32, k ? ", " : "", vy_c_type(c, (uint8_t)op->inputs[k].type), k);
        if (!(used >> k & 1))
            vy_string_format(text, "(void)a%" PRIu32 ";\n", k);
    }
    if (op->input_count == 0)
        vy_string_add(params, "void");
    vy_string_format(text, "return (%s)(", vy_c_type(c, (uint8_t)op->outputs[0].type));
    for (size_t at = 0; vy_lowering_next(op, lowered->lowering, &at, &part);)
        if (part.operand == UINT32_MAX)
            vy_string_append(text, part.text, part.length);
        else
            vy_string_format(text, "a%" PRIu32, part.operand);
    vy_string_add(text, ");");
    if (params->failed || text->failed)
        vy_c_refuse_memory(c);
}

/* "op2_words_rotate": the number keeps the names of two ops apart. */
static vy_c_name define(vy_c *c, const vy_lowered_op *lowered) {
    const uint8_t type = (uint8_t)lowered->op->outputs[0].type;
    char kind[48];
    vy_string params = {0}, text = {0};
    vy_c_name name = {""};
    put_code(c, lowered, &params, &text);
    snprintf(kind, sizeof kind, "op%d_%.32s", (int)(lowered - c->program->keepalive->lowered) + 1, lowered->op->id);
    for (char *at = kind; *at; at++)
        *at = *at == '.' || *at == ':' || *at == '-' ? '_' : *at;
    if (c->status == VYRE_OK)
        name = vy_c_define(c, kind, params.text, text.text, type, type);
    vy_string_free(&params);
    vy_string_free(&text);
    return name;
}

void vy_c_lowered_op(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    const vy_lowered_op *lowered = vy_lowered_op_of(c->program, s);
    vy_string arguments = {0}, *const out = c->out;
    if (!lowered) {
        vy_c_refuse(c, "calls");
        return;
    }
    if (!s->result_count)
        return; /* code has no other effect */
    const vy_c_name name = define(c, lowered);
    c->out = &arguments;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_string_add(&arguments, i ? ", " : "");
        vy_c_expr(c, c->program->args.items[s->args + i].index, VY_C_ANY);
    }
    c->out = out;
    if (arguments.failed)
        vy_c_refuse_memory(c);
    else
        vy_c_line(c, stmt, "%l%s(%s);", s->variable, name.text, s->arg_count ? arguments.text : "");
    vy_string_free(&arguments);
}
