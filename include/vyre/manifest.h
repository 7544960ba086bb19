/* Manifests: dialects defined in files, which may change while the process runs. Loading reads manifests and the bodies
 * in files next to them, validates everything, and installs it as one snapshot (vyre/dialect.h): a reader sees all of a
 * change or none of it, and a manifest with a mistake changes nothing. Watching does the same whenever files change.
 *
 *     status = vyre_dialects_load_file("ops.toml", diagnostics, &error);
 *
 * Owner:    the owner of a dialect from a file is the absolute path of the file.
 * Threads:  any thread, concurrently, unless stated.
 *
 * docs/dialects.md specifies the format. */
#ifndef VYRE_MANIFEST_H
#define VYRE_MANIFEST_H

#include "vyre/diagnostic.h"
#include "vyre/dialect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- loading ---- */

/* Loading functions. The following applies to all of them. Each installs everything requested or nothing, and replaces
 * the definitions that the same file provided before.
 *
 * list  Optional; receives every mistake with file, line, column and fix. The error has the first.
 *
 * Blocking:  blocks while files are read and laws are tested.
 *
 * VYRE_INVALID_PROGRAM   a manifest or a body has mistakes, or a law does not hold
 * VYRE_NOT_FOUND         the file or folder does not exist, or a required dialect is missing
 * VYRE_CONFLICT          another owner provides the dialect, or a required dialect is too old
 * VYRE_DUPLICATE         an op exists already
 * VYRE_INVALID_ARGUMENT  the path or owner is empty; a manifest is a symbolic link to a file outside its folder
 * VYRE_IO                a file or folder cannot be read, or the path is not a folder
 * VYRE_LIMIT             a file or the result exceeds a limit
 * VYRE_NO_MEMORY         out of host memory */

/* Loads one manifest. */
VYRE_API vyre_status vyre_dialects_load_file(const char *path, vyre_diagnostics *list, vyre_error *error);
/* Loads every *.toml of the folder, without subfolders and without names that begin with a dot. */
VYRE_API vyre_status vyre_dialects_load_folder(const char *path, vyre_diagnostics *list, vyre_error *error);

/* Loads every folder in the environment variable VYRE_DIALECT_PATH, separated by colons; none if it is not set, or if
 * the process has raised privileges. A folder that does not exist is a warning in the list (D126), and the others are
 * loaded. */
VYRE_API vyre_status vyre_dialects_load_path(vyre_diagnostics *list, vyre_error *error);

/* Loads a manifest from memory. owner is also the name shown in findings. Bodies must be inline: a manifest that names
 * a file is rejected. */
VYRE_API vyre_status vyre_dialects_load_text(const char *owner, const char *text, size_t size, vyre_diagnostics *list,
                                             vyre_error *error);

/* Removes everything that an owner provides.
 *
 * owner  A name passed to vyre_dialects_load_text, or the path of a file.
 *
 * VYRE_NOT_FOUND  the owner provides no dialect */
VYRE_API vyre_status vyre_dialects_unload(const char *owner, vyre_error *error);

/* ---- watching ---- */

/* The result of one scan of the folders. Valid during the callback. */
typedef struct vyre_dialects_event {
    uint32_t struct_size;
    uint32_t changed, removed;        /* numbers of manifests installed and removed, in one snapshot */
    uint64_t generation;              /* of the snapshot with these changes; of the previous one if there were none */
    const vyre_diagnostics *findings; /* all findings, including those of manifests that keep their previous state */
    const vyre_error *error;          /* the first error; NULL if none */
} vyre_dialects_event;

/* Receives the result of a scan that changed something or found an error. Called on the thread that scans, never
 * concurrently. Must neither stop the watcher nor rescan. */
typedef void vyre_dialects_report(void *user, const vyre_dialects_event *event);

/* Options of vyre_dialects_watch. Start from VYRE_DIALECTS_WATCH_OPTIONS_INIT. */
typedef struct vyre_dialects_watch_options {
    uint32_t struct_size;
    uint32_t folder_count;
    const char *const *folders;   /* NULL: the folders of VYRE_DIALECT_PATH. They need not exist yet. */
    vyre_dialects_report *report; /* optional */
    void *user;
    int is_manual;               /* 1: no thread; only vyre_dialects_rescan scans */
    uint32_t poll_milliseconds;  /* interval between scans; 0: scan on change notifications, where available */
    uint32_t quiet_milliseconds; /* time without a change before a scan; 0: 50, at most 1000 */
} vyre_dialects_watch_options;
#define VYRE_DIALECTS_WATCH_OPTIONS_INIT                                                                               \
    { sizeof(vyre_dialects_watch_options), 0, NULL, NULL, NULL, 0, 0, 0 }

/* A watcher of folders. Manifests and bodies that are written, replaced, linked or removed there are loaded as by
 * vyre_dialects_load_folder, but each manifest separately: one with a mistake keeps its previous state (or stays
 * absent), and the others change together in one snapshot. A removed manifest removes its dialect, unless another
 * manifest requires, calls or makes claims about it.
 *
 * A manifest also keeps its previous state while it, or a file that it names, is being written. A file is considered
 * complete:
 *
 *  - with change notifications, when its writer closes it, or, if no notification arrived for it, when it was unchanged
 *    for 1 second;
 *  - without notifications, and in the first scan, when it was unchanged for `quiet_milliseconds`. A writer that pauses
 *    for longer should write another file and rename it;
 *  - after 10 seconds in any case: it is then read with a finding (D124).
 *
 * Constructor:  vyre_dialects_watch
 * Destructor:   vyre_dialects_watcher_stop
 * Methods:      vyre_dialects_rescan */
typedef struct vyre_dialects_watcher vyre_dialects_watcher;

/* Scans the folders on the calling thread, so that existing manifests are loaded when the call returns; then starts a
 * thread. A mistake in a manifest is reported and does not fail the call.
 *
 * options  NULL: VYRE_DIALECTS_WATCH_OPTIONS_INIT.
 * out      Stop with vyre_dialects_watcher_stop.
 *
 * Blocking:  unless is_manual is 1, waits up to 2 seconds for recently written files to be complete; the thread loads
 *            those completed later.
 * Fork:      a child process has no such thread and cannot rescan; stopping has no effect there.
 *
 * VYRE_INVALID_ARGUMENT  no folders
 * VYRE_ABI_MISMATCH      struct_size of the options is too small
 * VYRE_LIMIT             the thread or its descriptor cannot be created
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_dialects_watch(const vyre_dialects_watch_options *options, vyre_dialects_watcher **out,
                                         vyre_error *error);

/* Scans now. Files that are being written are left to the watcher's thread; without a thread (`is_manual`) they are
 * read in their current state. Any thread; blocks while files are read.
 *
 * VYRE_INVALID_ARGUMENT  the watcher was created by another process
 * other                  the status of the first error found, as in the event; valid changes are installed
 *                        nevertheless */
VYRE_API vyre_status vyre_dialects_rescan(vyre_dialects_watcher *watcher, vyre_error *error);
/* Ends the thread, waits for it, and frees the watcher. NULL is ignored. Loaded dialects remain. */
VYRE_API void vyre_dialects_watcher_stop(vyre_dialects_watcher *watcher);

#ifdef __cplusplus
}
#endif
#endif
