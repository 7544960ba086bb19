/* Printing expressions, sizes and strings.
 *
 * What must stay true: reading the text back gives the same tree. So a negative literal and the negation of a literal
 * look different (`-5i32`, `-(5i32)`), parentheses stand exactly where precedence would make another tree, and a
 * literal leaves out its type only where the parser finds it again: each rule here has its counterpart in
 * lower_type.c. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
#include "base/string.h"
#include "ir/number.h"
#include "ir/text/print.h"

#include <inttypes.h>

static const vy_expr *expr_at(const vy_printer *printer, uint32_t root) {
    return &printer->program->exprs.items[root];
}

unsigned vy_print_anchor(const vy_printer *printer, const uint32_t roots[3]) {
    for (unsigned i = 0; i < 3; i++)
        if (roots[i] != VY_NONE && expr_at(printer, roots[i])->kind != VY_EXPR_LITERAL)
            return i;
    return 0;
}

static void print_memory(vy_printer *printer, uint32_t memory) {
    vy_string_add(&printer->out, vy_symbol_name(printer->program, printer->program->memories.items[memory].name));
}

static void print_call(vy_printer *printer, const vy_expr *expr, const char *name, int is_typed) {
    const uint32_t operands[3] = {expr->a, expr->b, expr->c};
    unsigned anchor = vy_print_anchor(printer, operands);
    vy_string_format(&printer->out, "%s(", name);
    for (unsigned i = 0; i < 3 && operands[i] != VY_NONE; i++) {
        vy_string_add(&printer->out, i ? ", " : "");
        vy_print_expr(printer, operands[i], is_typed || i != anchor, VYRE_PRECEDENCE_SELECT);
    }
    vy_string_char(&printer->out, ')');
}

static void print_unary(vy_printer *printer, const vy_expr *expr, int is_typed) {
    const vy_expr *operand = expr_at(printer, expr->a);
    vy_string_add(&printer->out, vyre_op_get(expr->op)->symbol);
    /* A minus before a number would be part of it, and two in a row are hard to read. */
    int guard = expr->op == VYRE_OP_NEG &&
                (operand->kind == VY_EXPR_LITERAL || (operand->kind == VY_EXPR_OP && operand->op == VYRE_OP_NEG));
    if (guard)
        vy_string_char(&printer->out, '(');
    vy_print_expr(printer, expr->a, is_typed, guard ? VYRE_PRECEDENCE_SELECT : VYRE_PRECEDENCE_UNARY);
    if (guard)
        vy_string_char(&printer->out, ')');
}

static void print_infix(vy_printer *printer, const vy_expr *expr, int is_typed) {
    const vyre_op_info *row = vyre_op_get(expr->op);
    const uint32_t operands[3] = {expr->a, expr->b, VY_NONE};
    unsigned anchor = vy_print_anchor(printer, operands);
    unsigned left = row->precedence == VYRE_PRECEDENCE_COMPARE ? row->precedence + 1u : row->precedence;
    vy_print_expr(printer, expr->a, is_typed || anchor != 0, left);
    vy_string_format(&printer->out, " %s ", row->symbol);
    vy_print_expr(printer, expr->b, is_typed || anchor != 1, row->precedence + 1u);
}

static void print_select(vy_printer *printer, const vy_expr *expr, int is_typed) {
    const uint32_t arms[3] = {expr->b, expr->c, VY_NONE};
    unsigned anchor = vy_print_anchor(printer, arms);
    vy_print_expr(printer, expr->a, 0, VYRE_PRECEDENCE_SELECT + 1);
    vy_string_add(&printer->out, " ? ");
    vy_print_expr(printer, expr->b, is_typed || anchor != 0, VYRE_PRECEDENCE_SELECT);
    vy_string_add(&printer->out, " : ");
    vy_print_expr(printer, expr->c, is_typed || anchor != 1, VYRE_PRECEDENCE_SELECT);
}

static void print_op(vy_printer *printer, const vy_expr *expr, int is_typed, unsigned min_precedence) {
    const vyre_op_info *row = vyre_op_get(expr->op);
    /* The type of a comparison or test says nothing about its operands. */
    is_typed = is_typed && (row->rule == VYRE_RULE_SAME || row->rule == VYRE_RULE_SELECT);
    if (row->rule == VYRE_RULE_CAST || row->rule == VYRE_RULE_BITCAST) {
        vy_string_format(&printer->out, row->rule == VYRE_RULE_CAST ? "%s(" : "bitcast<%s>(",
                         vyre_type_name(expr->type));
        vy_print_expr(printer, expr->a, 0, VYRE_PRECEDENCE_SELECT);
        vy_string_char(&printer->out, ')');
        return;
    }
    if (!row->symbol) {
        print_call(printer, expr, row->name, is_typed);
        return;
    }
    int guard = row->precedence < min_precedence;
    if (guard)
        vy_string_char(&printer->out, '(');
    if (row->arity == 1)
        print_unary(printer, expr, is_typed);
    else if (row->arity == 2)
        print_infix(printer, expr, is_typed);
    else
        print_select(printer, expr, is_typed);
    if (guard)
        vy_string_char(&printer->out, ')');
}

void vy_print_expr(vy_printer *printer, uint32_t root, int is_typed, unsigned min_precedence) {
    const vyre_program *program = printer->program;
    const vy_expr *expr = expr_at(printer, root);
    switch (expr->kind) {
    case VY_EXPR_LITERAL:
        vy_number_print(&printer->out, expr->type, expr->bits, !is_typed);
        break;
    case VY_EXPR_VARIABLE:
        vy_string_add(&printer->out, vy_symbol_name(program, program->variables.items[expr->a].name));
        break;
    case VY_EXPR_LOAD:
        print_memory(printer, expr->a);
        vy_string_add(&printer->out, expr->op == VY_BOUNDS_UNCHECKED ? "![" : "[");
        vy_print_expr(printer, expr->b, expr_at(printer, expr->b)->type == VYRE_TYPE_U32, VYRE_PRECEDENCE_SELECT);
        if (expr->c != VY_NONE) {
            vy_string_add(&printer->out, " if ");
            vy_print_expr(printer, expr->c, 1, VYRE_PRECEDENCE_SELECT);
        }
        vy_string_char(&printer->out, ']');
        break;
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        vy_string_add(&printer->out, expr->kind == VY_EXPR_LEN ? "len(" : "misalignment(");
        print_memory(printer, expr->a);
        vy_string_char(&printer->out, ')');
        break;
    case VY_EXPR_BUILTIN:
        vy_string_add(&printer->out, vyre_builtin_name(expr->op));
        if (expr->op != VYRE_BUILTIN_LOCAL_INDEX)
            vy_string_format(&printer->out, ".%c", "xyz"[expr->axis]);
        break;
    default:
        print_op(printer, expr, is_typed, min_precedence);
        break;
    }
}

/* ---- sizes ---- */

static const struct {
    const char *text; /* infix symbol, or the name of a call */
    uint8_t precedence;
} size_rows[VY_SIZE_KIND_COUNT] = {
    [VY_SIZE_ADD] = {"+", VYRE_PRECEDENCE_ADD},    [VY_SIZE_SUB] = {"-", VYRE_PRECEDENCE_ADD},
    [VY_SIZE_MUL] = {"*", VYRE_PRECEDENCE_MUL},    [VY_SIZE_DIV] = {"/", VYRE_PRECEDENCE_MUL},
    [VY_SIZE_REM] = {"%", VYRE_PRECEDENCE_MUL},    [VY_SIZE_MIN] = {"min", VYRE_PRECEDENCE_CALL},
    [VY_SIZE_MAX] = {"max", VYRE_PRECEDENCE_CALL}, [VY_SIZE_DIV_CEIL] = {"div_ceil", VYRE_PRECEDENCE_CALL},
};

static void print_size_node(vy_printer *printer, const vy_size *size, unsigned min_precedence) {
    const char *text = size_rows[size->kind].text;
    unsigned precedence = size_rows[size->kind].precedence;
    int is_call = precedence == VYRE_PRECEDENCE_CALL, guard = !is_call && precedence < min_precedence;
    vy_string_format(&printer->out, "%s%s", is_call ? text : "", is_call || guard ? "(" : "");
    vy_print_size(printer, size->a, is_call ? VYRE_PRECEDENCE_SELECT : precedence);
    vy_string_format(&printer->out, is_call ? ", " : " %s ", text);
    vy_print_size(printer, size->b, is_call ? VYRE_PRECEDENCE_SELECT : precedence + 1);
    vy_string_add(&printer->out, is_call || guard ? ")" : "");
}

void vy_print_size(vy_printer *printer, uint32_t root, unsigned min_precedence) {
    const vyre_program *program = printer->program;
    const vy_size *size = &program->sizes.items[root];
    switch (size->kind) {
    case VY_SIZE_LITERAL:
        vy_string_format(&printer->out, "%" PRIu64, size->value);
        break;
    case VY_SIZE_PARAM:
        vy_string_add(&printer->out, vy_symbol_name(program, program->variables.items[size->a].name));
        break;
    case VY_SIZE_LEN:
        vy_string_add(&printer->out, "len(");
        print_memory(printer, size->a);
        vy_string_char(&printer->out, ')');
        break;
    default:
        print_size_node(printer, size, min_precedence);
        break;
    }
}

/* ---- strings ---- */

void vy_print_string(vy_printer *printer, const char *text) {
    static const char letters[256] = {['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
    size_t left = strlen(text);
    vy_string_char(&printer->out, '"');
    while (left) {
        /* Bytes that are no UTF-8 are escaped, so that the text stays UTF-8. */
        size_t valid = vy_utf8_valid(text, left), take = valid ? valid : 1;
        for (size_t i = 0; i < take; i++) {
            unsigned char byte = (unsigned char)text[i];
            if (letters[byte])
                vy_string_format(&printer->out, "\\%c", letters[byte]);
            else if (!valid || byte < 0x20 || byte == 0x7f)
                vy_string_format(&printer->out, "\\x%02x", byte);
            else
                vy_string_char(&printer->out, (char)byte);
        }
        text += take;
        left -= take;
    }
    vy_string_char(&printer->out, '"');
}
