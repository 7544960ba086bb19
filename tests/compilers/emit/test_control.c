/* Every kind of statement, in workgroups of every shape, for lanes of every width: masks, jumps, meetings, memory.
 * Memory is guarded at both ends. */
#include "compilers/emit/run.h"

#include <pthread.h>
#include <time.h>

#define X_LENGTH 1500u

typedef struct sample {
    const char *name, *body;
} sample;

/* x: u32 read, y: u32 read_write, z: f32 read_write; i: an invocation's number in the grid, l: in its workgroup, n: a
 * number from outside. */
static const char head[] = "program sample {\nparam n : u32\nbuffer x : u32 read\nbuffer y : u32 read_write\n"
                           "buffer z : f32 read_write\nbuffer e : u32 read\nworkgroup %s\n%s"
                           "let i = (global_id.z * global_size.y + global_id.y) * global_size.x + global_id.x\n"
                           "let l = local_index\n%s}\n";

#define ARRAY(declaration) "array " declaration "\n"

static const sample samples[] = {
    {"one mask", "if x[i] > 5 { y[i] = x[i] * 2 } else { y[i] = 7 }\n"},
    {"masks in masks", "var v = x[i]\nif v & 1 == 1 {\nif v & 2 == 2 { v = v * 3\nif v & 4 == 4 { v = v + 100 } }\n"
                       "else { v = v - 9 }\nv = v ^ i } else { if v & 8 == 8 { v = 1 } }\ny[i] = v\n"},
    {"a return in a mask", "if x[i] == 3 { return }\nif x[i] > 9 { y[i] = 1\nreturn }\ny[i] = y[i] + 2\n"},
    {"returns in masks in loops", "var s = 0u32\nfor k in 0u32..20 {\nif x[i + k] == 3 { y[i] = s\nreturn }\n"
                                  "if k == n { break }\ns = s + x[k] }\ny[i] = s + 1000\n"},
    {"lanes make different trips", "var s = 0u32\nfor k in 0..(x[i] & 15) { s = s * 3 + k }\ny[i] = s\n"},
    {"lanes leave and wait",
     "var s = 0u32\nvar k = 0u32\nwhile k < 40 {\nk = k + 1 + (x[k] & 1)\nif (k ^ i) & 3 == 0 { "
     "continue }\nlet t = s + x[i + k]\nvar u = t\nif (k + i) % 7 == 5 { u = u + 1\ncontinue "
     "}\nu = u * 3\nif u > 3000 { break }\ns = s + u }\ny[i] = s + k\n"},
    {"loops in loops",
     "var s = 0u32\nfor a in 0u32..5 {\nfor b in a..(x[i] & 7) {\nif b == 4 { break }\nfor c in 0u32..3 "
     "{ if (c + i) & 3 == 2 { continue }\ns = s + a * b + c }\nif s > 90 { return } }\n"
     "if x[a] == i { break } }\ny[i] = s\n"},
    {"a variable that lanes left behind",
     "var v = 1u32\nfor k in 0u32..9 {\nvar w = k\nif x[i] + k & 3 == 1 { continue }\nw = w + 10\nv = v * 2 + w\n"
     "if v > 500 + i { break }\nw = 0\nv = v + w }\ny[i] = v\n"},
    {"a uniform variable in a loop that lanes leave", "var u = 0u32\nvar s = 0u32\nfor k in 0u32..12 {\nlet q = u + "
                                                      "k\nif (x[i] & 15) < k { break }\ns = s + q * i\nu = u "
                                                      "+ 2 }\ny[i] = s + u\n"},
    {"uniform loops and ifs", "var u = n\nvar s = 0u32\nwhile u > 0 {\nu = u >> 1\nif u & 1 == 1 { s = s + x[i] } else "
                              "{ if u == 2 { continue }\ns = s + 1 }\nif u == 6 { break } }\ny[i] = s + u\n"},
    {"signed loops down",
     "var s = 0i32\nfor k in i32(x[i] & 15)..-3 step -2 { s = s * 5 + k }\nfor k in -2i32..i32(n) step "
     "3 { s = s + k }\ny[i] = u32(s)\n"},
    {"narrow loops",
     "var s = 0u32\nfor k in 250u8..u8(250 + (x[i] & 5)) { s = s + u32(k) }\nfor k in i8(x[i])..100i8 step "
     "17 { s = s * 3 + u32(k) }\ny[i] = s\n"},
    {"bounds that are the same, of a loop that is entered by some",
     "var s = 0u32\nif i & 1 == 0 { for k in n..(n + 4) { s = s + x[k] * i } }\ny[i] = s\n"},
    {"neighbours", "if i >= 3 && i + 3 < len(y) { y[i] = x[i - 3] + x[i + 3] }\n"},
    {"neighbours below zero", "y[i] = x[i - 5] + x[i - 1] + x[i + len(x) - 4]\n"},
    {"a loop over neighbours",
     "var s = 0u32\nfor d in 0u32..7 { let k = i + d - 3\nif k < len(x) { s = s + x[k] } }\ny[i] "
     "= s\n"},
    {"an index that is loaded, in a row",
     "if local_id.x & 3 != 0 {\nlet b = x[local_id.y] & 63\ny[i] = x[b + local_id.x] "
     "+ x[b]\n}\n"},
    {"one element for all, for some",
     "var s = 1u32\nif x[i] & 1 == 1 { s = x[n] + x[group_id.x] + e[0] }\nif e[n] == 0 "
     "&& x[i] & 2 == 2 { s = s * 5 }\ny[i] = s\n"},
    {"nothing to load", "y[i] = e[i] + x[i] + e[i - 1] + e[n]\nif len(e) > i { y[i] = e[i] }\n"},
    {"scattered", "if i < len(y) { let k = (i * 11 + 3) % (len(y) + 5)\ny[k] = i + x[k] }\n"},
    {"scattered by some", "if x[i] & 1 == 1 { let k = len(y) - 1 - i\ny[k] = x[k] }\n"},
    {"steps of two", "if i * 2 + 1 < len(y) { y[i * 2 + 1] = x[i * 2] }\n"},
    {"backwards", "y[len(y) - 1 - i] = x[len(x) - 1 - i]\n"},
    {"floats",
     "let f = z[i] * 1.5 + f32(x[i + 1])\nif f > 0 { z[i] = sqrt(f) } else { z[i] = min(z[i], f32(x[i - 1])) }\n"},
    {"division where lanes are masked",
     "let d = x[i] & 3\nvar q = 0u32\nif d != 0 { q = 1000 / d + 77 % d }\n"
     "let g = i32(d) - 1\nif g != 0 && g != -1 { q = q + u32(-90 / g) }\ny[i] = q + 5 / "
     "(n - n + 1)\n"},
    {"amounts where lanes are masked", "let a = x[i]\nvar q = 0u32\nif a < 32 { q = 1u32 << a }\nif a < 8 { q = q + "
                                       "u32(u8(i) << u8(a)) }\ny[i] = q + (5u32 << l)\n"},
    {"trap", "if x[i] == 11 && i > 40 { trap i + 1 }\ny[i] = i\n"},
    {"trap in a loop", "for k in 0u32..10 { if x[i + k] == 15 && x[i] == 2 { trap k } }\ny[i] = i\n"},
};

static const sample group_samples[] = {
    {"private array, one index", ARRAY("a : u32 [6] private") "@for k in 0u32..6 { a[k] = x[i + k] }\nif x[i] & 1 == 1 "
                                                              "{ a[n] = 7 }\ny[i] = a[0] + a[5] * 2 + a[n]\n"},
    {"private array, any index", ARRAY("a : u8 [5] private") "@for k in 0u32..9 { a[(x[i] + k) % 7] = u8(k + i) "
                                                             "}\ny[i] = u32(a[x[i] & 3]) + u32(a[4]) + u32(a[i])\n"},
    {"private array, all have the same",
     ARRAY("a : f64 [3] private") "@a[0] = f64(n)\na[1] = 2.5\nif i & 1 == 1 { z[i] = f32(a[0] + a[1]) } else { z[i] = "
                                  "f32(a[n & 1] - a[2]) }\n"},
    {"private array across a meeting",
     ARRAY("a : u32 [3] private")
         ARRAY("s : u32 [1024] workgroup") "@a[0] = x[i]\na[1] = l\ns[l] = a[0] + 1\nbarrier\na[2] = s[l ^ 1] + "
                                           "a[1]\nbarrier\ns[l] = a[2]\nbarrier\ny[i] = s[0] "
                                           "+ a[0] + a[x[i] & 1] * 3\n"},
    {"uniform private array across a meeting",
     ARRAY("a : u32 [2] private")
         ARRAY("s : u32 [1024] workgroup") "@a[0] = n\na[1] = n + 1\ns[l] = x[i]\nbarrier\nif a[1] > 2 "
                                           "{\nbarrier\ny[i] = s[(l + 1) % 5] + a[0] }\n"},
    {"barrier", ARRAY("s : u32 [1024] workgroup") "@s[l] = x[i]\nbarrier\ny[i] = s[(l * 5 + 1) % 1024] + s[0]\n"},
    {"values across meetings",
     ARRAY("s : u32 [1024] workgroup") "@let a = x[i]\nlet b = a > 5\nlet c = u8(a)\nlet d = f64(a) * 0.5\nvar v = "
                                       "i\ns[l] = a\nbarrier\nif b { v = v + s[l / "
                                       "2] }\nlet f = f32(d) + f32(c)\nbarrier\ns[l] = v\nbarrier\nz[i] = f + "
                                       "f32(u32(b))\ny[i] = s[l ^ 1] + u32(c) + v\n"},
    {"meetings in loops", ARRAY("s : u32 [1024] workgroup") "@var v = x[i]\nfor k in 0u32..5 {\ns[l] = v\nbarrier\nv = "
                                                            "v + s[(l + (1u32 << k)) % 1024]\nif k == n { break "
                                                            "}\nbarrier }\ny[i] = v\n"},
    {"meetings in loops that go down",
     ARRAY("s : u32 [1024] workgroup") "@var t = 256u32\ns[l] = x[i]\nbarrier\nwhile t > 0 {\nif l < t { s[l] = s[l] + "
                                       "s[(l + t) % 1024] }\nbarrier\nt = t >> "
                                       "1 }\nif l == 0 { y[i] = s[0] }\n"},
    {"numbers of the workgroup change between meetings",
     ARRAY("s : u32 [1024] workgroup") "@var t = 1u32\nvar u = n\ns[l] = x[i]\nbarrier\nfor k in 0u32..4 {\nt = t * "
                                       "3\nif t "
                                       "& 8 != 0 { u = u + t } else { for q in 0u32..2 { u = u ^ (q + t) } }\nlet v = "
                                       "s[(l + t) % 1024]\nbarrier\ns[l] = v + u\nbarrier\nt = t + 1 }\ny[i] = s[l] + "
                                       "t + u\n"},
    {"meetings in ifs", ARRAY("s : u32 [1024] workgroup") "@s[l] = i\nif n > 3 {\nbarrier\ns[l + 1] = x[i]\nbarrier } "
                                                          "else {\ns[l] = 9 }\nif n > 100 { return }\ny[i] = s[l]\n"},
    {"returns behind meetings",
     ARRAY("s : u32 [1024] workgroup") "@s[l] = x[i]\nbarrier\nif x[i] > 9 { y[i] = 3\nreturn }\nif n == 4 { y[i] = "
                                       "s[l + 1]\nreturn }\ny[i] = 8\n"},
    {"returns of all in loops",
     ARRAY("s : u32 [1024] workgroup") "@s[l] = x[i]\nbarrier\nfor k in 0u32..6 {\ny[i] = s[k] + k\nif k == n { return "
                                       "} }\nbarrier\ny[i] = 77\n"},
    {"some wait for the next trip",
     ARRAY(
         "s : u32 [1024] workgroup") "@var v = x[i]\nvar w = l\nfor k in 0u32..5 {\ns[l] = v\nbarrier\nlet t = s[(l + "
                                     "k) % 1024]\nbarrier\nif x[i] & 1 == 1 { continue }\nv = v + t + k\nvar q = v "
                                     "& 7\nif q == 2 { w = w + 1\ncontinue }\nq = q * 3\nw = w ^ q }\ny[i] = v + w\n"},
    {"some wait and all leave",
     ARRAY(
         "s : u32 [1024] workgroup") "@var v = x[i]\nvar k = 0u32\nwhile k < 9 {\nk = k + 1\ns[l] = v\nbarrier\nif k "
                                     "== n { break }\nlet t = s[l ^ 1]\nbarrier\nif k == 2 { continue }\nif (t + i) & "
                                     "3 == 1 { continue }\nv = v * 5 + t }\ny[i] = v + k\n"},
    {"some wait behind an if with meetings",
     ARRAY("s : u32 [1024] workgroup") "@var v = x[i]\nfor k in 0u32..6 {\nlet a = v & 3\nif k & 1 == 1 {\ns[l] = "
                                       "v\nbarrier\nif "
                                       "x[i] + k & 2 == 2 { v = v + 7\ncontinue }\nv = v + s[(l + k) % 1024] } else "
                                       "{\nbarrier }\n"
                                       "v = v + a\nif x[i] == 5 { continue }\nv = v * 3 }\ny[i] = v\n"},
    {"some wait and all leave, in one if",
     ARRAY("s : u32 [1024] workgroup") "@var v = x[i]\nfor k in 0u32..6 {\ns[l] = v\nbarrier\nlet t = s[l ^ "
                                       "2]\nbarrier\nif k < "
                                       "n {\nif x[i] & 1 == 0 { continue }\nv = v + 1 } else {\nv = v + 50\nbreak }\nv "
                                       "= v * 3 "
                                       "+ t }\ny[i] = v\n"},
    {"some wait in a loop in a loop",
     ARRAY("s : u32 [1024] workgroup") "@var v = x[i]\nvar w = 0u32\nfor a in 0u32..3 {\nvar m = v\nfor b in 0u32..3 "
                                       "{\ns[l] = m\nbarrier\n"
                                       "let t = s[(l + a) % 1024]\nbarrier\nfor c in 0u32..4 { if (c + i) & 1 == 1 { "
                                       "continue }\nif "
                                       "c == x[i] { break }\nw = w + c }\nif (t ^ i) & 1 == 0 { continue }\nm = m + "
                                       "t\nw = w + b }\n"
                                       "if x[i] & 3 == 2 { continue }\nv = v + m }\ny[i] = v + w\n"},
    {"some leave a loop of one trip",
     ARRAY("s : u32 [1024] workgroup") "@var v = x[i]\nwhile n > 2 {\ns[l] = v\nbarrier\nif x[i] & 1 == 1 { v = v + "
                                       "7\nbreak }\nv = "
                                       "v + s[l ^ 1]\nif x[i] == 4 { break }\nv = v * 3\nbreak }\ny[i] = v\n"},
    {"some leave a loop of one trip behind an if with meetings",
     ARRAY("s : u32 [1024] workgroup") "@var v = x[i]\nfor k in 0u32..7 {\ns[l] = v\nif n > 3 {\nbarrier\nif x[i] & 1 "
                                       "== 1 { v = v + "
                                       "7\nbreak }\nv = v + s[l ^ 1] }\nv = v * 3 + k\nif x[i] & 2 == 2 { break }\nv = "
                                       "v + 11\nbreak }\n"
                                       "y[i] = v\n"},
    {"some return in a loop of one trip",
     ARRAY("s : u32 [1024] workgroup") "@var v = x[i]\nwhile n > 2 {\ns[l] = v\nbarrier\nif x[i] & 1 == 1 { y[i] = "
                                       "7\nreturn }\nv = "
                                       "v + s[l ^ 1]\nif x[i] == 4 { break }\nv = v * 3\nbreak }\ny[i] = v\nif v > 9 { "
                                       "return }\ny[i] = v * 5\n"},
    {"all return in a loop of one trip",
     ARRAY("s : u32 [1024] workgroup") "@var v = x[i]\nwhile n > 2 {\ns[l] = v\nbarrier\nif x[i] & 1 == 1 { break "
                                       "}\ny[i] = v + s[l ^ "
                                       "1]\nreturn }\ny[i] = y[i] + 3\n"},
    {"some trap where some wait",
     ARRAY("s : u32 [1024] workgroup") "@var v = x[i]\nfor k in 0u32..4 {\ns[l] = v\nbarrier\nlet t = s[l ^ "
                                       "1]\nbarrier\nif x[i] & 1 == 1 { "
                                       "continue }\nv = v + t\nif v == 23 { trap k }\nv = v * 3 }\ny[i] = v\n"},
    {"some have returned when all trap", "@let a = x[i]\nlet t = workgroup_reduce_max(a)\nlet b = f64(a) + 1\nif a & 7 "
                                         "== 1 { return }\nif group_id.x == 1 { trap "
                                         "t }\nz[i] = f32(b)\nif t == 12345 { return }\ny[i] = a + l\n"},
    {"a collective in a loop",
     "@var v = x[i] & 3\nfor k in 0u32..4 {\nlet t = workgroup_reduce_add(v)\nv = (v + t + k) & 15 }\ny[i] = v\n"},
    {"a collective that is written out steers",
     "@let t = workgroup_reduce_min(f16(x[i] & 3))\nvar v = x[i]\nfor k in u32(t)..4 {\nlet u = "
     "workgroup_scan_inclusive_add(bf16(v & 1))\nv = v + u32(u) }\ny[i] = v\n"},
    {"votes steer", "@let some = workgroup_any(x[i] == 1)\nlet each = workgroup_all(x[i] < 99)\nif some {\nlet m = "
                    "workgroup_reduce_max(x[i])\ny[i] = m }\n"
                    "if each { y[i] = y[i] + 1 }\n"},
    {"atomics in workgroup memory",
     ARRAY("s : u32 [4] workgroup") "@atomic_add<relaxed, workgroup>(s[x[i] & 1], 1)\natomic_max<relaxed, "
                                    "workgroup>(s[3], x[i])\nbarrier\ny[i] = s[l & 3]\n"},
    {"trap and meetings",
     ARRAY("s : u32 [1024] workgroup") "@if x[i] == 14 { trap 5 }\ns[l] = x[i]\nbarrier\nif s[0] == 3 && l == 2 { trap "
                                       "l }\nlet t = workgroup_reduce_add(s[l])\ny[i] = t\n"},
    /* legalisation makes the last trap a return, and rules that know no order then let v differ everywhere */
    {"all trap before a meeting, some behind it",
     ARRAY(
         "s : u32 [1024] workgroup") "@var v = n + group_id.x\nif v == 6 { trap 1 }\ns[l] = x[i]\nbarrier\nif x[i] == "
                                     "14 { trap 2 }\nv = v + 1\ny[i] = v + s[l ^ 1]\n"},
    {"all return before a meeting, some trap behind it",
     ARRAY("s : u32 [1024] workgroup") "@var v = n + group_id.x\nif v & 1 == 1 {\nif v == 5 { return }\ny[i] = "
                                       "v\n}\ns[l] = x[i]\nbarrier\nif x[i] == "
                                       "14 { trap 2 }\nv = v + 1\ny[i] = v + s[l ^ 1]\n"},
    {"all return in a loop before a meeting, some trap behind it",
     ARRAY("s : u32 [1024] workgroup") "@var v = n + group_id.x\nvar w = l\nfor k in 0u32..3 {\nif v + k == 7 { return "
                                       "}\nif (k ^ l) & 1 == 1 { continue }\nw = w * 3 + k }\ns[l] = w\nbarrier\nif "
                                       "x[i] == "
                                       "14 { trap 2 }\nv = v + 1\ny[i] = v + s[l ^ 1]\n"},
    {"all leave a loop of meetings, some trap behind it",
     ARRAY(
         "s : u32 [1024] workgroup") "@var v = n + group_id.x\nvar w = x[i]\nfor k in 0u32..6 {\nif v + k == 7 { break "
                                     "}\ns[l] = w\nbarrier\nif v + k == 5 { continue }\nw = w + s[l ^ "
                                     "1]\nbarrier\n}\nif "
                                     "w & 63 == 14 { trap w }\nv = v + 1\ny[i] = v + w\n"},
};

static const char *const shapes[] = {"1",     "3",    "33",       "1000",    "8",    "64",
                                     "16, 4", "5, 3", "32, 2, 2", "3, 5, 7", "1, 20"};
enum { SHAPES = sizeof shapes / sizeof *shapes, PROCESSORS = 10 };

static uint32_t x[X_LENGTH], y[X_LENGTH];
static float z[X_LENGTH];

static void fill(void) {
    vy_random random = vy_random_start(3);
    for (size_t i = 0; i < X_LENGTH; i++) {
        x[i] = (uint32_t)vy_random_below(&random, 16);
        y[i] = (uint32_t)vy_random_next(&random);
        z[i] = (float)vy_random_below(&random, 1000) - 300.0f;
    }
}

static uint64_t judged;

static void try_text(const sample *s, const char *shape, const char *text, size_t length, const manner *m) {
    char why[512];
    vyre_program *program = vy_test_parse(text);
    const vyre_scalar param = {VYRE_TYPE_U32, 4};
    const vyre_span inputs[4] = {{x, 4 * length}, {y, 4 * length}, {z, 4 * length}, {x, 0}};
    const vyre_arguments arguments = {.params = &param,
                                      .param_count = 1,
                                      .inputs = inputs,
                                      .input_count = 4,
                                      .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    verdict v = judge_next(program, &arguments, m, why, sizeof why);
    if (v != SAME) {
        code_show(program);
        fail_msg("%s, workgroup %s, %zu elements, %s: %s", s->name, shape, length, m->processor->name, why);
    }
    judged++;
    vyre_program_release(program);
}

static unsigned turn;

/* Arrays stand before the rest of the program: an @ in the body parts them. */
static void try_sample(const sample *s) {
    const char *at = strchr(s->body, '@');
    char text[4096], arrays[512] = "";
    if (at)
        snprintf(arrays, sizeof arrays, "%.*s", (int)(at - s->body), s->body);
    static unsigned sample_turn;
    sample_turn++;
    for (unsigned k = 0; k < SHAPES; k++) {
        turn++;
        if (vy_test_effort() == 1 && (k + sample_turn) % 3)
            continue;
        snprintf(text, sizeof text, head, shapes[k], "", "");
        char grid[600];
        snprintf(grid, sizeof grid, "%s%s", strchr(shapes[k], ',') ? "grid 3, 2, 1\n" : "grid over y\n", arrays);
        snprintf(text, sizeof text, head, shapes[k], grid, at ? at + 1 : s->body);
        for (unsigned p = 0; p < PROCESSORS; p++) {
            manner m = {processor_at(p), (uint8_t)(turn & 1), (uint8_t)(turn % 3 == 0)};
            if (vy_test_effort() == 1 && (p + turn) % PROCESSORS)
                continue;
            if (processor_is_here(m.processor))
                try_text(s, shapes[k], text, k == 3 ? 1500 : 37 + turn % 5 * 31, &m);
        }
    }
}

static void masks_jumps_and_accesses_are_those_of_the_oracle(void **state) {
    (void)state;
    fill();
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        try_sample(&samples[i]);
    printf("%llu programs\n", (unsigned long long)judged);
}

static void meetings_and_arrays_are_those_of_the_oracle(void **state) {
    (void)state;
    fill();
    for (size_t i = 0; i < sizeof group_samples / sizeof *group_samples; i++)
        try_sample(&group_samples[i]);
    printf("%llu programs\n", (unsigned long long)judged);
}

/* ---- level legal ---- */

/* There all take what meets alike, too, but nobody has to show it. */
static const sample legal_samples[] = {
    {"bounds that all load",
     "if l == 0 {\ns![0] = n\ns![1] = 9\n}\nbarrier\nvar v = l\nfor k in s![0]..s![1] step s![0] - 2 {\nv = v + "
     "k * l\nbarrier\ns![2 + l] = v + k\nbarrier\nv = v + s![2 + (l ^ 1)]\n}\nif i < len(y) { y![i] = v }\n"},
    {"conditions that all load", "if l == 0 { s![0] = n }\nbarrier\nvar v = l\nif s![0] == 4 {\nbarrier\nv = v + 5\n} "
                                 "else {\nbarrier\nv = v + 7\n}\nvar t = 0u32\n"
                                 "while t < s![0] {\nt = t + 1\nbarrier\nif l & 1 == 1 { continue }\nv = v * 3 + "
                                 "t\n}\nif i < len(y) { y![i] = v }\n"},
    {"a lane that all load",
     "if l == 0 { s![0] = n }\nbarrier\nlet c = workgroup_broadcast(l * 10, s![0])\nlet d = workgroup_broadcast(l + 1, "
     "s![0] * 999)\nif i < len(y) { y![i] = c + d }\n"},
    {"jumps that all take by what they load",
     "if l == 0 { s![0] = n }\nbarrier\nvar v = l\nfor k in 0u32..5 {\nif s![0] + k == 7 { break }\nbarrier\nv = v + "
     "k\nif s![0] + k == 5 {\nbarrier\ncontinue\n}\nv = v * 3\nbarrier\n}\nif s![0] == 9 { return }\nbarrier\nif i < "
     "len(y) { y![i] = v }\n"},
    {"lanes of the hardware",
     "let a = subgroup_native_shuffle<4>(l * 3, l & 3 ^ 1)\nlet b = subgroup_native_shuffle<4>(a, 0)\nif i < "
     "len(y) { y![i] = a + b * 100 }\n"},
};

static void what_all_take_alike_need_not_be_seen(void **state) {
    static const char *const sizes[] = {"64", "8", "32, 2", "4"};
    char text[4096];
    (void)state;
    fill();
    for (size_t i = 0; i < sizeof legal_samples / sizeof *legal_samples; i++)
        for (unsigned k = 0; k < 4; k++)
            for (unsigned p = 0; p < PROCESSORS; p++) {
                manner m = {processor_at(p), 0, 0};
                if (!processor_is_here(m.processor) || (vy_test_effort() == 1 && (p + k + i) % PROCESSORS % 4))
                    continue;
                snprintf(
                    text, sizeof text,
                    "program sample {\nlevel legal\nparam n : u32\nbuffer x : u32 read\nbuffer y : u32 read_write\n"
                    "buffer z : f32 read_write\nbuffer e : u32 read\nworkgroup %s\ngrid 2\narray s : u32 [80] "
                    "workgroup\nlet l = local_index\nlet i = group_id.x * 64 + l\n%s}\n",
                    sizes[k], legal_samples[i].body);
                try_text(&legal_samples[i], sizes[k], text, 100, &m);
            }
}

/* ---- being stopped ---- */

static void *stop_soon(void *user) {
    (void)user;
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    __atomic_store_n(&run_cancel, 1, __ATOMIC_RELAXED);
    return NULL;
}

static const sample endless[] = {
    {"all turn for ever", "@var k = n\nwhile k < 9 { k = k ^ 1 }\ny[i] = k\n"},
    {"one turns for ever", "@var k = x[i]\nwhile l == 0 { k = k * 3 }\ny[i] = k\n"},
    {"all turn and meet",
     ARRAY("s : u32 [1024] workgroup") "@var k = n\nwhile k < 9 {\nk = k ^ 1\ns[l] = k\nbarrier\nif s[0] == 77 { y[i] "
                                       "= 1 }\nbarrier }\ny[i] = k\n"},
    {"all turn, and would return by it",
     ARRAY("s : u32 [1024] workgroup") "@var k = n\nwhile k < 9 { k = k ^ 1 }\nif k == 12 { return }\ns[l] = "
                                       "k\nbarrier\ny[i] = s[l ^ 1]\n"},
    {"one turns and others wait",
     ARRAY("s : u32 [1024] workgroup") "@var k = x[i]\nwhile l == 0 { k = k * 3 + 1 }\ns[l] = k\nbarrier\nlet t = "
                                       "workgroup_reduce_add(s[l])\ny[i] = t\n"},
};

static void stop_sample(const sample *s, const char *shape, const processor *p) {
    char text[4096], grid[600];
    const char *at = strchr(s->body, '@');
    static outcome got;
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    pthread_t thread;
    snprintf(grid, sizeof grid, "grid over y\n%.*s", (int)(at - s->body), s->body);
    snprintf(text, sizeof text, head, shape, grid, at + 1);
    vyre_program *program = vy_test_parse(text);
    const vyre_scalar param = {VYRE_TYPE_U32, 4};
    const vyre_span inputs[4] = {{x, 400}, {y, 400}, {z, 400}, {x, 0}};
    const vyre_arguments arguments = {.params = &param,
                                      .param_count = 1,
                                      .inputs = inputs,
                                      .input_count = 4,
                                      .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    manner m = {p, 1, 1};
    if (manner_compile(program, &m, &code, &error) != VYRE_OK)
        fail_msg("%s: %s", s->name, error.message);
    run_cancel = 0;
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
    outcome_guarded(&code, &arguments, 1, &got);
    pthread_join(thread, NULL);
    assert_int_equal(run_stopped, 1);
    run_cancel = 0;
    outcome_free(&got);
    code_free(&code);
    vyre_program_release(program);
}

static void programs_without_end_are_stopped(void **state) {
    static const char *const sizes[] = {"1", "33", "64"};
    (void)state;
    fill();
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++)
        for (int k = 0; k < 3; k++)
            stop_sample(&endless[i], sizes[k], processor_at((unsigned)(i + (size_t)k) % 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_jumps_and_accesses_are_those_of_the_oracle),
        cmocka_unit_test(meetings_and_arrays_are_those_of_the_oracle),
        cmocka_unit_test(what_all_take_alike_need_not_be_seen),
        cmocka_unit_test(programs_without_end_are_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
