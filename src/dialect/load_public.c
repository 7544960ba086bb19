/* What vyre/manifest.h says of loading. */
#include "base/status.h"

#include "base/thread.h"
#include "dialect/manifest_dir.h"
#include "dialect/registry.h"
#include "vyre/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- files and folders ---- */

/* Everything that was found, or nothing. */
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
                         "there is no folder `%.200s`", path);
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

/* ---- texts ---- */

static vyre_status refuse_file(void *user, const char *name, vyre_bytes *out, vyre_error *error) {
    (void)user, (void)out;
    return vy_fail(error, VYRE_NOT_FOUND, "write the body into the manifest",
                   "`%.128s` cannot be read: the manifest is a text, not a file with others beside it", name);
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

/* ---- out again ---- */

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
