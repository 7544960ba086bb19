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
#include "dialect/write_quiesce.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"

#include <stdlib.h>
#include <sys/stat.h>

/* There are file systems whose times count in steps of two seconds. */
#define MTIME_GRANULARITY_NS ((int64_t)2000000000)

typedef enum stability { STABLE, UNCERTAIN, BEING_WRITTEN } stability;

static int is_being_written(const vy_inotify_trace *trace) {
    return trace && (trace->is_open || trace->is_modified);
}

/* *content_hash changes whenever the file does. */
static stability classify_file(const vy_quiesce_options *terms, const vy_manifest_entry *entry, const char *path,
                               const vy_file_state *state, uint64_t *content_hash) {
    char real[PATH_MAX];
    struct stat about;
    const vy_inotify_trace *trace = vy_inotify_find_trace(terms->notify, path);
    if (is_being_written(trace))
        return BEING_WRITTEN;
    if (state->status == VYRE_NOT_FOUND || !vy_manifest_entry_resolve(entry, path, real) || stat(real, &about) != 0)
        return STABLE; /* nothing is not half of anything */
    if (strcmp(real, path) != 0)
        trace = vy_inotify_find_trace(terms->notify, real);
    if (is_being_written(trace))
        return BEING_WRITTEN;
    int64_t time = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
    const uint64_t found[] = {*content_hash, state->hash, state->size, (uint64_t)time};
    *content_hash = vy_hash(found, sizeof found);
    if (trace && trace->whole && time <= trace->whole)
        return STABLE;
    int is_old = terms->trusts_mtime && vy_clock_wall() - time >= terms->quiesce * 1000000 + MTIME_GRANULARITY_NS;
    return is_old ? STABLE : UNCERTAIN;
}

static stability classify_entry(const vy_quiesce_options *terms, const vy_manifest_entry *entry,
                                uint64_t *content_hash) {
    char path[PATH_MAX];
    stability worst = classify_file(terms, entry, entry->path, &entry->state, content_hash);
    for (uint32_t i = 0; i < entry->inputs.count && worst != BEING_WRITTEN; i++)
        if (vy_manifest_entry_input_path(entry, i, path)) {
            stability next = classify_file(terms, entry, path, &entry->inputs.items[i].state, content_hash);
            worst = next > worst ? next : worst;
        }
    return worst;
}

static void report_write_timeout(vy_manifest_dirs *folders, const vy_manifest_entry *entry, vyre_diagnostics *list) {
    vyre_error why;
    vy_fail(&why, VYRE_LIMIT, "close the file, or write another one and rename it over this one",
            "`%.200s` is being written for too long (more than %d seconds), and is read as it is", entry->shown,
            VY_QUIESCE_LIMIT_MS / 1000);
    vy_manifest_dirs_report(folders, entry->shown, VY_D124, &why, list);
}

/* Whether the entry is to be held, from now or still. */
static int must_defer(vy_manifest_dirs *folders, vy_manifest_entry *entry, const vy_quiesce_options *terms,
                      vyre_diagnostics *list) {
    vy_quiesce_state *write_quiesce = &entry->write_quiesce;
    uint64_t content_hash = 0;
    stability stability = classify_entry(terms, entry, &content_hash);
    if (stability == STABLE)
        return 0;
    if (!write_quiesce->since)
        write_quiesce->since = terms->now;
    if (!write_quiesce->same || write_quiesce->content_hash != content_hash)
        write_quiesce->same = terms->now;
    write_quiesce->content_hash = content_hash;
    if (stability == UNCERTAIN && terms->now - write_quiesce->same >= terms->quiesce)
        return 0;
    if (terms->now - write_quiesce->since >= VY_QUIESCE_LIMIT_MS) {
        report_write_timeout(folders, entry, list);
        return 0;
    }
    write_quiesce->until = write_quiesce->since + VY_QUIESCE_LIMIT_MS;
    if (stability == UNCERTAIN && write_quiesce->same + terms->quiesce < write_quiesce->until)
        write_quiesce->until = write_quiesce->same + terms->quiesce;
    return 1;
}

void vy_quiesce_begin(vy_manifest_dirs *folders) {
    for (uint32_t i = 0; i < folders->entries.count; i++)
        folders->entries.items[i].write_quiesce.is_deferred = 0;
}

size_t vy_quiesce_defer_unstable(vy_manifest_dirs *folders, const vy_quiesce_options *terms, vyre_diagnostics *list) {
    size_t held = 0;
    for (uint32_t i = 0; i < folders->entries.count; i++) {
        vy_manifest_entry *entry = &folders->entries.items[i];
        if (entry->is_uncommitted && entry->is_present && must_defer(folders, entry, terms, list)) {
            vy_manifest_entry_discard(entry);
            entry->write_quiesce.is_deferred = 1;
            held++;
        }
    }
    return held;
}

int64_t vy_quiesce_next_deadline(const vy_manifest_dirs *folders) {
    int64_t until = -1;
    for (uint32_t i = 0; i < folders->entries.count; i++) {
        const vy_quiesce_state *write_quiesce = &folders->entries.items[i].write_quiesce;
        if (write_quiesce->is_deferred && (until < 0 || write_quiesce->until < until))
            until = write_quiesce->until;
    }
    return until;
}

void vy_quiesce_end(vy_manifest_dirs *folders) {
    for (uint32_t i = 0; i < folders->entries.count; i++)
        if (!folders->entries.items[i].write_quiesce.is_deferred)
            folders->entries.items[i].write_quiesce = (vy_quiesce_state){0};
}
