/* Plug-ins: shared objects that export one module descriptor, and the host services that they call. */
#ifndef VY_DRIVER_PLUGIN_H
#define VY_DRIVER_PLUGIN_H

#include "vyre/backend.h"
#include "vyre/registry.h"

#include <limits.h>

/* Checks a file before the dynamic loader opens it: its path is trusted (base/trusted_path.h), and it is a complete ELF
 * shared object for this machine. The loader reports these cases poorly, and a truncated file would end the process
 * with SIGBUS. */
vyre_status vy_plugin_check_file(const char *path, vyre_error *error);

/* The implementation of vyre_plugins_load_all: the files of a folder (its path ends in a slash) in order of name, then
 * the paths of a list (may be NULL). */
size_t vy_plugins_load_from(const char *folder, const char *list, vyre_plugin_report *report, void *user);
/* The same paths in the same order, reported and not loaded. folder may be NULL. */
void vy_plugins_find(const char *folder, const char *list, vyre_plugin_report *report, void *user);
/* The folder of installed plug-ins, with a trailing slash. */
const char *vy_plugin_folder(void);

/* Finds a file of the build tree that contains this program, by its path relative to the tree ("plugins/x.so"). Returns
 * 0 if it does not exist. Only programs and the shared library of the build tree define the function (src/development);
 * in an installed library it is NULL. */
__attribute__((weak, visibility("hidden"))) int vy_build_tree_find(const char *file, char path[PATH_MAX]);

/* Host services: the function table passed to every backend (vyre/backend.h). */
extern const vyre_host vy_host_services;

/* Runs a launch with the reference interpreter. The arguments are reconstructed from the launch, which specifies every
 * count and the grid. `before` (optional) has one address per buffer: the initial contents of a `write` buffer, instead
 * of zeros. Used by the host's reference_dispatch and the reference backend. */
struct vyre_oracle;
vyre_status vy_host_run_oracle(const struct vyre_oracle *oracle, const vyre_launch *launch, const vyre_span *inputs,
                               size_t input_count, const void *const *before, vyre_bytes *outputs, vyre_error *error);

#endif
