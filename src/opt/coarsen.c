/* Widening (coarsen.h): the frame around the two copies of the body.
 *
 *   let size = groups_x * 256                        invocations of the original: below 2^32
 *   let base = global_id.x * 4                       wraps only where global_id.x > size / 4
 *   if global_id.x < size / 4 && base < len(y) && len(y) - base >= 4 {
 *     …                                              the fast path: base … base + 3 in lockstep
 *   } else if global_id.x <= size / 4 {
 *     for lane in 0 .. min(size - base, 4) {
 *       let id = base + lane
 *       …                                            the slow path
 *     }
 *   }
 *
 * What must stay true: no test wraps. */
#include "opt/coarsen.h"

#include "base/status.h"
#include "ir/build/finish.h"
#include "opt/coarsen_write.h"

/* ---- the frame ---- */

static uint32_t read(vy_coarsen_writer *w, uint32_t variable) {
    return vy_irb_variable(&w->copy.draft, variable);
}

static uint32_t u32(vy_coarsen_writer *w, uint64_t value) {
    return vy_irb_literal(&w->copy.draft, VYRE_TYPE_U32, value);
}

static uint32_t op(vy_coarsen_writer *w, vyre_op op, uint32_t left, uint32_t right) {
    return vy_irb_op(&w->copy.draft, op, VYRE_TYPE_U32, left, right, VY_NONE);
}

static uint32_t test(vy_coarsen_writer *w, vyre_op op, uint32_t left, uint32_t right) {
    return vy_irb_op(&w->copy.draft, op, VYRE_TYPE_BOOL, left, right, VY_NONE);
}

static uint32_t let(vy_coarsen_writer *w, const char *text, uint32_t value) {
    return vy_irb_let(&w->copy.draft, vy_cloner_new_name(&w->copy, text), VYRE_TYPE_U32, value);
}

/* `global_id.x op size / factor` */
static uint32_t test_grid(vy_coarsen_writer *w, vyre_op comparison) {
    uint32_t id = vy_irb_builtin(&w->copy.draft, VYRE_BUILTIN_GLOBAL_ID, 0), size = read(w, w->size);
    return test(w, comparison, id, op(w, VYRE_OP_DIV, size, u32(w, w->plan->factor)));
}

static void declare_starts(vy_coarsen_writer *w) {
    for (uint32_t i = 0; i < w->plan->start_count; i++) {
        const vy_sum *sum = &w->plan->starts[i].sum;
        w->starts[i] = w->base;
        if (!sum->count && !sum->constant)
            continue;
        uint32_t value = read(w, w->base);
        if (sum->constant)
            value = op(w, VYRE_OP_ADD, value, u32(w, sum->constant));
        for (uint32_t t = 0; t < sum->count; t++) {
            uint32_t term = vy_coarsen_write_early(w, sum->terms[t]);
            value = op(w, sum->minus[t] ? VYRE_OP_SUB : VYRE_OP_ADD, value, term);
        }
        w->starts[i] = let(w, "start", value);
    }
}

static uint32_t write_limit(vy_coarsen_writer *w, const vy_coarsen_limit *limit) {
    if (limit->value)
        return u32(w, limit->value);
    if (limit->memory != VY_NONE)
        return vy_irb_len(&w->copy.draft, w->copy.memories[limit->memory]);
    return vy_coarsen_write_early(w, limit->expr);
}

/* `start < limit && limit - start >= n`, where start + n - 1 is what the last lane needs. */
static uint32_t test_limit(vy_coarsen_writer *w, uint32_t all, const vy_coarsen_limit *limit) {
    int64_t needed = (int64_t)limit->offset + w->plan->factor;
    uint32_t start = read(w, w->starts[limit->start]);
    all = test(w, VYRE_OP_LAND, all, test(w, VYRE_OP_LT, start, write_limit(w, limit)));
    if (needed <= 1)
        return all;
    uint32_t end = write_limit(w, limit), room = op(w, VYRE_OP_SUB, end, read(w, w->starts[limit->start]));
    return test(w, VYRE_OP_LAND, all, test(w, VYRE_OP_GE, room, u32(w, (uint64_t)needed)));
}

static uint32_t write_tests(vy_coarsen_writer *w) {
    uint32_t all = test_grid(w, VYRE_OP_LT);
    for (uint32_t i = 0; i < w->plan->start_count; i++)
        if (w->plan->starts[i].low) {
            uint32_t start = read(w, w->starts[i]);
            all = test(w, VYRE_OP_LAND, all, test(w, VYRE_OP_GE, start, u32(w, w->plan->starts[i].low)));
        }
    for (uint32_t i = 0; i < w->plan->limit_count; i++)
        all = test_limit(w, all, &w->plan->limits[i]);
    return all;
}

static void write_slow_path(vy_coarsen_writer *w) {
    vy_irb *d = &w->copy.draft;
    vy_irb_if(d, test_grid(w, VYRE_OP_LE));
    uint32_t mark = vy_cloner_open(&w->copy);
    uint32_t none = u32(w, 0), size = read(w, w->size), left = op(w, VYRE_OP_SUB, size, read(w, w->base));
    uint32_t trips = op(w, VYRE_OP_MIN, left, u32(w, w->plan->factor));
    uint32_t lane = vy_irb_for(d, vy_cloner_new_name(&w->copy, "lane"), VYRE_TYPE_U32, none, trips, VY_NONE);
    uint32_t base = read(w, w->base);
    w->element = let(w, "id", op(w, VYRE_OP_ADD, base, read(w, lane)));
    vy_coarsen_write_body(w, 1);
    vy_irb_end_block(d);
    vy_cloner_close(&w->copy, mark);
    vy_irb_end_block(d);
}

static void write_frame(vy_coarsen_writer *w) {
    vy_irb *d = &w->copy.draft;
    uint32_t groups = read(w, w->groups);
    w->size = let(w, "size", op(w, VYRE_OP_MUL, groups, u32(w, w->copy.from->workgroup[0])));
    uint32_t id = vy_irb_builtin(d, VYRE_BUILTIN_GLOBAL_ID, 0);
    w->base = let(w, "base", op(w, VYRE_OP_MUL, id, u32(w, w->plan->factor)));
    declare_starts(w);
    vy_irb_if(d, write_tests(w));
    uint32_t mark = vy_cloner_open(&w->copy);
    vy_coarsen_write_body(w, w->plan->factor);
    vy_cloner_close(&w->copy, mark);
    vy_irb_else(d);
    d->position = w->copy.entry->position;
    write_slow_path(w);
    vy_irb_end_block(d);
}

/* ---- the program ---- */

static int allocate(vy_coarsen_writer *w, vy_arena *arena) {
    const vyre_program *p = w->plan->program;
    size_t variables = vy_array_size(p->variables.count + 1u, sizeof(uint32_t));
    w->hoisted = vy_arena_allocate(arena, vy_array_size(p->exprs.count + 1u, sizeof(uint32_t)));
    w->copy.memories = vy_arena_allocate(arena, vy_array_size(p->memories.count + 1u, sizeof(uint32_t)));
    int is_complete = w->hoisted && w->copy.memories;
    for (uint32_t lane = 0; lane < w->plan->factor; lane++)
        is_complete &= (w->lanes[lane] = vy_arena_allocate(arena, variables)) != NULL;
    if (is_complete)
        memset(w->hoisted, 0xff, vy_array_size(p->exprs.count, sizeof(uint32_t)));
    w->copy.variables = w->lanes[0];
    return is_complete;
}

static vyre_status write_program(vy_coarsen_writer *w, vyre_program **out, vyre_error *error) {
    const vyre_program *from = w->plan->program;
    vyre_status status = vy_cloner_start(&w->copy, from, vyre_program_name(from), error);
    if (status != VYRE_OK)
        return status;
    w->copy.draft.skip_verify = 1;
    vy_cloner_params(&w->copy);
    w->copy.draft.position = w->copy.entry->position;
    w->groups = vy_irb_scalar_param(&w->copy.draft, vy_cloner_new_name(&w->copy, "groups_x"), VYRE_TYPE_U32);
    vy_cloner_buffers(&w->copy, 0);
    for (uint32_t lane = 1; lane < w->plan->factor; lane++)
        memcpy(w->lanes[lane], w->lanes[0], from->variables.count * sizeof(uint32_t));
    w->copy.draft.position = w->copy.entry->position;
    w->element = VY_NONE;
    write_frame(w);
    return vy_cloner_finish(&w->copy, out, error);
}

static const char too_large[] = "it would be over a limit of the language";

/* A limit of the language keeps a program as it is. */
static vyre_status rewrite(vy_coarsen_plan *plan, vy_arena *arena, vy_coarsened *out, vyre_error *error) {
    vy_coarsen_writer w = {.plan = plan, .row = VY_NONE};
    vyre_status status =
        allocate(&w, arena) ? write_program(&w, &out->program, error) : vy_fail_memory(error, "a widened program");
    vy_cloner_discard(&w.copy);
    if (status == VYRE_INVALID_PROGRAM || status == VYRE_LIMIT) {
        plan->reason = too_large;
        return VYRE_OK;
    }
    return status;
}

static vyre_status widen(const vyre_program *inlined, const vy_coarsen_options *options, vy_coarsened *out,
                         vyre_error *error) {
    vy_arena arena = {0};
    vy_coarsen_plan plan;
    vyre_status status = vy_coarsen_make_plan(&plan, inlined, options, &arena, error);
    if (status == VYRE_OK && !plan.reason)
        status = rewrite(&plan, &arena, out, error);
    vy_arena_free(&arena);
    out->factor = plan.reason ? 1 : plan.factor;
    out->reason = plan.reason;
    return status;
}

vyre_status vy_coarsen_unverified(vyre_program *inlined, const vy_coarsen_options *options, vy_coarsened *out,
                                  vyre_error *error) {
    *out = (vy_coarsened){.factor = 1};
    vyre_status status = widen(inlined, options, out, error);
    if (status == VYRE_OK && !out->program)
        out->program = vyre_program_retain(inlined);
    return status;
}

vyre_status vy_coarsen(vyre_program *program, const vy_coarsen_options *options, vy_coarsened *out, vyre_error *error) {
    vyre_program *inlined;
    *out = (vy_coarsened){.factor = 1};
    vyre_status status = vyre_program_inline(program, &inlined, error);
    if (status == VYRE_OK) {
        status = vy_coarsen_unverified(inlined, options, out, error);
        vyre_program_release(inlined);
        if (status == VYRE_OK)
            status = vy_program_finalize(out->program, error);
    }
    if (status == VYRE_OK && out->factor > 1)
        return VYRE_OK;
    vyre_program_release(out->program);
    out->program = NULL;
    if (status == VYRE_INVALID_PROGRAM || status == VYRE_LIMIT) {
        *out = (vy_coarsened){.factor = 1, .reason = too_large};
        status = VYRE_OK;
    }
    if (status == VYRE_OK)
        out->program = vyre_program_retain(program);
    return status;
}
