/* The list of violations, and divergence (violation.h). */
#include "oracle/violation.h"

#include "ir/diagnostic_codes.h"
#include "oracle/shadow_memory.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the list ---- */

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

/* The lowest-numbered lane of the workgroup that is, or is not, at the instruction; UINT64_MAX if there is none. */
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
    /* The group has stepped past the barrier already. */
    vy_violation_keep(run, &(vy_violation){.code = VY_R006,
                                           .site = run->oracle->code.items[waiting->warps[0].pc - 1].site,
                                           .invocation = waiting->index * size,
                                           .missing = ended->index * size});
}

/* ---- words ---- */

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
                 "%s accesses %" PRIu64 " elements at once at `%s![%" PRIu64 "]`, which starts %" PRIu64
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
        /* In the order of the program, whatever the threads did: the next place not yet delivered. */
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
        /* What a transform made has no place in a text. */
        if (!at.line && run->oracle->is_legal)
            snprintf(line, sizeof line, " (%s %" PRIu32 ")",
                     found.site & VY_SITE_EXPRESSION ? "expression" : "statement", found.site & ~VY_SITE_EXPRESSION);
        vy_diagnostic_add(run->diagnostics, program->source, vy_diag_code_name((vy_diag_code)found.code),
                          VYRE_SEVERITY_ERROR, at, vy_diag_code_fix((vy_diag_code)found.code), "%s%s", text, line);
    }
}
