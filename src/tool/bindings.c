/* Binding of command-line arguments (bindings.h).
 *
 * Every param, input buffer and open count is bound by exactly one word. Surplus words and missing values are reported
 * together, with the interface of the program. */
#include "tool/bindings.h"

#include "base/file.h"
#include "base/string.h"
#include "ir/eval.h"
#include "ir/op_tables.h"
#include "tool/args.h"
#include "tool/file_formats.h"
#include "tool/scalar_text.h"
#include "vyre/op.h"

#include <inttypes.h>
#include <sys/stat.h>

int tool_buffer_needs_count(const vyre_buffer_info *buffer) {
    return buffer->access == VYRE_ACCESS_WRITE && !buffer->has_count;
}

static int name_is(const char *word, size_t length, const char *name) {
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

/* The value of NAME=VALUE in the words, or NULL. */
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

/* An example argument for a buffer whose value is missing. */
static void add_buffer_example(vy_string *out, const vyre_buffer_info *buffer) {
    if (!vy_accesses[buffer->access].is_input)
        vy_string_format(out, "--count %s=N", buffer->name);
    else if (buffer->is_static)
        vy_string_format(out, "%s=zeros", buffer->name);
    else
        vy_string_format(out, "%s=1,2,3", buffer->name);
}

/* How the program itself can determine the number of elements of a written buffer: by an input without a fixed one. */
static void add_count_example(vy_string *out, const vyre_program *program) {
    vyre_buffer_info buffer;
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++)
        if (vy_accesses[buffer.access].is_input && !buffer.is_static) {
            vy_string_format(out, "; the program can declare it, as in `count len(%s)`", buffer.name);
            return;
        }
}

static void add_given(vy_string *out, const char *value) {
    vy_string_format(out, "%.40s%s", value, strlen(value) > 40 ? "..." : "");
}

/* Prints the interface of the program with the given values, then a complete command line as the fix. */
static void print_interface(const tool_command *command, const vyre_program *program, const char *file,
                            const tool_request *request) {
    vy_string table = {0}, line = {0};
    vyre_param_info param;
    vyre_buffer_info buffer;

    vy_string_format(&line, "vyre %s %s", command->name, file);
    if (request->program)
        vy_string_format(&line, " --program %s", request->program);
    for (size_t i = 0; i < request->defines->count; i++)
        vy_string_format(&line, " --define %s", request->defines->items[i]);
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
            if (!input && !value)
                add_count_example(&table, program);
        } else {
            vy_string_add(&table, "written by the program");
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

/* ---- checks before reading ---- */

/* Reports an error in word `i`; TOOL_OK if it has none. */
static int check_word(const tool_command *command, const vyre_program *program, const tool_request *request, size_t i) {
    const char *word = request->words[i], *value;
    size_t length;
    int slot;

    if (!tool_args_split(word, &length, &value))
        return tool_problem(command, "`%s` is not NAME=VALUE", word);
    slot = is_slot(program, word, length);
    if (slot == 2)
        return tool_problem(command, "`%.*s` is a write buffer: it has no value and starts as zeros", (int)length,
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
        return tool_problem(command, "--count needs NAME=N, not `%s`", word);
    for (uint32_t i = 0; i < at; i++)
        if (strncmp(counts->items[i], word, length + 1) == 0)
            return tool_problem(command, "--count names `%.*s` twice", (int)length, word);
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++)
        if (name_is(word, length, buffer.name)) {
            if (tool_buffer_needs_count(&buffer))
                return TOOL_OK;
            return tool_problem(command, "--count does not apply to `%s`: %s", buffer.name,
                                buffer.has_count ? "the program fixes its count" : "its value determines its count");
        }
    return tool_problem(command, "--count names `%.*s`, which is not a buffer of program %s", (int)length, word,
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

/* ---- buffer specifications: `zeros:256`, `random:1:1000`, `1,2,3`, `x.npy` ---- */

/* Maximum element count of a buffer; vy_resolve_dispatch has the same limit. */
#define MAX_COUNT UINT32_MAX
/* Limit for character devices if the program leaves the count open: a device may be endless. */
#define MAX_DEVICE_BYTES (UINT64_C(1) << 28)

typedef struct buffer_spec {
    const char *spec; /* complete, for messages */
    const char *rest; /* after "kind:", or "" */
    vyre_type type;
    uint64_t fixed; /* element count fixed by the program, or UINT64_MAX */
} buffer_spec;

typedef vyre_status make_function(const buffer_spec *r, vyre_bytes *out, vyre_error *error);

/* Returns the text up to the next ':' and advances *rest; NULL at the end. */
static const char *next_field(const char **rest, size_t *length) {
    const char *field = *rest;

    if (*field == '\0')
        return NULL;
    *length = strcspn(field, ":");
    *rest = field + *length + (field[*length] == ':');
    return field;
}

static vyre_status allocate_elements(const buffer_spec *r, const char *field, size_t length, vyre_bytes *out,
                                     vyre_error *error) {
    uint64_t count = r->fixed;

    if (!field && r->fixed == UINT64_MAX)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("add the number of elements, as in `%.100s%s256`", r->spec,
                              r->spec[strlen(r->spec) - 1] == ':' ? "" : ":"),
                       "`%.80s` does not specify the number of elements", r->spec);
    /* Only digits, but not a number: it exceeds 2^64 - 1. */
    if (field && !tool_number(field, length, &count) && strspn(field, "0123456789") < length)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write a whole number from 0 to %u", MAX_COUNT),
                       "`%.*s` in `%.80s` is not a number of elements (0 to %u)", (int)(length < 60 ? length : 60),
                       field, r->spec, MAX_COUNT);
    if (field && (!tool_number(field, length, &count) || count > MAX_COUNT))
        return vy_fail(error, VYRE_LIMIT, VY_FIX("use at most %u elements", MAX_COUNT),
                       "`%.80s` has %.*s elements (limit %u)", r->spec, (int)(length < 60 ? length : 60), field,
                       MAX_COUNT);
    return vyre_bytes_resize(out, (size_t)count * vyre_type_size(r->type), error);
}

static vyre_status make_from_count(const buffer_spec *r, vyre_bytes *out, vyre_error *error) {
    const char *rest = r->rest;
    size_t length = 0;
    const char *field = next_field(&rest, &length);

    uint64_t count;
    if (*rest && !tool_number(field, length, &count))
        return vy_fail(
            error, VYRE_INVALID_ARGUMENT,
            VY_FIX("write only the number of elements, as in `%.*s:256`", (int)strcspn(r->spec, ":"), r->spec),
            "`%.80s` has more than a number of elements", r->spec);
    if (*rest)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "remove the text after the count",
                       "`%.80s` has text after the count", r->spec);
    return allocate_elements(r, field, length, out, error);
}

static void store_element(const buffer_spec *r, vyre_bytes *out, size_t index, uint64_t bits) {
    vy_value_store(r->type, (char *)out->data + index * vyre_type_size(r->type), bits);
}

static uint64_t cast_u64(vyre_type type, uint64_t value) {
    return vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_U64, value, 0, 0);
}

static vyre_status make_zeros(const buffer_spec *r, vyre_bytes *out, vyre_error *error) {
    vyre_status status = make_from_count(r, out, error);

    if (status == VYRE_OK && out->size > 0)
        memset(out->data, 0, out->size);
    return status;
}

static vyre_status make_ones(const buffer_spec *r, vyre_bytes *out, vyre_error *error) {
    vyre_status status = make_from_count(r, out, error);
    uint64_t one = cast_u64(r->type, 1);

    for (size_t i = 0; status == VYRE_OK && i < out->size / vyre_type_size(r->type); i++)
        store_element(r, out, i, one);
    return status;
}

static vyre_status make_iota(const buffer_spec *r, vyre_bytes *out, vyre_error *error) {
    vyre_status status = make_from_count(r, out, error);

    for (size_t i = 0; status == VYRE_OK && i < out->size / vyre_type_size(r->type); i++)
        store_element(r, out, i, cast_u64(r->type, i));
    return status;
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A float in [0, 1) from as many random bits as the significand has: exact, and never 1. */
static uint64_t random_unit(vyre_type type, uint64_t word) {
    unsigned bits = type == VYRE_TYPE_F64 ? 53 : type == VYRE_TYPE_F32 ? 24 : type == VYRE_TYPE_F16 ? 11 : 8;
    uint64_t scale =
        vyre_op_evaluate(VYRE_OP_DIV, type, type, cast_u64(type, 1), cast_u64(type, UINT64_C(1) << bits), 0);
    uint64_t value = cast_u64(type, word >> (64 - bits));

    return vyre_op_evaluate(VYRE_OP_MUL, type, type, value, scale, 0);
}

static uint64_t random_between(vyre_type type, uint64_t word, uint64_t low, uint64_t high) {
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT) {
        uint64_t width = vyre_op_evaluate(VYRE_OP_SUB, type, type, high, low, 0);
        return vyre_op_evaluate(VYRE_OP_FMA, type, type, random_unit(type, word), width, low);
    }
    /* The high half of word * range is uniform to within 2^-64 of the range. The sum wraps at the width of the type. */
    uint64_t range = vyre_op_evaluate(VYRE_OP_SUB, type, type, high, low, 0);
    uint64_t offset = vyre_op_evaluate(VYRE_OP_MUL_HIGH, VYRE_TYPE_U64, VYRE_TYPE_U64, word, range, 0);
    return vyre_op_evaluate(VYRE_OP_ADD, type, type, low, offset, 0);
}

static vyre_status check_bounds(const buffer_spec *r, uint64_t low, uint64_t high, vyre_error *error) {
    uint64_t width = vyre_op_evaluate(VYRE_OP_SUB, r->type, r->type, high, low, 0);

    if (!tool_scalar_less(r->type, low, high))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "write the smaller bound first; the larger one is excluded",
                       "the range of `%.80s` is empty", r->spec);
    /* The difference is not finite if a bound is not finite or the difference exceeds the largest value of the type. */
    if (vyre_type_class(r->type) == VYRE_CLASS_FLOAT &&
        !vyre_op_evaluate(VYRE_OP_IS_FINITE, VYRE_TYPE_BOOL, r->type, width, 0, 0))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "write finite bounds that are closer to each other",
                       "the bounds of `%.80s` are too far apart: HI - LO is not a finite %s", r->spec,
                       vyre_type_name(r->type));
    return VYRE_OK;
}

static vyre_status make_random(const buffer_spec *r, vyre_bytes *out, vyre_error *error) {
    const char *rest = r->rest, *seed_text, *count_text, *low_text, *high_text;
    size_t seed_length = 0, count_length = 0, low_length = 0, high_length = 0;
    uint64_t seed = 0, low = 0, high = 0;
    int is_float = vyre_type_class(r->type) == VYRE_CLASS_FLOAT;
    vyre_status status;

    seed_text = next_field(&rest, &seed_length);
    count_text = next_field(&rest, &count_length);
    low_text = next_field(&rest, &low_length);
    high_text = next_field(&rest, &high_length);
    if (!seed_text || !tool_number(seed_text, seed_length, &seed) || *rest || (low_text && !high_text))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "write `random:SEED:N` or `random:SEED:N:LO:HI`, as in `random:1:256`",
                       "`%.80s` is not a random specification", r->spec);
    status = allocate_elements(r, count_text, count_length, out, error);
    if (status == VYRE_OK && low_text) {
        status = tool_scalar_read(low_text, low_length, r->type, &low, error);
        if (status == VYRE_OK)
            status = tool_scalar_read(high_text, high_length, r->type, &high, error);
        if (status == VYRE_OK)
            status = check_bounds(r, low, high, error);
    }
    for (size_t i = 0; status == VYRE_OK && i < out->size / vyre_type_size(r->type); i++) {
        uint64_t word = next_random(&seed);
        store_element(r, out, i,
                      low_text   ? random_between(r->type, word, low, high)
                      : is_float ? random_unit(r->type, word)
                                 : word);
    }
    return status;
}

static vyre_status make_text(const buffer_spec *r, vyre_bytes *out, vyre_error *error) {
    size_t length = strlen(r->rest);
    vyre_status status;

    if (vyre_type_size(r->type) != 1)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "write numbers, as in `1,2,3`, or declare the buffer with u8 elements",
                       "text: needs 8-bit elements, not %s", vyre_type_name(r->type));
    status = vyre_bytes_resize(out, length, error);
    if (status == VYRE_OK && length > 0)
        memcpy(out->data, r->rest, length);
    return status;
}

/* ---- a specification that is neither a list of numbers, a generator nor a file ---- */

/* Words of other languages and tools, and the generator that they mean. */
static const struct {
    const char *word, *generator;
} generator_words[] = {
    {"fill", "zeros"},     {"full", "zeros"},     {"empty", "zeros"},   {"range", "iota"},  {"arange", "iota"},
    {"seq", "iota"},       {"index", "iota"},     {"rand", "random"},   {"rnd", "random"},  {"randn", "random"},
    {"randint", "random"}, {"uniform", "random"}, {"normal", "random"}, {"string", "text"}, {"str", "text"},
    {"ascii", "text"},     {"bytes", "text"},
};

/* The generator that a word means, or NULL. */
static const char *find_generator(const char *word, size_t length, char found[16]) {
    static const char *const names[] = {"zeros", "ones", "iota", "random", "text"};
    vy_suggestion suggestion;

    for (size_t i = 0; i < sizeof generator_words / sizeof *generator_words; i++)
        if (name_is(word, length, generator_words[i].word))
            return generator_words[i].generator;
    vy_suggestion_start(&suggestion, word, length);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        vy_suggestion_offer(&suggestion, names[i]);
    if (!vy_suggestion_get(&suggestion))
        return NULL;
    snprintf(found, 16, "%s", vy_suggestion_get(&suggestion));
    return found;
}

/* `zero:256`, `zeros(256)`, `rand:256`: writes the specification that was probably meant. Returns 0 if none was. */
static int guess_generator(const buffer_spec *r, char guess[128]) {
    size_t word = strspn(r->spec, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    char found[16];
    const char *name = word ? find_generator(r->spec, word, found) : NULL, *rest = r->spec + word;
    uint64_t count = 256;

    if (!name || (*rest == '.' && !strchr(rest, ':')))
        return 0;
    rest += *rest == ':';
    if (strcmp(name, "text") == 0)
        return snprintf(guess, 128, "text:%s", *rest ? rest : "abc") < 128 && vyre_type_size(r->type) == 1;
    rest += strspn(rest, "([ =");
    size_t digits = strspn(rest, "0123456789");
    if (digits && !tool_number(rest, digits, &count))
        return 0;
    if (strcmp(name, "random") == 0 && rest[digits] == ':') /* it has a seed */
        return snprintf(guess, 128, "random:%s", rest) < 128;
    if (r->fixed != UINT64_MAX)
        count = r->fixed;
    snprintf(guess, 128, "%s:%s%" PRIu64, name, strcmp(name, "random") == 0 ? "1:" : "", count);
    return 1;
}

/* `[1, 2, 3]`, `1 2 3`: writes the list with commas only. Returns 0 if it is not such a list. */
static int guess_list(const buffer_spec *r, char guess[128]) {
    size_t length = 0;

    for (const char *c = r->spec; *c; c++) {
        if (strchr("[](){}", *c) || ((*c == ' ' || *c == ',') && (length == 0 || guess[length - 1] == ',')))
            continue;
        if (!strchr("0123456789.+-eExX, ", *c) || length + 1 >= 128)
            return 0;
        guess[length++] = *c == ' ' ? ',' : *c;
    }
    while (length > 0 && guess[length - 1] == ',')
        length--;
    guess[length] = '\0';
    return length > 0 && strcmp(guess, r->spec) != 0;
}

/* Replaces the error of a literal if the specification was meant as something else. */
static vyre_status explain_literal(const buffer_spec *r, vyre_status status, vyre_error *error) {
    char guess[128];

    if (strlen(r->spec) > 100)
        return status;
    if (strncmp(r->spec, "file:", 5) == 0)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write `@%s`", r->spec + 5),
                       "`%s` is neither a list of numbers nor a generator", r->spec);
    if (guess_generator(r, guess))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("did you mean `%s`?", guess),
                       "`%s` is neither a list of numbers nor a generator", r->spec);
    if (guess_list(r, guess))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write `%s`", guess), "`%s` is not a list of numbers",
                       r->spec);
    if (strpbrk(r->spec, "./") && strpbrk(r->spec, "abcdfghijklmnopqrstuvwxyzABCDFGHIJKLMNOPQRSTUVWXYZ/") &&
        !strchr(r->spec, ','))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write `@%s` if it is a file of raw bytes", r->spec),
                       "`%s` is not a value of type %s", r->spec, vyre_type_name(r->type));
    if (strchr("0123456789+-.", r->spec[0]) && !strstr(r->spec, "..") &&
        strspn(r->spec, "0123456789abcdefABCDEFpPxX.+-,") == strlen(r->spec))
        return status; /* a number, which is out of range */
    if (vyre_type_size(r->type) == 1 && vyre_type_class(r->type) != VYRE_CLASS_BOOL && !strchr(r->spec, ','))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write `text:%s` for the bytes of the text", r->spec),
                       "`%s` is not a value of type %s", r->spec, vyre_type_name(r->type));
    if (!strpbrk(r->spec, ",") && r->type != VYRE_TYPE_BOOL)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "write numbers, as in `1,2,3`, or a generator: `zeros:N`, `ones:N`, `iota:N`, `random:SEED:N`",
                       "`%s` is neither a list of numbers nor a generator", r->spec);
    return status;
}

static vyre_status make_literals(const buffer_spec *r, vyre_bytes *out, vyre_error *error) {
    const char *text = r->spec;
    size_t count = *text != '\0';
    vyre_status status;

    for (const char *c = text; *c; c++)
        count += *c == ',';
    status = vyre_bytes_resize(out, count * vyre_type_size(r->type), error);
    for (size_t i = 0; status == VYRE_OK && i < count; i++) {
        size_t length = strcspn(text, ",");
        uint64_t bits = 0;
        status = tool_scalar_read(text, length, r->type, &bits, error);
        if (status == VYRE_OK)
            store_element(r, out, i, bits);
        text += length + 1;
    }
    return status == VYRE_INVALID_ARGUMENT ? explain_literal(r, status, error) : status;
}

static int is_device(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISCHR(about.st_mode);
}

/* Reads at most as many bytes as the buffer can hold. */
static vyre_status make_raw(const buffer_spec *r, vyre_bytes *out, vyre_error *error) {
    const char *path = r->spec + 1;
    unsigned size = vyre_type_size(r->type);
    uint64_t most = r->fixed == UINT64_MAX ? MAX_COUNT : r->fixed, bytes = most * size;
    vyre_status status;

    if (r->fixed == UINT64_MAX && is_device(path))
        bytes = MAX_DEVICE_BYTES;
    status = vy_file_read(path, (size_t)bytes, out, error);
    if (status != VYRE_LIMIT)
        return status;
    if (r->fixed != UINT64_MAX)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("pass %" PRIu64 " elements (%" PRIu64 " bytes)", most, bytes),
                       "`%.100s` has more than %" PRIu64 " bytes, but the program fixes the count (%" PRIu64
                       " elements of %u bytes)",
                       r->spec, bytes, most, size);
    return vy_fail(error, VYRE_LIMIT, "pass a smaller file; `head -c BYTES` copies the start of one",
                   "`%.100s` has more than %" PRIu64 " bytes, the limit %s", r->spec, bytes,
                   bytes == MAX_DEVICE_BYTES ? "for a device" : "of a buffer of this type");
}

/* Reads a buffer specification:
 *
 *   1,2,3.5                 literals; an empty specification is an empty buffer
 *   zeros:N ones:N          N may be omitted if the program fixes the count
 *   iota:N                  0, 1, 2, …
 *   random:SEED:N[:LO:HI]   floats in [0, 1) or [LO, HI), integers of any value or in [LO, HI); portable
 *   text:WORDS              the bytes of the text, for 8-bit elements
 *   @FILE                   the bytes of a file
 *   FILE.npy                an array of the same element type, in C order
 *
 * fixed  the element count fixed by the program, or UINT64_MAX; replaces a missing N, and is not checked otherwise */
static vyre_status read_buffer_spec(const char *spec, vyre_type type, uint64_t fixed, vyre_bytes *out,
                                    vyre_error *error) {
    static const struct {
        const char *name;
        make_function *make;
    } kinds[] = {
        {"zeros", make_zeros}, {"ones", make_ones}, {"iota", make_iota}, {"random", make_random}, {"text", make_text},
    };
    buffer_spec r = {spec, "", type, fixed};

    if (spec[0] == '@')
        return make_raw(&r, out, error);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].name);
        if (strncmp(spec, kinds[i].name, length) != 0 || (spec[length] != ':' && spec[length] != '\0'))
            continue;
        r.rest = spec[length] ? spec + length + 1 : "";
        return kinds[i].make(&r, out, error);
    }
    if (tool_ends_with(spec, ".npy"))
        return tool_npy_read(spec, type, out, error);
    return make_literals(&r, out, error);
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

/* The generator for an example with the right number of elements: the one that was used, or the one with these values.
 */
static const char *similar_generator(const char *spec) {
    if (strncmp(spec, "random:", 7) == 0)
        return "random:1";
    if (strncmp(spec, "iota:", 5) == 0)
        return "iota";
    return strncmp(spec, "ones:", 5) == 0 || strcmp(spec, "1") == 0 ? "ones" : "zeros";
}

static vyre_status read_buffer(const vyre_buffer_info *info, const char *spec, vyre_bytes *storage, vyre_span *out,
                               vyre_error *error) {
    unsigned size = vyre_type_size(info->type);
    vyre_status status = read_buffer_spec(spec, info->type, info->is_static ? info->count : UINT64_MAX, storage, error);

    out->data = storage->data;
    out->size = storage->size;
    if (status == VYRE_OK && storage->size % size != 0)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a whole number of elements",
                         "`%.100s` has %zu bytes, which is not a multiple of the element size (%u bytes, %s)", spec,
                         storage->size, size, vyre_type_name(info->type));
    if (status == VYRE_OK && info->is_static && storage->size / size != info->count)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT,
                         VY_FIX("pass %" PRIu64 " elements, as in `%.60s=%s:%" PRIu64 "`", info->count, info->name,
                                similar_generator(spec), info->count),
                         "`%.100s` has %zu element%s, but the program fixes the count (%" PRIu64 ")", spec,
                         storage->size / size, storage->size == size ? "" : "s", info->count);
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
            "program %s does not specify its grid", vyre_program_name(program));
    if (!text)
        return VYRE_OK;
    if (request->grid && request->elements)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "keep one of --grid (workgroups) and --elements (invocations)",
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
    /* A damaged input file is an invalid argument. */
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
