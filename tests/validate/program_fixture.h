/* A workbench for validator tests: one draft, short words to fill it, and what the validator says. */
#ifndef VY_TESTS_VALIDATE_PROGRAM_FIXTURE_H
#define VY_TESTS_VALIDATE_PROGRAM_FIXTURE_H

#include "ir/irbuilder.h"
#include "ir/validate/validate.h"
#include "support/test.h"

static vy_irb d;

static inline vy_symbol N(const char *text) {
    return vy_irb_intern(&d, text, strlen(text));
}
static inline uint32_t U32(uint64_t v) {
    return vy_irb_literal(&d, VYRE_TYPE_U32, v);
}
static inline uint32_t F32(void) {
    return vy_irb_literal(&d, VYRE_TYPE_F32, 0x3f800000);
}
static inline uint32_t BOOL(int v) {
    return vy_irb_literal(&d, VYRE_TYPE_BOOL, (uint64_t)v);
}
static inline uint32_t LIT(vyre_type type, uint64_t v) {
    return vy_irb_literal(&d, type, v);
}
static inline uint32_t VAR(uint32_t variable) {
    return vy_irb_variable(&d, variable);
}
static inline uint32_t LOAD(uint32_t memory, uint32_t index) {
    return vy_irb_load(&d, memory, index);
}
static inline uint32_t LEN(uint32_t memory) {
    return vy_irb_len(&d, memory);
}
static inline uint32_t ID(void) {
    return vy_irb_builtin(&d, VYRE_BUILTIN_LOCAL_ID, 0);
}
static inline uint32_t BUILTIN(vyre_builtin builtin) {
    return vy_irb_builtin(&d, builtin, 0);
}
/* Operands are appended in the order written: C leaves the order of arguments open, so these are statement expressions.
 * */
#define IN_ORDER(a_expr, b_expr, use)                                                                                  \
    ({                                                                                                                 \
        const uint32_t a_ = (a_expr), b_ = (b_expr);                                                                   \
        use;                                                                                                           \
    })
#define OP1(op, type, a) vy_irb_op(&d, op, type, a, VY_NONE, VY_NONE)
#define OP2(op, type, a, b) IN_ORDER(a, b, vy_irb_op(&d, op, type, a_, b_, VY_NONE))
#define SELECT(type, a, b, c)                                                                                          \
    ({                                                                                                                 \
        const uint32_t a_ = (a), b_ = (b), c_ = (c);                                                                   \
        vy_irb_op(&d, VYRE_OP_SELECT, type, a_, b_, c_);                                                               \
    })
#define ADD(a, b) OP2(VYRE_OP_ADD, VYRE_TYPE_U32, a, b)
#define LT(a, b) OP2(VYRE_OP_LT, VYRE_TYPE_BOOL, a, b)
#define STORE(memory, index, value) IN_ORDER(index, value, vy_irb_store(&d, memory, a_, b_))
#define FOR(name, type, from, to) IN_ORDER(from, to, vy_irb_for(&d, N(name), type, a_, b_, VY_NONE))

/* ---- programs ---- */

static inline void start(const char *name) {
    assert_int_equal(vy_irb_start(&d, name, NULL), VYRE_OK);
}

/* A program with 64 invocations in a workgroup, its entry open. */
static inline void start_entry(void) {
    start("p");
    d.program->workgroup[0] = 64;
    vy_irb_begin_entry(&d);
}

static inline uint32_t buffer(const char *name, vyre_type type, vyre_access access) {
    return vy_irb_memory_param(&d, N(name), VY_SPACE_BUFFER, type, access, VY_NONE);
}

static inline uint32_t array(const char *name, vy_space space, vyre_type type, uint32_t elements) {
    return vy_irb_array(&d, N(name), space, type, elements);
}

static inline uint32_t function(const char *name) {
    return vy_irb_begin_function(&d, N(name));
}
static inline uint32_t param(const char *name, vyre_type type) {
    return vy_irb_scalar_param(&d, N(name), type);
}
static inline void end_function(void) {
    vy_irb_end_function(&d);
}

/* ---- statements ---- */

static inline uint32_t let(const char *name, vyre_type type, uint32_t value) {
    return vy_irb_let(&d, N(name), type, value);
}
static inline uint32_t var(const char *name, vyre_type type, uint32_t value) {
    return vy_irb_var(&d, N(name), type, value);
}
static inline void end(void) {
    vy_irb_end_block(&d);
}
static inline uint32_t plain(vy_stmt stmt) {
    return vy_irb_stmt(&d, &stmt, NULL, 0, NULL, NULL);
}

static inline void barrier(vyre_scope scope) {
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_BARRIER);
    s.scope = (uint8_t)scope;
    plain(s);
}

static inline void region(const char *name) {
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_REGION);
    s.name = N(name);
    plain(s);
}

static inline void trap(uint32_t code) {
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_TRAP);
    s.a = code;
    plain(s);
}

/* Binds the value if name is given. */
static inline uint32_t add_atomic(vyre_atomic op, vyre_order order, uint32_t memory, uint32_t index, uint32_t b,
                                  uint32_t c, const char *name) {
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_ATOMIC);
    s.op = (uint8_t)op;
    s.order = (uint8_t)order;
    s.memory = memory;
    s.a = index;
    s.b = b;
    s.c = c;
    s.result_count = name != NULL;
    vyre_type type = (vyre_type)d.program->memories.items[memory].type;
    uint32_t at = vy_irb_stmt(&d, &s, NULL, 0, name ? &(vy_symbol){N(name)} : NULL, &type);
    return d.program->stmts.items[at].variable;
}

#define ATOMIC(op, order, memory, index, b, c, name)                                                                   \
    ({                                                                                                                 \
        const uint32_t a_ = (index), b_ = (b), c_ = (c);                                                               \
        add_atomic(op, order, memory, a_, b_, c_, name);                                                               \
    })

static inline void atomic_add(uint32_t memory, uint32_t index) {
    add_atomic(VYRE_ATOMIC_ADD, VYRE_ORDER_RELAXED, memory, index, U32(1), VY_NONE, NULL);
}

static inline uint32_t add_collective(vyre_collective op, vyre_op combine, unsigned width, uint32_t a, uint32_t b,
                                      const char *name, vyre_type type) {
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_COLLECTIVE);
    s.op = (uint8_t)op;
    s.combine = (uint8_t)combine;
    s.width = (uint8_t)width;
    s.a = a;
    s.b = b;
    s.result_count = 1;
    uint32_t at = vy_irb_stmt(&d, &s, NULL, 0, &(vy_symbol){N(name)}, &type);
    return d.program->stmts.items[at].variable;
}

#define COLLECTIVE(op, combine, width, a, b, name, type)                                                               \
    IN_ORDER(a, b, add_collective(op, combine, width, a_, b_, name, type))

static inline vy_arg value(uint32_t expr) {
    return (vy_arg){0, expr};
}
static inline vy_arg memory(uint32_t index) {
    return (vy_arg){1, index};
}

/* Calls with the args of the array; binds one u32 result if name is given. */
static inline uint32_t call(uint32_t callee, const vy_arg *args, uint32_t count, const char *name) {
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_CALL);
    s.callee = callee;
    s.result_count = name != NULL;
    vyre_type type = VYRE_TYPE_U32;
    uint32_t at = vy_irb_stmt(&d, &s, args, count, name ? &(vy_symbol){N(name)} : NULL, &type);
    return d.program->stmts.items[at].variable;
}
#define CALL(callee, name, ...)                                                                                        \
    call(callee, (const vy_arg[]){__VA_ARGS__}, sizeof((const vy_arg[]){__VA_ARGS__}) / sizeof(vy_arg), name)

static inline void ret(uint32_t expr) {
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_RETURN);
    vy_irb_stmt(&d, &s, &(vy_arg){0, expr}, expr != VY_NONE, NULL, NULL);
}

/* fn name() { }, fn name(x: u32) -> u32 { return x } */
static inline uint32_t empty_function(const char *name) {
    uint32_t f = function(name);
    end_function();
    return f;
}
static inline uint32_t identity_function(const char *name) {
    uint32_t f = function(name), x = param("x", VYRE_TYPE_U32);
    vy_irb_result(&d, 0, VYRE_TYPE_U32);
    ret(VAR(x));
    end_function();
    return f;
}

/* ---- verdicts ---- */

static inline int has_code(const vyre_diagnostics *list, const char *code) {
    for (size_t i = 0; i < vyre_diagnostics_count(list); i++)
        if (strcmp(vyre_diagnostics_get(list, i)->code, code) == 0)
            return 1;
    return 0;
}

static inline void show(const vyre_diagnostics *list) {
    vyre_bytes text = VYRE_BYTES_INIT;
    if (vyre_diagnostics_render(list, &text, NULL) == VYRE_OK)
        printf("%.*s\n", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

#endif
