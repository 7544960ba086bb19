/* Laws as equations: their programs, their messages, and the operands they are tried on.
 *
 * An equation is a short text in the notation of the documentation. One recursive walk over it (`side`) derives the
 * types of the operands from their positions, and prints the equation: as code that calls the ops by their ids, or as a
 * message shows it. */
#include "dialect/law_equation.h"

#include "ir/eval.h"
#include "ir/model.h"
#include "ir/number.h"

/* clang-format off */
static const vy_law_equation equations[] = {
    {VYRE_LAW_COMMUTATIVE,       0, VY_LAW_ALWAYS,  "f(a, b)",       VY_LAW_EQUAL,    "f(b, a)"},
    {VYRE_LAW_ASSOCIATIVE,       0, VY_LAW_ALWAYS,  "f(f(a, b), c)", VY_LAW_EQUAL,    "f(a, f(b, c))"},
    {VYRE_LAW_IDENTITY,          0, VY_LAW_ALWAYS,  "f(a, e)",       VY_LAW_EQUAL,    "a"},
    {VYRE_LAW_IDENTITY,          0, VY_LAW_ALWAYS,  "f(e, a)",       VY_LAW_EQUAL,    "a"},
    {VYRE_LAW_LEFT_IDENTITY,     0, VY_LAW_ALWAYS,  "f(e, a)",       VY_LAW_EQUAL,    "a"},
    {VYRE_LAW_RIGHT_IDENTITY,    0, VY_LAW_ALWAYS,  "f(a, e)",       VY_LAW_EQUAL,    "a"},
    {VYRE_LAW_ABSORBING,         0, VY_LAW_ALWAYS,  "f(a, z)",       VY_LAW_EQUAL,    "z"},
    {VYRE_LAW_ABSORBING,         0, VY_LAW_ALWAYS,  "f(z, a)",       VY_LAW_EQUAL,    "z"},
    {VYRE_LAW_LEFT_ABSORBING,    0, VY_LAW_ALWAYS,  "f(z, a)",       VY_LAW_EQUAL,    "z"},
    {VYRE_LAW_RIGHT_ABSORBING,   0, VY_LAW_ALWAYS,  "f(a, z)",       VY_LAW_EQUAL,    "z"},
    {VYRE_LAW_IDEMPOTENT,        1, VY_LAW_ALWAYS,  "f(f(a))",       VY_LAW_EQUAL,    "f(a)"},
    {VYRE_LAW_IDEMPOTENT,        2, VY_LAW_ALWAYS,  "f(=a)",         VY_LAW_EQUAL,    "a"},
    {VYRE_LAW_INVOLUTION,        0, VY_LAW_ALWAYS,  "f(f(a))",       VY_LAW_EQUAL,    "a"},
    {VYRE_LAW_INVERSE_OF,        0, VY_LAW_ALWAYS,  "f(g(a))",       VY_LAW_EQUAL,    "a"},
    {VYRE_LAW_SELF_INVERSE,      0, VY_LAW_ALWAYS,  "f(a, a)",       VY_LAW_EQUAL,    "e"},
    {VYRE_LAW_DISTRIBUTIVE_OVER, 0, VY_LAW_ALWAYS,  "f(a, g(b, c))", VY_LAW_EQUAL,    "g(f(a, b), f(a, c))"},
    {VYRE_LAW_DISTRIBUTIVE_OVER, 0, VY_LAW_ALWAYS,  "f(g(a, b), c)", VY_LAW_EQUAL,    "g(f(a, c), f(b, c))"},
    {VYRE_LAW_ABSORPTION,        0, VY_LAW_ALWAYS,  "f(a, g(a, b))", VY_LAW_EQUAL,    "a"},
    {VYRE_LAW_DE_MORGAN,         0, VY_LAW_ALWAYS,  "n(f(a, b))",    VY_LAW_EQUAL,    "g(n(a), n(b))"},
    {VYRE_LAW_MONOTONE,          0, VY_LAW_ORDERED, "f(a)",          VY_LAW_AT_MOST,  "f(b)"},
    {VYRE_LAW_ANTITONE,          0, VY_LAW_ORDERED, "f(a)",          VY_LAW_AT_LEAST, "f(b)"},
    {VYRE_LAW_BOUNDED,           0, VY_LAW_ALWAYS,  "f(*)",          VY_LAW_AT_LEAST, "low"},
    {VYRE_LAW_BOUNDED,           0, VY_LAW_ALWAYS,  "f(*)",          VY_LAW_AT_MOST,  "high"},
    {VYRE_LAW_ZERO_PRODUCT,      0, VY_LAW_NONZERO, "f(a, b)",       VY_LAW_NOT_ZERO, NULL},
};
/* clang-format on */
enum { EQUATIONS = sizeof equations / sizeof *equations };

const vy_law_equation *vy_law_next_equation(const vyre_op_definition *op, vyre_law_kind law,
                                            const vy_law_equation *last) {
    for (const vy_law_equation *e = last ? last + 1 : equations; e < equations + EQUATIONS; e++)
        if (e->law == law && (e->inputs == 0 || (e->inputs == 1) == (op->input_count == 1)))
            return e;
    return NULL;
}

/* ---- laws that cannot be checked ---- */

vyre_status vy_law_fail_check(const vy_law_instance *q, const char *why, const char *fix, vyre_error *error) {
    return vy_fail(error, VYRE_INVALID_PROGRAM, fix, "the law `%s` of `%.128s` cannot be checked: %s",
                   vyre_law_name(q->law->kind), q->op->id, why);
}

#define CANNOT(instance, error, fix, ...)                                                                              \
    vy_law_fail_check(instance, vy_fix_format((char[512]){0}, 512, __VA_ARGS__), fix, error)

/* A law applies to an op that has a body and maps values to one value. */
static vyre_status check_op(const vy_law_instance *q, const vyre_op_definition *op, vyre_error *error) {
    for (uint32_t i = 0; i < op->input_count; i++)
        if (op->inputs[i].kind != VYRE_OPERAND_VALUE)
            return CANNOT(q, error, "remove the law", "laws apply to values, and `%.128s` has a memory operand",
                          op->id);
    for (uint32_t i = 0; i < op->attribute_count; i++)
        if (!op->attributes[i].has_default)
            return CANNOT(q, error, "add a default to the attribute, or remove the law",
                          "attributes have their defaults, and `%.64s` of `%.128s` has none", op->attributes[i].name,
                          op->id);
    if (op->output_count != 1 || op->input_count == 0)
        return CANNOT(q, error, "remove the law",
                      "it speaks of ops with inputs and one output; `%.128s` has %u inputs and %u outputs", op->id,
                      op->input_count, op->output_count);
    if (!op->body)
        return CANNOT(q, error, "add a body to the op, or remove the law", "`%.128s` has no body", op->id);
    return VYRE_OK;
}

/* ---- the walk ---- */

typedef struct walk {
    vy_law_instance *instance;
    const char *at;
    vy_string *code, *shown; /* either may be NULL */
    vyre_status status;
    vyre_error *error;
} walk;

static void put(walk *w, const char *text, size_t length) {
    if (w->code)
        vy_string_append(w->code, text, length);
    if (w->shown)
        vy_string_append(w->shown, text, length);
}

static void put_literal(vy_string *out, vyre_type type, uint64_t bits) {
    if (type == VYRE_TYPE_BOOL)
        vy_string_add(out, bits ? "true" : "false");
    else
        vy_number_print(out, type, bits, 1);
}

/* Sets the type of a part and checks it against the expected type (VYRE_TYPE_COUNT: any). */
static void expect(walk *w, vyre_type expected, vyre_type type) {
    if (w->status == VYRE_OK && expected != VYRE_TYPE_COUNT && expected != type)
        w->status = CANNOT(w->instance, w->error, "remove the law, or change the signature",
                           "mismatched types: %s where %s is expected", vyre_type_name(type), vyre_type_name(expected));
}

static vyre_type operand(walk *w, const char *name, size_t length, vyre_type expected) {
    vy_law_instance *q = w->instance;
    uint32_t k = 0;
    while (k < q->operand_count && (q->operands[k].length != length || memcmp(q->operands[k].name, name, length) != 0))
        k++;
    if (k == VY_LAW_LIMIT_OPERANDS) {
        w->status = CANNOT(q, w->error, "remove the law", "it has over %d operands", VY_LAW_LIMIT_OPERANDS);
        return expected;
    }
    if (k == q->operand_count)
        q->operands[q->operand_count++] = (vy_law_operand){name, length, expected};
    if (w->code)
        vy_string_format(w->code, "v%u", k);
    if (w->shown)
        vy_string_append(w->shown, name, length);
    expect(w, expected, q->operands[k].type);
    return q->operands[k].type;
}

/* Returns the argument of the law that a name denotes, or NULL. */
static const vyre_law_argument *value_of(const vy_law_instance *q, const char *name, size_t length) {
    static const struct {
        const char *name;
        uint32_t argument;
    } values[] = {{"e", 0}, {"z", 0}, {"low", 0}, {"high", 1}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strlen(values[i].name) == length && memcmp(values[i].name, name, length) == 0)
            return &q->law->arguments[values[i].argument];
    return NULL;
}

/* f is the op itself; g is the last op that the law names, n the first. */
static const vyre_op_definition *op_of(const vy_law_instance *q, char name) {
    return name == 'f' ? q->op : name == 'n' ? q->others[0] : q->others[q->law->argument_count - 1];
}

static vyre_type side(walk *w, vyre_type expected);

static void arguments(walk *w, const vyre_op_definition *op) {
    char form = *w->at;
    uint32_t count = 0;
    if (form == '=' || form == '*') {
        w->at += form == '=' ? 2 : 1;
        for (; count < op->input_count && w->status == VYRE_OK; count++) {
            const char *name = form == '=' ? w->at - 1 : op->inputs[count].name;
            put(w, ", ", count ? 2 : 0);
            operand(w, name, form == '=' ? 1 : strlen(name), op->inputs[count].type);
        }
    }
    for (; *w->at != ')'; count++) {
        size_t comma = *w->at == ',' ? 2 : 0;
        put(w, w->at, comma);
        w->at += comma;
        side(w, count < op->input_count ? op->inputs[count].type : VYRE_TYPE_COUNT);
    }
    if (w->status == VYRE_OK && count != op->input_count)
        w->status = CANNOT(w->instance, w->error, "remove the law, or name another op",
                           "it calls `%.128s` with %u value%s (expected %u)", op->id, count, count == 1 ? "" : "s",
                           op->input_count);
    w->at++;
}

/* Parses one name or one call. Equations nest at most three levels deep. */
static vyre_type side(walk *w, vyre_type expected) {
    const vy_law_instance *q = w->instance;
    const char *name = w->at;
    size_t length = strcspn(name, "(,) ");
    w->at += length;
    if (*w->at == '(') {
        const vyre_op_definition *op = op_of(q, *name);
        w->at++;
        if (w->code)
            vy_string_format(w->code, "%s(", op->id);
        if (w->shown)
            vy_string_format(w->shown, "%c(", *name);
        arguments(w, op);
        put(w, ")", 1);
        expect(w, expected, op->outputs[0].type);
        return op->outputs[0].type;
    }
    const vyre_law_argument *value = value_of(q, name, length);
    if (!value)
        return operand(w, name, length, expected);
    if (w->code)
        put_literal(w->code, value->value.type, value->value.bits);
    if (w->shown)
        vy_string_append(w->shown, name, length);
    expect(w, expected, value->value.type);
    return value->value.type;
}

static vyre_status write_side(vy_law_instance *q, const char *text, vyre_type expected, vy_string *code,
                              vy_string *shown, vyre_type *type, vyre_error *error) {
    walk w = {q, text, code, shown, VYRE_OK, error};
    *type = side(&w, expected);
    return w.status;
}

/* ---- the program ---- */

/* x <= y in the order of the type. Unlike in a comparison, zeros of different sign are ordered: -0 < +0. */
static void put_at_most(vy_string *out, vyre_type type, const char *x, const char *y) {
    if (type == VYRE_TYPE_BOOL)
        vy_string_format(out, "(!%s || %s)", x, y);
    else if (vyre_type_class(type) != VYRE_CLASS_FLOAT)
        vy_string_format(out, "%s <= %s", x, y);
    else
        vy_string_format(out, "(%s < %s || (%s == %s && bitcast<u%u>(%s) >= bitcast<u%u>(%s)))", x, y, x, y,
                         vyre_type_bits(type), x, vyre_type_bits(type), y);
}

static void put_nonzero(vy_string *out, vyre_type type, const char *x) {
    vy_string_add(out, x);
    if (type == VYRE_TYPE_BOOL)
        return;
    vy_string_add(out, " != ");
    put_literal(out, type, 0);
}

static void put_relation(vy_string *out, const vy_law_instance *q) {
    switch (q->equation->relation) {
    case VY_LAW_EQUAL:
        if (vyre_type_class(q->type) == VYRE_CLASS_FLOAT)
            vy_string_format(out, "bitcast<u%u>(l) == bitcast<u%u>(r)", vyre_type_bits(q->type),
                             vyre_type_bits(q->type));
        else
            vy_string_add(out, "l == r");
        break;
    case VY_LAW_AT_MOST:
        put_at_most(out, q->type, "l", "r");
        break;
    case VY_LAW_AT_LEAST:
        put_at_most(out, q->type, "r", "l");
        break;
    case VY_LAW_NOT_ZERO:
        put_nonzero(out, q->type, "l");
        break;
    }
}

static void put_premise(vy_string *out, const vy_law_instance *q) {
    if (q->equation->premise == VY_LAW_ORDERED) {
        put_at_most(out, q->operands[0].type, "v0", "v1");
        vy_string_add(out, " && ");
    } else if (q->equation->premise == VY_LAW_NONZERO) {
        put_nonzero(out, q->operands[0].type, "v0");
        vy_string_add(out, " && ");
        put_nonzero(out, q->operands[1].type, "v1");
        vy_string_add(out, " && ");
    }
}

/* The element type of a buffer that holds values of the type. */
static const char *stored(vyre_type type) {
    return vyre_type_name(type == VYRE_TYPE_BOOL ? VYRE_TYPE_U8 : type);
}

static void put_head(vy_string *out, const vy_law_instance *q) {
    vy_string_add(out, "program law {\n  param first : u32\n  param count : u32\n  param show : u32\n");
    for (uint32_t k = 0; k < q->operand_count; k++)
        vy_string_format(out, "  param n%u : u32\n  param s%u : u32\n", k, k);
    for (uint32_t k = 0; k < q->operand_count; k++)
        vy_string_format(out, "  buffer x%u : %s read\n", k, stored(q->operands[k].type));
    vy_string_format(out,
                     "  buffer broken : u32 read_write count 1\n  buffer left : %s write count 1\n"
                     "  buffer right : %s write count 1\n  workgroup 256\n",
                     stored(q->type), stored(q->type));
}

static void put_body(vy_string *out, const vy_law_instance *q, const char *left, const char *right) {
    const char *to_stored = q->type == VYRE_TYPE_BOOL ? " ? 1u8 : 0u8" : "";
    vy_string_add(out, "  if global_id.x < count {\n    let i = first + global_id.x\n");
    for (uint32_t k = 0; k < q->operand_count; k++)
        vy_string_format(out, "    let v%u = x%u[i / s%u %% n%u]%s\n", k, k, k, k,
                         q->operands[k].type == VYRE_TYPE_BOOL ? " != 0" : "");
    vy_string_format(out, "    let l = %s\n    let r = %s\n    if ", left, right);
    put_premise(out, q);
    vy_string_add(out, "!(");
    put_relation(out, q);
    vy_string_format(out,
                     ") { atomic_min(broken[0], i) }\n    if i == show {\n      left[0] = l%s\n      right[0] = r%s\n"
                     "    }\n  }\n}\n",
                     to_stored, to_stored);
}

vyre_status vy_law_program(vy_law_instance *q, vy_string *text, vyre_error *error) {
    const vy_law_equation *e = q->equation;
    vy_string left = {0}, right = {0};
    vyre_type type;
    vyre_status status = check_op(q, q->op, error);
    for (uint32_t i = 0; i < 2 && status == VYRE_OK; i++)
        if (q->others[i])
            status = check_op(q, q->others[i], error);
    if (status == VYRE_OK)
        status = write_side(q, e->left, VYRE_TYPE_COUNT, &left, NULL, &q->type, error);
    if (status == VYRE_OK && e->right)
        status = write_side(q, e->right, q->type, &right, NULL, &type, error);
    if (status == VYRE_OK) {
        put_head(text, q);
        put_body(text, q, left.failed ? "" : left.text, e->right && !right.failed ? right.text : "l");
        if (left.failed || right.failed || text->failed)
            status = vy_fail_memory(error, "checking a law");
    }
    vy_string_free(&left);
    vy_string_free(&right);
    return status;
}

/* ---- messages ---- */

/* Lists everything that the equation names: "a = 1u8, b = 2u8, e = 0u8, g = `other.op`". */
static void put_tuple(vy_string *out, const vy_law_instance *q, const uint64_t *tuple) {
    static const char *const values[VYRE_LAW_COUNT] = {
        [VYRE_LAW_IDENTITY] = "e",       [VYRE_LAW_LEFT_IDENTITY] = "e", [VYRE_LAW_RIGHT_IDENTITY] = "e",
        [VYRE_LAW_SELF_INVERSE] = "e",   [VYRE_LAW_ABSORBING] = "z",     [VYRE_LAW_LEFT_ABSORBING] = "z",
        [VYRE_LAW_RIGHT_ABSORBING] = "z"};
    for (uint32_t k = 0; k < q->operand_count; k++) {
        vy_string_format(out, "%s%.*s = ", k ? ", " : "", (int)q->operands[k].length, q->operands[k].name);
        put_literal(out, q->operands[k].type, tuple[k]);
    }
    if (values[q->law->kind]) {
        vy_string_format(out, ", %s = ", values[q->law->kind]);
        put_literal(out, q->law->arguments[0].value.type, q->law->arguments[0].value.bits);
    }
    for (uint32_t i = 0; i < 2 && q->others[i]; i++)
        vy_string_format(out, ", %c = `%s`", op_of(q, 'g') == q->others[i] && (i || !q->others[1]) ? 'g' : 'n',
                         q->others[i]->id);
}

vyre_status vy_law_fail_tuple(const vy_law_instance *q, const uint64_t *tuple, const char *what, vyre_error *error) {
    vy_string where = {0};
    put_tuple(&where, q, tuple);
    vyre_status status = where.failed
                             ? vy_fail_memory(error, "checking a law")
                             : CANNOT(q, error, "remove the law, or correct the body", "%s at %s", what, where.text);
    vy_string_free(&where);
    return status;
}

vyre_status vy_law_fail_equation(const vy_law_instance *q, const uint64_t *tuple, uint64_t left, uint64_t right,
                                 vyre_error *error) {
    static const char *const between[] = {[VY_LAW_EQUAL] = " and ",
                                          [VY_LAW_AT_MOST] = ", which is not at most ",
                                          [VY_LAW_AT_LEAST] = ", which is not at least "};
    vy_law_instance again = *q; /* a copy, since the walk sets the types of operands, which are set already */
    vy_string said = {0};
    vyre_type type;
    write_side(&again, q->equation->left, VYRE_TYPE_COUNT, NULL, &said, &type, error);
    vy_string_add(&said, " is ");
    put_literal(&said, q->type, left);
    if (q->equation->right) {
        vy_string_add(&said, between[q->equation->relation]);
        write_side(&again, q->equation->right, q->type, NULL, &said, &type, error);
        vy_string_add(&said, q->equation->relation == VY_LAW_EQUAL ? " is " : ", ");
        put_literal(&said, q->type, right);
    }
    vy_string_add(&said, " at ");
    put_tuple(&said, q, tuple);
    vyre_status status = said.failed ? vy_fail_memory(error, "checking a law")
                                     : vy_fail(error, VYRE_INVALID_PROGRAM, "remove the law, or correct the body",
                                               "the law `%s` does not hold for `%.128s`: %s",
                                               vyre_law_name(q->law->kind), q->op->id, said.text);
    vy_string_free(&said);
    return status;
}

/* Test inputs of laws.
 *
 * If the operands have at most VY_LAW_EXHAUSTIVE_BITS in total, all tuples are tried. Else there are two sets: every
 * combination of the first few edge values, and rows of edge values and random values. Edge values are ordered by how
 * often they reveal a violation: the corners of the type, then the literals of the law and of the bodies with their
 * neighbours, then the rest. The same equation always has the same operands. */

/* Distinct values of one type. */
typedef struct edges {
    vyre_type type;
    VY_VECTOR(uint64_t) values;
    int failed;
} edges;

/* ---- neighbours of a value ---- */

/* The next larger value in the order of the type. The largest value and NaN are returned unchanged. For floats with a
 * sign bit the pattern is decremented. */
static uint64_t successor(vyre_type type, uint64_t bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    uint64_t sign = (layout->mask >> 1) + 1;
    if (layout->classes == VYRE_CLASS_FLOAT) {
        if (bits == layout->nan || bits == layout->infinity)
            return bits;
        return bits == sign ? 0 : bits & sign ? bits - 1 : bits + 1;
    }
    uint64_t last = layout->classes == VYRE_CLASS_SIGNED ? sign - 1 : layout->mask;
    return bits == last ? bits : (bits + 1) & layout->mask;
}

static void add(edges *e, uint64_t bits) {
    bits = vy_value_canonicalize(e->type, bits);
    for (uint32_t i = 0; i < e->values.count; i++)
        if (e->values.items[i] == bits)
            return;
    uint64_t *slot = VY_PUSH(&e->values);
    if (slot)
        *slot = bits;
    else
        e->failed = 1;
}

/* Adds a value and the adjacent bit patterns, which are its neighbours for floats, too. */
static void add_around(edges *e, uint64_t bits) {
    add(e, bits);
    add(e, bits + 1);
    add(e, bits - 1);
}

/* ---- integers ---- */

static void add_integer_corners(edges *e) {
    const uint64_t all = vy_type_layouts[e->type].mask, sign = (all >> 1) + 1;
    const uint64_t corners[] = {0, 1, all, sign, sign - 1, 2, all - 1, sign + 1, sign - 2, 3};
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++)
        add(e, corners[i]);
}

static void add_integer_rest(edges *e) {
    static const uint64_t patterns[] = {0x5555555555555555,
                                        0xaaaaaaaaaaaaaaaa,
                                        0x0f0f0f0f0f0f0f0f,
                                        0x00ff00ff00ff00ff,
                                        0x0123456789abcdef,
                                        0xfedcba9876543210,
                                        5,
                                        7,
                                        10,
                                        100,
                                        1000,
                                        0x9e3779b97f4a7c15};
    unsigned bits = vy_type_layouts[e->type].bits;
    for (unsigned step = bits / 2; step; step /= 2) /* halves first, then quarters, … */
        for (unsigned k = step; k < bits; k += step)
            add_around(e, UINT64_C(1) << k);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        add(e, patterns[i]);
    for (unsigned k = 1; k < bits; k++)
        add(e, ~(UINT64_C(1) << k));
}

/* ---- floats ---- */

/* 2^exponent times 1.fraction; `fraction` holds the top fraction bits. */
static uint64_t make_float(vyre_type type, int exponent, uint64_t fraction, int is_negative) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    unsigned fraction_bits = (unsigned)__builtin_ctzll(layout->infinity);
    uint64_t largest = layout->infinity >> fraction_bits, bias = largest >> 1, field = bias + (uint64_t)exponent;
    if (field == 0 || field >= largest)
        return layout->infinity | (is_negative ? (layout->mask >> 1) + 1 : 0);
    return field << fraction_bits | fraction >> (64 - fraction_bits) | (is_negative ? (layout->mask >> 1) + 1 : 0);
}

static void add_both_signs(edges *e, uint64_t bits) {
    add(e, bits);
    add(e, bits | ((vy_type_layouts[e->type].mask >> 1) + 1));
}

static void add_float_corners(edges *e) {
    const vy_type_layout *layout = &vy_type_layouts[e->type];
    const uint64_t least_normal = UINT64_C(1) << __builtin_ctzll(layout->infinity);
    const uint64_t corners[] = {
        0, make_float(e->type, 0, 0, 0), layout->infinity, 1, layout->infinity - 1, least_normal, least_normal - 1};
    add(e, layout->nan);
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++)
        add_both_signs(e, corners[i]);
}

static void add_float_rest(edges *e) {
    unsigned fraction_bits = (unsigned)__builtin_ctzll(vy_type_layouts[e->type].infinity);
    static const uint64_t fractions[] = {0, UINT64_C(1) << 63, 0x5555555555555555, 0xffffffffffffffff};
    for (int exponent = 0; exponent < 4; exponent++)
        for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++)
            for (int sign = 0; sign < 2; sign++) {
                add(e, make_float(e->type, exponent, fractions[i], sign));
                add(e, make_float(e->type, -exponent, fractions[i], sign));
            }
    add(e, make_float(e->type, 0, 0, 0) + 1);
    for (int at = -1; at < 3; at++) /* around the largest consecutive integers */
        for (int sign = 0; sign < 2; sign++)
            add_around(e, make_float(e->type, (int)fraction_bits + at, 0, sign));
    for (unsigned k = 4; k <= 64; k += 4)
        for (int sign = 0; sign < 2; sign++) {
            add(e, make_float(e->type, (int)k, 0, sign));
            add(e, make_float(e->type, -(int)k, 0, sign));
        }
}

/* ---- edge values of a type ---- */

/* Bodies convert between types, so a literal of another type is added as the same number or as the bits of a float. */
static int is_convertible(vyre_type a, vyre_type b) {
    unsigned floats = (vyre_type_class(a) | vyre_type_class(b)) & VYRE_CLASS_FLOAT;
    return b != VYRE_TYPE_BOOL && (!floats || vyre_type_bits(a) == vyre_type_bits(b));
}

/* Adds the literals of the law and of the bodies: behaviour changes there. */
static void add_named(edges *e, const vy_law_instance *q, const vyre_program *program) {
    enum { LITERALS = 64 };
    for (uint32_t i = 0; i < q->law->argument_count; i++)
        if (vyre_law_arguments(q->law->kind)[i] == 'v' && q->law->arguments[i].value.type == e->type)
            add_around(e, q->law->arguments[i].value.bits);
    for (int is_other = 0; is_other < 2; is_other++) {
        uint32_t before = e->values.count;
        for (uint32_t i = 0; i < program->exprs.count && e->values.count < before + LITERALS; i++) {
            const vy_expr *x = &program->exprs.items[i];
            if (x->kind == VY_EXPR_LITERAL && (x->type != e->type) == is_other &&
                is_convertible(e->type, (vyre_type)x->type))
                add_around(e, x->bits);
        }
    }
}

static vyre_status list_edges(edges *e, const vy_law_instance *q, const vyre_program *program, vyre_error *error) {
    unsigned class = vyre_type_class(e->type);
    if (class == VYRE_CLASS_FLOAT)
        add_float_corners(e);
    else
        add_integer_corners(e);
    add_named(e, q, program);
    if (class == VYRE_CLASS_FLOAT)
        add_float_rest(e);
    else if (class != VYRE_CLASS_BOOL)
        add_integer_rest(e);
    return e->failed ? vy_fail_memory(error, "checking a law") : VYRE_OK;
}

/* ---- random rows ---- */

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Any bit pattern, or one of moderate magnitude, since most patterns are very large or very small. */
static uint64_t random_value(vyre_type type, uint64_t *state) {
    uint64_t bits = next_random(state), choice = next_random(state);
    if (choice % 2 == 0)
        return vy_value_canonicalize(type, bits);
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT)
        return make_float(type, (int)(choice / 2 % 9) - 4, bits, (int)(choice / 32 % 2));
    bits = vy_type_layouts[type].mask & bits;
    bits >>= choice / 2 % vy_type_layouts[type].bits;
    return vy_value_canonicalize(type, choice / 1024 % 2 ? bits : 0 - bits);
}

/* Operand k of a row: an edge value, a random value, or a value close to the previous operand. */
static uint64_t row_value(const edges *e, const uint64_t *before, int is_ordered, uint64_t *state) {
    uint64_t choice = next_random(state);
    if (before && is_ordered && choice % 2)
        return successor(e->type, *before);
    uint64_t edge = e->values.items[next_random(state) % e->values.count];
    if (before && choice / 2 % 8 == 0) /* equal, opposite, or an edge value apart */
        return vy_value_canonicalize(e->type, choice / 16 % 3 == 0   ? *before
                                              : choice / 16 % 3 == 1 ? 0 - *before
                                                                     : edge - *before);
    if (choice / 2 % 8 < 3)
        return edge;
    return random_value(e->type, state);
}

/* ---- sets of tuples ---- */

void vy_law_tuples_free(vy_law_tuples *tuples) {
    for (uint32_t k = 0; k < tuples->column_count; k++)
        vy_release(tuples->columns[k].values, vy_array_size(tuples->columns[k].count, sizeof(uint64_t)));
    tuples->column_count = 0;
}

/* Adds a column of a product. The strides count through all combinations, as the digits of a number do. */
static uint64_t *new_column(vy_law_tuples *set, uint64_t count, uint64_t stride) {
    vy_law_column *column = &set->columns[set->column_count];
    *column = (vy_law_column){vy_allocate(vy_array_size(count, sizeof(uint64_t))), (uint32_t)count, (uint32_t)stride};
    if (column->values)
        set->column_count++;
    return column->values;
}

static int exhaustive_tuples(const vy_law_instance *q, vy_law_tuples *set) {
    set->count = 1;
    for (uint32_t k = 0; k < q->operand_count; k++) {
        uint64_t size = UINT64_C(1) << vyre_type_bits(q->operands[k].type);
        uint64_t *values = new_column(set, size, set->count);
        for (uint64_t i = 0; values && i < size; i++)
            values[i] = i;
        if (!values)
            return 0;
        set->count *= size;
    }
    return 1;
}

/* Values per operand such that there are at most VY_LAW_PRODUCT combinations. */
static uint64_t product_side(uint32_t operands) {
    uint64_t side = 1;
    for (;; side++) {
        uint64_t product = 1;
        for (uint32_t k = 0; k < operands && product <= VY_LAW_PRODUCT; k++)
            product *= side + 1;
        if (product > VY_LAW_PRODUCT || side == VY_LAW_PRODUCT)
            return side;
    }
}

static int combinations(const vy_law_instance *q, const edges *lists, vy_law_tuples *set) {
    uint64_t side = product_side(q->operand_count);
    set->count = 1;
    for (uint32_t k = 0; k < q->operand_count; k++) {
        uint64_t size = lists[k].values.count < side ? lists[k].values.count : side;
        uint64_t *values = new_column(set, size, set->count);
        if (!values)
            return 0;
        memcpy(values, lists[k].values.items, size * sizeof *values);
        set->count *= size;
    }
    return 1;
}

static int rows(const vy_law_instance *q, const edges *lists, vy_law_tuples *set) {
    const int is_ordered = q->equation->premise == VY_LAW_ORDERED;
    /* Monotonicity is decided by neighbours, and all pairs of neighbours of a 16-bit type can be tried. */
    const int all_pairs = is_ordered && vyre_type_bits(q->operands[0].type) == 16;
    uint64_t state = 0x7679726c617773; /* an arbitrary constant seed */
    set->count = all_pairs ? 1u << 16 : VY_LAW_RANDOM;
    for (uint32_t k = 0; k < q->operand_count; k++)
        if (!new_column(set, set->count, 1))
            return 0;
    for (uint64_t i = 0; i < set->count; i++)
        for (uint32_t k = 0; k < q->operand_count; k++) {
            const int is_same = k && q->operands[k].type == q->operands[k - 1].type;
            const uint64_t *before = is_same ? &set->columns[k - 1].values[i] : NULL;
            set->columns[k].values[i] = !all_pairs ? row_value(&lists[k], before, is_ordered, &state)
                                        : k == 0   ? vy_value_canonicalize(q->operands[0].type, i)
                                                   : successor(q->operands[0].type, *before);
        }
    return 1;
}

vyre_status vy_law_choose_inputs(const vy_law_instance *q, const vyre_program *program, vy_law_tuples sets[VY_LAW_SETS],
                                 uint32_t *set_count, vyre_error *error) {
    edges lists[VY_LAW_LIMIT_OPERANDS] = {0};
    unsigned bits = 0;
    int complete = 1;
    vyre_status status = VYRE_OK;
    for (uint32_t k = 0; k < q->operand_count; k++)
        bits += vyre_type_bits(q->operands[k].type);
    sets[0].column_count = sets[1].column_count = 0;
    *set_count = bits <= VY_LAW_EXHAUSTIVE_BITS ? 1 : 2;
    if (*set_count == 1) {
        complete = exhaustive_tuples(q, &sets[0]);
    } else {
        for (uint32_t k = 0; k < q->operand_count && status == VYRE_OK; k++) {
            lists[k].type = q->operands[k].type;
            status = list_edges(&lists[k], q, program, error);
        }
        if (status == VYRE_OK)
            complete = combinations(q, lists, &sets[0]) && rows(q, lists, &sets[1]);
        for (uint32_t k = 0; k < q->operand_count; k++)
            VY_VECTOR_FREE(&lists[k].values);
    }
    if (status == VYRE_OK && !complete)
        status = vy_fail_memory(error, "checking a law");
    for (uint32_t s = 0; s < 2 && status != VYRE_OK; s++)
        vy_law_tuples_free(&sets[s]);
    return status;
}
