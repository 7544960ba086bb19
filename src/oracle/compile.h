/* The compiler's state, shared by compile.c and analyse.c. */
#ifndef VY_ORACLE_COMPILE_H
#define VY_ORACLE_COMPILE_H

#include "oracle/bytecode.h"

#define VY_LITERAL_SLOTS 256

/* The life of a variable of the entry, by its place in the entry's range. */
typedef struct vy_life {
    uint32_t root;       /* the variable whose register it uses: itself, or the one it is another name for */
    uint32_t next;       /* next variable that expires at the same statement */
    uint32_t stmt;       /* the declaring statement; 0 for params */
    uint32_t last;       /* of a root: the statement, or loop, after which no name of it is used; VY_NONE for params */
    uint32_t r;          /* register */
    uint8_t is_borrowed; /* `r` belongs to a literal, a len or an id, not to the variable */
} vy_life;

typedef struct vy_compiler {
    vyre_oracle *oracle;
    const vyre_program *program;
    const vy_function *entry;
    int failed;          /* out of memory: emission goes on harmlessly and is thrown away */
    const char *refused; /* an op that the device has not; NULL if none */
    vyre_type refused_type;
    vy_instruction sink;
    /* From analyse.c: one block of memory. */
    void *block;
    size_t block_size;
    vy_life *lives;
    uint32_t *expires;     /* per statement of the entry: first variable whose life ends there */
    uint32_t *node_counts; /* per statement of the entry: its expression nodes */
    uint8_t *has_load;     /* per expression of the entry */
    uint32_t first_expr;   /* of the entry */
    /* Emission. */
    VY_VECTOR(uint32_t) free[VYRE_TYPE_COUNT];
    uint32_t literals[VY_LITERAL_SLOTS], literal_count;
    uint32_t lens[VY_LIMIT_BUFFERS], misalignments[VY_LIMIT_BUFFERS];
    uint32_t garbage; /* the register of the seed */
    uint32_t builtins[VYRE_BUILTIN_COUNT][3];
    uint32_t slots;     /* in use */
    uint32_t loop_slot; /* of the innermost loop */
    uint32_t step;      /* the open STEP instruction */
    uint32_t stmt;
    uint32_t nodes;
} vy_compiler;

/* Fills the part from analyse.c. Returns 0 when memory is out. */
int vy_compiler_analyse(vy_compiler *compiler);
void vy_compiler_free(vy_compiler *compiler);

#endif
