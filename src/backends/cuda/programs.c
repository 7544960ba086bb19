/* Programs that are dispatched without a pipeline (cuda.h). */
#include "backends/cuda/compile.h"
#include "backends/cuda/numerics.h"
#include "base/deadline.h"

static void *retain(void *code) {
    return vy_cuda_code_retain(code);
}

static void release(void *code) {
    vy_cuda_code_release(code);
}

void vy_cuda_programs_start(vy_cuda *cuda) {
    cuda->programs = (vy_programs){.lock = &cuda->lock, .retain = retain, .release = release};
}

vyre_status vy_cuda_program_code(vy_cuda *cuda, vyre_program *program, int cancellable, uint64_t deadline_ns,
                                 vy_cuda_code **out, vyre_error *error) {
    vy_cuda_code *made;
    *out = vy_programs_find(&cuda->programs, program, cancellable);
    if (*out)
        return VYRE_OK;
    vyre_status status = vy_cuda_numerics_confirm(cuda, error);
    if (status != VYRE_OK)
        return status;
    vy_deadline_scope before = vy_deadline_begin(deadline_ns);
    status = vy_cuda_compile(cuda, program, cancellable, 1, &made, error);
    vy_deadline_end(before);
    if (status == VYRE_OK)
        *out = vy_programs_keep(&cuda->programs, program, cancellable, made);
    return status;
}
