/* Copies of what a caller lent, for work that outlives the call.
 *
 * Pieces are cut from one block, aligned for any object. The first walk over what is to be copied only measures (block NULL), the second
 * copies. */
#ifndef VY_DRIVER_PACKED_COPY_H
#define VY_DRIVER_PACKED_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct vy_bump {
    unsigned char *block;
    size_t used;
} vy_bump;

/* data NULL: room only. */
static inline void *vy_bump_copy(vy_bump *bump, const void *data, size_t size) {
    void *piece = bump->block ? bump->block + bump->used : NULL;
    if (piece && size && data)
        memcpy(piece, data, size);
    /* More than there can be stays too much: the block is then not to be had. */
    if (size > SIZE_MAX - 15 || __builtin_add_overflow(bump->used, (size + 15) / 16 * 16, &bump->used))
        bump->used = SIZE_MAX;
    return piece;
}

#endif
