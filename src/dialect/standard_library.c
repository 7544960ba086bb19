/* Standard library: the embedded files of lib/. */
#include "dialect/standard_library.h"

#include "base/status.h"
#include "dialect/load.h"

#include <stdio.h>

#define VY_STANDARD_LIBRARY_FILE(identifier, name, ...) static const unsigned char identifier[] = {__VA_ARGS__};
#include "vyre_standard.inc"
#undef VY_STANDARD_LIBRARY_FILE

static const struct {
    const char *name;
    vyre_span bytes;
} files[] = {
#define VY_STANDARD_LIBRARY_FILE(identifier, name, ...) {name, {identifier, sizeof identifier}},
#include "vyre_standard.inc"
#undef VY_STANDARD_LIBRARY_FILE
};
enum { FILES = sizeof files / sizeof *files };

int vy_standard_library_file(size_t index, const char **name, vyre_span *bytes) {
    if (index >= FILES)
        return 0;
    *name = files[index].name;
    *bytes = files[index].bytes;
    return 1;
}

static vyre_status read_body(void *user, const char *name, vyre_bytes *out, vyre_error *error) {
    (void)user;
    for (size_t i = 0; i < FILES; i++)
        if (strcmp(files[i].name, name) == 0) {
            vyre_status status = vyre_bytes_resize(out, files[i].bytes.size, error);
            if (status == VYRE_OK)
                memcpy(out->data, files[i].bytes.data, files[i].bytes.size);
            return status;
        }
    return vy_fail(error, VYRE_NOT_FOUND, NULL, "the standard library has no file `%.128s`", name);
}

vyre_status vy_standard_library_add(vyre_dialect_builder *builder, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < FILES && status == VYRE_OK; i++) {
        char shown[128];
        vy_manifest *manifest;
        if (!strstr(files[i].name, ".toml"))
            continue;
        snprintf(shown, sizeof shown, "lib/%s", files[i].name);
        status =
            vy_manifest_parse(shown, files[i].bytes.data, files[i].bytes.size, read_body, NULL, NULL, &manifest, error);
        if (status == VYRE_OK)
            status = vy_load_register(builder, manifest, VY_STANDARD_LIBRARY_OWNER, error);
        vy_manifest_free(manifest);
    }
    return status;
}
