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
 * atomic load. If memory is out on the first call the list is empty, count is 0 and the next call tries again. Any thread. */
VYRE_API const vyre_backend_registration *const *vyre_backends(size_t *count);
VYRE_API const vyre_backend_registration *const *vyre_backends_by_precedence(size_t *count);
/* NULL if no backend of that id is registered. */
VYRE_API const vyre_backend_registration *vyre_backend_find(const char *id);
/* 1 if the backend declared that it dispatches; 0 also for an unknown id. */
VYRE_API int vyre_backend_dispatches(const char *id);
/* The declared rank; UINT32_MAX for a missing one and for an unknown id. */
VYRE_API uint32_t vyre_backend_precedence(const char *id);
/* Name of the module that registered the id ("libvyre", a path, an application's name); NULL if unknown. */
VYRE_API const char *vyre_backend_owner(const char *id);
/* The construct names a backend gets when it names none. */
VYRE_API const char *const *vyre_core_supported_ops(size_t *count);

/* Adds an application's records. The descriptor and all it names must stay for the life of the process. Adding the same one again is
 * fine.
 *
 * VYRE_DUPLICATE     an id is taken: names both owners; nothing was added
 * VYRE_ABI_MISMATCH  made for a contract this library does not speak
 * VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_module_register(const vyre_module_descriptor *module, vyre_error *error);

/* Loads a plug-in: an absolute path to a shared object that exports VYRE_PLUGIN("name"). It is never unloaded. Blocks while the dynamic loader
 * works; the plug-in's own initialisers run. Loading it again is fine.
 *
 * VYRE_INVALID_ARGUMENT  the path is not absolute
 * VYRE_NOT_FOUND         no such file, or it lacks the entry symbol
 * VYRE_ABI_MISMATCH      too old, too new, short struct, wrong architecture: says which
 * VYRE_DUPLICATE, VYRE_IO, VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_plugin_load(const char *path, vyre_error *error);

/* Loads every plug-in of the installed folder (libdir/vyre/, files ending in .so) and of VYRE_PLUGINS (absolute paths separated by ':', ignored in
 * set-user-id programs). Called once by the first selection; calling it earlier is fine. Failures do not stop it: each is reported to `report`
 * (optional), and to `vyre doctor`. Returns the number loaded. */
typedef void vyre_plugin_report(void *user, const char *path, vyre_status status, const vyre_error *error);
VYRE_API size_t vyre_plugins_load_all(vyre_plugin_report *report, void *user);

#ifdef __cplusplus
}
#endif
#endif
