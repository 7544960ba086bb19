/* Wire encoder, program fingerprint and debug section (format.h has the layout): one pass over the arrays of a valid
 * program.
 *
 * It relies on the validator: expressions are in postfix order, those of a statement directly follow those of the
 * statement before, and only the data that format.h lists distinguishes two programs. Indices are written relative to
 * their function. */
#include "ir/wire/format.h"

#include "base/status.h"
#include "base/string.h"
#include "ir/op_tables.h"
#include "vyre/wire.h"

/* ---- byte writer ---- */

int vy_wire_writer_grow(vy_wire_writer *writer, size_t n) {
    if (writer->status != VYRE_OK)
        return 0;
    if (n > VY_LIMIT_WIRE_BYTES || writer->size > VY_LIMIT_WIRE_BYTES - n) {
        writer->status = VYRE_LIMIT;
        return 0;
    }
    size_t capacity = writer->size + n + writer->capacity + 64; /* at least doubles */
    uint8_t *data = writer->borrowed ? vy_allocate(capacity) : vy_resize(writer->data, writer->capacity, capacity);
    if (!data) {
        writer->status = VYRE_NO_MEMORY;
        return 0;
    }
    if (writer->borrowed)
        memcpy(data, writer->data, writer->size);
    writer->data = data;
    writer->capacity = capacity;
    writer->borrowed = 0;
    return 1;
}

static void writer_free(vy_wire_writer *writer) {
    if (!writer->borrowed)
        vy_release(writer->data, writer->capacity);
}

static int writer_reserve(vy_wire_writer *writer, size_t n) {
    return writer->capacity - writer->size >= n || vy_wire_writer_grow(writer, n);
}

static void writer_byte(vy_wire_writer *writer, uint8_t value) {
    if (writer_reserve(writer, 1))
        writer->data[writer->size++] = value;
}

static void writer_number(vy_wire_writer *writer, uint64_t value) {
    if (!writer_reserve(writer, 10))
        return;
    while (value >= 0x80) {
        writer->data[writer->size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    writer->data[writer->size++] = (uint8_t)value;
}

/* The low `n` bytes, little-endian. */
static void writer_fixed(vy_wire_writer *writer, uint64_t value, unsigned n) {
    if (!writer_reserve(writer, n))
        return;
    for (unsigned i = 0; i < n; i++)
        writer->data[writer->size++] = (uint8_t)(value >> 8 * i);
}

static void writer_bytes(vy_wire_writer *writer, const void *bytes, size_t n) {
    if (n == 0 || !writer_reserve(writer, n))
        return;
    memcpy(writer->data + writer->size, bytes, n);
    writer->size += n;
}

/* Overwrites n bytes at an offset already written. */
static void writer_patch(vy_wire_writer *writer, size_t at, uint64_t value, unsigned n) {
    if (writer->status == VYRE_OK)
        for (unsigned i = 0; i < n; i++)
            writer->data[at + i] = (uint8_t)(value >> 8 * i);
}

/* ---- program ---- */

enum { NAMES_ON_STACK = 1024 };

typedef struct encoder {
    vy_wire_writer *writer;
    const vyre_program *program;
    const vy_function *function; /* being written */
    uint32_t next_expr;          /* the first expression that is not written yet */
    uint32_t *ordinals;          /* of a string by its offset in the pool, plus 1; 0 = not written yet */
    uint32_t strings;
    uint32_t *tables; /* likewise, by table */
    uint32_t table_count;
} encoder;

static void write_string(encoder *e, vy_symbol name) {
    if (name == 0 || name >= e->program->names.size) {
        writer_byte(e->writer, 0);
        return;
    }
    uint32_t *ordinal = &e->ordinals[name];
    if (*ordinal) {
        writer_number(e->writer, 2 * (uint64_t)(*ordinal - 1) + 1);
        return;
    }
    const char *text = e->program->names.pool + name;
    size_t length = strlen(text);
    *ordinal = ++e->strings;
    writer_number(e->writer, 2 * (uint64_t)length);
    writer_bytes(e->writer, text, length);
}

/* ---- expressions ---- */

static uint8_t memory_tag(const vy_expr *expr) {
    if (expr->kind != VY_EXPR_LOAD)
        return expr->kind == VY_EXPR_LEN ? VY_WIRE_LEN : VY_WIRE_ALIGN_OFFSET;
    return expr->op == VY_BOUNDS_CHECKED ? VY_WIRE_LOAD : expr->c == VY_NONE ? VY_WIRE_LOAD_UNGUARDED : VY_WIRE_LOAD_IF;
}

static void write_expr(encoder *e, const vy_expr *expr) {
    vy_wire_writer *writer = e->writer;
    switch ((vy_expr_kind)expr->kind) {
    case VY_EXPR_LITERAL:
        writer_byte(writer, (uint8_t)(VY_WIRE_LITERAL + expr->type));
        writer_fixed(writer, expr->bits, vy_wire_literal_bytes((vyre_type)expr->type));
        break;
    case VY_EXPR_VARIABLE:
        writer_byte(writer, VY_WIRE_VARIABLE);
        writer_number(writer, expr->a - e->function->first_variable);
        break;
    case VY_EXPR_LOAD:
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        writer_byte(writer, memory_tag(expr));
        writer_number(writer, expr->a - e->function->first_memory);
        break;
    case VY_EXPR_BUILTIN:
        writer_byte(writer, VY_WIRE_BUILTIN);
        writer_byte(writer, expr->op);
        if (vy_builtins[expr->op].has_axes)
            writer_byte(writer, expr->axis);
        break;
    case VY_EXPR_OP:
        writer_byte(writer, (uint8_t)(VY_WIRE_OP + vy_op_tags[expr->op]));
        if (expr->op == VYRE_OP_CAST || expr->op == VYRE_OP_BITCAST)
            writer_byte(writer, expr->type);
        break;
    case VY_EXPR_KIND_COUNT:
        break;
    }
}

/* One past the last expression of a statement: trees are postfix, so it is the root of its last operand. */
static uint32_t stmt_expr_end(const encoder *e, const vy_stmt *stmt) {
    for (uint32_t i = stmt->arg_count; i > 0; i--) {
        const vy_arg *arg = &e->program->args.items[stmt->args + i - 1];
        if (!arg->is_memory)
            return arg->index + 1;
    }
    return stmt->c != VY_NONE   ? stmt->c + 1
           : stmt->b != VY_NONE ? stmt->b + 1
           : stmt->a != VY_NONE ? stmt->a + 1
                                : e->next_expr;
}

/* ---- statements ---- */

static void write_results(encoder *e, const vy_stmt *stmt) {
    writer_number(e->writer, stmt->result_count);
    for (uint32_t i = 0; i < stmt->result_count; i++) {
        const vy_variable *variable = &e->program->variables.items[stmt->variable + i];
        write_string(e, variable->name);
        writer_byte(e->writer, variable->type);
    }
}

static void write_args(encoder *e, const vy_stmt *stmt) {
    writer_number(e->writer, stmt->arg_count);
    for (uint32_t i = 0; i < stmt->arg_count; i++) {
        const vy_arg *arg = &e->program->args.items[stmt->args + i];
        writer_number(e->writer, arg->is_memory ? arg->index - e->function->first_memory + 1u : 0);
    }
}

static void write_collective(encoder *e, const vy_stmt *stmt) {
    writer_byte(e->writer, stmt->op);
    if (vy_collectives[stmt->op].combines)
        writer_byte(e->writer, vy_op_tags[stmt->combine]);
    writer_byte(e->writer, stmt->width);
}

static void write_field(encoder *e, const vy_stmt *stmt, char field) {
    const vyre_program *program = e->program;
    switch (field) {
    case 'n':
        write_string(e, program->variables.items[stmt->variable].name);
        break;
    case 'r':
        writer_byte(e->writer, stmt->result_count);
        if (stmt->result_count)
            write_string(e, program->variables.items[stmt->variable].name);
        break;
    case 'v':
        writer_number(e->writer, stmt->variable - e->function->first_variable);
        break;
    case 'm':
        writer_number(e->writer, stmt->memory - e->function->first_memory);
        break;
    case 'a':
        writer_byte(e->writer, stmt->op);
        break;
    case 'o':
        writer_byte(e->writer, stmt->order);
        break;
    case 's':
        writer_byte(e->writer, stmt->scope);
        break;
    case 'k':
        write_collective(e, stmt);
        break;
    case 'c':
        writer_number(e->writer, stmt->callee == VY_NONE ? 0 : (uint64_t)stmt->callee + 1);
        if (stmt->callee == VY_NONE)
            write_string(e, stmt->name);
        break;
    case 'g':
        write_args(e, stmt);
        break;
    case 't':
        write_results(e, stmt);
        break;
    case 'x':
        write_string(e, stmt->name);
        break;
    case 'u':
        if (program->level == VYRE_LEVEL_LEGAL)
            writer_byte(e->writer, stmt->bounds_check);
        break;
    case 'w':
        writer_number(e->writer, stmt->result_count);
        for (uint32_t i = 0; i < stmt->result_count; i++)
            write_string(e, program->variables.items[stmt->variable + i].name);
        break;
    }
}

static void write_stmt(encoder *e, const vy_stmt *stmt) {
    uint32_t end = stmt_expr_end(e, stmt);
    for (; e->next_expr < end; e->next_expr++)
        write_expr(e, &e->program->exprs.items[e->next_expr]);
    const vy_wire_stmt *row = &vy_wire_stmts[stmt->kind];
    writer_byte(e->writer, row->tag);
    for (const char *field = row->fields; *field; field++)
        write_field(e, stmt, *field);
}

static void write_body(encoder *e) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t open[VY_LIMIT_NESTING + 2], depth = 0;
    for (uint32_t i = e->function->first_stmt;; i++) {
        while (depth && stmts[open[depth - 1]].end == i) {
            writer_byte(e->writer, VY_WIRE_END);
            depth--;
        }
        if (i == e->function->end_stmt)
            break;
        /* Only the innermost open block can have its else here: inner blocks that ended are closed above. */
        if (depth && stmts[open[depth - 1]].kind == VY_STMT_IF && stmts[open[depth - 1]].middle == i)
            writer_byte(e->writer, VY_WIRE_ELSE);
        write_stmt(e, &stmts[i]);
        if (vy_stmt_is_structured(stmts[i].kind))
            open[depth++] = i;
    }
    writer_byte(e->writer, VY_WIRE_END);
}

/* ---- declarations ---- */

/* Recursion is bounded: the validator limits the depth of size expressions. */
static void write_size_nodes(encoder *e, uint32_t root) {
    const vy_size *size = &e->program->sizes.items[root];
    const vy_wire_size *row = &vy_wire_sizes[size->kind];
    if (row->operands) {
        write_size_nodes(e, size->a);
        write_size_nodes(e, size->b);
    }
    writer_byte(e->writer, row->tag);
    if (size->kind == VY_SIZE_LITERAL)
        writer_number(e->writer, size->value);
    else if (size->kind == VY_SIZE_PARAM)
        writer_number(e->writer, size->a - e->function->first_variable);
    else if (size->kind == VY_SIZE_LEN)
        writer_number(e->writer, size->a - e->function->first_memory);
}

static void write_size(encoder *e, uint32_t root) {
    if (root != VY_NONE)
        write_size_nodes(e, root);
    writer_byte(e->writer, VY_WIRE_END);
}

static void write_table(encoder *e, uint32_t table) {
    const vy_table *t = &e->program->tables.items[table];
    writer_number(e->writer, e->tables[table]);
    if (e->tables[table] == 0) {
        writer_bytes(e->writer, e->program->table_bytes.items + t->offset, t->size);
        e->tables[table] = ++e->table_count;
    }
}

static void write_arrays(encoder *e, uint32_t first) {
    uint32_t end = e->function->first_memory + e->function->memory_count;
    writer_number(e->writer, end - first);
    for (uint32_t i = first; i < end; i++) {
        const vy_memory *memory = &e->program->memories.items[i];
        write_string(e, memory->name);
        writer_byte(e->writer, memory->space);
        writer_byte(e->writer, memory->type);
        writer_number(e->writer, memory->elements);
        if (memory->space == VY_SPACE_CONSTANT)
            write_table(e, memory->table);
    }
}

static void write_function(encoder *e, const vy_function *function) {
    const vyre_program *program = e->program;
    uint32_t memories = 0;
    write_string(e, function->name);
    writer_number(e->writer, function->param_count);
    for (uint32_t i = 0; i < function->param_count; i++) {
        const vy_param *param = &program->params.items[function->first_param + i];
        writer_byte(e->writer, param->is_memory ? VY_WIRE_PARAM_MEMORY : VY_WIRE_PARAM_SCALAR);
        if (param->is_memory) {
            const vy_memory *memory = &program->memories.items[param->index];
            write_string(e, memory->name);
            writer_byte(e->writer, memory->type);
            writer_byte(e->writer, memory->space);
            writer_byte(e->writer, memory->access);
            memories++;
        } else {
            write_string(e, program->variables.items[param->index].name);
            writer_byte(e->writer, program->variables.items[param->index].type);
        }
    }
    writer_number(e->writer, function->result_count);
    for (uint32_t i = 0; i < function->result_count; i++) {
        write_string(e, program->results.items[function->first_result + i].name);
        writer_byte(e->writer, program->results.items[function->first_result + i].type);
    }
    write_arrays(e, function->first_memory + memories);
    write_body(e);
}

static void write_grid(encoder *e) {
    const vy_grid *grid = &e->program->grid;
    writer_byte(e->writer, grid->kind);
    if (grid->kind == VYRE_GRID_OVER || grid->kind == VYRE_GRID_INDIRECT)
        writer_number(e->writer, grid->memory - e->function->first_memory);
    if (grid->kind == VYRE_GRID_INDIRECT)
        writer_number(e->writer, grid->offset);
    if (grid->kind == VYRE_GRID_GROUPS || grid->kind == VYRE_GRID_ELEMENTS)
        for (int i = 0; i < 3; i++)
            write_size(e, grid->sizes[i]);
}

static void write_entry(encoder *e, const vy_function *entry) {
    const vyre_program *program = e->program;
    writer_number(e->writer, program->param_count);
    writer_number(e->writer, program->buffer_count);
    for (uint32_t i = 0; i < program->param_count; i++) {
        const vy_variable *variable = &program->variables.items[entry->first_variable + i];
        write_string(e, variable->name);
        writer_byte(e->writer, variable->type);
    }
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_memory *memory = &program->memories.items[entry->first_memory + i];
        write_string(e, memory->name);
        writer_byte(e->writer, memory->type);
        writer_byte(e->writer, memory->access);
        write_size(e, memory->size);
    }
    for (int i = 0; i < 3; i++)
        writer_number(e->writer, program->workgroup[i]);
    write_grid(e);
    write_arrays(e, entry->first_memory + program->buffer_count);
    write_body(e);
}

uint8_t vy_wire_minor(const vyre_program *program) {
    for (uint32_t i = 0; i < program->memories.count; i++)
        if (program->memories.items[i].space == VY_SPACE_CONSTANT)
            return VY_WIRE_MINOR;
    return program->level == VYRE_LEVEL_LEGAL ? VY_WIRE_MINOR_LEGAL : 0;
}

static void write_header(vy_wire_writer *writer, const vyre_program *program) {
    writer_bytes(writer, VY_WIRE_MAGIC, 4);
    writer_byte(writer, VY_WIRE_MAJOR);
    writer_byte(writer, vy_wire_minor(program));
    writer_fixed(writer, 0, 4); /* the length, known at the end */
    writer_byte(writer, program->kind);
    writer_byte(writer, program->level);
    writer_byte(writer, program->numerics);
}

static void write_program(vy_wire_writer *writer, const vyre_program *program) {
    uint32_t few[NAMES_ON_STACK];
    size_t size = vy_array_size(program->names.size, sizeof *few);
    encoder e = {.writer = writer, .program = program, .ordinals = few};
    if (program->names.size <= NAMES_ON_STACK)
        memset(few, 0, size);
    else if (!(e.ordinals = vy_allocate_zero(size))) {
        writer->status = VYRE_NO_MEMORY;
        return;
    }
    size_t tables = vy_array_size(program->tables.count, sizeof *e.tables);
    if (program->tables.count && !(e.tables = vy_allocate_zero(tables))) {
        writer->status = VYRE_NO_MEMORY;
        if (e.ordinals != few)
            vy_release(e.ordinals, size);
        return;
    }
    write_header(writer, program);
    write_string(&e, program->name);
    uint32_t functions = program->functions.count - (uint32_t)vy_program_has_entry(program);
    writer_number(writer, functions);
    for (uint32_t i = 0; i < program->functions.count; i++) {
        e.function = &program->functions.items[i];
        if (i < functions)
            write_function(&e, e.function);
        else
            write_entry(&e, e.function);
    }
    writer_patch(writer, VY_WIRE_AT_LENGTH, writer->size + VY_WIRE_DIGEST, 4);
    vy_release(e.tables, program->tables.count ? tables : 0);
    if (e.ordinals != few)
        vy_release(e.ordinals, size);
}

vyre_status vy_wire_writer_fail(const vy_wire_writer *writer, vyre_error *error) {
    if (writer->status == VYRE_LIMIT)
        return vy_fail(error, VYRE_LIMIT, "split the program, shorten its names, or leave the debug section out",
                       "the wire form of the program exceeds the limit (%d bytes)", VY_LIMIT_WIRE_BYTES);
    return vy_fail_memory(error, "the wire form of a program");
}

/* ---- debug section ----
 *
 * Source and positions, outside the digest of the program. Positions are runs of (line, column, length), lines as
 * zigzag differences to the previous line, since these are mostly small. The section has one canonical form, too: flags
 * list its parts, and an empty part is omitted. */

static void write_position(vy_wire_writer *writer, vy_position position, uint32_t *line) {
    int64_t step = (int64_t)position.line - (int64_t)*line;
    writer_number(writer, step < 0 ? 2 * (uint64_t)-step - 1 : 2 * (uint64_t)step);
    writer_number(writer, position.column);
    writer_number(writer, position.length);
    *line = position.line;
}

static void write_text(vy_wire_writer *writer, const char *text, size_t size) {
    writer_number(writer, size);
    writer_bytes(writer, text, size);
}

static void write_debug(vy_wire_writer *writer, const vyre_program *program) {
    size_t start = writer->size;
    uint32_t line = 0;
    unsigned flags = 0;
    flags |= program->source ? VY_WIRE_DEBUG_SOURCE : 0;
    flags |= vy_wire_has_declaration_positions(program) ? VY_WIRE_DEBUG_DECLARATIONS : 0;
    flags |= program->stmt_positions.count ? VY_WIRE_DEBUG_CODE : 0;
    writer_fixed(writer, 0, 4); /* the length, known at the end */
    writer_byte(writer, (uint8_t)flags);
    if (flags & VY_WIRE_DEBUG_SOURCE) {
        size_t size;
        const char *text = vy_source_text(program->source, &size), *name = vy_source_name(program->source);
        write_text(writer, name, strlen(name));
        write_text(writer, text, size);
    }
    if (flags & VY_WIRE_DEBUG_DECLARATIONS) {
        for (uint32_t i = 0; i < program->functions.count; i++)
            write_position(writer, program->functions.items[i].position, &line);
        for (uint32_t i = 0; i < program->variables.count; i++)
            write_position(writer, program->variables.items[i].position, &line);
        for (uint32_t i = 0; i < program->memories.count; i++)
            write_position(writer, program->memories.items[i].position, &line);
    }
    if (flags & VY_WIRE_DEBUG_CODE) {
        for (uint32_t i = 0; i < program->stmts.count; i++)
            write_position(writer, vy_stmt_position(program, i), &line);
        for (uint32_t i = 0; i < program->exprs.count; i++)
            write_position(writer, vy_expr_position(program, i), &line);
    }
    writer_patch(writer, start, writer->size - start - 4, 4);
    vyre_digest check;
    if (writer->status == VYRE_OK) {
        size_t from = start - VY_WIRE_DIGEST;
        vy_digest(writer->data + from, writer->size - from, &check);
        writer_bytes(writer, check.bytes, sizeof check.bytes);
    }
}

/* ---- vyre_wire_encode and the fingerprint ---- */

enum { SCRATCH = 4096 }; /* most programs fit, so that their fingerprint allocates nothing */

vyre_status vy_fingerprint(vyre_program *program, vyre_error *error) {
    uint8_t scratch[SCRATCH];
    vy_wire_writer writer = {.data = scratch, .capacity = sizeof scratch, .borrowed = 1};
    vyre_status status = VYRE_OK;
    write_program(&writer, program);
    if (writer.status == VYRE_OK)
        vy_digest(writer.data, writer.size, &program->fingerprint);
    else
        status = vy_wire_writer_fail(&writer, error);
    writer_free(&writer);
    return status;
}

vyre_status vyre_wire_encode(const vyre_program *program, unsigned options, vyre_bytes *out, vyre_error *error) {
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, out);
    VY_REQUIRE_ARRAY(error, out->data, out->capacity);
    vy_wire_writer writer = {.data = out->data, .capacity = out->capacity};
    if (options & ~(unsigned)VYRE_WIRE_DEBUG) {
        out->size = 0;
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass 0 or VYRE_WIRE_DEBUG",
                       "the options (0x%x) have bits that mean nothing", options);
    }
    vyre_digest fingerprint = program->fingerprint;
    write_program(&writer, program);
    if (!program->has_fingerprint && writer.status == VYRE_OK) /* a step of a transform */
        vy_digest(writer.data, writer.size, &fingerprint);
    writer_bytes(&writer, fingerprint.bytes, sizeof fingerprint.bytes);
    if (options & VYRE_WIRE_DEBUG)
        write_debug(&writer, program);
    *out = (vyre_bytes){writer.data, writer.status == VYRE_OK ? writer.size : 0, writer.capacity};
    return writer.status == VYRE_OK ? VYRE_OK : vy_wire_writer_fail(&writer, error);
}

/* The tables of format.h. A kind without a row does not compile: each table is as long as its enum, and the assertions
 * count the rows. */
const vy_wire_stmt vy_wire_stmts[VY_STMT_KIND_COUNT] = {
#define X(KIND, tag, min_exprs, max_exprs, fields) [VY_STMT_##KIND] = {tag, min_exprs, max_exprs, fields, #KIND},
    VY_WIRE_STMT_LIST(X)
#undef X
};

const vy_wire_size vy_wire_sizes[VY_SIZE_KIND_COUNT] = {
#define X(KIND, tag, operands) [VY_SIZE_##KIND] = {tag, operands},
    VY_WIRE_SIZE_LIST(X)
#undef X
};

#define X(KIND, ...) +1
_Static_assert(0 VY_WIRE_STMT_LIST(X) == VY_STMT_KIND_COUNT, "a statement kind has no tag");
_Static_assert(0 VY_WIRE_SIZE_LIST(X) == VY_SIZE_KIND_COUNT, "a size kind has no tag");
#undef X
_Static_assert(VY_WIRE_LITERAL + VYRE_TYPE_COUNT <= VY_WIRE_LITERAL_END, "types outgrow their tags");
_Static_assert(VY_WIRE_OP + VY_OP_TAGS <= 0x100, "ops outgrow their tags");

static int is_known(vy_position position) {
    return position.line || position.column || position.length;
}

int vy_wire_has_declaration_positions(const vyre_program *program) {
    for (uint32_t i = 0; i < program->functions.count; i++)
        if (is_known(program->functions.items[i].position))
            return 1;
    for (uint32_t i = 0; i < program->variables.count; i++)
        if (is_known(program->variables.items[i].position))
            return 1;
    for (uint32_t i = 0; i < program->memories.count; i++)
        if (is_known(program->memories.items[i].position))
            return 1;
    return 0;
}
