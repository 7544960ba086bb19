/* Does the campaign find a wrong optimiser? Each mutant is the rules with one thing wrong; the same campaign that
 * passes with the sound rules must spoil a program with each. The rules are data that passes are given, so the wrong
 * ones exist in this file only. Sequences hold the pass that goes wrong and no other, so that it is what was found.
 *
 * Merging loads across a barrier alone is no mutant that can be found: all invocations execute the same statements, so
 * between two loads that a barrier separates and that may differ in a program without races, there is a store, a branch
 * or a loop that tells. */
#include "opt/campaign.h"

/* ---- mutants ---- */

/* X(ID, pass that goes wrong, what to generate, what is wrong) */
#define MUTANTS(X)                                                                                                     \
    X(PLUS_ZERO, INSTCOMBINE, FLOATS, "x + 0.0 is x")                                                                  \
    X(MINUS_SELF, INSTCOMBINE, FLOATS, "x - x is 0 for floats")                                                        \
    X(EQUALS_SELF, INSTCOMBINE, FLOATS, "x == x for floats")                                                           \
    X(TIMES_ZERO, INSTCOMBINE, FLOATS, "x * 0.0 is 0")                                                                 \
    X(OVER_SELF, INSTCOMBINE, INTEGERS, "x / x is 1")                                                                  \
    X(OVER_ZERO, INSTCOMBINE, INTEGERS, "x / 0 is 0")                                                                  \
    X(BOUNDS, GVN, MEMORY, "a store is forwarded from an index that is not inside")                                    \
    X(STORE, GVN, MEMORY, "a load is merged across a store")                                                           \
    X(ASSIGN, GVN, CONTROL, "a variable keeps its first value")                                                        \
    X(LOOP, GVN, CONTROL, "what a loop changes is known at its head")                                                  \
    X(JOIN, GVN, CONTROL, "what a branch changes is known behind it")                                                  \
    X(HOIST, LICM, CONTROL, "what changes in a loop is computed before it")                                            \
    X(HOIST_LOAD, LICM, MEMORY, "what is stored to in a loop is loaded before it")                                     \
    X(HOIST_VARIABLE, LICM, CONTROL, "what is assigned in a loop is read before it")                                   \
    X(LAST_VALUE, RANGE, CONTROL, "the last value of a loop is out of its range")                                      \
    X(ELSE, RANGE, CONTROL, "a condition is believed in the else branch")                                              \
    X(LENGTH, RANGE, MEMORY, "what is not above a length is below it")                                                 \
    X(LAST_TRIP, UNROLL, CONTROL, "a step that does not divide makes a trip too few")                                  \
    X(TRIP_WRAP, UNROLL, CONTROL, "trips are counted on beyond the end of the type")                                   \
    X(MAGIC, STRENGTH_REDUCE, INTEGERS, "a magic number with a bit too many overflows")                                \
    X(TRAP, DCE, CONTROL, "a trap is left out")                                                                        \
    X(COLLECTIVE, DCE, COLLECTIVES, "a meeting where the workgroup of a trap ends is left out")                        \
    X(ATOMIC, DCE, ATOMICS, "an atomic without a result is left out")                                                  \
    X(READ, DCE, MEMORY, "a store that is read before the next is left out")                                           \
    X(INDEX, DCE, MEMORY, "a store before one to another element is left out")                                         \
    X(JUMP, DCE, CONTROL, "what a jump past the next assignment leads to is not looked at")                            \
    X(NEXT_TRIP, DCE, CONTROL, "what the next trip reads is overwritten")                                              \
    X(ONE_BRANCH, DCE, CONTROL, "what one branch overwrites is overwritten")

typedef enum mutant {
#define X(ID, pass, stress, what) MUTANT_##ID,
    MUTANTS(X)
#undef X
        MUTANT_COUNT
} mutant;

typedef struct mutant_row {
    const char *what;
    vyre_pass pass;
    unsigned stress;
} mutant_row;

static const mutant_row mutants[MUTANT_COUNT] = {
#define X(ID, pass, stress, what) {what, VYRE_PASS_##pass, VYRE_STRESS_##stress},
    MUTANTS(X)
#undef X
};

static vy_identity identities[VY_IDENTITY_COUNT + 1];

/* Puts a row before all others. */
static void identity(vy_opt_policy *rules, vyre_op op, unsigned classes, vy_operand_is a, vy_operand_is b,
                     vy_becomes becomes) {
    identities[0] = (vy_identity){(uint8_t)op, (uint8_t)classes, (uint8_t)a, (uint8_t)b, (uint8_t)becomes};
    memcpy(identities + 1, vy_identities, sizeof vy_identities);
    rules->identities = identities;
    rules->identity_count = VY_IDENTITY_COUNT + 1;
}

static vy_opt_policy rules_of(mutant which) {
    vy_opt_policy rules = vy_opt_default;
    switch (which) {
    case MUTANT_PLUS_ZERO:
        identity(&rules, VYRE_OP_ADD, VYRE_CLASS_FLOAT, VY_IS_ANY, VY_IS_ZERO, VY_BECOMES_A);
        break;
    case MUTANT_MINUS_SELF:
        identity(&rules, VYRE_OP_SUB, VYRE_CLASS_FLOAT, VY_IS_ANY, VY_IS_SAME, VY_BECOMES_ZERO);
        break;
    case MUTANT_EQUALS_SELF:
        identity(&rules, VYRE_OP_EQ, VYRE_CLASS_FLOAT, VY_IS_ANY, VY_IS_SAME, VY_BECOMES_ONE);
        break;
    case MUTANT_TIMES_ZERO:
        identity(&rules, VYRE_OP_MUL, VYRE_CLASS_FLOAT, VY_IS_ANY, VY_IS_ZERO, VY_BECOMES_ZERO);
        break;
    case MUTANT_OVER_SELF:
        identity(&rules, VYRE_OP_DIV, VYRE_CLASS_INTEGER, VY_IS_ANY, VY_IS_SAME, VY_BECOMES_ONE);
        break;
    case MUTANT_OVER_ZERO:
        identity(&rules, VYRE_OP_DIV, VYRE_CLASS_INTEGER, VY_IS_ANY, VY_IS_ZERO, VY_BECOMES_ZERO);
        break;
    case MUTANT_BOUNDS:
        rules.check_bounds = 0;
        break;
    case MUTANT_STORE:
    case MUTANT_HOIST_LOAD:
        rules.changes[VY_STMT_STORE] = 0;
        break;
    case MUTANT_ASSIGN:
    case MUTANT_HOIST_VARIABLE:
        rules.changes[VY_STMT_ASSIGN] = 0;
        break;
    case MUTANT_MAGIC:
        rules.check_wrap = 0;
        break;
    case MUTANT_HOIST:
    case MUTANT_LOOP:
    case MUTANT_NEXT_TRIP:
        rules.forget_at_loops = 0;
        break;
    case MUTANT_JOIN:
    case MUTANT_ONE_BRANCH:
        rules.forget_at_joins = 0;
        break;
    case MUTANT_TRAP:
        rules.is_kept[VY_STMT_TRAP] = 0;
        break;
    case MUTANT_COLLECTIVE:
        rules.is_kept[VY_STMT_COLLECTIVE] = 0;
        break;
    case MUTANT_ATOMIC:
        rules.is_kept[VY_STMT_ATOMIC] = 0;
        break;
    case MUTANT_READ:
        rules.reads_count = 0;
        break;
    case MUTANT_INDEX:
        rules.index_counts = 0;
        break;
    case MUTANT_JUMP:
        rules.jumps_count = 0;
        break;
    case MUTANT_LAST_VALUE:
        rules.ranges.last_value_counts = 0;
        break;
    case MUTANT_ELSE:
        rules.ranges.else_is_opposite = 0;
        break;
    case MUTANT_LENGTH:
        rules.ranges.length_is_outside = 0;
        break;
    case MUTANT_LAST_TRIP:
        rules.last_trip_counts = 0;
        break;
    case MUTANT_TRIP_WRAP:
        rules.trips_are_exact = 0;
        break;
    case MUTANT_COUNT:
        break;
    }
    return rules;
}

/* ---- the hunt ---- */

enum { SEEDS = 20000 };

/* How many seeds until a program is spoiled; 0: none was. */
static unsigned hunt(mutant which) {
    vy_opt_policy rules = rules_of(which);
    opt_campaign c = {.rules = &rules,
                      .generate = {.statements = 14, .depth = 3, .invocations = 16},
                      .sequences = 4,
                      .one_in = 12,
                      .only = mutants[which].pass,
                      .alone = 1};
    unsigned tried = 0, found = 0;
    while (!found && tried < SEEDS) {
        c.generate.stress = tried % 2 ? mutants[which].stress : 0;
        found = opt_try(&c, tried++, 0) ? tried : 0;
    }
    opt_campaign_free(&c);
    return found;
}

static void every_mutant_is_found(void **state) {
    (void)state;
    unsigned alive = 0;
    for (unsigned i = 0; i < MUTANT_COUNT; i++) {
        unsigned seeds = hunt((mutant)i);
        printf("%s: %s %u programs\n", mutants[i].what, seeds ? "found after" : "NOT FOUND in",
               seeds ? seeds : (unsigned)SEEDS);
        alive += !seeds;
    }
    assert_int_equal(alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mutant_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
