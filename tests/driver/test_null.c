/* Every public function with every pointer argument NULL: one by one, and all together. Also structs with a NULL
 * member, with struct_size 0, and zeroed; texts that are empty, a mebibyte long, or not UTF-8; and numbers at the ends
 * of their range. The calls are generated from the headers (tools/null-calls.awk); null_values.def has valid arguments
 * and specifies where NULL is allowed.
 *
 * Each function runs in a child process. No call may end by a signal or last long. A call with a NULL that the header
 * does not allow returns VYRE_INVALID_ARGUMENT with the name of the argument in the error; or NULL, 0 or the documented
 * value for "none". A call with the other arguments returns a result, or an error with a message and a fix. */
#include "driver/null_values.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backends/cpu/compile.h"

enum { MOST_ARGUMENTS = 12, SECONDS_PER_CASE = 60 };

/* How to spoil one argument, a struct. */
typedef struct change {
    unsigned argument;
    const void *(*apply)(void *given, unsigned member); /* returns the argument to use instead */
    const char *const *members;
} change;

/* One call, and its observed result. */
typedef struct null_case {
    unsigned null;        /* bit i: argument i is NULL */
    const change *change; /* NULL: none */
    unsigned member;
    unsigned number; /* bit i: argument i is `extreme` */
    uint64_t extreme;
    uint64_t result;
    unsigned dirty; /* bit i: the out argument i was left with something in it */
} null_case;

typedef struct null_call {
    const char *name;
    void (*run)(null_case *c);
    char kind; /* what it returns: s status, p pointer, i integer, t struct, v nothing */
    /* Bit i is for argument i. pointers: all; optional: NULL is allowed; has_default: NULL means zeros; numbers: all;
     * counts: the length of another argument. */
    unsigned pointers, optional, has_default, numbers, counts;
    const char *arguments[MOST_ARGUMENTS];
    const change *changes;
    vyre_status valid;
    uint64_t none;
} null_call;

/* Texts that are long enough for the lengths in null_values.def. */
enum { LONG = 1 << 20 };
static char empty_text[64], long_text[LONG + 1], byte_text[LONG + 1];
static const char *const odd_texts[] = {empty_text, long_text, byte_text};
static const char *const text_names[] = {"empty", "long", "bytes", NULL};
static const void *change_text(void *given, unsigned member) {
    (void)given;
    return odd_texts[member];
}

static void *spoil(null_case *c, unsigned argument, const void *given) {
    return (void *)(c->change && c->change->argument == argument ? c->change->apply((void *)given, c->member) : given);
}
#define AT(i, value)                                                                                                   \
    ((c->null >> (i)) & 1 ? NULL : (__typeof__(1 ? (value) : (value)))spoil(c, i, (const void *)(value)))
#define NUMBER(i, type, value) ((c->number >> (i)) & 1 ? (type)c->extreme : (type)(value))

static int has_bits(const void *memory, size_t size) {
    const unsigned char *at = memory;
    for (size_t i = 0; i < size; i++)
        if (at[i])
            return 1;
    return 0;
}

static void see_out(null_case *c, const void *slot, size_t size, unsigned argument) {
    if (!((c->null >> argument) & 1) && has_bits(slot, size))
        c->dirty |= 1u << argument;
}

/* Calls write ignored results here. */
static uint64_t the_tag, the_size;
static vyre_target a_target;
static char buffer[256];

#include "null_calls.inc"
enum { CALLS = sizeof calls / sizeof *calls };

/* ---- in the child ---- */

static unsigned failures;

static void describe(const null_call *call, const null_case *c, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s", call->name);
    for (unsigned i = 0; i < MOST_ARGUMENTS && call->arguments[i]; i++)
        if (c->null >> i & 1 && used < size)
            used += (size_t)snprintf(text + used, size - used, " %s=NULL", call->arguments[i]);
    for (unsigned i = 0; i < MOST_ARGUMENTS && call->arguments[i]; i++)
        if (c->number >> i & 1 && used < size)
            used += (size_t)snprintf(text + used, size - used, " %s=%lld", call->arguments[i], (long long)c->extreme);
    if (c->change && used < size)
        snprintf(text + used, size - used, " %s: %s", call->arguments[c->change->argument],
                 c->change->members[c->member]);
}

static void complain(const null_call *call, const null_case *c, const char *format, ...) {
    char text[512];
    va_list arguments;
    describe(call, c, text, sizeof text);
    printf("%s: ", text);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    failures++;
}

/* An error that was filled: with the code that was returned, a message and a fix. */
static void check_error(const null_call *call, const null_case *c, unsigned required) {
    int is_given = 0, is_named = 0;
    for (unsigned i = 0; i < MOST_ARGUMENTS && call->arguments[i]; i++) {
        char name[64];
        snprintf(name, sizeof name, "`%s`", call->arguments[i]);
        if (strcmp(call->arguments[i], "error") == 0)
            is_given = !(c->null >> i & 1);
        if (required >> i & 1 && strstr(the_error.message, name))
            is_named = 1;
    }
    if (!is_given || c->result == VYRE_OK)
        return;
    if (the_error.code != (vyre_status)c->result || !the_error.message[0] || !the_error.fix[0])
        complain(call, c, "returns %s, but the error has %s, message `%s`, fix `%s`",
                 vyre_status_name((vyre_status)c->result), vyre_status_name(the_error.code), the_error.message,
                 the_error.fix);
    else if (required && !is_named)
        complain(call, c, "the message does not name the argument: `%s`", the_error.message);
}

/* Nothing was spoilt: but for NULL where it is allowed, the call is valid. */
static int is_valid(const null_case *c) {
    return !c->change && !c->number;
}

static void check_status(const null_call *call, const null_case *c, unsigned required) {
    vyre_status status = (vyre_status)c->result, refusal = VYRE_INVALID_ARGUMENT;
    int is_builder = c->null == 1 && strcmp(call->name, "vyre_builder_finish") == 0;
    if (is_builder)
        refusal = VYRE_NO_MEMORY; /* for which vyre_builder_new returns NULL */
    if (!c->number && strcmp(vyre_status_name(status), "UNKNOWN") == 0)
        complain(call, c, "returns %d, which is no status", (int)status);
    else if (required && status != refusal)
        complain(call, c, "returns %s instead of %s", vyre_status_name(status), vyre_status_name(refusal));
    else if (is_valid(c) && !required && status != call->valid &&
             !(c->null & call->has_default && status == VYRE_INVALID_ARGUMENT))
        complain(call, c, "returns %s instead of %s: %s", vyre_status_name(status), vyre_status_name(call->valid),
                 the_error.message);
    else
        check_error(call, c, is_builder ? 0 : required);
}

/* Mistakes in calls of the builder are reported by finish; a NULL builder is accepted everywhere. */
static void check_builder(const null_call *call, const null_case *c, unsigned required) {
    vyre_program *program = NULL;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_builder_finish(built.builder, list, &program, &the_error);
    int is_reported = 0;
    for (size_t i = 0; i < vyre_diagnostics_count(list); i++) {
        const char *code = vyre_diagnostics_get(list, i)->code;
        is_reported |= strcmp(code, "B007") == 0 || strcmp(code, "B008") == 0;
    }
    if (!(c->null & 1) && is_valid(c) && is_reported != (required != 0))
        complain(call, c, is_reported ? "finish reports: %s" : "finish reports nothing%s", the_error.message);
}

static void run_case(const null_call *call, null_case *c) {
    unsigned required = c->null & ~call->optional & ~call->has_default;
    built.builder = NULL;
    the_error = (vyre_error)VYRE_ERROR_INIT;
    deleted = 0;
    alarm(SECONDS_PER_CASE);
    call->run(c);
    if (call->kind == 's')
        check_status(call, c, required);
    if (call->kind == 'p' && is_valid(c) && !required && !c->result)
        complain(call, c, "returns NULL");
    if (call->kind == 'p' && required && c->result)
        complain(call, c, "does not return NULL");
    if (call->kind == 'i' && required && c->result != call->none && (int64_t)(int)c->result != (int64_t)call->none)
        complain(call, c, "returns %llu", (unsigned long long)c->result);
    if (call->kind == 't' && (c->null & 1) && c->result)
        complain(call, c, "does not return zeros");
    if (c->dirty && ((call->kind == 'v' && required) || (call->kind == 's' && c->result != VYRE_OK)))
        complain(call, c, "leaves something in an out argument");
    if (strstr(call->name, "from_dlpack") && !(c->null & 2) && c->result != VYRE_OK && is_valid(c) && deleted != 1)
        complain(call, c, "ends the tensor %u times instead of once", deleted);
    if (built.builder && call->arguments[0] && strcmp(call->arguments[0], "builder") == 0 &&
        strcmp(call->name, "vyre_builder_finish") != 0 && strcmp(call->name, "vyre_builder_free") != 0)
        check_builder(call, c, required);
}

/* Makes case number `index` of a function; 0 past the last one. */
static int make_case(const null_call *call, unsigned index, null_case *c) {
    memset(c, 0, sizeof *c);
    if (index == 0)
        return 1;
    index--;
    for (unsigned i = 0; i < MOST_ARGUMENTS; i++)
        if (call->pointers >> i & 1 && index-- == 0) {
            c->null = 1u << i;
            return 1;
        }
    if (call->pointers & (call->pointers - 1) && index-- == 0) {
        c->null = call->pointers;
        return 1;
    }
    for (const change *change = call->changes; change->apply; change++)
        for (unsigned member = 0; change->members[member]; member++)
            if (index-- == 0) {
                c->change = change, c->member = member;
                return 1;
            }
    for (unsigned i = 0; i < MOST_ARGUMENTS; i++)
        for (unsigned k = 0; k < 2 && (call->numbers | (k ? 0 : call->counts)) >> i & 1; k++)
            if (index-- == 0) {
                c->number = 1u << i, c->extreme = k ? UINT64_MAX : 0;
                return 1;
            }
    return 0;
}

/* ---- in the parent ---- */

/* Which case the child is at, written by it. */
static _Atomic unsigned *current;

static void child(const null_call *call, unsigned first) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS}; /* cmocka would go on after them */
    null_case c;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    for (unsigned i = first; make_case(call, i, &c); i++) {
        atomic_store(current, i);
        run_case(call, &c);
    }
    fflush(stdout);
    _exit(failures ? 1 : 0);
}

/* Runs all cases of a function; after a crash the rest in another child. */
static unsigned run_function(const null_call *call) {
    unsigned bad = 0;
    for (unsigned first = 0;;) {
        fflush(stdout);
        pid_t process = fork();
        assert_true(process >= 0);
        if (process == 0)
            child(call, first);
        int status;
        assert_int_equal(waitpid(process, &status, 0), process);
        if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
            return bad + (unsigned)WEXITSTATUS(status);
        char text[512];
        null_case c;
        unsigned at = atomic_load(current);
        make_case(call, at, &c);
        describe(call, &c, text, sizeof text);
        if (WIFSIGNALED(status))
            printf("%s: signal %d (%s)\n", text, WTERMSIG(status), strsignal(WTERMSIG(status)));
        else
            printf("%s: exit status %d\n", text, WEXITSTATUS(status));
        bad++;
        first = at + 1;
        if (!make_case(call, first, &c))
            return bad;
    }
}

static void run_functions(int only_those_of_backends) {
    const char *wanted = getenv("VYRE_NULL_FUNCTION");
    unsigned bad = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        const char *first = calls[i].arguments[0] ? calls[i].arguments[0] : "";
        if (only_those_of_backends && strcmp(first, "backend") != 0 && strcmp(first, "pipeline") != 0)
            continue;
        if (wanted && strcmp(wanted, calls[i].name) != 0)
            continue;
        bad += run_function(&calls[i]);
    }
    if (bad)
        fail_msg("%u functions or cases are wrong", bad);
}

static void no_null_argument_crashes(void **state) {
    (void)state;
    run_functions(0);
}

/* The cpu backend has separate code for the same functions. */
static void no_null_argument_crashes_on_cpu(void **state) {
    (void)state;
    if (vy_cpu_compiler_check(NULL) != VYRE_OK)
        VY_SKIP("there is no compiler plug-in in this build");
    backend_id = "cpu";
    run_functions(1);
    backend_id = "reference";
}

static int set_up(void **state) {
    (void)state;
    snprintf(temporary_folder, sizeof temporary_folder, "/tmp/vyre-null-XXXXXX");
    if (!mkdtemp(temporary_folder) || mkdir(manifest_folder(), 0700) != 0)
        return -1;
    FILE *file = fopen(manifest(), "w");
    if (!file || fputs(manifest_text, file) < 0 || fclose(file) != 0)
        return -1;
    memset(long_text, 'a', LONG);
    memset(byte_text, 0xff, LONG);
    setenv("VYRE_CACHE_DIR", temporary("cache"), 1);
    setenv("VYRE_DIALECT_PATH", manifest_folder(), 1);
    setenv("VYRE_BACKEND", backend_id, 1); /* what a NULL policy chooses */
    current = mmap(NULL, sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return current == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", temporary_folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_null_argument_crashes),
        cmocka_unit_test(no_null_argument_crashes_on_cpu),
    };
    return cmocka_run_group_tests_name("null", tests, set_up, tear_down);
}
