/* Stack use at the nesting limits of the language: every step of the library on programs that nest as deeply as the
 * validator allows.
 *
 * Each step runs on a thread whose stack this test owns. The stack is filled with a pattern before and scanned after,
 * so the test compares bytes, not crashes: a step that needs more than STACK_MOST fails with the name of the step and
 * of the program. Below the stack lies a guard page. */
#include "lower/runner.h"

#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "ir/model.h"
#include "opt/coarsen.h"
#include "opt/pass_manager.h"
#include "opt/policies.h"
#include "split/grid_split.h"
#include "split/grid_tile.h"
#include "vyre/oracle.h"
#include "vyre/transform.h"
#include "vyre/wire.h"

#include <pthread.h>
#include <sys/mman.h>

/* The goal is half of the smallest stack that hosts give threads (512 KiB). Frames of sanitized builds are several
 * times as large. */
enum {
    STACK_BYTES = VY_SANITIZED ? 4 << 20 : 1 << 20,
    STACK_MOST = VY_SANITIZED ? 2 << 20 : 256 << 10,
    PATTERN = 0xa5
};

/* ---- texts ---- */

typedef struct text {
    char *data;
    size_t size, room;
} text;

__attribute__((format(printf, 2, 3))) static void add(text *t, const char *format, ...) {
    va_list list;
    if (t->room - t->size < 4096) {
        t->room = 2 * t->room + 65536;
        t->data = realloc(t->data, t->room);
        assert_non_null(t->data);
    }
    va_start(list, format);
    t->size += (size_t)vsnprintf(t->data + t->size, t->room - t->size, format, list);
    va_end(list);
}

/* An expression as deep as the language allows: `open` so many times, `inner`, `close` as often. */
typedef struct deep {
    const char *name, *open, *inner, *close;
    unsigned count;
} deep;

static const deep deeps[] = {
    {"a left chain", "", "k", " + x[i]", 511},
    {"a right chain", "k + (", "k", ")", 511},
    {"parentheses", "(", "k", ")", 511},
    {"parentheses and operators", "k * (i + (", "k", "))", 255},
    {"unary operators", "~", "k", "", 511},
    {"unary operators and parentheses", "~(", "k", ")", 511},
    {"selects", "k < 7 ? i : ", "k", "", 509},
    {"selects in conditions", "(", "k", " == 3 ? 1u32 : 2)", 255},
    {"selects in parentheses", "k < 7 ? (i < 3 ? ", "k", " : 1) : 2", 255},
    {"loads", "x[", "i", "]", 511},
    {"loads of sums", "x[1 + ", "i", "]", 255},
    {"casts", "u32(u64(", "k", "))", 255},
    {"minima", "min(k, ", "k", ")", 511},
    {"divisions", "", "k", " / 7 + 1", 255},
    {"divisions by values", "", "k", " / x[i] + 1", 255},
    {"floats", "u32(f32(", "k", ") / 3.0)", 170},
    {"doubles", "u32(f64(", "k", ") / 3.0)", 170},
    {"narrow integers", "u32(u8(", "k", ") * 3)", 170},
    {"halves", "u32(f16(", "k", ") * 3.0)", 170},
    {"calls", "f(", "k", ")", 511},
    {"conditions", "(k > 1 || (k < 7 && ", "true", "))", 250},
    {"atomics", "atomic_add(x[", "i", "], 1)", 250},
};

/* Blocks in one another, each opened by `open`. */
typedef struct block {
    const char *name, *open;
} block;

static const block blocks[] = {
    {"ifs", "if x[i] > %u {\n"},
    {"else ifs", "if x[i] == %u { k = k + 1 } else "},
    {"elses", "if x[i] == %u { k = k + 1 } else {\n"},
    {"fors", "for j%u in 0u32 .. x[i] {\n"},
    {"counted fors", "for j%u in 0u32 .. 3 {\n"},
    {"whiles", "while x[i] > k {\nk = k + %u\n"},
    {"regions", "region \"r%u\" {\n"},
    {"uniform ifs", "if n > %u {\n"}, /* with a grid barrier inside */
};
enum { DEEPS = sizeof deeps / sizeof *deeps, BLOCKS = sizeof blocks / sizeof *blocks };

static const deep *deep_named(const char *name) {
    for (unsigned i = 0; i < DEEPS; i++)
        if (strcmp(deeps[i].name, name) == 0)
            return &deeps[i];
    return NULL;
}

static void add_deep(text *t, const deep *d) {
    for (unsigned i = 0; i < d->count; i++)
        add(t, "%s", d->open);
    add(t, "%s", d->inner);
    for (unsigned i = 0; i < d->count; i++)
        add(t, "%s", d->close);
}

/* The call of f is a block of its own, and has another inside. */
enum { MOST_BLOCKS = VY_LIMIT_NESTING - 2 };

static text text_of_blocks(const block *b, const deep *d) {
    int is_chain = strcmp(b->name, "else ifs") == 0, meets = strcmp(b->name, "uniform ifs") == 0;
    unsigned count = is_chain ? MOST_BLOCKS - 1 : MOST_BLOCKS;
    int is_bool = strcmp(d->name, "conditions") == 0;
    text t = {0};
    add(&t, "fn f(a: u32) -> u32 { return a + 1 }\n"
            "program p {\nparam n : u32\nbuffer x : u32 read_write\nworkgroup 64\n"
            "grid over x\nlet i = global_id.x\nvar k = n\n");
    for (unsigned i = 0; i < count; i++) {
        char line[128];
        snprintf(line, sizeof line, b->open, i); // NOLINT: a literal of the table above
        add(&t, "%s", line);
    }
    if (is_chain)
        add(&t, "{\n");
    if (meets)
        add(&t, "grid_barrier\n");
    add(&t, is_bool ? "x[i] = u32(" : "x[i] = ");
    add_deep(&t, d);
    add(&t, is_bool ? ")\n" : "\n");
    for (unsigned i = 0; i < (is_chain ? 1 : count); i++)
        add(&t, "}\n");
    add(&t, "}\n");
    return t;
}

/* Functions that call one another, each with a deep expression. */
static text text_of_functions(const deep *d) {
    text t = {0};
    for (unsigned i = 0; i < VY_LIMIT_CALL_DEPTH; i++) {
        add(&t, "fn g%u(i: u32, x: buffer [u32] read_write) -> u32 {\nvar k = i\n", i);
        if (i)
            add(&t, "k = g%u(k, x)\n", i - 1);
        add(&t, "return ");
        add_deep(&t, d);
        add(&t, "\n}\n");
    }
    add(&t,
        "program p {\nparam n : u32\nbuffer x : u32 read_write\nworkgroup 64\ngrid over x\nlet i = global_id.x\n"
        "x[i] = g%u(i, x)\n}\n",
        VY_LIMIT_CALL_DEPTH - 1);
    return t;
}

/* Values that are made of one another, by `line`. */
static text text_of_values(const char *line, unsigned count) {
    text t = {0};
    add(&t, "program p {\nparam n : u32\nbuffer x : u32 read_write\nworkgroup 64\ngrid over x\n"
            "let i = global_id.x\nlet v0 = i + n\nvar k = n\n");
    for (unsigned i = 0; i < count; i++) {
        char text[128];
        snprintf(text, sizeof text, line, i + 1, i); // NOLINT: literals of this file
        add(&t, "%s", text);
    }
    add(&t, "x[i] = v%u + k\n}\n", count);
    return t;
}

/* The same with a deep expression of the value before in each. */
static text text_of_deep_values(const deep *d, const char *first) {
    text t = {0};
    int is_bool = strcmp(first, "true") == 0;
    add(&t,
        "program p {\nparam n : u32\nbuffer x : u32 read_write\nworkgroup 64\ngrid over x\n"
        "let i = global_id.x\nlet k = i & 15\nlet v0 = %s\n",
        is_bool ? "i < n" : first);
    for (unsigned j = 0; j < 100; j++) {
        add(&t, "let v%u = ", j + 1);
        for (unsigned l = 0; l < d->count; l++)
            add(&t, "%s", d->open);
        add(&t, "v%u", j);
        for (unsigned l = 0; l < d->count; l++)
            add(&t, "%s", d->close);
        add(&t, "\n");
    }
    add(&t, is_bool ? "if v100 { x[i] = 1 }\n}\n"
                    : "if v100 < len(x) { x[v100] = 1 }\nif i < v100 { x[i] = v100 }\nx[v100 >> 1] = 2\n}\n");
    return t;
}

/* ---- steps ---- */

typedef struct subject {
    const char *blocks, *deep;
    text text;
    vyre_program *program;
} subject;

static vyre_status step_parse(const subject *s, vyre_error *error) {
    vyre_module *module = NULL;
    vyre_status status = vyre_text_parse(s->text.data, s->text.size, NULL, NULL, &module, error);
    vyre_module_free(module);
    return status;
}

static int tell_op(void *user, const char *id, size_t length, vyre_op_signature *out) {
    (void)user;
    (void)id;
    (void)length;
    *out =
        (vyre_op_signature){.input_count = 1, .output_count = 1, .inputs = {VYRE_TYPE_U32}, .outputs = {VYRE_TYPE_U32}};
    return 1;
}

/* Of any text, with ops that somebody knows. */
static vyre_status step_parse_any(const subject *s, vyre_error *error) {
    vyre_module *module = NULL;
    vyre_parse_options options = {.op_signature = tell_op};
    vyre_bytes out = VYRE_BYTES_INIT;
    (void)vyre_text_format(s->text.data, s->text.size, NULL, NULL, &out, error);
    vyre_bytes_free(&out);
    vyre_status status = vyre_text_parse(s->text.data, s->text.size, &options, NULL, &module, error);
    vyre_module_free(module);
    return status == VYRE_INVALID_PROGRAM ? VYRE_OK : status;
}

static vyre_status step_format(const subject *s, vyre_error *error) {
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_status status = vyre_text_format(s->text.data, s->text.size, NULL, NULL, &out, error);
    vyre_bytes_free(&out);
    return status;
}

static vyre_status step_print(const subject *s, vyre_error *error) {
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_status status = vyre_text_print(s->program, &out, error);
    vyre_bytes_free(&out);
    return status;
}

static vyre_status step_wire(const subject *s, vyre_error *error) {
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_program *again = NULL;
    vyre_status status = vyre_wire_encode(s->program, 0, &out, error);
    if (status == VYRE_OK)
        status = vyre_wire_decode(out.data, out.size, NULL, &again, error);
    vyre_program_release(again);
    vyre_bytes_free(&out);
    return status;
}

static vyre_status step_inline(const subject *s, vyre_error *error) {
    vyre_program *flat = NULL;
    vyre_status status = vyre_program_inline(s->program, &flat, error);
    vyre_program_release(flat);
    return status;
}

static vyre_status optimise(const subject *s, const vy_opt_policy *rules, vyre_error *error) {
    vyre_program *out = NULL;
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_status status = vy_optimize_by(s->program, &level, rules, &out, NULL, error);
    vyre_program_release(out);
    return status;
}

static vyre_status step_optimise(const subject *s, vyre_error *error) {
    return optimise(s, &vy_opt_default, error);
}

static vyre_status step_optimise_far(const subject *s, vyre_error *error) {
    return optimise(s, opt_policy_of(POLICY_LATE), error);
}

static vyre_status step_optimise_meet(const subject *s, vyre_error *error) {
    return optimise(s, opt_policy_of(POLICY_CPU), error);
}

static vyre_status step_widen(const subject *s, vyre_error *error) {
    vy_coarsened widened = {0};
    vyre_status status = vy_coarsen(
        s->program, &(vy_target_desc){.access_bytes = 16, .coarsen = VY_COARSEN_IF_POSSIBLE}, &widened, error);
    vyre_program_release(widened.program);
    return status;
}

static vyre_status legalise(const subject *s, const vy_target_desc *target, vyre_error *error) {
    vyre_program *legal = NULL;
    vyre_status status = vy_legalize(s->program, target, &legal, error);
    vyre_program_release(legal);
    return status;
}

static vyre_status step_legalise_exact(const subject *s, vyre_error *error) {
    return legalise(
        s, &(vy_target_desc){.exact = ALL_BITS, .native_collectives = 1, .zeroes_arrays = 1, .aligned_buffers = 1},
        error);
}

static vyre_status step_legalise_nothing(const subject *s, vyre_error *error) {
    return legalise(s, &(vy_target_desc){.cancellable = 1}, error);
}

static vyre_status step_legalise_without_64(const subject *s, vyre_error *error) {
    return legalise(s, &(vy_target_desc){.exact = ALL_BITS & ~BIT(INT64), .access_bytes = 16, .cancellable = 1}, error);
}

static vyre_status step_split(const subject *s, vyre_error *error) {
    vy_split *split = NULL;
    vyre_status status = vy_grid_split(s->program, &split, error);
    vy_split_free(split);
    return status;
}

static vyre_status step_base(const subject *s, vyre_error *error) {
    vyre_program *out = NULL;
    vyre_status status = vy_grid_tile(s->program, &out, error);
    vyre_program_release(out);
    return status == VYRE_INVALID_ARGUMENT ? VYRE_OK : status; /* it has grid barriers */
}

static vyre_status step_ptx(const subject *s, vyre_error *error) {
    const vy_target_desc target = vy_ptx_target(90, 1);
    vy_compiled compiled;
    vy_ptx_code code;
    vyre_status status = vy_compile_pipeline(s->program, &target, NULL, &compiled, error);
    if (status == VYRE_OK)
        status = vy_ptx_emit(compiled.program, &(vy_ptx_options){.architecture = 90}, &code, error);
    if (status == VYRE_OK)
        vy_ptx_free(&code);
    vyre_program_release(compiled.program);
    return status;
}

/* The first buffer is `x`, and a run ends early: what is deep is reached at once, or never. */
static vyre_status step_oracle(const subject *s, vyre_error *error) {
    vyre_oracle *oracle = NULL;
    uint32_t data[4] = {0, 1, 0, 2};
    vyre_span input = {data, sizeof data};
    vyre_scalar n = {VYRE_TYPE_U32, 1};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1, .params = &n, .param_count = 1};
    vyre_oracle_options options = {.threads = 1, .checks = VYRE_CHECK_ALL, .budget = 2000};
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_oracle_report report;
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_status status = vyre_oracle_new(s->program, &oracle, error);
    if (status == VYRE_OK)
        status = vyre_oracle_run(oracle, &arguments, &options, &out, &report, found, error);
    if (status == VYRE_BUDGET || status == VYRE_CHECK_FAILED)
        status = VYRE_OK;
    vyre_oracle_free(oracle);
    vyre_diagnostics_free(found);
    vyre_bytes_free(&out);
    return status;
}

enum { STEP_PARSE_ANY };
typedef vyre_status step(const subject *s, vyre_error *error);
static const struct {
    const char *name;
    step *run;
} steps[] = {
    [STEP_PARSE_ANY] = {"parse any", step_parse_any},
    {"parse", step_parse},
    {"format", step_format},
    {"print", step_print},
    {"wire", step_wire},
    {"inline", step_inline},
    {"optimise", step_optimise},
    {"optimise far", step_optimise_far},
    {"optimise meet", step_optimise_meet},
    {"widen", step_widen},
    {"legalise exact", step_legalise_exact},
    {"legalise nothing", step_legalise_nothing},
    {"legalise without 64", step_legalise_without_64},
    {"ptx", step_ptx},
    {"oracle", step_oracle},
    {"grid split", step_split},
    {"grid base", step_base},
};
enum { STEPS = sizeof steps / sizeof *steps };

/* ---- the thread ---- */

typedef struct task {
    step *run;
    const subject *subject;
    vyre_status status;
    vyre_error error;
} task;

static void *run_task(void *user) {
    task *t = user;
    t->status = t->run(t->subject, &t->error);
    return NULL;
}

static uint8_t *stack;

static struct {
    size_t used;
    char where[128];
} most[STEPS];

/* Bytes of the stack that the step wrote, with what the C library keeps there for the thread. Only what the step before
 * wrote is painted again, and what is untouched is compared in blocks. */
static size_t stack_use(task *t) {
    enum { BLOCK = 4096 };
    static uint8_t paint[BLOCK];
    static size_t untouched;
    pthread_attr_t attributes;
    pthread_t thread;
    memset(paint, PATTERN, BLOCK);
    memset(stack + untouched, PATTERN, STACK_BYTES - untouched);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_task, t), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    untouched = 0;
    while (untouched < STACK_BYTES && memcmp(stack + untouched, paint, BLOCK) == 0)
        untouched += BLOCK;
    while (untouched < STACK_BYTES && stack[untouched] == PATTERN)
        untouched++;
    return STACK_BYTES - untouched;
}

/* What a step may say: UNSUPPORTED of what a target cannot do, LIMIT where what it makes would be too deep. */
static void judge_step(unsigned i, const subject *s) {
    task task = {.run = steps[i].run, .subject = s, .error = VYRE_ERROR_INIT};
    size_t used = stack_use(&task);
    if (task.status != VYRE_OK && task.status != VYRE_LIMIT && task.status != VYRE_UNSUPPORTED)
        fail_msg("%s of %s in %s: %s", steps[i].name, s->deep, s->blocks, task.error.message);
    if (used > STACK_MOST)
        fail_msg("%s of %s in %s needs %zu bytes of stack (limit %d)", steps[i].name, s->deep, s->blocks, used,
                 STACK_MOST);
    if (used <= most[i].used)
        return;
    most[i].used = used;
    snprintf(most[i].where, sizeof most[i].where, "%s in %s", s->deep, s->blocks);
}

static void judge(const char *in, const char *of, text t) {
    vyre_module *module = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_text_parse(t.data, t.size, NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s in %s: %s (%s)", of, in, error.message, error.where);
    subject s = {.blocks = in, .deep = of, .text = t, .program = vyre_module_program(module, 0)};
    for (unsigned i = 0; i < STEPS; i++)
        judge_step(i, &s);
    vyre_module_free(module);
    free(t.data);
}

static void show(void) {
    for (unsigned i = 0; i < STEPS; i++)
        if (most[i].used)
            print_message("%-20s %5zu KiB  %s\n", steps[i].name, most[i].used >> 10, most[i].where);
    memset(most, 0, sizeof most);
}

/* ---- tests ---- */

static void deep_expressions_in_nested_blocks_fit(void **state) {
    (void)state;
    for (unsigned d = 0; d < DEEPS; d++)
        for (unsigned b = 0; b < BLOCKS; b++)
            if (d % BLOCKS == b || (b == 0 && !VY_SANITIZED) || vy_test_effort() > 1)
                judge(blocks[b].name, deeps[d].name, text_of_blocks(&blocks[b], &deeps[d]));
    for (unsigned b = 0; b < BLOCKS; b += VY_SANITIZED ? 4 : 1) /* those that take most */
        judge(blocks[b].name, "minima", text_of_blocks(&blocks[b], deep_named("minima")));
    show();
}

static void functions_that_call_one_another_fit(void **state) {
    (void)state;
    static const char *const names[] = {"a left chain", "minima", "loads", "selects", "doubles"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i += VY_SANITIZED ? 3 : 1)
        judge("functions", names[i], text_of_functions(deep_named(names[i])));
    show();
}

/* What follows values of `let` back must not recurse as far as they go. */
static void long_chains_of_values_fit(void **state) {
    (void)state;
    static const char *const lines[] = {
        "let v%u = v%u + 1\n",     "let v%u = v%u * i\n", "let v%u = x[v%u]\n",          "let v%u = v%u / 7\n",
        "let v%u = min(v%u, i)\n", "let v%u = v%u\n",     "let v%u = v%u < 7 ? i : n\n",
    };
    static const deep values[] = {
        {"sums", "", "", " + 1", 511},      {"sums of ids", "", "", " + k", 511}, {"minima", "min(k, ", "", ")", 511},
        {"ands", "(k & ", "", ")", 511},    {"shifts", "", "", " >> 1", 511},     {"differences", "", "", " - 1", 511},
        {"quotients", "", "", " / 2", 511}, {"remainders", "", "", " % n", 511},  {"products", "", "", " * 3", 511},
    };
    static const deep conditions[] = {
        {"ands", "(k < 7 && ", "", ")", 511},
        {"ors", "(k < 7 || ", "", ")", 511},
        {"nots", "!", "", "", 511},
    };
    for (unsigned i = 0; i < sizeof values / sizeof *values; i += VY_SANITIZED ? 3 : 1) {
        judge("a chain of deep values", values[i].name, text_of_deep_values(&values[i], "x[i]"));
        judge("a chain of deep values of ids", values[i].name, text_of_deep_values(&values[i], "i"));
    }
    for (unsigned i = 0; i < sizeof conditions / sizeof *conditions; i++)
        judge("a chain of conditions", conditions[i].name, text_of_deep_values(&conditions[i], "true"));
    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++)
        judge("a chain", lines[i], text_of_values(lines[i], VY_SANITIZED ? 500 : 4000));
    show();
}

/* Of a text that is nested too deeply, or not closed, the parser sees only so much. */
static void texts_that_are_too_deep_fit(void **state) {
    (void)state;
    enum { BOMB = VY_SANITIZED ? 2000 : 20000 };
    static const deep bombs[] = {
        {"parentheses", "(", "1u32", ")", BOMB},
        {"minus signs", "-", "1u32", "", BOMB},
        {"right operands", "1 + (", "1u32", ")", BOMB},
        {"operators of every strength", "k || k && k == k | k ^ k & k << k + k * (", "k", ")", BOMB},
        {"selects", "true ? ", "1", " : 2", BOMB},
        {"selects at the end", "true ? 1 : ", "2", "", BOMB},
        {"loads", "x[", "i", "]", BOMB},
        {"loads in parentheses", "(x[(", "i", ")])", BOMB},
        {"guarded loads", "x![1 if ", "i", "]", BOMB},
        {"calls", "f(", "k", ")", BOMB},
        {"calls in parentheses", "(f((", "k", ")))", BOMB},
        {"calls of ops", "a.b(", "k", ")", BOMB},
        {"calls of ops with attributes", "a.b<c = 1, d = true>(", "k", ")", BOMB},
        {"minima", "min(1, ", "k", ")", BOMB},
        {"casts", "u32(", "k", ")", BOMB},
        {"bitcasts", "bitcast<u32>(", "k", ")", BOMB},
        {"collectives", "subgroup_reduce_add<32>(", "k", ")", BOMB},
        {"atomics", "atomic_add(x[", "k", "], 1)", BOMB},
        {"open calls", "f(", "", "", BOMB},
        {"blocks", "0u32\nif true {\n", "", "}", BOMB},
        {"else ifs", "0u32\nif true { } else ", "{ }", "", BOMB},
        {"functions in functions", "0u32\nfn f() {\n", "", "}\n", BOMB},
        {"programs in programs", "0u32\nprogram p {\n", "", "}\n", BOMB},
        {"blocks without a head", "0u32\n{\n", "", "}\n", BOMB},
        {"lengths", "1\narray a : u32 [", "3", "] private", BOMB},
    };
    for (unsigned i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        static const char *const heads[] = {
            "program p { buffer x : u32 read_write\nvar k = ", "program p { buffer x : u32 read count ", "const c = "};
        for (unsigned k = 0; k < sizeof heads / sizeof *heads; k += VY_SANITIZED ? 3 : 1) {
            text t = {0};
            add(&t, "%s", heads[k]);
            add_deep(&t, &bombs[i]);
            add(&t, "\n}\n");
            subject s = {.blocks = heads[k], .deep = bombs[i].name, .text = t};
            judge_step(STEP_PARSE_ANY, &s);
            free(t.data);
        }
    }
    show();
}

static int make_stack(void **state) {
    (void)state;
    size_t page = 4096;
    stack = mmap(NULL, STACK_BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, page, PROT_NONE) != 0)
        return -1;
    stack += page;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_expressions_in_nested_blocks_fit),
        cmocka_unit_test(functions_that_call_one_another_fit),
        cmocka_unit_test(long_chains_of_values_fit),
        cmocka_unit_test(texts_that_are_too_deep_fit),
    };
    return cmocka_run_group_tests(tests, make_stack, NULL);
}
