/* Cases: a program with a copy of its arguments (vyre/generate.h). */
#include "generate/test_case.h"

#include "base/status.h"

/* Every part of the block starts aligned for any scalar element. */
static size_t rounded(size_t size) {
    return (size + 15) & ~(size_t)15;
}

/* Adds a part; what is over PTRDIFF_MAX stays SIZE_MAX, for which there is no memory. */
static size_t add_part(size_t total, size_t size) {
    return size > PTRDIFF_MAX || total > PTRDIFF_MAX ? SIZE_MAX : total + rounded(size);
}

static size_t block_size(const vyre_arguments *from) {
    size_t size = add_part(0, vy_array_size(from->param_count, sizeof *from->params));
    size = add_part(size, vy_array_size(from->input_count, sizeof *from->inputs));
    size = add_part(size, vy_array_size(from->count_count, sizeof *from->counts));
    for (size_t i = 0; size <= PTRDIFF_MAX && i < from->input_count; i++)
        size = add_part(size, from->inputs[i].size);
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
    static const vyre_arguments none;
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, program);
    if (!arguments)
        arguments = &none;
    VY_REQUIRE_ARRAY(error, arguments->params, arguments->param_count);
    VY_REQUIRE_ARRAY(error, arguments->inputs, arguments->input_count);
    VY_REQUIRE_ARRAY(error, arguments->counts, arguments->count_count);
    size_t size = block_size(arguments);
    for (size_t i = 0; size <= PTRDIFF_MAX && i < arguments->input_count; i++)
        VY_REQUIRE_ARRAY(error, arguments->inputs[i].data, arguments->inputs[i].size);
    vyre_case *made = vy_allocate_zero(sizeof *made);
    if (!made)
        return vy_fail_memory(error, "a case");
    made->block_size = size;
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
    return test_case ? test_case->program : NULL;
}

const vyre_arguments *vyre_case_arguments(const vyre_case *test_case) {
    return test_case ? &test_case->arguments : NULL;
}
