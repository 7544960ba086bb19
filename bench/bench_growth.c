/* Growth of the compile time with the size of a program: processor time per statement in every stage, over programs of
 * 1,000 to 16,000 statements in several shapes.
 *
 * usage: growth [--json] [--shape NAME] [--statements N]. After each shape the largest ratio of a time to that for
 * 1,000 statements is printed. The goal is 2 for `cpu` and `ptx`, which are the sums of the stages of a compile for the
 * processor and for sm_90. `decode` to `flatten` are processor time of the compile server; its limits are far above the
 * defaults, so that programs that it would refuse are measured, too. Every time is the best of a few runs. Without the
 * compiler its stages are 0. */
#include "backends/cpu/compile.h"
#include "base/string.h"
#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "ir/validate/validate.h"
#include "opt/pass_manager.h"
#include "vyre/text.h"
#include "vyre/transform.h"
#include "vyre/wire.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const unsigned sizes[] = {1000, 2000, 4000, 8000, 16000};
enum {
    SIZES = sizeof sizes / sizeof *sizes,
    RUNS = 3,
    ARCHITECTURE = 90,
    COMPILER_MIB = 65536,
    COMPILER_SECONDS = 600
};

/* No run is started after so much processor time. */
#define ENOUGH 2e9

/* ---- programs ---- */

/* `text` is added once for each k, then `end`, once or also for each k; together they have `statements` statements. In
 * both, @ is replaced by k, # by k + 1 and $ by a hash of k, eight hexadecimal digits. */
typedef struct shape {
    const char *name;
    unsigned statements;
    const char *array, *text, *end;
    int repeats_end;
} shape;

static const shape shapes[] = {
    {"chain", 1, "", "v = v * 5 + (v >> 7 ^ $)\n", "", 0},
    {"sums", 1, "", "v = v * 3 + (x[i] + $)\n", "", 0},
    {"lets", 1, "", "let v_# = v_@ * 5 + (v_@ >> 7)\n", "v = v_#\n", 0},
    {"stores", 1, "", "y[i + @ & 1023] = x[i ^ $ & 1023] + @\n", "", 0},
    {"places", 1, "", "y[u64(i) + $00000000] = v\n", "", 0},
    {"literals", 2, "", "let a_@ = u64(i) ^ $00000000\n", "w = w * a_@\n", 1}, /* they differ in their upper bits */
    {"variables", 2, "", "var a_@ = x[i] + $\n", "v = v * 3 + a_@\n", 1},
    {"loops", 2, "", "for j_@ in 0u32 .. (v & 3) {\nv = v * 3 + j_@\n}\n", "", 0},
    {"uniform", 2, "", "for j_@ in 0u32 .. p {\nv = v * 3 + j_@\n}\n", "", 0},
    {"ifs", 2, "", "if v & 1 == 0 {\nv = v * 3 + @\n}\n", "", 0},
    {"guards", 2, "", "if x[i + @ & 1023] != 0 {\ny[i ^ @ & 1023] = v\n}\n", "", 0},
    {"counters", 4, "", "var a_@ = x[i + @]\nfor j_@ in 0u32 .. (a_@ & 3) {\na_@ = a_@ * 3 + j_@\n}\n",
     "v = v * 3 + a_@\n", 1}, /* variables and blocks */
    {"barriers", 4, "array t : u32 [64] workgroup\n",
     "t[local_index] = v\nbarrier\nv = v + t[local_index ^ 1]\nbarrier\n", "", 0},
    {"mixed", 9, "array a : u32 [8] private\n", /* as bench_optimize.c */
     "let a_@ = x[i + @] & 0xff + 0\nlet b_@ = x[i + @] / 10 + a_@ % 7\nlet unused_@ = b_@ * a_@\na[3] = b_@\n"
     "v = (v ^ a[3]) * 16\nif a_@ < 256 {\nv = v + 1\n}\nfor j_@ in 0u32 .. p {\ny[i * 4 + j_@] = v + p * 3\n}\n",
     "", 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void add_text(vy_string *out, const char *text, unsigned k) {
    for (; *text; text++)
        if (*text == '@' || *text == '#')
            vy_string_format(out, "%u", k + (*text == '#'));
        else if (*text == '$')
            vy_string_format(out, "0x%08x", (k + 1) * 2654435761u);
        else
            vy_string_char(out, *text);
}

static void make_text(vy_string *out, const shape *s, unsigned statements) {
    unsigned n = statements / s->statements;
    vy_string_format(
        out,
        "program growth {\nparam p : u32\nbuffer x : u32 read count 1024\nbuffer y : u32 read_write count 1024\n"
        "buffer z : u64 read_write\nworkgroup 64\ngrid over y\n%s"
        "let i = global_id.x\nvar v = y[i]\nvar w = z[i]\nlet v_0 = v\n",
        s->array);
    for (unsigned k = 0; k < n; k++)
        add_text(out, s->text, k);
    for (unsigned k = s->repeats_end ? 0 : n - 1; k < n; k++)
        add_text(out, s->end, k);
    vy_string_add(out, "y[i] = v\nz[i] = w\n}\n");
}

/* ---- stages ---- */

#define STAGES(X)                                                                                                      \
    X(PARSE, "parse") /* with validation */                                                                            \
    X(VALIDATE, "validate")                                                                                            \
    X(OPTIMISE, "optimise")                                                                                            \
    X(LEGALISE, "legalise")                                                                                            \
    X(ENCODE, "encode")                                                                                                \
    X(DECODE, "decode") /* here and below in the order of VY_JIT_STEP_LIST */                                          \
    X(EMIT, "emit")                                                                                                    \
    X(PASSES, "passes")                                                                                                \
    X(GENERATE, "generate")                                                                                            \
    X(FLATTEN, "flatten")                                                                                              \
    X(LOAD, "load")                                                                                                    \
    X(CPU, "cpu") /* from optimise to load */                                                                          \
    X(PREPARE, "prepare")                                                                                              \
    X(WRITE, "write")                                                                                                  \
    X(PTX, "ptx")
enum {
#define X(ID, name) ID,
    STAGES(X)
#undef X
        STAGE_COUNT
};
_Static_assert(DECODE + VY_JIT_STEP_COUNT == LOAD, "every step of the compiler is a stage");

static const char *const stage_names[] = {
#define X(ID, name) name,
    STAGES(X)
#undef X
};

typedef double times[STAGE_COUNT]; /* nanoseconds of processor time */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Ends a stage that began at *since. */
static void end_stage(times taken, int stage, double *since) {
    taken[stage] = now() - *since;
    *since = now();
}

static vyre_status measure_server(const vy_cpu *cpu, const vy_jit_plugin *compiler, vyre_program *program,
                                  const vyre_bytes *wire, times taken, vyre_error *error) {
    uint64_t steps[VY_JIT_STEP_COUNT];
    vyre_bytes object = VYRE_BYTES_INIT;
    vy_cpu_executable *code;
    const vy_jit_request request = {.struct_size = sizeof request,
                                    .features = cpu->features,
                                    .wire = {wire->data, wire->size},
                                    .name = vyre_program_name(program),
                                    .keeps_width = 1,
                                    .memory_mib = COMPILER_MIB,
                                    .seconds = COMPILER_SECONDS,
                                    .times = steps};
    vyre_status status = compiler->compile(compiler, &request, &object, error);
    double since = now();
    if (status == VYRE_OK)
        status = vy_cpu_executable_new(program, (vyre_span){object.data, object.size}, cpu->features, &code, error);
    if (status == VYRE_OK) {
        end_stage(taken, LOAD, &since);
        for (int i = 0; i < VY_JIT_STEP_COUNT; i++)
            taken[DECODE + i] = (double)steps[i];
        vy_cpu_executable_release(code);
    }
    vyre_bytes_free(&object);
    return status;
}

/* As vy_cpu_compile does. */
static vyre_status measure_cpu(const vy_cpu *cpu, const vy_jit_plugin *compiler, vyre_program *program, times taken,
                               vyre_error *error) {
    const vyre_optimize_options best = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    const vy_opt_policy policy = vy_opt_policy_for(&cpu->target.unroll);
    vyre_program *optimised = NULL, *legal = NULL;
    vyre_bytes wire = VYRE_BYTES_INIT;
    double since = now();
    vyre_status status = vy_optimize_by(program, &best, &policy, &optimised, NULL, error);
    end_stage(taken, OPTIMISE, &since);
    if (status == VYRE_OK)
        status = vy_legalize(optimised, &cpu->target, &legal, error);
    end_stage(taken, LEGALISE, &since);
    if (status == VYRE_OK)
        status = vyre_wire_encode(legal, 0, &wire, error);
    end_stage(taken, ENCODE, &since);
    if (status == VYRE_OK && compiler)
        status = measure_server(cpu, compiler, program, &wire, taken, error);
    for (int i = OPTIMISE; i < CPU; i++)
        taken[CPU] += taken[i];
    vyre_bytes_free(&wire);
    vyre_program_release(legal);
    vyre_program_release(optimised);
    return status;
}

static vyre_status measure_ptx(vyre_program *program, times taken, vyre_error *error) {
    const vy_target_desc target = vy_ptx_target(ARCHITECTURE, 0);
    vy_compiled prepared;
    vy_ptx_code code = {0};
    double since = now();
    vyre_status status = vy_compile_pipeline(program, &target, NULL, &prepared, error);
    end_stage(taken, PREPARE, &since);
    if (status == VYRE_OK)
        status = vy_ptx_emit(prepared.program, &(vy_ptx_options){.architecture = ARCHITECTURE}, &code, error);
    end_stage(taken, WRITE, &since);
    taken[PTX] = taken[PREPARE] + taken[WRITE];
    vy_ptx_free(&code);
    vyre_program_release(prepared.program);
    return status;
}

static vyre_status measure_once(const vy_cpu *cpu, const vy_jit_plugin *compiler, const vy_string *text, times taken,
                                vyre_error *error) {
    vyre_module *module = NULL;
    malloc_trim(0); /* new memory for every run; that of large programs is returned to the system in any case */
    double since = now();
    vyre_status status = vyre_text_parse(text->text, text->length, NULL, NULL, &module, error);
    end_stage(taken, PARSE, &since);
    vyre_program *program = status == VYRE_OK ? vyre_module_program(module, 0) : NULL;
    if (status == VYRE_OK)
        status = vy_validate(program, NULL, error);
    end_stage(taken, VALIDATE, &since);
    if (status == VYRE_OK)
        status = measure_cpu(cpu, compiler, program, taken, error);
    if (status == VYRE_OK)
        status = measure_ptx(program, taken, error);
    vyre_module_free(module);
    return status;
}

/* The best time per statement. */
static int measure(const vy_cpu *cpu, const vy_jit_plugin *compiler, const shape *s, unsigned statements, times best) {
    vy_string text = {0};
    vyre_error error;
    vyre_status status = VYRE_OK;
    make_text(&text, s, statements);
    double spent = 0;
    for (int run = 0; run < RUNS && status == VYRE_OK && spent < ENOUGH; run++) {
        times taken = {0};
        status = measure_once(cpu, compiler, &text, taken, &error);
        spent += taken[CPU] + taken[PTX];
        for (int i = 0; i < STAGE_COUNT; i++)
            best[i] = run == 0 || taken[i] / statements < best[i] ? taken[i] / statements : best[i];
    }
    if (status != VYRE_OK)
        fprintf(stderr, "%s, %u statements: %s (%s)\n", s->name, statements, error.message, error.where);
    vy_string_free(&text);
    return status == VYRE_OK;
}

/* ---- output ---- */

static void print_row(const char *shape, unsigned statements, const times row, int json) {
    if (json)
        printf("%s\n  {\"shape\": \"%s\", \"%s\": %u",
               strcmp(shape, shapes[0].name) || statements != sizes[0] ? "," : "", shape,
               statements ? "statements" : "ratio", statements);
    else if (statements)
        printf("%-10s %6u", shape, statements);
    else
        printf("%-10s %6s", shape, "ratio");
    for (int i = 0; i < STAGE_COUNT; i++)
        if (json)
            printf(", \"%s%s\": %.*f", stage_names[i], statements ? "_ns" : "", statements ? 0 : 2, row[i]);
        else
            printf(" %8.*f", statements ? 0 : 2, row[i]);
    printf(json ? "}" : "\n");
    fflush(stdout);
}

static int measure_shape(const vy_cpu *cpu, const vy_jit_plugin *compiler, const shape *s, unsigned only, int json) {
    times first = {0}, ratio = {0};
    for (int i = 0; i < SIZES; i++) {
        times row = {0};
        unsigned statements = only ? only : sizes[i];
        if (!measure(cpu, compiler, s, statements, row))
            return 0;
        if (i == 0)
            memcpy(first, row, sizeof row);
        for (int k = 0; k < STAGE_COUNT; k++)
            ratio[k] = first[k] > 0 && row[k] / first[k] > ratio[k] ? row[k] / first[k] : ratio[k];
        print_row(s->name, statements, row, json);
        if (only)
            return 1;
    }
    print_row(s->name, 0, ratio, json);
    return 1;
}

int main(int count, char **arguments) {
    int json = 0, failed = 0;
    unsigned only = 0;
    const char *name = NULL;
    const vy_jit_plugin *compiler = NULL;
    vyre_error error;
    vy_cpu cpu = {.features = vy_cpu_features()};
    cpu.target = vy_cpu_target(cpu.features, 0);
    for (int i = 1; i < count; i++) {
        json |= strcmp(arguments[i], "--json") == 0;
        if (strcmp(arguments[i], "--shape") == 0 && i + 1 < count)
            name = arguments[++i];
        else if (strcmp(arguments[i], "--statements") == 0 && i + 1 < count)
            only = (unsigned)strtoul(arguments[++i], NULL, 10);
    }
    if (vy_cpu_compiler_open(getenv("VYRE_COMPILER"), &compiler, &error) != VYRE_OK) {
        fprintf(stderr, "the stages of the compiler are not measured: %s\n", error.message);
        compiler = NULL;
    }
    printf(json ? "[" : "%-10s %6s", "shape", "");
    for (int i = 0; i < STAGE_COUNT && !json; i++)
        printf(" %8s", stage_names[i]);
    printf(json ? "" : "   (ns a statement)\n");
    for (int i = 0; i < SHAPES; i++)
        if (!name || strcmp(name, shapes[i].name) == 0)
            failed |= !measure_shape(&cpu, compiler, &shapes[i], only, json);
    printf(json ? "\n]\n" : "");
    vy_cpu_compiler_close(compiler);
    return failed;
}
