/* vyre inline: what is left of a program's functions once they are where they are called. */
#include "tool/commands.h"
#include "tool/load.h"

typedef struct inline_options {
    const char *output, *program;
    tool_list defines;
} inline_options;

static const tool_option options_table[] = {
    TOOL_OPTION_OUTPUT(inline_options),
    TOOL_OPTION_PROGRAM(inline_options),
    TOOL_OPTION_DEFINE(inline_options),
    TOOL_OPTION_END,
};

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const inline_options *options = given;
    tool_file file = {0};
    vyre_program *program, *flat = NULL;
    vyre_error error;
    int code = tool_one_file(self, args);

    if (code == TOOL_OK)
        code = tool_load_resolved(self, args->words.items[0], options->program, &options->defines, &file, &program);
    if (code == TOOL_OK)
        code = vyre_program_inline(program, &flat, &error) == VYRE_OK ? tool_program_print(flat, options->output)
                                                                      : tool_error(&error);
    vyre_program_release(flat);
    tool_file_free(&file);
    return code;
}

const tool_command tool_cmd_inline = {
    .name = "inline",
    .summary = "print a program with its functions inlined",
    .usage = "FILE [OPTIONS]",
    .details =
        "Every call of a local function is replaced by the function's body in a region that names it: what the oracle\n"
        "and the backends run.\n",
    .examples = "  vyre inline examples/sha256.vyre\n",
    .options = options_table,
    .options_size = sizeof(inline_options),
    .run = run_command,
};
