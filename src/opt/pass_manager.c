/* Pass manager: optimisation levels as tables, rounds until a fixed point, times and counts; and the policies of the
 * passes.
 *
 * If the result of a pass is not a valid program, it is dropped, the program stays unchanged, and the report counts
 * it. This happens to programs with an error that the validator could not detect before (a race at an index that
 * turns out to be constant) and at the limits of the language. It is rare, and validating costs as much as a pass.
 * So the result is validated once at the end, and only if that fails are the passes run again with validation after
 * each. An observer receives valid programs only. Running out of memory fails the whole run. */
#include "opt/pass_manager.h"

#include "base/status.h"
#include "base/thread.h"
#include "ir/build/builder_internal.h"
#include "ir/irbuilder.h"
#include "ir/op_tables.h"

/* ---- policies ---- */

const vy_identity vy_identities[VY_IDENTITY_COUNT] = {
#define X(OP, CLASSES, A, B, BECOMES) {VYRE_OP_##OP, VYRE_CLASS_##CLASSES, VY_IS_##A, VY_IS_##B, VY_BECOMES_##BECOMES},
    VY_IDENTITY_LIST(X)
#undef X
};

/* A collective orders no memory between invocations (docs/bits.md), but by design loads are not moved across
 * synchronisation. */
#define SOUND                                                                                                          \
    .changes =                                                                                                         \
        {                                                                                                              \
            [VY_STMT_ASSIGN] = VY_CHANGES_VARIABLE,                                                                    \
            [VY_STMT_STORE] = VY_CHANGES_MEMORY,                                                                       \
            [VY_STMT_ATOMIC] = VY_CHANGES_MEMORY | VY_CHANGES_ACQUIRE,                                                 \
            [VY_STMT_COLLECTIVE] = VY_CHANGES_SHARED,                                                                  \
            [VY_STMT_CALL] = VY_CHANGES_MEMORY | VY_CHANGES_SHARED,                                                    \
            [VY_STMT_BARRIER] = VY_CHANGES_SHARED,                                                                     \
    },                                                                                                                 \
    .is_kept =                                                                                                         \
        {                                                                                                              \
            [VY_STMT_ATOMIC] = 1, [VY_STMT_COLLECTIVE] = 1, [VY_STMT_CALL] = 1,  [VY_STMT_BARRIER] = 1,                \
            [VY_STMT_TRAP] = 1,   [VY_STMT_PRINT] = 1,      [VY_STMT_WHILE] = 1, [VY_STMT_RETURN] = 1,                 \
    },                                                                                                                 \
    .forget_at_loops = 1, .forget_at_joins = 1, .check_bounds = 1, .check_wrap = 1, .reads_count = 1,                  \
    .jumps_count = 1, .guards_count = 1, .index_counts = 1,                                                            \
    .ranges = {.last_value_counts = 1, .else_is_opposite = 1, .length_is_outside = 1}, .last_trip_counts = 1,          \
    .trips_are_exact = 1, .identities = vy_identities, .identity_count = VY_IDENTITY_COUNT

const vy_opt_policy vy_opt_default = {SOUND, .unroll = VY_UNROLL_LIMITS_DEFAULT};

#undef SOUND

int vy_op_commutes(vyre_op op) {
    static const uint8_t commutes[VYRE_OP_COUNT] = {
        [VYRE_OP_ADD] = 1, [VYRE_OP_MUL] = 1, [VYRE_OP_MUL_HIGH] = 1, [VYRE_OP_AND] = 1,
        [VYRE_OP_OR] = 1,  [VYRE_OP_XOR] = 1, [VYRE_OP_LAND] = 1,     [VYRE_OP_LOR] = 1,
        [VYRE_OP_MIN] = 1, [VYRE_OP_MAX] = 1, [VYRE_OP_EQ] = 1,       [VYRE_OP_NE] = 1,
    };
    return commutes[op];
}

int vy_memory_is_shared(const vyre_program *program, uint32_t memory) {
    const vy_memory *m = vy_memory_at(program, memory);
    if (m->space == VY_SPACE_PRIVATE || m->space == VY_SPACE_CONSTANT)
        return 0;
    return m->space == VY_SPACE_WORKGROUP || !vy_program_has_entry(program) || vy_accesses[m->access].stores;
}

int vy_operand_bits(vy_operand_is is, vyre_type type, uint64_t *bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    int is_float = layout->classes == VYRE_CLASS_FLOAT;
    /* The exponent field of 1.0 is the bias: half of that of infinity, which has all exponent bits set. */
    uint64_t one = is_float ? layout->infinity & layout->infinity >> 1 : 1, sign = layout->mask ^ layout->mask >> 1;
    switch (is) {
    case VY_IS_ANY:
    case VY_IS_SAME:
        return 0;
    case VY_IS_ZERO:
        *bits = 0;
        return 1;
    case VY_IS_MINUS_ZERO:
        *bits = is_float ? sign : 0;
        return is_float;
    case VY_IS_ONE:
        *bits = one;
        return 1;
    case VY_IS_MINUS_ONE:
        *bits = is_float ? one | sign : layout->mask;
        return type != VYRE_TYPE_BOOL;
    case VY_IS_NAN:
        *bits = layout->nan;
        return is_float;
    }
    return 0;
}

/* Shift counts are taken modulo the width, so two shifts by together at least the width yield zero, or the sign. */
static vy_chain chain_shifts(vyre_op op, vyre_type type, uint64_t c, uint64_t d, uint64_t *bits) {
    uint64_t width = vy_type_layouts[type].bits, sum = c % width + d % width;
    int is_signed_right = op == VYRE_OP_SHR && vy_type_layouts[type].classes == VYRE_CLASS_SIGNED;
    *bits = sum < width ? sum : is_signed_right ? width - 1 : 0;
    return sum < width || is_signed_right ? VY_CHAIN_OP : VY_CHAIN_LITERAL;
}

vy_chain vy_chain_of(vyre_op op, vyre_type type, uint64_t c, uint64_t d, uint64_t *bits) {
    if (!(vy_type_layouts[type].classes & VYRE_CLASS_INTEGER))
        return VY_CHAIN_NONE;
    switch (op) {
    case VYRE_OP_SHL:
    case VYRE_OP_SHR:
        return chain_shifts(op, type, c, d, bits);
    case VYRE_OP_SUB: /* (x - c) - d = x - (c + d) */
        *bits = vyre_op_evaluate(VYRE_OP_ADD, type, type, c, d, 0);
        return VY_CHAIN_OP;
    case VYRE_OP_ADD:
    case VYRE_OP_MUL:
    case VYRE_OP_AND:
    case VYRE_OP_OR:
    case VYRE_OP_XOR:
    case VYRE_OP_MIN:
    case VYRE_OP_MAX:
        *bits = vyre_op_evaluate(op, type, type, c, d, 0);
        return VY_CHAIN_OP;
    default:
        return VY_CHAIN_NONE;
    }
}

/* ---- the passes ---- */

_Static_assert((int)VYRE_PASS_COUNT <= (int)VYRE_PASS_LIMIT, "the report has an entry for every pass");

typedef struct pass_row {
    const char *name, *doc;
    vy_pass_function *run;
} pass_row;

static const pass_row passes[VYRE_PASS_COUNT] = {
#define X(ID, function, name, doc) {name, doc, vy_pass_##function},
    VYRE_PASS_LIST(X)
#undef X
};

const char *vyre_pass_name(vyre_pass pass) {
    return (unsigned)pass < VYRE_PASS_COUNT ? passes[pass].name : NULL;
}

const char *vyre_pass_doc(vyre_pass pass) {
    return (unsigned)pass < VYRE_PASS_COUNT ? passes[pass].doc : NULL;
}

vyre_pass vyre_pass_find(const char *name, size_t length) {
    for (unsigned i = 0; name && i < VYRE_PASS_COUNT; i++)
        if (strlen(passes[i].name) == length && memcmp(passes[i].name, name, length) == 0)
            return (vyre_pass)i;
    return VYRE_PASS_COUNT;
}

/* ---- the pipelines ---- */

#define PASS(ID) VYRE_PASS_##ID
static const vyre_pass level_1[] = {PASS(CONST_FOLD), PASS(INSTCOMBINE), PASS(SIMPLIFY_CFG), PASS(GVN), PASS(DCE)};
static const vyre_pass level_2[] = {PASS(CONST_FOLD), PASS(INSTCOMBINE), PASS(SIMPLIFY_CFG),    PASS(UNROLL),
                                    PASS(GVN),        PASS(RANGE),       PASS(STRENGTH_REDUCE), PASS(LICM),
                                    PASS(GVN),        PASS(DCE)};
#undef PASS

typedef struct pipeline {
    const vyre_pass *passes;
    size_t count;
    unsigned rounds; /* upper bound */
} pipeline;

#define PIPELINE(level, rounds)                                                                                        \
    { level, sizeof level / sizeof *level, rounds }
static const pipeline levels[VYRE_OPTIMIZE_LEVEL_MAX + 1] = {
    PIPELINE(level_1, 3),
    PIPELINE(level_1, 3),
    PIPELINE(level_2, 6),
};

/* ---- runs ---- */

_Atomic uint64_t vy_passes_run;

/* How the result of a pass is checked. */
typedef enum trust { TRUSTED, CHECKED, SEALED } trust;

static vyre_status check_result(vyre_program *program, trust trust, vyre_error *error) {
    return trust == SEALED    ? vy_program_finalize(program, error)
           : trust == CHECKED ? vy_program_verify(program, error)
                              : VYRE_OK;
}

/* vy_pass_run, with the check that `trust` selects. */
static vyre_status run_step(vyre_pass pass, const vyre_program *from, const vy_opt_policy *rules, trust trust,
                            vyre_program **out, uint64_t *changes, int *was_refused, vyre_error *error) {
    vyre_status status = vy_deadline_check(vyre_program_name(from), passes[pass].name, error);
    vy_pass_count();
    if (status == VYRE_OK)
        status = passes[pass].run(from, rules, out, changes, error);
    if (status == VYRE_OK)
        status = check_result(*out, trust, error);
    *was_refused = status == VYRE_INVALID_PROGRAM || status == VYRE_LIMIT;
    if (status == VYRE_OK)
        return VYRE_OK;
    vyre_program_release(*out);
    *out = NULL;
    if (!*was_refused)
        return status;
    *changes = 0;
    return vy_program_unchanged(from, out);
}

vyre_status vy_pass_run_unverified(vyre_pass pass, const vyre_program *from, const vy_opt_policy *rules,
                                   vyre_program **out, uint64_t *changes, vyre_error *error) {
    int was_refused;
    return run_step(pass, from, rules, TRUSTED, out, changes, &was_refused, error);
}

vyre_status vy_pass_run(vyre_pass pass, const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                        uint64_t *changes, int *was_refused, vyre_error *error) {
    return run_step(pass, from, rules, SEALED, out, changes, was_refused, error);
}

typedef struct optimizer {
    const vyre_optimize_options *options;
    const vy_opt_policy *rules;
    trust trust, result; /* after each pass; after the last */
    vyre_optimize_report report;
    vyre_program *program;             /* so far */
    uint32_t version;                  /* starts at 1 and counts each change */
    int goes_on;                       /* another round may follow */
    uint32_t idle_at[VYRE_PASS_COUNT]; /* by pass: the version in which it found no change, so that it need not run
                                        * again */
} optimizer;

/* Counts that show whether only unused `let`s were removed. */
typedef struct census {
    uint32_t stmts, others; /* others: statements other than `let` */
    uint32_t reads;         /* expressions that read mutable variables or memory */
    uint32_t facts;
} census;

static census take_census(const vyre_program *p) {
    census all = {.stmts = p->stmts.count, .facts = p->facts};
    for (uint32_t i = 0; i < p->stmts.count; i++)
        all.others += vy_stmt_at(p, i)->kind != VY_STMT_LET;
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        const vy_expr *e = vy_expr_at(p, i);
        all.reads += e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_VARIABLE && vy_variable_at(p, e->a)->is_mutable);
    }
    return all;
}

/* After `dce`. If it removed only unused `let`s, passes that found no change before find none now, since everything
 * else is unchanged. Exceptions: a loop may now be small enough to be unrolled; and a store that only a removed
 * `let` read may be dead now, so `dce` itself is done only if the removed `let`s read no mutable state. */
static void keep_idle(optimizer *o, const census *before, uint64_t changes) {
    census now = take_census(o->program);
    if (now.others != before->others || before->stmts - now.stmts != changes)
        return;
    for (unsigned i = 0; i < VYRE_PASS_COUNT; i++)
        if (o->idle_at[i] == o->version - 1 && i != VYRE_PASS_UNROLL)
            o->idle_at[i] = o->version;
    o->idle_at[VYRE_PASS_DCE] = now.reads == before->reads && now.facts == before->facts ? o->version : 0;
}

/* Whether `licm` only moved trees: each then became a `let` and one use of its variable. Otherwise it also wrote
 * entry conditions, about which other passes may know facts. */
static int only_moved(const vyre_program *made, uint32_t exprs, uint64_t changes) {
    return made->exprs.count == exprs + changes;
}

/* `range` stays idle after `licm` moved trees to points where less is known, and after `strength-reduce` replaced
 * single ops by single ops: the values have the same bounds. An expansion into several ops has new subexpressions,
 * about which facts may exist. */
static void keep_range_idle(optimizer *o, vyre_pass pass, uint32_t exprs, uint64_t changes) {
    int may_keep = (pass == VYRE_PASS_LICM && only_moved(o->program, exprs, changes)) ||
                   (pass == VYRE_PASS_STRENGTH_REDUCE && o->program->exprs.count == exprs);
    if (may_keep && o->idle_at[VYRE_PASS_RANGE] == o->version - 1)
        o->idle_at[VYRE_PASS_RANGE] = o->version;
}

static vyre_status run_pass(optimizer *o, vyre_pass pass, uint64_t *changes, vyre_error *error) {
    vyre_program *made = NULL;
    vyre_pass_run run = {.pass = pass};
    uint64_t start = vy_clock_now();
    uint32_t exprs = o->program->exprs.count;
    int is_idle = o->idle_at[pass] == o->version, counts = pass == VYRE_PASS_DCE && o->goes_on && !is_idle;
    census before = counts ? take_census(o->program) : (census){0};
    vyre_status status = VYRE_OK;
    if (is_idle)
        made = vyre_program_retain(o->program);
    else
        status = run_step(pass, o->program, o->rules, o->trust, &made, &run.changes, &run.was_refused, error);
    if (status != VYRE_OK)
        return status;
    run.nanoseconds = vy_clock_now() - start;
    if (made != o->program && o->trust == TRUSTED)
        made->is_unique = 1; /* created here; the next pass may modify it */
    vyre_program_release(o->program);
    o->program = made;
    o->version += run.changes != 0;
    if (counts && run.changes)
        keep_idle(o, &before, run.changes);
    if (run.changes)
        keep_range_idle(o, pass, exprs, run.changes);
    int leaves_nothing = pass == VYRE_PASS_LICM && only_moved(made, exprs, run.changes); /* no further work for licm */
    if ((!run.changes || leaves_nothing) && !run.was_refused)
        o->idle_at[pass] = o->version;
    run.statements = made->stmts.count;
    run.expressions = made->exprs.count;
    o->report.passes[pass].runs++;
    o->report.passes[pass].refused += (uint32_t)run.was_refused;
    o->report.passes[pass].changes += run.changes;
    o->report.passes[pass].nanoseconds += run.nanoseconds;
    *changes += run.changes;
    if (o->options->observer)
        o->options->observer(o->options->observer_user, &run, made);
    return VYRE_OK;
}

static vyre_status run_pipeline(optimizer *o, const pipeline *pipeline, vyre_error *error) {
    vyre_status status = VYRE_OK;
    uint64_t changes = 1;
    for (unsigned round = 0; round < pipeline->rounds && changes && status == VYRE_OK; round++) {
        changes = 0;
        o->goes_on = round + 1 < pipeline->rounds;
        o->report.rounds++;
        for (size_t i = 0; i < pipeline->count && status == VYRE_OK; i++)
            status = run_pass(o, pipeline->passes[i], &changes, error);
    }
    return status;
}

static vyre_status check_options(const vyre_optimize_options *options, vyre_error *error) {
    if (options->level > VYRE_OPTIMIZE_LEVEL_MAX)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("use a level from 0 to %d", VYRE_OPTIMIZE_LEVEL_MAX),
                       "optimisation level %u exceeds the highest, %d", options->level, VYRE_OPTIMIZE_LEVEL_MAX);
    for (size_t i = 0; options->passes && i < options->pass_count; i++)
        if ((unsigned)options->passes[i] >= VYRE_PASS_COUNT)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "use the passes of VYRE_PASS_LIST (vyre/transform.h)",
                           "pass %zu of the list (%d) does not exist", i, (int)options->passes[i]);
    return VYRE_OK;
}

/* Inlines, runs the passes and checks the result. */
static vyre_status run_all(optimizer *o, const vyre_program *program, vyre_error *error) {
    const pipeline given = {o->options->passes, o->options->pass_count, 1};
    o->report = (vyre_optimize_report){0};
    o->version++; /* no pass is idle in this version */
    vyre_status status = vy_program_inline_unverified(program, &o->program, error);
    if (status != VYRE_OK)
        return status;
    o->report.statements_before = o->program->stmts.count;
    o->report.expressions_before = o->program->exprs.count;
    status = check_result(o->program, o->trust, error);
    if (status == VYRE_OK)
        status = run_pipeline(o, o->options->passes ? &given : &levels[o->options->level], error);
    if (status == VYRE_OK)
        status = check_result(o->program, o->result, error);
    if (o->program->is_unique) /* otherwise another owner may have it */
        o->program->is_unique = 0;
    o->report.statements_after = o->program->stmts.count;
    o->report.expressions_after = o->program->exprs.count;
    if (status != VYRE_OK) {
        vyre_program_release(o->program);
        o->program = NULL;
    }
    return status;
}

/* `each` and `result` select the check of the program after each pass, and at the end. */
static vyre_status optimize(const vyre_program *program, const vyre_optimize_options *options,
                            const vy_opt_policy *rules, trust each, trust result, vyre_program **out,
                            vyre_optimize_report *report, vyre_error *error) {
    optimizer o = {.options = options, .rules = rules, .trust = each, .result = result};
    *out = NULL;
    if (report)
        *report = o.report;
    if (program->level == VYRE_LEVEL_LEGAL)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "optimise the program before it is legalised",
                       "the program is at level legal and can no longer be optimised");
    vyre_status status = check_options(o.options, error);
    if (status != VYRE_OK)
        return status;
    status = run_all(&o, program, error);
    if (status == VYRE_INVALID_PROGRAM && o.trust == TRUSTED) {
        o.trust = CHECKED;
        status = run_all(&o, program, error);
    }
    if (status == VYRE_OK && report)
        *report = o.report;
    *out = o.program;
    return status;
}

vyre_status vyre_program_optimize(const vyre_program *program, const vyre_optimize_options *options, vyre_program **out,
                                  vyre_optimize_report *report, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    if (report)
        memset(report, 0, sizeof *report);
    VY_REQUIRE(error, program);
    return vy_optimize_by(program, options, &vy_opt_default, out, report, error);
}

vyre_status vy_optimize_by(const vyre_program *program, const vyre_optimize_options *options,
                           const vy_opt_policy *rules, vyre_program **out, vyre_optimize_report *report,
                           vyre_error *error) {
    static const vyre_optimize_options defaults = {0};
    const vyre_optimize_options *o = options ? options : &defaults;
    return optimize(program, o, rules, o->observer ? SEALED : TRUSTED, SEALED, out, report, error);
}

vyre_status vy_optimize_unverified(const vyre_program *program, const vyre_optimize_options *options,
                                   const vy_opt_policy *rules, int checks_passes, vyre_program **out,
                                   vyre_error *error) {
    return optimize(program, options, rules, checks_passes ? CHECKED : TRUSTED, TRUSTED, out, NULL, error);
}
