/* Affine indices: the base and the offset of the index of the last store of small programs. */
#include "support/test.h"

#include "analysis/affine_index.h"

/* Peels the index of the last store as often as possible; returns how often. */
static unsigned peel_all(const char *statements, uint8_t *base_kind, uint32_t *offset) {
    char text[512];
    snprintf(text, sizeof text,
             "program p {\n param n : u32\n param k : u64\n buffer x : u32 read_write\n workgroup 1\n%s\n}\n",
             statements);
    vyre_program *p = vy_test_parse(text);
    vy_affine_index at = {p->stmts.items[p->stmts.count - 1].a, 0};
    unsigned count = 0;
    while (vy_affine_index_peel(p, &at))
        count++;
    *base_kind = p->exprs.items[at.base].kind;
    *offset = at.offset;
    vyre_program_release(p);
    return count;
}

static void check(const char *index, unsigned count, uint8_t kind, uint32_t expected) {
    char statement[128];
    uint8_t base_kind;
    uint32_t offset;
    snprintf(statement, sizeof statement, "x[%s] = 1", index);
    assert_int_equal(peel_all(statement, &base_kind, &offset), count);
    assert_int_equal(base_kind, kind);
    assert_int_equal(offset, expected);
}

static void literals_move_from_sums_to_the_offset(void **state) {
    (void)state;
    check("n", 0, VY_EXPR_VARIABLE, 0);
    check("n + 3", 1, VY_EXPR_VARIABLE, 3);
    check("3 + n", 1, VY_EXPR_VARIABLE, 3);
    check("n - 3", 1, VY_EXPR_VARIABLE, (uint32_t)-3);
    check("2 + (n - 5) + 4", 3, VY_EXPR_VARIABLE, 1);
    check("n + 0xffffffff", 1, VY_EXPR_VARIABLE, UINT32_MAX);
    check("n * 2 + 1", 1, VY_EXPR_OP, 1);
}

static void other_expressions_are_bases(void **state) {
    (void)state;
    check("3 - n", 0, VY_EXPR_OP, 0);
    check("n + n", 0, VY_EXPR_OP, 0);
    check("n * 3", 0, VY_EXPR_OP, 0);
    check("k + 3", 0, VY_EXPR_OP, 0); /* does not wrap as an offset does */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_move_from_sums_to_the_offset),
        cmocka_unit_test(other_expressions_are_bases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
