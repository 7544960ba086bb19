/* Plug-ins: shared objects that export one module descriptor. */
#ifndef VY_DRIVER_PLUGIN_H
#define VY_DRIVER_PLUGIN_H

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

#endif
