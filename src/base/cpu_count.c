/* How many cores the process may use: its affinity mask, and the processor quota of its control groups (cgroups v1 and
 * v2), of which every ancestor counts too. Reading the files needs no allocation. */
#include "base/thread.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_CAPACITY 4096

/* Reads the head of a small file as text; returns 0 if there is none. */
static int read_text(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t count = read(file, text, size - 1);
    close(file);
    if (count <= 0)
        return 0;
    text[count] = 0;
    return 1;
}

/* Cores that a quota of `quota` time units in each `period` allows, rounded up; UINT32_MAX if it is no limit. */
static unsigned cpus_of_quota(long long quota, long long period) {
    if (quota <= 0 || period <= 0)
        return UINT32_MAX;
    long long cores = quota / period + (quota % period != 0);
    return cores > UINT32_MAX ? UINT32_MAX : (unsigned)cores;
}

/* The quota of one group folder, in the form of either version. */
static unsigned read_quota(const char *folder, int version) {
    char path[PATH_CAPACITY + 32], text[128];
    long long quota = 0, period = 0;
    if (version == 2) {
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        char *rest;
        if (!read_text(path, text, sizeof text))
            return UINT32_MAX;
        quota = strtoll(text, &rest, 10); /* "max" is 0: no limit */
        period = strtoll(rest, NULL, 10);
        return cpus_of_quota(quota, period);
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (read_text(path, text, sizeof text))
        quota = strtoll(text, NULL, 10); /* -1: no limit */
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (read_text(path, text, sizeof text))
        period = strtoll(text, NULL, 10);
    return cpus_of_quota(quota, period);
}

/* The least quota of mount/group and its ancestors up to the mount. */
static unsigned min_quota(const char *mount, const char *group, int version) {
    char folder[PATH_CAPACITY];
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return UINT32_MAX;
    unsigned least = UINT32_MAX;
    size_t root = strlen(mount);
    for (;;) {
        unsigned quota = read_quota(folder, version);
        if (quota < least)
            least = quota;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < root || folder[root] == 0)
            return least;
        *slash = 0;
    }
}

/* Whether "cpu" is one of the comma-separated controllers. */
static int has_cpu_controller(const char *controllers) {
    for (const char *at = controllers; at; at = strchr(at, ',')) {
        at += *at == ',';
        size_t length = strcspn(at, ",");
        if (length == 3 && memcmp(at, "cpu", 3) == 0)
            return 1;
    }
    return 0;
}

unsigned vy_cgroup_cpu_count(const char *membership, const char *mount) {
    char text[PATH_CAPACITY], folder[PATH_CAPACITY];
    unsigned least = UINT32_MAX;
    if (!read_text(membership, text, sizeof text))
        return least;
    /* Lines "0::/group" (version 2) and "4:cpu,cpuacct:/group" (version 1). */
    char *state = NULL;
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = 0;
        *group++ = 0;
        unsigned quota = UINT32_MAX;
        if (*controllers == 0) {
            quota = min_quota(mount, group, 2);
        } else if (has_cpu_controller(controllers)) {
            int length = snprintf(folder, sizeof folder, "%s/%s", mount, controllers);
            if (length > 0 && (size_t)length < sizeof folder)
                quota = min_quota(folder, group, 1);
        }
        if (quota < least)
            least = quota;
    }
    return least;
}

unsigned vy_cpu_count(void) {
    cpu_set_t sets[8]; /* 8192 processors; a kernel with more of them refuses, and then one is the safe answer */
    unsigned cores = 1;
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        cores = (unsigned)CPU_COUNT_S(sizeof sets, sets);
    unsigned quota = vy_cgroup_cpu_count("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota < cores)
        cores = quota;
    return cores ? cores : 1;
}
