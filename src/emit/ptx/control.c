/* Statements: labels and predicated branches. Threads that part meet again where structured control does; the driver's compiler sees to that. */
#include "emit/ptx/emitter.h"

void vy_ptx_leave(vy_ptx *e) {
    if (e->is_indirect)
        vy_ptx_jump(e, e->groups.next);
    else
        vy_ptx_write(e, "ret");
}

int vy_ptx_loop_begin(vy_ptx *e, vy_ptx_loop *out) {
    vy_ptx_loop *loop = VY_PUSH(&e->loops);
    if (!loop) {
        e->status = VYRE_NO_MEMORY;
        return 0;
    }
    *out = *loop = (vy_ptx_loop){vy_ptx_label(e), vy_ptx_label(e)};
    return 1;
}

static int ends_in_jump(const vy_ptx *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint8_t last = VY_STMT_KIND_COUNT;
    for (uint32_t i = first; i < end; i = stmts[i].end)
        last = stmts[i].kind;
    return last == VY_STMT_BREAK || last == VY_STMT_CONTINUE || last == VY_STMT_RETURN;
}

static void write_if(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    if (e->alignment != VY_PTX_ALIGNMENT_UNKNOWN && e->asks[index - e->body->first_stmt]) {
        e->one_by_one = e->alignment == VY_PTX_NOT_ALIGNED;
        vy_ptx_statements(e, index + 1, s->middle);
        e->one_by_one = 0;
        return;
    }
    if (vy_ptx_if_convert(e, index, s))
        return;
    vy_ptx_value condition = vy_ptx_expr(e, s->a);
    if (condition.is_literal) {
        vy_ptx_statements(e, condition.bits ? index + 1 : s->middle, condition.bits ? s->middle : s->end);
        return;
    }
    uint32_t otherwise = vy_ptx_label(e), end = s->middle == s->end ? otherwise : vy_ptx_label(e);
    vy_ptx_jump_if(e, condition, 0, otherwise);
    vy_ptx_statements(e, index + 1, s->middle);
    if (s->middle != s->end) {
        if (!ends_in_jump(e, index + 1, s->middle))
            vy_ptx_jump(e, end);
        vy_ptx_bind_label(e, otherwise);
        vy_ptx_statements(e, s->middle, s->end);
    }
    vy_ptx_bind_label(e, end);
}

/* ---- meetings ---- */

static void barrier(vy_ptx *e, const vy_stmt *s) {
    if (s->scope == VYRE_SCOPE_WORKGROUP)
        vy_ptx_end_line(e, vy_write_text(vy_ptx_line(e), "bar.sync 0"));
    else
        vy_ptx_grid_barrier(e);
}

static void shuffle(vy_ptx *e, const vy_stmt *s) {
    if (s->op != VYRE_COLLECTIVE_NATIVE_SHUFFLE || s->width != 32) {
        vy_ptx_refuse(e, vyre_collective_name((vyre_collective)s->op));
        return;
    }
    vy_ptx_value value = vy_ptx_in_register(e, vy_ptx_expr(e, s->a));
    vy_ptx_value lane = vy_ptx_in_register(e, vy_ptx_expr(e, s->b));
    vy_ptx_value d = vy_ptx_new(e, (vyre_type)value.type);
    vy_ptx_write(e, "shfl.sync.idx.b32 %s, %s, %s, 31, 0xffffffff", vy_ptx_name(e, d), vy_ptx_name(e, value),
                 vy_ptx_name(e, lane));
    vy_ptx_declare(e, s->variable, d);
}

/* ---- any statement ---- */

static void region(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    char *at = vy_write_text(vy_ptx_room(e), "\t// ");
    for (const char *name = vy_symbol_name(e->program, s->name); *name; name++) { /* which may be of any length */
        *at++ = (unsigned char)*name < ' ' ? ' ' : *name;
        if (at - e->at >= VY_PTX_LINE) {
            e->at = at;
            at = vy_ptx_room(e);
        }
    }
    e->at = vy_write_text(at, "\n");
    vy_ptx_statements(e, index + 1, s->end);
}

static void assign(vy_ptx *e, const vy_stmt *s) {
    vy_ptx_value value = vy_ptx_expr(e, s->a), always = vy_ptx_literal(VYRE_TYPE_BOOL, 1);
    vy_ptx_value guard = vy_ptx_assigns_itself_outside(e, s) ? always : e->guard;
    vy_ptx_move_if(e, guard, e->variables[s->variable], vy_ptx_assigned(e, value));
    vy_ptx_note_shift(e, s);
    vy_ptx_note_subword(e, s->variable, value);
}

static void statement(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET: /* never assigned to, it is its value, wherever that is */
        e->variables[s->variable] = vy_ptx_expr_kept(e, s->a);
        break;
    case VY_STMT_VAR:
        vy_ptx_declare(e, s->variable, vy_ptx_expr_kept(e, s->a));
        break;
    case VY_STMT_ASSIGN:
        assign(e, s);
        break;
    case VY_STMT_STORE:
        vy_ptx_store(e, s);
        break;
    case VY_STMT_ATOMIC:
        vy_ptx_atomic(e, s);
        break;
    case VY_STMT_COLLECTIVE:
        shuffle(e, s);
        break;
    case VY_STMT_BARRIER:
        barrier(e, s);
        break;
    case VY_STMT_IF:
        write_if(e, index, s);
        break;
    case VY_STMT_FOR:
        vy_ptx_for(e, index, s);
        break;
    case VY_STMT_WHILE:
        vy_ptx_while(e, index, s);
        break;
    case VY_STMT_BREAK:
        vy_ptx_jump(e, e->loops.items[e->loops.count - 1].exit);
        break;
    case VY_STMT_CONTINUE:
        vy_ptx_jump(e, e->loops.items[e->loops.count - 1].next);
        break;
    case VY_STMT_RETURN:
        vy_ptx_leave(e);
        break;
    case VY_STMT_REGION:
        region(e, index, s);
        break;
    case VY_STMT_LOAD_WIDE:
        vy_ptx_load_wide(e, s);
        break;
    case VY_STMT_STORE_WIDE:
        vy_ptx_store_wide(e, s);
        break;
    case VY_STMT_RECORD_TRAP:
        vy_ptx_record_trap(e, s);
        break;
    case VY_STMT_POLL:
        vy_ptx_poll(e, s);
        break;
    default:
        vy_ptx_refuse(e, s->kind == VY_STMT_TRAP ? "trap" : s->kind == VY_STMT_PRINT ? "print" : "a call");
    }
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
void vy_ptx_statements(vy_ptx *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    for (uint32_t i = first; i < end && e->status == VYRE_OK; i = stmts[i].end) {
        if (e->has_positions)
            vy_ptx_locate(e, i);
        statement(e, i, &stmts[i]);
    }
}
