/* The compiler's state, and what its files share:
 *
 *   liveness.c          how long variables live
 *   compile_emit.c     instructions and registers
 *   compile_expr.c     expressions
 *   compile_memory.c   statements with an effect
 *   compile.c          control, declarations, the program */
#ifndef VY_ORACLE_COMPILE_H
#define VY_ORACLE_COMPILE_H

#include "oracle/bytecode.h"

#define VY_LITERAL_SLOTS 256

/* The life of a variable of the entry, by its place in the entry's range. */
typedef struct vy_live_interval {
    uint32_t root;       /* the variable whose register it uses: itself, or the one it is another name for */
    uint32_t next;       /* next variable that expires at the same statement */
    uint32_t stmt;       /* the declaring statement; 0 for params */
    uint32_t last;       /* of a root: the statement, or loop, after which no name of it is used; VY_NONE for params */
    uint32_t r;          /* register */
    uint8_t is_borrowed; /* `r` belongs to a literal, a len or an id, not to the variable */
} vy_live_interval;

typedef struct vy_oracle_compiler {
    vyre_oracle *oracle;
    const vyre_program *program;
    const vy_function *entry;
    int failed;          /* out of memory: emission goes on harmlessly and is thrown away */
    const char *refused; /* an op that the device has not; NULL if none */
    vyre_type refused_type;
    vy_instruction sink;
    /* From liveness.c: one block of memory. */
    void *block;
    size_t block_size;
    vy_live_interval *lives;
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
} vy_oracle_compiler;

/* Fills the part from liveness.c. Returns 0 when memory is out. */
int vy_oracle_compiler_liveness(vy_oracle_compiler *compiler);
void vy_oracle_compiler_free(vy_oracle_compiler *compiler);

/* ---- compile_emit.c. When memory is out, c->failed is set and what is given is harmless. ---- */

/* Appends an instruction of the current statement. The pointer is valid until the next one. */
vy_instruction *vy_emit(vy_oracle_compiler *c, vy_opcode code);
uint32_t vy_emit_here(const vy_oracle_compiler *c); /* where the next one will stand */
/* Instructions that wait for the same target are chained, from VY_NONE on, until vy_emit_patch says that it is here. */
vy_instruction *vy_emit_jump(vy_oracle_compiler *c, vy_opcode code, uint32_t slot, uint32_t *chain);
void vy_emit_patch(vy_oracle_compiler *c, uint32_t chain);

uint32_t vy_register_new(vy_oracle_compiler *c, uint8_t type);
void vy_register_free(vy_oracle_compiler *c, uint8_t type, uint32_t r);
uint32_t vy_output_slots_new(vy_oracle_compiler *c, uint32_t count); /* given back by c->slots -= count */
/* Registers that hold what never changes; VY_NONE for a literal, or what is as constant, when there are too many. */
uint32_t vy_register_shared(vy_oracle_compiler *c, const vy_shared_value *value);
uint32_t vy_register_literal(vy_oracle_compiler *c, uint64_t bits);
uint32_t vy_register_variable(const vy_oracle_compiler *c, uint32_t variable);
uint32_t vy_register_len(vy_oracle_compiler *c, uint32_t memory);
uint32_t vy_register_misalignment(vy_oracle_compiler *c, uint32_t memory);
uint32_t vy_register_garbage(vy_oracle_compiler *c);
uint32_t vy_register_builtin(vy_oracle_compiler *c, uint8_t builtin, uint8_t axis);

#endif
