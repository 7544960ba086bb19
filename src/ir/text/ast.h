/* The syntax tree of a file. Everything lies in one arena; names are vy_intern_pool of the lexer.
 *
 * The parser fills it in once. Lowering writes only the fields marked so, and writes them anew each time a tree is
 * lowered: a function is lowered once for the library and once for each program that reaches it. */
#ifndef VY_IR_TEXT_AST_H
#define VY_IR_TEXT_AST_H

#include "ir/model.h"
#include "ir/text/number.h"

/* Types of expressions while a text is read: a vyre_type, or one of these. */
enum {
    VY_TYPE_OPEN = VYRE_TYPE_COUNT, /* made of literals without suffix: waits for a type from its context */
    VY_TYPE_BAD                     /* wrong, and reported already: fits everything */
};

/* ---- expressions ---- */

typedef enum vy_node_kind {
    VY_NODE_BAD,          /* reported already */
    VY_NODE_NUMBER,       /* number, negative */
    VY_NODE_BITS,         /* type_name and value: true, false, inf, nan */
    VY_NODE_NAME,         /* name: variable, param, const, or (as an argument) a memory */
    VY_NODE_INDEX,        /* name[a]; op = VY_BOUNDS_UNCHECKED: name![a], or name![a if b] */
    VY_NODE_LEN,          /* len(name) */
    VY_NODE_BUILTIN,      /* op = vyre_builtin, axis */
    VY_NODE_OP,           /* op = vyre_op of a, b, c */
    VY_NODE_CAST,         /* type_name(a); of a literal without suffix: that literal, with axis set by lowering */
    VY_NODE_BITCAST,      /* bitcast<type_name>(a) */
    VY_NODE_MISALIGNMENT, /* misalignment(a), a name; made by lowering of a call, as are the ops of level legal */
    VY_NODE_ATOMIC, /* op = vyre_atomic on a (an index) with b, c; order, scope; axis: the usual scope. From here on: effects */
    VY_NODE_COLLECTIVE, /* name = its word, op = vyre_collective of a, b; combine, scope 1 = subgroup of `width` (as a number: axis) */
    VY_NODE_CALL,    /* name = function; arguments a, a->next, …; in sizes also div_ceil */
    VY_NODE_OP_CALL, /* name = dotted op id (interned whole); arguments likewise */
    /* Of level legal: lowering makes them of calls. name = their word; arguments likewise. */
    VY_NODE_LOAD_WIDE,
    VY_NODE_STORE_WIDE,
    VY_NODE_REPORT,
    VY_NODE_POLL
} vy_node_kind;

typedef struct vy_node vy_node;
struct vy_node {
    uint8_t kind, op, axis, type_name;
    uint8_t order, scope, combine, negative; /* order, scope: COUNT means the default */
    uint16_t depth;                          /* operators below, on the longest path */
    uint8_t type;                            /* lowering: type of the value */
    uint8_t is_literal;                      /* lowering: stands for `bits` */
    uint32_t count;                          /* arguments */
    uint32_t name;
    uint32_t variable; /* lowering: what the name or the hoisted effect is bound to */
    vy_position at;    /* the token that stands for the node: operator, name, literal */
    vy_node *next;     /* in a list of arguments */
    vy_node *a, *b;
    union {
        vy_node *c;
        uint64_t bits; /* lowering: value of a literal or const, which has no operands */
    };
    union {
        const vy_number *number;
        uint64_t value;
        vy_node *width; /* collectives over a subgroup */
    };
};

static inline int vy_node_is_effect(const vy_node *node) {
    return node->kind >= VY_NODE_ATOMIC;
}

/* ---- statements ---- */

/* A name being declared, with its type where one is written (VYRE_TYPE_COUNT otherwise). */
typedef struct vy_declared vy_declared;
struct vy_declared {
    uint32_t name;
    uint8_t type;
    vy_position at;
    vy_declared *next;
};

typedef enum vy_syntax {
    VY_SYNTAX_LET,    /* names = a; `let (…)` too, with grouped set */
    VY_SYNTAX_VAR,    /* names = a */
    VY_SYNTAX_ASSIGN, /* target (name or index) = a, or op= with op != VYRE_OP_COUNT */
    VY_SYNTAX_CALL,   /* a: an effect */
    VY_SYNTAX_BARRIER,
    VY_SYNTAX_GRID_BARRIER,
    VY_SYNTAX_TRAP,  /* a */
    VY_SYNTAX_PRINT, /* text; a, a->next, … */
    VY_SYNTAX_IF,    /* a; body; other */
    VY_SYNTAX_FOR,   /* names in a .. b step c; body */
    VY_SYNTAX_WHILE, /* a; body */
    VY_SYNTAX_BREAK,
    VY_SYNTAX_CONTINUE,
    VY_SYNTAX_RETURN, /* a, a->next, … */
    VY_SYNTAX_REGION  /* text; body */
} vy_syntax;

typedef struct vy_statement vy_statement;
struct vy_statement {
    uint8_t kind; /* vy_syntax */
    uint8_t op;
    uint8_t grouped;
    uint32_t count; /* arguments or names */
    vy_position at; /* keyword, or the first token */
    vy_declared *names;
    vy_node *target, *a, *b, *c;
    const char *text;
    uint32_t length;
    vy_statement *body, *other, *next;
};

/* ---- declarations ---- */

/* Every declaration that makes a memory or a parameter. */
typedef struct vy_item vy_item;
struct vy_item {
    uint32_t name;
    vy_position at;
    uint8_t is_memory;
    uint8_t space, type, access; /* type: VY_TYPE_BAD if it was wrong */
    vy_node *size;               /* count of a buffer or length of an array; NULL */
    uint32_t index;              /* lowering: its variable or memory */
    vy_item *next;
};

typedef struct vy_items {
    vy_item *first, **last;
    uint32_t count;
} vy_items;

/* A name that is called, in the order of the text. */
typedef struct vy_called vy_called;
struct vy_called {
    uint32_t name;
    vy_called *next;
};

/* A function or a program. */
typedef struct vy_unit vy_unit;
struct vy_unit {
    uint32_t name;
    vy_position at;
    int is_program;
    int is_bad;       /* has errors: no program is made of it */
    int is_broken;    /* the error is in its head: what it takes and gives is not known */
    vy_items params;  /* functions: scalars and memories as written; programs: params */
    vy_items buffers; /* programs */
    vy_items arrays;
    vy_items broken; /* names of declarations that went wrong: known, as nothing in particular */
    vy_declared *results;
    uint32_t result_count;
    /* Programs. */
    uint8_t numerics, level, grid_kind;
    uint8_t has_numerics, has_level, has_workgroup, has_grid;
    uint32_t workgroup_count, grid_count;
    vy_node *workgroup[3], *grid[3];
    uint32_t grid_name; /* over, indirect */
    vy_position grid_name_at;
    vy_position workgroup_at;
    vy_statement *body;
    vy_called *calls;
    uint32_t ordinal;    /* place in the file, among its kind */
    uint32_t index;      /* lowering: its function in the program being made */
    uint32_t reached_by; /* lowering: stamp of the last program that reached it */
    vy_unit *next;
};

typedef struct vy_const {
    uint32_t name;
    vy_position at;
    uint8_t type; /* declared, or VYRE_TYPE_COUNT; after evaluation the type, or VY_TYPE_BAD */
    vy_node *value;
    uint64_t bits;
    int is_known;       /* evaluated */
    const char *define; /* the text that overrides its value, or NULL */
    struct vy_const *next;
} vy_const;

typedef struct vy_file {
    uint8_t level, has_level; /* of its functions, where it says so */
    vy_const *consts;
    vy_unit *functions, *programs;
} vy_file;

#endif
