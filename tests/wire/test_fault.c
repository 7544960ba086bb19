/* Wherever memory runs out while a program is built, encoded or decoded, the call says NO_MEMORY and nothing is left
 * behind. */
#include "ir/wire/format.h"
#include "support/fault.h"
#include "support/test.h"
#include "wire/corpus.h"
#include "wire/golden.h"

static vyre_status build(void *user) {
    vyre_program *program;
    vyre_status status = corpus_build(user, NULL, &program, NULL);
    vyre_program_release(program);
    return status;
}

static vyre_status encode(void *user) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_status status = vyre_wire_encode(user, VYRE_WIRE_DEBUG, &bytes, NULL);
    vyre_bytes_free(&bytes);
    return status;
}

static vyre_status decode(void *user) {
    const vyre_bytes *bytes = user;
    vyre_program *program;
    vyre_status status = vyre_wire_decode(bytes->data, bytes->size, NULL, &program, NULL);
    vyre_program_release(program);
    return status;
}

static vyre_status misuse(void *user) {
    (void)user;
    vyre_builder *b = vyre_builder_new("p");
    vyre_program *program;
    for (int i = 0; i < 3; i++)
        vyre_let(b, "v", vyre_add(b, vyre_u32(b, 1), vyre_f32(b, 1)));
    vyre_status status = vyre_builder_finish(b, NULL, &program, NULL);
    assert_null(program);
    /* A mistake is reported as one unless memory is out. */
    assert_true(status == VYRE_INVALID_PROGRAM || status == VYRE_NO_MEMORY);
    return status == VYRE_INVALID_PROGRAM ? VYRE_OK : status;
}

/* The large ones make the same calls only more often: they are left out. */
static int is_small(const corpus_program *program) {
    return strcmp(program->name, "ops") && strcmp(program->name, "literals") && strcmp(program->name, "large");
}

static void building_survives_every_allocation_failure(void **state) {
    (void)state;
    for (size_t i = 0; i < CORPUS_COUNT; i++)
        if (is_small(&corpus[i]) && !corpus[i].text) /* tests/text has those */
            VY_FAULT_LOOP(build, (void *)&corpus[i]);
    VY_FAULT_LOOP_LENIENT(misuse, NULL);
}

static void encoding_survives_every_allocation_failure(void **state) {
    (void)state;
    for (size_t i = 0; i < CORPUS_COUNT; i++) {
        vyre_program *program = corpus_make(i);
        assert_non_null(program);
        VY_FAULT_LOOP(encode, program);
        vyre_program_release(program);
    }
}

static void decoding_survives_every_allocation_failure(void **state) {
    (void)state;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    for (size_t i = 0; i <= CORPUS_COUNT; i++) {
        assert_true(golden_read(i < CORPUS_COUNT ? corpus[i].name : "debug", &bytes));
        VY_FAULT_LOOP(decode, &bytes);
    }
    vyre_bytes_free(&bytes);
}

static void the_fingerprint_of_a_small_program_allocates_nothing(void **state) {
    (void)state;
    vy_fault_install();
    vyre_program *program = corpus_make(1);
    size_t before = vy_fault_allocations();
    vyre_digest digest = program->fingerprint;
    assert_int_equal(vy_fingerprint(program, NULL), VYRE_OK);
    assert_int_equal(vy_fault_allocations(), before);
    assert_memory_equal(&digest, &program->fingerprint, sizeof digest);
    vyre_program_release(program);
    vy_fault_remove();
}

/* Bytes are checked before memory is taken: garbage behind a right digest cannot make the decoder allocate much. */
static void memory_is_bounded_by_a_multiple_of_the_bytes(void **state) {
    (void)state;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    for (size_t i = 0; i < CORPUS_COUNT; i++) {
        assert_true(golden_read(corpus[i].name, &bytes));
        vy_fault_install();
        assert_int_equal(decode(&bytes), VYRE_OK);
        size_t peak = vy_fault_peak_bytes();
        vy_fault_remove();
        print_message("%s: %zu bytes, at most %zu of memory\n", corpus[i].name, bytes.size, peak);
        assert_true(peak <= 16384 + 128 * bytes.size);
    }
    vyre_bytes_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building_survives_every_allocation_failure),
        cmocka_unit_test(encoding_survives_every_allocation_failure),
        cmocka_unit_test(decoding_survives_every_allocation_failure),
        cmocka_unit_test(the_fingerprint_of_a_small_program_allocates_nothing),
        cmocka_unit_test(memory_is_bounded_by_a_multiple_of_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
