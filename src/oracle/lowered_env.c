/* Constructs and conditions of programs of level legal (lowered_env.h). */
#include "oracle/lowered_env.h"

#include "ir/diagnostic_codes.h"
#include "oracle/adversarial_device.h"
#include "oracle/shadow_memory.h"

/* ---- conditions ---- */

enum { BOUNDARY = 16 }; /* bytes */

uint32_t vy_misalignment(const vy_run *run, uint32_t memory) {
    const vy_oracle_memory *m = &run->oracle->memories.items[memory];
    if (m->space != VY_SPACE_BUFFER || !run->conditions.misalignment)
        return 0;
    return (uint32_t)(vy_mix(run->conditions.misalignment, memory) % (BOUNDARY / vy_type_layouts[m->type].size));
}

void vy_garbage_fill(const vy_run *run, uint8_t *memory, size_t size, uint64_t owner) {
    uint64_t seed = vy_mix(run->conditions.garbage, owner);
    for (size_t at = 0; at < size; at += sizeof seed) {
        uint64_t word = run->conditions.zeroes_arrays ? 0 : vy_mix(seed, at);
        memcpy(memory + at, &word, sizeof word);
    }
}

/* ---- accesses ---- */

static uint32_t site_of(const vy_instruction *in) {
    return in->site | (in->site_is_expression ? VY_SITE_EXPRESSION : 0);
}

/* The following accesses are still bounds-checked: if the proof was wrong, they have no effect, as with a guard. */
void vy_inside_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const uint64_t *index = vy_register(worker, warp, in->a), elements = in->r;
    const uint64_t count = vy_warp_memory(worker, warp, in->b).count;
    const uint64_t before = elements > 1 ? vy_misalignment(worker->run, in->b) : 0;
    for (uint32_t i = 0; i < warp->lanes; i++) {
        uint64_t off = (before + index[i]) & (elements - 1), last = index[i] + elements - 1;
        if (!warp->mask.words[i] || (last < count && off == 0))
            continue;
        vy_violation violation = {.code = last < count ? VY_R008 : VY_R007,
                                  .site = site_of(in),
                                  .memory = in->b,
                                  .invocation = vy_lane_invocation(warp, i),
                                  .missing = off,
                                  .index = last < count || index[i] >= count ? index[i] : count,
                                  .bound = last < count ? elements : count};
        vy_violation_keep(worker->run, &violation);
    }
}

/* The index of the k-th element for each active lane; out of bounds for the others. */
static const uint64_t *nth_index(const vy_worker *worker, const vy_warp *warp, const vy_instruction *in, uint32_t k) {
    const uint64_t *index = vy_register(worker, warp, in->a);
    for (uint32_t i = 0; i < warp->lanes; i++)
        worker->scratch[i] = (index[i] + k) | ~warp->mask.words[i];
    return worker->scratch;
}

void vy_load_wide_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const uint32_t *results = &worker->run->oracle->lists.items[in->r];
    for (uint32_t k = 0; k < in->c; k++) {
        const uint64_t *index = nth_index(worker, warp, in, k);
        if (worker->run->check)
            vy_shadow_access(worker, warp, in, in->b, index, VY_ACCESS_READ, NULL);
        vy_memory_load((vyre_type)in->type, vy_warp_memory(worker, warp, in->b), index,
                       vy_register(worker, warp, results[k]), warp->lanes);
    }
}

void vy_store_wide_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const uint32_t *values = &worker->run->oracle->lists.items[in->r];
    for (uint32_t k = 0; k < in->c; k++) {
        const uint64_t *index = nth_index(worker, warp, in, k);
        if (worker->run->check)
            vy_shadow_access(worker, warp, in, in->b, index, VY_ACCESS_WRITE, NULL);
        vy_memory_store((vyre_type)in->type, vy_warp_memory(worker, warp, in->b), index,
                        vy_register(worker, warp, values[k]), warp->lanes);
    }
}

/* ---- polls ---- */

/* Register a counts the polls of each lane. */
void vy_poll_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    const vy_lowered_env *conditions = &worker->run->conditions;
    uint64_t *polls = vy_register(worker, warp, in->a), *result = vy_register(worker, warp, in->r);
    memset(result, 0, warp->lanes * sizeof *result);
    if (!conditions->poll)
        return;
    for (uint32_t i = 0; i < warp->lanes; i++) {
        if (!warp->mask.words[i])
            continue;
        uint64_t later = conditions->poll_spread ? vy_mix(conditions->garbage, vy_lane_invocation(warp, i)) %
                                                       ((uint64_t)conditions->poll_spread + 1)
                                                 : 0;
        polls[i]++;
        result[i] = polls[i] >= conditions->poll && polls[i] - conditions->poll >= later;
        worker->is_over |= (int)result[i];
        warp->group->is_ending |= (uint8_t)(result[i] != 0);
    }
}
