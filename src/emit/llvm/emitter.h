/* State of the LLVM emitter, and the functions that its files share.
 *
 *   kernel.c            the kernel function: frame, loop over workgroups, declarations
 *   control.c           statements and masks; which jumps are divergent, and which code has barriers
 *   barrier_regions.c   code between barriers, each region a loop over gangs; spill slots and rematerialisation
 *   memory.c            loads and stores: addresses, contiguous, gathered and scattered accesses
 *   load_combine.c      words that a program combines from bytes
 *   atomic.c            atomics
 *   collective.c        collectives: in memory and by shuffles
 *   value.c             expressions and variables
 *   op.c                ops and conversions
 *   soft_fma.c          software fma of f64
 *   affine_values.c     values with a stride, as scalars; speculative strides; run-time contiguity checks
 *   lane_constants.c    values whose lanes differ by constants
 *   simd_width.c        the number of lanes
 *   llvm_util.c         helpers for LLVM's C interface, and debug info
 *   errata.c            workarounds for defects of LLVM
 *
 * Invariants: a value is a scalar if it is uniform in the workgroup (analysis/uniformity.h), else a vector of
 * `width` lanes. The mask has the active lanes; NULL means all of them, and then nothing is masked. An inactive lane
 * may compute any value, but accesses no memory: code with an empty mask is skipped. */
#ifndef VY_EMIT_LLVM_EMITTER_H
#define VY_EMIT_LLVM_EMITTER_H

#include "analysis/literal.h"
#include "analysis/uniformity.h"
#include "base/memory.h"
#include "emit/llvm/kernel.h"
#include "ir/model.h"

#include <llvm-c/Core.h>
#include <stdint.h>

/* The most lanes of a gang, and rows of the workgroup in a gang. */
enum { VY_LLVM_LANES = 64, VY_LLVM_ROWS = 4 };

/* Storage class of a variable. */
typedef enum vy_storage_class {
    VY_STORAGE_SCALAR, /* uniform in the workgroup */
    VY_STORAGE_LANES,  /* used in one region: a vector */
    VY_STORAGE_SPILL,  /* used in several regions: a vector per gang in the frame's memory, and lanes within a region */
    VY_STORAGE_REMAT   /* used in several regions: recomputed at each use */
} vy_storage_class;

/* Lanes that differ by constants: base + factor * times + offset, of 32 bits. A NULL base is zero; with a NULL
 * factor, times are zero too. */
typedef struct vy_lane_affine {
    LLVMValueRef base, factor;
    uint32_t offset[VY_LLVM_LANES], times[VY_LLVM_LANES];
} vy_lane_affine;

typedef struct vy_value_slot {
    uint8_t storage;     /* vy_storage_class */
    uint8_t cost;        /* cost of rematerialisation, in ops */
    uint32_t made_of;    /* the expression of a `let` with lanes; else VY_NONE */
    LLVMValueRef place;  /* scalar, lanes: an alloca, created on first use */
    uint64_t offset;     /* spill: offset into the frame's memory */
    uint32_t depth;      /* number of masks in force at its declaration */
    LLVMValueRef before; /* scalar, while a region that assigns it is emitted: its value before the region; else NULL */
    uint8_t is_computed; /* computed from ids and uniform values, without loads */
    uint8_t is_whole;    /* inactive lanes have their value too */
    uint8_t is_here;     /* spill: loaded for the current gang … */
    uint8_t is_changed;  /* … and modified, so it must be stored */
    LLVMValueRef memory; /* … its address */
    uint8_t is_on_stack; /* spill: in an alloca instead of the frame's memory … */
    LLVMValueRef stack;  /* … this one, created on first use */
    LLVMValueRef rows[VY_LLVM_ROWS];    /* lanes with a stride: the value of each row's first lane; else NULL */
    uint8_t rows_are_places;            /* … as allocas, for a loop variable */
    LLVMValueRef stride_guard;          /* i1: rows are valid if it is true; NULL: they are always valid, or there
                                         * are none */
    uint64_t guarded_stride;            /* … and their stride in that case */
    LLVMValueRef holds;                 /* lanes of bools: i1, whether all are true; NULL: unknown */
    vy_lane_affine *known, *known_room; /* lanes: the constants by which they differ, or NULL; and the memory for
                                         * that */
} vy_value_slot;

/* A loop with divergent exits: the lanes that have left it, and the lanes that wait for the next iteration. */
typedef struct vy_masked_loop {
    LLVMValueRef broke, continued; /* allocas of masks; NULL: no divergent break or continue */
    LLVMBasicBlockRef next, exit;  /* targets of uniform jumps */
    /* For a loop around regions, in which broke and continued are the same alloca: */
    int keeps_left;       /* a later region of the iteration needs the mask, so it is saved for every gang … */
    uint64_t left_offset; /* … in the spill area, 8 bytes per gang */
    int some_left;        /* lanes may have left in an earlier region */
} vy_masked_loop;

typedef struct vy_emitter {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMBasicBlockRef entry; /* allocas and values that are uniform for the whole call */
    const vyre_program *program;
    const vy_function *body;
    LLVMMetadataRef lines, line; /* scope of line information, and the current line; NULL: no line information */
    const vy_uniform *uniform;
    uint32_t width, group_size, gangs;
    uint32_t row, row_count; /* a gang is row_count rows of `row` lanes, within which strides hold; 0: no such
                              * structure */
    int by_rows;             /* values with a stride are computed per row, not per lane */
    int is_unrollable;       /* no loops that remain and no atomics: the gangs may be unrolled */
    int has_sync, gathers, has_soft_fma;
    int makes_halves; /* the program converts to f16 */
    /* Uniform for the call. */
    LLVMValueRef frame, spill, workgroup;
    LLVMValueRef *data, *count, *misalignment; /* by buffer */
    LLVMValueRef *params;
    LLVMValueRef groups[3];
    /* Uniform for the workgroup: allocas. */
    LLVMValueRef group, group_id[3];
    LLVMValueRef first_gang, end_gang; /* the gangs of the workgroup that this call runs: i32, not allocas; NULL: all */
    /* Of the current gang. */
    LLVMValueRef gang;                                             /* i32 */
    LLVMValueRef local_index;                                      /* lanes */
    LLVMValueRef local_id[3];                                      /* lanes */
    LLVMValueRef row_index[VY_LLVM_ROWS], row_id[3][VY_LLVM_ROWS]; /* of the first lane of each row */
    LLVMValueRef mask;                                             /* lanes of i1; NULL: all */
    int is_part;                                                   /* the mask is known to be partial, so it is not
                                                                    * tested for being full */
    LLVMValueRef returned;                                         /* alloca of a mask; NULL: no divergent return */
    int keeps_returned;           /* a later region needs the mask, so it is saved for every gang */
    int some_gone;                /* lanes may have returned in an earlier region */
    LLVMBasicBlockRef gang_start; /* block of the loads of spilled values, before the gang's code */
    VY_VECTOR(uint32_t) here;     /* the loaded variables */
    LLVMBasicBlockRef gang_end;   /* target of lanes that have finished */
    LLVMBasicBlockRef group_end;  /* end of the workgroup */
    LLVMValueRef group_done;      /* alloca of i1: all invocations have returned in a region; NULL without barriers */
    uint32_t depth;               /* number of masks in force */
    uint32_t group_depth;         /* depth at the start of a gang: the number of divergent loops around it */
    LLVMValueRef poll;            /* result of the last cancellation poll: i1 */
    uint32_t written;             /* statements that were emitted once per gang */
    uint32_t copies;              /* number of times that the current code is emitted */
    VY_VECTOR(vy_masked_loop) loops;
    vy_value_slot *slots;     /* by variable */
    uint64_t *array_offsets;  /* by memory: offset into the frame's memory */
    uint8_t *jumps;           /* by statement: VY_JUMP_* inside it */
    uint8_t *has_sync_inside; /* by statement: has barriers or collectives inside */
    uint64_t spill_bytes, workgroup_bytes;
    uint64_t returned_offset;   /* spill area: the returned lanes, 8 bytes per gang */
    uint64_t collective_offset; /* spill area: operands of collectives */
    uint64_t lanes_offset;      /* spill area: vectors that atomics split into lanes */
    vy_llvm_sizes sizes;        /* sizes of the frame, and the list of privatisable buffers */
    LLVMValueRef apart[3];      /* allocas for lanes that are stored one by one: indices, bytes, halves; NULL: not
                                 * created yet */
    LLVMValueRef private_set;   /* i32: the buffers of which the thread has a private copy */
    LLVMValueRef cached;        /* i1: non-temporal stores are not allowed; NULL: the program has none */
    vy_arena *arena;
    vyre_error *error;
    vyre_status status;
} vy_emitter;

/* Divergent jumps out of a statement. */
enum { VY_JUMP_BREAK = 1, VY_JUMP_CONTINUE = 2, VY_JUMP_RETURN = 4 };

/* ---- types ---- */

LLVMTypeRef vy_llvm_type(const vy_emitter *e, vyre_type type); /* of one value; f16 and bf16 are i16 */
LLVMTypeRef vy_llvm_lanes(const vy_emitter *e, LLVMTypeRef type);
LLVMTypeRef vy_llvm_int(const vy_emitter *e, unsigned bits);
LLVMTypeRef vy_llvm_pointer(const vy_emitter *e);
LLVMValueRef vy_llvm_number(const vy_emitter *e, unsigned bits, uint64_t value);
int vy_llvm_is_lanes(LLVMValueRef value);
/* The value in every lane; a vector is returned unchanged. */
LLVMValueRef vy_llvm_splat(vy_emitter *e, LLVMValueRef value);
LLVMValueRef vy_llvm_lane(vy_emitter *e, LLVMValueRef lanes, unsigned lane);
LLVMValueRef vy_llvm_iota(vy_emitter *e, unsigned bits);
/* The constant vector of the i32 first, first + 1, …; and the lanes of a vector with these numbers. */
LLVMValueRef vy_llvm_numbers(vy_emitter *e, uint32_t first, uint32_t count);
LLVMValueRef vy_llvm_slice(vy_emitter *e, LLVMValueRef lanes, uint32_t first, uint32_t count);
/* One vector from `all` / `lanes` vectors, a power of two; overwrites them. */
LLVMValueRef vy_llvm_join(vy_emitter *e, LLVMValueRef *parts, uint32_t lanes, uint32_t all);
/* Calls an intrinsic that is overloaded on `types`. */
LLVMValueRef vy_llvm_intrinsic(vy_emitter *e, const char *name, LLVMTypeRef *types, unsigned type_count,
                               LLVMValueRef *args, unsigned arg_count);
/* The same floats, opaque to LLVM's optimiser: llvm.arithmetic.fence, which emits no instruction. */
LLVMValueRef vy_llvm_fence(vy_emitter *e, LLVMValueRef value);
/* An alloca in the entry block. */
LLVMValueRef vy_llvm_alloca(vy_emitter *e, LLVMTypeRef type, const char *name);
LLVMValueRef vy_llvm_offset_pointer(vy_emitter *e, LLVMValueRef base, LLVMValueRef bytes); /* base + bytes (i64) */
LLVMBasicBlockRef vy_llvm_block(vy_emitter *e, const char *name);
void vy_llvm_branch_to(vy_emitter *e, LLVMBasicBlockRef to);      /* unless the block is terminated */
void vy_llvm_position_at(vy_emitter *e, LLVMBasicBlockRef block); /* at the end of the block, with the current line */
void vy_llvm_continue_at(vy_emitter *e, LLVMBasicBlockRef block); /* branches to it, and continues there */

void vy_llvm_refuse(vy_emitter *e, const char *what);

/* ---- debug info ---- */

/* Attributes the code emitted from here on to the function of the program … */
void vy_llvm_debug_start(vy_emitter *e);
/* … to a statement, if it has a source position and line information is enabled … */
void vy_llvm_line(vy_emitter *e, uint32_t stmt);
/* … to a saved location (e->line). */
void vy_llvm_line_set(vy_emitter *e, LLVMMetadataRef line);

/* ---- uniformity ---- */

/* Whether lanes diverge by this value: it is not uniform, and there are several invocations. */
int vy_llvm_is_divergent(const vy_emitter *e, uint32_t expr);
/* Whether a statement is `if stop { … }` directly after its poll. All lanes of a gang poll together, so they do not
 * diverge there. */
int vy_llvm_is_polled(const vy_emitter *e, uint32_t stmt);
/* Whether inactive lanes have the value that corresponds to their lane too: no part was loaded under a mask. Only
 * for values with a stride. */
int vy_llvm_is_whole(const vy_emitter *e, uint32_t expr);

/* ---- values ---- */

/* The value of an expression. A uniform one is a scalar. */
LLVMValueRef vy_llvm_expr(vy_emitter *e, uint32_t expr);
/* The value as a vector. */
LLVMValueRef vy_llvm_expr_lanes(vy_emitter *e, uint32_t expr);
/* Condition of a uniform branch, as a scalar i1. */
LLVMValueRef vy_llvm_condition(vy_emitter *e, uint32_t expr);
/* fma(a, b, c) of f64 without the instruction (soft_fma.c). */
LLVMValueRef vy_llvm_soft_fma(vy_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef vy_llvm_op(vy_emitter *e, const vy_expr *expr, vyre_type operand, LLVMValueRef a, LLVMValueRef b,
                        LLVMValueRef c);
/* Whether vy_llvm_op accepts a vector and a scalar: division by a single divisor is faster. */
int vy_llvm_divides_by_one(vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b);
/* Combines two values with a collective's op on `type`. */
LLVMValueRef vy_llvm_combine(vy_emitter *e, vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef vy_llvm_variable(vy_emitter *e, uint32_t variable);
/* Declares a variable. The old value is dead, so all lanes are written. */
void vy_llvm_declare(vy_emitter *e, uint32_t variable, LLVMValueRef value);
/* Assigns a variable. Inactive lanes keep their value. */
void vy_llvm_assign(vy_emitter *e, uint32_t variable, LLVMValueRef value);

/* Declares the variable of a `let` or `var`. */
void vy_llvm_define(vy_emitter *e, const vy_stmt *s);

/* Finds the rematerialisable `let`s. vy_llvm_rematerialize marks a variable as rematerialised; it returns 0 if the
 * variable is not cheap. */
void vy_llvm_find_rematerializable(vy_emitter *e);
int vy_llvm_rematerialize(vy_emitter *e, uint32_t variable);

/* At the end of a gang: stores the modified spilled variables. */
void vy_llvm_writeback(vy_emitter *e);

/* ---- rows ---- */

/* The number of lanes of a gang that are in one row of the workgroup; 0 if rows are too short. */
uint32_t vy_llvm_row_of(const uint32_t *size, uint32_t width);
/* Computes the ids of the gang's lanes, and the mask of the existing ones. */
void vy_llvm_find_ids(vy_emitter *e);
/* Whether the value has a stride and the gang has rows. */
int vy_llvm_has_rows(const vy_emitter *e, uint32_t expr);
/* The value of the first lane of row k, valid if any lane of the row executes. Requires vy_llvm_has_rows. */
LLVMValueRef vy_llvm_row_base(vy_emitter *e, uint32_t expr, uint32_t k);
/* The same, extracted from the vector. */
LLVMValueRef vy_llvm_row_of_lanes(vy_emitter *e, uint32_t expr, LLVMValueRef value, uint32_t k);
/* vy_llvm_lanes_of: a vector from one scalar per row that grows by a stride. vy_llvm_row_lanes: the lanes of row k. */
LLVMValueRef vy_llvm_lanes_of(vy_emitter *e, const LLVMValueRef *rows, uint64_t stride);
LLVMValueRef vy_llvm_row_lanes(vy_emitter *e, LLVMValueRef lanes, uint32_t k);
/* i1: whether a lane of row k is active; NULL: at least one is. */
LLVMValueRef vy_llvm_row_executes(vy_emitter *e, uint32_t k);
/* Whether the value has a stride, possibly a speculative one; and the value of the first lane of a row, valid under
 * a condition that is added to *stride_guard (NULL: none). */
int vy_llvm_guarded_stride(const vy_emitter *e, uint32_t expr, uint64_t *stride);
LLVMValueRef vy_llvm_guarded_row_base(vy_emitter *e, uint32_t expr, uint32_t k, LLVMValueRef *stride_guard);
/* i1: the condition is certainly true in all lanes, computed without vectors. It may be false although all are true.
 * NULL: the lanes must be tested. */
LLVMValueRef vy_llvm_all_true(vy_emitter *e, uint32_t condition);
/* Whether a false vy_llvm_all_true implies that some lane is false, except when values wrap. */
int vy_llvm_all_true_is_exact(const vy_emitter *e, uint32_t condition);

/* ---- lane constants ---- */

/* Records the lane constants of a declared variable. */
void vy_llvm_note_lane_affine(vy_emitter *e, const vy_stmt *s);
/* vy_llvm_all_true for a comparison. */
LLVMValueRef vy_llvm_constants_all_true(vy_emitter *e, const vy_expr *x);
/* Whether the mask is a compile-time constant. */
int vy_llvm_mask_is_constant(const vy_emitter *e);
/* Whether an index consists of contiguous pieces that are loaded faster than lane by lane. Lanes outside the mask
 * (NULL: all) are zero. */
int vy_llvm_has_pieces(vy_emitter *e, uint32_t memory, uint32_t index, LLVMValueRef mask, vy_lane_affine *k);
LLVMValueRef vy_llvm_load_pieces(vy_emitter *e, uint32_t memory, const vy_lane_affine *k, LLVMValueRef mask);
/* Whether a loop makes few iterations with constant bounds; vy_llvm_unroll_loop emits them, or returns 0. */
int vy_llvm_is_unrollable_loop(const vy_emitter *e, uint32_t loop);
int vy_llvm_unroll_loop(vy_emitter *e, uint32_t loop);

/* ---- masks ---- */

/* i1: whether any, or every, lane of a mask is set. The mask is not NULL. */
LLVMValueRef vy_llvm_any(vy_emitter *e, LLVMValueRef mask);
LLVMValueRef vy_llvm_all(vy_emitter *e, LLVMValueRef mask);
LLVMValueRef vy_llvm_bits(vy_emitter *e, LLVMValueRef mask); /* as an integer, i32 or i64 */
/* i32: the first active lane; lane 0 for NULL */
LLVMValueRef vy_llvm_first(vy_emitter *e, LLVMValueRef mask);
LLVMValueRef vy_llvm_both(vy_emitter *e, LLVMValueRef a, LLVMValueRef b); /* either may be NULL: all */

/* ---- memory ---- */

LLVMValueRef vy_llvm_load(vy_emitter *e, uint32_t expr);
/* The value of a `select` between a load and zero, as one masked load; NULL if it is not of that form. */
LLVMValueRef vy_llvm_load_or_zero(vy_emitter *e, const vy_expr *select);
LLVMValueRef vy_llvm_load_row(vy_emitter *e, uint32_t expr, uint32_t k); /* a load that is uniform in a row */
void vy_llvm_store(vy_emitter *e, uint32_t stmt);
uint64_t vy_llvm_size(vyre_type type); /* size of an element in bytes */
/* The same of an array or buffer; loads and stores of it have this alignment. */
static inline unsigned vy_llvm_element_size(const vy_emitter *e, uint32_t memory) {
    return (unsigned)vy_llvm_size((vyre_type)vy_memory_at(e->program, memory)->type);
}
/* Whether the lanes access contiguous elements. load_contiguous and store_contiguous then access them under the
 * mask. */
int vy_llvm_is_contiguous(const vy_emitter *e, uint32_t memory, uint32_t index);
LLVMValueRef vy_llvm_load_contiguous(vy_emitter *e, uint32_t memory, uint32_t index);
void vy_llvm_store_contiguous(vy_emitter *e, uint32_t memory, LLVMValueRef value, uint32_t index);
LLVMValueRef vy_llvm_base(vy_emitter *e, uint32_t memory); /* address of the first element */
/* address of an element, or of each lane's */
LLVMValueRef vy_llvm_address(vy_emitter *e, uint32_t memory, LLVMValueRef index);

/* ---- load combining ---- */

/* An `or` of four bytes that forms a word of memory, or NULL. Where the word cannot be loaded as a whole,
 * `otherwise` computes it. */
LLVMValueRef vy_llvm_combine_loads(vy_emitter *e, const vy_expr *x,
                                   LLVMValueRef (*otherwise)(vy_emitter *e, const vy_expr *x));
/* Gathers unaligned 32-bit words for the active lanes. */
LLVMValueRef vy_llvm_gather_words(vy_emitter *e, LLVMValueRef at);

/* ---- run-time contiguity checks ---- */

void vy_llvm_plan_contiguous_checks(vy_emitter *e);
/* Whether a check pays. */
int vy_llvm_may_be_contiguous(const vy_emitter *e, uint32_t memory, uint32_t index);
/* i1: the lanes, including inactive ones, are contiguous as the next two functions require. mask: of the access,
 * NULL for all. */
LLVMValueRef vy_llvm_is_contiguous_dyn(vy_emitter *e, LLVMValueRef index, LLVMValueRef mask);
LLVMValueRef vy_llvm_load_contiguous_dyn(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef mask);
void vy_llvm_store_contiguous_dyn(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value,
                                  LLVMValueRef mask);

/* ---- atomics ---- */

void vy_llvm_atomic(vy_emitter *e, uint32_t stmt);
/* Before code is emitted: reserves memory for splitting vectors into lanes, and finds the privatisable buffers. */
void vy_llvm_plan_atomics(vy_emitter *e);
uint64_t vy_llvm_alloc_spill(vy_emitter *e, uint64_t bytes); /* returns the offset into the frame's memory */

/* ---- statements ---- */

/* Emits [first, end) in the current gang. */
void vy_llvm_statements(vy_emitter *e, uint32_t first, uint32_t end);
/* Emits the whole body, with its barriers. */
void vy_llvm_emit_regions(vy_emitter *e);
void vy_llvm_plan_regions(vy_emitter *e);
/* Finds divergent jumps and barriers. Returns whether there is a divergent return. */
int vy_llvm_plan_jumps(vy_emitter *e);
/* Whether a statement of a block with barriers is workgroup control flow, and so ends a region. */
int vy_llvm_ends_region(const vy_emitter *e, uint32_t index);
/* For a loop with barriers: whether it has divergent exits, and whether a later region of the iteration needs their
 * mask. */
int vy_llvm_has_divergent_exit(const vy_emitter *e, uint32_t loop);
int vy_llvm_keeps_left(const vy_emitter *e, uint32_t loop);
/* A loop over the gangs of the workgroup, whose body `inside` emits. */
void vy_llvm_gangs(vy_emitter *e, void (*inside)(vy_emitter *e, const void *user), const void *user);
/* Between regions: a uniform value as a scalar. */
LLVMValueRef vy_llvm_uniform_across_group(vy_emitter *e, uint32_t expr);
/* The condition of a `for`: for the first iteration, and for another one after an iteration, with the next value of
 * the variable. Scalars or lanes. */
LLVMValueRef vy_llvm_for_enters(vy_emitter *e, const vy_stmt *s, LLVMValueRef from, LLVMValueRef to, LLVMValueRef step);
LLVMValueRef vy_llvm_for_next(vy_emitter *e, const vy_stmt *s, LLVMValueRef now, LLVMValueRef to, LLVMValueRef step,
                              LLVMValueRef *next);
void vy_llvm_collective(vy_emitter *e, uint32_t stmt);
/* For a workgroup of one invocation, in the current gang. */
void vy_llvm_collective_alone(vy_emitter *e, uint32_t stmt);

/* Workarounds for LLVM errata: defects of LLVM's optimiser and code generator, and how the emitted code avoids each.
 *
 * One row for each defect. `name` is the file name of the reproducer, tests/compilers/errata/NAME.ll: IR that LLVM
 * of the listed versions compiles to wrong code, or does not compile. The test compilers.errata compiles it without
 * the avoidance and reports a row that the linked LLVM no longer needs; NAME.vyre is a program that the emitter must
 * compile to the right bits. docs/internals/cpu.md ("LLVM errata") describes the rows.
 *
 * A row is removed when every LLVM that the build accepts compiles its reproducer correctly. */
/* X(name, seen in versions, avoidance) */
#define VY_LLVM_ERRATA(X)                                                                                              \
    X("masked-load-constant", "19.1 to 22.1",                                                                          \
      "AVX, AVX2: the mask of a masked load is hidden from the code generator (vy_llvm_errata_rewrite)")               \
    X("masked-load-size", "19.1", "as masked-load-constant")                                                           \
    X("mask-sum-loop", "19.1",                                                                                         \
      "AVX-512: a choice between y + 1 and y instead of a sum with a mask (vy_llvm_errata_rewrite)")                   \
    X("masked-ternary-logic", "19.1",                                                                                  \
      "AVX-512: a logic op of x is hidden from a choice between it and x (vy_llvm_errata_rewrite)")                    \
    X("half-minimum-call", "19.1",                                                                                     \
      "x86-64: a choice between two halfs is one between integers (vy_llvm_errata_rewrite)")                           \
    X("half-range", "19.1",                                                                                            \
      "floats made of integers are hidden from the optimiser in a program that converts to f16 (op.c)")

/* Rewrites the instructions of an optimised module that LLVM would compile to wrong code for a target with these
 * errata (VY_LLVM_ERRATUM_…). No optimiser pass may run afterwards: it could undo the rewriting. */
void vy_llvm_errata_rewrite(LLVMModuleRef module, uint32_t errata);

#endif
