/* The pass pipeline before PTX: coarsening, optimisation, legalisation (ptx.h). */
#include "emit/ptx/ptx.h"

#include "ir/build/builder_internal.h"
#include "ir/irbuilder.h"
#include "opt/coarsen.h"
#include "opt/pass_manager.h"
#include "opt/unroll_arrays.h"

/* Statements and expressions from which on passes over all trips cost more than what they find. */
enum { LARGE = 6000 };

static vyre_status widen(vyre_program *program, const vy_ptx_prepare_options *options, vy_coarsened *out,
                         vyre_error *error) {
    const vy_coarsen_options widest = {.access_bytes = vy_ptx_target(options->architecture, 0).access_bytes};
    if (!options->keeps_grid)
        return vy_coarsen_unverified(program, &widest, out, error);
    *out = (vy_coarsened){vyre_program_retain(program), 1, "its grid is kept as it is"};
    return VYRE_OK;
}

/* What follows far unrolling: loops inside may be counted now; literals go through what became of them, for unrolling
 * folds. Once each, for the program is large. */
#define PASS(ID) VYRE_PASS_##ID
static const vyre_pass behind[] = {PASS(UNROLL), PASS(INSTCOMBINE), PASS(SIMPLIFY_CFG),    PASS(UNROLL),
                                   PASS(GVN),    PASS(RANGE),       PASS(STRENGTH_REDUCE), PASS(DCE)};
#undef PASS

/* A pass and passes, on trust (optimize.h) or not. */
static vyre_status unroll_far(const vyre_program *program, const vy_opt_policy *rules, int trusts, vyre_program **out,
                              uint64_t *changes, vyre_error *error) {
    int was_refused;
    return trusts ? vy_pass_run_unverified(VYRE_PASS_UNROLL, program, rules, out, changes, error)
                  : vy_pass_run(VYRE_PASS_UNROLL, program, rules, out, changes, &was_refused, error);
}

static vyre_status run_passes(const vyre_program *program, const vyre_optimize_options *options,
                              const vy_opt_policy *rules, int trusts, vyre_program **out, vyre_error *error) {
    return trusts ? vy_optimize_unverified(program, options, rules, out, error)
                  : vy_optimize_by(program, options, rules, out, NULL, error);
}

/* Unrolls far. What is small is unrolled here, so that passes and proofs see every trip of it; of what becomes large,
 * loops over private arrays are written out behind legalisation. */
static vyre_status unroll(vyre_program *program, int trusts, vyre_program **out, vyre_error *error) {
    const vyre_optimize_options rest = {.passes = behind, .pass_count = sizeof behind / sizeof *behind};
    vyre_program *unrolled = NULL;
    uint64_t changes, nodes;
    *out = NULL;
    vyre_status status = vy_unroll_arrays_size(program, &nodes, error);
    vy_opt_policy rules = nodes > LARGE ? vy_opt_defer_array_loops : vy_opt_unroll_aggressive;
    rules.unroll.folds = VY_FOLDS_UNROLLED;
    if (status == VYRE_OK)
        status = unroll_far(program, &rules, trusts, &unrolled, &changes, error);
    if (status != VYRE_OK)
        return status;
    rules.unroll.folds = VY_FOLDS_ALL;
    if (changes)
        status = run_passes(unrolled, &rest, &rules, trusts, out, error);
    else
        *out = vyre_program_retain(unrolled);
    vyre_program_release(unrolled);
    return status;
}

static vyre_status optimise(vyre_program *program, int trusts, vyre_program **out, vyre_error *error) {
    const vyre_optimize_options everything = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_program *optimised;
    *out = NULL;
    vyre_status status = run_passes(program, &everything, &vy_opt_default, trusts, &optimised, error);
    if (status != VYRE_OK)
        return status;
    status = unroll(optimised, trusts, out, error);
    vyre_program_release(optimised);
    return status;
}

static vyre_status lower_by(vyre_program *program, const vy_ptx_prepare_options *options, int trusts,
                            vyre_program **legal, vyre_error *error) {
    vy_target_desc target = vy_ptx_target(options->architecture, options->cancellable);
    vyre_program *optimised;
    vyre_status status = optimise(program, trusts, &optimised, error);
    if (status != VYRE_OK)
        return status;
    target.exact &= ~options->inexact;
    target.aligned_buffers = options->aligned;
    target.writes_out = 1;
    return vy_legalize_unverified(optimised, &target, legal, error);
}

/* The validator sees the result alone. Where it does not like that, it looks at every pass, so that one that shows an
 * error or goes over a limit is left out. */
static vyre_status lower(vyre_program *program, const vy_ptx_prepare_options *options, vyre_program **legal,
                         vyre_error *error) {
    vyre_status status = lower_by(program, options, 1, legal, error);
    return status == VYRE_LIMIT ? lower_by(program, options, 0, legal, error) : status;
}

static vyre_status widen_and_lower(vyre_program *inlined, const vy_ptx_prepare_options *options, vy_ptx_prepared *out,
                                   vyre_error *error) {
    vy_coarsened widened;
    vyre_status status = widen(inlined, options, &widened, error);
    if (status != VYRE_OK)
        return status;
    status = lower(widened.program, options, &out->program, error);
    out->factor = widened.factor;
    out->reason = widened.reason;
    vyre_program_release(widened.program);
    if ((status != VYRE_LIMIT && status != VYRE_INVALID_PROGRAM) || out->factor == 1)
        return status;
    out->factor = 1; /* as it is, it may still fit */
    out->reason = "widened, it is over a limit of the language";
    return lower(inlined, options, &out->program, error);
}

vyre_status vy_ptx_prepare(vyre_program *program, const vy_ptx_prepare_options *options, vy_ptx_prepared *out,
                           vyre_error *error) {
    vyre_program *inlined;
    *out = (vy_ptx_prepared){.factor = 1};
    if (vyre_program_level(program) == VYRE_LEVEL_LEGAL) {
        out->program = vyre_program_retain(program);
        out->reason = "it is legal already";
        return VYRE_OK;
    }
    vyre_status status = vy_program_inline_unverified(program, &inlined, error);
    if (status != VYRE_OK)
        return status;
    status = widen_and_lower(inlined, options, out, error);
    vyre_program_release(inlined);
    return status;
}
