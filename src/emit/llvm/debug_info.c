/* Debug info: source lines of the code, for debuggers and listings. It does not change the code itself. */
#include "base/diagnostics.h"
#include "emit/llvm/emitter.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { DWARF = 4 };

/* Once in a module. */
static void add_flag(vy_emitter *e, const char *key, unsigned value) {
    if (LLVMGetModuleFlag(e->module, key, strlen(key)))
        return;
    LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, key, strlen(key),
                      LLVMValueAsMetadata(vy_llvm_number(e, 32, value)));
}

/* A program that was built, and not read, has no file; its code still has frames that can be unwound. */
void vy_llvm_debug_start(vy_emitter *e) {
    const char *name = vyre_program_name(e->program), *file_name = vy_source_name(e->program->source);
    const char *producer = "vyre";
    unsigned line = e->body->position.line;
    LLVMDIBuilderRef builder = LLVMCreateDIBuilder(e->module);
    file_name = *file_name ? file_name : name;
    LLVMMetadataRef file = LLVMDIBuilderCreateFile(builder, file_name, strlen(file_name), "", 0);
    LLVMMetadataRef unit =
        LLVMDIBuilderCreateCompileUnit(builder, LLVMDWARFSourceLanguageC99, file, producer, strlen(producer), 1, "", 0,
                                       0, "", 0, LLVMDWARFEmissionFull, 0, 0, 0, "", 0, "", 0);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(builder, file, NULL, 0, LLVMDIFlagZero);
    e->lines = LLVMDIBuilderCreateFunction(builder, unit, name, strlen(name), "", 0, file, line, type, 1, 1, line,
                                           LLVMDIFlagZero, 1);
    LLVMSetSubprogram(e->function, e->lines);
    LLVMDIBuilderFinalize(builder);
    LLVMDisposeDIBuilder(builder);
    add_flag(e, "Debug Info Version", LLVMDebugMetadataVersion());
    add_flag(e, "Dwarf Version", DWARF);
    vy_llvm_line_set(e, LLVMDIBuilderCreateDebugLocation(e->context, line, 0, e->lines, NULL));
}

void vy_llvm_line_set(vy_emitter *e, LLVMMetadataRef line) {
    e->line = line;
    LLVMSetCurrentDebugLocation2(e->builder, line);
}

/* What legalisation made up has no place of its own: it stays with what stands around it. */
void vy_llvm_line(vy_emitter *e, uint32_t stmt) {
    vy_position at = vy_stmt_position(e->program, stmt);
    if (e->lines && at.line)
        vy_llvm_line_set(e, LLVMDIBuilderCreateDebugLocation(e->context, at.line, at.column, e->lines, NULL));
}
