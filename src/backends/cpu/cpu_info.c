/* Reading what the kernel tells of the processor (cpu_info.h). All of it is optional. */
#include "backends/cpu/cpu_info.h"

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

/* What stands behind "key :" in a line of the text, and its length; NULL if no line has it. */
static const char *find_value(const char *text, const char *key, int *length) {
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *value = line + strcspn(line, ":\n");
        if (*value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t");
        *length = (int)strcspn(value, "\n");
        return value;
    }
    return NULL;
}

/* Who makes processors of AArch64: the field Implementer of MIDR_EL1. */
static const char *maker_name(unsigned long code) {
    static const struct {
        unsigned long code;
        const char *name;
    } makers[] = {{0x41, "Arm"},       {0x42, "Broadcom"},  {0x43, "Cavium"},   {0x46, "Fujitsu"},
                  {0x48, "HiSilicon"}, {0x4e, "NVIDIA"},    {0x51, "Qualcomm"}, {0x53, "Samsung"},
                  {0x61, "Apple"},     {0x6d, "Microsoft"}, {0xc0, "Ampere"}};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (makers[i].code == code)
            return makers[i].name;
    return NULL;
}

/* The kernel names no model on AArch64, it gives numbers. */
static void name_part(const char *text, char *name, size_t room) {
    int length;
    const char *maker = find_value(text, "CPU implementer", &length), *part = find_value(text, "CPU part", &length);
    if (!maker || !part)
        return;
    const char *known = maker_name(strtoul(maker, NULL, 16));
    snprintf(name, room, "%s%.*s, part %.*s", known ? known : "maker ", known ? 0 : (int)strcspn(maker, "\n"), maker,
             length, part);
}

void vy_cpu_model_name(const char *text, char *name, size_t room) {
    int length;
    const char *value = find_value(text, "model name", &length);
    *name = 0;
    if (value)
        snprintf(name, room, "%.*s", length, value);
    else
        name_part(text, name, room);
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
static void describe_features(vy_cpu *cpu) {
    size_t used = (size_t)snprintf(cpu->driver, sizeof cpu->driver, "%" PRIu32 " lanes", cpu->lanes);
    for (unsigned bit = 0; bit < 64; bit++) {
        const char *name = cpu->features >> bit & 1 ? vy_cpu_feature_name(bit) : NULL;
        if (!name || !*name || used + strlen(name) + 3 > sizeof cpu->driver)
            continue;
        used += (size_t)snprintf(cpu->driver + used, sizeof cpu->driver - used, " %s", name);
    }
}

void vy_cpu_info_query(vy_cpu *cpu) {
    char text[4096];
    read_text("/proc/cpuinfo", text, sizeof text);
    vy_cpu_model_name(text, cpu->device, sizeof cpu->device);
    read_caches(cpu);
    describe_features(cpu);
}
