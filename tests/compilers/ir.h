/* Compiles LLVM IR to code in memory. What LLVM refuses ends the process with a line on standard output. */
#ifndef VY_TESTS_COMPILERS_IR_H
#define VY_TESTS_COMPILERS_IR_H

#include "base/cpu_features.h"
#include "compilers/llvm/blob_link.h"
#include "emit/llvm/emitter.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IR_REFUSED = 3, IR_UNLINKED = 4 }; /* exit codes; unlinked: the code refers to what is not in it */

typedef struct ir_code {
    void *memory, *entry;
    size_t size;
} ir_code;

static inline void ir_stop_if(int failed, const char *what, const char *words) {
    if (!failed)
        return;
    printf("%s: %s\n", what, words ? words : "");
    fflush(stdout);
    _exit(IR_REFUSED);
}

static inline LLVMTargetMachineRef ir_machine(uint64_t features) {
    char names[512] = "", *words = NULL;
    LLVMTargetRef target = NULL;
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    char *triple = LLVMGetDefaultTargetTriple();
    ir_stop_if(LLVMGetTargetFromTriple(triple, &target, &words), triple, words);
    for (unsigned bit = 0; bit < 64; bit++)
        if (features >> bit & 1 && vy_cpu_feature_name(bit)[0])
            snprintf(names + strlen(names), sizeof names - strlen(names), ",+%s", vy_cpu_feature_name(bit));
    LLVMTargetMachineRef machine =
        LLVMCreateTargetMachine(target, triple, features & VY_CPU_FEATURE_X86_64 ? "x86-64" : "generic",
                                names[0] ? names + 1 : "", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
    LLVMDisposeMessage(triple);
    return machine;
}

static inline void ir_optimise(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(module, passes, machine, options);
    ir_stop_if(failure != NULL, "passes", failure ? LLVMGetErrorMessage(failure) : NULL);
    LLVMDisposePassBuilderOptions(options);
}

static inline ir_code ir_load(const vy_linked_blob *flat) {
    ir_code code = {.size = (flat->code.size + VY_BLOB_ALIGNMENT - 1) / VY_BLOB_ALIGNMENT * VY_BLOB_ALIGNMENT};
    code.memory = mmap(NULL, code.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ir_stop_if(code.memory == MAP_FAILED, "memory", NULL);
    memcpy(code.memory, flat->code.data, flat->code.size);
    ir_stop_if(mprotect(code.memory, code.size, PROT_READ | PROT_EXEC) != 0, "memory", NULL);
    code.entry = (uint8_t *)code.memory + flat->entry;
    return code;
}

/* The function `entry` of a module's text. passes "": none. avoids: rewritten as by the compiler (errata.c). */
static inline ir_code ir_compile(const char *text, const char *entry, uint64_t features, const char *passes,
                                 int avoids) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = NULL;
    LLVMMemoryBufferRef object = NULL;
    char *words = NULL;
    vy_linked_blob flat = {0};
    vyre_error error = VYRE_ERROR_INIT;
    LLVMMemoryBufferRef source = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "ir");
    ir_stop_if(LLVMParseIRInContext(context, source, &module, &words), "reading", words);
    LLVMTargetMachineRef machine = ir_machine(features);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(module, layout);
    LLVMDisposeTargetData(layout);
    if (passes[0])
        ir_optimise(module, machine, passes);
    if (avoids)
        vy_llvm_errata_rewrite(module, vy_cpu_target(features, 0).errata);
    ir_stop_if(LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &words, &object), "code", words);
    vyre_status status = vy_blob_link(LLVMGetBufferStart(object), LLVMGetBufferSize(object), entry, 0, &flat, &error);
    if (status == VYRE_UNSUPPORTED)
        _exit(IR_UNLINKED);
    ir_stop_if(status != VYRE_OK, "object", error.message);
    ir_code code = ir_load(&flat);
    vy_linked_blob_free(&flat);
    LLVMDisposeMemoryBuffer(object);
    LLVMDisposeTargetMachine(machine);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return code;
}

static inline void ir_free(ir_code *code) {
    munmap(code->memory, code->size);
}

#endif
