/* Kernels of the float types. The rows stand in eval_float.inc, once for all four. */
#include "ir/eval_kernel.h"
#include "ir/softfloat.h"

#include <math.h>

#define VY_CLASS FLOAT

#define TYPE F16
#define FORMAT vy_f16
#define REAL double
#define MATH(function) function
#define FUSED vy_fma_odd
#define SIGN UINT64_C(0x8000)
#define INF UINT64_C(0x7c00)
#include "ir/eval_float.inc"

#define TYPE BF16
#define FORMAT vy_bf16
#define REAL double
#define MATH(function) function
#define FUSED vy_fma_odd
#define SIGN UINT64_C(0x8000)
#define INF UINT64_C(0x7f80)
#include "ir/eval_float.inc"

#define TYPE F32
#define FORMAT vy_f32
#define REAL float
#define MATH(function) function##f
#define FUSED fmaf
#define SIGN UINT64_C(0x80000000)
#define INF UINT64_C(0x7f800000)
#include "ir/eval_float.inc"

#define TYPE F64
#define FORMAT vy_f64
#define REAL double
#define MATH(function) function
#define FUSED fma
#define SIGN VY_F64_SIGN
#define INF VY_F64_INFINITY
#include "ir/eval_float.inc"
