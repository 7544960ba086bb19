/* Compiling of programs, objects, the disk cache of auxiliary kernels, and loading and reference counting of
 * executables (executable.h). */
#include "backends/cuda/executable.h"

#include "backends/cuda/cuda.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/launch.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "driver/cache_disk.h"
#include "emit/ptx/ptx.h"
#include "ir/build/builder_internal.h"
#include "ir/model.h"
#include "opt/coarsen.h"
#include "opt/pass_manager.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PENDING_STORES = 32 }; /* kept at most; the next process compiles the others again */

/* The three kernels of a program. */
typedef enum variant { PLAIN, BATCHED, INDIRECT } variant;

/* The parts of an object; empty ones are absent. */
typedef struct object_parts {
    vyre_span image, facts, batched, indirect;
} object_parts;

static vyre_status object_check(const vy_cuda *cuda, vyre_span object, variant variant, vy_cuda_header *header,
                                object_parts *parts, vyre_error *error);
static vyre_status image_load(vy_cuda *cuda, const vy_cuda_header *header, const void *image, vy_cu_module *out,
                              vyre_error *error);

/* ---- compiling: to PTX ---- */

/* Programs with more statements are inlined for the analyses, but not simplified: their dispatches gain little. */
enum { SIMPLIFIED_STATEMENTS = 64 };

static vyre_status find_facts(vyre_program *program, vy_launch_facts **out, vyre_error *error) {
    const vyre_optimize_options options = {.level = 1};
    vyre_program *plain, *simplified = NULL;
    vyre_status status = vy_program_inline_unverified(program, &plain, error);
    if (status == VYRE_OK && program->stmts.count <= SIMPLIFIED_STATEMENTS)
        status = vy_optimize_unverified(plain, &options, &vy_opt_default, 0, &simplified, error);
    if (status == VYRE_OK)
        status = vy_launch_facts_make(program, simplified ? simplified : plain, out, error);
    vyre_program_release(simplified);
    vyre_program_release(plain);
    return status;
}

static void find_control_use(const vyre_program *legal, vy_cuda_lowered *out) {
    for (uint32_t i = 0; i < legal->stmts.count; i++) {
        out->reports |= legal->stmts.items[i].kind == VY_STMT_RECORD_TRAP;
        out->polls |= legal->stmts.items[i].kind == VY_STMT_POLL;
    }
}

/* The host reads the grid of a program with grid barriers, so such a program has no kernel for indirect grids. */
static int has_indirect_grid(const vyre_program *program) {
    return program->grid.kind == VYRE_GRID_INDIRECT && !(program->facts & VY_PROGRAM_HAS_GRID_BARRIER);
}

/* Emits all kernels from one legal program. */
static vyre_status emit(const vyre_program *legal, const vy_cuda_lowering *how, int is_indirect, vy_cuda_lowered *out,
                        vyre_error *error) {
    vy_ptx_options options = {.architecture = how->architecture,
                              .target = &how->target,
                              .reserved = how->reserved,
                              .tiled_axes = (uint8_t)(6 | out->facts->is_divisible),
                              .dependent_launch = how->has_dependent_launch};
    vyre_status status = vy_ptx_emit(legal, &options, &out->code, error);
    int is_batched = !out->reports && !out->polls && !out->code.needs_cooperative && !is_indirect;
    options.dependent_launch = 0;
    if (status == VYRE_OK && is_batched && out->facts->buffer_count) {
        options.batched = 1;
        status = vy_ptx_emit(legal, &options, &out->batched, error);
    }
    if (status == VYRE_OK && is_indirect) {
        options.indirect = 1;
        status = vy_ptx_emit(legal, &options, &out->indirect, error);
    }
    return status;
}

vyre_status vy_cuda_lower(vyre_program *program, const vy_cuda_lowering *how, vy_cuda_lowered *out, vyre_error *error) {
    int is_indirect = how->has_indirect && has_indirect_grid(program);
    vy_target_desc target = how->target;
    vy_compiled compiled;
    memset(out, 0, sizeof *out);
    if (is_indirect)
        target.coarsen = VY_COARSEN_NEVER;
    vyre_status status = find_facts(program, &out->facts, error);
    if (status != VYRE_OK)
        return status;
    status = vy_compile_pipeline(program, &target, NULL, &compiled, error);
    if (status == VYRE_OK) {
        out->factor = compiled.factor;
        find_control_use(compiled.program, out);
        status = emit(compiled.program, how, is_indirect, out, error);
        vyre_program_release(compiled.program);
    }
    if (status != VYRE_OK)
        vy_cuda_lowered_free(out);
    return status;
}

void vy_cuda_lowered_free(vy_cuda_lowered *lowered) {
    vy_launch_facts_free(lowered->facts);
    vy_ptx_free(&lowered->code);
    vy_ptx_free(&lowered->batched);
    vy_ptx_free(&lowered->indirect);
    memset(lowered, 0, sizeof *lowered);
}

/* ---- objects ---- */

/* Appends a part to an object. field: the offset in the header of the part's size. */
static vyre_status append_part(vyre_bytes *object, size_t field, vyre_span part, vyre_error *error) {
    size_t size = object->size, start = (size + 15) / 16 * 16;
    const uint64_t bytes = part.size;
    if (!part.size)
        return VYRE_OK;
    vyre_status status = vyre_bytes_resize(object, start + part.size, error);
    if (status != VYRE_OK)
        return status;
    memset((char *)object->data + size, 0, start - size);
    memcpy((char *)object->data + start, part.data, part.size);
    memcpy((char *)object->data + field, &bytes, sizeof bytes);
    return VYRE_OK;
}

/* Appends the parts after the image. */
static vyre_status append_parts(vyre_bytes *object, const object_parts *parts, vyre_error *error) {
    vyre_status status = append_part(object, offsetof(vy_cuda_header, facts_bytes), parts->facts, error);
    if (status == VYRE_OK)
        status = append_part(object, offsetof(vy_cuda_header, batched_bytes), parts->batched, error);
    if (status == VYRE_OK)
        status = append_part(object, offsetof(vy_cuda_header, indirect_bytes), parts->indirect, error);
    return status;
}

/* An object of a text, which has room for the header before it; the NUL at its end belongs to the image. An empty text
 * yields an empty object. */
static vyre_status make_object(const vy_cuda *cuda, const vy_cuda_lowered *lowered, vy_ptx_code *code, int is_batched,
                               vyre_bytes *out, vyre_error *error) {
    vy_cuda_header header;
    if (!code->text.size)
        return VYRE_OK;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, VY_CUDA_MAGIC, sizeof header.magic);
    header.format = VY_CUDA_FORMAT;
    header.architecture = cuda->device_info.architecture;
    header.version = code->version;
    memcpy(header.block, code->block, sizeof header.block);
    header.static_bytes = code->static_bytes, header.dynamic_bytes = code->dynamic_bytes;
    header.factor = lowered->factor;
    header.reports = lowered->reports, header.polls = lowered->polls;
    header.needs_cooperative = code->needs_cooperative;
    header.indirect = code->indirect, header.batched = (uint8_t)is_batched;
    header.dependent_launch = code->dependent_launch, header.tiled_axes = code->tiled_axes;
    snprintf(header.entry, sizeof header.entry, "%s", code->entry);
    header.image_bytes = code->text.size + 1 - sizeof header;
    vyre_status status = vyre_bytes_resize(&code->text, code->text.size + 1, error);
    if (status != VYRE_OK)
        return status;
    memcpy(code->text.data, &header, sizeof header);
    *out = code->text;
    code->text = (vyre_bytes)VYRE_BYTES_INIT;
    return VYRE_OK;
}

static vyre_span span_of(const vyre_bytes *bytes) {
    return (vyre_span){bytes->data, bytes->size};
}

/* The object of a pipeline, with its facts and variants. */
static vyre_status assemble(const vy_cuda *cuda, vy_cuda_lowered *lowered, vyre_bytes *out, vyre_error *error) {
    vyre_bytes batched = VYRE_BYTES_INIT, indirect = VYRE_BYTES_INIT;
    vyre_status status = make_object(cuda, lowered, &lowered->code, 0, out, error);
    if (status == VYRE_OK)
        status = make_object(cuda, lowered, &lowered->batched, 1, &batched, error);
    if (status == VYRE_OK)
        status = make_object(cuda, lowered, &lowered->indirect, 0, &indirect, error);
    if (status == VYRE_OK) {
        const object_parts parts = {.facts = {lowered->facts, lowered->facts->bytes},
                                    .batched = span_of(&batched),
                                    .indirect = span_of(&indirect)};
        status = append_parts(out, &parts, error);
    }
    vyre_bytes_free(&batched);
    vyre_bytes_free(&indirect);
    return status;
}

/* The variants have the same workgroup arrays as the program. */
static vyre_status check_shared(const vy_cuda *cuda, const vy_ptx_code *code, const vyre_program *program,
                                vyre_error *error) {
    return vy_gpu_check_local(program, (uint64_t)code->static_bytes + code->dynamic_bytes,
                              cuda->device_info.shared_bytes, error);
}

static vy_cuda_lowering lowering_for(vy_cuda *cuda, int cancellable, uint32_t reserved) {
    vy_cuda_lowering how = {.architecture = cuda->device_info.architecture,
                            .target = vy_ptx_target(cuda->device_info.architecture, cancellable),
                            .has_indirect = cuda->device_info.has_indirect,
                            .has_dependent_launch = cuda->device_info.has_dependent_launch,
                            .reserved = reserved};
    how.target.exact = atomic_load(&cuda->base.exact);
    return how;
}

vyre_status vy_cuda_emit(void *self, vyre_program *program, const vyre_compile_options *options, vyre_bytes *out,
                         vyre_error *error) {
    vy_cuda *cuda = self;
    vy_cuda_lowered lowered;
    vyre_status status = vy_gpu_numerics_confirm(self, error);
    if (status != VYRE_OK)
        return status;
    const vy_cuda_lowering how = lowering_for(cuda, options->cancellable, 0);
    status = vy_cuda_lower(program, &how, &lowered, error);
    if (status != VYRE_OK)
        return status;
    *out = lowered.code.text;
    lowered.code.text = (vyre_bytes)VYRE_BYTES_INIT;
    vy_cuda_lowered_free(&lowered);
    return VYRE_OK;
}

vyre_status vy_cuda_compile(vy_gpu *gpu, vyre_program *program, int cancellable, vy_gpu_executable **out,
                            vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)gpu;
    vy_cuda_executable *code = NULL;
    const vy_cuda_lowering how = lowering_for(cuda, cancellable, sizeof(vy_cuda_header));
    vy_cuda_lowered lowered;
    vyre_bytes object = VYRE_BYTES_INIT;
    *out = NULL;
    vyre_status status = vy_cuda_lower(program, &how, &lowered, error);
    if (status != VYRE_OK)
        return status;
    status = check_shared(cuda, &lowered.code, program, error);
    if (status == VYRE_OK)
        status = assemble(cuda, &lowered, &object, error);
    vy_cuda_lowered_free(&lowered);
    if (status == VYRE_OK) /* the driver's compiler cannot be interrupted */
        status = vy_deadline_check(vyre_program_name(program), "compile by the driver", error);
    if (status == VYRE_OK)
        status = vy_cuda_executable_new(cuda, program, &object, &code, error);
    *out = code ? &code->base : NULL;
    vyre_bytes_free(&object);
    return status;
}

/* ---- to a cubin ---- */

/* A header and an image, without other parts. */
static vyre_status make_linked(const vy_cuda_header *header, vyre_span image, vyre_bytes *out, vyre_error *error) {
    vy_cuda_header linked = *header;
    vyre_status status = vyre_bytes_resize(out, sizeof linked + image.size, error);
    if (status != VYRE_OK)
        return status;
    linked.image_bytes = image.size;
    linked.facts_bytes = linked.batched_bytes = linked.indirect_bytes = 0;
    memcpy(out->data, &linked, sizeof linked);
    memcpy((char *)out->data + sizeof linked, image.data, image.size);
    return VYRE_OK;
}

/* The object with the cubin that the driver's linker makes of its PTX, without other parts. Without a linker in the
 * driver it keeps the PTX. */
static vyre_status compile_link(vy_cuda *cuda, vyre_span object, vyre_bytes *out, vyre_error *error) {
    const vy_cuda_dynamic_symbols *api = &cuda->api;
    vy_cuda_header header;
    vy_cu_link link = NULL;
    void *cubin = (char *)(uintptr_t)object.data + sizeof header;
    memcpy(&header, object.data, sizeof header);
    size_t size = (size_t)header.image_bytes;
    if (!api->link_create || !api->link_add || !api->link_complete || !api->link_destroy)
        return make_linked(&header, (vyre_span){cubin, size}, out, error);
    vyre_status status =
        vy_cuda_check(cuda, api->link_create(0, NULL, NULL, &link), "starting the driver's compiler", error);
    if (status != VYRE_OK)
        return status;
    int result = api->link_add(link, VY_CU_INPUT_PTX, cubin, size, header.entry, 0, NULL, NULL);
    if (result == VY_CU_OK)
        result = api->link_complete(link, &cubin, &size);
    status = vy_cuda_check(cuda, result, "making a cubin", error);
    if (status == VYRE_OK)
        status = make_linked(&header, (vyre_span){cubin, size}, out, error);
    api->link_destroy(link);
    return status;
}

vyre_status vy_cuda_compile_binary(vy_gpu_executable *base, vyre_bytes *out, vyre_error *error) {
    const vy_cuda_executable *code = (const vy_cuda_executable *)base;
    const vyre_span object = span_of(&code->object);
    vyre_bytes indirect = VYRE_BYTES_INIT;
    object_parts parts;
    vy_cuda_header header;
    vyre_status status = object_check(code->cuda, object, PLAIN, &header, &parts, error);
    if (status == VYRE_OK)
        status = compile_link(code->cuda, object, out, error);
    if (status == VYRE_OK && parts.indirect.size)
        status = compile_link(code->cuda, parts.indirect, &indirect, error);
    parts.indirect = span_of(&indirect);
    if (status == VYRE_OK)
        status = append_parts(out, &parts, error);
    vyre_bytes_free(&indirect);
    return status;
}

/* ---- kernel cache ---- */

struct vy_cuda_pending_store {
    vy_cuda_pending_store *next;
    vy_cache_key key;
    vyre_bytes object;
};

/* The object determines the kernel; the device's name and the driver's version determine its cubin. */
static void make_key(const vy_cuda *cuda, vyre_span object, vy_cache_key *out) {
    char device[256];
    int length = snprintf(device, sizeof device, "kernel for %s", cuda->identity);
    vy_cache_parts key = {.backend = "cuda", .identity = {device, (size_t)length}};
    vy_digest(object.data, object.size, &key.program);
    vy_cache_key_make(&key, out);
}

/* Any error of a stored kernel is a miss: it is compiled again. */
static int find(vy_cuda *cuda, const vy_cache_key *key, const vy_cuda_header *wanted, vy_cu_module *out) {
    vyre_bytes stored = VYRE_BYTES_INIT;
    vy_cuda_header header;
    object_parts parts;
    vyre_error ignored;
    vyre_status status = vy_disk_cache_load(key, &stored);
    if (status == VYRE_OK)
        status = object_check(cuda, span_of(&stored), wanted->batched ? BATCHED : PLAIN, &header, &parts, &ignored);
    if (status == VYRE_OK)
        status = image_load(cuda, &header, parts.image.data, out, &ignored);
    vyre_bytes_free(&stored);
    return status == VYRE_OK;
}

/* With the lock held. */
static vy_cuda_pending_store *find_pending_store(const vy_cuda *cuda, const vy_cache_key *key) {
    vy_cuda_pending_store *text = cuda->pending_stores;
    while (text && memcmp(&text->key, key, sizeof *key) != 0)
        text = text->next;
    return text;
}

static void free_pending_store(vy_cuda_pending_store *text) {
    vyre_bytes_free(&text->object);
    vy_release(text, sizeof *text);
}

/* Best effort: skipped if memory allocation fails. */
static void add_pending_store(vy_cuda *cuda, const vy_cache_key *key, vyre_span object) {
    vy_cuda_pending_store *text = vy_allocate_zero(sizeof *text);
    if (!text)
        return;
    text->key = *key;
    int is_kept = 0;
    if (vyre_bytes_resize(&text->object, object.size, NULL) == VYRE_OK) {
        memcpy(text->object.data, object.data, object.size);
        pthread_mutex_lock(&cuda->base.lock);
        is_kept = cuda->pending_store_count < PENDING_STORES && !find_pending_store(cuda, key);
        if (is_kept) {
            text->next = cuda->pending_stores;
            cuda->pending_stores = text;
            cuda->pending_store_count++;
        }
        pthread_mutex_unlock(&cuda->base.lock);
    }
    if (!is_kept)
        free_pending_store(text);
}

vyre_status vy_cuda_kernel_cache_load(vy_cuda *cuda, vyre_span object, int must, vy_cu_module *out, vyre_error *error) {
    vy_cuda_header header;
    vy_cache_key key;
    int has_disk = vy_disk_cache_is_enabled();
    memcpy(&header, object.data, sizeof header);
    if (has_disk) {
        make_key(cuda, object, &key);
        if (find(cuda, &key, &header, out))
            return VYRE_OK;
    }
    if (atomic_load(&cuda->base.loss))
        return vy_cuda_fail_lost(cuda, error);
    if (!must && vy_compile_forbidden())
        return vy_fail(error, VYRE_UNSUPPORTED, "run it once with compiling allowed, or allow it",
                       "compiling is forbidden, and kernel `%s` was not compiled before", header.entry);
    vyre_status status = image_load(cuda, &header, (const char *)object.data + sizeof header, out, error);
    if (status == VYRE_OK && has_disk)
        add_pending_store(cuda, &key, object);
    return status;
}

static vy_cuda_pending_store *detach_pending_stores(vy_cuda *cuda) {
    pthread_mutex_lock(&cuda->base.lock);
    vy_cuda_pending_store *pending_stores = cuda->pending_stores;
    cuda->pending_stores = NULL;
    cuda->pending_store_count = 0;
    pthread_mutex_unlock(&cuda->base.lock);
    return pending_stores;
}

void vy_cuda_kernel_cache_store(vy_cuda *cuda) {
    vy_cuda_pending_store *text, *next;
    vyre_error ignored;
    int was_pushed;
    if (!cuda->context || !cuda->pending_stores || vy_cuda_enter(cuda, &was_pushed, &ignored) != VYRE_OK)
        return;
    for (text = detach_pending_stores(cuda); text; text = next) {
        vyre_bytes linked = VYRE_BYTES_INIT;
        next = text->next;
        if (vy_disk_cache_is_enabled() && compile_link(cuda, span_of(&text->object), &linked, &ignored) == VYRE_OK)
            vy_disk_cache_store(&text->key, "cuda:kernel", span_of(&linked));
        vyre_bytes_free(&linked);
        free_pending_store(text);
    }
    vy_cuda_leave(cuda, was_pushed);
}

void vy_cuda_kernel_cache_drop(vy_cuda *cuda) {
    vy_cuda_pending_store *text, *next;
    for (text = detach_pending_stores(cuda); text; text = next) {
        next = text->next;
        free_pending_store(text);
    }
}

/* ---- executables: params ---- */

/* The PTX layout: each param is aligned to its size. */
void vy_cuda_param_layout(const vyre_program *program, vy_cuda_kernel *kernel) {
    const vy_cuda_header *header = &kernel->header;
    uint32_t buffers = (uint32_t)vyre_program_buffer_count(program), at = 12 * buffers, n = 0;
    uint32_t tiles = 2 * (uint32_t)__builtin_popcount(header->tiled_axes);
    vyre_param_info info;
    for (; vyre_program_param(program, n, &info); n++) {
        uint32_t wide = vyre_type_bits(info.type) == 64;
        at = wide ? (at + 7) / 8 * 8 : at;
        kernel->param_offsets[n] = (uint16_t)(at | (wide ? VY_CUDA_PARAM_WIDE : 0));
        at += wide ? 8 : 4;
    }
    kernel->tile_offset = (uint16_t)(at + 4 * (header->factor > 1));
    for (uint32_t hidden = (header->factor > 1) + tiles; hidden; hidden--, at += 4)
        kernel->param_offsets[n++] = (uint16_t)at;
    kernel->param_count = n;
    kernel->control_offset = (uint16_t)((at + 7) / 8 * 8);
    kernel->param_bytes = (uint16_t)(kernel->control_offset + 8 + 12 * header->indirect); /* the grid and a ticket */
}

_Static_assert(VY_CUDA_PARAM_BYTES < VY_CUDA_PARAM_WIDE, "offsets have a bit to spare");

/* ---- kernels ---- */

enum { LOG_BYTES = 2048 };

static int is_cubin(const void *image, uint64_t size) {
    return size >= sizeof(Elf64_Ehdr) && memcmp(image, ELFMAG, SELFMAG) == 0;
}

/* The error includes the message of the driver's compiler, on one line. */
static vyre_status fail_load(vy_cuda *cuda, int result, char *log, const vy_cuda_header *header, const void *image,
                             vyre_error *error) {
    char doing[sizeof error->message];
    for (char *c = log; *c; c++)
        *c = *c == '\n' || *c == '\r' ? ' ' : *c;
    snprintf(doing, sizeof doing, "%s `%s` (PTX %u.%u, sm_%u)%s%.300s",
             is_cubin(image, header->image_bytes) ? "loading" : "compiling", header->entry, header->version / 10,
             header->version % 10, header->architecture, *log ? ": " : "", log);
    return vy_cuda_failed(cuda, result, doing, error);
}

static void kernel_unload(vy_cuda *cuda, vy_cuda_kernel *kernel) {
    cuda->api.module_unload(kernel->module);
    kernel->module = NULL;
}

static vyre_status prepare_function(vy_cuda *cuda, vy_cuda_kernel *kernel, vyre_error *error) {
    const vy_cuda_dynamic_symbols *api = &cuda->api;
    vyre_status status = vy_cuda_check(
        cuda, api->module_function(&kernel->function, kernel->module, kernel->header.entry), "finding a kernel", error);
    if (status == VYRE_OK && kernel->header.dynamic_bytes)
        status = vy_cuda_check(
            cuda,
            api->function_set(kernel->function, VY_CU_FUNCTION_DYNAMIC_SHARED_BYTES, (int)kernel->header.dynamic_bytes),
            "asking for shared memory", error);
    if (status == VYRE_OK)
        status =
            vy_cuda_check(cuda, api->function_attribute(&kernel->registers, VY_CU_FUNCTION_REGISTERS, kernel->function),
                          "asking about a kernel", error);
    if (status == VYRE_OK)
        status = vy_cuda_check(
            cuda, api->function_attribute(&kernel->local_bytes, VY_CU_FUNCTION_LOCAL_BYTES, kernel->function),
            "asking about a kernel", error);
    return status;
}

/* Loads an image: a cubin, or PTX that ends with a NUL. The error for PTX has the message of the driver's compiler.
 * Inside. */
static vyre_status image_load(vy_cuda *cuda, const vy_cuda_header *header, const void *image, vy_cu_module *out,
                              vyre_error *error) {
    char log[LOG_BYTES] = "";
    int options[] = {VY_CU_JIT_ERROR_LOG, VY_CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    int result = cuda->api.module_load(out, image, 2, options, values);
    return result == VY_CU_OK ? (vyre_status)VYRE_OK : fail_load(cuda, result, log, header, image, error);
}

/* Loads the kernel of an object that was checked or made here; is_cached: through the kernel cache. Inside. */
static vyre_status kernel_load(vy_cuda *cuda, const vyre_program *program, vyre_span object, int is_cached,
                               vy_cuda_kernel *out, vyre_error *error) {
    const char *image = (const char *)object.data + sizeof out->header;
    memcpy(&out->header, object.data, sizeof out->header);
    out->base = (vy_gpu_kernel){.reports = out->header.reports,
                                .polls = out->header.polls,
                                .writes_control = out->header.reports || out->header.polls || out->header.indirect};
    out->module = NULL;
    vy_cuda_param_layout(program, out);
    vyre_status status = is_cached && !is_cubin(image, out->header.image_bytes)
                             ? vy_cuda_kernel_cache_load(cuda, object, 0, &out->module, error)
                             : image_load(cuda, &out->header, image, &out->module, error);
    if (status != VYRE_OK)
        return status;
    status = prepare_function(cuda, out, error);
    if (status != VYRE_OK)
        kernel_unload(cuda, out);
    return status;
}

/* ---- objects ---- */

static vyre_status corrupt(vyre_error *error, const char *what, uint64_t given, uint64_t expected) {
    return vy_fail(error, VYRE_CORRUPT, "compile the program again: `vyre cache clear` drops what is stored",
                   "compiled code is damaged: %s (%" PRIu64 ", %" PRIu64 " is expected)", what, given, expected);
}

/* The driver is not given the size of an image: a cubin contains it, and PTX ends with a NUL. */
static int has_end(const uint8_t *image, uint64_t size) {
    Elf64_Ehdr elf;
    if (!is_cubin(image, size))
        return image[size - 1] == 0;
    memcpy(&elf, image, sizeof elf);
    return elf.e_shoff <= size && (size - elf.e_shoff) / sizeof(Elf64_Shdr) >= elf.e_shnum && elf.e_phoff <= size &&
           (size - elf.e_phoff) / sizeof(Elf64_Phdr) >= elf.e_phnum;
}

/* The parts of an object, whose sizes must add up to its own. */
static int find_parts(vyre_span object, const vy_cuda_header *header, object_parts *out) {
    const uint64_t sizes[] = {header->image_bytes, header->facts_bytes, header->batched_bytes, header->indirect_bytes};
    vyre_span *const parts[] = {&out->image, &out->facts, &out->batched, &out->indirect};
    uint64_t at = sizeof *header;
    for (int i = 0; i < 4; i++) {
        if (i && sizes[i])
            at = (at + 15) / 16 * 16;
        if (at > object.size || sizes[i] > object.size - at)
            return 0;
        *parts[i] = (vyre_span){(const uint8_t *)object.data + at, (size_t)sizes[i]};
        at += sizes[i];
    }
    return at == object.size && out->image.size;
}

/* Checks an object that is to have the kernel of a variant.
 *
 * VYRE_CORRUPT      it is damaged
 * VYRE_UNSUPPORTED  it is of another format or for another device */
static vyre_status object_check(const vy_cuda *cuda, vyre_span object, variant variant, vy_cuda_header *header,
                                object_parts *parts, vyre_error *error) {
    vyre_status status = vy_gpu_object_check(object, sizeof *header, VY_CUDA_MAGIC, VY_CUDA_FORMAT, error);
    if (status != VYRE_OK)
        return status;
    memcpy(header, object.data, sizeof *header);
    if (header->architecture != cuda->device_info.architecture)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program on this device",
                       "compiled code is for another device (sm_%" PRIu32 ", this is sm_%" PRIu32 ")",
                       header->architecture, cuda->device_info.architecture);
    if (!find_parts(object, header, parts))
        return corrupt(error, "the sizes of its parts do not add up", header->image_bytes, object.size);
    if (!has_end(parts->image.data, parts->image.size))
        return vy_fail(error, VYRE_CORRUPT, "compile the program again: `vyre cache clear` drops what is stored",
                       "compiled code is damaged: its image exceeds its size (%" PRIu64 " bytes)", header->image_bytes);
    if (!header->factor || header->factor > VY_COARSEN_MAX || (header->factor & (header->factor - 1)))
        return corrupt(error, "its factor is not a power of two up to the limit", header->factor, VY_COARSEN_MAX);
    if (header->needs_cooperative && !cuda->device_info.has_cooperative_launch)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program on this device",
                       "compiled code has grid barriers, which this device does not do in one launch");
    if (header->tiled_axes > 7 || (header->tiled_axes && header->needs_cooperative))
        return corrupt(error, "it is tiled in an impossible way", header->tiled_axes, 0);
    if (header->batched != (variant == BATCHED) || header->indirect != (variant == INDIRECT) ||
        (variant == INDIRECT && (header->factor != 1 || header->tiled_axes)) ||
        (variant != PLAIN && parts->image.size != object.size - sizeof *header))
        return corrupt(error, "it is not the kernel that it should be", header->indirect, variant == INDIRECT);
    if (!memchr(header->entry, 0, sizeof header->entry))
        return corrupt(error, "the name of its entry does not end", sizeof header->entry, sizeof header->entry - 1);
    return VYRE_OK;
}

/* Checks the object of a pipeline with all its parts. */
static vyre_status check_all(const vy_cuda *cuda, const vyre_program *program, vyre_span object, object_parts *parts,
                             vyre_error *error) {
    vy_cuda_header header, other;
    object_parts none;
    vyre_status status = object_check(cuda, object, PLAIN, &header, parts, error);
    if (status == VYRE_OK && parts->batched.size) {
        status = object_check(cuda, parts->batched, BATCHED, &other, &none, error);
        if (status == VYRE_OK && (other.factor != header.factor || other.tiled_axes != header.tiled_axes ||
                                  memcmp(other.block, header.block, sizeof other.block) != 0))
            status = corrupt(error, "its kernel for batches has other params", other.factor, header.factor);
    }
    if (status == VYRE_OK && parts->indirect.size)
        status = object_check(cuda, parts->indirect, INDIRECT, &other, &none, error);
    if (status == VYRE_OK && !parts->indirect.size && cuda->device_info.has_indirect && has_indirect_grid(program))
        status = corrupt(error, "it has no kernel for indirect grids", 0, 1);
    return status;
}

/* ---- executables ---- */

/* NULL is ignored. */
static void free_kernel(vy_cuda *cuda, vy_cuda_kernel *kernel) {
    if (!kernel)
        return;
    if (kernel->module)
        kernel_unload(cuda, kernel);
    vy_release(kernel, sizeof *kernel);
}

static void destroy(vy_cuda_executable *code) {
    free_kernel(code->cuda, atomic_load(&code->batched));
    free_kernel(code->cuda, code->indirect);
    if (code->kernel.module)
        kernel_unload(code->cuda, &code->kernel);
    vy_gpu_executable_end(&code->base);
    vyre_bytes_free(&code->object);
    vy_release(code, sizeof *code);
}

static vyre_status load_indirect(vy_cuda_executable *code, vyre_span object, vyre_error *error) {
    code->indirect = vy_allocate_zero(sizeof *code->indirect);
    if (!code->indirect)
        return vy_fail_memory(error, "loading compiled code");
    vyre_status status = kernel_load(code->cuda, code->base.program, object, 0, code->indirect, error);
    return status == VYRE_OK ? vy_cuda_indirect_count(code->cuda, code->indirect, error) : status;
}

/* Loads everything that a dispatch needs, so that a dispatch never loads or compiles a kernel, except the one for
 * batches. */
static vyre_status load_all(vy_cuda_executable *code, vyre_span object, const object_parts *parts, vyre_error *error) {
    uint32_t together = 0;
    vyre_status status = vy_launch_facts_load(parts->facts, code->base.program, &code->base.facts, error);
    if (status == VYRE_OK)
        status = kernel_load(code->cuda, code->base.program, object, 0, &code->kernel, error);
    if (status == VYRE_OK && code->kernel.header.needs_cooperative)
        status = vy_cuda_cooperative_blocks(code->cuda, &code->kernel, &together, error);
    if (status == VYRE_OK && parts->indirect.size)
        status = load_indirect(code, parts->indirect, error);
    if (status == VYRE_OK && code->kernel.header.polls)
        status = vy_cuda_clock_prepare(code->cuda, error);
    atomic_init(&code->cooperative_blocks, together);
    return status;
}

vyre_status vy_cuda_executable_new(vy_cuda *cuda, vyre_program *program, vyre_bytes *object, vy_cuda_executable **out,
                                   vyre_error *error) {
    object_parts parts;
    *out = NULL;
    vyre_status status = check_all(cuda, program, span_of(object), &parts, error);
    if (status != VYRE_OK)
        return status;
    vy_cuda_executable *code = vy_allocate_zero(sizeof *code);
    if (!code)
        return vy_fail_memory(error, "loading compiled code");
    vy_gpu_executable_start(&code->base, &cuda->base, program);
    atomic_init(&code->batched, NULL);
    code->cuda = cuda;
    status = load_all(code, span_of(object), &parts, error);
    if (status != VYRE_OK) {
        destroy(code);
        return status;
    }
    code->base.code_bytes = object->size;
    code->object = *object;
    *object = (vyre_bytes)VYRE_BYTES_INIT;
    *out = code;
    return VYRE_OK;
}

vyre_status vy_cuda_load(vy_gpu *gpu, vyre_program *program, int cancellable, vyre_span binary, vy_gpu_executable **out,
                         vyre_error *error) {
    vy_cuda_executable *code = NULL;
    vyre_bytes object = VYRE_BYTES_INIT;
    (void)cancellable;
    vyre_status status = vyre_bytes_resize(&object, binary.size, error);
    if (status != VYRE_OK)
        return status;
    memcpy(object.data, binary.data, binary.size);
    status = vy_cuda_executable_new((vy_cuda *)gpu, program, &object, &code, error);
    vyre_bytes_free(&object);
    *out = code ? &code->base : NULL;
    return status;
}

/* If the context is lost, the driver has already destroyed its modules. */
void vy_cuda_executable_destroy(vy_gpu_executable *base) {
    vy_cuda *cuda = (vy_cuda *)base->gpu;
    vy_cuda_executable *code = (vy_cuda_executable *)base;
    int was_pushed;
    vy_cuda_enter_for_release(cuda, &was_pushed);
    vy_cuda_graphs_drop(cuda, code);
    destroy(code);
    vy_cuda_leave(cuda, was_pushed);
}

static vyre_status load_batched(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error) {
    vy_cuda_header header;
    object_parts parts;
    vyre_status status = object_check(code->cuda, span_of(&code->object), PLAIN, &header, &parts, error);
    if (status == VYRE_OK && !parts.batched.size)
        status = vy_fail(error, VYRE_UNSUPPORTED, NULL, "`%s` cannot be launched as a batch", code->base.name);
    return status == VYRE_OK ? kernel_load(code->cuda, code->base.program, parts.batched, 1, out, error) : status;
}

/* If two threads load the kernel concurrently, the second one frees its copy. */
vyre_status vy_cuda_executable_batched(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error) {
    vy_cuda_kernel *none = NULL;
    *out = atomic_load_explicit(&code->batched, memory_order_acquire);
    if (*out)
        return VYRE_OK;
    vy_cuda_kernel *made = vy_allocate_zero(sizeof *made);
    if (!made)
        return vy_fail_memory(error, "loading a kernel for batches");
    vyre_status status = load_batched(code, made, error);
    if (status != VYRE_OK) {
        free_kernel(code->cuda, made);
        return status;
    }
    if (!atomic_compare_exchange_strong(&code->batched, &none, made)) {
        free_kernel(code->cuda, made);
        made = none;
    }
    *out = made;
    return VYRE_OK;
}

vyre_status vy_cuda_executable_indirect(const vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error) {
    *out = code->indirect;
    return *out ? (vyre_status)VYRE_OK
                : vy_fail(error, VYRE_UNSUPPORTED, NULL, "`%s` has no indirect grid", code->base.name);
}
