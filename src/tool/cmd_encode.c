/* vyre encode: text to wire form. */
#include "tool/commands.h"
#include "tool/load.h"
#include "vyre/wire.h"

#include <unistd.h>

typedef struct encode_options {
    const char *output, *program;
    tool_list defines;
    int debug;
} encode_options;

static const tool_option options_table[] = {
    TOOL_OPTION_OUTPUT(encode_options),
    TOOL_OPTION_PROGRAM(encode_options),
    TOOL_OPTION_DEFINE(encode_options),
    {"debug", 'g', NULL, TOOL_FLAG, offsetof(encode_options, debug),
     "add source text and positions; the fingerprint stays"},
    TOOL_OPTION_END,
};

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const encode_options *options = given;
    const char *output = options->output ? options->output : "-";
    vyre_bytes bytes = VYRE_BYTES_INIT;
    tool_file file = {0};
    vyre_program *program;
    vyre_error error;
    int code = tool_one_file(self, args);

    if (code != TOOL_OK)
        return code;
    if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO))
        return tool_usage(self, "write to a file: `-o program.vyw`",
                          "the wire form is binary, and standard output is a terminal");
    code = tool_load_program(self, args->words.items[0], options->program, &options->defines, &file, &program);
    if (code == TOOL_OK) {
        if (vyre_wire_encode(program, options->debug ? VYRE_WIRE_DEBUG : 0, &bytes, &error) == VYRE_OK)
            code = tool_file_write(output, bytes.data, bytes.size);
        else
            code = tool_error(&error);
    }
    vyre_bytes_free(&bytes);
    tool_file_free(&file);
    return code;
}

const tool_command tool_cmd_encode = {
    .name = "encode",
    .summary = "turn a program into its wire form",
    .usage = "FILE [OPTIONS]",
    .details = "The wire form is what programs are stored and sent as: canonical, so that equal programs are equal "
               "bytes, and\n"
               "checked by a digest, which is the program's fingerprint. Every command that takes a FILE takes one.\n",
    .examples = "  vyre encode examples/saxpy.vyre -o saxpy.vyw\n"
                "  vyre encode kernel.vyre -D TILE=32 --debug -o kernel.vyw\n",
    .options = options_table,
    .options_size = sizeof(encode_options),
    .run = run_command,
};
