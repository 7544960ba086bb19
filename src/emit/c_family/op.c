/* Types, ops, expressions and literals of dialects of C.
 *
 * The dialect's op table states the form of an op for each class of types: an operator, a function of the library, or a
 * function that the file defines because the language leaves some operands undefined. Such a function is defined once,
 * before the first function that calls it.
 *
 * Invariant: the C value of an expression is a value of its type. Operators of 8 and 16 bits, which C computes as int,
 * must not leave the range of the type; those that could are functions. */
#include "emit/c_family/c_family.h"

#include "analysis/byte_word.h"
#include "base/number_text.h"
#include "base/status.h"
#include "ir/eval.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- types ---- */

const char *vy_c_type(const vy_c *c, uint8_t type) {
    return c->dialect->types[type];
}

static unsigned bits_of(uint8_t type) {
    return vyre_type_bits((vyre_type)type);
}
static int is_float(uint8_t type) {
    return vyre_type_class((vyre_type)type) == VYRE_CLASS_FLOAT;
}
static int is_signed(uint8_t type) {
    return vyre_type_class((vyre_type)type) == VYRE_CLASS_SIGNED;
}
/* The unsigned type of the same width; the one in which C computes with it. */
static uint8_t unsigned_of(uint8_t type) {
    unsigned bits = bits_of(type);
    return bits == 8 ? VYRE_TYPE_U8 : bits == 16 ? VYRE_TYPE_U16 : bits == 32 ? VYRE_TYPE_U32 : VYRE_TYPE_U64;
}
static uint8_t wrapping_of(uint8_t type) {
    return is_float(type) ? type : bits_of(type) == 64 ? VYRE_TYPE_U64 : VYRE_TYPE_U32;
}

/* Between floats and integers. */
static const char to_signed[] = "return a >= $B ? $M : a <= -$B ? $L : a != a ? 0 : ($R)a;";
static const char to_unsigned[] = "return a >= $B ? $M : a > 0 ? ($R)a : 0;";

static const vy_c_spelling *spelling_of(const vy_c *c, vyre_op op, uint8_t type) {
    const vy_c_row *r = &c->dialect->rows[op];
    if (op == VYRE_OP_MUL_HIGH && bits_of(type) == 64 && c->dialect->wide_mul_high)
        return &c->dialect->wide_mul_high[is_signed(type)];
    if (type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16)
        return &c->dialect->rows[VYRE_OP_CAST].words;
    if (type == VYRE_TYPE_BOOL)
        return &r->bools;
    return is_float(type) ? &r->floats : bits_of(type) < 32 ? &r->narrow : is_signed(type) ? &r->signs : &r->words;
}

/* ---- functions of the file ---- */

static void call_op(vy_c *c, vyre_op op, uint8_t type);

/* The replacement of $ and a letter; `room` is storage for numbers. */
static const char *substitute(vy_c *c, char letter, uint8_t type, uint8_t result, char room[32]) {
    switch (letter) {
    case 'T':
        return vy_c_type(c, type);
    case 'R':
        return vy_c_type(c, result);
    case 'U':
        return vy_c_type(c, unsigned_of(type));
    case 'P':
        return vy_c_type(c, wrapping_of(type));
    case 't':
        return vyre_type_name((vyre_type)type);
    case 'F':
        return type == VYRE_TYPE_F32 ? c->dialect->float_suffix : "";
    case 'I':
        return type == VYRE_TYPE_F32 ? "0x1p23f" : "0x1p52";
    case 'u':
        return vy_c_type(c, VYRE_TYPE_U64);
    case 'S':
        snprintf(room, 32, "u%s", c->dialect->long_suffix);
        break;
    case 'W':
        snprintf(room, 32, "%u", bits_of(type));
        break;
    case 'B':
        snprintf(room, 32, "0x1p%u%s", bits_of(result) - (unsigned)is_signed(result), type == VYRE_TYPE_F32 ? "f" : "");
        break;
    default:
        snprintf(room, 32, "%s_%s", c->dialect->limits[result], letter == 'M' ? "MAX" : "MIN");
    }
    return room;
}

/* Appends to c->out. A called function, "@popcount_u64(" or "@min_$t(", is defined before the one that is written. */
static void expand(vy_c *c, const char *text, uint8_t type, uint8_t result) {
    char room[32];
    for (; *text; text++)
        if (*text == '$') {
            vy_string_add(c->out, substitute(c, *++text, type, result, room));
        } else if (*text == '@') {
            size_t length = strcspn(text, "("), op = length;
            while (text[op] != '_')
                op--;
            vyre_type given = vyre_type_find(text + op + 1, length - op - 1);
            call_op(c, vyre_op_find(text + 1, op - 1), given == VYRE_TYPE_COUNT ? type : (uint8_t)given);
            text += length - 1;
        } else {
            vy_string_add(c->out, *text == '\n' ? "\n    " : (char[]){*text, 0});
        }
}

vy_c_name vy_c_define(vy_c *c, const char *kind, const char *params, const char *body, uint8_t type, uint8_t result) {
    vy_string text = {0}, *caller = c->out;
    uint32_t known = c->defined.used;
    vy_c_name name;
    int length = snprintf(name.text, sizeof name.text, "%s_%s", kind, vyre_type_name((vyre_type)type)), all = length;
    for (unsigned i = 2; vy_intern_pool_find(&c->names, name.text, (size_t)all) != VY_SYMBOL_INVALID; i++)
        all = length + snprintf(name.text + length, sizeof name.text - (size_t)length, "_%u", i);
    length = all;
    if (vy_intern_pool_add(&c->defined, name.text, (size_t)length) == VY_SYMBOL_INVALID)
        vy_c_refuse_memory(c);
    if (c->defined.used == known)
        return name;
    c->out = &text;
    vy_string_format(&text, "%s %s %s(", c->dialect->qualifiers, strstr(body, "return") ? vy_c_type(c, result) : "void",
                     name.text);
    expand(c, params, type, result);
    vy_string_add(&text, ") {\n    ");
    expand(c, body, type, result);
    vy_string_add(&text, "\n}\n\n");
    vy_string_append(&c->functions, text.text ? text.text : "", text.length);
    c->functions.failed |= text.failed;
    vy_string_free(&text);
    c->out = caller;
    return name;
}

/* The name of the function that computes an op, one of the library or one that is defined for it. */
static void call_op(vy_c *c, vyre_op op, uint8_t type) {
    static const char *const params[] = {"$T a", "$T a, $T b", "$T a, $T b, $T c"};
    const vy_c_spelling *s = spelling_of(c, op, type);
    const vyre_op_info *info = vyre_op_get(op);
    int is_bool = info->rule == VYRE_RULE_COMPARE || info->rule == VYRE_RULE_TEST;
    if (!s->text || s->precedence)
        vy_c_refuse(c, info->name);
    else if (s->is_body)
        vy_string_add(
            c->out,
            vy_c_define(c, info->name, params[info->arity - 1], s->text, type, is_bool ? VYRE_TYPE_BOOL : type).text);
    else
        expand(c, s->text, type, type);
}

/* "cast_i32_f32": from the second type to the first. */
static void call_conversion(vy_c *c, const char *kind, const char *body, uint8_t to, uint8_t from) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", kind, vyre_type_name((vyre_type)to));
    vy_string_add(c->out, vy_c_define(c, name, "$T a", body, from, to).text);
}

/* Whether the dialect has a name for moving bits, which is written here. */
static int calls_as(vy_c *c, uint8_t to) {
    if (c->dialect->moves_bits)
        return 0;
    vy_string_format(c->out, "as_%s", vy_c_type(c, to));
    return 1;
}

/* ---- literals ---- */

static void float_literal(vy_c *c, uint8_t type, uint64_t bits, unsigned least) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    const uint64_t magnitude = bits & layout->mask >> 1;
    const int is_f32 = type == VYRE_TYPE_F32, is_infinite = magnitude == layout->infinity;
    char text[64] = "(double)INFINITY";
    if (magnitude > layout->infinity || (is_infinite && !c->dialect->moves_bits)) { /* C does not specify NAN's bits */
        if (!calls_as(c, type))
            call_conversion(c, "bitcast", c->dialect->moves_bits, type, unsigned_of(type));
        vy_string_format(c->out, "(0x%" PRIx64 "u%s)", bits, is_f32 ? "" : c->dialect->long_suffix);
        return;
    }
    if (!is_infinite)
        vy_number_from_bits(magnitude, is_f32 ? 8 : 11, is_f32 ? 23 : 52, text);
    int encloses = (bits != magnitude || is_infinite) && least > VY_C_UNARY;
    vy_string_format(c->out, encloses ? "(%s%s%s)" : "%s%s%s", bits != magnitude ? "-" : "",
                     is_infinite && is_f32 ? "INFINITY" : text, is_f32 && !is_infinite ? "f" : "");
}

/* The text that replaces a literal whose bits the compiler must not know, or NULL. */
static const char *hidden_text(const vy_c_hidden *hidden, const vy_expr *e) {
    if (e->kind != VY_EXPR_LITERAL || !hidden)
        return NULL;
    while (hidden->text && (hidden->type != e->type || hidden->bits != e->bits))
        hidden++;
    return hidden->text;
}

void vy_c_literal(vy_c *c, uint8_t type, uint64_t bits, unsigned least) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    if (type == VYRE_TYPE_BOOL) {
        vy_string_add(c->out, bits ? "true" : "false");
    } else if (type == VYRE_TYPE_F32 || type == VYRE_TYPE_F64) {
        float_literal(c, type, bits, least);
    } else if (is_signed(type) && bits >> (layout->bits - 1)) {
        int64_t value = (int64_t)(bits | ~layout->mask);
        if (layout->bits >= 32 && bits == layout->mask - (layout->mask >> 1))
            vy_string_format(c->out, "%s_MIN", c->dialect->limits[type]);
        else
            vy_string_format(c->out, least > VY_C_UNARY ? "(%" PRId64 "%s)" : "%" PRId64 "%s", value,
                             layout->bits == 64 ? c->dialect->long_suffix : "");
    } else {
        vy_string_format(c->out, bits > 0xffff && !is_signed(type) ? "0x%" PRIx64 "%s%s" : "%" PRIu64 "%s%s", bits,
                         layout->bits < 32 || is_signed(type) ? "" : "u",
                         layout->bits == 64 ? c->dialect->long_suffix : "");
    }
}

static int is_half(uint8_t type) {
    return type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16;
}

/* NaNs are made canonical where their bits are seen. */
void vy_c_table(vy_c *c, uint32_t memory) {
    enum { COLUMNS = 100 };
    const vy_memory *m = vy_c_memory_at(c, memory);
    const vy_type_layout *layout = &vy_type_layouts[m->type];
    const uint8_t *bytes = vy_constant_bytes(c->program, m);
    size_t start = c->out->length;
    for (uint32_t i = 0; i < m->elements; i++) {
        uint64_t bits = vy_value_load((vyre_type)m->type, bytes + (size_t)i * layout->size);
        const int is_new = c->out->length - start > COLUMNS,
                  is_special = is_float(m->type) && !is_half(m->type) && (bits & layout->infinity) == layout->infinity;
        const char *special = is_special ? c->dialect->specials[(bits & layout->mask >> 1) == layout->infinity] : NULL;
        vy_string_add(c->out, is_new ? "\n    " : i ? " " : "    ");
        start = is_new ? c->out->length : start;
        if (special)
            vy_string_format(c->out, "%s%s", bits > layout->mask >> 1 ? "-" : "", special);
        else
            vy_c_literal(c, is_half(m->type) ? VYRE_TYPE_U16 : m->type, bits, VY_C_ANY);
        vy_string_char(c->out, ',');
    }
}

/* ---- expressions ---- */

static void put_variable(vy_c *c, uint32_t variable) {
    vy_string_format(c->out, "%s%s", c->is_kept[variable] ? "self->" : "", vy_c_variable(c, variable));
}

static void put_element(vy_c *c, uint32_t memory, uint32_t index) {
    const char *prefix = c->is_kept_array[memory] ? "self->" : c->prefixes[vy_c_memory_at(c, memory)->space];
    vy_string_format(c->out, "%s%s[", prefix ? prefix : "", vy_c_memory(c, memory));
    vy_c_expr(c, index, VY_C_ANY);
    vy_string_char(c->out, ']');
}

/* A field is declared in its struct. VY_NONE: the value is unused. */
static void declare(vy_c *c, uint32_t variable, const char *qualifier) {
    if (variable == VY_NONE)
        return;
    if (!c->is_kept[variable])
        vy_string_format(c->out, "%s%s ", qualifier, vy_c_type(c, vy_c_variable_type(c, variable)));
    put_variable(c, variable);
    vy_string_add(c->out, " = ");
}

void vy_c_write(vy_c *c, const char *format, va_list arguments) {
    for (; *format; format++) {
        if (*format != '%') {
            vy_string_char(c->out, *format);
            continue;
        }
        uint32_t index = *++format == 's' ? 0 : va_arg(arguments, uint32_t);
        if (*format == 'e')
            vy_c_expr(c, index, VY_C_ANY);
        else if (*format == 'p')
            vy_c_expr(c, index, va_arg(arguments, unsigned));
        else if (*format == 'm')
            put_element(c, index, va_arg(arguments, uint32_t));
        else if (*format == 'v')
            put_variable(c, index);
        else if (*format == 's')
            vy_string_add(c->out, va_arg(arguments, const char *));
        else
            declare(c, index, *format == 'l' ? "const " : "");
    }
}

/* In parentheses if its own precedence is below `least`. */
static void put(vy_c *c, unsigned own, unsigned least, const char *format, ...) {
    va_list arguments;
    vy_string_add(c->out, own < least ? "(" : "");
    va_start(arguments, format);
    vy_c_write(c, format, arguments);
    va_end(arguments);
    vy_string_add(c->out, own < least ? ")" : "");
}

/* The least precedence of an operand without parentheses: as C requires, and higher where gcc and clang warn about
 * operators that are easily misread. */
static unsigned least_of(const vy_expr *child, vyre_op op, unsigned own, int is_right) {
    int is_same = child->kind == VY_EXPR_OP && child->op == op && !is_right;
    switch (own) {
    case VY_C_SHIFT:
        return VY_C_UNARY;
    case VY_C_OR:
    case VY_C_XOR:
    case VY_C_AND:
        return is_same ? own : VY_C_UNARY;
    case VY_C_LOR:
    case VY_C_LAND:
        return is_same ? own : VY_C_EQUAL;
    case VY_C_EQUAL:
    case VY_C_LESS:
        return child->kind == VY_EXPR_OP && child->op == VYRE_OP_LNOT ? VY_C_PRIMARY : VY_C_ADD;
    default:
        return own + (unsigned)is_right;
    }
}

static void operation(vy_c *c, const vy_expr *e, const char *symbol, unsigned own, unsigned least) {
    if (e->b == VY_NONE) /* -- is another operator */
        put(c, own, least, "%s%p", symbol, e->a, e->op == VYRE_OP_NEG ? VY_C_PRIMARY : VY_C_UNARY);
    else
        put(c, own, least, "%p %s %p", e->a, least_of(vy_c_expr_at(c, e->a), (vyre_op)e->op, own, 0), symbol, e->b,
            least_of(vy_c_expr_at(c, e->b), (vyre_op)e->op, own, 1));
}

static void call(vy_c *c, const vy_expr *e) {
    const char *const format = e->b == VY_NONE ? "(%e)" : e->c == VY_NONE ? "(%e, %e)" : "(%e, %e, %e)";
    put(c, VY_C_PRIMARY, VY_C_ANY, format, e->a, e->b, e->c);
}

/* Whether gcc may see that a float is not -0. gcc 12 compiles 0.0f - b to -b for such a b, so that 0 - 0 becomes -0.
 * It does not in a function. */
static int is_never_minus_zero(const vy_c *c, uint32_t expr) {
    const vy_expr *e = vy_c_expr_at(c, expr);
    return e->kind == VY_EXPR_OP && (e->op == VYRE_OP_ABS || e->op == VYRE_OP_CAST || e->op == VYRE_OP_SELECT);
}

/* The amount counts modulo the width. */
static void shift(vy_c *c, const vy_expr *e, const char *symbol, unsigned least) {
    const vy_expr *amount = vy_c_expr_at(c, e->b);
    const unsigned bits = bits_of(amount->type);
    char text[16];
    if (amount->kind == VY_EXPR_LITERAL) {
        snprintf(text, sizeof text, "%u", (unsigned)(amount->bits % bits));
        put(c, VY_C_SHIFT, least, "%p %s %s", e->a, VY_C_UNARY, symbol, text);
    } else {
        snprintf(text, sizeof text, "%u", bits - 1);
        put(c, VY_C_SHIFT, least, "%p %s (%p & %s)", e->a, VY_C_UNARY, symbol, e->b, VY_C_UNARY, text);
    }
}

/* Whether an op converts between types that are one type in C, so that nothing is written. */
static int is_silent(const vy_c *c, const vy_expr *e) {
    if (e->kind != VY_EXPR_OP || (e->op != VYRE_OP_CAST && e->op != VYRE_OP_BITCAST))
        return 0;
    const uint8_t from = vy_c_expr_at(c, e->a)->type;
    int converts = e->op == VYRE_OP_CAST && (is_half(from) || is_half(e->type));
    return !converts && strcmp(vy_c_type(c, from), vy_c_type(c, e->type)) == 0;
}

int vy_c_is_variable(const vy_c *c, uint32_t expr, uint32_t variable) {
    const vy_expr *e = vy_c_expr_at(c, expr);
    while (is_silent(c, e))
        e = vy_c_expr_at(c, e->a);
    return e->kind == VY_EXPR_VARIABLE && e->a == variable;
}

/* Whether the operand of a conversion gets an exclusive or with the dialect's zero: from integers to floats, sign
 * extensions of 32 bits, and to narrow signed integers, whose sign C extends wherever they are operands. */
static int hides_converted(uint8_t from, uint8_t to) {
    const int is_narrow = is_signed(from) && bits_of(from) < 32;
    if (!(vyre_type_class((vyre_type)from) & VYRE_CLASS_INTEGER) || is_float(to))
        return is_float(to) && !is_float(from) && from != VYRE_TYPE_BOOL;
    return bits_of(to) < 32 ? is_signed(to) && !is_narrow
                            : is_signed(from) && !is_narrow && bits_of(to) > bits_of(from);
}

static void cast(vy_c *c, const vy_expr *e, unsigned least) {
    const uint8_t from = vy_c_expr_at(c, e->a)->type, to = e->type;
    const int is_bits = e->op == VYRE_OP_BITCAST,
              is_moved = is_bits && bits_of(to) >= 32 && is_float(from) != is_float(to);
    if (!is_bits && (is_half(from) || is_half(to))) {
        vy_c_refuse(c, "conversions of f16 or bf16");
    } else if (is_silent(c, e)) {
        vy_c_expr(c, e->a, least);
    } else if (is_moved || (!is_bits && is_float(from) && !is_float(to))) {
        if (!is_bits || !calls_as(c, to))
            call_conversion(c, is_bits ? "bitcast" : "cast",
                            is_bits         ? c->dialect->moves_bits
                            : is_signed(to) ? to_signed
                                            : to_unsigned,
                            to, from);
        call(c, e);
    } else if (c->dialect->unknown_zero && hides_converted(from, to)) {
        put(c, VY_C_UNARY, least, "(%s)(%s)(%p ^ (%s)%s)", vy_c_type(c, to), vy_c_type(c, from), e->a, VY_C_UNARY,
            vy_c_type(c, from), c->dialect->unknown_zero);
    } else {
        put(c, VY_C_UNARY, least, "(%s)%p", vy_c_type(c, to), e->a, VY_C_UNARY);
    }
}

/* A divisor for which C's operator is right: neither 0 nor -1. */
static int is_safe_divisor(const vy_expr *e) {
    uint64_t ones = is_signed(e->type) ? vy_type_layouts[e->type].mask : 0;
    return e->kind == VY_EXPR_LITERAL && e->bits != 0 && e->bits != ones;
}

static uint32_t let_of(const void *c, uint32_t variable) {
    return vy_let_value(&((const vy_c *)c)->uses, variable);
}

/* Writes a word of bytes as one access, if the dialect has such an access and none of the loads has a condition. */
static int word(vy_c *c, const vy_expr *e) {
    vy_byte_word w;
    if (!c->dialect->word || !vy_byte_word_of(c->program, e, let_of, c, &w))
        return 0;
    for (unsigned i = 0; i < VY_WORD_BYTES; i++)
        if (vy_c_expr_at(c, w.loads[i])->c != VY_NONE)
            return 0;
    if (c->guard)
        return 0;
    put(c, VY_C_PRIMARY, VY_C_ANY, w.is_big_endian ? c->dialect->word_reversed : c->dialect->word, w.memory,
        vy_c_expr_at(c, w.loads[0])->b);
    return 1;
}

int vy_c_is_bitwise(const vy_c *c, uint32_t expr) {
    enum { LETS = 8 };
    const vy_expr *e = vy_c_expr_at(c, vy_see_through_lets(&c->uses, expr, LETS));
    return vyre_type_class((vyre_type)e->type) & VYRE_CLASS_INTEGER && e->kind == VY_EXPR_OP &&
           (e->op == VYRE_OP_AND || e->op == VYRE_OP_OR || e->op == VYRE_OP_XOR);
}

/* The same for an arm that may be such a result: a variable. */
static int may_be_bitwise(const vy_c *c, uint32_t expr, uint32_t other) {
    const vy_expr *e = vy_c_expr_at(c, expr);
    return vy_c_is_bitwise(c, expr) ||
           (vyre_type_class((vyre_type)e->type) & VYRE_CLASS_INTEGER && e->kind == VY_EXPR_VARIABLE &&
            vy_let_value(&c->uses, e->a) == VY_NONE && vy_c_expr_at(c, other)->kind != VY_EXPR_LITERAL);
}

/* The zero is added to one arm: LLVM would move it out of both. */
static void select(vy_c *c, const vy_expr *e, unsigned least) {
    const char *const zero = c->choice_zero, *const type = vy_c_type(c, e->type);
    if (zero && may_be_bitwise(c, e->b, e->c))
        put(c, VY_C_SELECT, least, "%p ? %p + (%s)%s : %p", e->a, VY_C_LOR, e->b, VY_C_ADD, type, zero, e->c,
            VY_C_SELECT);
    else if (zero && may_be_bitwise(c, e->c, e->b))
        put(c, VY_C_SELECT, least, "%p ? %p : %p + (%s)%s", e->a, VY_C_LOR, e->b, VY_C_LOR, e->c, VY_C_ADD, type, zero);
    else
        put(c, VY_C_SELECT, least, "%p ? %p : %p", e->a, VY_C_LOR, e->b, VY_C_LOR, e->c, VY_C_SELECT);
}

static void op(vy_c *c, const vy_expr *e, unsigned least) {
    uint8_t type = vy_c_expr_at(c, e->a)->type;
    const vy_c_spelling *s = spelling_of(c, (vyre_op)e->op, type);
    int divides = (e->op == VYRE_OP_DIV || e->op == VYRE_OP_REM) && !is_float(type);
    if (word(c, e))
        return;
    if (e->op == VYRE_OP_SELECT)
        select(c, e, least);
    else if (e->op == VYRE_OP_CAST || e->op == VYRE_OP_BITCAST)
        cast(c, e, least);
    else if (divides && is_safe_divisor(vy_c_expr_at(c, e->b)))
        operation(c, e, e->op == VYRE_OP_DIV ? "/" : "%", VY_C_MUL, least);
    else if (e->op == VYRE_OP_SUB && is_float(type) && c->dialect->is_for_gcc && is_never_minus_zero(c, e->b)) {
        vy_string_add(c->out, vy_c_define(c, "sub", "$T a, $T b", "return a - b;", type, type).text);
        call(c, e);
    } else if (s->precedence == VY_C_SHIFT)
        shift(c, e, s->text, least);
    else if (s->precedence)
        operation(c, e, s->text, s->precedence, least);
    else {
        call_op(c, (vyre_op)e->op, type);
        call(c, e);
    }
}

static void load(vy_c *c, const vy_expr *e, unsigned least) {
    if (e->op != VY_BOUNDS_UNCHECKED)
        vy_c_refuse(c, "an access with a bounds check");
    const char *const zero = is_float(e->type) && !is_half(e->type) ? "0.0f" : "0";
    if (e->c == VY_NONE && !c->guard)
        put_element(c, e->a, e->b);
    else if (!c->guard)
        put(c, VY_C_SELECT, least, "%p ? %m : %s", e->c, (unsigned)VY_C_LOR, e->a, e->b, zero);
    else if (e->c == VY_NONE)
        put(c, VY_C_SELECT, least, "%s ? %m : %s", c->guard, e->a, e->b, zero);
    else
        put(c, VY_C_SELECT, least, "(%s & %p) ? %m : %s", c->guard, e->c, (unsigned)VY_C_UNARY, e->a, e->b, zero);
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
void vy_c_expr(vy_c *c, uint32_t expr, unsigned least) {
    const vy_expr *e = vy_c_expr_at(c, expr);
    const vy_memory *memory = e->kind == VY_EXPR_LEN ? vy_c_memory_at(c, e->a) : NULL;
    const char *hidden = hidden_text(c->dialect->hidden, e);
    if (memory)
        c->is_measured[e->a] = 1;
    if (hidden)
        vy_string_add(c->out, hidden);
    else if (e->kind == VY_EXPR_LITERAL)
        vy_c_literal(c, e->type, e->bits, least);
    else if (e->kind == VY_EXPR_VARIABLE)
        put_variable(c, e->a);
    else if (e->kind == VY_EXPR_LOAD)
        load(c, e, least);
    else if (memory && memory->space == VY_SPACE_BUFFER)
        vy_string_add(c->out, vy_c_length(c, e->a));
    else if (memory)
        vy_c_literal(c, VYRE_TYPE_U32, memory->elements, VY_C_ANY);
    else if (e->kind == VY_EXPR_BUILTIN && e->op == VYRE_BUILTIN_WORKGROUP_SIZE)
        vy_c_literal(c, VYRE_TYPE_U32, c->program->workgroup[e->axis], VY_C_ANY);
    else if (e->kind == VY_EXPR_OP)
        op(c, e, least);
    else
        c->dialect->builtin(c, e);
}
