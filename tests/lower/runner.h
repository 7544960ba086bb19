/* What the tests of legalisation share: profiles, and one op over many operands, legalised and run as a bad device. */
#ifndef VY_TESTS_LOWER_RUNNER_H
#define VY_TESTS_LOWER_RUNNER_H

#include "support/test.h"

#include "compile/pipeline.h"
#include "oracle/adversarial_device.h"
#include "vyre/text.h"

#include <inttypes.h>

#define BIT(ID) (UINT64_C(1) << VYRE_NUMERIC_##ID)
#define ALL_BITS ((UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1)
#define F64_BITS                                                                                                       \
    (BIT(F64_ADD) | BIT(F64_MUL) | BIT(F64_DIV) | BIT(F64_SQRT) | BIT(F64_FMA) | BIT(F64_SUBNORMAL) |                  \
     BIT(F64_MIN_MAX) | BIT(F64_ROUND) | BIT(F64_CONVERT))
#define SMALL_BITS                                                                                                     \
    (BIT(F16_ADD) | BIT(F16_MUL) | BIT(F16_DIV) | BIT(F16_SQRT) | BIT(F16_FMA) | BIT(F16_CONVERT) | BIT(BF16_FMA) |    \
     BIT(BF16_CONVERT))
/* Without these f64 and atomics on 64 bits are refused, and so is much of what the generator makes. */
#define WIDE_BITS (F64_BITS | BIT(INT64))

typedef struct profile {
    const char *name;
    uint64_t exact;
} profile;

/* Every bit alone is left out, then all that can be together, then devices as they were measured (design: numerics as
 * measured). */
static const profile profiles[] = {
#define X(ID, name, doc) {"without " name, ALL_BITS & ~BIT(ID)},
    VYRE_NUMERIC_LIST(X)
#undef X
        {"all", ALL_BITS},
    {"nothing but 64 bits and f64", WIDE_BITS},
    {"nothing but 64 bits", BIT(INT64)},
    {"nothing", 0},
    {"flushes, all else exact, no narrow types",
     ALL_BITS & ~(BIT(F32_SUBNORMAL) | BIT(INT8) | BIT(INT16) | SMALL_BITS)},
    {"H200 through Vulkan", ALL_BITS & ~(BIT(F32_SUBNORMAL) | BIT(F32_DIV) | BIT(F32_SQRT) | SMALL_BITS | BIT(INT_DIV) |
                                         BIT(SHIFT) | BIT(F32_MIN_MAX) | BIT(F32_CONVERT))},
    {"H200 through OpenCL without exact division", ALL_BITS & ~(BIT(F32_DIV) | BIT(F32_SQRT) | SMALL_BITS)},
    {"lavapipe", ALL_BITS & ~(BIT(F32_FMA) | BIT(INT_DIV) | BIT(F32_MIN_MAX) | SMALL_BITS)},
    {"PoCL", ALL_BITS & ~(BIT(INT_DIV) | BIT(F32_CONVERT) | SMALL_BITS)},
};
enum { PROFILES = sizeof profiles / sizeof *profiles };

/* ---- arguments ---- */

enum { ARGUMENTS = 256 };

/* The arguments of a program for what legalisation made of it: without f64 params of it are u64, and without 64-bit
 * integers params of them are two u32, and buffers have twice the elements. */
typedef struct legal_arguments {
    vyre_arguments arguments;
    vyre_scalar params[ARGUMENTS];
    uint64_t counts[ARGUMENTS];
} legal_arguments;

static inline int is_wide(vyre_type type) {
    return vyre_type_bits(type) == 64;
}

static inline const vyre_arguments *arguments_for(const vyre_program *program, uint64_t exact,
                                                  const vyre_arguments *arguments, legal_arguments *made) {
    size_t params = 0, open = 0;
    made->arguments = *arguments;
    for (size_t i = 0; i < arguments->param_count; i++) {
        vyre_scalar given = arguments->params[i];
        assert_true(params + 2 <= ARGUMENTS);
        if (given.type == VYRE_TYPE_F64 && !((exact & BIT(INT64)) && (exact & F64_BITS)))
            given.type = VYRE_TYPE_U64;
        if (is_wide(given.type) && !(exact & BIT(INT64))) {
            made->params[params++] = (vyre_scalar){VYRE_TYPE_U32, given.bits & UINT32_MAX};
            made->params[params++] = (vyre_scalar){VYRE_TYPE_U32, given.bits >> 32};
        } else {
            made->params[params++] = given;
        }
    }
    for (size_t i = 0; i < vyre_program_buffer_count(program) && open < arguments->count_count; i++) {
        vyre_buffer_info info;
        vyre_program_buffer(program, i, &info);
        if (info.access == VYRE_ACCESS_WRITE && !info.has_count) {
            made->counts[open] = arguments->counts[open] << (is_wide(info.type) && !(exact & BIT(INT64)));
            open++;
        }
    }
    made->arguments.params = made->params;
    made->arguments.param_count = params;
    made->arguments.counts = made->counts;
    return &made->arguments;
}

/* ---- one op ---- */

typedef struct op_run {
    vyre_op op;
    vyre_type result, operand;
    vyre_program *program;
} op_run;

static inline int op_run_text(const op_run *run, char *text, size_t size) {
    const vyre_op_info *row = vyre_op_get(run->op);
    const char *t = vyre_type_name(run->operand), *r = vyre_type_name(run->result);
    char value[256], args[64];
    int is_bool = run->operand == VYRE_TYPE_BOOL;
    const char *bool_args[3] = {"(a[i] != 0)", "(b[i] != 0)", "(c[i] != 0)"}, *plain[3] = {"a[i]", "b[i]", "c[i]"};
    const char *const *x = is_bool ? bool_args : plain;
    snprintf(args, sizeof args, "%s%s%s%s%s", x[0], row->arity > 1 ? ", " : "", row->arity > 1 ? x[1] : "",
             row->arity > 2 ? ", " : "", row->arity > 2 ? x[2] : "");
    if (run->op == VYRE_OP_SELECT)
        snprintf(value, sizeof value, "s[i] != 0 ? %s : %s", x[0], x[1]);
    else if (run->op == VYRE_OP_CAST)
        snprintf(value, sizeof value, "%s(%s)", r, x[0]);
    else if (run->op == VYRE_OP_BITCAST)
        snprintf(value, sizeof value, "bitcast<%s>(%s)", r, x[0]);
    else if (row->symbol && row->arity == 2)
        snprintf(value, sizeof value, "%s %s %s", x[0], row->symbol, x[1]);
    else if (row->symbol)
        snprintf(value, sizeof value, "%s(%s)", row->symbol, x[0]);
    else
        snprintf(value, sizeof value, "%s(%s)", row->name, args);
    return snprintf(
        text, size,
        "program op {\n  buffer a : %s read\n  buffer b : %s read\n  buffer c : %s read\n  buffer s : u32 read\n"
        "  buffer out : %s write count len(a)\n  workgroup 64\n  grid over a\n\n  let i = global_id.x\n"
        "  out[i] = %s%s%s\n}\n",
        is_bool ? "u32" : t, is_bool ? "u32" : t, is_bool ? "u32" : t, run->result == VYRE_TYPE_BOOL ? "u32" : r,
        run->result == VYRE_TYPE_BOOL ? "u32(" : "", value, run->result == VYRE_TYPE_BOOL ? ")" : "");
}

static inline void print_program(const vyre_program *program) {
    vyre_bytes text = {0};
    if (vyre_text_print(program, &text, NULL) == VYRE_OK)
        fprintf(stderr, "%.*s\n", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

/* Whether there is such a row: selects are tried with two of their operands' types. */
static inline int op_run_start(op_run *run, vyre_op op, vyre_type result, vyre_type operand) {
    char text[1024];
    if (!vyre_op_accepts(op, operand, result) || vyre_op_get(op)->level != VYRE_LEVEL_SOURCE)
        return 0;
    *run = (op_run){.op = op, .result = result, .operand = operand};
    op_run_text(run, text, sizeof text);
    run->program = vy_test_parse(text);
    return 1;
}

static inline void op_run_end(op_run *run) {
    vyre_program_release(run->program);
}

/* The element of a buffer; those of bools are u32. */
static inline vyre_type element_type(vyre_type type) {
    return type == VYRE_TYPE_BOOL ? VYRE_TYPE_U32 : type;
}

/* Compares the op over n operands, computed by the profile's device, with `expected` (NULL: the evaluator). operands[1]
 * and [2] may be NULL. Returns the number of cases, 0 if the profile refuses the op. */
static inline uint64_t op_run_check(const op_run *run, const profile *p, size_t n, const uint64_t *const operands[3],
                                    const uint64_t *expected) {
    vy_target_desc target = {.exact = p->exact};
    vyre_program *legal = NULL;
    vyre_oracle *oracle = NULL;
    vyre_error error = {0};
    vyre_bytes output = {0}, inputs[4] = {{0}};
    vyre_span spans[4];
    vyre_status status = vy_legalize(run->program, &target, &legal, &error);
    if (status == VYRE_UNSUPPORTED)
        return 0;
    if (status != VYRE_OK) {
        print_program(run->program);
        fail_msg("%s: %s", p->name, error.message);
    }
    vyre_type element = element_type(run->operand), out_element = element_type(run->result);
    for (int k = 0; k < 4; k++) {
        vyre_type type = k == 3 ? VYRE_TYPE_U32 : element;
        unsigned size = vyre_type_size(type);
        assert_int_equal(vyre_bytes_resize(&inputs[k], n * size, NULL), VYRE_OK);
        for (size_t i = 0; i < n; i++) {
            uint64_t bits = k == 3 ? operands[0][i] & 1 : operands[k] ? operands[k][i] : 0;
            vy_value_store(type, (char *)inputs[k].data + i * size, bits);
        }
        spans[k] = (vyre_span){inputs[k].data, inputs[k].size};
    }
    vyre_arguments arguments = {.inputs = spans, .input_count = 4};
    vyre_oracle_options options = {.threads = 1};
    status = vy_oracle_new_on(legal, p->exact, &oracle, &error);
    if (status == VYRE_OK)
        status = vyre_oracle_run(oracle, &arguments, &options, &output, NULL, NULL, &error);
    if (status != VYRE_OK) {
        print_program(legal);
        fail_msg("%s: %s of %s: %s", p->name, vyre_op_get(run->op)->name, vyre_type_name(run->operand), error.message);
    }
    for (size_t i = 0; i < n; i++) {
        unsigned size = vyre_type_size(out_element);
        uint64_t got = 0, a = operands[0][i], b = operands[1] ? operands[1][i] : 0,
                 c = operands[2] ? operands[2][i] : 0;
        memcpy(&got, (char *)output.data + i * size, size);
        uint64_t want = expected                    ? expected[i]
                        : run->op == VYRE_OP_SELECT ? vyre_op_evaluate(run->op, run->result, run->operand, a & 1, a, b)
                                                    : vyre_op_evaluate(run->op, run->result, run->operand, a, b, c);
        if (run->operand == VYRE_TYPE_BOOL && !expected)
            want = vyre_op_evaluate(run->op, run->result, run->operand, run->op == VYRE_OP_SELECT ? a & 1 : a != 0,
                                    run->op == VYRE_OP_SELECT ? a != 0 : b != 0,
                                    run->op == VYRE_OP_SELECT ? b != 0 : c != 0);
        if (got != want) {
            print_program(legal);
            fail_msg("%s: %s %s(%s %" PRIx64 ", %" PRIx64 ", %" PRIx64 ") is %" PRIx64 ", must be %" PRIx64, p->name,
                     vyre_type_name(run->result), vyre_op_get(run->op)->name, vyre_type_name(run->operand), a, b, c,
                     got, want);
        }
    }
    for (int k = 0; k < 4; k++)
        vyre_bytes_free(&inputs[k]);
    vyre_bytes_free(&output);
    vyre_oracle_free(oracle);
    vyre_program_release(legal);
    return n;
}

#endif
