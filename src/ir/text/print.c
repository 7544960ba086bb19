/* Printer of the text form: a program in canonical form, two spaces per level, one statement per line, declarations in
 * the order of the model.
 *
 * Invariant: parsing the output yields the same program. So a negative literal and the negation of a literal differ
 * (`-5i32`, `-(5i32)`), parentheses appear exactly where precedence would yield another tree, and a literal omits its
 * type only where lowering assigns the same one: each rule here has its counterpart in lower_expr.c. Recursion is
 * bounded by VY_LIMIT_EXPRESSION_DEPTH. */
#include "base/intern.h"
#include "base/status.h"
#include "base/string.h"
#include "ir/eval.h"
#include "ir/identifiers.h"
#include "ir/model.h"
#include "ir/number.h"
#include "ir/op_tables.h"
#include "vyre/text.h"

#include <inttypes.h>

typedef struct text_printer {
    const vyre_program *program;
    vy_string out;
    unsigned indent;
} text_printer;

/* Prints an expression, in parentheses if it binds more weakly than `min_precedence`. is_typed: the context determines
 * the type, so literals may omit their suffix; the parser assigns the same type when it reads the text. */
static void print_expr(text_printer *printer, uint32_t root, int is_typed, unsigned min_precedence);
static void print_size(text_printer *printer, uint32_t root, unsigned min_precedence);

static const vy_expr *expr_at(const text_printer *printer, uint32_t root) {
    return &printer->program->exprs.items[root];
}

/* The first of several expressions of one type, as in `a .. b step c`, that has a type without a suffix; the others
 * get theirs from it. Absent expressions are VY_NONE. */
static unsigned find_anchor(const text_printer *printer, const uint32_t roots[3]) {
    for (unsigned i = 0; i < 3; i++)
        if (roots[i] != VY_NONE && expr_at(printer, roots[i])->kind != VY_EXPR_LITERAL)
            return i;
    return 0;
}

static void print_memory(text_printer *printer, uint32_t memory) {
    vy_string_add(&printer->out, vy_symbol_name(printer->program, printer->program->memories.items[memory].name));
}

static void print_op_call(text_printer *printer, const vy_expr *expr, const char *name, int is_typed) {
    const uint32_t operands[3] = {expr->a, expr->b, expr->c};
    unsigned anchor = find_anchor(printer, operands);
    vy_string_format(&printer->out, "%s(", name);
    for (unsigned i = 0; i < 3 && operands[i] != VY_NONE; i++) {
        vy_string_add(&printer->out, i ? ", " : "");
        print_expr(printer, operands[i], is_typed || i != anchor, VYRE_PRECEDENCE_SELECT);
    }
    vy_string_char(&printer->out, ')');
}

static void print_unary(text_printer *printer, const vy_expr *expr, int is_typed) {
    const vy_expr *operand = expr_at(printer, expr->a);
    vy_string_add(&printer->out, vyre_op_get(expr->op)->symbol);
    /* A minus before a number would be part of the literal, and `--` is hard to read. */
    int guard = expr->op == VYRE_OP_NEG &&
                (operand->kind == VY_EXPR_LITERAL || (operand->kind == VY_EXPR_OP && operand->op == VYRE_OP_NEG));
    if (guard)
        vy_string_char(&printer->out, '(');
    print_expr(printer, expr->a, is_typed, guard ? VYRE_PRECEDENCE_SELECT : VYRE_PRECEDENCE_UNARY);
    if (guard)
        vy_string_char(&printer->out, ')');
}

static void print_infix(text_printer *printer, const vy_expr *expr, int is_typed) {
    const vyre_op_info *row = vyre_op_get(expr->op);
    const uint32_t operands[3] = {expr->a, expr->b, VY_NONE};
    unsigned anchor = find_anchor(printer, operands);
    unsigned left = row->precedence == VYRE_PRECEDENCE_COMPARE ? row->precedence + 1u : row->precedence;
    print_expr(printer, expr->a, is_typed || anchor != 0, left);
    vy_string_format(&printer->out, " %s ", row->symbol);
    print_expr(printer, expr->b, is_typed || anchor != 1, row->precedence + 1u);
}

static void print_select(text_printer *printer, const vy_expr *expr, int is_typed) {
    const uint32_t arms[3] = {expr->b, expr->c, VY_NONE};
    unsigned anchor = find_anchor(printer, arms);
    print_expr(printer, expr->a, 0, VYRE_PRECEDENCE_SELECT + 1);
    vy_string_add(&printer->out, " ? ");
    print_expr(printer, expr->b, is_typed || anchor != 0, VYRE_PRECEDENCE_SELECT);
    vy_string_add(&printer->out, " : ");
    print_expr(printer, expr->c, is_typed || anchor != 1, VYRE_PRECEDENCE_SELECT);
}

static void print_op(text_printer *printer, const vy_expr *expr, int is_typed, unsigned min_precedence) {
    const vyre_op_info *row = vyre_op_get(expr->op);
    /* The type of a comparison or test does not determine the type of its operands. */
    is_typed = is_typed && (row->rule == VYRE_RULE_SAME || row->rule == VYRE_RULE_SELECT);
    if (row->rule == VYRE_RULE_CAST || row->rule == VYRE_RULE_BITCAST) {
        vy_string_format(&printer->out, row->rule == VYRE_RULE_CAST ? "%s(" : "bitcast<%s>(",
                         vyre_type_name(expr->type));
        print_expr(printer, expr->a, 0, VYRE_PRECEDENCE_SELECT);
        vy_string_char(&printer->out, ')');
        return;
    }
    if (!row->symbol) {
        print_op_call(printer, expr, row->name, is_typed);
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

static void print_expr(text_printer *printer, uint32_t root, int is_typed, unsigned min_precedence) {
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
        print_expr(printer, expr->b, expr_at(printer, expr->b)->type == VYRE_TYPE_U32, VYRE_PRECEDENCE_SELECT);
        if (expr->c != VY_NONE) {
            vy_string_add(&printer->out, " if ");
            print_expr(printer, expr->c, 1, VYRE_PRECEDENCE_SELECT);
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

static void print_size_node(text_printer *printer, const vy_size *size, unsigned min_precedence) {
    const char *text = size_rows[size->kind].text;
    unsigned precedence = size_rows[size->kind].precedence;
    int is_call = precedence == VYRE_PRECEDENCE_CALL, guard = !is_call && precedence < min_precedence;
    vy_string_format(&printer->out, "%s%s", is_call ? text : "", is_call || guard ? "(" : "");
    print_size(printer, size->a, is_call ? VYRE_PRECEDENCE_SELECT : precedence);
    vy_string_format(&printer->out, is_call ? ", " : " %s ", text);
    print_size(printer, size->b, is_call ? VYRE_PRECEDENCE_SELECT : precedence + 1);
    vy_string_add(&printer->out, is_call || guard ? ")" : "");
}

static void print_size(text_printer *printer, uint32_t root, unsigned min_precedence) {
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

static void print_string(text_printer *printer, const char *text) {
    static const char letters[256] = {['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
    size_t left = strlen(text);
    vy_string_char(&printer->out, '"');
    while (left) {
        /* Bytes that are not UTF-8 are escaped, so that the output is UTF-8. */
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

/* ---- statements and declarations ---- */

static const char *const space_names[VY_SPACE_COUNT] = {"buffer", "workgroup", "private", "constant"};

static void add(text_printer *p, const char *text) {
    vy_string_add(&p->out, text);
}
static void add_name(text_printer *p, vy_symbol name) {
    add(p, vy_symbol_name(p->program, name));
}

/* Of a function or an op. */
static void add_callee(text_printer *p, vy_symbol name) {
    char storage[VY_CALL_SPELLING_CAPACITY];
    add(p, vy_call_spelling(vy_symbol_name(p->program, name), storage));
}

static void start_line(text_printer *p) {
    for (unsigned i = 0; i < p->indent; i++)
        add(p, "  ");
}

static void add_value(text_printer *p, uint32_t root, int is_typed) {
    print_expr(p, root, is_typed, VYRE_PRECEDENCE_SELECT);
}

static const vy_variable *variable_at(const text_printer *p, uint32_t index) {
    return &p->program->variables.items[index];
}
static const vy_memory *memory_at(const text_printer *p, uint32_t index) {
    return &p->program->memories.items[index];
}
static int is_u32(const text_printer *p, uint32_t root) {
    return p->program->exprs.items[root].type == VYRE_TYPE_U32;
}

static void add_element(text_printer *p, const vy_stmt *stmt) {
    add_name(p, memory_at(p, stmt->memory)->name);
    add(p, stmt->bounds_check == VY_BOUNDS_UNCHECKED ? "![" : "[");
    add_value(p, stmt->a, is_u32(p, stmt->a));
    add(p, "]");
}

/* ---- statements that bind results ---- */

/* `let x = `, `let (x, y) = `, or nothing; with types where the parser cannot infer them. */
static void add_results(text_printer *p, const vy_stmt *stmt, int with_types) {
    if (stmt->result_count == 0)
        return;
    int grouped = stmt->result_count > 1;
    add(p, grouped ? "let (" : "let ");
    for (uint32_t i = 0; i < stmt->result_count; i++) {
        const vy_variable *variable = variable_at(p, stmt->variable + i);
        add(p, i ? ", " : "");
        add_name(p, variable->name);
        if (with_types)
            vy_string_format(&p->out, grouped ? ": %s" : " : %s", vyre_type_name(variable->type));
    }
    add(p, grouped ? ") = " : " = ");
}

static void print_atomic(text_printer *p, const vy_stmt *stmt) {
    int usual_scope = memory_at(p, stmt->memory)->space == VY_SPACE_BUFFER ? VYRE_SCOPE_DEVICE : VYRE_SCOPE_WORKGROUP;
    int order = stmt->order != VYRE_ORDER_RELAXED, scope = stmt->scope != usual_scope;
    add_results(p, stmt, 0);
    add(p, vyre_atomic_name(stmt->op));
    if (order || scope)
        vy_string_format(&p->out, "<%s%s%s>", order ? vyre_order_name(stmt->order) : "", order && scope ? ", " : "",
                         !scope                             ? ""
                         : stmt->scope == VYRE_SCOPE_DEVICE ? "device"
                                                            : "workgroup");
    add(p, "(");
    add_element(p, stmt);
    for (int i = 0; i < 2; i++) {
        uint32_t operand = i ? stmt->c : stmt->b;
        if (operand == VY_NONE)
            continue;
        add(p, ", ");
        add_value(p, operand, 1);
    }
    add(p, ")");
}

static void print_collective(text_printer *p, const vy_stmt *stmt) {
    char name[VY_KEYWORD_CAPACITY];
    vy_keyword_collective(stmt->op, stmt->combine, stmt->width != 0, name);
    add_results(p, stmt, 0);
    add(p, name);
    if (stmt->width)
        vy_string_format(&p->out, "<%u>", stmt->width);
    add(p, "(");
    add_value(p, stmt->a, 0);
    if (stmt->b != VY_NONE) {
        add(p, ", ");
        add_value(p, stmt->b, 1);
    }
    add(p, ")");
}

static void add_arguments(text_printer *p, const vy_stmt *stmt, int is_typed) {
    for (uint32_t i = 0; i < stmt->arg_count; i++) {
        const vy_arg *arg = &p->program->args.items[stmt->args + i];
        add(p, i ? ", " : "");
        if (arg->is_memory)
            add_name(p, memory_at(p, arg->index)->name);
        else
            add_value(p, arg->index, is_typed);
    }
}

static void print_call_stmt(text_printer *p, const vy_stmt *stmt) {
    int is_local = stmt->callee != VY_NONE;
    add_results(p, stmt, !is_local);
    add_callee(p, is_local ? p->program->functions.items[stmt->callee].name : stmt->name);
    add(p, "(");
    add_arguments(p, stmt, is_local);
    add(p, ")");
}

/* ---- statements of level legal ---- */

static void print_load_wide(text_printer *p, const vy_stmt *stmt) {
    add_results(p, stmt, 0);
    vy_string_format(&p->out, "load_wide(%s, ", vy_symbol_name(p->program, memory_at(p, stmt->memory)->name));
    add_value(p, stmt->a, 1);
    add(p, ")");
}

static void print_store_wide(text_printer *p, const vy_stmt *stmt) {
    vy_string_format(&p->out, "store_wide(%s, ", vy_symbol_name(p->program, memory_at(p, stmt->memory)->name));
    add_value(p, stmt->a, 1);
    add(p, ", ");
    add_arguments(p, stmt, 1);
    add(p, ")");
}

/* An operator is printed in the call form `report(…)`: after the bare word, an expression that begins with `(` would
 * be parsed as a call. */
static void print_report(text_printer *p, const vy_stmt *stmt) {
    const vy_expr *code = &p->program->exprs.items[stmt->a];
    int is_bare = code->kind != VY_EXPR_OP || !vyre_op_get(code->op)->symbol;
    add(p, is_bare ? "report " : "report(");
    add_value(p, stmt->a, 1);
    add(p, is_bare ? "" : ")");
}

/* ---- statements ---- */

static void print_block(text_printer *p, uint32_t first, uint32_t end);

static void add_block(text_printer *p, uint32_t first, uint32_t end) {
    add(p, "{\n");
    p->indent++;
    print_block(p, first, end);
    p->indent--;
    start_line(p);
    add(p, "}");
}

static void print_if(text_printer *p, uint32_t index) {
    const vy_stmt *stmts = p->program->stmts.items;
    for (;;) {
        const vy_stmt *stmt = &stmts[index];
        add(p, "if ");
        add_value(p, stmt->a, 1);
        add(p, " ");
        add_block(p, index + 1, stmt->middle);
        if (stmt->middle == stmt->end)
            return;
        add(p, " else ");
        if (stmts[stmt->middle].kind != VY_STMT_IF || stmts[stmt->middle].end != stmt->end) {
            add_block(p, stmt->middle, stmt->end);
            return;
        }
        index = stmt->middle; /* an else block with one `if`: `else if` */
    }
}

/* The block of a loop or region, after its head. */
static void add_body(text_printer *p, uint32_t index) {
    add(p, " ");
    add_block(p, index + 1, p->program->stmts.items[index].end);
}

static void print_for(text_printer *p, uint32_t index) {
    const vy_stmt *stmt = &p->program->stmts.items[index];
    const uint32_t bounds[3] = {stmt->a, stmt->b, stmt->c};
    unsigned anchor = find_anchor(p, bounds);
    static const char *const before[3] = {" in ", " .. ", " step "};
    add(p, "for ");
    add_name(p, variable_at(p, stmt->variable)->name);
    for (unsigned i = 0; i < 3 && bounds[i] != VY_NONE; i++) {
        add(p, before[i]);
        add_value(p, bounds[i], i != anchor);
    }
    add_body(p, index);
}

static void print_binding(text_printer *p, const vy_stmt *stmt) {
    int is_new = stmt->kind != VY_STMT_ASSIGN;
    if (is_new)
        add(p, stmt->kind == VY_STMT_LET ? "let " : "var ");
    add_name(p, variable_at(p, stmt->variable)->name);
    add(p, " = ");
    add_value(p, stmt->a, !is_new); /* the variable has a declared type */
}

static void print_print(text_printer *p, const vy_stmt *stmt) {
    add(p, "print ");
    print_string(p, vy_symbol_name(p->program, stmt->name));
    add(p, stmt->arg_count ? ", " : "");
    add_arguments(p, stmt, 0);
}

static void print_stmt(text_printer *p, uint32_t index) {
    const vy_stmt *stmt = &p->program->stmts.items[index];
    switch (stmt->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
    case VY_STMT_ASSIGN:
        print_binding(p, stmt);
        break;
    case VY_STMT_STORE:
        add_element(p, stmt);
        add(p, " = ");
        add_value(p, stmt->b, 1);
        break;
    case VY_STMT_ATOMIC:
        print_atomic(p, stmt);
        break;
    case VY_STMT_COLLECTIVE:
        print_collective(p, stmt);
        break;
    case VY_STMT_CALL:
        print_call_stmt(p, stmt);
        break;
    case VY_STMT_BARRIER:
        add(p, stmt->scope == VYRE_SCOPE_DEVICE ? "grid_barrier" : "barrier");
        break;
    case VY_STMT_TRAP:
        add(p, "trap ");
        add_value(p, stmt->a, 1);
        break;
    case VY_STMT_PRINT:
        print_print(p, stmt);
        break;
    case VY_STMT_IF:
        print_if(p, index);
        break;
    case VY_STMT_FOR:
        print_for(p, index);
        break;
    case VY_STMT_WHILE:
        add(p, "while ");
        add_value(p, stmt->a, 1);
        add_body(p, index);
        break;
    case VY_STMT_BREAK:
        add(p, "break");
        break;
    case VY_STMT_CONTINUE:
        add(p, "continue");
        break;
    case VY_STMT_RETURN:
        add(p, stmt->arg_count ? "return " : "return");
        add_arguments(p, stmt, 1);
        break;
    case VY_STMT_REGION:
        add(p, "region ");
        print_string(p, vy_symbol_name(p->program, stmt->name));
        add_body(p, index);
        break;
    case VY_STMT_LOAD_WIDE:
        print_load_wide(p, stmt);
        break;
    case VY_STMT_STORE_WIDE:
        print_store_wide(p, stmt);
        break;
    case VY_STMT_RECORD_TRAP:
        print_report(p, stmt);
        break;
    case VY_STMT_POLL:
        add_results(p, stmt, 0);
        add(p, "poll()");
        break;
    default:
        break;
    }
}

/* Recursion over blocks is bounded by VY_LIMIT_NESTING. */
static void print_block(text_printer *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i = p->program->stmts.items[i].end) {
        start_line(p);
        print_stmt(p, i);
        add(p, "\n");
    }
}

/* ---- declarations ---- */

/* A constant array, its elements in lines of at most PRINT_COLUMNS. */
static void print_constant(text_printer *p, const vy_memory *memory) {
    enum { PRINT_COLUMNS = 120 };
    const uint8_t *bytes = vy_constant_bytes(p->program, memory);
    size_t line = p->out.length;
    add(p, "  const ");
    add_name(p, memory->name);
    vy_string_format(&p->out, " : %s [%" PRIu32 "] = [", vyre_type_name(memory->type), memory->elements);
    int is_long = 0;
    for (uint32_t i = 0; i < memory->elements; i++) {
        vy_string element = {0};
        vy_number_print(&element, memory->type, vy_value_load(memory->type, bytes), 0);
        bytes += vyre_type_size(memory->type);
        if (p->out.length - line + element.length + 3 > PRINT_COLUMNS) {
            is_long = 1;
            add(p, i ? ",\n    " : "\n    ");
            line = p->out.length - 4;
        } else if (i) {
            add(p, ", ");
        }
        vy_string_append(&p->out, element.text, element.length);
        p->out.failed |= element.failed;
        vy_string_free(&element);
    }
    add(p, is_long ? ",\n  ]\n" : "]\n");
}

static void print_arrays(text_printer *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        const vy_memory *memory = memory_at(p, i);
        if (memory->space == VY_SPACE_CONSTANT) {
            print_constant(p, memory);
            continue;
        }
        add(p, "  array ");
        add_name(p, memory->name);
        vy_string_format(&p->out, " : %s [%" PRIu32 "] %s\n", vyre_type_name(memory->type), memory->elements,
                         space_names[memory->space]);
    }
}

static void print_body(text_printer *p, const vy_function *function) {
    p->indent = 1;
    print_block(p, function->first_stmt, function->end_stmt);
    add(p, "}\n");
}

static uint32_t print_params(text_printer *p, const vy_function *function) {
    uint32_t memories = 0;
    for (uint32_t i = 0; i < function->param_count; i++) {
        const vy_param *param = &p->program->params.items[function->first_param + i];
        add(p, i ? ", " : "");
        if (!param->is_memory) {
            add_name(p, variable_at(p, param->index)->name);
            vy_string_format(&p->out, ": %s", vyre_type_name(variable_at(p, param->index)->type));
            continue;
        }
        const vy_memory *memory = memory_at(p, param->index);
        memories++;
        add_name(p, memory->name);
        vy_string_format(&p->out, ": %s [%s]", space_names[memory->space], vyre_type_name(memory->type));
        if (memory->space == VY_SPACE_BUFFER)
            vy_string_format(&p->out, " %s", vy_accesses[memory->access].name);
    }
    return memories;
}

static void print_result_types(text_printer *p, const vy_function *function) {
    if (function->result_count == 0)
        return;
    const vy_result *results = p->program->results.items + function->first_result;
    if (function->result_count == 1 && *vy_symbol_name(p->program, results[0].name) == 0) {
        vy_string_format(&p->out, " -> %s", vyre_type_name(results[0].type));
        return;
    }
    add(p, " -> (");
    for (uint32_t i = 0; i < function->result_count; i++) {
        add(p, i ? ", " : "");
        add_name(p, results[i].name);
        vy_string_format(&p->out, ": %s", vyre_type_name(results[i].type));
    }
    add(p, ")");
}

static void print_function(text_printer *p, const vy_function *function) {
    add(p, "fn ");
    add_callee(p, function->name);
    add(p, "(");
    uint32_t memories = print_params(p, function);
    add(p, ")");
    print_result_types(p, function);
    add(p, " {\n");
    print_arrays(p, function->first_memory + memories, function->first_memory + function->memory_count);
    print_body(p, function);
}

static void print_sizes(text_printer *p, const uint32_t *sizes) {
    for (unsigned i = 0; i < 3 && sizes[i] != VY_NONE; i++) {
        add(p, i ? ", " : " ");
        print_size(p, sizes[i], VYRE_PRECEDENCE_SELECT);
    }
    add(p, "\n");
}

static void print_grid(text_printer *p, const vy_grid *grid) {
    switch (grid->kind) {
    case VYRE_GRID_OVER:
    case VYRE_GRID_INDIRECT:
        add(p, grid->kind == VYRE_GRID_OVER ? "  grid over " : "  grid indirect ");
        add_name(p, memory_at(p, grid->memory)->name);
        if (grid->offset)
            vy_string_format(&p->out, "[%" PRIu32 "]", grid->offset);
        add(p, "\n");
        break;
    case VYRE_GRID_GROUPS:
    case VYRE_GRID_ELEMENTS:
        add(p, grid->kind == VYRE_GRID_GROUPS ? "  grid" : "  grid elements");
        print_sizes(p, grid->sizes);
        break;
    default:
        break;
    }
}

static void print_buffer(text_printer *p, const vy_memory *memory) {
    add(p, "  buffer ");
    add_name(p, memory->name);
    vy_string_format(&p->out, " : %s %s", vyre_type_name(memory->type), vy_accesses[memory->access].name);
    if (memory->size != VY_NONE) {
        add(p, " count ");
        print_size(p, memory->size, VYRE_PRECEDENCE_SELECT);
    }
    add(p, "\n");
}

static void print_entry(text_printer *p, const vy_function *entry) {
    const vyre_program *program = p->program;
    const uint32_t *size = program->workgroup;
    add(p, "program ");
    add_name(p, program->name);
    add(p, " {\n");
    if (program->numerics == VYRE_NUMERICS_RELAXED)
        add(p, "  numerics relaxed\n");
    if (program->level == VYRE_LEVEL_LEGAL)
        add(p, "  level legal\n");
    for (uint32_t i = 0; i < program->param_count; i++) {
        const vy_variable *variable = variable_at(p, entry->first_variable + i);
        add(p, "  param ");
        add_name(p, variable->name);
        vy_string_format(&p->out, " : %s\n", vyre_type_name(variable->type));
    }
    for (uint32_t i = 0; i < program->buffer_count; i++)
        print_buffer(p, memory_at(p, entry->first_memory + i));
    vy_string_format(&p->out, "  workgroup %" PRIu32, size[0]);
    for (unsigned i = 1; i < (size[2] != 1 ? 3u : size[1] != 1 ? 2u : 1u); i++)
        vy_string_format(&p->out, ", %" PRIu32, size[i]);
    add(p, "\n");
    print_grid(p, &program->grid);
    print_arrays(p, entry->first_memory + program->buffer_count, entry->first_memory + entry->memory_count);
    add(p, entry->first_stmt < entry->end_stmt ? "\n" : "");
    print_body(p, entry);
}

vyre_status vyre_text_print(const vyre_program *program, vyre_bytes *out, vyre_error *error) {
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, out);
    text_printer printer = {.program = program};
    if (program->kind == VYRE_PROGRAM_LIBRARY && program->level == VYRE_LEVEL_LEGAL)
        add(&printer, "level legal\n\n");
    for (uint32_t i = 0; i < program->functions.count; i++) {
        const vy_function *function = &program->functions.items[i];
        add(&printer, i ? "\n" : "");
        if (vy_is_entry(program, function))
            print_entry(&printer, function);
        else
            print_function(&printer, function);
    }
    vyre_status status = vy_string_to_bytes(&printer.out, out, error);
    vy_string_free(&printer.out);
    return status;
}
