/* Loader of programs and of test cases on disk (load.h). Dialects are loaded only if a program calls an op. */
#include "tool/load.h"

#include "base/file.h"
#include "base/string.h"
#include "dialect/manifest_dir.h"
#include "ir/eval.h"
#include "ir/model.h"
#include "ir/op_tables.h"
#include "ir/wire/format.h"
#include "tool/bindings.h"
#include "tool/file_formats.h"
#include "tool/scalar_text.h"
#include "vyre/manifest.h"
#include "vyre/text.h"
#include "vyre/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

const char *tool_path_name(const char *path) {
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

int tool_file_read(const char *path, vyre_bytes *out) {
    vyre_error error;

    if (vy_file_read(path, VY_LIMIT_SOURCE_BYTES, out, &error) == VYRE_OK)
        return TOOL_OK;
    tool_error(&error);
    return TOOL_SYSTEM;
}

int tool_file_write(const char *path, const void *data, size_t size) {
    vyre_error error;

    fflush(stdout);
    if (vy_file_write(path, data, size, &error) == VYRE_OK)
        return TOOL_OK;
    tool_error(&error);
    return TOOL_SYSTEM;
}

/* The magic number starts with NUL, so no text starts with it. */
int tool_file_is_wire(const vyre_bytes *bytes) {
    size_t size = sizeof VY_WIRE_MAGIC;
    return bytes->size >= size && memcmp(bytes->data, VY_WIRE_MAGIC, size) == 0;
}

/* Converts -D words to defines. The values are borrowed; the names are copied to terminate them. */
static int make_defines(const tool_command *command, const tool_list *words, vy_arena *arena, vyre_define **out) {
    vyre_define *defines = vy_arena_allocate(arena, vy_array_size(words->count + 1, sizeof *defines));
    vyre_error error;

    for (uint32_t i = 0; defines && i < words->count; i++) {
        size_t length = strlen(words->items[i]);
        defines[i].value = ""; /* without `=`: the parser reports it with the type of the const */
        if (!tool_args_split(words->items[i], &length, &defines[i].value) && strchr(words->items[i], '='))
            return tool_usage(command, "write `-D NAME=VALUE`, as in `-D TILE=32`", "-D needs NAME=VALUE, not `%s`",
                              words->items[i]);
        defines[i].name = vy_arena_copy(arena, words->items[i], length);
        if (!defines[i].name)
            defines = NULL;
    }
    *out = defines;
    if (defines)
        return TOOL_OK;
    vy_fail_memory(&error, "reading the definitions");
    return tool_error(&error);
}

/* ---- dialects ---- */

static void print_findings(void *user, const vyre_dialects_event *event) {
    (void)user;
    tool_diagnostics(event->findings);
}

/* Warns once about folders of VYRE_DIALECT_PATH that do not exist. */
static int warn_missing_folders(void) {
    static int is_done;
    if (is_done || !secure_getenv("VYRE_DIALECT_PATH"))
        return TOOL_OK;
    is_done = 1;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vy_manifest_dirs folders = {0};
    vyre_error error;
    int code = vy_manifest_dirs_add_path(&folders, &error) == VYRE_OK ? TOOL_OK : tool_error(&error);

    vy_manifest_dirs_warn_missing(&folders, list);
    tool_diagnostics(list);
    vy_manifest_dirs_free(&folders);
    vyre_diagnostics_free(list);
    return code;
}

/* Loads the folders with a watcher that polls once: unlike vyre_dialects_load_folder, it skips manifests with
 * errors. */
int tool_dialects_load(void) {
    static int is_loaded;
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher;
    vyre_error error;
    int code = TOOL_OK;

    if (is_loaded || !secure_getenv("VYRE_DIALECT_PATH"))
        return TOOL_OK;
    is_loaded = 1;
    code = warn_missing_folders();
    options.is_manual = 1;
    options.report = print_findings;
    if (vyre_dialects_watch(&options, &watcher, &error) != VYRE_OK && error.code != VYRE_INVALID_ARGUMENT)
        code = tool_error(&error);
    vyre_dialects_watcher_stop(watcher);
    return code;
}

/* The current snapshot, after VYRE_DIALECT_PATH has been loaded. Not called for a file that calls no op. */
static vyre_dialects_guard dialects_of(tool_file *file) {
    if (!file->dialects.snapshot) {
        (void)tool_dialects_load(); /* an op that is missing as a result is reported later */
        file->dialects = vyre_dialects_acquire();
    }
    return file->dialects;
}

static int lookup_signature(void *user, const char *id, size_t length, vyre_op_signature *out) {
    vyre_dialects_guard guard = dialects_of(user);
    return vyre_dialects_op_signature(&guard, id, length, out);
}

/* ---- files ---- */

static int load_text(const tool_command *command, const tool_list *words, vyre_diagnostics *list, tool_file *file,
                     vyre_error *error) {
    static const tool_list none = {NULL, 0, 0};
    vy_arena arena = {0};
    vyre_define *defines = NULL;
    int code = make_defines(command, words ? words : &none, &arena, &defines);

    error->code = VYRE_OK;
    if (code == TOOL_OK) {
        vyre_parse_options options = {.file = tool_path_name(file->path),
                                      .defines = defines,
                                      .define_count = words ? words->count : 0,
                                      .op_signature = lookup_signature,
                                      .op_signature_user = file};
        vyre_text_parse(file->bytes.data, file->bytes.size, &options, list, &file->module, error);
    }
    vy_arena_free(&arena);
    return code;
}

static int load_wire(const tool_command *command, const tool_list *words, vyre_diagnostics *list, tool_file *file,
                     vyre_error *error) {
    error->code = VYRE_OK;
    if (words && words->count > 0)
        return tool_usage(command, "define consts when encoding: `vyre encode -D NAME=VALUE`",
                          "-D does not apply: the wire form in `%s` contains no consts", file->path);
    vyre_wire_decode(file->bytes.data, file->bytes.size, list, &file->program, error);
    if (error->code != VYRE_OK) {
        char where[sizeof error->where];
        strcpy(where, error->where);
        vy_fail_where(error, "%s%s%s", tool_path_name(file->path), where[0] ? ", " : "", where);
    }
    return TOOL_OK;
}

/* Whether all errors concern -D (T049, T050). These are usage errors, not errors in the file. */
static int are_of_defines(const vyre_diagnostics *list) {
    const vyre_diagnostic *finding;

    for (size_t i = 0; (finding = vyre_diagnostics_get(list, i)); i++)
        if (finding->severity == VYRE_SEVERITY_ERROR && strcmp(finding->code, "T049") != 0 &&
            strcmp(finding->code, "T050") != 0)
            return 0;
    return 1;
}

/* Reports a load failure and returns the exit code. Diagnostics with a source location are printed instead of the error
 * that summarises them. Without a location (damaged wire forms) or without diagnostics the error is printed; it
 * contains the file name. */
static int report_failure(const vyre_diagnostics *list, size_t before, int is_kept, const vyre_error *error) {
    size_t count = vyre_diagnostics_errors(list);
    const vyre_diagnostic *first = vyre_diagnostics_get(list, 0);

    if (count == before || (!is_kept && first && first->line == 0 && first->file[0] == '\0'))
        return tool_error(error);
    tool_error_record_note(error);
    if (!is_kept)
        tool_diagnostics(list);
    return are_of_defines(list) ? TOOL_USAGE : tool_exit_of(error->code);
}

int tool_file_load(const tool_command *command, const char *path, const tool_list *defines,
                   vyre_diagnostics *diagnostics, tool_file *out) {
    vyre_diagnostics *list = diagnostics ? diagnostics : vyre_diagnostics_new();
    size_t before = vyre_diagnostics_errors(list);
    vyre_error error;
    int code;

    memset(out, 0, sizeof *out);
    out->path = path;
    (void)warn_missing_folders(); /* here too, since a file without op calls does not load the folders */
    code = tool_file_read(path, &out->bytes);
    if (code == TOOL_OK) {
        code = tool_file_is_wire(&out->bytes) ? load_wire(command, defines, list, out, &error)
                                              : load_text(command, defines, list, out, &error);
        if (code == TOOL_OK && error.code != VYRE_OK)
            code = report_failure(list, before, diagnostics != NULL, &error);
        else if (!diagnostics)
            tool_diagnostics(list); /* warnings */
    }
    if (!diagnostics)
        vyre_diagnostics_free(list);
    if (code != TOOL_OK)
        tool_file_free(out);
    return code;
}

void tool_file_free(tool_file *file) {
    vyre_module_free(file->module);
    vyre_program_release(file->program);
    vyre_program_release(file->resolved);
    vyre_dialects_release(&file->dialects);
    vyre_bytes_free(&file->bytes);
    memset(file, 0, sizeof *file);
}

size_t tool_file_program_count(const tool_file *file) {
    return file->program ? 1 : file->module ? vyre_module_program_count(file->module) : 0;
}

vyre_program *tool_file_program(const tool_file *file, size_t index) {
    if (file->program)
        return index == 0 ? file->program : NULL;
    return file->module ? vyre_module_program(file->module, index) : NULL;
}

static void list_programs(const tool_file *file, vy_string *out) {
    for (size_t i = 0; i < tool_file_program_count(file); i++)
        vy_string_format(out, "%s%s", i ? ", " : "", vyre_program_name(tool_file_program(file, i)));
}

/* Describes a file without a program. */
static const char *describe_contents(const tool_file *file) {
    const vyre_program *library = file->module ? vyre_module_library(file->module) : NULL;

    if (file->bytes.size == 0)
        return "is empty";
    return library ? "contains functions only, no program" : "contains no program";
}

int tool_file_select(const tool_command *command, const tool_file *file, const char *name, vyre_program **out) {
    size_t count = tool_file_program_count(file);
    const char *path = tool_path_name(file->path);
    vy_string names = {0};
    vy_suggestion suggestion;
    const char *near;

    *out = NULL;
    if (count == 1 && !name)
        *out = tool_file_program(file, 0);
    for (size_t i = 0; i < count && name && !*out; i++)
        if (strcmp(vyre_program_name(tool_file_program(file, i)), name) == 0)
            *out = tool_file_program(file, i);
    if (*out)
        return TOOL_OK;
    if (count == 0)
        return tool_usage(command, "use a file that contains a `program NAME { … }`", "`%s` %s", path,
                          describe_contents(file));
    list_programs(file, &names);
    if (!name) {
        tool_usage(command, VY_FIX("select one, as in `--program %s`", vyre_program_name(tool_file_program(file, 0))),
                   "`%s` contains %zu programs: %s", path, count, names.text ? names.text : "");
    } else {
        vy_suggestion_start(&suggestion, name, strlen(name));
        for (size_t i = 0; i < count; i++)
            vy_suggestion_offer(&suggestion, vyre_program_name(tool_file_program(file, i)));
        near = vy_suggestion_get(&suggestion);
        tool_usage(command, near ? VY_FIX("did you mean `--program %s`?", near) : "select one of these with --program",
                   "`%s` does not contain program `%s`, only %s", path, name, names.text ? names.text : "");
    }
    vy_string_free(&names);
    return TOOL_USAGE;
}

int tool_load_program(const tool_command *command, const char *path, const char *name, const tool_list *defines,
                      tool_file *file, vyre_program **out) {
    int code = tool_file_load(command, path, defines, NULL, file);

    *out = NULL;
    if (code == TOOL_OK)
        code = tool_file_select(command, file, name, out);
    return code;
}

vyre_status tool_file_resolve(tool_file *file, vyre_program *program, vyre_diagnostics *diagnostics, vyre_program **out,
                              vyre_error *error) {
    if (program->facts & VY_PROGRAM_HAS_OP_CALL)
        return vyre_program_resolve(program, dialects_of(file), diagnostics, out, error);
    *out = vyre_program_retain(program);
    return VYRE_OK;
}

int tool_load_resolved(const tool_command *command, const char *path, const char *name, const tool_list *defines,
                       tool_file *file, vyre_program **out) {
    vyre_error error;
    int code = tool_load_program(command, path, name, defines, file, out);

    if (code != TOOL_OK)
        return code;
    vyre_diagnostics *findings = vyre_diagnostics_new();
    if (tool_file_resolve(file, *out, findings, &file->resolved, &error) != VYRE_OK) {
        code = report_failure(findings, 0, 0, &error);
        tool_file_free(file);
        *out = NULL;
    } else {
        *out = file->resolved;
    }
    vyre_diagnostics_free(findings);
    return code;
}

int tool_program_print(const vyre_program *program, const char *output) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_error error;
    int code;

    if (vyre_text_print(program, &text, &error) == VYRE_OK)
        code = tool_file_write(output ? output : "-", text.data, text.size);
    else
        code = tool_error(&error);
    vyre_bytes_free(&text);
    return code;
}

int tool_one_file(const tool_command *command, const tool_args *args) {
    if (args->words.count == 0)
        return tool_usage(command, VY_FIX("add a file, as in `vyre %s kernel.vyre`", command->name),
                          "no file is given");
    if (args->words.count > 1)
        return tool_usage(command, "pass one file", "%u files are given (the second is `%s`); one is expected",
                          args->words.count, args->words.items[1]);
    return TOOL_OK;
}

/* Test cases on disk (load.h). */
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
