/* The command `vyre`: looks up the subcommand, runs it, and checks that its output was written. Contains `vyre help`
 * and `vyre version`. */
#include "base/string.h"
#include "ir/porting_hint.h"
#include "tool/args.h"
#include "tool/terminal.h"
#include "tool/tool.h"
#include "vyre/registry.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

static const tool_command *const commands[] = {
#define X(name) &tool_cmd_##name,
    TOOL_COMMAND_LIST(X)
#undef X
};

const tool_command *tool_command_at(size_t index) {
    return index < sizeof commands / sizeof *commands ? commands[index] : NULL;
}

const tool_command *tool_command_find(const char *name) {
    for (size_t i = 0; tool_command_at(i); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* ---- vyre help ---- */

enum { OPTION_COLUMN = 28, TEXT_WIDTH = 100 };

/* Prints text from `column`, wrapped at TEXT_WIDTH and indented to `column`. */
static void print_wrapped(const char *text, int column) {
    int at = column;

    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at > column && at + 1 + length > TEXT_WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        } else if (at > column) {
            at += printf(" ");
        }
        at += printf("%.*s", length, text);
        text += length + (text[length] == ' ');
    }
    printf("\n");
}

static void print_option(const tool_option *option) {
    int at = printf("  ");

    if (option->letter)
        at += printf("-%c, ", option->letter);
    else
        at += printf("    ");
    at += printf("--%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
    if (at + 2 > OPTION_COLUMN)
        at = printf("\n") - 1;
    printf("%*s", OPTION_COLUMN - at, "");
    print_wrapped(option->doc, OPTION_COLUMN);
}

void tool_command_help(const tool_command *command) {
    printf("vyre %s: %s\n\nusage: vyre %s %s\n", command->name, command->summary, command->name, command->usage);
    if (command->details[0])
        printf("\n%s", command->details);
    printf("\noptions:\n");
    for (const tool_option *option = command->options; option && option->name; option++)
        print_option(option);
    print_option(&tool_option_color);
    print_option(&(tool_option){"help", 'h', NULL, TOOL_FLAG, 0, "print this text"});
    if (command->examples[0])
        printf("\nexamples:\n%s", command->examples);
}

static void print_overview(void) {
    printf("vyre: run, check and inspect compute programs\n\nusage: vyre COMMAND [ARGUMENTS]\n\ncommands:\n");
    for (size_t i = 0; tool_command_at(i); i++)
        printf("  %-10s %s\n", tool_command_at(i)->name, tool_command_at(i)->summary);
    printf("\nexit codes:\n");
#define X(ID, code, doc) printf("  %d  %s\n", code, doc);
    TOOL_EXIT_LIST(X)
#undef X
    printf("\n`vyre help COMMAND` or `vyre COMMAND --help` prints the options of a command. Example:\n"
           "  vyre run examples/saxpy.vyre a=2.0 x=1,2,3 y=10,20,30\n");
}

static int run_help(const tool_command *self, void *options, const tool_args *args) {
    const tool_command *command;
    vy_suggestion suggestion;
    const char *closest;

    (void)options;
    if (args->words.count == 0) {
        print_overview();
        return TOOL_OK;
    }
    command = tool_command_find(args->words.items[0]);
    if (command) {
        tool_command_help(command);
        return TOOL_OK;
    }
    vy_suggestion_start(&suggestion, args->words.items[0], strlen(args->words.items[0]));
    for (size_t i = 0; tool_command_at(i); i++)
        vy_suggestion_offer(&suggestion, tool_command_at(i)->name);
    closest = vy_suggestion_get(&suggestion);
    return tool_usage(self,
                      closest ? VY_FIX("did you mean `vyre help %s`?", closest) : "`vyre help` lists the commands",
                      "unknown command `%.100s`", args->words.items[0]);
}

const tool_command tool_cmd_help = {
    .name = "help",
    .summary = "print the commands, or the options of one",
    .usage = "[COMMAND]",
    .details = "",
    .examples = "  vyre help run\n",
    .run = run_help,
};

/* ---- vyre version ---- */

static int run_version(const tool_command *self, void *options, const tool_args *args) {
    (void)self, (void)options, (void)args;
    size_t count;
    const vyre_backend_registration *const *backends = vyre_backends_by_precedence(&count);
    printf("vyre %s\nbackends:", vyre_version());
    for (size_t i = 0; i < count; i++)
        printf("%s %s", i ? "," : "", backends[i]->id);
    printf("\n");
    return TOOL_OK;
}

const tool_command tool_cmd_version = {
    .name = "version",
    .summary = "print the version and the backends of this build",
    .usage = "",
    .details = "",
    .examples = "  vyre version\n",
    .run = run_version,
};

/* ---- main ---- */

static void list_commands(void) {
    tool_write(stderr, "Fix: use one of");
    for (size_t i = 0; tool_command_at(i); i++)
        fprintf(stderr, "%s %s", i ? "," : "", commands[i]->name);
    fprintf(stderr, "; `vyre help` describes them\n");
}

/* Words of other tools, and the command with their meaning. */
static const struct {
    const char *word, *command;
} command_words[] = {
    {"format", "fmt"}, {"compile", "emit"}, {"disassemble", "emit"}, {"validate", "check"},
    {"lint", "check"}, {"build", "check"},  {"devices", "backends"}, {"list", "backends"},
};

static int unknown_command(const char *name) {
    vy_suggestion suggestion;
    const char *closest;

    /* Not tool_usage, which refers to the help and the --json option of a command. */
    vy_suggestion_start(&suggestion, name, strlen(name));
    for (size_t i = 0; tool_command_at(i); i++)
        vy_suggestion_offer(&suggestion, commands[i]->name);
    closest = vy_suggestion_get(&suggestion);
    for (size_t i = 0; i < sizeof command_words / sizeof *command_words; i++)
        if (strcmp(name, command_words[i].word) == 0)
            closest = command_words[i].command;
    tool_write(stderr, "vyre: unknown command `%.100s`\n", name);
    if (closest)
        tool_write(stderr, "Fix: did you mean `vyre %s`?\n", closest);
    else
        list_commands();
    return TOOL_USAGE;
}

/* Accepts `vyre --help` and `vyre --version`. */
static const char *command_name(const char *word) {
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return "version";
    return word;
}

/* Whether standard output is a pipe or socket whose reader has closed it. */
static int reader_left(void) {
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

/* Reports output that could not be written. A reader that closed the pipe (`vyre ops | head`) is not an error: the exit
 * code is unchanged. */
static int finish_output(int code) {
    int failed = ferror(stdout);

    if (fflush(stdout) == 0 && !failed)
        return code;
    if (reader_left())
        return code;
    tool_write(stderr,
               "vyre: IO: standard output cannot be written\nFix: free space on the device, or redirect the output\n");
    return code == TOOL_OK ? TOOL_SYSTEM : code;
}

int main(int argc, char **argv) {
    const tool_command *command;

    signal(SIGPIPE, SIG_IGN);
    vy_dialect_loader_name_set("VYRE_DIALECT_PATH");
    if (argc < 2) {
        tool_command_execute(&tool_cmd_help, 0, NULL);
        return finish_output(TOOL_USAGE);
    }
    command = tool_command_find(command_name(argv[1]));
    if (!command)
        return unknown_command(argv[1]);
    return finish_output(tool_command_execute(command, argc - 2, argv + 2));
}
