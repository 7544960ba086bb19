/* Legalisation pipeline (legalize.h): inlines the program, then runs the phases in order. */
#include "lower/legalize.h"

#include "base/clock.h"
#include "base/status.h"
#include "ir/build/finish.h"
#include "ir/build/inline.h"
#include "ir/irbuilder.h"
#include "lower/bounds_checks.h"
#include "lower/collectives.h"
#include "lower/numeric_passes.h"
#include "lower/traps.h"
#include "lower/vectorize_mem.h"
#include "lower/zero_init.h"
#include "opt/unroll_arrays.h"

static vyre_status run_phase(const vyre_program *program, const vy_legalizer_phase *phase, const vy_softlib_text *texts,
                             vy_legal_uses uses, uint64_t exact, vyre_program **out, vyre_error *error) {
    vy_softlib library;
    vyre_status status = vy_softlib_open(&library, texts, uses, exact, error);
    *out = NULL;
    if (status == VYRE_OK)
        status = vy_legalizer_run(program, phase, &library, exact, out, error);
    vy_softlib_free(&library);
    return status;
}

/* ---- the phases, in their order; each makes a program, or retains the one it is given ---- */

typedef vyre_status phase(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                          vyre_error *error);

static vyre_status unchanged(const vyre_program *program, vyre_program **out) {
    *out = vyre_program_retain((vyre_program *)program);
    return VYRE_OK;
}

/* First, while arrays still start as zero. */
static vyre_status run_zero_init(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                 vyre_error *error) {
    return target->zeroes_arrays ? unchanged(program, out) : vy_legalize_zero_init(program, out, error);
}

/* Nobody ends before the others, so there is nothing to write. The phases that follow make the program legal. */
static vyre_status run_traps(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                             vyre_error *error) {
    int may_end = target->cancellable || (program->facts & VY_PROGRAM_HAS_TRAP);
    return may_end ? vy_legalize_traps(program, target, out, error) : unchanged(program, out);
}

/* Collectives are written out, what is for the oracle alone is left out. */
static vyre_status run_collectives(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                   vyre_error *error) {
    int changes = (program->facts & VY_PROGRAM_HAS_PRINT) != 0;
    for (uint32_t i = 0; i < program->stmts.count && !changes; i++)
        changes = program->stmts.items[i].kind == VY_STMT_COLLECTIVE;
    return changes ? vy_legalize_collectives(program, target, out, error) : unchanged(program, out);
}

static vyre_status run_bounds_checks(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                     vyre_error *error) {
    (void)target;
    return vy_legalize_bounds_checks(program, &vy_bounds_check_default, NULL, out, error);
}

/* Programs without narrow types have nothing to hold. */
static vyre_status run_promote_narrow(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                      vyre_error *error) {
    const uint32_t narrow = VY_TYPE(I8) | VY_TYPE(U8) | VY_TYPE(I16) | VY_TYPE(U16) | VY_TYPE(F16) | VY_TYPE(BF16);
    vy_legal_uses uses = vy_legal_uses_of(program);
    if (!(uses.types & narrow))
        return unchanged(program, out);
    return run_phase(program, &vy_legalize_promote_narrow, vy_softlib_narrow_texts, uses, target->exact, out, error);
}

static vyre_status run_numerics(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                vyre_error *error) {
    vy_legal_uses uses = vy_legal_exact_uses(program);
    return run_phase(program, &vy_legalize_numerics, vy_softlib_exact_texts, uses, target->exact, out, error);
}

static vyre_status run_f64_as_bits(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                   vyre_error *error) {
    if (target->exact & VY_NUMERIC_F64)
        return unchanged(program, out);
    vy_legal_uses uses = vy_legal_uses_of(program);
    if (!(uses.types & VY_TYPE(F64)))
        return unchanged(program, out);
    return run_phase(program, &vy_legalize_f64_as_bits, vy_softlib_bits_texts, uses, target->exact, out, error);
}

static vyre_status run_split_int64(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                   vyre_error *error) {
    if (target->exact & VY_NUMERIC(INT64))
        return unchanged(program, out);
    vy_legal_uses uses = vy_legal_uses_of(program);
    if (!(uses.types & (VY_TYPE(I64) | VY_TYPE(U64))))
        return unchanged(program, out);
    return run_phase(program, &vy_legalize_split_int64, vy_softlib_int64_texts, uses, target->exact, out, error);
}

/* What is written out is so large that it is checked before, as loops: they are valid, and so are their trips. */
static vyre_status run_unroll_arrays(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                     vyre_error *error) {
    vyre_status status = target->writes_out ? vy_program_verify_for_codegen((vyre_program *)program, error) : VYRE_OK;
    if (status != VYRE_OK)
        return status;
    return target->writes_out ? vy_unroll_arrays(program, out, error) : unchanged(program, out);
}

static const struct {
    const char *name;
    phase *run;
} phases[] = {
    {"zero-init", run_zero_init},           {"traps", run_traps},
    {"collectives", run_collectives},       {"bounds-checks", run_bounds_checks},
    {"promote-narrow", run_promote_narrow}, {"numerics", run_numerics},
    {"f64-as-bits", run_f64_as_bits},       {"split-int64", run_split_int64},
    {"unroll-arrays", run_unroll_arrays},   {"vectorize-mem", vy_vectorize_mem},
};

/* What phases make is valid but for the limits of the language, which the original kept. */
static vyre_status over_limit(vyre_error *error) {
    char why[sizeof error->message] = "";
    if (error)
        memcpy(why, error->message, sizeof why);
    return vy_fail(error, VYRE_LIMIT,
                   "write less of what the message names, or choose a device for which less is rewritten",
                   "legalised, the program is over a limit: %.400s", why);
}

/* Refuses what cannot be legalised. */
static vyre_status begin(const vyre_program *program, vyre_program **made, vyre_error *error) {
    if (!vy_program_has_entry(program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a `program`, not a file of functions",
                       "a library has no entry to legalise");
    if (program->facts & VY_PROGRAM_HAS_OP_CALL)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "resolve it first: vyre_program_resolve (vyre/dialect.h)",
                       "the program calls ops that are not resolved");
    return vy_program_inline_unverified(program, made, error);
}

vyre_status vy_legalize_unverified(vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                   vyre_error *error) {
    vyre_program *made = NULL;
    vy_target_desc usable = *target;
    usable.exact &= VY_NUMERIC_ALL; /* what has no name is not promised */
    *out = NULL;
    vyre_status status = begin(program, &made, error);
    vyre_program_release(program);
    /* An f64 cannot be looked at without u64. */
    if (!(target->exact & VY_NUMERIC(INT64)))
        usable.exact &= ~VY_NUMERIC_F64;
    for (size_t i = 0; i < sizeof phases / sizeof *phases && status == VYRE_OK; i++) {
        vyre_program *before = made;
        made = NULL;
        status = vy_deadline_check(vyre_program_name(before), phases[i].name, error);
        if (status == VYRE_OK)
            status = phases[i].run(before, &usable, &made, error);
        vyre_program_release(before);
    }
    if (status == VYRE_OK && !usable.writes_out)
        status = vy_program_verify(made, error);
    if (status == VYRE_OK)
        *out = made;
    else
        vyre_program_release(made);
    return status == VYRE_INVALID_PROGRAM ? over_limit(error) : status;
}

vyre_status vy_legalize(vyre_program *program, const vy_target_desc *target, vyre_program **out, vyre_error *error) {
    vyre_status status = vy_legalize_unverified(vyre_program_retain(program), target, out, error);
    if (status == VYRE_OK)
        status = vy_program_finalize(*out, error);
    if (status != VYRE_OK) {
        vyre_program_release(*out);
        *out = NULL;
    }
    return status;
}
