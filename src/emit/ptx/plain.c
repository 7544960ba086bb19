/* Ops of two words, which most of a large program is: one line each, written without asking for what is true of other ops alone (op.c). What those would write is the same. */
#include "emit/ptx/op.h"

/* A bit for neither operand, the first, the second. Both never are literals. */
enum { NEITHER = 1 << 0, FIRST = 1 << 1, SECOND = 1 << 2, ONE_AT_MOST = NEITHER | FIRST | SECOND };

/* Of an exclusive or no operand is a literal, which would be all ones. Amounts are unsigned. */
const uint8_t vy_ptx_plain_literals[VYRE_OP_COUNT][2] = {
    [VYRE_OP_ADD] = {ONE_AT_MOST, ONE_AT_MOST},
    [VYRE_OP_SUB] = {ONE_AT_MOST, ONE_AT_MOST},
    [VYRE_OP_AND] = {ONE_AT_MOST, ONE_AT_MOST},
    [VYRE_OP_OR] = {ONE_AT_MOST, ONE_AT_MOST},
    [VYRE_OP_XOR] = {NEITHER, NEITHER},
    [VYRE_OP_SHL] = {ONE_AT_MOST},
    [VYRE_OP_SHR] = {ONE_AT_MOST},
    [VYRE_OP_ROTL] = {NEITHER | SECOND},
    [VYRE_OP_ROTR] = {NEITHER | SECOND},
};

/* "add.u32 ". Of 16 bytes: one store. */
typedef struct word {
    char text[15];
    uint8_t length;
} word;

#define WORD(text)                                                                                                     \
    { text, sizeof(text) - 1 }

/* By op, and whether the type has a sign. All give the type of their operands. */
static const word words[VYRE_OP_COUNT][2] = {
    [VYRE_OP_ADD] = {WORD("add.u32 "), WORD("add.s32 ")},
    [VYRE_OP_SUB] = {WORD("sub.u32 "), WORD("sub.s32 ")},
    [VYRE_OP_AND] = {WORD("and.b32 "), WORD("and.b32 ")},
    [VYRE_OP_OR] = {WORD("or.b32 "), WORD("or.b32 ")},
    [VYRE_OP_XOR] = {WORD("xor.b32 "), WORD("xor.b32 ")},
    [VYRE_OP_SHL] = {WORD("shl.b32 ")},
    [VYRE_OP_SHR] = {WORD("shr.u32 ")},
    [VYRE_OP_ROTL] = {WORD("shf.l.wrap.b32 ")},
    [VYRE_OP_ROTR] = {WORD("shf.r.wrap.b32 ")},
};

/* A shift through two words, which are one. */
static int is_rotation(const vy_expr *x) {
    return x->op == VYRE_OP_ROTL || x->op == VYRE_OP_ROTR;
}

static char *put(char *at, vy_ptx_value v) {
    return vy_ptx_put_as(at, "%r", v);
}

vy_ptx_value vy_ptx_plain(vy_ptx *e, const vy_expr *x, vy_ptx_value a, vy_ptx_value b) {
    const word *w = &words[x->op][x->type == VYRE_TYPE_I32];
    vy_ptx_value d = vy_ptx_new(e, (vyre_type)x->type);
    char *at = vy_ptx_line(e);
    memcpy(at, w, sizeof *w);
    at = vy_put_text(put(at + w->length, d), ", ");
    at = vy_put_text(put(at, a), ", ");
    if (is_rotation(x))
        at = vy_put_text(put(at, a), ", ");
    vy_ptx_end_line(e, put(at, b));
    return d;
}
