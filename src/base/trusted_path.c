/* Trusted paths (trusted_path.h): a path walk (file.h) that checks the owner and the mode of every component. */
#include "base/trusted_path.h"

#include "base/file.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    MESSAGE = 400,   /* bytes of a part of a message */
    FIX_PATH = 160,  /* a longer path is not repeated in the fix, which holds 256 bytes */
    SHOWN_PATH = 180 /* bytes shown of each path of a message, which holds 512 */
};

typedef struct check {
    const char *path, *what, *elsewhere; /* for messages */
    int is_folder, create;               /* what the path must lead to */
    vyre_error *error;
    vy_path_walk walk;
} check;

/* ---- refusals ---- */

static const char *current_path(const check *check) {
    return check->walk.current_path[0] ? check->walk.current_path : "/";
}

static vyre_status fail_system(const check *check, int number) {
    const char *reason = strerrordesc_np(number);
    vyre_status code = number == ENOENT || number == ENOTDIR ? VYRE_NOT_FOUND : VYRE_IO;
    return vy_fail(check->error, code, check->is_folder ? check->elsewhere : "check the path and its permissions",
                   "the %s `%.300s` cannot be opened (%s)", check->what, check->path,
                   reason ? reason : "unknown error");
}

static vyre_status refuse(const check *check, const char *fix, const char *why) {
    return vy_fail(check->error, VYRE_IO, fix, "the %s `%.*s` is not used: %s", check->what, SHOWN_PATH, check->path,
                   why);
}

/* The component in a sentence: "it" if it is the path itself. */
static const char *component(const check *check, char text[MESSAGE]) {
    const char *kind = S_ISDIR(check->walk.metadata.st_mode)   ? "the folder "
                       : S_ISLNK(check->walk.metadata.st_mode) ? "the link "
                                                               : "";
    snprintf(text, MESSAGE, "%s`%.*s`", kind, SHOWN_PATH, current_path(check));
    return strcmp(current_path(check), check->path) == 0 ? "it" : text;
}

static vyre_status refuse_owner(const check *check) {
    char text[MESSAGE], why[MESSAGE];
    snprintf(why, sizeof why, "%s belongs to user %lu (this process is user %lu)", component(check, text),
             (unsigned long)check->walk.metadata.st_uid, (unsigned long)geteuid());
    return refuse(check, check->elsewhere, why);
}

static vyre_status refuse_mode(const check *check) {
    char text[MESSAGE], why[MESSAGE];
    snprintf(why, sizeof why, "others may write to %s (mode %03o, owner %lu)", component(check, text),
             (unsigned)check->walk.metadata.st_mode & 07777, (unsigned long)check->walk.metadata.st_uid);
    return refuse(check,
                  strlen(current_path(check)) <= FIX_PATH
                      ? VY_FIX("check its contents, then run `chmod go-w '%s'`", current_path(check))
                      : "check its contents, then remove that permission with `chmod go-w`",
                  why);
}

static vyre_status refuse_creation(const check *check) {
    char text[MESSAGE], why[MESSAGE];
    snprintf(why, sizeof why, "it does not exist, and %s belongs to user %lu (this process is user %lu)",
             component(check, text), (unsigned long)check->walk.metadata.st_uid, (unsigned long)geteuid());
    return refuse(check, check->elsewhere, why);
}

static vyre_status refuse_kind(const check *check) {
    if (check->is_folder)
        return refuse(check, "name a folder itself, not a file or a symbolic link", "it is not a folder");
    return vy_fail(check->error, VYRE_CORRUPT, "name the file itself", "the %s `%.300s` is not a regular file",
                   check->what, check->path);
}

/* ---- the rule ---- */

static vyre_status check_owner(const check *check) {
    return check->walk.metadata.st_uid == geteuid() || check->walk.metadata.st_uid == 0 ? VYRE_OK : refuse_owner(check);
}

/* The sticky bit protects entries, not the folder's contents as a whole: it does not count for the last component. */
static vyre_status check_mode(const check *check, int is_last) {
    int is_shared = (check->walk.metadata.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    int is_sticky = S_ISDIR(check->walk.metadata.st_mode) && (check->walk.metadata.st_mode & S_ISVTX);
    return is_shared && (is_last || !is_sticky) ? refuse_mode(check) : VYRE_OK;
}

/* The root, or the component that was opened last. */
static vyre_status check_component(const check *check) {
    const vy_path_walk *walk = &check->walk;
    int is_last = walk->rest[strspn(walk->rest, "/")] == 0;
    vyre_status status = check_owner(check);
    if (status != VYRE_OK)
        return status;
    if (S_ISDIR(walk->metadata.st_mode))
        return check_mode(check, check->is_folder && is_last);
    if (check->is_folder)
        return is_last || !S_ISLNK(walk->metadata.st_mode) ? refuse_kind(check) : VYRE_OK;
    return !is_last || S_ISLNK(walk->metadata.st_mode) ? VYRE_OK
           : S_ISREG(walk->metadata.st_mode)           ? check_mode(check, 1)
                                                       : refuse_kind(check);
}

/* Opens the component that was taken. With `create`, a folder that is missing is made first, but not in a folder of
 * another user. */
static vyre_status open_component(check *check, int *opened) {
    vy_path_walk *walk = &check->walk;
    int number = vy_path_walk_open(walk, opened);
    if (number == ENOENT && check->create) {
        if (walk->metadata.st_uid != geteuid() && !(walk->metadata.st_mode & S_ISVTX))
            return refuse_creation(check);
        number = mkdirat(walk->at, walk->name, 0700) != 0 && errno != EEXIST ? errno : vy_path_walk_open(walk, opened);
    }
    return number ? fail_system(check, number) : VYRE_OK;
}

static vyre_status check_next_component(check *check) {
    int opened;
    vyre_status status = open_component(check, &opened);
    if (status != VYRE_OK)
        return status;
    status = check_component(check);
    if (status != VYRE_OK) {
        close(opened);
        return status;
    }
    int number = vy_path_walk_enter(&check->walk, opened);
    return number ? fail_system(check, number) : VYRE_OK;
}

/* ---- whole paths ---- */

static vyre_status go(check *check, int *out) {
    int number = vy_path_walk_begin(&check->walk, check->path);
    vyre_status status = number ? fail_system(check, number) : check_component(check);
    while (status == VYRE_OK && check->walk.parent < 0 && vy_path_walk_next(&check->walk))
        status = check_next_component(check);
    if (status == VYRE_OK && check->is_folder != (check->walk.parent < 0))
        status = refuse_kind(check);
    number = status == VYRE_OK && out ? vy_path_walk_read(&check->walk, out) : 0;
    return number ? fail_system(check, number) : status;
}

/* `out` may be NULL. */
static vyre_status run(check *check, int *out) {
    if (!check->path || check->path[0] != '/')
        return vy_fail(check->error, VYRE_INVALID_ARGUMENT, "use an absolute path, as `realpath` prints it",
                       "the path of a %s is not absolute (`%s`)", check->what, check->path ? check->path : "NULL");
    vyre_status status = go(check, out);
    vy_path_walk_end(&check->walk);
    return status;
}

static const char relocate_fix[] = "put it where it and every folder above it belong to you or to root";

vyre_status vy_trusted_path_check(const char *path, const char *what, vyre_error *error) {
    check check = {.path = path, .what = what, .elsewhere = relocate_fix, .error = error};
    return run(&check, NULL);
}

vyre_status vy_trusted_library_check(const char *name, const char *what, vyre_error *error) {
    vyre_status status = strchr(name, '/') ? vy_trusted_path_check(name, what, error) : VYRE_OK;
    return status == VYRE_NOT_FOUND ? VYRE_OK : status;
}

vyre_status vy_trusted_file_open(const char *path, const char *what, int *file, vyre_error *error) {
    check check = {.path = path, .what = what, .elsewhere = relocate_fix, .error = error};
    *file = -1;
    return run(&check, file);
}

vyre_status vy_trusted_folder_open(const char *path, const char *what, const char *elsewhere, int create, int *folder,
                                   vyre_error *error) {
    check check = {
        .path = path, .what = what, .elsewhere = elsewhere, .is_folder = 1, .create = create, .error = error};
    *folder = -1;
    return run(&check, folder);
}
