/* The registry of backends in this process. Records come from modules: libvyre itself, modules that the application
 * registers, and plug-ins. Adding a module publishes a new list; lists returned before never change and stay valid
 * forever.
 *
 * Threads:   any thread, concurrently.
 * Blocking:  reading accesses no driver, acquires no lock, and allocates only in the first call. */
#ifndef VYRE_REGISTRY_H
#define VYRE_REGISTRY_H

#include "vyre/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All registered backends, in unspecified order (vyre_backends) or sorted by rank, then id. The first call builds the
 * list; later ones are one atomic load. If the first call is out of memory, the list is empty, count is 0 and the next
 * call tries again. count may be NULL. */
VYRE_API const vyre_backend_registration *const *vyre_backends(size_t *count);
VYRE_API const vyre_backend_registration *const *vyre_backends_by_precedence(size_t *count);
/* Finds a backend by id; NULL if not registered. */
VYRE_API const vyre_backend_registration *vyre_backend_find(const char *id);
/* 1 if the backend declares that it dispatches; 0 otherwise, also for an unknown id. */
VYRE_API int vyre_backend_dispatches(const char *id);
/* The declared rank of an id, even if no such backend is registered; UINT32_MAX if no rank is declared. */
VYRE_API uint32_t vyre_backend_precedence(const char *id);

/* The name of the module that registered the backend ("libvyre", a path, an application's name), valid forever; NULL if
 * unknown. */
VYRE_API const char *vyre_backend_owner(const char *id);

/* The core set: the names of all language constructs except subgroup collectives and the grid barrier. A backend that
 * does not list its ops supports these, plus the exceptions that its capabilities subgroup_ops and grid_sync declare.
 * count may be NULL. */
VYRE_API const char *const *vyre_core_supported_ops(size_t *count);

/* Registers the records of a module of the application. All or nothing. Registering the same module again has no
 * effect.
 *
 * module  The descriptor, and everything that it points to, must stay valid for the life of the process.
 *
 * VYRE_DUPLICATE         an id is already registered; the error names both owners
 * VYRE_CONFLICT          another owner provides a dialect of the module
 * VYRE_ABI_MISMATCH      built for another version of the contract, or a struct is too short
 * VYRE_INVALID_ARGUMENT  a missing name; a missing or invalid id; a missing constructor; invalid bounds
 * VYRE_LIMIT             more than 1,024 records of one kind
 * VYRE_NO_MEMORY         out of host memory
 * other                  any status of the module's initialiser */
VYRE_API vyre_status vyre_module_register(const vyre_module_descriptor *module, vyre_error *error);

/* Loads a plug-in: a shared object that exports VYRE_PLUGIN("name"). It is never unloaded. Loading it again has no
 * effect.
 *
 * path  An absolute path.
 *
 * Blocking:  blocks while the dynamic loader works. The plug-in's initialisers run; no lock is held.
 *
 * VYRE_INVALID_ARGUMENT  the path is not absolute, or as for vyre_module_register
 * VYRE_NOT_FOUND         the file does not exist, or lacks the entry symbol
 * VYRE_CORRUPT           not an ELF shared object, or truncated
 * VYRE_ABI_MISMATCH      too old, too new, a short struct, or the wrong architecture; the error states which
 * VYRE_IO                the file cannot be read; a user other than root and the user of the process can change it, or
 *                        replace it through a parent folder (the message names the component, the fix the change); or
 *                        the dynamic loader rejects it
 * other                  any status of vyre_module_register */
VYRE_API vyre_status vyre_plugin_load(const char *path, vyre_error *error);

/* Receives the result of one plug-in. error is NULL if it was loaded. */
typedef void vyre_plugin_report(void *user, const char *path, vyre_status status, const vyre_error *error);

/* Loads every plug-in of the installed folder (libdir/vyre/, files ending in .so) and of the environment variable
 * VYRE_PLUGINS (absolute paths separated by ':', ignored in set-user-id programs). A failure does not stop the loading.
 * May be called again.
 *
 * report  Optional; called for every plug-in.
 *
 * Returns the number of plug-ins loaded, now or before. */
VYRE_API size_t vyre_plugins_load_all(vyre_plugin_report *report, void *user);

#ifdef __cplusplus
}
#endif
#endif
