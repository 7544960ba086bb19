/* The code of the LLVM emitter follows the target description: registers and errata. */
#include "compilers/emit/run.h"

#include "base/file.h"
#include "compilers/ir.h"

/* ---- registers ---- */

static uint32_t width_of(const vyre_program *legal, const vy_target_desc *target) {
    vy_uniform *uniform;
    uint32_t width, narrow;
    assert_int_equal(vy_uniform_make_with_uniform_polls(legal, &uniform, NULL), VYRE_OK);
    assert_int_equal(vy_llvm_choose_width(legal, uniform, target, &width, &narrow, NULL), VYRE_OK);
    vy_uniform_free(uniform);
    return width;
}

static void the_width_follows_the_registers(void **state) {
    vy_target_desc target = vy_cpu_target(SSE_FEATURES, 0);
    vyre_program *legal,
        *program = vy_test_parse("program p {\n buffer x : f32 read_write\n workgroup 256\n grid over x\n"
                                 " let i = global_id.x\n let a = x[i]\n let b = x[i + 1]\n let c = x[i + 2]\n"
                                 " let d = x[i + 3]\n var s = a\n for k in 0u32 .. 9u32 { s = s * b + c }\n"
                                 " x[i] = s * a + b * c + d\n}\n");
    (void)state;
    assert_int_equal(vy_legalize(program, &target, &legal, NULL), VYRE_OK);
    target.register_lanes = 8;
    target.registers = 1;
    assert_int_equal(width_of(legal, &target), 8);
    target.registers = 64;
    assert_int_equal(width_of(legal, &target), 32);
    target.register_lanes = 4;
    assert_int_equal(width_of(legal, &target), 16);
    vyre_program_release(legal);
    vyre_program_release(program);
}

/* ---- errata ---- */

/* The module of a reproducer after the rewriting. */
static char *rewritten(const char *name, uint32_t errata) {
    char path[256], *words = NULL, *text;
    vyre_bytes file = VYRE_BYTES_INIT;
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = NULL;
    snprintf(path, sizeof path, "tests/compilers/errata/%s.ll", name);
    assert_int_equal(vy_file_read(vy_test_path(path), SIZE_MAX - 1, &file, NULL), VYRE_OK);
    LLVMMemoryBufferRef source = LLVMCreateMemoryBufferWithMemoryRangeCopy(file.data, file.size, "ir");
    ir_stop_if(LLVMParseIRInContext(context, source, &module, &words), "reading", words);
    vy_llvm_errata_rewrite(module, errata);
    char *printed = LLVMPrintModuleToString(module);
    text = strdup(printed);
    LLVMDisposeMessage(printed);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    vyre_bytes_free(&file);
    return text;
}

static void a_module_is_rewritten_for_its_errata_only(void **state) {
    static const struct {
        uint32_t erratum;
        const char *name;
    } rows[] = {{VY_LLVM_ERRATUM_MASKED_LOADS, "masked-load-constant"},
                {VY_LLVM_ERRATUM_MASK_SUMS, "mask-sum-loop"},
                {VY_LLVM_ERRATUM_MASKED_LOGIC, "masked-ternary-logic"},
                {VY_LLVM_ERRATUM_HALF_MINIMUM, "half-minimum-call"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *plain = rewritten(rows[i].name, 0), *avoided = rewritten(rows[i].name, rows[i].erratum);
        if (strcmp(plain, avoided) == 0)
            fail_msg("%s: the module is the same", rows[i].name);
        free(plain);
        free(avoided);
    }
}

static vyre_status print_module(vy_llvm_session *job, void *user) {
    vyre_status status = write_module(job, NULL);
    char *printed = LLVMPrintModuleToString(job->module);
    *(char **)user = strdup(printed);
    LLVMDisposeMessage(printed);
    return status;
}

static char *emitted(vyre_program *program, uint32_t errata) {
    const manner m = {.processor = processor_at(5)};
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    char *text = NULL;
    assert_int_equal(manner_lower(program, &m, &code, &error), VYRE_OK);
    const vy_jit_request request = code_request(&code, m.processor);
    vy_llvm_session job = {.request = &request,
                           .program = code.legal,
                           .target = vy_cpu_target(request.features, 0),
                           .width = request.width,
                           .error = &error};
    job.target.errata = errata;
    assert_int_equal(vy_uniform_make_with_uniform_polls(code.legal, &job.uniform, &error), VYRE_OK);
    assert_int_equal(vy_llvm_session_run(&job, print_module, &text), VYRE_OK);
    vy_uniform_free(job.uniform);
    vyre_program_release(code.legal);
    vyre_bytes_free(&code.wire);
    return text;
}

static void floats_of_integers_are_hidden_for_the_erratum(void **state) {
    (void)state;
    if (!(vy_cpu_features() & (VY_CPU_FEATURE_F16C | VY_CPU_FEATURE_AARCH64)))
        VY_SKIP("the processor does not convert to f16");
    vyre_bytes text = VYRE_BYTES_INIT;
    assert_int_equal(vy_file_read(vy_test_path("tests/compilers/errata/half-range.vyre"), SIZE_MAX - 1, &text, NULL),
                     VYRE_OK);
    assert_int_equal(vyre_bytes_resize(&text, text.size + 1, NULL), VYRE_OK);
    ((char *)text.data)[text.size - 1] = 0;
    vyre_program *program = vy_test_parse(text.data);
    vyre_bytes_free(&text);
    char *plain = emitted(program, 0), *hidden = emitted(program, VY_LLVM_ERRATUM_HALF_RANGE);
    assert_true(strstr(plain, "arithmetic.fence") == NULL && strstr(hidden, "arithmetic.fence") != NULL);
    free(plain);
    free(hidden);
    vyre_program_release(program);
}

static void a_processor_has_the_errata_of_its_features(void **state) {
    (void)state;
    const uint32_t sse = vy_cpu_target(VY_CPU_FEATURE_X86_64, 0).errata,
                   avx = vy_cpu_target(VY_CPU_FEATURE_X86_64 | VY_CPU_FEATURE_AVX, 0).errata,
                   wide = vy_cpu_target(VY_CPU_FEATURE_X86_64 | VY_CPU_FEATURE_AVX | VY_CPU_FEATURE_AVX512F, 0).errata,
                   arm = vy_cpu_target(VY_CPU_FEATURE_AARCH64, 0).errata;
    assert_int_equal(arm, VY_LLVM_ERRATUM_HALF_RANGE);
    assert_int_equal(sse, arm | VY_LLVM_ERRATUM_HALF_MINIMUM);
    assert_int_equal(avx, sse | VY_LLVM_ERRATUM_MASKED_LOADS);
    assert_int_equal(wide, sse | VY_LLVM_ERRATUM_MASK_SUMS | VY_LLVM_ERRATUM_MASKED_LOGIC);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_width_follows_the_registers),
        cmocka_unit_test(a_module_is_rewritten_for_its_errata_only),
        cmocka_unit_test(floats_of_integers_are_hidden_for_the_erratum),
        cmocka_unit_test(a_processor_has_the_errata_of_its_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
