/* Reading what the kernel tells of the processor (machine.h). All of it is optional. */
#include "backends/cpu/machine.h"

#include "base/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int read_text(const char *path, char *text, size_t room) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? -1 : read(file, text, room - 1);
    if (file >= 0)
        close(file);
    text[count > 0 ? count : 0] = 0;
    return count > 0;
}

void vy_cpu_model_name(const char *text, char *name, size_t room) {
    static const char key[] = "model name";
    *name = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        const char *value = line + strcspn(line, ":\n");
        if (*value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(name, room, "%.*s", (int)strcspn(value, "\n"), value);
        return;
    }
}

uint32_t vy_cpu_cache_size(const char *text) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    uint64_t unit = *end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : *end == '\n' || *end == 0 ? 1 : 0;
    return text != end && unit && value <= UINT32_MAX / unit ? (uint32_t)(value * unit) : 0;
}

static void read_caches(vy_cpu *cpu) {
    char path[96], text[64];
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!read_text(path, text, sizeof text))
            return;
        int level = atoi(text);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!read_text(path, text, sizeof text) || strncmp(text, "Instruction", 11) == 0)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!read_text(path, text, sizeof text))
            continue;
        if (level == 1)
            cpu->l1_bytes = vy_cpu_cache_size(text);
        else if (level == 2)
            cpu->l2_bytes = vy_cpu_cache_size(text);
        else if (level == 3)
            cpu->l3_bytes = vy_cpu_cache_size(text);
    }
}

/* "8 lanes sse3 … avx2" */
static void describe_code(vy_cpu *cpu) {
    size_t used = (size_t)snprintf(cpu->driver, sizeof cpu->driver, "%" PRIu32 " lanes", cpu->lanes);
    for (unsigned bit = 0; bit < 64; bit++) {
        const char *name = cpu->features >> bit & 1 ? vy_cpu_feature_name(bit) : NULL;
        if (!name || !*name || used + strlen(name) + 3 > sizeof cpu->driver)
            continue;
        used += (size_t)snprintf(cpu->driver + used, sizeof cpu->driver - used, " %s", name);
    }
}

void vy_cpu_machine_describe(vy_cpu *cpu) {
    char text[4096];
    read_text("/proc/cpuinfo", text, sizeof text);
    vy_cpu_model_name(text, cpu->device, sizeof cpu->device);
    read_caches(cpu);
    describe_code(cpu);
}
