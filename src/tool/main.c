/* The vyre command: finds the subcommand, runs it, and makes sure that what it printed has arrived. */
#include "tool/args.h"
#include "tool/commands.h"
#include "tool/terminal.h"

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

static void list_commands(void) {
    tool_write(stderr, "Fix: use one of");
    for (size_t i = 0; tool_command_at(i); i++)
        fprintf(stderr, "%s %s", i ? "," : "", commands[i]->name);
    fprintf(stderr, "; `vyre help` says what they do\n");
}

static int unknown_command(const char *name) {
    vy_suggestion suggestion;
    const char *closest;

    /* Not tool_usage: without a command there is no help to point to, and no --json to answer. */
    vy_suggestion_start(&suggestion, name, strlen(name));
    for (size_t i = 0; tool_command_at(i); i++)
        vy_suggestion_offer(&suggestion, commands[i]->name);
    closest = vy_suggestion_get(&suggestion);
    tool_write(stderr, "vyre: there is no command `%.100s`\n", name);
    if (closest)
        tool_write(stderr, "Fix: did you mean `vyre %s`?\n", closest);
    else
        list_commands();
    return TOOL_USAGE;
}

/* `vyre --version` and `vyre --help` are what people try first. */
static const char *command_name(const char *word) {
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return "version";
    return word;
}

/* Whether standard output is a pipe or socket that nobody reads any more. */
static int reader_left(void) {
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

/* Output that could not be written is an error, except where the reader left on purpose (`vyre ops | head`): what it saw was enough,
 * and the exit code of the work stands. */
static int finish_output(int code) {
    int failed = ferror(stdout);

    if (fflush(stdout) == 0 && !failed)
        return code;
    if (reader_left())
        return code;
    tool_write(stderr,
               "vyre: IO: standard output cannot be written\nFix: free space there, or send the output elsewhere\n");
    return code == TOOL_OK ? TOOL_SYSTEM : code;
}

int main(int argc, char **argv) {
    const tool_command *command;

    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        tool_command_execute(&tool_cmd_help, 0, NULL);
        return finish_output(TOOL_USAGE);
    }
    command = tool_command_find(command_name(argv[1]));
    if (!command)
        return unknown_command(argv[1]);
    return finish_output(tool_command_execute(command, argc - 2, argv + 2));
}
