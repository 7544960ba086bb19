/* Softlib of the 64-bit integer phase: replaces ops on i64 and u64 on targets without 64-bit integers. A value is two
 * u32, the low half first.
 *
 * Written for the target and not rewritten again: shift amounts are below 32, and no divisor is zero. The bits that a
 * shift by k (0 to 31) moves from one half to the other are `x >> 1 >> (k ^ 31)`: none if k is 0. */
#include "lower/numeric_passes.h"

/* clang-format off */
#define PAIR "(al: u32, ah: u32) -> (l: u32, h: u32)"
#define PAIRS "(al: u32, ah: u32, bl: u32, bh: u32) -> (l: u32, h: u32)"
#define TEST "(al: u32, ah: u32, bl: u32, bh: u32) -> bool"

/* ---- ops that do not know signs ---- */

#define PLAIN(T) \
    "fn add_" T PAIRS " { let l = al + bl; return l, ah + bh + u32(l < al) }\n" \
    "fn sub_" T PAIRS " { return al - bl, ah - bh - u32(al < bl) }\n" \
    "fn neg_" T PAIR " { return -al, ~ah + u32(al == 0) }\n" \
    "fn mul_" T PAIRS " { return al * bl, mul_high(al, bl) + al * bh + ah * bl }\n" \
    "fn and_" T PAIRS " { return al & bl, ah & bh }\n" \
    "fn or_" T PAIRS " { return al | bl, ah | bh }\n" \
    "fn xor_" T PAIRS " { return al ^ bl, ah ^ bh }\n" \
    "fn not_" T PAIR " { return ~al, ~ah }\n" \
    "fn select_" T "(c: bool, al: u32, ah: u32, bl: u32, bh: u32) -> (l: u32, h: u32) { return c ? al : bl, c ? " \
    "ah : bh }\n" \
    "fn eq_" T TEST " { return al == bl && ah == bh }\n" \
    "fn ne_" T TEST " { return al != bl || ah != bh }\n" \
    "fn gt_" T TEST " { return lt_" T "(bl, bh, al, ah) }\n" \
    "fn le_" T TEST " { let g = lt_" T "(bl, bh, al, ah); return !g }\n" \
    "fn ge_" T TEST " { let g = lt_" T "(al, ah, bl, bh); return !g }\n" \
    "fn min_" T PAIRS " { let c = lt_" T "(al, ah, bl, bh); return c ? al : bl, c ? ah : bh }\n" \
    "fn max_" T PAIRS " { let c = lt_" T "(al, ah, bl, bh); return c ? bl : al, c ? bh : ah }\n" \
    "fn popcount_" T PAIR " { return popcount(al) + popcount(ah), 0 }\n" \
    "fn clz_" T PAIR " { return ah == 0 ? 32 + clz(al) : clz(ah), 0 }\n" \
    "fn ctz_" T PAIR " { return al == 0 ? 32 + ctz(ah) : ctz(al), 0 }\n" \
    "fn reverse_bits_" T PAIR " { return reverse_bits(ah), reverse_bits(al) }\n" \
    "fn reverse_bytes_" T PAIR " { return reverse_bytes(ah), reverse_bytes(al) }\n" \
    "fn shl_" T PAIRS " {\n" \
    "  let k = bl & 31\n" \
    "  let far = (bl & 32) != 0\n" \
    "  let up = al << k\n" \
    "  return far ? 0 : up, far ? up : ah << k | al >> 1 >> (k ^ 31)\n" \
    "}\n" \
    "fn rotl_" T PAIRS " {\n" \
    "  let k = bl & 31\n" \
    "  let far = (bl & 32) != 0\n" \
    "  let x = far ? ah : al\n" \
    "  let y = far ? al : ah\n" \
    "  return x << k | y >> 1 >> (k ^ 31), y << k | x >> 1 >> (k ^ 31)\n" \
    "}\n" \
    "fn rotr_" T PAIRS " {\n" \
    "  let k = bl & 31\n" \
    "  let far = (bl & 32) != 0\n" \
    "  let x = far ? ah : al\n" \
    "  let y = far ? al : ah\n" \
    "  return x >> k | y << 1 << (k ^ 31), y >> k | x << 1 << (k ^ 31)\n" \
    "}\n"

static const char plain[] =
    "fn lt_u64" TEST " { return ah < bh || (ah == bh && al < bl) }\n"
    "fn lt_i64" TEST " { return i32(ah) < i32(bh) || (ah == bh && al < bl) }\n"
    PLAIN("u64")
    PLAIN("i64");

/* ---- ops that do ---- */

/* abs: m is all ones for a negative number, s is 1. */
static const char signs[] =
    "fn abs_u64" PAIR " { return al, ah }\n"
    "fn abs_i64" PAIR " {\n"
    "  let s = ah >> 31\n"
    "  let m = -s\n"
    "  let l = (al ^ m) + s\n"
    "  return l, (ah ^ m) + u32(l < s)\n"
    "}\n"
    "fn shr_u64" PAIRS " {\n"
    "  let k = bl & 31\n"
    "  let far = (bl & 32) != 0\n"
    "  let down = ah >> k\n"
    "  return far ? down : al >> k | ah << 1 << (k ^ 31), far ? 0 : down\n"
    "}\n"
    "fn shr_i64" PAIRS " {\n"
    "  let k = bl & 31\n"
    "  let far = (bl & 32) != 0\n"
    "  let down = u32(i32(ah) >> i32(k))\n"
    "  return far ? down : al >> k | ah << 1 << (k ^ 31), far ? u32(i32(ah) >> 31) : down\n"
    "}\n"
    /* The two middle products are added to what the lowest carries over, then to the highest. */
    "fn mul_high_u64" PAIRS " {\n"
    "  let x = al * bh\n"
    "  let y = ah * bl\n"
    "  let xh = mul_high(al, bh)\n"
    "  let yh = mul_high(ah, bl)\n"
    "  let m = mul_high(al, bl) + x\n"
    "  let n = m + y\n"
    "  let c = u32(m < x) + u32(n < y)\n"
    "  let p = ah * bh + xh\n"
    "  let q = p + yh\n"
    "  let l = q + c\n"
    "  return l, mul_high(ah, bh) + u32(p < xh) + u32(q < yh) + u32(l < c)\n"
    "}\n"
    "fn mul_high_i64" PAIRS " {\n"
    "  let (pl, ph) = mul_high_u64(al, ah, bl, bh)\n"
    "  let a = u32(i32(ah) >> 31)\n"
    "  let b = u32(i32(bh) >> 31)\n"
    "  let (ql, qh) = sub_u64(pl, ph, bl & a, bh & a)\n"
    "  let (l, h) = sub_u64(ql, qh, al & b, ah & b)\n"
    "  return l, h\n"
    "}\n";

/* ---- division ----
 *
 * As Hacker's Delight has it (Warren, 2nd ed., 9-4 and 9-5): `digit` divides a number of three 16-bit digits, the upper
 * two u, by one of two whose highest bit is set, where u < v; its guess is at most 2 too large. `long` divides 64 bits
 * by 32 where the quotient has 32. A divisor of more than 32 bits is cut to its upper 32; the quotient that gives is
 * right or 1 too large, so it is taken 1 smaller and corrected up. */
static const char division[] =
    "fn digit(u: u32, next: u32, v: u32) -> (q: u32, r: u32) {\n"
    "  let d = v >> 16\n"
    "  let low = v & 0xffff\n"
    "  let q = u / d\n"
    "  let r = u - q * d\n"
    "  let over = u32(q > 0xffff || q * low > (r << 16 | next))\n"
    "  let p = q - over\n"
    "  let s = r + d * over\n"
    "  let again = u32(s < 0x10000 && (p > 0xffff || p * low > (s << 16 | next)))\n"
    "  let g = p - again\n"
    "  return g, (u << 16 | next) - g * v\n"
    "}\n"
    "fn long(h: u32, l: u32, v: u32) -> (q: u32, r: u32) {\n"
    "  let n = clz(v)\n"
    "  let w = v << n\n"
    "  let m = l << n\n"
    "  let (a, s) = digit(h << n | l >> 1 >> (n ^ 31), m >> 16, w)\n"
    "  let (b, r) = digit(s, m & 0xffff, w)\n"
    "  return a << 16 | b, r >> n\n"
    "}\n"
    "fn divide(al: u32, ah: u32, bl: u32, bh: u32) -> (l: u32, h: u32, rl: u32, rh: u32) {\n"
    "  var l = 0xffffffffu32\n"
    "  var h = 0xffffffffu32\n"
    "  var rl = al\n"
    "  var rh = ah\n"
    "  if bh != 0 {\n"
    "    let n = clz(bh)\n"
    "    let (g, none) = long(ah >> 1, al >> 1 | ah << 31, bh << n | bl >> 1 >> (n ^ 31))\n"
    "    let f = g >> (n ^ 31)\n"
    "    let q = f - u32(f != 0)\n"
    "    let (pl, ph) = mul_u64(q, 0, bl, bh)\n"
    "    let (sl, sh) = sub_u64(al, ah, pl, ph)\n"
    "    let more = ge_u64(sl, sh, bl, bh)\n"
    "    let (tl, th) = sub_u64(sl, sh, more ? bl : 0, more ? bh : 0)\n"
    "    l = q + u32(more)\n"
    "    h = 0\n"
    "    rl = tl\n"
    "    rh = th\n"
    "  } else if bl != 0 {\n"
    "    h = ah / bl\n"
    "    let top = ah - h * bl\n"
    "    rh = 0\n"
    "    if top == 0 {\n"
    "      l = al / bl\n"
    "      rl = al - l * bl\n"
    "    } else {\n"
    "      let (q, r) = long(top, al, bl)\n"
    "      l = q\n"
    "      rl = r\n"
    "    }\n"
    "  }\n"
    "  return l, h, rl, rh\n"
    "}\n"
    "fn div_u64" PAIRS " { let (l, h, rl, rh) = divide(al, ah, bl, bh); return l, h }\n"
    "fn rem_u64" PAIRS " { let (ql, qh, l, h) = divide(al, ah, bl, bh); return l, h }\n"
    /* Of magnitudes; x / 0 is -1 whatever the sign of x. */
    "fn div_i64" PAIRS " {\n"
    "  let (xl, xh) = abs_i64(al, ah)\n"
    "  let (yl, yh) = abs_i64(bl, bh)\n"
    "  let (ql, qh, rl, rh) = divide(xl, xh, yl, yh)\n"
    "  let (nl, nh) = neg_i64(ql, qh)\n"
    "  let flip = (ah ^ bh) >= 0x80000000 && (bl | bh) != 0\n"
    "  return flip ? nl : ql, flip ? nh : qh\n"
    "}\n"
    "fn rem_i64" PAIRS " {\n"
    "  let (xl, xh) = abs_i64(al, ah)\n"
    "  let (yl, yh) = abs_i64(bl, bh)\n"
    "  let (ql, qh, rl, rh) = divide(xl, xh, yl, yh)\n"
    "  let (nl, nh) = neg_i64(rl, rh)\n"
    "  let flip = ah >= 0x80000000\n"
    "  return flip ? nl : rl, flip ? nh : rh\n"
    "}\n";

/* ---- loops and ballots ---- */

/* What lies between the start of a loop and its end in the direction of its step, 0 if that makes no trip; and the
 * length of a step. Each trip takes one off. */
static const char loops[] =
    "fn trips_u64(al: u32, ah: u32, bl: u32, bh: u32, cl: u32, ch: u32) -> (l: u32, h: u32, sl: u32, sh: u32) {\n"
    "  let (dl, dh) = sub_u64(bl, bh, al, ah)\n"
    "  let some = lt_u64(al, ah, bl, bh)\n"
    "  let goes = some && (cl | ch) != 0\n"
    "  return goes ? dl : 0, goes ? dh : 0, cl, ch\n"
    "}\n"
    "fn trips_i64(al: u32, ah: u32, bl: u32, bh: u32, cl: u32, ch: u32) -> (l: u32, h: u32, sl: u32, sh: u32) {\n"
    "  let down = ch >= 0x80000000\n"
    "  let (xl, xh) = select_i64(down, bl, bh, al, ah)\n"
    "  let (yl, yh) = select_i64(down, al, ah, bl, bh)\n"
    "  let (dl, dh) = sub_i64(yl, yh, xl, xh)\n"
    "  let some = lt_i64(xl, xh, yl, yh)\n"
    "  let (sl, sh) = abs_i64(cl, ch)\n"
    "  let goes = some && (cl | ch) != 0\n"
    "  return goes ? dl : 0, goes ? dh : 0, sl, sh\n"
    "}\n"
    "fn shorten" PAIRS " {\n"
    "  let more = lt_u64(bl, bh, al, ah)\n"
    "  let (l, h) = sub_u64(al, ah, bl, bh)\n"
    "  return more ? l : 0, more ? h : 0\n"
    "}\n";

static const char ballots[] =
    "fn ballot_low(v: bool, lane: u32) -> u32 { return v && lane < 32 ? 1 << (lane & 31) : 0 }\n"
    "fn ballot_high(v: bool, lane: u32) -> u32 { return v && lane >= 32 ? 1 << (lane & 31) : 0 }\n";
/* clang-format on */

#define WIDE (VY_TYPE(I64) | VY_TYPE(U64))

const vy_softlib_text vy_softlib_int64_texts[] = {
    {plain, WIDE, 0, 0, 0, 0}, {signs, WIDE, 0, 0, 0, 0},   {division, WIDE, VY_OP(DIV) | VY_OP(REM), 0, 0, 0},
    {loops, WIDE, 0, 0, 0, 0}, {ballots, WIDE, 0, 0, 0, 0}, {NULL, 0, 0, 0, 0, 0},
};
