/* Fork handlers of the driver: what a child process may use of what it inherits.
 *
 * A child made by fork has one thread. The threads of the library are gone, and a lock of an object may be held by a thread that is gone, so no
 * call may take it. Backends, with all that belongs to them, and queues of completions are therefore usable only in the process that made
 * them: the handler marks every inherited one before fork returns, and calls look at the mark first. Inherited objects are never freed.
 *
 * State of the process itself stays usable: its locks (trace, cache folder, probes; that of the log sink in base/log.c; those of dialects in dialect/registry.h) are held while
 * the process is copied. No thread that holds one of them waits for another lock. */
#ifndef VY_DRIVER_ATFORK_H
#define VY_DRIVER_ATFORK_H

#include "vyre/base.h"

#include <stdatomic.h>

/* What an object has that does not survive fork. Starts zeroed. */
typedef struct vy_process_bound {
    _Atomic int is_inherited;
    long process; /* that made it */
    struct vy_process_bound *previous, *next;
    void (*inherit)(struct vy_process_bound
                        *bound); /* in the child, before fork returns; may be NULL. Only async-signal-safe calls */
} vy_process_bound;

/* Binds an object to this process. VYRE_NO_MEMORY: there are no handlers, and it is not bound. */
vyre_status vy_process_bind(vy_process_bound *bound, vyre_error *error);
/* Before the object is freed. One that was not bound is ignored. */
void vy_process_unbind(vy_process_bound *bound);

static inline int vy_process_is_other(const vy_process_bound *bound) {
    return __builtin_expect(atomic_load_explicit(&bound->is_inherited, memory_order_relaxed), 0);
}

/* Installs the handlers, once; 0 when memory is out. */
int vy_atfork_install(void);

/* ---- locks of the process: trace.c, cache_folder.c, probe.c ---- */

void vy_trace_before_fork(void);
void vy_trace_after_fork(int is_child);
void vy_cache_folder_before_fork(void);
void vy_cache_folder_after_fork(void);
void vy_probe_before_fork(void);
void vy_probe_after_fork(int is_child);

#endif
