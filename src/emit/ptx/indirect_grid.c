/* Indirect grids: entries whose grid is read from device memory, with a grid-stride loop over the workgroups.
 *
 * The number of workgroups is unknown at launch, so the number of blocks is independent of it. Each block runs the
 * workgroups that start with its own number, in steps of the number of blocks, counted by x, then y, then z.
 *
 *   before   the words, their product, whether it is a valid grid; the first workgroup of the block
 *   $body:   its ids (before), the prologue (start), the statements (code), in which `return` jumps to the end
 *   $next:   (closing section) the next workgroup, if there is one
 *
 * Invariant: workgroup arrays belong to the block. So in a program that has arrays or barriers, all invocations
 * finish a workgroup before any starts the next one. If such a program also polls, its invocations leave together,
 * because the one that has seen the cancellation may be the one that polls for all.
 *
 * One thread of the grid reports an invalid grid. It stores the words, which the host needs for its error. */
#include "emit/ptx/emitter.h"

#include <inttypes.h>
#include <stddef.h>

#define NAME(value) vy_ptx_name(e, value)

typedef vy_ptx_value value;

static value new32(vy_ptx *e) {
    return vy_ptx_new(e, VYRE_TYPE_U32);
}

static value new64(vy_ptx *e) {
    return vy_ptx_new(e, VYRE_TYPE_U64);
}

static value new_bool(vy_ptx *e) {
    return vy_ptx_new(e, VYRE_TYPE_BOOL);
}

static value widened(vy_ptx *e, value a) {
    value d = new64(e);
    vy_ptx_write(e, "cvt.u64.u32 %s, %s", NAME(d), NAME(a));
    return d;
}

static value address_of(vy_ptx *e, const char *param) {
    value given = new64(e), d = new64(e);
    vy_ptx_write(e, "ld.param.u64 %s, [%s]", NAME(given), param);
    vy_ptx_write(e, "cvta.to.global.u64 %s, %s", NAME(d), NAME(given));
    return d;
}

static void or_to(vy_ptx *e, value to, value also) {
    vy_ptx_write(e, "or.pred %s, %s, %s", NAME(to), NAME(to), NAME(also));
}

/* ---- the grid ---- */

static void load_words(vy_ptx *e) {
    value words = address_of(e, "grid");
    for (unsigned axis = 0; axis < 3; axis++) {
        e->group_count[axis] = new32(e);
        vy_ptx_write(e, "ld.global.u32 %s, [%s+%u]", NAME(e->group_count[axis]), NAME(words), 4 * axis);
    }
}

/* Sets `wrong` if a 64-bit product overflows. */
static void check_product(vy_ptx *e, value wrong, value a, const char *b) {
    value high = new64(e), p = new_bool(e);
    vy_ptx_write(e, "mul.hi.u64 %s, %s, %s", NAME(high), NAME(a), b);
    vy_ptx_write(e, "setp.ne.u64 %s, %s, 0", NAME(p), NAME(high));
    or_to(e, wrong, p);
}

/* Tests what vy_program_check_grid refuses: a dimension with more than 32 bits of invocations, or more than 64 bits in
 * total. Returns the number of workgroups. */
static value check_grid(vy_ptx *e, value wrong) {
    const uint32_t *size = e->program->workgroup;
    uint32_t all = vy_workgroup_invocations(e->program);
    vy_ptx_move(e, wrong, vy_ptx_literal(VYRE_TYPE_BOOL, 0));
    for (unsigned axis = 0; axis < 3; axis++) {
        if (size[axis] == 1)
            continue;
        value p = new_bool(e);
        vy_ptx_write(e, "setp.gt.u32 %s, %s, %" PRIu32, NAME(p), NAME(e->group_count[axis]), UINT32_MAX / size[axis]);
        or_to(e, wrong, p);
    }
    value layer = new64(e), total = new64(e), depth = widened(e, e->group_count[2]);
    vy_ptx_write(e, "mul.wide.u32 %s, %s, %s", NAME(layer), NAME(e->group_count[0]), NAME(e->group_count[1]));
    check_product(e, wrong, layer, NAME(depth));
    vy_ptx_write(e, "mul.lo.u64 %s, %s, %s", NAME(total), NAME(layer), NAME(depth));
    if (all > 1)
        check_product(e, wrong, total, NAME(vy_ptx_literal(VYRE_TYPE_U64, all)));
    return total;
}

#define FIELD(name) (unsigned)offsetof(vy_launch_control, name)

/* Leaves if the grid is invalid, after reporting it; or if an earlier one was. */
static void leave_if_refused(vy_ptx *e, value wrong, value control, uint32_t done) {
    value place = new32(e), part = new32(e), word = new32(e), p = new_bool(e);
    uint32_t right = vy_ptx_label(e);
    vy_ptx_jump_if(e, wrong, 0, right);
    vy_ptx_write(e, "mov.u32 %s, %%ctaid.x", NAME(place));
    for (unsigned axis = 0; axis < 3; axis++) {
        vy_ptx_write(e, "mov.u32 %s, %%tid.%c", NAME(part), "xyz"[axis]);
        vy_ptx_write(e, "or.b32 %s, %s, %s", NAME(place), NAME(place), NAME(part));
    }
    vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(place));
    vy_ptx_jump_if(e, p, 1, done);
    vy_ptx_write(e, "ld.param.u32 %s, [ticket]", NAME(word));
    vy_ptx_write(e, "atom.global.cas.b32 %s, [%s+%u], 0, %s", NAME(part), NAME(control), FIELD(refused), NAME(word));
    vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(part));
    vy_ptx_jump_if(e, p, 1, done);
    for (unsigned axis = 0; axis < 3; axis++)
        vy_ptx_write(e, "st.global.u32 [%s+%u], %s", NAME(control), FIELD(refused_grid) + 4 * axis,
                     NAME(e->group_count[axis]));
    vy_ptx_jump(e, done);
    vy_ptx_bind_label(e, right);
    value before = new32(e);
    vy_ptx_write(e, "ld.volatile.global.u32 %s, [%s+%u]", NAME(before), NAME(control), FIELD(refused));
    vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", NAME(p), NAME(before));
    vy_ptx_jump_if(e, p, 1, done);
}

/* ---- the loop ---- */

/* d = a / b, rest = a - d * b */
static void divide(vy_ptx *e, const char *type, value d, value rest, value a, value b) {
    vy_ptx_write(e, "div.%s %s, %s, %s", type, NAME(d), NAME(a), NAME(b));
    vy_ptx_write(e, "mul.lo.%s %s, %s, %s", type, NAME(rest), NAME(d), NAME(b));
    vy_ptx_write(e, "sub.%s %s, %s, %s", type, NAME(rest), NAME(a), NAME(rest));
}

/* The ids of the workgroup. Most grids have one dimension, and most others fewer than 2^32 workgroups. */
static void find_ids(vy_ptx *e, value is_line, value is_large, value linear) {
    uint32_t large = vy_ptx_label(e), found = vy_ptx_label(e);
    value *id = e->group_id, *count = e->group_count, layer = new32(e);
    vy_ptx_write(e, "cvt.u32.u64 %s, %s", NAME(id[0]), NAME(linear));
    vy_ptx_move(e, id[1], vy_ptx_literal(VYRE_TYPE_U32, 0));
    vy_ptx_move(e, id[2], vy_ptx_literal(VYRE_TYPE_U32, 0));
    vy_ptx_jump_if(e, is_line, 1, found);
    vy_ptx_jump_if(e, is_large, 1, large);
    value low = new32(e);
    vy_ptx_write(e, "mov.b32 %s, %s", NAME(low), NAME(id[0]));
    divide(e, "u32", layer, id[0], low, count[0]);
    divide(e, "u32", id[2], id[1], layer, count[1]);
    vy_ptx_jump(e, found);
    vy_ptx_bind_label(e, large);
    value wide_layer = new64(e), x = new64(e), y = new64(e), z = new64(e);
    divide(e, "u64", wide_layer, x, linear, widened(e, count[0]));
    divide(e, "u64", z, y, wide_layer, widened(e, count[1]));
    vy_ptx_write(e, "cvt.u32.u64 %s, %s", NAME(id[0]), NAME(x));
    vy_ptx_write(e, "cvt.u32.u64 %s, %s", NAME(id[1]), NAME(y));
    vy_ptx_write(e, "cvt.u32.u64 %s, %s", NAME(id[2]), NAME(z));
    vy_ptx_bind_label(e, found);
}

void vy_ptx_indirect_begin(vy_ptx *e) {
    vy_ptx_groups *g = &e->groups;
    value wrong = new_bool(e), is_line = new_bool(e), is_large = new_bool(e), p = new_bool(e), number = new32(e);
    vy_string *out = vy_ptx_set_output(e, &e->before);
    g->body = vy_ptx_label(e), g->next = vy_ptx_label(e), g->done = vy_ptx_label(e);
    load_words(e);
    value control = address_of(e, "control");
    g->total = check_grid(e, wrong);
    leave_if_refused(e, wrong, control, g->done);
    vy_ptx_write(e, "setp.eq.u64 %s, %s, %s", NAME(is_line), NAME(g->total), NAME(widened(e, e->group_count[0])));
    vy_ptx_write(e, "setp.gt.u64 %s, %s, 0xffffffff", NAME(is_large), NAME(g->total));
    vy_ptx_write(e, "mov.u32 %s, %%ctaid.x", NAME(number));
    g->linear = widened(e, number);
    for (unsigned axis = 0; axis < 3; axis++)
        e->group_id[axis] = new32(e);
    /* The condition is tested before the loop and at its end, as in loop.c. */
    vy_ptx_write(e, "setp.ge.u64 %s, %s, %s", NAME(p), NAME(g->linear), NAME(g->total));
    vy_ptx_jump_if(e, p, 1, g->done);
    vy_ptx_bind_label(e, g->body);
    find_ids(e, is_line, is_large, g->linear);
    vy_ptx_set_output(e, out);
}

void vy_ptx_indirect_end(vy_ptx *e) {
    const vy_ptx_groups *g = &e->groups;
    int is_alone = vy_workgroup_invocations(e->program) == 1;
    int waits = !is_alone && (e->shared_bytes || e->has_sync);
    value p = new_bool(e), left = new64(e), blocks = new32(e), is_over = e->stopping;
    vy_string *out = vy_ptx_set_output(e, &e->behind);
    vy_ptx_bind_label(e, g->next);
    if (waits && e->has_polls) {
        is_over = new_bool(e);
        vy_ptx_write(e, "bar.red.or.pred %s, 0, %s", NAME(is_over), NAME(e->stopping));
    } else if (waits) {
        vy_ptx_write(e, "bar.sync 0");
    }
    vy_ptx_write(e, "mov.u32 %s, %%nctaid.x", NAME(blocks));
    value step = widened(e, blocks);
    vy_ptx_write(e, "sub.u64 %s, %s, %s", NAME(left), NAME(g->total), NAME(g->linear));
    vy_ptx_write(e, "add.u64 %s, %s, %s", NAME(g->linear), NAME(g->linear), NAME(step));
    if (e->has_polls)
        vy_ptx_write(e, "setp.gt.and.u64 %s, %s, %s, !%s", NAME(p), NAME(left), NAME(step), NAME(is_over));
    else
        vy_ptx_write(e, "setp.gt.u64 %s, %s, %s", NAME(p), NAME(left), NAME(step));
    vy_ptx_jump_if(e, p, 1, g->body);
    vy_ptx_bind_label(e, g->done);
    vy_ptx_set_output(e, out);
}
