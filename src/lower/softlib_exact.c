/* Soft-float and soft-integer code (division, square root, conversions) for 32- and 64-bit ops that are not exact.
 *
 * Written for the target: nothing here is rewritten again, so it may use only native ops that are exact where they are
 * used. Shift amounts are below the width, no division is by zero or overflows, bit patterns may be those of
 * any NaN, and functions named soft_ compute in integers alone, except for first approximations in f32. */
#include "lower/legalizer.h"

#define VY_FORMAT 32
#include "lower/softlib_float.inc"
#define VY_FORMAT 64
#include "lower/softlib_float.inc"

/* clang-format off */

/* ---- integers ---- */

#define DIVIDE_SIGNED(T) \
    "fn div_" T "(a: " T ", b: " T ") -> " T " { let edge = b == 0 || b == -1; let q = a / (edge ? 1 : b); " \
    "return b == 0 ? -1 : edge ? -a : q }\n" \
    "fn rem_" T "(a: " T ", b: " T ") -> " T " { let edge = b == 0 || b == -1; let r = a % (edge ? 1 : b); " \
    "return b == 0 ? a : edge ? 0 : r }\n"
#define DIVIDE_UNSIGNED(T) \
    "fn div_" T "(a: " T ", b: " T ") -> " T " { let q = a / (b == 0 ? 1 : b); return b == 0 ? ~b : q }\n" \
    "fn rem_" T "(a: " T ", b: " T ") -> " T " { let r = a % (b == 0 ? 1 : b); return b == 0 ? a : r }\n"
#define ROTATIONS(T, U, LAST) \
    "fn rotl_" T "(a: " T ", b: " T ") -> " T " { let u = " U "(a); let s = " U "(b) & " LAST "; return " \
    "" T "((u << s) | (u >> (0 - s & " LAST "))) }\n" \
    "fn rotr_" T "(a: " T ", b: " T ") -> " T " { let u = " U "(a); let s = " U "(b) & " LAST "; return " \
    "" T "((u >> s) | (u << (0 - s & " LAST "))) }\n"

static const char divide_8[] = DIVIDE_SIGNED("i8") DIVIDE_UNSIGNED("u8");
static const char divide_16[] = DIVIDE_SIGNED("i16") DIVIDE_UNSIGNED("u16");
static const char divide_32[] = DIVIDE_SIGNED("i32") DIVIDE_UNSIGNED("u32");
static const char divide_64[] = DIVIDE_SIGNED("i64") DIVIDE_UNSIGNED("u64");
static const char rotate_8[] = ROTATIONS("i8", "u8", "7") ROTATIONS("u8", "u8", "7");
static const char rotate_16[] = ROTATIONS("i16", "u16", "15") ROTATIONS("u16", "u16", "15");
static const char rotate_32[] = ROTATIONS("i32", "u32", "31") ROTATIONS("u32", "u32", "31");
static const char rotate_64[] = ROTATIONS("i64", "u64", "63") ROTATIONS("u64", "u64", "63");

/* ---- f32 ---- */

/* The quotient of the significands to 25 bits, and the rest of the division. An approximate quotient is a first guess;
 * the rest of a guess that is off by less than 64 ulp fits into an i32, and says how to correct it. */
static const char soft_div_f32[] =
    "fn soft_div_f32(x: u32, y: u32) -> u32 {\n"
    "  let sign = (x ^ y) & 0x80000000\n"
    "  let xm = x & 0x7fffffff\n"
    "  let ym = y & 0x7fffffff\n"
    "  var r = 0u32\n"
    "  if max(xm, ym) >= 0x7f800000 || min(xm, ym) == 0 {\n"
    "    let nan = max(xm, ym) > 0x7f800000 || xm == ym\n"
    "    r = nan ? 0x7fc00000 : sign | (xm == 0x7f800000 || ym == 0 ? 0x7f800000 : 0)\n"
    "  } else {\n"
    "    let (xe, xf) = mantissa_f32(xm)\n"
    "    let (ye, yf) = mantissa_f32(ym)\n"
    "    let a = xf >> 8\n"
    "    let b = i32(yf >> 8)\n"
    "    let less = u32(i32(a) < b)\n"
    "    let guess = approx_div(f32(a), f32(b))\n"
    "    var q = u32(guess * (less == 1 ? 33554432.0 : 16777216.0))\n"
    "    var rest = i32((a << (24 + less)) - q * u32(b))\n"
    "    while rest < 0 {\n"
    "      q = q - 1\n"
    "      rest = rest + b\n"
    "    }\n"
    "    while rest >= b {\n"
    "      q = q + 1\n"
    "      rest = rest - b\n"
    "    }\n"
    "    r = finish_f32(sign, xe - ye + 127 - i32(less), (q << 7) | u32(rest != 0))\n"
    "  }\n"
    "  return r\n"
    "}\n";
/* The root of the significand, made even in its exponent, to 25 bits, likewise: a guess off by less than 16 ulp is
 * corrected. */
static const char soft_sqrt_f32[] =
    "fn soft_sqrt_f32(x: u32) -> u32 {\n"
    "  var r = x\n"
    "  if x - 1 >= 0x7f7fffff {\n"
    "    let nan = x > 0x7f800000 && x != 0x80000000\n"
    "    r = nan ? 0x7fc00000 : x\n"
    "  } else {\n"
    "    let (e, f) = mantissa_f32(x)\n"
    "    let odd = (e - 127) & 1\n"
    "    let m = (f >> 8) << (1 + u32(odd))\n"
    "    var s = u32(approx_sqrt(f32(m)) * 4096.0)\n"
    "    var rest = i32((m << 24) - s * s)\n"
    "    while rest < 0 {\n"
    "      s = s - 1\n"
    "      rest = rest + i32(2 * s + 1)\n"
    "    }\n"
    "    while rest > i32(2 * s) {\n"
    "      rest = rest - i32(2 * s + 1)\n"
    "      s = s + 1\n"
    "    }\n"
    "    r = finish_f32(0, ((e - 127 - odd) >> 1) + 127, (s << 7) | u32(rest != 0))\n"
    "  }\n"
    "  return r\n"
    "}\n";
/* The product of two f32 is exact in f64, and so is the error e of its sum with c (Knuth's two-sum), so the sum can be
 * rounded to odd. */
static const char fma_by_f64[] =
    "fn fma_f32(a: f32, b: f32, c: f32) -> f32 {\n"
    "  let p = f64(a) * f64(b)\n"
    "  let d = f64(c)\n"
    "  let s = p + d\n"
    "  let t = s - p\n"
    "  let e = (p - (s - t)) + (d - t)\n"
    "  let x = bitcast<u64>(s)\n"
    "  let up = (e > 0) == (s > 0)\n"
    "  let inexact = (e < 0 || e > 0) && (x & 1) == 0\n"
    "  return f32(bitcast<f64>(inexact ? (up ? x + 1 : x - 1) : x))\n"
    "}\n";

static const char f32_convert[] =
    "fn cast_f32_u32(a: u32) -> f32 {\n"
    "  let n = clz(a)\n"
    "  let r = finish_f32(0, 158 - i32(n), a << (n & 31))\n"
    "  return bitcast<f32>(a == 0 ? 0 : r)\n"
    "}\n"
    "fn cast_f32_i32(a: i32) -> f32 {\n"
    "  let m = u32(abs(a))\n"
    "  let n = clz(m)\n"
    "  let r = finish_f32(u32(a) & 0x80000000, 158 - i32(n), m << (n & 31))\n"
    "  return bitcast<f32>(m == 0 ? 0 : r)\n"
    "}\n"
    "fn whole(m: u32) -> u32 {\n"
    "  let e = i32(m >> 23)\n"
    "  let f = m & 0x7fffff | 0x800000\n"
    "  return e < 127 ? 0 : e < 150 ? f >> u32(min(max(150 - e, 0), 31)) : f << u32(min(max(e - 150, 0), 31))\n"
    "}\n"
    "fn cast_u32_f32(a: f32) -> u32 {\n"
    "  let b = bitcast<u32>(a)\n"
    "  let w = whole(b & 0x7fffffff)\n"
    "  return b > 0x7f800000 ? 0 : b >= 0x4f800000 ? 0xffffffff : w\n"
    "}\n"
    "fn cast_i32_f32(a: f32) -> i32 {\n"
    "  let b = bitcast<u32>(a)\n"
    "  let m = b & 0x7fffffff\n"
    "  let w = i32(whole(m))\n"
    "  let negative = b >= 0x80000000\n"
    "  return m > 0x7f800000 ? 0 : m >= 0x4f000000 ? (negative ? -2147483648 : 2147483647) : negative ? -w : w\n"
    "}\n";
/* 64-bit integers: the upper bits with a sticky one, and back by shifting. */
static const char f32_convert_64[] =
    "fn rounded_u64(sign: u32, a: u64) -> f32 {\n"
    "  let n = clz(a)\n"
    "  let m = a << (n & 63)\n"
    "  let r = finish_f32(sign, 190 - i32(n), u32(m >> 32) | u32(u32(m) != 0))\n"
    "  return bitcast<f32>(a == 0 ? 0 : r)\n"
    "}\n"
    "fn cast_f32_u64(a: u64) -> f32 { return rounded_u64(0, a) }\n"
    "fn cast_f32_i64(a: i64) -> f32 { return rounded_u64(u32(u64(a) >> 63) << 31, u64(abs(a))) }\n"
    "fn whole_64(m: u32) -> u64 {\n"
    "  let e = i32(m >> 23)\n"
    "  let f = u64(m & 0x7fffff | 0x800000)\n"
    "  return e < 127 ? 0 : e < 150 ? f >> u64(min(max(150 - e, 0), 63)) : f << u64(min(max(e - 150, 0), 63))\n"
    "}\n"
    "fn cast_u64_f32(a: f32) -> u64 {\n"
    "  let b = bitcast<u32>(a)\n"
    "  let w = whole_64(b & 0x7fffffff)\n"
    "  return b > 0x7f800000 ? 0 : b >= 0x5f800000 ? 0xffffffffffffffff : w\n"
    "}\n"
    "fn cast_i64_f32(a: f32) -> i64 {\n"
    "  let b = bitcast<u32>(a)\n"
    "  let m = b & 0x7fffffff\n"
    "  let w = i64(whole_64(m))\n"
    "  let negative = b >= 0x80000000\n"
    "  return m > 0x7f800000 ? 0 : m >= 0x5f000000 ? (negative ? -9223372036854775808 : 9223372036854775807) : "
    "negative ? -w : w\n"
    "}\n";

/* ---- f64 ---- */

/* The quotient of the significands a and b to 55 bits: a one, and three digits of 18 bits. A digit is a guess in f32
 * from the upper bits of the rest, k being about 2^42 / b, and off by less than two; so the next rest, which is
 * computed modulo 2^64, is a small multiple of b, of either sign. */
static const char soft_div_f64[] =
    "fn digit(rest: i64, b: i64, k: f32) -> (d: i64, left: i64) {\n"
    "  let d = i64(i32(f32(i32(rest >> 24)) * k))\n"
    "  return d, (rest << 18) - d * b\n"
    "}\n"
    "fn soft_div_f64(x: u64, y: u64) -> u64 {\n"
    "  let sign = (x ^ y) & 0x8000000000000000\n"
    "  let xm = x & 0x7fffffffffffffff\n"
    "  let ym = y & 0x7fffffffffffffff\n"
    "  var r = 0u64\n"
    "  if max(xm, ym) >= 0x7ff0000000000000 || min(xm, ym) == 0 {\n"
    "    let nan = max(xm, ym) > 0x7ff0000000000000 || xm == ym\n"
    "    r = nan ? 0x7ff8000000000000 : sign | (xm == 0x7ff0000000000000 || ym == 0 ? 0x7ff0000000000000 : 0)\n"
    "  } else {\n"
    "    let (xe, xf) = mantissa_f64(xm)\n"
    "    let (ye, yf) = mantissa_f64(ym)\n"
    "    let a = i64(xf >> 11)\n"
    "    let b = i64(yf >> 11)\n"
    "    let less = a < b\n"
    "    let k = approx_div(262144.0, f32(i32(b >> 24)))\n"
    "    let (d1, r1) = digit((less ? a << 1 : a) - b, b, k)\n"
    "    let (d2, r2) = digit(r1, b, k)\n"
    "    let (d3, r3) = digit(r2, b, k)\n"
    "    var q = 0x40000000000000 + (d1 << 36) + (d2 << 18) + d3\n"
    "    var rest = r3\n"
    "    while rest < 0 {\n"
    "      q = q - 1\n"
    "      rest = rest + b\n"
    "    }\n"
    "    while rest >= b {\n"
    "      q = q + 1\n"
    "      rest = rest - b\n"
    "    }\n"
    "    r = finish_f64(sign, xe - ye + 1023 - i32(less), (u64(q) << 9) | u64(rest != 0))\n"
    "  }\n"
    "  return r\n"
    "}\n";
/* The root s of the significand m, made even in its exponent, to 55 bits: 21 as a guess in f32, then twice 17 more,
 * each by the rest divided by 2 s, as Newton does. k is about 2^12 / s1. Rests are small again, and computed modulo
 * 2^64. */
static const char soft_sqrt_f64[] =
    "fn soft_sqrt_f64(x: u64) -> u64 {\n"
    "  var r = x\n"
    "  if x - 1 >= 0x7fefffffffffffff {\n"
    "    let nan = x > 0x7ff0000000000000 && x != 0x8000000000000000\n"
    "    r = nan ? 0x7ff8000000000000 : x\n"
    "  } else {\n"
    "    let (e, f) = mantissa_f64(x)\n"
    "    let odd = (e - 1023) & 1\n"
    "    let m = i64((f >> 11) << u64(odd))\n"
    "    let guess = i32(approx_sqrt(f32(i32(m >> 24))) * 64.0)\n"
    "    let k = approx_div(4096.0, f32(guess))\n"
    "    let s1 = i64(guess)\n"
    "    let r1 = m - (s1 * s1 << 12)\n"
    "    let s2 = (s1 << 17) + i64(i32(f32(i32(r1 >> 8)) * k))\n"
    "    let r2 = (m << 22) - s2 * s2\n"
    "    var s = (s2 << 17) + i64(i32(f32(i32(r2 >> 12)) * k * 0.5))\n"
    "    var rest = (m << 56) - s * s\n"
    "    while rest < 0 {\n"
    "      s = s - 1\n"
    "      rest = rest + (2 * s + 1)\n"
    "    }\n"
    "    while rest > 2 * s {\n"
    "      rest = rest - (2 * s + 1)\n"
    "      s = s + 1\n"
    "    }\n"
    "    r = finish_f64(0, ((e - 1023 - odd) >> 1) + 1023, (u64(s) << 9) | u64(rest != 0))\n"
    "  }\n"
    "  return r\n"
    "}\n";
static const char f64_convert[] =
    "fn rounded_f64_u64(sign: u64, a: u64) -> f64 {\n"
    "  let n = clz(a)\n"
    "  let r = finish_f64(sign, 1086 - i32(n), a << (n & 63))\n"
    "  return bitcast<f64>(a == 0 ? 0 : r)\n"
    "}\n"
    "fn cast_f64_u64(a: u64) -> f64 { return rounded_f64_u64(0, a) }\n"
    "fn cast_f64_i64(a: i64) -> f64 { return rounded_f64_u64(u64(a) & 0x8000000000000000, u64(abs(a))) }\n"
    "fn placed_f64_u32(sign: u64, a: u32) -> f64 {\n"
    "  let n = u64(clz(a))\n"
    "  let r = sign | (((1053 - n) << 52) + (u64(a) << (n + 21)))\n"
    "  return bitcast<f64>(a == 0 ? 0 : r)\n"
    "}\n"
    "fn cast_f64_u32(a: u32) -> f64 { return placed_f64_u32(0, a) }\n"
    "fn cast_f64_i32(a: i32) -> f64 { return placed_f64_u32(u64(u32(a) >> 31) << 63, u32(abs(a))) }\n"
    "fn whole_f64(m: u64) -> u64 {\n"
    "  let e = i32(m >> 52)\n"
    "  let f = m & 0xfffffffffffff | 0x10000000000000\n"
    "  return e < 1023 ? 0 : e < 1075 ? f >> u64(min(max(1075 - e, 0), 63)) : f << u64(min(max(e - 1075, 0), 63))\n"
    "}\n"
    "fn cast_u64_f64(a: f64) -> u64 {\n"
    "  let b = bitcast<u64>(a)\n"
    "  let w = whole_f64(b & 0x7fffffffffffffff)\n"
    "  return b > 0x7ff0000000000000 ? 0 : b >= 0x43f0000000000000 ? 0xffffffffffffffff : w\n"
    "}\n"
    "fn cast_u32_f64(a: f64) -> u32 {\n"
    "  let b = bitcast<u64>(a)\n"
    "  let w = u32(whole_f64(b & 0x7fffffffffffffff))\n"
    "  return b > 0x7ff0000000000000 ? 0 : b >= 0x41f0000000000000 ? 0xffffffff : w\n"
    "}\n"
    "fn cast_i64_f64(a: f64) -> i64 {\n"
    "  let b = bitcast<u64>(a)\n"
    "  let m = b & 0x7fffffffffffffff\n"
    "  let w = i64(whole_f64(m))\n"
    "  let negative = b >= 0x8000000000000000\n"
    "  return m > 0x7ff0000000000000 ? 0 : m >= 0x43e0000000000000 ? (negative ? -9223372036854775808 : "
    "9223372036854775807) : negative ? -w : w\n"
    "}\n"
    "fn cast_i32_f64(a: f64) -> i32 {\n"
    "  let b = bitcast<u64>(a)\n"
    "  let m = b & 0x7fffffffffffffff\n"
    "  let w = i32(whole_f64(m))\n"
    "  let negative = b >= 0x8000000000000000\n"
    "  return m > 0x7ff0000000000000 ? 0 : m >= 0x41e0000000000000 ? (negative ? -2147483648 : 2147483647) : "
    "negative ? -w : w\n"
    "}\n";
/* f32 to and from f64 by bits. */
static const char f64_convert_f32[] =
    "fn cast_f64_f32(a: f32) -> f64 {\n"
    "  let b = bitcast<u32>(a)\n"
    "  let sign = u64(b >> 31) << 63\n"
    "  let (e, m) = mantissa_f32(b & 0x7fffffff)\n"
    "  let number = (u64(e + 896) << 52) + (u64(m & 0x7fffffff) << 21)\n"
    "  let top = (b & 0x7fffffff) > 0x7f800000 ? 0x7ff8000000000000u64 : 0x7ff0000000000000\n"
    "  return bitcast<f64>(sign | ((b & 0x7fffffff) == 0 ? 0 : e == 255 ? top : number))\n"
    "}\n"
    "fn cast_f32_f64(a: f64) -> f32 {\n"
    "  let b = bitcast<u64>(a)\n"
    "  let (e, m) = mantissa_f64(b & 0x7fffffffffffffff)\n"
    "  let r = finish_f32(u32(b >> 32) & 0x80000000, e - 896, u32(m >> 32) | u32(u32(m) != 0))\n"
    "  return bitcast<f32>((b & 0x7fffffffffffffff) > 0x7ff0000000000000 ? 0x7fc00000 : r)\n"
    "}\n";
/* Subnormal f32 to and from f64 on a device that flushes them: as multiples of 2^-149. Adding 2^52 rounds to a whole
 * number. */
static const char f64_convert_guarded[] =
    "fn cast_f64_f32(a: f32) -> f64 {\n"
    "  let b = bitcast<u32>(a)\n"
    "  let small = f64(b & 0x7fffffff) * 0x1p-149\n"
    "  let signed = b >= 0x80000000 ? -small : small\n"
    "  return (b & 0x7fffffff) < 0x800000 ? signed : f64(a)\n"
    "}\n"
    "fn cast_f32_f64(a: f64) -> f32 {\n"
    "  let m = abs(a)\n"
    "  let is_small = m < 0x1p-125\n"
    "  let units = (is_small ? m : 0.0) * 0x1p149 + 4503599627370496.0 - 4503599627370496.0\n"
    "  let sign = u32(bitcast<u64>(a) >> 63) << 31\n"
    "  let small = bitcast<f32>(u32(units) | sign)\n"
    "  return is_small ? small : f32(a)\n"
    "}\n";
/* clang-format on */

#define SUBNORMAL VY_NUMERIC(F32_SUBNORMAL)
#define F64_SUM (VY_NUMERIC(F64_ADD) | VY_NUMERIC(F64_MUL))
#define F64_EXACT (F64_SUM | VY_NUMERIC(F64_CONVERT) | VY_NUMERIC(INT64))

#define DIVISIONS (VY_OP(DIV) | VY_OP(REM))
#define ROTATING (VY_OP(ROTL) | VY_OP(ROTR))
#define COMPARISONS (VY_OP(EQ) | VY_OP(NE) | VY_OP(LT) | VY_OP(LE) | VY_OP(GT) | VY_OP(GE) | VY_OP(NEG) | VY_OP(ABS))
#define CLASSES (VY_OP(IS_NAN) | VY_OP(IS_INF) | VY_OP(IS_FINITE) | VY_OP(SIGNBIT) | VY_OP(COPYSIGN))
#define ROUNDINGS (VY_OP(FLOOR) | VY_OP(CEIL) | VY_OP(TRUNC) | VY_OP(ROUND))

/* What is alike in both formats: an op that is not exact is made by bits; one that is exact but for subnormals is
 * guarded. */
#define BY_BITS(T, t, op, OPS, BIT)                                                                                    \
    {soft_##op##_##t, VY_TYPE(T), OPS, VY_NUMERIC(T##_##BIT) | VY_NUMERIC(T##_SUBNORMAL), 0, 0},                       \
        {op##_by_bits_##t, VY_TYPE(T), OPS, VY_NUMERIC(T##_##BIT), 0, 0}, {                                            \
        op##_guarded_##t, VY_TYPE(T), OPS, VY_NUMERIC(T##_SUBNORMAL), VY_NUMERIC(T##_##BIT), 0                         \
    }
#define FLOAT(T, t)                                                                                                    \
    {canonical_##t, VY_TYPE(T), 0, 0, 0, 0}, {bitcasts_##t, VY_TYPE(T), VY_OP(BITCAST), 0, 0, 0},                      \
        {classes_##t, VY_TYPE(T), CLASSES, 0, 0, 0}, {order_##t,                                                       \
                                                      VY_TYPE(T),                                                      \
                                                      COMPARISONS | VY_OP(MIN) | VY_OP(MAX),                           \
                                                      VY_NUMERIC(T##_MIN_MAX) | VY_NUMERIC(T##_SUBNORMAL),             \
                                                      0,                                                               \
                                                      0},                                                              \
        {compare_##t, VY_TYPE(T), COMPARISONS, VY_NUMERIC(T##_SUBNORMAL), 0, 0},                                       \
        {min_max_##t, VY_TYPE(T), VY_OP(MIN) | VY_OP(MAX), VY_NUMERIC(T##_MIN_MAX) | VY_NUMERIC(T##_SUBNORMAL), 0, 0}, \
        {rounds_##t, VY_TYPE(T), ROUNDINGS, VY_NUMERIC(T##_ROUND) | VY_NUMERIC(T##_SUBNORMAL), 0, 0},                  \
        {remainder_##t, VY_TYPE(T), VY_OP(REMAINDER), 0, 0, 0}, BY_BITS(T, t, add, VY_OP(ADD) | VY_OP(SUB), ADD),      \
        BY_BITS(T, t, mul, VY_OP(MUL), MUL), BY_BITS(T, t, div, VY_OP(DIV), DIV),                                      \
        BY_BITS(T, t, sqrt, VY_OP(SQRT), SQRT)

/* What computes in integers shares the text of rounding. */
#define SOFT(T)                                                                                                        \
    (VY_NUMERIC(T##_ADD) | VY_NUMERIC(T##_MUL) | VY_NUMERIC(T##_DIV) | VY_NUMERIC(T##_SQRT) | VY_NUMERIC(T##_FMA) |    \
     VY_NUMERIC(T##_SUBNORMAL) | VY_NUMERIC(T##_CONVERT))

const vy_softlib_text vy_softlib_exact_texts[] = {
    {divide_8, VY_TYPE(I8) | VY_TYPE(U8), DIVISIONS, VY_NUMERIC(INT_DIV), VY_NUMERIC(INT8), 0},
    {divide_16, VY_TYPE(I16) | VY_TYPE(U16), DIVISIONS, VY_NUMERIC(INT_DIV), VY_NUMERIC(INT16), 0},
    {divide_32, VY_TYPE(I32) | VY_TYPE(U32), DIVISIONS, VY_NUMERIC(INT_DIV), 0, 0},
    {divide_64, VY_TYPE(I64) | VY_TYPE(U64), DIVISIONS, VY_NUMERIC(INT_DIV), VY_NUMERIC(INT64), 0},
    {rotate_8, VY_TYPE(I8) | VY_TYPE(U8), ROTATING, VY_NUMERIC(SHIFT), VY_NUMERIC(INT8), 0},
    {rotate_16, VY_TYPE(I16) | VY_TYPE(U16), ROTATING, VY_NUMERIC(SHIFT), VY_NUMERIC(INT16), 0},
    {rotate_32, VY_TYPE(I32) | VY_TYPE(U32), ROTATING, VY_NUMERIC(SHIFT), 0, 0},
    {rotate_64, VY_TYPE(I64) | VY_TYPE(U64), ROTATING, VY_NUMERIC(SHIFT), VY_NUMERIC(INT64), 0},
    {soft_f32, VY_TYPE(F32), 0, SOFT(F32), 0, 0},
    {soft_f32, VY_TYPE(F32), VY_OP(REMAINDER), 0, 0, 0},
    {soft_f32, VY_LEGAL_FAR_CASTS | VY_TYPE(F64), VY_OP(CAST), 0, 0, 0},
    {soft_f64, VY_TYPE(F64), 0, SOFT(F64), 0, 0},
    {soft_f64, VY_TYPE(F64), VY_OP(CAST) | VY_OP(REMAINDER), 0, 0, 0},
    FLOAT(F32, f32),
    FLOAT(F64, f64),
    {soft_fma_f32, VY_TYPE(F32), VY_OP(FMA), VY_NUMERIC(F32_FMA) | SUBNORMAL, 0, 0},
    {fma_by_f64, VY_TYPE(F32), VY_OP(FMA), VY_NUMERIC(F32_FMA), SUBNORMAL | F64_EXACT, 0},
    {fma_guarded_f32, VY_TYPE(F32), VY_OP(FMA), SUBNORMAL, VY_NUMERIC(F32_FMA), 0},
    {fma_by_bits_f32, VY_TYPE(F32), VY_OP(FMA), SUBNORMAL | F64_EXACT, 0, VY_NUMERIC(F32_FMA)},
    BY_BITS(F64, f64, fma, VY_OP(FMA), FMA),
    {f32_convert, VY_TYPE(F32), VY_OP(CAST), VY_NUMERIC(F32_CONVERT), 0, 0},
    {f32_convert_64, VY_LEGAL_FAR_CASTS, VY_OP(CAST), 0, 0, 0},
    {f64_convert, VY_TYPE(F64), VY_OP(CAST), VY_NUMERIC(F64_CONVERT), 0, 0},
    {f64_convert_f32, VY_TYPE(F64), VY_OP(CAST), VY_NUMERIC(F64_CONVERT), 0, 0},
    {f64_convert_f32, VY_TYPE(F64), VY_OP(CAST), F64_SUM, VY_NUMERIC(F64_CONVERT), SUBNORMAL},
    {f64_convert_guarded, VY_TYPE(F64), VY_OP(CAST), SUBNORMAL, F64_EXACT, 0},
    {NULL, 0, 0, 0, 0, 0},
};
