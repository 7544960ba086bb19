/* What a phase of legalisation (legalizer.h) leaves as it is, which is most of a program: it is found before, and copied in a row.
 *
 * What must stay true: a statement is plain only if lowering it would write the same. What is said here is less than what could be said: whatever is not plain is
 * lowered. */
#include "ir/eval.h"
#include "ir/walk.h"
#include "lower/legalizer.h"

static const uint64_t *literal_of(const vyre_program *p, uint32_t expr) {
    return expr != VY_NONE && p->exprs.items[expr].kind == VY_EXPR_LITERAL ? &p->exprs.items[expr].bits : NULL;
}

/* Whether vy_legalizer_fold has nothing to say. Without a literal it never has. */
static int is_unfolded(const vyre_program *p, const vy_expr *e) {
    const uint64_t *a = literal_of(p, e->a), *b = literal_of(p, e->b);
    uint64_t bits;
    return (!a && !b) || vy_legal_fold((vyre_op)e->op, (vyre_type)e->type, (vyre_type)p->exprs.items[e->a].type, a, b,
                                       &bits) == VY_FOLDED_NOT;
}

/* The types whose values are held as they are. Narrow types are held in others, or written in several ways, but for phases that say otherwise. */
static uint32_t plain_types(const vy_legalizer *rw) {
    uint32_t plain = 0;
    for (uint32_t i = 0; i < VYRE_TYPE_COUNT; i++)
        if ((i == VYRE_TYPE_BOOL || vy_type_layouts[i].bits >= 32 || rw->phase->keeps_narrow) &&
            rw->phase->carrier(rw, (vyre_type)i) == i)
            plain |= 1u << i;
    return plain;
}

static inline int is_plain_type(const vy_legalizer *rw, uint8_t type) {
    return rw->plain >> type & 1;
}

/* Whether a node is lowered to itself if its operands are. */
static int is_plain(const vy_legalizer *rw, const vy_expr *e) {
    if (!is_plain_type(rw, e->type))
        return 0;
    return e->kind != VY_EXPR_OP ||
           (is_unfolded(rw->from, e) && rw->phase->keeps(rw, e, vy_legalizer_operand_type(rw->from, e)));
}

static int are_plain(const vy_legalizer *rw, uint32_t first, uint32_t end) {
    if (end - first > VY_LEGALIZER_MAX_DEPTH)
        return 0;
    for (uint32_t i = first; i < end; i++)
        if (!is_plain(rw, &rw->from->exprs.items[i]))
            return 0;
    return 1;
}

/* Whether a statement is written as it is, but for what is in its blocks. */
static int is_plain_stmt(const vy_legalizer *rw, const vy_stmt *s, uint32_t first, uint32_t end) {
    const vyre_program *p = rw->from;
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
    case VY_STMT_FOR:
        if (!is_plain_type(rw, p->variables.items[s->variable].type))
            return 0;
        break;
    case VY_STMT_STORE:
        if (!is_plain_type(rw, p->memories.items[s->memory].type) ||
            !(vy_type_layouts[p->memories.items[s->memory].type].classes & VYRE_CLASS_INTEGER))
            return 0;
        break;
    case VY_STMT_ASSIGN:
    case VY_STMT_IF:
    case VY_STMT_WHILE:
    case VY_STMT_REGION:
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
    case VY_STMT_BARRIER:
        break;
    default:
        return 0;
    }
    return are_plain(rw, first, end);
}

int vy_legalizer_find_others(vy_legalizer *rw) {
    uint32_t end = 0; /* of the expressions of the statement before; the program is nothing but its entry */
    rw->plain = plain_types(rw);
    for (uint32_t i = rw->copy.entry->first_stmt; i < rw->copy.entry->end_stmt; i++) {
        const vy_stmt *s = &rw->from->stmts.items[i];
        uint32_t first = end;
        end = vy_stmt_exprs_end(rw->from, s, first);
        if (is_plain_stmt(rw, s, first, end))
            continue;
        uint32_t *slot = VY_PUSH(&rw->others);
        if (!slot)
            return 0;
        *slot = i;
    }
    return 1;
}

/* What is lowered is at the place of its statement, all of it; what is copied was put there (bounds_checks.c). */
uint32_t vy_legalizer_copy_run(vy_legalizer *rw, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = rw->from->stmts.items;
    while (rw->next_other < rw->others.count && rw->others.items[rw->next_other] < first)
        rw->next_other++;
    uint32_t stop = rw->next_other < rw->others.count ? rw->others.items[rw->next_other] : end, next = first;
    while (next < end && stmts[next].end <= stop)
        next = stmts[next].end;
    if (next == first)
        return first;
    vy_irb_clone_stmts(&rw->copy.draft, rw->from, first, next, rw->copy.variables, rw->copy.memories, NULL);
    return next;
}
