/* Softlib of the first numeric phase: replaces ops on 8- and 16-bit types. Integers are held as i32 or u32, floats as
 * f32. */
#include "lower/numeric_passes.h"

#define VY_FORMAT 32
#include "lower/softlib_format.inc"

/* clang-format off */

/* WIDTH bits; UP = 32 - WIDTH; LAST = WIDTH - 1; MASK the bits; LOW and HIGH the range. */
#define SIGNED(T, WIDTH, UP, LAST, MASK, LOW, HIGH) \
    "fn clamp_" T "(a: i32) -> i32 { return min(max(a, " LOW "), " HIGH ") }\n" \
    "fn neg_" T "(a: i32) -> i32 { return (-a) << " UP " >> " UP " }\n" \
    "fn abs_" T "(a: i32) -> i32 { return (abs(a)) << " UP " >> " UP " }\n" \
    "fn add_" T "(a: i32, b: i32) -> i32 { return (a + b) << " UP " >> " UP " }\n" \
    "fn sub_" T "(a: i32, b: i32) -> i32 { return (a - b) << " UP " >> " UP " }\n" \
    "fn mul_" T "(a: i32, b: i32) -> i32 { return (a * b) << " UP " >> " UP " }\n" \
    "fn div_" T "(a: i32, b: i32) -> i32 { return (a / b) << " UP " >> " UP " }\n" \
    "fn shl_" T "(a: i32, b: i32) -> i32 { return (a << (b & " LAST ")) << " UP " >> " UP " }\n" \
    "fn shr_" T "(a: i32, b: i32) -> i32 { return a >> (b & " LAST ") }\n" \
    "fn popcount_" T "(a: i32) -> i32 { return popcount(a & " MASK ") }\n" \
    "fn clz_" T "(a: i32) -> i32 { return clz(a & " MASK ") - " UP " }\n" \
    "fn ctz_" T "(a: i32) -> i32 { return ctz(a | (" MASK " + 1)) }\n" \
    "fn reverse_bits_" T "(a: i32) -> i32 { return reverse_bits(a) >> " UP " }\n" \
    "fn reverse_bytes_" T "(a: i32) -> i32 { return reverse_bytes(a) >> " UP " }\n" \
    "fn mul_high_" T "(a: i32, b: i32) -> i32 { return a * b >> " WIDTH " }\n" \
    "fn rotl_" T "(a: i32, b: i32) -> i32 { let u = a & " MASK "; let s = b & " LAST "; return ((u << s) | (u " \
    ">> (" WIDTH " - s & " LAST "))) << " UP " >> " UP " }\n" \
    "fn rotr_" T "(a: i32, b: i32) -> i32 { let u = a & " MASK "; let s = b & " LAST "; return ((u >> s) | (u " \
    "<< (" WIDTH " - s & " LAST "))) << " UP " >> " UP " }\n"

#define UNSIGNED(T, WIDTH, UP, LAST, MASK) \
    "fn clamp_" T "(a: u32) -> u32 { return min(a, " MASK ") }\n" \
    "fn neg_" T "(a: u32) -> u32 { return (-a) & " MASK " }\n" \
    "fn not_" T "(a: u32) -> u32 { return (~a) & " MASK " }\n" \
    "fn add_" T "(a: u32, b: u32) -> u32 { return (a + b) & " MASK " }\n" \
    "fn sub_" T "(a: u32, b: u32) -> u32 { return (a - b) & " MASK " }\n" \
    "fn mul_" T "(a: u32, b: u32) -> u32 { return (a * b) & " MASK " }\n" \
    "fn div_" T "(a: u32, b: u32) -> u32 { return (a / b) & " MASK " }\n" \
    "fn shl_" T "(a: u32, b: u32) -> u32 { return (a << (b & " LAST ")) & " MASK " }\n" \
    "fn shr_" T "(a: u32, b: u32) -> u32 { return a >> (b & " LAST ") }\n" \
    "fn popcount_" T "(a: u32) -> u32 { return popcount(a & " MASK ") }\n" \
    "fn clz_" T "(a: u32) -> u32 { return clz(a & " MASK ") - " UP " }\n" \
    "fn ctz_" T "(a: u32) -> u32 { return ctz(a | (" MASK " + 1)) }\n" \
    "fn reverse_bits_" T "(a: u32) -> u32 { return reverse_bits(a) >> " UP " }\n" \
    "fn reverse_bytes_" T "(a: u32) -> u32 { return reverse_bytes(a) >> " UP " }\n" \
    "fn mul_high_" T "(a: u32, b: u32) -> u32 { return a * b >> " WIDTH " }\n" \
    "fn rotl_" T "(a: u32, b: u32) -> u32 { let u = a & " MASK "; let s = b & " LAST "; return ((u << s) | (u " \
    ">> (" WIDTH " - s & " LAST "))) & " MASK " }\n" \
    "fn rotr_" T "(a: u32, b: u32) -> u32 { let u = a & " MASK "; let s = b & " LAST "; return ((u >> s) | (u " \
    "<< (" WIDTH " - s & " LAST "))) & " MASK " }\n"

static const char i8_ops[] = SIGNED("i8", "8", "24", "7", "0xff", "-128", "127");
static const char i16_ops[] = SIGNED("i16", "16", "16", "15", "0xffff", "-32768", "32767");
static const char u8_ops[] = UNSIGNED("u8", "8", "24", "7", "0xff");
static const char u16_ops[] = UNSIGNED("u16", "16", "16", "15", "0xffff");

/* 2^-24 is the unit of f16 subnormals, and of f32 numbers in [0.5, 1): adding 0.5 rounds to it. */
static const char f16_by_bits[] =
    "fn round_to_f16(x: f32) -> f32 {\n"
    "  let b = bitcast<u32>(x)\n"
    "  let m = b & 0x7fffffff\n"
    "  let normal = (m + 0xfff + (m >> 13 & 1)) & 0xffffe000\n"
    "  let small = bitcast<u32>(bitcast<f32>(m) + 0.5 - 0.5)\n"
    "  let r = m < 0x38800000 ? small : normal >= 0x47800000 ? 0x7f800000 : normal\n"
    "  return bitcast<f32>(m > 0x7f800000 ? 0x7fc00000 : r | (b & 0x80000000))\n"
    "}\n"
    "fn pack_f16(x: f32) -> u32 {\n"
    "  let b = bitcast<u32>(x)\n"
    "  let m = b & 0x7fffffff\n"
    "  let small = u32(bitcast<f32>(m) * 16777216.0)\n"
    "  let r = m < 0x38800000 ? small : m >= 0x47800000 ? 0x7c00 : (m - 0x38000000) >> 13\n"
    "  return m > 0x7f800000 ? 0x7e00 : r | (b >> 16 & 0x8000)\n"
    "}\n"
    "fn unpack_f16(h: u32) -> f32 {\n"
    "  let m = h & 0x7fff\n"
    "  let small = bitcast<u32>(f32(m) * 0x1p-24)\n"
    "  let r = m < 0x400 ? small : (m << 13) + (m >= 0x7c00 ? 0x70000000 : 0x38000000)\n"
    "  return bitcast<f32>(r | (h & 0x8000) << 16)\n"
    "}\n";

static const char f16_by_conversion[] =
    "fn round_to_f16(x: f32) -> f32 { return f32(f16(x)) }\n"
    "fn canonical_f16(h: u32) -> u32 { return (h & 0x7fff) > 0x7c00 ? 0x7e00 : h }\n"
    "fn pack_f16(x: f32) -> u32 { return canonical_f16(u32(bitcast<u16>(f16(x)))) }\n"
    "fn unpack_f16(h: u32) -> f32 { return f32(bitcast<f16>(u16(h))) }\n";

/* A bf16 is the upper half of an f32. */
static const char bf16_pack[] =
    "fn pack_bf16(x: f32) -> u32 {\n"
    "  let b = bitcast<u32>(x)\n"
    "  return (b & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : b >> 16\n"
    "}\n"
    "fn unpack_bf16(h: u32) -> f32 { return bitcast<f32>(h << 16) }\n"
    "fn canonical_bf16(h: u32) -> u32 { return (h & 0x7fff) > 0x7f80 ? 0x7fc0 : h }\n";
static const char bf16_by_bits[] =
    "fn round_to_bf16(x: f32) -> f32 {\n"
    "  let b = bitcast<u32>(x)\n"
    "  let r = (b + 0x7fff + (b >> 16 & 1)) & 0xffff0000\n"
    "  return bitcast<f32>((b & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : r)\n"
    "}\n";
static const char bf16_by_conversion[] = "fn round_to_bf16(x: f32) -> f32 { return f32(bf16(x)) }\n";

/* Arithmetic in f32, rounded to the format. */
#define FLOAT(T) \
    "fn add_" T "(a: f32, b: f32) -> f32 { return round_to_" T "(a + b) }\n" \
    "fn sub_" T "(a: f32, b: f32) -> f32 { return round_to_" T "(a - b) }\n" \
    "fn mul_" T "(a: f32, b: f32) -> f32 { return round_to_" T "(a * b) }\n" \
    "fn div_" T "(a: f32, b: f32) -> f32 { return round_to_" T "(a / b) }\n" \
    "fn sqrt_" T "(a: f32) -> f32 { return round_to_" T "(sqrt(a)) }\n"

static const char f16_ops[] = FLOAT("f16");
static const char f16_fma_native[] =
    "fn fma_f16(a: f32, b: f32, c: f32) -> f32 { return f32(fma(f16(a), f16(b), f16(c))) }\n";
/* The product of two f16 is exact in f32. The sum's error e is exact too (Knuth's two-sum), so the sum can be rounded
 * to odd, which loses nothing that matters to a second rounding at least two bits above. */
static const char f16_fma_by_f32[] =
    "fn fma_f16(a: f32, b: f32, c: f32) -> f32 {\n"
    "  let p = a * b\n"
    "  let s = p + c\n"
    "  let t = s - p\n"
    "  let e = (p - (s - t)) + (c - t)\n"
    "  let x = bitcast<u32>(s)\n"
    "  let up = (e > 0) == (s > 0)\n"
    "  let inexact = (e < 0 || e > 0) && (x & 1) == 0\n"
    "  return round_to_f16(bitcast<f32>(inexact ? (up ? x + 1 : x - 1) : x))\n"
    "}\n";
static const char bf16_ops[] =
    FLOAT("bf16")
    /* 24 significant bits, the last one sticky. */
    "fn odd_u32(a: u32) -> f32 {\n"
    "  return f32(a < 0x1000000 ? a : (a & 0xffffff00) | u32((a & 0xff) != 0) << 8)\n"
    "}\n"
    "fn odd_i32(a: i32) -> f32 {\n"
    "  let f = odd_u32(u32(abs(a)))\n"
    "  return a < 0 ? -f : f\n"
    "}\n";
static const char bf16_fma_native[] =
    "fn fma_bf16(a: f32, b: f32, c: f32) -> f32 {\n"
    "  let x = pack_bf16(a)\n"
    "  let y = pack_bf16(b)\n"
    "  let z = pack_bf16(c)\n"
    "  return unpack_bf16(u32(bitcast<u16>(fma(bitcast<bf16>(u16(x)), bitcast<bf16>(u16(y)), "
    "bitcast<bf16>(u16(z))))))\n"
    "}\n";
static const char bf16_fma_by_bits[] =
    VY_SOFTLIB_TEXT_SOFT
    VY_SOFTLIB_TEXT_ODD
    VY_SOFTLIB_TEXT_FMA
    VY_SOFTLIB_TEXT_FMA_BY("fma_odd", "finish_odd")
    "fn fma_bf16(a: f32, b: f32, c: f32) -> f32 { return round_to_bf16(fma_odd_f32(a, b, c)) }\n";

static const char from_64_bits[] =
    "fn odd_u64(a: u64) -> f32 {\n"
    "  let s = 40 - min(clz(a), 40)\n"
    "  let t = a >> s\n"
    "  return f32(u32(t) | u32(t << s != a)) * bitcast<f32>((u32(s) + 127) << 23)\n"
    "}\n"
    "fn odd_i64(a: i64) -> f32 {\n"
    "  let f = odd_u64(u64(abs(a)))\n"
    "  return a < 0 ? -f : f\n"
    "}\n"
    "fn odd_f64(a: f64) -> f32 {\n"
    "  let f = f32(a)\n"
    "  let b = bitcast<u32>(f)\n"
    "  let d = f64(f)\n"
    "  let inexact = (d < a || d > a) && (b & 1) == 0\n"
    "  return bitcast<f32>(inexact ? (abs(a) > abs(d) ? b + 1 : b - 1) : b)\n"
    "}\n";
/* clang-format on */

#define F16_FMA (VY_NUMERIC(F16_FMA) | VY_NUMERIC(F16_CONVERT))
/* A conversion of bf16 meets f32's subnormals. */
#define BF16_CONVERT (VY_NUMERIC(BF16_CONVERT) | VY_NUMERIC(F32_SUBNORMAL))

const vy_softlib_text vy_softlib_narrow_texts[] = {
    {i8_ops, VY_TYPE(I8), 0, 0, 0, 0},
    {u8_ops, VY_TYPE(U8), 0, 0, 0, 0},
    {i16_ops, VY_TYPE(I16), 0, 0, 0, 0},
    {u16_ops, VY_TYPE(U16), 0, 0, 0, 0},
    {f16_by_bits, VY_TYPE(F16), 0, VY_NUMERIC(F16_CONVERT), 0, 0},
    {f16_by_conversion, VY_TYPE(F16), 0, 0, VY_NUMERIC(F16_CONVERT), 0},
    {f16_ops, VY_TYPE(F16), 0, 0, 0, 0},
    {f16_fma_native, VY_TYPE(F16), VY_OP(FMA), 0, F16_FMA, 0},
    {f16_fma_by_f32, VY_TYPE(F16), VY_OP(FMA), F16_FMA, 0, 0},
    {bf16_pack, VY_TYPE(BF16), 0, 0, 0, 0},
    {bf16_by_bits, VY_TYPE(BF16), 0, BF16_CONVERT, 0, 0},
    {bf16_by_conversion, VY_TYPE(BF16), 0, 0, BF16_CONVERT, 0},
    {bf16_ops, VY_TYPE(BF16), 0, 0, 0, 0},
    {bf16_fma_native, VY_TYPE(BF16), VY_OP(FMA), 0, VY_NUMERIC(BF16_FMA), 0},
    {bf16_fma_by_bits, VY_TYPE(BF16), VY_OP(FMA), VY_NUMERIC(BF16_FMA), 0, 0},
    {from_64_bits, VY_TYPE(F16) | VY_TYPE(BF16), VY_OP(CAST), 0, 0, 0},
    {NULL, 0, 0, 0, 0, 0},
};
