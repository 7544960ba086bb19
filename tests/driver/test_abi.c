/* The list of pinned offsets is complete: every struct of the headers that plug-ins include, and every member of
 * each. */
#include "support/test.h"
#include "vyre/backend.h"
#include "vyre/dialect.h"

typedef struct pin {
    const char *type, *member;
    size_t type_size, type_alignment, offset, size, alignment;
} pin;

static const pin pins[] = {
#define PIN(type, member, offset)                                                                                      \
    {#type,                                                                                                            \
     #member,                                                                                                          \
     sizeof(type),                                                                                                     \
     __alignof__(type),                                                                                                \
     offset,                                                                                                           \
     sizeof(((type *)0)->member),                                                                                      \
     __alignof__(((type *)0)->member)},
#include "driver/abi.def"
};
enum { PINS = sizeof pins / sizeof *pins };

static size_t round_up(size_t size, size_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

/* Members are packed as their alignment permits, so a gap is an unlisted member. */
static void every_member_has_a_pin(void **state) {
    (void)state;
    if (sizeof(void *) != 8)
        VY_SKIP("the pins are those of machines with pointers of 64 bits");
    for (size_t i = 0, end = 0; i < PINS; i++) {
        const pin *p = &pins[i];
        int is_first = i == 0 || strcmp(p[-1].type, p->type) != 0,
            is_last = i + 1 == PINS || strcmp(p[1].type, p->type) != 0;
        if (p->offset != round_up(is_first ? 0 : end, p->alignment))
            fail_msg("a member of %s before `%s` has no line in src/driver/abi.def", p->type, p->member);
        end = p->offset + p->size;
        if (is_last && round_up(end, p->type_alignment) != p->type_size)
            fail_msg("%s has members behind `%s`: pin them in src/driver/abi.def", p->type, p->member);
    }
}

static int is_pinned(const char *type) {
    for (size_t i = 0; i < PINS; i++)
        if (strcmp(pins[i].type, type) == 0)
            return 1;
    return 0;
}

/* Structs that a program uses and no plug-in sees. */
static int stays_here(const char *type) {
    return strcmp(type, "vyre_dialects_guard") == 0;
}

static void expect_structs_of(const char *header) {
    FILE *file = fopen(vy_test_path(header), "r");
    if (!file)
        VY_SKIP("there is no %s here", header);
    char line[512], name[128];
    unsigned found = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "typedef struct %127[a-z_] {", name) != 1 || !strchr(line, '{') || stays_here(name))
            continue;
        found++;
        if (!is_pinned(name))
            fail_msg("%s of %s has no lines in src/driver/abi.def", name, header);
    }
    fclose(file);
    assert_true(found > 4);
}

static void every_struct_of_the_contract_has_pins(void **state) {
    (void)state;
    expect_structs_of("include/vyre/backend.h");
    expect_structs_of("include/vyre/dialect.h");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_has_a_pin),
        cmocka_unit_test(every_struct_of_the_contract_has_pins),
    };
    return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
