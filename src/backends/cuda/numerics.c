/* Numerics (numerics.h). */
#include "backends/cuda/numerics.h"

void vy_cuda_numerics(void *self, vyre_numerics_profile *profile) {
    profile->exact = atomic_load(&((vy_cuda *)self)->exact);
}

vyre_status vy_cuda_numerics_confirm(vy_cuda *cuda, vyre_error *error) {
    (void)cuda;
    (void)error;
    return VYRE_OK;
}
