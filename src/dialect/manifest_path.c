/* Paths of folders and manifests: absolute, so that they mean the same whatever the process does with its working folder. */
#include "base/diagnostics.h"
#include "base/status.h"
#include "dialect/manifest_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void vy_path_free(char *path) {
    if (path)
        vy_release(path, strlen(path) + 1);
}

static char *copy(const char *text) {
    size_t size = strlen(text) + 1;
    char *made = vy_allocate(size);
    return made ? memcpy(made, text, size) : NULL;
}

static vyre_status fail_long(const char *path, vyre_error *error) {
    return vy_fail(error, VYRE_LIMIT, "use a shorter path", "the path is too long (`%.64s…`, more than %d bytes)", path,
                   PATH_MAX - 1);
}

/* The length of a path without slashes at its end; that of "/" is 1. */
static size_t trimmed(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

/* The folder a path is in, as the system names it; if it is not there, as it was given, made absolute. */
static int name_folder(const char *given, char out[PATH_MAX]) {
    char current[PATH_MAX];
    if (realpath(given, out))
        return 1;
    if (given[0] == '/')
        return snprintf(out, PATH_MAX, "%s", given) < PATH_MAX;
    return getcwd(current, sizeof current) && snprintf(out, PATH_MAX, "%s/%s", current, given) < PATH_MAX;
}

vyre_status vy_path_absolute(const char *path, char **out, vyre_error *error) {
    char given[PATH_MAX], folder[PATH_MAX], whole[PATH_MAX];
    size_t length = path ? trimmed(path) : 0;
    *out = NULL;
    if (length == 0)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "name a file or a folder", "the path is empty");
    if (length >= sizeof given)
        return fail_long(path, error);
    memcpy(given, path, length);
    given[length] = 0;
    char *slash = strrchr(given, '/');
    const char *name = slash ? slash + 1 : given;
    int is_plain = *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    if (slash && is_plain)
        *slash = 0;
    int fits = name_folder(!is_plain ? given : !slash ? "." : *given ? given : "/", folder);
    if (fits && is_plain)
        fits = snprintf(whole, sizeof whole, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name) < PATH_MAX;
    if (!fits)
        return fail_long(path, error);
    *out = copy(is_plain ? whole : folder);
    return *out ? VYRE_OK : vy_fail_memory(error, "the path of a manifest");
}

/* ---- folders ---- */

static vyre_status add_root(vy_manifest_dirs *folders, const char *given, size_t length, vyre_error *error) {
    char shown[PATH_MAX], real[PATH_MAX], *path = NULL;
    if (length >= sizeof shown)
        return fail_long(given, error);
    memcpy(shown, given, length);
    shown[length] = 0;
    shown[trimmed(shown)] = 0;
    vyre_status status = VYRE_OK;
    if (realpath(shown, real))
        path = copy(real);
    else
        status = vy_path_absolute(shown, &path, error);
    for (uint32_t i = 0; path && i < folders->roots.count; i++)
        if (strcmp(folders->roots.items[i].path, path) == 0) {
            vy_path_free(path);
            return VYRE_OK;
        }
    char *name = copy(shown);
    vy_manifest_dir *root = path && name ? VY_PUSH(&folders->roots) : NULL;
    if (root) {
        *root = (vy_manifest_dir){path, name};
        return VYRE_OK;
    }
    vy_path_free(path);
    vy_path_free(name);
    return status != VYRE_OK ? status : vy_fail_memory(error, "a list of folders");
}

vyre_status vy_manifest_dirs_add(vy_manifest_dirs *folders, const char *path, vyre_error *error) {
    if (!path || !*path)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "name a folder", "the path of a folder is empty");
    return add_root(folders, path, strlen(path), error);
}

vyre_status vy_manifest_dirs_add_path(vy_manifest_dirs *folders, vyre_error *error) {
    const char *at = secure_getenv("VYRE_DIALECT_PATH");
    vyre_status status = VYRE_OK;
    while (at && *at && status == VYRE_OK) {
        size_t length = strcspn(at, ":");
        if (length)
            status = add_root(folders, at, length, error);
        at += length + (at[length] == ':');
    }
    return status;
}

void vy_manifest_dirs_warn_missing(const vy_manifest_dirs *folders, vyre_diagnostics *list) {
    for (uint32_t i = 0; i < folders->roots.count; i++) {
        const vy_manifest_dir *root = &folders->roots.items[i];
        struct stat about;
        int is_present = stat(root->path, &about) == 0;
        if (is_present && S_ISDIR(about.st_mode))
            continue;
        vy_source *source = vy_source_new("VYRE_DIALECT_PATH", "", 0);
        vy_diagnostic_add(list, source, vy_diag_code_name(VY_D126), VYRE_SEVERITY_WARNING, (vy_position){0},
                          vy_diag_code_fix(VY_D126),
                          is_present ? "`%.200s` is not a folder" : "folder `%.200s` does not exist", root->shown);
        vy_source_release(source);
    }
}

static void free_entry(vy_manifest_entry *entry) {
    vy_path_free(entry->path);
    vy_path_free(entry->shown);
    vy_manifest_free(entry->installed);
    vy_manifest_free(entry->next);
    vy_manifest_entry_invalidate(entry);
    VY_VECTOR_FREE(&entry->inputs);
}

vyre_status vy_manifest_dirs_add_file(vy_manifest_dirs *folders, const char *path, vyre_error *error) {
    char *absolute;
    vyre_status status = vy_path_absolute(path, &absolute, error);
    if (!absolute)
        return status;
    vy_manifest_entry *entry = vy_manifest_dirs_entry(folders, absolute, path);
    vy_path_free(absolute);
    if (!entry)
        return vy_fail_memory(error, "a list of manifests");
    entry->is_present = 1;
    return VYRE_OK;
}

vy_manifest_entry *vy_manifest_dirs_entry(vy_manifest_dirs *folders, const char *path, const char *shown) {
    for (uint32_t i = 0; i < folders->entries.count; i++)
        if (strcmp(folders->entries.items[i].path, path) == 0)
            return &folders->entries.items[i];
    char *own = copy(path), *name = copy(shown);
    vy_manifest_entry *entry = own && name ? VY_PUSH(&folders->entries) : NULL;
    if (entry) {
        entry->path = own;
        entry->shown = name;
        return entry;
    }
    vy_path_free(own);
    vy_path_free(name);
    return NULL;
}

void vy_manifest_dirs_remove_entry(vy_manifest_dirs *folders, uint32_t index) {
    vy_manifest_entry *items = folders->entries.items;
    free_entry(&items[index]);
    folders->entries.count--;
    memmove(&items[index], &items[index + 1], (folders->entries.count - index) * sizeof *items);
}

void vy_manifest_dirs_free(vy_manifest_dirs *folders) {
    while (folders->entries.count)
        vy_manifest_dirs_remove_entry(folders, folders->entries.count - 1);
    VY_VECTOR_FREE(&folders->entries);
    for (uint32_t i = 0; i < folders->roots.count; i++) {
        vy_path_free(folders->roots.items[i].path);
        vy_path_free(folders->roots.items[i].shown);
    }
    VY_VECTOR_FREE(&folders->roots);
}
