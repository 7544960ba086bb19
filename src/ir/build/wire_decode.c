/* Decoding a program (vyre/wire.h): the decoder fills an IR builder, which is then finished like any other. */
#include "vyre/wire.h"

#include "base/status.h"
#include "ir/build/finish.h"
#include "ir/wire/decode.h"

static vyre_status finish(vy_decoder *d, vy_source *source, vyre_program **out) {
    vyre_status status = vy_irb_finish(&d->draft, source, d->reader.diagnostics, out, d->reader.error);
    if (status == VYRE_OK && vy_decode_check_digest(d, *out) != VYRE_OK) {
        vyre_program_release(*out);
        *out = NULL;
        status = VYRE_CORRUPT;
    }
    return status;
}

vyre_status vyre_wire_decode(const void *data, size_t size, vyre_diagnostics *diagnostics, vyre_program **out,
                             vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE_ARRAY(error, data, size);
    vy_decoder d = {.reader = {.data = data, .end = size, .diagnostics = diagnostics, .error = error}};
    vy_source *source;
    vyre_status status = vy_decode_to_builder(&d, &source);
    if (status == VYRE_OK)
        status = finish(&d, source, out);
    vy_source_release(source);
    vy_decoder_free(&d);
    return status;
}
