/* CUDA's functions of one f32, and its functions of f64 rounded to f32, as kernels of three kinds (math.c):
 *
 *   chain   in registers: x = f(x) * factor + addend, four elements per thread
 *   bits    in registers: the exclusive or of the results for pseudo-random bits, four elements per thread
 *   stream  y[i] = f(x[i]), four elements per thread
 *
 * math.c has the same three for libvyre. Compiled with the defaults of nvcc, which contract a product and a sum; the
 * number of elements is a multiple of four. */
#include "math_functions.h"

typedef float function(float);

template <function f>
__device__ __forceinline__ void chain(const float4 *x, float4 *y, unsigned n, float factor, float addend) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 v = x[i];
    for (int k = 0; k < MATH_CHAIN_TRIPS; k++) {
        v.x = fmaf(f(v.x), factor, addend);
        v.y = fmaf(f(v.y), factor, addend);
        v.z = fmaf(f(v.z), factor, addend);
        v.w = fmaf(f(v.w), factor, addend);
    }
    y[i] = v;
}

static __device__ __forceinline__ unsigned next(unsigned u) { return u * 1664525u + 1013904223u; }

template <function f> __device__ __forceinline__ void bits(const float4 *x, float4 *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 v = x[i];
    unsigned a = __float_as_uint(v.x), b = __float_as_uint(v.y), c = __float_as_uint(v.z), d = __float_as_uint(v.w);
    unsigned sum_a = 0, sum_b = 0, sum_c = 0, sum_d = 0;
    for (int k = 0; k < MATH_BITS_TRIPS; k++) {
        a = next(a);
        b = next(b);
        c = next(c);
        d = next(d);
        sum_a ^= __float_as_uint(f(__uint_as_float(a)));
        sum_b ^= __float_as_uint(f(__uint_as_float(b)));
        sum_c ^= __float_as_uint(f(__uint_as_float(c)));
        sum_d ^= __float_as_uint(f(__uint_as_float(d)));
    }
    y[i] = make_float4(__uint_as_float(sum_a), __uint_as_float(sum_b), __uint_as_float(sum_c), __uint_as_float(sum_d));
}

template <function f> __device__ __forceinline__ void stream(const float4 *x, float4 *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 v = x[i];
    y[i] = make_float4(f(v.x), f(v.y), f(v.z), f(v.w));
}

#define KERNELS(name, factor, addend)                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) name##_chain(const float4 *x, float4 *y, unsigned n) {           \
        chain<name>(x, y, n, factor, addend);                                                                          \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) name##_bits(const float4 *x, float4 *y, unsigned n) {            \
        bits<name>(x, y, n);                                                                                           \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) name##_stream(const float4 *x, float4 *y, unsigned n) {          \
        stream<name>(x, y, n);                                                                                         \
    }

#define FUNCTION(name, ours, single, wide, low, factor, addend)                                                        \
    static __device__ __forceinline__ float single_##name(float x) { return single; }                                  \
    static __device__ __forceinline__ float wide_of_##name(double x) { return (float)(wide); }                         \
    static __device__ __forceinline__ float wide_##name(float x) { return wide_of_##name(x); }                         \
    KERNELS(single_##name, factor, addend)                                                                             \
    KERNELS(wide_##name, factor, addend)

MATH_FUNCTIONS(FUNCTION)

static __device__ __forceinline__ float same(float x) { return x; }
extern "C" __global__ void __launch_bounds__(256) copy_stream(const float4 *x, float4 *y, unsigned n) {
    stream<same>(x, y, n);
}
