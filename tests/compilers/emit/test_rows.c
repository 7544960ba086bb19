/* Chunks of several rows, indices that follow each other or turn out to, conditions that all lanes meet: in workgroups
 * whose rows are and are not whole chunks, with numbers around the lanes of a chunk, on memory that is guarded at both
 * ends. */
#include "compilers/emit/run.h"

#define LENGTH 1400u

typedef struct sample {
    const char *name, *body;
} sample;

/* x: u32 read, b: u8 read, e: u8 read without an element, y: u32 read_write; n: a number from outside; i: the number
 * of an invocation in the grid. */
static const char head[] = "program sample {\nparam n : u32\nbuffer x : u32 read\nbuffer b : u8 read\nbuffer e : u8 "
                           "read\nbuffer y : u32 read_write\nworkgroup %s\ngrid %s\n%s"
                           "let i = (global_id.z * global_size.y + global_id.y) * global_size.x + global_id.x\n%s}\n";

static const sample samples[] = {
    {"a remainder starts anew", "if i < len(y) { y[i] = y[i] + u32(b[i % n]) + x[i % (n + 5)] }\n"},
    {"a remainder by the length", "if i < len(y) { y[i] = u32(b[i % len(b)]) ^ u32(e[i % len(e)]) + 3 }\n"},
    {"a remainder under a mask", "if x[i] & 3 != 1 { y[i] = u32(b[i % n]) + x[(i + 7) % n] }\n"},
    {"a remainder of what wraps",
     "let k = i - 20\nlet m = i + n\ny[i] = u32(b[k % n]) + x[m % 1000] + x[(m % n) + 1]\n"},
    {"quotient and remainder are a place in a plane",
     "let c = i % n\nlet r = i / n\nlet p = r * n + c\nif p < len(x) { y[i] = x[p] * 3 + x[r] + u32(b[c]) }\n"},
    {"a quotient under a mask", "if x[i] > 4 { let r = i / n\nif r < len(b) { y[i] = u32(b[r]) + r } }\n"},
    {"ids of the row",
     "y[i] = x[local_id.y] + x[local_id.x] * 3 + x[local_id.z + n] + x[local_id.y * 5 + local_id.x]\n"},
    {"one element of a row, for some rows", "if local_id.y < 2 && global_id.y + 1 < len(x) { let t = x[global_id.y + "
                                            "1]\ny[i] = t * 7 + local_id.x + x[t] }\n"},
    {"a division of the row",
     "let d = x[local_id.y]\nvar q = 1u32\nif d > 0 { q = (local_id.y + 90) / d + (local_id.x + 70) % d }\ny[i] = q\n"},
    {"conditions by the last lane",
     "var s = 0u32\nif i < n { s = x[i] }\nif i <= n { s = s + x[i + 1] }\nif n > i { s = s * 3 }\nif n >= i { s = s + "
     "1 }\nif i + 1 > n { s = s + 5 }\nif n <= i { s = s * 7 }\nif i32(i) - 30 < i32(n) { s = s + 9 }\nif "
     "i32(n) - 20 < i32(i) - 100 { s = s ^ 77 }\ny[i] = s\n"},
    {"conditions of what wraps", "let k = i - 10\nvar s = 1u32\nif k < n { s = 2 }\nif k > 5 { s = s + x[k] }\nif k <= "
                                 "4294967295 - n { s = s + 8 }\ny[i] = s\n"},
    {"conditions of conditions", "let p = i < n && global_id.y < 3\nlet q = p && x[i] > 2\nvar s = 4u32\nif p { s = s "
                                 "+ x[i]\nif q { s = s * 5 } else "
                                 "{ s = s + i } }\ny[i] = q ? s : s + 1\n"},
    {"a load or zero",
     "y[i] = (i < n ? x[i + 1] : 0) + (x[i] > 7 ? u32(b[i]) : 0) + (local_id.y < 2 ? x[local_id.y] : 0) + "
     "(n > 50 ? x[i] : 0) + (i > n ? x[i * 3] : 0)\n"},
    {"loops along rows",
     "var s = 0u32\nfor k in local_id.x..n step 16 { if k >= 999 { break }\ns = s + x[k] * 3 + x[k + "
     "local_id.y] }\nfor k in local_id.y..9 { s = s + x[k] }\ny[i] = s\n"},
    {"narrow ids",
     "let a = u8(local_id.x)\nlet c = i16(i)\nvar s = 0u32\nif a < 200 { s = x[u32(a)] }\nif c < i16(n) { s = "
     "s + u32(c) }\ny[i] = s\n"},
    {"high products",
     "let v = y[i]\ny[i] = mul_high(v, v + n) + mul_high(v, 954437177) + v / 18 + v % 7 + mul_high(n, v)\n"},
    {"what is NaN",
     "let f = bitcast<f32>(y[i])\nlet g = f64(f) * f64(bitcast<f32>(y[i] << 1)) - f64(f)\nlet h = f * f - "
     "sqrt(f)\ny[i] = bitcast<u32>(h) ^ u32(bitcast<u64>(g) >> 20) ^ (y[i] & 2147483647 > 2139095040 ? 1 : 0)\n"},
    {"words of bytes",
     "let p = i * 3 + (x[i] & 1)\ny[i] = u32(b[p]) | u32(b[p + 1]) << 8 | u32(b[p + 2]) << 16 | u32(b[p + 3]) << 24\n"},
    {"words of bytes under a mask, the highest first",
     "var s = 0u32\nvar p = i * 5 - n\nif x[i] > 3 { s = u32(b[p]) << 24 | u32(b[p + 1]) << 16 | u32(b[p + 2]) << 8 | "
     "u32(b[p + 3])\np = p + x[i]\nlet q = p - 2\ns = s + (u32(b[q + 3]) << 24 | (u32(b[q + 1]) << 8 | u32(b[q])) | "
     "u32(b[q + 2]) << 16) }\ny[i] = s\n"},
    {"what is nearly a word",
     "let p = x[i] * 7\nvar q = p + 1\nlet r = q + 1\nq = q + x[i]\ny[i] = (u32(b[p]) | u32(b[q]) << 8 | u32(b[r]) << "
     "16 | "
     "u32(b[p + 3]) << 24) + (u32(b[p]) | u32(b[p + 1]) << 8 | u32(b[p + 2]) << 16 | u32(b[p + 4]) << 24) + (u32(b[p]) "
     "<< 8 | u32(b[p + 1]) | u32(b[p + 2]) << 16 | u32(b[p + 3]) << 24) + (u32(b[p]) | u32(e[p + 1]) << 8 | u32(b[p + "
     "2]) << 16 | u32(b[p + 3]) << 24)\n"},
    {"words where all have the same index, or the next", "y[i] = (u32(b[n]) | u32(b[n + 1]) << 8 | u32(b[n + 2]) << 16 "
                                                         "| u32(b[n + 3]) << 24) + (u32(b[i]) | u32(b[i + 1]) << 8 | "
                                                         "u32(b[i + 2]) << 16 | u32(b[i + 3]) << 24)\n"},
    {"what is computed again", "@array s : u32 [1024] workgroup\n@let r = local_id.y * 16 + local_id.x\nlet t = r ^ "
                               "n\nlet u = t + r\nlet p = u > 40\ns[r & 1023] = x[i]\n"
                               "barrier\nvar v = s[t & 1023]\nbarrier\ns[u & 1023] = v\nbarrier\nif p { v = v + u }\n"
                               "barrier\ny[i] = v + t + s[r & 1023]\n"},
    {"a tile with a border, trip by trip",
     "@array s : u32 [1500] workgroup\n@for c in local_index..1500 step 1024 { let px = group_id.x * 16 + c % 18 - 1\n"
     "let py = group_id.y * 7 + c / 18 - 1\nvar h = 5u32\nif px < n && py < 40 { h = x[py * n + px] }\ns[c] = h }\n"
     "barrier\ny[i] = s[local_index] + s[local_index + 19] * 3 + s[1030 + (local_index & 63)]\n"},
    {"a plane in pieces",
     "@array s : u32 [1024] workgroup\n@s[local_index] = n\nbarrier\nlet r = local_index / 5\nlet c = local_index % 5\n"
     "var v = x[(group_id.x + r) * n + c - 2]\nif c * n + r < 50 { v = v + x[r * 7 + c] * 3 }\nif x[i] > 3 { v = v + "
     "x[r * n + c - 2] }\ny[i] = v + s[local_index]\n"},
    {"conditions of known lanes",
     "@array s : u32 [1024] workgroup\n@s[local_index] = x[i]\nbarrier\nlet k = local_index % 6 + group_id.x * 16 - 2\n"
     "var v = s[local_index]\nif k > n { v = v + 1 }\nif k >= n { v = v + 2 }\nif n > k + 3 { v = v * 3 }\nif n <= k "
     "{ v = v + 4 }\nif k * n + 7 < len(x) { v = v + x[k * n + 7] }\nif k < 9 && local_id.y < 3 { v = v ^ 8 }\ny[i] = "
     "v\n"},
    {"trips along rows",
     "@array s : u32 [1024] workgroup\n@var v = 0u32\nfor c in local_id.x..40 step 16 { v = v * 5 + x[c * n + "
     "local_id.y]\nif c + local_id.y < n { v = v + x[c * 3] } }\ns[local_index] = v\nbarrier\ny[i] = s[local_index ^ "
     "1] + v\n"},
};

static const char *const shapes[] = {"256",  "33",      "1000",  "16, 16", "8, 6",
                                     "3, 5", "4, 4, 3", "24, 5", "64, 3",  "1, 9"};
static const uint32_t numbers[] = {0, 1, 3, 15, 16, 17, 63, 64, 65, 100, 700, UINT32_MAX};
enum {
    SAMPLES = sizeof samples / sizeof *samples,
    SHAPES = sizeof shapes / sizeof *shapes,
    NUMBERS = sizeof numbers / sizeof *numbers,
    PROCESSORS = 10
};

static uint32_t x[LENGTH], y[LENGTH];
static uint8_t b[LENGTH];

static void fill(void) {
    vy_random random = vy_random_start(5);
    for (size_t i = 0; i < LENGTH; i++) {
        x[i] = (uint32_t)vy_random_below(&random, 12);
        y[i] = (uint32_t)vy_random_next(&random);
        y[i] |= i % 3 ? 0 : UINT32_C(0x7f800000); /* a NaN, as a float */
        b[i] = (uint8_t)vy_random_next(&random);
    }
}

static void try_number(vyre_program *program, const sample *s, const char *shape, uint32_t n, uint32_t length,
                       const manner *m) {
    char why[512];
    const vyre_scalar param = {VYRE_TYPE_U32, n};
    const vyre_span inputs[4] = {{x, 4 * (size_t)length}, {b, length / 2 + 1}, {b, 0}, {y, 4 * (size_t)length}};
    const vyre_arguments arguments = {.params = &param,
                                      .param_count = 1,
                                      .inputs = inputs,
                                      .input_count = 4,
                                      .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    if (judge_next(program, &arguments, m, why, sizeof why) == DIFFERENT) {
        code_show(program);
        fail_msg("%s, workgroup %s, n %u, %u elements, %s: %s", s->name, shape, n, length, m->processor->name, why);
    }
}

/* What stands between two @ at the start of a body is declared before it. */
static vyre_program *parse_sample(const sample *s, const char *shape) {
    const char *body = s->body, *end = body[0] == '@' ? strchr(body + 1, '@') : NULL;
    char text[4096], array[256] = "";
    if (end) {
        snprintf(array, sizeof array, "%.*s", (int)(end - body - 1), body + 1);
        body = end + 1;
    }
    snprintf(text, sizeof text, head, shape, strchr(shape, ',') ? "3, 2" : "over y", array, body);
    return vy_test_parse(text);
}

static void try_sample(const sample *s, unsigned turn) {
    static const uint32_t lengths[] = {LENGTH, 257, 40, 1};
    const char *shape = shapes[turn % SHAPES];
    manner m = {processor_at(turn / 3 % PROCESSORS), turn % 5 != 0, turn % 7 == 0};
    if (!processor_is_here(m.processor))
        m.processor = processor_at(5);
    vyre_program *program = parse_sample(s, shape);
    try_number(program, s, shape, numbers[turn / 2 % NUMBERS], lengths[turn % 4], &m);
    vyre_program_release(program);
}

static void rows_and_what_turns_out_to_be_one_are_those_of_the_oracle(void **state) {
    (void)state;
    unsigned rounds = 5 * (unsigned)vy_test_effort();
    fill();
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < SAMPLES; i++)
            try_sample(&samples[i], round * 37 + i * 11);
}

/* Where all lanes take the branch the loop is written trip by trip, beside it as a loop: what was known of its
 * variable in the last trip does not hold there. In rows of three there are no strides, so that nothing else is known
 * of it. */
static void a_loop_is_one_beside_its_trips(void **state) {
    static const sample s = {"trips and a loop",
                             "@array s : u32 [48] workgroup\n@var v = 1u32\nif x[i] & 1 == 0 { for c in "
                             "local_index..130 step 48 { v = v * 3 + x[c * n + 1] + x[c + n] } }\n"
                             "s[local_index] = v\nbarrier\ny[i] = s[local_index ^ 1] + v\n"};
    static const char *const groups[] = {"3, 16", "6, 8", "48", "16, 3"};
    (void)state;
    fill();
    for (unsigned i = 0; i < 8; i++) {
        manner m = {processor_at(3 + i / 4), 1, 0}; /* 16 lanes: three chunks */
        if (!processor_is_here(m.processor))
            continue;
        vyre_program *program = parse_sample(&s, groups[i % 4]);
        try_number(program, &s, groups[i % 4], 3, LENGTH, &m);
        vyre_program_release(program);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_what_turns_out_to_be_one_are_those_of_the_oracle),
        cmocka_unit_test(a_loop_is_one_beside_its_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
