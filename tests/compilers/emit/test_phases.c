/* Code between meetings where chunks are few and written out: values that are handed on in registers, arrays read at
 * places that are known, and indices that turn out to be runs. In workgroups of one to many chunks, arrays that are
 * and are not whole vectors, on memory that is guarded at both ends. */
#include "compilers/emit/run.h"

#define LENGTH 700u

typedef struct sample {
    const char *name, *array, *body;
} sample;

/* x: u32 read, y: u32 read_write; n: a number from outside; i: of the grid, l: of the workgroup. */
static const char head[] =
    "program sample {\nparam n : u32\nbuffer x : u32 read\nbuffer y : u32 read_write\n"
    "workgroup %u\ngrid over y\narray a : %s workgroup\nlet i = global_id.x\nlet l = local_id.x\n%s}\n";

static const sample samples[] = {
    {"a scan by hand", "u32 [256]",
     "a[l] = x[i]\nbarrier\nvar s = 1u32\nwhile s < 256 {\nlet b = a[l - s]\nbarrier\na[l] = a[l] + b\nbarrier\n"
     "s = 2 * s\n}\nif i < len(y) { y[i] = a[l] }\n"},
    {"a sum by hand", "u32 [256]",
     "a[l] = x[i]\nbarrier\nvar s = 1u32\nwhile s < 256 {\nif l % (2 * s) == 0 { a[l] = a[l] + a[l + s] }\nbarrier\n"
     "s = 2 * s\n}\ny[i] = a[l]\n"},
    {"neighbours beyond both ends of an array that is no whole vector", "u32 [100]",
     "a[l] = x[i] + 1\nbarrier\nlet b = a[l + 3]\nlet c = a[l - 70]\nbarrier\na[l + 30] = b * 3\nbarrier\n"
     "y[i] = a[l] + a[l - 1] * 5 + a[l + 99] + b + c\n"},
    {"values of all kinds live on", "u64 [300]",
     "let p = x[i] > 5\nlet f = f32(x[i]) * 0.5\nlet w = u64(x[i]) << 33\nlet v = u8(x[i])\na[l] = w\nbarrier\n"
     "var q = a[l + 1]\nif p { q = q + w }\nbarrier\na[l] = q\nbarrier\n"
     "y[i] = u32(a[l] >> 33) + u32(f) + u32(v) + (p ? 7 : 9)\n"},
    {"some stay away", "u32 [256]",
     "a[l] = x[i]\nbarrier\nvar t = 0u32\nif l > n { t = a[l - 3] * 3 }\nbarrier\nif l > n { a[l] = 5 }\nbarrier\n"
     "if x[i] & 1 == 1 { t = t + a[l] }\nbarrier\nif l < 200 { a[l + 7] = t }\nbarrier\ny[i] = a[l] + t\n"},
    {"some return at the end", "u32 [256]",
     "a[l] = x[i]\nbarrier\nlet t = a[l + 2]\nif x[i] > 6 { return }\ny[i] = t\nif l > 20 { return }\ny[i] = t + "
     "a[3]\n"},
    {"a butterfly by a number from outside", "u32 [512]",
     "a[l] = x[i]\nbarrier\na[l + 256] = x[i + 1]\nbarrier\nlet b = a[l ^ n]\nlet c = a[2 * l - (l & (n - "
     "1))]\nbarrier\n"
     "a[l ^ n] = b + c\nbarrier\ny[i] = a[l] + a[l ^ (n << 1)]\n"},
    {"runs that some lanes leave", "u32 [256]",
     "let k = l ^ n\na[l] = x[i]\nbarrier\nvar t = 1u32\nif x[i] > 3 { t = a[k] }\nbarrier\n"
     "if x[i] > 5 { a[k] = t + 2 }\nbarrier\ny[i] = a[l]\n"},
    {"runs of a buffer, from below its start", "u32 [8]",
     "let k = (i ^ n) - 5\nlet t = x[k] + x[k + n * 2]\nif x[i] > 2 { if k < len(y) { y[k] = t } }\n"},
    {"workgroup atomics side by side, anywhere and on one element", "u32 [256]",
     "a[l] = l\nbarrier\natomic_add(a[l], x[i])\nbarrier\natomic_xor(a[x[i] * 7], i)\nbarrier\natomic_max(a[9], x[i] + "
     "l)\n"
     "barrier\nif x[i] > 4 { atomic_min(a[l], 77) }\nbarrier\nlet o = atomic_exchange(a[l], 3)\nbarrier\ny[i] = o + "
     "a[l]\n"},
};

static const uint32_t sizes[] = {256, 64, 33, 100, 128, 1, 17, 1000, 200, 16};
static const uint32_t numbers[] = {0, 1, 2, 3, 8, 16, 32, 64, 128, 255, 700, UINT32_MAX};
enum {
    SAMPLES = sizeof samples / sizeof *samples,
    SIZES = sizeof sizes / sizeof *sizes,
    NUMBERS = sizeof numbers / sizeof *numbers,
    PROCESSORS = 10
};

static uint32_t x[LENGTH], y[LENGTH];

static void fill(void) {
    vy_random random = vy_random_start(11);
    for (size_t i = 0; i < LENGTH; i++) {
        x[i] = (uint32_t)vy_random_below(&random, 12);
        y[i] = (uint32_t)vy_random_next(&random);
    }
}

static verdict try_sample(const sample *s, unsigned turn) {
    static const uint32_t lengths[] = {LENGTH, 256, 40, 513};
    char text[4096], why[512];
    uint32_t size = sizes[turn % SIZES], length = lengths[turn % 4], n = numbers[turn / 2 % NUMBERS];
    snprintf(text, sizeof text, head, size, s->array, s->body);
    manner m = {processor_at(turn / 3 % PROCESSORS), turn % 5 != 0, turn % 7 == 0};
    if (!processor_is_here(m.processor))
        m.processor = processor_at(5);
    vyre_program *program = vy_test_parse(text);
    const vyre_scalar param = {VYRE_TYPE_U32, n};
    const vyre_span inputs[2] = {{x, 4 * (size_t)length}, {y, 4 * (size_t)length}};
    const vyre_arguments arguments = {.params = &param,
                                      .param_count = 1,
                                      .inputs = inputs,
                                      .input_count = 2,
                                      .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    verdict kind = judge_next(program, &arguments, &m, why, sizeof why);
    if (kind == DIFFERENT) {
        code_show(program);
        fail_msg("%s, workgroup %u, n %u, %u elements, %s: %s", s->name, size, n, length, m.processor->name, why);
    }
    vyre_program_release(program);
    return kind;
}

static void what_stretches_hand_to_each_other_is_what_the_oracle_says(void **state) {
    (void)state;
    unsigned rounds = 4 * (unsigned)vy_test_effort();
    fill();
    for (unsigned i = 0; i < SAMPLES; i++) {
        unsigned same = 0;
        for (unsigned round = 0; round < rounds; round++)
            same += try_sample(&samples[i], round * 37 + i * 11) == SAME;
        assert_true(same >= rounds / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_stretches_hand_to_each_other_is_what_the_oracle_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
