/* The official suite, toml-test: every valid document of TOML 1.0 is read to the values its expected file names, and
 * every invalid one is refused with a place and a fix. Each tree is also printed and read back. */
#include "base/file.h"
#include "dialect/json.h"
#include "dialect/toml_tree.h"

static int failures;

#define WRONG(...) (failures++, print_message(__VA_ARGS__))

/* A date as tree_print_time writes it. */
static void normalise_time(char *text) {
    char *point = strchr(text, '.');
    if (strlen(text) > 10 && text[4] == '-')
        text[10] = 'T';
    if (point) {
        size_t digits = strspn(point + 1, "0123456789"), kept = digits;
        while (kept && point[kept] == '0')
            kept--;
        char *end = kept ? point + 1 + kept : point;
        memmove(end, point + 1 + digits, strlen(point + 1 + digits) + 1);
    }
    size_t size = strlen(text);
    if (size > 6 && (strcmp(text + size - 6, "+00:00") == 0 || strcmp(text + size - 6, "-00:00") == 0))
        memcpy(text + size - 6, "Z", 2);
    else if (size && text[size - 1] == 'z')
        text[size - 1] = 'Z';
}

static int same_float(const char *expected, double given) {
    double number = strtod(expected, NULL);
    return isnan(number) ? isnan(given) : memcmp(&number, &given, sizeof given) == 0;
}

static int same_scalar(const char *type, char *text, size_t size, const vy_toml_value *given) {
    static const char *const types[] = {"string",   "integer",        "float",      "bool",
                                        "datetime", "datetime-local", "date-local", "time-local"};
    vy_string shown = {0};
    int same;
    if (given->kind >= VY_TOML_ARRAY || strcmp(types[given->kind], type) != 0)
        return 0;
    switch (given->kind) {
    case VY_TOML_STRING:
        return given->string.size == size && memcmp(given->string.text, text, size) == 0;
    case VY_TOML_INTEGER:
        return strtoll(text, NULL, 10) == given->integer;
    case VY_TOML_FLOAT:
        return same_float(text, given->number);
    case VY_TOML_BOOLEAN:
        return strcmp(text, given->boolean ? "true" : "false") == 0;
    default:
        normalise_time(text);
        tree_print_time(&shown, given);
        same = strcmp(shown.text, text) == 0;
        vy_string_free(&shown);
        return same;
    }
}

static int same(const json *expected, const vy_toml_value *given) {
    const json *type = json_member(expected, "type"), *value = json_member(expected, "value");
    if (expected->kind == JSON_OBJECT && type && type->kind == JSON_STRING)
        return same_scalar(type->text, value->text, value->size, given);
    if (expected->kind == JSON_ARRAY) {
        const json *item = expected->first;
        if (given->kind != VY_TOML_ARRAY || given->array.count != expected->count)
            return 0;
        for (const vy_toml_value *v = given->array.first; v; v = v->next, item = item->next)
            if (!same(item, v))
                return 0;
        return 1;
    }
    if (given->kind != VY_TOML_TABLE || given->table.count != expected->count)
        return 0;
    for (const json *member = expected->first; member; member = member->next) {
        const vy_toml_entry *entry = vy_toml_find(given, member->key, member->key_size);
        if (!entry || !same(member, &entry->value))
            return 0;
    }
    return 1;
}

static void read_or_fail(const char *path, vyre_bytes *out) {
    if (vy_file_read(path, SIZE_MAX, out, NULL) != VYRE_OK)
        fail_msg("%s cannot be read", path);
}

static void check_reads_back(const char *path, const vy_toml_value *root) {
    vy_string printed = {0};
    vy_toml *again = NULL;
    tree_print(&printed, root);
    if (vy_toml_parse(path, printed.text, printed.length, NULL, &again, NULL) != VYRE_OK ||
        !tree_equal(root, vy_toml_root(again)))
        WRONG("%s: what is printed reads back as something else\n%s\n", path, printed.text);
    vy_toml_free(again);
    vy_string_free(&printed);
}

static void check_valid(const char *path, const vyre_bytes *text) {
    vyre_bytes expected = VYRE_BYTES_INIT;
    vyre_error error;
    vy_toml *document;
    vy_arena arena = {0};
    if (vy_toml_parse(path, text->data, text->size, NULL, &document, &error) != VYRE_OK) {
        WRONG("%s is refused: %s (%s)\n", path, error.message, error.where);
        return;
    }
    char *other = strdup(path);
    assert_non_null(other);
    memcpy(other + strlen(other) - 4, "json", 4);
    read_or_fail(other, &expected);
    assert_int_equal(vyre_bytes_resize(&expected, expected.size + 1, NULL), VYRE_OK);
    json_reader reader = {&arena, expected.data};
    if (!same(json_value(&reader), vy_toml_root(document)))
        WRONG("%s has other values than expected\n", path);
    check_reads_back(path, vy_toml_root(document));
    vy_arena_free(&arena);
    free(other);
    vyre_bytes_free(&expected);
    vy_toml_free(document);
}

static void check_invalid(const char *path, const vyre_bytes *text) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vy_toml *document;
    if (vy_toml_parse(path, text->data, text->size, found, &document, NULL) == VYRE_OK)
        WRONG("%s is accepted\n", path);
    for (size_t i = 0; i < vyre_diagnostics_count(found); i++) {
        const vyre_diagnostic *finding = vyre_diagnostics_get(found, i);
        if (*finding->code && (!finding->line || !finding->column || !*finding->fix))
            WRONG("%s: a finding without a place or a fix: %s\n", path, finding->message);
    }
    vy_toml_free(document);
    vyre_diagnostics_free(found);
}

static void every_document_of_the_list_is_judged_right(void **state) {
    char folder[2048], path[4096], line[1024];
    unsigned valid = 0, invalid = 0;
    vyre_bytes text = VYRE_BYTES_INIT;
    (void)state;
    snprintf(folder, sizeof folder, "%s/toml-test/tests", vy_test_vectors());
    snprintf(path, sizeof path, "%s/files-toml-1.0.0", folder);
    FILE *list = fopen(path, "r");
    if (!list)
        VY_SKIP("toml-test: there is no file %s (set VYRE_VECTORS)", path);
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = 0;
        size_t size = strlen(line);
        if (size < 5 || strcmp(line + size - 5, ".toml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, line);
        read_or_fail(path, &text);
        int is_valid = strncmp(line, "valid/", 6) == 0;
        (is_valid ? check_valid : check_invalid)(path, &text);
        *(is_valid ? &valid : &invalid) += 1;
    }
    fclose(list);
    vyre_bytes_free(&text);
    printf("%u valid and %u invalid documents judged, %d wrongly\n", valid, invalid, failures);
    assert_true(valid > 0 && invalid > 0);
    assert_int_equal(failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_document_of_the_list_is_judged_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
