/* State of the LLVM emitter, and the functions that its files share.
 *
 *   kernel.c            the kernel function: frame, loop over workgroups, declarations
 *   control.c   which jumps are divergent, and which code has barriers
 *   barrier_regions.c   code between barriers, each region a loop over gangs
 *   control.c           statements, masks
 *   memory.c            loads and stores: addresses, contiguous, gathered and scattered accesses
 *   affine_values.c  accesses whose contiguity is checked at run time
 *   load_combine.c      words that a program combines from bytes
 *   atomic.c            atomics
 *   collective.c        collectives: in memory and by shuffles
 *   value.c             expressions and variables
 *   op.c                ops and conversions
 *   affine_values.c     values with a stride, as scalars; speculative strides
 *   lane_constants.c    lanes that differ by constants
 *   barrier_regions.c     rematerialisation
 *   simd_width.c        the number of lanes
 *   llvm_util.c        source lines
 *   llvm_util.c         helpers for LLVM's C interface
 *   errata.c            workarounds for defects of LLVM (emitter.h)
 *
 * A value is a scalar if it is uniform in the workgroup (analysis/uniformity.h), else a vector of `width` lanes. The
 * mask has the lanes that execute; NULL means all of them, and then nothing is masked. A lane that does not execute
 * computes any value, but touches no memory: where no lane executes, no code does. */
#ifndef VY_EMIT_LLVM_EMITTER_H
#define VY_EMIT_LLVM_EMITTER_H

#include "analysis/uniformity.h"
#include "base/memory.h"
#include "emit/llvm/kernel.h"
#include "ir/model.h"

#include <llvm-c/Core.h>
#include <stdint.h>

/* Lanes of a gang, and rows of the workgroup in one. */
enum { VY_LLVM_LANES = 64, VY_LLVM_ROWS = 4 };

/* Where a variable lives. */
typedef enum vy_storage_class {
    VY_STORAGE_SCALAR, /* the same for the workgroup */
    VY_STORAGE_LANES,  /* of one region: a vector */
    VY_STORAGE_SPILL,  /* of several regions: a vector for each gang, in the frame's memory; in a region as lanes */
    VY_STORAGE_REMAT   /* of several regions: computed where it is used */
} vy_storage_class;

/* Lanes that differ by numbers: base + factor * times + offset, of 32 bits. NULL: zero, and times are. */
typedef struct vy_lane_affine {
    LLVMValueRef base, factor;
    uint32_t offset[VY_LLVM_LANES], times[VY_LLVM_LANES];
} vy_lane_affine;

typedef struct vy_value_slot {
    uint8_t storage;     /* vy_storage_class */
    uint8_t cost;        /* of computing it again */
    uint32_t made_of;    /* a `let` of lanes: the expression; else VY_NONE */
    LLVMValueRef place;  /* scalar, lanes: an alloca; made when it is first needed */
    uint64_t offset;     /* spill: into the frame's memory */
    uint32_t depth;      /* masks that were in force where it was declared */
    LLVMValueRef before; /* scalar, while a region that assigns it is written: what it was before; else NULL */
    uint8_t is_computed; /* of ids and what is the same, not loaded */
    uint8_t is_whole;    /* lanes that did not execute have their value, too */
    uint8_t is_here;     /* spill: brought from memory for the current gang … */
    uint8_t is_changed;  /* … and to be put back */
    LLVMValueRef memory; /* … there */
    uint8_t is_on_stack; /* spill: not in the frame's memory, but … */
    LLVMValueRef stack;  /* … in this alloca; made when it is first needed */
    LLVMValueRef rows[VY_LLVM_ROWS];    /* lanes, with a stride: the value of each row's first lane; else NULL */
    uint8_t rows_are_places;            /* … allocas: of a loop */
    LLVMValueRef stride_guard;          /* i1: rows are right if it is true; NULL: they are, or there are none */
    uint64_t guarded_stride;            /* … and their stride then */
    LLVMValueRef holds;                 /* lanes of bools: i1, whether all are true; NULL if nobody knows */
    vy_lane_affine *known, *known_room; /* lanes: what is known of them; NULL: nothing. And where that is kept */
} vy_value_slot;

/* A loop that lanes leave one by one: those that have left for good and those that wait for the next trip. */
typedef struct vy_masked_loop {
    LLVMValueRef broke, continued; /* allocas of masks; NULL: nobody does */
    LLVMBasicBlockRef next, exit;  /* where a jump that all take goes */
    /* Of one around regions, where broke and continued are one: */
    int keeps_left;       /* a later region of the trip needs the mask: it is kept for every gang … */
    uint64_t left_offset; /* … in the spill, 8 bytes a gang */
    int some_left;        /* lanes may have left in a region before this one */
} vy_masked_loop;

typedef struct vy_emitter {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMBasicBlockRef entry; /* allocas and what is the same for the whole call */
    const vyre_program *program;
    const vy_function *body;
    LLVMMetadataRef lines, line; /* what lines belong to, and the current one; NULL: nobody asked */
    vy_uniform *uniform;
    uint32_t width, group_size, gangs;
    uint32_t row, row_count; /* a gang is so many rows of so many lanes, in which strides hold; 0: it lies anyhow */
    int by_rows;             /* what has a stride is computed once for a row, not for its lanes */
    int is_unrollable;       /* neither loops nor atomics: gangs may be written out */
    int has_sync, gathers;
    int makes_halves; /* the program converts to f16 */
    /* The same for the call. */
    LLVMValueRef frame, spill, workgroup;
    LLVMValueRef *data, *count, *misalignment; /* by buffer */
    LLVMValueRef *params;
    LLVMValueRef groups[3];
    /* The same for the workgroup: allocas. */
    LLVMValueRef group, group_id[3];
    LLVMValueRef first_gang, end_gang; /* those of it that this call runs: i32, no allocas; NULL: all */
    /* Of the current gang. */
    LLVMValueRef gang;                                             /* i32 */
    LLVMValueRef local_index;                                      /* lanes */
    LLVMValueRef local_id[3];                                      /* lanes */
    LLVMValueRef row_index[VY_LLVM_ROWS], row_id[3][VY_LLVM_ROWS]; /* of the first lane of a row */
    LLVMValueRef mask;                                             /* lanes of i1; NULL: all */
    int is_part;                                                   /* the mask is not full: nobody asks whether it is */
    LLVMValueRef returned;                                         /* alloca of a mask; NULL: nobody returns alone */
    int keeps_returned;           /* a later region needs the mask: it is kept for every gang */
    int some_gone;                /* lanes may have returned in a region before this one */
    LLVMBasicBlockRef gang_start; /* what the gang brings from memory, before its code */
    VY_VECTOR(uint32_t) here;     /* variables that are */
    LLVMBasicBlockRef gang_end;   /* where a lane that has nothing left to do goes */
    LLVMBasicBlockRef group_end;  /* where a workgroup ends */
    LLVMValueRef group_done;      /* alloca of i1: all have returned in a region; NULL without meetings */
    uint32_t depth;               /* of masks */
    uint32_t group_depth;         /* where a gang starts: loops around it that lanes leave */
    LLVMValueRef poll;            /* what the last poll said: i1 */
    uint32_t written;             /* statements that were written for each gang */
    uint32_t copies;              /* how often the current code is written */
    VY_VECTOR(vy_masked_loop) loops;
    vy_value_slot *slots;     /* by variable */
    uint64_t *array_offsets;  /* by memory: into the frame's memory */
    uint8_t *jumps;           /* by statement: VY_JUMP_* inside it */
    uint8_t *has_sync_inside; /* by statement: invocations meet inside */
    uint64_t spill_bytes, workgroup_bytes;
    uint64_t returned_offset;   /* spill: who has returned, 8 bytes a gang */
    uint64_t collective_offset; /* spill: where collectives keep their operands */
    uint64_t lanes_offset;      /* spill: where atomics take lanes apart */
    vy_llvm_sizes sizes;        /* what the frame has to bring; of it the list of private buffers */
    LLVMValueRef apart[3];      /* allocas of lanes that are stored one by one: indices, bytes, halves; NULL: not yet */
    LLVMValueRef private_set;   /* which of them the thread has its own of; i32 */
    LLVMValueRef cached;        /* i1: no store may go past the caches; NULL: there is nothing to store so */
    vy_arena *arena;
    vyre_error *error;
    vyre_status status;
} vy_emitter;

/* Jumps out of a statement that some lanes take and others do not. */
enum { VY_JUMP_BREAK = 1, VY_JUMP_CONTINUE = 2, VY_JUMP_RETURN = 4 };

/* ---- types ---- */

LLVMTypeRef vy_llvm_type(const vy_emitter *e, vyre_type type); /* of one value; f16 and bf16 are i16 */
LLVMTypeRef vy_llvm_lanes(const vy_emitter *e, LLVMTypeRef type);
LLVMTypeRef vy_llvm_int(const vy_emitter *e, unsigned bits);
LLVMTypeRef vy_llvm_pointer(const vy_emitter *e);
LLVMValueRef vy_llvm_number(const vy_emitter *e, unsigned bits, uint64_t value);
int vy_llvm_is_lanes(LLVMValueRef value);
/* The value in every lane; lanes are passed through. */
LLVMValueRef vy_llvm_splat(vy_emitter *e, LLVMValueRef value);
LLVMValueRef vy_llvm_lane(vy_emitter *e, LLVMValueRef lanes, unsigned lane);
LLVMValueRef vy_llvm_iota(vy_emitter *e, unsigned bits);
/* Calls an intrinsic that is overloaded by `type`. */
LLVMValueRef vy_llvm_intrinsic(vy_emitter *e, const char *name, LLVMTypeRef *types, unsigned type_count,
                               LLVMValueRef *args, unsigned arg_count);
/* The same floats, of which LLVM knows nothing: llvm.arithmetic.fence, which is no instruction. */
LLVMValueRef vy_llvm_fence(vy_emitter *e, LLVMValueRef value);
/* An alloca in the entry block. */
LLVMValueRef vy_llvm_alloca(vy_emitter *e, LLVMTypeRef type, const char *name);
LLVMValueRef vy_llvm_offset_pointer(vy_emitter *e, LLVMValueRef base, LLVMValueRef bytes); /* base + bytes (i64) */
LLVMBasicBlockRef vy_llvm_block(vy_emitter *e, const char *name);
void vy_llvm_branch_to(vy_emitter *e, LLVMBasicBlockRef to);      /* unless the block has ended */
void vy_llvm_position_at(vy_emitter *e, LLVMBasicBlockRef block); /* goes on at its end, in the current line */

void vy_llvm_refuse(vy_emitter *e, const char *what);

/* ---- lines ---- */

/* From here on what is written belongs to the program; the function is begun. */
void vy_llvm_debug_start(vy_emitter *e);
/* … to a statement, if it has a place in the source and lines are asked for … */
void vy_llvm_line(vy_emitter *e, uint32_t stmt);
/* … to what it belonged to before (e->line). */
void vy_llvm_line_set(vy_emitter *e, LLVMMetadataRef line);

/* ---- what is known ---- */

/* Whether lanes part by it: it differs between them, and there is more than one. */
int vy_llvm_is_divergent(const vy_emitter *e, uint32_t expr);
/* Whether a statement is `if stop { … }` right behind its poll, which all lanes of a gang make at once: they do not
 * part there. */
int vy_llvm_is_polled(const vy_emitter *e, uint32_t stmt);
/* Whether every lane has the value that its place demands, also those that do not execute: nothing in it was loaded
 * under a mask. Of values with a stride only. */
int vy_llvm_is_whole(const vy_emitter *e, uint32_t expr);

/* ---- values ---- */

/* Operands given by the program. A uniform one is a scalar. */
LLVMValueRef vy_llvm_expr(vy_emitter *e, uint32_t expr);
/* The same in every lane's form. */
LLVMValueRef vy_llvm_expr_lanes(vy_emitter *e, uint32_t expr);
/* What control that does not part asks: i1. */
LLVMValueRef vy_llvm_condition(vy_emitter *e, uint32_t expr);
LLVMValueRef vy_llvm_op(vy_emitter *e, const vy_expr *expr, vyre_type operand, LLVMValueRef a, LLVMValueRef b,
                        LLVMValueRef c);
/* Whether vy_llvm_op takes lanes and a scalar: a division by one number is faster. */
int vy_llvm_divides_by_one(vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b);
/* Two values combined by an op of the language on `type`. */
LLVMValueRef vy_llvm_combine(vy_emitter *e, vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef vy_llvm_variable(vy_emitter *e, uint32_t variable);
/* Declares: nobody else sees the old value, so all lanes take the new one. */
void vy_llvm_declare(vy_emitter *e, uint32_t variable, LLVMValueRef value);
/* Assigns: lanes that do not execute keep theirs. */
void vy_llvm_assign(vy_emitter *e, uint32_t variable, LLVMValueRef value);

/* Declares it by an expression; `let` and `var`. */
void vy_llvm_define(vy_emitter *e, const vy_stmt *s);

/* What is cheap to compute again, and its home then: 1, or 0 if it is not. */
void vy_llvm_find_rematerializable(vy_emitter *e);
int vy_llvm_rematerialize(vy_emitter *e, uint32_t variable);

/* At the end of a gang: what it changed of what outlives it. */
void vy_llvm_writeback(vy_emitter *e);

/* ---- rows ---- */

/* Lanes of a gang that lie in one row of such a workgroup; 0 if rows are too short. */
uint32_t vy_llvm_row_of(const uint32_t *size, uint32_t width);
/* The ids of the gang's lanes, and the mask of those there are. */
void vy_llvm_find_ids(vy_emitter *e);
/* Whether it has a stride, and rows to have it in. */
int vy_llvm_has_rows(const vy_emitter *e, uint32_t expr);
/* The value of the first lane of row k, if any lane of the row executes. Of what has rows. */
LLVMValueRef vy_llvm_row_base(vy_emitter *e, uint32_t expr, uint32_t k);
/* The same from the lanes of the value. */
LLVMValueRef vy_llvm_row_of_lanes(vy_emitter *e, uint32_t expr, LLVMValueRef value, uint32_t k);
/* Lanes of one scalar for each row, that grow by a stride; of vectors for each row, which are overwritten; and those
 * of a row. */
LLVMValueRef vy_llvm_lanes_of(vy_emitter *e, const LLVMValueRef *rows, uint64_t stride);
LLVMValueRef vy_llvm_join(vy_emitter *e, LLVMValueRef *rows);
LLVMValueRef vy_llvm_row_lanes(vy_emitter *e, LLVMValueRef lanes, uint32_t k);
/* i1: whether a lane of row k executes; NULL: at least one does. */
LLVMValueRef vy_llvm_row_executes(vy_emitter *e, uint32_t k);
/* Whether it has a stride, perhaps, and the value of the first lane of a row under the condition that becomes a part
 * of *fits (NULL: none). */
int vy_llvm_guarded_stride(const vy_emitter *e, uint32_t expr, uint64_t *stride);
LLVMValueRef vy_llvm_guarded_row_base(vy_emitter *e, uint32_t expr, uint32_t k, LLVMValueRef *stride_guard);
/* i1: a condition that is true in all lanes, told without them. It may say no where all are. NULL: lanes have to be
 * asked. */
LLVMValueRef vy_llvm_all_true(vy_emitter *e, uint32_t condition);
/* Whether what it says no to is not true in all lanes, but for numbers that wrap. */
int vy_llvm_all_true_is_exact(const vy_emitter *e, uint32_t condition);

/* ---- known lanes ---- */

/* Notes it of a variable that is declared. */
void vy_llvm_note_lane_affine(vy_emitter *e, const vy_stmt *s);
/* As vy_llvm_all_true, of a comparison. */
LLVMValueRef vy_llvm_constants_all_true(vy_emitter *e, const vy_expr *x);
/* Whether the compiler knows which lanes execute. */
int vy_llvm_mask_is_constant(const vy_emitter *e);
/* Whether an index consists of pieces that are loaded faster than lane by lane; zeros where the mask (NULL: all) says
 * no. */
int vy_llvm_has_pieces(vy_emitter *e, uint32_t memory, uint32_t index, LLVMValueRef mask, vy_lane_affine *k);
LLVMValueRef vy_llvm_load_pieces(vy_emitter *e, uint32_t memory, const vy_lane_affine *k, LLVMValueRef mask);
/* Whether a loop makes few trips, all known where the gang is; and writes it trip by trip, or gives 0. */
int vy_llvm_is_unrollable_loop(const vy_emitter *e, uint32_t loop);
int vy_llvm_unroll_loop(vy_emitter *e, uint32_t loop);

/* ---- masks ---- */

/* i1: whether any, or every, lane of a mask is set; the mask is not NULL. */
LLVMValueRef vy_llvm_any(vy_emitter *e, LLVMValueRef mask);
LLVMValueRef vy_llvm_all(vy_emitter *e, LLVMValueRef mask);
LLVMValueRef vy_llvm_bits(vy_emitter *e, LLVMValueRef mask);              /* as an integer, i32 or i64 */
LLVMValueRef vy_llvm_first(vy_emitter *e, LLVMValueRef mask);             /* i32: the first lane; NULL gives lane 0 */
LLVMValueRef vy_llvm_both(vy_emitter *e, LLVMValueRef a, LLVMValueRef b); /* either may be NULL: all */

/* ---- memory ---- */

LLVMValueRef vy_llvm_load(vy_emitter *e, uint32_t expr);
/* A `select`, if it is one between a load and zero; else NULL. */
LLVMValueRef vy_llvm_load_or_zero(vy_emitter *e, const vy_expr *select);
LLVMValueRef vy_llvm_load_row(vy_emitter *e, uint32_t expr, uint32_t k); /* one that is the same in a row */
void vy_llvm_store(vy_emitter *e, uint32_t stmt);
uint64_t vy_llvm_size(vyre_type type); /* bytes of an element */
/* Whether lanes lie side by side; then load_first and store_first access them, as far as the mask allows. */
int vy_llvm_is_contiguous(const vy_emitter *e, uint32_t memory, uint32_t index);
LLVMValueRef vy_llvm_load_contiguous(vy_emitter *e, uint32_t memory, uint32_t index);
void vy_llvm_store_contiguous(vy_emitter *e, uint32_t memory, LLVMValueRef value, uint32_t index);
LLVMValueRef vy_llvm_base(vy_emitter *e, uint32_t memory);                        /* of the first element */
LLVMValueRef vy_llvm_address(vy_emitter *e, uint32_t memory, LLVMValueRef index); /* of an element, or of each lane's */

/* ---- words ---- */

/* An `or` of four bytes that is a word of memory, or NULL: then, and where the word cannot be loaded as one, it is
 * `otherwise`. */
LLVMValueRef vy_llvm_combine_loads(vy_emitter *e, const vy_expr *x,
                                   LLVMValueRef (*otherwise)(vy_emitter *e, const vy_expr *x));
/* Words of 32 bits from anywhere, for the lanes that execute. */
LLVMValueRef vy_llvm_gather_words(vy_emitter *e, LLVMValueRef at);

/* ---- runs ---- */

void vy_llvm_plan_contiguous_checks(vy_emitter *e);
/* Whether it is worth to ask. */
int vy_llvm_may_be_contiguous(const vy_emitter *e, uint32_t memory, uint32_t index);
/* i1: the lanes, also those that do not execute, lie side by side as far as the next two care. mask: of the access,
 * NULL for all. */
LLVMValueRef vy_llvm_is_contiguous_dyn(vy_emitter *e, LLVMValueRef index, LLVMValueRef mask);
LLVMValueRef vy_llvm_load_contiguous_dyn(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef mask);
void vy_llvm_store_contiguous_dyn(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value,
                                  LLVMValueRef mask);

/* ---- atomics ---- */

void vy_llvm_atomic(vy_emitter *e, uint32_t stmt);
/* Before the code is written: memory to take lanes apart in, and the buffers of which a thread may have its own. */
void vy_llvm_plan_atomics(vy_emitter *e);
uint64_t vy_llvm_alloc_spill(vy_emitter *e, uint64_t bytes); /* of the frame's memory: where it lies */

/* ---- statements ---- */

/* [first, end), in the current gang. */
void vy_llvm_statements(vy_emitter *e, uint32_t first, uint32_t end);
/* The whole body, whatever meets in it. */
void vy_llvm_emit_regions(vy_emitter *e);
void vy_llvm_plan_regions(vy_emitter *e);
/* Finds jumps and meetings; whether some return before others. */
int vy_llvm_plan_jumps(vy_emitter *e);
/* Whether a statement of a block with meetings is for the workgroup, and ends a region. */
int vy_llvm_ends_region(const vy_emitter *e, uint32_t index);
/* Of a loop with meetings: whether some leave a trip before others, and whether a later region of the trip must know
 * who. */
int vy_llvm_has_divergent_exit(const vy_emitter *e, uint32_t loop);
int vy_llvm_keeps_left(const vy_emitter *e, uint32_t loop);
/* A loop over the gangs of the workgroup around what `inside` writes. */
void vy_llvm_gangs(vy_emitter *e, void (*inside)(vy_emitter *e, const void *user), const void *user);
/* Around regions: what all invocations agree on, a scalar. */
LLVMValueRef vy_llvm_uniform_across_group(vy_emitter *e, uint32_t expr);
/* The steps of a `for`: whether there is a first trip, and after a trip whether there is another; the variable is
 * advanced. Scalars or lanes. */
LLVMValueRef vy_llvm_for_enters(vy_emitter *e, const vy_stmt *s, LLVMValueRef from, LLVMValueRef to, LLVMValueRef step);
LLVMValueRef vy_llvm_for_next(vy_emitter *e, const vy_stmt *s, LLVMValueRef now, LLVMValueRef to, LLVMValueRef step,
                              LLVMValueRef *next);
void vy_llvm_collective(vy_emitter *e, uint32_t stmt);
/* Of a workgroup of one invocation, in the current gang. */
void vy_llvm_collective_alone(vy_emitter *e, uint32_t stmt);

/* Workarounds for LLVM errata: defects of LLVM's optimiser and code generator, and how the emitted code avoids each.
 *
 * One row for each defect. `name` is the file name of the reproducer, tests/compilers/errata/NAME.ll: IR that LLVM of
 * the given versions compiles to wrong code, or does not compile. The test compilers.errata compiles it without the
 * avoidance and reports a row that the linked LLVM no longer needs; NAME.vyre is a program that the emitter must
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
    X("half-range", "19.1",                                                                                            \
      "floats made of integers are hidden from the optimiser in a program that converts to f16 (op.c)")

/* Rewrites the instructions of an optimised module that LLVM would compile to wrong code for a processor with these
 * features (VY_CPU_FEATURE_…). No pass of the optimiser may run afterwards: it could undo the rewriting. */
void vy_llvm_errata_rewrite(LLVMModuleRef module, uint64_t features);

#endif
