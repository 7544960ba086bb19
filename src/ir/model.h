/* The program model: the data structures of a finished program.
 *
 * All parts are in arrays and refer to each other by index. Statements are flat, in pre-order: the body of a structured
 * statement follows it directly, and `end` is the index of its next sibling, so a walk needs neither a stack to skip
 * nor pointers. Expressions are trees without sharing: every node is used exactly once, operands precede their
 * operator, and the trees of a statement are in the order of its operands (a, b, c, then args). Variables are numbered
 * in the order of their declaring statements. Functions precede the entry, each with a contiguous range of every array,
 * callees in any order. So one program has exactly one layout, and two programs are equal if their wire forms are.
 *
 * A vyre_program that a caller holds is always valid: parser, builder and decoder run the validator before they return
 * one (vy_irb_finish). Code that receives a program relies on that and does not check again. Between the steps of a
 * transform a program is assumed to be valid; it is checked after the last step (vy_program_verify).
 *
 * Positions are in separate arrays and not part of a program's identity. */
#ifndef VY_IR_MODEL_H
#define VY_IR_MODEL_H

#include "base/diagnostics.h"
#include "base/intern.h"
#include "base/memory.h"
#include "ir/number.h"
#include "ir/op_tables.h"
#include "vyre/op.h"
#include "vyre/program.h"

#include <stdatomic.h>

/* Limits of the language. They bound memory, recursion and time for untrusted programs and far exceed those of
 * hand-written ones. The validator, the parser and the decoder use the same numbers. */
enum {
    VY_LIMIT_NAME = 128,             /* bytes in a name or op id */
    VY_LIMIT_STRING = 4096,          /* bytes in a print format */
    VY_LIMIT_EXPRESSION_DEPTH = 512, /* operators on one path: bounds every recursion over expressions */
    VY_LIMIT_NESTING = 128,          /* blocks inside blocks: bounds every recursion over statements */
    VY_LIMIT_CALL_DEPTH = 64,
    VY_LIMIT_PARAMS = 255,  /* scalar params of a program, all parameters of a function */
    VY_LIMIT_BUFFERS = 255, /* bindings of a program */
    VY_LIMIT_ARRAYS = 255,  /* arrays of a program or function */
    VY_LIMIT_RESULTS = 16,  /* of a function */
    VY_LIMIT_WIDE = 16,     /* elements, and bytes, of one wide access */
    VY_LIMIT_FUNCTIONS = 4096,
    VY_LIMIT_PROGRAMS = 4096,       /* in a text */
    VY_LIMIT_STATEMENTS = 1 << 20,  /* in a program, before and after inlining; in a text, with its declarations */
    VY_LIMIT_EXPRESSIONS = 1 << 22, /* likewise */
    VY_LIMIT_WORKGROUP = 1024,      /* invocations of a workgroup */
    VY_LIMIT_WORKGROUP_BYTES = 1 << 20,
    VY_LIMIT_PRIVATE_BYTES = 1 << 16,    /* of one invocation */
    VY_LIMIT_CONSTANT_BYTES = 1 << 20,   /* of the tables of a program */
    VY_LIMIT_TEXT_TABLE_BYTES = 1 << 26, /* of the tables of all programs of a text */
    VY_LIMIT_TABLES = 4096,              /* of a program */
    VY_LIMIT_SOURCE_BYTES = 1 << 28,     /* of a text file */
    VY_LIMIT_WIRE_BYTES = 1 << 28
};

#define VY_NONE UINT32_MAX

/* ---- expressions: pure except loads ---- */

typedef enum vy_expr_kind {
    VY_EXPR_LITERAL,      /* type, bits (proper value: canonical NaN, excess bits zero) */
    VY_EXPR_VARIABLE,     /* a = variable: a let, var, loop variable, result, function parameter or program param */
    VY_EXPR_LOAD,         /* memory = a, index = b (any integer type), op = vy_bounds_check; out of bounds loads zero */
    VY_EXPR_LEN,          /* memory = a; u32 */
    VY_EXPR_BUILTIN,      /* op = vyre_builtin, axis 0..2 (0 where it has no axes); u32 */
    VY_EXPR_OP,           /* op = vyre_op, operands a, b, c (VY_NONE beyond the arity) */
    VY_EXPR_ALIGN_OFFSET, /* legal: memory = a; u32: elements between the last 16-byte boundary and its start */
    VY_EXPR_KIND_COUNT
} vy_expr_kind;

typedef struct vy_expr {
    uint8_t kind;
    uint8_t type; /* vyre_type of the result */
    uint8_t op;
    uint8_t axis;
    uint32_t a, b, c;
    uint64_t bits;
} vy_expr;

/* The bounds check of an access. Unchecked accesses exist at level legal: the index is a u32 that is proven in bounds.
 * An unchecked load may have a condition c (bool): if it is false, no memory is accessed and the load yields zero. */
typedef enum vy_bounds_check { VY_BOUNDS_CHECKED, VY_BOUNDS_UNCHECKED, VY_BOUNDS_CHECK_COUNT } vy_bounds_check;

/* ---- statements ---- */

typedef enum vy_stmt_kind {
    VY_STMT_LET,        /* variable (declared here, immutable) = a */
    VY_STMT_VAR,        /* variable (declared here, mutable) = a */
    VY_STMT_ASSIGN,     /* variable (mutable, declared before) = a */
    VY_STMT_STORE,      /* memory[a] = b */
    VY_STMT_ATOMIC,     /* op = vyre_atomic on memory[a] with b, c; order, scope; results 0 or 1 */
    VY_STMT_COLLECTIVE, /* op = vyre_collective of a (and b); combine = vyre_op; width 0 = workgroup; 1 result */
    VY_STMT_CALL,       /* callee = function, or VY_NONE and name = op id; args; all results bound or none */
    VY_STMT_BARRIER,    /* scope: workgroup, or device = the grid barrier */
    VY_STMT_TRAP,       /* a = code, u32 */
    VY_STMT_PRINT,      /* name = format with one {} per arg; oracle only */
    VY_STMT_IF,         /* a = condition; then: [this+1, middle), else: [middle, end), middle == end if there is none */
    VY_STMT_FOR,        /* variable (declared here) from a to b (exclusive) step c (VY_NONE = 1); body [this+1, end) */
    VY_STMT_WHILE,      /* a = condition, evaluated before each iteration; body [this+1, end) */
    VY_STMT_BREAK,
    VY_STMT_CONTINUE,
    VY_STMT_RETURN, /* args: one value per result of the function */
    /* name = where the code came from (an op id or function name); body [this+1, end), a separate scope */
    VY_STMT_REGION,
    /* At level legal only. */
    /* results = memory[a], memory[a + 1], …: 2 to 16 of them, at most 16 bytes, aligned to their size */
    VY_STMT_LOAD_WIDE,
    VY_STMT_STORE_WIDE,  /* memory[a], memory[a + 1], … = args, likewise */
    VY_STMT_RECORD_TRAP, /* the dispatch has trapped here with code a (u32); execution continues */
    VY_STMT_POLL,        /* 1 result, bool: whether the dispatch must end (deadline, cancelled) */
    VY_STMT_KIND_COUNT
} vy_stmt_kind;

/* `for`: bounds and step are evaluated once, all of one integer type. The iterations are the mathematical sequence a,
 * a+c, … while below b (above b if c is negative); step 0 means no iteration; no value wraps. */

typedef struct vy_stmt {
    uint8_t kind;
    uint8_t op;
    uint8_t combine;
    uint8_t order;
    uint8_t scope;
    uint8_t width;
    uint8_t result_count; /* variables declared here, `variable` the first (let, var and for: 1) */
    uint8_t bounds_check; /* store, atomic: vy_bounds_check */
    uint32_t end;         /* next sibling; this + 1 for simple statements */
    uint32_t middle;      /* if: first statement of the else branch; otherwise == end */
    uint32_t variable;    /* first variable declared, or the one assigned; VY_NONE */
    uint32_t memory;      /* store, atomic; VY_NONE */
    uint32_t a, b, c;     /* expressions; VY_NONE */
    uint32_t args, arg_count;
    uint32_t callee;
    vy_symbol name;
} vy_stmt;

/* An argument of a call, print or return: an expression, or (call only) a memory. */
typedef struct vy_arg {
    uint32_t is_memory;
    uint32_t index;
} vy_arg;

/* ---- declarations ---- */

/* A constant array never changes and is never a parameter. Like other arrays it belongs to one function; equal contents
 * share a table of the program. */
typedef enum vy_space {
    VY_SPACE_BUFFER,
    VY_SPACE_WORKGROUP,
    VY_SPACE_PRIVATE,
    VY_SPACE_CONSTANT,
    VY_SPACE_COUNT
} vy_space;

/* A buffer, array or memory parameter. */
typedef struct vy_memory {
    vy_symbol name;
    uint8_t space;     /* vy_space */
    uint8_t type;      /* element type, not bool */
    uint8_t access;    /* vyre_access; arrays are read_write, constant arrays read */
    uint32_t size;     /* buffers: root of a size expression, or VY_NONE = set at dispatch; parameters: VY_NONE */
    uint32_t elements; /* arrays: their constant length, at least 1; buffers and parameters: 0 */
    uint32_t table;    /* constant arrays: their contents; otherwise 0 */
    vy_position position;
} vy_memory;

/* The contents of constant arrays: elements as in memory (little-endian), each a proper value (eval.h). No two tables
 * of a program have the same bytes, but the arrays that share one may differ in type. */
typedef struct vy_table {
    uint32_t offset, size; /* bytes in the program's table_bytes; the offset is a multiple of 16 */
} vy_table;

typedef struct vy_variable {
    vy_symbol name;
    uint8_t type;
    uint8_t is_mutable;
    vy_position position;
} vy_variable;

typedef struct vy_result {
    vy_symbol name; /* may be "" if it is the only one */
    uint8_t type;
} vy_result;

/* A function, or the entry (the program itself). Ranges are [first, first + count) in the program's arrays.
 *
 * Functions: `params` lists parameters in order; a scalar parameter is an immutable variable (the first ones of the
 * range), a memory parameter is a memory (the first ones of the range). After the memory parameters come the function's
 * own private arrays, which read as zero at the start of every call, and its constant arrays. A function accesses only
 * its parameters and its own arrays, never other memories of the program.
 *
 * Entry: its first `param_count` variables are the program's scalar params (immutable, uniform); its memories are the
 * buffers, in declaration order, then the arrays. It has neither entries in `params` nor results. */
typedef struct vy_function {
    vy_symbol name;
    uint32_t first_param, param_count;
    uint32_t first_result, result_count;
    uint32_t first_variable, variable_count;
    uint32_t first_memory, memory_count;
    uint32_t first_stmt, end_stmt;
    vy_position position;
} vy_function;

typedef struct vy_param {
    uint32_t is_memory;
    uint32_t index; /* variable or memory */
} vy_param;

/* ---- size expressions: counts and grids, evaluated by the host at dispatch ----
 *
 * Over mathematical integers: a result below zero or above 2^64-1 at any node, or a division by zero, is an error of
 * the dispatch. */
typedef enum vy_size_kind {
    VY_SIZE_LITERAL, /* value */
    VY_SIZE_PARAM,   /* a = variable index of an integer program param */
    VY_SIZE_LEN,     /* a = memory index of a buffer */
    VY_SIZE_ADD,
    VY_SIZE_SUB,
    VY_SIZE_MUL,
    VY_SIZE_DIV,
    VY_SIZE_REM,
    VY_SIZE_MIN,
    VY_SIZE_MAX,
    VY_SIZE_DIV_CEIL,
    VY_SIZE_KIND_COUNT
} vy_size_kind;

typedef struct vy_size {
    uint8_t kind;
    uint32_t a, b; /* operands: indices of earlier nodes; trees, each node used once */
    uint64_t value;
} vy_size;

/* ---- the program ---- */

typedef struct vy_grid {
    uint8_t kind;      /* vyre_grid_kind */
    uint32_t memory;   /* over, indirect */
    uint32_t offset;   /* indirect: first of three u32 elements */
    uint32_t sizes[3]; /* groups, elements: roots of size expressions; VY_NONE beyond the first = 1 */
} vy_grid;

/* Feature flags that the validator derives; not part of identity. */
enum {
    VY_PROGRAM_IS_SCHEDULE_DEPENDENT = 1, /* outside the guarantee of identical results (docs/bits.md) */
    VY_PROGRAM_HAS_BARRIER = 2,           /* has a workgroup barrier or collective */
    VY_PROGRAM_HAS_GRID_BARRIER = 4,
    VY_PROGRAM_HAS_ATOMIC = 8,
    VY_PROGRAM_HAS_TRAP = 16,
    VY_PROGRAM_HAS_PRINT = 32,
    VY_PROGRAM_HAS_OP_CALL = 64, /* calls an op id: must be resolved before it runs */
    VY_PROGRAM_HAS_CALL = 128    /* calls a local function */
};

/* An op whose code for a target replaces its body (dialect/link.c). A linked program calls it by a name that has a
 * digest of the code, so that the identity of the program covers the code. */
struct vyre_op_definition;
struct vyre_lowering;
typedef struct vy_lowered_op {
    const char *name; /* of its calls */
    const struct vyre_op_definition *op;
    const struct vyre_lowering *lowering;
} vy_lowered_op;

/* A keep-alive reference to the owner of the program's ops (dialect/link.c). Not part of identity. */
typedef struct vy_keepalive {
    atomic_uint references;
    uint32_t lowered_count;
    const vy_lowered_op *lowered; /* the ops that the program still calls: their code is in a target's language */
    void (*release)(struct vy_keepalive *pin); /* called when the last reference is released */
} vy_keepalive;
vy_keepalive *vy_keepalive_retain(vy_keepalive *pin); /* both ignore NULL */
void vy_keepalive_release(vy_keepalive *pin);
/* The op of a call that linking kept; NULL for any other statement. Such a call is a pure function of its arguments,
 * which are values. */
const vy_lowered_op *vy_lowered_op_of(const vyre_program *program, const vy_stmt *stmt);
/* Whether linking kept calls: all calls of ops that the program still has are such calls. */
int vy_program_is_lowered(const vyre_program *program);

struct vyre_program {
    atomic_uint references;
    vy_symbol name;
    uint8_t kind;     /* vyre_program_kind */
    uint8_t level;    /* vyre_level */
    uint8_t numerics; /* vyre_numerics */
    uint32_t facts;
    uint32_t workgroup[3];
    vy_grid grid;
    uint32_t param_count;  /* of the entry */
    uint32_t buffer_count; /* of the entry: its first memories */
    /* Set by vy_program_cache_dispatch_info, when the program is finished. */
    uint32_t input_count, output_count; /* input and output buffers of a dispatch */
    /* no count of a `write` buffer depends on its own length or that of a later one */
    uint8_t is_ordered;
    uint8_t has_counts; /* some buffer has a count in the program */
    vy_intern_pool names;
    VY_VECTOR(vy_function) functions; /* the entry is the last one, unless kind is library (no entry) */
    VY_VECTOR(vy_param) params;
    VY_VECTOR(vy_result) results;
    VY_VECTOR(vy_variable) variables;
    VY_VECTOR(vy_memory) memories;
    VY_VECTOR(vy_size) sizes;
    VY_VECTOR(vy_table) tables;
    VY_VECTOR(uint8_t) table_bytes;
    VY_VECTOR(vy_stmt) stmts;
    VY_VECTOR(vy_expr) exprs;
    VY_VECTOR(vy_arg) args;
    /* Positions, parallel to stmts and exprs, each complete or empty; expressions have positions only if statements
     * have. */
    VY_VECTOR(vy_position) stmt_positions;
    VY_VECTOR(vy_position) expr_positions;
    vy_source *source;       /* may be NULL */
    vy_keepalive *keepalive; /* may be NULL */
    vyre_digest fingerprint;
    /* The ops that the program uses, computed by the first call of vy_program_ops; not part of identity. */
    _Atomic uint64_t ops[VY_OP_SET_WORDS];
    atomic_uchar has_ops;
    uint8_t is_verified, has_fingerprint; /* 0 between the steps of a transform (irbuilder.h) */
    /* Between such steps: the program has one owner, and the next step may modify it. */
    uint8_t is_unique;
    /* Between such steps: nodes that unrolling did not emit but that count towards its limits (pass_unroll.c). */
    uint32_t uncounted_nodes;
};

static inline const char *vy_symbol_name(const vyre_program *program, vy_symbol name) {
    return name < program->names.size ? program->names.pool + name : "";
}

/* The number of invocations of a workgroup. */
static inline uint32_t vy_workgroup_invocations(const vyre_program *program) {
    return program->workgroup[0] * program->workgroup[1] * program->workgroup[2];
}

/* The result of a transform that changes nothing: the program itself, with one more reference. */
static inline vyre_status vy_program_unchanged(const vyre_program *program, vyre_program **out) {
    *out = vyre_program_retain((vyre_program *)program);
    return VYRE_OK;
}

/* An element by its index. */
static inline const vy_stmt *vy_stmt_at(const vyre_program *program, uint32_t stmt) {
    return &program->stmts.items[stmt];
}
static inline const vy_expr *vy_expr_at(const vyre_program *program, uint32_t expr) {
    return &program->exprs.items[expr];
}
static inline const vy_variable *vy_variable_at(const vyre_program *program, uint32_t variable) {
    return &program->variables.items[variable];
}
static inline const vy_memory *vy_memory_at(const vyre_program *program, uint32_t memory) {
    return &program->memories.items[memory];
}

/* The entry function is the last; a library has none. */
static inline int vy_program_has_entry(const vyre_program *program) {
    return program->kind != VYRE_PROGRAM_LIBRARY && program->functions.count != 0;
}
static inline const vy_function *vy_program_entry(const vyre_program *program) {
    return vy_program_has_entry(program) ? &program->functions.items[program->functions.count - 1] : NULL;
}
static inline int vy_is_entry(const vyre_program *program, const vy_function *function) {
    return vy_program_has_entry(program) && function == &program->functions.items[program->functions.count - 1];
}

/* The buffer of the entry that a memory is, counted in declaration order; VY_NONE for an array. */
static inline uint32_t vy_buffer_of_memory(const vyre_program *program, uint32_t memory) {
    uint32_t buffer = memory - vy_program_entry(program)->first_memory;
    return buffer < program->buffer_count ? buffer : VY_NONE;
}
/* Whether a dispatch is given the bytes of a buffer, and whether it returns them. */
static inline int vy_access_is_input(uint8_t access) {
    return access != VYRE_ACCESS_WRITE;
}
static inline int vy_access_is_output(uint8_t access) {
    return access == VYRE_ACCESS_WRITE || access == VYRE_ACCESS_READ_WRITE;
}

/* Position of a statement or expression; zeros when unknown. */
static inline vy_position vy_stmt_position(const vyre_program *program, uint32_t stmt) {
    return stmt < program->stmt_positions.count ? program->stmt_positions.items[stmt] : (vy_position){0, 0, 0};
}
static inline vy_position vy_expr_position(const vyre_program *program, uint32_t expr) {
    return expr < program->expr_positions.count ? program->expr_positions.items[expr] : (vy_position){0, 0, 0};
}

/* The elements of a constant array. */
static inline const uint8_t *vy_constant_bytes(const vyre_program *program, const vy_memory *memory) {
    return program->table_bytes.items + program->tables.items[memory->table].offset;
}

/* Whether a statement has a body. */
static inline int vy_stmt_is_structured(uint8_t kind) {
    return kind == VY_STMT_IF || kind == VY_STMT_FOR || kind == VY_STMT_WHILE || kind == VY_STMT_REGION;
}

/* Whether the operands of an op except the first are arms: a load in an arm is executed only for invocations that
 * select the arm. */
static inline int vy_op_has_arms(uint8_t op) {
    return op == VYRE_OP_SELECT || op == VYRE_OP_LAND || op == VYRE_OP_LOR;
}

static inline int vy_stmt_is_jump(uint8_t kind) {
    return kind == VY_STMT_BREAK || kind == VY_STMT_CONTINUE || kind == VY_STMT_RETURN;
}

static inline int vy_stmt_is_loop(uint8_t kind) {
    return kind == VY_STMT_FOR || kind == VY_STMT_WHILE;
}

/* Whether a loop runs at most one iteration: its body ends in a jump out of it, and no `continue` refers to it. The
 * inliner creates such loops from functions with several returns. */
int vy_loop_runs_once(const vyre_program *program, uint32_t loop);

/* Whether two expressions without loads are structurally equal: evaluated at the same program point, they have the same
 * value. Either may be VY_NONE. */
int vy_expr_equal(const vyre_program *program, uint32_t one, uint32_t other);
/* Whether an expression has the same value everywhere in its scope: no loads, no mutable variables. True for
 * VY_NONE. */
int vy_expr_is_invariant(const vyre_program *program, uint32_t expr);

/* The operands a, b, c of a statement, and of an expression, in canonical order; VY_NONE for operands that its kind
 * does not have. */
#define VY_STMT_OPERANDS(stmt) ((const uint32_t[3]){(stmt)->a, (stmt)->b, (stmt)->c})
#define VY_EXPR_OPERANDS(expr) VY_STMT_OPERANDS(expr)
/* The number of operands of an op. */
static inline unsigned vy_expr_arity(const vy_expr *x) {
    return 1u + (x->b != VY_NONE) + (x->c != VY_NONE);
}

/* Attributes: compile-time parameters in the call of an op, `sound.gain<shift = 3>(x)`.
 *
 * A program stores a call's op id and attributes as one name in canonical form: attributes ordered by name, one blank
 * around `=` and after commas, each value with one spelling. So equal calls are equal programs, and printing copies the
 * name. The dialect defines the meaning of the attributes. */
enum { VY_ATTRIBUTES_LIMIT = 16, VY_ATTRIBUTE_CAPACITY = 48 /* bytes of a value, with its NUL */ };

/* A value: true, false, or a number; an integer without a suffix has no type. */
typedef struct vy_attribute {
    const char *name;
    size_t name_length;
    char value[VY_ATTRIBUTE_CAPACITY]; /* canonical */
} vy_attribute;

/* The canonical spelling of a value; number NULL means true or false, by `bits`. Reports an error and returns 0 for a
 * float without a type, which has none. */
int vy_attribute_spell(vy_diag_sink *report, const vy_number *number, int negative, uint64_t bits, vy_position at,
                       char value[VY_ATTRIBUTE_CAPACITY]);
/* The value in a type; 0 if it does not fit. */
int vy_attribute_bits(const char *value, vyre_type type, uint64_t *bits);

/* The length of the op id in a call's name, without the attributes. */
size_t vy_call_id_length(const char *name);
/* The attributes of a call's name, at most VY_ATTRIBUTES_LIMIT; SIZE_MAX if the name is not canonical. Names point into
 * `name`. */
size_t vy_call_attributes(const char *name, vy_attribute *out);
/* The name of a call or function in the text form: an op id that is not bare is in quotes, followed by its attributes.
 * Uses `storage` only then. */
enum { VY_CALL_SPELLING_CAPACITY = VY_LIMIT_NAME + 3 };
const char *vy_call_spelling(const char *name, char storage[VY_CALL_SPELLING_CAPACITY]);
/* Whether this is an op id, with or without attributes, in canonical form. */
int vy_text_is_op_call(const char *name);

#endif
