/* What the optimiser does to the examples, in numbers: the table of docs/internals/opt.md. Sizes of the programs
 * as written (inlined), at level 1 and at level 2, and what a dispatch of each executes. The bytes of the three are the
 * same.
 *
 * VYRE_UPDATE=1 writes the rows anew. */
#include "support/resolve.h"

#include "base/file.h"
#include "vyre/oracle.h"
#include "vyre/text.h"
#include "vyre/transform.h"

#include <glob.h>

enum { LEVELS = VYRE_OPTIMIZE_LEVEL_MAX + 1, MOST = 16, MANY = 1024 };
#define PAGE "docs/internals/opt.md"

/* ---- what the examples are run with ---- */

static const struct {
    const char *name;
    uint64_t bits;
} params[] = {
    {"n", 32},
    {"width", 32},
    {"height", 32},
    {"size", 1024},
    {"stride", 512},
    {"seed", 0},
    {"dt", 0x3c23d70a},
    {"softening", 0x3c23d70a}, /* 0.01 */
    {"rate", 0x3e800000} /* 0.25 */,
    {"a", 0x40000000} /* 2 */,
    {"columns", 32},
};

/* How many elements, where not 1024. */
static const struct {
    const char *name;
    size_t count;
} sizes[] = {
    {"data", 4096},        {"offsets", 65},       {"table", 3 * 256}, {"rules", 3},    {"mass", 128},
    {"position", 3 * 128}, {"velocity", 3 * 128}, {"key", 16},        {"totals", 256}, {"before", 4},
};

static size_t size_in(const char *program, size_t count) {
    if (strcmp(program, "gravity") == 0 && count == 3 * 128)
        return 2 * 128; /* in a plane */
    return strcmp(program, "fft") == 0 ? 2048 : count;
}

/* The picture of mandelbrot is small. */
static const vyre_define defines[] = {{"WIDTH", "32"}, {"HEIGHT", "24"}};

static uint64_t value_of(const char *name, vyre_type type, uint64_t i) {
    uint64_t noise = i * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    if (strcmp(name, "offsets") == 0)
        return i * 63; /* messages and records */
    if (strcmp(name, "table") == 0)
        return noise % 3; /* states */
    if (strcmp(name, "keys") == 0 && type == VYRE_TYPE_I64)
        return i * 3; /* sorted */
    if (type == VYRE_TYPE_F32)
        return 0x3f800000 | noise % 0x800000; /* between 1 and 2 */
    return noise % 3001;
}

static void fill(unsigned char *bytes, const vyre_buffer_info *buffer, size_t count) {
    size_t size = vyre_type_size(buffer->type);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = value_of(buffer->name, buffer->type, i);
        for (size_t b = 0; b < size; b++)
            bytes[i * size + b] = (unsigned char)(value >> 8 * b);
    }
}

typedef struct input {
    vyre_scalar params[MOST];
    vyre_span inputs[MOST];
    unsigned char *bytes[MOST];
    vyre_arguments arguments;
} input;

static void input_open(input *in, vyre_program *program) {
    vyre_param_info param;
    vyre_buffer_info buffer;
    memset(in, 0, sizeof *in);
    in->arguments = (vyre_arguments){.params = in->params, .inputs = in->inputs};
    for (size_t i = 0; vyre_program_param(program, i, &param); i++) {
        in->params[i].type = param.type;
        for (size_t k = 0; k < sizeof params / sizeof *params; k++)
            if (strcmp(params[k].name, param.name) == 0)
                in->params[i].bits = params[k].bits;
        in->arguments.param_count++;
    }
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        size_t count = buffer.is_static ? (size_t)buffer.count : MANY, slot = in->arguments.input_count;
        if (buffer.access == VYRE_ACCESS_WRITE)
            continue;
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            if (strcmp(sizes[k].name, buffer.name) == 0)
                count = sizes[k].count;
        count = size_in(vyre_program_name(program), count);
        in->bytes[slot] = malloc(count * vyre_type_size(buffer.type));
        fill(in->bytes[slot], &buffer, count);
        in->inputs[slot] = (vyre_span){in->bytes[slot], count * vyre_type_size(buffer.type)};
        in->arguments.input_count++;
    }
}

static void input_close(input *in) {
    for (size_t i = 0; i < in->arguments.input_count; i++)
        free(in->bytes[i]);
}

/* ---- counting ---- */

typedef struct counts {
    uint64_t statements, expressions, steps, evaluations;
} counts;

static void run(vyre_program *program, const vyre_arguments *arguments, vyre_bytes *outputs, counts *into) {
    vyre_oracle *oracle;
    vyre_oracle_report report;
    vyre_error error;
    assert_int_equal(vyre_oracle_new(program, &oracle, &error), VYRE_OK);
    if (vyre_oracle_run(oracle, arguments, NULL, outputs, &report, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    into->steps = report.steps;
    into->evaluations = report.evaluations;
    vyre_oracle_free(oracle);
}

static void count(vyre_program *program, counts all[LEVELS]) {
    static vyre_bytes outputs[LEVELS][MOST];
    input in;
    input_open(&in, program);
    for (unsigned level = 1; level < LEVELS; level++) {
        vyre_optimize_options options = {.level = level};
        vyre_optimize_report report;
        vyre_program *made;
        vyre_error error;
        assert_int_equal(vyre_program_optimize(program, &options, &made, &report, &error), VYRE_OK);
        all[0].statements = report.statements_before;
        all[0].expressions = report.expressions_before;
        all[level].statements = report.statements_after;
        all[level].expressions = report.expressions_after;
        run(made, &in.arguments, outputs[level], &all[level]);
        vyre_program_release(made);
    }
    run(program, &in.arguments, outputs[0], &all[0]);
    for (unsigned level = 1; level < LEVELS; level++)
        for (size_t i = 0; i < vyre_program_output_count(program); i++) {
            assert_int_equal(outputs[level][i].size, outputs[0][i].size);
            assert_memory_equal(outputs[level][i].data, outputs[0][i].data, outputs[0][i].size);
        }
    for (unsigned i = 0; i < LEVELS * MOST; i++)
        vyre_bytes_free(&outputs[i / MOST][i % MOST]);
    input_close(&in);
}

/* ---- the table ---- */

/* 12345 as 12,345. */
static size_t put_number(char *text, uint64_t number) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
    return at;
}

static void put_row(char *row, const char *file, const char *program, const counts all[LEVELS]) {
    const char *base = strrchr(file, '/') + 1;
    size_t at = (size_t)sprintf(row, "| `%.*s`, `%s` |", (int)(strlen(base) - strlen(".vyre")), base, program);
    for (int column = 0; column < 4; column++)
        for (unsigned level = 0; level < LEVELS; level++) {
            const uint64_t *of_level = &all[level].statements;
            row[at++] = ' ';
            at += put_number(row + at, of_level[column]);
            at += (size_t)sprintf(row + at, "%s", level + 1 < LEVELS ? " →" : " |");
        }
}

/* The line of the page that starts like the row up to its second bar, replaced by the row; whether there is one. */
static int update(vyre_bytes *page, const char *row) {
    const char *head_end = strchr(row + 1, '|');
    char head[128];
    snprintf(head, sizeof head, "\n%.*s", (int)(head_end - row + 1), row);
    char *text = page->data, *line = strstr(text, head);
    if (!line)
        return 0;
    char *end = strchr(++line, '\n');
    size_t size = strlen(text) + strlen(row) + 1;
    char *made = malloc(size);
    snprintf(made, size, "%.*s%s%s", (int)(line - text), text, row, end);
    assert_int_equal(vy_file_write(vy_test_path(PAGE), made, strlen(made), NULL), VYRE_OK);
    free(made);
    vyre_bytes_free(page);
    assert_int_equal(vy_file_read(vy_test_path(PAGE), SIZE_MAX, page, NULL), VYRE_OK);
    return 1;
}

static void the_table_of_the_examples_is_right(void **state) {
    (void)state;
    glob_t files;
    vyre_bytes page = VYRE_BYTES_INIT;
    unsigned wrong = 0, rows = 0;
    assert_int_equal(vy_file_read(vy_test_path(PAGE), SIZE_MAX, &page, NULL), VYRE_OK);
    assert_int_equal(glob(vy_test_path("examples/*.vyre"), 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        vyre_bytes text = VYRE_BYTES_INIT;
        vyre_module *module;
        vyre_error error;
        int is_picture = strstr(files.gl_pathv[i], "mandelbrot") || strstr(files.gl_pathv[i], "raytrace");
        vyre_parse_options options = {.defines = defines, .define_count = is_picture ? 2 : 0};
        assert_int_equal(vy_file_read(files.gl_pathv[i], SIZE_MAX, &text, NULL), VYRE_OK);
        if (vyre_text_parse(text.data, text.size, &options, NULL, &module, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        for (size_t p = 0; p < vyre_module_program_count(module); p++, rows++) {
            counts all[LEVELS] = {{0}};
            char row[512];
            vyre_program *program = vy_test_resolve(vyre_module_program(module, p));
            count(program, all);
            put_row(row, files.gl_pathv[i], vyre_program_name(program), all);
            vyre_program_release(program);
            if (strstr(page.data, row) || (getenv("VYRE_UPDATE") && update(&page, row)))
                continue;
            printf("%s\n", row);
            wrong++;
        }
        vyre_module_free(module);
        vyre_bytes_free(&text);
    }
    globfree(&files);
    vyre_bytes_free(&page);
    assert_true(rows > 12);
    if (wrong)
        fail_msg("%u rows are not in " PAGE ". Fix: VYRE_UPDATE=1, or put the rows above there", wrong);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_of_the_examples_is_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
