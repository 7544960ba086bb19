/* vyre fmt, encode, decode and inline: convert a program to another form. */
#include "tool/load.h"
#include "tool/terminal.h"
#include "tool/tool.h"
#include "vyre/wire.h"

#include <unistd.h>

/* ---- vyre fmt: normalises spacing and indentation, and keeps comments ---- */

typedef struct fmt_options {
    int write, check;
} fmt_options;

static const tool_option fmt_table[] = {
    {"write", 'w', NULL, TOOL_FLAG, offsetof(fmt_options, write), "overwrite the files instead of printing them"},
    {"check", 0, NULL, TOOL_FLAG, offsetof(fmt_options, check),
     "list the files that would change, and exit with 1 if there are any"},
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

/* Refuses a wire form; prints a note for an empty file. */
static int check_form(const tool_command *self, const char *path, const vyre_bytes *bytes) {
    const char *name = tool_path_name(path);

    if (bytes->size == 0) {
        tool_write(stderr, "note: `%s` is empty\n", name);
        return TOOL_OK;
    }
    if (!tool_file_is_wire(bytes))
        return TOOL_OK;
    tool_usage(self, VY_FIX("use `vyre decode %s`, which prints it as text", path), "`%s` is a wire form, not text",
               name);
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

static int run_fmt(const tool_command *self, void *given, const tool_args *args) {
    const fmt_options *options = given;
    int worst = TOOL_OK;

    if (args->words.count == 0)
        return tool_usage(self, "add files, or - for standard input", "no file is given");
    if (options->write && options->check)
        return tool_usage(self, "remove one of them", "-w and --check cannot be combined");
    for (uint32_t i = 0; i < args->words.count; i++) {
        int code = format_file(self, options, args->words.items[i]);
        if (code > worst)
            worst = code;
    }
    return worst;
}

const tool_command tool_cmd_fmt = {
    .name = "fmt",
    .summary = "format .vyre files",
    .usage = "[-w | --check] FILE...",
    .details = "Formats tokens, so a file with errors can be formatted. Keeps comments and single blank lines.\n"
               "Formatting is idempotent.\n",
    .examples = "  vyre fmt kernel.vyre\n"
                "  vyre fmt -w examples/*.vyre\n"
                "  vyre fmt --check examples/*.vyre\n",
    .options = fmt_table,
    .options_size = sizeof(fmt_options),
    .run = run_fmt,
};

/* ---- vyre encode: converts a text to its wire form ---- */

typedef struct encode_options {
    const char *output, *program;
    tool_list defines;
    int debug;
} encode_options;

static const tool_option encode_table[] = {
    TOOL_OPTION_OUTPUT(encode_options),
    TOOL_OPTION_PROGRAM(encode_options),
    TOOL_OPTION_DEFINE(encode_options),
    {"debug", 'g', NULL, TOOL_FLAG, offsetof(encode_options, debug),
     "add source text and positions; does not change the fingerprint"},
    TOOL_OPTION_END,
};

static int run_encode(const tool_command *self, void *given, const tool_args *args) {
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
                          "the wire form is binary, but standard output is a terminal");
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
    .summary = "convert a program to its wire form",
    .usage = "FILE [OPTIONS]",
    .details = "The wire form is the binary form for storage and transport. It is canonical: equal programs have equal "
               "bytes.\n"
               "Its digest is the fingerprint of the program. Every command with a FILE argument accepts it.\n",
    .examples = "  vyre encode examples/saxpy.vyre -o saxpy.vyw\n"
                "  vyre encode kernel.vyre -D TILE=32 --debug -o kernel.vyw\n",
    .options = encode_table,
    .options_size = sizeof(encode_options),
    .run = run_encode,
};

/* ---- vyre decode: converts any form to canonical text ---- */

typedef struct decode_options {
    const char *output, *program;
    tool_list defines;
} decode_options;

static const tool_option decode_table[] = {
    TOOL_OPTION_OUTPUT(decode_options),
    TOOL_OPTION_PROGRAM(decode_options),
    TOOL_OPTION_DEFINE(decode_options),
    TOOL_OPTION_END,
};

static int run_decode(const tool_command *self, void *given, const tool_args *args) {
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
        "FILE is a wire form or a .vyre text. In canonical text, consts are replaced by their values, and every\n"
        "construct has one spelling. Parsing the result yields an equal program.\n",
    .examples = "  vyre decode saxpy.vyw\n"
                "  vyre decode saxpy.vyw -o saxpy.vyre\n",
    .options = decode_table,
    .options_size = sizeof(decode_options),
    .run = run_decode,
};

/* ---- vyre inline: replaces calls of local functions by their bodies ---- */

typedef struct inline_options {
    const char *output, *program;
    tool_list defines;
} inline_options;

static const tool_option inline_table[] = {
    TOOL_OPTION_OUTPUT(inline_options),
    TOOL_OPTION_PROGRAM(inline_options),
    TOOL_OPTION_DEFINE(inline_options),
    TOOL_OPTION_END,
};

static int run_inline(const tool_command *self, void *given, const tool_args *args) {
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
        "Replaces every call of a local function by the body of the function, in a region with its name. Backends run\n"
        "this form.\n",
    .examples = "  vyre inline examples/sha256.vyre\n",
    .options = inline_table,
    .options_size = sizeof(inline_options),
    .run = run_inline,
};
