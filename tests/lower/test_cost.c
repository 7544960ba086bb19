/* The cost of legalisation: the number of operations that one becomes. docs/internals/lower.md has an extract. */
#include "lower/runner.h"

#include "compile/pipeline.h"
#include "ir/model.h"

typedef struct cost {
    uint64_t missing;
    vyre_op op;
    vyre_type result, operand;
    uint32_t code;  /* operations in the program: the statement `out[i] = op(a[i], …)`; bitcasts are not counted */
    uint32_t outer; /* those outside of branches and loops: the cost of ordinary operands */
} cost;

#define ROW(MISSING, OP, R, T, code, run)                                                                              \
    { MISSING, VYRE_OP_##OP, VYRE_TYPE_##R, VYRE_TYPE_##T, code, run }
static const cost costs[] = {
    ROW(BIT(INT8), ADD, I8, I8, 6, 6),
    ROW(BIT(INT8), SHR, U8, U8, 5, 5),
    ROW(BIT(INT8), CLZ, U8, U8, 5, 5),
    ROW(BIT(INT16), ROTL, U16, U16, 11, 11),
    ROW(BIT(INT_DIV), DIV, U32, U32, 6, 6),
    ROW(BIT(INT_DIV), DIV, I32, I32, 9, 9),
    ROW(BIT(SHIFT), SHL, U32, U32, 2, 2),
    ROW(BIT(F32_SUBNORMAL), ADD, F32, F32, 87, 9),
    ROW(BIT(F32_SUBNORMAL), MUL, F32, F32, 95, 12),
    ROW(BIT(F32_SUBNORMAL), DIV, F32, F32, 113, 11),
    ROW(BIT(F32_SUBNORMAL), SQRT, F32, F32, 85, 7),
    ROW(BIT(F32_SUBNORMAL), FMA, F32, F32, 224, 21),
    ROW(BIT(F32_SUBNORMAL), LT, BOOL, F32, 13, 13),
    ROW(BIT(F32_DIV), DIV, F32, F32, 105, 12),
    ROW(BIT(F32_SQRT), SQRT, F32, F32, 81, 5),
    ROW(BIT(F32_FMA), FMA, F32, F32, 27, 27),
    ROW(BIT(F32_FMA) | BIT(F64_ADD), FMA, F32, F32, 206, 12),
    ROW(BIT(F32_ADD), ADD, F32, F32, 81, 81),
    ROW(BIT(F32_MUL), MUL, F32, F32, 86, 86),
    ROW(BIT(F32_MIN_MAX), MIN, F32, F32, 17, 17),
    ROW(BIT(F32_ROUND), ROUND, F32, F32, 34, 34),
    ROW(BIT(F32_CONVERT), CAST, I32, F32, 28, 28),
    ROW(BIT(F32_CONVERT), CAST, F32, I32, 35, 35),
    ROW(BIT(F16_ADD), ADD, F16, F16, 11, 11),
    ROW(BIT(F16_CONVERT), ADD, F16, F16, 67, 67),
    ROW(BIT(F16_FMA), FMA, F16, F16, 34, 34),
    ROW(BIT(BF16_FMA) | BIT(BF16_CONVERT), ADD, BF16, BF16, 24, 24),
    ROW(BIT(BF16_CONVERT), FMA, BF16, BF16, 41, 41),
    ROW(BIT(BF16_FMA), ADD, BF16, BF16, 13, 13),
    ROW(BIT(BF16_FMA) | BIT(BF16_CONVERT), FMA, BF16, BF16, 235, 43),
    ROW(BIT(BF16_CONVERT), CAST, BF16, I32, 30, 30),
    ROW(0, ADD, F16, F16, 6, 6),
    ROW(0, FMA, F16, F16, 6, 6),
    ROW(0, LT, BOOL, F16, 4, 4),
    ROW(0, ADD, BF16, BF16, 6, 6),
    ROW(0, FMA, BF16, BF16, 6, 6),
    ROW(0, CAST, BF16, I32, 24, 24),
    ROW(BIT(F64_SUBNORMAL), ADD, F64, F64, 87, 9),
    ROW(BIT(F64_SUBNORMAL), MUL, F64, F64, 95, 12),
    ROW(BIT(F64_SUBNORMAL), DIV, F64, F64, 139, 11),
    ROW(BIT(F64_SUBNORMAL), SQRT, F64, F64, 111, 7),
    ROW(BIT(F64_SUBNORMAL), FMA, F64, F64, 224, 21),
    ROW(BIT(F64_ADD), ADD, F64, F64, 81, 81),
    ROW(BIT(F64_MUL), MUL, F64, F64, 86, 86),
    ROW(BIT(F64_DIV), DIV, F64, F64, 131, 12),
    ROW(BIT(F64_SQRT), SQRT, F64, F64, 107, 5),
    ROW(BIT(F64_FMA), FMA, F64, F64, 206, 12),
    ROW(BIT(F64_CONVERT), CAST, I32, F64, 28, 28),
    ROW(BIT(F64_CONVERT), CAST, F64, I32, 17, 17),
    ROW(BIT(F64_CONVERT), CAST, F32, F64, 54, 54),
    ROW(BIT(F64_CONVERT), CAST, F64, F32, 36, 36),
    ROW(F64_BITS, ADD, F64, F64, 81, 81),
    ROW(BIT(INT64), ADD, F64, F64, 224, 224),
    ROW(BIT(INT64), MUL, F64, F64, 258, 258),
    ROW(BIT(INT64), DIV, F64, F64, 394, 38),
    ROW(BIT(INT64), FMA, F64, F64, 638, 46),
    ROW(BIT(INT64), LT, BOOL, F64, 46, 46),
    ROW(0, ADD, F32, F32, 4, 4),
    ROW(BIT(INT64), AND, U64, U64, 8, 8),
    ROW(BIT(INT64), ADD, U64, U64, 11, 11),
    ROW(BIT(INT64), MUL, U64, U64, 12, 12),
    ROW(BIT(INT64), LT, BOOL, I64, 12, 12),
    ROW(BIT(INT64), SHL, U64, U64, 17, 17),
    ROW(BIT(INT64), MUL_HIGH, U64, U64, 32, 32),
    ROW(BIT(INT64), DIV, U64, U64, 196, 7),
    ROW(BIT(INT64), DIV, I64, I64, 224, 35),
    ROW(BIT(INT64), CAST, F32, U64, 51, 51),
    ROW(BIT(INT64), CAST, I64, F32, 63, 63),
};

static uint32_t count_ops(const vyre_program *program, uint32_t root) {
    if (root == VY_NONE)
        return 0;
    const vy_expr *e = &program->exprs.items[root];
    if (e->kind == VY_EXPR_LOAD)
        return count_ops(program, e->b);
    if (e->kind != VY_EXPR_OP)
        return 0;
    return (e->op != VYRE_OP_BITCAST) + count_ops(program, e->a) + count_ops(program, e->b) + count_ops(program, e->c);
}

static void measure(const vyre_program *program, uint32_t *code, uint32_t *outer) {
    uint32_t inside = 0; /* end of the outermost branch or loop around */
    *code = *outer = 0;
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        const vy_stmt *s = &program->stmts.items[i];
        uint32_t ops = count_ops(program, s->a) + count_ops(program, s->b) + count_ops(program, s->c);
        *code += ops;
        *outer += i < inside ? 0 : ops;
        if (vy_stmt_is_structured(s->kind) && s->end > inside)
            inside = s->end;
    }
}

static void replace(char *text, size_t size, const char *old, const char *new) {
    char *at = text;
    while ((at = strstr(at, old))) {
        size_t rest = strlen(at + strlen(old)) + 1;
        assert_true((size_t)(at - text) + strlen(new) + rest <= size);
        memmove(at + strlen(new), at + strlen(old), rest);
        memcpy(at, new, strlen(new));
        at += strlen(new);
    }
}

/* The program of the op with indices that are known to be inside: what is counted is the op, not its accesses. */
static vyre_program *inside(const op_run *run) {
    char text[1024];
    op_run_text(run, text, sizeof text);
    replace(text, sizeof text, " read\n", " read count 64\n");
    replace(text, sizeof text, "count len(a)", "count 64");
    replace(text, sizeof text, "grid over a", "grid 1");
    replace(text, sizeof text, "global_id.x", "local_index");
    return vy_test_parse(text);
}

static void the_table_of_costs_is_right(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        const cost *c = &costs[i];
        op_run run;
        vyre_program *legal;
        assert_true(op_run_start(&run, c->op, c->result, c->operand));
        vyre_program *program = inside(&run);
        assert_int_equal(vy_legalize(program, &(vy_target_desc){.exact = ALL_BITS & ~c->missing}, &legal, NULL),
                         VYRE_OK);
        uint32_t code, outer;
        measure(legal, &code, &outer);
        if (code != c->code || outer != c->outer) {
            printf("%zu: %s %s of %s takes %u operations, %u outside of branches\n", i, vyre_type_name(c->result),
                   vyre_op_get(c->op)->name, vyre_type_name(c->operand), code, outer);
            wrong++;
        }
        vyre_program_release(legal);
        vyre_program_release(program);
        op_run_end(&run);
    }
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_of_costs_is_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
