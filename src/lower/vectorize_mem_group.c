/* Groups of a set (vectorize_mem_internal.h): consecutive elements, as many as an access may have. */
#include "lower/vectorize_mem_internal.h"

/* A test of the address pays for an access of so many bytes. */
enum { WORTH_A_TEST = 4 };

static vy_vectorize_mem_access *access_of(const vy_vectorize_mem_planner *p, const vy_vectorize_mem_member *m) {
    return &p->plan->accesses.items[m->access];
}

static int is_taken(const vy_vectorize_mem_planner *p, const vy_vectorize_mem_member *m) {
    return access_of(p, m)->group != 0;
}

/* A member with that offset that is in no group yet; count if there is none. */
static uint32_t find(const vy_vectorize_mem_planner *p, const vy_vectorize_mem_set *s, uint32_t offset) {
    uint32_t i = 0;
    while (i < s->count && (s->members[i].offset != offset || is_taken(p, &s->members[i])))
        i++;
    return i;
}

/* All members of a group, the first of which is `from`: where two have one offset, both. Returns how many. */
static uint32_t enter(vy_vectorize_mem_planner *p, const vy_vectorize_mem_set *s, uint32_t count, uint32_t number,
                      uint32_t from) {
    uint32_t first = s->members[from].offset, end = s->is_sorted ? from + count : s->count, entered = 0;
    for (uint32_t i = s->is_sorted ? from : 0; i < end; i++) {
        vy_vectorize_mem_access *access = access_of(p, &s->members[i]);
        uint32_t element = s->members[i].offset - first;
        if (element >= count || access->group)
            continue;
        access->group = number + 1;
        access->element = (uint8_t)element;
        entered++;
    }
    return entered;
}

/* Whether a memory starts at a multiple of 16 bytes for certain. */
static int starts_aligned(const vy_vectorize_mem_planner *p, const vy_vectorize_mem_set *s) {
    return p->program->memories.items[s->memory].space != VY_SPACE_BUFFER || p->aligned_buffers;
}

/* Whether there are members with offsets from that of the member `first` on; `found` receives them. */
static int has_members(const vy_vectorize_mem_planner *p, const vy_vectorize_mem_set *s, uint32_t first, uint32_t count,
                       const vy_vectorize_mem_member **found) {
    uint32_t offset = s->members[first].offset;
    if (s->is_sorted && (s->count - first < count || s->members[first + count - 1].offset != offset + count - 1))
        return 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = s->is_sorted ? first + k : find(p, s, offset + k);
        if (at == s->count || is_taken(p, &s->members[at]))
            return 0;
        found[k] = &s->members[at];
    }
    return 1;
}

/* Where a group is made, and an index that is known there: of stores any, so that of the first element. A fixed base is known wherever it is used. */
static void place_group(const vy_vectorize_mem_planner *p, const vy_vectorize_mem_set *s,
                        const vy_vectorize_mem_member *const *found, vy_vectorize_mem_group *group) {
    uint32_t behind = 0;
    group->at = s->is_store ? 0 : VY_NONE;
    for (uint32_t k = 0; k < group->count; k++) {
        const vy_vectorize_mem_access *access = access_of(p, found[k]);
        int is_new = s->is_store ? access->stmt >= group->at : access->stmt < group->at;
        if (s->is_store ? k == 0 : is_new) {
            group->index =
                s->is_store ? p->program->stmts.items[access->stmt].a : vy_vectorize_mem_expr(p, access->expr)->b;
            behind = k;
        }
        if (is_new)
            group->at = access->stmt;
    }
    group->offset = 0u - behind;
    if (s->base == VY_NONE || vy_vectorize_mem_is_fixed_variable(p, s->base)) {
        group->index = s->base;
        group->offset = found[0]->offset;
    }
}

/* Members with consecutive offsets: one group. Returns how many members are in it. */
static uint32_t make_group(vy_vectorize_mem_planner *p, const vy_vectorize_mem_set *s, uint32_t count,
                           const vy_vectorize_mem_member *const *found, int proven) {
    vy_vectorize_mem_plan *plan = p->plan;
    uint32_t number = plan->groups.count;
    vy_vectorize_mem_group *group = VY_PUSH(&plan->groups);
    vy_vectorize_mem_value *values = group ? vy_arena_allocate(&plan->arena, count * sizeof *values) : NULL;
    if (!values) {
        p->out_of_memory = 1;
        return 0;
    }
    *group = (vy_vectorize_mem_group){.memory = s->memory,
                                      .count = (uint8_t)count,
                                      .is_store = s->is_store,
                                      .index_is_aligned = (uint8_t)proven,
                                      .starts_aligned = (uint8_t)starts_aligned(p, s),
                                      .values = values};
    place_group(p, s, found, group);
    if (!s->is_store) {
        group->next = plan->at_stmt[group->at];
        plan->at_stmt[group->at] = number + 1;
    }
    return enter(p, s, count, number, (uint32_t)(found[0] - s->members));
}

/* Groups of `count` members of a set whose base is a multiple of `known`: those that are aligned for certain, or those that may be. An index that is known to be in the middle is
 * not. Of *left members, those that are in no group, those go. */
static void find_groups(vy_vectorize_mem_planner *p, const vy_vectorize_mem_set *s, uint32_t count, uint32_t known,
                        int proven, uint32_t *left) {
    const vy_vectorize_mem_member *found[VY_LIMIT_WIDE];
    int starts = starts_aligned(p, s), needs_test = !proven || !starts;
    uint32_t step = proven ? count : !starts ? 1 : known < count ? known : count; /* from one first offset to another */
    if ((proven && known < count) || (needs_test && count * vy_vectorize_mem_size_of(p, s->memory) < WORTH_A_TEST))
        return;
    for (uint32_t i = 0; i < s->count && *left >= count; i++) {
        if (s->members[i].offset % step != 0 || is_taken(p, &s->members[i]) || !has_members(p, s, i, count, found))
            continue;
        if (proven || vy_vectorize_mem_is_tested_alike(p, s->base, count)) /* that takes long to find out */
            *left -= make_group(p, s, count, found, proven);
    }
}

/* The widest first; those that are aligned for certain before those that may be. */
void vy_vectorize_mem_close_set(vy_vectorize_mem_planner *p, const vy_vectorize_mem_set *s) {
    uint32_t left = s->count, count = left < 2 ? 0 : p->bytes / vy_vectorize_mem_size_of(p, s->memory);
    uint32_t known = /* what divides the base */
        count < 2 ? 0 : 1u << (s->base == VY_NONE ? 8 : vy_vectorize_mem_factor_of(p, s->base));
    while (count > left)
        count /= 2;
    for (; count >= 2; count /= 2) {
        find_groups(p, s, count, known, 1, &left);
        find_groups(p, s, count, known, 0, &left);
    }
}
