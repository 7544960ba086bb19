/* Judging one random case: everything the library promises about every program, in stages.
 *
 * A stage that fails leaves a sentence in `message`. The order matters to the shrinker: a smaller case counts only if
 * the same stage fails, so a case that became racy on the way (races come before schedules) is not taken for a wrong
 * schedule. */
#ifndef VY_CAMPAIGN_JUDGE_H
#define VY_CAMPAIGN_JUDGE_H

#include "generate/generate.h"
#include "ir/model.h"
#include "vyre/oracle.h"
#include "vyre/text.h"
#include "vyre/wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* X(ID, name, what is checked) */
#define JUDGE_STAGES(X)                                                                                                \
    X(GENERATE, "generate", "the program is valid and not schedule-dependent")                                         \
    X(TEXT, "text", "parsing the printed program gives an equal one, and printing that the same text")                 \
    X(FORMAT, "format", "formatting the printed program keeps its meaning")                                            \
    X(WIRE, "wire", "decoding the encoded program gives an equal one, and encoding that the same bytes")               \
    X(INLINE, "inline", "inlining gives a valid program")                                                              \
    X(COMPILE, "compile", "the oracle takes the program")                                                              \
    X(RUN, "run", "it ends, delivered or trapped")                                                                     \
    X(RACES, "races", "the race checker is silent")                                                                    \
    X(THREADS, "threads", "two threads give the same bytes")                                                           \
    X(SCHEDULES, "schedules", "perturbed schedules give the same bytes")                                               \
    X(INLINED, "inlined", "the inlined program gives the same bytes")

typedef enum judge_stage {
#define X(ID, name, doc) STAGE_##ID,
    JUDGE_STAGES(X)
#undef X
        STAGE_COUNT /* nothing failed */
} judge_stage;

static const char *const judge_names[] = {
#define X(ID, name, doc) name,
    JUDGE_STAGES(X)
#undef X
        "none",
};

enum { JUDGE_OUTPUTS = 16 };

/* What a run delivered. */
typedef struct judge_result {
    vyre_status status;
    vyre_trap trap;
    vyre_bytes outputs[JUDGE_OUTPUTS];
} judge_result;

/* Start with zeros; free with judge_free. One thread. */
typedef struct judge {
    uint64_t nanoseconds[STAGE_COUNT]; /* of processor time, so that a busy machine does not matter */
    uint64_t steps, trapped;
    char message[2048];
    vyre_bytes text, text_again, wire, wire_again;
    judge_result expected, given;
    struct timespec started;
} judge;

static inline void judge_free(judge *j) {
    vyre_bytes *const all[] = {&j->text, &j->text_again, &j->wire, &j->wire_again};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        vyre_bytes_free(all[i]);
    for (size_t i = 0; i < JUDGE_OUTPUTS; i++) {
        vyre_bytes_free(&j->expected.outputs[i]);
        vyre_bytes_free(&j->given.outputs[i]);
    }
}

static inline void judge_clock(judge *j, judge_stage stage) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    j->nanoseconds[stage] +=
        (uint64_t)((now.tv_sec - j->started.tv_sec) * 1000000000 + (now.tv_nsec - j->started.tv_nsec));
    j->started = now;
}

__attribute__((format(printf, 2, 3))) static inline int judge_fail(judge *j, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(j->message, sizeof j->message, format, arguments);
    va_end(arguments);
    return 0;
}

static inline int judge_error(judge *j, const char *what, const vyre_error *error) {
    return judge_fail(j, "%s: %s: %s (%s)", what, vyre_status_name(error->code), error->message, error->where);
}

/* ---- text and wire ---- */

static inline int judge_parse_equal(judge *j, const vyre_program *program, const vyre_bytes *text, vyre_program **out) {
    vyre_error error;
    vyre_module *module;
    if (vyre_text_parse(text->data, text->size, NULL, NULL, &module, &error) != VYRE_OK)
        return judge_error(j, "the printed program does not parse", &error);
    vyre_program *parsed = vyre_module_program(module, 0);
    int equal = vyre_module_program_count(module) == 1 && vyre_program_equal(parsed, program);
    if (equal && out)
        *out = vyre_program_retain(parsed);
    vyre_module_free(module);
    return equal ? 1 : judge_fail(j, "the printed program parses to another one");
}

static inline int judge_text(judge *j, const vyre_program *program) {
    vyre_error error;
    vyre_program *parsed = NULL;
    if (vyre_text_print(program, &j->text, &error) != VYRE_OK)
        return judge_error(j, "the program does not print", &error);
    if (!judge_parse_equal(j, program, &j->text, &parsed))
        return 0;
    vyre_status status = vyre_text_print(parsed, &j->text_again, &error);
    vyre_program_release(parsed);
    if (status != VYRE_OK)
        return judge_error(j, "the parsed program does not print", &error);
    return j->text.size == j->text_again.size && memcmp(j->text.data, j->text_again.data, j->text.size) == 0
               ? 1
               : judge_fail(j, "printing the parsed program gives another text");
}

static inline int judge_format(judge *j, const vyre_program *program) {
    vyre_error error;
    if (vyre_text_format(j->text.data, j->text.size, NULL, NULL, &j->text_again, &error) != VYRE_OK)
        return judge_error(j, "the printed program cannot be formatted", &error);
    if (j->text.size == j->text_again.size && memcmp(j->text.data, j->text_again.data, j->text.size) == 0)
        return 1;
    return judge_parse_equal(j, program, &j->text_again, NULL);
}

static inline int judge_wire(judge *j, const vyre_program *program) {
    vyre_error error;
    vyre_program *decoded;
    if (vyre_wire_encode(program, 0, &j->wire, &error) != VYRE_OK)
        return judge_error(j, "the program does not encode", &error);
    if (vyre_wire_decode(j->wire.data, j->wire.size, NULL, &decoded, &error) != VYRE_OK)
        return judge_error(j, "the encoded program does not decode", &error);
    int equal = vyre_program_equal(program, decoded);
    vyre_status status = vyre_wire_encode(decoded, 0, &j->wire_again, &error);
    vyre_program_release(decoded);
    if (!equal)
        return judge_fail(j, "the encoded program decodes to another one");
    if (status != VYRE_OK)
        return judge_error(j, "the decoded program does not encode", &error);
    return j->wire.size == j->wire_again.size && memcmp(j->wire.data, j->wire_again.data, j->wire.size) == 0
               ? 1
               : judge_fail(j, "encoding the decoded program gives other bytes");
}

/* ---- runs ---- */

static inline int judge_run(judge *j, const vyre_oracle *oracle, const vyre_case *given,
                            const vyre_oracle_options *options, judge_result *result, const char *what) {
    vyre_error error;
    vyre_oracle_report report = {0};
    vyre_diagnostics *findings = options->checks ? vyre_diagnostics_new() : NULL;
    result->status =
        vyre_oracle_run(oracle, vyre_case_arguments(given), options, result->outputs, &report, findings, &error);
    result->trap = report.trap;
    j->steps += report.steps;
    const vyre_diagnostic *first = vyre_diagnostics_count(findings) ? vyre_diagnostics_get(findings, 0) : NULL;
    int fine = result->status == VYRE_OK || result->status == VYRE_TRAPPED;
    if (!fine)
        judge_fail(j, "%s: %s: %s; %s", what, vyre_status_name(result->status), error.message,
                   first ? first->message : "");
    vyre_diagnostics_free(findings);
    return fine;
}

static inline int judge_same(judge *j, const vyre_program *program, const char *what) {
    const judge_result *a = &j->expected, *b = &j->given;
    if (a->status != b->status)
        return judge_fail(j, "%s: ended with %s instead of %s", what, vyre_status_name(b->status),
                          vyre_status_name(a->status));
    if (a->status == VYRE_TRAPPED)
        return a->trap.invocation == b->trap.invocation && a->trap.code == b->trap.code
                   ? 1
                   : judge_fail(j, "%s: invocation %llu traps with code %u instead of %llu with %u", what,
                                (unsigned long long)b->trap.invocation, b->trap.code,
                                (unsigned long long)a->trap.invocation, a->trap.code);
    for (size_t i = 0; i < vyre_program_output_count(program); i++) {
        const vyre_bytes *x = &a->outputs[i], *y = &b->outputs[i];
        if (x->size != y->size)
            return judge_fail(j, "%s: output %zu has %zu bytes instead of %zu", what, i, y->size, x->size);
        for (size_t k = 0; k < x->size; k++)
            if (((const uint8_t *)x->data)[k] != ((const uint8_t *)y->data)[k])
                return judge_fail(j, "%s: byte %zu of output %zu is %02x instead of %02x", what, k, i,
                                  ((const uint8_t *)y->data)[k], ((const uint8_t *)x->data)[k]);
    }
    return 1;
}

static inline int judge_again(judge *j, const vyre_oracle *oracle, const vyre_case *given, vyre_oracle_options options,
                              const char *what) {
    options.budget = UINT64_C(1) << 28;
    return judge_run(j, oracle, given, &options, &j->given, what) && judge_same(j, vyre_case_program(given), what);
}

static inline judge_stage judge_runs(judge *j, const vyre_oracle *oracle, const vyre_case *given) {
    const vyre_oracle_options plain = {.threads = 1, .budget = UINT64_C(1) << 28};
    if (!judge_run(j, oracle, given, &plain, &j->expected, "the first run"))
        return STAGE_RUN;
    j->trapped += j->expected.status == VYRE_TRAPPED;
    judge_clock(j, STAGE_RUN);
    if (!judge_again(j, oracle, given,
                     (vyre_oracle_options){.threads = 1, .checks = VYRE_CHECK_RACES | VYRE_CHECK_DIVERGENCE},
                     "with the race checker"))
        return STAGE_RACES;
    judge_clock(j, STAGE_RACES);
    if (!judge_again(j, oracle, given, (vyre_oracle_options){.threads = 2}, "on two threads"))
        return STAGE_THREADS;
    judge_clock(j, STAGE_THREADS);
    if (!judge_again(j, oracle, given, (vyre_oracle_options){.threads = 1, .seed = 1}, "under schedule 1") ||
        !judge_again(j, oracle, given, (vyre_oracle_options){.threads = 2, .seed = 0x5eed}, "under schedule 0x5eed"))
        return STAGE_SCHEDULES;
    judge_clock(j, STAGE_SCHEDULES);
    return STAGE_COUNT;
}

static inline judge_stage judge_inlined(judge *j, vyre_program *inlined, const vyre_case *given) {
    vyre_error error;
    vyre_oracle *oracle;
    if (vyre_oracle_new(inlined, &oracle, &error) != VYRE_OK) {
        judge_error(j, "the oracle refuses the inlined program", &error);
        return STAGE_COMPILE;
    }
    int same = judge_again(j, oracle, given, (vyre_oracle_options){.threads = 1}, "the inlined program");
    vyre_oracle_free(oracle);
    judge_clock(j, STAGE_INLINED);
    return same ? STAGE_COUNT : STAGE_INLINED;
}

static inline judge_stage judge_executed(judge *j, const vyre_case *given, vyre_program *inlined) {
    vyre_error error;
    vyre_oracle *oracle;
    if (vyre_oracle_new(vyre_case_program(given), &oracle, &error) != VYRE_OK) {
        judge_error(j, "the oracle refuses the program", &error);
        return STAGE_COMPILE;
    }
    judge_clock(j, STAGE_COMPILE);
    judge_stage stage = judge_runs(j, oracle, given);
    vyre_oracle_free(oracle);
    return stage == STAGE_COUNT && inlined ? judge_inlined(j, inlined, given) : stage;
}

/* ---- all of it ---- */

/* The first stage that fails, or STAGE_COUNT. */
static inline judge_stage judge_case(judge *j, const vyre_case *given) {
    vyre_error error;
    vyre_program *program = vyre_case_program(given), *inlined = NULL;
    j->message[0] = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &j->started);
    if (vyre_program_schedule_dependent(program)) {
        judge_fail(j, "the program is schedule-dependent");
        return STAGE_GENERATE;
    }
    if (!judge_text(j, program))
        return STAGE_TEXT;
    judge_clock(j, STAGE_TEXT);
    if (!judge_format(j, program))
        return STAGE_FORMAT;
    judge_clock(j, STAGE_FORMAT);
    if (!judge_wire(j, program))
        return STAGE_WIRE;
    judge_clock(j, STAGE_WIRE);
    if (vyre_program_function_count(program)) {
        if (vyre_program_inline(program, &inlined, &error) != VYRE_OK) {
            judge_error(j, "the program cannot be inlined", &error);
            return STAGE_INLINE;
        }
        judge_clock(j, STAGE_INLINE);
    }
    judge_stage stage = judge_executed(j, given, inlined);
    vyre_program_release(inlined);
    return stage;
}

#endif
