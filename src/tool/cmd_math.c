/* vyre math: digests of the results of math functions, for comparing devices and builds.
 *
 * A digest is BLAKE2b-256 of the results of one function for consecutive inputs, in the order of the inputs' bits, as
 * little-endian words of the type's size with one pattern for every NaN. The kernel computes its inputs from the
 * invocation's id. While the device computes one chunk, this thread hashes the previous one. */
#include "dialect/load.h"
#include "tool/args.h"
#include "tool/load.h"
#include "tool/terminal.h"
#include "tool/tool.h"
#include "vyre/pipeline.h"
#include "vyre/registry.h"
#include "vyre/text.h"

#include <inttypes.h>
#include <sodium.h>

enum { CHUNK = 1 << 22, BLOCK = 1 << 20, IN_FLIGHT = 2 };

/* A type whose functions have digests. */
typedef struct element {
    vyre_type type;
    uint32_t size;
    uint64_t inputs; /* of a function */
    const char *bits, *nan;
} element;

static const element elements[] = {{VYRE_TYPE_F32, 4, UINT64_C(1) << 32, "u32", "0x7fc00000"},
                                   {VYRE_TYPE_F16, 2, UINT64_C(1) << 16, "u16", "0x7e00"},
                                   {VYRE_TYPE_BF16, 2, UINT64_C(1) << 16, "u16", "0x7fc0"}};

typedef struct math_options {
    const char *backend, *range, *blocks, *compare;
    int json, without_f64, with_tables;
} math_options;

static const tool_option options_table[] = {
    {"backend", 0, "NAME", TOOL_TEXT, offsetof(math_options, backend),
     "run on NAME or NAME#DEVICE (a GPU if one is usable, otherwise `cpu`)"},
    {"range", 0, "FIRST:COUNT", TOOL_TEXT, offsetof(math_options, range),
     "only COUNT inputs from the bits FIRST on, decimal or 0x… (all)"},
    {"blocks", 0, "FILE", TOOL_TEXT, offsetof(math_options, blocks),
     "also write the digest of every 2^20 inputs to FILE, one per line"},
    {"compare", 0, "FILE", TOOL_TEXT, offsetof(math_options, compare),
     "compute the digests that FILE contains, and report the first that differs"},
    {"without-f64", 0, NULL, TOOL_FLAG, offsetof(math_options, without_f64),
     "use the bodies without f64, of the functions that have one, as on a device with slow f64"},
    {"with-tables", 0, NULL, TOOL_FLAG, offsetof(math_options, with_tables),
     "use the bodies with tables, of the functions that have one, as on a GPU with fast f64"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(math_options, json), "print one JSON object"},
    TOOL_OPTION_END,
};

/* Consecutive inputs. */
typedef struct span {
    uint64_t first, count;
} span;

typedef struct request {
    const tool_command *self;
    const math_options *options;
    const char *const *words;
    uint32_t word_count;
    span range; /* count is 0: all inputs */
    vyre_dialects_guard guard;
    vyre_backend *backend;
    vy_string blocks; /* the file of --blocks */
    vy_string json;   /* elements of "digests" */
    uint64_t different, compared;
} request;

/* ---- functions ---- */

static const char dialect[] = "math.";

typedef vyre_op_definition function;

static const char *name_of(const function *f) {
    return f->id + sizeof dialect - 1;
}

/* The type of an op of the dialect that maps one value to one of the same type, if it is in `elements`; else NULL. */
static const element *element_of(const function *op) {
    const element *found = NULL;

    if (strncmp(op->id, dialect, sizeof dialect - 1) != 0 || op->input_count != 1 || op->output_count != 1 ||
        op->attribute_count != 0 || op->inputs[0].kind != VYRE_OPERAND_VALUE ||
        op->inputs[0].type != op->outputs[0].type)
        return NULL;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (elements[i].type == op->inputs[0].type)
            found = &elements[i];
    return found;
}

/* Accepts exp, exp_f32 and math.exp_f32. */
static const function *find_function(vyre_dialects_guard guard, const char *word, size_t size) {
    const size_t length = sizeof dialect - 1;

    if (size > length && strncmp(word, dialect, length) == 0) {
        word += length;
        size -= length;
    }
    for (size_t i = 0; i < vyre_dialects_count(guard); i++) {
        const function *op = vyre_dialects_at(guard, i);
        const char *name = element_of(op) ? name_of(op) : NULL;
        if (name && strncmp(name, word, size) == 0 && (name[size] == 0 || strcmp(name + size, "_f32") == 0))
            return op;
    }
    return NULL;
}

static int no_function(const request *r, const char *word) {
    vy_suggestion closest;

    vy_suggestion_start(&closest, word, strlen(word));
    for (size_t i = 0; i < vyre_dialects_count(r->guard); i++) {
        const function *op = vyre_dialects_at(r->guard, i);
        if (!element_of(op))
            continue;
        const char *name = name_of(op), *end = strstr(name, "_f32");
        char text[64];
        vy_suggestion_offer(&closest, name);
        snprintf(text, sizeof text, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
        vy_suggestion_offer(&closest, text);
    }
    const char *best = vy_suggestion_get(&closest);
    return tool_usage(r->self,
                      best
                          ? VY_FIX("did you mean `%s`?", best)
                          : "`vyre dialects list math` lists the functions; a digest needs one input and output of the "
                            "same type, f32, f16 or bf16",
                      "unknown function `%.100s` of one operand", word);
}

/* The inputs of a function that the command line selects; none if the range does not fit. */
static span range_of(const request *r, const function *f) {
    const uint64_t inputs = element_of(f)->inputs;

    if (r->range.count == 0)
        return (span){0, inputs};
    return r->range.first + r->range.count <= inputs ? r->range : (span){0, 0};
}

/* ---- computing ---- */

static vyre_status compile(const request *r, const function *f, vyre_pipeline **out, vyre_error *error) {
    static const char text[] = "program math_digest {\n"
                               "  param first : u32\n"
                               "  param n : u32\n"
                               "  buffer results : %s write count n\n"
                               "  workgroup 256\n"
                               "  grid over results\n\n"
                               "  let i = global_id.x\n"
                               "  if i < n {\n"
                               "    let value = %s(bitcast<%s>(%s(first + i)))\n"
                               "    results[i] = is_nan(value) ? %s : bitcast<%s>(value)\n"
                               "  }\n"
                               "}\n";
    const element *e = element_of(f);
    vyre_module *module = NULL;
    vyre_program *linked = NULL, *program = NULL;
    vy_string source = {0};
    vyre_status status;

    vy_string_format(&source, text, e->bits, f->id, vyre_type_name(e->type), e->bits, e->nan, e->bits);
    if (source.failed) {
        status = vy_fail_memory(error, "writing the program");
    } else {
        status = vyre_text_parse(source.text, source.length, NULL, NULL, &module, error);
        if (status == VYRE_OK)
            status = vyre_program_resolve(vyre_module_program(module, 0), r->guard, NULL, &linked, error);
        if (status == VYRE_OK && (r->options->without_f64 || r->options->with_tables))
            status = vy_program_link_variant(
                linked, r->options->without_f64 ? VY_VARIANT_WITHOUT_F64 : VY_VARIANT_WITH_TABLES, &program, error);
        if (status == VYRE_OK)
            status = vyre_compile(r->backend, program ? program : linked, NULL, out, error);
    }
    vyre_program_release(program);
    vyre_program_release(linked);
    vyre_module_free(module);
    vy_string_free(&source);
    return status;
}

/* The digests of a span: of all of it, and of its blocks. */
typedef struct hasher {
    crypto_generichash_state all, block;
    uint64_t next;
    const function *function;
    vy_string *blocks; /* NULL: none */
} hasher;

static void finish_digest(crypto_generichash_state *state, char text[65]) {
    vyre_digest digest;

    crypto_generichash_final(state, digest.bytes, sizeof digest.bytes);
    vyre_digest_format(&digest, text);
}

/* The results are in the byte order of the device: little-endian, as all targets are. A block of a function with fewer
 * inputs than BLOCK has all of them. */
static void add_results(hasher *h, const unsigned char *bytes, uint64_t count) {
    const element *e = element_of(h->function);
    const uint64_t block = e->inputs < BLOCK ? e->inputs : BLOCK;
    char text[65];

    crypto_generichash_update(&h->all, bytes, count * e->size);
    for (uint64_t done = 0; h->blocks && done < count;) {
        uint64_t left = block - h->next % block, step = count - done < left ? count - done : left;
        crypto_generichash_update(&h->block, bytes + done * e->size, step * e->size);
        done += step;
        h->next += step;
        if (h->next % block == 0) {
            finish_digest(&h->block, text);
            vy_string_format(h->blocks, "%s 0x%08" PRIx64 ":%" PRIu64 " %s\n", name_of(h->function), h->next - block,
                             block, text);
            crypto_generichash_init(&h->block, NULL, 0, sizeof(vyre_digest));
        }
    }
}

static vyre_status start_chunk(vyre_pipeline *pipeline, uint64_t first, uint64_t count, vyre_pending **out,
                               vyre_error *error) {
    const vyre_scalar params[] = {vyre_scalar_u32((uint32_t)first), vyre_scalar_u32((uint32_t)count)};
    const vyre_arguments arguments = {.params = params, .param_count = 2};
    return vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, out, error);
}

static vyre_status hash_all(vyre_pipeline *pipeline, span range, hasher *h, tool_progress *progress,
                            vyre_error *error) {
    const uint64_t chunks = (range.count + CHUNK - 1) / CHUNK;
    vyre_pending *pending[IN_FLIGHT] = {NULL};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status = VYRE_OK;

    for (uint64_t i = 0; i < chunks + IN_FLIGHT - 1 && status == VYRE_OK; i++) {
        if (i < chunks) {
            uint64_t left = range.count - i * CHUNK;
            status = start_chunk(pipeline, range.first + i * CHUNK, left < CHUNK ? left : CHUNK,
                                 &pending[i % IN_FLIGHT], error);
        }
        if (status != VYRE_OK || i < IN_FLIGHT - 1)
            continue;
        vyre_pending **oldest = &pending[(i + 1) % IN_FLIGHT];
        status = vyre_pending_wait(*oldest, UINT64_MAX, &outputs, NULL, error);
        vyre_pending_free(*oldest);
        *oldest = NULL;
        if (status == VYRE_OK) {
            add_results(h, outputs.items[0].data, outputs.items[0].size / element_of(h->function)->size);
            tool_progress_step(progress, i + 2 - IN_FLIGHT);
        }
    }
    for (int i = 0; i < IN_FLIGHT; i++)
        vyre_pending_free(pending[i]);
    vyre_outputs_free(&outputs);
    return status;
}

/* Computes the digest of one function for a span. */
static int compute(request *r, const function *f, span range, vyre_pipeline *pipeline, char digest[65]) {
    hasher h = {.next = range.first, .function = f, .blocks = r->options->blocks ? &r->blocks : NULL};
    tool_progress progress = {0};
    vyre_error error;

    crypto_generichash_init(&h.all, NULL, 0, sizeof(vyre_digest));
    crypto_generichash_init(&h.block, NULL, 0, sizeof(vyre_digest));
    tool_progress_start(&progress, name_of(f), (range.count + CHUNK - 1) / CHUNK);
    vyre_status status = hash_all(pipeline, range, &h, &progress, &error);
    tool_progress_stop(&progress);
    if (status != VYRE_OK) {
        (void)tool_error(&error);
        return tool_exit_of_run(status);
    }
    finish_digest(&h.all, digest);
    return TOOL_OK;
}

static int compile_function(const request *r, const function *f, vyre_pipeline **out) {
    tool_progress progress = {0};
    vyre_error error;

    *out = NULL;
    tool_progress_start(&progress, "compiling", 0);
    vyre_status status = compile(r, f, out, &error);
    tool_progress_stop(&progress);
    if (status == VYRE_OK)
        return TOOL_OK;
    (void)tool_error(&error);
    return tool_exit_of_run(status);
}

/* ---- results ---- */

static void add_json(request *r, const function *f, span range, const char *digest, const char *expected) {
    tool_json_open(&r->json, "", '{');
    tool_json_text(&r->json, "function", name_of(f));
    tool_json_number(&r->json, "first", range.first);
    tool_json_number(&r->json, "count", range.count);
    tool_json_text(&r->json, "digest", digest);
    if (expected) {
        tool_json_text(&r->json, "expected", expected);
        tool_json_flag(&r->json, "equal", strcmp(digest, expected) == 0);
    }
    vy_string_char(&r->json, '}');
}

/* Prints a line as soon as it is known, since the next takes seconds. */
static void show(request *r, const function *f, span range, const char *digest) {
    if (r->options->json)
        add_json(r, f, range, digest, NULL);
    else if (range.count == element_of(f)->inputs)
        printf("%s %s\n", name_of(f), digest);
    else
        printf("%s 0x%08" PRIx64 ":%" PRIu64 " %s\n", name_of(f), range.first, range.count, digest);
    fflush(stdout);
}

static int digest_function(request *r, const function *f) {
    const span range = range_of(r, f);
    vyre_pipeline *pipeline;
    char digest[65];
    int code = compile_function(r, f, &pipeline);

    if (code == TOOL_OK)
        code = compute(r, f, range, pipeline, digest);
    if (code == TOOL_OK)
        show(r, f, range, digest);
    vyre_pipeline_release(pipeline);
    return code;
}

static int digest_functions(request *r) {
    int code = TOOL_OK;

    for (uint32_t i = 0; i < r->word_count && code == TOOL_OK; i++)
        code = digest_function(r, find_function(r->guard, r->words[i], strlen(r->words[i])));
    for (size_t i = 0; r->word_count == 0 && i < vyre_dialects_count(r->guard) && code == TOOL_OK; i++) {
        const function *op = vyre_dialects_at(r->guard, i);
        if (element_of(op) && range_of(r, op).count > 0)
            code = digest_function(r, op);
    }
    if (code == TOOL_OK && r->options->blocks) {
        if (r->blocks.failed) {
            vyre_error error;
            vy_fail_memory(&error, "collecting the digests");
            return tool_error(&error);
        }
        code = tool_file_write(r->options->blocks, r->blocks.text, r->blocks.length);
    }
    return code;
}

/* ---- comparing ---- */

/* "FIRST:COUNT" within 2^32 inputs. */
static int read_span(const char *text, size_t length, span *out) {
    const char *colon = memchr(text, ':', length);
    size_t before = colon ? (size_t)(colon - text) : 0;
    return colon && tool_number(text, before, &out->first) &&
           tool_number(colon + 1, length - before - 1, &out->count) && out->count > 0 &&
           out->first < elements[0].inputs && out->count <= elements[0].inputs - out->first;
}

/* A line of a file of digests: "NAME DIGEST" or "NAME FIRST:COUNT DIGEST". */
typedef struct line {
    const function *function;
    span range;
    char digest[65];
} line;

/* Splits a line into at most 4 words. */
static int split(const char *text, size_t length, const char *words[4], size_t sizes[4]) {
    int count = 0;

    for (size_t at = 0; at < length && count < 4;) {
        size_t end = at;
        while (end < length && text[end] != ' ' && text[end] != '\r')
            end++;
        if (end > at) {
            words[count] = text + at;
            sizes[count++] = end - at;
        }
        at = end + 1;
    }
    return count;
}

static int read_line(const request *r, const char *text, size_t length, line *out) {
    const char *words[4];
    size_t sizes[4];
    int count = split(text, length, words, sizes);

    memset(out, 0, sizeof *out);
    if (count < 2 || count > 3 || sizes[count - 1] != 64 || (count == 3 && !read_span(words[1], sizes[1], &out->range)))
        return 0;
    memcpy(out->digest, words[count - 1], 64);
    out->function = find_function(r->guard, words[0], sizes[0]);
    if (!out->function || strspn(out->digest, "0123456789abcdef") != 64)
        return 0;
    if (count == 2)
        out->range.count = element_of(out->function)->inputs;
    return out->range.first + out->range.count <= element_of(out->function)->inputs;
}

/* Whether the command line selects the function. */
static int is_wanted(const request *r, const function *f) {
    for (uint32_t i = 0; i < r->word_count; i++)
        if (find_function(r->guard, r->words[i], strlen(r->words[i])) == f)
            return 1;
    return r->word_count == 0;
}

static void show_difference(request *r, const line *expected, const char *digest) {
    r->compared++;
    if (r->options->json)
        add_json(r, expected->function, expected->range, digest, expected->digest);
    if (strcmp(digest, expected->digest) == 0)
        return;
    if (r->different++ == 0 && !r->options->json)
        printf("%s 0x%08" PRIx64 ":%" PRIu64 " differs: %s, expected %s\n", name_of(expected->function),
               expected->range.first, expected->range.count, digest, expected->digest);
    fflush(stdout);
}

static int fail_line(const request *r, uint64_t number) {
    vyre_error error;

    vy_fail(&error, VYRE_INVALID_ARGUMENT,
            "write lines `NAME DIGEST` or `NAME FIRST:COUNT DIGEST`, as `vyre math digest` prints them",
            "line %" PRIu64 " of `%.200s` is not a digest of a math function", number, r->options->compare);
    return tool_error(&error);
}

/* Walks the file; with `is_run` computes and compares the digests, otherwise only checks the lines. */
static int walk_file(request *r, const vyre_bytes *file, int is_run) {
    const char *text = (const char *)file->data;
    vyre_pipeline *pipeline = NULL;
    const function *compiled = NULL;
    uint64_t number = 0;
    int code = TOOL_OK;

    for (size_t at = 0, length; at < file->size && code == TOOL_OK; at += length + 1) {
        const char *end = memchr(text + at, '\n', file->size - at);
        char digest[65];
        line expected;
        length = end ? (size_t)(end - text) - at : file->size - at;
        number++;
        if (length == 0 || text[at] == '#')
            continue;
        if (!read_line(r, text + at, length, &expected))
            code = fail_line(r, number);
        else if (!is_run || !is_wanted(r, expected.function))
            continue;
        else if (expected.function != compiled) {
            vyre_pipeline_release(pipeline);
            code = compile_function(r, expected.function, &pipeline);
            compiled = expected.function;
        }
        if (code == TOOL_OK)
            code = compute(r, expected.function, expected.range, pipeline, digest);
        if (code == TOOL_OK)
            show_difference(r, &expected, digest);
    }
    vyre_pipeline_release(pipeline);
    return code;
}

static int compare_file(request *r) {
    vyre_bytes file = VYRE_BYTES_INIT;
    vyre_error error;
    int code = tool_file_read(r->options->compare, &file);

    if (code == TOOL_OK)
        code = walk_file(r, &file, 0);
    if (code == TOOL_OK)
        code = walk_file(r, &file, 1);
    vyre_bytes_free(&file);
    if (code != TOOL_OK)
        return code;
    if (r->compared == 0)
        return tool_usage(r->self, "name functions that the file contains, or none",
                          "`%.200s` has no digest of these functions", r->options->compare);
    if (r->different) {
        vy_fail(&error, VYRE_CHECK_FAILED,
                "compare the blocks of the function with --blocks on both devices to find the inputs",
                "%" PRIu64 " of %" PRIu64 " digests differ on `%s`", r->different, r->compared,
                vyre_backend_id(r->backend));
        (void)tool_error(&error);
        return TOOL_FAILED;
    }
    if (!r->options->json)
        printf("%" PRIu64 " digest%s equal\n", r->compared, r->compared == 1 ? " is" : "s are");
    return TOOL_OK;
}

/* ---- the command ---- */

static int is_registered(const char *name) {
    char id[64];
    size_t length = strcspn(name, "#");

    snprintf(id, sizeof id, "%.*s", length < sizeof id ? (int)length : 0, name);
    return vyre_backend_find(id) != NULL;
}

static int open_backend(request *r) {
    const char *name = r->options->backend;
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_error error;
    vyre_status status =
        name ? vyre_acquire(name, &r->backend, &error) : vyre_select(&policy, &r->backend, NULL, &error);

    if (status == VYRE_OK)
        return TOOL_OK;
    (void)tool_error(&error);
    return name && status == VYRE_NOT_FOUND && !is_registered(name) ? TOOL_USAGE : tool_exit_of_run(status);
}

static int check_usage(request *r) {
    const math_options *o = r->options;

    if (o->range && !read_span(o->range, strlen(o->range), &r->range))
        return tool_usage(
            r->self, "write `--range FIRST:COUNT`, as in `--range 0x3f800000:1048576`",
            "--range %.100s is not FIRST:COUNT with FIRST + COUNT at most 4294967296 and COUNT at least 1", o->range);
    if (o->compare && (o->range || o->blocks))
        return tool_usage(r->self, VY_FIX("remove --%s: the file contains the ranges", o->range ? "range" : "blocks"),
                          "--compare excludes --%s", o->range ? "range" : "blocks");
    if (o->blocks && (r->range.first % BLOCK || r->range.count % BLOCK))
        return tool_usage(r->self, VY_FIX("use multiples of %d in --range, or remove it", BLOCK),
                          "--blocks needs a range of whole blocks (2^20 inputs)");
    for (uint32_t i = 0; i < r->word_count; i++) {
        const function *f = find_function(r->guard, r->words[i], strlen(r->words[i]));
        if (!f)
            return no_function(r, r->words[i]);
        if (range_of(r, f).count == 0)
            return tool_usage(r->self, VY_FIX("remove --range, or use one within 0:%" PRIu64, element_of(f)->inputs),
                              "--range %.100s exceeds the inputs of %s", o->range, name_of(f));
    }
    return TOOL_OK;
}

static int print_json(request *r) {
    vy_string out = {0};

    vy_string_char(&out, '{');
    tool_json_text(&out, "backend", vyre_backend_id(r->backend));
    vy_string_format(&out, ",\"digests\":[%s]", r->json.text ? r->json.text : "");
    tool_error_record_json(&out);
    vy_string_add(&out, "}\n");
    out.failed |= r->json.failed;
    return tool_print(&out);
}

static int run_digest(const void *given) {
    request r = *(const request *)given;
    vyre_error error;
    int code = tool_dialects_load();
    const int initialised = sodium_init(); /* selects the vector code of BLAKE2b; if it fails, the portable code runs */

    (void)initialised;
    if (code == TOOL_OK && vyre_dialects_global(&r.guard, &error) != VYRE_OK)
        return tool_error(&error);
    if (code == TOOL_OK)
        code = check_usage(&r);
    if (code == TOOL_OK)
        code = open_backend(&r);
    if (code == TOOL_OK)
        code = r.options->compare ? compare_file(&r) : digest_functions(&r);
    if (r.options->json && r.backend && (code == TOOL_OK || r.different)) {
        int printed = print_json(&r);
        code = printed != TOOL_OK ? printed : code;
    }
    vy_string_free(&r.blocks);
    vy_string_free(&r.json);
    vyre_backend_release(r.backend);
    vyre_dialects_release(&r.guard);
    return code;
}

static const tool_action actions[] = {{"digest", run_digest}, {NULL, NULL}};

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    if (args->words.count == 0)
        return tool_usage(self, "write `vyre math digest exp`", "no action is given");
    const tool_action *action = tool_action_find(self, actions, args->words.items[0]);
    const request r = {
        .self = self, .options = given, .words = args->words.items + 1, .word_count = args->words.count - 1};
    return action ? action->run(&r) : TOOL_USAGE;
}

const tool_command tool_cmd_math = {
    .name = "math",
    .summary = "compute digests of the results of math functions",
    .usage = "digest [NAME ...] [OPTIONS]",
    .details =
        "digest  prints BLAKE2b-256 of the results of functions of the dialect math that map one f32 to one f32, for\n"
        "        all 2^32 inputs in the order of their bits: 32-bit words, little-endian, every NaN as 7fc00000. For\n"
        "        functions of f16 and bf16 (exp_f16): 2^16 inputs, 16-bit words, every NaN as 7e00 or 7fc0\n"
        "\n"
        "Without NAME all such functions. Equal digests mean equal results for every input. --compare reads the "
        "output\n"
        "of this command and the file of --blocks; lines that start with # are comments. It exits with 1 if a digest\n"
        "differs.\n",
    .examples = "  vyre math digest exp sin\n"
                "  vyre math digest exp --range 0x3f800000:1048576\n"
                "  vyre math digest exp --backend cpu --blocks exp.blocks\n"
                "  vyre math digest --backend cuda --compare exp.blocks\n"
                "  vyre math digest --compare docs/math-digests.txt\n",
    .options = options_table,
    .options_size = sizeof(math_options),
    .run = run_command,
};
