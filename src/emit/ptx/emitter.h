/* State of the PTX emitter, and the functions that its files share.
 *  - module.c: declarations and the entry; constant arrays
 *  - prologue.c: ids, addresses, counts and params, computed at the start of the entry
 *  - text_writer.c: lines, registers, literals
 *  - op.c: variables, expressions, ops and conversions
 *  - memory.c: loads, stores, atomics, elements of words
 *  - control.c: statements, traps, polls, grid barriers
 *  - loop.c: `for` and `while`, software pipelining of loads, alignment versions
 *  - if_conversion.c: short branches as predicated code
 *  - byte_load_combine.c: loads of neighbouring bytes in a loop
 *  - lowered_op.c: calls of ops with code of their dialect
 *  - indirect_grid.c: the grid-stride loop around a program with an indirect grid
 *  - ptxas_errata.c: ops and loops that ptxas miscompiles, and their replacements
 *
 * A value is a register or a literal. Registers are typed by size only, which PTX allows for every instruction of that
 * size: so bitcasts between f32 and u32 need no instruction. 8- and 16-bit integers are held in 32 bits,
 * sign-extended; f16 and bf16 in 16 bits; bools in predicates. The register of a temporary is written by one
 * instruction. */
#ifndef VY_EMIT_PTX_EMITTER_H
#define VY_EMIT_PTX_EMITTER_H

#include "analysis/def_use.h"
#include "analysis/interval.h"
#include "analysis/literal.h"
#include "base/memory.h"
#include "base/string.h"
#include "emit/ptx/ptx.h"
#include "emit/ptxas_loops.h"
#include "ir/eval.h"
#include "ir/model.h"

/* Kinds of registers: %p0 …, %h0 …, %r0 …, %d0 … */
typedef enum vy_ptx_class { VY_PTX_PRED, VY_PTX_B16, VY_PTX_B32, VY_PTX_B64, VY_PTX_CLASS_COUNT } vy_ptx_class;

/* The origin of the low bits of a value: they are an element of a word of several elements, or of a word that an op
 * computes from two such words. Elements that are stored together again need not be extracted then. */
typedef struct vy_ptx_subword {
    uint8_t bytes;     /* of the element; 0: unknown */
    uint8_t element;   /* its index */
    uint8_t op;        /* VYRE_OP_XOR, …; VYRE_OP_COUNT: the first word itself */
    uint8_t is_all;    /* all other bits are zero */
    uint8_t places;    /* or: a mask of the bytes of the first word that are in place; the others are zero */
    uint64_t words[2]; /* names of registers */
} vy_ptx_subword;

/* 16 bytes, which functions pass and return in registers. */
typedef struct vy_ptx_value {
    uint8_t type;               /* vyre_type */
    uint8_t is_literal;         /* `bits`, else the register `name` */
    uint8_t is_variable;        /* the register of a variable that is assigned, so it may change */
    uint8_t maybe_negated : 1;  /* ptxas may find that it is the negation of a value */
    uint8_t never_negative : 1; /* a number that is not negative */
    uint8_t maybe_bool : 1;     /* an integer that may be the 1 or 0 of a comparison; if the program has_flags */
    uint8_t is_opaque : 1;      /* unknown at compile time: ptxas cannot determine a number for it */
    uint32_t part;              /* its origin (memory.c); 0: unknown */
    union {
        uint64_t bits;
        uint64_t name; /* "%r123" as bytes of a word, the first lowest; or its number << 8, if that is too long */
    };
} vy_ptx_value;
_Static_assert(sizeof(vy_ptx_value) == 16, "two registers");

/* The registers of a class. Names are incremented as text, because converting each number would need divisions. */
typedef struct vy_ptx_registers {
    uint64_t next; /* the next name */
    uint64_t one;  /* the increment of its last digit */
    uint32_t left; /* names until a number ends with 0 */
    uint32_t ten;  /* that number */
    char start[3]; /* of the names: "%r" */
} vy_ptx_registers;

/* A value that is computed once, at the start of the entry, if it is used. */
typedef struct vy_ptx_cached {
    int is_cached;
    vy_ptx_value value;
} vy_ptx_cached;

/* Whether the buffers of alignment tests are known to start at multiples of 16 bytes. */
typedef enum vy_ptx_alignment { VY_PTX_ALIGNMENT_UNKNOWN, VY_PTX_ALIGNED, VY_PTX_NOT_ALIGNED } vy_ptx_alignment;

typedef struct vy_ptx_loop {
    uint32_t next, exit; /* labels */
} vy_ptx_loop;

/* The loop over the workgroups of an indirect grid. */
typedef struct vy_ptx_groups {
    uint32_t body, next, done;  /* labels; next: where an invocation continues with another workgroup */
    vy_ptx_value linear, total; /* the number of the workgroup, and the number of workgroups: 64 bits */
} vy_ptx_groups;

/* Loads of neighbouring bytes (byte_load_combine.c). */
enum { VY_PTX_BYTE_LOADS = 64 };
typedef struct vy_ptx_byte_loads {
    uint32_t variable, memory; /* the loads access element variable + offset of the memory */
    uint32_t reach;            /* one past the largest offset */
    uint32_t count, loads[VY_PTX_BYTE_LOADS], offsets[VY_PTX_BYTE_LOADS];
    vy_ptx_value limit, is_usual; /* the largest variable in bounds; whether the buffer is long enough and aligned */
    vy_ptx_value words[VY_PTX_BYTE_LOADS / 4]; /* from offset 0 on */
} vy_ptx_byte_loads;

enum { VY_PTX_NAMES = 16, VY_PTX_NAME = 24, VY_PTX_LINE = 256, VY_PTX_ROOM = VY_PTX_LINE + 32, VY_PTX_NUMBERS = 128 };

typedef struct vy_ptx {
    const vyre_program *program;
    const vy_expr *exprs; /* of the program */
    const vy_function *body;
    vy_arena *arena;
    vy_target_desc target;
    vy_def_use uses; /* computed on demand, because only analyses of loops need it */
    /* of the entry: its cached values, and the rest; for an indirect grid, the code around them */
    vy_string before, start, code, behind;
    vy_string *out; /* the current output; its length is updated by vy_ptx_flush */
    char *at;       /* the position of the next line */
    char *last;     /* the last position with room for a line */
    vy_ptx_registers registers[VY_PTX_CLASS_COUNT];
    uint32_t labels, places; /* labels used, labels placed */
    uint32_t version, architecture;
    uint32_t reserved;                             /* bytes before the text */
    int is_flat;                                   /* a block is launched as one row of threads */
    int batched;                                   /* the arguments are in a table */
    int is_indirect;                               /* the grid size is in device memory */
    unsigned tiled_axes;                           /* bits 1 << axis: see ptx.h */
    int dependent_launch;                          /* it waits for the kernels that it depends on */
    int has_reports, has_polls, has_grid_barriers; /* of the program */
    int has_differences;                           /* 64-bit differences, or expressions that may become one */
    int has_signs;                                 /* two or more of min, max and abs of floats */
    int has_extremes;                              /* min or max of integers occurs */
    int has_floors;                                /* the maximum of a float and 0, possibly */
    int has_flags;                                 /* comparisons of floats, and integers made from bools */
    int has_orders;                                /* comparisons of f32 with values that may be 0 or less */
    /* number of types, from i32 on, with ops of a single line (op.c): none if there are extremes or flags */
    uint32_t plain_types;
    int has_sync;               /* its invocations synchronise: barriers, shuffles */
    vy_ptx_alignment alignment; /* of buffers, in the current code */
    /* by statement of the body: whether it tests a buffer for that (loop.c); NULL: not computed */
    uint8_t *asks;
    int one_by_one; /* wide accesses are written as accesses of single elements */
    int has_positions;
    uint32_t line; /* of the last .loc */
    /* Computed at the start. */
    vy_ptx_cached builtins[VYRE_BUILTIN_COUNT][3];
    vy_ptx_cached *address, *count, *misalignment; /* by buffer */
    vy_ptx_cached *params;
    vy_ptx_cached control, zero, shared, local, tables[2], row;
    vy_ptx_value polls, stopping;             /* if the program has polls */
    vy_ptx_value group_id[3], group_count[3]; /* of an indirect grid */
    vy_ptx_groups groups;
    vy_ptx_value guard; /* a bool: the current code has effects only if it is true */
    vy_ptx_value *variables;
    uint32_t *noted;                 /* by variable: the number of labels when its origin was recorded */
    VY_VECTOR(vy_ptx_subword) parts; /* that values refer to */
    uint32_t *array_offsets;         /* by memory of the entry */
    uint32_t shared_bytes, local_bytes;
    uint8_t *in_bank;                 /* by memory of the entry: a constant array in the constant bank (module.c) */
    uint32_t table_bytes[2];          /* sizes of the constant arrays in global memory and in the constant bank */
    uint64_t numbers[VY_PTX_NUMBERS]; /* f64 literals in the constant bank (op.c) */
    uint32_t number_count;
    /* in the second branch of an `if`: the literals of the first, and the loops around it (control.c) */
    uint32_t repeated_numbers, loops_outside;
    VY_VECTOR(vy_ptx_loop) loops;
    uint32_t shifted; /* a variable shifted left by `room` bits and not assigned since; VY_NONE */
    uint32_t room;
    uint32_t ahead;                        /* a load that was issued in the previous iteration; VY_NONE */
    vy_ptx_value given;                    /* its value */
    const vy_ptx_byte_loads *near;         /* loads that are known to be in bounds; NULL */
    char names[VY_PTX_NAMES][VY_PTX_NAME]; /* ring buffer of the latest results of vy_ptx_name */
    uint32_t next_name;
    char lost[VY_PTX_ROOM]; /* receives lines after a failed allocation */
    vyre_error *error;
    vyre_status status;
} vy_ptx;

/* ---- text ---- */

/* Redirects the output to that string, and returns the previous one. */
vy_string *vy_ptx_set_output(vy_ptx *e, vy_string *out);
void vy_ptx_flush(vy_ptx *e); /* updates the length of the output */
/* A line of code, without tab and semicolon: %s, %d, %u and %c. */
void vy_ptx_write(vy_ptx *e, const char *format, ...) VY_PRINTF(2, 3);
/* Writes a line piece by piece (base/string.h): returns its position, with room for VY_PTX_LINE bytes; vy_ptx_end_line
 * completes it. No other line may be written meanwhile. */
char *vy_ptx_more_room(vy_ptx *e);
static inline char *vy_ptx_room(vy_ptx *e) {
    return e->at <= e->last ? e->at : vy_ptx_more_room(e);
}
static inline char *vy_ptx_line(vy_ptx *e) {
    return vy_write_text(vy_ptx_room(e), "\t");
}
char *vy_ptx_line_predicated(vy_ptx *e, vy_ptx_value guard); /* "@%p1 ": for a result of vy_ptx_predicate */
static inline void vy_ptx_end_line(vy_ptx *e, char *at) {
    e->at = vy_write_text(at, ";\n");
}
/* "name.suffix %r1, %r2", the form of most lines. A name is a packed word (base/string.h), a suffix has three or four
 * letters. */
void vy_ptx_instruct(vy_ptx *e, uint64_t name, const char *suffix, const vy_ptx_value *operands, unsigned count);
#define VY_PTX_INSTRUCT(e, name, suffix, ...)                                                                          \
    vy_ptx_instruct(e, vy_pack_text(name), suffix, (const vy_ptx_value[]){__VA_ARGS__},                                \
                    sizeof(vy_ptx_value[]){__VA_ARGS__} / sizeof(vy_ptx_value))
/* … completes a line that was begun with its operands: " %r1, %r2". */
void vy_ptx_end_with(vy_ptx *e, char *at, const vy_ptx_value *operands, unsigned count);
uint32_t vy_ptx_label(vy_ptx *e);
void vy_ptx_bind_label(vy_ptx *e, uint32_t label);
void vy_ptx_jump(vy_ptx *e, uint32_t label);
void vy_ptx_jump_if(vy_ptx *e, vy_ptx_value condition, int wanted, uint32_t label);
/* Emits the source line of a statement, if it differs from the last one. */
void vy_ptx_locate(vy_ptx *e, uint32_t stmt);
/* Raises the required version: 70 and 80 for PTX 7.0 and sm_80. */
void vy_ptx_need(vy_ptx *e, uint32_t version, uint32_t architecture);
void vy_ptx_refuse(vy_ptx *e, const char *what);

/* ---- values ---- */

/* 16 bytes, so that indexing needs no multiplication. */
typedef struct vy_ptx_type_row {
    char type[5], bits[5];
    char start[5]; /* of the names of registers */
    uint8_t class;
} vy_ptx_type_row;
extern const vy_ptx_type_row vy_ptx_types[VYRE_TYPE_COUNT];

static inline vy_ptx_class vy_ptx_class_of(vyre_type type) {
    return (vy_ptx_class)vy_ptx_types[type].class;
}
/* The type in instructions: u32, s64, f32; narrow integers as they are held. */
static inline const char *vy_ptx_type(vyre_type type) {
    return vy_ptx_types[type].type;
}
/* … in instructions that move bits: pred, b16, b32, b64. */
static inline const char *vy_ptx_bits(vyre_type type) {
    return vy_ptx_types[type].bits;
}
/* The letters of a type as a packed word (base/string.h): three and a NUL, or four. */
static inline uint32_t vy_ptx_letters(const char *type) {
    uint32_t letters;
    memcpy(&letters, type, sizeof letters);
    return letters;
}
static inline vy_ptx_value vy_ptx_named(vyre_type type, uint64_t name) {
    return (vy_ptx_value){.type = (uint8_t)type, .name = name};
}
void vy_ptx_next_ten(vy_ptx_registers *registers); /* sets the name with number `ten` */
static inline uint32_t vy_ptx_register_count(const vy_ptx_registers *registers) {
    return registers->ten - registers->left;
}
static inline vy_ptx_value vy_ptx_new_of(vy_ptx *e, vy_ptx_class class, vyre_type type) {
    vy_ptx_registers *r = &e->registers[class];
    vy_ptx_value made = vy_ptx_named(type, r->next);
    r->next += r->one;
    if (--r->left == 0)
        vy_ptx_next_ten(r);
    return made;
}
static inline vy_ptx_value vy_ptx_new(vy_ptx *e, vyre_type type) {
    return vy_ptx_new_of(e, vy_ptx_class_of(type), type);
}
static inline vy_ptx_value vy_ptx_literal(vyre_type type, uint64_t bits) {
    return (vy_ptx_value){.type = (uint8_t)type, .is_literal = 1, .bits = bits};
}
/* As an operand: a register's name, or the literal. At most VY_PTX_NAME bytes. */
char *vy_ptx_put_other(char *at, vy_ptx_value value); /* any value but one of the first million registers */
static inline char *vy_ptx_put(char *at, vy_ptx_value value) {
    if (value.is_literal || (value.name & 0xff) != '%')
        return vy_ptx_put_other(at, value);
    return vy_write_packed(at, value.name);
}
/* The same as a text, valid until a few more were requested. */
const char *vy_ptx_name(vy_ptx *e, vy_ptx_value value);
/* The value in a register. */
vy_ptx_value vy_ptx_in_register(vy_ptx *e, vy_ptx_value value);
const char *vy_ptx_register(vy_ptx *e, vy_ptx_value value);
void vy_ptx_move(vy_ptx *e, vy_ptx_value to, vy_ptx_value from);
void vy_ptx_move_if(vy_ptx *e, vy_ptx_value condition, vy_ptx_value to, vy_ptx_value from);

vy_ptx_value vy_ptx_variable(vy_ptx *e, uint32_t variable);
vy_ptx_value vy_ptx_expr(vy_ptx *e, uint32_t expr);
/* The same for a value that is used later: it is copied if it may change. */
vy_ptx_value vy_ptx_expr_kept(vy_ptx *e, uint32_t expr);
/* The origin of a value (memory.c). */
vy_ptx_subword vy_ptx_subword_of(const vy_ptx *e, vy_ptx_value value);
uint32_t vy_ptx_new_subword(vy_ptx *e, vy_ptx_subword part);
/* … of the result of an op on such values; or the whole word, if the op combines all its parts. */
vy_ptx_value vy_ptx_track_subword(vy_ptx *e, const vy_expr *expr, const vy_ptx_value *args, vy_ptx_value made);
/* The value of an assignment, hidden if ptxas would combine it into a minimum with 1 (ptxas_errata.c). */
vy_ptx_value vy_ptx_assigned(vy_ptx *e, vy_ptx_value value);
/* After an assignment: records the origin of the variable. */
void vy_ptx_note_subword(vy_ptx *e, uint32_t variable, vy_ptx_value value);
/* After an assignment: records whether the variable has room for a byte. */
void vy_ptx_note_shift(vy_ptx *e, const vy_stmt *s);
vy_ptx_value vy_ptx_op(vy_ptx *e, const vy_expr *expr, vyre_type operand, const vy_ptx_value *args);
vy_ptx_value vy_ptx_cast(vy_ptx *e, vyre_type to, vy_ptx_value a);
vy_ptx_value vy_ptx_bitcast(vy_ptx *e, vyre_type to, vy_ptx_value a);

/* Values computed at the start (prologue.c): ids and arguments. */
vy_ptx_value vy_ptx_builtin(vy_ptx *e, vyre_builtin builtin, unsigned axis);
vy_ptx_value vy_ptx_param(vy_ptx *e, uint32_t param);
vy_ptx_value vy_ptx_buffer(vy_ptx *e, uint32_t buffer); /* its address in the global space */
vy_ptx_value vy_ptx_count(vy_ptx *e, uint32_t buffer);
vy_ptx_value vy_ptx_misalignment(vy_ptx *e, uint32_t buffer);
vy_ptx_value vy_ptx_control_address(vy_ptx *e);
vy_ptx_value vy_ptx_zero(vy_ptx *e); /* 64 bits, which ptxas does not recognise as zero */
uint32_t vy_ptx_batch_item_bytes(const vy_ptx *e);
vy_ptx_value vy_ptx_arrays(vy_ptx *e, vy_space space); /* their start: workgroup 32 bits, private 64 */
/* The start of the constant arrays in global memory, or in the constant bank. */
vy_ptx_value vy_ptx_tables(vy_ptx *e, int in_bank);

/* ---- memory ---- */

/* "[%d1+4]" of an element. */
typedef struct vy_ptx_address {
    char text[2 * VY_PTX_NAME];
} vy_ptx_address;

vy_ptx_value vy_ptx_load(vy_ptx *e, uint32_t expr);
/* The same if the condition holds, of which nothing else is required; otherwise 0. */
vy_ptx_value vy_ptx_load_if(vy_ptx *e, uint32_t expr, vy_ptx_value condition);
/* A load at the start of the body [first, end) of a loop that can be issued in the previous iteration, from statement
 * `settled` on; VY_NONE. */
uint32_t vy_ptx_find_pipelined_load(vy_ptx *e, uint32_t first, uint32_t settled, uint32_t end);
/* Issues it, if the condition holds. */
vy_ptx_value vy_ptx_load_next_iteration(vy_ptx *e, uint32_t load, vy_ptx_value condition);
/* Whether the body of a loop has enough loads of neighbouring bytes. The limit is emitted before the loop, the words
 * in it. */
int vy_ptx_find_byte_loads(vy_ptx *e, uint32_t first, uint32_t end, vy_ptx_byte_loads *near);
void vy_ptx_byte_loads_limit(vy_ptx *e, vy_ptx_byte_loads *near);
/* A byte of an iteration whose words are loaded. */
vy_ptx_value vy_ptx_combined_byte(vy_ptx *e, uint32_t offset);
void vy_ptx_write_combined_body(vy_ptx *e, vy_ptx_byte_loads *near, uint32_t first, uint32_t end);
/* A byte permutation (prmt) of two words. */
void vy_ptx_permute(vy_ptx *e, vy_ptx_value guard, vy_ptx_value d, vy_ptx_value low, vy_ptx_value high,
                    unsigned selectors);
void vy_ptx_store(vy_ptx *e, const vy_stmt *s);
void vy_ptx_load_wide(vy_ptx *e, const vy_stmt *s);
void vy_ptx_store_wide(vy_ptx *e, const vy_stmt *s);
void vy_ptx_atomic(vy_ptx *e, const vy_stmt *s);

/* ---- positions ----
 *
 * If memory for the analysis cannot be allocated, the result is VY_NONE or 0, and the status is set. */

/* The first statement at or after `stmt` that declares a variable or assigns to it; the last one before `stmt`.
 * VY_NONE if there is none. */
static inline int vy_ptx_need_uses(vy_ptx *e, unsigned parts) {
    int ok = vy_def_use_need(&e->uses, parts);
    if (!ok)
        e->status = VYRE_NO_MEMORY;
    return ok;
}
static inline uint32_t vy_ptx_next_def(vy_ptx *e, uint32_t variable, uint32_t stmt) {
    return vy_ptx_need_uses(e, VY_DEF_USE_DEFINITIONS) ? vy_next_definition(&e->uses, variable, stmt) : VY_NONE;
}
static inline uint32_t vy_ptx_last_def(vy_ptx *e, uint32_t variable, uint32_t stmt) {
    return vy_ptx_need_uses(e, VY_DEF_USE_DEFINITIONS) ? vy_last_definition(&e->uses, variable, stmt) : VY_NONE;
}
/* The enclosing statement; VY_NONE. */
static inline uint32_t vy_ptx_parent(vy_ptx *e, uint32_t stmt) {
    return vy_ptx_need_uses(e, VY_DEF_USE_PARENTS) ? e->uses.parents[stmt] : VY_NONE;
}

/* ---- statements ---- */

void vy_ptx_declare(vy_ptx *e, uint32_t variable, vy_ptx_value value);
/* [first, end). */
void vy_ptx_statements(vy_ptx *e, uint32_t first, uint32_t end);
/* A call of an op whose code for ptx replaces its body (lowered_op.c). */
void vy_ptx_lowered_op(vy_ptx *e, const vy_stmt *s);
/* The buffer of an `if misalignment(x) & 3 == 0` with a wide access and, after `else`, accesses to the same elements
 * one by one; VY_NONE for any other statement. */
uint32_t vy_ptx_alignment_test_buffer(const vy_ptx *e, uint32_t stmt);
/* Ends the invocation. */
void vy_ptx_leave(vy_ptx *e);
static inline int vy_ptx_is_constant(vy_ptx_value condition, uint64_t bits) {
    return condition.is_literal && condition.bits == bits;
}
/* Emits an `if` without branches: its effects are predicated. Returns 0 and emits nothing if it is too long. */
int vy_ptx_if_convert(vy_ptx *e, uint32_t index, const vy_stmt *s);
/* The same for a `for` of one or two iterations, which starts from a local id. */
int vy_ptx_for_convert(vy_ptx *e, uint32_t index, const vy_stmt *s);
/* Whether an assignment assigns the value that the variable has if the guard is false, so that it need not be
 * predicated. */
int vy_ptx_assigns_itself_outside(const vy_ptx *e, const vy_stmt *s);
/* The predicate of an instruction with an effect: a register, or a literal if it is always executed. */
static inline vy_ptx_value vy_ptx_predicate(vy_ptx *e, vy_ptx_value condition) {
    return vy_ptx_is_constant(condition, 1) ? condition : vy_ptx_in_register(e, condition);
}
vy_ptx_value vy_ptx_both(vy_ptx *e, vy_ptx_value a, vy_ptx_value b); /* of bools */
/* ---- loops ---- */

void vy_ptx_for(vy_ptx *e, uint32_t index, const vy_stmt *s);
void vy_ptx_while(vy_ptx *e, uint32_t index, const vy_stmt *s);
/* Makes the labels of a loop; returns 0 if out of memory. The loop ends with `loops.count--`. */
int vy_ptx_loop_begin(vy_ptx *e, vy_ptx_loop *out);
/* vy_ptxas_exits_are_safe (emit/ptxas_loops.h). */
int vy_ptx_exits_are_safe(vy_ptx *e, uint32_t loop);
/* Before a loop for which it does not: hides the initial values of its induction variables. */
void vy_ptx_hide_constants(vy_ptx *e, uint32_t loop);
/* Places the label of a loop body; a pragma forbids unrolling if ptxas might miscount. */
void vy_ptx_bind_body_label(vy_ptx *e, uint32_t label, int is_right);

/* ---- cancellation ---- */

/* Sets `stop` if the dispatch must end. The invocation that finds out notifies all others. */
void vy_ptx_check_cancel(vy_ptx *e, vy_ptx_value stop);
/* "[%d1+8]": a field of the control block. */
vy_ptx_address vy_ptx_field(vy_ptx *e, size_t offset);
#define VY_PTX_FIELD(name) vy_ptx_field(e, offsetof(vy_launch_control, name)).text
void vy_ptx_grid_barrier(vy_ptx *e);
/* Begins the loop around the statements of an entry for an indirect grid (indirect_grid.c): fills `before`.
 * The end, after all statements, fills `behind`. */
void vy_ptx_indirect_begin(vy_ptx *e);
void vy_ptx_indirect_end(vy_ptx *e);

/* ---- ops, and their replacements (ptxas_errata.c) ---- */

static inline int vy_ptx_is_float(vyre_type type) {
    return vy_type_layouts[type].classes == VYRE_CLASS_FLOAT;
}

static inline int vy_ptx_is_half(vyre_type type) {
    return type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16;
}

static inline uint64_t vy_ptx_sign_bit(vyre_type type) {
    return UINT64_C(1) << (vy_type_layouts[type].bits - 1);
}

/* The unsigned type of the bits of a float. */
static inline vyre_type vy_ptx_integer_of(vyre_type type) {
    return vy_type_layouts[type].bits == 64 ? VYRE_TYPE_U64 : VYRE_TYPE_U32;
}

/* A new register of that type: name.suffix with two operands; args[0] ? args[1] : args[2]; the bits of a float that a
 * mask selects, as an integer. */
vy_ptx_value vy_ptx_two_by(vy_ptx *e, uint64_t name, const char *suffix, vyre_type type, vy_ptx_value a,
                           vy_ptx_value b);
static inline vy_ptx_value vy_ptx_two(vy_ptx *e, const char *name, const char *suffix, vyre_type type, vy_ptx_value a,
                                      vy_ptx_value b) {
    return vy_ptx_two_by(e, vy_pack_text(name), suffix, type, a, b);
}
vy_ptx_value vy_ptx_choose(vy_ptx *e, vyre_type type, const vy_ptx_value *args);
vy_ptx_value vy_ptx_masked(vy_ptx *e, vyre_type type, vy_ptx_value a, uint64_t mask);

/* vy_ptx_choose, hidden if ptxas would combine it into a minimum with 1. */
vy_ptx_value vy_ptx_selection(vy_ptx *e, vyre_type type, const vy_ptx_value *args);
/* Emits the replacement of an op that ptxas would miscompile; returns 0 if the table applies, as for most ops. */
extern const uint8_t vy_ptx_has_errata[VYRE_OP_COUNT];
int vy_ptx_errata_replace(vy_ptx *e, vyre_op op, vyre_type operand, const vy_ptx_value *args, vy_ptx_value *out);
/* Whether the result of an op is maybe_negated; used if the program has extremes. */
int vy_ptx_may_be_negated(const vy_expr *x, vyre_type operand, const vy_ptx_value *args);
/* Whether the result of an op is maybe_bool; used if the program has such values. And an integer whose bits are used
 * as another type, hidden so that ptxas does not recognise it. */
int vy_ptx_may_be_bool(const vy_expr *x, const vy_ptx_value *args);
vy_ptx_value vy_ptx_normalize_bool(vy_ptx *e, vyre_type to, vy_ptx_value value);
/* Whether the result of a float op with an operand that is_opaque is opaque, too. */
int vy_ptx_keeps_opaque(vyre_op op);
/* Records which constructs of the program may trigger errata. */
void vy_ptx_scan_errata(vy_ptx *e);

#endif
