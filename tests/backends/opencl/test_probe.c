/* What the backend makes of the results of its probe. */
#include "backends/conform.h"
#include "backends/opencl/opencl.h"
#include "driver/backend.h"

#include <unistd.h>

static const char text[] = "const SQUARES : u32 [8] = [0, 1, 4, 9, 16, 25, 36, 49]\n"
                           "program p {\n buffer x : u32 read_write\n workgroup 8\n grid over x\n"
                           " x[global_id.x] = SQUARES[x[global_id.x] & 7]\n}\n";

static vy_ocl_dynamic_symbols real;
static vy_cl_kernel lookups;
static uint32_t slow, next; /* the placement that takes long; that of the next launch */

static vy_cl_kernel make_kernel(vy_cl_program program, const char *name, int32_t *result) {
    vy_cl_kernel made = real.kernel_create(program, name, result);
    if (strcmp(name, "vyre_lookups") == 0)
        lookups = made;
    else if (made == lookups) /* its address is used again */
        lookups = NULL;
    return made;
}

static int32_t set_argument(vy_cl_kernel kernel, uint32_t index, size_t size, const void *value) {
    if (kernel == lookups && index == 1)
        memcpy(&next, value, sizeof next);
    return real.set_argument(kernel, index, size, value);
}

static int32_t enqueue_kernel(vy_cl_queue queue, vy_cl_kernel kernel, uint32_t dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, uint32_t wait_count, const vy_cl_event *wait,
                              vy_cl_event *event) {
    if (kernel == lookups && next == slow)
        usleep(300000);
    return real.enqueue_kernel(queue, kernel, dimensions, offset, global, local, wait_count, wait, event);
}

static void wrap(vy_ocl_dynamic_symbols *api) {
    real = *api;
    api->kernel_create = make_kernel;
    api->set_argument = set_argument;
    api->enqueue_kernel = enqueue_kernel;
}

static void constant_arrays_are_in_the_memory_that_the_probe_found_faster(void **state) {
    (void)state;
    const vyre_compile_options options = {.struct_size = sizeof options};
    vy_ocl_dynamic_symbols_wrap(wrap);
    for (slow = 0; slow < 2; slow++) {
        static conform c;
        vyre_bytes code = VYRE_BYTES_INIT;
        vyre_error error = VYRE_ERROR_INIT;
        vy_gpu_probe_forget();
        conform_open(&c, "opencl");
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        assert_int_equal(c.backend->calls.emit(c.backend->self, program, &options, &code, &error), VYRE_OK);
        int is_constant = memmem(code.data, code.size, "__constant", 10) != NULL;
        assert_int_equal(is_constant, slow == 0); /* 0: lookups in global memory are slow */
        vyre_bytes_free(&code);
        uint32_t x[5] = {3, 1, 7, 0, 9};
        const vyre_span input = {x, sizeof x};
        const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
        for (unsigned form = 0; form < CONFORM_FORM_COUNT; form++)
            conform_check(&c, "constants", program, &arguments, (conform_form)form);
        vyre_program_release(program);
        conform_close(&c);
    }
    vy_ocl_dynamic_symbols_wrap(NULL);
    vy_gpu_probe_forget();
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_arrays_are_in_the_memory_that_the_probe_found_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
