/* IR builder: appends to the arrays of a program in canonical order, and clones expressions and statements
 * (irbuilder.h, model.h).
 *
 * Invariants: an append either completes or leaves the arrays unchanged and sets `failed`. Returned indices are those
 * of model.h's layout. Semantics are not checked; only the types of variables and loads are derived. */
#include "ir/irbuilder.h"

#include "ir/eval.h"
#include "ir/walk.h"

vyre_status vy_irb_start(vy_irb *draft, const char *name, vyre_error *error) {
    memset(draft, 0, sizeof *draft);
    vyre_program *program = vy_allocate_zero(sizeof *program);
    if (!program)
        return vy_fail_memory(error, "a program");
    draft->program = program;
    atomic_init(&program->references, 1);
    for (int i = 0; i < 3; i++) {
        program->workgroup[i] = 1;
        program->grid.sizes[i] = VY_NONE;
    }
    program->grid.memory = VY_NONE;
    if (vy_irb_intern(draft, "", 0) != 0) {
        vy_irb_discard(draft);
        return vy_fail_memory(error, "the names of a program");
    }
    program->name = vy_irb_intern(draft, name, strlen(name));
    return VYRE_OK;
}

void vy_irb_discard(vy_irb *draft) {
    vyre_program_release(draft->program);
    draft->program = NULL;
}

/* An eighth more, so that a slightly larger program needs no reallocation. */
#define RESERVE(draft, vector, like)                                                                                   \
    ((draft)->failed |= !VY_RESERVE(&(draft)->program->vector,                                                         \
                                    (like)->vector.count + (like)->vector.count / 8 + ((like)->vector.count != 0)))

void vy_irb_reserve(vy_irb *draft, const vyre_program *like) {
    RESERVE(draft, variables, like);
    RESERVE(draft, stmts, like);
    RESERVE(draft, exprs, like);
    RESERVE(draft, args, like);
    if (draft->keep_positions)
        RESERVE(draft, stmt_positions, like);
    if (vy_irb_keeps_expr_positions(draft))
        RESERVE(draft, expr_positions, like);
}

static vy_symbol check_interned(vy_irb *draft, vy_symbol name) {
    if (name == VY_SYMBOL_INVALID) {
        draft->failed = 1;
        return 0;
    }
    return name;
}

vy_symbol vy_irb_intern(vy_irb *draft, const char *text, size_t length) {
    return check_interned(draft, vy_intern_pool_add(&draft->program->names, text, length));
}

vy_symbol vy_irb_intern_numbered(vy_irb *draft, char letter, uint32_t number) {
    return check_interned(draft, vy_intern_pool_add_numbered(&draft->program->names, letter, number));
}

/* The common form of an append: adds one item, which the caller fills completely, or sets `failed`. */
#define APPEND(draft, vector, item)                                                                                    \
    do {                                                                                                               \
        if (!VY_RESERVE(&(draft)->program->vector, 1)) {                                                               \
            (draft)->failed = 1;                                                                                       \
            return VY_NONE;                                                                                            \
        }                                                                                                              \
        (item) = &(draft)->program->vector.items[(draft)->program->vector.count++];                                    \
    } while (0)

uint32_t vy_irb_size(vy_irb *draft, vy_size_kind kind, uint32_t a, uint32_t b, uint64_t value) {
    vy_size *size;
    APPEND(draft, sizes, size);
    *size = (vy_size){.kind = (uint8_t)kind, .a = a, .b = b, .value = value};
    return draft->program->sizes.count - 1;
}

/* ---- functions ---- */

static vy_function *current_function(vy_irb *draft) {
    vyre_program *program = draft->program;
    return program->functions.count ? &program->functions.items[program->functions.count - 1] : NULL;
}

uint32_t vy_irb_begin_function(vy_irb *draft, vy_symbol name) {
    vyre_program *program = draft->program;
    vy_function *function;
    APPEND(draft, functions, function);
    *function = (vy_function){.name = name,
                              .first_param = program->params.count,
                              .first_result = program->results.count,
                              .first_variable = program->variables.count,
                              .first_memory = program->memories.count,
                              .first_stmt = program->stmts.count,
                              .end_stmt = program->stmts.count,
                              .position = draft->position};
    draft->depth = 0;
    return program->functions.count - 1;
}

uint32_t vy_irb_begin_entry(vy_irb *draft) {
    draft->in_entry = 1;
    return vy_irb_begin_function(draft, draft->program->name);
}

uint32_t vy_irb_clone_entry(vy_irb *draft, const vyre_program *from) {
    const vy_function *entry = vy_program_entry(from);
    vyre_program *made = draft->program;
    uint32_t variables = made->variables.count - entry->first_variable;
    uint32_t memories = made->memories.count - entry->first_memory;
    for (uint32_t i = 0; i < from->sizes.count; i++) {
        vy_size size = from->sizes.items[i];
        size.a += size.kind == VY_SIZE_PARAM ? variables : size.kind == VY_SIZE_LEN ? memories : 0;
        vy_irb_size(draft, (vy_size_kind)size.kind, size.a, size.b, size.value);
    }
    memcpy(made->workgroup, from->workgroup, sizeof made->workgroup);
    made->grid = from->grid;
    if (made->grid.memory != VY_NONE)
        made->grid.memory += memories;
    return vy_irb_begin_entry(draft);
}

void vy_irb_end_function(vy_irb *draft) {
    vyre_program *program = draft->program;
    vy_function *function = current_function(draft);
    if (!function)
        return;
    while (draft->depth)
        vy_irb_end_block(draft);
    function->end_stmt = program->stmts.count;
    function->param_count = program->params.count - function->first_param;
    function->result_count = program->results.count - function->first_result;
    function->variable_count = program->variables.count - function->first_variable;
    function->memory_count = program->memories.count - function->first_memory;
}

static uint32_t add_variable(vy_irb *draft, vy_symbol name, vyre_type type, int is_mutable) {
    vy_variable *variable;
    APPEND(draft, variables, variable);
    *variable = (vy_variable){
        .name = name, .type = (uint8_t)type, .is_mutable = (uint8_t)is_mutable, .position = draft->position};
    return draft->program->variables.count - 1;
}

/* Parameters of the entry are not in a list: they are its first variables and memories. */
static uint32_t record_param(vy_irb *draft, int is_memory, uint32_t index) {
    vyre_program *program = draft->program;
    if (draft->in_entry) {
        if (is_memory)
            program->buffer_count++;
        else
            program->param_count++;
        return index;
    }
    vy_param *param;
    APPEND(draft, params, param);
    *param = (vy_param){(uint32_t)is_memory, index};
    return index;
}

uint32_t vy_irb_scalar_param(vy_irb *draft, vy_symbol name, vyre_type type) {
    uint32_t variable = add_variable(draft, name, type, 0);
    return variable == VY_NONE ? VY_NONE : record_param(draft, 0, variable);
}

static uint32_t add_memory(vy_irb *draft, const vy_memory *from) {
    vy_memory *memory;
    APPEND(draft, memories, memory);
    *memory = *from;
    memory->position = draft->position;
    return draft->program->memories.count - 1;
}

uint32_t vy_irb_memory_param(vy_irb *draft, vy_symbol name, vy_space space, vyre_type type, vyre_access access,
                             uint32_t size) {
    uint32_t memory = add_memory(
        draft,
        &(vy_memory){
            .name = name, .space = (uint8_t)space, .type = (uint8_t)type, .access = (uint8_t)access, .size = size});
    return memory == VY_NONE ? VY_NONE : record_param(draft, 1, memory);
}

void vy_irb_result(vy_irb *draft, vy_symbol name, vyre_type type) {
    vy_result *result = VY_PUSH(&draft->program->results);
    if (result)
        *result = (vy_result){name, (uint8_t)type};
    else
        draft->failed = 1;
}

uint32_t vy_irb_array(vy_irb *draft, vy_symbol name, vy_space space, vyre_type type, uint32_t elements) {
    return add_memory(draft, &(vy_memory){.name = name,
                                          .space = (uint8_t)space,
                                          .type = (uint8_t)type,
                                          .access = VYRE_ACCESS_READ_WRITE,
                                          .size = VY_NONE,
                                          .elements = elements});
}

/* Appends the bytes with proper values; a table that exists already is removed again. Contents of no element, which
 * validation refuses, need a valid address, too. */
uint32_t vy_irb_table(vy_irb *draft, vyre_type type, uint32_t elements, const void *bytes) {
    vyre_program *program = draft->program;
    size_t unit = vyre_type_size(type), size = vy_array_size(elements, unit);
    uint32_t offset = (program->table_bytes.count + 15u) & ~15u, padding = offset - program->table_bytes.count;
    if (size > VY_LIMIT_WIRE_BYTES || program->table_bytes.count > VY_LIMIT_WIRE_BYTES ||
        !VY_RESERVE(&program->table_bytes, padding + (uint32_t)size + 1) || !VY_RESERVE(&program->tables, 1)) {
        draft->failed = 1;
        return VY_NONE;
    }
    uint8_t *made = program->table_bytes.items + offset;
    memset(made - padding, 0, padding);
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT)
        for (uint32_t i = 0; i < elements; i++)
            vy_value_store(type, made + i * unit, vy_value_load(type, (const uint8_t *)bytes + i * unit));
    else if (size)
        memcpy(made, bytes, size);
    for (uint32_t i = 0; i < program->tables.count; i++) {
        const vy_table *table = &program->tables.items[i];
        if (table->size == size && memcmp(program->table_bytes.items + table->offset, made, size) == 0)
            return i;
    }
    program->table_bytes.count = offset + (uint32_t)size;
    program->tables.items[program->tables.count++] = (vy_table){offset, (uint32_t)size};
    return program->tables.count - 1;
}

uint32_t vy_irb_constant(vy_irb *draft, vy_symbol name, vyre_type type, uint32_t elements, uint32_t table) {
    if (table == VY_NONE)
        return VY_NONE;
    return add_memory(draft, &(vy_memory){.name = name,
                                          .space = VY_SPACE_CONSTANT,
                                          .type = (uint8_t)type,
                                          .access = VYRE_ACCESS_READ,
                                          .size = VY_NONE,
                                          .elements = elements,
                                          .table = table});
}

uint32_t vy_irb_clone_array(vy_irb *draft, const vyre_program *from, uint32_t memory, vy_symbol name) {
    const vy_memory m = from->memories.items[memory];
    if (m.space != VY_SPACE_CONSTANT)
        return vy_irb_array(draft, name, (vy_space)m.space, (vyre_type)m.type, m.elements);
    uint32_t table = from == draft->program
                         ? m.table
                         : vy_irb_table(draft, (vyre_type)m.type, m.elements, vy_constant_bytes(from, &m));
    return vy_irb_constant(draft, name, (vyre_type)m.type, m.elements, table);
}

/* ---- expressions ---- */

/* Keeps a transform that multiplies code from exhausting memory before the validator runs. */
int vy_irb_is_full(vy_irb *draft, uint32_t count, uint32_t limit) {
    if (!draft->fail_at_limit || count < limit)
        return 0;
    draft->failed = draft->too_large = 1;
    return 1;
}

uint32_t vy_irb_expr(vy_irb *draft, const vy_expr *from) {
    vyre_program *program = draft->program;
    uint32_t index = program->exprs.count;
    int places = vy_irb_keeps_expr_positions(draft);
    if (index >= VY_LIMIT_EXPRESSIONS && vy_irb_is_full(draft, index, VY_LIMIT_EXPRESSIONS))
        return VY_NONE;
    if (!VY_RESERVE(&program->exprs, 1) || (places && !VY_RESERVE(&program->expr_positions, 1))) {
        draft->failed = 1;
        return VY_NONE;
    }
    if (places)
        program->expr_positions.items[program->expr_positions.count++] = draft->position;
    program->exprs.items[index] = *from;
    program->exprs.count = index + 1;
    return index;
}

vy_expr vy_literal_expr(vyre_type type, uint64_t bits) {
    return (vy_expr){.kind = VY_EXPR_LITERAL,
                     .type = (uint8_t)type,
                     .a = VY_NONE,
                     .b = VY_NONE,
                     .c = VY_NONE,
                     .bits = vy_value_canonicalize(type, bits)};
}

uint32_t vy_irb_literal(vy_irb *draft, vyre_type type, uint64_t bits) {
    vy_expr literal = vy_literal_expr(type, bits);
    return vy_irb_expr(draft, &literal);
}

uint32_t vy_irb_variable(vy_irb *draft, uint32_t variable) {
    if (variable >= draft->program->variables.count)
        return VY_NONE;
    const vy_expr expr = vy_variable_expr((vyre_type)draft->program->variables.items[variable].type, variable);
    return vy_irb_expr(draft, &expr);
}

uint32_t vy_irb_load(vy_irb *draft, uint32_t memory, uint32_t index) {
    if (memory >= draft->program->memories.count || index == VY_NONE)
        return VY_NONE;
    return vy_irb_expr(draft, &(vy_expr){.kind = VY_EXPR_LOAD,
                                         .type = draft->program->memories.items[memory].type,
                                         .a = memory,
                                         .b = index,
                                         .c = VY_NONE});
}

uint32_t vy_irb_load_unchecked(vy_irb *draft, uint32_t memory, uint32_t index, uint32_t condition) {
    uint32_t load = vy_irb_load(draft, memory, index);
    if (load == VY_NONE)
        return VY_NONE;
    draft->program->exprs.items[load].op = VY_BOUNDS_UNCHECKED;
    draft->program->exprs.items[load].c = condition;
    return load;
}

uint32_t vy_irb_align_offset(vy_irb *draft, uint32_t memory) {
    uint32_t expr = vy_irb_len(draft, memory);
    if (expr != VY_NONE)
        draft->program->exprs.items[expr].kind = VY_EXPR_ALIGN_OFFSET;
    return expr;
}

uint32_t vy_irb_len(vy_irb *draft, uint32_t memory) {
    if (memory == VY_NONE)
        return VY_NONE;
    return vy_irb_expr(draft,
                       &(vy_expr){.kind = VY_EXPR_LEN, .type = VYRE_TYPE_U32, .a = memory, .b = VY_NONE, .c = VY_NONE});
}

uint32_t vy_irb_builtin(vy_irb *draft, vyre_builtin builtin, unsigned axis) {
    return vy_irb_expr(draft, &(vy_expr){.kind = VY_EXPR_BUILTIN,
                                         .type = VYRE_TYPE_U32,
                                         .op = (uint8_t)builtin,
                                         .axis = (uint8_t)axis,
                                         .a = VY_NONE,
                                         .b = VY_NONE,
                                         .c = VY_NONE});
}

uint32_t vy_irb_op(vy_irb *draft, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    const vyre_op_info *info = vyre_op_get(op);
    if (!info || a == VY_NONE || (info->arity > 1 && b == VY_NONE) || (info->arity > 2 && c == VY_NONE))
        return VY_NONE;
    return vy_irb_expr(draft, &(vy_expr){.kind = VY_EXPR_OP,
                                         .type = (uint8_t)type,
                                         .op = (uint8_t)op,
                                         .a = a,
                                         .b = info->arity > 1 ? b : VY_NONE,
                                         .c = info->arity > 2 ? c : VY_NONE});
}

/* ---- statements ---- */

static uint32_t declare_results(vy_irb *draft, const vy_stmt *stmt, const vy_symbol *names, const vyre_type *types) {
    uint32_t first = draft->program->variables.count;
    for (uint32_t i = 0; i < stmt->result_count; i++)
        if (add_variable(draft, names[i], types[i], stmt->kind == VY_STMT_VAR) == VY_NONE)
            return VY_NONE;
    return first;
}

static uint32_t append_args(vy_irb *draft, const vy_arg *args, uint32_t count) {
    vyre_program *program = draft->program;
    uint32_t first = program->args.count;
    if (count && !VY_RESERVE(&program->args, count)) {
        draft->failed = 1;
        return VY_NONE;
    }
    for (uint32_t i = 0; i < count; i++)
        program->args.items[program->args.count++] = args[i];
    return first;
}

/* A tree is not deeper than its number of nodes. */
static void track_depth(vy_irb *draft) {
    uint32_t count = draft->program->exprs.count;
    draft->needs_verify |= count - draft->written_exprs > VY_LIMIT_EXPRESSION_DEPTH;
    draft->written_exprs = count;
}

static void open_block(vy_irb *draft, uint32_t index) {
    if (draft->depth < sizeof draft->open / sizeof *draft->open)
        draft->open[draft->depth] = index;
    else
        draft->too_deep = 1;
    draft->program->stmts.items[index].middle = VY_NONE; /* no else yet */
    draft->depth++;
    draft->needs_verify |= draft->depth > VY_LIMIT_NESTING;
}

uint32_t vy_irb_stmt(vy_irb *draft, const vy_stmt *from, const vy_arg *args, uint32_t arg_count, const vy_symbol *names,
                     const vyre_type *types) {
    vyre_program *program = draft->program;
    uint32_t index = program->stmts.count;
    if (vy_irb_is_full(draft, index, VY_LIMIT_STATEMENTS))
        return VY_NONE;
    track_depth(draft);
    if (draft->keep_positions) {
        vy_position *position;
        APPEND(draft, stmt_positions, position);
        *position = draft->position;
    }
    vy_stmt *stmt;
    APPEND(draft, stmts, stmt);
    *stmt = *from;
    stmt->end = stmt->middle = index + 1;
    if (stmt->kind == VY_STMT_LET || stmt->kind == VY_STMT_VAR || stmt->kind == VY_STMT_FOR ||
        stmt->kind == VY_STMT_POLL)
        stmt->result_count = 1;
    if (names && stmt->result_count)
        stmt->variable = declare_results(draft, stmt, names, types);
    stmt->args = append_args(draft, args, arg_count);
    stmt->arg_count = arg_count;
    if (vy_stmt_is_structured(stmt->kind))
        open_block(draft, index);
    return index;
}

static vy_stmt *innermost_block(vy_irb *draft) {
    if (draft->depth == 0 || draft->depth > sizeof draft->open / sizeof *draft->open)
        return NULL;
    return &draft->program->stmts.items[draft->open[draft->depth - 1]];
}

void vy_irb_else(vy_irb *draft) {
    vy_stmt *stmt = innermost_block(draft);
    if (stmt && stmt->kind == VY_STMT_IF && stmt->middle == VY_NONE)
        stmt->middle = draft->program->stmts.count;
}

void vy_irb_end_block(vy_irb *draft) {
    vy_stmt *stmt = innermost_block(draft);
    if (stmt) {
        stmt->end = draft->program->stmts.count;
        if (stmt->middle == VY_NONE)
            stmt->middle = stmt->end;
    }
    if (draft->depth)
        draft->depth--;
}

static const vy_stmt blank = {
    .variable = VY_NONE, .memory = VY_NONE, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .callee = VY_NONE};

vy_stmt vy_irb_blank_stmt(vy_stmt_kind kind) {
    vy_stmt stmt = blank;
    stmt.kind = (uint8_t)kind;
    return stmt;
}

/* Appends a statement that declares one variable and returns the variable, the most common case. */
static uint32_t declare_one(vy_irb *draft, vy_stmt_kind kind, vy_symbol name, vyre_type type, uint32_t a, uint32_t b,
                            uint32_t c) {
    vyre_program *program = draft->program;
    uint32_t index = program->stmts.count, variable = program->variables.count;
    if (vy_irb_is_full(draft, index, VY_LIMIT_STATEMENTS))
        return VY_NONE;
    if (!VY_RESERVE(&program->stmts, 1) || !VY_RESERVE(&program->variables, 1) ||
        (draft->keep_positions && !VY_RESERVE(&program->stmt_positions, 1))) {
        draft->failed = 1;
        return VY_NONE;
    }
    track_depth(draft);
    if (draft->keep_positions)
        program->stmt_positions.items[program->stmt_positions.count++] = draft->position;
    program->variables.items[program->variables.count++] = (vy_variable){
        .name = name, .type = (uint8_t)type, .is_mutable = kind == VY_STMT_VAR, .position = draft->position};
    program->stmts.items[program->stmts.count++] = (vy_stmt){.kind = (uint8_t)kind,
                                                             .result_count = 1,
                                                             .end = index + 1,
                                                             .middle = index + 1,
                                                             .variable = variable,
                                                             .memory = VY_NONE,
                                                             .a = a,
                                                             .b = b,
                                                             .c = c,
                                                             .args = program->args.count,
                                                             .callee = VY_NONE};
    if (kind == VY_STMT_FOR)
        open_block(draft, index);
    return variable;
}

uint32_t vy_irb_let(vy_irb *draft, vy_symbol name, vyre_type type, uint32_t value) {
    return declare_one(draft, VY_STMT_LET, name, type, value, VY_NONE, VY_NONE);
}

uint32_t vy_irb_var(vy_irb *draft, vy_symbol name, vyre_type type, uint32_t value) {
    return declare_one(draft, VY_STMT_VAR, name, type, value, VY_NONE, VY_NONE);
}

uint32_t vy_irb_for(vy_irb *draft, vy_symbol name, vyre_type type, uint32_t from, uint32_t to, uint32_t step) {
    return declare_one(draft, VY_STMT_FOR, name, type, from, to, step);
}

void vy_irb_assign(vy_irb *draft, uint32_t variable, uint32_t value) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_ASSIGN);
    stmt.variable = variable;
    stmt.a = value;
    vy_irb_stmt(draft, &stmt, NULL, 0, NULL, NULL);
}

void vy_irb_store(vy_irb *draft, uint32_t memory, uint32_t index, uint32_t value) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_STORE);
    stmt.memory = memory;
    stmt.a = index;
    stmt.b = value;
    vy_irb_stmt(draft, &stmt, NULL, 0, NULL, NULL);
}

uint32_t vy_irb_if(vy_irb *draft, uint32_t condition) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_IF);
    stmt.a = condition;
    return vy_irb_stmt(draft, &stmt, NULL, 0, NULL, NULL);
}

uint32_t vy_irb_while(vy_irb *draft, uint32_t condition) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_WHILE);
    stmt.a = condition;
    return vy_irb_stmt(draft, &stmt, NULL, 0, NULL, NULL);
}

void vy_irb_simple(vy_irb *draft, vy_stmt_kind kind) {
    vy_stmt stmt = vy_irb_blank_stmt(kind);
    vy_irb_stmt(draft, &stmt, NULL, 0, NULL, NULL);
}

/* ---- cloning ----
 *
 * Unchanged runs of nodes are copied as blocks; all their indices move by the same offset. */

void vy_irb_clone_symbols(vy_irb *draft, const vyre_program *from) {
    vy_intern_pool_free(&draft->program->names);
    draft->failed |= !vy_intern_pool_copy(&draft->program->names, &from->names);
    draft->program->name = from->name;
}

/* ---- cloned expressions ---- */

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH: `from` is a valid program. */
uint32_t vy_irb_clone_expr(vy_irb *draft, const vyre_program *from, uint32_t root, const uint32_t *map_variable,
                           const uint32_t *map_memory) {
    if (root == VY_NONE)
        return VY_NONE;
    vy_expr expr = from->exprs.items[root];
    switch (expr.kind) {
    case VY_EXPR_VARIABLE:
        if (map_variable)
            expr.a = map_variable[expr.a];
        break;
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        if (map_memory)
            expr.a = map_memory[expr.a];
        break;
    case VY_EXPR_LOAD:
        if (map_memory)
            expr.a = map_memory[expr.a];
        expr.b = vy_irb_clone_expr(draft, from, expr.b, map_variable, map_memory);
        expr.c = vy_irb_clone_expr(draft, from, expr.c, map_variable, map_memory);
        break;
    case VY_EXPR_OP:
        expr.a = vy_irb_clone_expr(draft, from, expr.a, map_variable, map_memory);
        expr.b = vy_irb_clone_expr(draft, from, expr.b, map_variable, map_memory);
        expr.c = vy_irb_clone_expr(draft, from, expr.c, map_variable, map_memory);
        break;
    default:
        break;
    }
    vy_position at = vy_expr_position(from, root);
    if (at.line)
        draft->position = at;
    return vy_irb_expr(draft, &expr);
}

/* Adds `by` to an index; VY_NONE stays. */
static uint32_t relocate_index(uint32_t index, uint32_t by) {
    return index == VY_NONE ? VY_NONE : index + by;
}

/* Copies expressions and maps their references to the draft; operand indices increase by `by`. The kinds are tested in
 * order of frequency. */
static void relocate_exprs(vy_expr *to, const vy_expr *from, uint32_t count, uint32_t by, const uint32_t *map_variable,
                           const uint32_t *map_memory) {
    for (const vy_expr *end = from + count; from < end; from++, to++) {
        *to = *from; /* which may overlap the source: from here on only `to` is read */
        if (to->kind == VY_EXPR_VARIABLE) {
            to->a = map_variable[to->a];
        } else if (to->kind == VY_EXPR_OP || to->kind == VY_EXPR_LOAD) {
            to->a = to->kind == VY_EXPR_OP ? to->a + by : map_memory[to->a];
            if (to->b != VY_NONE)
                to->b += by;
            if (to->c != VY_NONE)
                to->c += by;
        } else if (to->kind == VY_EXPR_LEN || to->kind == VY_EXPR_ALIGN_OFFSET) {
            to->a = map_memory[to->a];
        }
    }
}

/* The caller has reserved room for `added` more. A program has all positions or none. */
static void append_positions(vy_position *to, uint32_t *count, const vy_position *from, uint32_t added) {
    if (from)
        memmove(to + *count, from, added * sizeof *to);
    else
        memset(to + *count, 0, added * sizeof *to);
    *count += added;
}

uint32_t vy_irb_clone_exprs(vy_irb *draft, const vyre_program *from, uint32_t first, uint32_t end,
                            const uint32_t *map_variable, const uint32_t *map_memory) {
    vyre_program *program = draft->program;
    uint32_t at = program->exprs.count, count = end - first;
    if (count == 0)
        return at;
    if (vy_irb_is_full(draft, at + count - 1, VY_LIMIT_EXPRESSIONS))
        return VY_NONE;
    if (!VY_RESERVE(&program->exprs, count) ||
        (vy_irb_keeps_expr_positions(draft) && !VY_RESERVE(&program->expr_positions, count))) {
        draft->failed = 1;
        return VY_NONE;
    }
    relocate_exprs(program->exprs.items + at, from->exprs.items + first, count, at - first, map_variable, map_memory);
    program->exprs.count += count;
    if (vy_irb_keeps_expr_positions(draft))
        append_positions(program->expr_positions.items, &program->expr_positions.count,
                         from->expr_positions.count ? from->expr_positions.items + first : NULL, count);
    return at;
}

/* ---- cloned statements ---- */

/* The expressions of the statements [first, end). */
static void find_exprs(const vyre_program *p, uint32_t first, uint32_t end, uint32_t *first_expr, uint32_t *end_expr) {
    *first_expr = *end_expr = 0;
    while (end > first && (*end_expr = vy_stmt_exprs_end(p, &p->stmts.items[end - 1], 0)) == 0)
        end--;
    while (first < end && vy_stmt_exprs_end(p, &p->stmts.items[first], 0) == 0)
        first++;
    if (first < end)
        *first_expr = vy_stmt_exprs_first(p, &p->stmts.items[first]);
}

/* The first statement and expression of a copy, in the source or in the draft. */
typedef struct origin {
    uint32_t stmt, expr;
} origin;

static void relocate_stmt(vy_stmt *to, const vy_stmt *from, const origin *source, const origin *here,
                          const uint32_t *map_memory, const vy_symbol *map_name) {
    uint32_t by = here->expr - source->expr;
    *to = *from;
    to->end += here->stmt - source->stmt;
    to->middle += here->stmt - source->stmt;
    to->a = relocate_index(to->a, by);
    to->b = relocate_index(to->b, by);
    to->c = relocate_index(to->c, by);
    if (to->memory != VY_NONE)
        to->memory = map_memory[to->memory];
    if (map_name)
        to->name = map_name[to->name];
}

/* Copies the arguments of a statement; returns 0 if out of memory. A statement without arguments may have any
 * `args`. */
static int copy_args(vyre_program *program, const vyre_program *from, const vy_stmt *s, uint32_t by,
                     const uint32_t *map_memory) {
    if (!VY_RESERVE(&program->args, s->arg_count))
        return 0;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = from->args.items[s->args + i];
        arg.index = arg.is_memory ? map_memory[arg.index] : arg.index + by;
        program->args.items[program->args.count++] = arg;
    }
    return 1;
}

/* Copies the variables that a statement declares; returns 0 if out of memory. */
static int copy_results(vyre_program *program, const vyre_program *from, const vy_stmt *s, vy_position position,
                        uint32_t *map_variable, const vy_symbol *map_name) {
    uint32_t declared = s->variable, end = declared + s->result_count, to = program->variables.count;
    if (!VY_RESERVE(&program->variables, s->result_count))
        return 0;
    program->variables.count += s->result_count;
    for (; declared < end; declared++, to++) {
        vy_variable *made = &program->variables.items[to];
        *made = from->variables.items[declared];
        made->position = position;
        if (map_name)
            made->name = map_name[made->name];
        map_variable[declared] = to;
    }
    return 1;
}

/* The open blocks of the copied statements. */
typedef struct nesting {
    uint32_t end[VY_LIMIT_NESTING], depth;
} nesting;

/* The statements may nest deeper in the draft than in the source. */
static void track_nesting(vy_irb *draft, nesting *open, uint32_t index, uint32_t end) {
    while (open->depth && open->end[open->depth - 1] <= index)
        open->depth--;
    if (open->depth < VY_LIMIT_NESTING)
        open->end[open->depth++] = end;
    draft->needs_verify |= draft->depth + open->depth > VY_LIMIT_NESTING;
}

void vy_irb_clone_stmts(vy_irb *draft, const vyre_program *from, uint32_t first, uint32_t end, uint32_t *map_variable,
                        const uint32_t *map_memory, const vy_symbol *map_name) {
    vyre_program *program = draft->program;
    const vy_stmt *stmts = from->stmts.items;
    uint32_t end_expr;
    origin source = {first, 0}, here = {program->stmts.count, program->exprs.count};
    if (vy_irb_is_full(draft, here.stmt + (end - first) - 1, VY_LIMIT_STATEMENTS))
        return;
    find_exprs(from, first, end, &source.expr, &end_expr);
    if (!VY_RESERVE(&program->stmts, end - first) ||
        (draft->keep_positions && !VY_RESERVE(&program->stmt_positions, end - first))) {
        draft->failed = 1;
        return;
    }
    vy_stmt *to = program->stmts.items + here.stmt;
    vy_position last = vy_stmt_position(from, end - 1);
    nesting open;
    open.depth = 0;
    /* The output may overlap the input: a statement is written only after it was read completely. */
    for (uint32_t i = first; i < end && !draft->failed; i++, to++) {
        const vy_stmt *s = &stmts[i];
        uint32_t args = program->args.count, variable = s->variable;
        if (s->arg_count)
            draft->failed |= !copy_args(program, from, s, here.expr - source.expr, map_memory);
        if (s->result_count) {
            variable = program->variables.count;
            draft->failed |= !copy_results(program, from, s, vy_stmt_position(from, i), map_variable, map_name);
        } else if (variable != VY_NONE) {
            variable = map_variable[variable];
        }
        if (vy_stmt_is_structured(s->kind))
            track_nesting(draft, &open, i, s->end);
        relocate_stmt(to, s, &source, &here, map_memory, map_name);
        to->args = args;
        to->variable = variable;
    }
    if (draft->failed)
        return;
    draft->position = last;
    program->stmts.count += end - first;
    if (draft->keep_positions)
        append_positions(program->stmt_positions.items, &program->stmt_positions.count,
                         from->stmt_positions.count ? from->stmt_positions.items + first : NULL, end - first);
    vy_irb_clone_exprs(draft, from, source.expr, end_expr, map_variable, map_memory);
    draft->written_exprs = program->exprs.count;
}
