/* Preparing (prepare.h). */
#include "emit/ptx/prepare.h"

#include "emit/ptx/ptx.h"
#include "transform/optimize.h"
#include "transform/scalars.h"
#include "transform/widen.h"

static vyre_status widen(vyre_program *program, const vy_ptx_prepare_options *options, vy_widened *out,
                         vyre_error *error) {
    const vy_widen_options widest = {.access_bytes = vy_ptx_target(options->architecture, 0).access_bytes};
    if (!options->keeps_grid)
        return vy_widen(program, &widest, out, error);
    *out = (vy_widened){vyre_program_retain(program), 1, "its grid is kept as it is"};
    return VYRE_OK;
}

/* What follows far unrolling: loops inside may be counted now; literals go through what became of them. Once each, for the program is large. */
#define PASS(ID) VYRE_PASS_##ID
static const vyre_pass behind[] = {PASS(FOLD), PASS(UNROLL), PASS(FOLD),  PASS(SIMPLIFY), PASS(BRANCH), PASS(UNROLL),
                                   PASS(FOLD), PASS(VALUES), PASS(RANGE), PASS(STRENGTH), PASS(DEAD)};
#undef PASS

/* Unrolls far, so that arrays become variables. What that leaves to do the driver's compiler does. */
static vyre_status unroll(vyre_program *program, vyre_program **out, vyre_error *error) {
    const vyre_optimize_options rest = {.passes = behind, .pass_count = sizeof behind / sizeof *behind};
    vyre_program *unrolled, *made;
    uint64_t changes;
    int was_refused;
    *out = NULL;
    vyre_status status =
        vy_pass_run(VYRE_PASS_UNROLL, program, &vy_rules_far, &unrolled, &changes, &was_refused, error);
    if (status != VYRE_OK)
        return status;
    if (!changes) {
        status = vy_scalars(unrolled, out, error);
        vyre_program_release(unrolled);
        return status;
    }
    status = vy_optimize_by(unrolled, &rest, &vy_rules_far, &made, NULL, error);
    vyre_program_release(unrolled);
    if (status != VYRE_OK)
        return status;
    status = vy_scalars(made, out, error);
    vyre_program_release(made);
    return status;
}

static vyre_status optimise(vyre_program *program, vyre_program **out, vyre_error *error) {
    const vyre_optimize_options everything = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_program *optimised;
    vyre_status status = vyre_program_optimize(program, &everything, &optimised, NULL, error);
    if (status != VYRE_OK)
        return status;
    status = unroll(optimised, out, error);
    vyre_program_release(optimised);
    return status;
}

static vyre_status lower(vyre_program *program, const vy_ptx_prepare_options *options, vyre_program **legal,
                         vyre_error *error) {
    vy_legal_target target = vy_ptx_target(options->architecture, options->cancellable);
    vyre_program *optimised;
    vyre_status status = optimise(program, &optimised, error);
    if (status != VYRE_OK)
        return status;
    target.exact &= ~options->inexact;
    target.aligned_buffers = options->aligned;
    status = vy_legalise(optimised, &target, legal, error);
    vyre_program_release(optimised);
    return status;
}

vyre_status vy_ptx_prepare(vyre_program *program, const vy_ptx_prepare_options *options, vy_ptx_prepared *out,
                           vyre_error *error) {
    vy_widened widened;
    *out = (vy_ptx_prepared){.factor = 1};
    if (vyre_program_level(program) == VYRE_LEVEL_LEGAL) {
        out->program = vyre_program_retain(program);
        out->reason = "it is legal already";
        return VYRE_OK;
    }
    vyre_status status = widen(program, options, &widened, error);
    if (status != VYRE_OK)
        return status;
    status = lower(widened.program, options, &out->program, error);
    out->factor = widened.factor;
    out->reason = widened.reason;
    if (status == VYRE_LIMIT && widened.factor > 1) { /* as it is, it may still fit */
        status = lower(program, options, &out->program, error);
        out->factor = 1;
        out->reason = "widened, it is over a limit of the language";
    }
    vyre_program_release(widened.program);
    return status;
}
