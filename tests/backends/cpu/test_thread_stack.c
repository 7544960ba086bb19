/* Native stacks: however little stack a thread has left, code with a large frame neither overflows it nor writes
 * outside of it. */
#include "support/test.h"

#include "backends/cpu/compile.h"
#include "backends/cpu/frame_pool.h"
#include "base/string.h"
#include "base/thread.h"
#include "vyre/async.h"
#include "vyre/cache.h"
#include "vyre/pipeline.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

/* STACK: of the threads that dispatch, and of the library's; frames of a sanitizer are several times as large. The
 * code needs more than all of it, and enough to jump over one page. BELOW: memory that is no stack of that thread. */
enum { STACK = VY_SANITIZED ? 512 << 10 : 64 << 10, VALUES = VY_SANITIZED ? 1200 : 150, BELOW = 4 << 20, COUNT = 5000 };

static int has_compiler(void) {
    return vy_cpu_compiler_check(NULL) == VYRE_OK;
}

#define NEEDS_COMPILER()                                                                                               \
    do {                                                                                                               \
        if (!has_compiler())                                                                                           \
            VY_SKIP("there is no compiler in this build");                                                             \
    } while (0)

/* ---- a program with a large frame ---- */

typedef struct rig {
    vyre_backend *backend;
    vyre_program *program;
    vyre_pipeline *pipeline;
    uint32_t x[COUNT];
    vyre_span input;
    vyre_arguments arguments;
    vyre_outputs expected;
} rig;

/* Values that are all alive in a loop: with 64 lanes each takes 512 bytes of the frame. */
static vyre_program *many_values(void) {
    vy_string text = {0};
    vy_string_add(&text, "program many { buffer x : u32 read\n buffer y : u32 write count len(x)\n workgroup 64\n"
                         " grid over x\n let i = global_id.x\n");
    for (unsigned i = 0; i < VALUES; i++)
        vy_string_format(&text, " let v%u = u64(x[i + %u]) * 11400714819323198485\n", i, i);
    vy_string_add(&text, " var s = 0u64\n var r = 0u32\n while r < (x[0] & 3) + 1 {\n  r = r + 1\n");
    for (unsigned i = 0; i < VALUES; i++)
        vy_string_format(&text, "  s = s * 3 + v%u\n", i);
    vy_string_add(&text, " }\n y[i] = u32(s >> 32)\n}\n");
    assert_false(text.failed);
    vyre_program *program = vy_test_parse(text.text);
    vy_string_free(&text);
    return program;
}

static vyre_backend *acquire(const char *id) {
    vyre_backend *backend = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_acquire(id, &backend, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return backend;
}

static void rig_open(rig *r, const char *threads) {
    setenv("VYRE_CPU_WIDTH", "64", 1);
    setenv("VYRE_CPU_THREADS", threads, 1);
    *r = (rig){.backend = acquire("cpu"), .program = many_values(), .expected = VYRE_OUTPUTS_INIT};
    unsetenv("VYRE_CPU_THREADS");
    unsetenv("VYRE_CPU_WIDTH");
    for (uint32_t i = 0; i < COUNT; i++)
        r->x[i] = i * 2654435761u + 2;
    r->input = (vyre_span){r->x, sizeof r->x};
    r->arguments = (vyre_arguments){.inputs = &r->input, .input_count = 1};
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_compile(r->backend, r->program, NULL, &r->pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_backend *reference = acquire("reference");
    assert_int_equal(vyre_backend_dispatch(reference, r->program, &r->arguments, NULL, &r->expected, NULL, NULL),
                     VYRE_OK);
    vyre_backend_release(reference);
}

static void rig_close(rig *r) {
    vyre_outputs_free(&r->expected);
    vyre_pipeline_release(r->pipeline);
    vyre_program_release(r->program);
    vyre_backend_release(r->backend);
}

static int is_right(const rig *r, const vyre_outputs *outputs) {
    return outputs->count == 1 && outputs->items[0].size == r->expected.items[0].size &&
           memcmp(outputs->items[0].data, r->expected.items[0].data, r->expected.items[0].size) == 0;
}

/* ---- threads with little stack ---- */

/* A stack behind a page that cannot be touched, and below it memory that nobody may write to. */
typedef struct room {
    uint8_t *map, *stack;
    size_t size, page;
} room;

static room room_make(void) {
    room made = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    made.size = BELOW + made.page + STACK;
    made.map = mmap(NULL, made.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(made.map, MAP_FAILED);
    memset(made.map, 0x5a, BELOW);
    assert_int_equal(mprotect(made.map + BELOW, made.page, PROT_NONE), 0);
    made.stack = made.map + BELOW + made.page;
    return made;
}

static size_t room_end(room *made) {
    size_t written = 0;
    for (size_t i = 0; i < BELOW; i++)
        written += made->map[i] != 0x5a;
    munmap(made->map, made->size);
    return written;
}

typedef struct dispatcher {
    rig *rig;
    int form;
    vyre_status status;
    int is_right;
} dispatcher;

static vyre_status wait_for(rig *r, vyre_outputs *outputs) {
    vyre_pending *pending;
    vyre_status status = vyre_pipeline_dispatch_async(r->pipeline, &r->arguments, NULL, &pending, NULL);
    if (status != VYRE_OK)
        return status;
    status = vyre_pending_wait(pending, UINT64_MAX, outputs, NULL, NULL);
    vyre_pending_free(pending);
    return status;
}

enum { FORMS = 4 };
static void *dispatch(void *user) {
    dispatcher *d = user;
    rig *r = d->rig;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_dispatch_config deadline = {.timeout_ns = UINT64_C(600000000000)};
    switch (d->form) {
    case 0:
        d->status = vyre_pipeline_dispatch(r->pipeline, &r->arguments, NULL, &outputs, NULL, NULL);
        break;
    case 1:
        d->status = vyre_pipeline_dispatch_into(r->pipeline, &r->arguments, &deadline, &outputs, NULL, NULL);
        break;
    case 2:
        d->status = vyre_backend_dispatch(r->backend, r->program, &r->arguments, NULL, &outputs, NULL, NULL);
        break;
    default:
        d->status = wait_for(r, &outputs);
    }
    d->is_right = d->status == VYRE_OK && is_right(r, &outputs);
    vyre_outputs_free(&outputs);
    return NULL;
}

static void dispatch_with_little_stack(rig *r, int form) {
    room room = room_make();
    dispatcher d = {.rig = r, .form = form};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, room.stack, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, dispatch, &d), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    size_t written = room_end(&room);
    if (d.status != VYRE_OK || !d.is_right || written)
        fail_msg("form %d: %s%s, %zu bytes outside of the stack were written", form, vyre_status_name(d.status),
                 d.is_right ? "" : ", the outputs are wrong", written);
}

/* On a thread with much stack: a compiler needs more than the code. */
static void compile_all(rig *r) {
    for (int form = 0; form < FORMS; form++) {
        dispatcher d = {.rig = r, .form = form};
        dispatch(&d);
        assert_true(d.is_right);
    }
}

static void large_frames_do_not_overflow_the_callers_stack(void **state) {
    (void)state;
    NEEDS_COMPILER();
    static rig r;
    rig_open(&r, "1");
    compile_all(&r);
    for (int form = 0; form < FORMS; form++)
        dispatch_with_little_stack(&r, form);
    rig_close(&r);
}

/* The same with threads of the library taking part, which have little stack, too. */
static void large_frames_do_not_overflow_the_stacks_of_the_library(void **state) {
    (void)state;
    NEEDS_COMPILER();
    static rig r;
    pthread_attr_t before, small;
    rig_open(&r, "4");
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    assert_int_equal(pthread_setattr_default_np(&small), 0);
    compile_all(&r); /* which starts the threads */
    for (int form = 0; form < FORMS; form++)
        for (int again = 0; again < 3; again++)
            dispatch_with_little_stack(&r, form);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&small);
    pthread_attr_destroy(&before);
    rig_close(&r);
}

/* ---- without memory ---- */

static vyre_status dispatch_without_memory(rig *r, vyre_error *error) {
    struct rlimit before, none;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1 || getrlimit(RLIMIT_AS, &before) != 0)
        _exit(10);
    fclose(file);
    none = before;
    none.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (128 << 10);
    setrlimit(RLIMIT_AS, &none);
    vyre_status status = vyre_pipeline_dispatch_into(r->pipeline, &r->arguments, NULL, &outputs, NULL, error);
    setrlimit(RLIMIT_AS, &before);
    vyre_outputs_free(&outputs);
    return status;
}

/* In a process of its own, which has few mappings that could be used again. */
static int child_without_memory(void) {
    static rig r;
    vyre_error error = VYRE_ERROR_INIT;
    rig_open(&r, "1");
    if (dispatch_without_memory(&r, &error) != VYRE_NO_MEMORY)
        return 1;
    if (!strstr(error.message, "`many`") || !strstr(error.message, "of stack") || !error.fix[0])
        return 2;
    dispatcher d = {.rig = &r, .form = 1};
    dispatch(&d);
    return d.is_right ? 0 : 3;
}

static void a_stack_that_cannot_be_mapped_is_an_error(void **state) {
    (void)state;
    NEEDS_COMPILER();
    if (VY_SANITIZED)
        VY_SKIP("sanitizers map memory of their own");
    pid_t child = fork();
    if (child == 0)
        _exit(child_without_memory());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- the switch ---- */

static struct {
    char *low, *high;   /* of the stack */
    unsigned is_inside; /* calls whose frame was there */
    unsigned finds_caller;
    unsigned is_aligned;
    volatile sig_atomic_t handled;
} seen;

static void through_the_switch(void **state);

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *user) {
    (void)user;
    if (_Unwind_FindEnclosingFunction((void *)(_Unwind_GetIP(context) - 1)) == (void *)(uintptr_t)through_the_switch)
        seen.finds_caller++;
    return _URC_NO_REASON;
}

static void use_stack(int signal) {
    volatile char used[100 << 10];
    (void)signal;
    for (size_t i = 0; i < sizeof used; i += 512)
        used[i] = 1;
    seen.handled += used[0];
}

static void entry(vy_cpu_frame *frame, uint64_t first, uint64_t end) {
    char *here = __builtin_frame_address(0);
    seen.is_inside += here > seen.low && here < seen.high;
    seen.is_aligned += (uintptr_t)here % 16 == 0;
    frame->trap_invocation += first * 1000 + end;
    _Unwind_Backtrace(look_at_frame, NULL);
    raise(SIGUSR1);
}

static void through_the_switch(void **state) {
    (void)state;
    vy_cpu_stack stack = {NULL, 0};
    struct sigaction action = {.sa_handler = use_stack}, before;
    sigaction(SIGUSR1, &action, &before);
    for (uint64_t bytes = VY_CPU_STACK_SMALL + 1; bytes <= VY_CPU_STACK_LIMIT; bytes *= 4) {
        vy_cpu_frame frame = {.trap_invocation = 5};
        assert_true(vy_cpu_stack_reserve(&stack, bytes));
        assert_true(stack.size >= bytes);
        void *map = stack.map;
        assert_true(vy_cpu_stack_reserve(&stack, bytes / 2));
        assert_ptr_equal(stack.map, map);
        memset(&seen, 0, sizeof seen);
        seen.low = stack.map;
        seen.high = seen.low + stack.size;
        vy_cpu_stack_call(&stack, entry, &frame, 7, 8);
        assert_int_equal(frame.trap_invocation, 5 + 7008);
        assert_int_equal(seen.is_inside, 1);
        assert_int_equal(seen.is_aligned, 1);
        assert_true(seen.finds_caller >= 1);
        assert_int_equal(seen.handled, 1);
    }
    sigaction(SIGUSR1, &before, NULL);
    vy_cpu_stack_free(&stack);
    vy_cpu_stack_free(&stack);
}

static void a_stack_ends_at_a_guard(void **state) {
    (void)state;
    vy_cpu_stack stack = {NULL, 0};
    assert_true(vy_cpu_stack_reserve(&stack, 1 << 20));
    memset((char *)stack.map + stack.size - (1 << 20), 1, 1 << 20);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile char *)stack.map = 1;
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    vy_cpu_stack_free(&stack);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_that_cannot_be_mapped_is_an_error),
        cmocka_unit_test(large_frames_do_not_overflow_the_callers_stack),
        cmocka_unit_test(large_frames_do_not_overflow_the_stacks_of_the_library),
        cmocka_unit_test(through_the_switch),
        cmocka_unit_test(a_stack_ends_at_a_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
