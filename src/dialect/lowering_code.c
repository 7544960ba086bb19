/* Check of code that a dialect provides for the targets c and ptx (lowering_code.h).
 *
 * Both languages are read token by token with lists of allowed constructs; everything else is refused. */
#include "dialect/lowering_code.h"

#include "base/status.h"
#include "ir/model.h"

#include <stdio.h>

/* ---- operands ---- */

static const vyre_op_operand *operand_at(const vyre_op_definition *op, uint32_t index) {
    return index < op->input_count ? &op->inputs[index] : &op->outputs[index - op->input_count];
}

static const char *operand_name(const vyre_op_definition *op, uint32_t index) {
    const vyre_op_operand *operand = operand_at(op, index);
    return index >= op->input_count && (!operand->name || !*operand->name) ? "result" : operand->name;
}

static uint32_t find_operand(const vyre_op_definition *op, const char *name, size_t length) {
    for (uint32_t i = 0; i < op->input_count + op->output_count; i++)
        if (strlen(operand_name(op, i)) == length && memcmp(operand_name(op, i), name, length) == 0)
            return i;
    return UINT32_MAX;
}

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static int is_digit(char c) {
    return c >= '0' && c <= '9';
}
static int is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The length of `{name}` at this position if it names an operand; else 0. */
static size_t placeholder(const vyre_op_definition *op, const char *text, size_t size, uint32_t *operand) {
    size_t length = 1;
    while (length < size && (is_letter(text[length]) || is_digit(text[length])))
        length++;
    if (size == 0 || text[0] != '{' || length == size || text[length] != '}')
        return 0;
    *operand = find_operand(op, text + 1, length - 1);
    return *operand == UINT32_MAX ? 0 : length + 1;
}

int vy_lowering_next(const vyre_op_definition *op, const vyre_lowering *lowering, size_t *at, vy_lowering_part *out) {
    const char *text = (const char *)lowering->data + *at;
    size_t rest = lowering->size - *at, length = 0;
    out->operand = UINT32_MAX;
    out->text = text;
    if (rest == 0)
        return 0;
    out->length = placeholder(op, text, rest, &out->operand);
    while (out->length == 0 && length < rest) {
        uint32_t ignored;
        if (length && placeholder(op, text + length, rest - length, &ignored))
            break;
        length++;
    }
    out->length += length;
    *at += out->length;
    return 1;
}

/* ---- tokens ---- */

typedef enum token_kind {
    END,
    PLACEHOLDER,
    WORD,   /* letters, digits and `_`, from `.` on also dots */
    NUMBER, /* a digit and what C calls a preprocessing number */
    SYMBOL  /* one or two characters */
} token_kind;

typedef struct reader {
    const vyre_op_definition *op;
    vyre_target target;
    const char *at, *end;
    token_kind kind; /* of the current token */
    const char *text;
    size_t length;
    uint32_t operand;
    vyre_error *error;
} reader;

static vyre_status refuse(const reader *r, const char *fix, const char *what) {
    const char *target = vyre_target_emit_name(r->target);
    if (r->kind == END)
        return vy_fail(r->error, VYRE_INVALID_ARGUMENT, fix, "the code of `%.128s` for `%s` %s (at its end)", r->op->id,
                       target, what);
    return vy_fail(r->error, VYRE_INVALID_ARGUMENT, fix, "the code of `%.128s` for `%s` %s (at `%.*s`)", r->op->id,
                   target, what, (int)(r->length < 40 ? r->length : 40), r->text);
}

static int is(const reader *r, const char *symbol) {
    return (r->kind == SYMBOL || r->kind == WORD) && strlen(symbol) == r->length &&
           memcmp(symbol, r->text, r->length) == 0;
}

static size_t word_length(const char *text, const char *end, int has_dots) {
    size_t length = 0;
    while (text + length < end && (is_letter(text[length]) || is_digit(text[length]) ||
                                   (has_dots && (text[length] == '.' || text[length] == ':'))))
        length++;
    return length;
}

/* A preprocessing number of C: the sign of an exponent belongs to it. */
static size_t number_length(const char *text, const char *end) {
    size_t length = 0;
    while (text + length < end &&
           (is_letter(text[length]) || is_digit(text[length]) || text[length] == '.' ||
            (length && (text[length] == '+' || text[length] == '-') && strchr("eEpP", text[length - 1]))))
        length++;
    return length;
}

static int is_pair(const char *text) {
    static const char *const pairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (memcmp(pairs[i], text, 2) == 0)
            return 1;
    return 0;
}

static void advance(reader *r) {
    int is_ptx = r->target == VYRE_TARGET_PTX;
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
    size_t rest = (size_t)(r->end - r->at);
    r->text = r->at;
    r->length = placeholder(r->op, r->at, rest, &r->operand);
    if (rest == 0) {
        r->kind = END;
    } else if (r->length) {
        r->kind = PLACEHOLDER;
    } else if (is_letter(*r->at) || (is_ptx && *r->at == '.')) {
        r->kind = WORD;
        r->length = word_length(r->at, r->end, is_ptx);
    } else if (is_digit(*r->at) || (*r->at == '.' && rest > 1 && is_digit(r->at[1]))) {
        r->kind = NUMBER;
        r->length = number_length(r->at, r->end);
    } else {
        r->kind = SYMBOL;
        r->length = !is_ptx && rest > 1 && is_pair(r->at) ? 2 : 1;
    }
    r->at += r->length;
}

static int is_listed(const reader *r, const char *const *list, size_t count, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && memcmp(list[i], r->text, length) == 0)
            return 1;
    return 0;
}
#define IS_LISTED(r, list, length) is_listed(r, list, sizeof(list) / sizeof *(list), length)

/* ---- C ----
 *
 * Grammar, over the tokens:
 *
 *   expression = unary { (binary | ?) unary { : unary } }      the compiler checks precedence and arity
 *   unary      = { - | + | ~ | ! | ( type ) } primary
 *   primary    = {input} | number | constant | function ( expression { , expression } ) | ( expression )
 *
 * `&` and `*` are binary only, and a cast names an arithmetic type only, so no value is a pointer. */

static const char *const c_types[] = {"bool",     "int8_t",  "uint8_t",  "int16_t", "uint16_t", "int32_t",
                                      "uint32_t", "int64_t", "uint64_t", "float",   "double"};
/* Of gcc and clang, and of <math.h>: functions of numbers, without a pointer and without a state but errno and the
 * floating-point exceptions, which no program reads. */
static const char *const c_functions[] = {"__builtin_bswap16",
                                          "__builtin_bswap32",
                                          "__builtin_bswap64",
                                          "__builtin_clz",
                                          "__builtin_clzll",
                                          "__builtin_ctz",
                                          "__builtin_ctzll",
                                          "__builtin_ffs",
                                          "__builtin_ffsll",
                                          "__builtin_parity",
                                          "__builtin_parityll",
                                          "__builtin_popcount",
                                          "__builtin_popcountll",
                                          "__builtin_copysign",
                                          "__builtin_copysignf",
                                          "acosf",
                                          "acos",
                                          "acoshf",
                                          "acosh",
                                          "asinf",
                                          "asin",
                                          "asinhf",
                                          "asinh",
                                          "atan2f",
                                          "atan2",
                                          "atanf",
                                          "atan",
                                          "atanhf",
                                          "atanh",
                                          "cbrtf",
                                          "cbrt",
                                          "ceilf",
                                          "ceil",
                                          "copysignf",
                                          "copysign",
                                          "cosf",
                                          "cos",
                                          "coshf",
                                          "cosh",
                                          "erfcf",
                                          "erfc",
                                          "erff",
                                          "erf",
                                          "exp2f",
                                          "exp2",
                                          "expf",
                                          "exp",
                                          "expm1f",
                                          "expm1",
                                          "fabsf",
                                          "fabs",
                                          "fdimf",
                                          "fdim",
                                          "floorf",
                                          "floor",
                                          "fmaf",
                                          "fma",
                                          "fmaxf",
                                          "fmax",
                                          "fminf",
                                          "fmin",
                                          "fmodf",
                                          "fmod",
                                          "hypotf",
                                          "hypot",
                                          "isfinite",
                                          "isinf",
                                          "isnan",
                                          "ldexpf",
                                          "ldexp",
                                          "log10f",
                                          "log10",
                                          "log1pf",
                                          "log1p",
                                          "log2f",
                                          "log2",
                                          "logf",
                                          "log",
                                          "nearbyintf",
                                          "nearbyint",
                                          "powf",
                                          "pow",
                                          "remainderf",
                                          "remainder",
                                          "roundf",
                                          "round",
                                          "signbit",
                                          "sinf",
                                          "sin",
                                          "sinhf",
                                          "sinh",
                                          "sqrtf",
                                          "sqrt",
                                          "tanf",
                                          "tan",
                                          "tanhf",
                                          "tanh",
                                          "tgammaf",
                                          "tgamma",
                                          "truncf",
                                          "trunc"};

static const char *const c_constants[] = {"INFINITY", "NAN", "false", "true"};

enum { LIMIT_DEPTH = 64 };

static vyre_status c_expression(reader *r, unsigned depth);

/* A number starts with a digit or a dot, so it cannot be anything but a number, or an error of the compiler. */
static vyre_status c_primary(reader *r, unsigned depth) {
    if (r->kind == PLACEHOLDER && r->operand >= r->op->input_count)
        return refuse(r, "write the expression whose value is the result", "uses an output");
    if (r->kind == PLACEHOLDER || r->kind == NUMBER || (r->kind == WORD && IS_LISTED(r, c_constants, r->length)))
        return advance(r), VYRE_OK;
    if (r->kind == WORD && !IS_LISTED(r, c_functions, r->length))
        return refuse(r, "use the inputs in braces, such as `{x}`, and the functions that docs/dialects.md lists",
                      "uses a name that such code does not have");
    int is_call = r->kind == WORD;
    if (is_call)
        advance(r);
    if (!is(r, "("))
        return refuse(r, "write an expression of C over the inputs, such as `{x} + 1u`",
                      is_call ? "names a function without calling it" : "is not an expression of C");
    do {
        advance(r);
        vyre_status status = c_expression(r, depth + 1);
        if (status != VYRE_OK)
            return status;
    } while (is_call && is(r, ","));
    if (!is(r, ")"))
        return refuse(r, "close the parenthesis", "lacks a `)`");
    advance(r);
    return VYRE_OK;
}

/* Reads the signs and casts before a primary. */
static vyre_status c_unary(reader *r, unsigned depth) {
    for (;;) {
        reader next = *r;
        if (is(r, "(")) {
            advance(&next);
            if (next.kind != WORD || !IS_LISTED(&next, c_types, next.length))
                break;
            advance(&next);
            if (!is(&next, ")"))
                return refuse(&next, "write a cast as `(uint32_t)`", "has a type outside of a cast");
            advance(&next);
            *r = next;
        } else if (is(r, "-") || is(r, "+") || is(r, "~") || is(r, "!")) {
            const char sign = *r->text, *after = r->at;
            advance(r);
            if ((sign == '-' || sign == '+') && r->text == after && r->text < r->end && *r->text == sign)
                return refuse(r, "put a blank between the two signs", "changes a value");
        } else {
            break;
        }
    }
    return c_primary(r, depth);
}

static int is_c_binary(const reader *r) {
    static const char *const symbols[] = {"+",  "-",  "*",  "/",  "%",  "&",  "|",  "^",  "<", ">",
                                          "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "?", ":"};
    return r->kind == SYMBOL && IS_LISTED(r, symbols, r->length);
}

/* Sequences of characters that C reads as another token than this reader: comments, digraphs, trigraphs,
 * assignments. */
static int is_c_joined(const reader *r) {
    const char next = r->at < r->end ? *r->at : 0, last = r->length ? r->text[r->length - 1] : 0;
    return (last == '/' && (next == '/' || next == '*')) || (last == '<' && (next == ':' || next == '%')) ||
           (last == '%' && (next == ':' || next == '>')) || (last == ':' && next == '>') ||
           (last == '?' && next == '?') || (r->kind == SYMBOL && next == '=');
}

static vyre_status c_expression(reader *r, unsigned depth) {
    if (depth > LIMIT_DEPTH)
        return refuse(r, "use fewer parentheses", "is nested too deeply");
    vyre_status status = c_unary(r, depth);
    while (status == VYRE_OK && is_c_binary(r)) {
        const char symbol = *r->text, *after = r->at;
        int is_single = r->length == 1;
        if (is_c_joined(r))
            return refuse(r, "write one expression without assignments and comments", "is not an expression of C");
        advance(r);
        if (is_single && (symbol == '-' || symbol == '+') && r->text == after && is(r, (char[]){symbol, 0}))
            return refuse(r, "put a blank between the two signs", "changes a value");
        status = c_unary(r, depth);
    }
    return status;
}

static vyre_status check_c(reader *r) {
    if (r->op->output_count != 1)
        return refuse(r, "leave the code for c out: the body is compiled", "is for an op without exactly one output");
    vyre_status status = c_expression(r, 0);
    return status == VYRE_OK && r->kind != END
               ? refuse(r, "write one expression of C over the inputs, such as `{x} + 1u`", "is not an expression of C")
               : status;
}

/* ---- PTX ----
 *
 *   statement = .reg .type name { , name } ;
 *             | [ @ [ ! ] register ] instruction operand { , operand } ;
 *   operand   = register | number | - number | ! register | register "|" register | { register { , register } }
 *
 * The first operand is the destination of every instruction in the table. Inputs are never a destination, since their
 * registers are those of the program. */

/* Instructions that compute registers from registers, with the version and architecture that they need if that is more
 * than 6.0 and sm_60. */
static const struct {
    char name[10];
    uint8_t version, architecture;
} instructions[] = {
    {"abs", 0, 0},   {"add", 0, 0},    {"addc", 0, 0},    {"and", 0, 0},    {"bfe", 0, 0},    {"bfi", 0, 0},
    {"bfind", 0, 0}, {"bmsk", 76, 70}, {"brev", 0, 0},    {"clz", 0, 0},    {"cnot", 0, 0},   {"copysign", 0, 0},
    {"cos", 0, 0},   {"cvt", 0, 0},    {"div", 0, 0},     {"dp2a", 60, 61}, {"dp4a", 60, 61}, {"ex2", 0, 0},
    {"fma", 0, 0},   {"fns", 60, 60},  {"lg2", 0, 0},     {"lop3", 0, 0},   {"mad", 0, 0},    {"mad24", 0, 0},
    {"madc", 0, 0},  {"max", 0, 0},    {"min", 0, 0},     {"mov", 0, 0},    {"mul", 0, 0},    {"mul24", 0, 0},
    {"neg", 0, 0},   {"not", 0, 0},    {"or", 0, 0},      {"popc", 0, 0},   {"prmt", 0, 0},   {"rcp", 0, 0},
    {"rem", 0, 0},   {"rsqrt", 0, 0},  {"sad", 0, 0},     {"selp", 0, 0},   {"set", 0, 0},    {"setp", 0, 0},
    {"shf", 0, 0},   {"shl", 0, 0},    {"shr", 0, 0},     {"sin", 0, 0},    {"slct", 0, 0},   {"sqrt", 0, 0},
    {"sub", 0, 0},   {"subc", 0, 0},   {"szext", 76, 70}, {"tanh", 70, 75}, {"testp", 0, 0},  {"xor", 0, 0},
};

static size_t instruction_of(const char *text, size_t length) {
    size_t base = 0, i = 0;
    while (base < length && text[base] != '.')
        base++;
    while (i < sizeof instructions / sizeof *instructions &&
           (strlen(instructions[i].name) != base || memcmp(instructions[i].name, text, base) != 0))
        i++;
    return i;
}

enum { LIMIT_REGISTERS = 64 };

typedef struct ptx_reader {
    reader r;
    struct {
        const char *name;
        size_t length;
    } registers[LIMIT_REGISTERS];
    unsigned register_count;
    uint32_t written; /* outputs that are a destination, one bit each */
} ptx_reader;

static int is_register(const ptx_reader *p) {
    for (unsigned i = 0; i < p->register_count && p->r.kind == WORD; i++)
        if (p->registers[i].length == p->r.length && memcmp(p->registers[i].name, p->r.text, p->r.length) == 0)
            return 1;
    return 0;
}

static vyre_status ptx_declaration(ptx_reader *p) {
    static const char *const types[] = {".pred", ".b8",  ".b16", ".b32", ".b64", ".u16", ".u32",
                                        ".u64",  ".s16", ".s32", ".s64", ".f32", ".f64"};
    reader *r = &p->r;
    advance(r);
    if (r->kind != WORD || !IS_LISTED(r, types, r->length))
        return refuse(r, "declare registers as `.reg .b32 t, u;`", "declares registers of an unknown type");
    do {
        advance(r);
        if (r->kind != WORD || memchr(r->text, '.', r->length) || memchr(r->text, ':', r->length))
            return refuse(r, "name a register as `t`, without `%`", "declares a register without a name");
        if (p->register_count == LIMIT_REGISTERS)
            return refuse(r, VY_FIX("use at most %d registers", LIMIT_REGISTERS), "declares too many registers");
        p->registers[p->register_count].name = r->text;
        p->registers[p->register_count++].length = r->length;
        advance(r);
    } while (is(r, ","));
    return VYRE_OK;
}

/* A register of the code, an output, or (not as destination) an input. */
static vyre_status ptx_register(ptx_reader *p, int is_destination) {
    reader *r = &p->r;
    int is_output = r->kind == PLACEHOLDER && r->operand >= r->op->input_count;
    if (r->kind == PLACEHOLDER && is_destination && !is_output)
        return refuse(r, "write to an output or to a register that the code declares", "writes to an input");
    if (r->kind != PLACEHOLDER && !is_register(p))
        return refuse(r, "use inputs and outputs in braces, such as `{x}`, and registers that `.reg` declares",
                      "uses an operand that it does not have");
    if (is_output && is_destination)
        p->written |= 1u << (r->operand - r->op->input_count);
    advance(r);
    return VYRE_OK;
}

static vyre_status ptx_operand(ptx_reader *p, int is_destination) {
    reader *r = &p->r;
    vyre_status status = VYRE_OK;
    if (is(r, "{")) {
        do {
            advance(r);
            status = ptx_register(p, is_destination);
        } while (status == VYRE_OK && is(r, ","));
        if (status == VYRE_OK && !is(r, "}"))
            return refuse(r, "close the vector", "lacks a `}`");
        advance(r);
        return status;
    }
    if (!is_destination && (is(r, "-") || r->kind == NUMBER)) {
        if (is(r, "-"))
            advance(r);
        if (r->kind != NUMBER)
            return refuse(r, "write a number", "has a sign without a number");
        advance(r);
        return VYRE_OK;
    }
    if (!is_destination && is(r, "!"))
        advance(r);
    status = ptx_register(p, is_destination);
    if (status == VYRE_OK && is_destination && is(r, "|")) {
        advance(r);
        status = ptx_register(p, 1);
    }
    return status;
}

static vyre_status ptx_statement(ptx_reader *p) {
    reader *r = &p->r;
    if (is(r, ".reg"))
        return ptx_declaration(p);
    if (is(r, "@")) {
        advance(r);
        if (is(r, "!"))
            advance(r);
        vyre_status status = ptx_register(p, 0);
        if (status != VYRE_OK)
            return status;
    }
    if (r->kind != WORD || instruction_of(r->text, r->length) == sizeof instructions / sizeof *instructions)
        return refuse(r, "use instructions that compute registers from registers; docs/dialects.md lists them",
                      "has an instruction that such code does not have");
    int is_first = 1;
    do {
        advance(r);
        vyre_status status = ptx_operand(p, is_first);
        if (status != VYRE_OK)
            return status;
        is_first = 0;
    } while (is(r, ","));
    return VYRE_OK;
}

static vyre_status check_ptx(reader *from) {
    ptx_reader p = {.r = *from};
    while (p.r.kind != END) {
        vyre_status status = ptx_statement(&p);
        if (status != VYRE_OK)
            return status;
        if (!is(&p.r, ";"))
            return refuse(&p.r, "end each instruction with `;`", "lacks a `;`");
        advance(&p.r);
    }
    for (uint32_t i = 0; i < from->op->output_count; i++)
        if (!(p.written >> i & 1))
            return vy_fail(from->error, VYRE_INVALID_ARGUMENT,
                           VY_FIX("make `{%s}` the destination of an instruction",
                                  operand_name(from->op, from->op->input_count + i)),
                           "the code of `%.128s` for `ptx` does not write the output `{%s}`", from->op->id,
                           operand_name(from->op, from->op->input_count + i));
    return VYRE_OK;
}

void vy_lowering_ptx_needs(const vyre_lowering *lowering, uint32_t *version, uint32_t *architecture) {
    const char *at = lowering->data, *end = at + lowering->size;
    *version = *architecture = 60;
    while (at < end) {
        size_t length = word_length(at, end, 1), i = instruction_of(at, length);
        if (i < sizeof instructions / sizeof *instructions) {
            *version = instructions[i].version > *version ? instructions[i].version : *version;
            *architecture = instructions[i].architecture > *architecture ? instructions[i].architecture : *architecture;
        }
        at += length ? length : 1;
    }
}

/* ---- any target ---- */

int vy_lowering_has_language(vyre_target target) {
    return target == VYRE_TARGET_C || target == VYRE_TARGET_PTX;
}

vyre_target vy_lowering_target(const vyre_lowering *lowering) {
    vyre_target target;
    (void)vyre_target_parse(lowering->target, strlen(lowering->target), &target, NULL);
    return target;
}

/* Types that no phase of legalisation rewrites on the two targets. */
static int is_kept_type(vyre_type type) {
    return type == VYRE_TYPE_BOOL || (vyre_type_bits(type) >= 32);
}

static vyre_status check_operands(const vyre_op_definition *op, vyre_target target, vyre_error *error) {
    const char *fix = VY_FIX("leave the code for `%s` out: the body is compiled", vyre_target_emit_name(target));
    const uint32_t count = op->input_count + op->output_count;
    if (op->attribute_count)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, fix, "`%.128s` has attributes, which code for `%s` cannot read",
                       op->id, vyre_target_emit_name(target));
    if (op->output_count == 0 || count > VY_LOWERING_LIMIT_OPERANDS)
        return vy_fail(error, VYRE_LIMIT, fix,
                       "`%.128s` has %u inputs and %u outputs (for code at most %d together, and one output)", op->id,
                       op->input_count, op->output_count, VY_LOWERING_LIMIT_OPERANDS);
    for (uint32_t i = 0; i < count; i++)
        if (operand_at(op, i)->kind != VYRE_OPERAND_VALUE || !is_kept_type(operand_at(op, i)->type))
            return vy_fail(error, VYRE_INVALID_ARGUMENT, fix,
                           "`%s` of `%.128s` is not a value of 32 or 64 bits or a bool, so the op has no code for `%s`",
                           operand_name(op, i), op->id, vyre_target_emit_name(target));
    return VYRE_OK;
}

static vyre_status check_bound(const vyre_op_definition *op, const vyre_lowering *lowering, vyre_error *error) {
    for (uint32_t i = 0; i < op->output_count && lowering->ulp; i++)
        if (vyre_type_class(op->outputs[i].type) != VYRE_CLASS_FLOAT || lowering->ulp > VY_LOWERING_LIMIT_ULP)
            return vy_fail(error, VYRE_INVALID_ARGUMENT,
                           "leave `ulp` out: without it, the code must return the bits of the body",
                           "the bound of the code of `%.128s` (%u ulp) is for floats only, and at most %d", op->id,
                           lowering->ulp, VY_LOWERING_LIMIT_ULP);
    return VYRE_OK;
}

vyre_status vy_lowering_check_code(const vyre_op_definition *op, vyre_target target, const vyre_lowering *lowering,
                                   vyre_error *error) {
    reader r = {.op = op,
                .target = target,
                .at = lowering->data,
                .end = (const char *)lowering->data + lowering->size,
                .error = error};
    if (lowering->size > VY_LOWERING_LIMIT_CODE)
        return vy_fail(error, VYRE_LIMIT, "write less code", "the code of `%.128s` for `%s` has %zu bytes (at most %d)",
                       op->id, vyre_target_emit_name(target), lowering->size, VY_LOWERING_LIMIT_CODE);
    vyre_status status = check_operands(op, target, error);
    if (status == VYRE_OK)
        status = check_bound(op, lowering, error);
    if (status != VYRE_OK)
        return status;
    advance(&r);
    return target == VYRE_TARGET_C ? check_c(&r) : check_ptx(&r);
}
