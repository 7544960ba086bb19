/* Ops of two words, which most of a large program is: one line each, written without asking for what is true of other ops alone (op.c). What those would write is the same. */
#include "emit/ptx/op.h"

typedef struct word {
    char text[11]; /* "add.u32 " */
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
    [VYRE_OP_SHR] = {WORD("shr.u32 ")}, /* amounts are unsigned */
};

/* One literal at most, and of an exclusive or none, which would be all ones; nothing that is known of a value beside its type. */
static int is_plain(const vy_ptx *e, const vy_expr *x, const vy_ptx_value *args) {
    return (x->type == VYRE_TYPE_U32 || x->type == VYRE_TYPE_I32) && words[x->op][x->type == VYRE_TYPE_I32].length &&
           args[0].is_literal + args[1].is_literal <= (x->op != VYRE_OP_XOR) && !args[0].part && !e->has_extremes;
}

int vy_ptx_plain(vy_ptx *e, const vy_expr *x, const vy_ptx_value *args, vy_ptx_value *out) {
    if (!is_plain(e, x, args))
        return 0;
    const word *w = &words[x->op][x->type == VYRE_TYPE_I32];
    *out = vy_ptx_new(e, (vyre_type)x->type);
    char *at = vy_ptx_line(e);
    memcpy(at, w->text, sizeof w->text);
    at = vy_put_text(vy_ptx_put(at + w->length, *out), ", ");
    at = vy_put_text(vy_ptx_put(at, args[0]), ", ");
    vy_ptx_end_line(e, vy_ptx_put(at, args[1]));
    return 1;
}
