/* Every code of the validator: a program that triggers it, and beside it the nearest one that is fine. */
#include "support/fixes.h"
#include "validate/program_fixture.h"

/* ---- layout: a valid program with one thing broken ---- */

/* Two functions, a loop, an if with an else, a call, a store: something to break. */
static void sample(void) {
    start("p");
    d.program->workgroup[0] = 64;
    uint32_t f = identity_function("f");
    uint32_t size = vy_irb_size(&d, VY_SIZE_LITERAL, VY_NONE, VY_NONE, 64);
    vy_irb_begin_entry(&d);
    uint32_t y = vy_irb_memory_param(&d, N("y"), VY_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE, size);
    uint32_t v = var("v", VYRE_TYPE_U32, ADD(ID(), U32(1)));
    vy_irb_if(&d, LT(VAR(v), U32(4)));
    vy_irb_assign(&d, v, U32(2));
    vy_irb_else(&d);
    vy_irb_assign(&d, v, U32(3));
    end();
    CALL(f, "r", value(VAR(v)));
    STORE(y, ID(), VAR(v));
    end_function();
}

#define STMT(i) d.program->stmts.items[d.program->functions.items[1].first_stmt + (i)]

static void unknown_kind(int bad) {
    sample();
    if (bad)
        STMT(0).kind = 99;
}
static void unknown_op(int bad) {
    sample();
    for (uint32_t i = 0; bad && i < d.program->exprs.count; i++)
        if (d.program->exprs.items[i].kind == VY_EXPR_OP)
            d.program->exprs.items[i].op = 200;
}
static void variable_of_another_function(int bad) {
    sample();
    if (bad)
        STMT(2).variable = 0;
}
static void name_outside_the_pool(int bad) {
    sample();
    if (bad)
        d.program->variables.items[1].name = 100000;
}
static void name_inside_another(int bad) {
    sample();
    vy_symbol name = N("longname");
    if (bad)
        d.program->variables.items[1].name = name + 2;
}
static void functions_overlap(int bad) {
    sample();
    if (bad)
        d.program->functions.items[1].first_stmt--;
}
static void positions_of_some(int bad) {
    sample();
    if (bad)
        *VY_PUSH(&d.program->stmt_positions) = (vy_position){1, 1, 1};
}
static void block_reaches_out(int bad) {
    sample();
    if (bad)
        STMT(1).end += 5;
}
static void simple_statement_with_a_body(int bad) {
    sample();
    if (bad)
        STMT(0).end++;
}
static void shared_expression(int bad) {
    sample();
    if (bad)
        for (uint32_t i = 0; i < d.program->exprs.count; i++)
            if (d.program->exprs.items[i].kind == VY_EXPR_OP)
                d.program->exprs.items[i].b = d.program->exprs.items[i].a;
}
static void expression_cycle(int bad) {
    sample();
    for (uint32_t i = 0; bad && i < d.program->exprs.count; i++)
        if (d.program->exprs.items[i].kind == VY_EXPR_OP)
            d.program->exprs.items[i].a = i;
}
static void shared_size(int bad) {
    start("p");
    uint32_t size = vy_irb_size(&d, VY_SIZE_LITERAL, VY_NONE, VY_NONE, 64);
    uint32_t other = bad ? size : vy_irb_size(&d, VY_SIZE_LITERAL, VY_NONE, VY_NONE, 64);
    vy_irb_begin_entry(&d);
    vy_irb_memory_param(&d, N("x"), VY_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_READ, size);
    vy_irb_memory_param(&d, N("y"), VY_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_READ, other);
    end_function();
}
static void variables_swapped(int bad) {
    sample();
    if (bad)
        STMT(0).variable++;
}
static void mutable_let(int bad) {
    sample();
    if (bad)
        d.program->variables.items[1].is_mutable = 0;
}
static void arguments_elsewhere(int bad) {
    sample();
    for (uint32_t i = 0; bad && i < d.program->stmts.count; i++)
        if (d.program->stmts.items[i].kind == VY_STMT_CALL)
            d.program->stmts.items[i].args = 0;
}
static void operand_too_many(int bad) {
    sample();
    for (uint32_t i = 0; bad && i < d.program->exprs.count; i++)
        if (d.program->exprs.items[i].kind == VY_EXPR_LITERAL)
            d.program->exprs.items[i].c = 0;
}
static void operand_missing(int bad) {
    sample();
    if (bad)
        STMT(1).a = VY_NONE;
}

/* ---- declarations ---- */

static void keyword_as_name(int bad) {
    start_entry();
    let(bad ? "while" : "whilst", VYRE_TYPE_U32, U32(1));
    end_function();
}
static void function_called_like_an_op(int bad) {
    start("p");
    uint32_t f = empty_function(bad ? "sqrt" : "root");
    vy_irb_begin_entry(&d);
    call(f, NULL, 0, NULL);
    end_function();
}
static void shadowing(int bad) {
    start_entry();
    let("n", VYRE_TYPE_U32, U32(1));
    vy_irb_if(&d, BOOL(1));
    let(bad ? "n" : "m", VYRE_TYPE_U32, U32(2));
    end();
    end_function();
}
static void two_functions_of_one_name(int bad) {
    start("p");
    uint32_t f = empty_function("f"), g = empty_function(bad ? "f" : "g");
    vy_irb_begin_entry(&d);
    call(f, NULL, 0, NULL);
    call(g, NULL, 0, NULL);
    end_function();
}
static void unreachable_function(int bad) {
    start("p");
    uint32_t f = empty_function("f");
    vy_irb_begin_entry(&d);
    if (!bad)
        call(f, NULL, 0, NULL);
    end_function();
}
static void bool_buffer(int bad) {
    start_entry();
    buffer("x", bad ? VYRE_TYPE_BOOL : VYRE_TYPE_U8, VYRE_ACCESS_READ);
    end_function();
}
static void empty_array(int bad) {
    start_entry();
    array("t", VY_SPACE_PRIVATE, VYRE_TYPE_U32, bad ? 0 : 1);
    end_function();
}
static void workgroup_array_in_a_function(int bad) {
    start("p");
    uint32_t f = function("f");
    array("t", bad ? VY_SPACE_WORKGROUP : VY_SPACE_PRIVATE, VYRE_TYPE_U32, 4);
    end_function();
    vy_irb_begin_entry(&d);
    call(f, NULL, 0, NULL);
    end_function();
}
static void workgroup_of_nothing(int bad) {
    start_entry();
    d.program->workgroup[1] = bad ? 0 : 1;
    end_function();
}
static void grid_over_an_array(int bad) {
    start_entry();
    uint32_t y = buffer("y", VYRE_TYPE_U32, VYRE_ACCESS_WRITE);
    uint32_t t = array("t", VY_SPACE_WORKGROUP, VYRE_TYPE_U32, 4);
    d.program->grid.kind = VYRE_GRID_OVER;
    d.program->grid.memory = bad ? t : y;
    end_function();
}
static void grid_over_with_a_square(int bad) {
    start_entry();
    d.program->grid.kind = VYRE_GRID_OVER;
    d.program->grid.memory = buffer("y", VYRE_TYPE_U32, VYRE_ACCESS_WRITE);
    d.program->workgroup[1] = bad ? 2 : 1;
    end_function();
}
static void grid_from_signed_numbers(int bad) {
    start_entry();
    d.program->grid.kind = VYRE_GRID_INDIRECT;
    d.program->grid.memory = buffer("y", bad ? VYRE_TYPE_I32 : VYRE_TYPE_U32, VYRE_ACCESS_READ);
    end_function();
}
/* What only level legal has, one by one; good: the same at that level. */
static void start_legal(int bad) {
    start_entry();
    d.program->level = bad ? VYRE_LEVEL_SOURCE : VYRE_LEVEL_LEGAL;
}
static void unguarded_load(int bad) {
    start_legal(bad);
    uint32_t y = buffer("y", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE), index = vy_irb_literal(&d, VYRE_TYPE_U32, 0);
    vy_irb_let(&d, N("v"), VYRE_TYPE_U32, vy_irb_load_unchecked(&d, y, index, VY_NONE));
    end_function();
}
static void unguarded_store(int bad) {
    start_legal(bad);
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_STORE);
    s.memory = buffer("y", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    s.bounds_check = VY_BOUNDS_UNCHECKED;
    s.a = vy_irb_literal(&d, VYRE_TYPE_U32, 0);
    s.b = vy_irb_literal(&d, VYRE_TYPE_U32, 0);
    vy_irb_stmt(&d, &s, NULL, 0, NULL, NULL);
    end_function();
}
static void unguarded_atomic(int bad) {
    start_legal(bad);
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_ATOMIC);
    s.memory = buffer("y", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    s.bounds_check = VY_BOUNDS_UNCHECKED;
    s.op = VYRE_ATOMIC_ADD;
    s.scope = VYRE_SCOPE_DEVICE;
    s.a = vy_irb_literal(&d, VYRE_TYPE_U32, 0);
    s.b = vy_irb_literal(&d, VYRE_TYPE_U32, 1);
    vy_irb_stmt(&d, &s, NULL, 0, NULL, NULL);
    end_function();
}
static void misalignment_in_source(int bad) {
    start_legal(bad);
    uint32_t y = buffer("y", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    vy_irb_let(&d, N("v"), VYRE_TYPE_U32, vy_irb_align_offset(&d, y));
    end_function();
}
static void approximate_op(int bad) {
    start_legal(bad);
    uint32_t two = vy_irb_literal(&d, VYRE_TYPE_F32, 0x40000000);
    vy_irb_let(&d, N("v"), VYRE_TYPE_F32, vy_irb_op(&d, VYRE_OP_APPROX_SQRT, VYRE_TYPE_F32, two, VY_NONE, VY_NONE));
    end_function();
}
static void report_in_source(int bad) {
    start_legal(bad);
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_RECORD_TRAP);
    s.a = vy_irb_literal(&d, VYRE_TYPE_U32, 7);
    vy_irb_stmt(&d, &s, NULL, 0, NULL, NULL);
    end_function();
}
static void poll_in_source(int bad) {
    start_legal(bad);
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_POLL);
    vy_symbol stop = N("stop");
    vyre_type type = VYRE_TYPE_BOOL;
    vy_irb_stmt(&d, &s, NULL, 0, &stop, &type);
    end_function();
}
static void native_shuffle_in_source(int bad) {
    start_legal(bad);
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_COLLECTIVE);
    vy_symbol shuffled = N("v");
    vyre_type type = VYRE_TYPE_U32;
    s.op = VYRE_COLLECTIVE_NATIVE_SHUFFLE;
    s.width = 32;
    s.result_count = 1;
    s.a = vy_irb_literal(&d, VYRE_TYPE_U32, 7);
    s.b = vy_irb_literal(&d, VYRE_TYPE_U32, 0);
    vy_irb_stmt(&d, &s, NULL, 0, &shuffled, &type);
    end_function();
}
/* Loads so many elements of that type at once. */
static void load_wide(uint32_t count, vyre_type type) {
    static const char *const texts[VY_LIMIT_WIDE] = {"a", "b", "c", "e", "f", "g", "h", "i",
                                                     "j", "k", "l", "m", "n", "o", "p", "q"};
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_LOAD_WIDE);
    vy_symbol names[VY_LIMIT_WIDE];
    vyre_type types[VY_LIMIT_WIDE];
    for (uint32_t i = 0; i < count; i++) {
        names[i] = N(texts[i]);
        types[i] = type;
    }
    s.memory = buffer("y", type, VYRE_ACCESS_READ_WRITE);
    s.result_count = (uint8_t)count;
    s.a = vy_irb_literal(&d, VYRE_TYPE_U32, 0);
    vy_irb_stmt(&d, &s, NULL, 0, names, types);
    end_function();
}
static void wide_load_in_source(int bad) {
    start_legal(bad);
    load_wide(4, VYRE_TYPE_F32);
}
static void wide_load_of_three(int bad) {
    start_legal(0);
    load_wide(bad ? 3 : 4, VYRE_TYPE_F32);
}
static void wide_load_of_32_bytes(int bad) {
    start_legal(0);
    load_wide(16, bad ? VYRE_TYPE_U16 : VYRE_TYPE_U8);
}
static void wide_store_of_32_bytes(int bad) {
    start_legal(0);
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_STORE_WIDE);
    vyre_type type = bad ? VYRE_TYPE_U64 : VYRE_TYPE_U32;
    vy_arg args[4] = {{0, 0}};
    s.memory = buffer("y", type, VYRE_ACCESS_READ_WRITE);
    s.a = vy_irb_literal(&d, VYRE_TYPE_U32, 0);
    for (uint32_t i = 0; i < 4; i++)
        args[i].index = vy_irb_literal(&d, type, i);
    vy_irb_stmt(&d, &s, args, 4, NULL, NULL);
    end_function();
}
static void function_of_a_legal_word(int bad) {
    start("");
    d.program->kind = VYRE_PROGRAM_LIBRARY;
    d.program->level = bad ? VYRE_LEVEL_LEGAL : VYRE_LEVEL_SOURCE;
    empty_function("poll");
}
static void library_with_a_workgroup(int bad) {
    start("");
    d.program->kind = VYRE_PROGRAM_LIBRARY;
    d.program->workgroup[0] = bad ? 64 : 1;
    empty_function("f");
}
/* Found by fuzzing: the text form of a library has no place for numerics, so they were lost. */
static void library_with_numerics(int bad) {
    start("");
    d.program->kind = VYRE_PROGRAM_LIBRARY;
    d.program->numerics = bad ? VYRE_NUMERICS_RELAXED : VYRE_NUMERICS_STRICT;
    empty_function("f");
}
static void count_from_a_float(int bad) {
    start_entry();
    uint32_t n = param("n", bad ? VYRE_TYPE_F32 : VYRE_TYPE_U32);
    uint32_t size = vy_irb_size(&d, VY_SIZE_PARAM, n, VY_NONE, 0);
    vy_irb_memory_param(&d, N("y"), VY_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_WRITE, size);
    end_function();
}
static void counts_in_a_circle(int bad) {
    start_entry();
    uint32_t of_b = vy_irb_size(&d, VY_SIZE_LEN, 1, VY_NONE, 0);
    uint32_t of_a = bad ? vy_irb_size(&d, VY_SIZE_LEN, 0, VY_NONE, 0) : VY_NONE;
    vy_irb_memory_param(&d, N("a"), VY_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_WRITE, of_b);
    vy_irb_memory_param(&d, N("b"), VY_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_WRITE, of_a);
    end_function();
}

/* ---- limits ---- */

static void name_of(int length) {
    char text[256];
    memset(text, 'n', sizeof text);
    text[length] = 0;
    start_entry();
    let(text, VYRE_TYPE_U32, U32(1));
    end_function();
}
static void long_name(int bad) {
    name_of(VY_LIMIT_NAME + bad);
}
static void long_format(int bad) {
    static char text[VY_LIMIT_STRING + 2];
    memset(text, 'n', sizeof text);
    text[VY_LIMIT_STRING + bad] = 0;
    start_entry();
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_PRINT);
    s.name = N(text);
    plain(s);
    end_function();
}
static void deep_expression(int bad) {
    start_entry();
    uint32_t e = U32(1);
    for (int i = 0; i < VY_LIMIT_EXPRESSION_DEPTH + bad; i++)
        e = vy_irb_op(&d, VYRE_OP_NOT, VYRE_TYPE_U32, e, VY_NONE, VY_NONE);
    let("a", VYRE_TYPE_U32, e);
    end_function();
}
static void deep_size(int bad) {
    start_entry();
    uint32_t e = vy_irb_size(&d, VY_SIZE_LITERAL, VY_NONE, VY_NONE, 1);
    for (int i = 0; i < VY_LIMIT_EXPRESSION_DEPTH + bad; i++)
        e = vy_irb_size(&d, VY_SIZE_ADD, e, vy_irb_size(&d, VY_SIZE_LITERAL, VY_NONE, VY_NONE, 1), 0);
    vy_irb_memory_param(&d, N("y"), VY_SPACE_BUFFER, VYRE_TYPE_U32, VYRE_ACCESS_WRITE, e);
    end_function();
}
static void deep_blocks(int bad) {
    start_entry();
    for (int i = 0; i < VY_LIMIT_NESTING + bad; i++)
        vy_irb_if(&d, BOOL(1));
    for (int i = 0; i < VY_LIMIT_NESTING + bad; i++)
        end();
    end_function();
}
static void deep_blocks_over_a_call(int bad) {
    start("p");
    uint32_t f = function("f");
    for (int i = 0; i < 100; i++)
        region("r");
    end_function();
    vy_irb_begin_entry(&d);
    for (int i = 0; i < (bad ? 27 : 26); i++)
        region("r");
    call(f, NULL, 0, NULL);
    end_function();
}
static void deep_calls(int bad) {
    start("p");
    uint32_t f = empty_function("g0");
    for (int i = 1; i < VY_LIMIT_CALL_DEPTH + bad; i++) {
        char name[16];
        snprintf(name, sizeof name, "g%d", i);
        uint32_t g = function(name);
        call(f, NULL, 0, NULL);
        end_function();
        f = g;
    }
    vy_irb_begin_entry(&d);
    call(f, NULL, 0, NULL);
    end_function();
}
static void numbered(const char *format, int i, char name[16]) {
    snprintf(name, 16, format, i);
}
static void many_params(int bad) {
    start_entry();
    char name[16];
    for (int i = 0; i < VY_LIMIT_PARAMS + bad; i++)
        numbered("p%d", i, name), param(name, VYRE_TYPE_U32);
    end_function();
}
static void many_buffers(int bad) {
    start_entry();
    char name[16];
    for (int i = 0; i < VY_LIMIT_BUFFERS + bad; i++)
        numbered("b%d", i, name), buffer(name, VYRE_TYPE_U8, VYRE_ACCESS_READ);
    end_function();
}
static void many_arrays(int bad) {
    start_entry();
    char name[16];
    for (int i = 0; i < VY_LIMIT_ARRAYS + bad; i++)
        numbered("a%d", i, name), array(name, VY_SPACE_WORKGROUP, VYRE_TYPE_U8, 1);
    end_function();
}
static void many_arrays_over_calls(int bad) {
    start("p");
    char name[16];
    uint32_t f = function("f");
    for (int i = 0; i < 200; i++)
        numbered("a%d", i, name), array(name, VY_SPACE_PRIVATE, VYRE_TYPE_U8, 1);
    end_function();
    vy_irb_begin_entry(&d);
    for (int i = 0; i < 55 + bad; i++)
        numbered("a%d", i, name), array(name, VY_SPACE_PRIVATE, VYRE_TYPE_U8, 1);
    call(f, NULL, 0, NULL);
    end_function();
}
static void many_results(int bad) {
    start("p");
    uint32_t f = function("f");
    char name[16];
    for (int i = 0; i < VY_LIMIT_RESULTS + bad; i++)
        numbered("r%d", i, name), vy_irb_result(&d, N(name), VYRE_TYPE_U32);
    trap(U32(1));
    end_function();
    vy_irb_begin_entry(&d);
    call(f, NULL, 0, NULL);
    end_function();
}
static void many_functions(int bad) {
    start("");
    d.program->kind = VYRE_PROGRAM_LIBRARY;
    char name[16];
    for (int i = 0; i < VY_LIMIT_FUNCTIONS + bad; i++)
        numbered("g%d", i, name), empty_function(name);
}
/* The count is looked at before what it counts. */
static void many_statements(int bad) {
    start_entry();
    end_function();
    d.program->stmts.count = bad ? VY_LIMIT_STATEMENTS + 1 : 0;
}
static void many_expressions(int bad) {
    start_entry();
    end_function();
    d.program->exprs.count = bad ? VY_LIMIT_EXPRESSIONS + 1 : 0;
}
static void large_workgroup_array(int bad) {
    start_entry();
    array("t", VY_SPACE_WORKGROUP, VYRE_TYPE_U64, VY_LIMIT_WORKGROUP_BYTES / 8 + (uint32_t)bad);
    end_function();
}
static void large_private_array(int bad) {
    start_entry();
    array("t", VY_SPACE_PRIVATE, VYRE_TYPE_U64, VY_LIMIT_PRIVATE_BYTES / 8 + (uint32_t)bad);
    end_function();
}
static void constant_array(const char *name, uint8_t fill, uint32_t bytes) {
    static uint8_t contents[VY_LIMIT_CONSTANT_BYTES + 16];
    memset(contents, fill, bytes);
    vy_irb_constant(&d, N(name), VYRE_TYPE_U8, bytes, vy_irb_table(&d, VYRE_TYPE_U8, bytes, contents));
}
static void large_constant_array(int bad) {
    start_entry();
    constant_array("t", 1, VY_LIMIT_CONSTANT_BYTES + (uint32_t)bad);
    end_function();
}
/* Equal contents count once. */
static void large_constant_arrays_over_calls(int bad) {
    start("p");
    uint32_t f = function("f");
    constant_array("s", 1, VY_LIMIT_CONSTANT_BYTES - 16);
    end_function();
    vy_irb_begin_entry(&d);
    constant_array("t", bad ? 2 : 1, VY_LIMIT_CONSTANT_BYTES - 16);
    call(f, NULL, 0, NULL);
    end_function();
}
static void constant_array_of_another_size(int bad) {
    start_entry();
    constant_array("t", 1, 8);
    d.program->memories.items[d.program->memories.count - 1].elements += (uint32_t)bad;
    end_function();
}
static void constant_array_without_a_table(int bad) {
    start_entry();
    constant_array("t", 1, 8);
    d.program->memories.items[d.program->memories.count - 1].table += (uint32_t)bad;
    end_function();
}
static void constant_array_as_a_parameter(int bad) {
    start("p");
    uint32_t f = function("f");
    vy_irb_memory_param(&d, N("t"), bad ? VY_SPACE_CONSTANT : VY_SPACE_BUFFER, VYRE_TYPE_U8, VYRE_ACCESS_READ, VY_NONE);
    end_function();
    vy_irb_begin_entry(&d);
    constant_array("k", 1, 8);
    call(f, &(vy_arg){1, d.program->memories.count - 1}, 1, NULL);
    end_function();
}
static void large_private_arrays_over_calls(int bad) {
    start("p");
    uint32_t f = function("f");
    array("s", VY_SPACE_PRIVATE, VYRE_TYPE_U8, VY_LIMIT_PRIVATE_BYTES - 8);
    end_function();
    vy_irb_begin_entry(&d);
    array("t", VY_SPACE_PRIVATE, VYRE_TYPE_U8, 8 + (uint32_t)bad);
    call(f, NULL, 0, NULL);
    end_function();
}
/* Each function calls the one before eight times. */
static void exploding_calls(int bad) {
    start("p");
    uint32_t f = empty_function("g0");
    for (int i = 1; i < (bad ? 8 : 6); i++) {
        char name[16];
        numbered("g%d", i, name);
        uint32_t g = function(name);
        for (int k = 0; k < 8; k++)
            call(f, NULL, 0, NULL);
        end_function();
        f = g;
    }
    vy_irb_begin_entry(&d);
    call(f, NULL, 0, NULL);
    end_function();
}
static void large_workgroup(int bad) {
    start_entry();
    d.program->workgroup[0] = 32;
    d.program->workgroup[1] = bad ? 33 : 32;
    end_function();
}
static void large_count(int bad) {
    start_entry();
    uint32_t size = vy_irb_size(&d, VY_SIZE_LITERAL, VY_NONE, VY_NONE, UINT64_C(0xffffffff) + (uint64_t)bad);
    vy_irb_memory_param(&d, N("y"), VY_SPACE_BUFFER, VYRE_TYPE_U8, VYRE_ACCESS_WRITE, size);
    end_function();
}

/* ---- expressions ---- */

static void mixed_operands(int bad) {
    start_entry();
    let("a", VYRE_TYPE_U32, ADD(U32(1), bad ? F32() : U32(2)));
    end_function();
}
static void bitcast_of_another_width(int bad) {
    start_entry();
    let("a", VYRE_TYPE_F32,
        vy_irb_op(&d, VYRE_OP_BITCAST, VYRE_TYPE_F32, bad ? LIT(VYRE_TYPE_U64, 1) : U32(1), VY_NONE, VY_NONE));
    end_function();
}
static void float_remainder(int bad) {
    start_entry();
    let("a", VYRE_TYPE_F32, OP2(bad ? VYRE_OP_REM : VYRE_OP_REMAINDER, VYRE_TYPE_F32, F32(), F32()));
    end_function();
}
static void wrong_result_type(int bad) {
    start_entry();
    vyre_type type = bad ? VYRE_TYPE_U32 : VYRE_TYPE_BOOL;
    let("a", type, OP2(VYRE_OP_LT, type, U32(1), U32(2)));
    end_function();
}
static void used_after_its_block(int bad) {
    start_entry();
    uint32_t outer = let("m", VYRE_TYPE_U32, U32(1));
    vy_irb_if(&d, BOOL(1));
    uint32_t inner = let("n", VYRE_TYPE_U32, U32(2));
    end();
    let("a", VYRE_TYPE_U32, VAR(bad ? inner : outer));
    end_function();
}
static void used_before_it_is_declared(int bad) {
    start_entry();
    let("m", VYRE_TYPE_U32, U32(1));
    let("a", VYRE_TYPE_U32, VAR(0));
    if (bad)
        d.program->exprs.items[1].a = 1; /* let a = a */
    end_function();
}
static void float_index(int bad) {
    start_entry();
    uint32_t x = buffer("x", VYRE_TYPE_U32, VYRE_ACCESS_READ);
    let("a", VYRE_TYPE_U32, LOAD(x, bad ? F32() : LIT(VYRE_TYPE_I8, 1)));
    end_function();
}
static void load_of_an_output(int bad) {
    start_entry();
    uint32_t x = buffer("x", VYRE_TYPE_U32, bad ? VYRE_ACCESS_WRITE : VYRE_ACCESS_UNIFORM);
    let("a", VYRE_TYPE_U32, LOAD(x, U32(0)));
    end_function();
}
static void store_to_an_input(int bad) {
    start_entry();
    uint32_t x = buffer("x", VYRE_TYPE_U32, bad ? VYRE_ACCESS_READ : VYRE_ACCESS_WRITE);
    STORE(x, ID(), U32(0));
    end_function();
}
static void literal_with_excess_bits(int bad) {
    start_entry();
    let("a", VYRE_TYPE_U8, LIT(VYRE_TYPE_U8, 255));
    if (bad)
        d.program->exprs.items[0].bits = 256;
    end_function();
}
static void literal_of_another_nan(int bad) {
    start_entry();
    let("a", VYRE_TYPE_F32, LIT(VYRE_TYPE_F32, 0x7fc00000));
    if (bad)
        d.program->exprs.items[0].bits = 0x7fc00001;
    end_function();
}
static void axis_of_the_linear_index(int bad) {
    start_entry();
    let("a", VYRE_TYPE_U32, vy_irb_builtin(&d, VYRE_BUILTIN_LOCAL_INDEX, (unsigned)bad));
    end_function();
}
static void constant_index_out_of_bounds(int bad) {
    start_entry();
    uint32_t t = array("t", VY_SPACE_PRIVATE, VYRE_TYPE_U32, 4);
    let("a", VYRE_TYPE_U32, LOAD(t, bad ? LIT(VYRE_TYPE_I32, 0xffffffff) : LIT(VYRE_TYPE_I32, 3)));
    STORE(t, bad ? U32(4) : U32(3), U32(1));
    end_function();
}

/* ---- statements ---- */

static void let_of_another_type(int bad) {
    start_entry();
    let("a", bad ? VYRE_TYPE_I32 : VYRE_TYPE_U32, U32(1));
    end_function();
}
static void assignment_to_a_let(int bad) {
    start_entry();
    uint32_t a = bad ? let("a", VYRE_TYPE_U32, U32(1)) : var("a", VYRE_TYPE_U32, U32(1));
    vy_irb_assign(&d, a, U32(2));
    end_function();
}
static void store_of_another_type(int bad) {
    start_entry();
    uint32_t y = buffer("y", VYRE_TYPE_U8, VYRE_ACCESS_WRITE);
    STORE(y, ID(), bad ? U32(1) : LIT(VYRE_TYPE_U8, 1));
    end_function();
}
static void integer_condition(int bad) {
    start_entry();
    vy_irb_while(&d, bad ? U32(0) : BOOL(0));
    end();
    end_function();
}
static void integer_selector(int bad) {
    start_entry();
    let("a", VYRE_TYPE_U32, SELECT(VYRE_TYPE_U32, bad ? U32(0) : BOOL(0), U32(1), U32(2)));
    end_function();
}
static void mixed_range(int bad) {
    start_entry();
    FOR("i", VYRE_TYPE_U32, U32(0), bad ? LIT(VYRE_TYPE_U64, 8) : U32(8));
    end();
    end_function();
}
static void float_range(int bad) {
    start_entry();
    vyre_type type = bad ? VYRE_TYPE_F32 : VYRE_TYPE_I64;
    FOR("i", type, LIT(type, 0), LIT(type, 8));
    end();
    end_function();
}
static void break_outside(int bad) {
    start_entry();
    if (!bad)
        vy_irb_while(&d, BOOL(1));
    vy_irb_simple(&d, VY_STMT_BREAK);
    if (!bad)
        end();
    end_function();
}
static void function_giving(int bad_return, int bad_path) {
    start("p");
    uint32_t f = function("f"), x = param("x", VYRE_TYPE_U32);
    vy_irb_result(&d, 0, VYRE_TYPE_U32);
    vy_irb_if(&d, LT(VAR(x), U32(4)));
    ret(bad_return ? VY_NONE : VAR(x));
    end();
    if (!bad_path)
        ret(U32(1));
    end_function();
    vy_irb_begin_entry(&d);
    CALL(f, "r", value(U32(1)));
    end_function();
}
static void return_of_nothing(int bad) {
    function_giving(bad, 0);
}
static void path_without_a_return(int bad) {
    function_giving(0, bad);
}
static void return_of_a_value_from_the_program(int bad) {
    start_entry();
    ret(bad ? U32(1) : VY_NONE);
    end_function();
}
static void statement_after_a_return(int bad) {
    start_entry();
    if (bad)
        ret(VY_NONE);
    let("a", VYRE_TYPE_U32, U32(1));
    end_function();
}
static void trap_with_a_float(int bad) {
    start_entry();
    trap(bad ? F32() : U32(1));
    end_function();
}
static void print(const char *format, uint32_t arg_count) {
    start_entry();
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_PRINT);
    s.name = N(format);
    vy_arg args[2];
    for (uint32_t i = 0; i < arg_count; i++)
        args[i] = value(U32(i));
    vy_irb_stmt(&d, &s, args, arg_count, NULL, NULL);
    end_function();
}
static void places_without_values(int bad) {
    print(bad ? "{} {}" : "{}", 1);
}
static void format_in_latin1(int bad) {
    print(bad ? "\xe9" : "\xc3\xa9", 0);
}

/* ---- atomics ---- */

static void atomic_on(vyre_access access, vyre_type type, vyre_atomic op, vyre_numerics numerics) {
    start_entry();
    d.program->numerics = numerics;
    uint32_t h = buffer("h", type, access);
    ATOMIC(op, VYRE_ORDER_RELAXED, h, ID(), op == VYRE_ATOMIC_LOAD ? VY_NONE : LIT(type, 1), VY_NONE, NULL);
    end_function();
}
static void atomic_on_an_output(int bad) {
    atomic_on(bad ? VYRE_ACCESS_WRITE : VYRE_ACCESS_READ_WRITE, VYRE_TYPE_U32, VYRE_ATOMIC_ADD, VYRE_NUMERICS_STRICT);
}
static void atomic_on_a_private_array(int bad) {
    start_entry();
    uint32_t t = array("t", bad ? VY_SPACE_PRIVATE : VY_SPACE_WORKGROUP, VYRE_TYPE_U32, 4);
    atomic_add(t, ID());
    end_function();
}
static void atomic_on_bytes(int bad) {
    atomic_on(VYRE_ACCESS_READ_WRITE, bad ? VYRE_TYPE_U8 : VYRE_TYPE_I64, VYRE_ATOMIC_MAX, VYRE_NUMERICS_STRICT);
}
static void atomic_and_on_floats(int bad) {
    atomic_on(VYRE_ACCESS_READ_WRITE, VYRE_TYPE_F32, bad ? VYRE_ATOMIC_AND : VYRE_ATOMIC_EXCHANGE,
              VYRE_NUMERICS_RELAXED);
}
static void float_atomic(int bad) {
    atomic_on(VYRE_ACCESS_READ_WRITE, VYRE_TYPE_F32, VYRE_ATOMIC_ADD,
              bad ? VYRE_NUMERICS_STRICT : VYRE_NUMERICS_RELAXED);
}
static void atomic_with_an_order(vyre_atomic op, vyre_order order) {
    start_entry();
    uint32_t h = buffer("h", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    ATOMIC(op, order, h, ID(), op == VYRE_ATOMIC_LOAD ? VY_NONE : U32(1), VY_NONE, NULL);
    end_function();
}
static void store_that_acquires(int bad) {
    atomic_with_an_order(VYRE_ATOMIC_STORE, bad ? VYRE_ORDER_ACQUIRE : VYRE_ORDER_RELEASE);
}
static void load_that_releases(int bad) {
    atomic_with_an_order(VYRE_ATOMIC_LOAD, bad ? VYRE_ORDER_ACQ_REL : VYRE_ORDER_ACQUIRE);
}
static void atomic_operand_of_another_type(int bad) {
    start_entry();
    uint32_t h = buffer("h", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    ATOMIC(VYRE_ATOMIC_COMPARE_EXCHANGE, VYRE_ORDER_ACQ_REL, h, ID(), U32(1), bad ? LIT(VYRE_TYPE_I32, 1) : U32(1),
           NULL);
    end_function();
}
static void value_of_an_atomic_store(int bad) {
    start_entry();
    uint32_t h = buffer("h", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    ATOMIC(bad ? VYRE_ATOMIC_STORE : VYRE_ATOMIC_EXCHANGE, VYRE_ORDER_RELAXED, h, ID(), U32(1), VY_NONE, "v");
    end_function();
}

/* ---- collectives ---- */

static void collective_of(vyre_collective op, vyre_op combine, unsigned width, vyre_type type, vyre_type result) {
    start_entry();
    int lanes = op >= VYRE_COLLECTIVE_BROADCAST && op != VYRE_COLLECTIVE_BALLOT;
    uint32_t a = LIT(type, 1);
    COLLECTIVE(op, combine, width, a, lanes ? U32(1) : VY_NONE, "v", result);
    end_function();
}
static void reduce_and_of_floats(int bad) {
    collective_of(VYRE_COLLECTIVE_REDUCE, bad ? VYRE_OP_AND : VYRE_OP_MIN, 0, VYRE_TYPE_F32, VYRE_TYPE_F32);
}
static void reduce_with_a_shift(int bad) {
    collective_of(VYRE_COLLECTIVE_REDUCE, bad ? VYRE_OP_SHL : VYRE_OP_XOR, 0, VYRE_TYPE_U32, VYRE_TYPE_U32);
}
static void subgroup_of_24(int bad) {
    collective_of(VYRE_COLLECTIVE_SCAN_INCLUSIVE, VYRE_OP_ADD, bad ? 24 : 16, VYRE_TYPE_U32, VYRE_TYPE_U32);
}
static void ballot_of_a_workgroup(int bad) {
    collective_of(VYRE_COLLECTIVE_BALLOT, 0, bad ? 0 : 64, VYRE_TYPE_BOOL, VYRE_TYPE_U64);
}
static void any_of_integers(int bad) {
    vyre_type type = bad ? VYRE_TYPE_U32 : VYRE_TYPE_BOOL;
    collective_of(VYRE_COLLECTIVE_ANY, 0, 0, type, type);
}
static void signed_lane(int bad) {
    start_entry();
    uint32_t a = F32();
    COLLECTIVE(VYRE_COLLECTIVE_SHUFFLE_UP, 0, 32, a, bad ? LIT(VYRE_TYPE_I32, 1) : U32(1), "v", VYRE_TYPE_F32);
    end_function();
}

/* ---- calls ---- */

static void call_of_an_op(int bad) {
    start_entry();
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_CALL);
    s.name = N(bad ? "exp" : "math.exp");
    s.result_count = 1;
    vy_arg arg = value(F32());
    vy_irb_stmt(&d, &s, &arg, 1, &(vy_symbol){N("e")}, &(vyre_type){VYRE_TYPE_F32});
    end_function();
}
static void argument_too_many(int bad) {
    start("p");
    uint32_t f = identity_function("f");
    vy_irb_begin_entry(&d);
    vy_arg args[2] = {value(U32(1))};
    if (bad)
        args[1] = value(U32(2));
    call(f, args, 1 + (uint32_t)bad, "r");
    end_function();
}
static void op_with_many_arguments(int bad) {
    start_entry();
    vy_stmt s = vy_irb_blank_stmt(VY_STMT_CALL);
    s.name = N("my.op");
    vy_arg args[VY_LIMIT_PARAMS + 1];
    for (int i = 0; i < VY_LIMIT_PARAMS + bad; i++)
        args[i] = value(U32(1));
    vy_irb_stmt(&d, &s, args, VY_LIMIT_PARAMS + (uint32_t)bad, NULL, NULL);
    end_function();
}
static void argument_of_another_type(int bad) {
    start("p");
    uint32_t f = identity_function("f");
    vy_irb_begin_entry(&d);
    CALL(f, "r", value(bad ? F32() : U32(1)));
    end_function();
}
static void memory_for_a_value(int bad) {
    start("p");
    uint32_t f = identity_function("f");
    vy_irb_begin_entry(&d);
    uint32_t y = buffer("y", VYRE_TYPE_U32, VYRE_ACCESS_READ);
    CALL(f, "r", bad ? memory(y) : value(U32(1)));
    end_function();
}
/* fn f(b: buffer [u32] write) { b[0] = 1 } */
static uint32_t storing_function(void) {
    uint32_t f = function("f");
    uint32_t b = buffer("b", VYRE_TYPE_U32, VYRE_ACCESS_WRITE);
    STORE(b, ID(), U32(1));
    end_function();
    return f;
}
static void input_for_an_output(int bad) {
    start("p");
    uint32_t f = storing_function();
    vy_irb_begin_entry(&d);
    uint32_t y = buffer("y", VYRE_TYPE_U32, bad ? VYRE_ACCESS_READ : VYRE_ACCESS_READ_WRITE);
    CALL(f, NULL, memory(y));
    end_function();
}
static void array_for_a_buffer(int bad) {
    start("p");
    uint32_t f = storing_function();
    vy_irb_begin_entry(&d);
    uint32_t y = buffer("y", VYRE_TYPE_U32, VYRE_ACCESS_WRITE);
    uint32_t t = array("t", VY_SPACE_WORKGROUP, VYRE_TYPE_U32, 64);
    CALL(f, NULL, memory(bad ? t : y));
    end_function();
}
/* Stores through a function in between. */
static void one_memory_twice(int bad) {
    start("p");
    uint32_t inner = storing_function();
    uint32_t f = function("g");
    uint32_t a = buffer("a", VYRE_TYPE_U32, VYRE_ACCESS_READ);
    uint32_t b = buffer("b", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    let("v", VYRE_TYPE_U32, LOAD(a, U32(0)));
    CALL(inner, NULL, memory(b));
    end_function();
    vy_irb_begin_entry(&d);
    uint32_t x = buffer("x", VYRE_TYPE_U32, VYRE_ACCESS_READ);
    uint32_t y = buffer("y", VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
    CALL(f, NULL, memory(bad ? y : x), memory(y));
    end_function();
}
static void recursion(int bad) {
    start("p");
    function("f");
    if (bad)
        call(1, NULL, 0, NULL);
    end_function();
    uint32_t g = function("g");
    call(0, NULL, 0, NULL);
    end_function();
    vy_irb_begin_entry(&d);
    call(g, NULL, 0, NULL);
    end_function();
}
static void result_too_many(int bad) {
    start("p");
    uint32_t f = bad ? empty_function("f") : identity_function("f");
    vy_irb_begin_entry(&d);
    if (bad)
        call(f, NULL, 0, "r");
    else
        CALL(f, "r", value(U32(1)));
    end_function();
}

/* ---- meetings and races ---- */

static void barrier_under_an_id(int bad) {
    start_entry();
    vy_irb_if(&d, LT(ID(), U32(3)));
    if (bad)
        barrier(VYRE_SCOPE_WORKGROUP);
    end();
    barrier(VYRE_SCOPE_WORKGROUP);
    end_function();
}
static void broadcast_from_everywhere(int bad) {
    start_entry();
    uint32_t a = F32();
    COLLECTIVE(VYRE_COLLECTIVE_BROADCAST, 0, 0, a, bad ? ID() : U32(3), "v", VYRE_TYPE_F32);
    end_function();
}
static void store_to_one_element(int bad) {
    start_entry();
    uint32_t t = array("t", VY_SPACE_WORKGROUP, VYRE_TYPE_U32, 4);
    if (!bad)
        vy_irb_if(&d, LT(ID(), U32(1)));
    STORE(t, U32(0), U32(7));
    end_function();
}
static void load_of_the_neighbour(int bad) {
    start_entry();
    uint32_t t = array("t", VY_SPACE_WORKGROUP, VYRE_TYPE_U32, 64);
    STORE(t, ID(), U32(7));
    if (!bad)
        barrier(VYRE_SCOPE_WORKGROUP);
    let("n", VYRE_TYPE_U32, LOAD(t, ADD(ID(), U32(1))));
    end_function();
}
static void load_of_a_counter(int bad) {
    start_entry();
    uint32_t t = array("t", VY_SPACE_WORKGROUP, VYRE_TYPE_U32, 4);
    atomic_add(t, U32(0));
    if (!bad)
        barrier(VYRE_SCOPE_WORKGROUP);
    let("n", VYRE_TYPE_U32, LOAD(t, U32(0)));
    end_function();
}

/* ---- declarations that nothing uses: those with a position ---- */

static void place_variable(uint32_t variable) {
    d.program->variables.items[variable].position = (vy_position){1, 1, 1};
}
static void place_memory(uint32_t memory) {
    d.program->memories.items[memory].position = (vy_position){1, 1, 1};
}
static void param_that_nothing_reads(int bad) {
    start_entry();
    uint32_t a = vy_irb_scalar_param(&d, N("a"), VYRE_TYPE_U32);
    place_variable(a);
    let("v", VYRE_TYPE_U32, bad ? U32(1) : VAR(a));
    end_function();
}
static void buffer_that_nothing_reads(int bad) {
    start_entry();
    uint32_t x = buffer("x", VYRE_TYPE_U32, bad ? VYRE_ACCESS_READ : VYRE_ACCESS_READ_WRITE);
    place_memory(x);
    end_function();
}
static void variable_that_is_only_assigned(int bad) {
    start_entry();
    uint32_t v = var("v", VYRE_TYPE_U32, U32(1));
    place_variable(v);
    vy_irb_assign(&d, v, bad ? U32(2) : ADD(VAR(v), U32(2)));
    end_function();
}
static void variable_without_a_position(int bad) {
    start_entry();
    uint32_t v = let("v", VYRE_TYPE_U32, U32(1));
    if (bad)
        place_variable(v);
    end_function();
}
static void array_that_is_only_stored_to(int bad) {
    start_entry();
    uint32_t t = array("t", VY_SPACE_PRIVATE, VYRE_TYPE_U32, 4);
    place_memory(t);
    STORE(t, U32(0), U32(1));
    if (!bad)
        let("n", VYRE_TYPE_U32, LOAD(t, U32(0)));
    end_function();
}

/* ---- the table ---- */

typedef struct code_case {
    const char *code;
    const char *name;
    void (*build)(int bad);
    int is_warning;
} code_case;

#define CASE(code, build)                                                                                              \
    { #code, #build, build, 0 }
static const code_case cases[] = {
    CASE(V001, unknown_kind),
    CASE(V001, unknown_op),
    CASE(V002, variable_of_another_function),
    CASE(V002, name_outside_the_pool),
    CASE(V002, name_inside_another),
    CASE(V003, functions_overlap),
    CASE(V003, positions_of_some),
    CASE(V004, block_reaches_out),
    CASE(V004, simple_statement_with_a_body),
    CASE(V005, shared_expression),
    CASE(V005, expression_cycle),
    CASE(V005, shared_size),
    CASE(V006, variables_swapped),
    CASE(V006, mutable_let),
    CASE(V007, arguments_elsewhere),
    CASE(V009, operand_too_many),
    CASE(V009, operand_missing),
    CASE(V010, keyword_as_name),
    CASE(V010, function_called_like_an_op),
    CASE(V011, shadowing),
    CASE(V011, two_functions_of_one_name),
    CASE(V012, unreachable_function),
    CASE(V013, bool_buffer),
    CASE(V014, empty_array),
    CASE(V015, workgroup_array_in_a_function),
    CASE(V016, workgroup_of_nothing),
    CASE(V017, grid_over_an_array),
    CASE(V018, grid_over_with_a_square),
    CASE(V019, grid_from_signed_numbers),
    CASE(V020, unguarded_load),
    CASE(V020, unguarded_store),
    CASE(V020, unguarded_atomic),
    CASE(V020, misalignment_in_source),
    CASE(V020, approximate_op),
    CASE(V020, report_in_source),
    CASE(V020, poll_in_source),
    CASE(V020, native_shuffle_in_source),
    CASE(V020, wide_load_in_source),
    CASE(V024, wide_load_of_three),
    CASE(V024, wide_load_of_32_bytes),
    CASE(V024, wide_store_of_32_bytes),
    CASE(V010, function_of_a_legal_word),
    CASE(V021, library_with_a_workgroup),
    CASE(V021, library_with_numerics),
    CASE(V022, count_from_a_float),
    CASE(V023, counts_in_a_circle),
    CASE(V030, long_name),
    CASE(V031, long_format),
    CASE(V032, deep_expression),
    CASE(V032, deep_size),
    CASE(V033, deep_blocks),
    CASE(V033, deep_blocks_over_a_call),
    CASE(V034, deep_calls),
    CASE(V035, many_params),
    CASE(V036, many_buffers),
    CASE(V037, many_arrays),
    CASE(V037, many_arrays_over_calls),
    CASE(V038, many_results),
    CASE(V039, many_functions),
    CASE(V040, many_statements),
    CASE(V041, many_expressions),
    CASE(V042, large_workgroup_array),
    CASE(V043, large_private_array),
    CASE(V043, large_private_arrays_over_calls),
    CASE(V047, large_constant_array),
    CASE(V047, large_constant_arrays_over_calls),
    CASE(V009, constant_array_of_another_size),
    CASE(V009, constant_array_without_a_table),
    CASE(V015, constant_array_as_a_parameter),
    CASE(V044, exploding_calls),
    CASE(V045, large_workgroup),
    CASE(V046, large_count),
    CASE(V050, mixed_operands),
    CASE(V050, bitcast_of_another_width),
    CASE(V050, float_remainder),
    CASE(V051, wrong_result_type),
    CASE(V052, used_after_its_block),
    CASE(V052, used_before_it_is_declared),
    CASE(V053, float_index),
    CASE(V054, load_of_an_output),
    CASE(V055, store_to_an_input),
    CASE(V056, literal_with_excess_bits),
    CASE(V056, literal_of_another_nan),
    CASE(V057, axis_of_the_linear_index),
    {"V059", "constant_index_out_of_bounds", constant_index_out_of_bounds, 1},
    CASE(V060, let_of_another_type),
    CASE(V061, assignment_to_a_let),
    CASE(V062, store_of_another_type),
    CASE(V063, integer_condition),
    CASE(V063, integer_selector),
    CASE(V064, mixed_range),
    CASE(V064, float_range),
    CASE(V065, break_outside),
    CASE(V066, return_of_nothing),
    CASE(V066, return_of_a_value_from_the_program),
    CASE(V067, path_without_a_return),
    CASE(V068, statement_after_a_return),
    CASE(V069, trap_with_a_float),
    CASE(V070, places_without_values),
    CASE(V071, atomic_on_an_output),
    CASE(V071, atomic_on_a_private_array),
    CASE(V072, atomic_on_bytes),
    CASE(V072, atomic_and_on_floats),
    CASE(V073, float_atomic),
    CASE(V074, store_that_acquires),
    CASE(V074, load_that_releases),
    CASE(V075, atomic_operand_of_another_type),
    CASE(V076, value_of_an_atomic_store),
    CASE(V077, format_in_latin1),
    CASE(V080, reduce_and_of_floats),
    CASE(V080, reduce_with_a_shift),
    CASE(V081, subgroup_of_24),
    CASE(V082, ballot_of_a_workgroup),
    CASE(V083, any_of_integers),
    CASE(V084, signed_lane),
    CASE(V090, call_of_an_op),
    CASE(V091, argument_too_many),
    CASE(V091, op_with_many_arguments),
    CASE(V092, argument_of_another_type),
    CASE(V092, memory_for_a_value),
    CASE(V093, input_for_an_output),
    CASE(V093, array_for_a_buffer),
    CASE(V094, one_memory_twice),
    CASE(V095, recursion),
    CASE(V097, result_too_many),
    CASE(V100, barrier_under_an_id),
    CASE(V101, broadcast_from_everywhere),
    CASE(V102, store_to_one_element),
    CASE(V103, load_of_the_neighbour),
    CASE(V104, load_of_a_counter),
    {"V105", "param_that_nothing_reads", param_that_nothing_reads, 1},
    {"V105", "buffer_that_nothing_reads", buffer_that_nothing_reads, 1},
    {"V106", "variable_that_is_only_assigned", variable_that_is_only_assigned, 1},
    {"V106", "variable_without_a_position", variable_without_a_position, 1},
    {"V107", "array_that_is_only_stored_to", array_that_is_only_stored_to, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

static void check_case(const code_case *c, int bad) {
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_error error = VYRE_ERROR_INIT;
    c->build(bad);
    assert_int_equal(d.failed, 0);
    vyre_status status = vy_validate(d.program, list, &error);
    vyre_status wanted = bad && !c->is_warning ? VYRE_INVALID_PROGRAM : VYRE_OK;
    if (status != wanted || has_code(list, c->code) != bad) {
        show(list);
        fail_msg("%s, %s: %s as %s, %s among the findings", c->code, c->name, bad ? "bad" : "good",
                 vyre_status_name(status), has_code(list, c->code) ? "the code is" : "the code is not");
    }
    if (status != VYRE_OK) {
        assert_int_equal(strncmp(error.message, c->code, 4), 0); /* the first finding is the one meant */
        fixes_expect("validate", c->code, error.fix);
        /* Without a list the error says the same. */
        vyre_error alone = VYRE_ERROR_INIT;
        assert_int_equal(vy_validate(d.program, NULL, &alone), status);
        assert_string_equal(alone.message, error.message);
    }
    vyre_diagnostics_free(list);
    /* Counts that were only claimed must not be freed. */
    if (d.program->stmts.count > d.program->stmts.capacity)
        d.program->stmts.count = 0;
    if (d.program->exprs.count > d.program->exprs.capacity)
        d.program->exprs.count = 0;
    vy_irb_discard(&d);
}

static void each_mistake_has_its_code(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++)
        check_case(&cases[i], 1);
}

static void the_nearest_good_program_is_accepted(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++)
        check_case(&cases[i], 0);
}

static void every_code_has_a_case(void **state) {
    (void)state;
    vyre_explanation e;
    for (size_t i = 0; vyre_explain_at(i, &e); i++) {
        int found = e.code[0] != 'V' || e.code[1] < '0' || e.code[1] > '9';
        for (size_t k = 0; k < CASES && !found; k++)
            found = strcmp(cases[k].code, e.code) == 0;
        if (!found)
            fail_msg("%s has no case here", e.code);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_has_its_code),
        cmocka_unit_test(the_nearest_good_program_is_accepted),
        cmocka_unit_test(every_code_has_a_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
