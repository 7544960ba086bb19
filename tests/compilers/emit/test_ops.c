/* Every op on every type with the operands where things happen, by lanes, by scalars and by both, gives the
 * evaluator's bits. One program for each type of operand holds all its rows. */
#include "compilers/emit/run.h"

enum { CASES = 96, GROUP = 24, GROUPS = CASES / GROUP, ROWS = 220, PROCESSORS = 10 };

typedef struct op_row {
    vyre_op op;
    vyre_type result;
    char name[16];
} op_row;

/* ---- operands ---- */

static uint64_t special(vy_random *random, vyre_type type) {
    unsigned bits = vyre_type_bits(type);
    uint64_t mask = UINT64_MAX >> (64 - bits), sign = UINT64_C(1) << (bits - 1);
    if (vyre_type_class(type) != VYRE_CLASS_FLOAT) {
        static const int64_t ends[] = {0, 1, -1, 2, -2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256};
        uint64_t value = (uint64_t)ends[vy_random_below(random, sizeof ends / sizeof *ends)];
        uint64_t any = vy_random_next(random);
        return (any & 3 ? value ^ (any & 4 ? sign : 0) : any >> vy_random_below(random, 64)) & mask;
    }
    unsigned fraction = type == VYRE_TYPE_F16 ? 10 : type == VYRE_TYPE_BF16 ? 7 : type == VYRE_TYPE_F32 ? 23 : 52;
    uint64_t least = UINT64_C(1) << fraction, infinity = (sign - 1) & ~(least - 1), one = infinity / 2 & ~(least - 1);
    const uint64_t values[] = {0,
                               1,
                               least - 1,
                               least,
                               one,
                               one + 1,
                               one - 1,
                               infinity,
                               infinity + 1,
                               infinity | least / 2,
                               infinity | (vy_random_next(random) & (least - 1)),
                               infinity - 1,
                               one + least * vy_random_below(random, 70) + (vy_random_next(random) & (least - 1)),
                               one - least + least * vy_random_below(random, 6) +
                                   (vy_random_below(random, 8) << (fraction - 3)),
                               vy_random_next(random),
                               one / 2 + vy_random_below(random, least * 16)};
    return (values[vy_random_below(random, sizeof values / sizeof *values)] | (vy_random_next(random) & sign)) & mask;
}

/* ---- programs ---- */

static vyre_type element(vyre_type type) {
    return type == VYRE_TYPE_BOOL ? VYRE_TYPE_U32 : type;
}

static int next_row(vyre_type type, int *at, op_row *out) {
    for (; *at < VYRE_OP_COUNT * VYRE_TYPE_COUNT; ++*at) {
        vyre_op op = (vyre_op)(*at / VYRE_TYPE_COUNT);
        vyre_type result = (vyre_type)(*at % VYRE_TYPE_COUNT);
        if (!vyre_op_accepts(op, type, result) || vyre_op_get(op)->level != VYRE_LEVEL_SOURCE ||
            (op == VYRE_OP_SELECT && result != type))
            continue;
        *out = (op_row){.op = op, .result = result};
        ++*at;
        return 1;
    }
    return 0;
}

/* Operands of a row, as the text of a call. */
static void write_value(const op_row *row, vyre_type type, const char *const *x, char *out, size_t size) {
    const vyre_op_info *info = vyre_op_get(row->op);
    const char *result = vyre_type_name(row->result);
    char value[256];
    if (row->op == VYRE_OP_SELECT)
        snprintf(value, sizeof value, "%s == %s ? %s : %s", x[2], x[0], x[0], x[1]);
    else if (row->op == VYRE_OP_CAST)
        snprintf(value, sizeof value, "%s(%s)", result, x[0]);
    else if (row->op == VYRE_OP_BITCAST)
        snprintf(value, sizeof value, "bitcast<%s>(%s)", result, x[0]);
    else if (info->symbol && info->arity == 2)
        snprintf(value, sizeof value, "%s %s %s", x[0], info->symbol, x[1]);
    else if (info->symbol)
        snprintf(value, sizeof value, "%s(%s)", info->symbol, x[0]);
    else
        snprintf(value, sizeof value, "%s(%s%s%s%s%s)", info->name, x[0], info->arity > 1 ? ", " : "",
                 info->arity > 1 ? x[1] : "", info->arity > 2 ? ", " : "", info->arity > 2 ? x[2] : "");
    snprintf(out, size, row->result == VYRE_TYPE_BOOL ? "u32(%s)" : "%s", value);
    (void)type;
}

/* By lanes at [i]; by scalars at [g], one number for each workgroup; and the first operand by lanes, the others by
 * scalars. */
static void write_program(vyre_type type, const op_row *rows, unsigned count, char *text, size_t size) {
    static const char *const forms[3][3] = {{"p", "q", "r"}, {"a[g]", "b[g]", "c[g]"}, {"p", "b[g]", "c[g]"}};
    static const char *const bools[3][3] = {{"(p != 0)", "(q != 0)", "(r != 0)"},
                                            {"(a[g] != 0)", "(b[g] != 0)", "(c[g] != 0)"},
                                            {"(p != 0)", "(b[g] != 0)", "(c[g] != 0)"}};
    const char *t = vyre_type_name(element(type));
    int at =
        snprintf(text, size, "program ops {\nbuffer a : %s read\nbuffer b : %s read\nbuffer c : %s read\n", t, t, t);
    for (unsigned k = 0; k < count; k++)
        at += snprintf(text + at, size - (size_t)at, "buffer o%u : %s write count %d\n", k,
                       vyre_type_name(element(rows[k].result)), 2 * CASES + GROUPS);
    at += snprintf(
        text + at, size - (size_t)at,
        "workgroup %d\ngrid %d\nlet i = global_id.x\nlet g = group_id.x\nlet p = a[i]\nlet q = b[i]\nlet r = c[i]\n",
        GROUP, GROUPS);
    for (unsigned k = 0; k < count; k++) {
        static const char *const places[3] = {"i", "192 + g", "96 + i"};
        for (int form = 0; form < 3; form++) {
            char value[300];
            write_value(&rows[k], type, type == VYRE_TYPE_BOOL ? bools[form] : forms[form], value, sizeof value);
            at += snprintf(text + at, size - (size_t)at,
                           form == 1 ? "if i == g * 24 { o%u[%s] = %s }\n" : "o%u[%s] = %s\n", k, places[form], value);
        }
    }
    snprintf(text + at, size - (size_t)at, "}\n");
}

static uint64_t rows_tried;

static void try_rows(vyre_type type, const op_row *rows, unsigned count, const manner *m, vy_random *random) {
    static char text[200000], why[512];
    static uint64_t values[3][CASES];
    unsigned bytes = vyre_type_size(element(type));
    write_program(type, rows, count, text, sizeof text);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < CASES; i++) {
            uint64_t bits = type == VYRE_TYPE_BOOL ? vy_random_below(random, 2) : special(random, type);
            if (i % 7 == k && k)
                memcpy(&bits, (char *)values[0] + (size_t)i * bytes, bytes);
            memcpy((char *)values[k] + (size_t)i * bytes, &bits, bytes);
        }
    vyre_span inputs[3];
    for (int k = 0; k < 3; k++)
        inputs[k] = (vyre_span){values[k], (size_t)CASES * bytes};
    const vyre_arguments arguments = {
        .inputs = inputs, .input_count = 3, .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    vyre_program *program = vy_test_parse(text);
    if (judge_next(program, &arguments, m, why, sizeof why) != SAME) {
        for (unsigned k = 0; k < count; k++)
            printf("%u: %s -> %s\n", k, vyre_op_get(rows[k].op)->name, vyre_type_name(rows[k].result));
        fail_msg("%s, %s: %s", vyre_type_name(type), m->processor->name, why);
    }
    rows_tried += count;
    vyre_program_release(program);
}

/* As many rows in a program as there are outputs to compare. */
static void every_op_of(vyre_type type, const manner *m, vy_random *random) {
    op_row rows[CODE_OUTPUTS];
    unsigned count = 0;
    for (int at = 0; next_row(type, &at, &rows[count]);)
        if (++count == CODE_OUTPUTS) {
            try_rows(type, rows, count, m, random);
            count = 0;
        }
    if (count)
        try_rows(type, rows, count, m, random);
}

static void every_op_gives_the_bits_of_the_evaluator(void **state) {
    (void)state;
    vy_random random = vy_random_start(11);
    for (unsigned round = 0; round < vy_test_effort(); round++)
        for (int type = 0; type < VYRE_TYPE_COUNT; type++)
            for (unsigned p = 0; p < PROCESSORS; p++) {
                manner m = {processor_at(p), 0, 0};
                if (vy_test_effort() == 1 && ((unsigned)type + p) % PROCESSORS)
                    continue;
                if (processor_is_here(m.processor))
                    every_op_of((vyre_type)type, &m, &random);
            }
    printf("%llu rows\n", (unsigned long long)rows_tried);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_gives_the_bits_of_the_evaluator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
