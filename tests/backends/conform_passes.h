/* After vyre_compile, no form of dispatch runs a pass or compiles: every program in examples/, with inputs of a given
 * number of bytes, leaves the counters `passes` and `compiles` unchanged. Dispatches that can be stopped are those of
 * pipelines compiled for that. */
#ifndef VY_TESTS_CONFORM_PASSES_H
#define VY_TESTS_CONFORM_PASSES_H

#include "backends/conform_examples.h"

#include "vyre/telemetry.h"

static inline vyre_counters conform_counters(void) {
    vyre_counters now;
    vyre_counters_get(&now);
    return now;
}

/* The largest size whose inputs have at most this number of bytes; at least 1. */
static inline uint32_t conform_size_for(const conform_example *row, vyre_program *program, uint64_t bytes) {
    uint32_t low = 1, high = 1u << 27;
    while (low < high) {
        uint32_t n = low + (high - low + 1) / 2;
        uint64_t all = 0;
        vyre_buffer_info buffer;
        for (size_t i = 0, k = 0; vyre_program_buffer(program, i, &buffer); i++)
            if (buffer.access != VYRE_ACCESS_WRITE)
                all += (uint64_t)conform_filled_count(row->fillings[k++], n) * vyre_type_size(buffer.type);
        if (all && all <= bytes)
            low = n;
        else
            high = n - 1;
    }
    return low;
}

/* Large dispatches of programs whose work grows faster than their inputs run over one workgroup. */
static inline int conform_is_superlinear(const conform_example *row) {
    return row->fillings[1] == FILL_DOUBLE || row->fillings[1] == FILL_TRIPLE || row->fillings[0] == FILL_SQUARE;
}

static inline void conform_expect_ok(const conform_example *row, const char *form, vyre_status status,
                                     const vyre_error *error) {
    if (status != VYRE_OK)
        fail_msg("%s %s, %s: %s", row->file, row->program, form, error->message);
}

/* On resident buffers, whose sizes are those of the inputs and of the outputs of an earlier dispatch. */
static inline void conform_dispatch_resident(conform *c, const conform_example *row, vyre_pipeline *pipeline,
                                             const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                             const vyre_outputs *outputs) {
    vyre_resource bindings[8];
    vyre_outputs none = VYRE_OUTPUTS_INIT;
    vyre_buffer_info buffer;
    vyre_error error = VYRE_ERROR_INIT;
    size_t count = 0, input = 0, output = 0;
    for (; vyre_program_buffer(vyre_pipeline_program(pipeline), count, &buffer); count++) {
        vyre_span bytes = buffer.access != VYRE_ACCESS_WRITE ? arguments->inputs[input++] : (vyre_span){NULL, 0};
        if (buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE)
            bytes.size = outputs->items[output++].size;
        bindings[count] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .size = bytes.size};
        conform_expect_ok(row, "allocating",
                          vyre_resident_allocate(c->backend, bytes.size, bytes.data, &bindings[count].resident, &error),
                          &error);
    }
    conform_expect_ok(
        row, "resident",
        vyre_pipeline_dispatch_persistent(pipeline, bindings, count, arguments, config, &none, NULL, NULL, &error),
        &error);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(vyre_resident_free(c->backend, bindings[i].resident, NULL), VYRE_OK);
    vyre_outputs_free(&none);
}

static inline void conform_dispatch_in_all_forms(conform *c, const conform_example *row, vyre_pipeline *pipeline,
                                                 const vyre_arguments *arguments, int cancellable) {
    const vyre_arguments both[2] = {*arguments, *arguments};
    const vyre_dispatch_config config = {.timeout_ns = cancellable ? UINT64_C(600000000000) : 0};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT, batch[2] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    vyre_timing timing;
    vyre_pending *pending;
    vyre_error error = VYRE_ERROR_INIT;
    for (int i = 0; i < 2; i++) /* the second reuses the slots */
        conform_expect_ok(row, "into",
                          vyre_pipeline_dispatch_into(pipeline, arguments, &config, &outputs, NULL, &error), &error);
    conform_dispatch_resident(c, row, pipeline, arguments, &config, &outputs);
    conform_expect_ok(row, "timed",
                      vyre_pipeline_dispatch_timed(pipeline, arguments, &config, &outputs, &timing, NULL, &error),
                      &error);
    conform_expect_ok(row, "batch", vyre_pipeline_dispatch_batch(pipeline, both, 2, &config, batch, NULL, NULL, &error),
                      &error);
    if (cancellable) { /* an asynchronous dispatch can be cancelled */
        conform_expect_ok(row, "async", vyre_pipeline_dispatch_async(pipeline, arguments, &config, &pending, &error),
                          &error);
        conform_expect_ok(row, "waiting", vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, &error), &error);
        vyre_pending_free(pending);
    }
    for (int i = 0; i < 2; i++)
        vyre_outputs_free(&batch[i]);
    vyre_outputs_free(&outputs);
}

static inline void conform_passes_at(conform *c, const conform_example *row, uint64_t bytes, int cancellable) {
    const vyre_compile_options options = {.struct_size = sizeof options, .cancellable = cancellable};
    vyre_program *program = conform_example_load(row);
    vyre_pipeline *pipeline;
    conform_example_arguments a;
    vyre_error error = VYRE_ERROR_INIT;
    conform_example_fill(row, program, conform_size_for(row, program, bytes), &a);
    if (bytes > 65536 && conform_is_superlinear(row))
        a.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {1, 1, 1}};
    conform_expect_ok(row, "compiling", vyre_compile(c->backend, program, &options, &pipeline, &error), &error);
    vyre_counters before = conform_counters();
    conform_dispatch_in_all_forms(c, row, pipeline, &a.arguments, cancellable);
    vyre_counters after = conform_counters();
    if (after.passes != before.passes || after.compiles != before.compiles)
        fail_msg("%s %s at %llu bytes%s: %llu passes and %llu compiles in dispatches", row->file, row->program,
                 (unsigned long long)bytes, cancellable ? ", cancellable" : "",
                 (unsigned long long)(after.passes - before.passes),
                 (unsigned long long)(after.compiles - before.compiles));
    vyre_pipeline_release(pipeline);
    conform_example_release(&a);
    vyre_program_release(program);
}

/* A backend that was prepared for a program runs no pass in dispatches without a pipeline. */
static inline void conform_passes_without_pipeline(conform *c, const conform_example *row) {
    vyre_program *program = conform_example_load(row);
    conform_example_arguments a;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    conform_example_fill(row, program, 7, &a);
    conform_expect_ok(row, "preparing", vyre_backend_prepare(c->backend, program, &error), &error);
    vyre_counters before = conform_counters();
    for (int i = 0; i < 2; i++)
        conform_expect_ok(row, "direct",
                          vyre_backend_dispatch(c->backend, program, &a.arguments, NULL, &outputs, NULL, &error),
                          &error);
    vyre_counters after = conform_counters();
    if (after.passes != before.passes || after.compiles != before.compiles)
        fail_msg("%s %s: passes or compiles in dispatches without a pipeline", row->file, row->program);
    vyre_outputs_free(&outputs);
    conform_example_release(&a);
    vyre_program_release(program);
}

/* All examples; the compiles before must have been counted. */
static inline void conform_passes_run(const char *id, uint64_t bytes) {
    static conform c;
    conform_open(&c, id);
    vyre_counters before = conform_counters();
    for (size_t i = 0; i < sizeof conform_examples / sizeof *conform_examples; i++)
        for (int cancellable = 0; cancellable < 2; cancellable++)
            conform_passes_at(&c, &conform_examples[i], bytes, cancellable);
    for (size_t i = 0; i < sizeof conform_examples / sizeof *conform_examples; i += 5)
        conform_passes_without_pipeline(&c, &conform_examples[i]);
    vyre_counters after = conform_counters();
    assert_true(after.passes - before.passes > 10 * (after.compiles - before.compiles));
    assert_true(after.compiles > before.compiles);
    conform_close(&c);
}

#endif
