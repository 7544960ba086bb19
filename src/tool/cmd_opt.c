/* vyre opt: prints an optimised program, the program that a target's emitter reads, or the effect of each pass. */
#include "base/cpu_features.h"
#include "base/string.h"
#include "compile/pipeline.h"
#include "emit/opencl/opencl.h"
#include "ir/model.h"
#include "tool/load.h"
#include "tool/tool.h"
#include "vyre/text.h"
#include "vyre/transform.h"

#include <inttypes.h>

enum { PASSES = 64 }; /* maximum length of a --pass list */

typedef struct opt_options {
    const char *output, *program, *passes, *target;
    tool_list defines;
    uint64_t level;
    int both, each, report, list, json;
} opt_options;

static const tool_option options_table[] = {
    {"level", 'O', "N", TOOL_AMOUNT, offsetof(opt_options, level),
     "1: passes that always pay off; 2 (the default): all passes"},
    {"pass", 0, "A,B,...", TOOL_TEXT, offsetof(opt_options, passes), "run these passes in this order, once each"},
    {"target", 't', "NAME", TOOL_TEXT, offsetof(opt_options, target),
     "also run the passes of this target: cpu, ptx, c or opencl"},
    {"both", 0, NULL, TOOL_FLAG, offsetof(opt_options, both), "print the program before and after"},
    {"each", 0, NULL, TOOL_FLAG, offsetof(opt_options, each), "print the program after each pass that changed it"},
    {"report", 0, NULL, TOOL_FLAG, offsetof(opt_options, report),
     "print the number of changes and the time of each pass"},
    {"list", 0, NULL, TOOL_FLAG, offsetof(opt_options, list), "list the passes"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(opt_options, json), "print the report as one JSON object"},
    TOOL_OPTION_OUTPUT(opt_options),
    TOOL_OPTION_PROGRAM(opt_options),
    TOOL_OPTION_DEFINE(opt_options),
    TOOL_OPTION_END,
};

static const opt_options defaults = {.level = VYRE_OPTIMIZE_LEVEL_MAX};

/* ---- passes ---- */

static int unknown_pass(const tool_command *self, const char *word, size_t length) {
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, word, length);
    for (unsigned i = 0; i < VYRE_PASS_COUNT; i++)
        vy_suggestion_offer(&suggestion, vyre_pass_name((vyre_pass)i));
    const char *closest = vy_suggestion_get(&suggestion);
    return tool_usage(self, closest ? VY_FIX("did you mean `%s`?", closest) : "see `vyre opt --list`",
                      "unknown pass `%.*s`", (int)length, word);
}

static int read_passes(const tool_command *self, const char *text, vyre_pass passes[PASSES], size_t *count) {
    *count = 0;
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        vyre_pass pass = vyre_pass_find(at, length);
        if (pass == VYRE_PASS_COUNT)
            return unknown_pass(self, at, length);
        if (*count == PASSES)
            return tool_usage(self, "name fewer passes, or use --level", "--pass names too many passes (limit %d)",
                              PASSES);
        passes[(*count)++] = pass;
    }
    return TOOL_OK;
}

static void add_pass(vy_string *out, const char *name, const char *doc, int json) {
    if (!json) {
        vy_string_format(out, "%-15s %s\n", name, doc);
        return;
    }
    tool_json_open(out, "", '{');
    tool_json_text(out, "pass", name);
    tool_json_text(out, "doc", doc);
    vy_string_char(out, '}');
}

static int list_passes(int json) {
    vy_string out = {0};
    vy_string_add(&out, json ? "[" : "");
    for (unsigned i = 0; i < VYRE_PASS_COUNT; i++)
        add_pass(&out, vyre_pass_name((vyre_pass)i), vyre_pass_doc((vyre_pass)i), json);
    vy_string_add(&out, json ? "]\n" : "");
    return tool_print(&out);
}

/* ---- output ---- */

static void add_program(vy_string *out, const vyre_program *program) {
    vyre_bytes text = {0};
    vyre_error error;
    if (vyre_text_print(program, &text, &error) == VYRE_OK)
        vy_string_append(out, text.data, text.size);
    else
        out->failed = 1;
    vyre_bytes_free(&text);
}

/* --each: prints the program after a pass that changed it. */
static void watch(void *user, const vyre_pass_run *run, const vyre_program *after) {
    vy_string *out = user;
    if (run->was_refused)
        vy_string_format(out, "// %s: refused, because its result is not valid\n", vyre_pass_name(run->pass));
    if (!run->changes)
        return;
    vy_string_format(out, "// %s: %" PRIu64 " %s, %u statements, %u expressions\n", vyre_pass_name(run->pass),
                     run->changes, run->changes == 1 ? "change" : "changes", run->statements, run->expressions);
    add_program(out, after);
}

static void add_report(vy_string *out, const vyre_optimize_report *report) {
    vy_string_format(out, "%-15s %6s %8s %8s %10s\n", "pass", "runs", "changes", "refused", "us");
    for (unsigned i = 0; i < VYRE_PASS_COUNT; i++)
        if (report->passes[i].runs)
            vy_string_format(out, "%-15s %6u %8" PRIu64 " %8u %10.1f\n", vyre_pass_name((vyre_pass)i),
                             report->passes[i].runs, report->passes[i].changes, report->passes[i].refused,
                             (double)report->passes[i].nanoseconds / 1000);
    vy_string_format(out, "statements %u -> %u, expressions %u -> %u\n", report->statements_before,
                     report->statements_after, report->expressions_before, report->expressions_after);
}

static void add_json(vy_string *out, const vyre_program *program, const vyre_optimize_report *report) {
    vy_string_char(out, '{');
    tool_json_text(out, "program", vyre_program_name(program));
    tool_json_number(out, "rounds", report->rounds);
    vy_string_format(out, ",\"statements\":{\"before\":%u,\"after\":%u}", report->statements_before,
                     report->statements_after);
    vy_string_format(out, ",\"expressions\":{\"before\":%u,\"after\":%u},\"passes\":[", report->expressions_before,
                     report->expressions_after);
    for (unsigned i = 0; i < VYRE_PASS_COUNT; i++) {
        if (!report->passes[i].runs)
            continue;
        tool_json_open(out, "", '{');
        tool_json_text(out, "pass", vyre_pass_name((vyre_pass)i));
        tool_json_number(out, "runs", report->passes[i].runs);
        tool_json_number(out, "changes", report->passes[i].changes);
        tool_json_number(out, "refused", report->passes[i].refused);
        tool_json_number(out, "nanoseconds", report->passes[i].nanoseconds);
        vy_string_char(out, '}');
    }
    vy_string_add(out, "]}\n");
}

/* ---- the command ---- */

static int write_out(vy_string *text, const char *output) {
    if (!output || text->failed)
        return tool_print(text);
    int code = tool_file_write(output, text->text ? text->text : "", text->length);
    vy_string_free(text);
    return code;
}

/* ---- a target ---- */

static int read_target(const tool_command *self, const char *name, vy_target_desc *out) {
    static const char *const names[] = {"cpu", "ptx", "c", "opencl"};
    static const vyre_program any; /* programs differ for devices with shuffles only */
    const vy_opencl_device device = {.exact = vy_opencl_assumed(1), .access_bytes = 16, .has_aligned_buffers = 1};
    const vy_target_desc targets[] = {vy_cpu_target(vy_cpu_features(), 0), vy_ptx_target(90, 0), vy_c_target(0),
                                      vy_opencl_target(&device, &any, 0)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = targets[i];
            return TOOL_OK;
        }
    return tool_usage(self, "use cpu, ptx, c or opencl", "unknown target `%.40s`", name);
}

static int list_target_passes(const vy_target_desc *target, int json) {
    vy_string out = {0};
    vy_string_add(&out, json ? "[" : "");
    for (unsigned i = 0; vy_compile_pass_name(i); i++)
        if (vy_compile_pass_applies(i, target))
            add_pass(&out, vy_compile_pass_name(i), vy_compile_pass_doc(i), json);
    vy_string_add(&out, json ? "]\n" : "");
    return tool_print(&out);
}

typedef struct step_log {
    const opt_options *options;
    vy_string *out;
} step_log;

/* One step of the pipeline: a row of the table, an element of the JSON array, or, if it changed the program, that. */
static void watch_step(void *user, const vy_compile_step *step, const vyre_program *after) {
    const step_log *log = user;
    vy_string *out = log->out;
    if (log->options->json) {
        tool_json_open(out, "", '{');
        tool_json_text(out, "pass", step->pass);
        tool_json_flag(out, "changed", step->is_changed);
        tool_json_flag(out, "dropped", step->is_dropped);
        tool_json_number(out, "nanoseconds", step->nanoseconds);
        vy_string_format(out, ",\"statements\":{\"before\":%u,\"after\":%u}", step->statements_before,
                         step->statements_after);
        vy_string_format(out, ",\"expressions\":{\"before\":%u,\"after\":%u}}", step->expressions_before,
                         step->expressions_after);
    } else if (log->options->report) {
        vy_string_format(out, "%-15s %8.1f %-8s %7u -> %-7u %7u -> %u\n", step->pass, (double)step->nanoseconds / 1000,
                         step->is_dropped   ? "dropped"
                         : step->is_changed ? "changed"
                                            : "",
                         step->statements_before, step->statements_after, step->expressions_before,
                         step->expressions_after);
    } else if (log->options->each && (step->is_changed || step->is_dropped)) {
        vy_string_format(out, "// %s: %s, %u statements, %u expressions\n", step->pass,
                         step->is_dropped ? "dropped, over a limit" : "changed", step->statements_after,
                         step->expressions_after);
        add_program(out, after);
    }
}

static int show_target(const opt_options *options, vyre_program *program, const vy_target_desc *target) {
    vy_string out = {0};
    step_log log = {options, &out};
    vy_compile_report report = {.observe = watch_step, .user = &log};
    vy_compiled compiled;
    vyre_error error;
    if (options->json)
        vy_string_char(&out, '{'), tool_json_text(&out, "program", vyre_program_name(program)),
            vy_string_add(&out, ",\"steps\":[");
    else if (options->report)
        vy_string_format(&out, "%-15s %8s %-8s %16s %19s\n", "pass", "us", "", "statements", "expressions");
    if (vy_compile_pipeline(program, target, &report, &compiled, &error) != VYRE_OK) {
        vy_string_free(&out);
        return tool_error(&error);
    }
    if (options->json) {
        vy_string_add(&out, "]");
        tool_json_number(&out, "factor", compiled.factor);
        tool_json_number(&out, "resumed", report.resumed);
        vy_string_add(&out, "}\n");
    } else if (options->report) {
        for (unsigned i = 0; report.off[i]; i++)
            vy_string_format(&out, "%s was switched off: the program exceeded a limit of the language\n",
                             report.off[i]);
        if (compiled.factor > 1)
            vy_string_format(&out, "%u invocations per thread\n", compiled.factor);
    } else if (!options->each) {
        add_program(&out, compiled.program);
    }
    vyre_program_release(compiled.program);
    return write_out(&out, options->output);
}

static int show(const opt_options *options, vyre_program *program, const vyre_optimize_options *how) {
    vyre_program *before = NULL, *after = NULL;
    vyre_optimize_options watched = *how;
    vyre_optimize_report report;
    vyre_error error;
    vy_string out = {0};
    if (options->each) {
        watched.observer = watch;
        watched.observer_user = &out;
    }
    if (vyre_program_optimize(program, &watched, &after, &report, &error) != VYRE_OK ||
        vyre_program_inline(program, &before, &error) != VYRE_OK) {
        vyre_program_release(after);
        vy_string_free(&out);
        return tool_error(&error);
    }
    if (options->both) {
        vy_string_format(&out, "// before: %u statements, %u expressions\n", report.statements_before,
                         report.expressions_before);
        add_program(&out, before);
        vy_string_format(&out, "// after: %u statements, %u expressions\n", report.statements_after,
                         report.expressions_after);
    }
    if (options->json)
        add_json(&out, after, &report);
    else if (options->report)
        add_report(&out, &report);
    else if (!options->each)
        add_program(&out, after);
    vyre_program_release(before);
    vyre_program_release(after);
    return write_out(&out, options->output);
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const opt_options *options = given;
    vyre_pass passes[PASSES];
    vyre_optimize_options how = {.level = (unsigned)options->level};
    tool_file file = {0};
    vyre_program *program;
    vy_target_desc target;
    int code = options->target ? read_target(self, options->target, &target) : TOOL_OK;
    if (code != TOOL_OK)
        return code;
    if (options->list)
        return args->words.count ? tool_usage(self, "remove the file", "--list cannot be combined with a file")
               : options->target ? list_target_passes(&target, options->json)
                                 : list_passes(options->json);
    if (options->level > VYRE_OPTIMIZE_LEVEL_MAX)
        return tool_usage(self, VY_FIX("use a level from 1 to %d", VYRE_OPTIMIZE_LEVEL_MAX),
                          "level %" PRIu64 " is out of range (1 to %d)", options->level, VYRE_OPTIMIZE_LEVEL_MAX);
    if (options->both + options->each + options->report + options->json > 1)
        return tool_usage(self, "keep one of them", "--both, --each, --report and --json cannot be combined");
    if (options->target && (options->passes || options->both))
        return tool_usage(self, "leave it out", "--target cannot be combined with --%s",
                          options->passes ? "pass" : "both");
    code = options->passes ? read_passes(self, options->passes, passes, &how.pass_count) : TOOL_OK;
    how.passes = options->passes ? passes : NULL;
    if (code == TOOL_OK)
        code = tool_one_file(self, args);
    if (code == TOOL_OK)
        code = tool_load_resolved(self, args->words.items[0], options->program, &options->defines, &file, &program);
    if (code == TOOL_OK && options->target && target.optimise)
        target.optimise = (uint8_t)options->level;
    if (code == TOOL_OK)
        code = options->target ? show_target(options, program, &target) : show(options, program, &how);
    tool_file_free(&file);
    return code;
}

const tool_command tool_cmd_opt = {
    .name = "opt",
    .summary = "print an optimised program, or the effect of each pass",
    .usage = "FILE [OPTIONS]",
    .details = "Inlines functions, then runs the passes until none changes the program. The result is a program with "
               "the same\n"
               "outputs and traps. With --target the program is then legalised for the target, as its emitter reads "
               "it.\n",
    .examples = "  vyre opt examples/sha256.vyre --report\n"
                "  vyre opt examples/matmul.vyre --pass const-fold,gvn,dce --each\n"
                "  vyre opt examples/matmul.vyre --target ptx --report\n"
                "  vyre opt --list\n",
    .options = options_table,
    .options_size = sizeof(opt_options),
    .defaults = &defaults,
    .run = run_command,
};
