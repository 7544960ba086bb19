/* The subcommands, in the order in which help lists them. Each is a tool_command in src/tool/cmd_NAME.c. */
#ifndef TOOL_COMMANDS_H
#define TOOL_COMMANDS_H

#include "tool/tool.h"

#define TOOL_COMMAND_LIST(X)                                                                                           \
    X(run)                                                                                                             \
    X(check)                                                                                                           \
    X(fmt)                                                                                                             \
    X(explain)                                                                                                         \
    X(backends)                                                                                                        \
    X(info)                                                                                                            \
    X(cache)                                                                                                           \
    X(doctor)                                                                                                          \
    X(dialects)                                                                                                        \
    X(ops)                                                                                                             \
    X(inline)                                                                                                          \
    X(opt)                                                                                                             \
    X(emit)                                                                                                            \
    X(encode)                                                                                                          \
    X(decode)                                                                                                          \
    X(bind)                                                                                                            \
    X(gen)                                                                                                             \
    X(shrink)                                                                                                          \
    X(version)                                                                                                         \
    X(help)

#define X(name) extern const tool_command tool_cmd_##name;
TOOL_COMMAND_LIST(X)
#undef X

#endif
