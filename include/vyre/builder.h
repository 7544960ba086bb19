/* The builder creates programs from C, call by call. The result is the same vyre_program that the text form yields.
 * Mistakes are collected and reported together by vyre_builder_finish, so that calls need no error checks.
 *
 * The kernel saxpy of the README:
 *
 *     vyre_builder *b = vyre_builder_new("saxpy");
 *     vyre_value a = vyre_param(b, "a", VYRE_TYPE_F32);
 *     vyre_memory x = vyre_buffer(b, "x", VYRE_TYPE_F32, VYRE_ACCESS_READ);
 *     vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_F32, VYRE_ACCESS_READ_WRITE);
 *     vyre_builder_workgroup(b, 256, 1, 1);
 *     vyre_builder_grid_over(b, y);
 *     vyre_value i = vyre_let(b, "i", vyre_global_id(b, 0));
 *     vyre_builder_begin_if(b, vyre_lt(b, i, vyre_len(b, y)));
 *     vyre_builder_store(b, y, i, vyre_fma(b, a, vyre_load(b, x, i), vyre_load(b, y, i)));
 *     vyre_builder_end(b);
 *     status = vyre_builder_finish(b, diagnostics, &program, &error);
 *
 * Names: a function that returns a value, memory, size or function is vyre_<noun>; a function that only changes the
 * builder is vyre_builder_<verb>.
 *
 * Rules of the whole header:
 *
 *  - Errors: only vyre_builder_finish returns a status. A mistake (a wrong type, a value of another builder, an
 *    unclosed block) is recorded, and later calls continue. vyre_builder_finish reports all mistakes, each with the
 *    item concerned and a fix. The result of a mistaken call may be used anywhere and causes no further report. Out of
 *    memory is reported by vyre_builder_finish. A NULL builder is accepted everywhere. Any other NULL is a mistake,
 *    unless a comment allows it.
 *  - Ownership: strings and arrays are copied. Values, memories, sizes and functions are small structs passed by value.
 *    They belong to their builder, become invalid when it is finished or freed, and need no release. All zeros means
 *    "none".
 *  - Threads: one thread at a time per builder; different builders are independent. No function blocks.
 *  - Expressions are trees. A leaf (literal, param, variable, id, length) may be used any number of times; a computed
 *    value (an op, a load) exactly once. To use a computed value again, bind it with vyre_let. A computed value is
 *    evaluated in the statement that uses it, so a load reads memory, and a var is read, as of that statement. A value
 *    that no statement uses is omitted from the program.
 *  - Declarations (params, buffers, arrays, results) precede the first statement of their function or program, in any
 *    order. Params, buffers and arrays keep the order among their kind. Functions precede the first statement of the
 *    program. */
#ifndef VYRE_BUILDER_H
#define VYRE_BUILDER_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program or library under construction.
 *
 * Constructors:  vyre_builder_new, vyre_builder_new_library
 * Destructors:   vyre_builder_finish, vyre_builder_free */
typedef struct vyre_builder vyre_builder;

/* An expression, or a variable. */
typedef struct vyre_value {
    const vyre_builder *builder;
    uint32_t index;
} vyre_value;
/* A buffer, an array or a memory parameter. */
typedef struct vyre_memory {
    const vyre_builder *builder;
    uint32_t index;
} vyre_memory;
/* A size expression: a count or a grid, evaluated by the host at dispatch over mathematical integers. */
typedef struct vyre_size {
    const vyre_builder *builder;
    uint32_t index;
} vyre_size;
typedef struct vyre_function {
    const vyre_builder *builder;
    uint32_t index;
} vyre_function;

static inline vyre_value vyre_no_value(void) {
    vyre_value none = {NULL, 0};
    return none;
}
static inline vyre_size vyre_no_size(void) {
    vyre_size none = {NULL, 0};
    return none;
}

/* ---- the builder ---- */

/* Creates a builder of a program, or of a library (functions only). Ends with vyre_builder_finish or vyre_builder_free.
 * Returns NULL if out of memory. */
VYRE_API vyre_builder *vyre_builder_new(const char *name);
VYRE_API vyre_builder *vyre_builder_new_library(void);
/* Frees the builder and everything built with it. NULL is ignored. */
VYRE_API void vyre_builder_free(vyre_builder *builder);

/* Validates the program and returns it. Frees the builder, on failure too.
 *
 * diagnostics  Optional; receives every mistake.
 * out          The program, with one reference; release with vyre_program_release.
 *
 * VYRE_INVALID_PROGRAM  mistakes in the calls (codes B…) or, if none, violations of the rules and limits of the
 *                       language (codes V…); error summarises them
 * VYRE_NO_MEMORY        out of host memory, in this call or an earlier one */
VYRE_API vyre_status vyre_builder_finish(vyre_builder *builder, vyre_diagnostics *diagnostics, vyre_program **out,
                                         vyre_error *error);

/* ---- the header of the program; each may be called any number of times before finish, the last call counts ---- */

/* Sets the numerics. Default: strict. */
VYRE_API void vyre_builder_numerics(vyre_builder *builder, vyre_numerics numerics);
/* Sets the workgroup size. Default: 1, 1, 1. */
VYRE_API void vyre_builder_workgroup(vyre_builder *builder, uint32_t x, uint32_t y, uint32_t z);

/* Set the source of the grid (vyre_grid_kind). Default: the dispatch must specify the grid.
 *
 * y, z  May be vyre_no_size(), which means 1. */
VYRE_API void vyre_builder_grid_over(vyre_builder *builder, vyre_memory buffer);
VYRE_API void vyre_builder_grid_groups(vyre_builder *builder, vyre_size x, vyre_size y, vyre_size z);
VYRE_API void vyre_builder_grid_elements(vyre_builder *builder, vyre_size x, vyre_size y, vyre_size z);
VYRE_API void vyre_builder_grid_indirect(vyre_builder *builder, vyre_memory buffer, uint32_t offset);

/* ---- declarations ---- */

/* Address spaces of memories. */
typedef enum vyre_space { VYRE_SPACE_BUFFER, VYRE_SPACE_WORKGROUP, VYRE_SPACE_PRIVATE, VYRE_SPACE_COUNT } vyre_space;

/* Declares a scalar param: of the function between vyre_builder_begin_function and vyre_builder_end_function, otherwise
 * of the program. A leaf. */
VYRE_API vyre_value vyre_param(vyre_builder *builder, const char *name, vyre_type type);

/* Declares a buffer of the program, and fixes its element count. Without vyre_builder_count the dispatch supplies the
 * count. */
VYRE_API vyre_memory vyre_buffer(vyre_builder *builder, const char *name, vyre_type type, vyre_access access);
VYRE_API void vyre_builder_count(vyre_builder *builder, vyre_memory buffer, vyre_size count);
/* Declares an array: in the program, a workgroup or private one; in a function, a private one. */
VYRE_API vyre_memory vyre_array(vyre_builder *builder, const char *name, vyre_space space, vyre_type type,
                                uint32_t elements);
/* Declares a constant array of the program or function: an array that is only read. The elements, in the layout of
 * memory, are copied; a NaN becomes the canonical one. Loads, vyre_len and bounds are as for a buffer. It can be passed
 * to functions and ops that take a buffer with access read. */
VYRE_API vyre_memory vyre_const_array(vyre_builder *builder, const char *name, vyre_type type, uint32_t elements,
                                      const void *data);

/* Begins a function: declarations, statements, vyre_builder_end_function. A function can be called once it has begun;
 * recursion is rejected. */
VYRE_API vyre_function vyre_builder_begin_function(vyre_builder *builder, const char *name);
/* Declares a memory parameter of a function. access applies to buffers; arrays are read_write. */
VYRE_API vyre_memory vyre_memory_param(vyre_builder *builder, const char *name, vyre_space space, vyre_type type,
                                       vyre_access access);

/* Declares the next result of a function.
 *
 * name  "" or NULL if it is the only result and needs no name. */
VYRE_API void vyre_builder_result(vyre_builder *builder, const char *name, vyre_type type);
VYRE_API void vyre_builder_end_function(vyre_builder *builder);

/* ---- sizes: leaves are reusable, operators are used once, like values ---- */

VYRE_API vyre_size vyre_size_literal(vyre_builder *builder, uint64_t value);
/* The value of an integer param of the program. */
VYRE_API vyre_size vyre_size_param(vyre_builder *builder, vyre_value param);
/* The element count of a buffer. */
VYRE_API vyre_size vyre_size_len(vyre_builder *builder, vyre_memory buffer);

/* Operators of sizes. X(name, ID) */
#define VYRE_SIZE_OP_LIST(X)                                                                                           \
    X(add, ADD) X(sub, SUB) X(mul, MUL) X(div, DIV) X(rem, REM) X(min, MIN) X(max, MAX) X(div_ceil, DIV_CEIL)
typedef enum vyre_size_op {
#define X(name, ID) VYRE_SIZE_OP_##ID,
    VYRE_SIZE_OP_LIST(X)
#undef X
        VYRE_SIZE_OP_COUNT
} vyre_size_op;
VYRE_API vyre_size vyre_size_binary(vyre_builder *builder, vyre_size_op op, vyre_size x, vyre_size y);
/* One function per operator: vyre_size_add(b, x, y), … */
#define X(name, ID)                                                                                                    \
    static inline vyre_size vyre_size_##name(vyre_builder *builder, vyre_size x, vyre_size y) {                        \
        return vyre_size_binary(builder, VYRE_SIZE_OP_##ID, x, y);                                                     \
    }
VYRE_SIZE_OP_LIST(X)
#undef X

/* ---- leaves ---- */

/* A literal of any type, from its bits. Excess bits are dropped, and a NaN becomes the canonical one. */
VYRE_API vyre_value vyre_literal(vyre_builder *builder, vyre_type type, uint64_t bits);
/* A float literal from a C value, rounded to the type. */
VYRE_API vyre_value vyre_f16(vyre_builder *builder, double value);
VYRE_API vyre_value vyre_bf16(vyre_builder *builder, double value);
VYRE_API vyre_value vyre_f32(vyre_builder *builder, float value);
VYRE_API vyre_value vyre_f64(vyre_builder *builder, double value);
/* Integer literals: vyre_u32(b, 5), … X(name, ID, C type) */
/* clang-format off */
#define VYRE_INTEGER_LITERAL_LIST(X)                                                                                   \
    X(i8, I8, int8_t) X(u8, U8, uint8_t) X(i16, I16, int16_t) X(u16, U16, uint16_t)                                    \
    X(i32, I32, int32_t) X(u32, U32, uint32_t) X(i64, I64, int64_t) X(u64, U64, uint64_t)
/* clang-format on */
#define X(name, ID, C)                                                                                                 \
    static inline vyre_value vyre_##name(vyre_builder *builder, C value) {                                             \
        return vyre_literal(builder, VYRE_TYPE_##ID, (uint64_t)value);                                                 \
    }
VYRE_INTEGER_LITERAL_LIST(X)
#undef X
static inline vyre_value vyre_bool(vyre_builder *builder, int value) {
    return vyre_literal(builder, VYRE_TYPE_BOOL, value != 0);
}

/* A built-in value of the invocation, as u32.
 *
 * axis  0, 1, 2 for x, y, z; 0 for built-ins without axes. */
VYRE_API vyre_value vyre_builtin_value(vyre_builder *builder, vyre_builtin builtin, unsigned axis);
#define X(name, ID)                                                                                                    \
    static inline vyre_value vyre_##name(vyre_builder *builder, unsigned axis) {                                       \
        return vyre_builtin_value(builder, VYRE_BUILTIN_##ID, axis);                                                   \
    }
X(global_id, GLOBAL_ID)
X(local_id, LOCAL_ID)
X(group_id, GROUP_ID)
X(workgroup_size, WORKGROUP_SIZE)
X(group_count, GROUP_COUNT)
X(global_size, GLOBAL_SIZE)
#undef X
static inline vyre_value vyre_local_index(vyre_builder *builder) {
    return vyre_builtin_value(builder, VYRE_BUILTIN_LOCAL_INDEX, 0);
}

/* The element count of a memory; u32. */
VYRE_API vyre_value vyre_len(vyre_builder *builder, vyre_memory memory);

/* ---- computed values: used once ---- */

/* memory[index]; zero if out of bounds. The index is of any integer type. */
VYRE_API vyre_value vyre_load(vyre_builder *builder, vyre_memory memory, vyre_value index);
/* Conversion of the value (vyre_cast), reinterpretation of the bits (vyre_bitcast). */
VYRE_API vyre_value vyre_cast(vyre_builder *builder, vyre_type type, vyre_value x);
VYRE_API vyre_value vyre_bitcast(vyre_builder *builder, vyre_type type, vyre_value x);
/* Any op of the op table except cast and bitcast, by its number of operands. No implicit conversions. */
VYRE_API vyre_value vyre_op1(vyre_builder *builder, vyre_op op, vyre_value x);
VYRE_API vyre_value vyre_op2(vyre_builder *builder, vyre_op op, vyre_value x, vyre_value y);
VYRE_API vyre_value vyre_op3(vyre_builder *builder, vyre_op op, vyre_value x, vyre_value y, vyre_value z);

/* The same ops by name: vyre_neg(b, x), vyre_add(b, x, y), vyre_fma(b, x, y, z). vyre_choose is the op `select`.
 * X(name, ID) */
/* clang-format off */
#define VYRE_UNARY_LIST(X)                                                                                             \
    X(neg, NEG) X(not, NOT) X(lnot, LNOT) X(abs, ABS) X(popcount, POPCOUNT) X(clz, CLZ) X(ctz, CTZ)                    \
    X(reverse_bits, REVERSE_BITS) X(reverse_bytes, REVERSE_BYTES) X(sqrt, SQRT) X(floor, FLOOR) X(ceil, CEIL)          \
    X(trunc, TRUNC) X(round, ROUND) X(is_nan, IS_NAN) X(is_inf, IS_INF) X(is_finite, IS_FINITE) X(signbit, SIGNBIT)
#define VYRE_BINARY_LIST(X)                                                                                            \
    X(add, ADD) X(sub, SUB) X(mul, MUL) X(mul_high, MUL_HIGH) X(div, DIV) X(rem, REM) X(remainder, REMAINDER)          \
    X(and, AND) X(or, OR) X(xor, XOR) X(land, LAND) X(lor, LOR) X(shl, SHL) X(shr, SHR) X(rotl, ROTL)                  \
    X(rotr, ROTR) X(min, MIN) X(max, MAX) X(copysign, COPYSIGN)                                                        \
    X(eq, EQ) X(ne, NE) X(lt, LT) X(le, LE) X(gt, GT) X(ge, GE)
/* clang-format on */
#define VYRE_TERNARY_LIST(X) X(choose, SELECT) X(fma, FMA)
#define X(name, ID)                                                                                                    \
    static inline vyre_value vyre_##name(vyre_builder *builder, vyre_value x) {                                        \
        return vyre_op1(builder, VYRE_OP_##ID, x);                                                                     \
    }
VYRE_UNARY_LIST(X)
#undef X
#define X(name, ID)                                                                                                    \
    static inline vyre_value vyre_##name(vyre_builder *builder, vyre_value x, vyre_value y) {                          \
        return vyre_op2(builder, VYRE_OP_##ID, x, y);                                                                  \
    }
VYRE_BINARY_LIST(X)
#undef X
#define X(name, ID)                                                                                                    \
    static inline vyre_value vyre_##name(vyre_builder *builder, vyre_value x, vyre_value y, vyre_value z) {            \
        return vyre_op3(builder, VYRE_OP_##ID, x, y, z);                                                               \
    }
VYRE_TERNARY_LIST(X)
#undef X

/* ---- statements; one that declares a variable returns it, as a leaf ---- */

/* Declares an immutable (vyre_let) or mutable (vyre_var) variable of the value's type. */
VYRE_API vyre_value vyre_let(vyre_builder *builder, const char *name, vyre_value value);
VYRE_API vyre_value vyre_var(vyre_builder *builder, const char *name, vyre_value value);
VYRE_API void vyre_builder_assign(vyre_builder *builder, vyre_value var, vyre_value value);
/* memory[index] = value; ignored if out of bounds. */
VYRE_API void vyre_builder_store(vyre_builder *builder, vyre_memory memory, vyre_value index, vyre_value value);

/* An atomic operation on memory[index].
 *
 * name  The variable for the result. NULL: the result is not bound and no value is returned; an atomic such as add then
 *       does not make the program schedule-dependent.
 * x, y  As many operands as the atomic has (VYRE_ATOMIC_LIST); vyre_no_value() for the rest. */
VYRE_API vyre_value vyre_builder_atomic(vyre_builder *builder, const char *name, vyre_atomic atomic, vyre_memory memory,
                                        vyre_value index, vyre_value x, vyre_value y, vyre_order order,
                                        vyre_scope scope);

/* A collective operation.
 *
 * combine  Ignored by collectives that do not combine.
 * width    0: over the workgroup. 2 … 64: over logical subgroups of that many lanes.
 * x, y     As many operands as the collective has (VYRE_COLLECTIVE_LIST). */
VYRE_API vyre_value vyre_builder_collective(vyre_builder *builder, const char *name, vyre_collective collective,
                                            vyre_op combine, unsigned width, vyre_value x, vyre_value y);

/* An argument of a call: a value, or a memory. */
typedef struct vyre_operand {
    vyre_value value;
    vyre_memory memory;
} vyre_operand;
static inline vyre_operand vyre_operand_value(vyre_value value) {
    vyre_operand operand = {value, {NULL, 0}};
    return operand;
}
static inline vyre_operand vyre_operand_memory(vyre_memory memory) {
    vyre_operand operand = {{NULL, 0}, memory};
    return operand;
}

/* Calls a function of this builder.
 *
 * names    One per result of the function; NULL binds none.
 * results  Optional; receives one value per result. */
VYRE_API void vyre_builder_call(vyre_builder *builder, vyre_function function, const vyre_operand *arguments,
                                size_t argument_count, const char *const *names, vyre_value *results);

/* Calls an op of a dialect by its complete id, such as "int.isqrt_u32" or "math.exp_f32". The id is resolved when the
 * program is compiled, so the call states the types of the results.
 *
 * results  Optional; receives one value per result. */
VYRE_API void vyre_builder_call_op(vyre_builder *builder, const char *id, const vyre_operand *arguments,
                                   size_t argument_count, const char *const *names, const vyre_type *types,
                                   size_t result_count, vyre_value *results);

/* A barrier: VYRE_SCOPE_WORKGROUP, or VYRE_SCOPE_DEVICE for the grid barrier. */
VYRE_API void vyre_builder_barrier(vyre_builder *builder, vyre_scope scope);
VYRE_API void vyre_builder_trap(vyre_builder *builder, vyre_value code);
/* Prints a format with one {} per value. Only the reference interpreter prints. */
VYRE_API void vyre_builder_print(vyre_builder *builder, const char *format, const vyre_value *values, size_t count);
VYRE_API void vyre_builder_break(vyre_builder *builder);
VYRE_API void vyre_builder_continue(vyre_builder *builder);
/* Returns from a function with one value per result; from a program with none. */
VYRE_API void vyre_builder_return(vyre_builder *builder, const vyre_value *values, size_t count);

/* ---- blocks: closed by vyre_builder_end, innermost first ---- */

VYRE_API void vyre_builder_begin_if(vyre_builder *builder, vyre_value condition);
/* Begins the else branch of the innermost open if. */
VYRE_API void vyre_builder_else(vyre_builder *builder);
/* Begins a loop and returns its variable. step vyre_no_value() means 1. */
VYRE_API vyre_value vyre_builder_begin_for(vyre_builder *builder, const char *name, vyre_value from, vyre_value to,
                                           vyre_value step);
/* Begins a loop whose condition is evaluated before each iteration. */
VYRE_API void vyre_builder_begin_while(vyre_builder *builder, vyre_value condition);
/* Begins a region that names the origin of its code: an op id or the name of a function. */
VYRE_API void vyre_builder_begin_region(vyre_builder *builder, const char *name);
VYRE_API void vyre_builder_end(vyre_builder *builder);

#ifdef __cplusplus
}
#endif
#endif
