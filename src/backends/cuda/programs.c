/* Code of programs that are dispatched without a pipeline (cuda.h): a few places, the one used longest ago makes room. */
#include "backends/cuda/compile.h"
#include "backends/cuda/numerics.h"

/* With the lock held, as the next two. */
static vy_cuda_program *find(vy_cuda *cuda, const vyre_program *program, int cancellable) {
    for (int i = 0; i < VY_CUDA_PROGRAMS; i++) {
        vy_cuda_program *place = &cuda->programs[i];
        if (place->program && place->cancellable == cancellable && vyre_program_equal(place->program, program))
            return place;
    }
    return NULL;
}

static vy_cuda_program *oldest(vy_cuda *cuda) {
    vy_cuda_program *best = &cuda->programs[0];
    for (int i = 1; i < VY_CUDA_PROGRAMS; i++)
        if (best->program && (!cuda->programs[i].program || cuda->programs[i].last_use < best->last_use))
            best = &cuda->programs[i];
    return best;
}

static vy_cuda_code *use(vy_cuda *cuda, vy_cuda_program *place) {
    place->last_use = ++cuda->program_clock;
    return vy_cuda_code_retain(place->code);
}

vyre_status vy_cuda_program_code(vy_cuda *cuda, vyre_program *program, int cancellable, vy_cuda_code **out,
                                 vyre_error *error) {
    vy_cuda_code *made;
    pthread_mutex_lock(&cuda->lock);
    vy_cuda_program *place = find(cuda, program, cancellable != 0);
    *out = place ? use(cuda, place) : NULL;
    pthread_mutex_unlock(&cuda->lock);
    if (*out)
        return VYRE_OK;
    vyre_status status = vy_cuda_numerics_confirm(cuda, error);
    if (status == VYRE_OK)
        status = vy_cuda_compile(cuda, program, cancellable, 1, &made, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&cuda->lock);
    place = oldest(cuda);
    vy_cuda_program old = *place;
    *place = (vy_cuda_program){vyre_program_retain(program), cancellable != 0, made, 0};
    *out = use(cuda, place);
    pthread_mutex_unlock(&cuda->lock);
    vy_cuda_code_release(old.code);
    vyre_program_release(old.program);
    return VYRE_OK;
}

void vy_cuda_programs_forget(vy_cuda *cuda) {
    for (int i = 0; i < VY_CUDA_PROGRAMS; i++) {
        pthread_mutex_lock(&cuda->lock);
        vy_cuda_program old = cuda->programs[i];
        cuda->programs[i] = (vy_cuda_program){.program = NULL};
        pthread_mutex_unlock(&cuda->lock);
        vy_cuda_code_release(old.code);
        vyre_program_release(old.program);
    }
}
