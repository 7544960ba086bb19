/* Encoding and the fingerprint (vyre/wire.h, fingerprint.h). */
#include "vyre/wire.h"
#include "base/hash.h"
#include "base/status.h"
#include "ir/wire/encode.h"
#include "ir/wire/fingerprint.h"
#include "ir/wire/format.h"

enum {
    SCRATCH = 4096
}; /* holds most programs people and the generator write, so that their fingerprint allocates nothing */

vyre_status vy_fingerprint(vyre_program *program, vyre_error *error) {
    uint8_t scratch[SCRATCH];
    vy_wire_writer writer = {.data = scratch, .capacity = sizeof scratch, .borrowed = 1};
    vyre_status status = VYRE_OK;
    vy_wire_write(&writer, program);
    if (writer.status == VYRE_OK)
        vy_digest(writer.data, writer.size, &program->fingerprint);
    else
        status = vy_wire_writer_fail(&writer, error);
    vy_wire_writer_free(&writer);
    return status;
}

vyre_status vyre_wire_encode(const vyre_program *program, unsigned options, vyre_bytes *out, vyre_error *error) {
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, out);
    VY_REQUIRE_ARRAY(error, out->data, out->capacity);
    vy_wire_writer writer = {.data = out->data, .capacity = out->capacity};
    if (options & ~(unsigned)VYRE_WIRE_DEBUG) {
        out->size = 0;
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass 0 or VYRE_WIRE_DEBUG",
                       "the options (0x%x) have bits that mean nothing", options);
    }
    vy_wire_write(&writer, program);
    vy_wire_writer_bytes(&writer, program->fingerprint.bytes, sizeof program->fingerprint.bytes);
    if (options & VYRE_WIRE_DEBUG)
        vy_wire_write_debug(&writer, program);
    *out = (vyre_bytes){writer.data, writer.status == VYRE_OK ? writer.size : 0, writer.capacity};
    return writer.status == VYRE_OK ? VYRE_OK : vy_wire_writer_fail(&writer, error);
}
