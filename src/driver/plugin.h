/* Plug-ins: shared objects that export one module descriptor. */
#ifndef VY_DRIVER_PLUGIN_H
#define VY_DRIVER_PLUGIN_H

#include "vyre/registry.h"

/* Looks at a file before the dynamic loader does: an ELF shared object for this machine, complete. The loader's own words for these cases
 * are few, and a truncated file would end the process with SIGBUS. */
vyre_status vy_plugin_check_file(const char *path, vyre_error *error);

/* What vyre_plugins_load_all does: files of a folder (its name ends in a slash) in order of name, then the paths of a list (may be NULL). */
size_t vy_plugins_load_from(const char *folder, const char *list, vyre_plugin_report *report, void *user);
/* The same paths in the same order, reported and not loaded. folder may be NULL. */
void vy_plugins_find(const char *folder, const char *list, vyre_plugin_report *report, void *user);
/* The folder of installed plug-ins, with its slash. */
const char *vy_plugin_folder(void);

#endif
