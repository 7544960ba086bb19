/* The languages of code for c and ptx: what is in them is accepted, and everything that could have an effect is refused
 * when an op is registered. */
#include "dialect/fixture.h"

#include "support/fault.h"

static const vyre_op_operand inputs[] = {{"x", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ},
                                         {"n", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ},
                                         {"p", VYRE_OPERAND_VALUE, VYRE_TYPE_BOOL, VYRE_ACCESS_READ}};
static const vyre_op_operand word[] = {{"", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
static const vyre_op_operand two[] = {{"low", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ},
                                      {"high", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ}};

static vyre_op_definition op_with(const vyre_lowering *lowering) {
    return (vyre_op_definition){.struct_size = sizeof(vyre_op_definition),
                                .category = VYRE_CATEGORY_INTRINSIC,
                                .id = "coded.op",
                                .inputs = inputs,
                                .input_count = 3,
                                .outputs = word,
                                .output_count = 1,
                                .lowerings = lowering,
                                .lowering_count = 1,
                                .source = "fn op(x: u32, n: u32, p: bool) -> u32 { return x }"};
}

static vyre_status install(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    const vyre_dialect dialect = {.struct_size = sizeof dialect, .name = "coded", .owner = "test"};
    const vyre_op_definition *ops[] = {user};
    return vyre_dialect_builder_replace(builder, &dialect, ops, 1, error);
}

static vyre_status add(vyre_op_definition op, vyre_error *error) {
    return vyre_dialects_update(install, &op, error);
}

static vyre_status add_code(const char *target, const char *code, vyre_error *error) {
    const vyre_lowering lowering = {.target = target, .data = code, .size = strlen(code)};
    return add(op_with(&lowering), error);
}

static void expressions_of_c_are_accepted(void **state) {
    (void)state;
    static const char *const codes[] = {
        "{x}",
        "1u",
        "0x1.8p+3",
        "({x} << ({n} & 31u)) | ({x} >> (-{n} & 31u))",
        "(uint32_t)((uint64_t){x} * {n} >> 32)",
        "{p} ? {x} : ~{n}",
        "!{p} && {x} != {n} ? {x} - -{n} : + {x}",
        "(uint32_t)fmaf((float){x}, (float){n}, 1.0f)",
        "(uint32_t)__builtin_popcount({x}) + (uint32_t)isnan(NAN)",
        "\n  {x}\n  % 7u\n",
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        if (add_code("c", codes[i], &error) != VYRE_OK)
            fail_msg("%s: %s", codes[i], error.message);
    }
}

static void instructions_of_ptx_are_accepted(void **state) {
    (void)state;
    static const char *const codes[] = {
        "mov.b32 {result}, {x};",
        "shf.l.wrap.b32 {result}, {x}, {x}, {n};",
        (".reg .b32 t, u;\n.reg .pred q;\nadd.u32 t, {x}, -1;\nsetp.lt.u32 q, t, {n};\n"
         "mov.b32 {result}, 0x7f;\n@!q mul.lo.u32 {result}, t, {x};"),
        ".reg .b64 wide; mov.b64 wide, {{x}, {n}}; mov.b64 {{result}, {result}}, wide;",
        "selp.b32 {result}, {x}, {n}, {p};",
        ".reg .pred a, b; setp.ne.b32 a|b, {x}, 0; selp.b32 {result}, 1, 2, b;",
        "@{p} mov.b32 {result}, 0f3F800000;",
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        if (add_code("ptx", codes[i], &error) != VYRE_OK)
            fail_msg("%s: %s", codes[i], error.message);
    }
}

static void refuse_all(const char *target, const char *const *codes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        if (add_code(target, codes[i], &error) != VYRE_INVALID_ARGUMENT)
            fail_msg("accepted for %s: %s", target, codes[i]);
        assert_non_null(strstr(error.message, "`coded.op`"));
        assert_int_not_equal(error.fix[0], 0);
    }
}

/* Memory, names, statements, assignments, and characters that C reads otherwise than one by one. */
static void everything_else_is_refused_for_c(void **state) {
    (void)state;
    static const char *const codes[] = {
        " ",
        "THIS IS NOT C",
        "x",
        "{y}",
        "{result}",
        "{x} +",
        "{x} {n}",
        "({x}",
        "{x})",
        "{x};",
        "{x}; abort()",
        "system({x})",
        "__builtin_trap()",
        "__builtin_printf(1)",
        "sqrt",
        "sqrt + 1",
        "*{x}",
        "&{x}",
        "{x} + *(uint32_t *)0",
        "(uint32_t *){x}",
        "(uint32_t){x} + uint32_t",
        "(uint32_t[1]){{x}}[0]",
        "(float (*)(void)){x}",
        "{x} = 1",
        "{x} += 1",
        "{x} <<= 1",
        "++{x}",
        "{x}++ + 1",
        "{x} - --{n}",
        "{x} +++ {n}",
        "\"text\"",
        "'a'",
        "{x} // comment",
        "{x} /* comment */",
        "{x} <: {n}",
        "{x} <% {n}",
        "{x} %: {n}",
        "{x} \?\?( {n}",
        "{x} \\\n + 1",
        "# define",
        "sizeof({x})",
        "{x} -> y",
        "{x} . y",
        "{x}[0]",
        "({ {x}; })",
        "asm(\"nop\")",
        "{x} , {n}",
        "INT32_MAX",
    };
    refuse_all("c", codes, sizeof codes / sizeof *codes);
}

/* Memory, special registers, control flow, and inputs as destination. */
static void everything_else_is_refused_for_ptx(void **state) {
    (void)state;
    static const char *const codes[] = {
        " ",
        "THIS IS NOT PTX",
        "mov.b32 {result}, {x}",
        "mov.b32 {result}, {y};",
        "mov.b32 {result}, t;",
        "mov.b32 {result}, %tid.x;",
        "mov.b32 {result}, %r1;",
        "mov.u32 %r1, {x}; mov.b32 {result}, {x};",
        "mov.b32 {x}, {n}; mov.b32 {result}, {x};",
        "mov.b64 {{x}, {result}}, {x};",
        "@{p} add.u32 {n}, {x}, 1; mov.b32 {result}, {x};",
        "add.u32 {n}, {x}, 1;",
        "ld.global.b32 {result}, [{x}];",
        "st.global.b32 [{x}], {n}; mov.b32 {result}, {x};",
        "atom.global.add.u32 {result}, [{x}], 1;",
        "bar.sync 0; mov.b32 {result}, {x};",
        "bra $L0; mov.b32 {result}, {x};",
        "L: mov.b32 {result}, {x};",
        "exit; mov.b32 {result}, {x};",
        "ret; mov.b32 {result}, {x};",
        "trap; mov.b32 {result}, {x};",
        "call (r), f, (x); mov.b32 {result}, {x};",
        "shfl.sync.idx.b32 {result}, {x}, 0, 31, 0xffffffff;",
        "vote.sync.any.pred {p}, {p}, 1; mov.b32 {result}, {x};",
        "nanosleep.u32 1; mov.b32 {result}, {x};",
        ".reg .b32 %t; mov.b32 {result}, {x};",
        ".reg .b128 t; mov.b32 {result}, {x};",
        ".shared .b32 t; mov.b32 {result}, {x};",
        ".reg .b32 t",
        "} ret; { mov.b32 {result}, {x};",
        "mov.b32 {result}, {x}; // comment",
        "mov.b32 {result}, {x}; /* comment */",
        "mov.b32 {result}, WARP_SZ;",
        "mov.b32 {result}, - {x};",
        "mov.b32 1, {x};",
    };
    refuse_all("ptx", codes, sizeof codes / sizeof *codes);
}

#define REFUSED(change, status, part)                                                                                  \
    do {                                                                                                               \
        const char code[] = "{x}";                                                                                     \
        vyre_lowering lowering = {.target = "c", .data = code, .size = 3};                                             \
        vyre_op_definition op = op_with(&lowering);                                                                    \
        vyre_error error = VYRE_ERROR_INIT;                                                                            \
        (change);                                                                                                      \
        assert_int_equal(add(op, &error), status);                                                                     \
        if (!strstr(error.message, part))                                                                              \
            fail_msg("%s: no `%s`", error.message, part);                                                              \
    } while (0)

static void ops_that_cannot_have_code_are_refused(void **state) {
    (void)state;
    static const vyre_op_operand narrow[] = {{"x", VYRE_OPERAND_VALUE, VYRE_TYPE_F16, VYRE_ACCESS_READ}};
    static const vyre_op_operand memory[] = {{"x", VYRE_OPERAND_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_READ}};
    static const vyre_attribute attribute[] = {{.name = "k", .type = VYRE_TYPE_U32, .has_default = 1}};
    REFUSED((op.inputs = narrow, op.input_count = 1), VYRE_INVALID_ARGUMENT, "32 or 64 bits");
    REFUSED((op.inputs = memory, op.input_count = 1), VYRE_INVALID_ARGUMENT, "32 or 64 bits");
    REFUSED((op.attributes = attribute, op.attribute_count = 1), VYRE_INVALID_ARGUMENT, "has attributes");
    REFUSED((op.outputs = two, op.output_count = 2), VYRE_INVALID_ARGUMENT, "exactly one output");
    REFUSED((op.output_count = 0), VYRE_LIMIT, "0 outputs");
    REFUSED((lowering.ulp = 1), VYRE_INVALID_ARGUMENT, "for floats only");
    REFUSED((lowering.data = NULL, lowering.function = (void (*)(void))install), VYRE_INVALID_ARGUMENT, "reads text");
    REFUSED((op.source = NULL, op.category = VYRE_CATEGORY_EXTENSION), VYRE_INVALID_ARGUMENT, "no body");
}

static void every_output_of_ptx_is_written(void **state) {
    (void)state;
    static const char half[] = "mov.b32 {low}, {x};", both[] = "mov.b32 {low}, {x}; mov.b32 {high}, {n};";
    vyre_lowering lowering = {.target = "ptx", .data = half, .size = strlen(half)};
    vyre_op_definition op = op_with(&lowering);
    vyre_error error = VYRE_ERROR_INIT;
    op.outputs = two;
    op.output_count = 2;
    op.source = "fn op(x: u32, n: u32, p: bool) -> (low: u32, high: u32) { return x, n }";
    assert_int_equal(add(op, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "`{high}`"));
    lowering.data = both;
    lowering.size = strlen(both);
    assert_int_equal(add(op, &error), VYRE_OK);
}

static void code_is_bounded(void **state) {
    (void)state;
    static char code[(64 << 10) + 2];
    vyre_error error = VYRE_ERROR_INIT;
    memset(code, '(', 200);
    assert_int_equal(add_code("c", code, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "nested too deeply"));
    memset(code, ' ', sizeof code - 1);
    assert_int_equal(add_code("c", code, &error), VYRE_LIMIT);
}

/* Every prefix and every changed byte gets an answer. */
static void any_text_gets_an_answer(void **state) {
    (void)state;
    static const char *const codes[2][2] = {
        {"c", "({x} << ({n} & 31u)) | (uint32_t)fmaf(1.0f, (float){n}, 0x1p-3f)"},
        {"ptx", ".reg .pred q; setp.lt.u32 q, {x}, {n}; @!q mov.b64 {{result}, {result}}, -1;"}};
    for (int k = 0; k < 2; k++) {
        char text[128];
        size_t length = strlen(codes[k][1]);
        for (size_t i = 0; i < length; i++) {
            memcpy(text, codes[k][1], length + 1);
            text[i] = (char)(i * 37 % 127 + 1);
            (void)add_code(codes[k][0], text, NULL);
            text[i] = 0;
            (void)add_code(codes[k][0], text, NULL);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_of_c_are_accepted),
        cmocka_unit_test(instructions_of_ptx_are_accepted),
        cmocka_unit_test(everything_else_is_refused_for_c),
        cmocka_unit_test(everything_else_is_refused_for_ptx),
        cmocka_unit_test(ops_that_cannot_have_code_are_refused),
        cmocka_unit_test(every_output_of_ptx_is_written),
        cmocka_unit_test(code_is_bounded),
        cmocka_unit_test(any_text_gets_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
