/* Version `ours`, libvyre: acquired by id, compiled once, dispatched on resident buffers. Several steps are one
 * sequence. */
#include "ours.h"
#include "vyre/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static vyre_backend *backend;
static double first_compile;  /* seconds: the first program of the process; < 0 without a compiler */
static char cache_folder[32]; /* "" if there is none */

typedef struct job {
    const work *work;
    vyre_module *module;
    vyre_resident residents[ARRAYS];
    size_t resident_count;
    void *host[ARRAYS]; /* results that were read back */
    vyre_step *steps;
    vyre_resource (*bindings)[BINDINGS];
    vyre_arguments *arguments;
    vyre_scalar (*params)[WORDS];
    vyre_outputs outputs;
    vyre_step *line; /* the steps, `line_repeats` times */
    int line_repeats;
} job;

vyre_backend *suite_ours_backend(void) {
    return backend;
}

uint32_t suite_ours_units(void) {
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_backend_profile(backend, &profile);
    return profile.compute_units ? profile.compute_units : 1;
}

static void say(char *reason, const vyre_error *error) {
    snprintf(reason, REASON, "%s: %.300s%s%.150s", vyre_status_name(error->code), error->message,
             error->fix[0] ? ". Fix: " : "", error->fix);
}

vyre_module *suite_ours_parse(const char *file, const work *w, vyre_error *error) {
    vyre_define defines[2];
    vyre_parse_options options = {.file = file, .defines = defines};
    vyre_module *module = NULL;
    size_t size;
    char *text = suite_read_file(suite_source_path(file), &size);
    if (!text) {
        *error = (vyre_error){.code = VYRE_IO};
        snprintf(error->message, sizeof error->message, "%.200s cannot be read", suite_source_path(file));
        return NULL;
    }
    for (; w && options.define_count < w->define_count; options.define_count++)
        defines[options.define_count] =
            (vyre_define){w->defines[options.define_count][0], w->defines[options.define_count][1]};
    if (vyre_text_parse(text, size, &options, NULL, &module, error) != VYRE_OK)
        module = NULL;
    free(text);
    return module;
}

/* A backend that cannot compile counts as missing. */
static vyre_status try_compile(vyre_error *error) {
    vyre_module *module = suite_ours_parse("bench/suite/empty.vyre", NULL, error);
    vyre_pipeline *pipeline = NULL;
    if (!module)
        return error->code;
    double start = suite_now();
    vyre_status status = vyre_compile(backend, vyre_module_program(module, 0), NULL, &pipeline, error);
    if (first_compile == 0)
        first_compile = status == VYRE_OK && vyre_pipeline_is_native(pipeline) ? suite_now() - start : -1;
    vyre_pipeline_release(pipeline);
    vyre_module_free(module);
    return status;
}

/* Earlier compiles must not count as cold compiles, nor may this run fill the cache of the user. */
static void make_cache(void) {
    snprintf(cache_folder, sizeof cache_folder, "/tmp/vyre-suite-XXXXXX");
    if (!mkdtemp(cache_folder))
        cache_folder[0] = 0;
    vyre_cache_set_folder(cache_folder, NULL);
}

static void close_ours(void) {
    vyre_backend_release(backend);
    backend = NULL;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(cache_folder);
}

static int open_ours(const char *id, char *about, char *reason) {
    vyre_error error;
    vyre_device_profile profile = {.struct_size = sizeof profile};
    if (vyre_acquire(id, &backend, &error) != VYRE_OK) {
        say(reason, &error);
        return 0;
    }
    make_cache();
    if (try_compile(&error) != VYRE_OK) {
        say(reason, &error);
        close_ours();
        return 0;
    }
    vyre_backend_profile(backend, &profile);
    snprintf(about, REASON, "%s %s %.200s %.200s", id, vyre_backend_version(backend),
             profile.device ? profile.device : "", profile.driver ? profile.driver : "");
    return 1;
}

static void discard(void *self) {
    job *j = self;
    for (size_t i = 0; j->steps && i < j->work->step_count; i++)
        vyre_pipeline_release(j->steps[i].pipeline);
    for (size_t i = 0; i < j->resident_count; i++)
        vyre_resident_free(backend, j->residents[i], NULL);
    for (size_t i = 0; i < ARRAYS; i++)
        free(j->host[i]);
    vyre_outputs_free(&j->outputs);
    vyre_module_free(j->module);
    free(j->steps);
    free(j->bindings);
    free(j->arguments);
    free(j->params);
    free(j->line);
    free(j);
}

/* Words become params in the types of the program; a 64-bit one needs two. */
static vyre_status add_step(job *j, size_t index, vyre_error *error) {
    const step *s = &j->work->steps[index];
    vyre_step *to = &j->steps[index];
    vyre_program *program = vyre_module_find(j->module, s->program);
    vyre_param_info info;
    size_t count = 0;
    for (size_t word = 0; program && count < WORDS && vyre_program_param(program, count, &info); count++) {
        uint64_t bits = s->words[word++];
        if (info.type == VYRE_TYPE_F64 || info.type == VYRE_TYPE_U64 || info.type == VYRE_TYPE_I64)
            bits |= (uint64_t)s->words[word++] << 32;
        j->params[index][count] = vyre_scalar_bits(info.type, bits);
    }
    for (size_t i = 0; i < s->binding_count; i++)
        j->bindings[index][i] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT,
                                                .resident = j->residents[s->bindings[i].array],
                                                .offset = s->bindings[i].offset,
                                                .size = s->bindings[i].size};
    j->arguments[index] = (vyre_arguments){.params = j->params[index], .param_count = count};
    *to = (vyre_step){
        .bindings = j->bindings[index], .binding_count = s->binding_count, .arguments = &j->arguments[index]};
    if (!program) {
        *error = (vyre_error){.code = VYRE_NOT_FOUND};
        snprintf(error->message, sizeof error->message, "%s has no program %s", j->work->kernel->file, s->program);
        return VYRE_NOT_FOUND;
    }
    return vyre_compile(backend, program, NULL, &to->pipeline, error);
}

static vyre_status fill_job(job *j, vyre_error *error) {
    const work *w = j->work;
    vyre_status status = VYRE_OK;
    if (!(j->module = suite_ours_parse(w->kernel->file, w, error)))
        return error->code;
    for (size_t i = 0; i < w->array_count && status == VYRE_OK; i++) {
        status = vyre_resident_allocate(backend, w->arrays[i].size, NULL, &j->residents[i], error);
        if (status == VYRE_OK)
            j->resident_count++;
        if (status == VYRE_OK && w->arrays[i].first)
            status = vyre_resident_upload(backend, j->residents[i], w->arrays[i].first, w->arrays[i].size, error);
    }
    for (size_t i = 0; i < w->step_count && status == VYRE_OK; i++)
        status = add_step(j, i, error);
    vyre_backend_flush_cache(backend); /* not concurrent with a measurement */
    return status;
}

static void *prepare(const work *w, char *reason) {
    vyre_error error = {0};
    job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->work = w;
    j->outputs = (vyre_outputs)VYRE_OUTPUTS_INIT;
    j->steps = calloc(w->step_count, sizeof *j->steps);
    j->bindings = calloc(w->step_count, sizeof *j->bindings);
    j->arguments = calloc(w->step_count, sizeof *j->arguments);
    j->params = calloc(w->step_count, sizeof *j->params);
    if (j->steps && j->bindings && j->arguments && j->params && fill_job(j, &error) == VYRE_OK)
        return j;
    say(reason, &error);
    discard(j);
    return NULL;
}

static void reset(void *self) {
    job *j = self;
    for (size_t i = 0; i < j->resident_count; i++)
        if (j->work->arrays[i].role == ROLE_BOTH)
            vyre_resident_upload(backend, j->residents[i], j->work->arrays[i].first, j->work->arrays[i].size, NULL);
}

static int run_timed(job *j, vyre_timing *timing) {
    const vyre_step *s = j->steps;
    vyre_error error;
    vyre_status status =
        j->work->step_count == 1
            ? vyre_pipeline_dispatch_persistent(s->pipeline, s->bindings, s->binding_count, s->arguments, NULL,
                                                &j->outputs, timing, NULL, &error)
            : vyre_sequence_run(backend, s, j->work->step_count, NULL, 0, NULL, timing, NULL, NULL, &error);
    if (status != VYRE_OK)
        fprintf(stderr, "%s: %s\n", j->work->kernel->name, error.message);
    return status == VYRE_OK;
}

static int run(void *self) {
    return run_timed(self, NULL);
}

static double run_on_clock(void *self) {
    vyre_timing timing = {0};
    return run_timed(self, &timing) && (timing.present & VYRE_TIMED_DEVICE) ? (double)timing.device_ns * 1e-9 : -1;
}

/* Runs twice without holding the device: a sequence that is repeated becomes a graph. */
static int make_line(job *j, int repeats) {
    size_t steps = j->work->step_count;
    vyre_error error;
    free(j->line);
    j->line_repeats = repeats;
    j->line = malloc(steps * (size_t)repeats * sizeof *j->line);
    for (int i = 0; j->line && i < repeats; i++)
        memcpy(j->line + (size_t)i * steps, j->steps, steps * sizeof *j->line);
    int good = j->line != NULL;
    for (int i = 0; i < 2 && good; i++)
        good = vyre_sequence_run(backend, j->line, steps * (size_t)repeats, NULL, 0, NULL, NULL, NULL, NULL, &error) ==
               VYRE_OK;
    return good;
}

static double run_in_line(void *self, int repeats) {
    enum { TRIES = 8 };
    job *j = self;
    size_t count = j->work->step_count * (size_t)repeats;
    if (j->line_repeats != repeats && !make_line(j, repeats))
        return -1;
    for (int i = 0; i < TRIES && j->line && suite_hold(backend, count); i++) {
        vyre_timing timing = {0};
        vyre_error error;
        if (vyre_sequence_run(backend, j->line, count, NULL, 0, NULL, &timing, NULL, NULL, &error) != VYRE_OK ||
            !(timing.present & VYRE_TIMED_DEVICE))
            return -1;
        if (suite_was_held(suite_now() - (double)timing.wait_ns * 1e-9))
            return (double)timing.device_ns * 1e-9 / repeats;
    }
    return -1;
}

static const void *array_of(void *self, size_t index) {
    job *j = self;
    size_t size = j->work->arrays[index].size;
    if (!j->host[index])
        j->host[index] = malloc(size);
    if (!j->host[index] ||
        vyre_resident_download_at(backend, j->residents[index], 0, j->host[index], size, NULL) != VYRE_OK)
        return NULL;
    return j->host[index];
}

const runner suite_ours = {"ours",   "ours",  open_ours,  prepare,      reset,      run,
                           array_of, discard, close_ours, run_on_clock, run_in_line};

/* ---- figures that a runner does not provide ---- */

double suite_ours_empty(int dispatches) {
    vyre_error error = {0};
    vyre_module *module = suite_ours_parse("bench/suite/empty.vyre", NULL, &error);
    vyre_pipeline *pipeline = NULL;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_resource binding = {.kind = VYRE_RESOURCE_RESIDENT};
    vyre_arguments arguments = {0};
    double seconds = -1;
    if (!module || vyre_resident_allocate(backend, 4, NULL, &binding.resident, &error) != VYRE_OK) {
        vyre_module_free(module);
        return -1;
    }
    vyre_status status = vyre_compile(backend, vyre_module_program(module, 0), NULL, &pipeline, &error);
    double start = suite_now();
    for (int i = 0; i < dispatches && status == VYRE_OK; i++)
        status =
            vyre_pipeline_dispatch_persistent(pipeline, &binding, 1, &arguments, NULL, &outputs, NULL, NULL, &error);
    if (status == VYRE_OK)
        seconds = (suite_now() - start) / dispatches;
    vyre_pipeline_release(pipeline);
    vyre_resident_free(backend, binding.resident, NULL);
    vyre_outputs_free(&outputs);
    vyre_module_free(module);
    return seconds;
}

double suite_ours_first_compile(void) {
    return first_compile;
}

/* Compiles and stores. */
static vyre_status store_on_disk(vyre_backend *on, vyre_program *program, vyre_error *error) {
    vyre_pipeline *pipeline = NULL;
    vyre_status status = vyre_compile(on, program, NULL, &pipeline, error);
    vyre_pipeline_release(pipeline);
    vyre_backend_flush_cache(on);
    vyre_cache_forbid_compile(1);
    return status;
}

/* Excludes parsing. The cache folder is set in both cases; what the backend stores after the compile has returned is
 * waited for, but not measured. A backend without a compiler has no compile time: < 0. */
double suite_ours_compile_on(vyre_backend *on, const char *file, int from_disk) {
    vyre_error error = {0};
    vyre_module *module = suite_ours_parse(file, NULL, &error);
    vyre_pipeline *pipeline = NULL;
    vyre_status status = VYRE_OK;
    double seconds = -1;
    if (!module)
        return -1;
    vyre_cache_set_memory_limit(0);
    if (from_disk)
        status = store_on_disk(on, vyre_module_program(module, 0), &error);
    else
        status = vyre_cache_clear(NULL, NULL, NULL, &error);
    double start = suite_now();
    if (status == VYRE_OK)
        status = vyre_compile(on, vyre_module_program(module, 0), NULL, &pipeline, &error);
    double end = suite_now();
    if (status == VYRE_OK) {
        if (vyre_pipeline_is_native(pipeline))
            seconds = end - start;
        vyre_pipeline_release(pipeline);
    }
    vyre_backend_flush_cache(on);
    vyre_cache_forbid_compile(-1);
    vyre_cache_set_memory_limit(256);
    vyre_module_free(module);
    return seconds;
}

double suite_ours_compile(const char *file, int from_disk) {
    return suite_ours_compile_on(backend, file, from_disk);
}
