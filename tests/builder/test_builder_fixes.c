/* Every fix of the builder's codes works: each function makes a program with the mistake, and after its fix, which is
 * finished. */
#include "support/fixes.h"
#include "support/test.h"
#include "vyre/vyre.h"

/* `fixed`: 0 with the mistake, 1 after the fix. */
static void not_of_this_builder(vyre_builder *b, int fixed) {
    vyre_builder *other = vyre_builder_new("other");
    vyre_let(b, "v", vyre_u32(fixed ? b : other, 1));
    vyre_builder_free(other);
}

static void used_twice(vyre_builder *b, int fixed) {
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_F32, VYRE_ACCESS_READ_WRITE);
    vyre_value v = vyre_load(b, y, vyre_u32(b, 0));
    if (fixed)
        v = vyre_let(b, "v", v);
    vyre_let(b, "w", vyre_mul(b, v, v));
}

static void wrong_type(vyre_builder *b, int fixed) {
    vyre_value n = vyre_param(b, "n", VYRE_TYPE_U32);
    vyre_let(b, "v", vyre_add(b, fixed ? vyre_cast(b, VYRE_TYPE_F32, n) : n, vyre_f32(b, 1)));
}

static void declared_too_late(vyre_builder *b, int fixed) {
    vyre_value late = fixed ? vyre_param(b, "late", VYRE_TYPE_U32) : vyre_no_value();
    vyre_let(b, "v", vyre_u32(b, 1));
    if (!fixed)
        late = vyre_param(b, "late", VYRE_TYPE_U32);
    vyre_let(b, "w", late);
}

static void block_that_stays_open(vyre_builder *b, int fixed) {
    vyre_builder_begin_if(b, vyre_bool(b, 1));
    if (fixed)
        vyre_builder_end(b);
}

static void else_in_a_loop(vyre_builder *b, int fixed) {
    if (fixed)
        vyre_builder_begin_if(b, vyre_bool(b, 1));
    else
        vyre_builder_begin_while(b, vyre_bool(b, 1));
    vyre_builder_else(b);
    vyre_builder_end(b);
}

static void assigned_let(vyre_builder *b, int fixed) {
    vyre_value v = (fixed ? vyre_var : vyre_let)(b, "v", vyre_u32(b, 1));
    vyre_builder_assign(b, v, vyre_u32(b, 2));
}

static void size_of_a_literal(vyre_builder *b, int fixed) {
    vyre_value n = fixed ? vyre_param(b, "n", VYRE_TYPE_U32) : vyre_u32(b, 4);
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U8, VYRE_ACCESS_WRITE);
    vyre_builder_count(b, y, vyre_size_param(b, n));
}

static void axis_three(vyre_builder *b, int fixed) {
    vyre_let(b, "v", vyre_global_id(b, fixed ? 2 : 3));
}

static void one_operand_of_two(vyre_builder *b, int fixed) {
    vyre_value one = vyre_u32(b, 1);
    vyre_let(b, "v", fixed ? vyre_op2(b, VYRE_OP_ADD, one, vyre_u32(b, 2)) : vyre_op1(b, VYRE_OP_ADD, one));
}

static void operand_of_an_atomic_load(vyre_builder *b, int fixed) {
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    vyre_builder_atomic(b, "v", VYRE_ATOMIC_LOAD, y, vyre_u32(b, 0), fixed ? vyre_no_value() : vyre_u32(b, 0),
                        vyre_no_value(), VYRE_ORDER_RELAXED, VYRE_SCOPE_DEVICE);
}

static void function_in_a_function(vyre_builder *b, int fixed) {
    vyre_function f = vyre_builder_begin_function(b, "f");
    if (fixed)
        vyre_builder_end_function(b);
    vyre_function g = vyre_builder_begin_function(b, "g");
    vyre_builder_end_function(b);
    if (!fixed)
        return;
    vyre_builder_call(b, f, NULL, 0, NULL, NULL);
    vyre_builder_call(b, g, NULL, 0, NULL, NULL);
}

static void result_of_a_program(vyre_builder *b, int fixed) {
    vyre_function f = fixed ? vyre_builder_begin_function(b, "f") : (vyre_function){0};
    vyre_builder_result(b, "r", VYRE_TYPE_U32);
    if (!fixed)
        return;
    vyre_value one = vyre_u32(b, 1);
    vyre_builder_return(b, &one, 1);
    vyre_builder_end_function(b);
    vyre_builder_call(b, f, NULL, 0, NULL, NULL);
}

static void deep_expression(vyre_builder *b, int fixed) {
    vyre_value v = vyre_u32(b, 1);
    for (int i = 0; i < 600; i++) {
        v = vyre_not(b, v);
        if (fixed && i == 300)
            v = vyre_let(b, "part", v);
    }
    vyre_let(b, "v", v);
}

static void param_in_a_function(vyre_builder *b, int fixed) {
    vyre_value n = vyre_param(b, "n", VYRE_TYPE_U32);
    vyre_operand argument = vyre_operand_value(n);
    vyre_function f = vyre_builder_begin_function(b, "f");
    vyre_let(b, "m", fixed ? vyre_param(b, "x", VYRE_TYPE_U32) : n);
    vyre_builder_end_function(b);
    vyre_builder_call(b, f, fixed ? &argument : NULL, fixed ? 1 : 0, NULL, NULL);
}

static void approximate_quotient(vyre_builder *b, int fixed) {
    vyre_value x = vyre_f32(b, 1), y = vyre_f32(b, 2);
    vyre_let(b, "q", fixed ? vyre_div(b, x, y) : vyre_op2(b, VYRE_OP_APPROX_DIV, x, y));
}

static const struct {
    const char *code;
    void (*make)(vyre_builder *b, int fixed);
} cases[] = {
    {"B001", not_of_this_builder},
    {"B002", used_twice},
    {"B003", wrong_type},
    {"B004", declared_too_late},
    {"B005", block_that_stays_open},
    {"B005", else_in_a_loop},
    {"B006", assigned_let},
    {"B006", size_of_a_literal},
    {"B007", axis_three},
    {"B008", one_operand_of_two},
    {"B008", operand_of_an_atomic_load},
    {"B009", function_in_a_function},
    {"B009", result_of_a_program},
    {"B010", deep_expression},
    {"B011", param_in_a_function},
    {"B012", approximate_quotient},
};

static void every_fix_works(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int fixed = 0; fixed < 2; fixed++) {
            vyre_builder *b = vyre_builder_new("p");
            vyre_diagnostics *found = vyre_diagnostics_new();
            vyre_program *program = NULL;
            vyre_error error = VYRE_ERROR_INIT;
            cases[i].make(b, fixed);
            vyre_status status = vyre_builder_finish(b, found, &program, &error);
            if (fixed && status != VYRE_OK)
                fail_msg("case %zu: after the fix of %s: %s", i, cases[i].code, error.message);
            if (!fixed && (status != VYRE_INVALID_PROGRAM || vyre_diagnostics_count(found) == 0 ||
                           strcmp(vyre_diagnostics_get(found, 0)->code, cases[i].code) != 0))
                fail_msg("case %zu: not %s: %s", i, cases[i].code, error.message);
            if (!fixed)
                fixes_expect("builder", cases[i].code, vyre_diagnostics_get(found, 0)->fix);
            if (program)
                vyre_program_release(program);
            vyre_diagnostics_free(found);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_fix_works)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
