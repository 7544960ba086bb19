/* Grid tiling (grid_tile.h): a copy of the program in which every id and size that depends on the grid is read from a
 * variable computed at the start.
 *
 * Invariant: in the copied body a leaf replaces a leaf, so no expression becomes deeper and the layout does not
 * change. */
#include "split/grid_tile.h"

#include "base/status.h"
#include "opt/clone.h"
#include "opt/pass_manager.h"

#include <stdio.h>

enum { BASE, GROUPS }; /* the two hidden params of an axis */

typedef struct baser {
    vy_cloner copy;
    uint32_t params[2][3];                     /* variables of the draft */
    uint8_t is_used[VYRE_BUILTIN_COUNT][3];    /* used by the program */
    uint32_t variables[VYRE_BUILTIN_COUNT][3]; /* of the draft, replacing the builtin; VY_NONE: unchanged */
} baser;

/* ---- the variables ---- */

static void declare_params(baser *b) {
    static const char *const names[2][3] = {{"base_x", "base_y", "base_z"}, {"groups_x", "groups_y", "groups_z"}};
    for (int kind = BASE; kind <= GROUPS; kind++)
        for (int axis = 0; axis < 3; axis++)
            b->params[kind][axis] =
                vy_irb_scalar_param(&b->copy.draft, vy_cloner_new_name(&b->copy, names[kind][axis]), VYRE_TYPE_U32);
}

static uint32_t binary(baser *b, vyre_op op, uint32_t left, uint32_t right) {
    return vy_irb_op(&b->copy.draft, op, VYRE_TYPE_U32, left, right, VY_NONE);
}

/* A hidden param in invocations. */
static uint32_t in_invocations(baser *b, int kind, unsigned axis) {
    uint32_t groups = vy_irb_variable(&b->copy.draft, b->params[kind][axis]);
    return binary(b, VYRE_OP_MUL, groups, vy_irb_literal(&b->copy.draft, VYRE_TYPE_U32, b->copy.from->workgroup[axis]));
}

static uint32_t group_id(baser *b, unsigned axis) {
    uint32_t base = vy_irb_variable(&b->copy.draft, b->params[BASE][axis]);
    return binary(b, VYRE_OP_ADD, base, vy_irb_builtin(&b->copy.draft, VYRE_BUILTIN_GROUP_ID, axis));
}

static uint32_t global_id(baser *b, unsigned axis) {
    uint32_t base = in_invocations(b, BASE, axis);
    return binary(b, VYRE_OP_ADD, base, vy_irb_builtin(&b->copy.draft, VYRE_BUILTIN_GLOBAL_ID, axis));
}

static uint32_t global_size(baser *b, unsigned axis) {
    return in_invocations(b, GROUPS, axis);
}

static void declare_variables(baser *b) {
    /* The builtins that depend on the grid; the others depend on the workgroup only. */
    static uint32_t (*const values[VYRE_BUILTIN_COUNT])(baser *, unsigned) = {
        [VYRE_BUILTIN_GROUP_ID] = group_id,
        [VYRE_BUILTIN_GLOBAL_ID] = global_id,
        [VYRE_BUILTIN_GLOBAL_SIZE] = global_size,
    };
    for (int i = 0; i < VYRE_BUILTIN_COUNT; i++)
        for (unsigned axis = 0; axis < 3; axis++) {
            char text[32];
            b->variables[i][axis] = i == VYRE_BUILTIN_GROUP_COUNT ? b->params[GROUPS][axis] : VY_NONE;
            if (!values[i] || !b->is_used[i][axis])
                continue;
            snprintf(text, sizeof text, "%s_%c", vyre_builtin_name((vyre_builtin)i), "xyz"[axis]);
            vy_symbol name = vy_cloner_new_name(&b->copy, text);
            b->variables[i][axis] = vy_irb_let(&b->copy.draft, name, VYRE_TYPE_U32, values[i](b, axis));
        }
}

/* ---- the body ---- */

static void note_uses(baser *b) {
    const vyre_program *from = b->copy.from;
    for (uint32_t i = 0; i < from->exprs.count; i++)
        if (vy_expr_at(from, i)->kind == VY_EXPR_BUILTIN)
            b->is_used[vy_expr_at(from, i)->op][vy_expr_at(from, i)->axis] = 1;
}

static void copy_body(baser *b) {
    const vy_function *entry = b->copy.entry;
    vyre_program *made = b->copy.draft.program;
    uint32_t first = made->exprs.count;
    for (uint32_t i = entry->first_stmt; i < entry->end_stmt && !b->copy.draft.failed;
         i = vy_stmt_at(b->copy.from, i)->end)
        vy_cloner_tree(&b->copy, i);
    for (uint32_t i = first; i < made->exprs.count; i++) {
        vy_expr *e = &made->exprs.items[i];
        if (e->kind == VY_EXPR_BUILTIN && b->variables[e->op][e->axis] != VY_NONE)
            *e = vy_variable_expr(VYRE_TYPE_U32, b->variables[e->op][e->axis]);
    }
}

static vyre_status write_program(baser *b, const vyre_program *from, vyre_program **out, vyre_error *error) {
    vyre_status status = vy_cloner_start(&b->copy, from, vyre_program_name(from), error);
    if (status != VYRE_OK)
        return status;
    note_uses(b);
    vy_cloner_params(&b->copy);
    b->copy.draft.position = b->copy.entry->position;
    declare_params(b);
    vy_cloner_buffers(&b->copy, 1);
    vy_cloner_arrays(&b->copy);
    b->copy.draft.position = b->copy.entry->position;
    declare_variables(b);
    copy_body(b);
    return vy_cloner_finish(&b->copy, out, error);
}

/* The code added to a valid program is correct: it can only exceed a limit. */
static vyre_status explain(const vyre_program *program, vyre_status status, vyre_error *error) {
    if (status != VYRE_INVALID_PROGRAM)
        return status;
    return vy_fail_limit(error, "make the program smaller, or dispatch fewer workgroups at a time",
                         VY_FIX("`%s` cannot be launched in pieces", vyre_program_name(program)));
}

static vyre_status rewrite(const vyre_program *from, vyre_program **out, vyre_error *error) {
    vy_arena arena = {0};
    baser b = {.copy = {.variables = vy_arena_allocate(&arena, vy_array_size(from->variables.count, sizeof(uint32_t))),
                        .memories = vy_arena_allocate(&arena, vy_array_size(from->memories.count, sizeof(uint32_t)))}};
    vyre_status status = b.copy.variables && b.copy.memories ? write_program(&b, from, out, error)
                                                             : vy_fail_memory(error, "a program for pieces of a grid");
    vy_cloner_discard(&b.copy);
    vy_arena_free(&arena);
    return explain(from, status, error);
}

vyre_status vy_grid_tile(const vyre_program *program, vyre_program **out, vyre_error *error) {
    vyre_program *inlined;
    *out = NULL;
    if (!vy_program_entry(program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a `program`, not a file of functions",
                       "a library has no entry to launch");
    if (program->facts & VY_PROGRAM_HAS_GRID_BARRIER)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "split the program at its grid barriers first",
                       "`%s` has a grid barrier, where a piece of the grid cannot wait for the others",
                       vyre_program_name(program));
    if (program->param_count > VY_LIMIT_PARAMS - VY_GRID_TILE_PARAMS)
        return vy_fail(error, VYRE_LIMIT,
                       VY_FIX("declare at most %d params, or dispatch fewer workgroups at a time",
                              VY_LIMIT_PARAMS - VY_GRID_TILE_PARAMS),
                       "`%s` has %u params, and launching it in pieces needs %d more, which exceeds the limit (%d)",
                       vyre_program_name(program), program->param_count, VY_GRID_TILE_PARAMS, VY_LIMIT_PARAMS);
    vy_pass_count();
    vyre_status status = vyre_program_inline(program, &inlined, error);
    if (status != VYRE_OK)
        return status;
    status = rewrite(inlined, out, error);
    vyre_program_release(inlined);
    return status;
}

/* ---- pieces ---- */

static void measure(vy_grid_tiles *p, int axis) {
    uint32_t left = p->whole[axis] - p->base[axis];
    p->size[axis] = left < p->most ? left : p->most;
}

vy_grid_tiles vy_grid_tiles_start(const uint32_t groups[3], uint64_t most) {
    vy_grid_tiles p = {.whole = {groups[0], groups[1], groups[2]},
                       .most = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX};
    for (int axis = 0; axis < 3; axis++)
        measure(&p, axis);
    return p;
}

int vy_grid_tiles_next(vy_grid_tiles *p) {
    for (int axis = 0; axis < 3; axis++) {
        int is_last = p->size[axis] == p->whole[axis] - p->base[axis];
        p->base[axis] = is_last ? 0 : p->base[axis] + p->size[axis];
        measure(p, axis);
        if (!is_last)
            return 1;
    }
    return 0;
}

void vy_grid_tile_params(const vy_grid_tiles *p, vyre_scalar params[VY_GRID_TILE_PARAMS]) {
    for (int axis = 0; axis < 3; axis++) {
        params[3 * BASE + axis] = (vyre_scalar){VYRE_TYPE_U32, p->base[axis]};
        params[3 * GROUPS + axis] = (vyre_scalar){VYRE_TYPE_U32, p->whole[axis]};
    }
}

uint64_t vy_grid_tile_invocation(const vy_grid_tiles *p, uint32_t group_size, uint64_t invocation) {
    uint64_t group = invocation / group_size, local = invocation % group_size;
    uint64_t x = p->base[0] + group % p->size[0];
    uint64_t y = p->base[1] + group / p->size[0] % p->size[1];
    uint64_t z = p->base[2] + group / p->size[0] / p->size[1];
    return (x + p->whole[0] * (y + p->whole[1] * z)) * group_size + local;
}
