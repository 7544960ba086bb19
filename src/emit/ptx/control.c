/* Control flow: statements as labels and predicated branches; barriers, grid barriers, subgroup shuffles
 * (shfl.sync), traps, and polls for cancellation. Invariant: no thread waits forever at a barrier that another
 * thread has left. */
#include "emit/ptx/emitter.h"

#include "analysis/control_flow.h"

#include <inttypes.h>
#include <stddef.h>

/* ---- statements ----
 *
 * Statements become labels and predicated branches. Divergent threads reconverge where structured control flow joins;
 * ptxas ensures that. */

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

/* The second branch. If the first has no loop, loops here that compute with the same literals are another version of
 * it, for the elements that remain (opt/coarsen.h). */
static void write_else(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t repeated = e->repeated_numbers, outside = e->loops_outside, i = index + 1;
    while (i < s->middle && stmts[i].kind != VY_STMT_FOR && stmts[i].kind != VY_STMT_WHILE)
        i++;
    if (i == s->middle) {
        e->repeated_numbers = e->number_count;
        e->loops_outside = e->loops.count;
    }
    vy_ptx_statements(e, s->middle, s->end);
    e->repeated_numbers = repeated;
    e->loops_outside = outside;
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
        if (vy_block_falls_through(e->program, index + 1, s->middle))
            vy_ptx_jump(e, end);
        vy_ptx_bind_label(e, otherwise);
        write_else(e, index, s);
    }
    vy_ptx_bind_label(e, end);
}

/* ---- synchronisation ---- */

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

/* ---- statements ---- */

static void region(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    char *at = vy_write_text(vy_ptx_room(e), "\t// ");
    for (const char *name = vy_symbol_name(e->program, s->name); *name; name++) { /* the name may be of any length */
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

static void emit_record_trap(vy_ptx *e, const vy_stmt *s);

static void emit_poll(vy_ptx *e, const vy_stmt *s);

/* Without `default`, so that a new kind does not compile until it has a case. */
static void statement(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET: /* a variable that is never assigned is its value, in whatever register */
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
        emit_record_trap(e, s);
        break;
    case VY_STMT_POLL:
        emit_poll(e, s);
        break;
    case VY_STMT_CALL:
        vy_ptx_lowered_op(e, s);
        break;
    case VY_STMT_TRAP:
    case VY_STMT_PRINT:
    case VY_STMT_KIND_COUNT:
        vy_ptx_refuse(e, s->kind == VY_STMT_TRAP ? "trap" : "print");
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

/* ---- traps and polls ----
 *
 * An invocation ends early after it has reported a trap, or if a poll finds that the dispatch must end
 * (vy_launch_control). */

vy_ptx_address vy_ptx_field(vy_ptx *e, size_t offset) {
    vy_ptx_address at;
    char *text = vy_write_text(at.text, "[");
    text = vy_write_text(vy_ptx_put(text, vy_ptx_control_address(e)), "+");
    memcpy(vy_write_decimal(text, offset), "]", 2);
    return at;
}

#define NAME(value) vy_ptx_name(e, value)

/* x + y * count: 64 bits. */
static vy_ptx_value add_product(vy_ptx *e, vy_ptx_value x, vy_ptx_value y, vy_ptx_value count) {
    vy_ptx_value wide_x = vy_ptx_cast(e, VYRE_TYPE_U64, x), wide_count = vy_ptx_cast(e, VYRE_TYPE_U64, count);
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_U64);
    vy_ptx_write(e, "mad.lo.u64 %s, %s, %s, %s", vy_ptx_name(e, d), vy_ptx_name(e, y), vy_ptx_name(e, wide_count),
                 vy_ptx_name(e, wide_x));
    return d;
}

/* group * size + local, the groups counted by x, then y, then z. */
static vy_ptx_value invocation(vy_ptx *e) {
    const uint32_t invocations = vy_workgroup_invocations(e->program);
    vy_ptx_value group = vy_ptx_cast(e, VYRE_TYPE_U64, vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_ID, 2));
    for (unsigned axis = 2; axis-- > 0;) {
        /* In separate statements, so that the order of the emitted lines is defined. */
        vy_ptx_value id = vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_ID, axis);
        group = add_product(e, id, group, vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_COUNT, axis));
    }
    vy_ptx_value local = vy_ptx_in_register(e, vy_ptx_builtin(e, VYRE_BUILTIN_LOCAL_INDEX, 0));
    vy_ptx_value count = vy_ptx_in_register(e, vy_ptx_literal(VYRE_TYPE_U32, invocations));
    return add_product(e, local, group, count);
}

/* Two words change together, under a lock. The thread that holds the lock releases it before any thread of its warp
 * retries, so that no thread waits for one that waits for it. It iterates once more, and then finds its own number. */
static void emit_record_trap(vy_ptx *e, const vy_stmt *s) {
    vy_ptx_value code = vy_ptx_in_register(e, vy_ptx_expr(e, s->a)), id = invocation(e);
    vy_ptx_value smallest = vy_ptx_new(e, VYRE_TYPE_U64), lock = vy_ptx_new(e, VYRE_TYPE_U32),
                 p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    uint32_t again = vy_ptx_label(e), held = vy_ptx_label(e), done = vy_ptx_label(e);
    vy_ptx_bind_label(e, again);
    vy_ptx_write(e, "ld.volatile.global.u64 %s, %s", NAME(smallest), VY_PTX_FIELD(trap_invocation));
    vy_ptx_write(e, "setp.ge.u64 %s, %s, %s", NAME(p), NAME(id), NAME(smallest));
    vy_ptx_jump_if(e, p, 1, done);
    vy_ptx_write(e, "atom.global.cas.b32 %s, %s, 0, 1", NAME(lock), VY_PTX_FIELD(lock));
    vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(lock));
    vy_ptx_jump_if(e, p, 1, held);
    vy_ptx_write(e, "membar.gl");
    vy_ptx_write(e, "ld.volatile.global.u64 %s, %s", NAME(smallest), VY_PTX_FIELD(trap_invocation));
    vy_ptx_write(e, "setp.lt.u64 %s, %s, %s", NAME(p), NAME(id), NAME(smallest));
    vy_ptx_write(e, "@%s st.volatile.global.u64 %s, %s", NAME(p), VY_PTX_FIELD(trap_invocation), NAME(id));
    vy_ptx_write(e, "@%s st.volatile.global.u32 %s, %s", NAME(p), VY_PTX_FIELD(trap_code), NAME(code));
    vy_ptx_write(e, "membar.gl");
    vy_ptx_write(e, "atom.global.exch.b32 %s, %s, 0", NAME(lock), VY_PTX_FIELD(lock));
    vy_ptx_bind_label(e, held);
    vy_ptx_jump(e, again);
    vy_ptx_bind_label(e, done);
}

void vy_ptx_check_cancel(vy_ptx *e, vy_ptx_value stop) {
    vy_ptx_value word = vy_ptx_new(e, VYRE_TYPE_U32), p = vy_ptx_new(e, VYRE_TYPE_BOOL),
                 deadline = vy_ptx_new(e, VYRE_TYPE_U64), now = vy_ptx_new(e, VYRE_TYPE_U64);
    vy_ptx_write(e, "ld.volatile.global.u32 %s, %s", NAME(word), VY_PTX_FIELD(cancel));
    vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(word));
    vy_ptx_write(e, "or.pred %s, %s, %s", NAME(stop), NAME(stop), NAME(p));
    vy_ptx_write(e, "ld.volatile.global.u64 %s, %s", NAME(deadline), VY_PTX_FIELD(deadline));
    vy_ptx_write(e, "mov.u64 %s, %%globaltimer", NAME(now));
    vy_ptx_write(e, "setp.ge.u64 %s, %s, %s", NAME(p), NAME(now), NAME(deadline));
    vy_ptx_write(e, "or.pred %s, %s, %s", NAME(stop), NAME(stop), NAME(p));
    vy_ptx_write(e, "mov.u32 %s, 1", NAME(word));
    vy_ptx_write(e, "@%s st.volatile.global.u32 %s, %s", NAME(stop), VY_PTX_FIELD(stopped), NAME(word));
}

/* Device memory is read at intervals. Once a poll was true, all later ones are. */
static void emit_poll(vy_ptx *e, const vy_stmt *s) {
    vy_ptx_value turn = vy_ptx_new(e, VYRE_TYPE_U32), p = vy_ptx_new(e, VYRE_TYPE_BOOL),
                 result = vy_ptx_new(e, VYRE_TYPE_BOOL);
    uint32_t done = vy_ptx_label(e);
    vy_ptx_write(e, "and.b32 %s, %s, %d", NAME(turn), NAME(e->polls), VY_LAUNCH_POLL_PERIOD - 1);
    vy_ptx_write(e, "add.u32 %s, %s, 1", NAME(e->polls), NAME(e->polls));
    vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(turn));
    vy_ptx_jump_if(e, p, 1, done);
    vy_ptx_check_cancel(e, e->stopping);
    vy_ptx_bind_label(e, done);
    vy_ptx_write(e, "mov.pred %s, %s", NAME(result), NAME(e->stopping));
    vy_ptx_declare(e, s->variable, result);
}

/* Grid barriers, inside a cooperative launch, whose blocks all run at the same time. The first thread of each block
 * increments a count and waits for the other blocks; the rest of its block waits for it.
 *
 * The last block to arrive clears the count and increments the word that the others wait for. So both words can be
 * used again immediately, also by the next launch. Everything before the barrier is ordered before everything after
 * it: bar.sync orders the accesses of the block with those of its first thread, whose increment releases them to the
 * device; the last block acquires all increments, and releases with the word that the others acquire.
 *
 * No thread waits forever. A block of which a thread trapped does not arrive, or leaves here without incrementing the
 * count. A thread that waits and sees a trap leaves, too, unless all blocks have arrived: the word is loaded after the
 * trap, and a thread that trapped after this barrier had seen the word. So all blocks leave at the same barrier, and
 * each has run up to it. If the program polls, a thread that waits also polls for the end of the dispatch. Then the
 * outputs are not used, and blocks may leave at different barriers. */
#define NAME(value) vy_ptx_name(e, value)

/* The number of blocks of the launch, minus one. */
static vy_ptx_value last_of_grid(vy_ptx *e) {
    vy_ptx_value product = vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_COUNT, 0);
    for (unsigned axis = 1; axis < 3; axis++) {
        vy_ptx_value count = vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_COUNT, axis), d = vy_ptx_new(e, VYRE_TYPE_U32);
        vy_ptx_write(e, "mul.lo.u32 %s, %s, %s", NAME(d), NAME(product), NAME(count));
        product = d;
    }
    vy_ptx_value last = vy_ptx_new(e, VYRE_TYPE_U32);
    vy_ptx_write(e, "sub.u32 %s, %s, 1", NAME(last), NAME(product));
    return last;
}

/* Sets `stop` if an invocation has trapped. Acquires, so that later loads see the values that it had seen. */
static void ask_for_traps(vy_ptx *e, vy_ptx_value stop) {
    vy_ptx_value smallest = vy_ptx_new(e, VYRE_TYPE_U64), p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    vy_ptx_write(e, "ld.acquire.gpu.global.u64 %s, %s", NAME(smallest), VY_PTX_FIELD(trap_invocation));
    vy_ptx_write(e, "setp.ne.u64 %s, %s, -1", NAME(p), NAME(smallest));
    vy_ptx_write(e, "or.pred %s, %s, %s", NAME(stop), NAME(stop), NAME(p));
}

/* The part of the first thread. stop: whether the dispatch must end, if programs can end early. */
static void meet_others(vy_ptx *e, vy_ptx_value stop, uint32_t done) {
    vy_ptx_value passed = vy_ptx_new(e, VYRE_TYPE_U32), now = vy_ptx_new(e, VYRE_TYPE_U32),
                 p = vy_ptx_new(e, VYRE_TYPE_BOOL), last = last_of_grid(e);
    uint32_t wait = vy_ptx_label(e);
    if (e->has_reports) {
        ask_for_traps(e, stop);
        vy_ptx_jump_if(e, stop, 1, done);
    }
    vy_ptx_write(e, "ld.relaxed.gpu.global.u32 %s, %s", NAME(passed), VY_PTX_FIELD(barriers));
    vy_ptx_write(e, "fence.acq_rel.gpu");
    vy_ptx_write(e, "atom.acq_rel.gpu.global.add.u32 %s, %s, 1", NAME(now), VY_PTX_FIELD(arrived));
    vy_ptx_write(e, "setp.lt.u32 %s, %s, %s", NAME(p), NAME(now), NAME(last));
    vy_ptx_jump_if(e, p, 1, wait);
    vy_ptx_move(e, now, vy_ptx_literal(VYRE_TYPE_U32, 0));
    vy_ptx_write(e, "st.relaxed.gpu.global.u32 %s, %s", VY_PTX_FIELD(arrived), NAME(now));
    vy_ptx_write(e, "add.u32 %s, %s, 1", NAME(now), NAME(passed));
    vy_ptx_write(e, "st.release.gpu.global.u32 %s, %s", VY_PTX_FIELD(barriers), NAME(now));
    vy_ptx_jump(e, done);
    vy_ptx_bind_label(e, wait);
    if (e->has_polls)
        vy_ptx_check_cancel(e, stop);
    if (e->has_reports)
        ask_for_traps(e, stop);
    vy_ptx_write(e, "ld.acquire.gpu.global.u32 %s, %s", NAME(now), VY_PTX_FIELD(barriers));
    vy_ptx_write(e, "setp.eq.u32 %s, %s, %s", NAME(p), NAME(now), NAME(passed));
    if (e->has_reports || e->has_polls) {
        vy_ptx_write(e, "and.pred %s, %s, %s", NAME(stop), NAME(stop), NAME(p));
        vy_ptx_jump_if(e, stop, 1, done);
    }
    vy_ptx_jump_if(e, p, 1, wait);
}

void vy_ptx_grid_barrier(vy_ptx *e) {
    vy_ptx_value index = vy_ptx_builtin(e, VYRE_BUILTIN_LOCAL_INDEX, 0), stop = vy_ptx_new(e, VYRE_TYPE_BOOL);
    int may_end = e->has_reports || e->has_polls;
    uint32_t done = vy_ptx_label(e);
    if (e->batched || e->is_indirect) {
        vy_ptx_refuse(e, e->batched ? "a grid barrier in a batched entry" : "a grid barrier in an indirect grid");
        return;
    }
    vy_ptx_need(e, 60, VY_PTX_GRID_BARRIERS);
    vy_ptx_write(e, "bar.sync 0");
    if (may_end)
        vy_ptx_move(e, stop, vy_ptx_literal(VYRE_TYPE_BOOL, 0));
    if (!index.is_literal) {
        vy_ptx_value p = vy_ptx_new(e, VYRE_TYPE_BOOL);
        vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(index));
        vy_ptx_jump_if(e, p, 1, done);
    }
    meet_others(e, stop, done);
    vy_ptx_bind_label(e, done);
    if (!may_end) {
        vy_ptx_write(e, "bar.sync 0");
        return;
    }
    vy_ptx_value ended = vy_ptx_new(e, VYRE_TYPE_BOOL);
    uint32_t go_on = vy_ptx_label(e);
    vy_ptx_write(e, "bar.red.or.pred %s, 0, %s", NAME(ended), NAME(stop));
    vy_ptx_jump_if(e, ended, 0, go_on);
    vy_ptx_write(e, "ret");
    vy_ptx_bind_label(e, go_on);
}
