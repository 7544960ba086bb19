/* vyre check: reports every error in files, and summarises the programs of valid files. */
#include "tool/load.h"
#include "tool/program_summary.h"
#include "tool/tool.h"

typedef struct check_options {
    tool_list defines;
    int json, quiet;
} check_options;

static const tool_option options_table[] = {
    TOOL_OPTION_DEFINE(check_options),
    {"json", 0, NULL, TOOL_FLAG, offsetof(check_options, json), "print one JSON array"},
    {"quiet", 'q', NULL, TOOL_FLAG, offsetof(check_options, quiet), "print errors and warnings only"},
    TOOL_OPTION_END,
};

static void add_program(vy_string *out, const vyre_program *program) {
    vy_string uses = {0};

    vy_string_format(out, "  program %s: ", vyre_program_name(program));
    tool_summary_line(out, program);
    vy_string_char(out, '\n');
    tool_summary_uses(&uses, program);
    if (uses.length)
        vy_string_format(out, "    uses %s\n", uses.text);
    if (vyre_program_schedule_dependent(program))
        vy_string_add(
            out,
            "    schedule-dependent: results may differ between runs and devices; bit identity is not guaranteed\n");
    if (vyre_program_numerics(program) == VYRE_NUMERICS_RELAXED)
        vy_string_add(out, "    relaxed numerics: results are within a bound, not bit-identical\n");
    vy_string_free(&uses);
}

static void add_text(vy_string *out, const tool_file *file, const vyre_diagnostics *list) {
    size_t errors = vyre_diagnostics_errors(list), functions;
    const vyre_program *library = file->module ? vyre_module_library(file->module) : NULL;

    if (errors) {
        vy_string_format(out, "%s: %zu error%s\n", tool_path_name(file->path), errors, errors == 1 ? "" : "s");
        return;
    }
    functions = library ? vyre_program_function_count(library) : 0;
    vy_string_format(out, "%s: ok%s", tool_path_name(file->path), file->bytes.size ? "" : ", but empty");
    if (functions)
        vy_string_format(out, ", %zu function%s", functions, functions == 1 ? "" : "s");
    vy_string_char(out, '\n');
    for (size_t i = 0; i < tool_file_program_count(file); i++)
        add_program(out, tool_file_program(file, i));
}

static void add_json(vy_string *out, const tool_file *file, const vyre_diagnostics *list, int code) {
    vy_string_char(out, '{');
    tool_json_text(out, "file", tool_path_name(file->path));
    tool_json_flag(out, "ok", code == TOOL_OK);
    tool_error_record_json(out); /* of this file only */
    tool_error_record_clear();
    tool_json_findings(out, list, 0);
    tool_json_open(out, "programs", '[');
    for (size_t i = 0; i < tool_file_program_count(file); i++) {
        tool_json_name(out, "");
        tool_summary_json(out, tool_file_program(file, i));
        vy_string_char(out, '}');
    }
    vy_string_add(out, "]}");
}

/* Checks that every op that the programs call exists and matches its call. */
static int check_ops(tool_file *file, vyre_diagnostics *list) {
    int code = TOOL_OK;

    for (size_t i = 0; i < tool_file_program_count(file); i++) {
        vyre_program *resolved = NULL;
        vyre_error error;
        size_t before = vyre_diagnostics_errors(list);
        vyre_status status = tool_file_resolve(file, tool_file_program(file, i), list, &resolved, &error);
        if (status != VYRE_OK) {
            int failed = vyre_diagnostics_errors(list) == before ? tool_error(&error) : tool_exit_of(status);
            code = code == TOOL_OK ? failed : code;
        }
        vyre_program_release(resolved);
    }
    return code;
}

static int check_file(const tool_command *self, const check_options *options, const char *path, int first) {
    vyre_diagnostics *list = vyre_diagnostics_new();
    tool_file file;
    vy_string out = {0};
    int code = tool_file_load(self, path, &options->defines, list, &file), printed;

    if (code == TOOL_OK)
        code = check_ops(&file, list);
    file.path = path; /* tool_file_free clears it */
    if (options->json) {
        vy_string_add(&out, first ? "[" : ",\n ");
        add_json(&out, &file, list, code);
    } else {
        tool_diagnostics(list);
        if (!options->quiet && (code == TOOL_OK || vyre_diagnostics_errors(list) > 0))
            add_text(&out, &file, list);
    }
    printed = tool_print(&out);
    tool_file_free(&file);
    vyre_diagnostics_free(list);
    return code != TOOL_OK ? code : printed;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const check_options *options = given;
    int worst = TOOL_OK;

    if (args->words.count == 0)
        return tool_usage(self, "add files, as in `vyre check examples/*.vyre`", "no file is given");
    for (uint32_t i = 0; i < args->words.count; i++) {
        int code = check_file(self, options, args->words.items[i], i == 0);
        if (code > worst)
            worst = code;
    }
    if (options->json)
        printf("]\n");
    return worst;
}

const tool_command tool_cmd_check = {
    .name = "check",
    .summary = "report every error in programs, and summarise them",
    .usage = "FILE... [OPTIONS]",
    .details =
        "Prints diagnostics to standard error, each with its source line and a fix; `vyre explain CODE` explains "
        "one.\n"
        "For a file without errors, lists its programs, the features they use, and whether their results\n"
        "depend on the schedule. The exit code is the highest of all files.\n",
    .examples = "  vyre check examples/*.vyre\n"
                "  vyre check kernel.vyre -D TILE=32\n"
                "  vyre check kernel.vyre --json\n",
    .options = options_table,
    .options_size = sizeof(check_options),
    .run = run_command,
};
