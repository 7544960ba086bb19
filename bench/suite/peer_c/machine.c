/* The compiler of the plain C, an empty parallel region, and handwritten streams. */
#include "peer.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __SSE2__
#include <immintrin.h>
#endif

const char *peer_compiler(void) {
#ifdef _OPENMP
#define THREADS ", OpenMP"
#else
#define THREADS ", no OpenMP: one thread"
#endif
#ifdef __clang__
    return "clang " __clang_version__ " " PEER_FLAGS THREADS;
#else
    return "gcc " __VERSION__ " " PEER_FLAGS THREADS;
#endif
}

int peer_threads(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Checks the instruction sets that gcc uses when it vectorises; others must be requested by name. */
int peer_fits_processor(void) {
    int fits = 1;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
#ifdef __AVX2__
    fits &= __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#endif
#ifdef __AVX512F__
    fits &= __builtin_cpu_supports("avx512f") != 0;
#endif
#ifdef __AVX512VL__
    fits &= __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
#endif
#ifdef __AVX512VBMI2__
    fits &= __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
#endif
#ifdef __AVX512VPOPCNTDQ__
    fits &= __builtin_cpu_supports("avx512vpopcntdq") != 0;
#endif
#endif
    return fits;
}

void peer_empty(void) {
#pragma omp parallel
    { __asm__ volatile("" ::: "memory"); }
}

void peer_triad(size_t n, double s, const double *restrict a, const double *restrict b, double *restrict c) {
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + s * b[i];
}

/* One line at a time, with the widest available stores. n is a multiple of 8, and c is aligned to 64 bytes. */
void peer_triad_streaming(size_t n, double s, const double *restrict a, const double *restrict b, double *restrict c) {
#ifdef __SSE2__
#pragma omp parallel
    {
#ifdef __AVX512F__
        __m512d factor = _mm512_set1_pd(s);
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i += 8)
            _mm512_stream_pd(c + i,
                             _mm512_add_pd(_mm512_loadu_pd(a + i), _mm512_mul_pd(factor, _mm512_loadu_pd(b + i))));
#else
        __m128d factor = _mm_set1_pd(s);
#pragma omp for schedule(static)
        for (size_t line = 0; line < n; line += 8)
            for (size_t i = line; i < line + 8; i += 2)
                _mm_stream_pd(c + i, _mm_add_pd(_mm_loadu_pd(a + i), _mm_mul_pd(factor, _mm_loadu_pd(b + i))));
#endif
        _mm_sfence();
    }
#else
    peer_triad(n, s, a, b, c);
#endif
}
