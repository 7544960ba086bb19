/* The file that the C emitter writes (c.h): names, declarations, the head of an invocation, and the function that runs
 * the grid.
 *
 * The body is written first, since it determines the functions, ids and fields that are needed. */
#include "emit/c/emitter.h"

#include "base/diagnostics.h"
#include "base/status.h"
#include "ir/eval.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- templates ---- */

/* Whether a line of a template is written. Its first character is the condition: always, or if the program reports
 * traps, polls, has barriers, no barriers (straight), barriers of the grid, barriers of the workgroup alone (local),
 * state of a workgroup, such state without barriers of the grid (memory), no such state (0). */
static int is_wanted(const vy_c *c, char condition) {
    static const char conditions[] = " rpbsglwm0";
    int keeps = c->barriers;
    for (uint32_t i = vy_c_buffers_end(c); i < vy_c_memories_end(c); i++)
        keeps |= vy_c_memory_at(c, i)->space == VY_SPACE_WORKGROUP;
    const int holds[] = {1,
                         c->reports,
                         c->polls,
                         c->barriers,
                         !c->barriers,
                         c->grid_barriers,
                         c->barriers && !c->grid_barriers,
                         keeps,
                         keeps && !c->grid_barriers,
                         !keeps};
    return holds[strchr(conditions, condition) - conditions];
}

/* Writes the lines of a template: $n is the name of the program, $x, $y and $z are the size of a workgroup, $s is the
 * number of its invocations, $v the name of the source. */
static void put(vy_c *c, const char *text) {
    const uint32_t *size = c->program->workgroup;
    for (; *text; text += strcspn(text, "\n") + 1) {
        if (!is_wanted(c, *text))
            continue;
        for (const char *at = text + 1; *at != '\n'; at++)
            if (*at != '$')
                vy_string_char(c->out, *at);
            else if (*++at == 'n')
                vy_string_add(c->out, vyre_program_name(c->program));
            else if (*at == 'v')
                vy_c_source_name(c);
            else
                vy_string_format(c->out, "%" PRIu32, *at == 's' ? size[0] * size[1] * size[2] : size[*at - 'x']);
        vy_string_char(c->out, '\n');
    }
}

/* ---- names ---- */

static void name_all(vy_c *c) {
    static const char *const functions[] = {"run", "ids", "invocation", "report", "poll"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions && c->status == VYRE_OK; i++)
        (void)vy_c_unique(c, VY_FIX("%s_%s", vyre_program_name(c->program), functions[i]));
    vy_c_name_all(c);
}

/* ---- the interface ---- */

static const char head[] =
    " /* $n: a compute kernel as plain C17, written by vyre from $v.\n"
    "  *\n"
    "  * $n_run() runs the whole grid on the calling thread, one invocation after the other, and computes the\n"
    "  * same bits as every backend. Buffers must not overlap. It returns\n"
    "  *   0  success\n"
    "r *   1  an invocation trapped, the smallest is trap_invocation; buffers have unspecified contents\n"
    "  *   2  a length, param or the grid contradicts the program\n"
    "w *   3  out of memory\n"
    "p *   4  stopped, as *stop was not 0; buffers have unspecified contents\n"
    "  *\n"
    "  * Compile it at any optimisation level, but without -ffast-math and -ffp-contract=fast, and link with "
    "-lm.\n"
    "  * The floating-point environment must be the default: round to nearest, subnormals kept. To include only the\n"
    "  * declarations, define VYRE_DECLARATIONS before the #include. `// 12` is line 12 of the source. */\n"
    " #include <stdbool.h>\n"
    " #include <stdint.h>\n"
    " \n"
    " struct $n_arguments {\n";
static const char end_arguments[] =
    "r    uint64_t trap_invocation; /* set by the function, if it returns 1 */\n"
    "r    uint32_t trap_code;\n"
    "p    const volatile int *stop; /* NULL, or a flag: a nonzero value stops the run */\n"
    "p    bool stopped;\n"
    " };\n"
    " int $n_run(struct $n_arguments *given);\n"
    " \n"
    " #ifndef VYRE_DECLARATIONS\n"
    " #if defined __FAST_MATH__\n"
    " #error \"floats would not have the bits of the program: compile without -ffast-math\"\n"
    " #endif\n"
    " #include <float.h>\n"
    " #include <math.h>\n"
    " #include <stdlib.h>\n"
    " #include <string.h>\n"
    " #if FLT_EVAL_METHOD != 0\n"
    " #error \"floats would have more precision than their type: on x86, compile with -mfpmath=sse -msse2\"\n"
    " #endif\n"
    " #if defined __clang__\n"
    " #pragma STDC FP_CONTRACT OFF\n"
    " #elif defined __GNUC__\n"
    " #pragma GCC optimize(\"fp-contract=off\")\n"
    " #endif\n"
    " #if defined __GNUC__ /* the source may have unused variables and constant conditions */\n"
    " #pragma GCC diagnostic push\n";
/* Of gcc and clang; of clang only; of gcc only, which assumes accesses that legalisation has excluded. */
/* clang-format off */
static const char *const warnings[] = {
    "type-limits", "tautological-compare", "bool-operation", "overflow", "unused-variable", "unused-but-set-variable",
    "unused-const-variable", "array-bounds", "uninitialized", "int-in-bool-context", "xor-used-as-pow",
    "constant-conversion", "maybe-uninitialized", "stringop-overflow", "aggressive-loop-optimizations", "bool-compare",
    "sign-compare"};
/* clang-format on */
enum { WARNINGS = sizeof warnings / sizeof *warnings, WARNINGS_OF_CLANG = 10, WARNINGS_OF_GCC = 12 };

static void write_interface(vy_c *c) {
    put(c, head);
    for (uint32_t i = 0; i < c->program->param_count; i++) {
        uint8_t type = c->program->variables.items[c->entry->first_variable + i].type;
        vy_string_format(c->out, "    %s %s; /* %s */\n", vy_c_type(c, type),
                         vy_c_text(c, c->variables[c->entry->first_variable + i]), vyre_type_name((vyre_type)type));
    }
    for (uint32_t i = c->entry->first_memory; i < vy_c_buffers_end(c); i++) {
        const vy_memory *m = vy_c_memory_at(c, i);
        vy_string_format(c->out, "    %s%s *%s; /* %s %s */\n    uint32_t %s;\n",
                         vy_accesses[m->access].is_output ? "" : "const ", vy_c_type(c, m->type), vy_c_memory(c, i),
                         vyre_type_name((vyre_type)m->type), vy_accesses[m->access].name, vy_c_length(c, i));
    }
    put(c, c->program->grid.kind == VYRE_GRID_DISPATCH
               ? "     uint32_t groups[3]; /* workgroups of $x x $y x $z */\n"
               : "     uint32_t groups[3]; /* workgroups of $x x $y x $z; {0}: the grid of the program */\n");
    put(c, end_arguments);
    for (int i = 0; i < WARNINGS; i++) {
        if (i == WARNINGS_OF_CLANG || i == WARNINGS_OF_GCC)
            vy_string_add(c->out, i == WARNINGS_OF_CLANG ? "#if defined __clang__\n" : "#else\n");
        vy_string_format(c->out, "#pragma GCC diagnostic ignored \"-W%s\"\n", warnings[i]);
    }
    vy_string_add(c->out, "#endif\n#endif\n\n/* ---- operations ---- */\n\n");
}

/* ---- tables, and the structs of an invocation and a workgroup ---- */

static void write_table(vy_c *c, uint32_t memory) {
    const vy_memory *m = vy_c_memory_at(c, memory);
    vy_string_format(c->out, "static const %s %s[%" PRIu32 "] = {\n", vy_c_type(c, m->type), vy_c_memory(c, memory),
                     m->elements);
    vy_c_table(c, memory);
    vy_string_add(c->out, "\n};\n\n");
}

static void write_types(vy_c *c) {
    vy_string_add(c->out, "/* ---- the program ---- */\n\n");
    for (uint32_t i = vy_c_buffers_end(c); i < vy_c_memories_end(c); i++)
        if (vy_c_memory_at(c, i)->space == VY_SPACE_CONSTANT)
            write_table(c, i);
    put(c, " struct $n_ids {\n"
           "     uint32_t global_id[3], local_id[3], group_id[3], group_count[3], global_size[3], local_index;\n"
           " };\n"
           " \n"
           " static inline struct $n_ids $n_ids(const uint64_t size[3], uint64_t group, uint32_t index) {\n"
           "     const uint32_t width[3] = {$x, $y, $z};\n"
           "     uint64_t plane = size[0] * size[1];\n"
           "     struct $n_ids ids = {.local_index = index};\n"
           "     for (int d = 0; d < 3; d++) {\n"
           "         ids.local_id[d] = (d == 0 ? index : d == 1 ? index / $x : index / ($x * $y)) % width[d];\n"
           "         ids.group_id[d] = (uint32_t)(d == 0 ? group % size[0] : d == 1 ? group % plane / size[0] : "
           "group / plane);\n"
           "         ids.group_count[d] = (uint32_t)size[d];\n"
           "         ids.global_id[d] = ids.group_id[d] * width[d] + ids.local_id[d];\n"
           "         ids.global_size[d] = ids.group_count[d] * width[d];\n"
           "     }\n"
           "     return ids;\n"
           " }\n"
           " \n");
    if (c->barriers)
        vy_c_state(c);
    put(c, "benum { ENDED, AT_BARRIER, AT_GRID_BARRIER };\n"
           "b\n"
           "wstruct $n_group {\n");
    vy_c_arrays(c, VY_SPACE_WORKGROUP, 0);
    put(c, "b    struct $n_invocation invocations[$s];\n"
           "w};\n"
           "w\n"
           "rstatic void $n_report(struct $n_arguments *given, const struct $n_ids *ids, uint32_t code) {\n"
           "r    const uint32_t *count = ids->group_count, *id = ids->group_id;\n"
           "r    uint64_t group = ((uint64_t)id[2] * count[1] + id[1]) * count[0] + id[0];\n"
           "r    uint64_t invocation = group * $su + ids->local_index;\n"
           "r    if (invocation < given->trap_invocation) {\n"
           "r        given->trap_invocation = invocation;\n"
           "r        given->trap_code = code;\n"
           "r    }\n"
           "r}\n"
           "r\n"
           "pstatic bool $n_poll(struct $n_arguments *given) {\n"
           "p    given->stopped |= given->stop && *given->stop != 0;\n"
           "p    return given->stopped;\n"
           "p}\n"
           "p\n");
}

/* ---- an invocation ---- */

static void write_invocation(vy_c *c, const vy_string *body) {
    put(c, "sstatic inline void $n_invocation(struct $n_arguments *given, const struct $n_ids *ids,\n"
           "bstatic inline int $n_invocation(struct $n_arguments *given, const struct $n_ids *ids,\n"
           "b                               struct $n_invocation *self,\n"
           "w                               struct $n_group *group) {\n"
           "0                               void *group) {\n"
           "     (void)given, (void)ids, (void)group;\n");
    for (uint32_t v = c->entry->first_variable; v < c->entry->first_variable + c->program->param_count; v++)
        vy_string_format(c->out, "    const %s %s = given->%s;\n", vy_c_type(c, c->program->variables.items[v].type),
                         vy_c_text(c, c->variables[v]), vy_c_text(c, c->variables[v]));
    for (uint32_t i = c->entry->first_memory; i < vy_c_buffers_end(c); i++)
        vy_string_format(c->out, "    %s%s *const %s = given->%s;\n    const uint32_t %s = given->%s;\n",
                         vy_accesses[vy_c_memory_at(c, i)->access].is_output ? "" : "const ",
                         vy_c_type(c, vy_c_memory_at(c, i)->type), vy_c_memory(c, i), vy_c_memory(c, i),
                         vy_c_length(c, i), vy_c_length(c, i));
    vy_c_arrays(c, VY_SPACE_PRIVATE, 0);
    vy_string_char(c->out, '\n');
    vy_string_append(c->out, body->text ? body->text : "", body->length);
    c->out->failed |= body->failed;
    vy_string_add(c->out, "}\n\n");
}

/* ---- sizes: counts and grids ---- */

#define FAILS(condition) "if (" condition ")\n    *is_valid = false;\n"
static const struct {
    const char *name, *body;
} size_functions[VY_SIZE_KIND_COUNT] = {
    [VY_SIZE_PARAM] = {"size_param", FAILS("a < 0") "return (uint64_t)a;"},
    [VY_SIZE_ADD] = {"size_add", FAILS("b > UINT64_MAX - a") "return a + b;"},
    [VY_SIZE_SUB] = {"size_sub", FAILS("b > a") "return a - b;"},
    [VY_SIZE_MUL] = {"size_mul", FAILS("a != 0 && b > UINT64_MAX / a") "return a * b;"},
    [VY_SIZE_DIV] = {"size_div", FAILS("b == 0") "return b == 0 ? 0 : a / b;"},
    [VY_SIZE_REM] = {"size_rem", FAILS("b == 0") "return b == 0 ? 0 : a % b;"},
    [VY_SIZE_MIN] = {"size_min", "(void)is_valid;\nreturn a < b ? a : b;"},
    [VY_SIZE_MAX] = {"size_max", "(void)is_valid;\nreturn a > b ? a : b;"},
    [VY_SIZE_DIV_CEIL] = {"size_div_ceil", FAILS("b == 0") "return b == 0 ? 0 : a / b + (a % b != 0);"},
};

static void call_size(vy_c *c, uint8_t kind) {
    const char *params = kind == VY_SIZE_PARAM ? "$T a, bool *is_valid" : "$T a, $T b, bool *is_valid";
    uint8_t type = kind == VY_SIZE_PARAM ? VYRE_TYPE_I64 : VYRE_TYPE_U64;
    vy_c_name name = vy_c_define(c, size_functions[kind].name, params, size_functions[kind].body, type, VYRE_TYPE_U64);
    vy_string_format(c->out, "%s(", name.text);
}

/* Recursion is bounded by the depth that the validator allows. */
static void write_size(vy_c *c, uint32_t root) {
    const vy_size *s = &c->program->sizes.items[root];
    int is_signed = s->kind == VY_SIZE_PARAM &&
                    vyre_type_class((vyre_type)c->program->variables.items[s->a].type) == VYRE_CLASS_SIGNED;
    if (s->kind == VY_SIZE_LITERAL) {
        vy_c_literal(c, VYRE_TYPE_U64, s->value, VY_C_ANY);
    } else if (s->kind == VY_SIZE_LEN) {
        vy_string_format(c->out, "given->%s", vy_c_length(c, s->a));
    } else if (s->kind == VY_SIZE_PARAM) {
        if (is_signed)
            call_size(c, s->kind);
        vy_string_format(c->out, is_signed ? "given->%s, &is_valid)" : "given->%s", vy_c_text(c, c->variables[s->a]));
    } else {
        call_size(c, s->kind);
        write_size(c, s->a);
        vy_string_add(c->out, ", ");
        write_size(c, s->b);
        vy_string_add(c->out, ", &is_valid)");
    }
}

/* ---- the function that runs the grid ---- */

/* The workgroups of the program's own grid along an axis. */
static void write_grid_size(vy_c *c, unsigned axis) {
    const vy_grid *grid = &c->program->grid;
    int is_elements = grid->kind == VYRE_GRID_ELEMENTS || (grid->kind == VYRE_GRID_OVER && axis == 0);
    vy_string_format(c->out, "        size[%u] = ", axis);
    if (is_elements)
        call_size(c, VY_SIZE_DIV_CEIL);
    if (grid->kind == VYRE_GRID_INDIRECT)
        vy_string_format(c->out, "given->%s[%" PRIu32 "u]", vy_c_memory(c, grid->memory), grid->offset + axis);
    else if (grid->kind == VYRE_GRID_OVER && axis == 0)
        vy_string_format(c->out, "given->%s", vy_c_length(c, grid->memory));
    else if (grid->kind == VYRE_GRID_OVER || grid->sizes[axis] == VY_NONE)
        vy_string_add(c->out, "1");
    else
        write_size(c, grid->sizes[axis]);
    if (is_elements)
        vy_string_format(c->out, ", %" PRIu32 ", &is_valid)", c->program->workgroup[axis]);
    vy_string_add(c->out, ";\n");
}

static void write_checks(vy_c *c) {
    const vy_grid *grid = &c->program->grid;
    for (uint32_t i = c->entry->first_memory; i < vy_c_buffers_end(c); i++)
        if (vy_c_memory_at(c, i)->size != VY_NONE) {
            vy_string_format(c->out, "    if (given->%s != ", vy_c_length(c, i));
            write_size(c, vy_c_memory_at(c, i)->size);
            vy_string_add(c->out, ")\n        is_valid = false;\n");
        }
    put(c, "     uint64_t size[3] = {given->groups[0], given->groups[1], given->groups[2]};\n");
    if (grid->kind != VYRE_GRID_DISPATCH) {
        put(c, "     if (size[0] == 0 && size[1] == 0 && size[2] == 0) {\n");
        if (grid->kind == VYRE_GRID_INDIRECT)
            vy_string_format(c->out, "        if (given->%s < %" PRIu64 ")\n            return 2;\n",
                             vy_c_length(c, grid->memory), (uint64_t)grid->offset + 3);
        for (unsigned axis = 0; axis < 3; axis++)
            write_grid_size(c, axis);
        put(c, "     }\n");
    }
    put(c,
        "     if (!is_valid || size[0] > UINT32_MAX / $x || size[1] > UINT32_MAX / $y || size[2] > UINT32_MAX / $z)\n"
        "         return 2;\n"
        "     const uint64_t plane = size[0] * size[1];\n"
        "     if (plane != 0 && size[2] > UINT64_MAX / $s / plane)\n"
        "         return 2;\n");
    for (uint32_t i = c->entry->first_memory; i < vy_c_buffers_end(c); i++) {
        const char *name = vy_c_memory(c, i), *length = vy_c_length(c, i);
        if (!vy_accesses[vy_c_memory_at(c, i)->access].is_input)
            vy_string_format(
                c->out, "    if (given->%s)\n        memset(given->%s, 0, (size_t)given->%s * sizeof *given->%s);\n",
                length, name, length, name);
    }
}

/* All invocations of a workgroup run up to a barrier before one continues; all workgroups, up to a barrier of the
 * grid. */
static void write_run(vy_c *c) {
    put(c, " int $n_run(struct $n_arguments *given) {\n"
           "     bool is_valid = true;\n");
    write_checks(c);
    put(c, "r    given->trap_invocation = UINT64_MAX;\n"
           "p    given->stopped = false;\n"
           "     const uint64_t count = plane * size[2];\n"
           "     if (count == 0)\n"
           "         return 0;\n"
           "g    if (count > SIZE_MAX)\n"
           "g        return 3;\n"
           "g    struct $n_group *const all = calloc((size_t)count, sizeof *all);\n"
           "g    if (!all)\n"
           "g        return 3;\n"
           "g    int last;\n"
           "g    do {\n"
           "g    last = ENDED;\n"
           "m    struct $n_group *const group = malloc(sizeof *group);\n"
           "m    if (!group)\n"
           "m        return 3;\n"
           "     for (uint64_t g = 0; g < count; g++) {\n"
           "g        struct $n_group *const group = &all[g];\n"
           "l        for (uint32_t i = 0; i < $s; i++)\n"
           "l            group->invocations[i].at = 0;\n"
           "b        int reached;\n"
           "b        do {\n"
           "b            reached = ENDED;\n"
           "b            for (uint32_t i = 0; i < $s; i++) {\n"
           "b                const struct $n_ids ids = $n_ids(size, g, i);\n"
           "b                int at = $n_invocation(given, &ids, &group->invocations[i], group);\n"
           "b                reached = at > reached ? at : reached;\n"
           "b            }\n"
           "b        } while (reached == AT_BARRIER);\n"
           "g        last = reached > last ? reached : last;\n"
           "s        for (uint32_t i = 0; i < $s; i++) {\n"
           "s            const struct $n_ids ids = $n_ids(size, g, i);\n");
    put(c, is_wanted(c, 'w') ? "s            $n_invocation(given, &ids, group);\n"
                             : "s            $n_invocation(given, &ids, NULL);\n");
    put(c, "s        }\n"
           "     }\n");
    if (c->grid_barriers)
        vy_string_format(c->out, "    } while (last == AT_GRID_BARRIER%s%s);\n    free(all);\n",
                         c->reports ? " && given->trap_invocation == UINT64_MAX" : "",
                         c->polls ? " && !given->stopped" : "");
    put(c, "m    free(group);\n"
           "p    if (given->stopped)\n"
           "p        return 4;\n"
           "r    if (given->trap_invocation != UINT64_MAX)\n"
           "r        return 1;\n"
           "     return 0;\n"
           " }\n"
           " #if defined __GNUC__\n"
           " #pragma GCC diagnostic pop\n"
           " #endif\n"
           " #endif\n");
}

/* ---- the file ---- */

/* The body and the text after it determine the functions, ids and fields that are needed before them. */
static void write_file(vy_c *c, vy_string *body, vy_string *rest, vy_string *file) {
    if (c->status == VYRE_OK)
        name_all(c);
    if (c->status == VYRE_OK)
        vy_c_scan(c);
    c->out = body;
    c->indentation = 1;
    c->prefixes[VY_SPACE_WORKGROUP] = "group->";
    if (c->status == VYRE_OK)
        vy_c_invocation(c);
    if (c->status != VYRE_OK)
        return;
    c->out = rest;
    write_types(c);
    write_invocation(c, body);
    write_run(c);
    c->out = file;
    write_interface(c);
    const vy_string *const parts[] = {&c->functions, rest};
    for (int i = 0; i < 2; i++) {
        vy_string_append(file, parts[i]->text ? parts[i]->text : "", parts[i]->length);
        file->failed |= parts[i]->failed;
    }
}

vyre_status vy_c_emit(const vyre_program *program, vyre_bytes *out, vyre_error *error) {
    vy_c c;
    vy_string body = {0}, rest = {0}, file = {0};
    vy_c_open(&c, program, &vy_c_plain, error);
    write_file(&c, &body, &rest, &file);
    if (c.status == VYRE_OK)
        c.status = vy_string_to_bytes(&file, out, error);
    vy_string *const texts[] = {&body, &rest, &file};
    for (int i = 0; i < 3; i++)
        vy_string_free(texts[i]);
    vy_c_close(&c);
    return c.status;
}
