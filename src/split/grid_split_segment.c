/* Segments of a grid split: the part of the program from one grid barrier to the next, with its spill code.
 *
 * From the start of the program, a grid barrier ends the segment; the statements after it in the same block are
 * unreachable. From a grid barrier, the segment is the rest of the block of the barrier, then the rest of the enclosing
 * block, and so on:
 *
 *   if c { … grid_barrier A } B            A  B
 *   region r { … grid_barrier A } B        region r { A }  B
 *   while c { … grid_barrier A } B         var resumes = true
 *                                          while resumes || c { if resumes { resumes = false  A } else { … end } }  B
 *   for i in a .. b step s { … }           for i in i .. b step s { if resumes { … } else { … } }
 *
 * A `for` restarts with the iteration it was in, so its first iteration is the rest of that one, and its counting rule
 * does not matter. If another grid barrier follows in the same block, and nothing jumps past it, the enclosing loops do
 * not matter: the segment is the code between the two. A loop with at most one iteration (the inliner makes these)
 * stays one: `while true { A }`; the validator is more lenient with them.
 *
 * The whole segment is in a region named after the program. So no statement moves to the body of the program, where the
 * validator searches for certain races. */
#include "split/grid_split.h"

#include "analysis/control_flow.h"
#include "opt/clone.h"

#include <stdio.h>

/* A segment is written twice. The first pass determines the values that it uses and the barriers where it ends, and
 * its result is discarded. The second pass writes, before the first statement, the code that these need. */
typedef struct vy_segment {
    const vy_split *split;
    const vy_split_plan *plan;
    uint32_t start; /* the ordinal of a grid barrier; VY_NONE: the start of the program */
    vy_cloner copy;
    int is_measured;                     /* in the second pass */
    int has_sync;                        /* invocations synchronise in it, at barriers or collectives */
    VY_VECTOR(uint32_t) ends;            /* the grid barriers where it ends, as far as known */
    uint32_t path[VY_LIMIT_NESTING + 1]; /* the blocks around the start, outermost first, then the barrier itself */
    uint32_t depth;                      /* blocks in path */
    int is_straight;                     /* another grid barrier follows in the same block, and no jump skips it */
    uint32_t resumes; /* variable of the draft: true until the start is reached; VY_NONE if it is reached immediately */
    uint32_t *params, buffers[VY_SPLIT_BUFFERS]; /* the hidden ones, of the draft */
    /* Variables of the draft; VY_NONE where not needed. */
    uint32_t group, invocation, invocations;
    uint32_t group_base[VY_WIDTHS]; /* the first element of this workgroup in the buffer of that width */
} vy_segment;

/* ---- spill code: loads at the start of a segment, stores at its end ----
 *
 * No index can wrap: every u32 computed here is at most the number of elements of a hidden buffer, and
 * vy_split_elements allows at most 2^32 - 1.
 *
 * Invariant: a variable or private array that is uniform in the program is uniform in every segment; otherwise
 * barriers and collectives of the segments would be in divergent control flow. A load from a buffer that is written is
 * not uniform, so in a segment that synchronises such a value is broadcast. All invocations of a workgroup execute the
 * broadcast: the program reached a grid barrier. */

static const vyre_type stored_types[VY_WIDTHS] = {VYRE_TYPE_U8, VYRE_TYPE_U16, VYRE_TYPE_U32, VYRE_TYPE_U64};

/* ---- shorthands ---- */

static vy_irb *draft_of(vy_segment *s) {
    return &s->copy.draft;
}

static uint32_t number(vy_segment *s, uint32_t value) {
    return vy_irb_literal(draft_of(s), VYRE_TYPE_U32, value);
}

static uint32_t use(vy_segment *s, uint32_t variable) {
    return vy_irb_variable(draft_of(s), variable);
}

static uint32_t builtin(vy_segment *s, vyre_builtin which, unsigned axis) {
    return vy_irb_builtin(draft_of(s), which, axis);
}

/* Operands are appended one at a time: they must be appended in order, and C evaluates arguments in any order. */
static uint32_t with_number(vy_segment *s, uint32_t a, vyre_op op, uint32_t value) {
    return vy_irb_op(draft_of(s), op, VYRE_TYPE_U32, a, number(s, value), VY_NONE);
}

static uint32_t with_variable(vy_segment *s, uint32_t a, vyre_op op, uint32_t variable) {
    return vy_irb_op(draft_of(s), op, VYRE_TYPE_U32, a, use(s, variable), VY_NONE);
}

static uint32_t with_builtin(vy_segment *s, uint32_t a, vyre_op op, vyre_builtin which, unsigned axis) {
    return vy_irb_op(draft_of(s), op, VYRE_TYPE_U32, a, builtin(s, which, axis), VY_NONE);
}

static void open_if_zero(vy_segment *s, uint32_t a) {
    vy_irb_if(draft_of(s), vy_irb_op(draft_of(s), VYRE_OP_EQ, VYRE_TYPE_BOOL, a, number(s, 0), VY_NONE));
}

static uint32_t let(vy_segment *s, const char *name, uint32_t value) {
    return vy_irb_let(draft_of(s), vy_cloner_new_name(&s->copy, name), VYRE_TYPE_U32, value);
}

static uint32_t buffer_of(const vy_segment *s, vy_spill_slot spill) {
    return s->buffers[spill.width];
}

/* ---- values and their stored form ---- */

static uint32_t encode(vy_segment *s, uint8_t type, uint8_t width, uint32_t value) {
    if (type == (uint8_t)stored_types[width])
        return value;
    vyre_op op = type == VYRE_TYPE_BOOL ? VYRE_OP_CAST : VYRE_OP_BITCAST;
    return vy_irb_op(draft_of(s), op, stored_types[width], value, VY_NONE, VY_NONE);
}

static uint32_t decode(vy_segment *s, uint8_t type, uint8_t width, uint32_t stored) {
    vyre_type given = stored_types[width];
    if (type == (uint8_t)given)
        return stored;
    if (type == VYRE_TYPE_BOOL)
        return vy_irb_op(draft_of(s), VYRE_OP_NE, VYRE_TYPE_BOOL, stored, vy_irb_literal(draft_of(s), given, 0),
                         VY_NONE);
    return vy_irb_op(draft_of(s), VYRE_OP_BITCAST, (vyre_type)type, stored, VY_NONE, VY_NONE);
}

/* The element of a spill slot; of an array, the one with the index in variable `at` (VY_NONE: the first). */
static uint32_t element(vy_segment *s, vy_spill_slot spill, uint32_t at) {
    int is_group = spill.kind == VY_SPILL_GROUP, is_first = spill.slot == 0 && at == VY_NONE;
    if (is_first)
        return use(s, is_group ? s->group_base[spill.width] : s->invocation);
    uint32_t index =
        is_group ? with_number(s, use(s, s->group_base[spill.width]), VYRE_OP_ADD, spill.slot) : number(s, spill.slot);
    if (at != VY_NONE)
        index = with_variable(s, index, VYRE_OP_ADD, at);
    if (is_group)
        return index;
    return with_variable(s, with_variable(s, index, VYRE_OP_MUL, s->invocations), VYRE_OP_ADD, s->invocation);
}

/* The stored form of an element, loaded; uniform over the workgroup if required. */
static uint32_t load_element(vy_segment *s, vy_spill_slot spill, uint32_t at) {
    uint32_t value = vy_irb_load(draft_of(s), buffer_of(s, spill), element(s, spill, at));
    if (spill.kind != VY_SPILL_GROUP || !s->has_sync)
        return value;
    vy_stmt broadcast = vy_irb_blank_stmt(VY_STMT_COLLECTIVE);
    broadcast.op = VYRE_COLLECTIVE_BROADCAST;
    broadcast.a = value;
    broadcast.b = number(s, 0);
    broadcast.result_count = 1;
    vy_symbol name = vy_cloner_new_name(&s->copy, "shared");
    uint32_t made = vy_irb_stmt(draft_of(s), &broadcast, NULL, 0, &name, &stored_types[spill.width]);
    return made == VY_NONE ? VY_NONE : use(s, draft_of(s)->program->stmts.items[made].variable);
}

/* ---- loops over arrays ---- */

/* Opens `for at in …` over the elements: all of them, or for a workgroup array every group_size-th one. */
static uint32_t open_loop(vy_segment *s, const vy_memory *m) {
    vy_symbol name = vy_cloner_new_name(&s->copy, "at");
    if (m->space != VY_SPACE_WORKGROUP) {
        uint32_t from = number(s, 0), to = number(s, m->elements);
        return vy_irb_for(draft_of(s), name, VYRE_TYPE_U32, from, to, VY_NONE);
    }
    uint32_t from = builtin(s, VYRE_BUILTIN_LOCAL_INDEX, 0), to = number(s, m->elements),
             step = number(s, vy_workgroup_invocations(s->plan->program));
    return vy_irb_for(draft_of(s), name, VYRE_TYPE_U32, from, to, step);
}

static void barrier(vy_segment *s) {
    if (vy_workgroup_invocations(s->plan->program) == 1)
        return;
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_BARRIER);
    stmt.scope = VYRE_SCOPE_WORKGROUP;
    vy_irb_stmt(draft_of(s), &stmt, NULL, 0, NULL, NULL);
}

/* ---- the decision ---- */

/* Only the first invocation of the grid writes. */
static void decide(vy_segment *s, uint32_t segment) {
    if (s->split->decision == VY_NONE)
        return;
    uint32_t id = builtin(s, VYRE_BUILTIN_LOCAL_INDEX, 0);
    for (unsigned axis = 0; axis < 3; axis++)
        id = with_builtin(s, id, VYRE_OP_OR, VYRE_BUILTIN_GROUP_ID, axis);
    open_if_zero(s, id);
    uint32_t at = number(s, 0);
    vy_irb_store(draft_of(s), s->buffers[VY_WIDTHS], at, number(s, segment));
    vy_irb_end_block(draft_of(s));
}

/* ---- declarations ---- */

/* Declares the hidden params. */
static void declare_params(vy_segment *s) {
    for (uint32_t i = 0; i < s->plan->host_param_count; i++) {
        const vy_variable *v = vy_variable_at(s->plan->program, s->plan->host_params[i]);
        char text[VY_LIMIT_NAME + 8];
        snprintf(text, sizeof text, "host_%s", vy_symbol_name(s->plan->program, v->name));
        s->params[i] = vy_irb_scalar_param(draft_of(s), vy_cloner_new_name(&s->copy, text), (vyre_type)v->type);
    }
}

static uint32_t declare_buffer(vy_segment *s, const char *name, vyre_type type) {
    return vy_irb_memory_param(draft_of(s), vy_cloner_new_name(&s->copy, name), VY_SPACE_BUFFER, type,
                               VYRE_ACCESS_READ_WRITE, VY_NONE);
}

/* In the order of split->buffers. */
static void declare_buffers(vy_segment *s) {
    static const char *const names[VY_WIDTHS] = {"kept8", "kept16", "kept32", "kept64"};
    for (int w = 0; w < VY_WIDTHS; w++)
        if (s->plan->per_invocation[w] || s->plan->per_group[w])
            s->buffers[w] = declare_buffer(s, names[w], stored_types[w]);
    if (s->split->decision != VY_NONE)
        s->buffers[VY_WIDTHS] = declare_buffer(s, "decision", VYRE_TYPE_U32);
}

/* ---- indices ---- */

typedef struct needs {
    int invocation, group[VY_WIDTHS];
} needs;

static void need(needs *n, vy_spill_slot spill) {
    n->invocation |= spill.kind == VY_SPILL_INVOCATION;
    if (spill.kind == VY_SPILL_GROUP)
        n->group[spill.width] = 1;
}

static void need_live(const vy_segment *s, needs *n, uint32_t at) {
    for (uint32_t i = s->plan->live_first[at]; i < s->plan->live_first[at + 1]; i++)
        need(n, s->plan->variable_slots[s->plan->live_variables[i]]);
    for (uint32_t m = s->plan->program->buffer_count; m < s->plan->program->memories.count; m++)
        if (vy_live_at(s->plan->memory_live[m], at))
            need(n, s->plan->memory_slots[m]);
}

/* (z * ny + y) * nx + x */
static uint32_t linear_group(vy_segment *s) {
    uint32_t index = builtin(s, VYRE_BUILTIN_GROUP_ID, 2);
    for (unsigned axis = 2; axis-- > 0;) {
        index = with_builtin(s, index, VYRE_OP_MUL, VYRE_BUILTIN_GROUP_COUNT, axis);
        index = with_builtin(s, index, VYRE_OP_ADD, VYRE_BUILTIN_GROUP_ID, axis);
    }
    return index;
}

static uint32_t linear_invocation(vy_segment *s) {
    uint32_t first = with_number(s, use(s, s->group), VYRE_OP_MUL, vy_workgroup_invocations(s->plan->program));
    return with_builtin(s, first, VYRE_OP_ADD, VYRE_BUILTIN_LOCAL_INDEX, 0);
}

static uint32_t all_invocations(vy_segment *s) {
    uint32_t count = number(s, vy_workgroup_invocations(s->plan->program));
    for (unsigned axis = 0; axis < 3; axis++)
        count = with_builtin(s, count, VYRE_OP_MUL, VYRE_BUILTIN_GROUP_COUNT, axis);
    return count;
}

static uint32_t first_of_group(vy_segment *s, int width) {
    uint32_t mine = with_number(s, use(s, s->group), VYRE_OP_MUL, s->plan->per_group[width]);
    if (s->plan->per_invocation[width] == 0)
        return mine;
    uint32_t before = with_number(s, use(s, s->invocations), VYRE_OP_MUL, s->plan->per_invocation[width]);
    return vy_irb_op(draft_of(s), VYRE_OP_ADD, VYRE_TYPE_U32, mine, before, VY_NONE);
}

static void write_indices(vy_segment *s) {
    static const char *const names[VY_WIDTHS] = {"group_kept8", "group_kept16", "group_kept32", "group_kept64"};
    needs n = {0};
    int any_group = 0, any_invocation;
    if (s->start != VY_NONE)
        need_live(s, &n, s->start);
    for (uint32_t i = 0; i < s->ends.count; i++)
        need_live(s, &n, s->ends.items[i]);
    any_invocation = n.invocation;
    for (int w = 0; w < VY_WIDTHS; w++) {
        any_group |= n.group[w];
        any_invocation |= n.group[w] && s->plan->per_invocation[w];
    }
    if (any_group || n.invocation)
        s->group = let(s, "group", linear_group(s));
    if (n.invocation)
        s->invocation = let(s, "invocation", linear_invocation(s));
    if (any_invocation)
        s->invocations = let(s, "invocations", all_invocations(s));
    for (int w = 0; w < VY_WIDTHS; w++)
        if (n.group[w])
            s->group_base[w] = let(s, names[w], first_of_group(s, w));
}

/* ---- loading ---- */

static void rematerialize(vy_segment *s, uint32_t variable);

/* Computes the operands first. Recursion is bounded: recomputed expressions are small (grid_split_plan.c). */
static void compute_operands(vy_segment *s, uint32_t root) {
    if (root == VY_NONE)
        return;
    const vy_expr *e = vy_expr_at(s->plan->program, root);
    if (e->kind == VY_EXPR_VARIABLE && s->copy.variables[e->a] == VY_NONE)
        rematerialize(s, e->a);
    if (e->kind != VY_EXPR_OP)
        return;
    compute_operands(s, e->a);
    compute_operands(s, e->b);
    compute_operands(s, e->c);
}

static void rematerialize(vy_segment *s, uint32_t variable) {
    const vy_variable *v = vy_variable_at(s->plan->program, variable);
    uint32_t root = vy_stmt_at(s->plan->program, s->plan->uses.declarations[variable])->a;
    compute_operands(s, root);
    uint32_t value = vy_cloner_expr(&s->copy, root);
    vy_symbol name = vy_cloner_name(&s->copy, vy_symbol_name(s->plan->program, v->name));
    s->copy.variables[variable] = vy_irb_let(draft_of(s), name, (vyre_type)v->type, value);
}

static void restore_variable(vy_segment *s, uint32_t variable) {
    const vy_variable *v = vy_variable_at(s->plan->program, variable);
    vy_spill_slot spill = s->plan->variable_slots[variable];
    int changes = (s->copy.variable_uses[variable] & VY_USE_WRITE) != 0;
    if (spill.kind == VY_SPILL_PARAM && !changes) {
        s->copy.variables[variable] = s->params[spill.slot];
        return;
    }
    uint32_t value = spill.kind == VY_SPILL_PARAM ? use(s, s->params[spill.slot])
                                                  : decode(s, v->type, spill.width, load_element(s, spill, VY_NONE));
    vy_symbol name = vy_cloner_name(&s->copy, vy_symbol_name(s->plan->program, v->name));
    s->copy.variables[variable] = changes ? vy_irb_var(draft_of(s), name, (vyre_type)v->type, value)
                                          : vy_irb_let(draft_of(s), name, (vyre_type)v->type, value);
}

/* Returns whether an element was loaded that the workgroup shares. */
static int restore_variables(vy_segment *s) {
    const vy_split_plan *plan = s->plan;
    int shares = 0;
    for (uint32_t i = plan->live_first[s->start]; i < plan->live_first[s->start + 1]; i++) {
        uint32_t variable = plan->live_variables[i];
        if (s->copy.variable_uses[variable] == 0 || s->copy.variables[variable] != VY_NONE)
            continue; /* unused, or restored before */
        if (plan->variable_slots[variable].kind == VY_SPILL_REMAT)
            rematerialize(s, variable);
        else
            restore_variable(s, variable);
        shares |= plan->variable_slots[variable].kind == VY_SPILL_GROUP;
    }
    return shares;
}

static void restore_array(vy_segment *s, uint32_t memory) {
    const vy_memory *m = vy_memory_at(s->plan->program, memory);
    uint32_t mark = vy_cloner_open(&s->copy), at = open_loop(s, m);
    vy_spill_slot spill = s->plan->memory_slots[memory];
    uint32_t value, index;
    if (m->space == VY_SPACE_PRIVATE && spill.kind == VY_SPILL_GROUP && s->has_sync) {
        uint32_t shared = vy_irb_let(draft_of(s), vy_cloner_new_name(&s->copy, "value"), (vyre_type)m->type,
                                     decode(s, m->type, spill.width, load_element(s, spill, at)));
        index = use(s, at);
        value = use(s, shared);
    } else {
        index = use(s, at);
        value = decode(s, m->type, spill.width, vy_irb_load(draft_of(s), buffer_of(s, spill), element(s, spill, at)));
    }
    vy_irb_store(draft_of(s), s->copy.memories[memory], index, value);
    vy_irb_end_block(draft_of(s));
    vy_cloner_close(&s->copy, mark);
}

/* Whether an array must be restored at the start: a store changes one element and keeps the others. */
static int restores_array(const vy_segment *s, uint32_t memory) {
    return vy_live_at(s->plan->memory_live[memory], s->start) && s->copy.memory_uses[memory];
}

/* The first statements: set the decision to "the end", compute indices, and reload all live values that are used. */
static void segment_restore(vy_segment *s) {
    const vy_split_plan *plan = s->plan;
    decide(s, 0);
    write_indices(s);
    if (s->start == VY_NONE)
        return;
    int shares = restore_variables(s) && s->ends.count; /* all invocations load before one stores again */
    for (uint32_t m = plan->program->buffer_count; m < plan->program->memories.count; m++) {
        if (!restores_array(s, m))
            continue;
        restore_array(s, m);
        shares |=
            vy_memory_at(plan->program, m)->space == VY_SPACE_WORKGROUP; /* all invocations store before one loads */
        shares |= plan->memory_slots[m].kind == VY_SPILL_GROUP && s->ends.count;
    }
    if (shares)
        barrier(s);
}

/* ---- storing ---- */

static int changes_variable(const vy_segment *s, uint32_t variable) {
    return s->copy.is_fresh[variable] || s->copy.variable_uses[variable] & VY_USE_WRITE;
}

static int changes_array(const vy_segment *s, uint32_t memory, uint32_t at) {
    return vy_live_at(s->plan->memory_live[memory], at) && s->copy.memory_uses[memory] & VY_USE_WRITE;
}

static void store_variable(vy_segment *s, uint32_t variable) {
    vy_spill_slot spill = s->plan->variable_slots[variable];
    uint32_t at = element(s, spill, VY_NONE);
    uint32_t value =
        encode(s, vy_variable_at(s->plan->program, variable)->type, spill.width, use(s, s->copy.variables[variable]));
    vy_irb_store(draft_of(s), buffer_of(s, spill), at, value);
}

static void store_array(vy_segment *s, uint32_t memory) {
    const vy_memory *m = vy_memory_at(s->plan->program, memory);
    vy_spill_slot spill = s->plan->memory_slots[memory];
    uint32_t mark = vy_cloner_open(&s->copy), at = open_loop(s, m);
    uint32_t to = element(s, spill, at);
    uint32_t value = encode(s, m->type, spill.width, vy_irb_load(draft_of(s), s->copy.memories[memory], use(s, at)));
    vy_irb_store(draft_of(s), buffer_of(s, spill), to, value);
    vy_irb_end_block(draft_of(s));
    vy_cloner_close(&s->copy, mark);
}

/* Stores the values with a spill of that kind; returns their number. With `writes` 0 it only counts. */
static uint32_t store_kind(vy_segment *s, uint32_t barrier_at, vy_spill_slot_kind kind, vy_space space, int writes) {
    const vy_split_plan *plan = s->plan;
    uint32_t count = 0;
    for (uint32_t i = plan->live_first[barrier_at]; i < plan->live_first[barrier_at + 1] && space == VY_SPACE_PRIVATE;
         i++) {
        uint32_t v = plan->live_variables[i];
        if (plan->variable_slots[v].kind != kind || !changes_variable(s, v))
            continue;
        count++;
        if (writes)
            store_variable(s, v);
    }
    for (uint32_t m = plan->program->buffer_count; m < plan->program->memories.count; m++) {
        if (plan->memory_slots[m].kind != kind || vy_memory_at(plan->program, m)->space != space ||
            !changes_array(s, m, barrier_at))
            continue;
        count++;
        if (writes)
            store_array(s, m);
    }
    return count;
}

static void store_all(vy_segment *s, uint32_t at) {
    store_kind(s, at, VY_SPILL_INVOCATION, VY_SPACE_PRIVATE, 1);
    if (store_kind(s, at, VY_SPILL_GROUP, VY_SPACE_PRIVATE, 0)) {
        open_if_zero(s, builtin(s, VYRE_BUILTIN_LOCAL_INDEX, 0));
        store_kind(s, at, VY_SPILL_GROUP, VY_SPACE_PRIVATE, 1);
        vy_irb_end_block(draft_of(s));
    }
    if (store_kind(s, at, VY_SPILL_GROUP, VY_SPACE_WORKGROUP, 0)) {
        barrier(s); /* makes the writes of other invocations to the array visible */
        store_kind(s, at, VY_SPILL_GROUP, VY_SPACE_WORKGROUP, 1);
    }
}

/* The end at a grid barrier: writes the decision, stores all live values that changed, and returns. */
static void segment_end(vy_segment *s, uint32_t at) {
    s->copy.draft.position = vy_stmt_position(s->plan->program, s->plan->barriers[at]);
    if (s->is_measured) {
        decide(s, at + 1);
        store_all(s, at);
    } else {
        uint32_t *end = VY_PUSH(&s->ends);
        if (end)
            *end = at;
        else
            s->copy.draft.failed = 1;
    }
    vy_irb_simple(draft_of(s), VY_STMT_RETURN);
}

/* ---- the walk ---- */

static const vy_stmt *stmt_at(const vy_segment *s, uint32_t index) {
    return vy_stmt_at(s->plan->program, index);
}

/* ---- blocks that are entered at their start ---- */

static int write_block(vy_segment *s, uint32_t first, uint32_t end);

static void open_block(vy_segment *s, uint32_t index) {
    const vy_stmt *stmt = stmt_at(s, index);
    if (stmt->kind != VY_STMT_FOR) {
        vy_cloner_stmt(&s->copy, index);
        return;
    }
    uint32_t a = vy_cloner_expr(&s->copy, stmt->a), b = vy_cloner_expr(&s->copy, stmt->b),
             c = vy_cloner_expr(&s->copy, stmt->c);
    vy_cloner_for(&s->copy, index, a, b, c);
}

static void write_split(vy_segment *s, uint32_t index) {
    const vy_stmt *stmt = stmt_at(s, index);
    uint32_t mark = vy_cloner_open(&s->copy);
    open_block(s, index);
    write_block(s, index + 1, stmt->middle);
    vy_cloner_close(&s->copy, mark);
    if (stmt->middle != stmt->end) {
        vy_irb_else(&s->copy.draft);
        write_block(s, stmt->middle, stmt->end);
        vy_cloner_close(&s->copy, mark);
    }
    vy_irb_end_block(&s->copy.draft);
}

/* Returns whether the block was cut at a barrier or ends in a jump, so that no statement may follow in it. Recursion
 * is bounded by VY_LIMIT_NESTING. */
static int write_block(vy_segment *s, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !s->copy.draft.failed; i = stmt_at(s, i)->end) {
        const vy_stmt *stmt = stmt_at(s, i);
        if (vy_is_grid_barrier(stmt)) {
            segment_end(s, vy_plan_ordinal(s->plan, i));
            return 1;
        }
        if (s->plan->marks[i] & VY_MARK_SPLIT)
            write_split(s, i);
        else
            vy_cloner_tree(&s->copy, i);
        if (vy_stmt_is_jump(stmt->kind))
            return 1;
    }
    return 0;
}

/* ---- blocks that are entered in the middle ---- */

static int resume(vy_segment *s, uint32_t depth);

/* `for i in i .. end step s`: the first i is the reloaded one. */
static void reopen_for(vy_segment *s, uint32_t index) {
    const vy_stmt *stmt = stmt_at(s, index);
    s->copy.variable_uses[stmt->variable] |= VY_USE_READ;
    uint32_t a = vy_irb_variable(&s->copy.draft, s->copy.variables[stmt->variable]);
    uint32_t b = vy_cloner_expr(&s->copy, stmt->b), c = vy_cloner_expr(&s->copy, stmt->c);
    vy_cloner_for(&s->copy, index, a, b, c);
}

static void reopen_while(vy_segment *s, uint32_t index) {
    vy_irb *draft = &s->copy.draft;
    if (s->plan->marks[index] & VY_MARK_ONE_TRIP) {
        vy_irb_while(draft, vy_irb_literal(draft, VYRE_TYPE_BOOL, 1));
        return;
    }
    uint32_t resumes = vy_irb_variable(draft, s->resumes), condition = vy_cloner_expr(&s->copy, stmt_at(s, index)->a);
    draft->position = vy_stmt_position(s->plan->program, index);
    vy_irb_while(draft, vy_irb_op(draft, VYRE_OP_LOR, VYRE_TYPE_BOOL, resumes, condition, VY_NONE));
}

static void resume_loop(vy_segment *s, uint32_t depth) {
    uint32_t index = s->path[depth], mark = vy_cloner_open(&s->copy);
    const vy_stmt *stmt = stmt_at(s, index);
    vy_irb *draft = &s->copy.draft;
    if (stmt->kind == VY_STMT_FOR)
        reopen_for(s, index);
    else
        reopen_while(s, index);
    if (s->plan->marks[index] & VY_MARK_ONE_TRIP) {
        resume(s, depth + 1);
    } else {
        uint32_t inner = vy_cloner_open(&s->copy);
        vy_irb_if(draft, vy_irb_variable(draft, s->resumes));
        resume(s, depth + 1);
        vy_cloner_close(&s->copy, inner);
        vy_irb_else(draft);
        write_block(s, index + 1, stmt->end);
        vy_irb_end_block(draft);
    }
    vy_irb_end_block(draft);
    vy_cloner_close(&s->copy, mark);
}

static int resume_region(vy_segment *s, uint32_t depth) {
    uint32_t mark = vy_cloner_open(&s->copy);
    vy_cloner_stmt(&s->copy, s->path[depth]);
    int ends = resume(s, depth + 1);
    vy_irb_end_block(&s->copy.draft);
    vy_cloner_close(&s->copy, mark);
    return ends && s->is_straight; /* otherwise only the region ends */
}

/* Continues at path[depth] and writes the rest of its block. Returns as write_block does. */
static int resume(vy_segment *s, uint32_t depth) {
    uint32_t index = s->path[depth];
    const vy_stmt *stmt = stmt_at(s, index);
    vy_irb *draft = &s->copy.draft;
    switch (stmt->kind) {
    case VY_STMT_BARRIER:
        if (s->resumes != VY_NONE)
            vy_irb_assign(draft, s->resumes, vy_irb_literal(draft, VYRE_TYPE_BOOL, 0));
        break;
    case VY_STMT_IF:
        if (resume(s, depth + 1))
            return 1;
        break;
    case VY_STMT_REGION:
        if (resume_region(s, depth))
            return 1;
        break;
    default:
        if (s->is_straight)
            return resume(s, depth + 1);
        resume_loop(s, depth);
        break;
    }
    return write_block(s, stmt->end, vy_plan_block_end(s->plan, index));
}

/* ---- the segment ---- */

static void find_path(vy_segment *s) {
    uint32_t barrier = s->plan->barriers[s->start], at = barrier;
    s->depth = 0;
    while ((at = s->plan->uses.parents[at]) != VY_NONE)
        s->depth++;
    at = barrier;
    for (uint32_t i = s->depth + 1; i-- > 0; at = s->plan->uses.parents[at])
        s->path[i] = at;
}

static int is_straight(const vy_segment *s) {
    uint32_t barrier = s->path[s->depth], end = vy_plan_block_end(s->plan, barrier);
    for (uint32_t i = barrier + 1; i < end; i = stmt_at(s, i)->end) {
        if (vy_is_grid_barrier(stmt_at(s, i)))
            return 1;
        if (vy_block_has_loop_jump(s->plan->program, i, stmt_at(s, i)->end))
            return 0;
    }
    return 0;
}

/* Whether the start is in a loop that may execute another iteration. */
static int comes_round(const vy_segment *s) {
    for (uint32_t i = 0; i < s->depth && !s->is_straight; i++)
        if (vy_stmt_is_loop(stmt_at(s, s->path[i])->kind) && !(s->plan->marks[s->path[i]] & VY_MARK_ONE_TRIP))
            return 1;
    return 0;
}

static void write_body(vy_segment *s) {
    const vyre_program *program = s->plan->program;
    vy_irb *draft = &s->copy.draft;
    if (s->is_measured)
        segment_restore(s);
    if (s->start != VY_NONE && comes_round(s)) {
        vy_symbol name = vy_cloner_new_name(&s->copy, "resumes");
        s->resumes = vy_irb_var(draft, name, VYRE_TYPE_BOOL, vy_irb_literal(draft, VYRE_TYPE_BOOL, 1));
    }
    vy_stmt region = vy_irb_blank_stmt(VY_STMT_REGION);
    region.name = vy_irb_intern(draft, vyre_program_name(program), strlen(vyre_program_name(program)));
    vy_irb_stmt(draft, &region, NULL, 0, NULL, NULL);
    if (s->start == VY_NONE)
        write_block(s, 0, program->stmts.count);
    else
        resume(s, 0);
    vy_irb_end_block(draft);
}

static vyre_status write_segment(vy_segment *s, vyre_error *error) {
    const vyre_program *program = s->plan->program;
    char name[VY_LIMIT_NAME + 1], suffix[16];
    int length = snprintf(suffix, sizeof suffix, "_%u", s->start == VY_NONE ? 0 : s->start + 1);
    snprintf(name, sizeof name, "%.*s%s", VY_LIMIT_NAME - length, vyre_program_name(program), suffix);
    vyre_status status = vy_cloner_start(&s->copy, program, name, error);
    if (status != VYRE_OK)
        return status;
    vy_cloner_params(&s->copy);
    declare_params(s);
    vy_cloner_buffers(&s->copy, 1);
    declare_buffers(s);
    vy_cloner_arrays(&s->copy);
    s->copy.draft.position =
        s->start == VY_NONE ? s->copy.entry->position : vy_stmt_position(program, s->plan->barriers[s->start]);
    write_body(s);
    return VYRE_OK;
}

/* Whether the ends of the segment need a barrier, which the first pass could not know. */
static int ends_sync(const vy_segment *s) {
    const vyre_program *program = s->plan->program;
    for (uint32_t m = program->buffer_count; m < program->memories.count; m++)
        for (uint32_t i = 0; i < s->ends.count; i++)
            if (vy_memory_at(program, m)->space == VY_SPACE_WORKGROUP && s->copy.memory_uses[m] & VY_USE_WRITE &&
                vy_live_at(s->plan->memory_live[m], s->ends.items[i]))
                return 1;
    return 0;
}

static void start_over(vy_segment *s) {
    const vyre_program *program = s->plan->program;
    vy_cloner kept = s->copy;
    vy_cloner_discard(&s->copy);
    s->copy = (vy_cloner){.variables = kept.variables,
                          .memories = kept.memories,
                          .variable_uses = kept.variable_uses,
                          .memory_uses = kept.memory_uses,
                          .is_fresh = kept.is_fresh};
    memset(s->copy.is_fresh, 0, program->variables.count);
    memset(s->copy.variables, 0xff, program->variables.count * sizeof *s->copy.variables);
}

static vyre_status write_twice(vy_segment *s, vyre_program **out, vyre_error *error) {
    start_over(s);
    vyre_status status = write_segment(s, error);
    if (status != VYRE_OK)
        return status;
    if (s->copy.draft.failed)
        return vy_cloner_finish(&s->copy, out, error); /* its error states the limit */
    s->has_sync = s->copy.has_sync || ends_sync(s);
    s->is_measured = 1;
    s->resumes = VY_NONE;
    start_over(s);
    status = write_segment(s, error);
    return status == VYRE_OK ? vy_cloner_finish(&s->copy, out, error) : status;
}

vyre_status vy_segment_make(const vy_split *split, uint32_t start, vyre_program **out, vyre_error *error) {
    const vyre_program *program = split->plan->program;
    vy_segment s = {.split = split, .plan = split->plan, .start = start, .resumes = VY_NONE};
    vy_arena arena = {0};
    s.group = s.invocation = s.invocations = VY_NONE;
    for (int w = 0; w < VY_WIDTHS; w++)
        s.group_base[w] = VY_NONE;
    s.copy.variables = vy_arena_allocate(&arena, vy_array_size(program->variables.count, sizeof *s.copy.variables));
    s.copy.memories = vy_arena_allocate(&arena, vy_array_size(program->memories.count, sizeof *s.copy.memories));
    s.copy.variable_uses = vy_arena_allocate(&arena, program->variables.count);
    s.copy.memory_uses = vy_arena_allocate(&arena, program->memories.count);
    s.copy.is_fresh = vy_arena_allocate(&arena, program->variables.count);
    s.params = vy_arena_allocate(&arena, vy_array_size(VY_LIMIT_PARAMS, sizeof *s.params));
    vyre_status status = VYRE_NO_MEMORY;
    if (s.copy.variables && s.copy.memories && s.copy.variable_uses && s.copy.memory_uses && s.copy.is_fresh &&
        s.params) {
        if (start != VY_NONE) {
            find_path(&s);
            s.is_straight = is_straight(&s);
        }
        status = write_twice(&s, out, error);
    } else {
        vy_fail_memory(error, "a segment of a program");
    }
    vy_cloner_discard(&s.copy);
    VY_VECTOR_FREE(&s.ends);
    vy_arena_free(&arena);
    return status;
}
