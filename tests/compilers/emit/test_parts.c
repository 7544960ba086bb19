/* Parts of workgroups: whoever runs them, in whatever order and cut wherever, gives the oracle's bits; and who meets
 * stays together. */
#include "compilers/emit/run.h"

#define LENGTH 2100u

typedef struct sample {
    const char *name, *array, *body;
} sample;

/* x: u32 read, y: u32 write, z: u32 read_write of 8 elements; i: the invocation's number in the grid. All loop, so
 * that they have parts. */
static const char head[] =
    "program sample {\nbuffer x : u32 read\nbuffer y : u32 write count len(x)\n"
    "buffer z : u32 read_write\nworkgroup %u, %u, %u\ngrid elements %u, %u, %u\n%s"
    "let i = global_id.x + global_size.x * (global_id.y + global_size.y * global_id.z)\nlet l = local_index\n"
    "var w = l\nwhile w > 7 { w = w / 3 }\n%s}\n";

static const sample samples[] = {
    {"straight code behind a loop", "", "if i < len(y) { y[i] = x[i] * 3 + l + group_id.x + w }\n"},
    {"loops that lanes leave one by one", "",
     "if i >= len(y) { return }\nvar s = 0u32\nfor k in 0u32 .. x[i] & 15 {\ns = s * 5 + k + l\nif s & 31 == 7 { "
     "break }\n}\n"
     "y[i] = s\n"},
    {"some return early, some chunks whole", "",
     "if i >= len(y) { return }\nif l % 5 == 3 { return }\nif group_id.x == 1 { return }\ny[i] = l\nif x[i] > 8 { "
     "return }\n"
     "y[i] = x[i] + 1000\n"},
    {"atomics whose results nobody asks for", "",
     "if i < len(y) {\natomic_add(z[x[i] & 3], i)\natomic_max(z[5], l * 7)\natomic_xor(z[6], x[i] + i)\ny[i] = 1\n}\n"},
    {"a private array", "array a : u32 [5] private\n",
     "if i < len(y) {\nfor k in 0u32 .. 5 { a[k] = x[i] * k + l }\n"
     "y[i] = a[x[i] % 5] + a[l % 5]\n}\n"},
    {"a trap in one of many invocations", "", "if i < len(y) {\ny[i] = l\nif x[i] == 11 { trap 40 + l }\n}\n"},
};

static const uint32_t sizes[][3] = {{1, 1, 1},  {3, 1, 1},  {33, 1, 1}, {64, 1, 1}, {1000, 1, 1},
                                    {32, 1, 1}, {16, 8, 1}, {7, 3, 5},  {4, 4, 4},  {1, 1, 100}};
enum { SAMPLES = sizeof samples / sizeof *samples, SIZES = sizeof sizes / sizeof *sizes, PROCESSORS = 10 };

static vyre_program *sample_program(const sample *s, const uint32_t *size) {
    char text[2048];
    uint32_t rows = size[1] * 2 - (size[1] > 1), planes = size[2] * 2 - (size[2] > 2);
    uint32_t wide = size[0] * 3 - (size[0] > 2);
    snprintf(text, sizeof text, head, size[0], size[1], size[2], wide, rows, planes, s->array, s->body);
    return vy_test_parse(text);
}

/* Ways to cut units: so many at a time, from the end or from the start, with fewer lanes or not. */
typedef struct way {
    uint64_t step;
    uint8_t backwards, is_narrow;
} way;

static void call_by(const code *code, vy_cpu_frame *frame, uint64_t groups, const way *w) {
    uint64_t units = groups * (w->is_narrow ? code->object.header.narrow_parts : code->object.header.parts);
    uint64_t calls = (units + w->step - 1) / w->step;
    frame->is_narrow = w->is_narrow;
    for (uint64_t k = 0; k < calls; k++) {
        uint64_t first = (w->backwards ? calls - 1 - k : k) * w->step;
        code->object.entry(frame, first, first + w->step < units ? first + w->step : units);
    }
}

static void run_by(const code *code, const vyre_arguments *arguments, const way *w, const outcome *want,
                   const char *name) {
    static vy_resolved_dispatch launch;
    vy_cpu_buffer buffers[3];
    const uint32_t never = 0;
    assert_int_equal(vy_resolve_dispatch(code->legal, arguments, &launch, NULL), VYRE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        buffers[i] = (vy_cpu_buffer){code_memory(launch.buffers[i].bytes), (uint32_t)launch.buffers[i].count, 0};
        if (launch.buffers[i].data)
            memcpy(buffers[i].data, launch.buffers[i].data, launch.buffers[i].bytes);
        else
            memset(buffers[i].data, 0, launch.buffers[i].bytes);
    }
    guarded spill = frame_memory(code->object.header.spill_bytes);
    vy_cpu_frame frame = {.buffers = buffers,
                          .spill = spill.data,
                          .cancel = &never,
                          .stop = &never,
                          .trap_invocation = UINT64_MAX,
                          .groups = {launch.groups[0], launch.groups[1], launch.groups[2]}};
    call_by(code, &frame, launch.group_count, w);
    if (want->status == VYRE_TRAPPED) {
        if (frame.trap_invocation != want->trap.invocation || frame.trap_code != want->trap.code)
            fail_msg("%s: %" PRIu64 " traps, must be %" PRIu64, name, frame.trap_invocation, want->trap.invocation);
    } else {
        assert_int_equal(frame.trap_invocation, UINT64_MAX);
        for (uint32_t i = 1; i < 3; i++)
            if (memcmp(buffers[i].data, want->outputs[i - 1].data, launch.buffers[i].bytes) != 0)
                fail_msg("%s: buffer %u differs, by %u units%s%s", name, (unsigned)i, (unsigned)w->step,
                         w->backwards ? " from the end" : "", w->is_narrow ? " with fewer lanes" : "");
    }
    for (uint32_t i = 0; i < 3; i++)
        free(buffers[i].data);
    guarded_free(&spill);
}

static uint32_t parts_of(uint32_t width, const uint32_t *size) {
    return (size[0] * size[1] * size[2] + width - 1) / width;
}

static void check(const sample *s, const uint32_t *size, const processor *p) {
    static const way ways[] = {{1, 1, 0}, {1, 0, 0}, {3, 1, 0}, {1000000, 0, 0}, {1, 1, 1}, {3, 0, 1}};
    uint32_t x[LENGTH], z[8] = {0};
    vyre_span inputs[2] = {{x, sizeof x}, {z, sizeof z}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = 2};
    vyre_error error = VYRE_ERROR_INIT;
    char name[256];
    for (uint32_t i = 0; i < LENGTH; i++)
        x[i] = i * 2654435761u >> 27;
    vyre_program *program = sample_program(s, size);
    outcome want;
    code code = {0};
    outcome_of_oracle(program, &arguments, &want);
    snprintf(name, sizeof name, "%s, %u x %u x %u, %s", s->name, (unsigned)size[0], (unsigned)size[1],
             (unsigned)size[2], p->name);
    if (code_make(program, p, &code, &error) != VYRE_OK)
        fail_msg("%s: %s", name, error.message);
    const vy_cpu_header *header = &code.object.header;
    assert_int_equal(header->parts, parts_of(header->width, size));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!ways[i].is_narrow || header->narrow_parts)
            run_by(&code, &arguments, &ways[i], &want, name);
    outcome_free(&want);
    code_free(&code);
    vyre_program_release(program);
}

static void parts_in_any_order_have_the_oracles_bits(void **state) {
    (void)state;
    for (unsigned p = 0; p < PROCESSORS; p++)
        for (unsigned i = 0; i < SAMPLES; i++)
            for (unsigned k = 0; k < SIZES; k++) /* each shape with some of the programs */
                if (processor_is_here(processor_at(p)) && (!VY_SANITIZED || (i + k) % 3 == 0) &&
                    (vy_test_effort() > 1 || (i + 2 * k + 3 * p) % 7 == 0))
                    check(&samples[i], sizes[k], processor_at(p));
}

static void who_meets_or_shares_an_array_stays_together(void **state) {
    (void)state;
    static const char *const bodies[] = {"barrier\nif i < len(y) { y[i] = 1 }\n",
                                         "let s = workgroup_reduce_add(l)\nif i < len(y) { y[i] = s }\n",
                                         "atomic_add(a[l & 3], 1)\nif i < len(y) { y[i] = 1 }\n"};
    const uint32_t size[3] = {256, 1, 1};
    for (int i = 0; i < 3; i++) {
        const sample s = {"together", i == 2 ? "array a : u32 [4] workgroup\n" : "", bodies[i]};
        vyre_program *program = sample_program(&s, size);
        code code = {0};
        vyre_error error = VYRE_ERROR_INIT;
        if (code_make(program, processor_at(5), &code, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        assert_int_equal(code.object.header.parts, 1);
        assert_int_equal(code.object.header.narrow_parts, 0);
        code_free(&code);
        vyre_program_release(program);
    }
}

static vy_cpu_header header_of(vyre_program *program) {
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    if (code_make(program, processor_at(9), &code, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vy_cpu_header header = code.object.header;
    code_free(&code);
    vyre_program_release(program);
    return header;
}

static void short_straight_code_has_one_part(void **state) {
    (void)state;
    vy_cpu_header header =
        header_of(vy_test_parse("program straight {\nbuffer x : u32 read_write\nworkgroup 256\ngrid over x\n"
                                "x[global_id.x] = x[global_id.x] * 3\n}\n"));
    assert_int_equal(header.parts, 1);
    assert_int_equal(header.narrow_parts, 0);
}

/* A chunk of several registers is the whole workgroup: other code has two. */
static void a_workgroup_of_one_chunk_that_loops_has_code_with_fewer_lanes(void **state) {
    (void)state;
    uint32_t lanes = vy_cpu_width(vy_cpu_features());
    for (uint32_t more = 1; more <= 8; more *= 2) {
        const uint32_t size[3] = {lanes * more, 1, 1};
        vy_cpu_header header = header_of(sample_program(&samples[1], size));
        assert_int_equal(header.parts, parts_of(header.width, size));
        assert_int_equal(header.narrow_parts, header.parts == 1 && more > 1 ? 2 : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_in_any_order_have_the_oracles_bits),
        cmocka_unit_test(who_meets_or_shares_an_array_stays_together),
        cmocka_unit_test(short_straight_code_has_one_part),
        cmocka_unit_test(a_workgroup_of_one_chunk_that_loops_has_code_with_fewer_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
