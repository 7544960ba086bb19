/* The time of libvyre in a compile for CUDA, from a program to the text of PTX: passes (optimising, widening,
 * legalising), then emitting. No device is needed.
 *
 * usage: prepare [--json]. The examples, and the programs of bench/cuda/tuned. Each time is the best of several runs,
 * in milliseconds of this thread, so that other load has little effect. The statements are those of the emitted
 * program. */
#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "vyre/dialect.h"
#include "vyre/text.h"

#include "ir/model.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RUNS = 40, FILE_MAX = 1 << 20, ARCHITECTURE = 90 };

typedef struct figures {
    double prepare, write; /* milliseconds */
    uint32_t statements;
    size_t bytes; /* of the text */
} figures;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double least(double a, double b) {
    return a == 0 || b < a ? b : a;
}

static vyre_status measure_once(vyre_program *program, figures *out, vyre_error *error) {
    const vy_target_desc target = vy_ptx_target(ARCHITECTURE, 0);
    vy_compiled prepared;
    vy_ptx_code code;
    double start = now();
    vyre_status status = vy_compile_pipeline(program, &target, NULL, &prepared, error);
    if (status != VYRE_OK)
        return status;
    double between = now();
    status = vy_ptx_emit(prepared.program, &(vy_ptx_options){.architecture = ARCHITECTURE}, &code, error);
    double end = now();
    out->prepare = least(out->prepare, between - start);
    out->write = least(out->write, end - between);
    out->statements = prepared.program->stmts.count;
    if (status == VYRE_OK) {
        out->bytes = code.text.size;
        vy_ptx_free(&code);
    }
    vyre_program_release(prepared.program);
    return status;
}

static vyre_status measure(const char *path, figures *out, vyre_error *error) {
    static char text[FILE_MAX];
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text, file) : 0;
    vyre_module *module = NULL;
    if (file)
        fclose(file);
    vyre_status status = vyre_text_parse(text, size, &(vyre_parse_options){.file = path}, NULL, &module, error);
    vyre_dialects_guard dialects = {0};
    vyre_program *program = NULL;
    if (status == VYRE_OK)
        status = vyre_dialects_global(&dialects, error);
    if (status == VYRE_OK)
        status = vyre_program_resolve(vyre_module_program(module, 0), dialects, NULL, &program, error);
    for (int i = 0; i < RUNS && status == VYRE_OK; i++)
        status = measure_once(program, out, error);
    vyre_program_release(program);
    vyre_dialects_release(&dialects);
    vyre_module_free(module);
    return status;
}

static void show(const char *path, const figures *f, int json, int is_first) {
    const char *name = path + strlen(VYRE_SOURCE_DIR) + 1;
    if (json)
        printf("%s\n  {\"program\": \"%s\", \"statements\": %u, \"ptx_bytes\": %zu, \"prepare_ms\": %.4f, "
               "\"write_ms\": %.4f}",
               is_first ? "" : ",", name, f->statements, f->bytes, f->prepare, f->write);
    else
        printf("%-34s %10u %9zu %10.3f %9.3f\n", name, f->statements, f->bytes, f->prepare, f->write);
}

int main(int count, char **arguments) {
    int json = count > 1 && strcmp(arguments[1], "--json") == 0;
    glob_t files = {0};
    vyre_error error;
    if (glob(VYRE_SOURCE_DIR "/examples/*.vyre", 0, NULL, &files) != 0 ||
        glob(VYRE_SOURCE_DIR "/bench/cuda/tuned/*.vyre", GLOB_APPEND, NULL, &files) != 0)
        return 1;
    if (json)
        printf("[");
    else
        printf("%-34s %10s %9s %10s %9s   (ms)\n", "program", "statements", "PTX bytes", "prepare", "write");
    for (size_t i = 0; i < files.gl_pathc; i++) {
        figures found = {0};
        if (measure(files.gl_pathv[i], &found, &error) != VYRE_OK) {
            fprintf(stderr, "%s: %s\n", files.gl_pathv[i], error.message);
            return 1;
        }
        show(files.gl_pathv[i], &found, json, i == 0);
    }
    if (json)
        printf("\n]\n");
    globfree(&files);
    return 0;
}
