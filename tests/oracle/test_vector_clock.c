/* What acquires, releases and barriers let invocations know. Workgroups have four invocations here: 0 … 3 are group 0.
 * */
#include "support/test.h"

#include "oracle/vector_clock.h"
#include "support/fault.h"

static void atomic_at(vy_vector_clocks *clocks, uint64_t invocation, uint32_t epoch, uint64_t element, vyre_order order,
                      vyre_scope scope, int is_store) {
    vy_vector_clock_event event = {.invocation = invocation,
                                   .group = invocation / 4,
                                   .epoch = epoch,
                                   .element = element,
                                   .scope = scope,
                                   .acquires = order == VYRE_ORDER_ACQUIRE || order == VYRE_ORDER_ACQ_REL,
                                   .releases = order == VYRE_ORDER_RELEASE || order == VYRE_ORDER_ACQ_REL,
                                   .replaces = is_store};
    vy_vector_clocks_atomic(clocks, &event);
}

static void release(vy_vector_clocks *clocks, uint64_t invocation, uint64_t element) {
    atomic_at(clocks, invocation, 0, element, VYRE_ORDER_RELEASE, VYRE_SCOPE_DEVICE, 1);
}

static void acquire(vy_vector_clocks *clocks, uint64_t invocation, uint64_t element) {
    atomic_at(clocks, invocation, 0, element, VYRE_ORDER_ACQUIRE, VYRE_SCOPE_DEVICE, 0);
}

/* Whether `who` knows an access that `other` made at its time, before any barrier. */
static int knows(vy_vector_clocks *clocks, uint64_t who, uint64_t other, uint32_t time) {
    return vy_vector_clocks_knows(clocks, who, who / 4, other, other / 4, time, 0);
}

static void an_acquire_knows_what_was_before_the_release(void **state) {
    (void)state;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 1 << 20);
    release(&clocks, 0, 5);
    assert_int_equal(vy_vector_clocks_time(&clocks, 0), 1);
    acquire(&clocks, 4, 5);
    assert_true(knows(&clocks, 4, 0, 0));
    assert_false(knows(&clocks, 4, 0, 1)); /* after the release */
    assert_false(knows(&clocks, 4, 1, 0)); /* another invocation */
    assert_false(knows(&clocks, 5, 0, 0)); /* who did not acquire */
    vy_vector_clocks_free(&clocks);
}

static void another_element_tells_nothing(void **state) {
    (void)state;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 1 << 20);
    release(&clocks, 0, 5);
    acquire(&clocks, 4, 6);
    assert_false(knows(&clocks, 4, 0, 0));
    vy_vector_clocks_free(&clocks);
}

static void knowledge_is_passed_on(void **state) {
    (void)state;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 1 << 20);
    release(&clocks, 0, 1);
    acquire(&clocks, 4, 1);
    release(&clocks, 4, 2);
    acquire(&clocks, 8, 2);
    assert_true(knows(&clocks, 8, 0, 0));
    assert_true(knows(&clocks, 8, 4, 0));
    vy_vector_clocks_free(&clocks);
}

static void a_barrier_shares_knowledge_in_the_workgroup(void **state) {
    (void)state;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 1 << 20);
    release(&clocks, 0, 1);
    acquire(&clocks, 4, 1);
    vy_vector_clocks_barrier(&clocks, 1, 4, 4);
    assert_true(knows(&clocks, 7, 0, 0));
    assert_false(knows(&clocks, 8, 0, 0));
    vy_vector_clocks_free(&clocks);
}

static void a_release_after_a_barrier_covers_the_workgroup_before_it(void **state) {
    (void)state;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 1 << 20);
    atomic_at(&clocks, 0, 3, 1, VYRE_ORDER_RELEASE, VYRE_SCOPE_DEVICE, 1);
    acquire(&clocks, 4, 1);
    assert_true(vy_vector_clocks_knows(&clocks, 4, 1, 2, 0, 0, 2));
    assert_false(vy_vector_clocks_knows(&clocks, 4, 1, 2, 0, 0, 3));
    vy_vector_clocks_free(&clocks);
}

static void workgroup_scope_stays_in_the_workgroup(void **state) {
    (void)state;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 1 << 20);
    atomic_at(&clocks, 0, 0, 1, VYRE_ORDER_RELEASE, VYRE_SCOPE_WORKGROUP, 1);
    acquire(&clocks, 4, 1);
    acquire(&clocks, 1, 1);
    assert_false(knows(&clocks, 4, 0, 0));
    assert_true(knows(&clocks, 1, 0, 0));
    vy_vector_clocks_free(&clocks);
}

static void an_acquire_of_workgroup_scope_does_not_reach_out(void **state) {
    (void)state;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 1 << 20);
    release(&clocks, 0, 1);
    atomic_at(&clocks, 4, 0, 1, VYRE_ORDER_ACQUIRE, VYRE_SCOPE_WORKGROUP, 0);
    assert_false(knows(&clocks, 4, 0, 0));
    vy_vector_clocks_free(&clocks);
}

static void a_relaxed_change_keeps_the_message_and_a_relaxed_store_ends_it(void **state) {
    (void)state;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 1 << 20);
    release(&clocks, 0, 1);
    atomic_at(&clocks, 4, 0, 1, VYRE_ORDER_RELAXED, VYRE_SCOPE_DEVICE, 0);
    acquire(&clocks, 8, 1);
    assert_true(knows(&clocks, 8, 0, 0));
    atomic_at(&clocks, 4, 0, 1, VYRE_ORDER_RELAXED, VYRE_SCOPE_DEVICE, 1);
    acquire(&clocks, 9, 1);
    assert_false(knows(&clocks, 9, 0, 0));
    vy_vector_clocks_free(&clocks);
}

/* ---- a model: every clock a plain array, every join in full ---- */

enum { INVOCATIONS = 24, GROUPS = INVOCATIONS / 4, ELEMENTS = 3, NUMBERS = INVOCATIONS + GROUPS };

typedef struct vector {
    uint32_t known[NUMBERS]; /* invocations, then workgroups */
    uint64_t owner;
} vector;

typedef struct model {
    vector invocations[INVOCATIONS], groups[GROUPS], messages[ELEMENTS][2];
    uint32_t times[INVOCATIONS], epochs[GROUPS];
} model;

static void add(vector *to, const vector *from) {
    for (int i = 0; i < NUMBERS; i++)
        if (to->known[i] < from->known[i])
            to->known[i] = from->known[i];
}

static void model_release(model *m, uint32_t who, vector *message) {
    add(message, &m->invocations[who]);
    add(message, &m->groups[who / 4]);
    message->known[who] = m->times[who] + 1;
    message->known[INVOCATIONS + who / 4] = m->epochs[who / 4];
}

static void model_atomic(model *m, uint32_t who, uint32_t element, vyre_order order, vyre_scope scope, int is_store) {
    vector *device = &m->messages[element][0], *group = &m->messages[element][1];
    if (order == VYRE_ORDER_ACQUIRE || order == VYRE_ORDER_ACQ_REL) {
        if (scope == VYRE_SCOPE_DEVICE)
            add(&m->invocations[who], device);
        if (group->owner == who / 4)
            add(&m->invocations[who], group);
    }
    if (is_store)
        memset(device->known, 0, sizeof device->known), memset(group->known, 0, sizeof group->known);
    if (order != VYRE_ORDER_RELEASE && order != VYRE_ORDER_ACQ_REL)
        return;
    if (scope == VYRE_SCOPE_DEVICE)
        model_release(m, who, device);
    if (group->owner != who / 4)
        *group = (vector){.owner = who / 4};
    model_release(m, who, group);
    m->times[who]++;
}

static void model_barrier(model *m, uint32_t group) {
    m->epochs[group]++;
    for (uint32_t i = group * 4; i < group * 4 + 4; i++) {
        add(&m->groups[group], &m->invocations[i]);
        memset(&m->invocations[i], 0, sizeof m->invocations[i]);
    }
}

static int model_knows(const model *m, uint32_t who, uint32_t other, uint32_t time, uint32_t epoch) {
    const vector *const both[] = {&m->invocations[who], &m->groups[who / 4]};
    for (int i = 0; i < 2; i++)
        if (both[i]->known[other] > time || both[i]->known[INVOCATIONS + other / 4] > epoch)
            return 1;
    return 0;
}

static uint64_t rolled;
static uint32_t roll(uint32_t bound) {
    rolled = rolled * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rolled >> 33) % bound;
}

static void step_both(vy_vector_clocks *clocks, model *m) {
    static const vyre_order orders[] = {VYRE_ORDER_RELAXED, VYRE_ORDER_ACQUIRE, VYRE_ORDER_RELEASE, VYRE_ORDER_ACQ_REL,
                                        VYRE_ORDER_ACQ_REL};
    uint32_t who = roll(INVOCATIONS), group = who / 4, element = roll(ELEMENTS);
    if (roll(12) == 0) {
        model_barrier(m, group);
        vy_vector_clocks_barrier(clocks, group, group * 4, 4);
        return;
    }
    vyre_order order = orders[roll(5)];
    vyre_scope scope = roll(4) ? VYRE_SCOPE_DEVICE : VYRE_SCOPE_WORKGROUP;
    int is_store = roll(16) == 0;
    model_atomic(m, who, element, order, scope, is_store);
    atomic_at(clocks, who, m->epochs[group], element, order, scope, is_store);
}

static void compare_both(vy_vector_clocks *clocks, const model *m, uint64_t seed) {
    for (uint32_t who = 0; who < INVOCATIONS; who++)
        for (uint32_t other = 0; other < INVOCATIONS; other++) {
            uint32_t time = roll(m->times[other] + 1), epoch = roll(m->epochs[other / 4] + 1);
            if (vy_vector_clocks_knows(clocks, who, who / 4, other, other / 4, time, epoch) !=
                model_knows(m, who, other, time, epoch))
                fail_msg("seed %llu: what %u knows of %u at time %u, epoch %u is wrong", (unsigned long long)seed, who,
                         other, time, epoch);
        }
}

static void clocks_agree_with_plain_vectors(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        static model m;
        vy_vector_clocks clocks;
        memset(&m, 0, sizeof m);
        vy_vector_clocks_start(&clocks, INVOCATIONS, 1 << 24);
        rolled = seed;
        for (int step = 0; step < 120; step++) {
            step_both(&clocks, &m);
            if (step % 8 == 0)
                compare_both(&clocks, &m, seed);
        }
        vy_vector_clocks_free(&clocks);
    }
}

/* ---- cost ---- */

/* Everyone passes on what all before it did, several times: in full vectors that is 8 GiB. */
static void a_long_chain_costs_little_for_each_link(void **state) {
    (void)state;
    enum { MANY = 32768, ROUNDS = 4 };
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, MANY, (uint64_t)MANY * 2048);
    for (int round = 0; round < ROUNDS; round++)
        for (uint64_t i = 0; i < MANY; i++)
            atomic_at(&clocks, i * 12289 % MANY, 0, 1, VYRE_ORDER_ACQ_REL, VYRE_SCOPE_DEVICE, 0);
    assert_int_equal(clocks.allowance.status, VYRE_OK);
    assert_true(knows(&clocks, 12289, 0, ROUNDS - 1));
    vy_vector_clocks_free(&clocks);
}

static void clocks_say_when_their_memory_is_used_up(void **state) {
    (void)state;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 4000);
    for (uint64_t i = 0; i < 200; i++)
        release(&clocks, i, i);
    assert_int_equal(clocks.allowance.status, VYRE_LIMIT);
    vy_vector_clocks_free(&clocks);
}

static vyre_status use_many(void *user) {
    (void)user;
    vy_vector_clocks clocks;
    vy_vector_clocks_start(&clocks, 200, 1 << 20);
    for (uint64_t i = 0; i < 100; i++) {
        release(&clocks, i, i % 7);
        acquire(&clocks, i + 1, i % 7);
    }
    vy_vector_clocks_barrier(&clocks, 3, 12, 4);
    vyre_status status = clocks.allowance.status;
    vy_vector_clocks_free(&clocks);
    return status;
}

static void clocks_survive_every_failed_allocation(void **state) {
    (void)state;
    VY_FAULT_LOOP(use_many, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_acquire_knows_what_was_before_the_release),
        cmocka_unit_test(another_element_tells_nothing),
        cmocka_unit_test(knowledge_is_passed_on),
        cmocka_unit_test(a_barrier_shares_knowledge_in_the_workgroup),
        cmocka_unit_test(a_release_after_a_barrier_covers_the_workgroup_before_it),
        cmocka_unit_test(workgroup_scope_stays_in_the_workgroup),
        cmocka_unit_test(an_acquire_of_workgroup_scope_does_not_reach_out),
        cmocka_unit_test(a_relaxed_change_keeps_the_message_and_a_relaxed_store_ends_it),
        cmocka_unit_test(clocks_agree_with_plain_vectors),
        cmocka_unit_test(a_long_chain_costs_little_for_each_link),
        cmocka_unit_test(clocks_say_when_their_memory_is_used_up),
        cmocka_unit_test(clocks_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
