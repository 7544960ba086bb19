/* Files: whole reads, and writes that are all or nothing. */
#ifndef VY_BASE_FILE_H
#define VY_BASE_FILE_H

#include "vyre/base.h"

/* Reads a whole file (or standard input for "-") into out; refuses one over `limit` bytes. */
vyre_status vy_file_read(const char *path, size_t limit, vyre_bytes *out, vyre_error *error);
/* The same for a path that must lead to a plain file. What else is there is refused (VYRE_IO), and not waited for, also if it took the file's place a moment
 * ago: opening a pipe may take for ever. */
vyre_status vy_file_read_plain(const char *path, size_t limit, vyre_bytes *out, vyre_error *error);
/* The same for a file below a folder, by its relative path; `shown` is its name in messages. Symbolic links are followed
 * if they stay in the folder: an absolute one has to name the folder by its real path. No file outside is opened or
 * looked for, also if another process changes links meanwhile.
 *
 * VYRE_INVALID_ARGUMENT  a link leads out of the folder */
vyre_status vy_file_read_beneath(const char *folder, const char *name, const char *shown, size_t limit, vyre_bytes *out,
                                 vyre_error *error);
/* Writes to a temporary name beside the path, then renames; "-" is standard output. */
vyre_status vy_file_write(const char *path, const void *data, size_t size, vyre_error *error);
/* Checks that vy_file_write can write there now, without changing the file: creates the temporary file and removes it. Fails as vy_file_write does. A
 * device or pipe is not opened. */
vyre_status vy_file_check_write(const char *path, vyre_error *error);

#endif
