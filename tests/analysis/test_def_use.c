/* Definitions and uses: each answer is compared with a scan of the whole program, for random programs. */
#include "support/fault.h"
#include "support/test.h"

#include "analysis/def_use.h"
#include "generate/generate.h"
#include "ir/walk.h"

enum {
    ALL = VY_DEF_USE_EXPRS | VY_DEF_USE_PARENTS | VY_DEF_USE_DECLARATIONS | VY_DEF_USE_ASSIGNED |
          VY_DEF_USE_DEFINITIONS | VY_DEF_USE_READS
};

static int declares(const vy_stmt *s, uint32_t variable) {
    return s->kind != VY_STMT_ASSIGN && s->result_count && variable - s->variable < s->result_count;
}

static int defines(const vy_stmt *s, uint32_t variable) {
    return declares(s, variable) || (s->kind == VY_STMT_ASSIGN && s->variable == variable);
}

static uint32_t innermost(const vyre_program *p, uint32_t stmt, int of_loops) {
    uint32_t found = VY_NONE;
    for (uint32_t i = 0; i < stmt; i++)
        if (p->stmts.items[i].end > stmt && (!of_loops || vy_stmt_is_loop(p->stmts.items[i].kind)))
            found = i;
    return found;
}

static void check_stmt(const vy_def_use *u, uint32_t i) {
    const vyre_program *p = u->program;
    const vy_stmt *s = &p->stmts.items[i];
    assert_int_equal(u->parents[i], innermost(p, i, 0));
    assert_int_equal(vy_loop_around(u, i), innermost(p, i, 1));
    assert_int_equal(u->first_expr[i + 1], vy_stmt_exprs_end(p, s, u->first_expr[i]));
    if (u->first_expr[i] != u->first_expr[i + 1])
        assert_int_equal(u->first_expr[i], vy_stmt_exprs_first(p, s));
}

static void check_variable(const vy_def_use *u, uint32_t variable) {
    const vyre_program *p = u->program;
    uint32_t declared = VY_NONE, last = VY_NONE, first_read = VY_NONE, last_read = 0, reads = 0, assigned = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        assert_int_equal(vy_last_definition(u, variable, i), last);
        if (defines(s, variable)) {
            assert_int_equal(vy_next_definition(u, variable, last == VY_NONE ? 0 : last + 1), i);
            assert_int_equal(vy_next_definition(u, variable, i), i);
            last = i;
        }
        declared = declares(s, variable) ? i : declared;
        assigned |= s->kind == VY_STMT_ASSIGN && s->variable == variable;
        for (uint32_t k = u->first_expr[i]; k < u->first_expr[i + 1]; k++)
            if (p->exprs.items[k].kind == VY_EXPR_VARIABLE && p->exprs.items[k].a == variable) {
                first_read = reads++ ? first_read : i;
                last_read = i;
            }
    }
    assert_int_equal(vy_next_definition(u, variable, last == VY_NONE ? 0 : last + 1), VY_NONE);
    assert_int_equal(u->declarations[variable], declared);
    assert_int_equal(u->is_assigned[variable], assigned);
    assert_int_equal(u->reads[variable], reads);
    assert_int_equal(u->first_read[variable], first_read);
    assert_int_equal(u->last_read[variable], last_read);
}

static void answers_are_those_of_a_scan(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        const vyre_generate_options options = {.seed = seed, .statements = 40, .depth = 3, .invocations = 16};
        vyre_case *made;
        vyre_error error;
        assert_int_equal(vyre_generate(&options, &made, &error), VYRE_OK);
        const vyre_program *p = vyre_case_program(made);
        vy_arena arena = {0};
        vy_def_use u = {.program = p, .arena = &arena};
        for (unsigned part = 1; part < ALL; part *= 2) /* one at a time */
            assert_true(vy_def_use_need(&u, part));
        assert_int_equal(u.has, ALL);
        for (uint32_t i = 0; i < p->stmts.count; i++)
            check_stmt(&u, i);
        for (uint32_t v = 0; v < p->variables.count; v++)
            check_variable(&u, v);
        vy_arena_free(&arena);
        vyre_case_free(made);
    }
}

static void lets_are_seen_through(void **state) {
    (void)state;
    vyre_program *p = vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 1\n let a = global_id.x\n"
                                    " let b = a\n var c = b\n x[b] = c\n}\n");
    vy_arena arena = {0};
    vy_def_use u = {.program = p, .arena = &arena};
    const vy_stmt *store = &p->stmts.items[p->stmts.count - 1], *lets = p->stmts.items;
    assert_true(vy_def_use_need(&u, VY_DEF_USE_DECLARATIONS));
    assert_int_equal(vy_see_through_lets(&u, store->a, 9), lets[0].a);
    assert_int_equal(vy_see_through_lets(&u, store->a, 1), lets[1].a);
    assert_int_equal(vy_see_through_lets(&u, store->a, 0), store->a);
    assert_int_equal(vy_see_through_lets(&u, store->b, 9), store->b); /* a `var` */
    assert_int_equal(vy_let_value(&u, lets[2].variable), VY_NONE);
    vy_arena_free(&arena);
    vyre_program_release(p);
}

static vyre_status compute_all(void *user) {
    vy_arena arena = {0};
    vy_def_use u = {.program = user, .arena = &arena};
    int ok = vy_def_use_need(&u, VY_DEF_USE_READS) && vy_def_use_need(&u, ALL);
    vy_arena_free(&arena);
    return ok ? VYRE_OK : VYRE_NO_MEMORY;
}

static void memory_may_run_out(void **state) {
    (void)state;
    vyre_program *p = vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 1\n var a = 1u32\n a = 2\n"
                                    " x[0] = a\n}\n");
    vy_fault_install();
    VY_FAULT_LOOP(compute_all, p);
    vy_fault_remove();
    vyre_program_release(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_a_scan),
        cmocka_unit_test(lets_are_seen_through),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
