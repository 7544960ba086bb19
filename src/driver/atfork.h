/* Fork handlers of the driver: which inherited objects a child process may use.
 *
 * A child of fork has one thread. A lock of an object may be held by a thread that does not exist in the child, so no
 * call may acquire it. Backends, all objects that belong to them, and completion queues are therefore usable only in
 * the process that created them. The handler marks every inherited object before fork returns, and every call checks
 * the mark first. Inherited objects are never freed.
 *
 * Process-wide state stays usable. Its locks are held during fork: those of trace, cache folder and probes here, that
 * of the log sink in base/diagnostics.c, and those of dialects in dialect/registry.h. A thread that holds one of them
 * acquires no other lock. */
#ifndef VY_DRIVER_ATFORK_H
#define VY_DRIVER_ATFORK_H

#include "vyre/base.h"

#include <stdatomic.h>

/* The part of an object that binds it to its process. Starts zeroed. */
typedef struct vy_process_bound {
    _Atomic int is_inherited;
    long process; /* the creating process */
    struct vy_process_bound *previous, *next;
    void (*inherit)(struct vy_process_bound
                        *bound); /* in the child, before fork returns; may be NULL. Only async-signal-safe calls */
} vy_process_bound;

/* Binds an object to this process. VYRE_NO_MEMORY: the handlers could not be installed, and the object is not bound. */
vyre_status vy_process_bind(vy_process_bound *bound, vyre_error *error);
/* Before the object is freed. One that was not bound is ignored. */
void vy_process_unbind(vy_process_bound *bound);

static inline int vy_process_is_other(const vy_process_bound *bound) {
    return __builtin_expect(atomic_load_explicit(&bound->is_inherited, memory_order_relaxed), 0);
}

/* Installs the handlers, once. Returns 0 if out of memory. */
int vy_atfork_install(void);

/* ---- locks of the process: telemetry.c, cache_disk.c, select.c ---- */

void vy_trace_before_fork(void);
void vy_trace_after_fork(int is_child);
void vy_cache_folder_before_fork(void);
void vy_cache_folder_after_fork(void);
void vy_probe_before_fork(void);
void vy_probe_after_fork(int is_child);

#endif
