/* vyre version. */
#include "tool/args.h"
#include "tool/commands.h"

static int run_command(const tool_command *self, void *options, const tool_args *args) {
    (void)self, (void)options, (void)args;
    printf("vyre %s\nbackends: reference\n", vyre_version());
    return TOOL_OK;
}

const tool_command tool_cmd_version = {
    .name = "version",
    .summary = "print the version and the backends of this build",
    .usage = "",
    .details = "",
    .examples = "  vyre version\n",
    .run = run_command,
};
