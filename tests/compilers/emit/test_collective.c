/* Every collective with every op on every type, over the workgroup and over subgroups, and every atomic in every
 * order, in workgroups whole and not. */
#include "compilers/emit/run.h"

enum { LENGTH = 130, PROCESSORS = 10 };

static const char *const types[] = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"};
enum { TYPES = sizeof types / sizeof *types };
static const char *const shapes[] = {"1", "3", "33", "64", "100", "8, 4", "5, 3, 2"};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static uint64_t judged;
static unsigned turn;

static void try_text(const char *text, const vyre_span *inputs, size_t input_count) {
    char why[512];
    vyre_program *program = vy_test_parse(text);
    const vyre_arguments arguments = {
        .inputs = inputs, .input_count = input_count, .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    manner m = {processor_at(turn % PROCESSORS), (uint8_t)(turn & 1), (uint8_t)(turn % 5 == 0)};
    turn++;
    if (!processor_is_here(m.processor))
        m.processor = processor_at(5);
    if (judge_next(program, &arguments, &m, why, sizeof why) != SAME) {
        code_show(program);
        fail_msg("%s: %s", m.processor->name, why);
    }
    judged++;
    vyre_program_release(program);
}

/* Any bits; floats mostly near one, so that sums show their order. */
static void fill(uint8_t *bytes, size_t size, const char *type, unsigned element) {
    vy_random random = vy_random_start(size + element);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)vy_random_next(&random);
    for (size_t i = 0; strchr(type, 'f') && i + element <= size; i += element)
        if (i / element % 13) {
            bytes[i + element - 1] = (uint8_t)(bytes[i + element - 1] & 0x80) | 0x3f;
            bytes[i + element - 2] |= 0x60;
        }
}

typedef struct block {
    char text[16384];
    size_t size;
    unsigned outputs;
} block;

static void add(block *b, const char *type, const char *value) {
    b->size += (size_t)snprintf(b->text + b->size, sizeof b->text - b->size, "let r%u = %s\no%u[i] = r%u\n", b->outputs,
                                value, b->outputs, b->outputs);
    (void)type;
    b->outputs++;
}

/* All that a type has over one width ("" is the workgroup), in one program. */
static void try_collectives(const char *type, unsigned width, const char *shape) {
    static const char *const combines[] = {"add", "mul", "min", "max", "and", "or", "xor"};
    static const char *const kinds[] = {"reduce", "scan_inclusive", "scan_exclusive"};
    static const char *const moves[] = {"shuffle(v, x[i + 3] & 63)", "shuffle_xor(v, n)", "shuffle_up(v, x[i] & 7)",
                                        "shuffle_down(v, x[i] & 7)"};
    static block b;
    static char text[32768];
    static uint8_t bytes[LENGTH * 8];
    static uint32_t x[LENGTH];
    char value[128], over[16] = "workgroup_", suffix[16] = "";
    int is_float = strchr(type, 'f') != NULL;
    b.size = b.outputs = 0;
    b.text[0] = '\0';
    if (width) {
        snprintf(over, sizeof over, "subgroup_");
        snprintf(suffix, sizeof suffix, "<%u>", width);
    }
    for (unsigned k = 0; k < 3; k++)
        for (unsigned c = 0; c < (is_float ? 4u : 7u); c++) {
            snprintf(value, sizeof value, "%s%s_%s%s(v)", over, kinds[k], combines[c], suffix);
            add(&b, type, value);
        }
    for (unsigned k = 0; width && k < 4; k++) {
        snprintf(value, sizeof value, "%s%.*s%s%s", over, (int)(strchr(moves[k], '(') - moves[k]), moves[k], suffix,
                 strchr(moves[k], '('));
        add(&b, type, value);
    }
    snprintf(value, sizeof value, "%sbroadcast%s(v, n)", over, suffix);
    add(&b, type, value);
    size_t at = (size_t)snprintf(text, sizeof text, "program p {\nbuffer v_in : %s read\nbuffer x : u32 read\n", type);
    for (unsigned i = 0; i < b.outputs; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "buffer o%u : %s write count %d\n", i, type, LENGTH);
    at += (size_t)snprintf(text + at, sizeof text - at, "buffer w : u32 read_write\n");
    snprintf(text + at, sizeof text - at,
             "workgroup %s\ngrid 2\nlet i = group_id.x * 100 + local_index\nlet v = v_in[i]\nlet n = len(x) - 127\n%s"
             "let some = %sany%s(x[i] == 9)\nlet each = %sall%s(x[i] < 15)\n%sw[i] = w[i] * 8 + u32(some) + u32(each) "
             "* 2%s\n}\n",
             shape, b.text, over, suffix, over, suffix,
             width ? "" : "let t = workgroup_broadcast(some, 0)\nlet gone = workgroup_any(t)\nif gone { w[i] = 1 }\n",
             "");
    vy_random random = vy_random_start(5);
    for (int i = 0; i < LENGTH; i++)
        x[i] = (uint32_t)vy_random_below(&random, 16);
    unsigned size = !strcmp(type, "f16") || !strcmp(type, "bf16") || strstr(type, "16") ? 2
                    : strstr(type, "8")                                                 ? 1
                    : strstr(type, "32")                                                ? 4
                                                                                        : 8;
    fill(bytes, (size_t)LENGTH * size, type, size);
    const vyre_span inputs[3] = {{bytes, (size_t)LENGTH * size}, {x, sizeof x}, {x, sizeof x}};
    try_text(text, inputs, 3);
}

static void every_collective_gives_the_bits_of_the_oracle(void **state) {
    static const unsigned widths[] = {0, 2, 8, 32, 64};
    (void)state;
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned w = 0; w < 5; w++)
            for (unsigned s = 0; s < SHAPES; s++)
                if (vy_test_effort() > 1 || (t * 5 + w * 7 + s) % 29 == 0)
                    try_collectives(types[t], widths[w], shapes[s]);
    printf("%llu programs\n", (unsigned long long)judged);
}

static void ballots_give_the_bits_of_the_oracle(void **state) {
    static char text[2048];
    static uint32_t x[LENGTH];
    (void)state;
    for (int i = 0; i < LENGTH; i++)
        x[i] = (uint32_t)(i * 7 % 5);
    for (unsigned s = 0; s < SHAPES; s++)
        for (unsigned w = 2; w <= 64; w *= 2) {
            if (vy_test_effort() == 1 && (s + w) % 3)
                continue;
            snprintf(text, sizeof text,
                     "program p {\nbuffer x : u32 read\nbuffer o : u64 write count %d\nworkgroup %s\ngrid 2\n"
                     "let i = group_id.x * 100 + local_index\nlet b = subgroup_ballot<%u>(x[i] > 2)\no[i] = b\n}\n",
                     LENGTH, shapes[s], w);
            try_text(text, &(vyre_span){x, sizeof x}, 1);
        }
}

/* ---- atomics ---- */

/* Results that do not depend on the schedule: sums of integers, and elements that only one invocation touches. */
static void every_atomic_in_every_order(void **state) {
    static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel"};
    static const char *const ops[] = {"add", "and", "or", "xor", "min", "max", "exchange"};
    static const char *const kinds[] = {"u32", "i32", "u64", "i64"};
    static char text[8192];
    static uint64_t x[LENGTH], y[LENGTH];
    (void)state;
    vy_random random = vy_random_start(8);
    for (int i = 0; i < LENGTH; i++) {
        x[i] = vy_random_next(&random);
        y[i] = vy_random_next(&random);
    }
    for (unsigned k = 0; k < 4; k++)
        for (unsigned order = 0; order < 4; order++)
            for (unsigned op = 0; op < 7; op++) {
                if (vy_test_effort() == 1 && (k + order + op) % 3)
                    continue;
                size_t size = k < 2 ? 4 : 8;
                const char *type = kinds[k], *name = ops[op], *o = orders[order];
                int shared = op < 6; /* all to one element, too */
                snprintf(
                    text, sizeof text,
                    "program p {\nbuffer x : %s read\nbuffer y : %s read_write\nbuffer one : %s read_write\n"
                    "buffer z : %s read_write\nworkgroup %s\ngrid over x\narray s : %s [1024] workgroup\nlet i = "
                    "global_id.x\n"
                    "let l = local_index\ns[l] = x[i]\nbarrier\nif i < len(x) {\nlet old = atomic_%s<%s>(y[i], x[i])\n"
                    "z[i] = old\n%s%s<%s>%s\nlet was = atomic_compare_exchange<%s>(s[l], x[i], old)\n"
                    "if i & 1 == 1 { let w = atomic_%s<%s, workgroup>(s[l], was)\nz[i] = z[i] ^ w }\n}\nbarrier\n"
                    "let last = atomic_load<%s, workgroup>(s[l])\nif i & 3 != 2 { atomic_store<%s>(z[i], last) }\n}\n",
                    type, type, type, type, shapes[turn % 5], type, name, o, shared ? "atomic_" : "",
                    shared ? name : "// ", o, shared ? "(one[3], x[i])" : "", o, name, o,
                    order == 2 || order == 3 ? "relaxed" : o, order == 1 || order == 3 ? "relaxed" : o);
                const vyre_span inputs[4] = {{x, size * LENGTH}, {y, size * LENGTH}, {y, size * 8}, {y, size * LENGTH}};
                try_text(text, inputs, 4);
            }
    printf("%llu programs\n", (unsigned long long)judged);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_gives_the_bits_of_the_oracle),
        cmocka_unit_test(ballots_give_the_bits_of_the_oracle),
        cmocka_unit_test(every_atomic_in_every_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
