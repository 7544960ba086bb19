/* A backend under control, by its id: deadlines, cancellation, traps of many invocations, many callers, the end with
 * work in flight. Through the public interface. */
#ifndef VY_TESTS_CONFORM_CONTROL_H
#define VY_TESTS_CONFORM_CONTROL_H

#include "backends/conform.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static const char conform_endless[] =
    "program endless {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " var n = 1u32\n while n != 0 { n = n * 3 }\n x[i] = n\n}\n"; /* odd for ever */
static const char conform_doubled[] =
    "program doubled {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " if i < len(x) { x[i] = 2 * x[i] }\n}\n";

enum { CONTROL_COUNT = 5000 };

static inline uint64_t conform_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline void conform_still_works(conform *c) {
    static uint32_t x[CONTROL_COUNT];
    for (uint32_t i = 0; i < CONTROL_COUNT; i++)
        x[i] = i;
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_program *program = conform_parse(conform_doubled, NULL, 0, NULL);
    for (unsigned form = 0; form < CONFORM_FORM_COUNT; form++)
        conform_check(c, "what comes after", program, &arguments, (conform_form)form);
    vyre_program_release(program);
    assert_int_equal(vyre_backend_device_lost(c->backend), 0);
}

static inline void conform_deadline(const char *id) {
    static conform c;
    static uint32_t x[CONTROL_COUNT];
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_dispatch_config config = {.timeout_ns = 30000000};
    conform_open(&c, id);
    vyre_program *program = conform_parse(conform_endless, NULL, 0, NULL);
    vyre_pipeline *pipeline;
    assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, NULL), VYRE_OK);
    for (int i = 0; i < 2; i++) {
        uint64_t start = conform_now();
        assert_int_equal(vyre_pipeline_dispatch(pipeline, &arguments, &config, &c.given, NULL, NULL), VYRE_TIMEOUT);
        assert_true(conform_now() - start < UINT64_C(20000000000));
        assert_int_equal(vyre_backend_dispatch(c.backend, program, &arguments, &config, &c.given, NULL, NULL),
                         VYRE_TIMEOUT);
    }
    conform_still_works(&c);
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    conform_close(&c);
}

static inline void *conform_cancel_soon(void *user) {
    usleep(20000);
    vyre_pending_cancel(user);
    return NULL;
}

/* The handle is used by one thread at a time: it is waited for when the other is done with it. */
static inline void conform_cancelled(const char *id) {
    static conform c;
    static uint32_t x[CONTROL_COUNT];
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    const vyre_compile_options options = {.struct_size = sizeof options, .cancellable = 1};
    conform_open(&c, id);
    vyre_program *program = conform_parse(conform_endless, NULL, 0, NULL);
    vyre_pipeline *pipeline;
    vyre_pending *pending;
    pthread_t thread;
    assert_int_equal(vyre_compile(c.backend, program, &options, &pipeline, NULL), VYRE_OK);
    assert_int_equal(vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending, NULL), VYRE_OK);
    assert_int_equal(pthread_create(&thread, NULL, conform_cancel_soon, pending), 0);
    pthread_join(thread, NULL);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &c.given, NULL, NULL), VYRE_CANCELLED);
    vyre_pending_free(pending);
    conform_still_works(&c);
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    conform_close(&c);
}

static inline void conform_traps(const char *id) {
    static const char text[] =
        "program traps {\n param from : u32\n buffer x : u32 read_write\n workgroup 32\n grid over x\n"
        " let i = global_id.x\n if i >= from && i % 7 == 3 { trap i + 1 }\n if i < len(x) { x[i] = i }\n}\n";
    static conform c;
    static uint32_t x[CONTROL_COUNT];
    vyre_span input = {x, sizeof x};
    conform_open(&c, id);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    for (uint32_t from = 0; from < CONTROL_COUNT + 100; from += 97) {
        vyre_scalar param = vyre_scalar_u32(from);
        vyre_arguments arguments = {.params = &param, .param_count = 1, .inputs = &input, .input_count = 1};
        conform_check(&c, "traps", program, &arguments, (conform_form)(from % CONFORM_FORM_COUNT));
    }
    assert_true(c.trapped > 40);
    vyre_program_release(program);
    conform_close(&c);
}

/* ---- many callers ---- */

enum { CONTROL_CALLERS = 8 };

typedef struct conform_caller {
    conform c;
    unsigned index;
    int failed;
} conform_caller;

static inline void *conform_call_often(void *user) {
    conform_caller *me = user;
    char text[512];
    static uint32_t x[CONTROL_CALLERS][CONTROL_COUNT];
    uint32_t *mine = x[me->index];
    vyre_span input = {mine, sizeof x[0]};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    for (uint32_t i = 0; i < CONTROL_COUNT; i++)
        mine[i] = i * (me->index + 1);
    for (unsigned round = 0; round < 3; round++) {
        vyre_module *module;
        snprintf(text, sizeof text,
                 "program p {\n buffer x : u32 read_write\n workgroup %u\n grid over x\n let i = global_id.x\n"
                 " let s = workgroup_reduce_add(x[i])\n if i < len(x) { x[i] = x[i] * %u + s }\n}\n",
                 16 * (me->index + 1), round * 10 + me->index);
        if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, NULL) != VYRE_OK) {
            me->failed = 1;
            return NULL;
        }
        for (unsigned form = 0; form < CONFORM_FORM_COUNT && !me->failed; form++)
            me->failed = !conform_agree(&me->c, vyre_module_program(module, 0), &arguments, (conform_form)form);
        vyre_module_free(module);
    }
    return NULL;
}

static inline void conform_callers(const char *id) {
    static conform_caller callers[CONTROL_CALLERS];
    conform shared;
    pthread_t threads[CONTROL_CALLERS];
    conform_open(&shared, id);
    for (unsigned i = 0; i < CONTROL_CALLERS; i++) {
        callers[i].index = i;
        callers[i].c.id = id;
        callers[i].c.backend = vyre_backend_retain(shared.backend);
        assert_int_equal(pthread_create(&threads[i], NULL, conform_call_often, &callers[i]), 0);
    }
    for (unsigned i = 0; i < CONTROL_CALLERS; i++) {
        pthread_join(threads[i], NULL);
        if (callers[i].failed)
            fail_msg("caller %u: %s", i, callers[i].c.message);
        conform_close(&callers[i].c);
    }
    conform_close(&shared);
}

/* ---- the end ---- */

static inline void conform_ending(const char *id) {
    static uint32_t x[CONTROL_COUNT];
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    enum { FLIGHTS = 12 };
    for (int released = 0; released < 2; released++) {
        static conform c;
        vyre_pending *pending[FLIGHTS];
        vyre_pipeline *pipeline;
        conform_open(&c, id); /* skips where there is none */
        vyre_program *program = conform_parse(conform_doubled, NULL, 0, NULL);
        assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, NULL), VYRE_OK);
        for (int i = 0; i < FLIGHTS; i++)
            assert_int_equal(vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending[i], NULL), VYRE_OK);
        if (!released) {
            assert_int_equal(vyre_backend_shutdown(c.backend, NULL), VYRE_OK);
            assert_int_equal(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &c.given, NULL, NULL),
                             VYRE_DEVICE_LOST);
        }
        vyre_pipeline_release(pipeline);
        for (int i = 0; i < FLIGHTS; i++) {
            if (i % 3) {
                vyre_status status = vyre_pending_wait(pending[i], UINT64_MAX, &c.given, NULL, NULL);
                int is_ended = status == VYRE_DEVICE_LOST || status == VYRE_CANCELLED; /* cancelled: after 2 seconds */
                if (status != VYRE_OK && (released || !is_ended))
                    fail_msg("dispatch %d: %s", i, vyre_status_name(status));
            }
            vyre_pending_free(pending[i]);
        }
        conform_close(&c);
        vyre_program_release(program);
    }
}

#endif
