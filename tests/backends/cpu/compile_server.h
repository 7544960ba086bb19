/* For tests of compile servers: executables, requests, and the children and descriptors of this process. */
#ifndef VY_TESTS_CPU_COMPILE_SERVER_H
#define VY_TESTS_CPU_COMPILE_SERVER_H

#include "support/test.h"

#include "backends/cpu/compile.h"
#include "base/thread.h"
#include "vyre/wire.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)

/* An executable of libexec/; NULL if it was not built. */
static inline const char *server_path(const char *name) {
    static _Thread_local char path[PATH_MAX];
    const char *folder = getenv("VYRE_BINARY_DIR");
    snprintf(path, sizeof path, "%s/libexec/%s", folder ? folder : VYRE_BINARY_DIR, name);
    return access(path, X_OK) == 0 ? path : NULL;
}

#define NEEDS_SERVER()                                                                                                 \
    do {                                                                                                               \
        if (!server_path("vyre-compiler-llvm") || !server_path("hostile"))                                             \
            VY_SKIP("there is no compile server in this build");                                                       \
    } while (0)

static inline const vy_jit_plugin *server_open(const char *name) {
    const vy_jit_plugin *compiler = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_cpu_compiler_open(server_path(name), &compiler, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return compiler;
}

/* The wire form of a small program, or of one with many loops, as the backend makes it. */
static inline vyre_bytes server_wire(unsigned loops) {
    static const char head[] =
        "program p {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n let i = global_id.x\n"
        " var s = y[i]\n";
    size_t room = sizeof head + 80 * (size_t)loops + 64, at = sizeof head - 1;
    char *text = malloc(room);
    assert_non_null(text);
    memcpy(text, head, sizeof head);
    for (unsigned i = 0; i < loops; i++)
        at += (size_t)snprintf(text + at, room - at, " for k%u in 0u32 .. (s & 3) { s = s * 3 + k%u }\n", i, i);
    snprintf(text + at, room - at, " y[i] = s * 5 + 1\n}\n");
    vyre_program *program = vy_test_parse(text);
    uint64_t features = vy_cpu_features();
    const vy_cpu cpu = {.features = features, .target = vy_cpu_target(features, 0)};
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_cpu_lower(&cpu, program, 0, 0, &wire, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_program_release(program);
    free(text);
    return wire;
}

static inline vy_jit_request server_request(const vyre_bytes *wire, const char *name, uint32_t width) {
    return (vy_jit_request){.struct_size = sizeof(vy_jit_request),
                            .width = width,
                            .features = vy_cpu_features(),
                            .wire = {wire->data, wire->size},
                            .name = name};
}

/* Lanes of the object that a request gives; 0 if it fails. For threads and children, which end no test. */
static inline uint32_t server_lanes(const vy_jit_plugin *compiler, const vy_jit_request *request, vyre_error *error) {
    vyre_bytes out = VYRE_BYTES_INIT;
    vy_cpu_header header = {.width = 0};
    *error = (vyre_error)VYRE_ERROR_INIT;
    vyre_status status = compiler->compile(compiler, request, &out, error);
    if (status == VYRE_OK && out.size > sizeof header)
        memcpy(&header, out.data, sizeof header);
    if (status != VYRE_OK && (error->code != status || !error->message[0] || !error->fix[0]))
        abort();
    vyre_bytes_free(&out);
    return header.width;
}

/* ---- this process ---- */

static inline unsigned count_descriptors(void) {
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count - 1;
}

/* Children of this process, zombies too; *last is one of them. */
static inline unsigned count_children(pid_t *last) {
    unsigned count = 0;
    DIR *processes = opendir("/proc");
    assert_non_null(processes);
    for (struct dirent *entry; (entry = readdir(processes));) {
        char path[300], text[512] = "";
        int parent = 0;
        pid_t pid = (pid_t)atoi(entry->d_name);
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = pid > 0 ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        size_t size = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[size] = 0;
        const char *behind = strrchr(text, ')'); /* names may have anything in them */
        if (behind && sscanf(behind + 1, " %*c %d", &parent) == 1 && parent == getpid()) {
            count++;
            if (last)
                *last = pid;
        }
    }
    closedir(processes);
    return count;
}

#endif
