/* Shadow memory: bounds and unwritten-memory checks, contract violations, and the list of findings. race.c has the race
 * detector. */
#include "oracle/shadow_memory.h"

#include "ir/diagnostic_codes.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the list of violations ---- */

void vy_violation_keep(vy_run *run, const vy_violation *violation) {
    pthread_mutex_lock(&run->lock);
    uint32_t at = 0;
    while (at < run->violation_count &&
           (run->violations[at].site != violation->site || run->violations[at].code != violation->code))
        at++;
    if (at == run->violation_count && at < VY_MAX_VIOLATIONS)
        run->violations[run->violation_count++] = *violation;
    else if (at < run->violation_count && violation->invocation < run->violations[at].invocation)
        run->violations[at] = *violation;
    pthread_mutex_unlock(&run->lock);
}

/* ---- divergence ---- */

/* Returns the lowest invocation of the workgroup that has, or has not, arrived at the instruction; UINT64_MAX if
 * none. */
static uint64_t find_lane(const vy_group *group, uint32_t pc, int arrived) {
    uint64_t found = UINT64_MAX;
    for (uint32_t w = 0; w < group->warp_count; w++) {
        const vy_warp *warp = &group->warps[w];
        int is_here = warp->stop == VY_STOP_SYNC && warp->pc == pc;
        for (uint32_t i = 0; i < warp->lanes; i++) {
            int has_arrived = is_here && warp->mask.words[i] != 0;
            if (has_arrived == arrived && vy_lane_invocation(warp, i) < found)
                found = vy_lane_invocation(warp, i);
        }
    }
    return found;
}

void vy_violation_divergence(vy_worker *worker, const vy_group *group) {
    vy_run *run = worker->run;
    uint32_t w = 0;
    while (group->warps[w].stop != VY_STOP_SYNC)
        w++;
    uint32_t pc = group->warps[w].pc;
    vy_violation_keep(run, &(vy_violation){.code = VY_R005,
                                           .site = run->oracle->code.items[pc].site,
                                           .invocation = find_lane(group, pc, 1),
                                           .missing = find_lane(group, pc, 0)});
}

void vy_violation_grid_divergence(vy_run *run, const vy_group *waiting, const vy_group *ended) {
    uint32_t size = run->launch->group_size;
    /* The group has already stepped past the barrier. */
    vy_violation_keep(run, &(vy_violation){.code = VY_R006,
                                           .site = run->oracle->code.items[waiting->warps[0].pc - 1].site,
                                           .invocation = waiting->index * size,
                                           .missing = ended->index * size});
}

/* ---- messages of violations ---- */

static const char *place_name(const vy_run *run, const vy_violation *found) {
    if (found->code == VY_R006)
        return "grid barrier";
    return run->program->stmts.items[found->site].kind == VY_STMT_COLLECTIVE ? "collective" : "barrier";
}

static void describe(const vy_run *run, const vy_violation *found, char *text, size_t size) {
    char who[128], other[128];
    const char *memory =
        found->code == VY_R007 || found->code == VY_R008 ? vy_memory_name(run->program, found->memory) : "";
    vy_invocation_text(run, found->invocation, who, sizeof who);
    switch ((vy_diag_code)found->code) {
    case VY_R007:
        snprintf(text, size, "%s accesses `%s![%" PRIu64 "]` without a guard, out of bounds (%" PRIu64 " elements)",
                 who, memory, found->index, found->bound);
        return;
    case VY_R008:
        snprintf(text, size,
                 "%s accesses %" PRIu64 " elements in one access at `%s![%" PRIu64 "]`, which starts %" PRIu64
                 " elements past a boundary of that width",
                 who, found->bound, memory, found->index, found->missing);
        return;
    case VY_R009:
        snprintf(text, size, "%s shuffles from lane %" PRIu64 ", and its subgroup has %" PRIu64 " lanes", who,
                 found->index, found->bound);
        return;
    default:
        snprintf(text, size, "%s waits at this %s, and %s does not reach it", who, place_name(run, found),
                 vy_invocation_text(run, found->missing, other, sizeof other));
    }
}

void vy_violation_deliver(vy_run *run) {
    const vyre_program *program = run->program;
    for (uint32_t done = 0; done < run->violation_count; done++) {
        /* In program order, independent of the threads: the next site that was not delivered. */
        uint32_t next = done;
        for (uint32_t i = done + 1; i < run->violation_count; i++) {
            const vy_violation *a = &run->violations[i], *b = &run->violations[next];
            if (a->site < b->site || (a->site == b->site && a->code < b->code))
                next = i;
        }
        vy_violation found = run->violations[next];
        run->violations[next] = run->violations[done];
        char text[512], line[48] = "";
        describe(run, &found, text, sizeof text);
        vy_position at = vy_site_position(program, found.site);
        /* Statements made by a transform have no source position. */
        if (!at.line && run->oracle->is_legal)
            snprintf(line, sizeof line, " (%s %" PRIu32 ")",
                     found.site & VY_SITE_EXPRESSION ? "expression" : "statement", found.site & ~VY_SITE_EXPRESSION);
        vy_diagnostic_add(run->diagnostics, program->source, vy_diag_code_name((vy_diag_code)found.code),
                          VYRE_SEVERITY_ERROR, at, vy_diag_code_fix((vy_diag_code)found.code), "%s%s", text, line);
    }
}

/* ---- shadow memory and findings ---- */

/* ---- layout ---- */

static size_t round_up(size_t size) {
    return (size + 15) & ~(size_t)15;
}

/* Returns the next `size` bytes of a block; with a NULL block it only counts. */
static void *carve(uint8_t *block, size_t *used, size_t size) {
    void *part = block && size ? block + *used : NULL;
    *used += round_up(size);
    return part;
}

/* Accesses that cannot race, as in a memory that is never written, need no shadow. */
static void place_shadow(const vy_run *run, const vy_oracle_memory *memory, uint64_t count, vy_memory_shadow *shadow,
                         uint8_t *block, size_t *used) {
    vy_memory_shadow ignored;
    if (!shadow)
        shadow = &ignored;
    shadow->kinds = run->options->checks & VYRE_CHECK_RACES ? vy_race_kinds(memory->accesses) : 0;
    for (int kind = 0; kind < VY_ACCESS_COUNT; kind++)
        if (shadow->kinds >> kind & 1)
            shadow->kept[kind].writes = carve(block, used, count * vy_race_bytes(run->oracle, (vy_access_kind)kind));
    if ((run->options->checks & VYRE_CHECK_UNWRITTEN) && memory->space == VY_SPACE_WORKGROUP)
        shadow->written = carve(block, used, count);
}

static uint64_t element_count(const vy_run *run, uint32_t memory) {
    const vy_oracle_memory *declared = &run->oracle->memories.items[memory];
    return declared->space == VY_SPACE_BUFFER ? run->launch->buffers[memory].count : declared->elements;
}

/* Lays out the shadows of one space after `header` bytes. Returns the size. */
static size_t place_space(const vy_run *run, vy_space space, size_t header, uint8_t *block,
                          vy_memory_shadow **shadows) {
    const vyre_oracle *oracle = run->oracle;
    size_t used = 0;
    carve(NULL, &used, header);
    vy_memory_shadow *table = carve(block, &used, oracle->memories.count * sizeof(vy_memory_shadow));
    for (uint32_t i = 0; i < oracle->memories.count; i++) {
        const vy_oracle_memory *memory = &oracle->memories.items[i];
        if (memory->space == space)
            place_shadow(run, memory, element_count(run, i), table ? &table[i] : NULL, block, &used);
    }
    if (shadows)
        *shadows = table;
    return used;
}

size_t vy_shadow_bytes(const vy_run *run) {
    return place_space(run, VY_SPACE_BUFFER, sizeof(vy_shadow_memory), NULL, NULL);
}

size_t vy_shadow_group_bytes(const vy_run *run) {
    return place_space(run, VY_SPACE_WORKGROUP, sizeof(vy_group_shadow), NULL, NULL);
}

vy_shadow_memory *vy_shadow_place(const vy_run *run, uint8_t *block, uint64_t max_memory) {
    vy_shadow_memory *check = (vy_shadow_memory *)block;
    vy_vector_clocks_start(&check->clocks, run->launch->invocations, max_memory);
    check->enabled = run->options->checks;
    place_space(run, VY_SPACE_BUFFER, sizeof(vy_shadow_memory), block, &check->shadows);
    check->group_bytes = vy_shadow_group_bytes(run);
    check->tables_offset =
        round_up(sizeof(vy_group_shadow)) + round_up(run->oracle->memories.count * sizeof(vy_memory_shadow));
    return check;
}

vy_group_shadow *vy_shadow_group_place(const vy_run *run, uint8_t *block) {
    vy_group_shadow *check = (vy_group_shadow *)block;
    place_space(run, VY_SPACE_WORKGROUP, sizeof(vy_group_shadow), block, &check->shadows);
    return check;
}

static void free_space(const vy_run *run, vy_space space, vy_memory_shadow *shadows) {
    for (uint32_t i = 0; i < run->oracle->memories.count; i++)
        if (run->oracle->memories.items[i].space == space)
            vy_race_free(run, &shadows[i], element_count(run, i));
}

void vy_shadow_group_free(const vy_run *run, vy_group_shadow *check) {
    free_space(run, VY_SPACE_WORKGROUP, check->shadows);
}

void vy_shadow_free(const vy_run *run) {
    free_space(run, VY_SPACE_BUFFER, run->check->shadows);
    vy_vector_clocks_free(&run->check->clocks);
}

void vy_shadow_group_start(const vy_run *run, vy_group *group) {
    vy_shadow_group_free(run, group->check);
    memset((uint8_t *)group->check + run->check->tables_offset, 0, run->check->group_bytes - run->check->tables_offset);
}

void vy_shadow_barrier(const vy_run *run, vy_group *group) {
    if (run->oracle->orders)
        vy_vector_clocks_barrier(&run->check->clocks, group->index, group->index * run->launch->group_size,
                                 run->launch->group_size);
}

void vy_shadow_grid_barrier(vy_run *run) {
    if (run->check)
        run->check->grid_epoch++;
}

/* ---- messages ---- */

vy_position vy_site_position(const vyre_program *program, uint32_t site) {
    return site & VY_SITE_EXPRESSION ? vy_expr_position(program, site & ~VY_SITE_EXPRESSION)
                                     : vy_stmt_position(program, site);
}

const char *vy_invocation_text(const vy_run *run, uint64_t invocation, char *buffer, size_t size) {
    const uint32_t *wide = run->program->workgroup, *groups = run->launch->groups;
    uint64_t local = invocation % run->launch->group_size, group = invocation / run->launch->group_size;
    uint64_t x = group % groups[0] * wide[0] + local % wide[0];
    uint64_t y = group / groups[0] % groups[1] * wide[1] + local / wide[0] % wide[1];
    uint64_t z = group / groups[0] / groups[1] * wide[2] + local / wide[0] / wide[1];
    snprintf(buffer, size, "invocation %" PRIu64 " (global_id %" PRIu64 ", %" PRIu64 ", %" PRIu64 ")", invocation, x, y,
             z);
    return buffer;
}

const char *vy_memory_name(const vyre_program *program, uint32_t memory) {
    return vy_symbol_name(program, program->memories.items[vy_program_entry(program)->first_memory + memory].name);
}

int vy_shadow_is_new(const vy_run *run, uint32_t code, uint32_t first, uint32_t second, uint32_t memory,
                     uint64_t element) {
    vy_shadow_memory *check = run->check;
    if (run->conditions.observer)
        run->conditions.observer(run->conditions.observer_user, code, memory, element);
    for (uint32_t i = check->finding_count; i-- > 0;)
        if (check->findings[i].code == code && check->findings[i].first == first && check->findings[i].second == second)
            return 0;
    if (check->finding_count == VY_MAX_FINDINGS)
        return 0;
    check->findings[check->finding_count++] = (vy_finding){code, first, second};
    return 1;
}

/* ---- one access ---- */

typedef struct lane_access {
    vy_access access;
    uint32_t memory;
    uint64_t element, count; /* the accessed element, and the number of elements */
    vyre_type index_type;
    vy_access_kind kind;
    int synchronises; /* the element may carry the message of a release */
} lane_access;

/* An unguarded access out of bounds is a violation, and is reported as such. */
static int is_guarded(const vyre_program *program, uint32_t site) {
    if (site & VY_SITE_EXPRESSION)
        return program->exprs.items[site & ~VY_SITE_EXPRESSION].op == VY_BOUNDS_CHECKED;
    const vy_stmt *stmt = &program->stmts.items[site];
    return stmt->kind != VY_STMT_LOAD_WIDE && stmt->kind != VY_STMT_STORE_WIDE &&
           stmt->bounds_check == VY_BOUNDS_CHECKED;
}

static void report_bounds(vy_run *run, const lane_access *lane) {
    uint32_t site = lane->access.site;
    if (!is_guarded(run->program, site) || !vy_shadow_is_new(run, VY_R003, site, site, lane->memory, lane->element))
        return;
    char who[128], index[32];
    int is_signed = vy_type_layouts[lane->index_type].classes == VYRE_CLASS_SIGNED;
    snprintf(index, sizeof index, is_signed ? "%" PRId64 : "%" PRIu64, lane->element);
    vy_diagnostic_add(run->diagnostics, run->program->source, vy_diag_code_name(VY_R003), VYRE_SEVERITY_ERROR,
                      vy_site_position(run->program, site), vy_diag_code_fix(VY_R003),
                      "%s accesses `%s[%s]`, out of bounds (%" PRIu64 " elements)",
                      vy_invocation_text(run, lane->access.invocation - 1, who, sizeof who),
                      vy_memory_name(run->program, lane->memory), index, lane->count);
}

static int is_read(vy_access_kind kind) {
    return kind == VY_ACCESS_READ || kind == VY_ACCESS_DEVICE_LOAD || kind == VY_ACCESS_GROUP_LOAD;
}

/* Whether garbage in the element would be visible. At level source it is zero, and atomics may rely on that. */
static int needs_value(const vy_run *run, const lane_access *lane) {
    if (is_read(lane->kind) || !run->oracle->is_legal || !vy_access_is_atomic(lane->kind))
        return is_read(lane->kind);
    const vy_stmt *stmt = &run->program->stmts.items[lane->access.site];
    return stmt->op != VYRE_ATOMIC_STORE && (stmt->op != VYRE_ATOMIC_EXCHANGE || stmt->result_count);
}

static void check_written(vy_run *run, vy_memory_shadow *shadow, const lane_access *lane, int changed) {
    uint32_t site = lane->access.site;
    int was_written = shadow->written[lane->element];
    shadow->written[lane->element] |= (uint8_t)changed;
    if (!was_written && needs_value(run, lane) &&
        vy_shadow_is_new(run, VY_R004, site, site, lane->memory, lane->element)) {
        char who[128];
        vy_diagnostic_add(run->diagnostics, run->program->source, vy_diag_code_name(VY_R004), VYRE_SEVERITY_ERROR,
                          vy_site_position(run->program, site), vy_diag_code_fix(VY_R004),
                          "%s reads `%s[%" PRIu64 "]`, which no invocation of its workgroup has written",
                          vy_invocation_text(run, lane->access.invocation - 1, who, sizeof who),
                          vy_memory_name(run->program, lane->memory), lane->element);
    }
}

/* A plain store ends the release sequence of the element, as an atomic store does. */
static void synchronise(const vy_run *run, const vy_group *group, const lane_access *lane, int changed) {
    const vy_stmt *stmt = &run->program->stmts.items[lane->access.site];
    int is_atomic = vy_access_is_atomic(lane->kind);
    int is_array = run->oracle->memories.items[lane->memory].space == VY_SPACE_WORKGROUP;
    int has_both = stmt->order == VYRE_ORDER_ACQ_REL;
    vy_vector_clock_event event = {
        .invocation = lane->access.invocation - 1,
        .group = group->index,
        .epoch = group->epoch,
        .memory = lane->memory,
        .element = lane->element,
        .element_group = is_array ? group->index + 1 : 0,
        .scope = (vyre_scope)stmt->scope,
        .acquires = is_atomic && (has_both || stmt->order == VYRE_ORDER_ACQUIRE),
        .releases = is_atomic && changed && (has_both || stmt->order == VYRE_ORDER_RELEASE),
        .replaces = !is_atomic || stmt->op == VYRE_ATOMIC_STORE,
    };
    vy_vector_clocks_atomic(&run->check->clocks, &event);
}

static void check_lane(vy_worker *worker, const vy_group *group, vy_memory_shadow *shadow, const lane_access *lane,
                       int changed) {
    vy_run *run = worker->run;
    if (lane->element >= lane->count) {
        if (run->check->enabled & VYRE_CHECK_BOUNDS)
            report_bounds(run, lane);
        return;
    }
    if (shadow && shadow->written)
        check_written(run, shadow, lane, changed);
    if (!shadow || !(run->check->enabled & VYRE_CHECK_RACES))
        return;
    /* An acquire also orders the atomic itself: the message is received with the value. */
    if (lane->synchronises)
        synchronise(run, group, lane, changed);
    vy_race_access(run, group, shadow, &lane->access, lane->memory, lane->element, lane->kind);
    if (run->check->clocks.allowance.status != VYRE_OK) {
        atomic_store(&run->stop, run->check->clocks.allowance.status);
        worker->checkpoint = 0; /* ends the run at the next step */
    }
}

static int has_atomics(const vy_oracle_memory *memory) {
    return memory->accesses >> VY_ACCESS_DEVICE_LOAD != 0;
}

/* Returns NULL if no access of the memory matters to any check except bounds. */
static vy_memory_shadow *shadow_of(const vy_run *run, const vy_group *group, uint32_t memory) {
    uint8_t space = run->oracle->memories.items[memory].space;
    if (space == VY_SPACE_PRIVATE || space == VY_SPACE_CONSTANT)
        return NULL;
    vy_memory_shadow *shadow = space == VY_SPACE_BUFFER ? &run->check->shadows[memory] : &group->check->shadows[memory];
    /* Atomics that race with nothing still acquire and release. */
    int may_order = run->oracle->orders && has_atomics(&run->oracle->memories.items[memory]);
    return shadow->kinds || shadow->written || may_order ? shadow : NULL;
}

void vy_shadow_access(vy_worker *worker, vy_warp *warp, const vy_instruction *in, uint32_t memory,
                      const uint64_t *index, vy_access_kind kind, const uint64_t *old) {
    vy_run *run = worker->run;
    vy_memory_shadow *shadow = shadow_of(run, warp->group, memory);
    if (!shadow && !(run->check->enabled & VYRE_CHECK_BOUNDS))
        return;
    const vy_oracle_memory *declared = &run->oracle->memories.items[memory];
    int is_compare = old && run->program->stmts.items[in->site].op == VYRE_ATOMIC_COMPARE_EXCHANGE;
    const uint64_t *expected = is_compare ? vy_register(worker, warp, in->b) : NULL;
    int has_clocks = shadow && run->oracle->orders && (run->check->enabled & VYRE_CHECK_RACES);
    lane_access lane = {.access = {.epoch = warp->group->epoch,
                                   .grid_epoch = run->check->grid_epoch,
                                   .site = in->site | (in->site_is_expression ? VY_SITE_EXPRESSION : 0)},
                        .memory = memory,
                        .count = element_count(run, memory),
                        .index_type = (vyre_type)in->index_type,
                        .kind = kind,
                        .synchronises = has_clocks && kind != VY_ACCESS_READ && has_atomics(declared)};
    for (uint32_t i = 0; i < warp->lanes; i++) {
        if (!warp->mask.words[i])
            continue;
        uint64_t invocation = vy_lane_invocation(warp, i);
        lane.element = index[i];
        lane.access.invocation = invocation + 1;
        lane.access.time = has_clocks ? vy_vector_clocks_time(&run->check->clocks, invocation) : 0;
        check_lane(worker, warp->group, shadow, &lane, !is_read(kind) && (!is_compare || old[i] == expected[i]));
    }
}
