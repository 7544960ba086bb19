/* Code written by hand, and a `cpu` backend that "compiles" programs to it: what the runtime does is tested without a
 * compiler.
 *
 * A kernel runs workgroups of one invocation. For x86-64 and AArch64; elsewhere the tests that run code are skipped. */
#ifndef VY_TESTS_CPU_BLOB_H
#define VY_TESTS_CPU_BLOB_H

#include "support/test.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/dispatch.h"
#include "driver/backend.h"
#include "vyre/cache.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

/* What an object is made of. */
typedef struct blob {
    const unsigned char *start, *end;
    uint64_t workgroup, spill;
    uint32_t parts, narrow_parts; /* of a workgroup */
} blob;

/* The frame (emit/llvm/kernel_abi.h): buffers 0, params 8, workgroup 16, spill 24, cancel 32, stop 40, trap_invocation
 * 48, trap_code 56, stopped 60, is_narrow 80; a buffer: data 0, count 8, next one at 16. */
#if defined(__x86_64__)
#include "backends/cpu/blob_x86_64.h"
#define BLOB_HAS_CODE 1
#elif defined(__aarch64__)
#include "backends/cpu/blob_aarch64.h"
#define BLOB_HAS_CODE 1
#else
#define BLOB_HAS_CODE 0
#endif

#define BLOB_NEEDS_CODE()                                                                                              \
    do {                                                                                                               \
        if (!BLOB_HAS_CODE)                                                                                            \
            VY_SKIP("the code of this test is for x86-64 and AArch64");                                                \
    } while (0)

#if BLOB_HAS_CODE
/* They are local to the file: the table of global offsets has no place for them. */
#define BLOB_HERE __attribute__((visibility("hidden")))
#define BLOB(name, ...)                                                                                                \
    extern const unsigned char blob_##name[] BLOB_HERE, blob_##name##_end[] BLOB_HERE;                                 \
    static const blob name##_blob __attribute__((unused)) = {blob_##name, blob_##name##_end, __VA_ARGS__}
#else
#define BLOB(name, ...) static const blob name##_blob __attribute__((unused)) = {NULL, NULL, __VA_ARGS__}
#define BLOB_CONTROL_OF_RULES 0u
#define BLOB_CONTROL_OF_CALLER(i) ((uint32_t)(i))
static inline uint32_t blob_control_get(void) {
    return 0;
}
static inline void blob_control_set(uint32_t value) {
    (void)value;
}
#endif

BLOB(add, 0, 0, 1, 0);
BLOB(slow, 0, 0, 1, 0);
BLOB(trap, 0, 0, 1, 0);
BLOB(spin, 0, 0, 1, 0);
BLOB(control, 0, 0, 1, 0);
BLOB(memory, 4096, 8192, 1, 0);
BLOB(meet, 0, 0, 4, 0);
BLOB(late, 0, 0, 1, 0);
BLOB(narrow, 0, 0, 1, 4);

/* An object around some code. */
static inline vyre_status blob_make(const blob *code, vyre_bytes *out, vyre_error *error) {
    size_t size = (size_t)(code->end - code->start);
    vy_cpu_header header = {.format = VY_CPU_FORMAT,
                            .width = 8,
                            .features = vy_cpu_features(),
                            .code_bytes = size,
                            .parts = code->parts,
                            .narrow_parts = code->narrow_parts,
                            .workgroup_bytes = code->workgroup,
                            .spill_bytes = code->spill};
    memcpy(header.magic, VY_CPU_MAGIC, sizeof header.magic);
    vyre_status status = vyre_bytes_resize(out, sizeof header + size, error);
    if (status == VYRE_OK) {
        memcpy(out->data, &header, sizeof header);
        memcpy((char *)out->data + sizeof header, code->start, size);
    }
    return status;
}

/* The bytes of an executable in the disk cache. */
static inline vyre_status blob_store(const vyre_program *program, const blob *code, vyre_bytes *out,
                                     vyre_error *error) {
    vyre_bytes object = VYRE_BYTES_INIT;
    vy_cpu_executable *made = NULL;
    vyre_status status = blob_make(code, &object, error);
    if (status == VYRE_OK)
        status = vy_cpu_executable_new(program, (vyre_span){object.data, object.size}, vy_cpu_features(), &made, error);
    if (status == VYRE_OK)
        status = vy_cpu_executable_save(made, out, error);
    vy_cpu_executable_release(made);
    vyre_bytes_free(&object);
    return status;
}

/* ---- the backend ---- */

static inline blob blob_of(const vyre_program *program) {
    const struct {
        const char *name;
        blob code;
    } rows[] = {{"add", add_blob},   {"slow", slow_blob},       {"trapping", trap_blob},
                {"spin", spin_blob}, {"control", control_blob}, {"memory", memory_blob},
                {"meet", meet_blob}, {"late", late_blob},       {"narrow", narrow_blob}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, vyre_program_name(program)) == 0)
            return rows[i].code;
    return add_blob;
}

static inline vyre_status blob_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                       vyre_native_pipeline *out, vyre_error *error) {
    blob code = blob_of(program);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_status status = blob_store(program, &code, &bytes, error);
    if (status == VYRE_OK)
        status = vy_cpu_pipeline_load(self, program, options, (vyre_span){bytes.data, bytes.size}, out, error);
    vyre_bytes_free(&bytes);
    return status;
}

typedef struct blob_rig {
    vyre_backend *backend;
    vy_cpu *cpu;
    vyre_backend_vtable table;
} blob_rig;

/* As vyre_acquire, on so many threads. */
static inline vyre_status blob_try_open(blob_rig *r, unsigned threads, vyre_error *error) {
    vyre_backend_instance instance;
    char text[16];
    snprintf(text, sizeof text, "%u", threads);
    setenv("VYRE_CPU_THREADS", text, 1);
    r->backend = NULL;
    vyre_status status = vy_cpu_create(NULL, 0, &instance, error);
    unsetenv("VYRE_CPU_THREADS");
    if (status != VYRE_OK)
        return status;
    r->cpu = instance.self;
    r->table = *instance.vtable;
    r->table.compile = blob_compile;
    r->table.cache_identity = NULL;
    instance.vtable = &r->table;
    return vy_backend_wrap(&instance, &r->backend, error);
}

static inline void blob_open(blob_rig *r, unsigned threads) {
    vyre_error error = VYRE_ERROR_INIT;
    if (blob_try_open(r, threads, &error) != VYRE_OK)
        fail_msg("%s", error.message);
}

static inline void blob_close(blob_rig *r) {
    vyre_backend_release(r->backend);
}

/* ---- programs ---- */

#define BLOB_ADD                                                                                                       \
    "program add {\n param p : u32\n buffer from : u32 read\n buffer to : u32 write count len(from)\n workgroup 1\n"   \
    " grid over from\n to[global_id.x] = from[global_id.x] + p\n}"
#define BLOB_OVER_X(name)                                                                                              \
    "program " name " {\n buffer x : u32 read_write\n workgroup 1\n grid over x\n x[global_id.x] = 1\n}"

static inline vyre_pipeline *blob_pipeline(blob_rig *r, const char *text) {
    vyre_program *program = vy_test_parse(text);
    vyre_pipeline *pipeline = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_compile(r->backend, program, NULL, &pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_program_release(program);
    return pipeline;
}

#endif
