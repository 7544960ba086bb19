/* Whether a file is whole.
 *
 * That somebody has a file open for writing is known only by being told that it was written to, and not that it was closed. Bytes can be read
 * before anybody is told of them, for as long as their writer does not get to run: milliseconds, on a busy machine. So silence is no word for a
 * file, unless it lasts. What must stay true:
 *  - Against a file speaks that it is open, and that it was written to while it was read. Nothing outweighs that.
 *  - For a file speaks that it was told to be whole, and was not changed since (its time). If nobody told anything (it was there before it was
 *    watched; nobody tells; events were lost; it was linked there), it has to be as it is for a while, by its own time or from look to look: times
 *    of files may lie.
 *  - A manifest is as good as the worst of its files.
 *  - No manifest is held for ever. */
#include "dialect/hold.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"

#include <stdlib.h>
#include <sys/stat.h>

/* There are file systems whose times count in steps of two seconds. */
#define STEP_NS ((int64_t)2000000000)

typedef enum verdict { WHOLE, DOUBTFUL, WRITTEN } verdict;

static int is_written(const vy_notify_trace *trace) {
    return trace && (trace->is_open || trace->is_touched);
}

/* *print changes whenever the file does. */
static verdict judge_file(const vy_hold_terms *terms, const vy_entry *entry, const char *path,
                          const vy_file_state *state, uint64_t *print) {
    char real[PATH_MAX];
    struct stat about;
    const vy_notify_trace *trace = vy_notify_trace_of(terms->notify, path);
    if (is_written(trace))
        return WRITTEN;
    if (state->status == VYRE_NOT_FOUND || !vy_entry_resolve(entry, path, real) || stat(real, &about) != 0)
        return WHOLE; /* nothing is not half of anything */
    if (strcmp(real, path) != 0)
        trace = vy_notify_trace_of(terms->notify, real);
    if (is_written(trace))
        return WRITTEN;
    int64_t time = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
    const uint64_t found[] = {*print, state->hash, state->size, (uint64_t)time};
    *print = vy_hash(found, sizeof found);
    if (trace && trace->whole && time <= trace->whole)
        return WHOLE;
    int is_old = terms->is_timed && vy_clock_wall() - time >= terms->settle * 1000000 + STEP_NS;
    return is_old ? WHOLE : DOUBTFUL;
}

static verdict judge(const vy_hold_terms *terms, const vy_entry *entry, uint64_t *print) {
    char path[PATH_MAX];
    verdict worst = judge_file(terms, entry, entry->path, &entry->state, print);
    for (uint32_t i = 0; i < entry->inputs.count && worst != WRITTEN; i++)
        if (vy_entry_input_path(entry, i, path)) {
            verdict next = judge_file(terms, entry, path, &entry->inputs.items[i].state, print);
            worst = next > worst ? next : worst;
        }
    return worst;
}

static void report_late(vy_folders *folders, const vy_entry *entry, vyre_diagnostics *list) {
    vyre_error why;
    vy_fail(&why, VYRE_LIMIT, "close the file, or write another one and rename it over this one",
            "`%.200s` is being written for too long (more than %d seconds), and is read as it is", entry->shown,
            VY_HOLD_LIMIT_MS / 1000);
    vy_folders_report(folders, entry->shown, VY_D124, &why, list);
}

/* Whether the entry is to be held, from now or still. */
static int is_to_wait(vy_folders *folders, vy_entry *entry, const vy_hold_terms *terms, vyre_diagnostics *list) {
    vy_hold *hold = &entry->hold;
    uint64_t print = 0;
    verdict verdict = judge(terms, entry, &print);
    if (verdict == WHOLE)
        return 0;
    if (!hold->since)
        hold->since = terms->now;
    if (!hold->same || hold->print != print)
        hold->same = terms->now;
    hold->print = print;
    if (verdict == DOUBTFUL && terms->now - hold->same >= terms->settle)
        return 0;
    if (terms->now - hold->since >= VY_HOLD_LIMIT_MS) {
        report_late(folders, entry, list);
        return 0;
    }
    hold->until = hold->since + VY_HOLD_LIMIT_MS;
    if (verdict == DOUBTFUL && hold->same + terms->settle < hold->until)
        hold->until = hold->same + terms->settle;
    return 1;
}

void vy_hold_begin(vy_folders *folders) {
    for (uint32_t i = 0; i < folders->entries.count; i++)
        folders->entries.items[i].hold.is_held = 0;
}

size_t vy_hold_scanned(vy_folders *folders, const vy_hold_terms *terms, vyre_diagnostics *list) {
    size_t held = 0;
    for (uint32_t i = 0; i < folders->entries.count; i++) {
        vy_entry *entry = &folders->entries.items[i];
        if (entry->is_fresh && entry->is_there && is_to_wait(folders, entry, terms, list)) {
            vy_entry_put_back(entry);
            entry->hold.is_held = 1;
            held++;
        }
    }
    return held;
}

int64_t vy_hold_next(const vy_folders *folders) {
    int64_t until = -1;
    for (uint32_t i = 0; i < folders->entries.count; i++) {
        const vy_hold *hold = &folders->entries.items[i].hold;
        if (hold->is_held && (until < 0 || hold->until < until))
            until = hold->until;
    }
    return until;
}

void vy_hold_end(vy_folders *folders) {
    for (uint32_t i = 0; i < folders->entries.count; i++)
        if (!folders->entries.items[i].hold.is_held)
            folders->entries.items[i].hold = (vy_hold){0};
}
