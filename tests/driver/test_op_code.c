/* Code of dialects on a backend with `code_target`: a backend that compiles with the emitter of C and the C compiler of
 * the host. The code is tried on that backend before a program uses it, and is part of the identity of the program. */
#include "emit/c/compiled.h"

#include "driver/backend.h"
#include "vyre/cache.h"
#include "vyre/dialect.h"
#include "vyre/driver.h"
#include "vyre/manifest.h"
#include "vyre/pipeline.h"

/* ---- the backend ---- */

typedef struct c_backend {
    unsigned compiled;  /* programs, trials included */
    unsigned with_code; /* of them, those that call an op, whose code is in their C */
    const char *target;
} c_backend;

typedef struct c_pipeline {
    void *library;
    compiled_call *call;
    vyre_program *program;
} c_pipeline;

static const char *backend_id(void *self) {
    (void)self;
    return "compiled-c";
}

static const char *backend_target(void *self) {
    return ((c_backend *)self)->target;
}

static uint64_t backend_capability(void *self, vyre_capability capability) {
    (void)self;
    switch (capability) {
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X:
        return 64;
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z:
        return 1;
    case VYRE_CAPABILITY_MAX_WORKGROUPS:
        return 65535;
    default:
        return 0;
    }
}

static void backend_destroy(void *self) {
    (void)self;
}

static vyre_status pipeline_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs,
                                     size_t input_count, vyre_outputs *outputs, vyre_error *error) {
    c_pipeline *p = self;
    void *buffers[VY_LIMIT_BUFFERS];
    uint64_t trap[2] = {0}, params[1] = {0};
    size_t input = 0, output = 0;
    vyre_buffer_info buffer;
    (void)input_count;
    for (size_t i = 0; vyre_program_buffer(p->program, i, &buffer); i++) {
        const size_t size = (size_t)launch->elements[i] * vyre_type_size(buffer.type);
        int is_input = buffer.access != VYRE_ACCESS_WRITE;
        buffers[i] = calloc(size + 1, 1);
        assert_non_null(buffers[i]);
        if (is_input)
            memcpy(buffers[i], inputs[input++].data, size);
    }
    assert_int_equal(p->call(buffers, launch->elements, params, launch->groups, trap), 0);
    vyre_status status = VYRE_OK;
    for (size_t i = 0; vyre_program_buffer(p->program, i, &buffer); i++) {
        const size_t size = (size_t)launch->elements[i] * vyre_type_size(buffer.type);
        if (buffer.access != VYRE_ACCESS_READ && status == VYRE_OK) {
            status = vyre_bytes_resize(&outputs->items[output], size, error);
            if (status == VYRE_OK && size)
                memcpy(outputs->items[output].data, buffers[i], size);
            output++;
        }
        free(buffers[i]);
    }
    return status;
}

static void pipeline_destroy(void *self) {
    c_pipeline *p = self;
    dlclose(p->library);
    vyre_program_release(p->program);
    free(p);
}

static const vyre_pipeline_vtable pipeline_table = {
    .struct_size = sizeof pipeline_table, .dispatch = pipeline_dispatch, .destroy = pipeline_destroy};

static vyre_status backend_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                   vyre_native_pipeline *out, vyre_error *error) {
    c_backend *backend = self;
    compiled c = {.compilers = NULL};
    char folder[] = "/tmp/vyre-test-XXXXXX", source[64], command[256];
    c_pipeline *p = calloc(1, sizeof *p);
    (void)options, (void)error;
    assert_true(p && mkdtemp(folder));
    backend->compiled++;
    assert_int_equal(compiled_program(&c, program), 0);
    backend->with_code += (program->facts & VY_PROGRAM_HAS_OP_CALL) && strstr(c.functions.text, "/* words.") != NULL;
    snprintf(source, sizeof source, "%s/emitted.c", folder);
    compiled_file(&c, source);
    snprintf(command, sizeof command, "cc -std=c17 -O1 -w -fPIC -shared -o %s/emitted.so %s -lm", folder, source);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/emitted.so", folder);
    p->library = dlopen(command, RTLD_NOW | RTLD_LOCAL);
    if (!p->library)
        fail_msg("%s", dlerror());
    p->call = (compiled_call *)(uintptr_t)dlsym(p->library, "p0_call");
    p->program = vyre_program_retain(program);
    assert_non_null(p->call);
    unlink(command);
    unlink(source);
    rmdir(folder);
    compiled_clear(&c);
    *out = (vyre_native_pipeline){&pipeline_table, p};
    return VYRE_OK;
}

static c_backend counts;

static vyre_backend *open_backend(const char *target) {
    static const vyre_backend_vtable table = {.struct_size = sizeof table,
                                              .abi = VYRE_BACKEND_ABI,
                                              .id = backend_id,
                                              .compile = backend_compile,
                                              .destroy = backend_destroy,
                                              .capability = backend_capability,
                                              .code_target = backend_target};
    const vyre_backend_instance instance = {&table, &counts};
    vyre_backend *backend = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    counts = (c_backend){.target = target};
    if (vy_backend_wrap(&instance, &backend, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return backend;
}

/* ---- programs ---- */

static void load(const char *code) {
    static const char words[] = "dialect = 'words'\nversion = '1.0.0'\n"
                                "[[op]]\nid = 'rotate'\ncategory = 'intrinsic'\n"
                                "signature = 'fn rotate(x: u32, n: u32) -> u32'\n"
                                "body = 'fn rotate(x: u32, n: u32) -> u32 { return rotl(x, n) }'\n"
                                "lowering = { c = '%s', ptx = 'shf.l.wrap.b32 {result}, {x}, {x}, {n};' }\n";
    char text[1024];
    vyre_error error = VYRE_ERROR_INIT;
    snprintf(text, sizeof text, words, code);
    if (vyre_dialects_load_text("test", text, strlen(text), NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
}

static const char good[] = "({x} << ({n} & 31u)) | ({x} >> (-{n} & 31u))";
static const char same[] = "({x} >> (-{n} & 31u)) | ({x} << ({n} & 31u))";
static const char source[] = "program turned {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                             " let i = global_id.x\n if i < len(y) { y[i] = words.rotate(y[i], i) }\n}\n";

static void run(vyre_pipeline *pipeline) {
    uint32_t y[70];
    for (uint32_t i = 0; i < 70; i++)
        y[i] = i * 2654435761u;
    const vyre_span input = {y, sizeof y};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    for (uint32_t i = 0; i < 70; i++)
        assert_int_equal(((uint32_t *)outputs.items[0].data)[i], y[i] << (i & 31) | y[i] >> (-i & 31));
    vyre_outputs_free(&outputs);
}

static vyre_pipeline *compile(vyre_backend *backend, vyre_program *program) {
    vyre_pipeline *pipeline = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_compile(backend, program, NULL, &pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return pipeline;
}

static int without_caches(void **state) {
    (void)state;
    vyre_cache_set_folder("", NULL);
    vyre_cache_set_memory_limit(256);
    return 0;
}

#define NEEDS_COMPILER()                                                                                               \
    if (!compiled_has("cc"))                                                                                           \
    VY_SKIP("no C compiler")

/* ---- tests ---- */

static void code_is_tried_once_and_used(void **state) {
    (void)state;
    NEEDS_COMPILER();
    load(good);
    vyre_backend *backend = open_backend("c");
    vyre_program *program = vy_test_parse(source);
    vyre_pipeline *pipeline = compile(backend, program);
    assert_int_equal(counts.compiled, 2); /* the trial, and the program */
    assert_int_equal(counts.with_code, 2);
    run(pipeline);
    vyre_pipeline *again = compile(backend, program);
    assert_int_equal(counts.compiled, 2);
    assert_string_equal(vyre_pipeline_id(again), vyre_pipeline_id(pipeline));
    vyre_pipeline_release(again);
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    vyre_backend_release(backend);
}

/* A program that was linked before the backend was known; and a dispatch without a pipeline. */
static void linked_programs_and_dispatches_use_code(void **state) {
    (void)state;
    NEEDS_COMPILER();
    load(good);
    vyre_backend *backend = open_backend("c");
    vyre_program *program = vy_test_parse(source), *linked;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_int_equal(vyre_program_resolve(program, guard, NULL, &linked, NULL), VYRE_OK);
    vyre_dialects_release(&guard);
    vyre_pipeline *pipeline = compile(backend, linked);
    assert_int_equal(counts.with_code, counts.compiled);
    run(pipeline);
    vyre_pipeline_release(pipeline);
    vyre_program *const both[] = {program, linked};
    for (int i = 0; i < 2; i++) {
        uint32_t y[3] = {1, 2, 0x80000000};
        const vyre_span input = {y, sizeof y};
        const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        assert_int_equal(vyre_backend_dispatch(backend, both[i], &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
        assert_memory_equal(outputs.items[0].data, ((uint32_t[]){1, 4, 2}), 12);
        vyre_outputs_free(&outputs);
    }
    assert_int_equal(counts.with_code, counts.compiled);
    vyre_program_release(linked);
    vyre_program_release(program);
    vyre_backend_release(backend);
}

/* The dialect is replaced while pipelines exist: the key of the new program is another one. */
static void changed_code_changes_the_key(void **state) {
    (void)state;
    NEEDS_COMPILER();
    load(good);
    vyre_backend *backend = open_backend("c");
    vyre_program *program = vy_test_parse(source);
    vyre_pipeline *first = compile(backend, program);
    load(same);
    vyre_pipeline *second = compile(backend, program);
    assert_int_equal(counts.compiled, 4); /* two trials, two programs */
    assert_string_not_equal(vyre_pipeline_id(first), vyre_pipeline_id(second));
    run(first);
    run(second);
    load(good);
    vyre_pipeline *third = compile(backend, program);
    assert_int_equal(counts.compiled, 4); /* all of it is remembered */
    assert_string_equal(vyre_pipeline_id(first), vyre_pipeline_id(third));
    vyre_pipeline_release(third);
    vyre_pipeline_release(second);
    vyre_pipeline_release(first);
    vyre_program_release(program);
    vyre_backend_release(backend);
}

static void other_bits_on_the_backend_are_refused(void **state) {
    (void)state;
    NEEDS_COMPILER();
    load("{x} + {n}");
    vyre_backend *backend = open_backend("c");
    vyre_program *program = vy_test_parse(source);
    vyre_pipeline *pipeline = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_compile(backend, program, NULL, &pipeline, &error), VYRE_INVALID_PROGRAM);
    assert_null(pipeline);
    assert_string_equal(error.message,
                        "the code of `words.rotate` for `c` returns 1u32 and the body 0u32 at x = 0u32, n = 1u32");
    assert_int_equal(counts.compiled, 1);
    load(good); /* corrected, while the backend runs */
    pipeline = compile(backend, program);
    run(pipeline);
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    vyre_backend_release(backend);
}

static void a_backend_without_a_known_target_compiles_the_body(void **state) {
    (void)state;
    NEEDS_COMPILER();
    static const char *const targets[] = {NULL, "native_module", "mine", "not a target"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        load(good);
        vyre_backend *backend = open_backend(targets[i]);
        vyre_program *program = vy_test_parse(source);
        vyre_pipeline *pipeline = compile(backend, program);
        run(pipeline);
        assert_int_equal(counts.compiled, 1);
        assert_int_equal(counts.with_code, 0);
        vyre_pipeline_release(pipeline);
        vyre_program_release(program);
        vyre_backend_release(backend);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_tried_once_and_used),
        cmocka_unit_test(linked_programs_and_dispatches_use_code),
        cmocka_unit_test(changed_code_changes_the_key),
        cmocka_unit_test(other_bits_on_the_backend_are_refused),
        cmocka_unit_test(a_backend_without_a_known_target_compiles_the_body),
    };
    return cmocka_run_group_tests(tests, without_caches, NULL);
}
