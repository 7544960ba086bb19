/* Compiling (compile.h). */
#include "backends/cuda/compile.h"

#include "backends/cuda/indirect.h"
#include "base/clock.h"
#include "base/status.h"
#include "emit/ptx/prepare.h"
#include "ir/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- to PTX ---- */

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

vyre_status vy_cuda_compile_link(vy_cuda *cuda, const vyre_bytes *object, vyre_bytes *out, vyre_error *error) {
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
    vyre_status status = vy_cuda_compile_link(cuda, &code->object, out, error);
    if (status != VYRE_OK || !is_indirect(cuda, code->program))
        return status;
    status = compile_indirect(cuda, code->program, code->cancellable, &text, error);
    if (status == VYRE_OK)
        status = vy_cuda_compile_link(cuda, &text, &other, error);
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

vyre_status vy_cuda_compile_tiled(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error) {
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
        status = vy_cuda_kernel_load(cuda, code->program, (vyre_span){object.data, object.size}, 1, VY_GRID_TILE_PARAMS,
                                     out, error);
    vyre_bytes_free(&object);
    vyre_program_release(tiled);
    return status;
}

vyre_status vy_cuda_compile_batched(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    vy_cuda_lowered lowered;
    vyre_bytes object = VYRE_BYTES_INIT;
    vyre_status status =
        lower_for_device(cuda, code->program, (vy_ptx_options){.batched = 1}, code->cancellable, 1, &lowered, error);
    if (status == VYRE_OK)
        status = finish(cuda, code->program, &lowered, &object, error);
    if (status == VYRE_OK)
        status = vy_cuda_kernel_load(cuda, code->program, (vyre_span){object.data, object.size}, 1,
                                     factor_of(&object) > 1, out, error);
    vyre_bytes_free(&object);
    return status;
}

vyre_status vy_cuda_compile_indirect(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    vyre_bytes made = VYRE_BYTES_INIT;
    vyre_span object = vy_cuda_executable_indirect_object(code);
    vyre_status status = VYRE_OK;
    if (!object.size) {
        status = compile_indirect(cuda, code->program, code->cancellable, &made, error);
        object = (vyre_span){made.data, made.size};
    }
    if (status == VYRE_OK)
        status = vy_cuda_kernel_load(cuda, code->program, object, 0, 0, out, error);
    vyre_bytes_free(&made);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_indirect_count(cuda, out, error);
    if (status != VYRE_OK)
        vy_cuda_kernel_unload(cuda, out);
    return status;
}
