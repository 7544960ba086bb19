/* Programs that the host may have: a C compiler, and NVIDIA's assembler and disassemblers. They run as child processes
 * on files in a temporary folder. A process with more rights than its user finds none, since it ignores its
 * environment. */
#ifndef VY_TARGETS_TOOLCHAIN_H
#define VY_TARGETS_TOOLCHAIN_H

#include "base/string.h"

enum { VY_TOOLCHAIN_PATH = 1024 };

/* Searches for a program of the CUDA toolkit: in CUDA_HOME/bin if that is set, otherwise along PATH, then in
 * /usr/local/cuda/bin. Returns 0 if it was not found. */
int vy_toolchain_find(const char *name, char path[VY_TOOLCHAIN_PATH]);
/* Searches PATH for a C compiler that has the options of gcc: cc, gcc or clang. */
int vy_toolchain_find_cc(char path[VY_TOOLCHAIN_PATH]);

/* Runs words[0], a path, with the words up to NULL and no input, and appends what it prints (both streams) to `output`.
 * Returns its exit code, 128 + the signal that ended it, or -1 if it could not be started or waited for. */
int vy_toolchain_run(const char *const *words, vy_string *output);

/* A private folder below TMPDIR (/tmp); closing it removes it with its files. 0 if it cannot be made. */
typedef struct vy_toolchain_folder {
    char path[512];
} vy_toolchain_folder;
int vy_toolchain_open(vy_toolchain_folder *folder);
void vy_toolchain_close(vy_toolchain_folder *folder);

/* The path of a file in it. */
typedef struct vy_toolchain_file {
    char path[544];
} vy_toolchain_file;
vy_toolchain_file vy_toolchain_in(const vy_toolchain_folder *folder, const char *name);

#endif
