/* Figures and limits of the caches, and the ban on compiling: words of the process, each atomic on its own. */
#include "driver/cache_disk.h"

#include "base/env.h"
#include "base/thread.h"

#include <stdatomic.h>

static _Atomic uint64_t figures[VY_CACHE_STAT_COUNT];
static _Atomic uint64_t disk_limit = (uint64_t)1 << 30;
static _Atomic uint32_t memory_limit = 256;

void vy_cache_count(vy_cache_stat figure, uint64_t amount) {
    atomic_fetch_add_explicit(&figures[figure], amount, memory_order_relaxed);
}

void vyre_cache_get_stats(vyre_cache_stats *out) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!out)
        return;
#define X(name, doc) out->name = atomic_load_explicit(&figures[VY_CACHE_##name], memory_order_relaxed);
    VYRE_CACHE_STATS_LIST(X)
#undef X
}

void vyre_cache_set_disk_limit(uint64_t bytes) {
    VY_SCOPED_CANCELLATION_DISABLE();
    atomic_store(&disk_limit, bytes);
}

uint64_t vy_cache_disk_limit(void) {
    return atomic_load(&disk_limit);
}

void vyre_cache_set_memory_limit(uint32_t entries) {
    VY_SCOPED_CANCELLATION_DISABLE();
    atomic_store(&memory_limit, entries);
}

uint32_t vy_cache_memory_limit(void) {
    return atomic_load(&memory_limit);
}

/* ---- the ban ---- */

enum { ALLOWED, FORBIDDEN, BY_ENVIRONMENT };
static atomic_int ban = BY_ENVIRONMENT;

void vyre_cache_forbid_compile(int forbid) {
    VY_SCOPED_CANCELLATION_DISABLE();
    atomic_store(&ban, forbid < 0 ? BY_ENVIRONMENT : forbid ? FORBIDDEN : ALLOWED);
}

int vy_compile_forbidden(void) {
    int now = atomic_load(&ban);
    return now == BY_ENVIRONMENT ? vy_env_flag("VYRE_FORBID_COMPILE", 0) : now == FORBIDDEN;
}
