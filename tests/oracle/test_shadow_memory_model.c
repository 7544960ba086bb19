/* The checkers against a direct reading of the language: random programs whose accesses race, are out of bounds, or
 * read workgroup memory that was not written. The model (model.h) tells every access that is made; the oracle must
 * find exactly what follows from them, under every schedule. Programs are those of opt/access_programs.h,
 * without acquires and releases: what is ordered is what barriers order. */
#include "oracle/model.h"

#include "ir/diagnostic_codes.h"
#include "opt/access_programs.h"
#include "oracle/lowered_env.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

enum { MOST_ACCESSES = 1 << 16, MOST_FINDINGS = 1 << 12 };

/* ---- findings: sorted, each once ---- */

typedef struct finding {
    char kind; /* 'R'ace, 'B'ounds, 'U'nwritten; of the model also 'O'pen: accesses, one a write, that nothing orders */
    uint32_t memory;
    uint64_t element;
} finding;

typedef struct findings {
    finding items[MOST_FINDINGS];
    uint32_t count;
    int is_full;
} findings;

static int has(const findings *all, char kind, uint32_t memory, uint64_t element) {
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].kind == kind && all->items[i].memory == memory && all->items[i].element == element)
            return 1;
    return 0;
}

static void add(findings *all, char kind, uint32_t memory, uint64_t element) {
    if (has(all, kind, memory, element))
        return;
    if (all->count < MOST_FINDINGS)
        all->items[all->count++] = (finding){kind, memory, element};
    else
        all->is_full = 1;
}

static void observe_oracle(void *user, uint32_t code, uint32_t memory, uint64_t element) {
    add(user, code == VY_R003 ? 'B' : code == VY_R004 ? 'U' : 'R', memory, element);
}

/* ---- the model's accesses ---- */

typedef struct access {
    uint32_t memory;
    uint64_t element;
    uint64_t group, invocation;
    uint32_t epoch;
    uint8_t may_write, is_atomic, is_for_group;
} access;

static access accesses[MOST_ACCESSES];
static uint32_t access_count;
static findings wanted, found;
static struct {
    uint64_t group;
    uint8_t is_written[ACCESS_ELEMENTS];
} shared;

static int is_shared(const vy_memory *memory) {
    return memory->space == VY_SPACE_WORKGROUP ||
           (memory->space == VY_SPACE_BUFFER && memory->access != VYRE_ACCESS_READ);
}

/* The element after a compare_exchange is another one only if it held what was expected: then it was written already,
 * or is now. */
static int writes(const model_invocation *v, const vy_stmt *stmt, uint32_t memory, uint64_t element) {
    if (!stmt || (stmt->kind == VY_STMT_ATOMIC && stmt->op == VYRE_ATOMIC_LOAD))
        return 0;
    if (stmt->kind != VY_STMT_ATOMIC || stmt->op != VYRE_ATOMIC_COMPARE_EXCHANGE)
        return 1;
    uint32_t expected = (uint32_t)v->m->program->exprs.items[stmt->b].bits, holds;
    memcpy(&holds, v->m->memories[memory] + element * sizeof holds, sizeof holds);
    return holds == expected;
}

static void observe_model(void *user, const model_invocation *v, uint32_t memory, __int128 index, const vy_stmt *stmt) {
    (void)user;
    const vy_memory *declared = &v->m->program->memories.items[memory];
    uint32_t k = memory - v->m->entry->first_memory;
    int is_atomic = stmt && stmt->kind == VY_STMT_ATOMIC;
    int is_load = !stmt || (is_atomic && stmt->op == VYRE_ATOMIC_LOAD);
    if (index < 0 || index >= (__int128)model_count(v->m, memory)) {
        add(&wanted, 'B', k, (uint64_t)index);
        return;
    }
    uint64_t element = (uint64_t)index;
    if (declared->space == VY_SPACE_WORKGROUP) {
        if (shared.group != v->m->group_index)
            memset(&shared, 0, sizeof shared);
        shared.group = v->m->group_index;
        if (is_load && !shared.is_written[element])
            add(&wanted, 'U', k, element);
        shared.is_written[element] |= (uint8_t)writes(v, stmt, k, element);
    }
    if (!is_shared(declared) || access_count == MOST_ACCESSES)
        return;
    accesses[access_count++] = (access){.memory = k,
                                        .element = element,
                                        .group = v->m->group_index,
                                        .invocation = v->m->group_index * v->m->launch.group_size + v->index,
                                        .epoch = v->m->epoch,
                                        .may_write = (uint8_t)!is_load,
                                        .is_atomic = (uint8_t)is_atomic,
                                        .is_for_group = is_atomic && stmt->scope == VYRE_SCOPE_WORKGROUP &&
                                                        declared->space == VY_SPACE_BUFFER};
}

/* ---- races, pair by pair ---- */

static int compare_places(const void *x, const void *y) {
    const access *a = x, *b = y;
    return a->memory != b->memory ? (a->memory < b->memory ? -1 : 1)
                                  : (a->element > b->element) - (a->element < b->element);
}

/* Whether two accesses of an element are open; atomics that reach each other do not race by that. */
static int is_open(const vyre_program *program, const access *a, const access *b) {
    if (a->invocation == b->invocation || !(a->may_write || b->may_write))
        return 0;
    const vy_memory *declared = &program->memories.items[vy_program_entry(program)->first_memory + a->memory];
    return a->group == b->group ? a->epoch == b->epoch : declared->space != VY_SPACE_WORKGROUP;
}

static int is_race(const access *a, const access *b) {
    return !(a->is_atomic && b->is_atomic) || (a->group != b->group && (a->is_for_group || b->is_for_group));
}

static void find_races(const vyre_program *program) {
    qsort(accesses, access_count, sizeof *accesses, compare_places);
    for (uint32_t first = 0, end; first < access_count; first = end) {
        int open = 0, racy = 0;
        for (end = first; end < access_count && compare_places(&accesses[first], &accesses[end]) == 0; end++)
            for (uint32_t i = first; i < end && !racy; i++)
                if (is_open(program, &accesses[i], &accesses[end])) {
                    open = 1;
                    racy = is_race(&accesses[i], &accesses[end]);
                }
        if (open)
            add(&wanted, 'O', accesses[first].memory, accesses[first].element);
        if (racy)
            add(&wanted, 'R', accesses[first].memory, accesses[first].element);
    }
}

/* ---- comparing ---- */

/* Whether an element was written before a read that nothing orders with the write depends on the schedule. */
static void expect_all(const findings *of, const findings *in, const char *what, uint64_t seed, const char *text,
                       const vyre_program *program) {
    for (uint32_t i = 0; i < of->count; i++) {
        const finding *f = &of->items[i];
        if (f->kind == 'O' || has(in, f->kind, f->memory, f->element) ||
            (f->kind == 'U' && has(&wanted, 'O', f->memory, f->element)))
            continue;
        const vy_memory *memory = &program->memories.items[vy_program_entry(program)->first_memory + f->memory];
        printf("%s", text);
        fail_msg("schedule %llu: %c at %s[%lld] is %s", (unsigned long long)seed, f->kind,
                 vy_symbol_name(program, memory->name), (long long)f->element, what);
    }
}

typedef struct tally {
    uint64_t programs, kinds[128], clean;
} tally;

static void try_program(uint64_t seed, tally *t) {
    vy_random random = vy_random_start(seed);
    vy_string text = {0};
    vyre_module *module = NULL;
    vyre_oracle *oracle = NULL;
    vyre_error error;
    vyre_trap trap;
    uint32_t data[ACCESS_INPUTS];
    vyre_span inputs[4];
    vyre_scalar n;
    static vyre_bytes outputs[4];
    access_program(&random, (access_knobs){.is_relaxed = 1}, &text);
    vyre_arguments arguments = access_arguments(&random, data, inputs, &n);
    access_count = wanted.count = 0;
    wanted.is_full = 0;
    shared.group = UINT64_MAX;
    if (vyre_text_parse(text.text, text.length, NULL, NULL, &module, &error) == VYRE_OK) {
        vyre_program *program = vyre_module_program(module, 0);
        vyre_status want = model_run_observed(program, &arguments, outputs, &trap, observe_model, NULL);
        assert_int_equal(vyre_oracle_new(program, &oracle, &error), VYRE_OK);
        find_races(oracle->program);
        for (uint64_t k = 0; k < 3 && access_count < MOST_ACCESSES && !wanted.is_full; k++) {
            const vyre_oracle_options options = {.checks = VYRE_CHECK_ALL, .seed = k ? seed * 3 + k : 0};
            const vy_lowered_env conditions = {.observer = observe_oracle, .observer_user = &found};
            found.count = 0;
            found.is_full = 0;
            vyre_status status =
                vy_oracle_run_under(oracle, &arguments, &options, &conditions, outputs, NULL, NULL, &error);
            int has_trapped = status == VYRE_TRAPPED;
            assert_true(status == VYRE_OK || status == VYRE_CHECK_FAILED || has_trapped);
            assert_int_equal(has_trapped, want == VYRE_TRAPPED);
            expect_all(&wanted, &found, "missed", options.seed, text.text, oracle->program);
            expect_all(&found, &wanted, "invented", options.seed, text.text, oracle->program);
        }
        t->programs++;
        t->clean += wanted.count == 0;
        for (uint32_t i = 0; i < wanted.count; i++)
            t->kinds[(unsigned char)wanted.items[i].kind]++;
    }
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        vyre_bytes_free(&outputs[i]);
    vyre_oracle_free(oracle);
    vyre_module_free(module);
    vy_string_free(&text);
}

static void exactly_what_the_accesses_say_is_found(void **state) {
    (void)state;
    const char *first = getenv("VYRE_SEED");
    uint64_t seed = first ? strtoull(first, NULL, 0) : 0,
             programs = (VY_SANITIZED ? 100 : 1000) * (uint64_t)vy_test_effort();
    tally t = {0};
    while (t.programs < programs)
        try_program(seed++, &t);
    printf("%llu programs: %llu races, %llu bounds, %llu unwritten; %llu without\n", (unsigned long long)t.programs,
           (unsigned long long)t.kinds['R'], (unsigned long long)t.kinds['B'], (unsigned long long)t.kinds['U'],
           (unsigned long long)t.clean);
    assert_true(t.kinds['R'] > programs && t.kinds['B'] > programs && t.kinds['U'] > programs / 2);
    assert_true(t.clean > programs / 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exactly_what_the_accesses_say_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
