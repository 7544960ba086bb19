/* Whatever legalisation makes for this target has a text, which holds together: each op on each type, the examples,
 * the library, random programs. */
#include "emit/ptx/code.h"

#include "compile/pipeline.h"
#include "generate/generate.h"
#include "lower/runner.h"
#include "opt/call_library.h"
#include "support/fault.h"
#include "support/resolve.h"

#include <dirent.h>

/* ---- texts that ptxas compiles together ---- */

enum { BATCH = 100 };

static vy_string batch;
static unsigned batch_count;

static void batch_flush(void) {
    if (batch_count)
        ptxas_accepts(ptxas_path(), batch.text, "a batch");
    vy_string_free(&batch);
    batch = (vy_string){0};
    batch_count = 0;
}

/* Adds an entry under a name of its own. */
static void batch_add(const vy_ptx_code *code) {
    const char *text = code->text.data, *entry = strstr(text, ".visible .entry ");
    assert_non_null(entry);
    if (!batch_count)
        vy_string_add(&batch, ".version 7.0\n.target sm_80\n.address_size 64\n.file 1 \"<text>\"\n");
    vy_string_format(&batch, "\n.visible .entry entry_%u%s", batch_count, strchr(entry, '('));
    if (++batch_count == BATCH)
        batch_flush();
}

/* ---- ops ---- */

static unsigned each_op(void (*body)(const vy_ptx_code *code)) {
    unsigned count = 0;
    for (int op = 0; op < VYRE_OP_COUNT; op++)
        for (int operand = 0; operand < VYRE_TYPE_COUNT; operand++)
            for (int result = 0; result < VYRE_TYPE_COUNT; result++) {
                op_run run;
                vy_ptx_code code;
                char what[64];
                if (!op_run_start(&run, (vyre_op)op, (vyre_type)result, (vyre_type)operand))
                    continue;
                snprintf(what, sizeof what, "%s of %s", vyre_op_get((vyre_op)op)->name,
                         vyre_type_name((vyre_type)operand));
                ptx_try(run.program, 0, what, &code);
                if (body)
                    body(&code);
                vy_ptx_free(&code);
                op_run_end(&run);
                count++;
            }
    return count;
}

static void every_op_on_every_type_has_a_text(void **state) {
    (void)state;
    unsigned count = each_op(NULL);
    printf("%u ops\n", count);
    assert_true(count > 500);
}

static void ptxas_compiles_every_op(void **state) {
    (void)state;
    if (!ptxas_path())
        VY_SKIP("ptxas_compiles_every_op: there is no ptxas here (PTXAS, /usr/local/cuda/bin)");
    each_op(batch_add);
    batch_flush();
}

/* ---- what people wrote ---- */

static unsigned each_file(const char *folder, void (*body)(const vyre_module *module, const char *text)) {
    char path[1024];
    struct dirent *entry;
    unsigned files = 0;
    DIR *opened = opendir(vy_test_path(folder));
    assert_non_null(opened);
    while ((entry = readdir(opened))) {
        size_t length = strlen(entry->d_name);
        vyre_module *module = NULL;
        vyre_error error = VYRE_ERROR_INIT;
        if (length < 5 || strcmp(entry->d_name + length - 5, ".vyre") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", vy_test_path(folder), entry->d_name);
        char *text = ptx_read_file(path);
        if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
            fail_msg("%s: %s", path, error.message);
        body(module, text);
        vyre_module_free(module);
        free(text);
        files++;
    }
    closedir(opened);
    return files;
}

static void try_optimised(vyre_program *program, int cancellable, const char *what) {
    vyre_program *flat = NULL;
    vy_ptx_code code;
    assert_int_equal(vyre_program_optimize(program, &(vyre_optimize_options){.level = 2}, &flat, NULL, NULL), VYRE_OK);
    ptx_try(flat, cancellable, what, &code);
    vy_ptx_free(&code);
    vyre_program_release(flat);
}

static void try_programs(const vyre_module *module, const char *text) {
    (void)text;
    for (size_t i = 0; i < vyre_module_program_count(module); i++) {
        vyre_program *program = vy_test_resolve(vyre_module_program(module, i));
        for (int cancellable = 0; cancellable < 2; cancellable++)
            try_optimised(program, cancellable, vyre_program_name(program));
        vyre_program_release(program);
    }
}

static void every_example_has_a_text(void **state) {
    (void)state;
    assert_true(each_file("examples", try_programs) > 10);
}

static unsigned functions;

static void try_functions(const vyre_module *module, const char *text) {
    const vyre_program *library = vyre_module_library(module);
    for (uint32_t i = 0; i < library->functions.count; i++, functions++) {
        vyre_program *program = program_that_calls(library, &library->functions.items[i], text);
        try_optimised(program, 0, vy_symbol_name(library, library->functions.items[i].name));
        vyre_program_release(program);
    }
}

static void every_function_of_the_library_has_a_text(void **state) {
    (void)state;
    each_file("lib", try_functions);
    printf("%u functions\n", functions);
    assert_true(functions > 200);
}

/* ---- random programs ---- */

/* Programs with grid barriers are split before they are legalised: another seed then. */
static vyre_case *random_case(uint64_t seed) {
    vyre_generate_options options = {.seed = seed, .statements = 10 + (unsigned)(seed % 40)};
    for (;; options.seed += 1 << 20) {
        vyre_case *made = NULL;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        if (!(vyre_case_program(made)->facts & VY_PROGRAM_HAS_GRID_BARRIER))
            return made;
        vyre_case_free(made);
    }
}

static void random_programs_have_a_text(void **state) {
    (void)state;
    unsigned total = (VY_SANITIZED ? 60 : 500) * vy_test_effort();
    for (unsigned seed = 1; seed <= total; seed++) {
        vyre_case *made = random_case(seed);
        char what[32];
        vy_ptx_code code;
        snprintf(what, sizeof what, "seed %u", seed);
        ptx_try(vyre_case_program(made), seed % 3 == 0, what, &code);
        vy_ptx_free(&code);
        vyre_case_free(made);
    }
}

static void ptxas_compiles_random_programs(void **state) {
    (void)state;
    if (!ptxas_path())
        VY_SKIP("ptxas_compiles_random_programs: there is no ptxas here (PTXAS, /usr/local/cuda/bin)");
    for (unsigned seed = 1; seed <= 40 * vy_test_effort(); seed++) {
        vyre_case *made = random_case(seed * 7919);
        vy_ptx_code code;
        ptx_try(vyre_case_program(made), seed % 2, "a random program", &code);
        batch_add(&code);
        vy_ptx_free(&code);
        vyre_case_free(made);
    }
    batch_flush();
}

static void a_program_has_one_text(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        vyre_case *made = random_case(seed), *again = random_case(seed);
        vy_ptx_code first, second;
        ptx_try(vyre_case_program(made), 1, "the first time", &first);
        ptx_try(vyre_case_program(again), 1, "the second time", &second);
        assert_string_equal(first.text.data, second.text.data);
        vy_ptx_free(&first);
        vy_ptx_free(&second);
        vyre_case_free(made);
        vyre_case_free(again);
    }
}

/* ---- what is refused, and what is needed ---- */

#define LEGAL(body)                                                                                                    \
    "program p {\n level legal\n buffer x : u32 read_write\n workgroup 32\n array t : u32 [4] workgroup\n" body "}\n"

static void refuses(const char *text, const char *named) {
    vyre_program *program = vy_test_parse(text);
    vyre_error error = VYRE_ERROR_INIT;
    vy_ptx_code code;
    assert_int_equal(vy_ptx_emit(program, NULL, &code, &error), VYRE_UNSUPPORTED);
    if (!strstr(error.message, named))
        fail_msg("`%s` does not name `%s`", error.message, named);
    assert_true(error.fix[0] != 0);
    assert_null(code.text.data);
    vyre_program_release(program);
}

static void what_only_exists_before_legalisation_is_named(void **state) {
    (void)state;
    refuses(LEGAL("x[0] = 1\n"), "guarded store");
    refuses(LEGAL("x![0] = x[1]\n"), "guarded load");
    refuses(LEGAL("atomic_add(x[0], 1)\n"), "guarded atomic");
    refuses(LEGAL("trap 3\n"), "trap");
    refuses(LEGAL("print \"here\"\n"), "print");
    refuses(LEGAL("let s = workgroup_reduce_add(x![0])\nx![0] = s\n"), "reduce");
    refuses(LEGAL("x![0] = u32(u8(x![1]) + u8(x![2]))\n"), "add");
}

static void an_architecture_that_lacks_something_is_named(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(LEGAL("atomic_store<release>(x![0], 1)\n"));
    vyre_error error = VYRE_ERROR_INIT;
    vy_ptx_code code;
    assert_int_equal(vy_ptx_emit(program, &(vy_ptx_options){.architecture = 60}, &code, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "sm_70"));
    assert_int_equal(vy_ptx_emit(program, &(vy_ptx_options){.architecture = 70}, &code, &error), VYRE_OK);
    assert_int_equal(code.architecture, 70);
    assert_int_equal(code.version, 60);
    assert_int_equal(code.param_count, 3);
    vy_ptx_free(&code);
    vyre_program_release(program);
}

static void early_entry(const char *text, vy_ptx_options options, int is_early) {
    vyre_program *program = vy_test_parse(text);
    vyre_error error = VYRE_ERROR_INIT;
    vy_ptx_code code;
    options.dependent_launch = 1;
    if (vy_ptx_emit(program, &options, &code, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_null(ptx_wrong(code.text.data));
    const char *first = strstr(code.text.data, "\n{\n") + 3;
    while (strncmp(first, "\t.", 2) == 0) /* declarations */
        first = strchr(first, '\n') + 1;
    assert_int_equal(strncmp(first, "\tgriddepcontrol.wait;", 21) == 0, is_early);
    assert_int_equal(code.dependent_launch, is_early);
    assert_int_equal(code.architecture >= 90 && code.version >= 78, is_early);
    vy_ptx_free(&code);
    vyre_program_release(program);
}

static void an_entry_that_begins_early_waits_first(void **state) {
    (void)state;
    static const char plain[] = LEGAL("x![local_id.x] = x![0] + 1\n");
    early_entry(plain, (vy_ptx_options){.architecture = 90}, 1);
    early_entry(plain, (vy_ptx_options){.architecture = 100}, 1);
    early_entry(plain, (vy_ptx_options){.architecture = 80}, 0);
    early_entry(plain, (vy_ptx_options){0}, 0);
    early_entry(plain, (vy_ptx_options){.architecture = 90, .batched = 1}, 0);
    early_entry(plain, (vy_ptx_options){.architecture = 90, .indirect = 1}, 0);
}

static void what_is_reserved_stands_before_the_text(void **state) {
    (void)state;
    static const uint32_t sizes[] = {1, 256, 100000};
    vyre_program *program = vy_test_parse(LEGAL("x![local_id.x] = x![0] + 1\n"));
    vy_ptx_code plain, code;
    assert_int_equal(vy_ptx_emit(program, NULL, &plain, NULL), VYRE_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(vy_ptx_emit(program, &(vy_ptx_options){.reserved = sizes[i]}, &code, NULL), VYRE_OK);
        assert_int_equal(code.text.size, sizes[i] + plain.text.size);
        for (uint32_t k = 0; k < sizes[i]; k++)
            assert_int_equal(((const char *)code.text.data)[k], 0);
        assert_string_equal((const char *)code.text.data + sizes[i], plain.text.data);
        vy_ptx_free(&code);
    }
    vy_ptx_free(&plain);
    vyre_program_release(program);
}

static unsigned jumps_of(const char *text) {
    vyre_program *program = vy_test_parse(text);
    vy_ptx_code code;
    unsigned jumps = 0;
    assert_int_equal(vy_ptx_emit(program, NULL, &code, NULL), VYRE_OK);
    assert_null(ptx_wrong(code.text.data));
    for (const char *at = code.text.data; (at = strstr(at, "bra $L")); at++)
        jumps++;
    vy_ptx_free(&code);
    vyre_program_release(program);
    return jumps;
}

static int says(const char *text, const char *wanted) {
    vyre_program *program = vy_test_parse(text);
    vy_ptx_code code;
    assert_int_equal(vy_ptx_emit(program, NULL, &code, NULL), VYRE_OK);
    assert_null(ptx_wrong(code.text.data));
    int is_there = strstr(code.text.data, wanted) != NULL;
    vy_ptx_free(&code);
    vyre_program_release(program);
    return is_there;
}

#define FOUR                                                                                                           \
    "let b = at + 1\n let c = at + 2\n let d = c + 1\n let p = at < len(y)\n let q = b < len(y)\n let r = c < "        \
    "len(y)\n"                                                                                                         \
    "let s = d < len(y)\n sum = sum + u32(y![at if p]) + u32(y![b if q]) + u32(y![c if r])"
#define LOOP(type, access, body)                                                                                       \
    "program p {\n level legal\n buffer x : u32 read_write\n buffer y : " type " " access "\n workgroup 32\n"          \
    "var at = x![0]\n var sum = 0u32\n while at < 99 { " body "\n at = at + 4 }\n x![0] = sum\n}\n"
#define AS_WORDS "shf.r.wrap"

static void bytes_near_each_other_are_loaded_as_words(void **state) {
    (void)state;
    assert_true(says(LOOP("u8", "read", FOUR " + u32(y![d if s])"), AS_WORDS));
    assert_false(says(LOOP("u8", "read", FOUR), AS_WORDS));                            /* too few */
    assert_false(says(LOOP("u8", "read_write", FOUR " + u32(y![d if s])"), AS_WORDS)); /* somebody may write it */
    assert_false(says(LOOP("u16", "read", FOUR " + u32(y![d if s])"), AS_WORDS));
    assert_false(says(LOOP("u8", "read", FOUR " + u32(y![d if r])"), AS_WORDS)); /* the test of another */
    assert_false(says(LOOP("u8", "read", "at = at + 1\n" FOUR " + u32(y![d if s])"), AS_WORDS));
    assert_false(
        says(LOOP("u8", "read", "var e = at\n while e < 9 { e = e + 1 }\n" FOUR " + u32(y![d if s])"), AS_WORDS));
}

#define BYTES(body)                                                                                                    \
    "program p {\n level legal\n buffer x : u8 read_write\n buffer y : u8 read\n workgroup 32\n"                       \
    "let (a, b, c, d) = load_wide(x, 0)\n let (e, f, g, h) = load_wide(y, 4)\n" body "}\n"
#define STORED(a, b, c, d) "store_wide(x, 0, " a ", " b ", " c ", " d ")\n"
#define XOR(a, b) "u8(u32(" a ") ^ u32(" b "))"
#define TOGETHER "0x5410" /* how two halves of a word are joined */

static void bytes_that_stay_together_are_not_joined_again(void **state) {
    (void)state;
    assert_false(says(BYTES(STORED("e", "f", "g", "h")), TOGETHER));
    assert_false(says(BYTES(STORED(XOR("a", "e"), XOR("b", "f"), XOR("c", "g"), XOR("d", "h"))), TOGETHER));
    assert_false(says(BYTES("var v = 0u8\n v = b\n" STORED("a", "v", "c", "d")), TOGETHER));
    /* in another order, of two words, by two ops, with something else */
    assert_true(says(BYTES(STORED("e", "g", "f", "h")), TOGETHER));
    assert_true(says(BYTES(STORED("a", "b", "g", "h")), TOGETHER));
    assert_true(says(BYTES(STORED(XOR("a", "e"), XOR("b", "g"), XOR("c", "f"), XOR("d", "h"))), TOGETHER));
    assert_true(says(BYTES(STORED(XOR("a", "e"), XOR("b", "f"), XOR("c", "g"), "d")), TOGETHER));
    assert_true(says(BYTES(STORED("a", "b", "c", "u8(u32(d) + 1)")), TOGETHER));
    /* a variable that is set again, maybe, or in a loop */
    assert_true(says(BYTES("var v = 0u8\n v = b\n v = e\n" STORED("a", "v", "c", "d")), TOGETHER));
    assert_true(
        says(BYTES("var v = 0u8\n v = b\n if u32(a) == u32(e) { v = c }\n" STORED("a", "v", "c", "d")), TOGETHER));
    assert_true(
        says(BYTES("var v = 0u8\n v = b\n for n in 0u32 .. 9 {\n" STORED("a", "v", "c", "d") "v = c\n }\n"), TOGETHER));
    assert_true(says(BYTES("var v = 0u8\n v = b\n while true { let w = v\n if u32(w) == u32(e) { break }\n" STORED(
                         "a", "w", "c", "d") "v = f\n }\n"),
                     TOGETHER));
}

/* From a local id, of which there are 32. */
static void a_region_of_any_name_is_one_comment(void **state) {
    (void)state;
    char name[VY_LIMIT_NAME + 1] = "", text[1024], wanted[256];
    for (size_t length = 1; length <= VY_LIMIT_NAME; length++) {
        name[length - 1] = (char)('a' + length % 26);
        snprintf(text, sizeof text, LEGAL("region \"%s\" { x![0] = 1 }\n"), name);
        snprintf(wanted, sizeof wanted, "\t// %s\n", name);
        assert_true(says(text, wanted));
    }
}

static void a_loop_of_one_trip_or_two_is_written_out(void **state) {
    (void)state;
    assert_int_equal(jumps_of(LEGAL("for n in local_id.x .. 40u32 step 32 { x![n] = n }\n")), 0);
    assert_int_equal(jumps_of(LEGAL("for n in local_index .. 64u32 step 32 { x![n] = mul_high(n, 9) }\n")), 0);
    assert_int_equal(jumps_of(LEGAL("let l = local_id.x\n for n in l .. 40u32 step 32 { t![n & 3] = n }\n")), 0);
    assert_true(jumps_of(LEGAL("for n in local_id.x .. 31u32 step 32 { x![n] = n }\n"))); /* or none */
    assert_true(jumps_of(LEGAL("for n in local_id.x .. 65u32 step 32 { x![n] = n }\n"))); /* or three */
    assert_true(jumps_of(LEGAL("for n in group_id.x .. 40u32 step 32 { x![n] = n }\n"))); /* or any */
    assert_true(jumps_of(LEGAL("for n in local_id.x .. 40u32 step 32 { x![n] = n\n if x![0] == n { break } }\n")));
}

static void a_library_has_no_text(void **state) {
    (void)state;
    const char *text = "fn f(a: u32) -> u32 { return a }\n";
    vyre_module *module = NULL;
    vy_ptx_code code;
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, NULL), VYRE_OK);
    assert_int_equal(vy_ptx_emit(vyre_module_library(module), NULL, &code, NULL), VYRE_INVALID_ARGUMENT);
    vyre_module_free(module);
}

/* ---- faults ---- */

static vyre_status emit(void *program) {
    vy_ptx_code code;
    vyre_status status = vy_ptx_emit(program, NULL, &code, NULL);
    vy_ptx_free(&code);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    vyre_case *made = random_case(11);
    vyre_program *legal = NULL;
    vy_target_desc target = vy_ptx_target(PTX_ARCHITECTURE, 1);
    assert_int_equal(vy_legalize(vyre_case_program(made), &target, &legal, NULL), VYRE_OK);
    assert_true(VY_FAULT_LOOP(emit, legal) > 5);
    vyre_program_release(legal);
    vyre_case_free(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_on_every_type_has_a_text),
        cmocka_unit_test(ptxas_compiles_every_op),
        cmocka_unit_test(every_example_has_a_text),
        cmocka_unit_test(every_function_of_the_library_has_a_text),
        cmocka_unit_test(random_programs_have_a_text),
        cmocka_unit_test(ptxas_compiles_random_programs),
        cmocka_unit_test(a_program_has_one_text),
        cmocka_unit_test(what_only_exists_before_legalisation_is_named),
        cmocka_unit_test(an_architecture_that_lacks_something_is_named),
        cmocka_unit_test(an_entry_that_begins_early_waits_first),
        cmocka_unit_test(what_is_reserved_stands_before_the_text),
        cmocka_unit_test(a_region_of_any_name_is_one_comment),
        cmocka_unit_test(a_loop_of_one_trip_or_two_is_written_out),
        cmocka_unit_test(bytes_near_each_other_are_loaded_as_words),
        cmocka_unit_test(bytes_that_stay_together_are_not_joined_again),
        cmocka_unit_test(a_library_has_no_text),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
