/* Atomics on floats, under relaxed numerics: where no two invocations meet, and where their order cannot show, they
 * give the oracle's bits. */
#include "compilers/emit/run.h"

#include "ir/eval.h"

enum { ELEMENTS = 150, PROCESSORS = 10 };

/* y, z: floats read_write, p: floats; i: an invocation's number, l: in its workgroup, v: its operand. */
static const struct {
    const char *name, *arrays, *body;
} samples[] = {
    {"each its own", "",
     "let a = atomic_add(y[i], v)\nlet b = atomic_min(y[i + 1], v)\nlet c = atomic_max(y[i + 2], v)\nz[i] = a\n"
     "z[i + 1] = b\nz[i + 2] = c\n"},
    {"each its own, in any order", "",
     "let k = (i / 3 * 5 % 241) * 3\nlet a = atomic_add<acq_rel>(y[k], v)\nlet b = atomic_min<acquire>(y[k + 1], v)\n"
     "let c = atomic_max<release>(y[k + 2], v)\nz[i] = a\nz[i + 1] = b\nz[i + 2] = c\n"},
    {"some of them", "",
     "if i % 5 != 1 { atomic_add(y[i], v)\natomic_min(y[i + 1], v)\natomic_max(y[i + 2], v) }\n"
     "let a = atomic_load(y[i])\nlet b = atomic_exchange(y[i + 1], v)\natomic_store(y[i + 2], a)\nz[i] = a\nz[i + 1] = "
     "b\n"},
    {"in the workgroup", "array s : TYPE [256] workgroup\n",
     "s[l] = y[i]\nlet a = atomic_add(s[l], v)\nlet b = atomic_min(s[l], z[i])\nlet c = atomic_max(s[l], p[i + 1])\n"
     "let d = atomic_exchange(s[l], a)\nlet g = atomic_load(s[l])\natomic_store(s[l], d)\ny[i] = s[l]\ny[i + 1] = b\n"
     "y[i + 2] = c\nz[i] = g\n"},
    {"one for all, the least and the most", "array s : TYPE [2] workgroup\n",
     "if l == 0 { s[0] = 1000.0\ns[1] = -1000.0 }\nbarrier\natomic_min(y[0], v)\natomic_max(z[1], v)\nif i % 3 == 0 { "
     "atomic_min(s[0], v) }\natomic_max(s[1], v)\nbarrier\nif l == 0 { y[i + 3] = s[0]\nz[i + 3] = s[1] }\n"},
    {"one for all, sums that are exact", "",
     "if i == 0 { y[0] = 0.0 }\natomic_add(z[7], TYPE(i))\nif i % 2 == 0 { atomic_add(z[8], -TYPE(l)) }\n"},
};

static double y[ELEMENTS], z[ELEMENTS], p[ELEMENTS];

static const uint64_t specials[2][12] = {
    {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f812345, 1, 0x80000001, 0x3f800000, 0xbf800000,
     0x7f7fffff},
    {0, 0x8000000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001,
     0x7ff0000012345678, 1, 0x8000000000000001, 0x3ff0000000000000, 0xbff0000000000000, 0x7fefffffffffffff}};

/* Elements of the type in the place of doubles. An atomic load of the oracle leaves a canonical NaN behind, so memory
 * has no other. */
static void fill(double *out, int is_double, int is_exact, int is_clean, vy_random *random) {
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        uint64_t any = vy_random_next(random), bits = specials[is_double][any % 12];
        if (is_exact)
            bits = is_double ? UINT64_C(0x4008000000000000) : 0x40400000; /* 3 */
        else if (any >> 60 & 1)
            bits = any >> (is_double ? 1 : 33);
        if (is_clean)
            bits = vy_value_canonicalize(is_double ? VYRE_TYPE_F64 : VYRE_TYPE_F32, bits);
        if (is_double)
            memcpy(&out[i], &bits, 8);
        else
            memcpy((char *)out + 4 * (size_t)i, &bits, 4);
    }
}

static void replace_type(const char *text, const char *type, char *out, size_t size) {
    size_t at = 0;
    while (*text && at + 8 < size) {
        if (strncmp(text, "TYPE", 4) == 0) {
            at += (size_t)snprintf(out + at, size - at, "%s", type);
            text += 4;
        } else {
            out[at++] = *text++;
        }
    }
    out[at] = 0;
}

static void try_sample(size_t which, int is_double, const char *shape, const manner *m, uint64_t seed) {
    static const char head[] =
        "program sample {\nnumerics relaxed\nbuffer y : TYPE read_write\nbuffer z : TYPE read_write\n"
        "buffer p : TYPE read\n%sworkgroup %s\ngrid elements 48\n"
        "let l = local_index\nlet i = (group_id.x * workgroup_size.x * workgroup_size.y + l) * 3\n"
        "let v = p[i]\n%s}\n";
    char text[4096], typed[4096], why[512];
    snprintf(text, sizeof text, head, samples[which].arrays, shape, samples[which].body);
    replace_type(text, is_double ? "f64" : "f32", typed, sizeof typed);
    vy_random random = vy_random_start(seed);
    int is_exact = strstr(samples[which].name, "exact") != NULL;
    size_t bytes = (is_double ? 8 : 4) * (size_t)ELEMENTS;
    fill(y, is_double, is_exact, 1, &random);
    fill(z, is_double, is_exact, 1, &random);
    fill(p, is_double, is_exact, 0, &random);
    const vyre_span inputs[3] = {{y, bytes}, {z, bytes}, {p, bytes}};
    const vyre_arguments arguments = {
        .inputs = inputs, .input_count = 3, .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    vyre_program *program = vy_test_parse(typed);
    if (judge_next(program, &arguments, m, why, sizeof why) != SAME) {
        code_show(program);
        fail_msg("%s, workgroup %s, %s: %s", samples[which].name, shape, m->processor->name, why);
    }
    vyre_program_release(program);
}

static void atomics_on_floats_give_the_bits_of_the_oracle(void **state) {
    static const char *const shapes[] = {"1", "16", "33", "3, 5", "48"};
    (void)state;
    unsigned turn = 0;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (unsigned k = 0; k < 5; k++)
            for (int is_double = 0; is_double < 2; is_double++)
                for (unsigned n = 0; n < PROCESSORS; n++) {
                    manner m = {processor_at(n), (uint8_t)(turn++ & 1), 0};
                    if (m.processor && processor_is_here(m.processor) &&
                        (vy_test_effort() > 1 || turn % (4 * PROCESSORS + 1) == 0))
                        try_sample(i, is_double, shapes[k], &m, turn);
                }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atomics_on_floats_give_the_bits_of_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
