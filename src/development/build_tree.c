/* The search path of the build tree: a program finds the compiler that was built with it, without an installation.
 *
 * Linked into the programs and the shared library of the build tree only, never into what is installed: an installed
 * program must not load code from a folder beside it. Everything that is found must still pass the rule of
 * base/trusted_path.h. */
#include "driver/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file that this function was linked into: a shared library, or the executable, whose name in the link map is
 * empty. */
static int own_path(char path[PATH_MAX]) {
    Dl_info info;
    struct link_map *map;
    if (dladdr1((const void *)(uintptr_t)vy_build_tree_find, &info, (void **)&map, RTLD_DL_LINKMAP) && map->l_name[0])
        return realpath(map->l_name, path) != NULL;
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* Libraries and the command are built in the tree's folder; tests, benchmarks and examples one folder down. */
int vy_build_tree_find(const char *file, char path[PATH_MAX]) {
    char own[PATH_MAX];
    if (!own_path(own))
        return 0;
    for (int level = 0; level < 2; level++) {
        char *slash = strrchr(own, '/');
        if (!slash)
            return 0;
        *slash = 0;
        if (snprintf(path, PATH_MAX, "%s/%s", own, file) < PATH_MAX && access(path, F_OK) == 0)
            return 1;
    }
    return 0;
}
