/* Choosing (gvn_select.h). */
#include "opt/gvn_select.h"

#include "opt/gvn_state.h"

static void replace(vy_gvn *n, uint32_t expr, vy_gvn_replacement becomes, uint32_t target) {
    n->becomes[expr] = (uint8_t)becomes;
    n->target[expr] = target;
    n->changes++;
}

/* What a tree may lead: in an arm of `?:`, `&&` or `||` nothing that loads, as a `let` would load for those that do
 * not take the arm. */
typedef enum leads { LEADS_NOTHING, LEADS_IN_ARM, LEADS_ALL } leads;

static int choose_tree(vy_gvn *n, uint32_t root, leads may_lead);

/* Decides what a tree becomes, from the root down; returns whether what is left of it loads. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH. Most trees are leaves that stay. */
static inline int choose(vy_gvn *n, uint32_t root, leads may_lead) {
    const vy_expr *e = &n->program->exprs.items[root];
    const vy_value *v = &n->values.items[n->of_expr[root]];
    int stays = e->kind == VY_EXPR_VARIABLE
                    ? v->key.kind != VY_EXPR_LITERAL && (v->holder == VY_NONE || v->holder == e->a)
                    : e->kind == VY_EXPR_LITERAL;
    return !stays && choose_tree(n, root, may_lead);
}

static int choose_tree(vy_gvn *n, uint32_t root, leads may_lead) {
    const vy_expr *e = &n->program->exprs.items[root];
    uint32_t number = n->of_expr[root];
    const vy_value *v = &n->values.items[number];
    if (v->key.kind == VY_EXPR_LITERAL) {
        replace(n, root, VY_GVN_TO_LITERAL, VY_NONE);
        return 0;
    }
    if (v->holder != VY_NONE) {
        replace(n, root, VY_GVN_TO_VARIABLE, v->holder);
        return 0;
    }
    if (e->kind != VY_EXPR_OP && e->kind != VY_EXPR_LOAD)
        return 0;
    if (v->leader != VY_NONE) {
        replace(n, root, VY_GVN_TO_LEADER, v->leader);
        n->becomes[v->leader] = VY_GVN_IS_LEADER;
        n->made[v->leader] = VY_NONE;
        n->leads = 1;
        return 0;
    }
    leads in_arm = may_lead == LEADS_ALL && e->kind == VY_EXPR_OP && vy_op_has_arms(e->op) && n->rules->guards_count
                       ? LEADS_IN_ARM
                       : may_lead;
    int loads = e->kind == VY_EXPR_LOAD;
    if (e->kind == VY_EXPR_OP)
        loads |= choose(n, e->a, may_lead);
    if (e->b != VY_NONE)
        loads |= choose(n, e->b, in_arm);
    if (e->kind == VY_EXPR_OP && e->c != VY_NONE)
        loads |= choose(n, e->c, in_arm);
    if (may_lead == LEADS_ALL || (may_lead == LEADS_IN_ARM && !loads))
        vy_gvn_set(n, VY_GVN_SLOT_LEADER, number, root);
    return loads;
}

void vy_gvn_choose(vy_gvn *n, const vy_stmt *s) {
    const vyre_program *p = n->program;
    leads may_lead = s->kind != VY_STMT_WHILE ? LEADS_ALL : LEADS_NOTHING;
    if (s->a != VY_NONE)
        choose(n, s->a, may_lead);
    if (s->b != VY_NONE)
        choose(n, s->b, may_lead);
    if (s->c != VY_NONE)
        choose(n, s->c, may_lead);
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (!p->args.items[s->args + i].is_memory)
            choose(n, p->args.items[s->args + i].index, may_lead);
}
