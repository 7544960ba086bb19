/* vyre help. */
#include "tool/args.h"
#include "tool/commands.h"

enum { OPTION_COLUMN = 28, TEXT_WIDTH = 100 };

/* Prints words from `column` on, going on under it. */
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
    print_option(&(tool_option){"help", 'h', NULL, TOOL_FLAG, 0, "this text"});
    if (command->examples[0])
        printf("\nexamples:\n%s", command->examples);
}

static void print_overview(void) {
    printf("vyre: one compute program, the same bits everywhere\n\nusage: vyre COMMAND [ARGUMENTS]\n\ncommands:\n");
    for (size_t i = 0; tool_command_at(i); i++)
        printf("  %-10s %s\n", tool_command_at(i)->name, tool_command_at(i)->summary);
    printf("\nexit codes:\n");
#define X(ID, code, doc) printf("  %d  %s\n", code, doc);
    TOOL_EXIT_LIST(X)
#undef X
    printf("\n`vyre help COMMAND` or `vyre COMMAND --help` says more. To begin:\n"
           "  vyre run examples/saxpy.vyre a=2.0 x=1,2,3 y=10,20,30\n");
}

static int run_command(const tool_command *self, void *options, const tool_args *args) {
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
                      "there is no command `%.100s`", args->words.items[0]);
}

const tool_command tool_cmd_help = {
    .name = "help",
    .summary = "show what the command and its subcommands take",
    .usage = "[COMMAND]",
    .details = "",
    .examples = "  vyre help run\n",
    .run = run_command,
};
