/* The race checker: compares an access with what the shadow remembers of the element.
 *
 * Writes: the last one is enough. If it is ordered before the access, so is every earlier one, or a race was reported already.
 *
 * Reads, and atomics, do not order each other, so several may be unordered with a later write. Three are kept (vy_accesses). A later access
 * by an invocation of another workgroup than `latest`'s conflicts with `latest`; one of the same workgroup conflicts with `elsewhere`, if
 * there is one, or in the same epoch with `latest` or `beside`, whichever is not its own. What is forgotten when workgroups interleave can
 * only hide a conflict beside one that is still seen; nothing is ever invented. */
#include "oracle/check.h"

#include "ir/codes.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t group_of(const vy_run *run, const vy_access *access) {
    return (access->invocation - 1) / run->launch->group_size;
}

static int is_ordered(vy_run *run, const vy_access *before, const vy_access *now) {
    if (before->invocation == 0 || before->invocation == now->invocation || before->grid_epoch < now->grid_epoch)
        return 1;
    uint64_t group = group_of(run, now), other = group_of(run, before);
    if (group == other && before->epoch < now->epoch)
        return 1;
    return run->oracle->orders && vy_clocks_knows(&run->check->clocks, now->invocation - 1, group,
                                                  before->invocation - 1, other, before->time, before->epoch);
}

/* ---- what the statement at a site does ---- */

static const vy_stmt *atomic_at(const vy_run *run, uint32_t site) {
    const vy_stmt *stmt = site & VY_SITE_EXPRESSION ? NULL : &run->program->stmts.items[site];
    return stmt && stmt->kind == VY_STMT_ATOMIC ? stmt : NULL;
}

static int only_reads(const vy_run *run, uint32_t site) {
    const vy_stmt *atomic = atomic_at(run, site);
    return atomic ? atomic->op == VYRE_ATOMIC_LOAD : (site & VY_SITE_EXPRESSION) != 0;
}

static const char *verb(const vy_run *run, uint32_t site) {
    const vy_stmt *atomic = atomic_at(run, site);
    if (atomic)
        return vyre_atomic_name((vyre_atomic)atomic->op);
    return site & VY_SITE_EXPRESSION ? "read" : "write";
}

/* ---- reporting ---- */

static void report(vy_run *run, const vy_access *before, const vy_access *now, uint32_t memory, uint64_t element) {
    const vyre_program *program = run->program;
    vy_code code = group_of(run, before) == group_of(run, now) ? VY_R001 : VY_R002;
    if (!vy_check_is_new(run->check, (uint32_t)code, before->site, now->site))
        return;
    char first[128], second[128], line[32] = "";
    vy_position at = vy_site_position(program, before->site);
    if (at.line)
        snprintf(line, sizeof line, " at line %" PRIu32, at.line);
    const char *name =
        vy_name_text(program, program->memories.items[vy_program_entry(program)->first_memory + memory].name);
    vy_diagnostic_add(run->diagnostics, program->source, vy_code_name(code), VYRE_SEVERITY_ERROR,
                      vy_site_position(program, now->site), vy_code_fix(code),
                      "`%s[%" PRIu64 "]`: the %s by %s races with the %s%s by %s: nothing orders the two", name,
                      element, verb(run, now->site), vy_invocation_text(run, now->invocation - 1, first, sizeof first),
                      verb(run, before->site), line,
                      vy_invocation_text(run, before->invocation - 1, second, sizeof second));
}

/* ---- the three that are kept ---- */

static void remember(const vy_run *run, vy_accesses *kept, const vy_access *now) {
    vy_access *latest = &kept->latest;
    if (latest->invocation == 0 || latest->grid_epoch < now->grid_epoch) {
        *kept = (vy_accesses){.latest = *now};
        return;
    }
    uint64_t group = group_of(run, now);
    if (group_of(run, latest) != group) {
        vy_access *elsewhere = &kept->elsewhere;
        int was_here = elsewhere->invocation && group_of(run, elsewhere) == group && elsewhere->epoch == now->epoch &&
                       elsewhere->invocation != now->invocation;
        kept->beside = was_here ? *elsewhere : (vy_access){0};
        kept->elsewhere = *latest;
    } else if (latest->epoch != now->epoch) {
        kept->beside = (vy_access){0};
    } else if (latest->invocation != now->invocation) {
        kept->beside = *latest;
    }
    *latest = *now;
}

typedef int conflict_rule(vy_run *run, const vy_access *before, const vy_access *now);

static void compare(vy_run *run, const vy_accesses *kept, const vy_access *now, uint32_t memory, uint64_t element,
                    conflict_rule *conflicts) {
    const vy_access *const each[3] = {&kept->latest, &kept->elsewhere, &kept->beside};
    for (int i = 0; i < 3; i++) {
        if (!is_ordered(run, each[i], now) && conflicts(run, each[i], now)) {
            report(run, each[i], now, memory, element);
            return;
        }
    }
}

static int always(vy_run *run, const vy_access *before, const vy_access *now) {
    (void)run, (void)before, (void)now;
    return 1;
}

static int one_writes(vy_run *run, const vy_access *before, const vy_access *now) {
    return !only_reads(run, before->site) || !only_reads(run, now->site);
}

/* Atomics do not race with each other, unless one of them is not meant for the other's workgroup. */
static int out_of_scope(vy_run *run, const vy_access *before, const vy_access *now) {
    const vy_stmt *a = atomic_at(run, before->site), *b = atomic_at(run, now->site);
    return one_writes(run, before, now) && group_of(run, before) != group_of(run, now) && a && b &&
           (a->scope == VYRE_SCOPE_WORKGROUP || b->scope == VYRE_SCOPE_WORKGROUP);
}

void vy_race_access(vy_run *run, vy_shadow *shadow, const vy_access *now, uint32_t memory, uint64_t element,
                    vy_access_kind kind) {
    if (shadow->writes && !is_ordered(run, &shadow->writes[element], now))
        report(run, &shadow->writes[element], now, memory, element);
    if (shadow->reads && kind != VY_ACCESS_READ)
        compare(run, &shadow->reads[element], now, memory, element, one_writes);
    if (shadow->atomics)
        compare(run, &shadow->atomics[element], now, memory, element,
                kind == VY_ACCESS_ATOMIC  ? out_of_scope
                : kind == VY_ACCESS_WRITE ? always
                                          : one_writes);
    if (kind == VY_ACCESS_WRITE && shadow->writes)
        shadow->writes[element] = *now;
    else if (kind == VY_ACCESS_READ && shadow->reads)
        remember(run, &shadow->reads[element], now);
    else if (kind == VY_ACCESS_ATOMIC && shadow->atomics)
        remember(run, &shadow->atomics[element], now);
}
