/* An illegal address in a kernel takes the device away: everything pending ends with DEVICE_LOST, nothing hangs or
 * leaks on the host, recovery says to restart the process, and a fresh process works. Each in a process of its own:
 * the driver does not survive a fork. */
#include "backends/conform.h"

#include "backends/cuda/dynamic_symbols.h"
#include "support/fault.h"
#include "vyre/async.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] =
    "program long {\n param n : u32\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " var v = x[i]\n for k in 0 .. n { v = v * 1664525 + 1013904223 }\n if i < len(x) { x[i] = v }\n}\n";

static const char illegal[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
                              ".visible .entry illegal()\n{\n\t.reg .b64 %d<1>;\n\t.reg .b32 %r<1>;\n"
                              "\tmov.u64 %d0, 16;\n\tmov.u32 %r0, 1;\n\tst.global.u32 [%d0], %r0;\n\tret;\n}\n";

enum { FINE, WRONG, MISSING, FLIGHTS = 5, COUNT = 1000 };

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s does not hold (%s: %s; %s)\n", __LINE__, #condition, vyre_status_name(error.code),     \
                   error.message, error.fix);                                                                          \
            return WRONG;                                                                                              \
        }                                                                                                              \
    } while (0)

/* A kernel beside ours, in the same context, that stores to nowhere. */
static int lose_the_device(void) {
    vy_cuda_dynamic_symbols api;
    vy_cu_context context;
    vy_cu_module module;
    vy_cu_function function;
    int device, result;
    if (vy_cuda_dynamic_symbols_open(vy_cuda_dynamic_symbols_file(), &api, NULL) != VYRE_OK ||
        api.device_get(&device, 0) || api.context_retain(&context, device) || api.context_set(context))
        return -1;
    if (api.module_load(&module, illegal, 0, NULL, NULL) || api.module_function(&function, module, "illegal"))
        return -1;
    result = api.launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    if (!result)
        result = api.context_synchronize();
    api.context_set(NULL);
    api.context_release(device);
    return result;
}

typedef struct scene {
    vyre_backend *backend;
    vyre_program *program;
    vyre_pipeline *pipeline;
    vyre_pending *pending[FLIGHTS];
    vyre_outputs outputs;
    vyre_span input;
    vyre_scalar n;
    vyre_arguments arguments;
} scene;

/* One dispatch that is over, a resident buffer, and several in flight. */
static int enter(scene *s) {
    static uint32_t x[COUNT];
    vyre_error error = VYRE_ERROR_INIT;
    vyre_resident resident;
    *s = (scene){.outputs = VYRE_OUTPUTS_INIT, .input = {x, sizeof x}, .n = vyre_scalar_u32(2000000)};
    s->arguments = (vyre_arguments){.params = &s->n, .param_count = 1, .inputs = &s->input, .input_count = 1};
    if (vyre_acquire("cuda", &s->backend, &error) != VYRE_OK)
        return printf("%s\n", error.message), MISSING;
    s->program = conform_parse(text, NULL, 0, NULL);
    EXPECT(vyre_compile(s->backend, s->program, NULL, &s->pipeline, &error) == VYRE_OK);
    EXPECT(vyre_pipeline_dispatch(s->pipeline, &s->arguments, NULL, &s->outputs, NULL, &error) == VYRE_OK);
    EXPECT(vyre_resident_allocate(s->backend, 4096, NULL, &resident, &error) == VYRE_OK);
    for (int i = 0; i < FLIGHTS; i++)
        EXPECT(vyre_pipeline_dispatch_async(s->pipeline, &s->arguments, NULL, &s->pending[i], &error) == VYRE_OK);
    return FINE;
}

/* The blocks of the library that are left. A thread of its may hold the last reference for a moment: not more than
 * expected are waited for. */
static size_t leave(scene *s, size_t expected) {
    for (int i = 0; i < FLIGHTS; i++)
        vyre_pending_free(s->pending[i]);
    vyre_pipeline_release(s->pipeline);
    vyre_backend_release(s->backend);
    vyre_outputs_free(&s->outputs);
    vyre_program_release(s->program);
    for (int i = 0; i < 5000 && vy_fault_live_blocks() > expected; i++)
        usleep(1000);
    return vy_fault_live_blocks();
}

static int see_loss(scene *s) {
    vyre_error error = VYRE_ERROR_INIT;
    int lost = 0;
    for (int i = 0; i < FLIGHTS - 1; i++) { /* one nobody waits for */
        vyre_status status = vyre_pending_wait(s->pending[i], UINT64_MAX, &s->outputs, NULL, &error);
        lost += status == VYRE_DEVICE_LOST;
        EXPECT(status == VYRE_DEVICE_LOST || status == VYRE_OK);
        EXPECT(status == VYRE_OK || error.fix[0]);
    }
    printf("%d of %d flights ended with the device: %s\nFix: %s\n", lost, FLIGHTS - 1, error.message, error.fix);
    EXPECT(vyre_pipeline_dispatch(s->pipeline, &s->arguments, NULL, &s->outputs, NULL, &error) == VYRE_DEVICE_LOST);
    EXPECT(strstr(error.fix, "recover") || strstr(error.fix, "restart"));
    EXPECT(vyre_backend_device_lost(s->backend));
    EXPECT(vyre_pipeline_dispatch(s->pipeline, &s->arguments, NULL, &s->outputs, NULL, &error) == VYRE_DEVICE_LOST);
    EXPECT(vyre_backend_try_recover(s->backend, &error) == VYRE_UNSUPPORTED);
    printf("recovery: %s\nFix: %s\n", error.message, error.fix);
    EXPECT(strstr(error.fix, "restart the process"));
    return FINE;
}

/* The scene is played once without a loss: what stays then (the list of backends, say) may stay after one, and nothing
 * more. */
static int lose(void) {
    vyre_error error = VYRE_ERROR_INIT;
    scene s;
    vy_fault_install();
    int result = enter(&s);
    if (result != FINE)
        return result;
    size_t before = leave(&s, 1);
    if ((result = enter(&s)) != FINE)
        return result;
    result = lose_the_device();
    printf("the driver says %d\n", result);
    EXPECT(result > 0);
    if ((result = see_loss(&s)) != FINE)
        return result;
    size_t after = leave(&s, before);
    printf("%zu blocks are left, %zu without a loss\n", after, before);
    EXPECT(after <= before);
    return FINE;
}

static int work(void) {
    static conform c;
    static uint32_t x[COUNT];
    char reason[1024];
    vyre_span input = {x, sizeof x};
    vyre_scalar n = vyre_scalar_u32(20);
    vyre_arguments arguments = {.params = &n, .param_count = 1, .inputs = &input, .input_count = 1};
    if (!conform_try_open(&c, "cuda", reason, sizeof reason))
        return printf("%s\n", reason), MISSING;
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    int is_fine = conform_agree(&c, program, &arguments, CONFORM_PIPELINE);
    printf("%s\n", is_fine ? "a fresh process works" : c.message);
    vyre_program_release(program);
    conform_close(&c);
    return is_fine ? FINE : WRONG;
}

static int in_a_process(int (*what)(void)) {
    int status = 0;
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(120); /* what hangs is ended, and seen */
        int result = what();
        fflush(stdout);
        _exit(result);
    }
    assert_true(process > 0 && waitpid(process, &status, 0) == process);
    if (WIFSIGNALED(status))
        fail_msg("the process ended with signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void a_lost_device_ends_everything_and_a_fresh_process_works(void **state) {
    (void)state;
    int result = in_a_process(lose);
    if (result == MISSING)
        VY_SKIP("backend cuda: there is none");
    assert_int_equal(result, FINE);
    assert_int_equal(in_a_process(work), FINE);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lost_device_ends_everything_and_a_fresh_process_works)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
