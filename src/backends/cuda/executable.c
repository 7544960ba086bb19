/* Loaded code and its references (executable.h). */
#include "backends/cuda/executable.h"

#include "backends/cuda/compile.h"
#include "backends/cuda/cooperative_launch.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/kernel_cache.h"
#include "base/memory.h"
#include "base/status.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- params ---- */

/* As PTX lays them out: each at a multiple of its size. */
void vy_cuda_param_layout(const vyre_program *program, uint32_t hidden, vy_cuda_kernel *kernel) {
    uint32_t buffers = (uint32_t)vyre_program_buffer_count(program), at = 12 * buffers, n = 0;
    vyre_param_info info;
    for (; vyre_program_param(program, n, &info); n++) {
        uint32_t wide = vyre_type_bits(info.type) == 64;
        at = wide ? (at + 7) / 8 * 8 : at;
        kernel->param_offsets[n] = (uint16_t)(at | (wide ? VY_CUDA_PARAM_WIDE : 0));
        at += wide ? 8 : 4;
    }
    for (; hidden; hidden--, at += 4)
        kernel->param_offsets[n++] = (uint16_t)at;
    kernel->param_count = n;
    kernel->control_offset = (uint16_t)((at + 7) / 8 * 8);
    kernel->param_bytes = (uint16_t)(kernel->control_offset + 8);
}
_Static_assert(VY_CUDA_PARAM_BYTES < VY_CUDA_PARAM_WIDE, "offsets have a bit to spare");

/* ---- kernels ---- */

enum { LOG_BYTES = 2048 };

static int is_cubin(const void *image, uint64_t size) {
    return size >= sizeof(Elf64_Ehdr) && memcmp(image, ELFMAG, SELFMAG) == 0;
}

/* What the driver's compiler said, its lines one after the other. */
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

vyre_status vy_cuda_image_load(vy_cuda *cuda, const vy_cuda_header *header, const void *image, vy_cu_module *out,
                               vyre_error *error) {
    char log[LOG_BYTES] = "";
    int options[] = {VY_CU_JIT_ERROR_LOG, VY_CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    int result = cuda->api.module_load(out, image, 2, options, values);
    return result == VY_CU_OK ? (vyre_status)VYRE_OK : fail_load(cuda, result, log, header, image, error);
}

vyre_status vy_cuda_kernel_load(vy_cuda *cuda, const vyre_program *program, vyre_span object, int is_cached,
                                uint32_t hidden, vy_cuda_kernel *out, vyre_error *error) {
    const char *image = (const char *)object.data + sizeof out->header;
    memcpy(&out->header, object.data, sizeof out->header);
    out->module = NULL;
    vy_cuda_param_layout(program, hidden, out);
    if (out->header.indirect) /* behind the control block: where the grid is, and a ticket */
        out->param_bytes += 12;
    vyre_status status = is_cached && !is_cubin(image, out->header.image_bytes)
                             ? vy_cuda_kernel_cache_load(cuda, object, 0, &out->module, error)
                             : vy_cuda_image_load(cuda, &out->header, image, &out->module, error);
    if (status != VYRE_OK)
        return status;
    status = prepare_function(cuda, out, error);
    if (status != VYRE_OK)
        vy_cuda_kernel_unload(cuda, out);
    return status;
}

void vy_cuda_kernel_unload(vy_cuda *cuda, vy_cuda_kernel *kernel) {
    cuda->api.module_unload(kernel->module);
    kernel->module = NULL;
}

/* ---- objects ---- */

static vyre_status corrupt(vyre_error *error, const char *what, uint64_t given, uint64_t expected) {
    return vy_fail(error, VYRE_CORRUPT, "compile the program again: `vyre cache clear` drops what is stored",
                   "compiled code is damaged: %s (%" PRIu64 ", %" PRIu64 " is expected)", what, given, expected);
}

/* The driver is not told how long an image is: a cubin says so by itself, and a text ends with a NUL. */
static int has_end(const uint8_t *image, uint64_t size) {
    Elf64_Ehdr elf;
    if (!is_cubin(image, size))
        return image[size - 1] == 0;
    memcpy(&elf, image, sizeof elf);
    return elf.e_shoff <= size && (size - elf.e_shoff) / sizeof(Elf64_Shdr) >= elf.e_shnum && elf.e_phoff <= size &&
           (size - elf.e_phoff) / sizeof(Elf64_Phdr) >= elf.e_phnum;
}

vyre_status vy_cuda_object_check(const vy_cuda *cuda, vyre_span object, int indirect, vy_cuda_header *header,
                                 vyre_error *error) {
    if (object.size < sizeof *header)
        return corrupt(error, "it is shorter than its header", object.size, sizeof *header);
    memcpy(header, object.data, sizeof *header);
    if (memcmp(header->magic, VY_CUDA_MAGIC, sizeof header->magic) != 0)
        return vy_fail(error, VYRE_CORRUPT, NULL, "the bytes are not compiled code: they do not start with \"%s\"",
                       VY_CUDA_MAGIC);
    if (header->format != VY_CUDA_FORMAT)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program again with the library that is to run it",
                       "compiled code is of format %" PRIu32 ", this library loads %d", header->format, VY_CUDA_FORMAT);
    if (header->architecture != cuda->device_info.architecture)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program on this device",
                       "compiled code is for another device (sm_%" PRIu32 ", this is sm_%" PRIu32 ")",
                       header->architecture, cuda->device_info.architecture);
    uint64_t size = object.size - sizeof *header;
    if (header->indirect_bytes > size || header->image_bytes != size - header->indirect_bytes || !header->image_bytes)
        return corrupt(error, "its code has another size than it says", header->image_bytes, size);
    if (!has_end((const uint8_t *)object.data + sizeof *header, header->image_bytes))
        return vy_fail(error, VYRE_CORRUPT, "compile the program again: `vyre cache clear` drops what is stored",
                       "compiled code is damaged: its image goes on behind its end (%" PRIu64 " bytes)",
                       header->image_bytes);
    if (!header->factor || header->factor > 16 || (header->factor & (header->factor - 1)))
        return corrupt(error, "its factor is not a power of two up to the limit", header->factor, 16);
    if (header->needs_cooperative && !cuda->device_info.has_cooperative_launch)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program on this device",
                       "compiled code has grid barriers, which this device does not do in one launch");
    if (header->indirect != indirect || (indirect && (header->indirect_bytes || header->factor != 1)))
        return corrupt(error, "it is not the kernel that it should be", header->indirect, (uint64_t)indirect);
    if (!memchr(header->entry, 0, sizeof header->entry))
        return corrupt(error, "the name of its entry does not end", sizeof header->entry, sizeof header->entry - 1);
    return VYRE_OK;
}

/* ---- codes ---- */

static vyre_span indirect_object_of(const vyre_bytes *object, const vy_cuda_header *header) {
    return (vyre_span){(const uint8_t *)object->data + object->size - header->indirect_bytes,
                       (size_t)header->indirect_bytes};
}

vyre_span vy_cuda_executable_indirect_object(const vy_cuda_executable *code) {
    return indirect_object_of(&code->object, &code->kernel.header);
}

static void destroy(vy_cuda_executable *code) {
    vy_release(code->full_writes, code->buffer_count * sizeof *code->full_writes);
    vyre_bytes_free(&code->object);
    vyre_program_release(code->program);
    vy_release(code, sizeof *code);
}

static vyre_status describe(vyre_program *program, vy_cuda_executable *code, vyre_error *error) {
    vyre_buffer_info info;
    code->program = vyre_program_retain(program);
    snprintf(code->name, sizeof code->name, "%s", vyre_program_name(program));
    for (; vyre_program_buffer(program, code->buffer_count, &info); code->buffer_count++) {
        code->buffers[code->buffer_count] =
            (vy_cuda_executable_buffer){.element = (uint8_t)vyre_type_size(info.type), .access = (uint8_t)info.access};
        code->output_count += (uint32_t)vy_cuda_is_output(code, code->buffer_count);
    }
    code->full_writes = vy_allocate(code->buffer_count * sizeof *code->full_writes);
    if (code->buffer_count && !code->full_writes)
        return vy_fail_memory(error, "loading compiled code");
    return vy_full_write_find(program, code->full_writes, error);
}

vyre_status vy_cuda_executable_new(vy_cuda *cuda, vyre_program *program, int cancellable, vyre_bytes *object,
                                   vy_cuda_executable **out, vyre_error *error) {
    const vyre_span bytes = {object->data, object->size};
    vy_cuda_header header;
    uint32_t together = 0;
    vyre_status status = vy_cuda_object_check(cuda, bytes, 0, &header, error);
    *out = NULL;
    if (status == VYRE_OK && header.indirect_bytes) {
        vy_cuda_header other;
        status = vy_cuda_object_check(cuda, indirect_object_of(object, &header), 1, &other, error);
    }
    if (status != VYRE_OK)
        return status;
    vy_cuda_executable *code = vy_allocate_zero(sizeof *code);
    if (!code)
        return vy_fail_memory(error, "loading compiled code");
    status = describe(program, code, error);
    if (status == VYRE_OK)
        status = vy_cuda_kernel_load(cuda, program, bytes, 0, header.factor > 1, &code->kernel, error);
    if (status == VYRE_OK && header.needs_cooperative) {
        status = vy_cuda_cooperative_blocks(cuda, &code->kernel, &together, error);
        if (status != VYRE_OK)
            vy_cuda_kernel_unload(cuda, &code->kernel);
    }
    if (status != VYRE_OK) {
        destroy(code);
        return status;
    }
    atomic_init(&code->references, 1);
    atomic_init(&code->cooperative_blocks, together);
    atomic_init(&code->tiled, NULL);
    atomic_init(&code->batched, NULL);
    atomic_init(&code->indirect, NULL);
    code->cuda = cuda;
    code->cancellable = cancellable;
    code->object = *object;
    *object = (vyre_bytes)VYRE_BYTES_INIT;
    *out = code;
    return VYRE_OK;
}

vy_cuda_executable *vy_cuda_executable_retain(vy_cuda_executable *code) {
    atomic_fetch_add_explicit(&code->references, 1, memory_order_relaxed);
    return code;
}

/* A lost context has taken its modules along. */
void vy_cuda_executable_release(vy_cuda_executable *code) {
    int was_pushed;
    if (!code || atomic_fetch_sub_explicit(&code->references, 1, memory_order_acq_rel) != 1)
        return;
    vy_cuda *cuda = code->cuda;
    vy_cuda_kernel *others[] = {atomic_load(&code->tiled), atomic_load(&code->batched), atomic_load(&code->indirect)};
    vy_cuda_enter_for_release(cuda, &was_pushed);
    vy_cuda_graphs_drop(cuda, code);
    vy_cuda_kernel_unload(cuda, &code->kernel);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i]) {
            vy_cuda_kernel_unload(cuda, others[i]);
            vy_release(others[i], sizeof *others[i]);
        }
    vy_cuda_leave(cuda, was_pushed);
    destroy(code);
}

/* Whoever comes second drops his own. */
static vyre_status find_variant(vy_cuda_executable *code, vy_cuda_kernel *_Atomic *place,
                                vyre_status (*compile)(vy_cuda_executable *code, vy_cuda_kernel *out,
                                                       vyre_error *error),
                                const vy_cuda_kernel **out, vyre_error *error) {
    vy_cuda_kernel *made, *none = NULL;
    *out = atomic_load_explicit(place, memory_order_acquire);
    if (*out)
        return VYRE_OK;
    made = vy_allocate(sizeof *made);
    if (!made)
        return vy_fail_memory(error, "compiling a kernel once more");
    vyre_status status = compile(code, made, error);
    if (status != VYRE_OK) {
        vy_release(made, sizeof *made);
        return status;
    }
    if (!atomic_compare_exchange_strong(place, &none, made)) {
        vy_cuda_kernel_unload(code->cuda, made);
        vy_release(made, sizeof *made);
        made = none;
    }
    *out = made;
    return VYRE_OK;
}

vyre_status vy_cuda_executable_tiled(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error) {
    return find_variant(code, &code->tiled, vy_cuda_compile_tiled, out, error);
}

vyre_status vy_cuda_executable_batched(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error) {
    return find_variant(code, &code->batched, vy_cuda_compile_batched, out, error);
}

vyre_status vy_cuda_executable_indirect(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error) {
    return find_variant(code, &code->indirect, vy_cuda_compile_indirect, out, error);
}
