/* A dispatch that one launch cannot do runs as several, and nobody sees it: the bits are the oracle's on every path. */
#include "driver/boundary.h"
#include "driver/fake.h"
#include "support/fault.h"
#include "transform/put_barriers.h"

#include "vyre/generate.h"
#include "vyre/oracle.h"
#include "vyre/telemetry.h"

/* ---- backends ---- */

/* Without grid barriers, with few workgroups at a time; with or without resident memory. */
static vyre_backend *open_small(uint64_t most_groups, int has_resident, fake **out) {
    fake *f = fake_new();
    f->no_grid_sync = 1;
    f->most_groups = most_groups;
    if (!has_resident)
        f->table.resident_allocate = NULL;
    if (out)
        *out = f;
    return fake_open(f);
}

static unsigned launches(const fake *f) {
    unsigned sum = 0;
    static const fake_entry entries[] = {FAKE_dispatch, FAKE_dispatch_borrowed, FAKE_dispatch_borrowed_timed,
                                         FAKE_dispatch_borrowed_into, FAKE_dispatch_resident};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        sum += atomic_load(&f->calls[entries[i]]);
    return sum;
}

static void check_nothing_is_left(const fake *f) {
    for (int i = 0; i < 64; i++)
        assert_int_equal(f->natives[i], 0);
}

/* ---- the truth ---- */

typedef struct truth {
    vyre_status status;
    vyre_trap trap;
    vyre_bytes outputs[VY_LIMIT_BUFFERS];
    size_t count;
} truth;

static void ask_oracle(vyre_program *program, const vyre_arguments *arguments, truth *t) {
    vyre_oracle *oracle;
    vyre_oracle_report report = {0};
    vyre_oracle_options options = {.threads = 1};
    vyre_error error;
    memset(t, 0, sizeof *t);
    t->count = vyre_program_output_count(program);
    assert_int_equal(vyre_oracle_new(program, &oracle, &error), VYRE_OK);
    t->status = vyre_oracle_run(oracle, arguments, &options, t->outputs, &report, NULL, &error);
    t->trap = report.trap;
    vyre_oracle_free(oracle);
}

static void forget(truth *t) {
    for (size_t i = 0; i < t->count; i++)
        vyre_bytes_free(&t->outputs[i]);
}

static void check(const truth *t, vyre_status status, const vyre_outputs *outputs, const vyre_trap *trap,
                  const vyre_error *error, const char *what) {
    if (status != t->status)
        fail_msg("%s: %s (%s) instead of %s", what, vyre_status_name(status), error->message,
                 vyre_status_name(t->status));
    if (status == VYRE_TRAPPED) {
        if (trap->invocation != t->trap.invocation || trap->code != t->trap.code)
            fail_msg("%s: trap %u of invocation %llu instead of %u of %llu", what, trap->code,
                     (unsigned long long)trap->invocation, t->trap.code, (unsigned long long)t->trap.invocation);
        char text[80];
        snprintf(text, sizeof text, "invocation %llu trapped with code %u", (unsigned long long)trap->invocation,
                 trap->code);
        assert_string_equal(error->message, text);
    }
    if (status != VYRE_OK)
        return;
    assert_int_equal(outputs->count, t->count);
    for (size_t i = 0; i < t->count; i++) {
        if (outputs->items[i].size != t->outputs[i].size)
            fail_msg("%s: output %zu has %zu bytes instead of %zu", what, i, outputs->items[i].size,
                     t->outputs[i].size);
        if (t->outputs[i].size && memcmp(outputs->items[i].data, t->outputs[i].data, t->outputs[i].size) != 0)
            fail_msg("%s: output %zu differs", what, i);
    }
}

/* ---- every path ---- */

static void run_resident(vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                         const vyre_dispatch_config *config, const truth *t, const char *what) {
    static vy_launch launch;
    vyre_resource bindings[VY_LIMIT_BUFFERS] = {0};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_arguments given = *arguments;
    vyre_trap trap = {0, 0};
    vyre_timing timing = {0};
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_launch_resolve(program, arguments, &launch, &error), VYRE_OK);
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        bindings[i].kind = VYRE_RESOURCE_RESIDENT;
        assert_int_equal(vyre_resident_allocate(backend, launch.buffers[i].bytes, NULL, &bindings[i].resident, &error),
                         VYRE_OK);
        if (launch.buffers[i].data)
            assert_int_equal(vyre_resident_upload(backend, bindings[i].resident, launch.buffers[i].data,
                                                  launch.buffers[i].bytes, &error),
                             VYRE_OK);
    }
    given.inputs = NULL, given.input_count = 0, given.counts = NULL, given.count_count = 0;
    vyre_status status = vyre_backend_dispatch_resident(backend, program, bindings, program->buffer_count, &given,
                                                        config, &timing, &trap, &error);
    assert_int_equal(vy_outputs_reserve(&outputs, t->count, &error), VYRE_OK);
    outputs.count = t->count;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        vyre_error ignored;
        if (status == VYRE_OK && launch.buffers[i].output != VY_NONE)
            assert_int_equal(vyre_resident_download(backend, bindings[i].resident,
                                                    &outputs.items[launch.buffers[i].output], &ignored),
                             VYRE_OK);
        assert_int_equal(vyre_resident_free(backend, bindings[i].resident, &ignored), VYRE_OK);
    }
    check(t, status, &outputs, &trap, &error, what);
    vyre_outputs_free(&outputs);
}

/* All forms, with and without a deadline, on a backend with and without resident memory. */
static void check_everywhere(vyre_program *program, const vyre_arguments *arguments, uint64_t most_groups,
                             unsigned paths, const char *name) {
    truth t;
    ask_oracle(program, arguments, &t);
    for (int has_resident = 0; has_resident < 2; has_resident++) {
        fake *f;
        vyre_backend *backend = open_small(most_groups, has_resident, &f);
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        char what[200];
        for (int form = 0; form <= FAKE_FORMS; form++)
            for (int guarded = 0; guarded < 2; guarded++) {
                vyre_dispatch_config config = {.timeout_ns = guarded ? 60000000000u : 0};
                vyre_trap trap = {0, 0};
                vyre_error error = VYRE_ERROR_INIT;
                if (!(paths >> (form * 2 + guarded) & 1) || (form == FAKE_FORMS && !has_resident))
                    continue;
                snprintf(what, sizeof what, "%s, %llu groups at a time, resident %d, form %d, guarded %d", name,
                         (unsigned long long)most_groups, has_resident, form, guarded);
                if (form == FAKE_FORMS) {
                    run_resident(backend, program, arguments, &config, &t, what);
                    continue;
                }
                vyre_status status = fake_run(form, backend, program, arguments, &config, &outputs, &trap, &error);
                check(&t, status, &outputs, &trap, &error, what);
            }
        check_nothing_is_left(f);
        vyre_outputs_free(&outputs);
        vyre_backend_release(backend);
    }
    forget(&t);
}

/* ---- programs ---- */

/* What lives across: a scalar, a private array, a workgroup array, a uniform value. */
static const char *const kept =
    "program kept {\n param k : u32\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n"
    "workgroup 4\n grid over x\n array t : u32 [4] workgroup\n array a : f64 [2] private\n"
    "let i = global_id.x\n var s = x[i] * k\n t[local_index] = s\n a[1] = f64(s)\n"
    "let w = workgroup_reduce_add(s)\n grid_barrier\n s = s + x[len(x) - 1 - i]\n grid_barrier\n"
    "x[i] = s\n y[i] = t[3 - local_index] + u32(a[1]) + w + group_count.x }";
/* Barriers in a loop the host follows, and in one it reads back. */
static const char *const relax =
    "program relax {\n param rounds : u32\n buffer a : u32 read_write\n buffer most : u32 write count 1\n workgroup 4\n"
    "grid over a\n let i = global_id.x\n var peak = 0u32\n"
    "for r in 0u32 .. rounds { let m = a[i] + a[i + 1] * 3\n grid_barrier\n if i < len(a) { a[i] = m }\n grid_barrier\n"
    "peak = max(peak, m) }\n if i == 0 { most[0] = peak } }";
static const char *const decided =
    "program decided {\n param k : u32\n buffer x : u32 read_write\n buffer n : u32 read\n buffer y : u32 write count "
    "len(x)\n"
    "workgroup 4\n grid over x\n let i = global_id.x\n"
    "for r in 0u32 .. n[0] { let v = x[(i + 1) % len(x)]\n grid_barrier\n x[i] = v + k\n grid_barrier }\n"
    "if n[1] > 2 { grid_barrier\n y[i] = x[i] } else { y[i] = 7 } }";
static const char *const traps[] = {
    "program before {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    "if i % 8 == 6 { trap i + k }\n grid_barrier\n if i == 0 { trap 1 }\n x[i] = 1 }",
    "program after {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    "x[i] = x[i] + 1\n grid_barrier\n if x[i] % 5 == 3 { trap x[i] + k } }",
    "program never {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    "if i > 4000 { trap 1 }\n x[i] = x[i] + k\n grid_barrier\n x[i] = x[i] * 2 }",
};
enum { N = 24 };

typedef struct given {
    vyre_module *module;
    vyre_program *program;
    uint32_t x[N], n[2];
    vyre_scalar k;
    vyre_span inputs[2];
    vyre_arguments arguments;
} given;

static void given_open(given *g, const char *text, size_t inputs) {
    g->program = fake_parse(text, &g->module);
    for (uint32_t i = 0; i < N; i++)
        g->x[i] = i * i % 17 + 1;
    g->n[0] = 3, g->n[1] = 5;
    g->k = vyre_scalar_u32(3);
    g->inputs[0] = (vyre_span){g->x, sizeof g->x};
    g->inputs[1] = (vyre_span){g->n, sizeof g->n};
    g->arguments = (vyre_arguments){.params = &g->k, .param_count = 1, .inputs = g->inputs, .input_count = inputs};
}

static void given_close(given *g) {
    vyre_module_free(g->module);
}

static const struct {
    const char *name, *text;
    size_t inputs;
} programs[] = {{"kept", kept, 1},       {"relax", relax, 1},    {"decided", decided, 2},
                {"before", traps[0], 1}, {"after", traps[1], 1}, {"never", traps[2], 1}};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* ---- the same bits ---- */

static void programs_with_grid_barriers_deliver_the_same_on_every_path(void **state) {
    (void)state;
    for (int p = 0; p < PROGRAMS; p++)
        for (uint64_t most = 1; most < 8; most++) {
            given g;
            given_open(&g, programs[p].text, programs[p].inputs);
            check_everywhere(g.program, &g.arguments, most, ~0u, programs[p].name);
            given_close(&g);
        }
}

static void grids_over_the_limit_deliver_the_same_on_every_path(void **state) {
    (void)state;
    static const char text[] =
        "program grid3 {\n param k : u32\n buffer x : u32 read\n buffer y : u32 write\n workgroup 2, 2\n grid 5, 4, 3\n"
        "let g = group_id.x + group_count.x * (group_id.y + group_count.y * group_id.z)\n"
        "y[g * 4 + local_index] = x[g % len(x)] * k + global_id.x + 100 * global_id.y + 10000 * global_id.z "
        "+ 1000000 * global_size.y }";
    given g;
    uint64_t count = 5 * 4 * 3 * 4;
    given_open(&g, text, 1);
    g.arguments.counts = &count, g.arguments.count_count = 1;
    for (uint64_t most = 1; most < 6; most++)
        check_everywhere(g.program, &g.arguments, most, ~0u, "grid3");
    given_close(&g);
}

static void random_programs_deliver_the_same(void **state) {
    (void)state;
    static const unsigned stresses[] = {0, VYRE_STRESS_CONTROL, VYRE_STRESS_MEMORY | VYRE_STRESS_CONTROL,
                                        VYRE_STRESS_COLLECTIVES | VYRE_STRESS_GEOMETRY, VYRE_STRESS_GEOMETRY};
    uint64_t made = 0, wanted = (VY_SANITIZED ? 200 : 2000) * (uint64_t)vy_test_effort(), in_pieces = 0;
    for (uint64_t seed = 1; made < wanted; seed++) {
        vyre_generate_options options = {
            .seed = seed, .stress = stresses[seed % 5], .statements = 10 + (unsigned)(seed % 30), .invocations = 64};
        vy_random random = vy_random_start(seed);
        vyre_program *inlined;
        vyre_case *one;
        vyre_error error;
        char name[32];
        assert_int_equal(vyre_generate(&options, &one, &error), VYRE_OK);
        assert_int_equal(vyre_program_inline(vyre_case_program(one), &inlined, &error), VYRE_OK);
        vyre_program *program = choose_barriers(inlined, &random, 1 + (unsigned)(seed % 3));
        if (program) {
            static const uint64_t most[] = {1, 2, 3, UINT32_MAX};
            uint64_t groups = most[vy_random_below(&random, 4)];
            snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
            /* One form from host bytes and the resident one; a few with a thread of their own. */
            unsigned form = (unsigned)(seed % 4);
            check_everywhere(program, vyre_case_arguments(one), groups,
                             1u << form * 2 | 1u << 8 | (seed % 16 == 0 ? 2u << form * 2 | 2u << 8 : 0), name);
            made++;
            in_pieces += groups < 4;
        }
        vyre_program_release(program);
        vyre_program_release(inlined);
        vyre_case_free(one);
    }
    printf("%llu programs with grid barriers, %llu of them on devices of few workgroups\n", (unsigned long long)made,
           (unsigned long long)in_pieces);
}

/* ---- what is called ---- */

static void a_program_is_split_once_and_its_launches_are_counted(void **state) {
    (void)state;
    for (int has_resident = 0; has_resident < 2; has_resident++) {
        given g;
        fake *f;
        vyre_counters before, first, second;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_error error;
        given_open(&g, kept, 1);
        vyre_backend *backend = open_small(2, has_resident, &f);
        vyre_counters_get(&before);
        assert_int_equal(vyre_backend_dispatch(backend, g.program, &g.arguments, NULL, &outputs, NULL, &error),
                         VYRE_OK);
        vyre_counters_get(&first);
        assert_int_equal(vyre_backend_dispatch(backend, g.program, &g.arguments, NULL, &outputs, NULL, &error),
                         VYRE_OK);
        vyre_counters_get(&second);
        assert_int_equal(first.splits - before.splits, 1);
        assert_int_equal(second.splits - first.splits, 0);
        assert_int_equal(first.dispatches - before.dispatches, 1);
        /* Two barriers make three stages, six workgroups three pieces. */
        assert_int_equal(first.split_launches - before.split_launches, 9);
        assert_int_equal(launches(f), 18);
        assert_int_equal(atomic_load(&f->calls[FAKE_dispatch_resident]), has_resident ? 18 : 0);
        assert_int_equal(atomic_load(&f->calls[FAKE_prepare]), 3); /* the stages; never the program itself */
        assert_int_equal(first.resident_bytes, before.resident_bytes);
        vyre_outputs_free(&outputs);
        vyre_backend_release(backend);
        given_close(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_with_grid_barriers_deliver_the_same_on_every_path),
        cmocka_unit_test(grids_over_the_limit_deliver_the_same_on_every_path),
        cmocka_unit_test(random_programs_deliver_the_same),
        cmocka_unit_test(a_program_is_split_once_and_its_launches_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
