/* Small host bytes that are not copied (backends/cuda/transfer.h). Without a device: which buffers of a dispatch are
 * direct. With one: sizes around the bound, in every form, against the oracle; batches;
 * traps and deadlines; that nothing is copied; and what it saves, as a ladder of sizes. */
#include "backends/conform.h"

#include "backends/cuda/executable.h"
#include "backends/cuda/submission.h"
#include "backends/cuda/transfer.h"
#include "base/thread.h"
#include "driver/pipeline.h"

/* ---- which dispatches ---- */

enum { R, RW, W, C, D }; /* read; read and written; written whole; written, and zero before; R on the device already */

static void a_copy_is_left_out_if_all_that_it_carries_can_be_direct(void **state) {
    (void)state;
    static const struct {
        uint8_t kinds[3], costs[3];
        uint32_t bytes, groups;
        uint8_t direct[3];
    } rows[] = {
        {{R, R, W}, {1, 1, 1}, 4096, 16, {1, 1, 1}},
        {{R, R, C}, {1, 1, 1}, 4096, 16, {1, 1, 1}},
        {{R, RW, W}, {1, 1, 1}, 4096, 16, {1, 1, 1}},
        {{R, R, W}, {1, 0, 1}, 4096, 16, {0, 0, 1}}, /* what comes back, not what goes there */
        {{R, RW, W}, {0, 1, 1}, 4096, 16, {0, 1, 1}},
        {{R, RW, W}, {1, 0, 1}, 4096, 16, {0, 0, 0}}, /* both copies are made */
        {{R, R, W}, {1, 1, 0}, 4096, 16, {1, 1, 0}},  /* only the one back */
        {{R, R, C}, {1, 1, 0}, 4096, 16, {0, 0, 0}},  /* zeros go there */
        {{R, W, C}, {1, 0, 1}, 4096, 16, {0, 0, 0}},
        {{R, D, W}, {1, 0, 1}, 4096, 16, {1, 0, 1}}, /* what is on the device has no part in it */
        {{D, D, C}, {0, 0, 1}, 4096, 16, {0, 0, 1}},
        /* Bytes, requests. */
        {{R, R, W}, {1, 1, 1}, 16384, 64, {1, 1, 1}},
        {{R, R, W}, {1, 1, 1}, 22000, 64, {0, 0, 0}},
        {{R, D, W}, {1, 1, 1}, 32768, 64, {1, 0, 1}},
        {{R, D, W}, {1, 1, 1}, 32769, 64, {0, 0, 0}},
        {{R, R, W}, {1, 1, 1}, 64, 512, {1, 1, 1}},
        {{R, R, W}, {1, 1, 1}, 64, 513, {0, 0, 0}},
        {{R, R, W}, {1, 1, 1}, 64, UINT32_MAX, {0, 0, 0}},
        {{R, R, W}, {1, 32, 1}, 64, 16, {1, 1, 1}},
        {{R, R, W}, {1, 32, 1}, 64, 17, {0, 0, 1}},
        {{R, R, W}, {1, 32, 1}, 0, 17, {1, 1, 1}}, /* nothing is accessed */
    };
    static vy_cuda cuda;
    static vy_cuda_executable code;
    static vy_gpu_submission submission;
    static const uint8_t accesses[] = {VYRE_ACCESS_READ, VYRE_ACCESS_READ_WRITE, VYRE_ACCESS_WRITE, VYRE_ACCESS_WRITE,
                                       VYRE_ACCESS_READ};
    code.cuda = &cuda;
    code.base.buffer_count = 3;
    code.base.facts = calloc(1, sizeof *code.base.facts + 3 * sizeof *code.base.facts->buffers);
    code.kernel.header.block[0] = 64, code.kernel.header.block[1] = code.kernel.header.block[2] = 1;
    submission.gpu = &cuda.base;
    submission.code = &code.base;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int is_off = 0; is_off < 2; is_off++) {
            uint8_t is_cleared[3], direct[3];
            const vyre_launch launch = {.groups = {rows[k].groups, 1, 1}, .buffer_count = 3};
            cuda.device_info.zero_copy_bytes = is_off ? 0 : 64 << 10; /* what the rows are written for */
            for (int i = 0; i < 3; i++) {
                code.base.facts->buffers[i].access = accesses[rows[k].kinds[i]];
                code.base.facts->buffers[i].host_requests = rows[k].costs[i];
                is_cleared[i] = rows[k].kinds[i] == C;
                submission.sizes[i] = rows[k].bytes;
                submission.offsets[i] = rows[k].kinds[i] == D ? VY_GPU_ELSEWHERE : 0;
            }
            vy_cuda_zero_copy_select(&submission, &launch, is_cleared, direct);
            for (int i = 0; i < 3; i++)
                if (direct[i] != (is_off ? 0 : rows[k].direct[i]))
                    fail_msg("row %zu, buffer %d%s: %d", k, i, is_off ? " (off)" : "", direct[i]);
        }
    free(code.base.facts);
}

/* ---- with a device ---- */

/* Counts what is copied. */
static struct {
    vy_cuda_dynamic_symbols real;
    unsigned there, back, fills;
} copies;

static int count_there(vy_cu_address to, const void *from, size_t size, vy_cu_stream stream) {
    copies.there++;
    return copies.real.copy_to_device(to, from, size, stream);
}

static int count_back(void *to, vy_cu_address from, size_t size, vy_cu_stream stream) {
    copies.back++;
    return copies.real.copy_to_host(to, from, size, stream);
}

static void count(vy_cuda_dynamic_symbols *api) {
    copies.real = *api;
    api->copy_to_device = count_there;
    api->copy_to_host = count_back;
}

/* X(name, copies there, copies back if it is small, text): one workgroup size, buffers of as many elements as are
 * asked for. */
#define PROGRAMS(X)                                                                                                    \
    X(add, 0, 0,                                                                                                       \
      " buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n let i = global_id.x\n"               \
      " if i < len(y) { y[i] = x[i] + 7 }\n")                                                                          \
    X(some, 0, 0,                                                                                                      \
      " buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n let i = global_id.x\n"               \
      " if x[i] % 3 == 1 { y[i] = x[i] }\n")                                                                           \
    X(twice, 0, 0,                                                                                                     \
      " buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"                                \
      " if i < len(x) { x[i] = 2 * x[i] }\n")                                                                          \
    X(entries, 0, 0,                                                                                                   \
      " buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"                                \
      " if x[i] % 5 == 2 { x[i] = 0 - x[i] }\n")                                                                       \
    X(bytes, 0, 0,                                                                                                     \
      " buffer x : u8 read\n buffer y : u8 write\n buffer z : i8 read_write\n workgroup 128\n grid over y\n"           \
      " let i = global_id.x\n if i < len(y) { y[i] = x[i] ^ 90\n z[i] = z[i] + 1 }\n")                                 \
    X(halves, 0, 0,                                                                                                    \
      " buffer x : f16 read\n buffer y : u16 write\n workgroup 64\n grid over y\n let i = global_id.x\n"               \
      " if i < len(y) && i % 7 != 3 { y[i] = bitcast<u16>(x[i] + x[i]) }\n")                                           \
    X(wide, 0, 0,                                                                                                      \
      " buffer x : u64 read\n buffer y : f64 write\n buffer z : u64 read_write\n workgroup 32\n grid over y\n"         \
      " let i = global_id.x\n if i < len(y) { y[i] = bitcast<f64>(x[i])\n z[i] = z[i] * x[i] }\n")                     \
    X(reverse, 0, 0,                                                                                                   \
      " buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n let i = global_id.x\n"               \
      " if i < len(y) { y[i] = x[len(x) - 1 - i] }\n")                                                                 \
    X(sums, 0, 0,                                                                                                      \
      " buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over x\n let i = global_id.x\n"               \
      " let s = workgroup_reduce_add(x[i])\n if local_index == 0 { y[group_id.x] = s }\n")                             \
    X(gather, 1, 0,                                                                                                    \
      " buffer x : u32 read\n buffer t : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n"               \
      " let i = global_id.x\n if i < len(y) { y[i] = t[x[i] % max(len(t), 1)] }\n")                                    \
    X(mixed, 1, 0,                                                                                                     \
      " buffer x : u16 read\n buffer y : u32 write\n buffer z : u32 read_write\n buffer t : u8 read\n"                 \
      " workgroup 64\n grid over y\n let i = global_id.x\n let step = z[i]\n var s = 0u32\n"                           \
      " for k in 0u32 .. 5 { s = s + u32(t[i + k * step]) }\n"                                                         \
      " if i < len(y) { if i % 2 == 0 { y[i] = s }\n z[i] = s * u32(x[i]) }\n")                                        \
    X(count, 1, 1,                                                                                                     \
      " buffer x : u32 read\n buffer y : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"          \
      " if i < len(x) { atomic_add(y[x[i] % max(len(y), 1)], 1) }\n")                                                  \
    X(refuses, 0, 1,                                                                                                   \
      " buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"                                \
      " if x[i] == 66 && i > 300 { trap 99 }\n if i < len(x) { x[i] = x[i] + 1 }\n")

typedef struct sample {
    const char *name;
    unsigned there, back; /* of a small dispatch */
    const char *text;
} sample;
static const sample samples[] = {
#define X(name, there, back, text) {#name, there, back, "program " #name " {\n" text "}\n"},
    PROGRAMS(X)
#undef X
};
enum { SAMPLES = sizeof samples / sizeof *samples, BUFFERS = 4 };

/* Arguments of a sample with so many elements in each buffer. */
typedef struct filled {
    vyre_span inputs[BUFFERS];
    uint64_t counts[BUFFERS];
    vyre_arguments arguments;
} filled;

static void fill(filled *f, const vyre_program *program, uint64_t elements, uint64_t seed) {
    vyre_buffer_info info;
    size_t inputs = 0, counts = 0;
    vy_random random = {seed};
    memset(f, 0, sizeof *f);
    for (size_t i = 0; vyre_program_buffer(program, i, &info); i++) {
        if (info.access == VYRE_ACCESS_WRITE) {
            f->counts[counts++] = elements;
            continue;
        }
        size_t size = elements * vyre_type_size(info.type);
        void *data = malloc(size + 1);
        assert_non_null(data);
        conform_fill(info.type, &random, data, elements);
        f->inputs[inputs++] = (vyre_span){data, size};
    }
    f->arguments =
        (vyre_arguments){.inputs = f->inputs, .input_count = inputs, .counts = f->counts, .count_count = counts};
}

static void spill(filled *f) {
    for (size_t i = 0; i < f->arguments.input_count; i++)
        free((void *)(uintptr_t)f->inputs[i].data);
}

static int may_trap(const sample *s) {
    return strcmp(s->name, "refuses") == 0;
}

/* Values that nothing traps at. */
static void soothe(filled *f, const sample *s) {
    for (size_t n = 0; may_trap(s) && n < f->inputs[0].size / 4; n++)
        ((uint32_t *)(uintptr_t)f->inputs[0].data)[n] &= ~2u;
}

/* Bytes of one element of all buffers. */
static uint64_t each_of(const vyre_program *program) {
    vyre_buffer_info info;
    uint64_t size = 0;
    for (size_t i = 0; vyre_program_buffer(program, i, &info); i++)
        size += vyre_type_size(info.type);
    return size ? size : 1;
}

static void sizes_around_the_bound_have_the_oracles_bits(void **state) {
    (void)state;
    static conform c;
    static const conform_form forms[] = {CONFORM_PIPELINE, CONFORM_INTO,   CONFORM_ASYNC,
                                         CONFORM_MIXED,    CONFORM_DIRECT, CONFORM_STOPPABLE};
    conform_open(&c, "cuda");
    for (size_t k = 0; k < SAMPLES; k++) {
        vyre_program *program = conform_parse(samples[k].text, NULL, 0, NULL);
        uint64_t most = VY_CUDA_ZERO_COPY_BYTES / each_of(program);
        const uint64_t sizes[] = {0, 1, 31, 257, 1000, most - 1, most, most + 1, 2 * most};
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
                filled f;
                if (form > 1 && (s + k + form) % 3) /* all of them, but not all with all sizes */
                    continue;
                fill(&f, program, sizes[s], k * 100 + s);
                conform_check(&c, samples[k].name, program, &f.arguments, forms[form]);
                spill(&f);
            }
        vyre_program_release(program);
    }
    assert_true(c.judged > 0);
    conform_close(&c);
}

/* The device behind a pipeline. */
static vy_cuda *device_of(vyre_pipeline *pipeline) {
    vy_executable *code;
    vyre_error error;
    assert_int_equal(vy_pipeline_executable(pipeline, (vy_stop_condition){0}, 0, &code, &error), VYRE_OK);
    return ((vy_cuda_executable *)((vy_gpu_pipeline *)code->entries->self)->code)->cuda;
}

static void open_counted(conform *c) {
    char reason[1024];
    vy_cuda_dynamic_symbols_wrap(count);
    if (!conform_try_open(c, "cuda", reason, sizeof reason)) {
        vy_cuda_dynamic_symbols_wrap(NULL);
        VY_SKIP("%s", reason);
    }
}

static void close_counted(conform *c) {
    conform_close(c);
    vy_cuda_dynamic_symbols_wrap(NULL);
}

static void small_dispatches_copy_nothing_that_need_not_be_copied(void **state) {
    (void)state;
    static conform c;
    open_counted(&c);
    for (size_t k = 0; k < SAMPLES; k++) {
        vyre_program *program = conform_parse(samples[k].text, NULL, 0, NULL);
        vyre_error error = VYRE_ERROR_INIT;
        vyre_pipeline *pipeline;
        filled f;
        fill(&f, program, 300, k); /* no trap: not that many invocations */
        assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, &error), VYRE_OK);
        vy_cuda *cuda = device_of(pipeline);
        uint32_t bound = cuda->device_info.zero_copy_bytes;
        assert_true(conform_expect(&c, program, &f.arguments));
        for (int round = 0; round < 6; round++) { /* direct, not, direct … out of the same memory */
            int is_direct = round % 2 == 0 && bound;
            cuda->device_info.zero_copy_bytes = is_direct ? bound : 0;
            conform_spoil(&c, program);
            copies.there = copies.back = 0;
            c.status = vyre_pipeline_dispatch_into(pipeline, &f.arguments, NULL, &c.given, NULL, &error);
            if (!conform_same(&c, program, &error))
                fail_msg("%s, round %d: %s", samples[k].name, round, c.message);
            unsigned there = is_direct ? samples[k].there : 1,
                     back = is_direct ? samples[k].back : 1 + (unsigned)may_trap(&samples[k]);
            if (round > 1 && (copies.there != there || copies.back != back)) /* before, blocks are made ready */
                fail_msg("%s, round %d: %u copies there and %u back", samples[k].name, round, copies.there,
                         copies.back);
        }
        cuda->device_info.zero_copy_bytes = bound;
        vyre_pipeline_release(pipeline);
        vyre_program_release(program);
        spill(&f);
    }
    close_counted(&c);
}

static void batches_of_small_items_have_the_oracles_bits(void **state) {
    (void)state;
    enum { ITEMS = 9 };
    static conform c;
    conform_open(&c, "cuda");
    for (size_t k = 0; k < SAMPLES; k++) {
        vyre_program *program = conform_parse(samples[k].text, NULL, 0, NULL);
        vyre_error error = VYRE_ERROR_INIT;
        vyre_pipeline *pipeline;
        vyre_outputs outputs[ITEMS];
        vyre_arguments arguments[ITEMS];
        filled f[ITEMS];
        size_t failed;
        assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, &error), VYRE_OK);
        for (size_t i = 0; i < ITEMS; i++) { /* some are over the bound */
            fill(&f[i], program, i == 4 ? 150000 : 37 * i, i);
            soothe(&f[i], &samples[k]);
            arguments[i] = f[i].arguments;
            outputs[i] = (vyre_outputs)VYRE_OUTPUTS_INIT;
        }
        if (vyre_pipeline_dispatch_batch(pipeline, arguments, ITEMS, NULL, outputs, &failed, NULL, &error) != VYRE_OK)
            fail_msg("%s: %s", samples[k].name, error.message);
        for (size_t i = 0; i < ITEMS; i++) {
            assert_true(conform_expect(&c, program, &arguments[i]));
            vyre_outputs_free(&c.given);
            c.given = outputs[i];
            c.status = VYRE_OK;
            if (!conform_same(&c, program, &error))
                fail_msg("%s, item %zu: %s", samples[k].name, i, c.message);
            spill(&f[i]);
        }
        vyre_pipeline_release(pipeline);
        vyre_program_release(program);
    }
    conform_close(&c);
}

/* What ends early has written to pinned memory, and none of it arrives: not with it, and not with the next one. */
static void a_dispatch_that_ends_early_delivers_nothing(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    static const char text[] = "program endless {\n param n : u32\n buffer x : u32 read\n buffer y : u32 write\n"
                               " workgroup 64\n grid over y\n let i = global_id.x\n if i % 2 == 0 { y[i] = x[i] }\n"
                               " var v = i + 1\n while v != 0 && n != 0 { v = v * 3 }\n if v == 12345 { y[i] = v }\n"
                               " if i == 900 && n == 0 { trap 5 }\n}\n";
    static conform c;
    static uint32_t x[COUNT];
    vyre_program *program;
    vyre_pipeline *pipeline;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_span input = {x, sizeof x};
    uint64_t elements = COUNT;
    vyre_scalar n;
    vyre_trap trap;
    vyre_arguments arguments = {
        .params = &n, .param_count = 1, .inputs = &input, .input_count = 1, .counts = &elements, .count_count = 1};
    conform_open(&c, "cuda");
    program = conform_parse(text, NULL, 0, NULL);
    for (uint32_t i = 0; i < COUNT; i++)
        x[i] = i + 1;
    assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, &error), VYRE_OK);
    vyre_dispatch_config soon = {.timeout_ns = 20000000};
    for (uint32_t round = 0; round < 4; round++) {
        n = vyre_scalar_u32(round % 2);
        vyre_status status =
            vyre_pipeline_dispatch(pipeline, &arguments, round % 2 ? &soon : NULL, &c.given, &trap, &error);
        assert_int_equal(status, round % 2 ? VYRE_TIMEOUT : VYRE_TRAPPED);
        for (size_t i = 0; i < c.given.count; i++)
            assert_int_equal(c.given.items[i].size, 0);
        if (round % 2 == 0)
            assert_int_equal(trap.invocation, 900);
        vyre_program *next = conform_parse(samples[1].text, NULL, 0, NULL); /* partly written */
        filled f;
        fill(&f, next, COUNT, round);
        conform_check(&c, "what comes next", next, &f.arguments, CONFORM_PIPELINE);
        spill(&f);
        vyre_program_release(next);
        vyre_outputs_free(&c.given);
    }
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    conform_close(&c);
}

/* Of many that report at the same time, the smallest counts, wherever the control block is. */
static void the_first_of_many_traps_is_told(void **state) {
    (void)state;
    static const char text[] = "program falls {\n param from : u32\n buffer x : u32 read_write\n workgroup 64\n"
                               " grid over x\n let i = global_id.x\n if i >= from { trap i * 3 }\n"
                               " if i < len(x) { x[i] = x[i] + 1 }\n}\n";
    static const uint64_t sizes[] = {1, 1000, 16384, 32768, 32769, 100000};
    static conform c;
    conform_open(&c, "cuda");
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint32_t k = 0; k < 4; k++) {
            static const conform_form forms[] = {CONFORM_PIPELINE, CONFORM_RESIDENT, CONFORM_ASYNC, CONFORM_STOPPABLE};
            const uint32_t from[] = {0, (uint32_t)sizes[s] / 2, (uint32_t)sizes[s] - 1, UINT32_MAX};
            for (int form = 0; form < 4; form++) {
                filled f;
                vyre_scalar param = vyre_scalar_u32(from[k]);
                fill(&f, program, sizes[s], s);
                f.arguments.params = &param, f.arguments.param_count = 1;
                conform_check(&c, "many traps", program, &f.arguments, forms[form]);
                spill(&f);
            }
        }
    assert_true(c.trapped > 0);
    vyre_program_release(program);
    conform_close(&c);
}

/* ---- what it saves ---- */

static double time_of(vyre_pipeline *pipeline, const vyre_arguments *arguments, vyre_outputs *outputs) {
    double best = 1e12;
    for (int round = 0; round < 10; round++) {
        uint64_t start = vy_clock_now();
        for (int i = 0; i < 100; i++)
            assert_int_equal(vyre_pipeline_dispatch_into(pipeline, arguments, NULL, outputs, NULL, NULL), VYRE_OK);
        double took = (double)(vy_clock_now() - start) / 100;
        best = took < best ? took : best;
    }
    return best;
}

/* Figures for people, from which the bound is set. */
static void a_ladder_of_sizes_says_what_it_saves(void **state) {
    (void)state;
    static const char *const names[] = {"add", "twice", "bytes", "reverse", "gather", "refuses"};
    static conform c;
    conform_open(&c, "cuda");
    for (size_t k = 0; k < SAMPLES; k++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            if (strcmp(names[n], samples[k].name) != 0)
                continue;
            vyre_program *program = conform_parse(samples[k].text, NULL, 0, NULL);
            vyre_error error = VYRE_ERROR_INIT;
            vyre_pipeline *pipeline;
            assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, &error), VYRE_OK);
            vy_cuda *cuda = device_of(pipeline);
            uint32_t bound = cuda->device_info.zero_copy_bytes;
            for (uint64_t bytes = 256; bytes <= VY_CUDA_SMALL && bound; bytes *= 2) {
                filled f;
                fill(&f, program, bytes / each_of(program), bytes);
                soothe(&f, &samples[k]);
                cuda->device_info.zero_copy_bytes = VY_CUDA_SMALL;
                double direct = time_of(pipeline, &f.arguments, &c.given);
                cuda->device_info.zero_copy_bytes = 0;
                double copied = time_of(pipeline, &f.arguments, &c.given);
                printf("%s, %llu bytes in all: direct %.0f ns, copied %.0f ns (%.3f times)\n", names[n],
                       (unsigned long long)bytes, direct, copied, direct / copied);
                spill(&f);
            }
            cuda->device_info.zero_copy_bytes = bound;
            vyre_pipeline_release(pipeline);
            vyre_program_release(program);
        }
    conform_close(&c);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_left_out_if_all_that_it_carries_can_be_direct),
        cmocka_unit_test(sizes_around_the_bound_have_the_oracles_bits),
        cmocka_unit_test(small_dispatches_copy_nothing_that_need_not_be_copied),
        cmocka_unit_test(batches_of_small_items_have_the_oracles_bits),
        cmocka_unit_test(a_dispatch_that_ends_early_delivers_nothing),
        cmocka_unit_test(the_first_of_many_traps_is_told),
        cmocka_unit_test(a_ladder_of_sizes_says_what_it_saves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
