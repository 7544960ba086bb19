/* Odd shapes on a backend and on the oracle: workgroups of any size, grids of two and three dimensions, no elements,
 * ranges of resident buffers, bindings that overlap, many params, as many buffers as the language allows. */
#ifndef VY_TESTS_CONFORM_SHAPES_H
#define VY_TESTS_CONFORM_SHAPES_H

#include "backends/conform.h"

#include "base/string.h"

enum { SHAPE_COUNT = 2048 };

/* One read_write buffer of u32; every invocation writes what it is at its place. */
static const char conform_places[] =
    "program places {\n"
    "  param a : u32\n  buffer x : u32 read\n  buffer y : u32 read_write\n  workgroup %s\n  grid %s\n"
    "  array s : u32 [1024] workgroup\n"
    "  let at = global_id.x + global_size.x * (global_id.y + global_size.y * global_id.z)\n"
    "  s[local_index] = x[at] * a\n  barrier\n"
    "  let other = s[(local_index + 1) %% (workgroup_size.x * workgroup_size.y * workgroup_size.z)]\n"
    "  let sum = workgroup_reduce_add(other)\n"
    "  if at < len(y) {\n"
    "    y[at] = y[at] + other + sum * 7 + local_id.x + 3 * local_id.y + 5 * local_id.z + 1000 * group_id.x +\n"
    "      100000 * group_id.y + 10000000 * group_id.z + group_count.y\n"
    "  }\n}\n";

/* Every step-th row from the first on, as in the functions below. */
static inline void conform_shapes(conform *c, size_t first, size_t step) {
    static const char *const rows[][2] = {{"1", "9"},
                                          {"3", "7"},
                                          {"33", "5"},
                                          {"1000", "2"},
                                          {"7, 5", "3, 2"},
                                          {"2, 3, 5", "2, 2, 2"},
                                          {"1, 1, 9", "4"},
                                          {"16, 4", "1, 3"},
                                          {"1, 33", "3"},
                                          {"4, 4, 4", "3, 1, 2"},
                                          {"5", "elements 101, 3"},
                                          {"1024", "1"}};
    static uint32_t x[SHAPE_COUNT], y[SHAPE_COUNT];
    vy_random random = vy_random_start(3);
    conform_fill(VYRE_TYPE_U32, &random, x, SHAPE_COUNT);
    conform_fill(VYRE_TYPE_U32, &random, y, SHAPE_COUNT);
    for (size_t i = first; i < sizeof rows / sizeof *rows; i += step) {
        char text[2048];
        snprintf(text, sizeof text, conform_places, rows[i][0], rows[i][1]);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        static const size_t counts[] = {SHAPE_COUNT, 0, 31, 1};
        for (size_t k = 0; k < 4; k++) {
            vyre_scalar a = vyre_scalar_u32(3);
            vyre_span inputs[2] = {{x, counts[k] * 4}, {y, counts[(k + i) % 4] * 4}};
            vyre_arguments arguments = {.params = &a, .param_count = 1, .inputs = inputs, .input_count = 2};
            conform_check(c, rows[i][0], program, &arguments, (conform_form)((i + k) % CONFORM_FORM_COUNT));
        }
        vyre_program_release(program);
    }
}

/* The same, on grids that lie in a buffer: in host bytes, or where only the device sees them. */
static inline void conform_indirect_grids(conform *c) {
    static const char *const groups[] = {"1", "33", "7, 5", "2, 3, 5", "2, 1, 100", "1000"};
    static const uint32_t grids[][3] = {{1, 1, 1}, {5, 1, 1}, {1, 3, 2}, {3, 2, 4}, {4, 0, 1}};
    static uint32_t x[SHAPE_COUNT], y[SHAPE_COUNT];
    vy_random random = vy_random_start(4);
    conform_fill(VYRE_TYPE_U32, &random, x, SHAPE_COUNT);
    conform_fill(VYRE_TYPE_U32, &random, y, SHAPE_COUNT);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        char text[2048];
        snprintf(text, sizeof text, conform_places, groups[i], "indirect x[2]");
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
            vyre_scalar a = vyre_scalar_u32(3);
            vyre_span inputs[2] = {{x, sizeof x}, {y, sizeof y}};
            vyre_arguments arguments = {.params = &a, .param_count = 1, .inputs = inputs, .input_count = 2};
            memcpy(x + 2, grids[k], sizeof grids[k]);
            conform_check(c, groups[i], program, &arguments, k % 2 ? CONFORM_MIXED : CONFORM_RESIDENT);
            conform_check(c, groups[i], program, &arguments, (conform_form)((i + k) % CONFORM_FORM_COUNT));
        }
        vyre_program_release(program);
    }
}

/* Every type at every odd start. */
static inline void conform_odd_ranges(conform *c, size_t first, size_t step) {
    static const char *const types[] = {"u8", "i16", "f16", "u32", "f32", "i64", "f64", "bf16"};
    static uint64_t bytes[2][SHAPE_COUNT];
    for (size_t t = first; t < sizeof types / sizeof *types; t += step) {
        char text[1024];
        snprintf(text, sizeof text,
                 "program ranges {\n buffer x : %s read\n buffer y : %s read_write\n workgroup 64\n grid over y\n"
                 " let i = global_id.x\n if i < len(y) { y[i] = x[i] + y[i] + x[i + len(x)] }\n}\n",
                 types[t], types[t]);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        vyre_type type = vyre_type_find(types[t], strlen(types[t]));
        vy_random random = vy_random_start(t);
        for (size_t n = 1; n < 300; n = n * 3 + 1) {
            conform_fill(type, &random, bytes[0], n);
            conform_fill(type, &random, bytes[1], n);
            vyre_span inputs[2] = {{bytes[0], n * vyre_type_size(type)}, {bytes[1], n * vyre_type_size(type)}};
            vyre_arguments arguments = {.inputs = inputs, .input_count = 2};
            conform_check(c, types[t], program, &arguments, n % 2 ? CONFORM_RESIDENT : CONFORM_MIXED);
        }
        vyre_program_release(program);
    }
}

/* Two read bindings may be ranges of one buffer that overlap; with one that is written they may not. */
static inline void conform_overlaps(conform *c) {
    static const char text[] = "program both {\n buffer a : u32 read\n buffer b : u32 read\n buffer y : u32 write "
                               "count len(a)\n workgroup 32\n"
                               " grid over y\n let i = global_id.x\n if i < len(y) { y[i] = a[i] * 3 + b[i] }\n}\n";
    enum { N = 100 };
    uint32_t x[N + 1], y[N];
    vyre_resident one, two;
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    for (uint32_t i = 0; i <= N; i++)
        x[i] = i * i + 1;
    assert_int_equal(vyre_resident_allocate(c->backend, sizeof x, NULL, &one, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(c->backend, sizeof y, NULL, &two, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_upload(c->backend, one, x, sizeof x, NULL), VYRE_OK);
    vyre_resource bindings[3] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = one, .size = sizeof y},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = one, .offset = 4, .size = sizeof y},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = two}};
    assert_int_equal(vyre_backend_dispatch_resident(c->backend, program, bindings, 3, NULL, NULL, NULL, NULL, NULL),
                     VYRE_OK);
    assert_int_equal(vyre_resident_download_at(c->backend, two, 0, y, sizeof y, NULL), VYRE_OK);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(y[i], x[i] * 3 + x[i + 1]);
    bindings[2] = bindings[1];
    assert_int_equal(vyre_backend_dispatch_resident(c->backend, program, bindings, 3, NULL, NULL, NULL, NULL, NULL),
                     VYRE_CONFLICT);
    assert_int_equal(vyre_resident_free(c->backend, one, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(c->backend, two, NULL), VYRE_OK);
    vyre_program_release(program);
}

/* Outputs start as zero, whatever was in the slot: programs that write all of one, and programs that all but do. Grids
 * of 1 … 4 groups of 32 by 2. */
static inline void conform_covers(conform *c) {
    static const char *const bodies[] = {
        "y[x] = 7",
        "if x < len(y) { y[x] = 7 }",
        "if x >= n { return }\n y[x] = 7",
        "if a[x] == 3 { return }\n y[x] = 7",
        "if x < n && global_id.y < 2 { y[global_id.y * n + x] = 7 }",
        "if a[x] == 3 { y[x] = 7 } else { y[x] = 8 }",
        "if x < len(a) { y[x + 1] = 7 }",
    };
    uint32_t a[90];
    vyre_scalar n;
    vyre_span input = {a, sizeof a};
    for (uint32_t i = 0; i < 90; i++)
        a[i] = i % 7;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "program cover {\n param n : u32\n buffer a : u32 read\n buffer y : u32 write count len(a)\n"
                 " workgroup 32, 2\n let x = global_id.x\n %s\n}\n",
                 bodies[i]);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        for (uint32_t groups = 1; groups < 5; groups++)
            for (uint32_t bound = 44; bound < 92; bound += 23) {
                n = vyre_scalar_u32(bound);
                vyre_arguments arguments = {.params = &n,
                                            .param_count = 1,
                                            .inputs = &input,
                                            .input_count = 1,
                                            .geometry = {VYRE_GEOMETRY_GROUPS, {groups, 1, 1}}};
                conform_check(c, "an output of used memory", program, &arguments, CONFORM_INTO);
            }
        vyre_program_release(program);
    }
}

/* Params of every type, and a sum over many. */
static inline void conform_params(conform *c) {
    enum { PARAMS = 60 };
    static const vyre_type types[] = {VYRE_TYPE_U8,  VYRE_TYPE_I16, VYRE_TYPE_U32, VYRE_TYPE_I64,  VYRE_TYPE_F32,
                                      VYRE_TYPE_F64, VYRE_TYPE_F16, VYRE_TYPE_I8,  VYRE_TYPE_BF16, VYRE_TYPE_BOOL};
    vy_string text = {0};
    vyre_scalar params[PARAMS];
    uint64_t y[77] = {0};
    vyre_span input = {y, sizeof y};
    vy_random random = vy_random_start(9);
    vyre_arguments arguments = {.params = params, .param_count = PARAMS, .inputs = &input, .input_count = 1};
    vy_string_add(&text, "program params {\n");
    for (unsigned i = 0; i < PARAMS; i++) {
        params[i] = vyre_scalar_bits(types[i % 10], vy_random_next(&random));
        vy_string_format(&text, " param p%u : %s\n", i, vyre_type_name(types[i % 10]));
    }
    vy_string_add(&text, " buffer y : u64 read_write\n workgroup 16\n grid over y\n var s = u64(global_id.x)\n");
    for (unsigned i = 0; i < PARAMS; i++)
        vy_string_format(&text, " s = s * 31 + u64(p%u)\n", i);
    vy_string_add(&text, " if global_id.x < len(y) { y[global_id.x] = s }\n}\n");
    assert_false(text.failed);
    vyre_program *program = conform_parse(text.text, NULL, 0, NULL);
    for (unsigned form = 0; form < CONFORM_FORM_COUNT; form++)
        conform_check(c, "many params", program, &arguments, (conform_form)form);
    vyre_program_release(program);
    vy_string_free(&text);
}

/* 255 buffers, one element to a few each. */
static inline void conform_many_buffers(conform *c) {
    enum { BUFFERS = 255 };
    static uint32_t data[BUFFERS][4];
    static vyre_span inputs[BUFFERS];
    vyre_arguments arguments = {.inputs = inputs, .input_count = BUFFERS};
    vy_string text = {0};
    vy_string_add(&text, "program many {\n");
    for (unsigned i = 0; i < BUFFERS; i++) {
        for (unsigned k = 0; k < 4; k++)
            data[i][k] = i * 10 + k;
        inputs[i] = (vyre_span){data[i], 4 * (size_t)(1 + i % 4)};
        vy_string_format(&text, " buffer b%u : u32 %s\n", i, i % 3 ? "read" : "read_write");
    }
    vy_string_add(&text, " workgroup 4\n grid 1\n let i = local_index\n var s = 0u32\n");
    for (unsigned i = 0; i < BUFFERS; i++)
        vy_string_format(&text, " s = s * 3 + b%u[i]\n", i);
    for (unsigned i = 0; i < BUFFERS; i += 3)
        vy_string_format(&text, " b%u[i] = s + %u\n", i, i);
    vy_string_add(&text, "}\n");
    assert_false(text.failed);
    vyre_program *program = conform_parse(text.text, NULL, 0, NULL);
    conform_check(c, "255 buffers", program, &arguments, CONFORM_PIPELINE);
    conform_check(c, "255 buffers", program, &arguments, CONFORM_RESIDENT);
    vyre_program_release(program);
    vy_string_free(&text);
}

#endif
