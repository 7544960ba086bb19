/* From a program to something that runs, against the driver's part of it alone: the same PTX, loaded; the same machine code, loaded. */
#include "extras.h"

#include "emit/ptx/prepare.h"
#include "emit/ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const files[] = {"examples/saxpy.vyre", "examples/sha256.vyre"};
static const char *const cold_groups[] = {"compile saxpy, nothing cached", "compile sha256, nothing cached"};
static const char *const warm_groups[] = {"saxpy from the disk", "sha256 from the disk"};

/* The text a backend would make of a file's first program. */
static int ptx_of(device_bench *b, const char *file, vy_ptx_code *code) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_module *module = suite_ours_parse(file, NULL, &error);
    const vy_ptx_prepare_options options = {.architecture = (uint32_t)b->cu->architecture};
    vy_ptx_prepared prepared = {0};
    memset(code, 0, sizeof *code);
    vyre_status status =
        module ? vy_ptx_prepare(vyre_module_program(module, 0), &options, &prepared, &error) : error.code;
    if (status == VYRE_OK)
        status = vy_ptx_emit(prepared.program, &(vy_ptx_options){.architecture = options.architecture}, code, &error);
    if (status != VYRE_OK)
        printf("SKIP PTX of %s: %s\n", file, error.message);
    vyre_program_release(prepared.program);
    vyre_module_free(module);
    return status == VYRE_OK;
}

/* Seconds until there is a function; < 0 on failure. */
static double load(cu_driver *cu, const void *image, const char *entry) {
    void *module = NULL, *function = NULL;
    double start = suite_now();
    if (cu->module_load(&module, image))
        return -1;
    int error = cu->module_function(&function, module, entry);
    double end = suite_now();
    cu->module_unload(module);
    return error ? -1 : end - start;
}

/* What the driver's linker makes of the text; NULL on failure. It goes with the link. */
static void *link_text(cu_driver *cu, const vy_ptx_code *code, void **link, size_t *size) {
    enum { PTX = 1 };
    void *cubin = NULL;
    *link = NULL;
    return cu->link_create(0, NULL, NULL, link) == 0 &&
                   cu->link_add(*link, PTX, code->text.data, code->text.size + 1, "program", 0, NULL, NULL) == 0 &&
                   cu->link_complete(*link, &cubin, size) == 0
               ? cubin
               : NULL;
}

/* The two ways to have the text compiled, and machine code that is loaded. */
static void bench_bare(device_bench *b, size_t which, int samples) {
    double cold[SAMPLES], linked[SAMPLES], warm[SAMPLES];
    int cold_count = 0, linked_count = 0, warm_count = 0;
    vy_ptx_code code;
    if (!ptx_of(b, files[which], &code))
        return;
    b->cu->context_set(b->cu->context);
    for (int i = -1; i < samples; i++) {
        void *link;
        size_t size;
        double text = load(b->cu, code.text.data, code.entry), start = suite_now();
        void *cubin = link_text(b->cu, &code, &link, &size);
        double end = suite_now(), machine_code = cubin ? load(b->cu, cubin, code.entry) : -1;
        if (link)
            b->cu->link_destroy(link);
        if (i >= 0 && text > 0)
            cold[cold_count++] = text;
        if (i >= 0 && machine_code > 0) {
            linked[linked_count++] = end - start + machine_code;
            warm[warm_count++] = machine_code;
        }
    }
    suite_extra(b->report, cold_groups[which], "bare: cuModuleLoadData of the same PTX", "s", cold, cold_count);
    suite_extra(b->report, cold_groups[which], "bare: cuLink of the same PTX, and cuModuleLoadData", "s", linked,
                linked_count);
    suite_extra(b->report, warm_groups[which], "bare: cuModuleLoadData of the same cubin", "s", warm, warm_count);
    vy_ptx_free(&code);
}

static void bench_ours(device_bench *b, size_t which, int samples) {
    for (int from_disk = 0; from_disk < 2; from_disk++) {
        double times[SAMPLES];
        int count = 0;
        for (int i = -1; i < samples; i++) {
            double seconds = suite_ours_compile(files[which], from_disk);
            if (seconds < 0)
                break;
            if (i >= 0)
                times[count++] = seconds;
        }
        suite_extra(b->report, from_disk ? warm_groups[which] : cold_groups[which],
                    from_disk ? "ours: found in the cache" : "ours: from a program", "s", times, count);
    }
}

void bench_compiles(device_bench *b) {
    double first = suite_ours_first_compile();
    if (b->backend)
        suite_extra(b->report, "compile an empty program", "ours: the first compile of the process", "s", &first,
                    first > 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int samples = b->quick ? 5 : SAMPLES;
        if (b->cu)
            bench_bare(b, i, samples);
        if (b->backend)
            bench_ours(b, i, samples);
    }
}
