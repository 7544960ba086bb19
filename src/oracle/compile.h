/* State of the bytecode compiler, shared by compile.c (statements, expressions) and compile_registers.c (liveness,
 * registers, emission). */
#ifndef VY_ORACLE_COMPILE_H
#define VY_ORACLE_COMPILE_H

#include "oracle/bytecode.h"

#define VY_LITERAL_SLOTS 256

/* Live interval of a variable, indexed from the first variable of the entry. */
typedef struct vy_live_interval {
    uint32_t root;       /* the variable whose register it uses: itself, or the one that it is an alias of */
    uint32_t next;       /* next variable that expires at the same statement */
    uint32_t stmt;       /* the declaring statement; 0 for params */
    uint32_t last;       /* of a root: the statement or loop after which no alias of it is used; VY_NONE for params */
    uint32_t r;          /* register */
    uint8_t is_borrowed; /* `r` belongs to a literal, a len or an id, not to the variable */
} vy_live_interval;

typedef struct vy_oracle_compiler {
    vyre_oracle *oracle;
    const vyre_program *program;
    const vy_function *entry;
    int failed;          /* out of memory: emission continues harmlessly and is discarded */
    const char *refused; /* an op that the device lacks; NULL if none */
    vyre_type refused_type;
    vy_instruction sink;
    /* Results of the liveness analysis, in one block of memory. */
    void *block;
    size_t block_size;
    vy_live_interval *lives;
    uint32_t *expires;     /* per statement of the entry: first variable whose live interval ends there */
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

/* Liveness analysis: fills the results above. Returns 0 if memory is exhausted. */
int vy_oracle_compiler_liveness(vy_oracle_compiler *compiler);
void vy_oracle_compiler_free(vy_oracle_compiler *compiler);

/* ---- emission and registers (compile_registers.c). If memory is exhausted, c->failed is set and the results are
 * harmless ---- */

/* Appends an instruction of the current statement. The pointer is valid until the next call. */
vy_instruction *vy_emit(vy_oracle_compiler *c, vy_opcode code);
uint32_t vy_emit_here(const vy_oracle_compiler *c); /* index of the next instruction */
/* Jumps with the same unknown target are chained, starting from VY_NONE, until vy_emit_patch sets the target to the
 * next instruction. */
vy_instruction *vy_emit_jump(vy_oracle_compiler *c, vy_opcode code, uint32_t slot, uint32_t *chain);
void vy_emit_patch(vy_oracle_compiler *c, uint32_t chain);

uint32_t vy_register_new(vy_oracle_compiler *c, uint8_t type);
void vy_register_free(vy_oracle_compiler *c, uint8_t type, uint32_t r);
uint32_t vy_output_slots_new(vy_oracle_compiler *c, uint32_t count); /* freed by c->slots -= count */
/* Shared registers hold constants. VY_NONE for a literal, or a value that is as constant, if there are too many. */
uint32_t vy_register_shared(vy_oracle_compiler *c, const vy_shared_value *value);
uint32_t vy_register_literal(vy_oracle_compiler *c, uint64_t bits);
uint32_t vy_register_variable(const vy_oracle_compiler *c, uint32_t variable);
uint32_t vy_register_len(vy_oracle_compiler *c, uint32_t memory);
uint32_t vy_register_misalignment(vy_oracle_compiler *c, uint32_t memory);
uint32_t vy_register_garbage(vy_oracle_compiler *c);
uint32_t vy_register_builtin(vy_oracle_compiler *c, uint8_t builtin, uint8_t axis);

#endif
