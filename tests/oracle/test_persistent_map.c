/* Maps that share nodes behave as maps that share nothing, keep no node too many, and stay within their allowance. */
#include "support/test.h"

#include "oracle/vector_clock.h"
#include "support/fault.h"

enum { KEYS = 3000, MAPS = 6 };

static uint64_t rolled;
static uint32_t roll(uint32_t bound) {
    rolled = rolled * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rolled >> 33) % bound;
}

static uint32_t nodes_in_use(const vy_persistent_maps *k) {
    uint32_t used = k->nodes.count ? k->nodes.count - 1 : 0;
    for (uint32_t node = k->free; node; node = k->nodes.items[node].slots[0])
        used--;
    return used;
}

static uint32_t plain[MAPS][KEYS];

static void step_both(vy_persistent_maps *k, uint32_t *maps) {
    uint32_t a = roll(MAPS), b = roll(MAPS), key = roll(4) ? roll(KEYS) : roll(40), value = 1 + roll(9);
    switch (roll(8)) {
    case 0:
        vy_persistent_map_set(k, &maps[a], maps[b]);
        memmove(plain[a], plain[b], sizeof plain[a]);
        return;
    case 1:
    case 2:
        vy_persistent_map_join(k, &maps[a], maps[b]);
        for (uint32_t i = 0; i < KEYS; i++)
            plain[a][i] = plain[a][i] > plain[b][i] ? plain[a][i] : plain[b][i];
        return;
    default:
        vy_persistent_map_learn(k, &maps[a], key, value);
        plain[a][key] = plain[a][key] > value ? plain[a][key] : value;
    }
}

static void maps_agree_with_plain_arrays(void **state) {
    (void)state;
    for (rolled = 1; rolled <= 20; rolled++) {
        uint64_t first = rolled;
        vy_allowance allowance = {.left = 1 << 24};
        vy_persistent_maps k;
        uint32_t maps[MAPS] = {0};
        memset(plain, 0, sizeof plain);
        vy_persistent_map_start(&k, KEYS, &allowance);
        for (int step = 0; step < 300; step++)
            step_both(&k, maps);
        for (int m = 0; m < MAPS; m++)
            for (uint32_t i = 0; i < KEYS; i++)
                if (vy_persistent_map_get(&k, maps[m], i) != plain[m][i])
                    fail_msg("seed %llu: map %d holds %u at %u, not %u", (unsigned long long)first, m,
                             vy_persistent_map_get(&k, maps[m], i), i, plain[m][i]);
        for (int m = 0; m < MAPS; m++)
            vy_persistent_map_set(&k, &maps[m], 0);
        assert_int_equal(nodes_in_use(&k), 0);
        vy_persistent_map_free(&k);
        rolled = first;
    }
}

static void keys_of_every_size_have_a_place(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 2, 31, 32, 33, 1024, 1025, UINT64_C(1) << 40, 0};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        vy_allowance allowance = {.left = 1 << 20};
        vy_persistent_maps k;
        uint32_t map = 0;
        uint64_t last = sizes[s] - 1;
        vy_persistent_map_start(&k, sizes[s], &allowance);
        vy_persistent_map_learn(&k, &map, last, 7);
        vy_persistent_map_learn(&k, &map, last / 2, 5);
        assert_int_equal(vy_persistent_map_get(&k, map, last), 7);
        assert_int_equal(vy_persistent_map_get(&k, map, last / 2), last ? 5 : 7);
        vy_persistent_map_free(&k);
    }
}

/* What a join gives is one of the two where it can be: nothing is made, and later joins of the two cost nothing. */
static void a_join_with_less_makes_nothing(void **state) {
    (void)state;
    vy_allowance allowance = {.left = 1 << 20};
    vy_persistent_maps k;
    uint32_t less = 0, more = 0;
    vy_persistent_map_start(&k, KEYS, &allowance);
    for (uint32_t i = 0; i < KEYS; i += 7)
        vy_persistent_map_learn(&k, &less, i, 1);
    vy_persistent_map_set(&k, &more, less);
    vy_persistent_map_learn(&k, &more, 100, 2);
    uint32_t root = more, used = nodes_in_use(&k);
    vy_persistent_map_join(&k, &more, less);
    assert_int_equal(more, root);
    vy_persistent_map_join(&k, &less, more);
    assert_int_equal(less, root);
    assert_true(nodes_in_use(&k) < used);
    vy_persistent_map_free(&k);
}

static void an_allowance_that_is_used_up_is_said_and_what_was_known_stays(void **state) {
    (void)state;
    vy_allowance allowance = {.left = 8 * sizeof(vy_persistent_map_node)};
    vy_persistent_maps k;
    uint32_t map = 0;
    vy_persistent_map_start(&k, KEYS, &allowance);
    for (uint32_t i = 0; i < KEYS; i += 100)
        vy_persistent_map_learn(&k, &map, i, 1);
    assert_int_equal(allowance.status, VYRE_LIMIT);
    assert_int_equal(k.nodes.capacity, 8);
    assert_int_equal(vy_persistent_map_get(&k, map, 0), 1);
    assert_int_equal(vy_persistent_map_get(&k, map, 2900), 0);
    vy_persistent_map_free(&k);
}

static vyre_status use_many(void *user) {
    (void)user;
    vy_allowance allowance = {.left = 1 << 24};
    vy_persistent_maps k;
    uint32_t maps[MAPS] = {0};
    vy_persistent_map_start(&k, KEYS, &allowance);
    rolled = 1;
    for (int step = 0; step < 300; step++)
        step_both(&k, maps);
    for (int m = 0; m < MAPS; m++)
        vy_persistent_map_set(&k, &maps[m], 0);
    assert_int_equal(nodes_in_use(&k), 0);
    vy_persistent_map_free(&k);
    return allowance.status;
}

static void maps_survive_every_failed_allocation(void **state) {
    (void)state;
    VY_FAULT_LOOP(use_many, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_agree_with_plain_arrays),
        cmocka_unit_test(keys_of_every_size_have_a_place),
        cmocka_unit_test(a_join_with_less_makes_nothing),
        cmocka_unit_test(an_allowance_that_is_used_up_is_said_and_what_was_known_stays),
        cmocka_unit_test(maps_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
