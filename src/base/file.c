/* File access (path walk, whole reads, writes through a temporary file and rename()) and environment variables. */
#include "base/file.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/string.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- path walk ---- */

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

/* Prepends the target of the link to `rest`. */
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

/* ---- whole files ---- */

#define READ_STEP ((size_t)64 << 10)
#define TEMPORARY_TRIES 100u

/* The description of an errno value; depends neither on the locale nor on other threads. */
static const char *reason(int number) {
#ifdef __GLIBC__
    const char *text = strerrordesc_np(number);
    return text ? text : "unknown error";
#else
    return strerror(number);
#endif
}

/* The fix for an errno value; NULL: the default fix of the status. */
static const char *fix_of(int number) {
    switch (number) {
    case ENOENT:
        return "check the spelling of the path, and that its folder exists";
    case ENOSPC:
    case EDQUOT:
        return "free space on the file system, or name a path on another one";
    case EFBIG:
        return "raise the limit on the size of files (ulimit -f), or name a path on another file system";
    case EACCES:
    case EPERM:
        return "change the permissions of the path, or name another one";
    case EROFS:
        return "name a path on a file system that can be written";
    case EISDIR:
        return "name a file; this is a folder";
    case ENOTDIR:
        return "name a path whose parts before the last are folders";
    case ENAMETOOLONG:
        return "use a shorter path";
    case ELOOP:
        return "remove the symbolic link that leads back to itself, or name another path";
    case EMFILE:
        return "raise the limit on open files (ulimit -n), or close some";
    default:
        return NULL;
    }
}

static vyre_status fail_io(vyre_error *error, const char *doing, const char *path, int number) {
    vyre_status code = number == ENOENT ? VYRE_NOT_FOUND : number == ENOMEM ? VYRE_NO_MEMORY : VYRE_IO;
    code = vy_fail(error, code, fix_of(number), "cannot %s `%s`: %s", doing, path, reason(number));
    vy_fail_where(error, "%s", path);
    return code;
}

static vyre_status fail_size(vyre_error *error, const char *path, size_t limit) {
    vy_fail(error, VYRE_LIMIT, "use a smaller file", "`%s` is larger than the limit (%zu bytes)", path, limit);
    vy_fail_where(error, "%s", path);
    return VYRE_LIMIT;
}

/* Reads to the end of the file. The buffer doubles, up to one byte over the limit to detect an oversized file. */
static vyre_status read_all(int file, const char *path, size_t expected, size_t limit, vyre_bytes *out,
                            vyre_error *error) {
    size_t most = limit < PTRDIFF_MAX ? limit + 1 : limit, length = 0;
    size_t room = expected < READ_STEP ? READ_STEP : expected + 1;
    for (;;) {
        if (length == room)
            room = room > most / 2 ? most : room * 2;
        if (room > most)
            room = most;
        vyre_status status = vyre_bytes_resize(out, room, error);
        if (status != VYRE_OK)
            return status;
        ssize_t count = read(file, (char *)out->data + length, room - length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail_io(error, "read", path, errno);
        length += (size_t)count;
        if (length > limit)
            return fail_size(error, path, limit);
        if (count == 0) {
            out->size = length;
            return VYRE_OK;
        }
    }
}

static vyre_status fail_kind(vyre_error *error, const char *path) {
    return vy_fail(error, VYRE_IO, "put a plain file there, or name another one", "`%.200s` is not a plain file", path);
}

/* Reads the open file, and closes it. */
static vyre_status read_open(int file, const char *path, int is_plain, size_t limit, vyre_bytes *out,
                             vyre_error *error) {
    struct stat about;
    vyre_status status = VYRE_OK;
    size_t expected = 0;
    if (fstat(file, &about) != 0)
        status = fail_io(error, "examine", path, errno);
    else if (is_plain && !S_ISREG(about.st_mode))
        status = fail_kind(error, path);
    else if (S_ISDIR(about.st_mode))
        status = fail_io(error, "read", path, EISDIR);
    else if (S_ISREG(about.st_mode) && about.st_size > 0)
        expected = (size_t)about.st_size;
    if (status == VYRE_OK && expected > limit)
        status = fail_size(error, path, limit);
    if (status == VYRE_OK)
        status = read_all(file, path, expected, limit, out, error);
    close(file);
    if (status != VYRE_OK)
        out->size = 0;
    return status;
}

static vyre_status read_path(const char *path, int is_plain, size_t limit, vyre_bytes *out, vyre_error *error) {
    out->size = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | (is_plain ? O_NONBLOCK : 0));
    return file < 0 ? fail_io(error, "open", path, errno) : read_open(file, path, is_plain, limit, out, error);
}

vyre_status vy_file_read(const char *path, size_t limit, vyre_bytes *out, vyre_error *error) {
    if (strcmp(path, "-") != 0)
        return read_path(path, 0, limit, out, error);
    vyre_status status = read_all(STDIN_FILENO, "standard input", 0, limit, out, error);
    if (status != VYRE_OK)
        out->size = 0;
    return status;
}

vyre_status vy_file_read_plain(const char *path, size_t limit, vyre_bytes *out, vyre_error *error) {
    return read_path(path, 1, limit, out, error);
}

/* ---- files below a folder ---- */

/* Whether the walk may open `name`: a component on the way to the folder, or below it. */
static int is_within_folder(const vy_path_walk *walk, const char *folder) {
    char next[2 * PATH_MAX];
    size_t length = (size_t)snprintf(next, sizeof next, "%s/%s", walk->current_path, walk->name), base = strlen(folder);
    size_t common = length < base ? length : base;
    const char *longer = length < base ? folder : next;
    return strcmp(walk->name, "..") == 0 ||
           (memcmp(next, folder, common) == 0 && (longer[common] == '/' || longer[common] == 0));
}

/* Returns 0 or an errno value: EXDEV if a link leads out of the folder, whether or not its target exists. */
static int open_beneath(vy_path_walk *walk, const char *folder, const char *name, int *file) {
    char path[PATH_MAX];
    int opened, number = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return ENAMETOOLONG;
    number = vy_path_walk_begin(walk, path);
    while (!number && walk->parent < 0 && vy_path_walk_next(walk)) {
        number = is_within_folder(walk, folder) ? vy_path_walk_open(walk, &opened) : EXDEV;
        if (!number)
            number = vy_path_walk_enter(walk, opened);
    }
    if (!number && strlen(walk->current_path) <= strlen(folder))
        number = EXDEV;
    return number ? number : vy_path_walk_read(walk, file);
}

vyre_status vy_file_read_beneath(const char *folder, const char *name, const char *shown, size_t limit, vyre_bytes *out,
                                 vyre_error *error) {
    char real[PATH_MAX];
    vy_path_walk walk = {.at = -1, .parent = -1};
    int file = -1;
    out->size = 0;
    if (!realpath(folder, real))
        return fail_io(error, "find the folder of", shown, errno);
    int number = open_beneath(&walk, strcmp(real, "/") == 0 ? "" : real, name, &file);
    int is_plain = S_ISREG(walk.metadata.st_mode);
    vy_path_walk_end(&walk);
    if (number == EXDEV)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "put the file itself into the folder",
                       "`%.200s` is a symbolic link that leads out of its folder", shown);
    if (number)
        return fail_io(error, "open", shown, number);
    return is_plain ? read_open(file, shown, 1, limit, out, error) : fail_kind(error, shown);
}

static vyre_status write_all(int file, const char *path, const void *data, size_t size, vyre_error *error) {
    const char *at = data;
    while (size > 0) {
        ssize_t count = write(file, at, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail_io(error, "write", path, errno);
        at += count;
        size -= (size_t)count;
    }
    return VYRE_OK;
}

/* Devices, pipes and the like are opened and written, never replaced. */
static vyre_status write_in_place(const char *path, const void *data, size_t size, vyre_error *error) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return fail_io(error, "open", path, errno);
    vyre_status status = write_all(file, path, data, size, error);
    if (close(file) != 0 && status == VYRE_OK)
        status = fail_io(error, "write", path, errno);
    return status;
}

/* Creates a new file in the folder of the path and sets `name`; -1 with errno on failure. */
static int open_temporary(const char *path, char *name, size_t size) {
    for (unsigned try = 0; try < TEMPORARY_TRIES; try++) {
        snprintf(name, size, "%s.%ld-%u.tmp", path, (long)getpid(), try);
        int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

/* mode: of the replaced file, or 0. A trial only creates and removes the temporary file. */
static vyre_status replace(const char *path, mode_t mode, int is_trial, const void *data, size_t size,
                           vyre_error *error) {
    size_t room = strlen(path) + 40; /* process id and attempt, with separators and the suffix */
    char *name = vy_allocate(room);
    if (!name)
        return vy_fail_memory(error, "a file name");
    vyre_status status;
    int file = open_temporary(path, name, room);
    if (file < 0) {
        status = fail_io(error, "create a file next to", path, errno);
    } else if (is_trial) {
        close(file);
        unlink(name);
        status = VYRE_OK;
    } else {
        /* Failing to preserve the mode is not an error. */
        if (mode && fchmod(file, mode & 07777) != 0)
            errno = 0;
        status = write_all(file, path, data, size, error);
        if (close(file) != 0 && status == VYRE_OK)
            status = fail_io(error, "write", path, errno);
        if (status == VYRE_OK && rename(name, path) != 0)
            status = fail_io(error, "replace", path, errno);
        if (status != VYRE_OK)
            unlink(name);
    }
    vy_release(name, room);
    return status;
}

static vyre_status write_file(const char *path, int is_trial, const void *data, size_t size, vyre_error *error) {
    struct stat about;
    if (stat(path, &about) != 0)
        return replace(path, 0, is_trial, data, size, error);
    if (S_ISDIR(about.st_mode))
        return fail_io(error, "write", path, EISDIR);
    if (!S_ISREG(about.st_mode) && is_trial)
        return access(path, W_OK) == 0 ? VYRE_OK : fail_io(error, "open", path, errno);
    if (!S_ISREG(about.st_mode))
        return write_in_place(path, data, size, error);
    /* The target of a symbolic link is replaced, not the link. */
    char resolved[PATH_MAX];
    return replace(realpath(path, resolved) ? resolved : path, about.st_mode, is_trial, data, size, error);
}

vyre_status vy_file_write(const char *path, const void *data, size_t size, vyre_error *error) {
    if (strcmp(path, "-") == 0)
        return write_all(STDOUT_FILENO, "standard output", data, size, error);
    return write_file(path, 0, data, size, error);
}

vyre_status vy_file_check_write(const char *path, vyre_error *error) {
    return strcmp(path, "-") == 0 ? VYRE_OK : write_file(path, 1, NULL, 0, error);
}

/* Environment variables (file.h). */
const char *vy_env_get(const char *variable) {
    const char *text = secure_getenv(variable);
    return text && *text ? text : NULL;
}

int vy_env_flag(const char *variable, int fallback) {
    const char *text = vy_env_get(variable);
    return text ? strcmp(text, "0") != 0 : fallback;
}

vyre_status vy_env_number(const char *variable, uint32_t min, uint32_t max, uint32_t fallback, uint32_t *out,
                          vyre_error *error) {
    const char *text = vy_env_get(variable);
    uint64_t value = fallback;
    if (text && (vy_parse_digits(text, strlen(text), 10, max, &value) <= 0 || value < min))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("set %s to a number from %" PRIu32 " to %" PRIu32 ", or unset it", variable, min, max),
                       "%s is not a number from %" PRIu32 " to %" PRIu32 " (`%.40s`)", variable, min, max, text);
    *out = (uint32_t)value;
    return VYRE_OK;
}
