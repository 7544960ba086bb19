/* The cost of acquiring a guard, looking up an op by its interned id and releasing the guard, on one and more threads,
 * with and without a writer that installs a new snapshot ten thousand times per second. Compared with a mutex, a
 * read-write lock and a shared count on the same table.
 *
 *   guard           vyre_dialects_acquire, vyre_dialects_lookup, vyre_dialects_release
 *   counted guard   the same when the slots of the thread are in use: a count in the snapshot
 *   mutex, rwlock   lock, look up, unlock: without a guard that outlives the lock, the best case for a lock
 *   shared count    a count next to the pointer, changed by compare-and-swap, as in a replaceable shared_ptr
 *
 * usage: dialect [--json]. Nanoseconds of one round trip as each thread sees it, of the slowest thread in the best
 * round. */
#include "base/thread.h"
#include "dialect/registry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { OPS = 256, CALLS = 200000, ROUNDS = 9, MAX_THREADS = 64, PAUSE_NS = 100000 };

static vyre_op_id ids[OPS];

/* ---- the table ---- */

static vyre_status change(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    static char names[OPS][32];
    static vyre_op_definition definitions[OPS];
    static const vyre_op_definition *list[OPS];
    (void)user;
    for (unsigned i = 0; i < OPS; i++) {
        snprintf(names[i], sizeof names[i], "bench.op%u", i);
        definitions[i] = (vyre_op_definition){
            .struct_size = sizeof definitions[i], .category = VYRE_CATEGORY_EXTENSION, .id = names[i]};
        list[i] = &definitions[i];
    }
    const vyre_dialect dialect = {.struct_size = sizeof dialect, .name = "bench", .owner = "bench"};
    return vyre_dialect_builder_replace(builder, &dialect, list, OPS, error);
}

/* Another snapshot of the registered ops, not published. */
static vyre_snapshot *copy_snapshot(void) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_snapshot *from = guard.snapshot;
    vyre_snapshot *copy = NULL;
    if (from)
        (void)vy_snapshot_build(from->ops, from->op_count, from->dialects, from->dialect_count, from->generation, 0,
                                &copy, NULL);
    vyre_dialects_release(&guard);
    return copy;
}

/* ---- the variants ---- */

typedef struct way {
    const char *name;
    uintptr_t (*run)(
        void); /* CALLS round trips: a separate loop per variant, so that no call through a pointer is measured */
    void (*install)(void); /* as a builder does: the snapshot is made outside the lock */
} way;

#define RUN(read)                                                                                                      \
    static uintptr_t run_##read(void) {                                                                                \
        uintptr_t sum = 0;                                                                                             \
        for (unsigned i = 0; i < CALLS; i++)                                                                           \
            sum += read(ids[i % OPS]);                                                                                 \
        return sum;                                                                                                    \
    }

static inline uintptr_t read_guard(vyre_op_id id) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    uintptr_t found = (uintptr_t)vyre_dialects_lookup(guard, id);
    vyre_dialects_release(&guard);
    return found;
}

static inline uintptr_t read_counted(vyre_op_id id) {
    vy_hazard_guard pin = vy_hazard_pin_counted(&vy_dialects);
    uintptr_t found = (uintptr_t)vy_snapshot_lookup((const vyre_snapshot *)pin.object, id);
    vy_hazard_release(&vy_dialects, pin);
    return found;
}

static void install_ours(void) {
    vyre_dialect_builder *builder;
    if (vyre_dialect_builder_new(&builder, NULL) == VYRE_OK)
        (void)vyre_dialects_install(builder, NULL);
    vyre_dialect_builder_free(builder);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static vyre_snapshot *locked;

static inline uintptr_t read_mutex(vyre_op_id id) {
    pthread_mutex_lock(&mutex);
    uintptr_t found = (uintptr_t)vy_snapshot_lookup(locked, id);
    pthread_mutex_unlock(&mutex);
    return found;
}

static void install_mutex(void) {
    vyre_snapshot *next = copy_snapshot();
    pthread_mutex_lock(&mutex);
    vyre_snapshot *old = locked;
    locked = next;
    pthread_mutex_unlock(&mutex);
    vy_snapshot_free(old);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static inline uintptr_t read_rwlock(vyre_op_id id) {
    pthread_rwlock_rdlock(&rwlock);
    uintptr_t found = (uintptr_t)vy_snapshot_lookup(locked, id);
    pthread_rwlock_unlock(&rwlock);
    return found;
}

static void install_rwlock(void) {
    vyre_snapshot *next = copy_snapshot();
    pthread_rwlock_wrlock(&rwlock);
    vyre_snapshot *old = locked;
    locked = next;
    pthread_rwlock_unlock(&rwlock);
    vy_snapshot_free(old);
}

/* Guards that were acquired through the word are counted in its high bits until the word is replaced; then in the
 * snapshot. */
#define ONE ((uint64_t)1 << 48)
static _Alignas(128) _Atomic uint64_t word;

static vyre_snapshot *pointer_of(uint64_t value) {
    return (vyre_snapshot *)(uintptr_t)(value & (ONE - 1));
}

static inline uintptr_t read_shared(vyre_op_id id) {
    vyre_snapshot *snapshot = pointer_of(atomic_fetch_add(&word, ONE));
    uintptr_t found = (uintptr_t)vy_snapshot_lookup(snapshot, id);
    uint64_t seen = atomic_load(&word);
    while (pointer_of(seen) == snapshot)
        if (atomic_compare_exchange_weak(&word, &seen, seen - ONE))
            return found;
    if (atomic_fetch_sub(&snapshot->pinned.holds, 1) == 1)
        vy_snapshot_free(snapshot);
    return found;
}

static void install_shared(void) {
    uint64_t old = atomic_exchange(&word, (uint64_t)(uintptr_t)copy_snapshot());
    size_t taken = (size_t)(old >> 48);
    if (atomic_fetch_add(&pointer_of(old)->pinned.holds, taken) + taken == 0)
        vy_snapshot_free(pointer_of(old));
}

RUN(read_guard)
RUN(read_counted)
RUN(read_mutex)
RUN(read_rwlock)
RUN(read_shared)

/* ---- measuring ---- */

typedef struct worker {
    _Alignas(128) const way *way;
    double seconds;
    uintptr_t sum;
} worker;

static pthread_barrier_t together;
static atomic_int writing;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *work(void *argument) {
    worker *worker = argument;
    pthread_barrier_wait(&together);
    double start = now();
    worker->sum = worker->way->run();
    worker->seconds = now() - start;
    return NULL;
}

static void *keep_installing(void *argument) {
    const way *way = argument;
    const struct timespec pause = {0, PAUSE_NS};
    while (atomic_load(&writing)) {
        way->install();
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static double one_round(const way *way, unsigned threads) {
    static worker workers[MAX_THREADS];
    pthread_t others[MAX_THREADS];
    pthread_barrier_init(&together, NULL, threads);
    for (unsigned i = 0; i < threads; i++)
        workers[i] = (worker){.way = way};
    for (unsigned i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, &workers[i]) != 0)
            return 1e9;
    work(&workers[0]);
    double slowest = workers[0].seconds;
    for (unsigned i = 1; i < threads; i++) {
        pthread_join(others[i], NULL);
        slowest = workers[i].seconds > slowest ? workers[i].seconds : slowest;
    }
    pthread_barrier_destroy(&together);
    return slowest;
}

static double measure(const way *way, unsigned threads, int with_writer) {
    pthread_t writer;
    double best = 1e9;
    atomic_store(&writing, with_writer);
    int started = with_writer && pthread_create(&writer, NULL, keep_installing, (void *)(uintptr_t)way) == 0;
    for (int round = 0; round < ROUNDS; round++) {
        double seconds = one_round(way, threads);
        best = seconds < best ? seconds : best;
    }
    atomic_store(&writing, 0);
    if (started)
        pthread_join(writer, NULL);
    return best / CALLS;
}

int main(int count, char **arguments) {
    const int json = count > 1 && strcmp(arguments[1], "--json") == 0;
    static const way ways[] = {{"guard", run_read_guard, install_ours},
                               {"counted guard", run_read_counted, install_ours},
                               {"mutex", run_read_mutex, install_mutex},
                               {"rwlock", run_read_rwlock, install_rwlock},
                               {"shared count", run_read_shared, install_shared}};
    enum { WAYS = sizeof ways / sizeof *ways };
    vyre_error error;
    if (vyre_dialects_update(change, NULL, &error) != VYRE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (unsigned i = 0; i < OPS; i++) {
        char name[32];
        snprintf(name, sizeof name, "bench.op%u", i);
        ids[i] = vyre_op_find_id(name, strlen(name));
    }
    locked = copy_snapshot();
    atomic_store(&word, (uint64_t)(uintptr_t)copy_snapshot());
    const unsigned cores = vy_cpu_count() < MAX_THREADS ? vy_cpu_count() : MAX_THREADS, sets[] = {1, 2, cores};
    const unsigned set_count = cores > 2 ? 3 : 2;
    printf(json ? "{\"unit\": \"nanoseconds per guard, lookup and release\", \"ops\": %d, \"cores\": %u, \"rows\": [\n"
                : "%d ops, %u cores; ns per guard, lookup and release\n",
           (int)OPS, cores);
    for (int i = 0; i < WAYS; i++)
        for (unsigned set = 0; set < set_count; set++)
            for (int writer = 0; writer < 2; writer++)
                printf(json ? "  {\"what\": \"%s\", \"threads\": %u, \"writer\": %s, \"ns\": %.2f}%s\n"
                            : "%-14s %2u thread(s)%s %8.2f%s\n",
                       ways[i].name, sets[set], json ? (writer ? "true" : "false") : (writer ? ", writer" : "        "),
                       measure(&ways[i], sets[set], writer) * 1e9,
                       json && (i + 1 < WAYS || set + 1 < set_count || !writer) ? "," : "");
    if (json)
        printf("]}\n");
    return 0;
}
