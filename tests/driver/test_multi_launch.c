/* A dispatch that needs several launches is indistinguishable from one launch: the results are those of the reference
 * interpreter on every path. */
#include "driver/dispatch.h"
#include "driver/fake.h"
#include "split/put_barriers.h"
#include "support/fault.h"
#include "support/resolve.h"

#include "base/file.h"
#include "generate/generate.h"
#include "split/grid_tile.h"
#include "vyre/async.h"
#include "vyre/oracle.h"
#include "vyre/telemetry.h"

#include <glob.h>

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
    static vy_resolved_dispatch launch;
    vyre_resource bindings[VY_LIMIT_BUFFERS] = {0};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_arguments given = *arguments;
    vyre_trap trap = {0, 0};
    vyre_timing timing = {0};
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_resolve_dispatch(program, arguments, &launch, &error), VYRE_OK);
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
static const char kept[] =
    "program kept {\n param k : u32\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n"
    "workgroup 4\n grid over x\n array t : u32 [4] workgroup\n array a : f64 [2] private\n"
    "let i = global_id.x\n var s = x[i] * k\n t[local_index] = s\n a[1] = f64(s)\n"
    "let w = workgroup_reduce_add(s)\n grid_barrier\n s = s + x[len(x) - 1 - i]\n grid_barrier\n"
    "x[i] = s\n y[i] = t[3 - local_index] + u32(a[1]) + w + group_count.x }";
/* Barriers in a loop the host follows, and in one it reads back. */
static const char relax[] =
    "program relax {\n param rounds : u32\n buffer a : u32 read_write\n buffer most : u32 write count 1\n workgroup 4\n"
    "grid over a\n let i = global_id.x\n var peak = 0u32\n"
    "for r in 0u32 .. rounds { let m = a[i] + a[i + 1] * 3\n grid_barrier\n if i < len(a) { a[i] = m }\n grid_barrier\n"
    "peak = max(peak, m) }\n if i == 0 { most[0] = peak } }";
static const char decided[] =
    "program decided {\n param k : u32\n buffer x : u32 read_write\n buffer n : u32 read\n buffer y : u32 write count "
    "len(x)\n"
    "workgroup 4\n grid over x\n let i = global_id.x\n"
    "for r in 0u32 .. n[0] { let v = x[(i + 1) % len(x)]\n grid_barrier\n x[i] = v + k\n grid_barrier }\n"
    "if n[1] > 2 { grid_barrier\n y[i] = x[i] } else { y[i] = 7 } }";
static const char before[] =
    "program before {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    "if i % 8 == 6 { trap i + k }\n grid_barrier\n if i == 0 { trap 1 }\n x[i] = 1 }";
static const char after[] =
    "program after {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    "x[i] = x[i] + 1\n grid_barrier\n if x[i] % 5 == 3 { trap x[i] + k } }";
static const char never[] =
    "program never {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    "if i > 4000 { trap 1 }\n x[i] = x[i] + k\n grid_barrier\n x[i] = x[i] * 2 }";
/* The grid comes from a buffer the program writes. */
static const char indirect[] =
    "program indirect {\n param k : u32\n buffer x : u32 read_write\n buffer n : u32 read_write\n workgroup 4\n"
    "grid indirect n\n let i = global_id.x + global_size.x * (global_id.y + global_size.y * global_id.z)\n"
    "let v = x[i] * k + group_count.y\n grid_barrier\n if i < 3 { n[i] = 100 + group_count.x }\n x[i] = v\n "
    "grid_barrier\n"
    "if i == 5 { x[i] = x[i] + n[1] } }";
enum { N = 24 };

typedef struct given {
    vyre_module *module;
    vyre_program *program;
    uint32_t x[N], n[3];
    vyre_scalar k;
    vyre_span inputs[2];
    vyre_arguments arguments;
} given;

static void given_open(given *g, const char *text, size_t inputs) {
    g->program = fake_parse(text, &g->module);
    for (uint32_t i = 0; i < N; i++)
        g->x[i] = i * i % 17 + 1;
    g->n[0] = 3, g->n[1] = 5, g->n[2] = 2;
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
} programs[] = {{"kept", kept, 1},   {"relax", relax, 1}, {"decided", decided, 2},  {"before", before, 1},
                {"after", after, 1}, {"never", never, 1}, {"indirect", indirect, 2}};
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

/* Numbers from nowhere may make a loop long. */
static int is_quick(vyre_program *program, const vyre_arguments *arguments) {
    vyre_bytes outputs[VY_LIMIT_BUFFERS] = {{0}};
    vyre_oracle_options options = {.threads = 1, .budget = 1000000};
    vyre_oracle_report report;
    vyre_oracle *oracle;
    assert_int_equal(vyre_oracle_new(program, &oracle, NULL), VYRE_OK);
    vyre_status status = vyre_oracle_run(oracle, arguments, &options, outputs, &report, NULL, NULL);
    vyre_oracle_free(oracle);
    for (size_t i = 0; i < vyre_program_output_count(program); i++)
        vyre_bytes_free(&outputs[i]);
    return status == VYRE_OK || status == VYRE_TRAPPED;
}

/* Params 40, inputs of 1000 elements unless the program states a constant: not always the purpose of an example, but
 * defined. An example whose counts do not match, or that is slow, is left out. */
static int check_example(const char *file, vyre_program *program) {
    static unsigned char bytes[1 << 16];
    static vy_resolved_dispatch launch;
    vyre_scalar params[16];
    vyre_span inputs[16];
    uint64_t counts[16];
    vyre_arguments arguments = {.params = params, .inputs = inputs, .counts = counts};
    vyre_param_info param;
    vyre_buffer_info buffer;
    vyre_error error;
    vy_random random = vy_random_start(7);
    for (size_t i = 0; i < sizeof bytes; i += 4) /* small numbers: some are bounds of loops */
        bytes[i] = (unsigned char)vy_random_below(&random, 64);
    for (; vyre_program_param(program, arguments.param_count, &param); arguments.param_count++)
        params[arguments.param_count] = (vyre_scalar){param.type, 40};
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        size_t size = (buffer.is_static ? buffer.count : 1000) * vyre_type_size(buffer.type);
        assert_true(size <= sizeof bytes);
        if (buffer.access != VYRE_ACCESS_WRITE)
            inputs[arguments.input_count++] = (vyre_span){bytes, size};
        else if (!buffer.has_count)
            counts[arguments.count_count++] = 1000;
    }
    if (vyre_program_grid(program) == VYRE_GRID_DISPATCH)
        arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_ELEMENTS, {1000, 1, 1}};
    if (vy_resolve_dispatch(program, &arguments, &launch, &error) != VYRE_OK || launch.group_count < 2 ||
        !is_quick(program, &arguments))
        return 0;
    check_everywhere(program, &arguments, 1, 1u | 1u << 8, file);
    check_everywhere(program, &arguments, 3, 1u | 1u << 8, file);
    return 1;
}

static void examples_deliver_the_same_in_pieces(void **state) {
    (void)state;
    glob_t files;
    int ran = 0;
    assert_int_equal(glob(vy_test_path("examples/*.vyre"), 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        vyre_bytes text = VYRE_BYTES_INIT;
        vyre_module *module;
        assert_int_equal(vy_file_read(files.gl_pathv[i], SIZE_MAX, &text, NULL), VYRE_OK);
        assert_int_equal(vyre_text_parse(text.data, text.size, NULL, NULL, &module, NULL), VYRE_OK);
        for (size_t p = 0; p < vyre_module_program_count(module); p++) {
            vyre_program *program = vy_test_resolve(vyre_module_program(module, p));
            ran += check_example(files.gl_pathv[i], program);
            vyre_program_release(program);
        }
        vyre_module_free(module);
        vyre_bytes_free(&text);
    }
    printf("%d examples\n", ran);
    assert_true(ran > 5);
    globfree(&files);
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

/* ---- calls ---- */

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

/* The bytes of `x` and `y` of `kept`, resident. */
typedef struct resident_pair {
    vyre_resource bindings[2];
} resident_pair;

static vyre_status pair_open(resident_pair *pair, vyre_backend *backend, const given *g) {
    memset(pair, 0, sizeof *pair);
    pair->bindings[0].kind = pair->bindings[1].kind = VYRE_RESOURCE_RESIDENT;
    vyre_status status = vyre_resident_allocate(backend, sizeof g->x, g->x, &pair->bindings[0].resident, NULL);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(backend, sizeof g->x, NULL, &pair->bindings[1].resident, NULL);
    return status;
}

static void pair_close(resident_pair *pair, vyre_backend *backend) {
    for (int i = 0; i < 2; i++)
        vyre_resident_free(backend, pair->bindings[i].resident, NULL);
}

/* Form FAKE_FORMS: on resident buffers. */
static vyre_status run_kept(int form, vyre_backend *backend, given *g, const vyre_dispatch_config *config,
                            vyre_outputs *outputs, vyre_error *error) {
    resident_pair pair;
    if (form < FAKE_FORMS)
        return fake_run(form, backend, g->program, &g->arguments, config, outputs, NULL, error);
    vyre_status status = pair_open(&pair, backend, g);
    vyre_arguments arguments = {.params = &g->k, .param_count = 1};
    if (status == VYRE_OK)
        status = vyre_backend_dispatch_resident(backend, g->program, pair.bindings, 2, &arguments, config, NULL, NULL,
                                                error);
    pair_close(&pair, backend);
    return status;
}

static void times_are_summed_where_every_launch_has_them(void **state) {
    (void)state;
    given g;
    fake *f;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_timing timing = {0};
    vyre_error error;
    given_open(&g, kept, 1);
    vyre_backend *backend = open_small(2, 0, &f);
    assert_int_equal(
        vyre_backend_dispatch_timed(backend, g.program, &g.arguments, NULL, &outputs, &timing, NULL, &error), VYRE_OK);
    assert_int_equal(timing.present, VYRE_TIMED_DEVICE);
    assert_int_equal(timing.device_ns, 9 * 5);
    assert_true(timing.wall_ns > 9 * 7); /* the time all of it took */
    vyre_backend_release(backend);
    backend = open_small(2, 1, &f); /* its resident dispatch measures nothing but the wall */
    assert_int_equal(
        vyre_backend_dispatch_timed(backend, g.program, &g.arguments, NULL, &outputs, &timing, NULL, &error), VYRE_OK);
    assert_int_equal(timing.present, 0);
    assert_true(timing.wall_ns > 0);
    vyre_backend_release(backend);
    vyre_outputs_free(&outputs);
    given_close(&g);
}

static void slots_of_the_caller_keep_their_memory(void **state) {
    (void)state;
    for (int has_resident = 0; has_resident < 2; has_resident++) {
        given g;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_error error;
        given_open(&g, kept, 1);
        vyre_backend *backend = open_small(2, has_resident, NULL);
        const void *memory[2];
        for (int round = 0; round < 3; round++) {
            assert_int_equal(vyre_backend_dispatch_into(backend, g.program, &g.arguments, NULL, &outputs, NULL, &error),
                             VYRE_OK);
            for (int i = 0; i < 2; i++) {
                if (round)
                    assert_ptr_equal(outputs.items[i].data, memory[i]);
                memory[i] = outputs.items[i].data;
            }
        }
        vyre_outputs_free(&outputs);
        vyre_backend_release(backend);
        given_close(&g);
    }
}

static void a_resident_write_buffer_keeps_what_is_not_written(void **state) {
    (void)state;
    static const char text[] =
        "program part {\n param k : u32\n buffer x : u32 read\n buffer y : u32 write count len(x)\n"
        "workgroup 4\n grid over x\n if global_id.x % 3 == 0 { y[global_id.x] = k }\n grid_barrier\n"
        "if global_id.x % 3 == 1 { y[global_id.x] = x[global_id.x] } }";
    given g;
    resident_pair pair;
    uint32_t old[N];
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    given_open(&g, text, 1);
    vyre_backend *backend = open_small(2, 1, NULL);
    memset(old, 0xab, sizeof old);
    assert_int_equal(pair_open(&pair, backend, &g), VYRE_OK);
    assert_int_equal(vyre_resident_upload(backend, pair.bindings[1].resident, old, sizeof old, &error), VYRE_OK);
    vyre_arguments arguments = {.params = &g.k, .param_count = 1};
    assert_int_equal(
        vyre_backend_dispatch_resident(backend, g.program, pair.bindings, 2, &arguments, NULL, NULL, NULL, &error),
        VYRE_OK);
    assert_int_equal(vyre_resident_download(backend, pair.bindings[1].resident, &bytes, &error), VYRE_OK);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(((uint32_t *)bytes.data)[i], i % 3 == 0 ? 3 : i % 3 == 1 ? g.x[i] : 0xabababab);
    vyre_bytes_free(&bytes);
    pair_close(&pair, backend);
    vyre_backend_release(backend);
    given_close(&g);
}

static void the_backend_keeps_few_stages_and_finds_them_again(void **state) {
    (void)state;
    vyre_backend *backend = open_small(2, 1, NULL);
    vyre_error error;
    vy_multi_launch *first = NULL, *again;
    for (int i = 0; i < 3 * VY_MULTI_LAUNCH_CACHE_SIZE; i++) {
        char text[256];
        vyre_module *module;
        vy_multi_launch *stages, *same, *other;
        snprintf(text, sizeof text,
                 "program p%d {\n buffer y : u32 write count 4\n grid 4\n grid_barrier\n y[global_id.x] = %du32 }", i,
                 i);
        vyre_program *program = fake_parse(text, &module);
        assert_int_equal(vy_multi_launch_get(backend, program, 0, &stages, &error), VYRE_OK);
        assert_int_equal(vy_multi_launch_get(backend, program, 0, &same, &error), VYRE_OK);
        assert_int_equal(vy_multi_launch_get(backend, program, 1, &other, &error), VYRE_OK);
        assert_ptr_equal(stages, same);
        assert_ptr_not_equal(stages, other);
        assert_int_equal(vy_multi_launch_count(stages), 2);
        assert_int_equal(vyre_program_param_count(vy_multi_launch_program(other, 0)),
                         vyre_program_param_count(vy_multi_launch_program(stages, 0)) + VY_GRID_TILE_PARAMS);
        vy_multi_launch_release(same);
        vy_multi_launch_release(other);
        if (i == 0)
            first = stages;
        else
            vy_multi_launch_release(stages);
        vyre_module_free(module);
    }
    vyre_module *module;
    vyre_program *program = fake_parse(
        "program p0 {\n buffer y : u32 write count 4\n grid 4\n grid_barrier\n y[global_id.x] = 0u32 }", &module);
    assert_int_equal(vy_multi_launch_get(backend, program, 0, &again, &error), VYRE_OK);
    assert_ptr_not_equal(first, again); /* evicted, and still valid for its holder */
    assert_int_equal(vy_multi_launch_count(first), 2);
    vy_multi_launch_release(first);
    vy_multi_launch_release(again);
    vyre_module_free(module);
    vyre_backend_release(backend);
}

/* ---- refused dispatches ---- */

static void what_lives_across_may_be_too_much_for_the_device(void **state) {
    (void)state;
    given g;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error;
    given_open(&g, kept, 1);
    vyre_backend *backend = open_small(0, 1, NULL);
    atomic_store(&backend->capabilities[VYRE_CAPABILITY_MAX_STORAGE_BYTES], sizeof g.x);
    assert_int_equal(vyre_backend_dispatch(backend, g.program, &g.arguments, NULL, &outputs, NULL, &error), VYRE_LIMIT);
    assert_non_null(strstr(error.message, "the grid barriers of `kept` keep"));
    assert_non_null(strstr(error.message, "exceeds the limit of backend `fake` (96)"));
    assert_true(error.fix[0]);
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
    given_close(&g);
}

static void what_the_launches_need_is_asked_for_before_the_first(void **state) {
    (void)state;
    for (int missing = 0; missing < 3; missing++) {
        static const char *const said[] = {"resident buffer allocation", "resident buffer free",
                                           "resident buffer download"};
        given g;
        fake *f;
        vyre_resource bindings[3] = {0};
        vyre_error error = VYRE_ERROR_INIT;
        given_open(&g, decided, 2);
        vyre_backend *backend = open_small(2, 1, &f);
        for (int i = 0; i < 3; i++) {
            uint64_t size = i == 1 ? sizeof g.n : sizeof g.x;
            bindings[i].kind = VYRE_RESOURCE_RESIDENT;
            assert_int_equal(vyre_resident_allocate(backend, size, NULL, &bindings[i].resident, &error), VYRE_OK);
        }
        vyre_backend_vtable all = backend->calls;
        if (missing == 0)
            backend->calls.resident_allocate = NULL;
        if (missing == 1)
            backend->calls.resident_free = NULL;
        if (missing == 2)
            backend->calls.resident_download = NULL;
        vyre_arguments arguments = {.params = &g.k, .param_count = 1};
        assert_int_equal(
            vyre_backend_dispatch_resident(backend, g.program, bindings, 3, &arguments, NULL, NULL, NULL, &error),
            VYRE_UNSUPPORTED);
        assert_non_null(strstr(error.message, said[missing]));
        assert_int_equal(launches(f), 0);
        backend->calls = all;
        vyre_backend_release(backend);
        given_close(&g);
    }
}

/* ---- what goes wrong ---- */

static void a_call_that_fails_leaves_nothing_behind(void **state) {
    (void)state;
    static const fake_entry entries[] = {FAKE_prepare,           FAKE_resident_allocate, FAKE_resident_upload,
                                         FAKE_resident_download, FAKE_resident_free,     FAKE_dispatch_resident,
                                         FAKE_dispatch_borrowed, FAKE_dispatch,          FAKE_dispatch_borrowed_into};
    unsigned failures = 0;
    given g;
    given_open(&g, decided, 2);
    truth t;
    ask_oracle(g.program, &g.arguments, &t);
    for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
        for (int has_resident = 0; has_resident < 2; has_resident++)
            for (unsigned k = 1, met = 1; met && k < 200; k++) {
                fake *f;
                vyre_counters before, after;
                vyre_outputs outputs = VYRE_OUTPUTS_INIT;
                vyre_error error = VYRE_ERROR_INIT;
                vyre_counters_get(&before);
                vyre_backend *backend = open_small(2, has_resident, &f);
                if (entries[e] == FAKE_dispatch) /* the only one it has */
                    backend->dispatch_table.dispatch_borrowed = NULL,
                    backend->dispatch_table.dispatch_borrowed_into = NULL;
                if (entries[e] == FAKE_dispatch_borrowed)
                    backend->dispatch_table.dispatch_borrowed_into = NULL;
                f->fail_entry = entries[e], f->fail_at = k;
                vyre_status status =
                    vyre_backend_dispatch(backend, g.program, &g.arguments, NULL, &outputs, NULL, &error);
                met = atomic_load(&f->calls[entries[e]]) >= k;
                failures += met;
                f->fail_at = 0;
                check_nothing_is_left(f);
                /* A temporary that cannot be freed does not lose the result. */
                vyre_status expected = met && entries[e] != FAKE_resident_free ? VYRE_NO_DEVICE_MEMORY : VYRE_OK;
                if (status != expected)
                    fail_msg("entry %d fails at call %u: %s", (int)entries[e], k, vyre_status_name(status));
                if (status != VYRE_OK)
                    assert_int_equal(outputs.count, 0);
                assert_int_equal(vyre_backend_dispatch(backend, g.program, &g.arguments, NULL, &outputs, NULL, &error),
                                 VYRE_OK);
                check(&t, VYRE_OK, &outputs, NULL, &error, "after a failure");
                vyre_outputs_free(&outputs);
                vyre_backend_release(backend);
                vyre_counters_get(&after);
                assert_int_equal(after.resident_bytes, before.resident_bytes);
            }
    assert_true(failures > 60);
    forget(&t);
    given_close(&g);
}

static void a_lost_device_is_not_asked_to_free(void **state) {
    (void)state;
    for (int form = 0; form <= FAKE_FORMS; form++) {
        given g;
        fake *f;
        vyre_counters before, after;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_error error;
        given_open(&g, kept, 1);
        vyre_counters_get(&before);
        vyre_backend *backend = open_small(2, 1, &f);
        f->fail_entry = FAKE_dispatch_resident, f->fail_at = 4, f->fail_with = VYRE_DEVICE_LOST;
        assert_int_equal(run_kept(form, backend, &g, NULL, &outputs, &error), VYRE_DEVICE_LOST);
        assert_true(vyre_backend_device_lost(backend));
        assert_int_equal(atomic_load(&f->calls[FAKE_resident_free]), 0);
        assert_int_equal(vyre_backend_try_recover(backend, &error), VYRE_OK);
        assert_int_equal(run_kept(form, backend, &g, NULL, &outputs, &error), VYRE_OK);
        vyre_outputs_free(&outputs);
        vyre_backend_release(backend);
        vyre_counters_get(&after);
        assert_int_equal(after.resident_bytes, before.resident_bytes);
        given_close(&g);
    }
}

static void broken_answers_are_contained(void **state) {
    (void)state;
    given g;
    given_open(&g, kept, 1);
    for (int sin = FAKE_FEWER_OUTPUTS; sin <= FAKE_TRAP_OUTSIDE; sin++) {
        fake *f;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_error error;
        vyre_backend *backend = open_small(2, 0, &f);
        f->sin = (fake_sin)sin;
        assert_int_equal(vyre_backend_dispatch(backend, g.program, &g.arguments, NULL, &outputs, NULL, &error),
                         VYRE_CORRUPT);
        assert_non_null(strstr(error.message, "backend `fake` broke its contract"));
        f->sin = FAKE_HONEST;
        assert_int_equal(vyre_backend_dispatch(backend, g.program, &g.arguments, NULL, &outputs, NULL, &error),
                         VYRE_OK);
        vyre_outputs_free(&outputs);
        vyre_backend_release(backend);
    }
    given_close(&g);
}

/* ---- deadlines and cancellation ---- */

static void a_deadline_between_launches_costs_no_device(void **state) {
    (void)state;
    for (int form = 0; form <= FAKE_FORMS; form++) {
        given g;
        fake *f;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_error error;
        given_open(&g, kept, 1);
        fake *made = fake_new();
        made->no_grid_sync = 1, made->most_groups = 2, made->can_cancel = 1;
        made->hangs_after = 1; /* each launch ends in time separately */
        vyre_backend *backend = fake_open(f = made);
        f->hang_ms = 60;
        vyre_dispatch_config config = {.timeout_ns = 150000000};
        assert_int_equal(run_kept(form, backend, &g, &config, &outputs, &error), VYRE_TIMEOUT);
        assert_non_null(strstr(error.message, "between two of its launches"));
        assert_true(launches(f) < 9);
        assert_false(vyre_backend_device_lost(backend));
        check_nothing_is_left(f);
        f->hang_ms = 0;
        assert_int_equal(run_kept(form, backend, &g, NULL, &outputs, &error), VYRE_OK);
        vyre_outputs_free(&outputs);
        vyre_backend_release(backend);
        given_close(&g);
    }
}

static void an_abandoned_dispatch_launches_no_more(void **state) {
    (void)state;
    for (int form = 0; form <= FAKE_FORMS; form += FAKE_FORMS) {
        given g;
        fake *f;
        vyre_counters before, after;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_error error;
        _Atomic int destroyed = 0;
        given_open(&g, kept, 1);
        vyre_counters_get(&before);
        vyre_backend *backend = open_small(2, 1, &f);
        f->hang_ms = 300;
        f->destroyed = &destroyed;
        vyre_dispatch_config config = {.timeout_ns = 100000000};
        assert_int_equal(run_kept(form, backend, &g, &config, &outputs, &error), VYRE_TIMEOUT);
        assert_true(vyre_backend_device_lost(backend));
        given_close(&g); /* what it works on is its own */
        vyre_outputs_free(&outputs);
        while (atomic_load(&backend->abandoned))
            usleep(1000);
        assert_int_equal(launches(f), 1);
        vyre_backend_release(backend);
        for (int i = 0; i < 2000 && !atomic_load(&destroyed); i++)
            usleep(1000);
        assert_int_equal(atomic_load(&destroyed), 1);
        vyre_counters_get(&after);
        assert_int_equal(after.resident_bytes, before.resident_bytes);
    }
}

static void a_dispatch_in_flight_passes_the_stages_and_can_be_cancelled(void **state) {
    (void)state;
    for (int has_resident = 0; has_resident < 2; has_resident++) {
        given g;
        fake *f;
        truth t;
        vyre_pending *pending;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_trap trap;
        vyre_error error;
        given_open(&g, decided, 2);
        ask_oracle(g.program, &g.arguments, &t);
        vyre_backend *backend = open_small(2, has_resident, &f);
        assert_int_equal(vyre_backend_dispatch_async(backend, g.program, &g.arguments, NULL, &pending, &error),
                         VYRE_OK);
        vyre_status status = vyre_pending_wait(pending, UINT64_MAX, &outputs, &trap, &error);
        check(&t, status, &outputs, &trap, &error, "in flight");
        vyre_pending_free(pending);
        unsigned all = launches(f);

        f->hang_ms = 20;
        assert_int_equal(vyre_backend_dispatch_async(backend, g.program, &g.arguments, NULL, &pending, &error),
                         VYRE_OK);
        while (launches(f) == all)
            usleep(500);
        vyre_pending_cancel(pending);
        assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, &trap, &error), VYRE_CANCELLED);
        vyre_pending_free(pending);
        assert_int_equal(vyre_backend_shutdown(backend, &error), VYRE_OK); /* waits for what runs unobserved */
        assert_true(launches(f) < 2 * all);
        check_nothing_is_left(f);
        vyre_outputs_free(&outputs);
        vyre_backend_release(backend);
        forget(&t);
        given_close(&g);
    }
}

/* ---- memory ---- */

typedef struct fault_case {
    given g;
    int form, has_resident;
    uint64_t timeout_ns;
} fault_case;

/* The reference, with less than it has. */
static vyre_status dispatch_small(void *user) {
    fault_case *c = user;
    vyre_backend *backend;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_dispatch_config config = {.timeout_ns = c->timeout_ns};
    vyre_status status = vyre_acquire("reference", &backend, NULL);
    if (status == VYRE_OK) {
        atomic_store(&backend->capabilities[VYRE_CAPABILITY_GRID_SYNC], 0);
        atomic_store(&backend->capabilities[VYRE_CAPABILITY_MAX_WORKGROUPS], 4);
        if (!c->has_resident)
            backend->calls.resident_allocate = NULL;
        status = run_kept(c->form, backend, &c->g, &config, &outputs, NULL);
    }
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const struct {
        int form, has_resident;
        uint64_t timeout_ns;
    } paths[] = {{0, 0, 0}, {2, 1, 0}, {FAKE_FORMS, 1, 0}, {3, 0, 600000000000u}};
    static const char text[] =
        "program small {\n param k : u32\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup "
        "4\n"
        "grid over x\n let i = global_id.x\n let s = x[i] * k\n grid_barrier\n y[i] = s + x[len(x) - 1 - i] }";
    size_t count;
    vyre_backend *backend;
    vyre_backends(&count); /* frozen lists stay for ever: they are made before blocks are counted */
    assert_int_equal(vyre_acquire("reference", &backend, NULL), VYRE_OK);
    vyre_backend_release(backend);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        fault_case c = {
            .form = paths[i].form, .has_resident = paths[i].has_resident, .timeout_ns = paths[i].timeout_ns};
        given_open(&c.g, text, 1);
        assert_true(VY_FAULT_LOOP(dispatch_small, &c) > 100);
        given_close(&c.g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail), /* first: no thread of the library is there yet */
        cmocka_unit_test(programs_with_grid_barriers_deliver_the_same_on_every_path),
        cmocka_unit_test(grids_over_the_limit_deliver_the_same_on_every_path),
        cmocka_unit_test(examples_deliver_the_same_in_pieces),
        cmocka_unit_test(random_programs_deliver_the_same),
        cmocka_unit_test(a_program_is_split_once_and_its_launches_are_counted),
        cmocka_unit_test(times_are_summed_where_every_launch_has_them),
        cmocka_unit_test(slots_of_the_caller_keep_their_memory),
        cmocka_unit_test(a_resident_write_buffer_keeps_what_is_not_written),
        cmocka_unit_test(the_backend_keeps_few_stages_and_finds_them_again),
        cmocka_unit_test(what_lives_across_may_be_too_much_for_the_device),
        cmocka_unit_test(what_the_launches_need_is_asked_for_before_the_first),
        cmocka_unit_test(a_call_that_fails_leaves_nothing_behind),
        cmocka_unit_test(a_lost_device_is_not_asked_to_free),
        cmocka_unit_test(broken_answers_are_contained),
        cmocka_unit_test(a_deadline_between_launches_costs_no_device),
        cmocka_unit_test(an_abandoned_dispatch_launches_no_more),
        cmocka_unit_test(a_dispatch_in_flight_passes_the_stages_and_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
