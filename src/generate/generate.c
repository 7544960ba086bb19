/* vyre_generate: options in, a case out (vyre/generate.h). */
#include "base/status.h"
#include "generate/generator.h"
#include "ir/build/finish.h"
#include "ir/eval.h"

/* A knob: 0 means the default; beyond the most it is the most, as the header says "about". */
static unsigned knob(unsigned given, unsigned otherwise, unsigned most) {
    unsigned value = given ? given : otherwise;
    return value < most ? value : most;
}

enum { MOST_STATEMENTS = 100000, MOST_DEPTH = 64, MOST_INVOCATIONS = 1 << 20 };

static vyre_status finish(vy_gen *g, vyre_case **out, vyre_error *error) {
    vyre_program *program;
    vyre_status status = vy_irb_finish(&g->draft, NULL, NULL, &program, error);
    if (status != VYRE_OK)
        return status;
    vyre_scalar params[VY_GEN_PARAMS];
    vyre_span inputs[VY_GEN_MEMORIES];
    uint64_t counts[VY_GEN_MEMORIES];
    vyre_arguments arguments = {.params = params, .inputs = inputs, .counts = counts, .geometry = g->geometry};
    for (; arguments.param_count < g->param_count; arguments.param_count++) {
        const vy_gen_param *param = &g->params[arguments.param_count];
        params[arguments.param_count] = (vyre_scalar){(vyre_type)param->type, param->bits};
    }
    for (unsigned m = 0; m < g->memory_count; m++) {
        const vy_gen_memory *memory = &g->memories[m];
        if (memory->space != VY_SPACE_BUFFER)
            continue;
        if (memory->access != VYRE_ACCESS_WRITE)
            inputs[arguments.input_count++] = (vyre_span){memory->count ? g->data + memory->data_offset : NULL,
                                                          (size_t)memory->count * vy_type_layouts[memory->type].size};
        else if (memory->is_open)
            counts[arguments.count_count++] = memory->count;
    }
    status = vyre_case_new(program, &arguments, out, error);
    vyre_program_release(program);
    return status;
}

vyre_status vyre_generate(const vyre_generate_options *options, vyre_case **out, vyre_error *error) {
    static const vyre_generate_options defaults;
    VY_REQUIRE(error, out);
    *out = NULL;
    if (!options)
        options = &defaults;
    vy_gen g = {.rng = vy_rng_start(options->seed),
                .statements = knob(options->statements, 30, MOST_STATEMENTS),
                .depth = knob(options->depth, 4, MOST_DEPTH),
                .invocations = knob(options->invocations, 256, MOST_INVOCATIONS),
                .stress = options->stress};
    vyre_status status = vy_irb_start(&g.draft, "random", error);
    if (status != VYRE_OK)
        return status;
    vy_gen_shape(&g, options->types);
    vy_gen_functions(&g);
    status = vy_gen_entry(&g, error);
    if (status == VYRE_OK)
        status = finish(&g, out, error);
    else
        vy_irb_discard(&g.draft);
    VY_VECTOR_FREE(&g.variables);
    vy_release(g.data, g.data_size);
    return status;
}
