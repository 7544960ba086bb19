/* Comparing clocks (clock.h).
 *
 * A kernel writes down its time, between two looks at ours; the closest pair of several says how far they are apart. Clocks drift by some parts in a million: what was
 * compared a minute ago is right to some milliseconds. */
#include "backends/cuda/clock.h"

#include "backends/cuda/executable.h"
#include "backends/cuda/kernel_cache.h"
#include "driver/dispatch.h"

static const char entry[] = "vyre_clock";
static const char text[] = ".version 6.0\n"
                           ".target sm_60\n"
                           ".address_size 64\n"
                           ".visible .entry vyre_clock(\n"
                           "\t.param .u64 place\n"
                           ")\n"
                           "{\n"
                           "\t.reg .b64 %d<2>;\n"
                           "\tld.param.u64 %d0, [place];\n"
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

/* As the kernel of a program would be. */
static vyre_status load(vy_cuda *cuda, vy_cu_module *out, vyre_error *error) {
    struct {
        vy_cuda_header header;
        char text[sizeof text];
    } object;
    memset(&object, 0, sizeof object);
    memcpy(object.header.magic, VY_CUDA_MAGIC, sizeof object.header.magic);
    object.header.format = VY_CUDA_FORMAT;
    object.header.architecture = cuda->device_info.architecture;
    object.header.version = 60;
    object.header.block[0] = object.header.block[1] = object.header.block[2] = object.header.factor = 1;
    memcpy(object.header.entry, entry, sizeof entry);
    object.header.image_bytes = sizeof text;
    memcpy(object.text, text, sizeof text);
    return vy_cuda_kernel_cache_load(cuda, (vyre_span){&object, offsetof(__typeof__(object), text) + sizeof text}, 1,
                                     out, error);
}

/* Loaded once. Whoever comes second drops his own. */
static vyre_status find(vy_cuda *cuda, vy_cu_module *out, vyre_error *error) {
    vy_cu_module none = NULL, made = NULL;
    *out = atomic_load_explicit(&cuda->clock, memory_order_acquire);
    if (*out)
        return VYRE_OK;
    vyre_status status = load(cuda, &made, error);
    if (status != VYRE_OK)
        return status;
    if (!atomic_compare_exchange_strong(&cuda->clock, &none, made)) {
        cuda->api.module_unload(made);
        made = none;
    }
    *out = made;
    return VYRE_OK;
}

void vy_cuda_clock_end(vy_cuda *cuda) {
    vy_cu_module module = atomic_exchange(&cuda->clock, NULL);
    if (module)
        cuda->api.module_unload(module);
}

static vyre_status calibrate(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vyre_error *error) {
    vy_cu_module module = NULL;
    vy_cu_function function = NULL;
    uint64_t best = UINT64_MAX, width;
    int64_t offset, best_offset = 0;
    stream_slot->is_control_clean = 0;
    vyre_status status = find(cuda, &module, error);
    if (status == VYRE_OK)
        status = vy_cuda_check(cuda, cuda->api.module_function(&function, module, entry), "comparing clocks", error);
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

/* Beyond the ends of the clock there is no deadline, or it is past. */
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
        status = calibrate(cuda, stream_slot, error);
    *out = add_offset(deadline_ns, atomic_load(&cuda->clock_offset));
    return status;
}
