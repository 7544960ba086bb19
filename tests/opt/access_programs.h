/* Random programs whose loads stand under conditions: in arms of `?:`, `&&` and `||`, under `if`, in loops that may
 * make no trip, behind a `break`, a `continue` or a `return`. Many race, are out of bounds, or read workgroup memory
 * that was not written.
 *
 * What is loaded from memory that others may write is data: it is stored, but decides neither control nor an index.
 * So which elements an invocation accesses does not depend on the schedule, nor on what a race gives. */
#ifndef VY_TESTS_OPT_ACCESS_PROGRAMS_H
#define VY_TESTS_OPT_ACCESS_PROGRAMS_H

#include "support/test.h"

#include "base/string.h"
#include "vyre/dispatch.h"

#include <stdarg.h>

enum {
    ACCESS_NAMES = 24,  /* variables in scope */
    ACCESS_TREES = 24,  /* expressions that may be written again */
    ACCESS_TREE = 160,  /* bytes of one */
    ACCESS_DEPTH = 3,   /* of expressions */
    ACCESS_NESTING = 4, /* of blocks */
    ACCESS_GROUPS = 3,  /* of four invocations */
    ACCESS_ELEMENTS = 16,
    ACCESS_CONTROLS = 16, /* elements of the buffer that control depends on */
    ACCESS_INPUTS = ACCESS_CONTROLS + 2 * ACCESS_ELEMENTS + 8
};

typedef enum access_class { ACCESS_CONTROL, ACCESS_DATA, ACCESS_TEST, ACCESS_CLASSES } access_class;

typedef struct access_tree {
    char text[ACCESS_TREE];
    access_class class;
} access_tree;

typedef struct access_name {
    uint8_t class, is_mutable;
    uint32_t number;
} access_name;

/* What a program has: by default everything. */
typedef struct access_knobs {
    uint8_t is_plain;   /* no arrays, nothing where a workgroup meets or ends, no calls, no atomics that give a value */
    uint8_t is_relaxed; /* no atomics that acquire or release */
} access_knobs;

typedef struct access_writer {
    vy_random *random;
    vy_string out;
    access_name names[ACCESS_NAMES];
    access_tree trees[ACCESS_TREES];
    uint32_t name_count, tree_count, made;
    unsigned nesting, loops, budget;
    access_knobs knobs;
    int is_calm;      /* most accesses are of the invocation's own elements */
    int has_returned; /* an invocation may have left */
} access_writer;

static inline uint32_t access_below(access_writer *w, uint32_t bound) {
    return (uint32_t)vy_random_below(w->random, bound);
}

static inline const char *access_pick(access_writer *w, const char *const *of, uint32_t count) {
    return of[access_below(w, count)];
}
#define ACCESS_PICK(w, ...)                                                                                            \
    access_pick((w), (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* ---- expressions: all give a text with parentheses where it needs them, which is overwritten soon ---- */

static inline const char *access_text(const char *format, ...) {
    static char ring[512][2048]; /* more than one statement has */
    static unsigned at;
    char *text = ring[at++ % 512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof *ring, format, args);
    va_end(args);
    return text;
}

static inline const char *access_expression(access_writer *w, access_class class, unsigned depth);

/* Indices: own and neighbouring elements, loop variables, anything; many are the same for every invocation. */
static inline const char *access_index(access_writer *w, char memory, unsigned depth) {
    if (w->is_calm && access_below(w, 12))
        return memory == 's' ? "l" : memory == 'p' ? "l & 3" : memory == 'r' ? "i & 7" : "i";
    switch (access_below(w, 8)) {
    case 0:
        return "i";
    case 1:
        return access_text("i + %u", 1 + access_below(w, 3));
    case 2:
        return access_text("(i * 3) %% %u", ACCESS_ELEMENTS);
    case 3:
        return access_text("%uu32", access_below(w, ACCESS_ELEMENTS + 4));
    case 4:
        return "l";
    case 5:
        return access_text("(%s) & 15", access_expression(w, ACCESS_CONTROL, depth));
    default:
        return access_expression(w, ACCESS_CONTROL, depth);
    }
}

static inline const char *access_load(access_writer *w, unsigned depth) {
    const char *memory =
        w->knobs.is_plain ? ACCESS_PICK(w, "a", "b", "r", "c") : ACCESS_PICK(w, "a", "a", "b", "s", "s", "p", "r");
    return access_text("%s[%s]", memory, access_index(w, *memory, depth));
}

static inline const char *access_variable(access_writer *w, access_class class, int is_mutable) {
    uint32_t start = access_below(w, ACCESS_NAMES);
    for (uint32_t i = 0; i < w->name_count; i++) {
        const access_name *name = &w->names[(start + i) % w->name_count];
        if (name->class == class && (!is_mutable || name->is_mutable))
            return access_text("v%u", name->number);
    }
    return NULL;
}

static inline const char *access_leaf(access_writer *w, access_class class) {
    const char *name = access_variable(w, class, 0);
    if (class == ACCESS_TEST)
        return access_text("(%s %s %u)", access_leaf(w, ACCESS_CONTROL), ACCESS_PICK(w, "<", ">", "==", ">=", "!="),
                           access_below(w, 9));
    if (name && access_below(w, 3))
        return name;
    if (class == ACCESS_DATA)
        return access_below(w, 2) ? access_load(w, 0) : access_text("%uu32", access_below(w, 9));
    switch (access_below(w, 6)) {
    case 0:
        return "i";
    case 1:
        return "l";
    case 2:
        return "n";
    case 3:
        return access_text("c[%s]", ACCESS_PICK(w, "i", "i", "l", "0", "3", "i + 1", "n"));
    default:
        return access_text("%uu32", access_below(w, 7));
    }
}

static inline const char *access_test(access_writer *w, unsigned depth) {
    switch (access_below(w, 7)) {
    case 0:
        return access_text("(%s && %s)", access_expression(w, ACCESS_TEST, depth),
                           access_expression(w, ACCESS_TEST, depth));
    case 1:
        return access_text("(%s || %s)", access_expression(w, ACCESS_TEST, depth),
                           access_expression(w, ACCESS_TEST, depth));
    case 2:
        return access_text("!(%s)", access_expression(w, ACCESS_TEST, depth));
    case 3:
        return access_text("(%s < len(%s))", access_expression(w, ACCESS_CONTROL, depth),
                           ACCESS_PICK(w, "a", "b", "c"));
    case 4: /* guards the index of the load */
        return access_text("(i < %u && c[i] %s %u)", access_below(w, ACCESS_CONTROLS + 2),
                           ACCESS_PICK(w, "<", "==", ">"), access_below(w, 5));
    default:
        return access_text("(%s %s %s)", access_expression(w, ACCESS_CONTROL, depth),
                           ACCESS_PICK(w, "<", "<=", ">", "==", "!="), access_expression(w, ACCESS_CONTROL, depth));
    }
}

static inline const char *access_control(access_writer *w, unsigned depth) {
    switch (access_below(w, 6)) {
    case 0:
        return access_text("(%s ? %s : %s)", access_expression(w, ACCESS_TEST, depth),
                           access_expression(w, ACCESS_CONTROL, depth), access_expression(w, ACCESS_CONTROL, depth));
    case 1:
        return access_text("(%s ? c[%s] : %s)", access_expression(w, ACCESS_TEST, depth), access_index(w, 'c', depth),
                           access_leaf(w, ACCESS_CONTROL));
    case 2:
        return access_text("c[%s]", access_index(w, 'c', depth));
    case 3:
        return access_text("(%s %s %u)", access_expression(w, ACCESS_CONTROL, depth),
                           ACCESS_PICK(w, "%", "/", "&", ">>", "*", "-", "+"), access_below(w, 9));
    default:
        return access_text("%s(%s, %s)", ACCESS_PICK(w, "min", "max"), access_expression(w, ACCESS_CONTROL, depth),
                           access_expression(w, ACCESS_CONTROL, depth));
    }
}

static inline const char *access_data(access_writer *w, unsigned depth) {
    switch (access_below(w, 10)) {
    case 0:
    case 1:
        return access_text("(%s ? %s : %s)", access_expression(w, ACCESS_TEST, depth), access_load(w, depth),
                           access_expression(w, ACCESS_DATA, depth));
    case 2:
        return access_text("(%s ? %s : %s)", access_expression(w, ACCESS_TEST, depth),
                           access_expression(w, ACCESS_DATA, depth), access_expression(w, ACCESS_DATA, depth));
    case 3: /* what is loaded here decides no access */
        return access_text("(%s %s %s > %u ? %uu32 : 3u32)", access_expression(w, ACCESS_TEST, depth),
                           ACCESS_PICK(w, "&&", "||"), access_load(w, depth), access_below(w, 4), access_below(w, 4));
    case 4:
        return access_load(w, depth);
    case 5: /* the guard decides nothing, or whether the load is inside */
        return access_text("(i < len(b) ? b[i] : %s)", access_leaf(w, ACCESS_DATA));
    case 6:
        return access_text("%s(%s, %s)", ACCESS_PICK(w, "min", "max"), access_expression(w, ACCESS_DATA, depth),
                           access_expression(w, ACCESS_DATA, depth));
    case 7:
        return access_text("(%s %s %u)",
                           access_below(w, 2) ? access_load(w, depth) : access_expression(w, ACCESS_DATA, depth),
                           ACCESS_PICK(w, "/", "%", "%", "*", ">>"), access_below(w, 11));
    default:
        return access_text("(%s %s %s)", access_expression(w, ACCESS_DATA, depth),
                           ACCESS_PICK(w, "+", "^", "*", "-", "&", "|"), access_expression(w, ACCESS_DATA, depth));
    }
}

static inline const char *access_expression(access_writer *w, access_class class, unsigned depth) {
    if (depth == 0 || access_below(w, 4) == 0)
        return access_leaf(w, class);
    /* The same as before, as far as what it is made of has not changed. */
    if (w->tree_count && access_below(w, 4) == 0) {
        const access_tree *tree = &w->trees[access_below(w, w->tree_count)];
        if (tree->class == class)
            return access_text("%s", tree->text);
    }
    const char *text = class == ACCESS_TEST      ? access_test(w, depth - 1)
                       : class == ACCESS_CONTROL ? access_control(w, depth - 1)
                                                 : access_data(w, depth - 1);
    if (strlen(text) < ACCESS_TREE && w->tree_count < ACCESS_TREES) {
        access_tree *tree = &w->trees[w->tree_count++];
        snprintf(tree->text, sizeof tree->text, "%s", text);
        tree->class = class;
    }
    return text;
}

/* ---- statements ---- */

static inline void access_block(access_writer *w, unsigned statements);

/* What a block declares, and the trees that use it, end with it. */
static inline void access_nested(access_writer *w, unsigned statements) {
    uint32_t names = w->name_count, trees = w->tree_count;
    w->nesting++;
    access_block(w, statements);
    w->nesting--;
    w->name_count = names;
    w->tree_count = trees < w->tree_count ? trees : w->tree_count;
}

static inline void access_declare(access_writer *w, access_class class, int is_mutable, const char *value) {
    uint32_t number = w->made++;
    vy_string_format(&w->out, "%s v%u = %s\n", is_mutable ? "var" : "let", number, value);
    if (w->name_count < ACCESS_NAMES)
        w->names[w->name_count++] = (access_name){(uint8_t) class, (uint8_t)is_mutable, number};
}

static inline void access_loop(access_writer *w) {
    uint32_t number = w->made++;
    unsigned statements = 1 + access_below(w, 4);
    uint32_t shape = access_below(w, 12);
    if (shape < 3) {
        vy_string_format(&w->out, "var v%u = (%s) & 3\nwhile v%u > 0 {\nv%u = v%u - 1\n", number,
                         access_expression(w, ACCESS_CONTROL, 2), number, number, number);
    } else if (shape < 6) {
        vy_string_format(&w->out, "for v%u in %uu32 .. %u {\n", number, access_below(w, 3), 1 + access_below(w, 4));
    } else if (shape < 7) {
        vy_string_format(&w->out, "for down in %ui32 .. i32((%s) %% 5) - 1 step -1 {\nlet v%u = u32(down)\n",
                         access_below(w, 4), access_expression(w, ACCESS_CONTROL, 2), number);
    } else {
        const char *from =
            access_below(w, 2) ? "0u32" : access_text("(%s) & 3", access_expression(w, ACCESS_CONTROL, 1));
        vy_string_format(&w->out, "for v%u in %s .. (%s) %% 5%s {\n", number, from,
                         access_expression(w, ACCESS_CONTROL, 2), access_below(w, 4) ? "" : " step 2");
    }
    uint32_t names = w->name_count;
    if (w->name_count < ACCESS_NAMES)
        w->names[w->name_count++] = (access_name){ACCESS_CONTROL, 0, number};
    w->loops++;
    access_nested(w, statements);
    w->loops--;
    w->name_count = names;
    vy_string_add(&w->out, "}\n");
}

static inline void access_if(access_writer *w) {
    vy_string_format(&w->out, "if %s {\n", access_expression(w, ACCESS_TEST, 2));
    access_nested(w, 1 + access_below(w, 3));
    if (access_below(w, 3) == 0) {
        vy_string_add(&w->out, "} else {\n");
        access_nested(w, 1 + access_below(w, 3));
    }
    vy_string_add(&w->out, "}\n");
}

static inline void access_leave(access_writer *w) {
    const char *how = access_below(w, 6) || w->knobs.is_plain ? "return" : "trap 3";
    if (w->loops && access_below(w, 8))
        how = ACCESS_PICK(w, "break", "continue");
    w->has_returned |= strcmp(how, "return") == 0;
    vy_string_format(&w->out, "if %s { %s }\n", access_expression(w, ACCESS_TEST, 2), how);
}

static inline void access_atomic(access_writer *w, const char *memory, const char *index, const char *value) {
    const char *order = ACCESS_PICK(w, "relaxed", "acq_rel", "release", "acquire"), *op = NULL;
    uint32_t shape = w->knobs.is_plain ? 0 : access_below(w, 5);
    if (w->knobs.is_plain || w->knobs.is_relaxed || (shape == 1 && strcmp(order, "release") != 0) ||
        (shape == 2 && strcmp(order, "acquire") != 0))
        order = "relaxed";
    const char *how = *memory == 's' || access_below(w, 2)
                          ? access_text("<%s>", order)
                          : access_text("<%s, %s>", order, ACCESS_PICK(w, "device", "device", "workgroup"));
    switch (shape) {
    case 1:
        vy_string_format(&w->out, "atomic_store%s(%s[%s], %s)\n", how, memory, index, value);
        return;
    case 2:
        access_declare(w, ACCESS_DATA, 0, access_text("atomic_load%s(%s[%s])", how, memory, index));
        return;
    case 3:
        access_declare(w, ACCESS_DATA, 0,
                       access_text("atomic_compare_exchange%s(%s[%s], %u, %u)", how, memory, index, access_below(w, 3),
                                   access_below(w, 3)));
        return;
    default:
        op = ACCESS_PICK(w, "add", "max", "xor", "exchange");
        vy_string_format(&w->out, "atomic_%s%s(%s[%s], %s)\n", w->knobs.is_plain ? "add" : op, how, memory, index,
                         value);
    }
}

static inline void access_store(access_writer *w) {
    const char *value = access_expression(w, ACCESS_DATA, ACCESS_DEPTH);
    const char *memory =
        w->knobs.is_plain ? ACCESS_PICK(w, "a", "b", "o") : ACCESS_PICK(w, "a", "b", "s", "s", "p", "o");
    const char *index = access_index(w, *memory, 1);
    if (access_below(w, 8) == 0 && *memory != 'p' && *memory != 'o')
        access_atomic(w, memory, index, value);
    else
        vy_string_format(&w->out, "%s[%s] = %s\n", memory, index, value);
}

static inline void access_statement(access_writer *w) {
    int may_nest = w->nesting < ACCESS_NESTING && w->budget > 0;
    if (w->budget)
        w->budget--;
    const char *name;
    switch (access_below(w, may_nest ? 14 : 8)) {
    case 0:
        access_declare(w, ACCESS_CONTROL, 0, access_expression(w, ACCESS_CONTROL, ACCESS_DEPTH));
        return;
    case 1:
        access_declare(w, ACCESS_DATA, (int)access_below(w, 2), access_expression(w, ACCESS_DATA, ACCESS_DEPTH));
        return;
    case 2:
        name = access_variable(w, ACCESS_DATA, 1);
        if (name)
            vy_string_format(&w->out, "%s = %s\n", name, access_expression(w, ACCESS_DATA, ACCESS_DEPTH));
        return;
    case 3:
    case 4:
    case 5:
        access_store(w);
        return;
    case 6:
        if (w->nesting > 0)
            access_leave(w);
        return;
    case 7:
        if (w->knobs.is_plain)
            return;
        if (access_below(w, 3) == 0)
            access_declare(w, ACCESS_DATA, 0,
                           access_text("pick(%s, %s, %s)", ACCESS_PICK(w, "a", "b"), access_index(w, 'a', 1),
                                       access_expression(w, ACCESS_CONTROL, 2)));
        else if (w->nesting == 0 && !w->has_returned && access_below(w, 4) == 0)
            access_declare(w, ACCESS_DATA, 0,
                           access_text("workgroup_reduce_add(%s)", access_expression(w, ACCESS_DATA, 2)));
        else if (w->nesting == 0 && !w->has_returned)
            vy_string_add(&w->out, "barrier\n");
        return;
    case 8:
    case 9:
        access_if(w);
        return;
    default:
        access_loop(w);
        return;
    }
}

static inline void access_block(access_writer *w, unsigned statements) {
    for (unsigned k = 0; k < statements; k++)
        access_statement(w);
}

/* The text of a program; free it. Its inputs: n, c (ACCESS_CONTROLS), a and b (ACCESS_ELEMENTS each), r (8). */
static inline void access_program(vy_random *random, access_knobs knobs, vy_string *out) {
    int is_plain = knobs.is_plain;
    access_writer w = {.random = random, .knobs = knobs, .budget = is_plain ? 10 : 24};
    w.is_calm = access_below(&w, 2) == 0;
    vy_string_add(&w.out, "fn pick(u: buffer [u32] read_write, at: u32, from: u32) -> u32 {\nif from > at { return 7 "
                          "}\nreturn u[at] }\n");
    vy_string_format(&w.out,
                     "program p {\nparam n : u32\nbuffer c : u32 read\nbuffer a : u32 read_write\nbuffer b : u32 "
                     "read_write\nbuffer r : u32 read\nbuffer o : u32 write count %u\nworkgroup 4\ngrid %u\n",
                     ACCESS_ELEMENTS, ACCESS_GROUPS);
    if (!is_plain)
        vy_string_add(&w.out, "array s : u32 [8] workgroup\narray p : u32 [4] private\n");
    vy_string_add(&w.out, "let i = global_id.x\nlet l = local_index\n");
    if (w.is_calm && !is_plain && access_below(&w, 2))
        vy_string_add(&w.out, "s[l] = i\nbarrier\n");
    access_block(&w, (is_plain ? 2 : 6) + access_below(&w, 6));
    vy_string_format(&w.out, "o[i] = %s\n}\n", access_expression(&w, ACCESS_DATA, ACCESS_DEPTH));
    *out = w.out;
}

/* What control depends on, and everything else that is read. */
static inline vyre_arguments access_arguments(vy_random *random, uint32_t *data, vyre_span inputs[4], vyre_scalar *n) {
    static const uint32_t sizes[] = {ACCESS_CONTROLS, ACCESS_ELEMENTS, ACCESS_ELEMENTS, 8};
    for (unsigned k = 0, at = 0; k < 4; at += sizes[k++]) {
        for (unsigned i = 0; i < sizes[k]; i++)
            data[at + i] = (uint32_t)vy_random_below(random, 6);
        inputs[k] = (vyre_span){data + at, sizes[k] * sizeof *data};
    }
    *n = (vyre_scalar){VYRE_TYPE_U32, vy_random_below(random, 4)};
    return (vyre_arguments){.params = n, .param_count = 1, .inputs = inputs, .input_count = 4};
}

#endif
