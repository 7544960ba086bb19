#include "ptx.h"

#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"

#include <stdio.h>
#include <string.h>

int bench_ptx(const device_bench *b, vyre_program *program, vy_ptx_code *code, ptx_times *times) {
    vyre_error error = VYRE_ERROR_INIT;
    const uint32_t architecture = (uint32_t)b->cu->architecture;
    const vy_target_desc target = vy_ptx_target(architecture, 0);
    vy_compiled prepared = {0};
    memset(code, 0, sizeof *code);
    double start = suite_now(), between = start;
    vyre_status status = vy_compile_pipeline(program, &target, NULL, &prepared, &error);
    if (status == VYRE_OK) {
        between = suite_now();
        status = vy_ptx_emit(prepared.program, &(vy_ptx_options){.architecture = architecture, .dependent_launch = 1},
                             code, &error);
    }
    if (times)
        *times = (ptx_times){between - start, suite_now() - between};
    vyre_program_release(prepared.program);
    if (status != VYRE_OK)
        printf("SKIP PTX of %s: %s\n", vyre_program_name(program), error.message);
    return status == VYRE_OK;
}

void bench_load_tiny(device_bench *b) {
    vy_ptx_code code;
    if (!bench_ptx(b, vyre_module_find(b->module, "tiny"), &code, NULL))
        return;
    if (b->cu->module_load(&b->tiny_module, code.text.data) ||
        b->cu->module_function(&b->tiny, b->tiny_module, code.entry))
        printf("SKIP the bare driver: it does not load the PTX of tiny.vyre\n");
    vy_ptx_free(&code);
}
