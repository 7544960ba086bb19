/* JIT code objects: checked, copied into executable memory, registered with perf and GDB, and shared by pipelines as
 * executables.
 *
 * The bytes come from the compiler or from a file that somebody else may have written, so every field of the header is
 * checked. The code itself cannot be checked; the disk cache verifies its digest. Memory is never writable and
 * executable at the same time.
 *
 * An executable is a loaded object and the properties of its program that a dispatch needs. It has a reference count,
 * and is constant except for the measured cost. */
#ifndef VY_BACKENDS_CPU_CODE_OBJECT_H
#define VY_BACKENDS_CPU_CODE_OBJECT_H

#include "analysis/full_write.h"
#include "backends/cpu/cost_model.h"
#include "emit/llvm/kernel_abi.h"
#include "ir/model.h"
#include "vyre/backend.h"
#include "vyre/base.h"

#include <stdatomic.h>

/* ---- code objects ---- */

enum { VY_CPU_CODE_LIMIT = 1 << 30 };
#define VY_CPU_FRAME_LIMIT (UINT64_C(1) << 40) /* of the workgroup's memory and of the spill, each */

typedef struct vy_cpu_code_object {
    vy_cpu_header header;
    vy_cpu_entry *entry;
    void *map;
    size_t map_size;
    struct vy_jit_registration *registration; /* what GDB knows of it; NULL: nothing */
} vy_cpu_code_object;

/* Loads an object for a processor with these features. `name` is for profilers; the file for debuggers, if it has one,
 * is handed on and not kept.
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

/* ---- registration with perf and GDB ----
 *
 * Registration of loaded code with profilers and debuggers, if the environment variables VYRE_PERF_MAP or VYRE_GDB
 * request it (docs/cpu.md). Best effort: a failure is ignored. Any thread. */

/* Whether GDB is to be told: code is compiled with lines then. */
int vy_jit_debug_is_enabled(void);
/* Tells GDB of code at an address, by the file for debuggers that its object carries (kernel_abi.h); the bytes are
 * borrowed for the call. NULL if nobody asks, the file is none, or memory is out; else jit_debug_unregister follows
 * before the code goes. */
typedef struct vy_jit_registration vy_jit_registration;
vy_jit_registration *vy_jit_debug_register(const void *code, vyre_span file);

/* ---- executables ---- */

typedef struct vy_cpu_executable_buffer {
    uint8_t element; /* bytes */
    uint8_t access;  /* vyre_access */
} vy_cpu_executable_buffer;

typedef struct vy_cpu_executable {
    _Atomic uint32_t references;
    vy_cpu_code_object object;
    vy_cpu_cost cost; /* of a workgroup */
    uint32_t buffer_count;
    vy_cpu_executable_buffer buffers[VY_LIMIT_BUFFERS];
    vy_full_write *full_writes; /* by buffer */
    char name[VY_LIMIT_NAME + 1];
} vy_cpu_executable;

/* Loads an object of this program. Fails as vy_cpu_code_object_load. */
vyre_status vy_cpu_executable_new(const vyre_program *program, vyre_span object, uint64_t features,
                                  vy_cpu_executable **out, vyre_error *error);
vy_cpu_executable *vy_cpu_executable_retain(vy_cpu_executable *code);
void vy_cpu_executable_release(vy_cpu_executable *code);

#endif
