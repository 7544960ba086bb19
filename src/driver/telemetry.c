/* Telemetry: sharded counters and the trace file, an array of events in Trace Event JSON (telemetry.h,
 * vyre/telemetry.h).
 *
 * Counters are split into shards on separate cache lines, so that threads do not contend. The first OWNED threads have
 * one shard each, permanently, and add without an atomic read-modify-write; later threads share the others. A value is
 * the sum over the shards modulo 2^64: a gauge may rise in one shard and fall in another.
 *
 * Trace events are collected in one buffer under one lock. They are written when an outermost span ends, when the
 * buffer is full, or when the last write was long ago. So a traced dispatch costs one write, and if the process ends
 * abruptly, only unfinished spans are missing.
 *
 * Invariants of the trace:
 *  - In a regular file every write replaces the closing bracket with events and a new bracket, so the file is valid
 *    JSON between two writes. A failed write is undone. Other files (a pipe) get their bracket at the end; readers of
 *    the format do not require it.
 *  - Nothing is logged with the lock held: the sink may call any function.
 *  - Nothing allocates after the start: the buffer always has room for the largest event. */
#include "driver/telemetry.h"

#include "base/diagnostics.h"
#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "driver/atfork.h"
#include "driver/dispatch.h"
#include "opt/pass_manager.h"
#include "vyre/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- counters ---- */

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
    uint64_t sum = counter == VY_COUNTER_passes ? atomic_load_explicit(&vy_passes_run, memory_order_relaxed) : 0;
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

/* ---- the trace file ---- */

enum {
    TEXT_BYTES = 120,                           /* maximum of each text of a span */
    EVENT_ROOM = 3 * (6 * TEXT_BYTES + 2) + 512 /* three texts, every byte as \u0000, and the fixed parts */
};
#define BUFFER_BYTES ((size_t)32 << 10)
#define WRITE_AFTER_NS UINT64_C(100000000)
#define TAIL "\n]\n"
#define TAIL_BYTES (sizeof TAIL - 1)

static const char *const stage_names[VY_SPAN_COUNT] = {
#define X(name, doc) #name,
    VY_SPAN_LIST(X)
#undef X
};

_Atomic int vy_trace_state = VY_TRACE_UNKNOWN;

/* Everything except the state requires the lock. */
static struct trace {
    pthread_mutex_t lock;
    int is_open, is_regular, file, process;
    int failure;       /* errno of the write that ended it, or 0 */
    vy_string out;     /* not yet written */
    uint64_t length;   /* of the file, with its tail */
    uint64_t wrote_at; /* the clock at the last write */
    uint64_t session;  /* number of starts: each thread writes its name once per start */
    char path[240];    /* for messages; possibly truncated */
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
    uint64_t session;
    uint32_t depth;
    int id;
} own;

static void set_state(int state) {
    atomic_store_explicit(&vy_trace_state, state, memory_order_relaxed);
}

static const char *reason(int number) {
    const char *text = strerrordesc_np(number);
    return text ? text : "unknown error";
}

/* ---- the file ---- */

/* Writes all bytes, or returns 0 with errno set. offset -1 appends. */
static int write_whole(const char *data, size_t size, off_t offset) {
    while (size > 0) {
        ssize_t count = offset < 0 ? write(trace.file, data, size) : pwrite(trace.file, data, size, offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            errno = count == 0 ? EIO : errno;
            return 0;
        }
        data += count;
        size -= (size_t)count;
        offset += offset < 0 ? 0 : count;
    }
    return 1;
}

/* Exceeding the file size limit, or writing to a pipe without a reader, raises a signal that would end the process. The
 * signals are blocked during the write, and consumed unless they were pending before. */
static int write_quietly(const char *data, size_t size, off_t offset) {
    sigset_t quiet, before, pending;
    sigemptyset(&quiet);
    sigaddset(&quiet, SIGXFSZ);
    sigaddset(&quiet, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &quiet, &before);
    sigpending(&pending);
    int done = write_whole(data, size, offset), number = errno;
    if (!done) {
        if (sigismember(&pending, SIGXFSZ))
            sigdelset(&quiet, SIGXFSZ);
        if (sigismember(&pending, SIGPIPE))
            sigdelset(&quiet, SIGPIPE);
        while (sigtimedwait(&quiet, NULL, &(struct timespec){0, 0}) > 0)
            continue;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return done;
}

/* Truncates the remains of a failed write and restores the bracket. */
static void undo_write(void) {
    if (trace.is_regular && trace.length && ftruncate(trace.file, (off_t)trace.length) == 0)
        (void)write_quietly(TAIL, TAIL_BYTES, (off_t)(trace.length - TAIL_BYTES));
}

/* Writes the buffer. On failure returns 0 and sets `failure`, which ends the trace. */
static int write_out(uint64_t now) {
    vy_string *out = &trace.out;
    off_t offset = -1;
    if (trace.is_regular) {
        offset = (off_t)(trace.length ? trace.length - TAIL_BYTES : 0);
        vy_string_append(out, TAIL, TAIL_BYTES);
    }
    int done = write_quietly(out->text, out->length, offset);
    if (done && trace.is_regular) {
        trace.length = (uint64_t)offset + out->length;
    } else if (!done) {
        trace.failure = errno;
        undo_write();
        set_state(VY_TRACE_OFF);
    }
    trace.wrote_at = now;
    out->length = 0;
    return done;
}

/* ---- events ---- */

/* The first bytes of a text; UTF-8 is cut between two characters. */
static void add_text(const char *text) {
    char shown[TEXT_BYTES + 1];
    size_t length = strnlen(text, TEXT_BYTES + 1);
    if (length > TEXT_BYTES) {
        length = TEXT_BYTES;
        while (length > TEXT_BYTES - 4 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(shown, text, length);
    shown[length] = 0;
    vy_string_json(&trace.out, shown);
}

/* Decimal digits, at least `width`. printf is several times slower, and a trace should not distort the times it
 * records. */
static void add_number(uint64_t number, unsigned width) {
    char digits[20];
    unsigned at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number || sizeof digits - at < width);
    vy_string_append(&trace.out, digits + at, sizeof digits - at);
}

static void add_microseconds(uint64_t nanoseconds) {
    add_number(nanoseconds / 1000, 1);
    vy_string_char(&trace.out, '.');
    add_number(nanoseconds % 1000, 3);
}

/* `key` includes quotes, colon and the comma before it, which the first attribute of an event omits. */
static void add_key(const char *key, int *is_first) {
    vy_string_add(&trace.out, key + *is_first);
    *is_first = 0;
}

static void add_text_fact(const char *key, const char *text, int *is_first) {
    if (!text || !*text)
        return;
    add_key(key, is_first);
    add_text(text);
}

static void add_number_fact(const char *key, uint64_t number, int *is_first) {
    if (!number)
        return;
    add_key(key, is_first);
    add_number(number, 1);
}

/* The name of a process or thread. */
static void add_name(const char *kind, const char *name) {
    vy_string_format(&trace.out, "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", kind,
                     trace.process, own.id);
    add_text(name);
    vy_string_add(&trace.out, "}}");
}

static void name_thread(void) {
    char name[16];
    if (own.session == trace.session)
        return;
    own.session = trace.session;
    own.id = (int)gettid();
    if (pthread_getname_np(pthread_self(), name, sizeof name) != 0)
        name[0] = 0;
    vy_string_add(&trace.out, ",\n");
    add_name("thread_name", name);
}

static void add_event(vy_span_kind stage, const vy_span_attributes *facts, uint64_t now) {
    uint64_t start = facts->span.start;
    int is_first = 1;
    vy_string_add(&trace.out, ",\n{\"name\":\"");
    vy_string_add(&trace.out, stage_names[stage]);
    vy_string_add(&trace.out, "\",\"cat\":\"vyre\",\"ph\":\"X\",\"ts\":");
    add_microseconds(start);
    vy_string_add(&trace.out, ",\"dur\":");
    add_microseconds(now > start ? now - start : 0);
    vy_string_add(&trace.out, ",\"pid\":");
    add_number((uint64_t)trace.process, 1);
    vy_string_add(&trace.out, ",\"tid\":");
    add_number((uint64_t)own.id, 1);
    vy_string_add(&trace.out, ",\"args\":{");
    add_text_fact(",\"label\":", facts->label, &is_first);
    add_text_fact(",\"program\":", facts->program, &is_first);
    add_text_fact(",\"backend\":", facts->backend, &is_first);
    add_number_fact(",\"bytes\":", facts->bytes, &is_first);
    add_number_fact(",\"count\":", facts->count, &is_first);
    add_text_fact(",\"status\":", facts->status == VYRE_OK ? NULL : vyre_status_name(facts->status), &is_first);
    vy_string_add(&trace.out, "}}");
}

/* ---- start and stop ---- */

void vy_trace_before_fork(void) {
    pthread_mutex_lock(&trace.lock);
}

/* The file belongs to the parent. The memory is kept for another start: the child of a multi-threaded process should
 * not call the allocator. */
void vy_trace_after_fork(int is_child) {
    if (is_child && trace.is_open) {
        close(trace.file);
        trace.is_open = 0;
        trace.out.length = 0;
        set_state(VY_TRACE_OFF);
    }
    pthread_mutex_unlock(&trace.lock);
}

static vyre_status fail_path(vyre_error *error, const char *verb, int number) {
    vyre_status code = number == ENOENT ? VYRE_NOT_FOUND : VYRE_IO;
    code = vy_fail(error, code,
                   number == ENOENT ? "check the path, and that its folder exists"
                                    : "check the path, its permissions and the space there",
                   "the trace file `%s` cannot be %s (%s)", trace.path, verb, reason(number));
    vy_fail_where(error, "%s", trace.path);
    return code;
}

/* Opens the file and locks it before truncating, so that two processes with the same VYRE_TRACE do not overwrite each
 * other. Non-blocking: a pipe may have no reader yet. */
static vyre_status open_file(const char *path, vyre_error *error) {
    struct stat about;
    trace.file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (trace.file < 0)
        return fail_path(error, "opened", errno);
    vyre_status status = VYRE_OK;
    if (fstat(trace.file, &about) != 0)
        status = fail_path(error, "examined", errno);
    else if (flock(trace.file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = vy_fail(error, VYRE_CONFLICT, "use a separate file for each process",
                         "the trace file `%s` is being written by another process", trace.path);
    else if (S_ISREG(about.st_mode) && ftruncate(trace.file, 0) != 0)
        status = fail_path(error, "emptied", errno);
    if (status == VYRE_OK) {
        trace.is_regular = S_ISREG(about.st_mode);
        (void)fcntl(trace.file, F_SETFL, 0);
    } else {
        close(trace.file);
    }
    return status;
}

static vyre_status write_head(vyre_error *error) {
    trace.length = 0;
    trace.failure = 0;
    trace.session++;
    own.session = 0;
    own.id = (int)gettid();
    trace.process = (int)getpid();
    vy_string_add(&trace.out, "[\n");
    add_name("process_name", program_invocation_short_name);
    if (write_out(vy_clock_now()))
        return VYRE_OK;
    close(trace.file);
    return fail_path(error, "written", trace.failure);
}

/* With the lock held. */
static vyre_status start(const char *path, vyre_error *error) {
    if (trace.is_open && trace.failure) { /* a failed write ended it */
        close(trace.file);
        trace.is_open = 0;
    }
    if (trace.is_open)
        return vy_fail(error, VYRE_CONFLICT, "call vyre_trace_stop first", "a trace is being written already (to `%s`)",
                       trace.path);
    if (!vy_atfork_install())
        return vy_fail_memory(error, "starting a trace");
    if (!trace.out.text) {
        trace.out.text = vy_allocate(BUFFER_BYTES);
        trace.out.capacity = trace.out.text ? BUFFER_BYTES : 0;
    }
    if (!trace.out.text)
        return vy_fail_memory(error, "the buffer of a trace");
    vy_fix_format(trace.path, sizeof trace.path, "%s", path);
    vyre_status status = open_file(path, error);
    if (status == VYRE_OK)
        status = write_head(error);
    if (status == VYRE_OK) {
        trace.is_open = 1;
        set_state(VY_TRACE_ON);
    } else {
        vy_string_free(&trace.out);
    }
    return status;
}

vyre_status vyre_trace_start(const char *path, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, path);
    if (!*path)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "name the file to write", "the path of a trace file is empty");
    pthread_mutex_lock(&trace.lock);
    vyre_status status = start(path, error);
    pthread_mutex_unlock(&trace.lock);
    return status;
}

vyre_status vyre_trace_stop(vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    vyre_status status = VYRE_OK;
    pthread_mutex_lock(&trace.lock);
    set_state(VY_TRACE_OFF);
    if (trace.is_open) {
        if (!trace.failure && !trace.is_regular)
            vy_string_append(&trace.out, TAIL, TAIL_BYTES);
        if (!trace.failure && trace.out.length)
            write_out(0);
        if (close(trace.file) != 0 && !trace.failure)
            trace.failure = errno;
        if (trace.failure)
            status = fail_path(error, "written to its end", trace.failure);
        trace.is_open = 0;
        vy_string_free(&trace.out);
    }
    pthread_mutex_unlock(&trace.lock);
    return status;
}

/* ---- spans ---- */

/* The first span of the process reads VYRE_TRACE. */
static void start_from_environment(void) {
    vyre_error error;
    vyre_status status = VYRE_OK;
    pthread_mutex_lock(&trace.lock);
    if (atomic_load_explicit(&vy_trace_state, memory_order_relaxed) == VY_TRACE_UNKNOWN) {
        const char *path = secure_getenv("VYRE_TRACE");
        set_state(VY_TRACE_OFF);
        if (path && *path)
            status = start(path, &error);
    }
    pthread_mutex_unlock(&trace.lock);
    if (status != VYRE_OK)
        vy_log(1, "trace", error.message);
}

vy_span vy_trace_begin(void) {
    if (atomic_load_explicit(&vy_trace_state, memory_order_relaxed) == VY_TRACE_UNKNOWN)
        start_from_environment();
    if (atomic_load_explicit(&vy_trace_state, memory_order_relaxed) != VY_TRACE_ON)
        return (vy_span){0, 0};
    return (vy_span){vy_clock_now(), ++own.depth};
}

void vy_trace_end(vy_span_kind stage, const vy_span_attributes *facts) {
    vyre_error error;
    uint64_t now = vy_clock_now();
    int failed = 0;
    own.depth = facts->span.depth - 1; /* also if a nested span was not ended */
    pthread_mutex_lock(&trace.lock);
    if (trace.is_open && !trace.failure) {
        name_thread();
        add_event(stage, facts, now);
        if (own.depth == 0 || trace.out.capacity - trace.out.length < 2 * EVENT_ROOM ||
            now - trace.wrote_at > WRITE_AFTER_NS)
            failed = !write_out(now);
        if (failed)
            fail_path(&error, "written any further", trace.failure);
    }
    pthread_mutex_unlock(&trace.lock);
    if (failed)
        vy_log(1, "trace", error.message);
}
