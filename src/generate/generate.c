/* Program generator: vyre_generate; the plan of a program; and test cases (generate.h). */
#include "base/status.h"
#include "generate/generator.h"
#include "ir/build/builder_internal.h"
#include "ir/eval.h"

/* Every part of the block is aligned for any scalar element. */
static size_t rounded(size_t size) {
    return (size + 15) & ~(size_t)15;
}

/* Adds the size of a part. Above PTRDIFF_MAX the sum saturates at SIZE_MAX, which cannot be allocated. */
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

/* The plan of a program: features, types, geometry, params, buffers and arrays, drawn before any code is written.
 *
 * Each expression contains at most one draw: the evaluation order of arguments is unspecified, and a seed must produce
 * the same program with every compiler. */

/* ---- features ---- */

/* One row per feature: its probability (of 24) without stress, and the stress that enables it. */
typedef struct feature_row {
    uint16_t feature, often, stress;
} feature_row;

static const feature_row features[] = {
    {VY_GEN_SYNC, 12, VYRE_STRESS_MEMORY | VYRE_STRESS_COLLECTIVES},
    {VY_GEN_ARRAYS, 12, VYRE_STRESS_MEMORY | VYRE_STRESS_ATOMICS},
    {VY_GEN_PRIVATE, 10, VYRE_STRESS_MEMORY},
    {VY_GEN_ATOMICS, 10, VYRE_STRESS_ATOMICS},
    {VY_GEN_CALLS, 10, VYRE_STRESS_FUNCTIONS},
    {VY_GEN_CONTROL, 18, VYRE_STRESS_CONTROL},
    {VY_GEN_GEOMETRY, 8, VYRE_STRESS_GEOMETRY},
    {VY_GEN_TRAP, 1, 0},
    {VY_GEN_GRID_BARRIER, 2, 0},
    {VY_GEN_CONVERSIONS, 6, VYRE_STRESS_CONVERSIONS},
    {VY_GEN_EDGES, 6, VYRE_STRESS_EDGES},
    {VY_GEN_CHOICES, 4, VYRE_STRESS_CHOICES},
};

static void draw_features(vy_gen *g) {
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++)
        if ((g->stress & features[i].stress) || vy_gen_chance(g, features[i].often, g->stress ? 48 : 24))
            g->features |= features[i].feature;
}

/* With few types, variables of the same type are more frequent: most programs use three to six of the allowed types.
 * Programs with edges or choices use one or two, so that loaded values are stored. */
static void draw_types(vy_gen *g, uint32_t allowed) {
    uint32_t all = (UINT32_C(1) << VYRE_TYPE_COUNT) - 1;
    if (!(allowed & all))
        allowed = all;
    g->allowed = allowed & all;
    unsigned least = g->features & (VY_GEN_EDGES | VY_GEN_CHOICES) ? 1 : 3, more = vy_gen_below(g, least + 1);
    if (vy_gen_chance(g, 2, 3)) {
        uint32_t few = 0;
        for (unsigned i = least + more; i > 0; i--)
            few |= UINT32_C(1) << vy_gen_below(g, VYRE_TYPE_COUNT);
        if (few & allowed & ~UINT32_C(1))
            allowed &= few;
    }
    for (int type = 0; type < VYRE_TYPE_COUNT; type++) {
        if (!(allowed >> type & 1))
            continue;
        g->types[g->type_count++] = (uint8_t)type;
        if (type != VYRE_TYPE_BOOL)
            g->data_types[g->data_type_count++] = (uint8_t)type;
    }
    if (g->data_type_count == 0)
        g->data_types[g->data_type_count++] = VYRE_TYPE_U32;
}

/* ---- geometry ---- */

static uint32_t log_uniform(vy_gen *g, uint32_t high) {
    unsigned bits = 0;
    while (bits < 31 && high >> (bits + 1))
        bits++;
    uint32_t value = vy_rng_between(&g->rng, 1, UINT32_C(2) << vy_gen_below(g, bits + 1));
    return value < high ? value : high;
}

/* With choices, mostly a multiple of a vector width: in a vector that no workgroup fills, every load is masked. */
static void draw_workgroup(vy_gen *g) {
    static const uint16_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 64, 100, 128, 256};
    uint32_t most = g->invocations < VY_LIMIT_WORKGROUP ? g->invocations : VY_LIMIT_WORKGROUP;
    int is_full = (g->features & VY_GEN_CHOICES) && most >= 16 && vy_gen_chance(g, 3, 4);
    do
        g->workgroup[0] = sizes[vy_gen_below(g, sizeof sizes / sizeof *sizes)];
    while (g->workgroup[0] > most || (is_full && g->workgroup[0] % 16));
    g->workgroup[1] = g->workgroup[2] = 1;
    if ((g->features & (VY_GEN_GEOMETRY | VY_GEN_EDGES)) && !is_full && vy_gen_chance(g, 3, 4))
        for (int axis = 0; axis < 3; axis++) {
            uint32_t before = axis == 0 ? 1 : axis == 1 ? g->workgroup[0] : g->workgroup[0] * g->workgroup[1];
            uint32_t room = most / before < 9 ? most / before : 9;
            g->workgroup[axis] = g->features & VY_GEN_EDGES ? 1 + vy_gen_below(g, room) : log_uniform(g, room);
        }
    g->size = g->workgroup[0] * g->workgroup[1] * g->workgroup[2];
}

static void draw_groups(vy_gen *g) {
    uint32_t most = g->invocations / g->size ? g->invocations / g->size : 1;
    g->groups[0] = log_uniform(g, most);
    g->groups[1] = g->groups[2] = 1;
    if ((g->features & VY_GEN_GEOMETRY) && vy_gen_chance(g, 1, 2)) {
        g->groups[1] = log_uniform(g, most / g->groups[0]);
        g->groups[2] = log_uniform(g, most / g->groups[0] / g->groups[1]);
    }
    if (vy_gen_chance(g, 1, 60))
        g->groups[vy_gen_below(g, 3)] = 0;
    g->total = g->groups[0] * g->groups[1] * g->groups[2] * g->size;
    g->grid_kind = (uint8_t)vy_gen_below(g, VYRE_GRID_KIND_COUNT);
    /* `over` counts elements along one axis. */
    int flat = g->workgroup[1] * g->workgroup[2] == 1 && g->groups[1] * g->groups[2] == 1;
    if (g->grid_kind == VYRE_GRID_OVER && !flat)
        g->grid_kind = VYRE_GRID_GROUPS;
    if (g->grid_kind == VYRE_GRID_DISPATCH || vy_gen_chance(g, 1, 12))
        g->geometry_kind = vy_gen_chance(g, 1, 2) ? VYRE_GEOMETRY_GROUPS : VYRE_GEOMETRY_ELEMENTS;
}

/* ---- memories ---- */

static unsigned add_memory(vy_gen *g, vy_space space, vyre_type type, vyre_access access, uint32_t count,
                           vy_gen_ownership hold) {
    unsigned m = g->plan_count++;
    g->plan[m] = (vy_gen_memory){.space = (uint8_t)space,
                                 .type = (uint8_t)type,
                                 .access = (uint8_t)access,
                                 .atomic = VYRE_ATOMIC_COUNT,
                                 .count = count,
                                 .is_open = space == VY_SPACE_BUFFER && vy_gen_chance(g, 1, 2),
                                 .slot = VY_NONE};
    g->planned_ownership[m] = hold;
    return m;
}

/* Usually around the size of the grid; sometimes a few elements, sometimes none. */
static uint32_t draw_count(vy_gen *g) {
    if (vy_gen_draws_idiom(g, VY_GEN_EDGES))
        return vy_gen_edge(g, g->total + 9);
    switch (vy_gen_below(g, 8)) {
    case 0:
        return vy_gen_below(g, 5);
    case 1:
        return log_uniform(g, 2 * g->total + 8);
    case 2:
        return 2 * g->total + vy_gen_below(g, 3);
    case 3:
        return g->total ? g->total - 1 : 0;
    default:
        return g->total;
    }
}

static void plan_inputs(vy_gen *g) {
    for (unsigned i = 1 + vy_gen_below(g, 3); i > 0; i--) {
        vyre_type type = vy_gen_data_type(g);
        vyre_access access = vy_gen_chance(g, 1, 4) ? VYRE_ACCESS_UNIFORM : VYRE_ACCESS_READ;
        uint32_t count = vy_gen_chance(g, 1, 2) ? log_uniform(g, 64) : draw_count(g);
        add_memory(g, VY_SPACE_BUFFER, type, access, count, (vy_gen_ownership){.phase = VY_GEN_PHASE_READ});
    }
}

/* A type of 32 or 64 bits that the caller allows, or any that can be stored. */
static vyre_type draw_wide_type(vy_gen *g) {
    static const uint8_t types[] = {VYRE_TYPE_U32, VYRE_TYPE_I32, VYRE_TYPE_F32,
                                    VYRE_TYPE_U64, VYRE_TYPE_I64, VYRE_TYPE_F64};
    vyre_type type = (vyre_type)types[vy_gen_below(g, vy_gen_chance(g, 3, 4) ? 3 : sizeof types)];
    return g->allowed >> type & 1 ? type : vy_gen_data_type(g);
}

/* For choices (expression.c): an input that is loaded without a bounds check, so that a vector instruction can have the
 * load as its operand in memory, and an output whose last value is a choice. */
static void plan_choice(vy_gen *g) {
    if (!(g->features & VY_GEN_CHOICES))
        return;
    vyre_type type = draw_wide_type(g);
    unsigned m = add_memory(g, VY_SPACE_BUFFER, type, VYRE_ACCESS_READ, g->size + vy_gen_below(g, 2) * 9,
                            (vy_gen_ownership){.phase = VY_GEN_PHASE_READ});
    g->plan[m].is_choice = 1;
    g->plan[m].is_open = 0;
    m = add_memory(g, VY_SPACE_BUFFER, type, VYRE_ACCESS_WRITE, g->total,
                   (vy_gen_ownership){.phase = VY_GEN_PHASE_OWN, .base = VY_GEN_BASE_GLOBAL, .stride = 1});
    g->plan[m].is_choice = 1;
}

static void plan_outputs(vy_gen *g) {
    for (unsigned i = 1 + vy_gen_below(g, 3); i > 0; i--) {
        vyre_access access = vy_gen_chance(g, 1, 2) ? VYRE_ACCESS_WRITE : VYRE_ACCESS_READ_WRITE;
        vy_gen_base base =
            (g->features & VY_GEN_SYNC) && vy_gen_chance(g, 1, 2) ? VY_GEN_BASE_CHUNK : VY_GEN_BASE_GLOBAL;
        vyre_type type = vy_gen_data_type(g);
        unsigned m = add_memory(g, VY_SPACE_BUFFER, type, access, draw_count(g), (vy_gen_ownership){0});
        g->planned_ownership[m] = vy_gen_draw_ownership(g, &g->plan[m], base);
    }
}

/* An allowed type for atomics (integers of 32 and 64 bits), or VYRE_TYPE_COUNT. */
static vyre_type atomic_type(vy_gen *g) {
    uint32_t start = vy_gen_below(g, g->data_type_count);
    for (uint32_t i = 0; i < g->data_type_count; i++) {
        vyre_type type = (vyre_type)g->data_types[(start + i) % g->data_type_count];
        if ((vy_type_layouts[type].classes & VYRE_CLASS_INTEGER) && vy_type_layouts[type].bits >= 32)
            return type;
    }
    return VYRE_TYPE_COUNT;
}

/* Commutative kinds; a load without a result is the neutral one. */
static vyre_atomic draw_atomic(vy_gen *g) {
    static const uint8_t kinds[] = {VYRE_ATOMIC_ADD, VYRE_ATOMIC_AND, VYRE_ATOMIC_OR,  VYRE_ATOMIC_XOR,
                                    VYRE_ATOMIC_MIN, VYRE_ATOMIC_MAX, VYRE_ATOMIC_LOAD};
    return (vyre_atomic)kinds[vy_gen_below(g, sizeof kinds)];
}

static void plan_atomics(vy_gen *g) {
    for (unsigned i = 1 + vy_gen_below(g, 2); (g->features & VY_GEN_ATOMICS) && i > 0; i--) {
        vyre_type type = atomic_type(g);
        if (type == VYRE_TYPE_COUNT)
            return;
        int chunked = vy_gen_chance(g, 1, 4);
        unsigned m = add_memory(
            g, VY_SPACE_BUFFER, type, VYRE_ACCESS_READ_WRITE, chunked ? g->total : 1 + vy_gen_below(g, 24),
            (vy_gen_ownership){
                .phase = VY_GEN_PHASE_ATOMIC, .base = chunked ? VY_GEN_BASE_CHUNK : VY_GEN_BASE_GLOBAL, .stride = 1});
        g->plan[m].atomic = (uint8_t)draw_atomic(g);
    }
}

static void plan_arrays(vy_gen *g) {
    for (unsigned i = 1 + vy_gen_below(g, 2); (g->features & VY_GEN_ARRAYS) && i > 0; i--) {
        vyre_type type = vy_gen_data_type(g);
        vyre_type counter = (g->features & VY_GEN_ATOMICS) && vy_gen_chance(g, 3, 4) ? atomic_type(g) : VYRE_TYPE_COUNT;
        uint32_t count = vy_gen_chance(g, 1, 5) ? log_uniform(g, 2 * g->size + 1) : g->size * (1 + vy_gen_below(g, 3));
        unsigned m = add_memory(g, VY_SPACE_WORKGROUP, counter == VYRE_TYPE_COUNT ? type : counter,
                                VYRE_ACCESS_READ_WRITE, count, (vy_gen_ownership){0});
        g->planned_ownership[m] = vy_gen_draw_ownership(g, &g->plan[m], VY_GEN_BASE_LOCAL);
        if (counter == VYRE_TYPE_COUNT)
            continue;
        g->plan[m].atomic = (uint8_t)draw_atomic(g);
        if (vy_gen_chance(g, 3, 4))
            g->planned_ownership[m] = (vy_gen_ownership){.phase = VY_GEN_PHASE_ATOMIC};
    }
    for (unsigned i = 1 + vy_gen_below(g, 2); (g->features & VY_GEN_PRIVATE) && i > 0; i--) {
        vyre_type type = vy_gen_data_type(g);
        add_memory(g, VY_SPACE_PRIVATE, type, VYRE_ACCESS_READ_WRITE, log_uniform(g, 32),
                   (vy_gen_ownership){.phase = VY_GEN_PHASE_PRIVATE});
    }
}

static void plan_tables(vy_gen *g) {
    for (unsigned i = 1 + vy_gen_below(g, 2); (g->features & VY_GEN_TABLES) && i > 0; i--) {
        vyre_type type = vy_gen_data_type(g);
        add_memory(g, VY_SPACE_CONSTANT, type, VYRE_ACCESS_READ,
                   log_uniform(g, vy_gen_chance(g, 1, 4) ? VY_GEN_TABLE : 16),
                   (vy_gen_ownership){.phase = VY_GEN_PHASE_READ});
    }
}

/* Plans the buffer that determines the grid, if the grid is given by a buffer. */
static void plan_grid_buffer(vy_gen *g) {
    if (g->grid_kind == VYRE_GRID_OVER) {
        g->grid_memory = (uint8_t)vy_gen_below(g, g->plan_count);
        g->plan[g->grid_memory].is_choice = 0; /* the count is another */
        g->plan[g->grid_memory].count = g->total - (g->total ? vy_gen_below(g, g->size) : 0);
    } else if (g->grid_kind == VYRE_GRID_INDIRECT) {
        g->grid_offset = vy_gen_below(g, 4);
        vyre_access access = vy_gen_chance(g, 3, 4) ? VYRE_ACCESS_READ : VYRE_ACCESS_UNIFORM;
        g->grid_memory =
            (uint8_t)add_memory(g, VY_SPACE_BUFFER, VYRE_TYPE_U32, access, g->grid_offset + 3 + vy_gen_below(g, 3),
                                (vy_gen_ownership){.phase = VY_GEN_PHASE_READ});
    }
}

/* Shuffles inputs and outputs. The plan contains only buffers so far. */
static void shuffle_buffers(vy_gen *g) {
    for (unsigned i = g->plan_count; i > 1; i--) {
        unsigned a = i - 1, b = vy_gen_below(g, i);
        vy_gen_memory memory = g->plan[a];
        vy_gen_ownership hold = g->planned_ownership[a];
        g->plan[a] = g->plan[b];
        g->planned_ownership[a] = g->planned_ownership[b];
        g->plan[b] = memory;
        g->planned_ownership[b] = hold;
    }
}

/* allowed  bit set of types; 0: all */
static void gen_shape(vy_gen *g, uint32_t allowed) {
    draw_features(g);
    draw_types(g, allowed);
    if (g->features & VY_GEN_MATH)
        vy_gen_plan_ops(g);
    draw_workgroup(g);
    draw_groups(g);
    g->param_count = vy_gen_below(g, VY_GEN_PARAMS);
    for (unsigned i = 0; i < g->param_count; i++)
        g->params[i].type = (uint8_t)(vy_gen_chance(g, 1, 3) ? VYRE_TYPE_U32 : vy_gen_type(g));
    plan_inputs(g);
    plan_choice(g);
    plan_outputs(g);
    plan_atomics(g);
    shuffle_buffers(g);
    plan_grid_buffer(g);
    plan_arrays(g); /* after the buffers, in the order of declaration */
    if (g->features & VY_GEN_TABLES)
        plan_tables(g);
    vy_gen_set_weights(g);
}

/* ---- vyre_generate ---- */

/* An option: 0 means the default; larger values are clamped, since the limits are approximate. */
static unsigned knob(unsigned given, unsigned otherwise, unsigned most) {
    unsigned value = given ? given : otherwise;
    return value < most ? value : most;
}

enum { MOST_STATEMENTS = 100000, MOST_DEPTH = 64, MOST_INVOCATIONS = 1 << 20 };

static vyre_status resolve(vy_gen *g, vyre_program **program, vyre_error *error) {
    vyre_program *unresolved = *program;
    vyre_status status = vyre_program_resolve(unresolved, g->dialects, NULL, program, error);
    vyre_program_release(unresolved);
    return status;
}

static vyre_status finish(vy_gen *g, vyre_case **out, vyre_error *error) {
    vyre_program *program;
    vyre_status status = vy_irb_finish(&g->draft, NULL, NULL, &program, error);
    if (status == VYRE_OK && g->op_count)
        status = resolve(g, &program, error);
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

/* Features that are drawn apart, so that the programs of other seeds stay what they were before there were constant
 * arrays and dialects. The bodies of ops have types of their own: without stress, only programs that may have all types
 * call ops. Short programs call none. */
static void draw_late_features(vy_gen *g, const vyre_generate_options *options) {
    vy_rng tables = vy_rng_start(options->seed ^ UINT64_C(0x7461626c6573));
    vy_rng math = vy_rng_start(options->seed ^ UINT64_C(0x6d617468));
    if (vy_rng_chance(&tables, options->stress & VYRE_STRESS_MEMORY ? 12 : 6, 24))
        g->features |= VY_GEN_TABLES;
    int is_drawn = vy_rng_chance(&math, 2, options->stress ? 48 : 24) && !options->types;
    if (g->statements >= VY_GEN_OP_STATEMENTS && (is_drawn || (options->stress & VYRE_STRESS_MATH)))
        g->features |= VY_GEN_MATH;
}

/* With all ops of the standard library, which the first iteration of a process loads. */
static vyre_status acquire_dialects(vy_gen *g, vyre_error *error) {
    vyre_status status = vyre_dialects_global(&g->dialects, error);
    return status == VYRE_OK && vyre_dialects_count(g->dialects) == 0 ? vy_fail_memory(error, "the ops of a program")
                                                                      : status;
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
    draw_late_features(&g, options);
    if (g.features & VY_GEN_MATH)
        status = acquire_dialects(&g, error);
    if (status == VYRE_OK) {
        gen_shape(&g, options->types);
        vy_gen_functions(&g);
        status = vy_gen_entry(&g, error);
    }
    if (status == VYRE_OK)
        status = finish(&g, out, error);
    else
        vy_irb_discard(&g.draft);
    vyre_dialects_release(&g.dialects);
    VY_VECTOR_FREE(&g.variables);
    vy_release(g.data, g.data_size);
    return status;
}
