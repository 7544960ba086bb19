/* Uniformity and strides: what is claimed of values and control holds. Small programs for each rule; then random
 * programs that print every value claimed, with the invocation and the trips it is in, and the prints are compared.
 *
 * VYRE_SEED starts elsewhere, VYRE_EFFORT makes it that many times longer. */
#include "opt/campaign.h"
#include "support/fault.h"

#include "analysis/uniformity.h"
#include "ir/walk.h"

/* ---- small programs ---- */

enum { NO_STRIDE = -1000 };

typedef struct claim {
    vy_uniformity value, control; /* of the last store */
    int64_t stride;               /* of its value */
} claim;

static claim last_store(const char *body) {
    char text[2048];
    snprintf(text, sizeof text,
             "program p {\n param k : u32\n buffer x : u32 read_write\n buffer r : u32 read\n workgroup 8, 2\n grid 4\n"
             " array a : u32 [16] private\n array t : u32 [16] workgroup\n%s\n}\n",
             body);
    vyre_program *program = vy_test_parse(text);
    vy_uniform *uniform;
    vyre_error error;
    claim made = {0};
    assert_int_equal(vy_uniform_make(program, &uniform, &error), VYRE_OK);
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        const vy_stmt *s = &program->stmts.items[i];
        uint64_t stride;
        if (s->kind != VY_STMT_STORE)
            continue;
        made.value = vy_expr_uniformity(uniform, s->b);
        made.control = vy_control_uniformity(uniform, i);
        made.stride = vy_stride_of(uniform, s->b, &stride) ? (int32_t)stride : NO_STRIDE;
    }
    vy_uniform_free(uniform);
    vyre_program_release(program);
    return made;
}

#define VALUE(sameness, body) assert_int_equal(last_store(body).value, VY_UNIFORMITY_##sameness)
#define CONTROL(sameness, body) assert_int_equal(last_store(body).control, VY_UNIFORMITY_##sameness)
#define STRIDE(step, body) assert_int_equal(last_store(body).stride, step)
#define AT "x[global_id.x] = "

static void values_are_as_uniform_as_their_sources(void **state) {
    (void)state;
    VALUE(GRID, AT "k * 3 + len(x) + r[k] + workgroup_size.x + group_count.x");
    VALUE(WORKGROUP, AT "group_id.x + k");
    VALUE(DIVERGENT, AT "global_id.x + k");
    VALUE(DIVERGENT, AT "local_id.y");
    VALUE(DIVERGENT, AT "x[k]"); /* which invocations write */
    VALUE(DIVERGENT, AT "r[local_index]");
    VALUE(WORKGROUP, AT "r[group_id.x]");
    VALUE(WORKGROUP, "let s = workgroup_reduce_add(local_index)\n" AT "s");
    VALUE(DIVERGENT, "let s = workgroup_scan_inclusive_add(local_index)\n" AT "s");
    VALUE(GRID, "a[3] = k\n" AT "a[k]");
    VALUE(DIVERGENT, "a[local_index] = k\n" AT "a[k]");
    VALUE(DIVERGENT, "var v = k\n if local_index == 3 { v = 7 }\n" AT "v");
    VALUE(WORKGROUP, "var v = k\n if group_id.x == 3 { v = 7 }\n" AT "v");
    VALUE(GRID, "var v = k\n for i in 0u32 .. k { v = v + i }\n" AT "v");
    VALUE(DIVERGENT, "var v = k\n while v < 9 { v = v + 1\n if v == local_index { break } }\n" AT "v");
}

static void control_is_as_uniform_as_its_conditions(void **state) {
    (void)state;
    CONTROL(GRID, AT "k");
    CONTROL(GRID, "if k == 3 { " AT "k }");
    CONTROL(WORKGROUP, "for i in 0u32 .. group_id.x { " AT "k }");
    CONTROL(DIVERGENT, "if global_id.x < k { " AT "k }");
    CONTROL(GRID, "var v = k\n if global_id.x < k { v = 3 }\n" AT "v"); /* they have met again */
    CONTROL(DIVERGENT, "if global_id.x < k { return }\n" AT "k");
    CONTROL(DIVERGENT, "for i in 0u32 .. k { if i == local_index { continue }\n" AT "k }");
}

/* A loop that is left when a poll says so makes a variable differ that is assigned in it, unless polls agree. */
static void polls_part_nobody_where_they_agree(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(
        "program p {\n level legal\n param k : u32\n buffer x : u32 read_write\n workgroup 8\n grid 4\n var v = k\n "
        "while v < 9 {\n let stop = poll()\n if stop { break }\n v = v + 1\n }\n if v == 3 { x![k] = 5 }\n }\n");
    vy_uniform *apart, *together;
    vyre_error error;
    assert_int_equal(vy_uniform_make(program, &apart, &error), VYRE_OK);
    assert_int_equal(vy_uniform_make_with_uniform_polls(program, &together, &error), VYRE_OK);
    uint32_t last = program->stmts.count - 1;
    assert_int_equal(vy_control_uniformity(apart, last), VY_UNIFORMITY_DIVERGENT);
    assert_int_equal(vy_control_uniformity(together, last), VY_UNIFORMITY_WORKGROUP); /* workgroups are told apart */
    vy_uniform_free(together);
    vy_uniform_free(apart);
    vyre_program_release(program);
}

static void strides_of_indices(void **state) {
    (void)state;
    STRIDE(1, AT "global_id.x");
    STRIDE(1, AT "local_index + k");
    STRIDE(0, AT "k * group_id.x");
    STRIDE(0, AT "global_id.y * 5 + local_id.y * k");
    STRIDE(4, AT "(k + local_id.x) * 4");
    STRIDE(8, AT "k - -(global_id.x << 3)");
    STRIDE(-1, AT "k - global_id.x");
    STRIDE(-2, AT "~(global_id.x + local_index)");
    STRIDE(3, "let i = global_id.x\n let j = 3 * i\n" AT "j + 7");
    STRIDE(1, "for i in global_id.x .. k step 64 { " AT "i }");
    STRIDE(NO_STRIDE, "for i in global_id.x .. k step local_index { " AT "i }");
    STRIDE(1, AT "k == 3 ? global_id.x : local_index");
    STRIDE(NO_STRIDE, AT "local_index == 3 ? global_id.x : local_index");
    STRIDE(NO_STRIDE, AT "k == 3 ? global_id.x : k");
    STRIDE(NO_STRIDE, AT "global_id.x * k");
    STRIDE(NO_STRIDE, AT "global_id.x / 2");
    STRIDE(NO_STRIDE, AT "global_id.x & 7");
    STRIDE(0, AT "r[local_id.y]");
    STRIDE(NO_STRIDE, AT "r[global_id.x]");
    STRIDE(NO_STRIDE, AT "x[k]");
    STRIDE(1, AT "u32(i32(global_id.x))");
    STRIDE(NO_STRIDE, AT "u32(u8(local_index))"); /* it may wrap as u8 */
    STRIDE(NO_STRIDE, "var v = global_id.x\n v = v + k\n" AT "v");
    STRIDE(5, "var v = global_id.x * 5\n" AT "v");
}

static void calls_are_to_be_inlined(void **state) {
    (void)state;
    vyre_program *program =
        vy_test_parse("fn f(i: u32) -> u32 { return i + 1 }\nprogram p {\n buffer x : u32 read_write\n "
                      "workgroup 4\n grid over x\n x[global_id.x] = f(3)\n}\n");
    vy_uniform *uniform;
    vyre_error error;
    assert_int_equal(vy_uniform_make(program, &uniform, &error), VYRE_INVALID_ARGUMENT);
    assert_null(uniform);
    vyre_program_release(program);
}

/* ---- every claim printed ---- */

/* What one invocation printed: of expression `id` its value, of a statement that it came there. */
typedef struct record {
    uint32_t is_stmt, id;
    uint64_t trips; /* a hash of the trips of all loops around */
    uint32_t group, local;
    uint64_t value;
} record;

typedef struct reporting {
    vy_uniform *uniform;
    uint32_t *first_expr; /* by statement */
    uint32_t *counters;   /* by statement: of loops, the variable of the draft that counts trips */
    uint32_t *parent;     /* by statement: the loop around, or VY_NONE */
    int claim_all;        /* as if everything were claimed */
    VY_VECTOR(record) records;
    uint64_t claims[2], in_grid[2], strides; /* by is_stmt */
} reporting;

static uint32_t as_bits(vy_irb *d, uint32_t variable) {
    static const vyre_type of_width[] = {
        [8] = VYRE_TYPE_U8, [16] = VYRE_TYPE_U16, [32] = VYRE_TYPE_U32, [64] = VYRE_TYPE_U64};
    vyre_type type = (vyre_type)d->program->variables.items[variable].type;
    uint32_t value = vy_irb_variable(d, variable);
    if (type == VYRE_TYPE_BOOL)
        return vy_irb_op(d, VYRE_OP_CAST, VYRE_TYPE_U32, value, VY_NONE, VY_NONE);
    return vy_irb_op(d, VYRE_OP_BITCAST, of_width[vy_type_layouts[type].bits], value, VY_NONE, VY_NONE);
}

/* print "kind id {local} {group} {value} {trips}…" */
static void print_claim(vy_rewrite *rw, uint32_t stmt, int is_stmt, uint32_t id, uint32_t variable) {
    reporting *r = rw->user;
    vy_irb *d = &rw->draft;
    char format[512];
    vy_arg args[80];
    uint32_t count = 0;
    size_t length = (size_t)snprintf(format, sizeof format, "%d %u {} {} {}", is_stmt, id);
    args[count++] = (vy_arg){0, vy_irb_builtin(d, VYRE_BUILTIN_LOCAL_INDEX, 0)};
    uint32_t group = vy_irb_builtin(d, VYRE_BUILTIN_GROUP_ID, 2);
    for (unsigned axis = 2; axis-- > 0;) {
        uint32_t size = vy_irb_builtin(d, VYRE_BUILTIN_GROUP_COUNT, axis);
        group = vy_irb_op(d, VYRE_OP_MUL, VYRE_TYPE_U32, group, size, VY_NONE);
        uint32_t at = vy_irb_builtin(d, VYRE_BUILTIN_GROUP_ID, axis);
        group = vy_irb_op(d, VYRE_OP_ADD, VYRE_TYPE_U32, group, at, VY_NONE);
    }
    args[count++] = (vy_arg){0, group};
    args[count++] = (vy_arg){0, is_stmt ? vy_irb_literal(d, VYRE_TYPE_U32, 0) : as_bits(d, variable)};
    for (uint32_t loop = r->parent[stmt]; loop != VY_NONE; loop = r->parent[loop]) {
        args[count++] = (vy_arg){0, vy_irb_variable(d, r->counters[loop])};
        length += (size_t)snprintf(format + length, sizeof format - length, " {}");
    }
    vy_stmt print = vy_irb_blank_stmt(VY_STMT_PRINT);
    print.name = vy_irb_intern(d, format, length);
    vy_irb_stmt(d, &print, args, count, NULL, NULL);
    r->claims[is_stmt]++;
}

static void print_exprs(vy_rewrite *rw, uint32_t stmt) {
    reporting *r = rw->user;
    const vyre_program *p = rw->from;
    uint32_t end = vy_stmt_exprs_end(p, &p->stmts.items[stmt], r->first_expr[stmt]);
    for (uint32_t i = r->first_expr[stmt]; i < end; i++) {
        uint64_t stride;
        int is_claimed = vy_stride_of(r->uniform, i, &stride); /* what is the same has stride 0 */
        if (p->exprs.items[i].kind == VY_EXPR_LITERAL || (!is_claimed && !r->claim_all))
            continue;
        r->strides += is_claimed && stride;
        r->in_grid[0] += vy_expr_uniformity(r->uniform, i) == VY_UNIFORMITY_GRID;
        print_claim(rw, stmt, 0, i, vy_rewrite_let(rw, vy_rewrite_read_below(rw, i)));
    }
}

static int report_stmt(vy_rewrite *rw, uint32_t index) {
    reporting *r = rw->user;
    vy_irb *d = &rw->draft;
    const vy_stmt *s = &rw->from->stmts.items[index];
    uint32_t loop = r->parent[index];
    if (loop != VY_NONE && index == loop + 1) { /* a trip begins */
        uint32_t now = vy_irb_variable(d, r->counters[loop]), one = vy_irb_literal(d, VYRE_TYPE_U32, 1);
        vy_irb_assign(d, r->counters[loop], vy_irb_op(d, VYRE_OP_ADD, VYRE_TYPE_U32, now, one, VY_NONE));
    }
    if (vy_control_uniformity(r->uniform, index) != VY_UNIFORMITY_DIVERGENT || r->claim_all) {
        r->in_grid[1] += vy_control_uniformity(r->uniform, index) == VY_UNIFORMITY_GRID;
        print_claim(rw, index, 1, index, 0);
    }
    if (s->kind != VY_STMT_WHILE)
        print_exprs(rw, index);
    if (vy_stmt_is_loop(s->kind)) {
        char text[24];
        vy_symbol name = vy_irb_intern(d, text, (size_t)snprintf(text, sizeof text, "trips_%u", index));
        r->counters[index] = vy_irb_var(d, name, VYRE_TYPE_U32, vy_irb_literal(d, VYRE_TYPE_U32, 0));
    }
    rw->changes++;
    return 0;
}

static vyre_program *with_prints(vyre_program *program, reporting *r) {
    static const vy_rewriter hooks = {.stmt = report_stmt};
    vyre_program *out;
    vyre_error error;
    uint64_t changes;
    uint32_t expr = 0, count = program->stmts.count;
    r->first_expr = malloc((3u * count + 3) * sizeof *r->first_expr);
    r->counters = r->first_expr + count + 1;
    r->parent = r->counters + count + 1;
    for (uint32_t i = 0; i < count; i++) {
        r->first_expr[i] = expr;
        expr = vy_stmt_exprs_end(program, &program->stmts.items[i], expr);
        r->parent[i] = VY_NONE;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; vy_stmt_is_loop(program->stmts.items[i].kind) && j < program->stmts.items[i].end; j++)
            r->parent[j] = i; /* inner loops come later */
    if (vy_rewrite_run(program, &hooks, r, NULL, &out, &changes, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    free(r->first_expr);
    return out;
}

static void take_print(void *user, uint64_t invocation, const char *text) {
    reporting *r = user;
    record *made = VY_PUSH(&r->records);
    char *at;
    (void)invocation;
    if (!made)
        return;
    made->is_stmt = (uint32_t)strtoul(text, &at, 10);
    made->id = (uint32_t)strtoul(at, &at, 10);
    made->local = (uint32_t)strtoul(at, &at, 10);
    made->group = (uint32_t)strtoul(at, &at, 10);
    made->value = strtoull(at, &at, 10);
    for (; *at; at++)
        made->trips = (made->trips + (uint8_t)*at) * UINT64_C(0x9e3779b97f4a7c15);
}

static int by_place(const void *a, const void *b) {
    const record *x = a, *y = b;
#define COMPARE(field)                                                                                                 \
    if (x->field != y->field)                                                                                          \
        return x->field < y->field ? -1 : 1;
    COMPARE(is_stmt)
    COMPARE(id)
    COMPARE(trips)
    COMPARE(group)
    COMPARE(local)
#undef COMPARE
    return 0;
}

static int is_one_place(const record *a, const record *b) {
    return a->is_stmt == b->is_stmt && a->id == b->id && a->trips == b->trips;
}

/* Of neighbours in the order of by_place: what is wrong with the second, or NULL. */
static const char *judge_value(const reporting *r, const vyre_program *p, const record *a, const record *b) {
    vy_uniformity same = r->claim_all ? VY_UNIFORMITY_GRID : vy_expr_uniformity(r->uniform, b->id);
    uint64_t stride, mask = vy_type_layouts[p->exprs.items[b->id].type].mask;
    if (same == VY_UNIFORMITY_GRID && a->value != b->value)
        return "differs in the grid";
    if (same != VY_UNIFORMITY_DIVERGENT && a->group == b->group && a->value != b->value)
        return "differs in the workgroup";
    int are_next = a->group == b->group && a->local + 1 == b->local && b->local % p->workgroup[0];
    if (!r->claim_all && vy_stride_of(r->uniform, b->id, &stride) && are_next &&
        ((b->value - a->value - stride) & mask) != 0)
        return "has another stride";
    return NULL;
}

/* All records of a statement in one trip: does everybody come by who should? */
static const char *judge_control(const reporting *r, const vyre_program *p, const record *first, uint32_t count,
                                 uint64_t invocations) {
    vy_uniformity same = r->claim_all ? VY_UNIFORMITY_GRID : vy_control_uniformity(r->uniform, first->id);
    uint32_t size = p->workgroup[0] * p->workgroup[1] * p->workgroup[2];
    if (same == VY_UNIFORMITY_GRID && count != invocations)
        return "is not reached by the whole grid";
    for (uint32_t i = 0, j; i < count; i = j) {
        for (j = i; j < count && first[j].group == first[i].group; j++) {
        }
        if (j - i != size)
            return "is not reached by the whole workgroup";
    }
    return NULL;
}

/* What is wrong, and with which record. */
static const char *judge(reporting *r, const vyre_program *p, const opt_result *result, const record **where) {
    const record *all = r->records.items;
    uint32_t count = r->records.count;
    const char *wrong = NULL;
    qsort(r->records.items, count, sizeof *all, by_place);
    for (uint32_t i = 0, j; i < count && !wrong; i = j) {
        *where = &all[i];
        for (j = i + 1; j < count && is_one_place(&all[i], &all[j]) && !wrong; j++)
            if (!all[i].is_stmt)
                wrong = judge_value(r, p, &all[j - 1], &all[j]);
        if (all[i].is_stmt && result->status == VYRE_OK)
            wrong = judge_control(r, p, &all[i], j - i, result->report.invocations);
    }
    return wrong;
}

static const char *run_and_judge(vyre_program *program, const vyre_arguments *arguments, reporting *r,
                                 const record **where) {
    vyre_oracle_options options = {.threads = 1, .budget = UINT64_C(1) << 22, .print = take_print, .print_user = r};
    static opt_result result;
    vyre_oracle *oracle;
    vyre_error error;
    vyre_program *printing = with_prints(program, r);
    r->records.count = 0;
    assert_int_equal(vyre_oracle_new(printing, &oracle, &error), VYRE_OK);
    result.status = vyre_oracle_run(oracle, arguments, &options, result.outputs, &result.report, NULL, &error);
    vyre_oracle_free(oracle);
    vyre_program_release(printing);
    for (unsigned i = 0; i < OPT_OUTPUTS; i++)
        vyre_bytes_free(&result.outputs[i]);
    return judge(r, program, &result, where);
}

/* How many programs of `count` refute a claim. show: the first does so loudly. */
static uint64_t hunt(reporting *r, uint64_t start, uint64_t count, int show) {
    static const unsigned stresses[] = {0,
                                        VYRE_STRESS_CONTROL,
                                        VYRE_STRESS_MEMORY,
                                        VYRE_STRESS_INTEGERS,
                                        VYRE_STRESS_GEOMETRY | VYRE_STRESS_CONTROL,
                                        VYRE_STRESS_COLLECTIVES | VYRE_STRESS_GEOMETRY};
    uint64_t refuted = 0;
    for (uint64_t seed = start; seed < start + count; seed++) {
        vyre_generate_options options = {
            .seed = seed, .statements = 16, .depth = 3, .invocations = 32, .stress = stresses[seed % 6]};
        vyre_case *made;
        vyre_program *flat, *program;
        vyre_error error;
        const record *where = NULL;
        assert_int_equal(vyre_generate(&options, &made, &error), VYRE_OK);
        assert_int_equal(vyre_program_inline(vyre_case_program(made), &flat, &error), VYRE_OK);
        program = opt_seasoned(flat, seed, seed % 2 ? 12 : 0);
        assert_int_equal(vy_uniform_make(program, &r->uniform, &error), VYRE_OK);
        const char *wrong = run_and_judge(program, vyre_case_arguments(made), r, &where);
        refuted += wrong != NULL;
        if (wrong && show) {
            vyre_bytes text = {0};
            if (vyre_text_print(program, &text, &error) == VYRE_OK)
                printf("%.*s", (int)text.size, (const char *)text.data);
            fail_msg("seed %llu: %s %u %s", (unsigned long long)seed, where->is_stmt ? "statement" : "expression",
                     where->id, wrong);
        }
        vy_uniform_free(r->uniform);
        vyre_program_release(program);
        vyre_program_release(flat);
        vyre_case_free(made);
    }
    VY_VECTOR_FREE(&r->records);
    return refuted;
}

static void claims_about_random_programs_hold(void **state) {
    (void)state;
    uint64_t count = (VY_SANITIZED ? 150 : 1500) * (uint64_t)vy_test_effort();
    const char *first = getenv("VYRE_SEED");
    reporting r = {0};
    assert_int_equal(hunt(&r, first ? strtoull(first, NULL, 0) : 0, count, 1), 0);
    printf("%llu claims about values (%llu in the grid, %llu strides that are not 0), %llu about control (%llu)\n",
           (unsigned long long)r.claims[0], (unsigned long long)r.in_grid[0], (unsigned long long)r.strides,
           (unsigned long long)r.claims[1], (unsigned long long)r.in_grid[1]);
    assert_true(r.claims[0] > 10 * count && r.claims[1] > 5 * count && r.strides > count);
}

/* The hunt can find: if everything is claimed, most programs refute it. */
static void false_claims_are_refuted(void **state) {
    (void)state;
    uint64_t count = VY_SANITIZED ? 20 : 100;
    reporting r = {.claim_all = 1};
    uint64_t refuted = hunt(&r, 0, count, 0);
    printf("%llu of %llu programs refute that everything is the same\n", (unsigned long long)refuted,
           (unsigned long long)count);
    assert_true(refuted > count * 3 / 4);
}

/* ---- memory ---- */

static vyre_status make_and_free(void *user) {
    vy_uniform *uniform;
    vyre_error error;
    vyre_status status = vy_uniform_make(user, &uniform, &error);
    vy_uniform_free(uniform);
    return status;
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(
        "program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n var v = 3u32\n for i in 0u32 .. len(x) "
        "{ if i < 5 { v = v + x[i] } else { x[i] = v } } }\n");
    assert_true(VY_FAULT_LOOP(make_and_free, program) >= 5);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_as_uniform_as_their_sources),
        cmocka_unit_test(control_is_as_uniform_as_its_conditions),
        cmocka_unit_test(polls_part_nobody_where_they_agree),
        cmocka_unit_test(strides_of_indices),
        cmocka_unit_test(calls_are_to_be_inlined),
        cmocka_unit_test(claims_about_random_programs_hold),
        cmocka_unit_test(false_claims_are_refuted),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
