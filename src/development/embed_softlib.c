/* Build step: encodes the functions of lib/softlib in wire form, as C source for src/lower/softlib.c.
 *
 * usage: embed-softlib OUTPUT FILE...
 *
 * Each function becomes a program of its own, so that the legaliser decodes only those that it inlines. A call of a
 * function of the same file becomes a call of `softlib.FILE.NAME`, which is also how one file calls another; the
 * legaliser resolves these names. Every function is validated here, not at run time.
 *
 * A line `//! lacks A or B; has C and D` states the devices for which the functions after it are used, by the names of
 * the numerics profile; `//! always` ends it. lib/softlib/f32.vyre explains the rules. */
#include "base/file.h"
#include "base/string.h"
#include "ir/build/builder_internal.h"
#include "ir/irbuilder.h"
#include "ir/text/lower.h"
#include "vyre/backend.h"
#include "vyre/text.h"
#include "vyre/wire.h"

#include <stdio.h>
#include <stdlib.h>

/* When a function is used. */
typedef struct condition {
    uint64_t lacks, has;
} condition;

typedef struct function {
    const char *name; /* with its variant */
    condition condition;
    size_t offset, size; /* of the wire form among those of the file */
} function;

static const char *const numerics[] = {
#define X(ID, name, doc) name,
    VYRE_NUMERIC_LIST(X)
#undef X
};

static _Noreturn void fail(const char *file, uint32_t line, const char *message) {
    fprintf(stderr, "%s:%u: error: %s\n", file, line, message);
    exit(1);
}

static void check(vyre_status status, const char *file, const vyre_error *error) {
    if (status == VYRE_OK)
        return;
    fprintf(stderr, "%s: error: %s\n", file, error->message);
    exit(1);
}

/* ---- conditions ---- */

static uint64_t numeric(const char *word, const char *file, uint32_t line) {
    for (size_t i = 0; i < sizeof numerics / sizeof *numerics; i++)
        if (strcmp(word, numerics[i]) == 0)
            return UINT64_C(1) << i;
    fail(file, line, "a word after //! is neither always, lacks, has, or, and, nor the name of a numeric operation");
}

/* "always", "lacks A or B", "has C and D", or "lacks A or B; has C and D". */
static condition read_condition(char *text, const char *file, uint32_t line) {
    condition c = {0, 0};
    uint64_t *set = NULL;
    for (char *word = strtok(text, " ;"); word; word = strtok(NULL, " ;")) {
        if (strcmp(word, "always") == 0)
            return (condition){0, 0};
        if (strcmp(word, "lacks") == 0)
            set = &c.lacks;
        else if (strcmp(word, "has") == 0)
            set = &c.has;
        else if (strcmp(word, set == &c.has ? "and" : "or") != 0 || !set)
            *(set ? set : &c.lacks) |= numeric(word, file, line);
    }
    return c;
}

/* The condition at a line: the last one before it. */
static condition condition_at(const char *text, const char *file, uint32_t line) {
    condition c = {0, 0};
    for (uint32_t at = 1; at < line && text; at++) {
        if (strncmp(text, "//! ", 4) == 0) {
            char directive[256];
            size_t length = strcspn(text + 4, "\n");
            if (length >= sizeof directive)
                fail(file, at, "the line is too long");
            memcpy(directive, text + 4, length);
            directive[length] = 0;
            c = read_condition(directive, file, at);
        }
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return c;
}

/* ---- encoding ---- */

/* The length of a file's name without `.vyre`, and of a function's without its variant. */
static int base_length(const char *name) {
    return (int)strcspn(name, ".");
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void copy_function(vy_irb *draft, const vyre_program *from, const vy_function *f, const char *file) {
    uint32_t *variables = malloc(sizeof *variables * (from->variables.count + 1u));
    if (!variables)
        exit(1);
    draft->program->kind = VYRE_PROGRAM_LIBRARY;
    draft->program->level = VYRE_LEVEL_LEGAL;
    vy_irb_clone_symbols(draft, from);
    vy_irb_begin_function(draft, f->name);
    for (uint32_t i = 0; i < f->param_count; i++) {
        uint32_t variable = from->params.items[f->first_param + i].index;
        const vy_variable *v = &from->variables.items[variable];
        variables[variable] = vy_irb_scalar_param(draft, v->name, (vyre_type)v->type);
    }
    for (uint32_t i = 0; i < f->result_count; i++) {
        const vy_result *result = &from->results.items[f->first_result + i];
        vy_irb_result(draft, result->name, (vyre_type)result->type);
    }
    vy_irb_clone_stmts(draft, from, f->first_stmt, f->end_stmt, variables, NULL, NULL);
    vy_irb_end_function(draft);
    for (uint32_t i = 0; i < draft->program->stmts.count; i++) {
        vy_stmt *s = &draft->program->stmts.items[i];
        if (s->kind == VY_STMT_CALL && s->callee != VY_NONE) {
            char name[VY_LIMIT_NAME + 1];
            int length = snprintf(name, sizeof name, "softlib.%.*s.%s", base_length(file), file,
                                  vy_symbol_name(from, from->functions.items[s->callee].name));
            s->name = vy_irb_intern(draft, name, (size_t)length);
            s->callee = VY_NONE;
        }
    }
    free(variables);
}

/* The legaliser inlines statements on scalars only. */
static void encode_function(const vyre_program *from, const vy_function *f, const char *file, vyre_bytes *wire) {
    vy_irb draft;
    vyre_program *program;
    vyre_error error = {0};
    if (f->memory_count)
        fail(file, f->position.line, "the function has a memory, which the softlib does not support");
    check(vy_irb_start(&draft, "", &error), file, &error);
    copy_function(&draft, from, f, file);
    check(vy_irb_finish(&draft, NULL, NULL, &program, &error), file, &error);
    check(vyre_wire_encode(program, 0, wire, &error), file, &error);
    vyre_program_release(program);
}

/* ---- output ---- */

/* By name without variant; the variants of a function in the order of the file. */
static int compare(const void *left, const void *right) {
    const function *a = left, *b = right;
    int la = base_length(a->name), lb = base_length(b->name);
    int order = memcmp(a->name, b->name, (size_t)(la < lb ? la : lb));
    return order ? order : la != lb ? la - lb : (a->offset > b->offset) - (a->offset < b->offset);
}

static void write_functions(FILE *out, const char *file, const function *functions, uint32_t count) {
    int length = base_length(file);
    fprintf(out, "static const vy_softlib_function %.*s_functions[] = {\n", length, file);
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "    {\"%.*s\", %.*s_wire + %zu, %zu, UINT64_C(0x%llx), UINT64_C(0x%llx)},\n",
                base_length(functions[i].name), functions[i].name, length, file, functions[i].offset, functions[i].size,
                (unsigned long long)functions[i].condition.lacks, (unsigned long long)functions[i].condition.has);
    fprintf(out, "};\n");
}

static void embed(FILE *out, const char *path) {
    const char *file = file_name(path);
    vyre_bytes text = {0}, wire = {0};
    vyre_module *module;
    vyre_error error = {0};
    size_t offset = 0;
    check(vy_file_read(path, SIZE_MAX - 1, &text, &error), path, &error);
    check(vy_text_parse_without_dialects((const char *)text.data, text.size, &(vyre_parse_options){.file = path}, NULL,
                                         &module, &error),
          path, &error);
    const vyre_program *library = vyre_module_library(module);
    function *functions = calloc(library->functions.count, sizeof *functions);
    vy_string lines = {0}; /* the text with a NUL */
    vy_string_append(&lines, (const char *)text.data, text.size);
    if (!functions || lines.failed)
        fail(path, 0, "out of memory");
    fprintf(out, "static const uint8_t %.*s_wire[] = {", base_length(file), file);
    for (uint32_t i = 0; i < library->functions.count; i++) {
        const vy_function *f = &library->functions.items[i];
        encode_function(library, f, file, &wire);
        functions[i] = (function){vy_symbol_name(library, f->name), condition_at(lines.text, path, f->position.line),
                                  offset, wire.size};
        for (size_t k = 0; k < wire.size; k++)
            fprintf(out, "%s%u,", (offset + k) % 32 ? "" : "\n", ((const uint8_t *)wire.data)[k]);
        offset += wire.size;
    }
    fprintf(out, "};\n");
    qsort(functions, library->functions.count, sizeof *functions, compare);
    write_functions(out, file, functions, library->functions.count);
    free(functions);
    vy_string_free(&lines);
    vyre_bytes_free(&wire);
    vyre_bytes_free(&text);
    vyre_module_free(module);
}

int main(int argc, char **argv) {
    FILE *out = argc > 2 ? fopen(argv[1], "w") : NULL;
    if (!out) {
        fprintf(stderr, argc > 2 ? "%s: cannot be written\n" : "usage: %s OUTPUT FILE...\n", argv[argc > 2]);
        return 2;
    }
    fprintf(out, "/* Made by the build from lib/softlib (src/development/embed_softlib.c). */\n");
    for (int i = 2; i < argc; i++)
        embed(out, argv[i]);
    fprintf(out, "enum {");
    for (int i = 2; i < argc; i++)
        fprintf(out, " FILE_%.*s,", base_length(file_name(argv[i])), file_name(argv[i]));
    fprintf(out, " FILE_COUNT };\nstatic const vy_softlib_file files[FILE_COUNT] = {\n");
    for (int i = 2; i < argc; i++) {
        const char *file = file_name(argv[i]);
        int n = base_length(file);
        fprintf(out, "    {\"%.*s\", %.*s_functions, sizeof %.*s_functions / sizeof *%.*s_functions},\n", n, file, n,
                file, n, file, n, file);
    }
    fprintf(out, "};\n");
    if (fclose(out) != 0)
        fail(argv[1], 0, "cannot be written");
    return 0;
}
