/* Command line parser (args.h). Parsing, help and suggestions read the same option table, so they cannot disagree. */
#include "tool/args.h"

#include "base/file.h"
#include "base/string.h"
#include "tool/terminal.h"

enum { ARGUMENT_FILE_LIMIT = 1 << 24 };

const tool_option tool_option_color = {
    "color", 0, "WHEN", TOOL_COLOR, 0, "colour: auto (on a terminal, unless NO_COLOR is set), always or never"};

static const char color_fix[] = "write `--color=auto`, `--color=always` or `--color=never`";

typedef struct parser {
    const tool_command *command;
    char *options;
    tool_args *args;
    const tool_option *pending; /* an option whose value is the next word */
    const char *directory;      /* of the argument file being read, with a final slash; NULL on the command line */
    int only_words;             /* `--` was seen */
    uint64_t seen;              /* options with a single value that were stored, one bit per row of the table */
} parser;

int tool_number(const char *text, size_t length, uint64_t *out) {
    int is_hex = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    return vy_parse_digits(text + 2 * is_hex, length - 2 * (size_t)is_hex, is_hex ? 16 : 10, UINT64_MAX, out) > 0;
}

int tool_numbers3(const char *text, uint32_t out[3]) {
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        size_t length = strcspn(text, ",");
        uint64_t value;
        if (!tool_number(text, length, &value) || value > UINT32_MAX)
            return 0;
        out[i] = (uint32_t)value;
        text += length;
        if (*text == '\0')
            return 1;
        text++;
    }
    return 0;
}

int tool_args_split(const char *word, size_t *name_length, const char **value) {
    const char *equals = strchr(word, '=');

    if (!equals || equals == word)
        return 0;
    *name_length = (size_t)(equals - word);
    *value = equals + 1;
    return 1;
}

static int out_of_memory(void) {
    vyre_error error;
    vy_fail_memory(&error, "reading the command line");
    return tool_error(&error);
}

static int push(tool_list *list, const char *text) {
    const char **slot = VY_PUSH(list);
    if (!slot)
        return out_of_memory();
    *slot = text;
    return -1;
}

static int read_size(const char *text, uint64_t *out) {
    static const char units[] = "KMG";
    size_t length = strlen(text);
    const char *unit = length > 0 ? strchr(units, text[length - 1]) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    uint64_t number;

    if (!tool_number(text, length - (unit != NULL), &number) || number == 0 || number > UINT64_MAX >> shift)
        return 0;
    *out = number << shift;
    return 1;
}

/* Converts decimal seconds to nanoseconds; digits after the ninth are dropped. Returns 0 if the text is not a
 * number. */
static int read_seconds(const char *text, uint64_t *out) {
    size_t whole = strspn(text, "0123456789"), digits = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    uint64_t seconds = 0, unit = TOOL_SECOND_NS / 10;

    if (whole + digits == 0 || text[whole + (text[whole] == '.') + digits])
        return 0;
    for (size_t i = 0; i < whole && seconds <= TOOL_MAX_SECONDS; i++)
        seconds = seconds * 10 + (uint64_t)(text[i] - '0');
    *out = (seconds > TOOL_MAX_SECONDS ? TOOL_MAX_SECONDS + 1 : seconds) * TOOL_SECOND_NS;
    for (size_t i = 0; i < digits; i++, unit /= 10)
        *out += (uint64_t)(text[whole + 1 + i] - '0') * unit;
    return 1;
}

static int store_seconds(parser *p, const tool_option *option, const char *value, uint64_t *out) {
    if (!read_seconds(value, out))
        return tool_usage(p->command,
                          VY_FIX("write seconds, as in `--%s 10` or `--%s 0.5`", option->name, option->name),
                          "--%s needs a number of seconds, not `%.100s`", option->name, value);
    if (*out == 0)
        return tool_usage(p->command, VY_FIX("write 0.000000001 or more, or omit --%s", option->name),
                          "--%s %.100s is below its minimum (0.000000001)", option->name, value);
    if (*out > TOOL_MAX_SECONDS * TOOL_SECOND_NS)
        return tool_usage(p->command, VY_FIX("write at most --%s %d, or omit it", option->name, TOOL_MAX_SECONDS),
                          "--%s %.100s exceeds its limit (%d)", option->name, value, TOOL_MAX_SECONDS);
    return -1;
}

/* Refuses a second value for an option that stores one. Flags are idempotent. --color has no row in the table, and its
 * last value applies, so that an alias can set it. */
static int check_repeated(parser *p, const tool_option *option, const char *value) {
    if (option->kind == TOOL_FLAG || option->kind == TOOL_LIST || option->kind == TOOL_COLOR)
        return -1;
    uint64_t bit = UINT64_C(1) << (option - p->command->options);
    if (p->seen & bit)
        return tool_usage(p->command, VY_FIX("write --%s once", option->name),
                          "--%s is given twice, the second time as `%.100s`", option->name, value);
    p->seen |= bit;
    return -1;
}

static int store(parser *p, const tool_option *option, const char *value) {
    char *at = p->options + option->offset;
    int code = check_repeated(p, option, value);

    if (code != -1)
        return code;
    switch (option->kind) {
    case TOOL_FLAG:
        *(int *)at = 1;
        return -1;
    case TOOL_TEXT:
        *(const char **)at = value;
        return -1;
    case TOOL_NUMBER:
    case TOOL_AMOUNT:
        if (!tool_number(value, strlen(value), (uint64_t *)at))
            return tool_usage(p->command, VY_FIX("write a whole number, as in `--%s 4`", option->name),
                              "--%s needs a whole number, not `%s`", option->name, value);
        if (option->kind == TOOL_AMOUNT && *(uint64_t *)at == 0)
            return tool_usage(p->command, VY_FIX("write 1 or more, or omit --%s", option->name),
                              "--%s %s is below its minimum (1)", option->name, value);
        return -1;
    case TOOL_SIZE:
        if (!read_size(value, (uint64_t *)at))
            return tool_usage(
                p->command,
                VY_FIX("write 1 or more bytes, as in `--%s 65536` or `--%s 8G`", option->name, option->name),
                "--%s needs a number of bytes from 1 to 2^64-1, optionally with the suffix K, M or G, not `%s`",
                option->name, value);
        return -1;
    case TOOL_SECONDS:
        return store_seconds(p, option, value, (uint64_t *)at);
    case TOOL_COLOR:
        return tool_color_set(value)
                   ? -1
                   : tool_usage(p->command, color_fix, "--color needs auto, always or never, not `%.100s`", value);
    case TOOL_LIST:
        return push((tool_list *)at, value);
    }
    return -1;
}

static const tool_option *find_long(const tool_command *command, const char *name, size_t length) {
    for (const tool_option *option = command->options; option && option->name; option++)
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
            return option;
    return length == 5 && memcmp(name, "color", 5) == 0 ? &tool_option_color : NULL;
}

/* Returns the only option that is a prefix of the word or has it as a prefix: `--back`, `--output`. */
static const char *find_by_start(const tool_command *command, const char *name, size_t length) {
    const char *found = NULL;

    for (const tool_option *option = command->options; option && option->name; option++) {
        size_t size = strlen(option->name), shorter = size < length ? size : length;
        if (shorter < 3 || memcmp(option->name, name, shorter) != 0)
            continue;
        if (found)
            return NULL;
        found = option->name;
    }
    return found;
}

/* Lists up to three commands that have the option; "" if none has. */
static void list_owners(const char *name, size_t length, char out[100]) {
    size_t used = 0, count = 0;

    out[0] = '\0';
    for (size_t i = 0; tool_command_at(i) && count < 4; i++) {
        if (!find_long(tool_command_at(i), name, length))
            continue;
        if (++count < 4)
            used +=
                (size_t)snprintf(out + used, 100 - used, "%s`vyre %.12s`", used ? ", " : "", tool_command_at(i)->name);
        else
            snprintf(out + used, 100 - used, " and others");
    }
}

/* Words of other tools, and the option of the command with their meaning. */
static const char *find_option_word(const tool_command *command, const char *name, size_t length) {
    static const struct {
        const char *word, *option, *fix;
    } words[] = {
        {"device", "backend", "backend"},  {"gpu", "backend", "backend cuda"}, {"race", "check", "check races"},
        {"races", "check", "check races"}, {"blocks", "grid", "grid"},         {"output", "out", "out"},
        {"kernel", "program", "program"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && memcmp(words[i].word, name, length) == 0)
            for (const tool_option *option = command->options; option && option->name; option++)
                if (strcmp(option->name, words[i].option) == 0)
                    return words[i].fix;
    return NULL;
}

/* `dashes` precedes the name: "-" or "--". */
static int unknown_option(parser *p, const char *dashes, const char *name, size_t length) {
    const char *fix, *closest;
    char owners[100];
    vy_suggestion suggestion;

    vy_suggestion_start(&suggestion, name, length);
    for (const tool_option *option = p->command->options; option && option->name; option++)
        vy_suggestion_offer(&suggestion, option->name);
    vy_suggestion_offer(&suggestion, "help");
    vy_suggestion_offer(&suggestion, tool_option_color.name);
    closest = find_option_word(p->command, name, length);
    if (!closest)
        closest = vy_suggestion_get(&suggestion);
    if (!closest)
        closest = find_by_start(p->command, name, length);
    list_owners(name, length, owners);
    fix = closest   ? VY_FIX("did you mean `--%s`?", closest)
          : *owners ? VY_FIX("remove it; it is an option of %s", owners)
          : strcmp(p->command->name, "run") == 0
              ? "see `vyre help run` for the options; params and buffers are written without dashes: `NAME=VALUE`"
              : NULL;
    return tool_usage(p->command, fix, "unknown option `%s%.*s`", dashes, (int)(length < 100 ? length : 100), name);
}

static int parse_long(parser *p, const char *word) {
    size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : NULL;
    const tool_option *option = find_long(p->command, word, length);

    if (!option)
        return unknown_option(p, "--", word, length);
    if (option->kind == TOOL_FLAG && value)
        return tool_usage(p->command, VY_FIX("write `--%s` without a value", option->name),
                          "--%s has no value, but `%s` is given", option->name, value);
    if (option->kind == TOOL_FLAG || value)
        return store(p, option, value);
    p->pending = option;
    return -1;
}

/* -o FILE, -oFILE, and single flags. Flags cannot be combined (-qv). */
static int parse_short(parser *p, const char *word) {
    for (const tool_option *option = p->command->options; option && option->name; option++) {
        if (!option->letter || option->letter != word[0])
            continue;
        if (option->kind == TOOL_FLAG && word[1] == '\0')
            return store(p, option, NULL);
        if (option->kind == TOOL_FLAG && word[1] == '=')
            return tool_usage(p->command, VY_FIX("write `-%c` without a value", option->letter),
                              "-%c has no value, but `%.100s` is given", option->letter, word + 2);
        if (option->kind == TOOL_FLAG)
            break;
        if (word[1])
            return store(p, option, word + 1);
        p->pending = option;
        return -1;
    }
    /* also finds `--json` for `-json` */
    return unknown_option(p, "-", word, strcspn(word, "="));
}

/* Makes a path in an argument file relative to that file, so that a test case can be moved: `x=case.x.npy`,
 * `x=@case.x.bin`. */
static const char *localise(parser *p, const char *word) {
    size_t name_length, word_length = strlen(word), directory_length;
    const char *value;
    char *text;
    int raw, npy;

    if (!p->directory || !tool_args_split(word, &name_length, &value))
        return word;
    npy = tool_ends_with(word, ".npy");
    raw = value[0] == '@';
    if ((!raw && !npy) || value[raw] == '/')
        return word;
    directory_length = strlen(p->directory);
    text = vy_arena_allocate(&p->args->arena, word_length + directory_length + 1);
    if (!text)
        return NULL;
    memcpy(text, word, name_length + 1 + (size_t)raw);
    memcpy(text + name_length + 1 + raw, p->directory, directory_length);
    strcpy(text + name_length + 1 + raw + directory_length, value + raw);
    return text;
}

static int parse_word(parser *p, const char *word);

/* Reads one argument per line; skips blank lines and lines that start with #. Argument files cannot be nested. */
static int parse_argument_file(parser *p, const char *path) {
    const char *slash = strrchr(path, '/');
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    char *text;
    int code = -1;

    if (p->directory)
        return tool_usage(p->command, "copy the arguments of the inner file into the outer one",
                          "an argument file contains another argument file (`@%s`)", path);
    if (vy_file_read(path, ARGUMENT_FILE_LIMIT, &bytes, &error) != VYRE_OK) {
        tool_error(&error);
        return TOOL_SYSTEM;
    }
    if (bytes.size > 0 && memchr(bytes.data, '\0', bytes.size)) {
        size_t at = (size_t)((char *)memchr(bytes.data, '\0', bytes.size) - (char *)bytes.data);
        vyre_bytes_free(&bytes);
        return tool_usage(p->command, "write the arguments as text, one per line",
                          "the argument file `%s` is not a text: byte %zu is NUL", path, at);
    }
    text = vy_arena_copy(&p->args->arena, bytes.size ? bytes.data : "", bytes.size);
    p->directory = slash ? vy_arena_copy(&p->args->arena, path, (size_t)(slash - path) + 1) : "";
    vyre_bytes_free(&bytes);
    if (!text || !p->directory)
        return out_of_memory();
    while (*text && code == -1) {
        size_t length = strcspn(text, "\r\n");
        char *next = text + length + (text[length] != '\0');
        text[length] = '\0';
        if (length > 0 && text[0] != '#')
            code = parse_word(p, text);
        text = next;
    }
    p->directory = NULL;
    return code;
}

static int parse_word(parser *p, const char *word) {
    if (p->pending) {
        const tool_option *option = p->pending;
        p->pending = NULL;
        return store(p, option, word);
    }
    if (p->only_words)
        return push(p->command->runs_command ? &p->args->after : &p->args->words, word);
    if (strcmp(word, "--") == 0) {
        p->only_words = 1;
        return -1;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        tool_command_help(p->command);
        return TOOL_OK;
    }
    if (word[0] == '-' && word[1] == '-')
        return parse_long(p, word + 2);
    if (word[0] == '-' && word[1] != '\0')
        return parse_short(p, word + 1);
    if (word[0] == '@' && p->command->reads_argument_files)
        return parse_argument_file(p, word + 1);
    word = localise(p, word);
    return word ? push(&p->args->words, word) : out_of_memory();
}

/* Returns -1 if the command is to be run, otherwise the exit code. */
static int parse_all(const tool_command *command, int argc, char **argv, void *options, tool_args *args) {
    parser p = {.command = command, .options = options, .args = args};
    int code = -1;

    for (int i = 0; i < argc && code == -1; i++)
        code = parse_word(&p, argv[i]);
    if (code == -1 && p.pending)
        return tool_usage(
            command,
            p.pending == &tool_option_color ? color_fix : VY_FIX("write `--%s %s`", p.pending->name, p.pending->value),
            "--%s needs a value", p.pending->name);
    return code;
}

/* Whether to print a failure as JSON. --json counts also if an error before it ended the parse. */
static int wants_json(const tool_command *command, const char *options, int argc, char **argv) {
    const tool_option *option = command->options;

    while (option && option->name && strcmp(option->name, "json") != 0)
        option++;
    if (!option || !option->name)
        return 0;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return 1;
    return *(const int *)(options + option->offset);
}

int tool_command_execute(const tool_command *command, int argc, char **argv) {
    void *options = vy_allocate_zero(command->options_size + 1);
    tool_args args = {0};
    int code;

    if (!options)
        return out_of_memory();
    if (command->defaults)
        memcpy(options, command->defaults, command->options_size);
    code = parse_all(command, argc, argv, options, &args);
    if (code == -1)
        code = command->run(command, options, &args);
    if (code != TOOL_OK && wants_json(command, options, argc, argv))
        tool_error_record_print();
    tool_error_record_clear();
    for (const tool_option *option = command->options; option && option->name; option++)
        if (option->kind == TOOL_LIST)
            VY_VECTOR_FREE((tool_list *)((char *)options + option->offset));
    VY_VECTOR_FREE(&args.words);
    VY_VECTOR_FREE(&args.after);
    vy_arena_free(&args.arena);
    vy_release(options, command->options_size + 1);
    return code;
}

/* ---- actions ---- */

const tool_action *tool_action_find(const tool_command *command, const tool_action *actions, const char *word) {
    char all[128] = "use ";
    size_t used = strlen(all);
    vy_suggestion suggestion;

    vy_suggestion_start(&suggestion, word, strlen(word));
    for (const tool_action *action = actions; action->name; action++) {
        if (strcmp(action->name, word) == 0)
            return action;
        vy_suggestion_offer(&suggestion, action->name);
        const char *separator = !action[1].name ? "" : !action[2].name ? " or " : ", ";
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", action->name, separator);
    }
    const char *closest = vy_suggestion_get(&suggestion);
    tool_usage(command, closest ? VY_FIX("did you mean `vyre %s %s`?", command->name, closest) : all,
               "unknown action `%.100s`", word);
    return NULL;
}
