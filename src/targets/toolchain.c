/* Finding and running compilers, assemblers and disassemblers, and a temporary folder for their files (toolchain.h). */
#include "targets/toolchain.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- finding ---- */

static int is_in(const char *folder, size_t length, const char *name, char path[VY_TOOLCHAIN_PATH]) {
    struct stat facts;
    int needed = snprintf(path, VY_TOOLCHAIN_PATH, "%.*s/%s", (int)length, folder, name);
    return needed > 0 && needed < VY_TOOLCHAIN_PATH && stat(path, &facts) == 0 && S_ISREG(facts.st_mode) &&
           access(path, X_OK) == 0;
}

static int find_on_path(const char *name, char path[VY_TOOLCHAIN_PATH]) {
    const char *place = vy_env_get("PATH");
    while (place && *place) {
        size_t length = strcspn(place, ":");
        if (length && is_in(place, length, name, path))
            return 1;
        place += length + (place[length] == ':');
    }
    return 0;
}

int vy_toolchain_find(const char *name, char path[VY_TOOLCHAIN_PATH]) {
    const char *home = vy_env_get("CUDA_HOME");
    char folder[VY_TOOLCHAIN_PATH];
    if (!home)
        return find_on_path(name, path) || is_in("/usr/local/cuda/bin", strlen("/usr/local/cuda/bin"), name, path);
    int length = snprintf(folder, sizeof folder, "%s/bin", home);
    return length > 0 && length < VY_TOOLCHAIN_PATH && is_in(folder, (size_t)length, name, path);
}

int vy_toolchain_find_cc(char path[VY_TOOLCHAIN_PATH]) {
    return find_on_path("cc", path) || find_on_path("gcc", path) || find_on_path("clang", path);
}

/* ---- running ---- */

static int start(const char *const *words, int output, pid_t *child) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return 0;
    /* First the output: the pipe may have the number of a standard stream that the caller has closed. */
    int failed = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) ||
                 posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO) ||
                 posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn(child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !failed;
}

static void read_all(int from, vy_string *output) {
    char some[4096];
    for (;;) {
        ssize_t got = read(from, some, sizeof some);
        if (got > 0)
            vy_string_append(output, some, (size_t)got);
        else if (got == 0 || errno != EINTR)
            return;
    }
}

int vy_toolchain_run(const char *const *words, vy_string *output) {
    int ends[2], status = 0;
    pid_t child, ended;
    if (pipe2(ends, O_CLOEXEC) != 0) /* so that no other child of the process holds it open */
        return -1;
    int started = start(words, ends[1], &child);
    close(ends[1]);
    if (started)
        read_all(ends[0], output);
    close(ends[0]);
    if (!started)
        return -1;
    do {
        ended = waitpid(child, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- files ---- */

int vy_toolchain_open(vy_toolchain_folder *folder) {
    const char *place = vy_env_get("TMPDIR");
    int length = snprintf(folder->path, sizeof folder->path, "%s/vyre-XXXXXX", place ? place : "/tmp");
    if (length <= 0 || length >= (int)sizeof folder->path || !mkdtemp(folder->path)) {
        folder->path[0] = '\0';
        return 0;
    }
    return 1;
}

void vy_toolchain_close(vy_toolchain_folder *folder) {
    DIR *opened = folder->path[0] ? opendir(folder->path) : NULL;
    struct dirent *entry;
    while (opened && (entry = readdir(opened)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(opened), entry->d_name, 0);
    if (opened)
        closedir(opened);
    if (folder->path[0])
        rmdir(folder->path);
    folder->path[0] = '\0';
}

vy_toolchain_file vy_toolchain_in(const vy_toolchain_folder *folder, const char *name) {
    vy_toolchain_file file;
    snprintf(file.path, sizeof file.path, "%s/%.30s", folder->path, name);
    return file;
}
