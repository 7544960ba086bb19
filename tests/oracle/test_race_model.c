/* The race checker against the definition: random patterns of accesses and barriers, where every pair is looked at.
 *
 * Invocations take part in an access by a mask that the program reads from a buffer, so nothing can be proved before
 * the run. What is ordered does not depend on the schedule: every seed must give the same verdict. */
#include "oracle/trial.h"

enum { MAX_STEPS = 14, MAX_ACCESSES = MAX_STEPS * 16, TEXT = 4096 };

typedef enum step_kind { STEP_ACCESS, STEP_BARRIER, STEP_GROUP_BARRIER, STEP_GRID_BARRIER } step_kind;

/* How an access is written, and what it is. */
typedef struct form {
    const char *text; /* with the place */
    int writes, is_atomic, is_for_group;
} form;

static const form buffer_forms[] = {
    {"let t%d = %s", 0, 0, 0},
    {"let t%d = %s", 0, 0, 0},
    {"let t%d = 0u32\n%s = i", 1, 0, 0},
    {"let t%d = atomic_load<device>(%s)", 0, 1, 0},
    {"let t%d = atomic_load<workgroup>(%s)", 0, 1, 1},
    {"let t%d = atomic_add<device>(%s, 1)", 1, 1, 0},
    {"let t%d = atomic_exchange<workgroup>(%s, 1)", 1, 1, 1},
    {"let t%d = 0u32\natomic_store<device>(%s, 2)", 1, 1, 0},
    {"let t%d = atomic_compare_exchange<workgroup>(%s, 77, 78)", 1, 1, 1},
};
static const form array_forms[] = {
    {"let t%d = %s", 0, 0, 0},
    {"let t%d = 0u32\n%s = i", 1, 0, 0},
    {"let t%d = atomic_load(%s)", 0, 1, 0},
    {"let t%d = atomic_max(%s, 1)", 1, 1, 0},
};

typedef struct step {
    step_kind kind;
    uint32_t who; /* access: mask of invocations; group barrier: the workgroup */
    const form *form;
    int is_array;
    uint32_t element;
} step;

typedef struct pattern {
    uint32_t groups, size; /* workgroups, and invocations of one */
    step steps[MAX_STEPS];
    uint32_t count;
} pattern;

static pattern draw(vy_random *random) {
    pattern p = {.groups = 1 + (uint32_t)vy_random_below(random, 4), .size = 1 + (uint32_t)vy_random_below(random, 4)};
    uint32_t all = (1u << p.groups * p.size) - 1, elements = 1 + (uint32_t)vy_random_below(random, 2);
    uint64_t arrays = vy_random_below(random, 3), barriers = 2 + vy_random_below(random, 8);
    p.count = 2 + (uint32_t)vy_random_below(random, MAX_STEPS - 1);
    for (uint32_t i = 0; i < p.count; i++) {
        step *s = &p.steps[i];
        uint64_t what = vy_random_below(random, barriers);
        s->kind = what > 1 ? STEP_ACCESS : what ? STEP_BARRIER : STEP_GROUP_BARRIER;
        if (s->kind == STEP_BARRIER && vy_random_below(random, 2))
            s->kind = STEP_GRID_BARRIER;
        s->is_array = vy_random_below(random, 3) < arrays;
        s->form = s->is_array ? &array_forms[vy_random_below(random, sizeof array_forms / sizeof *array_forms)]
                              : &buffer_forms[vy_random_below(random, sizeof buffer_forms / sizeof *buffer_forms)];
        s->element = (uint32_t)vy_random_below(random, elements);
        s->who = (uint32_t)vy_random_below(random, p.groups);
        /* One or two invocations, rarely more: most patterns of many are racy. */
        if (s->kind == STEP_ACCESS) {
            s->who = 1u << vy_random_below(random, p.groups * p.size);
            if (vy_random_below(random, 3) == 0)
                s->who |= 1u << vy_random_below(random, p.groups * p.size);
            if (vy_random_below(random, 12) == 0)
                s->who |= (uint32_t)vy_random_next(random) & all;
        }
    }
    return p;
}

/* ---- the definition ---- */

typedef struct access {
    uint32_t invocation, group, epoch, grid_epoch, array; /* array: whose, + 1; 0 is the buffer */
    uint32_t element;
    const form *form;
} access;

static int conflict(const access *a, const access *b) {
    if (a->array != b->array || a->element != b->element || a->invocation == b->invocation ||
        !(a->form->writes || b->form->writes))
        return 0;
    if (a->form->is_atomic && b->form->is_atomic)
        return a->group != b->group && (a->form->is_for_group || b->form->is_for_group);
    return 1;
}

static int unordered(const access *a, const access *b) {
    return a->grid_epoch == b->grid_epoch && (a->group != b->group || a->epoch == b->epoch);
}

/* Bit 0: two invocations of a workgroup race; bit 1: of two workgroups. */
static unsigned judge(const pattern *p) {
    static access all[MAX_ACCESSES];
    uint32_t count = 0, epochs[4] = {0}, grid_epoch = 0;
    for (uint32_t k = 0; k < p->count; k++) {
        const step *s = &p->steps[k];
        grid_epoch += s->kind == STEP_GRID_BARRIER;
        for (uint32_t g = 0; g < p->groups; g++)
            epochs[g] += s->kind != STEP_ACCESS && (s->kind != STEP_GROUP_BARRIER || s->who == g);
        for (uint32_t i = 0; s->kind == STEP_ACCESS && i < p->groups * p->size; i++) {
            uint32_t g = i / p->size;
            if (s->who >> i & 1)
                all[count++] = (access){i, g, epochs[g], grid_epoch, s->is_array ? g + 1 : 0, s->element, s->form};
        }
    }
    unsigned found = 0;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < a; b++)
            if (conflict(&all[a], &all[b]) && unordered(&all[a], &all[b]))
                found |= all[a].group == all[b].group ? 1 : 2;
    return found;
}

/* ---- the program ---- */

static void write_program(const pattern *p, char *text, uint32_t *masks) {
    size_t used = (size_t)snprintf(text, TEXT,
                                   "program p {\n buffer m : u32 read\n buffer a : u32 read_write count 2\n workgroup "
                                   "%u\n grid %u\n array w : u32 [2] workgroup\n let i = global_id.x\n",
                                   p->size, p->groups);
    for (uint32_t k = 0; k < p->count; k++) {
        const step *s = &p->steps[k];
        char place[16];
        masks[k] = s->who;
        snprintf(place, sizeof place, "%s[%u]", s->is_array ? "w" : "a", s->element);
        if (s->kind == STEP_ACCESS) {
            used += (size_t)snprintf(text + used, TEXT - used, "if (m[%u] >> i & 1) == 1 {\n", k);
            used += (size_t)snprintf(text + used, TEXT - used, s->form->text, (int)k, place);
            used += (size_t)snprintf(text + used, TEXT - used, "\n}\n");
        } else if (s->kind == STEP_GROUP_BARRIER) {
            used += (size_t)snprintf(text + used, TEXT - used, "if group_id.x == %u { barrier }\n", s->who);
        } else {
            used += (size_t)snprintf(text + used, TEXT - used, "%s\n",
                                     s->kind == STEP_BARRIER ? "barrier" : "grid_barrier");
        }
    }
    snprintf(text + used, TEXT - used, "}\n");
}

static void expect_verdict(trial *t, unsigned races, const char *text) {
    if (t->status != (races ? VYRE_CHECK_FAILED : VYRE_OK)) {
        trial_show(t->findings);
        fail_msg("seed %llu gives %s, but %s\n%s", (unsigned long long)t->options.seed, vyre_status_name(t->status),
                 races ? "there is a race" : "there is none", text);
    }
    for (size_t i = 0; i < vyre_diagnostics_count(t->findings); i++) {
        const vyre_diagnostic *finding = vyre_diagnostics_get(t->findings, i);
        if (!(races & (strcmp(finding->code, "R001") == 0 ? 1u : 2u)))
            fail_msg("seed %llu invents %s: %s\n%s", (unsigned long long)t->options.seed, finding->code,
                     finding->message, text);
    }
}

static void every_pattern_is_judged_as_its_pairs_are(void **state) {
    (void)state;
    unsigned cases = 6000 * vy_test_effort() / (VY_SANITIZED ? 6 : 1), racy = 0;
    const uint32_t zeros[2] = {0};
    vy_random random = vy_random_start(1);
    for (unsigned k = 0; k < cases; k++) {
        pattern p = draw(&random);
        unsigned races = judge(&p);
        uint32_t masks[MAX_STEPS] = {0};
        char text[TEXT];
        trial t;
        racy += races != 0;
        write_program(&p, text, masks);
        trial_open(&t, text);
        trial_input(&t, masks, sizeof masks);
        trial_input(&t, zeros, sizeof zeros);
        for (uint64_t seed = 0; seed < 4; seed++) {
            t.options = (vyre_oracle_options){.checks = VYRE_CHECK_RACES, .seed = seed ? k * 4 + seed : 0};
            trial_run(&t);
            expect_verdict(&t, races, text);
        }
        trial_close(&t);
    }
    /* Both verdicts must be common, or one of them is hardly tested. */
    if (racy < cases / 5 || racy > cases - cases / 5)
        fail_msg("%u of %u patterns are racy", racy, cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_pattern_is_judged_as_its_pairs_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
