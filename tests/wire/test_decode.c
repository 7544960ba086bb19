/* The decoder refuses everything but canonical wire forms of valid programs, says why, and survives all of it. */
#include "base/string.h"
#include "ir/model.h"
#include "ir/wire/format.h"
#include "support/fixes.h"
#include "support/test.h"
#include "wire/corpus.h"
#include "wire/golden.h"

/* ---- helpers ---- */

/* Decodes and expects this finding, whose message names a byte, with a fix. */
static void expect_refused(const void *data, size_t size, vyre_status status, const char *code) {
    vyre_program *program = (vyre_program *)1;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_diagnostics *diagnostics = vyre_diagnostics_new();
    assert_int_equal(vyre_wire_decode(data, size, diagnostics, &program, &error), status);
    assert_null(program);
    assert_int_equal(error.code, status);
    assert_true(error.fix[0] != 0);
    assert_int_equal(vyre_diagnostics_count(diagnostics), 1);
    const vyre_diagnostic *finding = vyre_diagnostics_get(diagnostics, 0);
    assert_string_equal(finding->code, code);
    assert_non_null(strstr(finding->message, "(byte "));
    assert_non_null(strstr(error.message, "(byte "));
    assert_non_null(strstr(error.message, code));
    assert_memory_equal(error.where, "byte ", 5);
    fixes_expect("wire", code, finding->fix);
    vyre_diagnostics_free(diagnostics);
}

/* A program of kind entry with this body, right in all other respects. */
static size_t finish_wire(uint8_t *bytes, const uint8_t *body, size_t size) {
    memset(bytes, 0, VY_WIRE_HEADER);
    memcpy(bytes + VY_WIRE_HEADER, body, size);
    assert_true(vy_wire_fix_header(bytes, VY_WIRE_HEADER + size + VY_WIRE_DIGEST));
    return VY_WIRE_HEADER + size + VY_WIRE_DIGEST;
}

/* Name "p", no functions, no params, one u32 read_write buffer "y" of no count, workgroup 1, no grid, no arrays. */
#define HEAD 0x02, 'p', 0x00, 0x00, 0x01, 0x02, 'y', VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE, 0x00, 1, 1, 1, 0x00, 0x00

typedef struct case_row {
    const char *claim, *code;
    uint8_t body[160];
    size_t size;
} case_row;
#define BODY(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const case_row cases[] = {
    {"a number in more bytes than it needs", "W006", BODY(0x82, 0x00, 'p', 0, 0, 0, 1, 1, 1, 0, 0, 0)},
    {"a number of more than 64 bits", "W006", BODY(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0)},
    {"a workgroup size of more than 32 bits", "W006",
     BODY(0x02, 'p', 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 1, 1, 0, 0, 0)},
    {"more functions than the limit", "W006", BODY(0x02, 'p', 0x81, 0x20, 0, 0)},
    {"more functions than bytes", "W003", BODY(0x02, 'p', 0x7f, 0, 0)},
    {"a string longer than the rest", "W003", BODY(0x7e, 'p', 0, 0, 0, 0)},
    {"a body that ends early", "W003", BODY(HEAD)},
    {"a literal cut off", "W003", BODY(HEAD, 0x40 + VYRE_TYPE_U64, 1, 2, 3)},
    {"bytes after the program", "W005", BODY(HEAD, 0x00, 0x00)},
    {"an unknown tag", "W007", BODY(HEAD, 0x7f, 0x00)},
    {"an unknown statement", "W007", BODY(HEAD, 0x1f, 0x00)},
    {"an unknown op", "W007", BODY(HEAD, 0x40 + VYRE_TYPE_U32, 1, 0, 0, 0, 0xff, 0x00)},
    {"a literal of an unknown type", "W007", BODY(HEAD, 0x5f, 0x00)},
    {"a cast to an unknown type", "W007", BODY(HEAD, 0x40, 1, VY_WIRE_OP + 45 /* cast */, 13, 0x02, 0x02, 'v', 0x00)},
    {"an unknown builtin", "W007", BODY(HEAD, VY_WIRE_BUILTIN, VYRE_BUILTIN_COUNT, 0, 0x00)},
    {"a fourth axis", "W007", BODY(HEAD, VY_WIRE_BUILTIN, 0, 3, 0x02, 0x02, 'v', 0x00)},
    {"an unknown scope", "W007", BODY(HEAD, 0x09, 2, 0x00)},
    {"an unknown collective", "W007", BODY(HEAD, 0x40, 1, 0x07, VYRE_COLLECTIVE_COUNT, 0, 0x02, 'v', 0x00)},
    {"an unknown kind of grid", "W007", BODY(0x02, 'p', 0, 0, 0, 1, 1, 1, 5, 0, 0)},
    {"an unknown kind of size", "W007", BODY(0x02, 'p', 0, 0, 1, 0x02, 'y', 6, 0, 0x0c, 0x00, 1, 1, 1, 0, 0, 0)},
    {"an unknown access", "W007", BODY(0x02, 'p', 0, 0, 1, 0x02, 'y', 6, 4, 0x00, 1, 1, 1, 0, 0, 0)},
    {"a bool that is 2", "W008", BODY(HEAD, 0x40, 2, 0x02, 0x02, 'v', 0x00)},
    {"a NaN that is not the NaN", "W008", BODY(HEAD, 0x40 + VYRE_TYPE_F32, 1, 0, 0xc0, 0x7f, 0x02, 0x02, 'v', 0x00)},
    {"a negative NaN", "W008", BODY(HEAD, 0x40 + VYRE_TYPE_F16, 0, 0xfe, 0x02, 0x02, 'v', 0x00)},
    {"a zero byte in a name", "W009", BODY(0x04, 'p', 0, 0, 0, 0, 1, 1, 1, 0, 0, 0)},
    {"a string spelled out twice", "W009", BODY(HEAD, 0x40, 1, 0x02, 0x02, 'y', 0x00)},
    {"a reference to a string that did not occur", "W009", BODY(HEAD, 0x40, 1, 0x02, 0x05, 0x00)},
    {"a variable before its declaration", "W010", BODY(HEAD, VY_WIRE_VARIABLE, 0, 0x02, 0x02, 'v', 0x00)},
    {"a memory that is not declared", "W010", BODY(HEAD, VY_WIRE_LEN, 1, 0x02, 0x02, 'v', 0x00)},
    {"a function that is not declared", "W010", BODY(HEAD, 0x08, 1, 0, 0, 0x00)},
    {"a grid over a buffer that is not declared", "W010", BODY(0x02, 'p', 0, 0, 0, 1, 1, 1, VYRE_GRID_OVER, 0, 0, 0)},
    {"a size of a param that is not declared", "W010",
     BODY(0x02, 'p', 0, 0, 1, 0x02, 'y', 6, 0, 0x02, 0x00, 0x00, 1, 1, 1, 0, 0, 0)},
    {"an op without its operands", "W011", BODY(HEAD, 0x40, 1, VY_WIRE_OP + 28 /* land */, 0x00)},
    {"a load without an index", "W011", BODY(HEAD, VY_WIRE_LOAD, 0, 0x00)},
    {"a statement without its operand", "W011", BODY(HEAD, 0x02, 0x02, 'v', 0x00)},
    {"an expression no statement takes", "W011", BODY(HEAD, 0x40, 1, 0x00)},
    {"an expression too many", "W011", BODY(HEAD, 0x40, 1, 0x40, 1, 0x02, 0x02, 'v', 0x00)},
    {"an expression before an else", "W011", BODY(HEAD, 0x40, 1, 0x0c, 0x40, 1, 0x01, 0x00, 0x00)},
    {"an expression at the end of a block", "W011", BODY(HEAD, 0x40, 1, 0x0c, 0x40, 1, 0x00, 0x00)},
    {"an argument of a call too many", "W011", BODY(HEAD, 0x40, 1, 0x08, 0, 0x06, 'a', '.', 'b', 0, 0, 0x00)},
    {"an argument of a call too few", "W011", BODY(HEAD, 0x08, 0, 0x06, 'a', '.', 'b', 1, 0, 0, 0x00)},
    {"an operand of an atomic too few", "W011",
     BODY(HEAD, 0x40 + VYRE_TYPE_U32, 1, 0, 0, 0, 0x06, 0, 0, 0, VYRE_ATOMIC_ADD, 0, 0x00)},
    {"a size with two values", "W011",
     BODY(0x02, 'p', 0, 0, 1, 0x02, 'y', 6, 0, 0x01, 1, 0x01, 1, 0x00, 1, 1, 1, 0, 0, 0)},
    {"an operator of a size without operands", "W011",
     BODY(0x02, 'p', 0, 0, 1, 0x02, 'y', 6, 0, 0x04, 0x00, 1, 1, 1, 0, 0, 0)},
    {"an else outside an if", "W012", BODY(HEAD, 0x01, 0x00)},
    {"an else in a loop", "W012", BODY(HEAD, 0x40, 1, 0x0e, 0x01, 0x00, 0x00)},
    {"a second else", "W012", BODY(HEAD, 0x40, 1, 0x0c, 0x01, 0x09, 0, 0x01, 0x00, 0x00)},
    {"an else without a statement", "W012", BODY(HEAD, 0x40, 1, 0x0c, 0x09, 0, 0x01, 0x00, 0x00)},
};

static void every_way_to_be_wrong_has_its_code(void **state) {
    (void)state;
    uint8_t bytes[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = finish_wire(bytes, cases[i].body, cases[i].size);
        print_message("%s\n", cases[i].claim);
        expect_refused(bytes, size, VYRE_CORRUPT, cases[i].code);
    }
}

/* ---- level legal ---- */

static size_t finish_legal_wire(uint8_t *bytes, const uint8_t *body, size_t size) {
    size_t whole = finish_wire(bytes, body, size);
    bytes[VY_WIRE_AT_KIND + 1] = VYRE_LEVEL_LEGAL;
    assert_true(vy_wire_fix_header(bytes, whole));
    return whole;
}

#define ZERO 0x40 + VYRE_TYPE_U32, 0, 0, 0, 0
static const case_row legal_cases[] = {
    {"a predicated load without its condition", "W011", BODY(HEAD, ZERO, 0x25, 0, 0x04, 0, 0x00)},
    {"an unguarded load of a memory that is not declared", "W010", BODY(HEAD, ZERO, 0x24, 1, 0x15, 0x00)},
    {"the misalignment of a memory that is not declared", "W010", BODY(HEAD, 0x26, 1, 0x15, 0x00)},
    {"a guard that does not exist", "W007", BODY(HEAD, ZERO, ZERO, 0x05, 0, 2, 0x00)},
    {"a wide load of more elements than bytes", "W006", BODY(HEAD, ZERO, 0x13, 0, 17, 0x00)},
    {"a wide load without an index", "W011", BODY(HEAD, 0x13, 0, 2, 0x02, 'a', 0x02, 'b', 0x00)},
    {"a wide store of one element", "W011", BODY(HEAD, ZERO, ZERO, 0x14, 0, 0x00)},
    {"a report of two codes", "W011", BODY(HEAD, ZERO, ZERO, 0x15, 0x00)},
    {"a poll of something", "W011", BODY(HEAD, ZERO, 0x16, 0x02, 's', 0x00)},
    {"a statement after the last", "W007", BODY(HEAD, 0x17, 0x00)},
};

static void every_way_to_be_wrong_at_level_legal_has_its_code(void **state) {
    (void)state;
    uint8_t bytes[512];
    for (size_t i = 0; i < sizeof legal_cases / sizeof *legal_cases; i++) {
        size_t size = finish_legal_wire(bytes, legal_cases[i].body, legal_cases[i].size);
        print_message("%s\n", legal_cases[i].claim);
        expect_refused(bytes, size, VYRE_CORRUPT, legal_cases[i].code);
    }
}

/* ---- constant arrays ---- */

static size_t finish_constant_wire(uint8_t *bytes, const uint8_t *body, size_t size) {
    size_t whole = finish_wire(bytes, body, size);
    bytes[VY_WIRE_AT_VERSION + 1] = VY_WIRE_MINOR;
    assert_true(vy_wire_fix_header(bytes, whole));
    return whole;
}

/* HEAD up to its number of arrays. */
#define HEAD_OF_ARRAYS 0x02, 'p', 0x00, 0x00, 0x01, 0x02, 'y', 6, VYRE_ACCESS_READ_WRITE, 0x00, 1, 1, 1, 0x00
#define CONSTANT(name, type, elements) 0x02, name, VY_SPACE_CONSTANT, VYRE_TYPE_##type, elements

static const case_row constant_cases[] = {
    {"more elements than bytes", "W003", BODY(HEAD_OF_ARRAYS, 1, CONSTANT('k', U32, 4), 0, 1, 2, 3, 0x00)},
    {"contents that were not there before", "W010", BODY(HEAD_OF_ARRAYS, 1, CONSTANT('k', U8, 1), 1, 0x00)},
    {"contents of another size", "W010",
     BODY(HEAD_OF_ARRAYS, 2, CONSTANT('k', U8, 2), 0, 1, 2, CONSTANT('l', U8, 1), 1, 0x00)},
    {"contents spelled out twice", "W010",
     BODY(HEAD_OF_ARRAYS, 2, CONSTANT('k', U8, 2), 0, 1, 2, CONSTANT('l', U16, 1), 0, 1, 2, 0x00)},
    {"an element that is not the NaN", "W008",
     BODY(HEAD_OF_ARRAYS, 1, CONSTANT('k', F32, 1), 0, 1, 0, 0xc0, 0x7f, 0x00)},
    {"no constant array for the version", "W004", BODY(HEAD, 0x00)},
};

static void every_way_to_be_wrong_of_constant_arrays_has_its_code(void **state) {
    (void)state;
    uint8_t bytes[512];
    for (size_t i = 0; i < sizeof constant_cases / sizeof *constant_cases; i++) {
        size_t size = finish_constant_wire(bytes, constant_cases[i].body, constant_cases[i].size);
        print_message("%s\n", constant_cases[i].claim);
        expect_refused(bytes, size, VYRE_CORRUPT, constant_cases[i].code);
    }
    /* The lower versions have no constant arrays, and none is a parameter. */
    const uint8_t body[] = {HEAD_OF_ARRAYS, 1, CONSTANT('k', U8, 2), 0, 1, 2, 0x00};
    vyre_program *program;
    assert_int_equal(vyre_wire_decode(bytes, finish_constant_wire(bytes, body, sizeof body), NULL, &program, NULL),
                     VYRE_OK);
    vyre_program_release(program);
    expect_refused(bytes, finish_wire(bytes, body, sizeof body), VYRE_CORRUPT, "W007");
    const uint8_t huge[] = {HEAD_OF_ARRAYS, 1, CONSTANT('k', U64, 0xff), 0xff, 0xff, 0xff, 0x0f, 0, 1, 2, 0x00};
    expect_refused(bytes, finish_constant_wire(bytes, huge, sizeof huge), VYRE_LIMIT, "W013");
}

static void the_minor_version_is_that_of_the_level(void **state) {
    (void)state;
    uint8_t bytes[512];
    const uint8_t body[] = {HEAD, 0x00};
    for (uint8_t level = 0; level < 2; level++) {
        size_t size = level ? finish_legal_wire(bytes, body, sizeof body) : finish_wire(bytes, body, sizeof body);
        assert_int_equal(bytes[VY_WIRE_AT_VERSION + 1], level);
        vyre_program *program;
        assert_int_equal(vyre_wire_decode(bytes, size, NULL, &program, NULL), VYRE_OK);
        assert_int_equal(vyre_program_level(program), level);
        vyre_program_release(program);
        bytes[VY_WIRE_AT_VERSION + 1] = !level;
        vyre_digest digest;
        vy_digest(bytes, size - VY_WIRE_DIGEST, &digest);
        memcpy(bytes + size - VY_WIRE_DIGEST, digest.bytes, VY_WIRE_DIGEST);
        expect_refused(bytes, size, VYRE_CORRUPT, "W007");
    }
}

static void the_head_the_cases_share_is_right(void **state) {
    (void)state;
    uint8_t bytes[512];
    const uint8_t body[] = {HEAD, 0x00};
    vyre_program *program;
    assert_int_equal(vyre_wire_decode(bytes, finish_wire(bytes, body, sizeof body), NULL, &program, NULL), VYRE_OK);
    assert_string_equal(vyre_program_name(program), "p");
    vyre_program_release(program);
}

/* ---- frames ---- */

static size_t saxpy(uint8_t *bytes) {
    vyre_bytes golden = VYRE_BYTES_INIT;
    assert_true(golden_read("saxpy", &golden));
    memcpy(bytes, golden.data, golden.size);
    size_t size = golden.size;
    vyre_bytes_free(&golden);
    return size;
}

static void text_and_nothing_are_no_wire_form(void **state) {
    (void)state;
    static const char text[] = "program p {\n}\n                                                   ";
    expect_refused(text, sizeof text, VYRE_CORRUPT, "W001");
    expect_refused(NULL, 0, VYRE_CORRUPT, "W001");
    expect_refused("\0vyx", 4, VYRE_CORRUPT, "W001");
    expect_refused("\0vy", 3, VYRE_CORRUPT, "W003");
}

static void a_newer_version_is_unsupported_and_both_are_named(void **state) {
    (void)state;
    uint8_t bytes[512];
    size_t size = saxpy(bytes);
    bytes[5] = VY_WIRE_MINOR + 1;
    expect_refused(bytes, size, VYRE_UNSUPPORTED, "W002");
    bytes[4] = 7;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_program *program;
    assert_int_equal(vyre_wire_decode(bytes, size, NULL, &program, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "7.3"));
    assert_non_null(strstr(error.message, "1.2"));
    /* Whatever follows: a newer form may have another length and digest. */
    expect_refused(bytes, 6, VYRE_UNSUPPORTED, "W002");
}

static void a_length_that_does_not_fit_is_refused(void **state) {
    (void)state;
    uint8_t bytes[512];
    size_t size = saxpy(bytes);
    bytes[6]++;
    expect_refused(bytes, size, VYRE_CORRUPT, "W003");
    bytes[6] = 44;
    expect_refused(bytes, size, VYRE_CORRUPT, "W003");
    bytes[9] = 0xff;
    expect_refused(bytes, size, VYRE_CORRUPT, "W003");
}

static void a_changed_byte_breaks_the_digest(void **state) {
    (void)state;
    uint8_t bytes[512];
    size_t size = saxpy(bytes);
    bytes[20] ^= 1;
    expect_refused(bytes, size, VYRE_CORRUPT, "W004");
}

static void a_wire_form_over_the_limit_is_not_even_looked_at(void **state) {
    (void)state;
    expect_refused("x", (size_t)VY_LIMIT_WIRE_BYTES + 1, VYRE_LIMIT, "W013");
}

static void unknown_kinds_in_the_header_are_refused(void **state) {
    (void)state;
    uint8_t bytes[512];
    for (int i = 0; i < 3; i++) {
        size_t size = saxpy(bytes);
        bytes[VY_WIRE_AT_KIND + i] = 2;
        assert_true(vy_wire_fix_header(bytes, size));
        expect_refused(bytes, size, VYRE_CORRUPT, "W007");
    }
}

static void nesting_is_bounded_before_the_draft_is(void **state) {
    (void)state;
    uint8_t body[2000] = {HEAD}, bytes[2100];
    size_t size = sizeof((const uint8_t[]){HEAD});
    for (int i = 0; i < 200; i++) {
        memcpy(body + size, "\x40\x01\x0e", 3);
        size += 3;
    }
    memset(body + size, 0, 201);
    expect_refused(bytes, finish_wire(bytes, body, size + 201), VYRE_CORRUPT, "W012");
}

static void well_formed_bytes_of_an_invalid_program_are_an_invalid_program(void **state) {
    (void)state;
    uint8_t bytes[512];
    const uint8_t body[] = {HEAD, 0x0f /* break outside a loop */, 0x00};
    vyre_program *program;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_diagnostics *diagnostics = vyre_diagnostics_new();
    assert_int_equal(vyre_wire_decode(bytes, finish_wire(bytes, body, sizeof body), diagnostics, &program, &error),
                     VYRE_INVALID_PROGRAM);
    assert_null(program);
    assert_string_equal(vyre_diagnostics_get(diagnostics, 0)->code, "V065");
    vyre_diagnostics_free(diagnostics);
}

/* ---- the debug section ---- */

/* Appends a section with this payload to saxpy; its length and check are right. */
static size_t with_debug(uint8_t *bytes, const uint8_t *payload, size_t size) {
    size_t length = saxpy(bytes), end = length + 4 + size;
    for (int i = 0; i < 4; i++)
        bytes[length + i] = (uint8_t)(size >> 8 * i);
    memcpy(bytes + length + 4, payload, size);
    vyre_digest check;
    vy_digest(bytes + length - VY_WIRE_DIGEST, end - length + VY_WIRE_DIGEST, &check);
    memcpy(bytes + end, check.bytes, sizeof check.bytes);
    return end + sizeof check.bytes;
}

static void debug_sections_are_checked_like_everything_else(void **state) {
    (void)state;
    uint8_t bytes[1024];
    size_t length = saxpy(bytes);
    expect_refused(bytes, length + 1, VYRE_CORRUPT, "W003"); /* too short for a length */
    size_t size = with_debug(bytes, (const uint8_t[]){0}, 1);
    vyre_program *program;
    assert_int_equal(vyre_wire_decode(bytes, size, NULL, &program, NULL), VYRE_OK);
    vyre_program_release(program);
    bytes[size - 1] ^= 1; /* the check */
    expect_refused(bytes, size, VYRE_CORRUPT, "W014");
    bytes[size - 1] ^= 1;
    bytes[length]++; /* the length */
    expect_refused(bytes, size, VYRE_CORRUPT, "W014");
    expect_refused(bytes, length + 10, VYRE_CORRUPT, "W014");
    expect_refused(bytes, with_debug(bytes, (const uint8_t[]){8}, 1), VYRE_CORRUPT, "W007");    /* unknown part */
    expect_refused(bytes, with_debug(bytes, (const uint8_t[]){0, 0}, 2), VYRE_CORRUPT, "W005"); /* trailing byte */
    expect_refused(bytes, with_debug(bytes, (const uint8_t[]){1, 9}, 2), VYRE_CORRUPT, "W003"); /* name cut off */
    expect_refused(bytes, with_debug(bytes, (const uint8_t[]){1, 1, 0, 0}, 4), VYRE_CORRUPT,
                   "W014"); /* zero byte in the name */
    uint8_t zeros[1 + 3 * 32] = {2};
    /* saxpy has 1 function, 2 variables and 2 memories, and none of the positions is known */
    expect_refused(bytes, with_debug(bytes, zeros, 1 + 3 * 5), VYRE_CORRUPT, "W014");
    zeros[1] = 3; /* line -2 */
    expect_refused(bytes, with_debug(bytes, zeros, 1 + 3 * 5), VYRE_CORRUPT, "W014");
}

static void a_debug_section_of_another_program_is_refused(void **state) {
    (void)state;
    uint8_t bytes[1024];
    vyre_bytes other = VYRE_BYTES_INIT;
    size_t size = with_debug(bytes, (const uint8_t[]){0}, 1), length = saxpy(bytes);
    assert_true(golden_read("empty", &other));
    assert_int_equal(vyre_bytes_resize(&other, other.size + size - length, NULL), VYRE_OK);
    memcpy((uint8_t *)other.data + other.size - (size - length), bytes + length, size - length);
    expect_refused(other.data, other.size, VYRE_CORRUPT, "W014");
    vyre_bytes_free(&other);
}

static void positions_without_a_statement_are_refused(void **state) {
    (void)state;
    vyre_bytes empty = VYRE_BYTES_INIT;
    assert_true(golden_read("empty", &empty));
    size_t length = empty.size;
    assert_int_equal(vyre_bytes_resize(&empty, length + 4 + 1 + 32, NULL), VYRE_OK);
    uint8_t *bytes = empty.data;
    bytes[length] = 1;
    bytes[length + 4] = VY_WIRE_DEBUG_CODE;
    vyre_digest check;
    vy_digest(bytes + length - 32, 32 + 5, &check);
    memcpy(bytes + length + 5, check.bytes, 32);
    expect_refused(bytes, empty.size, VYRE_CORRUPT, "W014");
    vyre_bytes_free(&empty);
}

/* ---- every flip, every truncation ---- */

/* Refused, or a program whose wire form is these bytes. */
static int refused_or_canonical(const uint8_t *bytes, size_t size, unsigned options) {
    vyre_program *program;
    if (vyre_wire_decode(bytes, size, NULL, &program, NULL) != VYRE_OK) {
        assert_null(program);
        return 0;
    }
    vyre_bytes again = VYRE_BYTES_INIT;
    assert_int_equal(vyre_wire_encode(program, options, &again, NULL), VYRE_OK);
    assert_int_equal(again.size, size);
    assert_memory_equal(again.data, bytes, size);
    vyre_bytes_free(&again);
    vyre_program_release(program);
    return 1;
}

static size_t golden_count(void) {
    return CORPUS_COUNT + 1;
}

static unsigned golden_at(size_t i, vyre_bytes *out) {
    assert_true(golden_read(i < CORPUS_COUNT ? corpus[i].name : "debug", out));
    return i < CORPUS_COUNT ? 0 : VYRE_WIRE_DEBUG;
}

static void every_single_byte_flip_is_refused(void **state) {
    (void)state;
    vyre_bytes golden = VYRE_BYTES_INIT;
    for (size_t i = 0; i < golden_count(); i++) {
        unsigned options = golden_at(i, &golden);
        uint8_t *bytes = golden.data;
        for (size_t at = 0; at < golden.size; at++)
            for (unsigned bit = 0; bit < (VY_SANITIZED && golden.size > 1000 ? 1 : 8); bit++) {
                bytes[at] ^= 1u << bit;
                assert_false(refused_or_canonical(bytes, golden.size, options));
                bytes[at] ^= 1u << bit;
            }
    }
    vyre_bytes_free(&golden);
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    vyre_bytes golden = VYRE_BYTES_INIT;
    for (size_t i = 0; i < golden_count(); i++) {
        unsigned options = golden_at(i, &golden);
        for (size_t size = 0; size < golden.size; size++) {
            /* A heap block of exactly that size, so that a sanitizer sees a read past its end. */
            uint8_t *bytes = malloc(size + (size == 0));
            memcpy(bytes, golden.data, size);
            int is_program = refused_or_canonical(bytes, size, 0);
            assert_true(!is_program || options); /* cutting the whole debug section off leaves the program */
            free(bytes);
        }
    }
    vyre_bytes_free(&golden);
}

/* With the digest made right again, so that the decoder behind it is what refuses. */
static void flips_and_truncations_behind_the_digest_are_refused_or_canonical(void **state) {
    (void)state;
    vyre_bytes golden = VYRE_BYTES_INIT;
    vy_random random = vy_random_start(1);
    size_t tried = 0, canonical = 0;
    for (size_t i = 0; i < CORPUS_COUNT; i++) {
        golden_at(i, &golden);
        size_t size = golden.size, body = size - VY_WIRE_DIGEST;
        uint8_t *bytes = malloc(size);
        /* Every value of every byte of small programs, every bit and some values of middle ones, some of large ones. */
        size_t step = size < 2000 ? 1 : VY_SANITIZED ? 29 : 5;
        for (size_t at = VY_WIRE_AT_KIND; at < body; at += at < 64 ? 1 : step) {
            unsigned rounds = (size < 300 && !VY_SANITIZED ? 255 : size < 2000 ? 24 : 2) * vy_test_effort();
            for (unsigned round = 1; round <= rounds; round++) {
                memcpy(bytes, golden.data, size);
                bytes[at] ^= rounds >= 255                ? (uint8_t)round
                             : rounds >= 24 && round <= 8 ? (uint8_t)(1u << (round - 1))
                                                          : (uint8_t)(1 + vy_random_below(&random, 255));
                assert_true(vy_wire_fix_header(bytes, size));
                canonical += (size_t)refused_or_canonical(bytes, size, 0);
                tried++;
            }
            memcpy(bytes, golden.data, at);
            if (vy_wire_fix_header(bytes, at + VY_WIRE_DIGEST))
                assert_false(refused_or_canonical(bytes, at + VY_WIRE_DIGEST, 0));
        }
        free(bytes);
    }
    print_message("%zu changed bodies, %zu of them programs\n", tried, canonical);
    assert_true(canonical > 0);
    vyre_bytes_free(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_be_wrong_has_its_code),
        cmocka_unit_test(every_way_to_be_wrong_at_level_legal_has_its_code),
        cmocka_unit_test(every_way_to_be_wrong_of_constant_arrays_has_its_code),
        cmocka_unit_test(the_minor_version_is_that_of_the_level),
        cmocka_unit_test(the_head_the_cases_share_is_right),
        cmocka_unit_test(text_and_nothing_are_no_wire_form),
        cmocka_unit_test(a_newer_version_is_unsupported_and_both_are_named),
        cmocka_unit_test(a_length_that_does_not_fit_is_refused),
        cmocka_unit_test(a_changed_byte_breaks_the_digest),
        cmocka_unit_test(a_wire_form_over_the_limit_is_not_even_looked_at),
        cmocka_unit_test(unknown_kinds_in_the_header_are_refused),
        cmocka_unit_test(nesting_is_bounded_before_the_draft_is),
        cmocka_unit_test(well_formed_bytes_of_an_invalid_program_are_an_invalid_program),
        cmocka_unit_test(debug_sections_are_checked_like_everything_else),
        cmocka_unit_test(a_debug_section_of_another_program_is_refused),
        cmocka_unit_test(positions_without_a_statement_are_refused),
        cmocka_unit_test(every_single_byte_flip_is_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(flips_and_truncations_behind_the_digest_are_refused_or_canonical),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
