/* How an invocation ends: it reports that it trapped, it asks whether the dispatch is over (vy_ptx_control). */
#include "emit/ptx/emitter.h"

#include <inttypes.h>
#include <stddef.h>

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
    const uint32_t *size = e->program->workgroup;
    vy_ptx_value group = vy_ptx_cast(e, VYRE_TYPE_U64, vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_ID, 2));
    for (unsigned axis = 2; axis-- > 0;) {
        /* One after the other, so that every compiler writes the same text. */
        vy_ptx_value id = vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_ID, axis);
        group = add_product(e, id, group, vy_ptx_builtin(e, VYRE_BUILTIN_GROUP_COUNT, axis));
    }
    vy_ptx_value local = vy_ptx_in_register(e, vy_ptx_builtin(e, VYRE_BUILTIN_LOCAL_INDEX, 0));
    vy_ptx_value count = vy_ptx_in_register(e, vy_ptx_literal(VYRE_TYPE_U32, size[0] * size[1] * size[2]));
    return add_product(e, local, group, count);
}

/* Two words change together, under a lock. Who holds it lets it go before anybody of its warp tries again, so that nobody waits for a thread that waits for it;
 * and comes around once more, to see its own number there. */
void vy_ptx_record_trap(vy_ptx *e, const vy_stmt *s) {
    vy_ptx_value code = vy_ptx_in_register(e, vy_ptx_expr(e, s->a)), id = invocation(e);
    vy_ptx_value smallest = vy_ptx_new(e, VYRE_TYPE_U64), lock = vy_ptx_new(e, VYRE_TYPE_U32),
                 p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    uint32_t again = vy_ptx_label(e), held = vy_ptx_label(e), done = vy_ptx_label(e);
    vy_ptx_bind_label(e, again);
    vy_ptx_write(e, "ld.volatile.global.u64 %s, %s", NAME(smallest), VY_PTX_FIELD(trap_invocation));
    vy_ptx_write(e, "setp.ge.u64 %s, %s, %s", NAME(p), NAME(id), NAME(smallest));
    vy_ptx_write(e, "@%s bra $L%" PRIu32, NAME(p), done);
    vy_ptx_write(e, "atom.global.cas.b32 %s, %s, 0, 1", NAME(lock), VY_PTX_FIELD(lock));
    vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(lock));
    vy_ptx_write(e, "@%s bra $L%" PRIu32, NAME(p), held);
    vy_ptx_write(e, "membar.gl");
    vy_ptx_write(e, "ld.volatile.global.u64 %s, %s", NAME(smallest), VY_PTX_FIELD(trap_invocation));
    vy_ptx_write(e, "setp.lt.u64 %s, %s, %s", NAME(p), NAME(id), NAME(smallest));
    vy_ptx_write(e, "@%s st.volatile.global.u64 %s, %s", NAME(p), VY_PTX_FIELD(trap_invocation), NAME(id));
    vy_ptx_write(e, "@%s st.volatile.global.u32 %s, %s", NAME(p), VY_PTX_FIELD(trap_code), NAME(code));
    vy_ptx_write(e, "membar.gl");
    vy_ptx_write(e, "atom.global.exch.b32 %s, %s, 0", NAME(lock), VY_PTX_FIELD(lock));
    vy_ptx_bind_label(e, held);
    vy_ptx_write(e, "bra $L%" PRIu32, again);
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

/* Memory is asked now and then; who has once heard yes says yes from then on. */
void vy_ptx_poll(vy_ptx *e, const vy_stmt *s) {
    vy_ptx_value turn = vy_ptx_new(e, VYRE_TYPE_U32), p = vy_ptx_new(e, VYRE_TYPE_BOOL),
                 result = vy_ptx_new(e, VYRE_TYPE_BOOL);
    uint32_t done = vy_ptx_label(e);
    vy_ptx_write(e, "and.b32 %s, %s, %d", NAME(turn), NAME(e->polls), VY_PTX_POLL_PERIOD - 1);
    vy_ptx_write(e, "add.u32 %s, %s, 1", NAME(e->polls), NAME(e->polls));
    vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(turn));
    vy_ptx_write(e, "@%s bra $L%" PRIu32, NAME(p), done);
    vy_ptx_check_cancel(e, e->stopping);
    vy_ptx_bind_label(e, done);
    vy_ptx_write(e, "mov.pred %s, %s", NAME(result), NAME(e->stopping));
    vy_ptx_declare(e, s->variable, result);
}
