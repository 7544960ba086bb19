/* The public builder (vyre/builder.h): life cycle, errors, program header, functions, declarations, sizes and the
 * grid. */
#include "ir/build/builder_internal.h"

#include "base/status.h"
#include "ir/dispatch_resolve.h"
#include "ir/validate/validate.h"
#include "ir/wire/format.h"
#include "vyre/wire.h"

#include <stdarg.h>
#include <stdio.h>

_Static_assert((int)VYRE_SPACE_BUFFER == (int)VY_SPACE_BUFFER && (int)VYRE_SPACE_WORKGROUP == (int)VY_SPACE_WORKGROUP &&
                   (int)VYRE_SPACE_PRIVATE == (int)VY_SPACE_PRIVATE && (int)VYRE_SPACE_COUNT == (int)VY_SPACE_CONSTANT,
               "the public spaces are the model's");

/* ---- errors ---- */

void vy_builder_no_memory(vyre_builder *b) {
    b->no_memory = 1;
}

void vy_builder_error(vyre_builder *b, vy_diag_code code, const char *fix, const char *format, ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    b->errors++;
    if (!b->findings && !(b->findings = vyre_diagnostics_new()))
        vy_builder_no_memory(b);
    vy_diagnostic_add(b->findings, NULL, vy_diag_code_name(code), VYRE_SEVERITY_ERROR, (vy_position){0, 0, 0},
                      fix ? fix : vy_diag_code_fix(code), "%s", message);
}

vy_symbol vy_builder_intern(vyre_builder *b, const char *name, const char *what, int may_be_empty) {
    if (!name && !may_be_empty)
        vy_builder_error(b, VY_B007, VY_FIX("pass a name for %s", what), "the name of %s is NULL", what);
    return name ? vy_irb_intern(&b->draft, name, strlen(name)) : 0;
}

int vy_builder_check_enum(vyre_builder *b, unsigned value, unsigned count, const char *what) {
    if (value < count)
        return 1;
    vy_builder_error(b, VY_B007, VY_FIX("pass a value of the enum, below %u", count),
                     "%s (%u) is not in its list (%u entries)", what, value, count);
    return 0;
}

int vy_builder_check_level(vyre_builder *b, unsigned level, const char *name) {
    if (level == VYRE_LEVEL_SOURCE)
        return 1;
    vy_builder_error(b, VY_B012, NULL, "`%s` exists only at level legal", name);
    return 0;
}

/* ---- creation and destruction ---- */

static vyre_builder *new_builder(const char *name, vyre_program_kind kind) {
    vyre_builder *b = vy_allocate_zero(sizeof *b);
    if (!b)
        return NULL;
    if (vy_irb_start(&b->draft, name ? name : "", NULL) != VYRE_OK) {
        vy_release(b, sizeof *b);
        return NULL;
    }
    b->draft.program->kind = (uint8_t)kind;
    b->scope = VY_SCOPE_ENTRY;
    b->grid.memory = VY_NONE;
    for (int i = 0; i < 3; i++)
        b->grid.sizes[i] = VY_NONE;
    if (!name)
        vy_builder_error(b, VY_B007, "pass the name of the program to vyre_builder_new",
                         "the name of the program is NULL");
    return b;
}

vyre_builder *vyre_builder_new(const char *name) {
    return new_builder(name, VYRE_PROGRAM_ENTRY);
}

vyre_builder *vyre_builder_new_library(void) {
    return new_builder("", VYRE_PROGRAM_LIBRARY);
}

void vyre_builder_free(vyre_builder *b) {
    if (!b)
        return;
    if (b->draft.program)
        vy_irb_discard(&b->draft);
    vyre_diagnostics_free(b->findings);
    VY_VECTOR_FREE(&b->nodes);
    VY_VECTOR_FREE(&b->variables);
    VY_VECTOR_FREE(&b->memories);
    VY_VECTOR_FREE(&b->sizes);
    VY_VECTOR_FREE(&b->params);
    VY_VECTOR_FREE(&b->results);
    VY_VECTOR_FREE(&b->functions);
    VY_VECTOR_FREE(&b->blocks);
    vy_release(b, sizeof *b);
}

/* ---- program header ---- */

void vyre_builder_numerics(vyre_builder *b, vyre_numerics numerics) {
    if (b && vy_builder_check_enum(b, numerics, VYRE_NUMERICS_RELAXED + 1, "the numerics"))
        b->draft.program->numerics = (uint8_t)numerics;
}

void vyre_builder_workgroup(vyre_builder *b, uint32_t x, uint32_t y, uint32_t z) {
    if (!b)
        return;
    b->draft.program->workgroup[0] = x;
    b->draft.program->workgroup[1] = y;
    b->draft.program->workgroup[2] = z;
}

static vyre_memory poison_memory(const vyre_builder *b) {
    return (vyre_memory){b, VY_POISON};
}

/* Whether a declaration is still allowed in this scope. */
static int may_declare(vyre_builder *b, const char *what, const char *name) {
    if (!b->declarations_flushed)
        return 1;
    vy_builder_error(b, VY_B004, NULL, "%s `%s` is declared after statement %u", what, name ? name : "", b->stmt_count);
    return 0;
}

static void add_param(vyre_builder *b, uint32_t is_memory, uint32_t index) {
    if (b->scope == VY_SCOPE_ENTRY)
        return;
    vy_built_param *param = VY_PUSH(&b->params);
    if (!param) {
        vy_builder_no_memory(b);
        return;
    }
    *param = (vy_built_param){is_memory, index};
    b->functions.items[b->scope].param_count++;
}

/* ---- params and memories ---- */

vyre_value vyre_param(vyre_builder *b, const char *name, vyre_type type) {
    if (!b)
        return vyre_no_value();
    vyre_value poison = {b, VY_POISON};
    if (!may_declare(b, "param", name) || !vy_builder_check_enum(b, type, VYRE_TYPE_COUNT, "the type of a param"))
        return poison;
    vyre_value value = vy_builder_add_variable(b, vy_builder_intern(b, name, "a param", 0), type, 0, 1, VY_NONE);
    if (value.index != VY_POISON)
        add_param(b, 0, b->nodes.items[value.index].a);
    return value;
}

static vyre_memory add_memory(vyre_builder *b, const char *what, const char *name, const vy_built_memory *from) {
    int is_good = may_declare(b, what, name);
    is_good &= vy_builder_check_enum(b, from->type, VYRE_TYPE_COUNT, "the element type");
    is_good &= vy_builder_check_enum(b, from->access, VYRE_ACCESS_COUNT, "the access");
    if (!from->is_constant)
        is_good &= vy_builder_check_enum(b, from->space, VYRE_SPACE_COUNT, "the space");
    vy_built_memory *memory = is_good ? VY_PUSH(&b->memories) : NULL;
    if (!memory) {
        if (is_good)
            vy_builder_no_memory(b);
        return poison_memory(b);
    }
    *memory = *from;
    memory->name = vy_builder_intern(b, name, what, 0);
    memory->scope = b->scope;
    memory->size = memory->index = VY_NONE;
    return (vyre_memory){b, b->memories.count - 1};
}

/* Enums from callers may have any value: clamped to the byte of their table, so that the check still rejects them. */
static uint8_t clamp_to_byte(unsigned value) {
    return value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
}

vyre_memory vyre_buffer(vyre_builder *b, const char *name, vyre_type type, vyre_access access) {
    if (!b)
        return (vyre_memory){NULL, 0};
    if (b->scope != VY_SCOPE_ENTRY || b->draft.program->kind == VYRE_PROGRAM_LIBRARY) {
        vy_builder_error(b, VY_B009, "use vyre_memory_param for a buffer the caller passes",
                         "buffer `%s` is declared in a function or library", name ? name : "");
        return poison_memory(b);
    }
    return add_memory(
        b, "buffer", name,
        &(vy_built_memory){
            .space = VY_SPACE_BUFFER, .type = clamp_to_byte(type), .access = clamp_to_byte(access), .is_param = 1});
}

vyre_memory vyre_memory_param(vyre_builder *b, const char *name, vyre_space space, vyre_type type, vyre_access access) {
    if (!b)
        return (vyre_memory){NULL, 0};
    if (b->scope == VY_SCOPE_ENTRY) {
        vy_builder_error(b, VY_B009, "declare a buffer of the program with vyre_buffer",
                         "memory parameter `%s` is declared outside a function", name ? name : "");
        return poison_memory(b);
    }
    if (space != VYRE_SPACE_BUFFER)
        access = VYRE_ACCESS_READ_WRITE;
    vyre_memory memory = add_memory(b, "memory parameter", name,
                                    &(vy_built_memory){.space = clamp_to_byte(space),
                                                       .type = clamp_to_byte(type),
                                                       .access = clamp_to_byte(access),
                                                       .is_param = 1});
    if (memory.index != VY_POISON)
        add_param(b, 1, memory.index);
    return memory;
}

vyre_memory vyre_array(vyre_builder *b, const char *name, vyre_space space, vyre_type type, uint32_t elements) {
    if (!b)
        return (vyre_memory){NULL, 0};
    return add_memory(b, "array", name,
                      &(vy_built_memory){.space = clamp_to_byte(space),
                                         .type = clamp_to_byte(type),
                                         .access = VYRE_ACCESS_READ_WRITE,
                                         .elements = elements});
}

vyre_memory vyre_const_array(vyre_builder *b, const char *name, vyre_type type, uint32_t elements, const void *data) {
    if (!b)
        return (vyre_memory){NULL, 0};
    if (!vy_builder_check_enum(b, type, VYRE_TYPE_COUNT, "the element type"))
        return poison_memory(b);
    uint64_t bytes = (uint64_t)elements * vyre_type_size(type);
    if (bytes > VY_LIMIT_CONSTANT_BYTES) {
        vy_builder_error(b, VY_V047, NULL, "constant array `%s` too large (%llu bytes, limit %d)", name ? name : "",
                         (unsigned long long)bytes, VY_LIMIT_CONSTANT_BYTES);
        return poison_memory(b);
    }
    if (!data && elements) {
        vy_builder_error(b, VY_B007, "pass the elements", "the elements of constant array `%s` are NULL",
                         name ? name : "");
        return poison_memory(b);
    }
    return add_memory(b, "constant array", name,
                      &(vy_built_memory){.space = VY_SPACE_CONSTANT,
                                         .type = (uint8_t)type,
                                         .access = VYRE_ACCESS_READ,
                                         .is_constant = 1,
                                         .elements = elements,
                                         .table = vy_irb_table(&b->draft, type, elements, data)});
}

uint32_t vy_builder_use_memory(vyre_builder *b, vyre_memory memory, const char *user) {
    if (vy_builder_is_poisoned(b, memory.builder, memory.index))
        return VY_POISON;
    if (memory.builder != b || memory.index >= b->memories.count) {
        vy_builder_error(b, VY_B001, NULL, "the memory of %s (statement %u) %s", user, b->stmt_count,
                         vy_builder_handle_problem(b, memory.builder));
        return VY_POISON;
    }
    const vy_built_memory *built = &b->memories.items[memory.index];
    if (built->scope != b->scope) {
        vy_builder_error(b, VY_B011, "pass it to the function as a memory parameter",
                         "the memory of %s (statement %u), `%s`, belongs to another function", user, b->stmt_count,
                         vy_builder_symbol_name(b, built->name));
        return VY_POISON;
    }
    return memory.index;
}

/* ---- functions ---- */

vyre_function vyre_builder_begin_function(vyre_builder *b, const char *name) {
    if (!b)
        return (vyre_function){NULL, 0};
    vyre_function poison = {b, VY_POISON};
    if (b->scope != VY_SCOPE_ENTRY) {
        vy_builder_error(b, VY_B009, "call vyre_builder_end_function first; functions do not nest",
                         "function `%s` begins inside function `%s`", name ? name : "",
                         vy_builder_symbol_name(b, b->functions.items[b->scope].name));
        return poison;
    }
    if (b->declarations_flushed) {
        vy_builder_error(b, VY_B004, "build functions before the first statement of the program",
                         "function `%s` begins after statement %u of the program", name ? name : "", b->stmt_count);
        return poison;
    }
    vy_built_function *function = VY_PUSH(&b->functions);
    if (!function) {
        vy_builder_no_memory(b);
        return poison;
    }
    *function = (vy_built_function){.name = vy_builder_intern(b, name, "a function", 0),
                                    .first_param = b->params.count,
                                    .first_result = b->results.count};
    b->scope = b->functions.count - 1;
    b->first_memory = b->memories.count;
    return (vyre_function){b, b->scope};
}

void vyre_builder_result(vyre_builder *b, const char *name, vyre_type type) {
    if (!b)
        return;
    if (b->scope == VY_SCOPE_ENTRY) {
        vy_builder_error(b, VY_B009, "write the results of a program to a buffer",
                         "result `%s` is declared outside a function", name ? name : "");
        return;
    }
    if (!may_declare(b, "result", name) || !vy_builder_check_enum(b, type, VYRE_TYPE_COUNT, "the type of a result"))
        return;
    vy_result *result = VY_PUSH(&b->results);
    if (!result) {
        vy_builder_no_memory(b);
        return;
    }
    *result = (vy_result){vy_builder_intern(b, name, "a result", 1), (uint8_t)type};
    b->functions.items[b->scope].result_count++;
}

void vyre_builder_end_function(vyre_builder *b) {
    if (!b)
        return;
    if (b->scope == VY_SCOPE_ENTRY) {
        vy_builder_error(b, VY_B009, "call it once for each vyre_builder_begin_function",
                         "a function ends where none is open");
        return;
    }
    for (; b->blocks.count; b->blocks.count--)
        vy_builder_error(b, VY_B005, "call vyre_builder_end once for each block, before vyre_builder_end_function",
                         "the block that statement %u opens is not closed", b->blocks.items[b->blocks.count - 1].stmt);
    vy_builder_flush_declarations(b);
    if (vy_builder_is_valid(b))
        vy_irb_end_function(&b->draft);
    b->scope = VY_SCOPE_ENTRY;
    b->declarations_flushed = 0;
}

/* ---- sizes ---- */

static vyre_size add_size(vyre_builder *b, vy_built_size size) {
    vy_built_size *item = VY_PUSH(&b->sizes);
    if (!item) {
        vy_builder_no_memory(b);
        return (vyre_size){b, VY_POISON};
    }
    *item = size;
    return (vyre_size){b, b->sizes.count - 1};
}

/* The index of a size in use. */
static uint32_t use_size(vyre_builder *b, vyre_size size, const char *user) {
    if (vy_builder_is_poisoned(b, size.builder, size.index))
        return VY_POISON;
    if (size.builder != b || size.index >= b->sizes.count) {
        vy_builder_error(b, VY_B001, NULL, "the size of %s %s", user, vy_builder_handle_problem(b, size.builder));
        return VY_POISON;
    }
    vy_built_size *built = &b->sizes.items[size.index];
    if (built->is_used) {
        vy_builder_error(b, VY_B002, "create the size again for each use",
                         "size %u is used twice, the second time by %s", size.index, user);
        return VY_POISON;
    }
    built->is_used = built->kind >= VY_SIZE_ADD;
    return size.index;
}

vyre_size vyre_size_literal(vyre_builder *b, uint64_t value) {
    return b ? add_size(b, (vy_built_size){.kind = VY_SIZE_LITERAL, .value = value}) : vyre_no_size();
}

vyre_size vyre_size_param(vyre_builder *b, vyre_value param) {
    if (!b)
        return vyre_no_size();
    uint32_t node = vy_builder_use_value(b, param, "a size", "param");
    if (node == VY_POISON)
        return (vyre_size){b, VY_POISON};
    const vy_builder_node *leaf = &b->nodes.items[node];
    if (leaf->kind != VY_EXPR_VARIABLE || !b->variables.items[leaf->a].is_param || b->scope != VY_SCOPE_ENTRY) {
        char text[96];
        vy_builder_error(b, VY_B006, "pass the value that vyre_param returned for the program",
                         "the param of a size, %s, is not a param of the program", vy_builder_describe(b, node, text));
        return (vyre_size){b, VY_POISON};
    }
    return add_size(b, (vy_built_size){.kind = VY_SIZE_PARAM, .a = leaf->a});
}

vyre_size vyre_size_len(vyre_builder *b, vyre_memory buffer) {
    if (!b)
        return vyre_no_size();
    uint32_t memory = vy_builder_use_memory(b, buffer, "a size");
    return memory == VY_POISON ? (vyre_size){b, VY_POISON}
                               : add_size(b, (vy_built_size){.kind = VY_SIZE_LEN, .a = memory});
}

vyre_size vyre_size_binary(vyre_builder *b, vyre_size_op op, vyre_size x, vyre_size y) {
    if (!b)
        return vyre_no_size();
    int is_good = vy_builder_check_enum(b, op, VYRE_SIZE_OP_COUNT, "the operator of a size");
    uint32_t left = use_size(b, x, "an operator of sizes"), right = use_size(b, y, "an operator of sizes");
    if (!is_good || left == VY_POISON || right == VY_POISON)
        return (vyre_size){b, VY_POISON};
    uint16_t depth = b->sizes.items[left].depth > b->sizes.items[right].depth ? b->sizes.items[left].depth
                                                                              : b->sizes.items[right].depth;
    if (depth > VY_LIMIT_EXPRESSION_DEPTH) {
        vy_builder_error(b, VY_B010, "pass the value as a param", "a size is deeper than the limit (%d)",
                         VY_LIMIT_EXPRESSION_DEPTH);
        return (vyre_size){b, VY_POISON};
    }
    return add_size(
        b, (vy_built_size){.kind = (uint8_t)(VY_SIZE_ADD + op), .depth = (uint16_t)(depth + 1), .a = left, .b = right});
}

void vyre_builder_count(vyre_builder *b, vyre_memory buffer, vyre_size count) {
    if (!b)
        return;
    uint32_t memory = vy_builder_use_memory(b, buffer, "a count"), size = use_size(b, count, "a count");
    if (memory == VY_POISON || size == VY_POISON)
        return;
    vy_built_memory *built = &b->memories.items[memory];
    if (may_declare(b, "the count of buffer", vy_builder_symbol_name(b, built->name)))
        built->size = size;
}

/* ---- grid: stored until finish, when the buffers have their indices ---- */

static void grid_sizes(vyre_builder *b, vyre_grid_kind kind, vyre_size x, vyre_size y, vyre_size z) {
    if (!b)
        return;
    b->grid.kind = (uint8_t)kind;
    b->grid.sizes[0] = use_size(b, x, "the grid");
    b->grid.sizes[1] = y.builder ? use_size(b, y, "the grid") : VY_NONE;
    b->grid.sizes[2] = z.builder ? use_size(b, z, "the grid") : VY_NONE;
}

void vyre_builder_grid_groups(vyre_builder *b, vyre_size x, vyre_size y, vyre_size z) {
    grid_sizes(b, VYRE_GRID_GROUPS, x, y, z);
}

void vyre_builder_grid_elements(vyre_builder *b, vyre_size x, vyre_size y, vyre_size z) {
    grid_sizes(b, VYRE_GRID_ELEMENTS, x, y, z);
}

static void grid_memory(vyre_builder *b, vyre_grid_kind kind, vyre_memory buffer, uint32_t offset) {
    if (!b)
        return;
    b->grid.kind = (uint8_t)kind;
    b->grid.memory = vy_builder_use_memory(b, buffer, "the grid");
    b->grid.offset = offset;
}

void vyre_builder_grid_over(vyre_builder *b, vyre_memory buffer) {
    grid_memory(b, VYRE_GRID_OVER, buffer, 0);
}

void vyre_builder_grid_indirect(vyre_builder *b, vyre_memory buffer, uint32_t offset) {
    grid_memory(b, VYRE_GRID_INDIRECT, buffer, offset);
}

/* ---- writing the declarations to the draft, in the order of model.h ---- */

/* Recursion is bounded by the depth that vyre_size_binary allows. */
static uint32_t emit_size(vyre_builder *b, uint32_t index) {
    if (index == VY_NONE)
        return VY_NONE;
    vy_built_size size = b->sizes.items[index];
    if (size.kind == VY_SIZE_PARAM)
        size.a = b->variables.items[size.a].index;
    else if (size.kind == VY_SIZE_LEN)
        size.a = b->memories.items[size.a].index;
    else if (size.kind != VY_SIZE_LITERAL) {
        size.a = emit_size(b, size.a);
        size.b = emit_size(b, size.b);
    }
    return vy_irb_size(&b->draft, (vy_size_kind)size.kind, size.a, size.b, size.value);
}

static void flush_memory(vyre_builder *b, const vy_built_memory *memory) {
    if (memory->is_param)
        vy_irb_memory_param(&b->draft, memory->name, (vy_space)memory->space, (vyre_type)memory->type,
                            (vyre_access)memory->access, emit_size(b, memory->size));
    else if (memory->is_constant)
        vy_irb_constant(&b->draft, memory->name, (vyre_type)memory->type, memory->elements, memory->table);
    else
        vy_irb_array(&b->draft, memory->name, (vy_space)memory->space, (vyre_type)memory->type, memory->elements);
}

/* Assigns indices to the memories of the scope, parameters before arrays: a size may refer to a buffer declared
 * later. */
static void assign_memory_indices(vyre_builder *b, uint32_t first) {
    uint32_t next = b->draft.program->memories.count;
    for (int is_param = 1; is_param >= 0; is_param--)
        for (uint32_t i = first; i < b->memories.count; i++)
            if (b->memories.items[i].scope == b->scope && b->memories.items[i].is_param == is_param)
                b->memories.items[i].index = next++;
}

static void flush_function(vyre_builder *b) {
    const vy_built_function *function = &b->functions.items[b->scope];
    vy_irb_begin_function(&b->draft, function->name);
    assign_memory_indices(b, b->first_memory);
    for (uint32_t i = 0; i < function->param_count; i++) {
        vy_built_param param = b->params.items[function->first_param + i];
        if (param.is_memory) {
            flush_memory(b, &b->memories.items[param.index]);
            continue;
        }
        vy_built_variable *variable = &b->variables.items[param.index];
        variable->index = vy_irb_scalar_param(&b->draft, variable->name, (vyre_type)variable->type);
    }
    for (uint32_t i = 0; i < function->result_count; i++) {
        vy_result result = b->results.items[function->first_result + i];
        vy_irb_result(&b->draft, result.name, (vyre_type)result.type);
    }
    for (uint32_t i = b->first_memory; i < b->memories.count; i++)
        if (!b->memories.items[i].is_param)
            flush_memory(b, &b->memories.items[i]);
}

static void flush_entry(vyre_builder *b) {
    vy_irb_begin_entry(&b->draft);
    assign_memory_indices(b, 0);
    for (uint32_t i = 0; i < b->variables.count; i++) {
        vy_built_variable *variable = &b->variables.items[i];
        if (variable->scope == VY_SCOPE_ENTRY && variable->is_param)
            variable->index = vy_irb_scalar_param(&b->draft, variable->name, (vyre_type)variable->type);
    }
    for (int is_param = 1; is_param >= 0; is_param--)
        for (uint32_t i = 0; i < b->memories.count; i++)
            if (b->memories.items[i].scope == VY_SCOPE_ENTRY && b->memories.items[i].is_param == is_param)
                flush_memory(b, &b->memories.items[i]);
}

void vy_builder_flush_declarations(vyre_builder *b) {
    if (b->declarations_flushed)
        return;
    b->declarations_flushed = 1;
    if (!vy_builder_is_valid(b))
        return;
    if (b->scope == VY_SCOPE_ENTRY)
        flush_entry(b);
    else
        flush_function(b);
}

static void emit_grid(vyre_builder *b) {
    vy_grid *grid = &b->draft.program->grid;
    grid->kind = b->grid.kind;
    if (grid->kind == VYRE_GRID_OVER || grid->kind == VYRE_GRID_INDIRECT) {
        grid->memory = b->memories.items[b->grid.memory].index;
        grid->offset = b->grid.offset;
    } else if (grid->kind != VYRE_GRID_DISPATCH) {
        for (int i = 0; i < 3; i++)
            grid->sizes[i] = emit_size(b, b->grid.sizes[i]);
    }
}

/* ---- finish ---- */

static void check_unclosed(vyre_builder *b) {
    for (uint32_t i = b->blocks.count; i > 0; i--) {
        const vy_open_block *block = &b->blocks.items[i - 1];
        vy_builder_error(b, VY_B005, "call vyre_builder_end once for each block, before vyre_builder_finish",
                         "the block that statement %u opens is not closed", block->stmt);
    }
    if (b->scope != VY_SCOPE_ENTRY)
        vy_builder_error(b, VY_B009, "call vyre_builder_end_function after its last statement",
                         "function `%s` is not ended", vy_builder_symbol_name(b, b->functions.items[b->scope].name));
}

vyre_status vyre_builder_finish(vyre_builder *b, vyre_diagnostics *diagnostics, vyre_program **out, vyre_error *error) {
    if (!out)
        vyre_builder_free(b);
    VY_REQUIRE(error, out);
    *out = NULL;
    if (!b)
        return vy_fail_memory(error, "a builder");
    check_unclosed(b);
    if (b->draft.program->kind == VYRE_PROGRAM_ENTRY)
        vy_builder_flush_declarations(b);
    if (b->draft.too_deep) /* the draft omitted statements, so the validator cannot report this */
        vy_builder_error(b, VY_V033, NULL, "blocks nest deeper than the limit (%d)", VY_LIMIT_NESTING);
    vyre_status status;
    if (b->no_memory || b->draft.failed)
        status = vy_fail_memory(error, "a program being built");
    else if (b->errors) {
        for (size_t i = 0; i < vyre_diagnostics_count(b->findings); i++) {
            const vyre_diagnostic *finding = vyre_diagnostics_get(b->findings, i);
            vy_diagnostic_add(diagnostics, NULL, finding->code, finding->severity, (vy_position){0, 0, 0}, finding->fix,
                              "%s", finding->message);
        }
        status = vy_diagnostics_fail(b->findings, VYRE_INVALID_PROGRAM, "the calls of the builder have errors", error);
    } else {
        if (b->draft.program->kind == VYRE_PROGRAM_ENTRY) {
            emit_grid(b);
            vy_irb_end_function(&b->draft);
        }
        status = vy_irb_finish(&b->draft, NULL, diagnostics, out, error);
    }
    vyre_builder_free(b);
    return status;
}

/* Finishing (builder_internal.h): validation, feature flags and fingerprint of a built or decoded program;
 * vyre_wire_decode. */
/* Debug and sanitizer builds validate every step. */
#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
enum { MAY_SKIP_VERIFY = 0 };
#elif defined(__has_feature)
enum { MAY_SKIP_VERIFY = !__has_feature(address_sanitizer) };
#else
enum { MAY_SKIP_VERIFY = 1 };
#endif

/* A verified program may be in use by other threads: it is not written to, here and below. */
vyre_status vy_program_verify(vyre_program *program, vyre_error *error) {
    if (program->is_verified)
        return VYRE_OK;
    vyre_status status = vy_validate(program, NULL, error);
    program->is_verified = status == VYRE_OK;
    return status;
}

vyre_status vy_program_verify_for_codegen(vyre_program *program, vyre_error *error) {
    return !MAY_SKIP_VERIFY       ? vy_program_verify(program, error)
           : program->is_verified ? VYRE_OK
                                  : vy_validate_declarations(program, error);
}

vyre_status vy_program_finalize(vyre_program *program, vyre_error *error) {
    vyre_status status = vy_program_verify(program, error);
    if (status != VYRE_OK || program->has_fingerprint)
        return status;
    status = vy_fingerprint(program, error);
    program->has_fingerprint = status == VYRE_OK;
    return status;
}

/* A step that may exceed a limit on which all code relies is validated immediately. */
static vyre_status finish_body(vy_irb *draft, vyre_diagnostics *diagnostics, vyre_error *error) {
    vyre_program *program = draft->program;
    int is_large = program->stmts.count > VY_LIMIT_STATEMENTS || program->exprs.count > VY_LIMIT_EXPRESSIONS;
    if (MAY_SKIP_VERIFY && draft->skip_verify && !draft->needs_verify && !is_large)
        return vy_derive_program_flags(program, error);
    vyre_status status = vy_validate(program, diagnostics, error);
    program->is_verified = status == VYRE_OK;
    return status == VYRE_OK && !draft->skip_verify ? vy_program_finalize(program, error) : status;
}

vyre_status vy_irb_finish(vy_irb *draft, vy_source *source, vyre_diagnostics *diagnostics, vyre_program **out,
                          vyre_error *error) {
    *out = NULL;
    vyre_program *program = draft->program;
    if (!program)
        return vy_fail_memory(error, "a program");
    program->source = source ? vy_source_retain(source) : NULL;
    vyre_status status = VYRE_OK;
    if (draft->too_large)
        status = vy_fail(error, VYRE_LIMIT, "write a smaller program, or several",
                         "the program has more statements or expression nodes than the limit (%d, %d)",
                         VY_LIMIT_STATEMENTS, VY_LIMIT_EXPRESSIONS);
    else if (draft->failed)
        status = vy_fail_memory(error, "a program");
    else if (draft->too_deep)
        status = vy_fail(error, VYRE_LIMIT, "move the inner blocks into a function",
                         "blocks nest deeper than the limit (%d)", VY_LIMIT_NESTING);
    if (status == VYRE_OK)
        status = finish_body(draft, diagnostics, error);
    if (status != VYRE_OK) {
        vy_irb_discard(draft);
        return status;
    }
    vy_program_cache_dispatch_info(program);
    draft->program = NULL;
    *out = program;
    return VYRE_OK;
}

/* ---- decoding ---- */

static vyre_status finish(vy_decoder *d, vy_source *source, vyre_program **out) {
    vyre_status status = vy_irb_finish(&d->draft, source, d->reader.diagnostics, out, d->reader.error);
    if (status == VYRE_OK && !d->draft.skip_verify && vy_decode_check_digest(d, *out) != VYRE_OK) {
        vyre_program_release(*out);
        *out = NULL;
        status = VYRE_CORRUPT;
    }
    return status;
}

static vyre_status decode(const void *data, size_t size, int is_trusted, vyre_diagnostics *diagnostics,
                          vyre_program **out, vyre_error *error) {
    vy_decoder d = {.reader = {.data = data, .end = size, .diagnostics = diagnostics, .error = error}};
    vy_source *source;
    vyre_status status = vy_decode_to_builder(&d, &source);
    d.draft.skip_verify = is_trusted;
    *out = NULL;
    if (status == VYRE_OK)
        status = finish(&d, source, out);
    vy_source_release(source);
    vy_decoder_free(&d);
    return status;
}

vyre_status vyre_wire_decode(const void *data, size_t size, vyre_diagnostics *diagnostics, vyre_program **out,
                             vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE_ARRAY(error, data, size);
    return decode(data, size, 0, diagnostics, out, error);
}

vyre_status vy_wire_decode_trusted(const void *data, size_t size, vyre_program **out, vyre_error *error) {
    return decode(data, size, 1, NULL, out, error);
}

vyre_status vy_wire_decode_unverified(const void *data, size_t size, vyre_program **out, vyre_error *error) {
    vy_decoder d = {.reader = {.data = data, .end = size, .error = error}, .is_trusted = 1};
    vy_source *source;
    *out = NULL;
    vyre_status status = vy_decode_to_builder(&d, &source);
    if (status == VYRE_OK)
        status = vy_irb_finish(&d.draft, source, NULL, out, error);
    vy_source_release(source);
    vy_decoder_free(&d);
    return status;
}
