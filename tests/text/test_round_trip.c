/* Parse after print is the identity: on files, on generated programs, on every kind of literal and on random trees of
 * every op. */
#include "generate/generate.h"
#include "ir/build/builder_internal.h"
#include "ir/irbuilder.h"
#include "ir/op_tables.h"
#include "text/text_support.h"

#include <dirent.h>

/* ---- files ---- */

static void check_folder(const char *folder, int at_least) {
    char path[1024], copy[512];
    int programs = 0;
    snprintf(copy, sizeof copy, "%s", vy_test_path(folder));
    DIR *directory = opendir(copy);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name), size;
        if (length < 6 || strcmp(entry->d_name + length - 5, ".vyre") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", copy, entry->d_name);
        char *text = text_read_file(path, &size);
        vyre_module *module = NULL;
        if (vyre_text_parse(text, size, NULL, NULL, &module, NULL) == VYRE_OK) {
            for (size_t i = 0; i < vyre_module_program_count(module); i++, programs++)
                text_check_round_trip(vyre_module_program(module, i));
            if (vyre_module_library(module))
                text_check_round_trip(vyre_module_library(module));
        }
        vyre_module_free(module);
        free(text);
    }
    closedir(directory);
    assert_true(programs >= at_least);
}

static void the_examples_come_back(void **state) {
    (void)state;
    check_folder("examples", 10);
}

static void the_golden_cases_come_back(void **state) {
    (void)state;
    check_folder("tests/text/cases", 15);
}

static void generated_programs_come_back(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300 * (uint64_t)vy_test_effort(); seed++) {
        vyre_generate_options options = {
            .seed = seed, .statements = 10 + (unsigned)(seed % 90), .depth = 2 + (unsigned)(seed % 6)};
        vyre_case *made = NULL;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        text_check_round_trip(vyre_case_program(made));
        vyre_program *inlined = NULL;
        assert_int_equal(vyre_program_inline(vyre_case_program(made), &inlined, NULL), VYRE_OK);
        text_check_round_trip(inlined);
        vyre_program_release(inlined);
        vyre_case_free(made);
    }
}

/* ---- built programs ---- */

static vy_irb start_program(void) {
    vy_irb draft;
    assert_int_equal(vy_irb_start(&draft, "built", NULL), VYRE_OK);
    vy_irb_begin_entry(&draft);
    return draft;
}

static void finish_program(vy_irb *draft) {
    vyre_program *program = NULL;
    vyre_error error;
    vy_irb_end_function(draft);
    if (vy_irb_finish(draft, NULL, NULL, &program, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    text_check_round_trip(program);
    vyre_program_release(program);
}

static vy_symbol numbered(vy_irb *draft, unsigned number) {
    char name[16];
    return vy_irb_intern(draft, name, (size_t)snprintf(name, sizeof name, "v%u", number));
}

/* Patterns where something changes: zeros, ones, the ends of ranges, infinities, NaN, subnormals, and around them. */
static uint64_t odd_bits(vy_random *random, vyre_type type) {
    uint64_t top = UINT64_C(1) << (vyre_type_bits(type) - 1), nan = vyre_scalar_bits(type, UINT64_MAX).bits,
             inf = nan & nan << 1;
    const uint64_t bits[] = {0,   1,         2,       top,      top - 1, top + 1, UINT64_MAX, nan,
                             inf, inf | top, inf - 1, inf >> 1, 10,      100,     255};
    uint64_t pick = vy_random_below(random, 2 * sizeof bits / sizeof *bits);
    return pick < sizeof bits / sizeof *bits ? bits[pick] : vy_random_next(random);
}

static void literals_of_every_type_keep_their_bits(void **state) {
    (void)state;
    vy_random random = vy_random_start(11);
    for (unsigned type = 0; type < VYRE_TYPE_COUNT; type++) {
        vy_irb draft = start_program();
        for (unsigned i = 0; i < 2000; i++)
            vy_irb_let(&draft, numbered(&draft, i), type, vy_irb_literal(&draft, type, odd_bits(&random, type)));
        finish_program(&draft);
    }
}

static void every_f16_and_bf16_keeps_its_bits(void **state) {
    (void)state;
    const vyre_type types[] = {VYRE_TYPE_F16, VYRE_TYPE_BF16};
    for (unsigned t = 0; t < 2; t++) {
        vy_irb draft = start_program();
        for (unsigned i = 0; i < 65536; i++)
            vy_irb_let(&draft, numbered(&draft, i), types[t], vy_irb_literal(&draft, types[t], i));
        finish_program(&draft);
    }
}

/* A random tree whose root has that type: any op of the table, casts between any types, loads with any index, many
 * literals. */
static uint32_t random_tree(vy_irb *draft, vy_random *random, vyre_type type, unsigned depth) {
    int is_legal = draft->program->level == VYRE_LEVEL_LEGAL;
    if (depth == 0 || vy_random_below(random, 6) == 0) {
        if (type == VYRE_TYPE_U32 && vy_random_below(random, 3) == 0)
            return vy_irb_builtin(draft, vy_random_below(random, 6), (unsigned)vy_random_below(random, 3));
        if (type == VYRE_TYPE_U32 && vy_random_below(random, 5) == 0)
            return is_legal && vy_random_below(random, 2) ? vy_irb_align_offset(draft, 0) : vy_irb_len(draft, 0);
        return vy_irb_literal(draft, type, odd_bits(random, type));
    }
    if (is_legal && type == VYRE_TYPE_F32 && vy_random_below(random, 4) == 0) {
        uint32_t index = random_tree(draft, random, VYRE_TYPE_U32, depth - 1);
        int is_sure = vy_random_below(random, 2) == 0;
        uint32_t condition = is_sure ? VY_NONE : random_tree(draft, random, VYRE_TYPE_BOOL, depth - 1);
        return vy_irb_load_unchecked(draft, 0, index, condition);
    }
    if (type == VYRE_TYPE_F32 && vy_random_below(random, 5) == 0) {
        vyre_type index = VYRE_TYPE_I8 + vy_random_below(random, 8);
        return vy_irb_load(draft, 0, random_tree(draft, random, index, depth - 1));
    }
    for (;;) {
        vyre_op op = is_legal ? (vyre_op)vy_random_below(random, VYRE_OP_COUNT)
                              : (vyre_op)vy_source_ops[vy_random_below(random, VY_SOURCE_OPS)];
        vyre_type operand = vyre_op_get(op)->rule == VYRE_RULE_SAME || op == VYRE_OP_SELECT
                                ? type
                                : vy_random_below(random, VYRE_TYPE_COUNT);
        if (!vyre_op_accepts(op, operand, type))
            continue;
        uint32_t operands[3] = {VY_NONE, VY_NONE, VY_NONE};
        for (unsigned i = 0; i < vyre_op_get(op)->arity; i++)
            operands[i] =
                random_tree(draft, random, op == VYRE_OP_SELECT && i == 0 ? VYRE_TYPE_BOOL : operand, depth - 1);
        return vy_irb_op(draft, op, type, operands[0], operands[1], operands[2]);
    }
}

static void random_trees_come_back(void **state) {
    (void)state;
    vy_random random = vy_random_start(12);
    for (unsigned round = 0; round < 60 * vy_test_effort(); round++) {
        vy_irb draft = start_program();
        vy_irb_memory_param(&draft, vy_irb_intern(&draft, "m", 1), VY_SPACE_BUFFER, VYRE_TYPE_F32,
                            VYRE_ACCESS_READ_WRITE, VY_NONE);
        for (unsigned i = 0; i < 100; i++) {
            vyre_type type = vy_random_below(&random, VYRE_TYPE_COUNT);
            uint32_t tree = random_tree(&draft, &random, type, (unsigned)vy_random_below(&random, 7));
            if (i % 2 == 0) {
                vy_irb_let(&draft, numbered(&draft, i), type, tree);
            } else {
                uint32_t variable = vy_irb_var(&draft, numbered(&draft, i), type, tree);
                vy_irb_assign(&draft, variable, random_tree(&draft, &random, type, 4));
            }
        }
        finish_program(&draft);
    }
}

/* A statement of level legal with random operands. `number`: of its names. */
static void random_legal_statement(vy_irb *draft, vy_random *random, unsigned number) {
    static const uint8_t kinds[] = {VY_STMT_STORE, VY_STMT_LOAD_WIDE, VY_STMT_STORE_WIDE, VY_STMT_RECORD_TRAP,
                                    VY_STMT_POLL};
    vy_stmt stmt = vy_irb_blank_stmt(kinds[vy_random_below(random, sizeof kinds)]);
    uint32_t count = 2u << vy_random_below(random, 2);
    vy_symbol names[4];
    vyre_type types[4];
    vy_arg args[4] = {{0, 0}};
    stmt.memory = stmt.kind == VY_STMT_RECORD_TRAP || stmt.kind == VY_STMT_POLL ? VY_NONE : 0;
    stmt.bounds_check = stmt.kind == VY_STMT_STORE;
    if (stmt.kind != VY_STMT_POLL)
        stmt.a = random_tree(draft, random, VYRE_TYPE_U32, 4);
    if (stmt.kind == VY_STMT_STORE)
        stmt.b = random_tree(draft, random, VYRE_TYPE_F32, 4);
    stmt.result_count = stmt.kind == VY_STMT_LOAD_WIDE ? (uint8_t)count : stmt.kind == VY_STMT_POLL;
    for (unsigned i = 0; i < stmt.result_count; i++) {
        names[i] = numbered(draft, 1000 + 4 * number + i);
        types[i] = stmt.kind == VY_STMT_POLL ? VYRE_TYPE_BOOL : VYRE_TYPE_F32;
    }
    uint32_t given = stmt.kind == VY_STMT_STORE_WIDE ? count : 0;
    for (unsigned i = 0; i < given; i++)
        args[i].index = random_tree(draft, random, VYRE_TYPE_F32, 3);
    vy_irb_stmt(draft, &stmt, args, given, names, types);
}

static void random_programs_of_level_legal_come_back(void **state) {
    (void)state;
    vy_random random = vy_random_start(13);
    for (unsigned round = 0; round < 60 * vy_test_effort(); round++) {
        vy_irb draft = start_program();
        draft.program->level = VYRE_LEVEL_LEGAL;
        vy_irb_memory_param(&draft, vy_irb_intern(&draft, "m", 1), VY_SPACE_BUFFER, VYRE_TYPE_F32,
                            VYRE_ACCESS_READ_WRITE, VY_NONE);
        for (unsigned i = 0; i < 100; i++) {
            vyre_type type = vy_random_below(&random, VYRE_TYPE_COUNT);
            vy_irb_let(&draft, numbered(&draft, i), type,
                       random_tree(&draft, &random, type, (unsigned)vy_random_below(&random, 7)));
            random_legal_statement(&draft, &random, i);
        }
        finish_program(&draft);
    }
}

static void an_expression_at_the_limit_of_depth_comes_back(void **state) {
    (void)state;
    /* Left, right and unary chains, and one in which every operator needs parentheses. */
    for (unsigned kind = 0; kind < 4; kind++) {
        vy_irb draft = start_program();
        vyre_op ops[2] = {kind == 2 ? VYRE_OP_NOT : VYRE_OP_SUB, kind == 3   ? VYRE_OP_MUL
                                                                 : kind == 2 ? VYRE_OP_NEG
                                                                             : VYRE_OP_SUB};
        uint32_t tree = VY_NONE;
        if (kind == 1 || kind == 3)
            for (unsigned i = 0; i < VY_LIMIT_EXPRESSION_DEPTH; i++)
                vy_irb_builtin(&draft, VYRE_BUILTIN_LOCAL_INDEX, 0);
        tree = vy_irb_builtin(&draft, VYRE_BUILTIN_LOCAL_INDEX, 0);
        for (unsigned i = 0; i < VY_LIMIT_EXPRESSION_DEPTH; i++) {
            if (kind == 0)
                tree = vy_irb_op(&draft, ops[0], VYRE_TYPE_U32, tree,
                                 vy_irb_builtin(&draft, VYRE_BUILTIN_LOCAL_INDEX, 0), VY_NONE);
            else if (kind == 2)
                tree = vy_irb_op(&draft, ops[i % 2], VYRE_TYPE_U32, tree, VY_NONE, VY_NONE);
            else
                tree = vy_irb_op(&draft, ops[i % 2], VYRE_TYPE_U32, VY_LIMIT_EXPRESSION_DEPTH - 1 - i, tree, VY_NONE);
        }
        vy_irb_let(&draft, numbered(&draft, 0), VYRE_TYPE_U32, tree);
        finish_program(&draft);
    }
}

static void print_formats_keep_every_byte(void **state) {
    (void)state;
    vy_irb draft = start_program();
    for (unsigned byte = 1; byte < 0x80; byte++) {
        char format[8] = {'a', (char)byte, 'b', 0};
        vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_PRINT);
        if (byte == '{' || byte == '}')
            continue;
        stmt.name = vy_irb_intern(&draft, format, 3);
        vy_irb_stmt(&draft, &stmt, NULL, 0, NULL, NULL);
    }
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_PRINT);
    const char *wide = "käse \xe2\x82\xac \xf0\x9f\x8d\xb0";
    stmt.name = vy_irb_intern(&draft, wide, strlen(wide));
    vy_irb_stmt(&draft, &stmt, NULL, 0, NULL, NULL);
    finish_program(&draft);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_come_back),
        cmocka_unit_test(the_golden_cases_come_back),
        cmocka_unit_test(generated_programs_come_back),
        cmocka_unit_test(literals_of_every_type_keep_their_bits),
        cmocka_unit_test(every_f16_and_bf16_keeps_its_bits),
        cmocka_unit_test(random_trees_come_back),
        cmocka_unit_test(random_programs_of_level_legal_come_back),
        cmocka_unit_test(an_expression_at_the_limit_of_depth_comes_back),
        cmocka_unit_test(print_formats_keep_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
