/* The decoder of bodies: a stack machine over the tags of format.h.
 *
 * Expressions push, statements take everything on the stack. Nothing recurses; the draft's nesting is bounded here before it is reached. Only
 * what the wire form itself promises is checked; what a program may mean is the validator's work. */
#include "ir/eval.h"
#include "ir/op_tables.h"
#include "ir/wire/decode.h"
#include "ir/wire/format.h"

#include <stdio.h>

static void reject_stack(vy_decoder *d, size_t at, const char *what, uint32_t min_exprs, uint32_t max_exprs) {
    char range[48];
    if (max_exprs == min_exprs)
        snprintf(range, sizeof range, "%u", min_exprs);
    else if (max_exprs == VY_WIRE_MANY)
        snprintf(range, sizeof range, "%u or more", min_exprs);
    else
        snprintf(range, sizeof range, "%u to %u", min_exprs, max_exprs);
    vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W011, at, "%s finds %u expressions (%s expected)", what,
                          d->stack.count, range);
}

static vyre_type type_of(const vy_decoder *d, uint32_t expr) {
    return (vyre_type)d->draft.program->exprs.items[expr].type;
}

/* ---- expressions ---- */

static uint32_t decode_variable(vy_decoder *d) {
    uint32_t declared = d->draft.program->variables.count - d->first_variable;
    return d->first_variable + vy_wire_reader_index(&d->reader, declared, "the variable");
}

static uint32_t decode_memory(vy_decoder *d) {
    return d->first_memory + vy_wire_reader_index(&d->reader, d->memory_count, "the memory");
}

static uint32_t decode_literal(vy_decoder *d, uint8_t tag) {
    size_t at = d->reader.at;
    unsigned type = (unsigned)(tag - VY_WIRE_LITERAL);
    if (type >= VYRE_TYPE_COUNT) {
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, at - 1,
                              "the type of the literal (%u) is not below the number known (%u)", type,
                              (unsigned)VYRE_TYPE_COUNT);
        return VY_NONE;
    }
    uint64_t bits = vy_wire_reader_fixed(&d->reader, vy_wire_literal_bytes((vyre_type)type), "a literal");
    if (vy_value_canonicalize((vyre_type)type, bits) != bits)
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W008, at,
                              "the bits of the literal (0x%llx) are not those of a value of type %s",
                              (unsigned long long)bits, vyre_type_name((vyre_type)type));
    return vy_irb_literal(&d->draft, (vyre_type)type, bits);
}

static uint32_t decode_builtin(vy_decoder *d) {
    vyre_builtin builtin = (vyre_builtin)vy_wire_reader_choice(&d->reader, VYRE_BUILTIN_COUNT, "the builtin");
    unsigned axis = vy_builtins[builtin].has_axes ? vy_wire_reader_choice(&d->reader, 3, "the axis") : 0;
    return vy_irb_builtin(&d->draft, builtin, axis);
}

static vyre_type op_type(vy_decoder *d, const vyre_op_info *info, const uint32_t *operands) {
    switch ((vyre_op_rule)info->rule) {
    case VYRE_RULE_COMPARE:
    case VYRE_RULE_TEST:
        return VYRE_TYPE_BOOL;
    case VYRE_RULE_CAST:
    case VYRE_RULE_BITCAST:
        return vy_decode_type(d);
    case VYRE_RULE_SELECT:
        return type_of(d, operands[1]);
    case VYRE_RULE_SAME:
        break;
    }
    return type_of(d, operands[0]);
}

static uint32_t decode_op(vy_decoder *d, uint8_t tag) {
    vyre_op op = (vyre_op)(tag - VY_WIRE_OP);
    const vyre_op_info *info = vyre_op_get(op);
    if (!info) {
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, d->reader.at - 1,
                              "the op (%u) is not below the number known (%u)", (unsigned)op, (unsigned)VYRE_OP_COUNT);
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
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W007, d->reader.at - 1, "the tag (0x%02x) is not known",
                              tag);
    vy_decode_push(d, expr);
}

/* ---- statements ---- */

/* What the fields of a statement say, beside the statement itself. */
typedef struct fields {
    vy_stmt stmt;
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    int has_args; /* d->args is filled, the stack is in it */
} fields;

static void decode_args(vy_decoder *d, fields *f) {
    size_t at = d->reader.at;
    uint32_t count = vy_wire_reader_count(&d->reader, VY_LIMIT_PARAMS, "the number of arguments"), taken = 0;
    f->has_args = 1;
    for (uint32_t i = 0; i < count && d->reader.status == VYRE_OK; i++) {
        uint32_t memory = vy_wire_reader_index(&d->reader, d->memory_count + 1, "the memory of the argument");
        vy_arg *arg = VY_PUSH(&d->args);
        if (!arg)
            vy_wire_reader_no_memory(&d->reader);
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
    uint32_t count = vy_wire_reader_count(&d->reader, VY_LIMIT_RESULTS, "the number of results");
    for (uint32_t i = 0; i < count; i++) {
        f->names[i] = vy_decode_string(d, "the name of a result");
        f->types[i] = vy_decode_type(d);
    }
    f->stmt.result_count = (uint8_t)count;
}

static void decode_elements(vy_decoder *d, fields *f) {
    uint32_t count = vy_wire_reader_count(&d->reader, VY_LIMIT_WIDE, "the number of elements");
    for (uint32_t i = 0; i < count; i++) {
        f->names[i] = vy_decode_string(d, "the name of a result");
        f->types[i] =
            d->reader.status == VYRE_OK ? (vyre_type)d->draft.program->memories.items[f->stmt.memory].type : 0;
    }
    f->stmt.result_count = (uint8_t)count;
}

static void decode_collective(vy_decoder *d, vy_stmt *stmt) {
    stmt->op = vy_wire_reader_choice(&d->reader, VYRE_COLLECTIVE_COUNT, "the collective");
    if (vy_collectives[stmt->op].combines)
        stmt->combine = vy_wire_reader_choice(&d->reader, VYRE_OP_COUNT, "the op that combines");
    stmt->width = (uint8_t)vy_wire_reader_fixed(&d->reader, 1, "the width");
    stmt->result_count = 1;
}

static void decode_callee(vy_decoder *d, vy_stmt *stmt) {
    uint32_t callee = vy_wire_reader_index(&d->reader, d->function_count + 1, "the function called");
    stmt->callee = callee ? callee - 1 : VY_NONE;
    if (!callee)
        stmt->name = vy_decode_string(d, "an op id");
}

static void decode_field(vy_decoder *d, fields *f, char field) {
    vy_stmt *stmt = &f->stmt;
    switch (field) {
    case 'n':
        f->names[0] = vy_decode_string(d, "the name of a variable");
        break;
    case 'r':
        stmt->result_count = vy_wire_reader_choice(&d->reader, 2, "the number of results");
        if (stmt->result_count)
            f->names[0] = vy_decode_string(d, "the name of a result");
        break;
    case 'v':
        stmt->variable = decode_variable(d);
        break;
    case 'm':
        stmt->memory = decode_memory(d);
        break;
    case 'a':
        stmt->op = vy_wire_reader_choice(&d->reader, VYRE_ATOMIC_COUNT, "the atomic");
        break;
    case 'o':
        stmt->order = vy_wire_reader_choice(&d->reader, VYRE_ORDER_COUNT, "the order");
        break;
    case 's':
        stmt->scope = vy_wire_reader_choice(&d->reader, VYRE_SCOPE_COUNT, "the scope");
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
        stmt->name = vy_decode_string(d, "a text");
        break;
    case 'u':
        if (d->draft.program->level == VYRE_LEVEL_LEGAL)
            stmt->bounds_check = vy_wire_reader_choice(&d->reader, VY_BOUNDS_CHECK_COUNT, "the guard");
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

/* Hands the stack to the statement: as a, b, c, or as arguments. */
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
            vy_wire_reader_no_memory(&d->reader);
    }
    d->stack.count = 0;
}

/* How many expressions this very statement takes: for atomics and collectives the op decides. */
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
        vy_wire_reader_no_memory(&d->reader);
    if (d->draft.depth > VY_LIMIT_NESTING + 1)
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W012, at, "blocks nest deeper than the limit (%d)",
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
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W012, d->reader.at - 1,
                              "an else stands where no if is open without one");
    else
        vy_irb_else(&d->draft);
}

static void decode_end(vy_decoder *d) {
    const vy_stmt *stmt = innermost(d);
    if (d->stack.count)
        reject_stack(d, d->reader.at - 1, "the end of a block", 0, 0);
    else if (stmt && stmt->kind == VY_STMT_IF && stmt->middle == d->draft.program->stmts.count)
        vy_wire_reader_reject(&d->reader, VYRE_CORRUPT, VY_W012, d->reader.at - 1, "an else has no statement");
    else
        vy_irb_end_block(&d->draft);
}

/* Kind of statement by tag, plus 1. */
static const uint8_t kinds[VY_WIRE_VARIABLE] = {
#define X(KIND, tag, min_exprs, max_exprs, fields) [tag] = VY_STMT_##KIND + 1,
    VY_WIRE_STMT_LIST(X)
#undef X
};

void vy_decode_body(vy_decoder *d) {
    for (;;) {
        const uint8_t *tag = vy_wire_reader_bytes(&d->reader, 1, "a statement");
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
