/* Programs: reference counting, accessors of vyre/program.h, queries on expressions and loops, attributes of calls. */
#include "ir/model.h"

#include "ir/identifiers.h"

#include <inttypes.h>
#include <stdio.h>

vyre_program *vyre_program_retain(vyre_program *program) {
    if (program)
        atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
    return program;
}

vy_keepalive *vy_keepalive_retain(vy_keepalive *pin) {
    if (pin)
        atomic_fetch_add_explicit(&pin->references, 1, memory_order_relaxed);
    return pin;
}

const vy_lowered_op *vy_lowered_op_of(const vyre_program *program, const vy_stmt *stmt) {
    const vy_keepalive *pin = program->keepalive;
    const char *name =
        stmt->kind == VY_STMT_CALL && stmt->callee == VY_NONE ? vy_symbol_name(program, stmt->name) : NULL;
    for (uint32_t i = 0; name && pin && i < pin->lowered_count; i++)
        if (strcmp(pin->lowered[i].name, name) == 0)
            return &pin->lowered[i];
    return NULL;
}

int vy_program_is_lowered(const vyre_program *program) {
    return program->keepalive && program->keepalive->lowered_count;
}

void vy_keepalive_release(vy_keepalive *pin) {
    if (pin && atomic_fetch_sub_explicit(&pin->references, 1, memory_order_acq_rel) == 1)
        pin->release(pin);
}

void vyre_program_release(vyre_program *program) {
    if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1)
        return;
    vy_intern_pool_free(&program->names);
    VY_VECTOR_FREE(&program->functions);
    VY_VECTOR_FREE(&program->params);
    VY_VECTOR_FREE(&program->results);
    VY_VECTOR_FREE(&program->variables);
    VY_VECTOR_FREE(&program->memories);
    VY_VECTOR_FREE(&program->sizes);
    VY_VECTOR_FREE(&program->tables);
    VY_VECTOR_FREE(&program->table_bytes);
    VY_VECTOR_FREE(&program->stmts);
    VY_VECTOR_FREE(&program->exprs);
    VY_VECTOR_FREE(&program->args);
    VY_VECTOR_FREE(&program->stmt_positions);
    VY_VECTOR_FREE(&program->expr_positions);
    vy_source_release(program->source);
    vy_keepalive_release(program->keepalive);
    vy_release(program, sizeof *program);
}

const char *vyre_program_name(const vyre_program *program) {
    return program ? vy_symbol_name(program, program->name) : NULL;
}

vyre_program_kind vyre_program_get_kind(const vyre_program *program) {
    return program ? (vyre_program_kind)program->kind : VYRE_PROGRAM_ENTRY;
}

vyre_level vyre_program_level(const vyre_program *program) {
    return program ? (vyre_level)program->level : VYRE_LEVEL_SOURCE;
}

vyre_numerics vyre_program_numerics(const vyre_program *program) {
    return program ? (vyre_numerics)program->numerics : VYRE_NUMERICS_STRICT;
}

void vyre_program_fingerprint(const vyre_program *program, vyre_digest *out) {
    if (out)
        *out = program ? program->fingerprint : (vyre_digest){{0}};
}

int vyre_program_equal(const vyre_program *a, const vyre_program *b) {
    return a && b && (a == b || memcmp(&a->fingerprint, &b->fingerprint, sizeof a->fingerprint) == 0);
}

void vyre_program_workgroup(const vyre_program *program, uint32_t size[3]) {
    for (int d = 0; size && d < 3; d++)
        size[d] = program ? program->workgroup[d] : 0;
}

vyre_grid_kind vyre_program_grid(const vyre_program *program) {
    return program ? (vyre_grid_kind)program->grid.kind : VYRE_GRID_DISPATCH;
}

int vyre_program_schedule_dependent(const vyre_program *program) {
    return program && (program->facts & VY_PROGRAM_IS_SCHEDULE_DEPENDENT) != 0;
}

size_t vyre_program_param_count(const vyre_program *program) {
    return program ? program->param_count : 0;
}

int vyre_program_param(const vyre_program *program, size_t index, vyre_param_info *out) {
    const vy_function *entry = program && out ? vy_program_entry(program) : NULL;
    if (!entry || index >= program->param_count)
        return 0;
    const vy_variable *variable = &program->variables.items[entry->first_variable + index];
    *out = (vyre_param_info){vy_symbol_name(program, variable->name), (vyre_type)variable->type};
    return 1;
}

size_t vyre_program_buffer_count(const vyre_program *program) {
    return program ? program->buffer_count : 0;
}

int vyre_program_buffer(const vyre_program *program, size_t index, vyre_buffer_info *out) {
    const vy_function *entry = program && out ? vy_program_entry(program) : NULL;
    if (!entry || index >= program->buffer_count)
        return 0;
    const vy_memory *memory = &program->memories.items[entry->first_memory + index];
    *out = (vyre_buffer_info){.name = vy_symbol_name(program, memory->name),
                              .type = (vyre_type)memory->type,
                              .access = (vyre_access)memory->access,
                              .has_count = memory->size != VY_NONE};
    if (out->has_count && program->sizes.items[memory->size].kind == VY_SIZE_LITERAL) {
        out->is_static = 1;
        out->count = program->sizes.items[memory->size].value;
    }
    return 1;
}

size_t vyre_program_function_count(const vyre_program *program) {
    return program ? program->functions.count - (vy_program_entry(program) != NULL) : 0;
}

const char *vyre_program_function_name(const vyre_program *program, size_t index) {
    return index < vyre_program_function_count(program) ? vy_symbol_name(program, program->functions.items[index].name)
                                                        : NULL;
}

void vyre_program_get_stats(const vyre_program *program, vyre_program_stats *out) {
    if (out)
        *out = program ? (vyre_program_stats){(uint32_t)vyre_program_function_count(program), program->stmts.count,
                                              program->exprs.count, program->variables.count}
                       : (vyre_program_stats){0};
}

int vy_loop_runs_once(const vyre_program *program, uint32_t loop) {
    const vy_stmt *stmts = program->stmts.items;
    uint32_t last = VY_NONE;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i = stmts[i].end)
        last = i;
    if (last == VY_NONE || (stmts[last].kind != VY_STMT_BREAK && stmts[last].kind != VY_STMT_RETURN))
        return 0;
    for (uint32_t i = loop + 1; i < stmts[loop].end;) {
        if (stmts[i].kind == VY_STMT_CONTINUE)
            return 0;
        i = vy_stmt_is_loop(stmts[i].kind) ? stmts[i].end : i + 1;
    }
    return 1;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, here and below. */
int vy_expr_equal(const vyre_program *program, uint32_t one, uint32_t other) {
    if (one == VY_NONE || other == VY_NONE)
        return one == other;
    const vy_expr *a = &program->exprs.items[one], *b = &program->exprs.items[other];
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->axis != b->axis)
        return 0;
    switch ((vy_expr_kind)a->kind) {
    case VY_EXPR_LITERAL:
        return a->bits == b->bits;
    case VY_EXPR_VARIABLE:
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        return a->a == b->a;
    case VY_EXPR_BUILTIN:
        return 1;
    case VY_EXPR_OP:
        return vy_expr_equal(program, a->a, b->a) && vy_expr_equal(program, a->b, b->b) &&
               vy_expr_equal(program, a->c, b->c);
    default:
        return 0;
    }
}

int vy_expr_is_invariant(const vyre_program *program, uint32_t expr) {
    if (expr == VY_NONE)
        return 1;
    const vy_expr *e = &program->exprs.items[expr];
    if (e->kind == VY_EXPR_OP)
        return vy_expr_is_invariant(program, e->a) && vy_expr_is_invariant(program, e->b) &&
               vy_expr_is_invariant(program, e->c);
    return e->kind != VY_EXPR_LOAD && (e->kind != VY_EXPR_VARIABLE || !program->variables.items[e->a].is_mutable);
}

/* Attributes of op calls: canonical spelling and parsing (model.h). */
/* ---- values ---- */

int vy_attribute_spell(vy_diag_sink *report, const vy_number *number, int negative, uint64_t bits, vy_position at,
                       char value[VY_ATTRIBUTE_CAPACITY]) {
    if (!number) {
        snprintf(value, VY_ATTRIBUTE_CAPACITY, "%s", bits ? "true" : "false");
        return 1;
    }
    if (number->type == VYRE_TYPE_COUNT && (number->is_float || number->too_large)) {
        vy_diag_sink_error(
            report, VY_T054, at, number->is_float ? "write its type: `1.5f32`" : "write a number below 2^64",
            "the value of an attribute is %s", number->is_float ? "a float without a type" : "too large for any type");
        return 0;
    }
    if (number->type == VYRE_TYPE_COUNT) {
        snprintf(value, VY_ATTRIBUTE_CAPACITY, "%s%" PRIu64, negative && number->value ? "-" : "", number->value);
        return 1;
    }
    if (!vy_number_bits(report, number, negative, (vyre_type)number->type, at, &bits))
        return 0;
    vy_string text = {0};
    vy_number_print(&text, (vyre_type)number->type, bits, 1);
    int fits = !text.failed && text.length < VY_ATTRIBUTE_CAPACITY;
    if (fits)
        memcpy(value, text.text, text.length + 1);
    report->out_of_memory |= text.failed;
    vy_string_free(&text);
    return fits;
}

static int is_bool(const char *value) {
    return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
}

/* The number of a canonical value, without its sign. */
static int read_number(const char *value, vy_number *number, int *negative) {
    vy_diag_sink ignored = {0};
    *negative = value[0] == '-';
    const char *digits = value + *negative;
    vy_position at = {1, 1, (uint32_t)strlen(digits)};
    return digits[0] >= '0' && digits[0] <= '9' && vy_number_read(&ignored, digits, at, number);
}

int vy_attribute_bits(const char *value, vyre_type type, uint64_t *bits) {
    vy_diag_sink ignored = {0};
    vy_number number;
    int negative;
    if (is_bool(value)) {
        *bits = value[0] == 't';
        return type == VYRE_TYPE_BOOL;
    }
    if (type == VYRE_TYPE_BOOL || !read_number(value, &number, &negative))
        return 0;
    return (number.type == VYRE_TYPE_COUNT || number.type == type) &&
           vy_number_bits(&ignored, &number, negative, type, (vy_position){0}, bits);
}

/* ---- names of calls ---- */

size_t vy_call_id_length(const char *name) {
    return strcspn(name, "<");
}

/* Reads one `name = value` at *cursor and advances it. */
static int read_attribute(const char **cursor, vy_attribute *out) {
    const char *text = *cursor;
    out->name = text;
    out->name_length = strcspn(text, " =,>");
    text += out->name_length;
    if (!vy_text_is_identifier(out->name, out->name_length) || strncmp(text, " = ", 3) != 0)
        return 0;
    text += 3;
    size_t length = strcspn(text, ",>");
    if (length == 0 || length >= VY_ATTRIBUTE_CAPACITY)
        return 0;
    memcpy(out->value, text, length);
    out->value[length] = 0;
    *cursor = text + length;
    return 1;
}

/* The spelling must be the canonical one. */
static int is_canonical(const vy_attribute *attribute) {
    vy_diag_sink ignored = {0};
    vy_number number;
    char respelled[VY_ATTRIBUTE_CAPACITY];
    int negative;
    if (is_bool(attribute->value))
        return 1;
    return read_number(attribute->value, &number, &negative) &&
           vy_attribute_spell(&ignored, &number, negative, 0, (vy_position){0}, respelled) &&
           strcmp(respelled, attribute->value) == 0;
}

static int is_before(const vy_attribute *a, const vy_attribute *b) {
    size_t shorter = a->name_length < b->name_length ? a->name_length : b->name_length;
    int order = memcmp(a->name, b->name, shorter);
    return order < 0 || (order == 0 && a->name_length < b->name_length);
}

size_t vy_call_attributes(const char *name, vy_attribute *out) {
    const char *cursor = name + vy_call_id_length(name);
    size_t count = 0;
    if (!*cursor)
        return 0;
    do {
        cursor += count ? 2 : 1; /* the `<`, or the comma and its blank */
        if (count == VY_ATTRIBUTES_LIMIT || !read_attribute(&cursor, &out[count]) || !is_canonical(&out[count]) ||
            (count && !is_before(&out[count - 1], &out[count])))
            return SIZE_MAX;
        count++;
    } while (cursor[0] == ',' && cursor[1] == ' ');
    return strcmp(cursor, ">") == 0 ? count : SIZE_MAX;
}

const char *vy_call_spelling(const char *name, char storage[VY_CALL_SPELLING_CAPACITY]) {
    size_t length = vy_call_id_length(name);
    if (!vy_text_is_op_id(name, length) || vy_text_is_bare_op_id(name, length))
        return name;
    snprintf(storage, VY_CALL_SPELLING_CAPACITY, "\"%.*s\"%s", (int)length, name, name + length);
    return storage;
}

int vy_text_is_op_call(const char *name) {
    vy_attribute attributes[VY_ATTRIBUTES_LIMIT];
    return vy_text_is_op_id(name, vy_call_id_length(name)) && vy_call_attributes(name, attributes) != SIZE_MAX;
}
