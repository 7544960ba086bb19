/* Versions of the functions of `math` that are not correctly rounded: a correctly rounded result is unique, but the
 * results of these follow from their algorithm.
 *
 * math_versions.txt has a line for each: name, version, and the digest of the results for a fixed sample. A change of
 * the bits fails here. It needs a new version: raise the default and the allowed value of the attribute `version` in
 * lib/math.toml, and run this test with VYRE_UPDATE=1. */
#include "lib/library.h"

#include "base/string.h"

enum { ROWS = 2048, OPERANDS = 2 };

static const char *const path = "tests/lib/math_versions.txt";

static const vyre_attribute *version_of(const vyre_op_definition *op) {
    for (uint32_t k = 0; k < op->attribute_count; k++)
        if (strcmp(op->attributes[k].name, "version") == 0)
            return &op->attributes[k];
    return NULL;
}

static void functions_with_only_a_stated_bound_have_a_version(void **state) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    size_t versions = 0;

    (void)state;
    for (size_t i = 0; i < vyre_dialects_count(guard); i++) {
        const vyre_op_definition *op = vyre_dialects_at(guard, i);
        if (strcmp(op->dialect, "math") != 0)
            continue;
        const vyre_attribute *version = version_of(op);
        if (!version != !strstr(op->doc, "error below"))
            fail_msg("%s: an op needs an attribute `version` exactly if its documentation states an error", op->id);
        if (version)
            assert_true(version->has_default && version->value_count == 1 && version->values[0] == version->value);
        versions += version != NULL;
    }
    vyre_dialects_release(&guard);
    assert_true(versions >= 10);
}

/* The bits of an operand: half of them any, half of a magnitude from 2^-8 to 2^8; integers from -64 to 63. */
static uint64_t draw(vyre_type type, uint64_t row, uint32_t operand) {
    uint64_t z = (row * OPERANDS + operand + 1) * UINT64_C(0x9e3779b97f4a7c15);
    int fraction = type == VYRE_TYPE_F16 ? 10 : type == VYRE_TYPE_BF16 ? 7 : type == VYRE_TYPE_F32 ? 23 : 52;
    int bias = type == VYRE_TYPE_F16 ? 15 : type == VYRE_TYPE_F64 ? 1023 : 127;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    if (type == VYRE_TYPE_I32)
        return (uint32_t)(z & 127) - 64;
    if (row % 2)
        z = (z & ((UINT64_C(1) << fraction) - 1)) | (uint64_t)(bias - 8 + (int)(z >> 60)) << fraction |
            (z >> 59 & 1) << (type == VYRE_TYPE_F64   ? 63
                              : type == VYRE_TYPE_F32 ? 31
                                                      : 15);
    return z;
}

static size_t size_of(vyre_type type) {
    return type == VYRE_TYPE_F64 ? 8 : type == VYRE_TYPE_F32 || type == VYRE_TYPE_I32 ? 4 : 2;
}

/* "name version digest\n" */
static void describe(const vyre_op_definition *op, vyre_dialects_guard guard, char *line, size_t size) {
    static uint64_t operands[OPERANDS][ROWS];
    vyre_span inputs[OPERANDS];
    char text[1024], digits[65];
    size_t at;
    vyre_digest digest, all = {{0}};
    library l;

    assert_true(op->input_count <= OPERANDS);
    at = (size_t)snprintf(text, sizeof text, "program sample {\n");
    for (uint32_t k = 0; k < op->input_count; k++) {
        size_t bytes = size_of(op->inputs[k].type);
        for (uint64_t row = 0; row < ROWS; row++) {
            uint64_t bits = draw(op->inputs[k].type, row, k);
            memcpy((char *)operands[k] + row * bytes, &bits, bytes);
        }
        inputs[k] = (vyre_span){operands[k], ROWS * bytes};
        at += (size_t)snprintf(text + at, sizeof text - at, "  buffer a%u : %s read\n", k,
                               vyre_type_name(op->inputs[k].type));
    }
    for (uint32_t k = 0; k < op->output_count; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "  buffer r%u : %s write count len(a0)\n", k,
                               vyre_type_name(op->outputs[k].type));
    at += (size_t)snprintf(
        text + at, sizeof text - at,
        "  workgroup 64\n  grid over a0\n\n  let i = global_id.x\n  if i < len(a0) {\n    let %s%s%s = "
        "%s(a0[i]%s)\n",
        op->output_count > 1 ? "(" : "", op->output_count > 1 ? "v0, v1" : "v0", op->output_count > 1 ? ")" : "",
        op->id, op->input_count > 1 ? ", a1[i]" : "");
    for (uint32_t k = 0; k < op->output_count; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "    r%u[i] = v%u\n", k, k);
    snprintf(text + at, sizeof text - at, "  }\n}\n");
    library_open_resolved(&l, "match", text, guard);
    l.checks = 0;
    l.seeds = 0;
    library_run(&l, NULL, 0, inputs, op->input_count);
    for (uint32_t k = 0; k < op->output_count; k++) {
        vyre_digest both[2];
        vy_digest(l.outputs[k].data, l.outputs[k].size, &digest);
        both[0] = all;
        both[1] = digest;
        vy_digest(both, sizeof both, &all);
    }
    library_close(&l);
    vyre_digest_format(&all, digits);
    snprintf(line, size, "%s %u %s\n", strchr(op->id, '.') + 1, (unsigned)version_of(op)->value, digits);
}

static void the_bits_of_a_version_do_not_change(void **state) {
    static char found[1 << 16], stored[1 << 16];
    const int is_update = getenv("VYRE_UPDATE") != NULL;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    size_t at = 0;
    FILE *file;

    (void)state;
    for (size_t i = 0; i < vyre_dialects_count(guard); i++) {
        const vyre_op_definition *op = vyre_dialects_at(guard, i);
        if (strcmp(op->dialect, "math") != 0 || !version_of(op))
            continue;
        describe(op, guard, found + at, sizeof found - at);
        at += strlen(found + at);
    }
    vyre_dialects_release(&guard);
    assert_non_null(file = fopen(vy_test_path(path), is_update ? "w" : "r"));
    if (is_update)
        assert_int_equal(fwrite(found, 1, at, file), at);
    else
        stored[fread(stored, 1, sizeof stored - 1, file)] = 0;
    fclose(file);
    for (char *line = strtok(found, "\n"); !is_update && line; line = strtok(NULL, "\n"))
        if (!strstr(stored, line))
            fail_msg("%s\nis not in %s: other bits need a new version, a new function a new line (VYRE_UPDATE=1)", line,
                     path);
}

static void fingerprint(const char *call, vyre_digest *source, vyre_digest *resolved, vyre_status expected) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    char text[512];
    vyre_program *program, *linked = NULL;
    vyre_error error = VYRE_ERROR_INIT;

    snprintf(
        text, sizeof text,
        "program p {\n  buffer y : f32 write count 1\n  workgroup 1\n  grid 1\n\n  let r : f32 = %s\n  y[0] = r\n}\n",
        call);
    program = vy_test_parse(text);
    vyre_program_fingerprint(program, source);
    assert_int_equal(vyre_program_resolve(program, guard, NULL, &linked, &error), expected);
    if (linked)
        vyre_program_fingerprint(linked, resolved);
    else
        assert_non_null(strstr(error.message, "`version`"));
    vyre_program_release(linked);
    vyre_program_release(program);
    vyre_dialects_release(&guard);
}

static void a_version_in_a_call_is_part_of_the_fingerprint(void **state) {
    vyre_digest plain, first, second, resolved_plain, resolved_first;

    (void)state;
    fingerprint("math.pow_f32(1.5, 2.5)", &plain, &resolved_plain, VYRE_OK);
    fingerprint("math.pow_f32<version = 1>(1.5, 2.5)", &first, &resolved_first, VYRE_OK);
    assert_memory_not_equal(&plain, &first, sizeof plain);
    assert_memory_equal(&resolved_plain, &resolved_first, sizeof plain); /* the same bodies */
    fingerprint("math.pow_f32<version = 2>(1.5, 2.5)", &second, NULL, VYRE_INVALID_PROGRAM);
    assert_memory_not_equal(&first, &second, sizeof first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_with_only_a_stated_bound_have_a_version),
        cmocka_unit_test(the_bits_of_a_version_do_not_change),
        cmocka_unit_test(a_version_in_a_call_is_part_of_the_fingerprint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
