/* Any arrays: a valid program with something overwritten is refused or is a program; nothing crashes, and what passes
 * has one encoding. */
#include "generate/generate.h"
#include "ir/validate/validate.h"
#include "ir/wire/format.h"
#include "support/fault.h"
#include "support/test.h"
#include "text/text_support.h"
#include "validate/program_fixture.h"
#include "vyre/text.h"
#include "vyre/wire.h"

typedef struct target {
    void *items;
    size_t size; /* bytes */
} target;

/* Everything a program consists of but pointers and counts; the counts come last and get values of their own. */
static target pick(vyre_program *p, vy_random *random) {
    const target all[] = {
        {p->functions.items, p->functions.count * sizeof *p->functions.items},
        {p->params.items, p->params.count * sizeof *p->params.items},
        {p->results.items, p->results.count * sizeof *p->results.items},
        {p->variables.items, p->variables.count * sizeof *p->variables.items},
        {p->memories.items, p->memories.count * sizeof *p->memories.items},
        {p->sizes.items, p->sizes.count * sizeof *p->sizes.items},
        {p->stmts.items, p->stmts.count * sizeof *p->stmts.items},
        {p->stmts.items, p->stmts.count * sizeof *p->stmts.items},
        {p->exprs.items, p->exprs.count * sizeof *p->exprs.items},
        {p->exprs.items, p->exprs.count * sizeof *p->exprs.items},
        {p->args.items, p->args.count * sizeof *p->args.items},
        {&p->kind, 3},
        {p->workgroup, sizeof p->workgroup},
        {&p->grid, sizeof p->grid},
        {&p->param_count, sizeof p->param_count},
        {&p->buffer_count, sizeof p->buffer_count},
        {&p->name, sizeof p->name},
        {p->names.pool, p->names.size},
    };
    return all[vy_random_below(random, sizeof all / sizeof *all)];
}

/* A byte, or a word: near its old value, near nothing, or anything. */
static void overwrite(unsigned char *at, size_t room, vy_random *random) {
    uint32_t word;
    if (room < 4 || vy_random_below(random, 2)) {
        *at =
            (unsigned char)(vy_random_below(random, 3) ? *at + vy_random_below(random, 5) - 2 : vy_random_next(random));
        return;
    }
    memcpy(&word, at, 4);
    switch (vy_random_below(random, 4)) {
    case 0:
        word += (uint32_t)vy_random_below(random, 5) - 2;
        break;
    case 1:
        word = (uint32_t)vy_random_below(random, 16);
        break;
    case 2:
        word = VY_NONE - (uint32_t)vy_random_below(random, 3);
        break;
    default:
        word = (uint32_t)vy_random_next(random);
        break;
    }
    memcpy(at, &word, 4);
}

/* A program that passed, whatever it looks like, can be encoded, decoded, printed and inlined. */
static void use(vyre_program *p) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_bytes wire = VYRE_BYTES_INIT, text = VYRE_BYTES_INIT;
    vyre_program *read = NULL, *made = NULL;
    vyre_digest kept = p->fingerprint;
    assert_int_equal(vy_fingerprint(p, &error), VYRE_OK);
    assert_int_equal(vyre_wire_encode(p, 0, &wire, &error), VYRE_OK);
    if (vyre_wire_decode(wire.data, wire.size, NULL, &read, &error) != VYRE_OK)
        fail_msg("a valid program does not decode: %s", error.message);
    assert_true(vyre_program_equal(p, read));
    assert_int_equal(vyre_text_print(p, &text, &error), VYRE_OK);
    vyre_module *module = NULL;
    if (vyre_text_parse(text.data, text.size, NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("a valid program does not parse: %s\n%.*s", error.message, (int)text.size, (char *)text.data);
    vyre_program *parsed = vyre_module_program(module, 0);
    assert_true(vyre_program_equal(p, parsed ? parsed : vyre_module_library(module)));
    if (vyre_program_inline(p, &made, &error) != VYRE_OK)
        fail_msg("a valid program cannot be inlined: %s\n%.*s", error.message, (int)text.size, (char *)text.data);
    vyre_module_free(module);
    vyre_program_release(read);
    vyre_program_release(made);
    vyre_bytes_free(&wire);
    vyre_bytes_free(&text);
    p->fingerprint = kept;
}

static unsigned mutate(vyre_program *p, vy_random *random, unsigned rounds) {
    unsigned passed = 0;
    for (unsigned i = 0; i < rounds; i++) {
        unsigned changes = 1 + (unsigned)vy_random_below(random, 3);
        struct {
            unsigned char *at, old[4];
            size_t size;
        } undo[3];
        unsigned made = 0;
        for (unsigned k = 0; k < changes; k++) {
            target t = pick(p, random);
            if (t.size == 0)
                continue;
            size_t offset = vy_random_below(random, t.size);
            if (t.size - offset >= 4)
                offset -= offset % 4;
            undo[made].at = (unsigned char *)t.items + offset;
            undo[made].size = t.size - offset < 4 ? t.size - offset : 4;
            memcpy(undo[made].old, undo[made].at, undo[made].size);
            overwrite(undo[made].at, undo[made].size, random);
            made++;
        }
        uint32_t facts = p->facts;
        /* That names are distinct is what vy_intern_pool promises; only the validator has to bear a pool where they are
         * not. */
        int pool_is_whole = 1;
        for (unsigned k = 0; k < made; k++)
            pool_is_whole &= (char *)undo[k].at < p->names.pool || (char *)undo[k].at >= p->names.pool + p->names.size;
        vyre_status status = vy_validate(p, NULL, NULL);
        assert_true(status == VYRE_OK || status == VYRE_INVALID_PROGRAM);
        if (status == VYRE_OK && pool_is_whole) {
            use(p);
            passed++;
        }
        while (made--)
            memcpy(undo[made].at, undo[made].old, undo[made].size);
        p->facts = facts;
    }
    return passed;
}

static void mutated_programs_are_refused_or_valid(void **state) {
    (void)state;
    vy_random random = vy_random_start(0x3a11d);
    unsigned passed = 0;
    for (unsigned seed = 1; seed <= 60 * vy_test_effort(); seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 12};
        vyre_case *test_case = NULL;
        assert_int_equal(vyre_generate(&options, &test_case, NULL), VYRE_OK);
        vyre_program *p = vyre_case_program(test_case);
        passed += mutate(p, &random, 200);
        assert_int_equal(vy_validate(p, NULL, NULL), VYRE_OK); /* all changes are undone */
        vyre_case_free(test_case);
    }
    printf("%u of %u mutants are programs\n", passed, 60 * vy_test_effort() * 200);
}

/* The case of the text form that has everything: its program, and its functions as a library. */
static void mutated_programs_of_level_legal_are_refused_or_valid(void **state) {
    (void)state;
    size_t size;
    char *text = text_read_file(vy_test_path("tests/text/cases/legal_every_construct.vyre"), &size);
    vyre_module *module = text_parse(text, size);
    vy_random random = vy_random_start(0x1e6a1);
    unsigned rounds = 8000 * vy_test_effort(), passed = 0;
    vyre_program *const made[] = {vyre_module_program(module, 0), vyre_module_library(module)};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(vyre_program_level(made[i]), VYRE_LEVEL_LEGAL);
        passed += mutate(made[i], &random, rounds);
        assert_int_equal(vy_validate(made[i], NULL, NULL), VYRE_OK);
    }
    printf("%u of %u mutants are programs\n", passed, 2 * rounds);
    vyre_module_free(module);
    free(text);
}

/* ---- memory and time ---- */

static vyre_status validate_once(void *user) {
    return vy_validate(user, NULL, NULL);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= 10; seed++) {
        vyre_generate_options options = {.seed = seed};
        vyre_case *test_case = NULL;
        assert_int_equal(vyre_generate(&options, &test_case, NULL), VYRE_OK);
        VY_FAULT_LOOP(validate_once, vyre_case_program(test_case));
        vyre_case_free(test_case);
    }
}

static size_t peak_of_validation(uint32_t statements) {
    vy_fault_install();
    start_entry();
    uint32_t v = var("v", VYRE_TYPE_U32, U32(1));
    for (uint32_t i = 0; i < statements / 4; i++) {
        vy_irb_if(&d, LT(VAR(v), U32(i)));
        vy_irb_assign(&d, v, ADD(VAR(v), U32(1)));
        end();
        barrier(VYRE_SCOPE_WORKGROUP);
        vy_irb_while(&d, BOOL(0));
        vy_irb_simple(&d, VY_STMT_CONTINUE);
        end();
    }
    end_function();
    size_t before = vy_fault_live_bytes();
    assert_int_equal(vy_validate(d.program, NULL, NULL), VYRE_OK);
    size_t peak = vy_fault_peak_bytes();
    assert_int_equal(vy_fault_live_bytes(), before);
    vy_irb_discard(&d);
    vy_fault_remove();
    return peak > before ? peak - before : 0;
}

static void memory_grows_with_the_program_only(void **state) {
    (void)state;
    size_t small = peak_of_validation(10000), large = peak_of_validation(100000);
    assert_in_range(large, 0, small * 20 + 1000000);
}

/* A chain of variables around a loop, each taking the next one's value: the analysis must not walk it once for each
 * link (that would take hours, and the runner's limit ends it). */
static void a_long_chain_of_dependences_is_followed(void **state) {
    (void)state;
    enum { LINKS = 100000 };
    start_entry();
    char name[16];
    uint32_t first = VY_NONE;
    for (uint32_t i = 0; i < LINKS; i++) {
        snprintf(name, sizeof name, "v%u", i);
        uint32_t made = var(name, VYRE_TYPE_U32, U32(0));
        first = i ? first : made;
    }
    FOR("i", VYRE_TYPE_U32, U32(0), U32(9));
    barrier(VYRE_SCOPE_WORKGROUP);
    for (uint32_t i = 0; i + 1 < LINKS; i++)
        vy_irb_assign(&d, first + i, VAR(first + i + 1));
    vy_irb_assign(&d, first + LINKS - 1, ID());
    vy_irb_if(&d, LT(VAR(first), U32(3)));
    end();
    end();
    end_function();
    assert_int_equal(vy_validate(d.program, NULL, NULL), VYRE_OK);
    vy_irb_discard(&d);
}

/* 2^40 calls once inlined, described by forty functions: refused at once. */
static void exploding_calls_are_counted_not_made(void **state) {
    (void)state;
    start("p");
    uint32_t f = identity_function("g0");
    for (int i = 1; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "g%d", i);
        uint32_t g = function(name), x = param("x", VYRE_TYPE_U32);
        vy_irb_result(&d, 0, VYRE_TYPE_U32);
        uint32_t a = CALL(f, "a", value(VAR(x)));
        uint32_t b = CALL(f, "b", value(VAR(a)));
        ret(VAR(b));
        end_function();
        f = g;
    }
    vy_irb_begin_entry(&d);
    CALL(f, "r", value(U32(1)));
    end_function();
    vyre_error error;
    assert_int_equal(vy_validate(d.program, NULL, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "V044"));
    vy_irb_discard(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutated_programs_are_refused_or_valid),
        cmocka_unit_test(mutated_programs_of_level_legal_are_refused_or_valid),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(memory_grows_with_the_program_only),
        cmocka_unit_test(a_long_chain_of_dependences_is_followed),
        cmocka_unit_test(exploding_calls_are_counted_not_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
