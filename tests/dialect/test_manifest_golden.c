/* Manifests, good and bad: manifests/NAME.toml beside manifests/NAME.expected, which holds what was read, or everything
 * that is wrong. */
#include "dialect/golden.h"
#include "dialect/manifest_reader.h"

#include <inttypes.h>
#include <unistd.h>

static void print_operands(vy_string *out, const char *what, const vyre_op_operand *operands, uint32_t count) {
    char text[96];
    for (uint32_t i = 0; i < count; i++) {
        vy_manifest_operand_text(&operands[i], text, sizeof text);
        vy_string_format(out, "  %s %s\n", what, text);
    }
}

static void print_attribute(vy_string *out, const vyre_attribute *attribute, vy_position at) {
    vy_string_format(out, "  attribute %s: %s (line %u)", attribute->name, vyre_type_name(attribute->type), at.line);
    if (attribute->has_default)
        vy_string_format(out, " = %#" PRIx64, attribute->value);
    if (attribute->has_range)
        vy_string_format(out, " in %#" PRIx64 " .. %#" PRIx64, attribute->least, attribute->most);
    for (uint32_t i = 0; i < attribute->value_count; i++)
        vy_string_format(out, "%s%#" PRIx64, i ? ", " : " of ", attribute->values[i]);
    vy_string_char(out, '\n');
}

static void print_law(vy_string *out, const vyre_law *law, vy_position at) {
    const char *letters = vyre_law_arguments(law->kind);
    vy_string_format(out, "  law %s (line %u)", vyre_law_name(law->kind), at.line);
    for (uint32_t i = 0; i < law->argument_count; i++) {
        vy_string_format(out, " %s", law->arguments[i].text);
        if (letters[i] == 'v')
            vy_string_format(out, " = %#" PRIx64 " %s", law->arguments[i].value.bits,
                             vyre_type_name(law->arguments[i].value.type));
    }
    vy_string_char(out, '\n');
}

static void print_op(vy_string *out, const vy_manifest_op *op) {
    const vyre_op_definition *d = &op->definition;
    vy_string_format(out, "\nop %s, %s (line %u): %s\n", d->id, vyre_op_category_name(d->category), op->at.line,
                     d->doc ? d->doc : "no doc");
    vy_string_format(out, "  signature %s\n", op->signature);
    print_operands(out, "takes", d->inputs, d->input_count);
    print_operands(out, "gives", d->outputs, d->output_count);
    for (uint32_t i = 0; i < d->attribute_count; i++)
        print_attribute(out, &d->attributes[i], op->attribute_positions[i]);
    for (uint32_t i = 0; i < d->law_count; i++)
        print_law(out, &d->laws[i], op->law_positions[i]);
    for (uint32_t i = 0; i < d->lowering_count; i++)
        vy_string_format(out, "  code for %s, %zu bytes, %u ulp\n", d->lowerings[i].target, d->lowerings[i].size,
                         d->lowerings[i].ulp);
    if (d->body)
        vy_string_format(out, "  body %s of %u functions in %s\n", d->function, d->body->functions.count,
                         op->file ? op->file : "the manifest");
}

static void print_manifest(vy_string *out, const vy_manifest *manifest) {
    vy_string_format(out, "dialect %s %s of %s: %s\n", manifest->dialect.name, manifest->dialect.version,
                     manifest->dialect.owner, manifest->dialect.doc ? manifest->dialect.doc : "no doc");
    for (uint32_t i = 0; i < manifest->requirement_count; i++)
        vy_string_format(out, "requires %s %s (line %u)\n", manifest->requirements[i].dialect,
                         manifest->requirements[i].version, manifest->requirements[i].at.line);
    for (uint32_t i = 0; i < manifest->file_count; i++)
        vy_string_format(out, "file %s\n", manifest->files[i]);
    for (uint32_t i = 0; i < manifest->op_count; i++)
        print_op(out, &manifest->ops[i]);
}

static void describe(const char *file, const char *path, const vyre_bytes *text, vy_string *out) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_bytes shown = VYRE_BYTES_INIT;
    vyre_error error;
    vy_manifest *manifest;
    char here[1024];
    /* From inside the folder, so that no path of this machine is in what is said. */
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(vy_test_path("tests/dialect/manifests")), 0);
    (void)path;
    (void)text;
    vyre_status status = vy_manifest_load(file, found, &manifest, &error);
    assert_int_equal(chdir(here), 0);
    assert_true((status == VYRE_OK) == (manifest != NULL));
    assert_true((status == VYRE_OK) == (vyre_diagnostics_errors(found) == 0));
    assert_int_equal(vyre_diagnostics_render(found, &shown, NULL), VYRE_OK);
    vy_string_append(out, shown.data, shown.size);
    if (manifest)
        print_manifest(out, manifest);
    vy_manifest_free(manifest);
    vyre_bytes_free(&shown);
    vyre_diagnostics_free(found);
}

static void manifests_read_as_expected(void **state) {
    golden_run run = {0};
    (void)state;
    golden_folder(&run, "tests/dialect/manifests", describe);
    golden_expect_codes(&run, 101, 118);
    vy_string_free(&run.all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(manifests_read_as_expected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
