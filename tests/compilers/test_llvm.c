/* The compiler: small programs on every width give the oracle's bits; what it refuses, it refuses in words; and
 * whatever fails in LLVM, the process lives. */
#include "compilers/code.h"

#include "base/string.h"
#include "compilers/llvm/compile.h"
#include "compilers/llvm/llvm_session.h"
#include "support/fault.h"
#include "vyre/builder.h"

#include <dlfcn.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <pthread.h>

/* ---- programs ---- */

enum { ELEMENTS = 77 };

/* One buffer in, one in and out, both of 77 elements; one param. */
#define SAMPLE(level, x, y, size, body)                                                                                \
    "program sample {\n" level "param a : f32\nbuffer x : " x " read\nbuffer y : " y " read_write\nworkgroup " size    \
    "\ngrid over y\n" body "}\n"
#define INDEX "let i = global_id.x\n"

typedef struct sample {
    const char *name, *text;
} sample;

static const sample samples[] = {
    {"saxpy", SAMPLE("", "f32", "f32", "64", INDEX "if i < len(y) { y[i] = fma(a, x[i], y[i]) }\n")},
    {"legal copy", SAMPLE("level legal\n", "f32", "f32", "4", INDEX "if i < len(y) { y![i] = x![i if i < len(x)] }\n")},
    {"division", SAMPLE("", "u32", "u32", "32", INDEX "y[i] = x[i] / (y[i] & 7) + (x[i] << i) + x[i + 1]\n")},
    {"control", SAMPLE("", "u32", "u32", "32",
                       INDEX "var s = 0u32\nfor k in 0..(x[i] & 15) {\nif (k ^ i) % 3 == 1 { continue }\n"
                             "if s > 1000 { break }\ns = s + x[k] * k\n}\ny[i] = s\n")},
    {"barrier", SAMPLE("", "u32", "u32", "48",
                       "array s : u32 [48] workgroup\n" INDEX "let l = local_index\ns[l] = x[i]\nbarrier\n"
                       "y[i] = s[47 - l] + s[(l + 1) % 48]\n")},
    {"counters that meetings hang on",
     SAMPLE("", "u32", "u32", "48",
            "array s : u32 [48] workgroup\n" INDEX
            "let l = local_index\nvar n = 1u32\ns[l] = x[i]\nbarrier\nwhile n < 48 {\nlet o = s[l - n]\nbarrier\n"
            "s[l] = s[l] + o\nif n == 4 { n = n + 1 }\nbarrier\nn = 2 * n\n}\ny[i] = s[l] + n\n")},
    {"shuffles from far away",
     SAMPLE("", "u32", "u32", "48",
            INDEX "let a1 = subgroup_shuffle_up<16>(x[i], 4294967295)\nlet a2 = subgroup_shuffle_up<16>(x[i], 3)\n"
                  "let a3 = subgroup_shuffle_down<16>(x[i], 4294967290)\nlet a4 = subgroup_shuffle<16>(x[i], 16)\n"
                  "y[i] = a1 + 3 * a2 + 5 * a3 + 7 * a4\n")},
    {"trap", SAMPLE("", "u32", "u32", "32", INDEX "if i >= 70 { trap i }\ny[i] = i\n")},
    {"narrow", SAMPLE("", "i16", "u8", "32", INDEX "y[i] = u8(x[i] * x[i + 1]) + y[i]\n")},
    {"bytes anywhere", SAMPLE("", "i16", "u8", "32",
                              INDEX "if i < len(y) { if (x[i] & 3) != 1 { y[i * 5 % 77] = u8(x[i]) + u8(i) } }\n")},
    {"halves anywhere", SAMPLE("", "u32", "u16", "48",
                               INDEX "if i < len(y) { if x[i] % 3 != 1 { y[i * 5 % 77] = u16(x[i]) ^ u16(i) } }\n")},
    {"doubles", SAMPLE("", "f64", "f64", "32", INDEX "y[i] = sqrt(abs(x[i])) / (y[i] - x[i])\n")},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

/* Arguments of a sample: bytes that look like anything. */
typedef struct sample_arguments {
    uint64_t x[ELEMENTS], y[ELEMENTS];
    vyre_scalar param;
    vyre_span inputs[2];
    vyre_arguments arguments;
} sample_arguments;

static const vyre_arguments *arguments_of(const vyre_program *program, sample_arguments *out) {
    vy_random random = vy_random_start(7);
    for (int i = 0; i < ELEMENTS; i++) {
        out->x[i] = vy_random_next(&random) & (i % 3 ? UINT64_MAX : 0x0000000f0000000f);
        out->y[i] = vy_random_next(&random);
    }
    const uint64_t *data[2] = {out->x, out->y};
    for (size_t i = 0; i < 2; i++) {
        vyre_buffer_info info;
        assert_true(vyre_program_buffer(program, i, &info));
        out->inputs[i] = (vyre_span){data[i], ELEMENTS * (vyre_type_bits(info.type) / 8)};
    }
    out->param = (vyre_scalar){VYRE_TYPE_F32, 0x40200000};
    out->arguments = (vyre_arguments){.params = &out->param,
                                      .param_count = 1,
                                      .inputs = out->inputs,
                                      .input_count = 2,
                                      .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    return &out->arguments;
}

static void compare(const sample *sample, const processor *p) {
    static sample_arguments arguments;
    static outcome want, got;
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    vyre_program *program = vy_test_parse(sample->text);
    const vyre_arguments *given = arguments_of(program, &arguments);
    outcome_of_oracle(program, given, &want);
    if (want.status != VYRE_OK && want.status != VYRE_TRAPPED)
        fail_msg("%s: %s", sample->name, want.error.message);
    if (code_make(program, p, &code, &error) != VYRE_OK)
        fail_msg("%s, %s: %s", sample->name, p->name, error.message);
    outcome_of_code(&code, given, &got);
    const char *text = outcome_differs(&want, &got);
    if (text) {
        code_show(code.legal);
        fail_msg("%s, %s: %s", sample->name, p->name, text);
    }
    outcome_free(&want);
    outcome_free(&got);
    code_free(&code);
    vyre_program_release(program);
}

static void every_width_gives_the_bits_of_the_oracle(void **state) {
    (void)state;
    for (unsigned k = 0; processor_at(k); k += VY_SANITIZED ? 3 : 1) /* LLVM, and what it makes, has none inside */
        for (unsigned i = 0; i < SAMPLES && processor_is_here(processor_at(k)); i++)
            compare(&samples[i], processor_at(k));
}

/* ---- what is refused ---- */

static code lowered(const char *text) {
    code code = {0};
    vyre_program *program = vy_test_parse(text);
    assert_int_equal(code_lower(program, processor_at(0), &code, NULL), VYRE_OK);
    vyre_program_release(program);
    return code;
}

static void requests_that_make_no_sense_are_refused(void **state) {
    (void)state;
    code code = lowered(samples[0].text);
    const vy_jit_request good = code_request(&code, processor_at(0));
    vyre_error error = VYRE_ERROR_INIT;
    vy_jit_request r = good;
    r.width = 5;
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_UNSUPPORTED);
    r.width = 128;
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_UNSUPPORTED);
    r = good;
    r.struct_size = 8;
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_INVALID_ARGUMENT);
    r = good;
    r.name = "";
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_INVALID_ARGUMENT);
    r = good;
    r.features = 0;
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_UNSUPPORTED);
    r = good;
    r.features |= UINT64_C(1) << 63;
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "63"));
    r = good;
    r.wire.size--;
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_CORRUPT);
    r = good;
    assert_int_equal(vy_llvm_emit_text(&r, VY_JIT_TEXT_COUNT, &code.bytes, &error), VYRE_UNSUPPORTED);
    code_free(&code);
}

static void programs_of_level_source_are_refused(void **state) {
    (void)state;
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    code.legal = vy_test_parse(samples[0].text);
    assert_int_equal(vyre_wire_encode(code.legal, 0, &code.wire, NULL), VYRE_OK);
    vy_jit_request r = code_request(&code, processor_at(0));
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "legal"));
    code_free(&code);
}

static void refused_as_too_large(const char *line, size_t lines, const char *what) {
    vyre_bytes text = VYRE_BYTES_INIT;
    static const char head[] = "program big {\nlevel legal\nbuffer y : u32 read_write\nworkgroup 5\ngrid over y\n"
                               "let i = global_id.x\nif i < len(y) {\n";
    size_t at = strlen(head);
    assert_int_equal(vyre_bytes_resize(&text, at + lines * strlen(line) + 4, NULL), VYRE_OK);
    memcpy(text.data, head, at);
    for (size_t i = 0; i < lines; i++, at += strlen(line))
        memcpy((char *)text.data + at, line, strlen(line));
    memcpy((char *)text.data + at, "}\n}", 4);
    code code = lowered(text.data);
    vy_jit_request r = code_request(&code, processor_at(0));
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_LIMIT);
    if (!strstr(error.message, what))
        fail_msg("%s", error.message);
    assert_true(error.fix[0]);
    code_free(&code);
    vyre_bytes_free(&text);
}

static void programs_that_are_too_large_are_refused_before_llvm(void **state) {
    (void)state;
    refused_as_too_large("y![i] = i\n", VY_LLVM_STATEMENT_LIMIT, "statements (65538)");
    refused_as_too_large("y![i] = ((i + i) * (i + i)) ^ ((i * i) + (i * i))\n", VY_LLVM_EXPRESSION_LIMIT / 16 + 100,
                         "expressions (");
}

/* Statements and expressions may be few and each much code: what is emitted is counted before LLVM works on it. */
static void programs_that_become_too_large_are_refused(void **state) {
    (void)state;
    refused_as_too_large("y![i] = y![i * i & 1]\n", VY_LLVM_EXPRESSION_LIMIT / 8, "instructions (");
}

/* A program over LARGE_INSTRUCTIONS, with the bits it should have. */
static void large_programs_are_compiled_quickly(void **state) {
    (void)state;
    enum { LINES = 1500, LINE = 64 };
    static char text[LINES * LINE];
    int at = snprintf(text, sizeof text,
                      "program sample {\nparam a : f32\nbuffer x : u32 read\nbuffer y : u32 read_write\n"
                      "workgroup 64\ngrid over y\n" INDEX);
    for (int i = 0; i < LINES - 10; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "y[i] = y[i] * %d + (x[i] >> %d)\n", 2 * i + 3, i % 31);
    (void)snprintf(text + at, sizeof text - (size_t)at, "}\n");
    compare(&(sample){"large", text}, processor_at(5));
}

/* ---- bounds of what LLVM is given at once ---- */

/* A program with lines made of a number, behind `head`. */
static char *long_text(const char *head, const char *before, unsigned lines, const char *between, const char *after) {
    vy_string text = {0};
    vy_string_add(&text, "program sample {\nparam a : f32\nbuffer x : u32 read\nbuffer y : u32 read_write\n"
                         "workgroup 64\ngrid over y\n" INDEX "var v = y[i]\n");
    vy_string_add(&text, head);
    for (unsigned k = 0; k < lines; k++)
        vy_string_format(&text, "%s%u%s%u%s\n", before, k, between, k, after);
    vy_string_add(&text, "y[i] = v\n}\n");
    assert_false(text.failed);
    return text.text;
}

static char *ir_of(const char *text) {
    code code = lowered(text);
    vy_jit_request r = code_request(&code, processor_at(5));
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_llvm_emit_text(&r, VY_JIT_TEXT_LLVM_IR, &code.bytes, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    char *ir = malloc(code.bytes.size + 1);
    assert_non_null(ir);
    memcpy(ir, code.bytes.data, code.bytes.size);
    ir[code.bytes.size] = 0;
    code_free(&code);
    return ir;
}

/* The line after this one. AddressSanitizer reads the strings of strstr and strcspn to their end, which takes minutes
 * for every line of a long text. */
static const char *next_line(const char *line, const char *end) {
    const char *at = memchr(line, '\n', (size_t)(end - line));
    return at ? at + 1 : end;
}

static unsigned lines_with(const char *ir, const char *part) {
    unsigned count = 0;
    const char *end = ir + strlen(ir);
    for (const char *line = ir, *next; line < end; line = next) {
        next = next_line(line, end);
        count += memmem(line, (size_t)(next - line), part, strlen(part)) != NULL;
    }
    return count;
}

/* Instructions of the longest block: lines that are indented, between those that are not. */
static unsigned longest_block(const char *ir) {
    unsigned longest = 0, count = 0;
    const char *end = ir + strlen(ir);
    for (const char *line = ir; line < end; line = next_line(line, end)) {
        count = line[0] == ' ' ? count + 1 : 0;
        longest = count > longest ? count : longest;
    }
    return longest;
}

static void blocks_that_are_not_long_stay_whole(void **state) {
    (void)state;
    char *text = long_text("", "v = v * 5 + (v >> 7 ^ ", 80, ") ^ ", ""), *ir = ir_of(text);
    assert_null(strstr(ir, "never:"));
    assert_in_range(longest_block(ir), 300, VY_LLVM_BLOCK_LIMIT);
    free(ir);
    free(text);
}

/* Time of the code generator grows with the square of what a block has: blocks of any program are short. */
static void long_blocks_are_split(void **state) {
    (void)state;
    for (unsigned lines = 200; lines <= 3200; lines *= 4) {
        char *text = long_text("", "v = v * 5 + (v >> 7 ^ ", lines, ") ^ ", ""), *ir = ir_of(text);
        assert_non_null(strstr(ir, "never:"));
        assert_in_range(longest_block(ir), VY_LLVM_BLOCK_PART, 2 * VY_LLVM_BLOCK_PART + 2);
        if (lines == 200)
            compare(&(sample){"long block", text}, processor_at(5));
        free(ir);
        free(text);
    }
}

/* Blocks of loops, with phis, and the first block, with variables. */
static void split_blocks_of_loops_give_the_bits_of_the_oracle(void **state) {
    (void)state;
    vy_string text = {0};
    vy_string_add(&text, "program sample {\nparam a : f32\nbuffer x : u32 read\nbuffer y : u32 read_write\n"
                         "workgroup 64\ngrid over y\narray s : u32 [64] private\n" INDEX
                         "var v = y[i]\nfor k in 0u32 .. (x[i] & 3) {\nif v == 5 { break }\n");
    for (unsigned k = 0; k < 400; k++)
        vy_string_format(&text, "v = (v ^ k) * %u + s[v & 63]\ns[v >> 26] = v\n", 2 * k + 3);
    vy_string_add(&text, "}\ny[i] = v\n}\n");
    assert_false(text.failed);
    for (unsigned k = 0; processor_at(k); k += 3)
        if (processor_is_here(processor_at(k)))
            compare(&(sample){"long loop", text.text}, processor_at(k));
    vy_string_free(&text);
}

/* Variables of which values are copied from block to block, blocks: 2 of 3, and those of another function. */
static void the_work_of_promotion_is_variables_times_blocks(void **state) {
    (void)state;
    static const char ir[] =
        "define void @f(ptr %p, i1 %c) {\n  %a = alloca i32\n  %b = alloca i32\n  %once = alloca i32\n"
        "  %near = alloca i32\n  store i32 1, ptr %a\n  store i32 2, ptr %b\n  store i32 3, ptr %once\n"
        "  store i32 4, ptr %near\n  store i32 5, ptr %near\n  br i1 %c, label %x, label %y\nx:\n"
        "  store i32 6, ptr %a\n  store i32 7, ptr %b\n  br label %y\ny:\n  %r = load i32, ptr %a\n"
        "  %s = load i32, ptr %b\n  %t = load i32, ptr %once\n  ret void\n}\n"
        "declare void @g()\n"
        "define void @h(ptr %p, i1 %c) {\n  %a = alloca i32\n  store i32 1, ptr %a\n  br label %x\nx:\n"
        "  store i32 2, ptr %a\n  ret void\n}\n";
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = NULL;
    char *words = NULL;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, sizeof ir - 1, "work");
    assert_false(LLVMParseIRInContext(context, buffer, &module, &words));
    assert_int_equal(vy_llvm_promotion_work(module), 2 * 3 + 1 * 2);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
}

/* sroa takes variables times blocks: where that is too much they stay in memory, and the bits are the same. */
static void variables_of_many_loops_stay_in_memory(void **state) {
    (void)state;
    enum { MANY = 2000 };
    char *few = long_text("if i > 9 { return }\n", "for k_", 20, " in 0u32 .. (v & 3) { v = v * 3 + k_", " }"),
         *ir = ir_of(few);
    assert_null(strstr(ir, "= alloca"));
    free(ir);
    free(few);
    char *many = long_text("if i > 9 { return }\n", "for k_", MANY, " in 0u32 .. (v & 3) { v = v * 3 + k_", " }");
    ir = ir_of(many);
    assert_true(lines_with(ir, " = alloca ") > MANY);
    compare(&(sample){"many loops", many}, processor_at(5));
    free(ir);
    free(many);
}

/* ---- failures ---- */

/* An object, or a text. */
static vyre_status make_any(const vy_jit_request *request, int text, vyre_bytes *out, vyre_error *error) {
    return text < 0 ? vy_llvm_compile(request, out, error) : vy_llvm_emit_text(request, (vy_jit_text)text, out, error);
}

static void fail_every_check(const vy_jit_request *request, int text, unsigned least) {
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error first = VYRE_ERROR_INIT;
    /* A job that fails leaves no machine behind: the next one makes its own. */
    (void)vy_llvm_fail_check(1);
    assert_int_equal(make_any(request, text, &out, &first), VYRE_UNSUPPORTED);
    (void)vy_llvm_fail_check(0);
    assert_int_equal(make_any(request, text, &out, NULL), VYRE_OK);
    unsigned checks = vy_llvm_fail_check(0);
    assert_true(checks >= least);
    for (unsigned k = 1; k <= checks; k++) {
        vyre_error error = VYRE_ERROR_INIT;
        (void)vy_llvm_fail_check(k);
        assert_int_equal(make_any(request, text, &out, &error), VYRE_UNSUPPORTED);
        assert_non_null(strstr(error.message, "LLVM does not"));
        assert_true(error.fix[0]);
        assert_int_equal(out.size, 0);
    }
    (void)vy_llvm_fail_check(0);
    assert_int_equal(make_any(request, text, &out, NULL), VYRE_OK);
    vyre_bytes_free(&out);
}

/* The target is looked up, a machine made, the module verified, optimised, and code generated, or printed. */
static void every_call_of_llvm_may_fail(void **state) {
    (void)state;
    code code = lowered(samples[0].text);
    vy_jit_request r = code_request(&code, processor_at(0));
    for (int text = -1; text < VY_JIT_TEXT_COUNT; text++)
        fail_every_check(&r, text, 5);
    code_free(&code);
}

static vyre_status compile_once(void *user) {
    const vy_jit_request *request = user;
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vy_llvm_compile(request, &out, &error);
    vyre_bytes_free(&out);
    return status;
}

static void memory_may_run_out(void **state) {
    (void)state;
    code code = lowered(samples[1].text);
    vyre_bytes wire = code.wire;
    void *copy = malloc(wire.size);
    memcpy(copy, wire.data, wire.size);
    size_t size = wire.size;
    code_free(&code);
    vy_jit_request r = code_request(&code, processor_at(0));
    r.wire = (vyre_span){copy, size};
    r.width = 0; /* to be chosen, which takes memory, too */
    assert_int_equal(compile_once(&r), VYRE_OK);
    vy_fault_install();
    assert_true(VY_FAULT_LOOP(compile_once, &r) > 3);
    vy_fault_remove();
    free(copy);
}

/* A module that no code can be made of: the intrinsic is of another processor. */
static vyre_status work_that_is_fatal(vy_llvm_session *job, void *user) {
    (void)user;
    vyre_status status = vy_llvm_machine_make(job);
    if (status != VYRE_OK)
        return status;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(job->context), type = LLVMFunctionType(i32, NULL, 0, 0);
    LLVMValueRef callee = LLVMAddFunction(job->module, "llvm.nvvm.read.ptx.sreg.tid.x", type);
    LLVMValueRef function = LLVMAddFunction(job->module, "kernel", type);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(job->context);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(job->context, function, ""));
    LLVMBuildRet(builder, LLVMBuildCall2(builder, type, callee, NULL, 0, ""));
    LLVMDisposeBuilder(builder);
    char *words = NULL;
    int failed = LLVMTargetMachineEmitToMemoryBuffer(job->machine, job->module, LLVMObjectFile, &words, &job->made);
    return vy_llvm_check(job, !failed, "reach this", words);
}

/* What LLVM held at a fatal error is lost, and a sanitizer need not say so. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void fatal_errors_of_llvm_are_errors(void **state) {
    (void)state;
    code code = lowered(samples[0].text);
    vy_jit_request r = code_request(&code, processor_at(0));
    vyre_error error = VYRE_ERROR_INIT;
    vy_llvm_session job = {.request = &r, .program = code.legal, .error = &error};
    if (__lsan_disable)
        __lsan_disable();
    vyre_status status = vy_llvm_session_run(&job, work_that_is_fatal, NULL);
    if (__lsan_enable)
        __lsan_enable();
    assert_int_equal(status, VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "LLVM failed: "));
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, NULL), VYRE_OK); /* and it goes on */
    code_free(&code);
}

/* ---- objects and texts ---- */

static void the_same_program_gives_the_same_object(void **state) {
    (void)state;
    code code = lowered(samples[3].text);
    vyre_bytes again = VYRE_BYTES_INIT;
    vy_jit_request r = code_request(&code, processor_at(0));
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, NULL), VYRE_OK);
    assert_int_equal(vy_llvm_compile(&r, &again, NULL), VYRE_OK);
    assert_int_equal(code.bytes.size, again.size);
    assert_memory_equal(code.bytes.data, again.data, again.size);
    vyre_bytes_free(&again);
    code_free(&code);
}

static void objects_say_what_they_are(void **state) {
    (void)state;
    code code = lowered(samples[4].text);
    vy_jit_request r = code_request(&code, processor_at(0));
    vy_cpu_header header;
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, NULL), VYRE_OK);
    memcpy(&header, code.bytes.data, sizeof header);
    assert_memory_equal(header.magic, VY_CPU_MAGIC, 8);
    assert_int_equal(header.format, VY_CPU_FORMAT);
    assert_int_equal(header.width, r.width);
    assert_true(header.features == r.features);
    assert_int_equal(header.code_bytes, code.bytes.size - sizeof header);
    assert_true(header.entry < header.code_bytes);
    assert_true(header.workgroup_bytes >= 48 * 4);
    code_free(&code);
}

/* Values that are all alive in a loop: no processor has so many registers. */
static char *many_values(unsigned count) {
    vy_string text = {0};
    vy_string_add(
        &text, "program many { buffer x : u32 read\n buffer y : f64 write count len(x)\n workgroup 64\n grid over x\n"
               " let i = global_id.x\n");
    for (unsigned i = 0; i < count; i++)
        vy_string_format(&text, " let v%u = f64(x[i + %u])\n", i, i);
    vy_string_add(&text, " var s = 0.0f64\n var r = 0u32\n while r < (x[0] & 3) + 1 {\n  r = r + 1\n");
    for (unsigned i = 0; i < count; i++)
        vy_string_format(&text, "  s = s * 0.5 + v%u\n", i);
    vy_string_add(&text, " }\n y[i] = s\n}\n");
    assert_false(text.failed);
    return text.text;
}

static void objects_say_how_much_stack_they_need(void **state) {
    enum { VALUES = 40 }; /* more of them take LLVM minutes for 64 lanes without AVX */
    (void)state;
    uint32_t x[64 + VALUES];
    for (uint32_t i = 0; i < 64 + VALUES; i++)
        x[i] = i * 2654435761u;
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    char *text = many_values(VALUES);
    vyre_program *program = vy_test_parse(text);
    outcome want, got;
    outcome_of_oracle(program, &arguments, &want);
    for (unsigned i = 0; processor_at(i); i++) {
        const processor *p = processor_at(i);
        code code = {0};
        vyre_error error = VYRE_ERROR_INIT;
        if (!processor_is_here(p) || (VY_SANITIZED && p->width == 64 && p->features == SSE_FEATURES))
            continue; /* LLVM takes longest for these, and has no sanitizer inside */
        if (code_make(program, p, &code, &error) != VYRE_OK)
            fail_msg("%s: %s", p->name, error.message);
        if (p->width == 64) /* 32 registers of 64 bytes hold a few of them */
            assert_in_range(code.object.header.stack_bytes, VALUES * 512 - 32 * 64, 4 * VALUES * 512);
        outcome_of_code(&code, &arguments, &got); /* which looks whether it needs no more */
        if (outcome_differs(&want, &got))
            fail_msg("%s: %s", p->name, outcome_differs(&want, &got));
        outcome_free(&got);
        code_free(&code);
    }
    outcome_free(&want);
    vyre_program_release(program);
    free(text);
}

static void code_that_needs_too_much_stack_is_refused(void **state) {
    (void)state;
    char *text = many_values(40);
    code code = lowered(text);
    vy_jit_request r = code_request(&code, processor_at(7));
    vyre_error error = VYRE_ERROR_INIT;
    r.name = "many";
    vy_llvm_limit_stack(VY_CPU_STACK_SMALL);
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_LIMIT);
    assert_non_null(strstr(error.message, "`many` with 64 lanes"));
    assert_non_null(strstr(error.message, "16384"));
    assert_non_null(strstr(error.fix, "VYRE_CPU_WIDTH"));
    vy_llvm_limit_stack(0);
    assert_int_equal(vy_llvm_compile(&r, &code.bytes, &error), VYRE_OK);
    code_free(&code);
    free(text);
}

/* Whatever a program is called, the function is found: names of ours are not names of programs. */
static void any_name_will_do(void **state) {
    static const char *const names[] = {"work", "main", "memcpy", "llvm", "a", "with space", "\xc3\xa4"};
    (void)state;
    code code = lowered(samples[1].text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        vy_jit_request r = code_request(&code, processor_at(0));
        vyre_error error = VYRE_ERROR_INIT;
        r.name = names[i];
        if (vy_llvm_compile(&r, &code.bytes, &error) != VYRE_OK)
            fail_msg("`%s`: %s", names[i], error.message);
    }
    code_free(&code);
}

static int text_has(const vyre_bytes *text, const char *part) {
    return memmem(text->data, text->size, part, strlen(part)) != NULL;
}

static void texts_have_the_function(void **state) {
    (void)state;
    code code = lowered(samples[0].text);
    vy_jit_request r = code_request(&code, processor_at(0));
    vyre_bytes text = VYRE_BYTES_INIT;
    assert_int_equal(vy_llvm_emit_text(&r, VY_JIT_TEXT_LLVM_IR, &text, NULL), VYRE_OK);
    assert_true(text_has(&text, "define void @kernel("));
    assert_int_equal(vy_llvm_emit_text(&r, VY_JIT_TEXT_ASM, &text, NULL), VYRE_OK);
    assert_true(text_has(&text, "\nkernel:"));
    vyre_bytes_free(&text);
    code_free(&code);
}

/* ---- threads ---- */

typedef struct worker {
    pthread_t thread;
    vy_jit_request request;
    vyre_bytes out;
    vyre_status status;
} worker;

static void *compile_some(void *user) {
    worker *w = user;
    for (int i = 0; i < 5 && w->status == VYRE_OK; i++)
        w->status = vy_llvm_compile(&w->request, &w->out, NULL);
    return NULL;
}

static void threads_compile_at_once(void **state) {
    enum { WORKERS = 4 };
    (void)state;
    worker workers[WORKERS] = {0};
    code codes[2] = {lowered(samples[0].text), lowered(samples[3].text)};
    for (int i = 0; i < WORKERS; i++) {
        workers[i].request = code_request(&codes[i % 2], processor_at(0));
        assert_int_equal(pthread_create(&workers[i].thread, NULL, compile_some, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].status, VYRE_OK);
        assert_int_equal(workers[i].out.size, workers[i % 2].out.size);
        assert_memory_equal(workers[i].out.data, workers[i % 2].out.data, workers[i].out.size);
    }
    for (int i = 0; i < WORKERS; i++)
        vyre_bytes_free(&workers[i].out);
    code_free(&codes[0]);
    code_free(&codes[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_gives_the_bits_of_the_oracle),
        cmocka_unit_test(requests_that_make_no_sense_are_refused),
        cmocka_unit_test(programs_of_level_source_are_refused),
        cmocka_unit_test(programs_that_are_too_large_are_refused_before_llvm),
        cmocka_unit_test(programs_that_become_too_large_are_refused),
        cmocka_unit_test(large_programs_are_compiled_quickly),
        cmocka_unit_test(blocks_that_are_not_long_stay_whole),
        cmocka_unit_test(long_blocks_are_split),
        cmocka_unit_test(split_blocks_of_loops_give_the_bits_of_the_oracle),
        cmocka_unit_test(the_work_of_promotion_is_variables_times_blocks),
        cmocka_unit_test(variables_of_many_loops_stay_in_memory),
        cmocka_unit_test(every_call_of_llvm_may_fail),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(fatal_errors_of_llvm_are_errors),
        cmocka_unit_test(the_same_program_gives_the_same_object),
        cmocka_unit_test(objects_say_what_they_are),
        cmocka_unit_test(objects_say_how_much_stack_they_need),
        cmocka_unit_test(code_that_needs_too_much_stack_is_refused),
        cmocka_unit_test(any_name_will_do),
        cmocka_unit_test(texts_have_the_function),
        cmocka_unit_test(threads_compile_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
