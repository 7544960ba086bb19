/* Programs at the limits of the language, and large ones, through everything in the room: each pass, all of them,
 * widening, and legalisation for targets from the best to the worst. What comes out is a program, or an error that says
 * what to do; and it comes in time. */
#include "lower/holds.h"
#include "lower/runner.h"

#include "compile/pipeline.h"
#include "opt/coarsen.h"
#include "opt/pass_manager.h"
#include "opt/policies.h"
#include "vyre/transform.h"

#include <time.h>

static const vy_target_desc targets[] = {
    {.exact = ALL_BITS, .native_collectives = 1, .zeroes_arrays = 1, .aligned_buffers = 1, .access_bytes = 16},
    {.exact = 0},
    {.exact = 0, .subgroup_width = 32, .cancellable = 1, .access_bytes = 16},
    {.exact = 0, .subgroup_width = 4, .native_collectives = 1, .access_bytes = 4},
    {.exact = BIT(INT64), .subgroup_width = 64, .cancellable = 1, .access_bytes = 8},
    {.exact = ALL_BITS & ~BIT(F32_SUBNORMAL), .subgroup_width = 33, .access_bytes = 5},
};
enum { TARGETS = sizeof targets / sizeof *targets };

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

static void add_many(text *t, unsigned count, const char *piece) {
    for (unsigned i = 0; i < count; i++)
        add(t, "%s", piece);
}

static vyre_program *program_of(text *t) {
    vyre_module *module = NULL;
    vyre_error error = {0};
    if (vyre_text_parse(t->data, t->size, NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s\nin %.2000s", error.message, t->data);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    free(t->data);
    *t = (text){0};
    return program;
}

/* ---- judging ---- */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A program, or an error with a fix; and soon: each takes a fraction of that, alone on its core. */
static void is_answer(const char *what, const char *by, vyre_status status, const vyre_error *error, double start) {
    double took = seconds() - start;
    if (took > (VY_SANITIZED ? 60 : 12))
        fail_msg("%s: %s takes %.2f s", what, by, took);
    if (status == VYRE_OK)
        return;
    if (status != VYRE_LIMIT && status != VYRE_UNSUPPORTED)
        fail_msg("%s: %s gives %s: %s", what, by, vyre_status_name(status), error->message);
    if (!error->message[0] || !error->fix[0])
        fail_msg("%s: %s does not say what is wrong and what to do", what, by);
}

static vyre_status legalised_for(const char *what, vyre_program *program, unsigned target) {
    vyre_program *legal = NULL;
    vyre_error error = {0};
    char by[40];
    double start = seconds();
    snprintf(by, sizeof by, "legalising for target %u", target);
    vyre_status status = vy_legalize(program, &targets[target], &legal, &error);
    is_answer(what, by, status, &error, start);
    const char *fault = status == VYRE_OK ? legal_fault(legal, &targets[target]) : NULL;
    if (fault)
        fail_msg("%s: %s: %s", what, by, fault);
    vyre_program_release(legal);
    return status;
}

static void everything(const char *what, vyre_program *program) {
    vyre_error error = {0};
    vyre_program *flat = NULL, *out = NULL;
    double start = seconds();
    assert_int_equal(vyre_program_inline(program, &flat, NULL), VYRE_OK);
    is_answer(what, "inlining", VYRE_OK, &error, start);
    for (int i = 0; i < VYRE_PASS_COUNT; i++) {
        uint64_t changes;
        int refused;
        start = seconds();
        vyre_status status = vy_pass_run((vyre_pass)i, flat, &vy_opt_default, &out, &changes, &refused, &error);
        is_answer(what, vyre_pass_name((vyre_pass)i), status, &error, start);
        vyre_program_release(out);
    }
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    start = seconds();
    vyre_status status = vyre_program_optimize(program, &level, &out, NULL, &error);
    is_answer(what, "optimising", status, &error, start);
    vyre_program_release(out);
    vy_coarsened widened = {0};
    start = seconds();
    status =
        vy_coarsen(program, &(vy_target_desc){.access_bytes = 16, .coarsen = VY_COARSEN_IF_POSSIBLE}, &widened, &error);
    is_answer(what, "widening", status, &error, start);
    vyre_program_release(widened.program);
    vyre_program_release(flat);
    for (unsigned i = 0; i < TARGETS; i++)
        legalised_for(what, program, i);
}

static void judge(const char *what, text *t) {
    vyre_program *program = program_of(t);
    everything(what, program);
    vyre_program_release(program);
}

/* ---- declarations ---- */

static void many_buffers_and_params(void **state) {
    (void)state;
    text t = {0};
    static const char *const types[] = {"u64", "f64", "u8", "f16"};
    for (int k = 0; k < 4; k += VY_SANITIZED ? 3 : 2) {
        add(&t, "program p {\n");
        for (int i = 0; i < 255; i++)
            add(&t, "buffer b%d : %s read_write\n", i, types[k]);
        add(&t, "workgroup 64\ngrid over b0\nlet i = global_id.x\n");
        for (int i = 0; i < 255; i++)
            add(&t, "b%d[i] = b%d[i + 1] + b%d[i]\n", i, i, i);
        add(&t, "}\n");
        judge("255 buffers", &t);
        add(&t, "program p {\n");
        for (int i = 0; i < 255; i++)
            add(&t, "param p%d : %s\n", i, k ? "u32" : "u64");
        add(&t, "buffer x : %s read_write\nworkgroup 64\ngrid over x\nlet i = global_id.x\n", k ? types[k] : "u32");
        for (int i = 0; i < 255; i++)
            add(&t, "if i == %d { x[i] = %s(p%d) }\n", i, k ? types[k] : "u32", i);
        add(&t, "}\n");
        judge("255 params", &t);
    }
    add(&t, "program p {\nbuffer x : u32 read_write\nworkgroup 64\ngrid over x\n");
    for (int i = 0; i < 255; i++)
        add(&t, "array a%d : u32 [%d] %s\n", i, i + 1, i % 2 ? "private" : "workgroup");
    add(&t, "let i = global_id.x\n");
    for (int i = 0; i < 255; i++)
        add(&t, "a%d[%s] = x[i]\n", i, i % 2 ? "i" : "local_index");
    add(&t, "let s = workgroup_reduce_add(x[i])\nx[i] = s + a1[i] + a2[local_index]\n}\n");
    judge("255 arrays", &t);
}

static void large_memories(void **state) {
    (void)state;
    text t = {0};
    add(&t,
        "program p {\nbuffer x : u64 read count 4294967295\nbuffer y : u64 read_write\nworkgroup 1024\ngrid over x\n"
        "y[global_id.x] = x[global_id.x] + u64(len(x)) + x[4294967294]\n}\n");
    judge("4 Gi elements", &t);
    add(&t, "program p {\nbuffer x : u8 read_write count 4294967295\nworkgroup 1024\ngrid over x\n"
            "let i = global_id.x\nif i < len(x) { x[i] = x[i] + 1 }\n}\n");
    judge("4 Gi bytes", &t);
    add(&t, "program p {\nbuffer x : u32 read_write\nworkgroup 1024\ngrid over x\narray t : u32 [262144] workgroup\n"
            "t[local_index] = x[global_id.x]\nlet s = workgroup_reduce_add(t[local_index])\nx[global_id.x] = s\n}\n");
    judge("all workgroup memory", &t);
    add(&t, "program p {\nbuffer x : f64 read_write\nworkgroup 1024\ngrid over x\narray t : u64 [8192] private\n"
            "t[global_id.x] = u64(x[global_id.x])\nlet s = subgroup_scan_inclusive_mul<64>(x[global_id.x])\n"
            "x[global_id.x] = s + f64(t[3])\n}\n");
    judge("all private memory", &t);
}

static void names_that_phases_use(void **state) {
    (void)state;
    static const char *const names[] = {"exchange", "votes",    "ended", "stopped", "t1",    "index",  "lane",
                                        "base",     "size",     "x_1",   "harm",    "value", "result", "low",
                                        "high",     "groups_x", "kept",  "block",   "sum",   "half",   "add_f32"};
    enum { COUNT = sizeof names / sizeof *names };
    text t = {0};
    char longest[129] = {0};
    memset(longest, 'n', 128);
    for (int k = 0; k < 3; k++) {
        add(&t, "program exchange {\n");
        for (int i = 0; i < COUNT; i++)
            add(&t, "%s %s : %s\n", k == 0 ? "param" : "buffer", names[i],
                k == 0   ? "f64"
                : k == 1 ? "u64 read_write"
                         : "f16 read_write");
        add(&t, "buffer %s : f32 read_write\nworkgroup 32\ngrid over %s\narray out : f32 [3] workgroup\n", longest,
            longest);
        add(&t, "let i = global_id.x\nif i == 77 { trap 3 }\nlet i_2 = workgroup_reduce_add(%s[i])\n", longest);
        longest[127] = 'm';
        add(&t, "let %s = subgroup_ballot<64>(i_2 > 3)\n", longest);
        longest[127] = 'n';
        add(&t, "out[local_index] = i_2\nbarrier\n%s[i] = out[2] / i_2\n", longest);
        for (int i = 0; i < COUNT; i++)
            add(&t, k == 0 ? "%s[i] = fma(f32(%s), %s[i], 2.0)\n" : "%s[i] = f32(%s[i] * %s[i + 1])\n", longest,
                names[i], k == 0 ? longest : names[i]);
        add(&t, "}\n");
        judge("names", &t);
    }
}

static void little(void **state) {
    (void)state;
    text t = {0};
    add(&t, "program p {\nworkgroup 1\ngrid 1\n}\n");
    judge("nothing", &t);
    add(&t, "program p {\nbuffer x : f64 read\nworkgroup 1, 1, 1024\n}\n");
    judge("nothing of something", &t);
    add(&t, "program p {\nbuffer g : u32 read\nbuffer x : u64 read_write\nworkgroup 64\ngrid indirect g\n"
            "let i = global_id.x\nx[i] = x[i] + 1\nlet s = workgroup_reduce_add(x[i])\nif s == 3 { trap 4 }\n}\n");
    judge("an indirect grid", &t);
    add(&t, "program p {\nbuffer x : u64 write count 0\nworkgroup 1\ngrid 0\nx[0] = 1\n}\n");
    judge("no elements", &t);
}

/* ---- depth ---- */

static void nested_blocks(void **state) {
    (void)state;
    static const char *const opens[] = {"if x[i] > 3 {\n", "for j%d in 0u32 .. x[i] {\n",
                                        "while x[i + 1] > k {\nk = k + 1\n", "if k > %d {\n",
                                        "for j%d in 0u64 .. u64(x[i]) {\n"};
    static const char *const inner[] = {"x[i] = u32(y[i] / 3)",
                                        "barrier",
                                        "trap k",
                                        "k = k + workgroup_reduce_add(k)",
                                        "f = fma(f, f, y[k])\nx[k] = u32(f)",
                                        "break",
                                        "return"};
    text t = {0};
    for (unsigned o = 0; o < sizeof opens / sizeof *opens; o++)
        for (unsigned b = 0; b < sizeof inner / sizeof *inner; b++) {
            int is_uniform = o == 3, is_loop = o == 1 || o == 2 || o == 4;
            if (((b == 1 || b == 3) && !is_uniform) || (b == 5 && !is_loop))
                continue;
            add(&t, "program p {\nparam n : u32\nbuffer x : u32 read_write\nbuffer y : f32 read\nworkgroup 64\n"
                    "grid over x\nlet i = global_id.x\nvar k = n\nvar f = f32(n)\n");
            if (b == 1 || b == 3)
                add(&t, "if i == 3 { trap 7 }\n");
            for (unsigned d = 0; d < VY_LIMIT_NESTING; d++) {
                char line[64];
                snprintf(line, sizeof line, opens[o], d); // NOLINT
                add(&t, "%s", line);
            }
            if (b == 3)
                add(&t, "let s = workgroup_reduce_add(k)\nx[i] = s\n");
            else
                add(&t, "%s\n", b == 4 ? "f = fma(f, f, y[k])\nx[i] = u32(f)" : inner[b]);
            add_many(&t, VY_LIMIT_NESTING + 1, "}\n");
            judge("nested blocks", &t);
        }
}

static void deep_expressions(void **state) {
    (void)state;
    static const char *const types[] = {"u32", "u64", "i64", "f32", "f64", "f16", "bf16", "u8", "i16"};
    static const char *const tails[] = {" + x[i])", " / x[i])", " * y[i])"};
    text t = {0};
    for (unsigned k = 0; k<sizeof types / sizeof *types; k += vy_test_effort()> 1 ? 1 : VY_SANITIZED ? 4 : 2) {
        add(&t,
            "program p {\nbuffer x : %s read_write\nbuffer y : %s read\nworkgroup 64\ngrid over x\n"
            "let i = global_id.x\nx[i] = ",
            types[k], types[k]);
        add_many(&t, 500, "(");
        add(&t, "x[i]");
        add_many(&t, 500, tails[k % 3]);
        add(&t, "\n}\n");
        judge("a deep expression", &t);
    }
    add(&t, "program p {\nbuffer x : u32 read_write\nworkgroup 64\ngrid over x\nlet i = global_id.x\nx[i] = ");
    add_many(&t, 500, "x[");
    add(&t, "i");
    add_many(&t, 500, "]");
    add(&t, "\n}\n");
    judge("deep loads", &t);
    add(&t, "program p {\nbuffer x : f64 read_write\nworkgroup 64\ngrid over x\nlet i = global_id.x\nx[i] = ");
    add_many(&t, 250, "f64(u64(");
    add(&t, "x[i]");
    add_many(&t, 250, "))");
    add(&t, "\n}\n");
    judge("deep conversions", &t);
}

/* ---- size ---- */

static void add_lines(text *t, const char *format, unsigned count) {
    add(t, "program p {\nparam n : u32\nbuffer x : u32 read_write\nbuffer y : f32 read_write\nworkgroup 64\n"
           "grid over x\narray t : u32 [64] workgroup\nlet i = global_id.x\nvar v = i\nvar f = y[i]\n"
           "var h = f16(f)\nvar w = u64(i)\nvar d = f64(f)\n");
    for (unsigned n = 0; n < count; n++) {
        char line[128];
        snprintf(line, sizeof line, format, n % 60, n % 60); // NOLINT: a literal of the tables here
        add(t, "%s", line);
    }
    add(t, "x[i] = v\ny[i] = f + f32(h) + f32(d) + f32(w)\n}\n");
}

static void many_statements(void **state) {
    (void)state;
    static const char *const lines[] = {
        "v = v * 5 + x[v]\n",
        "x[v + %d] = x[v + %d + 1]\n",
        "if v == %d { trap 4 }\n",
        "if v == %d { v = v / 3 }\n",
        "for j in 0u32 .. x[%d] { v = v + j }\n",
        "while v > %d { v = v - 1 }\n",
        "x[i] = x[i + %d] + v\n",
        "f = f / y[%d]\n",
        "f = fma(f, f, f)\n",
        "h = h + h\n",
        "w = w * 3 + u64(v)\n",
        "d = d * d\n",
        "t[local_index] = v + %d\n",
        "atomic_add(x[%d], 1)\n",
        "barrier\n",
        "v = v + t[v]\n",
    };
    text t = {0};
    const unsigned count = (VY_SANITIZED ? 100 : 400) * vy_test_effort();
    for (unsigned k = 0; k < sizeof lines / sizeof *lines; k++) {
        add_lines(&t, lines[k], count);
        vyre_program *program = program_of(&t), *optimised = NULL;
        vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
        vyre_error error = {0};
        double start = seconds();
        vyre_status status = vyre_program_optimize(program, &level, &optimised, NULL, &error);
        is_answer(lines[k], "optimising", status, &error, start);
        vyre_program_release(optimised);
        legalised_for(lines[k], program, k % TARGETS);
        vyre_program_release(program);
    }
}

/* Hundreds of statements for each: it ends where the limit is, not where memory is. */
static void what_grows_over_the_limit_is_stopped(void **state) {
    (void)state;
    text t = {0};
    add_lines(&t, "d = fma(d, d, d)\n", VY_SANITIZED ? 100 : 15000);
    vyre_program *program = program_of(&t);
    assert_int_equal(legalised_for("fma", program, 1), VY_SANITIZED ? VYRE_OK : VYRE_LIMIT);
    vyre_program_release(program);
}

/* Loops of meetings are written out as long as there is room: what a backend takes as it is, it takes afterwards. */
static void many_loops_of_meetings(void **state) {
    (void)state;
    enum { LOOPS = VY_SANITIZED ? 1000 : 20000 };
    text t = {0};
    add(&t, "program p {\n buffer y : u32 read_write\n array a : u32[256] workgroup\n workgroup 256\n grid over y\n"
            " let l = local_id.x\n");
    for (unsigned i = 0; i < LOOPS; i++)
        add(&t, " var s%ux = 1u32\n while s%ux < 256 {\n  a[l] = a[l - s%ux]\n  barrier\n  s%ux = 2 * s%ux\n }\n", i, i,
            i, i, i);
    add(&t, " y[l] = a[l]\n}\n");
    vyre_program *program = program_of(&t), *optimised;
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_error error = {0};
    double start = seconds();
    vyre_status status = vy_optimize_by(program, &level, opt_policy_of(POLICY_CPU), &optimised, NULL, &error);
    is_answer("loops of meetings", "optimising", status, &error, start);
    assert_int_equal(status, VYRE_OK);
    uint64_t before = (uint64_t)program->stmts.count + program->exprs.count;
    uint64_t after = (uint64_t)optimised->stmts.count + optimised->exprs.count;
    if (after > 2 * before)
        fail_msg("%llu statements and expressions became %llu", (unsigned long long)before, (unsigned long long)after);
    vyre_program_release(optimised);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_buffers_and_params), cmocka_unit_test(large_memories),
        cmocka_unit_test(names_that_phases_use),   cmocka_unit_test(little),
        cmocka_unit_test(nested_blocks),           cmocka_unit_test(deep_expressions),
        cmocka_unit_test(many_statements),         cmocka_unit_test(what_grows_over_the_limit_is_stopped),
        cmocka_unit_test(many_loops_of_meetings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
