/* From programs to PTX in tests, and what can be said of the text without a compiler for it. */
#ifndef VY_TESTS_EMIT_PTX_CODE_H
#define VY_TESTS_EMIT_PTX_CODE_H

#include "support/test.h"

#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "ir/model.h"
#include "vyre/text.h"
#include "vyre/transform.h"

#include <ctype.h>
#include <unistd.h>

enum { PTX_ARCHITECTURE = 90 };

static inline char *ptx_read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    char *text = calloc(1, size + 1);
    rewind(file);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    return text;
}

static inline void ptx_show(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    if (vyre_text_print(program, &text, NULL) == VYRE_OK)
        printf("%.*s\n", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

/* Legalises unless it is done, and emits; what has an indirect grid, for such a one. */
static inline vyre_status ptx_make(vyre_program *program, int cancellable, vyre_program **legal, vy_ptx_code *code,
                                   vyre_error *error) {
    const vy_ptx_options options = {.architecture = PTX_ARCHITECTURE,
                                    .indirect = program->grid.kind == VYRE_GRID_INDIRECT};
    vy_target_desc target = vy_ptx_target(PTX_ARCHITECTURE, cancellable);
    vyre_status status = VYRE_OK;
    target.unroll_arrays = 0;
    *legal = NULL;
    memset(code, 0, sizeof *code);
    if (vyre_program_level(program) == VYRE_LEVEL_LEGAL)
        *legal = vyre_program_retain(program);
    else
        status = vy_legalize(program, &target, legal, error);
    return status == VYRE_OK ? vy_ptx_emit(*legal, &options, code, error) : status;
}

/* ---- what is wrong with a text ----
 *
 * Labels are defined once and known where they are used; registers are declared, written (further up) before they are
 * read, and of the size that the instruction takes. Not a parser of PTX: of what we write. */

enum { CHECK_REGISTERS = 1 << 18, CHECK_LABELS = 1 << 16, CHECK_OPERANDS = 24 };

typedef struct ptx_check {
    unsigned declared[4];
    uint8_t *written[4], *placed, *used;
    char wrong[400];
} ptx_check;

static inline int class_of_letter(char letter) {
    const char *letters = "phrd", *found = strchr(letters, letter);
    return letter && found ? (int)(found - letters) : -1;
}

/* The register class of a type in an instruction; narrow integers in memory are held in 32 bits. */
static inline int class_of_type(const char *type, int in_memory) {
    size_t length = strlen(type);
    if (strcmp(type, "pred") == 0)
        return 0;
    if (length > 1 && strcmp(type + length - 2, "64") == 0)
        return 3;
    if (length > 1 && strcmp(type + length - 2, "32") == 0)
        return 2;
    if (in_memory && (type[0] == 'u' || type[0] == 's'))
        return 2;
    return 1;
}

typedef struct ptx_operand {
    int class; /* of a register; -1: none */
    unsigned number;
    int in_address, in_braces;
} ptx_operand;

typedef struct ptx_line {
    char opcode[64];
    char parts[8][16]; /* of the opcode, between dots */
    unsigned part_count;
    int guard_class;
    unsigned guard;
    ptx_operand operands[CHECK_OPERANDS]; /* with literals and names: class -1 */
    unsigned count;
    char label[16];
} ptx_line;

static inline int is_one_of(const char *word, const char *const *words) {
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return 1;
    return 0;
}

static inline const char *read_register(const char *at, int *class, unsigned *number) {
    char *end;
    *class = class_of_letter(at[1]);
    if (*class < 0 || !isdigit((unsigned char)at[2])) { /* a special register */
        *class = -1;
        for (at++; isalnum((unsigned char)*at) || *at == '.' || *at == '_'; at++)
            ;
        return at;
    }
    *number = (unsigned)strtoul(at + 2, &end, 10);
    return end;
}

static inline void read_line(const char *text, ptx_line *line) {
    memset(line, 0, sizeof *line);
    line->guard_class = -1;
    while (*text == '\t')
        text++;
    if (*text == '@') {
        text += text[1] == '!' ? 2 : 1;
        text = read_register(text, &line->guard_class, &line->guard) + 1;
    }
    unsigned n = 0;
    for (; *text && *text != ' ' && *text != ';' && n + 1 < sizeof line->opcode; text++)
        line->opcode[n++] = *text;
    char copy[64];
    memcpy(copy, line->opcode, sizeof copy);
    for (char *part = strtok(copy, "."); part && line->part_count < 8; part = strtok(NULL, "."))
        snprintf(line->parts[line->part_count++], 16, "%s", part);
    int in_address = 0, in_braces = 0, wants = 1;
    for (; *text && *text != ';'; text++) {
        if (*text == ',' || *text == ' ' || *text == '{' || *text == '}' || *text == '[' || *text == ']') {
            in_braces += *text == '{' ? 1 : *text == '}' ? -1 : 0;
            in_address += *text == '[' ? 1 : *text == ']' ? -1 : 0;
            wants = 1;
            continue;
        }
        if (!wants || line->count == CHECK_OPERANDS)
            continue;
        ptx_operand *operand = &line->operands[line->count++];
        *operand = (ptx_operand){.class = -1, .in_address = in_address, .in_braces = in_braces};
        wants = 0;
        if (*text == '%')
            text = read_register(text, &operand->class, &operand->number) - 1;
        else if (*text == '$')
            sscanf(text, "$L%15[0-9]", line->label);
    }
}

/* The class that operand i of a line must have; -1: any. */
static inline int wanted_class(const ptx_line *line, unsigned i) {
    static const char *const memory[] = {"ld", "st", "atom", "red", NULL};
    static const char *const counts[] = {"popc", "clz", NULL};
    const char *name = line->parts[0], *last = line->parts[line->part_count - 1];
    const ptx_operand *operand = &line->operands[i];
    if (is_one_of(name, memory)) {
        if (!operand->in_address)
            return class_of_type(last, 1);
        for (unsigned k = 1; k < line->part_count; k++)
            if (strcmp(line->parts[k], "shared") == 0)
                return 2;
        return 3;
    }
    if (operand->in_braces)
        return class_of_type(last, 0) - 1;
    if (strcmp(name, "setp") == 0)
        return i == 0 ? 0 : class_of_type(last, 0);
    if (strcmp(name, "selp") == 0)
        return i == 3 ? 0 : class_of_type(last, 0);
    if (strcmp(name, "cvt") == 0)
        return class_of_type(i == 0 ? line->parts[line->part_count - 2] : last, 0);
    if ((strcmp(name, "mad") == 0 || strcmp(name, "mul") == 0) && strcmp(line->parts[1], "wide") == 0)
        return i == 0 || i == 3 ? 3 : 2;
    if (is_one_of(name, counts))
        return i == 0 ? 2 : class_of_type(last, 0);
    if (strcmp(name, "shl") == 0 || strcmp(name, "shr") == 0)
        return i == 2 ? 2 : class_of_type(last, 0);
    return class_of_type(last, 0);
}

static inline int is_written(const ptx_line *line, unsigned i) {
    static const char *const none[] = {"st", "red", "bra", "ret", "membar", NULL};
    if (is_one_of(line->parts[0], none) || line->operands[i].in_address)
        return 0;
    return line->operands[0].in_braces ? line->operands[i].in_braces : i == 0;
}

static inline int complain(ptx_check *check, const char *text, const char *what) {
    int length = (int)strcspn(text, "\n");
    snprintf(check->wrong, sizeof check->wrong, "%s: `%.*s`", what, length, text);
    return 0;
}

static inline int check_operand(ptx_check *check, const char *text, int class, unsigned number, int written) {
    if (number >= check->declared[class])
        return complain(check, text, "a register is not declared");
    if (!written && !check->written[class][number])
        return complain(check, text, "a register is read before it is written");
    return 1;
}

static inline int check_line(ptx_check *check, const char *text) {
    ptx_line line;
    read_line(text, &line);
    if (line.guard_class > 0)
        return complain(check, text, "the guard is no predicate");
    if (line.guard_class == 0 && !check_operand(check, text, 0, line.guard, 0))
        return 0;
    if (line.label[0])
        check->used[strtoul(line.label, NULL, 10)] = 1;
    for (unsigned pass = 0; pass < 2; pass++) /* what is read, then what is written */
        for (unsigned i = 0; i < line.count; i++) {
            const ptx_operand *operand = &line.operands[i];
            int written = is_written(&line, i);
            if (operand->class < 0 || written != (int)pass)
                continue;
            if (!check_operand(check, text, operand->class, operand->number, written))
                return 0;
            if (operand->class != wanted_class(&line, i))
                return complain(check, text, "a register is not of the instruction's size");
            if (written)
                check->written[operand->class][operand->number] = 1;
        }
    return 1;
}

static inline int check_any(ptx_check *check, const char *text) {
    unsigned number;
    char letter;
    if (sscanf(text, "\t.reg .%*[a-z0-9] %%%c<%u>", &letter, &number) == 2) {
        check->declared[class_of_letter(letter)] = number;
        assert_true(number <= CHECK_REGISTERS);
        return 1;
    }
    if (sscanf(text, "$L%u:", &number) == 1) {
        assert_true(number < CHECK_LABELS);
        if (check->placed[number]++)
            return complain(check, text, "a label is defined twice");
        return 1;
    }
    if (text[0] != '\t' || text[1] == '.' || text[1] == '/')
        return 1;
    if (strncmp(text, "\t\t0x", 4) == 0 || strcmp(text, "\t};") == 0) /* elements of a table */
        return 1;
    return strchr(text, ';') ? check_line(check, text) : complain(check, text, "a line does not end");
}

/* What is wrong with a text, or NULL. */
static inline const char *ptx_wrong(const char *text) {
    static ptx_check check;
    const char *wrong = NULL;
    memset(&check, 0, sizeof check);
    for (int i = 0; i < 4; i++)
        check.written[i] = calloc(1, CHECK_REGISTERS);
    check.placed = calloc(1, CHECK_LABELS);
    check.used = calloc(1, CHECK_LABELS);
    char *copy = strdup(text);
    for (char *line = copy, *end; *line && !wrong;
         line = end) { /* one line each: AddressSanitizer reads strings to their end */
        end = line;
        while (*end && *end != '\n')
            end++;
        if (*end)
            *end++ = 0;
        wrong = check_any(&check, line) ? NULL : check.wrong;
    }
    free(copy);
    for (unsigned i = 0; i < CHECK_LABELS && !wrong; i++)
        if (check.used[i] && !check.placed[i])
            wrong = "a label is not defined";
    for (int i = 0; i < 4; i++)
        free(check.written[i]);
    free(check.placed);
    free(check.used);
    return wrong;
}

/* Emits a program and looks at the text; fails the test with the program if something is wrong. */
static inline void ptx_try(vyre_program *program, int cancellable, const char *what, vy_ptx_code *code) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_program *legal;
    vyre_status status = ptx_make(program, cancellable, &legal, code, &error);
    const char *wrong = status == VYRE_OK ? ptx_wrong(code->text.data) : error.message;
    if (wrong) {
        ptx_show(legal ? legal : program);
        if (status == VYRE_OK)
            printf("%s\n", (const char *)code->text.data);
        fail_msg("%s: %s", what, wrong);
    }
    vyre_program_release(legal);
}

/* ---- ptxas, where there is one ---- */

static inline const char *ptxas_path(void) {
    static const char *const places[] = {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas", NULL};
    const char *named = getenv("PTXAS");
    named = named && *named ? named : NULL;
    for (const char *const *place = places; !named && *place; place++) {
        FILE *file = fopen(*place, "rb");
        if (file) {
            fclose(file);
            named = *place;
        }
    }
    return named;
}

/* Compiles a text for a device of the tests' architecture; fails the test with what ptxas says. */
static inline void ptxas_accepts(const char *ptxas, const char *text, const char *what) {
    char path[64], command[400];
    snprintf(path, sizeof path, "/tmp/vyre-ptx-%ld.ptx", (long)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    snprintf(command, sizeof command, "'%s' -O0 -arch=sm_%d -o /dev/null %s", ptxas, PTX_ARCHITECTURE, path);
    if (system(command) != 0) {
        printf("%s\n", text);
        fail_msg("ptxas refuses %s", what);
    }
    remove(path);
}

#endif
