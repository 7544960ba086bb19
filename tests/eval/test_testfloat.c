/* Every line of every Berkeley TestFloat file: operands, result, flags in hexadecimal. */
#include "eval/cases.h"

#include <dirent.h>
#include <zlib.h>

/* What a file's name says: "f16_mulAdd", "ui32_to_f64", "f32_to_i64_minMag". */
typedef struct vector {
    vyre_op op;
    vyre_type result, operand;
    unsigned arity;
} vector;

static const struct {
    const char *name;
    vyre_type type;
} type_names[] = {{"f16", VYRE_TYPE_F16}, {"f32", VYRE_TYPE_F32},  {"f64", VYRE_TYPE_F64}, {"i32", VYRE_TYPE_I32},
                  {"i64", VYRE_TYPE_I64}, {"ui32", VYRE_TYPE_U32}, {"ui64", VYRE_TYPE_U64}};

static const struct {
    const char *name;
    vyre_op op;
} op_names[] = {{"add", VYRE_OP_ADD},
                {"sub", VYRE_OP_SUB},
                {"mul", VYRE_OP_MUL},
                {"div", VYRE_OP_DIV},
                {"rem", VYRE_OP_REMAINDER},
                {"sqrt", VYRE_OP_SQRT},
                {"mulAdd", VYRE_OP_FMA},
                {"eq", VYRE_OP_EQ},
                {"lt", VYRE_OP_LT},
                {"le", VYRE_OP_LE},
                {"roundToInt_near_even", VYRE_OP_ROUND},
                {"roundToInt_min", VYRE_OP_FLOOR},
                {"roundToInt_max", VYRE_OP_CEIL},
                {"roundToInt_minMag", VYRE_OP_TRUNC}};

static vyre_type type_called(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        if (strlen(type_names[i].name) == length && memcmp(type_names[i].name, name, length) == 0)
            return type_names[i].type;
    return VYRE_TYPE_COUNT;
}

/* 0 if the name is not one we know. */
static int understand(const char *name, size_t length, vector *out) {
    const char *rest = memchr(name, '_', length);
    size_t left;

    if (!rest)
        return 0;
    out->operand = type_called(name, (size_t)(rest - name));
    left = length - (size_t)(rest + 1 - name);
    rest++;
    if (left > 3 && memcmp(rest, "to_", 3) == 0) {
        const char *end = memchr(rest + 3, '_', left - 3);

        out->op = VYRE_OP_CAST;
        out->result = type_called(rest + 3, end ? (size_t)(end - rest - 3) : left - 3);
        out->arity = 1;
        /* Our conversion to an integer is the truncating one; the others round to nearest-even. */
        return out->operand != VYRE_TYPE_COUNT && out->result != VYRE_TYPE_COUNT &&
               (end ? left - (size_t)(end - rest) == 7 && memcmp(end, "_minMag", 7) == 0
                    : format_of(out->result) != NULL);
    }
    for (size_t i = 0; i < sizeof op_names / sizeof *op_names; i++)
        if (strlen(op_names[i].name) == left && memcmp(op_names[i].name, rest, left) == 0) {
            out->op = op_names[i].op;
            out->arity = vyre_op_get(out->op)->arity;
            out->result = vyre_op_accepts(out->op, out->operand, VYRE_TYPE_BOOL) ? VYRE_TYPE_BOOL : out->operand;
            return out->operand != VYRE_TYPE_COUNT;
        }
    return 0;
}

/* An invalid conversion to an integer: NaN gives 0, what is out of range its nearer end. */
static uint64_t saturated(const vector *v, uint64_t operand) {
    const format *f = format_of(v->operand);
    const unsigned width = vyre_type_bits(v->result);
    const uint64_t all = UINT64_MAX >> (64 - width);
    const int is_signed = vyre_type_class(v->result) == VYRE_CLASS_SIGNED;

    if (format_is_nan(f, operand))
        return 0;
    if (operand & format_sign(f))
        return is_signed ? all ^ all >> 1 : 0;
    return is_signed ? all >> 1 : all;
}

static void check_line(const vector *v, const char *file, const char *line) {
    const format *f = format_of(v->result);
    uint64_t fields[5] = {0};
    char *at = (char *)(uintptr_t)line;
    uint64_t expected, flags, got;

    for (unsigned i = 0; i < v->arity + 2; i++) {
        char *end;

        fields[i] = strtoull(at, &end, 16);
        if (end == at)
            fail_msg("%s: a line of %u fields is expected: %s", file, v->arity + 2, line);
        at = end;
    }
    expected = fields[v->arity];
    flags = fields[v->arity + 1];
    if (v->op == VYRE_OP_CAST && !f && flags & 0x10)
        expected = saturated(v, fields[0]);
    if (f && format_is_nan(f, expected))
        expected = f->nan;
    got = vyre_op_evaluate(v->op, v->result, v->operand, fields[0], v->arity > 1 ? fields[1] : 0,
                           v->arity > 2 ? fields[2] : 0);
    if (got != expected)
        fail_msg("%s: we give %" PRIx64 ", expected %" PRIx64 " in: %s", file, got, expected, line);
}

static uint64_t check_file(const char *folder, const char *file, const vector *v) {
    char path[4096 + 300], line[256];
    uint64_t lines = 0;
    gzFile input;

    snprintf(path, sizeof path, "%s/%s", folder, file);
    input = gzopen(path, "rb");
    if (!input)
        fail_msg("%s cannot be read", path);
    while (gzgets(input, line, sizeof line)) {
        line[strcspn(line, "\n")] = 0;
        check_line(v, file, line);
        lines++;
    }
    assert_int_equal(gzclose(input), Z_OK);
    return lines;
}

static void every_line_of_every_file_agrees(void **state) {
    static const char suffix[] = ".txt.gz";
    char folder[4096];
    uint64_t lines = 0, files = 0;
    const struct dirent *entry;
    DIR *directory;
    (void)state;

    snprintf(folder, sizeof folder, "%s/testfloat", vy_test_vectors());
    directory = opendir(folder);
    if (!directory)
        VY_SKIP("TestFloat vectors: there is no folder %s (set VYRE_VECTORS)", folder);
    while ((entry = readdir(directory))) {
        const size_t length = strlen(entry->d_name);
        vector v = {0};

        if (length < sizeof suffix || strcmp(entry->d_name + length - (sizeof suffix - 1), suffix) != 0)
            continue;
        if (!understand(entry->d_name, length - (sizeof suffix - 1), &v))
            fail_msg("%s names no function this test knows", entry->d_name);
        lines += check_file(folder, entry->d_name, &v);
        files++;
    }
    closedir(directory);
    printf("%" PRIu64 " lines in %" PRIu64 " files checked\n", lines, files);
    assert_true(files > 0 && lines >= files);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_line_of_every_file_agrees)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
