/* Programs of others that the command makes use of where they are: NVIDIA's assembler and disassembler. */
#ifndef TOOL_OUTSIDE_H
#define TOOL_OUTSIDE_H

#include "base/text.h"

enum { TOOL_OUTSIDE_PATH = 1024 };

/* Looks for a program: in CUDA_HOME/bin if that is set, else along PATH, then in /usr/local/cuda/bin. 0 if there is none. */
int tool_outside_find(const char *name, char path[TOOL_OUTSIDE_PATH]);

/* Runs words[0], a path, with the words up to NULL, no input, and what it prints (both ways) added to `output`. Returns what it ended with: its exit code, 128 + the
 * signal, or -1 if it could not be started or waited for. */
int tool_outside_run(const char *const *words, vy_string *output);

/* A folder of our own for files that others are to read and write; removed with what is in it. 0 if none can be made. */
typedef struct tool_outside_folder {
    char path[64];
} tool_outside_folder;
int tool_outside_open(tool_outside_folder *folder);
void tool_outside_close(tool_outside_folder *folder);
/* The path of a file in it. */
typedef struct tool_outside_file {
    char path[96];
} tool_outside_file;
tool_outside_file tool_outside_in(const tool_outside_folder *folder, const char *name);

#endif
