/* Phases of legalisation as the pass table runs them: each is skipped for a program without work for it; and the
 * numeric phase, which replaces ops by functions of the soft-float library. */
#include "lower/legalize.h"

#include "base/memory.h"
#include "base/status.h"
#include "lower/bounds_checks.h"
#include "lower/collectives.h"
#include "lower/legalizer.h"

static vyre_status run_phase(const vyre_program *program, const vy_legalizer_phase *phase, vy_softlib_files files,
                             uint64_t exact, vyre_program **out, vyre_error *error) {
    vy_softlib library;
    vy_softlib_open(&library, files, exact);
    vyre_status status = vy_legalizer_run(program, phase, &library, exact, out, error);
    vy_softlib_close(&library);
    return status;
}

uint32_t vy_legal_types(const vyre_program *p) {
    uint32_t types = 0;
    for (uint32_t i = 0; i < p->memories.count; i++)
        types |= 1u << vy_memory_at(p, i)->type;
    for (uint32_t i = 0; i < p->variables.count; i++)
        types |= 1u << vy_variable_at(p, i)->type;
    for (uint32_t i = 0; i < p->exprs.count; i++)
        types |= 1u << vy_expr_at(p, i)->type;
    return types;
}

/* Without traps and polls all invocations end together. */
vyre_status vy_lower_traps(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                           vyre_error *error) {
    int may_end = target->cancellable || (program->facts & VY_PROGRAM_HAS_TRAP);
    return may_end ? vy_legalize_traps(program, target, out, error) : vy_program_unchanged(program, out);
}

/* Also drops prints, which only the reference interpreter executes. */
vyre_status vy_lower_collectives(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                 vyre_error *error) {
    int changes = (program->facts & VY_PROGRAM_HAS_PRINT) != 0;
    for (uint32_t i = 0; i < program->stmts.count && !changes; i++)
        changes = vy_stmt_at(program, i)->kind == VY_STMT_COLLECTIVE;
    return changes ? vy_legalize_collectives(program, target, out, error) : vy_program_unchanged(program, out);
}

vyre_status vy_lower_bounds_checks(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                   vyre_error *error) {
    (void)target;
    return vy_legalize_bounds_checks(program, &vy_bounds_check_default, NULL, out, error);
}

vyre_status vy_lower_promote_narrow(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                    vyre_error *error) {
    const uint32_t narrow = VY_TYPE(I8) | VY_TYPE(U8) | VY_TYPE(I16) | VY_TYPE(U16) | VY_TYPE(F16) | VY_TYPE(BF16);
    if (!(vy_legal_types(program) & narrow))
        return vy_program_unchanged(program, out);
    return run_phase(program, &vy_legalize_promote_narrow, vy_softlib_narrow, target->exact, out, error);
}

vyre_status vy_lower_numerics(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                              vyre_error *error) {
    return run_phase(program, &vy_legalize_numerics, vy_softlib_numerics, target->exact, out, error);
}

vyre_status vy_lower_f64_as_bits(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                 vyre_error *error) {
    if (!(vy_legal_types(program) & VY_TYPE(F64)))
        return vy_program_unchanged(program, out);
    return run_phase(program, &vy_legalize_f64_as_bits, vy_softlib_none, target->exact, out, error);
}

vyre_status vy_lower_split_int64(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                 vyre_error *error) {
    if (!(vy_legal_types(program) & (VY_TYPE(I64) | VY_TYPE(U64))))
        return vy_program_unchanged(program, out);
    return run_phase(program, &vy_legalize_split_int64, vy_softlib_int64, target->exact, out, error);
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

/* Whether the condition of a select is a comparison that fails if the value, an arm of the select, is NaN. There is no
 * assignment between the evaluation of the condition and of the arms, so a variable has the same value in both. */
static int excludes_nan(const vyre_program *p, uint32_t condition, uint32_t value) {
    const vy_expr *c = vy_expr_at(p, condition), *v = vy_expr_at(p, value);
    if (c->kind != VY_EXPR_OP || v->kind != VY_EXPR_VARIABLE)
        return 0;
    if (c->op == VYRE_OP_LAND)
        return excludes_nan(p, c->a, value) || excludes_nan(p, c->b, value);
    if (c->op != VYRE_OP_LT && c->op != VYRE_OP_LE && c->op != VYRE_OP_GT && c->op != VYRE_OP_GE && c->op != VYRE_OP_EQ)
        return 0;
    const vy_expr *a = vy_expr_at(p, c->a), *b = vy_expr_at(p, c->b);
    return (a->kind == VY_EXPR_VARIABLE && a->a == v->a) || (b->kind == VY_EXPR_VARIABLE && b->a == v->a);
}

/* Whether a value is known, by its expression, not to be a NaN other than the canonical one. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH. */
static int is_canonical(const vy_legalizer *rw, uint32_t expr) {
    const vy_expr *e = vy_expr_at(rw->from, expr);
    if (e->kind == VY_EXPR_VARIABLE)
        return rw->is_canonical[e->a];
    if (e->kind != VY_EXPR_OP)
        return e->kind == VY_EXPR_LITERAL;
    if (e->op == VYRE_OP_CAST)
        return vyre_type_class((vyre_type)vy_expr_at(rw->from, e->a)->type) != VYRE_CLASS_FLOAT;
    return e->op == VYRE_OP_SELECT && is_canonical(rw, e->c) &&
           (is_canonical(rw, e->b) || excludes_nan(rw->from, e->a, e->b));
}

/* A variable is canonical if all values assigned to it are. Initially all variables are assumed to be canonical. If the
 * result is not stable after ROUNDS rounds, none is canonical. */
static void find_canonical(vy_legalizer *rw) {
    enum { ROUNDS = 4 };
    const vyre_program *p = rw->from;
    rw->is_canonical = vy_allocate(p->variables.count + 1);
    if (!rw->is_canonical) {
        rw->status = vy_fail_memory(rw->error, "a legal program");
        return;
    }
    memset(rw->is_canonical, 0, p->variables.count + 1);
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (vy_stmt_at(p, i)->kind == VY_STMT_LET || vy_stmt_at(p, i)->kind == VY_STMT_VAR)
            rw->is_canonical[vy_stmt_at(p, i)->variable] = 1;
    for (int round = 0, is_stable = 0; !is_stable; round++) {
        is_stable = 1;
        for (uint32_t i = 0; i < p->stmts.count; i++) {
            const vy_stmt *s = vy_stmt_at(p, i);
            int gives = s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN;
            if (gives && rw->is_canonical[s->variable] && (round == ROUNDS || !is_canonical(rw, s->a)))
                is_stable = rw->is_canonical[s->variable] = 0;
        }
    }
}

static void start(vy_legalizer *rw) {
    const vyre_program *p = rw->from;
    find_canonical(rw);
    int sees_bits = 0;
    for (uint32_t i = 0; i < p->exprs.count && !sees_bits; i++) {
        const vy_expr *e = vy_expr_at(p, i);
        sees_bits = e->kind == VY_EXPR_OP && e->op == VYRE_OP_BITCAST &&
                    (vyre_type_class((vyre_type)vy_expr_at(p, e->a)->type) & VYRE_CLASS_FLOAT);
    }
    if (sees_bits && rw->status == VYRE_OK)
        rw->status = vy_ranges_make_by(p, &vy_range_rules_sound, 0, &rw->ranges, rw->error);
}

/* Arrays are not observable from outside, and values loaded from them are made canonical where they are observed.
 * Narrow floats arrive packed. */
static uint32_t narrow(vy_legalizer *rw, vyre_type type, uint32_t expr, uint32_t tree, vy_space space) {
    vyre_type bits = type == VYRE_TYPE_F32 ? VYRE_TYPE_U32 : VYRE_TYPE_U64;
    if ((type != VYRE_TYPE_F32 && type != VYRE_TYPE_F64) || space != VY_SPACE_BUFFER || is_canonical(rw, expr))
        return tree;
    uint32_t canonical = vy_legalizer_named(rw, type == VYRE_TYPE_F32 ? "canonical_f32" : "canonical_f64",
                                            vy_legalizer_op1(rw, VYRE_OP_BITCAST, bits, tree));
    return vy_legalizer_op1(rw, VYRE_OP_BITCAST, type, canonical);
}

/* Division by a literal other than 0 and -1, and a shift by a literal below the width, have no edge case. */
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

/* Whether an op is a bitcast of a float that is certainly not NaN: its bits need not be made canonical. */
static int sees_number(const vy_legalizer *rw, const vy_expr *e, vyre_type operand) {
    return e->op == VYRE_OP_BITCAST && (operand == VYRE_TYPE_F32 || operand == VYRE_TYPE_F64) && rw->ranges &&
           vy_float_is_known(vy_range_of(rw->ranges, e->a));
}

/* The same for an op of the program. */
static int is_easy_op(const vyre_program *p, const vy_expr *e) {
    const vy_expr *b = vyre_op_get((vyre_op)e->op)->arity == 2 ? vy_expr_at(p, e->b) : NULL;
    return b && b->kind == VY_EXPR_LITERAL && is_easy((vyre_op)e->op, vy_operand_type(p, e), b->bits);
}

/* Whether the amount of a shift must be masked, because the device does not. Types that the device lacks are shifted
 * in another phase. */
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
    return sees_number(rw, e, operand) || is_easy_op(rw->from, e) ||
           !vy_softlib_replacement(rw->library, (vyre_op)e->op, (vyre_type)e->type, operand);
}

static uint32_t mask_amount(vy_legalizer *rw, vyre_type type, uint32_t amount) {
    uint32_t last = vy_legalizer_literal(rw, type, vyre_type_bits(type) - 1);
    return vy_legalizer_op(rw, VYRE_OP_AND, type, amount, last, VY_NONE);
}

static uint32_t lower_op(vy_legalizer *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees) {
    vyre_op op = (vyre_op)e->op;
    vyre_type type = (vyre_type)e->type;
    uint64_t literal;
    int easy = sees_number(rw, e, operand) ||
               (vy_legalizer_is_literal(rw, trees[1], &literal) && is_easy(op, operand, literal));
    if (!easy && masks_amount(rw, op, operand))
        return vy_legalizer_op(rw, op, type, trees[0], mask_amount(rw, operand, trees[1]), VY_NONE);
    const vy_softlib_function *function = easy ? NULL : vy_softlib_replacement(rw->library, op, type, operand);
    if (!function)
        return vy_legalizer_op(rw, op, type, trees[0], trees[1], trees[2]);
    return vy_legalizer_call(rw, function, trees, vyre_op_get(op)->arity);
}

const vy_legalizer_phase vy_legalize_numerics = {
    .start = start, .carrier = carrier, .narrow = narrow, .op = lower_op, .keeps = keeps, .keeps_narrow = 1};
