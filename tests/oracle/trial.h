/* A program on trial: parsed from text, run by the oracle, its outputs and findings kept. */
#ifndef VY_TESTS_ORACLE_TRIAL_H
#define VY_TESTS_ORACLE_TRIAL_H

#include "support/test.h"

#include "vyre/oracle.h"
#include "vyre/text.h"

enum { TRIAL_OUTPUTS = 4 };

typedef struct trial {
    vyre_module *module;
    vyre_program *program; /* borrowed from the module */
    vyre_oracle *oracle;
    vyre_arguments arguments;
    vyre_oracle_options options;
    vyre_span inputs[8];
    vyre_bytes outputs[TRIAL_OUTPUTS];
    vyre_diagnostics *findings;
    vyre_oracle_report report;
    vyre_error error;
    vyre_status status;
} trial;

static inline void trial_show(const vyre_diagnostics *list) {
    vyre_bytes text = VYRE_BYTES_INIT;
    if (vyre_diagnostics_render(list, &text, NULL) == VYRE_OK)
        printf("%.*s\n", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

static inline void trial_open(trial *t, const char *text) {
    memset(t, 0, sizeof *t);
    t->findings = vyre_diagnostics_new();
    if (vyre_text_parse(text, strlen(text), NULL, t->findings, &t->module, &t->error) != VYRE_OK) {
        trial_show(t->findings);
        fail_msg("does not parse: %s\n%s", t->error.message, text);
    }
    t->program = vyre_module_program(t->module, 0);
    assert_non_null(t->program);
    if (vyre_oracle_new(t->program, &t->oracle, &t->error) != VYRE_OK)
        fail_msg("%s\n%s", t->error.message, text);
    t->arguments.inputs = t->inputs;
}

static inline void trial_input(trial *t, const void *data, size_t size) {
    t->inputs[t->arguments.input_count++] = (vyre_span){data, size};
}

static inline void trial_groups(trial *t, uint32_t x, uint32_t y, uint32_t z) {
    t->arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {x, y, z}};
}

static inline vyre_status trial_run(trial *t) {
    vyre_diagnostics_clear(t->findings);
    return t->status =
               vyre_oracle_run(t->oracle, &t->arguments, &t->options, t->outputs, &t->report, t->findings, &t->error);
}

static inline void trial_expect(trial *t, vyre_status status) {
    if (trial_run(t) != status) {
        trial_show(t->findings);
        fail_msg("status %s, not %s: %s", vyre_status_name(t->status), vyre_status_name(status),
                 t->status ? t->error.message : "");
    }
}

static inline const uint32_t *trial_u32(const trial *t, int output) {
    return t->outputs[output].data;
}

static inline void trial_close(trial *t) {
    for (int i = 0; i < TRIAL_OUTPUTS; i++)
        vyre_bytes_free(&t->outputs[i]);
    vyre_diagnostics_free(t->findings);
    vyre_oracle_free(t->oracle);
    vyre_module_free(t->module);
}

/* Runs a program whose only output has `count` u32 elements and compares them. Inputs are none. */
static inline void expect_u32(const char *text, const uint32_t *want, size_t count) {
    trial t;
    trial_open(&t, text);
    trial_expect(&t, VYRE_OK);
    assert_int_equal(t.outputs[0].size, count * 4);
    for (size_t i = 0; i < count; i++)
        if (trial_u32(&t, 0)[i] != want[i])
            fail_msg("element %zu is %u, not %u\n%s", i, trial_u32(&t, 0)[i], want[i], text);
    trial_close(&t);
}
#define EXPECT_U32(text, ...)                                                                                          \
    expect_u32((text), (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

#endif
