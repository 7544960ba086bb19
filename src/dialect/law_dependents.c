/* Laws of other dialects that depend on one that changes: through an op that the law names, or that a body calls, or a body of that. */
#include "base/status.h"
#include "dialect/law_check.h"
#include "ir/attributes.h"
#include "ir/identifiers.h"
#include "ir/model.h"

/* ---- what an op depends on ---- */

typedef struct dependency_walk {
    vyre_dialects_guard guard;
    const char *dialect;
    VY_VECTOR(const vyre_op_definition *) seen; /* ops on the way, each once; those up to `done` were looked at */
    uint32_t done;
    int found, failed;
} dependency_walk;

static void visit(dependency_walk *r, const char *id, size_t length) {
    const vyre_op_definition *op = vyre_dialects_find(r->guard, id, length);
    if (vy_op_id_after(id, length, r->dialect))
        r->found = 1;
    for (uint32_t i = 0; i < r->seen.count; i++)
        if (r->seen.items[i] == op)
            return;
    const vyre_op_definition **slot = op ? VY_PUSH(&r->seen) : NULL;
    if (slot)
        *slot = op;
    else
        r->failed |= op != NULL;
}

static void visit_calls(dependency_walk *r, const vyre_program *body) {
    for (uint32_t i = 0; body && (body->facts & VY_PROGRAM_HAS_OP_CALL) && i < body->stmts.count; i++) {
        const vy_stmt *s = &body->stmts.items[i];
        if (s->kind == VY_STMT_CALL && s->callee == VY_NONE) {
            const char *name = vy_symbol_name(body, s->name);
            visit(r, name, vy_call_id_length(name));
        }
    }
}

static void visit_laws(dependency_walk *r, const vyre_op_definition *op) {
    for (uint32_t i = 0; i < op->law_count; i++)
        for (uint32_t k = 0; k < op->laws[i].argument_count; k++)
            if (vyre_law_arguments(op->laws[i].kind)[k] == 'o')
                visit(r, op->laws[i].arguments[k].text, strlen(op->laws[i].arguments[k].text));
}

/* Whether laws of an op of another dialect depend on this one: 1, 0, or -1 without memory. */
static int depends(vyre_dialects_guard guard, const vyre_op_definition *op, const char *dialect) {
    dependency_walk r = {.guard = guard, .dialect = dialect};
    visit_laws(&r, op);
    visit_calls(&r, op->body);
    for (; r.done < r.seen.count && !r.found && !r.failed; r.done++)
        visit_calls(&r, r.seen.items[r.done]->body);
    VY_VECTOR_FREE(&r.seen);
    return r.failed ? -1 : r.found;
}

/* ---- their laws ---- */

/* The law held before the change, or else its op would not be there. One that names an op that is gone says nothing until it is back. */
static vyre_status check_op(vyre_dialects_guard candidate, const vyre_op_definition *op, vy_law_violation_fn *broken,
                            void *user) {
    for (uint32_t i = 0; i < op->law_count; i++) {
        vyre_error why;
        vyre_status status = vy_law_check(candidate, op, i, NULL, &why);
        if (status == VYRE_NO_MEMORY)
            return status;
        if (status == VYRE_OK || status == VYRE_NOT_FOUND)
            continue;
        vy_fix_format(why.fix, sizeof why.fix, "correct the body here, or remove the law there (%.128s)", op->owner);
        broken(user, &why);
    }
    return VYRE_OK;
}

vyre_status vy_law_check_dependents(vyre_dialects_guard candidate, const char *dialect, vy_law_violation_fn *broken,
                                    void *user) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < vyre_dialects_count(candidate) && status == VYRE_OK; i++) {
        const vyre_op_definition *op = vyre_dialects_at(candidate, i);
        if (op->law_count == 0 || strcmp(op->dialect, dialect) == 0)
            continue;
        int is_dependent = depends(candidate, op, dialect);
        status = is_dependent < 0 ? VYRE_NO_MEMORY : is_dependent ? check_op(candidate, op, broken, user) : VYRE_OK;
    }
    return status;
}
