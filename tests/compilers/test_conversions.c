/* Conversions between integers and floats, compiled for every ISA level of the machine: random chains of them, of
 * values of which the compiler knows some bits, with arithmetic, comparisons and choices in between, give the bits of
 * the oracle. VYRE_CASES sets the number of programs, VYRE_SEED selects others. */
#include "compilers/code.h"

#include "base/string.h"

enum { VALUES = 14, INVOCATIONS = 64, INPUTS = 8 };

/* ---- programs ---- */

typedef struct type {
    const char *name;
    unsigned bits;
    int is_float, is_signed;
} type;

static const type types[] = {{"u8", 8, 0, 0},   {"i8", 8, 0, 1},    {"u16", 16, 0, 0}, {"i16", 16, 0, 1},
                             {"u32", 32, 0, 0}, {"i32", 32, 0, 1},  {"u64", 64, 0, 0}, {"i64", 64, 0, 1},
                             {"f16", 16, 1, 1}, {"bf16", 16, 1, 1}, {"f32", 32, 1, 1}, {"f64", 64, 1, 1}};
enum { TYPES = sizeof types / sizeof *types, F16 = 8 };

typedef struct writer {
    vy_string text;
    vy_random random;
    unsigned of[VALUES]; /* type of each value so far */
    unsigned count;
} writer;

static unsigned below(writer *w, unsigned bound) {
    return (unsigned)vy_random_below(&w->random, bound);
}

static unsigned any_type(writer *w) {
    return below(w, 3) ? below(w, TYPES) : F16 + below(w, 3);
}

/* Mostly one of the last: chains are long. */
static unsigned any_value(writer *w) {
    return below(w, 4) ? w->count - 1 - below(w, 3) : below(w, w->count);
}

/* A value of the type: one that is there, converted if need be. */
static void write_value(writer *w, unsigned of) {
    for (unsigned tries = 0; tries < 4; tries++) {
        unsigned v = any_value(w);
        if (w->of[v] == of) {
            vy_string_format(&w->text, "v%u", v);
            return;
        }
    }
    vy_string_format(&w->text, "%s(v%u)", types[of].name, any_value(w));
}

/* Near the ends of formats, and exact in some. */
static void write_literal(writer *w, unsigned of) {
    static const char *const floats[] = {"0.5", "2.0", "1.0", "0.0", "255.0", "256.0", "2048.0", "0.125", "3.0"};
    static const char *const integers[] = {"0", "1", "2", "3", "7", "15", "31", "63", "100", "127"};
    vy_string_format(&w->text, "%s%s",
                     types[of].is_float ? floats[below(w, sizeof floats / sizeof *floats)]
                                        : integers[below(w, sizeof integers / sizeof *integers)],
                     types[of].name);
}

static void write_operand(writer *w, unsigned of) {
    if (below(w, 3))
        write_value(w, of);
    else
        write_literal(w, of);
}

/* A function of so many operands of the type. */
static void write_call(writer *w, const char *name, unsigned of, unsigned count) {
    vy_string_format(&w->text, "%s(", name);
    for (unsigned i = 0; i < count; i++) {
        vy_string_format(&w->text, i ? ", " : "");
        write_operand(w, of);
    }
    vy_string_format(&w->text, ")");
}

static void write_comparison(writer *w) {
    static const char *const names[] = {"<", "<=", ">", ">=", "==", "!="};
    unsigned of = any_type(w);
    vy_string_format(&w->text, "(");
    write_operand(w, of);
    vy_string_format(&w->text, " %s ", names[below(w, 6)]);
    write_value(w, of);
    vy_string_format(&w->text, ")");
}

static void write_float(writer *w, unsigned of) {
    static const char *const operators[] = {"+", "-", "*", "/"};
    static const char *const unary[] = {"abs", "floor", "ceil", "trunc", "round", "sqrt", "-"};
    static const char *const binary[] = {"min", "max", "copysign"};
    switch (below(w, 5)) {
    case 0:
        write_call(w, unary[below(w, 7)], of, 1);
        break;
    case 1:
        write_call(w, binary[below(w, 3)], of, 2);
        break;
    case 2:
        write_call(w, "fma", of, 3);
        break;
    default:
        write_operand(w, of);
        vy_string_format(&w->text, " %s ", operators[below(w, 4)]);
        write_value(w, of);
    }
}

/* Integers of which few bits are known: shifted, masked. */
static void write_integer(writer *w, unsigned of) {
    static const char *const operators[] = {"+", "-", "*", "&", "|", "^", "/", "%"};
    switch (below(w, 4)) {
    case 0:
        write_value(w, of);
        vy_string_format(&w->text, " << %u%s", below(w, types[of].bits), types[of].name);
        break;
    case 1:
        write_value(w, of);
        vy_string_format(&w->text, " >> %u%s", below(w, types[of].bits), types[of].name);
        break;
    case 2:
        write_value(w, of);
        vy_string_format(&w->text, " & ");
        write_literal(w, of);
        break;
    default:
        write_value(w, of);
        vy_string_format(&w->text, " %s ", operators[below(w, 8)]);
        write_operand(w, of);
    }
}

static void write_let(writer *w) {
    unsigned of = any_type(w), from = any_value(w);
    vy_string_format(&w->text, "  let v%u = ", w->count);
    switch (below(w, 8)) {
    case 0:
    case 1:
    case 2:
        if (w->of[from] == of)
            vy_string_format(&w->text, "v%u", from);
        else
            vy_string_format(&w->text, "%s(v%u)", types[of].name, from);
        break;
    case 3:
        write_comparison(w);
        vy_string_format(&w->text, " ? ");
        write_operand(w, of);
        vy_string_format(&w->text, " : ");
        write_value(w, of);
        break;
    case 4:
        vy_string_format(&w->text, "%s(", types[of].name);
        write_comparison(w);
        vy_string_format(&w->text, ")");
        break;
    default:
        if (types[of].is_float)
            write_float(w, of);
        else
            write_integer(w, of);
    }
    vy_string_format(&w->text, "\n");
    w->of[w->count++] = of;
}

/* Two inputs of any type, the number of the invocation, values made of these, and every float among them stored. */
static void write_program(writer *w) {
    unsigned first = any_type(w), second = any_type(w), at = 0;
    vy_string_format(&w->text, "program conversions {\n  buffer x : %s read count %d\n  buffer y : %s read count %d\n",
                     types[first].name, INVOCATIONS, types[second].name, INVOCATIONS);
    size_t head = w->text.length;
    vy_string_format(
        &w->text,
        "  workgroup %d\n  grid 1\n  let v0 = x[local_index]\n  let v1 = y[local_index]\n  let v2 = local_index\n",
        INVOCATIONS);
    w->of[0] = first;
    w->of[1] = second;
    w->of[2] = 4;
    for (w->count = 3; w->count < VALUES;)
        write_let(w);
    for (unsigned i = 3; i < VALUES; i++) {
        char line[80];
        int size =
            snprintf(line, sizeof line, "  buffer o%u : %s write count %d\n", i, types[w->of[i]].name, INVOCATIONS);
        vy_string_format(&w->text, "  o%u[local_index] = v%u\n", i, i);
        /* Buffers are declared before. */
        vy_string_format(&w->text, "%*s", size, "");
        memmove(w->text.text + head + at + (size_t)size, w->text.text + head + at,
                w->text.length - head - at - (size_t)size);
        memcpy(w->text.text + head + at, line, (size_t)size);
        at += (unsigned)size;
    }
    vy_string_format(&w->text, "}\n");
}

/* ---- values ---- */

/* Half of the last bit that another format keeps, or next to it: bits that a float has more than f32, bf16, f16. */
static uint64_t half_way(vy_random *random, const type *t, uint64_t bits) {
    static const unsigned more[2][3] = {{16, 13, 16}, {29, 42, 45}};
    unsigned low = more[t->bits == 64][vy_random_below(random, 3)];
    uint64_t half = UINT64_C(1) << (low - 1);
    return (bits & ~(2 * half - 1)) + half + vy_random_below(random, 3) - 1;
}

/* Any bits; those of numbers at the ends of f16: its largest, the least that is infinity, its smallest; and of numbers
 * half-way between two of another format, in its range. */
static uint64_t random_bits(vy_random *random, const type *t) {
    static const float near[] = {65504,   65519,   65520,   65536, 2047, 2048,    2049,
                                 6.1e-5f, 5.9e-8f, 2.9e-8f, 1,     0.5f, 3.4e38f, -65520};
    float f = near[vy_random_below(random, sizeof near / sizeof *near)];
    double d = f;
    uint64_t any = vy_random_next(random), bits = 0;
    if (!t->is_float && vy_random_below(random, 3) == 0)
        return (uint64_t)(int64_t)(int32_t)(f < 70000 ? f : 1);
    if (!t->is_float || t->bits == 16 || vy_random_below(random, 3) == 0)
        return any;
    memcpy(&bits, t->bits == 32 ? (void *)&f : (void *)&d, t->bits / 8);
    bits ^= any & (t->bits == 32 ? UINT64_C(0x807fffff) : UINT64_C(0x800fffffffffffff));
    return half_way(random, t, bits);
}

typedef struct given {
    uint8_t bytes[2][INVOCATIONS * 8];
    vyre_span inputs[2];
    vyre_arguments arguments;
} given;

static const vyre_arguments *arguments_of(writer *w, given *out) {
    for (unsigned i = 0; i < 2; i++) {
        const type *t = &types[w->of[i]];
        for (unsigned k = 0; k < INVOCATIONS; k++) {
            uint64_t bits = random_bits(&w->random, t);
            memcpy(out->bytes[i] + k * t->bits / 8, &bits, t->bits / 8);
        }
        out->inputs[i] = (vyre_span){out->bytes[i], INVOCATIONS * t->bits / 8};
    }
    out->arguments =
        (vyre_arguments){.inputs = out->inputs, .input_count = 2, .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    return &out->arguments;
}

/* ---- campaign ---- */

static unsigned failures;

static void judge(vyre_program *program, const vyre_arguments *arguments, const outcome *want, const processor *p,
                  uint64_t stream, const char *source) {
    static outcome got;
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    const char *why = NULL;
    if (code_make(program, p, &code, &error) != VYRE_OK) {
        why = error.message;
    } else {
        outcome_of_code(&code, arguments, &got);
        why = outcome_differs(want, &got);
        outcome_free(&got);
    }
    if (why) {
        printf("program %" PRIu64 ", %s, %u lanes: %s\n%s", stream, p->name, (unsigned)p->width, why, source);
        fflush(stdout);
        failures++;
    }
    code_free(&code);
}

static void judge_program(uint64_t stream) {
    static given given;
    static outcome want;
    static const uint32_t widths[] = {4, 8, 16, 32, 64};
    writer w = {.random = vy_random_start(stream)};
    write_program(&w);
    assert_false(w.text.failed);
    vyre_program *program = vy_test_parse(w.text.text);
    const vyre_arguments *arguments = arguments_of(&w, &given);
    outcome_of_oracle(program, arguments, &want);
    if (want.status != VYRE_OK)
        fail_msg("%s", want.error.message);
    for (unsigned level = 0; level < VY_CPU_LEVEL_COUNT; level++) {
        uint64_t features = vy_cpu_level_features(level);
        processor p = {vy_cpu_level_name(level), widths[below(&w, 5)], features, features};
        /* The two lower levels have no conversion of f16: that is integer arithmetic, and long. */
        if (processor_is_here(&p) && (level > 1 || stream % 8 == level))
            judge(program, arguments, &want, &p, stream, w.text.text);
    }
    if (!(vy_cpu_features() & VY_CPU_FEATURE_X86_64))
        judge(program, arguments, &want, &(processor){"host", 16, UINT64_MAX, 0}, stream, w.text.text);
    outcome_free(&want);
    vyre_program_release(program);
    vy_string_free(&w.text);
}

static unsigned programs(void) {
    const char *given = getenv("VYRE_CASES");
    return given ? (unsigned)strtoul(given, NULL, 10) : (VY_SANITIZED ? 4 : 24) * vy_test_effort();
}

static void chains_of_conversions_give_the_bits_of_the_oracle(void **state) {
    (void)state;
    for (uint64_t i = 0; i < programs(); i++)
        judge_program(i);
    assert_int_equal(failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_conversions_give_the_bits_of_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
