/* What the log sink receives about dialects (registry.h): every change of a snapshot, and every conflict. */
#include "base/log.h"
#include "base/status.h"
#include "dialect/registry.h"

#include <inttypes.h>
#include <stdio.h>

enum { WARNING = 1, INFO = 2 };

static const char source[] = "dialects";

static void log_added(const vyre_dialect *dialect, uint64_t generation) {
    vy_log(INFO, source,
           VY_FIX("added `%.100s` %.32s of `%.80s` (generation %" PRIu64 ")", dialect->name, dialect->version,
                  dialect->owner, generation));
}

static void log_removed(const vyre_dialect *dialect, uint64_t generation) {
    vy_log(INFO, source,
           VY_FIX("removed `%.100s` %.32s of `%.80s` (generation %" PRIu64 ")", dialect->name, dialect->version,
                  dialect->owner, generation));
}

static void log_replaced(const vyre_dialect *before, const vyre_dialect *after, uint64_t generation) {
    vy_log(INFO, source,
           VY_FIX("replaced `%.80s` %.32s by %.32s of `%.64s` (generation %" PRIu64 ")", after->name, before->version,
                  after->version, after->owner, generation));
}

/* Ops that joined or left dialects that stay: extern ops of modules. */
static void log_ops(const vyre_snapshot *before, const vyre_snapshot *after) {
    vy_log(INFO, source,
           VY_FIX("the number of ops changed from %" PRIu32 " to %" PRIu32 " (generation %" PRIu64 ")",
                  before->op_count, after->op_count, after->generation));
}

/* Both lists are sorted by name, and share the dialects that did not change. */
static void log_changes(const vyre_snapshot *before, const vyre_snapshot *after) {
    uint32_t a = 0, b = 0, lines = 0;
    while (a < before->dialect_count || b < after->dialect_count) {
        const vy_dialect *old = a < before->dialect_count ? before->dialects[a] : NULL;
        const vy_dialect *new = b < after->dialect_count ? after->dialects[b] : NULL;
        int order = !old ? 1 : !new ? -1 : strcmp(old->dialect.name, new->dialect.name);
        lines += old != new;
        if (order < 0)
            log_removed(&old->dialect, after->generation);
        else if (order > 0)
            log_added(&new->dialect, after->generation);
        else if (old != new)
            log_replaced(&old->dialect, &new->dialect, after->generation);
        a += order <= 0;
        b += order >= 0;
    }
    if (!lines)
        log_ops(before, after);
}

void vy_dialects_log_swap(vy_dialects_swap *swap) {
    if (swap->after.snapshot && vy_log_is_on())
        log_changes(swap->before.snapshot, swap->after.snapshot);
    vyre_dialects_release(&swap->before);
    vyre_dialects_release(&swap->after);
}

vyre_status vy_dialects_log_conflict(vyre_status status, const vyre_error *error) {
    if (status == VYRE_CONFLICT || status == VYRE_DUPLICATE)
        vy_log(WARNING, source, error->message);
    return status;
}

void vy_dialects_log_refusal(vyre_status status, const vyre_error *error) {
    char line[sizeof error->message + 16];
    if (status == VYRE_OK)
        return;
    snprintf(line, sizeof line, "not loaded: %s", error->message);
    vy_log(WARNING, source, line);
}
