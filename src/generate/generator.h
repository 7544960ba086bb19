/* The generator's state, shared by its files.
 *
 * How a program comes about: shape.c draws features, geometry, params and memories; function.c writes functions; entry.c declares the plan
 * and writes the entry; statement.c, control.c, memory.c, expression.c and idiom.c write what is inside. Everything is appended to a draft on the
 * fly, so nothing is ever taken back: whoever starts a statement knows that it can be finished.
 *
 * What keeps a program race-free: a memory that several invocations can reach is always in one phase, the same for the whole workgroup (for
 * buffers: the whole grid), and changes it only at a barrier.
 *
 *   OWN     an invocation loads and stores only elements it owns: those of a map from invocations that never gives two the same element
 *   SHARED  loads only, of any element; a CHUNK buffer: of any element of the workgroup's chunk
 *   ATOMIC  atomics of one commutative kind only, results unused
 *
 * What keeps it convergent: `uniform` is set where the whole workgroup goes the same way, and barriers and collectives are written only
 * there; a value is marked uniform only if it is made of nothing but uniform things in uniform control. Phases at the end of a
 * block are those at its start (a barrier is added if need be), so they do not depend on the way taken. */
#ifndef VY_GENERATE_GENERATOR_H
#define VY_GENERATE_GENERATOR_H

#include "generate/generate.h"
#include "generate/interesting_values.h"
#include "ir/irbuilder.h"
#include "ir/model.h"

/* A program and the arguments of one dispatch of it. Immutable once made. */
struct vyre_case {
    vyre_program *program;
    vyre_arguments arguments; /* points into `block` */
    void *block;              /* params, spans, counts and bytes, in one piece */
    size_t block_size;
};

enum {
    VY_GEN_MEMORIES = 16,
    VY_GEN_PARAMS = 6,
    VY_GEN_FUNCTIONS = 5,
    VY_GEN_FUNCTION_PARAMS = 8,
    VY_GEN_RESULTS = 4,
    VY_GEN_SIZE =
        1 << 20,      /* expressions a function may have and its calls become: far below what the language allows */
    VY_GEN_TRIPS = 32 /* the most a point inside loops is passed for each pass of the function */
};

/* What a program uses. Drawn per program, so that features also meet alone and in pairs; stress sets them. */
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
    VY_GEN_EDGES = 1024
};

typedef enum vy_gen_phase {
    VY_GEN_PHASE_READ,    /* nobody writes it, ever */
    VY_GEN_PHASE_PRIVATE, /* nobody else sees it */
    VY_GEN_PHASE_OWN,
    VY_GEN_PHASE_SHARED,
    VY_GEN_PHASE_ATOMIC
} vy_gen_phase;

/* From what an owned element is computed. */
typedef enum vy_gen_base {
    VY_GEN_BASE_LOCAL,  /* the index in the workgroup */
    VY_GEN_BASE_GLOBAL, /* the index in the grid */
    VY_GEN_BASE_CHUNK,  /* the workgroup's chunk, then the index in it */
    VY_GEN_BASE_PARAM   /* a parameter of the function ownership it: k is the variable */
} vy_gen_base;

typedef enum vy_gen_map {
    VY_GEN_MAP_IDENTITY,
    VY_GEN_MAP_REVERSE,
    VY_GEN_MAP_ROTATE,
    VY_GEN_MAP_XOR,
    VY_GEN_MAP_OFFSET,
    VY_GEN_MAP_SCATTER
} vy_gen_map;

/* The phase of a memory, and which elements are owned: map(base) * stride … + stride - 1. No padding: compared as bytes. */
typedef struct vy_gen_ownership {
    uint8_t phase, base, map, stride;
    uint32_t k;
} vy_gen_ownership;

typedef struct vy_gen_memory {
    uint32_t memory; /* in the draft, once declared */
    uint8_t space, type, access;
    uint8_t atomic;       /* vyre_atomic of its ATOMIC phase, fixed; VYRE_ATOMIC_COUNT if it has none */
    uint8_t is_open;      /* the program leaves the count to the dispatch */
    uint32_t count;       /* elements; a guess for parameters */
    uint32_t slot;        /* parameters: the variable that ownership the owned element, or VY_NONE */
    uint32_t data_offset; /* of its bytes in vy_gen.data, for inputs */
} vy_gen_memory;

typedef struct vy_gen_variable {
    uint32_t variable;
    uint8_t type;
    uint8_t is_assignable;
    uint8_t is_uniform; /* over the workgroup; assignments keep it so */
} vy_gen_variable;

typedef struct vy_gen_function_param {
    uint8_t is_memory;
    uint8_t type;
    uint8_t is_slot; /* scalar: the element the function owns in memory parameter `slot_of` */
    uint8_t slot_of;
    uint8_t space, access, phase; /* memory */
    uint8_t atomic;
    uint8_t plan; /* memory: one that fits, in the plan; no written one twice in a function */
} vy_gen_function_param;

typedef struct vy_gen_function {
    uint32_t index; /* in the draft */
    uint8_t param_count, result_count;
    uint8_t has_sync;
    uint8_t is_called; /* by a function written later, or the entry: a program may not have functions nobody calls */
    vy_gen_function_param params[VY_GEN_FUNCTION_PARAMS];
    uint8_t results[VY_GEN_RESULTS];
    unsigned work; /* statements one call executes, at most about */
    unsigned size; /* expressions one call becomes when it is inlined */
} vy_gen_function;

typedef struct vy_gen_param {
    uint32_t variable;
    uint8_t type;
    uint8_t is_set; /* the value is fixed: a size expression uses it */
    uint64_t bits;
} vy_gen_param;

/* Where the next statement goes. Saved and restored around blocks. */
typedef struct vy_gen_context {
    uint8_t uniform; /* control is uniform over the workgroup */
    uint8_t sync;    /* barriers and collectives may still come in this function: no divergent return */
    uint8_t in_loop;
    uint8_t loop_uniform; /* leaving the innermost loop needs uniform control */
    uint8_t nesting;
    uint32_t times;                                   /* how often this point is passed, at most about */
    vy_gen_ownership loop_ownership[VY_GEN_MEMORIES]; /* at the head of the innermost loop */
} vy_gen_context;

typedef struct vy_gen {
    vy_irb draft;
    vy_rng rng;
    unsigned statements, depth, invocations, stress;
    unsigned features;
    uint32_t allowed;               /* bit set of types that the caller allows: idioms take any of them */
    uint8_t types[VYRE_TYPE_COUNT]; /* those of this program, bool first if it is one */
    uint8_t type_count;
    uint8_t data_types[VYRE_TYPE_COUNT]; /* … that fit memory; never empty */
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

    /* The function being written. */
    const vy_gen_function *function;      /* NULL in the entry */
    VY_VECTOR(vy_gen_variable) variables; /* in scope */
    vy_gen_memory memories[VY_GEN_MEMORIES];
    vy_gen_ownership ownership[VY_GEN_MEMORIES];
    unsigned memory_count;
    uint32_t linear, local, chunk, span; /* variables of the entry: indices, first of the chunk, size of the grid */
    vy_gen_context place;
    unsigned work; /* statements executed so far in this function, at most about */
    unsigned work_limit;
    unsigned inlined;    /* expressions the calls of this function become */
    unsigned left;       /* statements to write */
    unsigned operations; /* that the expressions of this statement may still have: depth alone would let them explode */
    int only_uniform;    /* expressions: use nothing that may differ within the workgroup */
    unsigned name_count;
} vy_gen;

/* ---- small helpers ---- */

static inline int vy_gen_chance(vy_gen *g, uint32_t part, uint32_t whole) {
    return vy_rng_chance(&g->rng, part, whole);
}
static inline uint32_t vy_gen_below(vy_gen *g, uint32_t bound) {
    return vy_rng_below(&g->rng, bound);
}

/* A name that no other thing of the program has: the prefix and a number. Prefixes are chosen so that no name is a type (u8). */
vy_symbol vy_gen_name(vy_gen *g, char prefix);
/* Any allowed type; one that fits memory; an integer type (u32 if none is allowed). */
vyre_type vy_gen_type(vy_gen *g);
vyre_type vy_gen_data_type(vy_gen *g);
vyre_type vy_gen_integer_type(vy_gen *g);
/* Brings a variable into scope. */
void vy_gen_declare(vy_gen *g, uint32_t variable, vyre_type type, int is_assignable, int is_uniform);

/* ---- expression.c: appends a tree and gives its root ---- */

/* What the expressions of the next statement may have: call it before each. */
void vy_gen_start_statement(vy_gen *g);
uint32_t vy_gen_expr(vy_gen *g, vyre_type type, unsigned depth);
uint32_t vy_gen_uniform_expr(vy_gen *g, vyre_type type, unsigned depth);
/* An operand-free expression. */
uint32_t vy_gen_leaf(vy_gen *g, vyre_type type, unsigned depth);
uint32_t vy_gen_literal(vy_gen *g, vyre_type type);
/* Several values of an integer type, mixed so that a difference in one stays visible. */
uint32_t vy_gen_digest(vy_gen *g, vyre_type type);
/* A variable in scope of that type, or NULL. */
const vy_gen_variable *vy_gen_find_variable(vy_gen *g, vyre_type type, int assignable);
/* a op literal, both of one integer type. */
uint32_t vy_gen_with_literal(vy_gen *g, vyre_op op, vyre_type type, uint32_t a, uint64_t literal);

/* ---- idiom.c ---- */

/* Whether an idiom of the feature is written here: often in programs that have it, sometimes in all. */
int vy_gen_draws_idiom(vy_gen *g, unsigned feature);
/* A number up to `most`, mostly near the size of the workgroup or a multiple of a vector's width. */
uint32_t vy_gen_edge(vy_gen *g, uint32_t most);
/* A local id: axis 3 is the index in the workgroup. */
uint32_t vy_gen_local_id(vy_gen *g, uint32_t axis);
/* A condition that is constant for part of the lanes; never uniform. */
uint32_t vy_gen_lane_condition(vy_gen *g);
/* An index, for a memory of which any element may be loaded, that leaves it for some of the lanes. */
uint32_t vy_gen_edge_index(vy_gen *g, unsigned m);

/* ---- memory.c ---- */

/* A load of that type that is allowed here, or VY_NONE (nothing is appended then). */
uint32_t vy_gen_load(vy_gen *g, vyre_type type, unsigned depth);
/* A load that some lanes do not make, of the type, or of any if that is VYRE_TYPE_COUNT; *type becomes its type.
 * VY_NONE if no such load is allowed here. */
uint32_t vy_gen_guarded_load(vy_gen *g, vyre_type *type);
/* The index of an element of memories[m] that this invocation owns, as u32 or, if `any_type`, perhaps another integer type. */
uint32_t vy_gen_own_index(vy_gen *g, unsigned m, int any_type);
/* Statements; 0 if none is possible here. */
int vy_gen_store(vy_gen *g);
int vy_gen_store_to(vy_gen *g, unsigned m, int digest);
int vy_gen_atomic(vy_gen *g);
int vy_gen_barrier(vy_gen *g);
/* A barrier that brings the phases back to `ownership`; nothing if they are. */
void vy_gen_restore_phases(vy_gen *g, const vy_gen_ownership *ownership);
/* A random ownership of a memory whose phase a barrier may change. */
vy_gen_ownership vy_gen_draw_ownership(vy_gen *g, const vy_gen_memory *memory, vy_gen_base base);

/* ---- statement.c, control.c, function.c ---- */

/* About `count` statements in the current block; vy_gen_block makes them a scope of their own. */
void vy_gen_statements(vy_gen *g, unsigned count);
void vy_gen_set_weights(vy_gen *g);
/* The return statement itself, with a value for every result of the function. */
void vy_gen_return_values(vy_gen *g);
int vy_gen_call(vy_gen *g);
/* Calls in the entry every function that nobody has called; at a place where all go, before the last meeting. */
void vy_gen_functions(vy_gen *g);

/* ---- shape.c, entry.c ---- */

/* Declares the plan, and writes the entry; fills params, data and geometry. NO_MEMORY is the only failure. */
vyre_status vy_gen_entry(vy_gen *g, vyre_error *error);

#endif
