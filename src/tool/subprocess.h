/* Doing something in a child process that may crash, hang, exit or print without harm: the command runs itself again with limits.
 *
 * The child is `vyre WORDS…`, in a process group of its own, with standard output and error captured, no input, no core file, a limit on
 * memory and on processor time. What it has to say it writes to the descriptor TOOL_SUBPROCESS_RESULT_FD, apart from what is printed. */
#ifndef TOOL_SUBPROCESS_H
#define TOOL_SUBPROCESS_H

#include "base/string.h"

enum {
    TOOL_SUBPROCESS_RESULT_FD = 3, /* the descriptor */
    TOOL_SUBPROCESS_RESULT_LIMIT = 1 << 20 /* bytes of an answer */,
    TOOL_SUBPROCESS_OUTPUT_LIMIT = 256 /* bytes of what is printed; the rest is read and dropped */
};

typedef enum tool_subprocess_end {
    TOOL_SUBPROCESS_EXITED,     /* code: the exit code */
    TOOL_SUBPROCESS_SIGNALLED,  /* code: the signal */
    TOOL_SUBPROCESS_TIMED_OUT,  /* and was killed */
    TOOL_SUBPROCESS_STUCK,      /* the same, but it does not die: it waits in the kernel */
    TOOL_SUBPROCESS_NOT_STARTED /* code: errno */
} tool_subprocess_end;

typedef struct tool_subprocess {
    tool_subprocess_end end;
    int code;
    vy_string answer, output; /* `failed` if memory ran out */
} tool_subprocess;

/* Runs it and waits, at most timeout_ns. words ends with NULL and begins with the subcommand. `plugins` is what VYRE_PLUGINS is for the
 * child (NULL: not set); VYRE_TRACE is not set. Release with tool_subprocess_free. */
void tool_subprocess_run(const char *const *words, const char *plugins, uint64_t timeout_ns, tool_subprocess *out);
void tool_subprocess_free(tool_subprocess *child);

/* "SIGSEGV (Segmentation fault)" in a buffer of 80 bytes. */
const char *tool_signal_name(int number, char text[80]);

#endif
