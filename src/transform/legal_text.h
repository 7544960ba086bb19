/* Text that both phases read: f32 numbers taken apart and put together in u32.
 *
 * mantissa gives the biased exponent (below 1 for subnormals) and the significand of a finite magnitude that is not zero, its highest bit at 31; finish rounds
 * such a pair to nearest-even, gradually below the normal range, and finish_odd to odd. Bits that were shifted out leave a one behind (sticky), so that
 * what is rounded is as good as the exact value: 8 bits below the result's last are enough for that. fma_bits adds in 64 bits, the larger
 * operand first: the product has 48 bits, so nothing is shifted out unless the exponents are so far apart that at most one bit cancels. */
#ifndef VY_TRANSFORM_LEGAL_TEXT_H
#define VY_TRANSFORM_LEGAL_TEXT_H

/* clang-format off */
#define VY_LEGAL_TEXT_SOFT \
    "fn sticky_shift(m: u32, d: u32) -> u32 {\n" \
    "  let n = min(d, 31)\n" \
    "  let s = m >> n\n" \
    "  return s | u32((s << n) != m)\n" \
    "}\n" \
    "fn mantissa(b: u32) -> (e: i32, m: u32) {\n" \
    "  let n = clz(max(b, 1))\n" \
    "  let small = b < 0x800000\n" \
    "  return small ? 9 - i32(n) : i32(b >> 23), small ? b << (n & 31) : (b << 8) | 0x80000000\n" \
    "}\n" \
    "fn finish(sign: u32, e: i32, m: u32) -> u32 {\n" \
    "  let s = sticky_shift(m, u32(max(1 - e, 0)))\n" \
    "  let q = s >> 8\n" \
    "  let r = (u32(max(e, 1) - 1) << 23) + q + u32((s & 0xff) + (q & 1) > 0x80)\n" \
    "  return sign | (e >= 255 ? 0x7f800000 : r)\n" \
    "}\n"

#define VY_LEGAL_TEXT_ODD \
    "fn finish_odd(sign: u32, e: i32, m: u32) -> u32 {\n" \
    "  let s = sticky_shift(m, u32(max(1 - e, 0)))\n" \
    "  let r = (u32(max(e, 1) - 1) << 23) + ((s >> 8) | u32((s & 0xff) != 0))\n" \
    "  return sign | (e >= 255 ? 0x7f7fffff : r)\n" \
    "}\n"

#define VY_LEGAL_TEXT_FMA \
    "fn sticky_shift_pair(high: u32, low: u32, d: u32) -> (h: u32, l: u32) {\n" \
    "  let n = min(d, 63)\n" \
    "  let k = n & 31\n" \
    "  let far = n >= 32\n" \
    "  let h = high >> k\n" \
    "  let from = k == 0 ? 0 : high << ((32 - k) & 31)\n" \
    "  let l = low >> k\n" \
    "  let lost = far ? low != 0 || (h << k) != high : (l << k) != low\n" \
    "  return far ? 0 : h, (far ? h : l | from) | u32(lost)\n" \
    "}\n" \
    "fn fma_bits(x: u32, y: u32, z: u32) -> (sign: u32, e: i32, m: u32) {\n" \
    "  let (xe, xm) = mantissa(x & 0x7fffffff)\n" \
    "  let (ye, ym) = mantissa(y & 0x7fffffff)\n" \
    "  let (ze_, zm_) = mantissa(z & 0x7fffffff)\n" \
    "  let no_z = (z & 0x7fffffff) == 0\n" \
    "  let ze = no_z ? -10000 : ze_\n" \
    "  let zm = no_z ? 0 : zm_\n" \
    "  let high = mul_high(xm, ym)\n" \
    "  let low = xm * ym\n" \
    "  let top = high >> 31\n" \
    "  let ph = high >> top\n" \
    "  let pl = top == 0 ? low : (low >> 1) | (high << 31)\n" \
    "  let pe = xe + ye - 127 + i32(top)\n" \
    "  let zh = zm >> 1\n" \
    "  let zl = zm << 31\n" \
    "  let p_first = pe > ze || (pe == ze && (ph > zh || (ph == zh && pl >= zl)))\n" \
    "  let ah = p_first ? ph : zh\n" \
    "  let al = p_first ? pl : zl\n" \
    "  let ae = p_first ? pe : ze\n" \
    "  let be = p_first ? ze : pe\n" \
    "  let (bh, bl) = sticky_shift_pair(p_first ? zh : ph, p_first ? zl : pl, u32(ae - be))\n" \
    "  let p_sign = (x ^ y) & 0x80000000\n" \
    "  let same = p_sign == (z & 0x80000000)\n" \
    "  let sl = same ? al + bl : al - bl\n" \
    "  let sh = same ? ah + bh + u32(sl < al) : ah - bh - u32(al < bl)\n" \
    "  let n = sh == 0 ? 32 + clz(sl) : clz(sh)\n" \
    "  let k = n & 31\n" \
    "  let h = n >= 32 ? sl << k : (sh << k) | (k == 0 ? 0 : sl >> ((32 - k) & 31))\n" \
    "  let l = n >= 32 ? 0 : sl << k\n" \
    "  return p_first ? p_sign : z & 0x80000000, ae + 1 - i32(n), n >= 64 ? 0 : h | u32(l != 0)\n" \
    "}\n" \
    "fn fma_special(x: u32, y: u32, z: u32) -> u32 {\n" \
    "  let xm = x & 0x7fffffff\n" \
    "  let ym = y & 0x7fffffff\n" \
    "  let zm = z & 0x7fffffff\n" \
    "  let p = max(xm, ym)\n" \
    "  let sign = (x ^ y) & 0x80000000\n" \
    "  let infinite = p == 0x7f800000\n" \
    "  let nan = max(p, zm) > 0x7f800000 || (infinite && (min(xm, ym) == 0 || (zm == 0x7f800000 && sign != (z & 0x80000000))))\n" \
    "  return nan ? 0x7fc00000 : infinite ? sign | 0x7f800000 : zm == 0 ? sign & z : z\n" \
    "}\n"

/* fma, rounded by `finish`. */
#define VY_LEGAL_TEXT_FMA_BY(name, finish) \
    "fn " name "(a: f32, b: f32, c: f32) -> f32 {\n" \
    "  let x = bitcast<u32>(a)\n" \
    "  let y = bitcast<u32>(b)\n" \
    "  let z = bitcast<u32>(c)\n" \
    "  let xm = x & 0x7fffffff\n" \
    "  let ym = y & 0x7fffffff\n" \
    "  var r = 0u32\n" \
    "  if max(max(xm, ym), z & 0x7fffffff) >= 0x7f800000 || min(xm, ym) == 0 {\n" \
    "    r = fma_special(x, y, z)\n" \
    "  } else {\n" \
    "    let (sign, e, m) = fma_bits(x, y, z)\n" \
    "    if m != 0 { r = " finish "(sign, e, m) }\n" \
    "  }\n" \
    "  return bitcast<f32>(r)\n" \
    "}\n"
/* clang-format on */

#endif
