/* Manifests: any bytes are read or refused with a place and a fix; what is read, the registry takes. */
#include "dialect/manifest.h"
#include "dialect/opdef.h"

#include <stdlib.h>

static void check(int holds) {
    if (!holds)
        abort();
}

/* Every file has the same functions. */
static vyre_status give_file(void *user, const char *name, vyre_bytes *out, vyre_error *error) {
    static const char text[] = "fn double(x: u32) -> u32 { return x + x }\nfn f() {}\n";
    vyre_status status = vyre_bytes_resize(out, sizeof text - 1, error);
    (void)user;
    check(name[0] != '/' && name[0] != 0);
    if (status == VYRE_OK)
        memcpy(out->data, text, sizeof text - 1);
    return status;
}

static void check_manifest(const vy_manifest *manifest) {
    vy_dialect *dialect = NULL;
    check(vy_dialect_make(&manifest->dialect, &dialect, NULL) == VYRE_OK);
    vy_dialect_release(dialect);
    for (uint32_t i = 0; i < manifest->op_count; i++) {
        const vyre_op_definition *op = &manifest->ops[i].definition;
        check(vy_op_check(op, manifest->dialect.owner, NULL) == VYRE_OK);
        check(vy_op_check_body(op, NULL) == VYRE_OK);
        for (uint32_t k = 0; k < op->attribute_count; k++)
            check(!op->attributes[k].has_default || vy_attribute_allows(&op->attributes[k], op->attributes[k].value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_bytes shown = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    vy_manifest *manifest = NULL;
    vyre_status status =
        vy_manifest_parse("in/put.toml", (const char *)data, size, give_file, NULL, found, &manifest, &error);
    check((status == VYRE_OK) == (manifest != NULL));
    check((status == VYRE_OK) == (vyre_diagnostics_errors(found) == 0));
    check(status == VYRE_OK || (*error.message && *error.fix && *error.where));
    check(vyre_diagnostics_render(found, &shown, NULL) == VYRE_OK);
    if (manifest)
        check_manifest(manifest);
    vy_manifest_free(manifest);
    vyre_bytes_free(&shown);
    vyre_diagnostics_free(found);
    return 0;
}
