/* The text that the OpenCL C emitter makes (opencl.h): the target, the head of the kernel, its arguments and the
 * functions of the control block.
 *
 * The body is written first, since it determines the functions, builtins and extensions that are needed. */
#include "emit/opencl/emitter.h"

#include "analysis/uniformity.h"
#include "base/diagnostics.h"
#include "base/status.h"
#include "ir/eval.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* ---- the target ---- */

#define BITS_FROM(first, last) ((UINT64_C(2) << VYRE_NUMERIC_##last) - (UINT64_C(1) << VYRE_NUMERIC_##first))

uint64_t vy_opencl_assumed(int has_fp64) {
    const uint64_t integers = BITS_FROM(INT8, SHIFT);
    const uint64_t f32 =
        BITS_FROM(F32_ADD, F32_MUL) | BITS_FROM(F32_FMA, F32_FMA) | BITS_FROM(F32_MIN_MAX, F32_CONVERT);
    return integers | f32 | (has_fp64 ? BITS_FROM(F64_ADD, F64_CONVERT) : 0);
}

/* f16 and bf16 become f32 and integers: code computes with their bits. A GPU has the limits of unrolling and
 * predication of the PTX target: private arrays are in registers only if they become variables. */
vy_target_desc vy_opencl_target(const vy_opencl_device *device, const vyre_program *program, int cancellable) {
    const int is_flat = !program || (program->workgroup[1] == 1 && program->workgroup[2] == 1),
              is_gpu = device->access_bytes != 0;
    const int has_f64 = (~device->exact & BITS_FROM(F64_ADD, F64_CONVERT)) == 0;
    vy_target_desc target = {.exact = device->exact & ~BITS_FROM(F16_ADD, BF16_CONVERT),
                             .subgroup_width =
                                 device->shuffle != VY_OPENCL_NO_SHUFFLE && is_flat ? device->subgroup_width : 0,
                             .access_bytes = device->access_bytes,
                             .aligned_buffers = device->has_aligned_buffers != 0,
                             .errata = device->errata,
                             .cancellable = cancellable != 0,
                             .math = has_f64 ? VY_MATH_WITH_F64 : VY_MATH_WITHOUT_F64,
                             .optimise = 2,
                             .version_checks = is_gpu ? VY_VERSIONS_OF_LOOPS : VY_VERSIONS_OF_ALL,
                             .unroll = VY_UNROLL_LIMITS_DEFAULT};
    if (is_gpu) {
        const vy_target_desc gpu = vy_ptx_target(0, 0);
        target.unroll_arrays = gpu.unroll_arrays;
        target.unroll_late = gpu.unroll_late;
        target.unroll_late_nodes = gpu.unroll_late_nodes;
        target.predication = gpu.predication;
    }
    return target;
}

static vyre_status lacks(const vyre_program *program, const char *what, const char *needs, const char *fix,
                         vyre_error *error) {
    return vy_fail(error, VYRE_UNSUPPORTED, fix, "`%s` has %s, for which OpenCL needs %s", vyre_program_name(program),
                   what, needs);
}

vyre_status vy_opencl_check(const vyre_program *program, const vy_opencl_device *device, vyre_error *error) {
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        const vy_stmt *s = &program->stmts.items[i];
        if (s->kind == VY_STMT_BARRIER && s->scope == VYRE_SCOPE_DEVICE)
            return lacks(program, "a grid barrier", "several launches",
                         "emit its stages separately, the launches that a backend makes of it: set `stage` to 1, then "
                         "2, …",
                         error);
        if (s->kind != VY_STMT_ATOMIC)
            continue;
        if (vyre_type_bits((vyre_type)program->memories.items[s->memory].type) == 64 && !device->has_int64_atomics)
            return lacks(program, "an atomic of 64 bits", "the extension cl_khr_int64_extended_atomics",
                         "use 32 bits, or a device with this extension", error);
        if (s->order != VYRE_ORDER_RELAXED && !device->has_ordered_atomics)
            return lacks(program, VY_FIX("an atomic with order `%s`", vyre_order_name((vyre_order)s->order)),
                         "OpenCL C 2.0, or 3.0 with atomic_order_acq_rel and atomic_scope_device",
                         "use relaxed atomics and barriers, or a device with this version", error);
    }
    return VYRE_OK;
}

/* ---- constant arrays ---- */

/* Places an array in the argument for tables if constant memory has no room left for it. */
static void place_tables(vy_opencl *o, vy_opencl_code *code) {
    vy_c *c = &o->c;
    uint32_t *at = o->tables;
    const uint64_t all = o->device->constant_bytes, uniform = o->device->uniform_bytes;
    uint64_t used = 0;
    const uint32_t tables = c->program->tables.count;
    uint8_t *is_divergent = vy_arena_allocate(&c->arena, (size_t)tables + 1);
    if (!is_divergent) {
        vy_c_refuse_memory(c);
        return;
    }
    if (tables && vy_divergent_tables(c->program, is_divergent, NULL) != VYRE_OK) {
        vy_c_refuse_memory(c);
        return;
    }
    for (uint32_t i = vy_c_buffers_end(c); i < vy_c_memories_end(c); i++) {
        const vy_memory *m = vy_c_memory_at(c, i);
        if (m->space != VY_SPACE_CONSTANT)
            continue;
        const size_t bytes = (size_t)m->elements * vyre_type_size((vyre_type)m->type), start = code->tables.size;
        at[i] = VY_NONE;
        if (used + bytes <= (is_divergent[m->table] || uniform < all ? all : uniform)) {
            used += bytes;
            continue;
        }
        at[i] = (uint32_t)start;
        if (vyre_bytes_resize(&code->tables, start + (bytes + 15) / 16 * 16, NULL) != VYRE_OK) {
            vy_c_refuse_memory(c);
            return;
        }
        uint8_t *to = (uint8_t *)code->tables.data + start;
        memset(to, 0, code->tables.size - start);
        memcpy(to, vy_constant_bytes(c->program, m), bytes);
    }
}

static void write_constants(vy_c *c, const uint32_t *at) {
    for (uint32_t i = vy_c_buffers_end(c); i < vy_c_memories_end(c); i++) {
        const vy_memory *m = vy_c_memory_at(c, i);
        if (m->space != VY_SPACE_CONSTANT || at[i] != VY_NONE)
            continue;
        vy_string_format(c->out, "__constant %s %s[%" PRIu32 "] __attribute__((aligned(16))) = {\n",
                         vy_c_type(c, m->type), vy_c_memory(c, i), m->elements);
        vy_c_table(c, i);
        vy_string_add(c->out, "\n};\n\n");
    }
}

/* ---- arguments ---- */

/* A param of less than 32 bits, and one that is not a number, is a word. */
static const char *param_type(const vy_c *c, uint8_t type) {
    return vy_c_type(c, vyre_type_bits((vyre_type)type) < 32 ? VYRE_TYPE_U32 : type);
}

static void write_values(vy_opencl *o, const vy_launch_values *values) {
    vy_c *c = &o->c;
    const uint32_t first = c->entry->first_variable;
    if (!values->bytes)
        return;
    vy_string_format(c->out, "struct %s_values {\n", vyre_program_name(c->program));
    for (uint32_t i = 0; i < c->program->buffer_count; i++)
        vy_string_format(c->out, "    ulong %s;\n", vy_c_text(c, o->offsets[i]));
    for (int is_wide = 1; is_wide >= 0; is_wide--) {
        for (uint32_t i = 0; i < values->params; i++)
            if (values->is_wide[i] == is_wide)
                vy_string_format(c->out, "    %s %s;\n", param_type(c, vy_c_variable_type(c, first + i)),
                                 vy_c_variable(c, first + i));
        for (uint32_t i = c->entry->first_memory; is_wide && i < vy_c_buffers_end(c); i++)
            vy_string_format(c->out, "    uint %s;\n", vy_c_length(c, i));
    }
    vy_string_add(c->out, "};\n\n");
}

/* The control block as a struct, with the fields that the code uses (vy_launch_control). */
static void write_control(vy_c *c) {
    const char *name = vyre_program_name(c->program);
    const uint32_t *size = c->program->workgroup;
    _Static_assert(offsetof(vy_launch_control, trap_code) == 16 && offsetof(vy_launch_control, stopped) == 28 &&
                       offsetof(vy_launch_control, poll_budget) == 68 && sizeof(vy_launch_control) == 72,
                   "the struct in the text is the control block");
    if (!c->reports && !c->polls)
        return;
    vy_string_format(c->out,
                     "struct %s_control {\n"
                     "    ulong trap_invocation, deadline;\n"
                     "    uint trap_code, lock, cancel, stopped, unused[9], poll_budget;\n"
                     "};\n\n",
                     name);
    if (c->reports)
        vy_string_format(c->out,
                         "/* Keeps the smallest invocation that trapped. */\n"
                         "static void %s_report(volatile __global struct %s_control *control, %suint code) {\n"
                         "    const ulong row = get_group_id(2) * get_num_groups(1) + get_group_id(1);\n"
                         "    const ulong group = row * get_num_groups(0) + get_group_id(0);\n"
                         "%s"
                         "    const ulong invocation = group * %" PRIu32 "u + local_index;\n"
                         "    while (invocation < control->trap_invocation) {\n"
                         "        if (atomic_cmpxchg(&control->lock, 0u, 1u) == 0u) {\n"
                         "            mem_fence(CLK_GLOBAL_MEM_FENCE);\n"
                         "            if (invocation < control->trap_invocation) {\n"
                         "                control->trap_invocation = invocation;\n"
                         "                control->trap_code = code;\n"
                         "            }\n"
                         "            mem_fence(CLK_GLOBAL_MEM_FENCE);\n"
                         "            atomic_xchg(&control->lock, 0u);\n"
                         "        }\n"
                         "    }\n"
                         "}\n\n",
                         name, name, c->barriers ? "uint local_index, " : "",
                         c->barriers ? ""
                                     : VY_FIX("    const uint local_index = get_local_id(0) + %" PRIu32
                                              "u * (get_local_id(1) + %" PRIu32 "u * get_local_id(2));\n",
                                              size[0], size[1]),
                         size[0] * size[1] * size[2]);
    if (c->polls)
        vy_string_format(
            c->out,
            "/* Whether the dispatch is to end. Once it is, all later polls say so. */\n"
            "static bool %s_poll(volatile __global struct %s_control *control, uint *polls, bool *stopping) {\n"
            "    if (!*stopping && *polls %% %uu == 0u) {\n"
            "        const uint budget = control->poll_budget;\n"
            "        *stopping = control->cancel != 0u || (budget != 0u && *polls >= budget);\n"
            "        if (*stopping)\n"
            "            control->cancel = control->stopped = 1u;\n"
            "    }\n"
            "    *polls += 1u;\n"
            "    return *stopping;\n"
            "}\n\n",
            name, name, (unsigned)VY_LAUNCH_POLL_PERIOD);
}

/* Starts the next argument, and gives its index. */
static uint32_t argument(vy_c *c, vy_opencl_code *code) {
    vy_string_add(c->out, code->arguments ? ",\n    " : "\n    ");
    return code->arguments++;
}

static void write_arguments(vy_opencl *o, vy_opencl_code *code) {
    vy_c *c = &o->c;
    const char *name = vyre_program_name(c->program);
    for (uint32_t i = c->entry->first_memory; i < vy_c_buffers_end(c); i++) {
        const vy_memory *m = vy_c_memory_at(c, i);
        (void)argument(c, code);
        vy_string_format(c->out, "__global %s%s *restrict %s", vy_accesses[m->access].is_output ? "" : "const ",
                         vy_c_type(c, m->type), vy_c_text(c, o->arguments[i - c->entry->first_memory]));
    }
    if (code->tables.size) {
        code->tables_argument = argument(c, code);
        vy_string_add(c->out, "__global const uchar *restrict tables");
    }
    if (code->values.bytes) {
        code->values_argument = argument(c, code);
        vy_string_format(c->out, "const struct %s_values values", name);
    }
    if (c->reports || c->polls) {
        code->control_argument = argument(c, code);
        vy_string_format(c->out, "volatile __global struct %s_control *control", name);
    }
}

/* ---- the head of the kernel ---- */

static void write_params(vy_c *c) {
    for (uint32_t v = c->entry->first_variable; v < c->entry->first_variable + c->program->param_count; v++) {
        const uint8_t type = vy_c_variable_type(c, v);
        const char *cast = vyre_type_bits((vyre_type)type) < 32 ? VY_FIX("(%s)", vy_c_type(c, type)) : "";
        vy_string_format(c->out, "    const %s %s = %svalues.%s%s;\n", vy_c_type(c, type), vy_c_variable(c, v),
                         type == VYRE_TYPE_BOOL ? "" : cast, vy_c_variable(c, v),
                         type == VYRE_TYPE_BOOL ? " != 0u" : "");
    }
}

static int has_loop(const vyre_program *p) {
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (vy_stmt_is_loop(vy_stmt_at(p, i)->kind))
            return 1;
    return 0;
}

/* Declares buffers, the tables that are an argument, and arrays, which are aligned for wide accesses. NVIDIA's compiler
 * adds the offset of a buffer at every access, also in a loop, unless a select computes the start of the buffer. */
static void write_memories(vy_opencl *o, vy_opencl_code *code) {
    vy_c *c = &o->c;
    const uint32_t *at = o->tables;
    const int adds_once = (o->device->errata & VY_OPENCL_ERRATUM_NVIDIA) && has_loop(c->program);
    for (uint32_t i = c->entry->first_memory; i < vy_c_memories_end(c); i++) {
        const vy_memory *m = vy_c_memory_at(c, i);
        const char *type = vy_c_type(c, m->type), *name = vy_c_memory(c, i), *length = vy_c_length(c, i);
        const uint32_t bytes = m->elements * (uint32_t)vyre_type_size((vyre_type)m->type);
        if (m->space == VY_SPACE_BUFFER) {
            const uint32_t buffer = i - c->entry->first_memory;
            const char *empty =
                adds_once ? VY_FIX("values.%s == 0u ? %s : ", length, vy_c_text(c, o->arguments[buffer])) : "";
            vy_string_format(c->out, "    __global %s%s *const %s = %s%s + values.%s;\n",
                             vy_accesses[m->access].is_output ? "" : "const ", type, name, empty,
                             vy_c_text(c, o->arguments[buffer]), vy_c_text(c, o->offsets[buffer]));
            if (c->is_measured[i])
                vy_string_format(c->out, "    const uint %s = values.%s;\n", length, length);
        } else if (m->space == VY_SPACE_CONSTANT) {
            if (at[i] != VY_NONE)
                vy_string_format(c->out,
                                 "    __global const %s *const %s = (__global const %s *)(tables + %" PRIu32 ");\n",
                                 type, name, type, at[i]);
        } else if (!c->is_kept_array[i]) {
            const int is_shared = m->space == VY_SPACE_WORKGROUP;
            vy_string_format(c->out, "    %s%s %s[%" PRIu32 "] __attribute__((aligned(16)));\n",
                             is_shared ? "__local " : "", type, name, m->elements);
            *(is_shared ? &code->local_bytes : &code->private_bytes) += (bytes + 15) / 16 * 16;
        }
    }
}

static void write_kernel(vy_opencl *o, const vy_string *body, vy_opencl_code *code) {
    vy_c *c = &o->c;
    vy_string_format(c->out, "__kernel __attribute__((reqd_work_group_size(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")))",
                     code->block[0], code->block[1], code->block[2]);
    if ((o->uses & VY_OPENCL_USES_SHUFFLES) && o->device->shuffle == VY_OPENCL_SHUFFLE_INTEL)
        vy_string_format(c->out, "\n__attribute__((intel_reqd_sub_group_size(%" PRIu32 ")))",
                         o->device->subgroup_width);
    vy_string_format(c->out, " void\n%s(", code->entry);
    write_arguments(o, code);
    vy_string_add(c->out, ") {\n");
    write_params(c);
    write_memories(o, code);
    vy_string_add(c->out, c->polls ? "    uint polls = 0u;\n    bool stopping = false;\n\n" : "\n");
    if (c->barriers)
        vy_opencl_write_sequential(o, body);
    else
        vy_string_append(c->out, body->text ? body->text : "", body->length);
    c->out->failed |= body->failed;
    vy_string_add(c->out, "}\n");
}

/* ---- the text ---- */

static int has_type(const vy_c *c, uint8_t type) {
    int found = 0;
    for (uint32_t i = 0; i < c->program->exprs.count && !found; i++)
        found = c->program->exprs.items[i].type == type;
    for (uint32_t i = 0; i < c->program->memories.count && !found; i++)
        found = c->program->memories.items[i].type == type;
    for (uint32_t i = 0; i < c->program->variables.count && !found; i++)
        found = c->program->variables.items[i].type == type;
    return found;
}

static void write_head(vy_opencl *o, const vy_opencl_code *code) {
    vy_c *c = &o->c;
    const struct {
        int is_used;
        const char *name;
    } extensions[] = {
        {has_type(c, VYRE_TYPE_F64), "cl_khr_fp64"},
        {(o->uses & VY_OPENCL_USES_INT64_ATOMICS) != 0, "cl_khr_int64_base_atomics"},
        {(o->uses & VY_OPENCL_USES_INT64_ATOMICS) != 0, "cl_khr_int64_extended_atomics"},
        {(o->uses & VY_OPENCL_USES_SHUFFLES) && o->device->shuffle == VY_OPENCL_SHUFFLE_KHR, "cl_khr_subgroup_shuffle"},
        {(o->uses & VY_OPENCL_USES_SHUFFLES) && o->device->shuffle == VY_OPENCL_SHUFFLE_INTEL, "cl_intel_subgroups"},
    };
    vy_string_format(c->out, "/* %s: a compute kernel as OpenCL C, written by vyre from ",
                     vyre_program_name(c->program));
    vy_c_source_name(c);
    vy_string_format(c->out,
                     ".\n"
                     " *\n"
                     " * Build it with %s and without options that change floats (-cl-fast-relaxed-math,\n"
                     " * -cl-unsafe-math-optimizations, -cl-mad-enable, -cl-denorms-are-zero and the like). Launch it\n"
                     " * without a global offset, with a local size of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                     ". Buffers must not overlap. `// 12` is line 12\n"
                     " * of the source. Layout of the arguments: %d. */\n"
                     "#pragma OPENCL FP_CONTRACT OFF\n",
                     code->standard, code->block[0], code->block[1], code->block[2], VY_LAUNCH_ABI);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (extensions[i].is_used)
            vy_string_format(c->out, "#pragma OPENCL EXTENSION %s : enable\n", extensions[i].name);
    vy_string_add(c->out, "\n/* ---- operations ---- */\n\n");
}

/* The names of vector types are reserved, too, and those that begin with the name of the program. */
static void reserve_names(vy_opencl *o) {
    vy_c *c = &o->c;
    static const char *const vectors[] = {"bool", "char", "uchar", "short", "ushort", "int",
                                          "uint", "long", "ulong", "half",  "float",  "double"};
    static const char *const lengths[] = {"2", "3", "4", "8", "16"};
    static const char *const own[] = {"kernel", "values", "control", "report", "poll", "invocation"};
    static const char *const sequential[] = {"self", "at", "invocations", "local_index", "waits", "waiting", "next"};
    for (size_t i = 0; i < 60 && c->status == VYRE_OK; i++)
        (void)vy_c_unique(c, VY_FIX("%s%s", vectors[i % 12], lengths[i / 12]));
    for (size_t i = 0; i < sizeof own / sizeof *own && c->status == VYRE_OK; i++)
        (void)vy_c_unique(c, VY_FIX("%s_%s", vyre_program_name(c->program), own[i]));
    for (size_t i = 0; o->is_sequential && i < sizeof sequential / sizeof *sequential && c->status == VYRE_OK; i++)
        (void)vy_c_unique(c, sequential[i]);
}

/* Of a buffer: the argument, and the field for its offset. */
static void name_arguments(vy_opencl *o) {
    vy_c *c = &o->c;
    for (uint32_t i = 0; i < c->program->buffer_count && c->status == VYRE_OK; i++) {
        const uint32_t memory = c->entry->first_memory + i;
        o->arguments[i] = vy_c_unique(c, VY_FIX("%s_memory", vy_c_memory(c, memory)));
        o->offsets[i] = vy_c_unique(c, VY_FIX("%s_offset", vy_c_memory(c, memory)));
    }
}

/* PoCL knows the ranges of all ids and sizes. An offset is a sum of sizes of buffers. Without a buffer, nothing can be
 * observed but traps. */
static void name_choice_zero(vy_opencl *o) {
    vy_c *c = &o->c;
    if (c->program->buffer_count && c->status == VYRE_OK)
        c->choice_zero = vy_c_keep(c, VY_FIX("(values.%s >> 63)", vy_c_text(c, o->offsets[0])));
}

static void write_text(vy_opencl *o, vy_string *body, vy_string *rest, vy_string *text, vy_opencl_code *code) {
    vy_c *c = &o->c;
    o->tables = vy_arena_allocate(&c->arena, (c->program->memories.count + 1) * sizeof *o->tables);
    if (!o->tables)
        vy_c_refuse_memory(c);
    o->is_sequential = vy_opencl_is_sequential(o);
    vy_opencl_mark(o);
    if (c->status == VYRE_OK)
        reserve_names(o);
    if (c->status == VYRE_OK)
        vy_c_name_all(c);
    if (c->status == VYRE_OK)
        name_arguments(o);
    if (o->device->errata & VY_OPENCL_ERRATUM_POCL)
        name_choice_zero(o);
    if (c->status == VYRE_OK)
        place_tables(o, code);
    if (c->status == VYRE_OK && o->is_sequential)
        vy_opencl_start_sequential(o, code);
    c->out = body;
    c->indentation = c->barriers ? 3 : 1;
    if (c->status == VYRE_OK)
        vy_c_invocation(c);
    if (c->status != VYRE_OK)
        return;
    code->reports = c->reports;
    code->polls = c->polls;
    code->standard = o->uses & (VY_OPENCL_USES_ORDERS | VY_OPENCL_USES_SHUFFLES) && o->device->version >= 200
                         ? o->device->version >= 300 ? "-cl-std=CL3.0" : "-cl-std=CL2.0"
                         : "-cl-std=CL1.2";
    c->out = rest;
    vy_string_add(rest, "/* ---- the program ---- */\n\n");
    write_constants(c, o->tables);
    write_values(o, &code->values);
    write_control(c);
    if (c->barriers) {
        vy_c_state(c);
        vy_string_char(rest, '\n');
    }
    write_kernel(o, body, code);
    c->out = text;
    write_head(o, code);
    const vy_string *const parts[] = {&c->functions, rest};
    for (int i = 0; i < 2; i++) {
        vy_string_append(text, parts[i]->text ? parts[i]->text : "", parts[i]->length);
        text->failed |= parts[i]->failed;
    }
}

static void set_block(vy_opencl_code *code, const uint32_t *size) {
    const int is_flat = size[2] > VY_OPENCL_LONGEST_Z;
    for (unsigned axis = 0; axis < 3; axis++)
        code->block[axis] = !is_flat ? size[axis] : axis ? 1 : size[0] * size[1] * size[2];
}

vyre_status vy_opencl_emit(const vyre_program *program, const vy_opencl_device *device, vy_opencl_code *out,
                           vyre_error *error) {
    vy_opencl o = {.device = device};
    vy_string body = {0}, rest = {0}, text = {0};
    *out = (vy_opencl_code){.tables_argument = VY_NONE, .values_argument = VY_NONE, .control_argument = VY_NONE};
    if (!vy_program_has_entry(program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a `program`, not a file of functions",
                       "a library has nothing to emit");
    vyre_status status = vy_opencl_check(program, device, error);
    if (status != VYRE_OK)
        return status;
    out->values = vy_launch_values_of(program);
    set_block(out, program->workgroup);
    snprintf(out->entry, sizeof out->entry, "%s_kernel", vyre_program_name(program));
    vy_c_open(&o.c, program,
              device->errata & VY_OPENCL_ERRATUM_NVIDIA  ? &vy_opencl_nvidia_dialect
              : device->errata & VY_OPENCL_ERRATUM_INTEL ? &vy_opencl_intel_dialect
                                                         : &vy_opencl_dialect,
              error);
    write_text(&o, &body, &rest, &text, out);
    if (o.c.status == VYRE_OK)
        o.c.status = vy_string_to_bytes(&text, &out->text, error);
    vy_string_free(&body);
    vy_string_free(&rest);
    vy_string_free(&text);
    vy_c_close(&o.c);
    if (o.c.status != VYRE_OK)
        vy_opencl_free(out);
    return o.c.status;
}

void vy_opencl_free(vy_opencl_code *code) {
    vyre_bytes_free(&code->text);
    vyre_bytes_free(&code->tables);
}
