/* Random programs as rows of a table (src/backends/cuda/graph.h): each row gives what the oracle gives. */
#include "backends/conform_campaign.h"

#include "backends/cuda/graph_rig.h"

enum { ROWS = 6, GAP = 8 /* elements */ };

/* One memory for each buffer of the program, with the buffer of all rows in it, one above the other. */
typedef struct stack {
    vyre_resident memory[CONFORM_BUFFERS];
    uint64_t sizes[CONFORM_BUFFERS], pitches[CONFORM_BUFFERS];
    size_t count;
    vyre_resource resources[ROWS][CONFORM_BUFFERS];
    const vyre_resource *rows[ROWS];
} stack;

static void stack_memory(conform *c, stack *s, size_t index, const vyre_buffer_info *buffer, const void *data,
                         uint64_t size) {
    uint64_t element = vyre_type_size(buffer->type), pitch = size + GAP * element;
    uint8_t *bytes = calloc(ROWS, pitch);
    assert_non_null(bytes);
    for (size_t i = 0; i < ROWS; i++) {
        if (data)
            memcpy(bytes + i * pitch + element, data, size);
        s->resources[i][index] =
            (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .offset = i * pitch + element, .size = size};
    }
    OK(vyre_resident_allocate(c->backend, ROWS * pitch, bytes, &s->memory[index], &error));
    for (size_t i = 0; i < ROWS; i++)
        s->resources[i][index].resident = s->memory[index];
    s->sizes[index] = size;
    s->pitches[index] = pitch;
    free(bytes);
}

/* 0: it has a buffer without elements, and no row can say so. */
static int stack_open(conform *c, const vyre_program *program, const vyre_arguments *arguments, stack *s) {
    vyre_buffer_info buffer;
    size_t input = 0, output = 0;
    for (s->count = 0; vyre_program_buffer(program, s->count, &buffer); s->count++) {
        vyre_span given = {NULL, 0};
        if (buffer.access != VYRE_ACCESS_WRITE)
            given = arguments->inputs[input++];
        uint64_t size = buffer.access == VYRE_ACCESS_WRITE ? c->expected.outputs[output].size : given.size;
        output += buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE;
        if (!size)
            return 0;
        stack_memory(c, s, s->count, &buffer, given.data, size);
    }
    for (size_t i = 0; i < ROWS; i++)
        s->rows[i] = s->resources[i];
    return 1;
}

static void stack_close(conform *c, stack *s) {
    for (size_t i = 0; i < s->count; i++)
        OK(vyre_resident_free(c->backend, s->memory[i], &error));
}

static void stack_compare(conform *c, const vyre_program *program, const stack *s, uint64_t seed) {
    vyre_buffer_info buffer;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    for (size_t i = 0, output = 0; vyre_program_buffer(program, i, &buffer); i++) {
        if (buffer.access != VYRE_ACCESS_WRITE && buffer.access != VYRE_ACCESS_READ_WRITE)
            continue;
        OK(vyre_resident_download(c->backend, s->memory[i], &bytes, &error));
        for (size_t row = 0; row < ROWS; row++)
            if (memcmp((uint8_t *)bytes.data + s->resources[row][i].offset, c->expected.outputs[output].data,
                       s->sizes[i]) != 0) {
                conform_show(program);
                fail_msg("seed %llu: buffer `%s` of row %zu differs", (unsigned long long)seed, buffer.name, row);
            }
        output++;
    }
    vyre_bytes_free(&bytes);
}

/* From now on its rows are worth a kernel of their own. */
static void ask_for_tables(vyre_pipeline *pipeline) {
    vy_executable *code;
    OK(vy_pipeline_executable(pipeline, (vy_stop_condition){0}, 0, &code, &error));
    atomic_store(&((vy_cuda_executable *)((vy_gpu_pipeline *)code->entries->self)->code)->rows,
                 VY_CUDA_BATCHED_COMPILE_AFTER);
}

static void try_seed(conform *c, uint64_t seed, unsigned *tables) {
    static stack s;
    vyre_case *made = conform_generate(seed, 0);
    vyre_program *program = vyre_case_program(made);
    const vyre_arguments *arguments = vyre_case_arguments(made);
    vyre_arguments params = {
        .params = arguments->params, .param_count = arguments->param_count, .geometry = arguments->geometry};
    vyre_pipeline *pipeline;
    vyre_outputs outputs[ROWS];
    memset(&s, 0, sizeof s);
    memset(outputs, 0, sizeof outputs);
    if (conform_expect(c, program, arguments) && c->expected.status == VYRE_OK &&
        stack_open(c, program, arguments, &s)) {
        OK(vyre_compile(c->backend, program, NULL, &pipeline, &error));
        ask_for_tables(pipeline);
        forget_counts();
        OK(vyre_pipeline_dispatch_persistent_batch(pipeline, s.rows, s.count, ROWS, &params, NULL, outputs, NULL, NULL,
                                                   &error));
        *tables += launched == 1;
        stack_compare(c, program, &s, seed);
        vyre_pipeline_release(pipeline);
    }
    stack_close(c, &s);
    for (int i = 0; i < ROWS; i++)
        vyre_outputs_free(&outputs[i]);
    vyre_case_free(made);
}

static void random_programs_as_rows_have_the_oracles_bits(void **state) {
    (void)state;
    conform c;
    unsigned tables = 0, count = 100 * vy_test_effort();
    conform_open(&c, "cuda");
    for (uint64_t seed = 1; seed <= count; seed++)
        try_seed(&c, seed, &tables);
    printf("%u programs, %u of them as tables\n", count, tables);
    assert_true(tables > count / 8);
    conform_close(&c);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    vy_cuda_dynamic_symbols_wrap(wrap);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_as_rows_have_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
