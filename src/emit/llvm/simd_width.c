/* SIMD width: selects the number of lanes for a program (kernel_abi.h). It affects no result.
 *
 * With more lanes than a register has, each value needs several registers. Then memory and arithmetic latencies
 * overlap, per-gang overhead is amortised, and narrow values fill their registers. It pays as long as the live
 * values fit the registers, so register pressure is estimated: a variable is live from its declaration to its last
 * use, extended to the end of each loop that it was declared before.
 *
 * A chain of dependent float operations, such as a polynomial, waits for each result. The processor does not look far
 * enough ahead to overlap one gang with the next, so more lanes pay although some values are spilled. */
#include "base/memory.h"
#include "base/status.h"
#include "emit/llvm/emitter.h"
#include "ir/walk.h"

enum {
    MOST = 4,           /* most registers per 32-bit value */
    MOST_ONCE = 2,      /* the same for straight-line code, which has little latency to hide */
    TEMPORARIES = 4,    /* values of an expression besides variables */
    CHAIN = 10,         /* dependent float operations that are a chain */
    SPILLED_TWO = 8,    /* half the multiple of the registers that a chain may need with two registers per value */
    SPILLED_FOUR = 7,   /* the same with four */
    LARGE_EXPRS = 1500, /* a larger program is not widened */
};

typedef struct life {
    uint32_t first, last;
    uint32_t chain; /* the most dependent float operations that compute a value of the variable */
} life;

/* Whether the variable is held in lanes: divergent, and without a stride. */
static int has_lanes(const vyre_program *p, const vy_uniform *uniform, uint32_t variable) {
    uint64_t stride;
    return vy_variable_at(p, variable)->type != VYRE_TYPE_BOOL &&
           vy_variable_uniformity(uniform, variable) == VY_UNIFORMITY_DIVERGENT &&
           !vy_variable_stride(uniform, variable, &stride);
}

static void live_at(const vyre_program *p, life *lives, uint32_t variable, uint32_t stmt) {
    life *l = &lives[variable];
    if (l->first == VY_NONE)
        l->first = stmt;
    uint32_t last = stmt;
    for (uint32_t i = l->first; i < stmt; i++) /* loops entered since the declaration */
        if (vy_stmt_is_loop(vy_stmt_at(p, i)->kind) && vy_stmt_at(p, i)->end > stmt && i > l->first)
            last = last > vy_stmt_at(p, i)->end ? last : vy_stmt_at(p, i)->end;
    l->last = l->last > last ? l->last : last;
}

/* The same for an expression. A value that is loaded begins a chain. */
static uint32_t chain_of(const life *lives, const uint32_t *chains, const vy_expr *x) {
    if (x->kind == VY_EXPR_VARIABLE)
        return lives[x->a].chain;
    if (x->kind != VY_EXPR_OP)
        return 0;
    uint32_t chain = chains[x->a];
    if (x->b != VY_NONE)
        chain = chain > chains[x->b] ? chain : chains[x->b];
    if (x->c != VY_NONE)
        chain = chain > chains[x->c] ? chain : chains[x->c];
    return chain + (vyre_type_class((vyre_type)x->type) == VYRE_CLASS_FLOAT && x->op != VYRE_OP_SELECT);
}

/* Also returns the longest chain. Bodies of loops count once. `chains` has an element for each expression. */
static uint32_t find_lives(const vyre_program *p, life *lives, uint32_t *chains) {
    const vy_function *body = vy_program_entry(p);
    uint32_t expr = 0, longest = 0;
    for (uint32_t i = 0; i < p->variables.count; i++)
        lives[i] = (life){VY_NONE, 0, 0};
    for (uint32_t i = body->first_stmt; i < body->end_stmt; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        for (uint32_t end = vy_stmt_exprs_end(p, s, expr); expr < end; expr++) {
            const vy_expr *x = vy_expr_at(p, expr);
            if (x->kind == VY_EXPR_VARIABLE)
                live_at(p, lives, x->a, i);
            chains[expr] = chain_of(lives, chains, x);
            longest = longest > chains[expr] ? longest : chains[expr];
        }
        for (uint32_t v = 0; v < s->result_count; v++)
            live_at(p, lives, s->variable + v, i);
        if (s->kind == VY_STMT_ASSIGN)
            live_at(p, lives, s->variable, i);
        if (s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN) {
            life *l = &lives[s->variable];
            l->chain = l->chain > chains[s->a] ? l->chain : chains[s->a];
        }
    }
    return longest;
}

/* The registers of a vector of elements of this size. */
static uint32_t registers_of(uint32_t bytes, uint32_t width, uint32_t register_lanes) {
    return (bytes * width + register_lanes * 4 - 1) / (register_lanes * 4);
}

/* The maximum number of registers that are live at one statement. */
static uint32_t pressure(const vyre_program *p, const vy_uniform *uniform, const life *lives, uint32_t width,
                         uint32_t register_lanes) {
    const vy_function *body = vy_program_entry(p);
    uint32_t most = 0, bytes_most = 4;
    for (uint32_t i = body->first_stmt; i < body->end_stmt; i++) {
        uint32_t now = 0;
        for (uint32_t v = 0; v < p->variables.count; v++)
            if (lives[v].first <= i && i < lives[v].last && has_lanes(p, uniform, v)) {
                uint32_t bytes = (uint32_t)vy_llvm_size((vyre_type)vy_variable_at(p, v)->type);
                now += registers_of(bytes, width, register_lanes);
                bytes_most = bytes > bytes_most ? bytes : bytes_most;
            }
        most = now > most ? now : most;
    }
    return most + TEMPORARIES * registers_of(bytes_most, width, register_lanes);
}

/* Whether the width suits the workgroup: it divides its size, or the remainder is negligible; and rows are
 * preserved. */
static int divides(const uint32_t *size, uint32_t width, uint32_t register_lanes) {
    uint32_t group = size[0] * size[1] * size[2];
    uint32_t row = vy_llvm_row_of(size, width), before = vy_llvm_row_of(size, register_lanes);
    return (group % width == 0 || group / width >= 8) && (row >= register_lanes || row == before);
}

static int loops(const vyre_program *p) {
    const vy_function *body = vy_program_entry(p);
    for (uint32_t i = body->first_stmt; i < body->end_stmt; i++)
        if (vy_stmt_is_loop(vy_stmt_at(p, i)->kind))
            return 1;
    return 0;
}

static int has_sync_inside(const vyre_program *p) {
    const vy_function *body = vy_program_entry(p);
    for (uint32_t i = body->first_stmt; i < body->end_stmt; i++)
        if (vy_stmt_at(p, i)->kind == VY_STMT_BARRIER || vy_stmt_at(p, i)->kind == VY_STMT_COLLECTIVE)
            return 1;
    return 0;
}

static int has_arrays(const vyre_program *p) {
    for (uint32_t i = 0; i < p->memories.count; i++)
        if (vy_memory_at(p, i)->space == VY_SPACE_WORKGROUP)
            return 1;
    return 0;
}

/* The most registers per 32-bit value that may pay: loops, barriers and chains have latency to hide, and narrow
 * elements fill their registers only with more lanes. */
static uint32_t most_of(const vyre_program *p, uint32_t chain) {
    if (loops(p) || has_sync_inside(p) || chain >= CHAIN)
        return MOST;
    for (uint32_t i = 0; i < p->memories.count; i++)
        if (vy_llvm_size((vyre_type)vy_memory_at(p, i)->type) < 4)
            return MOST;
    return MOST_ONCE;
}

vyre_status vy_llvm_choose_width(const vyre_program *program, const vy_uniform *uniform, const vy_target_desc *target,
                                 uint32_t *width, uint32_t *narrow, vyre_error *error) {
    const uint32_t *size = program->workgroup, group = vy_workgroup_invocations(program);
    const uint32_t lanes = target->register_lanes;
    *width = lanes;
    *narrow = 0;
    while (*width > 4 && *width / 2 >= group) /* these lanes would be empty */
        *width /= 2;
    if (program->exprs.count > LARGE_EXPRS || group <= lanes)
        return VYRE_OK;
    size_t bytes = vy_array_size(program->variables.count + 1u, sizeof(life));
    size_t chain_bytes = vy_array_size(program->exprs.count + 1u, sizeof(uint32_t));
    life *lives = vy_allocate(bytes);
    uint32_t *chains = vy_allocate(chain_bytes);
    const vyre_status status = lives && chains ? (vyre_status)VYRE_OK : vy_fail_memory(error, "lanes");
    const uint32_t chain = status == VYRE_OK ? find_lives(program, lives, chains) : 0;
    for (uint32_t more = most_of(program, chain) * lanes; status == VYRE_OK && more > lanes && *width == lanes;
         more /= 2) {
        uint32_t most = target->registers * (chain < CHAIN ? 2 : more > 2 * lanes ? SPILLED_FOUR : SPILLED_TWO) / 2;
        if (more <= VY_LLVM_LANES && divides(size, more, lanes) &&
            pressure(program, uniform, lives, more, lanes) <= most)
            *width = more;
    }
    if (*width > lanes && *width >= group && loops(program) && !has_sync_inside(program) && !has_arrays(program))
        *narrow = *width / 2;
    vy_release(chains, chain_bytes);
    vy_release(lives, bytes);
    return status;
}
