/* Counters: the one state of the process beside the allocator and the registry.
 *
 * Threads spread over shards, each on cache lines of its own, so that dispatching on many threads does not meet in one line. The first
 * threads have one to themselves, for ever, and add without a locked instruction; those that come later share some. A value is the sum over
 * the shards, modulo 2^64: a gauge may rise in one shard and fall in another. */
#include "driver/counters.h"

#include "base/string.h"
#include "base/thread.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

enum { OWNED = 16, SHARED = 16, SHARDS = OWNED + SHARED };

static struct shard { alignas(128) _Atomic uint64_t values[VY_COUNTER_COUNT]; } shards[SHARDS];

_Thread_local _Atomic uint64_t *vy_counters_own;

void vy_count_shared(vy_counter counter, uint64_t amount) {
    uint64_t thread = vy_thread_number();
    struct shard *shard = &shards[thread < OWNED ? thread : OWNED + thread % SHARED];
    if (thread < OWNED)
        vy_counters_own = shard->values;
    atomic_fetch_add_explicit(&shard->values[counter], amount, memory_order_relaxed);
}

static uint64_t total(vy_counter counter) {
    uint64_t sum = 0;
    for (int i = 0; i < SHARDS; i++)
        sum += atomic_load_explicit(&shards[i].values[counter], memory_order_relaxed);
    return sum;
}

void vyre_counters_read(vyre_counters *out, size_t size) {
    if (!out)
        return;
    vyre_counters all = {
#define X(name, kind, doc) .name = total(VY_COUNTER_##name),
        VYRE_COUNTER_LIST(X)
#undef X
    };
    memset(out, 0, size);
    memcpy(out, &all, size < sizeof all ? size : sizeof all);
}

vyre_status vyre_counters_prometheus(vyre_bytes *out, vyre_error *error) {
    VY_REQUIRE(error, out);
    static const struct {
        const char *name, *kind, *suffix, *doc;
    } rows[VY_COUNTER_COUNT] = {
#define SUFFIX_counter "_total"
#define SUFFIX_gauge ""
#define X(name, kind, doc) {#name, #kind, SUFFIX_##kind, doc},
        VYRE_COUNTER_LIST(X)
#undef X
    };
    vy_string text = {0};
    for (int i = 0; i < VY_COUNTER_COUNT; i++)
        vy_string_format(&text, "# HELP vyre_%s%s %s\n# TYPE vyre_%s%s %s\nvyre_%s%s %" PRIu64 "\n", rows[i].name,
                         rows[i].suffix, rows[i].doc, rows[i].name, rows[i].suffix, rows[i].kind, rows[i].name,
                         rows[i].suffix, total((vy_counter)i));
    return vy_string_to_bytes(&text, out, error);
}
