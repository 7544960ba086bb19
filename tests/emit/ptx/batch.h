/* Many programs on a device at once: their texts are one module, their memory is one image, and the host waits once. */
#ifndef VY_TESTS_EMIT_PTX_BATCH_H
#define VY_TESTS_EMIT_PTX_BATCH_H

#include "emit/ptx/device.h"
#include "emit/ptx/digest.h"
#include "emit/ptx/manner.h"

#include "base/string.h"

enum { BATCH_PROGRAMS = 128, BATCH_IMAGE = DEVICE_IMAGE / 2 };

/* What became of programs; sums, in memory that processes share. */
typedef struct batch_counts {
    uint64_t done, judged, trapped, refused, grid_barriers, mismatches, lost, crashes, modules, statements;
    uint64_t prepare_ns, load_ns, run_ns, text_bytes;
} batch_counts;

typedef struct batch_job {
    uint64_t seed, digest;
    vyre_case *made;
    vyre_program *legal;
    vyre_arguments given;
    vyre_scalar params[VY_LIMIT_PARAMS + VY_COARSEN_PARAMS];
    vy_resolved_dispatch launch;
    vy_ptx_code code;
    image image;
    size_t base; /* of its image in the batch's */
    void *function, *module;
    char entry[32];
} batch_job;

typedef struct batch {
    device *device;
    batch_job *jobs[BATCH_PROGRAMS];
    unsigned count;
    size_t at; /* where the next image begins */
    void *module;
    const char *folder; /* for cases that fail */
    batch_counts *counts;
} batch;

typedef enum batch_end { BATCH_DONE, BATCH_REFUSED, BATCH_LOST } batch_end;

static inline void batch_free(batch *b) {
    for (unsigned i = 0; i < b->count; i++) {
        batch_job *job = b->jobs[i];
        if (job->module && !b->device->is_lost)
            b->device->unload(job->module);
        vy_ptx_free(&job->code);
        vyre_program_release(job->legal);
        vyre_case_free(job->made);
        free(job);
    }
    if (b->module && !b->device->is_lost)
        b->device->unload(b->module);
    b->count = 0;
    b->at = 0;
    b->module = NULL;
}

/* The device's image, as if it began where the job's does. */
static inline void batch_enter(device *d, const batch_job *job) {
    d->image += job->base;
    d->memory += job->base;
}

static inline void batch_leave(device *d, const batch_job *job) {
    d->image -= job->base;
    d->memory -= job->base;
}

/* ---- preparing ---- */

/* Nearly all as a backend would; what is widened though it does not pay takes the driver longest. Of trees half: much
 * that compilers know patterns of does not outlive our passes. */
static inline unsigned batch_manner(uint64_t seed) {
    return (unsigned)(seed % MANNERS) | (seed / MANNERS % (trees_are_of(seed) ? 2 : 16) ? AS_BACKEND : 0);
}

static inline uint32_t batch_misalignment(uint64_t seed) {
    unsigned manner = batch_manner(seed);
    return (manner & AS_BACKEND) && (manner & OPTIMISED) ? DEVICE_ALIGNED : (uint32_t)(seed / (4 * MANNERS));
}

/* From a seed to a text and an image; 0 if that cannot be, with the reason in the error. */
static inline vyre_status batch_prepare(batch *b, batch_job *job, vyre_error *error) {
    device *d = b->device;
    vyre_program *program = vyre_case_program(job->made);
    vyre_status status = prepare_in_manner(program, vyre_case_arguments(job->made), d->architecture,
                                           batch_manner(job->seed), &job->given, job->params, &job->legal, error);
    if (status == VYRE_OK)
        status = vy_ptx_emit(job->legal, &(vy_ptx_options){.architecture = d->architecture, .dependent_launch = 1},
                             &job->code, error);
    if (status == VYRE_OK)
        status = vy_resolve_dispatch(job->legal, &job->given, &job->launch, error);
    if (status != VYRE_OK)
        return status;
    snprintf(job->entry, sizeof job->entry, "seed_%" PRIu64, job->seed);
    job->base = b->at;
    batch_enter(d, job);
    if (!image_fill(d, job->legal, &job->launch, batch_misalignment(job->seed), fresh_control(), &job->image)) {
        status = VYRE_LIMIT;
        snprintf(error->message, sizeof error->message, "its memory is more than an image");
    }
    batch_leave(d, job);
    return status;
}

/* Adds the program of a seed, unless it is none for a device. */
static inline void batch_add(batch *b, uint64_t seed, uint64_t digest) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_program_stats stats;
    batch_job *job = calloc(1, sizeof *job);
    assert_non_null(job);
    *job = (batch_job){.seed = seed, .digest = digest, .made = digest_generate(seed)};
    b->counts->done++;
    if (digest == 0) {
        vyre_case_free(job->made);
        free(job);
        return;
    }
    b->jobs[b->count++] = job;
    if (vyre_case_program(job->made)->facts & VY_PROGRAM_HAS_GRID_BARRIER) { /* the boundary of the driver splits it */
        b->counts->grid_barriers++;
    } else if (batch_prepare(b, job, &error) != VYRE_OK) {
        printf("REFUSED seed %" PRIu64 ": %s\n", seed, error.message);
        b->counts->refused++;
    } else {
        vyre_program_get_stats(vyre_case_program(job->made), &stats);
        b->counts->judged++;
        b->counts->statements += stats.statements;
        b->counts->text_bytes += job->code.text.size;
        b->at = (job->base + job->image.size + 255) / 256 * 256;
        return;
    }
    b->count--;
    vy_ptx_free(&job->code);
    vyre_program_release(job->legal);
    vyre_case_free(job->made);
    free(job);
}

/* ---- one module ---- */

/* Appends an entry of the text, by another name; what stands before it is said once for all. */
static inline void batch_append(const batch_job *job, vy_string *text) {
    static const char mark[] = ".visible .entry ";
    const char *entry = strstr(job->code.text.data, mark);
    assert_non_null(entry);
    entry += sizeof mark - 1;
    assert_int_equal(strncmp(entry, job->code.entry, strlen(job->code.entry)), 0);
    vy_string_format(text, "\n%s%s%s", mark, job->entry, entry + strlen(job->code.entry));
}

/* Dynamic memory is declared outside of an entry, under a name that arrays inside have too; lines of sources need a
 * table of files. Those go alone. */
static inline int batch_is_alone(const batch_job *job) {
    return job->code.dynamic_bytes || strstr(job->code.text.data, "\n.file ") != NULL;
}

static inline void batch_join(const batch *b, vy_string *text) {
    uint32_t version = 0, architecture = 0;
    for (unsigned i = 0; i < b->count; i++) {
        const vy_ptx_code *code = &b->jobs[i]->code;
        version = code->version > version ? code->version : version;
        architecture = code->architecture > architecture ? code->architecture : architecture;
    }
    vy_string_format(text, ".version %" PRIu32 ".%" PRIu32 "\n.target sm_%" PRIu32 "\n.address_size 64\n", version / 10,
                     version % 10, architecture);
    for (unsigned i = 0; i < b->count; i++)
        if (!batch_is_alone(b->jobs[i]))
            batch_append(b->jobs[i], text);
}

/* NULL with what the driver says in the device's log. */
static inline void *batch_load_text(device *d, const char *text) {
    enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };
    int options[2] = {ERROR_LOG, ERROR_LOG_BYTES};
    void *values[2] = {d->log, (void *)(uintptr_t)DEVICE_LOG}, *module = NULL;
    d->log[0] = 0;
    return d->load(&module, text, 2, options, values) == 0 ? module : NULL;
}

static inline int batch_load(batch *b) {
    enum { DYNAMIC_BYTES = 8 };
    device *d = b->device;
    vy_string text = {0};
    unsigned together = 0;
    for (unsigned i = 0; i < b->count; i++)
        together += !batch_is_alone(b->jobs[i]);
    if (together) {
        batch_join(b, &text);
        assert_false(text.failed);
        b->module = batch_load_text(d, text.text);
        b->counts->modules++;
    }
    vy_string_free(&text);
    if (together && !b->module)
        return 0;
    for (unsigned i = 0; i < b->count; i++) {
        batch_job *job = b->jobs[i];
        int alone = batch_is_alone(job);
        if (alone) {
            b->counts->modules++;
            if (!(job->module = batch_load_text(d, job->code.text.data)))
                return 0;
        }
        if (d->get_function(&job->function, alone ? job->module : b->module, alone ? job->code.entry : job->entry) ||
            (job->code.dynamic_bytes && d->set_attribute(job->function, DYNAMIC_BYTES, (int)job->code.dynamic_bytes)))
            return 0;
    }
    return 1;
}

/* ---- running ---- */

static inline int batch_launch(batch *b) {
    device *d = b->device;
    int error = d->to_device(d->memory, d->image, b->at);
    for (unsigned i = 0; i < b->count && !error; i++) {
        batch_job *job = b->jobs[i];
        if (!job->launch.group_count)
            continue;
        batch_enter(d, job);
        error = device_start(d, job->legal, &job->launch, &job->image, &job->code, job->function);
        batch_leave(d, job);
    }
    if (!error)
        error = d->synchronize();
    return error ? error : d->from_device(d->image, d->memory, b->at);
}

static inline void batch_keep(const batch *b, const batch_job *job, const char *why) {
    char base[1024];
    mkdir(b->folder, 0777);
    snprintf(base, sizeof base, "%s/ptx-%" PRIu64, b->folder, job->seed);
    printf("FAIL seed %" PRIu64 ", manner %u: %s; in %s.vyre and .args\n", job->seed, batch_manner(job->seed), why,
           base);
    write_case(job->made, base);
    fflush(stdout);
}

/* What differs is asked of the oracle once more: digests do not say. */
static inline void batch_differs(const batch *b, const batch_job *job, const outcome *got) {
    static outcome want;
    outcome_of_oracle(vyre_case_program(job->made), vyre_case_arguments(job->made), 0, &want);
    const char *why = outcome_differs(&want, got);
    batch_keep(b, job, why ? why : "the digest is another, but the oracle of this process agrees");
    outcome_free(&want);
    b->counts->mismatches++;
}

static inline void batch_compare(batch *b) {
    static outcome got;
    for (unsigned i = 0; i < b->count; i++) {
        batch_job *job = b->jobs[i];
        memset(&got, 0, sizeof got);
        batch_enter(b->device, job);
        take_outcome(b->device, job->legal, &job->launch, &job->image, &got);
        batch_leave(b->device, job);
        b->counts->trapped += got.status == VYRE_TRAPPED;
        if (digest_of(&got) != job->digest)
            batch_differs(b, job, &got);
        outcome_free(&got);
    }
}

/* Everything that was added. Refused: the driver takes the module not, or one entry of it; a batch of one says so. */
static inline batch_end batch_run(batch *b) {
    uint64_t start = conform_clock();
    if (b->count == 0)
        return BATCH_DONE;
    int loaded = batch_load(b);
    uint64_t middle = conform_clock();
    b->counts->load_ns += middle - start;
    if (!loaded) {
        if (b->count == 1) {
            batch_keep(b, b->jobs[0], b->device->log[0] ? b->device->log : "the driver does not load it");
            b->counts->mismatches++;
        }
        return BATCH_REFUSED;
    }
    int error = batch_launch(b);
    if (error) {
        b->device->is_lost = 1;
        if (b->count == 1) {
            batch_keep(b, b->jobs[0], device_error(b->device, error));
            b->counts->lost++;
        }
        return BATCH_LOST;
    }
    batch_compare(b);
    b->counts->run_ns += conform_clock() - middle;
    return BATCH_DONE;
}

#endif
