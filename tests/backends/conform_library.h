/* Every function of the standard library, called by a program of its own, on a backend and on the oracle. */
#ifndef VY_TESTS_CONFORM_LIBRARY_H
#define VY_TESTS_CONFORM_LIBRARY_H

#include "backends/conform.h"

#include "base/file.h"
#include "opt/call_library.h"

#include <dirent.h>

enum { CONFORM_INPUTS = 16, CONFORM_TEAM = ELEMENTS };

typedef struct conform_library {
    conform *backends; /* taken in turns; all with VYRE_EFFORT */
    size_t backend_count;
    unsigned step; /* every so many functions are called */
    unsigned functions, called, run, teams, small;
} conform_library;

/* ---- a workgroup that calls together ---- */

static inline vy_space conform_space(const vyre_program *p, const vy_param *param) {
    return (vy_space)p->memories.items[param->index].space;
}

static inline int conform_is_array(const vyre_program *p, const vy_param *param) {
    return param->is_memory && conform_space(p, param) == VY_SPACE_WORKGROUP;
}

/* Some of its memories are of the workgroup, and none private. */
static inline int conform_is_for_teams(const vyre_program *p, const vy_function *f) {
    int any = 0;
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        if (param->is_memory && conform_space(p, param) == VY_SPACE_PRIVATE)
            return 0;
        any |= conform_is_array(p, param);
    }
    return any;
}

static inline void conform_declare_team(vy_string *out, const vyre_program *p, const vy_function *f) {
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        uint8_t type = param->is_memory ? p->memories.items[param->index].type : p->variables.items[param->index].type;
        vy_string_format(out, " buffer %s%u : %s %s count %d\n",
                         param->is_memory && !conform_is_array(p, param) ? "in" : "fill", i, element_of(type),
                         param->is_memory ? "read_write" : "read", VALUES);
    }
    for (uint32_t i = 0; i < f->result_count; i++)
        vy_string_format(out, " buffer out%u : %s write count %d\n", i,
                         element_of(p->results.items[f->first_result + i].type), VALUES);
    vy_string_format(out, " workgroup %d\n grid %d\n", CONFORM_TEAM, VALUES / CONFORM_TEAM);
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        if (conform_is_array(p, param))
            vy_string_format(out, " array in%u : %s [%d] workgroup\n", i,
                             vyre_type_name((vyre_type)p->memories.items[param->index].type), CONFORM_TEAM);
    }
}

/* Arrays are filled from buffers and written back; scalars are the same for all, and small. */
static inline void conform_call_as_team(vy_string *out, const vyre_program *p, const vy_function *f) {
    const vy_param *params = &p->params.items[f->first_param];
    for (uint32_t i = 0; i < f->param_count; i++)
        if (conform_is_array(p, &params[i]))
            vy_string_format(out, " in%u[local_index] = fill%u[global_id.x]\n", i, i);
    vy_string_add(out, " barrier\n ");
    const char *before = f->result_count > 1 ? "let (" : "let ", *after = f->result_count > 1 ? ") = " : " = ";
    for (uint32_t i = 0; i < f->result_count; i++)
        vy_string_format(out, "%sr%u%s", i ? ", " : before, i, i + 1 == f->result_count ? after : "");
    vy_string_format(out, "%s(", vy_symbol_name(p, f->name));
    for (uint32_t i = 0; i < f->param_count; i++) {
        int is_bool = !params[i].is_memory && p->variables.items[params[i].index].type == VYRE_TYPE_BOOL;
        vy_string_format(out, params[i].is_memory ? "%sin%u%s" : "%sfill%u[group_id.x * 3 + 6]%s", i ? ", " : "", i,
                         is_bool ? " > 100" : "");
    }
    vy_string_add(out, ")\n");
    for (uint32_t i = 0; i < f->result_count; i++)
        vy_string_format(out,
                         p->results.items[f->first_result + i].type == VYRE_TYPE_BOOL
                             ? " out%u[global_id.x] = u8(r%u)\n"
                             : " out%u[global_id.x] = r%u\n",
                         i, i);
    vy_string_add(out, " barrier\n");
    for (uint32_t i = 0; i < f->param_count; i++)
        if (conform_is_array(p, &params[i]))
            vy_string_format(out, " fill%u[global_id.x] = in%u[local_index]\n", i, i);
}

/* NULL if the function is not for workgroups. */
static inline vyre_program *conform_team(const vyre_program *library, const vy_function *f, const char *source) {
    vy_string text = {0};
    if (!conform_is_for_teams(library, f))
        return NULL;
    vy_string_add(&text, source);
    vy_string_add(&text, "\nprogram p {\n");
    conform_declare_team(&text, library, f);
    conform_call_as_team(&text, library, f);
    vy_string_add(&text, "}\n");
    assert_false(text.failed);
    vyre_program *program = conform_parse(text.text, NULL, 0, NULL);
    vy_string_free(&text);
    return program;
}

/* ---- all functions ---- */

enum { CONFORM_SMALL = 200 }; /* more than the blocks of all hashes, less than there are elements */

static inline void conform_fill_small(vyre_type type, vy_random *random, void *bytes, size_t count) {
    size_t size = vyre_type_size(type);
    for (size_t n = 0; n < count; n++) {
        uint64_t value = vy_random_next(random) % CONFORM_SMALL;
        vyre_scalar scalar = vyre_scalar_bits(type, value);
        memcpy((uint8_t *)bytes + n * size, &scalar.bits, size);
    }
}

/* Random values for all inputs of a program whose counts are fixed; if wanted, small ones for scalars, which may be
 * lengths. */
static inline vyre_arguments conform_values(const vyre_program *program, int small, vyre_span *inputs) {
    static uint64_t bytes[CONFORM_INPUTS][VALUES];
    vyre_arguments arguments = {.inputs = inputs};
    vyre_buffer_info buffer;
    vy_random random = vy_random_start(vyre_program_buffer_count(program));
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        if (buffer.access == VYRE_ACCESS_WRITE)
            continue;
        size_t k = arguments.input_count++;
        assert_true(k < CONFORM_INPUTS && buffer.count == VALUES);
        if (small && buffer.access == VYRE_ACCESS_READ)
            conform_fill_small(buffer.type, &random, bytes[k], VALUES);
        else
            conform_fill(buffer.type, &random, bytes[k], VALUES);
        inputs[k] = (vyre_span){bytes[k], VALUES * (size_t)vyre_type_size(buffer.type)};
    }
    return arguments;
}

/* Whether the oracle says anything about it: whoever races is called by one, and who takes too long with small
 * numbers. */
static inline int conform_call(conform_library *l, const char *name, vyre_program *program, int checks, int small) {
    vyre_span inputs[CONFORM_INPUTS];
    vyre_arguments arguments = conform_values(program, small, inputs);
    unsigned rounds = vy_test_effort() > 1 ? (unsigned)l->backend_count : 1;
    int judged = 0;
    for (unsigned i = 0; i < rounds; i++) {
        conform *c = &l->backends[(l->called + i) % l->backend_count];
        uint64_t before = c->judged;
        c->checks = checks;
        conform_check(c, name, program, &arguments, (conform_form)((l->called + i) % CONFORM_FORM_COUNT));
        judged |= c->judged != before;
    }
    return judged;
}

static inline void conform_function(conform_library *l, const vyre_program *library, const vy_function *f,
                                    const char *source) {
    const char *name = vy_symbol_name(library, f->name);
    if (l->functions++ % l->step)
        return;
    vyre_program *team = conform_team(library, f, source), *alone = program_that_calls(library, f, source);
    int judged = team && (conform_call(l, name, team, 1, 0) || conform_call(l, name, team, 1, 1));
    l->teams += (unsigned)judged;
    judged = judged || conform_call(l, name, alone, 0, 0);
    if (!judged) {
        judged = conform_call(l, name, alone, 0, 1);
        l->small += (unsigned)judged;
    }
    if (!judged)
        printf("%s is not run: with small numbers the oracle ends with %s\n", name,
               vyre_status_name(l->backends[l->called % l->backend_count].expected.status));
    vyre_program_release(alone);
    vyre_program_release(team);
    l->run += (unsigned)judged;
    l->called++;
}

static inline void conform_library_run(conform_library *l) {
    char path[1024];
    struct dirent *entry;
    DIR *folder = opendir(vy_test_path("lib"));
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".vyre") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", vy_test_path("lib"), entry->d_name);
        vyre_bytes file = VYRE_BYTES_INIT;
        assert_int_equal(vy_file_read(path, SIZE_MAX, &file, NULL), VYRE_OK);
        assert_int_equal(vyre_bytes_resize(&file, file.size + 1, NULL), VYRE_OK);
        char *source = file.data;
        source[file.size - 1] = 0;
        vyre_module *module;
        assert_int_equal(vyre_text_parse(source, strlen(source), NULL, NULL, &module, NULL), VYRE_OK);
        const vyre_program *library = vyre_module_library(module);
        for (uint32_t i = 0; i < library->functions.count; i++)
            conform_function(l, library, &library->functions.items[i], source);
        vyre_module_free(module);
        vyre_bytes_free(&file);
    }
    closedir(folder);
    printf("%u of %u functions run, %u by a whole workgroup, %u with small numbers only\n", l->run, l->called, l->teams,
           l->small);
    assert_true(l->called > 200 / l->step && l->teams > 10 / l->step);
    assert_int_equal(l->run, l->called);
}

#endif
