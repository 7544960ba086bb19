/* vyre fmt: canonical spacing and indentation; comments stay. */
#include "tool/commands.h"
#include "tool/load.h"
#include "tool/terminal.h"

typedef struct fmt_options {
    int write, check;
} fmt_options;

static const tool_option options_table[] = {
    {"write", 'w', NULL, TOOL_FLAG, offsetof(fmt_options, write), "write the files back instead of printing them"},
    {"check", 0, NULL, TOOL_FLAG, offsetof(fmt_options, check),
     "change nothing; list the files that would change and exit with 1"},
    TOOL_OPTION_END,
};

static int write_result(const fmt_options *options, const char *path, const vyre_bytes *before,
                        const vyre_bytes *after) {
    int changed = before->size != after->size || (before->size && memcmp(before->data, after->data, before->size) != 0);

    if (options->check) {
        if (changed)
            printf("%s\n", tool_path_name(path));
        return changed ? TOOL_FAILED : TOOL_OK;
    }
    if (!options->write || strcmp(path, "-") == 0) {
        if (after->size > 0)
            fwrite(after->data, 1, after->size, stdout);
        return TOOL_OK;
    }
    return changed ? tool_file_write(path, after->data, after->size) : TOOL_OK;
}

/* What is no text to lay out; TOOL_OK for the rest. */
static int check_form(const tool_command *self, const char *path, const vyre_bytes *bytes) {
    const char *name = tool_path_name(path);

    if (bytes->size == 0) {
        tool_write(stderr, "note: `%s` is empty\n", name);
        return TOOL_OK;
    }
    if (!tool_file_is_wire(bytes))
        return TOOL_OK;
    tool_usage(self, VY_FIX("`vyre decode %s` prints it as text", path), "`%s` is a wire form, not text", name);
    return TOOL_FAILED;
}

static int format_file(const tool_command *self, const fmt_options *options, const char *path) {
    vyre_bytes before = VYRE_BYTES_INIT, after = VYRE_BYTES_INIT;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_parse_options parse = {.file = tool_path_name(path)};
    vyre_error error;
    int code = tool_file_read(path, &before);

    if (code == TOOL_OK)
        code = check_form(self, path, &before);
    if (code == TOOL_OK) {
        if (vyre_text_format(before.data, before.size, &parse, list, &after, &error) == VYRE_OK) {
            code = write_result(options, path, &before, &after);
        } else {
            tool_diagnostics(list);
            code = vyre_diagnostics_errors(list) ? tool_exit_of(error.code) : tool_error(&error);
        }
    }
    vyre_bytes_free(&before);
    vyre_bytes_free(&after);
    vyre_diagnostics_free(list);
    return code;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const fmt_options *options = given;
    int worst = TOOL_OK;

    if (args->words.count == 0)
        return tool_usage(self, "name one or more, or - for standard input", "no file is given");
    if (options->write && options->check)
        return tool_usage(self, "use one of them", "-w and --check are both given");
    for (uint32_t i = 0; i < args->words.count; i++) {
        int code = format_file(self, options, args->words.items[i]);
        if (code > worst)
            worst = code;
    }
    return worst;
}

const tool_command tool_cmd_fmt = {
    .name = "fmt",
    .summary = "lay out .vyre files",
    .usage = "[-w | --check] FILE...",
    .details = "Works on tokens, so a file that does not validate can be formatted too. Comments and single blank "
               "lines stay.\n"
               "Formatting twice changes nothing more.\n",
    .examples = "  vyre fmt kernel.vyre\n"
                "  vyre fmt -w examples/*.vyre\n"
                "  vyre fmt --check examples/*.vyre\n",
    .options = options_table,
    .options_size = sizeof(fmt_options),
    .run = run_command,
};
