/* Compiling, objects for the disk cache, and loading and reference counting of executables (executable.h). */
#include "backends/opencl/executable.h"

#include "backends/opencl/launch.h"
#include "base/status.h"
#include "base/thread.h"
#include "compile/pipeline.h"
#include "driver/cache_disk.h"
#include "split/grid_tile.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- to OpenCL C ---- */

static vy_opencl_device target_of(const vy_ocl *ocl) {
    vy_opencl_device target = ocl->target;
    target.exact = atomic_load(&ocl->base.exact);
    return target;
}

static vyre_status lower(const vy_opencl_device *target, vyre_program *program, int cancellable, vy_opencl_code *out,
                         vyre_error *error) {
    const vy_target_desc desc = vy_opencl_target(target, program, cancellable);
    vy_compiled compiled = {0};
    vyre_status status = vy_opencl_check(program, target, error);
    if (status == VYRE_OK)
        status = vy_compile_pipeline(program, &desc, NULL, &compiled, error);
    if (status == VYRE_OK)
        status = vy_opencl_emit(compiled.program, target, out, error);
    vyre_program_release(compiled.program);
    return status;
}

/* ---- building ---- */

/* The first lines of the build log, joined. */
static void read_log(vy_ocl *ocl, vy_cl_program program, char *out, size_t room) {
    enum { LOG_MAX = 1 << 20, LINES = 3 };
    size_t size = 0;
    out[0] = 0;
    if (ocl->api.program_build_info(program, ocl->info.device, VY_CL_BUILD_LOG, 0, NULL, &size) != VY_CL_OK || !size ||
        size > LOG_MAX)
        return;
    char *log = vy_allocate_zero(size + 1);
    if (log && ocl->api.program_build_info(program, ocl->info.device, VY_CL_BUILD_LOG, size, log, NULL) == VY_CL_OK) {
        char *line = log, *next;
        size_t used = 0;
        for (int i = 0; i < LINES && *line && used < room; i++, line = next) {
            line += strspn(line, " \r\n");
            next = line + strcspn(line, "\n");
            used += (size_t)snprintf(out + used, room - used, "%s%.*s", i ? " | " : "", (int)(next - line), line);
        }
    }
    vy_release(log, size + 1);
}

static vyre_status build(vy_ocl *ocl, vy_cl_program program, const char *options, const char *name, vyre_error *error) {
    char log[300], doing[sizeof error->message];
    int32_t result = ocl->api.program_build(program, 1, &ocl->info.device, options, NULL, NULL);
    if (result == VY_CL_OK)
        return VYRE_OK;
    read_log(ocl, program, log, sizeof log);
    snprintf(doing, sizeof doing, "building `%.80s`%s%s", name, *log ? ": " : "", log);
    return vy_ocl_failed(ocl, result, doing, error);
}

vyre_status vy_ocl_build_text(vy_ocl *ocl, const char *text, size_t size, const char *options, const char *name,
                              vy_cl_program *out, vyre_error *error) {
    int32_t result;
    *out = ocl->api.program_from_text(ocl->context, 1, &text, &size, &result);
    vyre_status status = vy_ocl_check(ocl, result, "handing code to the driver", error);
    if (status != VYRE_OK)
        return *out = NULL, status;
    status = build(ocl, *out, options, name, error);
    if (status != VYRE_OK) {
        ocl->api.program_release(*out);
        *out = NULL;
    }
    return status;
}

static vyre_status build_image(vy_ocl *ocl, const vy_ocl_header *header, const void *image, vy_cl_program *out,
                               vyre_error *error) {
    const unsigned char *bytes = image;
    const size_t size = (size_t)header->image_bytes;
    int32_t state = VY_CL_OK, result;
    *out = ocl->api.program_from_binary(ocl->context, 1, &ocl->info.device, &size, &bytes, &state, &result);
    vyre_status status = vy_ocl_check(ocl, result, "loading compiled code", error);
    if (status != VYRE_OK)
        return *out = NULL, status;
    status = vy_ocl_check(ocl, state, "loading compiled code", error);
    if (status == VYRE_OK)
        status = build(ocl, *out, header->options, header->entry, error);
    if (status != VYRE_OK) {
        ocl->api.program_release(*out);
        *out = NULL;
    }
    return status;
}

/* ---- kernels ---- */

static size_t object_bytes(const vy_ocl_header *header) {
    return sizeof(vy_ocl_object) + header->arguments * sizeof(uint64_t) + header->values.bytes;
}

static void free_object(vy_ocl *ocl, const vy_ocl_kernel *kernel, vy_ocl_object *object) {
    ocl->api.kernel_release(object->kernel);
    vy_release(object, object_bytes(&kernel->header));
}

vyre_status vy_ocl_object_take(vy_ocl *ocl, vy_ocl_kernel *kernel, vy_ocl_object **out, vyre_error *error) {
    int32_t result;
    for (int i = 0; i < VY_OCL_IDLE_KERNELS; i++)
        if (atomic_load_explicit(&kernel->idle[i], memory_order_relaxed) &&
            (*out = atomic_exchange_explicit(&kernel->idle[i], NULL, memory_order_acquire)))
            return VYRE_OK;
    vy_ocl_object *object = *out = vy_allocate_zero(object_bytes(&kernel->header));
    if (!object)
        return vy_fail_memory(error, "making a kernel object");
    object->values_id = 1;
    object->kernel = ocl->api.kernel_create(kernel->program, kernel->header.entry, &result);
    if (result != VY_CL_OK)
        vy_release(object, object_bytes(&kernel->header));
    return vy_ocl_check(ocl, result, "making a kernel object", error);
}

void vy_ocl_object_give(vy_ocl *ocl, vy_ocl_kernel *kernel, vy_ocl_object *taken) {
    for (int i = 0; i < VY_OCL_IDLE_KERNELS; i++) {
        vy_ocl_object *none = NULL;
        if (!atomic_load_explicit(&kernel->idle[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&kernel->idle[i], &none, taken, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    free_object(ocl, kernel, taken);
}

static void kernel_unload(vy_ocl *ocl, vy_ocl_kernel *kernel) {
    for (int i = 0; i < VY_OCL_IDLE_KERNELS; i++) {
        if (kernel->idle[i])
            free_object(ocl, kernel, kernel->idle[i]);
        kernel->idle[i] = NULL;
    }
    if (kernel->program)
        ocl->api.program_release(kernel->program);
    kernel->program = NULL;
    vy_ocl_area_free(ocl, &kernel->tables);
}

/* The kernel states its workgroup (reqd_work_group_size), so the compiler has made code that fits it. NVIDIA's driver
 * reports 256 as the largest workgroup all the same, so that limit counts only for a driver that ignores the statement.
 * Other drivers refuse a launch that is too large. */
static vyre_status check_block(vy_ocl *ocl, vy_ocl_kernel *kernel, vyre_error *error) {
    const uint32_t *block = kernel->header.block;
    size_t most = 0, compiled[3] = {0}, wanted = (size_t)block[0] * block[1] * block[2];
    vy_ocl_object *object;
    vyre_status status = vy_ocl_object_take(ocl, kernel, &object, error);
    if (status != VYRE_OK)
        return status;
    int32_t result =
        ocl->api.kernel_group_info(object->kernel, ocl->info.device, VY_CL_KERNEL_MAX_GROUP, sizeof most, &most, NULL);
    if (result == VY_CL_OK)
        result = ocl->api.kernel_group_info(object->kernel, ocl->info.device, VY_CL_KERNEL_COMPILE_GROUP,
                                            sizeof compiled, compiled, NULL);
    status = vy_ocl_check(ocl, result, "asking about a kernel", error);
    vy_ocl_object_give(ocl, kernel, object);
    if (status == VYRE_OK && most < wanted &&
        (compiled[0] != block[0] || compiled[1] != block[1] || compiled[2] != block[2]))
        return vy_fail(error, VYRE_LIMIT, VY_FIX("use a workgroup of at most %zu invocations", most),
                       "kernel `%s` takes %zu invocations in a workgroup on this device, not %zu", kernel->header.entry,
                       most, wanted);
    return status;
}

/* Copies constant arrays to or from the memory of the kernel, and waits. */
static vyre_status copy_tables(vy_ocl *ocl, const vy_ocl_kernel *kernel, void *host, int is_upload, vyre_error *error) {
    const size_t size = (size_t)kernel->header.table_bytes;
    const vy_ocl_area *area = &kernel->tables;
    vy_gpu_slot *slot;
    if (!size)
        return VYRE_OK;
    if (area->host) {
        memcpy(is_upload ? area->host : host, is_upload ? host : area->host, size);
        return VYRE_OK;
    }
    vyre_status status = vy_ocl_slot_acquire(&ocl->base, 0, &slot, error);
    if (status != VYRE_OK)
        return status;
    status = vy_ocl_copy(slot, area, 0, host, size, is_upload, 1, error);
    vy_ocl_slot_release(slot, status != VYRE_OK);
    return status;
}

/* Takes ownership of the built program, also on failure. */
static vyre_status kernel_start(vy_ocl *ocl, const vy_ocl_header *header, const void *tables, uint64_t code_bytes,
                                vy_cl_program program, vy_ocl_kernel *out, vyre_error *error) {
    memset(out, 0, sizeof *out);
    out->header = *header;
    out->base = (vy_gpu_kernel){.reports = header->reports,
                                .polls = header->polls,
                                .writes_control = header->reports || header->polls,
                                .is_per_slice = header->hidden != 0};
    out->code_bytes = code_bytes;
    out->program = program;
    vyre_status status = check_block(ocl, out, error);
    if (status == VYRE_OK && header->table_bytes)
        status = vy_ocl_area_make(ocl, header->table_bytes, "storing constant arrays", &out->tables, error);
    if (status == VYRE_OK)
        status = copy_tables(ocl, out, (void *)(uintptr_t)tables, 1, error);
    if (status != VYRE_OK)
        kernel_unload(ocl, out);
    return status;
}

/* ---- compiling ---- */

static vyre_status make_header(const vy_ocl *ocl, const vy_opencl_code *code, const vyre_program *program,
                               uint64_t exact, uint32_t hidden, vy_ocl_header *out, vyre_error *error) {
    const uint64_t divides = UINT64_C(1) << VYRE_NUMERIC_F32_DIV | UINT64_C(1) << VYRE_NUMERIC_F32_SQRT;
    int is_exact = (exact & divides) && (ocl->info.single_config & VY_CL_FP_EXACT_DIVIDE_SQRT);
    vyre_status status = vy_gpu_check_local(program, code->local_bytes, ocl->info.local_bytes, error);
    if (status != VYRE_OK)
        return status;
    memset(out, 0, sizeof *out);
    memcpy(out->magic, VY_OCL_MAGIC, sizeof out->magic);
    out->format = VY_OCL_FORMAT, out->launch_abi = VY_LAUNCH_ABI;
    memcpy(out->block, code->block, sizeof out->block);
    out->arguments = code->arguments, out->tables_argument = code->tables_argument;
    out->values_argument = code->values_argument, out->control_argument = code->control_argument;
    out->local_bytes = code->local_bytes;
    out->hidden = hidden;
    out->reports = code->reports, out->polls = code->polls;
    out->values = code->values;
    out->table_bytes = code->tables.size;
    snprintf(out->options, sizeof out->options, "%s%s", code->standard,
             is_exact ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    snprintf(out->entry, sizeof out->entry, "%s", code->entry);
    return VYRE_OK;
}

static vyre_status compile_kernel(vy_ocl *ocl, vyre_program *program, int cancellable, uint32_t hidden,
                                  vy_ocl_kernel *out, vyre_error *error) {
    vy_opencl_code code;
    vy_ocl_header header;
    vy_cl_program built;
    const vy_opencl_device target = target_of(ocl);
    vyre_status status = lower(&target, program, cancellable, &code, error);
    if (status != VYRE_OK)
        return status;
    status = make_header(ocl, &code, program, target.exact, hidden, &header, error);
    if (status == VYRE_OK) /* the driver's compiler cannot be stopped */
        status = vy_deadline_check(vyre_program_name(program), "compile by the driver", error);
    if (status == VYRE_OK)
        status = vy_ocl_build_text(ocl, code.text.data, code.text.size, header.options, header.entry, &built, error);
    if (status == VYRE_OK)
        status = kernel_start(ocl, &header, code.tables.data, code.text.size, built, out, error);
    vy_opencl_free(&code);
    return status;
}

static vyre_status compile_tiled(vy_ocl_executable *code, vy_ocl_kernel *out, vyre_error *error) {
    vyre_program *tiled;
    if (vy_compile_forbidden())
        return vy_fail(error, VYRE_UNSUPPORTED, "run it once with compiling allowed, or allow it",
                       "compiling is forbidden, and `%s` was not compiled for slices of a grid before",
                       code->base.name);
    vyre_status status = vy_grid_tile(code->base.program, &tiled, error);
    if (status != VYRE_OK)
        return status;
    status = compile_kernel((vy_ocl *)code->base.gpu, tiled, code->cancellable, VY_GRID_TILE_PARAMS, out, error);
    vyre_program_release(tiled);
    return status;
}

/* ---- objects ---- */

static vyre_status corrupt(vyre_error *error, const char *what) {
    return vy_fail(error, VYRE_CORRUPT, "compile the program again: `vyre cache clear` drops what is stored",
                   "compiled code is damaged: %s", what);
}

static int argument_is_valid(const vy_ocl_header *header, uint32_t argument) {
    return argument == VY_NONE || argument < header->arguments;
}

static vyre_status check_values(const vy_ocl_header *header, const vyre_program *program, vyre_error *error) {
    const vy_launch_values *values = &header->values;
    int is_valid = values->buffers == program->buffer_count &&
                   values->params == program->param_count + header->hidden && values->params <= VY_LIMIT_PARAMS &&
                   values->counts <= values->bytes && 4 * (uint64_t)values->buffers <= values->bytes - values->counts &&
                   8 * (uint64_t)values->buffers <= values->bytes && values->bytes <= VY_OCL_VALUE_BYTES;
    for (uint32_t i = 0; is_valid && i < values->params; i++)
        is_valid = values->param_at[i] + (values->is_wide[i] ? 8u : 4u) <= values->bytes;
    return is_valid ? (vyre_status)VYRE_OK : corrupt(error, "its arguments are not those of the program");
}

/* VYRE_CORRUPT      it is damaged
 * VYRE_UNSUPPORTED  it is of another format */
static vyre_status object_check(vyre_span object, const vyre_program *program, uint32_t hidden, vy_ocl_header *header,
                                vyre_error *error) {
    vyre_status status = vy_gpu_object_check(object, sizeof *header, VY_OCL_MAGIC, VY_OCL_FORMAT, error);
    if (status != VYRE_OK)
        return status;
    memcpy(header, object.data, sizeof *header);
    if (header->launch_abi != VY_LAUNCH_ABI)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program again with the library that is to run it",
                       "compiled code has the launch ABI %" PRIu32 ", this library has %d", header->launch_abi,
                       VY_LAUNCH_ABI);
    uint64_t left = object.size - sizeof *header;
    const uint64_t parts[] = {header->fact_bytes, header->table_bytes, header->image_bytes, header->more_bytes};
    int fits = header->image_bytes != 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        fits = fits && parts[i] <= left;
        left -= fits ? parts[i] : 0;
    }
    if (left || !fits)
        return corrupt(error, "its parts have other sizes than it says");
    if (!memchr(header->entry, 0, sizeof header->entry) || !memchr(header->options, 0, sizeof header->options))
        return corrupt(error, "a text in it does not end");
    if (header->hidden != hidden || !argument_is_valid(header, header->tables_argument) ||
        !argument_is_valid(header, header->values_argument) || !argument_is_valid(header, header->control_argument) ||
        program->buffer_count > header->arguments || header->arguments > VY_LIMIT_BUFFERS + 3)
        return corrupt(error, "its arguments are not those of the program");
    if ((header->reports || header->polls) && header->control_argument == VY_NONE)
        return corrupt(error, "it has no argument for its control block");
    const uint32_t *block = header->block, *size = program->workgroup, count = size[0] * size[1] * size[2];
    if (block[0] - 1 >= count || block[1] - 1 >= count || block[2] - 1 >= count ||
        ((uint64_t)block[0] * block[1] * block[2] != count && block[0] * block[1] * block[2] != 1))
        return corrupt(error, "its workgroup is not that of the program");
    return check_values(header, program, error);
}

static vyre_status read_image(vy_ocl *ocl, const vy_ocl_kernel *kernel, vyre_bytes *out, vyre_error *error) {
    size_t size = 0;
    vyre_status status =
        vy_ocl_check(ocl, ocl->api.program_info(kernel->program, VY_CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL),
                     "reading compiled code", error);
    if (status == VYRE_OK && !size)
        return vy_fail(error, VYRE_UNSUPPORTED, NULL, "the driver gives no compiled code of `%s`",
                       kernel->header.entry);
    if (status == VYRE_OK)
        status = vyre_bytes_resize(out, size, error);
    if (status != VYRE_OK)
        return status;
    unsigned char *place = out->data;
    return vy_ocl_check(ocl, ocl->api.program_info(kernel->program, VY_CL_PROGRAM_BINARIES, sizeof place, &place, NULL),
                        "reading compiled code", error);
}

/* facts: NULL for the second object. */
static vyre_status write_object(vy_ocl *ocl, const vy_ocl_kernel *kernel, const vy_launch_facts *facts,
                                const vyre_bytes *more, vyre_bytes *out, vyre_error *error) {
    vyre_bytes image = VYRE_BYTES_INIT;
    vy_ocl_header header = kernel->header;
    vyre_status status = read_image(ocl, kernel, &image, error);
    header.fact_bytes = facts ? facts->bytes : 0;
    header.image_bytes = image.size, header.more_bytes = more->size;
    size_t tables = sizeof header + (size_t)header.fact_bytes, at = tables + (size_t)header.table_bytes;
    if (status == VYRE_OK)
        status = vyre_bytes_resize(out, at + image.size + more->size, error);
    if (status == VYRE_OK) {
        memcpy(out->data, &header, sizeof header);
        if (facts)
            memcpy((char *)out->data + sizeof header, facts, facts->bytes);
        memcpy((char *)out->data + at, image.data, image.size);
        if (more->size)
            memcpy((char *)out->data + at + image.size, more->data, more->size);
        status = copy_tables(ocl, kernel, (char *)out->data + tables, 0, error);
    }
    vyre_bytes_free(&image);
    return status;
}

/* Where cancellable grids run in slices, the kernel for them is part of the object. */
vyre_status vy_ocl_serialize(vy_gpu_executable *base, vyre_bytes *out, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)base->gpu;
    vy_ocl_executable *code = (vy_ocl_executable *)base;
    vyre_bytes none = VYRE_BYTES_INIT, more = VYRE_BYTES_INIT;
    vy_gpu_kernel *tiled;
    vyre_status status = VYRE_OK;
    if (base->is_waited_for) {
        status = vy_ocl_executable_tiled(code, &tiled, error);
        if (status == VYRE_OK)
            status = write_object(ocl, (vy_ocl_kernel *)tiled, NULL, &none, &more, error);
    }
    if (status == VYRE_OK)
        status = write_object(ocl, &code->kernel, base->facts, &more, out, error);
    vyre_bytes_free(&more);
    return status;
}

static vyre_status load_kernel(vy_ocl *ocl, const vyre_program *program, vyre_span object, uint32_t hidden,
                               vy_ocl_kernel *out, vyre_error *error) {
    vy_ocl_header header;
    vy_cl_program built;
    vyre_status status = object_check(object, program, hidden, &header, error);
    if (status != VYRE_OK)
        return status;
    const char *tables = (const char *)object.data + sizeof header + header.fact_bytes;
    status = build_image(ocl, &header, tables + header.table_bytes, &built, error);
    return status == VYRE_OK ? kernel_start(ocl, &header, tables, header.image_bytes, built, out, error) : status;
}

/* ---- executables ---- */

static void free_executable(vy_ocl_executable *code) {
    vy_gpu_executable_end(&code->base);
    vyre_bytes_free(&code->tiled_object);
    vy_release(code, sizeof *code);
}

/* Takes ownership of the code: frees it if the status is an error, which it returns. */
static vyre_status finish(vy_ocl_executable *code, vyre_status status, vy_gpu_executable **out) {
    *out = status == VYRE_OK ? &code->base : NULL;
    if (status != VYRE_OK) {
        free_executable(code);
        return status;
    }
    code->base.code_bytes = code->kernel.code_bytes;
    code->base.is_waited_for = code->kernel.base.polls && !code->base.gpu->can_signal;
    return VYRE_OK;
}

static vyre_status make(vy_gpu *gpu, vyre_program *program, int cancellable, vy_ocl_executable **out,
                        vyre_error *error) {
    vy_ocl_executable *code = vy_allocate_zero(sizeof *code);
    *out = code;
    if (!code)
        return vy_fail_memory(error, "compiling a pipeline");
    vy_gpu_executable_start(&code->base, gpu, program);
    code->cancellable = cancellable;
    return VYRE_OK;
}

vyre_status vy_ocl_emit(void *self, vyre_program *program, const vyre_compile_options *options, vyre_bytes *out,
                        vyre_error *error) {
    vy_ocl *ocl = self;
    vy_opencl_code code;
    vyre_status status = vy_gpu_numerics_confirm(self, error);
    if (status != VYRE_OK)
        return status;
    const vy_opencl_device target = target_of(ocl);
    status = lower(&target, program, options->cancellable, &code, error);
    if (status != VYRE_OK)
        return status;
    *out = code.text;
    code.text = (vyre_bytes)VYRE_BYTES_INIT;
    vy_opencl_free(&code);
    return VYRE_OK;
}

vyre_status vy_ocl_compile(vy_gpu *gpu, vyre_program *program, int cancellable, vy_gpu_executable **out,
                           vyre_error *error) {
    vy_ocl_executable *code;
    *out = NULL;
    vyre_status status = make(gpu, program, cancellable, &code, error);
    if (status != VYRE_OK)
        return status;
    status = vy_launch_facts_make(program, NULL, &code->base.facts, error);
    if (status == VYRE_OK)
        status = compile_kernel((vy_ocl *)gpu, program, cancellable, 0, &code->kernel, error);
    return finish(code, status, out);
}

static vyre_status keep_tiled_object(vy_ocl_executable *code, vyre_span object, uint64_t size, vyre_error *error) {
    if (!size)
        return VYRE_OK;
    vyre_status status = vyre_bytes_resize(&code->tiled_object, (size_t)size, error);
    if (status == VYRE_OK)
        memcpy(code->tiled_object.data, (const char *)object.data + object.size - size, (size_t)size);
    return status;
}

vyre_status vy_ocl_load(vy_gpu *gpu, vyre_program *program, int cancellable, vyre_span object, vy_gpu_executable **out,
                        vyre_error *error) {
    vy_ocl_header header;
    vy_ocl_executable *code;
    *out = NULL;
    vyre_status status = object_check(object, program, 0, &header, error);
    if (status == VYRE_OK)
        status = make(gpu, program, cancellable, &code, error);
    if (status != VYRE_OK)
        return status;
    const vyre_span facts = {(const char *)object.data + sizeof header, (size_t)header.fact_bytes};
    status = vy_launch_facts_load(facts, program, &code->base.facts, error);
    if (status == VYRE_OK)
        status = keep_tiled_object(code, object, header.more_bytes, error);
    if (status == VYRE_OK)
        status = load_kernel((vy_ocl *)gpu, program, object, 0, &code->kernel, error);
    return finish(code, status, out);
}

static void free_kernel(vy_ocl *ocl, vy_ocl_kernel *kernel) {
    kernel_unload(ocl, kernel);
    vy_release(kernel, sizeof *kernel);
}

void vy_ocl_executable_destroy(vy_gpu_executable *base) {
    vy_ocl *ocl = (vy_ocl *)base->gpu;
    vy_ocl_executable *code = (vy_ocl_executable *)base;
    vy_ocl_kernel *tiled = atomic_load(&code->tiled);
    kernel_unload(ocl, &code->kernel);
    if (tiled)
        free_kernel(ocl, tiled);
    free_executable(code);
}

/* If two threads build the kernel concurrently, the later one frees its copy. */
vyre_status vy_ocl_executable_tiled(vy_ocl_executable *code, vy_gpu_kernel **out, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)code->base.gpu;
    vy_ocl_kernel *made = atomic_load_explicit(&code->tiled, memory_order_acquire), *none = NULL;
    const vyre_span object = {code->tiled_object.data, code->tiled_object.size};
    if (!made) {
        made = vy_allocate(sizeof *made);
        if (!made)
            return vy_fail_memory(error, "compiling a kernel once more");
        vyre_status status = object.size
                                 ? load_kernel(ocl, code->base.program, object, VY_GRID_TILE_PARAMS, made, error)
                                 : compile_tiled(code, made, error);
        if (status != VYRE_OK) {
            vy_release(made, sizeof *made);
            return status;
        }
        if (!atomic_compare_exchange_strong(&code->tiled, &none, made)) {
            free_kernel(ocl, made);
            made = none;
        }
    }
    *out = &made->base;
    return VYRE_OK;
}
