/* Program to bytecode (bytecode.h): one walk over the statements, after liveness.c has found how long each variable lives. */
#include "oracle/compile.h"

#include "base/status.h"

/* Statements of a straight run are counted by one instruction at its start; whatever may change the mask ends the run. */
static void count_step(vy_oracle_compiler *c, uint32_t statements, uint32_t nodes) {
    if (c->step == VY_NONE) {
        vy_emit(c, VY_OPCODE_STEP);
        if (c->failed)
            return;
        c->step = vy_emit_here(c) - 1;
    }
    c->oracle->code.items[c->step].r += statements;
    c->oracle->code.items[c->step].a += nodes;
}

void vy_emit_end_run(vy_oracle_compiler *c) {
    c->step = VY_NONE;
}

/* Registers of variables whose last use lies in the statement (or loop) that just ended. */
static void free_expired(vy_oracle_compiler *c, uint32_t stmt) {
    for (uint32_t v = c->expires[stmt - c->entry->first_stmt]; v != VY_NONE; v = c->lives[v].next) {
        const vy_variable *variable = &c->program->variables.items[c->entry->first_variable + v];
        if (!(c->lives[v].r & VY_SHARED) && !c->lives[v].is_borrowed)
            vy_register_free(c, variable->type, c->lives[v].r);
    }
}

uint32_t vy_emit_declare(vy_oracle_compiler *c, uint32_t variable) {
    vy_live_interval *life = &c->lives[variable - c->entry->first_variable];
    return life->r = vy_register_new(c, c->program->variables.items[variable].type);
}

static void emit_block(vy_oracle_compiler *c, uint32_t first, uint32_t end, uint32_t *join);

static void emit_let(vy_oracle_compiler *c, const vy_stmt *stmt) {
    vy_live_interval *life = &c->lives[stmt->variable - c->entry->first_variable];
    const vy_expr *value = &c->program->exprs.items[stmt->a];
    if (life->root != stmt->variable - c->entry->first_variable)
        return; /* another name for a value that does not change */
    if (life->is_borrowed) {
        uint32_t r = vy_emit_value(c, stmt->a);
        if (!vy_value_is_temporary(value, r)) {
            life->r = r;
            return;
        }
        /* A literal that found no shared register. */
        life->is_borrowed = 0;
        life->r = r;
        return;
    }
    vy_emit_expr(c, stmt->a, vy_emit_declare(c, stmt->variable), 0);
}

/* ---- control ---- */

static void emit_if(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint32_t condition = vy_emit_value(c, stmt->a), slot = vy_output_slots_new(c, 1), chain = VY_NONE;
    vy_emit_jump(c, VY_OPCODE_IF, slot, &chain)->a = condition;
    vy_value_free(c, stmt->a, condition);
    free_expired(c, s);
    vy_emit_end_run(c);
    emit_block(c, s + 1, stmt->middle, &chain);
    vy_emit_patch(c, chain);
    vy_emit_end_run(c);
    if (stmt->middle != stmt->end) {
        chain = VY_NONE;
        vy_emit_jump(c, VY_OPCODE_ELSE, slot, &chain);
        emit_block(c, stmt->middle, stmt->end, &chain);
        vy_emit_patch(c, chain);
        vy_emit_end_run(c);
    }
    vy_emit_jump(c, VY_OPCODE_ENDIF, slot, join);
    c->slots--;
}

/* The body of a loop, the way back to `head`, and the exit, which `leave` waits for. `next` is the last instruction of the body. */
static void emit_loop(vy_oracle_compiler *c, uint32_t s, uint32_t slot, uint32_t head, uint32_t leave,
                      vy_instruction next, uint32_t *join) {
    uint32_t outer = c->loop_slot, chain = VY_NONE;
    c->loop_slot = slot;
    vy_emit_end_run(c);
    emit_block(c, s + 1, c->program->stmts.items[s].end, &chain);
    vy_emit_patch(c, chain);
    vy_emit_end_run(c);
    next.target = head;
    next.slot = slot;
    next.site = s;
    *vy_emit(c, VY_OPCODE_NEXT) = next;
    vy_emit_patch(c, leave);
    vy_emit_jump(c, VY_OPCODE_EXIT, slot, join);
    c->loop_slot = outer;
    c->slots -= 2;
    free_expired(c, s);
}

static void emit_while(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint32_t slot = vy_output_slots_new(c, 2), leave = VY_NONE;
    vy_emit(c, VY_OPCODE_LOOP)->slot = slot;
    vy_emit_end_run(c);
    uint32_t head = vy_emit_here(c);
    count_step(c, 1, c->nodes);
    uint32_t condition = vy_emit_value(c, stmt->a);
    vy_emit_jump(c, VY_OPCODE_WHILE, slot, &leave)->a = condition;
    vy_value_free(c, stmt->a, condition);
    emit_loop(c, s, slot, head, leave, (vy_instruction){.code = VY_OPCODE_NEXT}, join);
}

/* The step must keep its value while the body may assign to what it was computed from. */
static uint32_t emit_step(vy_oracle_compiler *c, const vy_stmt *stmt, int *owned) {
    const vy_expr *step = &c->program->exprs.items[stmt->c];
    uint32_t r = vy_emit_value(c, stmt->c);
    *owned = vy_value_is_temporary(step, r);
    if (*owned || (r & VY_SHARED))
        return r;
    *owned = 1;
    vy_instruction *move = vy_emit(c, VY_OPCODE_MOVE);
    move->r = vy_register_new(c, step->type);
    move->a = r;
    return move->r;
}

static void emit_for(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    uint8_t type = c->program->exprs.items[stmt->a].type;
    int owned = 0;
    uint32_t from = vy_emit_value(c, stmt->a), to = vy_emit_value(c, stmt->b);
    uint32_t step = stmt->c == VY_NONE ? VY_NONE : emit_step(c, stmt, &owned);
    uint32_t variable = vy_emit_declare(c, stmt->variable), trips = vy_register_new(c, VYRE_TYPE_U64);
    vy_instruction *init = vy_emit(c, VY_OPCODE_FOR);
    init->type = type;
    init->r = variable;
    init->a = from;
    init->b = to;
    init->c = step;
    init->value = trips;
    vy_value_free(c, stmt->a, from);
    vy_value_free(c, stmt->b, to);
    uint32_t slot = vy_output_slots_new(c, 2), leave = VY_NONE;
    vy_emit(c, VY_OPCODE_LOOP)->slot = slot;
    vy_emit_end_run(c);
    uint32_t head = vy_emit_here(c);
    count_step(c, 1, 0);
    vy_emit_jump(c, VY_OPCODE_FOR_TEST, slot, &leave)->a = trips;
    emit_loop(c, s, slot, head, leave,
              (vy_instruction){.code = VY_OPCODE_FOR_NEXT, .type = type, .r = variable, .a = trips, .c = step}, join);
    vy_register_free(c, VYRE_TYPE_U64, trips);
    if (owned)
        vy_register_free(c, type, step);
}

static void emit_trap(vy_oracle_compiler *c, const vy_stmt *stmt, uint32_t *join) {
    uint32_t code = vy_emit_value(c, stmt->a);
    vy_emit_jump(c, VY_OPCODE_TRAP, 0, join)->a = code;
    vy_value_free(c, stmt->a, code);
    vy_emit_end_run(c);
}

static void emit_assign(vy_oracle_compiler *c, const vy_stmt *stmt) {
    vy_emit_expr(c, stmt->a, vy_register_variable(c, stmt->variable), 1);
}

/* Statements after which the next one follows. */
static void (*const writers[VY_STMT_KIND_COUNT])(vy_oracle_compiler *c, const vy_stmt *stmt) = {
    [VY_STMT_LET] = emit_let,
    [VY_STMT_VAR] = emit_let,
    [VY_STMT_ASSIGN] = emit_assign,
    [VY_STMT_STORE] = vy_emit_store,
    [VY_STMT_ATOMIC] = vy_emit_atomic,
    [VY_STMT_COLLECTIVE] = vy_emit_collective,
    [VY_STMT_BARRIER] = vy_emit_barrier,
    [VY_STMT_PRINT] = vy_emit_print,
    [VY_STMT_LOAD_WIDE] = vy_emit_load_wide,
    [VY_STMT_STORE_WIDE] = vy_emit_store_wide,
    [VY_STMT_RECORD_TRAP] = vy_emit_report,
    [VY_STMT_POLL] = vy_emit_poll,
};

/* The others. */
static void emit_control(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    switch ((vy_stmt_kind)stmt->kind) {
    case VY_STMT_IF:
        emit_if(c, s, join);
        return;
    case VY_STMT_FOR:
        emit_for(c, s, join);
        return;
    case VY_STMT_WHILE:
        emit_while(c, s, join);
        return;
    case VY_STMT_TRAP:
        emit_trap(c, stmt, join);
        break;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
        vy_emit_jump(c, stmt->kind == VY_STMT_BREAK ? VY_OPCODE_BREAK : VY_OPCODE_CONTINUE, c->loop_slot, join);
        vy_emit_end_run(c);
        break;
    case VY_STMT_RETURN:
        vy_emit_jump(c, VY_OPCODE_RETURN, 0, join);
        vy_emit_end_run(c);
        break;
    default: /* region: a scope and nothing else; calls are gone */
        emit_block(c, s + 1, stmt->end, join);
        break;
    }
    free_expired(c, s);
}

static void emit_stmt(vy_oracle_compiler *c, uint32_t s, uint32_t *join) {
    const vy_stmt *stmt = &c->program->stmts.items[s];
    c->stmt = s;
    c->nodes = c->node_counts[s - c->entry->first_stmt];
    if (stmt->kind != VY_STMT_WHILE && stmt->kind != VY_STMT_REGION)
        count_step(c, 1, c->nodes);
    if (!writers[stmt->kind]) {
        emit_control(c, s, join);
        return;
    }
    writers[stmt->kind](c, stmt);
    free_expired(c, s);
}

/* `join` collects the instructions that wait for the end of the construct around the block. */
static void emit_block(vy_oracle_compiler *c, uint32_t first, uint32_t end, uint32_t *join) {
    for (uint32_t s = first; s < end && !c->failed; s = c->program->stmts.items[s].end)
        emit_stmt(c, s, join);
}

/* ---- declarations ---- */

static void lay_out_memories(vy_oracle_compiler *c) {
    vyre_oracle *oracle = c->oracle;
    for (uint32_t i = 0; i < c->entry->memory_count; i++) {
        const vy_memory *memory = &c->program->memories.items[c->entry->first_memory + i];
        vy_oracle_memory *item = VY_PUSH(&oracle->memories);
        if (!item) {
            c->failed = 1;
            return;
        }
        *item = (vy_oracle_memory){.space = memory->space, .type = memory->type, .elements = memory->elements};
        if (memory->space == VY_SPACE_BUFFER)
            continue;
        uint32_t *total = memory->space == VY_SPACE_WORKGROUP ? &oracle->workgroup_bytes : &oracle->private_bytes;
        item->offset = *total;
        *total += (memory->elements * vy_type_layouts[memory->type].size + 7u) & ~7u;
    }
}

static void declare_params(vy_oracle_compiler *c) {
    for (uint32_t i = 0; i < c->program->param_count; i++)
        c->lives[i].r = vy_register_shared(c, &(vy_shared_value){.kind = VY_SHARED_PARAM, .index = i});
}

static void compiler_start(vy_oracle_compiler *c, vyre_oracle *oracle) {
    memset(c, 0, sizeof *c);
    c->oracle = oracle;
    c->program = oracle->program;
    c->entry = vy_program_entry(oracle->program);
    c->step = VY_NONE;
    memset(c->literals, 0xff, sizeof c->literals);
    memset(c->lens, 0xff, sizeof c->lens);
    memset(c->misalignments, 0xff, sizeof c->misalignments);
    c->garbage = VY_NONE;
    memset(c->builtins, 0xff, sizeof c->builtins);
}

vyre_status vy_oracle_compile(vyre_oracle *oracle, vyre_error *error) {
    vy_oracle_compiler compiler, *c = &compiler;
    compiler_start(c, oracle);
    oracle->is_legal = oracle->program->level == VYRE_LEVEL_LEGAL;
    oracle->polls = VY_NONE;
    if (vy_oracle_compiler_liveness(c)) {
        lay_out_memories(c);
        declare_params(c);
        uint32_t join = VY_NONE;
        emit_block(c, c->entry->first_stmt, c->entry->end_stmt, &join);
        vy_emit_patch(c, join);
        vy_emit(c, VY_OPCODE_END);
    } else {
        c->failed = 1;
    }
    const vyre_program *program = oracle->program;
    oracle->serial = (program->facts & VY_PROGRAM_IS_SCHEDULE_DEPENDENT) ||
                     (program->numerics == VYRE_NUMERICS_RELAXED && (program->facts & VY_PROGRAM_HAS_ATOMIC));
    int failed = c->failed;
    const char *refused = c->refused;
    vyre_type type = c->refused_type;
    vy_oracle_compiler_free(c);
    if (refused && !failed)
        return vy_fail(error, VYRE_UNSUPPORTED, "legalise the program for this device (vy_legalize)",
                       "the device has no %s of %s", refused, vyre_type_name(type));
    return failed ? vy_fail_memory(error, "the oracle's form of a program") : VYRE_OK;
}
