/* Words: the tables of the language turned into one lookup by spelling. */
#include "ir/text/words.h"

#include "ir/op_tables.h"

#include <stdio.h>
#include <string.h>

static const char *const keywords[VY_KEYWORD_COUNT] = {
#define X(ID, spelling) spelling,
    VY_KEYWORD_LIST(X)
#undef X
};

static const char *const prefixes[2] = {"workgroup_", "subgroup_"};

static int equals(const char *spelling, const char *text, size_t length) {
    return spelling[0] == text[0] && strlen(spelling) == length && memcmp(spelling, text, length) == 0;
}

static vy_word word(vy_word_class cls, unsigned index) {
    return (vy_word){(uint8_t)cls, (uint8_t)index, VYRE_OP_COUNT, 0};
}

/* The rest of a collective's name after its prefix: the row's name, and after it `_op` where the row combines. */
static vy_word find_collective(const char *text, size_t length, int subgroup) {
    for (unsigned i = 0; i < VYRE_COLLECTIVE_COUNT; i++) {
        const vy_collective_row *row = &vy_collectives[i];
        size_t name = strlen(row->name);
        if (!row->over[subgroup] || length < name || memcmp(text, row->name, name) != 0)
            continue;
        vy_word found = word(VY_WORD_COLLECTIVE, i);
        found.subgroup = (uint8_t)subgroup;
        if (!row->combines && length == name)
            return found;
        if (!row->combines || length < name + 2 || text[name] != '_')
            continue;
        for (unsigned k = 0; k < VY_COMBINE_COUNT; k++)
            if (equals(vyre_op_get(vy_combine_ops[k])->name, text + name + 1, length - name - 1)) {
                found.combine = vy_combine_ops[k];
                return found;
            }
    }
    return word(VY_WORD_PLAIN, 0);
}

static int is_call(const vyre_op_info *op) {
    return op->level == VYRE_LEVEL_SOURCE && op->symbol == NULL && op->rule != VYRE_RULE_CAST &&
           op->rule != VYRE_RULE_BITCAST;
}

vy_word vy_word_find(const char *text, size_t length) {
    if (length == 0 || length >= VY_WORD_ROOM)
        return word(VY_WORD_PLAIN, 0);
    for (unsigned i = 0; i < VY_KEYWORD_COUNT; i++)
        if (equals(keywords[i], text, length))
            return word(VY_WORD_KEYWORD, i);
    vyre_type type = vyre_type_find(text, length);
    if (type != VYRE_TYPE_COUNT)
        return word(VY_WORD_TYPE, type);
    for (unsigned i = 0; i < VYRE_BUILTIN_COUNT; i++)
        if (equals(vyre_builtin_name(i), text, length))
            return word(VY_WORD_BUILTIN, i);
    for (unsigned i = 0; i < VYRE_ATOMIC_COUNT; i++)
        if (equals(vyre_atomic_name(i), text, length))
            return word(VY_WORD_ATOMIC, i);
    for (int subgroup = 0; subgroup < 2; subgroup++) {
        size_t prefix = strlen(prefixes[subgroup]);
        if (length > prefix && memcmp(text, prefixes[subgroup], prefix) == 0)
            return find_collective(text + prefix, length - prefix, subgroup);
    }
    vyre_op op = vyre_op_find(text, length);
    if (op == VYRE_OP_BITCAST)
        return word(VY_WORD_BITCAST, op);
    if (op != VYRE_OP_COUNT && is_call(vyre_op_get(op)))
        return word(VY_WORD_OP, op);
    return equals("len", text, length) ? word(VY_WORD_LEN, 0) : word(VY_WORD_PLAIN, 0);
}

/* Of these words only types end in a digit, and so do most names that transforms make. */
int vy_word_is_reserved(const char *text, size_t length) {
    if (length && text[length - 1] >= '0' && text[length - 1] <= '9')
        return vyre_type_find(text, length) != VYRE_TYPE_COUNT;
    return vy_word_find(text, length).cls >= VY_WORD_KEYWORD;
}

static const char *const legal_words[VY_LEGAL_COUNT] = {"", "",
#define X(ID, spelling) spelling,
                                                        VY_LEGAL_WORD_LIST(X)
#undef X
};

vy_legal_word vy_word_legal(const char *text, size_t length, vyre_op *op) {
    for (unsigned i = VY_LEGAL_OP + 1; i < VY_LEGAL_COUNT; i++)
        if (length && equals(legal_words[i], text, length))
            return (vy_legal_word)i;
    vyre_op found = vyre_op_find(text, length);
    if (found == VYRE_OP_COUNT || vyre_op_get(found)->level != VYRE_LEVEL_LEGAL)
        return VY_LEGAL_NONE;
    if (op)
        *op = found;
    return VY_LEGAL_OP;
}

void vy_word_collective(vyre_collective collective, vyre_op combine, int subgroup, char text[VY_WORD_ROOM]) {
    const vy_collective_row *row = &vy_collectives[collective];
    if (row->combines)
        snprintf(text, VY_WORD_ROOM, "%s%s_%s", prefixes[subgroup != 0], row->name, vyre_op_get(combine)->name);
    else
        snprintf(text, VY_WORD_ROOM, "%s%s", prefixes[subgroup != 0], row->name);
}

/* Collectives are counted as a box of scope, row and op; corners that do not exist are passed over by the caller's
 * next index, so they repeat the nearest that does. */
static int collective_at(unsigned index, char text[VY_WORD_ROOM]) {
    unsigned combine = index % VY_COMBINE_COUNT, row = index / VY_COMBINE_COUNT % VYRE_COLLECTIVE_COUNT;
    unsigned subgroup = index / VY_COMBINE_COUNT / VYRE_COLLECTIVE_COUNT;
    if (subgroup > 1)
        return 0;
    vy_word_collective(row, vy_combine_ops[combine], vy_collectives[row].over[subgroup] ? (int)subgroup : 1, text);
    return 1;
}

int vy_word_at(vy_word_class cls, unsigned index, char text[VY_WORD_ROOM]) {
    const char *spelling = NULL;
    switch (cls) {
    case VY_WORD_KEYWORD:
        spelling = index < VY_KEYWORD_COUNT ? keywords[index] : NULL;
        break;
    case VY_WORD_TYPE:
        spelling = index < VYRE_TYPE_COUNT ? vyre_type_name(index) : NULL;
        break;
    case VY_WORD_BUILTIN:
        spelling = index < VYRE_BUILTIN_COUNT ? vyre_builtin_name(index) : NULL;
        break;
    case VY_WORD_ATOMIC:
        spelling = index < VYRE_ATOMIC_COUNT ? vyre_atomic_name(index) : NULL;
        break;
    case VY_WORD_COLLECTIVE:
        return collective_at(index, text);
    case VY_WORD_BITCAST:
        spelling = index == 0 ? "bitcast" : NULL;
        break;
    case VY_WORD_LEN:
        spelling = index == 0 ? "len" : NULL;
        break;
    case VY_WORD_OP:
        spelling = index < VYRE_OP_COUNT ? vyre_op_get(index)->name : NULL;
        break;
    default:
        break;
    }
    if (!spelling)
        return 0;
    /* Rows with a symbol or of level legal are no call; what stands for them here is never nearer to a typo than itself. */
    snprintf(text, VY_WORD_ROOM, "%s", cls == VY_WORD_OP && !is_call(vyre_op_get(index)) ? "min" : spelling);
    return 1;
}

int vy_word_synonym(const char *text, size_t length, char word[VY_WORD_ROOM]) {
    static const char *const pairs[][2] = {{"sum", "add"},     {"plus", "add"},    {"prod", "mul"},
                                           {"product", "mul"}, {"minimum", "min"}, {"maximum", "max"},
                                           {"bitand", "and"},  {"bitor", "or"},    {"bitxor", "xor"}};
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t tail = strlen(pairs[i][0]);
        if (length <= tail || length >= VY_WORD_ROOM || memcmp(text + length - tail, pairs[i][0], tail) != 0)
            continue;
        snprintf(word, VY_WORD_ROOM, "%.*s%s", (int)(length - tail), text, pairs[i][1]);
        unsigned cls = vy_word_find(word, strlen(word)).cls;
        if (cls == VY_WORD_ATOMIC || cls == VY_WORD_COLLECTIVE)
            return 1;
    }
    return 0;
}
