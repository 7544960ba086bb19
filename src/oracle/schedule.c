/* Workgroup scheduler: divides a workgroup into warps, runs them in turn, and synchronises them at barriers and
 * collectives.
 *
 * The natural schedule, used by every run without a seed, runs warps in ascending order of their invocations, each as
 * far as possible. */
#include "base/thread.h"
#include "oracle/lowered_env.h"
#include "oracle/machine.h"
#include "oracle/shadow_memory.h"

enum {
    MAX_LANES =
        128, /* of a warp: 1 KiB per register, so that the registers of a usual program stay in the first-level cache */
    MIN_LANES = 16,           /* … but at least this many, even if the registers exceed the cache */
    CACHE_BYTES = 256 * 1024, /* size of the registers of a warp above which warps become narrower */
};

static size_t round_up(size_t size, size_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

/* ---- layout ---- */

/* Small workgroups without synchronisation and workgroup arrays run as one unit, so that their lanes fill a warp. */
static uint32_t choose_fused(const vyre_oracle *oracle, const vy_resolved_dispatch *launch,
                             const vyre_oracle_options *options) {
    if (oracle->has_sync || oracle->workgroup_bytes || oracle->serial || options->checks || options->seed)
        return 1;
    uint64_t fit = MAX_LANES / launch->group_size;
    if (fit > launch->group_count)
        fit = launch->group_count;
    return fit ? (uint32_t)fit : 1;
}

static uint32_t choose_stride(const vyre_oracle *oracle, uint32_t unit, const vyre_oracle_options *options) {
    if (options->seed)
        return 1 + (uint32_t)((options->seed * 0x9e3779b97f4a7c15u) >> 32) % unit;
    uint32_t most = MAX_LANES;
    while (most > MIN_LANES && (size_t)oracle->registers * most * sizeof(uint64_t) > CACHE_BYTES)
        most /= 2;
    uint32_t warps = (unit + most - 1) / most;
    return (unit + warps - 1) / warps;
}

void vy_layout_choose(const vyre_oracle *oracle, const vy_resolved_dispatch *launch, const vyre_oracle_options *options,
                      vy_layout *layout) {
    layout->fused = choose_fused(oracle, launch, options);
    layout->unit = launch->group_size * layout->fused;
    layout->stride = choose_stride(oracle, layout->unit, options);
    layout->warps = oracle->has_sync || options->seed ? (layout->unit + layout->stride - 1) / layout->stride : 1;
    size_t row = layout->stride * sizeof(uint64_t);
    layout->warp_bytes =
        round_up((oracle->registers + oracle->slots + 1) * row + oracle->slots * sizeof(vy_lanes) +
                     round_up(layout->stride * sizeof(uint32_t), 8) + (size_t)oracle->private_bytes * layout->stride,
                 64);
    layout->group_bytes =
        round_up(layout->warps * (sizeof(vy_warp) + layout->warp_bytes) + oracle->workgroup_bytes, 64);
    layout->worker_bytes = round_up((oracle->shared.count + VY_SCRATCH_ROWS) * row +
                                        (oracle->has_sync ? VY_SYNC_ROWS * layout->unit * sizeof(uint64_t) : 0),
                                    64);
}

/* ---- placement: blocks are zeroed, so registers start with canonical values ---- */

static uint64_t shared_value(const vy_run *run, const vy_shared_value *value) {
    const uint32_t *size = run->program->workgroup, *groups = run->launch->groups;
    switch ((vy_shared_kind)value->kind) {
    case VY_SHARED_LITERAL:
        return value->bits;
    case VY_SHARED_PARAM:
        return run->launch->params[value->index];
    case VY_SHARED_LEN:
        return run->launch->buffers[value->index].count;
    case VY_SHARED_MISALIGNMENT:
        return vy_misalignment(run, value->index);
    case VY_SHARED_GARBAGE:
        return run->conditions.garbage;
    default:
        break;
    }
    if (value->index == VYRE_BUILTIN_WORKGROUP_SIZE)
        return size[value->axis];
    return value->index == VYRE_BUILTIN_GROUP_COUNT ? groups[value->axis] : groups[value->axis] * size[value->axis];
}

static int can_end(const vy_run *run) {
    return run->end.deadline_ns || run->end.cancel;
}

void vy_worker_place(vy_worker *worker, vy_run *run, uint8_t *block) {
    const vyre_oracle *oracle = run->oracle;
    uint32_t stride = run->layout.stride;
    memset(worker, 0, sizeof *worker);
    worker->run = run;
    worker->shared = (uint64_t *)block;
    worker->scratch = worker->shared + (size_t)oracle->shared.count * stride;
    worker->sync_rows = worker->scratch + (size_t)VY_SCRATCH_ROWS * stride;
    worker->checkpoint = run->options->budget || can_end(run) ? 0 : UINT64_MAX;
    for (uint32_t k = 0; k < oracle->shared.count; k++) {
        uint64_t bits = shared_value(run, &oracle->shared.items[k]), *r = worker->shared + (size_t)k * stride;
        for (uint32_t i = 0; i < stride; i++)
            r[i] = bits;
    }
}

static void place_warp(vy_warp *warp, const vy_run *run, uint8_t *block) {
    const vyre_oracle *oracle = run->oracle;
    uint32_t stride = run->layout.stride;
    warp->registers = (uint64_t *)block;
    uint64_t *masks = warp->registers + (size_t)oracle->registers * stride;
    warp->mask.words = masks;
    warp->slots = (vy_lanes *)(masks + (size_t)(oracle->slots + 1) * stride);
    for (uint32_t s = 0; s < oracle->slots; s++)
        warp->slots[s].words = masks + (size_t)(s + 1) * stride;
    warp->positions = (uint32_t *)(warp->slots + oracle->slots);
    warp->private_memory = (uint8_t *)warp->positions + round_up(stride * sizeof(uint32_t), 8);
}

void vy_group_place(vy_group *group, const vy_run *run, uint8_t *block) {
    const vy_layout *layout = &run->layout;
    memset(group, 0, sizeof *group);
    group->warp_count = layout->warps;
    group->warps = (vy_warp *)block;
    uint8_t *next = block + layout->warps * sizeof(vy_warp);
    for (uint32_t w = 0; w < layout->warps; w++, next += layout->warp_bytes) {
        place_warp(&group->warps[w], run, next);
        group->warps[w].group = group;
        for (uint32_t i = 0; i < layout->stride; i++)
            group->warps[w].positions[i] = w * layout->stride + i;
    }
    group->memory = next;
}

/* ---- running ---- */

int vy_run_goes_on(vy_run *run) {
    int nothing = 0;
    if (run->end.cancel && __atomic_load_n(run->end.cancel, __ATOMIC_RELAXED))
        atomic_compare_exchange_strong(&run->stop, &nothing, VYRE_CANCELLED);
    else if (run->end.deadline_ns && vy_clock_now() >= run->end.deadline_ns)
        atomic_compare_exchange_strong(&run->stop, &nothing, VYRE_TIMEOUT);
    return atomic_load_explicit(&run->stop, memory_order_relaxed) == 0;
}

int vy_worker_report(vy_worker *worker) {
    vy_run *run = worker->run;
    uint64_t budget = run->options->budget, fresh = worker->steps - worker->reported;
    worker->reported = worker->steps;
    uint64_t total = atomic_fetch_add_explicit(&run->steps, fresh, memory_order_relaxed) + fresh;
    if (budget || can_end(run)) {
        /* Small enough that all threads together exceed the budget by little, large enough to avoid contention on the
         * counter. */
        uint64_t left = !budget ? UINT64_MAX : total > budget ? 0 : budget - total, batch = left / 64 + 1;
        worker->checkpoint = worker->steps + (batch > 65536 ? 65536 : batch);
    }
    if (budget && total > budget)
        atomic_store_explicit(&run->stop, VYRE_BUDGET, memory_order_relaxed);
    return vy_run_goes_on(run);
}

static void begin_group(vy_worker *worker, vy_group *group, uint64_t unit) {
    group->index = unit * worker->run->layout.fused;
    group->epoch = 0;
    group->trapped = 0;
    group->is_ending = 0;
    group->state = VY_GROUP_RUNNING;
    if (worker->run->oracle->is_legal)
        vy_garbage_fill(worker->run, group->memory, worker->run->oracle->workgroup_bytes, group->index);
    else
        memset(group->memory, 0, worker->run->oracle->workgroup_bytes);
    if (group->check)
        vy_shadow_group_start(worker->run, group);
}

static void begin_warp(vy_worker *worker, vy_warp *warp, uint32_t offset, uint32_t invocations) {
    uint32_t left = invocations - offset, stride = worker->run->layout.stride;
    warp->first = warp->group->index * worker->run->launch->group_size;
    warp->lanes = left < stride ? left : stride;
    vy_warp_start(worker, warp);
}

void vy_group_start(vy_worker *worker, vy_group *group, uint64_t unit) {
    begin_group(worker, group, unit);
    for (uint32_t w = 0; w < group->warp_count; w++)
        begin_warp(worker, &group->warps[w], w * worker->run->layout.stride, worker->run->layout.unit);
}

int vy_unit_run(vy_worker *worker, uint64_t unit) {
    const vy_run *run = worker->run;
    vy_group *group = worker->group;
    vy_warp *warp = &group->warps[0];
    begin_group(worker, group, unit);
    /* The last unit may have fewer workgroups than the others. */
    uint64_t groups = run->launch->group_count - group->index;
    uint32_t invocations = groups < run->layout.fused ? (uint32_t)groups * run->launch->group_size : run->layout.unit;
    int sliced = invocations > run->layout.stride;
    for (uint32_t offset = 0; offset < invocations; offset += run->layout.stride) {
        for (uint32_t i = 0; sliced && i < run->layout.stride; i++)
            warp->positions[i] = offset + i;
        begin_warp(worker, warp, offset, invocations);
        if (vy_warp_run(worker, warp) == VY_STOP_ABORT)
            return 0;
    }
    return 1;
}

/* ---- barriers and collectives ---- */

/* Whether every invocation of the workgroup waits at the same instruction and none has trapped. */
static int all_arrived(const vy_group *group) {
    for (uint32_t w = 0; w < group->warp_count; w++) {
        const vy_warp *warp = &group->warps[w];
        if (warp->stop != VY_STOP_SYNC || warp->pc != group->warps[0].pc || warp->mask.count != warp->lanes)
            return 0;
    }
    return 1;
}

static int all_ended(const vy_group *group) {
    for (uint32_t w = 0; w < group->warp_count; w++)
        if (group->warps[w].stop != VY_STOP_END)
            return 0;
    return 1;
}

static void pass(vy_group *group) {
    for (uint32_t w = 0; w < group->warp_count; w++) {
        group->warps[w].pc++;
        group->warps[w].stop = VY_STOP_RUNNABLE;
    }
}

/* Call when every warp has stopped: executes the barrier or collective they wait at. Sets group->state; warps can run
 * again if it is RUNNING. */
static void group_sync(vy_worker *worker, vy_group *group) {
    const vy_run *run = worker->run;
    if (group->trapped || all_ended(group)) {
        group->state = group->trapped ? VY_GROUP_BROKEN : VY_GROUP_DONE;
        return;
    }
    if (!all_arrived(group)) {
        vy_violation_divergence(worker, group);
        group->state = VY_GROUP_BROKEN;
        return;
    }
    const vy_instruction *in = &run->oracle->code.items[group->warps[0].pc];
    if (in->code == VY_OPCODE_COLLECTIVE) {
        vy_collective_run(worker, group, in);
    } else {
        group->epoch++;
        if (run->check)
            vy_shadow_barrier(run, group);
        if (run->program->stmts.items[in->site].scope == VYRE_SCOPE_DEVICE)
            group->state = VY_GROUP_AT_GRID_BARRIER;
    }
    pass(group);
}

int vy_group_run(vy_worker *worker, vy_group *group) {
    while (group->state == VY_GROUP_RUNNING) {
        for (uint32_t w = 0; w < group->warp_count; w++) {
            vy_warp *warp = &group->warps[w];
            if (warp->stop != VY_STOP_END && vy_warp_run(worker, warp) == VY_STOP_ABORT)
                return 0;
        }
        group_sync(worker, group);
    }
    return 1;
}

/* A trap ends the grid at the next point that all workgroups reach: those without a trap have run up to here, so an
 * invocation that trapped before it has trapped under every schedule. */
static int has_trap(const vy_group *groups, uint32_t count) {
    for (uint32_t g = 0; g < count; g++)
        if (groups[g].trapped)
            return 1;
    return 0;
}

/* At level legal a workgroup with an invocation that ended has left the grid: no other group waits for it. */
static int is_ending(const vy_run *run, const vy_group *groups, uint32_t count) {
    for (uint32_t g = 0; run->oracle->is_legal && g < count; g++)
        if (groups[g].is_ending)
            return 1;
    return 0;
}

/* Finds a group that misses a grid barrier: one that ended, or that waits at a different one than `waiting`. */
static const vy_group *find_missing(const vy_group *groups, uint32_t count, const vy_group *waiting) {
    for (uint32_t g = 0; g < count; g++) {
        const vy_group *group = &groups[g];
        if (group->state == VY_GROUP_DONE ||
            (group->state == VY_GROUP_AT_GRID_BARRIER && group->warps[0].pc != waiting->warps[0].pc))
            return group;
    }
    return NULL;
}

uint32_t vy_grid_barrier_release(vy_run *run, vy_group *groups, uint32_t count) {
    uint32_t first = 0, running = 0;
    while (first < count && groups[first].state != VY_GROUP_AT_GRID_BARRIER)
        first++;
    if (first == count || is_ending(run, groups, count))
        return 0;
    const vy_group *missing = find_missing(groups, count, &groups[first]);
    if (missing) {
        vy_violation_grid_divergence(run, &groups[first], missing);
        return 0;
    }
    if (has_trap(groups, count))
        return 0;
    for (uint32_t g = first; g < count; g++) {
        if (groups[g].state == VY_GROUP_AT_GRID_BARRIER) {
            groups[g].state = VY_GROUP_RUNNING;
            running++;
        }
    }
    vy_shadow_grid_barrier(run);
    return running;
}

/* Schedule fuzzing: alternative orders in which a valid program may run, drawn from a seed.
 *
 * Warps have a random width, invocations are assigned to them at random, several workgroups run concurrently, and a
 * warp runs for a random number of effects before another warp, of any of these workgroups, continues. A program
 * without races and schedule-dependent statements produces the same bytes under every seed. */

#define WINDOW 4

typedef struct dice {
    uint64_t state;
} dice;

/* splitmix64 */
static uint64_t roll(dice *d, uint64_t bound) {
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % bound;
}

/* A permutation of all workgroups without a table: steps of a width that is coprime to their number. */
typedef struct tour {
    uint64_t next, width, count, left;
} tour;

static uint64_t common_factor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static tour tour_start(dice *d, uint64_t count) {
    tour t = {0, 1, count, count};
    if (count > 1) {
        t.next = roll(d, count);
        t.width = 1 + roll(d, count - 1);
        while (common_factor(t.width, count) != 1)
            t.width = t.width % (count - 1) + 1;
    }
    return t;
}

static uint64_t tour_next(tour *t) {
    uint64_t at = t->next;
    t->left--;
    t->next = t->next >= t->count - t->width ? t->next - (t->count - t->width) : t->next + t->width;
    return at;
}

/* Assigns the positions of a group to its warps. */
static void deal(dice *d, vy_group *group, uint32_t unit, uint32_t stride) {
    for (uint32_t i = unit; i > 1; i--) {
        uint32_t j = (uint32_t)roll(d, i);
        uint32_t *a = &group->warps[(i - 1) / stride].positions[(i - 1) % stride],
                 *b = &group->warps[j / stride].positions[j % stride];
        uint32_t t = *a;
        *a = *b;
        *b = t;
    }
}

static void enter(vy_worker *worker, dice *d, vy_group *group, tour *t) {
    deal(d, group, worker->run->layout.unit, worker->run->layout.stride);
    vy_group_start(worker, group, tour_next(t));
}

static int can_run(const vy_warp *warp) {
    return warp->stop == VY_STOP_RUNNABLE || warp->stop == VY_STOP_YIELD;
}

/* Runs a random warp of the group; if none can continue, synchronises them. Returns 0 if the run has ended. */
static int turn(vy_worker *worker, dice *d, vy_group *group) {
    uint32_t start = (uint32_t)roll(d, group->warp_count);
    for (uint32_t k = 0; k < group->warp_count; k++) {
        vy_warp *warp = &group->warps[(start + k) % group->warp_count];
        if (!can_run(warp))
            continue;
        /* At least 2: one is consumed at the instruction where it stopped. */
        warp->quantum = 2 + (uint32_t)roll(d, 8);
        return vy_warp_run(worker, warp) != VY_STOP_ABORT;
    }
    group_sync(worker, group);
    return 1;
}

uint64_t vy_schedule_fuzz_window(const vy_run *run) {
    uint64_t groups = run->launch->group_count;
    return run->oracle->grid_barrier || groups < WINDOW ? groups : WINDOW;
}

int vy_schedule_fuzz_run(vy_worker *worker, vy_group *groups, uint32_t window) {
    vy_run *run = worker->run;
    dice d = {run->options->seed};
    tour t = tour_start(&d, run->launch->group_count);
    uint32_t running = window;
    for (uint32_t g = 0; g < window; g++)
        enter(worker, &d, &groups[g], &t);
    while (running) {
        vy_group *group = &groups[roll(&d, window)];
        if (group->state != VY_GROUP_RUNNING)
            continue;
        if (!turn(worker, &d, group))
            return 0;
        if (group->state == VY_GROUP_RUNNING)
            continue;
        if (group->state != VY_GROUP_AT_GRID_BARRIER && t.left)
            enter(worker, &d, group, &t);
        else
            running--;
        if (running == 0)
            running = vy_grid_barrier_release(run, groups, window);
    }
    return 1;
}
