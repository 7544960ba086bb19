/* Modules and names: what callers rely on beside the language itself. */
#include "ir/identifiers.h"
#include "ir/model.h"
#include "ir/text/lexer.h"
#include "text/text_support.h"

static const char text[] = "const N = 4u32\n"
                           "fn f(a: u32) -> u32 { return a + N }\n"
                           "fn g(a: u32) -> u32 { return a }\n"
                           "program one {\n  buffer y : u32 write\n  workgroup N\n\n  y[local_index] = f(1)\n}\n"
                           "program two { workgroup 2 }\n";

static void programs_are_found_by_name_and_index(void **state) {
    (void)state;
    vyre_module *module = text_parse(text, strlen(text));
    assert_int_equal(vyre_module_program_count(module), 2);
    assert_string_equal(vyre_program_name(vyre_module_program(module, 0)), "one");
    assert_ptr_equal(vyre_module_find(module, "two"), vyre_module_program(module, 1));
    assert_null(vyre_module_find(module, "three"));
    assert_null(vyre_module_program(module, 2));
    vyre_module_free(module);
    vyre_module_free(NULL);
}

static void a_program_outlives_its_module(void **state) {
    (void)state;
    vyre_module *module = text_parse(text, strlen(text));
    vyre_program *program = vyre_program_retain(vyre_module_find(module, "one"));
    vyre_module_free(module);
    text_check_round_trip(program);
    vyre_program_release(program);
}

static void a_program_has_the_functions_it_reaches_and_the_library_all(void **state) {
    (void)state;
    vyre_module *module = text_parse(text, strlen(text));
    assert_int_equal(vyre_program_function_count(vyre_module_program(module, 0)), 1);
    assert_string_equal(vyre_program_function_name(vyre_module_program(module, 0), 0), "f");
    assert_int_equal(vyre_program_function_count(vyre_module_program(module, 1)), 0);
    assert_int_equal(vyre_program_get_kind(vyre_module_library(module)), VYRE_PROGRAM_LIBRARY);
    assert_int_equal(vyre_program_function_count(vyre_module_library(module)), 2);
    vyre_module_free(module);
    module = text_parse("program p { workgroup 1 }", 25);
    assert_null(vyre_module_library(module));
    vyre_module_free(module);
}

static void a_function_follows_the_numerics_of_its_callers(void **state) {
    (void)state;
    static const char relaxed[] = "fn f(b: buffer [f32] read_write) { atomic_add(b[0], 1.0) }\n"
                                  "program p {\n numerics relaxed\n buffer y : f32 read_write\n\n f(y)\n}\n";
    vyre_module *module = text_parse(relaxed, strlen(relaxed));
    assert_int_equal(vyre_program_numerics(vyre_module_program(module, 0)), VYRE_NUMERICS_RELAXED);
    assert_int_equal(vyre_program_numerics(vyre_module_library(module)), VYRE_NUMERICS_STRICT);
    text_check_round_trip(vyre_module_program(module, 0));
    vyre_module_free(module);
}

static void a_define_replaces_a_const_and_the_last_one_wins(void **state) {
    (void)state;
    const vyre_define defines[] = {{"N", "8"}, {"N", "16u32"}};
    vyre_parse_options options = {.defines = defines, .define_count = 2};
    vyre_module *module;
    uint32_t size[3];
    assert_int_equal(vyre_text_parse(text, strlen(text), &options, NULL, &module, NULL), VYRE_OK);
    vyre_program_workgroup(vyre_module_program(module, 0), size);
    assert_int_equal(size[0], 16);
    vyre_module_free(module);
}

static void an_error_sums_up_without_a_list(void **state) {
    (void)state;
    const char *wrong = "program p {\n  let a = b\n  let c = d\n  let e = f\n}\n";
    vyre_parse_options options = {.file = "wrong.vyre"};
    vyre_module *module;
    vyre_error error;
    assert_int_equal(vyre_text_parse(wrong, strlen(wrong), &options, NULL, &module, &error), VYRE_INVALID_PROGRAM);
    assert_null(module);
    assert_string_equal(error.message, "T025 unknown name `b` (and 2 more errors)");
    assert_string_equal(error.fix, "declare it first");
    assert_string_equal(error.where, "wrong.vyre:2:11");
    assert_string_equal(error.subject, "T025");
    assert_string_equal(error.first, "wrong.vyre");
    assert_string_equal(error.second, "2:11");
    assert_int_equal(vyre_text_parse(wrong, strlen(wrong), NULL, NULL, &module, NULL), VYRE_INVALID_PROGRAM);
}

/* The list may hold what an earlier file had; the error is about this one. */
static void an_error_is_about_its_own_text(void **state) {
    (void)state;
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_module *module;
    vyre_error error;
    assert_int_equal(vyre_text_parse("first", 5, NULL, found, &module, &error), VYRE_INVALID_PROGRAM);
    assert_int_equal(vyre_text_parse("program p { let a = later }", 27, NULL, found, &module, &error),
                     VYRE_INVALID_PROGRAM);
    assert_string_equal(error.message, "T025 unknown name `later`");
    assert_int_equal(vyre_diagnostics_count(found), 2);
    assert_int_equal(vyre_text_parse("program p { workgroup 1 }", 25, NULL, found, &module, &error), VYRE_OK);
    vyre_module_free(module);
    vyre_diagnostics_free(found);
}

static void statements_and_expressions_know_their_place(void **state) {
    (void)state;
    vyre_module *module = text_parse(text, strlen(text));
    const vyre_program *program = vyre_module_program(module, 0);
    const vy_function *entry = vy_program_entry(program);
    vy_position call = vy_stmt_position(program, entry->first_stmt),
                store = vy_stmt_position(program, entry->first_stmt + 1);
    assert_int_equal(call.line, 8);
    assert_int_equal(call.column, 20);
    assert_int_equal(call.length, 1);
    assert_int_equal(store.line, 8);
    assert_int_equal(store.column, 3);
    assert_int_equal(vy_expr_position(program, program->stmts.items[entry->first_stmt + 1].a).column, 5);
    assert_int_equal(entry->position.line, 4);
    assert_non_null(program->source);
    vyre_module_free(module);
}

static void positions_and_comments_are_no_part_of_a_program(void **state) {
    (void)state;
    const char *a = "program p { workgroup 1; let x = 1u32 }",
               *b = "// hello\nprogram p {\n  workgroup 1\n\n  let x : u32 = 0x1 }";
    vyre_module *first = text_parse(a, strlen(a)), *second = text_parse(b, strlen(b));
    assert_true(vyre_program_equal(vyre_module_program(first, 0), vyre_module_program(second, 0)));
    vyre_module_free(first);
    vyre_module_free(second);
}

/* ---- names ---- */

static void names_follow_their_rules(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int identifier, keyword, name, function, op_id;
    } rows[] = {
        {"a", 1, 0, 1, 1, 0},
        {"_", 1, 0, 1, 1, 0},
        {"A9_z", 1, 0, 1, 1, 0},
        {"9a", 0, 0, 0, 0, 0},
        {"", 0, 0, 0, 0, 0},
        {"a b", 0, 0, 0, 0, 0},
        {"é", 0, 0, 0, 0, 0},
        {"while", 1, 1, 0, 0, 0},
        {"u32", 1, 1, 0, 0, 0},
        {"global_id", 1, 1, 0, 0, 0},
        {"atomic_add", 1, 1, 0, 0, 0},
        {"bitcast", 1, 1, 0, 0, 0},
        {"workgroup_reduce_add", 1, 1, 0, 0, 0},
        {"workgroup_reduce_sub", 1, 0, 1, 1, 0},
        {"workgroup_ballot", 1, 0, 1, 1, 0},
        {"subgroup_shuffle_xor", 1, 1, 0, 0, 0},
        {"subgroup_reduce", 1, 0, 1, 1, 0},
        {"min", 1, 0, 1, 0, 0},
        {"len", 1, 0, 1, 0, 0},
        {"add", 1, 0, 1, 1, 0},
        {"count", 1, 0, 1, 1, 0},
        {"math.exp", 0, 0, 0, 1, 1},
        {"a.b.c", 0, 0, 0, 1, 1},
        {"a.", 0, 0, 0, 0, 0},
        {".a", 0, 0, 0, 0, 0},
        {"a..b", 0, 0, 0, 0, 0},
        {"f32.inf", 0, 0, 0, 0, 0},
        {"math.while", 0, 0, 0, 1, 1},
        {"min.x", 0, 0, 0, 1, 1},
        {"let.x", 0, 0, 0, 0, 0},
        {"my-dialect::op-name", 0, 0, 0, 1, 1},
        {"my-dialect.op", 0, 0, 0, 1, 1},
        {"a::b.c", 0, 0, 0, 1, 1},
        {"a-b", 0, 0, 0, 0, 0},
        {"a:b", 0, 0, 0, 0, 0},
        {"a:::b", 0, 0, 0, 0, 0},
        {"a::", 0, 0, 0, 0, 0},
        {"::a", 0, 0, 0, 0, 0},
        {"a::-b", 0, 0, 0, 0, 0},
        {"a::9", 0, 0, 0, 0, 0},
        {"let::x", 0, 0, 0, 0, 0},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].text);
        int given = vy_text_is_identifier(rows[i].text, length) << 4 | vy_text_is_keyword(rows[i].text, length) << 3 |
                    vy_text_is_name(rows[i].text, length) << 2 | vy_text_is_function_name(rows[i].text, length) << 1 |
                    vy_text_is_op_id(rows[i].text, length);
        int expected =
            rows[i].identifier << 4 | rows[i].keyword << 3 | rows[i].name << 2 | rows[i].function << 1 | rows[i].op_id;
        if (given != expected)
            fail_msg("`%s`: %x, not %x", rows[i].text, given, expected);
    }
    char name[130];
    memset(name, 'a', sizeof name);
    assert_true(vy_text_is_identifier(name, 128));
    assert_false(vy_text_is_identifier(name, 129));
    name[1] = '.';
    assert_true(vy_text_is_op_id(name, 128));
    assert_false(vy_text_is_op_id(name, 129));
}

/* What the validator accepts as a name, the parser reads as one: else a program could be printed that does not come
 * back. */
static void every_word_of_the_language_is_found(void **state) {
    (void)state;
    char word[VY_KEYWORD_CAPACITY];
    unsigned words = 0;
    for (unsigned cls = VY_IDENTIFIER_OP; cls < VY_IDENTIFIER_CLASS_COUNT; cls++)
        for (unsigned i = 0; vy_keyword_at(cls, i, word); i++, words++) {
            assert_int_equal(vy_identifier_find(word, strlen(word)).cls, cls);
            assert_int_equal(vy_identifier_is_reserved(word, strlen(word)), cls >= VY_IDENTIFIER_KEYWORD);
        }
    assert_true(words > 150);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_found_by_name_and_index),
        cmocka_unit_test(a_program_outlives_its_module),
        cmocka_unit_test(a_program_has_the_functions_it_reaches_and_the_library_all),
        cmocka_unit_test(a_function_follows_the_numerics_of_its_callers),
        cmocka_unit_test(a_define_replaces_a_const_and_the_last_one_wins),
        cmocka_unit_test(an_error_sums_up_without_a_list),
        cmocka_unit_test(an_error_is_about_its_own_text),
        cmocka_unit_test(statements_and_expressions_know_their_place),
        cmocka_unit_test(positions_and_comments_are_no_part_of_a_program),
        cmocka_unit_test(names_follow_their_rules),
        cmocka_unit_test(every_word_of_the_language_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
