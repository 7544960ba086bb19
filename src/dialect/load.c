/* Loader: installs batches of manifests, among them the standard library, in the registry, atomically.
 *
 * Invariants:
 *  - A snapshot is installed only if every manifest of the batch that is in it finds its requirements in that snapshot,
 *    and if all laws hold there that its ops declare or that depend on it.
 *  - A lenient batch is retried without the refused changes. Each try except the last refuses at least one more change,
 *    so there are at most as many tries as changes, plus one. */
#include "dialect/load.h"

#include "base/status.h"
#include "base/thread.h"
#include "dialect/law_check.h"
#include "dialect/lowering_code.h"
#include "dialect/manifest.h"
#include "dialect/manifest_dir.h"
#include "dialect/registry.h"
#include "ir/diagnostic_codes.h"
#include "ir/identifiers.h"
#include "ir/model.h"
#include "vyre/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef struct batch {
    vy_load_item *items;
    size_t count;
    vy_diag_sink report; /* all findings, of all tries */
    size_t refused;      /* in this try */
    vyre_status status;  /* of the first finding */
    vyre_error first;    /* the first finding, as an error */
    int is_lenient;
    const vy_lowering_checker *checker; /* of code for c and ptx; NULL: it is not checked now */
} batch;

/* ---- diagnostics ---- */

/* Reports at a position of a manifest. */
static void found(batch *batch, const vy_manifest *manifest, vy_diag_code code, vy_position at,
                  const vyre_error *error) {
    if (batch->status == VYRE_OK) {
        batch->status = error->code;
        batch->first = *error;
    }
    batch->report.source = manifest->source;
    vy_diag_sink_error(&batch->report, code, at, error->fix, "%s", error->message);
}

/* Sets the error of the batch: the first finding, with its position. */
static void fill_error(const batch *batch, vyre_error *error) {
    (void)vy_diag_sink_status(&batch->report, error);
    if (error)
        error->code = batch->status;
    (void)vy_fail_parts(error, batch->first.subject, batch->first.first, batch->first.second);
}

static void refuse(batch *batch, vy_load_item *item) {
    batch->refused += !item->is_refused;
    item->is_refused = 1;
}

/* The manifest of the item that will be in the snapshot if nothing else is refused; NULL if none is known. */
static const vy_manifest *installed_manifest(const vy_load_item *item) {
    if (item->change == VY_LOAD_KEEP || item->is_refused)
        return item->before;
    return item->change == VY_LOAD_REPLACE ? item->next : NULL;
}

vyre_status vy_load_parse(const char *file, const char *text, size_t size, vy_manifest_read_file *read, void *user,
                          vyre_diagnostics *list, vy_manifest **out, vyre_error *error) {
    vyre_dialects_guard guard;
    const vyre_snapshot *all;
    *out = NULL;
    vyre_status status = vyre_dialects_global(&guard, error);
    if (status == VYRE_OK)
        status = vy_snapshot_complete(guard.snapshot, &all, error);
    vyre_dialects_release(&guard);
    if (status != VYRE_OK)
        return status;
    return vy_manifest_parse(file, text, size, read, user, list, out, error);
}

/* ---- applying changes ---- */

vyre_status vy_load_register(vyre_dialect_builder *builder, const vy_manifest *manifest, const char *owner,
                             vyre_error *error) {
    vyre_dialect dialect = manifest->dialect;
    const vyre_op_definition **ops = vy_allocate(vy_array_size(manifest->op_count, sizeof *ops));
    if (!ops && manifest->op_count)
        return vy_fail_memory(error, "the list of ops");
    for (uint32_t i = 0; i < manifest->op_count; i++)
        ops[i] = &manifest->ops[i].definition;
    dialect.owner = owner;
    vyre_status status = vy_builder_replace(builder, &dialect, ops, manifest->op_count, error);
    vy_release(ops, vy_array_size(manifest->op_count, sizeof *ops));
    return status;
}

/* Removes the dialects of the owner, except the one of that name. */
static vyre_status remove_owner_dialects(vyre_dialect_builder *builder, const char *owner, const char *but,
                                         vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < builder->dialects.count && status == VYRE_OK;) {
        const vyre_dialect *dialect = &builder->dialects.items[i]->dialect;
        if (strcmp(dialect->owner, owner) != 0 || (but && strcmp(dialect->name, but) == 0))
            i++;
        else /* it will be replaced */
            status = vy_builder_remove(builder, dialect->name, owner, error);
    }
    return status;
}

/* Removals come first, so that two files can exchange their dialects. */
static vyre_status apply_changes(batch *batch, vyre_dialect_builder *builder, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < batch->count && status == VYRE_OK; i++) {
        const vy_load_item *item = &batch->items[i];
        if (item->change != VY_LOAD_KEEP && !item->is_refused)
            status = remove_owner_dialects(builder, item->owner,
                                           item->change == VY_LOAD_REPLACE ? item->next->dialect.name : NULL, error);
    }
    for (size_t i = 0; i < batch->count && status == VYRE_OK; i++) {
        vy_load_item *item = &batch->items[i];
        if (item->change != VY_LOAD_REPLACE || item->is_refused)
            continue;
        vyre_error why;
        status = vy_load_register(builder, item->next, item->owner, &why);
        if (status == VYRE_NO_MEMORY)
            return vy_fail_memory(error, "loading a manifest");
        if (status != VYRE_OK) {
            found(batch, item->next, VY_D120, item->next->at, &why);
            refuse(batch, item);
        }
        status = VYRE_OK;
    }
    return status;
}

/* ---- requirements ---- */

static int is_satisfied(const vyre_dialect_builder *builder, const vy_manifest_requirement *wanted, vyre_error *why) {
    const vy_dialect *there = vy_builder_dialect(builder, wanted->dialect);
    const char *version = there ? there->dialect.version : "";
    if (!there)
        vy_fail(why, VYRE_NOT_FOUND,
                VY_FIX("load the manifest of `%.128s` before this one or with it", wanted->dialect),
                "the dialect `%.128s` is required, but not registered", wanted->dialect);
    else if (vy_semver_compare(version, strlen(version), wanted->version, strlen(wanted->version)) < 0)
        vy_fail(why, VYRE_CONFLICT,
                VY_FIX("load a newer `%.128s`, or require no more than %.64s", wanted->dialect, version),
                "the dialect `%.128s` is required in version %.64s or later (%.64s is registered)", wanted->dialect,
                wanted->version, version);
    else
        return 1;
    return 0;
}

/* Refuses the change that removed, or downgraded, a required dialect. */
static int refuse_cause(batch *batch, const char *dialect) {
    for (size_t i = 0; i < batch->count; i++) {
        vy_load_item *item = &batch->items[i];
        if (item->change == VY_LOAD_KEEP || item->is_refused || !item->before ||
            strcmp(item->before->dialect.name, dialect) != 0)
            continue;
        refuse(batch, item);
        return 1;
    }
    return 0;
}

static void check_requirements(batch *batch, const vyre_dialect_builder *builder, vy_load_item *item) {
    const vy_manifest *manifest = installed_manifest(item);
    int is_new = manifest && manifest == item->next;
    vyre_error why;
    for (uint32_t i = 0; manifest && i < manifest->requirement_count; i++) {
        const vy_manifest_requirement *wanted = &manifest->requirements[i];
        if (is_satisfied(builder, wanted, &why) || item->is_reported)
            continue;
        found(batch, manifest, VY_D119, wanted->at, &why);
        if (is_new)
            refuse(batch, item);
        else if (!refuse_cause(batch, wanted->dialect))
            item->is_reported = 1; /* no change of this batch is the cause */
    }
}

/* ---- bodies and laws in the candidate snapshot ---- */

/* Several ops share the body of their file. */
static int is_first_with_body(const vy_manifest *manifest, uint32_t index) {
    for (uint32_t i = 0; i < index; i++)
        if (manifest->ops[i].definition.body == manifest->ops[index].definition.body)
            return 0;
    return 1;
}

/* Checks that every op that a body calls is registered and fits the call, and that none is recursive. An op without a
 * body is accepted, since it may have one later. */
static vyre_status try_body(vyre_program *body, vyre_dialects_guard candidate, vyre_error *why) {
    vyre_program *resolved;
    vyre_status status = vyre_program_resolve(body, candidate, NULL, &resolved, why);
    vyre_program_release(resolved);
    return status == VYRE_UNSUPPORTED ? VYRE_OK : status;
}

static vyre_status check_body(batch *batch, vyre_dialects_guard candidate, vy_load_item *item, uint32_t index) {
    const vy_manifest_op *op = &item->next->ops[index];
    vyre_program *body = op->definition.body;
    vyre_error why;
    if (!body || !(body->facts & VY_PROGRAM_HAS_OP_CALL) || !is_first_with_body(item->next, index))
        return VYRE_OK;
    vyre_status status = try_body(body, candidate, &why);
    if (status == VYRE_OK || status == VYRE_NO_MEMORY)
        return status;
    found(batch, item->next, VY_D122, op->at, &why);
    refuse(batch, item);
    return VYRE_OK;
}

/* A law that does not hold or cannot be checked is reported at its position. */
static vyre_status check_laws(batch *batch, vyre_dialects_guard candidate, vy_load_item *item, uint32_t index) {
    const vy_manifest_op *written = &item->next->ops[index];
    const char *id = written->definition.id;
    const vyre_op_definition *op = vyre_dialects_find(candidate, id, strlen(id));
    for (uint32_t i = 0; op && i < op->law_count; i++) {
        vyre_error why;
        vyre_status status = vy_law_check(candidate, op, i, NULL, &why);
        if (status == VYRE_NO_MEMORY)
            return status;
        if (status == VYRE_OK)
            continue;
        found(batch, item->next, VY_D123, written->law_positions[i], &why);
        refuse(batch, item);
    }
    return VYRE_OK;
}

/* Code that a tool rejects, or that returns other results than the body, is reported at its position. */
static vyre_status check_code(batch *batch, vyre_dialects_guard candidate, vy_load_item *item, uint32_t index) {
    const vy_manifest_op *written = &item->next->ops[index];
    const vyre_op_definition *op =
        vyre_dialects_find(candidate, written->definition.id, strlen(written->definition.id));
    for (uint32_t i = 0; op && batch->checker && i < op->lowering_count; i++) {
        vyre_error why;
        if (!vy_lowering_has_language(vy_lowering_target(&op->lowerings[i])))
            continue;
        vyre_status status = batch->checker->check(batch->checker->user, candidate, op, &op->lowerings[i], &why);
        if (status == VYRE_NO_MEMORY)
            return status;
        if (status == VYRE_OK)
            continue;
        found(batch, item->next, VY_D127, written->lowering_positions[i], &why);
        refuse(batch, item);
    }
    return VYRE_OK;
}

static vyre_status check_item(batch *batch, vyre_dialects_guard candidate, vy_load_item *item) {
    vyre_status status = VYRE_OK;
    if (item->change != VY_LOAD_REPLACE || item->is_refused)
        return VYRE_OK;
    for (uint32_t i = 0; i < item->next->op_count && status == VYRE_OK; i++)
        status = check_body(batch, candidate, item, i);
    uint32_t can_be_asked =
        item->is_refused ? 0 : item->next->op_count; /* laws are checked only if all bodies are valid */
    for (uint32_t i = 0; i < can_be_asked && status == VYRE_OK; i++)
        status = check_laws(batch, candidate, item, i);
    for (uint32_t i = 0; i < can_be_asked && status == VYRE_OK; i++)
        status = check_code(batch, candidate, item, i);
    return status;
}

/* ---- manifests that do not change ---- */

/* Refuses the changes of this batch to the dialect of an op, and returns their number. */
static size_t refuse_changes(batch *batch, const char *id, int is_serious) {
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        vy_load_item *item = &batch->items[i];
        const char *dialect = item->before ? item->before->dialect.name : "";
        if (item->change == VY_LOAD_KEEP || item->is_refused || !*dialect ||
            !vy_op_id_after(id, vy_call_id_length(id), dialect))
            continue;
        count++;
        if (is_serious)
            refuse(batch, item);
    }
    return count;
}

/* The same for every op that a body calls. */
static size_t refuse_called(batch *batch, const vyre_program *body, int is_serious) {
    size_t count = 0;
    for (uint32_t i = 0; i < body->stmts.count; i++)
        if (body->stmts.items[i].kind == VY_STMT_CALL && body->stmts.items[i].callee == VY_NONE)
            count += refuse_changes(batch, vy_symbol_name(body, body->stmts.items[i].name), is_serious);
    return count;
}

static vyre_status check_kept_body(batch *batch, vyre_dialects_guard candidate, const vy_manifest *manifest,
                                   const vy_manifest_op *op) {
    vyre_program *body = op->definition.body;
    vyre_error why;
    if (!body || !(body->facts & VY_PROGRAM_HAS_OP_CALL) || !refuse_called(batch, body, 0))
        return VYRE_OK;
    vyre_status status = try_body(body, candidate, &why);
    if (status == VYRE_OK || status == VYRE_NO_MEMORY)
        return status;
    found(batch, manifest, VY_D122, op->at, &why);
    refuse_called(batch, body, 1);
    return VYRE_OK;
}

static vyre_status check_kept_law(batch *batch, vyre_dialects_guard candidate, const vy_manifest *manifest,
                                  const vy_manifest_op *written, uint32_t index) {
    const char *id = written->definition.id;
    const vyre_op_definition *op = vyre_dialects_find(candidate, id, strlen(id));
    const vyre_law *law = &written->definition.laws[index];
    const char *letters = vyre_law_arguments(law->kind);
    size_t concerned = 0;
    vyre_error why;
    for (uint32_t i = 0; i < law->argument_count; i++)
        concerned += letters[i] == 'o' && refuse_changes(batch, law->arguments[i].text, 0);
    vyre_status status =
        concerned && op && index < op->law_count ? vy_law_check(candidate, op, index, NULL, &why) : VYRE_OK;
    if (status == VYRE_OK || status == VYRE_NO_MEMORY)
        return status;
    found(batch, manifest, VY_D123, written->law_positions[index], &why);
    for (uint32_t i = 0; i < law->argument_count; i++)
        if (letters[i] == 'o')
            refuse_changes(batch, law->arguments[i].text, 1);
    return VYRE_OK;
}

/* An unchanged manifest may call, or declare laws about, ops of a manifest that changes. */
static vyre_status check_kept(batch *batch, vyre_dialects_guard candidate, const vy_load_item *item) {
    const vy_manifest *manifest = item->change == VY_LOAD_KEEP || item->is_refused ? item->before : NULL;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; manifest && i < manifest->op_count && status == VYRE_OK; i++) {
        const vy_manifest_op *op = &manifest->ops[i];
        status = check_kept_body(batch, candidate, manifest, op);
        for (uint32_t j = 0; j < op->definition.law_count && status == VYRE_OK; j++)
            status = check_kept_law(batch, candidate, manifest, op, j);
    }
    return status;
}

/* ---- laws of dialects outside the batch ---- */

typedef struct change_work {
    batch *batch;
    vy_load_item *item;
} change_work;

/* The change violates a law of another dialect. */
static void refuse_change(void *user, const vyre_error *why) {
    change_work *w = user;
    found(w->batch, w->item->next, VY_D123, w->item->next->at, why);
    refuse(w->batch, w->item);
}

static vyre_status check_dependents(batch *batch, vyre_dialects_guard candidate, vy_load_item *item) {
    change_work w = {batch, item};
    if (item->change != VY_LOAD_REPLACE || item->is_refused)
        return VYRE_OK;
    return vy_law_check_dependents(candidate, item->next->dialect.name, refuse_change, &w);
}

/* ---- batches ---- */

/* The checks that depend on the manifests and on the registry. */
static vyre_status check_candidate(batch *batch, vyre_dialect_builder *builder, vyre_error *error) {
    vyre_dialects_guard candidate;
    for (size_t i = 0; i < batch->count; i++)
        check_requirements(batch, builder, &batch->items[i]);
    vyre_status status = vy_law_candidate_open(builder, &candidate, error);
    if (status != VYRE_OK)
        return status;
    for (size_t i = 0; i < batch->count && status == VYRE_OK; i++)
        status = check_item(batch, candidate, &batch->items[i]);
    for (size_t i = 0; i < batch->count && status == VYRE_OK; i++)
        status = check_kept(batch, candidate, &batch->items[i]);
    /* An item that was refused may be the cause, and is absent in the next try. */
    for (size_t i = 0; i < batch->count && status == VYRE_OK && batch->refused == 0; i++)
        status = check_dependents(batch, candidate, &batch->items[i]);
    vy_law_candidate_close(&candidate);
    return status != VYRE_OK || batch->report.out_of_memory ? vy_fail_memory(error, "loading a manifest") : VYRE_OK;
}

/* One try of a batch. */
static vyre_status apply(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    batch *batch = user;
    batch->refused = 0;
    vyre_status status = apply_changes(batch, builder, error);
    /* A lenient batch is retried without the refused changes, so requirements that are missing only because of them are
     * not checked now. */
    if (status == VYRE_OK && !(batch->is_lenient && batch->refused))
        status = check_candidate(batch, builder, error);
    if (status != VYRE_OK || batch->refused == 0)
        return status;
    fill_error(batch, error);
    return batch->status;
}

static size_t count_changes(const vy_load_item *items, size_t count) {
    size_t changes = 0;
    for (size_t i = 0; i < count; i++)
        changes += items[i].change != VY_LOAD_KEEP && !items[i].is_refused;
    return changes;
}

vyre_status vy_load_strict(vy_load_item *items, size_t count, vyre_diagnostics *list, vyre_error *error) {
    batch batch = {.items = items, .count = count, .report = {.list = list}};
    vyre_error own;
    error = error ? error : &own;
    vyre_status status = count_changes(items, count) ? vyre_dialects_update(apply, &batch, error) : VYRE_OK;
    vy_dialects_log_refusal(status, error);
    return status;
}

vyre_status vy_load_lenient(vy_load_item *items, size_t count, vyre_diagnostics *list, size_t *made,
                            vyre_error *error) {
    batch batch = {.items = items, .count = count, .report = {.list = list}, .is_lenient = 1};
    vyre_status status;
    do {
        batch.refused = 0;
        *made = count_changes(items, count);
        status = *made ? vyre_dialects_update(apply, &batch, error) : VYRE_OK;
    } while (batch.refused && status != VYRE_NO_MEMORY);
    if (status != VYRE_OK)
        *made = 0;
    else if (batch.status == VYRE_OK)
        error->code = VYRE_OK;
    else
        fill_error(&batch, error);
    vy_dialects_log_refusal(status != VYRE_OK ? status : batch.status, error);
    return status;
}

/* Removes the dialects of the standard library that the batch replaces. */
static vyre_status remove_overridden(vyre_dialect_builder *builder, const vy_load_item *items, size_t count,
                                     vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        const char *name = items[i].change == VY_LOAD_REPLACE ? items[i].next->dialect.name : "";
        const vy_dialect *there = vy_builder_dialect(builder, name);
        if (there && strcmp(there->dialect.owner, VY_STANDARD_LIBRARY_OWNER) == 0)
            status = vy_builder_remove(builder, name, VY_STANDARD_LIBRARY_OWNER, error);
    }
    return status;
}

vyre_status vy_load_check(vy_load_item *items, size_t count, const vy_lowering_checker *checker, vyre_diagnostics *list,
                          vyre_error *error) {
    batch batch = {.items = items, .count = count, .report = {.list = list}, .checker = checker};
    vyre_dialect_builder *builder;
    vyre_status status = vyre_dialect_builder_new(&builder, error);
    if (status == VYRE_OK)
        status = remove_overridden(builder, items, count, error);
    if (status == VYRE_OK)
        status = apply(builder, &batch, error);
    vyre_dialect_builder_free(builder);
    return status;
}

/* ---- public functions (vyre/manifest.h) ---- */

/* ---- files and folders ---- */

/* Installs all manifests that were read, or none. */
static vyre_status install(vy_manifest_dirs *folders, vyre_diagnostics *list, vyre_error *error) {
    if (folders->first.code != VYRE_OK) {
        if (error)
            *error = folders->first;
        return folders->first.code;
    }
    vy_load_item *items = vy_manifest_dirs_batch(folders);
    if (!items && folders->entries.count)
        return vy_fail_memory(error, "loading manifests");
    vyre_status status = vy_load_strict(items, folders->entries.count, list, error);
    vy_manifest_dirs_commit(folders, items, status == VYRE_OK);
    return status;
}

vyre_status vyre_dialects_load_file(const char *path, vyre_diagnostics *list, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, path);
    vy_manifest_dirs folders = {0};
    size_t changed;
    vyre_status status = vy_manifest_dirs_add_file(&folders, path, error);
    if (status == VYRE_OK)
        status = vy_manifest_dirs_read(&folders, list, &changed, error);
    if (status == VYRE_OK)
        status = install(&folders, list, error);
    vy_manifest_dirs_free(&folders);
    return status;
}

static vyre_status load_folders(vy_manifest_dirs *folders, vyre_diagnostics *list, vyre_error *error) {
    size_t changed;
    vyre_status status = vy_manifest_dirs_scan(folders, list, &changed, error);
    return status == VYRE_OK ? install(folders, list, error) : status;
}

vyre_status vyre_dialects_load_folder(const char *path, vyre_diagnostics *list, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, path);
    vy_manifest_dirs folders = {0};
    struct stat about;
    vyre_status status = vy_manifest_dirs_add(&folders, path, error);
    if (status == VYRE_OK && stat(path, &about) != 0)
        status = vy_fail(error, errno == ENOENT ? VYRE_NOT_FOUND : VYRE_IO, "check the spelling of the path",
                         "folder `%.200s` does not exist", path);
    else if (status == VYRE_OK && !S_ISDIR(about.st_mode))
        status = vy_fail(error, VYRE_IO, "name the folder, or load the file itself", "`%.200s` is not a folder", path);
    if (status == VYRE_OK)
        status = load_folders(&folders, list, error);
    vy_manifest_dirs_free(&folders);
    return status;
}

vyre_status vyre_dialects_load_path(vyre_diagnostics *list, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    vy_manifest_dirs folders = {0};
    vyre_status status = vy_manifest_dirs_add_path(&folders, error);
    vy_manifest_dirs_warn_missing(&folders, list);
    if (status == VYRE_OK && folders.roots.count)
        status = load_folders(&folders, list, error);
    vy_manifest_dirs_free(&folders);
    return status;
}

/* ---- manifests in memory ---- */

static vyre_status refuse_file(void *user, const char *name, vyre_bytes *out, vyre_error *error) {
    (void)user, (void)out;
    return vy_fail(error, VYRE_NOT_FOUND, "write the body into the manifest",
                   "`%.128s` cannot be read: a manifest in memory has no folder", name);
}

vyre_status vyre_dialects_load_text(const char *owner, const char *text, size_t size, vyre_diagnostics *list,
                                    vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, owner);
    VY_REQUIRE_ARRAY(error, text, size);
    vy_manifest *manifest;
    if (!*owner)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "name the provider of the dialect", "the owner is empty");
    vyre_status status = vy_load_parse(owner, text ? text : "", size, refuse_file, NULL, list, &manifest, error);
    vy_load_item item = {.owner = owner, .next = manifest, .change = VY_LOAD_REPLACE};
    if (status == VYRE_OK)
        status = vy_load_strict(&item, 1, list, error);
    vy_manifest_free(manifest);
    return status;
}

/* ---- unloading ---- */

static int provides(const char *owner) {
    int found = 0;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    for (size_t i = 0; i < vyre_dialects_dialect_count(guard); i++)
        found |= strcmp(vyre_dialects_dialect_at(guard, i)->owner, owner) == 0;
    vyre_dialects_release(&guard);
    return found;
}

vyre_status vyre_dialects_unload(const char *owner, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, owner);
    char *path = NULL;
    if (!*owner)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, NULL, "the owner is empty");
    vyre_status status = provides(owner) ? VYRE_OK : vy_path_absolute(owner, &path, error);
    if (status == VYRE_OK && path && !provides(path))
        status = vy_fail(error, VYRE_NOT_FOUND, "name an owner that `vyre_dialects_dialect_at` shows",
                         "`%.200s` provides no dialect", owner);
    vy_load_item item = {.owner = path ? path : owner, .change = VY_LOAD_REMOVE};
    if (status == VYRE_OK)
        status = vy_load_strict(&item, 1, NULL, error);
    vy_path_free(path);
    return status;
}

/* Standard library: the embedded files of lib/. */
#define VY_STANDARD_LIBRARY_FILE(identifier, name, ...) static const unsigned char identifier[] = {__VA_ARGS__};
#include "vyre_standard.inc"
#undef VY_STANDARD_LIBRARY_FILE

static const struct {
    const char *name;
    vyre_span bytes;
} files[] = {
#define VY_STANDARD_LIBRARY_FILE(identifier, name, ...) {name, {identifier, sizeof identifier}},
#include "vyre_standard.inc"
#undef VY_STANDARD_LIBRARY_FILE
};
enum { FILES = sizeof files / sizeof *files };

int vy_standard_library_file(size_t index, const char **name, vyre_span *bytes) {
    if (index >= FILES)
        return 0;
    *name = files[index].name;
    *bytes = files[index].bytes;
    return 1;
}

static vyre_status read_body(void *user, const char *name, vyre_bytes *out, vyre_error *error) {
    (void)user;
    for (size_t i = 0; i < FILES; i++)
        if (strcmp(files[i].name, name) == 0) {
            vyre_status status = vyre_bytes_resize(out, files[i].bytes.size, error);
            if (status == VYRE_OK)
                memcpy(out->data, files[i].bytes.data, files[i].bytes.size);
            return status;
        }
    return vy_fail(error, VYRE_NOT_FOUND, NULL, "the standard library has no file `%.128s`", name);
}

size_t vy_standard_library_find(const char *id, size_t length) {
    size_t prefix = 0, i = 0;
    while (prefix < length && id[prefix] != '.' && id[prefix] != ':')
        prefix++;
    while (i < FILES && (strncmp(files[i].name, id, prefix) != 0 || strcmp(files[i].name + prefix, ".toml") != 0))
        i++;
    return i;
}

vyre_status vy_standard_library_add(vyre_dialect_builder *builder, size_t index, vyre_error *error) {
    char shown[128];
    vy_manifest *manifest;
    if (!strstr(files[index].name, ".toml"))
        return VYRE_OK;
    snprintf(shown, sizeof shown, "lib/%s", files[index].name);
    vyre_status status = vy_manifest_parse(shown, files[index].bytes.data, files[index].bytes.size, read_body, NULL,
                                           NULL, &manifest, error);
    if (status == VYRE_OK)
        status = vy_load_register(builder, manifest, VY_STANDARD_LIBRARY_OWNER, error);
    vy_manifest_free(manifest);
    return status;
}
