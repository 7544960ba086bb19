/* The function (emit.h): what it is called with, the loop over workgroups, and what is known before a line is written. */
#include "emit/llvm/emit.h"

#include "backends/cpu/kernel.h"
#include "base/status.h"
#include "emit/llvm/emitter.h"

#include <string.h>

/* ---- the frame ---- */

static LLVMValueRef field(vy_emitter *e, LLVMTypeRef type, LLVMValueRef base, uint64_t offset) {
    return LLVMBuildLoad2(e->builder, type, vy_llvm_at(e, base, vy_llvm_number(e, 64, offset)), "");
}

static void read_params(vy_emitter *e) {
    LLVMValueRef words = field(e, vy_llvm_pointer(e), e->frame, offsetof(vy_cpu_frame, params));
    for (uint32_t i = 0; i < e->program->param_count; i++) {
        vyre_type type = (vyre_type)e->program->variables.items[e->body->first_variable + i].type;
        LLVMValueRef bits = field(e, vy_llvm_int(e, 64), words, 8 * (uint64_t)i);
        unsigned width = type == VYRE_TYPE_BOOL ? 1 : vyre_type_bits(type);
        if (width < 64)
            bits = LLVMBuildTrunc(e->builder, bits, vy_llvm_int(e, width), "");
        e->params[i] = LLVMBuildBitCast(e->builder, bits, vy_llvm_type(e, type), "");
    }
}

static void read_buffers(vy_emitter *e, LLVMValueRef buffers) {
    for (uint32_t i = 0; i < e->program->buffer_count; i++) {
        uint64_t at = sizeof(vy_cpu_buffer) * (uint64_t)i;
        e->data[i] = LLVMGetParam(e->function, 5 + i);
        e->count[i] = field(e, vy_llvm_int(e, 32), buffers, at + offsetof(vy_cpu_buffer, count));
        e->misalignment[i] = field(e, vy_llvm_int(e, 32), buffers, at + offsetof(vy_cpu_buffer, misalignment));
    }
}

/* Whether there is a buffer that is written and never read. */
static int writes_only(const vyre_program *program) {
    for (uint32_t i = 0; i < program->buffer_count; i++)
        if (program->memories.items[i].access == VYRE_ACCESS_WRITE)
            return 1;
    return 0;
}

static void read_frame(vy_emitter *e) {
    read_params(e);
    read_buffers(e, field(e, vy_llvm_pointer(e), e->frame, offsetof(vy_cpu_frame, buffers)));
    for (uint32_t axis = 0; axis < 3; axis++)
        e->groups[axis] = field(e, vy_llvm_int(e, 32), e->frame, offsetof(vy_cpu_frame, groups) + 4 * axis);
    if (e->sizes.private_count)
        e->private_set = field(e, vy_llvm_int(e, 32), e->frame, offsetof(vy_cpu_frame, private_set));
    if (writes_only(e->program)) {
        LLVMValueRef streams = field(e, vy_llvm_int(e, 32), e->frame, offsetof(vy_cpu_frame, streams));
        e->cached = LLVMBuildICmp(e->builder, LLVMIntEQ, streams, vy_llvm_number(e, 32, 0), "");
    }
}

/* ---- the loop over workgroups ---- */

/* Axes of the grid, from the first on, on which the program asks where it is. The others are not counted: LLVM would not see that nobody looks. */
static int axes_of(const vyre_program *program) {
    int axes = 0;
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *x = &program->exprs.items[i];
        if (x->kind == VY_EXPR_BUILTIN && (x->op == VYRE_BUILTIN_GLOBAL_ID || x->op == VYRE_BUILTIN_GROUP_ID) &&
            x->axis >= axes)
            axes = x->axis + 1;
    }
    return axes;
}

/* Where the first workgroup lies in the grid; the others are counted from there. */
static void find_group(vy_emitter *e, LLVMValueRef first, int axes) {
    LLVMTypeRef i32 = vy_llvm_int(e, 32), i64 = vy_llvm_int(e, 64);
    LLVMValueRef rest = first;
    for (int axis = 0; axis < axes; axis++) {
        LLVMValueRef size = LLVMBuildZExt(e->builder, e->groups[axis], i64, "");
        LLVMValueRef id = axis < 2 ? LLVMBuildURem(e->builder, rest, size, "") : rest;
        LLVMBuildStore(e->builder, LLVMBuildTrunc(e->builder, id, i32, ""), e->group_id[axis]);
        if (axis + 1 < axes)
            rest = LLVMBuildUDiv(e->builder, rest, size, "");
    }
}

static void next_group(vy_emitter *e, int axes) {
    LLVMTypeRef i32 = vy_llvm_int(e, 32);
    LLVMValueRef carry = vy_llvm_number(e, 1, 1);
    for (int axis = 0; axis < axes; axis++) {
        LLVMValueRef id = LLVMBuildLoad2(e->builder, i32, e->group_id[axis], "");
        LLVMValueRef next = LLVMBuildAdd(e->builder, id, LLVMBuildZExt(e->builder, carry, i32, ""), "");
        LLVMValueRef wraps = LLVMBuildICmp(e->builder, LLVMIntEQ, next, e->groups[axis], "");
        LLVMBuildStore(e->builder, LLVMBuildSelect(e->builder, wraps, vy_llvm_number(e, 32, 0), next, ""),
                       e->group_id[axis]);
        carry = wraps;
    }
}

static void write_groups(vy_emitter *e, LLVMValueRef first, LLVMValueRef end) {
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    int axes = axes_of(e->program);
    LLVMBasicBlockRef start = vy_llvm_block(e, "start"), loop = vy_llvm_block(e, "group"),
                      done = vy_llvm_block(e, "done");
    e->group = vy_llvm_place(e, i64, "group");
    for (int axis = 0; axis < 3; axis++)
        e->group_id[axis] = vy_llvm_place(e, vy_llvm_int(e, 32), "group_id");
    vy_llvm_go(e, start);
    vy_llvm_start(e, start);
    LLVMBuildStore(e->builder, first, e->group);
    find_group(e, first, axes);
    LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntULT, first, end, ""), loop, done);
    vy_llvm_start(e, loop);
    e->group_end = vy_llvm_block(e, "group_end");
    if (e->group_done)
        LLVMBuildStore(e->builder, vy_llvm_number(e, 1, 0), e->group_done);
    vy_llvm_phases(e);
    vy_llvm_go(e, e->group_end);
    vy_llvm_start(e, e->group_end);
    next_group(e, axes);
    LLVMValueRef next =
        LLVMBuildAdd(e->builder, LLVMBuildLoad2(e->builder, i64, e->group, ""), vy_llvm_number(e, 64, 1), "");
    LLVMBuildStore(e->builder, next, e->group);
    LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntULT, next, end, ""), loop, done);
    vy_llvm_start(e, done);
    LLVMBuildRetVoid(e->builder);
}

/* ---- the two functions ---- */

static void mark(vy_emitter *e, LLVMValueRef function, unsigned param, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, param, LLVMCreateEnumAttribute(e->context, kind, 0));
}

enum { FIXED = 5 }; /* frame, workgroup, spill, first, end; then the buffers */

/* The work: what it is given lies apart, and LLVM is told so. */
static LLVMTypeRef start_work(vy_emitter *e) {
    uint32_t buffers = e->program->buffer_count;
    LLVMTypeRef types[FIXED + VY_LIMIT_BUFFERS], pointer = vy_llvm_pointer(e), i64 = vy_llvm_int(e, 64);
    const LLVMTypeRef fixed[FIXED] = {pointer, pointer, pointer, i64, i64};
    memcpy(types, fixed, sizeof fixed);
    for (uint32_t i = 0; i < buffers; i++)
        types[FIXED + i] = pointer;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, FIXED + buffers, 0);
    e->function = LLVMAddFunction(e->module, "vyre.work", type);
    LLVMSetLinkage(e->function, LLVMInternalLinkage);
    mark(e, e->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind");
    for (unsigned i = 0; i < 3; i++)
        mark(e, e->function, 1 + i, "noalias");
    for (uint32_t i = 0; i < buffers; i++) {
        mark(e, e->function, 1 + FIXED + i, "noalias");
        vyre_access access = (vyre_access)e->program->memories.items[e->body->first_memory + i].access;
        if (access == VYRE_ACCESS_READ || access == VYRE_ACCESS_UNIFORM)
            mark(e, e->function, 1 + FIXED + i, "readonly");
    }
    e->frame = LLVMGetParam(e->function, 0);
    e->workgroup = LLVMGetParam(e->function, 1);
    e->spill = LLVMGetParam(e->function, 2);
    e->entry = LLVMAppendBasicBlockInContext(e->context, e->function, "entry");
    vy_llvm_start(e, e->entry);
    return type;
}

/* What is called from outside: takes the frame apart. */
static void write_entry(vy_emitter *e, const char *name, LLVMTypeRef work_type) {
    LLVMTypeRef pointer = vy_llvm_pointer(e), i64 = vy_llvm_int(e, 64);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), (LLVMTypeRef[]){pointer, i64, i64}, 3, 0);
    LLVMValueRef function = LLVMAddFunction(e->module, name, type), work = e->function;
    mark(e, function, (unsigned)LLVMAttributeFunctionIndex, "nounwind");
    vy_llvm_line_set(e, NULL);
    vy_llvm_start(e, LLVMAppendBasicBlockInContext(e->context, function, "entry"));
    LLVMValueRef frame = LLVMGetParam(function, 0), args[FIXED + VY_LIMIT_BUFFERS];
    args[0] = frame;
    args[1] = field(e, pointer, frame, offsetof(vy_cpu_frame, workgroup));
    args[2] = field(e, pointer, frame, offsetof(vy_cpu_frame, spill));
    args[3] = LLVMGetParam(function, 1);
    args[4] = LLVMGetParam(function, 2);
    LLVMValueRef buffers = field(e, pointer, frame, offsetof(vy_cpu_frame, buffers));
    for (uint32_t i = 0; i < e->program->buffer_count; i++)
        args[FIXED + i] =
            field(e, pointer, buffers, sizeof(vy_cpu_buffer) * (uint64_t)i + offsetof(vy_cpu_buffer, data));
    LLVMBuildCall2(e->builder, work_type, work, args, FIXED + e->program->buffer_count, "");
    LLVMBuildRetVoid(e->builder);
}

/* ---- emission ---- */

static void *array(vy_arena *arena, size_t count, size_t size) {
    void *memory = vy_arena_allocate(arena, vy_array_size(count + 1, size));
    if (memory)
        memset(memory, 0, vy_array_size(count + 1, size));
    return memory;
}

static vyre_status outcome(vy_emitter *e) {
    return e->status == VYRE_NO_MEMORY ? vy_fail_memory(e->error, "code for the processor") : e->status;
}

static vyre_status prepare(vy_emitter *e, vy_arena *arena) {
    const vyre_program *p = e->program;
    e->data = array(arena, p->buffer_count, sizeof *e->data);
    e->count = array(arena, p->buffer_count, sizeof *e->count);
    e->misalignment = array(arena, p->buffer_count, sizeof *e->misalignment);
    e->params = array(arena, p->param_count, sizeof *e->params);
    e->slots = array(arena, p->variables.count, sizeof *e->slots);
    e->array_offsets = array(arena, p->memories.count, sizeof *e->array_offsets);
    e->jumps = array(arena, p->stmts.count, 1);
    e->meets = array(arena, p->stmts.count, 1);
    if (!e->data || !e->count || !e->misalignment || !e->params || !e->slots || !e->array_offsets || !e->jumps ||
        !e->meets)
        return vy_fail_memory(e->error, "code for the processor");
    for (uint32_t i = 0; i < p->variables.count; i++)
        e->slots[i].home = vy_variable_sameness(e->uniform, i) != VY_SAME_NOWHERE ? VY_HOME_SCALAR : VY_HOME_LANES;
    int returns = vy_llvm_plan_jumps(e);
    vy_llvm_plan_phases(e);
    vy_llvm_plan_runs(e);
    e->returned = returns ? (LLVMValueRef)(uintptr_t)1 : NULL; /* to be made */
    return outcome(e);
}

static void write_functions(vy_emitter *e, const char *name, int lines) {
    LLVMTypeRef work_type = start_work(e), mask = vy_llvm_lanes(e, vy_llvm_int(e, 1));
    if (lines)
        vy_llvm_lines_start(e);
    if (e->returned)
        e->returned = vy_llvm_place(e, mask, "returned");
    if (e->has_meetings)
        e->group_done = vy_llvm_place(e, vy_llvm_int(e, 1), "group_done");
    read_frame(e);
    write_groups(e, LLVMGetParam(e->function, 3), LLVMGetParam(e->function, 4));
    if (e->status == VYRE_OK)
        write_entry(e, name, work_type);
}

vyre_status vy_llvm_emit(const vyre_program *program, const vy_llvm_options *options, LLVMModuleRef module,
                         vy_llvm_sizes *sizes, vyre_error *error) {
    const uint32_t *size = program->workgroup;
    vy_arena arena = {0};
    vy_emitter e = {.context = LLVMGetModuleContext(module),
                    .module = module,
                    .program = program,
                    .body = vy_program_entry(program),
                    .width = options->width,
                    .group_size = size[0] * size[1] * size[2],
                    .gathers = options->gathers,
                    .copies = 1,
                    .error = error};
    e.chunks = (e.group_size + e.width - 1) / e.width;
    e.row = vy_llvm_row_of(size, e.width);
    e.row_count = e.row ? e.width / e.row : 0;
    e.by_rows = e.row_count == 1 || (e.row && e.row >= options->register_lanes);
    e.arena = &arena;
    vyre_status status = vy_uniform_make_where_polls_agree(program, &e.uniform, error);
    if (status == VYRE_OK)
        status = prepare(&e, &arena);
    if (status == VYRE_OK) {
        e.builder = LLVMCreateBuilderInContext(e.context);
        write_functions(&e, options->name, options->lines);
        LLVMDisposeBuilder(e.builder);
        status = outcome(&e);
    }
    *sizes = e.sizes;
    sizes->workgroup_bytes = e.workgroup_bytes;
    sizes->spill_bytes = e.spill_bytes;
    VY_VECTOR_FREE(&e.loops);
    VY_VECTOR_FREE(&e.here);
    vy_uniform_free(e.uniform);
    vy_arena_free(&arena);
    return status;
}
