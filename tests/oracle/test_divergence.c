/* Divergent barriers and collectives. The validator refuses what it cannot prove uniform, so the programs here are
 * drafts that it never saw: the oracle must not hang, and must say who waits and who is missing. */
#include "support/test.h"

#include "ir/irbuilder.h"
#include "support/fixes.h"
#include "vyre/oracle.h"

enum { SIZE = 300 }; /* three warps */

/* A program over one buffer `out`, one workgroup of SIZE; body fills the entry. */
typedef void body_writer(vy_irb *draft, uint32_t out);

static vyre_program *draft_program(body_writer *body) {
    vy_irb draft;
    assert_int_equal(vy_irb_start(&draft, "p", NULL), VYRE_OK);
    draft.program->workgroup[0] = SIZE;
    vy_irb_begin_entry(&draft);
    uint32_t size = vy_irb_size(&draft, VY_SIZE_LITERAL, VY_NONE, VY_NONE, SIZE);
    uint32_t out = vy_irb_memory_param(&draft, vy_irb_intern(&draft, "out", 3), VY_SPACE_BUFFER, VYRE_TYPE_U32,
                                       VYRE_ACCESS_WRITE, size);
    body(&draft, out);
    vy_irb_end_function(&draft);
    assert_false(draft.failed);
    return draft.program;
}

static uint32_t local_index(vy_irb *draft) {
    return vy_irb_builtin(draft, VYRE_BUILTIN_LOCAL_INDEX, 0);
}

static uint32_t number(vy_irb *draft, uint32_t value) {
    return vy_irb_literal(draft, VYRE_TYPE_U32, value);
}

static void begin_if_below(vy_irb *draft, uint32_t bound) {
    uint32_t i = local_index(draft), b = number(draft, bound);
    vy_irb_if(draft, vy_irb_op(draft, VYRE_OP_LT, VYRE_TYPE_BOOL, i, b, VY_NONE));
}

static void barrier(vy_irb *draft, vyre_scope scope) {
    vy_stmt stmt = {.kind = VY_STMT_BARRIER,
                    .scope = (uint8_t)scope,
                    .variable = VY_NONE,
                    .memory = VY_NONE,
                    .a = VY_NONE,
                    .b = VY_NONE,
                    .c = VY_NONE,
                    .callee = VY_NONE};
    vy_irb_stmt(draft, &stmt, NULL, 0, NULL, NULL);
}

static void collective(vy_irb *draft) {
    vy_symbol name = vy_irb_intern(draft, "s", 1);
    vyre_type type = VYRE_TYPE_U32;
    vy_stmt stmt = {.kind = VY_STMT_COLLECTIVE,
                    .op = VYRE_COLLECTIVE_REDUCE,
                    .combine = VYRE_OP_ADD,
                    .result_count = 1,
                    .variable = VY_NONE,
                    .memory = VY_NONE,
                    .b = VY_NONE,
                    .c = VY_NONE,
                    .callee = VY_NONE};
    stmt.a = number(draft, 1);
    vy_irb_stmt(draft, &stmt, NULL, 0, &name, &type);
}

static void store_one(vy_irb *draft, uint32_t out) {
    uint32_t i = local_index(draft);
    vy_irb_store(draft, out, i, number(draft, 1));
}

/* Runs it under several schedules; expects `code`, or silence for NULL. */
static void expect(body_writer *body, uint32_t groups, const char *code, const char *message) {
    vyre_program *program = draft_program(body);
    vyre_oracle *oracle;
    assert_int_equal(vyre_oracle_new(program, &oracle, NULL), VYRE_OK);
    vyre_arguments arguments = {.geometry = {VYRE_GEOMETRY_GROUPS, {groups, 1, 1}}};
    for (unsigned run = 0; run < 8; run++) {
        vyre_oracle_options options = {.threads = run % 3, .seed = run > 3 ? run : 0, .budget = 1000000};
        vyre_bytes out = VYRE_BYTES_INIT;
        vyre_error error = VYRE_ERROR_INIT;
        vyre_diagnostics *list = vyre_diagnostics_new();
        vyre_status status = vyre_oracle_run(oracle, &arguments, &options, &out, NULL, list, &error);
        const vyre_diagnostic *first = vyre_diagnostics_get(list, 0);
        if (status != (code ? VYRE_CHECK_FAILED : VYRE_OK) || (code && (!first || strcmp(first->code, code) != 0)))
            fail_msg("run %u: %s %s", run, vyre_status_name(status), first ? first->message : error.message);
        if (message && run <= 3)
            assert_string_equal(first->message, message);
        if (code) {
            assert_int_equal(vyre_diagnostics_count(list), 1);
            fixes_expect("oracle", code, first->fix);
        }
        assert_int_equal(out.size, SIZE * 4);
        vyre_diagnostics_free(list);
        vyre_bytes_free(&out);
    }
    vyre_oracle_free(oracle);
    vyre_program_release(program);
}

static void in_a_branch(vy_irb *draft, uint32_t out) {
    begin_if_below(draft, 200);
    barrier(draft, VYRE_SCOPE_WORKGROUP);
    vy_irb_end_block(draft);
    store_one(draft, out);
}

static void a_barrier_that_part_of_the_workgroup_skips_is_found(void **state) {
    (void)state;
    expect(in_a_branch, 3, "R005",
           "invocation 0 (global_id 0, 0, 0) waits at this barrier, and invocation 200 (global_id 200, 0, 0) does not "
           "reach it");
}

static void in_a_branch_all_take(vy_irb *draft, uint32_t out) {
    begin_if_below(draft, SIZE);
    barrier(draft, VYRE_SCOPE_WORKGROUP);
    vy_irb_end_block(draft);
    store_one(draft, out);
}

static void a_barrier_in_a_branch_that_all_take_is_fine(void **state) {
    (void)state;
    expect(in_a_branch_all_take, 3, NULL, NULL);
}

static void in_both_branches(vy_irb *draft, uint32_t out) {
    begin_if_below(draft, 100);
    barrier(draft, VYRE_SCOPE_WORKGROUP);
    vy_irb_else(draft);
    barrier(draft, VYRE_SCOPE_WORKGROUP);
    vy_irb_end_block(draft);
    store_one(draft, out);
}

static void two_barriers_are_not_one(void **state) {
    (void)state;
    expect(in_both_branches, 1, "R005", NULL);
}

static void after_a_return(vy_irb *draft, uint32_t out) {
    begin_if_below(draft, 7);
    vy_irb_simple(draft, VY_STMT_RETURN);
    vy_irb_end_block(draft);
    store_one(draft, out);
    collective(draft);
}

static void a_collective_after_a_divergent_return_is_found(void **state) {
    (void)state;
    expect(after_a_return, 2, "R005",
           "invocation 7 (global_id 7, 0, 0) waits at this collective, and invocation 0 (global_id 0, 0, 0) does not "
           "reach it");
}

static void in_a_loop(vy_irb *draft, uint32_t out) {
    uint32_t from = number(draft, 0), to = local_index(draft);
    vy_irb_for(draft, vy_irb_intern(draft, "k", 1), VYRE_TYPE_U32, from, to, VY_NONE);
    barrier(draft, VYRE_SCOPE_WORKGROUP);
    vy_irb_end_block(draft);
    store_one(draft, out);
}

static void a_barrier_in_a_loop_of_different_length_is_found(void **state) {
    (void)state;
    expect(in_a_loop, 1, "R005", NULL);
}

static void all_return_together(vy_irb *draft, uint32_t out) {
    store_one(draft, out);
    begin_if_below(draft, SIZE);
    vy_irb_simple(draft, VY_STMT_RETURN);
    vy_irb_end_block(draft);
    barrier(draft, VYRE_SCOPE_WORKGROUP);
}

static void a_barrier_that_nobody_reaches_is_fine(void **state) {
    (void)state;
    expect(all_return_together, 2, NULL, NULL);
}

static void by_group(vy_irb *draft, uint32_t out) {
    uint32_t g = vy_irb_builtin(draft, VYRE_BUILTIN_GROUP_ID, 0), one = number(draft, 1);
    vy_irb_if(draft, vy_irb_op(draft, VYRE_OP_NE, VYRE_TYPE_BOOL, g, one, VY_NONE));
    barrier(draft, VYRE_SCOPE_DEVICE);
    vy_irb_end_block(draft);
    begin_if_below(draft, SIZE);
    vy_irb_simple(draft, VY_STMT_RETURN);
    vy_irb_end_block(draft);
    store_one(draft, out);
}

static void a_grid_barrier_that_a_workgroup_skips_is_found(void **state) {
    (void)state;
    expect(by_group, 3, "R006",
           "invocation 0 (global_id 0, 0, 0) waits at this grid barrier, and invocation 300 (global_id 300, 0, 0) does "
           "not reach it");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_that_part_of_the_workgroup_skips_is_found),
        cmocka_unit_test(a_barrier_in_a_branch_that_all_take_is_fine),
        cmocka_unit_test(two_barriers_are_not_one),
        cmocka_unit_test(a_collective_after_a_divergent_return_is_found),
        cmocka_unit_test(a_barrier_in_a_loop_of_different_length_is_found),
        cmocka_unit_test(a_barrier_that_nobody_reaches_is_fine),
        cmocka_unit_test(a_grid_barrier_that_a_workgroup_skips_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
