/* The cost of a hit of the disk cache, compared with a plain open, read and close of the same file; of a miss, a store,
 * and a key.
 *
 * usage: cache [--json]. Microseconds of one call, the median and the best of several rounds; files are in the page
 * cache. Hits and plain reads alternate, so that other load affects both. The folder is created in $TMPDIR, or /tmp. */
#include "driver/cache_disk.h"
#include "driver/cache_entry.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, MOST = 1 << 20 };

static char folder[PATH_MAX];
static vyre_bytes loaded = VYRE_BYTES_INIT;
static uint8_t payload[MOST], plain[MOST + 1024];

typedef struct subject {
    vy_cache_key key, absent;
    size_t size;
    char path[PATH_MAX + VY_CACHE_ENTRY_NAME];
} subject;

/* ---- the measured operations: each returns 0 if it failed ---- */

static int hit(const subject *s) {
    return vy_disk_cache_load(&s->key, &loaded) == VYRE_OK && loaded.size == s->size;
}

static int plain_read(const subject *s) {
    int file = open(s->path, O_RDONLY | O_CLOEXEC);
    ssize_t count = read(file, plain, sizeof plain);
    return close(file) == 0 && count > (ssize_t)s->size;
}

static int miss(const subject *s) {
    return vy_disk_cache_load(&s->absent, &loaded) == VYRE_NOT_FOUND;
}

static int store(const subject *s) {
    vy_disk_cache_store(&s->key, "bench:0000", (vyre_span){payload, s->size});
    return 1;
}

static int make_key(const subject *s) {
    const vy_cache_parts parts = {.program = s->key.digest, .backend = "bench", .identity = {payload, 100}};
    vy_cache_key key;
    vy_cache_key_make(&parts, &key);
    return key.digest.bytes[0] != s->key.digest.bytes[0] || key.digest.bytes[1] != s->key.digest.bytes[1];
}

/* ---- measuring ---- */

typedef int operation(const subject *s);
typedef struct times {
    double microseconds[ROUNDS];
} times;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int failed;
static void measure(operation *run, const subject *s, unsigned calls, times *out, int round) {
    double start = now();
    for (unsigned i = 0; i < calls; i++)
        failed |= !run(s);
    out->microseconds[round] = (now() - start) / calls;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(times *t) {
    qsort(t->microseconds, ROUNDS, sizeof *t->microseconds, ascending);
    return t->microseconds[ROUNDS / 2];
}

static int json, rows;
static void print_row(const char *what, size_t size, times *t, double against) {
    double middle = median(t);
    printf(json ? "%s  {\"what\": \"%s\", \"bytes\": %zu, \"us\": %.3f, \"best_us\": %.3f"
                : "%s%-12s %8zu bytes %10.3f us (best %.3f)",
           json && rows++ ? ",\n" : "", what, size, middle, t->microseconds[0]);
    if (against > 0)
        printf(json ? ", \"ratio\": %.2f" : "  %.2f times a plain read", middle / against);
    printf(json ? "}" : "\n");
}

static void measure_size(size_t size) {
    static times hits, reads, misses, stores;
    const unsigned calls = size >= MOST ? 20 : 200;
    subject s = {.size = size};
    char name[VY_CACHE_ENTRY_NAME];
    vy_cache_key_make(&(vy_cache_parts){.backend = "bench", .identity = {&size, sizeof size}}, &s.key);
    vy_cache_key_make(&(vy_cache_parts){.backend = "absent", .identity = {&size, sizeof size}}, &s.absent);
    vy_cache_entry_name(&s.key, name);
    snprintf(s.path, sizeof s.path, "%s/%s", folder, name);
    store(&s);
    for (int round = 0; round < ROUNDS; round++) {
        measure(hit, &s, calls, &hits, round);
        measure(plain_read, &s, calls, &reads, round);
        measure(miss, &s, calls, &misses, round);
        measure(store, &s, calls, &stores, round);
    }
    double against = median(&reads);
    print_row("plain read", size, &reads, 0);
    print_row("hit", size, &hits, against);
    print_row("miss", size, &misses, 0);
    print_row("store", size, &stores, 0);
}

int main(int count, char **arguments) {
    static const size_t sizes[] = {4 << 10, 64 << 10, MOST};
    static times keys;
    const char *parent = getenv("TMPDIR");
    json = count > 1 && strcmp(arguments[1], "--json") == 0;
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 2654435761u >> 13);
    snprintf(folder, sizeof folder, "%s/vyre-bench-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder) || vyre_cache_set_folder(folder, NULL) != VYRE_OK) {
        fprintf(stderr, "no folder can be made in %s\n", parent ? parent : "/tmp");
        return 1;
    }
    if (json)
        printf("{\"unit\": \"microseconds per call, median of %d rounds\", \"rows\": [\n", (int)ROUNDS);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        measure_size(sizes[i]);
    for (int round = 0; round < ROUNDS; round++)
        measure(make_key, &(subject){.size = 1}, 2000, &keys, round);
    print_row("key", 0, &keys, 0);
    if (json)
        printf("\n]}\n");
    vyre_bytes_free(&loaded);
    if (vyre_cache_clear(NULL, NULL, NULL, NULL) != VYRE_OK || rmdir(folder) != 0 || failed) {
        fprintf(stderr, failed ? "a call did not do what it should\n" : "the folder cannot be removed\n");
        return 1;
    }
    return 0;
}
