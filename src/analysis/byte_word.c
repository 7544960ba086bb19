/* Words made of bytes (byte_word.h). */
#include "analysis/byte_word.h"

#include "analysis/affine_index.h"

enum { BYTES = VY_WORD_BYTES };

typedef struct word {
    const vyre_program *program;
    uint32_t (*let_of)(const void *user, uint32_t variable);
    const void *user;
    uint32_t loads[BYTES];
    uint64_t shifts[BYTES];
    uint32_t count;
} word;

/* An index as a root plus a constant, modulo 2^32. */
typedef struct place {
    uint32_t root; /* an expression, or a variable */
    uint32_t is_variable;
    uint32_t offset;
} place;

static const vy_expr *expr_at(const word *w, uint32_t expr) {
    return &w->program->exprs.items[expr];
}

/* A `let` of a sum is followed. */
static place place_of(const word *w, uint32_t expr) {
    const vy_expr *x = expr_at(w, expr);
    vy_affine_index at = {expr, 0};
    if (vy_affine_index_peel(w->program, &at) && expr_at(w, at.base)->kind == VY_EXPR_VARIABLE)
        return (place){expr_at(w, at.base)->a, 1, at.offset};
    if (x->kind != VY_EXPR_VARIABLE)
        return (place){expr, 0, 0};
    at = (vy_affine_index){w->let_of(w->user, x->a), 0};
    if (at.base == VY_NONE || !vy_affine_index_peel(w->program, &at) || expr_at(w, at.base)->kind != VY_EXPR_VARIABLE ||
        w->let_of(w->user, expr_at(w, at.base)->a) == VY_NONE)
        return (place){x->a, 1, 0};
    return (place){expr_at(w, at.base)->a, 1, at.offset};
}

/* Records a byte of the word: u32(load), shifted. */
static int note_byte(word *w, const vy_expr *x) {
    uint64_t shift = 0;
    if (x->kind == VY_EXPR_OP && x->op == VYRE_OP_SHL && expr_at(w, x->b)->kind == VY_EXPR_LITERAL) {
        shift = expr_at(w, x->b)->bits;
        x = expr_at(w, x->a);
    }
    if (x->kind != VY_EXPR_OP || x->op != VYRE_OP_CAST || x->type != VYRE_TYPE_U32)
        return 0;
    const vy_expr *load = expr_at(w, x->a);
    if (load->kind != VY_EXPR_LOAD || load->op != VY_BOUNDS_UNCHECKED || load->type != VYRE_TYPE_U8 ||
        w->count == BYTES)
        return 0;
    w->loads[w->count] = x->a;
    w->shifts[w->count++] = shift;
    return 1;
}

/* Recursion is bounded by BYTES. */
static int note_bytes(word *w, const vy_expr *x, unsigned depth) {
    if (x->kind == VY_EXPR_OP && x->op == VYRE_OP_OR && depth < BYTES)
        return note_bytes(w, expr_at(w, x->a), depth + 1) && note_bytes(w, expr_at(w, x->b), depth + 1);
    return note_byte(w, x);
}

/* Sorts the loads by index. Returns whether they are four contiguous bytes of one memory. */
static int are_side_by_side(word *w) {
    const place any = place_of(w, expr_at(w, w->loads[0])->b);
    const uint32_t middle = any.offset - BYTES, memory = expr_at(w, w->loads[0])->a; /* offsets may be negative */
    uint32_t loads[BYTES], least = UINT32_MAX, seen = 0;
    uint64_t shifts[BYTES];
    for (unsigned i = 0; i < BYTES; i++) {
        const place at = place_of(w, expr_at(w, w->loads[i])->b);
        if (!at.is_variable || at.root != any.root || expr_at(w, w->loads[i])->a != memory)
            return 0;
        least = at.offset - middle < least ? at.offset - middle : least;
    }
    for (unsigned i = 0; i < BYTES; i++) {
        const uint32_t k = place_of(w, expr_at(w, w->loads[i])->b).offset - middle - least;
        if (k >= BYTES || seen >> k & 1)
            return 0;
        seen |= 1u << k;
        loads[k] = w->loads[i];
        shifts[k] = w->shifts[i];
    }
    memcpy(w->loads, loads, sizeof loads);
    memcpy(w->shifts, shifts, sizeof shifts);
    return 1;
}

int vy_byte_word_of(const vyre_program *program, const vy_expr *expr,
                    uint32_t (*let_of)(const void *user, uint32_t variable), const void *user, vy_byte_word *out) {
    word w = {.program = program, .let_of = let_of, .user = user};
    int is_little = 1, is_big = 1;
    if (expr->kind != VY_EXPR_OP || expr->op != VYRE_OP_OR || expr->type != VYRE_TYPE_U32 || !note_bytes(&w, expr, 0) ||
        w.count != BYTES || !are_side_by_side(&w))
        return 0;
    for (unsigned i = 0; i < BYTES; i++) {
        is_little &= w.shifts[i] == 8 * i;
        is_big &= w.shifts[i] == 24 - 8 * i;
    }
    out->memory = expr_at(&w, w.loads[0])->a;
    memcpy(out->loads, w.loads, sizeof w.loads);
    out->is_big_endian = is_big;
    return is_little || is_big;
}
