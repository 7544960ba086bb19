/* Random programs with grid barriers put into them: their splits deliver what they deliver. The generator makes
 * programs without races, so a barrier more changes nothing; where control is not uniform enough for one, the
 * validator says so and another place is tried. */
#include "split/put_barriers.h"
#include "split/split_runner.h"
#include "support/fault.h"

#include "generate/generate.h"

/* ---- one case ---- */

typedef struct tally {
    unsigned cases, in_blocks, in_loops, read_back, trapped;
    uint64_t launches, segments;
} tally;

static void count_places(const vyre_program *program, tally *seen) {
    uint32_t ends[VY_LIMIT_NESTING + 1], depth = 0, loops = 0, in_block = 0, in_loop = 0;
    uint8_t is_loop[VY_LIMIT_NESTING + 1];
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        const vy_stmt *s = &program->stmts.items[i];
        while (depth && ends[depth - 1] == i)
            loops -= is_loop[--depth];
        if (s->kind == VY_STMT_BARRIER && s->scope == VYRE_SCOPE_DEVICE) {
            in_block |= depth != 0;
            in_loop |= loops != 0;
        }
        if (vy_stmt_is_structured(s->kind) && s->end > i + 1) {
            is_loop[depth] = vy_stmt_is_loop(s->kind);
            loops += is_loop[depth];
            ends[depth++] = s->end;
        }
    }
    seen->in_blocks += in_block;
    seen->in_loops += in_loop;
}

static void compare_case(uint64_t seed, vyre_program *program, const vyre_arguments *arguments, tally *seen) {
    static runner_result direct, launched;
    vyre_oracle_options options = {.checks = seed % 5 == 0 ? VYRE_CHECK_RACES : 0,
                                   .seed = seed % 7 == 0 ? seed + 1 : 0};
    vy_split *split;
    vyre_error error;
    if (vy_grid_split(program, &split, &error) != VYRE_OK) {
        runner_show_all(program, NULL);
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
    runner_direct(program, arguments, (vyre_oracle_options){0}, &direct);
    runner_split(program, split, arguments, options, &launched);
    if (options.seed) /* another schedule, another order */
        strcpy(launched.prints, direct.prints);
    const char *text = runner_compare(program, &direct, &launched);
    if (text) {
        runner_show_all(program, split);
        fail_msg("seed %llu: %s", (unsigned long long)seed, text);
    }
    count_places(program, seen);
    seen->cases++;
    seen->read_back += split->decision != VY_NONE;
    seen->trapped += direct.status == VYRE_TRAPPED;
    seen->launches += launched.launches;
    seen->segments += split->segment_count;
    runner_free(&direct);
    runner_free(&launched);
    vy_split_free(split);
}

static void run_seed(uint64_t seed, tally *seen) {
    static const unsigned stresses[] = {0,
                                        0,
                                        VYRE_STRESS_CONTROL,
                                        VYRE_STRESS_MEMORY | VYRE_STRESS_CONTROL,
                                        VYRE_STRESS_COLLECTIVES | VYRE_STRESS_CONTROL,
                                        VYRE_STRESS_FUNCTIONS | VYRE_STRESS_CONTROL,
                                        VYRE_STRESS_ATOMICS | VYRE_STRESS_MEMORY,
                                        VYRE_STRESS_GEOMETRY};
    vyre_generate_options options = {
        .seed = seed, .stress = stresses[seed % 8], .statements = 12 + (unsigned)(seed % 40), .invocations = 64};
    vy_random random = vy_random_start(seed);
    vyre_program *inlined;
    vyre_case *made;
    vyre_error error;
    assert_int_equal(vyre_generate(&options, &made, &error), VYRE_OK);
    assert_int_equal(vyre_program_inline(vyre_case_program(made), &inlined, &error), VYRE_OK);
    vyre_program *program = choose_barriers(inlined, &random, 1 + (unsigned)(seed % 4));
    if (program)
        compare_case(seed, program, vyre_case_arguments(made), seen);
    vyre_program_release(program);
    vyre_program_release(inlined);
    vyre_case_free(made);
}

static void random_programs_deliver_the_same(void **state) {
    (void)state;
    tally seen = {0};
    const char *first = getenv("VYRE_SEED");
    uint64_t count = (VY_SANITIZED ? 500 : 4000) * (uint64_t)vy_test_effort(),
             start = first ? strtoull(first, NULL, 0) : 0;
    for (uint64_t seed = start; seed < start + count; seed++)
        run_seed(seed, &seen);
    printf("%u programs: grid barriers in blocks in %u, in loops in %u; decisions read back in %u; %u trapped; %llu "
           "segments, %llu launches\n",
           seen.cases, seen.in_blocks, seen.in_loops, seen.read_back, seen.trapped, (unsigned long long)seen.segments,
           (unsigned long long)seen.launches);
    assert_true(seen.cases > count / 2);
    assert_true(seen.in_blocks > count / 20 && seen.in_loops > count / 50);
}

/* ---- memory ---- */

static const char everything[] = "fn step(x: buffer [u32] read_write, i: u32, m: u32) -> u32 {\n if m == 0 { return i "
                                 "}\n x[i] = x[i] + m\n grid_barrier\n return x[7 - i] }\n"
                                 "program p {\n param k : u32\n buffer b : u32 read\n buffer x : u32 read_write\n "
                                 "buffer y : u32 write count len(x)\n workgroup 4\n grid over x\n"
                                 "array t : u32 [4] workgroup\n array a : f64 [2] private\n let i = global_id.x\n var "
                                 "s = x[i]\n let u = b[0]\n t[local_index] = s\n a[1] = f64(s)\n"
                                 "for r in 0u32 .. SOURCE { let v = u8(s)\n s = s + step(x, i, r)\n grid_barrier\n let "
                                 "w = workgroup_reduce_add(s + u)\n if r == 2 { break }\n s = s + w + u32(v) }\n"
                                 "y[i] = s + t[3 - local_index] + u32(a[1])\n }";

static vyre_status split_and_walk(void *user) {
    static vy_resolved_dispatch launch;
    vyre_program *program = user;
    vyre_scalar k = vyre_scalar_u32(3);
    uint32_t words[8] = {3};
    vyre_span inputs[2] = {{words, sizeof words}, {words, sizeof words}};
    vyre_arguments arguments = {.params = &k, .param_count = 1, .inputs = inputs, .input_count = 2};
    vy_split *split;
    vy_split_cursor *cursor = NULL;
    vy_split_step step;
    vyre_error error;
    vyre_status status = vy_grid_split(program, &split, &error);
    if (status == VYRE_OK)
        status = vy_resolve_dispatch(program, &arguments, &launch, &error);
    if (status == VYRE_OK)
        status = vy_split_start(split, &launch, &cursor, &error);
    for (uint32_t decision = 1; status == VYRE_OK; decision = 0) {
        status = vy_split_next(cursor, decision, &step, &error);
        if (step.is_done)
            break;
    }
    vy_split_free_cursor(cursor);
    vy_split_free(split);
    if (status != VYRE_OK) {
        assert_int_equal(error.code, status);
        assert_string_not_equal(error.fix, "");
    }
    return status;
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
    (void)state;
    for (int reads_back = 0; reads_back < 2; reads_back++) {
        char text[2048];
        const char *source = strstr(everything, "SOURCE");
        snprintf(text, sizeof text, "%.*s%s%s", (int)(source - everything), everything, reads_back ? "b[0]" : "k",
                 source + 6);
        vyre_module *module;
        vyre_error error;
        if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        size_t allocations = VY_FAULT_LOOP(split_and_walk, vyre_module_program(module, 0));
        assert_true(allocations > 100);
        vyre_module_free(module);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_deliver_the_same),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
