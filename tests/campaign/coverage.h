/* What a set of programs contains: every row of the op table on every type, every kind of statement, collective,
 * atomic, memory and grid.
 *
 * A cell counts programs, not occurrences. A table with no empty cell means that the generator reaches everything it
 * should. */
#ifndef VY_CAMPAIGN_COVERAGE_H
#define VY_CAMPAIGN_COVERAGE_H

#include "ir/model.h"
#include "ir/op_tables.h"

#include <stdio.h>

enum { COVERAGE_WIDTHS = 7 /* the workgroup, then subgroups of 2 to 64 */ };

typedef struct coverage {
    uint64_t programs;
    uint64_t ops[VYRE_OP_COUNT][VYRE_TYPE_COUNT];     /* by type of the operands */
    uint64_t casts[VYRE_TYPE_COUNT][VYRE_TYPE_COUNT]; /* from, to */
    uint64_t bitcasts[VYRE_TYPE_COUNT][VYRE_TYPE_COUNT];
    uint64_t exprs[VY_EXPR_KIND_COUNT];
    uint64_t builtins[VYRE_BUILTIN_COUNT];
    uint64_t stmts[VY_STMT_KIND_COUNT];
    uint64_t collectives[VYRE_COLLECTIVE_COUNT][COVERAGE_WIDTHS];
    uint64_t combines[VYRE_OP_COUNT][VYRE_TYPE_COUNT];
    uint64_t atomics[VYRE_ATOMIC_COUNT][VYRE_TYPE_COUNT][VY_SPACE_COUNT];
    uint64_t orders[VYRE_ORDER_COUNT][VYRE_SCOPE_COUNT];
    uint64_t barriers[VYRE_SCOPE_COUNT];
    uint64_t memories[VY_SPACE_COUNT][VYRE_ACCESS_COUNT];
    uint64_t sizes[VY_SIZE_KIND_COUNT];
    uint64_t grids[VYRE_GRID_KIND_COUNT];
    uint64_t loops[VYRE_TYPE_COUNT]; /* `for`, by type of the variable */
} coverage;

/* Adds `from` to `to`: both are tables of numbers. */
static inline void coverage_join(coverage *to, const coverage *from) {
    uint64_t *sums = (uint64_t *)to;
    const uint64_t *numbers = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *sums; i++)
        sums[i] += numbers[i];
}

static inline void coverage_see_expr(coverage *seen, const vyre_program *p, const vy_expr *e) {
    seen->exprs[e->kind] = 1;
    if (e->kind == VY_EXPR_BUILTIN)
        seen->builtins[e->op] = 1;
    if (e->kind != VY_EXPR_OP)
        return;
    uint8_t operand = p->exprs.items[e->op == VYRE_OP_SELECT ? e->b : e->a].type;
    seen->ops[e->op][operand] = 1;
    if (e->op == VYRE_OP_CAST)
        seen->casts[operand][e->type] = 1;
    if (e->op == VYRE_OP_BITCAST)
        seen->bitcasts[operand][e->type] = 1;
}

static inline unsigned coverage_width(uint8_t width) {
    unsigned index = 0;
    for (; width > 1; width /= 2)
        index++;
    return index;
}

static inline void coverage_see_stmt(coverage *seen, const vyre_program *p, const vy_stmt *s) {
    seen->stmts[s->kind] = 1;
    switch (s->kind) {
    case VY_STMT_COLLECTIVE:
        seen->collectives[s->op][coverage_width(s->width)] = 1;
        if (s->op <= VYRE_COLLECTIVE_SCAN_EXCLUSIVE)
            seen->combines[s->combine][p->exprs.items[s->a].type] = 1;
        break;
    case VY_STMT_ATOMIC:
        seen->atomics[s->op][p->memories.items[s->memory].type][p->memories.items[s->memory].space] = 1;
        seen->orders[s->order][s->scope] = 1;
        break;
    case VY_STMT_BARRIER:
        seen->barriers[s->scope] = 1;
        break;
    case VY_STMT_FOR:
        seen->loops[p->variables.items[s->variable].type] = 1;
        break;
    default:
        break;
    }
}

static inline void coverage_add(coverage *total, const vyre_program *p) {
    coverage seen = {.programs = 1};
    for (uint32_t i = 0; i < p->exprs.count; i++)
        coverage_see_expr(&seen, p, &p->exprs.items[i]);
    for (uint32_t i = 0; i < p->stmts.count; i++)
        coverage_see_stmt(&seen, p, &p->stmts.items[i]);
    for (uint32_t i = 0; i < p->memories.count; i++)
        seen.memories[p->memories.items[i].space][p->memories.items[i].access] = 1;
    for (uint32_t i = 0; i < p->sizes.count; i++)
        seen.sizes[p->sizes.items[i].kind] = 1;
    seen.grids[p->grid.kind] = 1;
    coverage_join(total, &seen);
}

/* ---- what must occur ---- */

typedef struct coverage_report {
    FILE *to; /* empty cells are named here; NULL only counts */
    unsigned cells, empty;
} coverage_report;

static inline void coverage_cell(coverage_report *report, uint64_t count, const char *what, const char *name,
                                 const char *detail) {
    report->cells++;
    if (count)
        return;
    report->empty++;
    if (report->to)
        fprintf(report->to, "never generated: %s %s %s\n", what, name, detail);
}

static inline void coverage_check_ops(const coverage *c, coverage_report *report) {
    for (int i = 0; i < VY_SOURCE_OPS; i++) {
        vyre_op op = (vyre_op)vy_source_ops[i];
        const vyre_op_info *row = vyre_op_get(op);
        for (int type = 0; type < VYRE_TYPE_COUNT; type++)
            if (vyre_type_class((vyre_type)type) & row->classes)
                coverage_cell(report, c->ops[op][type], "op", row->name, vyre_type_name((vyre_type)type));
    }
    for (int from = 0; from < VYRE_TYPE_COUNT; from++)
        for (int to = 0; to < VYRE_TYPE_COUNT; to++) {
            if (vyre_op_accepts(VYRE_OP_CAST, (vyre_type)from, (vyre_type)to))
                coverage_cell(report, c->casts[from][to], "cast", vyre_type_name((vyre_type)from),
                              vyre_type_name((vyre_type)to));
            if (vyre_op_accepts(VYRE_OP_BITCAST, (vyre_type)from, (vyre_type)to))
                coverage_cell(report, c->bitcasts[from][to], "bitcast", vyre_type_name((vyre_type)from),
                              vyre_type_name((vyre_type)to));
        }
}

static inline void coverage_check_collectives(const coverage *c, coverage_report *report) {
    static const char *const widths[] = {"workgroup", "2", "4", "8", "16", "32", "64"};
    for (int kind = 0; kind < VY_SOURCE_COLLECTIVES; kind++)
        for (int width = 0; width < COVERAGE_WIDTHS; width++)
            if (vy_collectives[kind].over[width != 0])
                coverage_cell(report, c->collectives[kind][width], "collective",
                              vyre_collective_name((vyre_collective)kind), widths[width]);
#define X(ID)                                                                                                          \
    for (int type = 0; type < VYRE_TYPE_COUNT; type++)                                                                 \
        if (vyre_op_accepts(VYRE_OP_##ID, (vyre_type)type, (vyre_type)type))                                           \
            coverage_cell(report, c->combines[VYRE_OP_##ID][type], "combining", #ID, vyre_type_name((vyre_type)type));
    VYRE_COMBINE_LIST(X)
#undef X
}

/* The kinds whose result does not depend on the schedule. */
static inline void coverage_check_atomics(const coverage *c, coverage_report *report) {
    static const uint8_t kinds[] = {VYRE_ATOMIC_LOAD, VYRE_ATOMIC_ADD, VYRE_ATOMIC_AND, VYRE_ATOMIC_OR,
                                    VYRE_ATOMIC_XOR,  VYRE_ATOMIC_MIN, VYRE_ATOMIC_MAX};
    for (unsigned i = 0; i < sizeof kinds; i++)
        for (int type = VYRE_TYPE_I32; type <= VYRE_TYPE_U64; type++) {
            const char *name = vyre_atomic_name((vyre_atomic)kinds[i]);
            coverage_cell(report, c->atomics[kinds[i]][type][VY_SPACE_BUFFER], name, "buffer",
                          vyre_type_name((vyre_type)type));
            coverage_cell(report, c->atomics[kinds[i]][type][VY_SPACE_WORKGROUP], name, "workgroup",
                          vyre_type_name((vyre_type)type));
        }
    for (int order = 0; order < VYRE_ORDER_COUNT; order++) {
        coverage_cell(report, c->orders[order][VYRE_SCOPE_WORKGROUP], "order", vyre_order_name((vyre_order)order),
                      "workgroup");
        coverage_cell(report, c->orders[order][VYRE_SCOPE_DEVICE], "order", vyre_order_name((vyre_order)order),
                      "device");
    }
}

/* `print` is not generated: it is the oracle's alone. Nor is what only level legal has. */
static inline void coverage_check_shapes(const coverage *c, coverage_report *report) {
    static const char *const stmts[] = {"let",   "var",     "assign",   "store",  "atomic", "collective",
                                        "call",  "barrier", "trap",     "print",  "if",     "for",
                                        "while", "break",   "continue", "return", "region"};
    static const char *const exprs[] = {"literal", "variable", "load", "len", "builtin", "op"};
    static const char *const sizes[] = {"literal", "param", "len", "add", "sub",     "mul",
                                        "div",     "rem",   "min", "max", "div_ceil"};
    static const char *const grids[] = {"dispatch", "over", "groups", "elements", "indirect"};
    for (int kind = 0; kind < VY_STMT_LOAD_WIDE; kind++)
        if (kind != VY_STMT_PRINT)
            coverage_cell(report, c->stmts[kind], "statement", stmts[kind], "");
    for (int kind = 0; kind < VY_EXPR_ALIGN_OFFSET; kind++)
        coverage_cell(report, c->exprs[kind], "expression", exprs[kind], "");
    for (int kind = 0; kind < VYRE_BUILTIN_COUNT; kind++)
        coverage_cell(report, c->builtins[kind], "builtin", vyre_builtin_name((vyre_builtin)kind), "");
    for (int kind = 0; kind < VY_SIZE_KIND_COUNT; kind++)
        coverage_cell(report, c->sizes[kind], "size", sizes[kind], "");
    for (int kind = 0; kind < VYRE_GRID_KIND_COUNT; kind++)
        coverage_cell(report, c->grids[kind], "grid", grids[kind], "");
    coverage_cell(report, c->barriers[VYRE_SCOPE_WORKGROUP], "barrier", "workgroup", "");
    coverage_cell(report, c->barriers[VYRE_SCOPE_DEVICE], "barrier", "device", "");
    for (int access = 0; access < VYRE_ACCESS_COUNT; access++)
        coverage_cell(report, c->memories[VY_SPACE_BUFFER][access], "buffer of access", "", "");
    coverage_cell(report, c->memories[VY_SPACE_WORKGROUP][VYRE_ACCESS_READ_WRITE], "array", "workgroup", "");
    coverage_cell(report, c->memories[VY_SPACE_PRIVATE][VYRE_ACCESS_READ_WRITE], "array", "private", "");
    for (int type = 0; type < VYRE_TYPE_COUNT; type++)
        if (vyre_type_class((vyre_type)type) & VYRE_CLASS_INTEGER)
            coverage_cell(report, c->loops[type], "for over", vyre_type_name((vyre_type)type), "");
}

static inline coverage_report coverage_check(const coverage *c, FILE *to) {
    coverage_report report = {.to = to};
    coverage_check_ops(c, &report);
    coverage_check_collectives(c, &report);
    coverage_check_atomics(c, &report);
    coverage_check_shapes(c, &report);
    return report;
}

#endif
