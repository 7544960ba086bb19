/* Definite initialisation analysis and zero initialisation of arrays: which arrays may be read before they are written
 * (legalize.h). One forward walk keeps a bit for every element that is certainly written.
 *
 * Bits are only added; those added in a block that not every invocation executes are removed at its end. Invariants:
 *  - A bit of a private array holds for the invocation at this point. It is removed at the end of a branch, and at the
 *    end of a loop whose iterations are not known.
 *  - `written` of a workgroup array means: at the next barrier some invocation has stored to the element. The
 *    invocations that execute a store are found by evaluating the conditions around it for every invocation; a
 *    condition that cannot be evaluated means none. Conditions count from the innermost block with a barrier in it:
 *    the validator guarantees that all invocations reach it together.
 *  - A barrier turns `written` into `seen`. Reads require `seen`.
 *  - Once every array is decided, walking a loop, or from a barrier to the end of its block, cannot find more.
 *  - A statement that touches no array and has no barrier in it is not walked.
 *  - If the walk needs more than STEPS steps, every array is zeroed. */
#include "lower/legalize.h"

#include "analysis/control_flow.h"
#include "analysis/def_use.h"
#include "analysis/range.h"
#include "analysis/trip_count.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "ir/eval.h"
#include "ir/model.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

enum { STEPS = 1 << 22 }; /* the limit of nodes computed and statements walked */

typedef struct array_bits {
    uint64_t *seen, *written; /* bits; identical for private arrays; NULL: the array is not analysed */
} array_bits;

typedef struct bit_change {
    uint64_t *word, old;
} bit_change;
typedef VY_VECTOR(bit_change) bit_changes;

/* A condition around the current statement, and its value. */
typedef struct condition {
    uint32_t expr;
    int holds;
} condition;

typedef struct definite_init {
    const vyre_program *p;
    vy_ranges *ranges;  /* computed when first needed */
    uint8_t *needs;     /* by memory */
    array_bits *arrays; /* by memory */
    vy_def_use uses;    /* EXPRS, DECLARATIONS */
    uint32_t *barriers; /* by statement: the number of barriers before it */
    uint32_t *touches;  /* by statement: the number of barriers and accesses to arrays before it */
    uint8_t *loads;     /* by statement: it loads from an array */
    uint64_t *trips;    /* by variable: its value in the current iteration of a loop that is walked */
    uint8_t *has_trip;  /* by variable */
    bit_changes privately, together;
    VY_VECTOR(condition) path;
    uint32_t base;  /* earlier conditions are uniform over the workgroup */
    uint32_t size;  /* of the workgroup */
    uint32_t times; /* iterations of the enclosing loops: how often this statement is walked */
    uint32_t steps;
    int uses_place; /* the last value depends on the position in the workgroup */
    int failed;
} definite_init;

/* ---- bits: the elements that are written, and those of them that every invocation sees ----
 *
 * Every bit that is added is logged, in `privately` or `together` by the space of the array, so that it can be removed
 * at the end of a block. Only a barrier turns `written` into `seen`. */

static inline int is_private(const definite_init *f, uint32_t memory) {
    return vy_memory_at(f->p, memory)->space == VY_SPACE_PRIVATE;
}

/* The elements of a constant array are always initialised. */
static int is_array(const vyre_program *p, uint32_t memory) {
    return memory != VY_NONE && vy_memory_at(p, memory)->space != VY_SPACE_BUFFER &&
           vy_memory_at(p, memory)->space != VY_SPACE_CONSTANT;
}

static inline uint32_t definite_init_words(const vyre_program *p, uint32_t memory) {
    return vy_memory_at(p, memory)->elements / 64 + 1;
}

/* Sets bits of a word. A failed allocation sets f->failed. */
static void set_word(definite_init *f, bit_changes *log, uint64_t *word, uint64_t bits) {
    if ((*word | bits) == *word)
        return;
    bit_change *entry = VY_PUSH(log);
    if (!entry) {
        f->failed = 1;
        return;
    }
    *entry = (bit_change){word, *word};
    *word |= bits;
}

/* Marks an element as written, if it exists. */
static inline void set_bit(definite_init *f, uint32_t memory, vy_wide element) {
    uint64_t *bits = f->arrays[memory].written;
    if (element >= 0 && element < vy_memory_at(f->p, memory)->elements)
        set_word(f, is_private(f, memory) ? &f->privately : &f->together, &bits[(uint64_t)element / 64],
                 UINT64_C(1) << (uint64_t)element % 64);
}

/* A barrier makes written elements visible. A failed allocation sets f->failed. */
static void definite_init_barrier(definite_init *f) {
    for (uint32_t m = f->p->buffer_count; m < f->p->memories.count; m++) {
        array_bits *a = &f->arrays[m];
        for (uint32_t i = 0; a->seen && a->seen != a->written && i < definite_init_words(f->p, m); i++)
            set_word(f, &f->together, &a->seen[i], a->written[i]);
    }
}

/* Removes the bits that were added since the log had length `mark`. */
static void undo_to(bit_changes *log, uint32_t mark) {
    while (log->count > mark) {
        const bit_change *entry = &log->items[--log->count];
        *entry->word = entry->old;
    }
}

/* Whether all elements from low to high are seen. */
static int is_seen(definite_init *f, uint32_t memory, uint32_t low, uint32_t high) {
    const uint64_t *bits = f->arrays[memory].seen;
    f->steps += (high - low) / 64;
    for (uint32_t i = low; i <= high; i++) {
        if (i % 64 == 0 && high - i >= 63 && bits[i / 64] == UINT64_MAX)
            i += 63;
        else if (!(bits[i / 64] >> i % 64 & 1))
            return 0;
    }
    return 1;
}

/* Whether all bits of an array are set. */
static int is_full(const definite_init *f, uint32_t memory, const uint64_t *bits) {
    uint32_t elements = vy_memory_at(f->p, memory)->elements;
    for (uint32_t i = 0; i < elements / 64; i++)
        if (bits[i] != UINT64_MAX)
            return 0;
    return bits[elements / 64] == (UINT64_C(1) << elements % 64) - 1;
}

/* Whether each array is known to need zeroing, or every later read of it is known to be initialised. */
static int is_decided(const definite_init *f) {
    for (uint32_t m = f->p->buffer_count; m < f->p->memories.count; m++)
        if (is_array(f->p, m) && !f->needs[m] && (!f->arrays[m].seen || !is_full(f, m, f->arrays[m].seen)))
            return 0;
    return 1;
}

/* ---- values: the value of an expression for one invocation of the workgroup ----
 *
 * Whether a value is known does not depend on the invocation. f->uses_place is set, and never cleared here, if a value
 * depends on the position in the workgroup. Values are computed in the environment of vy_fenv_enter, which the whole
 * walk has entered. Every node counts as a step, also where the values of all invocations are computed together. */

/* An index that is computed for each invocation in ascending order. If it depends on the position in the workgroup,
 * the values of all invocations are computed together. */
typedef struct definite_init_lanes {
    uint64_t *values; /* by invocation, after the first one is known */
    uint32_t cost;    /* steps for one invocation */
    vy_arena arena;
} definite_init_lanes;

static int definite_init_first(definite_init *f, definite_init_lanes *lanes, uint32_t expr, uint32_t invocation,
                               vy_wide *out);

/* definite_init_integer for each invocation in turn. The caller frees the arena. Inline, because it is called for
 * every invocation. */
static inline int definite_init_next(definite_init *f, definite_init_lanes *lanes, uint32_t expr, uint32_t invocation,
                                     vy_wide *out) {
    if (!lanes->values)
        return definite_init_first(f, lanes, expr, invocation, out);
    int goes_on = f->steps + lanes->cost <= STEPS;
    f->steps = goes_on ? f->steps + lanes->cost : STEPS + 1;
    f->uses_place = 1;
    *out = vy_integer_of(f->p->exprs.items[expr].type, lanes->values[invocation]);
    return goes_on;
}

enum { LANES = 1 << 16 }; /* nodes computed for all invocations together */

static int compute_builtin(definite_init *f, const vy_expr *e, uint32_t invocation, uint64_t *out) {
    const uint32_t *size = f->p->workgroup;
    const uint32_t ids[3] = {invocation % size[0], invocation / size[0] % size[1], invocation / size[0] / size[1]};
    switch ((vyre_builtin)e->op) {
    case VYRE_BUILTIN_LOCAL_ID:
        f->uses_place = 1;
        *out = ids[e->axis];
        return 1;
    case VYRE_BUILTIN_LOCAL_INDEX:
        f->uses_place = 1;
        *out = invocation;
        return 1;
    case VYRE_BUILTIN_WORKGROUP_SIZE:
        *out = size[e->axis];
        return 1;
    default:
        return 0;
    }
}

/* Whether an expression is a literal or the variable of the current iteration. Most operands are, so this avoids a
 * call. */
static inline int is_leaf(const definite_init *f, const vy_expr *e, uint64_t *out) {
    if (e->kind == VY_EXPR_LITERAL) {
        *out = e->bits;
        return 1;
    }
    if (e->kind != VY_EXPR_VARIABLE || !f->has_trip[e->a])
        return 0;
    *out = f->trips[e->a];
    return 1;
}

static int compute(definite_init *f, uint32_t expr, uint32_t invocation, unsigned depth, uint64_t *out);

static int compute_op(definite_init *f, const vy_expr *e, uint32_t invocation, unsigned depth, uint64_t *out) {
    const vy_expr *exprs = f->p->exprs.items;
    const uint32_t *operands = VY_EXPR_OPERANDS(e);
    uint64_t v[3] = {0, 0, 0};
    for (int i = 0; i < 3 && operands[i] != VY_NONE; i++)
        if (is_leaf(f, &exprs[operands[i]], &v[i]))
            f->steps++;
        else if (!compute(f, operands[i], invocation, depth + 1, &v[i]))
            return 0;
    vyre_type operand = vy_operand_type(f->p, e);
    vy_eval_kernel_unchecked((vyre_op)e->op, (vyre_type)e->type, operand)(out, &v[0], &v[1], &v[2], 1);
    return 1;
}

/* The value of an expression for an invocation of the workgroup; returns 0 if it is unknown. Whether it is known does
 * not depend on the invocation. Recursion through the values of variables is bounded by `depth`. */
static int compute(definite_init *f, uint32_t expr, uint32_t invocation, unsigned depth, uint64_t *out) {
    const vy_expr *e = vy_expr_at(f->p, expr);
    if (depth > VY_LIMIT_EXPRESSION_DEPTH || ++f->steps > STEPS)
        return 0;
    if (is_leaf(f, e, out))
        return 1;
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_VARIABLE:
        return vy_let_value(&f->uses, e->a) != VY_NONE &&
               compute(f, vy_let_value(&f->uses, e->a), invocation, depth + 1, out);
    case VY_EXPR_LEN:
        *out = vy_memory_known_length(f->p, e->a);
        return *out != 0 && *out <= UINT32_MAX;
    case VY_EXPR_BUILTIN:
        return compute_builtin(f, e, invocation, out);
    case VY_EXPR_OP:
        return compute_op(f, e, invocation, depth, out);
    default:
        return 0;
    }
}

/* The bits of a value; returns 0 if it is unknown. */
static int definite_init_value(definite_init *f, uint32_t expr, uint32_t invocation, uint64_t *out) {
    return compute(f, expr, invocation, 0, out);
}

/* The value as a mathematical integer; returns 0 if it is unknown. */
static int definite_init_integer(definite_init *f, uint32_t expr, uint32_t invocation, vy_wide *out) {
    uint64_t bits;
    if (!compute(f, expr, invocation, 0, &bits))
        return 0;
    *out = vy_integer_of(f->p->exprs.items[expr].type, bits);
    return 1;
}

/* ---- all invocations together ---- */

/* The values of all invocations, of an expression for which compute() succeeds. NULL if out of memory. Recursion is
 * bounded by what compute() visited. */
static uint64_t *compute_all(definite_init *f, vy_arena *arena, uint32_t expr) {
    const vy_expr *e = vy_expr_at(f->p, expr);
    if (e->kind == VY_EXPR_VARIABLE && !f->has_trip[e->a])
        return compute_all(f, arena, vy_let_value(&f->uses, e->a));
    if (e->kind == VY_EXPR_OP) {
        const uint32_t *operands = VY_EXPR_OPERANDS(e);
        uint64_t *v[3] = {NULL, NULL, NULL};
        for (int i = 0; i < 3; i++)
            if (operands[i] != VY_NONE && !(v[i] = compute_all(f, arena, operands[i])))
                return NULL;
        vyre_type operand = vy_operand_type(f->p, e);
        vy_eval_kernel_unchecked((vyre_op)e->op, (vyre_type)e->type, operand)(v[0], v[0], v[1], v[2], f->size);
        return v[0];
    }
    uint64_t *out = vy_arena_allocate(arena, f->size * sizeof *out);
    uint64_t same = 0;
    compute(f, expr, 0, 0, &same);
    for (uint32_t i = 0; out && i < f->size; i++)
        out[i] = same;
    for (uint32_t i = 0; out && e->kind == VY_EXPR_BUILTIN && i < f->size; i++)
        compute_builtin(f, e, i, &out[i]);
    return out;
}

static void fill_lanes(definite_init *f, definite_init_lanes *lanes, uint32_t expr) {
    uint32_t steps = f->steps;
    f->steps = 0; /* at most LANES steps, which are counted when they are used */
    lanes->values = compute_all(f, &lanes->arena, expr);
    f->steps = steps;
    f->failed |= !lanes->values;
}

/* Starts with the first invocation. A failed allocation sets f->failed. */
static int definite_init_first(definite_init *f, definite_init_lanes *lanes, uint32_t expr, uint32_t invocation,
                               vy_wide *out) {
    uint32_t before = f->steps;
    if (!definite_init_integer(f, expr, invocation, out))
        return 0;
    lanes->cost = f->steps - before;
    if (f->uses_place && (uint64_t)lanes->cost * f->size <= LANES)
        fill_lanes(f, lanes, expr);
    return 1;
}

/* ---- accesses ----
 *
 * A read requires every element that its index may be; a store writes only the element that its index certainly is. A
 * store to a workgroup array counts for the invocations that certainly execute it. */

static void read_loads(definite_init *f, uint32_t stmt);

/* Reads the elements that a statement loads; most statements load none. */
static inline void read_operands(definite_init *f, uint32_t stmt) {
    if (f->loads[stmt])
        read_loads(f, stmt);
}

static int find_range(definite_init *f, uint32_t expr, vy_interval *out) {
    if (!f->ranges && vy_ranges_make_by(f->p, &vy_range_rules_sound, 0, &f->ranges, NULL) != VYRE_OK) {
        f->failed = 1;
        return 0;
    }
    *out = vy_interval_of(f->p->exprs.items[expr].type, vy_range_of(f->ranges, expr));
    return 1;
}

/* The current invocations read an element of an array. Here and below, a failed allocation sets f->failed. */
static void definite_init_read(definite_init *f, uint32_t memory, uint32_t index) {
    const vy_memory *m = vy_memory_at(f->p, memory);
    if (!is_array(f->p, memory) || f->needs[memory])
        return;
    vy_interval i;
    vy_wide low, high;
    f->uses_place = 0;
    if (definite_init_integer(f, index, 0, &low) && !f->uses_place) {
        high = low;
    } else if (find_range(f, index, &i)) {
        low = i.low;
        high = i.high;
    } else {
        return;
    }
    if (low < 0)
        low = 0;
    if (high >= m->elements)
        high = (vy_wide)m->elements - 1;
    if (low <= high && (!f->arrays[memory].seen || !is_seen(f, memory, (uint32_t)low, (uint32_t)high)))
        f->needs[memory] = 1;
}

/* Reads all elements that the expressions of a statement load. */
static void read_loads(definite_init *f, uint32_t stmt) {
    const vyre_program *p = f->p;
    for (uint32_t i = f->uses.first_expr[stmt]; i < f->uses.first_expr[stmt + 1]; i++)
        if (vy_expr_at(p, i)->kind == VY_EXPR_LOAD)
            definite_init_read(f, vy_expr_at(p, i)->a, vy_expr_at(p, i)->b);
}

/* Whether the invocation certainly reaches this statement once the workgroup is in the block; -1 if that is
 * unknown. */
static int comes_here(definite_init *f, uint32_t invocation) {
    for (uint32_t i = f->base; i < f->path.count; i++) {
        uint64_t bits;
        if (!definite_init_value(f, f->path.items[i].expr, invocation, &bits))
            return -1;
        if ((bits != 0) != f->path.items[i].holds)
            return 0;
    }
    return 1;
}

static void store_private(definite_init *f, const vy_stmt *s) {
    vy_wide index;
    f->uses_place = 0;
    if (definite_init_integer(f, s->a, 0, &index) && !f->uses_place)
        set_bit(f, s->memory, index);
}

static void store_together(definite_init *f, const vy_stmt *s, definite_init_lanes *lanes) {
    vy_wide index;
    f->uses_place = 0;
    for (uint32_t i = 0; i < f->size && !f->failed; i++) {
        int here = comes_here(f, i);
        if (here < 0)
            return;
        int path_uses_place = f->uses_place;
        f->uses_place = 0;
        if (!definite_init_next(f, lanes, s->a, i, &index))
            return;
        if (here)
            set_bit(f, s->memory, index);
        if (!f->uses_place && (here || !path_uses_place))
            return; /* the other invocations store there, too, or do not store */
        f->uses_place |= path_uses_place;
    }
}

/* The current invocations execute a store. */
static void definite_init_store(definite_init *f, const vy_stmt *s) {
    definite_init_lanes lanes = {0};
    if (vy_memory_at(f->p, s->memory)->space == VY_SPACE_BUFFER || !f->arrays[s->memory].written ||
        is_full(f, s->memory, f->arrays[s->memory].written))
        return;
    if (is_private(f, s->memory))
        store_private(f, s);
    else
        store_together(f, s, &lanes);
    vy_arena_free(&lanes.arena);
}

/* ---- loops: the iterations of a `for`, and what it writes in all of them ----
 *
 * The variable of a loop has a value (f->has_trip) only while an iteration of it is examined. Stores count for all
 * iterations only if nothing leaves the loop early. */

/* Advances to the next iteration; returns 0 at the end. */
static inline int next_trip(definite_init *f, const vy_stmt *s, vy_trips *t) {
    int goes_on = vy_trips_remain(t);
    f->has_trip[s->variable] = (uint8_t)goes_on;
    f->trips[s->variable] = (uint64_t)t->next & vy_type_layouts[vy_variable_at(f->p, s->variable)->type].mask;
    t->next += t->step;
    return goes_on;
}

enum { STORES = 1 << 18 }; /* by all invocations, of a loop that is not walked by iterations */

/* Computes the iterations of an invocation; returns 0 if the bounds are unknown. */
static int count_trips(definite_init *f, const vy_stmt *s, uint32_t invocation, vy_trips *out) {
    out->step = 1;
    return definite_init_integer(f, s->a, invocation, &out->next) &&
           definite_init_integer(f, s->b, invocation, &out->end) &&
           (s->c == VY_NONE || definite_init_integer(f, s->c, invocation, &out->step));
}

/* Records the stores that an invocation makes in every iteration. */
static void store_in_trips(definite_init *f, uint32_t index, uint32_t invocation, int privately) {
    const vyre_program *p = f->p;
    const vy_stmt *loop = vy_stmt_at(p, index);
    vy_trips t;
    if (!count_trips(f, loop, invocation, &t) || t.step == 0 ||
        (t.end - t.next) / t.step > STORES / (vy_wide)(privately ? 1 : f->size))
        return;
    while (next_trip(f, loop, &t) && f->steps <= STEPS && !f->failed)
        for (uint32_t i = index + 1; i < loop->end; i = vy_stmt_at(p, i)->end) {
            const vy_stmt *s = vy_stmt_at(p, i);
            vy_wide element;
            f->steps++;
            if (s->kind == VY_STMT_STORE && f->arrays[s->memory].written && is_private(f, s->memory) == privately &&
                definite_init_integer(f, s->a, invocation, &element))
                set_bit(f, s->memory, element);
        }
    f->has_trip[loop->variable] = 0;
}

/* Records the stores in every iteration of a `for` that was walked and is not left early. Of private arrays only
 * indices that do not depend on the position in the workgroup count. A failed allocation sets f->failed. */
static void store_in_loop(definite_init *f, uint32_t index) {
    f->uses_place = 0;
    uint32_t mark = f->privately.count;
    store_in_trips(f, index, 0, 1);
    if (f->uses_place)
        undo_to(&f->privately, mark);
    f->uses_place = 0;
    for (uint32_t i = 0; i < f->size && comes_here(f, i) >= 0; i++) {
        if (comes_here(f, i))
            store_in_trips(f, index, i, 0);
        if (!f->uses_place)
            return;
    }
}

/* ---- the walk ---- */

enum {
    ELEMENTS = 1 << 16, /* of an array that is analysed */
    TRIPS = 1 << 16     /* statements in all iterations of a walked loop and of the loops around it */
};

static void walk(definite_init *f, uint32_t first, uint32_t end);

/* The number of iterations to walk, equal for all invocations; -1 if it is unknown or too large, or if the loop may be
 * left early. */
static int trips_to_walk(definite_init *f, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(f->p, index);
    uint64_t most = TRIPS / ((uint64_t)f->times * (s->end - index)), trips = 0;
    vy_trips t;
    f->uses_place = 0;
    if (s->kind != VY_STMT_FOR || vy_block_has_loop_jump(f->p, index + 1, s->end) || !count_trips(f, s, 0, &t) ||
        f->uses_place)
        return -1;
    while (trips <= most && next_trip(f, s, &t))
        trips++;
    f->has_trip[s->variable] = 0;
    return trips <= most ? (int)trips : -1;
}

static int has_barrier(const definite_init *f, uint32_t first, uint32_t end) {
    return f->barriers[end] != f->barriers[first];
}

/* A block. If it contains a barrier, all invocations reach it together. */
static void walk_block(definite_init *f, uint32_t first, uint32_t end) {
    uint32_t base = f->base;
    if (has_barrier(f, first, end))
        f->base = f->path.count;
    walk(f, first, end);
    f->base = base;
}

static void walk_loop(definite_init *f, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(f->p, index);
    uint32_t mark = f->privately.count, mark_together = f->together.count;
    vy_trips t;
    if (is_decided(f))
        return;
    int trips = trips_to_walk(f, index);
    read_operands(f, index);
    if (trips >= 0 && count_trips(f, s, 0, &t)) {
        uint32_t times = f->times;
        f->times *= trips ? (uint32_t)trips : 1;
        while (next_trip(f, s, &t) && !f->failed && f->steps <= STEPS)
            walk_block(f, index + 1, s->end);
        f->times = times;
        f->has_trip[s->variable] = 0;
        return;
    }
    walk_block(f, index + 1, s->end);
    undo_to(&f->privately, mark);
    undo_to(&f->together, mark_together);
    if (s->kind == VY_STMT_FOR && !vy_block_has_loop_jump(f->p, index + 1, s->end))
        store_in_loop(f, index);
}

static void walk_branch(definite_init *f, uint32_t expr, int holds, uint32_t first, uint32_t end) {
    condition *c = VY_PUSH(&f->path);
    if (!c) {
        f->failed = 1;
        return;
    }
    *c = (condition){expr, holds};
    walk_block(f, first, end);
    f->path.count--;
}

static void walk_if(definite_init *f, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(f->p, index);
    uint32_t mark = f->privately.count, mark_together = f->together.count;
    read_operands(f, index);
    walk_branch(f, s->a, 1, index + 1, s->middle);
    undo_to(&f->privately, mark);
    if (has_barrier(f, index, s->end))
        undo_to(&f->together, mark_together);
    walk_branch(f, s->a, 0, s->middle, s->end);
    if (vy_block_falls_through(f->p, index + 1, s->middle))
        undo_to(&f->privately, mark);
    if (has_barrier(f, index, s->end))
        undo_to(&f->together, mark_together);
}

static void walk(definite_init *f, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !f->failed && f->steps <= STEPS; i = vy_stmt_at(f->p, i)->end) {
        const vy_stmt *s = vy_stmt_at(f->p, i);
        f->steps++;
        if (f->touches[s->end] == f->touches[i])
            continue;
        switch ((vy_stmt_kind)s->kind) {
        case VY_STMT_IF:
            walk_if(f, i);
            continue;
        case VY_STMT_FOR:
        case VY_STMT_WHILE:
            walk_loop(f, i);
            continue;
        case VY_STMT_REGION:
            walk(f, i + 1, s->end);
            continue;
        default:
            break;
        }
        read_operands(f, i);
        if (s->kind == VY_STMT_STORE)
            definite_init_store(f, s);
        else if (s->kind == VY_STMT_ATOMIC)
            definite_init_read(f, s->memory, s->a);
        else if (s->kind == VY_STMT_BARRIER)
            definite_init_barrier(f);
        if (s->kind == VY_STMT_BARRIER && is_decided(f))
            return;
    }
}

/* ---- entry points ---- */

static void note_statements(definite_init *f) {
    const vyre_program *p = f->p;
    uint32_t barriers = 0, touches = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        f->barriers[i] = barriers;
        f->touches[i] = touches;
        for (uint32_t k = f->uses.first_expr[i]; k < f->uses.first_expr[i + 1]; k++) {
            const vy_expr *e = vy_expr_at(p, k);
            f->loads[i] |= e->kind == VY_EXPR_LOAD && is_array(p, e->a);
        }
        barriers += s->kind == VY_STMT_BARRIER;
        touches += s->kind == VY_STMT_BARRIER || f->loads[i] || is_array(p, s->memory);
    }
    f->barriers[p->stmts.count] = barriers;
    f->touches[p->stmts.count] = touches;
}

static int prepare(definite_init *f, vy_arena *arena) {
    const vyre_program *p = f->p;
    size_t stmts = p->stmts.count + 1u, variables = p->variables.count + 1u;
    f->arrays = vy_arena_allocate(arena, vy_array_size(p->memories.count + 1u, sizeof *f->arrays));
    f->uses = (vy_def_use){.program = p, .arena = arena};
    f->barriers = vy_arena_allocate(arena, vy_array_size(stmts, sizeof *f->barriers));
    f->touches = vy_arena_allocate(arena, vy_array_size(stmts, sizeof *f->touches));
    f->loads = vy_arena_allocate(arena, stmts);
    f->trips = vy_arena_allocate(arena, vy_array_size(variables, sizeof *f->trips));
    f->has_trip = vy_arena_allocate(arena, variables);
    if (!f->arrays || !f->barriers || !f->touches || !f->loads || !f->trips || !f->has_trip ||
        !vy_def_use_need(&f->uses, VY_DEF_USE_EXPRS | VY_DEF_USE_DECLARATIONS))
        return 0;
    for (uint32_t m = p->buffer_count; m < p->memories.count; m++) {
        array_bits *a = &f->arrays[m];
        if (vy_memory_at(p, m)->elements > ELEMENTS || !is_array(p, m))
            continue;
        size_t size = definite_init_words(p, m) * sizeof *a->seen;
        a->seen = vy_arena_allocate(arena, size);
        a->written = is_private(f, m) ? a->seen : vy_arena_allocate(arena, size);
        if (!a->seen || !a->written)
            return 0;
    }
    note_statements(f);
    return 1;
}

static vyre_status prove(definite_init *f, vyre_error *error) {
    const vy_function *entry = vy_program_entry(f->p);
    vy_arena arena = {0};
    vy_fenv saved;
    f->failed = !prepare(f, &arena);
    vy_fenv_enter(&saved); /* for all values */
    if (!f->failed)
        walk(f, entry->first_stmt, entry->end_stmt);
    vy_fenv_leave(&saved);
    VY_VECTOR_FREE(&f->privately);
    VY_VECTOR_FREE(&f->together);
    VY_VECTOR_FREE(&f->path);
    vy_arena_free(&arena);
    if (f->failed)
        return vy_fail_memory(error, "the proof that arrays are written");
    for (uint32_t m = f->p->buffer_count; m < f->p->memories.count && f->steps > STEPS; m++)
        f->needs[m] = (uint8_t)is_array(f->p, m);
    return VYRE_OK;
}

vyre_status vy_zero_init_needs(const vyre_program *program, uint8_t *needs, vyre_error *error) {
    definite_init f = {.p = program, .needs = needs, .size = vy_workgroup_invocations(program), .times = 1};
    memset(needs, 0, program->memories.count);
    vyre_status status = prove(&f, error);
    vy_ranges_free(f.ranges);
    return status;
}

/* Zero initialisation of arrays at the start of a program (legalize.h): each invocation zeroes its private arrays, and
 * the workgroup together zeroes the workgroup arrays, followed by one barrier. The range analysis proves the indices of
 * this code in bounds. */
enum { SINGLE_STORES = 8 }; /* of a private array; more are stored by a loop */

typedef struct filling {
    uint8_t *needs; /* by memory */
    uint32_t index; /* variable of the draft: the position in the workgroup */
    uint32_t size;  /* of the workgroup */
} filling;

static uint32_t number(vy_rewrite *rw, uint32_t value) {
    return vy_irb_literal(&rw->draft, VYRE_TYPE_U32, value);
}

/* array[index] = 0, with an index that was just appended. */
static void store_zero(vy_rewrite *rw, uint32_t memory, uint32_t index) {
    uint32_t zero = vy_irb_literal(&rw->draft, (vyre_type)vy_memory_at(rw->from, memory)->type, 0);
    vy_irb_store(&rw->draft, rw->memories[memory], index, zero);
}

/* for t in from .. elements step … { array[t] = 0 }; step VY_NONE is 1. */
static void store_zeros(vy_rewrite *rw, uint32_t memory, uint32_t from, uint32_t step) {
    vy_irb *d = &rw->draft;
    uint32_t first = from == VY_NONE ? number(rw, 0) : vy_irb_variable(d, from);
    uint32_t end = number(rw, vy_memory_at(rw->from, memory)->elements);
    uint32_t by = step == VY_NONE ? VY_NONE : number(rw, step);
    uint32_t t = vy_irb_for(d, vy_rewrite_new_name(rw), VYRE_TYPE_U32, first, end, by);
    store_zero(rw, memory, vy_irb_variable(d, t));
    vy_irb_end_block(d);
}

static void fill_private(vy_rewrite *rw, uint32_t memory) {
    uint32_t elements = vy_memory_at(rw->from, memory)->elements;
    if (elements > SINGLE_STORES) {
        store_zeros(rw, memory, VY_NONE, VY_NONE);
        return;
    }
    for (uint32_t i = 0; i < elements; i++)
        store_zero(rw, memory, number(rw, i));
}

static void fill_together(vy_rewrite *rw, uint32_t memory) {
    const filling *f = rw->user;
    vy_irb *d = &rw->draft;
    uint32_t elements = vy_memory_at(rw->from, memory)->elements;
    if (elements > f->size) {
        store_zeros(rw, memory, f->index, f->size);
    } else if (elements == f->size) {
        store_zero(rw, memory, vy_irb_variable(d, f->index));
    } else {
        uint32_t index = vy_irb_variable(d, f->index), end = number(rw, elements);
        vy_irb_if(d, vy_irb_op(d, VYRE_OP_LT, VYRE_TYPE_BOOL, index, end, VY_NONE));
        store_zero(rw, memory, vy_irb_variable(d, f->index));
        vy_irb_end_block(d);
    }
}

static int needs_space(const vyre_program *p, const uint8_t *needs, vy_space space) {
    for (uint32_t m = p->buffer_count; m < p->memories.count; m++)
        if (needs[m] && vy_memory_at(p, m)->space == space)
            return 1;
    return 0;
}

static void emit_barrier(vy_rewrite *rw) {
    vy_stmt barrier = vy_irb_blank_stmt(VY_STMT_BARRIER);
    barrier.scope = VYRE_SCOPE_WORKGROUP;
    vy_irb_stmt(&rw->draft, &barrier, NULL, 0, NULL, NULL);
}

static int is_first(vy_rewrite *rw, uint32_t stmt, uint32_t first, uint32_t end) {
    (void)first, (void)end;
    return stmt == vy_program_entry(rw->from)->first_stmt;
}

/* Before the first statement. */
static int fill(vy_rewrite *rw, uint32_t stmt) {
    filling *f = rw->user;
    if (stmt != vy_program_entry(rw->from)->first_stmt)
        return 0;
    int together = needs_space(rw->from, f->needs, VY_SPACE_WORKGROUP);
    rw->changes++;
    rw->draft.position = vy_program_entry(rw->from)->position;
    if (together) {
        vy_expr e = {.kind = VY_EXPR_BUILTIN,
                     .type = VYRE_TYPE_U32,
                     .op = VYRE_BUILTIN_LOCAL_INDEX,
                     .a = VY_NONE,
                     .b = VY_NONE,
                     .c = VY_NONE};
        f->index = vy_rewrite_let(rw, vy_rewrite_make_expr(rw, &e));
    }
    for (uint32_t m = rw->from->buffer_count; m < rw->from->memories.count && !rw->draft.failed; m++) {
        if (!f->needs[m])
            continue;
        if (vy_memory_at(rw->from, m)->space == VY_SPACE_PRIVATE)
            fill_private(rw, m);
        else
            fill_together(rw, m);
    }
    if (together)
        emit_barrier(rw);
    return 0;
}

vyre_status vy_legalize_zero_init(const vyre_program *program, vyre_program **out, vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = fill, .changes_stmt_hook = is_first, .keeps_names = 1, .keeps_blocks = 1};
    filling f = {.index = VY_NONE, .size = vy_workgroup_invocations(program)};
    uint64_t changes;
    *out = NULL;
    if (program->memories.count == program->buffer_count) { /* no arrays */
        return vy_program_unchanged(program, out);
    }
    f.needs = vy_allocate_zero(program->memories.count + 1u);
    if (!f.needs)
        return vy_fail_memory(error, "a program with zeroed arrays");
    vyre_status status = vy_zero_init_needs(program, f.needs, error);
    int needs = needs_space(program, f.needs, VY_SPACE_PRIVATE) || needs_space(program, f.needs, VY_SPACE_WORKGROUP);
    if (status == VYRE_OK && needs)
        status = vy_rewrite_run(program, &hooks, &f, NULL, out, &changes, error);
    else if (status == VYRE_OK)
        vy_program_unchanged(program, out);
    vy_release(f.needs, program->memories.count + 1u);
    return status;
}
