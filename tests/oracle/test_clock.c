/* What acquires, releases and barriers let invocations know. Workgroups have four invocations here: 0 … 3 are group 0. */
#include "support/test.h"

#include "oracle/clock.h"
#include "support/fault.h"

static void atomic_at(vy_clocks *clocks, uint64_t invocation, uint32_t epoch, uint64_t element, vyre_order order,
                      vyre_scope scope, int is_store) {
    vy_clock_event event = {.invocation = invocation,
                            .group = invocation / 4,
                            .epoch = epoch,
                            .element = element,
                            .scope = scope,
                            .acquires = order == VYRE_ORDER_ACQUIRE || order == VYRE_ORDER_ACQ_REL,
                            .releases = order == VYRE_ORDER_RELEASE || order == VYRE_ORDER_ACQ_REL,
                            .replaces = is_store};
    vy_clocks_atomic(clocks, &event);
}

static void release(vy_clocks *clocks, uint64_t invocation, uint64_t element) {
    atomic_at(clocks, invocation, 0, element, VYRE_ORDER_RELEASE, VYRE_SCOPE_DEVICE, 1);
}

static void acquire(vy_clocks *clocks, uint64_t invocation, uint64_t element) {
    atomic_at(clocks, invocation, 0, element, VYRE_ORDER_ACQUIRE, VYRE_SCOPE_DEVICE, 0);
}

/* Whether `who` knows an access that `other` made at its time, before any barrier. */
static int knows(vy_clocks *clocks, uint64_t who, uint64_t other, uint32_t time) {
    return vy_clocks_knows(clocks, who, who / 4, other, other / 4, time, 0);
}

static void an_acquire_knows_what_was_before_the_release(void **state) {
    (void)state;
    vy_clocks clocks = {0};
    release(&clocks, 0, 5);
    assert_int_equal(vy_clocks_time(&clocks, 0), 1);
    acquire(&clocks, 4, 5);
    assert_true(knows(&clocks, 4, 0, 0));
    assert_false(knows(&clocks, 4, 0, 1)); /* after the release */
    assert_false(knows(&clocks, 4, 1, 0)); /* another invocation */
    assert_false(knows(&clocks, 5, 0, 0)); /* who did not acquire */
    vy_clocks_free(&clocks);
}

static void another_element_tells_nothing(void **state) {
    (void)state;
    vy_clocks clocks = {0};
    release(&clocks, 0, 5);
    acquire(&clocks, 4, 6);
    assert_false(knows(&clocks, 4, 0, 0));
    vy_clocks_free(&clocks);
}

static void knowledge_is_passed_on(void **state) {
    (void)state;
    vy_clocks clocks = {0};
    release(&clocks, 0, 1);
    acquire(&clocks, 4, 1);
    release(&clocks, 4, 2);
    acquire(&clocks, 8, 2);
    assert_true(knows(&clocks, 8, 0, 0));
    assert_true(knows(&clocks, 8, 4, 0));
    vy_clocks_free(&clocks);
}

static void a_barrier_shares_knowledge_in_the_workgroup(void **state) {
    (void)state;
    vy_clocks clocks = {0};
    release(&clocks, 0, 1);
    acquire(&clocks, 4, 1);
    vy_clocks_barrier(&clocks, 1, 4, 4);
    assert_true(knows(&clocks, 7, 0, 0));
    assert_false(knows(&clocks, 8, 0, 0));
    vy_clocks_free(&clocks);
}

static void a_release_after_a_barrier_covers_the_workgroup_before_it(void **state) {
    (void)state;
    vy_clocks clocks = {0};
    atomic_at(&clocks, 0, 3, 1, VYRE_ORDER_RELEASE, VYRE_SCOPE_DEVICE, 1);
    acquire(&clocks, 4, 1);
    assert_true(vy_clocks_knows(&clocks, 4, 1, 2, 0, 0, 2));
    assert_false(vy_clocks_knows(&clocks, 4, 1, 2, 0, 0, 3));
    vy_clocks_free(&clocks);
}

static void workgroup_scope_stays_in_the_workgroup(void **state) {
    (void)state;
    vy_clocks clocks = {0};
    atomic_at(&clocks, 0, 0, 1, VYRE_ORDER_RELEASE, VYRE_SCOPE_WORKGROUP, 1);
    acquire(&clocks, 4, 1);
    acquire(&clocks, 1, 1);
    assert_false(knows(&clocks, 4, 0, 0));
    assert_true(knows(&clocks, 1, 0, 0));
    vy_clocks_free(&clocks);
}

static void an_acquire_of_workgroup_scope_does_not_reach_out(void **state) {
    (void)state;
    vy_clocks clocks = {0};
    release(&clocks, 0, 1);
    atomic_at(&clocks, 4, 0, 1, VYRE_ORDER_ACQUIRE, VYRE_SCOPE_WORKGROUP, 0);
    assert_false(knows(&clocks, 4, 0, 0));
    vy_clocks_free(&clocks);
}

static void a_relaxed_change_keeps_the_message_and_a_relaxed_store_ends_it(void **state) {
    (void)state;
    vy_clocks clocks = {0};
    release(&clocks, 0, 1);
    atomic_at(&clocks, 4, 0, 1, VYRE_ORDER_RELAXED, VYRE_SCOPE_DEVICE, 0);
    acquire(&clocks, 8, 1);
    assert_true(knows(&clocks, 8, 0, 0));
    atomic_at(&clocks, 4, 0, 1, VYRE_ORDER_RELAXED, VYRE_SCOPE_DEVICE, 1);
    acquire(&clocks, 9, 1);
    assert_false(knows(&clocks, 9, 0, 0));
    vy_clocks_free(&clocks);
}

static vyre_status use_many(void *user) {
    (void)user;
    vy_clocks clocks = {0};
    for (uint64_t i = 0; i < 100; i++) {
        release(&clocks, i, i % 7);
        acquire(&clocks, i + 1, i % 7);
    }
    vy_clocks_barrier(&clocks, 3, 12, 4);
    int failed = clocks.failed;
    vy_clocks_free(&clocks);
    return failed ? VYRE_NO_MEMORY : VYRE_OK;
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
        cmocka_unit_test(clocks_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
