/* Programs that between them have every kind of node, made with the builder; those of level legal of text. The golden
 * files are their wire forms: a program here may not change once its file exists; add another one instead. */
#ifndef VY_TESTS_WIRE_CORPUS_H
#define VY_TESTS_WIRE_CORPUS_H

#include "ir/op_tables.h"
#include "vyre/vyre.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static vyre_builder *corpus_start(const char *name, vyre_memory *out) {
    vyre_builder *b = vyre_builder_new(name);
    *out = vyre_buffer(b, "out", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    vyre_builder_workgroup(b, 64, 1, 1);
    vyre_builder_grid_over(b, *out);
    return b;
}

static void corpus_empty(vyre_builder **b) {
    *b = vyre_builder_new("empty");
}

static void corpus_saxpy(vyre_builder **out) {
    vyre_builder *b = *out = vyre_builder_new("saxpy");
    vyre_value a = vyre_param(b, "a", VYRE_TYPE_F32);
    vyre_memory x = vyre_buffer(b, "x", VYRE_TYPE_F32, VYRE_ACCESS_READ);
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_F32, VYRE_ACCESS_READ_WRITE);
    vyre_builder_workgroup(b, 256, 1, 1);
    vyre_builder_grid_over(b, y);
    vyre_value i = vyre_let(b, "i", vyre_global_id(b, 0));
    vyre_builder_begin_if(b, vyre_lt(b, i, vyre_len(b, y)));
    vyre_builder_store(b, y, i, vyre_fma(b, a, vyre_load(b, x, i), vyre_load(b, y, i)));
    vyre_builder_end(b);
}

/* Literals of every type at their edges: zeros of both signs, infinities, the NaN, the largest and smallest. */
static void corpus_literals(vyre_builder **out) {
    static const uint64_t patterns[] = {0,
                                        1,
                                        0x7f,
                                        0x80,
                                        0xff,
                                        0x7c00,
                                        0x7e00,
                                        0x7f80,
                                        0x7fc0,
                                        0x8000,
                                        0xffff,
                                        0x7f800000,
                                        0x7fc00000,
                                        0x80000000,
                                        0xffffffff,
                                        0x7ff0000000000000,
                                        0x7ff8000000000000,
                                        0x8000000000000000,
                                        UINT64_MAX};
    vyre_memory y;
    vyre_builder *b = *out = corpus_start("literals", &y);
    char name[32];
    for (int type = 0; type < VYRE_TYPE_COUNT; type++)
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
            snprintf(name, sizeof name, "%s_%zu", vyre_type_name((vyre_type)type), i);
            vyre_let(b, name, vyre_literal(b, (vyre_type)type, patterns[i]));
        }
    vyre_let(b, "a", vyre_f32(b, -0.0f));
    vyre_let(b, "c", vyre_f64(b, -0.0));
    vyre_let(b, "d", vyre_f16(b, 0.1));
    vyre_let(b, "e", vyre_bf16(b, -1e30));
    vyre_let(b, "f", vyre_bool(b, 7));
    vyre_let(b, "g", vyre_i8(b, -128));
    vyre_let(b, "h", vyre_i64(b, INT64_MIN));
}

/* Every op on every type it takes. */
static void corpus_ops(vyre_builder **out) {
    vyre_memory y;
    vyre_builder *b = *out = corpus_start("ops", &y);
    vyre_value x[VYRE_TYPE_COUNT];
    char name[64];
    for (int type = 0; type < VYRE_TYPE_COUNT; type++) {
        snprintf(name, sizeof name, "x_%s", vyre_type_name((vyre_type)type));
        x[type] = vyre_param(b, name, (vyre_type)type);
    }
    for (int op = 0; op < VYRE_OP_COUNT; op++)
        for (int from = 0; from < VYRE_TYPE_COUNT; from++)
            for (int to = 0; to < VYRE_TYPE_COUNT; to++) {
                if (vyre_op_get((vyre_op)op)->level != VYRE_LEVEL_SOURCE ||
                    !vyre_op_accepts((vyre_op)op, (vyre_type)from, (vyre_type)to))
                    continue;
                snprintf(name, sizeof name, "%s_%s_%s_", vyre_op_get((vyre_op)op)->name,
                         vyre_type_name((vyre_type)from), vyre_type_name((vyre_type)to));
                vyre_value v = x[from];
                vyre_let(b, name,
                         op == VYRE_OP_CAST                     ? vyre_cast(b, (vyre_type)to, v)
                         : op == VYRE_OP_BITCAST                ? vyre_bitcast(b, (vyre_type)to, v)
                         : op == VYRE_OP_SELECT                 ? vyre_choose(b, x[VYRE_TYPE_BOOL], v, v)
                         : vyre_op_get((vyre_op)op)->arity == 1 ? vyre_op1(b, (vyre_op)op, v)
                         : vyre_op_get((vyre_op)op)->arity == 2 ? vyre_op2(b, (vyre_op)op, v, v)
                                                                : vyre_op3(b, (vyre_op)op, v, v, v));
            }
}

static void corpus_builtins(vyre_builder **out) {
    vyre_memory y;
    vyre_builder *b = *out = corpus_start("builtins", &y);
    vyre_value sum = vyre_local_index(b);
    for (int builtin = 0; builtin < VYRE_BUILTIN_LOCAL_INDEX; builtin++)
        for (unsigned axis = 0; axis < 3; axis++)
            sum = vyre_add(b, sum, vyre_builtin_value(b, (vyre_builtin)builtin, axis));
    vyre_builder_store(b, y, vyre_global_id(b, 0), vyre_add(b, sum, vyre_len(b, y)));
}

static void corpus_control(vyre_builder **out) {
    vyre_memory y;
    vyre_builder *b = *out = corpus_start("control", &y);
    vyre_value n = vyre_param(b, "n", VYRE_TYPE_I32);
    vyre_value i = vyre_let(b, "i", vyre_global_id(b, 0));
    vyre_value sum = vyre_var(b, "sum", vyre_i32(b, 0));
    vyre_value k = vyre_builder_begin_for(b, "k", vyre_i32(b, 10), vyre_neg(b, n), vyre_i32(b, -3));
    vyre_builder_begin_if(b, vyre_eq(b, k, vyre_i32(b, 4)));
    vyre_builder_continue(b);
    vyre_builder_else(b);
    vyre_builder_begin_if(b, vyre_lt(b, sum, k)); /* an if with only an else */
    vyre_builder_else(b);
    vyre_builder_assign(b, sum, vyre_add(b, sum, k));
    vyre_builder_end(b);
    vyre_builder_end(b);
    vyre_builder_end(b);
    vyre_builder_begin_for(b, "k", vyre_i32(b, 0), n, vyre_no_value()); /* no step, the name free again */
    vyre_builder_end(b);
    vyre_builder_begin_region(b, "made.up");
    vyre_builder_begin_while(b, vyre_ne(b, sum, vyre_i32(b, 0)));
    vyre_builder_assign(b, sum, vyre_shr(b, sum, vyre_i32(b, 1)));
    vyre_builder_begin_if(b, vyre_gt(b, sum, n));
    vyre_builder_break(b);
    vyre_builder_end(b);
    vyre_builder_end(b);
    vyre_builder_begin_region(b, "made.up"); /* empty, the string occurred before */
    vyre_builder_end(b);
    vyre_builder_end(b);
    vyre_builder_begin_if(b, vyre_ge(b, i, vyre_len(b, y)));
    vyre_builder_return(b, NULL, 0);
    vyre_builder_end(b);
    vyre_builder_store(b, y, i, vyre_bitcast(b, VYRE_TYPE_U32, sum));
}

static void corpus_memory(vyre_builder **out) {
    vyre_builder *b = *out = vyre_builder_new("memory");
    /* Declared in any order, kept in that of each kind. */
    vyre_memory stack = vyre_array(b, "stack", VYRE_SPACE_PRIVATE, VYRE_TYPE_F16, 300);
    vyre_memory tile = vyre_array(b, "tile", VYRE_SPACE_WORKGROUP, VYRE_TYPE_U64, 128);
    vyre_memory x = vyre_buffer(b, "x", VYRE_TYPE_U8, VYRE_ACCESS_UNIFORM);
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_F16, VYRE_ACCESS_WRITE);
    vyre_builder_workgroup(b, 16, 4, 2);
    vyre_value l = vyre_let(b, "l", vyre_local_index(b));
    vyre_builder_store(b, stack, vyre_i8(b, 5), vyre_cast(b, VYRE_TYPE_F16, vyre_load(b, x, l)));
    vyre_builder_store(b, tile, l, vyre_cast(b, VYRE_TYPE_U64, vyre_len(b, tile)));
    vyre_builder_barrier(b, VYRE_SCOPE_WORKGROUP);
    vyre_builder_store(b, y, vyre_load(b, tile, vyre_sub(b, vyre_u32(b, 127), l)), vyre_load(b, stack, vyre_u64(b, 5)));
    vyre_builder_barrier(b, VYRE_SCOPE_DEVICE);
    vyre_builder_begin_if(b, vyre_eq(b, l, vyre_u32(b, 3)));
    vyre_builder_trap(b, vyre_u32(b, 77));
    vyre_builder_end(b);
    vyre_value shown[2] = {l, vyre_load(b, stack, l)};
    vyre_builder_print(b, "l = {} top = {} \xc3\xa9\"\n", shown, 2);
    vyre_builder_print(b, "done", NULL, 0);
}

static void corpus_atomics(vyre_builder **out) {
    static const vyre_type types[] = {VYRE_TYPE_U32, VYRE_TYPE_I32, VYRE_TYPE_U64, VYRE_TYPE_I64};
    static const char *const names[] = {"u", "v", "w", "z"};
    vyre_builder *b = *out = vyre_builder_new("atomics");
    vyre_memory memories[4];
    vyre_value params[4];
    char name[64];
    for (int i = 0; i < 4; i++) {
        memories[i] = i == 3 ? vyre_array(b, names[i], VYRE_SPACE_WORKGROUP, types[i], 4)
                             : vyre_buffer(b, names[i], types[i], VYRE_ACCESS_READ_WRITE);
        snprintf(name, sizeof name, "p_%d", i);
        params[i] = vyre_param(b, name, types[i]);
    }
    int n = 0;
    for (int atomic = 0; atomic < VYRE_ATOMIC_COUNT; atomic++)
        for (int order = 0; order < VYRE_ORDER_COUNT; order++)
            for (int scope = 0; scope < VYRE_SCOPE_COUNT; scope++) {
                if (atomic == VYRE_ATOMIC_LOAD && order > VYRE_ORDER_ACQUIRE)
                    continue;
                if (atomic == VYRE_ATOMIC_STORE && order != VYRE_ORDER_RELAXED && order != VYRE_ORDER_RELEASE)
                    continue;
                int i = n++ % 4;
                snprintf(name, sizeof name, "r_%d", n);
                vyre_value x = atomic == VYRE_ATOMIC_LOAD ? vyre_no_value() : params[i];
                vyre_value y = atomic == VYRE_ATOMIC_COMPARE_EXCHANGE ? params[i] : vyre_no_value();
                vyre_builder_atomic(b, atomic == VYRE_ATOMIC_STORE || n % 3 == 0 ? NULL : name, (vyre_atomic)atomic,
                                    memories[i], vyre_u32(b, 1), x, y, (vyre_order)order, (vyre_scope)scope);
            }
}

static void corpus_relaxed(vyre_builder **out) {
    vyre_builder *b = *out = vyre_builder_new("relaxed");
    vyre_memory sum = vyre_buffer(b, "sum", VYRE_TYPE_F32, VYRE_ACCESS_READ_WRITE);
    vyre_builder_numerics(b, VYRE_NUMERICS_RELAXED);
    vyre_builder_atomic(b, NULL, VYRE_ATOMIC_ADD, sum, vyre_u32(b, 0), vyre_f32(b, 1.5f), vyre_no_value(),
                        VYRE_ORDER_RELAXED, VYRE_SCOPE_DEVICE);
}

static void corpus_collectives(vyre_builder **out) {
    static const vyre_op combines[] = {VYRE_OP_ADD, VYRE_OP_MUL, VYRE_OP_MIN, VYRE_OP_MAX,
                                       VYRE_OP_AND, VYRE_OP_OR,  VYRE_OP_XOR};
    vyre_memory y;
    vyre_builder *b = *out = corpus_start("collectives", &y);
    vyre_value v = vyre_let(b, "v", vyre_load(b, y, vyre_global_id(b, 0)));
    vyre_value f = vyre_let(b, "f", vyre_cast(b, VYRE_TYPE_BF16, v));
    vyre_value flag = vyre_let(b, "flag", vyre_ne(b, v, vyre_u32(b, 3)));
    char name[64];
    unsigned n = 0;
    for (unsigned width = 0; width <= 64; width = width ? 2 * width : 2)
        for (int collective = 0; collective < VY_SOURCE_COLLECTIVES; collective++) {
            if (width == 0 && collective >= VYRE_COLLECTIVE_BALLOT)
                continue;
            snprintf(name, sizeof name, "c_%u", n++);
            int is_bool = collective == VYRE_COLLECTIVE_ANY || collective == VYRE_COLLECTIVE_ALL ||
                          collective == VYRE_COLLECTIVE_BALLOT;
            int is_indexed = collective == VYRE_COLLECTIVE_BROADCAST || collective >= VYRE_COLLECTIVE_SHUFFLE;
            vyre_builder_collective(b, name, (vyre_collective)collective, combines[n % (n % 2 ? 4 : 7)], width,
                                    is_bool ? flag
                                    : n % 2 ? f
                                            : v,
                                    is_indexed ? vyre_u32(b, 1) : vyre_no_value());
        }
}

static void corpus_calls(vyre_builder **out) {
    vyre_memory y;
    vyre_builder *b = *out = corpus_start("calls", &y);
    vyre_memory tile = vyre_array(b, "tile", VYRE_SPACE_WORKGROUP, VYRE_TYPE_U32, 64);

    vyre_function clamp = vyre_builder_begin_function(b, "clamp");
    vyre_value x = vyre_param(b, "x", VYRE_TYPE_U32);
    vyre_value top = vyre_param(b, "top", VYRE_TYPE_U32);
    vyre_builder_result(b, NULL, VYRE_TYPE_U32);
    vyre_value least = vyre_min(b, x, top);
    vyre_builder_return(b, &least, 1);
    vyre_builder_end_function(b);

    vyre_function split = vyre_builder_begin_function(b, "split");
    vyre_value at = vyre_param(b, "at", VYRE_TYPE_U32);
    vyre_memory t = vyre_memory_param(b, "t", VYRE_SPACE_WORKGROUP, VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    vyre_value scale = vyre_param(b, "scale", VYRE_TYPE_F64);
    vyre_memory from = vyre_memory_param(b, "from", VYRE_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_READ);
    vyre_memory keep = vyre_array(b, "keep", VYRE_SPACE_PRIVATE, VYRE_TYPE_F64, 2);
    vyre_builder_result(b, "low", VYRE_TYPE_U32);
    vyre_builder_result(b, "high", VYRE_TYPE_F64);
    vyre_builder_result(b, "ok", VYRE_TYPE_BOOL);
    vyre_builder_store(b, keep, at, scale);
    const char *limited_name[1] = {"limited"};
    vyre_value limited;
    vyre_operand clamp_arguments[2] = {vyre_operand_value(at),
                                       vyre_operand_value(vyre_sub(b, vyre_len(b, t), vyre_u32(b, 1)))};
    vyre_builder_call(b, clamp, clamp_arguments, 2, limited_name, &limited);
    vyre_value returned[3] = {vyre_load(b, from, limited), vyre_mul(b, scale, vyre_load(b, keep, vyre_u32(b, 0))),
                              vyre_ne(b, vyre_load(b, t, limited), vyre_u32(b, 0))};
    vyre_builder_return(b, returned, 3);
    vyre_builder_end_function(b);

    vyre_function fill = vyre_builder_begin_function(b, "fill");
    vyre_memory to = vyre_memory_param(b, "to", VYRE_SPACE_WORKGROUP, VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    vyre_builder_store(b, to, vyre_local_index(b), vyre_u32(b, 9));
    vyre_builder_end_function(b);

    vyre_value i = vyre_let(b, "i", vyre_global_id(b, 0));
    vyre_operand fill_argument = vyre_operand_memory(tile);
    vyre_builder_call(b, fill, &fill_argument, 1, NULL, NULL);
    vyre_builder_barrier(b, VYRE_SCOPE_WORKGROUP);
    vyre_operand arguments[4] = {vyre_operand_value(i), vyre_operand_memory(tile), vyre_operand_value(vyre_f64(b, 0.5)),
                                 vyre_operand_memory(y)};
    const char *names[3] = {"low", "high", "ok"};
    vyre_value results[3];
    vyre_builder_call(b, split, arguments, 4, names, results);
    for (int round = 0; round < 2; round++) { /* the op id the second time as a reference */
        vyre_operand op_arguments[2] = {vyre_operand_value(vyre_add(b, results[1], vyre_f64(b, 1.0))),
                                        vyre_operand_memory(tile)};
        const char *op_names[2][2] = {{"sine", "cosine"}, {"sine_2", "cosine_2"}};
        vyre_type op_types[2] = {VYRE_TYPE_F64, VYRE_TYPE_F64};
        vyre_value op_results[2];
        vyre_builder_call_op(b, "math.sincos", op_arguments, 2, op_names[round], op_types, 2, op_results);
    }
    vyre_builder_call_op(b, "debug.mark", NULL, 0, NULL, NULL, 0, NULL);
    vyre_builder_store(b, y, i, vyre_choose(b, results[2], results[0], vyre_u32(b, 0)));
}

static void corpus_library(vyre_builder **out) {
    vyre_builder *b = *out = vyre_builder_new_library();
    vyre_builder_begin_function(b, "square");
    vyre_value x = vyre_param(b, "x", VYRE_TYPE_BF16);
    vyre_builder_result(b, "", VYRE_TYPE_BF16);
    vyre_value product = vyre_mul(b, x, x);
    vyre_builder_return(b, &product, 1);
    vyre_builder_end_function(b);
    vyre_builder_begin_function(b, "nothing");
    vyre_builder_end_function(b);
}

static void corpus_sizes(vyre_builder **out) {
    vyre_builder *b = *out = vyre_builder_new("sizes");
    vyre_value n = vyre_param(b, "n", VYRE_TYPE_U64);
    vyre_memory x = vyre_buffer(b, "x", VYRE_TYPE_I16, VYRE_ACCESS_READ);
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_U16, VYRE_ACCESS_WRITE);
    vyre_memory z = vyre_buffer(b, "z", VYRE_TYPE_I64, VYRE_ACCESS_READ_WRITE);
    vyre_memory w = vyre_buffer(b, "w", VYRE_TYPE_I64, VYRE_ACCESS_READ);
    vyre_builder_count(b, y, vyre_size_len(b, z)); /* of a later one */
    vyre_builder_count(b, z, vyre_size_literal(b, 4294967295u));
    vyre_size all = vyre_size_param(b, n);
    all = vyre_size_add(b, all, vyre_size_literal(b, UINT64_MAX));
    all = vyre_size_sub(b, all, vyre_size_len(b, x));
    all = vyre_size_mul(b, all, vyre_size_param(b, n));
    all = vyre_size_div(b, all, vyre_size_literal(b, 128));
    all = vyre_size_rem(b, vyre_size_literal(b, 127), all);
    all = vyre_size_min(b, all, vyre_size_max(b, vyre_size_literal(b, 0), vyre_size_literal(b, 1)));
    vyre_builder_count(b, w, vyre_size_div_ceil(b, all, vyre_size_literal(b, 16)));
    vyre_builder_workgroup(b, 8, 8, 1);
    vyre_builder_grid_groups(b, vyre_size_param(b, n),
                             vyre_size_div_ceil(b, vyre_size_len(b, x), vyre_size_literal(b, 8)), vyre_no_size());
}

static void corpus_elements(vyre_builder **out) {
    vyre_builder *b = *out = vyre_builder_new("elements");
    vyre_builder_workgroup(b, 2, 3, 4);
    vyre_builder_grid_elements(b, vyre_size_literal(b, 100), vyre_size_literal(b, 1), vyre_size_literal(b, 300));
}

static void corpus_indirect(vyre_builder **out) {
    vyre_builder *b = *out = vyre_builder_new("indirect");
    vyre_buffer(b, "x", VYRE_TYPE_U32, VYRE_ACCESS_READ);
    vyre_builder_grid_indirect(b, vyre_buffer(b, "groups", VYRE_TYPE_U32, VYRE_ACCESS_READ), 1000);
}

/* Indices and counts beyond one byte of a number, and an expression as deep as the language allows. */
static void corpus_large(vyre_builder **out) {
    vyre_memory y;
    vyre_builder *b = *out = corpus_start("large", &y);
    vyre_value last = vyre_param(b, "start", VYRE_TYPE_U32);
    char name[64];
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "v_%d", i);
        last = vyre_let(b, name, vyre_xor(b, last, vyre_u32(b, (uint32_t)i * 0x9e3779b9u)));
    }
    vyre_value deep = last;
    for (int i = 0; i < 511; i++)
        deep = i % 2 ? vyre_add(b, last, deep) : vyre_not(b, deep);
    for (int i = 0; i < 120; i++)
        vyre_builder_begin_if(b, vyre_lt(b, last, vyre_u32(b, (uint32_t)i + 1000u)));
    vyre_builder_store(b, y, vyre_global_id(b, 0), deep);
    for (int i = 0; i < 120; i++)
        vyre_builder_end(b);
    char long_name[129];
    memset(long_name, 'n', 128);
    long_name[128] = 0;
    vyre_let(b, long_name, last);
}

/* Constant arrays: of every element type, with contents that arrays share, in functions and in the program. */
static void corpus_constants(vyre_builder **out) {
    static const float floats[4] = {-0.0f, 1.5f, INFINITY, NAN};
    static const uint64_t words[2] = {UINT64_MAX / 255, 1};
    vyre_memory y;
    vyre_builder *b = *out = corpus_start("constants", &y);

    vyre_function read = vyre_builder_begin_function(b, "read");
    vyre_value at = vyre_param(b, "at", VYRE_TYPE_I32);
    vyre_memory given = vyre_memory_param(b, "given", VYRE_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_READ);
    vyre_memory own = vyre_const_array(b, "own", VYRE_TYPE_F32, 4, floats);
    vyre_builder_result(b, NULL, VYRE_TYPE_U32);
    vyre_value sum = vyre_add(b, vyre_load(b, given, at), vyre_bitcast(b, VYRE_TYPE_U32, vyre_load(b, own, at)));
    vyre_builder_return(b, &sum, 1);
    vyre_builder_end_function(b);

    vyre_memory bits = vyre_const_array(b, "bits", VYRE_TYPE_U32, 4, floats);
    vyre_array(b, "_private", VYRE_SPACE_PRIVATE, VYRE_TYPE_U32, 3);
    vyre_const_array(b, "_floats", VYRE_TYPE_F32, 4, floats);
    for (int type = VYRE_TYPE_I8; type < VYRE_TYPE_COUNT; type++) {
        char name[16];
        snprintf(name, sizeof name, "_%s", vyre_type_name((vyre_type)type));
        vyre_const_array(b, name, (vyre_type)type, (uint32_t)(sizeof words / vyre_type_size((vyre_type)type)), words);
    }
    vyre_operand arguments[2] = {vyre_operand_value(vyre_i32(b, -1)), vyre_operand_memory(bits)};
    const char *name = "loaded";
    vyre_value loaded;
    vyre_builder_call(b, read, arguments, 2, &name, &loaded);
    vyre_builder_store(b, y, vyre_global_id(b, 0), vyre_add(b, loaded, vyre_len(b, bits)));
}

/* What only level legal has. */
static const char corpus_legal[] = "fn tail(x: buffer [f32] read, i: u32) -> f32 {\n"
                                   "  return x![i if i < len(x)]\n"
                                   "}\n"
                                   "program legal {\n"
                                   "  level legal\n"
                                   "  buffer x : f32 read\n"
                                   "  buffer y : f32 read_write\n"
                                   "  buffer h : u32 read_write\n"
                                   "  buffer b : u8 read_write\n"
                                   "  workgroup 64\n"
                                   "  array t : u32 [64] workgroup\n"
                                   "  let m = misalignment(x) + misalignment(t)\n"
                                   "  let v = x![m] + tail(x, m)\n"
                                   "  y![m] = approx_div(v, approx_sqrt(x![m + 1 if m < 3]))\n"
                                   "  y[m] = v\n"
                                   "  let (a0, a1) = load_wide(x, m)\n"
                                   "  let (b0, b1, b2, b3, b4, b5, b6, b7) = load_wide(b, 8)\n"
                                   "  store_wide(y, m, a0, a1, v, 0.5)\n"
                                   "  store_wide(b, 0, b7, b6, b5, b4, b3, b2, b1, b0, 1, 2, 3, 4, 5, 6, 7, 8)\n"
                                   "  atomic_add(h![m], 1)\n"
                                   "  let old = atomic_exchange<acq_rel>(t![3], atomic_load(h[0]))\n"
                                   "  let g = subgroup_native_shuffle<32>(v, old)\n"
                                   "  if g > 1.0 { report old + 1 }\n"
                                   "  while true { let stop = poll(); if stop { trap 3 } }\n"
                                   "}\n";
static const char corpus_legal_library[] = "level legal\n"
                                           "fn quotient(a: f64, b: private [f64]) -> f64 {\n"
                                           "  return approx_div(a, b![0])\n"
                                           "}\n";

typedef struct corpus_program {
    const char *name;
    void (*make)(vyre_builder **builder);
    const char *text; /* instead of make */
} corpus_program;

static const corpus_program corpus[] = {
    {"empty", corpus_empty, NULL},
    {"saxpy", corpus_saxpy, NULL},
    {"literals", corpus_literals, NULL},
    {"ops", corpus_ops, NULL},
    {"builtins", corpus_builtins, NULL},
    {"control", corpus_control, NULL},
    {"memory", corpus_memory, NULL},
    {"atomics", corpus_atomics, NULL},
    {"relaxed", corpus_relaxed, NULL},
    {"calls", corpus_calls, NULL},
    {"collectives", corpus_collectives, NULL},
    {"library", corpus_library, NULL},
    {"sizes", corpus_sizes, NULL},
    {"elements", corpus_elements, NULL},
    {"indirect", corpus_indirect, NULL},
    {"large", corpus_large, NULL},
    {"constants", corpus_constants, NULL},
    {"legal", NULL, corpus_legal},
    {"legal_library", NULL, corpus_legal_library},
};
enum { CORPUS_COUNT = sizeof corpus / sizeof *corpus };

static inline vyre_status corpus_parse(const char *text, vyre_diagnostics *diagnostics, vyre_program **out,
                                       vyre_error *error) {
    vyre_module *module;
    vyre_status status = vyre_text_parse(text, strlen(text), NULL, diagnostics, &module, error);
    *out = NULL;
    if (status == VYRE_OK)
        *out = vyre_program_retain(vyre_module_program_count(module) ? vyre_module_program(module, 0)
                                                                     : vyre_module_library(module));
    vyre_module_free(module);
    return status;
}

static inline vyre_status corpus_build(const corpus_program *entry, vyre_diagnostics *diagnostics, vyre_program **out,
                                       vyre_error *error) {
    vyre_builder *b = NULL;
    if (entry->text)
        return corpus_parse(entry->text, diagnostics, out, error);
    entry->make(&b);
    return vyre_builder_finish(b, diagnostics, out, error);
}

/* The program, or NULL with the findings printed. */
static inline vyre_program *corpus_make(size_t index) {
    vyre_program *program;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_diagnostics *diagnostics = vyre_diagnostics_new();
    if (corpus_build(&corpus[index], diagnostics, &program, &error) != VYRE_OK) {
        printf("%s: %s\nFix: %s\n", corpus[index].name, error.message, error.fix);
        for (size_t i = 0; i < vyre_diagnostics_count(diagnostics) && i < 10; i++)
            printf("  %s %s\n", vyre_diagnostics_get(diagnostics, i)->code,
                   vyre_diagnostics_get(diagnostics, i)->message);
    }
    vyre_diagnostics_free(diagnostics);
    return program;
}

#endif
