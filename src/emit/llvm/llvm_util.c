/* Helpers for LLVM's C interface: types, constants, vectors, blocks, masks and debug info. */
#include "base/status.h"

#include "base/diagnostics.h"
#include "emit/llvm/emitter.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

LLVMTypeRef vy_llvm_int(const vy_emitter *e, unsigned bits) {
    return LLVMIntTypeInContext(e->context, bits);
}

LLVMTypeRef vy_llvm_pointer(const vy_emitter *e) {
    return LLVMPointerTypeInContext(e->context, 0);
}

LLVMTypeRef vy_llvm_type(const vy_emitter *e, vyre_type type) {
    if (type == VYRE_TYPE_F32)
        return LLVMFloatTypeInContext(e->context);
    if (type == VYRE_TYPE_F64)
        return LLVMDoubleTypeInContext(e->context);
    return vy_llvm_int(e, type == VYRE_TYPE_BOOL ? 1 : vyre_type_bits(type));
}

LLVMTypeRef vy_llvm_lanes(const vy_emitter *e, LLVMTypeRef type) {
    return LLVMVectorType(type, e->width);
}

uint64_t vy_llvm_size(vyre_type type) {
    return type == VYRE_TYPE_BOOL ? 1 : vyre_type_bits(type) / 8;
}

LLVMValueRef vy_llvm_number(const vy_emitter *e, unsigned bits, uint64_t value) {
    return LLVMConstInt(vy_llvm_int(e, bits), value, 0);
}

int vy_llvm_is_lanes(LLVMValueRef value) {
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
}

LLVMValueRef vy_llvm_splat(vy_emitter *e, LLVMValueRef value) {
    if (vy_llvm_is_lanes(value))
        return value;
    LLVMTypeRef lanes = vy_llvm_lanes(e, LLVMTypeOf(value));
    if (LLVMIsConstant(value)) {
        LLVMValueRef all[VY_LLVM_LANES];
        for (uint32_t i = 0; i < e->width; i++)
            all[i] = value;
        return LLVMConstVector(all, e->width);
    }
    LLVMValueRef none = LLVMGetPoison(lanes);
    LLVMValueRef first = LLVMBuildInsertElement(e->builder, none, value, vy_llvm_number(e, 32, 0), "");
    return LLVMBuildShuffleVector(e->builder, first, none, LLVMConstNull(LLVMVectorType(vy_llvm_int(e, 32), e->width)),
                                  "");
}

LLVMValueRef vy_llvm_lane(vy_emitter *e, LLVMValueRef lanes, unsigned lane) {
    return vy_llvm_is_lanes(lanes) ? LLVMBuildExtractElement(e->builder, lanes, vy_llvm_number(e, 32, lane), "")
                                   : lanes;
}

LLVMValueRef vy_llvm_numbers(vy_emitter *e, uint32_t first, uint32_t count) {
    LLVMValueRef all[2 * VY_LLVM_LANES];
    for (uint32_t i = 0; i < count; i++)
        all[i] = vy_llvm_number(e, 32, first + i);
    return LLVMConstVector(all, count);
}

LLVMValueRef vy_llvm_slice(vy_emitter *e, LLVMValueRef lanes, uint32_t first, uint32_t count) {
    if (count == LLVMGetVectorSize(LLVMTypeOf(lanes)))
        return lanes;
    return LLVMBuildShuffleVector(e->builder, lanes, LLVMGetPoison(LLVMTypeOf(lanes)), vy_llvm_numbers(e, first, count),
                                  "");
}

LLVMValueRef vy_llvm_join(vy_emitter *e, LLVMValueRef *parts, uint32_t lanes, uint32_t all) {
    for (; lanes < all; lanes *= 2)
        for (uint32_t i = 0; 2 * i * lanes < all; i++)
            parts[i] = LLVMBuildShuffleVector(e->builder, parts[2 * i], parts[2 * i + 1],
                                              vy_llvm_numbers(e, 0, 2 * lanes), "");
    return parts[0];
}

LLVMValueRef vy_llvm_iota(vy_emitter *e, unsigned bits) {
    LLVMValueRef all[VY_LLVM_LANES];
    for (uint32_t i = 0; i < e->width; i++)
        all[i] = vy_llvm_number(e, bits, i);
    return LLVMConstVector(all, e->width);
}

LLVMValueRef vy_llvm_intrinsic(vy_emitter *e, const char *name, LLVMTypeRef *types, unsigned type_count,
                               LLVMValueRef *args, unsigned arg_count) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(e->module, id, types, type_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, types, type_count);
    return LLVMBuildCall2(e->builder, type, function, args, arg_count, "");
}

LLVMValueRef vy_llvm_fence(vy_emitter *e, LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    return vy_llvm_intrinsic(e, "llvm.arithmetic.fence", &type, 1, &value, 1);
}

LLVMValueRef vy_llvm_alloca(vy_emitter *e, LLVMTypeRef type, const char *name) {
    LLVMBasicBlockRef now = LLVMGetInsertBlock(e->builder);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(e->entry);
    if (end)
        LLVMPositionBuilderBefore(e->builder, end);
    else
        LLVMPositionBuilderAtEnd(e->builder, e->entry);
    LLVMValueRef place = LLVMBuildAlloca(e->builder, type, name);
    vy_llvm_position_at(e, now);
    return place;
}

LLVMValueRef vy_llvm_offset_pointer(vy_emitter *e, LLVMValueRef base, LLVMValueRef bytes) {
    return LLVMBuildGEP2(e->builder, vy_llvm_int(e, 8), base, &bytes, 1, "");
}

LLVMBasicBlockRef vy_llvm_block(vy_emitter *e, const char *name) {
    return LLVMAppendBasicBlockInContext(e->context, e->function, name);
}

void vy_llvm_branch_to(vy_emitter *e, LLVMBasicBlockRef to) {
    if (!LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder)))
        LLVMBuildBr(e->builder, to);
}

void vy_llvm_position_at(vy_emitter *e, LLVMBasicBlockRef block) {
    LLVMPositionBuilderAtEnd(e->builder, block);
    if (e->line) /* LLVMPositionBuilderAtEnd keeps the old location */
        LLVMSetCurrentDebugLocation2(e->builder, e->line);
}

void vy_llvm_continue_at(vy_emitter *e, LLVMBasicBlockRef block) {
    vy_llvm_branch_to(e, block);
    vy_llvm_position_at(e, block);
}

void vy_llvm_refuse(vy_emitter *e, const char *what) {
    if (e->status == VYRE_OK)
        e->status = vy_fail(e->error, VYRE_UNSUPPORTED, "report this program: legalisation should have rewritten it",
                            "the code for the processor has no form for %s", what);
}

/* ---- masks ---- */

LLVMValueRef vy_llvm_bits(vy_emitter *e, LLVMValueRef mask) {
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, mask, vy_llvm_int(e, e->width), "");
    return e->width < 32 ? LLVMBuildZExt(e->builder, bits, vy_llvm_int(e, 32), "") : bits;
}

LLVMValueRef vy_llvm_first(vy_emitter *e, LLVMValueRef mask) {
    if (!mask)
        return vy_llvm_number(e, 32, 0);
    LLVMValueRef args[2] = {vy_llvm_bits(e, mask), vy_llvm_number(e, 1, 1)};
    LLVMTypeRef bits = LLVMTypeOf(args[0]);
    LLVMValueRef first = vy_llvm_intrinsic(e, "llvm.cttz", &bits, 1, args, 2);
    return e->width > 32 ? LLVMBuildTrunc(e->builder, first, vy_llvm_int(e, 32), "") : first;
}

LLVMValueRef vy_llvm_any(vy_emitter *e, LLVMValueRef mask) {
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, mask, vy_llvm_int(e, e->width), "");
    return LLVMBuildICmp(e->builder, LLVMIntNE, bits, vy_llvm_number(e, e->width, 0), "any");
}

LLVMValueRef vy_llvm_all(vy_emitter *e, LLVMValueRef mask) {
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, mask, vy_llvm_int(e, e->width), "");
    return LLVMBuildICmp(e->builder, LLVMIntEQ, bits, LLVMConstAllOnes(vy_llvm_int(e, e->width)), "all");
}

LLVMValueRef vy_llvm_both(vy_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    if (!a || !b)
        return a ? a : b;
    return LLVMBuildAnd(e->builder, a, b, "");
}

/* Debug info: source lines of the code, for debuggers and listings. It does not change the code itself. */
enum { DWARF = 4 };

/* Module flags are unique. */
static void add_flag(vy_emitter *e, const char *key, unsigned value) {
    if (LLVMGetModuleFlag(e->module, key, strlen(key)))
        return;
    LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, key, strlen(key),
                      LLVMValueAsMetadata(vy_llvm_number(e, 32, value)));
}

/* A program built through the API has no source file; its code still has frames that can be unwound. */
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

/* A statement created by legalisation has no position: it keeps the line of the preceding code. */
void vy_llvm_line(vy_emitter *e, uint32_t stmt) {
    vy_position at = vy_stmt_position(e->program, stmt);
    if (e->lines && at.line)
        vy_llvm_line_set(e, LLVMDIBuilderCreateDebugLocation(e->context, at.line, at.column, e->lines, NULL));
}
