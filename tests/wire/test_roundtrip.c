/* Encoding and decoding give back the same program and the same bytes, today's and those of every version since 1.0. */
#include "ir/build/builder_internal.h"
#include "ir/irbuilder.h"
#include "ir/wire/format.h"
#include "vyre/wire.h"
#include "wire/compare.h"
#include "wire/corpus.h"
#include "wire/golden.h"

static vyre_program *decode(const vyre_bytes *bytes) {
    vyre_program *program;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_wire_decode(bytes->data, bytes->size, NULL, &program, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return program;
}

static void assert_encodes_to(const vyre_program *program, unsigned options, const vyre_bytes *expected) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    assert_int_equal(vyre_wire_encode(program, options, &bytes, NULL), VYRE_OK);
    assert_int_equal(bytes.size, expected->size);
    assert_memory_equal(bytes.data, expected->data, bytes.size);
    vyre_bytes_free(&bytes);
}

static void every_program_of_the_corpus_comes_back_field_by_field(void **state) {
    (void)state;
    vyre_bytes bytes = VYRE_BYTES_INIT; /* reused: encoding replaces the contents */
    for (size_t i = 0; i < CORPUS_COUNT; i++) {
        vyre_program *program = corpus_make(i);
        assert_non_null(program);
        assert_int_equal(vyre_wire_encode(program, 0, &bytes, NULL), VYRE_OK);
        vyre_program *back = decode(&bytes);
        assert_same_program(program, back);
        assert_encodes_to(back, 0, &bytes);
        vyre_program_release(back);
        vyre_program_release(program);
    }
    vyre_bytes_free(&bytes);
}

static void the_corpus_has_every_kind_of_node(void **state) {
    (void)state;
    unsigned stmts[VY_STMT_KIND_COUNT] = {0}, exprs[VY_EXPR_KIND_COUNT] = {0}, ops[VYRE_OP_COUNT] = {0},
             sizes[VY_SIZE_KIND_COUNT] = {0};
    unsigned grids[VYRE_GRID_KIND_COUNT] = {0}, spaces[VY_SPACE_COUNT] = {0}, accesses[VYRE_ACCESS_COUNT] = {0};
    unsigned atomics[VYRE_ATOMIC_COUNT] = {0}, collectives[VYRE_COLLECTIVE_COUNT] = {0},
             builtins[VYRE_BUILTIN_COUNT] = {0};
    for (size_t i = 0; i < CORPUS_COUNT; i++) {
        vyre_program *p = corpus_make(i);
        for (uint32_t j = 0; j < p->stmts.count; j++) {
            const vy_stmt *stmt = &p->stmts.items[j];
            stmts[stmt->kind]++;
            if (stmt->kind == VY_STMT_ATOMIC)
                atomics[stmt->op]++;
            if (stmt->kind == VY_STMT_COLLECTIVE)
                collectives[stmt->op]++;
        }
        for (uint32_t j = 0; j < p->exprs.count; j++) {
            const vy_expr *expr = &p->exprs.items[j];
            exprs[expr->kind]++;
            if (expr->kind == VY_EXPR_OP)
                ops[expr->op]++;
            if (expr->kind == VY_EXPR_BUILTIN)
                builtins[expr->op]++;
        }
        for (uint32_t j = 0; j < p->sizes.count; j++)
            sizes[p->sizes.items[j].kind]++;
        for (uint32_t j = 0; j < p->memories.count; j++) {
            spaces[p->memories.items[j].space]++;
            accesses[p->memories.items[j].access]++;
        }
        grids[p->grid.kind]++;
        vyre_program_release(p);
    }
#define ALL(counts)                                                                                                    \
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)                                                        \
        if (!counts[i])                                                                                                \
    fail_msg("the corpus has none of " #counts "[%zu]", i)
    ALL(stmts);
    ALL(exprs);
    ALL(ops);
    ALL(sizes);
    ALL(grids);
    ALL(spaces);
    ALL(accesses);
    ALL(atomics);
    ALL(collectives);
    ALL(builtins);
#undef ALL
}

/* The promise of docs/wire.md. A file that is missing is written if VYRE_GOLDEN_WRITE is set; none is ever overwritten.
 * */
static void golden_files_decode_and_encode_as_they_always_did(void **state) {
    (void)state;
    for (size_t i = 0; i < CORPUS_COUNT; i++) {
        vyre_bytes golden = VYRE_BYTES_INIT;
        vyre_program *program = corpus_make(i);
        assert_non_null(program);
        if (!golden_read(corpus[i].name, &golden) && getenv("VYRE_GOLDEN_WRITE")) {
            assert_int_equal(vyre_wire_encode(program, 0, &golden, NULL), VYRE_OK);
            golden_write(corpus[i].name, &golden);
        }
        if (golden.size == 0)
            fail_msg("no golden file for %s", corpus[i].name);
        assert_encodes_to(program, 0, &golden);
        vyre_program *back = decode(&golden);
        assert_encodes_to(back, 0, &golden);
        vyre_program_release(back);
        vyre_program_release(program);
        vyre_bytes_free(&golden);
    }
}

static void the_fingerprint_is_the_digest_in_the_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < CORPUS_COUNT; i++) {
        vyre_program *program = corpus_make(i);
        vyre_bytes bytes = VYRE_BYTES_INIT;
        vyre_digest digest;
        assert_int_equal(vyre_wire_encode(program, 0, &bytes, NULL), VYRE_OK);
        vyre_program_fingerprint(program, &digest);
        assert_memory_equal(digest.bytes, (uint8_t *)bytes.data + bytes.size - 32, 32);
        vyre_bytes_free(&bytes);
        vyre_program_release(program);
    }
}

static void programs_that_differ_in_anything_have_different_fingerprints(void **state) {
    (void)state;
    vyre_digest digests[CORPUS_COUNT];
    for (size_t i = 0; i < CORPUS_COUNT; i++) {
        vyre_program *program = corpus_make(i);
        vyre_program_fingerprint(program, &digests[i]);
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(&digests[i], &digests[j], sizeof *digests);
        vyre_program_release(program);
    }
}

/* Names, types and contents of constant arrays are part of what a program is; where its table lies is not. */
static void constant_arrays_are_part_of_the_fingerprint(void **state) {
    (void)state;
    static const char *const texts[] = {
        "const K : u32 [2] = [1, 2]\nprogram p {\n buffer y : u32 write\n y[0] = K[0] }\n",
        "const K : u32 [2] = [1, 3]\nprogram p {\n buffer y : u32 write\n y[0] = K[0] }\n",
        "const K : u32 [3] = [1, 2, 0]\nprogram p {\n buffer y : u32 write\n y[0] = K[0] }\n",
        "const L : u32 [2] = [1, 2]\nprogram p {\n buffer y : u32 write\n y[0] = L[0] }\n",
        "const K : i32 [2] = [1, 2]\nprogram p {\n buffer y : u32 write\n y[0] = u32(K[0]) }\n",
        "const J : u32 [2] = [7, 7]\nconst K = [1u32, 2,]\nprogram p {\n buffer y : u32 write\n y[0] = K[0] }\n"};
    enum { COUNT = sizeof texts / sizeof *texts };
    vyre_digest digests[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        vyre_module *module;
        assert_int_equal(vyre_text_parse(texts[i], strlen(texts[i]), NULL, NULL, &module, NULL), VYRE_OK);
        vyre_program_fingerprint(vyre_module_program(module, 0), &digests[i]);
        for (size_t j = 0; j < i; j++)
            if (i == COUNT - 1 && j == 0)
                assert_memory_equal(&digests[i], &digests[j], sizeof *digests);
            else
                assert_memory_not_equal(&digests[i], &digests[j], sizeof *digests);
        vyre_module_free(module);
    }
}

/* ---- the debug section ---- */

static const char text[] = "program p {\n  buffer y : u32 write\n  let i = global_id.x\n  y[i] = i + 1\n}\n";

/* With positions of code and declarations, and lines that go down as well as up. */
static vyre_program *with_positions(vy_source *source, int keep) {
    vy_irb draft;
    vyre_program *program;
    assert_int_equal(vy_irb_start(&draft, "p", NULL), VYRE_OK);
    draft.keep_positions = keep;
#define AT(l, c, n) (draft.position = keep ? (vy_position){l, c, n} : (vy_position){0, 0, 0})
    AT(1, 9, 1);
    vy_irb_begin_entry(&draft);
    AT(2, 10, 1);
    uint32_t y = vy_irb_memory_param(&draft, vy_irb_intern(&draft, "y", 1), VY_SPACE_BUFFER, VYRE_TYPE_U32,
                                     VYRE_ACCESS_WRITE, VY_NONE);
    AT(3, 11, 11);
    uint32_t id = vy_irb_builtin(&draft, VYRE_BUILTIN_GLOBAL_ID, 0);
    AT(3, 3, 19);
    uint32_t i = vy_irb_let(&draft, vy_irb_intern(&draft, "i", 1), VYRE_TYPE_U32, id);
    AT(4000000000u, 5, 1);
    uint32_t index = vy_irb_variable(&draft, i);
    AT(4, 10, 1);
    uint32_t x = vy_irb_variable(&draft, i), one = vy_irb_literal(&draft, VYRE_TYPE_U32, 1);
    uint32_t sum = vy_irb_op(&draft, VYRE_OP_ADD, VYRE_TYPE_U32, x, one, VY_NONE);
    vy_irb_store(&draft, y, index, sum);
    vy_irb_end_function(&draft);
#undef AT
    assert_int_equal(vy_irb_finish(&draft, source, NULL, &program, NULL), VYRE_OK);
    return program;
}

static void a_debug_section_brings_source_and_positions_back(void **state) {
    (void)state;
    vy_source *source = vy_source_new("p.vyre", text, sizeof text); /* with its zero: any bytes */
    vyre_program *program = with_positions(source, 1);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    assert_int_equal(vyre_wire_encode(program, VYRE_WIRE_DEBUG, &bytes, NULL), VYRE_OK);
    vyre_program *back = decode(&bytes);
    assert_same_program(program, back);
    assert_same_positions(program, back);
    assert_string_equal(vy_source_name(back->source), "p.vyre");
    size_t size;
    const char *found = vy_source_text(back->source, &size);
    assert_int_equal(size, sizeof text);
    assert_memory_equal(found, text, size);
    assert_encodes_to(back, VYRE_WIRE_DEBUG, &bytes);
    vyre_program_release(back);
    vyre_program_release(program);
    vy_source_release(source);
    vyre_bytes_free(&bytes);
}

static void debug_sections_are_no_part_of_the_fingerprint(void **state) {
    (void)state;
    vy_source *source = vy_source_new("p.vyre", text, sizeof text - 1);
    vyre_program *with = with_positions(source, 1), *without = with_positions(NULL, 0);
    assert_true(vyre_program_equal(with, without));
    vyre_bytes plain = VYRE_BYTES_INIT, debug = VYRE_BYTES_INIT;
    assert_int_equal(vyre_wire_encode(without, 0, &plain, NULL), VYRE_OK);
    assert_int_equal(vyre_wire_encode(with, VYRE_WIRE_DEBUG, &debug, NULL), VYRE_OK);
    assert_true(debug.size > plain.size);
    assert_memory_equal(debug.data, plain.data, plain.size);
    assert_encodes_to(with, 0, &plain);
    vyre_bytes_free(&plain);
    vyre_bytes_free(&debug);
    vyre_program_release(with);
    vyre_program_release(without);
    vy_source_release(source);
}

static void every_program_has_a_debug_section_even_with_nothing_to_say(void **state) {
    (void)state;
    vy_source *source = vy_source_new("", "", 0);
    for (int i = 0; i < 4; i++) {
        vyre_program *program = with_positions(i & 1 ? source : NULL, i & 2);
        vyre_bytes bytes = VYRE_BYTES_INIT;
        assert_int_equal(vyre_wire_encode(program, VYRE_WIRE_DEBUG, &bytes, NULL), VYRE_OK);
        vyre_program *back = decode(&bytes);
        assert_true(!back->source == !(i & 1));
        assert_same_positions(program, back);
        assert_encodes_to(back, VYRE_WIRE_DEBUG, &bytes);
        vyre_program_release(back);
        vyre_program_release(program);
        vyre_bytes_free(&bytes);
    }
    vy_source_release(source);
}

static void golden_debug_section_decodes_and_encodes_as_it_always_did(void **state) {
    (void)state;
    vy_source *source = vy_source_new("p.vyre", text, sizeof text - 1);
    vyre_program *program = with_positions(source, 1);
    vyre_bytes golden = VYRE_BYTES_INIT;
    if (!golden_read("debug", &golden) && getenv("VYRE_GOLDEN_WRITE")) {
        assert_int_equal(vyre_wire_encode(program, VYRE_WIRE_DEBUG, &golden, NULL), VYRE_OK);
        golden_write("debug", &golden);
    }
    assert_encodes_to(program, VYRE_WIRE_DEBUG, &golden);
    vyre_program *back = decode(&golden);
    assert_encodes_to(back, VYRE_WIRE_DEBUG, &golden);
    vyre_program_release(back);
    vyre_program_release(program);
    vy_source_release(source);
    vyre_bytes_free(&golden);
}

/* A function that calls one declared after it: the builder cannot make that, text can. */
static void calls_of_later_functions_come_back(void **state) {
    (void)state;
    vy_irb draft;
    vyre_program *program;
    assert_int_equal(vy_irb_start(&draft, "p", NULL), VYRE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        if (i == 2)
            vy_irb_begin_entry(&draft);
        else
            vy_irb_begin_function(&draft, i ? vy_irb_intern(&draft, "later", 5) : vy_irb_intern(&draft, "first", 5));
        if (i != 1) {
            vy_stmt call = vy_irb_blank_stmt(VY_STMT_CALL);
            call.callee = i == 0 ? 1 : 0;
            vy_irb_stmt(&draft, &call, NULL, 0, NULL, NULL);
        }
        vy_irb_end_function(&draft);
    }
    assert_int_equal(vy_irb_finish(&draft, NULL, NULL, &program, NULL), VYRE_OK);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    assert_int_equal(vyre_wire_encode(program, 0, &bytes, NULL), VYRE_OK);
    vyre_program *back = decode(&bytes);
    assert_same_program(program, back);
    vyre_program_release(back);
    vyre_program_release(program);
    vyre_bytes_free(&bytes);
}

static void options_that_do_not_exist_are_refused(void **state) {
    (void)state;
    vyre_program *program = corpus_make(0);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_wire_encode(program, 6, &bytes, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(bytes.size, 0);
    assert_non_null(strstr(error.message, "0x6"));
    vyre_program_release(program);
    vyre_bytes_free(&bytes);
}

/* Without the 256 MiB that a whole program of that size would take. */
static void a_wire_form_over_the_limit_is_not_written(void **state) {
    (void)state;
    uint8_t byte = 0;
    vy_wire_writer writer = {
        .data = &byte, .size = VY_LIMIT_WIRE_BYTES - 5, .capacity = VY_LIMIT_WIRE_BYTES - 5, .borrowed = 1};
    vyre_error error = VYRE_ERROR_INIT;
    assert_false(vy_wire_writer_grow(&writer, 10));
    assert_int_equal(writer.status, VYRE_LIMIT);
    assert_int_equal(vy_wire_writer_fail(&writer, &error), VYRE_LIMIT);
    assert_non_null(strstr(error.message, "268435456"));
}

/* Hexadecimal digits of the example stand left of column 56, what they mean right of it. */
static void the_example_of_the_documentation_is_saxpy(void **state) {
    (void)state;
    FILE *file = fopen(vy_test_path("docs/wire.md"), "r");
    assert_non_null(file);
    vyre_bytes golden = VYRE_BYTES_INIT;
    assert_true(golden_read("saxpy", &golden));
    char line[512];
    size_t digits = 0;
    int is_inside = 0;
    while (fgets(line, sizeof line, file) && !(is_inside && line[0] == '`' && digits)) {
        is_inside |= strncmp(line, "saxpy, whole", 12) == 0;
        for (size_t i = 0;
             is_inside && digits + 64 < 2 * golden.size && i < 56 && line[i] && strchr("0123456789abcdef ", line[i]);
             i++)
            if (line[i] != ' ') {
                unsigned byte = ((const uint8_t *)golden.data)[digits / 2];
                assert_int_equal(line[i], "0123456789abcdef"[digits % 2 ? byte & 15 : byte >> 4]);
                digits++;
            }
    }
    fclose(file);
    assert_int_equal(digits + 64, 2 * golden.size);
    vyre_bytes_free(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_program_of_the_corpus_comes_back_field_by_field),
        cmocka_unit_test(the_corpus_has_every_kind_of_node),
        cmocka_unit_test(golden_files_decode_and_encode_as_they_always_did),
        cmocka_unit_test(the_fingerprint_is_the_digest_in_the_bytes),
        cmocka_unit_test(programs_that_differ_in_anything_have_different_fingerprints),
        cmocka_unit_test(constant_arrays_are_part_of_the_fingerprint),
        cmocka_unit_test(a_debug_section_brings_source_and_positions_back),
        cmocka_unit_test(debug_sections_are_no_part_of_the_fingerprint),
        cmocka_unit_test(every_program_has_a_debug_section_even_with_nothing_to_say),
        cmocka_unit_test(golden_debug_section_decodes_and_encodes_as_it_always_did),
        cmocka_unit_test(calls_of_later_functions_come_back),
        cmocka_unit_test(options_that_do_not_exist_are_refused),
        cmocka_unit_test(a_wire_form_over_the_limit_is_not_written),
        cmocka_unit_test(the_example_of_the_documentation_is_saxpy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
