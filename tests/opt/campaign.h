/* Random (program, sequence of passes) pairs: the optimised program delivers what the program delivers, byte for byte,
 * trap for trap.
 *
 * Programs come from the generator, inlined and then seasoned: expressions get wrapped into what passes look for (an
 * addition of zero, a shift beyond the width, a comparison with itself), because the generator rarely makes such. */
#ifndef VY_OPT_CAMPAIGN_H
#define VY_OPT_CAMPAIGN_H

#include "support/test.h"

#include "generate/generate.h"
#include "ir/eval.h"
#include "opt/pass_manager.h"
#include "opt/rewriter.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

enum { OPT_OUTPUTS = 16, OPT_SEQUENCE = 8 };

typedef struct opt_result {
    vyre_status status;
    vyre_oracle_report report;
    vyre_bytes outputs[OPT_OUTPUTS];
} opt_result;

typedef struct opt_sequence {
    vyre_pass passes[OPT_SEQUENCE];
    unsigned count;
} opt_sequence;

typedef struct opt_campaign {
    const vy_opt_policy *rules;
    vyre_generate_options generate; /* seed is set by each case */
    unsigned sequences;             /* for each program */
    unsigned one_in;                /* a node is seasoned one time in so many; 0: never */
    vyre_pass only;                 /* not COUNT: in every sequence */
    int alone;                      /* and no other */
    /* What was seen. */
    uint64_t pairs, programs, changed, trapped, refused, changes[VYRE_PASS_COUNT];
    opt_result expected, given;
    char message[512];
} opt_campaign;

static inline void opt_campaign_free(opt_campaign *c) {
    for (unsigned i = 0; i < OPT_OUTPUTS; i++) {
        vyre_bytes_free(&c->expected.outputs[i]);
        vyre_bytes_free(&c->given.outputs[i]);
    }
}

/* ---- running and comparing ---- */

/* Whether it ends, delivered or trapped. */
static inline int opt_run(vyre_program *program, const vyre_arguments *arguments, opt_result *result) {
    const vyre_oracle_options options = {.threads = 1, .budget = UINT64_C(1) << 24};
    vyre_oracle *oracle;
    vyre_error error;
    result->status = vyre_oracle_new(program, &oracle, &error);
    if (result->status != VYRE_OK)
        return 0;
    result->status = vyre_oracle_run(oracle, arguments, &options, result->outputs, &result->report, NULL, &error);
    vyre_oracle_free(oracle);
    return result->status == VYRE_OK || result->status == VYRE_TRAPPED;
}

static inline int opt_differs(opt_campaign *c, const vyre_program *program) {
    const opt_result *a = &c->expected, *b = &c->given;
    if (a->status != b->status)
        return snprintf(c->message, sizeof c->message, "it ends with %s instead of %s", vyre_status_name(b->status),
                        vyre_status_name(a->status));
    if (a->status == VYRE_TRAPPED &&
        (a->report.trap.invocation != b->report.trap.invocation || a->report.trap.code != b->report.trap.code))
        return snprintf(c->message, sizeof c->message, "invocation %llu traps with %u instead of %llu with %u",
                        (unsigned long long)b->report.trap.invocation, b->report.trap.code,
                        (unsigned long long)a->report.trap.invocation, a->report.trap.code);
    if (a->status == VYRE_TRAPPED)
        return 0;
    if (a->report.prints != b->report.prints)
        return snprintf(c->message, sizeof c->message, "it prints %llu times instead of %llu",
                        (unsigned long long)b->report.prints, (unsigned long long)a->report.prints);
    for (size_t i = 0; i < vyre_program_output_count(program); i++) {
        const vyre_bytes *x = &a->outputs[i], *y = &b->outputs[i];
        if (x->size != y->size || (x->size && memcmp(x->data, y->data, x->size) != 0))
            return snprintf(c->message, sizeof c->message, "output %zu differs", i);
    }
    return 0;
}

/* The passes one after another; NULL if one fails. */
static inline vyre_program *opt_apply(opt_campaign *c, vyre_program *program, const opt_sequence *sequence) {
    vyre_program *now = vyre_program_retain(program);
    for (unsigned i = 0; i < sequence->count; i++) {
        vyre_program *next;
        vyre_error error;
        uint64_t changes;
        int refused;
        if (vy_pass_run(sequence->passes[i], now, c->rules, &next, &changes, &refused, &error) != VYRE_OK) {
            snprintf(c->message, sizeof c->message, "%s: %.400s", vyre_pass_name(sequence->passes[i]), error.message);
            vyre_program_release(now);
            return NULL;
        }
        c->changes[sequence->passes[i]] += changes;
        c->refused += (unsigned)refused;
        vyre_program_release(now);
        now = next;
    }
    return now;
}

/* Whether the sequence spoils the program; c->expected holds what it delivers. */
static inline int opt_spoils(opt_campaign *c, vyre_program *program, const vyre_arguments *arguments,
                             const opt_sequence *sequence) {
    uint64_t refused = c->refused;
    vyre_program *made = opt_apply(c, program, sequence);
    if (!made)
        return 1;
    int same = made == program, differs = 0;
    if (c->refused != refused)
        differs = snprintf(c->message, sizeof c->message, "a pass made a program that is not valid");
    if (!differs && !same) {
        opt_run(made, arguments, &c->given);
        differs = opt_differs(c, program);
    }
    c->changed += !same;
    vyre_program_release(made);
    return differs != 0;
}

/* ---- seasoning ---- */

typedef struct opt_season {
    vy_random random;
    unsigned one_in;
    unsigned traps_in;  /* a trap of some invocations stands before a statement one time in so many; 0: never */
    unsigned bounds_in; /* so does something that prints at the edges of conditions and loops */
    unsigned made;      /* for names */
} opt_season;

static inline uint32_t opt_literal(vy_rewrite *rw, vyre_type type, vy_operand_is is) {
    uint64_t bits = 0;
    vy_operand_bits(is, type, &bits);
    return vy_rewrite_make_literal(rw, type, bits);
}

/* A leaf again: leaves may be used twice. */
static inline uint32_t opt_again(vy_rewrite *rw, uint32_t node) {
    uint8_t kind = vy_rewrite_node_at(rw, node)->kind;
    return kind == VY_EXPR_OP || kind == VY_EXPR_LOAD ? VY_NONE : node;
}

#define OP2(op, a, b) vy_rewrite_make_op(rw, VYRE_OP_##op, type, a, b, VY_NONE)
#define TEST2(op, a, b) vy_rewrite_make_op(rw, VYRE_OP_##op, VYRE_TYPE_BOOL, a, b, VY_NONE)
#define SELECT(a, b, c) vy_rewrite_make_op(rw, VYRE_OP_SELECT, type, a, b, c)
#define LIT(is) opt_literal(rw, type, VY_IS_##is)
#define NUM(n) vy_rewrite_make_literal(rw, type, (n))

/* Integers keep their value, because they may be bounds or indices; x is any node, y a leaf of its type. */
static inline uint32_t opt_season_integer(vy_rewrite *rw, vyre_type type, uint32_t x, uint32_t y, uint64_t recipe) {
    uint64_t width = vy_type_layouts[type].bits;
    switch (recipe % 18) {
    case 0:
        return OP2(ADD, x, LIT(ZERO));
    case 1:
        return OP2(MUL, LIT(ONE), x);
    case 2:
        return OP2(ADD, x, OP2(SUB, y, y));
    case 3:
        return OP2(AND, x, OP2(DIV, y, LIT(ZERO)));
    case 4:
        return OP2(SUB, x, OP2(REM, y, LIT(ONE)));
    case 5: /* the two shifts leave nothing */
        return OP2(OR, x, OP2(SHL, OP2(SHL, y, NUM(width - 2)), NUM(width - 3)));
    case 6:
        return SELECT(TEST2(EQ, y, y), x, y);
    case 7:
        return OP2(XOR, x, OP2(XOR, y, y));
    case 8:
        return OP2(SUB, OP2(ADD, x, NUM(77)), NUM(77));
    case 9: /* x + y / y - y / y: 1, or all ones where y is 0 */
        return OP2(SUB, OP2(ADD, x, OP2(DIV, y, y)), OP2(DIV, y, y));
    case 10:
        return SELECT(TEST2(LT, y, y), y, x);
    case 11: /* a shift by the width is none */
        return OP2(SHL, OP2(SHR, x, NUM(0)), NUM(width));
    case 12: /* y / 7 * 7 + y % 7 - y */
        return OP2(ADD, x, OP2(SUB, OP2(ADD, OP2(MUL, OP2(DIV, y, NUM(7)), NUM(7)), OP2(REM, y, NUM(7))), y));
    case 13:
        return OP2(ADD, x, OP2(SUB, OP2(ADD, OP2(MUL, OP2(DIV, y, NUM(8)), NUM(8)), OP2(REM, y, NUM(8))), y));
    case 14:
        return OP2(XOR, OP2(XOR, x, OP2(DIV, y, NUM(recipe / 18 % 250 + 3))), OP2(DIV, y, NUM(recipe / 18 % 250 + 3)));
    case 15:
        return OP2(OR, x, OP2(REM, LIT(ZERO), y));
    case 16:
        return OP2(ADD, OP2(MUL, OP2(MUL, y, NUM(16)), NUM(0)), x);
    default:
        return vy_rewrite_make_op(rw, VYRE_OP_NEG, type, vy_rewrite_make_op(rw, VYRE_OP_NEG, type, x, VY_NONE, VY_NONE),
                                  VY_NONE, VY_NONE);
    }
}

/* Floats are nobody's index: they may change, so that what is true of numbers and false of NaN, infinities and -0 is
 * tried. */
static inline uint32_t opt_season_float(vy_rewrite *rw, vyre_type type, uint32_t x, uint32_t y, uint64_t recipe) {
    switch (recipe % 12) {
    case 0:
        return OP2(ADD, x, LIT(ZERO));
    case 1:
        return OP2(ADD, x, LIT(MINUS_ZERO));
    case 2:
        return OP2(SUB, x, LIT(ZERO));
    case 3:
        return OP2(MUL, x, LIT(ONE));
    case 4:
        return OP2(ADD, x, OP2(SUB, y, y));
    case 5:
        return OP2(MUL, x, OP2(DIV, y, y));
    case 6:
        return SELECT(TEST2(EQ, y, y), x, LIT(ONE));
    case 7:
        return OP2(DIV, x, LIT(MINUS_ONE));
    case 8:
        return OP2(MUL, x, LIT(ZERO));
    case 9:
        return OP2(MIN, x, LIT(NAN));
    case 10:
        return SELECT(vy_rewrite_make_op(rw, VYRE_OP_LNOT, VYRE_TYPE_BOOL, TEST2(LT, y, LIT(ONE)), VY_NONE, VY_NONE), x,
                      y);
    default:
        return OP2(SUB, LIT(ZERO), x);
    }
}

static inline uint32_t opt_season_bool(vy_rewrite *rw, vyre_type type, uint32_t x, uint64_t recipe) {
    switch (recipe % 4) {
    case 0:
        return OP2(LAND, x, LIT(ONE));
    case 1:
        return OP2(EQ, x, LIT(ONE));
    case 2:
        return OP2(LOR, LIT(ZERO), x);
    default:
        return OP2(NE, x, LIT(ZERO));
    }
}

#undef OP2
#undef TEST2
#undef SELECT
#undef LIT
#undef NUM

static inline uint32_t opt_season_node(vy_rewrite *rw, uint32_t node) {
    opt_season *season = rw->user;
    vyre_type type = (vyre_type)vy_rewrite_node_at(rw, node)->type;
    if (vy_random_below(&season->random, season->one_in))
        return node;
    uint64_t recipe = vy_random_next(&season->random) >> 8;
    unsigned cls = vy_type_layouts[type].classes;
    uint32_t leaf = opt_again(rw, node), y = leaf != VY_NONE ? leaf : vy_rewrite_make_literal(rw, type, recipe & 1);
    if (leaf == VY_NONE && rw->may_bind && recipe & 2)
        node = y = vy_rewrite_make_leaf(rw, node); /* a `let` and its uses */
    uint32_t made = cls & VYRE_CLASS_INTEGER  ? opt_season_integer(rw, type, node, y, recipe / 4)
                    : cls == VYRE_CLASS_FLOAT ? opt_season_float(rw, type, node, y, recipe / 4)
                                              : opt_season_bool(rw, type, node, recipe / 4);
    rw->changes++;
    return made == VY_NONE ? node : made;
}

/* How often something is printed is compared, so a print shows who came by and changes nothing else. */
static inline void opt_print_if(vy_irb *d, vyre_op op, uint32_t a, uint32_t b) {
    vy_irb_if(d, vy_irb_op(d, op, VYRE_TYPE_BOOL, a, b, VY_NONE));
    vy_stmt print = vy_irb_blank_stmt(VY_STMT_PRINT);
    print.name = vy_irb_intern(d, "here", 4);
    vy_irb_stmt(d, &print, NULL, 0, NULL, NULL);
}

static inline uint32_t opt_limit(vy_rewrite *rw, uint64_t choice) {
    uint32_t buffers = rw->from->buffer_count;
    return choice % 2 && buffers ? vy_irb_len(&rw->draft, rw->memories[choice / 2 % buffers])
                                 : vy_irb_literal(&rw->draft, VYRE_TYPE_U32, choice / 2 % 9);
}

/* let t = min(global_id.x, n); if t <= n { if t < n { print } } else { if t > n { print } }, and the same with t < n.
 * */
static inline void opt_season_condition(vy_rewrite *rw, uint64_t choice) {
    opt_season *season = rw->user;
    vy_irb *d = &rw->draft;
    char text[24];
    vy_symbol name = vy_irb_intern(d, text, (size_t)snprintf(text, sizeof text, "season_%u", ++season->made));
    uint32_t id = vy_irb_builtin(d, VYRE_BUILTIN_GLOBAL_ID, 0);
    uint32_t least = vy_irb_op(d, VYRE_OP_MIN, VYRE_TYPE_U32, id, opt_limit(rw, choice / 4), VY_NONE);
    uint32_t t = vy_irb_let(d, name, VYRE_TYPE_U32, least);
    uint32_t left = vy_irb_variable(d, t), right = opt_limit(rw, choice / 4);
    vy_irb_if(d, vy_irb_op(d, choice % 2 ? VYRE_OP_LE : VYRE_OP_LT, VYRE_TYPE_BOOL, left, right, VY_NONE));
    left = vy_irb_variable(d, t);
    opt_print_if(d, VYRE_OP_LT, left, opt_limit(rw, choice / 4));
    vy_irb_end_block(d);
    vy_irb_else(d);
    left = vy_irb_variable(d, t);
    opt_print_if(d, VYRE_OP_GE, left, opt_limit(rw, choice / 4));
    vy_irb_end_block(d);
    vy_irb_end_block(d);
}

/* for q in a .. b step c { if q > m { print } }: few trips, often near the end of the type. Some start at local_index,
 * or step by that and one. */
static inline void opt_season_loop(vy_rewrite *rw, uint64_t choice) {
    static const vyre_type types[] = {VYRE_TYPE_U8, VYRE_TYPE_I8, VYRE_TYPE_U32, VYRE_TYPE_I32};
    opt_season *season = rw->user;
    vy_irb *d = &rw->draft;
    vyre_type type = types[choice % 4];
    uint64_t high = vy_type_layouts[type].mask >> (choice % 4 % 2), length = choice / 8 % 24;
    uint64_t to = choice / 4 % 2 ? high - choice / 192 % 9 : length + choice / 192 % 99;
    char text[24];
    vy_symbol name = vy_irb_intern(d, text, (size_t)snprintf(text, sizeof text, "season_%u", ++season->made));
    int varies = type == VYRE_TYPE_U32 && choice / 4 % 2 == 0 ? (int)(choice / 640000000 % 4) : 0;
    uint32_t a = varies & 1 ? vy_irb_builtin(d, VYRE_BUILTIN_LOCAL_INDEX, 0) : vy_irb_literal(d, type, to - length);
    uint32_t b = vy_irb_literal(d, type, to);
    uint32_t c = vy_irb_literal(d, type, 1 + choice / 20000 % (choice / 20000000 % 2 ? 5 : 120));
    if (varies & 2)
        c = vy_irb_op(d, VYRE_OP_ADD, type, c, vy_irb_builtin(d, VYRE_BUILTIN_LOCAL_INDEX, 0), VY_NONE);
    uint32_t q = vy_irb_for(d, name, type, a, b, c), left = vy_irb_variable(d, q);
    uint64_t middle = choice / 160000000 % 2 ? to - 1 : to - length + choice / 320000000 % (length + 1);
    opt_print_if(d, choice / 80000000 % 2 ? VYRE_OP_GE : VYRE_OP_LT, left, vy_irb_literal(d, type, middle));
    vy_irb_end_block(d);
    vy_irb_end_block(d);
}

/* `if global_id.x % n == m { trap code }`: the oracle tells which invocation came first, so that passes cannot lose one
 * or add one. */
static inline int opt_season_stmt(vy_rewrite *rw, uint32_t stmt) {
    opt_season *season = rw->user;
    vy_irb *d = &rw->draft;
    (void)stmt;
    if (season->bounds_in && !vy_random_below(&season->random, season->bounds_in)) {
        uint64_t choice = vy_random_next(&season->random) >> 8;
        (choice % 2 ? opt_season_condition : opt_season_loop)(rw, choice / 2);
        rw->changes++;
    }
    if (!season->traps_in || vy_random_below(&season->random, season->traps_in))
        return 0;
    uint64_t n = 2 + vy_random_below(&season->random, 9);
    uint32_t id = vy_irb_builtin(d, VYRE_BUILTIN_GLOBAL_ID, 0), modulus = vy_irb_literal(d, VYRE_TYPE_U32, n);
    uint32_t rest = vy_irb_op(d, VYRE_OP_REM, VYRE_TYPE_U32, id, modulus, VY_NONE);
    uint32_t wanted = vy_irb_literal(d, VYRE_TYPE_U32, vy_random_below(&season->random, n));
    vy_irb_if(d, vy_irb_op(d, VYRE_OP_EQ, VYRE_TYPE_BOOL, rest, wanted, VY_NONE));
    vy_stmt trap = vy_irb_blank_stmt(VY_STMT_TRAP);
    trap.a = vy_irb_literal(d, VYRE_TYPE_U32, vy_random_below(&season->random, 1000));
    vy_irb_stmt(d, &trap, NULL, 0, NULL, NULL);
    vy_irb_end_block(d);
    rw->changes++;
    return 0;
}

static inline vyre_program *opt_seasoned(vyre_program *program, uint64_t seed, unsigned one_in) {
    static const vy_rewriter hooks = {.stmt = opt_season_stmt, .node = opt_season_node};
    opt_season season = {.random = vy_random_start(seed),
                         .one_in = one_in,
                         .traps_in = seed % 5 == 1 ? 16 : 0,
                         .bounds_in = seed % 5 > 2 ? 12 : 0};
    vyre_program *out;
    vyre_error error;
    uint64_t changes;
    if (one_in == 0 || vy_rewrite_run(program, &hooks, &season, NULL, &out, &changes, &error) != VYRE_OK)
        return vyre_program_retain(program); /* a race came to light, or a limit */
    return out;
}

/* ---- one case ---- */

typedef struct opt_question {
    opt_campaign *campaign;
    const opt_sequence *sequence;
} opt_question;

static inline int opt_still_spoils(void *user, const vyre_case *candidate) {
    const opt_question *q = user;
    return opt_run(vyre_case_program(candidate), vyre_case_arguments(candidate), &q->campaign->expected) &&
           opt_spoils(q->campaign, vyre_case_program(candidate), vyre_case_arguments(candidate), q->sequence);
}

/* Prints what is left of the program, the sequence, and what the sequence makes of it. */
static inline void opt_show(opt_campaign *c, uint64_t seed, vyre_program *program, const vyre_arguments *arguments,
                            const opt_sequence *sequence) {
    vyre_case *start = NULL, *small = NULL;
    vyre_error error;
    vyre_bytes text = {0};
    opt_question question = {c, sequence};
    printf("seed %llu: %s\npasses:", (unsigned long long)seed, c->message);
    for (unsigned i = 0; i < sequence->count; i++)
        printf(" %s", vyre_pass_name(sequence->passes[i]));
    if (vyre_case_new(program, arguments, &start, &error) == VYRE_OK &&
        vyre_shrink(start, opt_still_spoils, &question, 3000, &small, &error) == VYRE_OK &&
        vyre_text_print(vyre_case_program(small), &text, &error) == VYRE_OK) {
        printf("\nsmallest program that is spoiled:\n%.*s", (int)text.size, (const char *)text.data);
        vyre_program *made = opt_apply(c, vyre_case_program(small), sequence);
        if (made && vyre_text_print(made, &text, &error) == VYRE_OK)
            printf("becomes\n%.*s", (int)text.size, (const char *)text.data);
        vyre_program_release(made);
    }
    vyre_bytes_free(&text);
    vyre_case_free(small);
    vyre_case_free(start);
    fflush(stdout);
}

static inline opt_sequence opt_random_sequence(opt_campaign *c, vy_random *random) {
    opt_sequence sequence = {.count = 1 + (unsigned)vy_random_below(random, OPT_SEQUENCE)};
    for (unsigned i = 0; i < sequence.count; i++)
        sequence.passes[i] = c->alone ? c->only : (vyre_pass)vy_random_below(random, VYRE_PASS_COUNT);
    if (c->only != VYRE_PASS_COUNT)
        sequence.passes[vy_random_below(random, sequence.count)] = c->only;
    return sequence;
}

/* Tries a seed; whether a pair was spoiled. show: also prints and shrinks it. */
static inline int opt_try(opt_campaign *c, uint64_t seed, int show) {
    vyre_generate_options options = c->generate;
    vyre_case *made;
    vyre_error error;
    vyre_program *flat = NULL, *program = NULL;
    options.seed = seed;
    if (!options.stress && seed % 3)
        options.stress = 1u << seed / 3 % VYRE_STRESS_COUNT; /* one thing at a time, too */
    options.stress = vy_test_stress(options.stress);
    if (vyre_generate(&options, &made, &error) != VYRE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    if (vyre_program_inline(vyre_case_program(made), &flat, &error) != VYRE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    program = opt_seasoned(flat, seed, seed % 4 ? c->one_in : 0);
    const vyre_arguments *arguments = vyre_case_arguments(made);
    vy_random random = vy_random_start(seed ^ 0x0b7);
    int spoiled = 0;
    if (opt_run(program, arguments, &c->expected)) {
        c->programs++;
        c->trapped += c->expected.status == VYRE_TRAPPED;
        for (unsigned i = 0; i < c->sequences && !spoiled; i++) {
            opt_sequence sequence = opt_random_sequence(c, &random);
            spoiled = opt_spoils(c, program, arguments, &sequence);
            c->pairs++;
            if (spoiled && show)
                opt_show(c, seed, program, arguments, &sequence);
        }
    }
    vyre_program_release(program);
    vyre_program_release(flat);
    vyre_case_free(made);
    return spoiled;
}

#endif
