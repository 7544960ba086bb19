/* Trusted paths: the rule for every file whose contents the process runs as code (plug-ins, compiler, cache entries).
 *
 * A path is trusted if only this process's effective user and root can change what it leads to:
 *
 *   - The file, every folder above it and every symbolic link on the way belong to the effective user or to root.
 *   - Neither group nor others can write to the file or to any of these folders. A folder with the sticky bit (/tmp) is
 *     allowed: there, only the owner of an entry, the owner of the folder and root can replace the entry.
 *
 * Symbolic links are followed one component at a time, and each folder is opened before its entries are examined, so
 * the walk uses the entries that were checked. A trusted path stays trusted until the user or root changes it. The
 * caller may therefore use the path again (dlopen, posix_spawn): no other user can replace a component in between.
 *
 * POSIX access control lists are covered: an entry that lets another user write sets the group's write bit in the mode,
 * which is the mask of the list. Not checked: NFSv4 lists, descriptors opened for writing before the permissions were
 * taken away, and what a file server lets other clients do. In a user namespace that does not map root, files of root
 * have the id of the overflow user and are refused. */
#ifndef VY_BASE_TRUSTED_PATH_H
#define VY_BASE_TRUSTED_PATH_H

#include "vyre/base.h"

/* Checks that an absolute path leads to a trusted regular file. `what` names it in messages: "plug-in". The file need
 * not be readable. Any thread; allocates nothing; needs three free descriptors.
 *
 * VYRE_INVALID_ARGUMENT  the path is not absolute
 * VYRE_NOT_FOUND         the file does not exist
 * VYRE_CORRUPT           not a regular file
 * VYRE_IO                not trusted: the message names the component, its owner and mode, the fix what to change; or
 *                        the process may not examine it */
vyre_status vy_trusted_path_check(const char *path, const char *what, vyre_error *error);

/* The same for an argument of dlopen(): a path must be trusted; a name without a slash is left to the search of the
 * dynamic loader. VYRE_OK for a missing file: dlopen() reports it, and no other user can create it. */
vyre_status vy_trusted_library_check(const char *name, const char *what, vyre_error *error);

/* As vy_trusted_path_check. *file receives a descriptor of the checked file for reading, which the caller closes, or
 * -1. */
vyre_status vy_trusted_file_open(const char *path, const char *what, int *file, vyre_error *error);

/* The same for a folder that no other user can write to, sticky or not, and whose last component is not a symbolic
 * link. With `create`, folders that are missing are made (mode 0700), but only in a folder that the effective user owns
 * or that is sticky. `elsewhere` is the fix where permissions of the folder itself are not the remedy. */
vyre_status vy_trusted_folder_open(const char *path, const char *what, const char *elsewhere, int create, int *folder,
                                   vyre_error *error);

#endif
