/* Programs that call a function of a library. Functions of scalars are called by 256 invocations, each with values of
 * its own; those with memories by one, so that nothing races. Arrays are filled from buffers before, and written back:
 * what a function leaves there is a result of it. */
#ifndef VY_TESTS_OPT_CALL_LIBRARY_H
#define VY_TESTS_OPT_CALL_LIBRARY_H

#include "support/test.h"

#include "base/string.h"
#include "ir/model.h"
#include "vyre/text.h"

enum { VALUES = 256, ELEMENTS = 64 }; /* of each buffer, of each array */

static inline const char *element_of(uint8_t type) {
    return type == VYRE_TYPE_BOOL ? "u8" : vyre_type_name((vyre_type)type);
}

static inline int has_memories(const vyre_program *p, const vy_function *f) {
    for (uint32_t i = 0; i < f->param_count; i++)
        if (p->params.items[f->first_param + i].is_memory)
            return 1;
    return 0;
}

static inline void add_declarations(vy_string *out, const vyre_program *p, const vy_function *f, int has_memory) {
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        if (param->is_memory) {
            const vy_memory *m = &p->memories.items[param->index];
            vy_string_format(out, " buffer %s%u : %s read_write count %d\n",
                             m->space == VY_SPACE_BUFFER ? "in" : "fill", i, vyre_type_name((vyre_type)m->type),
                             VALUES);
        } else {
            uint8_t type = p->variables.items[param->index].type;
            vy_string_format(out, " buffer in%u : %s read count %d\n", i, element_of(type), VALUES);
        }
    }
    for (uint32_t i = 0; i < f->result_count; i++)
        vy_string_format(out, " buffer out%u : %s write count %d\n", i,
                         element_of(p->results.items[f->first_result + i].type), VALUES);
    vy_string_format(out, " workgroup %d\n grid 1\n", has_memory ? 1 : VALUES);
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        const vy_memory *m = param->is_memory ? &p->memories.items[param->index] : NULL;
        if (m && m->space != VY_SPACE_BUFFER)
            vy_string_format(out, " array in%u : %s [%d] %s\n", i, vyre_type_name((vyre_type)m->type), ELEMENTS,
                             m->space == VY_SPACE_PRIVATE ? "private" : "workgroup");
    }
}

/* Between arrays and their buffers, by one invocation. */
static inline void add_copies(vy_string *out, const vyre_program *p, const vy_function *f, int is_before) {
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        if (param->is_memory && p->memories.items[param->index].space != VY_SPACE_BUFFER)
            vy_string_format(out, " for k in 0u32 .. %d { %s%u[k] = %s%u[k] }\n", ELEMENTS, is_before ? "in" : "fill",
                             i, is_before ? "fill" : "in", i);
    }
}

static inline void add_call(vy_string *out, const vyre_program *p, const vy_function *f) {
    add_copies(out, p, f, 1);
    vy_string_format(out, " let i = %s\n ", has_memories(p, f) ? "group_id.x + 5" : "global_id.x");
    const char *before = f->result_count > 1 ? "let (" : "let ", *after = f->result_count > 1 ? ") = " : " = ";
    for (uint32_t i = 0; i < f->result_count; i++)
        vy_string_format(out, "%sr%u%s", i ? ", " : before, i, i + 1 == f->result_count ? after : "");
    vy_string_format(out, "%s(", vy_symbol_name(p, f->name));
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        const char *test = !param->is_memory && p->variables.items[param->index].type == VYRE_TYPE_BOOL ? " > 100" : "";
        vy_string_format(out, "%sin%u%s%s", i ? ", " : "", i, param->is_memory ? "" : "[i]", test);
    }
    vy_string_add(out, ")\n");
    for (uint32_t i = 0; i < f->result_count; i++) {
        uint8_t type = p->results.items[f->first_result + i].type;
        vy_string_format(out, type == VYRE_TYPE_BOOL ? " out%u[i] = u8(r%u)\n" : " out%u[i] = r%u\n", i, i);
    }
    add_copies(out, p, f, 0);
}

static inline vyre_program *program_that_calls(const vyre_program *library, const vy_function *f, const char *source) {
    vy_string text = {0};
    vyre_module *module;
    vyre_error error;
    vy_string_add(&text, source);
    vy_string_add(&text, "\nprogram p {\n");
    add_declarations(&text, library, f, has_memories(library, f));
    add_call(&text, library, f);
    vy_string_add(&text, "}\n");
    assert_false(text.failed);
    if (vyre_text_parse(text.text, text.length, NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s: %s (%s)", vy_symbol_name(library, f->name), error.message, error.where);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    vy_string_free(&text);
    return program;
}

#endif
