/* Happens-before race detector on shadow memory: compares each access with the stored accesses to the element.
 *
 * Guarantee: no false positives. If two accesses to an element conflict and are unordered, a race on that element is
 * found: this pair or another.
 *
 * Proof. Whether two accesses conflict depends only on their kinds and, for two atomics, on whether their workgroups
 * differ. So each kind can be treated separately:
 *  - Writes conflict with every kind. If the last write is ordered before the new access, every earlier write is, too,
 *    by transitivity; or the two writes race, and that race was found. For the same reason a write makes all earlier
 *    accesses, of every kind, irrelevant.
 *  - Other kinds, without acquires and releases: three accesses suffice. An earlier access is unordered with one of
 *    invocation i iff it is by another invocation of the same workgroup in the same epoch, or by another workgroup in
 *    the same grid epoch. Consider the accesses since the last grid barrier. Two or more workgroups: `latest` and
 *    `elsewhere` are from different workgroups; one that is not from i's is unordered with the new access. One
 *    workgroup, not i's: `latest` is unordered. One workgroup, i's: only its current epoch matters; if two or more
 *    invocations accessed the element in it, `latest` and `beside` are by different invocations, and one of them is not
 *    i. Entries from an earlier epoch are ordered, and are never reported.
 *  - Other kinds, with acquires and releases: i may be ordered after all of them but one. So the last access of every
 *    invocation is kept, as in FastTrack (Flanagan and Freund, PLDI 2009): one record as long as each access is ordered
 *    after the previous one, else a set. An access a is dropped if it is ordered before a later access b of its kind:
 *    an access that is unordered with a is unordered with b, and conflicts with b, too, unless the kind conflicts only
 *    with other workgroups and a and b are from different ones.
 *
 * A set has at most one record per invocation, and counts against the memory limit of the run. */
#include "oracle/shadow_memory.h"

#include "ir/diagnostic_codes.h"
#include "ir/walk.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- which kinds conflict ---- */

#define BIT(KIND) (1u << VY_ACCESS_##KIND)
#define ATOMICS (BIT(DEVICE_LOAD) | BIT(GROUP_LOAD) | BIT(DEVICE_CHANGE) | BIT(GROUP_CHANGE))
#define CHANGES (BIT(DEVICE_CHANGE) | BIT(GROUP_CHANGE))

/* Both tables are symmetric. Atomics do not race with each other, unless the scope of one does not include the
 * workgroup of the other. */
static const struct {
    unsigned anywhere;  /* kinds that this one conflicts with */
    unsigned elsewhere; /* … only those of another workgroup */
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

/* The access that is being checked. */
typedef struct present {
    vy_run *run;
    const vy_access *access;
    uint64_t group;
    uint64_t first; /* first invocation of its workgroup, counted as in vy_access (from 1) */
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
           vy_vector_clocks_knows(&run->check->clocks, access->invocation - 1, now->group, before->invocation - 1,
                                  (before->invocation - 1) / run->launch->group_size, before->time, before->epoch);
}

/* ---- reporting ---- */

typedef enum verb_class { READS, WRITES, ATOMIC } verb_class;

static verb_class class_of(const vy_run *run, uint32_t site) {
    if ((site & VY_SITE_EXPRESSION) || run->program->stmts.items[site].kind == VY_STMT_LOAD_WIDE)
        return READS;
    return run->program->stmts.items[site].kind == VY_STMT_ATOMIC ? ATOMIC : WRITES;
}

static const char *verb(const vy_run *run, uint32_t site) {
    verb_class class = class_of(run, site);
    return class == READS    ? "read"
           : class == WRITES ? "write"
                             : vyre_atomic_name((vyre_atomic)run->program->stmts.items[site].op);
}

/* Whether no barrier fits between two statements: they are one, or in opposite branches of an `if`. */
static int is_inseparable(const vyre_program *program, uint32_t one, uint32_t other) {
    uint32_t first = one < other ? one : other, last = one < other ? other : one;
    for (uint32_t i = 0; i < first; i++) {
        const vy_stmt *stmt = &program->stmts.items[i];
        if (stmt->kind == VY_STMT_IF && first < stmt->middle && last >= stmt->middle && last < stmt->end)
            return 1;
    }
    return one == other;
}

static int is_in_loop(const vyre_program *program, uint32_t site) {
    for (uint32_t i = 0; i < site; i++)
        if (vy_stmt_is_loop(program->stmts.items[i].kind) && site < program->stmts.items[i].end)
            return 1;
    return 0;
}

/* Whether a load and a store are on one line, as in `x[i] = x[i + 1]`. */
static int is_on_one_line(const vyre_program *program, uint32_t one, uint32_t other) {
    vy_position a = vy_site_position(program, one), b = vy_site_position(program, other);
    return a.line != 0 && a.line == b.line;
}

/* Whether the load at `read` is from the element that the store at `write` writes, as in `x[k] = x[k] + 1`: then both
 * invocations store to it, and a barrier does not help. */
static int is_update(const vyre_program *program, uint32_t read, uint32_t write) {
    if (!(read & VY_SITE_EXPRESSION) || program->stmts.items[write].kind != VY_STMT_STORE)
        return 0;
    const vy_expr *load = &program->exprs.items[read & ~VY_SITE_EXPRESSION];
    return load->kind == VY_EXPR_LOAD && vy_expr_equal(program, load->b, program->stmts.items[write].a);
}

/* The fix names a barrier only where it orders the two accesses, and an atomic only where the memory supports it. */
static const char *repair(const present *now, const vy_access *before, char text[256]) {
    const vyre_program *program = now->run->program;
    verb_class one = class_of(now->run, now->access->site), two = class_of(now->run, before->site);
    int here = is_here(now, before), has_atomics = vy_memory_has_atomics(program, now->memory);
    const char *barrier = here ? "`barrier`" : "`grid_barrier`", *name = vy_memory_name(program, now->memory);
    const char *only =
        here ? "one invocation: `if local_index == 0 { … }`" : "one workgroup: `if group_id.x == 0 { … }`";
    char atomic[128] = "";

    if (has_atomics)
        snprintf(atomic, sizeof atomic, ", or use an atomic, such as `atomic_add(%.60s[i], v)`", name);
    if (one == ATOMIC && two == ATOMIC)
        return vy_fix_format(text, 256, "use device scope for both: remove `workgroup` from the `< >` of the atomics");
    if (one == ATOMIC || two == ATOMIC) {
        int reads = one == READS || two == READS;
        return vy_fix_format(text, 256, "use `%s` for the %s, or add a %s between the two accesses",
                             reads ? "atomic_load" : "atomic_store", reads ? "read" : "write", barrier);
    }
    if (one == WRITES && two == WRITES && is_inseparable(program, now->access->site, before->site))
        return vy_fix_format(text, 256, "write the element from %s%s%s", only, atomic,
                             here && is_in_loop(program, now->access->site)
                                 ? ", or add a `barrier` after each iteration of the loop"
                                 : "");
    if (one != two && is_on_one_line(program, now->access->site, before->site)) {
        uint32_t read = one == READS ? now->access->site : before->site;
        uint32_t write = one == READS ? before->site : now->access->site;
        if (is_update(program, read, write))
            return vy_fix_format(text, 256, "update the element from %s%s", only, atomic);
        return vy_fix_format(text, 256,
                             "load into a variable first, then add a %s that every invocation of the %s reaches, and "
                             "store after it",
                             barrier, here ? "workgroup" : "grid");
    }
    return vy_fix_format(text, 256, "add a %s between the two accesses, where every invocation of the %s reaches it",
                         barrier, here ? "workgroup" : "grid");
}

static void report(const present *now, const vy_access *before) {
    const vy_run *run = now->run;
    const vyre_program *program = run->program;
    vy_diag_code code = is_here(now, before) ? VY_R001 : VY_R002;
    if (!vy_shadow_is_new(run, (uint32_t)code, before->site, now->access->site, now->memory, now->element))
        return;
    char first[128], second[128], fix[256], line[32] = "";
    vy_position at = vy_site_position(program, before->site);
    if (at.line)
        snprintf(line, sizeof line, " at line %" PRIu32, at.line);
    const char *name = vy_memory_name(program, now->memory);
    vy_diagnostic_add(
        run->diagnostics, program->source, vy_diag_code_name(code), VYRE_SEVERITY_ERROR,
        vy_site_position(program, now->access->site), repair(now, before, fix),
        "`%s[%" PRIu64 "]`: the %s by %s races with the %s%s by %s: nothing orders the two", name, now->element,
        verb(run, now->access->site), vy_invocation_text(run, now->access->invocation - 1, first, sizeof first),
        verb(run, before->site), line, vy_invocation_text(run, before->invocation - 1, second, sizeof second));
}

/* ---- three accesses of each kind ---- */

static void remember_three(const present *now, vy_access *kept) {
    vy_access *latest = &kept[VY_KEPT_LATEST], *beside = &kept[VY_KEPT_BESIDE], *elsewhere = &kept[VY_KEPT_ELSEWHERE];
    if (!is_here(now, latest)) {
        *beside = *elsewhere;
        *elsewhere = *latest;
    } else if (latest->invocation != now->access->invocation) {
        *beside = *latest;
    }
    *latest = *now->access;
}

/* Stops at the first finding. Returns 1 if there is one. */
static int compare(const present *now, const vy_access *kept, uint32_t count, int only_elsewhere) {
    for (uint32_t i = 0; i < count; i++) {
        if ((only_elsewhere && is_here(now, &kept[i])) || is_ordered(now, &kept[i]))
            continue;
        report(now, &kept[i]);
        return 1;
    }
    return 0;
}

/* ---- histories: the last access of every invocation ---- */

/* A hash table by invocation, with linear probing; at most three quarters full. */
struct vy_access_set {
    uint32_t count, capacity; /* a power of two */
    int has_many_groups;      /* it and the latest access are from different workgroups */
    vy_access slots[];
};
enum { MIN_CAPACITY = 8 };

static size_t set_bytes(uint32_t capacity) {
    return sizeof(vy_access_set) + capacity * sizeof(vy_access);
}

static vy_access *find_slot(vy_access_set *set, uint64_t invocation) {
    uint32_t at = (uint32_t)(invocation * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (set->capacity - 1);
    while (set->slots[at].invocation && set->slots[at].invocation != invocation)
        at = (at + 1) & (set->capacity - 1);
    return &set->slots[at];
}

static void free_set(vy_vector_clocks *clocks, vy_access_set **set) {
    if (!*set)
        return;
    clocks->allowance.left += set_bytes((*set)->capacity);
    vy_release(*set, set_bytes((*set)->capacity));
    *set = NULL;
}

/* Makes room for one more. If memory is exhausted, returns 0 and sets the status of the allowance. */
static int grow_set(vy_vector_clocks *clocks, vy_access_set **set) {
    vy_access_set *old = *set;
    if (old && old->count < old->capacity / 4 * 3)
        return 1;
    uint64_t capacity = old ? (uint64_t)old->capacity * 2 : MIN_CAPACITY;
    if (capacity > UINT32_MAX || set_bytes((uint32_t)capacity) > clocks->allowance.left) {
        clocks->allowance.status = VYRE_LIMIT;
        return 0;
    }
    vy_access_set *grown = vy_allocate_zero(set_bytes((uint32_t)capacity));
    if (!grown) {
        clocks->allowance.status = VYRE_NO_MEMORY;
        return 0;
    }
    clocks->allowance.left -= set_bytes((uint32_t)capacity);
    grown->capacity = (uint32_t)capacity;
    for (uint32_t i = 0; old && i < old->capacity; i++)
        if (old->slots[i].invocation)
            *find_slot(grown, old->slots[i].invocation) = old->slots[i];
    if (old) {
        grown->count = old->count;
        grown->has_many_groups = old->has_many_groups;
    }
    free_set(clocks, set);
    *set = grown;
    return 1;
}

/* Whether a barrier orders every access of the history before this one. */
static int is_after_barrier(const present *now, const vy_access_history *history) {
    const vy_access *latest = &history->latest;
    if (latest->grid_epoch < now->access->grid_epoch)
        return 1;
    return latest->epoch < now->access->epoch && is_here(now, latest) &&
           !(history->others && history->others->has_many_groups);
}

static void remember(const present *now, vy_access_history *history, vy_access_kind kind) {
    vy_vector_clocks *clocks = &now->run->check->clocks;
    vy_access *latest = &history->latest;
    int is_beside = is_here(now, latest), keeps = latest->invocation != now->access->invocation;
    if (is_after_barrier(now, history)) {
        free_set(clocks, &history->others);
    } else if (keeps && !(is_ordered(now, latest) && (is_beside || !conflicts[kind].elsewhere))) {
        if (!grow_set(clocks, &history->others))
            return;
        vy_access *slot = find_slot(history->others, latest->invocation);
        history->others->count += slot->invocation == 0;
        *slot = *latest;
    }
    if (history->others && !is_beside)
        history->others->has_many_groups = 1;
    *latest = *now->access;
}

static int compare_history(const present *now, const vy_access_history *history, int only_elsewhere) {
    const vy_access_set *others = history->others;
    if (compare(now, &history->latest, 1, only_elsewhere))
        return 1;
    return others && !is_after_barrier(now, history) && compare(now, others->slots, others->capacity, only_elsewhere);
}

static void forget(const present *now, vy_memory_shadow *shadow) {
    for (unsigned left = shadow->kinds & ~BIT(WRITE); left; left &= left - 1) {
        vy_access_history *history = &shadow->kept[__builtin_ctz(left)].histories[now->element];
        free_set(&now->run->check->clocks, &history->others);
        history->latest.invocation = 0;
    }
}

/* ---- checking an access ---- */

size_t vy_race_bytes(const vyre_oracle *oracle, vy_access_kind kind) {
    if (kind == VY_ACCESS_WRITE)
        return sizeof(vy_access);
    return oracle->orders ? sizeof(vy_access_history) : VY_KEPT_COUNT * sizeof(vy_access);
}

void vy_race_free(const vy_run *run, vy_memory_shadow *shadow, uint64_t count) {
    for (unsigned left = run->oracle->orders ? shadow->kinds & ~BIT(WRITE) : 0; left; left &= left - 1)
        for (uint64_t i = 0; i < count; i++)
            free_set(&run->check->clocks, &shadow->kept[__builtin_ctz(left)].histories[i].others);
}

void vy_race_access(vy_run *run, const vy_group *group, vy_memory_shadow *shadow, const vy_access *access,
                    uint32_t memory, uint64_t element, vy_access_kind kind) {
    const present now = {run, access, group->index, group->index * run->launch->group_size + 1, memory, element};
    int has_histories = run->oracle->orders;
    unsigned anywhere = conflicts[kind].anywhere & shadow->kinds, elsewhere = conflicts[kind].elsewhere & shadow->kinds;
    for (unsigned left = anywhere | elsewhere; left; left &= left - 1) {
        int other = __builtin_ctz(left), only_elsewhere = !(anywhere >> other & 1);
        if (other == VY_ACCESS_WRITE)
            compare(&now, &shadow->kept[other].writes[element], 1, only_elsewhere);
        else if (has_histories)
            compare_history(&now, &shadow->kept[other].histories[element], only_elsewhere);
        else
            compare(&now, shadow->kept[other].three[element], VY_KEPT_COUNT, only_elsewhere);
    }
    if (!(shadow->kinds >> kind & 1))
        return;
    if (kind == VY_ACCESS_WRITE) {
        shadow->kept[kind].writes[element] = *access;
        if (has_histories)
            forget(&now, shadow);
    } else if (has_histories) {
        remember(&now, &shadow->kept[kind].histories[element], kind);
    } else {
        remember_three(&now, shadow->kept[kind].three[element]);
    }
}
