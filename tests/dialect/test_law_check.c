/* Laws are put to the oracle: true ones pass, false ones are refused with operands and both sides. */
#include "dialect/law_check.h"
#include "dialect/load.h"
#include "support/fault.h"
#include "support/test.h"

/* ---- one op with one law ---- */

/* An op t.f, with other ops behind it. */
typedef struct example {
    const char *law;       /* as TOML */
    const char *signature; /* "(a: u8, b: u8) -> u8" */
    const char *body;      /* an expression, or "{ … }" */
    const char *says;      /* what the message has, behind "does not hold for `t.f`: "; NULL: the law holds */
    const char *others;    /* further ops, in the same form: "name signature = expression;" */
} example;

static void put_op(char *text, size_t size, const char *id, const char *laws, const char *signature, const char *body) {
    const int is_block = body[0] == '{';
    size_t used = strlen(text);
    snprintf(text + used, size - used,
             "[[op]]\nid = \"%s\"\nlaws = [%s]\nsignature = \"fn %s%s\"\nbody = '''\nfn %s%s %s%s%s\n'''\n", id, laws,
             id, signature, id, signature, is_block ? "" : "{ return ", body, is_block ? "" : " }");
}

static void put_others(char *text, size_t size, const char *others) {
    char copy[1024], *rest = copy;
    snprintf(copy, sizeof copy, "%s", others ? others : "");
    for (char *one; (one = strtok_r(rest, ";", &rest));) {
        char *signature = strchr(one, '('), *body = strstr(one, " = ");
        char id[32];
        snprintf(id, sizeof id, "%.*s", (int)(signature - one), one);
        *body = 0;
        put_op(text, size, id, "", signature, body + 3);
    }
}

static void put_example(char *text, size_t size, const example *e) {
    snprintf(text, size, "dialect = \"t\"\nversion = \"1.0.0\"\n");
    put_op(text, size, "f", e->law, e->signature, e->body);
    put_others(text, size, e->others);
}

/* A manifest beside what is registered. */
typedef struct candidate {
    vy_manifest *manifest;
    vyre_dialect_builder *builder;
    vyre_dialects_guard guard;
} candidate;

static vyre_status open_text(const char *text, candidate *c, vyre_error *error) {
    *c = (candidate){0};
    vyre_status status = vy_manifest_parse("t.toml", text, strlen(text), NULL, NULL, NULL, &c->manifest, error);
    if (status == VYRE_OK)
        status = vyre_dialect_builder_new(&c->builder, error);
    if (status == VYRE_OK)
        status = vy_load_register(c->builder, c->manifest, "t.toml", error);
    return status == VYRE_OK ? vy_law_candidate_open(c->builder, &c->guard, error) : status;
}

static void close_text(candidate *c) {
    if (c->guard.snapshot)
        vy_law_candidate_close(&c->guard);
    vyre_dialect_builder_free(c->builder);
    vy_manifest_free(c->manifest);
}

/* The first law of t.f. */
static vyre_status check_first(candidate *c, vy_law_stats *count, vyre_error *error) {
    return vy_law_check(c->guard, vyre_dialects_find(c->guard, "t.f", 3), 0, count, error);
}

static vyre_status check_text(const char *text, vy_law_stats *count, vyre_error *error) {
    candidate c;
    vyre_status status = open_text(text, &c, error);
    if (status == VYRE_OK)
        status = check_first(&c, count, error);
    close_text(&c);
    return status;
}

static void check_example(const example *e) {
    char text[4096];
    vyre_error error = VYRE_ERROR_INIT;
    put_example(text, sizeof text, e);
    vyre_status status = check_text(text, NULL, &error);
    if (!e->says && status != VYRE_OK)
        fail_msg("%s of %s is refused: %s", e->law, e->body, error.message);
    if (!e->says)
        return;
    if (status != VYRE_INVALID_PROGRAM)
        fail_msg("%s of %s: status %d, message: %s", e->law, e->body, (int)status, error.message);
    if (!strstr(error.message, e->says))
        fail_msg("%s of %s is refused for another reason: %s", e->law, e->body, error.message);
    assert_true(*error.fix != 0);
}

static void check_examples(const example *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        check_example(&list[i]);
}
#define CHECK_EXAMPLES(list) check_examples(list, sizeof(list) / sizeof *(list))

/* ---- each law, true and false ---- */

#define U8_2 "(a: u8, b: u8) -> u8"
#define U32_2 "(a: u32, b: u32) -> u32"

static void each_law_is_told_from_a_false_one(void **state) {
    (void)state;
    static const example list[] = {
        {"'commutative'", U8_2, "a + b", NULL, NULL},
        {"'commutative'", U8_2, "a - b", "f(a, b) is 1u8 and f(b, a) is 255u8 at a = 1u8, b = 0u8", NULL},
        {"'associative'", U32_2, "a ^ b", NULL, NULL},
        {"'associative'", U8_2, "a - b", "f(f(a, b), c) is 255u8 and f(a, f(b, c)) is 1u8 at a = 0u8, b = 0u8, c = 1u8",
         NULL},
        {"{law = 'identity', value = 0}", U8_2, "a | b", NULL, NULL},
        {"{law = 'identity', value = 0}", U8_2, "a - b", "f(e, a) is 255u8 and a is 1u8 at a = 1u8, e = 0u8", NULL},
        {"{law = 'left_identity', value = 1}", U8_2, "a * b", NULL, NULL},
        {"{law = 'left_identity', value = 0}", U8_2, "a - b", "f(e, a) is 255u8 and a is 1u8", NULL},
        {"{law = 'right_identity', value = 0}", U8_2, "a - b", NULL, NULL},
        {"{law = 'right_identity', value = 2}", U8_2, "a / b", "f(a, e) is 0u8 and a is 1u8 at a = 1u8, e = 2u8", NULL},
        {"{law = 'absorbing', value = 0}", U8_2, "a & b", NULL, NULL},
        {"{law = 'absorbing', value = 0}", U8_2, "a | b", "f(a, z) is 1u8 and z is 0u8 at a = 1u8, z = 0u8", NULL},
        {"{law = 'left_absorbing', value = 0}", U8_2, "a >> b", NULL, NULL},
        {"{law = 'left_absorbing', value = 1}", U8_2, "a >> b", "f(z, a) is 0u8 and z is 1u8 at a = 1u8, z = 1u8",
         NULL},
        {"{law = 'right_absorbing', value = 255}", U8_2, "a | b", NULL, NULL},
        {"{law = 'right_absorbing', value = 0}", U8_2, "a / b", "f(a, z) is 255u8 and z is 0u8 at a = 0u8, z = 0u8",
         NULL},
        {"'idempotent'", U8_2, "max(a, b)", NULL, NULL},
        {"'idempotent'", U8_2, "a + b", "f(a, a) is 2u8 and a is 1u8 at a = 1u8", NULL},
        {"'idempotent'", "(a: u8) -> u8", "a & 15", NULL, NULL},
        {"'idempotent'", "(a: u8) -> u8", "a >> 1", "f(f(a)) is 0u8 and f(a) is 1u8 at a = 2u8", NULL},
        {"'idempotent'", "(a: u8, b: u8, c: u8) -> u8", "a & b & c", NULL, NULL},
        {"'idempotent'", "(a: u8, b: u8, c: u8) -> u8", "a ^ b & c", "f(a, a, a) is 0u8 and a is 1u8 at a = 1u8", NULL},
        {"'involution'", "(a: u8) -> u8", "~a", NULL, NULL},
        {"'involution'", "(a: u8) -> u8", "a + 1", "f(f(a)) is 2u8 and a is 0u8 at a = 0u8", NULL},
        {"{law = 'inverse_of', op = 'g'}", "(a: u8) -> u8", "a - 3", NULL, "g(a: u8) -> u8 = a + 3"},
        {"{law = 'inverse_of', op = 'g'}", "(a: u16) -> u8", "u8(a)", NULL, "g(a: u8) -> u16 = u16(a)"},
        {"{law = 'inverse_of', op = 'g'}", "(a: u8) -> u8", "a / 2",
         "f(g(a)) is 0u8 and a is 128u8 at a = 128u8, g = `t.g`", "g(a: u8) -> u8 = a * 2"},
        {"{law = 'self_inverse', value = 0}", U8_2, "a ^ b", NULL, NULL},
        {"{law = 'self_inverse', value = 1}", U8_2, "a / b", "f(a, a) is 255u8 and e is 1u8 at a = 0u8, e = 1u8", NULL},
        {"{law = 'distributive_over', op = 'g'}", U32_2, "a * b", NULL, "g(a: u32, b: u32) -> u32 = a + b"},
        {"{law = 'distributive_over', op = 'g'}", U8_2, "a << b", "f(a, g(b, c)) is ", "g(a: u8, b: u8) -> u8 = a + b"},
        {"{law = 'distributive_over', op = 'g'}", U8_2, "b == 0 ? a : a << 1", "f(a, g(b, c)) is ",
         "g(a: u8, b: u8) -> u8 = a | b"},
        {"{law = 'distributive_over', op = 'g'}", U8_2, "max(~a, b)",
         "f(g(a, b), c) is 255u8 and g(f(a, c), f(b, c)) is 254u8 at a = 1u8, b = 0u8, c = 0u8, g = `t.g`",
         "g(a: u8, b: u8) -> u8 = min(a, b)"},
        {"{law = 'absorption', op = 'g'}", U8_2, "min(a, b)", NULL, "g(a: u8, b: u8) -> u8 = max(a, b)"},
        {"{law = 'absorption', op = 'g'}", U8_2, "a + b", "f(a, g(a, b)) is 2u8 and a is 1u8 at a = 1u8, b = 0u8",
         "g(a: u8, b: u8) -> u8 = a | b"},
        {"{law = 'de_morgan', negation = 'n', dual = 'g'}", U8_2, "a & b", NULL,
         "n(a: u8) -> u8 = ~a;g(a: u8, b: u8) -> u8 = a | b"},
        {"{law = 'de_morgan', negation = 'n', dual = 'g'}", U8_2, "a & b",
         "n(f(a, b)) is 255u8 and g(n(a), n(b)) is 254u8 at a = 1u8, b = 0u8, n = `t.n`, g = `t.g`",
         "n(a: u8) -> u8 = ~a;g(a: u8, b: u8) -> u8 = a & b"},
        {"'monotone'", "(a: i8) -> i16", "i16(a) * 2", NULL, NULL},
        {"'monotone'", "(a: i8) -> i8", "a * 2", "f(a) is 2i8, which is not at most f(b), 0i8 at a = -127i8, b = 0i8",
         NULL},
        {"'antitone'", "(a: i8) -> i8", "~a", NULL, NULL},
        {"'antitone'", "(a: i8) -> i8", "-a", "f(a) is -128i8, which is not at least f(b), ", NULL},
        {"{law = 'bounded', low = -5, high = 7}", "(x: i8, y: i8) -> i8", "min(max(x ^ y, -5), 7)", NULL, NULL},
        {"{law = 'bounded', low = 0, high = 7}", "(x: u8) -> u8", "popcount(x)",
         "f(x) is 8u8, which is not at most high, 7u8 at x = 255u8", NULL},
        {"{law = 'bounded', low = 1, high = 8}", "(x: u8) -> u8", "popcount(x)",
         "f(x) is 0u8, which is not at least low, 1u8 at x = 0u8", NULL},
        {"'zero_product'", U8_2, "a | b", NULL, NULL},
        {"'zero_product'", U8_2, "a * b", "f(a, b) is 0u8 at a = 128u8, b = 2u8", NULL},
    };
    CHECK_EXAMPLES(list);
}

static void truths_are_values_too(void **state) {
    (void)state;
    static const example list[] = {
        {"'commutative'", "(a: bool, b: bool) -> bool", "a && b", NULL, NULL},
        {"'commutative'", "(a: bool, b: bool) -> bool", "a && !b",
         "f(a, b) is true and f(b, a) is false at a = true, b = false", NULL},
        {"{law = 'identity', value = true}", "(a: bool, b: bool) -> bool", "a && b", NULL, NULL},
        {"'monotone'", "(a: bool) -> u8", "a ? 7u8 : 9u8", "f(a) is 9u8, which is not at most f(b), 7u8", NULL},
        {"'monotone'", "(a: u8) -> bool", "a > 7", NULL, NULL},
        {"'zero_product'", "(a: bool, b: bool) -> bool", "a || b", NULL, NULL},
        {"'zero_product'", "(a: bool, b: bool) -> bool", "a != b", "f(a, b) is false at a = true, b = true", NULL},
    };
    CHECK_EXAMPLES(list);
}

/* ---- where laws break ---- */

static void a_law_that_breaks_at_an_edge_is_refused(void **state) {
    (void)state;
    static const example list[] = {
        /* saturation on the way */
        {"'associative'", "(a: i8, b: i8) -> i8", "i8(min(max(i32(a) + i32(b), -128), 127))", "f(f(a, b), c) is ",
         NULL},
        {"'associative'", "(a: i64, b: i64) -> i64",
         "{\n let s = a + b\n return ((a ^ s) & (b ^ s)) < 0 ? (a < 0 ? -9223372036854775808 : 9223372036854775807) : "
         "s\n}",
         "f(f(a, b), c) is ", NULL},
        {"'involution'", "(a: i32) -> i32", "-a", NULL, NULL},
        {"{law = 'bounded', low = 0, high = 2147483647}", "(a: i32) -> i32", "a < 0 ? -a : a",
         "f(a) is -2147483648i32, which is not at least low, 0i32 at a = -2147483648i32", NULL},
        {"'zero_product'", U32_2, "a * b", "f(a, b) is 0u32 at a = ", NULL},
        {"'monotone'", "(a: u64) -> u64", "a + 1", "f(b), 0u64 at a = ", NULL},
        /* at a number that only the body knows */
        {"'involution'", "(a: u32) -> u32", "a == 48271393 ? 0 : a",
         "f(f(a)) is 0u32 and a is 48271393u32 at a = 48271393u32", NULL},
        {"'commutative'", "(a: u64, b: u64) -> u64", "a == 123456789012 ? 1 : a + b", "at a = 123456789012u64", NULL},
        {"'involution'", "(a: u32) -> u32", "u64(a) * 2 == 123456 + 24 || u64(a) == 48271393 ? 0 : a",
         "a is 48271393u32 at a = 48271393u32", NULL},
        {"'involution'", "(a: f32) -> f32", "bitcast<u32>(a) == 0x12345678 ? 0.0 : a", "f(f(a)) is 0.0f32", NULL},
        /* of 16 bits all are tried */
        {"'involution'", "(a: u16) -> u16", "(a * 40503) == 17 ? 0 : a", "f(f(a)) is 0u16", NULL},
        {"'monotone'", "(a: u16) -> u16", "a * 40503 == 17 ? a + 2 : a", "which is not at most", NULL},
    };
    CHECK_EXAMPLES(list);
}

static void floats_are_compared_by_their_bits(void **state) {
    (void)state;
    static const example list[] = {
        {"'commutative'", "(a: f32, b: f32) -> f32", "a + b", NULL, NULL},
        {"'associative'", "(a: f32, b: f32) -> f32", "a + b", "f(f(a, b), c) is ", NULL},
        {"'associative'", "(a: f64, b: f64) -> f64", "min(a, b)", NULL, NULL},
        {"'involution'", "(a: f32) -> f32", "-a", NULL, NULL},
        /* only at -0 */
        {"{law = 'right_identity', value = 0.0}", "(a: f32, b: f32) -> f32", "a + b",
         "f(a, e) is 0.0f32 and a is -0.0f32 at a = -0.0f32, e = 0.0f32", NULL},
        {"{law = 'right_identity', value = '-0.0'}", "(a: f32, b: f32) -> f32", "a + b", NULL, NULL},
        {"'involution'", "(a: f32) -> f32", "a == 0 ? 0.0 : a", "at a = -0.0f32", NULL},
        /* only at NaN */
        {"{law = 'self_inverse', value = 0.0}", "(a: f32, b: f32) -> f32", "a == b ? 0.0 : a - b",
         "f(a, a) is f32.nan and e is 0.0f32 at a = f32.nan, e = 0.0f32", NULL},
        {"'idempotent'", "(a: f64, b: f64) -> f64", "a < b ? a : b < a ? b : a == b ? a : 0.0",
         "f(a, a) is 0.0f64 and a is f64.nan at a = f64.nan", NULL},
        /* NaN is itself */
        {"'idempotent'", "(a: f16, b: f16) -> f16", "max(a, b)", NULL, NULL},
        {"{law = 'absorbing', value = 'f32.nan'}", "(a: f32, b: f32) -> f32", "a * b", NULL, NULL},
        /* zeros of both signs are zero */
        {"'zero_product'", "(a: f32, b: f32) -> f32", "a * b", "f(a, b) is ", NULL},
        {"'zero_product'", "(a: f32, b: f32) -> f32", "a == 0 || b == 0 ? 0.0 : 1.0", NULL, NULL},
        /* the order has no place for NaN, and one for each zero */
        {"'monotone'", "(a: f32) -> f32", "floor(a)", NULL, NULL},
        {"'monotone'", "(a: bf16) -> bf16", "sqrt(a)", "f(a) is bf16.nan, which is not at most f(b)", NULL},
        {"'monotone'", "(a: f16) -> f16", "a == 0 ? -a : a",
         "f(a) is 0.0f16, which is not at most f(b), -0.0f16 at a = -0.0f16, b = 0.0f16", NULL},
        {"'antitone'", "(a: f64) -> f64", "-a", NULL, NULL},
        {"{law = 'bounded', low = -1.0, high = 1.0}", "(x: f32) -> f32", "min(max(x, -1.0), 1.0)", NULL, NULL},
        {"{law = 'bounded', low = -1.0, high = 1.0}", "(x: f32) -> f32", "x > 1 ? 1.0 : x < -1 ? -1.0 : x",
         "f(x) is f32.nan, which is not at least low, -1.0f32 at x = f32.nan", NULL},
        {"{law = 'bounded', low = 0.0, high = 1.0}", "(x: f32) -> f32", "x > 1 ? 1.0 : x >= 0 ? x : 0.0",
         "f(x) is -0.0f32, which is not at least low, 0.0f32 at x = -0.0f32", NULL},
    };
    CHECK_EXAMPLES(list);
}

/* ---- what cannot be checked ---- */

static void a_law_that_cannot_be_checked_is_refused(void **state) {
    (void)state;
    static const example list[] = {
        {"'commutative'", "(a: u8, b: u16) -> u8", "a + u8(b)", "mismatched types: u16 where u8 is expected", NULL},
        {"'involution'", "(a: u8) -> u16", "u16(a)", "mismatched types: u16 where u8 is expected", NULL},
        {"{law = 'inverse_of', op = 'g'}", "(a: u8) -> u8", "a", "it calls `t.g` with 1 value (expected 2)",
         "g(a: u8, b: u8) -> u8 = a + b"},
        {"'involution'", "(a: u32) -> u32", "{\n if a == 77 { trap 5 }\n return a\n}",
         "it executes `trap 5` at a = 77u32", NULL},
        {"'involution'", "(a: u32) -> u32", "{\n var k = a\n while k == 99 { k = k | 1 }\n return a\n}",
         "it executes more than 4096 statements at a = 99u32", NULL},
    };
    CHECK_EXAMPLES(list);
}

static void a_law_names_an_op_that_is_there(void **state) {
    (void)state;
    char text[2048];
    vyre_error error = VYRE_ERROR_INIT;
    put_example(text, sizeof text, &(example){"{law = 'inverse_of', op = 'u.g'}", "(a: u8) -> u8", "a", NULL, NULL});
    assert_int_equal(check_text(text, NULL, &error), VYRE_NOT_FOUND);
    assert_string_equal(error.message, "the law `inverse_of` of `t.f` names `u.g`, which no dialect provides");
    /* and one of another dialect will do */
    put_example(text, sizeof text,
                &(example){"{law = 'inverse_of', op = 'bits.gray_decode_u32'}", "(a: u32) -> u32",
                           "{\n let r : u32 = bits.gray_encode_u32(a)\n return r\n}", NULL, NULL});
    assert_int_equal(check_text(text, NULL, &error), VYRE_OK);
}

static void attributes_have_their_defaults(void **state) {
    (void)state;
    static const char form[] = "dialect = 't'\nversion = '1.0.0'\n[[op]]\nid = 'f'\nlaws = ['involution']\n"
                               "signature = 'fn f(a: u8) -> u8'\nattributes = [{ name = 'by', type = 'u8'%s }]\n"
                               "body = 'fn f(a: u8, by: u8) -> u8 { return a ^ by | by & 1 }'\n";
    char text[1024];
    vyre_error error = VYRE_ERROR_INIT;
    snprintf(text, sizeof text, form, ", default = 2");
    assert_int_equal(check_text(text, NULL, &error), VYRE_OK);
    snprintf(text, sizeof text, form, ", default = 3");
    assert_int_equal(check_text(text, NULL, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "f(f(a)) is 1u8 and a is 0u8 at a = 0u8"));
    snprintf(text, sizeof text, form, "");
    assert_int_equal(check_text(text, NULL, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "attributes have their defaults, and `by` of `t.f` has none"));
}

/* ---- how much is tried ---- */

static void eight_bits_are_tried_exhaustively(void **state) {
    (void)state;
    static const struct {
        const char *law, *signature, *body;
        uint64_t tuples;
    } list[] = {
        {"'involution'", "(a: bool) -> bool", "!a", 2},
        {"'involution'", "(a: i8) -> i8", "~a", 1 << 8},
        {"'commutative'", "(a: i8, b: i8) -> i8", "a * b", 1 << 16},
        {"'associative'", "(a: u8, b: u8) -> u8", "a * b", 1 << 24},
        {"'involution'", "(a: bf16) -> bf16", "-a", 1 << 16},
    };
    vy_law_cache_clear();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char text[1024];
        vyre_error error = VYRE_ERROR_INIT;
        vy_law_stats count = {0};
        put_example(text, sizeof text, &(example){list[i].law, list[i].signature, list[i].body, NULL, NULL});
        assert_int_equal(check_text(text, &count, &error), VYRE_OK);
        assert_int_equal(count.tuples, list[i].tuples);
    }
}

/* ---- what is cached ---- */

static vy_law_stats count_of(const char *law, const char *body, const char *others) {
    char text[2048];
    vyre_error error = VYRE_ERROR_INIT;
    vy_law_stats count = {0};
    put_example(text, sizeof text, &(example){law, "(a: u32) -> u32", body, NULL, others});
    if (check_text(text, &count, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return count;
}

static void only_what_changed_is_checked_again(void **state) {
    (void)state;
    static const char involution[] = "'involution'", inverse[] = "{law = 'inverse_of', op = 'g'}",
                      call[] = "{\n let r : u32 = t.g(a)\n return r\n}";
    vy_law_cache_clear();
    assert_int_equal(count_of(involution, "~a", NULL).checked, 1);
    assert_int_equal(count_of(involution, "~a", NULL).checked, 0);
    assert_int_equal(count_of(involution, "~a", NULL).cached, 1);
    assert_int_equal(count_of(involution, "~a", "g(a: u32) -> u32 = a").checked, 0); /* not what f is made of */
    assert_int_equal(count_of(involution, "a ^ 1", NULL).checked, 1);                /* another body */
    assert_int_equal(count_of("'antitone'", "~a", NULL).checked, 1);                 /* another law */
    /* what a law names, and what a body calls */
    assert_int_equal(count_of(inverse, "a - 1", "g(a: u32) -> u32 = a + 1").checked, 1);
    assert_int_equal(count_of(inverse, "a - 1", "g(a: u32) -> u32 = a + 1").checked, 0);
    assert_int_equal(count_of(inverse, "a - 1", "g(a: u32) -> u32 = 1 + a").checked, 1);
    assert_int_equal(count_of(involution, call, "g(a: u32) -> u32 = ~a").checked, 1);
    assert_int_equal(count_of(involution, call, "g(a: u32) -> u32 = ~a").checked, 0);
    assert_int_equal(count_of(involution, call, "g(a: u32) -> u32 = a ^ 2").checked, 1);
}

static void a_false_law_is_not_remembered(void **state) {
    (void)state;
    const example e = {"'involution'", "(a: u32) -> u32", "a + 1", NULL, NULL};
    char text[1024];
    put_example(text, sizeof text, &e);
    for (int i = 0; i < 3; i++) {
        vyre_error error;
        vy_law_stats count = {0};
        assert_int_equal(check_text(text, &count, &error), VYRE_INVALID_PROGRAM);
        assert_int_equal(count.checked, 1);
    }
}

/* ---- the public question ---- */

static void laws_of_registered_ops_can_be_asked_for(void **state) {
    (void)state;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_error error;
    assert_int_equal(vyre_dialects_check_laws(guard, vyre_op_find_id("int.add_saturate_i8", 19), &error), VYRE_OK);
    assert_int_equal(vyre_dialects_check_laws(guard, 0, &error), VYRE_NOT_FOUND);
    vyre_dialects_release(&guard);
}

/* Ops that come from a builder are not asked when they are installed. */
static vyre_status ask_built(vyre_op_definition *op, vyre_error *error) {
    const vyre_law law = {VYRE_LAW_BOUNDED, 2,
                          (vyre_law_argument[]){{"0", {VYRE_TYPE_U32, 0}}, {"9", {VYRE_TYPE_U32, 9}}}};
    const vyre_dialect dialect = {.struct_size = sizeof dialect, .name = "built", .owner = "test"};
    const vyre_op_operand output = {.name = "", .type = VYRE_TYPE_U32};
    vyre_dialect_builder *builder;
    vyre_dialects_guard guard;
    op->struct_size = sizeof *op;
    op->id = "built.f";
    op->outputs = &output;
    op->input_count = op->output_count = op->law_count = 1;
    op->laws = &law;
    const vyre_op_definition *list[] = {op};
    assert_int_equal(vyre_dialect_builder_new(&builder, error), VYRE_OK);
    assert_int_equal(vyre_dialect_builder_add(builder, &dialect, list, 1, error), VYRE_OK);
    assert_int_equal(vy_law_candidate_open(builder, &guard, error), VYRE_OK);
    vyre_status status = vyre_dialects_check_laws(guard, vyre_op_find_id("built.f", 7), error);
    vy_law_candidate_close(&guard);
    vyre_dialect_builder_free(builder);
    return status;
}

static void a_law_speaks_of_values_and_of_a_body(void **state) {
    (void)state;
    static const vyre_op_operand value = {.name = "x", .type = VYRE_TYPE_U32};
    static const vyre_op_operand memory = {.name = "x", .kind = VYRE_OPERAND_WORKGROUP, .type = VYRE_TYPE_U32};
    vyre_error error;
    vyre_op_definition op = {.category = VYRE_CATEGORY_EXTENSION, .inputs = &value};
    assert_int_equal(ask_built(&op, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "`built.f` has no body"));
    op = (vyre_op_definition){.inputs = &value, .source = "fn f(x: u32) -> u32 { return x & 7 }"};
    assert_int_equal(ask_built(&op, &error), VYRE_OK);
    op = (vyre_op_definition){.inputs = &value, .source = "fn f(x: u32) -> u32 { return x & 15 }"};
    assert_int_equal(ask_built(&op, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "which is not at most high, 9u32 at x = "));
    op = (vyre_op_definition){.inputs = &memory, .source = "fn f(x: workgroup [u32]) -> u32 { return x[0] }"};
    assert_int_equal(ask_built(&op, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "laws apply to values, and `built.f` has a memory operand"));
    op = (vyre_op_definition){.inputs = &value,
                              .source = "fn f(x: u32) -> u32 {\n  let s = workgroup_reduce_add(x)\n  return s & 7\n}"};
    assert_int_equal(ask_built(&op, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "cannot be checked"));
}

/* ---- memory ---- */

static vyre_status check_and_forget(void *user) {
    vyre_error error;
    vy_law_cache_clear();
    vyre_status status = check_first(user, NULL, &error);
    return status == VYRE_INVALID_PROGRAM && strstr(error.message, " does not hold for ") ? VYRE_OK : status;
}

static void the_kth_allocation_fails(void **state) {
    (void)state;
    static const example list[] = {
        {"{law = 'inverse_of', op = 'g'}", "(a: i32) -> i32", "a - 1", NULL, "g(a: i32) -> i32 = a + 1"},
        {"'commutative'", U8_2, "a - b", "", NULL},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char text[1024];
        candidate c;
        put_example(text, sizeof text, &list[i]);
        assert_int_equal(open_text(text, &c, NULL), VYRE_OK);
        assert_true(VY_FAULT_LOOP_LENIENT(check_and_forget, &c) > 10); /* findings nobody asked for need no memory */
        close_text(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_law_is_told_from_a_false_one),
        cmocka_unit_test(truths_are_values_too),
        cmocka_unit_test(a_law_that_breaks_at_an_edge_is_refused),
        cmocka_unit_test(floats_are_compared_by_their_bits),
        cmocka_unit_test(a_law_that_cannot_be_checked_is_refused),
        cmocka_unit_test(a_law_names_an_op_that_is_there),
        cmocka_unit_test(attributes_have_their_defaults),
        cmocka_unit_test(eight_bits_are_tried_exhaustively),
        cmocka_unit_test(only_what_changed_is_checked_again),
        cmocka_unit_test(a_false_law_is_not_remembered),
        cmocka_unit_test(laws_of_registered_ops_can_be_asked_for),
        cmocka_unit_test(a_law_speaks_of_values_and_of_a_body),
        cmocka_unit_test(the_kth_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
