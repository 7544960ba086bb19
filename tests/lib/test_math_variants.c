/* Second bodies of functions of `math`, without f64 or with tables: they return the bits of the others. `vyre math
 * digest exp --without-f64` tries all inputs of f32; here all of f16 and bf16, and a sample of f32. */
#include "lib/library.h"

#include "dialect/load.h"
#include "ir/model.h"

enum { MOST = 1 << 16 };

static vyre_program *program_of(const vyre_op_definition *op, vyre_dialects_guard guard) {
    const char *type = vyre_type_name(op->inputs[0].type);
    char text[512];
    vyre_program *linked;

    snprintf(text, sizeof text,
             "program variant {\n  buffer x : %s read\n  buffer y : %s write count len(x)\n  workgroup 64\n"
             "  grid over x\n  let i = global_id.x\n  if i < len(x) { y[i] = %s(x[i]) }\n}\n",
             type, type, op->id);
    vyre_program *program = vy_test_parse(text);
    assert_int_equal(vyre_program_resolve(program, guard, NULL, &linked, NULL), VYRE_OK);
    vyre_program_release(program);
    return linked;
}

static int has_f64(const vyre_program *program) {
    for (uint32_t i = 0; i < program->exprs.count; i++)
        if (program->exprs.items[i].type == VYRE_TYPE_F64)
            return 1;
    return 0;
}

static vyre_bytes run(vyre_program *program, const void *inputs, size_t size) {
    const vyre_span input = {inputs, size};
    const vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    const vyre_oracle_options options = {0};
    vyre_oracle *oracle;
    vyre_oracle_report report;
    vyre_bytes output = VYRE_BYTES_INIT;
    vyre_error error;
    assert_int_equal(vyre_oracle_new(program, &oracle, &error), VYRE_OK);
    if (vyre_oracle_run(oracle, &arguments, &options, &output, &report, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(output.size, size);
    vyre_oracle_free(oracle);
    return output;
}

/* All inputs of 16 bits. Of f32 one of 65536 consecutive ones, and what is next to special inputs. Returns the size. */
static size_t fill(const vyre_op_definition *op, uint32_t *words, uint16_t *halves) {
    static const uint32_t special[] = {0,          1,          0x800000,   0x3f800000, 0x42b17218, 0x42cff1b5,
                                       0x7f7fffff, 0x7f800000, 0x7fc00000, 0x3b429d37, 0x3cf3a937};
    enum { SPECIAL = sizeof special / sizeof *special, NEAR = 8 };
    for (uint32_t i = 0; i < MOST; i++) {
        halves[i] = (uint16_t)i;
        words[i] = (i << 16) + i;
    }
    for (uint32_t i = 0; i < SPECIAL * NEAR; i++) {
        words[2 * i] = special[i / NEAR] + i % NEAR - NEAR / 2;
        words[2 * i + 1] = words[2 * i] ^ UINT32_C(1) << 31;
    }
    return op->inputs[0].type == VYRE_TYPE_F32 ? sizeof *words : sizeof *halves;
}

static unsigned compare(const vyre_op_definition *op, const char *variant, vyre_dialects_guard guard) {
    static uint32_t words[MOST];
    static uint16_t halves[MOST];
    vyre_program *program = program_of(op, guard), *other;
    assert_int_equal(vy_program_link_variant(program, variant, &other, NULL), VYRE_OK);
    const int is_other = other != program;
    if (is_other) {
        const size_t size = fill(op, words, halves);
        const void *inputs = size == 4 ? (void *)words : (void *)halves;
        assert_true(has_f64(program));
        assert_int_equal(has_f64(other), strcmp(variant, VY_VARIANT_WITHOUT_F64) != 0);
        vyre_bytes expected = run(program, inputs, MOST * size), given = run(other, inputs, MOST * size);
        for (size_t i = 0; i < MOST; i++)
            if (memcmp((char *)given.data + i * size, (char *)expected.data + i * size, size) != 0)
                fail_msg("%s %s differs for the input %#x", op->id, variant, size == 4 ? words[i] : halves[i]);
        vyre_bytes_free(&expected);
        vyre_bytes_free(&given);
    }
    vyre_program_release(other);
    vyre_program_release(program);
    return is_other;
}

static unsigned compare_all(const char *variant) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    unsigned count = 0;
    for (size_t i = 0; i < vyre_dialects_count(guard); i++) {
        const vyre_op_definition *op = vyre_dialects_at(guard, i);
        if (strcmp(op->dialect, "math") == 0 && op->input_count == 1 && op->output_count == 1 && !op->attribute_count)
            count += compare(op, variant, guard);
    }
    vyre_dialects_release(&guard);
    return count;
}

static void functions_without_f64_return_the_same_bits(void **state) {
    (void)state;
    assert_int_equal(compare_all(VY_VARIANT_WITHOUT_F64), 9);
}

static void functions_with_tables_return_the_same_bits(void **state) {
    (void)state;
    assert_int_equal(compare_all(VY_VARIANT_WITH_TABLES), 6);
}

/* Every function of lib/ with the suffix replaces one with the same parameters and results. */
static unsigned check_signatures(const char *variant) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    unsigned count = 0;
    for (size_t i = 0; i < vyre_dialects_count(guard); i++) {
        const vyre_op_definition *op = vyre_dialects_at(guard, i);
        char name[256];
        snprintf(name, sizeof name, "%s_%s", op->function, variant);
        for (uint32_t k = 0; op->body && k < op->body->functions.count; k++) {
            const vyre_program *p = op->body;
            const vy_function *f = &p->functions.items[k];
            if (strcmp(vy_symbol_name(p, f->name), name) != 0)
                continue;
            assert_string_equal(op->owner, VY_STANDARD_LIBRARY_OWNER);
            assert_int_equal(f->param_count, op->input_count);
            assert_int_equal(f->result_count, op->output_count);
            for (uint32_t n = 0; n < f->param_count; n++)
                assert_int_equal(p->variables.items[p->params.items[f->first_param + n].index].type,
                                 op->inputs[n].type);
            for (uint32_t n = 0; n < f->result_count; n++)
                assert_int_equal(p->results.items[f->first_result + n].type, op->outputs[n].type);
            count++;
        }
    }
    vyre_dialects_release(&guard);
    return count;
}

static void a_second_body_has_the_signature_of_the_op(void **state) {
    (void)state;
    assert_int_equal(check_signatures(VY_VARIANT_WITHOUT_F64), 9);
    assert_int_equal(check_signatures(VY_VARIANT_WITH_TABLES), 6);
}

static void a_program_that_was_transformed_is_unchanged(void **state) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_program *linked = program_of(vyre_dialects_find(guard, "math.exp_f32", 12), guard), *inlined, *without;
    (void)state;
    assert_int_equal(vyre_program_inline(linked, &inlined, NULL), VYRE_OK);
    assert_int_equal(vy_program_link_variant(inlined, VY_VARIANT_WITHOUT_F64, &without, NULL), VYRE_OK);
    assert_ptr_equal(without, inlined);
    vyre_program_release(without);
    vyre_program_release(inlined);
    vyre_program_release(linked);
    vyre_dialects_release(&guard);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_without_f64_return_the_same_bits),
        cmocka_unit_test(functions_with_tables_return_the_same_bits),
        cmocka_unit_test(a_second_body_has_the_signature_of_the_op),
        cmocka_unit_test(a_program_that_was_transformed_is_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
