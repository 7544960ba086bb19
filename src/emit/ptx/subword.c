/* Elements of words: what took a word apart and what puts it together again find each other by what is known of the values between. */
#include "emit/ptx/emitter.h"

vy_ptx_subword vy_ptx_subword_of(const vy_ptx *e, vy_ptx_value value) {
    return value.part ? e->parts.items[value.part - 1] : (vy_ptx_subword){0};
}

uint32_t vy_ptx_new_subword(vy_ptx *e, vy_ptx_subword part) {
    vy_ptx_subword *slot = VY_PUSH(&e->parts);
    if (!slot) {
        e->status = VYRE_NO_MEMORY;
        return 0;
    }
    *slot = part;
    return e->parts.count;
}

/* The same element of two words. */
static int same_subword(vy_ptx_subword a, vy_ptx_subword b) {
    return a.bytes && a.bytes == b.bytes && a.element == b.element && a.op == VYRE_OP_COUNT && b.op == VYRE_OP_COUNT;
}

/* A byte that is shifted to its place in the word; the first is there. */
static uint8_t places_of(vy_ptx_subword p, uint64_t shift) {
    int is_byte = p.bytes == 1 && p.is_all && p.op == VYRE_OP_COUNT;
    return p.places && !shift ? p.places : is_byte && p.element * 8u == shift ? (uint8_t)(1u << p.element) : 0;
}

static vy_ptx_value shifted(vy_ptx *e, vy_ptx_subword part, uint64_t amount, vy_ptx_value made) {
    uint8_t places = amount ? places_of(part, amount) : 0;
    if (places)
        made.part = vy_ptx_new_subword(e, (vy_ptx_subword){.places = places, .words = {part.words[0], 0}});
    return made;
}

/* Bytes of a word that are put together again are the word. */
vy_ptx_value vy_ptx_track_subword(vy_ptx *e, const vy_expr *x, const vy_ptx_value *args, vy_ptx_value made) {
    const vy_ptx_subword a = vy_ptx_subword_of(e, args[0]), b = vy_ptx_subword_of(e, args[1]);
    uint8_t first = places_of(a, 0), second = places_of(b, 0);
    if (x->op == VYRE_OP_SHL && args[1].is_literal)
        return shifted(e, a, args[1].bits, made);
    if (x->op != VYRE_OP_XOR && x->op != VYRE_OP_AND && x->op != VYRE_OP_OR)
        return made;
    if (x->type == VYRE_TYPE_U32 && x->op == VYRE_OP_OR && first && second && !(first & second) &&
        a.words[0] == b.words[0]) {
        if ((first | second) == 15)
            return vy_ptx_named(VYRE_TYPE_U32, a.words[0]);
        made.part = vy_ptx_new_subword(e, (vy_ptx_subword){.places = first | second, .words = {a.words[0], 0}});
    } else if (same_subword(a, b)) {
        made.part = vy_ptx_new_subword(
            e,
            (vy_ptx_subword){.bytes = a.bytes, .element = a.element, .op = x->op, .words = {a.words[0], b.words[0]}});
    }
    return made;
}
