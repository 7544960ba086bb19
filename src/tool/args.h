/* The command line: options by table, words, argument files. */
#ifndef TOOL_ARGS_H
#define TOOL_ARGS_H

#include "tool/tool.h"

typedef VY_VECTOR(const char *) tool_list;

#define TOOL_SECOND_NS UINT64_C(1000000000)
enum { TOOL_MAX_SECONDS = 1000000 };

/* What an option stores at its offset in the caller's struct of options. Flags and lists may be given several times, other
 * options once. A command has at most 64 options. */
typedef enum tool_option_kind {
    TOOL_FLAG,    /* int: set to 1 */
    TOOL_TEXT,    /* const char * */
    TOOL_NUMBER,  /* uint64_t, decimal or 0x… */
    TOOL_AMOUNT,  /* the same, at least 1 */
    TOOL_SIZE,    /* bytes: the same, at least 1, with K, M or G for 2^10, 2^20 or 2^30 of them */
    TOOL_SECONDS, /* nanoseconds, as uint64_t: more than 0 and at most TOOL_MAX_SECONDS, with a fraction or without */
    TOOL_LIST,    /* tool_list: all of them, in order */
    TOOL_COLOR    /* nothing: tool_color_set */
} tool_option_kind;

typedef struct tool_option {
    const char *name;  /* without the dashes */
    char letter;       /* short form, or 0 */
    const char *value; /* what help calls the value; NULL for a flag */
    tool_option_kind kind;
    size_t offset;
    const char *doc;
} tool_option;

/* The option that every command has beside those of its table. */
extern const tool_option tool_option_color;

/* Rows that most commands have, for a struct of options with the fields `output`, `program` and `defines`; and the last row. */
#define TOOL_OPTION_OUTPUT(options)                                                                                    \
    { "output", 'o', "FILE", TOOL_TEXT, offsetof(options, output), "where to write (standard output)" }
#define TOOL_OPTION_PROGRAM(options)                                                                                   \
    { "program", 'p', "NAME", TOOL_TEXT, offsetof(options, program), "which program, if the file holds several" }
#define TOOL_OPTION_DEFINE(options)                                                                                    \
    { "define", 'D', "NAME=VALUE", TOOL_LIST, offsetof(options, defines), "override a const of the file" }
#define TOOL_OPTION_END                                                                                                \
    { NULL, 0, NULL, TOOL_FLAG, 0, NULL }

/* The words that are not options. Everything lives as long as this. */
typedef struct tool_args {
    tool_list words;
    tool_list after; /* what follows `--`, for commands that run one */
    vy_arena arena;  /* text from argument files */
} tool_args;

/* Parses the arguments after the command's name, then runs the command, unless they ask for help or are wrong. Returns the exit code. */
int tool_command_execute(const tool_command *command, int argc, char **argv);

/* "NAME=VALUE" split at the first '='. Returns 0 if there is none or the name is empty. */
int tool_args_split(const char *word, size_t *name_length, const char **value);
/* A whole unsigned number, decimal or 0x…; returns 0 if it is none or too large. */
int tool_number(const char *text, size_t length, uint64_t *out);
/* Up to three numbers separated by commas; those not given are 1. Returns 0 if it is anything else or one is over 2^32-1. */
int tool_numbers3(const char *text, uint32_t out[3]);

/* What a subcommand does, by its first word: `vyre cache list`. A table of them ends with a row without a name. */
typedef struct tool_action {
    const char *name;
    int (*run)(const void *request);
} tool_action;
/* The one of that name; NULL if there is none, which is said: "`word` is nothing to do with `what`". */
const tool_action *tool_action_find(const tool_command *command, const tool_action *actions, const char *word,
                                    const char *what);

#endif
