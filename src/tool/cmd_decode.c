/* vyre decode: any form to canonical text. */
#include "tool/commands.h"
#include "tool/load.h"

typedef struct decode_options {
    const char *output, *program;
    tool_list defines;
} decode_options;

static const tool_option options_table[] = {
    TOOL_OPTION_OUTPUT(decode_options),
    TOOL_OPTION_PROGRAM(decode_options),
    TOOL_OPTION_DEFINE(decode_options),
    TOOL_OPTION_END,
};

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const decode_options *options = given;
    tool_file file = {0};
    vyre_program *program;
    int code = tool_one_file(self, args);

    if (code == TOOL_OK)
        code = tool_load_program(self, args->words.items[0], options->program, &options->defines, &file, &program);
    if (code == TOOL_OK)
        code = tool_program_print(program, options->output);
    tool_file_free(&file);
    return code;
}

const tool_command tool_cmd_decode = {
    .name = "decode",
    .summary = "print a program as canonical text",
    .usage = "FILE [OPTIONS]",
    .details =
        "FILE is usually a wire form; a .vyre text is printed as the program it means: constants folded into their\n"
        "uses, one spelling for everything. Parsing the result gives an equal program.\n",
    .examples = "  vyre decode saxpy.vyw\n"
                "  vyre decode saxpy.vyw -o saxpy.vyre\n",
    .options = options_table,
    .options_size = sizeof(decode_options),
    .run = run_command,
};
