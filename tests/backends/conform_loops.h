/* Loops that wait for memory, and short branches around loads, on a backend and on the oracle: what emitters ask
 * early, load ahead or leave unguarded gives the same. */
#ifndef VY_TESTS_CONFORM_LOOPS_H
#define VY_TESTS_CONFORM_LOOPS_H

#include "backends/conform.h"

enum { LOOP_COUNT = 700 };

/* Every invocation has a range [begin, end) of `d`, which may start or end behind it, and a state. */
static const char conform_loop[] = "program loop {\n param a : u32\n buffer d : u8 read\n buffer t : u32 read\n"
                                   " buffer y : u32 read_write\n workgroup 64\n grid over y\n"
                                   " let i = global_id.x\n if i >= len(y) { return }\n"
                                   " let begin = t[i] %% 600\n let end = begin + y[i] %% 40\n"
                                   " var at = begin\n var s = 1u32\n var k = i\n %s\n"
                                   " y[i] = s + 3 * at + 7 * k\n}\n";

static const char *const conform_loop_bodies[] = {
    /* loaded ahead */
    "while at < end { s = t[(s % 8) * 64 + u32(d[at])]\n at = at + 1\n if s % 16 == a { break } }",
    "while at < end { s = t[s + u32(d[at])] % 64\n at = at + 1\n if t[s] % 8 == a { k = t[s]\n break }\n k = k * 3 }",
    "while at < end { let c = d[at]\n at = at + 1\n s = s * 31 + u32(c)\n if s % 9 == a { break }\n s = s ^ u32(c) }",
    "while at < end { var c = u32(d[at])\n at = at + 1\n c = c * 3\n s = s * 5 + c\n if c == a { continue }\n s = s + "
    "1 }",
    "while at < end { s = s + u32(d[i])\n at = at + 1\n if s % 32 == a { break }\n s = s * 3 }",
    "while at + 2 < end { s = s * 7 + u32(d[at + 2]) + t[at]\n at = at + 3\n if s % 32 == a { return }\n s = s ^ 5 }",
    "while at < end { let b = at\n s = s * 7 + u32(d[b]) + u32(d[b + 1])\n at = at + 2\n if s % 64 == a { break }\n k "
    "= k + s }",
    "while at < end { s = s + u32(d[at])\n at = at + 1\n var n = 0u32\n while n < s % 5 { k = k + t[n]\n n = n + 1\n "
    "if k % 8 == a { break }\n k = k * 3 }\n s = s ^ k }",
    /* an index that changes before or behind, or by what it loads */
    "while at < end { s = s + u32(d[k])\n at = at + 1\n if s & 1 == 0 { k = k + 3 }\n s = s * 5 }",
    "while at < end { at = at + 1\n s = s * 3 + u32(d[at])\n if s % 16 == a { break }\n s = s + 1 }",
    "while at < end { if s & 1 == 1 { s = s + 1\n at = at + 2\n continue }\n s = s ^ u32(d[at])\n at = at + 1\n if s "
    "== a { break }\n s = s * 3 }",
    "while at < end { k = t[k] % 700\n at = at + 1\n if k % 16 == a { break }\n s = s * 3 + k }",
    "while at < end { s = s * 3 + u32(d[at])\n at = at + 1\n if s % 4 == a { at = at + 2 }\n s = s + 1 }",
    /* conditions of every kind */
    "var go = at < end\n while go { s = s * 3 + u32(d[at])\n at = at + 1\n go = s % 5 != 0 && at < end\n if s % 7 == a "
    "{ s = s + 1 }\n k = k + s }",
    "while t[s % 64] % 8 != 3 && at < end { s = s * 3 + u32(d[at])\n at = at + 1\n if s % 16 == a { break }\n s = s + "
    "1 }",
    "while s != 0 { s = s >> 1\n k = k * 5 + u32(d[at])\n if k % 16 == a { break }\n at = at + 1 }",
    "while true { if at >= end { break }\n s = s * 3 + u32(d[at])\n at = at + 1\n if s % 16 == a { continue }\n s = s "
    "+ 1 }",
    /* short branches around loads */
    "let size = end - begin\n for w in 0u32 .. 11 { for b in 0u32 .. 4 { let p = w * 4 + b\n s = s << 8\n"
    "if p < size { s = s | u32(d[begin + p]) } else if p == size { s = s | 0x80 } }\n k = k * 31 + s }",
    "if at < a { s = s + u32(d[i]) } else if a == at { s = s + 9 }\n if i < a { k = k - t[i] } else if a < i { k = k + "
    "1 }",
    "if i < a * 40 { s = s ^ (t[i] * 3) << 2\n k = t[i] - k } else if i == a * 40 { k = 5 }",
    "if s < a { s = a } else if s == a { s = 77 }\n if k > a { k = a } else if k == a { k = 78 }",
    "if k == a { k = k + 1\n s = s + t[k] } else if k > a { k = k - 1\n s = s | t[k] }",
    "let z = t[i]\n if z & 1 == 0 { s = s + z\n s = s ^ u32(d[k]) }\n if z & 2 == 0 { s = u32(d[k]) + s } else { s = s "
    "- u32(d[k]) }",
    /* bytes that are put together */
    "s = s << 8\n s = s | u32(d[i])\n s = s | u32(d[k + 1])\n s = s << 7\n s = s | u32(d[k + 2])\n s = s << 8\n"
    "if i & 1 == 0 { s = s | u32(d[at]) }\n k = k << 16\n if i & 2 == 0 { k = k << 8 }\n k = k | u32(d[at + 1])",
    "for n in 0u32 .. a + 3 { s = s | u32(d[n])\n var p = s\n k = k + (p | u32(d[i]))\n p = p << 8\n k = k / ((p | "
    "u32(d[at])) | 1) + t[n]\n s = s << 8 }",
    /* loads that are selected */
    "s = (i & 1 == 0 ? t[i] : 0) + (i < a * 9 ? u32(d[k]) : 0) * 3\n k = (t[0] & 1 == 0 ? t[i + 1] : 0) + (a == 4 ? "
    "t[2] : 0)",
    "while at < end { s = s * 3 + (i & 1 == 0 ? u32(d[at]) : 0)\n at = at + 1\n if s % 16 == a { break }\n k = k + (s "
    "& 1 == 0 ? t[k] : 0) }",
    /* what a compiler counts, turns around or joins */
    "let p = i32(k)\n let q = i32(t[i])\n s = u32(min(min(q, -p), i32(a)) + max(max(q, -p), i32(s)))\n"
    "k = u32(min(i32(at), min(i32(s), 0 - q)) + max(max(i32(end), q * -1), p))",
    "var n = -i32(t[i])\n var m = i32(k) - i32(t[i])\n s = u32(min(min(i32(k), n), m) + max(max(m, n), i32(a)))\n"
    "n = -m\n k = u32(min(min(-n, -m), n))",
    "let f = f32(i32(t[i])) / 1e9\n s = bitcast<u32>(min(max(f, -0.0), 1.0))\n k = bitcast<u32>(max(min(f, 1.0), "
    "-0.0))\n at = bitcast<u32>(min(max(bitcast<f32>(t[i] | 0x7fc00000), -0.0), 1.0)) + bitcast<u32>(max(-0.0, "
    "min(-0.0, "
    "f)))",
    "for n in reverse_bits(u64(i)) .. 5635731479043266256 step 4611686018427387910 { s = s * 3 + 1 }\n"
    "for n in t[i] .. 0x4e3623eb step 0x40000006 { k = k + 5 }\n for n in t[i] .. 0xfffffff0 step 0x0fffffff { s = s * "
    "5 + 1 }",
    "for n in i32(t[i]) .. 2147483000 step 90000000 { s = s * 3 + 1 }\n for n in i32(t[i]) .. -2147483000 step "
    "-90000000 "
    "{ k = k * 3 + 1 }\n for n in -2147483648i32 .. i32(t[i]) step 123456789 { s = s ^ u32(n) }",
    "for n in i64(i32(t[i])) << 32 .. 9223372036854775000 step 800000000000000000 { s = s * 3 + 1 }\n"
    "for n in i64(i32(t[i])) << 32 .. -9223372036854775000 step -800000000000000000 { k = k * 7 + u32(n >> 40) }",
    /* loads near each other, up to the end and over it, around zero, with what is set in between */
    "while end - at >= 4 { s = s * 3 + u32(d[at]) + u32(d[at + 1]) * 5 + u32(d[at + 2]) * 7 + u32(d[at + 3]) * 11\n at "
    "= at "
    "+ 4 }",
    "var w = a - 8\n while k % 8 < 7 { s = s * 3 + u32(d[w]) + u32(d[w + 1]) * 5 + u32(d[w + 2]) * 7 + u32(d[w + 3]) * "
    "11 + u32(d[5 + w])\n w = w + 1\n k = k + 1 }",
    "while at < end { let b = at + 2\n let c = b + 1\n s = s * 3 + t[at] + t[b] * 5\n if s & 1 == 0 { s = s + t[c] } "
    "else { k = k + t[c + 1] + t[at + 7] }\n at = at + 3\n s = s * 7 + t[at] + t[at + 1] + t[b] }",
    "while at < end { var v = at\n s = s + t[at] + t[v] + t[at + 1] * 3 + t[at + 2] + t[at + 3]\n if s % 8 == a { at = "
    "at "
    "+ 1\n continue }\n v = v + 1\n s = s ^ t[v] ^ t[v + 1] ^ u32(d[at]) ^ u32(d[at + 1])\n if s % 16 == a { break "
    "}\n at = at + 2 }",
    "var w = 0u32 - 4\n while w != 90 { s = s * 3 + t[w + 63] + t[w + 60] + t[w + 1] * 5 + t[w + 64] + t[w]\n w = w + "
    "1 "
    "}",
    /* one trip or two */
    "for n in local_id.x .. 100 step 64 { s = s * 3 + t[n]\n k = k ^ s }",
    "for n in local_index .. 128 step 64 { s = s * 3 + u32(d[n])\n at = n }\n for n in local_id.x .. 63 step 64 { k = "
    "k "
    "* 7 + t[n] }",
    "let l = local_id.x\n for n in l .. 70 step 64 { var v = s + n / 18\n if n < a * 20 { v = v ^ t[n % 18] } else if "
    "t[n] "
    "& 1 == 0 { k = k + u32(d[n]) }\n s = v * 5 + n }",
    "for n in local_index .. 65 step 64 { for m in local_id.x .. 90 step 80 { s = s + t[n + m]\n k = k * 3 + n } }",
    "for n in local_id.y .. 2 step 1 { s = s * 3 + t[n]\n if s & 1 == 0 { k = k + 1 } }\n for n in local_id.x .. 129 "
    "step 64 { k = k * 3 + n }\n for n in local_id.x .. 100 step 64 { if s == n { break }\n at = at + n }",
    /* counted by hand: far, over half of a range, until it wraps */
    "var n = i32(t[i])\n while n < 2057483647 { s = s * 3 + 1\n n = n + 90000000 }\n"
    "while n > -2057483647 { k = k * 3 + 1\n n = n - 90000000 }\n s = s ^ u32(n)",
    "var m = t[i]\n while m < 0xbfffffff { s = s * 3 + m\n m = m + 0x40000000 }\n"
    "while m > 0x40000000 { k = k * 3 + 1\n m = m - 0x3ffffffb }\n while m <= 0x80000000 { s = s * 5 + 1\n m = m + "
    "0x7ffffff0 }",
    "var m = 12345 - (t[i] % 40) * 0x40000007\n while m != 12345 { s = s * 3 + 1\n m = m + 0x40000007 }\n"
    "var n = i32(t[i] % 40) * 0x3ffffff9\n while n != 0 { k = k * 3 + 1\n n = n - 0x3ffffff9 }",
    "var m = 0xffffff00 + t[i] % 128\n while m >= 0xffffff00 { s = s * 3 + 1\n m = m + 40 }\n"
    "var n = 2147483600 + i32(t[i] % 40)\n while n > 0 { k = k * 3 + 1\n n = n + 1 }\n"
    "m = t[i] % 30\n while m < 2147483649 { s = s * 5 + m\n m = m - 1 }\n while n < 0 { n = n - 0x10000001\n k = k * "
    "5 + 1 }",
    "var n = i64(i32(t[i])) << 32\n while n < 8000000000000000000 { s = s * 3 + 1\n n = n + 800000000000000000 }\n"
    "while n >= -8000000000000000000 { k = k * 3 + 1\n n = n - 800000000000000000 }\n"
    "var m = u64(t[i]) << 32\n while m < 0xbfffffffffffffff { s = s * 7 + 1\n m = m + 0x4000000000000000 }\n"
    "m = u64(t[i] % 40) * 0x4000000000000006\n while m != 0 { k = k * 7 + 1\n m = m - 0x4000000000000006 }",
    "var m = u8(t[i] % 6 + 250)\n while m >= 250 { s = s * 3 + 1\n m = m + 1 }\n var n = i8(t[i])\n while n < 60 { k = "
    "k * 3 + 1\n n = n + 60 }\n"
    "var v = i16(t[i])\n while v > -30000 { s = s * 5 + 1\n v = v - 2000 }\n var w = u16(t[i])\n while w != u16(t[i]) "
    "+ "
    "16386 * 7 { k = k * 5 + 1\n w = w + 16386 }",
    "var n = i32(t[i])\n while true { s = s * 3 + 1\n if n >= 2057483647 { break }\n n = n + 90000000 }\n"
    "while true { if n <= -2057483647 { break }\n k = k * 3 + 1\n n = n - 90000000 }\n"
    "while true { s = s * 5\n if n < 1000000000 { n = n + 1073741824\n continue }\n break }",
    "var m = t[i]\n while u64(m) < 0xbfffffff { s = s * 3 + 1\n m = m + 0x40000000 }\n"
    "var n = i32(t[i])\n while i64(n) > -2057483647 { k = k * 3 + 1\n n = n - 90000000 }\n while bitcast<u32>(n) >= "
    "0x80000000 { n = n + 0x10000001\n s = s * 5 }",
    "var n = i32(t[i])\n var go = n < 2057483647\n while go { s = s * 3 + 1\n n = n + 90000000\n if n > 2057483646 { "
    "go = "
    "false } }\n var p = n\n while n > -1900000000 { p = n - 90000000\n k = k * 3 + 1\n n = p }\n"
    "while p + 100000000 < 2057483647 { s = s * 5 + 1\n p = p + 90000000 }",
    "let to = i32(a) + 2000000000\n var n = i32(t[i])\n while n < to { s = s * 3 + 1\n n = n + 90000000 }\n"
    "let step = 0x10000000 + a\n var m = t[i]\n while m < 0xe0000000 { k = k * 3 + 1\n m = m + step }\n"
    "while n > -to { s = s * 5 + u32(n)\n n = n - 0x7000003 }",
    "var n = i32(t[i])\n for j in 0u32 .. 60 { n = n + 90000000\n s = s * 3 + j\n if n > 2000000000 { break } }\n"
    "for j in 0i32 .. 60 { k = k * 3 + 1\n if n <= -1900000000 { break }\n n = n - 90000000 }\n"
    "for j in i32(t[i]) .. i32(t[i]) + 9 { s = s * 5 + u32(j) }",
    "var n = 2147483600 + i32(t[i] % 40)\n while n <= 2147483646 { s = s * 3 + 1\n n = n + 1 }\n"
    "while n != 2147483647 - i32(t[i] % 20) { k = k * 3 + 1\n n = n - 1 }\n"
    "n = -2147483600 - i32(t[i] % 40)\n while n >= -2147483647 { s = s * 5 + 1\n n = n - 1 }\n"
    "n = n + i32(t[i] % 20)\n while n > -2147483648 { k = k * 5 + 1\n n = n - 1 }",
    "var n = i32(t[i])\n var m = 0u32\n while n < i32(t[i + 1]) { s = s * 3 + 1\n n = n + 1\n m = m + 1\n if m >= 20 { "
    "break } }\n"
    "while i32(k) - n <= 2000000000 { k = k + 1\n m = m + 1\n if m > 50 { break } }\n"
    "while n < 1900000000 { for j in 0u32 .. a { s = s * 5 + t[j] }\n n = n + 200000000 }",
    "var n = 34i32\n s = t[i]\n while true { let o = n\n s = s * 3 + 1\n if s % 64 == 5 { break }\n n = n + "
    "2097500008\n if o < -25 { break } }\n k = u32(n)\n var m = 160i64\n while true { let o = m\n s = s * 3 + "
    "1\n if s % 64 == 7 { break }\n m = m + 4611686018427387904\n if o >= 4611686018427387676 { break } }\n at = "
    "u32(m >> 32)",
    /* upper halves of products, less what has a lower half of 0 */
    "let w = u64(t[i]) << 32\n let m = u64(mul_high(t[i], s * 4194305 + k)) - w\n s = u32(m >> 32)\n k = u32(m)\n"
    "let n = i64(mul_high(k, t[k])) + -i64(w ^ u64(i & 1))\n at = at + u32(n >> 32) + u32(n)",
    /* neighbours */
    "s = t[i] + 3 * t[i + 1]\n k = t[2 * i] + 5 * t[2 * i + 1] + 7 * t[3 * i] + 9 * t[3 * i + 1]",
    "s = t[k] + 3 * t[k + 1] + 5 * t[k + 2] + 7 * t[k + 3]\n k = t[begin] + 3 * t[begin + 1] + u32(d[begin]) + 5 * "
    "u32(d[begin + 1])",
    /* `for` with step 0 makes no trip, also if only some lanes have it, and ends at the limit of its type */
    "let z = t[i] % 4\n for n in i .. i + 9 step z { s = s * 3 + n }\n for n in i + 9 .. i step z { s = s * 5 }\n"
    "for n in 0u32 .. 5 step 0 { k = k + 1 }\n for n in 5i32 .. 0 step i32(a - a) { k = k + 2 }\n"
    "for n in i32(z) .. -7 step -i32(z) { k = k * 3 + u32(n) }",
    "let z = t[i] % 4\n for n in u8(t[i]) .. 255 step u8(z * 67) { s = s * 3 + u32(n) }\n"
    "for n in i8(t[i]) .. 127 step i8(z * 40) { k = k * 3 + u32(n) }\n"
    "for n in i8(t[i]) .. -128 step -i8(z * 40) { s = s * 5 + u32(n) }\n"
    "for n in u8(t[i]) | 240 .. 255 { k = k * 5 + u32(n) }\n for n in i8(t[i]) | -16 .. -128 step -128 { s = s + 9 }",
    "let z = t[i] % 4\n for n in u16(t[i]) | 0xfff0 .. 65535 step u16(z) { s = s * 3 + u32(n) }\n"
    "for n in i16(t[i]) .. 32767 step i16(z * 9000) { k = k * 3 + u32(n) }\n"
    "for n in t[i] | 0xfffffff0 .. 0xffffffff step z { s = s * 5 + n }\n"
    "for n in i32(t[i]) .. -2147483648 step -i32(z * 700000000) { k = k * 5 + u32(n) }",
    "let z = u64(t[i] % 4)\n for n in u64(t[i]) << 32 .. 0xffffffffffffffff step z << 61 { s = s * 3 + u32(n >> 32) }\n"
    "for n in u64(t[i]) | 0xfffffffffffffff0 .. 0xffffffffffffffff step z { s = s * 5 + u32(n) }\n"
    "for n in i64(i32(t[i])) << 32 .. 9223372036854775807 step i64(z << 61) { k = k * 3 + u32(n >> 32) }\n"
    "for n in i64(i32(t[i])) << 32 .. -9223372036854775808 step -i64(z << 61) { k = k * 5 + u32(n >> 32) }",
};

static inline void conform_loops(conform *c, size_t first, size_t step) {
    static uint8_t d[LOOP_COUNT];
    static uint32_t t[LOOP_COUNT], y[LOOP_COUNT];
    static const size_t counts[][3] = {{LOOP_COUNT, LOOP_COUNT, LOOP_COUNT}, {300, 513, 130}, {1, 700, 65}, {0, 0, 3}};
    uint64_t before = c->judged, all = 0;
    vy_random random = vy_random_start(5);
    conform_fill(VYRE_TYPE_U8, &random, d, LOOP_COUNT);
    conform_fill(VYRE_TYPE_U32, &random, t, LOOP_COUNT);
    conform_fill(VYRE_TYPE_U32, &random, y, LOOP_COUNT);
    for (size_t i = first; i < sizeof conform_loop_bodies / sizeof *conform_loop_bodies; i += step) {
        char text[2048];
        snprintf(text, sizeof text, conform_loop, conform_loop_bodies[i]);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            vyre_scalar a = vyre_scalar_u32((uint32_t)(3 + k + i % 3));
            all++;
            vyre_span inputs[3] = {{d, counts[k][0]}, {t, counts[k][1] * 4}, {y, counts[k][2] * 4}};
            vyre_arguments arguments = {.params = &a, .param_count = 1, .inputs = inputs, .input_count = 3};
            conform_check(c, conform_loop_bodies[i], program, &arguments, (conform_form)((i + k) % CONFORM_FORM_COUNT));
        }
        vyre_program_release(program);
    }
    assert_int_equal(c->judged - before, all);
}

#endif
