/* CUDA graphs of launches, and batched launches, which run the items of a batch as one kernel (graph.h). */
#include "backends/cuda/graph.h"

#include "backends/cuda/executable.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/submission.h"
#include "base/memory.h"

/* ---- graphs ---- */

/* ---- records ---- */

/* A launch as bytes: this header, followed by the params. Records are compared as a whole, so all their bytes are
 * initialised. */
typedef struct record {
    const vy_cuda_kernel *kernel;
    uint32_t grid[3];
    uint32_t size; /* in total, a multiple of 8 */
} record;
enum { RECORD_BYTES = sizeof(record) + VY_CUDA_PARAM_BYTES + 8 };

static size_t record_size(const vy_cuda_kernel *kernel) {
    return sizeof(record) + ((size_t)kernel->param_bytes + 7) / 8 * 8;
}

static int can_be_node(const vy_cuda_batch_item *row) {
    return vy_cuda_is_fast_dispatch(row->code, row->launch, row->bindings, NULL);
}

/* Returns 0 if the launch cannot be part of a graph. */
static int pack_node(const vy_cuda_batch_item *row, uint8_t *out) {
    vy_cu_address addresses[VY_LIMIT_BUFFERS];
    const vy_cuda_kernel *kernel = &row->code->kernel;
    size_t size = record_size(kernel);
    record head = {.kernel = kernel, .size = (uint32_t)size};
    if (!can_be_node(row))
        return 0;
    for (uint32_t i = 0; i < row->code->base.buffer_count; i++)
        addresses[i] = vy_cuda_resident_address(row->bindings[i].resident.id) + row->bindings[i].offset;
    memset(out + sizeof head, 0, size - sizeof head); /* params are separated by padding */
    vy_cuda_pack(kernel, row->launch, NULL, addresses, 0, out + sizeof head, head.grid);
    memcpy(out, &head, sizeof head);
    return 1;
}

/* The last record and the row it was packed from: often the next row differs only in where its ranges begin. */
typedef struct packer {
    vy_cuda_batch_item row; /* row.code NULL: none yet */
    size_t size;            /* of the record */
    alignas(8) uint8_t bytes[RECORD_BYTES];
} packer;

/* Packs the row into p->bytes. Returns as pack_node. */
static int pack_next(packer *p, const vy_cuda_batch_item *row) {
    if (p->row.code != row->code || !vy_cuda_launches_equal(p->row.launch, row->launch)) {
        p->row = *row;
        p->size = record_size(&row->code->kernel);
        return pack_node(row, p->bytes);
    }
    if (p->row.bindings == row->bindings)
        return 1;
    p->row.bindings = row->bindings;
    for (uint32_t i = 0; i < row->code->base.buffer_count; i++) {
        const vyre_resource *range = &row->bindings[i];
        if (range->kind != VYRE_RESOURCE_RESIDENT)
            return 0;
        vy_cu_address address = vy_cuda_resident_address(range->resident.id) + range->offset;
        memcpy(p->bytes + sizeof(record) + 8 * (size_t)i, &address, sizeof address);
    }
    return 1;
}

/* The driver's description of a record. */
typedef struct node_params {
    vy_cu_kernel_node node;
    size_t size;
    void *extra[5];
} node_params;

static void describe(const uint8_t *bytes, node_params *out) {
    record head;
    memcpy(&head, bytes, sizeof head);
    const vy_cuda_header *header = &head.kernel->header;
    out->size = head.kernel->param_bytes;
    out->extra[0] = VY_CU_PARAMS_BYTES, out->extra[1] = (void *)(uintptr_t)(bytes + sizeof head);
    out->extra[2] = VY_CU_PARAMS_SIZE, out->extra[3] = &out->size;
    out->extra[4] = VY_CU_PARAMS_END;
    out->node = (vy_cu_kernel_node){.function = head.kernel->function,
                                    .grid = {head.grid[0], head.grid[1], head.grid[2]},
                                    .block = {header->block[0], header->block[1], header->block[2]},
                                    .shared_bytes = header->dynamic_bytes,
                                    .extra = out->extra};
}

/* ---- making and ending ---- */

static void destroy(vy_cuda *cuda, vy_cuda_graph *g) {
    if (g->exec)
        cuda->api.graph_end(g->exec);
    if (g->graph)
        cuda->api.graph_destroy(g->graph);
    vy_release(g->nodes, g->room * sizeof *g->nodes);
    vy_release(g->records, g->size);
    vy_release(g, sizeof *g);
}

static void destroy_all(vy_cuda *cuda, vy_cuda_graph *g) {
    for (vy_cuda_graph *next; g; g = next) {
        next = g->next;
        destroy(cuda, g);
    }
}

static size_t chains_of(int is_free) {
    return is_free ? VY_CUDA_GRAPH_CHAINS : 1;
}

static size_t records_size(const vy_gpu_launch_list *list, size_t from, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += record_size(&vy_cuda_launch_list_at(list, from + i).code->kernel);
    return size;
}

/* Adds a node that depends on an earlier one. A kernel with dependent launch begins while the earlier one still runs
 * and waits for it itself, so that its blocks are resident and its params loaded when the earlier one ends. */
static int add_behind(vy_cuda *cuda, vy_cuda_graph *g, size_t i, size_t before, const vy_cuda_kernel *kernel,
                      const vy_cu_kernel_node *node) {
    static const vy_cu_edge dependent_launch = {.from_port = VY_CU_PORT_PROGRAMMATIC, .type = VY_CU_EDGE_PROGRAMMATIC};
    if (!kernel->header.dependent_launch || !cuda->device_info.has_dependent_launch)
        return cuda->api.graph_add(&g->nodes[i], g->graph, &g->nodes[before], 1, node);
    int result = cuda->api.graph_add(&g->nodes[i], g->graph, NULL, 0, node);
    return result == VY_CU_OK ? cuda->api.graph_link(g->graph, &g->nodes[before], &g->nodes[i], &dependent_launch, 1)
                              : result;
}

/* Adds the nodes in chains: each launch sees the stores of the previous one in its chain. Returns a result of the
 * driver, or -1: the launches cannot form a graph, or host memory is exhausted. */
static int add_nodes(vy_cuda *cuda, vy_cuda_graph *g, const vy_gpu_launch_list *list, size_t from) {
    uint8_t *at = g->records;
    for (size_t i = 0; i < g->room; i++) {
        vy_cuda_batch_item row = vy_cuda_launch_list_at(list, from + i);
        node_params params;
        if (!pack_node(&row, at))
            return -1;
        describe(at, &params);
        int result = i >= g->chains ? add_behind(cuda, g, i, i - g->chains, &row.code->kernel, &params.node)
                                    : cuda->api.graph_add(&g->nodes[i], g->graph, NULL, 0, &params.node);
        if (result != VY_CU_OK)
            return result;
        g->count++;
        at += record_size(&row.code->kernel);
    }
    return VY_CU_OK;
}

static int fill_graph(vy_cuda *cuda, vy_cuda_graph *g, const vy_gpu_launch_list *list, size_t from) {
    g->nodes = vy_allocate(g->room * sizeof *g->nodes);
    g->records = vy_allocate(g->size);
    if (!g->nodes || !g->records)
        return -1;
    int result = cuda->api.graph_create(&g->graph, 0);
    if (result == VY_CU_OK)
        result = add_nodes(cuda, g, list, from);
    return result == VY_CU_OK ? cuda->api.graph_instantiate(&g->exec, g->graph, 0) : result;
}

/* All launches are packed before the driver creates anything: otherwise one that cannot be part of a graph would waste
 * that work each time. */
static vy_cuda_graph *make(vy_cuda *cuda, const vy_gpu_launch_list *list, size_t from, size_t count, uint64_t shape,
                           int is_free, int *result) {
    *result = -1;
    for (size_t i = 0; i < count; i++) {
        vy_cuda_batch_item row = vy_cuda_launch_list_at(list, from + i);
        if (!can_be_node(&row))
            return NULL;
    }
    vy_cuda_graph *g = vy_allocate_zero(sizeof *g);
    if (!g)
        return NULL;
    g->shape = shape;
    g->room = count;
    g->chains = chains_of(is_free);
    g->size = records_size(list, from, count);
    *result = fill_graph(cuda, g, list, from);
    if (*result == VY_CU_OK)
        return g;
    destroy(cuda, g);
    return NULL;
}

/* ---- cached graphs ---- */

static uint64_t mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 29);
}

static uint64_t shape_of(const vy_gpu_launch_list *list, size_t from, size_t count, int is_free) {
    uint64_t hash = mix(is_free ? 2 : 1, count);
    const vy_cuda_executable *code = (const vy_cuda_executable *)list->code;
    if (code)
        return mix(hash, (uintptr_t)&code->kernel);
    for (size_t i = 0; i < count; i++)
        hash = mix(hash, (uintptr_t)&vy_cuda_launch_list_at(list, from + i).code->kernel);
    return hash;
}

/* With the lock held. */
static vy_cuda_graph *unlink_at(vy_cuda_graphs *kept, vy_cuda_graph **link) {
    vy_cuda_graph *g = *link;
    *link = g->next;
    g->next = NULL;
    kept->count--;
    kept->nodes -= g->room;
    return g;
}

static int starts_with(const vy_cuda_graph *g, const uint8_t *first) {
    record head;
    memcpy(&head, first, sizeof head);
    return head.size <= g->size && memcmp(g->records, first, head.size) == 0;
}

/* Removes a graph of this shape from the cache: one whose first record matches; else, if the maximum of variants is
 * reached, the least recently used. *is_known: the shape was seen before. */
static vy_cuda_graph *take_matching(vy_cuda *cuda, uint64_t shape, size_t chains, const uint8_t *first, int *is_known) {
    vy_cuda_graphs *kept = &cuda->graphs;
    vy_cuda_graph **last = NULL, *found = NULL;
    int variants = 0;
    *is_known = 0;
    pthread_mutex_lock(&cuda->base.lock);
    for (vy_cuda_graph **link = &kept->first; *link; link = &(*link)->next) {
        if ((*link)->shape != shape || (*link)->chains != chains)
            continue;
        variants++;
        last = link;
        if (starts_with(*link, first)) {
            found = unlink_at(kept, link);
            break;
        }
    }
    if (!found && variants >= VY_CUDA_GRAPH_VARIANTS)
        found = unlink_at(kept, last);
    for (unsigned i = 0; i < VY_CUDA_SHAPES && !*is_known; i++)
        *is_known = kept->seen[i] == shape;
    if (!*is_known) {
        kept->seen[kept->seen_next] = shape;
        kept->seen_next = (kept->seen_next + 1) % VY_CUDA_SHAPES;
    }
    pthread_mutex_unlock(&cuda->base.lock);
    return found;
}

void vy_cuda_graph_release(vy_cuda *cuda, vy_cuda_graph *graphs) {
    vy_cuda_graphs *kept = &cuda->graphs;
    vy_cuda_graph *surplus = NULL;
    if (!graphs)
        return;
    pthread_mutex_lock(&cuda->base.lock);
    for (vy_cuda_graph *g = graphs, *next; g; g = next) {
        next = g->next;
        g->next = kept->first;
        kept->first = g;
        kept->count++;
        kept->nodes += g->room;
    }
    while (kept->count > VY_CUDA_GRAPHS_KEPT || kept->nodes > VY_CUDA_GRAPH_NODES) {
        vy_cuda_graph **link = &kept->first;
        while ((*link)->next)
            link = &(*link)->next;
        vy_cuda_graph *g = unlink_at(kept, link);
        g->next = surplus;
        surplus = g;
    }
    pthread_mutex_unlock(&cuda->base.lock);
    destroy_all(cuda, surplus);
}

static int names(const vy_cuda_graph *g, const vy_cuda_executable *code) {
    record head;
    for (size_t at = 0; at < g->size; at += head.size) {
        memcpy(&head, g->records + at, sizeof head);
        if (head.kernel == &code->kernel)
            return 1;
    }
    return 0;
}

void vy_cuda_graphs_drop(vy_cuda *cuda, const vy_cuda_executable *code) {
    vy_cuda_graphs *kept = &cuda->graphs;
    vy_cuda_graph *dropped = NULL, **link = &kept->first;
    pthread_mutex_lock(&cuda->base.lock);
    while (*link) {
        if (code && !names(*link, code)) {
            link = &(*link)->next;
            continue;
        }
        vy_cuda_graph *g = unlink_at(kept, link);
        g->next = dropped;
        dropped = g;
    }
    pthread_mutex_unlock(&cuda->base.lock);
    destroy_all(cuda, dropped);
}

/* ---- launching ---- */

/* Updates the nodes that differ. Returns as add_nodes. */
static int update(vy_cuda *cuda, vy_cuda_graph *g, const vy_gpu_launch_list *list, size_t from) {
    uint8_t *at = g->records, *end = at + g->size;
    packer p;
    p.row.code = NULL; /* large, so not initialised as a whole */
    for (size_t i = 0; i < g->count; i++) {
        vy_cuda_batch_item row = vy_cuda_launch_list_at(list, from + i);
        if (!pack_next(&p, &row) || p.size > (size_t)(end - at))
            return -1;
        size_t size = p.size;
        if (memcmp(at, p.bytes, size) != 0) {
            node_params params;
            if (memcmp(at, p.bytes, sizeof(void *)) != 0) /* another kernel: a hash collision of shapes */
                return -1;
            describe(p.bytes, &params);
            int result = cuda->api.graph_set(g->exec, g->nodes[i], &params.node);
            if (result != VY_CU_OK)
                return result;
            memcpy(at, p.bytes, size);
        }
        at += size;
    }
    return VY_CU_OK;
}

static int has_graphs(const vy_cuda_dynamic_symbols *api) {
    return api->graph_create && api->graph_destroy && api->graph_add && api->graph_instantiate && api->graph_set &&
           api->graph_launch && api->graph_end;
}

/* Returns a cached graph updated to the launches, or a new one; NULL: none. */
static vy_cuda_graph *find(vy_cuda *cuda, const vy_gpu_launch_list *list, size_t from, size_t count, int is_free,
                           int *result) {
    alignas(8) uint8_t first[RECORD_BYTES];
    vy_cuda_batch_item row = vy_cuda_launch_list_at(list, from);
    uint64_t shape = shape_of(list, from, count, is_free);
    int is_known;
    *result = VY_CU_OK;
    if (!pack_node(&row, first))
        return NULL;
    vy_cuda_graph *g = take_matching(cuda, shape, chains_of(is_free), first, &is_known);
    if (!g)
        return is_known ? make(cuda, list, from, count, shape, is_free, result) : NULL;
    *result = update(cuda, g, list, from);
    if (*result == VY_CU_OK)
        return g;
    destroy(cuda, g);
    return NULL;
}

vyre_status vy_cuda_graph_launch(vy_cuda *cuda, vy_cu_stream stream, const vy_gpu_launch_list *list, size_t from,
                                 size_t count, int is_free, vy_cuda_graph **out, vyre_error *error) {
    int result;
    *out = NULL;
    if (count < VY_CUDA_GRAPH_MIN || !has_graphs(&cuda->api))
        return VYRE_OK;
    vy_cuda_graph *g = find(cuda, list, from, count, is_free, &result);
    if (g) {
        result = cuda->api.graph_launch(g->exec, stream);
        if (result != VY_CU_OK)
            destroy(cuda, g);
        else
            *out = g;
    }
    return result > 0 && vy_cuda_is_loss(result) ? vy_cuda_failed(cuda, result, "launching a graph", error)
                                                 : (vyre_status)VYRE_OK;
}

/* ---- batched launches ---- */

/* Ranges are rounded to multiples of it, since a kernel may write a part of a word by rewriting the word. */
#define GRAIN UINT64_C(4)

typedef struct range {
    uint64_t start, end;
} range;

typedef struct table {
    vy_cuda_executable *code;
    uint8_t *rows;
    size_t stride, count;
    uint32_t grid[3];              /* of the first row */
    int has_one_grid;              /* all rows have the same grid, and it fits into one launch */
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
    memcpy(&count, bytes + 8 * (size_t)t->code->base.buffer_count + 4 * (size_t)buffer, sizeof count);
    uint64_t end = address + (uint64_t)count * t->code->base.facts->buffers[buffer].element_bytes;
    return (range){address / GRAIN * GRAIN, (end + GRAIN - 1) / GRAIN * GRAIN};
}

/* Whether the row's ranges ascend from those before it, without overlap in written buffers. Extends the hulls. */
static int is_ascending(table *t, size_t row) {
    for (uint32_t i = 0; i < t->code->base.buffer_count; i++) {
        range r = item_range(t, i, row), before = row ? item_range(t, i, row - 1) : r;
        if (row && r.start < (vy_cuda_is_output(t->code, i) ? before.end : before.start))
            return 0;
        if (!row)
            t->hulls[i] = r;
        t->hulls[i].end = r.end > t->hulls[i].end ? r.end : t->hulls[i].end;
    }
    return 1;
}

/* Whether a written buffer overlaps another one in any two rows. The ranges of both ascend. */
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
    uint32_t count = t->code->base.buffer_count;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; vy_cuda_is_output(t->code, i) && k < count; k++)
            if (k != i && hulls[i].start < hulls[k].end && hulls[k].start < hulls[i].end && ranges_alias(t, i, k))
                return 0;
    return 1;
}

/* ---- filling ---- */

/* before: the launch of the previous row, or NULL. */
static int pack_item(table *t, size_t index, const vy_cuda_batch_item *row, const vyre_launch *before) {
    vy_cu_address addresses[VY_LIMIT_BUFFERS];
    uint8_t *bytes = t->rows + index * t->stride;
    uint32_t grid[3];
    if (row->launch->grid_buffer)
        return 0;
    for (uint32_t i = 0; i < t->code->base.buffer_count; i++) {
        if (row->bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
        addresses[i] = vy_cuda_resident_address(row->bindings[i].resident.id) + row->bindings[i].offset;
    }
    if (before && vy_cuda_launches_equal(before, row->launch)) {
        size_t size = 8 * (size_t)t->code->base.buffer_count;
        memcpy(bytes, addresses, size);
        memcpy(bytes + size, bytes - t->stride + size, t->code->kernel.param_bytes - size);
        return 1;
    }
    vy_cuda_pack(&t->code->kernel, row->launch, NULL, addresses, 0, bytes, grid);
    if (index == 0)
        memcpy(t->grid, grid, sizeof grid);
    t->has_one_grid = (index == 0 || t->has_one_grid) && grid[2] == 1 && memcmp(t->grid, grid, sizeof grid) == 0;
    return 1;
}

/* Returns whether the rows are independent. */
static int fill_table(const vy_cuda *cuda, table *t, const vy_gpu_launch_list *list, size_t from) {
    const vyre_launch *before = NULL;
    for (size_t i = 0; i < t->count; i++) {
        vy_cuda_batch_item row = vy_cuda_launch_list_at(list, from + i);
        if (!pack_item(t, i, &row, before) || !is_ascending(t, i))
            return 0;
        before = row.launch;
    }
    t->has_one_grid &= !vy_cuda_needs_tiles(cuda, t->grid);
    return are_independent(t);
}

/* ---- launching ---- */

/* Loads the kernel for batches once it pays off. A failure to compile it is reported only if the device is lost;
 * otherwise it is retried after VY_CUDA_BATCHED_COMPILE_AFTER more rows. */
static vyre_status find_kernel(table *t, const vy_cuda_kernel **out, vyre_error *error) {
    vy_cuda_executable *code = t->code;
    vyre_error own;
    *out = atomic_load_explicit(&code->batched, memory_order_acquire);
    if (*out || !code->kernel.header.batched_bytes ||
        atomic_fetch_add_explicit(&code->rows, t->count, memory_order_relaxed) < VY_CUDA_BATCHED_COMPILE_AFTER)
        return VYRE_OK;
    atomic_store_explicit(&code->rows, 0, memory_order_relaxed);
    if (vy_cuda_executable_batched(code, out, &own) == VYRE_OK)
        return VYRE_OK;
    *out = NULL;
    return atomic_load(&code->cuda->base.loss) ? vy_cuda_fail_lost(code->cuda, error) : (vyre_status)VYRE_OK;
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

/* code: of all items, or NULL. */
static int can_be_batched(const vy_cuda *cuda, const vy_cuda_executable *code, size_t count) {
    return code && code->base.buffer_count && count >= VY_CUDA_BATCHED_MIN && !vy_cuda_needs_control(&code->kernel) &&
           count <= cuda->device_info.grid[2] && count * stride_of(&code->kernel) <= VY_CUDA_CHUNK;
}

vyre_status vy_cuda_batched_launch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_gpu_launch_list *list,
                                   size_t from, size_t count, int *was_run, int *is_free, vyre_error *error) {
    const vy_cuda_kernel *kernel;
    vy_cuda_executable *code = (vy_cuda_executable *)list->code;
    *was_run = *is_free = 0;
    if (!can_be_batched(cuda, code, count))
        return VYRE_OK;
    table t; /* large, so not initialised as a whole */
    t.code = code, t.stride = stride_of(&code->kernel), t.count = count;
    vyre_status status =
        from ? vy_cuda_stream_slot_wait(cuda, stream_slot, "running a kernel", error) : (vyre_status)VYRE_OK;
    if (status == VYRE_OK)
        status = vy_cuda_staging_first(cuda, &stream_slot->staging, count * t.stride, &t.rows, error);
    if (status != VYRE_OK || !fill_table(cuda, &t, list, from))
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

/* ---- in sequences ---- */

vyre_status vy_cuda_add_many(vy_gpu_sequence *t, size_t from, size_t count, int *was_added, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)t->gpu;
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)t->slot;
    vy_cuda_graph *g;
    int is_free;
    vyre_status status = vy_cuda_batched_launch(cuda, stream_slot, t->list, from, count, was_added, &is_free, error);
    if (status != VYRE_OK || *was_added)
        return status;
    status = vy_cuda_graph_launch(cuda, stream_slot->stream, t->list, from, count, is_free, &g, error);
    *was_added = g != NULL;
    if (g) {
        g->next = t->held;
        t->held = g;
    }
    return status;
}

void vy_cuda_release_held(vy_gpu *gpu, void *held) {
    vy_cuda_graph_release((vy_cuda *)gpu, held);
}
