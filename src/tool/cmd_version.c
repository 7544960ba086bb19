/* vyre version. */
#include "tool/args.h"
#include "tool/commands.h"
#include "vyre/registry.h"

static int run_command(const tool_command *self, void *options, const tool_args *args) {
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
    .run = run_command,
};
