/* The trace file: Trace Event JSON, an array of events (trace.h, vyre/telemetry.h).
 *
 * Events gather in one buffer under one lock and are written when an outermost span ends, when the buffer is full, or when the last
 * write is long ago. So a traced dispatch costs one write, and whatever ends the process, only spans under way are missing.
 *
 * What must stay true:
 *  - In a regular file every write replaces the closing bracket with events and a new bracket, so the file is complete JSON between any two
 *    writes. A write that fails is undone. Other files (a pipe) get their bracket at the end; readers of the format do without.
 *  - Nothing is logged with the lock held: the sink may call anything.
 *  - Nothing allocates after the start: the buffer has room for the largest event when it is not written out. */
#include "driver/trace.h"

#include "base/log.h"
#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "driver/atfork.h"
#include "driver/dispatch.h"
#include "vyre/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TEXT_BYTES = 120,                           /* of each text of a span that are shown */
    EVENT_ROOM = 3 * (6 * TEXT_BYTES + 2) + 512 /* three texts, every byte as \u0000, and what is around them */
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

/* All but the state with the lock held. */
static struct trace {
    pthread_mutex_t lock;
    int is_open, is_regular, file, process;
    int failure;       /* errno of the write that ended it, or 0 */
    vy_string out;     /* not yet written */
    uint64_t length;   /* of the file, with its tail */
    uint64_t wrote_at; /* the clock at the last write */
    uint64_t session;  /* counts starts: a thread names itself once in each */
    char path[240];    /* for messages; may be cut */
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

/* Whole or not at all, errno in the latter case. offset -1 appends. */
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

/* A file over the limit of the process and a pipe without a reader raise signals that end it: they are held back, and taken away unless they
 * were there before. */
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

/* Cuts what a failed write left and puts the bracket back. */
static void undo_write(void) {
    if (trace.is_regular && trace.length && ftruncate(trace.file, (off_t)trace.length) == 0)
        (void)write_quietly(TAIL, TAIL_BYTES, (off_t)(trace.length - TAIL_BYTES));
}

/* Writes the buffer out; 0 with `failure` set ends the trace. */
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

/* The first bytes of a text, cut between two characters if it is UTF-8. */
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

/* Decimal digits, at least `width` of them: printf takes several times as long, and a trace should not distort what it shows. */
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

/* `key` has its quotes, its colon and the comma before it. The first fact of an event has no comma. */
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

/* What a process or thread is called. */
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

/* ---- starting ---- */

void vy_trace_before_fork(void) {
    pthread_mutex_lock(&trace.lock);
}

/* The file is the parent's. The memory stays for another start: the child of a process with threads had better not call an allocator. */
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

/* The file is emptied only once it is ours: two processes with one VYRE_TRACE do not write into each other. Without blocking: a pipe may have
 * no reader yet. */
static vyre_status open_file(const char *path, vyre_error *error) {
    struct stat about;
    trace.file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (trace.file < 0)
        return fail_path(error, "opened", errno);
    vyre_status status = VYRE_OK;
    if (fstat(trace.file, &about) != 0)
        status = fail_path(error, "examined", errno);
    else if (flock(trace.file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = vy_fail(error, VYRE_CONFLICT, "give each process a file of its own",
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
    if (trace.is_open && trace.failure) { /* it ended by itself */
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

/* The first span of the process looks for VYRE_TRACE. */
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
    own.depth = facts->span.depth - 1; /* also if a span within was not ended */
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
