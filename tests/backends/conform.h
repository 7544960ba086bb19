/* Conformance of a backend: whatever the oracle gives, status, trap and bytes, the backend gives. Any backend, by its
 * id, through the public interface alone.
 *
 *   conform c;
 *   conform_open(&c, "cpu");                        skips the test loudly where there is no such backend, or nothing
 *                                                   it can compile with conform_check(&c, "what it is", program,
 *                                                   &arguments, CONFORM_PIPELINE); conform_close(&c);
 *
 * What differs is shown with its program, shrunk, and fails the test. */
#ifndef VY_TESTS_CONFORM_H
#define VY_TESTS_CONFORM_H

#include "support/test.h"

#include "campaign/case_file.h"
#include "generate/generate.h"
#include "support/guarded.h"
#include "support/resolve.h"
#include "vyre/oracle.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

#include <sys/stat.h>
#include <unistd.h>

/* X(ID, name): the ways a program is run; all give the same. */
#define CONFORM_FORMS(X)                                                                                               \
    X(PIPELINE, "a pipeline's dispatch")                                                                               \
    X(STOPPABLE, "a dispatch with a deadline")                                                                         \
    X(DIRECT, "a dispatch without a pipeline")                                                                         \
    X(INTO, "a dispatch into slots that were used before")                                                             \
    X(ASYNC, "a dispatch in flight")                                                                                   \
    X(RESIDENT, "a dispatch on ranges of resident buffers")                                                            \
    X(MIXED, "a dispatch on host bytes and resident buffers")
typedef enum conform_form {
#define X(ID, name) CONFORM_##ID,
    CONFORM_FORMS(X)
#undef X
        CONFORM_FORM_COUNT
} conform_form;
static const char *const conform_form_names[] = {
#define X(ID, name) name,
    CONFORM_FORMS(X)
#undef X
};

enum { CONFORM_BUFFERS = 256 };

/* What a run gave. */
typedef struct conform_result {
    vyre_status status;
    vyre_trap trap;
    vyre_bytes outputs[CONFORM_BUFFERS];
} conform_result;

/* One thread. */
typedef struct conform {
    const char *id;
    char settings[256]; /* variables that it was acquired with: "VYRE_CPU_ISA=x86-64-v3 VYRE_CPU_WIDTH=32" */
    vyre_backend *backend;
    conform_result expected;
    vyre_outputs given;
    vyre_status status;
    vyre_trap trap;
    int checks; /* races are looked for too: a program that has any is none to judge by */
    uint64_t runs, trapped, judged;
    char message[1024];
} conform;

/* ---- opening ---- */

/* Variables of backends that are set, to be shown before a command. */
static inline void conform_note_settings(conform *c) {
    size_t used = 0;
    for (char **at = environ; *at && used < sizeof c->settings; at++) {
        const char *value = strchr(*at, '=');
        if ((strncmp(*at, "VYRE_CPU_", 9) == 0 || strncmp(*at, "VYRE_CUDA_", 10) == 0 ||
             strncmp(*at, "VYRE_OPENCL_", 12) == 0) &&
            value && value[1])
            used += (size_t)snprintf(c->settings + used, sizeof c->settings - used, "%s%s", used ? " " : "", *at);
    }
}

/* Whether the backend is there and compiles; else why not. */
static inline int conform_try_open(conform *c, const char *id, char *reason, size_t room) {
    static const char probe[] = "program probe {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n x[0] = 1\n}\n";
    vyre_error error = VYRE_ERROR_INIT;
    vyre_module *module;
    vyre_pipeline *pipeline = NULL;
    memset(c, 0, sizeof *c);
    c->id = id;
    conform_note_settings(c);
    vyre_status status = vyre_acquire(id, &c->backend, &error);
    if (status == VYRE_OK) {
        assert_int_equal(vyre_text_parse(probe, strlen(probe), NULL, NULL, &module, NULL), VYRE_OK);
        status = vyre_compile(c->backend, vyre_module_program(module, 0), NULL, &pipeline, &error);
        vyre_pipeline_release(pipeline);
        vyre_module_free(module);
        if (status != VYRE_OK)
            vyre_backend_release(c->backend);
    }
    if (status == VYRE_OK)
        return 1;
    c->backend = NULL;
    snprintf(reason, room, "backend %s: %s", id, error.message);
    if (status != VYRE_NOT_FOUND && status != VYRE_UNSUPPORTED) /* there, and broken */
        fail_msg("%s", reason);
    return 0;
}

static inline void conform_open(conform *c, const char *id) {
    char reason[1024];
    if (!conform_try_open(c, id, reason, sizeof reason))
        VY_SKIP("%s", reason);
}

static inline void conform_close(conform *c) {
    for (size_t i = 0; i < CONFORM_BUFFERS; i++)
        vyre_bytes_free(&c->expected.outputs[i]);
    vyre_outputs_free(&c->given);
    vyre_backend_release(c->backend);
    c->backend = NULL;
}

/* ---- the oracle ---- */

/* Whether it ends, delivered or trapped, with nothing that makes it a program nobody can be judged by. */
static inline int conform_expect(conform *c, vyre_program *program, const vyre_arguments *arguments) {
    vyre_oracle_options options = {.threads = 1, .budget = UINT64_C(1) << 24};
    vyre_oracle_report report = {0};
    vyre_oracle *oracle;
    if (c->checks)
        options.checks = VYRE_CHECK_RACES | VYRE_CHECK_DIVERGENCE;
    c->expected.status = vyre_oracle_new(program, &oracle, NULL);
    if (c->expected.status != VYRE_OK)
        return 0;
    c->expected.status = vyre_oracle_run(oracle, arguments, &options, c->expected.outputs, &report, NULL, NULL);
    c->expected.trap = report.trap;
    vyre_oracle_free(oracle);
    return c->expected.status == VYRE_OK || c->expected.status == VYRE_TRAPPED;
}

/* ---- the backend, in its forms ---- */

/* Ranges of resident buffers that start at odd elements; what lies around them is seen to stay as it is. */
typedef struct conform_ranges {
    vyre_resource resources[CONFORM_BUFFERS];
    uint64_t sizes[CONFORM_BUFFERS];
    size_t count;
} conform_ranges;

enum { CONFORM_MARGIN = 3, CONFORM_MARK = 0xa5 };

static inline void conform_ranges_free(conform *c, conform_ranges *r) {
    for (size_t i = 0; i < r->count; i++)
        if (r->resources[i].kind == VYRE_RESOURCE_RESIDENT)
            assert_int_equal(vyre_resident_free(c->backend, r->resources[i].resident, NULL), VYRE_OK);
}

static inline vyre_status conform_range(conform *c, const vyre_buffer_info *buffer, uint64_t size, const void *data,
                                        vyre_resource *out, vyre_error *error) {
    uint64_t margin = (uint64_t)CONFORM_MARGIN * vyre_type_size(buffer->type), whole = size + (size ? 2 : 1) * margin;
    uint8_t *bytes = malloc(whole);
    assert_non_null(bytes);
    memset(bytes, CONFORM_MARK, whole);
    if (data && size)
        memcpy(bytes + margin, data, size);
    else
        memset(bytes + margin, 0, size);
    *out = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .offset = margin, .size = size}; /* size 0: to the end */
    vyre_status status = vyre_resident_allocate(c->backend, whole, NULL, &out->resident, error);
    if (status == VYRE_OK)
        status = vyre_resident_upload(c->backend, out->resident, bytes, whole, error);
    free(bytes);
    return status;
}

/* Buffers of the program: resident, or every second one host bytes. */
static inline vyre_status conform_bind(conform *c, const vyre_program *program, const vyre_arguments *arguments,
                                       int mixed, conform_ranges *r, vyre_error *error) {
    vyre_buffer_info buffer;
    size_t input = 0, output = 0;
    vyre_status status = VYRE_OK;
    for (r->count = 0; status == VYRE_OK && vyre_program_buffer(program, r->count, &buffer); r->count++) {
        vyre_span given = {NULL, 0};
        if (buffer.access != VYRE_ACCESS_WRITE)
            given = arguments->inputs[input++];
        uint64_t size = buffer.access == VYRE_ACCESS_WRITE ? c->expected.outputs[output].size : given.size;
        output += buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE;
        r->sizes[r->count] = size;
        if (mixed && r->count % 2)
            r->resources[r->count] = (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = given};
        else
            status = conform_range(c, &buffer, size, given.data, &r->resources[r->count], error);
    }
    return status;
}

static inline vyre_status conform_margins(conform *c, const vyre_resource *resource, uint64_t size,
                                          const vyre_bytes *whole, vyre_error *error) {
    const uint8_t *bytes = whole->data;
    (void)c;
    for (uint64_t i = 0; i < whole->size; i++)
        if ((i < resource->offset || i >= resource->offset + size) && bytes[i] != CONFORM_MARK) {
            snprintf(error->message, sizeof error->message, "byte %llu beside the range is written",
                     (unsigned long long)i);
            return VYRE_CORRUPT;
        }
    return VYRE_OK;
}

/* What the program left in resident buffers, as outputs; those bound to host bytes are there already. */
static inline vyre_status conform_fetch(conform *c, const vyre_program *program, const conform_ranges *r, int mixed,
                                        vyre_error *error) {
    vyre_buffer_info buffer;
    vyre_bytes whole = VYRE_BYTES_INIT;
    vyre_status status = VYRE_OK;
    if (!mixed) { /* slots of our own */
        vyre_outputs_free(&c->given);
        c->given = (vyre_outputs){calloc(CONFORM_BUFFERS, sizeof(vyre_bytes)), 0, CONFORM_BUFFERS};
    }
    for (size_t i = 0, output = 0; status == VYRE_OK && vyre_program_buffer(program, i, &buffer); i++) {
        if (r->resources[i].kind == VYRE_RESOURCE_RESIDENT) {
            status = vyre_resident_download(c->backend, r->resources[i].resident, &whole, error);
            if (status == VYRE_OK)
                status = conform_margins(c, &r->resources[i], r->sizes[i], &whole, error);
        }
        if (buffer.access == VYRE_ACCESS_READ || buffer.access == VYRE_ACCESS_UNIFORM)
            continue;
        if (status == VYRE_OK && r->resources[i].kind == VYRE_RESOURCE_RESIDENT) {
            status = vyre_bytes_resize(&c->given.items[output], r->sizes[i], error);
            if (status == VYRE_OK && r->sizes[i])
                memcpy(c->given.items[output].data, (uint8_t *)whole.data + r->resources[i].offset, r->sizes[i]);
        }
        output++;
    }
    vyre_bytes_free(&whole);
    return status;
}

/* Counts are given for what is bound to host bytes alone. */
static inline size_t conform_host_counts(const vyre_program *program, const vyre_arguments *arguments,
                                         const conform_ranges *r, uint64_t *counts) {
    vyre_buffer_info buffer;
    size_t count = 0, open = 0;
    for (size_t i = 0; i < r->count && vyre_program_buffer(program, i, &buffer); i++) {
        if (buffer.access != VYRE_ACCESS_WRITE || buffer.has_count)
            continue;
        if (r->resources[i].kind == VYRE_RESOURCE_HOST)
            counts[count++] = arguments->counts[open];
        open++;
    }
    return count;
}

static inline vyre_status conform_on_ranges(conform *c, vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                            int mixed, vyre_error *error) {
    vyre_program *program = vyre_pipeline_program(pipeline);
    conform_ranges r;
    uint64_t counts[CONFORM_BUFFERS];
    vyre_arguments some = *arguments;
    vyre_status status = conform_bind(c, program, arguments, mixed, &r, error);
    some.counts = counts;
    some.count_count = conform_host_counts(program, arguments, &r, counts);
    if (status == VYRE_OK && mixed)
        status = vyre_pipeline_dispatch_persistent(pipeline, r.resources, r.count, &some, NULL, &c->given, NULL,
                                                   &c->trap, error);
    else if (status == VYRE_OK)
        status = vyre_backend_dispatch_resident(c->backend, program, r.resources, r.count, arguments, NULL, NULL,
                                                &c->trap, error);
    if (status == VYRE_OK)
        status = conform_fetch(c, program, &r, mixed, error);
    conform_ranges_free(c, &r);
    return status;
}

static inline vyre_status conform_in_flight(conform *c, vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                            vyre_error *error) {
    vyre_pending *pending;
    vyre_status status = vyre_pipeline_dispatch_async(pipeline, arguments, NULL, &pending, error);
    if (status != VYRE_OK)
        return status;
    status = vyre_pending_wait(pending, UINT64_MAX, &c->given, &c->trap, error);
    vyre_pending_free(pending);
    return status;
}

/* Slots that have room for the outputs and are full of something else: what a backend does not write is seen. */
static inline void conform_spoil(conform *c, const vyre_program *program) {
    size_t count = vyre_program_output_count(program);
    vyre_outputs_free(&c->given);
    c->given = (vyre_outputs){calloc(count + 1, sizeof(vyre_bytes)), count, count + 1};
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(vyre_bytes_resize(&c->given.items[i], c->expected.outputs[i].size, NULL), VYRE_OK);
        if (c->given.items[i].size)
            memset(c->given.items[i].data, CONFORM_MARK, c->given.items[i].size);
    }
}

static inline vyre_status conform_dispatch(conform *c, vyre_program *program, const vyre_arguments *arguments,
                                           conform_form form, vyre_error *error) {
    const vyre_compile_options options = {.struct_size = sizeof options, .cancellable = form == CONFORM_STOPPABLE};
    const vyre_dispatch_config patient = {.timeout_ns = UINT64_C(60000000000)};
    vyre_pipeline *pipeline;
    if (form == CONFORM_DIRECT)
        return vyre_backend_dispatch(c->backend, program, arguments, NULL, &c->given, &c->trap, error);
    vyre_status status = vyre_compile(c->backend, program, &options, &pipeline, error);
    if (status != VYRE_OK)
        return status;
    if (form == CONFORM_INTO) {
        conform_spoil(c, program);
        status = vyre_pipeline_dispatch_into(pipeline, arguments, NULL, &c->given, &c->trap, error);
    } else if (form == CONFORM_ASYNC)
        status = conform_in_flight(c, pipeline, arguments, error);
    else if (form == CONFORM_RESIDENT || form == CONFORM_MIXED)
        status = conform_on_ranges(c, pipeline, arguments, form == CONFORM_MIXED, error);
    else
        status = vyre_pipeline_dispatch(pipeline, arguments, form == CONFORM_STOPPABLE ? &patient : NULL, &c->given,
                                        &c->trap, error);
    vyre_pipeline_release(pipeline);
    return status;
}

/* ---- comparing ---- */

__attribute__((format(printf, 2, 3))) static inline int conform_differ(conform *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->message, sizeof c->message, format, arguments);
    va_end(arguments);
    return 0;
}

static inline int conform_same(conform *c, const vyre_program *program, const vyre_error *error) {
    const conform_result *want = &c->expected;
    if (want->status != c->status)
        return conform_differ(c, "it ends with %s instead of %s (%s)", vyre_status_name(c->status),
                              vyre_status_name(want->status), c->status == VYRE_OK ? "" : error->message);
    if (want->status == VYRE_TRAPPED)
        return want->trap.invocation == c->trap.invocation && want->trap.code == c->trap.code
                   ? 1
                   : conform_differ(c, "invocation %llu traps with %u instead of %llu with %u",
                                    (unsigned long long)c->trap.invocation, c->trap.code,
                                    (unsigned long long)want->trap.invocation, want->trap.code);
    size_t count = vyre_program_output_count(program);
    if (c->given.count != count && c->given.capacity != CONFORM_BUFFERS)
        return conform_differ(c, "it gives %zu outputs instead of %zu", c->given.count, count);
    for (size_t i = 0; i < count; i++) {
        const vyre_bytes *x = &want->outputs[i], *y = &c->given.items[i];
        if (x->size != y->size)
            return conform_differ(c, "output %zu has %zu bytes instead of %zu", i, y->size, x->size);
        for (size_t k = 0; k < x->size; k++)
            if (((const uint8_t *)x->data)[k] != ((const uint8_t *)y->data)[k])
                return conform_differ(c, "byte %zu of output %zu is %02x instead of %02x", k, i,
                                      ((const uint8_t *)y->data)[k], ((const uint8_t *)x->data)[k]);
    }
    return 1;
}

/* The backend alone: c->expected is there. Inputs end at a guard page, every third begins at one: backends that read
 * them in place must not read beside them. */
static inline int conform_given(conform *c, vyre_program *program, const vyre_arguments *arguments, conform_form form) {
    static _Thread_local guarded memory[CONFORM_BUFFERS];
    static _Thread_local vyre_span inputs[CONFORM_BUFFERS];
    vyre_arguments placed = *arguments;
    vyre_error error = VYRE_ERROR_INIT;
    if (c->expected.status == VYRE_TRAPPED && (form == CONFORM_RESIDENT || form == CONFORM_MIXED))
        form = CONFORM_PIPELINE; /* nobody has said how large its outputs are */
    assert_true(arguments->input_count <= CONFORM_BUFFERS);
    for (size_t i = 0; i < arguments->input_count; i++) {
        memory[i] = guarded_make(arguments->inputs[i].size, (i + form) % 3 != 0);
        inputs[i] = (vyre_span){memory[i].data, arguments->inputs[i].size};
        if (inputs[i].size)
            memcpy(memory[i].data, arguments->inputs[i].data, inputs[i].size);
    }
    placed.inputs = inputs;
    c->status = conform_dispatch(c, program, &placed, form, &error);
    c->runs++;
    for (size_t i = 0; i < arguments->input_count; i++)
        guarded_free(&memory[i]);
    return conform_same(c, program, &error);
}

/* 1 if both agree, or if the oracle does not say; 0 with c->message if not. */
static inline int conform_agree(conform *c, vyre_program *program, const vyre_arguments *arguments, conform_form form) {
    c->message[0] = 0;
    if (!conform_expect(c, program, arguments))
        return 1;
    c->judged++;
    c->trapped += c->expected.status == VYRE_TRAPPED;
    return conform_given(c, program, arguments, form);
}

/* ---- showing what differs ---- */

static inline void conform_show(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    if (vyre_text_print(program, &text, NULL) == VYRE_OK)
        printf("%.*s\n", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
    fflush(stdout);
}

typedef struct conform_suspect {
    conform *c;
    conform_form form;
    vyre_status status;
} conform_suspect;

/* Fails alike: with the same status, and still a program that everybody must agree about. */
static inline int conform_fails_alike(void *user, const vyre_case *candidate) {
    conform_suspect *s = user;
    if (vyre_program_schedule_dependent(vyre_case_program(candidate)))
        return 0;
    return !conform_agree(s->c, vyre_case_program(candidate), vyre_case_arguments(candidate), s->form) &&
           s->c->status == s->status;
}

/* A smaller case that fails alike, or NULL; vyre_case_free follows. */
static inline vyre_case *conform_shrink(conform *c, vyre_program *program, const vyre_arguments *arguments,
                                        conform_form form, unsigned tries) {
    vyre_case *given, *small = NULL;
    conform_suspect s = {c, form, c->status};
    int checks = c->checks;
    if (vyre_case_new(program, arguments, &given, NULL) != VYRE_OK)
        return NULL;
    c->checks = 1;
    if (vyre_shrink(given, conform_fails_alike, &s, tries, &small, NULL) != VYRE_OK)
        small = NULL;
    vyre_case_free(given);
    c->checks = checks;
    return small;
}

static inline void conform_show_command(const char *id, const char *settings, const char *base) {
    printf("reproduce: %s vyre run %s.vyre @%s.args --backend %s, against --backend reference\n", settings, base, base,
           id);
}

/* Shows the smallest case that was found, and leaves it as files. */
static inline void conform_leave(const conform *c, vyre_program *program, const vyre_arguments *arguments) {
    static const char base[] = "campaign-failures/conform";
    vyre_case *given;
    conform_show(program);
    if (vyre_case_new(program, arguments, &given, NULL) != VYRE_OK)
        return;
    mkdir("campaign-failures", 0777);
    write_case(given, base);
    conform_show_command(c->id, c->settings, base);
    vyre_case_free(given);
}

static inline void conform_check(conform *c, const char *name, vyre_program *program, const vyre_arguments *arguments,
                                 conform_form form) {
    if (conform_agree(c, program, arguments, form))
        return;
    printf("%s on backend %s, %s, %s: %s\n", name, c->id, c->settings, conform_form_names[form], c->message);
    conform_leave(c, program, arguments);
    vyre_case *small = conform_shrink(c, program, arguments, form, 600);
    if (small) {
        conform_agree(c, vyre_case_program(small), vyre_case_arguments(small), form);
        printf("shrunk: %s\n", c->message);
        conform_leave(c, vyre_case_program(small), vyre_case_arguments(small));
        vyre_case_free(small);
    }
    fail_msg("%s: the backend and the oracle differ", name);
}

/* ---- programs from text ---- */

/* Calls of ops are resolved, as the oracle requires. */
static inline vyre_program *conform_parse(const char *text, const vyre_define *defines, size_t define_count,
                                          const char *name) {
    vyre_parse_options options = {.defines = defines, .define_count = define_count};
    vyre_module *module;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_text_parse(text, strlen(text), &options, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s (%s)\n%s", error.message, error.where, text);
    vyre_program *program = name ? vyre_module_find(module, name) : vyre_module_program(module, 0);
    assert_non_null(program);
    vyre_program *resolved = vy_test_resolve(program);
    vyre_module_free(module);
    return resolved;
}

/* Elements that look like anything: small numbers, single bits and their neighbours, any bits. */
static inline void conform_fill(vyre_type type, vy_random *random, void *bytes, size_t count) {
    size_t size = vyre_type_size(type);
    for (size_t n = 0; n < count; n++) {
        uint64_t value = vy_random_next(random);
        value = n % 3 == 0 ? value % 67 : n % 3 == 1 ? value : (UINT64_C(1) << value % 64) - value / 64 % 2;
        vyre_scalar scalar = vyre_scalar_bits(type, value);
        memcpy((uint8_t *)bytes + n * size, &scalar.bits, size);
    }
}

#endif
