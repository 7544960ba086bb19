/* Compile time of the examples for this processor: the first compile of a process, which starts a compile server, and
 * later ones.
 *
 * usage: compile [--json] [--plugin FILE]. lower: optimise, legalise, encode; first: open the compiler and compile, in
 * a separate process; later: compile again, and the part that the steps of the compiler need; load: from the object to
 * executable code. Each is the best of several runs; steps are those of the best one. With --plugin, first and later
 * are also measured with LLVM in this process: FILE is built by `ninja vyre-compiler-plugin`. The two designs
 * alternate, since the speed of the machine may change. Lanes are chosen as the backend does. Without the compiler
 * nothing is measured, and a message is printed. */
#include "backends/cpu/compile.h"
#include "driver/plugin.h"
#include "vyre/text.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 10, RUNS = 20, FILE_MAX = 1 << 20 };

/* Where LLVM runs. */
typedef enum design { SERVER, PLUGIN, DESIGNS } design;

static const char *plugin; /* NULL: not measured */

typedef struct sample {
    const char *name; /* of the program */
    char file[64];    /* whose first program it is, without its ending */
    vyre_program *program;
    vyre_bytes wire;
    double lower, load;                    /* milliseconds */
    double first[DESIGNS], later[DESIGNS]; /* 0: not measured */
    uint64_t steps[VY_JIT_STEP_COUNT];     /* nanoseconds, of `later` on the server */
    size_t code_bytes;
} sample;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double least(double a, double b) {
    return a == 0 || b < a ? b : a;
}

static vy_jit_request request_of(const vy_cpu *cpu, const sample *s) {
    return (vy_jit_request){.struct_size = sizeof(vy_jit_request),
                            .width = cpu->width,
                            .features = cpu->features,
                            .wire = {s->wire.data, s->wire.size},
                            .name = s->name};
}

static vyre_status lower(const vy_cpu *cpu, vyre_program *program, sample *s, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (int i = 0; i < RUNS && status == VYRE_OK; i++) {
        double start = now();
        status = vy_cpu_lower(cpu, program, 0, 0, &s->wire, error);
        s->lower = least(s->lower, now() - start);
    }
    return status;
}

static vyre_status open_compiler(design design, const vy_jit_plugin **out, vyre_error *error) {
    if (design == SERVER)
        return vy_cpu_compiler_open(getenv("VYRE_COMPILER"), out, error);
    void *handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    vy_jit_plugin_get *get = handle ? (vy_jit_plugin_get *)(uintptr_t)dlsym(handle, VY_JIT_PLUGIN_SYMBOL) : NULL;
    *out = get ? get(&vy_host_services) : NULL;
    if (*out)
        return VYRE_OK;
    fprintf(stderr, "%s: %s\n", plugin, handle ? "it is no compiler" : dlerror());
    return VYRE_UNSUPPORTED;
}

/* In a process that has not opened the compiler; 0 on failure. */
static double measure_first(const vy_cpu *cpu, const sample *s, design design) {
    int ends[2];
    double taken = 0;
    if (pipe(ends) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        const vy_jit_plugin *compiler;
        vy_jit_request request = request_of(cpu, s);
        vyre_bytes out = VYRE_BYTES_INIT;
        vyre_error error;
        double start = now();
        vyre_status status = open_compiler(design, &compiler, &error);
        if (status == VYRE_OK)
            status = compiler->compile(compiler, &request, &out, &error);
        taken = status == VYRE_OK ? now() - start : 0;
        _exit(write(ends[1], &taken, sizeof taken) != sizeof taken);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &taken, sizeof taken) != sizeof taken)
        taken = 0;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return taken;
}

static vyre_status measure_later(const vy_cpu *cpu, const vy_jit_plugin *const *compilers, sample *s,
                                 vyre_error *error) {
    uint64_t steps[VY_JIT_STEP_COUNT];
    vy_jit_request request = request_of(cpu, s);
    vyre_bytes out = VYRE_BYTES_INIT;
    request.times = steps;
    vyre_status status = VYRE_OK;
    for (int i = 0; i < DESIGNS * (RUNS + 1) && status == VYRE_OK; i++) {
        const vy_jit_plugin *compiler = compilers[i % DESIGNS];
        if (!compiler)
            continue;
        double start = now();
        status = compiler->compile(compiler, &request, &out, error);
        double taken = now() - start, *best = &s->later[i % DESIGNS];
        if (i < DESIGNS || (*best != 0 && taken >= *best))
            continue; /* the first one fills the caches */
        *best = taken;
        if (i % DESIGNS == SERVER)
            memcpy(s->steps, steps, sizeof steps);
    }
    s->code_bytes = out.size;
    for (int i = 0; i < RUNS && status == VYRE_OK; i++) {
        vy_cpu_executable *code;
        double start = now();
        status = vy_cpu_executable_new(s->program, (vyre_span){out.data, out.size}, cpu->features, &code, error);
        s->load = least(s->load, now() - start);
        if (status == VYRE_OK)
            vy_cpu_executable_release(code);
    }
    vyre_bytes_free(&out);
    return status;
}

static const char *const step_names[VY_JIT_STEP_COUNT] = {
#define X(ID, name) name,
    VY_JIT_STEP_LIST(X)
#undef X
};

static int print_sample(const sample *s, int json, int is_first) {
    int failed =
        json ? printf("%s\n  {\"example\": \"%s\", \"lower_ms\": %.2f", is_first ? "" : ",", s->file, s->lower) < 0
             : printf("%-14s %9.2f", s->file, s->lower) < 0;
    for (int i = 0; i < (plugin ? DESIGNS : 1); i++)
        failed |= printf(json ? ", \"%sfirst_ms\": %.2f, \"%slater_ms\": %.2f" : "%s %9.2f%s %9.2f",
                         json && i == PLUGIN ? "plugin_" : "", s->first[i], json && i == PLUGIN ? "plugin_" : "",
                         s->later[i]) < 0;
    for (int i = 0; i < VY_JIT_STEP_COUNT; i++)
        failed |= (json ? printf(", \"%s_ms\": %.3f", step_names[i], (double)s->steps[i] / 1e6)
                        : printf(" %9.2f", (double)s->steps[i] / 1e6)) < 0;
    return failed ||
           printf(json ? ", \"load_ms\": %.3f, \"code_bytes\": %zu}" : " %9.3f %9zu\n", s->load, s->code_bytes) < 0;
}

static void print_head(int json) {
    if (json) {
        printf("[");
        return;
    }
    printf("%-14s %9s %9s %9s", "example", "lower ms", "first ms", "later ms");
    if (plugin)
        printf(" %9s %9s", "in-proc.", "later ms");
    for (int i = 0; i < VY_JIT_STEP_COUNT; i++)
        printf(" %9s", step_names[i]);
    printf(" %9s %9s\n", "load", "bytes");
}

/* The first program of a file. Files whose program calls ops of dialects are skipped: this benchmark does not resolve
 * calls. */
static vyre_module *load(const char *path) {
    static char text[FILE_MAX];
    vyre_module *module = NULL;
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    return vyre_text_parse(text, size, NULL, NULL, &module, NULL) == VYRE_OK ? module : NULL;
}

int main(int count, char **arguments) {
    int json = 0, printed = 0;
    const vy_jit_plugin *compilers[DESIGNS] = {NULL};
    vyre_error error;
    glob_t files;
    vy_cpu cpu = {.features = vy_cpu_features()};
    cpu.target = vy_cpu_target(cpu.features, 0);
    for (int i = 1; i < count; i++) {
        json |= strcmp(arguments[i], "--json") == 0;
        if (strcmp(arguments[i], "--plugin") == 0 && i + 1 < count)
            plugin = arguments[++i];
    }
    if (glob(VYRE_SOURCE_DIR "/examples/*.vyre", 0, NULL, &files) != 0)
        return 1;
    vyre_module *modules[64] = {0};
    sample samples[64] = {0};
    /* First compiles are measured before this process opens the compiler, because children inherit its memory. */
    for (size_t i = 0; i < files.gl_pathc && i < 64; i++) {
        modules[i] = load(files.gl_pathv[i]);
        vyre_program *program = modules[i] ? vyre_module_program(modules[i], 0) : NULL;
        if (!program || lower(&cpu, program, &samples[i], &error) != VYRE_OK)
            continue;
        samples[i].name = vyre_program_name(program);
        const char *file = strrchr(files.gl_pathv[i], '/') + 1;
        snprintf(samples[i].file, sizeof samples[i].file, "%.*s", (int)strcspn(file, "."), file);
        samples[i].program = program;
        for (int k = 0; k < DESIGNS * PROCESSES; k++)
            if (k % DESIGNS == SERVER || plugin)
                samples[i].first[k % DESIGNS] =
                    least(samples[i].first[k % DESIGNS], measure_first(&cpu, &samples[i], (design)(k % DESIGNS)));
    }
    print_head(json);
    if (open_compiler(SERVER, &compilers[SERVER], &error) != VYRE_OK)
        fprintf(stderr, "nothing is measured: %s\n", error.message);
    else if (!plugin || open_compiler(PLUGIN, &compilers[PLUGIN], &error) == VYRE_OK)
        for (size_t i = 0; i < files.gl_pathc && i < 64; i++)
            if (samples[i].name && measure_later(&cpu, compilers, &samples[i], &error) == VYRE_OK)
                printed += !print_sample(&samples[i], json, !printed);
    printf(json ? "\n]\n" : "");
    vy_cpu_compiler_close(compilers[SERVER]);
    for (size_t i = 0; i < 64; i++) {
        vyre_bytes_free(&samples[i].wire);
        vyre_module_free(modules[i]);
    }
    globfree(&files);
    return 0;
}
