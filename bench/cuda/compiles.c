/* Compile time, compared with the part of the NVIDIA driver alone: loading the same PTX, and loading the same machine
 * code. The sides alternate, with the driver's own cache off.
 *
 * The driver's time for one text varies by more than the whole time of libvyre. So libvyre compiles on a backend with a
 * clock between it and the driver, which measures the time outside cuModuleLoadData. */
#include "ptx.h"

#include "backends/cuda/dynamic_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPILES = 31, FEW_COMPILES = 5 };

typedef struct subject {
    const char *file, *cold, *warm;
} subject;
/* The first program of an example. */
#define SUBJECT(name)                                                                                                  \
    { "examples/" name ".vyre", "compile " name ", nothing cached", name " from the disk" }
static const subject subjects[] = {
    SUBJECT("saxpy"),  SUBJECT("sha256"), SUBJECT("nbody"),   SUBJECT("mandelbrot"), SUBJECT("bitonic"),
    SUBJECT("matmul"), SUBJECT("xor"),    SUBJECT("stencil"), SUBJECT("histogram"),  SUBJECT("reduce"),
    SUBJECT("scan"),   SUBJECT("hash"),   SUBJECT("dfa"),     SUBJECT("search"),
};

/* ---- the clock ---- */

static vy_cuda_dynamic_symbols real; /* the driver's function */
static double loading;               /* seconds in the driver since the last reset */

static int load_module(vy_cu_module *out, const void *image, unsigned count, int *options, void **values) {
    double start = suite_now();
    int result = real.module_load(out, image, count, options, values);
    loading += suite_now() - start;
    return result;
}

static void stand_between(vy_cuda_dynamic_symbols *api) {
    real = *api;
    api->module_load = load_module;
}

typedef struct rig {
    device_bench *bench;
    vyre_backend *clocked; /* the backend with the clock */
    const subject *subject;
    vyre_module *module;
    vy_ptx_code code;
    void *link, *cubin;   /* the output of the driver's linker for the text; freed with the link */
    ptx_times halves;     /* of the latest compile */
    double whole, beside; /* of the latest compile: total, and without cuModuleLoadData; < 0: consumed, or none */
} rig;

/* ---- the bare driver ---- */

/* Seconds until the function is available; < 0 on failure. */
static double load(const rig *r, const void *image) {
    cu_driver *cu = r->bench->cu;
    void *module = NULL, *function = NULL;
    double start = suite_now();
    if (cu->module_load(&module, image))
        return -1;
    int error = cu->module_function(&function, module, r->code.entry);
    double end = suite_now();
    cu->module_unload(module);
    return error ? -1 : end - start;
}

/* The output of the driver's linker for the text; NULL on failure. */
static void *link_text(const rig *r, void **link) {
    enum { PTX = 1 };
    cu_driver *cu = r->bench->cu;
    void *cubin = NULL;
    size_t size;
    *link = NULL;
    return cu->link_create(0, NULL, NULL, link) == 0 &&
                   cu->link_add(*link, PTX, r->code.text.data, r->code.text.size + 1, "program", 0, NULL, NULL) == 0 &&
                   cu->link_complete(*link, &cubin, &size) == 0
               ? cubin
               : NULL;
}

static double bare_text(void *user) {
    const rig *r = user;
    return load(r, r->code.text.data);
}

static double bare_linked(void *user) {
    const rig *r = user;
    void *link;
    double start = suite_now();
    void *cubin = link_text(r, &link);
    double linked = suite_now() - start, loaded = cubin ? load(r, cubin) : -1;
    if (link)
        r->bench->cu->link_destroy(link);
    return loaded < 0 ? -1 : linked + loaded;
}

static double bare_cubin(void *user) {
    const rig *r = user;
    return load(r, r->cubin);
}

/* ---- libvyre ---- */

/* One compile yields two figures; the first of the two queries compiles. */
static double take(rig *r, double *figure) {
    if (*figure < 0) {
        loading = 0;
        r->whole = suite_ours_compile_on(r->clocked, r->subject->file, 0);
        r->beside = r->whole - loading;
    }
    double taken = *figure;
    *figure = -1;
    return taken;
}

static double ours_cold(void *user) {
    rig *r = user;
    return take(r, &r->whole);
}

static double ours_beside(void *user) {
    rig *r = user;
    return take(r, &r->beside);
}

static double ours_from_disk(void *user) {
    return suite_ours_compile(((const rig *)user)->subject->file, 1);
}

/* The parts of libvyre, measured again separately. */
static double ours_prepared(void *user) {
    rig *r = user;
    vy_ptx_code code;
    if (!bench_ptx(r->bench, vyre_module_program(r->module, 0), &code, &r->halves))
        return -1;
    vy_ptx_free(&code);
    return r->halves.prepare;
}

static double ours_written(void *user) {
    rig *r = user;
    double prepared = ours_prepared(r);
    return prepared < 0 ? prepared : r->halves.emit;
}

/* ---- both ---- */

static int prepare(rig *r) {
    vyre_error error = VYRE_ERROR_INIT;
    r->bench->cu->context_set(r->bench->cu->context);
    if (!(r->module = suite_ours_parse(r->subject->file, NULL, &error))) {
        printf("SKIP %s: %s\n", r->subject->file, error.message);
        return 0;
    }
    if (!bench_ptx(r->bench, vyre_module_program(r->module, 0), &r->code, NULL))
        return 0;
    if (!(r->cubin = link_text(r, &r->link)))
        printf("SKIP %s: the driver does not link it\n", r->subject->file);
    return r->cubin != NULL;
}

static void bench_subject(device_bench *b, vyre_backend *clocked, const subject *subject) {
    rig r = {.bench = b, .clocked = clocked, .subject = subject, .whole = -1, .beside = -1};
    int samples = b->quick ? FEW_COMPILES : COMPILES;
    const bench_way cold[] = {
        {.name = "bare: cuModuleLoadData of the same PTX", .user = &r, .timer = bare_text},
        {.name = "bare: cuLink of the same PTX, and cuModuleLoadData", .user = &r, .timer = bare_linked},
        {.name = "ours: from a program", .user = &r, .timer = ours_cold, .is_compared = 1},
        {.name = "ours: of that, all but cuModuleLoadData", .user = &r, .timer = ours_beside},
        {.name = "ours: of that, optimising, widening and legalising", .user = &r, .timer = ours_prepared},
        {.name = "ours: of that, writing PTX", .user = &r, .timer = ours_written}};
    const bench_way warm[] = {
        {.name = "bare: cuModuleLoadData of the same cubin", .user = &r, .timer = bare_cubin},
        {.name = "ours: found in the cache", .user = &r, .timer = ours_from_disk, .is_compared = 1}};
    if (prepare(&r)) {
        bench_contest(b, subject->cold, cold, sizeof cold / sizeof *cold, samples);
        bench_contest(b, subject->warm, warm, sizeof warm / sizeof *warm, samples);
    }
    if (r.link)
        b->cu->link_destroy(r.link);
    vy_ptx_free(&r.code);
    vyre_module_free(r.module);
}

void bench_compiles(device_bench *b) {
    double first = suite_ours_first_compile();
    if (b->backend)
        suite_extra(b->report, "compile an empty program", "ours: the first compile of the process", "s", &first,
                    first > 0);
    if (!b->cu || !b->backend)
        return;
    vyre_backend *clocked = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vy_cuda_dynamic_symbols_wrap(stand_between);
    vyre_status status = vyre_acquire("cuda", &clocked, &error);
    vy_cuda_dynamic_symbols_wrap(NULL);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects && bench_said(status, &error); i++)
        bench_subject(b, clocked, &subjects[i]);
    if (clocked)
        vyre_backend_release(clocked);
}
