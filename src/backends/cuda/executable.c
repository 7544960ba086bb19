/* Compiling of programs, the disk cache of auxiliary kernels, and loading and reference counting of executables
 * (executable.h). */
#include "backends/cuda/executable.h"

#include "analysis/full_write.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/launch.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "driver/cache_disk.h"
#include "emit/ptx/ptx.h"
#include "ir/model.h"
#include "split/grid_tile.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PENDING_STORES = 32 }; /* that are kept; more are compiled again by the next process */

static vyre_status object_check(const vy_cuda *cuda, vyre_span object, int indirect, vy_cuda_header *header,
                                vyre_error *error);
static vyre_status image_load(vy_cuda *cuda, const vy_cuda_header *header, const void *image, vy_cu_module *out,
                              vyre_error *error);
static vyre_status kernel_load(vy_cuda *cuda, const vyre_program *program, vyre_span object, int is_cached,
                               uint32_t hidden, vy_cuda_kernel *out, vyre_error *error);
static void kernel_unload(vy_cuda *cuda, vy_cuda_kernel *kernel);
static vyre_span executable_indirect_object(const vy_cuda_executable *code);

/* ---- compiling: to PTX ---- */

static void find_control_use(const vyre_program *legal, vy_cuda_lowered *out) {
    out->reports = out->polls = 0;
    for (uint32_t i = 0; i < legal->stmts.count; i++) {
        out->reports |= legal->stmts.items[i].kind == VY_STMT_RECORD_TRAP;
        out->polls |= legal->stmts.items[i].kind == VY_STMT_POLL;
    }
}

static vyre_status lower(vyre_program *program, const vy_ptx_options *how, uint64_t exact, int cancellable,
                         int may_widen, vy_cuda_lowered *out, vyre_error *error) {
    const vy_ptx_prepare_options options = {.architecture = how->architecture,
                                            .inexact = ~exact,
                                            .cancellable = (uint8_t)(cancellable != 0),
                                            .keeps_grid = (uint8_t)!may_widen};
    vy_ptx_prepared prepared;
    memset(out, 0, sizeof *out);
    vyre_status status = vy_ptx_prepare(program, &options, &prepared, error);
    out->factor = prepared.factor;
    if (status != VYRE_OK)
        return status;
    find_control_use(prepared.program, out);
    status = vy_ptx_emit(prepared.program, how, &out->code, error);
    vyre_program_release(prepared.program);
    return status;
}

vyre_status vy_cuda_lower(vyre_program *program, uint32_t architecture, uint64_t exact, int cancellable, int may_widen,
                          vy_cuda_lowered *out, vyre_error *error) {
    const vy_ptx_options how = {.architecture = architecture};
    return lower(program, &how, exact, cancellable, may_widen, out, error);
}

static vyre_status lower_for_device(vy_cuda *cuda, vyre_program *program, vy_ptx_options how, int cancellable,
                                    int may_widen, vy_cuda_lowered *out, vyre_error *error) {
    how.architecture = cuda->device_info.architecture;
    how.reserved = sizeof(vy_cuda_header);
    return lower(program, &how, atomic_load(&cuda->exact), cancellable, may_widen, out, error);
}

/* ---- objects ---- */

static vyre_status assemble_object(const vy_cuda_header *header, const void *image, vyre_bytes *out,
                                   vyre_error *error) {
    vyre_status status = vyre_bytes_resize(out, sizeof *header + (size_t)header->image_bytes, error);
    if (status != VYRE_OK)
        return status;
    memcpy(out->data, header, sizeof *header);
    memcpy((char *)out->data + sizeof *header, image, (size_t)header->image_bytes);
    return VYRE_OK;
}

/* With the text, before which there is room for the header, and the NUL that ends it. */
static vyre_status make_object(const vy_cuda *cuda, vy_cuda_lowered *lowered, vyre_bytes *out, vyre_error *error) {
    vy_ptx_code *code = &lowered->code;
    vy_cuda_header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, VY_CUDA_MAGIC, sizeof header.magic);
    header.format = VY_CUDA_FORMAT;
    header.architecture = cuda->device_info.architecture;
    header.version = code->version;
    memcpy(header.block, code->block, sizeof header.block);
    header.static_bytes = code->static_bytes, header.dynamic_bytes = code->dynamic_bytes;
    header.factor = lowered->factor;
    header.reports = lowered->reports, header.polls = lowered->polls,
    header.needs_cooperative = code->needs_cooperative;
    header.indirect = code->indirect, header.dependent_launch = code->dependent_launch;
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

static vyre_status check_shared(const vy_cuda *cuda, const vy_ptx_code *code, const vyre_program *program,
                                vyre_error *error) {
    uint32_t bytes = code->static_bytes + code->dynamic_bytes;
    if (bytes <= cuda->device_info.shared_bytes)
        return VYRE_OK;
    return vy_fail(error, VYRE_LIMIT, "use smaller `workgroup` arrays, or choose another backend",
                   "the workgroup arrays of `%s` take %" PRIu32 " bytes, over the limit of the device (%" PRIu32 ")",
                   vyre_program_name(program), bytes, cuda->device_info.shared_bytes);
}

static vyre_status finish(vy_cuda *cuda, const vyre_program *program, vy_cuda_lowered *lowered, vyre_bytes *object,
                          vyre_error *error) {
    vyre_status status = check_shared(cuda, &lowered->code, program, error);
    if (status == VYRE_OK)
        status = make_object(cuda, lowered, object, error);
    vy_ptx_free(&lowered->code);
    return status;
}

static vyre_status compile_indirect(vy_cuda *cuda, vyre_program *program, int cancellable, vyre_bytes *object,
                                    vyre_error *error) {
    vy_cuda_lowered lowered;
    vyre_status status =
        lower_for_device(cuda, program, (vy_ptx_options){.indirect = 1}, cancellable, 0, &lowered, error);
    return status == VYRE_OK ? finish(cuda, program, &lowered, object, error) : status;
}

vyre_status vy_cuda_compile(vy_cuda *cuda, vyre_program *program, int cancellable, vy_cuda_executable **out,
                            vyre_error *error) {
    vy_cuda_lowered lowered;
    vyre_bytes object = VYRE_BYTES_INIT;
    *out = NULL;
    vyre_status status =
        lower_for_device(cuda, program, (vy_ptx_options){.dependent_launch = cuda->device_info.has_dependent_launch},
                         cancellable, 1, &lowered, error);
    if (status == VYRE_OK)
        status = finish(cuda, program, &lowered, &object, error);
    if (status == VYRE_OK) /* the driver's compiler cannot be stopped */
        status = vy_deadline_check(vyre_program_name(program), "compile by the driver", error);
    if (status == VYRE_OK)
        status = vy_cuda_executable_new(cuda, program, cancellable, &object, out, error);
    vyre_bytes_free(&object);
    return status;
}

/* ---- to a cubin ---- */

/* The object with what the driver's linker makes of its text; a driver without a linker leaves it as it is. */
static vyre_status compile_link(vy_cuda *cuda, const vyre_bytes *object, vyre_bytes *out, vyre_error *error) {
    const vy_cuda_dynamic_symbols *api = &cuda->api;
    vy_cuda_header header;
    vy_cu_link link = NULL;
    void *cubin = (char *)object->data + sizeof header;
    size_t size = object->size - sizeof header;
    memcpy(&header, object->data, sizeof header);
    if (!api->link_create || !api->link_add || !api->link_complete || !api->link_destroy)
        return assemble_object(&header, cubin, out, error);
    vyre_status status =
        vy_cuda_check(cuda, api->link_create(0, NULL, NULL, &link), "starting the driver's compiler", error);
    if (status != VYRE_OK)
        return status;
    int result = api->link_add(link, VY_CU_INPUT_PTX, cubin, size, header.entry, 0, NULL, NULL);
    if (result == VY_CU_OK)
        result = api->link_complete(link, &cubin, &size);
    status = vy_cuda_check(cuda, result, "making a cubin", error);
    header.image_bytes = size;
    if (status == VYRE_OK)
        status = assemble_object(&header, cubin, out, error);
    api->link_destroy(link);
    return status;
}

/* Puts the other object behind an object, at a multiple of 16; images may end with zeros. */
static vyre_status append(vyre_bytes *object, const vyre_bytes *other, vyre_error *error) {
    vy_cuda_header header;
    size_t size = object->size, room = (size + 15) / 16 * 16;
    vyre_status status = vyre_bytes_resize(object, room + other->size, error);
    if (status != VYRE_OK)
        return status;
    memset((char *)object->data + size, 0, room - size);
    memcpy((char *)object->data + room, other->data, other->size);
    memcpy(&header, object->data, sizeof header);
    header.image_bytes = room - sizeof header, header.indirect_bytes = other->size;
    memcpy(object->data, &header, sizeof header);
    return VYRE_OK;
}

/* Grids of programs with grid barriers are read by the host. */
static int is_indirect(const vy_cuda *cuda, const vyre_program *program) {
    return cuda->device_info.has_indirect && program->grid.kind == VYRE_GRID_INDIRECT &&
           !(program->facts & VY_PROGRAM_HAS_GRID_BARRIER);
}

vyre_status vy_cuda_compile_binary(vy_cuda_executable *code, vyre_bytes *out, vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    vyre_bytes text = VYRE_BYTES_INIT, other = VYRE_BYTES_INIT;
    vyre_status status = compile_link(cuda, &code->object, out, error);
    if (status != VYRE_OK || !is_indirect(cuda, code->program))
        return status;
    status = compile_indirect(cuda, code->program, code->cancellable, &text, error);
    if (status == VYRE_OK)
        status = compile_link(cuda, &text, &other, error);
    if (status == VYRE_OK)
        status = append(out, &other, error);
    vyre_bytes_free(&text);
    vyre_bytes_free(&other);
    return status;
}

/* ---- the same program in other forms ---- */

static uint32_t factor_of(const vyre_bytes *object) {
    vy_cuda_header header;
    memcpy(&header, object->data, sizeof header);
    return header.factor;
}

/* The kernel for pieces of a grid. */
static vyre_status compile_tiled(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    vy_cuda_lowered lowered;
    vyre_program *tiled;
    vyre_bytes object = VYRE_BYTES_INIT;
    vyre_status status = vy_grid_tile(code->program, &tiled, error);
    if (status != VYRE_OK)
        return status;
    status = lower_for_device(cuda, tiled, (vy_ptx_options){0}, code->cancellable, 0, &lowered, error);
    if (status == VYRE_OK)
        status = finish(cuda, tiled, &lowered, &object, error);
    if (status == VYRE_OK)
        status =
            kernel_load(cuda, code->program, (vyre_span){object.data, object.size}, 1, VY_GRID_TILE_PARAMS, out, error);
    vyre_bytes_free(&object);
    vyre_program_release(tiled);
    return status;
}

/* The one that takes its params from a table. */
static vyre_status compile_batched(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    vy_cuda_lowered lowered;
    vyre_bytes object = VYRE_BYTES_INIT;
    vyre_status status =
        lower_for_device(cuda, code->program, (vy_ptx_options){.batched = 1}, code->cancellable, 1, &lowered, error);
    if (status == VYRE_OK)
        status = finish(cuda, code->program, &lowered, &object, error);
    if (status == VYRE_OK)
        status = kernel_load(cuda, code->program, (vyre_span){object.data, object.size}, 1, factor_of(&object) > 1, out,
                             error);
    vyre_bytes_free(&object);
    return status;
}

/* The one whose grid lies in device memory. */
static vyre_status compile_indirect_kernel(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    vyre_bytes made = VYRE_BYTES_INIT;
    vyre_span object = executable_indirect_object(code);
    vyre_status status = VYRE_OK;
    if (!object.size) {
        status = compile_indirect(cuda, code->program, code->cancellable, &made, error);
        object = (vyre_span){made.data, made.size};
    }
    if (status == VYRE_OK)
        status = kernel_load(cuda, code->program, object, 0, 0, out, error);
    vyre_bytes_free(&made);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_indirect_count(cuda, out, error);
    if (status != VYRE_OK)
        kernel_unload(cuda, out);
    return status;
}

/* ---- kernel cache ---- */

struct vy_cuda_pending_store {
    vy_cuda_pending_store *next;
    vy_cache_key key;
    vyre_bytes object;
};

/* The object says all of the kernel; the device's name and the driver's version, what becomes of it. */
static void make_key(const vy_cuda *cuda, vyre_span object, vy_cache_key *out) {
    char device[256];
    int length = snprintf(device, sizeof device, "kernel for device %s sm_%" PRIu32 " driver %d",
                          cuda->device_info.name, cuda->device_info.architecture, cuda->device_info.driver_version);
    vy_cache_parts key = {.backend = "cuda", .identity = {device, (size_t)length}};
    vy_digest(object.data, object.size, &key.program);
    vy_cache_key_make(&key, out);
}

/* Whatever is wrong with what is stored, it is compiled again. */
static int find(vy_cuda *cuda, const vy_cache_key *key, const vy_cuda_header *wanted, vy_cu_module *out) {
    vyre_bytes stored = VYRE_BYTES_INIT;
    vy_cuda_header header;
    vyre_error ignored;
    vyre_status status = vy_disk_cache_load(key, &stored);
    const vyre_span object = {stored.data, stored.size};
    if (status == VYRE_OK)
        status = object_check(cuda, object, wanted->indirect, &header, &ignored);
    if (status == VYRE_OK)
        status = image_load(cuda, &header, (const char *)object.data + sizeof header, out, &ignored);
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

/* As far as there is memory. */
static void add_pending_store(vy_cuda *cuda, const vy_cache_key *key, vyre_span object) {
    vy_cuda_pending_store *text = vy_allocate_zero(sizeof *text);
    if (!text)
        return;
    text->key = *key;
    int is_kept = 0;
    if (vyre_bytes_resize(&text->object, object.size, NULL) == VYRE_OK) {
        memcpy(text->object.data, object.data, object.size);
        pthread_mutex_lock(&cuda->lock);
        is_kept = cuda->pending_store_count < PENDING_STORES && !find_pending_store(cuda, key);
        if (is_kept) {
            text->next = cuda->pending_stores;
            cuda->pending_stores = text;
            cuda->pending_store_count++;
        }
        pthread_mutex_unlock(&cuda->lock);
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
    if (atomic_load(&cuda->loss))
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
    pthread_mutex_lock(&cuda->lock);
    vy_cuda_pending_store *pending_stores = cuda->pending_stores;
    cuda->pending_stores = NULL;
    cuda->pending_store_count = 0;
    pthread_mutex_unlock(&cuda->lock);
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
        if (vy_disk_cache_is_enabled() && compile_link(cuda, &text->object, &linked, &ignored) == VYRE_OK)
            vy_disk_cache_store(&text->key, "cuda:kernel", (vyre_span){linked.data, linked.size});
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

/* Loads an image: a cubin, or PTX that ends with a NUL. The error of a text has what the driver's compiler says.
 * Inside. */
static vyre_status image_load(vy_cuda *cuda, const vy_cuda_header *header, const void *image, vy_cu_module *out,
                              vyre_error *error) {
    char log[LOG_BYTES] = "";
    int options[] = {VY_CU_JIT_ERROR_LOG, VY_CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    int result = cuda->api.module_load(out, image, 2, options, values);
    return result == VY_CU_OK ? (vyre_status)VYRE_OK : fail_load(cuda, result, log, header, image, error);
}

/* Loads the kernel of an object that was checked or made here, through the kernel cache if is_cached.
 * hidden: u32 params behind those of the program. Inside. */
static vyre_status kernel_load(vy_cuda *cuda, const vyre_program *program, vyre_span object, int is_cached,
                               uint32_t hidden, vy_cuda_kernel *out, vyre_error *error) {
    const char *image = (const char *)object.data + sizeof out->header;
    memcpy(&out->header, object.data, sizeof out->header);
    out->module = NULL;
    vy_cuda_param_layout(program, hidden, out);
    if (out->header.indirect) /* behind the control block: where the grid is, and a ticket */
        out->param_bytes += 12;
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

static void kernel_unload(vy_cuda *cuda, vy_cuda_kernel *kernel) {
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

/* Checks an object. indirect: its grid lies in device memory.
 *
 * VYRE_CORRUPT      it is damaged
 * VYRE_UNSUPPORTED  it is of another format or for another device */
static vyre_status object_check(const vy_cuda *cuda, vyre_span object, int indirect, vy_cuda_header *header,
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

/* that part, or nothing */
static vyre_span executable_indirect_object(const vy_cuda_executable *code) {
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
    vyre_status status = object_check(cuda, bytes, 0, &header, error);
    *out = NULL;
    if (status == VYRE_OK && header.indirect_bytes) {
        vy_cuda_header other;
        status = object_check(cuda, indirect_object_of(object, &header), 1, &other, error);
    }
    if (status != VYRE_OK)
        return status;
    vy_cuda_executable *code = vy_allocate_zero(sizeof *code);
    if (!code)
        return vy_fail_memory(error, "loading compiled code");
    status = describe(program, code, error);
    if (status == VYRE_OK)
        status = kernel_load(cuda, program, bytes, 0, header.factor > 1, &code->kernel, error);
    if (status == VYRE_OK && header.needs_cooperative) {
        status = vy_cuda_cooperative_blocks(cuda, &code->kernel, &together, error);
        if (status != VYRE_OK)
            kernel_unload(cuda, &code->kernel);
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
    kernel_unload(cuda, &code->kernel);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i]) {
            kernel_unload(cuda, others[i]);
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
        kernel_unload(code->cuda, made);
        vy_release(made, sizeof *made);
        made = none;
    }
    *out = made;
    return VYRE_OK;
}

vyre_status vy_cuda_executable_tiled(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error) {
    return find_variant(code, &code->tiled, compile_tiled, out, error);
}

vyre_status vy_cuda_executable_batched(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error) {
    return find_variant(code, &code->batched, compile_batched, out, error);
}

vyre_status vy_cuda_executable_indirect(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error) {
    return find_variant(code, &code->indirect, compile_indirect_kernel, out, error);
}
