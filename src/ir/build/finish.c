/* Finishing (finish.h): validation, feature flags and fingerprint of a built or decoded program; vyre_wire_decode. */
#include "ir/build/finish.h"

#include "base/status.h"
#include "ir/dispatch_resolve.h"
#include "ir/validate/validate.h"
#include "ir/wire/decode.h"
#include "ir/wire/encode.h"
#include "vyre/wire.h"

/* Debug and sanitizer builds validate every step. */
#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
enum { MAY_SKIP_VERIFY = 0 };
#elif defined(__has_feature)
enum { MAY_SKIP_VERIFY = !__has_feature(address_sanitizer) };
#else
enum { MAY_SKIP_VERIFY = 1 };
#endif

/* A verified program may be in use by other threads: it is not written to, here and below. */
vyre_status vy_program_verify(vyre_program *program, vyre_error *error) {
    if (program->is_verified)
        return VYRE_OK;
    vyre_status status = vy_validate(program, NULL, error);
    program->is_verified = status == VYRE_OK;
    return status;
}

vyre_status vy_program_verify_for_codegen(vyre_program *program, vyre_error *error) {
    return !MAY_SKIP_VERIFY       ? vy_program_verify(program, error)
           : program->is_verified ? VYRE_OK
                                  : vy_validate_declarations(program, error);
}

vyre_status vy_program_finalize(vyre_program *program, vyre_error *error) {
    vyre_status status = vy_program_verify(program, error);
    if (status != VYRE_OK || program->has_fingerprint)
        return status;
    status = vy_fingerprint(program, error);
    program->has_fingerprint = status == VYRE_OK;
    return status;
}

/* A step that may exceed a limit on which all code relies is validated immediately. */
static vyre_status finish_body(vy_irb *draft, vyre_diagnostics *diagnostics, vyre_error *error) {
    vyre_program *program = draft->program;
    int is_large = program->stmts.count > VY_LIMIT_STATEMENTS || program->exprs.count > VY_LIMIT_EXPRESSIONS;
    if (MAY_SKIP_VERIFY && draft->skip_verify && !draft->needs_verify && !is_large)
        return vy_derive_program_flags(program, error);
    vyre_status status = vy_validate(program, diagnostics, error);
    program->is_verified = status == VYRE_OK;
    return status == VYRE_OK && !draft->skip_verify ? vy_program_finalize(program, error) : status;
}

vyre_status vy_irb_finish(vy_irb *draft, vy_source *source, vyre_diagnostics *diagnostics, vyre_program **out,
                          vyre_error *error) {
    *out = NULL;
    vyre_program *program = draft->program;
    if (!program)
        return vy_fail_memory(error, "a program");
    program->source = source ? vy_source_retain(source) : NULL;
    vyre_status status = VYRE_OK;
    if (draft->too_large)
        status = vy_fail(error, VYRE_LIMIT, "write a smaller program, or several",
                         "the program has more statements or expression nodes than the limit (%d, %d)",
                         VY_LIMIT_STATEMENTS, VY_LIMIT_EXPRESSIONS);
    else if (draft->failed)
        status = vy_fail_memory(error, "a program");
    else if (draft->too_deep)
        status = vy_fail(error, VYRE_LIMIT, "move the inner blocks into a function",
                         "blocks nest deeper than the limit (%d)", VY_LIMIT_NESTING);
    if (status == VYRE_OK)
        status = finish_body(draft, diagnostics, error);
    if (status != VYRE_OK) {
        vy_irb_discard(draft);
        return status;
    }
    vy_program_cache_dispatch_info(program);
    draft->program = NULL;
    *out = program;
    return VYRE_OK;
}

/* ---- decoding ---- */

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
