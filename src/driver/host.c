/* The host table: thin doors to what the library has anyway. */
#include "driver/host.h"

#include "base/memory.h"
#include "base/status.h"
#include "vyre/wire.h"

static vyre_status fail(vyre_error *error, vyre_status code, const char *fix, const char *message) {
    return vy_fail(error, code, fix, "%s", message ? message : vyre_status_doc(code));
}

const vyre_host vy_host = {
    .struct_size = offsetof(vyre_host, reference_dispatch), /* the oracle behind the contract comes next */
    .abi = VYRE_BACKEND_ABI,
    .allocate = vy_allocate,
    .resize = vy_resize,
    .release = vy_release,
    .fail = fail,
    .bytes_resize = vyre_bytes_resize,
    .program_retain = vyre_program_retain,
    .program_release = vyre_program_release,
    .program_name = vyre_program_name,
    .program_fingerprint = vyre_program_fingerprint,
    .program_buffer_count = vyre_program_buffer_count,
    .program_buffer = vyre_program_buffer,
    .program_workgroup = vyre_program_workgroup,
    .program_encode = vyre_wire_encode,
};
