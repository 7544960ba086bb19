/* Scanning folders.
 *
 * A file is the same if its bytes are: times and sizes of files are no help, since a file that is written twice within one tick of the clock keeps its time.
 * Manifests are small, so reading all of them again costs less than a mistake. A manifest is read again when its own bytes, or those of a file it named the last
 * time, are others than they were, also if that reading failed: then the file it lacked may be there. */
#include "dialect/manifest_dir.h"

#include "base/hash.h"
#include "base/status.h"
#include "dialect/toml.h"
#include "ir/diagnostic_codes.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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
    if (status == VYRE_NOT_FOUND) /* by the name that was given */
        vy_fail(error, status, "check the spelling of the path", "there is no file `%.200s`", entry->shown);
    return status;
}

void vy_manifest_entry_invalidate(vy_manifest_entry *entry) {
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

/* Reads a file for a manifest and notes what it was. */
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
        vy_manifest_entry_invalidate(entry);
        if (error)
            *error = why;
        return status;
    }
    if (status != VYRE_OK)
        record_first_error(folders, &why);
    return VYRE_OK;
}

/* Reads the manifest unless it is as it was. */
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
        vy_manifest_entry_invalidate(entry);
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
        return VYRE_OK; /* gone since it was listed */
    vy_manifest_entry *entry = vy_manifest_dirs_entry(folders, path, shown);
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

/* Finds the manifests of a folder. One that cannot be looked into is as it was. */
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
        vy_fail(&why, VYRE_IO, NULL, "the folder `%.200s` cannot be looked into (%s)", root->shown,
                strerrordesc_np(reason));
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
            vy_manifest_dirs_remove_entry(folders, i);
        }
    }
    vy_release(items, size);
}

void vy_manifest_dirs_discard_uncommitted(vy_manifest_dirs *folders) {
    for (uint32_t i = 0; i < folders->entries.count; i++)
        if (folders->entries.items[i].is_uncommitted)
            vy_manifest_entry_discard(&folders->entries.items[i]);
}
