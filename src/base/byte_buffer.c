/* Owned bytes (vyre_bytes). */
#include "base/memory.h"
#include "base/status.h"

void vyre_bytes_free(vyre_bytes *bytes) {
    if (!bytes)
        return;
    vy_release(bytes->data, bytes->capacity);
    *bytes = (vyre_bytes)VYRE_BYTES_INIT;
}

vyre_status vyre_bytes_resize(vyre_bytes *bytes, size_t size, vyre_error *error) {
    VY_REQUIRE(error, bytes);
    VY_REQUIRE_ARRAY(error, bytes->data, bytes->capacity);
    if (size > bytes->capacity) {
        /* Half as much again, so that growing step by step stays linear. */
        size_t half_more = bytes->capacity + bytes->capacity / 2;
        size_t capacity = half_more > size ? half_more : size;
        void *data = vy_resize(bytes->data, bytes->capacity, capacity);
        if (!data)
            return vy_fail(error, VYRE_NO_MEMORY, NULL, "no host memory for a buffer (%zu bytes)", size);
        bytes->data = data;
        bytes->capacity = capacity;
    }
    if (size > bytes->size)
        memset((char *)bytes->data + bytes->size, 0, size - bytes->size);
    bytes->size = size;
    return VYRE_OK;
}
