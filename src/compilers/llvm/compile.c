/* Compiling with LLVM: decode, bound the compile time, emit, optimise, generate, link; assembly listings
 * (compile.h). Invariant: the result depends on the request only. */
#include "compilers/llvm/compile.h"

#include "backends/cpu/compiler.h"
#include "base/diagnostics.h"
#include "base/status.h"
#include "base/string.h"
#include "compilers/llvm/blob_link.h"
#include "compilers/llvm/llvm_session.h"
#include "emit/llvm/emitter.h"
#include "ir/build/builder_internal.h"
#include "ir/model.h"
#include "vyre/base.h"

#include <inttypes.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Above this number of instructions, code generation uses level 0: at its default level LLVM's time is quadratic in
 * the size. */
enum { LARGE_INSTRUCTIONS = 1 << 15 };

/* Above this promotion work (vy_llvm_promotion_work), variables are not promoted to registers. One unit costs 25 ns. */
enum { HUGE_PROMOTION_WORK = 1 << 24 };

/* ---- assembly listings ---- A line filter: LLVM's printer writes one directive, label or instruction per line. */

#if defined(__aarch64__)
#define COMMENT "//"
#else
#define COMMENT "#"
#endif

typedef struct lister {
    const vy_source *source;
    uint32_t line; /* the last one shown */
    int skips;     /* in a debug section */
    vy_string out;
} lister;

static int starts(const char *text, size_t size, const char *with) {
    size_t length = strlen(with);
    return size >= length && memcmp(text, with, length) == 0;
}

/* "\t.loc\t1 12 3 …": shows the source line, without its indentation. Line 0 means several lines, or none. */
static void show_place(lister *l, const char *text, size_t size) {
    char words[64];
    unsigned file;
    uint32_t line;
    size_t length;
    snprintf(words, sizeof words, "%.*s", (int)(size < sizeof words ? size : sizeof words - 1), text);
    if (sscanf(words, " .loc %u %" SCNu32, &file, &line) != 2 || !line || line == l->line)
        return;
    const char *source = vy_source_line(l->source, line, &length);
    l->line = line;
    while (length && (*source == ' ' || *source == '\t')) {
        source++;
        length--;
    }
    vy_string_format(&l->out, COMMENT " %s:%" PRIu32 "%s%.*s\n", vy_source_name(l->source), line, length ? "  " : "",
                     (int)length, source ? source : "");
}

/* Directives for debuggers, and labels that only those use. */
static int is_for_debuggers(const char *text, size_t size) {
    static const char *const starts_of[] = {"\t.file\t", "\t.cfi_", ".Ltmp"};
    for (size_t i = 0; i < sizeof starts_of / sizeof *starts_of; i++)
        if (starts(text, size, starts_of[i]))
            return 1;
    return 0;
}

static void append_line(lister *l, const char *text, size_t size) {
    if (starts(text, size, "\t.section\t"))
        l->skips = starts(text, size, "\t.section\t.debug_");
    else if (starts(text, size, "\t.text"))
        l->skips = 0;
    if (l->skips || is_for_debuggers(text, size))
        return;
    if (starts(text, size, "\t.loc\t"))
        show_place(l, text, size);
    else
        vy_string_format(&l->out, "%.*s\n", (int)size, text);
}

/* Replaces the contents of out by LLVM's assembly, with the source lines of .loc directives as comments and without
 * other debug directives. The result can be assembled. VYRE_NO_MEMORY. */
static vyre_status listing(const char *text, size_t size, const vy_source *source, vyre_bytes *out, vyre_error *error) {
    lister l = {.source = source};
    for (const char *end = text + size; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        append_line(&l, text, length);
        text += length + 1;
    }
    vyre_status status =
        l.out.failed ? vy_fail_memory(error, "an assembly listing") : vyre_bytes_resize(out, l.out.length, error);
    if (status == VYRE_OK && l.out.length)
        memcpy(out->data, l.out.text, l.out.length);
    vy_string_free(&l.out);
    return status;
}

/* ---- compiling ---- */

/* A short pipeline, since programs are already optimised: promotion to registers, common subexpressions,
 * loop-invariant code, dead code. No pass that creates library calls (loop-idiom creates memset and memcpy), and no
 * vectoriser: the emitter has vectorised. early-cse finds dead stores; dse would find no more, at a higher cost.
 * instcombine would end the process if one iteration did not reach a fixed point, hence no-verify-fixpoint. */
#define COMBINE "instcombine<no-verify-fixpoint>"
#define PASSES                                                                                                         \
    "function(sroa,early-cse<memssa>,simplifycfg," COMBINE ",loop-mssa(loop-rotate,licm),gvn," COMBINE ",simplifycfg)"

/* early-cse first, so that few variables remain that are stored and loaded within one block: sroa scans the block
 * for each of them. */
#define LARGE_PASSES "function(early-cse,sroa)"

/* Variables stay in memory. */
#define HUGE_PASSES "function(early-cse)"

/* The requested output of a compilation. */
typedef struct product {
    LLVMCodeGenFileType file;
    int is_ir; /* text of the module instead of a file */
    vyre_bytes *out;
} product;

/* ---- time ---- */

/* CPU time of this thread, which excludes the time of other threads. */
static uint64_t clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Records the time of the step that began at *since; the next one begins now. */
static void end_step(const vy_jit_request *request, vy_jit_step step, uint64_t *since) {
    if (!request->times)
        return;
    uint64_t end = clock_now();
    request->times[step] = end - *since;
    *since = end;
}

static void begin_step(const vy_jit_request *request, vy_jit_step step, uint32_t width) {
    if (request->begin)
        request->begin(request->begin_user, step, width);
}

/* ---- before LLVM ---- */

static int is_power_of_two(uint32_t n) {
    return n && !(n & (n - 1));
}

static vyre_status check_request(const vy_jit_request *request, vyre_error *error) {
    if (request->struct_size < sizeof *request || !request->name || !request->name[0])
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use a compiler of the library's version",
                       "the request to the compiler is incomplete");
    if (request->width && (!is_power_of_two(request->width) || request->width < 4 || request->width > VY_CPU_WIDTH_MAX))
        return vy_fail(error, VYRE_UNSUPPORTED, "use 4, 8, 16, 32 or 64 lanes",
                       "the compiler does not make code with %u lanes", (unsigned)request->width);
    return VYRE_OK;
}

static vyre_status check_size(uint64_t count, uint64_t limit, const char *what, vyre_error *error) {
    if (count <= limit)
        return VYRE_OK;
    return vy_fail(error, VYRE_LIMIT, "split the program into several, or unroll less",
                   "the program has more %s (%llu) than the compiler accepts (%llu)", what, (unsigned long long)count,
                   (unsigned long long)limit);
}

static vyre_status check_program(const vyre_program *program, vyre_error *error) {
    if (program->level != VYRE_LEVEL_LEGAL || !vy_program_has_entry(program) ||
        program->facts & (VY_PROGRAM_HAS_CALL | VY_PROGRAM_HAS_OP_CALL))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "legalise it for the target first",
                       "the program `%s` is not of level legal, or calls functions", vyre_program_name(program));
    if (program->facts & VY_PROGRAM_HAS_GRID_BARRIER)
        return vy_fail(error, VYRE_UNSUPPORTED, "split it at its grid barriers, and legalise the parts",
                       "the program `%s` has grid barriers, where workgroups of one call cannot wait for each other",
                       vyre_program_name(program));
    vyre_status status = check_size(program->stmts.count, VY_LLVM_STATEMENT_LIMIT, "statements", error);
    return status == VYRE_OK ? check_size(program->exprs.count, VY_LLVM_EXPRESSION_LIMIT, "expressions", error)
                             : status;
}

/* ---- LLVM ---- */

static uint64_t count_instructions(LLVMModuleRef module) {
    uint64_t count = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                count++;
    return count;
}

/* An invalid module is an error of the emitter; it is reported instead of executed. */
static vyre_status verify(vy_llvm_session *session) {
    char *words = NULL;
    int failed = LLVMVerifyModule(session->module, LLVMReturnStatusAction, &words);
    vyre_status status = vy_llvm_check(session, !failed, "accept the code of the program, which is malformed", words);
    LLVMDisposeMessage(words);
    return status;
}

static vyre_status write_module(vy_llvm_session *session) {
    vy_llvm_options options = {.width = session->width,
                               .narrow = session->narrow,
                               .register_lanes = session->target.register_lanes,
                               .name = session->request->name,
                               .errata = session->target.errata,
                               .gathers = (session->request->features & VY_CPU_FEATURE_AVX2) != 0,
                               .has_soft_fma =
                                   !(session->request->features & (VY_CPU_FEATURE_FMA | VY_CPU_FEATURE_AARCH64)),
                               .lines = session->request->lines != 0};
    vyre_status status = vy_llvm_machine_make(session);
    if (status == VYRE_OK)
        status = vy_llvm_emit(session->program, session->uniform, &options, session->module, &session->sizes,
                              session->error);
    if (status == VYRE_OK)
        status = verify(session);
    if (status != VYRE_OK)
        return status;
    uint64_t count = count_instructions(session->module);
    status = check_size(count, VY_LLVM_INSTRUCTION_LIMIT, "instructions", session->error);
    session->is_huge = vy_llvm_promotion_work(session->module) > HUGE_PROMOTION_WORK;
    session->is_large = session->is_huge || count > LARGE_INSTRUCTIONS;
    if (status == VYRE_OK && session->is_large)
        status = vy_llvm_machine_make(session);
    if (status == VYRE_OK)
        vy_llvm_machine_mark(session);
    return status;
}

static vyre_status optimise(vy_llvm_session *session) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    const char *passes = session->is_huge ? HUGE_PASSES : session->is_large ? LARGE_PASSES : PASSES;
    LLVMErrorRef failure = LLVMRunPasses(session->module, passes, session->machine, options);
    LLVMDisposePassBuilderOptions(options);
    char *words = failure ? LLVMGetErrorMessage(failure) : NULL;
    vyre_status status = vy_llvm_check(session, !failure, "optimise the program", words);
    if (words)
        LLVMDisposeErrorMessage(words);
    if (status == VYRE_OK) {
        vy_llvm_errata_rewrite(session->module, session->target.errata);
        vy_llvm_split_blocks(session->module);
    }
    return status;
}

static vyre_status generate(vy_llvm_session *session, LLVMCodeGenFileType file) {
    char *words = NULL;
    int failed = LLVMTargetMachineEmitToMemoryBuffer(session->machine, session->module, file, &words, &session->made);
    vyre_status status = vy_llvm_check(session, !failed, "generate code for the program", words);
    if (words)
        LLVMDisposeMessage(words);
    return status;
}

/* ---- output ---- */

static vyre_status copy_out(const void *data, size_t size, vyre_bytes *out, vyre_error *error) {
    vyre_status status = vyre_bytes_resize(out, size, error);
    if (status == VYRE_OK && size)
        memcpy(out->data, data, size);
    return status;
}

static vyre_status output_ir(vy_llvm_session *session, vyre_bytes *out) {
    char *text = LLVMPrintModuleToString(session->module);
    vyre_status status = vy_llvm_check(session, text != NULL, "print the program", NULL);
    if (status == VYRE_OK)
        status = copy_out(text, strlen(text), out, session->error);
    LLVMDisposeMessage(text);
    return status;
}

static vyre_status output_assembly(vy_llvm_session *session, vyre_bytes *out) {
    const char *text = LLVMGetBufferStart(session->made);
    size_t size = LLVMGetBufferSize(session->made);
    return session->request->lines ? listing(text, size, session->program->source, out, session->error)
                                   : copy_out(text, size, out, session->error);
}

/* Stack in addition to the frames that LLVM reports: return addresses, frame alignment, and arguments that the entry
 * pushes (one word for each buffer, and a few more). */
enum { STACK_BESIDE_FRAMES = 4096 };
_Static_assert(8 * (VY_LIMIT_BUFFERS + 16) + 4 * 64 <= STACK_BESIDE_FRAMES, "pushed arguments need more stack");

static _Thread_local uint64_t stack_limit; /* for tests; 0: none */

void vy_llvm_limit_stack(uint64_t bytes) {
    stack_limit = bytes;
}

/* An upper bound of the stack: the entry calls one of the other functions, and none is recursive. */
static vyre_status find_stack_need(const vy_llvm_session *session, uint64_t *out) {
    uint64_t limit = stack_limit ? stack_limit : VY_CPU_STACK_LIMIT;
    *out = session->stack_bytes + STACK_BESIDE_FRAMES;
    if (*out <= limit)
        return VYRE_OK;
    vy_llvm_blame_width();
    return vy_fail(
        session->error, VYRE_LIMIT,
        "set VYRE_CPU_WIDTH to fewer lanes, or split the program so that fewer values are live simultaneously",
        "the code of `%s` with %u lanes needs more stack (%llu bytes) than the limit (%llu)", session->request->name,
        (unsigned)session->width, (unsigned long long)*out, (unsigned long long)limit);
}

static vyre_status output_object(const vy_llvm_session *session, const vy_linked_blob *flat, vyre_bytes *out) {
    const uint32_t *size = session->program->workgroup;
    uint64_t stack_bytes;
    vyre_status status = find_stack_need(session, &stack_bytes);
    if (status != VYRE_OK)
        return status;
    vy_cpu_header header = {.format = VY_CPU_FORMAT,
                            .width = session->width,
                            .features = session->request->features,
                            .entry = flat->entry,
                            .code_bytes = flat->code.size,
                            .file_bytes = flat->file.size,
                            .workgroup_bytes = session->sizes.workgroup_bytes,
                            .spill_bytes = session->sizes.spill_bytes,
                            .stack_bytes = stack_bytes,
                            .invocations = size[0] * size[1] * size[2],
                            .parts = session->sizes.parts,
                            .narrow_parts = session->sizes.narrow_parts,
                            .private_count = session->sizes.private_count};
    memcpy(header.privates, session->sizes.privates, sizeof header.privates);
    memcpy(header.magic, VY_CPU_MAGIC, sizeof header.magic);
    status = vyre_bytes_resize(out, sizeof header + flat->code.size + flat->file.size, session->error);
    if (status == VYRE_OK) {
        memcpy(out->data, &header, sizeof header);
        memcpy((uint8_t *)out->data + sizeof header, flat->code.data, flat->code.size);
        if (flat->file.size)
            memcpy((uint8_t *)out->data + sizeof header + flat->code.size, flat->file.data, flat->file.size);
    }
    return status;
}

static vyre_status output_blob(vy_llvm_session *session, vyre_bytes *out) {
    vy_linked_blob flat = {0};
    vyre_status status = vy_blob_link(LLVMGetBufferStart(session->made), LLVMGetBufferSize(session->made),
                                      session->request->name, session->request->lines != 0, &flat, session->error);
    if (status == VYRE_OK)
        status = output_object(session, &flat, out);
    vy_linked_blob_free(&flat);
    return status;
}

static vyre_status make_product(vy_llvm_session *session, void *user) {
    const product *product = user;
    uint64_t since = clock_now();
    begin_step(session->request, VY_JIT_STEP_EMIT, session->width);
    vyre_status status = write_module(session);
    end_step(session->request, VY_JIT_STEP_EMIT, &since);
    begin_step(session->request, VY_JIT_STEP_OPTIMISE, session->width);
    if (status == VYRE_OK)
        status = optimise(session);
    end_step(session->request, VY_JIT_STEP_OPTIMISE, &since);
    if (status == VYRE_OK && product->is_ir)
        return output_ir(session, product->out);
    begin_step(session->request, VY_JIT_STEP_GENERATE, session->width);
    if (status == VYRE_OK)
        status = generate(session, product->file);
    end_step(session->request, VY_JIT_STEP_GENERATE, &since);
    if (status == VYRE_OK)
        status = product->file == LLVMObjectFile ? output_blob(session, product->out)
                                                 : output_assembly(session, product->out);
    end_step(session->request, VY_JIT_STEP_FLATTEN, &since);
    return status;
}

/* ---- entry points ---- */

static vyre_status make(const vy_jit_request *request, product *product, vyre_error *error) {
    vyre_program *program = NULL;
    product->out->size = 0;
    vyre_status status = check_request(request, error);
    uint64_t since = clock_now();
    begin_step(request, VY_JIT_STEP_DECODE, request->width);
    if (status == VYRE_OK)
        status = vy_wire_decode_trusted(request->wire.data, request->wire.size, &program, error);
    if (status == VYRE_OK)
        status = check_program(program, error);
    if (status == VYRE_OK) {
        vy_llvm_session session = {.request = request,
                                   .program = program,
                                   .target = vy_cpu_target(request->features, 0),
                                   .width = request->width,
                                   .error = error};
        status = vy_uniform_make_with_uniform_polls(program, &session.uniform, error);
        if (status == VYRE_OK && !session.width)
            status =
                vy_llvm_choose_width(program, session.uniform, &session.target, &session.width, &session.narrow, error);
        end_step(request, VY_JIT_STEP_DECODE, &since);
        if (status == VYRE_OK)
            status = vy_llvm_session_run(&session, make_product, product);
        vy_uniform_free(session.uniform);
    }
    vyre_program_release(program);
    return status;
}

vyre_status vy_llvm_compile(const vy_jit_request *request, vyre_bytes *out, vyre_error *error) {
    return make(request, &(product){.file = LLVMObjectFile, .out = out}, error);
}

vyre_status vy_llvm_emit_text(const vy_jit_request *request, vy_jit_text text, vyre_bytes *out, vyre_error *error) {
    if (text >= VY_JIT_TEXT_COUNT)
        return vy_fail(error, VYRE_UNSUPPORTED, "request llvm-ir or asm", "the compiler has no text %d", (int)text);
    return make(request, &(product){.file = LLVMAssemblyFile, .is_ir = text == VY_JIT_TEXT_LLVM_IR, .out = out}, error);
}

/* Bounds on compile time: splitting of long blocks, and an estimate of the work of promotion (compile.h). */
/* ---- long blocks ---- */

static LLVMContextRef context_of(LLVMValueRef function) {
    return LLVMGetModuleContext(LLVMGetGlobalParent(function));
}

static unsigned block_length(LLVMBasicBlockRef block) {
    unsigned count = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
        count++;
    return count;
}

/* Redirects all jumps to `from` to `to`. */
static void retarget(LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
    LLVMUseRef use;
    while ((use = LLVMGetFirstUse(LLVMBasicBlockAsValue(from)))) {
        LLVMValueRef jump = LLVMGetUser(use);
        for (unsigned i = 0; i < LLVMGetNumSuccessors(jump); i++)
            if (LLVMGetSuccessor(jump, i) == from)
                LLVMSetSuccessor(jump, i, to);
    }
}

/* Phis must begin a block. Allocas must be in the entry block, where they are part of the frame. */
static int stays_in_front(LLVMValueRef instruction) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    return opcode == LLVMPHI || opcode == LLVMAlloca;
}

/* Moves the first part of a block to a new block before it and returns its number of instructions. The rest keeps
 * the terminator, so that phis of successors stay valid. The two parts are joined by a conditional branch that
 * always goes one way: the code generator would merge blocks joined by a plain jump, and it cannot know that a frame
 * is never NULL. */
static unsigned split_front(LLVMBuilderRef builder, LLVMBasicBlockRef block, LLVMBasicBlockRef never) {
    LLVMValueRef function = LLVMGetBasicBlockParent(block);
    LLVMBasicBlockRef front = LLVMInsertBasicBlockInContext(context_of(function), block, "");
    LLVMValueRef frame = LLVMGetParam(function, 0), i = LLVMGetFirstInstruction(block), next;
    unsigned moved = 0;
    retarget(block, front);
    LLVMPositionBuilderAtEnd(builder, front);
    for (; moved < VY_LLVM_BLOCK_PART || stays_in_front(i); i = next, moved++) {
        next = LLVMGetNextInstruction(i);
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(builder, i);
    }
    LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntEQ, frame, LLVMConstNull(LLVMTypeOf(frame)), ""), never,
                    block);
    return moved;
}

static LLVMBasicBlockRef make_return(LLVMBuilderRef builder, LLVMValueRef function) {
    LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(context_of(function), function, "never");
    LLVMPositionBuilderAtEnd(builder, block);
    LLVMBuildRetVoid(builder);
    return block;
}

static void split_function(LLVMBuilderRef builder, LLVMValueRef function) {
    LLVMBasicBlockRef never = NULL;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
        unsigned count = block_length(b);
        if (count <= VY_LLVM_BLOCK_LIMIT)
            continue;
        never = never ? never : make_return(builder, function);
        while (count > 2 * VY_LLVM_BLOCK_PART)
            count -= split_front(builder, b, never);
    }
}

void vy_llvm_split_blocks(LLVMModuleRef module) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        split_function(builder, f);
    LLVMDisposeBuilder(builder);
}

/* ---- promotion ---- */

/* Whether sroa tracks a variable across blocks. A variable that is used in one block, or stored once, is replaced
 * directly. */
static int is_followed(LLVMValueRef variable) {
    LLVMBasicBlockRef first = NULL;
    unsigned stores = 0;
    int is_spread = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(variable); use && (stores < 2 || !is_spread); use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        LLVMBasicBlockRef block = LLVMGetInstructionParent(user);
        stores += LLVMGetInstructionOpcode(user) == LLVMStore;
        is_spread |= first && block != first;
        first = block;
    }
    return stores > 1 && is_spread;
}

/* All allocas are in the entry block. */
static uint64_t count_followed(LLVMValueRef function) {
    uint64_t count = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)); i; i = LLVMGetNextInstruction(i))
        count += LLVMGetInstructionOpcode(i) == LLVMAlloca && is_followed(i);
    return count;
}

uint64_t vy_llvm_promotion_work(LLVMModuleRef module) {
    uint64_t work = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            work += count_followed(f) * LLVMCountBasicBlocks(f);
    return work;
}
