/* vyre gen: generates random test cases: programs with inputs. */
#include "tool/args.h"
#include "tool/load.h"
#include "tool/terminal.h"
#include "tool/tool.h"
#include "vyre/text.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

typedef struct gen_options {
    uint64_t seed, count, statements, depth, invocations;
    const char *stress, *types, *output;
    int json;
} gen_options;

static const tool_option options_table[] = {
    {"seed", 's', "N", TOOL_NUMBER, offsetof(gen_options, seed), "the first seed (1)"},
    {"count", 'n', "N", TOOL_NUMBER, offsetof(gen_options, count), "number of cases, with consecutive seeds (1)"},
    {"statements", 0, "N", TOOL_AMOUNT, offsetof(gen_options, statements), "approximate number of statements (30)"},
    {"depth", 0, "N", TOOL_AMOUNT, offsetof(gen_options, depth), "maximum depth of expressions (4)"},
    {"invocations", 0, "N", TOOL_AMOUNT, offsetof(gen_options, invocations),
     "approximate maximum of invocations (256)"},
    {"stress", 0, "WHAT", TOOL_TEXT, offsetof(gen_options, stress),
     "integers, floats, control, functions, memory, collectives, atomics, geometry, "
     "conversions, edges, choices, math; separated by commas (all)"},
    {"types", 0, "TYPES", TOOL_TEXT, offsetof(gen_options, types), "allowed element types, separated by commas (all)"},
    {"output", 'o', "DIR", TOOL_TEXT, offsetof(gen_options, output), "write the cases to DIR instead of printing them"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(gen_options, json), "list the cases as JSON"},
    TOOL_OPTION_END,
};

static int stress_bit(const char *text, size_t length) {
    static const char *const names[] = {
#define X(ID, name) name,
        VYRE_STRESS_LIST(X)
#undef X
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
            return (int)i;
    return -1;
}

static int type_bit(const char *text, size_t length) {
    vyre_type type = vyre_type_find(text, length);
    return type == VYRE_TYPE_COUNT ? -1 : (int)type;
}

/* Reads a comma-separated list of names as a set of bits. */
static int read_bits(const tool_command *self, const char *option, const char *text, int (*bit)(const char *, size_t),
                     uint32_t *out) {
    while (text && *text) {
        size_t length = strcspn(text, ",");
        int index = bit(text, length);
        if (index < 0)
            return tool_usage(self, NULL, "unknown name `%.*s` in --%s", (int)length, text, option);
        *out |= UINT32_C(1) << index;
        text += length + (text[length] == ',');
    }
    return TOOL_OK;
}

static void add_json_case(vy_string *out, const vyre_case *made, uint64_t seed, const char *base) {
    vyre_program_stats stats;
    vyre_digest digest;
    char text[65];

    vyre_program_get_stats(vyre_case_program(made), &stats);
    vyre_program_fingerprint(vyre_case_program(made), &digest);
    vyre_digest_format(&digest, text);
    vy_string_format(out, "{\"seed\":%" PRIu64 ",\"fingerprint\":\"%s\",\"statements\":%u,\"expressions\":%u", seed,
                     text, stats.statements, stats.expressions);
    if (base)
        tool_json_text(out, "base", base);
    vy_string_char(out, '}');
}

/* The command line that regenerates this case. */
static void add_command(vy_string *out, const gen_options *options, uint64_t seed) {
    const struct {
        const char *name;
        uint64_t value;
    } sizes[] = {{"statements", options->statements}, {"depth", options->depth}, {"invocations", options->invocations}};

    vy_string_format(out, "vyre gen --seed %" PRIu64, seed);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value)
            vy_string_format(out, " --%s %" PRIu64, sizes[i].name, sizes[i].value);
    if (options->stress && *options->stress)
        vy_string_format(out, " --stress %s", options->stress);
    if (options->types && *options->types)
        vy_string_format(out, " --types %s", options->types);
}

/* The program as text, with its arguments in comments. Copied to the command line, they run the file. */
static vyre_status add_text_case(vy_string *out, const vyre_case *made, const gen_options *options, uint64_t seed,
                                 vyre_error *error) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vy_string arguments = {0};
    vyre_status status = vyre_text_print(vyre_case_program(made), &text, error);

    tool_case_arguments(&arguments, made, NULL);
    vy_string_add(out, "// ");
    add_command(out, options, seed);
    vy_string_char(out, '\n');
    for (const char *line = arguments.text; line && *line;) {
        size_t length = strcspn(line, "\n");
        vy_string_format(out, "//   %.*s\n", (int)length, line);
        line += length + 1;
    }
    if (status == VYRE_OK)
        vy_string_append(out, text.data, text.size);
    vy_string_free(&arguments);
    vyre_bytes_free(&text);
    return status;
}

/* Generates one case. JSON elements are collected in `list`, so that a failure prints no partial array; other output is
 * printed immediately. */
static int make_one(const gen_options *options, const vyre_generate_options *knobs, int first, vy_string *list) {
    vyre_case *made = NULL;
    vy_string out = {0}, base = {0};
    vyre_error error;
    vyre_status status = vyre_generate(knobs, &made, &error);

    if (options->output)
        vy_string_format(&base, "%s/case-%" PRIu64, options->output, knobs->seed);
    if (status == VYRE_OK && base.failed)
        status = vy_fail_memory(&error, "naming a case");
    if (status == VYRE_OK && options->output)
        status = tool_case_write(made, base.text, &error);
    if (status == VYRE_OK && options->json) {
        vy_string_add(list, first ? "" : ",\n ");
        add_json_case(list, made, knobs->seed, base.text);
    } else if (status == VYRE_OK && options->output) {
        vy_string_format(&out, "%s.vyre @%s.args\n", base.text, base.text);
    } else if (status == VYRE_OK) {
        vy_string_add(&out, first ? "" : "\n");
        status = add_text_case(&out, made, options, knobs->seed, &error);
    }
    vyre_case_free(made);
    vy_string_free(&base);
    if (status != VYRE_OK) {
        vy_string_free(&out);
        return tool_error(&error);
    }
    return tool_print(&out);
}

static int make_directory(const char *path) {
    vyre_error error;

    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return TOOL_OK;
    vy_fail(&error, VYRE_IO, "use a folder that can be created", "folder `%s` cannot be created (%s)", path,
            strerror(errno));
    return tool_error(&error);
}

static int check_sizes(const tool_command *self, const gen_options *options) {
    const struct {
        const char *name;
        uint64_t value, most;
    } sizes[] = {{"statements", options->statements, 100000},
                 {"depth", options->depth, 64},
                 {"invocations", options->invocations, 1 << 20}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value > sizes[i].most)
            return tool_usage(self, VY_FIX("use at most --%s %" PRIu64, sizes[i].name, sizes[i].most),
                              "--%s %" PRIu64 " exceeds its limit (%" PRIu64 ")", sizes[i].name, sizes[i].value,
                              sizes[i].most);
    return TOOL_OK;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const gen_options *options = given;
    vyre_generate_options knobs = {.seed = options->seed,
                                   .statements = (unsigned)options->statements,
                                   .depth = (unsigned)options->depth,
                                   .invocations = (unsigned)options->invocations};
    tool_progress progress;
    vy_string list = {0};
    uint32_t stress = 0;
    int code;

    if (args->words.count > 0)
        return tool_usage(self, NULL, "unexpected argument `%s`", args->words.items[0]);
    code = check_sizes(self, options);
    if (code != TOOL_OK)
        return code;
    code = read_bits(self, "stress", options->stress, stress_bit, &stress);
    knobs.stress = stress;
    if (code == TOOL_OK)
        code = read_bits(self, "types", options->types, type_bit, &knobs.types);
    if (code == TOOL_OK && options->output)
        code = make_directory(options->output);
    if (code != TOOL_OK)
        return code;
    vy_string_char(&list, '[');
    tool_progress_start(&progress, "generating", options->count);
    for (uint64_t i = 0; code == TOOL_OK && i < options->count && !ferror(stdout); i++, knobs.seed++) {
        code = make_one(options, &knobs, i == 0, &list);
        tool_progress_step(&progress, i + 1);
    }
    tool_progress_stop(&progress);
    if (options->json && code == TOOL_OK) {
        vy_string_add(&list, "]\n");
        return tool_print(&list);
    }
    vy_string_free(&list);
    return code;
}

static const gen_options defaults = {.seed = 1, .count = 1};

const tool_command tool_cmd_gen = {
    .name = "gen",
    .summary = "generate random programs with inputs, for testing",
    .usage = "[OPTIONS]",
    .details =
        "The programs are valid, terminate, have no data races and are not schedule-dependent. A seed yields the "
        "same program\n"
        "and inputs on every machine. With -o each case is BASE.vyre, BASE.NAME.npy and BASE.args.\n",
    .examples = "  vyre gen --seed 7\n"
                "  vyre gen --seed 1 --count 100 -o cases && vyre run cases/case-1.vyre @cases/case-1.args\n"
                "  vyre gen --stress collectives,floats --types f32 --statements 10\n",
    .options = options_table,
    .options_size = sizeof(gen_options),
    .defaults = &defaults,
    .run = run_command,
};
