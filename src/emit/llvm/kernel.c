/* The kernel function (kernel_abi.h): its arguments, the loop over workgroups, and the analyses that run before code
 * is emitted. Invariant: a call runs its workgroups, and the gangs of each, in ascending order. */
#include "emit/llvm/kernel.h"

#include "base/status.h"
#include "emit/llvm/emitter.h"
#include "emit/llvm/kernel_abi.h"

#include <string.h>

/* ---- the frame ---- */

static LLVMValueRef field(vy_emitter *e, LLVMTypeRef type, LLVMValueRef base, uint64_t offset) {
    return LLVMBuildLoad2(e->builder, type, vy_llvm_offset_pointer(e, base, vy_llvm_number(e, 64, offset)), "");
}

static void read_params(vy_emitter *e) {
    LLVMValueRef words = field(e, vy_llvm_pointer(e), e->frame, offsetof(vy_cpu_frame, params));
    for (uint32_t i = 0; i < e->program->param_count; i++) {
        vyre_type type = (vyre_type)vy_variable_at(e->program, e->body->first_variable + i)->type;
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

/* Whether the program may use non-temporal stores: it has a buffer that is written and never read, and no release
 * store. On x86-64 a release store is a plain store, which does not wait for earlier non-temporal stores;
 * read-modify-write atomics do. */
static int may_stream(const vyre_program *program) {
    int writes_only = 0;
    for (uint32_t i = 0; i < program->buffer_count; i++)
        writes_only |= vy_memory_at(program, i)->access == VYRE_ACCESS_WRITE;
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(program, i);
        writes_only &= s->kind != VY_STMT_ATOMIC || s->op != VYRE_ATOMIC_STORE || s->order != VYRE_ORDER_RELEASE;
    }
    return writes_only;
}

static void read_frame(vy_emitter *e) {
    read_params(e);
    read_buffers(e, field(e, vy_llvm_pointer(e), e->frame, offsetof(vy_cpu_frame, buffers)));
    for (uint32_t axis = 0; axis < 3; axis++)
        e->groups[axis] = field(e, vy_llvm_int(e, 32), e->frame, offsetof(vy_cpu_frame, groups) + 4 * axis);
    if (e->sizes.private_count)
        e->private_set = field(e, vy_llvm_int(e, 32), e->frame, offsetof(vy_cpu_frame, private_set));
    if (may_stream(e->program)) {
        LLVMValueRef streams = field(e, vy_llvm_int(e, 32), e->frame, offsetof(vy_cpu_frame, streams));
        e->cached = LLVMBuildICmp(e->builder, LLVMIntEQ, streams, vy_llvm_number(e, 32, 0), "");
    }
}

/* ---- the loop over workgroups ---- */

/* The leading axes of the grid whose ids the program reads. The ids of the others are not updated: LLVM could not
 * prove them dead. */
static int axes_of(const vyre_program *program) {
    int axes = 0;
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *x = vy_expr_at(program, i);
        if (x->kind == VY_EXPR_BUILTIN && (x->op == VYRE_BUILTIN_GLOBAL_ID || x->op == VYRE_BUILTIN_GROUP_ID) &&
            x->axis >= axes)
            axes = x->axis + 1;
    }
    return axes;
}

/* The id of the first workgroup of the range; later ids are counted from it. */
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

/* A range of units (kernel_abi.h) as workgroups: the first may start after its first gang, the last may end before
 * its last gang. A part is a gang. */
typedef struct span {
    LLVMValueRef first;         /* workgroup: i64 */
    LLVMValueRef left;          /* alloca: workgroups after the current one, i64 */
    LLVMValueRef first_gang;    /* alloca: of the next workgroup; NULL: workgroups are not divided into parts */
    LLVMValueRef last_end_gang; /* i32: of the last workgroup */
} span;

static span find_span(vy_emitter *e, LLVMValueRef first, LLVMValueRef end) {
    LLVMTypeRef i32 = vy_llvm_int(e, 32), i64 = vy_llvm_int(e, 64);
    LLVMValueRef last = LLVMBuildSub(e->builder, end, vy_llvm_number(e, 64, 1), "");
    LLVMValueRef parts = vy_llvm_number(e, 64, e->sizes.parts), gang;
    span s = {.first = LLVMBuildUDiv(e->builder, first, parts, ""), .left = vy_llvm_alloca(e, i64, "left")};
    LLVMValueRef last_group = LLVMBuildUDiv(e->builder, last, parts, "");
    LLVMBuildStore(e->builder, LLVMBuildSub(e->builder, last_group, s.first, ""), s.left);
    if (e->sizes.parts == 1)
        return s;
    s.first_gang = vy_llvm_alloca(e, i32, "first_gang");
    gang = LLVMBuildTrunc(e->builder, LLVMBuildURem(e->builder, first, parts, ""), i32, "");
    LLVMBuildStore(e->builder, gang, s.first_gang);
    gang = LLVMBuildTrunc(e->builder, LLVMBuildURem(e->builder, last, parts, ""), i32, "");
    s.last_end_gang = LLVMBuildAdd(e->builder, gang, vy_llvm_number(e, 32, 1), "");
    return s;
}

/* Whether the current workgroup is the last. */
static LLVMValueRef is_last(vy_emitter *e, const span *s) {
    LLVMValueRef left = LLVMBuildLoad2(e->builder, vy_llvm_int(e, 64), s->left, "");
    return LLVMBuildICmp(e->builder, LLVMIntEQ, left, vy_llvm_number(e, 64, 0), "");
}

/* The gangs of the current workgroup. */
static void find_chunks(vy_emitter *e, const span *s) {
    if (!s->first_gang)
        return;
    e->first_gang = LLVMBuildLoad2(e->builder, vy_llvm_int(e, 32), s->first_gang, "");
    e->end_gang = LLVMBuildSelect(e->builder, is_last(e, s), s->last_end_gang, vy_llvm_number(e, 32, e->gangs), "");
    LLVMBuildStore(e->builder, vy_llvm_number(e, 32, 0), s->first_gang);
}

static void count_on(vy_emitter *e, LLVMValueRef place, uint64_t by) {
    LLVMValueRef now = LLVMBuildLoad2(e->builder, vy_llvm_int(e, 64), place, "");
    LLVMBuildStore(e->builder, LLVMBuildAdd(e->builder, now, vy_llvm_number(e, 64, by), ""), place);
}

static void write_groups(vy_emitter *e, LLVMValueRef first, LLVMValueRef end) {
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    int axes = axes_of(e->program);
    LLVMBasicBlockRef start = vy_llvm_block(e, "start"), loop = vy_llvm_block(e, "group"),
                      done = vy_llvm_block(e, "done");
    e->group = vy_llvm_alloca(e, i64, "group");
    for (int axis = 0; axis < 3; axis++)
        e->group_id[axis] = vy_llvm_alloca(e, vy_llvm_int(e, 32), "group_id");
    vy_llvm_continue_at(e, start);
    span s = find_span(e, first, end);
    LLVMBuildStore(e->builder, s.first, e->group);
    find_group(e, s.first, axes);
    LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntULT, first, end, ""), loop, done);
    vy_llvm_position_at(e, loop);
    e->group_end = vy_llvm_block(e, "group_end");
    if (e->group_done)
        LLVMBuildStore(e->builder, vy_llvm_number(e, 1, 0), e->group_done);
    find_chunks(e, &s);
    vy_llvm_emit_regions(e);
    vy_llvm_continue_at(e, e->group_end);
    LLVMValueRef ends = is_last(e, &s);
    next_group(e, axes);
    count_on(e, e->group, 1);
    count_on(e, s.left, UINT64_MAX);
    LLVMBuildCondBr(e->builder, ends, done, loop);
    vy_llvm_position_at(e, done);
    LLVMBuildRetVoid(e->builder);
}

/* ---- the two functions ---- */

static void mark(vy_emitter *e, LLVMValueRef function, unsigned param, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, param, LLVMCreateEnumAttribute(e->context, kind, 0));
}

enum { FIXED = 5 }; /* frame, workgroup, spill, first, end; followed by the buffers */

/* The work function. Its pointer arguments do not alias, and carry attributes that state it. */
static LLVMTypeRef start_work(vy_emitter *e, const char *name) {
    uint32_t buffers = e->program->buffer_count;
    LLVMTypeRef types[FIXED + VY_LIMIT_BUFFERS], pointer = vy_llvm_pointer(e), i64 = vy_llvm_int(e, 64);
    const LLVMTypeRef fixed[FIXED] = {pointer, pointer, pointer, i64, i64};
    memcpy(types, fixed, sizeof fixed);
    for (uint32_t i = 0; i < buffers; i++)
        types[FIXED + i] = pointer;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, FIXED + buffers, 0);
    e->function = LLVMAddFunction(e->module, name, type);
    LLVMSetLinkage(e->function, LLVMInternalLinkage);
    mark(e, e->function, (unsigned)LLVMAttributeFunctionIndex, "nounwind");
    for (unsigned i = 0; i < 3; i++)
        mark(e, e->function, 1 + i, "noalias");
    for (uint32_t i = 0; i < buffers; i++) {
        mark(e, e->function, 1 + FIXED + i, "noalias");
        vyre_access access = (vyre_access)vy_memory_at(e->program, e->body->first_memory + i)->access;
        if (access == VYRE_ACCESS_READ || access == VYRE_ACCESS_UNIFORM)
            mark(e, e->function, 1 + FIXED + i, "readonly");
    }
    e->frame = LLVMGetParam(e->function, 0);
    e->workgroup = LLVMGetParam(e->function, 1);
    e->spill = LLVMGetParam(e->function, 2);
    e->entry = LLVMAppendBasicBlockInContext(e->context, e->function, "entry");
    vy_llvm_position_at(e, e->entry);
    return type;
}

/* Calls a work function from the entry, passing the fields of the frame as arguments. */
static void call_work(vy_emitter *e, LLVMValueRef entry, LLVMTypeRef type, LLVMValueRef work) {
    LLVMTypeRef pointer = vy_llvm_pointer(e);
    LLVMValueRef frame = LLVMGetParam(entry, 0), args[FIXED + VY_LIMIT_BUFFERS];
    args[0] = frame;
    args[1] = field(e, pointer, frame, offsetof(vy_cpu_frame, workgroup));
    args[2] = field(e, pointer, frame, offsetof(vy_cpu_frame, spill));
    args[3] = LLVMGetParam(entry, 1);
    args[4] = LLVMGetParam(entry, 2);
    LLVMValueRef buffers = field(e, pointer, frame, offsetof(vy_cpu_frame, buffers));
    for (uint32_t i = 0; i < e->program->buffer_count; i++)
        args[FIXED + i] =
            field(e, pointer, buffers, sizeof(vy_cpu_buffer) * (uint64_t)i + offsetof(vy_cpu_buffer, data));
    LLVMBuildCall2(e->builder, type, work, args, FIXED + e->program->buffer_count, "");
    LLVMBuildRetVoid(e->builder);
}

/* The entry, which the backend calls. narrow: the work function with fewer lanes, or NULL. */
static void write_entry(vy_emitter *e, const char *name, LLVMTypeRef work_type, LLVMValueRef work,
                        LLVMValueRef narrow) {
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(e->context), (LLVMTypeRef[]){vy_llvm_pointer(e), i64, i64}, 3, 0);
    LLVMValueRef entry = LLVMAddFunction(e->module, name, type);
    mark(e, entry, (unsigned)LLVMAttributeFunctionIndex, "nounwind");
    vy_llvm_line_set(e, NULL);
    vy_llvm_position_at(e, LLVMAppendBasicBlockInContext(e->context, entry, "entry"));
    if (narrow) {
        LLVMBasicBlockRef few = LLVMAppendBasicBlockInContext(e->context, entry, "narrow"),
                          many = LLVMAppendBasicBlockInContext(e->context, entry, "wide");
        LLVMValueRef asked = field(e, vy_llvm_int(e, 32), LLVMGetParam(entry, 0), offsetof(vy_cpu_frame, is_narrow));
        LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntNE, asked, vy_llvm_number(e, 32, 0), ""), few,
                        many);
        vy_llvm_position_at(e, few);
        call_work(e, entry, work_type, narrow);
        vy_llvm_position_at(e, many);
    }
    call_work(e, entry, work_type, work);
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

/* Whether a workgroup is divided into parts. Not if invocations synchronise or share arrays, which requires one
 * thread; nor if the workgroup is short: straight-line code with few expressions. */
enum { SHORT_EXPRS = 256 };
static int has_parts(const vy_emitter *e) {
    const vyre_program *p = e->program;
    int is_short = p->exprs.count <= SHORT_EXPRS;
    for (uint32_t i = e->body->first_stmt; i < e->body->end_stmt; i++)
        is_short &= !vy_stmt_is_loop(vy_stmt_at(p, i)->kind);
    return !e->has_sync && !e->workgroup_bytes && !is_short;
}

static int makes_halves(const vyre_program *p) {
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        const vy_expr *x = vy_expr_at(p, i);
        if (x->kind == VY_EXPR_OP && x->op == VYRE_OP_CAST && x->type == VYRE_TYPE_F16)
            return 1;
    }
    return 0;
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
    e->has_sync_inside = array(arena, p->stmts.count, 1);
    if (!e->data || !e->count || !e->misalignment || !e->params || !e->slots || !e->array_offsets || !e->jumps ||
        !e->has_sync_inside)
        return vy_fail_memory(e->error, "code for the processor");
    for (uint32_t i = 0; i < p->variables.count; i++)
        e->slots[i].storage =
            vy_variable_uniformity(e->uniform, i) != VY_UNIFORMITY_DIVERGENT ? VY_STORAGE_SCALAR : VY_STORAGE_LANES;
    int returns = vy_llvm_plan_jumps(e);
    vy_llvm_plan_regions(e);
    vy_llvm_plan_contiguous_checks(e);
    e->sizes.parts = has_parts(e) ? e->gangs : 1;
    e->returned = returns ? (LLVMValueRef)(uintptr_t)1 : NULL; /* created later */
    return outcome(e);
}

static LLVMTypeRef write_work(vy_emitter *e, const char *name, int lines) {
    LLVMTypeRef type = start_work(e, name), mask = vy_llvm_lanes(e, vy_llvm_int(e, 1));
    if (lines)
        vy_llvm_debug_start(e);
    if (e->returned)
        e->returned = vy_llvm_alloca(e, mask, "returned");
    if (e->has_sync)
        e->group_done = vy_llvm_alloca(e, vy_llvm_int(e, 1), "group_done");
    read_frame(e);
    write_groups(e, LLVMGetParam(e->function, 3), LLVMGetParam(e->function, 4));
    return type;
}

/* Emits the work function with this many lanes; and the entry, which with `narrow` (the work function with fewer
 * lanes, or NULL) selects between both. */
static vyre_status emit(const vyre_program *program, const vy_uniform *uniform, const vy_llvm_options *options,
                        uint32_t width, int is_narrow, LLVMModuleRef module, LLVMValueRef *narrow, vy_llvm_sizes *sizes,
                        vyre_error *error) {
    const uint32_t *size = program->workgroup;
    vy_arena arena = {0};
    vy_emitter e = {.context = LLVMGetModuleContext(module),
                    .module = module,
                    .program = program,
                    .uniform = uniform,
                    .body = vy_program_entry(program),
                    .width = width,
                    .group_size = vy_workgroup_invocations(program),
                    .gathers = options->gathers,
                    .has_soft_fma = options->has_soft_fma,
                    .makes_halves = (options->errata & VY_LLVM_ERRATUM_HALF_RANGE) && makes_halves(program),
                    .copies = 1,
                    .error = error};
    e.gangs = (e.group_size + e.width - 1) / e.width;
    e.row = vy_llvm_row_of(size, e.width);
    e.row_count = e.row ? e.width / e.row : 0;
    e.by_rows = e.row_count == 1 || (e.row && e.row >= options->register_lanes);
    e.arena = &arena;
    vyre_status status = prepare(&e, &arena);
    if (status == VYRE_OK) {
        e.builder = LLVMCreateBuilderInContext(e.context);
        LLVMTypeRef type = write_work(&e, is_narrow ? "vyre.narrow" : "vyre.work", options->lines);
        if (e.status == VYRE_OK && is_narrow)
            *narrow = e.function;
        else if (e.status == VYRE_OK)
            write_entry(&e, options->name, type, e.function, *narrow);
        LLVMDisposeBuilder(e.builder);
        status = outcome(&e);
    }
    *sizes = e.sizes;
    sizes->workgroup_bytes = e.workgroup_bytes;
    sizes->spill_bytes = e.spill_bytes;
    VY_VECTOR_FREE(&e.loops);
    VY_VECTOR_FREE(&e.here);
    vy_arena_free(&arena);
    return status;
}

vyre_status vy_llvm_emit(const vyre_program *program, const vy_uniform *uniform, const vy_llvm_options *options,
                         LLVMModuleRef module, vy_llvm_sizes *sizes, vyre_error *error) {
    LLVMValueRef narrow = NULL;
    vy_llvm_sizes few = {0};
    vyre_status status = VYRE_OK;
    if (options->narrow)
        status = emit(program, uniform, options, options->narrow, 1, module, &narrow, &few, error);
    if (status == VYRE_OK)
        status = emit(program, uniform, options, options->width, 0, module, &narrow, sizes, error);
    sizes->narrow_parts = few.parts;
    if (sizes->spill_bytes < few.spill_bytes)
        sizes->spill_bytes = few.spill_bytes;
    return status;
}
