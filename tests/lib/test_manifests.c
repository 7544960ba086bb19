/* Every manifest of the library reads without a finding, says what each op does, and names no op that is not tried. */
#include "lib/model_bits.h"
#include "lib/model_hash.h"
#include "lib/model_histogram.h"
#include "lib/model_int.h"
#include "lib/model_match.h"
#include "lib/model_math.h"
#include "lib/model_pack.h"
#include "lib/model_random.h"
#include "lib/model_reduce.h"
#include "lib/model_sort.h"
#include "lib/model_text.h"

#include "dialect/manifest.h"
#include "ir/model.h"
#include "support/math_functions_f64.h"

#include <glob.h>

static const char *const dialects[] = {"bits", "compact", "hash",   "histogram", "int",  "match", "math",
                                       "pack", "random",  "reduce", "scan",      "sort", "text"};

/* Files of ops whose manifest names another file for the others. */
static const char *const parts[] = {"math_f64_exp", "math_f64_trig"};

/* Ops that have tests of their own beside the tables. */
static const char *const others[] = {
    "int.divide_prepare_u32", "int.divide_by_u32",  "int.divide_prepare_u64",
    "int.divide_by_u64",      "hash.sha256_block",  "hash.blake2b_block",
    "compact.place",          "compact.into_u32",   "histogram.clear",
    "histogram.bytes",        "histogram.keys_u32", "histogram.flush",
    "text.utf8_step",         "text.utf8_valid",    "text.utf8_decode",
    "text.utf8_count",        "match.step",         "match.run",
    "match.run_workgroup",    "match.equal",        "match.find_byte",
    "math.sin_f64",           "math.cos_f64",       "math.tan_f64",
    "math.sincos_f64",        "math.sinpi_f64",     "math.cospi_f64",
    "math.tanpi_f64",         "math.asin_f64",      "math.acos_f64",
    "math.atan_f64",          "math.asinpi_f64",    "math.acospi_f64",
    "math.atanpi_f64",        "math.atan2_f64",     "math.atan2pi_f64",
    "math.erf_f64",           "math.erfc_f64",      "math.tgamma_f64",
    "math.lgamma_f64",
};

static int is_mapped(const map_function *functions, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(functions[i].name, name) == 0)
            return 1;
    return 0;
}

static int is_tiled(const tile_function *functions, size_t count, const char *dialect, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(functions[i].dialect, dialect) == 0 && strcmp(functions[i].name, name) == 0)
            return 1;
    return 0;
}

static int is_tried(const char *dialect, const char *id) {
    static const struct {
        const char *dialect;
        const map_function *functions;
        size_t count;
    } maps[] = {
        {"bits", bits_functions, MAP_COUNT(bits_functions)},
        {"int", int_functions, MAP_COUNT(int_functions)},
        {"hash", hash_scalars, MAP_COUNT(hash_scalars)},
        {"random", random_functions, MAP_COUNT(random_functions)},
        {"pack", pack_functions, MAP_COUNT(pack_functions)},
        {"sort", sort_scalars, MAP_COUNT(sort_scalars)},
        {"histogram", histogram_scalars, MAP_COUNT(histogram_scalars)},
        {"text", text_functions, MAP_COUNT(text_functions)},
        {"math", math_functions, MAP_COUNT(math_functions)},
        {"math", math_f16_functions, MAP_COUNT(math_f16_functions)},
        {"math", math_bf16_functions, MAP_COUNT(math_bf16_functions)},
        {"math", math_f64_functions, MAP_COUNT(math_f64_functions)},
    };
    const char *name = strchr(id, '.') + 1;

    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (strcmp(maps[i].dialect, dialect) == 0 && is_mapped(maps[i].functions, maps[i].count, name))
            return 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], id) == 0)
            return 1;
    for (int i = 0; i < MATH_F64_ROWS; i++) {
        char f64[64];
        snprintf(f64, sizeof f64, "math.%s_f64", math_f64_table[i].name);
        if (strcmp(f64, id) == 0)
            return 1;
    }
    return (strcmp(dialect, "hash") == 0 && hash_find(name)) ||
           is_tiled(reduce_functions, TILE_COUNT(reduce_functions), dialect, name) ||
           is_tiled(scan_functions, TILE_COUNT(scan_functions), dialect, name) ||
           is_tiled(sort_functions, TILE_COUNT(sort_functions), dialect, name) ||
           is_tiled(compact_functions, TILE_COUNT(compact_functions), dialect, name);
}

static vy_manifest *load(const char *dialect) {
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_error error = VYRE_ERROR_INIT;
    vy_manifest *manifest = NULL;
    char path[128];

    snprintf(path, sizeof path, "lib/%s.toml", dialect);
    if (vy_manifest_load(vy_test_path(path), list, &manifest, &error) != VYRE_OK || vyre_diagnostics_count(list) != 0) {
        vyre_bytes rendered = VYRE_BYTES_INIT;
        vyre_diagnostics_render(list, &rendered, NULL);
        fail_msg("%s: %s\n%.*s", path, error.message, (int)rendered.size, rendered.data ? (char *)rendered.data : "");
    }
    vyre_diagnostics_free(list);
    return manifest;
}

static void every_manifest_reads_without_a_finding(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        vy_manifest *manifest = load(dialects[i]);
        assert_string_equal(manifest->dialect.name, dialects[i]);
        assert_non_null(manifest->dialect.doc);
        assert_true(manifest->op_count > 0);
        for (uint32_t k = 0; k < manifest->op_count; k++) {
            const vyre_op_definition *op = &manifest->ops[k].definition;
            if (!op->doc || !*op->doc)
                fail_msg("%s has no doc line", op->id);
            if (!is_tried(dialects[i], op->id))
                fail_msg("%s is in the manifest, but no test tries it", op->id);
        }
        vy_manifest_free(manifest);
    }
}

static void the_page_names_every_op(void **state) {
    vyre_bytes page = VYRE_BYTES_INIT;

    (void)state;
    assert_int_equal(vy_file_read(vy_test_path("docs/library.md"), SIZE_MAX, &page, NULL), VYRE_OK);
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        vy_manifest *manifest = load(dialects[i]);
        for (uint32_t k = 0; k < manifest->op_count; k++) {
            char name[VY_LIMIT_NAME + 3];
            snprintf(name, sizeof name, "`%s`", strchr(manifest->ops[k].definition.id, '.') + 1);
            if (!memmem(page.data, page.size, name, strlen(name)))
                fail_msg("docs/library.md does not name %s", manifest->ops[k].definition.id);
        }
        vy_manifest_free(manifest);
    }
    vyre_bytes_free(&page);
}

/* A file in lib/ that the list above does not name would not be tested. */
static void no_dialect_is_forgotten(void **state) {
    static const char *const patterns[] = {"lib/*.toml", "lib/*.vyre"};

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        glob_t found;
        assert_int_equal(glob(vy_test_path(patterns[p]), 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *file = strrchr(found.gl_pathv[i], '/') + 1;
            size_t length = strcspn(file, "."), known = 0;
            for (size_t k = 0; k < sizeof dialects / sizeof *dialects; k++)
                known += strlen(dialects[k]) == length && strncmp(dialects[k], file, length) == 0;
            for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
                known += strlen(parts[k]) == length && strncmp(parts[k], file, length) == 0;
            if (!known)
                fail_msg("%s is not in the list of this test", file);
        }
        globfree(&found);
    }
}

static void expect_formatted(const char *name) {
    vyre_bytes text = VYRE_BYTES_INIT, formatted = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    char path[128];

    snprintf(path, sizeof path, "lib/%s.vyre", name);
    assert_int_equal(vy_file_read(vy_test_path(path), SIZE_MAX, &text, &error), VYRE_OK);
    assert_int_equal(vyre_text_format(text.data, text.size, NULL, NULL, &formatted, &error), VYRE_OK);
    if (formatted.size != text.size || memcmp(formatted.data, text.data, text.size) != 0)
        fail_msg("%s is not formatted. Fix: vyre fmt -w %s", path, path);
    vyre_bytes_free(&text);
    vyre_bytes_free(&formatted);
}

static void bodies_are_laid_out_as_the_formatter_does(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        expect_formatted(dialects[i]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        expect_formatted(parts[i]);
}

/* The bound that a function of f64 is tested against is the one that its doc line states. */
static void bounds_of_f64_are_stated(void **state) {
    vy_manifest *manifest = load("math");

    (void)state;
    for (int i = 0; i < MATH_F64_ROWS; i++) {
        char id[64], bound[64];
        uint32_t k = 0;
        snprintf(id, sizeof id, "math.%s_f64", math_f64_table[i].name);
        snprintf(bound, sizeof bound, "; error below %g ulp.", math_f64_table[i].bound);
        while (k < manifest->op_count && strcmp(manifest->ops[k].definition.id, id) != 0)
            k++;
        assert_true(k < manifest->op_count);
        if ((math_f64_table[i].bound > 0) != (strstr(manifest->ops[k].definition.doc, bound) != NULL))
            fail_msg("%s is tested with the bound %g, but says \"%s\"", id, math_f64_table[i].bound,
                     manifest->ops[k].definition.doc);
    }
    vy_manifest_free(manifest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_manifest_reads_without_a_finding),
        cmocka_unit_test(the_page_names_every_op),
        cmocka_unit_test(bounds_of_f64_are_stated),
        cmocka_unit_test(no_dialect_is_forgotten),
        cmocka_unit_test(bodies_are_laid_out_as_the_formatter_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
