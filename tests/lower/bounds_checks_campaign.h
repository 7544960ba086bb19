/* Random programs that go out of bounds, through fill and guard: at level legal, where arrays start with garbage and an
 * access outside is an error, they deliver what they delivered.
 *
 * Programs come from the generator, inlined; then one index in two is made to leave its memory for some invocations, by
 * one, below zero, or by 2^32. */
#ifndef VY_GUARD_CAMPAIGN_H
#define VY_GUARD_CAMPAIGN_H

#include "opt/campaign.h"

#include "compile/pipeline.h"
#include "lower/bounds_checks.h"
#include "lower/legalize.h"

typedef struct guard_campaign {
    const vy_bounds_check_policy *rules;
    const vy_target_desc *target;   /* not NULL: all phases run, for this target, by sound rules */
    vyre_generate_options generate; /* seed is set by each case */
    int shows;                      /* a program that is spoiled is printed */
    opt_campaign compared;
    vy_bounds_check_report counted;
    uint64_t programs, filled;
} guard_campaign;

static inline void guard_campaign_free(guard_campaign *c) {
    opt_campaign_free(&c->compared);
    vy_bounds_check_report_free(&c->counted);
}

/* ---- leaving ---- */

typedef struct leaving {
    vy_random random;
    uint32_t *memories; /* by expression: the memory it is an index of, or VY_NONE */
} leaving;

static inline uint32_t leaving_outside(vy_rewrite *rw, vyre_type type, uint32_t index, uint32_t memory, unsigned how) {
    vy_expr len = {.kind = VY_EXPR_LEN, .type = VYRE_TYPE_U32, .a = rw->memories[memory], .b = VY_NONE, .c = VY_NONE};
    switch (how) {
    case 0:
        return vy_rewrite_make_op(rw, VYRE_OP_CAST, type, vy_rewrite_make_expr(rw, &len), VY_NONE, VY_NONE);
    case 1:
        return vy_rewrite_make_literal(rw, type, UINT64_MAX & vy_type_layouts[type].mask);
    case 2:
        if (vy_type_layouts[type].bits == 64)
            return vy_rewrite_make_op(rw, VYRE_OP_ADD, type,
                                      vy_rewrite_make_op(rw, VYRE_OP_CAST, type, index, VY_NONE, VY_NONE),
                                      vy_rewrite_make_literal(rw, type, UINT64_C(1) << 32), VY_NONE);
        return vy_rewrite_make_literal(rw, type, UINT64_C(1) << 31);
    default:
        return vy_rewrite_make_literal(rw, type, UINT64_C(3) << (vy_type_layouts[type].bits - 3));
    }
}

static inline uint32_t leaving_tree(vy_rewrite *rw, uint32_t expr) {
    static const vyre_type types[] = {VYRE_TYPE_U32, VYRE_TYPE_I32, VYRE_TYPE_U64, VYRE_TYPE_I64};
    leaving *l = rw->user;
    uint32_t memory = l->memories[expr];
    if (memory == VY_NONE || vy_random_below(&l->random, 2))
        return VY_NONE;
    uint32_t node = vy_rewrite_read_below(rw, expr), index = vy_rewrite_make_leaf(rw, node);
    if (index == VY_NONE)
        return node;
    vyre_type type = types[vy_random_below(&l->random, 4)];
    uint32_t bit = vy_rewrite_make_literal(rw, VYRE_TYPE_U32, UINT64_C(1) << vy_random_below(&l->random, 3));
    uint32_t low = vy_rewrite_make_op(rw, VYRE_OP_CAST, VYRE_TYPE_U32, index, VY_NONE, VY_NONE);
    uint32_t stays = vy_rewrite_make_op(rw, VYRE_OP_NE, VYRE_TYPE_BOOL,
                                        vy_rewrite_make_op(rw, VYRE_OP_AND, VYRE_TYPE_U32, low, bit, VY_NONE),
                                        vy_rewrite_make_literal(rw, VYRE_TYPE_U32, 0), VY_NONE);
    uint32_t inside = vy_rewrite_make_op(rw, VYRE_OP_CAST, type, index, VY_NONE, VY_NONE);
    uint32_t outside = leaving_outside(rw, type, index, memory, (unsigned)vy_random_below(&l->random, 4));
    rw->changes++;
    return vy_rewrite_make_op(rw, VYRE_OP_SELECT, type, stays, inside, outside);
}

/* A program of which some indices leave; itself where that would not be valid. */
static inline vyre_program *leaving_program(vyre_program *program, uint64_t seed) {
    static const vy_rewriter hooks = {.tree = leaving_tree};
    leaving l = {.random = vy_random_start(seed)};
    vyre_program *out;
    vyre_error error;
    uint64_t changes;
    l.memories = malloc((program->exprs.count + 1u) * sizeof *l.memories);
    memset(l.memories, 0xff, (program->exprs.count + 1u) * sizeof *l.memories);
    for (uint32_t i = 0; i < program->exprs.count; i++)
        if (program->exprs.items[i].kind == VY_EXPR_LOAD)
            l.memories[program->exprs.items[i].b] = program->exprs.items[i].a;
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_STORE || program->stmts.items[i].kind == VY_STMT_ATOMIC)
            l.memories[program->stmts.items[i].a] = program->stmts.items[i].memory;
    vyre_status status = vy_rewrite_run(program, &hooks, &l, NULL, &out, &changes, &error);
    free(l.memories);
    return status == VYRE_OK ? out : vyre_program_retain(program);
}

/* ---- judging ---- */

static inline void guard_show(const vyre_program *program) {
    vyre_bytes text = {0};
    vyre_error error;
    if (vyre_text_print(program, &text, &error) == VYRE_OK)
        printf("%.*s\n", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

/* Whether fill and guard, by the rules, spoil a program without calls. Says so in compared.message. */
static inline int guard_spoils(guard_campaign *c, vyre_program *program, const vyre_arguments *arguments) {
    vyre_program *filled = NULL, *legal = NULL;
    vyre_error error;
    int differs = 0;
    if (!opt_run(program, arguments, &c->compared.expected))
        return 0;
    vyre_status status = vy_legalize_zero_init(program, &filled, &error);
    if (status == VYRE_OK)
        status = c->target ? vy_legalize(program, c->target, &legal, &error)
                           : vy_legalize_bounds_checks(filled, c->rules, &c->counted, &legal, &error);
    if (status == VYRE_UNSUPPORTED) { /* a grid barrier, which is split before */
        vyre_program_release(filled);
        return 0;
    }
    if (status != VYRE_OK) {
        differs = snprintf(c->compared.message, sizeof c->compared.message, "%.400s", error.message);
    } else {
        opt_run(legal, arguments, &c->compared.given);
        if (c->target) /* which drops prints */
            c->compared.given.report.prints = c->compared.expected.report.prints;
        differs = opt_differs(&c->compared, program);
    }
    c->programs++;
    c->filled += filled != program;
    if (differs && c->shows) {
        guard_show(program);
        if (legal)
            guard_show(legal);
    }
    vyre_program_release(filled);
    vyre_program_release(legal);
    return differs != 0;
}

/* The case of a seed. */
static inline int guard_try(guard_campaign *c, uint64_t seed) {
    vyre_case *made;
    vyre_program *flat, *program;
    vyre_error error;
    c->generate.seed = seed;
    if (vyre_generate(&c->generate, &made, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    if (vyre_program_inline(vyre_case_program(made), &flat, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    program = leaving_program(flat, seed);
    int spoiled = guard_spoils(c, program, vyre_case_arguments(made));
    vyre_program_release(program);
    vyre_program_release(flat);
    vyre_case_free(made);
    return spoiled;
}

#endif
