/* vyre bind: generates a C header with typed functions for the programs of a file.
 *
 * For each program the header contains its wire form, a struct with one field per param and buffer, and thin wrappers
 * of vyre/kernel.h: open, run, close. It is valid C11 and C++ and needs only libvyre. The logic is in the library, so
 * the header does not change with the version. */
#include "ir/op_tables.h"
#include "tool/bindings.h"
#include "tool/load.h"
#include "tool/tool.h"
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

/* The C type of each element type, and the expression that makes a scalar of a param (%s is the value). Half floats are
 * passed as bits. */
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

/* Names that cannot be fields: keywords of C and C++, macros of GNU C (`linux`, `unix`, `i386`) and lower-case macros
 * of standard headers, and the field `geometry` of every struct. Other reserved names are recognised by their form:
 * has_reserved_form. */
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

/* The prefix of a name that is reserved. */
#define ESCAPE "my_"

typedef struct field {
    char name[160];     /* in C */
    char count[176];    /* buffers: the field for the element count */
    char resident[176]; /* buffers: the field for a resident buffer */
    const char *source;
    vyre_type type;
    int is_buffer, is_input, is_output, is_open;
} field;

/* A vector of fields, and the prefix of all declarations in the header: the program name, escaped like a field. */
typedef struct field_list {
    field *items;
    uint32_t count, capacity;
    char prefix[160];
} field_list;

/* ---- names ---- */

/* Names that start like those of the library or of the implementation. */
static int is_foreign(const char *name) {
    return name[0] == '_' || strncmp(name, "vyre", 4) == 0 || strncmp(name, "VYRE", 4) == 0;
}

/* Headers may also define types (…_t), macros in capitals, and the `I` of complex.h. */
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

    /* In C++ a member cannot have the name of its class. */
    if (strncmp(fields->prefix, name, prefix) == 0 && strcmp(name + prefix, "_arguments") == 0)
        return 1;
    for (uint32_t i = 0; i < fields->count; i++)
        if (strcmp(fields->items[i].name, name) == 0 || strcmp(fields->items[i].count, name) == 0 ||
            strcmp(fields->items[i].resident, name) == 0)
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

/* Assigns the names of params and buffers before those of counts, so that the program keeps its names where
 * possible. */
static int collect(const vyre_program *program, field_list *fields) {
    const char *name = vyre_program_name(program);
    vyre_param_info param;
    vyre_buffer_info buffer;

    /* A keyword or macro is a valid prefix. */
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
        if (!fields->items[i].is_buffer)
            continue;
        strcpy(fields->items[i].count, count);
        choose_name(fields, fields->items[i].source, "_resident", count, sizeof count);
        strcpy(fields->items[i].resident, count);
    }
    return 1;
}

/* ---- pieces of the header ---- */

static void add_head(vy_string *out, const char *guard, const char *file) {
    const char *slash = strrchr(file, '/');

    vy_string_format(
        out,
        "/* Programs of %s as C functions, generated by `vyre bind`. Do not edit.\n *\n"
        " * NAME_open decodes the program, selects a backend and compiles, once. NAME_run may then be called from any "
        "thread, any\n"
        " * number of times. vyre/kernel.h documents both. Names that C, C++ or vyre reserve start with `" ESCAPE
        "`; of two\n * equal names, one ends in `_`. */\n",
        slash ? slash + 1 : file);
    vy_string_format(out, "#ifndef VYRE_BIND_%s_H\n#define VYRE_BIND_%s_H\n\n#include \"vyre/kernel.h\"\n", guard,
                     guard);
}

static void add_bytes(vy_string *out, const char *name, const vyre_program *program, const vyre_bytes *wire) {
    const unsigned char *bytes = wire->data;
    vyre_digest digest;
    char text[65];

    vyre_program_fingerprint(program, &digest);
    vyre_digest_format(&digest, text);
    vy_string_format(out, "\n/* Program %s. Fingerprint %s. */\nstatic const unsigned char %s_wire[%zu] = {",
                     vyre_program_name(program), text, name, wire->size);
    for (size_t i = 0; i < wire->size; i++)
        vy_string_format(out, "%s0x%02x,", i % 16 ? " " : "\n    ", bytes[i]);
    vy_string_add(out, "\n};\n\n");
}

static void add_struct(vy_string *out, const char *name, const field_list *fields) {
    vy_string_format(out,
                     "/* Arguments of a run. Zero-initialise: %s_arguments a = {0} (C++: {}). A resident buffer, if "
                     "set, replaces\n"
                     " * the pointer. */\n"
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
                         f->is_input && f->is_output ? "read and overwritten"
                         : f->is_input               ? "read"
                                                     : "written",
                         half);
        vy_string_format(out, "    size_t %s; /* elements%s */\n", f->count,
                         f->is_input  ? ""
                         : f->is_open ? " to write"
                                      : ": capacity before the run, elements written after it");
        vy_string_format(out, "    vyre_resident %s; /* optional: a buffer of %s_backend() */\n", f->resident, name);
    }
    vy_string_format(out, "    vyre_geometry geometry; /* zeros: the grid of the program */\n} %s_arguments;\n\n",
                     name);
}

static void add_open_close(vy_string *out, const char *name) {
    vy_string_format(out, "typedef struct %s_kernel {\n    vyre_kernel *kernel;\n} %s_kernel;\n\n", name, name);
    vy_string_format(
        out,
        "/* policy NULL: a GPU if one is usable, else the native CPU backend. */\n"
        "static inline vyre_status %s_open(%s_kernel *self, const vyre_policy *policy, vyre_error *error) {\n"
        "    return vyre_kernel_open(%s_wire, sizeof %s_wire, policy, &self->kernel, error);\n}\n\n",
        name, name, name, name);
    vy_string_format(
        out,
        "/* Uses the given backend: kernels on one backend can share resident buffers. */\n"
        "static inline vyre_status %s_open_on(%s_kernel *self, vyre_backend *backend, vyre_error *error) {\n"
        "    return vyre_kernel_open_on(backend, %s_wire, sizeof %s_wire, &self->kernel, error);\n}\n\n",
        name, name, name, name);
    vy_string_format(out,
                     "static inline void %s_close(%s_kernel *self) {\n    vyre_kernel_close(self->kernel);\n"
                     "    self->kernel = NULL;\n}\n\n"
                     "/* The backend of the kernel; borrowed. */\n"
                     "static inline vyre_backend *%s_backend(const %s_kernel *self) {\n"
                     "    return vyre_kernel_backend(self->kernel);\n}\n\n"
                     "static inline const char *%s_backend_id(const %s_kernel *self) {\n"
                     "    return vyre_kernel_backend_id(self->kernel);\n}\n\n",
                     name, name, name, name, name, name);
}

/* The arrays of a run. Elements are assigned individually, which is valid in C and C++. */
static void add_arrays(vy_string *out, const field_list *fields) {
    size_t param = 0, buffer = 0;

    for (uint32_t i = 0; i < fields->count; i++) {
        const field *f = &fields->items[i];
        if (!f->is_buffer) {
            char value[192];
            snprintf(value, sizeof value, "a->%s", f->name);
            vy_string_format(out, "    params[%zu] = ", param++);
            vy_string_format(out, c_types[f->type].scalar, value);
            vy_string_add(out, ";\n");
            continue;
        }
        vy_string_format(out,
                         "    buffers[%zu].data = (void *)a->%s;\n    buffers[%zu].count = a->%s;\n"
                         "    buffers[%zu].resident = a->%s;\n    buffers[%zu].offset = 0;\n",
                         buffer, f->name, buffer, f->count, buffer, f->resident, buffer);
        buffer++;
    }
}

static void add_run(vy_string *out, const char *name, const field_list *fields) {
    size_t params = 0, buffers = 0;

    for (uint32_t i = 0; i < fields->count; i++) {
        params += !fields->items[i].is_buffer;
        buffers += fields->items[i].is_buffer != 0;
    }
    vy_string_format(
        out,
        "/* Runs once; blocks until done. config and trap may be NULL. After a failure the contents of buffers that "
        "the "
        "program\n"
        " * writes are unspecified. */\n"
        "static inline vyre_status %s_run(const %s_kernel *self, %s_arguments *a, const vyre_dispatch_config *config,\n"
        "    vyre_trap *trap, vyre_error *error) {\n    vyre_status status;\n",
        name, name, name);
    if (params)
        vy_string_format(out, "    vyre_scalar params[%zu];\n", params);
    if (buffers)
        vy_string_format(out, "    vyre_kernel_buffer buffers[%zu];\n", buffers);
    vy_string_char(out, '\n');
    add_arrays(out, fields);
    vy_string_format(
        out, "    status = vyre_kernel_run(self->kernel, %s, %zu, %s, %zu, &a->geometry, config, trap, error);\n",
        params ? "params" : "NULL", params, buffers ? "buffers" : "NULL", buffers);
    buffers = 0;
    for (uint32_t i = 0; i < fields->count; i++) {
        const field *f = &fields->items[i];
        if (f->is_buffer && !f->is_input)
            vy_string_format(out, "    a->%s = buffers[%zu].count;\n", f->count, buffers);
        buffers += f->is_buffer != 0;
    }
    vy_string_add(out, "    return status;\n}\n");
}

/* ---- the command ---- */

static vyre_status add_program(const vyre_program *program, vy_string *text, vyre_error *error) {
    vyre_bytes wire = VYRE_BYTES_INIT;
    field_list fields = {.count = 0};
    vyre_status status = vyre_wire_encode(program, 0, &wire, error);

    if (status == VYRE_OK && !collect(program, &fields))
        status = vy_fail_memory(error, "making the header");
    if (status == VYRE_OK) {
        add_bytes(text, fields.prefix, program, &wire);
        add_struct(text, fields.prefix, &fields);
        add_open_close(text, fields.prefix);
        add_run(text, fields.prefix, &fields);
    }
    VY_VECTOR_FREE(&fields);
    vyre_bytes_free(&wire);
    return status;
}

/* The include guard: the name of the only program, or the file name with other characters replaced by `_`. */
static void choose_guard(const char *path, const vyre_program *only, char *out, size_t size) {
    const char *slash = strrchr(path, '/');

    snprintf(out, size, "%.128s", only ? vyre_program_name(only) : slash ? slash + 1 : path);
    for (char *c = out; *c; c++)
        if (!(*c >= '0' && *c <= '9') && !(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z'))
            *c = '_';
}

/* Generates the header of one program, or of all programs of the file if program is NULL. */
static vyre_status make_header(tool_file *file, vyre_program *program, const char *path, vyre_bytes *out,
                               vyre_error *error) {
    vy_string text = {0};
    char guard[160];
    size_t count = program ? 1 : tool_file_program_count(file);
    vyre_status status = VYRE_OK;

    choose_guard(path, program ? program : count == 1 ? tool_file_program(file, 0) : NULL, guard, sizeof guard);
    add_head(&text, guard, path);
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        vyre_program *resolved = NULL;
        status = tool_file_resolve(file, program ? program : tool_file_program(file, i), NULL, &resolved, error);
        if (status == VYRE_OK)
            status = add_program(resolved, &text, error);
        vyre_program_release(resolved);
    }
    vy_string_add(&text, "\n#endif\n");
    if (status == VYRE_OK)
        status = vy_string_to_bytes(&text, out, error);
    vy_string_free(&text);
    return status;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const bind_options *options = given;
    vyre_bytes header = VYRE_BYTES_INIT;
    tool_file file = {0};
    vyre_program *program = NULL;
    vyre_error error;
    int code = tool_one_file(self, args);

    if (code == TOOL_OK)
        code = tool_file_load(self, args->words.items[0], &options->defines, NULL, &file);
    if (code == TOOL_OK && (options->program || tool_file_program_count(&file) == 0))
        code = tool_file_select(self, &file, options->program, &program);
    if (code == TOOL_OK)
        code = make_header(&file, program, tool_path_name(args->words.items[0]), &header, &error) == VYRE_OK
                   ? tool_file_write(options->output ? options->output : "-", header.data, header.size)
                   : tool_error(&error);
    vyre_bytes_free(&header);
    tool_file_free(&file);
    return code;
}

const tool_command tool_cmd_bind = {
    .name = "bind",
    .summary = "generate a C header with typed functions for the programs of a file",
    .usage = "FILE [OPTIONS]",
    .details =
        "For a program `saxpy` the header contains the program, struct saxpy_arguments with a field per param and\n"
        "buffer, and saxpy_open, saxpy_run and saxpy_close. These are thin wrappers of vyre/kernel.h: open selects a\n"
        "backend (a GPU if one is usable, otherwise the native CPU) and compiles once. All programs of the file are\n"
        "included unless --program selects one. The header is valid C and C++ and needs only libvyre. Names that C, "
        "C++\n"
        "or vyre reserve start with `" ESCAPE "`.\n",
    .examples = "  vyre bind examples/saxpy.vyre -o saxpy.h\n",
    .options = options_table,
    .options_size = sizeof(bind_options),
    .run = run_command,
};
