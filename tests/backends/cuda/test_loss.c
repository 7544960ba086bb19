/* An illegal address in a kernel takes the device away: everything pending ends with DEVICE_LOST, nothing hangs or leaks on the host, recovery says to restart the
 * process, and a fresh process works. Each in a process of its own: the driver does not survive a fork. */
#include "backends/conform.h"

#include "backends/cuda/api.h"
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
    vy_cuda_api api;
    vy_cu_context context;
    vy_cu_module module;
    vy_cu_function function;
    int device, result;
    if (vy_cuda_api_open(vy_cuda_api_file(), &api, NULL) != VYRE_OK || api.device_get(&device, 0) ||
        api.context_retain(&context, device) || api.context_set(context))
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

static int lose(void) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_backend *backend;
    vyre_pipeline *pipeline;
    vyre_pending *pending[FLIGHTS];
    vyre_resident resident;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    static uint32_t x[COUNT];
    vyre_span input = {x, sizeof x};
    vyre_scalar n = vyre_scalar_u32(2000000);
    vyre_arguments arguments = {.params = &n, .param_count = 1, .inputs = &input, .input_count = 1};
    vy_fault_install();
    if (vyre_acquire("cuda", &backend, &error) != VYRE_OK)
        return printf("%s\n", error.message), MISSING;
    vyre_backend_release(backend);
    size_t blocks = vy_fault_live_blocks(); /* the list of backends stays */
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    EXPECT(vyre_acquire("cuda", &backend, &error) == VYRE_OK);
    EXPECT(vyre_compile(backend, program, NULL, &pipeline, &error) == VYRE_OK);
    EXPECT(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, &error) == VYRE_OK);
    EXPECT(vyre_resident_allocate(backend, 4096, NULL, &resident, &error) == VYRE_OK);
    for (int i = 0; i < FLIGHTS; i++)
        EXPECT(vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending[i], &error) == VYRE_OK);
    int result = lose_the_device();
    printf("the driver says %d\n", result);
    EXPECT(result > 0);
    int lost = 0;
    for (int i = 0; i < FLIGHTS - 1; i++) { /* one nobody waits for */
        vyre_status status = vyre_pending_wait(pending[i], UINT64_MAX, &outputs, NULL, &error);
        lost += status == VYRE_DEVICE_LOST;
        EXPECT(status == VYRE_DEVICE_LOST || status == VYRE_OK);
        EXPECT(status == VYRE_OK || error.fix[0]);
    }
    printf("%d of %d flights ended with the device: %s\nFix: %s\n", lost, FLIGHTS - 1, error.message, error.fix);
    EXPECT(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, &error) == VYRE_DEVICE_LOST);
    EXPECT(strstr(error.fix, "recover") || strstr(error.fix, "restart"));
    EXPECT(vyre_backend_device_lost(backend));
    EXPECT(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, &error) == VYRE_DEVICE_LOST);
    EXPECT(vyre_backend_try_recover(backend, &error) == VYRE_UNSUPPORTED);
    printf("recovery: %s\nFix: %s\n", error.message, error.fix);
    EXPECT(strstr(error.fix, "restart the process"));
    for (int i = 0; i < FLIGHTS; i++)
        vyre_pending_free(pending[i]);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(backend);
    vyre_outputs_free(&outputs);
    vyre_program_release(program);
    for (int i = 0; i < 5000 && vy_fault_live_blocks() != blocks; i++)
        usleep(1000); /* a thread of the library may hold the last reference for a moment */
    EXPECT(vy_fault_live_blocks() == blocks);
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
