/* The folder (cache_folder.h). A setting of the process under a lock that is never held while the disk works or the log sink runs. */
#include "driver/cache_folder.h"

#include "base/log.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/trusted_path.h"
#include "driver/atfork.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_known;            /* else the environment is asked at the next use */
static char path_now[PATH_MAX]; /* "" = off */
static atomic_uint reported;    /* troubles said since the folder was set, a bit each */

void vy_cache_folder_before_fork(void) {
    pthread_mutex_lock(&lock);
}

void vy_cache_folder_after_fork(void) {
    pthread_mutex_unlock(&lock);
}

const char *vy_cache_reason(int number) {
#ifdef __GLIBC__
    const char *text = strerrordesc_np(number);
    return text ? text : "unknown error";
#else
    return strerror(number);
#endif
}

void vy_cache_report(vy_cache_problem trouble, const char *format, ...) {
    char message[512 + PATH_MAX];
    va_list arguments;
    if (atomic_fetch_or(&reported, 1u << trouble) & 1u << trouble)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    vy_log(1, "cache", message);
}

/* ---- which ---- */

/* Joins; 0, and nothing, if it does not fit. Slashes at the end would let a symbolic link through where none may be. */
static int join(char out[PATH_MAX], const char *first, const char *second) {
    int length = snprintf(out, PATH_MAX, "%s%s", first, second);
    if (length < 0 || length >= PATH_MAX) {
        out[0] = 0; /* another folder than the one that was meant */
        return 0;
    }
    while (length > 1 && out[length - 1] == '/')
        out[--length] = 0;
    return 1;
}

/* Fills `out`, "" for none. Returns why there is none, NULL if that is a choice. */
static const char *read_environment(char out[PATH_MAX]) {
    const char *own = secure_getenv("VYRE_CACHE_DIR"), *shared = secure_getenv("XDG_CACHE_HOME"),
               *home = secure_getenv("HOME");
    out[0] = 0;
    if (own && !*own)
        return NULL;
    if (own && *own != '/')
        return "VYRE_CACHE_DIR is not an absolute path";
    if (own)
        return join(out, own, "") ? NULL : "VYRE_CACHE_DIR is longer than the system allows";
    if (shared && *shared == '/' &&
        join(out, shared, "/vyre")) /* a relative one counts as unset, says its specification */
        return NULL;
    if (home && *home == '/' && join(out, home, "/.cache/vyre"))
        return NULL;
    out[0] = 0;
    return "neither VYRE_CACHE_DIR, XDG_CACHE_HOME nor HOME names a folder";
}

static void current_path(char out[PATH_MAX]) {
    const char *problem = NULL;
    pthread_mutex_lock(&lock);
    if (!is_known) {
        problem = read_environment(path_now);
        is_known = 1;
    }
    memcpy(out, path_now, strlen(path_now) + 1);
    pthread_mutex_unlock(&lock);
    if (problem)
        vy_cache_report(VY_CACHE_PROBLEM_FOLDER, "pipelines are not kept on disk: %s", problem);
}

vyre_status vyre_cache_set_folder(const char *path, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    char here[PATH_MAX] = "", whole[PATH_MAX] = "";
    if (path && *path && *path != '/' && !getcwd(here, sizeof here - 1))
        return vy_fail(error, VYRE_IO, "give an absolute path",
                       "the current directory has no path, and `%s` counts from there", path);
    if (path && *path && !join(whole, *here ? strcat(here, "/") : "", path))
        return vy_fail(error, VYRE_LIMIT, "give a shorter path", "the path of a folder is too long (limit %d bytes)",
                       PATH_MAX - 1);
    pthread_mutex_lock(&lock);
    is_known = path != NULL;
    memcpy(path_now, whole, sizeof whole);
    pthread_mutex_unlock(&lock);
    atomic_store(&reported, 0);
    return VYRE_OK;
}

size_t vyre_cache_folder(char *buffer, size_t size) {
    VY_SCOPED_CANCELLATION_DISABLE();
    char path[PATH_MAX];
    current_path(path);
    if (buffer && size > 0)
        snprintf(buffer, size, "%s", path);
    return strlen(path);
}

/* ---- opening it ---- */

/* Entries are code that this process will run, so the path must be trusted. */
vyre_status vy_cache_folder_open(int create, int *folder, vyre_error *error) {
    char path[PATH_MAX];
    *folder = -1;
    current_path(path);
    if (!*path)
        return VYRE_OK;
    vyre_error why;
    vyre_status status = vy_trusted_folder_open(path, "cache folder", "name a folder of your own with VYRE_CACHE_DIR",
                                                create, folder, &why);
    if (status == VYRE_OK || (status == VYRE_NOT_FOUND && !create))
        return VYRE_OK;
    why.code = VYRE_IO;
    if (error)
        *error = why;
    return VYRE_IO;
}
