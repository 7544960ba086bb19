/* Runs a program as it is and legalised, under conditions that a device may have, and compares what can be seen. */
#ifndef VY_TESTS_LOWER_TRAPS_RUNNER_H
#define VY_TESTS_LOWER_TRAPS_RUNNER_H

#include "lower/runner.h"

#include "compile/pipeline.h"
#include "generate/generate.h"
#include "oracle/lowered_env.h"

enum { OUTPUTS = 64, STEPS = 200000, MORE = 60 };

typedef struct outcome {
    vyre_status status;
    vyre_trap trap;
    vyre_bytes outputs[OUTPUTS];
    char message[400];
} outcome;

static inline void outcome_free(outcome *out) {
    for (int i = 0; i < OUTPUTS; i++)
        vyre_bytes_free(&out->outputs[i]);
}

static inline void outcome_of(vyre_program *program, const vyre_arguments *arguments, vyre_oracle_options options,
                              const vy_lowered_env *conditions, outcome *out) {
    vyre_oracle *oracle = NULL;
    vyre_oracle_report report = {0};
    vyre_error error = {0};
    memset(out, 0, sizeof *out);
    options.threads = 1;
    out->status = vyre_oracle_new(program, &oracle, &error);
    if (out->status == VYRE_OK)
        out->status = vy_oracle_run_under(oracle, arguments, &options, conditions, out->outputs, &report, NULL, &error);
    out->trap = report.trap;
    if (out->status != VYRE_OK)
        snprintf(out->message, sizeof out->message, "%.390s", error.message);
    vyre_oracle_free(oracle);
}

/* What differs, or NULL. */
static inline const char *outcome_differs(const outcome *want, const outcome *got) {
    static char text[1024];
    if (want->status != got->status) {
        snprintf(text, sizeof text, "status %s (%s), must be %s (%s)", vyre_status_name(got->status), got->message,
                 vyre_status_name(want->status), want->message);
        return text;
    }
    if (want->status == VYRE_TRAPPED &&
        (want->trap.invocation != got->trap.invocation || want->trap.code != got->trap.code)) {
        snprintf(text, sizeof text, "trap %u of invocation %" PRIu64 ", must be %u of %" PRIu64, got->trap.code,
                 got->trap.invocation, want->trap.code, want->trap.invocation);
        return text;
    }
    for (int i = 0; i < OUTPUTS; i++) {
        if (want->status != VYRE_OK && got->outputs[i].size)
            return "bytes are delivered";
        if (want->outputs[i].size != got->outputs[i].size)
            return "sizes differ";
        if (want->outputs[i].size && memcmp(want->outputs[i].data, got->outputs[i].data, want->outputs[i].size) != 0)
            return "bytes differ";
    }
    return NULL;
}

/* How a program is legalised and run. */
typedef struct question {
    vy_target_desc target;
    vyre_oracle_options options; /* of the legal program; checks and seed */
    vy_lowered_env conditions;
    outcome want;     /* of the program as it is */
    int may_trap;     /* before it is stopped */
    vyre_status seen; /* of the last run */
    char why[1200];
} question;

/* Legalises and runs `program`; true if it does not do what it must. With polls it may also be stopped, perhaps after a
 * trap that the program has; but never do anything else. */
static inline int misbehaves(question *q, vyre_program *program, const vyre_arguments *arguments) {
    static outcome got;
    vyre_program *legal = NULL;
    vyre_error error = {0};
    const char *difference = NULL;
    vyre_status status = vy_legalize(program, &q->target, &legal, &error);
    if (status != VYRE_OK) {
        snprintf(q->why, sizeof q->why, "not legalised: %s", error.message);
        return status != VYRE_UNSUPPORTED;
    }
    outcome_of(legal, arguments, q->options, &q->conditions, &got);
    q->seen = got.status;
    int is_stopped = q->conditions.poll && got.status == VYRE_TIMEOUT;
    if (!is_stopped)
        difference = outcome_differs(&q->want, &got);
    else if (q->want.status != VYRE_TRAPPED && !q->may_trap && (got.trap.invocation || got.trap.code))
        difference = "a trap is reported that the program does not have";
    if (difference)
        snprintf(q->why, sizeof q->why, "%s", difference);
    outcome_free(&got);
    vyre_program_release(legal);
    return difference != NULL;
}

/* Whether the case is one to judge: it ends. */
static inline int want_outcome(question *q, vyre_program *program, const vyre_arguments *arguments) {
    const vy_lowered_env none = {0};
    outcome_free(&q->want);
    outcome_of(program, arguments, (vyre_oracle_options){.budget = STEPS}, &none, &q->want);
    return q->want.status == VYRE_OK || q->want.status == VYRE_TRAPPED;
}

static inline int still_misbehaves(void *user, const vyre_case *candidate) {
    question *q = user;
    vyre_program *program = vyre_case_program(candidate);
    const vyre_arguments *arguments = vyre_case_arguments(candidate);
    return want_outcome(q, program, arguments) && misbehaves(q, program, arguments);
}

static inline void show_both(question *q, vyre_program *program) {
    vyre_program *legal = NULL;
    print_program(program);
    if (vy_legalize(program, &q->target, &legal, NULL) == VYRE_OK)
        print_program(legal);
    vyre_program_release(legal);
}

/* Fails the test with the smallest case that misbehaves as this one does. */
static inline void fail_small(question *q, vyre_program *program, const vyre_arguments *arguments, const char *what) {
    vyre_case *found = NULL, *small = NULL;
    char first[1200];
    snprintf(first, sizeof first, "%s", q->why);
    assert_int_equal(vyre_case_new(program, arguments, &found, NULL), VYRE_OK);
    if (vyre_shrink(found, still_misbehaves, q, 600, &small, NULL) == VYRE_OK) {
        still_misbehaves(q, small);
        show_both(q, vyre_case_program(small));
    }
    vyre_case_free(small);
    vyre_case_free(found);
    fail_msg("%s: %s; small: %s", what, first, q->why);
}

#endif
