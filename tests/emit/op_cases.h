/* Programs of one op, for tests of emitters: on interesting operands and on the operands of Berkeley TestFloat's
 * vectors. tests/eval/test_testfloat.c holds the oracle's evaluator against the vectors' results.
 *
 * Whoever includes this defines op_case(name, program, arguments), which takes a case. */
#ifndef VY_TESTS_EMIT_OP_CASES_H
#define VY_TESTS_EMIT_OP_CASES_H

#include "support/test.h"

#include "base/string.h"

#include "generate/interesting_values.h"
#include "ir/op_tables.h"
#include "vyre/dispatch.h"

#include <zlib.h>

static void op_case(const char *name, vyre_program *program, const vyre_arguments *arguments);

enum { CROSS = 48, LINES = 1 << 16 };

static uint64_t columns[3][LINES];

static vyre_program *program_of(vyre_op op, vyre_type result, vyre_type operand) {
    const vyre_op_info *info = vyre_op_get(op);
    const char *type = vyre_type_name(operand), *given = vyre_type_name(result);
    int is_bool = result == VYRE_TYPE_BOOL;
    vy_string text = {0};
    vy_string_add(&text, "program p {\n");
    for (unsigned i = 0; i < (op == VYRE_OP_SELECT ? 2u : info->arity); i++)
        vy_string_format(&text, " buffer x%u : %s read\n", i, type);
    vy_string_format(&text, " buffer out : %s write count len(x0)\n workgroup 64\n grid over out\n",
                     is_bool ? "u8" : given);
    vy_string_format(&text, " let i = global_id.x\n out[i] = %s(", is_bool ? "u8" : "");
    if (op == VYRE_OP_CAST)
        vy_string_format(&text, "%s(x0[i])", given);
    else if (op == VYRE_OP_BITCAST)
        vy_string_format(&text, "bitcast<%s>(x0[i])", given);
    else if (op == VYRE_OP_SELECT)
        vy_string_add(&text, "x0[i] < x1[i] ? x0[i] : x1[i]");
    else if (info->arity == 2 && info->symbol)
        vy_string_format(&text, "x0[i] %s x1[i]", info->symbol);
    else if (info->symbol)
        vy_string_format(&text, "%sx0[i]", info->symbol);
    else
        vy_string_format(&text,
                         info->arity == 1   ? "%s(x0[i])"
                         : info->arity == 2 ? "%s(x0[i], x1[i])"
                                            : "%s(x0[i], x1[i], x2[i])",
                         info->name);
    vy_string_add(&text, ")\n}\n");
    assert_false(text.failed);
    vyre_program *program = vy_test_parse(text.text);
    vy_string_free(&text);
    return program;
}

static void put(uint8_t *bytes, vyre_type type, size_t i, uint64_t value) {
    size_t size = vyre_type_size(type);
    memcpy(bytes + i * size, &value, size);
}

static void add(const char *name, vyre_program *program, vyre_type operand, size_t count) {
    static uint8_t bytes[3][LINES * 8];
    vyre_span inputs[3];
    vyre_arguments arguments = {.inputs = inputs, .input_count = vyre_program_input_count(program)};
    for (size_t k = 0; k < arguments.input_count; k++) {
        for (size_t i = 0; i < count; i++)
            put(bytes[k], operand, i, columns[k][i]);
        inputs[k] = (vyre_span){bytes[k], count * vyre_type_size(operand)};
    }
    op_case(name, program, &arguments);
}

static void fill_cross(vyre_type type) {
    uint64_t values[CROSS];
    vy_rng rng = vy_rng_start(type);
    for (size_t i = 0; i < CROSS; i++)
        values[i] = vy_interesting_value(&rng, type);
    for (size_t i = 0; i < CROSS; i++)
        for (size_t k = 0; k < CROSS; k++) {
            columns[0][i * CROSS + k] = values[i];
            columns[1][i * CROSS + k] = values[k];
            columns[2][i * CROSS + k] = values[(i + k) % CROSS];
        }
}

/* Every op on every type it accepts; the number of programs. */
static unsigned op_cases_run(void) {
    unsigned programs = 0;
    char name[64];
    for (int op = 0; op < VYRE_OP_COUNT; op++)
        for (int operand = VYRE_TYPE_BOOL + 1; operand < VYRE_TYPE_COUNT; operand++)
            for (int result = 0; result < VYRE_TYPE_COUNT; result++) {
                if (vyre_op_get((vyre_op)op)->level != VYRE_LEVEL_SOURCE ||
                    !vyre_op_accepts((vyre_op)op, (vyre_type)operand, (vyre_type)result))
                    continue;
                vyre_program *program = program_of((vyre_op)op, (vyre_type)result, (vyre_type)operand);
                snprintf(name, sizeof name, "%s %s %s", vyre_op_get((vyre_op)op)->name,
                         vyre_type_name((vyre_type)result), vyre_type_name((vyre_type)operand));
                fill_cross((vyre_type)operand);
                add(name, program, (vyre_type)operand, CROSS * CROSS);
                vyre_program_release(program);
                programs++;
            }
    return programs;
}

/* ---- TestFloat ---- */

static size_t read_vectors(const char *name, unsigned arity) {
    char path[4096], text[256];
    snprintf(path, sizeof path, "%s/testfloat/%s.txt.gz", vy_test_vectors(), name);
    gzFile file = gzopen(path, "rb");
    size_t count = 0;
    while (file && count < LINES && gzgets(file, text, sizeof text)) {
        char *at = text;
        for (unsigned i = 0; i < arity; i++)
            columns[i][count] = strtoull(at, &at, 16);
        count++;
    }
    if (file)
        gzclose(file);
    return count;
}

static void vectors(const char *name, vyre_op op, vyre_type result, vyre_type operand, uint64_t *lines) {
    size_t count = read_vectors(name, vyre_op_get(op)->arity);
    if (!count)
        return;
    vyre_program *program = program_of(op, result, operand);
    add(name, program, operand, count);
    vyre_program_release(program);
    *lines += count;
}

/* The number of lines of TestFloat's vectors; 0: they are not here. */
static uint64_t op_cases_run_testfloat(void) {
    static const struct {
        const char *name;
        vyre_op op;
    } ops[] = {{"add", VYRE_OP_ADD},
               {"sub", VYRE_OP_SUB},
               {"mul", VYRE_OP_MUL},
               {"div", VYRE_OP_DIV},
               {"rem", VYRE_OP_REMAINDER},
               {"sqrt", VYRE_OP_SQRT},
               {"mulAdd", VYRE_OP_FMA},
               {"eq", VYRE_OP_EQ},
               {"lt", VYRE_OP_LT},
               {"le", VYRE_OP_LE},
               {"roundToInt_near_even", VYRE_OP_ROUND},
               {"roundToInt_min", VYRE_OP_FLOOR},
               {"roundToInt_max", VYRE_OP_CEIL},
               {"roundToInt_minMag", VYRE_OP_TRUNC}};
    static const struct {
        const char *name;
        vyre_type type;
    } types[] = {{"f16", VYRE_TYPE_F16}, {"f32", VYRE_TYPE_F32},  {"f64", VYRE_TYPE_F64}, {"i32", VYRE_TYPE_I32},
                 {"i64", VYRE_TYPE_I64}, {"ui32", VYRE_TYPE_U32}, {"ui64", VYRE_TYPE_U64}};
    char name[64];
    uint64_t lines = 0;
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            vyre_type type = types[t].type;
            snprintf(name, sizeof name, "%s_%s", types[t].name, ops[i].name);
            int is_test = vyre_op_accepts(ops[i].op, type, VYRE_TYPE_BOOL);
            vectors(name, ops[i].op, is_test ? VYRE_TYPE_BOOL : type, type, &lines);
        }
    for (size_t from = 0; from < 7; from++)
        for (size_t to = 0; to < 7; to++) {
            snprintf(name, sizeof name, "%s_to_%s%s", types[from].name, types[to].name, to < 3 ? "" : "_minMag");
            vectors(name, VYRE_OP_CAST, types[to].type, types[from].type, &lines);
        }
    return lines;
}

#endif
