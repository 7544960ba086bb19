/* The table of value numbering stays a table: values that differ little do not meet in one bucket, where each would be
 * compared with all others. */
#include "support/test.h"

#include "opt/gvn_table.h"

enum { KEYS = 4096, BUCKETS = 4096, LONGEST = 16 }; /* the longest of 4,096 buckets has 7 of 4,096 random keys */

static vy_gvn numbering_of(const vyre_program *program, vy_arena *arena) {
    vy_gvn n = {.program = program, .bucket_count = BUCKETS, .uses = {.program = program, .arena = arena}};
    n.buckets = calloc(BUCKETS, sizeof *n.buckets);
    n.of_expr = calloc(program->exprs.count + 1u, sizeof *n.of_expr);
    n.of_variable = calloc(program->variables.count + 1u, sizeof *n.of_variable);
    n.of_memory = calloc(program->memories.count + 1u, sizeof *n.of_memory);
    assert_true(n.buckets && n.of_expr && n.of_variable && n.of_memory);
    assert_true(vy_def_use_need(&n.uses, VY_DEF_USE_EXPRS));
    return n;
}

static uint32_t longest_bucket(const vy_gvn *n) {
    uint32_t longest = 0;
    for (uint32_t i = 0; i < BUCKETS; i++) {
        uint32_t length = 0;
        for (uint32_t k = n->buckets[i]; k; k = n->values.items[k - 1].next)
            length++;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void numbering_free(vy_gvn *n) {
    free(n->buckets);
    free(n->of_expr);
    free(n->of_variable);
    free(n->of_memory);
    vy_arena_free(n->uses.arena);
    VY_VECTOR_FREE(&n->values);
}

/* The statement with the load from `y`. */
static uint32_t find_load(const vyre_program *p) {
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (p->stmts.items[i].a != VY_NONE && p->exprs.items[p->stmts.items[i].a].kind == VY_EXPR_LOAD)
            return i;
    fail_msg("there is no load");
    return 0;
}

static void literals_that_differ_in_their_upper_bits_have_buckets_of_their_own(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse("program p {\nworkgroup 1\nlet a = 1u64\n}\n");
    for (unsigned shift = 0; shift <= 52; shift += 4) {
        vy_arena arena = {0};
        vy_gvn n = numbering_of(program, &arena);
        vyre_program changed = *program;
        vy_expr literal = program->exprs.items[0];
        assert_int_equal(literal.kind, VY_EXPR_LITERAL);
        changed.exprs.items = &literal;
        n.program = &changed;
        for (uint64_t k = 0; k < KEYS; k++) {
            literal.bits = k << shift;
            vy_gvn_number(&n, &changed.stmts.items[0]);
        }
        assert_false(n.failed);
        assert_int_equal(n.values.count, KEYS);
        if (longest_bucket(&n) > LONGEST)
            fail_msg("literals shifted by %u: %u values in a bucket", shift, longest_bucket(&n));
        numbering_free(&n);
    }
    vyre_program_release(program);
}

/* A barrier after each store: both states of the memory go up together. */
static void loads_between_barriers_have_buckets_of_their_own(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse("program p {\nbuffer y : u32 read_write\nworkgroup 1\nlet a = y[0]\n}\n");
    uint32_t stmt = find_load(program);
    for (uint32_t apart = 0; apart < 4; apart++) {
        vy_arena arena = {0};
        vy_gvn n = numbering_of(program, &arena);
        for (uint32_t k = 0; k < KEYS; k++) {
            n.of_memory[0] = 2 * k + apart;
            n.shared = 2 * k + 1;
            vy_gvn_number(&n, &program->stmts.items[stmt]);
        }
        assert_false(n.failed);
        assert_int_equal(n.values.count, KEYS + 1); /* and the index */
        if (longest_bucket(&n) > LONGEST)
            fail_msg("loads, states %u apart: %u values in a bucket", apart, longest_bucket(&n));
        numbering_free(&n);
    }
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_that_differ_in_their_upper_bits_have_buckets_of_their_own),
        cmocka_unit_test(loads_between_barriers_have_buckets_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
