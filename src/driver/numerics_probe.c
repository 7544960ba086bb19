/* Numerics probe (numerics_probe.h).
 *
 * A few programs compute every operation that an API promises to compute exactly, on hard operands: zeros, subnormals,
 * ends of ranges, halves, infinities, NaNs and random bits. The results are compared with those of the reference
 * interpreter. If every difference of an operation has a subnormal operand or result, the operation stays exact and
 * only the bit for subnormals is cleared. */
#include "driver/numerics_probe.h"

#include "base/memory.h"
#include "base/status.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

enum { OPERANDS = VY_NUMERICS_PROBE_OPERANDS, OUTPUTS = 24 };
#define NONE VYRE_NUMERIC_COUNT

#define HEAD(T)                                                                                                        \
    " buffer a : " T " read\n buffer b : " T " read\n buffer c : " T " read\n workgroup 128\n grid over a\n"           \
    " let i = global_id.x\n let x = a[i]\n let y = b[i]\n let z = c[i]\n"
#define OUT(name, T) " buffer " name " : " T " write count 4096\n"

/* One program per type. `outputs`: the operation that each output tests, in order. */
typedef struct part {
    vyre_type type;
    vyre_numeric subnormal;        /* or NONE */
    vyre_numeric outputs[OUTPUTS]; /* ends with NONE */
    const char *text;
} part;

#define FLOATS(T, P)                                                                                                   \
    {                                                                                                                  \
        VYRE_TYPE_##P, VYRE_NUMERIC_##P##_SUBNORMAL,                                                                   \
            {VYRE_NUMERIC_##P##_ADD,                                                                                   \
             VYRE_NUMERIC_##P##_ADD,                                                                                   \
             VYRE_NUMERIC_##P##_MUL,                                                                                   \
             VYRE_NUMERIC_##P##_DIV,                                                                                   \
             VYRE_NUMERIC_##P##_SQRT,                                                                                  \
             VYRE_NUMERIC_##P##_FMA,                                                                                   \
             VYRE_NUMERIC_##P##_MIN_MAX,                                                                               \
             VYRE_NUMERIC_##P##_MIN_MAX,                                                                               \
             VYRE_NUMERIC_##P##_ROUND,                                                                                 \
             VYRE_NUMERIC_##P##_ROUND,                                                                                 \
             VYRE_NUMERIC_##P##_ROUND,                                                                                 \
             VYRE_NUMERIC_##P##_ROUND,                                                                                 \
             VYRE_NUMERIC_##P##_CONVERT,                                                                               \
             VYRE_NUMERIC_##P##_CONVERT,                                                                               \
             VYRE_NUMERIC_##P##_CONVERT,                                                                               \
             VYRE_NUMERIC_##P##_CONVERT,                                                                               \
             NONE},                                                                                                    \
            "program probe_" T " {\n" OUT("o0", T) OUT("o1", T) OUT("o2", T) OUT("o3", T) OUT("o4", T) OUT("o5", T)    \
                OUT("o6", T) OUT("o7", T) OUT("o8", T) OUT("o9", T) OUT("o10", T) OUT("o11", T) OUT("o12", "i32")      \
                    OUT("o13", "u32") OUT("o14", T) OUT("o15", T)                                                      \
                        HEAD(T) " o0[i] = x + y\n o1[i] = x - y\n o2[i] = x * y\n o3[i] = x / y\n o4[i] = sqrt(x)\n "  \
                                "o5[i] = fma(x, y, z)\n"                                                               \
                                " o6[i] = min(x, y)\n o7[i] = max(x, y)\n o8[i] = floor(x)\n o9[i] = ceil(x)\n "       \
                                "o10[i] = trunc(x)\n"                                                                  \
                                " o11[i] = round(x)\n o12[i] = i32(x)\n o13[i] = u32(x)\n o14[i] = " T                 \
                                "(i * 2654435761)\n"                                                                   \
                                " o15[i] = " T "(bitcast<i32>(i * 2654435761))\n}\n"                                   \
    }

static const part parts[] = {
    FLOATS("f32", F32),
    FLOATS("f64", F64),
    {VYRE_TYPE_F16,
     NONE,
     {VYRE_NUMERIC_F16_ADD, VYRE_NUMERIC_F16_ADD, VYRE_NUMERIC_F16_MUL, VYRE_NUMERIC_F16_FMA, VYRE_NUMERIC_F16_CONVERT,
      VYRE_NUMERIC_F16_CONVERT, NONE},
     "program probe_f16 {\n" OUT("o0", "f16") OUT("o1", "f16") OUT("o2", "f16") OUT("o3", "f16") OUT("o4", "f32")
         OUT("o5", "f16") HEAD("f16") " o0[i] = x + y\n o1[i] = x - y\n o2[i] = x * y\n o3[i] = fma(x, y, z)\n"
                                      " o4[i] = f32(x)\n o5[i] = f16(f32(x) * f32(y))\n}\n"},
    {VYRE_TYPE_BF16,
     NONE,
     {VYRE_NUMERIC_BF16_FMA, VYRE_NUMERIC_BF16_CONVERT, VYRE_NUMERIC_BF16_CONVERT, NONE},
     "program probe_bf16 {\n" OUT("o0", "bf16") OUT("o1", "f32") OUT("o2", "bf16")
         HEAD("bf16") " o0[i] = fma(x, y, z)\n o1[i] = f32(x)\n o2[i] = bf16(f32(x) * f32(y))\n}\n"},
    {VYRE_TYPE_U64,
     NONE,
     {VYRE_NUMERIC_INT64, VYRE_NUMERIC_INT64, VYRE_NUMERIC_INT64, VYRE_NUMERIC_INT64, VYRE_NUMERIC_INT64,
      VYRE_NUMERIC_INT64, NONE},
     "program probe_u64 {\n" OUT("o0", "u64") OUT("o1", "u64") OUT("o2", "u64") OUT("o3", "u64") OUT("o4", "u64")
         OUT("o5", "u64") HEAD("u64") " o0[i] = x + y\n o1[i] = x - y\n o2[i] = x * y\n o3[i] = x >> (y & 63)\n"
                                      " o4[i] = min(x, y) ^ (y << (z & 63))\n o5[i] = x / (y | 1)\n}\n"},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* ---- operands ---- */

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Exponents are mostly at an end of the range, around 1, or where the unit in the last place is 1. Significands are
 * random, a single bit, all ones or zero. */
static uint64_t hard_bits(vyre_type type, uint64_t *state) {
    static const struct {
        unsigned exponent, fraction;
    } formats[] = {
        [VYRE_TYPE_F32] = {8, 23}, [VYRE_TYPE_F64] = {11, 52}, [VYRE_TYPE_F16] = {5, 10}, [VYRE_TYPE_BF16] = {8, 7}};
    uint64_t any = next_random(state), how = next_random(state);
    if (type == VYRE_TYPE_U64)
        return how % 4 == 0 ? UINT64_C(1) << any % 64 : how % 4 == 1 ? (UINT64_C(1) << any % 64) - 1 : any;
    unsigned e = formats[type].exponent, f = formats[type].fraction;
    uint64_t top = (UINT64_C(1) << e) - 1, middle = top / 2;
    const uint64_t exponents[] = {
        0, 0, 1, 2, top, top - 1, middle, middle - 1, middle + 1, middle + f, middle + f + 1, any >> 40 & top};
    uint64_t exponent = exponents[how % 12], fraction = any & ((UINT64_C(1) << f) - 1);
    if (how >> 8 & 1)
        fraction = UINT64_C(1) << any % f;
    if ((how >> 9 & 3) == 0)
        fraction = how >> 11 & 1 ? (UINT64_C(1) << f) - 1 : 0;
    return (how >> 16 & 1) << (e + f) | exponent << f | fraction;
}

static int is_subnormal(vyre_type type, uint64_t bits) {
    unsigned f = type == VYRE_TYPE_F64 ? 52 : 23, e = type == VYRE_TYPE_F64 ? 11 : 8;
    return (bits >> f & ((UINT64_C(1) << e) - 1)) == 0 && (bits & ((UINT64_C(1) << f) - 1)) != 0;
}

/* ---- one part ---- */

typedef struct probe {
    vyre_program *program;
    uint8_t *operands; /* three arrays of OPERANDS elements */
    vyre_span inputs[3];
    vyre_bytes expected[OUTPUTS];
    vyre_bytes given[OUTPUTS];
    size_t output_count;
} probe;

static vyre_status ask_oracle(probe *p, vyre_error *error) {
    const vyre_arguments arguments = {.inputs = p->inputs, .input_count = 3};
    const vyre_oracle_options options = {.threads = 1};
    vyre_oracle *oracle;
    vyre_status status = vyre_oracle_new(p->program, &oracle, error);
    if (status != VYRE_OK)
        return status;
    status = vyre_oracle_run(oracle, &arguments, &options, p->expected, NULL, NULL, error);
    vyre_oracle_free(oracle);
    return status;
}

static vyre_status ask_device(probe *p, vy_numerics_probe_dispatch dispatch, void *user, vyre_error *error) {
    vyre_outputs outputs = {p->given, p->output_count, OUTPUTS};
    uint64_t elements[OUTPUTS + 3];
    for (size_t i = 0; i < OUTPUTS + 3; i++)
        elements[i] = OPERANDS;
    const vyre_launch launch = {.struct_size = sizeof launch,
                                .program = p->program,
                                .elements = elements,
                                .buffer_count = p->output_count + 3,
                                .groups = {OPERANDS / 128, 1, 1},
                                .label = ""};
    return dispatch(user, &launch, p->inputs, &outputs, error);
}

static uint64_t element(const void *bytes, size_t size, size_t index) {
    uint64_t bits = 0;
    memcpy(&bits, (const uint8_t *)bytes + index * size, size);
    return bits;
}

/* The bits of the promised operations that differ. */
static uint64_t differences(const probe *p, const part *what) {
    uint64_t wrong = 0;
    size_t size = vyre_type_size(what->type);
    for (size_t k = 0; k < p->output_count; k++) {
        size_t each = p->expected[k].size / OPERANDS;
        for (size_t i = 0; i < OPERANDS; i++) {
            uint64_t want = element(p->expected[k].data, each, i), got = element(p->given[k].data, each, i);
            if (want == got)
                continue;
            int is_tiny = what->subnormal != NONE && is_subnormal(what->type, want);
            for (int operand = 0; operand < 3 && what->subnormal != NONE; operand++)
                is_tiny |= is_subnormal(what->type, element(p->inputs[operand].data, size, i));
            wrong |= UINT64_C(1) << (is_tiny ? what->subnormal : what->outputs[k]);
        }
    }
    return wrong;
}

static vyre_status parse(const char *text, vyre_program **out, vyre_error *error) {
    vyre_module *module;
    vyre_status status = vyre_text_parse(text, strlen(text), NULL, NULL, &module, error);
    if (status != VYRE_OK)
        return status;
    *out = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    return VYRE_OK;
}

static vyre_status run_part(const part *what, vy_numerics_probe_dispatch dispatch, void *user, uint64_t *wrong,
                            vyre_error *error) {
    size_t size = vyre_type_size(what->type), bytes = 3 * OPERANDS * size;
    uint64_t state = (uint64_t)what->type + 1;
    probe p = {.program = NULL};
    vyre_status status = parse(what->text, &p.program, error);
    if (status != VYRE_OK)
        return status;
    while (what->outputs[p.output_count] != NONE)
        p.output_count++;
    p.operands = vy_allocate(bytes);
    status = p.operands ? VYRE_OK : vy_fail_memory(error, "probing the device");
    for (size_t i = 0; i < 3 * OPERANDS && status == VYRE_OK; i++) {
        uint64_t operand = hard_bits(what->type, &state);
        memcpy(p.operands + i * size, &operand, size);
    }
    for (size_t i = 0; i < 3; i++)
        p.inputs[i] = (vyre_span){p.operands + i * OPERANDS * size, OPERANDS * size};
    if (status == VYRE_OK)
        status = ask_oracle(&p, error);
    if (status == VYRE_OK)
        status = ask_device(&p, dispatch, user, error);
    if (status == VYRE_OK)
        *wrong |= differences(&p, what);
    for (size_t i = 0; i < OUTPUTS; i++) {
        vyre_bytes_free(&p.expected[i]);
        vyre_bytes_free(&p.given[i]);
    }
    vy_release(p.operands, p.operands ? bytes : 0);
    vyre_program_release(p.program);
    return status;
}

vyre_status vy_numerics_probe_run(uint64_t promised, vy_numerics_probe_dispatch dispatch, void *user, uint64_t *wrong,
                                  vyre_error *error) {
    vyre_status status = VYRE_OK;
    *wrong = 0;
    for (size_t i = 0; i < PARTS && status == VYRE_OK; i++)
        if (promised & UINT64_C(1) << parts[i].outputs[0])
            status = run_part(&parts[i], dispatch, user, wrong, error);
    return status;
}
