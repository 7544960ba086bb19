/* Parsing with the dialects known: the public parser (vyre/text.h) around the one of ir/text, which has no dialects. */
#include "base/status.h"
#include "ir/text/module.h"
#include "vyre/dialect.h"

/* The newest snapshot, pinned at the first call of an op: most texts have none. */
typedef struct newest {
    vyre_dialects_guard guard;
    vyre_status status; /* of pinning it */
    vyre_error error;
} newest;

static int lookup_signature(void *user, const char *id, size_t length, vyre_op_signature *out) {
    newest *n = user;
    if (!n->guard.snapshot && n->status == VYRE_OK)
        n->status = vyre_dialects_global(&n->guard, &n->error);
    return vyre_dialects_op_signature(&n->guard, id, length, out);
}

vyre_status vyre_text_parse(const char *text, size_t size, const vyre_parse_options *options,
                            vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE_ARRAY(error, text, size);
    if (options)
        VY_REQUIRE_ARRAY(error, options->defines, options->define_count);
    newest n = {.status = VYRE_OK};
    vyre_parse_options own = {0};
    if (options)
        own = *options;
    if (!own.op_signature)
        own.op_signature = lookup_signature, own.op_signature_user = &n;
    vyre_status status = vy_text_parse_without_dialects(text, size, &own, diagnostics, out, error);
    vyre_dialects_release(&n.guard);
    if (n.status == VYRE_OK)
        return status;
    vyre_module_free(*out);
    *out = NULL;
    if (error)
        *error = n.error;
    return n.status;
}
