/* Manifests: dialects that are files, and may change while the process runs. docs/dialects.md has the format.
 *
 * Loading reads a manifest and the bodies beside it, checks all of it, and installs it as one snapshot (vyre/dialect.h): a reader sees the dialects
 * before or the dialects after, and a manifest with a mistake changes nothing. Watching does the same whenever files change.
 *
 * The owner of a dialect that came from a file is the file's absolute path. */
#ifndef VYRE_MANIFEST_H
#define VYRE_MANIFEST_H

#include "vyre/diagnostic.h"
#include "vyre/dialect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- loading ---- */

/* Each installs all it was asked for, or nothing. Every mistake is in `list` (optional) with file, line, column and fix; the error has the first. What the
 * same file provided before is replaced. Any thread; blocks while files are read.
 *
 * VYRE_INVALID_PROGRAM  a manifest or a body has mistakes, or a law does not hold
 * VYRE_NOT_FOUND        no such file or folder; a dialect that is required is not there
 * VYRE_CONFLICT         somebody else provides the dialect; a dialect that is required is too old
 * VYRE_DUPLICATE        an op is there already
 * VYRE_INVALID_ARGUMENT  the path is empty; a manifest is a symbolic link that leads out of its folder
 * VYRE_IO, VYRE_LIMIT, VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_dialects_load_file(const char *path, vyre_diagnostics *list, vyre_error *error);
/* Every *.toml in the folder itself whose name does not begin with a dot. */
VYRE_API vyre_status vyre_dialects_load_folder(const char *path, vyre_diagnostics *list, vyre_error *error);
/* Every folder that the environment variable VYRE_DIALECT_PATH names, separated by colons; nothing if it is not set, or if the process runs with
 * rights its user has not. A folder that does not exist is a warning in the list (D126), and the others are loaded. */
VYRE_API vyre_status vyre_dialects_load_path(vyre_diagnostics *list, vyre_error *error);
/* From memory. The owner is also the name shown in findings. Bodies are inline: a manifest that names a file is refused. */
VYRE_API vyre_status vyre_dialects_load_text(const char *owner, const char *text, size_t size, vyre_diagnostics *list,
                                             vyre_error *error);
/* Takes out all that an owner provides: a name given to vyre_dialects_load_text, or the path of a file. VYRE_NOT_FOUND if it provides nothing. */
VYRE_API vyre_status vyre_dialects_unload(const char *owner, vyre_error *error);

/* ---- watching ---- */

/* What one look at the folders brought. Valid during the call. */
typedef struct vyre_dialects_event {
    uint32_t struct_size;
    uint32_t changed, removed;        /* manifests that were installed, and that are gone; one snapshot has both */
    uint64_t generation;              /* the snapshot they are in; that of before if neither */
    const vyre_diagnostics *findings; /* what is wrong, with the manifests that keep their old state because of it */
    const vyre_error *error;          /* the first of it; NULL if nothing is */
} vyre_dialects_event;
typedef void vyre_dialects_report(void *user, const vyre_dialects_event *event);

typedef struct vyre_dialects_watch_options {
    uint32_t struct_size;
    uint32_t folder_count;
    const char *const *folders;   /* NULL: those of VYRE_DIALECT_PATH. They need not be there yet. */
    vyre_dialects_report *report; /* optional; called when something changed or is wrong */
    void *user;
    int is_manual;               /* no thread: vyre_dialects_rescan looks */
    uint32_t poll_milliseconds;  /* look this often; 0: when the system tells of a change, where it does */
    uint32_t quiet_milliseconds; /* wait for that long without a change before looking; 0: 50, at most 1000 */
} vyre_dialects_watch_options;
#define VYRE_DIALECTS_WATCH_OPTIONS_INIT                                                                               \
    { sizeof(vyre_dialects_watch_options), 0, NULL, NULL, NULL, 0, 0, 0 }

/* Watches folders: manifests and bodies that are written, replaced, linked or removed there are loaded, as vyre_dialects_load_folder does, but each
 * manifest for itself: one with a mistake stays as it was (or away), the others change, together in one snapshot. A manifest that is gone takes its
 * dialect along, unless another manifest requires, calls or makes claims about what is in it.
 *
 * A manifest stays as it was (or away) while it, or a file it names, is being written; the others change meanwhile. Where the system tells of changes, a file that was
 * written to is whole when it is closed; one of which it told nothing, when it is as it is for a second. Where it does not, and when watching begins, a file is whole
 * when it is as it is for `quiet_milliseconds`: whoever pauses for longer should write another file and rename it. Nothing is held for more than ten seconds: then it is
 * read as it is, with a finding (D124). */
typedef struct vyre_dialects_watcher vyre_dialects_watcher;

/* options NULL means VYRE_DIALECTS_WATCH_OPTIONS_INIT.
 *
 * Looks once, on this thread, so that what is there is loaded when it returns; then starts a thread. With a thread it
 * waits for files that were written a moment ago to be
 * whole, for two seconds at most; what is not by then, the thread loads. `report` is called on whichever thread looks, never on two at
 * once; it must not stop the watcher nor rescan. A child after fork has no such thread, and
 * cannot rescan; stopping does nothing there.
 *
 * VYRE_INVALID_ARGUMENT  no folders
 * VYRE_LIMIT             the thread cannot be started
 * VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_dialects_watch(const vyre_dialects_watch_options *options, vyre_dialects_watcher **out,
                                         vyre_error *error);
/* Looks now. Any thread. The status is that of the first thing wrong, as in the event; what could change has changed nevertheless. What is being written is left to the
 * watcher's thread; without one (`is_manual`) files are read as they are. */
VYRE_API vyre_status vyre_dialects_rescan(vyre_dialects_watcher *watcher, vyre_error *error);
/* Ends the thread, waits for it, and frees the watcher. What is loaded stays. */
VYRE_API void vyre_dialects_watcher_stop(vyre_dialects_watcher *watcher);

#ifdef __cplusplus
}
#endif
#endif
