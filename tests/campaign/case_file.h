/* A case as files, for `vyre run BASE.vyre @BASE.args`, and on the screen. */
#ifndef VY_CAMPAIGN_CASE_FILE_H
#define VY_CAMPAIGN_CASE_FILE_H

#include "base/number_text.h"
#include "generate/generate.h"
#include "vyre/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static inline void write_value(FILE *file, vyre_scalar value) {
    static const uint8_t formats[VYRE_TYPE_COUNT][2] = {
        [VYRE_TYPE_F16] = {5, 10}, [VYRE_TYPE_BF16] = {8, 7}, [VYRE_TYPE_F32] = {8, 23}, [VYRE_TYPE_F64] = {11, 52}};
    if (vyre_type_class(value.type) == VYRE_CLASS_BOOL) {
        fputs(value.bits ? "true" : "false", file);
    } else if (vyre_type_class(value.type) == VYRE_CLASS_FLOAT) {
        unsigned bits = vyre_type_bits(value.type), fraction = formats[value.type][1];
        uint64_t magnitude = value.bits & ((UINT64_C(1) << (bits - 1)) - 1);
        uint64_t infinity = ((UINT64_C(1) << formats[value.type][0]) - 1) << fraction;
        char text[64] = "inf";
        if (magnitude < infinity)
            vy_number_from_bits(magnitude, formats[value.type][0], fraction, text);
        fprintf(file, "%s%s", value.bits >> (bits - 1) ? "-" : "", magnitude > infinity ? "nan" : text);
    } else {
        fprintf(file, "0x%" PRIx64, value.bits);
    }
}

static inline FILE *open_part(const char *base, const char *part) {
    char path[4096];
    snprintf(path, sizeof path, "%s.%s", base, part);
    FILE *file = fopen(path, "wb");
    if (!file)
        fprintf(stderr, "cannot write %s\n", path);
    return file;
}

static inline void write_input(const char *base, const char *name, vyre_span bytes) {
    char part[256];
    snprintf(part, sizeof part, "%s.bin", name);
    FILE *file = open_part(base, part);
    if (!file)
        return;
    fwrite(bytes.data, 1, bytes.size, file);
    fclose(file);
}

static inline void write_case(const vyre_case *given, const char *base) {
    const vyre_program *program = vyre_case_program(given);
    const vyre_arguments *arguments = vyre_case_arguments(given);
    vyre_bytes text = VYRE_BYTES_INIT;
    FILE *file = open_part(base, "vyre");
    if (file && vyre_text_print(program, &text, NULL) == VYRE_OK)
        fwrite(text.data, 1, text.size, file);
    if (file)
        fclose(file);
    vyre_bytes_free(&text);
    if (!(file = open_part(base, "args")))
        return;
    vyre_param_info param;
    vyre_buffer_info buffer;
    const char *slash = strrchr(base, '/');
    for (size_t i = 0; vyre_program_param(program, i, &param); i++) {
        fprintf(file, "%s=", param.name);
        write_value(file, arguments->params[i]);
        fputc('\n', file);
    }
    for (size_t i = 0, input = 0, count = 0; vyre_program_buffer(program, i, &buffer); i++) {
        if (buffer.access != VYRE_ACCESS_WRITE) {
            fprintf(file, "%s=@%s.%s.bin\n", buffer.name, slash ? slash + 1 : base, buffer.name);
            write_input(base, buffer.name, arguments->inputs[input++]);
        } else if (!buffer.has_count) {
            fprintf(file, "--count=%s=%" PRIu64 "\n", buffer.name, arguments->counts[count++]);
        }
    }
    const vyre_geometry *geometry = &arguments->geometry;
    if (geometry->kind != VYRE_GEOMETRY_PROGRAM)
        fprintf(file, "--%s=%u,%u,%u\n", geometry->kind == VYRE_GEOMETRY_GROUPS ? "grid" : "elements",
                geometry->size[0], geometry->size[1], geometry->size[2]);
    fclose(file);
}

static inline void show_case(const vyre_case *given) {
    vyre_bytes text = VYRE_BYTES_INIT;
    if (vyre_text_print(vyre_case_program(given), &text, NULL) == VYRE_OK)
        printf("%.*s\n", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

#endif
