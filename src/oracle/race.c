/* The race checker: compares an access with what the shadow remembers of the element.
 *
 * Every two accesses of an element that conflict and that no barrier orders give a finding, or another two of that element did. Why what
 * is kept suffices, without acquires and releases: an earlier access is unordered with one of invocation i if it is by another
 * invocation and either of the same workgroup in the same epoch, or of another workgroup in the same grid epoch. Whether two conflict
 * depends on their kinds, and for atomics on whether they are of two workgroups; so each kind can be looked at by itself.
 *
 *  - Writes conflict with everything. If the last one is ordered before the access, so is every earlier one, as order is transitive, or
 *    the two writes were found.
 *  - Of any other kind, take those since the last grid barrier. If two workgroups made some, `latest` and `elsewhere` are among them and
 *    of two workgroups, and one of these is not i's. If one workgroup did and it is not i's, `latest` will do. If it is i's, only those
 *    since its last barrier count; if two invocations made some, `latest` and `beside` are among them and of two, and one is not i.
 *
 * What is left of an earlier epoch in the three does no harm: it is ordered.
 *
 * With acquires and releases what is kept may be known to i where something forgotten is not: then a race can be missed. None is invented. */
#include "oracle/check.h"

#include "ir/codes.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- which kinds conflict ---- */

#define BIT(KIND) (1u << VY_ACCESS_##KIND)
#define ATOMICS (BIT(DEVICE_LOAD) | BIT(GROUP_LOAD) | BIT(DEVICE_CHANGE) | BIT(GROUP_CHANGE))
#define CHANGES (BIT(DEVICE_CHANGE) | BIT(GROUP_CHANGE))

/* Both are symmetric. Atomics do not race with each other, unless one of them is not meant for the other's workgroup. */
static const struct {
    unsigned anywhere;  /* kinds that this one conflicts with */
    unsigned elsewhere; /* … only if of another workgroup */
} conflicts[VY_ACCESS_COUNT] = {
    [VY_ACCESS_WRITE] = {BIT(WRITE) | BIT(READ) | ATOMICS, 0},
    [VY_ACCESS_READ] = {BIT(WRITE) | CHANGES, 0},
    [VY_ACCESS_DEVICE_LOAD] = {BIT(WRITE), BIT(GROUP_CHANGE)},
    [VY_ACCESS_GROUP_LOAD] = {BIT(WRITE), CHANGES},
    [VY_ACCESS_DEVICE_CHANGE] = {BIT(WRITE) | BIT(READ), BIT(GROUP_LOAD) | BIT(GROUP_CHANGE)},
    [VY_ACCESS_GROUP_CHANGE] = {BIT(WRITE) | BIT(READ), ATOMICS},
};

unsigned vy_race_kinds(unsigned accesses) {
    unsigned kinds = 0;
    for (int kind = 0; kind < VY_ACCESS_COUNT; kind++)
        if ((accesses >> kind & 1) && (accesses & (conflicts[kind].anywhere | conflicts[kind].elsewhere)))
            kinds |= 1u << kind;
    return kinds;
}

/* ---- order ---- */

/* The access under way. */
typedef struct present {
    vy_run *run;
    const vy_access *access;
    uint64_t group;
    uint64_t first; /* its workgroup's first invocation, counted as in vy_access, so that none is below it */
    uint32_t memory;
    uint64_t element;
} present;

static int is_here(const present *now, const vy_access *before) {
    return before->invocation - now->first < now->run->launch->group_size;
}

static int is_ordered(const present *now, const vy_access *before) {
    vy_run *run = now->run;
    const vy_access *access = now->access;
    if (before->invocation == 0 || before->invocation == access->invocation || before->grid_epoch < access->grid_epoch)
        return 1;
    if (before->epoch < access->epoch && is_here(now, before))
        return 1;
    return run->oracle->orders &&
           vy_clocks_knows(&run->check->clocks, access->invocation - 1, now->group, before->invocation - 1,
                           (before->invocation - 1) / run->launch->group_size, before->time, before->epoch);
}

/* ---- reporting ---- */

static const char *verb(const vy_run *run, uint32_t site) {
    if (site & VY_SITE_EXPRESSION)
        return "read";
    const vy_stmt *stmt = &run->program->stmts.items[site];
    if (stmt->kind == VY_STMT_LOAD)
        return "read";
    return stmt->kind == VY_STMT_ATOMIC ? vyre_atomic_name((vyre_atomic)stmt->op) : "write";
}

static void report(const present *now, const vy_access *before) {
    const vy_run *run = now->run;
    const vyre_program *program = run->program;
    vy_code code = is_here(now, before) ? VY_R001 : VY_R002;
    if (!vy_check_is_new(run->check, (uint32_t)code, before->site, now->access->site))
        return;
    char first[128], second[128], line[32] = "";
    vy_position at = vy_site_position(program, before->site);
    if (at.line)
        snprintf(line, sizeof line, " at line %" PRIu32, at.line);
    const char *name = vy_memory_name(program, now->memory);
    vy_diagnostic_add(
        run->diagnostics, program->source, vy_code_name(code), VYRE_SEVERITY_ERROR,
        vy_site_position(program, now->access->site), vy_code_fix(code),
        "`%s[%" PRIu64 "]`: the %s by %s races with the %s%s by %s: nothing orders the two", name, now->element,
        verb(run, now->access->site), vy_invocation_text(run, now->access->invocation - 1, first, sizeof first),
        verb(run, before->site), line, vy_invocation_text(run, before->invocation - 1, second, sizeof second));
}

/* ---- what is kept ---- */

static void remember(const present *now, vy_access *kept) {
    vy_access *latest = &kept[VY_KEPT_LATEST], *beside = &kept[VY_KEPT_BESIDE], *elsewhere = &kept[VY_KEPT_ELSEWHERE];
    if (!is_here(now, latest)) {
        *beside = *elsewhere;
        *elsewhere = *latest;
    } else if (latest->invocation != now->access->invocation) {
        *beside = *latest;
    }
    *latest = *now->access;
}

/* One finding is enough. */
static void compare(const present *now, const vy_access *kept, uint32_t count, int only_elsewhere) {
    for (uint32_t i = 0; i < count; i++) {
        if ((only_elsewhere && is_here(now, &kept[i])) || is_ordered(now, &kept[i]))
            continue;
        report(now, &kept[i]);
        return;
    }
}

void vy_race_access(vy_run *run, const vy_group *group, vy_shadow *shadow, const vy_access *access, uint32_t memory,
                    uint64_t element, vy_access_kind kind) {
    const present now = {run, access, group->index, group->index * run->launch->group_size + 1, memory, element};
    unsigned anywhere = conflicts[kind].anywhere & shadow->kinds, elsewhere = conflicts[kind].elsewhere & shadow->kinds;
    for (unsigned left = anywhere | elsewhere; left; left &= left - 1) {
        vy_access_kind other = (vy_access_kind)__builtin_ctz(left);
        uint32_t count = vy_kept_count(other);
        compare(&now, &shadow->kept[other][element * count], count, !(anywhere >> other & 1));
    }
    if (!(shadow->kinds >> kind & 1))
        return;
    if (kind == VY_ACCESS_WRITE)
        shadow->kept[kind][element] = *access;
    else
        remember(&now, &shadow->kept[kind][element * VY_KEPT_COUNT]);
}
