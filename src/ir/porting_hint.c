/* Porting hints (porting_hint.h). A case of tests/tool/fixes applies each fix. */
#include "ir/porting_hint.h"

#include <string.h>

typedef struct porting_hint {
    const char *words; /* separated by spaces */
    const char *meant;
} porting_hint;

static const porting_hint types[] = {
    {"int", "i32"},   {"uint unsigned", "u32"}, {"float", "f32"}, {"double", "f64"},    {"half", "f16"},
    {"char", "i8"},   {"byte uchar", "u8"},     {"short", "i16"}, {"ushort", "u16"},    {"long", "i64"},
    {"ulong", "u64"}, {"size_t usize", "u64"},  {"isize", "i64"}, {"bfloat16", "bf16"},
};

static const porting_hint builtins[] = {
    {"threadIdx LocalInvocationID gl_LocalInvocationID local_invocation_id", "local_id"},
    {"blockIdx WorkGroupID gl_WorkGroupID workgroup_id", "group_id"},
    {"blockDim gl_WorkGroupSize", "workgroup_size"},
    {"gridDim gl_NumWorkGroups num_workgroups", "group_count"},
    {"gl_GlobalInvocationID global_invocation_id", "global_id"},
};

static const porting_hint suffixes[] = {
    {"f F", "f32"},
    {"h H", "f16"},
    {"d D", "f64"},
    {"u U", "u32"},
    {"i", "i32"},
    {"l L ll LL", "i64"},
    {"ul UL uL ull ULL lu LU llu", "u64"},
};

static const porting_hint values[] = {
    {"nan NAN NaN", "write `f32.nan`, or that of the type needed; test for it with `is_nan(x)`"},
    {"inf INF INFINITY infinity HUGE_VAL", "write `f32.inf`, or that of the type needed"},
    {"PI M_PI pi", "write the number: `3.141592653589793`"},
    {"thread_id tid gid thread_index global_index", "write `global_id.x`, or `local_index` within the workgroup"},
    {"lid lane local_thread_id", "write `local_index`"},
    {"len", "write `len(x)`, with the name of a buffer or array"},
    {"UINT_MAX UINT32_MAX", "write `4294967295u32`"},
    {"INT_MAX INT32_MAX", "write `2147483647i32`"},
    {"INT_MIN INT32_MIN", "write `-2147483648i32`"},
    {"FLT_MAX", "write `3.4028235e38f32`"},
    {"FLT_MIN", "write `1.1754944e-38f32`"},
    {"FLT_EPSILON", "write `1.1920929e-7f32`"},
    {"True TRUE", "write `true`"},
    {"False FALSE", "write `false`"},
    {"null NULL nullptr None nil", "remove it; the language has no pointers, and an index out of bounds loads zero"},
};

#define SCALARS "write one variable for each component; there are only scalar types"

static const porting_hint statements[] = {
    {"float2 float3 float4 int2 int3 int4 uint2 uint3 uint4 half2 half4 double2 vec2 vec3 vec4", SCALARS},
    {"import include use using require module",
     "copy the functions into this file; a file is self-contained, and ops of "
     "dialects are called by their id without an import"},
    {"loop forever repeat", "write `while true { … }`"},
    {"do", "write `while true { … if !condition { break } }`"},
    {"until unless", "write `while` or `if` with the opposite condition"},
    {"foreach", "write `for i in 0u32 .. n { … }`"},
    {"elif elsif elseif", "write `else if`"},
    {"switch match select case when default", "write `if … { … } else if … { … } else { … }`"},
    {"discard exit stop quit halt", "write `return`, which ends the invocation"},
    {"goto", "use a loop with `break` and `continue`"},
    {"assert panic throw raise abort", "write `if !condition { trap 1 }`"},
    {"yield", "store the value in a buffer, or `return` it from a function"},
    {"try catch except finally", "remove it and keep the statements of its block; there are no exceptions"},
    {"pass", "leave it out; a block may be empty"},
    {"end endif endfor endwhile done fi", "end the block with `}`"},
    {"mut auto", "write `var name = value`"},
    {"def func function proc sub inline", "write `fn name(x: f32) -> f32 { … }` outside the program"},
    {"kernel void __global__ entry", "write `program name { … }`, outside every body"},
    {"shared __shared__ groupshared threadgroup local", "write `array name : f32 [64] workgroup`"},
    {"struct class enum union typedef type", "write one variable or buffer for each member; there are only scalar "
                                             "types"},
};

#define UNDEFINED "define it with `fn` in this file; `vyre ops` lists the ops of the language"

static const porting_hint functions[] = {
    {"sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sincos sinpi cospi", UNDEFINED},
    {"sinf cosf tanf expf logf powf exp exp2 exp10 expm1 log ln log2 log10 log1p pow powr ldexp frexp", UNDEFINED},
    {"erf erfc tgamma lgamma hypot cbrt sigmoid gelu fmod modf", UNDEFINED},
    {"vec2 vec3 vec4 make_float2 make_float3 make_float4 float2 float3 float4 int2 int4 uint2 uint4", SCALARS},
    {"get_global_id", "write `global_id.x`, `global_id.y` or `global_id.z`"},
    {"get_local_id", "write `local_id.x`, `local_id.y` or `local_id.z`"},
    {"get_group_id", "write `group_id.x`, `group_id.y` or `group_id.z`"},
    {"dot cross length distance normalize reflect mix lerp clamp step smoothstep saturate fract frac sign signum rsqrt "
     "inversesqrt degrees radians",
     UNDEFINED},
    {"rand random randn uniform", "call `random.philox4x32`, and `random.unit_f32` for floats"},
    {"square", "write `x * x`"},
    {"recip rcp", "write `1.0 / x`"},
    {"fabs fabsf", "write `abs(x)`"},
    {"fmin fminf minimum", "write `min(a, b)`"},
    {"fmax fmaxf maximum", "write `max(a, b)`"},
    {"ceiling", "write `ceil(x)`"},
    {"rint nearbyint roundeven", "write `round(x)`"},
    {"mad", "write `fma(a, b, c)`"},
    {"isnan isnanf", "write `is_nan(x)`"},
    {"isinf", "write `is_inf(x)`"},
    {"isfinite", "write `is_finite(x)`"},
    {"mod", "write `a % b` for integers, `a - b * floor(a / b)` for floats"},
    {"popcnt popc __popc __popcll bitcount bitCount countOneBits", "write `popcount(x)`"},
    {"countLeadingZeros __clz __clzll", "write `clz(x)`"},
    {"countTrailingZeros", "write `ctz(x)`"},
    {"bswap byteswap", "write `reverse_bytes(x)`"},
    {"rotate", "write `rotl(x, n)`"},
    {"sizeof", "write the number of bytes, or `len(m)` for the number of elements"},
    {"as_uint asuint __float_as_uint floatBitsToUint", "write `bitcast<u32>(x)`"},
    {"as_int asint __float_as_int floatBitsToInt", "write `bitcast<i32>(x)`"},
    {"as_float asfloat __uint_as_float __int_as_float uintBitsToFloat intBitsToFloat", "write `bitcast<f32>(x)`"},
    {"reinterpret_cast bit_cast as_type transmute", "write `bitcast<u32>(x)`, with the type of the result"},
    {"workgroup_sum workgroup_add work_group_reduce_add block_reduce BlockReduce", "write `workgroup_reduce_add(x)`"},
    {"workgroup_max work_group_reduce_max", "write `workgroup_reduce_max(x)`"},
    {"workgroup_min work_group_reduce_min", "write `workgroup_reduce_min(x)`"},
    {"subgroup_sum subgroup_add subgroupAdd warp_reduce __reduce_add_sync sub_group_reduce_add",
     "write `subgroup_reduce_add<32>(x)`"},
    {"__shfl_sync subgroupShuffle", "write `subgroup_shuffle<32>(x, lane)`"},
    {"__shfl_down_sync subgroupShuffleDown", "write `subgroup_shuffle_down<32>(x, n)`"},
    {"__shfl_up_sync subgroupShuffleUp", "write `subgroup_shuffle_up<32>(x, n)`"},
    {"__shfl_xor_sync subgroupShuffleXor", "write `subgroup_shuffle_xor<32>(x, mask)`"},
    {"__ballot_sync subgroupBallot", "write `subgroup_ballot<32>(condition)`"},
    {"__threadfence memoryBarrier threadfence", "write `barrier`, or use an atomic with `<acq_rel>`"},
    {"syncthreads __syncthreads workgroupBarrier workgroup_barrier threadgroup_barrier __syncwarp "
     "GroupMemoryBarrierWithGroupSync",
     "write `barrier`"},
    {"printf println", "write `print \"x = {}\", x`"},
    {"atomic_inc atomicInc atomic_increment", "write `atomic_add(m[i], 1)`"},
    {"atomic_dec atomicDec atomic_decrement", "write `atomic_add(m[i], -1)`, or for an unsigned element the largest "
                                              "value of its type"},
    {"atomic_sub atomicSub", "write `atomic_add(m[i], -x)`, or for an unsigned element `0 - x`"},
    {"atomic_nand atomic_mul", "repeat `atomic_compare_exchange(m[i], old, new)` until it returns `old`"},
    {"atomicAdd atomic_fetch_add", "write `atomic_add(m[i], x)`"},
    {"atomicMin", "write `atomic_min(m[i], x)`"},
    {"atomicMax", "write `atomic_max(m[i], x)`"},
    {"atomic_swap atomic_exch atomic_xchg atomicExch", "write `atomic_exchange(m[i], x)`"},
    {"atomic_cas atomicCAS atomic_cmpxchg", "write `atomic_compare_exchange(m[i], expected, new)`"},
};

/* Functions of other languages that have another name in the dialect `math`. */
static const porting_hint math_names[] = {
    {"ln log_e", "log"},
    {"exponential", "exp"},
    {"powr power", "pow"},
    {"pown", "powi"},
    {"lerp", "mix"},
    {"signum", "sign"},
    {"frac", "fract"},
    {"clip", "clamp"},
    {"inversesqrt", "rsqrt"},
    {"arcsin", "asin"},
    {"arccos", "acos"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arcsinh", "asinh"},
    {"arccosh", "acosh"},
    {"arctanh", "atanh"},
    {"gamma", "tgamma"},
    {"rad2deg rad_to_deg", "degrees"},
    {"deg2rad deg_to_rad", "radians"},
    {"logistic expit", "sigmoid"},
};

/* Functions of the dialect `math` that other languages also have for integers. */
static const porting_hint integer_functions[] = {
    {"clamp", "write `min(max(x, low), high)`"},
    {"sign", "write `x > 0 ? 1 : x < 0 ? -1 : 0`, with literals of its type"},
};

static const char *find(const porting_hint *rows, size_t count, const char *text, size_t length) {
    for (size_t i = 0; i < count; i++)
        for (const char *word = rows[i].words; length && *word; word += strspn(word, " ")) {
            size_t size = strcspn(word, " ");
            if (size == length && memcmp(word, text, length) == 0)
                return rows[i].meant;
            word += size;
        }
    return NULL;
}

const char *vy_porting_hint_type(const char *text, size_t length) {
    return find(types, sizeof types / sizeof *types, text, length);
}

const char *vy_porting_hint_builtin(const char *text, size_t length) {
    return find(builtins, sizeof builtins / sizeof *builtins, text, length);
}

const char *vy_porting_hint_suffix(const char *text, size_t length) {
    return find(suffixes, sizeof suffixes / sizeof *suffixes, text, length);
}

const char *vy_porting_hint_value(const char *text, size_t length) {
    return find(values, sizeof values / sizeof *values, text, length);
}

const char *vy_porting_hint_statement(const char *text, size_t length) {
    return find(statements, sizeof statements / sizeof *statements, text, length);
}

const char *vy_porting_hint_math(const char *text, size_t length) {
    return find(math_names, sizeof math_names / sizeof *math_names, text, length);
}

const char *vy_porting_hint_integer(const char *text, size_t length) {
    return find(integer_functions, sizeof integer_functions / sizeof *integer_functions, text, length);
}

const char *vy_porting_hint_function(const char *text, size_t length) {
    return find(functions, sizeof functions / sizeof *functions, text, length);
}

static const char *dialect_loader_name = "vyre_dialects_load_folder";

const char *vy_dialect_loader_name(void) {
    return dialect_loader_name;
}

void vy_dialect_loader_name_set(const char *name) {
    dialect_loader_name = name;
}
