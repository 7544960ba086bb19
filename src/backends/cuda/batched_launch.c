/* Tables of rows (batched_launch.h). */
#include "backends/cuda/batched_launch.h"

#include "backends/cuda/launch.h"
#include "backends/cuda/memory.h"

/* Ranges end at multiples of it: kernels may change a part of a word by changing the word. */
#define GRAIN UINT64_C(4)

typedef struct range {
    uint64_t start, end;
} range;

typedef struct table {
    vy_cuda_executable *code;
    uint8_t *rows;
    size_t stride, count;
    uint32_t grid[3];              /* of the first */
    int has_one_grid;              /* all have it, and it is one launch */
    range hulls[VY_LIMIT_BUFFERS]; /* of each buffer in all rows */
} table;

static size_t stride_of(const vy_cuda_kernel *kernel) {
    return ((size_t)kernel->param_bytes + 15) / 16 * 16;
}

/* ---- ranges ---- */

static range item_range(const table *t, uint32_t buffer, size_t row) {
    const uint8_t *bytes = t->rows + row * t->stride;
    uint64_t address;
    uint32_t count;
    memcpy(&address, bytes + 8 * (size_t)buffer, sizeof address);
    memcpy(&count, bytes + 8 * (size_t)t->code->buffer_count + 4 * (size_t)buffer, sizeof count);
    uint64_t end = address + (uint64_t)count * t->code->buffers[buffer].element;
    return (range){address / GRAIN * GRAIN, (end + GRAIN - 1) / GRAIN * GRAIN};
}

/* Whether the row's ranges go on upwards; those of what is written do not overlap. Completes the hulls. */
static int is_ascending(table *t, size_t row) {
    for (uint32_t i = 0; i < t->code->buffer_count; i++) {
        range r = item_range(t, i, row), before = row ? item_range(t, i, row - 1) : r;
        if (row && r.start < (vy_cuda_is_output(t->code, i) ? before.end : before.start))
            return 0;
        if (!row)
            t->hulls[i] = r;
        t->hulls[i].end = r.end > t->hulls[i].end ? r.end : t->hulls[i].end;
    }
    return 1;
}

/* Whether a written buffer meets another one in any two rows. Both go upwards. */
static int ranges_alias(const table *t, uint32_t written, uint32_t other) {
    size_t w = 0;
    for (size_t i = 0; i < t->count; i++) {
        range r = item_range(t, other, i);
        while (w < t->count && item_range(t, written, w).end <= r.start)
            w++;
        if (w == t->count)
            return 0;
        if (item_range(t, written, w).start < r.end)
            return 1;
    }
    return 0;
}

static int are_independent(const table *t) {
    const range *hulls = t->hulls;
    uint32_t count = t->code->buffer_count;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; vy_cuda_is_output(t->code, i) && k < count; k++)
            if (k != i && hulls[i].start < hulls[k].end && hulls[k].start < hulls[i].end && ranges_alias(t, i, k))
                return 0;
    return 1;
}

/* ---- filling ---- */

/* before: the launch of the row before, or NULL. */
static int pack(table *t, size_t index, const vy_cuda_batch_item *row, const vyre_launch *before) {
    vy_cu_address addresses[VY_LIMIT_BUFFERS];
    uint8_t *bytes = t->rows + index * t->stride;
    uint32_t grid[3];
    if (row->launch->grid_buffer)
        return 0;
    for (uint32_t i = 0; i < t->code->buffer_count; i++) {
        if (row->bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
        addresses[i] = vy_cuda_resident_address(row->bindings[i].resident.id) + row->bindings[i].offset;
    }
    if (before && vy_cuda_launches_equal(before, row->launch)) {
        size_t size = 8 * (size_t)t->code->buffer_count;
        memcpy(bytes, addresses, size);
        memcpy(bytes + size, bytes - t->stride + size, t->code->kernel.param_bytes - size);
        return 1;
    }
    vy_cuda_pack(&t->code->kernel, row->launch, addresses, 0, bytes, grid);
    if (index == 0)
        memcpy(t->grid, grid, sizeof grid);
    t->has_one_grid = (index == 0 || t->has_one_grid) && grid[2] == 1 && memcmp(t->grid, grid, sizeof grid) == 0;
    return 1;
}

/* Whether they are independent. */
static int fill(const vy_cuda *cuda, table *t, const vy_cuda_launch_list *list, size_t from) {
    const vyre_launch *before = NULL;
    for (size_t i = 0; i < t->count; i++) {
        vy_cuda_batch_item row = vy_cuda_launch_list_at(list, from + i);
        if (!pack(t, i, &row, before) || !is_ascending(t, i))
            return 0;
        before = row.launch;
    }
    t->has_one_grid &= !vy_cuda_needs_tiles(cuda, t->grid);
    return are_independent(t);
}

/* ---- launching ---- */

/* The kernel, once it is worth it. A failure to compile it is nobody's but the device's, if that is lost: it is tried again when as many rows have come once more. */
static vyre_status find_kernel(table *t, const vy_cuda_kernel **out, vyre_error *error) {
    vy_cuda_executable *code = t->code;
    vyre_error own;
    *out = atomic_load_explicit(&code->batched, memory_order_acquire);
    if (*out || atomic_fetch_add_explicit(&code->rows, t->count, memory_order_relaxed) < VY_CUDA_BATCHED_COMPILE_AFTER)
        return VYRE_OK;
    atomic_store_explicit(&code->rows, 0, memory_order_relaxed);
    if (vy_cuda_executable_batched(code, out, &own) == VYRE_OK)
        return VYRE_OK;
    *out = NULL;
    return atomic_load(&code->cuda->loss) ? vy_cuda_fail_lost(code->cuda, error) : (vyre_status)VYRE_OK;
}

static vyre_status upload_and_launch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const table *t,
                                     const vy_cuda_kernel *kernel, vyre_error *error) {
    const uint32_t *block = kernel->header.block;
    vy_cu_address rows = stream_slot->arena;
    size_t size = sizeof rows;
    void *extra[] = {VY_CU_PARAMS_BYTES, &rows, VY_CU_PARAMS_SIZE, &size, VY_CU_PARAMS_END};
    vyre_status status =
        vy_cuda_check(cuda, cuda->api.copy_to_device(rows, t->rows, t->count * t->stride, stream_slot->stream),
                      "copying a table of rows", error);
    return status == VYRE_OK
               ? vy_cuda_check(cuda,
                               cuda->api.launch(kernel->function, t->grid[0], t->grid[1], (unsigned)t->count, block[0],
                                                block[1], block[2], kernel->header.dynamic_bytes, stream_slot->stream,
                                                NULL, extra),
                               "launching a table of rows", error)
               : status;
}

static int can_be_batched(const vy_cuda *cuda, const vy_cuda_launch_list *list, size_t count) {
    return list->code && list->code->buffer_count && count >= VY_CUDA_BATCHED_MIN &&
           !vy_cuda_needs_control(&list->code->kernel) && count <= cuda->device_info.grid[2] &&
           count * stride_of(&list->code->kernel) <= VY_CUDA_CHUNK;
}

vyre_status vy_cuda_batched_launch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_launch_list *list,
                                   size_t from, size_t count, int *was_run, int *is_free, vyre_error *error) {
    const vy_cuda_kernel *kernel;
    *was_run = *is_free = 0;
    if (!can_be_batched(cuda, list, count))
        return VYRE_OK;
    table t; /* large, and filled late */
    t.code = list->code, t.stride = stride_of(&list->code->kernel), t.count = count;
    vyre_status status =
        from ? vy_cuda_stream_slot_wait(cuda, stream_slot, "running a kernel", error) : (vyre_status)VYRE_OK;
    if (status == VYRE_OK)
        status = vy_cuda_staging_first(cuda, &stream_slot->staging, count * t.stride, &t.rows, error);
    if (status != VYRE_OK || !fill(cuda, &t, list, from))
        return status;
    *is_free = 1;
    if (!t.has_one_grid)
        return VYRE_OK;
    status = find_kernel(&t, &kernel, error);
    if (status != VYRE_OK || !kernel)
        return status;
    *was_run = 1;
    status = vy_cuda_stream_slot_reserve(cuda, stream_slot, count * t.stride, error);
    return status == VYRE_OK ? upload_and_launch(cuda, stream_slot, &t, kernel, error) : status;
}
