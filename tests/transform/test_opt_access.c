/* No pass makes an access that the program does not make: whatever the checkers of the oracle find in an optimised
 * program, at an element of a memory, they find in the program as it was.
 *
 * Programs are those of access_programs.h. VYRE_SEED starts elsewhere, VYRE_EFFORT makes it that many times longer. */
#include "transform/access_programs.h"

#include "ir/codes.h"
#include "oracle/legal.h"
#include "transform/optimize.h"
#include "vyre/generate.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

/* ---- findings ---- */

enum { MOST_FINDINGS = 4096 };

/* Where something was found. Races within and between workgroups are one kind: of the accesses of an element that
 * race, some two are reported. */
typedef struct finding {
    char kind; /* 'R'ace, 'B'ounds, 'U'nwritten */
    char memory[8];
    uint64_t element;
} finding;

typedef struct findings {
    finding items[MOST_FINDINGS];
    uint32_t count;
    const vyre_program *program;
    int is_full;
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
             vy_name_text(all->program, all->program->memories.items[entry->first_memory + memory].name));
    if (has(all, f.kind, &f))
        return;
    if (all->count < MOST_FINDINGS)
        all->items[all->count++] = f;
    else
        all->is_full = 1;
}

/* Whether it ran to its end. */
static int find(vyre_program *program, const vyre_arguments *arguments, findings *all) {
    const vyre_oracle_options options = {.checks = VYRE_CHECK_ALL, .budget = 1 << 20};
    const vy_oracle_conditions conditions = {.observer = observe, .observer_user = all};
    vyre_oracle *oracle;
    vyre_error error;
    vyre_bytes outputs[8] = {VYRE_BYTES_INIT};
    all->count = 0;
    all->is_full = 0;
    if (vyre_oracle_new(program, &oracle, &error) != VYRE_OK)
        return 0;
    all->program = oracle->program;
    vyre_status status = vy_oracle_run_under(oracle, arguments, &options, &conditions, outputs, NULL, NULL, &error);
    for (int i = 0; i < 8; i++)
        vyre_bytes_free(&outputs[i]);
    vyre_oracle_free(oracle);
    all->program = NULL;
    return status == VYRE_OK || status == VYRE_CHECK_FAILED || status == VYRE_TRAPPED;
}

/* What `made` has that `of` has not; NULL: nothing. Whether an element was written before a read that races with the
 * write depends on the schedule: where there is the race, the read may find it unwritten. */
static const finding *find_new(const findings *made, const findings *of) {
    for (uint32_t i = 0; i < made->count; i++) {
        const finding *f = &made->items[i];
        if (!has(of, f->kind, f) && !(f->kind == 'U' && has(of, 'R', f)))
            return f;
    }
    return NULL;
}

/* ---- ways to optimise ---- */

typedef struct way {
    const vy_rules *rules;
    vyre_pass passes[4];
    unsigned pass_count; /* 0: a level */
    unsigned level;
} way;

static vyre_program *optimise(vyre_program *program, const way *w) {
    vyre_optimize_options options = {.level = w->level};
    vyre_program *made;
    vyre_error error;
    if (w->pass_count) {
        options.passes = w->passes;
        options.pass_count = w->pass_count;
    }
    if (vy_optimize_by(program, &options, w->rules, &made, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return made;
}

static const vy_rules *const all_rules[] = {&vy_rules_sound, &vy_rules_far, &vy_rules_count, &vy_rules_meet};
enum { RULES = sizeof all_rules / sizeof *all_rules };

static way draw_way(vy_random *random) {
    way w = {.rules = all_rules[vy_random_below(random, RULES)],
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
    printf(" (%s rules)\n", w->rules == &vy_rules_far     ? "far"
                            : w->rules == &vy_rules_count ? "count"
                            : w->rules == &vy_rules_meet  ? "meet"
                                                          : "usual");
}

/* ---- one program ---- */

static findings before, after;

static int adds(vyre_program *program, const vyre_arguments *arguments, const way *w, finding *what) {
    vyre_program *made = optimise(program, w);
    const finding *added = made != program && find(made, arguments, &after) ? find_new(&after, &before) : NULL;
    if (added)
        *what = *added;
    vyre_program_release(made);
    return added != NULL;
}

static int still_adds(void *user, const vyre_case *candidate) {
    vyre_program *program = vyre_case_program(candidate);
    finding what;
    return find(program, vyre_case_arguments(candidate), &before) &&
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

/* What control depends on, and everything else that is read. */
static vyre_arguments draw_arguments(vy_random *random, uint32_t *data, vyre_span inputs[4], vyre_scalar *n) {
    static const uint32_t sizes[] = {ACCESS_CONTROLS, ACCESS_ELEMENTS, ACCESS_ELEMENTS, 8};
    for (unsigned k = 0, at = 0; k < 4; at += sizes[k++]) {
        for (unsigned i = 0; i < sizes[k]; i++)
            data[at + i] = (uint32_t)vy_random_below(random, 6);
        inputs[k] = (vyre_span){data + at, sizes[k] * sizeof *data};
    }
    *n = (vyre_scalar){VYRE_TYPE_U32, vy_random_below(random, 4)};
    return (vyre_arguments){.params = n, .param_count = 1, .inputs = inputs, .input_count = 4};
}

/* A program with its inputs, and what is found in it. */
typedef struct sample {
    vyre_module *module; /* NULL: the validator refuses it; what it can prove is not for this test */
    vyre_program *program;
    vyre_arguments arguments;
    uint32_t data[3 * ACCESS_CONTROLS + 8];
    vyre_span inputs[4];
    vyre_scalar n;
    vy_string text;
} sample;

/* Whether it runs to its end; `before` then holds what is found. */
static int open_sample(sample *s, vy_random *random) {
    vyre_error error;
    *s = (sample){0};
    access_program(random, &s->text);
    assert_false(s->text.failed);
    s->arguments = draw_arguments(random, s->data, s->inputs, &s->n);
    if (vyre_text_parse(s->text.text, s->text.length, NULL, NULL, &s->module, &error) != VYRE_OK)
        return 0;
    s->program = vyre_module_program(s->module, 0);
    return find(s->program, &s->arguments, &before) && !before.is_full;
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
    if (open_sample(&s, &random)) {
        t->programs++;
        t->found += before.count > 0;
        for (uint32_t i = 0; i < before.count; i++)
            t->kinds[(unsigned char)before.items[i].kind]++;
        for (unsigned k = 0; k < VYRE_PASS_COUNT; k++)
            try_way(&s, seed, &(way){&vy_rules_sound, {(vyre_pass)k}, 1, 0});
        try_way(&s, seed, &(way){.rules = &vy_rules_sound, .level = 1});
        for (unsigned k = 0; k < RULES; k++)
            try_way(&s, seed, &(way){.rules = all_rules[k], .level = 2});
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
    static const vyre_pass passes[] = {VYRE_PASS_HOIST, VYRE_PASS_VALUES, VYRE_PASS_STRENGTH};
    vy_rules rules = vy_rules_sound;
    (void)state;
    rules.guards_count = 0;
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        way w = {&rules, {passes[k]}, 1, 0};
        int found = 0;
        for (uint64_t seed = first_seed(), end = seed + 1000; seed < end && !found; seed++) {
            vy_random random = vy_random_start(seed);
            sample s;
            finding what;
            found = open_sample(&s, &random) && adds(s.program, &s.arguments, &w, &what);
            close_sample(&s);
        }
        if (!found)
            fail_msg("nothing is found of %s", vyre_pass_name(passes[k]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimised_programs_have_no_new_findings),
        cmocka_unit_test(loads_for_nothing_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
