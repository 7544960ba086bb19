/* The whole way of a program, with everything on it chosen at random: a generated program that leaves its memories and
 * traps, through passes of the optimiser in any order, perhaps widened and optimised again, legalised for a target of
 * any kind, and run as the worst device of its profile: with arrays full of garbage, buffers that start anywhere, a
 * schedule of its own and races looked for. Unless it is told to stop, it delivers what the program delivers in the
 * oracle, and needs nothing that the target does not have.
 *
 * VYRE_SEED starts elsewhere, VYRE_EFFORT makes it that many times longer. A case that differs prints its seed and
 * shrinks itself. */
#include "lower/bounds_checks_campaign.h"
#include "lower/covering.h"
#include "lower/holds.h"
#include "lower/put_traps.h"
#include "lower/traps_runner.h"

#include "compile/pipeline.h"
#include "ir/dispatch_resolve.h"
#include "opt/coarsen.h"

/* All that happens to a program. */
typedef struct way {
    opt_sequence before, after; /* widening */
    int is_widened;
    vy_target_desc target;
    vyre_oracle_options options;
    vy_lowered_env conditions;
    char why[1400];
    /* What was seen. */
    vyre_program *made; /* of the last one tried */
    unsigned refused, widened, stopped;
} way;

/* ---- choosing ---- */

static vy_target_desc any_target(vy_random *random) {
    static const uint32_t widths[] = {0, 0, 2, 4, 8, 16, 32, 64}, bytes[] = {0, 4, 8, 16, 16};
    const covering *rows = covering_rows();
    uint64_t kind = vy_random_below(random, 4);
    vy_target_desc target = {.subgroup_width = widths[vy_random_below(random, 8)],
                             .access_bytes = bytes[vy_random_below(random, 5)],
                             .native_collectives = vy_random_below(random, 4) == 0,
                             .cancellable = vy_random_below(random, 3) == 0,
                             .zeroes_arrays = vy_random_below(random, 4) == 0,
                             .aligned_buffers = vy_random_below(random, 3) == 0,
                             .version_checks = (uint8_t)vy_random_below(random, 3)};
    target.exact = kind == 0   ? profiles[vy_random_below(random, PROFILES)].exact
                   : kind == 1 ? rows->rows[vy_random_below(random, rows->count)].exact
                   : kind == 2 ? vy_random_next(random) & ALL_BITS
                               : ALL_BITS;
    return target;
}

static opt_sequence any_sequence(vy_random *random) {
    opt_sequence sequence = {.count = (unsigned)vy_random_below(random, OPT_SEQUENCE + 1)};
    for (unsigned i = 0; i < sequence.count; i++)
        sequence.passes[i] = (vyre_pass)vy_random_below(random, VYRE_PASS_COUNT);
    return sequence;
}

static void choose(way *w, uint64_t seed) {
    vy_random random = vy_random_start(seed ^ 0xc4a1);
    w->before = any_sequence(&random);
    w->after = any_sequence(&random);
    w->is_widened = vy_random_below(&random, 3) == 0;
    w->target = any_target(&random);
    w->options = (vyre_oracle_options){.checks = VYRE_CHECK_RACES, .budget = (uint64_t)STEPS * 500};
    w->options.seed = vy_random_below(&random, 4) ? vy_random_next(&random) : 0;
    w->conditions = (vy_lowered_env){.garbage = vy_random_next(&random), .misalignment = vy_random_next(&random)};
    w->conditions.zeroes_arrays = w->target.zeroes_arrays;
    if (w->target.cancellable && vy_random_below(&random, 3) == 0) {
        w->conditions.poll = 1 + vy_random_below(&random, 4);
        w->conditions.poll_spread = (uint32_t)vy_random_below(&random, 4);
    }
    if (w->target.aligned_buffers)
        w->conditions.misalignment = 0;
}

/* ---- going ---- */

static vyre_program *passed(way *w, vyre_program *program, const opt_sequence *sequence) {
    static opt_campaign passes = {.rules = &vy_opt_default};
    vyre_program *made = opt_apply(&passes, program, sequence);
    if (!made)
        snprintf(w->why, sizeof w->why, "%s", passes.message);
    vyre_program_release(program);
    return made;
}

/* The grid of the program, in groups, and for a widened one its hidden param. */
static int arguments_of_way(const vyre_program *program, const vy_coarsened *widened, const vyre_arguments *arguments,
                            vyre_scalar *params, vyre_arguments *out) {
    static vy_resolved_dispatch launch;
    vyre_error error;
    *out = *arguments;
    if (widened->factor == 1)
        return 1;
    if (vy_resolve_dispatch(program, arguments, &launch, &error) != VYRE_OK)
        return 0;
    memcpy(params, arguments->params, arguments->param_count * sizeof *params);
    params[arguments->param_count] = (vyre_scalar){VYRE_TYPE_U32, launch.groups[0]};
    out->params = params;
    out->param_count = arguments->param_count + VY_COARSEN_PARAMS;
    out->geometry =
        (vyre_geometry){VYRE_GEOMETRY_GROUPS,
                        {vy_coarsened_groups(widened->factor, launch.groups[0]), launch.groups[1], launch.groups[2]}};
    return 1;
}

static outcome want, got;

/* Where invocations trap or are told to stop, races are not looked for: they go on to the next meeting, and what they
 * load on their way nobody uses. */
static void run_on_device(way *w, vyre_program *legal, const vyre_arguments *arguments, outcome *out) {
    vyre_oracle *oracle = NULL;
    vyre_oracle_report report = {0};
    vyre_error error = {0};
    vyre_oracle_options options = w->options;
    memset(out, 0, sizeof *out);
    options.threads = 1;
    if (want.status == VYRE_TRAPPED || w->conditions.poll)
        options.checks = 0;
    out->status = vy_oracle_new_on(legal, w->target.exact, &oracle, &error);
    if (out->status == VYRE_OK)
        out->status =
            vy_oracle_run_under(oracle, arguments, &options, &w->conditions, out->outputs, &report, NULL, &error);
    out->trap = report.trap;
    if (out->status != VYRE_OK)
        snprintf(out->message, sizeof out->message, "%.390s", error.message);
    vyre_oracle_free(oracle);
}

/* The program at the end of its way, in w->made; or what went wrong. NULL and no program: it is refused. */
static const char *go(way *w, vyre_program *program, vy_coarsened *widened) {
    vyre_error error = {0};
    *widened = (vy_coarsened){.program = passed(w, vyre_program_retain(program), &w->before), .factor = 1};
    if (!widened->program)
        return w->why;
    if (w->is_widened) {
        vyre_program *narrow = widened->program;
        vy_target_desc options = {.access_bytes = 16, .coarsen = VY_COARSEN_IF_POSSIBLE};
        vyre_status status = vy_coarsen(narrow, &options, widened, &error);
        vyre_program_release(narrow);
        if (status != VYRE_OK)
            return "it cannot be widened";
    }
    w->widened += widened->factor > 1;
    widened->program = passed(w, widened->program, &w->after);
    if (!widened->program)
        return w->why;
    vyre_status status = vy_legalize(widened->program, &w->target, &w->made, &error);
    w->refused += status == VYRE_UNSUPPORTED;
    if (status == VYRE_OK)
        return legal_fault(w->made, &w->target);
    snprintf(w->why, sizeof w->why, "not legalised: %s", error.message);
    return status == VYRE_UNSUPPORTED ? NULL : w->why;
}

/* Whether the program ends, without races, also where a trap would hide them. */
static int ends(vyre_program *program, const vyre_arguments *arguments) {
    const vyre_oracle_options options = {.threads = 1, .budget = STEPS, .checks = VYRE_CHECK_RACES};
    vyre_oracle *oracle = NULL;
    vyre_oracle_report report = {0};
    vyre_diagnostics *found = vyre_diagnostics_new();
    outcome_free(&want);
    want.status = vyre_oracle_new(program, &oracle, NULL);
    if (want.status == VYRE_OK)
        want.status = vyre_oracle_run(oracle, arguments, &options, want.outputs, &report, found, NULL);
    want.trap = report.trap;
    int is_right = !vyre_diagnostics_errors(found) && (want.status == VYRE_OK || want.status == VYRE_TRAPPED);
    vyre_diagnostics_free(found);
    vyre_oracle_free(oracle);
    return is_right;
}

/* Whether something else comes out at the end of the way. */
static int strays(way *w, vyre_program *program, const vyre_arguments *arguments) {
    static legal_arguments legal_given;
    vyre_scalar params[VY_LIMIT_PARAMS + 1];
    vyre_arguments given;
    vy_coarsened widened;
    w->why[0] = 0;
    vyre_program_release(w->made);
    w->made = NULL;
    const char *fault = go(w, program, &widened);
    if (!fault && w->made && arguments_of_way(program, &widened, arguments, params, &given)) {
        run_on_device(w, w->made, arguments_for(widened.program, w->target.exact, &given, &legal_given), &got);
        int is_cut = got.status == VYRE_TIMEOUT || (got.status == VYRE_TRAPPED && want.status == VYRE_TRAPPED);
        w->stopped += got.status == VYRE_TIMEOUT;
        fault = w->conditions.poll && is_cut ? NULL : outcome_differs(&want, &got);
        outcome_free(&got);
    }
    if (fault && fault != w->why)
        snprintf(w->why, sizeof w->why, "%s", fault);
    vyre_program_release(widened.program);
    return fault != NULL;
}

static int still_strays(void *user, const vyre_case *candidate) {
    vyre_program *program = vyre_case_program(candidate);
    const vyre_arguments *arguments = vyre_case_arguments(candidate);
    return ends(program, arguments) && strays(user, program, arguments);
}

/* ---- the case of a seed ---- */

static void show_way(const way *w) {
    const opt_sequence *sequences[] = {&w->before, &w->after};
    for (int k = 0; k < 2; k++) {
        printf(k ? "\n%s, then:" : "%s:", k ? w->is_widened ? "widened" : "not widened" : "passes");
        for (unsigned i = 0; i < sequences[k]->count; i++)
            printf(" %s", vyre_pass_name(sequences[k]->passes[i]));
    }
    printf("\ntarget: exact %" PRIx64 ", subgroups of %u, accesses of %u bytes%s%s%s%s\n", w->target.exact,
           w->target.subgroup_width, w->target.access_bytes, w->target.native_collectives ? ", collectives" : "",
           w->target.cancellable ? ", cancellable" : "", w->target.zeroes_arrays ? ", zeroes arrays" : "",
           w->target.aligned_buffers ? ", aligned buffers" : "");
}

static void fail_with_smallest(way *w, vyre_program *program, const vyre_arguments *arguments, uint64_t seed) {
    vyre_case *found = NULL, *small = NULL;
    char first[1400];
    snprintf(first, sizeof first, "%s", w->why);
    show_way(w);
    assert_int_equal(vyre_case_new(program, arguments, &found, NULL), VYRE_OK);
    if (vyre_shrink(found, still_strays, w, 1500, &small, NULL) == VYRE_OK) {
        still_strays(w, small);
        print_program(vyre_case_program(small));
        if (w->made)
            print_program(w->made);
    }
    vyre_case_free(small);
    vyre_case_free(found);
    fail_msg("seed %" PRIu64 ": %s; small: %s", seed, first, w->why);
}

/* Generated, then made worse: by what passes look for, by indices that leave, by traps. */
static vyre_program *worsened(vyre_program *program, uint64_t seed) {
    vyre_program *flat = NULL, *made;
    vy_random random = vy_random_start(seed);
    assert_int_equal(vyre_program_inline(program, &flat, NULL), VYRE_OK);
    if (seed % 3 == 0) {
        made = opt_seasoned(flat, seed, 14);
        vyre_program_release(flat);
        flat = made;
    }
    if (seed % 4 == 1) {
        made = leaving_program(flat, seed);
        vyre_program_release(flat);
        flat = made;
    }
    if (seed % 5 == 0 && (made = with_traps(flat, &random, 8))) {
        vyre_program_release(flat);
        flat = made;
    }
    return flat;
}

static int try_seed(way *w, uint64_t seed) {
    vyre_generate_options options = {
        .seed = seed, .statements = 6 + (unsigned)(seed % 14), .depth = 3, .invocations = 16 + (unsigned)(seed % 64)};
    vyre_case *made = NULL;
    if (seed % 3)
        options.stress = 1u << seed / 3 % 8 | 1u << seed / 7 % 8;
    if (seed % 2)
        options.types = 1u << VYRE_TYPE_BOOL | 1u << VYRE_TYPE_U32 | 1u << seed / 2 % VYRE_TYPE_COUNT |
                        1u << seed / 11 % VYRE_TYPE_COUNT;
    assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
    vyre_program *program = worsened(vyre_case_program(made), seed);
    int is_judged = ends(program, vyre_case_arguments(made));
    choose(w, seed);
    if (is_judged && strays(w, program, vyre_case_arguments(made)))
        fail_with_smallest(w, program, vyre_case_arguments(made), seed);
    vyre_program_release(program);
    vyre_case_free(made);
    return is_judged;
}

static void programs_come_through_with_their_bits(void **state) {
    (void)state;
    static way w;
    const char *first = getenv("VYRE_SEED");
    uint64_t start = first ? strtoull(first, NULL, 0) : 1;
    unsigned total = (VY_SANITIZED ? 150 : 1500) * vy_test_effort(), judged = 0;
    for (uint64_t seed = start; seed < start + total; seed++)
        judged += (unsigned)try_seed(&w, seed);
    printf("%u of %u programs judged, %u widened, %u stopped, %u refused\n", judged, total, w.widened, w.stopped,
           w.refused);
    vyre_program_release(w.made);
    outcome_free(&want);
    assert_true(judged > total / 2 && w.refused < judged / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_come_through_with_their_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
