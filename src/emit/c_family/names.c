/* Identifiers of dialects of C: params, buffers, variables and arrays keep their names where the language allows it. */
#include "emit/c_family/c_family.h"

#include "base/diagnostics.h"
#include "base/status.h"

void vy_c_refuse(vy_c *c, const char *what) {
    if (c->status == VYRE_OK)
        c->status = vy_fail(c->error, VYRE_UNSUPPORTED, "emit the program of level source that this one was made from",
                            "%s for `%s` cannot be written: it has %s", c->dialect->language,
                            vyre_program_name(c->program), what);
}

void vy_c_refuse_memory(vy_c *c) {
    if (c->status == VYRE_OK)
        c->status = vy_fail_memory(c->error, "emitting C");
}

void vy_c_source_name(vy_c *c) {
    for (const char *at = c->program->source ? vy_source_name(c->program->source) : "a program in memory"; *at; at++) {
        vy_string_char(c->out, *at);
        if ((at[0] == '*' && at[1] == '/') || (at[0] == '/' && at[1] == '*'))
            vy_string_char(c->out, ' ');
    }
}

/* Macros are in capitals (except M_PIf and the like); identifiers that begin with an underscore are reserved. */
static int is_for_macros(const char *text) {
    return text[0] == '_' || strncmp(text, "M_", 2) == 0 ||
           (text[1] && !text[strcspn(text, "abcdefghijklmnopqrstuvwxyz")]);
}

/* Whether there is a name: the first `length` bytes and, from 2 on, the number. */
static int is_taken(const vy_c *c, vy_string *name, size_t length, unsigned number) {
    name->length = length;
    if (number > 1)
        vy_string_format(name, "_%u", number);
    return !name->failed && vy_intern_pool_find(&c->names, name->text, name->length) != VY_SYMBOL_INVALID;
}

/* Inlined ops have thousands of variables of one name, so the number is found by bisection: `taken` is, `number` is
 * not. */
vy_symbol vy_c_unique(vy_c *c, const char *given) {
    vy_string name = {0};
    vy_string_format(&name, "%s%s%s", given[0] == '_' ? "v" : "", given, is_for_macros(given) ? "_" : "");
    size_t length = name.length;
    unsigned taken = 0, number = 1;
    for (; is_taken(c, &name, length, number); number *= 2)
        taken = number;
    while (number - taken > 1) {
        unsigned middle = taken + (number - taken) / 2;
        *(is_taken(c, &name, length, middle) ? &taken : &number) = middle;
    }
    (void)is_taken(c, &name, length, number); /* spells it */
    vy_symbol made = name.failed ? VY_SYMBOL_INVALID : vy_intern_pool_add(&c->names, name.text, name.length);
    vy_string_free(&name);
    if (made == VY_SYMBOL_INVALID)
        vy_c_refuse_memory(c);
    return made == VY_SYMBOL_INVALID ? 0 : made;
}

void vy_c_open(vy_c *c, const vyre_program *program, const vy_c_dialect *dialect, vyre_error *error) {
    memset(c, 0, sizeof *c);
    c->program = program;
    c->entry = vy_program_entry(program);
    c->dialect = dialect;
    c->error = error;
    c->variables = vy_arena_allocate(&c->arena, (program->variables.count + 1) * sizeof *c->variables);
    c->memories = vy_arena_allocate(&c->arena, (program->memories.count + 1) * sizeof *c->memories);
    c->lengths = vy_arena_allocate(&c->arena, (program->memories.count + 1) * sizeof *c->lengths);
    c->is_measured = vy_arena_allocate(&c->arena, program->memories.count + 1);
    c->is_kept = vy_arena_allocate(&c->arena, program->variables.count + 1);
    if (!c->variables || !c->memories || !c->lengths || !c->is_measured || !c->is_kept)
        vy_c_refuse_memory(c);
    for (size_t i = 0; dialect->reserved[i] && c->status == VYRE_OK; i++)
        if (vy_intern_pool_add(&c->names, dialect->reserved[i], strlen(dialect->reserved[i])) == VY_SYMBOL_INVALID)
            vy_c_refuse_memory(c);
}

void vy_c_close(vy_c *c) {
    vy_string_free(&c->functions);
    VY_VECTOR_FREE(&c->fields);
    vy_intern_pool_free(&c->names);
    vy_intern_pool_free(&c->defined);
    vy_arena_free(&c->arena);
}

/* Params and buffers first, since callers use their names. */
void vy_c_name_all(vy_c *c) {
    const vyre_program *p = c->program;
    const vy_function *f = c->entry;
    for (uint32_t i = 0; i < p->param_count && c->status == VYRE_OK; i++)
        c->variables[f->first_variable + i] =
            vy_c_unique(c, vy_symbol_name(p, p->variables.items[f->first_variable + i].name));
    for (uint32_t i = f->first_memory; i < f->first_memory + f->memory_count && c->status == VYRE_OK; i++) {
        const char *name = vy_symbol_name(p, p->memories.items[i].name);
        int is_table = p->memories.items[i].space == VY_SPACE_CONSTANT; /* outside of functions */
        c->memories[i] = vy_c_unique(c, is_table ? VY_FIX("%.100s_table_%s", vyre_program_name(p), name) : name);
        if (p->memories.items[i].space == VY_SPACE_BUFFER)
            c->lengths[i] = vy_c_unique(c, VY_FIX("%s_length", name));
    }
    for (uint32_t i = p->param_count; i < f->variable_count && c->status == VYRE_OK; i++)
        c->variables[f->first_variable + i] =
            vy_c_unique(c, vy_symbol_name(p, p->variables.items[f->first_variable + i].name));
}
