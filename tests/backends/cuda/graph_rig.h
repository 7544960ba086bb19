/* What tests of graphs and tables share: a few programs, memories, and what the backend asks of the driver. */
#ifndef VY_TESTS_CUDA_GRAPH_RIG_H
#define VY_TESTS_CUDA_GRAPH_RIG_H

#include "backends/conform.h"

#include "backends/cuda/executable.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/memory.h"
#include "driver/backend.h"
#include "driver/dispatch.h"
#include "driver/pipeline.h"

/* None of them commutes with itself: an order that is not kept is seen. */
static const char texts[] =
    "program mix {\n param a : u32\n buffer x : u32 read\n buffer y : u32 read_write\n workgroup 32\n grid over y\n"
    " let i = global_id.x\n if i < len(y) { y[i] = y[i] * 5 + x[i] + a }\n}\n"
    "program twice {\n buffer y : u32 read_write\n workgroup 32\n grid over y\n let i = global_id.x\n"
    " if i < len(y) { y[i] = 2 * y[i] + 1 }\n}\n"
    "program four {\n buffer p : u32 read\n buffer q : u32 read\n buffer r : u32 read\n buffer y : u32 read_write\n"
    " workgroup 32\n grid over y\n let i = global_id.x\n if i < len(y) { y[i] = y[i] * 7 + p[i] * 3 + (q[i] ^ r[i]) "
    "}\n}\n"
    "program refuses {\n buffer y : u32 read_write\n workgroup 32\n grid over y\n let i = global_id.x\n"
    " if y[i] == 13 { trap 99 }\n if i < len(y) { y[i] = y[i] + 1 }\n}\n"
    "program turn {\n buffer x : u32 read\n buffer y : u32 write\n workgroup 32\n grid over y\n let i = global_id.x\n"
    " if i < len(y) { y[i] = x[len(x) - 1 - i] * 3 + 1 }\n}\n"
    "program near {\n buffer y : u32 read_write\n workgroup 3\n grid over y\n let i = global_id.x\n"
    " if i < len(y) { y[i] = 3 * y[i] + 1 }\n}\n";
enum { MIX, TWICE, FOUR, REFUSES, TURN, NEAR, PROGRAMS };

enum { ELEMENTS = 64, SLOTS = 4096, WORDS = ELEMENTS * SLOTS }; /* of a memory */

/* ---- what the backend asks of the driver ---- */

static vy_cuda_dynamic_symbols real;
static _Atomic unsigned made, set, replayed, launched, linked;
static int is_without_graphs;

static int count_instantiate(vy_cu_graph_exec *exec, vy_cu_graph graph, unsigned long long flags) {
    made++;
    return real.graph_instantiate(exec, graph, flags);
}
static int count_set(vy_cu_graph_exec exec, vy_cu_graph_node node, const vy_cu_kernel_node *kernel) {
    set++;
    return real.graph_set(exec, node, kernel);
}
static int count_replay(vy_cu_graph_exec exec, vy_cu_stream stream) {
    replayed++;
    return real.graph_launch(exec, stream);
}
static int count_launch(vy_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, vy_cu_stream stream, void **params, void **extra) {
    launched++;
    return real.launch(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}
static int count_link(vy_cu_graph graph, const vy_cu_graph_node *from, const vy_cu_graph_node *to,
                      const vy_cu_edge *edges, size_t count) {
    linked++;
    return real.graph_link(graph, from, to, edges, count);
}
static inline void wrap(vy_cuda_dynamic_symbols *api) {
    real = *api;
    api->launch = count_launch;
    if (!real.graph_instantiate)
        return;
    api->graph_instantiate = is_without_graphs ? NULL : count_instantiate;
    api->graph_set = count_set;
    api->graph_launch = count_replay;
    if (real.graph_link)
        api->graph_link = count_link;
}
static inline void forget_counts(void) {
    made = set = replayed = launched = linked = 0;
}

/* ---- the rig ---- */

typedef struct rig {
    conform c;
    vyre_pipeline *pipelines[PROGRAMS];
    vyre_resident memory[2]; /* as graphs, and one by one */
    uint32_t *words;
    vyre_outputs *outputs; /* SLOTS */
} rig;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        vyre_error error = VYRE_ERROR_INIT;                                                                            \
        vyre_status status = (call);                                                                                   \
        if (status != VYRE_OK)                                                                                         \
            fail_msg("%s: %s (%s)", #call, vyre_status_name(status), error.message);                                   \
    } while (0)

static inline void rig_open(rig *r) {
    static const char *const names[] = {"mix", "twice", "four", "refuses", "turn", "near"};
    memset(r, 0, sizeof *r);
    conform_open(&r->c, "cuda");
    for (int i = 0; i < PROGRAMS; i++) {
        vyre_program *program = conform_parse(texts, NULL, 0, names[i]);
        OK(vyre_compile(r->c.backend, program, NULL, &r->pipelines[i], &error));
        vyre_program_release(program);
    }
    r->words = malloc(WORDS * sizeof *r->words);
    r->outputs = calloc(SLOTS, sizeof *r->outputs);
    assert_non_null(r->words);
    assert_non_null(r->outputs);
    for (size_t i = 0; i < WORDS; i++)
        r->words[i] = (uint32_t)(i * 2654435761u) | 16; /* never 13 */
    for (int i = 0; i < 2; i++)
        OK(vyre_resident_allocate(r->c.backend, WORDS * 4, r->words, &r->memory[i], &error));
    forget_counts();
}

static inline void rig_close(rig *r) {
    for (int i = 0; i < 2; i++)
        OK(vyre_resident_free(r->c.backend, r->memory[i], &error));
    for (int i = 0; i < PROGRAMS; i++)
        vyre_pipeline_release(r->pipelines[i]);
    for (int i = 0; i < SLOTS; i++)
        vyre_outputs_free(&r->outputs[i]);
    free(r->outputs);
    free(r->words);
    conform_close(&r->c);
}

static inline vyre_resource slot_of(vyre_resident memory, size_t slot, size_t elements) {
    return (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT,
                           .resident = memory,
                           .offset = slot % SLOTS * ELEMENTS * 4,
                           .size = elements * 4};
}

#endif
