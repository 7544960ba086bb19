/* The generator: what every random case is, and that knobs do what they say. */
#include "support/fault.h"
#include "support/test.h"

#include "campaign/coverage.h"
#include "generate/generate.h"
#include "ir/dispatch_resolve.h"
#include "ir/eval.h"
#include "vyre/dialect.h"

static vyre_case *generate(vyre_generate_options options) {
    vyre_case *made;
    vyre_error error;
    vyre_status status = vyre_generate(&options, &made, &error);
    if (status != VYRE_OK)
        fail_msg("seed %llu: %s: %s", (unsigned long long)options.seed, vyre_status_name(status), error.message);
    return made;
}

static unsigned rounds(unsigned count) {
    return count * vy_test_effort();
}

static int same_arguments(const vyre_arguments *a, const vyre_arguments *b) {
    if (a->param_count != b->param_count || a->input_count != b->input_count || a->count_count != b->count_count ||
        memcmp(&a->geometry, &b->geometry, sizeof a->geometry) != 0)
        return 0;
    for (size_t i = 0; i < a->param_count; i++)
        if (a->params[i].type != b->params[i].type || a->params[i].bits != b->params[i].bits)
            return 0;
    for (size_t i = 0; i < a->input_count; i++)
        if (a->inputs[i].size != b->inputs[i].size ||
            memcmp(a->inputs[i].data, b->inputs[i].data, a->inputs[i].size) != 0)
            return 0;
    return a->count_count == 0 || memcmp(a->counts, b->counts, a->count_count * sizeof *a->counts) == 0;
}

static void every_case_is_valid_and_can_be_dispatched(void **state) {
    (void)state;
    static vy_resolved_dispatch launch;
    for (uint64_t seed = 0; seed < rounds(3000); seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed});
        vyre_error error;
        if (vy_resolve_dispatch(vyre_case_program(made), vyre_case_arguments(made), &launch, &error) != VYRE_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        assert_false(vyre_program_schedule_dependent(vyre_case_program(made)));
        assert_int_equal(vyre_program_numerics(vyre_case_program(made)), VYRE_NUMERICS_STRICT);
        vyre_case_free(made);
    }
}

static void the_same_seed_gives_the_same_case(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        vyre_case *a = generate((vyre_generate_options){.seed = seed, .stress = (unsigned)seed});
        vyre_case *b = generate((vyre_generate_options){.seed = seed, .stress = (unsigned)seed});
        assert_true(vyre_program_equal(vyre_case_program(a), vyre_case_program(b)));
        assert_true(same_arguments(vyre_case_arguments(a), vyre_case_arguments(b)));
        vyre_case_free(a);
        vyre_case_free(b);
    }
}

static void another_seed_gives_another_program(void **state) {
    (void)state;
    vyre_case *before = generate((vyre_generate_options){.seed = 0});
    for (uint64_t seed = 1; seed < 500; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed});
        assert_false(vyre_program_equal(vyre_case_program(before), vyre_case_program(made)));
        vyre_case_free(before);
        before = made;
    }
    vyre_case_free(before);
}

static void no_options_means_the_defaults(void **state) {
    (void)state;
    vyre_case *a, *b = generate((vyre_generate_options){0});
    assert_int_equal(vyre_generate(NULL, &a, NULL), VYRE_OK);
    assert_true(vyre_program_equal(vyre_case_program(a), vyre_case_program(b)));
    vyre_case_free(a);
    vyre_case_free(b);
}

/* A tenth of the default grids' work is far more than this takes; it says that nothing is left out for good. */
static void everything_the_language_has_occurs(void **state) {
    (void)state;
    static coverage seen;
    memset(&seen, 0, sizeof seen);
    for (uint64_t seed = 0; seed < 6000; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .stress = seed % 3 ? 0 : 1u << seed / 3 % 8});
        coverage_add(&seen, vyre_case_program(made));
        vyre_case_free(made);
    }
    coverage_report report = coverage_check(&seen, stdout);
    assert_true(report.cells > 500);
    assert_int_equal(report.empty, 0);
}

static int is_local_id(const vyre_program *program, uint32_t root) {
    const vy_expr *e = &program->exprs.items[root];
    if (e->kind == VY_EXPR_OP && e->op == VYRE_OP_CAST)
        e = &program->exprs.items[e->a];
    return e->kind == VY_EXPR_BUILTIN && (e->op == VYRE_BUILTIN_LOCAL_INDEX || e->op == VYRE_BUILTIN_LOCAL_ID);
}

/* Loops that start at a local id, one that ends there, and such a loop in a branch. */
static void loops_along_local_ids_occur_under_conditions(void **state) {
    (void)state;
    unsigned starts = 0, ends = 0, guarded = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed});
        const vyre_program *program = vyre_case_program(made);
        for (uint32_t i = 1; i < program->stmts.count; i++) {
            const vy_stmt *s = &program->stmts.items[i];
            if (s->kind != VY_STMT_FOR)
                continue;
            int is_start = is_local_id(program, s->a);
            starts += (unsigned)is_start;
            ends += (unsigned)is_local_id(program, s->b);
            guarded += is_start && program->stmts.items[i - 1].kind == VY_STMT_IF;
        }
        vyre_case_free(made);
    }
    assert_true(starts > 60 && ends > 8 && guarded > 40);
}

/* The literal of `v = v + literal` or `v = v - literal`, as a distance; 0 if the statement is something else. */
static uint64_t distance_of_step(const vyre_program *program, const vy_stmt *s) {
    const vy_expr *exprs = program->exprs.items, *x = s->kind == VY_STMT_ASSIGN ? &exprs[s->a] : NULL;
    if (!x || x->kind != VY_EXPR_OP || (x->op != VYRE_OP_ADD && x->op != VYRE_OP_SUB) ||
        exprs[x->a].kind != VY_EXPR_VARIABLE || exprs[x->a].a != s->variable || exprs[x->b].kind != VY_EXPR_LITERAL)
        return 0;
    uint64_t mask = vy_type_layouts[x->type].mask, up = exprs[x->b].bits & mask, down = (0 - up) & mask;
    return up < down ? up : down;
}

/* In the body of a `while`, besides what burns fuel: near steps, and steps of about a quarter of the type's range. */
static void loops_counted_by_hand_occur(void **state) {
    (void)state;
    unsigned near = 0, far = 0, endless = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed});
        const vyre_program *program = vyre_case_program(made);
        for (uint32_t i = 0; i < program->stmts.count; i++) {
            const vy_stmt *s = &program->stmts.items[i];
            if (s->kind != VY_STMT_WHILE)
                continue;
            endless += program->exprs.items[s->a].kind == VY_EXPR_LITERAL;
            for (uint32_t k = i + 1; k < s->end; k = program->stmts.items[k].end) {
                const vy_stmt *step = &program->stmts.items[k];
                uint64_t distance = distance_of_step(program, step);
                int is_far = distance && distance >= vy_type_layouts[program->exprs.items[step->a].type].mask >> 3;
                far += (unsigned)is_far;
                near += distance && !is_far;
            }
        }
        vyre_case_free(made);
    }
    assert_true(near > 100 && far > 60 && endless > 30);
}

static int is_cast(const vy_expr *e) {
    return e->kind == VY_EXPR_OP && e->op == VYRE_OP_CAST;
}

/* Whether most bits of an integer are known: it is masked, shifted left, or a multiple of a number. */
static int has_few_bits(const vyre_program *program, const vy_expr *e) {
    return e->kind == VY_EXPR_OP && (e->op == VYRE_OP_AND || e->op == VYRE_OP_SHL || e->op == VYRE_OP_MUL) &&
           (vy_type_layouts[e->type].classes & VYRE_CLASS_INTEGER) &&
           program->exprs.items[e->b].kind == VY_EXPR_LITERAL && program->exprs.items[e->a].kind != VY_EXPR_LITERAL;
}

/* A cast to a float of 16 bits of such an integer of 32 or 64; at once widened, or used by an operation that is. */
static void few_bits_are_narrowed_and_widened(void **state) {
    (void)state;
    unsigned narrowed = 0, widened = 0, far = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .invocations = 64});
        const vyre_program *program = vyre_case_program(made);
        const vy_expr *exprs = program->exprs.items;
        for (uint32_t i = 0; i < program->exprs.count; i++) {
            const vy_expr *e = &exprs[i], *from = is_cast(e) ? &exprs[e->a] : e;
            if (e == from || vy_type_layouts[e->type].bits > 16 || vy_type_layouts[e->type].classes != VYRE_CLASS_FLOAT)
                continue;
            int is_few = vy_type_layouts[from->type].bits >= 32 && has_few_bits(program, from);
            narrowed += (unsigned)is_few;
            far += is_few && from->op == VYRE_OP_SHL && exprs[from->b].bits > 10; /* beyond 65504, the last of f16 */
            widened += is_few && is_cast(e + 1) && (e + 1)->a == i && vy_type_layouts[(e + 1)->type].bits > 16;
        }
        vyre_case_free(made);
    }
    assert_true(narrowed > 300 && far > 80 && widened > 80);
}

static int is_id(const vyre_program *program, uint32_t root) {
    const vy_expr *e = &program->exprs.items[root];
    return e->kind == VY_EXPR_BUILTIN &&
           (e->op == VYRE_BUILTIN_LOCAL_INDEX || e->op == VYRE_BUILTIN_LOCAL_ID || e->op == VYRE_BUILTIN_GLOBAL_ID);
}

/* An id, or a number of it, compared with a literal. */
static int is_lane_condition(const vyre_program *program, uint32_t root) {
    const vy_expr *exprs = program->exprs.items, *e = &exprs[root];
    if (e->kind != VY_EXPR_OP || e->op < VYRE_OP_EQ || e->op > VYRE_OP_GE || exprs[e->b].kind != VY_EXPR_LITERAL)
        return 0;
    const vy_expr *left = &exprs[e->a];
    return is_id(program, e->a) || (left->kind == VY_EXPR_OP && (left->op == VYRE_OP_AND || left->op == VYRE_OP_REM) &&
                                    is_id(program, left->a) && exprs[left->b].kind == VY_EXPR_LITERAL);
}

static void accesses_are_guarded_by_ids_and_reach_the_ends(void **state) {
    (void)state;
    unsigned loads = 0, stores = 0, atomics = 0, offsets = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .invocations = 64});
        const vyre_program *program = vyre_case_program(made);
        const vy_expr *exprs = program->exprs.items;
        for (uint32_t i = 0; i < program->exprs.count; i++) {
            const vy_expr *e = &exprs[i], *index = e->kind == VY_EXPR_LOAD ? &exprs[e->b] : e;
            loads += e->kind == VY_EXPR_OP && e->op == VYRE_OP_SELECT && exprs[e->b].kind == VY_EXPR_LOAD &&
                     is_lane_condition(program, e->a);
            offsets += index != e && index->kind == VY_EXPR_OP && index->op == VYRE_OP_ADD &&
                       is_id(program, index->a) && exprs[index->b].kind == VY_EXPR_LITERAL;
        }
        for (uint32_t i = 0; i + 1 < program->stmts.count; i++) {
            const vy_stmt *s = &program->stmts.items[i], *inside = s + 1;
            if (s->kind != VY_STMT_IF || !is_lane_condition(program, s->a))
                continue;
            stores += inside->kind == VY_STMT_STORE;
            atomics += inside->kind == VY_STMT_ATOMIC;
        }
        vyre_case_free(made);
    }
    assert_true(loads > 1000 && stores > 300 && atomics > 100 && offsets > 300);
}

static int uses_variable(const vyre_program *program, uint32_t root, uint32_t variable) {
    const vy_expr *e = &program->exprs.items[root];
    if (e->kind == VY_EXPR_VARIABLE)
        return e->a == variable;
    return e->kind == VY_EXPR_OP && ((e->a != VY_NONE && uses_variable(program, e->a, variable)) ||
                                     (e->b != VY_NONE && uses_variable(program, e->b, variable)));
}

/* A choice between a variable and an or, an xor or a copied sign of that variable. */
static int is_choice(const vyre_program *program, const vy_expr *e) {
    const vy_expr *exprs = program->exprs.items;
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_SELECT)
        return 0;
    const uint32_t arms[2] = {e->b, e->c};
    for (int i = 0; i < 2; i++) {
        const vy_expr *same = &exprs[arms[i]], *other = &exprs[arms[1 - i]];
        if (same->kind == VY_EXPR_VARIABLE && other->kind == VY_EXPR_OP &&
            (other->op == VYRE_OP_OR || other->op == VYRE_OP_XOR || other->op == VYRE_OP_COPYSIGN) &&
            uses_variable(program, arms[1 - i], same->a))
            return 1;
    }
    return 0;
}

static void values_are_chosen_over_bitwise_operations_of_them(void **state) {
    (void)state;
    unsigned integers = 0, floats = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .invocations = 64});
        const vyre_program *program = vyre_case_program(made);
        for (uint32_t i = 0; i < program->exprs.count; i++) {
            const vy_expr *e = &program->exprs.items[i];
            int is_wide = vy_type_layouts[e->type].bits >= 32, is_found = is_wide && is_choice(program, e);
            integers += is_found && (vy_type_layouts[e->type].classes & VYRE_CLASS_INTEGER);
            floats += is_found && (vy_type_layouts[e->type].classes & VYRE_CLASS_FLOAT);
        }
        vyre_case_free(made);
    }
    if (integers <= 200 || floats <= 100)
        fail_msg("%u choices of integers, %u of floats", integers, floats);
}

/* The other operand of a bitwise op with a literal; VY_NONE if it is something else. */
static uint32_t masked_operand(const vyre_program *program, uint32_t root) {
    const vy_expr *e = &program->exprs.items[root];
    int is_masked = e->kind == VY_EXPR_OP && e->op == VYRE_OP_AND && program->exprs.items[e->b].kind == VY_EXPR_LITERAL;
    return is_masked ? e->a : VY_NONE;
}

/* A load at local_index from a buffer whose literal count is at least the size of the workgroup. */
static int is_proven_load(const vyre_program *program, uint32_t root) {
    const vy_expr *e = &program->exprs.items[root];
    if (e->kind != VY_EXPR_LOAD || program->exprs.items[e->b].kind != VY_EXPR_BUILTIN ||
        program->exprs.items[e->b].op != VYRE_BUILTIN_LOCAL_INDEX)
        return 0;
    uint32_t size = program->memories.items[e->a].size;
    const vy_size *count = size == VY_NONE ? NULL : &program->sizes.items[size];
    return count && count->kind == VY_SIZE_LITERAL &&
           count->value >= (uint64_t)program->workgroup[0] * program->workgroup[1] * program->workgroup[2];
}

/* (y & K) | (x & ~K) or x ^ ((x ^ y) & K), where y is such a load. */
static int is_proven_selection(const vyre_program *program, uint32_t root) {
    const vy_expr *e = &program->exprs.items[root], *inner;
    if (e->kind != VY_EXPR_OP || (e->op != VYRE_OP_OR && e->op != VYRE_OP_XOR))
        return 0;
    uint32_t operand = masked_operand(program, e->op == VYRE_OP_OR ? e->a : e->b);
    if (operand == VY_NONE || e->op == VYRE_OP_OR)
        return operand != VY_NONE && is_proven_load(program, operand);
    inner = &program->exprs.items[operand];
    return inner->kind == VY_EXPR_OP && inner->op == VYRE_OP_XOR && is_proven_load(program, inner->b);
}

/* The pattern of LLVM's erratum masked-ternary-logic: full vectors, and an unmasked load as an operand in memory. */
static void choices_have_loads_that_need_no_bounds_check(void **state) {
    (void)state;
    unsigned found = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .stress = VYRE_STRESS_CHOICES});
        const vyre_program *program = vyre_case_program(made);
        int has_selection = 0;
        for (uint32_t i = 0; i < program->exprs.count && program->workgroup[0] % 16 == 0; i++) {
            const vy_expr *e = &program->exprs.items[i];
            has_selection |= e->kind == VY_EXPR_OP && e->op == VYRE_OP_SELECT && is_choice(program, e) &&
                             vy_type_layouts[e->type].bits >= 32 &&
                             (is_proven_selection(program, e->b) || is_proven_selection(program, e->c));
        }
        found += (unsigned)has_selection;
        vyre_case_free(made);
    }
    if (found < 20)
        fail_msg("%u of 200 programs", found);
}

/* ---- ops of dialects ---- */

/* Whether the program has the linked body of the op. */
static int has_op(const vyre_program *program, const char *id) {
    for (uint32_t i = 0; i < vyre_program_function_count(program); i++)
        if (strcmp(vy_symbol_name(program, program->functions.items[i].name), id) == 0)
            return 1;
    return 0;
}

static int has_math(const vyre_program *program) {
    for (uint32_t i = 0; i < vyre_program_function_count(program); i++)
        if (strncmp(vy_symbol_name(program, program->functions.items[i].name), "math.", 5) == 0)
            return 1;
    return 0;
}

/* Ops whose operands are memories, or that need an attribute, are not called. */
static int has_only_values(const vyre_op_definition *op) {
    for (uint32_t i = 0; i < op->input_count; i++)
        if (op->inputs[i].kind != VYRE_OPERAND_VALUE)
            return 0;
    for (uint32_t i = 0; i < op->attribute_count; i++)
        if (!op->attributes[i].has_default)
            return 0;
    return 1;
}

static int is_called(const vyre_op_definition *op) {
    return strcmp(op->dialect, "math") == 0 && has_only_values(op);
}

static void every_op_of_math_is_called(void **state) {
    (void)state;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    size_t count = vyre_dialects_count(guard), math = 0;
    uint8_t *seen = calloc(count + 1, 1);
    assert_non_null(seen);
    for (size_t i = 0; i < count; i++)
        math += (unsigned)is_called(vyre_dialects_at(guard, i));
    assert_true(math >= 40);
    for (uint64_t seed = 0; seed < 12 * math; seed++) {
        vyre_generate_options options = {.seed = seed, .stress = VYRE_STRESS_MATH, .statements = 14, .invocations = 16};
        vyre_case *made = generate(options);
        for (size_t i = 0; i < count; i++)
            seen[i] |= (uint8_t)has_op(vyre_case_program(made), vyre_dialects_at(guard, i)->id);
        vyre_case_free(made);
    }
    for (size_t i = 0; i < count; i++)
        if (is_called(vyre_dialects_at(guard, i)) && !seen[i])
            fail_msg("%s is not called", vyre_dialects_at(guard, i)->id);
    vyre_dialects_release(&guard);
    free(seen);
}

/* The text of a program with ops has their bodies, so that reading it needs no dialect. */
static void programs_with_ops_are_resolved(void **state) {
    (void)state;
    unsigned with = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .stress = VYRE_STRESS_MATH});
        const vyre_program *program = vyre_case_program(made);
        vyre_bytes text = VYRE_BYTES_INIT;
        vyre_module *module;
        assert_false(program->facts & VY_PROGRAM_HAS_OP_CALL);
        assert_int_equal(vyre_text_print(program, &text, NULL), VYRE_OK);
        assert_int_equal(vyre_text_parse(text.data, text.size, NULL, NULL, &module, NULL), VYRE_OK);
        assert_true(vyre_program_equal(program, vyre_module_program(module, 0)));
        with += (unsigned)has_math(program);
        vyre_module_free(module);
        vyre_bytes_free(&text);
        vyre_case_free(made);
    }
    assert_true(with >= 190);
}

/* Without stress, only programs of all types call ops: their bodies have types of their own. With it, their operands
 * have allowed types. Short programs, which are to be quick to compile, call none. */
static void ops_are_called_by_some_programs_of_all_types(void **state) {
    (void)state;
    unsigned some = 0, restricted = 0, in_short = 0, f32 = 0, f64 = 0;
    uint32_t types = 1u << VYRE_TYPE_F32 | 1u << VYRE_TYPE_U32;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed});
        some += (unsigned)has_math(vyre_case_program(made));
        vyre_case_free(made);
        made = generate((vyre_generate_options){.seed = seed, .types = types});
        restricted += (unsigned)has_math(vyre_case_program(made));
        vyre_case_free(made);
    }
    for (uint64_t seed = 0; seed < 200; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .types = types, .stress = VYRE_STRESS_MATH});
        f32 += (unsigned)has_op(vyre_case_program(made), "math.exp_f32");
        f64 += (unsigned)has_op(vyre_case_program(made), "math.sin_f64");
        vyre_case_free(made);
        made = generate((vyre_generate_options){.seed = seed, .statements = 8, .stress = VYRE_STRESS_MATH});
        in_short += (unsigned)has_math(vyre_case_program(made));
        vyre_case_free(made);
    }
    if (some < 40 || some > 130 || restricted || in_short || !f32 || f64)
        fail_msg("%u of 1000; of f32 and u32 %u; short %u; with stress %u exp of f32, %u sin of f64", some, restricted,
                 in_short, f32, f64);
}

/* ---- knobs ---- */

static double mean_statements(unsigned knob) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        vyre_program_stats stats;
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .statements = knob});
        vyre_program_get_stats(vyre_case_program(made), &stats);
        sum += stats.statements;
        vyre_case_free(made);
    }
    return sum / 200;
}

static void statements_says_about_how_many(void **state) {
    (void)state;
    for (unsigned knob = 10; knob <= 1000; knob *= 10) {
        double mean = mean_statements(knob);
        assert_true(mean > knob * 0.6 && mean < knob * 1.5 + 10);
    }
}

static unsigned tree_depth(const vyre_program *program, uint32_t root) {
    const vy_expr *e = &program->exprs.items[root];
    const uint32_t operands[3] = {e->kind == VY_EXPR_OP ? e->a : VY_NONE,
                                  e->kind == VY_EXPR_OP || e->kind == VY_EXPR_LOAD ? e->b : VY_NONE, e->c};
    unsigned deepest = 0;
    for (int i = 0; i < 3; i++)
        if (operands[i] != VY_NONE) {
            unsigned depth = 1 + tree_depth(program, operands[i]);
            deepest = depth > deepest ? depth : deepest;
        }
    return deepest;
}

static unsigned deepest_expression(unsigned knob) {
    unsigned deepest = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .depth = knob});
        const vyre_program *program = vyre_case_program(made);
        for (uint32_t i = 0; i < program->exprs.count; i++) {
            unsigned depth = tree_depth(program, i);
            deepest = depth > deepest ? depth : deepest;
        }
        vyre_case_free(made);
    }
    return deepest;
}

static void depth_bounds_expressions(void **state) {
    (void)state;
    /* Owned indices and the digests that outputs end with have a shape of their own, some operators deep. */
    assert_true(deepest_expression(1) <= 1 + 18);
    assert_true(deepest_expression(2) < deepest_expression(40));
    assert_true(deepest_expression(64) <= 64 + 18);
}

static void invocations_bounds_the_grid(void **state) {
    (void)state;
    static vy_resolved_dispatch launch;
    static const unsigned knobs[] = {1, 7, 64, 5000};
    for (unsigned k = 0; k < sizeof knobs / sizeof *knobs; k++) {
        uint64_t largest = 0;
        for (uint64_t seed = 0; seed < 300; seed++) {
            vyre_case *made = generate((vyre_generate_options){.seed = seed, .invocations = knobs[k], .statements = 4});
            assert_int_equal(vy_resolve_dispatch(vyre_case_program(made), vyre_case_arguments(made), &launch, NULL),
                             VYRE_OK);
            largest = launch.invocations > largest ? launch.invocations : largest;
            vyre_case_free(made);
        }
        assert_true(largest <= knobs[k] && largest * 3 >= knobs[k]);
    }
}

static void types_are_kept_to(void **state) {
    (void)state;
    for (int type = VYRE_TYPE_I8; type < VYRE_TYPE_COUNT; type++)
        for (uint64_t seed = 0; seed < 60; seed++) {
            vyre_case *made = generate((vyre_generate_options){.seed = seed, .types = UINT32_C(1) << type});
            const vyre_program *program = vyre_case_program(made);
            /* Indices and conditions are u32 and bool, and an index may be any integer; what is stored is the type
             * asked for. */
            for (uint32_t i = 0; i < program->memories.count; i++)
                assert_true(program->memories.items[i].type == type || program->grid.kind == VYRE_GRID_INDIRECT);
            for (uint32_t i = 0; i < program->exprs.count; i++)
                if (vy_type_layouts[program->exprs.items[i].type].classes == VYRE_CLASS_FLOAT)
                    assert_int_equal(program->exprs.items[i].type, type);
            vyre_case_free(made);
        }
}

static unsigned programs_with(unsigned stress, int (*has)(const vyre_program *)) {
    unsigned count = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        vyre_case *made = generate((vyre_generate_options){.seed = seed, .stress = stress});
        count += has(vyre_case_program(made)) != 0;
        vyre_case_free(made);
    }
    return count;
}

static int has_statement(const vyre_program *program, vy_stmt_kind kind) {
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == kind)
            return 1;
    return 0;
}
static int has_loops(const vyre_program *program) {
    return has_statement(program, VY_STMT_FOR) || has_statement(program, VY_STMT_WHILE);
}
static int has_calls(const vyre_program *program) {
    return has_statement(program, VY_STMT_CALL);
}
static int has_barriers(const vyre_program *program) {
    return has_statement(program, VY_STMT_BARRIER);
}
static int has_collectives(const vyre_program *program) {
    return has_statement(program, VY_STMT_COLLECTIVE);
}
static int has_atomics(const vyre_program *program) {
    return has_statement(program, VY_STMT_ATOMIC);
}
static int has_planes(const vyre_program *program) {
    return program->workgroup[1] > 1 || program->workgroup[2] > 1;
}
static int is_mostly(const vyre_program *program, unsigned classes) {
    unsigned hits = 0, all = 0;
    for (uint32_t i = 0; i < program->memories.count; i++, all++)
        hits += (vy_type_layouts[program->memories.items[i].type].classes & classes) != 0;
    return hits * 3 >= all * 2;
}
static int is_integral(const vyre_program *program) {
    return is_mostly(program, VYRE_CLASS_INTEGER);
}
static int is_floating(const vyre_program *program) {
    return is_mostly(program, VYRE_CLASS_FLOAT);
}

static int has_narrowed(const vyre_program *program) {
    for (uint32_t i = 0; i < program->exprs.count; i++)
        if (is_cast(&program->exprs.items[i]) &&
            has_few_bits(program, &program->exprs.items[program->exprs.items[i].a]))
            return 1;
    return 0;
}
static int has_guards(const vyre_program *program) {
    for (uint32_t i = 0; i < program->exprs.count; i++)
        if (is_lane_condition(program, i))
            return 1;
    return 0;
}

static int has_choices(const vyre_program *program) {
    for (uint32_t i = 0; i < program->exprs.count; i++)
        if (is_choice(program, &program->exprs.items[i]))
            return 1;
    return 0;
}

static void stress_makes_its_feature_common(void **state) {
    (void)state;
    static const struct {
        unsigned stress;
        int (*has)(const vyre_program *);
        unsigned at_least; /* of 200 */
    } rows[] = {
        {VYRE_STRESS_INTEGERS, is_integral, 150},     {VYRE_STRESS_FLOATS, is_floating, 120},
        {VYRE_STRESS_CONTROL, has_loops, 170},        {VYRE_STRESS_FUNCTIONS, has_calls, 200},
        {VYRE_STRESS_MEMORY, has_barriers, 160},      {VYRE_STRESS_COLLECTIVES, has_collectives, 160},
        {VYRE_STRESS_ATOMICS, has_atomics, 120},      {VYRE_STRESS_GEOMETRY, has_planes, 110},
        {VYRE_STRESS_CONVERSIONS, has_narrowed, 150}, {VYRE_STRESS_EDGES, has_guards, 170},
        {VYRE_STRESS_CHOICES, has_choices, 150},      {VYRE_STRESS_MATH, has_math, 190},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned count = programs_with(rows[i].stress, rows[i].has);
        if (count < rows[i].at_least)
            fail_msg("stress %#x: %u of 200 programs", rows[i].stress, count);
    }
}

static void knobs_beyond_reason_still_give_a_program(void **state) {
    (void)state;
    static const vyre_generate_options rows[] = {
        {.seed = 1, .statements = 100000},
        {.seed = 2, .statements = UINT32_MAX, .depth = UINT32_MAX},
        {.seed = 3, .statements = 3000, .depth = 64, .stress = VYRE_STRESS_FUNCTIONS},
        {.seed = 4, .invocations = UINT32_MAX, .statements = 5},
        {.seed = 5, .statements = 1, .depth = 1, .invocations = 1, .stress = UINT32_MAX},
        {.seed = 6, .types = 1 << VYRE_TYPE_BOOL},
        {.seed = 7, .types = UINT32_C(1) << 31, .stress = UINT32_MAX},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_program *inlined;
        vyre_case *made = generate(rows[i]);
        assert_int_equal(vyre_program_inline(vyre_case_program(made), &inlined, NULL), VYRE_OK);
        vyre_program_release(inlined);
        vyre_case_free(made);
    }
}

/* ---- cases ---- */

static void a_case_owns_copies_of_its_arguments(void **state) {
    (void)state;
    vyre_case *made = generate((vyre_generate_options){.seed = 5}), *copy;
    assert_int_equal(vyre_case_new(vyre_case_program(made), vyre_case_arguments(made), &copy, NULL), VYRE_OK);
    vyre_case *again = generate((vyre_generate_options){.seed = 5});
    vyre_case_free(made);
    assert_true(same_arguments(vyre_case_arguments(copy), vyre_case_arguments(again)));
    assert_true(vyre_program_equal(vyre_case_program(copy), vyre_case_program(again)));
    vyre_case_free(copy);
    vyre_case_free(again);
    vyre_case_free(NULL);
}

static void a_case_without_a_program_is_refused(void **state) {
    (void)state;
    vyre_error error;
    vyre_case *made;
    assert_int_equal(vyre_case_new(NULL, NULL, &made, &error), VYRE_INVALID_ARGUMENT);
    assert_null(made);
    assert_true(error.fix[0] != 0);
}

static vyre_status generate_and_free(void *user) {
    vyre_case *made;
    vyre_status status = vyre_generate(user, &made, NULL);
    assert_true((status == VYRE_OK) == (made != NULL));
    vyre_case_free(made);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    assert_true(vyre_dialects_count(guard) > 0); /* the first call of a process loads the standard library */
    vyre_dialects_release(&guard);
    for (uint64_t seed = 0; seed < 6; seed++) {
        static const unsigned stresses[] = {
            0, VYRE_STRESS_CONTROL, VYRE_STRESS_FUNCTIONS, VYRE_STRESS_MEMORY, VYRE_STRESS_CHOICES, VYRE_STRESS_MATH};
        vyre_generate_options options = {.seed = seed, .statements = 20, .invocations = 32, .stress = stresses[seed]};
        assert_true(VY_FAULT_LOOP(generate_and_free, &options) > 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_valid_and_can_be_dispatched),
        cmocka_unit_test(the_same_seed_gives_the_same_case),
        cmocka_unit_test(another_seed_gives_another_program),
        cmocka_unit_test(no_options_means_the_defaults),
        cmocka_unit_test(everything_the_language_has_occurs),
        cmocka_unit_test(loops_along_local_ids_occur_under_conditions),
        cmocka_unit_test(loops_counted_by_hand_occur),
        cmocka_unit_test(few_bits_are_narrowed_and_widened),
        cmocka_unit_test(accesses_are_guarded_by_ids_and_reach_the_ends),
        cmocka_unit_test(values_are_chosen_over_bitwise_operations_of_them),
        cmocka_unit_test(choices_have_loads_that_need_no_bounds_check),
        cmocka_unit_test(every_op_of_math_is_called),
        cmocka_unit_test(programs_with_ops_are_resolved),
        cmocka_unit_test(ops_are_called_by_some_programs_of_all_types),
        cmocka_unit_test(statements_says_about_how_many),
        cmocka_unit_test(depth_bounds_expressions),
        cmocka_unit_test(invocations_bounds_the_grid),
        cmocka_unit_test(types_are_kept_to),
        cmocka_unit_test(stress_makes_its_feature_common),
        cmocka_unit_test(knobs_beyond_reason_still_give_a_program),
        cmocka_unit_test(a_case_owns_copies_of_its_arguments),
        cmocka_unit_test(a_case_without_a_program_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
