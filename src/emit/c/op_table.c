/* The op table of plain C (c_family/op_rows.h): the ops that C17 has no operator or function for are computed by
 * functions of the file. */
#include "emit/c/emitter.h"
#include "emit/c_family/op_rows.h"

/* clang-format off */
#define FLIPS "$U n;\nmemcpy(&n, &a, sizeof n);\nn ^= ($U)1 << ($W - 1);\nmemcpy(&a, &n, sizeof a);\nreturn a;"
#define ROW_NEG {NEGATIONS, BODY(FLIPS), NONE}
#define COUNT_BITS "uint64_t n = ($U)a;\n" "n -= (n >> 1) & 0x5555555555555555ull;\n" \
    "n = (n & 0x3333333333333333ull) + ((n >> 2) & 0x3333333333333333ull);\n" \
    "n = (n + (n >> 4)) & 0x0f0f0f0f0f0f0f0full;\n" WRAPS "((n * 0x0101010101010101ull) >> 56);"
#define ROW_POPCOUNT {INTEGERS(BODY(COUNT_BITS), BODY(COUNT_BITS)), NONE, NONE}
#define COUNT_LEADING "uint64_t n = ($U)a;\nn |= n >> 1;\nn |= n >> 2;\nn |= n >> 4;\nn |= n >> 8;\nn |= n >> 16;\n" \
    "n |= n >> 32;\n" WRAPS "($W - @popcount_u64(n));"
#define ROW_CLZ {INTEGERS(BODY(COUNT_LEADING), BODY(COUNT_LEADING)), NONE, NONE}
#define COUNT_TRAILING "uint64_t n = ($U)a;\n" WRAPS "(n == 0 ? $W : @popcount_u64(~n & (n - 1)));"
#define ROW_CTZ {INTEGERS(BODY(COUNT_TRAILING), BODY(COUNT_TRAILING)), NONE, NONE}
#define ROW_FLOOR FLOAT_CALL("floor$F")
#define ROW_CEIL FLOAT_CALL("ceil$F")
#define ROW_TRUNC FLOAT_CALL("trunc$F")
#define ROW_ROUND FLOAT_CALL("nearbyint$F") /* in the default mode: ties to even */
/* of 64 bits: wide_mul_high */
#define ROW_MUL_HIGH {BODY(WRAPS "(((uint64_t)a * b) >> $W);"), BODY(WRAPS "(((int64_t)a * b) >> $W);"), \
     BODY(WRAPS "(((int64_t)a * b) >> $W);"), NONE, NONE}
#define JOINS(join) \
    "$U m, n;\nmemcpy(&m, &a, sizeof m);\nmemcpy(&n, &b, sizeof n);\n" \
    "m " join " n;\nmemcpy(&a, &m, sizeof a);\nreturn a;"
#define ROW_MIN EXTREME("<", JOINS("|="))
#define ROW_MAX EXTREME(">", JOINS("&="))

static const char *const types[VYRE_TYPE_COUNT] = {
    "bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t",
    "uint16_t", "uint16_t", "float", "double"};
static const char *const limits[VYRE_TYPE_COUNT] = {
    "", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64", "", "", "", ""};
/* clang-format on */
_Static_assert(VYRE_TYPE_COUNT == 13, "a new type needs a column");

static const vy_c_row rows[VYRE_OP_COUNT] = VY_C_ROWS;

static const vy_c_spelling wide_mul_high[] = {
    BODY("uint64_t low = (a & 0xffffffffu) * (b & 0xffffffffu);\n"
         "uint64_t middle = (a >> 32) * (b & 0xffffffffu) + (low >> 32);\n"
         "uint64_t other = (a & 0xffffffffu) * (b >> 32) + (middle & 0xffffffffu);\n"
         "return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);"),
    BODY("uint64_t high = @mul_high_u64((uint64_t)a, (uint64_t)b);\n" WRAPS
         "(high - (a < 0 ? (uint64_t)b : 0) - (b < 0 ? (uint64_t)a : 0));")};

/* Words that cannot be a name in the file: those of C, macros of its headers that are not in capitals, and the names
 * that the emitter uses itself. */
/* clang-format off */
static const char *const reserved[] = {
    "alignas", "alignof", "asm", "auto", "bool", "break", "case", "char", "const", "constexpr", "continue", "default",
    "do", "double", "else", "enum", "extern", "false", "float", "for", "goto", "if", "inline", "int", "long", "nullptr",
    "register", "restrict", "return", "short", "signed", "sizeof", "static", "static_assert", "struct", "switch",
    "thread_local", "true", "typedef", "typeof", "typeof_unqual", "union", "unsigned", "void", "volatile", "while",
    "linux", "unix", "i386", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t",
    "size_t", "isinf", "isfinite", "isnan", "signbit", "memcpy", "memset", "malloc", "calloc", "free", "sqrtf", "sqrt",
    "floorf", "floor", "ceilf", "ceil", "truncf", "trunc", "nearbyintf", "nearbyint", "fmaf", "fma", "fabsf", "fabs",
    "copysignf", "copysign", "given", "ids", "group", "self", "at", "invocations", "groups", "stop", "stopped",
    "trap_invocation", "trap_code", "local_index",
    "errno", "math_errhandling", NULL};
/* clang-format on */

static void builtin(vy_c *c, const vy_expr *e) {
    if (e->kind != VY_EXPR_BUILTIN)
        vy_c_refuse(c, "wide accesses");
    else
        vy_string_format(c->out, vy_builtins[e->op].has_axes ? "ids->%s[%u]" : "ids->%s", vy_builtins[e->op].name,
                         e->axis);
}

const vy_c_dialect vy_c_plain = {.language = "C",
                                 .types = types,
                                 .limits = limits,
                                 .rows = rows,
                                 .wide_mul_high = wide_mul_high,
                                 .moves_bits = "$R bits;\nmemcpy(&bits, &a, sizeof bits);\nreturn bits;",
                                 .long_suffix = "ll",
                                 .qualifiers = "static inline",
                                 .float_suffix = "f",
                                 .specials = {"NAN"}, /* a constant; its bits are made canonical where they are seen */
                                 .reserved = reserved,
                                 .writers = vy_c_writers,
                                 .at_barrier = {"return AT_BARRIER;", "return AT_GRID_BARRIER;"},
                                 .at_end = "return ENDED;",
                                 .array_attribute = "",
                                 .is_for_gcc = 1,
                                 .builtin = builtin};
