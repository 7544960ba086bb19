/* Fuses the accesses of a program of level legal for every width of access, and runs it beside the program as it is,
 * wherever buffers start. */
#ifndef VY_TESTS_LOWER_VECTORIZE_MEM_RUNNER_H
#define VY_TESTS_LOWER_VECTORIZE_MEM_RUNNER_H

#include "ir/build/builder_internal.h"
#include "ir/irbuilder.h"
#include "lower/traps_runner.h"
#include "lower/vectorize_mem.h"

typedef struct access_counts {
    unsigned loads, stores;           /* of one element */
    unsigned wide_loads, wide_stores; /* of several */
    unsigned ifs;
} access_counts;

static inline access_counts counts_of(const vyre_program *program) {
    access_counts counts = {0};
    for (uint32_t i = 0; i < program->exprs.count; i++)
        counts.loads += program->exprs.items[i].kind == VY_EXPR_LOAD;
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        uint8_t kind = program->stmts.items[i].kind;
        counts.stores += kind == VY_STMT_STORE;
        counts.wide_loads += kind == VY_STMT_LOAD_WIDE;
        counts.wide_stores += kind == VY_STMT_STORE_WIDE;
        counts.ifs += kind == VY_STMT_IF;
    }
    return counts;
}

/* The same program, which is nobody else's, as steps leave one. */
static inline vyre_program *scratch_of(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    assert_int_equal(vyre_text_print(program, &text, NULL), VYRE_OK);
    vyre_program *copy = vy_test_parse((const char *)text.data);
    vyre_bytes_free(&text);
    VY_VECTOR_FREE(&copy->expr_positions);
    copy->is_unique = 1;
    return copy;
}

/* What is fused in its own arrays is what is made of one that stays. */
static inline void check_scratch(const vyre_program *program, const vy_target_desc *target, const vyre_program *want) {
    vyre_program *scratch = scratch_of(program), *made = NULL;
    vyre_bytes texts[2] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT};
    vyre_error error = {0};
    if (vy_vectorize_mem(scratch, target, &made, &error) != VYRE_OK || vy_program_verify(made, &error) != VYRE_OK)
        fail_msg("not fused in place: %s", error.message);
    assert_ptr_equal(made, scratch);
    assert_int_equal(made->is_unique, 0);
    assert_int_equal(vyre_text_print(want, &texts[0], NULL), VYRE_OK);
    assert_int_equal(vyre_text_print(made, &texts[1], NULL), VYRE_OK);
    assert_string_equal((const char *)texts[0].data, (const char *)texts[1].data);
    assert_int_equal(made->stmt_positions.count, made->stmts.count);
    vyre_bytes_free(&texts[0]);
    vyre_bytes_free(&texts[1]);
    vyre_program_release(made);
    vyre_program_release(scratch);
}

static inline vyre_program *fused(const vyre_program *program, uint32_t bytes, int is_aligned) {
    vyre_program *made = NULL;
    vyre_error error = {0};
    vy_target_desc target = {.exact = ALL_BITS, .access_bytes = bytes, .aligned_buffers = (uint8_t)is_aligned};
    if (vy_vectorize_mem(program, &target, &made, &error) != VYRE_OK)
        fail_msg("not fused: %s", error.message);
    check_scratch(program, &target, made);
    return made;
}

/* Compares `made` with what is wanted, for buffers that start anywhere, or on boundaries only. Returns what differs, or
 * NULL. */
static inline const char *fused_differs(vyre_program *made, const vyre_arguments *arguments, const outcome *want,
                                        int is_aligned) {
    static outcome got;
    const char *difference = NULL;
    for (uint64_t k = 0; k < (is_aligned ? 2 : 6) && !difference; k++) {
        vy_lowered_env conditions = {.garbage = k + 1, .misalignment = is_aligned ? 0 : k * 977};
        vyre_oracle_options options = {
            .checks = VYRE_CHECK_RACES, .budget = (uint64_t)STEPS * MORE, .seed = is_aligned ? k : k / 2};
        outcome_of(made, arguments, options, &conditions, &got);
        difference = outcome_differs(want, &got);
        outcome_free(&got);
    }
    return difference;
}

/* Tries all targets; returns how many wide accesses were made in all, or fails the test. */
static inline unsigned check_fusing(vyre_program *program, const vyre_arguments *arguments, const char *what) {
    static outcome want;
    const vy_lowered_env none = {.garbage = 5};
    unsigned wide = 0;
    outcome_of(program, arguments, (vyre_oracle_options){.budget = STEPS}, &none, &want);
    for (uint32_t bytes = 4; bytes <= 16 && (want.status == VYRE_OK || want.status == VYRE_TRAPPED); bytes *= 2)
        for (int is_aligned = 0; is_aligned < 2; is_aligned++) {
            vyre_program *made = fused(program, bytes, is_aligned);
            const char *difference = fused_differs(made, arguments, &want, is_aligned);
            if (difference) {
                print_program(program);
                print_program(made);
                fail_msg("%s, %u bytes, %s: %s", what, bytes, is_aligned ? "aligned" : "not aligned", difference);
            }
            access_counts counts = counts_of(made);
            wide += counts.wide_loads + counts.wide_stores;
            vyre_program_release(made);
        }
    outcome_free(&want);
    return wide;
}

#endif
