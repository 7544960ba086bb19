/* Summary of a program (program_summary.h). */
#include "tool/program_summary.h"

#include "ir/model.h"
#include "ir/op_tables.h"
#include "tool/bindings.h"
#include "tool/tool.h"
#include "vyre/backend.h"

#include <inttypes.h>

static const struct {
    uint32_t bit;
    const char *name;
} fact_names[] = {
    {VY_PROGRAM_HAS_BARRIER, "barriers or collectives"},
    {VY_PROGRAM_HAS_GRID_BARRIER, "grid barrier"},
    {VY_PROGRAM_HAS_ATOMIC, "atomics"},
    {VY_PROGRAM_HAS_TRAP, "traps"},
    {VY_PROGRAM_HAS_PRINT, "prints"},
    {VY_PROGRAM_HAS_OP_CALL, "ops of dialects"},
    {VY_PROGRAM_HAS_CALL, "functions"},
};

void tool_summary_uses(vy_string *out, const vyre_program *program) {
    size_t start = out->length;

    for (size_t i = 0; i < sizeof fact_names / sizeof *fact_names; i++)
        if (program->facts & fact_names[i].bit)
            vy_string_format(out, "%s%s", out->length > start ? ", " : "", fact_names[i].name);
}

/* Prints a size expression in the syntax of the language. Every nested operator is parenthesised. The validator bounds
 * the depth. */
static void add_size(vy_string *out, const vyre_program *program, uint32_t index, int nested) {
    static const struct {
        const char *symbol;
        int is_call;
    } forms[VY_SIZE_KIND_COUNT] = {
        [VY_SIZE_ADD] = {"+", 0},   [VY_SIZE_SUB] = {"-", 0},
        [VY_SIZE_MUL] = {"*", 0},   [VY_SIZE_DIV] = {"/", 0},
        [VY_SIZE_REM] = {"%", 0},   [VY_SIZE_MIN] = {"min", 1},
        [VY_SIZE_MAX] = {"max", 1}, [VY_SIZE_DIV_CEIL] = {"div_ceil", 1},
    };
    const vy_size *size = &program->sizes.items[index];

    switch (size->kind) {
    case VY_SIZE_LITERAL:
        vy_string_format(out, "%" PRIu64, size->value);
        return;
    case VY_SIZE_PARAM:
        vy_string_add(out, vy_symbol_name(program, program->variables.items[size->a].name));
        return;
    case VY_SIZE_LEN:
        vy_string_format(out, "len(%s)", vy_symbol_name(program, program->memories.items[size->a].name));
        return;
    default:
        break;
    }
    if (forms[size->kind].is_call)
        vy_string_format(out, "%s(", forms[size->kind].symbol);
    else if (nested)
        vy_string_char(out, '(');
    add_size(out, program, size->a, !forms[size->kind].is_call);
    if (forms[size->kind].is_call)
        vy_string_add(out, ", ");
    else
        vy_string_format(out, " %s ", forms[size->kind].symbol);
    add_size(out, program, size->b, !forms[size->kind].is_call);
    if (forms[size->kind].is_call || nested)
        vy_string_char(out, ')');
}

static void add_sizes(vy_string *out, const vyre_program *program) {
    for (int i = 0; i < 3 && program->grid.sizes[i] != VY_NONE; i++) {
        if (i)
            vy_string_add(out, ", ");
        add_size(out, program, program->grid.sizes[i], 0);
    }
}

void tool_summary_grid(vy_string *out, const vyre_program *program) {
    const vy_grid *grid = &program->grid;

    switch (grid->kind) {
    case VYRE_GRID_OVER:
        vy_string_format(out, "over %s", vy_symbol_name(program, program->memories.items[grid->memory].name));
        return;
    case VYRE_GRID_GROUPS:
        add_sizes(out, program);
        return;
    case VYRE_GRID_ELEMENTS:
        vy_string_add(out, "elements ");
        add_sizes(out, program);
        return;
    case VYRE_GRID_INDIRECT:
        vy_string_format(out, "indirect %s[%u]", vy_symbol_name(program, program->memories.items[grid->memory].name),
                         grid->offset);
        return;
    default:
        vy_string_add(out, "given at dispatch");
    }
}

void tool_summary_count(vy_string *out, const vyre_program *program, size_t buffer) {
    const vy_function *entry = vy_program_entry(program);
    uint32_t size = entry ? program->memories.items[entry->first_memory + buffer].size : VY_NONE;

    if (size != VY_NONE)
        add_size(out, program, size, 0);
}

static void add_workgroup(vy_string *out, const vyre_program *program) {
    const uint32_t *size = program->workgroup;

    vy_string_format(out, "%u", size[0]);
    if (size[1] > 1 || size[2] > 1)
        vy_string_format(out, " x %u", size[1]);
    if (size[2] > 1)
        vy_string_format(out, " x %u", size[2]);
}

static void add_plural(vy_string *out, size_t count, const char *noun) {
    vy_string_format(out, ", %zu %s%s", count, noun, count == 1 ? "" : "s");
}

void tool_summary_line(vy_string *out, const vyre_program *program) {
    vyre_program_stats stats;

    vyre_program_get_stats(program, &stats);
    vy_string_format(out, "%s%s, workgroup ", vyre_program_level(program) == VYRE_LEVEL_LEGAL ? "level legal, " : "",
                     vyre_program_numerics(program) == VYRE_NUMERICS_STRICT ? "strict" : "relaxed");
    add_workgroup(out, program);
    vy_string_add(out, ", grid ");
    tool_summary_grid(out, program);
    add_plural(out, vyre_program_param_count(program), "param");
    add_plural(out, vyre_program_buffer_count(program), "buffer");
    add_plural(out, stats.statements, "statement");
}

static void add_json_buffers(vy_string *out, const vyre_program *program) {
    vyre_buffer_info buffer;

    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        vy_string count = {0};
        tool_json_open(out, "", '{');
        tool_json_text(out, "name", buffer.name);
        tool_json_text(out, "type", vyre_type_name(buffer.type));
        tool_json_text(out, "access", vy_accesses[buffer.access].name);
        tool_summary_count(&count, program, i);
        if (buffer.is_static)
            tool_json_number(out, "count", buffer.count);
        else
            tool_json_optional(out, "count", count.text);
        vy_string_char(out, '}');
        vy_string_free(&count);
    }
}

void tool_summary_json(vy_string *out, const vyre_program *program) {
    vyre_program_stats stats;
    vyre_param_info param;
    vyre_digest digest;
    char digest_text[65];
    vy_string grid = {0};

    vyre_program_get_stats(program, &stats);
    vyre_program_fingerprint(program, &digest);
    vyre_digest_format(&digest, digest_text);
    tool_summary_grid(&grid, program);
    vy_string_char(out, '{');
    tool_json_text(out, "name", vyre_program_name(program));
    tool_json_text(out, "fingerprint", digest_text);
    tool_json_text(out, "level", vyre_program_level(program) == VYRE_LEVEL_LEGAL ? "legal" : "source");
    tool_json_text(out, "numerics", vyre_program_numerics(program) == VYRE_NUMERICS_STRICT ? "strict" : "relaxed");
    tool_json_flag(out, "schedule_dependent", vyre_program_schedule_dependent(program));
    vy_string_format(out, ",\"workgroup\":[%u,%u,%u]", program->workgroup[0], program->workgroup[1],
                     program->workgroup[2]);
    tool_json_text(out, "grid", grid.text);
    vy_string_free(&grid);
    tool_json_open(out, "uses", '[');
    for (size_t i = 0; i < sizeof fact_names / sizeof *fact_names; i++)
        if (program->facts & fact_names[i].bit)
            tool_json_text(out, "", fact_names[i].name);
    vy_string_add(out, "],\"params\":[");
    for (size_t i = 0; vyre_program_param(program, i, &param); i++) {
        tool_json_open(out, "", '{');
        tool_json_text(out, "name", param.name);
        tool_json_text(out, "type", vyre_type_name(param.type));
        vy_string_char(out, '}');
    }
    vy_string_add(out, "],\"buffers\":[");
    add_json_buffers(out, program);
    vy_string_format(out, "],\"functions\":%u,\"statements\":%u,\"expressions\":%u,\"variables\":%u", stats.functions,
                     stats.statements, stats.expressions, stats.variables);
}

/* ---- requirements ---- */

static int has_op(const vy_op_set *set, unsigned member) {
    return vy_op_set_name(member) && (set->words[member / 64] >> member % 64 & 1);
}

/* The minimum value of a capability that the program needs. */
static uint64_t required_value(const vyre_program *program, const vy_op_set *ops, vyre_capability capability) {
    const uint32_t *size = program->workgroup;
    switch (capability) {
    case VYRE_CAPABILITY_SUBGROUP_OPS:
        for (unsigned i = VY_OP_SET_SUBGROUP; i < VY_OP_SET_LOAD; i++)
            if (has_op(ops, i))
                return 1;
        return 0;
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z:
        return size[capability - VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X];
    case VYRE_CAPABILITY_MAX_INVOCATIONS:
        return (uint64_t)size[0] * size[1] * size[2];
    default:
        return 0;
    }
}

/* The capabilities with the value that every backend has; every workgroup holds one invocation. */
static const struct {
    vyre_capability capability;
    const char *name;
    uint64_t always;
} capabilities[] = {
#define X(ID, name, fallback, doc)                                                                                     \
    {VYRE_CAPABILITY_##ID, name, VYRE_CAPABILITY_##ID == VYRE_CAPABILITY_MAX_INVOCATIONS ? 1 : fallback},
    VYRE_CAPABILITY_LIST(X)
#undef X
};

void tool_requirements(vy_string *out, vyre_program *program) {
    vy_op_set ops = vy_program_ops(program);
    const char *separator = "  ops        ";
    for (unsigned i = 0; i < VY_OP_SET_COUNT; i++)
        if (has_op(&ops, i)) {
            vy_string_format(out, "%s%s", separator, vy_op_set_name(i));
            separator = ", ";
        }
    vy_string_add(out, separator[0] == ' ' ? "  ops        none\n" : "\n");
    separator = "  needs      ";
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        uint64_t least = required_value(program, &ops, capabilities[i].capability);
        if (least > capabilities[i].always) {
            vy_string_format(out, "%s%s %" PRIu64, separator, capabilities[i].name, least);
            separator = ", ";
        }
    }
    vy_string_add(out, separator[0] == ' ' ? "  needs      no capability\n" : "\n");
}

void tool_requirements_json(vy_string *out, vyre_program *program) {
    if (!program) {
        vy_string_add(out, ",\"ops\":null,\"capabilities\":null");
        return;
    }
    vy_op_set ops = vy_program_ops(program);
    tool_json_open(out, "ops", '[');
    for (unsigned i = 0; i < VY_OP_SET_COUNT; i++)
        if (has_op(&ops, i))
            tool_json_text(out, "", vy_op_set_name(i));
    vy_string_char(out, ']');
    tool_json_open(out, "capabilities", '{');
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        uint64_t least = required_value(program, &ops, capabilities[i].capability);
        if (least > capabilities[i].always)
            tool_json_number(out, capabilities[i].name, least);
    }
    vy_string_char(out, '}');
}
