/* The protocol of base/hazard.h, tried in every interleaving.
 *
 * Each thread is a small machine whose every step touches shared memory once. Stores that the code makes without a
 * locked instruction go into a store buffer of the thread first, as on x86 (TSO), and reach memory at any later moment;
 * locked operations wait until it is empty. membarrier is not one moment: each thread passes its barrier some time
 * between the call and the return. Replaced objects are freed and their addresses used again. All states that can be
 * reached are visited, and in each of them
 *   - an object that a reader has pinned is not freed, and none is freed twice;
 *   - when all threads have ended, whatever is not current is free.
 * Then one rule of the protocol is left out at a time, and the search must find what goes wrong: so it can find it. */
#include "base/string.h"
#include "support/test.h"

enum { THREADS = 3, OBJECTS = 4, SLOTS = 2 * THREADS, BUFFER = 4 };
enum { NONE = 0 }; /* objects are 1 … OBJECTS-1 */

/* Rules that can be left out. */
enum {
    NO_CONFIRMATION = 1,       /* the second load of `current` */
    NO_BARRIER = 2,            /* membarrier */
    NO_LOOK_AFTER_RELEASE = 4, /* the load of `current` after a slot is cleared */
    NO_LOOK_AFTER_FAILURE = 8, /* reclaiming after a pin that was not confirmed */
    COUNTS_BEFORE_SLOTS = 16,  /* the order in which a writer reads */
    NO_WORD_LEFT = 32,         /* `wanted` */
    COUNT_UNCONFIRMED = 64,    /* counting before the second load */
    READER_FENCES = 128,       /* not a bug: readers use locked stores and there is no membarrier */
};

/* What threads do. */
typedef enum role { IDLE, READER, COUNTER, GIVER, TAKER, WRITER } role;

typedef enum step {
    /* A reader: find a slot, pin, confirm, use, clear, look. */
    R_FIND,
    R_LOAD,
    R_SET,
    R_CONFIRM,
    R_USE,
    R_CLEAR,
    R_LOOK,
    R_FAILED,
    /* A reader that counts. */
    C_LOAD,
    C_CLAIM,
    C_CONFIRM,
    C_COUNT,
    C_UNCLAIM,
    C_USE,
    C_UNCOUNT,
    C_LOOK,
    C_FAILED,
    /* Handing a pin to another thread, which uses and releases it. */
    G_GIVE,
    T_TAKE,
    /* Replacing. */
    W_PUBLISH,
    W_PUSH,
    /* vy_hazard_reclaim. */
    X_ASK,
    X_ASKED,
    X_ENTER,
    X_ANSWER,
    X_TAKE,
    X_WAIT,
    X_QUICK,
    X_SLOT,
    X_COUNT,
    X_LEAVE,
    X_FREE,
    NEXT_ROUND,
    ENDED
} step;

typedef struct thread {
    uint8_t at, back; /* step, and where to go on after reclaiming */
    uint8_t rounds;   /* left */
    uint8_t object, slot, pinned;
    uint8_t fresh, dead, index, look; /* while reclaiming */
    uint8_t buffered, buffer_slot[BUFFER], buffer_value[BUFFER];
} thread;

typedef struct state {
    uint8_t current, wanted, busy, retired, waiting, freed, pending, handed, handed_slot;
    uint8_t slots[SLOTS], shared[THREADS], holds[OBJECTS];
    thread threads[THREADS];
} state;

typedef enum verdict { FINE, USED_AFTER_FREE, FREED_TWICE, LEAKED, STUCK, VERDICTS } verdict;
static const char *const verdict_names[VERDICTS] = {"fine", "used after free", "freed twice", "leaked", "stuck"};

static unsigned rules_left_out;
static const role *roles;
/* Which slots and counts the threads of a scenario can ever use: the rest is not looked at, which spares states and
 * hides nothing. */
static uint8_t used_slots[SLOTS + THREADS], used_slot_count, counts_used;

static int left_out(unsigned rule) {
    return (rules_left_out & rule) != 0;
}

/* ---- memory ---- */

static uint8_t load_slot(const state *s, const thread *t, uint8_t slot) {
    for (int i = t->buffered; i-- > 0;)
        if (t->buffer_slot[i] == slot)
            return t->buffer_value[i];
    return s->slots[slot];
}

/* Whether the step can be taken now. */
static int store_slot(state *s, thread *t, uint8_t slot, uint8_t value) {
    if (left_out(READER_FENCES)) {
        if (t->buffered)
            return 0;
        s->slots[slot] = value;
        return 1;
    }
    if (t->buffered == BUFFER)
        return 0;
    t->buffer_slot[t->buffered] = slot;
    t->buffer_value[t->buffered++] = value;
    return 1;
}

static void flush_one(state *s, thread *t) {
    s->slots[t->buffer_slot[0]] = t->buffer_value[0];
    t->buffered--;
    for (int i = 0; i < BUFFER - 1; i++) {
        t->buffer_slot[i] = t->buffer_slot[i + 1];
        t->buffer_value[i] = t->buffer_value[i + 1];
    }
    t->buffer_slot[BUFFER - 1] = t->buffer_value[BUFFER - 1] = 0;
}

/* ---- steps ---- */

static void go(thread *t, step at) {
    t->at = (uint8_t)at;
}

static const step first_steps[] = {
    [IDLE] = ENDED, [READER] = R_LOAD, [COUNTER] = C_LOAD, [GIVER] = R_FIND, [TAKER] = T_TAKE, [WRITER] = W_PUBLISH};

/* Steps that touch nothing shared are part of the one before. */
static void next_round(thread *t, unsigned self) {
    t->object = t->slot = t->back = 0;
    go(t, t->rounds ? first_steps[roles[self]] : ENDED);
    t->rounds = (uint8_t)(t->rounds ? t->rounds - 1 : 0);
    if (t->at == R_LOAD)
        t->slot = (uint8_t)(2 * self);
}

static void go_back(thread *t, unsigned self) {
    if (t->back == NEXT_ROUND)
        next_round(t, self);
    else
        go(t, (step)t->back);
}

static void reclaim_then(thread *t, step back) {
    t->back = (uint8_t)back;
    go(t, X_ASK);
}

static verdict use(const state *s, const thread *t) {
    return s->freed & 1u << t->object ? USED_AFTER_FREE : FINE;
}

/* Steps of readers. Gives 0 if the step has to wait. */
static int step_reader(state *s, thread *t, unsigned self, verdict *v) {
    switch ((step)t->at) {
    case R_FIND: /* its first slot may still be held by whoever took over an earlier pin */
        t->slot = (uint8_t)(2 * self + (load_slot(s, t, (uint8_t)(2 * self)) != NONE));
        go(t, R_LOAD);
        return 1;
    case R_LOAD:
        t->object = s->current;
        go(t, R_SET);
        return 1;
    case R_SET:
        if (!store_slot(s, t, t->slot, t->object))
            return 0;
        go(t, R_CONFIRM);
        return 1;
    case R_CONFIRM:
        if (!left_out(NO_CONFIRMATION) && s->current != t->object) {
            go(t, R_FAILED);
            return 1;
        }
        t->pinned = t->object;
        go(t, roles[self] == GIVER ? G_GIVE : R_USE);
        return 1;
    case R_FAILED:
        if (!store_slot(s, t, t->slot, NONE))
            return 0;
        if (left_out(NO_LOOK_AFTER_FAILURE))
            go(t, R_LOAD);
        else
            reclaim_then(t, R_LOAD);
        return 1;
    case R_USE:
        *v = use(s, t);
        go(t, R_CLEAR);
        return 1;
    case R_CLEAR:
        if (!store_slot(s, t, t->slot, NONE))
            return 0;
        t->pinned = NONE;
        go(t, R_LOOK);
        return 1;
    case R_LOOK:
        if (s->current != t->object && !left_out(NO_LOOK_AFTER_RELEASE))
            reclaim_then(t, NEXT_ROUND);
        else
            next_round(t, self);
        return 1;
    case G_GIVE: /* through a queue: a locked operation */
        if (t->buffered || s->handed)
            return 0;
        s->handed = t->object;
        s->handed_slot = t->slot;
        t->pinned = NONE;
        next_round(t, self);
        return 1;
    case T_TAKE:
        if (t->buffered || !s->handed)
            return 0;
        t->object = t->pinned = s->handed;
        t->slot = s->handed_slot;
        s->handed = NONE;
        go(t, R_USE);
        return 1;
    default:
        return 0;
    }
}

/* A reader that counts: every store is locked. */
static int step_counter(state *s, thread *t, unsigned self, verdict *v) {
    switch ((step)t->at) {
    case C_LOAD:
        t->object = s->current;
        go(t, C_CLAIM);
        return 1;
    case C_CLAIM:
        s->shared[self] = t->object;
        go(t, left_out(COUNT_UNCONFIRMED) ? C_COUNT : C_CONFIRM);
        return 1;
    case C_CONFIRM:
        go(t, s->current == t->object ? C_COUNT : C_FAILED);
        return 1;
    case C_FAILED:
        s->shared[self] = NONE;
        reclaim_then(t, C_LOAD);
        return 1;
    case C_COUNT:
        *v = use(s, t);
        s->holds[t->object]++;
        t->pinned = t->object;
        go(t, C_UNCLAIM);
        return 1;
    case C_UNCLAIM:
        s->shared[self] = NONE;
        go(t, C_USE);
        return 1;
    case C_USE:
        *v = use(s, t);
        go(t, C_UNCOUNT);
        return 1;
    case C_UNCOUNT:
        *v = use(s, t);
        s->holds[t->object]--;
        t->pinned = NONE;
        go(t, C_LOOK);
        return 1;
    case C_LOOK:
        if (s->current != t->object && !left_out(NO_LOOK_AFTER_RELEASE))
            reclaim_then(t, NEXT_ROUND);
        else
            next_round(t, self);
        return 1;
    default:
        return 0;
    }
}

/* A new object: an address that was never used or is free again. */
static uint8_t allocate(state *s) {
    for (uint8_t object = 1; object < OBJECTS; object++)
        if (s->freed & 1u << object) {
            s->freed = (uint8_t)(s->freed & ~(1u << object));
            return object;
        }
    return NONE;
}

static int step_writer(state *s, thread *t) {
    if (t->at == W_PUBLISH) {
        uint8_t next = allocate(s);
        if (next == NONE)
            return 0; /* memory comes back when a reader lets go */
        t->object = s->current;
        s->current = next;
        go(t, W_PUSH);
        return 1;
    }
    s->retired |= (uint8_t)(1u << t->object);
    reclaim_then(t, NEXT_ROUND);
    return 1;
}

/* ---- reclaiming ---- */

static int nobody_pins(const state *s, unsigned objects) {
    for (int i = 0; i < THREADS; i++)
        if (s->threads[i].pinned && objects & 1u << s->threads[i].pinned)
            return 0;
    return !(s->handed && objects & 1u << s->handed);
}

static void look_at_next(const state *s, thread *t) {
    while (t->index < OBJECTS && !(s->waiting & 1u << t->index))
        t->index++;
    t->look = 0;
    go(t, t->index == OBJECTS ? X_LEAVE : counts_used ? X_QUICK : X_SLOT);
}

static void decide(const state *s, thread *t, int dead) {
    if (dead)
        t->dead |= (uint8_t)(1u << t->index);
    t->index++;
    look_at_next(s, t);
}

/* Looking at one waiting object: the count (only to spare the search), each slot, the count. */
static void step_look(const state *s, thread *t) {
    if (t->at == X_QUICK || t->at == X_COUNT) {
        if (s->holds[t->index] || t->at == X_COUNT)
            decide(s, t, s->holds[t->index] == 0);
        else
            go(t, X_SLOT);
        return;
    }
    uint8_t slot = used_slots[t->look];
    uint8_t value = slot < SLOTS ? load_slot(s, t, slot) : s->shared[slot - SLOTS];
    if (value == t->index)
        decide(s, t, 0);
    else if (++t->look < used_slot_count)
        return;
    else if (counts_used && !left_out(COUNTS_BEFORE_SLOTS))
        go(t, X_COUNT);
    else
        decide(s, t, 1);
}

static void free_dead(state *s, thread *t, verdict *v) {
    if (s->freed & t->dead)
        *v = FREED_TWICE;
    else if (!nobody_pins(s, t->dead))
        *v = USED_AFTER_FREE;
    s->freed |= t->dead;
    t->fresh = t->dead = t->index = t->look = 0;
}

static int step_reclaim(state *s, thread *t, unsigned self, verdict *v) {
    switch ((step)t->at) {
    case X_ASK:
        s->wanted = 1;
        go(t, X_ASKED);
        return 1;
    case X_ASKED:
        if (s->wanted)
            go(t, X_ENTER);
        else
            go_back(t, self);
        return 1;
    case X_ENTER:
        if (s->busy)
            go_back(t, self);
        else
            go(t, X_ANSWER);
        s->busy = 1;
        return 1;
    case X_ANSWER:
        s->wanted = 0;
        go(t, X_TAKE);
        return 1;
    case X_TAKE:
        t->fresh = s->retired;
        s->retired = 0;
        t->index = 1;
        if (t->fresh && !left_out(NO_BARRIER | READER_FENCES)) {
            s->pending = (uint8_t)(((1u << THREADS) - 1) & ~(1u << self));
            go(t, X_WAIT);
            return 1;
        }
        s->waiting |= t->fresh;
        look_at_next(s, t);
        return 1;
    case X_WAIT:
        if (s->pending)
            return 0;
        s->waiting |= t->fresh;
        look_at_next(s, t);
        return 1;
    case X_QUICK:
    case X_SLOT:
    case X_COUNT:
        step_look(s, t);
        return 1;
    case X_LEAVE:
        s->waiting = (uint8_t)(s->waiting & ~t->dead);
        s->busy = 0;
        go(t, t->dead ? X_FREE : X_ASKED);
        if (t->at == X_ASKED)
            free_dead(s, t, v);
        break;
    default: /* X_FREE */
        free_dead(s, t, v);
        go(t, X_ASKED);
    }
    if (t->at == X_ASKED && left_out(NO_WORD_LEFT))
        go_back(t, self);
    return 1;
}

/* Steps that are one locked operation wait for the thread's own stores. Loads do not. */
static int is_locked(uint8_t at) {
    switch ((step)at) {
    case C_CLAIM:
    case C_FAILED:
    case C_COUNT:
    case C_UNCLAIM:
    case C_UNCOUNT:
    case W_PUBLISH:
    case W_PUSH:
    case X_ASK:
    case X_ENTER:
    case X_ANSWER:
    case X_TAKE:
    case X_LEAVE:
        return 1;
    default:
        return 0;
    }
}

static int take_step(state *s, unsigned self, verdict *v) {
    thread *t = &s->threads[self];
    *v = FINE;
    if (t->at == ENDED || (is_locked(t->at) && t->buffered))
        return 0;
    if (t->at >= X_ASK)
        return step_reclaim(s, t, self, v);
    if (t->at >= W_PUBLISH)
        return step_writer(s, t);
    if (t->at >= C_LOAD && t->at <= C_FAILED)
        return step_counter(s, t, self, v);
    return step_reader(s, t, self, v);
}

/* ---- the search ---- */

typedef struct search {
    state *states; /* every one that was reached; those from `next` on are not looked at yet */
    uint32_t *slots;
    size_t count, capacity, next, slot_count;
} search;

static uint64_t hash_state(const state *s) {
    return vy_hash(s, sizeof *s);
}

static void insert_slot(search *search, uint32_t index) {
    size_t slot = (size_t)hash_state(&search->states[index]) & (search->slot_count - 1);
    while (search->slots[slot])
        slot = (slot + 1) & (search->slot_count - 1);
    search->slots[slot] = index + 1;
}

static void grow(search *search) {
    if (search->count == search->capacity) {
        search->capacity = search->capacity ? search->capacity * 2 : 1 << 16;
        search->states = realloc(search->states, search->capacity * sizeof *search->states);
        assert_non_null(search->states);
    }
    if (2 * search->count < search->slot_count)
        return;
    search->slot_count = search->slot_count ? search->slot_count * 2 : 1 << 18;
    free(search->slots);
    search->slots = calloc(search->slot_count, sizeof *search->slots);
    assert_non_null(search->slots);
    for (size_t i = 0; i < search->count; i++)
        insert_slot(search, (uint32_t)i);
}

static void reach(search *search, const state *s) {
    grow(search);
    size_t slot = (size_t)hash_state(s) & (search->slot_count - 1);
    for (; search->slots[slot]; slot = (slot + 1) & (search->slot_count - 1))
        if (memcmp(&search->states[search->slots[slot] - 1], s, sizeof *s) == 0)
            return;
    search->states[search->count] = *s;
    search->slots[slot] = (uint32_t)++search->count;
}

static int has_ended(const state *s) {
    for (int i = 0; i < THREADS; i++)
        if (s->threads[i].at != ENDED || s->threads[i].buffered)
            return 0;
    return 1;
}

static verdict judge_end(const state *s) {
    const unsigned all = (1u << OBJECTS) - 2;
    return (s->freed | 1u << s->current) == all && !s->retired && !s->waiting ? FINE : LEAKED;
}

/* All that can happen next in a state: a thread steps, a store reaches memory, a thread passes a barrier. */
static verdict expand(search *search, size_t index) {
    int moves = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        state next = search->states[index];
        verdict v;
        if (take_step(&next, i, &v)) {
            if (v != FINE)
                return v;
            reach(search, &next);
            moves++;
        }
        next = search->states[index];
        if (next.threads[i].buffered) {
            flush_one(&next, &next.threads[i]);
            reach(search, &next);
            moves++;
        }
        next = search->states[index];
        if (next.pending & 1u << i && !next.threads[i].buffered) {
            next.pending = (uint8_t)(next.pending & ~(1u << i));
            reach(search, &next);
            moves++;
        }
    }
    if (moves)
        return FINE;
    return has_ended(&search->states[index]) ? judge_end(&search->states[index]) : STUCK;
}

typedef struct scenario {
    const char *name;
    role roles[THREADS];
    uint8_t rounds[THREADS];
    uint8_t long_rounds[THREADS]; /* with more effort; none: the same */
} scenario;

static void choose_slots(void) {
    used_slot_count = counts_used = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        if (roles[i] == READER || roles[i] == GIVER)
            used_slots[used_slot_count++] = (uint8_t)(2 * i);
        if (roles[i] == GIVER)
            used_slots[used_slot_count++] = (uint8_t)(2 * i + 1);
        if (roles[i] == COUNTER)
            used_slots[used_slot_count++] = (uint8_t)(SLOTS + i);
        counts_used |= roles[i] == COUNTER;
    }
}

static verdict explore(const scenario *scenario, unsigned rules, size_t *states) {
    search search = {0};
    state start;
    verdict v = FINE;
    memset(&start, 0, sizeof start); /* states are compared as bytes */
    start.current = 1;
    start.freed = (1u << OBJECTS) - 4; /* all but the current one can be had */
    roles = scenario->roles;
    rules_left_out = rules;
    const int is_long = vy_test_effort() > 1 && scenario->long_rounds[0];
    for (int i = 0; i < THREADS; i++) {
        start.threads[i].rounds = is_long ? scenario->long_rounds[i] : scenario->rounds[i];
        next_round(&start.threads[i], (unsigned)i);
    }
    choose_slots();
    reach(&search, &start);
    while (v == FINE && search.next < search.count)
        v = expand(&search, search.next++);
    *states = search.count;
    free(search.states);
    free(search.slots);
    return v;
}

/* ---- claims ---- */

static const scenario two_readers = {
    "two readers, a pin or two each; two installs", {READER, READER, WRITER}, {2 - VY_SANITIZED, 1, 2}, {2, 2, 2}};
static const scenario counting = {
    "a reader and one that counts; two installs", {READER, COUNTER, WRITER}, {1, 1, 2}, {1, 2, 2}};
static const scenario both_count = {"two that count; two installs", {COUNTER, COUNTER, WRITER}, {1, 1, 2}, {0}};
static const scenario handed_on = {
    "pins handed to another thread; two installs", {GIVER, TAKER, WRITER}, {2, 2, 2}, {0}};
static const scenario two_writers = {"a reader; two writers", {READER, WRITER, WRITER}, {2, 1, 1}, {0}};
static const scenario many_installs = {"a reader; four installs", {READER, IDLE, WRITER}, {3, 0, 4}, {0}};

static void every_interleaving_is_safe_and_leaves_nothing(void **state_) {
    (void)state_;
    static const scenario *const scenarios[] = {&two_readers, &counting,    &both_count,
                                                &handed_on,   &two_writers, &many_installs};
    /* Under a sanitizer, which is for the code of the search and not for the model, the smaller ones. */
    for (size_t i = VY_SANITIZED ? 3 : 0; i < sizeof scenarios / sizeof *scenarios; i++)
        for (int fences = 0; fences < 2; fences++) {
            size_t states;
            verdict v = explore(scenarios[i], fences ? READER_FENCES : 0, &states);
            print_message("%-45s %-10s %8zu states: %s\n", scenarios[i]->name, fences ? "fences" : "membarrier", states,
                          verdict_names[v]);
            assert_int_equal(v, FINE);
        }
}

static void each_rule_is_needed(void **state_) {
    (void)state_;
    static const struct {
        const char *rule;
        unsigned bit;
        const scenario *scenario;
        verdict expected;
    } rows[] = {
        {"the second load of a pin", NO_CONFIRMATION, &two_readers, USED_AFTER_FREE},
        {"the barrier before slots are read", NO_BARRIER, &two_readers, USED_AFTER_FREE},
        {"the load after a release", NO_LOOK_AFTER_RELEASE, &two_readers, LEAKED},
        {"reclaiming after a failed pin", NO_LOOK_AFTER_FAILURE, &two_readers, LEAKED},
        {"slots before counts", COUNTS_BEFORE_SLOTS, &counting, USED_AFTER_FREE},
        {"word to whoever is busy", NO_WORD_LEFT, &two_readers, LEAKED},
        {"the second load before counting", COUNT_UNCONFIRMED, &counting, USED_AFTER_FREE},
        {"the barrier, with pins handed on", NO_BARRIER, &handed_on, USED_AFTER_FREE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t states;
        verdict v = explore(rows[i].scenario, rows[i].bit, &states);
        print_message("without %-40s %8zu states: %s\n", rows[i].rule, states, verdict_names[v]);
        assert_int_equal(v, rows[i].expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_interleaving_is_safe_and_leaves_nothing),
                                       cmocka_unit_test(each_rule_is_needed)};
    return cmocka_run_group_tests_name("model of reclamation", tests, NULL, NULL);
}
