/* Command line parser: options from a table, positional words, argument files. */
#ifndef TOOL_ARGS_H
#define TOOL_ARGS_H

#include "tool/tool.h"

typedef VY_VECTOR(const char *) tool_list;

#define TOOL_SECOND_NS UINT64_C(1000000000)
enum { TOOL_MAX_SECONDS = 1000000 };

/* The value of an option, stored at its offset in the struct of options. Flags and lists may be repeated, other options
 * may not. A command has at most 64 options. */
typedef enum tool_option_kind {
    TOOL_FLAG,    /* int: set to 1 */
    TOOL_TEXT,    /* const char * */
    TOOL_NUMBER,  /* uint64_t, decimal or hexadecimal (0x…) */
    TOOL_AMOUNT,  /* uint64_t, at least 1 */
    TOOL_SIZE,    /* uint64_t, at least 1; the suffix K, M or G multiplies by 2^10, 2^20 or 2^30 */
    TOOL_SECONDS, /* uint64_t nanoseconds, from decimal seconds: more than 0, at most TOOL_MAX_SECONDS */
    TOOL_LIST,    /* tool_list: all values, in order */
    TOOL_COLOR    /* calls tool_color_set */
} tool_option_kind;

typedef struct tool_option {
    const char *name;  /* without the dashes */
    char letter;       /* short form, or 0 */
    const char *value; /* placeholder of the value in help; NULL for a flag */
    tool_option_kind kind;
    size_t offset;
    const char *doc;
} tool_option;

/* --color, which every command has in addition to its table. */
extern const tool_option tool_option_color;

/* Common rows, for a struct of options with the fields `output`, `program` and `defines`; and the last row. */
#define TOOL_OPTION_OUTPUT(options)                                                                                    \
    { "output", 'o', "FILE", TOOL_TEXT, offsetof(options, output), "write to FILE (standard output)" }
#define TOOL_OPTION_PROGRAM(options)                                                                                   \
    { "program", 'p', "NAME", TOOL_TEXT, offsetof(options, program), "select a program of the file" }
#define TOOL_OPTION_DEFINE(options)                                                                                    \
    { "define", 'D', "NAME=VALUE", TOOL_LIST, offsetof(options, defines), "override a const of the file" }
#define TOOL_OPTION_END                                                                                                \
    { NULL, 0, NULL, TOOL_FLAG, 0, NULL }

/* The arguments that are not options. The strings are valid as long as this struct. */
typedef struct tool_args {
    tool_list words;
    tool_list after; /* the words after `--` (tool_command.runs_command) */
    vy_arena arena;  /* text from argument files */
} tool_args;

/* Parses the arguments after the command's name and runs the command; prints the help instead for --help. Returns the
 * exit code. */
int tool_command_execute(const tool_command *command, int argc, char **argv);

/* Splits "NAME=VALUE" at the first '='. Returns 0 if it has no '=' or the name is empty. */
int tool_args_split(const char *word, size_t *name_length, const char **value);
/* Reads an unsigned integer, decimal or 0x…; returns 0 if the text is not one or exceeds 2^64-1. */
int tool_number(const char *text, size_t length, uint64_t *out);
/* Reads one to three numbers separated by commas; missing ones are 1. Returns 0 for any other text and for numbers
 * above 2^32-1. */
int tool_numbers3(const char *text, uint32_t out[3]);

/* An action of a subcommand, named by its first word: `vyre cache list`. A table ends with a row without a name. */
typedef struct tool_action {
    const char *name;
    int (*run)(const void *request);
} tool_action;
/* Returns the action of that name, or prints an error ("unknown action `word`") and returns NULL. */
const tool_action *tool_action_find(const tool_command *command, const tool_action *actions, const char *word);

#endif
