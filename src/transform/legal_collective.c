/* Reductions and scans in steps, through an array of the workgroup, where the device does not combine exactly by itself.
 *
 * The canonical order (docs/bits.md) makes a prefix of `length` values out of perfect trees, one for each one bit of length, the largest first:
 * T1 + (T2 + (T3 + ...)). Level by level the array holds the trees of 1, 2, 4, ... values at the place of their first value, and each invocation takes the
 * tree of its prefix, from the smallest to the largest. A tree that is not complete, because the workgroup or the subgroup ends, is nobody's.
 *
 * All loads of a level stand before a barrier and all stores after it, so the array can be used again by the next collective. */
#include "transform/legal_rewrite.h"

typedef struct steps {
    vy_legaliser *rw;
    vyre_op combine;
    vyre_type type, carrier; /* of the values; how they are held */
    uint32_t array;
    uint32_t index;        /* in the workgroup; leaves from here on */
    uint32_t place, start; /* in the subgroup; where that starts */
    uint32_t length;       /* of the prefix this invocation asks for */
    uint32_t bit;          /* values in a tree of this level */
    uint32_t result;
} steps;

static uint32_t number(steps *st, uint32_t value) {
    return vy_legaliser_literal(st->rw, VYRE_TYPE_U32, value);
}

static uint32_t use(steps *st, uint32_t leaf) {
    return vy_legaliser_again(st->rw, leaf);
}

static uint32_t u32(steps *st, vyre_op op, uint32_t a, uint32_t b) {
    return vy_legaliser_op(st->rw, op, VYRE_TYPE_U32, a, b, VY_NONE);
}

static uint32_t let(steps *st, const char *name, uint32_t tree) {
    return vy_legaliser_bind(st->rw, VY_STMT_LET, name, tree);
}

static uint32_t element(steps *st, uint32_t index) {
    return vy_legaliser_load(st->rw, st->array, st->carrier, index);
}

static void store(steps *st, uint32_t value) {
    uint32_t index = vy_legaliser_put(st->rw, use(st, st->index));
    uint32_t stored = vy_legaliser_put(st->rw, value);
    vy_draft_store(&st->rw->copy.draft, st->array, index, stored);
}

static void barrier(steps *st) {
    vy_stmt stmt = vy_draft_blank(VY_STMT_BARRIER);
    stmt.scope = VYRE_SCOPE_WORKGROUP;
    vy_draft_stmt(&st->rw->copy.draft, &stmt, NULL, 0, NULL, NULL);
}

static uint32_t combine(steps *st, uint32_t a, uint32_t b) {
    const vy_expr e = {.kind = VY_EXPR_OP, .type = (uint8_t)st->type, .op = (uint8_t)st->combine};
    const uint32_t trees[3] = {a, b, VY_NONE};
    if (a == VY_NONE || b == VY_NONE)
        return VY_NONE;
    return st->rw->phase->op(st->rw, &e, st->type, trees);
}

/* a & mask != 0 */
static uint32_t has(steps *st, uint32_t a, uint32_t mask) {
    return vy_legaliser_op(st->rw, VYRE_OP_NE, VYRE_TYPE_BOOL, u32(st, VYRE_OP_AND, a, mask), number(st, 0), VY_NONE);
}

static uint32_t choose(steps *st, uint32_t condition, uint32_t yes, uint32_t no) {
    return vy_legaliser_op(st->rw, VYRE_OP_SELECT, st->carrier, condition, yes, no);
}

/* Where this invocation is, and how many values it asks for, in workgroups of `n` cut into subgroups of `width`. */
static void find_place(steps *st, const vy_stmt *s, uint32_t n, uint32_t width) {
    uint32_t count;
    st->index = let(st, "index", vy_legaliser_local_index(st->rw));
    if (width < n) {
        st->place = let(st, "lane", u32(st, VYRE_OP_AND, use(st, st->index), number(st, width - 1)));
        st->start = let(st, "start", u32(st, VYRE_OP_SUB, use(st, st->index), use(st, st->place)));
        count = u32(st, VYRE_OP_MIN, number(st, width), u32(st, VYRE_OP_SUB, number(st, n), use(st, st->start)));
    } else {
        st->place = st->index;
        st->start = number(st, 0);
        count = number(st, n);
    }
    if (s->op == VYRE_COLLECTIVE_REDUCE)
        st->length = let(st, "length", count);
    else if (s->op == VYRE_COLLECTIVE_SCAN_INCLUSIVE)
        st->length = let(st, "length", u32(st, VYRE_OP_ADD, use(st, st->place), number(st, 1)));
    else
        st->length = st->place;
}

/* Takes the tree of this level into the prefix if it has one, and makes the trees of the next. */
static void level(steps *st) {
    vy_draft *draft = &st->rw->copy.draft;
    uint32_t below = let(st, "below", u32(st, VYRE_OP_SUB, use(st, st->bit), number(st, 1)));
    uint32_t wide = let(st, "wide", u32(st, VYRE_OP_OR, use(st, st->bit), use(st, below)));
    uint32_t first =
        u32(st, VYRE_OP_AND, use(st, st->length), vy_legaliser_op1(st->rw, VYRE_OP_NOT, VYRE_TYPE_U32, use(st, wide)));
    uint32_t tree = let(st, "tree", element(st, u32(st, VYRE_OP_ADD, use(st, st->start), first)));
    uint32_t both = let(st, "both", combine(st, use(st, tree), use(st, st->result)));
    uint32_t taken = choose(st, has(st, use(st, st->length), use(st, below)), both, use(st, tree));
    uint32_t result = choose(st, has(st, use(st, st->length), use(st, st->bit)), taken, use(st, st->result));
    if (draft->failed || st->rw->status != VYRE_OK)
        return;
    vy_draft_assign(draft, st->rw->trees.items[st->result].a, vy_legaliser_put(st->rw, result));
    uint32_t left = let(st, "left", element(st, use(st, st->index)));
    uint32_t right = let(st, "right", element(st, u32(st, VYRE_OP_ADD, use(st, st->index), use(st, st->bit))));
    uint32_t next = let(st, "next", combine(st, use(st, left), use(st, right)));
    barrier(st);
    uint32_t is_first =
        vy_legaliser_op(st->rw, VYRE_OP_EQ, VYRE_TYPE_BOOL, u32(st, VYRE_OP_AND, use(st, st->place), use(st, wide)),
                        number(st, 0), VY_NONE);
    vy_draft_if(draft, vy_legaliser_put(st->rw, is_first));
    store(st, next);
    vy_draft_end(draft);
    barrier(st);
}

uint32_t vy_legaliser_stepwise(vy_legaliser *rw, const vy_stmt *s, vyre_type type, uint32_t values) {
    const uint32_t *size = rw->from->workgroup, n = size[0] * size[1] * size[2];
    uint32_t width = s->width && s->width < n ? s->width : n;
    vy_draft *draft = &rw->copy.draft;
    vyre_type carrier = rw->phase->carrier(rw, type);
    steps st = {
        .rw = rw, .combine = (vyre_op)s->combine, .type = type, .carrier = carrier, .array = rw->exchanges[carrier]};
    uint64_t identity = vyre_combine_identity(st.combine, type);
    if (carrier != type)
        identity = vyre_op_evaluate(VYRE_OP_CAST, carrier, type, identity, 0, 0);
    find_place(&st, s, n, width);
    store(&st, values);
    barrier(&st);
    st.result = vy_legaliser_bind(rw, VY_STMT_VAR, "met", vy_legaliser_literal(rw, carrier, identity));
    st.bit = vy_legaliser_bind(rw, VY_STMT_VAR, "bit", number(&st, 1));
    uint32_t goes_on = vy_legaliser_op(rw, VYRE_OP_LE, VYRE_TYPE_BOOL, use(&st, st.bit), number(&st, width), VY_NONE);
    if (draft->failed || rw->status != VYRE_OK)
        return VY_NONE;
    vy_draft_while(draft, vy_legaliser_put(rw, goes_on));
    level(&st);
    uint32_t doubled = u32(&st, VYRE_OP_ADD, use(&st, st.bit), use(&st, st.bit));
    if (draft->failed || rw->status != VYRE_OK)
        return VY_NONE;
    vy_draft_assign(draft, rw->trees.items[st.bit].a, vy_legaliser_put(rw, doubled));
    vy_draft_end(draft);
    /* All have it, but only a broadcast says so: a barrier may depend on it. */
    return s->op == VYRE_COLLECTIVE_REDUCE && !s->width ? vy_legaliser_broadcast(rw, use(&st, st.result))
                                                        : use(&st, st.result);
}
