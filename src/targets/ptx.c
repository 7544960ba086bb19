/* Targets ptx, cubin and sass: PTX from the emitter, and the output of NVIDIA's assembler and disassemblers (ptx.h). */
#include "targets/ptx.h"

#include "base/file.h"
#include "base/string.h"
#include "emit/ptx/ptx.h"
#include "ir/model.h"
#include "vyre/emit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOOLCHAIN_PATH = 1024 };

/* ---- programs of the CUDA toolkit ---- */

extern char **environ;

/* ---- finding ---- */

static int is_in(const char *folder, size_t length, const char *name, char path[TOOLCHAIN_PATH]) {
    struct stat facts;
    int needed = snprintf(path, TOOLCHAIN_PATH, "%.*s/%s", (int)length, folder, name);
    return needed > 0 && needed < TOOLCHAIN_PATH && stat(path, &facts) == 0 && S_ISREG(facts.st_mode) &&
           access(path, X_OK) == 0;
}

/* Searches for a program: in CUDA_HOME/bin if that is set, otherwise along PATH, then in /usr/local/cuda/bin. Returns 0
 * if it was not found. The variables are ignored in a process with more rights than its user. */
static int toolchain_find(const char *name, char path[TOOLCHAIN_PATH]) {
    const char *home = vy_env_get("CUDA_HOME"), *place = vy_env_get("PATH");
    if (home) {
        char folder[TOOLCHAIN_PATH];
        int length = snprintf(folder, sizeof folder, "%s/bin", home);
        return length > 0 && length < TOOLCHAIN_PATH && is_in(folder, (size_t)length, name, path);
    }
    while (place && *place) {
        size_t length = strcspn(place, ":");
        if (length && is_in(place, length, name, path))
            return 1;
        place += length + (place[length] == ':');
    }
    return is_in("/usr/local/cuda/bin", strlen("/usr/local/cuda/bin"), name, path);
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

/* Runs words[0], a path, with the words up to NULL and no input, and appends what it prints (both streams) to `output`.
 * Returns its exit code, 128 + the signal that ended it, or -1 if it could not be started or waited for. */
static int toolchain_run(const char *const *words, vy_string *output) {
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

static int toolchain_open(vy_toolchain_folder *folder) {
    const char *place = vy_env_get("TMPDIR");
    int length = snprintf(folder->path, sizeof folder->path, "%s/vyre-XXXXXX", place ? place : "/tmp");
    if (length <= 0 || length >= (int)sizeof folder->path || !mkdtemp(folder->path)) {
        folder->path[0] = '\0';
        return 0;
    }
    return 1;
}

static void toolchain_close(vy_toolchain_folder *folder) {
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

static vy_toolchain_file toolchain_in(const vy_toolchain_folder *folder, const char *name) {
    vy_toolchain_file file;
    snprintf(file.path, sizeof file.path, "%s/%.30s", folder->path, name);
    return file;
}

/* ---- targets ---- */

/* Of a cubin. */
enum { MOST_BYTES = 1 << 30 };

vyre_status vy_target_ptx_arch(const char *name, uint32_t *out, vyre_error *error) {
    uint64_t number = 0;
    if (strncmp(name, "sm_", 3) == 0 && vy_parse_digits(name + 3, strlen(name + 3), 10, 999, &number) > 0 &&
        number >= 60) {
        *out = (uint32_t)number;
        return VYRE_OK;
    }
    return vy_fail(error, VYRE_INVALID_ARGUMENT, "use sm_60, sm_70, sm_80, sm_90, …", "unknown architecture `%.40s`",
                   name);
}

/* ---- PTX ---- */

/* Where a launch cannot hold grid barriers, backend `cuda` makes several (driver/multi_launch.h). */
static vyre_status check_stages(const vyre_program *program, const vyre_emit_options *options, uint32_t architecture,
                                vyre_error *error) {
    int is_old = architecture < VY_PTX_GRID_BARRIERS;
    if (!(program->facts & VY_PROGRAM_HAS_GRID_BARRIER) || (!is_old && !options->indirect))
        return VYRE_OK;
    return vy_fail(
        error, VYRE_UNSUPPORTED,
        VY_FIX(
            "emit its stages separately, the launches that a backend makes of it: set `stage` to 1, then 2, …; or %s",
            is_old ? VY_FIX("set `arch` to sm_%d or later", VY_PTX_GRID_BARRIERS) : "leave `indirect` out"),
        "`%s` has grid barriers, for which a launch needs %s", vyre_program_name(program),
        is_old ? VY_FIX("sm_%d (sm_%" PRIu32 ")", VY_PTX_GRID_BARRIERS, architecture)
               : "a grid that is known before it starts");
}

vyre_status vy_target_ptx_make(vyre_program *program, const vyre_emit_options *options, vy_ptx_prepared *prepared,
                               vy_ptx_code *code, vyre_error *error) {
    uint32_t architecture = 0;
    memset(code, 0, sizeof *code);
    memset(prepared, 0, sizeof *prepared);
    vyre_status status = vy_target_ptx_arch(options->arch, &architecture, error);
    if (status == VYRE_OK)
        status = check_stages(program, options, architecture, error);
    const vy_ptx_prepare_options how = {.architecture = architecture,
                                        .cancellable = (uint8_t)(options->cancellable != 0),
                                        .keeps_grid = (uint8_t)(options->unwidened || options->indirect)};
    const vy_ptx_options entry = {.architecture = architecture, .indirect = (uint8_t)(options->indirect != 0)};
    if (status == VYRE_OK)
        status = vy_ptx_prepare(program, &how, prepared, error);
    if (status == VYRE_OK)
        status = vy_ptx_emit(prepared->program, &entry, code, error);
    vyre_program_release(prepared->program);
    prepared->program = NULL;
    return status;
}

static vyre_status make(vyre_program *program, const vyre_emit_options *options, vy_ptx_code *code, vyre_error *error) {
    vy_ptx_prepared prepared;
    return vy_target_ptx_make(program, options, &prepared, code, error);
}

vyre_status vy_target_ptx(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out, vyre_error *error) {
    vy_ptx_code code;
    vyre_status status = make(program, options, &code, error);
    if (status == VYRE_OK) {
        *out = code.text;
        code.text = (vyre_bytes)VYRE_BYTES_INIT;
    }
    vy_ptx_free(&code);
    return status;
}

/* ---- NVIDIA's programs ---- */

void vy_ptx_assembly_free(vy_ptx_assembly *a) {
    toolchain_close(&a->folder);
    vy_string_free(&a->said);
}

static vyre_status not_found(const char *name, vyre_error *error) {
    return vy_fail(error, VYRE_UNSUPPORTED, "install the CUDA toolkit, or set CUDA_HOME to its folder",
                   "`%s`, which this target needs, was not found", name);
}

vyre_status vy_ptx_assemble(const vy_ptx_code *code, const char *arch, vy_ptx_assembly *a, vyre_error *error) {
    char ptxas[TOOLCHAIN_PATH], target[64];
    memset(a, 0, sizeof *a);
    if (!toolchain_find("ptxas", ptxas))
        return not_found("ptxas", error);
    if (!toolchain_open(&a->folder))
        return vy_fail(error, VYRE_IO, "set TMPDIR to a folder that can be written",
                       "a temporary folder for the assembler could not be made");
    vy_toolchain_file text = toolchain_in(&a->folder, "program.ptx");
    a->cubin = toolchain_in(&a->folder, "program.cubin");
    vyre_status status = vy_file_write(text.path, code->text.data, code->text.size, error);
    if (status != VYRE_OK)
        return status;
    snprintf(target, sizeof target, "-arch=%.40s", arch);
    const char *const words[] = {ptxas, "-v", "-lineinfo", target, "-o", a->cubin.path, text.path, NULL};
    int ended = toolchain_run(words, &a->said);
    if (a->said.failed)
        return vy_fail_memory(error, "the output of ptxas");
    if (ended < 0)
        return vy_fail(error, VYRE_IO, "check that it can be executed", "`%.400s` could not be run", ptxas);
    if (ended != 0)
        return vy_fail(error, VYRE_UNSUPPORTED,
                       "use an `arch` that this ptxas accepts, or a newer CUDA toolkit; target ptx shows the text",
                       "ptxas failed (exit code %d): %.300s", ended, a->said.text ? a->said.text : "");
    return VYRE_OK;
}

/* nvdisasm shows lines of the source; cuobjdump does not. */
static vyre_status disassemble(const vy_ptx_assembly *a, vyre_bytes *out, vyre_error *error) {
    char path[TOOLCHAIN_PATH];
    const char *const lines[] = {path, "--print-code", "--print-line-info", a->cubin.path, NULL};
    const char *const plain[] = {path, "-sass", a->cubin.path, NULL};
    const char *const *words = toolchain_find("nvdisasm", path)    ? lines
                               : toolchain_find("cuobjdump", path) ? plain
                                                                   : NULL;
    vy_string text = {0};
    if (!words)
        return not_found("nvdisasm", error);
    int ended = toolchain_run(words, &text);
    vyre_status status;
    if (ended == 0 || text.failed)
        status = vy_string_to_bytes(&text, out, error);
    else if (ended < 0)
        status = vy_fail(error, VYRE_IO, "check that it can be executed", "`%.400s` could not be run", path);
    else
        status = vy_fail(error, VYRE_UNSUPPORTED, "use the disassembler of the CUDA toolkit that ptxas is from",
                         "`%.100s` failed (exit code %d): %.300s", path, ended, text.text ? text.text : "");
    vy_string_free(&text);
    return status;
}

static vyre_status read_cubin(const vy_ptx_assembly *a, vyre_bytes *out, vyre_error *error) {
    return vy_file_read_plain(a->cubin.path, MOST_BYTES, out, error);
}

static vyre_status emit_assembled(vyre_program *program, const vyre_emit_options *options,
                                  vyre_status (*read)(const vy_ptx_assembly *, vyre_bytes *, vyre_error *),
                                  vyre_bytes *out, vyre_error *error) {
    vy_ptx_code code;
    vy_ptx_assembly a = {0};
    vyre_status status = make(program, options, &code, error);
    if (status == VYRE_OK)
        status = vy_ptx_assemble(&code, options->arch, &a, error);
    if (status == VYRE_OK)
        status = read(&a, out, error);
    vy_ptx_assembly_free(&a);
    vy_ptx_free(&code);
    return status;
}

vyre_status vy_target_cubin(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                            vyre_error *error) {
    return emit_assembled(program, options, read_cubin, out, error);
}

vyre_status vy_target_sass(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                           vyre_error *error) {
    return emit_assembled(program, options, disassemble, out, error);
}
