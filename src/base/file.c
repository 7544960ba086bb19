/* Whole files. */
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP ((size_t)64 << 10)
#define TEMPORARY_TRIES 100u

/* What the operating system said, in a form that neither the locale nor another thread changes. */
static const char *reason(int number) {
#ifdef __GLIBC__
    const char *text = strerrordesc_np(number);
    return text ? text : "unknown error";
#else
    return strerror(number);
#endif
}

static vyre_status fail_io(vyre_error *error, const char *doing, const char *path, int number) {
    vyre_status code = number == ENOENT ? VYRE_NOT_FOUND : number == ENOMEM ? VYRE_NO_MEMORY : VYRE_IO;
    const char *fix = number == ENOENT ? "check the spelling of the path, and that its folder exists" : NULL;
    code = vy_fail(error, code, fix, "cannot %s `%s`: %s", doing, path, reason(number));
    vy_fail_where(error, "%s", path);
    return code;
}

static vyre_status fail_size(vyre_error *error, const char *path, size_t limit) {
    vy_fail(error, VYRE_LIMIT, "give a smaller file", "`%s` is larger than the limit (%zu bytes)", path, limit);
    vy_fail_where(error, "%s", path);
    return VYRE_LIMIT;
}

/* Reads to the end; the room grows by doubling, and by one byte over the limit to see that it is exceeded. */
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

static vyre_status read_path(const char *path, int is_plain, size_t limit, vyre_bytes *out, vyre_error *error) {
    out->size = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | (is_plain ? O_NONBLOCK : 0));
    if (file < 0)
        return fail_io(error, "open", path, errno);
    struct stat about;
    vyre_status status = VYRE_OK;
    size_t expected = 0;
    if (fstat(file, &about) != 0)
        status = fail_io(error, "examine", path, errno);
    else if (S_ISDIR(about.st_mode))
        status = fail_io(error, "read", path, EISDIR);
    else if (is_plain && !S_ISREG(about.st_mode))
        status = vy_fail(error, VYRE_IO, "put a plain file there", "`%.200s` is not a plain file", path);
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

/* A device, pipe or the like is written to, never replaced. */
static vyre_status write_in_place(const char *path, const void *data, size_t size, vyre_error *error) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return fail_io(error, "open", path, errno);
    vyre_status status = write_all(file, path, data, size, error);
    if (close(file) != 0 && status == VYRE_OK)
        status = fail_io(error, "write", path, errno);
    return status;
}

/* A new file beside the path; name receives its name. -1 with errno. */
static int open_temporary(const char *path, char *name, size_t size) {
    for (unsigned try = 0; try < TEMPORARY_TRIES; try++) {
        snprintf(name, size, "%s.%ld-%u.tmp", path, (long)getpid(), try);
        int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

/* mode is that of the file replaced, or 0. */
static vyre_status replace(const char *path, mode_t mode, const void *data, size_t size, vyre_error *error) {
    size_t room = strlen(path) + 40; /* a process id and a try, with their signs and dots */
    char *name = vy_allocate(room);
    if (!name)
        return vy_fail_memory(error, "a file name");
    vyre_status status;
    int file = open_temporary(path, name, room);
    if (file < 0) {
        status = fail_io(error, "create a file beside", path, errno);
    } else {
        /* Not being allowed to keep the mode is no reason to refuse. */
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

vyre_status vy_file_write(const char *path, const void *data, size_t size, vyre_error *error) {
    if (strcmp(path, "-") == 0)
        return write_all(STDOUT_FILENO, "standard output", data, size, error);
    struct stat about;
    if (stat(path, &about) != 0)
        return replace(path, 0, data, size, error);
    if (S_ISDIR(about.st_mode))
        return fail_io(error, "write", path, EISDIR);
    if (!S_ISREG(about.st_mode))
        return write_in_place(path, data, size, error);
    /* Through a symbolic link, what it names is replaced, not the link. */
    char resolved[PATH_MAX];
    return replace(realpath(path, resolved) ? resolved : path, about.st_mode, data, size, error);
}
