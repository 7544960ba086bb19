/* Golden files: wire forms as hexadecimal text, 32 bytes a line. */
#ifndef VY_TESTS_WIRE_GOLDEN_H
#define VY_TESTS_WIRE_GOLDEN_H

#include "support/test.h"
#include "vyre/base.h"

static inline const char *golden_path(const char *name) {
    static char path[64];
    snprintf(path, sizeof path, "tests/wire/golden/%s.hex", name);
    return vy_test_path(path);
}

/* Returns 0 if there is no such file. */
static inline int golden_read(const char *name, vyre_bytes *out) {
    FILE *file = fopen(golden_path(name), "r");
    if (!file)
        return 0;
    out->size = 0;
    for (unsigned byte; fscanf(file, "%2x", &byte) == 1;) {
        assert_int_equal(vyre_bytes_resize(out, out->size + 1, NULL), VYRE_OK);
        ((uint8_t *)out->data)[out->size - 1] = (uint8_t)byte;
    }
    fclose(file);
    return 1;
}

static inline void golden_write(const char *name, const vyre_bytes *bytes) {
    FILE *file = fopen(golden_path(name), "w");
    assert_non_null(file);
    for (size_t i = 0; i < bytes->size; i++)
        fprintf(file, "%02x%s", ((const uint8_t *)bytes->data)[i], i % 32 == 31 || i + 1 == bytes->size ? "\n" : "");
    fclose(file);
}

#endif
