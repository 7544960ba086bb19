/* State of the PTX emitter, and the functions that its files share.
 *
 *   module.c              the module: declarations, the entry
 *   prologue.c            ids, addresses, counts and params, computed at the start of the entry
 *   text_writer.c         lines, registers, literals
 *   op.c                variables, expressions, ops of two words
 *   op.c                  ops and conversions
 *   ptxas_errata.c        ops that ptxas compiles wrongly, and their replacements
 *   memory.c              loads, stores, atomics, elements of words
 *   control.c             statements, traps, polls
 *   loop.c                `for` and `while`
 *   ptxas_errata.c         loops that ptxas must not unroll
 *   if_conversion.c       short branches as predicated code
 *   loop.c  tests of alignment
 *   loop.c     software pipelining: loads for the next trip
 *   byte_load_combine.c   loads of neighbouring bytes in a loop
 *   def_use.c             where variables are set and read
 *   control.c        grid barriers
 *   indirect_grid.c       indirect grids: the grid-stride loop around the program
 *
 * A value is a register or a literal. Registers are typed by size alone, which PTX allows for every instruction of
 * that size: so bitcasts between f32 and u32 need no instruction. 8- and 16-bit integers are held in 32 bits,
 * sign-extended; f16 and bf16 in 16 bits; bools in predicates. The register of a temporary is written by one
 * instruction. */
#ifndef VY_EMIT_PTX_EMITTER_H
#define VY_EMIT_PTX_EMITTER_H

#include "analysis/interval.h"
#include "base/memory.h"
#include "base/string.h"
#include "emit/ptx/ptx.h"
#include "ir/eval.h"
#include "ir/model.h"

/* Kinds of registers: %p0 …, %h0 …, %r0 …, %d0 … */
typedef enum vy_ptx_class { VY_PTX_PRED, VY_PTX_B16, VY_PTX_B32, VY_PTX_B64, VY_PTX_CLASS_COUNT } vy_ptx_class;

/* What is known of the low bits of a value: they are an element of a word of several, or of one that an op makes of
 * two such words. Elements that are stored together again need not be taken apart then. */
typedef struct vy_ptx_subword {
    uint8_t bytes;     /* of the element; 0: nothing is known */
    uint8_t element;   /* which */
    uint8_t op;        /* VYRE_OP_XOR, …; VYRE_OP_COUNT: the first word itself */
    uint8_t is_all;    /* the other bits are zero */
    uint8_t places;    /* or: the value is these bytes of the first word, at their places, and zeros */
    uint64_t words[2]; /* registers, by name */
} vy_ptx_subword;

/* Of 16 bytes, which functions give and take in registers. */
typedef struct vy_ptx_value {
    uint8_t type;               /* vyre_type */
    uint8_t is_literal;         /* `bits`, else the register `name` */
    uint8_t is_variable;        /* the register of a variable that is assigned: it may change */
    uint8_t maybe_negated : 1;  /* the driver's compiler may find out that it is the opposite of a number */
    uint8_t never_negative : 1; /* a number, not below 0 */
    uint8_t maybe_bool : 1; /* an integer that may be 1 where a comparison holds, else 0; if the program has_flags */
    uint8_t is_opaque : 1;  /* only the run knows it: no number that the driver's compiler could find out */
    uint32_t part;          /* of what it is one (memory.c); 0: nothing is known */
    union {
        uint64_t bits;
        uint64_t name; /* "%r123" as bytes of a word, the first lowest; its number << 8 where that is too long */
    };
} vy_ptx_value;
_Static_assert(sizeof(vy_ptx_value) == 16, "two registers");

/* The registers of a class. Their names are counted up as texts: a number would be divided for every one. */
typedef struct vy_ptx_registers {
    uint64_t next; /* name */
    uint64_t one;  /* more in its last digit */
    uint32_t left; /* until a number ends with 0 */
    uint32_t ten;  /* that number */
    char start[3]; /* of the names */
} vy_ptx_registers;

/* What is computed once, at the start, when somebody asks for it. */
typedef struct vy_ptx_cached {
    int is_cached;
    vy_ptx_value value;
} vy_ptx_cached;

/* What is known of the buffers that an `if` asks whether they start at multiples of 16. */
typedef enum vy_ptx_alignment { VY_PTX_ALIGNMENT_UNKNOWN, VY_PTX_ALIGNED, VY_PTX_NOT_ALIGNED } vy_ptx_alignment;

typedef struct vy_ptx_loop {
    uint32_t next, exit; /* labels */
} vy_ptx_loop;

/* The loop over the workgroups of an indirect grid. */
typedef struct vy_ptx_groups {
    uint32_t body, next, done;  /* labels; next: where an invocation is done with its workgroup */
    vy_ptx_value linear, total; /* the number of the workgroup, and of all: 64 bits */
} vy_ptx_groups;

/* Loads of bytes near each other (byte_load_combine.c). */
enum { VY_PTX_BYTE_LOADS = 64 };
typedef struct vy_ptx_byte_loads {
    uint32_t variable, memory; /* of element variable + offset */
    uint32_t reach;            /* the largest offset and one */
    uint32_t count, loads[VY_PTX_BYTE_LOADS], offsets[VY_PTX_BYTE_LOADS];
    vy_ptx_value limit, is_usual; /* the last the variable may be, if the buffer is so long and starts with a word */
    vy_ptx_value words[VY_PTX_BYTE_LOADS / 4]; /* from offset 0 on */
} vy_ptx_byte_loads;

/* Where things are in the program (def_use.c); NULL until somebody asks. */
typedef struct vy_ptx_def_use {
    uint32_t *starts, *sets; /* statements that set variables; by variable: where its own begin, and of one more */
    uint32_t *parents;       /* by statement: the one around it; VY_NONE */
    /* by variable: how many expressions read it; 1 + the first statement that assigns it to another, or 0 */
    uint32_t *reads, *givers;
} vy_ptx_def_use;

enum { VY_PTX_NAMES = 16, VY_PTX_NAME = 24, VY_PTX_LINE = 256, VY_PTX_ROOM = VY_PTX_LINE + 32 };

typedef struct vy_ptx {
    const vyre_program *program;
    const vy_expr *exprs; /* of the program */
    const vy_function *body;
    vy_arena *arena;
    vy_ptx_def_use index;
    /* of the entry: what is known at its start, and the rest; of one for an indirect grid: what stands around them */
    vy_string before, start, code, behind;
    vy_string *out; /* the one that is written to; it knows its length once it is settled */
    char *at;       /* where its next line goes */
    char *last;     /* the last place with room for a line */
    vy_ptx_registers registers[VY_PTX_CLASS_COUNT];
    uint32_t labels, places; /* asked for, placed */
    uint32_t version, architecture;
    uint32_t reserved;                             /* bytes before the text */
    int is_flat;                                   /* blocks are given as one row */
    int batched;                                   /* what the entry is given lies in a table */
    int is_indirect;                               /* the grid lies in memory */
    int dependent_launch;                          /* it waits for what it depends on */
    int has_reports, has_polls, has_grid_barriers; /* of the program */
    int has_differences;                           /* the same: of 64 bits, or what may become one */
    int has_signs;                                 /* of min, max and abs of floats there are two, or more */
    int has_extremes;                              /* min or max of integers */
    int has_floors;                                /* something may be the larger of a float and 0 */
    int has_flags;                                 /* floats are compared, and integers made of bools */
    int has_orders;                                /* f32 are compared with what need not be above 0 */
    /* from i32 on, that have ops of a line and no more (op.c): none, if there are extremes or flags */
    uint32_t plain_types;
    int has_sync;               /* its invocations meet: barriers, shuffles */
    vy_ptx_alignment alignment; /* of buffers, where what is written runs */
    /* by statement of the body, whether it asks a buffer for that (loop.c); NULL: not known */
    uint8_t *asks;
    int one_by_one; /* wide accesses are written as accesses of their elements */
    int has_positions;
    uint32_t line; /* of the last .loc */
    /* Known at the start. */
    vy_ptx_cached builtins[VYRE_BUILTIN_COUNT][3];
    vy_ptx_cached *address, *count, *misalignment; /* by buffer */
    vy_ptx_cached *params;
    vy_ptx_cached control, zero, shared, local, tables[2], row;
    vy_ptx_value polls, stopping;             /* if the program polls */
    vy_ptx_value group_id[3], group_count[3]; /* of an indirect grid */
    vy_ptx_groups groups;
    vy_ptx_value guard; /* a bool: what is written has no effect unless it is true */
    vy_ptx_value *variables;
    uint32_t *noted;                 /* by variable: how many labels there were when it became a part of something */
    VY_VECTOR(vy_ptx_subword) parts; /* that values name */
    uint32_t *array_offsets;         /* by memory of the entry */
    uint32_t shared_bytes, local_bytes;
    uint8_t *in_bank;        /* by memory of the entry: a constant array in the constant bank (module.c) */
    uint32_t table_bytes[2]; /* of constant arrays: in global memory, in the constant bank */
    VY_VECTOR(vy_ptx_loop) loops;
    uint32_t shifted; /* a variable shifted left by `room` bits, and not assigned to since; VY_NONE */
    uint32_t room;
    uint32_t ahead;                        /* a load that was made in the trip before; VY_NONE */
    vy_ptx_value given;                    /* what it gave */
    const vy_ptx_byte_loads *near;         /* loads that are known to be inside; NULL */
    char names[VY_PTX_NAMES][VY_PTX_NAME]; /* a ring: what vy_ptx_name gave last */
    uint32_t next_name;
    char lost[VY_PTX_ROOM]; /* where lines go for which there is no memory */
    vyre_error *error;
    vyre_status status;
} vy_ptx;

/* ---- text ---- */

/* Writes to that string from now on, and gives the one before. */
vy_string *vy_ptx_set_output(vy_ptx *e, vy_string *out);
void vy_ptx_flush(vy_ptx *e); /* the string that is written to knows its length then */
/* A line of code, without its tab and semicolon: %s, %d, %u and %c. */
void vy_ptx_write(vy_ptx *e, const char *format, ...) VY_PRINTF(2, 3);
/* The same by hand (base/string.h): where it goes, with room for VY_PTX_LINE bytes; and the rest of it, once all is
 * put. No other line is written meanwhile. */
char *vy_ptx_more_room(vy_ptx *e);
static inline char *vy_ptx_room(vy_ptx *e) {
    return e->at <= e->last ? e->at : vy_ptx_more_room(e);
}
static inline char *vy_ptx_line(vy_ptx *e) {
    return vy_write_text(vy_ptx_room(e), "\t");
}
char *vy_ptx_line_predicated(vy_ptx *e, vy_ptx_value guard); /* "@%p1 ": what vy_ptx_predicate gave */
static inline void vy_ptx_end_line(vy_ptx *e, char *at) {
    e->at = vy_write_text(at, ";\n");
}
/* "name.suffix %r1, %r2": what most lines are. A name is a word (base/string.h), a suffix has three letters or four. */
void vy_ptx_instruct(vy_ptx *e, uint64_t name, const char *suffix, const vy_ptx_value *operands, unsigned count);
#define VY_PTX_INSTRUCT(e, name, suffix, ...)                                                                          \
    vy_ptx_instruct(e, vy_pack_text(name), suffix, (const vy_ptx_value[]){__VA_ARGS__},                                \
                    sizeof(vy_ptx_value[]){__VA_ARGS__} / sizeof(vy_ptx_value))
/* … by hand: " %r1, %r2" of a line that is begun. */
void vy_ptx_end_with(vy_ptx *e, char *at, const vy_ptx_value *operands, unsigned count);
uint32_t vy_ptx_label(vy_ptx *e);
void vy_ptx_bind_label(vy_ptx *e, uint32_t label);
void vy_ptx_jump(vy_ptx *e, uint32_t label);
void vy_ptx_jump_if(vy_ptx *e, vy_ptx_value condition, int wanted, uint32_t label);
/* Says where a statement comes from, if that is another line. */
void vy_ptx_locate(vy_ptx *e, uint32_t stmt);
/* The code needs at least this: 70 and 80 for PTX 7.0 and sm_80. */
void vy_ptx_need(vy_ptx *e, uint32_t version, uint32_t architecture);
void vy_ptx_refuse(vy_ptx *e, const char *what);

/* ---- values ---- */

/* Of 16 bytes, which are found without a product. */
typedef struct vy_ptx_type_row {
    char type[5], bits[5];
    char start[5]; /* of the names of registers */
    uint8_t class;
} vy_ptx_type_row;
extern const vy_ptx_type_row vy_ptx_types[VYRE_TYPE_COUNT];

static inline vy_ptx_class vy_ptx_class_of(vyre_type type) {
    return (vy_ptx_class)vy_ptx_types[type].class;
}
/* How instructions name a type: u32, s64, f32; narrow integers as they are held. */
static inline const char *vy_ptx_type(vyre_type type) {
    return vy_ptx_types[type].type;
}
/* … one that moves bits: pred, b16, b32, b64. */
static inline const char *vy_ptx_bits(vyre_type type) {
    return vy_ptx_types[type].bits;
}
/* Those of a type as a word (base/string.h): three, and a NUL, or four. */
static inline uint32_t vy_ptx_letters(const char *type) {
    uint32_t letters;
    memcpy(&letters, type, sizeof letters);
    return letters;
}
static inline vy_ptx_value vy_ptx_named(vyre_type type, uint64_t name) {
    return (vy_ptx_value){.type = (uint8_t)type, .name = name};
}
void vy_ptx_next_ten(vy_ptx_registers *registers); /* names the next, whose number is `ten` */
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
/* As an operand: a register's name, or the literal. VY_PTX_NAME bytes at most. */
char *vy_ptx_put_other(char *at, vy_ptx_value value); /* what is no register of the first million */
static inline char *vy_ptx_put(char *at, vy_ptx_value value) {
    if (value.is_literal || (value.name & 0xff) != '%')
        return vy_ptx_put_other(at, value);
    return vy_write_packed(at, value.name);
}
/* The same as a text, good until a few more have been asked for. */
const char *vy_ptx_name(vy_ptx *e, vy_ptx_value value);
/* The value in a register. */
vy_ptx_value vy_ptx_in_register(vy_ptx *e, vy_ptx_value value);
const char *vy_ptx_register(vy_ptx *e, vy_ptx_value value);
void vy_ptx_move(vy_ptx *e, vy_ptx_value to, vy_ptx_value from);
void vy_ptx_move_if(vy_ptx *e, vy_ptx_value condition, vy_ptx_value to, vy_ptx_value from);

vy_ptx_value vy_ptx_variable(vy_ptx *e, uint32_t variable);
vy_ptx_value vy_ptx_expr(vy_ptx *e, uint32_t expr);
/* The same for a value that is used later: nobody changes it. */
vy_ptx_value vy_ptx_expr_kept(vy_ptx *e, uint32_t expr);
/* What a value is a part of (memory.c). */
vy_ptx_subword vy_ptx_subword_of(const vy_ptx *e, vy_ptx_value value);
uint32_t vy_ptx_new_subword(vy_ptx *e, vy_ptx_subword part);
/* … of what an op makes of such a value; or the word that parts are of, where it puts them together again. */
vy_ptx_value vy_ptx_track_subword(vy_ptx *e, const vy_expr *expr, const vy_ptx_value *args, vy_ptx_value made);
/* What a variable is given, also where ptxas takes it for the smaller of something and 1 (ptxas_errata.c). */
vy_ptx_value vy_ptx_assigned(vy_ptx *e, vy_ptx_value value);
/* After an assignment: what part of a word the variable is now. */
void vy_ptx_note_subword(vy_ptx *e, uint32_t variable, vy_ptx_value value);
/* After an assignment: whether the variable has room for a byte now. */
void vy_ptx_note_shift(vy_ptx *e, const vy_stmt *s);
vy_ptx_value vy_ptx_op(vy_ptx *e, const vy_expr *expr, vyre_type operand, const vy_ptx_value *args);
vy_ptx_value vy_ptx_cast(vy_ptx *e, vyre_type to, vy_ptx_value a);
vy_ptx_value vy_ptx_bitcast(vy_ptx *e, vyre_type to, vy_ptx_value a);

/* What is known at the start (prologue.c): ids, and what the entry is given. */
vy_ptx_value vy_ptx_builtin(vy_ptx *e, vyre_builtin builtin, unsigned axis);
vy_ptx_value vy_ptx_param(vy_ptx *e, uint32_t param);
vy_ptx_value vy_ptx_buffer(vy_ptx *e, uint32_t buffer); /* its address in the global space */
vy_ptx_value vy_ptx_count(vy_ptx *e, uint32_t buffer);
vy_ptx_value vy_ptx_misalignment(vy_ptx *e, uint32_t buffer);
vy_ptx_value vy_ptx_control_address(vy_ptx *e);
vy_ptx_value vy_ptx_zero(vy_ptx *e); /* which the driver's compiler does not know for one: 64 bits */
uint32_t vy_ptx_batch_item_bytes(const vy_ptx *e);
vy_ptx_value vy_ptx_arrays(vy_ptx *e, vy_space space); /* where they start: workgroup 32 bits, private 64 */
/* The start of the constant arrays in global memory, or in the constant bank. */
vy_ptx_value vy_ptx_tables(vy_ptx *e, int in_bank);

/* ---- memory ---- */

/* "[%d1+4]" of an element. */
typedef struct vy_ptx_address {
    char text[2 * VY_PTX_NAME];
} vy_ptx_address;

vy_ptx_value vy_ptx_load(vy_ptx *e, uint32_t expr);
/* The same if the condition holds, which is all that is asked for; else 0. */
vy_ptx_value vy_ptx_load_if(vy_ptx *e, uint32_t expr, vy_ptx_value condition);
/* A load that the body [first, end) of a loop begins with and that can be made in the trip before, from statement
 * `settled` on; VY_NONE. */
uint32_t vy_ptx_find_pipelined_load(vy_ptx *e, uint32_t first, uint32_t settled, uint32_t end);
/* Makes it, if the condition holds. */
vy_ptx_value vy_ptx_load_next_iteration(vy_ptx *e, uint32_t load, vy_ptx_value condition);
/* Whether the body of a loop has enough loads near each other; the limit is written before the loop, the body in it. */
int vy_ptx_find_byte_loads(const vy_ptx *e, uint32_t first, uint32_t end, vy_ptx_byte_loads *near);
void vy_ptx_byte_loads_limit(vy_ptx *e, vy_ptx_byte_loads *near);
/* A byte of a trip that knows its words. */
vy_ptx_value vy_ptx_combined_byte(vy_ptx *e, uint32_t offset);
void vy_ptx_write_combined_body(vy_ptx *e, vy_ptx_byte_loads *near, uint32_t first, uint32_t end);
/* Bytes of two words. */
void vy_ptx_permute(vy_ptx *e, vy_ptx_value guard, vy_ptx_value d, vy_ptx_value low, vy_ptx_value high,
                    unsigned selectors);
void vy_ptx_store(vy_ptx *e, const vy_stmt *s);
void vy_ptx_load_wide(vy_ptx *e, const vy_stmt *s);
void vy_ptx_store_wide(vy_ptx *e, const vy_stmt *s);
void vy_ptx_atomic(vy_ptx *e, const vy_stmt *s);

/* How many operands an op has: what it has none of is VY_NONE. */
static inline unsigned vy_ptx_arity(const vy_expr *x) {
    return 1u + (x->b != VY_NONE) + (x->c != VY_NONE);
}

/* ---- where things are ----
 *
 * Without memory for it, VY_NONE or 0, and the status says so. */

/* The first statement from `stmt` on that declares a variable or assigns to it; the last before `stmt`. VY_NONE: none
 * does. */
uint32_t vy_ptx_next_def(vy_ptx *e, uint32_t variable, uint32_t stmt);
uint32_t vy_ptx_last_def(vy_ptx *e, uint32_t variable, uint32_t stmt);
/* The statement around one; VY_NONE. */
uint32_t vy_ptx_parent(vy_ptx *e, uint32_t stmt);
/* Whether all that is done with a variable is to give it to one that nobody reads, as legalisation does with values of
 * guarded statements. */
int vy_ptx_is_dead_copy(vy_ptx *e, uint32_t variable);

/* ---- statements ---- */

void vy_ptx_declare(vy_ptx *e, uint32_t variable, vy_ptx_value value);
/* [first, end). */
void vy_ptx_statements(vy_ptx *e, uint32_t first, uint32_t end);
/* The buffer of an `if misalignment(x) & 3 == 0` with an access of several elements and, behind `else`, the same one
 * by one; VY_NONE if the statement is not that. */
uint32_t vy_ptx_alignment_test_buffer(const vy_ptx *e, uint32_t stmt);
/* The invocation is done. */
void vy_ptx_leave(vy_ptx *e);
static inline int vy_ptx_is_constant(vy_ptx_value condition, uint64_t bits) {
    return condition.is_literal && condition.bits == bits;
}
/* An `if` without branches: its effects are guarded by predicates. 0 if it is not short enough for that, and nothing
 * is written. */
int vy_ptx_if_convert(vy_ptx *e, uint32_t index, const vy_stmt *s);
/* The same of a `for` that is gone through once or twice, from a local id. */
int vy_ptx_for_convert(vy_ptx *e, uint32_t index, const vy_stmt *s);
/* Whether an assignment gives the variable the value that it has wherever the guard does not hold, so that nothing
 * need guard it. */
int vy_ptx_assigns_itself_outside(const vy_ptx *e, const vy_stmt *s);
/* What an instruction with an effect is guarded by: a register, or a literal, where it is always executed. */
static inline vy_ptx_value vy_ptx_predicate(vy_ptx *e, vy_ptx_value condition) {
    return vy_ptx_is_constant(condition, 1) ? condition : vy_ptx_in_register(e, condition);
}
vy_ptx_value vy_ptx_both(vy_ptx *e, vy_ptx_value a, vy_ptx_value b); /* of bools */
/* ---- loops ---- */

void vy_ptx_for(vy_ptx *e, uint32_t index, const vy_stmt *s);
void vy_ptx_while(vy_ptx *e, uint32_t index, const vy_stmt *s);
/* Gives a loop its labels; 0 if there is no memory. It ends by `loops.count--`. */
int vy_ptx_loop_begin(vy_ptx *e, vy_ptx_loop *out);
/* How a loop counts (ptxas_errata.c): another trip is made while a number of the type, which starts in `from`, compares
 * so with one in `to`. */
typedef struct vy_ptx_trip_count {
    uint8_t type;
    vyre_op goes_on; /* LT, LE, GT, GE, NE */
    vy_wide step;
    vy_interval from, to;
} vy_ptx_trip_count;
/* Whether the driver's compiler finds out rightly how many trips that are. */
int vy_ptx_trip_count_is_safe(const vy_ptx_trip_count *counting);
/* … whatever it finds out by the condition of a `while` and by the ways out of the body of any loop. */
int vy_ptx_exits_are_safe(vy_ptx *e, uint32_t loop);
/* Before a loop for which that is not so: what it counts starts from what nobody knows. */
void vy_ptx_hide_constants(vy_ptx *e, uint32_t loop);
/* Places the label where the body of a loop begins; one that would not be counted rightly is not to be counted at
 * all. */
void vy_ptx_bind_body_label(vy_ptx *e, uint32_t label, int is_right);

/* ---- ends ---- */

/* Ors to `stop` whether the dispatch is to end; who finds out says so to all. */
void vy_ptx_check_cancel(vy_ptx *e, vy_ptx_value stop);
/* "[%d1+8]": of the control block. */
vy_ptx_address vy_ptx_field(vy_ptx *e, size_t offset);
#define VY_PTX_FIELD(name) vy_ptx_field(e, offsetof(vy_ptx_control, name)).text
void vy_ptx_grid_barrier(vy_ptx *e);
/* Around the statements of an entry for an indirect grid (indirect_grid.c): fills `before`, and `behind` once all of
 * them are written. */
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

/* The unsigned type in which a float's bits are looked at. */
static inline vyre_type vy_ptx_integer_of(vyre_type type) {
    return vy_type_layouts[type].bits == 64 ? VYRE_TYPE_U64 : VYRE_TYPE_U32;
}

/* A new register of that type: name.suffix of two; args[0] ? args[1] : args[2]; the bits of a float that a mask lets
 * through, as an integer. */
vy_ptx_value vy_ptx_two_by(vy_ptx *e, uint64_t name, const char *suffix, vyre_type type, vy_ptx_value a,
                           vy_ptx_value b);
static inline vy_ptx_value vy_ptx_two(vy_ptx *e, const char *name, const char *suffix, vyre_type type, vy_ptx_value a,
                                      vy_ptx_value b) {
    return vy_ptx_two_by(e, vy_pack_text(name), suffix, type, a, b);
}
vy_ptx_value vy_ptx_choose(vy_ptx *e, vyre_type type, const vy_ptx_value *args);
vy_ptx_value vy_ptx_masked(vy_ptx *e, vyre_type type, vy_ptx_value a, uint64_t mask);

/* vy_ptx_choose, also where ptxas takes it for the smaller of something and 1. */
vy_ptx_value vy_ptx_selection(vy_ptx *e, vyre_type type, const vy_ptx_value *args);
/* Writes an op otherwise than the table says, for the sake of the driver's compiler; 0 if the table is right, as it is
 * of most. */
extern const uint8_t vy_ptx_has_errata[VYRE_OP_COUNT];
int vy_ptx_errata_replace(vy_ptx *e, vyre_op op, vyre_type operand, const vy_ptx_value *args, vy_ptx_value *out);
/* Whether what an op gives maybe_negated, which is asked where there are extremes. */
int vy_ptx_may_be_negated(const vy_expr *x, vyre_type operand, const vy_ptx_value *args);
/* Whether what an op gives maybe_bool, which is asked where there are such; and an integer that is taken for the bits
 * of another type, not to be taken for one. */
int vy_ptx_may_be_bool(const vy_expr *x, const vy_ptx_value *args);
vy_ptx_value vy_ptx_normalize_bool(vy_ptx *e, vyre_type to, vy_ptx_value value);
/* Whether an op of floats one of which is_opaque gives such a value. */
int vy_ptx_keeps_opaque(vyre_op op);
/* Notes what the program has of what mistakes are made about. */
void vy_ptx_scan_errata(vy_ptx *e);

#endif
