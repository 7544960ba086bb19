/* vyre ops: prints the operations of the language (operators, builtins, atomics, collectives) as text, Markdown
 * (docs/ops.md) or JSON. */
#include "base/string.h"
#include "ir/op_tables.h"
#include "tool/args.h"
#include "tool/tool.h"
#include "vyre/op.h"

typedef struct ops_options {
    int markdown, json;
} ops_options;

static const tool_option options_table[] = {
    {"markdown", 0, NULL, TOOL_FLAG, offsetof(ops_options, markdown), "print the reference page docs/ops.md"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(ops_options, json), "print one JSON array"},
    TOOL_OPTION_END,
};

/* An operation of any of the four tables. */
typedef struct entry {
    const char *group;
    char name[64], written[64], types[96];
    const char *edge, *doc;
} entry;

static const char *const groups[] = {"operator", "builtin", "atomic", "collective"};
static const char *const group_titles[] = {"Operators", "Builtins", "Atomics", "Collectives"};

static const char *class_words(unsigned classes) {
    switch (classes) {
    case VYRE_CLASS_BOOL:
        return "bool";
    case VYRE_CLASS_INTEGER:
        return "integer";
    case VYRE_CLASS_FLOAT:
        return "float";
    case VYRE_CLASS_NUMBER:
        return "number";
    default:
        return "any";
    }
}

/* Marks operations that only programs of level legal may use. */
static void mark_level(entry *e, unsigned level) {
    size_t length = strlen(e->types);
    if (level == VYRE_LEVEL_LEGAL)
        snprintf(e->types + length, sizeof e->types - length, " (level legal)");
}

static void describe_op(vyre_op op, entry *e) {
    static const char *const letters[] = {"a", "b", "c"};
    const vyre_op_info *row = vyre_op_get(op);
    const char *t = class_words(row->classes);

    *e = (entry){.group = groups[0], .edge = row->edge, .doc = row->doc};
    snprintf(e->name, sizeof e->name, "%s", row->name);
    if (row->rule == VYRE_RULE_CAST)
        snprintf(e->written, sizeof e->written, "T(a)");
    else if (row->rule == VYRE_RULE_BITCAST)
        snprintf(e->written, sizeof e->written, "bitcast<T>(a)");
    else if (row->rule == VYRE_RULE_SELECT)
        snprintf(e->written, sizeof e->written, "a ? b : c");
    else if (row->symbol && row->arity == 1)
        snprintf(e->written, sizeof e->written, "%sa", row->symbol);
    else if (row->symbol)
        snprintf(e->written, sizeof e->written, "a %s b", row->symbol);
    else {
        size_t at = (size_t)snprintf(e->written, sizeof e->written, "%s(", row->name);
        for (unsigned i = 0; i < row->arity && i < 3; i++)
            at += (size_t)snprintf(e->written + at, sizeof e->written - at, "%s%s", i ? ", " : "", letters[i]);
        snprintf(e->written + at, sizeof e->written - at, ")");
    }
    switch (row->rule) {
    case VYRE_RULE_COMPARE:
        snprintf(e->types, sizeof e->types, "%s, same -> bool", t);
        break;
    case VYRE_RULE_TEST:
        snprintf(e->types, sizeof e->types, "%s -> bool", t);
        break;
    case VYRE_RULE_SELECT:
        snprintf(e->types, sizeof e->types, "bool, any, same -> same");
        break;
    case VYRE_RULE_CAST:
        snprintf(e->types, sizeof e->types, "any -> number T");
        break;
    case VYRE_RULE_BITCAST:
        snprintf(e->types, sizeof e->types, "number -> number T of the same width");
        break;
    default:
        snprintf(e->types, sizeof e->types, "%s%s%s -> same", t, row->arity > 1 ? ", same" : "",
                 row->arity > 2 ? ", same" : "");
    }
    mark_level(e, row->level);
}

static void describe_builtin(int builtin, entry *e) {
    const vy_builtin_row *row = &vy_builtins[builtin];

    *e = (entry){.group = groups[1], .edge = "none", .doc = row->doc};
    snprintf(e->name, sizeof e->name, "%s", row->name);
    snprintf(e->written, sizeof e->written, row->has_axes ? "%s.x .y .z" : "%s", row->name);
    snprintf(e->types, sizeof e->types, "u32");
}

static void describe_atomic(int atomic, entry *e) {
    const vy_atomic_row *row = &vy_atomics[atomic];
    static const char *const operands[] = {"", ", a", ", a, b"};

    *e = (entry){.group = groups[2], .edge = "out of bounds: yields zero and writes nothing", .doc = row->doc};
    snprintf(e->name, sizeof e->name, "%s", row->name);
    snprintf(e->written, sizeof e->written, "%s(m[i]%s)", row->name, operands[row->operands]);
    snprintf(e->types, sizeof e->types, row->gives ? "32- or 64-bit integer -> same" : "32- or 64-bit integer");
}

static void describe_collective(int collective, entry *e) {
    const vy_collective_row *row = &vy_collectives[collective];
    const char *op = row->combines ? "_OP" : "", *arguments = row->operands == 2 ? "(a, b)" : "(a)";
    const char *name = row->name;

    *e = (entry){.group = groups[3], .doc = row->doc};
    e->edge = row->combines
                  ? "OP is add, mul, min, max, and, or, xor; one order of combination for every type (docs/bits.md)"
                  : "requires workgroup-uniform control flow";
    snprintf(e->name, sizeof e->name, "%s", name);
    if (row->over[0])
        snprintf(e->written, sizeof e->written, "workgroup_%s%s%s", name, op, arguments);
    else
        snprintf(e->written, sizeof e->written, "subgroup_%s<W>%s", name, arguments);
    snprintf(e->types, sizeof e->types, "%s",
             row->over[0] ? "over the workgroup, or subgroup_...<W>" : "over a subgroup of W lanes");
    mark_level(e, row->level);
}

/* The entry at an index of all tables; returns 0 beyond the last. */
static int entry_at(size_t index, entry *e) {
    if (index < VYRE_OP_COUNT) {
        describe_op((vyre_op)index, e);
        return 1;
    }
    index -= VYRE_OP_COUNT;
    if (index < VYRE_BUILTIN_COUNT) {
        describe_builtin((int)index, e);
        return 1;
    }
    index -= VYRE_BUILTIN_COUNT;
    if (index < VYRE_ATOMIC_COUNT) {
        describe_atomic((int)index, e);
        return 1;
    }
    index -= VYRE_ATOMIC_COUNT;
    if (index < VYRE_COLLECTIVE_COUNT) {
        describe_collective((int)index, e);
        return 1;
    }
    return 0;
}

static void add_list(vy_string *out) {
    const char *group = NULL;
    entry e;

    for (size_t i = 0; entry_at(i, &e); i++) {
        if (e.group != group)
            vy_string_format(out, "%s%ss\n", group ? "\n" : "", e.group);
        group = e.group;
        vy_string_format(out, "  %-24s %-40s %s\n", e.name, e.written, e.doc);
    }
}

/* '|' ends a cell and '<' may start a tag: both are escaped. */
static void add_cell(vy_string *out, const char *text, int code) {
    vy_string_add(out, code ? "`" : "");
    for (; *text; text++) {
        if (*text == '|')
            vy_string_add(out, "\\|");
        else if (*text == '<' && !code)
            vy_string_add(out, "&lt;");
        else
            vy_string_char(out, *text);
    }
    vy_string_add(out, code ? "` | " : " | ");
}

static void add_markdown(vy_string *out) {
    size_t group = SIZE_MAX;
    entry e;

    vy_string_add(
        out,
        "# Ops\n\nEvery operation of the language, one row each. This page is generated by `vyre ops "
        "--markdown` from the tables in\n"
        "`include/vyre/op.h`; a test fails if it is out of date. `same` is the type of the first "
        "operand (for `select`: of\n"
        "the arms). [bits.md](bits.md) defines the results. Operations of level legal occur only in programs that\n"
        "the library lowers for a device ([language.md](language.md#level-legal)).\n");
    for (size_t i = 0; entry_at(i, &e); i++) {
        if (group == SIZE_MAX || groups[group] != e.group) {
            for (group = 0; groups[group] != e.group;)
                group++;
            vy_string_format(
                out, "\n## %s\n\n| name | written | types | meaning | edges |\n| --- | --- | --- | --- | --- |\n",
                group_titles[group]);
        }
        vy_string_add(out, "| ");
        add_cell(out, e.name, 1);
        add_cell(out, e.written, 1);
        add_cell(out, e.types, 0);
        add_cell(out, e.doc, 0);
        add_cell(out, e.edge, 0);
        out->length--; /* the last separator ends the line */
        vy_string_char(out, '\n');
    }
}

static void add_json_entry(vy_string *out, const entry *e) {
    vy_string_char(out, '{');
    tool_json_text(out, "kind", e->group);
    tool_json_text(out, "name", e->name);
    tool_json_text(out, "written", e->written);
    tool_json_text(out, "types", e->types);
    tool_json_text(out, "edge", e->edge);
    tool_json_text(out, "doc", e->doc);
    vy_string_char(out, '}');
}

static void add_details(vy_string *out, const entry *e) {
    vy_string_format(out, "%s: %s\n  written  %s\n  types    %s\n  edges    %s\n", e->name, e->doc, e->written,
                     e->types, e->edge);
}

static int is_requested(const entry *e, const char *name) {
    size_t length = strlen(e->name);
    /* reduce_add, workgroup_reduce_add and subgroup_reduce_add are forms of reduce. */
    const char *bare = strncmp(name, "workgroup_", 10) == 0 ? name + 10
                       : strncmp(name, "subgroup_", 9) == 0 ? name + 9
                                                            : name;

    if (strcmp(e->name, name) == 0)
        return 1;
    return e->group == groups[3] && strncmp(e->name, bare, length) == 0 &&
           (bare[length] == '\0' || bare[length] == '_');
}

static int unknown_op(const tool_command *self, const char *name) {
    vy_suggestion suggestion;
    const char *closest;
    entry e;

    vy_suggestion_start(&suggestion, name, strlen(name));
    for (size_t i = 0; entry_at(i, &e); i++)
        vy_suggestion_offer(&suggestion, e.name);
    closest = vy_suggestion_get(&suggestion);
    return tool_usage(self,
                      closest ? VY_FIX("did you mean `%s`?", closest)
                              : "see `vyre ops`, and `vyre dialects list` for ops of dialects such as `exp`",
                      "unknown op `%.100s`", name);
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const ops_options *options = given;
    const char *name = args->words.count ? args->words.items[0] : NULL;
    vy_string out = {0};
    int shown = 0;
    entry e;

    if (args->words.count > 1)
        return tool_usage(self, "name one op, or none for all", "%u ops are named", args->words.count);
    if (options->markdown) {
        add_markdown(&out);
        return tool_print(&out);
    }
    if (!name && !options->json) {
        add_list(&out);
        return tool_print(&out);
    }
    for (size_t i = 0; entry_at(i, &e); i++) {
        if (name && !is_requested(&e, name))
            continue;
        if (options->json) {
            vy_string_add(&out, shown ? ",\n " : "[");
            add_json_entry(&out, &e);
        } else {
            add_details(&out, &e);
        }
        shown++;
    }
    if (!shown) {
        vy_string_free(&out);
        return unknown_op(self, name);
    }
    if (options->json)
        vy_string_add(&out, "]\n");
    return tool_print(&out);
}

const tool_command tool_cmd_ops = {
    .name = "ops",
    .summary = "list the operations of the language and their rules",
    .usage = "[NAME] [OPTIONS]",
    .details = "",
    .examples = "  vyre ops\n"
                "  vyre ops div\n"
                "  vyre ops workgroup_reduce_add\n"
                "  vyre ops --markdown > docs/ops.md\n",
    .options = options_table,
    .options_size = sizeof(ops_options),
    .run = run_command,
};
