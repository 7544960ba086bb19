/* Objects: checked, copied into memory that may be executed, called.
 *
 * Bytes come from the compiler or from a file somebody else may have written: the header is believed in nothing. Of the code itself nothing can be checked; the cache vouches
 * for it with a digest. Memory is never writable and executable at once. */
#ifndef VY_BACKENDS_CPU_CODE_OBJECT_H
#define VY_BACKENDS_CPU_CODE_OBJECT_H

#include "emit/llvm/kernel_abi.h"
#include "vyre/base.h"

enum { VY_CPU_CODE_LIMIT = 1 << 30 };
#define VY_CPU_FRAME_LIMIT (UINT64_C(1) << 40) /* of the workgroup's memory and of the spill, each */

typedef struct vy_cpu_code_object {
    vy_cpu_header header;
    vy_cpu_entry *entry;
    void *map;
    size_t map_size;
    struct vy_jit_registration *registration; /* what GDB knows of it; NULL: nothing */
} vy_cpu_code_object;

/* Loads an object for a processor with these features. `name` is for profilers; the file for debuggers, if it has one, is handed on and not kept.
 *
 * VYRE_CORRUPT      not an object, cut short, or its numbers contradict each other
 * VYRE_UNSUPPORTED  of another format, of another processor, or the system allows no executable memory
 * VYRE_NO_MEMORY */
vyre_status vy_cpu_code_object_load(vyre_span bytes, uint64_t features, const char *name, vy_cpu_code_object *out,
                                    vyre_error *error);
/* Zeros are ignored. */
void vy_cpu_code_object_unload(vy_cpu_code_object *object);
/* The bytes it was loaded from, without the file for debuggers. */
vyre_status vy_cpu_code_object_save(const vy_cpu_code_object *object, vyre_bytes *out, vyre_error *error);

#endif
