/* The texts of legalisation, function by function: what is read when one is called is all that it needs, and no more
 * than asked for. */
#include "support/fault.h"
#include "support/test.h"

#include "lower/legalizer.h"

static const vy_softlib_text *const phases[] = {vy_softlib_narrow_texts, vy_softlib_exact_texts, vy_softlib_bits_texts,
                                                vy_softlib_int64_texts};
enum { PHASES = sizeof phases / sizeof *phases };

/* A program that does everything. */
static const vy_legal_uses everything = {UINT32_MAX, UINT64_MAX};

static void open_library(vy_softlib *library, const vy_softlib_text *texts, uint64_t exact) {
    assert_int_equal(vy_softlib_open(library, texts, everything, exact, NULL), VYRE_OK);
}

static const vy_function *read_function(vy_softlib *library, uint32_t function, const vy_softlib_unit **unit) {
    const vy_function *f = NULL;
    vyre_error error = {0};
    if (vy_softlib_read(library, function, unit, &f, &error) != VYRE_OK)
        fail_msg("%.*s\n%s", (int)library->functions.items[function].length, library->functions.items[function].text,
                 error.message);
    const vy_softlib_function *in_text = &library->functions.items[function];
    const char *name = vy_symbol_name((*unit)->program, f->name);
    assert_int_equal(strlen(name), in_text->name_length);
    assert_memory_equal(name, in_text->text, in_text->name_length);
    return f;
}

/* Reads each function of a library by itself. */
static uint32_t read_alone(const vy_softlib_text *texts, uint64_t exact) {
    vy_softlib library;
    uint32_t count = 0;
    for (uint32_t i = 0; i == 0 || i < count; i++) {
        const vy_softlib_unit *unit;
        open_library(&library, texts, exact);
        count = library.functions.count;
        if (i < count) {
            const vy_function *f = read_function(&library, i, &unit);
            assert_true(f->end_stmt > f->first_stmt);
        }
        vy_softlib_free(&library);
    }
    return count;
}

static void every_function_is_read_with_what_it_calls(void **state) {
    (void)state;
    uint32_t count = 0;
    for (int phase = 0; phase < PHASES; phase++) {
        count += read_alone(phases[phase], 0);
        count += read_alone(phases[phase], VY_NUMERIC_ALL);
    }
    assert_true(count > 300);
}

/* Where several are asked for one by one, the last are read with all others; each stays what it is. */
static void functions_stay_what_they_are_when_more_are_read(void **state) {
    (void)state;
    vy_softlib library;
    const vy_softlib_unit *unit;
    open_library(&library, vy_softlib_narrow_texts, 0);
    uint32_t first = read_function(&library, 0, &unit)->end_stmt;
    for (uint32_t i = 0; i < library.functions.count; i++)
        read_function(&library, i, &unit);
    assert_true(library.units.count <= 3);
    assert_int_equal(read_function(&library, 0, &unit)->end_stmt, first);
    vy_softlib_free(&library);
}

static void what_is_not_asked_for_is_not_read(void **state) {
    (void)state;
    vy_softlib library;
    const vy_softlib_unit *unit;
    open_library(&library, vy_softlib_narrow_texts, 0);
    uint32_t clamp = vy_softlib_find(&library, "clamp_u8");
    assert_int_not_equal(clamp, VY_NONE);
    read_function(&library, clamp, &unit);
    assert_int_equal(unit->program->functions.count, 1);
    vy_softlib_free(&library);
}

static void names_are_found_whole(void **state) {
    (void)state;
    vy_softlib library;
    open_library(&library, vy_softlib_narrow_texts, 0);
    assert_int_equal(vy_softlib_find(&library, "clamp_u"), VY_NONE);
    assert_int_equal(vy_softlib_find(&library, "clamp_u88"), VY_NONE);
    assert_int_equal(vy_softlib_find(&library, ""), VY_NONE);
    assert_int_equal(vy_softlib_replacement(&library, VYRE_OP_ADD, VYRE_TYPE_U8, VYRE_TYPE_U8),
                     vy_softlib_find(&library, "add_u8"));
    vy_softlib_free(&library);
}

static vyre_status read_some(void *user) {
    static const char *const names[] = {"clamp_u8", "add_f16", "fma_bf16", "rotl_i16"};
    vy_softlib library;
    const vy_softlib_unit *unit;
    const vy_function *f;
    (void)user;
    vyre_status status = vy_softlib_open(&library, vy_softlib_narrow_texts, everything, 0, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names && status == VYRE_OK; i++)
        status = vy_softlib_read(&library, vy_softlib_find(&library, names[i]), &unit, &f, NULL);
    vy_softlib_free(&library);
    return status;
}

/* Runs the phase that replaces what is not exact, with all that is in `exact`; whether it gives the program itself. */
static int stays_itself(const char *body, uint64_t exact) {
    char text[512];
    vyre_module *module;
    vyre_program *made;
    vyre_error error;
    vy_softlib library;
    snprintf(
        text, sizeof text,
        "program p {\n buffer x : u32 read\n buffer y : f32 read\n buffer out : u32 write count 64\n workgroup 64\n"
        " grid 1\n let i = global_id.x\n let a = x[i]\n%s\n}\n",
        body);
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), VYRE_OK);
    vyre_program *program = vyre_module_program(module, 0);
    vy_legal_uses uses = vy_legal_exact_uses(program);
    assert_int_equal(vy_softlib_open(&library, vy_softlib_exact_texts, uses, exact, &error), VYRE_OK);
    assert_int_equal(vy_legalizer_run(program, &vy_legalize_numerics, &library, exact, &made, &error), VYRE_OK);
    int is_same = made == program;
    vy_softlib_free(&library);
    vyre_program_release(made);
    vyre_module_free(module);
    return is_same;
}

static void a_program_of_which_nothing_is_replaced_stays_itself(void **state) {
    (void)state;
    const uint64_t all = VY_NUMERIC_ALL;
    assert_true(stays_itself("out[i] = a / 3 + (a << 5)", all));
    assert_true(stays_itself("if a == 0 { out[i] = a & 7 }\n barrier", all));
    assert_true(stays_itself("out[i] = a + 1 == 0 ? a : 4294967295", all));
    assert_true(stays_itself("out[i] = 0 - a", all));
    /* What is not exact, what is folded and what may be a NaN. */
    assert_false(stays_itself("out[i] = a / (a + 1)", all & ~VY_NUMERIC(INT_DIV)));
    assert_false(stays_itself("out[i] = a + 0", all));
    assert_false(stays_itself("out[i] = a < 0 ? 1 : 2", all));
    assert_false(stays_itself("out[i] = 4294967295 & a", all));
    assert_false(stays_itself("out[i] = true ? a : i", all));
    assert_false(stays_itself("out[i] = bitcast<u32>(y[i])", all));
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    vy_fault_install();
    VY_FAULT_LOOP_LENIENT(read_some, NULL); /* the list of what is wrong with a text is not needed */
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_read_with_what_it_calls),
        cmocka_unit_test(functions_stay_what_they_are_when_more_are_read),
        cmocka_unit_test(what_is_not_asked_for_is_not_read),
        cmocka_unit_test(names_are_found_whole),
        cmocka_unit_test(a_program_of_which_nothing_is_replaced_stays_itself),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
