/* Overloads of dialect ops: which op a call by its plain name, or without the type in its id, refers to. */
#include "support/fault.h"
#include "text/text_support.h"

#include "base/string.h"
#include "vyre/dialect.h"

/* A dialect `math` with several types, and other ops whose types are used in other ways. */
static const struct {
    const char *id;
    vyre_op_signature signature;
} ops[] = {
#define EXP(T, X)                                                                                                      \
    {                                                                                                                  \
        "math.exp_" T, {                                                                                               \
            1, 1, {X}, {                                                                                               \
                X                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
    EXP("f16", VYRE_TYPE_F16),
    EXP("f32", VYRE_TYPE_F32),
    EXP("f64", VYRE_TYPE_F64),
    {"math.only_f32", {1, 1, {VYRE_TYPE_F32}, {VYRE_TYPE_F32}}},
    {"math.pow_f32", {2, 1, {VYRE_TYPE_F32, VYRE_TYPE_F32}, {VYRE_TYPE_F32}}},
    {"math.pow_f64", {2, 1, {VYRE_TYPE_F64, VYRE_TYPE_F64}, {VYRE_TYPE_F64}}},
    {"math.powi_f32", {2, 1, {VYRE_TYPE_F32, VYRE_TYPE_I32}, {VYRE_TYPE_F32}}},
    {"math.powi_f64", {2, 1, {VYRE_TYPE_F64, VYRE_TYPE_I32}, {VYRE_TYPE_F64}}},
    {"math.sincos_f32", {1, 2, {VYRE_TYPE_F32}, {VYRE_TYPE_F32, VYRE_TYPE_F32}}},
    {"math.sincos_f64", {1, 2, {VYRE_TYPE_F64}, {VYRE_TYPE_F64, VYRE_TYPE_F64}}},
    {"math.choose_f32", {3, 1, {VYRE_TYPE_BOOL, VYRE_TYPE_F32, VYRE_TYPE_F32}, {VYRE_TYPE_F32}}},
    {"math.choose_u32", {3, 1, {VYRE_TYPE_BOOL, VYRE_TYPE_U32, VYRE_TYPE_U32}, {VYRE_TYPE_U32}}},
    {"math.step_f32", {2, 1, {VYRE_TYPE_F32, VYRE_TYPE_F32}, {VYRE_TYPE_F32}}},
    {"math.plain", {1, 1, {VYRE_TYPE_F32}, {VYRE_TYPE_F32}}},
    {"math.sqrt_f32", {1, 1, {VYRE_TYPE_F32}, {VYRE_TYPE_F32}}},
    {"math.poll_f32", {1, 1, {VYRE_TYPE_F32}, {VYRE_TYPE_F32}}},
    {"demo.mask_u32", {1, 1, {VYRE_TYPE_U32}, {VYRE_TYPE_U32}}},
    {"demo.mask_u64", {1, 1, {VYRE_TYPE_U32}, {VYRE_TYPE_U64}}},
    {"demo.order_f32", {1, 1, {VYRE_TYPE_F32}, {VYRE_TYPE_U32}}},
    {"demo.order_f64", {1, 1, {VYRE_TYPE_F64}, {VYRE_TYPE_U64}}},
    {"demo.both", {1, 1, {VYRE_TYPE_U32}, {VYRE_TYPE_U32}}},
    {"demo.both_u32", {1, 1, {VYRE_TYPE_U32}, {VYRE_TYPE_U32}}},
    {"demo.sum_u32", {2, 1, {VYRE_TYPE_COUNT, VYRE_TYPE_U32}, {VYRE_TYPE_U32}}},
    {"demo.sum_f32", {2, 1, {VYRE_TYPE_COUNT, VYRE_TYPE_U32}, {VYRE_TYPE_F32}}},
    {"demo.sort_u32", {2, 0, {VYRE_TYPE_COUNT, VYRE_TYPE_U32}, {0}}},
    {"demo.sort_f32", {2, 0, {VYRE_TYPE_COUNT, VYRE_TYPE_U32}, {0}}},
    {"demo.hash_u32", {2, 1, {VYRE_TYPE_COUNT, VYRE_TYPE_U32}, {VYRE_TYPE_U32}}},
    {"demo.hash_u64", {2, 1, {VYRE_TYPE_COUNT, VYRE_TYPE_U32}, {VYRE_TYPE_U64}}},
    {"other-parts::exp_f32", {1, 1, {VYRE_TYPE_F32}, {VYRE_TYPE_F32}}},
    {"other-parts::exp_f64", {1, 1, {VYRE_TYPE_F64}, {VYRE_TYPE_F64}}},
};

static unsigned asked;

static int lookup(void *user, const char *id, size_t length, vyre_op_signature *out) {
    (void)user;
    asked++;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strlen(ops[i].id) == length && memcmp(ops[i].id, id, length) == 0) {
            *out = ops[i].signature;
            return 1;
        }
    return 0;
}

#define FUNCTIONS "fn own(x: f32) -> f32 { return x + 1.0 }\n"
#define HEAD                                                                                                           \
    "program p {\n param n : u32\n buffer h : f16 read_write\n buffer x : f32 read_write\n"                            \
    " buffer d : f64 read_write\n buffer u : u32 read_write\n buffer w : u64 read_write\n workgroup 1\n"               \
    " array t : f32 [8] workgroup\n array b : u8 [8] private\n"

static vyre_status parse(const char *text, vyre_diagnostics *found, vyre_module **out, vyre_error *error) {
    vyre_parse_options options = {.file = "p", .op_signature = lookup};
    return vyre_text_parse(text, strlen(text), &options, found, out, error);
}

/* Parses the text and prints its first program, without its head. */
static void print_text(const char *text, vyre_bytes *out) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_module *module = NULL;
    vyre_error error;
    vyre_bytes again = VYRE_BYTES_INIT;
    if (parse(text, found, &module, &error) != VYRE_OK)
        fail_msg("%s\n%s: %s", text, error.message, error.fix);
    vyre_program *program = vyre_module_program(module, 0);
    assert_int_equal(vyre_text_print(program, out, &error), VYRE_OK);
    assert_int_equal(vyre_bytes_resize(out, out->size + 1, NULL), VYRE_OK);
    ((char *)out->data)[out->size - 1] = 0;
    vyre_module *read = NULL; /* the canonical form means the same */
    assert_int_equal(parse(out->data, NULL, &read, &error), VYRE_OK);
    assert_true(vyre_program_equal(program, vyre_module_program(read, 0)));
    vyre_module_free(read);
    vyre_bytes_free(&again);
    vyre_diagnostics_free(found);
    vyre_module_free(module);
}

/* The canonical form of a program with that body contains each of the texts, which are separated by `|`, in order. */
static void gives_in(const char *before, const char *body, const char *texts) {
    char text[2048], wanted[512];
    vyre_bytes printed = VYRE_BYTES_INIT;
    snprintf(text, sizeof text, "%s%s%s\n}\n", before, HEAD, body);
    print_text(text, &printed);
    const char *at = printed.data;
    for (const char *next = texts; *next; next += *next == '|') {
        size_t length = strcspn(next, "|");
        snprintf(wanted, sizeof wanted, "%.*s", (int)length, next);
        const char *found = strstr(at, wanted);
        if (!found)
            fail_msg("`%s` is not in\n%s", wanted, (const char *)printed.data);
        at = found + length;
        next += length;
    }
    vyre_bytes_free(&printed);
}

static void gives(const char *body, const char *texts) {
    gives_in("", body, texts);
}

/* The only error of a program with that body. */
static void fails_in(const char *before, const char *body, const char *code, const char *message, const char *fix) {
    char text[2048];
    vyre_module *module = NULL;
    vyre_error error;
    vyre_diagnostics *found = vyre_diagnostics_new();
    snprintf(text, sizeof text, "%s%s%s\n}\n", before, HEAD, body);
    assert_int_equal(parse(text, found, &module, &error), VYRE_INVALID_PROGRAM);
    const vyre_diagnostic *first = NULL, *finding;
    for (size_t i = 0; (finding = vyre_diagnostics_get(found, i)); i++)
        if (finding->severity == VYRE_SEVERITY_ERROR) {
            if (first)
                fail_msg("%s\n%s, %s", text, first->message, finding->message);
            first = finding;
        }
    assert_non_null(first);
    assert_string_equal(first->code, code);
    assert_string_equal(first->message, message);
    assert_string_equal(first->fix, fix);
    vyre_diagnostics_free(found);
}

static void fails(const char *body, const char *code, const char *message, const char *fix) {
    fails_in("", body, code, message, fix);
}

static void the_type_of_the_argument_selects_the_op(void **state) {
    (void)state;
    gives("h[0] = exp(h[1])", "math.exp_f16(h[1])");
    gives("x[0] = exp(x[1])", "math.exp_f32(x[1])");
    gives("d[0] = math.exp(d[1])", "math.exp_f64(d[1])");
    gives("let a = exp(f64(n))", "let a : f64 = math.exp_f64(f64(n))");
    gives("var a = exp(x[0])\n a = exp(a)", "math.exp_f32(x[0])|math.exp_f32(a)");
    gives("x[0] = \"other-parts::exp\"(x[1])", "\"other-parts::exp_f32\"(x[1])");
    gives("let (s, c) = sincos(d[0])", "let (s: f64, c: f64) = math.sincos_f64(d[0])");
    gives("demo.sort(t, 8)", "demo.sort_f32(t, 8u32)");
    gives("let a = demo.sum(u, n)", "demo.sum_u32(u, n)");
    gives("let a = demo.order(d[0])", "demo.order_f64(d[0])");
}

static void an_exact_id_comes_first(void **state) {
    (void)state;
    gives("u[0] = demo.both(n)", "demo.both(n)");
    gives("x[0] = math.exp_f32(x[1])", "math.exp_f32(x[1])");
    gives("x[0] = math.plain(x[1])", "math.plain(x[1])");
}

static void literals_adapt_to_typed_arguments(void **state) {
    (void)state;
    gives("let a = pow(2, d[0])", "math.pow_f64(2.0f64, d[0])");
    gives("let a = pow(x[0], 0.5)", "math.pow_f32(x[0], 0.5f32)");
    gives("let a = powi(d[0], 3)", "math.powi_f64(d[0], 3i32)");
    gives("let a = choose(n > 1, 2, n)", "math.choose_u32(n > 1, 2u32, n)");
    gives("let a = pow(exp(1), d[0])", "math.exp_f64(1.0f64)|math.pow_f64(");
    gives("let a = exp(2 * x[0])", "math.exp_f32(2.0 * x[0])");
}

static void the_context_selects_for_literals(void **state) {
    (void)state;
    gives("let a : f64 = exp(1)", "math.exp_f64(1.0f64)");
    gives("var a : f16 = exp(1.0)", "math.exp_f16(1.0f16)");
    gives("let (s : f64, c : f64) = sincos(1)", "math.sincos_f64(1.0f64)");
    gives("d[0] = exp(1.0)", "math.exp_f64(1.0f64)");
    gives("x[0] = exp(1.0) * x[1]", "math.exp_f32(1.0f32)");
    gives("let a = exp(1.0) * d[1]", "math.exp_f64(1.0f64)");
    gives("let a = (2 * exp(1.0) + 1) / d[1]", "math.exp_f64(1.0f64)");
    gives("if exp(1.0) < d[1] { x[0] = 0.0 }", "math.exp_f64(1.0f64)");
    gives_in(FUNCTIONS, "x[0] = own(exp(1.0))", "math.exp_f32(1.0f32)");
    gives("x[0] = f32(exp(1.0f64))", "math.exp_f64(1.0f64)");
    gives("let a = f64(exp(1.0) + x[0])", "math.exp_f32(1.0f32)");
    gives("w[0] = demo.mask(5)", "demo.mask_u64(5u32)");
    gives("let a : u32 = demo.mask(n)", "demo.mask_u32(n)");
    gives("let a : u64 = demo.hash(b, 8)", "demo.hash_u64(b, 8u32)");
    gives("x[0] = pow(2, exp(1.5))", "math.exp_f32(1.5f32)|math.pow_f32(2.0f32, ");
}

/* Otherwise the program would break when the dialect gets a second overload. */
static void a_single_overload_is_not_selected_by_literals(void **state) {
    (void)state;
    fails("let a = only(1)", "T030", "literal 1 without a type", "write `1.0f32`");
    fails("let a = only(exp(1.0))", "T030", "literal 1.0 without a type", "write `1.0f32`");
    gives("let a : f32 = only(1)", "math.only_f32(1.0f32)");
}

static void a_function_of_the_file_shadows_an_op(void **state) {
    (void)state;
    gives_in("fn exp(x: f32) -> f32 { return x }\n", "x[0] = exp(x[1])", "exp(x[1])");
    gives_in("fn f(x: f32) -> f32 { return exp(x) }\nfn exp(x: f32) -> f32 { return x }\n", "x[0] = f(x[1])",
             "exp(x)|fn exp|f(x[1])");
    gives_in("fn exp(x: f32) -> f32 { return x }\n", "x[0] = math.exp(x[1])", "math.exp_f32(x[1])");
    gives_in("fn math.exp_f32(x: f32) -> f32 { return x }\n", "x[0] = math.exp_f32(x[1])", "fn math.exp_f32");
    gives_in("fn math.exp(x: f32) -> f32 { return x }\n", "x[0] = math.exp(x[1])", "fn math.exp|math.exp(x[1])");
    fails_in("fn math.exp_f32(x: f32) -> f32 { return x }\n", "x[0] = exp(x[1])", "T026",
             "`exp` does not refer to the function `math.exp_f32` of the file", "write `math.exp_f32(…)`");
}

static void other_names_keep_their_meaning(void **state) {
    (void)state;
    gives("x[0] = sqrt(x[1])", "x[0] = sqrt(x[1])");
    gives("let exp = 2.0f32\n x[0] = exp(exp)", "math.exp_f32(exp)");
    gives("for i in 0u32 .. n step 2 { x[i] = step(0.5, x[i]) }", "step 2|math.step_f32(0.5f32, x[i])");
    gives("let step = 0.5f32\n x[0] = step(step, x[1])", "math.step_f32(step, x[1])");
    gives_in("const exp : f64 = 2.0\n", "let a = exp(exp)", "math.exp_f64(2.0f64)");
    fails("x[0] = exp", "T025", "unknown name `exp`", "declare it first");
}

static unsigned count_of(const char *text, const char *part) {
    unsigned count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

static void effects_of_arguments_are_hoisted_once_and_in_order(void **state) {
    (void)state;
    vyre_bytes printed = VYRE_BYTES_INIT;
    print_text(HEAD "x[0] = pow(exp(1) + f32(atomic_add(u[0], 1)), pow(x[1], f32(atomic_max(u[1], n)))) * exp(2)\n}\n",
               &printed);
    const char *text = printed.data, *add = strstr(text, "atomic_add"), *max = strstr(text, "atomic_max");
    assert_true(add && max && add < max);
    assert_int_equal(count_of(text, "atomic_add"), 1);
    assert_int_equal(count_of(text, "atomic_max"), 1);
    assert_int_equal(count_of(text, "math.exp_f32"), 2);
    assert_int_equal(count_of(text, "math.pow_f32"), 2);
    vyre_bytes_free(&printed);
}

/* Each function is lowered for the library and for each program. */
static void a_function_of_two_programs_calls_the_same_op(void **state) {
    (void)state;
    static const char text[] = "fn f(x: f64) -> f64 { return exp(2) * x + exp(x) }\n"
                               "program p { buffer d : f64 read_write\n workgroup 1\n d[0] = f(d[1]) }\n"
                               "program q { buffer d : f64 read_write\n workgroup 2\n d[0] = exp(f(1.0)) }\n";
    vyre_module *module = NULL;
    vyre_error error;
    assert_int_equal(parse(text, NULL, &module, &error), VYRE_OK);
    for (size_t i = 0; i < 2; i++) {
        vyre_bytes printed = VYRE_BYTES_INIT;
        assert_int_equal(vyre_text_print(vyre_module_program(module, i), &printed, &error), VYRE_OK);
        assert_int_equal(vyre_bytes_resize(&printed, printed.size + 1, NULL), VYRE_OK);
        ((char *)printed.data)[printed.size - 1] = 0;
        assert_int_equal(count_of(printed.data, "math.exp_f64"), 2 + i);
        vyre_bytes_free(&printed);
    }
    vyre_module_free(module);
}

static void errors_name_the_overloads(void **state) {
    (void)state;
    fails("x[0] = exp(n)", "T034", "`exp` does not support u32 (it exists for f16, f32 and f64)",
          "convert it: `f32(n)`");
    fails("let a = math.exp(n)", "T034", "`math.exp` does not support u32 (it exists for f16, f32 and f64)",
          "convert it: `f32(n)`");
    fails("let a = pow(x[0], d[0])", "T033", "mismatched types in `pow`: f64 and f32 (it exists for f32 and f64)",
          "convert it: `f64(…)`");
    fails("let a = pow(x[0], n)", "T034", "`pow` does not support u32 (it exists for f32 and f64)",
          "convert it: `f32(n)`");
    fails("let a = powi(x[0], n)", "T035", "expected i32 for an argument of `powi`, found u32", "convert it: `i32(n)`");
    fails("let a = powi(2.0, i32(n))", "T030", "literal 2.0 without a type", "write `2.0f32`");
    fails("let a = exp(x[0], x[1])", "T037", "`exp` requires 1 argument (2 given)", "pass 1 argument");
    fails("let a = exp(1)", "T030", "literal 1 without a type", "write `1.0f32`");
    fails("let a = demo.mask(n)", "T040",
          "the arguments of `demo.mask` do not determine the type of its result (it exists for u32 and u64)",
          "write `demo.mask_u32(…)`, or declare the type of the result");
    fails("let a = demo.sum(n, n)", "T038", "expected a buffer or array as argument 1 of `demo.sum`",
          "pass the name of a buffer or array");
    fails("let a = exp(x)", "T028", "`x` is a buffer or array, not a value", "write `x[i]`");
    fails("d[0] = exp(x[0])", "T035", "expected f64 for an element of `d`, found f32", "convert it: `f64(…)`");
    fails("let a = exp(b[0])", "T034", "`exp` does not support u8 (it exists for f16, f32 and f64)",
          "convert it: `f32(…)`");
    fails("x[0] = sincos(x[1])", "T041", "`sincos` returns 2 values, but exactly one is required here",
          "bind its results with `let (a, b) = f(x)`, or call it as a statement");
    fails("let a = exp(1e300) * x[0]", "T032", "1e300 is above the largest finite f32",
          "write `f32.inf` for infinity, or use a wider type");
    fails_in("const a : f32 = exp(1.0)\n", "", "T047", "call, atomic or collective in a constant expression",
             "use literals and consts only");
}

static void names_of_other_languages_have_a_fix(void **state) {
    (void)state;
    fails("x[0] = expf(x[1])", "T026", "unknown function `expf`", "write `exp(…)`");
    fails("x[0] = __expf(x[1])", "T026", "unknown function `__expf`", "write `exp(…)`");
    fails("x[0] = native_exp(x[1])", "T026", "unknown function `native_exp`", "write `exp(…)`");
    fails("x[0] = exp_f32(x[1])", "T026", "unknown function `exp_f32`", "write `exp(…)`");
    fails("x[0] = powr(x[1], x[2])", "T026", "unknown function `powr`", "write `pow(…)`");
    fails("x[0] = sqrtf(x[1])", "T026", "unknown function `sqrtf`", "write `sqrt(…)`");
    fails("x[0] = cosf(x[1])", "T026", "unknown function `cosf`",
          "define it with `fn` in this file; `vyre ops` lists the ops of the language");
}

static int knows_nothing(void *user, const char *id, size_t length, vyre_op_signature *out) {
    (void)user, (void)id, (void)length, (void)out;
    return 0;
}

static void without_the_dialect_the_name_is_unknown(void **state) {
    (void)state;
    static const char text[] = "program p { buffer x : f32 read_write\n workgroup 1\n x[0] = exp(x[1]) }\n";
    vyre_parse_options options = {.op_signature = knows_nothing};
    vyre_module *module;
    vyre_error error;
    assert_int_equal(vyre_text_parse(text, strlen(text), &options, NULL, &module, &error), VYRE_INVALID_PROGRAM);
    assert_string_equal(error.message, "T026 unknown function `exp`");
    assert_string_equal(error.fix, "define it with `fn` in this file; `vyre ops` lists the ops of the language");
}

/* Programs that call no op do not ask for any, since the first question builds the standard library. */
static void a_program_without_ops_asks_nothing(void **state) {
    (void)state;
    vyre_bytes printed = VYRE_BYTES_INIT;
    asked = 0;
    print_text(FUNCTIONS HEAD "x[0] = own(sqrt(x[1])) * fma(x[0], x[1], 1.0)\n}\n", &printed);
    assert_int_equal(asked, 0);
    vyre_bytes_free(&printed);
}

static void a_long_expression_is_predicted_in_linear_time(void **state) {
    (void)state;
    enum { DEPTH = 300, WIDTH = 100 };
    vy_string text = {0};
    vy_string_add(&text, HEAD "let a : f32 = ");
    for (unsigned i = 0; i < DEPTH; i++)
        vy_string_add(&text, "(");
    vy_string_add(&text, "exp(1)");
    for (unsigned i = 0; i < DEPTH; i++) {
        vy_string_add(&text, " * (1");
        for (unsigned k = 0; k < WIDTH; k++)
            vy_string_add(&text, "+1");
        vy_string_add(&text, "))");
    }
    vy_string_add(&text, "\n}\n");
    assert_false(text.failed);
    vyre_bytes printed = VYRE_BYTES_INIT;
    print_text(text.text, &printed);
    assert_int_equal(count_of(printed.data, "math.exp_f32"), 1);
    vyre_bytes_free(&printed);
    vy_string_free(&text);
}

static vyre_status parse_any(void *user) {
    vyre_module *module = NULL;
    vyre_error error;
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_status status = parse(user, found, &module, &error);
    assert_true((status == VYRE_OK) == (module != NULL));
    vyre_diagnostics_free(found);
    vyre_module_free(module);
    return status == VYRE_INVALID_PROGRAM ? VYRE_OK : status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    VY_FAULT_LOOP_LENIENT(parse_any, (void *)(HEAD "x[0] = pow(exp(1), x[0]) + f32(demo.order(d[0]))\n"
                                                   "let (s, c) = sincos(x[1])\n demo.sort(t, 2)\n}\n"));
    VY_FAULT_LOOP_LENIENT(parse_any, (void *)(HEAD "x[0] = expf(x[0]) + exp(n)\n let a = demo.mask(n)\n}\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_type_of_the_argument_selects_the_op),
        cmocka_unit_test(an_exact_id_comes_first),
        cmocka_unit_test(literals_adapt_to_typed_arguments),
        cmocka_unit_test(the_context_selects_for_literals),
        cmocka_unit_test(a_single_overload_is_not_selected_by_literals),
        cmocka_unit_test(a_function_of_the_file_shadows_an_op),
        cmocka_unit_test(other_names_keep_their_meaning),
        cmocka_unit_test(effects_of_arguments_are_hoisted_once_and_in_order),
        cmocka_unit_test(a_function_of_two_programs_calls_the_same_op),
        cmocka_unit_test(errors_name_the_overloads),
        cmocka_unit_test(names_of_other_languages_have_a_fix),
        cmocka_unit_test(without_the_dialect_the_name_is_unknown),
        cmocka_unit_test(a_program_without_ops_asks_nothing),
        cmocka_unit_test(a_long_expression_is_predicted_in_linear_time),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
