/* Collectives that are written out give the bits of the collective: for every kind, type, size of workgroup and
 * subgroup, through arrays and through shuffles of any width, without races and without reading what nobody wrote. */
#include "ir/build/builder_internal.h"
#include "lower/runner.h"

#include "ir/irbuilder.h"
#include "ir/op_tables.h"
#include "lower/collectives.h"
#include "support/fault.h"

enum { MOST = 2048, BUFFER = 8 * MOST };

/* ---- one program, both ways ---- */

typedef struct trial {
    char text[4096];
    vyre_type type;
    uint32_t invocations; /* of the whole grid */
    uint32_t hardware;    /* the target's subgroup width */
    uint64_t seed;
} trial;

/* Values whose sums depend on the order, small operands for shuffles, and bools of both kinds. */
static void fill(const trial *t, uint8_t *values, uint32_t *operands) {
    vy_random random = vy_random_start(t->seed + t->invocations);
    vyre_type type = t->type == VYRE_TYPE_BOOL ? VYRE_TYPE_U32 : t->type;
    for (uint32_t i = 0; i < t->invocations; i++) {
        uint64_t bits = vy_random_next(&random);
        if (t->type == VYRE_TYPE_BOOL) {
            bits = t->seed % 4 == 0 ? 0 : t->seed % 4 == 1 ? 1 : bits % 2;
        } else if (vyre_type_class(type) == VYRE_CLASS_FLOAT) {
            bits = vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_I32, (bits & 2047) - 1000, 0, 0);
            bits = vyre_op_evaluate(VYRE_OP_DIV, type, type, bits,
                                    vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_I32, 1 + i % 97, 0, 0), 0);
        }
        vy_value_store(type, values + i * vyre_type_size(type), bits);
        operands[i] =
            vy_random_below(&random, 8) ? (uint32_t)vy_random_below(&random, 70) : (uint32_t)vy_random_next(&random);
    }
}

static vyre_status run(vyre_program *program, const vyre_arguments *arguments, unsigned checks, uint64_t seed,
                       vyre_bytes *output, vyre_error *error) {
    vyre_oracle_options options = {.threads = 1, .checks = checks, .seed = seed};
    vyre_oracle *oracle = NULL;
    vyre_status status = vyre_oracle_new(program, &oracle, error);
    if (status == VYRE_OK)
        status = vyre_oracle_run(oracle, arguments, &options, output, NULL, NULL, error);
    vyre_oracle_free(oracle);
    return status;
}

static int has_source_collective(const vyre_program *program) {
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_COLLECTIVE &&
            program->stmts.items[i].op != VYRE_COLLECTIVE_NATIVE_SHUFFLE)
            return 1;
    return 0;
}

static void check(const trial *t) {
    static uint8_t values[BUFFER];
    static uint32_t operands[MOST];
    vyre_program *program = vy_test_parse(t->text), *met = NULL;
    vyre_bytes want = {0}, got = {0};
    vyre_error error = {0};
    fill(t, values, operands);
    vyre_type type = t->type == VYRE_TYPE_BOOL ? VYRE_TYPE_U32 : t->type;
    vyre_span inputs[2] = {{values, t->invocations * vyre_type_size(type)}, {operands, t->invocations * 4}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = 2};
    vyre_status status =
        vy_legalize_collectives(program, &(vy_target_desc){.subgroup_width = t->hardware}, &met, &error);
    if (status == VYRE_OK)
        status = run(program, &arguments, 0, 0, &want, &error);
    if (status == VYRE_OK)
        status = run(met, &arguments, VYRE_CHECK_ALL, t->seed, &got, &error);
    if (status != VYRE_OK || has_source_collective(met) || want.size != got.size ||
        memcmp(want.data, got.data, want.size) != 0) {
        print_program(met);
        fail_msg("%s, hardware %u: %s\nin\n%s", status == VYRE_OK ? "bytes differ" : "status", t->hardware,
                 error.message, t->text);
    }
    vyre_program_release(program);
    vyre_program_release(met);
    vyre_bytes_free(&want);
    vyre_bytes_free(&got);
}

/* ---- every kind ---- */

typedef struct shape {
    uint32_t size[3];
} shape;

/* A combining op of the type, another one each time. */
static const char *some_op(vyre_type type, unsigned which) {
    static const char *const ops[] = {"add", "mul", "min", "max", "and", "or", "xor"};
    return ops[which % (vyre_type_class(type) == VYRE_CLASS_FLOAT ? 4 : 7)];
}

/* The collective over the workgroup (width 0) or a subgroup, of `x[i]` and, where it has two, a variable or a number.
 * */
static void write_call(char *text, size_t size, vyre_collective kind, uint32_t width, vyre_type type, unsigned which) {
    const vy_collective_row *row = &vy_collectives[kind];
    int is_vote = kind == VYRE_COLLECTIVE_ANY || kind == VYRE_COLLECTIVE_ALL || kind == VYRE_COLLECTIVE_BALLOT;
    char angle[16] = "", second[32] = "";
    if (width)
        snprintf(angle, sizeof angle, "<%u>", width);
    if (row->operands == 2 && which % 2)
        snprintf(second, sizeof second, ", %u", which / 2 % (width ? width + 2 : 70));
    else if (row->operands == 2)
        snprintf(second, sizeof second, kind == VYRE_COLLECTIVE_BROADCAST ? ", k[group_id.x] %% 80" : ", k[i]");
    snprintf(text, size, "%s_%s%s%s%s(%s%s)", width ? "subgroup" : "workgroup", row->name, row->combines ? "_" : "",
             row->combines ? some_op(type, which) : "", angle, is_vote || type == VYRE_TYPE_BOOL ? "x[i] != 0" : "x[i]",
             second);
}

static void write_program(trial *t, const shape *s, vyre_collective kind, uint32_t width, unsigned which) {
    char call[128];
    int is_bool = kind == VYRE_COLLECTIVE_ANY || kind == VYRE_COLLECTIVE_ALL || t->type == VYRE_TYPE_BOOL;
    const char *element = vyre_type_name(t->type == VYRE_TYPE_BOOL ? VYRE_TYPE_U32 : t->type);
    const char *out = kind == VYRE_COLLECTIVE_BALLOT ? "u64" : is_bool ? "u32" : element;
    write_call(call, sizeof call, kind, width, t->type, which);
    snprintf(t->text, sizeof t->text,
             "program p {\n  buffer x : %s read\n  buffer k : u32 read\n  buffer y : %s write count len(x)\n"
             "  workgroup %u, %u, %u\n  grid 2\n\n"
             "  let i = group_id.x * %u + local_index\n  let v = %s\n  y[i] = %s\n}\n",
             element, out, s->size[0], s->size[1], s->size[2], s->size[0] * s->size[1] * s->size[2], call,
             is_bool && kind != VYRE_COLLECTIVE_BALLOT ? "u32(v)" : "v");
    t->invocations = 2 * s->size[0] * s->size[1] * s->size[2];
}

static int takes(vyre_collective kind, vyre_type type) {
    switch (kind) {
    case VYRE_COLLECTIVE_ANY:
    case VYRE_COLLECTIVE_ALL:
    case VYRE_COLLECTIVE_BALLOT:
        return type == VYRE_TYPE_BOOL;
    default:
        return !vy_collectives[kind].combines || type != VYRE_TYPE_BOOL;
    }
}

static const uint32_t hardware[] = {0, 4, 8, 32, 64};
enum { HARDWARE = sizeof hardware / sizeof *hardware };
static const uint32_t widths[] = {0, 2, 4, 8, 16, 32, 64};
enum { WIDTHS = sizeof widths / sizeof *widths };

static unsigned try_shape(const shape *s, vyre_collective kind, vyre_type type, uint32_t width, unsigned which) {
    unsigned tried = 0;
    if (!takes(kind, type) || !vy_collectives[kind].over[width != 0] || vy_collectives[kind].level != VYRE_LEVEL_SOURCE)
        return 0;
    for (int h = 0; h < HARDWARE; h++, tried++) {
        trial t = {.type = type, .hardware = hardware[h], .seed = which + (unsigned)h};
        write_program(&t, s, kind, width, which);
        check(&t);
    }
    return tried;
}

/* Types in turn, so that each meets each shape, width and kind in some combination; all of them with more effort. */
static void every_kind_of_every_type_in_every_shape(void **state) {
    (void)state;
    static const shape shapes[] = {{{1, 1, 1}},  {{2, 1, 1}},  {{3, 1, 1}},  {{5, 1, 1}},   {{31, 1, 1}},  {{32, 1, 1}},
                                   {{33, 1, 1}}, {{64, 1, 1}}, {{65, 1, 1}}, {{100, 1, 1}}, {{128, 1, 1}}, {{8, 8, 1}},
                                   {{7, 5, 1}},  {{4, 4, 4}},  {{3, 5, 7}},  {{16, 2, 2}}};
    unsigned tried = 0, turn = 0, step = vy_test_effort() > 1 ? 1 : 5;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int kind = 0; kind < VYRE_COLLECTIVE_COUNT; kind++)
            for (int w = 0; w < WIDTHS; w++)
                for (int type = 0; type < VYRE_TYPE_COUNT; type++, turn++)
                    if (turn % step == 0 || type == VYRE_TYPE_BOOL)
                        tried += try_shape(&shapes[s], (vyre_collective)kind, (vyre_type)type, widths[w], turn);
    printf("%u programs\n", tried);
}

static void every_size_has_the_canonical_order(void **state) {
    (void)state;
    unsigned tried = 0;
    for (uint32_t n = 1; n <= 130; n++) {
        shape s = {{n, 1, 1}};
        for (int kind = VYRE_COLLECTIVE_REDUCE; kind <= VYRE_COLLECTIVE_SCAN_EXCLUSIVE; kind++) {
            tried += try_shape(&s, (vyre_collective)kind, VYRE_TYPE_F32, 0, 0);
            tried += try_shape(&s, (vyre_collective)kind, VYRE_TYPE_F32, widths[1 + n % 6], 0);
        }
    }
    printf("%u sums\n", tried);
}

static void large_workgroups_meet(void **state) {
    (void)state;
    static const shape shapes[] = {{{1000, 1, 1}}, {{1024, 1, 1}}, {{32, 16, 1}}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int kind = 0; kind < VYRE_COLLECTIVE_COUNT; kind++)
            for (int w = 0; w < WIDTHS; w += 5) {
                try_shape(&shapes[s], (vyre_collective)kind, VYRE_TYPE_F64, widths[w], 4 * (unsigned)kind);
                try_shape(&shapes[s], (vyre_collective)kind, VYRE_TYPE_BOOL, widths[w], (unsigned)kind);
            }
}

/* ---- several ---- */

/* Arrays are used again: in sequence, in loops, in branches, beside barriers of the program. The schedule is perturbed
 * and races are looked for. */
static const char several[] = "program p {\n"
                              "  buffer x : f32 read\n"
                              "  buffer k : u32 read\n"
                              "  buffer y : f32 write count len(x)\n"
                              "  workgroup %u\n"
                              "  grid 2\n\n"
                              "  let i = global_id.x\n"
                              "  var v = x[i]\n"
                              "  let s = workgroup_reduce_add(v)\n"
                              "  let t = workgroup_scan_exclusive_add(v)\n"
                              "  let b = workgroup_broadcast(t, 1)\n"
                              "  let c = workgroup_broadcast(s, %u)\n"
                              "  v = v + s * 0.001 + t * 0.01 + b + c\n"
                              "  for j in 0u32 .. 3 {\n"
                              "    let w = subgroup_scan_inclusive_add<16>(v)\n"
                              "    let u = workgroup_any(w > 100.0)\n"
                              "    if u {\n"
                              "      v = subgroup_shuffle_down<8>(w, 1)\n"
                              "      if j == 1 { continue }\n"
                              "    } else {\n"
                              "      let z = workgroup_all(w < 50.0)\n"
                              "      v = z ? w : v * 0.5\n"
                              "      barrier\n"
                              "    }\n"
                              "    let q = subgroup_ballot<64>(v > 0.0)\n"
                              "    v = v + f32(q & 1023) * 0.125\n"
                              "    if workgroup_any(v > 1000000.0) { break }\n"
                              "  }\n"
                              "  let a = subgroup_reduce_max<4>(v)\n"
                              "  let m = subgroup_all<32>(v > a - 10.0)\n"
                              "  y[i] = workgroup_reduce_add(m ? v : a) + f32(subgroup_shuffle<2>(k[i], 1))\n"
                              "}\n";

static void arrays_serve_many_meetings(void **state) {
    (void)state;
    static const uint32_t sizes[] = {1, 2, 7, 32, 40, 64, 100, 128};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (int h = 0; h < HARDWARE; h++)
            for (uint64_t seed = 0; seed < 4; seed++) {
                trial t = {.type = VYRE_TYPE_F32, .hardware = hardware[h], .seed = seed};
                snprintf(t.text, sizeof t.text, several, sizes[n], sizes[n] - 1);
                t.invocations = 2 * sizes[n];
                check(&t);
            }
}

/* What is made is a program like any other: its text says all of it. */
static void written_out_programs_have_a_text(void **state) {
    (void)state;
    for (int h = 0; h < HARDWARE; h++) {
        trial t = {.hardware = hardware[h]};
        vyre_program *program, *met = NULL, *again;
        vyre_bytes text = {0};
        snprintf(t.text, sizeof t.text, several, 64u, 5u);
        program = vy_test_parse(t.text);
        assert_int_equal(vy_legalize_collectives(program, &(vy_target_desc){.subgroup_width = t.hardware}, &met, NULL),
                         VYRE_OK);
        assert_int_equal(vyre_text_print(met, &text, NULL), VYRE_OK);
        assert_int_equal(vyre_bytes_resize(&text, text.size + 1, NULL), VYRE_OK);
        ((char *)text.data)[text.size - 1] = 0;
        again = vy_test_parse((const char *)text.data);
        vyre_digest a, b;
        assert_int_equal(vy_program_finalize(met, NULL), VYRE_OK);
        vyre_program_fingerprint(met, &a);
        vyre_program_fingerprint(again, &b);
        assert_memory_equal(&a, &b, sizeof a);
        vyre_program_release(program);
        vyre_program_release(met);
        vyre_program_release(again);
        vyre_bytes_free(&text);
    }
}

/* ---- what is left, and what it costs ---- */

static vyre_program *meet(const char *text, vy_target_desc target) {
    vyre_program *program = vy_test_parse(text), *met = NULL;
    assert_int_equal(vy_legalize_collectives(program, &target, &met, NULL), VYRE_OK);
    vyre_program_release(program);
    return met;
}

static unsigned count(const vyre_program *program, vy_stmt_kind kind) {
    unsigned found = 0;
    for (uint32_t i = 0; i < program->stmts.count; i++)
        found += program->stmts.items[i].kind == kind;
    return found;
}

/* Whether a collective of the program is left; a broadcast says of a result that all have it. */
static int has_kept_collective(const vyre_program *program) {
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        const vy_stmt *s = &program->stmts.items[i];
        if (s->kind == VY_STMT_COLLECTIVE && s->op != VYRE_COLLECTIVE_NATIVE_SHUFFLE &&
            s->op != VYRE_COLLECTIVE_BROADCAST)
            return 1;
    }
    return 0;
}

static void check_kept(const char *call, const char *type, uint64_t exact, int is_kept) {
    char text[512];
    snprintf(text, sizeof text,
             "program p {\n  buffer x : %s read_write\n  workgroup 64\n  grid over x\n\n"
             "  let v = %s\n  x[global_id.x] = v\n}\n",
             type, call);
    vyre_program *met = meet(text, (vy_target_desc){.exact = exact, .native_collectives = 1});
    if (has_kept_collective(met) != is_kept)
        fail_msg("%s of %s", call, type);
    assert_int_equal(vyre_program_level(met), VYRE_LEVEL_LEGAL);
    vyre_program_release(met);
}

static void a_target_keeps_what_it_combines_exactly(void **state) {
    (void)state;
    const char *sum = "workgroup_reduce_add(x[global_id.x])", *least = "workgroup_reduce_min(x[global_id.x])",
               *moved = "subgroup_shuffle_xor<4>(x[global_id.x], 1)";
    check_kept(sum, "f32", ALL_BITS, 1);
    check_kept(sum, "f32", ALL_BITS & ~BIT(F32_ADD), 0);
    check_kept(sum, "f32", ALL_BITS & ~BIT(F32_SUBNORMAL), 0);
    check_kept(sum, "f32", ALL_BITS & ~BIT(F32_MUL), 1);
    check_kept(least, "f32", ALL_BITS & ~BIT(F32_MIN_MAX), 0);
    check_kept(sum, "f64", ALL_BITS & ~BIT(F64_ADD), 0);
    check_kept(sum, "f16", ALL_BITS, 0);
    check_kept(least, "f16", ALL_BITS, 1);
    check_kept(sum, "u8", ALL_BITS, 1);
    check_kept(sum, "u8", ALL_BITS & ~BIT(INT8), 0);
    check_kept(sum, "i16", ALL_BITS & ~BIT(INT16), 0);
    check_kept(sum, "u32", 0, 1);
    check_kept(moved, "f32", 0, 1);
    check_kept(moved, "u8", 0, 1);
}

typedef struct price {
    const char *call;
    uint32_t hardware;
    unsigned barriers, shuffles;
} price;

/* The table of docs/internals/lower.md, for 256 invocations. */
static const price prices[] = {
    {"workgroup_reduce_add(v)", 0, 8, 0},
    {"workgroup_scan_inclusive_add(v)", 0, 8, 0},
    {"workgroup_scan_exclusive_add(v)", 0, 8, 0},
    {"workgroup_any(v > 0) ? 1u32 : 0", 0, 2, 0},
    {"workgroup_broadcast(v, 3)", 0, 1, 0},
    {"subgroup_reduce_add<32>(v)", 0, 5, 0},
    {"subgroup_all<32>(v > 0) ? 1u32 : 0", 0, 2, 0},
    {"u32(subgroup_ballot<32>(v > 0))", 0, 2, 0},
    {"subgroup_shuffle_xor<32>(v, 1)", 0, 1, 0},
    {"workgroup_reduce_add(v)", 32, 1, 8},
    {"workgroup_scan_inclusive_add(v)", 32, 1, 10},
    {"workgroup_scan_exclusive_add(v)", 32, 1, 11},
    {"workgroup_any(v > 0) ? 1u32 : 0", 32, 1, 8},
    {"workgroup_broadcast(v, 3)", 32, 1, 0},
    {"subgroup_reduce_add<32>(v)", 32, 0, 5},
    {"subgroup_scan_inclusive_add<32>(v)", 32, 0, 5},
    {"subgroup_scan_exclusive_add<32>(v)", 32, 0, 6},
    {"subgroup_all<32>(v > 0) ? 1u32 : 0", 32, 0, 5},
    {"u32(subgroup_ballot<32>(v > 0))", 32, 0, 5},
    {"subgroup_shuffle_xor<32>(v, 1)", 32, 0, 1},
    {"subgroup_shuffle_xor<32>(v, 1)", 128, 1, 0},
    {"workgroup_reduce_add(v)", 8, 5, 3},
    {"workgroup_any(v > 0) ? 1u32 : 0", 8, 2, 0},
    {"subgroup_scan_inclusive_add<32>(v)", 8, 2, 3},
    {"u32(subgroup_shuffle_xor<32>(u64(v), 1))", 32, 0, 2},
};

static void meetings_cost_what_the_table_says(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++) {
        const price *p = &prices[i];
        char text[512];
        snprintf(text, sizeof text,
                 "program p {\n  buffer x : u32 read_write\n  workgroup 256\n  grid over x\n\n"
                 "  let v = x[global_id.x]\n  x[global_id.x] = %s\n}\n",
                 p->call);
        vyre_program *met = meet(text, (vy_target_desc){.subgroup_width = p->hardware});
        if (count(met, VY_STMT_BARRIER) != p->barriers || count(met, VY_STMT_COLLECTIVE) != p->shuffles) {
            print_program(met);
            fail_msg("%s by %u: %u barriers, %u shuffles", p->call, p->hardware, count(met, VY_STMT_BARRIER),
                     count(met, VY_STMT_COLLECTIVE));
        }
        vyre_program_release(met);
    }
}

/* A meeting waits until the array has been read, unless a barrier stands between them anyway; short arrays have a twin
 * that does not wait. */
static void an_array_is_used_again_behind_a_barrier(void **state) {
    (void)state;
    static const struct {
        const char *body;
        unsigned size, barriers;
    } cases[] = {
        {"let a = workgroup_broadcast(v, 0)\n x[i] = a", 8, 1},
        {"let a = workgroup_broadcast(v, 0)\n let b = workgroup_broadcast(a, 1)\n x[i] = b", 8, 2},
        {"let a = workgroup_broadcast(v, 0)\n barrier\n let b = workgroup_broadcast(a, 1)\n x[i] = b", 8, 3},
        {"let a = workgroup_broadcast(v, 0)\n let b = workgroup_broadcast(f32(a), 1)\n x[i] = u32(b)", 8, 2},
        {"let a = subgroup_shuffle<4>(v, 0)\n let b = subgroup_shuffle<4>(a, 1)\n x[i] = b", 8, 2},
        {"let a = subgroup_shuffle<4>(v, 0)\n let b = subgroup_shuffle<4>(a, 1)\n x[i] = b", 80, 3},
        {"let a = subgroup_shuffle<4>(v, 0)\n barrier\n let b = subgroup_shuffle<4>(a, 1)\n x[i] = b", 80, 3},
        {"for j in 0u32 .. 2 {\n let a = workgroup_broadcast(v, j)\n x[i] = a\n }", 8, 2},
        {"for j in 0u32 .. 2 {\n let a = workgroup_broadcast(v, j)\n let b = workgroup_broadcast(a, 1)\n x[i] = b\n }",
         8, 3},
        {"if v0 == 1 {\n let a = workgroup_broadcast(v, 0)\n x[i] = a\n }\n let b = workgroup_broadcast(v, 1)\n x[i] = "
         "b",
         8, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "program p {\n  param v0 : u32\n  buffer x : u32 read_write\n  workgroup %u\n  grid over x\n\n"
                 "  let i = global_id.x\n  let v = x[i]\n  %s\n}\n",
                 cases[i].size, cases[i].body);
        vyre_program *met = meet(text, (vy_target_desc){0});
        if (count(met, VY_STMT_BARRIER) != cases[i].barriers) {
            print_program(met);
            fail_msg("%u barriers", count(met, VY_STMT_BARRIER));
        }
        vyre_program_release(met);
    }
}

/* ---- memory ---- */

static vyre_status meet_with_faults(void *user) {
    const trial *t = user;
    vyre_module *module = NULL;
    vyre_program *met = NULL;
    vyre_status status = vyre_text_parse(t->text, strlen(t->text), NULL, NULL, &module, NULL);
    if (status == VYRE_OK)
        status = vy_legalize_collectives(vyre_module_program(module, 0),
                                         &(vy_target_desc){.subgroup_width = t->hardware}, &met, NULL);
    vyre_program_release(met);
    vyre_module_free(module);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    trial t = {.hardware = 0};
    for (t.hardware = 0; t.hardware <= 8; t.hardware += 8) {
        snprintf(t.text, sizeof t.text, several, 24u, 5u);
        assert_int_equal(meet_with_faults(&t), VYRE_OK);
        vy_fault_install();
        VY_FAULT_LOOP_LENIENT(meet_with_faults, &t);
        vy_fault_remove();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_every_type_in_every_shape),
        cmocka_unit_test(every_size_has_the_canonical_order),
        cmocka_unit_test(large_workgroups_meet),
        cmocka_unit_test(arrays_serve_many_meetings),
        cmocka_unit_test(written_out_programs_have_a_text),
        cmocka_unit_test(a_target_keeps_what_it_combines_exactly),
        cmocka_unit_test(meetings_cost_what_the_table_says),
        cmocka_unit_test(an_array_is_used_again_behind_a_barrier),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
