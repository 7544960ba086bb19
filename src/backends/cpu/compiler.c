/* Finding and opening the compiler plug-in.
 *
 * It is looked for where VYRE_COMPILER says, else in the build tree (programs of the build tree only) and in the folder of
 * installed plug-ins; a set-user-id process looks in the last only. The file must pass the rule of base/trusted_path.h. It
 * is mapped once and stays: LLVM leaves handlers behind. */
#include "backends/cpu/compile.h"

#include "base/memory.h"
#include "base/setting.h"
#include "base/status.h"
#include "driver/host.h"
#include "driver/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

static vyre_status refuse(const char *path, const char *what, vyre_error *error) {
    return vy_fail(error, VYRE_ABI_MISMATCH, "install the compiler plug-in that was built with this library",
                   "the compiler `%s` %s", path, what);
}

static vyre_status open_file(const char *path, const vy_compiler **out, vyre_error *error) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return vy_fail(error, VYRE_UNSUPPORTED,
                       "install what it needs (`ldd` lists it), or run with `--backend reference`",
                       "the dynamic loader refuses the compiler `%s` (%s)", path, dlerror());
    vy_compiler_get *get = (vy_compiler_get *)(uintptr_t)dlsym(handle, VY_COMPILER_SYMBOL);
    if (!get)
        return refuse(path, "does not export `" VY_COMPILER_SYMBOL "`", error);
    const vy_compiler *compiler = get(&vy_host);
    if (!compiler)
        return refuse(path, "does not work in this process", error);
    if (compiler->struct_size < sizeof *compiler || compiler->abi != VY_COMPILER_ABI || !compiler->compile ||
        !compiler->emit_text)
        return refuse(path, "speaks another version of the interface", error);
    *out = compiler;
    return VYRE_OK;
}

/* ---- where it may be ---- */

static int find(char path[PATH_MAX]) {
    if (vy_build_tree_find && !getauxval(AT_SECURE) && vy_build_tree_find("plugins/" VY_COMPILER_FILE, path))
        return 1;
    return snprintf(path, PATH_MAX, "%s%s", vy_plugin_folder(), VY_COMPILER_FILE) < PATH_MAX && access(path, F_OK) == 0;
}

/* The path that was named, or where it was found: `found` has room for PATH_MAX. */
static vyre_status locate(const char *path, char *found, const char **out, vyre_error *error) {
    *out = path ? path : found;
    if (path && path[0] != '/')
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "give VYRE_COMPILER the path from the root, as `realpath` prints it",
                       "the path of a compiler is not absolute (`%s`)", path);
    if (path || find(found))
        return vy_plugin_check_file(*out, error);
    return vy_fail(error, VYRE_UNSUPPORTED,
                   VY_FIX("install it (build target `vyre-compiler-llvm`, file %s%s), name it in VYRE_COMPILER, or run "
                          "with `--backend reference`",
                          vy_plugin_folder(), VY_COMPILER_FILE),
                   "the compiler plug-in of backend `cpu` (" VY_COMPILER_FILE ") is not installed");
}

vyre_status vy_cpu_compiler_open(const char *path, const vy_compiler **out, vyre_error *error) {
    char found[PATH_MAX];
    *out = NULL;
    vyre_status status = locate(path, found, &path, error);
    return status == VYRE_OK ? open_file(path, out, error) : status;
}

vyre_status vy_cpu_compiler_check(vyre_error *error) {
    char found[PATH_MAX];
    const char *path;
    return locate(vy_setting("VYRE_COMPILER"), found, &path, error);
}

vyre_status vy_cpu_compiler(vy_cpu *cpu, const vy_compiler **out, vyre_error *error) {
    pthread_mutex_lock(&cpu->lock);
    *out = cpu->compiler;
    pthread_mutex_unlock(&cpu->lock);
    if (*out)
        return VYRE_OK;
    vyre_status status =
        vy_cpu_compiler_open(vy_setting("VYRE_COMPILER"), out, error); /* twice at once: the loader counts */
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&cpu->lock);
    cpu->compiler = *out;
    pthread_mutex_unlock(&cpu->lock);
    return VYRE_OK;
}
