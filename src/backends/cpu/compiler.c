/* Finding and opening the compiler (compile.h).
 *
 * It is looked for where VYRE_COMPILER says, else in the build tree (programs of the build tree only) and where it is installed; a
 * set-user-id process looks in the last only. The file must pass the rule of base/trusted_path.h: it is run, or its code is. */
#include "backends/cpu/compile.h"

#include "backends/cpu/compile_client.h"
#include "base/env.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/trusted_path.h"
#include "driver/host_services.h"
#include "driver/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifndef VYRE_LIBEXEC_FOLDER
#error "define VYRE_LIBEXEC_FOLDER: the folder of installed executables that are not for users"
#endif

#ifdef VYRE_COMPILER_IN_PROCESS
enum { IS_IN_PROCESS = 1 };
#define COMPILER_FILE "vyre-compiler-llvm.so"
#define BUILD_FOLDER "plugins/"
#else
enum { IS_IN_PROCESS = 0 };
#define COMPILER_FILE "vyre-compiler-llvm"
#define BUILD_FOLDER "libexec/"
#endif

enum { MEMORY_LEAST_MIB = 512, MEMORY_MOST_MIB = 1 << 20, SECONDS_MOST = 3600 };

/* ---- a plug-in ---- */

static vyre_status refuse(const char *path, const char *what, vyre_error *error) {
    return vy_fail(error, VYRE_ABI_MISMATCH, "install the compiler plug-in that was built with this library",
                   "the compiler `%s` %s", path, what);
}

/* It is mapped once and stays: LLVM leaves handlers behind. */
static vyre_status open_plugin(const char *path, const vy_jit_plugin **out, vyre_error *error) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return vy_fail(error, VYRE_UNSUPPORTED,
                       "install what it needs (`ldd` lists it), or run with `--backend reference`",
                       "the dynamic loader refuses the compiler `%s` (%s)", path, dlerror());
    vy_jit_plugin_get *get = (vy_jit_plugin_get *)(uintptr_t)dlsym(handle, VY_JIT_PLUGIN_SYMBOL);
    if (!get)
        return refuse(path, "does not export `" VY_JIT_PLUGIN_SYMBOL "`", error);
    const vy_jit_plugin *compiler = get(&vy_host_services);
    if (!compiler)
        return refuse(path, "does not work in this process", error);
    if (compiler->struct_size < sizeof *compiler || compiler->abi != VY_JIT_PLUGIN_ABI || !compiler->compile ||
        !compiler->emit_text)
        return refuse(path, "speaks another version of the interface", error);
    *out = compiler;
    return VYRE_OK;
}

/* ---- where it may be ---- */

static const char *installed_folder(void) {
    return IS_IN_PROCESS ? vy_plugin_folder() : VYRE_LIBEXEC_FOLDER "/";
}

static int find(char path[PATH_MAX]) {
    if (vy_build_tree_find && !getauxval(AT_SECURE) && vy_build_tree_find(BUILD_FOLDER COMPILER_FILE, path))
        return 1;
    return snprintf(path, PATH_MAX, "%s%s", installed_folder(), COMPILER_FILE) < PATH_MAX && access(path, F_OK) == 0;
}

static vyre_status check_file(const char *path, vyre_error *error) {
    if (IS_IN_PROCESS)
        return vy_plugin_check_file(path, error);
    vyre_status status = vy_trusted_path_check(path, "compiler", error);
    if (status == VYRE_NOT_FOUND && error) /* only a path that was named is not there */
        snprintf(error->fix, sizeof error->fix, "correct the path in VYRE_COMPILER, or unset it");
    if (status == VYRE_OK && access(path, X_OK) != 0)
        status = vy_fail(error, VYRE_CORRUPT,
                         "name the executable `" COMPILER_FILE "` in VYRE_COMPILER, or make it executable",
                         "the compiler `%s` is not an executable file", path);
    return status;
}

/* The path that was named, or where it was found: `found` has room for PATH_MAX. */
static vyre_status locate(const char *path, char *found, const char **out, vyre_error *error) {
    *out = path ? path : found;
    if (path && path[0] != '/')
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "give VYRE_COMPILER the path from the root, as `realpath` prints it",
                       "the path of a compiler is not absolute (`%s`)", path);
    if (path || find(found))
        return check_file(*out, error);
    return vy_fail(error, VYRE_UNSUPPORTED,
                   VY_FIX("install it (build target `vyre-compiler-llvm`, file %s%s), name it in VYRE_COMPILER, or run "
                          "with `--backend reference`",
                          installed_folder(), COMPILER_FILE),
                   "the compiler of backend `cpu` (" COMPILER_FILE ") is not installed");
}

vyre_status vy_cpu_compiler_check(vyre_error *error) {
    char found[PATH_MAX];
    const char *path;
    return locate(vy_env_get("VYRE_COMPILER"), found, &path, error);
}

/* ---- open and close ---- */

vyre_status vy_cpu_compiler_open(const char *path, const vy_jit_plugin **out, vyre_error *error) {
    char found[PATH_MAX];
    *out = NULL;
    vyre_status status = locate(path, found, &path, error);
    if (status != VYRE_OK)
        return status;
    return IS_IN_PROCESS ? open_plugin(path, out, error) : vy_compile_client_open(path, out, error);
}

void vy_cpu_compiler_close(const vy_jit_plugin *compiler) {
    if (!IS_IN_PROCESS)
        vy_compile_client_close(compiler);
}

vyre_status vy_cpu_compiler(vy_cpu *cpu, const vy_jit_plugin **out, vyre_error *error) {
    const vy_jit_plugin *surplus = NULL;
    pthread_mutex_lock(&cpu->lock);
    *out = cpu->compiler;
    pthread_mutex_unlock(&cpu->lock);
    if (*out)
        return VYRE_OK;
    vyre_status status = vy_cpu_compiler_open(vy_env_get("VYRE_COMPILER"), out, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&cpu->lock);
    if (cpu->compiler)
        surplus = *out;
    else
        cpu->compiler = *out;
    *out = cpu->compiler;
    pthread_mutex_unlock(&cpu->lock);
    vy_cpu_compiler_close(surplus);
    return VYRE_OK;
}

vyre_status vy_cpu_compiler_limits(vy_cpu *cpu, vyre_error *error) {
    vyre_status status = vy_env_number("VYRE_COMPILER_MEMORY", MEMORY_LEAST_MIB, MEMORY_MOST_MIB, VY_JIT_MEMORY_MIB,
                                       &cpu->compiler_mib, error);
    if (status == VYRE_OK)
        status = vy_env_number("VYRE_COMPILER_SECONDS", 1, SECONDS_MOST, VY_JIT_SECONDS, &cpu->compiler_seconds, error);
    cpu->keeps_width = !vy_env_flag("VYRE_COMPILER_FALLBACK", 1);
    return status;
}
