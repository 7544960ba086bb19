/* A grid in pieces delivers what the whole grid delivers, whatever the size and the order of the pieces. */
#include "split/put_barriers.h"
#include "split/split_runner.h"
#include "support/fault.h"

#include "generate/generate.h"
#include "split/grid_tile.h"

enum { MOST_PIECES = 4096, MOST_PROGRAMS = 64 };

/* ---- running in pieces ---- */

typedef struct pieces_run {
    vy_split *split; /* NULL: the program has no grid barrier */
    vyre_program *programs[MOST_PROGRAMS];
    uint32_t program_count;
    vy_resolved_dispatch launch;
    vyre_bytes buffers[RUNNER_BUFFERS];
    uint32_t buffer_count, param_count;
    vyre_scalar params[VY_LIMIT_PARAMS];
    vy_random random;
} pieces_run;

static void make_programs(pieces_run *run, vyre_program *program, runner_result *result) {
    vyre_error *error = &result->error;
    if (program->facts & VY_PROGRAM_HAS_GRID_BARRIER) {
        result->status = vy_grid_split(program, &run->split, error);
        for (uint32_t i = 0; result->status == VYRE_OK && i < run->split->segment_count; i++) {
            assert_true(i < MOST_PROGRAMS);
            result->status = vy_grid_tile(run->split->segments[i], &run->programs[i], error);
        }
    } else {
        result->status = vy_grid_tile(program, &run->programs[0], error);
    }
}

static void bind(pieces_run *run, vyre_program *program, runner_result *result) {
    uint64_t elements[VY_SPLIT_BUFFERS];
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &run->launch.buffers[i];
        assert_int_equal(vyre_bytes_resize(&run->buffers[i], buffer->bytes, NULL), VYRE_OK);
        if (buffer->data)
            memcpy(run->buffers[i].data, buffer->data, buffer->bytes);
    }
    run->buffer_count = program->buffer_count;
    if (!run->split)
        return;
    assert_int_equal(vy_split_elements(run->split, &run->launch, elements, &result->error), VYRE_OK);
    for (uint32_t i = 0; i < run->split->buffer_count; i++)
        assert_int_equal(vyre_bytes_resize(&run->buffers[run->buffer_count++],
                                           elements[i] * vyre_type_size(run->split->buffers[i].type), NULL),
                         VYRE_OK);
}

/* One piece. What it wrote stays, unless it trapped. */
static vyre_status launch_piece(pieces_run *run, vyre_program *program, const vy_grid_tiles *piece,
                                uint32_t param_count, vyre_trap *trap, vyre_error *error) {
    vyre_span inputs[RUNNER_BUFFERS];
    vyre_bytes outputs[RUNNER_BUFFERS] = {{0}};
    vyre_oracle_report report = {0};
    vyre_oracle *oracle;
    uint32_t output = 0;
    for (uint32_t i = 0; i < run->buffer_count; i++)
        inputs[i] = (vyre_span){run->buffers[i].data, run->buffers[i].size};
    vy_grid_tile_params(piece, run->params + param_count);
    vyre_arguments arguments = {.params = run->params,
                                .param_count = param_count + VY_GRID_TILE_PARAMS,
                                .inputs = inputs,
                                .input_count = run->buffer_count,
                                .geometry = {VYRE_GEOMETRY_GROUPS, {piece->size[0], piece->size[1], piece->size[2]}}};
    assert_int_equal(vyre_program_input_count(program), run->buffer_count);
    vyre_status status = vyre_oracle_new(program, &oracle, error);
    if (status == VYRE_OK) {
        vyre_oracle_options options = {.threads = 1};
        status = vyre_oracle_run(oracle, &arguments, &options, outputs, &report, NULL, error);
        vyre_oracle_free(oracle);
    }
    for (uint32_t i = 0; i < run->buffer_count; i++) {
        vyre_buffer_info info;
        vyre_program_buffer(program, i, &info);
        if (info.access != VYRE_ACCESS_READ_WRITE)
            continue;
        if (status == VYRE_OK && outputs[output].size)
            memcpy(run->buffers[i].data, outputs[output].data, outputs[output].size);
        vyre_bytes_free(&outputs[output++]);
    }
    trap->invocation = vy_grid_tile_invocation(piece, run->launch.group_size, report.trap.invocation);
    trap->code = report.trap.code;
    return status;
}

/* All pieces, in a random order. All run, also if one traps. */
static vyre_status launch_pieces(pieces_run *run, vyre_program *program, uint32_t most, uint32_t param_count,
                                 runner_result *result) {
    static vy_grid_tiles list[MOST_PIECES];
    uint32_t count = 0;
    vyre_status status = VYRE_OK;
    vy_grid_tiles piece = vy_grid_tiles_start(run->launch.groups, most);
    do {
        assert_true(count < MOST_PIECES);
        list[count++] = piece;
    } while (vy_grid_tiles_next(&piece));
    for (uint32_t left = count; left > 0; left--) {
        uint32_t at = (uint32_t)vy_random_below(&run->random, left);
        vyre_trap trap;
        vyre_status one = launch_piece(run, program, &list[at], param_count, &trap, &result->error);
        list[at] = list[left - 1];
        result->launches++;
        if (one == VYRE_TRAPPED && (status != VYRE_TRAPPED || trap.invocation < result->trap.invocation))
            result->trap = trap, status = one;
        else if (one != VYRE_OK && one != VYRE_TRAPPED)
            return one;
    }
    return status;
}

static vyre_status launch_segments(pieces_run *run, uint32_t most, runner_result *result) {
    const vy_split *split = run->split;
    vy_split_cursor *cursor;
    vy_split_step step;
    uint32_t decision = 0;
    vyre_status status = vy_split_start(split, &run->launch, &cursor, &result->error);
    while (status == VYRE_OK && (status = vy_split_next(cursor, decision, &step, &result->error)) == VYRE_OK &&
           !step.is_done) {
        for (uint32_t i = 0; i < split->param_count; i++)
            run->params[run->param_count + i] = step.params[i];
        status = launch_pieces(run, run->programs[step.segment], most, run->param_count + split->param_count, result);
        if (split->decision != VY_NONE)
            memcpy(&decision, run->buffers[run->buffer_count - split->buffer_count + split->decision].data,
                   sizeof decision);
    }
    vy_split_free_cursor(cursor);
    return status;
}

static void run_in_pieces(vyre_program *program, const vyre_arguments *arguments, uint32_t most, uint64_t seed,
                          runner_result *result) {
    static pieces_run run;
    memset(&run, 0, sizeof run);
    memset(result, 0, sizeof *result);
    run.random = vy_random_start(seed);
    run.param_count = program->param_count;
    if (program->param_count)
        memcpy(run.params, arguments->params, program->param_count * sizeof *run.params);
    make_programs(&run, program, result);
    if (result->status == VYRE_OK)
        result->status = vy_resolve_dispatch(program, arguments, &run.launch, &result->error);
    if (result->status == VYRE_OK) {
        bind(&run, program, result);
        if (run.launch.group_count)
            result->status = run.split ? launch_segments(&run, most, result)
                                       : launch_pieces(&run, run.programs[0], most, run.param_count, result);
    }
    for (uint32_t i = 0; i < program->buffer_count && result->status == VYRE_OK; i++)
        if (run.launch.buffers[i].output != VY_NONE) {
            result->outputs[run.launch.buffers[i].output] = run.buffers[i];
            run.buffers[i] = (vyre_bytes)VYRE_BYTES_INIT;
        }
    for (uint32_t i = 0; i < RUNNER_BUFFERS; i++)
        vyre_bytes_free(&run.buffers[i]);
    for (uint32_t i = 0; i < MOST_PROGRAMS; i++)
        vyre_program_release(run.programs[i]);
    vy_split_free(run.split);
}

/* Prints name invocations by their place in the piece: they are not compared. */
static void compare(vyre_program *program, const vyre_arguments *arguments, uint32_t most, uint64_t seed,
                    runner_result *pieces) {
    static runner_result whole;
    runner_direct(program, arguments, (vyre_oracle_options){0}, &whole);
    run_in_pieces(program, arguments, most, seed, pieces);
    strcpy(pieces->prints, whole.prints);
    const char *text = runner_compare(program, &whole, pieces);
    if (text) {
        vyre_program *based;
        runner_show("program", program);
        if (vy_grid_tile(program, &based, NULL) == VYRE_OK) {
            runner_show("for pieces", based);
            vyre_program_release(based);
        }
        fail_msg("seed %llu, pieces of %u: %s", (unsigned long long)seed, most, text);
    }
    runner_free(&whole);
}

/* ---- claims ---- */

static vyre_program *parse(const char *text, vyre_module **module) {
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, module, &error) != VYRE_OK)
        fail_msg("%s\n%s", error.message, text);
    return vyre_module_program(*module, 0);
}

static void every_id_and_size_is_that_of_the_whole_grid(void **state) {
    (void)state;
    static const char text[] =
        "fn put(o: buffer [u32] read_write, at: u32, v: u32) { o[at] = v\n o[at + 1] = group_id.z }\n"
        "program ids {\n param base_x : u32\n buffer group_id_x : u32 write count 5 * 3 * 2 * 6 * 16\n"
        "buffer o : u32 read_write\n workgroup 3, 2\n grid 5, 3, 2\n"
        "let g = group_id.x + group_count.x * (group_id.y + group_count.y * group_id.z)\n"
        "let at = (g * 6 + local_index) * 16\n"
        "group_id_x[at] = global_id.x\n group_id_x[at + 1] = global_id.y\n group_id_x[at + 2] = global_id.z\n"
        "group_id_x[at + 3] = group_id.x\n group_id_x[at + 4] = group_id.y\n group_id_x[at + 5] = group_id.z\n"
        "group_id_x[at + 6] = group_count.x\n group_id_x[at + 7] = group_count.y\n group_id_x[at + 8] = group_count.z\n"
        "group_id_x[at + 9] = global_size.x\n group_id_x[at + 10] = global_size.y\n"
        "group_id_x[at + 11] = global_size.z\n group_id_x[at + 12] = workgroup_size.x + base_x\n"
        "group_id_x[at + 13] = local_id.x * 2 + local_id.y\n put(o, at, global_id.y) }";
    vyre_module *module;
    vyre_program *program = parse(text, &module);
    static uint32_t o[5 * 3 * 2 * 6 * 16];
    vyre_scalar base = vyre_scalar_u32(1000);
    vyre_span input = {o, sizeof o};
    vyre_arguments arguments = {.params = &base, .param_count = 1, .inputs = &input, .input_count = 1};
    static runner_result pieces;
    for (uint32_t most = 1; most < 6; most++) {
        compare(program, &arguments, most, most, &pieces);
        if (most == 1 || most == 5)
            assert_int_equal(pieces.launches, most == 1 ? 5 * 3 * 2 : 1);
        runner_free(&pieces);
    }
    vyre_module_free(module);
}

static void pieces_cover_the_grid_once(void **state) {
    (void)state;
    vy_random random = vy_random_start(5);
    for (int round = 0; round < 2000; round++) {
        uint8_t seen[9 * 9 * 9] = {0};
        uint32_t groups[3], most = 1 + (uint32_t)vy_random_below(&random, 10), size = 6;
        for (int d = 0; d < 3; d++)
            groups[d] = 1 + (uint32_t)vy_random_below(&random, 9);
        vy_grid_tiles piece = vy_grid_tiles_start(groups, most);
        do {
            uint64_t before = 0, count = (uint64_t)piece.size[0] * piece.size[1] * piece.size[2] * size;
            for (int d = 0; d < 3; d++)
                assert_in_range(piece.size[d], 1, most);
            for (uint64_t i = 0; i < count; i++) {
                uint64_t id = vy_grid_tile_invocation(&piece, size, i);
                assert_true(i == 0 || id > before);
                before = id;
                assert_true(id / size < groups[0] * groups[1] * groups[2]);
                seen[id / size]++;
            }
        } while (vy_grid_tiles_next(&piece));
        for (uint32_t i = 0; i < groups[0] * groups[1] * groups[2]; i++)
            assert_int_equal(seen[i], size);
    }
    uint32_t largest[3] = {UINT32_MAX, 1, 1};
    vy_grid_tiles piece = vy_grid_tiles_start(largest, UINT64_MAX);
    assert_int_equal(piece.size[0], UINT32_MAX);
    assert_false(vy_grid_tiles_next(&piece));
    piece = vy_grid_tiles_start(largest, UINT32_MAX - 1);
    assert_true(vy_grid_tiles_next(&piece));
    assert_int_equal(piece.base[0], UINT32_MAX - 1);
    assert_int_equal(piece.size[0], 1);
    assert_false(vy_grid_tiles_next(&piece));
}

static void the_smallest_invocation_that_trapped_is_named(void **state) {
    (void)state;
    static const char text[] = "program t {\n buffer y : u32 write count 64\n workgroup 2\n grid 4, 4, 2\n"
                               "let g = group_id.x + 4 * (group_id.y + 4 * group_id.z)\n"
                               "if g % 7 == 5 && local_index == 1 { trap g }\n y[g * 2 + local_index] = g }";
    vyre_module *module;
    vyre_program *program = parse(text, &module);
    static runner_result pieces;
    for (uint32_t most = 1; most < 5; most++) {
        compare(program, &(vyre_arguments){0}, most, most, &pieces);
        assert_int_equal(pieces.status, VYRE_TRAPPED);
        assert_int_equal(pieces.trap.invocation, 11);
        assert_int_equal(pieces.trap.code, 5);
        runner_free(&pieces);
    }
    vyre_module_free(module);
}

static void what_has_no_pieces_is_refused(void **state) {
    (void)state;
    vyre_module *module;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_program *based;
    vyre_program *program =
        parse("program b {\n buffer y : u32 write count 4\n grid 4\n grid_barrier\n y[global_id.x] = 1 }", &module);
    assert_int_equal(vy_grid_tile(program, &based, &error), VYRE_INVALID_ARGUMENT);
    assert_null(based);
    assert_true(error.fix[0]);
    vyre_module_free(module);

    char text[8192] = "program many {\n";
    for (int i = 0; i < 250; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "param p%d : u32\n", i);
    strcat(text, "buffer y : u32 write count 4\n grid 4\n y[global_id.x] = p0 }");
    program = parse(text, &module);
    assert_int_equal(vy_grid_tile(program, &based, &error), VYRE_LIMIT);
    assert_non_null(strstr(error.message, "250 params"));
    vyre_module_free(module);
}

static void random_programs_deliver_the_same(void **state) {
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 5};
    static runner_result pieces;
    uint64_t count = (VY_SANITIZED ? 300 : 2000) * (uint64_t)vy_test_effort(), launches = 0;
    unsigned with_barriers = 0, trapped = 0, deep = 0;
    for (uint64_t seed = 0; seed < count; seed++) {
        static const unsigned stresses[] = {VYRE_STRESS_GEOMETRY, 0, VYRE_STRESS_GEOMETRY | VYRE_STRESS_CONTROL,
                                            VYRE_STRESS_COLLECTIVES | VYRE_STRESS_GEOMETRY, VYRE_STRESS_ATOMICS};
        vyre_generate_options options = {
            .seed = seed, .stress = stresses[seed % 5], .statements = 8 + (unsigned)(seed % 30), .invocations = 96};
        vy_random random = vy_random_start(seed);
        vyre_case *made;
        vyre_error error;
        vyre_program *inlined, *barred = NULL;
        assert_int_equal(vyre_generate(&options, &made, &error), VYRE_OK);
        vyre_program *program = vyre_case_program(made);
        if (seed % 2) {
            assert_int_equal(vyre_program_inline(program, &inlined, &error), VYRE_OK);
            barred = choose_barriers(inlined, &random, 1 + (unsigned)(seed % 3));
            vyre_program_release(inlined);
        }
        compare(barred ? barred : program, vyre_case_arguments(made), sizes[vy_random_below(&random, 4)], seed,
                &pieces);
        with_barriers += barred != NULL;
        trapped += pieces.status == VYRE_TRAPPED;
        deep += pieces.launches > 1;
        launches += pieces.launches;
        runner_free(&pieces);
        vyre_program_release(barred);
        vyre_case_free(made);
    }
    printf("%llu programs, %u with grid barriers, %u in several launches, %u trapped; %llu launches\n",
           (unsigned long long)count, with_barriers, deep, trapped, (unsigned long long)launches);
    assert_true(with_barriers > count / 4 && deep > count / 4);
}

static vyre_status base_one(void *user) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_program *based;
    vyre_status status = vy_grid_tile(user, &based, &error);
    vyre_program_release(based);
    if (status != VYRE_OK)
        assert_true(error.fix[0]);
    return status;
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
    (void)state;
    vyre_module *module;
    vyre_program *program = parse("fn f(x: u32) -> u32 { return x + global_id.x }\n"
                                  "program p {\n buffer y : u32 write count 4\n workgroup 2\n grid over y\n"
                                  "array t : u32 [2] private\n t[1] = f(global_size.x)\n"
                                  "for i in 0u32 .. group_count.x { if i == group_id.x { y[f(0)] = t[1] } } }",
                                  &module);
    VY_FAULT_LOOP(base_one, program);
    vyre_module_free(module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_id_and_size_is_that_of_the_whole_grid),
        cmocka_unit_test(pieces_cover_the_grid_once),
        cmocka_unit_test(the_smallest_invocation_that_trapped_is_named),
        cmocka_unit_test(what_has_no_pieces_is_refused),
        cmocka_unit_test(random_programs_deliver_the_same),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
