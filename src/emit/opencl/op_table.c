/* The op table of OpenCL C (c_family/op_rows.h). Functions of the language are called for types of 32 bits and more:
 * they are overloaded, and an expression of a narrow type is an int. */
#include "emit/c_family/op_rows.h"
#include "emit/opencl/emitter.h"

#include <inttypes.h>
#include <stdio.h>

/* clang-format off */
#define FLIPS(sign) {NEGATIONS, BODY("return as_$T(as_$U(a) ^ " sign ");"), NONE}
#define SIGN "($U)1 << ($W - 1)"
#define ROW_NEG FLIPS(SIGN)
#define ROW_POPCOUNT {LIBRARY("popcount"), LIBRARY("popcount"), BODY("return popcount(a);"), NONE, NONE}
#define ROW_CLZ {LIBRARY("clz"), LIBRARY("clz"), BODY("return clz(a);"), NONE, NONE}
#define COUNT_TRAILING WRAPS "popcount(($U)(~($P)a & (($P)a - 1)));"
#define ROW_CTZ {INTEGERS(BODY(COUNT_TRAILING), BODY(COUNT_TRAILING)), NONE, NONE}
/* PoCL 3.1 converts the operand to an integer; of a constant that has no such integer, LLVM makes any value. */
#define ROUNDS(name) {NONE, NONE, NONE, BODY("return fabs(a) < $I ? " name "(a) : a;"), NONE}
#define ROW_FLOOR ROUNDS("floor")
#define ROW_CEIL ROUNDS("ceil")
#define ROW_TRUNC ROUNDS("trunc")
#define ROW_ROUND ROUNDS("rint") /* in the default mode: ties to even */
/* PoCL's mul_hi of 32 bits is not one multiplication. */
#define ROW_MUL_HIGH \
    {BODY("return (ulong)a * b >> 32;"), BODY("return (long)a * b >> 32;"), BODY("return mul_hi(a, b);"), NONE, NONE}
#define MIN_ZEROS "return as_$T(as_$U(a) | as_$U(b));"
#define MAX_ZEROS "return as_$T(as_$U(a) & as_$U(b));"
#define ROW_MIN EXTREME("<", MIN_ZEROS)
#define ROW_MAX EXTREME(">", MAX_ZEROS)

static const char *const types[VYRE_TYPE_COUNT] = {
    "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "ushort", "ushort", "float", "double"};
static const char *const limits[VYRE_TYPE_COUNT] = {
    "", "CHAR", "UCHAR", "SHRT", "USHRT", "INT", "UINT", "LONG", "ULONG", "", "", "", ""};

/* Words that cannot be a name in the file: those of C and OpenCL C, the functions that emitted code calls, and the
 * names that the emitter uses itself; vector types are added by module.c. */
static const char *const reserved[] = {
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "false", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short",
    "signed", "sizeof", "static", "struct", "switch", "true", "typedef", "union", "unsigned", "void", "volatile",
    "while", "asm", "typeof", "uchar", "ushort", "uint", "ulong", "half", "quad", "complex", "imaginary", "size_t",
    "ptrdiff_t", "intptr_t", "uintptr_t", "image1d_t", "image1d_array_t", "image1d_buffer_t", "image2d_t",
    "image2d_array_t", "image3d_t", "sampler_t", "event_t", "queue_t", "ndrange_t", "clk_event_t", "reserve_id_t",
    "pipe", "kernel", "global", "local", "constant", "private", "generic", "read_only", "write_only", "read_write",
    "uniform", "linux", "unix", "i386",
    "popcount", "clz", "mul_hi", "rint", "sqrt", "floor", "ceil", "trunc", "fma", "fabs", "copysign", "isinf",
    "isfinite", "signbit", "as_int", "as_uint", "as_long", "as_ulong", "as_float", "as_double", "barrier",
    "get_local_id", "get_global_id", "get_group_id", "get_num_groups", "get_global_size", "get_global_offset",
    "sub_group_shuffle", "vload4",
    "intel_sub_group_shuffle", "atomic_add", "atomic_and", "atomic_or", "atomic_xor", "atomic_min", "atomic_max",
    "atomic_xchg", "atomic_cmpxchg", "atom_add", "atom_and", "atom_or", "atom_xor", "atom_min", "atom_max",
    "atom_xchg", "atom_cmpxchg", "atomic_work_item_fence", "memory_order_release", "memory_order_acquire",
    "memory_scope_device", "memory_scope_work_group", "values", "tables", "control", "polls", "stopping", NULL};
/* clang-format on */
_Static_assert(VYRE_TYPE_COUNT == 13, "a new type needs a column");

static const vy_c_row rows[VYRE_OP_COUNT] = VY_C_ROWS;
static const vy_c_spelling wide_mul_high[] = {LIBRARY("mul_hi"), LIBRARY("mul_hi")};
#define HIDES_FIRST(symbol) "a " symbol "= ($T)get_global_offset(0);\n"
#define HIDDEN_MUL_HIGH(symbol) BODY(HIDES_FIRST(symbol) "return mul_hi(a, b);")
static const vy_c_spelling intel_wide_mul_high[] = {LIBRARY("mul_hi"), HIDDEN_MUL_HIGH("^")};
static const vy_c_spelling nvidia_wide_mul_high[] = {LIBRARY("mul_hi"), HIDDEN_MUL_HIGH("|")};

/* clang-format off */
#undef ROW_NEG
#undef ROW_SHR
#undef ROW_MUL_HIGH
#define ROW_NEG FLIPS("($U)(get_global_offset(0) == 0) << ($W - 1)")
#define HIDDEN_SHR BODY(WRAPS "((a ^ ($T)get_global_offset(0)) >> (b & ($W - 1)));")
#define ROW_SHR {OPERATOR(">>", SHIFT), HIDDEN_SHR, HIDDEN_SHR, NONE, NONE}
#define INTEL_MUL_HIGH \
    BODY("const $T zero = ($T)get_global_offset(0);\nreturn (long)(a ^ zero) * (b ^ zero) >> 32;")
#define ROW_MUL_HIGH {BODY("return (ulong)a * b >> 32;"), INTEL_MUL_HIGH, HIDDEN_MUL_HIGH("^"), NONE, NONE}
/* clang-format on */
static const vy_c_row intel_rows[VYRE_OP_COUNT] = VY_C_ROWS;

/* clang-format off */
#undef ROW_NEG
#undef ROW_SHR
#define ROW_NEG FLIPS(SIGN)
#define ROW_SHR BITWISE(">>", SHIFT)
#undef NEGATIONS
#undef ROW_NOT
#undef ROW_SUB
#undef ROW_MUL
#undef ROW_DIV
#undef ROW_ABS
#undef ROW_MIN
#undef ROW_MAX
#undef ROW_MUL_HIGH
#define HIDES "$T zero = ($T)get_global_offset(0);\na |= zero;\nb |= zero;\n"
/* The compiler turns i32(-x) of an i16 x into -i32(x), also in the forms 0 - x, x * -1, x / -1, ~x + 1, ~(x - 1). */
#define HIDDEN_NARROW(value) BODY(WRAPS "((" value ") | ($P)get_global_offset(0));")
#define NEGATIONS OPERATOR("-", UNARY), BODY(WRAPS "(0u - ($P)a);"), HIDDEN_NARROW("0u - ($P)a")
#define ROW_NOT {OPERATOR("~", UNARY), OPERATOR("~", UNARY), HIDDEN_NARROW("~($P)a"), NONE, NONE}
#define HIDDEN_WRAPPING(symbol, level) \
    {OPERATOR(symbol, level), BODY(WRAPS "(($P)a " symbol " ($P)b);"), HIDDEN_NARROW("($P)a " symbol " ($P)b"), \
     OPERATOR(symbol, level), NONE}
#define ROW_SUB HIDDEN_WRAPPING("-", ADD)
#define ROW_MUL HIDDEN_WRAPPING("*", MUL)
#define HIDDEN_DIVIDES DIVIDED, DIVIDED_SIGNED, \
    HIDDEN_NARROW("b == 0 ? ($P)-1 : b == ($T)-1 && ($T)-1 < 0 ? 0u - ($P)a : ($P)(a / b)")
#define ROW_DIV {HIDDEN_DIVIDES, OPERATOR("/", MUL), NONE}
#define HIDDEN_EXTREME(symbol, zeros) \
    {INTEGERS(BODY(HIDES "return a " symbol " b ? a : b;"), BODY(HIDES "return a " symbol " b ? a : b;")), \
     BODY("if (a " symbol " b || b != b)\n    return a;\nif (b " symbol " a || a != a)\n    return b;\n" zeros), NONE}
#define ROW_MIN HIDDEN_EXTREME("<", MIN_ZEROS)
#define ROW_MAX HIDDEN_EXTREME(">", MAX_ZEROS)
#define ROW_ABS \
    {BODY("return a;"), BODY(HIDDEN_ABS), BODY(HIDDEN_ABS), \
     BODY("return as_$T(as_$U(fabs(a)) | ($U)get_global_offset(0));"), NONE}
#define HIDDEN_ABS WRAPS "(a < 0 ? 0u - ($P)a : ($P)a) | ($T)get_global_offset(0);"
#define ROW_MUL_HIGH \
    {BODY("return (uint)((ulong)a * b >> 32) | (uint)get_global_offset(0);"), \
     BODY(HIDES_FIRST("|") "return (long)a * b >> 32;"), HIDDEN_MUL_HIGH("|"), NONE, NONE}
/* clang-format on */
static const vy_c_row nvidia_rows[VYRE_OP_COUNT] = VY_C_ROWS;

#define HIDDEN_F32(bits, symbol)                                                                                       \
    { VYRE_TYPE_F32, bits, "as_float(" #bits "u " symbol " (uint)get_global_offset(0))" }
#define HIDDEN_F64(bits, symbol)                                                                                       \
    { VYRE_TYPE_F64, bits, "as_double(" #bits "ul " symbol " get_global_offset(0))" }
static const vy_c_hidden hidden_negatives[] = {
    {VYRE_TYPE_F32, 0x80000000, "as_float((uint)(get_global_offset(0) == 0) << 31)"},
    {VYRE_TYPE_F64, 0x8000000000000000, "as_double((ulong)(get_global_offset(0) == 0) << 63)"},
    HIDDEN_F32(0xbf800000, "^"),
    HIDDEN_F64(0xbff0000000000000, "^"),
    {0, 0, NULL}};
static const vy_c_hidden hidden_zeros[] = {
    HIDDEN_F32(0x80000000, "|"), HIDDEN_F64(0x8000000000000000, "|"), {0, 0, NULL}};

/* In a flat workgroup, and where the invocations of a workgroup run sequentially, there is one local id, from which the
 * others are computed. */
static void flat_builtin(vy_c *c, const vy_expr *e, const uint32_t *size) {
    const uint32_t below = e->axis == 0 ? 1 : e->axis == 1 ? size[0] : size[0] * size[1];
    const char *index = c->barriers ? "local_index" : "(uint)get_local_id(0)";
    char id[80];
    if (size[e->axis] == 1 || size[e->axis] == size[0] * size[1] * size[2])
        snprintf(id, sizeof id, "%s", size[e->axis] == 1 ? "0u" : index);
    else
        snprintf(id, sizeof id, "%s / %" PRIu32 "u %% %" PRIu32 "u", index, below, size[e->axis]);
    switch ((vyre_builtin)e->op) {
    case VYRE_BUILTIN_GLOBAL_SIZE:
        vy_string_format(c->out, "((uint)get_num_groups(%u) * %" PRIu32 "u)", e->axis, size[e->axis]);
        break;
    case VYRE_BUILTIN_LOCAL_ID:
        vy_string_format(c->out, "(%s)", id);
        break;
    case VYRE_BUILTIN_GLOBAL_ID:
        vy_string_format(c->out, "((uint)get_group_id(%u) * %" PRIu32 "u + %s)", e->axis, size[e->axis], id);
        break;
    case VYRE_BUILTIN_LOCAL_INDEX:
        vy_string_add(c->out, index);
        break;
    default:
        vy_string_format(c->out, "(uint)%s(%u)", e->op == VYRE_BUILTIN_GROUP_ID ? "get_group_id" : "get_num_groups",
                         e->axis);
    }
}

/* Ids are calls wherever they are used, not variables: PoCL keeps a variable that is used on both sides of a barrier in
 * an array with an element for each invocation. */
static void write_builtin(vy_c *c, const vy_expr *e) {
    static const char *const functions[VYRE_BUILTIN_COUNT] = {
        [VYRE_BUILTIN_GLOBAL_ID] = "get_global_id",     [VYRE_BUILTIN_LOCAL_ID] = "get_local_id",
        [VYRE_BUILTIN_GROUP_ID] = "get_group_id",       [VYRE_BUILTIN_GROUP_COUNT] = "get_num_groups",
        [VYRE_BUILTIN_GLOBAL_SIZE] = "get_global_size",
    };
    const uint32_t *size = c->program->workgroup;
    if (e->kind == VY_EXPR_ALIGN_OFFSET)
        vy_string_format(c->out, "(((uint)(size_t)%s & 15u) / %uu)", vy_c_memory(c, e->a),
                         (unsigned)vyre_type_size((vyre_type)vy_c_memory_at(c, e->a)->type));
    else if (c->barriers || size[2] > VY_OPENCL_LONGEST_Z)
        flat_builtin(c, e, size);
    else if (functions[e->op])
        vy_string_format(c->out, "(uint)%s(%u)", functions[e->op], e->axis);
    else if (size[1] == 1 && size[2] == 1)
        vy_string_add(c->out, "(uint)get_local_id(0)");
    else if (size[2] == 1)
        vy_string_format(c->out, "(uint)(get_local_id(0) + %" PRIu32 "u * get_local_id(1))", size[0]);
    else
        vy_string_format(c->out,
                         "(uint)(get_local_id(0) + %" PRIu32 "u * (get_local_id(1) + %" PRIu32 "u * get_local_id(2)))",
                         size[0], size[1]);
}

static void builtin(vy_c *c, const vy_expr *e) {
    const int hides = vy_opencl_of(c)->hides_local_ids && e->kind == VY_EXPR_BUILTIN &&
                      (e->op == VYRE_BUILTIN_LOCAL_ID || e->op == VYRE_BUILTIN_LOCAL_INDEX);
    vy_string_add(c->out, hides ? "((uint)get_global_offset(0) | " : "");
    write_builtin(c, e);
    vy_string_add(c->out, hides ? ")" : "");
}

/* clang-format off */
#define DIALECT(table, upper, unknown, literals) { \
    .language = "OpenCL C", \
    .types = types, \
    .limits = limits, \
    .rows = table, \
    .wide_mul_high = upper, \
    .unknown_zero = unknown, \
    .long_suffix = "l", \
    .qualifiers = "static inline __attribute__((always_inline))", \
    .float_suffix = "", \
    .word = "as_uint(vload4(0, &%m))", \
    .word_reversed = "as_uint(vload4(0, &%m).wzyx)", \
    .specials = {"0.0f / 0.0f", "1.0f / 0.0f"}, \
    .hidden = literals, \
    .reserved = reserved, \
    .writers = vy_opencl_writers, \
    .separator = vy_opencl_barrier, \
    .at_barrier = {"goto waiting;"}, \
    .at_end = "goto next;", \
    .array_attribute = " __attribute__((aligned(16)))", \
    .builtin = builtin}
/* clang-format on */

const vy_c_dialect vy_opencl_dialect = DIALECT(rows, wide_mul_high, NULL, NULL);
const vy_c_dialect vy_opencl_nvidia_dialect = DIALECT(nvidia_rows, nvidia_wide_mul_high, NULL, hidden_zeros);
const vy_c_dialect vy_opencl_intel_dialect =
    DIALECT(intel_rows, intel_wide_mul_high, "get_global_offset(0)", hidden_negatives);
