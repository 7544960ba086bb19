/* Identifiers and keywords (identifiers.h): lookup of the language's words by spelling, and the rules for names. */
#include "ir/identifiers.h"

#include "ir/model.h"
#include "ir/op_tables.h"

#include <stdio.h>
#include <string.h>

/* ---- keywords ---- */

static const char *const keywords[VY_KEYWORD_COUNT] = {
#define X(ID, spelling) spelling,
    VY_KEYWORD_LIST(X)
#undef X
};

static const char *const prefixes[2] = {"workgroup_", "subgroup_"};

static int equals(const char *spelling, const char *text, size_t length) {
    return spelling[0] == text[0] && strlen(spelling) == length && memcmp(spelling, text, length) == 0;
}

static vy_identifier_info word(vy_identifier_class cls, unsigned index) {
    return (vy_identifier_info){(uint8_t)cls, (uint8_t)index, VYRE_OP_COUNT, 0};
}

/* Looks up a collective by its name without the prefix: the row's name, followed by `_op` if the row combines. */
static vy_identifier_info find_collective(const char *text, size_t length, int subgroup) {
    for (unsigned i = 0; i < VYRE_COLLECTIVE_COUNT; i++) {
        const vy_collective_row *row = &vy_collectives[i];
        size_t name = strlen(row->name);
        if (!row->over[subgroup] || length < name || memcmp(text, row->name, name) != 0)
            continue;
        vy_identifier_info found = word(VY_IDENTIFIER_COLLECTIVE, i);
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
    return word(VY_IDENTIFIER_PLAIN, 0);
}

static int is_call(const vyre_op_info *op) {
    return op->level == VYRE_LEVEL_SOURCE && op->symbol == NULL && op->rule != VYRE_RULE_CAST &&
           op->rule != VYRE_RULE_BITCAST;
}

vy_identifier_info vy_identifier_find(const char *text, size_t length) {
    if (length == 0 || length >= VY_KEYWORD_CAPACITY)
        return word(VY_IDENTIFIER_PLAIN, 0);
    for (unsigned i = 0; i < VY_KEYWORD_COUNT; i++)
        if (equals(keywords[i], text, length))
            return word(VY_IDENTIFIER_KEYWORD, i);
    vyre_type type = vyre_type_find(text, length);
    if (type != VYRE_TYPE_COUNT)
        return word(VY_IDENTIFIER_TYPE, type);
    for (unsigned i = 0; i < VYRE_BUILTIN_COUNT; i++)
        if (equals(vyre_builtin_name(i), text, length))
            return word(VY_IDENTIFIER_BUILTIN, i);
    for (unsigned i = 0; i < VYRE_ATOMIC_COUNT; i++)
        if (equals(vyre_atomic_name(i), text, length))
            return word(VY_IDENTIFIER_ATOMIC, i);
    for (int subgroup = 0; subgroup < 2; subgroup++) {
        size_t prefix = strlen(prefixes[subgroup]);
        if (length > prefix && memcmp(text, prefixes[subgroup], prefix) == 0)
            return find_collective(text + prefix, length - prefix, subgroup);
    }
    vyre_op op = vyre_op_find(text, length);
    if (op == VYRE_OP_BITCAST)
        return word(VY_IDENTIFIER_BITCAST, op);
    if (op != VYRE_OP_COUNT && is_call(vyre_op_get(op)))
        return word(VY_IDENTIFIER_OP, op);
    return equals("len", text, length) ? word(VY_IDENTIFIER_LEN, 0) : word(VY_IDENTIFIER_PLAIN, 0);
}

/* Of these words only types end in a digit, as most names made by transforms do. */
int vy_identifier_is_reserved(const char *text, size_t length) {
    if (length && text[length - 1] >= '0' && text[length - 1] <= '9')
        return vyre_type_find(text, length) != VYRE_TYPE_COUNT;
    return vy_identifier_find(text, length).cls >= VY_IDENTIFIER_KEYWORD;
}

static const char *const intrinsic_names[VY_INTRINSIC_COUNT] = {"", "",
#define X(ID, spelling) spelling,
                                                                VY_INTRINSIC_LIST(X)
#undef X
};

vy_intrinsic vy_intrinsic_find(const char *text, size_t length, vyre_op *op) {
    for (unsigned i = VY_INTRINSIC_OP + 1; i < VY_INTRINSIC_COUNT; i++)
        if (length && equals(intrinsic_names[i], text, length))
            return (vy_intrinsic)i;
    vyre_op found = vyre_op_find(text, length);
    if (found == VYRE_OP_COUNT || vyre_op_get(found)->level != VYRE_LEVEL_LEGAL)
        return VY_INTRINSIC_NONE;
    if (op)
        *op = found;
    return VY_INTRINSIC_OP;
}

void vy_keyword_collective(vyre_collective collective, vyre_op combine, int subgroup, char text[VY_KEYWORD_CAPACITY]) {
    const vy_collective_row *row = &vy_collectives[collective];
    if (row->combines)
        snprintf(text, VY_KEYWORD_CAPACITY, "%s%s_%s", prefixes[subgroup != 0], row->name, vyre_op_get(combine)->name);
    else
        snprintf(text, VY_KEYWORD_CAPACITY, "%s%s", prefixes[subgroup != 0], row->name);
}

/* The index enumerates scope × row × op. A combination that does not exist yields the spelling of the nearest existing
 * one. */
static int collective_at(unsigned index, char text[VY_KEYWORD_CAPACITY]) {
    unsigned combine = index % VY_COMBINE_COUNT, row = index / VY_COMBINE_COUNT % VYRE_COLLECTIVE_COUNT;
    unsigned subgroup = index / VY_COMBINE_COUNT / VYRE_COLLECTIVE_COUNT;
    if (subgroup > 1)
        return 0;
    vy_keyword_collective(row, vy_combine_ops[combine], vy_collectives[row].over[subgroup] ? (int)subgroup : 1, text);
    return 1;
}

int vy_keyword_at(vy_identifier_class cls, unsigned index, char text[VY_KEYWORD_CAPACITY]) {
    const char *spelling = NULL;
    switch (cls) {
    case VY_IDENTIFIER_KEYWORD:
        spelling = index < VY_KEYWORD_COUNT ? keywords[index] : NULL;
        break;
    case VY_IDENTIFIER_TYPE:
        spelling = index < VYRE_TYPE_COUNT ? vyre_type_name(index) : NULL;
        break;
    case VY_IDENTIFIER_BUILTIN:
        spelling = index < VYRE_BUILTIN_COUNT ? vyre_builtin_name(index) : NULL;
        break;
    case VY_IDENTIFIER_ATOMIC:
        spelling = index < VYRE_ATOMIC_COUNT ? vyre_atomic_name(index) : NULL;
        break;
    case VY_IDENTIFIER_COLLECTIVE:
        return collective_at(index, text);
    case VY_IDENTIFIER_BITCAST:
        spelling = index == 0 ? "bitcast" : NULL;
        break;
    case VY_IDENTIFIER_LEN:
        spelling = index == 0 ? "len" : NULL;
        break;
    case VY_IDENTIFIER_OP:
        spelling = index < VYRE_OP_COUNT ? vyre_op_get(index)->name : NULL;
        break;
    default:
        break;
    }
    if (!spelling)
        return 0;
    /* Ops with a symbol or of level legal are not calls; their entry repeats another word, which does not change the
     * best suggestion. */
    snprintf(text, VY_KEYWORD_CAPACITY, "%s",
             cls == VY_IDENTIFIER_OP && !is_call(vyre_op_get(index)) ? "min" : spelling);
    return 1;
}

int vy_keyword_synonym(const char *text, size_t length, char word[VY_KEYWORD_CAPACITY]) {
    static const char *const pairs[][2] = {{"sum", "add"},     {"plus", "add"},    {"prod", "mul"},
                                           {"product", "mul"}, {"minimum", "min"}, {"maximum", "max"},
                                           {"bitand", "and"},  {"bitor", "or"},    {"bitxor", "xor"}};
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t tail = strlen(pairs[i][0]);
        if (length <= tail || length >= VY_KEYWORD_CAPACITY || memcmp(text + length - tail, pairs[i][0], tail) != 0)
            continue;
        snprintf(word, VY_KEYWORD_CAPACITY, "%.*s%s", (int)(length - tail), text, pairs[i][1]);
        unsigned cls = vy_identifier_find(word, strlen(word)).cls;
        if (cls == VY_IDENTIFIER_ATOMIC || cls == VY_IDENTIFIER_COLLECTIVE)
            return 1;
    }
    return 0;
}

/* ---- identifier rules ---- */

/* Includes `_`. */
static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

int vy_text_is_identifier(const char *text, size_t length) {
    if (length == 0 || length > VY_LIMIT_NAME || !is_letter(text[0]))
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!(is_letter(text[i]) || is_digit(text[i])))
            return 0;
    return 1;
}

int vy_text_is_keyword(const char *text, size_t length) {
    return vy_identifier_is_reserved(text, length);
}

int vy_text_is_name(const char *text, size_t length) {
    return vy_text_is_identifier(text, length) && !vy_text_is_keyword(text, length);
}

int vy_text_is_function_name(const char *text, size_t length) {
    return (vy_text_is_identifier(text, length) && vy_identifier_find(text, length).cls == VY_IDENTIFIER_PLAIN) ||
           vy_text_is_op_id(text, length);
}

/* The length of a separator of op ids at the start of the text: `.` or `::`; 0 if the text starts with neither. */
static size_t separator_length(const char *text, size_t length) {
    if (length >= 1 && text[0] == '.')
        return 1;
    return length >= 2 && text[0] == ':' && text[1] == ':' ? 2 : 0;
}

/* The number of parts joined by separators; 0 if the text has another form. */
static size_t count_parts(const char *text, size_t length) {
    size_t parts = 0, i = 0;
    if (length > VY_LIMIT_NAME)
        return 0;
    for (;;) {
        size_t start = i;
        while (i < length && (is_letter(text[i]) || (i > start && (is_digit(text[i]) || text[i] == '-'))))
            i++;
        if (i == start || (parts == 0 && vy_text_is_keyword(text, i)))
            return 0;
        parts++;
        if (i == length)
            return parts;
        size_t separator = separator_length(text + i, length - i);
        if (!separator)
            return 0;
        i += separator;
    }
}

int vy_text_is_op_id(const char *text, size_t length) {
    return count_parts(text, length) > 1;
}

int vy_text_is_dialect_name(const char *text, size_t length) {
    return count_parts(text, length) > 0;
}

int vy_text_is_op_part(const char *text, size_t length) {
    return count_parts(text, length) == 1 || vy_text_is_identifier(text, length);
}

int vy_text_is_bare_op_id(const char *text, size_t length) {
    return !memchr(text, '-', length) && !memchr(text, ':', length) && vy_text_is_op_id(text, length);
}

size_t vy_op_id_after(const char *id, size_t length, const char *dialect) {
    size_t prefix = strlen(dialect);
    size_t separator =
        length > prefix && memcmp(id, dialect, prefix) == 0 ? separator_length(id + prefix, length - prefix) : 0;
    return separator ? prefix + separator : 0;
}

size_t vy_op_id_last(const char *id, size_t length) {
    size_t i = length;
    while (i > 0 && id[i - 1] != '.' && id[i - 1] != ':')
        i--;
    return i;
}
