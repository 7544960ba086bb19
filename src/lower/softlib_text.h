/* Text that both phases read: numbers of a format taken apart and put together in integers of its width. The words in it are those of
 * softlib_format.inc, which must be included before one of these is used.
 *
 * mantissa gives the biased exponent (below 1 for subnormals) and the significand of a finite magnitude that is not zero, its highest bit on top; finish rounds
 * such a pair to nearest-even, gradually below the normal range, and finish_odd to odd. Bits that were shifted out leave a one behind (sticky), so that
 * what is rounded is as good as the exact value: the X bits below the result's last are enough for that. fma_bits adds in pairs, the larger
 * operand first: the product leaves 2 X bits free, so nothing is shifted out unless the exponents are so far apart that at most one bit cancels. */
#ifndef VY_LOWER_SOFTLIB_TEXT_H
#define VY_LOWER_SOFTLIB_TEXT_H

/* clang-format off */
#define VY_SOFTLIB_TEXT_SOFT \
    "fn sticky_shift_" F "(m: " U ", d: " U ") -> " U " {\n" \
    "  let n = min(d, " LAST ")\n" \
    "  let s = m >> n\n" \
    "  return s | " U "((s << n) != m)\n" \
    "}\n" \
    "fn mantissa_" F "(b: " U ") -> (e: i32, m: " U ") {\n" \
    "  let n = clz(max(b, 1))\n" \
    "  let small = b < " LEAST "\n" \
    "  return small ? " X_MORE " - i32(n) : i32(b >> " P "), small ? b << (n & " LAST ") : (b << " X ") | " SIGN "\n" \
    "}\n" \
    "fn finish_" F "(sign: " U ", e: i32, m: " U ") -> " U " {\n" \
    "  let s = sticky_shift_" F "(m, " U "(max(1 - e, 0)))\n" \
    "  let q = s >> " X "\n" \
    "  let r = (" U "(max(e, 1) - 1) << " P ") + q + " U "((s & " X_MASK ") + (q & 1) > " X_HALF ")\n" \
    "  return sign | (e >= " TOP " ? " INF " : r)\n" \
    "}\n"

#define VY_SOFTLIB_TEXT_ODD \
    "fn finish_odd_" F "(sign: " U ", e: i32, m: " U ") -> " U " {\n" \
    "  let s = sticky_shift_" F "(m, " U "(max(1 - e, 0)))\n" \
    "  let r = (" U "(max(e, 1) - 1) << " P ") + ((s >> " X ") | " U "((s & " X_MASK ") != 0))\n" \
    "  return sign | (e >= " TOP " ? " LARGEST " : r)\n" \
    "}\n"

#define VY_SOFTLIB_TEXT_FMA \
    "fn sticky_shift_pair_" F "(high: " U ", low: " U ", d: " U ") -> (h: " U ", l: " U ") {\n" \
    "  let n = min(d, " TWICE_LAST ")\n" \
    "  let k = n & " LAST "\n" \
    "  let far = n >= " W "\n" \
    "  let h = high >> k\n" \
    "  let from = k == 0 ? 0 : high << ((" W " - k) & " LAST ")\n" \
    "  let l = low >> k\n" \
    "  let lost = far ? low != 0 || (h << k) != high : (l << k) != low\n" \
    "  return far ? 0 : h, (far ? h : l | from) | " U "(lost)\n" \
    "}\n" \
    "fn fma_bits_" F "(x: " U ", y: " U ", z: " U ") -> (sign: " U ", e: i32, m: " U ") {\n" \
    "  let (xe, xm) = mantissa_" F "(x & " MAG ")\n" \
    "  let (ye, ym) = mantissa_" F "(y & " MAG ")\n" \
    "  let (ze_, zm_) = mantissa_" F "(z & " MAG ")\n" \
    "  let no_z = (z & " MAG ") == 0\n" \
    "  let ze = no_z ? -10000 : ze_\n" \
    "  let zm = no_z ? 0 : zm_\n" \
    "  let high = mul_high(xm, ym)\n" \
    "  let low = xm * ym\n" \
    "  let top = high >> " LAST "\n" \
    "  let ph = high >> top\n" \
    "  let pl = top == 0 ? low : (low >> 1) | (high << " LAST ")\n" \
    "  let pe = xe + ye - " BIAS " + i32(top)\n" \
    "  let zh = zm >> 1\n" \
    "  let zl = zm << " LAST "\n" \
    "  let p_first = pe > ze || (pe == ze && (ph > zh || (ph == zh && pl >= zl)))\n" \
    "  let ah = p_first ? ph : zh\n" \
    "  let al = p_first ? pl : zl\n" \
    "  let ae = p_first ? pe : ze\n" \
    "  let be = p_first ? ze : pe\n" \
    "  let (bh, bl) = sticky_shift_pair_" F "(p_first ? zh : ph, p_first ? zl : pl, " U "(ae - be))\n" \
    "  let p_sign = (x ^ y) & " SIGN "\n" \
    "  let same = p_sign == (z & " SIGN ")\n" \
    "  let sl = same ? al + bl : al - bl\n" \
    "  let sh = same ? ah + bh + " U "(sl < al) : ah - bh - " U "(al < bl)\n" \
    "  let n = sh == 0 ? " W " + clz(sl) : clz(sh)\n" \
    "  let k = n & " LAST "\n" \
    "  let h = n >= " W " ? sl << k : (sh << k) | (k == 0 ? 0 : sl >> ((" W " - k) & " LAST "))\n" \
    "  let l = n >= " W " ? 0 : sl << k\n" \
    "  return p_first ? p_sign : z & " SIGN ", ae + 1 - i32(n), n >= " TWICE " ? 0 : h | " U "(l != 0)\n" \
    "}\n" \
    "fn fma_special_" F "(x: " U ", y: " U ", z: " U ") -> " U " {\n" \
    "  let xm = x & " MAG "\n" \
    "  let ym = y & " MAG "\n" \
    "  let zm = z & " MAG "\n" \
    "  let p = max(xm, ym)\n" \
    "  let sign = (x ^ y) & " SIGN "\n" \
    "  let infinite = p == " INF "\n" \
    "  let nan = max(p, zm) > " INF " || (infinite && (min(xm, ym) == 0 || (zm == " INF " && sign != (z & " SIGN "))))\n" \
    "  return nan ? " NAN " : infinite ? sign | " INF " : zm == 0 ? sign & z : z\n" \
    "}\n"

/* fma, rounded by `finish`. */
#define VY_SOFTLIB_TEXT_FMA_BY(name, finish) \
    "fn " name "_" F "(a: " F ", b: " F ", c: " F ") -> " F " {\n" \
    "  let x = bitcast<" U ">(a)\n" \
    "  let y = bitcast<" U ">(b)\n" \
    "  let z = bitcast<" U ">(c)\n" \
    "  let xm = x & " MAG "\n" \
    "  let ym = y & " MAG "\n" \
    "  var r = 0" U "\n" \
    "  if max(max(xm, ym), z & " MAG ") >= " INF " || min(xm, ym) == 0 {\n" \
    "    r = fma_special_" F "(x, y, z)\n" \
    "  } else {\n" \
    "    let (sign, e, m) = fma_bits_" F "(x, y, z)\n" \
    "    if m != 0 { r = " finish "_" F "(sign, e, m) }\n" \
    "  }\n" \
    "  return bitcast<" F ">(r)\n" \
    "}\n"
/* clang-format on */

#endif
