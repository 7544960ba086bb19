/* Wire decoder (format.h has the layout): reads untrusted bytes into an IR builder.
 *
 * Order of checks: magic, version, length and digest are checked before any allocation. A digest that matches shows
 * only that the bytes are unmodified, not that their author is trusted, so all the rest is checked, too. Counts are
 * checked against the bytes left before memory is allocated for them. The program then passes the validator like any
 * other. Its fingerprint is computed from its own encoding; if it differs from the digest in the bytes, these were not
 * the canonical form. */
#include "ir/wire/format.h"

#include "base/string.h"
#include "ir/eval.h"
#include "ir/op_tables.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- byte reader ---- */

/* Reports an error at a byte, unless one was reported before. The fix is the default one of the code. */
static void reader_reject(vy_wire_reader *reader, vyre_status status, vy_diag_code code, size_t at, const char *format,
                          ...) {
    if (reader->status != VYRE_OK)
        return;
    reader->status = status;
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    vy_diagnostic_add(reader->diagnostics, NULL, vy_diag_code_name(code), VYRE_SEVERITY_ERROR, (vy_position){0, 0, 0},
                      vy_diag_code_fix(code), "%s (byte %zu)", message, at);
    vy_fail(reader->error, status, vy_diag_code_fix(code), "%s %s (byte %zu)", vy_diag_code_name(code), message, at);
    if (reader->error)
        vy_fail_where(reader->error, "byte %zu", at);
}

static void reader_no_memory(vy_wire_reader *reader) {
    if (reader->status == VYRE_OK)
        reader->status = vy_fail_memory(reader->error, "a program being decoded");
}

/* Reads n bytes; NULL after an error. `what` names them in messages, here and below. */
static const uint8_t *reader_bytes(vy_wire_reader *reader, size_t n, const char *what) {
    if (reader->status != VYRE_OK)
        return NULL;
    if (n > reader->end - reader->at) {
        reader_reject(reader, VYRE_CORRUPT, VY_W003, reader->at, "%s needs more bytes (%zu) than are left (%zu)", what,
                      n, reader->end - reader->at);
        return NULL;
    }
    const uint8_t *bytes = reader->data + reader->at;
    reader->at += n;
    return bytes;
}

/* Reads n bytes, 8 at most, as a little-endian number. */
static uint64_t reader_fixed(vy_wire_reader *reader, unsigned n, const char *what) {
    const uint8_t *bytes = reader_bytes(reader, n, what);
    uint64_t value = 0;
    for (unsigned i = 0; bytes && i < n; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* Reads a byte below `count`. */
static uint8_t reader_choice(vy_wire_reader *reader, unsigned count, const char *what) {
    size_t at = reader->at;
    const uint8_t *byte = reader_bytes(reader, 1, what);
    if (!byte)
        return 0;
    if (*byte < count)
        return *byte;
    reader_reject(reader, VYRE_CORRUPT, VY_W007, at, "%s (%u) is not below the number known (%u)", what, *byte, count);
    return 0;
}

/* Reads a LEB128 number in its shortest form, at most `limit`. Ten groups of seven bits hold 64 bits and the tenth
 * holds one; a last group of zero means a shorter form exists. */
static uint64_t reader_number(vy_wire_reader *reader, uint64_t limit, const char *what) {
    size_t at = reader->at;
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t *byte = reader_bytes(reader, 1, what);
        if (!byte)
            return 0;
        if (shift == 63 && *byte > 1) {
            reader_reject(reader, VYRE_CORRUPT, VY_W006, at, "%s does not fit 64 bits", what);
            return 0;
        }
        value |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80) {
            if (*byte == 0 && shift > 0)
                reader_reject(reader, VYRE_CORRUPT, VY_W006, at, "%s (%llu) is not written in its shortest form", what,
                              (unsigned long long)value);
            break;
        }
    }
    if (value > limit)
        reader_reject(reader, VYRE_CORRUPT, VY_W006, at, "%s (%llu) exceeds its limit (%llu)", what,
                      (unsigned long long)value, (unsigned long long)limit);
    return reader->status == VYRE_OK ? value : 0;
}

/* Reads the number of elements that each need at least one byte: at most the number of bytes left, and at most
 * `limit`. */
static uint32_t reader_count(vy_wire_reader *reader, uint32_t limit, const char *what) {
    size_t at = reader->at;
    uint32_t count = (uint32_t)reader_number(reader, limit, what);
    if (count > reader->end - reader->at)
        reader_reject(reader, VYRE_CORRUPT, VY_W003, at, "%s (%u) is more than the bytes that are left can hold (%zu)",
                      what, count, reader->end - reader->at);
    return reader->status == VYRE_OK ? count : 0;
}

/* Reads an index below `count`, of an entity declared before. */
static uint32_t reader_index(vy_wire_reader *reader, uint32_t count, const char *what) {
    size_t at = reader->at;
    uint64_t index = reader_number(reader, UINT64_MAX, what);
    if (reader->status == VYRE_OK && index >= count)
        reader_reject(reader, VYRE_CORRUPT, VY_W010, at, "%s (%llu) is not among those declared so far (%u)", what,
                      (unsigned long long)index, count);
    return reader->status == VYRE_OK ? (uint32_t)index : 0;
}

/* ---- strings and types ---- */

/* Pushes the result of an IR builder function on the stack; VY_NONE means out of memory. */
static void push_index(vy_decoder *d, uint32_t index) {
    uint32_t *item = index == VY_NONE ? NULL : VY_PUSH(&d->stack);
    if (item)
        *item = index;
    else
        reader_no_memory(&d->reader);
}

static vyre_type decode_type(vy_decoder *d) {
    return (vyre_type)reader_choice(&d->reader, VYRE_TYPE_COUNT, "the type");
}

static vy_symbol decode_new_string(vy_decoder *d, size_t at, size_t length, const char *what) {
    const char *text = (const char *)reader_bytes(&d->reader, length, what);
    if (!text)
        return 0;
    if (memchr(text, 0, length)) {
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W009, at, "%s has a zero byte in it", what);
        return 0;
    }
    uint32_t before = d->draft.program->names.size;
    vy_symbol name = vy_irb_intern(&d->draft, text, length);
    if (d->draft.failed)
        reader_no_memory(&d->reader);
    else if (name < before)
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W009, at, "%s is spelled out though it occurred before", what);
    vy_symbol *string = VY_PUSH(&d->strings);
    if (string)
        *string = name;
    else
        reader_no_memory(&d->reader);
    return name;
}

static vy_symbol decode_string(vy_decoder *d, const char *what) {
    size_t at = d->reader.at;
    uint64_t n = reader_number(&d->reader, UINT64_MAX, what);
    if (n == 0)
        return 0;
    if (n % 2 == 0)
        return decode_new_string(d, at, n / 2 > SIZE_MAX ? SIZE_MAX : (size_t)(n / 2), what);
    if (n / 2 >= d->strings.count) {
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W009, at, "%s is string %llu (%u occurred before)", what,
                      (unsigned long long)(n / 2), d->strings.count);
        return 0;
    }
    return d->strings.items[n / 2];
}

/* ---- bodies ----
 *
 * A stack machine over the tags of format.h: expressions push, a statement consumes the whole stack. Nothing recurses,
 * and nesting is bounded here before it reaches the limit of the draft. Only the guarantees of the wire form are
 * checked; the validator checks the meaning of the program. */

static void reject_stack(vy_decoder *d, size_t at, const char *what, uint32_t min_exprs, uint32_t max_exprs) {
    char range[48];
    if (max_exprs == min_exprs)
        snprintf(range, sizeof range, "%u", min_exprs);
    else if (max_exprs == VY_WIRE_MANY)
        snprintf(range, sizeof range, "%u or more", min_exprs);
    else
        snprintf(range, sizeof range, "%u to %u", min_exprs, max_exprs);
    reader_reject(&d->reader, VYRE_CORRUPT, VY_W011, at, "%s finds %u expressions (%s expected)", what, d->stack.count,
                  range);
}

static vyre_type type_of(const vy_decoder *d, uint32_t expr) {
    return (vyre_type)d->draft.program->exprs.items[expr].type;
}

/* ---- expressions ---- */

static uint32_t decode_variable(vy_decoder *d) {
    uint32_t declared = d->draft.program->variables.count - d->first_variable;
    return d->first_variable + reader_index(&d->reader, declared, "the variable");
}

static uint32_t decode_memory(vy_decoder *d) {
    return d->first_memory + reader_index(&d->reader, d->memory_count, "the memory");
}

static uint32_t decode_literal(vy_decoder *d, uint8_t tag) {
    size_t at = d->reader.at;
    unsigned type = (unsigned)(tag - VY_WIRE_LITERAL);
    if (type >= VYRE_TYPE_COUNT) {
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, at - 1,
                      "the type of the literal (%u) is not below the number known (%u)", type,
                      (unsigned)VYRE_TYPE_COUNT);
        return VY_NONE;
    }
    uint64_t bits = reader_fixed(&d->reader, vy_wire_literal_bytes((vyre_type)type), "a literal");
    if (vy_value_canonicalize((vyre_type)type, bits) != bits)
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W008, at,
                      "the bits of the literal (0x%llx) are not those of a value of type %s", (unsigned long long)bits,
                      vyre_type_name((vyre_type)type));
    return vy_irb_literal(&d->draft, (vyre_type)type, bits);
}

static uint32_t decode_builtin(vy_decoder *d) {
    vyre_builtin builtin = (vyre_builtin)reader_choice(&d->reader, VYRE_BUILTIN_COUNT, "the builtin");
    unsigned axis = vy_builtins[builtin].has_axes ? reader_choice(&d->reader, 3, "the axis") : 0;
    return vy_irb_builtin(&d->draft, builtin, axis);
}

static vyre_type op_type(vy_decoder *d, const vyre_op_info *info, const uint32_t *operands) {
    switch ((vyre_op_rule)info->rule) {
    case VYRE_RULE_COMPARE:
    case VYRE_RULE_TEST:
        return VYRE_TYPE_BOOL;
    case VYRE_RULE_CAST:
    case VYRE_RULE_BITCAST:
        return decode_type(d);
    case VYRE_RULE_SELECT:
        return type_of(d, operands[1]);
    case VYRE_RULE_SAME:
        break;
    }
    return type_of(d, operands[0]);
}

static uint32_t decode_op(vy_decoder *d, uint8_t tag) {
    vyre_op op = vy_op_of_tag((unsigned)(tag - VY_WIRE_OP));
    const vyre_op_info *info = vyre_op_get(op);
    if (!info) {
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, d->reader.at - 1, "the op (%u) is not known",
                      (unsigned)(tag - VY_WIRE_OP));
        return VY_NONE;
    }
    if (d->stack.count < info->arity) {
        reject_stack(d, d->reader.at - 1, info->name, info->arity, VY_WIRE_MANY);
        return VY_NONE;
    }
    d->stack.count -= info->arity;
    uint32_t operands[3] = {VY_NONE, VY_NONE, VY_NONE};
    memcpy(operands, d->stack.items + d->stack.count, info->arity * sizeof *operands);
    vyre_type type = op_type(d, info, operands);
    return vy_irb_op(&d->draft, op, type, operands[0], operands[1], operands[2]);
}

static uint32_t decode_load(vy_decoder *d, uint8_t tag) {
    uint32_t operands = tag == VY_WIRE_LOAD_IF ? 2 : 1, condition = VY_NONE;
    if (d->stack.count < operands) {
        reject_stack(d, d->reader.at - 1, "a load", operands, VY_WIRE_MANY);
        return VY_NONE;
    }
    if (tag == VY_WIRE_LOAD_IF)
        condition = d->stack.items[--d->stack.count];
    uint32_t index = d->stack.items[--d->stack.count];
    uint32_t memory = decode_memory(d);
    if (d->reader.status != VYRE_OK)
        return VY_NONE;
    return tag == VY_WIRE_LOAD ? vy_irb_load(&d->draft, memory, index)
                               : vy_irb_load_unchecked(&d->draft, memory, index, condition);
}

static void decode_expr(vy_decoder *d, uint8_t tag) {
    uint32_t expr = VY_NONE;
    if (tag >= VY_WIRE_OP)
        expr = decode_op(d, tag);
    else if (tag >= VY_WIRE_LITERAL && tag < VY_WIRE_LITERAL_END)
        expr = decode_literal(d, tag);
    else if (tag == VY_WIRE_VARIABLE) {
        uint32_t variable = decode_variable(d);
        expr = d->reader.status == VYRE_OK ? vy_irb_variable(&d->draft, variable) : VY_NONE;
    } else if (tag == VY_WIRE_LOAD || tag == VY_WIRE_LOAD_UNGUARDED || tag == VY_WIRE_LOAD_IF)
        expr = decode_load(d, tag);
    else if (tag == VY_WIRE_LEN || tag == VY_WIRE_ALIGN_OFFSET) {
        uint32_t memory = decode_memory(d);
        expr = tag == VY_WIRE_LEN ? vy_irb_len(&d->draft, memory) : vy_irb_align_offset(&d->draft, memory);
    } else if (tag == VY_WIRE_BUILTIN)
        expr = decode_builtin(d);
    else
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, d->reader.at - 1, "the tag (0x%02x) is not known", tag);
    push_index(d, expr);
}

/* ---- statements ---- */

/* The decoded fields of a statement that are not in the statement. */
typedef struct fields {
    vy_stmt stmt;
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    int has_args; /* d->args is filled and contains the stack */
} fields;

static void decode_args(vy_decoder *d, fields *f) {
    size_t at = d->reader.at;
    uint32_t count = reader_count(&d->reader, VY_LIMIT_PARAMS, "the number of arguments"), taken = 0;
    f->has_args = 1;
    for (uint32_t i = 0; i < count && d->reader.status == VYRE_OK; i++) {
        uint32_t memory = reader_index(&d->reader, d->memory_count + 1, "the memory of the argument");
        vy_arg *arg = VY_PUSH(&d->args);
        if (!arg)
            reader_no_memory(&d->reader);
        else if (memory)
            *arg = (vy_arg){1, d->first_memory + memory - 1};
        else
            *arg = (vy_arg){0, taken < d->stack.count ? d->stack.items[taken] : VY_NONE};
        taken += memory == 0;
    }
    if (taken != d->stack.count)
        reject_stack(d, at, "a call", taken, taken);
}

static void decode_results(vy_decoder *d, fields *f) {
    uint32_t count = reader_count(&d->reader, VY_LIMIT_RESULTS, "the number of results");
    for (uint32_t i = 0; i < count; i++) {
        f->names[i] = decode_string(d, "the name of a result");
        f->types[i] = decode_type(d);
    }
    f->stmt.result_count = (uint8_t)count;
}

static void decode_elements(vy_decoder *d, fields *f) {
    uint32_t count = reader_count(&d->reader, VY_LIMIT_WIDE, "the number of elements");
    for (uint32_t i = 0; i < count; i++) {
        f->names[i] = decode_string(d, "the name of a result");
        f->types[i] =
            d->reader.status == VYRE_OK ? (vyre_type)d->draft.program->memories.items[f->stmt.memory].type : 0;
    }
    f->stmt.result_count = (uint8_t)count;
}

static uint8_t decode_combine(vy_decoder *d) {
    size_t at = d->reader.at;
    unsigned tag = reader_choice(&d->reader, VY_OP_TAGS, "the op that combines");
    vyre_op op = vy_op_of_tag(tag);
    if (op == VYRE_OP_COUNT)
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, at, "the op that combines (%u) is not known", tag);
    return (uint8_t)op;
}

static void decode_collective(vy_decoder *d, vy_stmt *stmt) {
    stmt->op = reader_choice(&d->reader, VYRE_COLLECTIVE_COUNT, "the collective");
    if (vy_collectives[stmt->op].combines)
        stmt->combine = decode_combine(d);
    stmt->width = (uint8_t)reader_fixed(&d->reader, 1, "the width");
    stmt->result_count = 1;
}

static void decode_callee(vy_decoder *d, vy_stmt *stmt) {
    uint32_t callee = reader_index(&d->reader, d->function_count + 1, "the function called");
    stmt->callee = callee ? callee - 1 : VY_NONE;
    if (!callee)
        stmt->name = decode_string(d, "an op id");
}

static void decode_field(vy_decoder *d, fields *f, char field) {
    vy_stmt *stmt = &f->stmt;
    switch (field) {
    case 'n':
        f->names[0] = decode_string(d, "the name of a variable");
        break;
    case 'r':
        stmt->result_count = reader_choice(&d->reader, 2, "the number of results");
        if (stmt->result_count)
            f->names[0] = decode_string(d, "the name of a result");
        break;
    case 'v':
        stmt->variable = decode_variable(d);
        break;
    case 'm':
        stmt->memory = decode_memory(d);
        break;
    case 'a':
        stmt->op = reader_choice(&d->reader, VYRE_ATOMIC_COUNT, "the atomic");
        break;
    case 'o':
        stmt->order = reader_choice(&d->reader, VYRE_ORDER_COUNT, "the order");
        break;
    case 's':
        stmt->scope = reader_choice(&d->reader, VYRE_SCOPE_COUNT, "the scope");
        break;
    case 'k':
        decode_collective(d, stmt);
        break;
    case 'c':
        decode_callee(d, stmt);
        break;
    case 'g':
        decode_args(d, f);
        break;
    case 't':
        decode_results(d, f);
        break;
    case 'x':
        stmt->name = decode_string(d, "a text");
        break;
    case 'u':
        if (d->draft.program->level == VYRE_LEVEL_LEGAL)
            stmt->bounds_check = reader_choice(&d->reader, VY_BOUNDS_CHECK_COUNT, "the guard");
        break;
    case 'w':
        decode_elements(d, f);
        break;
    }
}

/* The type of the one variable that statements other than calls declare. */
static vyre_type declared_type(const vy_decoder *d, const vy_stmt *stmt) {
    if (stmt->kind == VY_STMT_ATOMIC)
        return (vyre_type)d->draft.program->memories.items[stmt->memory].type;
    if (stmt->kind == VY_STMT_COLLECTIVE && (stmt->op == VYRE_COLLECTIVE_ANY || stmt->op == VYRE_COLLECTIVE_ALL))
        return VYRE_TYPE_BOOL;
    if (stmt->kind == VY_STMT_COLLECTIVE && stmt->op == VYRE_COLLECTIVE_BALLOT)
        return VYRE_TYPE_U64;
    return stmt->kind == VY_STMT_POLL ? VYRE_TYPE_BOOL : type_of(d, stmt->a);
}

/* Moves the stack to the statement: to a, b, c, or to its arguments. */
static void pop_operands(vy_decoder *d, fields *f, uint32_t max_exprs) {
    uint32_t *const operands[3] = {&f->stmt.a, &f->stmt.b, &f->stmt.c};
    uint32_t count = f->has_args ? 0 : d->stack.count;
    uint32_t taken = max_exprs != VY_WIRE_MANY ? 3 : f->stmt.kind == VY_STMT_STORE_WIDE; /* the rest are arguments */
    for (uint32_t i = 0; i < count && i < taken; i++)
        *operands[i] = d->stack.items[i];
    for (uint32_t i = taken; i < count && max_exprs == VY_WIRE_MANY; i++) {
        vy_arg *arg = VY_PUSH(&d->args);
        if (arg)
            arg->index = d->stack.items[i];
        else
            reader_no_memory(&d->reader);
    }
    d->stack.count = 0;
}

/* The number of expressions of this statement; for atomics and collectives it depends on the op. */
static void operand_range(const vy_stmt *stmt, uint32_t *min_exprs, uint32_t *max_exprs) {
    if (stmt->kind == VY_STMT_ATOMIC)
        *min_exprs = *max_exprs = 1 + vy_atomics[stmt->op].operands;
    else if (stmt->kind == VY_STMT_COLLECTIVE)
        *min_exprs = *max_exprs = vy_collectives[stmt->op].operands;
}

static void decode_stmt(vy_decoder *d, vy_stmt_kind kind) {
    const vy_wire_stmt *row = &vy_wire_stmts[kind];
    size_t at = d->reader.at - 1;
    fields f = {.stmt = vy_irb_blank_stmt(kind)};
    d->args.count = 0;
    for (const char *field = row->fields; *field; field++)
        decode_field(d, &f, *field);
    if (d->reader.status != VYRE_OK)
        return;
    uint32_t min_exprs = row->min_exprs, max_exprs = row->max_exprs;
    operand_range(&f.stmt, &min_exprs, &max_exprs);
    if (d->stack.count < min_exprs || d->stack.count > max_exprs) {
        reject_stack(d, at, row->name, min_exprs, max_exprs);
        return;
    }
    pop_operands(d, &f, max_exprs);
    if (d->reader.status != VYRE_OK)
        return;
    if (strpbrk(row->fields, "nr") && (f.stmt.result_count || strchr(row->fields, 'n')))
        f.types[0] = declared_type(d, &f.stmt);
    if (vy_irb_stmt(&d->draft, &f.stmt, d->args.items, d->args.count, f.names, f.types) == VY_NONE || d->draft.failed)
        reader_no_memory(&d->reader);
    if (d->draft.depth > VY_LIMIT_NESTING + 1)
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W012, at, "blocks nest deeper than the limit (%d)",
                      VY_LIMIT_NESTING);
}

/* ---- blocks ---- */

static vy_stmt *innermost(vy_decoder *d) {
    return d->draft.depth ? &d->draft.program->stmts.items[d->draft.open[d->draft.depth - 1]] : NULL;
}

static void decode_else(vy_decoder *d) {
    const vy_stmt *stmt = innermost(d);
    if (d->stack.count)
        reject_stack(d, d->reader.at - 1, "else", 0, 0);
    else if (!stmt || stmt->kind != VY_STMT_IF || stmt->middle != VY_NONE)
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W012, d->reader.at - 1, "an else is not in an open if without one");
    else
        vy_irb_else(&d->draft);
}

static void decode_end(vy_decoder *d) {
    const vy_stmt *stmt = innermost(d);
    if (d->stack.count)
        reject_stack(d, d->reader.at - 1, "the end of a block", 0, 0);
    else if (stmt && stmt->kind == VY_STMT_IF && stmt->middle == d->draft.program->stmts.count)
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W012, d->reader.at - 1, "an else has no statement");
    else
        vy_irb_end_block(&d->draft);
}

/* Kind of statement by tag, plus 1. */
static const uint8_t kinds[VY_WIRE_VARIABLE] = {
#define X(KIND, tag, min_exprs, max_exprs, fields) [tag] = VY_STMT_##KIND + 1,
    VY_WIRE_STMT_LIST(X)
#undef X
};

/* Reads the statements of the current function up to the END that closes it. */
static void decode_body(vy_decoder *d) {
    for (;;) {
        const uint8_t *tag = reader_bytes(&d->reader, 1, "a statement");
        if (!tag)
            return;
        if (*tag == VY_WIRE_END && d->draft.depth == 0) {
            if (d->stack.count)
                reject_stack(d, d->reader.at - 1, "the end of a body", 0, 0);
            return;
        }
        if (*tag == VY_WIRE_END)
            decode_end(d);
        else if (*tag == VY_WIRE_ELSE)
            decode_else(d);
        else if (*tag < VY_WIRE_VARIABLE && kinds[*tag])
            decode_stmt(d, (vy_stmt_kind)(kinds[*tag] - 1));
        else
            decode_expr(d, *tag);
    }
}

/* ---- debug section (format.h) ---- */

static vy_position read_position(vy_wire_reader *reader, uint32_t *line) {
    vy_position position = {0, 0, 0};
    size_t at = reader->at;
    uint64_t step = reader_number(reader, 2 * (uint64_t)UINT32_MAX, "the line of a position");
    int64_t next = (int64_t)*line + (step % 2 ? -(int64_t)(step / 2) - 1 : (int64_t)(step / 2));
    if (next < 0 || next > UINT32_MAX)
        reader_reject(reader, VYRE_CORRUPT, VY_W014, at, "the line of a position (%lld) is not a line",
                      (long long)next);
    position.line = *line = (uint32_t)next;
    position.column = (uint32_t)reader_number(reader, UINT32_MAX, "the column of a position");
    position.length = (uint32_t)reader_number(reader, UINT32_MAX, "the length of a position");
    return position;
}

static vy_source *read_source(vy_wire_reader *reader) {
    /* The name may have any length. It is copied as a NUL-terminated string, so it must not contain a NUL. */
    size_t at = reader->at,
           name_size = (size_t)reader_number(reader, VY_LIMIT_WIRE_BYTES, "the length of the source's name");
    const uint8_t *name = reader_bytes(reader, name_size, "the name of the source");
    size_t size = (size_t)reader_number(reader, VY_LIMIT_WIRE_BYTES, "the length of the source");
    const uint8_t *text = reader_bytes(reader, size, "the source");
    if (!text)
        return NULL;
    if (memchr(name, 0, name_size)) {
        reader_reject(reader, VYRE_CORRUPT, VY_W014, at, "the name of the source has a zero byte in it");
        return NULL;
    }
    vy_arena arena = {0};
    char *copy = vy_arena_copy(&arena, (const char *)name, name_size);
    vy_source *source = copy ? vy_source_new(copy, (const char *)text, size) : NULL;
    vy_arena_free(&arena);
    if (!source)
        reader_no_memory(reader);
    return source;
}

static void read_declarations(vy_wire_reader *reader, vyre_program *program, uint32_t *line) {
    size_t at = reader->at;
    for (uint32_t i = 0; i < program->functions.count; i++)
        program->functions.items[i].position = read_position(reader, line);
    for (uint32_t i = 0; i < program->variables.count; i++)
        program->variables.items[i].position = read_position(reader, line);
    for (uint32_t i = 0; i < program->memories.count; i++)
        program->memories.items[i].position = read_position(reader, line);
    if (reader->status == VYRE_OK && !vy_wire_has_declaration_positions(program))
        reader_reject(reader, VYRE_CORRUPT, VY_W014, at,
                      "no position of a declaration is known, so none may be listed");
}

static void read_code(vy_wire_reader *reader, vyre_program *program, uint32_t *line) {
    if (program->stmts.count == 0)
        reader_reject(reader, VYRE_CORRUPT, VY_W014, reader->at,
                      "positions of code are listed, but the program has no statements");
    if (reader->status != VYRE_OK)
        return;
    if (!VY_RESERVE(&program->stmt_positions, program->stmts.count) ||
        !VY_RESERVE(&program->expr_positions, program->exprs.count)) {
        reader_no_memory(reader);
        return;
    }
    while (program->stmt_positions.count < program->stmts.count)
        program->stmt_positions.items[program->stmt_positions.count++] = read_position(reader, line);
    while (program->expr_positions.count < program->exprs.count)
        program->expr_positions.items[program->expr_positions.count++] = read_position(reader, line);
}

/* Checks length and digest of the section; the reader is then limited to its payload. */
static void read_frame(vy_wire_reader *reader, size_t digest_at) {
    size_t start = reader->at, size = (size_t)reader_fixed(reader, 4, "the length of the debug section");
    if (reader->status == VYRE_OK &&
        (reader->end - reader->at < VY_WIRE_DIGEST || size != reader->end - reader->at - VY_WIRE_DIGEST))
        reader_reject(reader, VYRE_CORRUPT, VY_W014, start,
                      "the length of the debug section (%zu) does not fit the bytes left (%zu)", size,
                      reader->end - reader->at);
    if (reader->status != VYRE_OK)
        return;
    reader->end -= VY_WIRE_DIGEST;
    vyre_digest check;
    vy_digest(reader->data + digest_at, reader->end - digest_at, &check);
    if (memcmp(check.bytes, reader->data + reader->end, sizeof check.bytes) != 0)
        reader_reject(reader, VYRE_CORRUPT, VY_W014, reader->end,
                      "the debug section's check is not that of its bytes and program");
}

/* Reads the debug section, which covers the bytes from the program's digest at `digest_at` to the end of the data, into
 * the IR builder. Returns the source; the caller releases it. */
static vy_source *decode_debug(vy_decoder *d, size_t digest_at) {
    vy_wire_reader *reader = &d->reader;
    vyre_program *program = d->draft.program;
    vy_source *source = NULL;
    uint32_t line = 0;
    read_frame(reader, digest_at);
    unsigned flags = reader_choice(reader, 8, "the parts of the debug section");
    if (flags & VY_WIRE_DEBUG_SOURCE)
        source = read_source(reader);
    if (flags & VY_WIRE_DEBUG_DECLARATIONS)
        read_declarations(reader, program, &line);
    if (flags & VY_WIRE_DEBUG_CODE)
        read_code(reader, program, &line);
    if (reader->status == VYRE_OK && reader->at != reader->end)
        reader_reject(reader, VYRE_CORRUPT, VY_W005, reader->at, "%zu bytes follow the end of the debug section",
                      reader->end - reader->at);
    return source;
}

/* ---- declarations ---- */

static int decoding(vy_decoder *d) {
    if (d->draft.failed)
        reader_no_memory(&d->reader);
    return d->reader.status == VYRE_OK;
}

/* Records where the function's variables and memories begin: references are relative. */
static void begin(vy_decoder *d) {
    d->first_variable = d->draft.program->variables.count;
    d->first_memory = d->draft.program->memories.count;
}

/* The bytes are in the data before memory is allocated for them. */
static uint32_t decode_table(vy_decoder *d, vyre_type type, uint32_t elements) {
    vyre_program *program = d->draft.program;
    uint64_t size = (uint64_t)elements * vyre_type_size(type);
    size_t at = d->reader.at;
    uint32_t known = program->tables.count;
    uint32_t index = reader_index(&d->reader, known + 1, "the contents of a constant array");
    if (d->reader.status != VYRE_OK)
        return VY_NONE;
    if (index) {
        if (program->tables.items[index - 1].size == size)
            return index - 1;
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W010, at, "a constant array has contents of another size (%u)",
                      program->tables.items[index - 1].size);
        return VY_NONE;
    }
    if (size > VY_LIMIT_CONSTANT_BYTES || known >= VY_LIMIT_TABLES ||
        program->table_bytes.count > VY_LIMIT_CONSTANT_BYTES) {
        reader_reject(&d->reader, VYRE_LIMIT, VY_W013, at,
                      "the constant arrays exceed the limit (%d bytes, %d different ones)", VY_LIMIT_CONSTANT_BYTES,
                      VY_LIMIT_TABLES);
        return VY_NONE;
    }
    const uint8_t *bytes = reader_bytes(&d->reader, (size_t)size, "the elements of a constant array");
    int is_float = vyre_type_class(type) == VYRE_CLASS_FLOAT;
    for (uint32_t i = 0; bytes && is_float && i < elements; i++) {
        uint64_t value = vy_value_load(type, bytes + i * vyre_type_size(type)), given = 0;
        memcpy(&given, bytes + i * vyre_type_size(type), vyre_type_size(type));
        if (value != given) {
            reader_reject(&d->reader, VYRE_CORRUPT, VY_W008, at,
                          "element %u of a constant array is a NaN, but not the "
                          "canonical one",
                          i);
            return VY_NONE;
        }
    }
    uint32_t table = bytes ? vy_irb_table(&d->draft, type, elements, bytes) : VY_NONE;
    if (table != VY_NONE && table < known)
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W010, at, "the contents of a constant array are repeated");
    return table;
}

static void decode_arrays(vy_decoder *d) {
    uint32_t count = reader_count(&d->reader, VY_LIMIT_ARRAYS, "the number of arrays");
    for (uint32_t i = 0; i < count && decoding(d); i++) {
        vy_symbol name = decode_string(d, "the name of an array");
        int has_constants = d->reader.data[VY_WIRE_AT_VERSION + 1] == VY_WIRE_MINOR;
        vy_space space = (vy_space)reader_choice(
            &d->reader, (uint8_t)(has_constants ? VY_SPACE_COUNT : VY_SPACE_CONSTANT), "the space");
        vyre_type type = decode_type(d);
        uint32_t elements = (uint32_t)reader_number(&d->reader, UINT32_MAX, "the length of an array");
        if (space == VY_SPACE_CONSTANT)
            vy_irb_constant(&d->draft, name, type, elements, decode_table(d, type, elements));
        else
            vy_irb_array(&d->draft, name, space, type, elements);
    }
    d->memory_count = d->draft.program->memories.count - d->first_memory;
}

static void decode_param(vy_decoder *d) {
    uint8_t is_memory = reader_choice(&d->reader, 2, "the kind of a parameter");
    vy_symbol name = decode_string(d, "the name of a parameter");
    vyre_type type = decode_type(d);
    if (is_memory == VY_WIRE_PARAM_SCALAR) {
        vy_irb_scalar_param(&d->draft, name, type);
        return;
    }
    vy_space space = (vy_space)reader_choice(&d->reader, VY_SPACE_CONSTANT, "the space");
    vyre_access access = (vyre_access)reader_choice(&d->reader, VYRE_ACCESS_COUNT, "the access");
    vy_irb_memory_param(&d->draft, name, space, type, access, VY_NONE);
}

static void decode_function(vy_decoder *d) {
    begin(d);
    vy_irb_begin_function(&d->draft, decode_string(d, "the name of a function"));
    uint32_t count = reader_count(&d->reader, VY_LIMIT_PARAMS, "the number of parameters");
    for (uint32_t i = 0; i < count && decoding(d); i++)
        decode_param(d);
    count = reader_count(&d->reader, VY_LIMIT_RESULTS, "the number of results");
    for (uint32_t i = 0; i < count && decoding(d); i++) {
        vy_symbol name = decode_string(d, "the name of a result");
        vy_irb_result(&d->draft, name, decode_type(d));
    }
    decode_arrays(d);
    if (decoding(d))
        decode_body(d);
    vy_irb_end_function(&d->draft);
}

/* Kind of size node by tag, plus 1. */
static const uint8_t size_kinds[] = {
#define X(KIND, tag, operands) [tag] = VY_SIZE_##KIND + 1,
    VY_WIRE_SIZE_LIST(X)
#undef X
};

static void decode_size_node(vy_decoder *d, uint8_t tag, uint32_t params, uint32_t buffers) {
    size_t at = d->reader.at - 1;
    if (tag >= sizeof size_kinds || !size_kinds[tag]) {
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, at, "the tag of a size (0x%02x) is not known", tag);
        return;
    }
    vy_size_kind kind = (vy_size_kind)(size_kinds[tag] - 1);
    uint32_t operands = vy_wire_sizes[kind].operands, a = VY_NONE, b = VY_NONE;
    uint64_t value = 0;
    if (d->stack.count < operands) {
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W011, at, "an operator of a size finds %u operands (%u expected)",
                      d->stack.count, operands);
        return;
    }
    if (kind == VY_SIZE_LITERAL)
        value = reader_number(&d->reader, UINT64_MAX, "a size");
    else if (kind == VY_SIZE_PARAM)
        a = d->first_variable + reader_index(&d->reader, params, "the param of a size");
    else if (kind == VY_SIZE_LEN)
        a = d->first_memory + reader_index(&d->reader, buffers, "the buffer of a size");
    else {
        b = d->stack.items[--d->stack.count];
        a = d->stack.items[--d->stack.count];
    }
    push_index(d, vy_irb_size(&d->draft, kind, a, b, value));
}

static uint32_t decode_size(vy_decoder *d, uint32_t params, uint32_t buffers) {
    d->stack.count = 0;
    for (;;) {
        const uint8_t *tag = reader_bytes(&d->reader, 1, "a size");
        if (!tag)
            return VY_NONE;
        if (*tag == VY_WIRE_END)
            break;
        decode_size_node(d, *tag, params, buffers);
    }
    uint32_t count = d->stack.count;
    if (count > 1)
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W011, d->reader.at - 1,
                      "a size leaves %u values (1 or none expected)", count);
    d->stack.count = 0;
    return count == 1 ? d->stack.items[0] : VY_NONE;
}

static void decode_grid(vy_decoder *d, uint32_t params, uint32_t buffers) {
    vy_grid *grid = &d->draft.program->grid;
    grid->kind = reader_choice(&d->reader, VYRE_GRID_KIND_COUNT, "the kind of the grid");
    if (grid->kind == VYRE_GRID_OVER || grid->kind == VYRE_GRID_INDIRECT)
        grid->memory = d->first_memory + reader_index(&d->reader, buffers, "the buffer of the grid");
    if (grid->kind == VYRE_GRID_INDIRECT)
        grid->offset = (uint32_t)reader_number(&d->reader, UINT32_MAX, "the offset of the grid");
    if (grid->kind == VYRE_GRID_GROUPS || grid->kind == VYRE_GRID_ELEMENTS)
        for (int i = 0; i < 3; i++)
            grid->sizes[i] = decode_size(d, params, buffers);
}

static void decode_entry(vy_decoder *d) {
    begin(d);
    vy_irb_begin_entry(&d->draft);
    uint32_t params = reader_count(&d->reader, VY_LIMIT_PARAMS, "the number of params");
    uint32_t buffers = reader_count(&d->reader, VY_LIMIT_BUFFERS, "the number of buffers");
    for (uint32_t i = 0; i < params && decoding(d); i++) {
        vy_symbol name = decode_string(d, "the name of a param");
        vy_irb_scalar_param(&d->draft, name, decode_type(d));
    }
    for (uint32_t i = 0; i < buffers && decoding(d); i++) {
        vy_symbol name = decode_string(d, "the name of a buffer");
        vyre_type type = decode_type(d);
        vyre_access access = (vyre_access)reader_choice(&d->reader, VYRE_ACCESS_COUNT, "the access");
        uint32_t size = decode_size(d, params, buffers);
        vy_irb_memory_param(&d->draft, name, VY_SPACE_BUFFER, type, access, size);
    }
    for (int i = 0; i < 3; i++)
        d->draft.program->workgroup[i] = (uint32_t)reader_number(&d->reader, UINT32_MAX, "the workgroup size");
    decode_grid(d, params, buffers);
    decode_arrays(d);
    if (decoding(d))
        decode_body(d);
    vy_irb_end_function(&d->draft);
}

/* ---- programs ---- */

/* Checks magic, version, length and, unless the program is trusted, the digest. Returns the length of the program
 * without the debug section. */
static size_t decode_frame(vy_wire_reader *reader, int is_trusted) {
    const uint8_t *data = reader->data;
    if (reader->end > VY_LIMIT_WIRE_BYTES) {
        reader_reject(reader, VYRE_LIMIT, VY_W013, 0, "the wire form (%zu bytes) exceeds the limit (%d)", reader->end,
                      VY_LIMIT_WIRE_BYTES);
        return 0;
    }
    size_t magic = reader->end < 4 ? reader->end : 4;
    if (magic == 0 || memcmp(data, VY_WIRE_MAGIC, magic) != 0) {
        reader_reject(reader, VYRE_CORRUPT, VY_W001, 0, "the bytes do not start as a wire form does");
        return 0;
    }
    if (reader->end >= VY_WIRE_AT_LENGTH && (data[4] != VY_WIRE_MAJOR || data[5] > VY_WIRE_MINOR)) {
        reader_reject(reader, VYRE_UNSUPPORTED, VY_W002, VY_WIRE_AT_VERSION,
                      "the wire form is version %u.%u (this library reads %d.0 to %d.%d)", data[4], data[5],
                      VY_WIRE_MAJOR, VY_WIRE_MAJOR, VY_WIRE_MINOR);
        return 0;
    }
    if (reader->end < VY_WIRE_HEADER + VY_WIRE_DIGEST) {
        reader_reject(reader, VYRE_CORRUPT, VY_W003, reader->end,
                      "the bytes (%zu) are fewer than the shortest wire form (%d)", reader->end,
                      VY_WIRE_HEADER + VY_WIRE_DIGEST);
        return 0;
    }
    reader->at = VY_WIRE_AT_LENGTH;
    size_t length = (size_t)reader_fixed(reader, 4, "the length");
    if (length < VY_WIRE_HEADER + VY_WIRE_DIGEST || length > reader->end) {
        reader_reject(reader, VYRE_CORRUPT, VY_W003, VY_WIRE_AT_LENGTH,
                      "the length (%zu) does not fit the bytes given (%zu)", length, reader->end);
        return 0;
    }
    if (is_trusted)
        return length;
    vyre_digest digest;
    vy_digest(data, length - VY_WIRE_DIGEST, &digest);
    if (memcmp(digest.bytes, data + length - VY_WIRE_DIGEST, VY_WIRE_DIGEST) != 0)
        reader_reject(reader, VYRE_CORRUPT, VY_W004, length - VY_WIRE_DIGEST,
                      "the digest is not that of the bytes before it");
    return length;
}

static void decode_program(vy_decoder *d, size_t body_end) {
    size_t end = d->reader.end;
    vyre_program *program = d->draft.program;
    d->reader.end = body_end;
    d->reader.at = VY_WIRE_AT_KIND;
    program->kind = reader_choice(&d->reader, VYRE_PROGRAM_LIBRARY + 1, "the kind");
    program->level = reader_choice(&d->reader, VYRE_LEVEL_LEGAL + 1, "the level");
    uint8_t minor = d->reader.data[VY_WIRE_AT_VERSION + 1]; /* the digest check covers constant arrays */
    if (minor != VY_WIRE_MINOR && minor != (program->level == VYRE_LEVEL_LEGAL ? VY_WIRE_MINOR_LEGAL : 0))
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, VY_WIRE_AT_VERSION + 1,
                      "the minor version (%u) is not that of the program's level", minor);
    program->numerics = reader_choice(&d->reader, VYRE_NUMERICS_RELAXED + 1, "the numerics");
    program->name = decode_string(d, "the name of the program");
    d->function_count = reader_count(&d->reader, VY_LIMIT_FUNCTIONS, "the number of functions");
    for (uint32_t i = 0; i < d->function_count && decoding(d); i++)
        decode_function(d);
    if (program->kind == VYRE_PROGRAM_ENTRY && decoding(d))
        decode_entry(d);
    if (decoding(d) && d->reader.at != body_end)
        reader_reject(&d->reader, VYRE_CORRUPT, VY_W005, d->reader.at, "%zu bytes follow the end of the program",
                      body_end - d->reader.at);
    d->reader.end = end;
}

static vyre_status read_checked(vy_decoder *d, size_t length, vy_source **source) {
    vy_wire_reader *reader = &d->reader;
    *source = NULL;
    decode_program(d, length - VY_WIRE_DIGEST);
    reader->at = length;
    if (reader->status == VYRE_OK && length < reader->end)
        *source = decode_debug(d, length - VY_WIRE_DIGEST);
    if (reader->status != VYRE_OK) {
        vy_irb_discard(&d->draft);
        vy_source_release(*source);
        *source = NULL;
    }
    return reader->status;
}

vyre_status vy_decode_to_builder(vy_decoder *d, vy_source **source) {
    *source = NULL;
    d->length = decode_frame(&d->reader, d->is_trusted);
    if (d->reader.status != VYRE_OK)
        return d->reader.status;
    vyre_status status = vy_irb_start(&d->draft, "", d->reader.error);
    d->draft.skip_verify = d->is_trusted;
    return status == VYRE_OK ? read_checked(d, d->length, source) : status;
}

vyre_status vy_decode_check_digest(vy_decoder *d, const vyre_program *program) {
    size_t at = d->length - VY_WIRE_DIGEST;
    if (memcmp(program->fingerprint.bytes, d->reader.data + at, VY_WIRE_DIGEST) == 0)
        return VYRE_OK;
    reader_reject(&d->reader, VYRE_CORRUPT, VY_W004, at, "the digest is not that of the program the bytes decode to");
    return VYRE_CORRUPT;
}

void vy_decoder_free(vy_decoder *d) {
    VY_VECTOR_FREE(&d->strings);
    VY_VECTOR_FREE(&d->stack);
    VY_VECTOR_FREE(&d->args);
}

int vy_wire_fix_header(uint8_t *bytes, size_t size) {
    if (size < VY_WIRE_HEADER + VY_WIRE_DIGEST || size > VY_LIMIT_WIRE_BYTES)
        return 0;
    memcpy(bytes, VY_WIRE_MAGIC, 4);
    bytes[VY_WIRE_AT_VERSION] = VY_WIRE_MAJOR;
    if (bytes[VY_WIRE_AT_VERSION + 1] != VY_WIRE_MINOR)
        bytes[VY_WIRE_AT_VERSION + 1] = bytes[VY_WIRE_AT_KIND + 1] == VYRE_LEVEL_LEGAL ? VY_WIRE_MINOR_LEGAL : 0;
    for (int i = 0; i < 4; i++)
        bytes[VY_WIRE_AT_LENGTH + i] = (uint8_t)(size >> 8 * i);
    vyre_digest digest;
    vy_digest(bytes, size - VY_WIRE_DIGEST, &digest);
    memcpy(bytes + size - VY_WIRE_DIGEST, digest.bytes, VY_WIRE_DIGEST);
    return 1;
}
