/* State of the bytecode compiler, shared by compile.c (statements, expressions) and compile_registers.c (liveness,
 * registers, emission). */
#ifndef VY_ORACLE_COMPILE_H
#define VY_ORACLE_COMPILE_H

#include "ir/eval.h"
#include "ir/model.h"
#include "vyre/oracle.h"

/* Bytecode of the oracle: a register machine whose registers are vectors of lanes.
 *
 * A warp is a set of invocations that execute in lockstep. Register r of a warp is `stride` consecutive uint64_t, one
 * canonical value per lane. Kernels (ir/eval.h) compute all lanes, active or not, because ops are pure and total.
 * Instructions with side effects (assignment, store, atomic, print, trap) respect the mask. Two invariants keep this
 * sound:
 *  - A register holds values of one type only, so an inactive lane holds an old but canonical value.
 *  - `let` and `var` may write all lanes: a lane that is inactive there cannot reach a use without executing the
 *    declaration.
 *
 * Control flow: the mask is the set of active lanes; the others wait in slots. An `if` has one slot (first the lanes of
 * the else branch, then lanes that finished the then branch), a loop has two (lanes that left it; lanes that continue
 * with the next trip). An instruction that may empty the mask has a target: the next point where lanes reconverge (the
 * join). So no instruction runs without an active lane. */
/* See the handlers in warp.c. Fields not named are unused. */
typedef enum vy_opcode {
    VY_OPCODE_OP,          /* r = kernel(a, b, c), all lanes */
    VY_OPCODE_OP_MASKED,   /* the same, active lanes only */
    VY_OPCODE_MOVE,        /* r = a, all lanes */
    VY_OPCODE_MOVE_MASKED, /* the same, active lanes only */
    VY_OPCODE_FILL,        /* r = value, all lanes */
    VY_OPCODE_LOAD,        /* r = memory b at a */
    VY_OPCODE_STORE,       /* memory c at a = b */
    VY_OPCODE_ATOMIC,      /* r (may be VY_NONE) = memory `value` at a, with b and c */
    VY_OPCODE_STEP,        /* counts r statements and a expression nodes per active lane */
    VY_OPCODE_IF,          /* lanes without a to `slot`; none left: target */
    VY_OPCODE_ELSE,        /* exchange with `slot`; none: target */
    VY_OPCODE_ENDIF,       /* lanes of `slot` are reactivated; none: target */
    VY_OPCODE_LOOP,        /* empties `slot` and `slot` + 1 */
    VY_OPCODE_WHILE,       /* lanes without a to `slot`; none: target */
    VY_OPCODE_NEXT,        /* lanes of `slot` + 1 are reactivated; any: target */
    VY_OPCODE_EXIT,        /* lanes of `slot` are reactivated; none: target */
    VY_OPCODE_FOR,         /* r = a, register `value` = trips of a .. b step c (VY_NONE = 1) */
    VY_OPCODE_FOR_TEST,    /* as WHILE, with trips a != 0 */
    VY_OPCODE_FOR_NEXT,    /* as NEXT, and r += c, a -= 1 */
    VY_OPCODE_BREAK,       /* mask to `slot`; target */
    VY_OPCODE_CONTINUE,    /* mask to `slot` + 1; target */
    VY_OPCODE_RETURN,      /* mask ends; target */
    VY_OPCODE_TRAP,        /* mask ends with code a; target */
    VY_OPCODE_BARRIER,     /* waits for the workgroup */
    VY_OPCODE_COLLECTIVE,  /* the same, then r = result for a, b */
    VY_OPCODE_PRINT,       /* `site`, arguments: registers lists[a …] */
    /* Level legal only (lowered_env.h). */
    VY_OPCODE_INSIDE,     /* violation unless r elements of memory b from a on exist, and are aligned if r > 1 */
    VY_OPCODE_LOAD_WIDE,  /* registers lists[r …] = c elements of memory b from a on */
    VY_OPCODE_STORE_WIDE, /* the reverse */
    VY_OPCODE_REPORT,     /* as TRAP, but execution continues */
    VY_OPCODE_POLL,       /* r = whether the dispatch must end; register a counts the polls of a lane */
    VY_OPCODE_END         /* end of the warp */
} vy_opcode;

/* A register reference with this bit set names a shared register: the same value in every lane of every warp. */
#define VY_SHARED 0x80000000u

typedef struct vy_instruction {
    uint8_t code;
    uint8_t type;       /* of the element, the loop variable or the operands of a collective */
    uint8_t index_type; /* load, store, atomic */
    uint8_t site_is_expression;
    uint32_t site; /* the expression (load) or statement of origin, for diagnostics */
    uint32_t r, a, b, c;
    union {
        vy_kernel *kernel;
        uint64_t value;
        struct {
            uint32_t target, slot;
        };
    };
} vy_instruction;

/* Source of the value of a shared register. */
typedef enum vy_shared_kind {
    VY_SHARED_LITERAL,
    VY_SHARED_PARAM,
    VY_SHARED_LEN,
    VY_SHARED_BUILTIN,
    VY_SHARED_MISALIGNMENT,
    VY_SHARED_GARBAGE /* the seed, for approximate ops */
} vy_shared_kind;
typedef struct vy_shared_value {
    uint8_t kind;
    uint8_t axis;
    uint32_t index; /* param, buffer or builtin */
    uint64_t bits;  /* literal */
} vy_shared_value;

/* A register that holds an id of the invocation; set when a warp starts. */
typedef struct vy_id_register {
    uint8_t builtin, axis;
    uint32_t r;
} vy_id_register;

/* Kinds of access that the race detector distinguishes. Atomics load or modify the element, with device or workgroup
 * scope. */
typedef enum vy_access_kind {
    VY_ACCESS_WRITE,
    VY_ACCESS_READ,
    VY_ACCESS_DEVICE_LOAD,
    VY_ACCESS_GROUP_LOAD,
    VY_ACCESS_DEVICE_CHANGE,
    VY_ACCESS_GROUP_CHANGE,
    VY_ACCESS_COUNT
} vy_access_kind;

static inline int vy_access_is_atomic(vy_access_kind kind) {
    return kind >= VY_ACCESS_DEVICE_LOAD;
}

/* Only its workgroup can access a workgroup array, so its atomics count as device scope. */
static inline vy_access_kind vy_atomic_access(const vy_stmt *atomic, vy_space space) {
    int is_load = atomic->op == VYRE_ATOMIC_LOAD;
    if (atomic->scope == VYRE_SCOPE_WORKGROUP && space == VY_SPACE_BUFFER)
        return is_load ? VY_ACCESS_GROUP_LOAD : VY_ACCESS_GROUP_CHANGE;
    return is_load ? VY_ACCESS_DEVICE_LOAD : VY_ACCESS_DEVICE_CHANGE;
}

/* A memory of the entry, and how the program accesses it. */
typedef struct vy_oracle_memory {
    uint8_t space, type;
    uint8_t accesses;     /* by any statement: bits 1 << vy_access_kind */
    uint32_t elements;    /* arrays */
    uint32_t offset;      /* arrays: bytes from the start of the workgroup's or lane's block */
    const uint8_t *table; /* constant arrays */
} vy_oracle_memory;

struct vyre_oracle {
    vyre_program *program; /* after inlining */
    VY_VECTOR(vy_instruction) code;
    VY_VECTOR(vy_shared_value) shared;
    VY_VECTOR(vy_id_register) ids;
    VY_VECTOR(vy_oracle_memory) memories;
    VY_VECTOR(uint32_t) lists; /* of registers: the operands of print and of wide accesses */
    uint32_t registers;        /* of a warp */
    uint32_t polls;            /* the register that counts polls; VY_NONE if there are none */
    uint32_t slots;
    uint32_t workgroup_bytes; /* arrays of a workgroup, each aligned to 8 */
    uint32_t private_bytes;   /* arrays of a lane, likewise */
    uint8_t has_sync;         /* has a barrier or collective */
    uint8_t grid_barrier;
    uint8_t is_legal;  /* of level legal: arrays start with garbage */
    uint8_t orders;    /* has an atomic that acquires or releases */
    uint8_t serial;    /* results depend on the schedule: one thread, ascending order */
    uint8_t is_device; /* ops are computed as by a device with the profile `exact` (adversarial_device.h) */
    uint64_t exact;
};

/* Compiles oracle->program into the other fields of the oracle, which must be zero. */
vyre_status vy_oracle_compile(vyre_oracle *oracle, vyre_error *error);

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
