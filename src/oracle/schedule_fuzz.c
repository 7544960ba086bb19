/* Perturbed schedules: other orders in which a valid program may run, drawn from a seed.
 *
 * Warps are of a random width, invocations are dealt to them at random, several workgroups are under way at once, and a warp runs for a random
 * number of effects before another one, of any of these workgroups, gets its turn. A program without races and schedule-dependent
 * statements gives the same bytes under every seed. */
#include "oracle/machine.h"

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

/* All workgroups in some order without a table: steps of a width that has no factor in common with their number. */
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

/* Deals the positions of a group to its warps. */
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

/* A random warp of the group gets a turn; when none can go on, they meet. Returns 0 if the run is over. */
static int turn(vy_worker *worker, dice *d, vy_group *group) {
    uint32_t start = (uint32_t)roll(d, group->warp_count);
    for (uint32_t k = 0; k < group->warp_count; k++) {
        vy_warp *warp = &group->warps[(start + k) % group->warp_count];
        if (!can_run(warp))
            continue;
        /* At least 2: one is spent where it stopped before. */
        warp->quantum = 2 + (uint32_t)roll(d, 8);
        return vy_warp_run(worker, warp) != VY_STOP_ABORT;
    }
    vy_group_sync(worker, group);
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
