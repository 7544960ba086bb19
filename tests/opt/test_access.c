/* No pass makes an access that the program does not make: whatever the checkers of the oracle find in an optimised
 * program, at an element of a memory, they find in the program as it was.
 *
 * Programs are those of access_programs.h. VYRE_SEED starts elsewhere, VYRE_EFFORT makes it that many times longer. */
#include "opt/access_programs.h"
#include "opt/policies.h"

#include "compile/pipeline.h"
#include "generate/generate.h"
#include "ir/diagnostic_codes.h"
#include "opt/coarsen.h"
#include "opt/pass_manager.h"
#include "oracle/lowered_env.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

/* ---- findings ---- */

enum { MOST_FINDINGS = 4096 };

/* Where something was found. Races within and between workgroups are one kind: of the accesses of an element that
 * race, some two are reported. */
typedef struct finding {
    char kind; /* 'R'ace, 'B'ounds, 'U'nwritten; '5' … of a code R005 … */
    char memory[8];
    uint64_t element;
} finding;

typedef struct findings {
    finding items[MOST_FINDINGS];
    uint32_t count;
    const vyre_program *program;
    int is_full, has_trapped;
} findings;

static int has(const findings *all, char kind, const finding *at) {
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].kind == kind && all->items[i].element == at->element &&
            strcmp(all->items[i].memory, at->memory) == 0)
            return 1;
    return 0;
}

static void observe(void *user, uint32_t code, uint32_t memory, uint64_t element) {
    findings *all = user;
    const vy_function *entry = vy_program_entry(all->program);
    finding f = {.kind = code == VY_R003 ? 'B' : code == VY_R004 ? 'U' : 'R', .element = element};
    snprintf(f.memory, sizeof f.memory, "%s",
             vy_symbol_name(all->program, all->program->memories.items[entry->first_memory + memory].name));
    if (has(all, f.kind, &f))
        return;
    if (all->count < MOST_FINDINGS)
        all->items[all->count++] = f;
    else
        all->is_full = 1;
}

/* Divergence, and what is wrong with programs of level legal: at no element. */
static void observe_breach(findings *all, const char *code) {
    finding f = {.kind = code[3]};
    if (code[3] >= '5' && !has(all, f.kind, &f) && all->count < MOST_FINDINGS)
        all->items[all->count++] = f;
}

/* Whether it ran to its end. */
static int find(vyre_program *program, const vyre_arguments *arguments, int zeroes_arrays, findings *all) {
    const vyre_oracle_options options = {.checks = VYRE_CHECK_ALL, .budget = 1 << 20};
    const vy_lowered_env conditions = {
        .zeroes_arrays = (uint8_t)zeroes_arrays, .observer = observe, .observer_user = all};
    vyre_oracle *oracle;
    vyre_error error;
    vyre_bytes outputs[8] = {VYRE_BYTES_INIT};
    all->count = 0;
    all->is_full = 0;
    if (vyre_oracle_new(program, &oracle, &error) != VYRE_OK)
        return 0;
    all->program = oracle->program;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_status status = vy_oracle_run_under(oracle, arguments, &options, &conditions, outputs, NULL, list, &error);
    for (size_t i = 0; i < vyre_diagnostics_count(list); i++)
        observe_breach(all, vyre_diagnostics_get(list, i)->code);
    vyre_diagnostics_free(list);
    for (int i = 0; i < 8; i++)
        vyre_bytes_free(&outputs[i]);
    vyre_oracle_free(oracle);
    all->program = NULL;
    all->has_trapped = status == VYRE_TRAPPED;
    return status == VYRE_OK || status == VYRE_CHECK_FAILED || status == VYRE_TRAPPED;
}

/* What `made` has that `of` has not; NULL: nothing. Whether an element was written before a read that races with the
 * write depends on the schedule: where there is the race, the read may find it unwritten. */
static const finding *find_new(const findings *made, const findings *of, int is_legal) {
    for (uint32_t i = 0; i < made->count; i++) {
        const finding *f = &made->items[i];
        if (!has(of, f->kind, f) && !(f->kind == 'U' && (is_legal || has(of, 'R', f))))
            return f;
    }
    return NULL;
}

/* ---- ways to optimise ---- */

typedef struct way {
    const vy_target_desc *legal; /* NULL: it is not legalised */
    const vy_opt_policy *rules;  /* NULL: it is not optimised */
    vyre_pass passes[4];
    unsigned pass_count; /* 0: a level */
    unsigned level;
} way;

static vyre_program *optimise(vyre_program *program, const way *w) {
    vyre_optimize_options options = {.level = w->level};
    vyre_program *made;
    vyre_error error;
    if (w->legal) {
        way before = *w;
        before.legal = NULL;
        vyre_program *source = w->rules ? optimise(program, &before) : vyre_program_retain(program);
        vyre_status status = vy_legalize(source, w->legal, &made, &error);
        /* Builds with checks refuse what comes to light by it: a race that is certain. */
        if (status == VYRE_LIMIT)
            made = vyre_program_retain(program);
        else if (status != VYRE_OK)
            fail_msg("%s", error.message);
        vyre_program_release(source);
        return made;
    }
    if (w->pass_count) {
        options.passes = w->passes;
        options.pass_count = w->pass_count;
    }
    if (vy_optimize_by(program, &options, w->rules, &made, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return made;
}

static way draw_way(vy_random *random) {
    way w = {.rules = opt_policy_of((opt_policy)vy_random_below(random, POLICIES)),
             .pass_count = 1 + (unsigned)vy_random_below(random, 4)};
    for (unsigned i = 0; i < w.pass_count; i++)
        w.passes[i] = (vyre_pass)vy_random_below(random, VYRE_PASS_COUNT);
    return w;
}

static void name_way(const way *w) {
    printf("passes:");
    for (unsigned i = 0; i < w->pass_count; i++)
        printf(" %s", vyre_pass_name(w->passes[i]));
    if (!w->pass_count)
        printf(" level %u", w->level);
    for (unsigned i = 0; i < POLICIES; i++)
        if (w->rules == opt_policy_of((opt_policy)i))
            printf(" (policy %s)\n", opt_policy_names[i]);
}

/* ---- one program ---- */

static findings before, after;

static int adds(vyre_program *program, const vyre_arguments *arguments, const way *w, finding *what) {
    vyre_program *made = optimise(program, w);
    const finding *added = made != program && find(made, arguments, w->legal && w->legal->zeroes_arrays, &after)
                               ? find_new(&after, &before, w->legal != NULL)
                               : NULL;
    if (added)
        *what = *added;
    vyre_program_release(made);
    return added != NULL;
}

static int still_adds(void *user, const vyre_case *candidate) {
    vyre_program *program = vyre_case_program(candidate);
    finding what;
    const way *w = user;
    return find(program, vyre_case_arguments(candidate), 0, &before) && !(w->legal && before.has_trapped) &&
           adds(program, vyre_case_arguments(candidate), user, &what);
}

static void print_program(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_error error;
    if (vyre_text_print(program, &text, &error) == VYRE_OK)
        printf("%.*s", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

static void show(vyre_program *program, const vyre_arguments *arguments, way *w) {
    vyre_case *start = NULL, *small = NULL;
    vyre_error error;
    finding what = {0};
    name_way(w);
    if (vyre_case_new(program, arguments, &start, &error) == VYRE_OK &&
        vyre_shrink(start, still_adds, w, 3000, &small, &error) == VYRE_OK && still_adds(w, small)) {
        printf("smallest program:\n");
        print_program(vyre_case_program(small));
        vyre_program *made = optimise(vyre_case_program(small), w);
        adds(vyre_case_program(small), vyre_case_arguments(small), w, &what);
        printf("becomes\n");
        print_program(made);
        printf("and %c at %s[%llu] is new\n", what.kind, what.memory, (unsigned long long)what.element);
        vyre_program_release(made);
    }
    vyre_case_free(small);
    vyre_case_free(start);
    fflush(stdout);
}

typedef struct tally {
    uint64_t programs, refused, found, kinds[128];
} tally;

/* A program with its inputs, and what is found in it. */
typedef struct sample {
    vyre_module *module; /* NULL: the validator refuses it; what it can prove is not for this test */
    vyre_program *program;
    vyre_arguments arguments;
    uint32_t data[ACCESS_INPUTS];
    vyre_span inputs[4];
    vyre_scalar n;
    vy_string text;
} sample;

/* Whether it runs to its end; `before` then holds what is found. */
static int open_sample(sample *s, vy_random *random, int is_plain) {
    vyre_error error;
    *s = (sample){0};
    access_program(random, (access_knobs){.is_plain = (uint8_t)is_plain}, &s->text);
    assert_false(s->text.failed);
    s->arguments = access_arguments(random, s->data, s->inputs, &s->n);
    if (vyre_text_parse(s->text.text, s->text.length, NULL, NULL, &s->module, &error) != VYRE_OK)
        return 0;
    s->program = vyre_module_program(s->module, 0);
    return find(s->program, &s->arguments, 0, &before) && !before.is_full;
}

static void close_sample(sample *s) {
    vyre_module_free(s->module);
    vy_string_free(&s->text);
}

static void try_way(const sample *s, uint64_t seed, way *w) {
    finding what;
    if (!adds(s->program, &s->arguments, w, &what))
        return;
    printf("seed %llu: %c at %s[%llu] is new\n%s", (unsigned long long)seed, what.kind, what.memory,
           (unsigned long long)what.element, s->text.text);
    show(s->program, &s->arguments, w);
    fail_msg("seed %llu: an access is new", (unsigned long long)seed);
}

static void try_program(uint64_t seed, tally *t) {
    vy_random random = vy_random_start(seed);
    sample s;
    if (open_sample(&s, &random, 0)) {
        t->programs++;
        t->found += before.count > 0;
        for (uint32_t i = 0; i < before.count; i++)
            t->kinds[(unsigned char)before.items[i].kind]++;
        for (unsigned k = 0; k < VYRE_PASS_COUNT; k++)
            try_way(&s, seed, &(way){NULL, &vy_opt_default, {(vyre_pass)k}, 1, 0});
        try_way(&s, seed, &(way){.rules = &vy_opt_default, .level = 1});
        for (unsigned k = 0; k < POLICIES; k++)
            try_way(&s, seed, &(way){.rules = opt_policy_of((opt_policy)k), .level = 2});
        way w = draw_way(&random);
        try_way(&s, seed, &w);
    }
    t->refused += s.module == NULL;
    close_sample(&s);
}

static uint64_t first_seed(void) {
    const char *first = getenv("VYRE_SEED");
    return first ? strtoull(first, NULL, 0) : 0;
}

static void optimised_programs_have_no_new_findings(void **state) {
    (void)state;
    uint64_t seed = first_seed(), programs = (VY_SANITIZED ? 150 : 1500) * (uint64_t)vy_test_effort();
    tally t = {0};
    while (t.programs < programs)
        try_program(seed++, &t);
    printf("%llu programs (and %llu refused): %llu with findings: %llu races, %llu bounds, %llu unwritten\n",
           (unsigned long long)t.programs, (unsigned long long)t.refused, (unsigned long long)t.found,
           (unsigned long long)t.kinds['R'], (unsigned long long)t.kinds['B'], (unsigned long long)t.kinds['U']);
    /* Programs with and without findings are common, and so is each kind. */
    assert_true(t.found > programs / 2 && t.found < programs);
    assert_true(t.kinds['R'] > programs / 2 && t.kinds['B'] > programs / 2 && t.kinds['U'] > programs / 2);
}

/* … and would have some, if a pass that moves loads did not mind where they are. */
static void loads_for_nothing_are_found(void **state) {
    static const vyre_pass passes[] = {VYRE_PASS_LICM, VYRE_PASS_GVN, VYRE_PASS_STRENGTH_REDUCE};
    vy_opt_policy rules = vy_opt_default;
    (void)state;
    rules.guards_count = 0;
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        way w = {NULL, &rules, {passes[k]}, 1, 0};
        int found = 0;
        for (uint64_t seed = first_seed(), end = seed + 1000; seed < end && !found; seed++) {
            vy_random random = vy_random_start(seed);
            sample s;
            finding what;
            found = open_sample(&s, &random, 0) && adds(s.program, &s.arguments, &w, &what);
            close_sample(&s);
        }
        if (!found)
            fail_msg("nothing is found of %s", vyre_pass_name(passes[k]));
    }
}

/* Devices that compute everything exactly. For others an op is a text with a `let` for each operand, which is then
 * computed, and loaded within its bounds, for every invocation, as all arms are on a device. */
#define EVERYTHING ((UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1)
static const vy_target_desc targets[] = {
    {.exact = EVERYTHING, .zeroes_arrays = 1, .native_collectives = 1},
    {.exact = EVERYTHING, .access_bytes = 16, .aligned_buffers = 1, .subgroup_width = 32, .unroll_arrays = 1},
    {.exact = EVERYTHING, .access_bytes = 8, .cancellable = 1},
};

static void legal_programs_have_no_new_findings(void **state) {
    (void)state;
    uint64_t seed = first_seed(), programs = (VY_SANITIZED ? 60 : 600) * (uint64_t)vy_test_effort();
    for (uint64_t end = seed + programs; seed < end; seed++) {
        vy_random random = vy_random_start(seed);
        sample s;
        /* At level legal an invocation goes on after it has trapped, up to where its workgroup ends. */
        if (open_sample(&s, &random, 0) && !before.has_trapped)
            for (size_t k = 0; k < 2 * sizeof targets / sizeof *targets; k++)
                try_way(
                    &s, seed,
                    &(way){.legal = &targets[k / 2], .rules = k % 2 ? opt_policy_of(POLICY_CPU) : NULL, .level = 2});
        close_sample(&s);
    }
}

/* The findings of the widened program, as it is, optimised, or legalised too. */
static void try_widened(const sample *s, uint64_t seed, const vy_coarsened *widened, const way *w) {
    vyre_scalar params[2] = {s->n, {VYRE_TYPE_U32, ACCESS_GROUPS}};
    vyre_arguments arguments = s->arguments;
    arguments.params = params;
    arguments.param_count = 2;
    arguments.geometry =
        (vyre_geometry){VYRE_GEOMETRY_GROUPS, {vy_coarsened_groups(widened->factor, ACCESS_GROUPS), 1, 1}};
    vyre_program *made = w ? optimise(widened->program, w) : vyre_program_retain(widened->program);
    if (find(made, &arguments, 0, &after)) {
        const finding *what = find_new(&after, &before, w && w->legal);
        if (what) {
            printf("%s", s->text.text);
            print_program(made);
            fail_msg("seed %llu: %c at %s[%llu] is new", (unsigned long long)seed, what->kind, what->memory,
                     (unsigned long long)what->element);
        }
    }
    vyre_program_release(made);
}

/* A widened program has the accesses of several invocations in one, and no others. */
static void widened_programs_have_no_new_findings(void **state) {
    (void)state;
    const vy_target_desc options = {.access_bytes = 16, .coarsen = VY_COARSEN_IF_POSSIBLE};
    const way far = {.rules = opt_policy_of(POLICY_LATE), .level = 2},
              legal = {.legal = &targets[1], .rules = far.rules, .level = 2};
    uint64_t seed = first_seed(), programs = (VY_SANITIZED ? 50 : 500) * (uint64_t)vy_test_effort(), seen = 0;
    for (uint64_t end = seed + programs; seed < end; seed++) {
        vy_random random = vy_random_start(seed);
        sample s;
        vy_coarsened widened;
        vyre_error error;
        if (open_sample(&s, &random, 1)) {
            assert_int_equal(vy_coarsen(s.program, &options, &widened, &error), VYRE_OK);
            seen += widened.factor > 1;
            if (widened.factor > 1) {
                try_widened(&s, seed, &widened, NULL);
                try_widened(&s, seed, &widened, &far);
                try_widened(&s, seed, &widened, &legal);
            }
            vyre_program_release(widened.program);
        }
        close_sample(&s);
    }
    assert_true(seen > programs / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimised_programs_have_no_new_findings),
        cmocka_unit_test(loads_for_nothing_are_found),
        cmocka_unit_test(legal_programs_have_no_new_findings),
        cmocka_unit_test(widened_programs_have_no_new_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
