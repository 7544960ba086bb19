/* What a batch of small dispatches costs, against graphs made by hand with the same driver. Figures for people: a busy
 * machine breaks no promise here. */
#include "backends/cuda/graph_rig.h"
#include "backends/cuda/launch.h"

enum { TIMED = 1000, SETS = 8 };

typedef struct bare {
    const vy_cuda_kernel *kernel;
    vy_cu_stream stream;
    vy_cu_graph graph;
    vy_cu_graph_exec exec;
    vy_cu_graph_node nodes[TIMED];
    uint64_t params[SETS][TIMED][8];
    size_t size;
    int set;
} bare;

static vy_cu_kernel_node bare_node(bare *b, int which, size_t i, void **extra) {
    extra[0] = VY_CU_PARAMS_BYTES, extra[1] = b->params[which][i], extra[2] = VY_CU_PARAMS_SIZE;
    extra[3] = &b->size, extra[4] = VY_CU_PARAMS_END;
    return (vy_cu_kernel_node){.function = b->kernel->function,
                               .grid = {1, 1, 1},
                               .block = {b->kernel->header.block[0], 1, 1},
                               .extra = extra};
}

/* Rows side by side in so many chains. */
static void bare_make(bare *b, size_t chains) {
    void *extra[5];
    assert_int_equal(real.graph_create(&b->graph, 0), 0);
    for (size_t i = 0; i < TIMED; i++) {
        vy_cu_kernel_node node = bare_node(b, 0, i, extra);
        assert_int_equal(
            real.graph_add(&b->nodes[i], b->graph, i >= chains ? &b->nodes[i - chains] : NULL, i >= chains, &node), 0);
    }
    assert_int_equal(real.graph_instantiate(&b->exec, b->graph, 0), 0);
}

static void bare_end(bare *b) {
    real.graph_end(b->exec);
    real.graph_destroy(b->graph);
}

static int bare_replay(bare *b) {
    return real.graph_launch(b->exec, b->stream) || real.stream_synchronize(b->stream);
}

static int bare_change(bare *b) {
    void *extra[5];
    b->set = (b->set + 1) % SETS;
    for (size_t i = 0; i < TIMED; i++) {
        vy_cu_kernel_node node = bare_node(b, b->set, i, extra);
        if (real.graph_set(b->exec, b->nodes[i], &node))
            return 1;
    }
    return bare_replay(b);
}

typedef struct timed {
    rig r;
    bare b;
    vyre_resource resources[2 * SETS][TIMED];
    const vyre_resource *rows[2 * SETS][TIMED]; /* downwards: graphs; then upwards: tables */
    int set, is_upwards;
} timed;

static int our_replay(timed *t) {
    return vyre_pipeline_dispatch_persistent_batch(t->r.pipelines[TWICE], t->rows[t->set + t->is_upwards * SETS], 1,
                                                   TIMED, NULL, NULL, t->r.outputs, NULL, NULL, NULL);
}

static int our_change(timed *t) {
    t->set = (t->set + 1) % SETS;
    return our_replay(t);
}

static int bare_replay_of(timed *t) {
    return bare_replay(&t->b);
}

static int bare_change_of(timed *t) {
    return bare_change(&t->b);
}

static double best_of(timed *t, int (*once)(timed *t)) {
    double best = 1e12;
    for (int i = 0; i < 40; i++) {
        uint64_t start = vy_clock_now();
        assert_int_equal(once(t), 0);
        double took = (double)(vy_clock_now() - start);
        best = took < best ? took : best;
    }
    return best * 1e-3;
}

static void prepare_timed(timed *t) {
    vy_resident_use use;
    vy_executable *code;
    vyre_error error;
    const uint64_t elements[] = {32};
    const vyre_launch launch = {.elements = elements, .buffer_count = 1, .groups = {1, 1, 1}};
    uint32_t grid[3];
    rig_open(&t->r);
    assert_int_equal(vy_pipeline_executable(t->r.pipelines[TWICE], (vy_stop_condition){0}, 0, &code, &error), VYRE_OK);
    t->b.kernel = &((vy_cuda_executable *)((vy_gpu_pipeline *)code->entries->self)->code)->kernel;
    t->b.size = t->b.kernel->param_bytes;
    assert_true(t->b.size <= sizeof t->b.params[0][0]);
    assert_int_equal(vy_resident_pin(t->r.c.backend, t->r.memory[0], 0, 0, 1, 0, &use, &error), VYRE_OK);
    vy_cu_address address = vy_cuda_resident_address(use.native);
    vy_resident_unpin(t->r.c.backend, &use, 1);
    for (size_t set_index = 0; set_index < SETS; set_index++)
        for (size_t i = 0; i < TIMED; i++) {
            size_t slot = TIMED - 1 - i + set_index * 440;
            t->resources[set_index][i] = slot_of(t->r.memory[0], slot, 32);
            t->rows[set_index][i] = &t->resources[set_index][i];
            t->resources[set_index + SETS][TIMED - 1 - i] = t->resources[set_index][i];
            t->rows[set_index + SETS][i] = &t->resources[set_index + SETS][i];
            vy_cu_address own = address + slot * ELEMENTS * 4;
            vy_cuda_pack(t->b.kernel, &launch, NULL, &own, 0, (uint8_t *)t->b.params[set_index][i], grid);
        }
    assert_int_equal(real.stream_create(&t->b.stream, VY_CU_STREAM_NON_BLOCKING), 0);
}

static void what_a_batch_costs(void **state) {
    (void)state;
    static timed t;
    prepare_timed(&t);
    uint64_t start = vy_clock_now();
    assert_int_equal(our_replay(&t), 0);
    double first = (double)(vy_clock_now() - start) * 1e-3;
    start = vy_clock_now();
    assert_int_equal(our_replay(&t), 0);
    double making = (double)(vy_clock_now() - start) * 1e-3;
    bare_make(&t.b, 1);
    double raw = best_of(&t, bare_replay_of), ours = best_of(&t, our_replay);
    double raw_changed = best_of(&t, bare_change_of), ours_changed = best_of(&t, our_change);
    bare_end(&t.b);
    t.is_upwards = 1;
    for (int i = 0; i <= VY_CUDA_BATCHED_COMPILE_AFTER / TIMED + 1; i++)
        assert_int_equal(our_change(&t), 0);
    printf("rows that do not meet, all changed, as one launch: %.1f us\n", best_of(&t, our_change));
    printf("a batch of %d rows: %.0f us; the replay of a graph made by hand %.0f us (%.3f times)\n", TIMED, ours, raw,
           ours / raw);
    printf("all rows changed: %.0f us; by hand %.0f us (%.3f times)\n", ours_changed, raw_changed,
           ours_changed / raw_changed);
    printf("one by one, the first time: %.0f us; with the graph made: %.0f us\n", first, making);
    for (size_t chains = 2; chains <= 64; chains *= 2) {
        bare_make(&t.b, chains);
        double raw_chains = best_of(&t, bare_replay_of);
        printf("by hand in %zu chains side by side: %.0f us\n", chains, raw_chains);
        bare_end(&t.b);
    }
    real.stream_destroy(t.b.stream);
    rig_close(&t.r);
}

int main(void) {
    vy_cuda_dynamic_symbols_wrap(wrap);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_batch_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
