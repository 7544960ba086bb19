/* The table of passes, and the loop that runs it: a pass that exceeds a limit of the language is switched off.
 *
 * Invariants of the loop:
 *  - Passes are trusted: between them nothing is validated. One row of the table validates the legal program.
 *  - The input of an optional pass that changed the program is kept until the end. If a later pass or the validation
 *    fails at a limit of the language, the loop finds the last optional pass with a valid input, switches it off, and
 *    continues from that input. Passes before it do not run again.
 *  - A pass may edit its input in place only if the program has one owner (vyre_program.is_unique); such an input
 *    cannot be continued from. */
#include "compile/pipeline.h"

#include "base/status.h"
#include "base/thread.h"
#include "dialect/load.h"
#include "ir/build/builder_internal.h"
#include "ir/irbuilder.h"
#include "lower/legalize.h"
#include "lower/legalizer.h"
#include "lower/vectorize_mem.h"
#include "opt/coarsen.h"
#include "opt/pass_manager.h"
#include "opt/unroll_arrays.h"
#include "opt/version_checks.h"

#define ROWS_MAX 24

typedef struct run {
    vy_target_desc target;
    vy_compile_report *report;
    vyre_program *program;        /* so far */
    vyre_program *kept[ROWS_MAX]; /* by row: the input of an optional pass that changed the program; or NULL */
    vyre_program *optimised;      /* the output of the optimiser, or NULL */
    uint32_t off;                 /* bits by row */
    int checks_passes;            /* the optimiser validates after each of its passes, and drops invalid results */
    int unrolled_late;            /* `unroll-late` changed the program */
    vy_opt_policy late;           /* its policy */
    uint32_t factor;
    const char *reason;
    vy_compile_step step; /* the next one to report: sizes before it */
} run;

/* ---- reporting ---- */

static void report_step(run *r, const vyre_program *after) {
    vy_compile_step *s = &r->step;
    s->statements_after = after->stmts.count;
    s->expressions_after = after->exprs.count;
    r->report->steps++;
    if (r->report->observe)
        r->report->observe(r->report->user, s, after);
    *s = (vy_compile_step){.statements_before = s->statements_after, .expressions_before = s->expressions_after};
}

static void report_off(run *r, const char *pass) {
    for (size_t i = 0; i + 1 < sizeof r->report->off / sizeof *r->report->off; i++)
        if (!r->report->off[i]) {
            r->report->off[i] = pass;
            return;
        }
}

/* The observer of the optimiser. */
static void observe_pass(void *user, const vyre_pass_run *pass, const vyre_program *after) {
    run *r = user;
    r->step.pass = vyre_pass_name(pass->pass);
    r->step.nanoseconds = pass->nanoseconds;
    r->step.is_changed = pass->changes != 0;
    r->step.is_dropped = pass->was_refused != 0;
    report_step(r, after);
}

/* ---- the passes: each makes a program of r->program, or retains that ---- */

/* Before `inline`, while an op's body is a function. A program that was transformed after linking is unchanged. */
static vyre_status run_math_variants(run *r, vyre_program **out, vyre_error *error) {
    static const char *const variants[] = {
        [VY_MATH_WITHOUT_F64] = VY_VARIANT_WITHOUT_F64, [VY_MATH_WITH_TABLES] = VY_VARIANT_WITH_TABLES};
    return vy_program_link_variant(r->program, variants[r->target.math], out, error);
}

static vyre_status run_inline(run *r, vyre_program **out, vyre_error *error) {
    if (!vy_program_has_entry(r->program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a `program`, not a file of functions",
                       "a library has no entry to legalise");
    if ((r->program->facts & VY_PROGRAM_HAS_OP_CALL) && !vy_program_is_lowered(r->program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "resolve it first: vyre_program_resolve (vyre/dialect.h)",
                       "the program calls ops that are not resolved");
    return vy_program_inline_unverified(r->program, out, error);
}

static vyre_status run_coarsen(run *r, vyre_program **out, vyre_error *error) {
    vy_coarsened made;
    vyre_status status = vy_coarsen_unverified(r->program, &r->target, &made, error);
    r->factor = made.factor;
    r->reason = made.reason;
    *out = made.program;
    return status;
}

static vyre_status optimise(run *r, const vyre_optimize_options *passes, const vy_opt_policy *policy,
                            vyre_program **out, vyre_error *error) {
    vyre_optimize_options options = *passes;
    options.observer = observe_pass;
    options.observer_user = r;
    return vy_optimize_unverified(r->program, &options, policy, r->checks_passes, out, error);
}

static vyre_status run_optimise(run *r, vyre_program **out, vyre_error *error) {
    const vy_opt_policy policy = vy_opt_policy_for(&r->target.unroll);
    vyre_status status = optimise(r, &(vyre_optimize_options){.level = r->target.optimise}, &policy, out, error);
    vyre_program_release(r->optimised);
    r->optimised = status == VYRE_OK ? vyre_program_retain(*out) : NULL;
    return status;
}

static vyre_status run_unroll_late(run *r, vyre_program **out, vyre_error *error) {
    uint64_t nodes, changes = 0;
    vyre_status status = vy_unroll_arrays_size(r->program, &nodes, error);
    if (status != VYRE_OK)
        return status;
    r->late = vy_opt_policy_for(&r->target.unroll_late);
    if (nodes > r->target.unroll_late_nodes) {
        r->late.unroll.private_trips = r->late.unroll.trips;
        r->late.unroll.private_cost = r->late.unroll.cost;
    }
    r->late.unroll.folds = VY_FOLDS_UNROLLED;
    status = vy_pass_run_unverified(VYRE_PASS_UNROLL, r->program, &r->late, out, &changes, error);
    r->unrolled_late = changes != 0;
    return status;
}

/* After `unroll-late`: inner loops may have a known number of iterations now, and literals propagate through the
 * iterations. Each pass runs once, because the program is large. */
static vyre_status run_fold_late(run *r, vyre_program **out, vyre_error *error) {
#define PASS(ID) VYRE_PASS_##ID
    static const vyre_pass passes[] = {PASS(UNROLL), PASS(INSTCOMBINE), PASS(SIMPLIFY_CFG),    PASS(UNROLL),
                                       PASS(GVN),    PASS(RANGE),       PASS(STRENGTH_REDUCE), PASS(DCE)};
#undef PASS
    if (!r->unrolled_late)
        return vy_program_unchanged(r->program, out);
    r->late.unroll.folds = VY_FOLDS_ALL;
    return optimise(r, &(vyre_optimize_options){.passes = passes, .pass_count = sizeof passes / sizeof *passes},
                    &r->late, out, error);
}

static vyre_status lower_zero_init(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                   vyre_error *error) {
    (void)target;
    return vy_legalize_zero_init(program, out, error);
}

/* Unrolling of array loops makes a program so large that only its declarations are checked before it, in release
 * builds: the iterations are valid if the loop is. */
static vyre_status run_verify(run *r, vyre_program **out, vyre_error *error) {
    vyre_status status = r->target.unroll_arrays ? vy_program_verify_for_codegen(r->program, error)
                                                 : vy_program_verify(r->program, error);
    return status == VYRE_OK ? vy_program_unchanged(r->program, out) : status;
}

static vyre_status lower_unroll_arrays(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                       vyre_error *error) {
    (void)target;
    return vy_unroll_arrays(program, out, error);
}

/* ---- conditions ---- */

static int has_variant(const vy_target_desc *t) {
    return t->math != VY_MATH_WITH_F64;
}
static int coarsens(const vy_target_desc *t) {
    return t->coarsen != VY_COARSEN_NEVER && t->access_bytes;
}
static int optimises(const vy_target_desc *t) {
    return t->optimise;
}
static int unrolls_late(const vy_target_desc *t) {
    return t->optimise && t->unroll_late.trips;
}
static int needs_zeroes(const vy_target_desc *t) {
    return !t->zeroes_arrays;
}
static int lacks_f64(const vy_target_desc *t) {
    return !(t->exact & VY_NUMERIC_F64);
}
static int lacks_int64(const vy_target_desc *t) {
    return !(t->exact & VY_NUMERIC(INT64));
}
static int unrolls_arrays(const vy_target_desc *t) {
    return t->unroll_arrays;
}
static int versions_checks(const vy_target_desc *t) {
    return t->version_checks;
}
static int has_wide_access(const vy_target_desc *t) {
    return t->access_bytes >= 2;
}

/* ---- the table ---- */

typedef struct row {
    const char *name, *doc;
    int (*applies)(const vy_target_desc *target); /* NULL: to every target */
    /* one of the two */
    vyre_status (*run)(run *r, vyre_program **out, vyre_error *error);
    vy_lower_phase *lower;
    uint8_t is_optional; /* the program computes the same without it */
} row;

static const row table[] = {
    {"math-variants", "functions of `math` are linked with the bodies for the target", has_variant, run_math_variants,
     NULL, 0},
    {"inline", "calls of functions become their bodies", NULL, run_inline, NULL, 0},
    {"coarsen", "thread coarsening: an invocation executes several", coarsens, run_coarsen, NULL, 1},
    {"optimise", "the passes of `vyre opt --list`, in rounds", optimises, run_optimise, NULL, 1},
    {"unroll-late", "unrolls further than the rounds do", unrolls_late, run_unroll_late, NULL, 1},
    {"fold-late", "eight passes over unrolled loops, once each", unrolls_late, run_fold_late, NULL, 0},
    {"zero-init", "zeroes arrays that may be read before they are written", needs_zeroes, NULL, lower_zero_init, 0},
    {"traps", "traps and cancellation become control flow", NULL, NULL, vy_lower_traps, 0},
    {"collectives", "collectives become shuffles, arrays and barriers", NULL, NULL, vy_lower_collectives, 0},
    {"bounds-checks", "accesses that are not proven in bounds get a test", NULL, NULL, vy_lower_bounds_checks, 0},
    {"promote-narrow", "narrow types become 32-bit ones", NULL, NULL, vy_lower_promote_narrow, 0},
    {"numerics", "inexact ops become calls of soft-float functions", NULL, NULL, vy_lower_numerics, 0},
    {"f64-as-bits", "f64 becomes u64", lacks_f64, NULL, vy_lower_f64_as_bits, 0},
    {"split-int64", "64-bit integers become two of 32 bits", lacks_int64, NULL, vy_lower_split_int64, 0},
    {"version-checks", "accesses under one test of their bounds", versions_checks, NULL, vy_version_checks, 1},
    {"verify", "validates the legal program", NULL, run_verify, NULL, 0},
    {"unroll-arrays", "unrolls loops over private arrays", unrolls_arrays, NULL, lower_unroll_arrays, 1},
    {"vectorize-mem", "adjacent loads and stores become wide ones", has_wide_access, NULL, vy_vectorize_mem, 1},
};
enum { ROWS = sizeof table / sizeof *table };
_Static_assert(ROWS <= ROWS_MAX, "a run has a slot and a bit for every row");

const char *vy_compile_pass_name(unsigned index) {
    return index < ROWS ? table[index].name : NULL;
}

const char *vy_compile_pass_doc(unsigned index) {
    return index < ROWS ? table[index].doc : NULL;
}

int vy_compile_pass_applies(unsigned index, const vy_target_desc *target) {
    return index < ROWS && (!table[index].applies || table[index].applies(target));
}

/* ---- limits ---- */

static int is_limit(vyre_status status) {
    return status == VYRE_LIMIT || status == VYRE_INVALID_PROGRAM;
}

static int is_valid(vyre_program *program) {
    vyre_error ignored;
    return vy_program_verify(program, &ignored) == VYRE_OK;
}

/* Whether switching off row i may help row `failed`, which failed at a limit. */
static int is_candidate(run *r, unsigned i, unsigned failed) {
    if (!table[i].is_optional || r->off >> i & 1)
        return 0;
    if (table[i].run == run_optimise && (r->checks_passes || (r->optimised && is_valid(r->optimised))))
        return 0;
    return i == failed || (r->kept[i] && is_valid(r->kept[i]));
}

static void switch_off(run *r, unsigned i) {
    if (table[i].run == run_optimise) { /* it drops the pass that fails, not all of them */
        r->checks_passes = 1;
        return;
    }
    r->off |= 1u << i;
    report_off(r, table[i].name);
    if (table[i].run == run_coarsen) {
        r->factor = 1;
        r->reason = "coarsened, it exceeds a limit of the language";
    } else if (table[i].run == run_unroll_late) {
        r->unrolled_late = 0;
    }
}

/* After a limit in row `failed`: switches a pass off and sets *next to the row that continues. */
static int resume(run *r, unsigned failed, unsigned *next) {
    unsigned i = failed + 1;
    while (i-- > 0 && !is_candidate(r, i, failed))
        ;
    if (i >= ROWS)
        return 0;
    switch_off(r, i);
    if (i == failed && !r->program->is_unique) {
        *next = i;
        return 1;
    }
    while (!r->kept[i])
        i--;
    vyre_program_release(r->program);
    r->program = r->kept[i];
    r->kept[i] = NULL;
    for (unsigned k = i + 1; k < ROWS; k++) {
        vyre_program_release(r->kept[k]);
        r->kept[k] = NULL;
    }
    r->report->resumed++;
    r->step =
        (vy_compile_step){.statements_before = r->program->stmts.count, .expressions_before = r->program->exprs.count};
    *next = i;
    return 1;
}

/* ---- the loop ---- */

static vyre_status run_row(run *r, unsigned i, vyre_error *error) {
    vyre_program *made = NULL;
    const uint64_t start = vy_clock_now();
    const uint32_t steps = r->report->steps;
    vyre_status status = vy_deadline_check(vyre_program_name(r->program), table[i].name, error);
    if (table[i].lower) /* the others count themselves */
        vy_pass_count();
    if (status == VYRE_OK)
        status = table[i].run ? table[i].run(r, &made, error) : table[i].lower(r->program, &r->target, &made, error);
    if (status != VYRE_OK) {
        vyre_program_release(made);
        return status;
    }
    if (table[i].is_optional && made != r->program)
        r->kept[i] = r->program;
    else
        vyre_program_release(r->program);
    if (r->report->steps == steps) { /* else the passes of the optimiser were reported */
        r->step.pass = table[i].name;
        r->step.nanoseconds = vy_clock_now() - start;
        r->step.is_changed = made != r->program;
        report_step(r, made);
    }
    r->program = made;
    return VYRE_OK;
}

/* What the passes make is valid but for the limits of the language, which the original kept. */
static vyre_status fail_limit(vyre_error *error) {
    return vy_fail_limit(error, "write less of what the message names, or choose a device for which less is rewritten",
                         "the legalised program exceeds a limit");
}

static vyre_status run_table(run *r, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (unsigned i = 0; i < ROWS && status == VYRE_OK;) {
        unsigned next = i + 1;
        if (!(r->off >> i & 1) && vy_compile_pass_applies(i, &r->target))
            status = run_row(r, i, error);
        if (is_limit(status) && resume(r, i, &next))
            status = VYRE_OK;
        i = next;
    }
    return status == VYRE_INVALID_PROGRAM ? fail_limit(error) : status;
}

static vyre_status compile(vyre_program *program, const vy_target_desc *target, vy_compile_report *report,
                           vy_compiled *out, vyre_error *error) {
    vy_compile_report unused = {0};
    run r = {.target = *target,
             .report = report ? report : &unused,
             .program = vyre_program_retain(program),
             .factor = 1,
             .reason = "its grid does not change"};
    r.target.exact &= VY_NUMERIC_ALL; /* bits without a name guarantee nothing */
    if (lacks_int64(&r.target))       /* f64 without u64 could not be inspected */
        r.target.exact &= ~VY_NUMERIC_F64;
    r.step.statements_before = program->stmts.count;
    r.step.expressions_before = program->exprs.count;
    vyre_status status = run_table(&r, error);
    for (unsigned i = 0; i < ROWS; i++)
        vyre_program_release(r.kept[i]);
    vyre_program_release(r.optimised);
    if (status == VYRE_OK && r.program->is_unique)
        r.program->is_unique = 0;
    if (status != VYRE_OK) {
        vyre_program_release(r.program);
        r.program = NULL;
    }
    *out = (vy_compiled){r.program, r.factor, r.factor > 1 ? NULL : r.reason};
    return status;
}

vyre_status vy_compile_pipeline(vyre_program *program, const vy_target_desc *target, vy_compile_report *report,
                                vy_compiled *out, vyre_error *error) {
    if (vyre_program_level(program) != VYRE_LEVEL_LEGAL)
        return compile(program, target, report, out, error);
    *out = (vy_compiled){vyre_program_retain(program), 1, "it is legal already"};
    return VYRE_OK;
}

vyre_status vy_legalize(vyre_program *program, const vy_target_desc *target, vyre_program **out, vyre_error *error) {
    vy_target_desc legal_only = *target;
    vy_compiled made;
    legal_only.optimise = 0;
    legal_only.coarsen = VY_COARSEN_NEVER;
    vyre_status status = compile(program, &legal_only, NULL, &made, error);
    if (status == VYRE_OK)
        status = vy_program_finalize(made.program, error);
    if (status != VYRE_OK) {
        vyre_program_release(made.program);
        made.program = NULL;
    }
    *out = made.program;
    return status;
}
