/* Adjacent accesses become one, and nothing else changes: case by case. */
#include "lower/vectorize_mem_runner.h"

#include "opt/unroll_arrays.h"
#include "support/fault.h"

#include <time.h>

enum { ELEMENTS = 256, BYTES = ELEMENTS * 8 };

/* Buffers x and z are read, y is read and written; of any type; filled with small different numbers. */
static const vyre_arguments *usual(void) {
    static uint8_t bytes[3][BYTES];
    static vyre_span spans[3];
    static vyre_scalar params[1] = {{VYRE_TYPE_U32, 8}};
    static vyre_arguments arguments;
    for (uint32_t b = 0; b < 3; b++) {
        for (uint32_t i = 0; i < BYTES; i++)
            bytes[b][i] = (uint8_t)(i * 7 + b * 31 + i / 256);
        spans[b] = (vyre_span){bytes[b], BYTES};
    }
    arguments = (vyre_arguments){.params = params, .param_count = 1, .inputs = spans, .input_count = 3};
    return &arguments;
}

/* Eight invocations in one group; b = 16 * local_index is a multiple of 16, q is not known to be one of anything; both
 * and what lies 15 behind are inside. */
static vyre_program *program_of(const char *type, const char *body) {
    char text[4096];
    snprintf(text, sizeof text,
             "program p {\n  level legal\n  param n : u32\n  buffer x : %s read\n  buffer y : %s read_write\n"
             "  buffer z : u32 read\n  workgroup 8\n  grid 1\n  array s : %s [256] workgroup\n\n  let l = local_index\n"
             "  let b = l * 16\n  let q = l * (n + 8)\n%s}\n",
             type, type, type, body);
    return vy_test_parse(text);
}

typedef struct expected {
    const char *type, *body;
    unsigned wide_loads, wide_stores, loads, stores; /* for 16 bytes, aligned */
} expected;

static void check_rows(const expected *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        vyre_program *program = program_of(rows[i].type, rows[i].body), *made = fused(program, 16, 1);
        access_counts counts = counts_of(made);
        if (counts.wide_loads != rows[i].wide_loads || counts.wide_stores != rows[i].wide_stores ||
            counts.loads != rows[i].loads || counts.stores != rows[i].stores) {
            print_program(program);
            print_program(made);
            fail_msg("row %zu: %u wide loads, %u wide stores, %u loads, %u stores", i, counts.wide_loads,
                     counts.wide_stores, counts.loads, counts.stores);
        }
        vyre_program_release(made);
        check_fusing(program, usual(), rows[i].body);
        vyre_program_release(program);
    }
}
#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))

#define SUM "  y![b] = a + c + d + e\n"

static void loads_of_neighbours_are_one(void **state) {
    (void)state;
    static const expected rows[] = {
        {"u32", "  let a = x![b]\n  let c = x![b + 1]\n  let d = x![b + 2]\n  let e = x![b + 3]\n" SUM, 1, 0, 0, 1},
        /* In any order, in one expression, and more than once. */
        {"u32", "  let a = x![b + 2]\n  let c = x![b]\n  let d = x![b + 3]\n  let e = x![b + 1]\n" SUM, 1, 0, 0, 1},
        {"u32", "  y![b] = x![b + 3] ^ x![b] * (x![b + 1] - x![b + 2])\n", 1, 0, 0, 1},
        {"u32", "  let a = x![b]\n  let c = x![b]\n  let d = x![b + 1]\n  let e = x![b + 1]\n" SUM, 1, 0, 0, 1},
        /* Through names, with literals on either side, and before the base. */
        {"u32", "  let i1 = b + 1\n  let i2 = 1 + i1\n  y![b] = x![b] + x![i1] * x![i2] - x![i2 + 1]\n", 1, 0, 0, 1},
        {"u32", "  let i4 = b + 4\n  y![b] = x![i4 - 4] + x![i4 - 1] * x![i4 - 2] - x![i4 - 3]\n", 1, 0, 0, 1},
        {"u32", "  y![b] = x![0] + x![1] * x![2] - x![3]\n", 1, 0, 0, 1},
        {"u32", "  y![b] = x![l * 16] + x![l * 16 + 1] * x![l * 16 + 2] - x![l * 16 + 3]\n", 1, 0, 0, 1},
        /* Of a name for something that changes. */
        {"u32", "  var v = b\n  let t = v\n  v = v + 4\n  let u = v\n  y![b] = x![t] + x![t + 1] * x![u] - x![u + 1]\n",
         2, 0, 4, 1},
        {"u32", "  var v = b\n  let a = x![v]\n  v = v + 1\n  y![b] = x![v] - a\n", 0, 0, 2, 1},
        {"u32", "  var v = b\n  let a = x![v]\n  v = v + 4\n  y![b] = x![v + 1] - a\n", 0, 0, 2, 1},
        /* Too few, too far, not consecutive. */
        {"u32", "  y![b] = x![b] + x![b + 2]\n", 0, 0, 2, 1},
        {"u32", "  y![b] = x![b] + x![b + 1] * x![b + 2]\n", 1, 0, 1, 1},
        {"u32", "  y![b] = x![b + 1] + x![b + 2]\n", 0, 0, 2, 1},
        /* Predicated ones and private ones stay. */
        {"u32", "  y![b] = x![b if l < 3] + x![b + 1 if l < 3]\n", 0, 0, 2, 1},
    };
    CHECK(rows);
}

/* y has what other invocations write, x has not. */
static void loads_in_arms_of_what_others_write_stay_there(void **state) {
    (void)state;
    static const expected rows[] = {
        {"u32", "  y![b] = l > 3 ? y![b + 4] + y![b + 5] : 1\n", 0, 0, 2, 1},
        {"u32", "  y![b] = l > 3 && y![b + 4] == y![b + 5] ? 1 : 2\n", 0, 0, 2, 1},
        {"u32", "  y![b] = (y![b + 4] > 3 ? l : 1) + y![b + 5]\n", 1, 0, 0, 1},
        {"u32", "  y![b] = l > 3 ? x![b + 4] + x![b + 5] : 1\n", 1, 0, 0, 1},
    };
    CHECK(rows);
}

static void every_type_has_its_widths(void **state) {
    (void)state;
    static const expected rows[] = {
        {"u8",
         "  y![b] = x![b] + x![b + 1] * x![b + 2] - x![b + 3] + x![b + 4] * x![b + 5] - x![b + 6] + x![b + 7] * x![b + "
         "8] - x![b + 9]"
         " + x![b + 10] * x![b + 11] - x![b + 12] + x![b + 13] * x![b + 14] - x![b + 15]\n",
         1, 0, 0, 1},
        {"f64", "  y![b] = x![b] + x![b + 1]\n  y![b + 1] = 3.0\n", 1, 1, 0, 0},
        {"f64", "  y![b] = x![b] + x![b + 1] * x![b + 2]\n", 1, 0, 1, 1},
        {"u16", "  y![b] = x![b] + x![b + 1]\n  y![b + 1] = 3\n", 1, 1, 0, 0},
        {"f16", "  y![b] = x![b] + x![b + 1] * x![b + 2] - x![b + 3]\n", 1, 0, 0, 1},
        {"i64", "  y![b] = x![b] + i64(z![b]) * x![b + 1] - i64(z![b + 1] * z![b + 2] + z![b + 3])\n", 2, 0, 0, 1},
    };
    CHECK(rows);
}

static void stores_of_neighbours_are_one(void **state) {
    (void)state;
    static const expected rows[] = {
        {"u32", "  y![b] = 1\n  y![b + 1] = n\n  y![b + 2] = l + 5\n  y![b + 3] = b\n", 0, 1, 0, 0},
        {"u32", "  y![b + 3] = 1\n  y![b + 1] = n\n  y![b] = l + 5\n  y![b + 2] = b\n", 0, 1, 0, 0},
        /* What changes is kept. */
        {"u32",
         "  var v = l\n  y![b] = v\n  v = v + 1\n  y![b + 1] = v\n  v = v * 3\n  y![b + 2] = v\n  v = 0\n  y![b + 3] = "
         "v\n",
         0, 1, 0, 0},
        /* The same element twice: the last counts, and is in no group with the first. */
        {"u32", "  y![b] = 1\n  y![b + 1] = 2\n  y![b] = 3\n", 0, 1, 0, 1},
        {"u32", "  y![b] = 1\n  y![b] = 2\n  y![b + 1] = 3\n", 0, 1, 0, 1},
        /* Stores of another buffer between. */
        {"u32", "  y![b] = 1\n  s![b] = 2\n  y![b + 1] = 3\n  s![b + 1] = 4\n", 0, 2, 0, 0},
        /* By another base: it may be the same element. */
        {"u32", "  y![b] = 1\n  y![n * 16 + l] = 2\n  y![b + 1] = 3\n", 0, 0, 0, 3},
    };
    CHECK(rows);
}

static void what_lies_between_is_respected(void **state) {
    (void)state;
    static const expected rows[] = {
        /* A store of an element between loads: another element, the same one, and by another base. */
        {"u32", "  let a = y![b]\n  y![b + 2] = 9\n  y![b + 4] = a + y![b + 1]\n", 1, 0, 0, 2},
        {"u32", "  let a = y![b]\n  y![b + 1] = 9\n  y![b + 4] = a + y![b + 1]\n", 0, 0, 2, 2},
        {"u32", "  let a = y![b]\n  y![b] = 9\n  y![b + 4] = a + y![b + 1]\n", 1, 0, 0, 2},
        {"u32", "  let a = y![b]\n  y![q + 1] = 9\n  y![q + 4] = a + y![b + 1]\n", 0, 0, 2, 2},
        /* A load between stores. */
        {"u32", "  y![b] = 9\n  let a = y![b + 2]\n  y![b + 1] = a\n", 0, 1, 1, 0},
        {"u32", "  y![b] = 9\n  let a = y![b]\n  y![b + 1] = a\n", 0, 0, 1, 2},
        {"u32", "  y![b] = 9\n  let a = y![q]\n  y![b + 1] = a\n", 0, 0, 1, 2},
        {"u32", "  y![b] = 9\n  let a = x![q]\n  y![b + 1] = a\n", 0, 1, 1, 0},
        {"u32", "  y![b] = 9\n  let a = y![q if n == 8]\n  y![b + 1] = a\n", 0, 0, 1, 2},
        {"u32", "  y![b] = y![b + 1]\n  y![b + 1] = y![b + 2]\n  y![b + 2] = y![b + 3]\n  y![b + 3] = y![b]\n", 1, 1, 2,
         2},
        /* Meetings and order. */
        {"u32", "  let a = y![b]\n  barrier\n  y![b] = a + y![b + 1]\n", 0, 0, 2, 1},
        {"u32", "  s![b] = 1\n  barrier\n  s![b + 1] = 2\n  barrier\n  y![b] = s![b]\n", 0, 0, 1, 3},
        {"u32", "  s![b] = 1\n  let c = workgroup_reduce_add(l)\n  s![b + 1] = c\n", 0, 0, 0, 2},
        {"u32", "  y![b] = 1\n  atomic_add(y![b + 5], 2)\n  y![b + 1] = 3\n", 0, 0, 0, 2},
        /* Blocks between: that touch the memory, that do not, that may leave, and that may not end. */
        {"u32", "  y![b] = 1\n  if l < 4 { y![b] = 2 }\n  y![b + 1] = 3\n", 0, 0, 0, 3},
        {"u32", "  y![b] = 1\n  if y![b] < 4 { s![b] = 2 }\n  y![b + 1] = 3\n", 0, 0, 1, 3},
        {"u32", "  y![b] = 1\n  if l < 4 { s![b] = 2 }\n  y![b + 1] = 3\n", 0, 1, 0, 1},
        {"u32", "  let a = x![b]\n  if l < 4 { return }\n  y![b] = a + x![b + 1]\n", 0, 0, 2, 1},
        {"u32", "  y![b] = 1\n  if l < 4 { return }\n  y![b + 1] = 3\n", 0, 0, 0, 2},
        {"u32", "  var k = 0u32\n  y![b] = 1\n  while k < n { k = k + 1 }\n  y![b + 1] = 3\n", 0, 0, 0, 2},
        {"u32", "  y![b] = 1\n  for k in 0u32 .. n { s![b] = k }\n  y![b + 1] = 3\n", 0, 1, 0, 1},
        {"u32", "  for k in 0u32 .. n {\n    y![b] = k\n    if k == l { break }\n    y![b + 1] = k\n  }\n", 0, 0, 0, 2},
        /* Inside of blocks. */
        {"u32", "  for k in 0u32 .. n {\n    let a = x![b]\n    y![b] = a + k\n    y![b + 1] = x![b + 1]\n  }\n", 1, 1,
         0, 0},
        {"u32",
         "  if l < 3 {\n    y![b] = 1\n    y![b + 1] = 2\n  } else {\n    y![b] = x![b]\n    y![b + 1] = x![b + 1]\n  "
         "}\n",
         1, 2, 0, 0},
    };
    CHECK(rows);
}

/* Where the address is not proven it is looked at; but not where neighbours would find different things. */
static void alignment_is_proven_or_asked(void **state) {
    (void)state;
    static const expected rows[] = {
        {"u32", "  y![q] = x![q] + x![q + 1] * x![q + 2] - x![q + 3]\n", 1, 0, 4, 1},
        /* Seen as 0, 5 and, behind that, as 2^32 - 1: it comes round to 0. */
        {"u32", "  let m = (l + 1) * (n + 8)\n  y![b] = x![m] + x![m + 5] * x![m - 1]\n", 1, 0, 3, 1},
        {"u32", "  y![b] = x![b + 2] + x![b + 3] * x![b + 4] - x![b + 5]\n", 2, 0, 0, 1},
        {"u32", "  y![b] = x![b + 1] + x![b + 2] * x![b + 3] - x![b + 4]\n", 1, 0, 2, 1},
        {"u32", "  let m = l * 2\n  y![b] = x![m] + x![m + 1] * x![m + 2] - x![m + 3]\n", 2, 0, 0, 1},
        {"u32", "  y![b] = x![l] + x![l + 1]\n", 0, 0, 2, 1},
        {"u32", "  let m = l * 3\n  y![b] = x![m] + x![m + 1]\n", 0, 0, 2, 1},
        {"u32", "  let m = z![l]\n  y![b] = x![m] + x![m + 1]\n", 0, 0, 3, 1},
        {"u32", "  let m = z![l] * 4\n  y![b] = x![m] + x![m + 1]\n", 1, 0, 1, 1},
        {"u32", "  let m = z![n]\n  y![b] = x![m] + x![m + 1]\n", 1, 0, 3, 1},
        {"u32", "  let m = l << 4\n  s![m] = 2\n  s![m + 1] = l\n  y![m] = s![m] + s![m + 1]\n", 1, 1, 0, 1},
        {"u32", "  let m = (l * 19) & 0xfc\n  y![b] = x![m] + x![m + 1] * x![m + 2] - x![m + 3]\n", 1, 0, 0, 1},
    };
    CHECK(rows);
    vyre_program *program = program_of("u32", rows[1].body), *made = fused(program, 16, 0);
    assert_true(counts_of(made).ifs > 0); /* where buffers may start anywhere */
    vyre_program_release(made);
    vyre_program_release(program);
}

static void expect_text(const vyre_program *program, const char *want) {
    vyre_bytes text = {0};
    assert_int_equal(vyre_text_print(program, &text, NULL), VYRE_OK);
    const char *found = text.size ? memmem(text.data, text.size, want, strlen(want)) : NULL;
    if (!found)
        fail_msg("not found:\n%sin\n%.*s", want, (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

static void the_text_is_short(void **state) {
    (void)state;
    vyre_program *program =
                     program_of("u32", "  let i1 = b + 1\n  let c = x![i1] * 3\n  y![i1] = c\n  y![b] = x![b] + 7\n"),
                 *made = fused(program, 16, 1);
    expect_text(
        made, "  let (t1, t2) = load_wide(x, b)\n  let c = t2 * 3\n  let t3 = t1 + 7\n  store_wide(y, b, t3, c)\n}\n");
    vyre_program_release(made);
    made = fused(program, 8, 0);
    expect_text(made, "  if misalignment(x) & 1 == 0 {\n");
    vyre_program_release(made);
    vyre_program_release(program);
    program = program_of("u32", "  y![4] = 1\n  y![5] = n\n  y![7] = 3\n  y![6] = 2\n");
    made = fused(program, 16, 1);
    expect_text(made, "  store_wide(y, 4, 1, n, 2, 3)\n}\n");
    vyre_program_release(made);
    vyre_program_release(program);
}

static void without_wide_access_the_program_stays(void **state) {
    (void)state;
    vyre_program *program = program_of("u32", "  y![b] = x![b] + x![b + 1]\n");
    for (uint32_t bytes = 0; bytes <= 4; bytes += 4) {
        vyre_program *made = fused(program, bytes, 1);
        assert_ptr_equal(made, program);
        vyre_program_release(made);
    }
    vyre_program_release(program);
}

/* ---- resources ---- */

static vyre_status fuse_once(void *user) {
    vyre_program *made = NULL;
    vy_target_desc target = {.exact = ALL_BITS, .access_bytes = 16};
    vyre_status status = vy_vectorize_mem(user, &target, &made, NULL);
    vyre_program_release(made);
    return status;
}

/* What is written out is changed itself. */
static vyre_status fuse_written_out(void *user) {
    vyre_program *scratch = NULL, *made = NULL;
    vy_target_desc target = {.exact = ALL_BITS, .access_bytes = 16};
    vyre_status status = vy_unroll_arrays(user, &scratch, NULL);
    if (status == VYRE_OK)
        status = vy_vectorize_mem(scratch, &target, &made, NULL);
    assert_true(status != VYRE_OK || made == scratch);
    vyre_program_release(made);
    vyre_program_release(scratch);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    vyre_program *program = program_of("u32", "  y![q] = x![q] + x![q + 1]\n  y![q + 1] = 3\n  if l < 3 {\n    s![b] = "
                                              "x![b]\n    s![b + 1] = x![b + 1]\n  }\n");
    VY_FAULT_LOOP(fuse_once, program);
    vyre_program_release(program);
    program = vy_test_parse(
        "program p {\n  level legal\n  buffer x : u32 read\n  buffer y : u32 read_write\n  workgroup 8\n  grid 1\n"
        "  array a : u32 [8] private\n\n  let b = local_index * 8\n"
        "  for i in 0u32..8u32 {\n    a![i] = x![b + i]\n  }\n  for i in 0u32..8u32 {\n    y![b + i] = a![7 - i]\n  "
        "}\n}\n");
    VY_FAULT_LOOP(fuse_written_out, program);
    vyre_program_release(program);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void time_is_linear(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    static const char *const lines[] = {
        "y![b + %d] = %d\n",     /* one base */
        "y![q + %d] = %d\n",     /* not aligned */
        "y![%d * l + l] = %d\n", /* many bases */
        "if x![%d] < l { s![%d] = 1 }\n",
    };
    size_t size = COUNT * 48 + 1024;
    char *text = malloc(size);
    for (int kind = 0; kind < 4; kind++) {
        size_t used = (size_t)snprintf(
            text, size,
            "program p {\n  level legal\n  param n : u32\n  buffer x : u32 read\n  buffer y : u32 read_write\n"
            "  workgroup 8\n  grid 1\n  array s : u32 [256] workgroup\n  let l = local_index\n  let b = l * 16\n"
            "  let q = l * n\n");
        for (int i = 0; i < COUNT; i++)
            used += (size_t)snprintf(text + used, size - used, lines[kind], i * 37 % COUNT / 4 * 4 + i % 4, i % 100);
        snprintf(text + used, size - used, "}\n");
        vyre_program *program = vy_test_parse(text);
        double start = seconds();
        vyre_program *made = fused(program, 16, 1);
        double took = seconds() - start;
        printf("kind %d: %.2f s\n", kind, took);
        assert_true(took < (VY_SANITIZED ? 20 : 2));
        vyre_program_release(made);
        vyre_program_release(program);
    }
    free(text);
    /* A name that is the sum of two others, again and again: each is looked at once. */
    char chain[8192] = "  let a0 = l * 4\n";
    for (int i = 1; i < 100; i++)
        snprintf(chain + strlen(chain), sizeof chain - strlen(chain), "  let a%d = a%d + a%d\n", i, i - 1, i - 1);
    strcat(chain, "  y![b] = s![a99] + s![a99 + 1] + s![a99 + 2] + s![a99 + 3]\n");
    char whole[10000];
    snprintf(whole, sizeof whole,
             "program p {\n  level legal\n  buffer y : u32 read_write\n  workgroup 8\n  grid 1\n  array s : u32 [256] "
             "workgroup\n  let l = local_index\n  let b = l * 16\n%s}\n",
             chain);
    vyre_program *program = vy_test_parse(whole), *made = fused(program, 16, 1);
    assert_int_equal(counts_of(made).wide_loads, 1);
    assert_int_equal(counts_of(made).ifs, 0);
    vyre_program_release(made);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_of_neighbours_are_one),
        cmocka_unit_test(loads_in_arms_of_what_others_write_stay_there),
        cmocka_unit_test(every_type_has_its_widths),
        cmocka_unit_test(stores_of_neighbours_are_one),
        cmocka_unit_test(what_lies_between_is_respected),
        cmocka_unit_test(alignment_is_proven_or_asked),
        cmocka_unit_test(the_text_is_short),
        cmocka_unit_test(without_wide_access_the_program_stays),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(time_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
