/* vyre bind: a C header with a typed function for a program.
 *
 * The header holds the program's wire form as bytes, a struct with one field per param and buffer, and three functions: open (decode and
 * compile once), run and close. It is C11 and C++, needs libvyre alone, and keeps no state of its own. */
#include "ir/rows.h"
#include "tool/bindings.h"
#include "tool/commands.h"
#include "tool/load.h"
#include "vyre/wire.h"

typedef struct bind_options {
    const char *output, *program;
    tool_list defines;
} bind_options;

static const tool_option options_table[] = {
    TOOL_OPTION_OUTPUT(bind_options),
    TOOL_OPTION_PROGRAM(bind_options),
    TOOL_OPTION_DEFINE(bind_options),
    TOOL_OPTION_END,
};

/* What an element of each type is in C, and how a param of it becomes a scalar (%s is the value). Half floats travel as their bits. */
static const struct {
    const char *name, *scalar;
} c_types[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_BOOL] = {"int", "vyre_scalar_bool(%s)"},
    [VYRE_TYPE_I8] = {"int8_t", "vyre_scalar_bits(VYRE_TYPE_I8, (uint8_t)%s)"},
    [VYRE_TYPE_U8] = {"uint8_t", "vyre_scalar_bits(VYRE_TYPE_U8, %s)"},
    [VYRE_TYPE_I16] = {"int16_t", "vyre_scalar_bits(VYRE_TYPE_I16, (uint16_t)%s)"},
    [VYRE_TYPE_U16] = {"uint16_t", "vyre_scalar_bits(VYRE_TYPE_U16, %s)"},
    [VYRE_TYPE_I32] = {"int32_t", "vyre_scalar_i32(%s)"},
    [VYRE_TYPE_U32] = {"uint32_t", "vyre_scalar_u32(%s)"},
    [VYRE_TYPE_I64] = {"int64_t", "vyre_scalar_i64(%s)"},
    [VYRE_TYPE_U64] = {"uint64_t", "vyre_scalar_u64(%s)"},
    [VYRE_TYPE_F16] = {"uint16_t", "vyre_scalar_bits(VYRE_TYPE_F16, %s)"},
    [VYRE_TYPE_BF16] = {"uint16_t", "vyre_scalar_bits(VYRE_TYPE_BF16, %s)"},
    [VYRE_TYPE_F32] = {"float", "vyre_scalar_f32(%s)"},
    [VYRE_TYPE_F64] = {"double", "vyre_scalar_f64(%s)"},
};

/* Words that cannot name a field in C or C++, nor in GNU C, whose macros `linux`, `unix` and `i386` they are; what standard headers define
 * in small letters; and the field every struct has. What else headers take is told by its form: see is_reserved. */
static const char *const reserved[] = {
    "alignas",       "alignof",    "and",       "and_eq",
    "asm",           "auto",       "bitand",    "bitor",
    "bool",          "break",      "case",      "catch",
    "char",          "class",      "co_await",  "co_return",
    "co_yield",      "compl",      "complex",   "concept",
    "const",         "const_cast", "consteval", "constexpr",
    "constinit",     "continue",   "decltype",  "default",
    "delete",        "do",         "double",    "dynamic_cast",
    "else",          "enum",       "environ",   "errno",
    "explicit",      "export",     "extern",    "false",
    "float",         "for",        "friend",    "geometry",
    "goto",          "i386",       "if",        "imaginary",
    "inline",        "int",        "linux",     "long",
    "mutable",       "namespace",  "new",       "noexcept",
    "noreturn",      "not",        "not_eq",    "nullptr",
    "operator",      "or",         "or_eq",     "private",
    "protected",     "public",     "register",  "reinterpret_cast",
    "requires",      "restrict",   "return",    "short",
    "signed",        "sizeof",     "static",    "static_assert",
    "static_cast",   "stderr",     "stdin",     "stdout",
    "struct",        "switch",     "template",  "this",
    "thread_local",  "throw",      "true",      "try",
    "typedef",       "typeid",     "typename",  "typeof",
    "typeof_unqual", "union",      "unix",      "unsigned",
    "using",         "virtual",    "void",      "volatile",
    "while",         "xor",        "xor_eq",
};

/* What a name gets in front if it cannot be used as it is. */
#define ESCAPE "my_"

typedef struct field {
    char name[160];  /* in C */
    char count[176]; /* buffers: the field with the number of elements */
    const char *source;
    vyre_type type;
    int is_buffer, is_input, is_output, is_open;
} field;

/* A vector, and the prefix of everything the header declares: the program's name, escaped like a field. */
typedef struct field_list {
    field *items;
    uint32_t count, capacity;
    char prefix[160];
} field_list;

/* ---- names ---- */

/* What begins like names of the library or of the implementation. */
static int is_foreign(const char *name) {
    return name[0] == '_' || strncmp(name, "vyre", 4) == 0 || strncmp(name, "VYRE", 4) == 0;
}

/* Beside those, headers may take types (…_t), MACROS, and the `I` of complex.h. */
static int has_reserved_form(const char *name) {
    size_t length = strlen(name);

    if (is_foreign(name) || strcmp(name, "I") == 0)
        return 1;
    if (length > 2 && strcmp(name + length - 2, "_t") == 0)
        return 1;
    return length > 1 && name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

static int is_reserved(const char *name) {
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(reserved[i], name) == 0)
            return 1;
    return has_reserved_form(name);
}

static int is_taken(const field_list *fields, const char *name) {
    size_t prefix = strlen(fields->prefix);

    /* In C++ no member has the name of its class. */
    if (strncmp(fields->prefix, name, prefix) == 0 && strcmp(name + prefix, "_arguments") == 0)
        return 1;
    for (uint32_t i = 0; i < fields->count; i++)
        if (strcmp(fields->items[i].name, name) == 0 || strcmp(fields->items[i].count, name) == 0)
            return 1;
    return 0;
}

static void choose_name(const field_list *fields, const char *source, const char *ending, char *out, size_t size) {
    size_t length = (size_t)snprintf(out, size, "%.128s%s", source, ending);

    if (is_reserved(out))
        length = (size_t)snprintf(out, size, ESCAPE "%.128s%s", source, ending);
    while (is_taken(fields, out) && length + 2 < size) {
        out[length++] = '_';
        out[length] = '\0';
    }
}

static int add_field(field_list *fields, const field *given) {
    field f = *given, *slot;

    choose_name(fields, f.source, "", f.name, sizeof f.name);
    slot = VY_PUSH(fields);
    if (slot)
        *slot = f;
    return slot != NULL;
}

/* All names first, then the counts: what the program named keeps its name where it can. */
static int collect(const vyre_program *program, field_list *fields) {
    const char *name = vyre_program_name(program);
    vyre_param_info param;
    vyre_buffer_info buffer;

    /* As a prefix, a keyword or a macro is no trouble. */
    snprintf(fields->prefix, sizeof fields->prefix, "%s%.128s", is_foreign(name) ? ESCAPE : "", name);
    for (size_t i = 0; vyre_program_param(program, i, &param); i++)
        if (!add_field(fields, &(field){.source = param.name, .type = param.type}))
            return 0;
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++)
        if (!add_field(fields, &(field){.source = buffer.name,
                                        .type = buffer.type,
                                        .is_buffer = 1,
                                        .is_input = vy_accesses[buffer.access].is_input,
                                        .is_output = vy_accesses[buffer.access].is_output,
                                        .is_open = tool_buffer_needs_count(&buffer)}))
            return 0;
    for (uint32_t i = 0; i < fields->count; i++) {
        char count[sizeof fields->items[i].count];
        choose_name(fields, fields->items[i].source, "_count", count, sizeof count);
        if (fields->items[i].is_buffer)
            strcpy(fields->items[i].count, count);
    }
    return 1;
}

/* ---- pieces of the header ---- */

static void add_head(vy_string *out, const char *name, const char *file, const vyre_program *program) {
    const char *slash = strrchr(file, '/');
    vyre_digest digest;
    char text[65];

    vyre_program_fingerprint(program, &digest);
    vyre_digest_format(&digest, text);
    vy_string_format(
        out,
        "/* Program %s of %s, made by `vyre bind` %s. Do not edit: make it again.\n *\n * Fingerprint %s.\n *\n"
        " * %s_open decodes and compiles, once; %s_run may then be called from any thread, any number of times.\n"
        " * Names that C, C++ or vyre use already have `" ESCAPE
        "` in front; where two would be the same, one ends in `_`. */\n",
        vyre_program_name(program), slash ? slash + 1 : file, vyre_version(), text, name, name);
    vy_string_format(out, "#ifndef VYRE_BIND_%s_H\n#define VYRE_BIND_%s_H\n\n", name, name);
    vy_string_add(
        out, "#include \"vyre/oracle.h\"\n#include \"vyre/wire.h\"\n\n#include <stdio.h>\n#include <string.h>\n\n");
}

static void add_bytes(vy_string *out, const char *name, const vyre_bytes *wire) {
    const unsigned char *bytes = wire->data;

    vy_string_format(out, "static const uint8_t %s_wire[%zu] = {", name, wire->size);
    for (size_t i = 0; i < wire->size; i++)
        vy_string_format(out, "%s0x%02x,", i % 16 ? " " : "\n    ", bytes[i]);
    vy_string_add(out, "\n};\n\n");
}

static void add_struct(vy_string *out, const char *name, const field_list *fields) {
    vy_string_format(out,
                     "/* What a run takes and gives. Start from zeros: %s_arguments a = {0} (C++: {}). */\n"
                     "typedef struct %s_arguments {\n",
                     name, name);
    for (uint32_t i = 0; i < fields->count; i++) {
        const field *f = &fields->items[i];
        const char *half = f->type == VYRE_TYPE_F16 || f->type == VYRE_TYPE_BF16 ? ", as bits" : "";
        const char *type = vyre_type_name(f->type);
        if (!f->is_buffer) {
            vy_string_format(out, "    %s %s; /* param, %s%s */\n", c_types[f->type].name, f->name, type, half);
            continue;
        }
        vy_string_format(out, "    %s%s *%s; /* %s, %s%s */\n", f->is_output ? "" : "const ", c_types[f->type].name,
                         f->name, type,
                         f->is_input && f->is_output ? "read, then written in place"
                         : f->is_input               ? "read"
                                                     : "written",
                         half);
        vy_string_format(out, "    size_t %s; /* elements%s */\n", f->count,
                         f->is_input  ? ""
                         : f->is_open ? " to make"
                                      : ": room before, made after");
    }
    vy_string_format(out, "    vyre_geometry geometry; /* zeros: as the program says */\n} %s_arguments;\n\n", name);
}

static void add_open_close(vy_string *out, const char *name) {
    vy_string_format(
        out, "typedef struct %s_kernel {\n    vyre_program *program;\n    vyre_oracle *oracle;\n} %s_kernel;\n\n", name,
        name);
    vy_string_format(out,
                     "static inline void %s_close(%s_kernel *self) {\n    vyre_oracle_free(self->oracle);\n    "
                     "vyre_program_release(self->program);\n"
                     "    self->oracle = NULL;\n    self->program = NULL;\n}\n\n",
                     name, name);
    vy_string_format(
        out,
        "static inline vyre_status %s_open(%s_kernel *self, vyre_error *error) {\n    vyre_status status;\n\n    "
        "self->oracle "
        "= NULL;\n"
        "    status = vyre_wire_decode(%s_wire, sizeof %s_wire, NULL, &self->program, error);\n    if (status == "
        "VYRE_OK)\n"
        "        status = vyre_oracle_new(self->program, &self->oracle, error);\n    if (status != VYRE_OK)\n"
        "        %s_close(self);\n    return status;\n}\n\n",
        name, name, name, name, name);
}

/* One array for the dispatch: its declaration, and its elements assigned one by one, which C and C++ agree on. */
static void add_arrays(vy_string *out, const field_list *fields, size_t params, size_t inputs, size_t counts) {
    size_t param = 0, input = 0, count = 0;

    if (params)
        vy_string_format(out, "    vyre_scalar params[%zu];\n", params);
    if (inputs)
        vy_string_format(out, "    vyre_span inputs[%zu];\n", inputs);
    if (counts)
        vy_string_format(out, "    uint64_t counts[%zu];\n", counts);
    vy_string_char(out, '\n');
    for (uint32_t i = 0; i < fields->count; i++) {
        const field *f = &fields->items[i];
        if (!f->is_buffer) {
            char value[192];
            snprintf(value, sizeof value, "a->%s", f->name);
            vy_string_format(out, "    params[%zu] = ", param++);
            vy_string_format(out, c_types[f->type].scalar, value);
            vy_string_add(out, ";\n");
        } else if (f->is_input) {
            vy_string_format(out, "    inputs[%zu].data = a->%s;\n    inputs[%zu].size = a->%s * sizeof *a->%s;\n",
                             input, f->name, input, f->count, f->name);
            input++;
        } else if (f->is_open) {
            vy_string_format(out, "    counts[%zu] = a->%s;\n", count++, f->count);
        }
    }
    vy_string_add(out, "    memset(&given, 0, sizeof given);\n");
    if (params)
        vy_string_format(out, "    given.params = params;\n    given.param_count = %zu;\n", params);
    if (inputs)
        vy_string_format(out, "    given.inputs = inputs;\n    given.input_count = %zu;\n", inputs);
    if (counts)
        vy_string_format(out, "    given.counts = counts;\n    given.count_count = %zu;\n", counts);
    vy_string_add(out, "    given.geometry = a->geometry;\n");
}

/* Outputs go into the caller's storage, which must be large enough; nothing is delivered otherwise. */
static void add_delivery(vy_string *out, const char *name, const field_list *fields) {
    size_t output = 0;

    for (uint32_t i = 0; i < fields->count; i++) {
        const field *f = &fields->items[i];
        if (!f->is_output)
            continue;
        vy_string_format(out,
                         "    if (status == VYRE_OK && outputs[%zu].size > a->%s * sizeof *a->%s)\n"
                         "        status = %s_too_small(\"%s\", outputs[%zu].size / sizeof *a->%s, a->%s, error);\n",
                         output, f->count, f->name, name, f->source, output, f->name, f->count);
        output++;
    }
    output = 0;
    for (uint32_t i = 0; i < fields->count; i++) {
        const field *f = &fields->items[i];
        if (!f->is_output)
            continue;
        vy_string_format(out,
                         "    if (status == VYRE_OK) {\n        if (outputs[%zu].size > 0)\n            memcpy(a->%s, "
                         "outputs[%zu].data, "
                         "outputs[%zu].size);\n        a->%s = outputs[%zu].size / sizeof *a->%s;\n    }\n",
                         output, f->name, output, output, f->count, output, f->name);
        output++;
    }
}

static void add_too_small(vy_string *out, const char *name) {
    vy_string_format(
        out,
        "static inline vyre_status %s_too_small(const char *buffer, size_t made, size_t room, vyre_error *error) {\n"
        "    if (error) {\n        error->code = VYRE_INVALID_ARGUMENT;\n"
        "        snprintf(error->message, sizeof error->message, \"`%%s` has %%zu elements, and there is room for "
        "%%zu\", buffer, "
        "made,\n                 room);\n"
        "        snprintf(error->fix, sizeof error->fix, \"make room for %%zu elements\", made);\n"
        "        snprintf(error->where, sizeof error->where, \"%s\");\n    }\n    return VYRE_INVALID_ARGUMENT;\n}\n\n",
        name, name);
}

static void add_run(vy_string *out, const char *name, const field_list *fields) {
    size_t params = 0, inputs = 0, outputs = 0, counts = 0;

    for (uint32_t i = 0; i < fields->count; i++) {
        const field *f = &fields->items[i];
        params += !f->is_buffer;
        inputs += f->is_input != 0;
        outputs += f->is_output != 0;
        counts += f->is_open != 0;
    }
    if (outputs)
        add_too_small(out, name);
    vy_string_format(
        out,
        "/* Runs once; blocks until done. options and report may be NULL. On failure no buffer is changed, and error, "
        "if given, says why. */\n"
        "static inline vyre_status %s_run(const %s_kernel *self, %s_arguments *a, const vyre_oracle_options *options,\n"
        "                                vyre_oracle_report *report, vyre_error *error) {\n"
        "    static const vyre_oracle_options defaults = {0, 0, 0, 0, 0, NULL, NULL};\n"
        "    vyre_oracle_report ignored;\n    vyre_arguments given;\n    vyre_status status;\n",
        name, name, name);
    if (outputs)
        vy_string_format(out, "    vyre_bytes outputs[%zu];\n", outputs);
    add_arrays(out, fields, params, inputs, counts);
    if (outputs)
        vy_string_add(out, "    memset(outputs, 0, sizeof outputs);\n");
    vy_string_format(out,
                     "    status = vyre_oracle_run(self->oracle, &given, options ? options : &defaults, %s, report ? "
                     "report : &ignored, NULL,\n"
                     "                             error);\n",
                     outputs ? "outputs" : "NULL");
    add_delivery(out, name, fields);
    for (size_t i = 0; i < outputs; i++)
        vy_string_format(out, "    vyre_bytes_free(&outputs[%zu]);\n", i);
    vy_string_add(out, "    return status;\n}\n\n#endif\n");
}

/* ---- the command ---- */

static vyre_status make_header(const vyre_program *program, const char *file, vyre_bytes *out, vyre_error *error) {
    vyre_bytes wire = VYRE_BYTES_INIT;
    field_list fields = {.count = 0};
    const char *name = fields.prefix;
    vy_string text = {0};
    vyre_status status = vyre_wire_encode(program, 0, &wire, error);

    if (status == VYRE_OK && !collect(program, &fields))
        status = vy_fail_memory(error, "making the header");
    if (status == VYRE_OK) {
        add_head(&text, name, file, program);
        add_bytes(&text, name, &wire);
        add_struct(&text, name, &fields);
        add_open_close(&text, name);
        add_run(&text, name, &fields);
        status = vy_string_take(&text, out, error);
    }
    vy_string_free(&text);
    VY_VECTOR_FREE(&fields);
    vyre_bytes_free(&wire);
    return status;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const bind_options *options = given;
    vyre_bytes header = VYRE_BYTES_INIT;
    tool_file file = {0};
    vyre_program *program;
    vyre_error error;
    int code = tool_one_file(self, args);

    if (code == TOOL_OK)
        code = tool_load_program(self, args->words.items[0], options->program, &options->defines, &file, &program);
    if (code == TOOL_OK)
        code = make_header(program, tool_path_name(args->words.items[0]), &header, &error) == VYRE_OK
                   ? tool_file_write(options->output ? options->output : "-", header.data, header.size)
                   : tool_error(&error);
    vyre_bytes_free(&header);
    tool_file_free(&file);
    return code;
}

const tool_command tool_cmd_bind = {
    .name = "bind",
    .summary = "make a C header with a typed function for a program",
    .usage = "FILE [OPTIONS]",
    .details =
        "The header holds the program itself and, for a program `saxpy`, struct saxpy_arguments with a field "
        "per param and\n"
        "buffer, and saxpy_open, saxpy_run and saxpy_close. It is C and C++ and needs libvyre alone. Names that C, "
        "C++ or\n"
        "vyre use already get `" ESCAPE "` in front.\n",
    .examples = "  vyre bind examples/saxpy.vyre -o saxpy.h\n",
    .options = options_table,
    .options_size = sizeof(bind_options),
    .run = run_command,
};
