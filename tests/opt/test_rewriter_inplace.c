/* A pass that changes the program it was given, since that is nobody else's, makes the one that it would have made: the
 * same text, the same positions, as many changes. And passes that are not asked again would have found nothing. */
#include "ir/build/builder_internal.h"
#include "opt/campaign.h"

enum { SEEDS = 400, STEPS = 12 };

/* A seasoned program with positions, as its text is parsed; NULL if there is none for that seed. */
static vyre_bytes make_text(uint64_t seed) {
    vyre_generate_options options = {.seed = seed, .statements = 12, .depth = 3, .stress = 1u << seed % 8};
    vyre_case *made;
    vyre_program *flat, *program;
    vyre_error error;
    vyre_bytes text = VYRE_BYTES_INIT;
    assert_int_equal(vyre_generate(&options, &made, &error), VYRE_OK);
    assert_int_equal(vyre_program_inline(vyre_case_program(made), &flat, &error), VYRE_OK);
    program = opt_seasoned(flat, seed, 6);
    assert_int_equal(vyre_text_print(program, &text, &error), VYRE_OK);
    vyre_program_release(program);
    vyre_program_release(flat);
    vyre_case_free(made);
    return text;
}

static vyre_program *parse(const vyre_bytes *text) {
    vyre_module *module;
    if (vyre_text_parse((const char *)text->data, text->size, NULL, NULL, &module, NULL) != VYRE_OK)
        return NULL; /* a race came to light */
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    return program;
}

static int is_equal(const void *one, uint32_t count, const void *other, uint32_t other_count, size_t size) {
    return count == other_count && (count == 0 || memcmp(one, other, count * size) == 0);
}

static void check_same(uint64_t seed, vyre_pass pass, const vyre_program *made, const vyre_program *edited) {
    vyre_bytes texts[2] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT};
    assert_int_equal(vyre_text_print(made, &texts[0], NULL), VYRE_OK);
    assert_int_equal(vyre_text_print(edited, &texts[1], NULL), VYRE_OK);
    if (!is_equal(texts[0].data, (uint32_t)texts[0].size, texts[1].data, (uint32_t)texts[1].size, 1))
        fail_msg("seed %llu, %s: made\n%.*s\nedited\n%.*s", (unsigned long long)seed, vyre_pass_name(pass),
                 (int)texts[0].size, (const char *)texts[0].data, (int)texts[1].size, (const char *)texts[1].data);
    assert_true(is_equal(made->stmt_positions.items, made->stmt_positions.count, edited->stmt_positions.items,
                         edited->stmt_positions.count, sizeof(vy_position)));
    assert_true(is_equal(made->expr_positions.items, made->expr_positions.count, edited->expr_positions.items,
                         edited->expr_positions.count, sizeof(vy_position)));
    assert_int_equal(made->facts, edited->facts);
    vyre_bytes_free(&texts[0]);
    vyre_bytes_free(&texts[1]);
}

/* Nobody else has it, and nobody has seen it yet. */
static void make_scratch(vyre_program *program) {
    program->is_unique = 1;
    program->is_verified = program->has_fingerprint = 0;
}

/* One pass after the other on both; how many changed the one that is nobody else's itself. */
static uint32_t run_both(uint64_t seed, vyre_program *made, vyre_program *edited) {
    vy_random random = vy_random_start(seed);
    uint32_t edits = 0;
    vyre_error error;
    for (int i = 0; i < STEPS; i++) {
        vyre_pass pass = (vyre_pass)vy_random_below(&random, VYRE_PASS_COUNT);
        vyre_program *made_next, *edited_next;
        uint64_t changes[2];
        assert_int_equal(vy_pass_run_unverified(pass, made, &vy_opt_default, &made_next, &changes[0], &error), VYRE_OK);
        assert_int_equal(vy_pass_run_unverified(pass, edited, &vy_opt_default, &edited_next, &changes[1], &error),
                         VYRE_OK);
        edits += changes[1] && edited_next == edited;
        vyre_program_release(made);
        vyre_program_release(edited);
        made = made_next;
        edited = edited_next;
        if (changes[0] != changes[1]) { /* only if somebody has looked at what was made, and does not like it */
            assert_true(changes[0] == 0 && vy_program_verify(edited, &error) != VYRE_OK);
            break;
        }
        make_scratch(edited);
        check_same(seed, pass, made, edited);
    }
    vyre_program_release(made);
    vyre_program_release(edited);
    return edits;
}

static void what_is_changed_itself_is_what_would_be_made(void **state) {
    (void)state;
    uint32_t programs = 0, edits = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        vyre_bytes text = make_text(seed);
        vyre_program *made = parse(&text), *edited = parse(&text);
        vyre_bytes_free(&text);
        if (!made)
            continue;
        make_scratch(edited);
        programs++;
        edits += run_both(seed, made, edited);
    }
    printf("%u programs, %u edits\n", programs, edits);
    assert_true(programs > SEEDS / 2 && edits > SEEDS);
}

static void a_program_that_somebody_has_is_left_alone(void **state) {
    (void)state;
    vyre_program *source = vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n"
                                         " x[global_id.x] = x[global_id.x] + 0 + (1 + 2)\n}\n"),
                 *made;
    uint32_t exprs = source->exprs.count;
    const vyre_optimize_options options = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    assert_int_equal(vyre_program_optimize(source, &options, &made, NULL, NULL), VYRE_OK);
    assert_int_equal(source->exprs.count, exprs);
    assert_true(made != source && made->exprs.count < exprs && !made->is_unique);
    vyre_program_release(made);
    vyre_program_release(source);
}

/* ---- passes that are not asked again ---- */

typedef struct census {
    uint32_t stmts, others, reads, facts;
} census;

static census take_census(const vyre_program *program) {
    census all = {.stmts = program->stmts.count, .facts = program->facts};
    for (uint32_t i = 0; i < program->stmts.count; i++)
        all.others += program->stmts.items[i].kind != VY_STMT_LET;
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *e = &program->exprs.items[i];
        all.reads +=
            e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_VARIABLE && program->variables.items[e->a].is_mutable);
    }
    return all;
}

static vyre_program *run_one(vyre_pass pass, vyre_program *from, uint64_t *changes) {
    vyre_program *made;
    assert_int_equal(vy_pass_run_unverified(pass, from, &vy_opt_default, &made, changes, NULL), VYRE_OK);
    vyre_program_release(from);
    return made;
}

/* Runs a pass until it finds nothing, leaves out dead code, and runs the pass again; `dce` itself, where the dead code
 * read nothing that is written. 1 if dead code was nothing but `let`s. */
static int run_around_dead(uint64_t seed, vyre_pass pass, vyre_program *program) {
    enum { MOST = 20 };
    uint64_t changes = pass != VYRE_PASS_DCE, gone = 0, again = 0;
    for (int i = 0; i < MOST && changes; i++)
        program = run_one(pass, program, &changes);
    census before = take_census(program);
    if (!changes)
        program = run_one(VYRE_PASS_DCE, program, &gone);
    census now = take_census(program);
    int is_lets = gone && now.others == before.others && before.stmts - now.stmts == gone;
    if (pass == VYRE_PASS_DCE)
        is_lets &= now.reads == before.reads && now.facts == before.facts;
    if (is_lets)
        program = run_one(pass, program, &again);
    if (again)
        fail_msg("seed %llu: %s finds something once lets that nobody reads are gone", (unsigned long long)seed,
                 vyre_pass_name(pass));
    vyre_program_release(program);
    return is_lets;
}

/* What the pass manager relies on (opt/pass_manager.c). */
static void who_found_nothing_finds_nothing_without_lets_that_nobody_reads(void **state) {
    (void)state;
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        vyre_bytes text = make_text(seed);
        for (unsigned pass = 0; pass < VYRE_PASS_COUNT; pass++) {
            vyre_program *program = pass == VYRE_PASS_UNROLL ? NULL : parse(&text);
            if (program)
                seen += (uint32_t)run_around_dead(seed, (vyre_pass)pass, program);
        }
        vyre_bytes_free(&text);
    }
    printf("%u times\n", seen);
    assert_true(seen > SEEDS / 4);
}

/* The same, where it only moved trees: a condition that it puts before a loop may be moved on. */
static void hoisting_leaves_itself_nothing_to_do(void **state) {
    (void)state;
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        vyre_bytes text = make_text(seed);
        uint64_t changes, again;
        vyre_program *program = parse(&text);
        uint32_t exprs = program->exprs.count;
        program = run_one(VYRE_PASS_LICM, program, &changes);
        if (program->exprs.count != exprs + changes)
            changes = 0;
        program = run_one(VYRE_PASS_LICM, program, &again);
        if (changes && again)
            fail_msg("seed %llu: hoisting finds something in what it made", (unsigned long long)seed);
        seen += changes != 0;
        vyre_program_release(program);
        vyre_bytes_free(&text);
    }
    printf("%u times\n", seen);
    assert_true(seen > SEEDS / 8);
}

/* Runs `range` until it finds nothing, then the pass, then `range` again. 1 if the pass changed what `range` need not
 * look at again. */
static int run_around_pass(uint64_t seed, vyre_pass pass, vyre_program *program) {
    enum { MOST = 20 };
    uint64_t found = 1, changes = 0, again = 0;
    for (int i = 0; i < MOST && found; i++)
        program = run_one(VYRE_PASS_RANGE, program, &found);
    uint32_t exprs = program->exprs.count;
    if (!found)
        program = run_one(pass, program, &changes);
    int is_kept = changes && program->exprs.count == exprs + (pass == VYRE_PASS_LICM ? changes : 0);
    if (is_kept)
        program = run_one(VYRE_PASS_RANGE, program, &again);
    if (again)
        fail_msg("seed %llu: range finds something in what %s made", (unsigned long long)seed, vyre_pass_name(pass));
    vyre_program_release(program);
    return is_kept;
}

/* The same. */
static void hoisting_and_single_ops_give_ranges_nothing_to_do(void **state) {
    static const vyre_pass passes[] = {VYRE_PASS_LICM, VYRE_PASS_STRENGTH_REDUCE};
    (void)state;
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        uint32_t seen = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            vyre_bytes text = make_text(seed);
            vyre_program *program = parse(&text);
            if (program)
                seen += (uint32_t)run_around_pass(seed, passes[k], program);
            vyre_bytes_free(&text);
        }
        printf("%s %u times\n", vyre_pass_name(passes[k]), seen);
        assert_true(seen > SEEDS / 16);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_changed_itself_is_what_would_be_made),
        cmocka_unit_test(a_program_that_somebody_has_is_left_alone),
        cmocka_unit_test(who_found_nothing_finds_nothing_without_lets_that_nobody_reads),
        cmocka_unit_test(hoisting_leaves_itself_nothing_to_do),
        cmocka_unit_test(hoisting_and_single_ops_give_ranges_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
