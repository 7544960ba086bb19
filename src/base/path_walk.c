/* Path walk (path_walk.h). */
#include "base/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 /* as in the kernel */ };

static int reset_to_root(vy_path_walk *walk) {
    if (walk->at >= 0)
        close(walk->at);
    walk->current_path[0] = 0;
    walk->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return walk->at >= 0 && fstat(walk->at, &walk->metadata) == 0 ? 0 : errno;
}

static void pop_component(vy_path_walk *walk) {
    char *slash = strrchr(walk->current_path, '/');
    if (slash)
        *slash = 0;
}

int vy_path_walk_begin(vy_path_walk *walk, const char *path) {
    walk->at = walk->parent = -1;
    walk->links = 0;
    if (strlen(path) >= sizeof walk->rest)
        return ENAMETOOLONG;
    strcpy(walk->rest, path);
    return reset_to_root(walk);
}

int vy_path_walk_next(vy_path_walk *walk) {
    do {
        size_t start = strspn(walk->rest, "/"), length = strcspn(walk->rest + start, "/"), end = start + length;
        memcpy(walk->name, walk->rest + start, length);
        walk->name[length] = 0;
        memmove(walk->rest, walk->rest + end, strlen(walk->rest + end) + 1);
    } while (strcmp(walk->name, ".") == 0);
    return walk->name[0] != 0;
}

int vy_path_walk_open(vy_path_walk *walk, int *opened) {
    size_t length = strlen(walk->current_path);
    *opened = openat(walk->at, walk->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (*opened < 0)
        return errno;
    int number = fstat(*opened, &walk->metadata) != 0 ? errno : 0;
    if (strcmp(walk->name, "..") == 0)
        pop_component(walk);
    else if ((size_t)snprintf(walk->current_path + length, PATH_MAX - length, "/%s", walk->name) >= PATH_MAX - length)
        number = ENAMETOOLONG;
    if (number)
        close(*opened);
    return number;
}

/* Puts the target of the link before `rest`. */
static int follow_link(vy_path_walk *walk, int link) {
    char target[PATH_MAX];
    size_t rest = strlen(walk->rest);
    ssize_t length = readlinkat(link, "", target, sizeof target);
    if (length < 0)
        return errno;
    if (++walk->links > LINKS_MAX)
        return ELOOP;
    if ((size_t)length + rest >= sizeof walk->rest)
        return ENAMETOOLONG;
    memmove(walk->rest + length, walk->rest, rest + 1);
    memcpy(walk->rest, target, (size_t)length);
    if (walk->rest[0] == '/')
        return reset_to_root(walk);
    pop_component(walk);
    return fstat(walk->at, &walk->metadata) == 0 ? 0 : errno;
}

int vy_path_walk_enter(vy_path_walk *walk, int opened) {
    if (S_ISLNK(walk->metadata.st_mode)) {
        int number = follow_link(walk, opened);
        close(opened);
        return number;
    }
    if (S_ISDIR(walk->metadata.st_mode))
        close(walk->at);
    else
        walk->parent = walk->at;
    walk->at = opened;
    return !S_ISDIR(walk->metadata.st_mode) && walk->rest[0] ? ENOTDIR : 0;
}

int vy_path_walk_read(const vy_path_walk *walk, int *file) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat now;
    *file = -1;
    if (walk->parent < 0)
        *file = openat(walk->at, ".", flags);
    else if (S_ISREG(walk->metadata.st_mode))
        *file = openat(walk->parent, walk->name, flags);
    else
        return 0;
    int number = *file < 0 || fstat(*file, &now) != 0                                         ? errno
                 : now.st_dev != walk->metadata.st_dev || now.st_ino != walk->metadata.st_ino ? ESTALE
                                                                                              : 0;
    if (number && *file >= 0) {
        close(*file);
        *file = -1;
    }
    return number;
}

void vy_path_walk_end(vy_path_walk *walk) {
    if (walk->at >= 0)
        close(walk->at);
    if (walk->parent >= 0)
        close(walk->parent);
    walk->at = walk->parent = -1;
}
