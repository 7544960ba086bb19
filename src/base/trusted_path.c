/* Trusted paths (trusted_path.h): a walk from the root with openat(), one component at a time.
 *
 * Every folder is checked when it is opened, and its entries are looked up in the open folder. If another process
 * replaces a component during the walk, the walk sees either the old or the new one, and checks the one it uses. */
#include "base/trusted_path.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINKS_MAX = 40,  /* as in the kernel */
    MESSAGE = 400,   /* bytes of a part of a message */
    FIX_PATH = 160,  /* a longer path is not repeated in the fix, which holds 256 bytes */
    SHOWN_PATH = 180 /* bytes shown of each path of a message, which holds 512 */
};

typedef struct walk {
    const char *path, *what, *elsewhere; /* for messages */
    int is_folder, create;               /* what the path must lead to */
    int at, parent;                      /* O_PATH: what was reached, and its folder if it is no folder itself; -1 */
    struct stat facts;                   /* of what was reached, or of the component that is examined */
    unsigned links;
    char rest[PATH_MAX]; /* the components that follow */
    char here[PATH_MAX]; /* the path of `facts`, without symbolic links; "" for the root */
    char name[PATH_MAX]; /* the latest component */
    vyre_error *error;
} walk;

/* ---- refusals ---- */

static const char *here(const walk *walk) {
    return walk->here[0] ? walk->here : "/";
}

static vyre_status fail_system(const walk *walk, int number) {
    const char *reason = strerrordesc_np(number);
    vyre_status code = number == ENOENT || number == ENOTDIR ? VYRE_NOT_FOUND : VYRE_IO;
    return vy_fail(walk->error, code, walk->is_folder ? walk->elsewhere : "check the path and its permissions",
                   "the %s `%.300s` cannot be opened (%s)", walk->what, walk->path, reason ? reason : "unknown error");
}

static vyre_status refuse(const walk *walk, const char *fix, const char *why) {
    return vy_fail(walk->error, VYRE_IO, fix, "the %s `%.*s` is not used: %s", walk->what, SHOWN_PATH, walk->path, why);
}

/* The component in a sentence: "it" if it is the path itself. */
static const char *component(const walk *walk, char text[MESSAGE]) {
    const char *kind = S_ISDIR(walk->facts.st_mode) ? "the folder " : S_ISLNK(walk->facts.st_mode) ? "the link " : "";
    snprintf(text, MESSAGE, "%s`%.*s`", kind, SHOWN_PATH, here(walk));
    return strcmp(here(walk), walk->path) == 0 ? "it" : text;
}

static vyre_status refuse_owner(const walk *walk) {
    char text[MESSAGE], why[MESSAGE];
    snprintf(why, sizeof why, "%s belongs to user %lu (this process is user %lu)", component(walk, text),
             (unsigned long)walk->facts.st_uid, (unsigned long)geteuid());
    return refuse(walk, walk->elsewhere, why);
}

static vyre_status refuse_mode(const walk *walk) {
    char text[MESSAGE], why[MESSAGE];
    snprintf(why, sizeof why, "others may write to %s (mode %03o, owner %lu)", component(walk, text),
             (unsigned)walk->facts.st_mode & 07777, (unsigned long)walk->facts.st_uid);
    return refuse(walk,
                  strlen(here(walk)) <= FIX_PATH ? VY_FIX("check what is in it, then run `chmod go-w '%s'`", here(walk))
                                                 : "check what is in it, then take that right away with `chmod go-w`",
                  why);
}

static vyre_status refuse_creation(const walk *walk) {
    char text[MESSAGE], why[MESSAGE];
    snprintf(why, sizeof why, "it does not exist, and %s belongs to user %lu (this process is user %lu)",
             component(walk, text), (unsigned long)walk->facts.st_uid, (unsigned long)geteuid());
    return refuse(walk, walk->elsewhere, why);
}

static vyre_status refuse_kind(const walk *walk) {
    if (walk->is_folder)
        return refuse(walk, "name a folder itself, not a file or a symbolic link", "it is not a folder");
    return vy_fail(walk->error, VYRE_CORRUPT, "name the file itself", "the %s `%.300s` is not a regular file",
                   walk->what, walk->path);
}

/* ---- one component ---- */

static vyre_status check_owner(const walk *walk) {
    return walk->facts.st_uid == geteuid() || walk->facts.st_uid == 0 ? VYRE_OK : refuse_owner(walk);
}

/* The sticky bit protects entries, not the folder's contents as a whole: it does not count for the last component. */
static vyre_status check_mode(const walk *walk, int is_last) {
    int is_shared = (walk->facts.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    int is_sticky = S_ISDIR(walk->facts.st_mode) && (walk->facts.st_mode & S_ISVTX);
    return is_shared && (is_last || !is_sticky) ? refuse_mode(walk) : VYRE_OK;
}

static void go_up(walk *walk) {
    char *slash = strrchr(walk->here, '/');
    if (slash)
        *slash = 0;
}

static vyre_status go_to_root(walk *walk) {
    if (walk->at >= 0)
        close(walk->at);
    walk->here[0] = 0;
    walk->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (walk->at < 0 || fstat(walk->at, &walk->facts) != 0)
        return fail_system(walk, errno);
    vyre_status status = check_owner(walk);
    return status == VYRE_OK ? check_mode(walk, 0) : status;
}

/* Moves the first component of `rest` to `name`; 0 if there is none. */
static int take_name(walk *walk) {
    size_t start = strspn(walk->rest, "/"), length = strcspn(walk->rest + start, "/"), end = start + length;
    memcpy(walk->name, walk->rest + start, length);
    walk->name[length] = 0;
    memmove(walk->rest, walk->rest + end, strlen(walk->rest + end) + 1);
    return length > 0;
}

static int is_last(const walk *walk) {
    return walk->rest[strspn(walk->rest, "/")] == 0;
}

/* Opens `name`. With `create`, a folder that is missing is made first, but not in a folder of another user. */
static vyre_status open_name(walk *walk, int *out) {
    const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    *out = openat(walk->at, walk->name, flags);
    if (*out < 0 && errno == ENOENT && walk->create) {
        if (walk->facts.st_uid != geteuid() && !(walk->facts.st_mode & S_ISVTX))
            return refuse_creation(walk);
        if (mkdirat(walk->at, walk->name, 0700) == 0 || errno == EEXIST)
            *out = openat(walk->at, walk->name, flags);
    }
    return *out >= 0 ? VYRE_OK : fail_system(walk, errno);
}

/* Fills `facts` and `here` for the component that was opened. */
static vyre_status examine(walk *walk, int opened) {
    size_t length = strlen(walk->here);
    if (fstat(opened, &walk->facts) != 0)
        return fail_system(walk, errno);
    if (strcmp(walk->name, "..") == 0)
        go_up(walk);
    else if ((size_t)snprintf(walk->here + length, PATH_MAX - length, "/%s", walk->name) >= PATH_MAX - length)
        return fail_system(walk, ENAMETOOLONG);
    return check_owner(walk);
}

/* Puts the target of a link before `rest`. */
static vyre_status follow(walk *walk, int link) {
    char target[PATH_MAX];
    size_t rest = strlen(walk->rest);
    ssize_t length = readlinkat(link, "", target, sizeof target);
    if (length < 0)
        return fail_system(walk, errno);
    if (++walk->links > LINKS_MAX)
        return fail_system(walk, ELOOP);
    if ((size_t)length + rest >= sizeof walk->rest)
        return fail_system(walk, ENAMETOOLONG);
    memmove(walk->rest + length, walk->rest, rest + 1);
    memcpy(walk->rest, target, (size_t)length);
    if (walk->rest[0] == '/')
        return go_to_root(walk);
    go_up(walk);
    return fstat(walk->at, &walk->facts) == 0 ? VYRE_OK : fail_system(walk, errno);
}

static vyre_status check_file(const walk *walk) {
    if (walk->rest[0] && !walk->is_folder)
        return fail_system(walk, ENOTDIR);
    return walk->is_folder || !S_ISREG(walk->facts.st_mode) ? refuse_kind(walk) : check_mode(walk, 1);
}

/* Walks to `name`, or to where the link of that name leads. */
static vyre_status step(walk *walk) {
    int opened;
    vyre_status status = open_name(walk, &opened);
    if (status != VYRE_OK)
        return status;
    status = examine(walk, opened);
    if (status == VYRE_OK && S_ISLNK(walk->facts.st_mode)) {
        status = walk->is_folder && is_last(walk) ? refuse_kind(walk) : follow(walk, opened);
        close(opened);
        return status;
    }
    if (status == VYRE_OK)
        status = S_ISDIR(walk->facts.st_mode) ? check_mode(walk, walk->is_folder && is_last(walk)) : check_file(walk);
    if (status != VYRE_OK || !S_ISDIR(walk->facts.st_mode))
        walk->parent = walk->at;
    else
        close(walk->at);
    walk->at = opened;
    return status;
}

/* ---- whole paths ---- */

static vyre_status go(walk *walk) {
    if (!walk->path || walk->path[0] != '/')
        return vy_fail(walk->error, VYRE_INVALID_ARGUMENT, "give the path from the root, as `realpath` prints it",
                       "the path of a %s is not absolute (`%s`)", walk->what, walk->path ? walk->path : "NULL");
    if (strlen(walk->path) >= sizeof walk->rest)
        return fail_system(walk, ENAMETOOLONG);
    strcpy(walk->rest, walk->path);
    vyre_status status = go_to_root(walk);
    while (status == VYRE_OK && walk->parent < 0 && take_name(walk))
        if (strcmp(walk->name, ".") != 0)
            status = step(walk);
    return status == VYRE_OK && walk->is_folder != (walk->parent < 0) ? refuse_kind(walk) : status;
}

/* A descriptor for reading of what was checked. */
static vyre_status open_checked(const walk *walk, int *out) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat now;
    *out = walk->is_folder ? openat(walk->at, ".", flags) : openat(walk->parent, walk->name, flags);
    if (*out < 0 || fstat(*out, &now) != 0)
        return fail_system(walk, errno);
    if (now.st_dev != walk->facts.st_dev || now.st_ino != walk->facts.st_ino)
        return refuse(walk, "try again", "it was replaced while it was checked");
    return VYRE_OK;
}

/* `out` may be NULL. */
static vyre_status run(walk *walk, int *out) {
    walk->at = walk->parent = -1;
    vyre_status status = go(walk);
    if (status == VYRE_OK && out)
        status = open_checked(walk, out);
    if (status != VYRE_OK && out && *out >= 0) {
        close(*out);
        *out = -1;
    }
    if (walk->at >= 0)
        close(walk->at);
    if (walk->parent >= 0)
        close(walk->parent);
    return status;
}

static const char move[] = "put it where it and every folder above it belong to you or to root";

vyre_status vy_trusted_path_check(const char *path, const char *what, vyre_error *error) {
    walk walk = {.path = path, .what = what, .elsewhere = move, .error = error};
    return run(&walk, NULL);
}

vyre_status vy_trusted_file_open(const char *path, const char *what, int *file, vyre_error *error) {
    walk walk = {.path = path, .what = what, .elsewhere = move, .error = error};
    *file = -1;
    return run(&walk, file);
}

vyre_status vy_trusted_folder_open(const char *path, const char *what, const char *elsewhere, int create, int *folder,
                                   vyre_error *error) {
    walk walk = {.path = path, .what = what, .elsewhere = elsewhere, .is_folder = 1, .create = create, .error = error};
    *folder = -1;
    return run(&walk, folder);
}
