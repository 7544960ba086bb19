/* Kernel launches: packing of params, control blocks, cooperative launches, indirect grids and the device clock
 * (launch.h). */
#include "backends/cuda/launch.h"

#include "backends/cuda/executable.h"
#include "base/status.h"
#include "base/thread.h"
#include "ir/model.h"

#include <inttypes.h>

/* ---- device clock ----
 *
 * A kernel stores the device's time between two readings of the host's clock. The closest pair of several samples
 * yields the offset. Clocks drift by some parts in a million, so an offset that is a minute old is accurate to some
 * milliseconds. */

static const char clock_entry[] = "vyre_clock";
static const char clock_text[] = ".version 6.0\n"
                                 ".target sm_60\n"
                                 ".address_size 64\n"
                                 ".visible .entry vyre_clock(\n"
                                 "\t.param .u64 result\n"
                                 ")\n"
                                 "{\n"
                                 "\t.reg .b64 %d<2>;\n"
                                 "\tld.param.u64 %d0, [result];\n"
                                 "\tmov.u64 %d1, %globaltimer;\n"
                                 "\tst.global.u64 [%d0], %d1;\n"
                                 "\tret;\n"
                                 "}\n";

enum { SAMPLES = 5 };
#define STALE_NS UINT64_C(60000000000)

static vyre_status sample_clock(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vy_cu_function function,
                                uint64_t *width, int64_t *offset, vyre_error *error) {
    const vy_cuda_dynamic_symbols *api = &cuda->api;
    uint64_t *place = &stream_slot->mirror->taken.trap_invocation;
    size_t size = sizeof stream_slot->control;
    void *extra[] = {VY_CU_PARAMS_BYTES, &stream_slot->control, VY_CU_PARAMS_SIZE, &size, VY_CU_PARAMS_END};
    uint64_t before = vy_clock_now();
    vyre_status status = vy_cuda_check(
        cuda, api->launch(function, 1, 1, 1, 1, 1, 1, 0, stream_slot->stream, NULL, extra), "comparing clocks", error);
    if (status == VYRE_OK)
        status = vy_cuda_check(cuda, api->copy_to_host(place, stream_slot->control, sizeof *place, stream_slot->stream),
                               "comparing clocks", error);
    if (status == VYRE_OK)
        status = vy_cuda_stream_slot_wait(cuda, stream_slot, "comparing clocks", error);
    uint64_t after = vy_clock_now();
    *width = after - before;
    *offset = (int64_t)(*place - (before + *width / 2));
    return status;
}

/* Loaded in the same way as the kernel of a program. */
static vyre_status load_clock(vy_cuda *cuda, vy_cu_module *out, vyre_error *error) {
    struct {
        vy_cuda_header header;
        char text[sizeof clock_text];
    } object;
    memset(&object, 0, sizeof object);
    memcpy(object.header.magic, VY_CUDA_MAGIC, sizeof object.header.magic);
    object.header.format = VY_CUDA_FORMAT;
    object.header.architecture = cuda->device_info.architecture;
    object.header.version = 60;
    object.header.block[0] = object.header.block[1] = object.header.block[2] = object.header.factor = 1;
    memcpy(object.header.entry, clock_entry, sizeof clock_entry);
    object.header.image_bytes = sizeof clock_text;
    memcpy(object.text, clock_text, sizeof clock_text);
    return vy_cuda_kernel_cache_load(cuda, (vyre_span){&object, offsetof(__typeof__(object), text) + sizeof clock_text},
                                     1, out, error);
}

/* Loaded once. If two threads load it concurrently, the second one unloads its copy. */
static vyre_status find_clock(vy_cuda *cuda, vy_cu_module *out, vyre_error *error) {
    vy_cu_module none = NULL, made = NULL;
    *out = atomic_load_explicit(&cuda->clock, memory_order_acquire);
    if (*out)
        return VYRE_OK;
    vyre_status status = load_clock(cuda, &made, error);
    if (status != VYRE_OK)
        return status;
    if (!atomic_compare_exchange_strong(&cuda->clock, &none, made)) {
        cuda->api.module_unload(made);
        made = none;
    }
    *out = made;
    return VYRE_OK;
}

vyre_status vy_cuda_clock_prepare(vy_cuda *cuda, vyre_error *error) {
    vy_cu_module ignored;
    return find_clock(cuda, &ignored, error);
}

void vy_cuda_clock_end(vy_cuda *cuda) {
    vy_cu_module module = atomic_exchange(&cuda->clock, NULL);
    if (module)
        cuda->api.module_unload(module);
}

static vyre_status calibrate_clock(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vyre_error *error) {
    vy_cu_module module = NULL;
    vy_cu_function function = NULL;
    uint64_t best = UINT64_MAX, width;
    int64_t offset, best_offset = 0;
    stream_slot->base.is_control_clean = 0;
    vyre_status status = find_clock(cuda, &module, error);
    if (status == VYRE_OK)
        status =
            vy_cuda_check(cuda, cuda->api.module_function(&function, module, clock_entry), "comparing clocks", error);
    for (int i = 0; i < SAMPLES && status == VYRE_OK; i++) {
        status = sample_clock(cuda, stream_slot, function, &width, &offset, error);
        if (status == VYRE_OK && width < best)
            best = width, best_offset = offset;
    }
    if (status == VYRE_OK) {
        atomic_store(&cuda->clock_offset, best_offset);
        atomic_store(&cuda->clock_taken_ns, vy_clock_now());
    }
    return status;
}

/* A deadline beyond the range of the clock never passes, or has passed. */
static uint64_t add_offset(uint64_t time, int64_t offset) {
    uint64_t distance = offset < 0 ? -(uint64_t)offset : (uint64_t)offset;
    if (offset < 0)
        return time > distance ? time - distance : 0;
    return time < UINT64_MAX - distance ? time + distance : UINT64_MAX;
}

vyre_status vy_cuda_clock_deadline(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, uint64_t deadline_ns, uint64_t *out,
                                   vyre_error *error) {
    uint64_t taken = atomic_load(&cuda->clock_taken_ns);
    vyre_status status = VYRE_OK;
    if (!taken || vy_clock_now() - taken > STALE_NS)
        status = calibrate_clock(cuda, stream_slot, error);
    *out = add_offset(deadline_ns, atomic_load(&cuda->clock_offset));
    return status;
}

/* ---- cooperative launches ---- */

/* Rounded up to whole warps. */
static uint64_t threads_of(const vy_cuda *cuda, const vyre_program *program) {
    uint32_t size[3], warp = cuda->device_info.warp ? cuda->device_info.warp : 1;
    vyre_program_workgroup(program, size);
    uint64_t threads = (uint64_t)size[0] * size[1] * size[2];
    return (threads + warp - 1) / warp * warp;
}

uint64_t vy_cuda_grid_sync_limit(void *self, const vyre_program *program, void *pipeline) {
    const vy_cuda *cuda = self;
    if (!cuda->device_info.has_cooperative_launch)
        return 0;
    if (pipeline)
        return atomic_load(&((vy_cuda_executable *)((vy_gpu_pipeline *)pipeline)->code)->cooperative_blocks);
    uint64_t each = cuda->device_info.threads_per_multiprocessor / threads_of(cuda, program);
    return cuda->device_info.multiprocessors * (each ? each : 1);
}

vyre_status vy_cuda_cooperative_blocks(vy_cuda *cuda, const vy_cuda_kernel *kernel, uint32_t *out, vyre_error *error) {
    const uint32_t *block = kernel->header.block;
    int blocks = 0;
    vyre_status status =
        vy_cuda_check(cuda,
                      cuda->api.occupancy(&blocks, kernel->function, (int)(block[0] * block[1] * block[2]),
                                          kernel->header.dynamic_bytes),
                      "asking how many blocks run at the same time", error);
    *out = status == VYRE_OK && blocks > 0 ? (uint32_t)blocks * cuda->device_info.multiprocessors : 0;
    return status;
}

/* Launches a kernel with the bytes of its params (launch.h), and returns the driver's result. This entry of the driver
 * requires pointers to each param, in the order of the PTX (emit/ptx/ptx.h). */
static int cooperative_launch(vy_cuda *cuda, const vy_cuda_kernel *kernel, uint32_t buffers, const uint32_t grid[3],
                              uint8_t *bytes, vy_cu_stream stream) {
    void *params[2 * VY_LIMIT_BUFFERS + VY_CUDA_PARAMS + 1];
    const uint32_t *block = kernel->header.block;
    uint32_t n = 0;
    for (uint32_t i = 0; i < buffers; i++)
        params[n++] = bytes + 8 * (size_t)i;
    for (uint32_t i = 0; i < buffers; i++)
        params[n++] = bytes + 8 * (size_t)buffers + 4 * (size_t)i;
    for (uint32_t i = 0; i < kernel->param_count; i++)
        params[n++] = bytes + (kernel->param_offsets[i] & ~VY_CUDA_PARAM_WIDE);
    params[n] = bytes + kernel->control_offset;
    return cuda->api.launch_cooperative(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                        kernel->header.dynamic_bytes, stream, params);
}

/* ---- indirect grids ---- */

/* Surplus blocks are harmless: they find no workgroup. */
vyre_status vy_cuda_indirect_count(vy_cuda *cuda, vy_cuda_kernel *kernel, vyre_error *error) {
    vyre_status status = VYRE_OK;
    kernel->blocks = 0;
    if (cuda->api.occupancy)
        status = vy_cuda_cooperative_blocks(cuda, kernel, &kernel->blocks, error);
    if (!kernel->blocks)
        kernel->blocks = cuda->device_info.multiprocessors ? cuda->device_info.multiprocessors : 1;
    return status;
}

/* Finds the address of the grid that the kernel reads. If the program may write to the grid's buffer, the grid is
 * copied first, in stream order, so that the kernel reads the values from before its own launch. */
static vyre_status place_words(vy_cuda_stream_slot *stream_slot, const vy_cuda_executable *code,
                               const vyre_launch *launch, const vy_cu_address *addresses, vy_cu_address *out,
                               vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    uint32_t buffer = launch->grid_buffer - 1;
    vy_cu_address there = addresses[buffer] + 4 * (uint64_t)launch->grid_offset,
                  here = stream_slot->control + offsetof(vy_launch_control, grid);
    *out = there;
    if (!vy_cuda_is_output(code, buffer))
        return VYRE_OK;
    *out = here;
    return vy_cuda_check(
        cuda, cuda->api.copy_on_device(here, there, sizeof((vy_launch_control *)0)->grid, stream_slot->stream),
        "copying a grid on the device", error);
}

static vyre_status indirect_launch(vy_cuda_stream_slot *stream_slot, const vy_cuda_executable *code,
                                   const vy_cuda_kernel *kernel, const vyre_launch *launch,
                                   const vy_cu_address *addresses, uint32_t ticket, vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    alignas(8) uint8_t bytes[VY_CUDA_PARAM_BYTES];
    const uint32_t *block = kernel->header.block;
    vy_cu_address words;
    uint32_t unknown[3];
    vyre_status status = place_words(stream_slot, code, launch, addresses, &words, error);
    if (status != VYRE_OK)
        return status;
    size_t size = vy_cuda_pack(kernel, launch, NULL, addresses, stream_slot->control, bytes, unknown);
    uint8_t *behind = bytes + kernel->control_offset + sizeof stream_slot->control;
    memcpy(behind, &words, sizeof words);
    memcpy(behind + sizeof words, &ticket, sizeof ticket);
    void *extra[] = {VY_CU_PARAMS_BYTES, bytes, VY_CU_PARAMS_SIZE, &size, VY_CU_PARAMS_END};
    return vy_cuda_check(cuda,
                         cuda->api.launch(kernel->function, kernel->blocks, 1, 1, block[0], block[1], block[2],
                                          kernel->header.dynamic_bytes, stream_slot->stream, NULL, extra),
                         "launching a kernel", error);
}

/* ---- launches ---- */

/* ---- params ---- */

size_t vy_cuda_pack(const vy_cuda_kernel *kernel, const vyre_launch *launch, const vy_grid_tiles *tile,
                    const vy_cu_address *addresses, vy_cu_address control, uint8_t *bytes, uint32_t grid[3]) {
    memcpy(bytes, addresses, 8 * launch->buffer_count);
    return vy_cuda_pack_scalars(kernel, launch, tile, control, bytes, grid);
}

uint64_t vy_cuda_warps(const vy_cuda_kernel *kernel, const uint32_t groups[3], uint64_t limit) {
    enum { WARP = 32 };
    const uint32_t *block = kernel->header.block;
    uint64_t count = ((uint64_t)block[0] * block[1] * block[2] + WARP - 1) / WARP;
    for (int d = 0; d < 3; d++)
        count = count > limit ? count : count * groups[d];
    return count;
}

static vyre_status launch_cooperative(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                                      const vyre_launch *launch, const uint32_t grid[3], uint8_t *bytes,
                                      vyre_error *error) {
    int result = cooperative_launch(cuda, kernel, (uint32_t)launch->buffer_count, grid, bytes, stream_slot->stream);
    if (result != VY_CU_TOO_LARGE)
        return vy_cuda_check(cuda, result, "launching a kernel with grid barriers", error);
    return vy_fail(error, VYRE_LIMIT, "dispatch fewer workgroups",
                   "not all workgroups of the grid (%" PRIu32 ", %" PRIu32 ", %" PRIu32 ") run at the same time",
                   grid[0], grid[1], grid[2]);
}

static vyre_status launch_grid(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                               const vyre_launch *launch, const vy_grid_tiles *tile, const vy_cu_address *addresses,
                               vyre_error *error) {
    alignas(8) uint8_t bytes[VY_CUDA_PARAM_BYTES];
    uint32_t grid[3];
    const uint32_t *block = kernel->header.block;
    size_t size = vy_cuda_pack(kernel, launch, tile, addresses, stream_slot->control, bytes, grid);
    void *extra[] = {VY_CU_PARAMS_BYTES, bytes, VY_CU_PARAMS_SIZE, &size, VY_CU_PARAMS_END};
    if (kernel->header.needs_cooperative)
        return launch_cooperative(cuda, stream_slot, kernel, launch, grid, bytes, error);
    return vy_cuda_check(cuda,
                         cuda->api.launch(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                          kernel->header.dynamic_bytes, stream_slot->stream, NULL, extra),
                         "launching a kernel", error);
}

vyre_status vy_cuda_launch(vy_gpu_slot *slot, vy_gpu_executable *base, vy_gpu_kernel *chosen, const vyre_launch *launch,
                           const vy_grid_tiles *tile, const vy_gpu_buffers *buffers, uint32_t ticket,
                           vyre_error *error) {
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)slot;
    vy_cuda_executable *code = (vy_cuda_executable *)base;
    const vy_cuda_kernel *kernel = (const vy_cuda_kernel *)chosen;
    vyre_status status = launch->grid_buffer
                             ? indirect_launch(stream_slot, code, kernel, launch, buffers->addresses, ticket, error)
                             : launch_grid(code->cuda, stream_slot, kernel, launch, tile, buffers->addresses, error);
    if (status == VYRE_LIMIT) /* the next query of the limit returns 0 */
        atomic_store(&code->cooperative_blocks, 0);
    return status;
}

/* ---- the control block ---- */

vyre_status vy_cuda_control_prepare(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, const vyre_launch *launch,
                                    vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)slot->gpu;
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)slot;
    uint64_t deadline = UINT64_MAX;
    vyre_status status = VYRE_OK;
    if (!vy_cuda_needs_control((const vy_cuda_kernel *)kernel))
        return VYRE_OK;
    if (kernel->polls && launch->deadline_ns)
        status = vy_cuda_clock_deadline(cuda, stream_slot, launch->deadline_ns, &deadline, error);
    if (status != VYRE_OK || (slot->is_control_clean && deadline == UINT64_MAX))
        return status;
    stream_slot->mirror->given = vy_gpu_control_clean;
    stream_slot->mirror->given.deadline = deadline;
    slot->is_control_clean = 0;
    status = vy_cuda_check(cuda,
                           cuda->api.copy_to_device(stream_slot->control, &stream_slot->mirror->given,
                                                    sizeof stream_slot->mirror->given, stream_slot->stream),
                           "copying a control block", error);
    slot->is_control_clean = status == VYRE_OK && deadline == UINT64_MAX;
    return status;
}

vyre_status vy_cuda_control_fetch(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)slot->gpu;
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)slot;
    if (!kernel->writes_control)
        return VYRE_OK;
    return vy_cuda_check(cuda,
                         cuda->api.copy_to_host(&stream_slot->mirror->taken, stream_slot->control,
                                                sizeof stream_slot->mirror->taken, stream_slot->stream),
                         "reading a control block", error);
}

vyre_status vy_cuda_signal_stop(vy_gpu_slot *slot, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)slot->gpu;
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)slot;
    slot->is_control_clean = 0;
    return vy_cuda_check(cuda,
                         cuda->api.copy_to_device(stream_slot->control + offsetof(vy_launch_control, cancel),
                                                  &stream_slot->mirror->cancel, sizeof stream_slot->mirror->cancel,
                                                  cuda->signal),
                         "telling a kernel to end", error);
}

void vy_cuda_signal_wait(vy_gpu_slot *slot) {
    vy_cuda *cuda = (vy_cuda *)slot->gpu;
    slot->is_control_clean = 0;
    cuda->api.stream_synchronize(cuda->signal);
}

/* ---- waiting ---- */

vyre_status vy_cuda_finish(vy_gpu_slot *slot, vyre_error *error) {
    return vy_cuda_stream_slot_wait((vy_cuda *)slot->gpu, (vy_cuda_stream_slot *)slot, "running a kernel", error);
}

vyre_status vy_cuda_query(vy_gpu_slot *slot, int *is_done, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)slot->gpu;
    int result = cuda->api.stream_query(((vy_cuda_stream_slot *)slot)->stream);
    *is_done = result != VY_CU_NOT_READY;
    return *is_done ? vy_cuda_check(cuda, result, "running a kernel", error) : (vyre_status)VYRE_OK;
}

/* ---- limits ---- */

int vy_cuda_needs_slices(const vy_gpu_executable *code, const vyre_launch *launch, uint32_t step[3]) {
    const vy_cuda *cuda = (const vy_cuda *)code->gpu;
    const uint32_t *limits = cuda->device_info.grid;
    if (step) {
        step[0] = launch->groups[0];
        step[1] = step[2] = limits[1] < limits[2] ? limits[1] : limits[2];
    }
    return vy_cuda_needs_tiles(cuda, launch->groups);
}

vyre_status vy_cuda_choose_kernel(vy_gpu_executable *base, const vyre_launch *launch, int is_sliced,
                                  vy_gpu_kernel **out, vyre_error *error) {
    vy_cuda_executable *code = (vy_cuda_executable *)base;
    const vy_cuda_kernel *kernel = &code->kernel;
    (void)is_sliced;
    vyre_status status = launch->grid_buffer ? vy_cuda_executable_indirect(code, &kernel, error) : (vyre_status)VYRE_OK;
    *out = (vy_gpu_kernel *)(uintptr_t)kernel;
    return status;
}
