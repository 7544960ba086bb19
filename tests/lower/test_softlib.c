/* The softlib: every function that the build has embedded is valid and calls functions that exist on the same target,
 * the version used depends on the target, and a phase that replaces nothing returns its program. */
#include "support/fault.h"
#include "support/test.h"

#include "lower/legalizer.h"
#include "vyre/wire.h"

static const vy_softlib_files *const phases[] = {&vy_softlib_narrow, &vy_softlib_numerics, &vy_softlib_int64};
enum { PHASES = sizeof phases / sizeof *phases };

/* Every set of exact operations that a condition can distinguish: all but one or two, and one or two. */
static uint64_t target_at(unsigned i) {
    uint64_t pair = UINT64_C(1) << (i / 2) % VYRE_NUMERIC_COUNT | UINT64_C(1) << (i / 2) / VYRE_NUMERIC_COUNT;
    return i % 2 ? pair : VY_NUMERIC_ALL & ~pair;
}
enum { TARGETS = 2 * VYRE_NUMERIC_COUNT * VYRE_NUMERIC_COUNT };

/* Decodes a function and what it calls; returns how many functions that is. */
static uint32_t decode_with_callees(vy_softlib *library, const vy_softlib_function *function) {
    vy_softlib_unit unit;
    vyre_error error = {0};
    uint32_t count = 1;
    if (vy_softlib_decode(library, function, &unit, &error) != VYRE_OK)
        fail_msg("%s: %s", function->name, error.message);
    assert_int_equal(unit.program->functions.count, 1);
    for (uint32_t i = 0; i < unit.program->stmts.count; i++) {
        const vy_stmt *s = &unit.program->stmts.items[i];
        if (s->kind != VY_STMT_CALL)
            continue;
        const char *name = vy_symbol_name(unit.program, s->name);
        const vy_softlib_function *callee = vy_softlib_callee(library, name);
        if (!callee)
            fail_msg("%s calls `%s`, which a target with 0x%llx does not have", function->name, name,
                     (unsigned long long)library->exact);
        count += decode_with_callees(library, callee);
    }
    return count;
}

/* The functions of all ops that a phase replaces for a target. */
static uint32_t decode_replacements(const vy_softlib_files *files, uint64_t exact) {
    vy_softlib library;
    uint32_t count = 0;
    vy_softlib_open(&library, *files, exact);
    for (unsigned op = 0; op < VYRE_OP_COUNT; op++)
        for (unsigned operand = 0; operand < VYRE_TYPE_COUNT; operand++)
            for (unsigned result = 0; result < VYRE_TYPE_COUNT; result++) {
                const vy_softlib_function *f =
                    vy_softlib_replacement(&library, (vyre_op)op, (vyre_type)result, (vyre_type)operand);
                count += f ? decode_with_callees(&library, f) : 0;
            }
    vy_softlib_close(&library);
    return count;
}

static void functions_call_functions_of_the_same_target(void **state) {
    (void)state;
    uint32_t count = 0;
    for (int phase = 0; phase < PHASES; phase++) {
        for (unsigned i = 0; i < TARGETS; i++)
            decode_replacements(phases[phase], target_at(i));
        count += decode_replacements(phases[phase], 0);
        decode_replacements(phases[phase], VY_NUMERIC_ALL);
    }
    assert_true(count > 300);
}

/* The decoder that trusts nothing accepts them too, with their digests. */
static void embedded_functions_are_valid_programs(void **state) {
    (void)state;
    static const char *const names[] = {"add_f32", "soft_div_f64", "fma_bf16", "divide", "rotl_i16", "div_i64"};
    for (int phase = 0; phase < PHASES; phase++) {
        vy_softlib library;
        vy_softlib_open(&library, *phases[phase], 0);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const vy_softlib_function *f = vy_softlib_find(&library, names[i]);
            vyre_program *program = NULL;
            vyre_error error = {0};
            if (f && vyre_wire_decode(f->wire, f->wire_size, NULL, &program, &error) != VYRE_OK)
                fail_msg("%s: %s", f->name, error.message);
            vyre_program_release(program);
        }
        vy_softlib_close(&library);
    }
}

static const vy_softlib_function *found(const vy_softlib_files *files, const char *name, uint64_t exact) {
    vy_softlib library;
    vy_softlib_open(&library, *files, exact);
    const vy_softlib_function *f = vy_softlib_find(&library, name);
    vy_softlib_close(&library);
    return f;
}

static void a_function_is_used_on_the_targets_of_its_condition(void **state) {
    (void)state;
    const uint64_t all = VY_NUMERIC_ALL, add = VY_NUMERIC(F32_ADD), subnormal = VY_NUMERIC(F32_SUBNORMAL);
    const vy_softlib_function *soft = found(&vy_softlib_numerics, "add_f32", all & ~add);
    const vy_softlib_function *guarded = found(&vy_softlib_numerics, "add_f32", all & ~subnormal);
    assert_non_null(soft);
    assert_non_null(guarded);
    assert_ptr_not_equal(soft, guarded);
    assert_ptr_equal(found(&vy_softlib_numerics, "add_f32", all & ~add & ~subnormal), soft);
    assert_null(found(&vy_softlib_numerics, "add_f32", all));
    assert_ptr_not_equal(found(&vy_softlib_narrow, "round_to_f16", all), found(&vy_softlib_narrow, "round_to_f16", 0));
    /* without 64-bit integers, their division is left to the phase that splits them */
    assert_null(found(&vy_softlib_numerics, "div_i64", 0));
    assert_non_null(found(&vy_softlib_numerics, "div_i64", VY_NUMERIC(INT64)));
    assert_non_null(found(&vy_softlib_int64, "div_i64", 0));
}

static void names_are_found_whole(void **state) {
    (void)state;
    vy_softlib library;
    vy_softlib_open(&library, vy_softlib_narrow, 0);
    assert_null(vy_softlib_find(&library, "clamp_u"));
    assert_null(vy_softlib_find(&library, "clamp_u88"));
    assert_null(vy_softlib_find(&library, ""));
    assert_ptr_equal(vy_softlib_replacement(&library, VYRE_OP_ADD, VYRE_TYPE_U8, VYRE_TYPE_U8),
                     vy_softlib_find(&library, "add_u8"));
    assert_null(vy_softlib_replacement(&library, VYRE_OP_ADD, VYRE_TYPE_U32, VYRE_TYPE_U32));
    assert_null(vy_softlib_replacement(&library, VYRE_OP_ADD, VYRE_TYPE_U32, VYRE_TYPE_U32)); /* remembered */
    assert_null(vy_softlib_callee(&library, "softlib.nothing.add_u8"));
    assert_null(vy_softlib_callee(&library, "softlib.narrow.nothing"));
    vy_softlib_close(&library);
}

static void a_function_is_decoded_once(void **state) {
    (void)state;
    vy_softlib library;
    vy_softlib_unit first, second;
    vy_softlib_open(&library, vy_softlib_narrow, 0);
    const vy_softlib_function *clamp = vy_softlib_find(&library, "clamp_u8");
    assert_int_equal(vy_softlib_decode(&library, clamp, &first, NULL), VYRE_OK);
    assert_int_equal(vy_softlib_decode(&library, clamp, &second, NULL), VYRE_OK);
    assert_ptr_equal(first.program, second.program);
    assert_int_equal(library.units.count, 1);
    vy_softlib_close(&library);
}

static vyre_status decode_some(void *user) {
    static const char *const names[] = {"clamp_u8", "add_f16", "fma_bf16", "rotl_i16"};
    vy_softlib library;
    vy_softlib_unit unit;
    vyre_status status = VYRE_OK;
    (void)user;
    vy_softlib_open(&library, vy_softlib_narrow, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names && status == VYRE_OK; i++)
        status = vy_softlib_decode(&library, vy_softlib_find(&library, names[i]), &unit, NULL);
    vy_softlib_close(&library);
    return status;
}

/* Runs the phase that replaces inexact ops on a target with all that is in `exact`; whether it returns its program. */
static int stays_itself(const char *body, uint64_t exact) {
    char text[512];
    vyre_program *made;
    vyre_error error;
    vy_softlib library;
    snprintf(
        text, sizeof text,
        "program p {\n buffer x : u32 read\n buffer y : f32 read\n buffer out : u32 write count 64\n workgroup 64\n"
        " grid 1\n let i = global_id.x\n let a = x[i]\n%s\n}\n",
        body);
    vyre_program *program = vy_test_parse(text);
    vy_softlib_open(&library, vy_softlib_numerics, exact);
    assert_int_equal(vy_legalizer_run(program, &vy_legalize_numerics, &library, exact, &made, &error), VYRE_OK);
    int is_same = made == program;
    vy_softlib_close(&library);
    vyre_program_release(made);
    vyre_program_release(program);
    return is_same;
}

static void a_program_of_which_nothing_is_replaced_stays_itself(void **state) {
    (void)state;
    const uint64_t all = VY_NUMERIC_ALL;
    assert_true(stays_itself("out[i] = a / 3 + (a << 5)", all));
    assert_true(stays_itself("if a == 0 { out[i] = a & 7 }\n barrier", all));
    assert_true(stays_itself("out[i] = a + 1 == 0 ? a : 4294967295", all));
    assert_true(stays_itself("out[i] = 0 - a", all));
    /* Ops that are not exact, that are folded, and that may result in a NaN. */
    assert_false(stays_itself("out[i] = a / (a + 1)", all & ~VY_NUMERIC(INT_DIV)));
    assert_false(stays_itself("out[i] = a + 0", all));
    assert_false(stays_itself("out[i] = a < 0 ? 1 : 2", all));
    assert_false(stays_itself("out[i] = 4294967295 & a", all));
    assert_false(stays_itself("out[i] = true ? a : i", all));
    assert_false(stays_itself("out[i] = bitcast<u32>(y[i])", all));
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    vy_fault_install();
    VY_FAULT_LOOP(decode_some, NULL);
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_call_functions_of_the_same_target),
        cmocka_unit_test(embedded_functions_are_valid_programs),
        cmocka_unit_test(a_function_is_used_on_the_targets_of_its_condition),
        cmocka_unit_test(names_are_found_whole),
        cmocka_unit_test(a_function_is_decoded_once),
        cmocka_unit_test(a_program_of_which_nothing_is_replaced_stays_itself),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
