/* What the second phase puts in the place of ops that the target does not compute exactly. Written for the target: nothing here is rewritten again, so
 * only native ops that are exact where they are used may stand here. Shift amounts are below the width, integers are not divided, patterns may
 * be those of any NaN, and what is named soft_ computes in u32 alone, but for first guesses. */
#include "transform/legal_phase.h"
#include "transform/legal_text.h"

/* clang-format off */

/* ---- integers ---- */

#define DIVIDE_SIGNED(T) \
    "fn div_" T "(a: " T ", b: " T ") -> " T " { let edge = b == 0 || b == -1; let q = a / (edge ? 1 : b); return b == 0 ? -1 : edge ? -a : q }\n" \
    "fn rem_" T "(a: " T ", b: " T ") -> " T " { let edge = b == 0 || b == -1; let r = a % (edge ? 1 : b); return b == 0 ? a : edge ? 0 : r }\n"
#define DIVIDE_UNSIGNED(T) \
    "fn div_" T "(a: " T ", b: " T ") -> " T " { let q = a / (b == 0 ? 1 : b); return b == 0 ? ~b : q }\n" \
    "fn rem_" T "(a: " T ", b: " T ") -> " T " { let r = a % (b == 0 ? 1 : b); return b == 0 ? a : r }\n"
#define SHIFTS(T, U, LAST) \
    "fn shl_" T "(a: " T ", b: " T ") -> " T " { return a << (b & " LAST ") }\n" \
    "fn shr_" T "(a: " T ", b: " T ") -> " T " { return a >> (b & " LAST ") }\n" \
    "fn rotl_" T "(a: " T ", b: " T ") -> " T " { let u = " U "(a); let s = " U "(b) & " LAST "; return " T "((u << s) | (u >> (0 - s & " LAST "))) }\n" \
    "fn rotr_" T "(a: " T ", b: " T ") -> " T " { let u = " U "(a); let s = " U "(b) & " LAST "; return " T "((u >> s) | (u << (0 - s & " LAST "))) }\n"

static const char divide_8[] = DIVIDE_SIGNED("i8") DIVIDE_UNSIGNED("u8");
static const char divide_16[] = DIVIDE_SIGNED("i16") DIVIDE_UNSIGNED("u16");
static const char divide_32[] = DIVIDE_SIGNED("i32") DIVIDE_UNSIGNED("u32");
static const char divide_64[] = DIVIDE_SIGNED("i64") DIVIDE_UNSIGNED("u64");
static const char shift_8[] = SHIFTS("i8", "u8", "7") SHIFTS("u8", "u8", "7");
static const char shift_16[] = SHIFTS("i16", "u16", "15") SHIFTS("u16", "u16", "15");
static const char shift_32[] = SHIFTS("i32", "u32", "31") SHIFTS("u32", "u32", "31");
static const char shift_64[] = SHIFTS("i64", "u64", "63") SHIFTS("u64", "u64", "63");

/* ---- floats by their bits ---- */

/* What sees a NaN's sign or payload, and tests that a compiler might fold away. */
#define BITS(F, U, S, SIGN, MAG, INF, NAN) \
    "fn canonical_" F "(b: " U ") -> " U " { return (b & " MAG ") > " INF " ? " NAN " : b }\n" \
    "fn bitcast_" U "_" F "(a: " F ") -> " U " { return canonical_" F "(bitcast<" U ">(a)) }\n" \
    "fn bitcast_" S "_" F "(a: " F ") -> " S " { return bitcast<" S ">(canonical_" F "(bitcast<" U ">(a))) }\n" \
    "fn is_nan_" F "(a: " F ") -> bool { return (bitcast<" U ">(a) & " MAG ") > " INF " }\n" \
    "fn is_inf_" F "(a: " F ") -> bool { return (bitcast<" U ">(a) & " MAG ") == " INF " }\n" \
    "fn is_finite_" F "(a: " F ") -> bool { return (bitcast<" U ">(a) & " MAG ") < " INF " }\n" \
    "fn signbit_" F "(a: " F ") -> bool { return bitcast<" U ">(a) - " SIGN " <= " INF " }\n" \
    "fn copysign_" F "(a: " F ", b: " F ") -> " F " { return bitcast<" F ">((bitcast<" U ">(a) & " MAG ") | (canonical_" F "(bitcast<" U ">(b)) & " SIGN ")) }\n"

/* The sign bit alone, whatever the device does to subnormals. */
#define SIGNS(F, U, SIGN, MAG) \
    "fn neg_" F "(a: " F ") -> " F " { return bitcast<" F ">(bitcast<" U ">(a) ^ " SIGN ") }\n" \
    "fn abs_" F "(a: " F ") -> " F " { return bitcast<" F ">(bitcast<" U ">(a) & " MAG ") }\n"

/* Numbers in the order of their patterns: rank has -0 below +0, place has them equal. */
#define ORDER(F, U, S, MAG, INF, LOWEST) \
    "fn rank_" F "(b: " S ") -> " S " { return b ^ (b < 0 ? " MAG " : 0) }\n" \
    "fn place_" F "(b: " S ") -> " S " { return b < 0 ? " LOWEST " - b : b }\n"

#define COMPARE(F, U, S, MAG, INF) \
    "fn ordered_" F "(a: " F ", b: " F ") -> bool { return max(bitcast<" U ">(a) & " MAG ", bitcast<" U ">(b) & " MAG ") <= " INF " }\n" \
    "fn eq_" F "(a: " F ", b: " F ") -> bool { let o = ordered_" F "(a, b); let x = place_" F "(bitcast<" S ">(a)); let y = place_" F "(bitcast<" S ">(b)); return o && x == y }\n" \
    "fn lt_" F "(a: " F ", b: " F ") -> bool { let o = ordered_" F "(a, b); let x = place_" F "(bitcast<" S ">(a)); let y = place_" F "(bitcast<" S ">(b)); return o && x < y }\n" \
    "fn le_" F "(a: " F ", b: " F ") -> bool { let o = ordered_" F "(a, b); let x = place_" F "(bitcast<" S ">(a)); let y = place_" F "(bitcast<" S ">(b)); return o && x <= y }\n" \
    "fn gt_" F "(a: " F ", b: " F ") -> bool { let o = ordered_" F "(a, b); let x = place_" F "(bitcast<" S ">(a)); let y = place_" F "(bitcast<" S ">(b)); return o && x > y }\n" \
    "fn ge_" F "(a: " F ", b: " F ") -> bool { let o = ordered_" F "(a, b); let x = place_" F "(bitcast<" S ">(a)); let y = place_" F "(bitcast<" S ">(b)); return o && x >= y }\n" \
    "fn ne_" F "(a: " F ", b: " F ") -> bool { let e = eq_" F "(a, b); return !e }\n"

/* A NaN loses against any number. */
#define MIN_MAX(F, U, S, MAG, INF, LEAST, MOST) \
    "fn min_key_" F "(a: " F ") -> " S " { let r = rank_" F "(bitcast<" S ">(a)); return (bitcast<" U ">(a) & " MAG ") > " INF " ? " MOST " : r }\n" \
    "fn max_key_" F "(a: " F ") -> " S " { let r = rank_" F "(bitcast<" S ">(a)); return (bitcast<" U ">(a) & " MAG ") > " INF " ? " LEAST " : r }\n" \
    "fn min_" F "(a: " F ", b: " F ") -> " F " { let x = min_key_" F "(a); let y = min_key_" F "(b); return x < y ? a : b }\n" \
    "fn max_" F "(a: " F ", b: " F ") -> " F " { let x = max_key_" F "(a); let y = max_key_" F "(b); return x > y ? a : b }\n"

/* E: the exponent field of 1; P: bits of the fraction, FRACTION their mask; ONE and HALF the patterns of 1 and 1/2. A number below 1 becomes zero or
 * `below`, with its sign; of any other the fraction bits f below the point are cut, after `add`, cut to them, was added: f itself goes away from zero, and
 * half of f and the bit above it to nearest-even. A carry goes on into the exponent, where it belongs. */
#define ROUNDS(F, U, SIGN, MAG, INF, ONE, HALF, E, P, FRACTION) \
    "fn rounded_" F "(b: " U ", add: " U ", below: " U ") -> " F " {\n" \
    "  let m = b & " MAG "\n" \
    "  let f = " FRACTION " >> min(max(m >> " P ", " E ") - " E ", " P ")\n" \
    "  let r = (b + (add & f)) & ~f\n" \
    "  return bitcast<" F ">(m > " INF " ? b : m < " ONE " ? (b & " SIGN ") | below : r)\n" \
    "}\n" \
    "fn trunc_" F "(a: " F ") -> " F " {\n" \
    "  let b = bitcast<" U ">(a)\n" \
    "  let r = rounded_" F "(b, 0, 0)\n" \
    "  return r\n" \
    "}\n" \
    "fn floor_" F "(a: " F ") -> " F " {\n" \
    "  let b = bitcast<" U ">(a)\n" \
    "  let away = (b & " SIGN ") != 0\n" \
    "  let r = rounded_" F "(b, away ? " FRACTION " : 0, away && (b & " MAG ") != 0 ? " ONE " : 0)\n" \
    "  return r\n" \
    "}\n" \
    "fn ceil_" F "(a: " F ") -> " F " {\n" \
    "  let b = bitcast<" U ">(a)\n" \
    "  let away = (b & " SIGN ") == 0\n" \
    "  let r = rounded_" F "(b, away ? " FRACTION " : 0, away && b != 0 ? " ONE " : 0)\n" \
    "  return r\n" \
    "}\n" \
    "fn round_" F "(a: " F ") -> " F " {\n" \
    "  let b = bitcast<" U ">(a)\n" \
    "  let m = b & " MAG "\n" \
    "  let k = min(max(m >> " P ", " E ") - " E ", " P ")\n" \
    "  let half = (" FRACTION " >> k) >> 1\n" \
    "  let odd = k == 0 ? 1 : b >> (" P " - k) & 1\n" \
    "  let r = rounded_" F "(b, half + odd, m > " HALF " ? " ONE " : 0)\n" \
    "  return r\n" \
    "}\n"

static const char soft[] = VY_LEGAL_TEXT_SOFT;
static const char f32_bits[] =
    BITS("f32", "u32", "i32", "0x80000000", "0x7fffffff", "0x7f800000", "0x7fc00000")
    ORDER("f32", "u32", "i32", "0x7fffffff", "0x7f800000", "-2147483648");
static const char f32_compare[] =
    SIGNS("f32", "u32", "0x80000000", "0x7fffffff")
    COMPARE("f32", "u32", "i32", "0x7fffffff", "0x7f800000");
static const char f32_min_max[] =
    MIN_MAX("f32", "u32", "i32", "0x7fffffff", "0x7f800000", "-2147483648", "2147483647");
static const char f32_rounds[] =
    ROUNDS("f32", "u32", "0x80000000", "0x7fffffff", "0x7f800000", "0x3f800000", "0x3f000000", "127", "23", "0x7fffff");

static const char f64_bits[] =
    BITS("f64", "u64", "i64", "0x8000000000000000", "0x7fffffffffffffff", "0x7ff0000000000000", "0x7ff8000000000000")
    ORDER("f64", "u64", "i64", "0x7fffffffffffffff", "0x7ff0000000000000", "-9223372036854775808");
static const char f64_compare[] =
    SIGNS("f64", "u64", "0x8000000000000000", "0x7fffffffffffffff")
    COMPARE("f64", "u64", "i64", "0x7fffffffffffffff", "0x7ff0000000000000");
static const char f64_min_max[] =
    MIN_MAX("f64", "u64", "i64", "0x7fffffffffffffff", "0x7ff0000000000000", "-9223372036854775808", "9223372036854775807");
static const char f64_rounds[] =
    ROUNDS("f64", "u64", "0x8000000000000000", "0x7fffffffffffffff", "0x7ff0000000000000", "0x3ff0000000000000",
           "0x3fe0000000000000", "1023", "52", "0xfffffffffffff");

/* ---- f32 arithmetic in u32 ---- */

static const char soft_add[] =
    "fn soft_add(x: u32, y: u32) -> u32 {\n"
    "  let swap = (x & 0x7fffffff) < (y & 0x7fffffff)\n"
    "  let a = swap ? y : x\n"
    "  let b = swap ? x : y\n"
    "  let am = a & 0x7fffffff\n"
    "  let bm = b & 0x7fffffff\n"
    "  let ae = max(am >> 23, 1)\n"
    "  let be = max(bm >> 23, 1)\n"
    "  let af = (am & 0x7fffff | u32(am >= 0x800000) << 23) << 7\n"
    "  let bf = (bm & 0x7fffff | u32(bm >= 0x800000) << 23) << 7\n"
    "  let bs = sticky_shift(bf, ae - be)\n"
    "  let differ = (a ^ b) >= 0x80000000\n"
    "  let s = differ ? af - bs : af + bs\n"
    "  let n = clz(s)\n"
    "  let r = finish(a & 0x80000000, i32(ae + 1) - i32(n), s << (n & 31))\n"
    "  let special = am > 0x7f800000 || (bm == 0x7f800000 && differ) ? 0x7fc00000 : a\n"
    "  return am >= 0x7f800000 ? special : s == 0 ? a & b & 0x80000000 : r\n"
    "}\n";
static const char soft_mul[] =
    "fn soft_mul(x: u32, y: u32) -> u32 {\n"
    "  let sign = (x ^ y) & 0x80000000\n"
    "  let xm = x & 0x7fffffff\n"
    "  let ym = y & 0x7fffffff\n"
    "  let high = max(xm, ym)\n"
    "  let low = min(xm, ym)\n"
    "  let (xe, xf) = mantissa(xm)\n"
    "  let (ye, yf) = mantissa(ym)\n"
    "  let h = mul_high(xf, yf)\n"
    "  let l = xf * yf\n"
    "  let top = h >> 31\n"
    "  let m = top == 1 ? h : (h << 1) | (l >> 31)\n"
    "  let rest = top == 1 ? l : l << 1\n"
    "  let r = finish(sign, xe + ye - 127 + i32(top), m | u32(rest != 0))\n"
    "  let special = high > 0x7f800000 || low == 0 ? 0x7fc00000 : sign | 0x7f800000\n"
    "  return high >= 0x7f800000 ? special : low == 0 ? sign : r\n"
    "}\n";
/* The quotient of the significands to 25 bits, and the rest of the division. The native quotient is a first guess; the rest of a guess that is off by less
 * than 64 ulp fits into an i32, and says how to correct it. */
static const char soft_div[] =
    "fn soft_div(x: u32, y: u32) -> u32 {\n"
    "  let sign = (x ^ y) & 0x80000000\n"
    "  let xm = x & 0x7fffffff\n"
    "  let ym = y & 0x7fffffff\n"
    "  var r = 0u32\n"
    "  if max(xm, ym) >= 0x7f800000 || min(xm, ym) == 0 {\n"
    "    let nan = max(xm, ym) > 0x7f800000 || xm == ym\n"
    "    r = nan ? 0x7fc00000 : sign | (xm == 0x7f800000 || ym == 0 ? 0x7f800000 : 0)\n"
    "  } else {\n"
    "    let (xe, xf) = mantissa(xm)\n"
    "    let (ye, yf) = mantissa(ym)\n"
    "    let a = xf >> 8\n"
    "    let b = i32(yf >> 8)\n"
    "    let less = u32(i32(a) < b)\n"
    "    let guess = f32(a) / f32(b)\n"
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
    "    r = finish(sign, xe - ye + 127 - i32(less), (q << 7) | u32(rest != 0))\n"
    "  }\n"
    "  return r\n"
    "}\n";
/* The root of the significand, made even in its exponent, to 25 bits, likewise: a guess off by less than 16 ulp is corrected. */
static const char soft_sqrt[] =
    "fn soft_sqrt(x: u32) -> u32 {\n"
    "  var r = x\n"
    "  if x - 1 >= 0x7f7fffff {\n"
    "    let nan = x > 0x7f800000 && x != 0x80000000\n"
    "    r = nan ? 0x7fc00000 : x\n"
    "  } else {\n"
    "    let (e, f) = mantissa(x)\n"
    "    let odd = (e - 127) & 1\n"
    "    let m = (f >> 8) << (1 + u32(odd))\n"
    "    var s = u32(sqrt(f32(m)) * 4096.0)\n"
    "    var rest = i32((m << 24) - s * s)\n"
    "    while rest < 0 {\n"
    "      s = s - 1\n"
    "      rest = rest + i32(2 * s + 1)\n"
    "    }\n"
    "    while rest > i32(2 * s) {\n"
    "      rest = rest - i32(2 * s + 1)\n"
    "      s = s + 1\n"
    "    }\n"
    "    r = finish(0, ((e - 127 - odd) >> 1) + 127, (s << 7) | u32(rest != 0))\n"
    "  }\n"
    "  return r\n"
    "}\n";
static const char soft_fma[] = VY_LEGAL_TEXT_FMA VY_LEGAL_TEXT_FMA_BY("soft_fma", "finish");

/* Long division by subtraction, a bit of the quotient at a time; only its last bit matters. `twice` is twice what is left, in units of y's last bit. */
static const char f32_remainder[] =
    "fn remainder_f32(a: f32, b: f32) -> f32 {\n"
    "  let x = bitcast<u32>(a)\n"
    "  let y = bitcast<u32>(b)\n"
    "  let xm = x & 0x7fffffff\n"
    "  let ym = y & 0x7fffffff\n"
    "  let (xe, xf) = mantissa(xm)\n"
    "  let (ye, yf) = mantissa(ym)\n"
    "  var r = x\n"
    "  if xm >= 0x7f800000 || ym > 0x7f800000 || ym == 0 {\n"
    "    r = 0x7fc00000\n"
    "  } else if xm != 0 && ym != 0x7f800000 && xe - ye >= -1 {\n"
    "    let v = yf >> 8\n"
    "    var u = xf >> 8\n"
    "    var odd = 0u32\n"
    "    var left = xe - ye\n"
    "    while left >= 0 {\n"
    "      odd = u32(u >= v)\n"
    "      u = (u - (odd == 1 ? v : 0)) << 1\n"
    "      left = left - 1\n"
    "    }\n"
    "    let flip = u > v || (u == v && odd == 1)\n"
    "    let twice = flip ? 2 * v - u : u\n"
    "    let n = clz(twice)\n"
    "    let sign = (x & 0x80000000) ^ (u32(flip) << 31)\n"
    "    let magnitude = finish(sign, ye + 7 - i32(n), twice << (n & 31))\n"
    "    r = twice == 0 ? x & 0x80000000 : magnitude\n"
    "  }\n"
    "  return bitcast<f32>(r)\n"
    "}\n";
static const char f64_remainder[] =
    "fn mantissa_f64(b: u64) -> (e: i32, m: u64) {\n"
    "  let n = clz(max(b, 1))\n"
    "  let small = b < 0x10000000000000\n"
    "  return small ? 12 - i32(n) : i32(b >> 52), small ? b << (n - 11 & 63) : b & 0xfffffffffffff | 0x10000000000000\n"
    "}\n"
    "fn remainder_f64(a: f64, b: f64) -> f64 {\n"
    "  let x = bitcast<u64>(a)\n"
    "  let y = bitcast<u64>(b)\n"
    "  let xm = x & 0x7fffffffffffffff\n"
    "  let ym = y & 0x7fffffffffffffff\n"
    "  let (xe, xf) = mantissa_f64(xm)\n"
    "  let (ye, v) = mantissa_f64(ym)\n"
    "  var r = x\n"
    "  if xm >= 0x7ff0000000000000 || ym > 0x7ff0000000000000 || ym == 0 {\n"
    "    r = 0x7ff8000000000000\n"
    "  } else if xm != 0 && ym != 0x7ff0000000000000 && xe - ye >= -1 {\n"
    "    var u = xf\n"
    "    var odd = 0u64\n"
    "    var left = xe - ye\n"
    "    while left >= 0 {\n"
    "      odd = u64(u >= v)\n"
    "      u = (u - (odd == 1 ? v : 0)) << 1\n"
    "      left = left - 1\n"
    "    }\n"
    "    let flip = u > v || (u == v && odd == 1)\n"
    "    let twice = flip ? 2 * v - u : u\n"
    "    let n = i32(clz(twice))\n"
    "    let e = ye + 10 - n\n"
    "    let m = twice << u64(n & 63)\n"
    "    let normal = (u64(max(e, 1)) << 52) + (m >> 11 & 0xfffffffffffff)\n"
    "    let down = 12 - e\n"
    "    let small = m >> u64(min(max(down, 0), 63))\n"
    "    let sign = (x & 0x8000000000000000) ^ (u64(flip) << 63)\n"
    "    r = twice == 0 ? x & 0x8000000000000000 : sign | (e >= 1 ? normal : small)\n"
    "  }\n"
    "  return bitcast<f64>(r)\n"
    "}\n";

/* ---- f32 arithmetic that is never native ---- */

static const char add_by_bits[] =
    "fn add_f32(a: f32, b: f32) -> f32 {\n"
    "  let r = soft_add(bitcast<u32>(a), bitcast<u32>(b))\n"
    "  return bitcast<f32>(r)\n"
    "}\n"
    "fn sub_f32(a: f32, b: f32) -> f32 {\n"
    "  let r = soft_add(bitcast<u32>(a), bitcast<u32>(b) ^ 0x80000000)\n"
    "  return bitcast<f32>(r)\n"
    "}\n";
static const char mul_by_bits[] =
    "fn mul_f32(a: f32, b: f32) -> f32 {\n"
    "  let r = soft_mul(bitcast<u32>(a), bitcast<u32>(b))\n"
    "  return bitcast<f32>(r)\n"
    "}\n";
static const char div_by_bits[] =
    "fn div_f32(a: f32, b: f32) -> f32 {\n"
    "  let r = soft_div(bitcast<u32>(a), bitcast<u32>(b))\n"
    "  return bitcast<f32>(r)\n"
    "}\n";
static const char sqrt_by_bits[] =
    "fn sqrt_f32(a: f32) -> f32 {\n"
    "  let r = soft_sqrt(bitcast<u32>(a))\n"
    "  return bitcast<f32>(r)\n"
    "}\n";
static const char fma_by_bits[] =
    "fn fma_f32(a: f32, b: f32, c: f32) -> f32 {\n"
    "  let r = soft_fma(a, b, c)\n"
    "  return r\n"
    "}\n";
/* The product of two f32 is exact in f64, and so is the error e of its sum with c (Knuth's two-sum), so the sum can be rounded to odd. */
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

/* ---- f32 arithmetic on a device that flushes subnormals: native, unless that could matter ----
 *
 * Below, K is the pattern of 2^-125, and 0x800000 that of the smallest normal number 2^-126. A native result of at least 2^-125 is not a flushed one, and did not round up from
 * below the normal range, which some devices flush too. */

/* Sums lose nothing if the larger operand is at least 2^-100: the result is zero or at least 2^-124, and an operand below 2^-126 is less than a quarter of the other's
 * last place. Two zeros are as good: m - 1 wraps to the largest number. */
static const char add_guarded[] =
    "fn add_f32(a: f32, b: f32) -> f32 {\n"
    "  let x = bitcast<u32>(a)\n"
    "  let y = bitcast<u32>(b)\n"
    "  var r = a + b\n"
    "  if max(x & 0x7fffffff, y & 0x7fffffff) - 1 < 0xd7fffff { r = bitcast<f32>(soft_add(x, y)) }\n"
    "  return r\n"
    "}\n"
    "fn sub_f32(a: f32, b: f32) -> f32 {\n"
    "  let x = bitcast<u32>(a)\n"
    "  let y = bitcast<u32>(b)\n"
    "  var r = a - b\n"
    "  if max(x & 0x7fffffff, y & 0x7fffffff) - 1 < 0xd7fffff { r = bitcast<f32>(soft_add(x, y ^ 0x80000000)) }\n"
    "  return r\n"
    "}\n";
/* A flushed operand gives 0 or NaN, as does a flushed result; a zero that comes from an operand that is zero is right. */
static const char mul_guarded[] =
    "fn mul_f32(a: f32, b: f32) -> f32 {\n"
    "  let x = bitcast<u32>(a)\n"
    "  let y = bitcast<u32>(b)\n"
    "  var r = a * b\n"
    "  if (bitcast<u32>(r) & 0x7fffffff) - 0x1000000 > 0x7e800000 && min(x & 0x7fffffff, y & 0x7fffffff) != 0 { r = bitcast<f32>(soft_mul(x, y)) }\n"
    "  return r\n"
    "}\n";
/* A flushed divisor gives infinity, so it is looked at by itself. */
static const char div_guarded[] =
    "fn div_f32(a: f32, b: f32) -> f32 {\n"
    "  let y = bitcast<u32>(b)\n"
    "  var r = a / b\n"
    "  if (bitcast<u32>(r) & 0x7fffffff) - 0x1000000 > 0x7e800000 || (y & 0x7fffffff) - 1 < 0x7fffff { r = bitcast<f32>(soft_div(bitcast<u32>(a), y)) }\n"
    "  return r\n"
    "}\n";
/* A root is never below the normal range; an operand may be. */
static const char sqrt_guarded[] =
    "fn sqrt_f32(a: f32) -> f32 {\n"
    "  let x = bitcast<u32>(a)\n"
    "  var r = sqrt(a)\n"
    "  if (x & 0x7fffffff) - 1 < 0x7fffff { r = bitcast<f32>(soft_sqrt(x)) }\n"
    "  return r\n"
    "}\n";
/* No operand may be one that is flushed, and the result must be large enough, or zero because all that is added is. */
static const char fma_guarded[] =
    "fn fma_f32(a: f32, b: f32, c: f32) -> f32 {\n"
    "  let x = bitcast<u32>(a) & 0x7fffffff\n"
    "  let y = bitcast<u32>(b) & 0x7fffffff\n"
    "  let z = bitcast<u32>(c) & 0x7fffffff\n"
    "  var r = fma(a, b, c)\n"
    "  let flushed = min(min(x - 1, y - 1), z - 1) < 0x7fffff\n"
    "  let tiny = (bitcast<u32>(r) & 0x7fffffff) - 0x1000000 > 0x7e800000 && (min(x, y) | z) != 0\n"
    "  if flushed || tiny { r = soft_fma(a, b, c) }\n"
    "  return r\n"
    "}\n";

/* ---- conversions ---- */

static const char f32_convert[] =
    "fn cast_f32_u32(a: u32) -> f32 {\n"
    "  let n = clz(a)\n"
    "  let r = finish(0, 158 - i32(n), a << (n & 31))\n"
    "  return bitcast<f32>(a == 0 ? 0 : r)\n"
    "}\n"
    "fn cast_f32_i32(a: i32) -> f32 {\n"
    "  let m = u32(abs(a))\n"
    "  let n = clz(m)\n"
    "  let r = finish(u32(a) & 0x80000000, 158 - i32(n), m << (n & 31))\n"
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
    "  let r = finish(sign, 190 - i32(n), u32(m >> 32) | u32(u32(m) != 0))\n"
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
    "  return m > 0x7f800000 ? 0 : m >= 0x5f000000 ? (negative ? -9223372036854775808 : 9223372036854775807) : negative ? -w : w\n"
    "}\n";
/* Subnormal f32 to and from f64 on a device that flushes them: as multiples of 2^-149. Adding 2^52 rounds to a whole number. */
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
#define F64_EXACT                                                                                                      \
    (VY_NUMERIC(F64_ADD) | VY_NUMERIC(F64_MUL) | VY_NUMERIC(F64_CONVERT) | VY_NUMERIC(F64_SUBNORMAL) |                 \
     VY_NUMERIC(INT64))

const vy_legal_text vy_legal_exact_texts[] = {
    {divide_8, VY_TYPE(I8) | VY_TYPE(U8), VY_NUMERIC(INT_DIV), VY_NUMERIC(INT8), 0},
    {divide_16, VY_TYPE(I16) | VY_TYPE(U16), VY_NUMERIC(INT_DIV), VY_NUMERIC(INT16), 0},
    {divide_32, VY_TYPE(I32) | VY_TYPE(U32), VY_NUMERIC(INT_DIV), 0, 0},
    {divide_64, VY_TYPE(I64) | VY_TYPE(U64), VY_NUMERIC(INT_DIV), VY_NUMERIC(INT64), 0},
    {shift_8, VY_TYPE(I8) | VY_TYPE(U8), VY_NUMERIC(SHIFT), VY_NUMERIC(INT8), 0},
    {shift_16, VY_TYPE(I16) | VY_TYPE(U16), VY_NUMERIC(SHIFT), VY_NUMERIC(INT16), 0},
    {shift_32, VY_TYPE(I32) | VY_TYPE(U32), VY_NUMERIC(SHIFT), 0, 0},
    {shift_64, VY_TYPE(I64) | VY_TYPE(U64), VY_NUMERIC(SHIFT), VY_NUMERIC(INT64), 0},
    {soft, VY_TYPE(F32) | VY_TYPE(I64) | VY_TYPE(U64), 0, 0, 0},
    {f32_bits, VY_TYPE(F32), 0, 0, 0},
    {f32_compare, VY_TYPE(F32), SUBNORMAL, 0, 0},
    {f32_min_max, VY_TYPE(F32), VY_NUMERIC(F32_MIN_MAX) | SUBNORMAL, 0, 0},
    {f32_rounds, VY_TYPE(F32), VY_NUMERIC(F32_ROUND) | SUBNORMAL, 0, 0},
    {f32_remainder, VY_TYPE(F32), 0, 0, 0},
    {soft_add, VY_TYPE(F32), VY_NUMERIC(F32_ADD) | SUBNORMAL, 0, 0},
    {add_by_bits, VY_TYPE(F32), VY_NUMERIC(F32_ADD), 0, 0},
    {add_guarded, VY_TYPE(F32), SUBNORMAL, VY_NUMERIC(F32_ADD), 0},
    {soft_mul, VY_TYPE(F32), VY_NUMERIC(F32_MUL) | SUBNORMAL, 0, 0},
    {mul_by_bits, VY_TYPE(F32), VY_NUMERIC(F32_MUL), 0, 0},
    {mul_guarded, VY_TYPE(F32), SUBNORMAL, VY_NUMERIC(F32_MUL), 0},
    {soft_div, VY_TYPE(F32), VY_NUMERIC(F32_DIV) | SUBNORMAL, 0, 0},
    {div_by_bits, VY_TYPE(F32), VY_NUMERIC(F32_DIV), 0, 0},
    {div_guarded, VY_TYPE(F32), SUBNORMAL, VY_NUMERIC(F32_DIV), 0},
    {soft_sqrt, VY_TYPE(F32), VY_NUMERIC(F32_SQRT) | SUBNORMAL, 0, 0},
    {sqrt_by_bits, VY_TYPE(F32), VY_NUMERIC(F32_SQRT), 0, 0},
    {sqrt_guarded, VY_TYPE(F32), SUBNORMAL, VY_NUMERIC(F32_SQRT), 0},
    {soft_fma, VY_TYPE(F32), VY_NUMERIC(F32_FMA) | SUBNORMAL, 0, 0},
    {fma_by_f64, VY_TYPE(F32), VY_NUMERIC(F32_FMA), SUBNORMAL | F64_EXACT, 0},
    {fma_guarded, VY_TYPE(F32), SUBNORMAL, VY_NUMERIC(F32_FMA), 0},
    {fma_by_bits, VY_TYPE(F32), SUBNORMAL | F64_EXACT, 0, VY_NUMERIC(F32_FMA)},
    {f32_convert, VY_TYPE(F32), VY_NUMERIC(F32_CONVERT), 0, 0},
    {f32_convert_64, VY_TYPE(I64) | VY_TYPE(U64), 0, VY_NUMERIC(INT64), 0},
    {f64_convert_guarded, VY_TYPE(F64), SUBNORMAL, F64_EXACT, 0},
    {f64_bits, VY_TYPE(F64), 0, VY_NUMERIC(INT64), 0},
    {f64_compare, VY_TYPE(F64), VY_NUMERIC(F64_SUBNORMAL), VY_NUMERIC(INT64), 0},
    {f64_min_max, VY_TYPE(F64), VY_NUMERIC(F64_MIN_MAX) | VY_NUMERIC(F64_SUBNORMAL), VY_NUMERIC(INT64), 0},
    {f64_rounds, VY_TYPE(F64), VY_NUMERIC(F64_ROUND) | VY_NUMERIC(F64_SUBNORMAL), VY_NUMERIC(INT64), 0},
    {f64_remainder, VY_TYPE(F64), 0, VY_NUMERIC(INT64), 0},
    {NULL, 0, 0, 0, 0},
};
