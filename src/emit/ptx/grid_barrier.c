/* Grid barriers, inside a cooperative launch, whose blocks all run at the same time. The first thread of each block
 * increments a count and waits for the other blocks; the rest of its block waits for it.
 *
 * The last block to arrive clears the count and increments the word that the others wait for. So both words can be
 * used again immediately, also by the next launch. Everything before the barrier is ordered before everything after
 * it: bar.sync orders the accesses of the block with those of its first thread, whose increment releases them to the
 * device; the last block acquires all increments, and releases with the word that the others acquire.
 *
 * No thread waits for ever. A block of which a thread trapped does not arrive, or leaves here without incrementing the
 * count. A thread that waits and sees a trap leaves, too, unless all blocks have arrived: the word is loaded after the
 * trap, and a thread that trapped after this barrier had seen the word. So all blocks leave at the same barrier, and
 * each has run up to there. Where programs poll, a thread that waits also polls for the end of the dispatch. Then the
 * outputs are not used, and blocks may leave at different barriers. */
#include "emit/ptx/emitter.h"

#include <inttypes.h>
#include <stddef.h>

#define NAME(value) vy_ptx_name(e, value)

/* Blocks of the launch, less one. */
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

/* Ors to `stop` whether somebody trapped. Acquires, so that what is loaded next is what that one had seen. */
static void ask_for_traps(vy_ptx *e, vy_ptx_value stop) {
    vy_ptx_value smallest = vy_ptx_new(e, VYRE_TYPE_U64), p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    vy_ptx_write(e, "ld.acquire.gpu.global.u64 %s, %s", NAME(smallest), VY_PTX_FIELD(trap_invocation));
    vy_ptx_write(e, "setp.ne.u64 %s, %s, -1", NAME(p), NAME(smallest));
    vy_ptx_write(e, "or.pred %s, %s, %s", NAME(stop), NAME(stop), NAME(p));
}

/* The first thread's part. stop: whether it is over, if programs can end early. */
static void meet_others(vy_ptx *e, vy_ptx_value stop, uint32_t done) {
    vy_ptx_value passed = vy_ptx_new(e, VYRE_TYPE_U32), now = vy_ptx_new(e, VYRE_TYPE_U32),
                 p = vy_ptx_new(e, VYRE_TYPE_BOOL), last = last_of_grid(e);
    uint32_t wait = vy_ptx_label(e);
    if (e->has_reports) {
        ask_for_traps(e, stop);
        vy_ptx_write(e, "@%s bra $L%" PRIu32, NAME(stop), done);
    }
    vy_ptx_write(e, "ld.relaxed.gpu.global.u32 %s, %s", NAME(passed), VY_PTX_FIELD(barriers));
    vy_ptx_write(e, "fence.acq_rel.gpu");
    vy_ptx_write(e, "atom.acq_rel.gpu.global.add.u32 %s, %s, 1", NAME(now), VY_PTX_FIELD(arrived));
    vy_ptx_write(e, "setp.lt.u32 %s, %s, %s", NAME(p), NAME(now), NAME(last));
    vy_ptx_write(e, "@%s bra $L%" PRIu32, NAME(p), wait);
    vy_ptx_move(e, now, vy_ptx_literal(VYRE_TYPE_U32, 0));
    vy_ptx_write(e, "st.relaxed.gpu.global.u32 %s, %s", VY_PTX_FIELD(arrived), NAME(now));
    vy_ptx_write(e, "add.u32 %s, %s, 1", NAME(now), NAME(passed));
    vy_ptx_write(e, "st.release.gpu.global.u32 %s, %s", VY_PTX_FIELD(barriers), NAME(now));
    vy_ptx_write(e, "bra $L%" PRIu32, done);
    vy_ptx_bind_label(e, wait);
    if (e->has_polls)
        vy_ptx_check_cancel(e, stop);
    if (e->has_reports)
        ask_for_traps(e, stop);
    vy_ptx_write(e, "ld.acquire.gpu.global.u32 %s, %s", NAME(now), VY_PTX_FIELD(barriers));
    vy_ptx_write(e, "setp.eq.u32 %s, %s, %s", NAME(p), NAME(now), NAME(passed));
    if (e->has_reports || e->has_polls) {
        vy_ptx_write(e, "and.pred %s, %s, %s", NAME(stop), NAME(stop), NAME(p));
        vy_ptx_write(e, "@%s bra $L%" PRIu32, NAME(stop), done);
    }
    vy_ptx_write(e, "@%s bra $L%" PRIu32, NAME(p), wait);
}

void vy_ptx_grid_barrier(vy_ptx *e) {
    vy_ptx_value index = vy_ptx_builtin(e, VYRE_BUILTIN_LOCAL_INDEX, 0), stop = vy_ptx_new(e, VYRE_TYPE_BOOL);
    int may_end = e->has_reports || e->has_polls;
    uint32_t done = vy_ptx_label(e);
    if (e->batched || e->is_indirect) {
        vy_ptx_refuse(e, e->batched ? "a grid barrier beside rows" : "a grid barrier in an indirect grid");
        return;
    }
    vy_ptx_need(e, 60, VY_PTX_GRID_BARRIERS);
    vy_ptx_write(e, "bar.sync 0");
    if (may_end)
        vy_ptx_move(e, stop, vy_ptx_literal(VYRE_TYPE_BOOL, 0));
    if (!index.is_literal) {
        vy_ptx_value p = vy_ptx_new(e, VYRE_TYPE_BOOL);
        vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(index));
        vy_ptx_write(e, "@%s bra $L%" PRIu32, NAME(p), done);
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
    vy_ptx_write(e, "@!%s bra $L%" PRIu32, NAME(ended), go_on);
    vy_ptx_write(e, "ret");
    vy_ptx_bind_label(e, go_on);
}
