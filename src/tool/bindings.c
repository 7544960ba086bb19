/* Bindings. Every slot of the program (param, input buffer, open count) is filled from exactly one word; words left over and slots left
 * empty are reported together, with the whole interface of the program, so that one look is enough to write the line right. */
#include "tool/bindings.h"

#include "ir/op_tables.h"
#include "tool/scalar_text.h"

#include <inttypes.h>

int tool_buffer_needs_count(const vyre_buffer_info *buffer) {
    return buffer->access == VYRE_ACCESS_WRITE && !buffer->has_count;
}

static int name_is(const char *word, size_t length, const char *name) {
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

/* The value of NAME=VALUE among the words, or NULL. */
static const char *find_word(const char *const *words, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *value;
        if (tool_args_split(words[i], &length, &value) && name_is(words[i], length, name))
            return value;
    }
    return NULL;
}

static const char *find_value(const tool_request *request, const char *name) {
    return find_word(request->words, request->word_count, name);
}

static const char *find_count(const tool_request *request, const char *name) {
    return find_word(request->counts->items, request->counts->count, name);
}

/* ---- reports ---- */

static const char *example_value(vyre_type type) {
    switch (vyre_type_class(type)) {
    case VYRE_CLASS_BOOL:
        return "true";
    case VYRE_CLASS_FLOAT:
        return "2.0";
    default:
        return "2";
    }
}

/* What to write for a buffer whose value is missing. */
static void add_buffer_example(vy_string *out, const vyre_buffer_info *buffer) {
    if (!vy_accesses[buffer->access].is_input)
        vy_string_format(out, "--count %s=N", buffer->name);
    else if (buffer->is_static)
        vy_string_format(out, "%s=zeros", buffer->name);
    else
        vy_string_format(out, "%s=1,2,3", buffer->name);
}

static void add_given(vy_string *out, const char *value) {
    vy_string_format(out, "%.40s%s", value, strlen(value) > 40 ? "..." : "");
}

/* Prints the program's interface beside what was given, then a command line that would be complete. */
static void print_interface(const tool_command *command, const vyre_program *program, const char *file,
                            const tool_request *request) {
    vy_string table = {0}, line = {0};
    vyre_param_info param;
    vyre_buffer_info buffer;

    vy_string_format(&line, "vyre %s %s", command->name, file);
    for (size_t i = 0; vyre_program_param(program, i, &param); i++) {
        const char *value = find_value(request, param.name);
        vy_string_format(&table, "  param  %-10s : %-4s              ", param.name, vyre_type_name(param.type));
        vy_string_add(&table, value ? "given " : "missing");
        add_given(&table, value ? value : "");
        vy_string_char(&table, '\n');
        vy_string_format(&line, " %s=", param.name);
        add_given(&line, value ? value : example_value(param.type));
    }
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        int input = vy_accesses[buffer.access].is_input, open = tool_buffer_needs_count(&buffer);
        const char *value = input ? find_value(request, buffer.name) : find_count(request, buffer.name);
        vy_string_format(&table, "  buffer %-10s : %-4s %-10s   ", buffer.name, vyre_type_name(buffer.type),
                         vy_accesses[buffer.access].name);
        if (input || open) {
            vy_string_add(&table, value ? (input ? "given " : "count ") : (input ? "missing" : "count missing"));
            add_given(&table, value ? value : "");
        } else {
            vy_string_add(&table, "the program makes it");
        }
        if (buffer.is_static)
            vy_string_format(&table, " (%" PRIu64 " elements)", buffer.count);
        vy_string_char(&table, '\n');
        if (!input && !open)
            continue;
        vy_string_char(&line, ' ');
        if (!value)
            add_buffer_example(&line, &buffer);
        else if (input)
            vy_string_format(&line, "%s=%.40s%s", buffer.name, value, strlen(value) > 40 ? "..." : "");
        else
            vy_string_format(&line, "--count %s=%s", buffer.name, value);
    }
    if (request->grid)
        vy_string_format(&line, " --grid %s", request->grid);
    if (request->elements)
        vy_string_format(&line, " --elements %s", request->elements);
    if (table.text)
        fputs(table.text, stderr);
    if (line.text)
        tool_fix(line.text);
    vy_string_free(&table);
    vy_string_free(&line);
}

static int is_slot(const vyre_program *program, const char *word, size_t length) {
    vyre_param_info param;
    vyre_buffer_info buffer;

    for (size_t i = 0; vyre_program_param(program, i, &param); i++)
        if (name_is(word, length, param.name))
            return 1;
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++)
        if (name_is(word, length, buffer.name))
            return buffer.access == VYRE_ACCESS_WRITE ? 2 : 1;
    return 0;
}

/* ---- checks of the words before anything is read ---- */

/* Says what is wrong with word `i`, if anything; TOOL_OK if it fits. */
static int check_word(const tool_command *command, const vyre_program *program, const tool_request *request, size_t i) {
    const char *word = request->words[i], *value;
    size_t length;
    int slot;

    if (!tool_args_split(word, &length, &value))
        return tool_problem(command, "`%s` is not NAME=VALUE", word);
    slot = is_slot(program, word, length);
    if (slot == 2)
        return tool_problem(command, "`%.*s` is a write buffer: it takes no value, it starts as zero", (int)length,
                            word);
    if (slot == 0)
        return tool_problem(command, "program %s has no param or buffer `%.*s`", vyre_program_name(program),
                            (int)length, word);
    for (size_t j = 0; j < i; j++)
        if (strncmp(request->words[j], word, length + 1) == 0)
            return tool_problem(command, "`%.*s` is given twice", (int)length, word);
    return TOOL_OK;
}

static int check_count_word(const tool_command *command, const vyre_program *program, const tool_list *counts,
                            uint32_t at) {
    const char *word = counts->items[at];
    size_t length = 0;
    const char *value;
    uint64_t count;
    vyre_buffer_info buffer;

    if (!tool_args_split(word, &length, &value) || !tool_number(value, strlen(value), &count))
        return tool_problem(command, "--count takes NAME=N, not `%s`", word);
    for (uint32_t i = 0; i < at; i++)
        if (strncmp(counts->items[i], word, length + 1) == 0)
            return tool_problem(command, "--count names `%.*s` twice", (int)length, word);
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++)
        if (name_is(word, length, buffer.name)) {
            if (tool_buffer_needs_count(&buffer))
                return TOOL_OK;
            return tool_problem(command, "the count of `%s` is not open: %s", buffer.name,
                                buffer.has_count ? "the program fixes it" : "it is that of the bytes you give");
        }
    return tool_problem(command, "--count names `%.*s`, which is no buffer of program %s", (int)length, word,
                        vyre_program_name(program));
}

/* Names of the slots nothing was given for. */
static int check_missing(const tool_command *command, const vyre_program *program, const tool_request *request) {
    vy_string missing = {0};
    vyre_param_info param;
    vyre_buffer_info buffer;
    int code = TOOL_OK;

    for (size_t i = 0; vyre_program_param(program, i, &param); i++)
        if (!find_value(request, param.name))
            vy_string_format(&missing, "%s%s", missing.length ? ", " : "", param.name);
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        if (vy_accesses[buffer.access].is_input && !find_value(request, buffer.name))
            vy_string_format(&missing, "%s%s", missing.length ? ", " : "", buffer.name);
        if (tool_buffer_needs_count(&buffer) && !find_count(request, buffer.name))
            vy_string_format(&missing, "%sthe count of %s", missing.length ? ", " : "", buffer.name);
    }
    if (missing.length > 0 || missing.failed)
        code = tool_problem(command, "program %s needs a value for %s", vyre_program_name(program),
                            missing.text ? missing.text : "its params and buffers");
    vy_string_free(&missing);
    return code;
}

static int check_words(const tool_command *command, const vyre_program *program, const tool_request *request) {
    int code = TOOL_OK;

    for (size_t i = 0; i < request->word_count; i++)
        if (check_word(command, program, request, i) != TOOL_OK)
            code = TOOL_USAGE;
    for (uint32_t i = 0; i < request->counts->count; i++)
        if (check_count_word(command, program, request->counts, i) != TOOL_OK)
            code = TOOL_USAGE;
    if (check_missing(command, program, request) != TOOL_OK)
        code = TOOL_USAGE;
    return code;
}

/* ---- reading ---- */

static vyre_status read_param(const vyre_param_info *info, const char *value, vyre_scalar *out, vyre_error *error) {
    vyre_status status;

    out->type = info->type;
    status = tool_scalar_read(value, strlen(value), info->type, &out->bits, error);
    if (status != VYRE_OK)
        vy_fail_where(error, "param %s", info->name);
    return status;
}

static vyre_status read_buffer(const vyre_buffer_info *info, const char *spec, vyre_bytes *storage, vyre_span *out,
                               vyre_error *error) {
    unsigned size = vyre_type_size(info->type);
    vyre_status status =
        tool_buffer_spec_read(spec, info->type, info->is_static ? info->count : UINT64_MAX, storage, error);

    out->data = storage->data;
    out->size = storage->size;
    if (status == VYRE_OK && storage->size % size != 0)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, "give a whole number of elements",
                         "`%.100s` gives %zu bytes, which is no multiple of the %u bytes of an %s", spec, storage->size,
                         size, vyre_type_name(info->type));
    if (status == VYRE_OK && info->is_static && storage->size / size != info->count)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("give %" PRIu64 " elements", info->count),
                         "`%.100s` gives %zu elements, and the program fixes the count (%" PRIu64 ")", spec,
                         storage->size / size, info->count);
    if (status != VYRE_OK && error->where[0] == '\0')
        vy_fail_where(error, "buffer %s : %s %s", info->name, vyre_type_name(info->type),
                      vy_accesses[info->access].name);
    return status;
}

static vyre_status read_geometry(const vyre_program *program, const tool_request *request, vyre_geometry *out,
                                 vyre_error *error) {
    const char *text = request->grid ? request->grid : request->elements;

    if (!text && vyre_program_grid(program) == VYRE_GRID_DISPATCH)
        return vy_fail(
            error, VYRE_INVALID_ARGUMENT,
            "add `--grid X,Y,Z` (workgroups) or `--elements X,Y,Z` (invocations), or write `grid ...` in the program",
            "program %s does not say how large its grid is", vyre_program_name(program));
    if (!text)
        return VYRE_OK;
    if (request->grid && request->elements)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "give --grid (workgroups) or --elements (invocations)",
                       "--grid and --elements are both given");
    out->kind = request->grid ? VYRE_GEOMETRY_GROUPS : VYRE_GEOMETRY_ELEMENTS;
    if (!tool_numbers3(text, out->size))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "write one to three numbers, as in `--grid 8,8`",
                       "`%.60s` is not X, X,Y or X,Y,Z with numbers below 2^32", text);
    return VYRE_OK;
}

static vyre_status allocate_bindings(const vyre_program *program, tool_bindings *out, vyre_error *error) {
    out->param_capacity = vyre_program_param_count(program);
    out->input_capacity = vyre_program_input_count(program);
    out->count_capacity = vyre_program_buffer_count(program);
    out->params = vy_allocate_zero(vy_array_size(out->param_capacity + 1, sizeof *out->params));
    out->inputs = vy_allocate_zero(vy_array_size(out->input_capacity + 1, sizeof *out->inputs));
    out->storage = vy_allocate_zero(vy_array_size(out->input_capacity + 1, sizeof *out->storage));
    out->counts = vy_allocate_zero(vy_array_size(out->count_capacity + 1, sizeof *out->counts));
    if (out->params && out->inputs && out->storage && out->counts)
        return VYRE_OK;
    return vy_fail_memory(error, "binding the arguments");
}

static vyre_status read_all(const vyre_program *program, const tool_request *request, tool_bindings *out,
                            vyre_error *error) {
    vyre_arguments *arguments = &out->arguments;
    vyre_param_info param;
    vyre_buffer_info buffer;
    vyre_status status = allocate_bindings(program, out, error);

    for (size_t i = 0; status == VYRE_OK && vyre_program_param(program, i, &param); i++)
        status = read_param(&param, find_value(request, param.name), &out->params[arguments->param_count++], error);
    for (size_t i = 0; status == VYRE_OK && vyre_program_buffer(program, i, &buffer); i++) {
        if (vy_accesses[buffer.access].is_input) {
            size_t at = arguments->input_count++;
            status = read_buffer(&buffer, find_value(request, buffer.name), &out->storage[at], &out->inputs[at], error);
        } else if (tool_buffer_needs_count(&buffer)) {
            const char *text = find_count(request, buffer.name);
            tool_number(text, strlen(text), &out->counts[arguments->count_count++]);
        }
    }
    if (status == VYRE_OK)
        status = read_geometry(program, request, &arguments->geometry, error);
    arguments->params = out->params;
    arguments->inputs = out->inputs;
    arguments->counts = out->counts;
    return status;
}

int tool_bindings_make(const tool_command *command, const vyre_program *program, const char *file,
                       const tool_request *request, tool_bindings *out) {
    vyre_error error;

    memset(out, 0, sizeof *out);
    error.where[0] = '\0';
    if (check_words(command, program, request) != TOOL_OK) {
        print_interface(command, program, file, request);
        return TOOL_USAGE;
    }
    if (read_all(program, request, out, &error) == VYRE_OK)
        return TOOL_OK;
    tool_error(&error);
    /* A file that is not what it should be is an argument that does not fit. */
    return error.code == VYRE_CORRUPT     ? TOOL_USAGE
           : error.code == VYRE_NOT_FOUND ? TOOL_SYSTEM
                                          : tool_exit_of(error.code);
}

void tool_bindings_free(tool_bindings *bindings) {
    for (size_t i = 0; bindings->storage && i < bindings->input_capacity; i++)
        vyre_bytes_free(&bindings->storage[i]);
    vy_release(bindings->params, (bindings->param_capacity + 1) * sizeof *bindings->params);
    vy_release(bindings->inputs, (bindings->input_capacity + 1) * sizeof *bindings->inputs);
    vy_release(bindings->storage, (bindings->input_capacity + 1) * sizeof *bindings->storage);
    vy_release(bindings->counts, (bindings->count_capacity + 1) * sizeof *bindings->counts);
    memset(bindings, 0, sizeof *bindings);
}
