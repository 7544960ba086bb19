#include "ir/model.h"

#include "base/status.h"

vyre_status vyre_program_inline(const vyre_program *program, vyre_program **out, vyre_error *error) {
    *out = NULL;
    if (program->facts & VY_FACT_CALL)
        return vy_fail(error, VYRE_UNSUPPORTED, "write the body at the place of the call", "calls of functions are not inlined yet");
    *out = vyre_program_retain((vyre_program *)program);
    return VYRE_OK;
}
