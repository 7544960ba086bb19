/* The race checker against happens-before, with acquires and releases: random patterns in which many invocations
 * access an element and some of them synchronise through atomics, judged by a model that shares nothing with the
 * checker.
 *
 * Every atomic that synchronises records the value it found, and every value tells which atomic wrote it. So the
 * outputs of a run determine which acquire saw which release, whatever the schedule was; the model builds the graph
 * of all events of the run, closes it, and looks at every pair of accesses. The checker must report exactly the
 * elements that have a race. */
#include "oracle/trial.h"

enum {
    MAX_STEPS = 30,
    INVOCATIONS = 32,
    MAX_EVENTS = 1024,
    WORDS = MAX_EVENTS / 64,
    TEXT = 16384,
    ELEMENTS = 2, /* of each memory */
    MAX_FINDINGS = 64
};

/* ---- a pattern ---- */

typedef enum memory_kind {
    MEMORY_DATA,          /* a: accesses that do not synchronise */
    MEMORY_DATA_ARRAY,    /* w: likewise, of the workgroup */
    MEMORY_COUNTER,       /* c: changed by atomic_add of 1 only: a value is a number of changes */
    MEMORY_COUNTER_ARRAY, /* d */
    MEMORY_FLAG,          /* s: every change writes a value of its own */
    MEMORY_FLAG_ARRAY,    /* v */
    MEMORY_COUNT
} memory_kind;
static const char *const memory_names[MEMORY_COUNT] = {"a", "w", "c", "d", "s", "v"};

static int is_array(memory_kind memory) {
    return memory & 1;
}

typedef enum access_op {
    OP_READ,
    OP_WRITE,
    OP_LOAD,
    OP_STORE,
    OP_ADD,
    OP_EXCHANGE,
    OP_COMPARE /* compare_exchange: expects `expected` */
} access_op;

typedef enum step_kind { STEP_ACCESS, STEP_BARRIER, STEP_GROUP_BARRIER, STEP_GRID_BARRIER } step_kind;

/* An access by the invocations of a mask: those for which an earlier one found at least, or exactly, a value. */
typedef struct step {
    step_kind kind;
    uint32_t who; /* group barrier: the workgroup */
    memory_kind memory;
    uint32_t element;
    access_op op;
    int acquires, releases;
    vyre_scope scope;
    uint32_t expected;
    int after;      /* the step whose result decides; -1: none */
    int is_exactly; /* == bound, else >= bound */
    uint32_t bound;
} step;

typedef struct pattern {
    uint32_t groups, size, count;
    step steps[MAX_STEPS];
} pattern;

/* What an access writes: a value of its own, or one more than it found. */
static uint32_t own_value(uint32_t step, uint32_t invocation) {
    return 1 + step * INVOCATIONS + invocation;
}

static uint32_t below(vy_random *random, uint32_t bound) {
    return (uint32_t)vy_random_below(random, bound);
}

static uint32_t some_of(vy_random *random, uint32_t of) {
    return (uint32_t)vy_random_next(random) & of;
}

static uint32_t one_of(vy_random *random, uint32_t of) {
    uint32_t skip = below(random, (uint32_t)__builtin_popcount(of));
    while (skip--)
        of &= of - 1;
    return of & -of;
}

static uint32_t everyone(const pattern *p) {
    return (uint32_t)((UINT64_C(1) << p->groups * p->size) - 1);
}

static step *add_step(pattern *p, step_kind kind) {
    step *s = &p->steps[p->count++];
    *s = (step){.kind = kind, .after = -1};
    return s;
}

static void draw_order(vy_random *random, step *s) {
    uint32_t strong = below(random, 4);
    s->acquires = s->op >= OP_LOAD && s->op != OP_STORE && strong >= 2;
    s->releases = s->op > OP_LOAD && strong % 2;
    s->scope = below(random, 5) ? VYRE_SCOPE_DEVICE : VYRE_SCOPE_WORKGROUP;
}

static void draw_access(vy_random *random, pattern *p) {
    static const access_op data_ops[] = {OP_READ, OP_READ,  OP_READ, OP_READ,     OP_WRITE,  OP_WRITE,
                                         OP_LOAD, OP_STORE, OP_ADD,  OP_EXCHANGE, OP_COMPARE};
    static const access_op flag_ops[] = {OP_LOAD, OP_LOAD, OP_STORE, OP_EXCHANGE, OP_COMPARE, OP_LOAD, OP_EXCHANGE};
    step *s = add_step(p, STEP_ACCESS);
    s->memory = (memory_kind)below(random, MEMORY_COUNT);
    s->element = below(random, ELEMENTS);
    s->who = one_of(random, everyone(p));
    if (below(random, 3) == 0)
        s->who |= some_of(random, everyone(p)) & some_of(random, everyone(p));
    if (s->memory <= MEMORY_DATA_ARRAY) {
        s->op = data_ops[below(random, sizeof data_ops / sizeof *data_ops)];
        s->scope = below(random, 4) ? VYRE_SCOPE_DEVICE : VYRE_SCOPE_WORKGROUP;
        return;
    }
    s->op = s->memory <= MEMORY_COUNTER_ARRAY ? (below(random, 3) ? OP_ADD : OP_LOAD)
                                              : flag_ops[below(random, sizeof flag_ops / sizeof *flag_ops)];
    if (s->memory >= MEMORY_FLAG && below(random, 24) == 0)
        s->op = below(random, 2) ? OP_READ : OP_WRITE;
    draw_order(random, s);
    s->expected = below(random, 2) ? 0 : 1 + below(random, p->count * INVOCATIONS);
}

/* Many invocations access an element, most of them release afterwards, and one that acquired from some of them
 * accesses it too. */
static void draw_episode(vy_random *random, pattern *p) {
    static const access_op before[] = {OP_READ, OP_READ, OP_READ, OP_LOAD, OP_ADD, OP_WRITE},
                           after[] = {OP_WRITE, OP_WRITE, OP_ADD, OP_READ};
    memory_kind array = (memory_kind)(below(random, 3) == 0);
    uint32_t element = below(random, ELEMENTS), readers = some_of(random, everyone(p)) | one_of(random, everyone(p)),
             quiet = below(random, 2) ? one_of(random, readers) : 0;
    vyre_scope scope = below(random, 8) ? VYRE_SCOPE_DEVICE : VYRE_SCOPE_WORKGROUP;
    step *s = add_step(p, STEP_ACCESS);
    *s = (step){.who = readers,
                .memory = MEMORY_DATA + array,
                .element = element,
                .op = before[below(random, sizeof before / sizeof *before)],
                .scope = scope,
                .after = -1};
    if (s->op == OP_WRITE)
        s->who = readers = one_of(random, readers);
    memory_kind flag = MEMORY_COUNTER + array;
    uint32_t at = below(random, ELEMENTS), releasers = readers & ~quiet;
    s = add_step(p, STEP_ACCESS);
    *s = (step){.who = releasers,
                .memory = flag,
                .element = at,
                .op = OP_ADD,
                .acquires = below(random, 2) == 0,
                .releases = 1,
                .scope = VYRE_SCOPE_DEVICE,
                .after = -1};
    uint32_t last = one_of(random, everyone(p));
    s = add_step(p, STEP_ACCESS);
    *s = (step){.who = last,
                .memory = flag,
                .element = at,
                .op = OP_LOAD,
                .acquires = below(random, 8) != 0,
                .scope = VYRE_SCOPE_DEVICE,
                .after = -1};
    s = add_step(p, STEP_ACCESS);
    *s = (step){.who = last,
                .memory = MEMORY_DATA + array,
                .element = element,
                .op = after[below(random, sizeof after / sizeof *after)],
                .scope = scope,
                .after = (int)p->count - 2,
                .is_exactly = below(random, 4) == 0,
                .bound = below(random, 3) ? (uint32_t)__builtin_popcount(releasers) : below(random, 4)};
}

/* A message: a write, a release of a flag, perhaps an atomic of another invocation on the flag, an acquire, and a
 * read. */
static void draw_message(vy_random *random, pattern *p) {
    static const access_op releases[] = {OP_STORE, OP_EXCHANGE, OP_COMPARE},
                           between[] = {OP_STORE, OP_EXCHANGE, OP_COMPARE, OP_LOAD};
    memory_kind array = (memory_kind)(below(random, 3) == 0);
    uint32_t element = below(random, ELEMENTS), at = below(random, ELEMENTS), from = one_of(random, everyone(p)),
             to = one_of(random, everyone(p));
    step flag = {.memory = MEMORY_FLAG + array, .element = at, .scope = VYRE_SCOPE_DEVICE, .after = -1}, *s;
    *(s = add_step(p, STEP_ACCESS)) =
        (step){.who = from, .memory = MEMORY_DATA + array, .element = element, .op = OP_WRITE, .after = -1};
    *(s = add_step(p, STEP_ACCESS)) = flag;
    s->who = from;
    s->op = releases[below(random, 3)];
    s->releases = 1;
    if (below(random, 2)) {
        *(s = add_step(p, STEP_ACCESS)) = flag;
        s->who = one_of(random, everyone(p));
        s->op = between[below(random, 4)];
        s->expected = own_value(p->count - 2, (uint32_t)__builtin_ctz(from));
        draw_order(random, s);
        s->scope = VYRE_SCOPE_DEVICE;
    }
    *(s = add_step(p, STEP_ACCESS)) = flag;
    s->who = to;
    s->op = OP_LOAD;
    s->acquires = 1;
    *(s = add_step(p, STEP_ACCESS)) = (step){.who = to,
                                             .memory = MEMORY_DATA + array,
                                             .element = element,
                                             .op = OP_READ,
                                             .after = (int)p->count - 2,
                                             .bound = 1};
}

static pattern draw(vy_random *random) {
    static const uint32_t shapes[][2] = {{1, 32}, {1, 8}, {1, 16}, {2, 8}, {2, 16},
                                         {4, 8},  {4, 4}, {8, 2},  {3, 5}, {4, 1}};
    uint32_t shape = below(random, sizeof shapes / sizeof *shapes);
    pattern p = {.groups = shapes[shape][0], .size = shapes[shape][1]};
    uint32_t steps = 4 + below(random, MAX_STEPS - 8), noise = 1 + below(random, 4);
    while (p.count < steps) {
        uint32_t what = below(random, 12);
        if (what == 0)
            add_step(&p, below(random, 2) ? STEP_GRID_BARRIER : STEP_BARRIER);
        else if (what == 1)
            add_step(&p, STEP_GROUP_BARRIER)->who = below(random, p.groups);
        else if (what < 2 + 2 * noise)
            draw_access(random, &p);
        else
            (below(random, 3) ? draw_episode : draw_message)(random, &p);
        step *s = &p.steps[p.count - 1];
        /* Conditions on any earlier synchronisation. */
        if (s->kind == STEP_ACCESS && s->after < 0 && p.count > 1 && below(random, 3) == 0) {
            uint32_t j = below(random, p.count - 1);
            if (p.steps[j].kind == STEP_ACCESS && p.steps[j].memory >= MEMORY_COUNTER) {
                s->who |= one_of(random, p.steps[j].who ? p.steps[j].who : 1);
                s->after = (int)j;
                s->bound = below(random, 3);
                s->is_exactly = below(random, 2) == 0;
            }
        }
    }
    return p;
}

/* ---- the program ---- */

static const char *order_of(const step *s) {
    return s->acquires ? (s->releases ? "acq_rel" : "acquire") : s->releases ? "release" : "relaxed";
}

static size_t write_access(const pattern *p, uint32_t k, char *text, size_t room) {
    const step *s = &p->steps[k];
    char how[32], place[16], condition[64] = "";
    int finds = s->op != OP_WRITE && s->op != OP_STORE;
    snprintf(how, sizeof how, is_array(s->memory) ? "<%s>" : "<%s, %s>", order_of(s),
             s->scope == VYRE_SCOPE_DEVICE ? "device" : "workgroup");
    snprintf(place, sizeof place, "%s[%u]", memory_names[s->memory], s->element);
    if (s->after >= 0)
        snprintf(condition, sizeof condition, " && done%d && t%d %s %u", s->after, s->after,
                 s->is_exactly ? "==" : ">=", s->bound);
    size_t used = (size_t)snprintf(text, room, "var t%u = 0u32\nvar done%u = false\nif (m[%u] >> i & 1) == 1%s {\n", k,
                                   k, k, condition);
#define ADD(...) used += (size_t)snprintf(text + used, room - used, __VA_ARGS__)
    switch (s->op) {
    case OP_READ:
        ADD("let o = %s\n", place);
        break;
    case OP_WRITE:
        ADD("%s = %u + i\n", place, own_value(k, 0));
        break;
    case OP_LOAD:
        ADD("let o = atomic_load%s(%s)\n", how, place);
        break;
    case OP_STORE:
        ADD("atomic_store%s(%s, %u + i)\n", how, place, own_value(k, 0));
        break;
    case OP_ADD:
        ADD("let o = atomic_add%s(%s, 1)\n", how, place);
        break;
    case OP_EXCHANGE:
        ADD("let o = atomic_exchange%s(%s, %u + i)\n", how, place, own_value(k, 0));
        break;
    case OP_COMPARE:
        ADD("let o = atomic_compare_exchange%s(%s, %u, %u + i)\n", how, place, s->expected, own_value(k, 0));
        break;
    }
    ADD("done%u = true\n", k);
    if (finds)
        ADD("t%u = o\nr[%u + i] = o\n", k, k * INVOCATIONS);
    ADD("}\n");
#undef ADD
    return used;
}

static void write_program(const pattern *p, char *text, uint32_t *masks) {
    size_t used = (size_t)snprintf(
        text, TEXT,
        "program p {\nbuffer m : u32 read\nbuffer a : u32 read_write count 2\nbuffer c : u32 read_write count 2\n"
        "buffer s : u32 read_write count 2\nbuffer r : u32 write count %u\nworkgroup %u\ngrid %u\narray w : u32 [2] "
        "workgroup\narray d : u32 [2] workgroup\narray v : u32 [2] workgroup\nlet i = global_id.x\n",
        MAX_STEPS * INVOCATIONS, p->size, p->groups);
    for (uint32_t k = 0; k < p->count; k++) {
        const step *s = &p->steps[k];
        masks[k] = s->who;
        if (s->kind == STEP_ACCESS)
            used += write_access(p, k, text + used, TEXT - used);
        else if (s->kind == STEP_GROUP_BARRIER)
            used += (size_t)snprintf(text + used, TEXT - used, "if group_id.x == %u { barrier }\n", s->who);
        else
            used += (size_t)snprintf(text + used, TEXT - used, "%s\n",
                                     s->kind == STEP_BARRIER ? "barrier" : "grid_barrier");
    }
    snprintf(text + used, TEXT - used, "}\n");
}

/* ---- the model ---- */

/* An access, or a barrier of a workgroup (invocation NONE) or of the grid (group NONE too). */
#define NONE UINT32_MAX
typedef struct event {
    const step *step;
    uint32_t at, invocation, group;
    uint32_t found, wrote; /* accesses: values, where they read or write */
    int reads, writes;
} event;

typedef struct model {
    event events[MAX_EVENTS];
    uint32_t count;
    uint64_t before[MAX_EVENTS][WORDS]; /* before[b] has a: a happens before b */
    uint32_t numbers[MAX_STEPS][INVOCATIONS];
} model;
static model m;

static int happens_before(uint32_t a, uint32_t b) {
    return m.before[b][a / 64] >> a % 64 & 1;
}

static void order(uint32_t a, uint32_t b) {
    m.before[b][a / 64] |= UINT64_C(1) << a % 64;
}

static int takes_part(const pattern *p, uint32_t k, uint32_t i, const uint32_t *results) {
    const step *s = &p->steps[k];
    if (!(s->who >> i & 1))
        return 0;
    if (s->after < 0)
        return 1;
    const step *other = &p->steps[s->after];
    int finds = other->op != OP_WRITE && other->op != OP_STORE;
    uint32_t result = finds ? results[(uint32_t)s->after * INVOCATIONS + i] : 0;
    return takes_part(p, (uint32_t)s->after, i, results) && (s->is_exactly ? result == s->bound : result >= s->bound);
}

static void add_event(event e) {
    assert_true(m.count < MAX_EVENTS);
    m.events[m.count++] = e;
}

static void list_events(const pattern *p, const uint32_t *results) {
    m.count = 0;
    for (uint32_t k = 0; k < p->count; k++) {
        const step *s = &p->steps[k];
        if (s->kind == STEP_GRID_BARRIER)
            add_event((event){.step = s, .at = k, .invocation = NONE, .group = NONE});
        for (uint32_t g = 0; g < p->groups; g++)
            if (s->kind == STEP_BARRIER || (s->kind == STEP_GROUP_BARRIER && s->who == g))
                add_event((event){.step = s, .at = k, .invocation = NONE, .group = g});
        for (uint32_t i = 0; s->kind == STEP_ACCESS && i < p->groups * p->size; i++) {
            if (!takes_part(p, k, i, results))
                continue;
            event e = {.step = s, .at = k, .invocation = i, .group = i / p->size};
            e.reads = s->op != OP_WRITE && s->op != OP_STORE;
            e.found = e.reads ? results[k * INVOCATIONS + i] : 0;
            e.writes = s->op != OP_READ && s->op != OP_LOAD && (s->op != OP_COMPARE || e.found == s->expected);
            e.wrote = s->op == OP_ADD ? e.found + 1 : own_value(k, i);
            add_event(e);
        }
    }
}

static int same_element(const event *a, const event *b) {
    return a->step->memory == b->step->memory && a->step->element == b->step->element &&
           (!is_array(a->step->memory) || a->group == b->group);
}

static int is_atomic(const event *e) {
    return e->step->op >= OP_LOAD;
}

static int reaches(const event *a, const event *b) {
    return a->group == b->group || a->step->scope == VYRE_SCOPE_DEVICE;
}

/* The event that wrote what `e` found; NONE: what was there at the start. */
static uint32_t writer_of(const event *e) {
    for (uint32_t x = 0; x < m.count; x++)
        if (m.events[x].invocation != NONE && m.events[x].writes && same_element(&m.events[x], e) &&
            m.events[x].wrote == e->found)
            return x;
    return NONE;
}

/* An acquire is after every release of the release sequence it reads from: the write it found and, as long as those
 * are read-modify-writes, the ones that they found. */
static void order_acquire(uint32_t a) {
    const event *e = &m.events[a];
    for (uint32_t x = writer_of(e); x != NONE;) {
        const event *release = &m.events[x];
        if (release->step->releases && reaches(release, e) && reaches(e, release))
            order(x, a);
        if (!release->reads)
            return;
        x = writer_of(release);
    }
}

static void build_order(void) {
    memset(m.before, 0, m.count * sizeof *m.before);
    for (uint32_t b = 0; b < m.count; b++) {
        const event *eb = &m.events[b];
        for (uint32_t a = 0; a < b; a++) {
            const event *ea = &m.events[a];
            int is_barrier = ea->invocation == NONE || eb->invocation == NONE;
            int is_of_group = ea->group == eb->group || ea->group == NONE || eb->group == NONE;
            if (ea->at < eb->at && (is_barrier ? is_of_group : ea->invocation == eb->invocation))
                order(a, b);
        }
        if (eb->invocation != NONE && is_atomic(eb) && eb->step->memory >= MEMORY_COUNTER && eb->step->acquires)
            order_acquire(b);
    }
    uint32_t words = (m.count + 63) / 64;
    for (uint32_t k = 0; k < m.count; k++)
        for (uint32_t b = 0; b < m.count; b++)
            if (happens_before(k, b))
                for (uint32_t w = 0; w < words; w++)
                    m.before[b][w] |= m.before[k][w];
}

/* A compare_exchange that fails is still one that may write: no schedule is proved by it. */
static int may_write(const event *e) {
    return e->step->op != OP_READ && e->step->op != OP_LOAD;
}

static int conflict(const event *a, const event *b) {
    if (a->invocation == b->invocation || !same_element(a, b) || !(may_write(a) || may_write(b)))
        return 0;
    if (is_atomic(a) && is_atomic(b))
        return !reaches(a, b) || !reaches(b, a);
    return 1;
}

/* races[memory][element]: bit 0, two invocations of a workgroup race; bit 1, of two workgroups. */
typedef struct verdict {
    unsigned races[MEMORY_COUNT][ELEMENTS];
    int any, has_flag_race; /* … on an element that is meant to synchronise: what it orders is open then */
} verdict;

static void judge(const pattern *p, const uint32_t *results, verdict *v) {
    memset(v, 0, sizeof *v);
    list_events(p, results);
    build_order();
    for (uint32_t b = 0; b < m.count; b++)
        for (uint32_t a = 0; a < b; a++) {
            const event *ea = &m.events[a], *eb = &m.events[b];
            if (ea->invocation == NONE || eb->invocation == NONE || !conflict(ea, eb) || happens_before(a, b) ||
                happens_before(b, a))
                continue;
            v->races[ea->step->memory][ea->step->element] |= ea->group == eb->group ? 1 : 2;
            v->any = 1;
            v->has_flag_race |= ea->step->memory >= MEMORY_COUNTER;
        }
}

/* ---- the comparison ---- */

static void compare(trial *t, const verdict *v, const char *text) {
    verdict found = {0};
    size_t count = vyre_diagnostics_count(t->findings);
    for (size_t i = 0; i < count; i++) {
        const vyre_diagnostic *finding = vyre_diagnostics_get(t->findings, i);
        for (memory_kind k = 0; k < MEMORY_COUNT; k++)
            if (finding->message[1] == *memory_names[k])
                found.races[k][finding->message[3] - '0'] |= strcmp(finding->code, "R001") == 0 ? 1 : 2;
    }
    if (v->has_flag_race) {
        for (memory_kind k = MEMORY_COUNTER; k < MEMORY_COUNT; k++)
            for (uint32_t e = 0; e < ELEMENTS; e++)
                found.has_flag_race |= found.races[k][e] != 0;
        if (!found.has_flag_race)
            fail_msg("seed %llu misses a race on a flag\n%s", (unsigned long long)t->options.seed, text);
        return;
    }
    for (memory_kind k = 0; k < MEMORY_COUNT; k++)
        for (uint32_t e = 0; e < ELEMENTS; e++) {
            unsigned races = v->races[k][e], reported = found.races[k][e];
            int missed = races && !reported && count < MAX_FINDINGS, invented = (reported & ~races) != 0;
            if (!missed && !invented)
                continue;
            trial_show(t->findings);
            printf("%s\n", text); /* too long for a message of cmocka */
            fail_msg("seed %llu %s a race on %s[%u]", (unsigned long long)t->options.seed,
                     missed ? "misses" : "invents", memory_names[k], e);
        }
}

static void exactly_the_racy_elements_are_reported(void **state) {
    (void)state;
    unsigned cases = 3000 * vy_test_effort() / (VY_SANITIZED ? 6 : 1), runs = 0, racy = 0, flags = 0;
    static const uint32_t zeros[ELEMENTS] = {0};
    static char text[TEXT];
    vy_random random = vy_random_start(2);
    for (unsigned k = 0; k < cases; k++) {
        pattern p = draw(&random);
        uint32_t masks[MAX_STEPS] = {0};
        trial t;
        write_program(&p, text, masks);
        trial_open(&t, text);
        trial_input(&t, masks, sizeof masks);
        for (int i = 0; i < 3; i++)
            trial_input(&t, zeros, sizeof zeros);
        for (uint64_t seed = 0; seed < 4; seed++) {
            verdict v;
            t.options = (vyre_oracle_options){.checks = VYRE_CHECK_RACES, .seed = seed ? k * 4 + seed : 0};
            trial_run(&t);
            if (t.status != VYRE_OK && t.status != VYRE_CHECK_FAILED)
                fail_msg("%s: %s\n%s", vyre_status_name(t.status), t.error.message, text);
            judge(&p, trial_u32(&t, 3), &v);
            compare(&t, &v, text);
            runs++;
            racy += v.any;
            flags += v.has_flag_race;
        }
        trial_close(&t);
    }
    /* Both verdicts must be common, or one of them is hardly tested; what is judged in full must be most. */
    if (racy < runs / 5 || racy > runs - runs / 5 || flags > runs / 3)
        fail_msg("%u of %u runs are racy, %u on a flag", racy, runs, flags);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exactly_the_racy_elements_are_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
