/* Legalisation pipeline: inlines the program, then runs the phases in order; the phase that calls library functions. */
#include "lower/legalize.h"

#include "base/status.h"
#include "base/thread.h"
#include "ir/build/builder_internal.h"
#include "ir/irbuilder.h"
#include "lower/bounds_checks.h"
#include "lower/collectives.h"
#include "lower/legalizer.h"
#include "lower/vectorize_mem.h"
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

/* Second numeric phase: replaces the ops on 32- and 64-bit types (and on narrow integers that stayed) that the target
 * does not compute exactly by functions of the library.
 *
 * An op without a library function is native. Sign and payload of a NaN are made canonical where they can be observed:
 * in a buffer, and by bitcast, copysign and signbit. */
static vyre_type carrier(const vy_legalizer *rw, vyre_type type) {
    (void)rw;
    return type;
}

static uint32_t widen(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    (void)rw, (void)type;
    return tree;
}

/* Whether a value is no NaN, or the canonical one, by what computes it. */
static int is_canonical(const vy_legalizer *rw, uint32_t tree) {
    const vy_expr *e = &rw->trees.items[tree];
    if (e->kind == VY_EXPR_LITERAL)
        return 1;
    if (e->kind != VY_EXPR_OP)
        return 0;
    if (e->op == VYRE_OP_CAST)
        return vyre_type_class(vy_legalizer_type(rw, e->a)) != VYRE_CLASS_FLOAT;
    return e->op == VYRE_OP_SELECT && is_canonical(rw, e->b) && is_canonical(rw, e->c);
}

/* Arrays are not looked at from outside, and what is loaded from them is made canonical where it is seen. Narrow floats
 * come packed. */
static uint32_t narrow(vy_legalizer *rw, vyre_type type, uint32_t tree, vy_space space) {
    vyre_type bits = type == VYRE_TYPE_F32 ? VYRE_TYPE_U32 : VYRE_TYPE_U64;
    if ((type != VYRE_TYPE_F32 && type != VYRE_TYPE_F64) || space != VY_SPACE_BUFFER || is_canonical(rw, tree))
        return tree;
    uint32_t canonical = vy_legalizer_named(rw, type == VYRE_TYPE_F32 ? "canonical_f32" : "canonical_f64",
                                            vy_legalizer_op1(rw, VYRE_OP_BITCAST, bits, tree));
    return vy_legalizer_op1(rw, VYRE_OP_BITCAST, type, canonical);
}

/* Division by a constant that is no edge, and a shift by a constant below the width, need nothing. */
static int is_easy(vyre_op op, vyre_type type, uint64_t literal) {
    if (!(vyre_type_class(type) & VYRE_CLASS_INTEGER))
        return 0;
    uint64_t ones = UINT64_MAX >> (64 - vyre_type_bits(type));
    switch (op) {
    case VYRE_OP_DIV:
    case VYRE_OP_REM:
        return literal != 0 && (vyre_type_class(type) == VYRE_CLASS_UNSIGNED || literal != ones);
    case VYRE_OP_SHL:
    case VYRE_OP_SHR:
    case VYRE_OP_ROTL:
    case VYRE_OP_ROTR:
        return literal < vyre_type_bits(type);
    default:
        return 0;
    }
}

/* Whether an op of the program is such. Few may be. */
static int is_easy_op(const vyre_program *p, const vy_expr *e) {
    const uint64_t may_be =
        VY_OP(DIV) | VY_OP(REM) | VY_OP(SHL) | VY_OP(SHR) | VY_OP(ROTL) | VY_OP(ROTR); /* see is_easy */
    const vy_expr *b = may_be >> e->op & 1 ? &p->exprs.items[e->b] : NULL;
    return b && b->kind == VY_EXPR_LITERAL && is_easy((vyre_op)e->op, vy_legalizer_operand_type(p, e), b->bits);
}

/* Between f32 and 64-bit integers. */
static int is_far_cast(uint8_t to, uint8_t from) {
    uint8_t other = to == VYRE_TYPE_F32 ? from : to;
    return (to == VYRE_TYPE_F32 || from == VYRE_TYPE_F32) && (other == VYRE_TYPE_I64 || other == VYRE_TYPE_U64);
}

vy_legal_uses vy_legal_exact_uses(const vyre_program *p) {
    vy_legal_uses uses = {vy_legal_uses_of(p).types, 0};
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        const vy_expr *e = &p->exprs.items[i];
        if (e->kind != VY_EXPR_OP || is_easy_op(p, e))
            continue;
        uses.ops |= UINT64_C(1) << e->op;
        if (e->op == VYRE_OP_CAST && is_far_cast(e->type, p->exprs.items[e->a].type))
            uses.types |= VY_LEGAL_FAR_CASTS;
    }
    return uses;
}

/* Whether the amount of a shift is to be kept below the width: the device shifts otherwise. Types that it does not have
 * are shifted in another phase. */
static int masks_amount(const vy_legalizer *rw, vyre_op op, vyre_type type) {
    if ((op != VYRE_OP_SHL && op != VYRE_OP_SHR) || vy_legalizer_has(rw, VYRE_NUMERIC_SHIFT))
        return 0;
    unsigned bits = vyre_type_bits(type);
    return bits == 32 || vy_legalizer_has(rw, bits == 8    ? VYRE_NUMERIC_INT8
                                              : bits == 16 ? VYRE_NUMERIC_INT16
                                                           : VYRE_NUMERIC_INT64);
}

static int keeps(const vy_legalizer *rw, const vy_expr *e, vyre_type operand) {
    if (masks_amount(rw, (vyre_op)e->op, operand))
        return is_easy_op(rw->from, e);
    return rw->library->functions.count == 0 || is_easy_op(rw->from, e) ||
           vy_softlib_replacement(rw->library, (vyre_op)e->op, (vyre_type)e->type, operand) == VY_NONE;
}

static uint32_t mask_amount(vy_legalizer *rw, vyre_type type, uint32_t amount) {
    uint32_t last = vy_legalizer_literal(rw, type, vyre_type_bits(type) - 1);
    return vy_legalizer_op(rw, VYRE_OP_AND, type, amount, last, VY_NONE);
}

static uint32_t lower_op(vy_legalizer *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees) {
    vyre_op op = (vyre_op)e->op;
    vyre_type type = (vyre_type)e->type;
    uint64_t literal;
    int easy = vy_legalizer_is_literal(rw, trees[1], &literal) && is_easy(op, operand, literal);
    if (!easy && masks_amount(rw, op, operand))
        return vy_legalizer_op(rw, op, type, trees[0], mask_amount(rw, operand, trees[1]), VY_NONE);
    uint32_t function = easy ? VY_NONE : vy_softlib_replacement(rw->library, op, type, operand);
    if (function == VY_NONE)
        return vy_legalizer_op(rw, op, type, trees[0], trees[1], trees[2]);
    return vy_legalizer_call(rw, function, trees, vyre_op_get(op)->arity);
}

const vy_legalizer_phase vy_legalize_numerics = {
    .carrier = carrier, .widen = widen, .narrow = narrow, .op = lower_op, .keeps = keeps, .keeps_narrow = 1};
