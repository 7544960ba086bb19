/* Consts: computed from top to bottom with the one evaluator, then gone; and the -D options that override them. */
#include "ir/text/lower.h"

/* The value of a tree that vy_lower_type accepted under VY_EFFECT_BAN_CONST. Recursion is bounded by the parser. */
static uint64_t fold(const vy_ast_node *node) {
    if (node->is_literal)
        return node->bits;
    switch (node->kind) {
    case VY_AST_CAST:
        return node->axis ? fold(node->a)
                          : vyre_op_evaluate(VYRE_OP_CAST, node->type, node->a->type, fold(node->a), 0, 0);
    case VY_AST_BITCAST:
        return vyre_op_evaluate(VYRE_OP_BITCAST, node->type, node->a->type, fold(node->a), 0, 0);
    case VY_AST_OP: {
        /* The table is asked with the type T of the operands; of a select that is the type of the arms. */
        uint8_t operand = node->op == VYRE_OP_SELECT ? node->b->type : node->a->type;
        return vyre_op_evaluate(node->op, node->type, operand, fold(node->a), node->b ? fold(node->b) : 0,
                                node->c ? fold(node->c) : 0);
    }
    default:
        return 0;
    }
}

/* ---- -D ---- */

/* The value of a define as a tree: one literal and nothing else. NULL with the reason in *why. */
static vy_ast_node *parse_define(vy_lowering *l, const char *text, vy_diag_sink *scratch) {
    vy_parser parser;
    size_t size = strlen(text);
    if (size > VY_NUMBER_LIMIT)
        return NULL;
    vy_parser_run(&parser, "", 0, l->parser->arena, scratch);
    vy_parser_free(&parser);
    vy_lexer_start(&parser.lexer, text, (uint32_t)size, scratch);
    vy_parse_advance(&parser);
    vy_ast_node *node = parser.token.kind == VY_TOKEN_END ? NULL : vy_parse_expression(&parser);
    int is_literal =
        node && (node->kind == VY_AST_NUMBER || node->kind == VY_AST_BITS) && parser.token.kind == VY_TOKEN_END;
    vy_parser_free(&parser);
    l->report->out_of_memory |= scratch->out_of_memory;
    return is_literal && vy_diag_sink_is_clean(scratch) ? node : NULL;
}

static void define_value(vy_lowering *l, vy_ast_const *constant) {
    const char *name = vy_lower_text(l, constant->name), *type = vyre_type_name(constant->type);
    vy_position nowhere = {0, 0, 0};
    vy_diag_sink scratch = {0};
    vy_ast_node *node = parse_define(l, constant->define, &scratch);
    if (l->report->out_of_memory)
        return;
    if (!node) {
        vy_lower_error(l, VY_T050, nowhere, VY_FIX("write -D %.60s=VALUE with a literal of type %s", name, type),
                       "-D %s=%.60s: the value is not a literal", name, constant->define);
        return;
    }
    uint8_t given = node->kind == VY_AST_BITS ? node->type_name : node->number->type;
    uint64_t bits = node->kind == VY_AST_BITS ? node->value : 0;
    int fits = given == VYRE_TYPE_COUNT ? constant->type != VYRE_TYPE_BOOL : given == constant->type;
    if (fits && node->kind == VY_AST_NUMBER)
        fits = vy_number_bits(&scratch, node->number, node->negative, constant->type, nowhere, &bits);
    if (fits)
        constant->bits = bits;
    else if (scratch.errors)
        vy_lower_error(l, VY_T050, nowhere, scratch.first.fix, "-D %s=%.60s: %s", name, constant->define,
                       scratch.first.message + sizeof "T000"); /* without the code in front */
    else
        vy_lower_error(l, VY_T050, nowhere, VY_FIX("write -D %.60s=VALUE with a literal of type %s", name, type),
                       "-D %s=%.60s: the const is %s, the value is %s", name, constant->define, type,
                       given < VYRE_TYPE_COUNT ? vyre_type_name(given) : "a number");
}

static void attach_defines(vy_lowering *l, const vyre_define *defines, size_t count) {
    vy_position nowhere = {0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const char *given = defines[i].name ? defines[i].name : "";
        vy_symbol name = vy_intern_pool_find(&l->parser->lexer.names, given, strlen(given));
        vy_global *global = name == VY_SYMBOL_INVALID ? NULL : vy_lower_global(l, name);
        if (global && global->constant) {
            global->constant->define = defines[i].value ? defines[i].value : "";
            continue;
        }
        vy_suggestion suggestion;
        vy_suggestion_start(&suggestion, given, strlen(given));
        for (const vy_ast_const *c = l->parser->file.consts; c; c = c->next)
            vy_suggestion_offer(&suggestion, vy_lower_text(l, c->name));
        const char *best = vy_suggestion_get(&suggestion);
        vy_lower_error(l, VY_T049, nowhere,
                       best                     ? VY_FIX("did you mean `-D %s=…`?", best)
                       : l->parser->file.consts ? NULL
                                                : "leave -D out: the file declares no const",
                       "-D %.100s: the file has no const of that name", given);
    }
}

/* ---- the consts of the file ---- */

static void evaluate(vy_lowering *l, vy_ast_const *constant) {
    uint8_t type = constant->type;
    if (type < VYRE_TYPE_COUNT)
        type =
            vy_lower_expect(l, constant->value, type, "const", vy_lower_text(l, constant->name)) ? type : VY_TYPE_BAD;
    else if (type != VY_TYPE_BAD)
        type = vy_lower_initializer(l, constant->value, "const", constant->name);
    constant->type = type;
    constant->is_known = 1;
    if (type == VY_TYPE_BAD)
        return;
    constant->bits = fold(constant->value);
    if (constant->define)
        define_value(l, constant);
}

void vy_lower_consts(vy_lowering *l, const vyre_define *defines, size_t count) {
    attach_defines(l, defines, count);
    l->effect_ban = VY_EFFECT_BAN_CONST;
    for (vy_ast_const *constant = l->parser->file.consts; constant; constant = constant->next)
        evaluate(l, constant);
    l->effect_ban = VY_EFFECT_BAN_NONE;
}
