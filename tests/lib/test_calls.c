/* The library is part of libvyre: every op is called by its id, without a manifest on disk.
 *
 * Ops of values alone must give what the function of the same name in lib/ gives, which stands in the same file as the
 * program that calls both: so names of the op's own helpers and of the program's functions meet, and must not disturb
 * each other. */
#include "lib/map.h"

#include "dialect/manifest.h"

static const char *const dialects[] = {"bits", "compact", "hash",   "histogram", "int",  "match", "math",
                                       "pack", "random",  "reduce", "scan",      "sort", "text"};

/* For the call: what each operand is called, and declared as. */
static size_t put_operand(char *text, size_t size, uint32_t k, const vyre_op_operand *operand) {
    static const char *const accesses[] = {
        [VYRE_ACCESS_READ] = "read",
        [VYRE_ACCESS_WRITE] = "write",
        [VYRE_ACCESS_READ_WRITE] = "read_write",
        [VYRE_ACCESS_UNIFORM] = "uniform",
    };
    const char *type = operand->type == VYRE_TYPE_BOOL ? "u8" : vyre_type_name(operand->type);

    switch (operand->kind) {
    case VYRE_OPERAND_VALUE:
        return (size_t)snprintf(text, size, "  buffer a%u : %s read\n", k, type);
    case VYRE_OPERAND_BUFFER:
        return (size_t)snprintf(text, size, "  buffer a%u : %s %s\n", k, type, accesses[operand->access]);
    case VYRE_OPERAND_WORKGROUP:
        return (size_t)snprintf(text, size, "  array a%u : %s [64] workgroup\n", k, type);
    default:
        return (size_t)snprintf(text, size, "  array a%u : %s [64] private\n", k, type);
    }
}

static size_t put_results(char *text, size_t size, const vyre_op_definition *op, char name, int typed) {
    size_t at = (size_t)snprintf(text, size, "  %s",
                                 op->output_count == 0   ? ""
                                 : op->output_count == 1 ? "let "
                                                         : "let (");
    for (uint32_t k = 0; k < op->output_count; k++) {
        at += (size_t)snprintf(text + at, size - at, "%s%c%u", k ? ", " : "", name, k);
        if (typed)
            at += (size_t)snprintf(text + at, size - at, " : %s", vyre_type_name(op->outputs[k].type));
    }
    at +=
        (size_t)snprintf(text + at, size - at, "%s%s", op->output_count > 1 ? ")" : "", op->output_count ? " = " : "");
    return at;
}

static size_t put_arguments(char *text, size_t size, const vyre_op_definition *op, const char *function) {
    size_t at = (size_t)snprintf(text, size, "%s(", function);
    for (uint32_t k = 0; k < op->input_count; k++)
        at += (size_t)snprintf(text + at, size - at, "%sa%u%s%s", k ? ", " : "", k,
                               op->inputs[k].kind == VYRE_OPERAND_VALUE ? "[0]" : "",
                               op->inputs[k].type == VYRE_TYPE_BOOL ? " != 0" : "");
    return at + (size_t)snprintf(text + at, size - at, ")\n");
}

static int takes_values(const vyre_op_definition *op) {
    for (uint32_t k = 0; k < op->input_count; k++)
        if (op->inputs[k].kind != VYRE_OPERAND_VALUE)
            return 0;
    return 1;
}

static void put_program(char *text, size_t size, const vyre_op_definition *op) {
    size_t at =
        (size_t)snprintf(text, size, "\nprogram by_id {\n  workgroup 4\n  grid 1\n  buffer same : u32 write count 1\n");

    for (uint32_t k = 0; k < op->input_count; k++)
        at += put_operand(text + at, size - at, k, &op->inputs[k]);
    at += put_results(text + at, size - at, op, 'x', 1);
    at += put_arguments(text + at, size - at, op, op->id);
    at += put_results(text + at, size - at, op, 'y', 0);
    at += put_arguments(text + at, size - at, op, op->function ? op->function : strchr(op->id, '.') + 1);
    at += (size_t)snprintf(text + at, size - at, "  if local_index == 0 {\n    same[0] = u32(true");
    for (uint32_t k = 0; k < op->output_count; k++) {
        const char *width = strchr(vyre_type_name(op->outputs[k].type), 'f'); /* of a float: f32, bf16 */
        at += width ? (size_t)snprintf(text + at, size - at, " && bitcast<u%s>(x%u) == bitcast<u%s>(y%u)", width + 1, k,
                                       width + 1, k)
                    : (size_t)snprintf(text + at, size - at, " && x%u == y%u", k, k);
    }
    snprintf(text + at, size - at, ")\n  }\n}\n");
}

/* The function is in `file`, a name with the extension .vyre. */
static void call(const char *file, const vyre_op_definition *op, vyre_dialects_guard guard, vy_random *random) {
    char text[8192], stem[64];
    library l;

    put_program(text, sizeof text, op);
    snprintf(stem, sizeof stem, "%.*s", (int)(strlen(file) - strlen(".vyre")), file);
    library_open_resolved(&l, stem, text, guard);
    if (takes_values(op)) /* of memory there are enough tests: that it is called is all */
        for (int round = 0; round < 20; round++) {
            uint64_t values[16];
            vyre_span inputs[16];
            assert_true(op->input_count <= 16);
            for (uint32_t k = 0; k < op->input_count; k++) {
                char type[MAP_NAME] = "";
                snprintf(type, sizeof type, "%s", vyre_type_name(op->inputs[k].type));
                values[k] = map_draw(type, map_mask(type), random);
                inputs[k] = (vyre_span){&values[k], map_size(type)};
            }
            library_run(&l, NULL, 0, inputs, op->input_count);
            if (*(const uint32_t *)l.outputs[0].data != 1)
                fail_msg("%s called by its id differs from its function", op->id);
        }
    library_close(&l);
}

static void every_op_is_there_under_its_id(void **state) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vy_random random = vy_random_start(1);

    (void)state;
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        vy_manifest *manifest = NULL;
        char path[128];
        snprintf(path, sizeof path, "lib/%s.toml", dialects[i]);
        assert_int_equal(vy_manifest_load(vy_test_path(path), NULL, &manifest, NULL), VYRE_OK);
        for (uint32_t k = 0; k < manifest->op_count; k++) {
            const char *id = manifest->ops[k].definition.id;
            const vyre_op_definition *op = vyre_dialects_find(guard, id, strlen(id));
            if (!op)
                fail_msg("libvyre has no op %s", id);
            call(manifest->ops[k].file, op, guard, &random);
        }
        vy_manifest_free(manifest);
    }
    vyre_dialects_release(&guard);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_there_under_its_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
