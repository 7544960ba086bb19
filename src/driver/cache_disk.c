/* Disk cache of compiled pipelines: configuration, folder, eviction, load, store and write-back (cache_disk.h).
 *
 * The folder's path is process-wide state under a lock that is never held during disk access or a call of the log sink.
 *
 * Eviction is probabilistic. Listing the folder at every store would make n stores quadratic, and a shared size counter
 * would need locks between processes. So a store checks the size with probability size / (limit / 64): about limit / 64
 * bytes are added between two checks, whatever the number of processes. A check evicts down to 7/8 of the limit, which
 * leaves room for eight times that amount. The key, a digest, serves as the random number. */
#include "driver/cache_disk.h"

#include "base/diagnostics.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/trusted_path.h"
#include "driver/atfork.h"
#include "driver/pipeline.h"
#include "driver/telemetry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- statistics and limits ---- */

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

/* ---- forbidding compiles ---- */

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

/* ---- the folder ---- */

/* Kinds of problems. Each is reported once per configured folder. */
typedef enum cache_problem {
    PROBLEM_FOLDER, /* missing or not usable */
    PROBLEM_WRITE,  /* an entry could not be written */
    PROBLEM_ENTRY,  /* an entry is damaged */
    PROBLEM_EVICT,  /* the size limit could not be enforced */
} cache_problem;

static pthread_mutex_t folder_lock = PTHREAD_MUTEX_INITIALIZER;
static int is_known;            /* 0: the environment is read at the next use */
static char path_now[PATH_MAX]; /* "" = off */
static atomic_uint reported;    /* problems reported since the folder was set, one bit each */

void vy_cache_folder_before_fork(void) {
    pthread_mutex_lock(&folder_lock);
}

void vy_cache_folder_after_fork(void) {
    pthread_mutex_unlock(&folder_lock);
}

static const char *errno_text(int number) {
#ifdef __GLIBC__
    const char *text = strerrordesc_np(number);
    return text ? text : "unknown error";
#else
    return strerror(number);
#endif
}

static __attribute__((format(printf, 2, 3))) void report_once(cache_problem trouble, const char *format, ...) {
    char message[512 + PATH_MAX];
    va_list arguments;
    if (atomic_fetch_or(&reported, 1u << trouble) & 1u << trouble)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    vy_log(1, "cache", message);
}

/* ---- path of the folder ---- */

/* Joins two paths. Returns 0, with an empty result, if it does not fit. Trailing slashes, which would follow a symbolic
 * link, are removed. */
static int join_path(char out[PATH_MAX], const char *first, const char *second) {
    int length = snprintf(out, PATH_MAX, "%s%s", first, second);
    if (length < 0 || length >= PATH_MAX) {
        out[0] = 0; /* do not use a truncated path */
        return 0;
    }
    while (length > 1 && out[length - 1] == '/')
        out[--length] = 0;
    return 1;
}

/* Fills `out`, "" for none. Returns the reason why there is none, or NULL if the user disabled it. */
static const char *read_environment(char out[PATH_MAX]) {
    const char *own = secure_getenv("VYRE_CACHE_DIR"), *shared = secure_getenv("XDG_CACHE_HOME"),
               *home = secure_getenv("HOME");
    out[0] = 0;
    if (own && !*own)
        return NULL;
    if (own && *own != '/')
        return "VYRE_CACHE_DIR is not an absolute path";
    if (own)
        return join_path(out, own, "") ? NULL : "VYRE_CACHE_DIR is longer than the system allows";
    if (shared && *shared == '/' && join_path(out, shared, "/vyre")) /* the XDG specification ignores a relative path */
        return NULL;
    if (home && *home == '/' && join_path(out, home, "/.cache/vyre"))
        return NULL;
    out[0] = 0;
    return "neither VYRE_CACHE_DIR, XDG_CACHE_HOME nor HOME names a folder";
}

static void current_path(char out[PATH_MAX]) {
    const char *problem = NULL;
    pthread_mutex_lock(&folder_lock);
    if (!is_known) {
        problem = read_environment(path_now);
        is_known = 1;
    }
    memcpy(out, path_now, strlen(path_now) + 1);
    pthread_mutex_unlock(&folder_lock);
    if (problem)
        report_once(PROBLEM_FOLDER, "pipelines are not kept on disk: %s", problem);
}

vyre_status vyre_cache_set_folder(const char *path, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    char here[PATH_MAX] = "", whole[PATH_MAX] = "";
    if (path && *path && *path != '/' && !getcwd(here, sizeof here - 1))
        return vy_fail(error, VYRE_IO, "use an absolute path",
                       "the current directory has no path, so `%s` cannot be resolved", path);
    if (path && *path && !join_path(whole, *here ? strcat(here, "/") : "", path))
        return vy_fail(error, VYRE_LIMIT, "use a shorter path",
                       "the path of the cache folder is too long (limit %d bytes)", PATH_MAX - 1);
    pthread_mutex_lock(&folder_lock);
    is_known = path != NULL;
    memcpy(path_now, whole, sizeof whole);
    pthread_mutex_unlock(&folder_lock);
    atomic_store(&reported, 0);
    return VYRE_OK;
}

size_t vyre_cache_folder(char *buffer, size_t size) {
    VY_SCOPED_CANCELLATION_DISABLE();
    char path[PATH_MAX];
    current_path(path);
    if (buffer && size > 0)
        snprintf(buffer, size, "%s", path);
    return strlen(path);
}

/* ---- opening the folder ---- */

/* Entries are code that this process will run, so the path must be trusted. */
static vyre_status open_cache_folder(int create, int *folder, vyre_error *error) {
    char path[PATH_MAX];
    *folder = -1;
    current_path(path);
    if (!*path)
        return VYRE_OK;
    vyre_error why;
    vyre_status status = vy_trusted_folder_open(path, "cache folder", "set VYRE_CACHE_DIR to a folder that you own",
                                                create, folder, &why);
    if (status == VYRE_OK || (status == VYRE_NOT_FOUND && !create))
        return VYRE_OK;
    why.code = VYRE_IO;
    if (error)
        *error = why;
    return VYRE_IO;
}

/* ---- listing ---- */

static int compare_use(const void *left, const void *right) {
    const vy_cache_listing_entry *a = left, *b = right;
    if (a->used_ns != b->used_ns)
        return a->used_ns < b->used_ns ? 1 : -1;
    return memcmp(&a->key, &b->key, sizeof a->key);
}

static uint64_t nanoseconds(const struct timespec *time) {
    return time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* A file from the future is old, too: a clock was wrong. */
static void remove_if_old(int folder, const char *name, int64_t age) {
    struct stat facts;
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    int64_t old = (int64_t)time(NULL) - (int64_t)facts.st_mtim.tv_sec;
    if (old >= age || old <= -VY_CACHE_TEMPORARY_AGE)
        (void)unlinkat(folder, name, 0);
}

static int list_one(int folder, const char *name, vy_cache_listing *out) {
    vy_cache_key key;
    struct stat facts;
    if (!vy_cache_entry_name_parse(name, &key) || fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return 1;
    vy_cache_listing_entry *listed = VY_PUSH(&out->entries);
    if (!listed)
        return 0;
    *listed = (vy_cache_listing_entry){key, (uint64_t)facts.st_size, nanoseconds(&facts.st_mtim)};
    out->total += listed->size;
    return 1;
}

static vyre_status list_all(int folder, DIR *names, int64_t age, vy_cache_listing *out, vyre_error *error) {
    const struct dirent *entry;
    while (errno = 0, entry = readdir(names)) {
        if (strncmp(entry->d_name, VY_CACHE_TEMPORARY_PREFIX, sizeof VY_CACHE_TEMPORARY_PREFIX - 1) == 0) {
            if (age >= 0)
                remove_if_old(folder, entry->d_name, age);
        } else if (!list_one(folder, entry->d_name, out)) {
            return vy_fail_memory(error, "the list of cache entries");
        }
    }
    if (errno)
        return vy_fail(error, VYRE_IO, NULL, "the cache folder cannot be read: %s", errno_text(errno));
    return VYRE_OK;
}

vyre_status vy_cache_listing_make(int folder, int64_t age, vy_cache_listing *out, vyre_error *error) {
    *out = (vy_cache_listing){0};
    /* fdopendir owns its descriptor, and two streams of one descriptor would share a position. */
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = own >= 0 ? fdopendir(own) : NULL;
    if (!names) {
        vyre_status status = vy_fail(error, VYRE_IO, NULL, "the cache folder cannot be read: %s", errno_text(errno));
        if (own >= 0)
            close(own);
        return status;
    }
    vyre_status status = list_all(folder, names, age, out, error);
    closedir(names);
    if (status != VYRE_OK)
        vy_cache_listing_free(out);
    else if (out->entries.count)
        qsort(out->entries.items, out->entries.count, sizeof *out->entries.items, compare_use);
    return status;
}

void vy_cache_listing_free(vy_cache_listing *listing) {
    VY_VECTOR_FREE(&listing->entries);
    listing->total = 0;
}

/* ---- eviction ---- */

static int is_due(const vy_cache_key *key, uint64_t incoming, uint64_t limit) {
    uint64_t chance;
    memcpy(&chance, key->digest.bytes, sizeof chance);
    return incoming >= limit / 64 || chance % limit < incoming * 64;
}

/* Evicts to 7/8 of the limit, so that the next check need not evict again. */
static void evict(int folder, const vy_cache_listing *listing, uint64_t incoming, uint64_t limit) {
    uint64_t left = listing->total, goal = limit - limit / 8;
    goal = goal > incoming ? goal - incoming : 0;
    if (left + incoming <= limit)
        return;
    for (uint32_t i = listing->entries.count; i-- > 0 && left > goal;) {
        char name[VY_CACHE_ENTRY_NAME];
        vy_cache_entry_name(&listing->entries.items[i].key, name);
        if (unlinkat(folder, name, 0) == 0)
            vy_cache_count(VY_CACHE_disk_evictions, 1);
        else if (errno != ENOENT) /* ENOENT: another process evicts, too */
            continue;
        left -= listing->entries.items[i].size;
    }
}

static void make_room(int folder, const vy_cache_key *key, uint64_t incoming) {
    const uint64_t limit = vy_cache_disk_limit();
    vy_cache_listing listing;
    vyre_error error;
    if (!is_due(key, incoming, limit))
        return;
    if (vy_cache_listing_make(folder, VY_CACHE_TEMPORARY_AGE, &listing, &error) == VYRE_OK) {
        evict(folder, &listing, incoming, limit);
        vy_cache_listing_free(&listing);
    } else {
        report_once(PROBLEM_EVICT, "the size limit of the cache folder cannot be enforced: %s", error.message);
    }
}

/* ---- loading and storing ---- */

/* Returns -1 if no folder is usable, and reports that unless the user disabled it. */
static int open_folder(int create) {
    int folder;
    vyre_error error;
    if (open_cache_folder(create, &folder, &error) != VYRE_OK)
        report_once(PROBLEM_FOLDER, "pipelines are not kept on disk: %s. Fix: %s", error.message, error.fix);
    return folder;
}

/* Removes a damaged entry, so that the next store replaces it. A valid entry that another process stored meanwhile is
 * lost and compiled again. */
static void reject(int folder, const vy_cache_key *key, const char *problem) {
    char digits[65];
    vyre_digest_format(&key->digest, digits);
    vy_cache_count(VY_CACHE_rejected, 1);
    report_once(PROBLEM_ENTRY, "the cache entry %s is %s: it is removed and compiled again", digits, problem);
    (void)vy_cache_entry_remove(folder, key);
}

/* Moves the payload to the front: the caller expects bytes, not an entry. */
static void keep_payload(vyre_bytes *bytes, const vy_cache_entry *entry) {
    memmove(bytes->data, (const char *)bytes->data + entry->payload_offset, entry->payload_size);
    bytes->size = entry->payload_size;
}

vyre_status vy_disk_cache_load(const vy_cache_key *key, vyre_bytes *out) {
    vy_cache_file_info found;
    out->size = 0;
    int folder = open_folder(0);
    if (folder < 0)
        return VYRE_NOT_FOUND;
    vy_cache_file_status verdict = vy_cache_entry_examine(folder, key, out, 1, &found);
    if (verdict == VY_CACHE_FILE_VALID)
        keep_payload(out, &found.entry);
    else
        out->size = 0;
    if (verdict == VY_CACHE_FILE_CORRUPT)
        reject(folder, key, found.problem);
    close(folder);
    return verdict == VY_CACHE_FILE_VALID ? VYRE_OK : VYRE_NOT_FOUND;
}

static void write_image(int folder, const vy_cache_key *key, const uint8_t *image, size_t size) {
    make_room(folder, key, size);
    int reason = vy_cache_entry_write(folder, key, image, size);
    if (!reason)
        vy_cache_count(VY_CACHE_stores, 1);
    else
        report_once(PROBLEM_WRITE, "a pipeline (%zu bytes) could not be stored: %s", size, errno_text(reason));
}

int vy_disk_cache_is_enabled(void) {
    return vy_cache_disk_limit() != 0 && vyre_cache_folder(NULL, 0) != 0;
}

void vy_disk_cache_store(const vy_cache_key *key, const char *label, vyre_span payload) {
    size_t size = vy_cache_entry_size(label, payload.size);
    if (size == 0 || size > vy_cache_disk_limit())
        return;
    int folder = open_folder(1);
    uint8_t *image = folder >= 0 ? vy_allocate(size) : NULL;
    if (image) {
        vy_cache_entry_encode(key, label, (uint64_t)time(NULL), payload, image);
        write_image(folder, key, image, size);
    }
    vy_release(image, size);
    if (folder >= 0)
        close(folder);
}

/* ---- iteration ---- */

/* VYRE_OK with a descriptor of -1: no folder. */
static vyre_status open_listing(int64_t age, int *folder, vy_cache_listing *listing, vyre_error *error) {
    *listing = (vy_cache_listing){0};
    vyre_status status = open_cache_folder(0, folder, error);
    if (status == VYRE_OK && *folder >= 0) {
        status = vy_cache_listing_make(*folder, age, listing, error);
        if (status != VYRE_OK)
            close(*folder);
    }
    return status;
}

static void close_listing(int folder, vy_cache_listing *listing) {
    vy_cache_listing_free(listing);
    if (folder >= 0)
        close(folder);
}

static vyre_status fail_size(uint64_t size, vyre_error *error) {
    return vy_fail(error, VYRE_NO_MEMORY, NULL, "no host memory for a cache entry (%llu bytes)",
                   (unsigned long long)size);
}

static int visit_entry(const vy_cache_listing_entry *listed, vy_cache_file_status verdict,
                       const vy_cache_file_info *found, vyre_cache_visitor *visit, void *user) {
    char key[65];
    vyre_digest_format(&listed->key.digest, key);
    const vyre_cache_entry entry = {.key = key,
                                    .pipeline = found->entry.label,
                                    .size = listed->size,
                                    .created = found->entry.created,
                                    .used = listed->used_ns / 1000000000u,
                                    .valid = verdict == VY_CACHE_FILE_VALID,
                                    .problem = found->problem};
    return visit(user, &entry);
}

vyre_status vyre_cache_walk(vyre_cache_read_depth look, vyre_cache_visitor *visit, void *user, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, visit);
    int folder, stop = 0;
    vy_cache_listing listing;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_status status = open_listing(-1, &folder, &listing, error);
    if (status != VYRE_OK)
        return status;
    for (uint32_t i = 0; i < listing.entries.count && !stop && status == VYRE_OK; i++) {
        const vy_cache_listing_entry *listed = &listing.entries.items[i];
        vy_cache_file_info found;
        vy_cache_file_status verdict =
            vy_cache_entry_examine(folder, &listed->key, look == VYRE_CACHE_READ_ALL ? &bytes : NULL, 0, &found);
        if (verdict == VY_CACHE_FILE_NO_MEMORY)
            status = fail_size(listed->size, error);
        else if (verdict != VY_CACHE_FILE_MISSING)
            stop = visit_entry(listed, verdict, &found, visit, user);
    }
    vyre_bytes_free(&bytes);
    close_listing(folder, &listing);
    return status;
}

/* ---- clearing ---- */

static int is_of_backend(const char *label, const char *backend) {
    size_t length = strlen(backend);
    return strncmp(label, backend, length) == 0 && label[length] == ':';
}

/* Returns 1, 0, or -1 if out of memory. */
static int matches_filter(int folder, const vy_cache_key *key, const vyre_cache_filter *filter, vyre_bytes *bytes) {
    vy_cache_file_info found;
    if (!filter || (!filter->only_invalid && !filter->backend))
        return 1;
    vy_cache_file_status verdict = vy_cache_entry_examine(folder, key, filter->only_invalid ? bytes : NULL, 0, &found);
    if (verdict == VY_CACHE_FILE_NO_MEMORY)
        return -1;
    if (verdict == VY_CACHE_FILE_MISSING)
        return 0;
    return (!filter->only_invalid || verdict != VY_CACHE_FILE_VALID) &&
           (!filter->backend || is_of_backend(found.entry.label, filter->backend));
}

typedef struct count {
    uint64_t removed, bytes;
} count;

static vyre_status clear_listed(int folder, const vy_cache_listing *listing, const vyre_cache_filter *filter,
                                count *gone, vyre_error *error) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < listing->entries.count; i++) {
        const vy_cache_listing_entry *listed = &listing->entries.items[i];
        int meant = matches_filter(folder, &listed->key, filter, &bytes), reason = 0;
        if (meant < 0)
            status = fail_size(listed->size, error);
        else if (meant && (reason = vy_cache_entry_remove(folder, &listed->key)) != 0)
            status = vy_fail(error, VYRE_IO, NULL, "a cache entry cannot be removed: %s", errno_text(reason));
        else if (meant)
            gone->removed++, gone->bytes += listed->size;
    }
    vyre_bytes_free(&bytes);
    return status;
}

vyre_status vyre_cache_clear(const vyre_cache_filter *filter, uint64_t *removed, uint64_t *bytes, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    int folder;
    vy_cache_listing listing;
    count gone = {0, 0};
    vyre_status status = open_listing(filter ? VY_CACHE_TEMPORARY_AGE : 0, &folder, &listing, error);
    if (status == VYRE_OK) {
        status = clear_listed(folder, &listing, filter, &gone, error);
        close_listing(folder, &listing);
    }
    if (removed)
        *removed = gone.removed;
    if (bytes)
        *bytes = gone.bytes;
    return status;
}

/* Write-back queue of the disk cache, and the thread that drains it (cache_disk.h). */
static const uint64_t EXIT_WAIT_NS = 30000000000;
enum {
    QUIET_NS = 100000000, /* longer than the pauses of a program that compiles sequentially */
    LONG_QUEUE = 16,      /* from this length on, the queue is drained without delay */
    FULL_QUEUE = 64
};

typedef struct vy_writeback {
    struct vy_writeback *next;
    vy_executable *executable; /* a reference */
    uint32_t entry;
    vy_cache_key key;
    char label[VY_PIPELINE_ID];
} vy_writeback;

typedef vyre_status serializer(void *self, vyre_bytes *out, vyre_error *error);

/* ---- one binary ---- */

static void store_binary(vyre_backend *backend, serializer *serialize, void *self, const vy_cache_key *key,
                         const char *label) {
    vyre_bytes binary = VYRE_BYTES_INIT;
    vyre_error error;
    if (!vy_disk_cache_is_enabled())
        return;
    vy_error_clear(&error);
    vy_span span = vy_span_begin();
    vyre_status status = vy_backend_check_result_bytes(backend, serialize(self, &binary, &error), &binary, &error);
    if (status == VYRE_OK && binary.size)
        vy_disk_cache_store(key, label, (vyre_span){binary.data, binary.size});
    vy_span_end(span, cache, .backend = backend->id, .bytes = binary.size, .status = status);
    if (status != VYRE_OK)
        vy_log(1, backend->id, error.message);
    vyre_bytes_free(&binary);
}

/* The native pipelines of an executable exist until it is retired, and it is not retired while a thread is inside the
 * backend. */
static void serialize_and_store(vyre_backend *backend, const vy_writeback *store) {
    const vy_executable_entry *entry = &store->executable->entries[store->entry];
    if (vy_backend_enter(backend, NULL) != VYRE_OK)
        return;
    if (!atomic_load(&store->executable->is_retired))
        store_binary(backend, entry->calls.serialize_later, entry->self, &store->key, store->label);
    vy_backend_leave(backend);
}

/* ---- process exit ----
 *
 * A driver shuts itself down at exit, and a thread inside it then crashes. So once exit has begun, no new binary is
 * started, and exit waits for the binaries in progress. If a thread waits for the queue, exit waits until the queue is
 * empty. A thread that starts a binary increments the count first and checks the flag afterwards; exit sets the flag
 * first and reads the count afterwards. */

static _Atomic unsigned serializing; /* threads that produce a binary after the compile */
static _Atomic int is_ending;
static _Thread_local unsigned own; /* this thread's part of `serializing` */

static int begin_serialize(const vy_writeback_queue *stores) {
    atomic_fetch_add(&serializing, 1);
    own = !atomic_load(&is_ending) || stores->urgent_waiters;
    if (!own)
        atomic_fetch_sub(&serializing, 1);
    return (int)own;
}

static void end_serialize(void) {
    atomic_fetch_sub(&serializing, own);
    own = 0;
}

/* The thread that ends the process may be serializing itself. A driver that hangs does not block exit for longer than
 * EXIT_WAIT_NS. */
static void wait_at_exit(void) {
    const struct timespec pause = {0, 1000000};
    uint64_t end = vy_clock_now() + EXIT_WAIT_NS;
    atomic_store(&is_ending, 1);
    while (atomic_load(&serializing) > own && vy_clock_now() < end)
        nanosleep(&pause, NULL);
}

static void reset_after_fork(void) {
    atomic_store(&serializing, 0);
}

/* Installed after the first compile: libraries that were initialised before, including the driver, are torn down after
 * this handler. */
static void install_exit_handlers(void) {
    (void)atexit(wait_at_exit);
    (void)pthread_atfork(NULL, NULL, reset_after_fork);
}

/* ---- the queue ---- */

/* Waits until no compile has run for QUIET_NS. With the lock held, which is released during the wait; the same for
 * store_next. */
static void wait_until_quiet(vy_writeback_queue *stores) {
    while (!stores->urgent_waiters && stores->count < LONG_QUEUE) {
        uint64_t end = stores->compiled + QUIET_NS;
        struct timespec until = vy_clock_timespec(end);
        if (stores->compiling)
            pthread_cond_wait(&stores->changed, &stores->lock);
        else if (vy_clock_now() >= end)
            return;
        else
            pthread_cond_timedwait(&stores->changed, &stores->lock, &until);
    }
}

static void store_next(vy_writeback_queue *stores) {
    vy_writeback *store = stores->first;
    stores->first = store->next;
    stores->count--;
    if (!stores->first)
        stores->last = NULL;
    pthread_mutex_unlock(&stores->lock);
    serialize_and_store(stores->backend, store);
    end_serialize();
    vy_executable_release(store->executable);
    vy_release(store, sizeof *store);
    pthread_mutex_lock(&stores->lock);
    stores->done++;
    pthread_cond_broadcast(&stores->changed);
}

/* Drains until `last` entries are done. Entries that are added meanwhile are left to another thread. */
static void drain_until(vy_writeback_queue *stores, uint64_t last) {
    pthread_mutex_lock(&stores->lock);
    while (stores->first && stores->done < last) {
        wait_until_quiet(stores);
        if (begin_serialize(stores))
            store_next(stores);
        else
            pthread_cond_wait(&stores->changed, &stores->lock);
    }
    stores->is_draining = 0;
    pthread_cond_broadcast(&stores->changed);
    pthread_mutex_unlock(&stores->lock);
}

static void drain(vy_thread_pool_job *job) {
    drain_until((vy_writeback_queue *)((char *)job - offsetof(vy_writeback_queue, job)), UINT64_MAX);
}

/* Returns the number of entries added so far. */
static uint64_t set_urgent(vy_writeback_queue *stores, int by) {
    pthread_mutex_lock(&stores->lock);
    uint64_t last = stores->put;
    stores->urgent_waiters += (unsigned)by;
    pthread_cond_broadcast(&stores->changed);
    pthread_mutex_unlock(&stores->lock);
    return last;
}

/* If no thread can be started, the caller drains the queue. */
static void start_drain(vy_writeback_queue *stores) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_exit_handlers);
    vy_thread_pool *pool = vy_async_pool(&stores->backend->async);
    stores->job = (vy_thread_pool_job){.run = drain};
    if (pool && vy_thread_pool_submit(pool, &stores->job))
        return;
    drain_until(stores, set_urgent(stores, 1));
    set_urgent(stores, -1);
}

/* Returns 0 if the queue is full. */
static int enqueue(vy_writeback_queue *stores, vy_writeback *store) {
    pthread_mutex_lock(&stores->lock);
    int is_full = stores->count >= FULL_QUEUE, must_serve = !stores->is_draining;
    stores->is_draining = 1;
    if (!is_full) {
        *(stores->last ? &stores->last->next : &stores->first) = store;
        stores->last = store;
        stores->count++;
        stores->put++;
        pthread_cond_broadcast(&stores->changed);
    }
    pthread_mutex_unlock(&stores->lock);
    if (must_serve)
        start_drain(stores);
    return !is_full;
}

void vy_writeback_store(vy_executable *executable, uint32_t index, const vyre_program *program,
                        const vy_cache_key *key) {
    vyre_backend *backend = executable->backend;
    const vy_executable_entry *entry = &executable->entries[index];
    serializer *serialize = entry->calls.serialize ? entry->calls.serialize : entry->calls.serialize_later;
    char label[VY_PIPELINE_ID];
    if (!serialize || !backend->calls.load || !vy_disk_cache_is_enabled())
        return;
    vy_pipeline_name(backend, program, label);
    vy_writeback *store = entry->calls.serialize ? NULL : vy_allocate_zero(sizeof *store);
    if (store) {
        *store = (vy_writeback){.executable = vy_executable_retain(executable), .entry = index, .key = *key};
        memcpy(store->label, label, sizeof label);
        if (enqueue(&backend->writebacks, store))
            return;
        vy_executable_release(executable);
        vy_release(store, sizeof *store);
    }
    store_binary(backend, serialize, entry->self, key, label);
}

/* The thread that drops the last reference may be the only thread of the pool; no other thread would run the job. */
static void drain_own(vy_writeback_queue *stores) {
    vy_thread_pool *pool = vy_async_pool(&stores->backend->async);
    if (pool && vy_thread_pool_remove(pool, &stores->job))
        drain(&stores->job);
}

void vy_writeback_queue_flush(vy_writeback_queue *stores) {
    if (vy_backend_is_inherited(stores->backend))
        return;
    uint64_t last = set_urgent(stores, 1);
    pthread_mutex_lock(&stores->lock);
    int is_done = stores->done >= last;
    pthread_mutex_unlock(&stores->lock);
    if (!is_done)
        drain_own(stores);
    pthread_mutex_lock(&stores->lock);
    while (stores->done < last) {
        if (stores->is_draining) {
            pthread_cond_wait(&stores->changed, &stores->lock);
            continue;
        }
        stores->is_draining = 1; /* the previous thread has ended, and no other has started */
        pthread_mutex_unlock(&stores->lock);
        start_drain(stores);
        drain_own(stores);
        pthread_mutex_lock(&stores->lock);
    }
    pthread_mutex_unlock(&stores->lock);
    set_urgent(stores, -1);
}

void vyre_backend_flush_cache(vyre_backend *backend) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (backend)
        vy_writeback_queue_flush(&backend->writebacks);
}

/* ---- compiles in progress ---- */

void vy_writeback_queue_begin_compile(vy_writeback_queue *stores) {
    pthread_mutex_lock(&stores->lock);
    stores->compiling++;
    pthread_mutex_unlock(&stores->lock);
}

void vy_writeback_queue_end_compile(vy_writeback_queue *stores) {
    pthread_mutex_lock(&stores->lock);
    stores->compiling--;
    stores->compiled = vy_clock_now();
    if (stores->is_draining)
        pthread_cond_broadcast(&stores->changed);
    pthread_mutex_unlock(&stores->lock);
}

void vy_writeback_queue_start(vy_writeback_queue *stores, vyre_backend *backend) {
    pthread_mutex_init(&stores->lock, NULL);
    vy_cond_init_monotonic(&stores->changed);
    stores->backend = backend;
}

void vy_writeback_queue_end(vy_writeback_queue *stores) {
    pthread_cond_destroy(&stores->changed);
    pthread_mutex_destroy(&stores->lock);
}
