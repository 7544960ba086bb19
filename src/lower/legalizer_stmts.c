/* Statements (legalizer_stmts.h). */
#include "lower/legalizer_stmts.h"

#include "lower/legalizer_exprs.h"

static vy_symbol variable_name(vy_legalizer *rw, uint32_t variable) {
    return vy_cloner_name(&rw->copy, vy_symbol_name(rw->from, rw->from->variables.items[variable].name));
}

static void declare(vy_legalizer *rw, const vy_stmt *s) {
    vyre_type type = rw->phase->carrier(rw, (vyre_type)rw->from->variables.items[s->variable].type);
    uint32_t value = vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a));
    vy_symbol name = variable_name(rw, s->variable);
    rw->copy.variables[s->variable] = s->kind == VY_STMT_VAR ? vy_irb_var(&rw->copy.draft, name, type, value)
                                                             : vy_irb_let(&rw->copy.draft, name, type, value);
}

static void store(vy_legalizer *rw, const vy_stmt *s) {
    const vy_memory *memory = &rw->from->memories.items[s->memory];
    uint32_t index = vy_legalizer_lower_index(rw, s->a);
    uint32_t value = vy_legalizer_lower(rw, s->b);
    if (value != VY_NONE)
        value = rw->phase->narrow(rw, (vyre_type)memory->type, value, (vy_space)memory->space);
    index = vy_legalizer_append(rw, index);
    value = vy_legalizer_append(rw, value);
    vy_stmt stmt = *s;
    stmt.a = index;
    stmt.b = value;
    stmt.memory = rw->copy.memories[s->memory];
    vy_irb_stmt(&rw->copy.draft, &stmt, NULL, 0, NULL, NULL);
}

/* An atomic or a collective; its result, if it has one, is a variable of type `carrier`. */
static uint32_t with_operands(vy_legalizer *rw, const vy_stmt *s, vy_symbol name, vyre_type carrier) {
    vy_stmt stmt = *s;
    uint32_t a = s->memory == VY_NONE ? vy_legalizer_lower(rw, s->a) : vy_legalizer_lower_index(rw, s->a);
    uint32_t b = vy_legalizer_lower(rw, s->b), c = vy_legalizer_lower(rw, s->c);
    stmt.a = vy_legalizer_append(rw, a);
    stmt.b = vy_legalizer_append(rw, b);
    stmt.c = vy_legalizer_append(rw, c);
    stmt.memory = s->memory == VY_NONE ? VY_NONE : rw->copy.memories[s->memory];
    stmt.name = 0;
    if (rw->copy.draft.failed || rw->status != VYRE_OK)
        return VY_NONE;
    uint32_t made = vy_irb_stmt(&rw->copy.draft, &stmt, NULL, 0, &name, &carrier);
    return made == VY_NONE || !s->result_count ? VY_NONE : rw->copy.draft.program->stmts.items[made].variable;
}

static void atomic(vy_legalizer *rw, const vy_stmt *s) {
    vyre_type type = VYRE_TYPE_U32;
    vy_symbol name = 0;
    if (s->result_count) {
        type = (vyre_type)rw->from->variables.items[s->variable].type;
        name = variable_name(rw, s->variable);
    }
    uint32_t variable = with_operands(rw, s, name, type);
    if (s->result_count)
        rw->copy.variables[s->variable] = variable;
}

/* What is left to the target is exact in the carrier: the others have been written out (collectives.h). */
static void collective(vy_legalizer *rw, const vy_stmt *s) {
    vyre_type carrier = rw->phase->carrier(rw, (vyre_type)rw->from->variables.items[s->variable].type);
    vy_symbol name = variable_name(rw, s->variable);
    rw->copy.variables[s->variable] = with_operands(rw, s, name, carrier);
}

void vy_legalizer_body(vy_legalizer *rw, uint32_t first, uint32_t end, uint32_t mark) {
    vy_legalizer_block(rw, first, end);
    vy_cloner_close(&rw->copy, mark);
}

static void conditional(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    uint32_t mark = vy_cloner_open(&rw->copy);
    vy_irb_if(&rw->copy.draft, vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a)));
    vy_legalizer_body(rw, index + 1, s->middle, mark);
    if (s->middle != s->end) {
        vy_irb_else(&rw->copy.draft);
        vy_legalizer_body(rw, s->middle, s->end, mark);
    }
    vy_irb_end_block(&rw->copy.draft);
}

/* A condition that needs statements is computed at the start of each trip. */
static void loop_while(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    vy_irb *draft = &rw->copy.draft;
    uint32_t mark = vy_cloner_open(&rw->copy);
    if (vy_legalizer_is_kept(rw, s->a, 0)) {
        vy_irb_while(draft, vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a)));
    } else {
        vy_irb_while(draft, vy_irb_literal(draft, VYRE_TYPE_BOOL, 1));
        uint32_t leaves = vy_legalizer_op1(rw, VYRE_OP_LNOT, VYRE_TYPE_BOOL, vy_legalizer_lower(rw, s->a));
        vy_irb_if(draft, vy_legalizer_append(rw, leaves));
        vy_irb_simple(draft, VY_STMT_BREAK);
        vy_irb_end_block(draft);
    }
    vy_legalizer_body(rw, index + 1, s->end, mark);
    vy_irb_end_block(draft);
}

static void loop_for(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    vyre_type type = rw->phase->carrier(rw, (vyre_type)rw->from->variables.items[s->variable].type);
    uint32_t mark = vy_cloner_open(&rw->copy);
    uint32_t from = vy_legalizer_lower(rw, s->a), to = vy_legalizer_lower(rw, s->b),
             step = vy_legalizer_lower(rw, s->c);
    from = vy_legalizer_append(rw, from);
    to = vy_legalizer_append(rw, to);
    step = vy_legalizer_append(rw, step);
    vy_symbol name = variable_name(rw, s->variable);
    rw->copy.variables[s->variable] = vy_irb_for(&rw->copy.draft, name, type, from, to, step);
    vy_legalizer_body(rw, index + 1, s->end, mark);
    vy_irb_end_block(&rw->copy.draft);
}

static void region(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    const char *name = vy_symbol_name(rw->from, s->name);
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_REGION);
    uint32_t mark = vy_cloner_open(&rw->copy);
    stmt.name = vy_irb_intern(&rw->copy.draft, name, strlen(name));
    vy_irb_stmt(&rw->copy.draft, &stmt, NULL, 0, NULL, NULL);
    vy_legalizer_body(rw, index + 1, s->end, mark);
    vy_irb_end_block(&rw->copy.draft);
}

static void statement(vy_legalizer *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    vy_irb *draft = &rw->copy.draft;
    vy_stmt plain = *s;
    rw->trees.count = rw->depths.count = 0;
    draft->position = vy_stmt_position(rw->from, index);
    if (rw->phase->statement && rw->phase->statement(rw, index))
        return;
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
        declare(rw, s);
        break;
    case VY_STMT_ASSIGN:
        vy_irb_assign(draft, rw->copy.variables[s->variable], vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a)));
        break;
    case VY_STMT_STORE:
        store(rw, s);
        break;
    case VY_STMT_ATOMIC:
        atomic(rw, s);
        break;
    case VY_STMT_COLLECTIVE:
        collective(rw, s);
        break;
    case VY_STMT_IF:
        conditional(rw, index);
        break;
    case VY_STMT_WHILE:
        loop_while(rw, index);
        break;
    case VY_STMT_FOR:
        loop_for(rw, index);
        break;
    case VY_STMT_REGION:
        region(rw, index);
        break;
    case VY_STMT_POLL:
        rw->copy.variables[s->variable] = with_operands(rw, s, variable_name(rw, s->variable), VYRE_TYPE_BOOL);
        break;
    case VY_STMT_PRINT: /* of the oracle alone */
        break;
    default: /* trap, barrier, break, continue, return */
        plain.a = vy_legalizer_append(rw, vy_legalizer_lower(rw, s->a));
        plain.name = 0;
        vy_irb_stmt(draft, &plain, NULL, 0, NULL, NULL);
    }
}

void vy_legalizer_block(vy_legalizer *rw, uint32_t first, uint32_t end) {
    for (uint32_t i = first, next; i < end && !rw->copy.draft.failed && rw->status == VYRE_OK; i = next) {
        next = rw->phase->declare ? i : vy_legalizer_copy_run(rw, i, end);
        if (next > i)
            continue;
        next = rw->from->stmts.items[i].end;
        statement(rw, i);
    }
}
