/* State of the program generator, shared by its files.
 *
 * generate.c draws the plan: features, geometry, params and memories. function.c writes the functions, declares the
 * plan and writes the entry; statement.c, memory.c and expression.c write the bodies. Code is appended to a draft and
 * never removed, so a statement is started only if it can be completed.
 *
 * Race freedom: a memory that several invocations can access is always in one phase, the same for the whole workgroup
 * (for buffers: the whole grid), and changes its phase only at a barrier.
 *
 *   OWN     an invocation loads and stores only the elements that it owns: an injective map from invocations to
 *           elements
 *   SHARED  loads only, of any element; a CHUNK buffer: of any element of the workgroup's chunk
 *   ATOMIC  atomics of one commutative kind only, results unused
 *
 * Convergence: `uniform` is set where control flow is uniform over the workgroup, and barriers and collectives are
 * written only there. A value is marked uniform only if all its operands are uniform, in uniform control flow. Phases
 * at the end of a block equal those at its start (a barrier is added if necessary), so they do not depend on the
 * branch. */
#ifndef VY_GENERATE_GENERATOR_H
#define VY_GENERATE_GENERATOR_H

#include "generate/generate.h"
#include "generate/interesting_values.h"
#include "ir/irbuilder.h"
#include "ir/model.h"
#include "vyre/dialect.h"

/* A program and the arguments of one dispatch. Immutable. */
struct vyre_case {
    vyre_program *program;
    vyre_arguments arguments; /* points into `block` */
    void *block;              /* params, spans, counts and bytes */
    size_t block_size;
};

enum {
    VY_GEN_MEMORIES = 18,
    VY_GEN_PARAMS = 6,
    VY_GEN_FUNCTIONS = 5,
    VY_GEN_FUNCTION_PARAMS = 8,
    VY_GEN_RESULTS = 4,
    VY_GEN_OPS = 2,            /* limit of the calls of ops of dialects in a program, … */
    VY_GEN_OP_STATEMENTS = 12, /* … and statements of a program for each: the bodies of ops are slow to compile */
    VY_GEN_TABLE = 300,        /* limit of the elements of a constant array */
    VY_GEN_SIZE = 1 << 20, /* limit of the expressions of a function after inlining: far below that of the language */
    VY_GEN_TRIPS = 32      /* limit of the executions of a point inside loops per execution of the function */
};

/* Features of a program. They are drawn per program, so that each also occurs alone and in pairs; stress sets them. */
enum {
    VY_GEN_SYNC = 1, /* barriers and collectives */
    VY_GEN_ARRAYS = 2,
    VY_GEN_PRIVATE = 4,
    VY_GEN_ATOMICS = 8,
    VY_GEN_CALLS = 16,
    VY_GEN_CONTROL = 32,
    VY_GEN_GEOMETRY = 64,
    VY_GEN_TRAP = 128,
    VY_GEN_GRID_BARRIER = 256,
    VY_GEN_CONVERSIONS = 512,
    VY_GEN_EDGES = 1024,
    VY_GEN_TABLES = 2048, /* constant arrays */
    VY_GEN_CHOICES = 4096,
    VY_GEN_MATH = 8192 /* calls of ops of the dialect `math` */
};

typedef enum vy_gen_phase {
    VY_GEN_PHASE_READ,    /* never written */
    VY_GEN_PHASE_PRIVATE, /* visible to one invocation only */
    VY_GEN_PHASE_OWN,
    VY_GEN_PHASE_SHARED,
    VY_GEN_PHASE_ATOMIC
} vy_gen_phase;

/* The index from which an owned element is computed. */
typedef enum vy_gen_base {
    VY_GEN_BASE_LOCAL,  /* the index in the workgroup */
    VY_GEN_BASE_GLOBAL, /* the index in the grid */
    VY_GEN_BASE_CHUNK,  /* the chunk of the workgroup, then the index in it */
    VY_GEN_BASE_PARAM   /* a parameter of the function holds the owned element; k is the variable */
} vy_gen_base;

typedef enum vy_gen_map {
    VY_GEN_MAP_IDENTITY,
    VY_GEN_MAP_REVERSE,
    VY_GEN_MAP_ROTATE,
    VY_GEN_MAP_XOR,
    VY_GEN_MAP_OFFSET,
    VY_GEN_MAP_SCATTER
} vy_gen_map;

/* The phase of a memory, and the owned elements: map(base) * stride … + stride - 1. No padding, since it is compared
 * bytewise. */
typedef struct vy_gen_ownership {
    uint8_t phase, base, map, stride;
    uint32_t k;
} vy_gen_ownership;

typedef struct vy_gen_memory {
    uint32_t memory; /* in the draft, once declared */
    uint8_t space, type, access;
    uint8_t atomic;       /* vyre_atomic of its ATOMIC phase, fixed; VYRE_ATOMIC_COUNT if it has none */
    uint8_t is_open;      /* the program leaves the count to the dispatch */
    uint8_t is_choice;    /* of the idiom `choices`: an output, or an input with a literal count of at least the size of
                             the workgroup */
    uint32_t count;       /* elements; an estimate for parameters */
    uint32_t slot;        /* parameters: the variable that holds the owned element, or VY_NONE */
    uint32_t data_offset; /* of its bytes in vy_gen.data, for inputs */
} vy_gen_memory;

typedef struct vy_gen_variable {
    uint32_t variable;
    uint8_t type;
    uint8_t is_assignable;
    uint8_t is_uniform; /* over the workgroup; preserved by assignments */
} vy_gen_variable;

typedef struct vy_gen_function_param {
    uint8_t is_memory;
    uint8_t type;
    uint8_t is_slot; /* scalar: the element the function owns in memory parameter `slot_of` */
    uint8_t slot_of;
    uint8_t space, access, phase; /* memory */
    uint8_t atomic;
    uint8_t plan; /* memory: a matching one of the plan; no written one twice in a function */
} vy_gen_function_param;

typedef struct vy_gen_function {
    uint32_t index; /* in the draft */
    uint8_t param_count, result_count;
    uint8_t has_sync;
    uint8_t is_called; /* by a function written later, or by the entry: a program must call all its functions */
    vy_gen_function_param params[VY_GEN_FUNCTION_PARAMS];
    uint8_t results[VY_GEN_RESULTS];
    unsigned work; /* approximate maximum of the statements that one call executes */
    unsigned size; /* expressions of one call after inlining */
} vy_gen_function;

typedef struct vy_gen_param {
    uint32_t variable;
    uint8_t type;
    uint8_t is_set; /* the value is fixed, because a size expression uses it */
    uint64_t bits;
} vy_gen_param;

/* Context of the next statement. Saved and restored around blocks. */
typedef struct vy_gen_context {
    uint8_t uniform; /* control is uniform over the workgroup */
    uint8_t sync;    /* barriers and collectives may follow in this function: no divergent return */
    uint8_t in_loop;
    uint8_t loop_uniform; /* leaving the innermost loop needs uniform control */
    uint8_t nesting;
    uint32_t times;                                   /* approximate maximum of the executions of this point */
    vy_gen_ownership loop_ownership[VY_GEN_MEMORIES]; /* at the head of the innermost loop */
} vy_gen_context;

typedef struct vy_gen {
    vy_irb draft;
    vy_rng rng;
    unsigned statements, depth, invocations, stress;
    unsigned features;
    uint32_t allowed;               /* bit set of the types that the caller allows: idioms use any of them */
    uint8_t types[VYRE_TYPE_COUNT]; /* types of this program; bool first if it is included */
    uint8_t type_count;
    uint8_t data_types[VYRE_TYPE_COUNT]; /* … that can be stored in memory; never empty */
    uint8_t data_type_count;
    uint32_t weights[VY_STMT_KIND_COUNT], weight_sum;

    /* The plan of the entry. */
    uint32_t workgroup[3], groups[3];
    uint32_t size;  /* invocations of a workgroup */
    uint32_t total; /* invocations of the grid, as planned */
    uint8_t grid_kind, geometry_kind;
    uint8_t grid_memory; /* in plan */
    uint32_t grid_offset;
    vy_gen_memory plan[VY_GEN_MEMORIES];
    vy_gen_ownership planned_ownership[VY_GEN_MEMORIES];
    unsigned plan_count;
    vy_gen_param params[VY_GEN_PARAMS];
    unsigned param_count;
    vyre_geometry geometry;
    unsigned char *data; /* bytes of the inputs */
    size_t data_size;

    vy_gen_function functions[VY_GEN_FUNCTIONS];
    unsigned function_count;
    vyre_dialects_guard dialects;              /* held until the calls of ops are resolved */
    const vyre_op_definition *ops[VY_GEN_OPS]; /* that the program may call */
    unsigned op_count;
    unsigned op_calls; /* left for the program */

    /* The function being written. */
    const vy_gen_function *function;      /* NULL in the entry */
    VY_VECTOR(vy_gen_variable) variables; /* in scope */
    vy_gen_memory memories[VY_GEN_MEMORIES];
    vy_gen_ownership ownership[VY_GEN_MEMORIES];
    unsigned memory_count;
    uint32_t linear, local, chunk, span; /* variables of the entry: indices, start of the chunk, size of the grid */
    vy_gen_context place;
    unsigned work; /* approximate maximum of the statements executed so far in this function */
    unsigned work_limit;
    unsigned inlined;    /* expressions of the calls of this function after inlining */
    unsigned left;       /* statements left to write */
    unsigned operations; /* left for this statement; a limit on depth alone would allow exponential size */
    int only_uniform;    /* expressions: use only operands that are uniform in the workgroup */
    unsigned name_count;
} vy_gen;

/* Declares a constant array with interesting elements in the function being written. */
uint32_t vy_gen_declare_table(vy_gen *g, vyre_type type, uint32_t count);

/* ---- small helpers ---- */

static inline int vy_gen_chance(vy_gen *g, uint32_t part, uint32_t whole) {
    return vy_rng_chance(&g->rng, part, whole);
}
static inline uint32_t vy_gen_below(vy_gen *g, uint32_t bound) {
    return vy_rng_below(&g->rng, bound);
}

static inline int vy_gen_is_choice_input(const vy_gen_memory *memory) {
    return memory->is_choice && memory->access == VYRE_ACCESS_READ;
}

/* A unique name: the prefix and a number. Prefixes are chosen so that no name is a type (u8). */
vy_symbol vy_gen_name(vy_gen *g, char prefix);
/* Any allowed type; one that can be stored in memory; an integer type (u32 if none is allowed). */
vyre_type vy_gen_type(vy_gen *g);
vyre_type vy_gen_data_type(vy_gen *g);
vyre_type vy_gen_integer_type(vy_gen *g);
/* Adds a variable to the scope. */
void vy_gen_declare(vy_gen *g, uint32_t variable, vyre_type type, int is_assignable, int is_uniform);

/* ---- expressions (expression.c): each function appends a tree and returns its root ---- */

/* Resets the limits of expressions; call it before each statement. */
void vy_gen_start_statement(vy_gen *g);
uint32_t vy_gen_expr(vy_gen *g, vyre_type type, unsigned depth);
uint32_t vy_gen_uniform_expr(vy_gen *g, vyre_type type, unsigned depth);
/* An expression without operands. */
uint32_t vy_gen_leaf(vy_gen *g, vyre_type type, unsigned depth);
uint32_t vy_gen_literal(vy_gen *g, vyre_type type);
/* Combines several values of an integer type such that a difference in one stays visible. */
uint32_t vy_gen_digest(vy_gen *g, vyre_type type);
/* Returns a variable in scope of that type, or NULL. */
const vy_gen_variable *vy_gen_find_variable(vy_gen *g, vyre_type type, int assignable);
/* a op literal, both of one integer type. */
uint32_t vy_gen_with_literal(vy_gen *g, vyre_op op, vyre_type type, uint32_t a, uint64_t literal);

/* ---- idioms (expression.c) ---- */

/* A choice between a variable and a bitwise operation of it; VY_NONE, and nothing is appended, without a variable of
 * the type. */
uint32_t vy_gen_choice(vy_gen *g, vyre_type type);
/* Whether to write an idiom of the feature here: often in programs with the feature, sometimes in others. */
int vy_gen_draws_idiom(vy_gen *g, unsigned feature);
/* A number up to `most`, usually near the size of the workgroup or a multiple of a vector width. */
uint32_t vy_gen_edge(vy_gen *g, uint32_t most);
/* A local id: axis 3 is the index in the workgroup. */
uint32_t vy_gen_local_id(vy_gen *g, uint32_t axis);
/* An index that counts lanes, in the workgroup or in the grid. */
uint32_t vy_gen_lane_index(vy_gen *g);
/* A condition that is constant for part of the lanes; never uniform. */
uint32_t vy_gen_lane_condition(vy_gen *g);
/* An index that is out of bounds for some lanes, for a memory of which any element may be loaded. */
uint32_t vy_gen_edge_index(vy_gen *g, unsigned m);

/* ---- memory accesses and barriers (memory.c) ---- */

/* A load of that type that is allowed here, or VY_NONE (then nothing is appended). */
uint32_t vy_gen_load(vy_gen *g, vyre_type type, unsigned depth);
/* A contiguous load without a bounds check, from the input of the idiom `choices`; VY_NONE if that has another type. */
uint32_t vy_gen_choice_load(vy_gen *g, vyre_type type);
/* A load that is inactive for some lanes, of the type, or of any if that is VYRE_TYPE_COUNT; *type becomes its type.
 * VY_NONE if no such load is allowed here. */
uint32_t vy_gen_guarded_load(vy_gen *g, vyre_type *type);
/* The index of an element of memories[m] that this invocation owns, as u32 or, if `any_type`, possibly another integer
 * type. */
uint32_t vy_gen_own_index(vy_gen *g, unsigned m, int any_type);
/* Statements; each returns 0 if it is not possible here. */
int vy_gen_store(vy_gen *g);
int vy_gen_store_to(vy_gen *g, unsigned m, int digest);
int vy_gen_atomic(vy_gen *g);
int vy_gen_barrier(vy_gen *g);
/* Writes a barrier that restores the phases to `ownership`; nothing if they are equal. */
void vy_gen_restore_phases(vy_gen *g, const vy_gen_ownership *ownership);
/* A random ownership of a memory whose phase a barrier may change. */
vy_gen_ownership vy_gen_draw_ownership(vy_gen *g, const vy_gen_memory *memory, vy_gen_base base);

/* ---- statements (statement.c) and functions (function.c) ---- */

/* Writes about `count` statements in the current block. */
void vy_gen_statements(vy_gen *g, unsigned count);
void vy_gen_set_weights(vy_gen *g);
/* Writes the return statement, with a value for every result of the function. */
void vy_gen_return_values(vy_gen *g);
int vy_gen_call(vy_gen *g);
/* Writes all functions of the program. */
void vy_gen_functions(vy_gen *g);

/* ---- ops of dialects (op_calls.c) ---- */

/* Draws the ops that the program may call, and adds their types to those of the program. */
void vy_gen_plan_ops(vy_gen *g);
/* Writes a call of an op, which declares its results; returns 0 if that is not possible here. Only the entry has such
 * calls: inlining would multiply those of functions. */
int vy_gen_op_call(vy_gen *g);

/* ---- the entry (function.c) ---- */

/* Declares the plan and writes the entry; sets params, data and geometry. NO_MEMORY is the only failure. */
vyre_status vy_gen_entry(vy_gen *g, vyre_error *error);

#endif
