/* Small dialects for tests of the registry: ops by name, with or without a body. */
#ifndef VY_TEST_DIALECT_FIXTURE_H
#define VY_TEST_DIALECT_FIXTURE_H

#include "support/test.h"
#include "vyre/dialect.h"

enum { FIXTURE_OPS = 32 };

typedef struct fixture_dialect {
    vyre_dialect dialect;
    vyre_op_definition definitions[FIXTURE_OPS];
    const vyre_op_definition *list[FIXTURE_OPS];
    char ids[FIXTURE_OPS][64];
    size_t count;
} fixture_dialect;

/* A dialect of extension ops called dialect.prefix0, dialect.prefix1, … */
static inline void fixture_make(fixture_dialect *made, const char *name, const char *owner, const char *prefix,
                                size_t count) {
    memset(made, 0, sizeof *made);
    made->dialect =
        (vyre_dialect){.struct_size = sizeof made->dialect, .name = name, .owner = owner, .version = "1.0.0"};
    made->count = count;
    for (size_t i = 0; i < count; i++) {
        snprintf(made->ids[i], sizeof made->ids[i], "%s.%s%zu", name, prefix, i);
        made->definitions[i] = (vyre_op_definition){
            .struct_size = sizeof made->definitions[i], .category = VYRE_CATEGORY_EXTENSION, .id = made->ids[i]};
        made->list[i] = &made->definitions[i];
    }
}

/* What is installed afterwards: this dialect and nothing else. */
static inline vyre_status fixture_only(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    const fixture_dialect *dialect = user;
    vyre_dialect_builder_clear(builder);
    return vyre_dialect_builder_add(builder, &dialect->dialect, dialect->list, dialect->count, error);
}

static inline vyre_status fixture_nothing(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    (void)user, (void)error;
    vyre_dialect_builder_clear(builder);
    return VYRE_OK;
}

static inline vyre_op_id fixture_id(const char *text) {
    vyre_op_id id = 0;
    return vyre_op_intern(text, strlen(text), &id, NULL) == VYRE_OK ? id : 0;
}

static inline const vyre_op_definition *fixture_find(vyre_dialects_guard guard, const char *text) {
    return vyre_dialects_find(guard, text, strlen(text));
}

#endif
