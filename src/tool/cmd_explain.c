/* vyre explain: explains a diagnostic code or a status, or describes a program. */
#include "backends/cuda/dynamic_symbols.h"
#include "base/string.h"
#include "emit/ptx/ptx.h"
#include "ir/model.h"
#include "ir/op_tables.h"
#include "targets/ptx.h"
#include "tool/bindings.h"
#include "tool/load.h"
#include "tool/program_summary.h"
#include "tool/tool.h"
#include "vyre/dialect.h"
#include "vyre/emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct explain_options {
    const char *program, *target, *architecture;
    tool_list defines;
    int all, json, markdown, names;
} explain_options;

static const tool_option options_table[] = {
    {"all", 0, NULL, TOOL_FLAG, offsetof(explain_options, all), "explain every code and status"},
    {"markdown", 0, NULL, TOOL_FLAG, offsetof(explain_options, markdown),
     "with --all: print the reference page docs/errors.md"},
    {"program", 'p', "NAME", TOOL_TEXT, offsetof(explain_options, program), "for a file: only this program"},
    {"define", 'D', "NAME=VALUE", TOOL_LIST, offsetof(explain_options, defines), "for a file: override a const"},
    {"target", 't', "NAME", TOOL_TEXT, offsetof(explain_options, target),
     "for a file: ptx, to describe its launch on an NVIDIA device"},
    {"arch", 0, "sm_N", TOOL_TEXT, offsetof(explain_options, architecture),
     "with --target: the GPU architecture (sm_90)"},
    {"names", 0, NULL, TOOL_FLAG, offsetof(explain_options, names),
     "print names only, one per line: for a file NAME= for each value that `vyre run` needs, otherwise all codes and "
     "statuses"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(explain_options, json), "print JSON"},
    TOOL_OPTION_END,
};

/* ---- codes ---- */

static void add_code(vy_string *out, const vyre_explanation *e, int json) {
    if (!json) {
        vy_string_format(out, "%s: %s\n\n", e->code, e->title);
        if (strcmp(e->title, e->text) != 0) /* the title and the text of a status are equal */
            vy_string_format(out, "%s\n\n", e->text);
        vy_string_format(out, "Fix: %s\n", e->fix);
        return;
    }
    vy_string_char(out, '{');
    tool_json_text(out, "code", e->code);
    tool_json_text(out, "title", e->title);
    tool_json_text(out, "text", e->text);
    tool_json_text(out, "fix", e->fix);
    vy_string_char(out, '}');
}

/* Adds the language to code blocks. The examples of codes are fragments, which tests/tool/test_docs.c completes. */
static void add_markdown(vy_string *out, const char *text) {
    int is_open = 0;

    for (const char *mark; (mark = strstr(text, "```")); text = mark + 3) {
        vy_string_append(out, text, (size_t)(mark - text) + 3);
        if (!is_open)
            vy_string_add(out, "vyre fragment");
        is_open = !is_open;
    }
    vy_string_add(out, text);
}

/* docs/errors.md: a section per code, then the statuses as a table. */
static int explain_markdown(void) {
    vy_string out = {0};
    vyre_explanation e;
    int in_table = 0;

    vy_string_add(&out,
                  "# Errors\n\nEvery diagnostic has a code, and every code has a section here; `vyre explain CODE` "
                  "prints the same text. This page is generated "
                  "by\n`vyre explain --all --markdown`; a test fails if it is out of date. T: text form, V: "
                  "validator, W: wire form,\n"
                  "B: builder, D: dialect files (TOML and manifests), R: checks of a run.\n");
    for (size_t i = 0; vyre_explain_at(i, &e); i++) {
        if (strcmp(e.title, e.text) != 0) {
            vy_string_format(&out, "\n## %s: %s\n\n", e.code, e.title);
            add_markdown(&out, e.text);
            vy_string_format(&out, "\n\nFix: %s\n", e.fix);
            continue;
        }
        if (!in_table++)
            vy_string_add(&out, "\n## Statuses\n\nThe results of library functions.\n\n| status | meaning | fix "
                                "|\n| --- | --- | --- |\n");
        vy_string_format(&out, "| `%s` | %s | %s |\n", e.code, e.title, e.fix);
    }
    return tool_print(&out);
}

static int explain_all(int json) {
    vy_string out = {0};
    vyre_explanation e;

    for (size_t i = 0; vyre_explain_at(i, &e); i++) {
        if (json)
            vy_string_add(&out, i ? ",\n " : "[");
        else if (i)
            vy_string_char(&out, '\n');
        add_code(&out, &e, json);
    }
    if (json)
        vy_string_add(&out, "]\n");
    return tool_print(&out);
}

static int explain_code(const tool_command *self, const char *word, int json) {
    char upper[32];
    vyre_explanation e;
    vy_suggestion suggestion;
    const char *closest;
    vy_string out = {0};
    size_t i = 0;

    for (; word[i] && i + 1 < sizeof upper; i++)
        upper[i] = word[i] >= 'a' && word[i] <= 'z' ? (char)(word[i] - 'a' + 'A') : word[i];
    upper[i] = '\0';
    if (vyre_explain(upper, &e)) {
        add_code(&out, &e, json);
        if (json)
            vy_string_char(&out, '\n');
        return tool_print(&out);
    }
    vy_suggestion_start(&suggestion, upper, strlen(upper));
    for (i = 0; vyre_explain_at(i, &e); i++)
        vy_suggestion_offer(&suggestion, e.code);
    closest = vy_suggestion_get(&suggestion);
    return tool_usage(self,
                      closest ? VY_FIX("did you mean `%s`? See `vyre explain --names`", closest)
                              : "see `vyre explain --names` for all codes",
                      "`%.100s` is neither a code nor a file", word);
}

/* ---- provenance ---- */

/* Provenance: the ops that the code of a program comes from. Inlining leaves a region around each body. Regions that
 * are named like an op are counted, grouped by the ops that enclose them. */
#define NO_ORIGIN UINT32_MAX

/* An op as called from one caller: the program, or another origin. */
typedef struct origin {
    const vyre_op_definition *op;
    uint32_t parent, calls, statements;
} origin;

typedef struct region {
    uint32_t end, origin; /* end of its statements, and its origin */
} region;

typedef struct tree {
    VY_VECTOR(origin) origins; /* parents before children */
    VY_VECTOR(region) open;    /* the regions that enclose the current statement */
} tree;

static void count_call(tree *t, const vyre_op_definition *op, uint32_t statements, uint32_t end, vy_string *out) {
    uint32_t parent = t->open.count ? t->open.items[t->open.count - 1].origin : NO_ORIGIN, i = 0;

    while (i < t->origins.count && (t->origins.items[i].op != op || t->origins.items[i].parent != parent))
        i++;
    if (i == t->origins.count) {
        origin *made = VY_PUSH(&t->origins);
        if (made)
            *made = (origin){.op = op, .parent = parent};
    }
    region *open = i < t->origins.count ? VY_PUSH(&t->open) : NULL;
    out->failed |= !open;
    if (!open)
        return;
    *open = (region){end, i};
    t->origins.items[i].calls++;
    t->origins.items[i].statements += statements;
}

static void add_below(vy_string *out, const tree *t, uint32_t parent, unsigned depth) {
    for (uint32_t i = 0; i < t->origins.count; i++) {
        const origin *o = &t->origins.items[i];
        if (o->parent != parent)
            continue;
        vy_string_format(out, "  %-10s %*s%s %s (%s): %u call%s, %u statement%s\n", i ? "" : "dialects", (int)depth, "",
                         o->op->id, o->op->version, o->op->owner, o->calls, o->calls == 1 ? "" : "s", o->statements,
                         o->statements == 1 ? "" : "s");
        add_below(out, t, i, depth + 2); /* bounded by VY_LIMIT_CALL_DEPTH */
    }
}

/* Adds the ops whose bodies are regions of an inlined program, each below the op whose body calls it, with the number
 * of calls and statements. The guard contains the ops. */
static void add_provenance(vy_string *out, const vyre_program *flat, vyre_dialects_guard guard) {
    tree t = {{0}, {0}};

    for (uint32_t i = 0; i < flat->stmts.count && !out->failed; i++) {
        const vy_stmt *s = &flat->stmts.items[i];
        while (t.open.count && t.open.items[t.open.count - 1].end <= i)
            t.open.count--;
        const char *name = s->kind == VY_STMT_REGION ? vy_symbol_name(flat, s->name) : "";
        const vyre_op_definition *op = *name ? vyre_dialects_find(guard, name, strlen(name)) : NULL;
        if (op)
            count_call(&t, op, s->end - i - 1, s->end, out);
    }
    add_below(out, &t, NO_ORIGIN, 0);
    VY_VECTOR_FREE(&t.origins);
    VY_VECTOR_FREE(&t.open);
}

/* ---- PTX ---- */

typedef struct ptx_jit_kernel {
    char device[128]; /* name of the device */
    int architecture; /* 90 for sm_90 */
    int registers, local_bytes;
} ptx_jit_kernel;

static int is_good(int result) {
    return result == VY_CU_OK;
}

/* Requires the context of the device to be current. */
static int load_kernel(const vy_cuda_dynamic_symbols *api, const vy_ptx_code *code, ptx_jit_kernel *out) {
    vy_cu_module module;
    vy_cu_function function;
    if (!is_good(api->module_load(&module, code->text.data, 0, NULL, NULL)))
        return 0;
    int found = is_good(api->module_function(&function, module, code->entry)) &&
                is_good(api->function_attribute(&out->registers, VY_CU_FUNCTION_REGISTERS, function)) &&
                is_good(api->function_attribute(&out->local_bytes, VY_CU_FUNCTION_LOCAL_BYTES, function));
    api->module_unload(module);
    return found;
}

static int describe(const vy_cuda_dynamic_symbols *api, int device, ptx_jit_kernel *out) {
    int major, minor;
    int found = is_good(api->device_name(out->device, (int)sizeof out->device, device)) &&
                is_good(api->device_attribute(&major, VY_CU_DEVICE_MAJOR, device)) &&
                is_good(api->device_attribute(&minor, VY_CU_DEVICE_MINOR, device));
    out->architecture = found ? 10 * major + minor : 0;
    return found;
}

/* Compiles the PTX for the first device; returns 0 if no driver or device is found, or the driver refuses it. Acquires
 * the context of the device, and releases it. */
static int ptx_jit_compile(const vy_ptx_code *code, ptx_jit_kernel *out) {
    vy_cuda_dynamic_symbols api;
    vy_cu_context context;
    int device, count;
    memset(out, 0, sizeof *out);
    if (vy_cuda_dynamic_symbols_open(vy_cuda_dynamic_symbols_file(), &api, NULL) != VYRE_OK)
        return 0;
    if (!is_good(api.init(0)) || !is_good(api.device_count(&count)) || count < 1 ||
        !is_good(api.device_get(&device, 0)) || !describe(&api, device, out) ||
        !is_good(api.context_retain(&context, device)))
        return 0;
    int found = is_good(api.context_set(context)) && load_kernel(&api, code, out);
    api.context_set(NULL);
    api.context_release(device);
    return found;
}

/* The number before a word in the log of the assembler; 0 if the word does not occur. */
static uint64_t number_before(const char *log, const char *word) {
    const char *found = log ? strstr(log, word) : NULL;
    while (found && found > log && found[-1] == ' ')
        found--;
    while (found && found > log && found[-1] >= '0' && found[-1] <= '9')
        found--;
    return found ? strtoull(found, NULL, 10) : 0;
}

/* Reports registers for the first device of this machine, whatever --arch is: the driver compiles for no other. */
static int add_jit_compiled(vy_string *out, const vy_ptx_code *code) {
    ptx_jit_kernel kernel;
    if (!ptx_jit_compile(code, &kernel))
        return 0;
    vy_string_format(out, "  registers  %d", kernel.registers);
    if (kernel.local_bytes > (int)code->local_bytes)
        vy_string_format(out, ", %d bytes of local memory per thread in addition to its arrays",
                         kernel.local_bytes - (int)code->local_bytes);
    else
        vy_string_add(out, ", nothing spilled");
    vy_string_format(out, " (by the driver of %s, sm_%d)\n", kernel.device, kernel.architecture);
    return 1;
}

static void add_assembled(vy_string *out, const vy_ptx_code *code, const char *arch) {
    vy_ptx_assembly a = {0};
    vyre_error error;
    if (vy_ptx_assemble(code, arch, &a, &error) == VYRE_OK) {
        const char *log = a.said.text;
        uint64_t stored = number_before(log, "bytes spill stores"), loaded = number_before(log, "bytes spill loads");
        vy_string_format(out, "  registers  %" PRIu64, number_before(log, "registers"));
        if (stored || loaded)
            vy_string_format(out, ", spilled: %" PRIu64 " bytes stored, %" PRIu64 " loaded\n", stored, loaded);
        else
            vy_string_add(out, ", nothing spilled\n");
    } else if (!add_jit_compiled(out, code)) {
        vy_string_format(out, "  registers  unknown: %s, and no NVIDIA device was found (%s)\n", error.message,
                         error.fix);
    }
    vy_ptx_assembly_free(&a);
}

/* Adds the launch parameters, and registers and spills if ptxas or a device is available. The ops of the program are
 * resolved; options->arch is set. */
static void add_ptx(vy_string *out, vyre_program *program, const vyre_emit_options *options) {
    vy_compiled compiled;
    vy_ptx_code code;
    vyre_error error;
    if (vy_target_ptx_make(program, options, &compiled, &code, &error) != VYRE_OK) {
        vy_string_format(out, "  ptx        none: %s\n", error.message);
        vy_ptx_free(&code);
        return;
    }
    vy_string_format(out, "  ptx        version %" PRIu32 ".%" PRIu32 " for sm_%" PRIu32 " and later, %zu bytes\n",
                     code.version / 10, code.version % 10, code.architecture, code.text.size);
    vy_string_format(out, "  launch     %" PRIu32 " threads per block", code.block[0] * code.block[1] * code.block[2]);
    if (code.static_bytes + code.dynamic_bytes)
        vy_string_format(out, ", %" PRIu32 " bytes of shared memory", code.static_bytes + code.dynamic_bytes);
    if (code.local_bytes)
        vy_string_format(out, ", %" PRIu32 " bytes of arrays per thread", code.local_bytes);
    vy_string_char(out, '\n');
    if (code.needs_cooperative)
        vy_string_add(out,
                      "  barriers   grid barriers: in one launch if all workgroups are resident, otherwise as several "
                      "launches\n");
    if (compiled.factor > 1)
        vy_string_format(out, "  coarsened  %" PRIu32 " invocations per thread\n", compiled.factor);
    else
        vy_string_format(out, "  coarsened  no: %s\n", compiled.reason);
    add_assembled(out, &code, options->arch);
    vy_ptx_free(&code);
}

/* ---- programs ---- */

/* A number and its plural suffix. */
#define PLURAL(n) (n), (n) == 1 ? "" : "s"

static void add_buffers(vy_string *out, const vyre_program *program) {
    vyre_buffer_info buffer;

    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        vy_string count = {0};
        vy_string_format(out, "  buffer     %s : %s %s", buffer.name, vyre_type_name(buffer.type),
                         vy_accesses[buffer.access].name);
        tool_summary_count(&count, program, i);
        if (count.length)
            vy_string_format(out, " count %s", count.text);
        else
            vy_string_add(out, tool_buffer_needs_count(&buffer) ? ", count given at dispatch (--count)"
                                                                : ", count determined by its value");
        vy_string_char(out, '\n');
        vy_string_free(&count);
    }
}

static void add_arrays(vy_string *out, const vyre_program *program) {
    const vy_function *entry = vy_program_entry(program);

    for (uint32_t i = program->buffer_count; entry && i < entry->memory_count; i++) {
        const vy_memory *memory = &program->memories.items[entry->first_memory + i];
        int is_constant = memory->space == VY_SPACE_CONSTANT;
        vy_string_format(out, "  %s %s : %s [%u] %s, %zu bytes\n", is_constant ? "const     " : "array     ",
                         vy_symbol_name(program, memory->name), vyre_type_name((vyre_type)memory->type),
                         memory->elements,
                         is_constant                           ? "read"
                         : memory->space == VY_SPACE_WORKGROUP ? "workgroup"
                                                               : "private",
                         (size_t)memory->elements * vyre_type_size((vyre_type)memory->type));
    }
}

static void add_stats(vy_string *out, const char *label, const vyre_program *program) {
    vyre_program_stats stats;

    vyre_program_get_stats(program, &stats);
    vy_string_format(out, "  %-10s %u statement%s, %u expression%s, %u variable%s\n", label, PLURAL(stats.statements),
                     PLURAL(stats.expressions), PLURAL(stats.variables));
}

/* The functions, the size after inlining, and the provenance. */
static void add_inlined(vy_string *out, tool_file *file, vyre_program *program) {
    vyre_program *resolved = NULL, *flat = NULL;
    vyre_error error;

    for (size_t i = 0; i < vyre_program_function_count(program); i++)
        vy_string_format(out, "%s%s", i ? ", " : "  functions  ", vyre_program_function_name(program, i));
    if (vyre_program_function_count(program))
        vy_string_char(out, '\n');
    else if (!(program->facts & VY_PROGRAM_HAS_OP_CALL))
        return;
    if (tool_file_resolve(file, program, NULL, &resolved, &error) == VYRE_OK &&
        vyre_program_inline(resolved, &flat, &error) == VYRE_OK) {
        add_stats(out, "inlined", flat);
        add_provenance(out, flat, vyre_program_dialects(resolved));
    } else {
        vy_string_format(out, "  inlined    not possible: %s\n", error.message);
    }
    vyre_program_release(flat);
    vyre_program_release(resolved);
}

/* The ops and capabilities that a backend must have. */
static void add_requirements(vy_string *out, tool_file *file, vyre_program *program, int json) {
    vyre_program *resolved = NULL;
    vyre_error error;
    vyre_status status = tool_file_resolve(file, program, NULL, &resolved, &error);
    if (json)
        tool_requirements_json(out, resolved);
    else if (status == VYRE_OK)
        tool_requirements(out, resolved);
    else
        vy_string_format(out, "  ops        unknown: %s\n", error.message);
    vyre_program_release(resolved);
}

/* The launch on an NVIDIA device. */
static void add_target(vy_string *out, tool_file *file, vyre_program *program, const vyre_emit_options *target) {
    vyre_program *resolved = NULL;
    vyre_error error;
    if (tool_file_resolve(file, program, NULL, &resolved, &error) == VYRE_OK)
        add_ptx(out, resolved, target);
    else
        vy_string_format(out, "  ptx        none: %s\n", error.message);
    vyre_program_release(resolved);
}

static void add_program(vy_string *out, tool_file *file, vyre_program *program) {
    vyre_digest digest;
    vyre_param_info param;
    char text[65];
    size_t start;

    vyre_program_fingerprint(program, &digest);
    vyre_digest_format(&digest, text);
    vy_string_format(out, "program %s\n  fingerprint %s\n  shape      ", vyre_program_name(program), text);
    tool_summary_line(out, program);
    vy_string_char(out, '\n');
    for (size_t i = 0; vyre_program_param(program, i, &param); i++)
        vy_string_format(out, "  param      %s : %s\n", param.name, vyre_type_name(param.type));
    add_buffers(out, program);
    add_arrays(out, program);
    vy_string_add(out, "  uses       ");
    start = out->length;
    tool_summary_uses(out, program);
    vy_string_add(out, out->length == start ? "none\n" : "\n");
    add_requirements(out, file, program, 0);
    vy_string_format(out, "  bits       %s\n",
                     vyre_program_schedule_dependent(program) ? "schedule-dependent: bit identity is not guaranteed"
                     : vyre_program_numerics(program) == VYRE_NUMERICS_RELAXED
                         ? "relaxed: within a bound, not bit-identical"
                         : "identical on every device");
    add_stats(out, "size", program);
    add_inlined(out, file, program);
}

static int check_target(const tool_command *self, const explain_options *options) {
    uint32_t architecture;
    vyre_error error;
    if (options->target && strcmp(options->target, "ptx") != 0)
        return tool_usage(self, "use --target ptx", "unknown target `%s`", options->target);
    if (options->target && options->json)
        return tool_usage(self, "remove one of them", "--json and --target cannot be combined");
    if (vy_target_ptx_arch(options->architecture, &architecture, &error) != VYRE_OK)
        return tool_usage(self, error.fix, "%s", error.message);
    return TOOL_OK;
}

static int explain_file(const tool_command *self, const explain_options *options, const char *path) {
    tool_file file = {0};
    vyre_program *only = NULL;
    vy_string out = {0};
    const vyre_emit_options target = {.struct_size = sizeof target, .arch = options->architecture};
    size_t shown = 0;
    int code = check_target(self, options);

    if (code == TOOL_OK)
        code = tool_file_load(self, path, &options->defines, NULL, &file);
    if (code == TOOL_OK && options->program)
        code = tool_file_select(self, &file, options->program, &only);
    for (size_t i = 0; code == TOOL_OK && i < tool_file_program_count(&file); i++) {
        vyre_program *program = tool_file_program(&file, i);
        if (only && program != only)
            continue;
        if (shown++)
            vy_string_add(&out, options->json ? ",\n " : "\n");
        if (options->json) {
            vy_string_add(&out, shown == 1 ? "[" : "");
            tool_summary_json(&out, program);
            add_requirements(&out, &file, program, 1);
            vy_string_char(&out, '}');
        } else {
            add_program(&out, &file, program);
            if (options->target)
                add_target(&out, &file, program, &target);
        }
    }
    if (code == TOOL_OK && options->json)
        vy_string_add(&out, shown ? "]\n" : "[]\n");
    else if (code == TOOL_OK && shown == 0)
        vy_string_format(&out, "%s contains functions only\n", path);
    tool_file_free(&file);
    if (code != TOOL_OK) {
        vy_string_free(&out);
        return code;
    }
    return tool_print(&out);
}

/* ---- names, for completion in a shell ---- */

static int print_codes(void) {
    vy_string out = {0};
    vyre_explanation e;

    for (size_t i = 0; vyre_explain_at(i, &e); i++)
        vy_string_format(&out, "%s\n", e.code);
    return tool_print(&out);
}

/* Adds a name once: programs of a file may share names. */
static void add_value(vy_string *out, const char *name) {
    size_t length = strlen(name);

    for (const char *line = out->text; line && *line; line = strchr(line, '\n') + 1)
        if (strncmp(line, name, length) == 0 && line[length] == '=')
            return;
    vy_string_format(out, "%s=\n", name);
}

static void add_values(vy_string *out, const vyre_program *program) {
    vyre_param_info param;
    vyre_buffer_info buffer;

    for (size_t i = 0; vyre_program_param(program, i, &param); i++)
        add_value(out, param.name);
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++)
        if (vy_accesses[buffer.access].is_input)
            add_value(out, buffer.name);
}

/* Prints the values of all programs, or of the selected one: the line being completed may not name it yet. */
static int print_values(const tool_command *self, const explain_options *options, const char *path) {
    tool_file file = {0};
    vyre_program *only = NULL;
    vy_string out = {0};
    int code = tool_file_load(self, path, &options->defines, NULL, &file);

    if (code == TOOL_OK && options->program)
        code = tool_file_select(self, &file, options->program, &only);
    for (size_t i = 0; code == TOOL_OK && i < tool_file_program_count(&file); i++)
        if (!only || tool_file_program(&file, i) == only)
            add_values(&out, tool_file_program(&file, i));
    tool_file_free(&file);
    if (code == TOOL_OK)
        return tool_print(&out);
    vy_string_free(&out);
    return code;
}

/* A code contains neither a dot nor a slash; a path usually does. */
static int is_file(const char *word) {
    return strpbrk(word, "./") != NULL || strcmp(word, "-") == 0 || access(word, F_OK) == 0;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const explain_options *options = given;

    if (options->all)
        return options->markdown ? explain_markdown() : explain_all(options->json);
    if (options->names && args->words.count == 0)
        return print_codes();
    if (options->names && args->words.count == 1)
        return print_values(self, options, args->words.items[0]);
    if (args->words.count != 1)
        return tool_usage(self, "pass one code, as in `vyre explain V001`, or one file",
                          "%u arguments are given; one is expected", args->words.count);
    return is_file(args->words.items[0]) ? explain_file(self, options, args->words.items[0])
                                         : explain_code(self, args->words.items[0], options->json);
}

static const explain_options defaults = {.architecture = "sm_90"};

const tool_command tool_cmd_explain = {
    .name = "explain",
    .summary = "explain a diagnostic code, or describe a program",
    .usage = "CODE | FILE [OPTIONS]",
    .details = "CODE is the code of a diagnostic, or the name of a status. For a FILE, prints the buffers with their "
               "counts, the\n"
               "arrays, the features it uses, the ops and capabilities that it needs from a backend, its fingerprint, "
               "its size\n"
               "before and after inlining, and the dialect ops that it calls. --target ptx adds the launch on an "
               "NVIDIA device,\n"
               "with registers and spills if ptxas or a device is available.\n",
    .examples = "  vyre explain V001\n"
                "  vyre explain TRAPPED\n"
                "  vyre explain examples/sha256.vyre\n"
                "  vyre explain examples/nbody.vyre --target ptx\n",
    .options = options_table,
    .options_size = sizeof(explain_options),
    .defaults = &defaults,
    .run = run_command,
};
