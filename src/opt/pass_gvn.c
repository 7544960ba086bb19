/* The pass (pass_gvn.h): its tables, and one part after the other. */
#include "opt/pass_gvn.h"

#include "base/status.h"
#include "opt/gvn_rewrite.h"
#include "opt/gvn_walk.h"

static int prepare(vy_gvn *n) {
    const vyre_program *p = n->program;
    size_t exprs = p->exprs.count, stmts = p->stmts.count, variables = p->variables.count + 1u,
           memories = p->memories.count + 1u;
    n->size =
        vy_array_size(2 * exprs + stmts + variables + 2 * memories + (exprs + variables) / 4 + 1, sizeof *n->block);
    n->block = vy_allocate(n->size);
    for (n->bucket_count = 64; n->bucket_count < exprs; n->bucket_count *= 2) {
    }
    n->bucket_size = vy_array_size(n->bucket_count, sizeof *n->buckets);
    n->buckets = vy_allocate_zero(n->bucket_size);
    if (!n->block || !n->buckets)
        return 0;
    if (!VY_RESERVE(&n->values, exprs / 2 + stmts + variables) || !VY_RESERVE(&n->log, stmts + variables))
        return 0;
    n->of_expr = n->block;
    n->target = n->of_expr + exprs;
    n->made = n->target;
    n->first_expr = n->target + exprs;
    n->of_variable = n->first_expr + stmts;
    n->of_memory = n->of_variable + variables;
    n->last_load = n->of_memory + memories;
    n->becomes = (uint8_t *)(n->last_load + memories);
    n->is_assigned = n->becomes + exprs;
    memset(n->of_variable, 0xff, (variables + memories) * sizeof *n->of_variable); /* and of_memory */
    memset(n->becomes, 0, exprs + variables);                                      /* and is_assigned */
    memset(n->last_load, 0, memories * sizeof *n->last_load);
    for (uint32_t i = 0; i < p->exprs.count; i++)
        if (p->exprs.items[i].kind == VY_EXPR_LOAD)
            n->last_load[p->exprs.items[i].a] = i + 1;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (p->stmts.items[i].kind == VY_STMT_ASSIGN)
            n->is_assigned[p->stmts.items[i].variable] = 1;
    return 1;
}

vyre_status vy_pass_values(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out, uint64_t *changes,
                           vyre_error *error) {
    vy_gvn n = {.program = from, .rules = rules};
    *out = NULL;
    *changes = 0;
    n.failed = !prepare(&n);
    if (!n.failed)
        vy_gvn_walk(&n);
    vyre_status status = n.failed    ? vy_fail_memory(error, "a pass")
                         : n.changes ? vy_gvn_write(&n, out, changes, error)
                                     : VYRE_OK;
    if (!n.failed && !n.changes)
        *out = vyre_program_retain((vyre_program *)from);
    vy_ranges_free(n.ranges);
    vy_release(n.block, n.size);
    vy_release(n.buckets, n.bucket_size);
    VY_VECTOR_FREE(&n.values);
    VY_VECTOR_FREE(&n.log);
    return status;
}
