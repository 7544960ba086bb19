/* JIT code objects: checked, copied into executable memory, registered with perf and GDB, and shared by pipelines as
 * executables.
 *
 * The bytes come from the compiler or from a file that another process may have written, so every field of the
 * header is checked. The code itself cannot be checked; the disk cache verifies its digest. Invariant: memory is
 * never writable and executable at the same time.
 *
 * An executable is a loaded object and the launch facts of its program. It has a reference count, and is constant
 * except for the measured cost. */
#ifndef VY_BACKENDS_CPU_CODE_OBJECT_H
#define VY_BACKENDS_CPU_CODE_OBJECT_H

#include "analysis/launch_facts.h"
#include "backends/cpu/cost_model.h"
#include "emit/llvm/kernel_abi.h"
#include "ir/model.h"
#include "vyre/backend.h"
#include "vyre/base.h"

#include <stdatomic.h>

/* ---- code objects ---- */

enum { VY_CPU_CODE_LIMIT = 1 << 30 };
#define VY_CPU_FRAME_LIMIT (UINT64_C(1) << 40) /* of the workgroup memory and of the spill area, each */

typedef struct vy_cpu_code_object {
    vy_cpu_header header;
    vy_cpu_entry *entry;
    void *map;
    size_t map_size;
    struct vy_jit_registration *registration; /* GDB's registration; NULL: none */
} vy_cpu_code_object;

/* Loads an object for a processor with these features. `name` is for profilers. The file for debuggers, if present,
 * is registered and not retained.
 *
 * VYRE_CORRUPT      not an object, truncated, or inconsistent
 * VYRE_UNSUPPORTED  another format or processor, or the system allows no executable memory
 * VYRE_NO_MEMORY */
vyre_status vy_cpu_code_object_load(vyre_span bytes, uint64_t features, const char *name, vy_cpu_code_object *out,
                                    vyre_error *error);
/* A zeroed object is ignored. */
void vy_cpu_code_object_unload(vy_cpu_code_object *object);
/* Writes the bytes it was loaded from, without the file for debuggers, after `reserved` bytes that the caller fills. */
vyre_status vy_cpu_code_object_save(const vy_cpu_code_object *object, size_t reserved, vyre_bytes *out,
                                    vyre_error *error);

/* ---- registration with perf and GDB ----
 *
 * Registration of loaded code with profilers and debuggers, if the environment variables VYRE_PERF_MAP or VYRE_GDB
 * request it (docs/cpu.md). Best effort: a failure is ignored. Any thread. */

/* Whether GDB registration is enabled: code is then compiled with line information. */
int vy_jit_debug_is_enabled(void);
/* Registers code at an address with GDB, using the file for debuggers of its object (kernel_abi.h); the bytes are
 * borrowed for the call. Returns NULL if that is disabled, the file is invalid, or memory runs out; otherwise
 * jit_debug_unregister must precede the release of the code. */
typedef struct vy_jit_registration vy_jit_registration;
vy_jit_registration *vy_jit_debug_register(const void *code, vyre_span file);

/* ---- executables ---- */

typedef struct vy_cpu_executable {
    _Atomic uint32_t references;
    vy_cpu_code_object object;
    vy_cpu_cost cost; /* per workgroup */
    vy_launch_facts *facts;
    char name[VY_LIMIT_NAME + 1];
} vy_cpu_executable;

/* Loads the object compiled from this program, and computes its launch facts. Fails like vy_cpu_code_object_load. */
vyre_status vy_cpu_executable_new(const vyre_program *program, vyre_span object, uint64_t features,
                                  vy_cpu_executable **out, vyre_error *error);
/* The format of the disk cache: the launch facts, then the object. Loading performs no analysis. Fails like
 * vy_launch_facts_load and vy_cpu_code_object_load. */
vyre_status vy_cpu_executable_load(const vyre_program *program, vyre_span bytes, uint64_t features,
                                   vy_cpu_executable **out, vyre_error *error);
vyre_status vy_cpu_executable_save(const vy_cpu_executable *code, vyre_bytes *out, vyre_error *error);
vy_cpu_executable *vy_cpu_executable_retain(vy_cpu_executable *code);
void vy_cpu_executable_release(vy_cpu_executable *code);

#endif
