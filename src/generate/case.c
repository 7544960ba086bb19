/* Cases: a program with a copy of its arguments (vyre/generate.h). */
#include "generate/case.h"

#include "base/status.h"

/* Every part of the block starts aligned for any scalar element. */
static size_t rounded(size_t size) {
    return (size + 15) & ~(size_t)15;
}

static size_t block_size(const vyre_arguments *from) {
    size_t size = rounded(from->param_count * sizeof *from->params) +
                  rounded(from->input_count * sizeof *from->inputs) + rounded(from->count_count * sizeof *from->counts);
    for (size_t i = 0; i < from->input_count; i++)
        size += rounded(from->inputs[i].size);
    return size;
}

static void *take(unsigned char **at, const void *from, size_t size) {
    void *copy = *at;
    if (size) { /* a case without any bytes has no block */
        memcpy(copy, from, size);
        *at += rounded(size);
    }
    return copy;
}

static void copy_arguments(vyre_case *made, const vyre_arguments *from) {
    unsigned char *at = made->block;
    made->arguments = *from;
    made->arguments.params = take(&at, from->params, from->param_count * sizeof *from->params);
    vyre_span *inputs = take(&at, from->inputs, from->input_count * sizeof *from->inputs);
    made->arguments.inputs = inputs;
    made->arguments.counts = take(&at, from->counts, from->count_count * sizeof *from->counts);
    for (size_t i = 0; i < from->input_count; i++)
        inputs[i].data = take(&at, from->inputs[i].data, from->inputs[i].size);
}

vyre_status vyre_case_new(vyre_program *program, const vyre_arguments *arguments, vyre_case **out, vyre_error *error) {
    *out = NULL;
    static const vyre_arguments none;
    if (!program)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a program", "the program of a case is NULL");
    if (!arguments)
        arguments = &none;
    vyre_case *made = vy_allocate_zero(sizeof *made);
    if (!made)
        return vy_fail_memory(error, "a case");
    made->block_size = block_size(arguments);
    if (made->block_size && !(made->block = vy_allocate(made->block_size))) {
        vy_release(made, sizeof *made);
        return vy_fail_memory(error, "the arguments of a case");
    }
    copy_arguments(made, arguments);
    made->program = vyre_program_retain(program);
    *out = made;
    return VYRE_OK;
}

void vyre_case_free(vyre_case *test_case) {
    if (!test_case)
        return;
    vyre_program_release(test_case->program);
    vy_release(test_case->block, test_case->block_size);
    vy_release(test_case, sizeof *test_case);
}

vyre_program *vyre_case_program(const vyre_case *test_case) {
    return test_case->program;
}

const vyre_arguments *vyre_case_arguments(const vyre_case *test_case) {
    return &test_case->arguments;
}
