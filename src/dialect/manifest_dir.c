/* Manifest directories: scanning them for changed manifests.
 *
 * Paths are absolute, so they stay valid when the process changes its working directory. */
#include "dialect/manifest_dir.h"

#include "base/diagnostics.h"
#include "base/status.h"
#include "base/string.h"
#include "dialect/toml.h"
#include "ir/diagnostic_codes.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static vy_manifest_entry *find_or_add_entry(vy_manifest_dirs *folders, const char *path, const char *shown);
static void invalidate_entry(vy_manifest_entry *entry);

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

/* Returns the length of a path without trailing slashes; 1 for "/". */
static size_t trimmed(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

/* Writes the real path of the folder of a path; if the folder does not exist, the given path made absolute. */
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
        const char *slash = strrchr(root->shown, '/');
        int folder_length = slash && slash > root->shown ? (int)(slash - root->shown) : 1;
        vy_source *source = vy_source_new("VYRE_DIALECT_PATH", "", 0);
        vy_diagnostic_add(list, source, vy_diag_code_name(VY_D126), VYRE_SEVERITY_WARNING, (vy_position){0},
                          is_present ? VY_FIX("name the folder that contains it (`%.*s`) in VYRE_DIALECT_PATH",
                                              folder_length, slash ? root->shown : ".")
                                     : vy_diag_code_fix(VY_D126),
                          is_present ? "`%.200s` is not a folder" : "folder `%.200s` does not exist", root->shown);
        vy_source_release(source);
    }
}

static void free_entry(vy_manifest_entry *entry) {
    vy_path_free(entry->path);
    vy_path_free(entry->shown);
    vy_manifest_free(entry->installed);
    vy_manifest_free(entry->next);
    invalidate_entry(entry);
    VY_VECTOR_FREE(&entry->inputs);
}

vyre_status vy_manifest_dirs_add_file(vy_manifest_dirs *folders, const char *path, vyre_error *error) {
    char *absolute;
    vyre_status status = vy_path_absolute(path, &absolute, error);
    if (!absolute)
        return status;
    vy_manifest_entry *entry = find_or_add_entry(folders, absolute, path);
    vy_path_free(absolute);
    if (!entry)
        return vy_fail_memory(error, "a list of manifests");
    entry->is_present = 1;
    return VYRE_OK;
}

/* Returns the entry of a path and creates it if necessary; NULL if memory is exhausted. */
static vy_manifest_entry *find_or_add_entry(vy_manifest_dirs *folders, const char *path, const char *shown) {
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

static void remove_entry(vy_manifest_dirs *folders, uint32_t index) {
    vy_manifest_entry *items = folders->entries.items;
    free_entry(&items[index]);
    folders->entries.count--;
    memmove(&items[index], &items[index + 1], (folders->entries.count - index) * sizeof *items);
}

void vy_manifest_dirs_free(vy_manifest_dirs *folders) {
    while (folders->entries.count)
        remove_entry(folders, folders->entries.count - 1);
    VY_VECTOR_FREE(&folders->entries);
    for (uint32_t i = 0; i < folders->roots.count; i++) {
        vy_path_free(folders->roots.items[i].path);
        vy_path_free(folders->roots.items[i].shown);
    }
    VY_VECTOR_FREE(&folders->roots);
}

/* Scanning.
 *
 * Two versions of a file are equal if their bytes are. Modification times and sizes are not sufficient: a file that is
 * written twice within one tick of the clock keeps its time. Manifests are small, so reading all of them is cheap. A
 * manifest is parsed again if its own bytes, or those of a file that it named last time, have changed; also if the last
 * parse failed, since a missing file may exist now. */

/* ---- files ---- */

static vy_file_state state_of(vyre_status status, const vyre_bytes *bytes) {
    return status == VYRE_OK ? (vy_file_state){status, bytes->size, vy_hash(bytes->data, bytes->size)}
                             : (vy_file_state){status, 0, 0};
}

static int same_state(const vy_file_state *a, const vy_file_state *b) {
    return a->status == b->status && a->size == b->size && a->hash == b->hash;
}

static vyre_status read_manifest(const vy_manifest_entry *entry, vyre_bytes *out, vyre_error *error) {
    const char *name = strrchr(entry->path, '/') + 1; /* absolute */
    vyre_status status = vy_manifest_read_sibling(entry->path, name, entry->shown, out, error);
    if (status == VYRE_NOT_FOUND) /* under the name that the user gave */
        vy_fail(error, status, "check the spelling of the path", "file `%.200s` does not exist", entry->shown);
    return status;
}

/* Forces the files of the entry to be read again. */
static void invalidate_entry(vy_manifest_entry *entry) {
    while (entry->inputs.count)
        vy_path_free(entry->inputs.items[--entry->inputs.count].name);
    entry->is_known = 0;
}

void vy_manifest_entry_discard(vy_manifest_entry *entry) {
    vy_manifest_free(entry->next);
    entry->next = NULL;
    entry->is_known = entry->is_uncommitted = entry->is_gone = 0;
}

int vy_manifest_entry_input_path(const vy_manifest_entry *entry, uint32_t index, char path[PATH_MAX]) {
    const char *slash = strrchr(entry->path, '/');
    return slash && snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - entry->path), entry->path,
                             entry->inputs.items[index].name) < PATH_MAX;
}

int vy_manifest_entry_resolve(const vy_manifest_entry *entry, const char *path, char real[PATH_MAX]) {
    char folder[PATH_MAX], inside[PATH_MAX];
    size_t size = (size_t)(strrchr(entry->path, '/') + 1 - entry->path);
    if (size >= sizeof folder)
        return 0;
    memcpy(folder, entry->path, size);
    folder[size] = 0;
    if (!realpath(folder, inside) || !realpath(path, real))
        return 0;
    size = strcmp(inside, "/") == 0 ? 0 : strlen(inside);
    return strncmp(real, inside, size) == 0 && real[size] == '/';
}

/* Reads a file for a manifest and records its state. */
static vyre_status read_input(void *user, const char *name, vyre_bytes *out, vyre_error *error) {
    vy_manifest_entry *entry = user;
    char *copy = vy_allocate(strlen(name) + 1);
    vy_file_input *input = copy ? VY_PUSH(&entry->inputs) : NULL;
    if (!input) {
        vy_release(copy, copy ? strlen(name) + 1 : 0);
        return vy_fail_memory(error, "a list of files");
    }
    input->name = memcpy(copy, name, strlen(name) + 1);
    vyre_status status = vy_manifest_read_sibling(entry->path, name, name, out, error);
    input->state = state_of(status, out);
    return status;
}

static int same_inputs(const vy_manifest_entry *entry, vyre_bytes *scratch) {
    for (uint32_t i = 0; i < entry->inputs.count; i++) {
        const vy_file_input *input = &entry->inputs.items[i];
        vy_file_state now =
            state_of(vy_manifest_read_sibling(entry->path, input->name, input->name, scratch, NULL), scratch);
        if (!same_state(&input->state, &now))
            return 0;
    }
    return 1;
}

/* ---- one manifest ---- */

static void record_first_error(vy_manifest_dirs *folders, const vyre_error *error) {
    if (folders->first.code == VYRE_OK)
        folders->first = *error;
}

void vy_manifest_dirs_report(vy_manifest_dirs *folders, const char *shown, vy_diag_code code, const vyre_error *error,
                             vyre_diagnostics *list) {
    vy_source *source = vy_source_new(shown, "", 0);
    vy_diag_sink report = {.source = source, .list = list};
    vy_diag_sink_error(&report, code, (vy_position){0}, error->fix, "%s", error->message);
    vy_source_release(source);
    record_first_error(folders, error);
}

static vyre_status parse(vy_manifest_dirs *folders, vy_manifest_entry *entry, const vyre_bytes *text,
                         vyre_diagnostics *list, vyre_error *error) {
    vyre_error why;
    vyre_status status = vy_load_parse(entry->shown, text->size ? text->data : "", text->size, read_input, entry, list,
                                       &entry->next, &why);
    if (status == VYRE_NO_MEMORY) {
        invalidate_entry(entry);
        if (error)
            *error = why;
        return status;
    }
    if (status != VYRE_OK)
        record_first_error(folders, &why);
    return VYRE_OK;
}

/* Parses the manifest unless its files are unchanged. */
static vyre_status read_entry(vy_manifest_dirs *folders, vy_manifest_entry *entry, vyre_diagnostics *list,
                              size_t *changed, vyre_error *error) {
    vyre_bytes text = VYRE_BYTES_INIT, scratch = VYRE_BYTES_INIT;
    vyre_error why;
    vyre_status status = read_manifest(entry, &text, &why), result = VYRE_OK;
    vy_file_state now = state_of(status, &text);
    if (status == VYRE_NO_MEMORY) {
        result = vy_fail_memory(error, "reading a manifest");
    } else if (!entry->is_known || !same_state(&entry->state, &now) || !same_inputs(entry, &scratch)) {
        ++*changed;
        invalidate_entry(entry);
        vy_manifest_free(entry->next);
        entry->next = NULL;
        entry->state = now;
        entry->is_known = entry->is_uncommitted = 1;
        if (status == VYRE_OK)
            result = parse(folders, entry, &text, list, error);
        else
            vy_manifest_dirs_report(folders, entry->shown, VY_D121, &why, list);
    }
    vyre_bytes_free(&text);
    vyre_bytes_free(&scratch);
    return result;
}

/* ---- folders ---- */

static int is_manifest(const char *name) {
    size_t length = strlen(name);
    return name[0] != '.' && length > 5 && strcmp(name + length - 5, ".toml") == 0;
}

static vyre_status find_file(vy_manifest_dirs *folders, const vy_manifest_dir *root, const char *name,
                             vyre_error *error) {
    char path[PATH_MAX], shown[PATH_MAX];
    struct stat about;
    if (snprintf(path, sizeof path, "%s/%s", strcmp(root->path, "/") == 0 ? "" : root->path, name) >= PATH_MAX ||
        snprintf(shown, sizeof shown, "%s/%s", strcmp(root->shown, "/") == 0 ? "" : root->shown, name) >= PATH_MAX)
        return vy_fail(error, VYRE_LIMIT, "use a shorter path", "the path of `%.128s` is too long", name);
    if (lstat(path, &about) != 0 && errno == ENOENT)
        return VYRE_OK; /* removed since the folder was listed */
    vy_manifest_entry *entry = find_or_add_entry(folders, path, shown);
    if (!entry)
        return vy_fail_memory(error, "a list of manifests");
    entry->is_present = 1;
    if (folders->entries.count > VY_MANIFEST_DIRS_LIMIT_MANIFESTS)
        return vy_fail(error, VYRE_LIMIT, NULL, "there are more manifests than the limit (%d)",
                       VY_MANIFEST_DIRS_LIMIT_MANIFESTS);
    return VYRE_OK;
}

static int is_in(const vy_manifest_entry *entry, const vy_manifest_dir *root) {
    size_t length = strlen(root->path);
    return strncmp(entry->path, root->path, length) == 0 && entry->path[length] == '/' &&
           !strchr(entry->path + length + 1, '/');
}

/* Lists the manifests of a folder. The entries of a folder that cannot be read stay unchanged. */
static vyre_status list_folder(vy_manifest_dirs *folders, const vy_manifest_dir *root, vyre_diagnostics *list,
                               vyre_error *error) {
    vyre_error why = VYRE_ERROR_INIT;
    DIR *names = opendir(root->path);
    int reason = names ? 0 : errno;
    vyre_status status = VYRE_OK;
    errno = 0;
    for (struct dirent *name; names && status == VYRE_OK && (errno = 0, name = readdir(names));)
        if (is_manifest(name->d_name))
            status = find_file(folders, root, name->d_name, &why);
    if (names && status == VYRE_OK)
        reason = errno;
    if (names)
        (void)closedir(names);
    if (status == VYRE_NO_MEMORY || reason == ENOMEM)
        return vy_fail_memory(error, "a list of manifests");
    if (status == VYRE_OK && (reason == 0 || reason == ENOENT || reason == ENOTDIR))
        return VYRE_OK;
    if (status == VYRE_OK)
        vy_fail(&why, VYRE_IO, NULL, "the folder `%.200s` cannot be read (%s)", root->shown, strerrordesc_np(reason));
    for (uint32_t i = 0; i < folders->entries.count; i++)
        folders->entries.items[i].is_present |= is_in(&folders->entries.items[i], root);
    vy_manifest_dirs_report(folders, root->shown, VY_D121, &why, list);
    return VYRE_OK;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const vy_manifest_entry *)a)->path, ((const vy_manifest_entry *)b)->path);
}

vyre_status vy_manifest_dirs_read(vy_manifest_dirs *folders, vyre_diagnostics *list, size_t *changed,
                                  vyre_error *error) {
    vyre_status status = VYRE_OK;
    folders->first.code = VYRE_OK;
    *changed = 0;
    for (uint32_t i = 0; i < folders->entries.count && status == VYRE_OK; i++) {
        vy_manifest_entry *entry = &folders->entries.items[i];
        if (entry->is_present) {
            entry->is_gone = 0;
            if (!entry->write_quiesce.is_deferred)
                status = read_entry(folders, entry, list, changed, error);
        } else if (!entry->is_gone) {
            entry->is_gone = entry->is_uncommitted = 1;
            ++*changed;
        }
    }
    return status;
}

vyre_status vy_manifest_dirs_scan(vy_manifest_dirs *folders, vyre_diagnostics *list, size_t *changed,
                                  vyre_error *error) {
    vyre_status status = VYRE_OK;
    *changed = 0;
    for (uint32_t i = 0; i < folders->entries.count; i++)
        folders->entries.items[i].is_present = 0;
    folders->first.code = VYRE_OK;
    for (uint32_t i = 0; i < folders->roots.count && status == VYRE_OK; i++)
        status = list_folder(folders, &folders->roots.items[i], list, error);
    if (status != VYRE_OK)
        return status;
    vyre_error listing = folders->first;
    if (folders->entries.count)
        qsort(folders->entries.items, folders->entries.count, sizeof *folders->entries.items, by_path);
    status = vy_manifest_dirs_read(folders, list, changed, error);
    if (listing.code != VYRE_OK)
        folders->first = listing;
    return status;
}

/* ---- batches ---- */

vy_load_item *vy_manifest_dirs_batch(const vy_manifest_dirs *folders) {
    vy_load_item *items = vy_allocate_zero(vy_array_size(folders->entries.count, sizeof *items));
    for (uint32_t i = 0; items && i < folders->entries.count; i++) {
        const vy_manifest_entry *entry = &folders->entries.items[i];
        items[i] = (vy_load_item){.owner = entry->path, .before = entry->installed, .next = entry->next};
        if (!entry->is_present)
            items[i].change = entry->installed ? VY_LOAD_REMOVE : VY_LOAD_KEEP;
        else if (entry->next)
            items[i].change = VY_LOAD_REPLACE;
    }
    return items;
}

void vy_manifest_dirs_commit(vy_manifest_dirs *folders, vy_load_item *items, int was_installed) {
    size_t size = vy_array_size(folders->entries.count, sizeof *items);
    for (uint32_t i = folders->entries.count; items && was_installed && i-- > 0;) {
        vy_manifest_entry *entry = &folders->entries.items[i];
        entry->is_uncommitted = 0;
        if (items[i].change == VY_LOAD_REPLACE && !items[i].is_refused) {
            vy_manifest_free(entry->installed);
            entry->installed = entry->next;
            entry->next = NULL;
        } else if (!entry->is_present && !items[i].is_refused) {
            remove_entry(folders, i);
        }
    }
    vy_release(items, size);
}

void vy_manifest_dirs_discard_uncommitted(vy_manifest_dirs *folders) {
    for (uint32_t i = 0; i < folders->entries.count; i++)
        if (folders->entries.items[i].is_uncommitted)
            vy_manifest_entry_discard(&folders->entries.items[i]);
}
