/* Test cases on disk (case_files.h). */
#include "tool/case_files.h"

#include "base/file.h"
#include "ir/eval.h"
#include "ir/op_tables.h"
#include "tool/bindings.h"
#include "tool/file_formats.h"
#include "tool/scalar_text.h"
#include "vyre/text.h"

#include <inttypes.h>
#include <unistd.h>

static const char *file_name(const char *base) {
    const char *slash = strrchr(base, '/');
    return slash ? slash + 1 : base;
}

static void add_literals(vy_string *out, vyre_type type, const vyre_span *bytes) {
    size_t size = vyre_type_size(type);
    char text[TOOL_SCALAR_TEXT];

    for (size_t i = 0; i < bytes->size / size; i++) {
        tool_scalar_write(type, vy_value_load(type, (const char *)bytes->data + i * size), text);
        vy_string_format(out, "%s%s", i ? "," : "", text);
    }
}

static void add_geometry(vy_string *out, const vyre_geometry *geometry) {
    static const char *const options[] = {NULL, "--grid", "--elements"};

    if (geometry->kind != VYRE_GEOMETRY_PROGRAM)
        vy_string_format(out, "%s=%u,%u,%u\n", options[geometry->kind], geometry->size[0], geometry->size[1],
                         geometry->size[2]);
}

void tool_case_arguments(vy_string *out, const vyre_case *given, const char *base) {
    const vyre_program *program = vyre_case_program(given);
    const vyre_arguments *arguments = vyre_case_arguments(given);
    size_t input = 0, count = 0;
    vyre_param_info param;
    vyre_buffer_info buffer;
    char text[TOOL_SCALAR_TEXT];

    for (size_t i = 0; vyre_program_param(program, i, &param); i++) {
        tool_scalar_write(param.type, arguments->params[i].bits, text);
        vy_string_format(out, "%s=%s\n", param.name, text);
    }
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        if (vy_accesses[buffer.access].is_input) {
            vy_string_format(out, "%s=", buffer.name);
            if (base)
                vy_string_format(out, "%s.%s.npy", file_name(base), buffer.name);
            else
                add_literals(out, buffer.type, &arguments->inputs[input]);
            vy_string_char(out, '\n');
            input++;
        } else if (tool_buffer_needs_count(&buffer)) {
            vy_string_format(out, "--count=%s=%" PRIu64 "\n", buffer.name, arguments->counts[count++]);
        }
    }
    add_geometry(out, &arguments->geometry);
}

/* BASE with a suffix, in a string that the caller frees; NULL if out of memory. */
static const char *path_of(vy_string *path, const char *base, const char *name, const char *ending) {
    path->length = 0;
    vy_string_format(path, "%s.%s%s%s", base, name ? name : "", name ? "." : "", ending);
    return path->failed ? NULL : path->text;
}

static vyre_status write_inputs(const vyre_case *given, const char *base, vy_string *path, vyre_error *error) {
    const vyre_program *program = vyre_case_program(given);
    const vyre_arguments *arguments = vyre_case_arguments(given);
    vyre_status status = VYRE_OK;
    vyre_buffer_info buffer;
    size_t input = 0;

    for (size_t i = 0; status == VYRE_OK && vyre_program_buffer(program, i, &buffer); i++) {
        const vyre_span *bytes;
        uint64_t count;
        if (!vy_accesses[buffer.access].is_input)
            continue;
        bytes = &arguments->inputs[input++];
        count = bytes->size / vyre_type_size(buffer.type);
        if (!path_of(path, base, buffer.name, "npy"))
            return vy_fail_memory(error, "naming the files of a case");
        status = tool_npy_write(path->text, buffer.type, &count, 1, bytes->data, bytes->size, error);
    }
    return status;
}

static vyre_status write_string(vy_string *path, const char *base, const char *ending, const vyre_bytes *bytes,
                                vyre_error *error) {
    if (!path_of(path, base, NULL, ending))
        return vy_fail_memory(error, "naming the files of a case");
    return vy_file_write(path->text, bytes->data, bytes->size, error);
}

vyre_status tool_case_write(const vyre_case *given, const char *base, vyre_error *error) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_string path = {0}, arguments = {0};
    vyre_status status = vyre_text_print(vyre_case_program(given), &bytes, error);

    if (status == VYRE_OK)
        status = write_string(&path, base, "vyre", &bytes, error);
    if (status == VYRE_OK)
        status = write_inputs(given, base, &path, error);
    if (status == VYRE_OK) {
        tool_case_arguments(&arguments, given, base);
        status = vy_string_to_bytes(&arguments, &bytes, error);
    }
    if (status == VYRE_OK)
        status = write_string(&path, base, "args", &bytes, error);
    vy_string_free(&path);
    vy_string_free(&arguments);
    vyre_bytes_free(&bytes);
    return status;
}

void tool_case_remove(const vyre_case *given, const char *base) {
    vyre_buffer_info buffer;
    vy_string path = {0};

    for (size_t i = 0; vyre_program_buffer(vyre_case_program(given), i, &buffer); i++)
        if (vy_accesses[buffer.access].is_input && path_of(&path, base, buffer.name, "npy"))
            unlink(path.text);
    if (path_of(&path, base, NULL, "vyre"))
        unlink(path.text);
    if (path_of(&path, base, NULL, "args"))
        unlink(path.text);
    vy_string_free(&path);
}
