/* Atomics whose results nobody asks for, on backend `cpu`: threads combine in buffers of their own
 * (backends/cpu/execute.h) where that is worth it, and nobody can tell. */
#include "backends/conform.h"
#include "backends/cpu/matrix.h"

#include "base/thread.h"

enum { COUNT = 20000, LARGEST = 64 * 1024 };

static const char *const ops[] = {"add", "and", "or", "xor", "min", "max"};
static const char *const types[] = {"u32", "i32", "u64", "i64"};
static const char *const widths[] = {"4", "8", "16", "32", "64", "0"};
/* Anywhere, a few outside; side by side; one for all; those of some lanes. */
static const char *const indices[] = {"x[i] % (len(y) + 3)", "i % 64 + x[group_id.x] % (len(y) + 1)", "7", "x[i] & i"};
enum { INDICES = sizeof indices / sizeof *indices };

static uint32_t x[COUNT];
static uint64_t y[LARGEST];

static void fill(void) {
    vy_random random = vy_random_start(7);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = (uint32_t)vy_random_next(&random);
    conform_fill(VYRE_TYPE_U64, &random, y, LARGEST);
}

static vyre_program *combine(const char *op, const char *type, const char *index) {
    char text[1024];
    snprintf(text, sizeof text,
             "program combine {\n buffer x : u32 read\n buffer y : %s read_write\n workgroup 64\n grid over x\n"
             " let i = global_id.x\n if i < len(x) { atomic_%s(y[%s], %s(x[i]) * 3) }\n}\n",
             type, op, index, type);
    return conform_parse(text, NULL, 0, NULL);
}

static void check(conform *c, vyre_program *program, const char *type, size_t length, size_t count, unsigned turn) {
    static const conform_form forms[] = {CONFORM_PIPELINE, CONFORM_RESIDENT, CONFORM_STOPPABLE, CONFORM_MIXED};
    size_t size = vyre_type_size(vyre_type_find(type, strlen(type)));
    vyre_span inputs[2] = {{x, count * sizeof *x}, {y, length * size}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = 2};
    uint64_t before = c->judged;
    conform_check(c, type, program, &arguments, forms[turn % 4]);
    assert_int_equal(c->judged, before + 1);
}

static void every_op_on_every_type_has_the_oracles_bits(void **state) {
    static conform c;
    unsigned turn = 0;
    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        setenv("VYRE_CPU_WIDTH", widths[w], 1);
        conform_open(&c, "cpu");
        for (size_t op = 0; op < 6; op++)
            for (size_t k = 0; k < 2; k++, turn++) {
                const char *type = types[(turn + w) % 4], *index = indices[(turn / 2 + w) % INDICES];
                vyre_program *program = combine(ops[op], type, index);
                check(&c, program, type, turn % 3 ? 100 : 8, 1500, turn);
                vyre_program_release(program);
            }
        conform_close(&c);
    }
    unsetenv("VYRE_CPU_WIDTH");
}

static void combine_on(conform *c, size_t first, size_t step) {
    for (size_t turn = first; turn < 24; turn += step) {
        const char *type = types[turn % 4];
        vyre_program *program = combine(ops[turn % 6], type, indices[turn / 2 % INDICES]);
        check(c, program, type, turn % 3 ? 100 : 8, 1500, (unsigned)turn);
        vyre_program_release(program);
    }
}

static void every_op_has_the_oracles_bits_at_lower_levels(void **state) {
    (void)state;
    matrix_lower_levels(combine_on, 13);
}

/* The last size that a thread has its own of, and the first that it has not; and so few invocations that it is not
 * worth it. */
static void sizes_around_the_limit_have_the_oracles_bits(void **state) {
    static conform c;
    (void)state;
    conform_open(&c, "cpu");
    for (size_t t = 0; t < 4; t++) {
        vyre_program *program = combine("add", types[t], indices[0]);
        size_t most = LARGEST / vyre_type_size(vyre_type_find(types[t], 3));
        check(&c, program, types[t], most, COUNT, 0);
        check(&c, program, types[t], most + 1, COUNT, 1);
        check(&c, program, types[t], 500, 200, 2);
        check(&c, program, types[t], 0, 200, 3);
        vyre_program_release(program);
    }
    conform_close(&c);
}

/* Nothing here may be done later, or it shows. */
static void buffers_that_are_used_otherwise_stay_shared(void **state) {
    static const char *const bodies[] = {
        "if i < len(x) { atomic_add(y[0], x[i])\n atomic_max(y[1], x[i]) }",
        "let old = atomic_add(y[i], x[i])\n if i < len(z) { z[i] = old }",
        "y[i] = x[i]\n atomic_add(y[i], 5)",
        "if i < len(z) { z[i] = y[i + 50] }\n if i < 50 { atomic_or(y[i], x[i]) }",
        "if i < len(x) { atomic_add(y[i & 3], 1)\n atomic_min(z[i & 3], x[i])\n atomic_add(y[4], x[i]) }",
    };
    static conform c;
    static uint32_t z[100];
    (void)state;
    conform_open(&c, "cpu");
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "program several {\n buffer x : u32 read\n buffer y : u32 read_write\n buffer z : u32 read_write\n"
                 " workgroup 32\n grid over x\n let i = global_id.x\n %s\n}\n",
                 bodies[k]);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        vyre_span inputs[3] = {{x, 400 * 4}, {y, 100 * 4}, {z, sizeof z}};
        vyre_arguments arguments = {.inputs = inputs, .input_count = 3};
        conform_check(&c, bodies[k], program, &arguments, CONFORM_PIPELINE);
        conform_check(&c, bodies[k], program, &arguments, CONFORM_RESIDENT);
        vyre_program_release(program);
    }
    conform_close(&c);
}

/* ---- several at once ---- */

enum { THREADS = 4, ROUNDS = 25, BINS = 300 };

typedef struct crowd {
    conform c;
    vyre_pipeline *pipeline;
    vyre_resident in, out;
    _Atomic unsigned failed;
} crowd;

static void count_some(void *user, unsigned worker) {
    crowd *all = user;
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = all->in},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = all->out, .offset = 8, .size = BINS * 4}};
    const vyre_arguments nothing = {.inputs = NULL};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    (void)worker;
    for (int i = 0; i < ROUNDS; i++)
        if (vyre_pipeline_dispatch_persistent(all->pipeline, bindings, 2, &nothing, NULL, &outputs, NULL, NULL, NULL) !=
            VYRE_OK)
            atomic_fetch_add(&all->failed, 1);
    vyre_outputs_free(&outputs);
}

static void dispatches_at_once_on_one_buffer_lose_nothing(void **state) {
    static crowd all;
    static uint32_t expected[BINS], got[BINS + 4];
    (void)state;
    conform_open(&all.c, "cpu");
    vyre_program *program = combine("add", "u32", "x[i] % (len(y) + 3)");
    assert_int_equal(vyre_compile(all.c.backend, program, NULL, &all.pipeline, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(all.c.backend, sizeof x, x, &all.in, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(all.c.backend, sizeof got, NULL, &all.out, NULL), VYRE_OK);
    for (size_t i = 0; i < COUNT; i++)
        if (x[i] % (BINS + 3) < BINS)
            expected[x[i] % (BINS + 3)] += x[i] * 3 * (THREADS * ROUNDS);
    vy_parallel(THREADS, count_some, &all);
    assert_int_equal(all.failed, 0);
    assert_int_equal(vyre_resident_download_at(all.c.backend, all.out, 0, got, sizeof got, NULL), VYRE_OK);
    assert_memory_equal(got + 2, expected, sizeof expected);
    assert_true(!got[0] && !got[1] && !got[BINS + 2] && !got[BINS + 3]);
    vyre_pipeline_release(all.pipeline);
    vyre_program_release(program);
    conform_close(&all.c);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    setenv("VYRE_CPU_THREADS", "3", 1);
    fill();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_on_every_type_has_the_oracles_bits),
        cmocka_unit_test(every_op_has_the_oracles_bits_at_lower_levels),
        cmocka_unit_test(sizes_around_the_limit_have_the_oracles_bits),
        cmocka_unit_test(buffers_that_are_used_otherwise_stay_shared),
        cmocka_unit_test(dispatches_at_once_on_one_buffer_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
