/* The registry: which backends this process knows. Reading touches no driver, takes no lock and allocates nothing after the first call.
 *
 * Records come from modules: libvyre's own, those an application hands over, and plug-ins. Adding a module publishes a new list; lists already
 * returned never change and stay valid for ever. */
#ifndef VYRE_REGISTRY_H
#define VYRE_REGISTRY_H

#include "vyre/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All registrations in unspecified order, and sorted by (rank, id). The first call freezes the list (it may allocate); later ones are one
 * atomic load. If memory is out on the first call the list is empty, count is 0 and the next call tries again. count
 * may be NULL. Any thread. */
VYRE_API const vyre_backend_registration *const *vyre_backends(size_t *count);
VYRE_API const vyre_backend_registration *const *vyre_backends_by_precedence(size_t *count);
/* NULL if no backend of that id is registered. */
VYRE_API const vyre_backend_registration *vyre_backend_find(const char *id);
/* 1 if the backend declared that it dispatches; 0 also for an unknown id. */
VYRE_API int vyre_backend_dispatches(const char *id);
/* The declared rank, whether or not such a backend is there; UINT32_MAX for a missing one and for an unknown id. */
VYRE_API uint32_t vyre_backend_precedence(const char *id);
/* Name of the module that registered the backend ("libvyre", a path, an application's name); NULL if unknown. Stays valid. */
VYRE_API const char *vyre_backend_owner(const char *id);
/* The construct names a backend gets when it names none: all but subgroup collectives and the grid barrier. count may
 * be NULL. */
VYRE_API const char *const *vyre_core_supported_ops(size_t *count);

/* Adds an application's records. The descriptor and all it names must stay for the life of the process. Adding the same one again is
 * fine. Any thread. All or nothing: after a failure none of the records is there.
 *
 * VYRE_DUPLICATE         an id is taken: names both owners
 * VYRE_ABI_MISMATCH      made for a contract this library does not speak, or too short
 * VYRE_INVALID_ARGUMENT  no name, an id that is missing or not one, no constructor, bounds that are not bounds
 * VYRE_LIMIT             more records than any module has
 * VYRE_NO_MEMORY, and what the module's initialiser returns */
VYRE_API vyre_status vyre_module_register(const vyre_module_descriptor *module, vyre_error *error);

/* Loads a plug-in: an absolute path to a shared object that exports VYRE_PLUGIN("name"). It is never unloaded. Blocks while the dynamic loader
 * works; the plug-in's own initialisers run. Loading it again is fine. Any thread; no lock is held.
 *
 * VYRE_INVALID_ARGUMENT  the path is not absolute, or as for modules
 * VYRE_NOT_FOUND         no such file, or it lacks the entry symbol
 * VYRE_CORRUPT           not an ELF shared object, or cut short
 * VYRE_ABI_MISMATCH      too old, too new, short struct, wrong architecture: says which
 * VYRE_IO                it cannot be read; a user other than that of the process and root can change it, or replace it through a folder
 *                        above it (the message names the component, the fix what to change); or the dynamic loader refuses it
 * and whatever vyre_module_register returns */
VYRE_API vyre_status vyre_plugin_load(const char *path, vyre_error *error);

/* Loads every plug-in of the installed folder (libdir/vyre/, files ending in .so) and of VYRE_PLUGINS (absolute paths separated by ':', ignored in
 * set-user-id programs). Calling it again is fine. Failures do not stop it. `report` (optional) hears of every plug-in; error is NULL for one that
 * was loaded. Returns the number of plug-ins that are there now. */
typedef void vyre_plugin_report(void *user, const char *path, vyre_status status, const vyre_error *error);
VYRE_API size_t vyre_plugins_load_all(vyre_plugin_report *report, void *user);

#ifdef __cplusplus
}
#endif
#endif
