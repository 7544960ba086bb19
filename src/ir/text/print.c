/* The printer: a program in canonical form. Two spaces per level, one statement per line, declarations in the order of
 * the model. */
#include "ir/text/print.h"

#include "base/status.h"
#include "ir/attributes.h"
#include "ir/identifiers.h"
#include "ir/op_tables.h"
#include "vyre/text.h"

#include <inttypes.h>

static const char *const space_names[VY_SPACE_COUNT] = {"buffer", "workgroup", "private"};

static void add(vy_printer *p, const char *text) {
    vy_string_add(&p->out, text);
}
static void add_name(vy_printer *p, vy_symbol name) {
    add(p, vy_symbol_name(p->program, name));
}

/* Of a function or an op. */
static void add_callee(vy_printer *p, vy_symbol name) {
    char storage[VY_CALL_SPELLING_CAPACITY];
    add(p, vy_call_spelling(vy_symbol_name(p->program, name), storage));
}

static void start_line(vy_printer *p) {
    for (unsigned i = 0; i < p->indent; i++)
        add(p, "  ");
}

static void add_value(vy_printer *p, uint32_t root, int is_typed) {
    vy_print_expr(p, root, is_typed, VYRE_PRECEDENCE_SELECT);
}

static const vy_variable *variable_at(const vy_printer *p, uint32_t index) {
    return &p->program->variables.items[index];
}
static const vy_memory *memory_at(const vy_printer *p, uint32_t index) {
    return &p->program->memories.items[index];
}
static int is_u32(const vy_printer *p, uint32_t root) {
    return p->program->exprs.items[root].type == VYRE_TYPE_U32;
}

static void add_element(vy_printer *p, const vy_stmt *stmt) {
    add_name(p, memory_at(p, stmt->memory)->name);
    add(p, stmt->bounds_check == VY_BOUNDS_UNCHECKED ? "![" : "[");
    add_value(p, stmt->a, is_u32(p, stmt->a));
    add(p, "]");
}

/* ---- statements that bind results ---- */

/* `let x = `, `let (x, y) = `, or nothing; with types where the parser cannot know them. */
static void add_results(vy_printer *p, const vy_stmt *stmt, int with_types) {
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

static void print_atomic(vy_printer *p, const vy_stmt *stmt) {
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

static void print_collective(vy_printer *p, const vy_stmt *stmt) {
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

static void add_arguments(vy_printer *p, const vy_stmt *stmt, int is_typed) {
    for (uint32_t i = 0; i < stmt->arg_count; i++) {
        const vy_arg *arg = &p->program->args.items[stmt->args + i];
        add(p, i ? ", " : "");
        if (arg->is_memory)
            add_name(p, memory_at(p, arg->index)->name);
        else
            add_value(p, arg->index, is_typed);
    }
}

static void print_call(vy_printer *p, const vy_stmt *stmt) {
    int is_local = stmt->callee != VY_NONE;
    add_results(p, stmt, !is_local);
    add_callee(p, is_local ? p->program->functions.items[stmt->callee].name : stmt->name);
    add(p, "(");
    add_arguments(p, stmt, is_local);
    add(p, ")");
}

/* ---- statements of level legal ---- */

static void print_load_wide(vy_printer *p, const vy_stmt *stmt) {
    add_results(p, stmt, 0);
    vy_string_format(&p->out, "load_wide(%s, ", vy_symbol_name(p->program, memory_at(p, stmt->memory)->name));
    add_value(p, stmt->a, 1);
    add(p, ")");
}

static void print_store_wide(vy_printer *p, const vy_stmt *stmt) {
    vy_string_format(&p->out, "store_wide(%s, ", vy_symbol_name(p->program, memory_at(p, stmt->memory)->name));
    add_value(p, stmt->a, 1);
    add(p, ", ");
    add_arguments(p, stmt, 1);
    add(p, ")");
}

/* An operator stands in parentheses, which make it look like a call: what follows `report` must not go on after a bracket. */
static void print_report(vy_printer *p, const vy_stmt *stmt) {
    const vy_expr *code = &p->program->exprs.items[stmt->a];
    int is_bare = code->kind != VY_EXPR_OP || !vyre_op_get(code->op)->symbol;
    add(p, is_bare ? "report " : "report(");
    add_value(p, stmt->a, 1);
    add(p, is_bare ? "" : ")");
}

/* ---- statements ---- */

static void print_block(vy_printer *p, uint32_t first, uint32_t end);

static void add_block(vy_printer *p, uint32_t first, uint32_t end) {
    add(p, "{\n");
    p->indent++;
    print_block(p, first, end);
    p->indent--;
    start_line(p);
    add(p, "}");
}

static void print_if(vy_printer *p, uint32_t index) {
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
static void add_body(vy_printer *p, uint32_t index) {
    add(p, " ");
    add_block(p, index + 1, p->program->stmts.items[index].end);
}

static void print_for(vy_printer *p, uint32_t index) {
    const vy_stmt *stmt = &p->program->stmts.items[index];
    const uint32_t bounds[3] = {stmt->a, stmt->b, stmt->c};
    unsigned anchor = vy_print_anchor(p, bounds);
    static const char *const before[3] = {" in ", " .. ", " step "};
    add(p, "for ");
    add_name(p, variable_at(p, stmt->variable)->name);
    for (unsigned i = 0; i < 3 && bounds[i] != VY_NONE; i++) {
        add(p, before[i]);
        add_value(p, bounds[i], i != anchor);
    }
    add_body(p, index);
}

static void print_binding(vy_printer *p, const vy_stmt *stmt) {
    int is_new = stmt->kind != VY_STMT_ASSIGN;
    if (is_new)
        add(p, stmt->kind == VY_STMT_LET ? "let " : "var ");
    add_name(p, variable_at(p, stmt->variable)->name);
    add(p, " = ");
    add_value(p, stmt->a, !is_new); /* the variable has a type already */
}

static void print_print(vy_printer *p, const vy_stmt *stmt) {
    add(p, "print ");
    vy_print_string(p, vy_symbol_name(p->program, stmt->name));
    add(p, stmt->arg_count ? ", " : "");
    add_arguments(p, stmt, 0);
}

static void print_stmt(vy_printer *p, uint32_t index) {
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
        print_call(p, stmt);
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
        vy_print_string(p, vy_symbol_name(p->program, stmt->name));
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
static void print_block(vy_printer *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i = p->program->stmts.items[i].end) {
        start_line(p);
        print_stmt(p, i);
        add(p, "\n");
    }
}

/* ---- declarations ---- */

static void print_arrays(vy_printer *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        const vy_memory *memory = memory_at(p, i);
        add(p, "  array ");
        add_name(p, memory->name);
        vy_string_format(&p->out, " : %s [%" PRIu32 "] %s\n", vyre_type_name(memory->type), memory->elements,
                         space_names[memory->space]);
    }
}

static void print_body(vy_printer *p, const vy_function *function) {
    p->indent = 1;
    print_block(p, function->first_stmt, function->end_stmt);
    add(p, "}\n");
}

static uint32_t print_params(vy_printer *p, const vy_function *function) {
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

static void print_result_types(vy_printer *p, const vy_function *function) {
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

static void print_function(vy_printer *p, const vy_function *function) {
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

static void print_sizes(vy_printer *p, const uint32_t *sizes) {
    for (unsigned i = 0; i < 3 && sizes[i] != VY_NONE; i++) {
        add(p, i ? ", " : " ");
        vy_print_size(p, sizes[i], VYRE_PRECEDENCE_SELECT);
    }
    add(p, "\n");
}

static void print_grid(vy_printer *p, const vy_grid *grid) {
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

static void print_buffer(vy_printer *p, const vy_memory *memory) {
    add(p, "  buffer ");
    add_name(p, memory->name);
    vy_string_format(&p->out, " : %s %s", vyre_type_name(memory->type), vy_accesses[memory->access].name);
    if (memory->size != VY_NONE) {
        add(p, " count ");
        vy_print_size(p, memory->size, VYRE_PRECEDENCE_SELECT);
    }
    add(p, "\n");
}

static void print_entry(vy_printer *p, const vy_function *entry) {
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
    vy_printer printer = {.program = program};
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
